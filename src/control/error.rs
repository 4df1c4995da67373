//! Errors of the control document.

use std::fmt;

use crate::error::{Category, Location};

/// What is wrong with a control document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ControlErrorKind {
    /// The document is larger than allowed (ACP-LIM-5, ACP-LIM-6). `limit_control_size`
    TooLarge {
        /// The limit in force, in bytes.
        limit: usize,
    },
    /// The charset is not a WHATWG label (ACP-CTL-3). `control_charset`
    CharsetUnknown,
    /// The bytes do not decode in the declared charset (ACP-CTL-3). `control_charset`
    CharsetMismatch {
        /// The charset's WHATWG name.
        charset: &'static str,
    },
    /// The text is not one RFC 8259 value (ACP-CTL-4). `control_malformed`
    Malformed {
        /// What the JSON reader says, without any of the document's text.
        reason: Box<str>,
    },
    /// A value that is to be encoded has no JSON form (ACP-ENC-4). `control_malformed`
    Unserializable {
        /// What the serializer says.
        reason: Box<str>,
    },
    /// A member name is given twice in one object (ACP-CTL-5). `control_malformed`
    MemberTwice,
    /// A number is beyond every double (ACP-CTL-4). `control_malformed`
    NumberOutOfRange,
    /// More arrays and objects are open at once than allowed (ACP-LIM-9). `limit_json_depth`
    TooDeep {
        /// The limit in force.
        limit: usize,
    },
    /// The value of `$ref` is not a string (ACP-REF-3). `ref_invalid`
    RefNotString,
    /// The value of `$ref` is not a valid name (ACP-REF-3). `ref_invalid`
    RefNotName,
    /// An object holds `$ref` and another member, or `$ref` twice (ACP-REF-4). `ref_invalid`
    RefNotAlone,
    /// A reference has the control part's own name (ACP-REF-6). `ref_control`
    RefToControl,
}

impl ControlErrorKind {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "limit_control_size",
            Self::CharsetUnknown | Self::CharsetMismatch { .. } => "control_charset",
            Self::Malformed { .. }
            | Self::Unserializable { .. }
            | Self::MemberTwice
            | Self::NumberOutOfRange => "control_malformed",
            Self::TooDeep { .. } => "limit_json_depth",
            Self::RefNotString | Self::RefNotName | Self::RefNotAlone => "ref_invalid",
            Self::RefToControl => "ref_control",
        }
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(&self) -> Category {
        match self {
            Self::CharsetMismatch { .. } | Self::Malformed { .. } => Category::Syntax,
            Self::TooLarge { .. } | Self::TooDeep { .. } => Category::Limit,
            _ => Category::Rule,
        }
    }

    /// What the sender should change.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => {
                "move large values out of the control document into content parts"
            }
            Self::CharsetUnknown => {
                "send the control document as UTF-8 without a charset parameter, or with a WHATWG encoding label"
            }
            Self::CharsetMismatch { .. } => {
                "encode the control document in the charset its Content-Type declares; UTF-8 when it declares none"
            }
            Self::Malformed { .. } => {
                "send exactly one RFC 8259 JSON value, written by a JSON library, without comments or trailing commas"
            }
            Self::Unserializable { .. } => {
                "give a value that JSON can hold: maps with strings as keys, and nothing that fails to serialize"
            }
            Self::MemberTwice => "give every member of an object a name of its own",
            Self::NumberOutOfRange => "send a number that a double can hold, or a string",
            Self::TooDeep { .. } => "nest arrays and objects less deeply",
            Self::RefNotString | Self::RefNotName => {
                "write a reference as `{\"$ref\":\"name\"}` with the name of a part; send a JSON Schema, which uses `$ref` itself, as a content part of type application/schema+json"
            }
            Self::RefNotAlone => {
                "put nothing beside `$ref` in its object; send a JSON Schema, which uses `$ref` itself, as a content part of type application/schema+json"
            }
            Self::RefToControl => "refer to a content part, not to the control part",
        }
    }
}

impl fmt::Display for ControlErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { limit } => write!(f, "control document exceeds {limit} bytes"),
            Self::CharsetUnknown => f.write_str("charset of the control document is unknown"),
            Self::CharsetMismatch { charset } => {
                write!(f, "control document is not valid {charset}")
            }
            Self::Malformed { reason } => write!(f, "control document is not valid JSON: {reason}"),
            Self::Unserializable { reason } => {
                write!(f, "control document cannot be written as JSON: {reason}")
            }
            Self::MemberTwice => f.write_str("member name is given twice in one object"),
            Self::NumberOutOfRange => f.write_str("number is out of range"),
            Self::TooDeep { limit } => write!(f, "nesting exceeds {limit} arrays and objects"),
            Self::RefNotString => f.write_str("value of $ref is not a string"),
            Self::RefNotName => f.write_str("value of $ref is not a part name"),
            Self::RefNotAlone => f.write_str("$ref is not the only member of its object"),
            Self::RefToControl => f.write_str("reference to the control part itself"),
        }
    }
}

/// A control document is refused, with the place within it.
///
/// ```
/// use acp_envelope::{Control, Location};
///
/// let error = Control::from_text("[1,\n 2,]").unwrap_err();
/// assert_eq!(error.code(), "control_malformed");
/// assert_eq!(error.location(), Location::LineColumn { line: 2, column: 4 });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlError {
    kind: ControlErrorKind,
    place: Place,
}

/// Where in a control document a fault is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The charset label, which stands outside the document.
    Label,
    /// Byte of the raw document.
    Byte(usize),
    /// Line and column, from 1, of the text, and the byte of the raw document, where that is known.
    LineColumn { line: usize, column: usize, byte: Option<usize> },
    /// JSON Pointer of the object that holds `$ref`.
    Pointer(String),
}

impl ControlError {
    pub(super) const fn new(kind: ControlErrorKind, place: Place) -> Self {
        Self { kind, place }
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> &ControlErrorKind {
        &self.kind
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(&self) -> Category {
        self.kind.category()
    }

    /// What to change.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        self.kind.hint()
    }

    /// Where in the document it is.
    #[must_use]
    pub fn location(&self) -> Location {
        match &self.place {
            Place::Label => Location::Value(0),
            Place::Byte(at) => Location::Value(*at as u64),
            Place::LineColumn { line, column, .. } => {
                Location::LineColumn { line: *line, column: *column }
            }
            Place::Pointer(pointer) => Location::Pointer(pointer.clone()),
        }
    }

    #[cfg(test)]
    pub(super) const fn place(&self) -> &Place {
        &self.place
    }

    /// The same fault of a document whose text starts at this byte of it, or is decoded.
    pub(super) fn of_text_at(mut self, start: Option<usize>) -> Self {
        if let Place::LineColumn { byte, .. } = &mut self.place {
            *byte = start.zip(*byte).map(|(start, byte)| start + byte);
        }
        self
    }

    pub(crate) fn into_parts(self) -> (ControlErrorKind, Place) {
        (self.kind, self.place)
    }
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kind, self.location())
    }
}

impl std::error::Error for ControlError {}
