//! The rows: what each of them does with the message, once.

use std::{hint::black_box, io, time::Instant};

use acp_envelope::{Control, EnvelopeBuilder, NewPart};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{
    decoding::{self, Receiver, broken},
    measure::Subject,
    message::Message,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Row {
    Parser,
    Decoder,
    Stream,
    Encode,
    Sha256,
    Base64,
    ReadLimit,
}

impl Row {
    const ALL: [Self; 7] = [
        Self::Parser,
        Self::Decoder,
        Self::Stream,
        Self::Encode,
        Self::Sha256,
        Self::Base64,
        Self::ReadLimit,
    ];

    /// The rows that say something about a message: the parser does not read the JSON form, and
    /// there is nothing to hash where there is no content.
    pub(super) fn of(message: &Message) -> Vec<Self> {
        let applies = |row: &Self| match row {
            Self::Parser => message.boundary.is_some(),
            Self::Sha256 | Self::Base64 => message.contents.bytes > 0,
            _ => true,
        };
        Self::ALL.into_iter().filter(applies).collect()
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Parser => "parser",
            Self::Decoder => "decoder",
            Self::Stream => "stream",
            Self::Encode => "encode",
            Self::Sha256 => "sha256",
            Self::Base64 => "base64",
            Self::ReadLimit => "read limit",
        }
    }
}

/// A row as something that is measured.
pub(super) fn subject(row: Row, message: &Message) -> Subject<'_> {
    // It keeps its memory, which is to the advantage of base64.
    let mut text = String::new();
    Subject::new(move |times| {
        let start = Instant::now();
        for _ in 0..times {
            once(row, black_box(message), &mut text)?;
        }
        Ok(start.elapsed())
    })
}

fn once(row: Row, message: &Message, text: &mut String) -> io::Result<()> {
    let contents = || message.envelope.parts().iter().map(|part| part.body());
    match row {
        Row::Parser | Row::Decoder | Row::Stream => read(row, message, &mut Taken)?,
        Row::Encode => drop(black_box(encode(message)?)),
        Row::Sha256 => contents().for_each(|content| {
            black_box(Sha256::digest(content));
        }),
        Row::Base64 => contents().for_each(|content| {
            text.clear();
            STANDARD.encode_string(content, text);
            black_box(&*text);
        }),
        Row::ReadLimit => {
            black_box(sum(&message.chunks));
        }
    }
    Ok(())
}

/// Reads the message with the reader of that row; none for a row that does not read.
pub(super) fn read(row: Row, message: &Message, receiver: &mut impl Receiver) -> io::Result<()> {
    let Message { content_type, config, chunks, .. } = message;
    match (row, &message.boundary) {
        (Row::Parser, Some(boundary)) => decoding::parser(boundary, chunks, receiver),
        (Row::Decoder, _) => decoding::decoder(content_type, *config, chunks, receiver),
        (Row::Stream, _) => decoding::stream(content_type, *config, chunks, receiver),
        _ => Ok(()),
    }
}

/// Takes what it is given, and looks at none of it.
#[derive(Debug)]
pub(super) struct Taken;

impl Receiver for Taken {
    fn part(&mut self) {}

    fn data(&mut self, data: &[u8]) {
        black_box(data);
    }
}

/// Writes the message, as its sender does: the control document is judged, the boundary drawn and
/// looked for in all contents.
pub(super) fn encode(message: &Message) -> io::Result<(String, Vec<Bytes>)> {
    let envelope = &message.envelope;
    let mut builder =
        EnvelopeBuilder::with_config(message.config).json_without_parts(message.boundary.is_none());
    if let Some(name) = envelope.control_name() {
        builder = builder.control_name(name.clone());
    }
    for part in envelope.parts() {
        builder.add(NewPart::from(part)).map_err(broken)?;
    }
    let text = Bytes::copy_from_slice(envelope.control().text().as_bytes());
    let control = Control::from_text(text).map_err(broken)?;
    let encoder = builder.build(&control).map_err(broken)?;
    let content_type = encoder.content_type().to_owned();
    Ok((content_type, encoder.into_segments().map_err(broken)?))
}

/// The sum of all bytes, eight at once. Several sums, so that no addition waits for the one before.
fn sum(chunks: &[Bytes]) -> u64 {
    let mut sums = [0_u64; 16];
    let mut rest_sum = 0_u64;
    for chunk in chunks {
        let (blocks, rest) = chunk.as_chunks::<128>();
        for block in blocks {
            let (words, _) = block.as_chunks::<8>();
            for (sum, word) in sums.iter_mut().zip(words) {
                *sum = sum.wrapping_add(u64::from_ne_bytes(*word));
            }
        }
        rest_sum = rest.iter().fold(rest_sum, |sum, &b| sum.wrapping_add(b.into()));
    }
    sums.into_iter().fold(rest_sum, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_read_limit_reads_every_byte() {
        for len in [1, 127, 128, 129, 300] {
            for at in 0..len {
                let mut bytes = vec![0; len];
                assert_eq!(sum(&[bytes.clone().into()]), 0);
                bytes[at] = 1;
                assert_ne!(sum(&[bytes.into()]), 0, "{at} of {len}");
            }
        }
    }
}
