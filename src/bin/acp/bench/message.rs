//! The message that is measured: made up, or read from a file.

use std::io;

use acp_envelope::{
    Config, Control, DecodeError, EncodeError, Envelope, EnvelopeBuilder, EnvelopeEncoder, NewPart,
    Part, decode_with,
    syntax::{Boundary, ContentType},
};
use bytes::{Bytes, BytesMut};
use bytesize::ByteSize;
use clap::Args;
use serde_json::{Value, json};

use super::{check::Contents, random::Random};
use crate::{
    args::Reading,
    body::{Body, Piece, Unreadable},
    output::usage,
    run::printable,
};

/// Each flag names it: a heading for all of them would be that of the flags that follow, too.
const SHAPE: &str = "Generated message";

/// What a generated message is like.
#[derive(Debug, Args)]
pub(super) struct Shape {
    /// Content parts
    #[arg(long, help_heading = SHAPE, value_name = "N", default_value = "8")]
    parts: usize,

    /// Bytes of random content in each part
    #[arg(long, help_heading = SHAPE, value_name = "SIZE", default_value = "1MiB")]
    part_size: ByteSize,

    /// Bytes of the control document, about; more where its references need more
    #[arg(long, help_heading = SHAPE, value_name = "SIZE", default_value = "2KiB")]
    control_size: ByteSize,

    /// References in the control document, spread over the parts [default: as many as parts]
    #[arg(long, help_heading = SHAPE, value_name = "N")]
    refs: Option<usize>,
}

/// A valid message, and how it arrives.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) content_type: Vec<u8>,
    /// In the multipart form.
    pub(super) boundary: Option<Boundary>,
    pub(super) config: Config,
    body: Bytes,
    chunk_bytes: usize,
    /// The body, as it arrives: views of it.
    pub(super) chunks: Vec<Bytes>,
    /// The message decoded: views of the body.
    pub(super) envelope: Envelope,
    /// What every reader has to deliver.
    pub(super) contents: Contents,
}

impl Shape {
    /// The message of this shape, the same in every run. The limits of `config` are raised where it
    /// needs that.
    pub(super) fn message(&self, config: Config, chunk_bytes: usize) -> io::Result<Message> {
        let contents = self.contents()?;
        let control = self.control()?;
        let refused = |error: EncodeError| {
            let (code, hint) = (error.code(), error.hint());
            usage(&format!("a message like this is refused: {code}: {error}\n  hint: {hint}"))
        };
        let control = Control::from_text(control).map_err(|error| refused(error.into()))?;
        let config = self.allow(config, &control);
        let encoder = encoder(config, &control, &contents).map_err(refused)?;
        let content_type = encoder.content_type().as_bytes().to_vec();
        let body = encoder.into_bytes().map_err(refused)?;
        let contents = Contents::of(&contents);
        Message::new(content_type, body, config, chunk_bytes, Some(contents))
            .map_err(io::Error::other)
    }

    fn contents(&self) -> io::Result<Vec<Bytes>> {
        let fault = |fault: &str| usage(&format!("--parts and --part-size: {fault}"));
        let len = usize::try_from(self.part_size.as_u64()).unwrap_or(usize::MAX);
        let total = len.checked_mul(self.parts).ok_or_else(|| fault("that is too large"))?;
        // An allocation that fails further down ends the program without a word. At the worst, the
        // contents stand beside the body.
        let needed = total.saturating_mul(2);
        Vec::<u8>::new().try_reserve_exact(needed).map_err(|error| fault(&error.to_string()))?;
        let mut random = Random::new(0);
        Ok((0..self.parts).map(|_| random.bytes(len).into()).collect())
    }

    /// A control document with references, and below them text and numbers up to the size.
    fn control(&self) -> io::Result<Vec<u8>> {
        let references = self.refs.unwrap_or(self.parts);
        if self.parts == 0 && references > 0 {
            return Err(usage("--refs: there are no parts to refer to (--parts 0)"));
        }
        let reference = |n: usize| {
            // Each part in turn, the parts in order: the same number for each, or one for some.
            let part = n as u128 * self.parts as u128 / references as u128;
            json!({"type": "image", "source": {"$ref": part_name(part as usize)}})
        };
        let content: Vec<Value> = (0..references).map(reference).collect();
        let mut document = json!({"role": "user", "content": content, "events": []});
        let mut len = serde_json::to_vec(&document)?.len() as u64;
        let mut random = Random::new(1);
        if let Some(events) = document["events"].as_array_mut() {
            while len < self.control_size.as_u64() {
                let event = event(events.len(), &mut random);
                len += serde_json::to_vec(&event)?.len() as u64 + 1;
                events.push(event);
            }
        }
        Ok(serde_json::to_vec(&document)?)
    }

    fn allow(&self, config: Config, control: &Control) -> Config {
        let limits = config.limits;
        config.limits(
            limits
                .max_parts(limits.max_parts.max(self.parts))
                .max_part_bytes(limits.max_part_bytes.max(self.part_size.as_u64()))
                .max_control_bytes(limits.max_control_bytes.max(control.text().len()))
                .max_message_bytes(u64::MAX),
        )
    }
}

fn part_name(n: usize) -> String {
    format!("part-{}", n + 1)
}

/// A member of a log as agents write them: about 80 bytes.
fn event(n: usize, random: &mut Random) -> Value {
    const TEXTS: [&str; 4] =
        ["searched the page", "Größe geändert", "wrote \"a\\b\"\n", "読みました"];
    let number = random.next();
    json!({
        "id": n,
        "text": TEXTS[number as usize % TEXTS.len()],
        "score": (number >> 40) as f64 / 1e6,
        "done": number & 4 == 0,
        "next": null,
    })
}

fn encoder(
    config: Config,
    control: &Control,
    contents: &[Bytes],
) -> Result<EnvelopeEncoder, EncodeError> {
    let mut message = EnvelopeBuilder::with_config(config);
    if let Ok(boundary) = Boundary::new(b"4c1d9f0e7b62a8534c1d9f0e7b62a853") {
        message = message.boundary(boundary);
    }
    for (n, content) in contents.iter().enumerate() {
        let name = part_name(n);
        let filename = format!("{name}.png");
        message.add(NewPart::new("image/png", content.clone()).name(name).filename(filename))?;
    }
    message.build(control)
}

impl Message {
    /// The message in a file that was found to be valid.
    pub(super) fn read(file: &str, reading: &Reading, chunk_bytes: usize) -> io::Result<Self> {
        let fault = |error: &dyn std::fmt::Display| {
            io::Error::other(format!("{}: {error}", printable(file)))
        };
        let unreadable = |error: Unreadable| fault(&error);
        let mut body = Body::open(file, reading).map_err(unreadable)?;
        let mut bytes = BytesMut::new();
        while let Piece::Data(data) = body.next_piece().map_err(unreadable)? {
            bytes.extend_from_slice(&data);
        }
        let content_type = body.content_types.into_iter().next().unwrap_or_default();
        let message =
            Self::new(content_type, bytes.freeze(), reading.rules.config(), chunk_bytes, None);
        message.map_err(|error| fault(&error))
    }

    /// `contents` is what is in the message, where that is known beforehand.
    fn new(
        content_type: Vec<u8>,
        body: Bytes,
        config: Config,
        chunk_bytes: usize,
        contents: Option<Contents>,
    ) -> Result<Self, DecodeError> {
        let envelope = decode_with(&content_type, body.clone(), config)?;
        let boundary = match ContentType::parse(&content_type, &config.limits) {
            Ok(ContentType::FormData(boundary)) => Some(boundary),
            _ => None,
        };
        let decoded = || Contents::of(envelope.parts().iter().map(Part::body));
        let contents = contents.unwrap_or_else(decoded);
        let chunks = cut(&body, chunk_bytes);
        Ok(Self { content_type, boundary, config, body, chunk_bytes, chunks, envelope, contents })
    }

    /// Bytes of the whole message.
    pub(super) fn len(&self) -> usize {
        self.body.len()
    }

    pub(super) const fn chunk_bytes(&self) -> usize {
        self.chunk_bytes
    }

    /// The chunks again, in memory of their own.
    pub(super) fn copied_chunks(&self) -> Vec<Bytes> {
        cut(&Bytes::from_owner(Apart(self.body.to_vec())), self.chunk_bytes)
    }
}

/// Content whose reference count is alone on its cache lines: threads that count in copies of their
/// own do not disturb each other.
#[repr(align(128))]
struct Apart(Vec<u8>);

impl AsRef<[u8]> for Apart {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn cut(body: &Bytes, size: usize) -> Vec<Bytes> {
    let mut rest = body.clone();
    let next = || (!rest.is_empty()).then(|| rest.split_to(size.min(rest.len())));
    std::iter::from_fn(next).collect()
}

#[cfg(test)]
mod tests {
    use super::{
        super::{check::check, rows::Row},
        *,
    };

    fn message(parts: usize, refs: usize) -> Message {
        let [part_size, control_size] = [ByteSize(10), ByteSize(0)];
        let shape = Shape { parts, part_size, control_size, refs: Some(refs) };
        shape.message(Config::new(), 7).unwrap()
    }

    #[test]
    fn the_message_is_the_same_in_every_run() {
        assert_eq!(message(3, 3).body, message(3, 3).body);
        assert_ne!(
            message(3, 3).envelope.parts()[0].body(),
            message(3, 3).envelope.parts()[1].body()
        );
        assert_eq!(message(3, 3).chunks.concat(), message(3, 3).body);
    }

    #[test]
    fn references_are_spread_over_the_parts() {
        for (parts, refs, names) in [
            (4, 4, vec![1, 2, 3, 4]),
            (6, 2, vec![1, 4]),
            (2, 5, vec![1, 1, 1, 2, 2]),
            (3, 0, vec![]),
        ] {
            let message = message(parts, refs);
            let found: Vec<_> = message.envelope.control().references().map(|(_, n)| n).collect();
            let names: Vec<_> = names.into_iter().map(|n| format!("part-{n}")).collect();
            assert_eq!(found, names, "{parts} {refs}");
        }
    }

    #[test]
    fn a_row_that_does_not_give_the_message_is_not_measured() {
        let mut message = message(2, 2);
        check(&message, &Row::of(&message)).unwrap();
        let [first, second] = [0, 1].map(|n| message.envelope.parts()[n].body().clone());
        message.contents = Contents::of(&[second, first]);
        for row in [Row::Parser, Row::Decoder, Row::Stream, Row::Encode, Row::Base64] {
            let error = check(&message, &[row]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("row {} gives 2 parts", row.name())), "{error}");
        }
    }
}
