//! A message while it is put together.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    EncodeError, EncodeErrorKind, EnvelopeEncoder, Merged, Naming, NewPart, boundary,
    naming::RandomBits, part::Content,
};
use crate::{
    Config, InvalidName, Limits,
    control::{Control, ControlErrorKind, Reference},
    envelope::{Envelope, EnvelopeErrorKind, WarningCode, json_form_excess},
    error::{Location, PartId},
    name::PartName,
    parser::ParseErrorKind,
    syntax::{Boundary, ContentTypeErrorKind},
};

/// Puts a message together: parts first, each of which gives the [`Reference`] to it, then the
/// control document that holds the references.
///
/// Every rule is checked before the first byte of the message leaves: what is built, a decoder of
/// the same [`Config`] accepts, by default one with the specification's limits (ACP-ENC-4).
///
/// ```
/// use acp_envelope::{Control, EnvelopeBuilder, NewPart, decode};
/// use serde_json::json;
///
/// let mut message = EnvelopeBuilder::new();
/// let image = message.add(NewPart::new("image/png", "PNG").filename("cat.png"))?;
/// let control = Control::new(&json!({ "instruction": "describe", "image": image }))?;
/// let encoder = message.build(&control)?;
///
/// let content_type = encoder.content_type().to_owned();
/// let body = encoder.into_bytes()?;
/// let envelope = decode(content_type, body)?;
/// assert_eq!(envelope.resolve(&image).unwrap().body(), "PNG");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct EnvelopeBuilder {
    config: Config,
    naming: Naming,
    random: RandomBits,
    boundary: Option<Boundary>,
    control_name: PartName,
    json_without_parts: bool,
    parts: Vec<Prepared>,
    /// The header lines of all parts.
    heads: Vec<u8>,
    names: BTreeSet<PartName>,
}

/// A part that was judged.
#[derive(Debug, Clone)]
pub(super) struct Prepared {
    pub(super) name: PartName,
    /// Where its header lines are.
    pub(super) head: Range<usize>,
    pub(super) content: Content,
}

impl EnvelopeBuilder {
    /// A message for a receiver with the specification's limits and policy.
    #[must_use]
    pub fn new() -> Self {
        Self::with_config(Config::new())
    }

    /// A message for a receiver with that configuration. Warnings that it refuses are errors here
    /// too: with [`Config::strict`], every part must be referred to, and text must have a charset.
    #[must_use]
    pub fn with_config(config: Config) -> Self {
        Self {
            config,
            naming: Naming::default(),
            random: RandomBits::new(),
            boundary: None,
            control_name: PartName::control(),
            json_without_parts: false,
            parts: Vec::new(),
            heads: Vec::new(),
            names: BTreeSet::new(),
        }
    }

    /// Sets how parts without a name get one (ACP-ENC-3). Default: UUIDs of version 7.
    #[must_use]
    pub fn naming(mut self, naming: Naming) -> Self {
        self.naming = naming;
        self
    }

    /// Sets the boundary, for reproducible output. Default: 128 random bits (ACP-ENC-2).
    #[must_use]
    pub fn boundary(mut self, boundary: Boundary) -> Self {
        self.boundary = Some(boundary);
        self
    }

    /// Sets the name of the control part. Default: `_acp_control` (ACP-ENC-1).
    #[must_use]
    pub fn control_name(mut self, name: PartName) -> Self {
        self.control_name = name;
        self
    }

    /// Whether a message without parts is in the JSON form (ACP-ENC-7). Default: it is in the
    /// multipart form, as one with parts.
    #[must_use]
    pub const fn json_without_parts(mut self, json: bool) -> Self {
        self.json_without_parts = json;
        self
    }

    /// Adds a content part, and gives the reference to it.
    ///
    /// # Errors
    ///
    /// `name_invalid`, `name_duplicate`, `content_type_invalid`, `nested_multipart`,
    /// `control_duplicate` (a part of type `application/json`), `header_malformed` (a header field
    /// or file name that holds a control character), `field_reserved`, `limit_parts`,
    /// `limit_part_size`, `limit_header_size`, `limit_headers`, `random_unavailable`, and
    /// `charset_missing` where the configuration refuses that. The message is then as it was
    /// before.
    pub fn add(&mut self, part: NewPart<'_>) -> Result<Reference, EncodeError> {
        let mut id = PartId::new(self.parts.len() + 1, None);
        let fault = |kind: EncodeErrorKind, at: u64, id: &PartId| {
            EncodeError::new(kind, Some(Location::Value(at)), Some(id.clone()))
        };
        let limits = &self.config.limits;
        if self.parts.len() >= limits.max_parts {
            let kind = ParseErrorKind::TooManyParts { limit: limits.max_parts };
            return Err(EncodeError::new(kind, None, Some(id)));
        }
        let name = match part.given_name() {
            None => self.naming.name(&mut self.random)?,
            Some(name) => name.parse().map_err(|e: InvalidName| {
                fault(EnvelopeErrorKind::NameInvalid.into(), e.position() as u64, &id)
            })?,
        };
        id.name = Some(name.clone());
        if self.is_taken(&name) {
            return Err(fault(EnvelopeErrorKind::NameDuplicate.into(), 0, &id));
        }
        let judged = part.judge_media_type(&self.config);
        judged.map_err(|(kind, at)| fault(kind, at as u64, &id))?;
        let limit = limits.max_part_bytes;
        if part.content().len().is_some_and(|len| len > limit) {
            return Err(fault(ParseErrorKind::PartTooLarge { limit }.into(), limit, &id));
        }
        let prepared = prepare(part, &id, name.clone(), limits, &mut self.heads)?;
        self.parts.push(prepared);
        self.names.insert(name.clone());
        Ok(Reference::new(name))
    }

    /// Adds the parts of an envelope that was received, for example from another agent, and gives
    /// its control document to be put into that of this message: see [`Control::object`] and
    /// [`Control::array`].
    ///
    /// Parts whose name is taken here get another one, such as `img-2` for `img`, and the
    /// document's references to them follow; the rest of its text stays as it is.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add). The message is then as it was before.
    ///
    /// ```
    /// use acp_envelope::{Control, Envelope, EnvelopeBuilder, EncodeError, NewPart, decode};
    ///
    /// fn answer(content: &'static str) -> Envelope {
    ///     let mut message = EnvelopeBuilder::new();
    ///     message.add(NewPart::new("image/png", content).name("img")).unwrap();
    ///     let encoder = message.build(&Control::from_text(r#"{"see": {"$ref":"img"}}"#).unwrap()).unwrap();
    ///     decode(encoder.content_type().to_owned(), encoder.into_bytes().unwrap()).unwrap()
    /// }
    ///
    /// let mut message = EnvelopeBuilder::new();
    /// let ours = message.merge(&answer("cat"))?;
    /// let theirs = message.merge(&answer("dog"))?;
    /// assert_eq!(theirs.renamed["img"], "img-2");
    /// let control = Control::object([("ours", &ours.control), ("theirs", &theirs.control)])?;
    /// assert_eq!(control.text(), r#"{"ours":{"see": {"$ref":"img"}},"theirs":{"see": {"$ref":"img-2"}}}"#);
    /// message.build(&control)?;
    /// # Ok::<(), EncodeError>(())
    /// ```
    pub fn merge(&mut self, envelope: &Envelope) -> Result<Merged, EncodeError> {
        let renamed = self.free_names(envelope);
        let new_name = |name: &str| renamed.get(name).map(PartName::as_str);
        let control = match renamed.len() {
            0 => envelope.control().clone(),
            _ => envelope.control().renamed(new_name)?,
        };
        let (parts, heads) = (self.parts.len(), self.heads.len());
        for part in envelope.parts() {
            let name = part.head().name();
            let name = renamed.get(name).unwrap_or(name);
            if let Err(error) = self.add(NewPart::from(part).name(name.as_str())) {
                self.heads.truncate(heads);
                for part in self.parts.drain(parts..) {
                    self.names.remove(&part.name);
                }
                return Err(error);
            }
        }
        Ok(Merged { control, renamed })
    }

    /// New names for those parts of `envelope` whose name is taken.
    fn free_names(&self, envelope: &Envelope) -> BTreeMap<PartName, PartName> {
        let names = || envelope.parts().iter().map(|part| part.head().name());
        let mut theirs: BTreeSet<PartName> = names().cloned().collect();
        let mut renamed = BTreeMap::new();
        for name in names().filter(|name| self.is_taken(name)) {
            let mut candidates = (2u64..).filter_map(|n| name.numbered(n));
            let free = candidates.find(|name| !self.is_taken(name) && !theirs.contains(name));
            if let Some(free) = free {
                theirs.insert(free.clone());
                renamed.insert(name.clone(), free);
            }
        }
        renamed
    }

    fn is_taken(&self, name: &PartName) -> bool {
        *name == self.control_name || self.names.contains(name)
    }

    /// The message with that control document.
    ///
    /// # Errors
    ///
    /// `ref_unresolved`, `ref_control`, `limit_control_size`, `limit_json_depth`,
    /// `limit_message_size`, `limit_header_size`, `limit_headers`, `name_duplicate` (a part has the
    /// control part's name), `control_malformed` (the document has a member name twice, and the
    /// configuration refuses that), `unreferenced_part` where the configuration refuses that;
    /// `boundary_occurs` and `limit_boundary` for a boundary that was given; `random_unavailable`.
    pub fn build(mut self, control: &Control) -> Result<EnvelopeEncoder, EncodeError> {
        control.conform(self.config.rules())?;
        self.judge_references(control)?;
        if self.json_without_parts && self.parts.is_empty() {
            return self.build_json(control);
        }
        let control = self.prepare_control(control)?;
        let Self { config, boundary, heads, mut parts, .. } = self;
        let max_chars = config.limits.max_boundary_chars;
        if boundary.as_ref().is_some_and(|boundary| boundary.as_str().len() > max_chars) {
            let kind = ContentTypeErrorKind::BoundaryTooLong { limit: max_chars };
            return Err(EncodeError::new(kind, Some(Location::Value(max_chars as u64)), None));
        }
        parts.insert(0, control);
        let (boundary, search) = boundary::choose(boundary, boundary::draw, &heads, &parts)?;
        EnvelopeEncoder::multipart(&boundary, search, &heads, parts, config.limits)
    }

    /// An envelope that was received, to be sent on: the same control document and parts, within a
    /// new boundary. Content is not copied.
    ///
    /// The control part keeps its name; one without gets the name that is set here, or, where a
    /// part has that, a new one. Parts that were added before stay, and names that they have taken
    /// are changed as in [`merge`](Self::merge).
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add) and [`build`](Self::build): an envelope that was decoded with
    /// another configuration than this may be refused. So may one that came with a head just within
    /// `limit_headers` or `limit_header_size`: names are quoted here, and a part without Content-Type
    /// gets the one that it has by default.
    ///
    /// ```
    /// use acp_envelope::{EnvelopeBuilder, decode};
    ///
    /// let body = "--b\r\nContent-Type: application/json\r\n\r\n{\"doc\":{\"$ref\":\"d\"}}\r\n--b\r\n\
    ///     Content-Disposition: form-data; name=\"d\"\r\nContent-Type: application/pdf\r\n\r\n%PDF\r\n--b--\r\n";
    /// let received = decode("multipart/form-data; boundary=b", body)?;
    /// let encoder = EnvelopeBuilder::new().build_from(&received)?;
    /// assert_eq!(decode(encoder.content_type().to_owned(), encoder.into_bytes()?)?, received);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build_from(mut self, envelope: &Envelope) -> Result<EnvelopeEncoder, EncodeError> {
        let has = |name: &PartName| envelope.part(name.as_str()).is_some();
        match envelope.control_name() {
            Some(name) => self.control_name = name.clone(),
            None if has(&self.control_name) => {
                self.control_name = self.naming.name(&mut self.random)?
            }
            None => {}
        }
        let merged = self.merge(envelope)?;
        self.build(&merged.control)
    }

    /// ACP-REF-5, ACP-REF-6, ACP-REF-8, ACP-NAME-2.
    fn judge_references(&self, control: &Control) -> Result<(), EncodeError> {
        let references = control.reference_table();
        let at = |pointer| Some(Location::Pointer(pointer));
        if let Some(pointer) = references.pointers(self.control_name.as_str()).next() {
            return Err(EncodeError::new(ControlErrorKind::RefToControl, at(pointer), None));
        }
        if let Some(pointer) = references.first_unknown(|_, name| self.names.contains(name)) {
            return Err(EncodeError::new(EnvelopeErrorKind::RefUnresolved, at(pointer), None));
        }
        if self.config.refuses(WarningCode::UnreferencedPart) {
            let mut names = self.parts.iter().map(|part| &part.name).zip(1..);
            if let Some((name, index)) = names.find(|(name, _)| !references.contains(name.as_str()))
            {
                let part = PartId::new(index, Some(name.clone()));
                let kind = EnvelopeErrorKind::Refused(WarningCode::UnreferencedPart);
                return Err(EncodeError::new(kind, None, Some(part)));
            }
        }
        Ok(())
    }

    /// The control part (ACP-ENC-1, ACP-NAME-2, ACP-LIM-5).
    fn prepare_control(&mut self, control: &Control) -> Result<Prepared, EncodeError> {
        let name = self.control_name.clone();
        let fault = |kind: EncodeErrorKind, at| {
            EncodeError::new(kind, at, Some(PartId::new(0, Some(name.clone()))))
        };
        if self.names.contains(&name) {
            return Err(fault(EnvelopeErrorKind::NameDuplicate.into(), None));
        }
        let limit = self.config.limits.max_control_bytes;
        if control.text().len() > limit {
            let at = Some(Location::Value(limit as u64));
            return Err(fault(ControlErrorKind::TooLarge { limit }.into(), at));
        }
        let part = NewPart::new("application/json", control.utf8());
        let id = PartId::new(0, Some(name.clone()));
        prepare(part, &id, name, &self.config.limits, &mut self.heads)
    }

    fn build_json(self, control: &Control) -> Result<EnvelopeEncoder, EncodeError> {
        let document = control.utf8();
        match json_form_excess(&self.config.limits, document.len() as u64) {
            None => EnvelopeEncoder::json(document, self.config.limits),
            Some((kind, limit)) => Err(EncodeError::new(kind, Some(Location::Value(limit)), None)),
        }
    }
}

impl Default for EnvelopeBuilder {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes the part's head after the others.
fn prepare(
    part: NewPart<'_>,
    id: &PartId,
    name: PartName,
    limits: &Limits,
    heads: &mut Vec<u8>,
) -> Result<Prepared, EncodeError> {
    let start = heads.len();
    if let Err(error) = part.write_head(&name, id, limits, heads) {
        heads.truncate(start);
        return Err(error);
    }
    Ok(Prepared { name, head: start..heads.len(), content: part.into_content() })
}
