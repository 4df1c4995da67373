//! The decoder: both forms of a message through one entry.

use bytes::Bytes;
use serde::Deserialize;

use super::{
    Config, ContentHead, DecodeError, EnvelopeErrorKind, Warning, WarningCode,
    json_form::{self, JsonForm},
    multipart_form::MultipartForm,
};
use crate::{
    control::{Control, Judged},
    error::{Location, PartId},
    name::PartName,
    parser::{Input, ParseErrorKind, Status},
    syntax::{ContentType, ContentTypeErrorKind},
};

/// What a message holds, in the order of its bytes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Item {
    /// The control document: always first.
    Control(Control),
    /// A content part starts.
    PartStart(ContentHead),
    /// Bytes of the current part's body: a view of the input, never empty.
    Data(Bytes),
    /// The current part is complete. The message is not, before [`Status::End`].
    PartEnd {
        /// Bytes of the body.
        len: u64,
    },
}

/// Decodes a message as it arrives: sans-IO, zero-copy, every rule enforced as soon as its breach is
/// certain.
///
/// Everything it gives is provisional until [`Status::End`]: act on a message only then.
///
/// ```
/// use acp_envelope::{Config, EnvelopeDecoder, Item, Status};
/// use bytes::Bytes;
///
/// let mut chunks = [
///     "--b\r\nContent-Type: application/json\r\n\r\n{\"pic\":{\"$ref\":\"p\"}}\r\n--b\r\nContent-Dispo",
///     "sition: form-data; name=\"p\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n--b--",
/// ].into_iter();
/// let mut decoder = EnvelopeDecoder::new("multipart/form-data; boundary=b", Config::new())?;
/// let mut input = Bytes::new();
/// let mut pointers = Vec::new();
/// loop {
///     match decoder.next_item(&mut input)? {
///         Status::Item(Item::PartStart(head)) => pointers.extend(head.referenced_by()),
///         Status::Item(_) => {}
///         Status::NeedInput => match chunks.next() {
///             Some(chunk) => input = Bytes::from_static(chunk.as_bytes()),
///             None => decoder.finish(),
///         },
///         _ => break,
///     }
/// }
/// assert_eq!(pointers, ["/pic"]);
/// # Ok::<(), acp_envelope::DecodeError>(())
/// ```
#[derive(Debug)]
pub struct EnvelopeDecoder {
    form: Form,
    shared: Shared,
    failed: Option<DecodeError>,
}

#[derive(Debug)]
enum Form {
    Json(JsonForm),
    Multipart(Box<MultipartForm>),
}

/// What both forms need.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Config,
    warnings: Vec<Warning>,
    /// The control document, once its JSON is known to be valid.
    control: Option<Control>,
    /// The control part's name, which no reference may have.
    pub(super) control_name: Option<PartName>,
}

impl EnvelopeDecoder {
    /// A decoder for one message of that Content-Type value.
    ///
    /// # Errors
    ///
    /// `content_type_invalid`, `content_type_unsupported`, `boundary_missing`, `boundary_invalid`,
    /// `limit_boundary`.
    pub fn new(content_type: impl AsRef<[u8]>, config: Config) -> Result<Self, DecodeError> {
        let value = content_type.as_ref();
        let content_type = ContentType::parse(value, &config.limits)
            .map_err(|error| DecodeError::content_type(&error))?;
        let form = match content_type {
            ContentType::Json(media_type) => {
                let spaces = value.iter().take_while(|&&b| b == b' ').count();
                Form::Json(JsonForm::new(&media_type, spaces))
            }
            ContentType::FormData(boundary) => {
                Form::Multipart(Box::new(MultipartForm::new(&boundary, &config)))
            }
        };
        let shared = Shared { config, warnings: Vec::new(), control: None, control_name: None };
        Ok(Self { form, shared, failed: None })
    }

    /// A decoder for one message whose carrier has header fields: from the values of all its
    /// Content-Type fields, of which there has to be one (ACP-CT-2). Where there are two, the first
    /// is judged first.
    ///
    /// # Errors
    ///
    /// `content_type_unsupported` where there is none, `content_type_invalid` where there are two,
    /// and those of [`new`](Self::new).
    ///
    /// ```
    /// use acp_envelope::{Config, EnvelopeDecoder};
    ///
    /// let code = |values: &[&str]| EnvelopeDecoder::from_fields(values, Config::new()).unwrap_err().code();
    /// assert_eq!(code(&["application/json", "application/json"]), "content_type_invalid");
    /// assert_eq!(code(&[]), "content_type_unsupported");
    /// ```
    pub fn from_fields<V: AsRef<[u8]>>(
        content_types: impl IntoIterator<Item = V>,
        config: Config,
    ) -> Result<Self, DecodeError> {
        let mut values = content_types.into_iter();
        let missing = || DecodeError::content_type_fields(ContentTypeErrorKind::Missing);
        let decoder = Self::new(values.next().ok_or_else(missing)?, config)?;
        match values.next() {
            None => Ok(decoder),
            Some(_) => Err(DecodeError::content_type_fields(ContentTypeErrorKind::Repeated)),
        }
    }

    /// Whether the message is in the multipart form, and not in the JSON form (ACP-MSG-1).
    ///
    /// ```
    /// use acp_envelope::{Config, EnvelopeDecoder};
    ///
    /// let is_multipart = |value: &str| Ok(EnvelopeDecoder::new(value, Config::new())?.is_multipart());
    /// assert_eq!(is_multipart("multipart/form-data; boundary=b"), Ok(true));
    /// assert_eq!(is_multipart("application/json"), Ok::<_, acp_envelope::DecodeError>(false));
    /// ```
    #[must_use]
    pub const fn is_multipart(&self) -> bool {
        matches!(self.form, Form::Multipart(_))
    }

    /// Hands in the length the carrier declares (Content-Length), before the first byte. It is
    /// only compared with the limits; that the message has it is the carrier's matter.
    ///
    /// # Errors
    ///
    /// `limit_message_size`, or, in the JSON form, `limit_control_size`.
    pub fn declare_length(&mut self, bytes: u64) -> Result<(), DecodeError> {
        let limits = &self.shared.config.limits;
        let excess = match &self.form {
            Form::Json(_) => json_form::excess(limits, bytes).map(|(kind, _)| kind),
            Form::Multipart(_) => {
                let limit = limits.max_message_bytes;
                (bytes > limit).then_some(ParseErrorKind::MessageTooLarge { limit }.into())
            }
        };
        match excess {
            None => Ok(()),
            Some(kind) => self.fail(DecodeError::new(kind, Location::ContentLength(bytes), None)),
        }
    }

    /// Takes bytes from the front of `input` until there is an item.
    ///
    /// # Errors
    ///
    /// A [`DecodeError`] with any code but those of [`new`](Self::new); then the same at every call.
    #[inline]
    pub fn next_item(&mut self, input: &mut impl Input) -> Result<Status<Item>, DecodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let outcome = match &mut self.form {
            Form::Json(form) => form.next_item(&mut self.shared, input),
            Form::Multipart(form) => form.next_item(&mut self.shared, input),
        };
        if let Err(error) = &outcome {
            self.failed = Some(error.clone());
        }
        outcome
    }

    /// Declares that no input follows. The next calls of [`next_item`](Self::next_item) give what is
    /// left, then [`Status::End`], or the error `truncated`.
    pub fn finish(&mut self) {
        match &mut self.form {
            Form::Json(form) => form.finish(),
            Form::Multipart(form) => form.finish(),
        }
    }

    /// How many bytes of the message were taken.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match &self.form {
            Form::Json(form) => form.offset(),
            Form::Multipart(form) => form.offset(),
        }
    }

    /// The findings so far, in the order they became certain.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.shared.warnings
    }

    /// The control part's name, once its headers were read; `None` in the JSON form.
    #[must_use]
    pub const fn control_name(&self) -> Option<&PartName> {
        self.shared.control_name.as_ref()
    }

    pub(crate) fn into_findings(self) -> (Option<PartName>, Vec<Warning>) {
        (self.shared.control_name, self.shared.warnings)
    }

    /// After an error: the control document, when it was complete and valid JSON, for the degraded
    /// mode of ACP §5.3. `None` when there was no error, or no such document.
    ///
    /// ```
    /// use acp_envelope::{Config, EnvelopeDecoder};
    ///
    /// let mut decoder = EnvelopeDecoder::new("application/json", Config::new())?;
    /// let mut body = bytes::Bytes::from_static(b"{\"id\":7,\"doc\":{\"$ref\":\"lost\"}}");
    /// decoder.next_item(&mut body)?;
    /// decoder.finish();
    /// assert_eq!(decoder.next_item(&mut body).unwrap_err().code(), "ref_unresolved");
    /// assert_eq!(decoder.salvage().unwrap().value()?["id"], 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn salvage(self) -> Option<SalvagedControl> {
        let error = self.failed?;
        self.shared.control.map(|control| SalvagedControl { control, error })
    }

    fn fail<T>(&mut self, error: DecodeError) -> Result<T, DecodeError> {
        self.failed = Some(error.clone());
        Err(error)
    }
}

impl Shared {
    /// Keeps a warning, or refuses it where the configuration says so.
    pub(super) fn warn(
        &mut self,
        code: WarningCode,
        location: Location,
        part: Option<PartId>,
    ) -> Result<(), DecodeError> {
        if self.config.refuses(code) {
            return Err(DecodeError::new(EnvelopeErrorKind::Refused(code), location, part));
        }
        self.warnings.push(Warning::new(code, location, part));
        Ok(())
    }

    /// Judges the control document that starts at `body`; its charset label is at `label`.
    pub(super) fn judge(
        &mut self,
        raw: Bytes,
        charset: Option<&[u8]>,
        part: Option<PartId>,
        body: u64,
        label: Location,
    ) -> Result<Control, DecodeError> {
        match Control::judge(raw, charset, self.config.rules(), self.control_name.as_ref()) {
            Err(error) => Err(DecodeError::control(error, body, label, part)),
            Ok(Judged { control, reference_fault }) => {
                self.control = Some(control.clone());
                match reference_fault {
                    Some(error) => Err(DecodeError::control(error, body, label, part)),
                    None => Ok(control),
                }
            }
        }
    }

    /// ACP-REF-5: every reference means a part that is `known`: see [`References::first_unknown`].
    pub(super) fn judge_references(
        &self,
        known: impl Fn(usize, &str) -> bool,
    ) -> Result<(), DecodeError> {
        let Some(control) = &self.control else { return Ok(()) };
        match control.reference_table().first_unknown(known) {
            None => Ok(()),
            Some(pointer) => {
                let location = Location::Pointer(pointer);
                Err(DecodeError::new(EnvelopeErrorKind::RefUnresolved, location, None))
            }
        }
    }

    pub(super) fn control(&self) -> Option<&Control> {
        self.control.as_ref()
    }
}

/// The control document of a message that was refused (ACP §5.3): it may be shown or logged, but
/// nothing it refers to is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SalvagedControl {
    control: Control,
    error: DecodeError,
}

impl SalvagedControl {
    /// Why the message was refused.
    #[must_use]
    pub const fn error(&self) -> &DecodeError {
        &self.error
    }

    /// The document as it was sent.
    #[must_use]
    pub const fn raw(&self) -> &Bytes {
        self.control.raw()
    }

    /// The document as text, without a byte order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        self.control.text()
    }

    /// The document as a tree. See [`Control::value`].
    ///
    /// # Errors
    ///
    /// None as such.
    pub fn value(&self) -> Result<serde_json::Value, serde_json::Error> {
        self.control.value()
    }

    /// The document as a `T`.
    ///
    /// # Errors
    ///
    /// The document is valid JSON, but no `T`.
    pub fn deserialize<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        self.control.deserialize()
    }
}
