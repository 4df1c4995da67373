//! The decoder against the oracle: code, place, parts and warnings of one message.

use acp_envelope::{Config, Limits, Location, WarningCode};
use bytes::Bytes;

use super::{
    drive::{Finding, Message, Part, decode_whole},
    oracle::{self, Place, Policy},
};

/// Limits small enough to matter for short messages, and what is refused.
#[derive(Debug, Clone, Default)]
pub struct Setting {
    pub message_size: Option<u16>,
    pub part_size: Option<u8>,
    pub parts: Option<u8>,
    pub control_size: Option<u8>,
    pub header_size: Option<u8>,
    pub headers: Option<u8>,
    pub json_depth: Option<u8>,
    pub refused: u8,
    pub duplicates: bool,
    pub json_content: bool,
}

impl Setting {
    fn refused(&self) -> impl Iterator<Item = WarningCode> {
        let refused = self.refused;
        WarningCode::ALL
            .into_iter()
            .enumerate()
            .filter(move |(i, _)| refused & (1 << i) != 0)
            .map(|(_, code)| code)
    }

    pub fn config(&self) -> Config {
        let d = Limits::new();
        let limits = d
            .max_message_bytes(self.message_size.map_or(d.max_message_bytes, u64::from))
            .max_part_bytes(self.part_size.map_or(d.max_part_bytes, u64::from))
            .max_parts(self.parts.map_or(d.max_parts, usize::from))
            .max_control_bytes(self.control_size.map_or(d.max_control_bytes, usize::from))
            .max_json_bytes(self.control_size.map_or(d.max_json_bytes, usize::from))
            .max_header_bytes(self.header_size.map_or(d.max_header_bytes, usize::from))
            .max_headers(self.headers.map_or(d.max_headers, usize::from))
            .max_json_depth(self.json_depth.map_or(d.max_json_depth, usize::from));
        let config = Config::new()
            .limits(limits)
            .allow_duplicate_members(self.duplicates)
            .allow_json_content(self.json_content);
        self.refused().fold(config, Config::refuse)
    }

    pub fn policy(&self) -> Policy {
        let d = Policy::default();
        Policy {
            message_size: self.message_size.map_or(d.message_size, u64::from),
            part_size: self.part_size.map_or(d.part_size, u64::from),
            parts: self.parts.map_or(d.parts, u64::from),
            control_size: self.control_size.map_or(d.control_size, u64::from),
            json_size: self.control_size.map_or(d.json_size, u64::from),
            header_size: self.header_size.map_or(d.header_size, u64::from),
            headers: self.headers.map_or(d.headers, u64::from),
            json_depth: self.json_depth.map_or(d.json_depth, u64::from),
            refuse: self.refused().map(WarningCode::as_str).collect(),
            allow_duplicate_members: self.duplicates,
            allow_json_content: self.json_content,
            ..d
        }
    }
}

/// Asserts that the decoder and the oracle say the same of a message.
pub fn assert_agreed(content_type: &[u8], body: &Bytes, setting: &Setting) {
    let mut ours = decode_whole(content_type, body, setting.config());
    let theirs = expected(content_type, body, &setting.policy());
    if let (Err(ours), Err(theirs)) = (&mut ours, &theirs) {
        agree_on_place(ours, theirs, body);
    }
    assert_eq!(ours, theirs, "ours, the oracle's");
}

/// The oracle's verdict in the words of the decoder.
fn expected(content_type: &[u8], body: &[u8], policy: &Policy) -> Result<Message, Finding> {
    let location = |place| match place {
        Place::Byte(at) => Location::Byte(at),
        Place::ContentType(at) => Location::ContentType(at as usize),
        Place::Pointer(pointer) => Location::Pointer(pointer),
        Place::LineColumn(line, column) => {
            Location::LineColumn { line: line as usize, column: column as usize }
        }
    };
    let finding = |(code, place, part): (_, _, Option<u64>)| Finding {
        code,
        place: location(place),
        part: part.map(|part| part as usize),
    };
    let judged = oracle::judge(content_type, body, policy)
        .map_err(|fault| finding((fault.code, fault.place, fault.part)))?;
    let parts = judged.parts.into_iter().map(|part| Part {
        name: part.name,
        content_type: part.content_type,
        filename: part.filename,
        referenced_by: part.referenced_by,
        body: part.body,
    });
    Ok(Message {
        control: judged.control,
        parts: parts.collect(),
        warnings: judged.warnings.into_iter().map(finding).collect(),
    })
}

/// Takes over the oracle's place where both may differ: it does not look for the byte in charsets
/// other than UTF-8, and places an unpaired surrogate a few characters earlier than serde_json.
fn agree_on_place(ours: &mut Finding, theirs: &Finding, body: &[u8]) {
    let near = match (&ours.place, &theirs.place) {
        (
            Location::LineColumn { line: a, column: x },
            Location::LineColumn { line: b, column: y },
        ) => {
            let surrogates = body.windows(3).any(|w| w.eq_ignore_ascii_case(b"\\ud"));
            ours.code == "control_malformed" && surrogates && a == b && x.abs_diff(*y) < 5
        }
        _ => ours.code == "control_charset",
    };
    if near {
        ours.place = theirs.place.clone();
    }
}
