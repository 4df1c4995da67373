//! What the errors of all layers share: who is at fault, and where.

use std::fmt;

use crate::name::PartName;

/// Who has to act on an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Location {
    /// Byte of the message body, counted from 0: the one that made the fault certain, or, where a
    /// header field's meaning is at fault, the byte of it that is wrong.
    Byte(u64),
    /// Byte of the message's Content-Type value, counted from 0.
    ContentType(usize),
    /// The declared length of the message (Content-Length), before any byte of it.
    ContentLength,
    /// JSON Pointer (RFC 6901) into the control document: the object that holds `$ref`.
    Pointer(String),
    /// Line and column of the control document, both counted from 1, the column in characters.
    LineColumn {
        /// Line, ended by a line feed.
        line: usize,
        /// Character of that line.
        column: usize,
    },
    /// Byte of a value that was given to be encoded, counted from 0: the name, media type, file
    /// name, header field or content that the error is about.
    Value(u64),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(at) => write!(f, "byte {at}"),
            Self::ContentType(at) => write!(f, "byte {at} of the Content-Type"),
            Self::ContentLength => f.write_str("declared length"),
            Self::Pointer(pointer) if pointer.is_empty() => f.write_str("at the root"),
            Self::Pointer(pointer) => write!(f, "at {}", pointer.escape_debug()),
            Self::LineColumn { line, column } => write!(f, "line {line}, column {column}"),
            Self::Value(at) => write!(f, "byte {at} of the value"),
        }
    }
}

/// Which part of the message an error or a warning is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
