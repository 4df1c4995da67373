//! A naive oracle for the Agent Content Protocol: the verdict on a whole message at once.
//!
//! It reads the rules of `docs/acp.md` again, slowly and without sharing code with the crates it
//! checks. Property tests compare the streaming decoder with it. Nothing here is fast, and nothing
//! is meant to be: every byte is looked at one by one, and a rule stands where it is judged.

mod content_type;
mod document;
mod fields;
mod json;
mod multipart;

use std::borrow::Cow;
use std::collections::HashSet;

use encoding_rs::{Encoding, UTF_8};

use content_type::*;
use document::*;
use fields::*;
use json::*;
use multipart::*;

/// The most padding after a boundary (ACP-FRM-2).
const MAX_PADDING: usize = 256;

/// The longest name (ACP-NAME-1).
const MAX_NAME: usize = 256;

/// The longest boundary, which no limit can raise (ACP-CT-3).
const MAX_BOUNDARY: u64 = 70;

/// What the caller set: the limits of section 7 and the switches.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Content parts, the control part not counted (ACP-LIM-1).
    pub parts: u64,
    /// Bytes in the body of one content part (ACP-LIM-2).
    pub part_size: u64,
    /// Bytes in the whole message (ACP-LIM-3).
    pub message_size: u64,
    /// Characters in the boundary (ACP-LIM-4).
    pub boundary: u64,
    /// Bytes in the control document of a multipart message (ACP-LIM-5).
    pub control_size: u64,
    /// Bytes in the body in JSON form (ACP-LIM-6).
    pub json_size: u64,
    /// Bytes in the header block of one part, without the blank line (ACP-LIM-7).
    pub header_size: u64,
    /// Header fields of one part (ACP-LIM-8).
    pub headers: u64,
    /// Open arrays and objects (ACP-LIM-9). The reader recurses this deep, so keep it below a few
    /// thousand.
    pub json_depth: u64,
    /// The codes of the warnings that are refused: `preamble`, `epilogue`, `unreferenced_part`,
    /// `charset_missing`, `control_unnamed`.
    pub refuse: Vec<&'static str>,
    /// Whether a member name may stand twice in one object (ACP-CTL-5).
    pub allow_duplicate_members: bool,
    /// Whether a content part may be `application/json` (ACP-CTL-6).
    pub allow_json_content: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            parts: 64,
            part_size: 100 << 20,
            message_size: 500 << 20,
            boundary: MAX_BOUNDARY,
            control_size: 1 << 20,
            json_size: 1 << 20,
            header_size: 8 << 10,
            headers: 16,
            json_depth: 128,
            refuse: Vec::new(),
            allow_duplicate_members: false,
            allow_json_content: false,
        }
    }
}

/// Where something became certain.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// An offset in the body; its length stands for the end of input.
    Byte(u64),
    /// An offset in the message's Content-Type value, as handed in.
    ContentType(u64),
    /// The RFC 6901 pointer of an object in the control document.
    Pointer(String),
    /// A line and a column in the control document, both from 1, in characters after the BOM.
    LineColumn(u64, u64),
}

/// Why a message is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The stable error code.
    pub code: &'static str,
    /// Where it became certain.
    pub place: Place,
    /// The part it is in, counted from 0 with the control part, if it is in one.
    pub part: Option<u64>,
}

/// A content part of an accepted message.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its Content-Type as sent, without white space around it, or `text/plain`.
    pub content_type: Vec<u8>,
    /// Its file name for display.
    pub filename: Option<String>,
    /// Its bytes.
    pub body: Vec<u8>,
    /// The pointers of the references to it, in document order.
    pub referenced_by: Vec<String>,
}

/// An accepted message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The control document, decoded, without its byte order mark.
    pub control: String,
    /// The content parts in order.
    pub parts: Vec<Part>,
    /// The warnings, in the order in which they become certain: code, place, part.
    pub warnings: Vec<(&'static str, Place, Option<u64>)>,
}

/// Gives the verdict on the message with this Content-Type value and this body.
pub fn judge(content_type: &[u8], body: &[u8], policy: &Policy) -> Result<Message, Fault> {
    let form = message_form(content_type, policy).map_err(|(code, at)| {
        let place = Place::ContentType(at as u64);
        Fault { code, place, part: None }
    })?;
    match form {
        Form::Json(charset) => judge_json(body, charset, policy),
        Form::Multipart(boundary) => Reader::new(body, &boundary, policy).read(),
    }
}

/// Reads a Content-Disposition value without white space around it: the name as sent, the file name
/// for display; or the byte at fault.
pub fn disposition(value: &[u8]) -> Result<(Option<Vec<u8>>, Option<String>), usize> {
    let field = form_data(value, (0, value.len())).map_err(|(_, at)| at)?;
    Ok((field.parameter("name").map(|name| name.raw.clone()), file_name(&field)))
}

/// Names and values of parameters, without escapes.
pub type Parameters = Vec<(String, Vec<u8>)>;

/// Reads a media type without white space around it: its lower-case essence, and its parameters; or
/// the byte at fault.
pub fn media_type(value: &[u8]) -> Result<(String, Parameters), usize> {
    let code = "content_type_invalid";
    let field = Field::read(value, (0, value.len()), code, true, true).map_err(|(_, at)| at)?;
    let parameters = field.parameters.iter().map(|p| (p.name.clone(), p.unescaped()));
    Ok((field.head.clone(), parameters.collect()))
}

/// Reads the message's Content-Type: the boundary in multipart form; or the code and the byte of a
/// fault.
pub fn boundary_of(value: &[u8]) -> Result<Option<Vec<u8>>, (&'static str, usize)> {
    match message_form(value, &Policy::default())? {
        Form::Json(_) => Ok(None),
        Form::Multipart(boundary) => Ok(Some(boundary)),
    }
}

/// The byte that makes a name invalid.
pub fn bad_byte_of_name(name: &[u8]) -> Option<usize> {
    name_fault(name)
}

/// A fault before it is known what its offset counts: an error code and the offset.
type Stop = (&'static str, usize);

/// A charset label, and the place to report when it is unknown.
type Label = (Vec<u8>, Place);

fn fault_at((code, at): Stop, part: Option<u64>) -> Fault {
    let place = Place::Byte(at as u64);
    Fault { code, place, part }
}

/// A fault met while reading a part. Those of the framing belong to no part.
fn fault_in_part(stop: Stop, part: u64) -> Fault {
    let framing = ["delimiter_malformed", "truncated", "limit_message_size"].contains(&stop.0);
    fault_at(stop, if framing { None } else { Some(part) })
}

/// Goes over bytes or characters, one by one.
struct Scanner<'a, T> {
    items: &'a [T],
    at: usize,
    /// The error code for an item that may not stand where it stands.
    code: &'static str,
}

impl<'a, T: Copy + PartialEq> Scanner<'a, T> {
    fn peek(&self) -> Option<T> {
        self.items.get(self.at).copied()
    }

    /// The next item, or the end, may not stand there.
    fn refuse<R>(&self) -> Result<R, Stop> {
        Err((self.code, self.at))
    }

    /// Takes the next item if it is this one.
    fn take(&mut self, wanted: T) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, wanted: T) -> Result<(), Stop> {
        if self.take(wanted) { Ok(()) } else { self.refuse() }
    }

    /// Takes every next item that fits.
    fn run(&mut self, fits: impl Fn(T) -> bool) -> &'a [T] {
        let start = self.at;
        while self.peek().is_some_and(&fits) {
            self.at += 1;
        }
        &self.items[start..self.at]
    }

    /// The same, but at least one must fit.
    fn some(&mut self, fits: impl Fn(T) -> bool) -> Result<&'a [T], Stop> {
        let run = self.run(fits);
        if run.is_empty() { self.refuse() } else { Ok(run) }
    }
}
