//! `acp bench`: what one core decodes, and how far that is from what the machine can do.

mod check;
mod decoding;
mod measure;
mod message;
mod random;
mod results;
mod rows;
mod statistics;
mod threads;

use std::{
    io::{self, Write as _},
    time::Duration,
};

use bytesize::ByteSize;
use clap::Args;

use self::{
    measure::Plan,
    message::{Message, Shape},
    results::Results,
    rows::Row,
};
use crate::{
    args::Reading,
    body::is_standard,
    check as verdict,
    output::usage,
    report::Verdict,
    run::{self, Outcome},
};

#[derive(Debug, Args)]
#[command(after_help = ROWS)]
pub(crate) struct Bench {
    /// Measure the message in this file instead of a generated one
    #[arg(long, value_name = "FILE", conflicts_with_all = ["parts", "part_size", "control_size", "refs"])]
    file: Option<String>,

    /// Bytes that arrive at once
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = chunk)]
    chunk: ByteSize,

    /// Threads that decode at once, each a copy of its own; above 1, a row shows what they reach
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,

    /// How often every row is measured [default: as often as fits in 30 seconds, 5 times at least]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// Milliseconds that a row takes in one round, at least: short messages are repeated
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    sample_ms: u64,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    shape: Shape,

    #[command(flatten)]
    reading: Reading,
}

/// What the rows stand for.
const ROWS: &str = "Rows: `parser` finds the parts and reads their heads, and knows no rule of the \
    protocol; `decoder` enforces every rule; `stream` is the decoder behind async code; `encode` \
    writes the message from its control document and parts in memory; `sha256` is what a receiver \
    that verifies contents pays beside; `base64` is what contents inside JSON would cost the sender \
    (standard engine of the base64 crate); `read limit` reads every byte once and adds it up, \
    which nothing that looks at every byte can beat by much. All of them run on one core, on the \
    same bytes in memory.\n\n\
    A round measures every row once, in an order of its own; shown are medians over the rounds. \
    GB/s are 10^9 bytes of message a second, in every row. `of limit` is a row's time divided by that \
    of the read limit in the same round. `noise` is half the interquartile range. Before \
    anything is measured, every reader has to deliver the parts as they are, byte for byte. A message \
    that fits in the processor's caches stays there: a larger one may be slower.";

pub(crate) fn run(bench: &Bench) -> io::Result<Outcome> {
    let chunk = usize::try_from(bench.chunk.as_u64()).unwrap_or(usize::MAX);
    let message = match &bench.file {
        None if bench.reading.http || bench.reading.content_type.is_some() => {
            return Err(usage("--http and --content-type say how a --file is read: give one"));
        }
        None => bench.shape.message(bench.reading.rules.config(), chunk)?,
        // It is read twice: for its verdict, and to be measured.
        Some(file) if is_standard(file.as_ref()) => {
            return Err(usage("a message on standard input cannot be measured: give a file"));
        }
        Some(file) => {
            let report = run::report(file, &bench.reading, bench.json, &mut ());
            if report.verdict != Verdict::Ok {
                run::show(&report, bench.json, verdict::text)?;
                return Ok(report.verdict.into());
            }
            Message::read(file, &bench.reading, chunk)?
        }
    };
    let results = bench.measure(&message)?;
    let mut out = io::stdout().lock();
    if bench.json {
        serde_json::to_writer(&mut out, &results)?;
        writeln!(out)?;
    } else {
        out.write_all(results.text().as_bytes())?;
    }
    Ok(Outcome::Valid)
}

impl Bench {
    fn measure(&self, message: &Message) -> io::Result<Results> {
        let rows = Row::of(message);
        check::check(message, &rows)?;
        if cfg!(debug_assertions) {
            eprintln!("acp: this is a debug build: what it measures means nothing, use --release");
        }
        let mut subjects: Vec<_> = rows.iter().map(|&row| rows::subject(row, message)).collect();
        if self.threads > 1 {
            subjects.push(threads::subject(self.threads, message));
        }
        let plan = Plan { rounds: self.rounds, sample: Duration::from_millis(self.sample_ms) };
        let measured = measure::measure(subjects, &plan)?;
        Ok(Results::new(message, &rows, self.threads, &measured))
    }
}

/// The value of `--chunk`.
fn chunk(text: &str) -> Result<ByteSize, String> {
    match text.parse() {
        Ok(ByteSize(0)) => Err("a chunk holds one byte at least".to_owned()),
        size => size,
    }
}
