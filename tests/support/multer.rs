//! The crate `multer` reads a message.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "a module of every test file, each of which uses what it needs"
)]

use std::{
    convert::Infallible,
    pin::pin,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use futures_util::{Stream, stream};
use multer::Multipart;

/// A part as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub name: Option<String>,
    pub filename: Option<String>,
    pub body: Bytes,
}

/// All parts of a message that arrives in chunks of this size, or what multer says against it.
pub fn read(content_type: &str, body: &Bytes, chunk: usize) -> Result<Vec<Read>, String> {
    let boundary = multer::parse_boundary(content_type).map_err(|error| error.to_string())?;
    let mut multipart = Multipart::new(arriving(body, chunk), boundary);
    let all = async {
        let mut parts = Vec::new();
        while let Some(field) = multipart.next_field().await? {
            let (name, filename) = (field.name(), field.file_name());
            let (name, filename) = (name.map(Into::into), filename.map(Into::into));
            parts.push(Read { name, filename, body: field.bytes().await? });
        }
        Ok(parts)
    };
    run(all).map_err(|error: multer::Error| error.to_string())
}

/// `body` in chunks, each of which the reader has to wait for.
pub fn arriving(body: &Bytes, chunk: usize) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let (mut rest, mut is_there) = (body.clone(), true);
    stream::poll_fn(move |context| {
        is_there = !is_there;
        if !is_there {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = rest.split_to(chunk.min(rest.len()));
        Poll::Ready((!next.is_empty()).then_some(Ok(next)))
    })
}

/// Polls until the end. What is waited for here is always there at the next poll.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}
