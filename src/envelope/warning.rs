//! Findings that leave the message valid.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::error::{InJson, Location, PartId};

/// A finding that leaves the message valid: what, where, and in which part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    code: WarningCode,
    location: Location,
    part: Option<PartId>,
}

/// What a warning is about. With [`Config::refuse`](crate::Config::refuse) it is an error of the
/// same code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WarningCode {
    /// Text before the first delimiter (ACP-FRM-6). `preamble`
    Preamble,
    /// Text after the close delimiter (ACP-FRM-6). `epilogue`
    Epilogue,
    /// The control part has no name (ACP-CTL-2). `control_unnamed`
    ControlUnnamed,
    /// A `text/*` part without `charset` (ACP-REF-9). `charset_missing`
    CharsetMissing,
    /// A content part nothing refers to (ACP-REF-8). `unreferenced_part`
    UnreferencedPart,
}

impl WarningCode {
    /// Every code.
    pub const ALL: [Self; 5] = [
        Self::Preamble,
        Self::Epilogue,
        Self::ControlUnnamed,
        Self::CharsetMissing,
        Self::UnreferencedPart,
    ];

    /// The stable code.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preamble => "preamble",
            Self::Epilogue => "epilogue",
            Self::ControlUnnamed => "control_unnamed",
            Self::CharsetMissing => "charset_missing",
            Self::UnreferencedPart => "unreferenced_part",
        }
    }

    /// What the sender should change.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Preamble => "start the body with the first delimiter",
            Self::Epilogue => "end the body with the close delimiter and one CRLF",
            Self::ControlUnnamed => {
                "name the control part: `Content-Disposition: form-data; name=\"_acp_control\"`"
            }
            Self::CharsetMissing => {
                "say which charset the text is in, such as `text/plain; charset=utf-8`, or send another type"
            }
            Self::UnreferencedPart => {
                "refer to the part from the control document with `{\"$ref\":\"name\"}`, or leave it out"
            }
        }
    }

    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for WarningCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Preamble => "text before the first delimiter",
            Self::Epilogue => "text after the close delimiter",
            Self::ControlUnnamed => "control part has no name",
            Self::CharsetMissing => "text without a charset",
            Self::UnreferencedPart => "nothing refers to the part",
        })
    }
}

impl Warning {
    pub(super) const fn new(code: WarningCode, location: Location, part: Option<PartId>) -> Self {
        Self { code, location, part }
    }

    /// What it is about.
    #[must_use]
    pub const fn code(&self) -> WarningCode {
        self.code
    }

    /// Where it is.
    #[must_use]
    pub const fn location(&self) -> &Location {
        &self.location
    }

    /// The part it is about.
    #[must_use]
    pub const fn part(&self) -> Option<&PartId> {
        self.part.as_ref()
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = &self.part {
            write!(f, "{part}: ")?;
        }
        write!(f, "{} ({})", self.code, self.location)
    }
}

/// As that of a [`DecodeError`](crate::DecodeError), without a category.
impl Serialize for Warning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = InJson {
            code: self.code.as_str(),
            category: None,
            message: self.to_string(),
            location: Some(&self.location),
            part: self.part.as_ref(),
            hint: self.code.hint(),
        };
        json.serialize(serializer)
    }
}
