//! Messages from content that is in memory: how fast they are built, which searches the content for
//! the boundary, and written, with a copy of the content or without. Names and boundary are given,
//! so that every run builds the same bytes.

#[path = "rows/limits.rs"]
mod limits;
mod workload;

use std::{error::Error, hint::black_box};

use acp_envelope::{Control, EnvelopeBuilder, EnvelopeEncoder, NewPart, decode, syntax::Boundary};
use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};

use self::workload::{
    BINARY, BOUNDARY, CONTENT_TYPE, CONTROL_NAME, Input, JSON, Outcome, Random, group,
    message::{Message, control_document, part_name},
    sink::{Sink, Totals},
};

/// What a message is built from.
struct Content {
    control: Control,
    parts: Vec<(String, Bytes)>,
    /// What a reader of the message has to deliver.
    expected: Totals,
}

type Write = fn(&Content) -> Result<Vec<Bytes>, Box<dyn Error>>;

impl Content {
    fn new(number: usize, len: usize, control_len: usize) -> Self {
        let mut random = Random::new(5);
        let mut message = Message::new(number, control_len);
        let mut parts = Vec::new();
        for index in 0..number {
            let body = random.bytes(len);
            message = message.part(index, &body);
            parts.push((part_name(index), Bytes::from(body)));
        }
        let control = control_document(number, control_len);
        let control = Control::from_text(control).expect("a control document");
        Self { control, parts, expected: message.expected() }
    }

    fn build(&self) -> Result<EnvelopeEncoder, Box<dyn Error>> {
        let mut message = EnvelopeBuilder::new()
            .boundary(Boundary::new(BOUNDARY.as_bytes())?)
            .control_name(CONTROL_NAME.parse()?);
        for (name, body) in &self.parts {
            message.add(NewPart::new(BINARY, body.clone()).name(name))?;
        }
        Ok(message.build(&self.control)?)
    }

    /// What the limit rows go over: the message as it is written.
    fn written(&self) -> Input {
        let segments = into_segments(self).expect("a message");
        Input::new(segments, self.expected)
    }

    fn check(&self, name: &str, write: Write) {
        let written = write(self).unwrap_or_else(|error| panic!("row {name}: {error}")).concat();
        let totals = read(written).unwrap_or_else(|error| panic!("row {name}: {error}"));
        assert_eq!(totals, self.expected, "row {name}");
    }
}

fn into_segments(content: &Content) -> Result<Vec<Bytes>, Box<dyn Error>> {
    Ok(content.build()?.into_segments()?)
}

fn into_bytes(content: &Content) -> Result<Vec<Bytes>, Box<dyn Error>> {
    Ok(vec![content.build()?.into_bytes()?])
}

fn read(message: Vec<u8>) -> Result<Totals, Box<dyn Error>> {
    let envelope = decode(CONTENT_TYPE, message)?;
    let mut sink = Sink::checking();
    let name = envelope.control_name().ok_or("the control part has no name")?;
    sink.part(name.as_str().as_bytes(), JSON.as_bytes());
    sink.body(envelope.control().raw());
    for part in envelope.parts() {
        let head = part.head();
        sink.part(head.name().as_str().as_bytes(), head.media_type().as_bytes());
        sink.body(part.body());
    }
    Ok(sink.totals())
}

fn measure(
    c: &mut Criterion,
    name: &str,
    samples: usize,
    content: &Content,
    ways: &[(&str, Write)],
) {
    let input = content.written();
    let mut group = group(c, name, input.len, samples);
    for &(name, write) in ways {
        let mut sink = Sink::timing();
        let run = || {
            let segments = write(black_box(content)).expect(name);
            segments.iter().for_each(|segment| sink.body(segment));
        };
        workload::row(&mut group, name, || content.check(name, write), run);
    }
    // `memcpy` writes into memory that it has; `into_bytes` allocates, and has its pages to be
    // made.
    type Limit = fn(&Input, &mut Sink) -> Outcome;
    let limits: [(&str, Limit); 3] =
        [("memcpy", limits::memcpy), ("read", limits::read), ("memmem", limits::memmem)];
    for (name, limit) in limits {
        let mut sink = Sink::timing();
        let check = || limit(&input, &mut Sink::checking()).expect(name);
        let run = || limit(black_box(&input), &mut sink).expect(name);
        workload::row(&mut group, name, check, run);
    }
    group.finish();
}

fn encode(c: &mut Criterion) {
    let both: [(&str, Write); 2] = [("into_segments", into_segments), ("into_bytes", into_bytes)];
    measure(c, "encode 64 parts", 30, &Content::new(64, 1 << 10, 8 << 10), &both);
    measure(c, "encode large", 10, &Content::new(1, 64 << 20, 1200), &both[..1]);
}

criterion_group!(benches, encode);
criterion_main!(benches);
