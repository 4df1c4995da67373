//! A message while it is written.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::{
    EncodeError, EncodeErrorKind, boundary::boundary_occurs, builder::Prepared, part::Content,
};
use crate::{
    Limits,
    error::{Location, PartId},
    name::PartName,
    parser::{Input, ParseErrorKind, Status},
    syntax::{Boundary, BoundarySearch, Progress, is_token},
};

/// A message that is ready to be written: a Content-Type, a length where it is known, and segments
/// of bytes. Content in memory is handed on as it is, never copied (ACP-ENC-6).
///
/// With all content in memory, [`into_segments`](Self::into_segments) gives everything at once.
/// Otherwise [`next_segment`](Self::next_segment) asks for the content of a part when its turn has
/// come:
///
/// ```
/// use acp_envelope::{Control, EnvelopeBuilder, NewPart, Status, decode};
/// use bytes::Bytes;
///
/// let mut message = EnvelopeBuilder::new();
/// let log = message.add(NewPart::streamed("text/plain; charset=utf-8", None))?;
/// let mut encoder = message.build(&Control::new(&log)?)?;
/// assert_eq!(encoder.content_length(), None);
///
/// let mut source = ["line 1\n", "line 2\n"].into_iter().map(Bytes::from);
/// let (mut written, mut content) = (Vec::new(), Bytes::new());
/// loop {
///     match encoder.next_segment(&mut content)? {
///         Status::Item(segment) => written.extend_from_slice(&segment),
///         // `encoder.awaited()` names the part.
///         Status::NeedInput => match source.next() {
///             Some(chunk) => content = chunk,
///             None => encoder.finish_part(),
///         },
///         _ => break,
///     }
/// }
/// let envelope = decode(encoder.content_type(), written)?;
/// assert_eq!(envelope.resolve(&log).unwrap().body(), "line 1\nline 2\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EnvelopeEncoder {
    content_type: String,
    content_length: Option<u64>,
    segments: VecDeque<Segment>,
    /// In the multipart form, the search for the boundary in streamed content.
    search: Option<BoundarySearch>,
    /// The part whose content is awaited.
    awaited: Option<Streamed>,
    limits: Limits,
    /// Bytes that content of unknown length may still take.
    room: u64,
    failed: Option<EncodeError>,
}

#[derive(Debug)]
enum Segment {
    Bytes(Bytes),
    Streamed(Streamed),
}

/// Content that comes while the message is written.
#[derive(Debug)]
struct Streamed {
    part: PartId,
    len: Option<u64>,
    /// Bytes that have come.
    sent: u64,
    /// How far the search for the boundary has come.
    searched: Progress,
    /// No more will come.
    finished: bool,
}

impl EnvelopeEncoder {
    /// The JSON form: the control document alone.
    pub(super) fn json(document: Bytes, limits: Limits) -> Result<Self, EncodeError> {
        let segments = [Segment::Bytes(document)].into();
        Self::new("application/json".to_owned(), segments, None, limits)
    }

    /// The multipart form: `parts`, the control part first, whose header lines are in `heads`.
    ///
    /// Everything around content is one allocation.
    pub(super) fn multipart(
        boundary: &Boundary,
        search: BoundarySearch,
        heads: &[u8],
        parts: Vec<Prepared>,
        limits: Limits,
    ) -> Result<Self, EncodeError> {
        let line = boundary.line();
        let framing = (parts.len() + 1) * (line.len() + "\r\n\r\n\r\n".len()) + heads.len();
        let mut frame = BytesMut::with_capacity(framing);
        let mut segments = VecDeque::with_capacity(2 * parts.len() + 1);
        for (index, part) in parts.into_iter().enumerate() {
            let before: &[u8] = if index == 0 { b"" } else { b"\r\n" };
            let head = heads.get(part.head.clone()).unwrap_or_default();
            for piece in [before, line, b"\r\n", head, b"\r\n"] {
                frame.extend_from_slice(piece);
            }
            segments.push_back(Segment::Bytes(frame.split().freeze()));
            match part.content {
                Content::InMemory(content) if content.is_empty() => {}
                Content::InMemory(content) => segments.push_back(Segment::Bytes(content)),
                Content::Streamed { len } => {
                    let part = PartId::new(index, Some(part.name));
                    let (sent, searched) = (0, Progress::new());
                    let streamed = Streamed { part, len, sent, searched, finished: false };
                    segments.push_back(Segment::Streamed(streamed));
                }
            }
        }
        for piece in [b"\r\n", line, b"--\r\n"] {
            frame.extend_from_slice(piece);
        }
        segments.push_back(Segment::Bytes(frame.freeze()));

        Self::new(content_type(boundary), segments, Some(search), limits)
    }

    fn new(
        content_type: String,
        segments: VecDeque<Segment>,
        search: Option<BoundarySearch>,
        limits: Limits,
    ) -> Result<Self, EncodeError> {
        let known = segments.iter().filter_map(Segment::len).fold(0, u64::saturating_add);
        let is_known = segments.iter().all(|segment| segment.len().is_some());
        let room = limits.max_message_bytes.checked_sub(known);
        Ok(Self {
            content_type,
            content_length: is_known.then_some(known),
            segments,
            search,
            awaited: None,
            limits,
            room: room.ok_or_else(|| message_too_large(&limits))?,
            failed: None,
        })
    }

    /// The Content-Type value of the message.
    #[must_use]
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// Bytes of the whole message; `None` where a part of unknown length is in it (ACP-ENC-6).
    #[must_use]
    pub const fn content_length(&self) -> Option<u64> {
        self.content_length
    }

    /// The part whose content [`next_segment`](Self::next_segment) asks for.
    #[must_use]
    pub fn awaited(&self) -> Option<&PartName> {
        self.awaited.as_ref()?.part.name.as_ref()
    }

    /// The next bytes of the message, never none.
    ///
    /// [`Status::NeedInput`] asks for the next content of the part that is
    /// [`awaited`](Self::awaited): give it as `content`, all of which is then the next segment, or
    /// say with [`finish_part`](Self::finish_part) that there is no more. While no part is awaited,
    /// `content` is left alone.
    ///
    /// # Errors
    ///
    /// `boundary_occurs`, `content_length`, `limit_part_size`, `limit_message_size`; then the same
    /// at every call. What was written before is no message that a receiver accepts.
    pub fn next_segment(&mut self, content: &mut impl Input) -> Result<Status<Bytes>, EncodeError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let outcome = self.advance(content);
        if let Err(error) = &outcome {
            self.failed = Some(error.clone());
        }
        outcome
    }

    /// Declares that the part that is awaited has no more content.
    pub fn finish_part(&mut self) {
        if let Some(awaited) = &mut self.awaited {
            awaited.finished = true;
        }
    }

    /// The whole message, in pieces that follow each other. Content in memory is not copied.
    ///
    /// # Errors
    ///
    /// `content_missing` when the content of a part was to come while the message is written, and
    /// those of [`next_segment`](Self::next_segment).
    pub fn into_segments(mut self) -> Result<Vec<Bytes>, EncodeError> {
        let mut segments = Vec::with_capacity(self.segments.len());
        while let Status::Item(segment) = self.next_in_memory()? {
            segments.push(segment);
        }
        Ok(segments)
    }

    /// The whole message in one piece, into which content is copied once.
    ///
    /// # Errors
    ///
    /// Those of [`into_segments`](Self::into_segments).
    pub fn into_bytes(mut self) -> Result<Bytes, EncodeError> {
        let len = self.content_length.and_then(|len| usize::try_from(len).ok());
        let mut bytes = BytesMut::with_capacity(len.unwrap_or_default());
        while let Status::Item(segment) = self.next_in_memory()? {
            bytes.extend_from_slice(&segment);
        }
        Ok(bytes.freeze())
    }

    fn next_in_memory(&mut self) -> Result<Status<Bytes>, EncodeError> {
        match self.next_segment(&mut Bytes::new())? {
            Status::NeedInput => Err(self.content_missing()),
            status => Ok(status),
        }
    }

    /// There is no content for the part that is awaited.
    pub(crate) fn content_missing(&self) -> EncodeError {
        let part = self.awaited.as_ref().map(|awaited| awaited.part.clone());
        EncodeError::new(EncodeErrorKind::ContentMissing, None, part)
    }

    fn advance(&mut self, content: &mut impl Input) -> Result<Status<Bytes>, EncodeError> {
        loop {
            if let Some(awaited) = &self.awaited {
                let arrived = content.bytes().len();
                if arrived > 0 {
                    self.judge_content(content.bytes())?;
                    return Ok(Status::Item(content.take(arrived)));
                }
                if !awaited.finished {
                    return Ok(Status::NeedInput);
                }
                if awaited.len.is_some_and(|len| len != awaited.sent) {
                    return Err(awaited.wrong_length());
                }
                self.awaited = None;
            }
            match self.segments.pop_front() {
                None => return Ok(Status::End),
                Some(Segment::Bytes(bytes)) => return Ok(Status::Item(bytes)),
                Some(Segment::Streamed(streamed)) => self.awaited = Some(streamed),
            }
        }
    }

    /// Judges the next `chunk` of the awaited part's content.
    fn judge_content(&mut self, chunk: &[u8]) -> Result<(), EncodeError> {
        let (Some(awaited), Some(search)) = (&mut self.awaited, &self.search) else {
            return Ok(());
        };
        let before = awaited.sent;
        awaited.sent = before.saturating_add(chunk.len() as u64);
        if let Some(at) = search.find_on(&mut awaited.searched, chunk) {
            return Err(boundary_occurs(before + at as u64, awaited.part.clone()));
        }
        if awaited.len.is_some_and(|len| awaited.sent > len) {
            return Err(awaited.wrong_length());
        }
        let limit = self.limits.max_part_bytes;
        if awaited.sent > limit {
            let kind = ParseErrorKind::PartTooLarge { limit };
            let at = Some(Location::Value(limit));
            return Err(EncodeError::new(kind, at, Some(awaited.part.clone())));
        }
        if awaited.len.is_none() {
            match self.room.checked_sub(chunk.len() as u64) {
                Some(room) => self.room = room,
                None => return Err(message_too_large(&self.limits)),
            }
        }
        Ok(())
    }
}

impl Segment {
    /// Its length, where that is known.
    fn len(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Streamed(streamed) => streamed.len,
        }
    }
}

impl Streamed {
    /// The content is shorter or longer than declared.
    fn wrong_length(&self) -> EncodeError {
        let declared = self.len.unwrap_or_default();
        let at = Some(Location::Value(self.sent.min(declared)));
        EncodeError::new(EncodeErrorKind::ContentLength { declared }, at, Some(self.part.clone()))
    }
}

fn message_too_large(limits: &Limits) -> EncodeError {
    let limit = limits.max_message_bytes;
    let at = Some(Location::Byte(limit));
    EncodeError::new(ParseErrorKind::MessageTooLarge { limit }, at, None)
}

/// The Content-Type of a multipart message; boundaries that are no tokens are quoted (ACP-CT-3).
fn content_type(boundary: &Boundary) -> String {
    let boundary = boundary.as_str();
    if boundary.bytes().all(is_token) {
        format!("multipart/form-data; boundary={boundary}")
    } else {
        format!("multipart/form-data; boundary=\"{boundary}\"")
    }
}
