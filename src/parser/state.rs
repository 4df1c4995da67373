//! The states of the parser and their transitions, one method a state.

use bytes::Bytes;

use super::{Event, Input, ParseError, ParseErrorKind, Parser, PartHead, Status};
use crate::syntax::{BlockScan, Delimiter, PlainHead, Scanned};

/// The most spaces and tabs between a delimiter and the end of its line (ACP-FRM-2).
const MAX_PADDING: u16 = 256;

/// Where in the message the parser stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Before the first delimiter.
    Preamble,
    /// After a delimiter, in its line.
    DelimiterLine(Line),
    /// A delimiter line is complete; the part it opens is not yet counted.
    PartDue,
    /// In a header block.
    Head,
    /// In the body of a part.
    Body,
    /// The close delimiter line is complete, but not yet reported.
    CloseDue { offset: u64 },
    /// After the close delimiter line.
    Epilogue(Tail),
}

/// What has been seen of a delimiter line after the delimiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Start,
    /// Spaces and tabs.
    Padding(u16),
    /// CR: LF completes the line.
    End,
    /// One dash.
    Dash,
    /// Both dashes, then spaces and tabs.
    ClosePadding(u16),
    /// Both dashes and CR: LF completes the line.
    CloseEnd,
}

/// What has been seen after the close delimiter line. One CRLF is no epilogue (ACP-FRM-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    Start,
    Cr,
    CrLf,
    /// There is an epilogue, and it was reported.
    Text,
}

/// What one transition has led to: an answer, or nothing yet.
pub(super) type Step = Option<Status<Event>>;

pub(super) fn emit(event: Event) -> Step {
    Some(Status::Item(event))
}

impl Parser {
    /// Text up to a delimiter: skipped in the preamble, data in a body.
    pub(super) fn text(
        &mut self,
        input: &mut impl Input,
        visible: usize,
    ) -> Result<Step, ParseError> {
        let chunk = input.bytes().get(..visible).unwrap_or_default();
        if self.held > 0 {
            let matched = self.delimiter.continues(self.held, chunk);
            if self.held + matched == self.delimiter.len() {
                return self.delimiter_found(input, matched);
            }
            if matched == chunk.len() {
                self.held += matched;
                self.skip(input, matched);
                return Ok(None);
            }
            // The match is broken: what was held is text, and what it matched here is text too.
            self.certain = self.offset + matched as u64;
            let (assumed, held) = (self.assumed, self.held);
            (self.assumed, self.held) = (0, 0);
            if held > assumed {
                return self.held_text(assumed, held);
            }
        }
        let hit = self.delimiter.find(chunk);
        let certain =
            |at| self.certain.max(self.offset + self.delimiter.certain_at(chunk, at) as u64);
        let step = if hit.text == 0 {
            None
        } else if self.state == State::Preamble {
            let offset = certain(0);
            self.skip(input, hit.text);
            self.report_preamble(offset)
        } else {
            let room = self.max_part_bytes.saturating_sub(self.part_len);
            if let Some(excess) = usize::try_from(room).ok().filter(|&room| hit.text > room) {
                return Err(self.part_too_large(certain(excess)));
            }
            self.part_len += hit.text as u64;
            self.offset += hit.text as u64;
            emit(Event::Data(input.take(hit.text)))
        };
        if hit.matched == self.delimiter.len() {
            self.delimiter_found(input, hit.matched)?;
        } else {
            self.held = hit.matched;
            self.skip(input, hit.matched);
        }
        Ok(step)
    }

    /// The delimiter's bytes from `start` to `end`, taken earlier, have turned out to be text.
    fn held_text(&mut self, start: usize, end: usize) -> Result<Step, ParseError> {
        if self.state == State::Preamble {
            return Ok(self.report_preamble(self.certain));
        }
        self.part_len += (end - start) as u64;
        if self.part_len > self.max_part_bytes {
            return Err(self.part_too_large(self.certain));
        }
        Ok(emit(Event::Data(self.delimiter.slice(start, end))))
    }

    fn report_preamble(&mut self, offset: u64) -> Step {
        if std::mem::replace(&mut self.preamble, true) {
            return None;
        }
        emit(Event::Preamble { offset })
    }

    /// The delimiter is complete with the next `rest` bytes.
    fn delimiter_found(&mut self, input: &mut impl Input, rest: usize) -> Result<Step, ParseError> {
        self.skip(input, rest);
        self.held = 0;
        if self.state == State::Body && self.assumed > 0 {
            return Err(self.malformed_delimiter(self.offset - 1));
        }
        self.state = State::DelimiterLine(Line::Start);
        Ok(None)
    }

    /// The rest of a delimiter line.
    pub(super) fn delimiter_line(
        &mut self,
        mut line: Line,
        input: &mut impl Input,
        visible: usize,
    ) -> Result<Step, ParseError> {
        let chunk = input.bytes().get(..visible).unwrap_or_default();
        if line == Line::Start && chunk.starts_with(b"\r\n") {
            self.skip(input, 2);
            return Ok(self.line_complete(false, self.offset - 1));
        }
        for (i, &b) in chunk.iter().enumerate() {
            let offset = self.offset + i as u64;
            line = match (line, b) {
                (Line::Start, b'-') => Line::Dash,
                (Line::Start, b' ' | b'\t') => Line::Padding(1),
                (Line::Padding(n), b' ' | b'\t') if n < MAX_PADDING => Line::Padding(n + 1),
                (Line::Start | Line::Padding(_), b'\r') => Line::End,
                (Line::Dash, b'-') => Line::ClosePadding(0),
                (Line::ClosePadding(n), b' ' | b'\t') if n < MAX_PADDING => {
                    Line::ClosePadding(n + 1)
                }
                (Line::ClosePadding(_), b'\r') => Line::CloseEnd,
                (Line::End | Line::CloseEnd, b'\n') => {
                    self.skip(input, i + 1);
                    return Ok(self.line_complete(line == Line::CloseEnd, offset));
                }
                _ => return Err(self.malformed_delimiter(offset)),
            };
        }
        self.state = State::DelimiterLine(line);
        self.skip(input, visible);
        Ok(None)
    }

    /// A delimiter line is complete: the part before it, if any, has ended.
    pub(super) fn line_complete(&mut self, close: bool, offset: u64) -> Step {
        self.state = if close { State::CloseDue { offset } } else { State::PartDue };
        if self.parts == 0 {
            return None;
        }
        emit(Event::PartEnd { len: self.part_len })
    }

    /// Counts the part that a delimiter line has opened.
    pub(super) fn part_due(&mut self) -> Result<Step, ParseError> {
        let limit = self.limits.max_parts;
        if self.parts >= limit {
            let kind = ParseErrorKind::TooManyParts { limit };
            return Err(ParseError::new(kind, self.offset - 1, None));
        }
        self.parts += 1;
        self.state = State::Head;
        self.scan = BlockScan::new();
        self.block_at = self.offset;
        Ok(None)
    }

    /// A header block.
    pub(super) fn head(
        &mut self,
        input: &mut impl Input,
        visible: usize,
    ) -> Result<Step, ParseError> {
        let chunk = input.bytes().get(..visible).unwrap_or_default();
        let (max_bytes, max_fields) = (self.limits.max_header_bytes, self.limits.max_headers);
        if self.offset == self.block_at
            && let Some((plain, len)) = PlainHead::read(chunk)
            && len - "\r\n".len() <= max_bytes
            && PlainHead::FIELDS <= max_fields
        {
            let block = input.take(len);
            return Ok(self.head_complete(len, block, Some(plain)));
        }
        let scanned = self.scan.scan(chunk, self.delimiter.line(), max_bytes, max_fields);
        let fault = |kind, at: usize| {
            Err(ParseError::new(kind, self.offset + at as u64, Some(self.parts - 1)))
        };
        match scanned {
            Scanned::Malformed(at) => fault(ParseErrorKind::HeaderMalformed, at),
            Scanned::TooLarge(at) => {
                fault(ParseErrorKind::HeadersTooLarge { limit: max_bytes }, at)
            }
            Scanned::TooMany(at) => fault(ParseErrorKind::TooManyHeaders { limit: max_fields }, at),
            Scanned::Partial => {
                self.block.extend_from_slice(chunk);
                self.skip(input, visible);
                Ok(None)
            }
            Scanned::Complete(len) => {
                if self.block.is_empty() {
                    let block = input.take(len);
                    return Ok(self.head_complete(len, block, None));
                }
                self.block.extend_from_slice(&input.take(len));
                let block = self.block.split().freeze();
                let plain = PlainHead::read(&block).map(|(plain, _)| plain);
                Ok(self.head_complete(len, block, plain))
            }
        }
    }

    /// A header block is complete with the next `len` bytes.
    fn head_complete(&mut self, len: usize, block: Bytes, plain: Option<PlainHead>) -> Step {
        self.offset += len as u64;
        self.state = State::Body;
        (self.held, self.assumed) = (Delimiter::CRLF, Delimiter::CRLF);
        (self.part_len, self.max_part_bytes) = (0, self.limits.max_part_bytes);
        let head = PartHead::new(self.parts - 1, self.block_at, block, plain);
        emit(Event::PartStart(head))
    }

    /// Everything after the close delimiter line.
    pub(super) fn epilogue(
        &mut self,
        mut tail: Tail,
        input: &mut impl Input,
        visible: usize,
    ) -> Step {
        let chunk = input.bytes().get(..visible).unwrap_or_default();
        let mut found = None;
        for (offset, &b) in (self.offset..).zip(chunk) {
            tail = match (tail, b) {
                (Tail::Start, b'\r') => Tail::Cr,
                (Tail::Cr, b'\n') => Tail::CrLf,
                (Tail::Text, _) => break,
                _ => {
                    found = Some(offset);
                    Tail::Text
                }
            };
        }
        self.state = State::Epilogue(tail);
        self.skip(input, visible);
        found.and_then(|offset| emit(Event::Epilogue { offset }))
    }

    fn skip(&mut self, input: &mut impl Input, n: usize) {
        self.offset += n as u64;
        input.skip(n);
    }

    pub(super) fn malformed_delimiter(&self, offset: u64) -> ParseError {
        ParseError::new(ParseErrorKind::DelimiterMalformed, offset, None)
    }

    fn part_too_large(&self, offset: u64) -> ParseError {
        let kind = ParseErrorKind::PartTooLarge { limit: self.max_part_bytes };
        ParseError::new(kind, offset, Some(self.parts - 1))
    }
}
