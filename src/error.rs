//! What the errors of all layers share: who is at fault, and where.

use std::fmt;

use serde::Serialize;

use crate::name::PartName;

/// Who has to act on an error. In JSON, its name in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Category {
    /// The bytes are not what the grammar allows.
    Syntax,
    /// The grammar holds, but a rule of the protocol does not.
    Rule,
    /// A bound of [`Limits`](crate::Limits) is exceeded.
    Limit,
    /// The input ended before the message did.
    Truncated,
    /// The caller asked for something that cannot be: its own fault, not a peer's.
    Misuse,
    /// The operating system failed.
    Io,
}

/// Where a fault is. A place never depends on how the input was cut into chunks (ACP-FRM-7).
///
/// In JSON, an object whose member says what is counted:
///
/// ```
/// use acp_envelope::Location;
///
/// let json = |location| serde_json::to_string(&location).unwrap();
/// assert_eq!(json(Location::Byte(97)), r#"{"byte":97}"#);
/// assert_eq!(json(Location::LineColumn { line: 2, column: 1 }), r#"{"line":2,"column":1}"#);
/// // and `content_type`, `content_length`, `pointer`, `value`.
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Location {
    /// Byte of the message body, counted from 0: the one that made the fault certain, or, where a
    /// header field's meaning is at fault, the byte of it that is wrong.
    Byte(u64),
    /// Byte of the message's Content-Type value, counted from 0.
    ContentType(usize),
    /// The declared length of the message (Content-Length), in bytes, before any byte of it.
    ContentLength(u64),
    /// JSON Pointer (RFC 6901) into the control document: the object that holds `$ref`.
    Pointer(String),
    /// Byte of a value that was given to be encoded, counted from 0: the name, media type, file
    /// name, header field or content that the error is about.
    Value(u64),
    /// Line and column of the control document, both counted from 1, the column in characters.
    #[serde(untagged)]
    LineColumn {
        /// Line, ended by a line feed.
        line: usize,
        /// Character of that line.
        column: usize,
    },
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(at) => write!(f, "byte {at}"),
            Self::ContentType(at) => write!(f, "byte {at} of the Content-Type"),
            Self::ContentLength(_) => f.write_str("declared length"),
            Self::Pointer(pointer) if pointer.is_empty() => f.write_str("at the root"),
            Self::Pointer(pointer) => write!(f, "at {}", pointer.escape_debug()),
            Self::Value(at) => write!(f, "byte {at} of the value"),
            Self::LineColumn { line, column } => write!(f, "line {line}, column {column}"),
        }
    }
}

/// Which part of the message an error or a warning is about. In JSON, an object of both members.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub struct PartId {
    /// Position in the message, counted from 0: the control part is 0, the first content part is 1.
    pub index: usize,
    /// Its name, where it has a valid one that is already known.
    pub name: Option<PartName>,
}

impl PartId {
    pub(crate) fn new(index: usize, name: Option<PartName>) -> Self {
        Self { index, name }
    }
}

impl fmt::Display for PartId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {}", self.index)?;
        match &self.name {
            Some(name) => write!(f, " \"{name}\""),
            None => Ok(()),
        }
    }
}

/// An error or a warning in JSON.
#[derive(Serialize)]
pub(crate) struct InJson<'a> {
    pub(crate) code: &'static str,
    /// That of an error; a warning has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) category: Option<Category>,
    pub(crate) message: String,
    pub(crate) location: Option<&'a Location>,
    pub(crate) part: Option<&'a PartId>,
    pub(crate) hint: &'static str,
}
