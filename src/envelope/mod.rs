//! The rules of a message, on top of the multipart parser and the control document.

mod config;
mod decoder;
mod error;
mod head;
mod json_form;
mod multipart_form;
mod names;
mod pieces;
mod warning;

use bytes::Bytes;

use self::pieces::Pieces;
pub use self::{
    config::Config,
    decoder::{EnvelopeDecoder, Item, SalvagedControl},
    error::{DecodeError, DecodeErrorKind, EnvelopeErrorKind},
    head::ContentHead,
    warning::{Warning, WarningCode},
};
pub(crate) use self::{
    head::{is_framing, judge_content_type, lacks_charset},
    json_form::excess as json_form_excess,
};
use crate::{
    control::{Control, Reference},
    name::PartName,
    parser::Status,
};

/// A decoded, valid message: control document and content parts (ACP-MSG-1).
///
/// Both forms of a message give the same envelope (ACP-MSG-3): envelopes are equal when their
/// control documents and content parts are; the control part's name and warnings do not matter. An
/// envelope can be sent on: see
/// [`EnvelopeBuilder::build_from`](crate::EnvelopeBuilder::build_from).
#[derive(Debug, Clone)]
pub struct Envelope {
    control: Control,
    control_name: Option<PartName>,
    parts: Vec<Part>,
    warnings: Vec<Warning>,
}

impl Envelope {
    /// The control document.
    #[must_use]
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// The control part's name; `None` in the JSON form, or where it has none.
    #[must_use]
    pub const fn control_name(&self) -> Option<&PartName> {
        self.control_name.as_ref()
    }

    /// The content parts in the order sent.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The content part of that name, matched exactly.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.head.name() == name)
    }

    /// The content part a reference means. `None` for a reference that is not of this message.
    /// Looks at one part after the other.
    #[must_use]
    pub fn resolve(&self, reference: &Reference) -> Option<&Part> {
        self.part(reference.name().as_str())
    }

    /// What is worth knowing, though the message stands.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

impl PartialEq for Envelope {
    fn eq(&self, other: &Self) -> bool {
        self.control == other.control && self.parts == other.parts
    }
}

impl Eq for Envelope {}

/// A content part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    head: ContentHead,
    body: Bytes,
}

impl Part {
    /// Name, media type, file name, other fields, references.
    #[must_use]
    pub const fn head(&self) -> &ContentHead {
        &self.head
    }

    /// The content, byte for byte.
    #[must_use]
    pub const fn body(&self) -> &Bytes {
        &self.body
    }
}

/// Decodes a whole message with the default [`Config`].
///
/// `content_type` is the message's Content-Type value; `body` is not copied: the parts are views of
/// it, and keep it alive.
///
/// # Errors
///
/// A [`DecodeError`] with any code of the specification.
///
/// ```
/// let body = "--b\r\nContent-Type: application/json\r\n\r\n{\"doc\":{\"$ref\":\"d\"}}\r\n--b\r\n\
///     Content-Disposition: form-data; name=\"d\"\r\nContent-Type: application/pdf\r\n\r\n%PDF\r\n--b--\r\n";
/// let envelope = acp_envelope::decode("multipart/form-data; boundary=b", body)?;
/// assert_eq!(envelope.part("d").unwrap().body(), "%PDF");
///
/// let error = acp_envelope::decode("multipart/form-data; boundary=b", "--b\r\n").unwrap_err();
/// assert_eq!(error.code(), "truncated");
/// # Ok::<(), acp_envelope::DecodeError>(())
/// ```
pub fn decode(
    content_type: impl AsRef<[u8]>,
    body: impl Into<Bytes>,
) -> Result<Envelope, DecodeError> {
    decode_with(content_type, body, Config::default())
}

/// Decodes a whole message. See [`decode`].
///
/// # Errors
///
/// A [`DecodeError`] with any code of the specification.
pub fn decode_with(
    content_type: impl AsRef<[u8]>,
    body: impl Into<Bytes>,
    config: Config,
) -> Result<Envelope, DecodeError> {
    let mut body = body.into();
    let mut decoder = EnvelopeDecoder::new(content_type, config)?;
    let mut items = Collected::default();
    loop {
        match decoder.next_item(&mut body)? {
            Status::Item(item) => items.take(item),
            Status::NeedInput => decoder.finish(),
            Status::End => return items.into_envelope(decoder),
        }
    }
}

/// The items of a message that is to become an [`Envelope`].
#[derive(Debug, Default)]
pub(crate) struct Collected {
    control: Option<Control>,
    parts: Vec<Part>,
    /// The body of the part that has started last.
    body: Pieces,
}

impl Collected {
    pub(crate) fn take(&mut self, item: Item) {
        match item {
            Item::Control(control) => self.control = Some(control),
            Item::PartStart(head) => self.parts.push(Part { head, body: Bytes::new() }),
            Item::Data(data) => self.body.append(data),
            Item::PartEnd { .. } => {
                if let Some(part) = self.parts.last_mut() {
                    part.body = self.body.take();
                }
            }
        }
    }

    /// The envelope, once `decoder` has come to the message's end.
    pub(crate) fn into_envelope(self, decoder: EnvelopeDecoder) -> Result<Envelope, DecodeError> {
        let (control_name, warnings) = decoder.into_findings();
        // A message that ends without an error has had its control document.
        let control = self.control.ok_or_else(DecodeError::control_missing_at_end)?;
        Ok(Envelope { control, control_name, parts: self.parts, warnings })
    }
}
