//! What can be set about a receiver.

use super::WarningCode;
use crate::{Limits, control::Rules};

/// Limits and policy of a decoder, or of the receiver that a message is encoded for. The default is
/// the specification's.
///
/// ```
/// use acp_envelope::{Config, WarningCode, decode_with};
///
/// let body = "preamble\r\n--b\r\nContent-Disposition: form-data; name=\"c\"\r\n\
///     Content-Type: application/json\r\n\r\n{}\r\n--b--\r\n";
/// let content_type = "multipart/form-data; boundary=b";
/// let lenient = decode_with(content_type, body, Config::new())?;
/// assert_eq!(lenient.warnings()[0].code(), WarningCode::Preamble);
/// let error = decode_with(content_type, body, Config::strict()).unwrap_err();
/// assert_eq!(error.code(), "preamble");
/// # Ok::<(), acp_envelope::DecodeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Config {
    /// Upper bounds. Default: [`Limits::new`].
    pub limits: Limits,
    /// Lets a member name be given twice in one object (ACP-CTL-5): the last value counts, every
    /// `$ref` is still checked. For senders that cannot be mended; receivers behind this one may
    /// take the first. Default: refused.
    pub allow_duplicate_members: bool,
    /// Lets content parts be `application/json` (ACP-CTL-6): the control document is still the
    /// first part. For senders whose payload is JSON. Default: refused.
    pub allow_json_content: bool,
    /// The warnings that are errors, as bits.
    refused: u8,
}

impl Config {
    /// The defaults of the specification.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            limits: Limits::new(),
            allow_duplicate_members: false,
            allow_json_content: false,
            refused: 0,
        }
    }

    /// The profile for gateways: every warning is an error of the same code.
    #[must_use]
    pub const fn strict() -> Self {
        let mut config = Self::new();
        let mut i = 0;
        while i < WarningCode::ALL.len() {
            #[expect(clippy::indexing_slicing, reason = "i is below the length")]
            let code = WarningCode::ALL[i];
            config = config.refuse(code);
            i += 1;
        }
        config
    }

    /// What is asked of the control document.
    pub(crate) const fn rules(&self) -> Rules {
        Rules {
            max_depth: self.limits.max_json_depth,
            allow_duplicate_members: self.allow_duplicate_members,
        }
    }

    /// Sets [`limits`](field@Self::limits).
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Makes a warning an error of the same code.
    #[must_use]
    pub const fn refuse(mut self, code: WarningCode) -> Self {
        self.refused |= code.bit();
        self
    }

    /// Whether a warning is an error.
    #[must_use]
    pub const fn refuses(&self, code: WarningCode) -> bool {
        self.refused & code.bit() != 0
    }

    /// Sets [`allow_duplicate_members`](field@Self::allow_duplicate_members).
    #[must_use]
    pub const fn allow_duplicate_members(mut self, allow: bool) -> Self {
        self.allow_duplicate_members = allow;
        self
    }

    /// Sets [`allow_json_content`](field@Self::allow_json_content).
    #[must_use]
    pub const fn allow_json_content(mut self, allow: bool) -> Self {
        self.allow_json_content = allow;
        self
    }
}
