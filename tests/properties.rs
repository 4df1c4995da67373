//! Properties on generated messages, valid and damaged: no cut changes the outcome (ACP-FRM-7), and
//! the decoder agrees with a naive reading of the rules on code, place, parts and warnings.

mod support;

use acp_envelope::{Config, Limits, Location, WarningCode};
use bytes::Bytes;
use proptest::{option, prelude::*};
use support::{
    Finding, Message, bytewise, decode_chunks, decode_whole,
    messages::{Generated, cases, message},
    oracle::{self, Place, Policy},
    random_cuts,
};

/// Limits small enough to matter for generated messages, and what is refused.
#[derive(Debug, Clone)]
struct Setting {
    message_size: Option<u16>,
    part_size: Option<u8>,
    parts: Option<u8>,
    control_size: Option<u8>,
    header_size: Option<u8>,
    headers: Option<u8>,
    json_depth: Option<u8>,
    refused: u8,
    duplicates: bool,
    json_content: bool,
}

fn setting() -> impl Strategy<Value = Setting> {
    let limits = (
        option::weighted(0.1, 0..400u16),
        option::weighted(0.1, 0..20u8),
        option::weighted(0.1, 0..3u8),
        option::weighted(0.1, 0..40u8),
        option::weighted(0.1, 0..120u8),
        option::weighted(0.1, 0..4u8),
        option::weighted(0.1, 0..4u8),
    );
    let refused = prop_oneof![3 => Just(0u8), 1 => any::<u8>()];
    (limits, refused, any::<bool>(), any::<bool>()).prop_map(
        |(l, refused, duplicates, json_content)| Setting {
            message_size: l.0,
            part_size: l.1,
            parts: l.2,
            control_size: l.3,
            header_size: l.4,
            headers: l.5,
            json_depth: l.6,
            refused,
            duplicates,
            json_content,
        },
    )
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

    fn config(&self) -> Config {
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

    fn policy(&self) -> Policy {
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

/// The oracle's verdict in the words of the decoder.
fn expected(message: &Generated, policy: &Policy) -> Result<Message, Finding> {
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
    let judged = oracle::judge(&message.content_type, &message.body, policy)
        .map_err(|fault| finding((fault.code, fault.place, fault.part)))?;
    let parts = judged.parts.into_iter().map(|part| support::Part {
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
fn agree_on_place(ours: &mut Finding, theirs: &Finding, message: &Generated) {
    let near = match (&ours.place, &theirs.place) {
        (
            Location::LineColumn { line: a, column: x },
            Location::LineColumn { line: b, column: y },
        ) => {
            let surrogates = message.body.windows(3).any(|w| w.eq_ignore_ascii_case(b"\\ud"));
            ours.code == "control_malformed" && surrogates && a == b && x.abs_diff(*y) < 5
        }
        _ => ours.code == "control_charset",
    };
    if near {
        ours.place = theirs.place.clone();
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_cut_changes_the_outcome_acp_frm_7(message in message(), setting in setting(), seed: u64) {
        let body = Bytes::from(message.body.clone());
        let whole = decode_whole(&message.content_type, &body, setting.config());
        let by_byte = decode_chunks(&message.content_type, bytewise(&body), setting.config());
        prop_assert_eq!(&by_byte, &whole);
        let at_random = decode_chunks(&message.content_type, random_cuts(&body, seed), setting.config());
        prop_assert_eq!(&at_random, &whole);
    }

    #[test]
    fn the_decoder_agrees_with_a_naive_reading_of_the_rules(message in message(), setting in setting()) {
        let body = Bytes::from(message.body.clone());
        let mut ours = decode_whole(&message.content_type, &body, setting.config());
        let theirs = expected(&message, &setting.policy());
        if let (Err(ours), Err(theirs)) = (&mut ours, &theirs) {
            agree_on_place(ours, theirs, &message);
        }
        prop_assert_eq!(ours, theirs);
    }
}
