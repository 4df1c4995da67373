//! Errors of the multipart layer.

use std::fmt;

use crate::error::Category;

/// The multipart body is malformed, too large, or cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    kind: ParseErrorKind,
    offset: u64,
    part: Option<usize>,
}

/// What is wrong with a multipart body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// A delimiter is followed by something else than padding and CRLF, or `--`; or it stands
    /// directly after a blank line (ACP-FRM-1, ACP-FRM-2, ACP-FRM-5). `delimiter_malformed`
    DelimiterMalformed,
    /// The input ended before the close delimiter (ACP-FRM-5). `truncated`
    Truncated,
    /// A header line breaks the grammar (ACP-HDR-1). `header_malformed`
    HeaderMalformed,
    /// A field that may stand once stands twice (ACP-HDR-2). `header_duplicate`
    HeaderDuplicate,
    /// The Content-Disposition is no valid `form-data` (ACP-HDR-3). `disposition_invalid`
    DispositionInvalid,
    /// A part has no name (ACP-HDR-3). `name_missing`
    NameMissing,
    /// A part's Content-Type is no valid media type (ACP-HDR-4). `content_type_invalid`
    ContentTypeInvalid,
    /// A transfer encoding that changes content (ACP-HDR-5). `transfer_encoding`
    TransferEncoding,
    /// More parts than allowed (ACP-LIM-1). `limit_parts`
    TooManyParts {
        /// The limit in force.
        limit: usize,
    },
    /// A body larger than allowed (ACP-LIM-2). `limit_part_size`
    PartTooLarge {
        /// The limit in force, in bytes.
        limit: u64,
    },
    /// A message larger than allowed (ACP-LIM-3). `limit_message_size`
    MessageTooLarge {
        /// The limit in force, in bytes.
        limit: u64,
    },
    /// A header block larger than allowed (ACP-LIM-7). `limit_header_size`
    HeadersTooLarge {
        /// The limit in force, in bytes.
        limit: usize,
    },
    /// More header fields in a part than allowed (ACP-LIM-8). `limit_headers`
    TooManyHeaders {
        /// The limit in force.
        limit: usize,
    },
}

impl ParseError {
    pub(super) const fn new(kind: ParseErrorKind, offset: u64, part: Option<usize>) -> Self {
        Self { kind, offset, part }
    }

    /// What is wrong.
    #[must_use]
    pub const fn kind(&self) -> ParseErrorKind {
        self.kind
    }

    /// The byte of the body that is wrong, counted from 0.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The part it is in, counted from 0.
    #[must_use]
    pub const fn part(&self) -> Option<usize> {
        self.part
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.kind.code()
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(part) = self.part {
            write!(f, "part {part}: ")?;
        }
        write!(f, "{} (byte {})", self.kind, self.offset)
    }
}

impl std::error::Error for ParseError {}

impl ParseErrorKind {
    /// The stable code.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::DelimiterMalformed => "delimiter_malformed",
            Self::Truncated => "truncated",
            Self::HeaderMalformed => "header_malformed",
            Self::HeaderDuplicate => "header_duplicate",
            Self::DispositionInvalid => "disposition_invalid",
            Self::NameMissing => "name_missing",
            Self::ContentTypeInvalid => "content_type_invalid",
            Self::TransferEncoding => "transfer_encoding",
            Self::TooManyParts { .. } => "limit_parts",
            Self::PartTooLarge { .. } => "limit_part_size",
            Self::MessageTooLarge { .. } => "limit_message_size",
            Self::HeadersTooLarge { .. } => "limit_header_size",
            Self::TooManyHeaders { .. } => "limit_headers",
        }
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(self) -> Category {
        match self {
            Self::DelimiterMalformed
            | Self::HeaderMalformed
            | Self::DispositionInvalid
            | Self::ContentTypeInvalid => Category::Syntax,
            Self::Truncated => Category::Truncated,
            Self::HeaderDuplicate | Self::NameMissing | Self::TransferEncoding => Category::Rule,
            Self::TooManyParts { .. }
            | Self::PartTooLarge { .. }
            | Self::MessageTooLarge { .. }
            | Self::HeadersTooLarge { .. }
            | Self::TooManyHeaders { .. } => Category::Limit,
        }
    }

    /// What the sender should change.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::DelimiterMalformed => {
                "end every line of the framing in CRLF, write nothing else after a delimiter, and choose a boundary that does not occur in the content"
            }
            Self::Truncated => {
                "send the whole message, up to and including the close delimiter `--boundary--`"
            }
            Self::HeaderMalformed => {
                "write part headers as `Name: value` lines that end in CRLF, without folding, control characters or a space before the colon"
            }
            Self::HeaderDuplicate => {
                "send Content-Disposition, Content-Type and Content-Transfer-Encoding at most once in a part"
            }
            Self::DispositionInvalid => {
                "write `Content-Disposition: form-data; name=\"…\"; filename=\"…\"`, each parameter once, quotes in a file name as %22"
            }
            Self::NameMissing => {
                "give every part a name: `Content-Disposition: form-data; name=\"…\"`"
            }
            Self::ContentTypeInvalid => {
                "send one valid media type as the part's Content-Type, each parameter once, or none"
            }
            Self::TransferEncoding => {
                "send the part's bytes as they are, without base64 or quoted-printable and without Content-Transfer-Encoding"
            }
            Self::TooManyParts { .. } => "send fewer parts, or spread them over several messages",
            Self::PartTooLarge { .. } => {
                "send a smaller part, or ask the receiver for a higher limit"
            }
            Self::MessageTooLarge { .. } => {
                "send a smaller message, or ask the receiver for a higher limit"
            }
            Self::HeadersTooLarge { .. } => "shorten the part's headers, the file name first",
            Self::TooManyHeaders { .. } => {
                "send only Content-Disposition and Content-Type with a part"
            }
        }
    }
}

impl fmt::Display for ParseErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DelimiterMalformed => f.write_str("delimiter line is malformed"),
            Self::Truncated => f.write_str("message ends before its close delimiter"),
            Self::HeaderMalformed => f.write_str("header line is malformed"),
            Self::HeaderDuplicate => f.write_str("header field is given twice"),
            Self::DispositionInvalid => f.write_str("Content-Disposition is not valid form-data"),
            Self::NameMissing => f.write_str("part has no name"),
            Self::ContentTypeInvalid => f.write_str("Content-Type is not a valid media type"),
            Self::TransferEncoding => {
                f.write_str("Content-Transfer-Encoding would change the content")
            }
            Self::TooManyParts { limit } => write!(f, "parts exceed {limit}"),
            Self::PartTooLarge { limit } => write!(f, "body exceeds {limit} bytes"),
            Self::MessageTooLarge { limit } => write!(f, "message exceeds {limit} bytes"),
            Self::HeadersTooLarge { limit } => write!(f, "headers exceed {limit} bytes"),
            Self::TooManyHeaders { limit } => write!(f, "header fields exceed {limit}"),
        }
    }
}
