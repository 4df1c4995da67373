//! One message from its input to its report.

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use acp_envelope::{
    Config, ContentHead, Control, DecodeError, EnvelopeDecoder, Item, Location, Status,
};
use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use sha2::{Digest as _, Sha256};

use crate::{
    args::{Messages, Reading},
    body::{Body, Piece, Unreadable},
    excerpt::Window,
    report::{ControlReport, Fault, PartReport, Place, Report, Verdict, WarningReport},
};

/// The most JSON Pointers that are listed for one part.
const MAX_POINTERS: usize = 100;

/// The most bytes of JSON Pointers in one report: a long member name stands in all of them.
const MAX_POINTER_BYTES: usize = 1 << 20;

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
        eprintln!("acp: {}: {}", printable(&report.file), fault.message);
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
        .and_then(|body| Run::new(body, config, digests, &mut report, sink).decode());
    match run {
        Ok(()) => {}
        Err(Unreadable::Http(fault)) => report.unreadable("http_malformed", fault),
        Err(error) => report.unreadable("io", error.to_string()),
    }
    report
}

struct Run<'a> {
    body: Body,
    config: Config,
    report: &'a mut Report,
    sink: &'a mut dyn Sink,
    window: Window,
    progress: ProgressBar,
    /// Digest of the current part, where digests are wanted.
    digest: Option<Sha256>,
    digests: bool,
    /// Bytes of JSON Pointers that may still be listed.
    pointer_room: usize,
}

impl<'a> Run<'a> {
    fn new(
        body: Body,
        config: Config,
        digests: bool,
        report: &'a mut Report,
        sink: &'a mut dyn Sink,
    ) -> Self {
        let limits = &config.limits;
        let keep = limits.max_header_bytes.saturating_add(limits.max_control_bytes);
        let progress = progress(body.input_len);
        let window = Window::new(keep);
        let (digest, pointer_room) = (None, MAX_POINTER_BYTES);
        Self { body, config, report, sink, window, progress, digest, digests, pointer_room }
    }

    fn decode(mut self) -> Result<(), Unreadable> {
        let declared = self.body.declared_len();
        let Some(content_type) = self.body.content_types.first().cloned() else {
            self.report.refuse(content_type_fields(
                "HTTP message has no Content-Type field",
                "send `Content-Type: multipart/form-data; boundary=…`, or `application/json`",
            ));
            return Ok(());
        };
        let mut decoder = match EnvelopeDecoder::new(&content_type, self.config) {
            Ok(decoder) => decoder,
            Err(error) => {
                let mut fault = Fault::of(&error, declared);
                fault.excerpt = excerpt_of_content_type(&content_type, &error);
                self.report.refuse(fault);
                return Ok(());
            }
        };
        self.report.form = Some(if decoder.is_multipart() { "multipart" } else { "json" });
        if self.body.content_types.len() > 1 {
            self.report.refuse(content_type_fields(
                "HTTP message has two Content-Type fields",
                "do not set the Content-Type by hand beside the one the HTTP client writes",
            ));
            return Ok(());
        }
        if let Some(declared) = declared
            && let Err(error) = decoder.declare_length(declared)
        {
            self.report.refuse(Fault::of(&error, Some(declared)));
            return Ok(());
        }
        let outcome = self.pump(&mut decoder);
        self.progress.finish_and_clear();
        outcome?;
        self.report.size = decoder.offset();
        let warnings = decoder.warnings().iter();
        self.report.warnings = warnings.map(WarningReport::of).collect();
        Ok(())
    }

    /// Feeds the decoder until the message ends or is refused.
    fn pump(&mut self, decoder: &mut EnvelopeDecoder) -> Result<(), Unreadable> {
        let mut input = Bytes::new();
        let mut cut = false;
        loop {
            match decoder.next_item(&mut input) {
                Ok(Status::Item(item)) => {
                    self.item(&item, decoder);
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
                        self.report.refuse(self.cut_short(decoder.offset()));
                    } else {
                        self.note_trailing()?;
                    }
                    return Ok(());
                }
                Err(error) => {
                    let mut fault = Fault::of(&error, None);
                    fault.excerpt = error.offset().and_then(|at| self.window.around(at));
                    self.report.refuse(fault);
                    return Ok(());
                }
            }
        }
    }

    fn item(&mut self, item: &Item, decoder: &EnvelopeDecoder) {
        match item {
            Item::Control(control) => self.report.control = Some(control_report(control, decoder)),
            Item::PartStart(head) => {
                self.report.parts.push(part_report(head, &mut self.pointer_room));
                self.digest = self.digests.then(Sha256::new);
            }
            Item::Data(data) => {
                if let Some(digest) = &mut self.digest {
                    digest.update(data);
                }
                if let Some(part) = self.report.parts.last_mut() {
                    part.size += data.len() as u64;
                }
            }
            Item::PartEnd { .. } => {
                if let Some(part) = self.report.parts.last_mut() {
                    part.sha256 = self.digest.take().map(|digest| hex::encode(digest.finalize()));
                }
            }
            _ => {}
        }
    }

    /// The message was complete, but not the body that the HTTP message declares.
    fn cut_short(&self, at: u64) -> Fault {
        let message = format!("input ends before the HTTP body does (byte {at})");
        Fault {
            location: Some(Place::Byte(at)),
            excerpt: self.window.around(at),
            ..Fault::new("truncated", "truncated", message, "save the whole HTTP message")
        }
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
}

fn excerpt_of_content_type(value: &[u8], error: &DecodeError) -> Option<[String; 2]> {
    let Location::ContentType(at) = error.location() else { return None };
    let mut window = Window::new(value.len());
    window.push(Bytes::copy_from_slice(value));
    window.around(*at as u64)
}

/// How many Content-Type fields there are is the carrier's matter, and this is the carrier
/// (ACP-CT-2).
fn content_type_fields(message: &str, hint: &'static str) -> Fault {
    Fault::new("content_type_invalid", "rule", message.to_owned(), hint)
}

fn control_report(control: &Control, decoder: &EnvelopeDecoder) -> ControlReport {
    ControlReport {
        name: decoder.control_name().map(ToString::to_string),
        size: control.raw().len(),
        sha256: hex::encode(Sha256::digest(control.raw())),
        references: control.reference_count(),
        path: None,
    }
}

fn part_report(head: &ContentHead, pointer_room: &mut usize) -> PartReport {
    let fits = |pointer: &String| match pointer_room.checked_sub(pointer.len()) {
        Some(left) => {
            *pointer_room = left;
            true
        }
        None => false,
    };
    PartReport {
        index: head.index(),
        name: head.name().to_string(),
        content_type: head.media_type().to_string(),
        filename: head.filename().map(Into::into),
        size: 0,
        sha256: None,
        referenced_by: head.referenced_by().take(MAX_POINTERS).take_while(fits).collect(),
        references: head.referenced_by().len(),
        path: None,
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
