//! A content part that is to be sent, and the header block it gets (ACP-ENC-3, ACP-ENC-5,
//! ACP-ENC-8).

use std::borrow::Cow;

use bytes::Bytes;

use super::{EncodeError, EncodeErrorKind};
use crate::{
    Config, Limits,
    envelope::{
        EnvelopeErrorKind, Part, WarningCode, is_framing, judge_content_type, lacks_charset,
    },
    error::{Location, PartId},
    name::PartName,
    parser::ParseErrorKind,
    syntax::{MediaType, is_field_value, is_ows, is_token, run, trim},
};

/// A content part to be sent: media type and content, and, where wanted, a name, a file name and
/// header fields. What is wrong with it is said when it is added to a message.
///
/// ```
/// use acp_envelope::{EnvelopeBuilder, NewPart};
///
/// let part = NewPart::new("text/csv; charset=utf-8", "a,b\r\n").name("table").filename("my \"table\".csv");
/// let table = EnvelopeBuilder::new().add(part)?;
/// assert_eq!(table.name(), &"table");
/// # Ok::<(), acp_envelope::EncodeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct NewPart<'a> {
    name: Option<Cow<'a, str>>,
    media_type: Cow<'a, [u8]>,
    filename: Option<Filename<'a>>,
    fields: Vec<(Cow<'a, str>, Cow<'a, [u8]>)>,
    content: Content,
}

#[derive(Debug, Clone)]
enum Filename<'a> {
    /// To be escaped.
    Text(Cow<'a, str>),
    /// The inside of a quoted-string that is not UTF-8, as it was received.
    AsSent(&'a [u8]),
}

/// Where the content of a part is.
#[derive(Debug, Clone)]
pub(super) enum Content {
    InMemory(Bytes),
    /// It comes while the message is written.
    Streamed {
        len: Option<u64>,
    },
}

impl Content {
    /// Its length, where that is known.
    pub(super) fn len(&self) -> Option<u64> {
        match self {
            Self::InMemory(bytes) => Some(bytes.len() as u64),
            Self::Streamed { len } => *len,
        }
    }
}

impl<'a> NewPart<'a> {
    /// A part whose content is in memory. It is never copied (ACP-ENC-6).
    ///
    /// Text should say its charset: `text/plain; charset=utf-8` (ACP-REF-9).
    #[must_use]
    pub fn new(media_type: impl Into<Cow<'a, str>>, content: impl Into<Bytes>) -> Self {
        Self::with_content(media_type.into(), Content::InMemory(content.into()))
    }

    /// A part whose content comes while the message is written, `len` bytes of it, where that is
    /// known: see [`EnvelopeEncoder::next_segment`](super::EnvelopeEncoder::next_segment).
    #[must_use]
    pub fn streamed(media_type: impl Into<Cow<'a, str>>, len: Option<u64>) -> Self {
        Self::with_content(media_type.into(), Content::Streamed { len })
    }

    fn with_content(media_type: Cow<'a, str>, content: Content) -> Self {
        let media_type = bytes_of(media_type);
        Self { name: None, media_type, filename: None, fields: Vec::new(), content }
    }

    /// Sets the name, unique in the message (ACP-NAME-1, ACP-NAME-2). Without one the part gets one
    /// that is (ACP-ENC-3).
    #[must_use]
    pub fn name(mut self, name: impl Into<Cow<'a, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the file name that a receiver may display, any text without control characters other
    /// than tab, CR and LF. Quotes, CR and LF are escaped as browsers do (WHATWG); a backslash only
    /// where it would be read as an escape. A name that holds `%22`, `%0D` or `%0A` itself is
    /// written as it is, since there is no escape for the percent sign: receivers display what
    /// these stand for.
    #[must_use]
    pub fn filename(mut self, filename: impl Into<Cow<'a, str>>) -> Self {
        self.filename = Some(Filename::Text(filename.into()));
        self
    }

    /// Adds a header field. Not for those that frame the part: Content-Disposition, Content-Type,
    /// Content-Length, Content-Transfer-Encoding.
    #[must_use]
    pub fn field(mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) -> Self {
        self.fields.push((name.into(), bytes_of(value.into())));
        self
    }

    /// The name it was given.
    pub(super) fn given_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) const fn content(&self) -> &Content {
        &self.content
    }

    pub(super) fn into_content(self) -> Content {
        self.content
    }

    /// Judges the media type of a content part, and says which byte of it is at fault (ACP-HDR-4,
    /// ACP-NAME-3, ACP-CTL-6, ACP-REF-9).
    pub(super) fn judge_media_type(&self, config: &Config) -> Result<(), (EncodeErrorKind, usize)> {
        let malformed = |at| (ParseErrorKind::ContentTypeInvalid.into(), at);
        white_space_at_an_end(&self.media_type).map_or(Ok(()), |at| Err(malformed(at)))?;
        let media_type = MediaType::parse(&self.media_type).map_err(malformed)?;
        media_type.repeated().map_or(Ok(()), |at| Err(malformed(at)))?;
        judge_content_type(&media_type, config).map_err(|kind| (kind.into(), 0))?;
        if lacks_charset(&media_type) && config.refuses(WarningCode::CharsetMissing) {
            return Err((EnvelopeErrorKind::Refused(WarningCode::CharsetMissing).into(), 0));
        }
        Ok(())
    }

    /// Appends the header lines to `block`, judged as a receiver would, the media type aside.
    pub(super) fn write_head(
        &self,
        name: &PartName,
        part: &PartId,
        limits: &Limits,
        block: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let fault = |kind: EncodeErrorKind, at: usize| {
            EncodeError::new(kind, Some(Location::Value(at as u64)), Some(part.clone()))
        };
        let start = block.len();
        block.extend_from_slice(b"Content-Disposition: form-data; name=\"");
        block.extend_from_slice(name.as_str().as_bytes());
        if let Some(filename) = &self.filename {
            block.extend_from_slice(b"\"; filename=\"");
            match filename {
                Filename::Text(text) => escape(text, block)
                    .map_err(|at| fault(ParseErrorKind::HeaderMalformed.into(), at))?,
                Filename::AsSent(bytes) => block.extend_from_slice(bytes),
            }
        }
        block.extend_from_slice(b"\"\r\n");

        write_field(b"Content-Type", &self.media_type, block);

        for (name, value) in &self.fields {
            judge_field(name, value).map_err(|(kind, at)| fault(kind, at))?;
            write_field(name.as_bytes(), value, block);
        }
        judge_block(block.len() - start, self.fields.len() + 2, limits)
            .map_err(|kind| EncodeError::new(kind, None, Some(part.clone())))
    }
}

/// The same part to be sent on: content, name, media type, file name and
/// [`extra_fields`](crate::ContentHead::extra_fields). Left out are transfer encodings, which
/// change nothing, parameters of Content-Disposition that `form-data` does not define, and a
/// `filename*` that stands alone and cannot be decoded.
impl<'a> From<&'a Part> for NewPart<'a> {
    fn from(part: &'a Part) -> Self {
        let head = part.head();
        let as_sent = head.filename_not_utf8().map(Filename::AsSent);
        let fields = head.extra_fields();
        Self {
            name: Some(head.name().as_str().into()),
            media_type: head.media_type().as_bytes().into(),
            filename: head.filename().map(Filename::Text).or(as_sent),
            fields: fields.map(|field| (field.name.into(), field.value.into())).collect(),
            content: Content::InMemory(part.body().clone()),
        }
    }
}

fn bytes_of(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

fn write_field(name: &[u8], value: &[u8], block: &mut Vec<u8>) {
    for piece in [name, b": ", value, b"\r\n"] {
        block.extend_from_slice(piece);
    }
}

/// ACP-ENC-5 and ACP-ENC-8: a field that neither ends its line nor says something of the framing.
fn judge_field(name: &str, value: &[u8]) -> Result<(), (EncodeErrorKind, usize)> {
    let token = run(name.as_bytes(), is_token);
    let visible = run(value, is_field_value);
    let white_space = white_space_at_an_end(value);
    if token == 0 || token < name.len() {
        Err((ParseErrorKind::HeaderMalformed.into(), token))
    } else if is_framing(name) {
        Err((EncodeErrorKind::FieldReserved, 0))
    } else if visible < value.len() {
        Err((ParseErrorKind::HeaderMalformed.into(), visible))
    } else if let Some(at) = white_space {
        Err((ParseErrorKind::HeaderMalformed.into(), at))
    } else {
        Ok(())
    }
}

/// White space at an end of a field value, which a receiver would take off: it would be lost.
fn white_space_at_an_end(value: &[u8]) -> Option<usize> {
    let (start, trimmed) = trim(value, is_ows);
    (trimmed.len() < value.len()).then_some(if start > 0 { 0 } else { trimmed.len() })
}

/// ACP-LIM-7 and ACP-LIM-8.
fn judge_block(bytes: usize, fields: usize, limits: &Limits) -> Result<(), ParseErrorKind> {
    if bytes > limits.max_header_bytes {
        Err(ParseErrorKind::HeadersTooLarge { limit: limits.max_header_bytes })
    } else if fields > limits.max_headers {
        Err(ParseErrorKind::TooManyHeaders { limit: limits.max_headers })
    } else {
        Ok(())
    }
}

/// Appends a file name as the inside of a quoted-string, or says which byte cannot stand there.
fn escape(filename: &str, block: &mut Vec<u8>) -> Result<(), usize> {
    let bytes = filename.as_bytes();
    for (at, &b) in bytes.iter().enumerate() {
        match b {
            b'"' => block.extend_from_slice(b"%22"),
            b'\r' => block.extend_from_slice(b"%0D"),
            b'\n' => block.extend_from_slice(b"%0A"),
            // It would escape the next one, or the quote at the end.
            b'\\' if matches!(bytes.get(at + 1), None | Some(b'\\')) => {
                block.extend_from_slice(b"\\\\");
            }
            b if is_field_value(b) => block.push(b),
            _ => return Err(at),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::Disposition;

    #[test]
    fn file_names_come_back_as_they_were_acp_enc_5_acp_hdr_6() {
        let mut names: Vec<String> = vec!["日本.txt".into(), "50%".into(), "a\tb".into()];
        // All names of up to five characters out of those that matter.
        for n in 0..6usize.pow(5) {
            let chars = ['\\', '"', '\r', '\n', 'a', '%'];
            names.push((0..5).map(|digit| chars[n / 6usize.pow(digit) % 6]).collect());
        }
        for name in names {
            for name in name.char_indices().map(|(end, _)| &name[..end]).chain([&name[..]]) {
                let mut value = b"form-data; name=\"a\"; filename=\"".to_vec();
                escape(name, &mut value).unwrap();
                value.push(b'"');
                let read = Disposition::parse(&value).unwrap().filename().unwrap().into_owned();
                assert_eq!(read, name, "{}", value.escape_ascii());
            }
        }
    }

    #[test]
    fn browsers_escape_in_the_same_way_acp_enc_5() {
        for (name, escaped) in [
            ("a\"b\r\nc", "a%22b%0D%0Ac"),
            ("C:\\dir\\file", "C:\\dir\\file"),
            ("%22", "%22"),
            ("é", "é"),
            ("a\\", "a\\\\"),
        ] {
            let mut block = Vec::new();
            escape(name, &mut block).unwrap();
            assert_eq!(String::from_utf8(block).unwrap(), escaped);
        }
        assert_eq!(escape("ab\0", &mut Vec::new()), Err(2));
        assert_eq!(escape("\u{7f}", &mut Vec::new()), Err(0));
    }
}
