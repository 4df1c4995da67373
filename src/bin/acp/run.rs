//! One message from its input to its report.

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use acp_envelope::{Config, EnvelopeDecoder, Item, Limits, Location, Status};
use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};

use crate::{
    args::{Messages, Reading},
    body::{Body, Piece, Unreadable},
    excerpt::Window,
    report::{Fault, InputFault, Report, Verdict},
    summary::{Summary, Summing},
};

/// Inputs from this size on show their progress.
const LARGE: u64 = 64 << 20;

/// The worst that happened, as the exit status says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Valid,
    Refused,
    Unreadable,
}

impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Ok => Self::Valid,
            Verdict::Refused => Self::Refused,
            Verdict::Error => Self::Unreadable,
        }
    }
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Valid => 0,
            Outcome::Refused => 1,
            Outcome::Unreadable => 2,
        })
    }
}

/// Reads every file and prints each report as JSON or, with `print`, as text.
pub(crate) fn each(
    messages: &Messages,
    digests: bool,
    print: impl Fn(&Report) -> String,
) -> io::Result<Outcome> {
    let mut worst = Outcome::Valid;
    for file in &messages.files {
        let report = report(file, &messages.reading, digests || messages.json, &mut ());
        show(&report, messages.json, &print)?;
        worst = worst.max(report.verdict.into());
    }
    Ok(worst)
}

/// Prints a report as JSON or, with `print`, as text.
pub(crate) fn show(
    report: &Report,
    json: bool,
    print: impl Fn(&Report) -> String,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, report)?;
        writeln!(out)
    } else if let (Verdict::Error, Some(fault)) = (report.verdict, &report.error) {
        eprintln!("acp: {}: {}", printable(&report.file), fault.message());
        Ok(())
    } else {
        out.write_all(print(report).as_bytes())
    }
}

/// `text` with control characters escaped, so that it cannot steer a terminal.
pub(crate) fn printable(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\'' | '\\' => c.to_string(),
        c => c.escape_debug().to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Takes what a message holds while it is decoded. All of it is provisional.
pub(crate) trait Sink {
    /// Takes an item; it is in the report already.
    fn take(&mut self, item: &Item, report: &mut Report) -> io::Result<()>;
}

impl Sink for () {
    fn take(&mut self, _: &Item, _: &mut Report) -> io::Result<()> {
        Ok(())
    }
}

/// Reads one file.
pub(crate) fn report(file: &str, reading: &Reading, digests: bool, sink: &mut dyn Sink) -> Report {
    let mut report = Report::new(file);
    let config = reading.rules.config();
    let run = Body::open(file, reading)
        .and_then(|body| Run::new(body, &config.limits, digests, &mut report, sink).decode(config));
    match run {
        Ok(()) => {}
        Err(Unreadable::Http(fault)) => report.unreadable("http_malformed", fault),
        Err(error) => report.unreadable("io", error.to_string()),
    }
    report
}

struct Run<'a> {
    body: Body,
    report: &'a mut Report,
    sink: &'a mut dyn Sink,
    summing: Summing,
    window: Window,
    progress: ProgressBar,
}

impl<'a> Run<'a> {
    fn new(
        body: Body,
        limits: &Limits,
        digests: bool,
        report: &'a mut Report,
        sink: &'a mut dyn Sink,
    ) -> Self {
        let window = Window::new(limits.max_header_bytes.saturating_add(limits.max_control_bytes));
        let progress = progress(body.input_len);
        Self { body, report, sink, summing: Summing::new(digests), window, progress }
    }

    fn decode(mut self, config: Config) -> Result<(), Unreadable> {
        let mut decoder = match EnvelopeDecoder::from_fields(&self.body.content_types, config) {
            Ok(decoder) => decoder,
            Err(error) => {
                let excerpt = self.excerpt_of_content_type(error.location());
                self.report.refuse(Fault::Message(error), excerpt);
                return Ok(());
            }
        };
        self.report.message = Summary::of(&decoder);
        if let Some(declared) = self.body.declared_len()
            && let Err(error) = decoder.declare_length(declared)
        {
            self.report.refuse(Fault::Message(error), None);
            return Ok(());
        }
        let outcome = self.pump(&mut decoder);
        self.progress.finish_and_clear();
        outcome?;
        self.report.message.finish(&decoder);
        Ok(())
    }

    /// Feeds the decoder until the message ends or is refused.
    fn pump(&mut self, decoder: &mut EnvelopeDecoder) -> Result<(), Unreadable> {
        let mut input = Bytes::new();
        let mut cut = false;
        loop {
            match decoder.next_item(&mut input) {
                Ok(Status::Item(item)) => {
                    self.summing.take(&item, decoder, &mut self.report.message);
                    self.sink.take(&item, self.report)?;
                }
                Ok(Status::NeedInput) => match self.body.next_piece()? {
                    Piece::Data(data) => {
                        self.progress.inc(data.len() as u64);
                        self.window.push(data.clone());
                        input = data;
                    }
                    Piece::End => decoder.finish(),
                    Piece::Cut => {
                        cut = true;
                        decoder.finish();
                    }
                },
                Ok(_) => {
                    if cut {
                        self.cut_short(decoder.offset());
                    } else {
                        self.note_trailing()?;
                    }
                    return Ok(());
                }
                Err(error) => {
                    let excerpt = error.offset().and_then(|at| self.window.around(at));
                    self.report.refuse(Fault::Message(error), excerpt);
                    return Ok(());
                }
            }
        }
    }

    /// The message was complete, but not the body that the HTTP message declares.
    fn cut_short(&mut self, at: u64) {
        let fault = InputFault {
            code: "truncated",
            category: "truncated",
            message: format!("input ends before the HTTP body does (byte {at})"),
            location: Some(Location::Byte(at)),
            part: None,
            hint: "save the whole HTTP message",
        };
        let excerpt = self.window.around(at);
        self.report.refuse(Fault::Input(fault), excerpt);
    }

    /// Nothing is passed over in silence.
    fn note_trailing(&mut self) -> Result<(), Unreadable> {
        let trailing = self.body.trailing()?;
        if trailing > 0 {
            let file = printable(&self.report.file);
            self.progress.suspend(|| {
                eprintln!(
                    "acp: {file}: {trailing} bytes after the HTTP message were not looked at"
                );
            });
        }
        Ok(())
    }

    fn excerpt_of_content_type(&self, location: &Location) -> Option<[String; 2]> {
        let (Some(value), Location::ContentType(at)) = (self.body.content_types.first(), location)
        else {
            return None;
        };
        let mut window = Window::new(value.len());
        window.push(Bytes::copy_from_slice(value));
        window.around(*at as u64)
    }
}

/// A bar on a terminal, for inputs that take a while.
pub(crate) fn progress(input_len: Option<u64>) -> ProgressBar {
    let Some(len) = input_len.filter(|&len| len >= LARGE) else { return ProgressBar::hidden() };
    let template = "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left";
    let bar = ProgressBar::new(len);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
