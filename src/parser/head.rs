//! The head of a part: its header block, and what its fields mean (ACP-HDR-2…5, ACP-HDR-7).

use bytes::Bytes;

use super::{ParseError, ParseErrorKind};
use crate::syntax::{Disposition, Field, Fields, MediaType, PlainHead};

/// The header block of a part, its bytes checked (ACP-HDR-1). It pins the buffer it came in.
#[derive(Debug, Clone)]
pub struct PartHead {
    index: usize,
    offset: u64,
    block: Bytes,
    /// What the block says, where it was recognised at once.
    plain: Option<PlainHead>,
}

/// What `form-data` says of a part (RFC 7578).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FormDataHead<'a> {
    /// The name as sent, without quotes.
    pub name: &'a [u8],
    /// The whole disposition, with the file name.
    pub disposition: Disposition<'a>,
    /// The media type; `text/plain` where none is sent.
    pub media_type: MediaType<'a>,
}

impl PartHead {
    /// `block` is a scanned header block with its blank line; `offset` says where it starts.
    pub(super) fn new(index: usize, offset: u64, block: Bytes, plain: Option<PlainHead>) -> Self {
        Self { index, offset, block, plain }
    }

    /// The same, in a buffer of its own.
    #[cfg(feature = "spool")]
    pub(crate) fn detached(&self) -> Self {
        Self { block: Bytes::copy_from_slice(&self.block), ..*self }
    }

    /// Position of the part in the message, counted from 0.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The byte of the message at which the header block starts.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The byte of the message at which the body starts.
    #[must_use]
    pub fn body_offset(&self) -> u64 {
        self.offset + self.block.len() as u64
    }

    /// The byte of the message at which the blank line starts: the end of all fields.
    pub(crate) fn blank_line(&self) -> u64 {
        self.body_offset() - 2
    }

    /// The header block, blank line and all.
    pub(crate) fn block(&self) -> &[u8] {
        &self.block
    }

    /// The fields in the order sent, known and unknown ones.
    #[must_use]
    pub fn fields(&self) -> Fields<'_> {
        Fields::new(&self.block)
    }

    /// Reads the fields that `form-data` defines (ACP-HDR-2…5).
    ///
    /// # Errors
    ///
    /// `header_duplicate`, `disposition_invalid`, `content_type_invalid`, `transfer_encoding`, line
    /// by line; then `name_missing`.
    pub fn form_data(&self) -> Result<FormDataHead<'_>, ParseError> {
        if let Some(plain) = &self.plain {
            return Ok(FormDataHead {
                name: plain.name(&self.block),
                disposition: plain.disposition(&self.block),
                media_type: plain.media_type(&self.block),
            });
        }
        let (mut disposition, mut media_type) = (None, None);
        for meaning in self.meanings() {
            match meaning?.1 {
                Meaning::Disposition(d) => disposition = Some(d),
                Meaning::ContentType(m) => media_type = Some(m),
            }
        }
        let named = disposition.and_then(|d: Disposition<'_>| d.name().map(|name| (name, d)));
        let Some((name, disposition)) = named else {
            return Err(self.error(ParseErrorKind::NameMissing, self.blank_line()));
        };
        let media_type = media_type.unwrap_or(MediaType::TEXT_PLAIN);
        Ok(FormDataHead { name, disposition, media_type })
    }

    /// What the fields mean, where that was recognised at once.
    pub(crate) const fn plain(&self) -> Option<&PlainHead> {
        self.plain.as_ref()
    }

    /// What the fields mean, line by line (ACP-HDR-7), each with the byte of the message at which
    /// its value starts. Ends after the first fault.
    pub(crate) fn meanings(&self) -> Meanings<'_> {
        Meanings { head: self, fields: self.fields(), seen: [false; KNOWN.len()] }
    }

    fn error(&self, kind: ParseErrorKind, offset: u64) -> ParseError {
        ParseError::new(kind, offset, Some(self.index))
    }
}

/// The fields that may stand once only (ACP-HDR-2).
const KNOWN: [&str; 3] = ["content-disposition", "content-type", "content-transfer-encoding"];

/// What one field line says.
#[derive(Debug)]
pub(crate) enum Meaning<'a> {
    Disposition(Disposition<'a>),
    ContentType(MediaType<'a>),
}

/// Iterator of [`PartHead::meanings`].
#[derive(Debug)]
pub(crate) struct Meanings<'a> {
    head: &'a PartHead,
    fields: Fields<'a>,
    seen: [bool; KNOWN.len()],
}

impl<'a> Meanings<'a> {
    /// `None` for a field that says nothing about the form.
    fn read(&mut self, field: &Field<'a>) -> Result<Option<(u64, Meaning<'a>)>, ParseError> {
        let Some(known) = KNOWN.iter().position(|name| field.is(name)) else { return Ok(None) };
        let line = self.head.offset + field.at as u64;
        let value = self.head.offset + field.value_at as u64;
        if self.seen.get_mut(known).is_some_and(|seen| std::mem::replace(seen, true)) {
            return Err(self.head.error(ParseErrorKind::HeaderDuplicate, line));
        }
        let fault = |kind, at: usize| self.head.error(kind, value + at as u64);
        match known {
            0 => Disposition::parse(field.value)
                .map(|disposition| Some((value, Meaning::Disposition(disposition))))
                .map_err(|at| fault(ParseErrorKind::DispositionInvalid, at)),
            1 => MediaType::parse(field.value)
                .and_then(|media_type| match media_type.repeated() {
                    Some(at) => Err(at),
                    None => Ok(Some((value, Meaning::ContentType(media_type)))),
                })
                .map_err(|at| fault(ParseErrorKind::ContentTypeInvalid, at)),
            _ if is_identity(field.value) => Ok(None),
            _ => Err(fault(ParseErrorKind::TransferEncoding, 0)),
        }
    }
}

/// The transfer encodings that leave content as it is (ACP-HDR-5).
fn is_identity(encoding: &[u8]) -> bool {
    [&b"7bit"[..], b"8bit", b"binary"].iter().any(|known| encoding.eq_ignore_ascii_case(known))
}

impl<'a> Iterator for Meanings<'a> {
    type Item = Result<(u64, Meaning<'a>), ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let field = self.fields.next()?;
            if let Some(found) = self.read(&field).transpose() {
                return Some(found);
            }
        }
    }
}
