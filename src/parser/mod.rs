//! The multipart machine: sans-IO, incremental, zero-copy. It knows nothing of JSON or ACP.
//!
//! ```text
//!               text           "--" boundary                     header lines
//!             ┌──────┐                                            ┌──────┐
//!             ▼      │                                            ▼      │
//!  start ─▶ Preamble ┴──────▶ DelimiterLine ──CRLF──▶ PartDue ─▶ Head ───┴─blank line─┐
//!                              ▲       │              (PartEnd)                       │ (PartStart)
//!                              │      "--"                                            ▼
//!                   CRLF "--" boundary │                                            Body ◀─┐
//!                              └───────┼──────────────────────────────────────────────┴────┘
//!                                      ▼                                              text (Data)
//!                     Close line ──CRLF or end──▶ CloseDue (PartEnd) ─▶ Epilogue (Close) ─▶ end
//! ```
//!
//! # Invariants
//!
//! 1. [`Status::NeedInput`] means that the input is empty.
//! 2. Every call gives an item, or an error, or takes at least one byte, or asks for input.
//! 3. [`Event::Data`] is never empty, and is a view of the caller's buffer, or, where the beginning
//!    of a false delimiter was cut by a chunk's end, of the parser's own delimiter.
//! 4. Heads, joined data, and code and place of an error do not depend on how the input is cut
//!    (ACP-FRM-7). How much data was handed out before an error may.
//! 5. At most one header block is retained, and only when a chunk's end cuts it.
//! 6. After an error every call gives the same error.

mod error;
mod head;
mod input;
mod state;

use bytes::{Bytes, BytesMut};

pub(crate) use self::head::Meaning;
use self::state::{Line, State, Step, Tail, emit};
pub use self::{
    error::{ParseError, ParseErrorKind},
    head::{FormDataHead, PartHead},
    input::Input,
};
use crate::{
    Limits,
    syntax::{BlockScan, Boundary, Delimiter},
};

/// The answer of a call: an item, or what is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status<T> {
    /// Here is one; call again.
    Item(T),
    /// The input is used up: give more, or declare its end with `finish`.
    NeedInput,
    /// The input was declared to be over, and everything in it was in order.
    End,
}

/// What the parser finds in a multipart body, in the order of its bytes.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// Text before the first delimiter, which is skipped (RFC 2046 §5.1.1); given once.
    Preamble {
        /// The byte that made it certain.
        offset: u64,
    },
    /// A part's header block is complete.
    PartStart(PartHead),
    /// Bytes of the current part's body.
    Data(Bytes),
    /// The delimiter line after the current part's body is complete.
    PartEnd {
        /// Bytes of the body.
        len: u64,
    },
    /// The close delimiter line is complete: no part follows.
    Close {
        /// The line feed that ended the line, or the length of the input that ended in it.
        offset: u64,
    },
    /// Text after the close delimiter, which is skipped (RFC 2046 §5.1.1); given once.
    Epilogue {
        /// The byte that made it certain.
        offset: u64,
    },
}

/// Parses a multipart body as it arrives (ACP-FRM-1…7, ACP-HDR-1).
///
/// ```
/// use acp_envelope::{Limits, parser::{Event, Parser, Status}, syntax::Boundary};
/// use bytes::Bytes;
///
/// let mut parser = Parser::new(&Boundary::new(b"b").unwrap(), Limits::new());
/// let mut input = Bytes::from_static(
///     b"--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\nhello\r\n--b--\r\n");
/// let mut seen = Vec::new();
/// loop {
///     match parser.next_event(&mut input)? {
///         Status::Item(Event::PartStart(head)) => seen.push(head.form_data()?.name.to_vec()),
///         Status::Item(Event::Data(data)) => seen.push(data.to_vec()),
///         Status::Item(_) => {}
///         Status::NeedInput => parser.finish(),
///         _ => break,
///     }
/// }
/// assert_eq!(seen, [&b"n"[..], b"hello"]);
/// # Ok::<(), acp_envelope::parser::ParseError>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    delimiter: Delimiter,
    limits: Limits,
    state: State,
    /// Bytes of the message taken so far.
    offset: u64,
    /// How much of the delimiter the text taken so far ends in.
    held: usize,
    /// How much of `held` never was in the input: the CRLF that is assumed before the first byte of
    /// the preamble and of a body.
    assumed: usize,
    /// No byte before this one was certain to be text before this one was seen.
    certain: u64,
    /// Whether the preamble was reported.
    preamble: bool,
    /// Parts whose delimiter line was seen.
    parts: usize,
    /// Body bytes of the current part, and how many it may have.
    part_len: u64,
    max_part_bytes: u64,
    scan: BlockScan,
    /// The beginning of a header block that a chunk's end has cut.
    block: BytesMut,
    /// Where the current header block starts.
    block_at: u64,
    finished: bool,
    failed: Option<ParseError>,
}

impl Parser {
    /// A parser for one body. `limits` that concern JSON are not looked at, and
    /// [`Limits::max_parts`] counts every part.
    #[must_use]
    pub fn new(boundary: &Boundary, limits: Limits) -> Self {
        Self {
            delimiter: Delimiter::new(boundary),
            limits,
            state: State::Preamble,
            offset: 0,
            held: Delimiter::CRLF,
            assumed: Delimiter::CRLF,
            certain: 0,
            preamble: false,
            parts: 0,
            part_len: 0,
            max_part_bytes: limits.max_part_bytes,
            scan: BlockScan::new(),
            block: BytesMut::new(),
            block_at: 0,
            finished: false,
            failed: None,
        }
    }

    /// Takes bytes from the front of `input` until there is an event.
    ///
    /// # Errors
    ///
    /// `delimiter_malformed`, `header_malformed`, `truncated`, `limit_parts`, `limit_part_size`,
    /// `limit_message_size`, `limit_header_size`, `limit_headers`; then the same at every call.
    // Else an event is stored by this function and read again by its caller, which costs more than
    // the transition.
    #[inline(always)]
    pub fn next_event(&mut self, input: &mut impl Input) -> Result<Status<Event>, ParseError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        loop {
            match self.step(input) {
                Ok(None) => {}
                Ok(Some(status)) => return Ok(status),
                Err(error) => {
                    self.failed = Some(error.clone());
                    return Err(error);
                }
            }
        }
    }

    /// Declares that no input follows. The next calls of [`next_event`](Self::next_event) give what
    /// is left, then [`Status::End`], or the error `truncated`.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// How many bytes of the message were taken.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Sets another bound than [`Limits::max_part_bytes`] for the body of the part that has just
    /// started.
    pub fn limit_part(&mut self, max_bytes: u64) {
        self.max_part_bytes = max_bytes;
    }

    fn step(&mut self, input: &mut impl Input) -> Result<Step, ParseError> {
        match self.state {
            State::PartDue => return self.part_due(),
            State::CloseDue { offset } => {
                self.state = State::Epilogue(Tail::Start);
                return Ok(emit(Event::Close { offset }));
            }
            _ => {}
        }
        let room = self.limits.max_message_bytes - self.offset;
        let visible = input.bytes().len();
        let visible = usize::try_from(room).map_or(visible, |room| visible.min(room));
        if visible == 0 {
            return if !input.bytes().is_empty() {
                let limit = self.limits.max_message_bytes;
                Err(ParseError::new(ParseErrorKind::MessageTooLarge { limit }, self.offset, None))
            } else if self.finished {
                self.at_end()
            } else {
                Ok(Some(Status::NeedInput))
            };
        }
        match self.state {
            State::Preamble | State::Body => self.text(input, visible),
            State::DelimiterLine(line) => self.delimiter_line(line, input, visible),
            State::Head => self.head(input, visible),
            State::Epilogue(tail) => Ok(self.epilogue(tail, input, visible)),
            State::PartDue | State::CloseDue { .. } => Ok(None),
        }
    }

    /// What the end of the input means.
    fn at_end(&mut self) -> Result<Step, ParseError> {
        match self.state {
            State::DelimiterLine(Line::ClosePadding(_)) => {
                Ok(self.line_complete(true, self.offset))
            }
            State::DelimiterLine(Line::CloseEnd) => Err(self.malformed_delimiter(self.offset)),
            State::Epilogue(Tail::Cr) => {
                self.state = State::Epilogue(Tail::Text);
                Ok(emit(Event::Epilogue { offset: self.offset }))
            }
            State::Epilogue(_) => Ok(Some(Status::End)),
            _ => Err(ParseError::new(ParseErrorKind::Truncated, self.offset, None)),
        }
    }
}
