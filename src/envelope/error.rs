//! The error of decoding: one of the layers', with its place and part.

use std::fmt;

use serde::{Serialize, Serializer};

use super::WarningCode;
use crate::{
    control::{ControlError, ControlErrorKind, Place},
    error::{Category, InJson, Location, PartId},
    parser::ParseErrorKind,
    syntax::{ContentTypeError, ContentTypeErrorKind},
};

/// The message is refused: the first fault that was certain, in the order of its bytes.
///
/// ```
/// let body = "--b\r\nContent-Disposition: form-data; name=\"_acp_control\"\r\n\r\n{}\r\n--b--\r\n";
/// let error = acp_envelope::decode("multipart/form-data; boundary=b", body).unwrap_err();
/// assert_eq!(error.code(), "control_not_json");
/// assert_eq!(error.to_string(), "part 0 \"_acp_control\": control part has no Content-Type (byte 58)");
/// assert!(error.hint().contains("Content-Type: application/json"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    kind: DecodeErrorKind,
    location: Location,
    offset: Option<u64>,
    part: Option<PartId>,
}

/// What is wrong, by layer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The Content-Type of the message.
    ContentType(ContentTypeErrorKind),
    /// The multipart body.
    Parse(ParseErrorKind),
    /// The control document.
    Control(ControlErrorKind),
    /// The message as a whole.
    Envelope(EnvelopeErrorKind),
}

/// What is wrong with a message whose pieces are well-formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvelopeErrorKind {
    /// A multipart body without any part (ACP-CTL-1). `control_missing`
    ControlMissing,
    /// The first part has another type than `application/json` (ACP-CTL-1). `control_not_json`
    ControlNotJson,
    /// The first part has no Content-Type, so it is `text/plain` (ACP-CTL-1). `control_not_json`
    ControlUntyped,
    /// A content part is `application/json` (ACP-CTL-6). `control_duplicate`
    ControlDuplicate,
    /// A part's name has a character that is not allowed, or is too long or empty (ACP-NAME-1).
    /// `name_invalid`
    NameInvalid,
    /// Two parts have one name (ACP-NAME-2). `name_duplicate`
    NameDuplicate,
    /// A content part is itself multipart (ACP-NAME-3). `nested_multipart`
    NestedMultipart,
    /// A reference to a part that is not there (ACP-REF-5, ACP-MSG-5). `ref_unresolved`
    RefUnresolved,
    /// A finding that the configuration refuses. The warning's code.
    Refused(WarningCode),
}

impl DecodeError {
    pub(super) fn new(
        kind: impl Into<DecodeErrorKind>,
        location: Location,
        part: Option<PartId>,
    ) -> Self {
        let offset = match location {
            Location::Byte(at) => Some(at),
            _ => None,
        };
        Self(Box::new(Inner { kind: kind.into(), location, offset, part }))
    }

    pub(super) fn content_type(error: &ContentTypeError) -> Self {
        let location = Location::ContentType(error.position());
        Self::new(error.kind(), location, None)
    }

    /// How many Content-Type fields the carrier has is at fault.
    pub(super) fn content_type_fields(kind: ContentTypeErrorKind) -> Self {
        Self::new(kind, Location::ContentType(0), None)
    }

    /// A fault of the control document that starts at `body`; its charset label is at `label`.
    pub(super) fn control(
        error: ControlError,
        body: u64,
        label: Location,
        part: Option<PartId>,
    ) -> Self {
        let (kind, place) = error.into_parts();
        // A reference is a matter of the whole message.
        match place {
            Place::Label => Self::new(kind, label, part),
            Place::Byte(at) => Self::new(kind, Location::Byte(body + at as u64), part),
            Place::Pointer(pointer) => Self::new(kind, Location::Pointer(pointer), None),
            Place::LineColumn { line, column, byte } => {
                let mut error = Self::new(kind, Location::LineColumn { line, column }, part);
                error.0.offset = byte.map(|at| body + at as u64);
                error
            }
        }
    }

    /// The carrier broke off after that many bytes.
    #[cfg(feature = "stream")]
    pub(crate) fn truncated(at: u64) -> Self {
        Self::new(ParseErrorKind::Truncated, Location::Byte(at), None)
    }

    pub(crate) fn control_missing_at_end() -> Self {
        Self::new(EnvelopeErrorKind::ControlMissing, Location::Byte(0), None)
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> &DecodeErrorKind {
        &self.0.kind
    }

    /// The stable code: one of the specification's error codes, or, where the configuration refuses
    /// a warning, that warning's code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(&self) -> Category {
        self.0.kind.category()
    }

    /// One sentence that tells the sender what to change.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        self.0.kind.hint()
    }

    /// Where it is.
    #[must_use]
    pub const fn location(&self) -> &Location {
        &self.0.location
    }

    /// The byte of the message it is at, where one is: that of [`Location::Byte`], and that of a
    /// fault in the syntax of a control document in UTF-8.
    ///
    /// ```
    /// let error = acp_envelope::decode("application/json", "[1,\n ]").unwrap_err();
    /// assert_eq!(error.location().to_string(), "line 2, column 2");
    /// assert_eq!(error.offset(), Some(5));
    /// ```
    #[must_use]
    pub const fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The part it is in.
    #[must_use]
    pub const fn part(&self) -> Option<&PartId> {
        self.0.part.as_ref()
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = &self.0.part {
            write!(f, "{part}: ")?;
        }
        write!(f, "{} ({})", self.0.kind, self.0.location)
    }
}

impl std::error::Error for DecodeError {}

/// ```
/// let error = acp_envelope::decode("application/json", "[1,]").unwrap_err();
/// let json = serde_json::json!({
///     "code": "control_malformed", "category": "syntax",
///     "message": "control document is not valid JSON: trailing comma (line 1, column 4)",
///     "location": { "line": 1, "column": 4 }, "part": null, "hint": error.hint(),
/// });
/// assert_eq!(serde_json::to_value(&error)?, json);
/// # Ok::<(), serde_json::Error>(())
/// ```
impl Serialize for DecodeError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let json = InJson {
            code: self.code(),
            category: Some(self.category()),
            message: self.to_string(),
            location: Some(self.location()),
            part: self.part(),
            hint: self.hint(),
        };
        json.serialize(serializer)
    }
}

impl DecodeErrorKind {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::ContentType(kind) => kind.code(),
            Self::Parse(kind) => kind.code(),
            Self::Control(kind) => kind.code(),
            Self::Envelope(kind) => kind.code(),
        }
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(&self) -> Category {
        match self {
            Self::ContentType(kind) => kind.category(),
            Self::Parse(kind) => kind.category(),
            Self::Control(kind) => kind.category(),
            Self::Envelope(kind) => kind.category(),
        }
    }

    /// What the sender should change.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::ContentType(kind) => kind.hint(),
            Self::Parse(kind) => kind.hint(),
            Self::Control(kind) => kind.hint(),
            Self::Envelope(kind) => kind.hint(),
        }
    }
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ContentType(kind) => kind.fmt(f),
            Self::Parse(kind) => kind.fmt(f),
            Self::Control(kind) => kind.fmt(f),
            Self::Envelope(kind) => kind.fmt(f),
        }
    }
}

impl From<EnvelopeErrorKind> for DecodeErrorKind {
    fn from(kind: EnvelopeErrorKind) -> Self {
        Self::Envelope(kind)
    }
}

impl From<ContentTypeErrorKind> for DecodeErrorKind {
    fn from(kind: ContentTypeErrorKind) -> Self {
        Self::ContentType(kind)
    }
}

impl From<ControlErrorKind> for DecodeErrorKind {
    fn from(kind: ControlErrorKind) -> Self {
        Self::Control(kind)
    }
}

impl From<ParseErrorKind> for DecodeErrorKind {
    fn from(kind: ParseErrorKind) -> Self {
        Self::Parse(kind)
    }
}

impl EnvelopeErrorKind {
    /// The stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::ControlMissing => "control_missing",
            Self::ControlNotJson | Self::ControlUntyped => "control_not_json",
            Self::ControlDuplicate => "control_duplicate",
            Self::NameInvalid => "name_invalid",
            Self::NameDuplicate => "name_duplicate",
            Self::NestedMultipart => "nested_multipart",
            Self::RefUnresolved => "ref_unresolved",
            Self::Refused(code) => code.as_str(),
        }
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(self) -> Category {
        Category::Rule
    }

    /// What the sender should change.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::ControlMissing => {
                "send the control document as the first part, with `Content-Type: application/json`"
            }
            Self::ControlNotJson => {
                "send the control document first, as a part of its own with `Content-Type: application/json`"
            }
            Self::ControlUntyped => {
                "add `Content-Type: application/json` to the control part; most HTTP clients do so only when it is given as a file or blob with a type, not as a text field"
            }
            Self::ControlDuplicate => {
                "send JSON content under a type of its own, such as application/schema+json, or put it into the control document"
            }
            Self::NameInvalid => {
                "name the part with 1 to 256 ASCII letters, digits, `-`, `_` or `.`; put other names into the file name"
            }
            Self::NameDuplicate => "give every part a name of its own",
            Self::NestedMultipart => {
                "send the inner parts as parts of this message, each with a name"
            }
            Self::RefUnresolved => {
                "send a content part of exactly that name, or take the reference out; a message without parts can have none"
            }
            Self::Refused(code) => code.hint(),
        }
    }
}

impl fmt::Display for EnvelopeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlMissing => f.write_str("message has no control part"),
            Self::ControlNotJson => f.write_str("control part is not application/json"),
            Self::ControlUntyped => f.write_str("control part has no Content-Type"),
            Self::ControlDuplicate => f.write_str("content part is application/json"),
            Self::NameInvalid => f.write_str("part name is not valid"),
            Self::NameDuplicate => f.write_str("part name is taken by an earlier part"),
            Self::NestedMultipart => f.write_str("content part is multipart"),
            Self::RefUnresolved => f.write_str("reference to a part that is not there"),
            Self::Refused(code) => write!(f, "{code}"),
        }
    }
}
