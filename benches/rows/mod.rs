//! What is compared: one function for each way to read a message, and the limits of the machine.
//! All of them have one type, and all of them are measured in one group, so that a number is read
//! beside those of the same run.

mod limits;
mod ours;
mod peers;

use std::hint::black_box;

use criterion::Criterion;

use crate::workload::{self, Input, Outcome, group, sink::Sink};

/// One line of a group.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    run: fn(&Input, &mut Sink) -> Outcome,
    /// Whether it gives names, types and bodies. A limit gives nothing: it is checked by itself.
    delivers: bool,
}

/// The peers take every workload there is here, so none is left out anywhere.
const ROWS: [Row; 10] = [
    reader("parser", ours::parser),
    reader("decoder", ours::decoder),
    reader("stream", ours::stream),
    reader("codec", ours::codec),
    reader("multer", peers::multer),
    reader("multiparty", peers::multiparty),
    reader("multipart_async_stream", peers::multipart_async_stream),
    limit("memcpy", limits::memcpy),
    limit("read", limits::read),
    limit("memmem", limits::memmem),
];

const fn reader(name: &'static str, run: fn(&Input, &mut Sink) -> Outcome) -> Row {
    Row { name, run, delivers: true }
}

const fn limit(name: &'static str, run: fn(&Input, &mut Sink) -> Outcome) -> Row {
    Row { name, run, delivers: false }
}

/// Measures all rows on one message.
pub(crate) fn measure(c: &mut Criterion, name: &str, samples: usize, input: &Input) {
    let mut group = group(c, name, input.len, samples);
    for row in ROWS {
        let mut sink = Sink::timing();
        let run = || (row.run)(black_box(input), &mut sink).expect(row.name);
        workload::row(&mut group, row.name, || row.check(input), run);
    }
    group.finish();
}

impl Row {
    fn check(self, input: &Input) {
        let mut sink = Sink::checking();
        if let Err(error) = (self.run)(input, &mut sink) {
            panic!("row {}: {error}", self.name);
        }
        if self.delivers {
            assert_eq!(sink.totals(), input.expected, "row {}", self.name);
        }
    }
}
