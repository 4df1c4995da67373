//! The three readers of a message, each driven over chunks as they arrive.

use std::{convert::Infallible, fmt::Display, io};

use acp_envelope::{
    Config, EnvelopeDecoder, Item, Limits, Status,
    parser::{Event, Parser},
    stream::{EnvelopeStream, StreamError},
    syntax::Boundary,
};
use bytes::Bytes;
use futures_util::{FutureExt as _, stream};

/// Takes the content parts of a message.
pub(super) trait Receiver {
    /// A part starts.
    fn part(&mut self);

    /// Bytes of the part.
    fn data(&mut self, data: &[u8]);
}

/// The parser alone. The control part is read too, and not handed on.
pub(super) fn parser(
    boundary: &Boundary,
    chunks: &[Bytes],
    receiver: &mut impl Receiver,
) -> io::Result<()> {
    // Limits are the decoder's matter.
    let mut parser = Parser::new(boundary, Limits::unbounded_for_trusted_input());
    let (mut chunks, mut input, mut in_content) = (chunks.iter(), Bytes::new(), false);
    loop {
        match parser.next_event(&mut input).map_err(broken)? {
            Status::Item(Event::PartStart(head)) => {
                let meaning = head.form_data();
                in_content = head.index() > 0;
                // A control part needs no name.
                if in_content {
                    meaning.map_err(broken)?;
                    receiver.part();
                }
            }
            Status::Item(Event::Data(data)) if in_content => receiver.data(&data),
            Status::Item(_) => {}
            Status::NeedInput => match chunks.next() {
                Some(chunk) => input = chunk.clone(),
                None => parser.finish(),
            },
            _ => return Ok(()),
        }
    }
}

/// The decoder, which enforces every rule.
pub(super) fn decoder(
    content_type: &[u8],
    config: Config,
    chunks: &[Bytes],
    receiver: &mut impl Receiver,
) -> io::Result<()> {
    let mut decoder = EnvelopeDecoder::new(content_type, config).map_err(broken)?;
    let (mut chunks, mut input) = (chunks.iter(), Bytes::new());
    loop {
        match decoder.next_item(&mut input).map_err(broken)? {
            Status::Item(Item::PartStart(_)) => receiver.part(),
            Status::Item(Item::Data(data)) => receiver.data(&data),
            Status::Item(_) => {}
            Status::NeedInput => match chunks.next() {
                Some(chunk) => input = chunk.clone(),
                None => decoder.finish(),
            },
            _ => return Ok(()),
        }
    }
}

/// The decoder behind async code. The chunks are there already, so that no runtime is needed, and
/// none is measured.
pub(super) fn stream(
    content_type: &[u8],
    config: Config,
    chunks: &[Bytes],
    receiver: &mut impl Receiver,
) -> io::Result<()> {
    let decoder = EnvelopeDecoder::new(content_type, config).map_err(broken)?;
    let body = stream::iter(chunks.iter().cloned().map(Ok::<_, Infallible>));
    let mut message = EnvelopeStream::new(body, decoder);
    let reading = async {
        message.control().await?;
        while let Some(mut part) = message.next_part().await? {
            receiver.part();
            while let Some(data) = part.chunk().await? {
                receiver.data(&data);
            }
        }
        Ok::<_, StreamError<Infallible>>(())
    };
    let outcome = reading.now_or_never();
    outcome.ok_or_else(|| broken("it waits for bytes that are there"))?.map_err(broken)
}

/// A reader does not take a message that was found to be valid.
pub(super) fn broken(error: impl Display) -> io::Error {
    io::Error::other(format!("a valid message cannot be read, which is a bug: {error}"))
}
