//! The JSON form: the control document alone (ACP-MSG-1, ACP-MSG-5, ACP-LIM-6).

use super::{DecodeError, DecodeErrorKind, Item, decoder::Shared, pieces::Pieces};
use crate::{
    Limits,
    control::{Control, ControlErrorKind},
    error::Location,
    parser::{Input, ParseErrorKind, Status},
    syntax::MediaType,
};

#[derive(Debug)]
pub(super) struct JsonForm {
    charset: Option<Vec<u8>>,
    /// Where the charset is in the Content-Type value, or the media type, where there is none.
    label: usize,
    document: Pieces,
    /// Bytes of the message taken so far.
    offset: u64,
    /// No input follows.
    finished: bool,
    /// The document was judged.
    done: bool,
}

impl JsonForm {
    /// `media_type` starts at byte `at` of the Content-Type value.
    pub(super) fn new(media_type: &MediaType<'_>, at: usize) -> Self {
        let charset = media_type.parameter("charset");
        let label = at + media_type.position("charset").unwrap_or_default();
        Self {
            charset,
            label,
            document: Pieces::default(),
            offset: 0,
            finished: false,
            done: false,
        }
    }

    pub(super) fn finish(&mut self) {
        self.finished = true;
    }

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn next_item(
        &mut self,
        shared: &mut Shared,
        input: &mut impl Input,
    ) -> Result<Status<Item>, DecodeError> {
        if self.done {
            return Ok(Status::End);
        }
        let arrived = input.bytes().len();
        if arrived > 0 {
            let length = self.offset + arrived as u64;
            if let Some((kind, limit)) = excess(&shared.config.limits, length) {
                return Err(DecodeError::new(kind, Location::Byte(limit), None));
            }
            self.offset = length;
            self.document.append(input.take(arrived));
        }
        if !self.finished {
            return Ok(Status::NeedInput);
        }
        self.done = true;
        let raw = self.document.take();
        let label = Location::ContentType(self.label);
        let control = shared.judge(raw, self.charset.as_deref(), None, 0, label)?;
        shared.judge_references(|_, _| false)?;
        Ok(Status::Item(Item::Control(control)))
    }
}

/// The limit that a body of `length` bytes exceeds first, and its number of bytes.
pub(crate) fn excess(limits: &Limits, length: u64) -> Option<(DecodeErrorKind, u64)> {
    let json = limits.max_json_bytes.min(Control::MAX_BYTES) as u64;
    let message = limits.max_message_bytes;
    if length > json && json <= message {
        let kind = ControlErrorKind::TooLarge { limit: limits.max_json_bytes };
        return Some((kind.into(), json));
    }
    (length > message)
        .then_some((ParseErrorKind::MessageTooLarge { limit: message }.into(), message))
}
