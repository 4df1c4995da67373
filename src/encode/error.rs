//! The error of encoding: most of them what a receiver would say.

use std::fmt;

use crate::{
    control::ControlError,
    envelope::DecodeErrorKind,
    error::{Category, Location, PartId},
};

/// The message cannot be encoded: nothing of it was written, or, where the content of a part comes
/// while it is written, it stays without its end, which no receiver accepts.
///
/// ```
/// use acp_envelope::{EnvelopeBuilder, Location, NewPart};
///
/// let mut message = EnvelopeBuilder::new();
/// let error = message.add(NewPart::new("image/png", "PNG").name("my image")).unwrap_err();
/// assert_eq!(error.code(), "name_invalid");
/// assert_eq!(error.location(), Some(&Location::Value(2)));
/// assert_eq!(error.to_string(), "part 1: part name is not valid (byte 2 of the value)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodeError(Box<Inner>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Inner {
    kind: EncodeErrorKind,
    location: Option<Location>,
    part: Option<PartId>,
}

/// What is wrong with a message that is to be encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeErrorKind {
    /// A receiver would refuse it (ACP-ENC-4). The receiver's code, such as `ref_unresolved`.
    Refused(DecodeErrorKind),
    /// A line of a part starts with the delimiter (ACP-ENC-2): a receiver would end the part there,
    /// or, after a CR or LF alone, some would. `boundary_occurs`
    BoundaryOccurs,
    /// A header field that the encoder writes itself, or never (ACP-ENC-8). `field_reserved`
    FieldReserved,
    /// The content of a part is shorter or longer than was declared (ACP-ENC-6). `content_length`
    ContentLength {
        /// The length that was declared, in bytes.
        declared: u64,
    },
    /// The content of a part was to come while the message is written, but did not.
    /// `content_missing`
    ContentMissing,
    /// The operating system gave no random bytes (ACP-ENC-2, ACP-ENC-3). `random_unavailable`
    RandomUnavailable,
}

impl EncodeError {
    pub(super) fn new(
        kind: impl Into<EncodeErrorKind>,
        location: Option<Location>,
        part: Option<PartId>,
    ) -> Self {
        Self(Box::new(Inner { kind: kind.into(), location, part }))
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> &EncodeErrorKind {
        &self.0.kind
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(&self) -> Category {
        self.0.kind.category()
    }

    /// One sentence on what to change.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        self.0.kind.hint()
    }

    /// Where it is, when it is somewhere: a byte of the value at fault, a JSON Pointer, or line and
    /// column of the control document.
    #[must_use]
    pub const fn location(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }

    /// The part it is about.
    #[must_use]
    pub const fn part(&self) -> Option<&PartId> {
        self.0.part.as_ref()
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = &self.0.part {
            write!(f, "{part}: ")?;
        }
        write!(f, "{}", self.0.kind)?;
        self.0.location.as_ref().map_or(Ok(()), |location| write!(f, " ({location})"))
    }
}

impl std::error::Error for EncodeError {}

impl From<ControlError> for EncodeError {
    fn from(error: ControlError) -> Self {
        let location = error.location();
        Self::new(error.into_parts().0, Some(location), None)
    }
}

impl<K: Into<DecodeErrorKind>> From<K> for EncodeErrorKind {
    fn from(kind: K) -> Self {
        Self::Refused(kind.into())
    }
}

impl EncodeErrorKind {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Refused(kind) => kind.code(),
            Self::BoundaryOccurs => "boundary_occurs",
            Self::FieldReserved => "field_reserved",
            Self::ContentLength { .. } => "content_length",
            Self::ContentMissing => "content_missing",
            Self::RandomUnavailable => "random_unavailable",
        }
    }

    /// Who has to act: [`Category::Misuse`], or [`Category::Io`] where the operating system failed.
    /// Never a peer, which has sent nothing.
    #[must_use]
    pub const fn category(&self) -> Category {
        match self {
            Self::RandomUnavailable => Category::Io,
            _ => Category::Misuse,
        }
    }

    /// What to change.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Refused(kind) => kind.hint(),
            Self::BoundaryOccurs => {
                "choose a boundary that does not occur in the content, or none: a random one is drawn then"
            }
            Self::FieldReserved => {
                "leave the field out: Content-Disposition and Content-Type are written from name, file name and media type; Content-Length and Content-Transfer-Encoding never are"
            }
            Self::ContentLength { .. } => {
                "give exactly as many bytes of content as were declared, or declare no length"
            }
            Self::ContentMissing => {
                "write the message with `next_segment`, which asks for the content of such parts"
            }
            Self::RandomUnavailable => {
                "try again, or give every part a name and the message a boundary"
            }
        }
    }
}

impl fmt::Display for EncodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(kind) => kind.fmt(f),
            Self::BoundaryOccurs => f.write_str("boundary occurs where it would be a delimiter"),
            Self::FieldReserved => f.write_str("header field is not for the caller to set"),
            Self::ContentLength { declared } => {
                write!(f, "content has another length than the {declared} bytes declared")
            }
            Self::ContentMissing => f.write_str("content was to be given while it is written"),
            Self::RandomUnavailable => f.write_str("operating system gave no random bytes"),
        }
    }
}
