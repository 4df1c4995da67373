//! The multipart form: control part first, then content parts (ACP-CTL-1, ACP-CTL-2, ACP-NAME-2,
//! ACP-REF-5…9).

use super::{
    Config, ContentHead, DecodeError, EnvelopeErrorKind, Item, WarningCode,
    decoder::Shared,
    head::{HeadFields, judge_content_type, judge_control_type, lacks_charset},
    names::{Name, Names},
    pieces::Pieces,
};
use crate::{
    control::{Control, ControlErrorKind},
    error::{Location, PartId},
    parser::{Event, Input, ParseError, ParseErrorKind, Parser, PartHead, Status},
    syntax::Boundary,
};

#[derive(Debug)]
pub(super) struct MultipartForm {
    parser: Parser,
    /// The control part, while its body comes.
    control: Option<ControlPart>,
    /// The part whose body comes.
    current: Option<PartId>,
    names: Names,
}

#[derive(Debug)]
struct ControlPart {
    document: Pieces,
    body: u64,
    charset: Option<Vec<u8>>,
    /// Where the Content-Type value is.
    label: u64,
}

impl MultipartForm {
    pub(super) fn new(boundary: &Boundary, config: &Config) -> Self {
        // The parser counts the control part too.
        let limits = config.limits.max_parts(config.limits.max_parts.saturating_add(1));
        Self {
            parser: Parser::new(boundary, limits),
            control: None,
            current: None,
            names: Names::default(),
        }
    }

    pub(super) fn finish(&mut self) {
        self.parser.finish();
    }

    pub(super) const fn offset(&self) -> u64 {
        self.parser.offset()
    }

    pub(super) fn next_item(
        &mut self,
        shared: &mut Shared,
        input: &mut impl Input,
    ) -> Result<Status<Item>, DecodeError> {
        loop {
            let event = match self.parser.next_event(input) {
                Ok(Status::Item(event)) => event,
                Ok(Status::NeedInput) => return Ok(Status::NeedInput),
                Ok(Status::End) => return Ok(Status::End),
                Err(error) => return Err(self.parse_error(&error, shared)),
            };
            if let Some(item) = self.event(event, shared)? {
                return Ok(Status::Item(item));
            }
        }
    }

    /// A part of `next_item`, for the reason given at [`Parser::next_event`].
    #[inline(always)]
    fn event(&mut self, event: Event, shared: &mut Shared) -> Result<Option<Item>, DecodeError> {
        match event {
            Event::PartStart(head) if head.index() == 0 => {
                self.control_start(&head, shared)?;
                Ok(None)
            }
            Event::PartStart(head) => self.content_start(head, shared).map(Some),
            Event::Data(data) => match &mut self.control {
                None => Ok(Some(Item::Data(data))),
                Some(control) => {
                    control.document.append(data);
                    Ok(None)
                }
            },
            Event::PartEnd { len } => match self.control.take() {
                None => Ok(Some(Item::PartEnd { len })),
                Some(control) => self.control_end(control, shared).map(Some),
            },
            Event::Close { offset } => {
                if shared.control().is_none() {
                    let location = Location::Byte(offset);
                    return Err(DecodeError::new(
                        EnvelopeErrorKind::ControlMissing,
                        location,
                        None,
                    ));
                }
                shared.judge_references(|number, _| self.names.has(number))?;
                Ok(None)
            }
            Event::Preamble { offset } => {
                shared.warn(WarningCode::Preamble, Location::Byte(offset), None)?;
                Ok(None)
            }
            Event::Epilogue { offset } => {
                shared.warn(WarningCode::Epilogue, Location::Byte(offset), None)?;
                Ok(None)
            }
        }
    }

    /// ACP-CTL-1, ACP-CTL-2.
    fn control_start(&mut self, head: &PartHead, shared: &mut Shared) -> Result<(), DecodeError> {
        let fields = HeadFields::read(head, judge_control_type)?;
        let part = fields.part_id(head);
        let end = Location::Byte(head.blank_line());
        let Some((media_type, label)) = fields.media_type else {
            return Err(DecodeError::new(EnvelopeErrorKind::ControlUntyped, end, Some(part)));
        };
        match fields.name {
            Some((name, _)) => {
                self.names.insert_control(name.clone());
                shared.control_name = Some(name);
            }
            None => shared.warn(WarningCode::ControlUnnamed, end, Some(part.clone()))?,
        }
        let max_bytes = shared.config.limits.max_control_bytes.min(Control::MAX_BYTES);
        self.parser.limit_part(max_bytes as u64);
        let document = Pieces::default();
        let charset = media_type.parameter("charset");
        self.control = Some(ControlPart { document, body: head.body_offset(), charset, label });
        self.current = Some(part);
        Ok(())
    }

    /// ACP-CTL-7.
    fn control_end(
        &mut self,
        mut control: ControlPart,
        shared: &mut Shared,
    ) -> Result<Item, DecodeError> {
        let raw = control.document.take();
        let label = Location::Byte(control.label);
        let part = self.current.take();
        shared.judge(raw, control.charset.as_deref(), part, control.body, label).map(Item::Control)
    }

    /// ACP-HDR-7: the fields line by line, then what is missing, then the name again, then findings.
    fn content_start(&mut self, head: PartHead, shared: &mut Shared) -> Result<Item, DecodeError> {
        let fields =
            HeadFields::read(&head, |media_type| judge_content_type(media_type, &shared.config))?;
        let part = fields.part_id(&head);
        let end = Location::Byte(head.blank_line());
        let HeadFields { name, media_type } = fields;
        let Some((name, name_at)) = name else {
            return Err(DecodeError::new(ParseErrorKind::NameMissing, end, Some(part)));
        };
        let name_at = Location::Byte(name_at);
        let references = shared.control().map(|c| c.reference_table().clone()).unwrap_or_default();
        let among = self.names.insert(&name, &references);
        if among == Name::Taken {
            return Err(DecodeError::new(EnvelopeErrorKind::NameDuplicate, name_at, Some(part)));
        }
        let charset_place = match &media_type {
            None => Some(end),
            Some((media_type, at)) if lacks_charset(media_type) => Some(Location::Byte(*at)),
            Some(_) => None,
        };
        if let Some(location) = charset_place {
            shared.warn(WarningCode::CharsetMissing, location, Some(part.clone()))?;
        }
        if among == Name::Unreferenced {
            shared.warn(WarningCode::UnreferencedPart, name_at, Some(part.clone()))?;
        }
        self.current = Some(part);
        Ok(Item::PartStart(ContentHead::new(head, name, references)))
    }

    /// The parser's error, with what the message's rules add to it.
    fn parse_error(&self, error: &ParseError, shared: &Shared) -> DecodeError {
        let limits = &shared.config.limits;
        let location = Location::Byte(error.offset());
        let part = error.part().map(|index| match &self.current {
            Some(current) if current.index == index => current.clone(),
            _ => PartId::new(index, None),
        });
        match error.kind() {
            ParseErrorKind::PartTooLarge { .. } if self.control.is_some() => {
                let kind = ControlErrorKind::TooLarge { limit: limits.max_control_bytes };
                DecodeError::new(kind, location, part)
            }
            ParseErrorKind::TooManyParts { .. } => {
                let kind = ParseErrorKind::TooManyParts { limit: limits.max_parts };
                DecodeError::new(kind, location, part)
            }
            kind => DecodeError::new(kind, location, part),
        }
    }
}
