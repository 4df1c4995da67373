//! `acp pack`: a message made of a control document and files.

use std::{
    collections::VecDeque,
    fs,
    io::{self, Read as _, Write},
    path::{Path, PathBuf},
    str::FromStr,
};

use acp_envelope::{
    Control, EncodeError, EnvelopeBuilder, EnvelopeDecoder, EnvelopeEncoder, NewPart, PartName,
    Status, Warning, syntax::Boundary,
};
use bytes::{Bytes, BytesMut};
use clap::Args;
use indicatif::ProgressBar;

use crate::{
    args::Rules,
    body::{CHUNK, Source, is_standard, length, read},
    output::{Output, Where, about, usage},
    report::warning_text,
    run::{self, Outcome, printable},
};

#[derive(Debug, Args)]
#[command(after_help = "Example: acp pack --control control.json --part 'img=cat.png' --part \
    'notes=notes.txt;type=text/plain; charset=utf-8;filename=Notes' -o message.bin\n\nThe rules are \
    the receiver's: what is written, a receiver with these rules accepts.")]
pub(crate) struct Pack {
    /// File that holds the control document; `-` is standard input. Its text is kept byte for byte
    #[arg(long, value_name = "FILE")]
    control: PathBuf,

    /// A part: its name, the file of its content (`-` is standard input), and, where the guess is
    /// wrong, its media type; a file name other than the file's own, or none when it is empty
    #[arg(long = "part", value_name = "NAME=PATH[;type=TYPE][;filename=NAME]")]
    parts: Vec<PartFile>,

    /// File to write the message to; `-` is standard output. The Content-Type is printed: on
    /// standard output, or, where the message goes there, on standard error
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// Write a whole HTTP/1.1 request for this path (or http:// address)
    #[arg(long, value_name = "URL-PATH")]
    http: Option<Target>,

    /// Write the JSON form, which has no parts
    #[arg(long, conflicts_with = "parts")]
    json_form: bool,

    /// Boundary, for reproducible output [default: 128 random bits]
    #[arg(long, value_parser = boundary)]
    boundary: Option<Boundary>,

    /// Name of the control part [default: _acp_control]
    #[arg(long, value_name = "NAME")]
    control_name: Option<PartName>,

    #[command(flatten)]
    rules: Rules,
}

/// The value of `--part`.
#[derive(Debug, Clone)]
struct PartFile {
    name: String,
    path: PathBuf,
    media_type: Option<String>,
    filename: Option<String>,
}

impl FromStr for PartFile {
    type Err = String;

    /// A semicolon is part of what it stands in, unless `type=` or `filename=` follows.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, rest) = text.split_once('=').ok_or("there is no `=` between name and path")?;
        let mut settings: Vec<String> = Vec::new();
        for piece in rest.split(';') {
            match settings.last_mut() {
                Some(last) if !piece.starts_with("type=") && !piece.starts_with("filename=") => {
                    last.push(';');
                    last.push_str(piece);
                }
                _ => settings.push(piece.to_owned()),
            }
        }
        let mut settings = settings.into_iter();
        let path = settings.next().unwrap_or_default();
        let (mut media_type, mut filename) = (None, None);
        for setting in settings {
            let (key, value) = setting.split_once('=').unwrap_or_default();
            let wanted = if key == "type" { &mut media_type } else { &mut filename };
            if wanted.replace(value.to_owned()).is_some() {
                return Err(format!("`;{key}=` is given twice"));
            }
        }
        Ok(Self { name: name.to_owned(), path: path.into(), media_type, filename })
    }
}

/// The value of `--http`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    host: String,
    path: String,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let (host, path) = match address {
            None => ("localhost", text),
            Some(address) => address.find('/').map_or((address, "/"), |at| address.split_at(at)),
        };
        let is_visible =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        if !path.starts_with('/') || !is_visible(path) || !is_visible(host) {
            return Err("give a path that starts with `/`, percent-encoded where needed".to_owned());
        }
        Ok(Self { host: host.to_owned(), path: path.to_owned() })
    }
}

fn boundary(text: &str) -> Result<Boundary, String> {
    Boundary::new(text.as_bytes()).map_err(|invalid| invalid.to_string())
}

/// Why there is no message.
enum Failure {
    Io(io::Error),
    Refused(EncodeError),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<EncodeError> for Failure {
    fn from(error: EncodeError) -> Self {
        Self::Refused(error)
    }
}

pub(crate) fn run(pack: &Pack) -> io::Result<Outcome> {
    match pack.write() {
        Ok(()) => Ok(Outcome::Valid),
        Err(Failure::Io(error)) => Err(error),
        Err(Failure::Refused(error)) => {
            eprintln!("acp: refused\n  {}: {error}\n  hint: {}", error.code(), error.hint());
            Ok(Outcome::Refused)
        }
    }
}

impl Pack {
    fn write(&self) -> Result<(), Failure> {
        let on_stdin = self.parts.iter().map(|part| &part.path).chain([&self.control]);
        if on_stdin.filter(|path| is_standard(path)).count() > 1 {
            return Err(usage("standard input can be read once only").into());
        }
        let mut encoder = self.build()?;
        let content_type = encoder.content_type().to_owned();
        let request = self.request_head(&encoder)?;
        let mut output = Output::open(&self.output)?;
        let progress = run::progress(encoder.content_length());
        output.write_all(request.as_bytes())?;
        let warnings = self.pump(&mut encoder, &mut output, &progress)?;
        progress.finish_and_clear();
        match output.finish()? {
            Where::File => println!("{content_type}"),
            Where::Stdout => eprintln!("Content-Type: {content_type}"),
        }
        eprint!("{}", warning_text(&warnings));
        Ok(())
    }

    fn build(&self) -> Result<EnvelopeEncoder, Failure> {
        let mut message =
            EnvelopeBuilder::with_config(self.rules.config()).json_without_parts(self.json_form);
        if let Some(boundary) = &self.boundary {
            message = message.boundary(boundary.clone());
        }
        if let Some(name) = &self.control_name {
            message = message.control_name(name.clone());
        }
        for part in &self.parts {
            message.add(part.new_part()?)?;
        }
        let mut control = Vec::new();
        open(&self.control)?.read_to_end(&mut control).map_err(|e| about(&self.control, &e))?;
        let control = Control::from_text(control).map_err(EncodeError::from)?;
        Ok(message.build(&control)?)
    }

    /// The head of the request that carries the message; nothing when none was asked for.
    fn request_head(&self, encoder: &EnvelopeEncoder) -> io::Result<String> {
        let Some(Target { host, path }) = &self.http else { return Ok(String::new()) };
        let Some(length) = encoder.content_length() else {
            return Err(usage("--http needs to know the length of every part: give files"));
        };
        let content_type = encoder.content_type();
        Ok(format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {content_type}\r\n\
             Content-Length: {length}\r\n\r\n"
        ))
    }

    /// Writes all of the message, and reads it as its receiver will: gives what that warns of.
    fn pump(
        &self,
        encoder: &mut EnvelopeEncoder,
        output: &mut impl Write,
        progress: &ProgressBar,
    ) -> Result<Vec<Warning>, Failure> {
        let decoder = EnvelopeDecoder::new(encoder.content_type(), self.rules.config());
        let mut decoder = decoder.map_err(unreadable)?;
        let mut files: VecDeque<&Path> = self.parts.iter().map(|part| &*part.path).collect();
        let mut reader: Option<Source> = None;
        let mut content = BytesMut::new();
        loop {
            match encoder.next_segment(&mut content)? {
                Status::Item(segment) => {
                    output.write_all(&segment)?;
                    progress.inc(segment.len() as u64);
                    read_back(&mut decoder, segment)?;
                }
                Status::NeedInput => {
                    let Some(path) = files.front() else { break };
                    let from = match &mut reader {
                        Some(reader) => reader,
                        none => none.insert(open(path)?),
                    };
                    content.resize(CHUNK, 0);
                    let n = read(from, &mut content).map_err(|e| about(path, &e))?;
                    content.truncate(n);
                    if n == 0 {
                        encoder.finish_part();
                        files.pop_front();
                        reader = None;
                    }
                }
                _ => break,
            }
        }
        decoder.finish();
        read_back(&mut decoder, Bytes::new())?;
        Ok(decoder.warnings().to_vec())
    }
}

/// Reads what was written.
fn read_back(decoder: &mut EnvelopeDecoder, mut segment: Bytes) -> io::Result<()> {
    while let Status::Item(_) = decoder.next_item(&mut segment).map_err(unreadable)? {}
    Ok(())
}

/// What was written cannot be read, which must not be.
fn unreadable(error: acp_envelope::DecodeError) -> io::Error {
    io::Error::other(format!("what was written is no valid message, which is a bug: {error}"))
}

impl PartFile {
    /// The part, and what was guessed of it, which is printed.
    fn new_part(&self) -> io::Result<NewPart<'_>> {
        let len = if is_standard(&self.path) {
            None
        } else {
            let metadata = fs::metadata(&self.path);
            metadata.and_then(|m| length(&m)).map_err(|error| about(&self.path, &error))?
        };
        let media_type = self.media_type.as_deref().unwrap_or_else(|| {
            let guess = mime_guess::from_path(&self.path).first_raw();
            let (guess, how) = match guess {
                Some(guess) => (guess, "guessed from the file's extension"),
                None => ("application/octet-stream", "nothing to guess from"),
            };
            eprintln!("acp: {}: {guess} ({how})", printable(&self.name));
            guess
        });
        let part = NewPart::streamed(media_type, len).name(&self.name);
        let own = || self.path.file_name().filter(|_| !is_standard(&self.path))?.to_str();
        Ok(match self.filename.as_deref().or_else(own) {
            None | Some("") => part,
            Some(filename) => part.filename(filename),
        })
    }
}

fn open(path: &Path) -> io::Result<Source> {
    Source::open(path).map_err(|error| about(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_name_a_path_and_options() {
        for (text, name, path, media_type, filename) in [
            ("a=b.png", "a", "b.png", None, None),
            ("a=b=c;d;e", "a", "b=c;d;e", None, None),
            (
                "a=b;type=text/plain; charset=utf-8",
                "a",
                "b",
                Some("text/plain; charset=utf-8"),
                None,
            ),
            ("a=b;filename=x;y;type=c/d", "a", "b", Some("c/d"), Some("x;y")),
            ("a=type=b;filename=", "a", "type=b", None, Some("")),
        ] {
            let part: PartFile = text.parse().unwrap();
            assert_eq!((part.name.as_str(), part.path.to_str()), (name, Some(path)), "{text}");
            assert_eq!(
                (part.media_type.as_deref(), part.filename.as_deref()),
                (media_type, filename)
            );
        }
        assert!("a".parse::<PartFile>().is_err());
        assert!("a=b;type=c/d;type=e/f".parse::<PartFile>().unwrap_err().contains("twice"));
    }

    #[test]
    fn a_target_is_a_path_or_an_address() {
        let target = |text: &str| text.parse::<Target>().map(|target| (target.host, target.path));
        for (text, host, path) in [
            ("/messages?x=y", "localhost", "/messages?x=y"),
            ("http://a:8080/m", "a:8080", "/m"),
            ("https://a", "a", "/"),
        ] {
            assert_eq!(target(text), Ok((host.to_owned(), path.to_owned())));
        }
        for text in ["", "m", "/a b", "/\r\nX: y", "http:///x", "http://a b/"] {
            assert!(target(text).is_err(), "{text:?}");
        }
    }
}
