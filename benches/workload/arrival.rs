//! How a message arrives in async code, without a runtime.

use std::{
    marker::PhantomData,
    pin::{Pin, pin},
    slice,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use futures_util::Stream;

use super::{Input, Outcome};

/// The chunks of a message with a pause before each and before the end, as of a socket on which
/// never more than one read is ready. A reader that takes all it can get before it gives anything
/// would read a stream without pauses into memory.
pub struct Paced<'a, E> {
    chunks: slice::Iter<'a, Bytes>,
    /// There was a pause, and a chunk is next.
    paused: bool,
    /// The end was seen: it is there at once for those that look again.
    over: bool,
    error: PhantomData<fn() -> E>,
}

impl<'a, E> Paced<'a, E> {
    pub fn new(input: &'a Input) -> Self {
        Self { chunks: input.chunks.iter(), paused: false, over: false, error: PhantomData }
    }
}

impl<E> Stream for Paced<'_, E> {
    type Item = Result<Bytes, E>;

    #[inline]
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if !self.paused && !self.over {
            self.paused = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.paused = false;
        let chunk = self.chunks.next();
        self.over = chunk.is_none();
        Poll::Ready(chunk.cloned().map(Ok))
    }
}

/// Polls a reader of `input` until it is done. One that waits more often than the stream does waits
/// for something that does not come.
pub fn block_on(input: &Input, reader: impl Future<Output = Outcome>) -> Outcome {
    let mut reader = pin!(reader);
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..input.chunks.len() + 2 {
        if let Poll::Ready(outcome) = reader.as_mut().poll(&mut cx) {
            return outcome;
        }
    }
    Err("it waits, and its stream does not".into())
}
