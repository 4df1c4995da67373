//! The head of a content part, judged line by line (ACP-HDR-3, ACP-HDR-7, ACP-NAME-1…3).

use std::{borrow::Cow, fmt, sync::Arc};

use super::{Config, DecodeError, DecodeErrorKind, EnvelopeErrorKind};
use crate::{
    control::{Pointers, References},
    error::{Location, PartId},
    name::PartName,
    parser::{Meaning, PartHead},
    syntax::{Disposition, Field, Fields, MediaType},
};

/// What is known of a content part before its body comes. It pins the buffer its headers came in.
#[derive(Clone)]
pub struct ContentHead {
    head: PartHead,
    name: PartName,
    references: Arc<References>,
}

impl ContentHead {
    pub(super) fn new(head: PartHead, name: PartName, references: Arc<References>) -> Self {
        Self { head, name, references }
    }

    /// The same, without the buffer that the headers came in: to be kept when that buffer is large.
    #[cfg(feature = "spool")]
    pub(crate) fn detached(&self) -> Self {
        Self {
            head: self.head.detached(),
            name: self.name.clone(),
            references: self.references.clone(),
        }
    }

    /// Position in the message, counted from 0; the control part is 0.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.head.index()
    }

    /// The part's name.
    #[must_use]
    pub const fn name(&self) -> &PartName {
        &self.name
    }

    /// The media type; `text/plain` where none is sent (ACP-HDR-4).
    #[must_use]
    pub fn media_type(&self) -> MediaType<'_> {
        if let Some(plain) = self.head.plain() {
            return plain.media_type(self.head.block());
        }
        let field = self.fields().find(|field| field.is("content-type"));
        let sent = field.and_then(|field| MediaType::parse(field.value).ok());
        sent.unwrap_or(MediaType::TEXT_PLAIN)
    }

    /// The file name for display, never a path (ACP-HDR-6). `None` when there is none, or none that
    /// is UTF-8.
    #[must_use]
    pub fn filename(&self) -> Option<Cow<'_, str>> {
        self.disposition()?.filename()
    }

    /// The bytes of the file name as sent, without quotes (ACP-HDR-6).
    #[must_use]
    pub fn filename_bytes(&self) -> Option<&[u8]> {
        self.disposition()?.filename_bytes()
    }

    /// The file name as sent, where it has bytes that are not UTF-8 and so cannot be displayed.
    pub(crate) fn filename_not_utf8(&self) -> Option<&[u8]> {
        self.filename_bytes().filter(|bytes| std::str::from_utf8(bytes).is_err())
    }

    /// All header fields in the order sent, unknown ones too (ACP-HDR-2).
    #[must_use]
    pub fn fields(&self) -> Fields<'_> {
        self.head.fields()
    }

    /// The fields that mean nothing to the form: all but Content-Disposition, Content-Type,
    /// Content-Transfer-Encoding and Content-Length.
    pub fn extra_fields(&self) -> impl Iterator<Item = Field<'_>> {
        self.fields().filter(|field| !is_framing(field.name))
    }

    /// Whether the control document refers to the part. One that is not referred to is no part of
    /// the payload (ACP-REF-8).
    #[must_use]
    pub fn is_referenced(&self) -> bool {
        self.references.contains(self.name.as_str())
    }

    /// The JSON Pointers of the references to the part, in document order.
    #[must_use]
    pub fn referenced_by(&self) -> Pointers<'_> {
        self.references.pointers(self.name.as_str())
    }

    /// The byte of the message at which the body starts.
    #[must_use]
    pub fn body_offset(&self) -> u64 {
        self.head.body_offset()
    }

    fn disposition(&self) -> Option<Disposition<'_>> {
        let field = self.fields().find(|field| field.is("content-disposition"))?;
        Disposition::parse(field.value).ok()
    }
}

impl fmt::Debug for ContentHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentHead")
            .field("name", &self.name)
            .field("media_type", &self.media_type())
            .field("filename", &self.filename())
            .finish_non_exhaustive()
    }
}

/// Equal in what they say: name, media type, file name, and the fields that mean nothing to the
/// form. Neither the place in the message matters nor how a file name is escaped.
impl PartialEq for ContentHead {
    fn eq(&self, other: &Self) -> bool {
        fn said<'a>(field: Field<'a>) -> (&'a str, &'a [u8]) {
            (field.name, field.value)
        }
        self.name == other.name
            && self.media_type() == other.media_type()
            && self.filename() == other.filename()
            && self.filename_not_utf8() == other.filename_not_utf8()
            && self.extra_fields().map(said).eq(other.extra_fields().map(said))
    }
}

impl Eq for ContentHead {}

/// Whether a field is one that frames a part, and so is not handed on from one message to the next.
pub(crate) fn is_framing(field: &str) -> bool {
    const FRAMING: [&str; 4] =
        ["content-disposition", "content-type", "content-transfer-encoding", "content-length"];
    FRAMING.iter().any(|name| field.eq_ignore_ascii_case(name))
}

/// What a part's fields say, its place in the message aside.
#[derive(Debug)]
pub(super) struct HeadFields<'a> {
    /// The name, and where it starts.
    pub(super) name: Option<(PartName, u64)>,
    /// The media type, and where its value starts.
    pub(super) media_type: Option<(MediaType<'a>, u64)>,
}

impl<'a> HeadFields<'a> {
    /// Reads the fields line by line, and has `judge_type` judge the media type at its line.
    pub(super) fn read(
        head: &'a PartHead,
        judge_type: impl Fn(&MediaType<'_>) -> Result<(), EnvelopeErrorKind>,
    ) -> Result<Self, DecodeError> {
        let mut this = Self { name: None, media_type: None };
        if let Some(plain) = head.plain() {
            let at = |place: usize| head.offset() + place as u64;
            this.take_name(head, plain.name(head.block()), at(plain.name_at()))?;
            let (media_type, place) = (plain.media_type(head.block()), plain.media_type_at());
            this.take_type(head, media_type, at(place), judge_type)?;
            return Ok(this);
        }
        for meaning in head.meanings() {
            let (at, meaning) = meaning.map_err(|e| this.fault(head, e.kind(), e.offset()))?;
            match meaning {
                Meaning::Disposition(disposition) => {
                    if let Some(name) = disposition.name() {
                        this.take_name(head, name, at + disposition.name_at() as u64)?;
                    }
                }
                Meaning::ContentType(media_type) => {
                    this.take_type(head, media_type, at, &judge_type)?;
                }
            }
        }
        Ok(this)
    }

    fn take_name(&mut self, head: &PartHead, name: &[u8], at: u64) -> Result<(), DecodeError> {
        let name = PartName::from_bytes(name).map_err(|e| {
            self.fault(head, EnvelopeErrorKind::NameInvalid, at + e.position() as u64)
        })?;
        self.name = Some((name, at));
        Ok(())
    }

    fn take_type(
        &mut self,
        head: &PartHead,
        media_type: MediaType<'a>,
        at: u64,
        judge: impl Fn(&MediaType<'_>) -> Result<(), EnvelopeErrorKind>,
    ) -> Result<(), DecodeError> {
        judge(&media_type).map_err(|kind| self.fault(head, kind, at))?;
        self.media_type = Some((media_type, at));
        Ok(())
    }

    fn fault(&self, head: &PartHead, kind: impl Into<DecodeErrorKind>, at: u64) -> DecodeError {
        DecodeError::new(kind, Location::Byte(at), Some(self.part_id(head)))
    }

    /// The part, with its name once that is known.
    pub(super) fn part_id(&self, head: &PartHead) -> PartId {
        PartId::new(head.index(), self.name.as_ref().map(|(name, _)| name.clone()))
    }
}

/// ACP-CTL-1: the first part is `application/json`.
pub(super) fn judge_control_type(media_type: &MediaType<'_>) -> Result<(), EnvelopeErrorKind> {
    if media_type.is("application/json") { Ok(()) } else { Err(EnvelopeErrorKind::ControlNotJson) }
}

/// ACP-NAME-3 and ACP-CTL-6: no later part is multipart, or `application/json`.
pub(crate) fn judge_content_type(
    media_type: &MediaType<'_>,
    config: &Config,
) -> Result<(), EnvelopeErrorKind> {
    if media_type.is_type("multipart") {
        Err(EnvelopeErrorKind::NestedMultipart)
    } else if media_type.is("application/json") && !config.allow_json_content {
        Err(EnvelopeErrorKind::ControlDuplicate)
    } else {
        Ok(())
    }
}

/// ACP-REF-9: text says which charset it is in.
pub(crate) fn lacks_charset(media_type: &MediaType<'_>) -> bool {
    media_type.is_type("text") && !media_type.has_parameter("charset")
}
