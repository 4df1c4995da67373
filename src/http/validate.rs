//! A body that a decoder watches.

use std::{
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::poll_frame;
use crate::{DecodeError, EnvelopeDecoder, Item, Status, Warning, stream::StreamError};

/// A body that hands on the very frames of another while a decoder watches, and fails as soon as the
/// message turns out to be invalid. Payload is not copied.
///
/// Whoever reads it must take what it gives as provisional, and reads a whole message only where the
/// message is valid: a frame is judged before it is handed on; the last one of a body whose length is
/// known is kept until the end of the message is judged, too; and a body of unknown length has no end
/// before that.
///
/// ```
/// use acp_envelope::{Config, EnvelopeDecoder, http::ValidatingBody};
/// use http_body_util::{BodyExt, Full};
///
/// # futures_util::FutureExt::now_or_never(async {
/// let decoder = || EnvelopeDecoder::new("application/json", Config::new());
/// let (body, verdict) = ValidatingBody::new(Full::from("[1]"), decoder()?);
/// assert_eq!(body.collect().await?.to_bytes(), "[1]");
/// assert_eq!(verdict.get().unwrap().as_ref().unwrap().bytes, 3);
///
/// let (body, verdict) = ValidatingBody::new(Full::from("[1,]"), decoder()?);
/// assert_eq!(body.collect().await.unwrap_err().code(), "control_malformed");
/// assert!(verdict.get().unwrap().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap().unwrap();
/// ```
#[derive(Debug)]
pub struct ValidatingBody<B> {
    body: B,
    decoder: EnvelopeDecoder,
    /// Content parts so far.
    parts: usize,
    /// Bytes of the body that have not come, where their number is known.
    left: Option<u64>,
    /// The frames that wait for the end of the message to be judged: the last one, and trailer fields.
    held: [Option<Frame<Bytes>>; 2],
    /// Nothing more is read: the message was judged, or the body has failed.
    over: bool,
    verdict: Verdict,
}

type Judged<E> = Poll<Result<Option<Frame<Bytes>>, StreamError<E>>>;

impl<B: Body<Data = Bytes> + Unpin> ValidatingBody<B> {
    /// The body of the message that `decoder` was made for, and what will be found out about it.
    pub fn new(body: B, decoder: EnvelopeDecoder) -> (Self, Verdict) {
        let verdict = Verdict::default();
        let left = body.size_hint().exact();
        let shared = verdict.clone();
        let held = [None, None];
        (Self { body, decoder, parts: 0, left, held, over: false, verdict: shared }, verdict)
    }

    /// The next frame that may be handed on.
    fn poll_judged(&mut self, cx: &mut Context<'_>) -> Judged<B::Error> {
        while !self.over {
            let frame = ready!(poll_frame(&mut self.body, cx)).transpose();
            let frame = frame.map_err(StreamError::Body)?;
            let Some(data) = frame.as_ref().and_then(Frame::data_ref) else {
                // Trailer fields follow the last of the data.
                self.judge_end()?;
                let [_, trailers] = &mut self.held;
                *trailers = frame;
                break;
            };
            self.judge(data.clone())?;
            let is_empty = data.is_empty();
            let [last, _] = &mut self.held;
            match &mut self.left {
                // The body is longer than it said, or this frame adds nothing.
                Some(0) if last.is_some() && !is_empty => {
                    return Poll::Ready(Ok(std::mem::replace(last, frame)));
                }
                Some(0) if last.is_some() => continue,
                Some(left) => {
                    *left = left.saturating_sub(data.len() as u64);
                    if *left == 0 {
                        *last = frame;
                        continue;
                    }
                }
                None => {}
            }
            return Poll::Ready(Ok(frame));
        }
        let held = self.held.iter_mut().find_map(Option::take);
        Poll::Ready(Ok(held))
    }

    fn judge_end(&mut self) -> Result<(), DecodeError> {
        self.decoder.finish();
        self.judge(Bytes::new())?;
        self.over = true;
        let warnings = self.decoder.warnings().to_vec();
        let passed = Passed { bytes: self.decoder.offset(), parts: self.parts, warnings };
        self.verdict.set(Ok(passed));
        Ok(())
    }

    fn judge(&mut self, mut data: Bytes) -> Result<(), DecodeError> {
        loop {
            match self.decoder.next_item(&mut data) {
                Ok(Status::Item(Item::PartStart(_))) => self.parts += 1,
                Ok(Status::Item(_)) => {}
                Ok(Status::NeedInput | Status::End) => return Ok(()),
                Err(error) => {
                    self.verdict.set(Err(error.clone()));
                    return Err(error);
                }
            }
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for ValidatingBody<B> {
    type Data = Bytes;
    type Error = StreamError<B::Error>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let frame = ready!(this.poll_judged(cx));
        if frame.is_err() {
            this.over = true;
            this.held = [None, None];
        }
        Poll::Ready(frame.transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.over && self.held.iter().all(Option::is_none)
    }

    fn size_hint(&self) -> SizeHint {
        let held = self.held.iter().flatten().filter_map(Frame::data_ref).map(Bytes::len);
        let held = held.sum::<usize>() as u64;
        let rest = self.body.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(held));
        }
        hint.set_lower(rest.lower().saturating_add(held));
        hint
    }
}

/// What is found out about a message while its body passes through a [`ValidatingBody`].
#[derive(Debug, Clone, Default)]
pub struct Verdict(Arc<OnceLock<Result<Passed, DecodeError>>>);

impl Verdict {
    /// The verdict, once there is one; never, when the body is not read as far.
    #[must_use]
    pub fn get(&self) -> Option<&Result<Passed, DecodeError>> {
        self.0.get()
    }

    /// Why the message is refused, if it is.
    #[must_use]
    pub fn refused(&self) -> Option<&DecodeError> {
        self.get()?.as_ref().err()
    }

    fn set(&self, verdict: Result<Passed, DecodeError>) {
        // The first one stands.
        self.0.get_or_init(|| verdict);
    }
}

/// A valid message that has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passed {
    /// Bytes of the message.
    pub bytes: u64,
    /// Content parts.
    pub parts: usize,
    /// What is worth knowing, though the message stands.
    pub warnings: Vec<Warning>,
}
