//! What the tests of the async adapters share: bodies that count and hesitate, futures that are
//! polled by hand, and messages put together from what an adapter gives.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "a module of every test file, each of which uses what it needs"
)]

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::{Pin, pin},
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use acp_envelope::{ContentHead, Envelope, Item, Warning};
use bytes::Bytes;
use futures_util::{FutureExt as _, Stream};

use super::support::{Finding, Message, Part};

/// What a [`Body`] was asked for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Chunks handed out, and failures.
    pub chunks: usize,
    /// Bytes in all chunks handed out.
    pub bytes: usize,
    /// Bytes in the chunk handed out last.
    pub last: usize,
    pub failures: usize,
    /// Polls that were answered with "not yet".
    pub hesitations: usize,
    /// Whether the end was handed out.
    pub ended: bool,
}

/// A body of chunks and failures. It counts what it hands out, and must not be asked again after
/// its end.
#[derive(Debug)]
pub struct Body<E = Infallible> {
    chunks: VecDeque<Result<Bytes, E>>,
    counts: Arc<Mutex<Counts>>,
    /// Whether "not yet" comes before each chunk, and before the end.
    hesitant: bool,
    hesitated: bool,
}

impl Body {
    /// A body that is always ready.
    pub fn new(chunks: impl IntoIterator<Item = Bytes>) -> Self {
        Self::with_failures(chunks.into_iter().map(Ok))
    }
}

impl<E> Body<E> {
    /// The same, with failures between chunks, after each of which it goes on.
    pub fn with_failures(chunks: impl IntoIterator<Item = Result<Bytes, E>>) -> Self {
        let chunks = chunks.into_iter().collect();
        Self { chunks, counts: Arc::default(), hesitant: false, hesitated: false }
    }

    /// A body that is not ready before each chunk, and before its end.
    #[must_use]
    pub fn hesitant(self) -> Self {
        Self { hesitant: true, ..self }
    }

    /// The counts, also while the body is someone else's.
    pub fn counts(&self) -> impl Fn() -> Counts + use<E> {
        let counts = self.counts.clone();
        move || *counts.lock().unwrap()
    }
}

impl<E: Unpin> Stream for Body<E> {
    type Item = Result<Bytes, E>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let mut counts = this.counts.lock().unwrap();
        assert!(!counts.ended, "a body is not asked for more after its end");
        if this.hesitant && !std::mem::replace(&mut this.hesitated, true) {
            counts.hesitations += 1;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        this.hesitated = false;
        let next = this.chunks.pop_front();
        match &next {
            None => counts.ended = true,
            Some(Err(_)) => counts.failures += 1,
            Some(Ok(chunk)) => {
                counts.chunks += 1;
                counts.bytes += chunk.len();
                counts.last = chunk.len();
            }
        }
        Poll::Ready(next)
    }
}

/// What a future gives that never has to wait.
pub fn ready<F: Future>(future: F) -> F::Output {
    future.now_or_never().expect("nothing is waited for")
}

/// Polls a future once, and drops it.
pub fn once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Compiles when the value can go to another thread.
pub fn assert_send<T: Send>(value: T) -> T {
    value
}

pub fn findings(warnings: &[Warning]) -> Vec<Finding> {
    let finding = |warning: &Warning| Finding {
        code: warning.code().as_str(),
        place: warning.location().clone(),
        part: warning.part().map(|part| part.index),
    };
    warnings.iter().map(finding).collect()
}

pub fn part(head: &ContentHead, body: impl Into<Vec<u8>>) -> Part {
    Part {
        name: head.name().to_string(),
        content_type: head.media_type().as_bytes().to_vec(),
        filename: head.filename().map(Into::into),
        referenced_by: head.referenced_by().collect(),
        body: body.into(),
    }
}

pub fn message_of_envelope(envelope: &Envelope) -> Message {
    let parts = envelope.parts().iter().map(|p| part(p.head(), p.body().to_vec()));
    Message {
        control: envelope.control().text().to_owned(),
        parts: parts.collect(),
        warnings: findings(envelope.warnings()),
    }
}

/// A message while its items come.
#[derive(Debug, Default)]
pub struct Items {
    control: Option<String>,
    parts: Vec<Part>,
    in_part: bool,
}

impl Items {
    pub fn take(&mut self, item: Item) {
        match item {
            Item::Control(document) => {
                assert!(self.control.is_none() && self.parts.is_empty(), "control comes first");
                self.control = Some(document.text().to_owned());
            }
            Item::PartStart(head) => {
                assert!(!std::mem::replace(&mut self.in_part, true), "the part before has ended");
                self.parts.push(part(&head, []));
            }
            Item::Data(data) => {
                assert!(self.in_part && !data.is_empty());
                self.parts.last_mut().unwrap().body.extend_from_slice(&data);
            }
            Item::PartEnd { len } => {
                assert!(std::mem::replace(&mut self.in_part, false), "a part has started");
                assert_eq!(len, self.parts.last().unwrap().body.len() as u64);
            }
            other => panic!("unknown item {other:?}"),
        }
    }

    pub fn into_message(self, warnings: Vec<Finding>) -> Message {
        assert!(!self.in_part, "the last part has ended");
        let control = self.control.expect("a message has a control document");
        Message { control, parts: self.parts, warnings }
    }
}
