//! Properties of the encoder on generated messages: what it writes is read back the same (ACP-ENC-4),
//! it refuses a boundary exactly where it occurs (ACP-ENC-2), what was received can be sent on, and
//! merged envelopes lose nothing.

mod support;

use std::collections::BTreeMap;

use acp_envelope::{
    Config, Control, EncodeError, Envelope, EnvelopeBuilder, EnvelopeEncoder, Limits, NewPart,
    PartName, Reference, decode, decode_with, syntax::Boundary,
};
use bytes::Bytes;
use proptest::{collection::vec, option, prelude::*, sample::select};
use support::{
    messages::{cases, content, message},
    random_cuts, read_back,
};

const BOUNDARIES: [&str; 4] = ["b", "-", "--edge-(1)+'2',./:=?_", "a b"];
const NAMES: [&str; 4] = ["a", "a-2", "img.1", "_acp_control"];

/// A part to be sent, and how.
#[derive(Debug, Clone)]
struct Given {
    name: Option<&'static str>,
    media_type: &'static str,
    filename: Option<String>,
    fields: Vec<(&'static str, &'static str)>,
    content: Bytes,
    /// Whether the content comes while the message is written, and whether its length is known.
    streamed: Option<bool>,
}

#[derive(Debug, Clone)]
struct Message {
    boundary: &'static str,
    parts: Vec<Given>,
    /// Which part is referred to, and how deeply.
    references: Vec<(usize, usize)>,
    seed: u64,
}

fn filename() -> impl Strategy<Value = String> {
    let pieces = vec![
        "\"",
        "\r\n",
        "\r",
        "\n",
        "\\",
        "\\\"",
        ";",
        " ",
        "=",
        "%",
        "é",
        "日本",
        "🎨",
        "a.txt",
        "\t",
        "/",
        "name=\"x\"",
    ];
    vec(select(pieces), 0..6).prop_map(|pieces| pieces.concat())
}

fn given(boundary: &'static str) -> impl Strategy<Value = Given> {
    let media_types = vec![
        "image/png",
        "text/plain",
        "Text/CSV; charset=\"utf-8\"",
        "video/mp4;codecs=\"a,b;\\\"c\" ; w=1",
        "application/x-é; t=\"é\"",
        "application/ld+json",
    ];
    let fields = vec![("X-A", "b"), ("content-id", "<é\t7>"), ("X-Empty", ""), ("--b", "x")];
    (
        option::weighted(0.8, select(NAMES.to_vec())),
        select(media_types),
        option::of(filename()),
        vec(select(fields), 0..3),
        content(boundary),
        option::of(any::<bool>()),
    )
        .prop_map(|(name, media_type, filename, fields, content, streamed)| Given {
            name,
            media_type,
            filename,
            fields,
            content: content.into(),
            streamed,
        })
}

fn messages() -> impl Strategy<Value = Message> {
    select(BOUNDARIES.to_vec()).prop_flat_map(|boundary| {
        let references = vec((0..5usize, 0..4usize), 0..6);
        (vec(given(boundary), 0..5), references, any::<u64>()).prop_map(
            move |(parts, references, seed)| Message { boundary, parts, references, seed },
        )
    })
}

impl Given {
    fn part(&self) -> NewPart<'_> {
        let mut part = match self.streamed {
            None => NewPart::new(self.media_type, self.content.clone()),
            Some(known) => {
                NewPart::streamed(self.media_type, known.then_some(self.content.len() as u64))
            }
        };
        if let Some(name) = self.name {
            part = part.name(name);
        }
        if let Some(filename) = &self.filename {
            part = part.filename(filename);
        }
        self.fields.iter().fold(part, |part, (name, value)| part.field(*name, *value))
    }

    /// Whether the boundary starts a line of the content, looked for in the obvious way.
    fn content_holds(&self, boundary: &str) -> bool {
        let line = format!("--{boundary}");
        let lines = self.content.split(|b| matches!(b, b'\r' | b'\n'));
        lines.into_iter().any(|content| content.starts_with(line.as_bytes()))
    }

    /// The same in the header block.
    fn head_holds(&self, boundary: &str) -> bool {
        self.fields.iter().any(|(name, _)| format!("{name}:").starts_with(&format!("--{boundary}")))
    }

    fn media_type_is_valid(&self) -> bool {
        !self.media_type.starts_with("application/x-é")
    }
}

/// The names of those parts that can be added, and which these are.
fn add_all(message: &mut EnvelopeBuilder, parts: &[Given]) -> Vec<(PartName, Given)> {
    let mut added: Vec<(PartName, Given)> = Vec::new();
    for given in parts {
        let taken = given.name.is_some_and(|name| {
            name == "_acp_control" || added.iter().any(|(other, _)| other == name)
        });
        match message.add(given.part()) {
            Ok(reference) => {
                assert!(!taken && given.media_type_is_valid());
                assert!(given.name.is_none_or(|name| *reference.name() == name));
                added.push((reference.name().clone(), given.clone()));
            }
            Err(error) => {
                assert!(
                    error.code() == "name_duplicate" && taken
                        || error.code() == "content_type_invalid" && !given.media_type_is_valid()
                );
            }
        }
    }
    added
}

/// A document with some text around references to `parts`.
fn document(references: &[(usize, usize)], parts: &[(PartName, Given)]) -> Control {
    let mut text = "[ 1.50, \"$ref\"".to_owned();
    for &(part, depth) in references {
        let Some((name, _)) = parts.get(part) else { continue };
        let reference = serde_json::to_string(&Reference::new(name.clone())).unwrap();
        let reference = reference.replace(':', " :\r\n");
        text.push_str(&format!(
            ",\t{}{reference}{}",
            "{\"k\": [".repeat(depth),
            "]}".repeat(depth)
        ));
    }
    Control::from_text(text + " ]").unwrap()
}

/// Writes the message, with streamed content in random pieces.
fn write(
    encoder: EnvelopeEncoder,
    parts: &[(PartName, Given)],
    seed: u64,
) -> Result<Vec<u8>, EncodeError> {
    let mut chunks: BTreeMap<_, _> = parts
        .iter()
        .map(|(name, given)| (name, random_cuts(&given.content, seed).into_iter()))
        .collect();
    support::write(encoder, |part| chunks.get_mut(part).unwrap().next())
}

fn assert_same(envelope: &Envelope, parts: &[(PartName, Given)]) {
    assert_eq!(envelope.parts().len(), parts.len());
    for (read, (name, given)) in envelope.parts().iter().zip(parts) {
        let head = read.head();
        assert_eq!(head.name(), name);
        assert_eq!(head.media_type().as_bytes(), given.media_type.as_bytes());
        assert_eq!(head.filename().as_deref(), given.filename.as_deref());
        assert_eq!(read.body(), &given.content);
        let fields: Vec<_> = head.extra_fields().map(|field| (field.name, field.value)).collect();
        let expected: Vec<_> =
            given.fields.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        assert_eq!(fields, expected);
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn what_is_written_is_read_back_acp_enc_2_acp_enc_4_acp_enc_6(given in messages(), fixed: bool) {
        let mut message = EnvelopeBuilder::new();
        if fixed {
            message = message.boundary(Boundary::new(given.boundary.as_bytes()).unwrap());
        }
        let parts = add_all(&mut message, &given.parts);
        let control = document(&given.references, &parts);
        let any = |holds: &dyn Fn(&Given) -> bool| fixed && parts.iter().any(|(_, part)| holds(part));
        let at_once = any(&|p| p.head_holds(given.boundary))
            || any(&|p| p.streamed.is_none() && p.content_holds(given.boundary));
        let later = any(&|p| p.streamed.is_some() && p.content_holds(given.boundary));
        let encoder = match message.build(&control) {
            Ok(encoder) => encoder,
            Err(error) => {
                prop_assert_eq!(error.code(), "boundary_occurs");
                prop_assert!(at_once);
                return Ok(());
            }
        };
        prop_assert!(!at_once);
        let (content_type, length) = (encoder.content_type().to_owned(), encoder.content_length());
        let unknown = parts.iter().any(|(_, p)| p.streamed == Some(false));
        prop_assert_eq!(length.is_none(), unknown);
        let written = match write(encoder, &parts, given.seed) {
            Ok(written) => written,
            Err(error) => {
                prop_assert_eq!(error.code(), "boundary_occurs");
                prop_assert!(later);
                return Ok(());
            }
        };
        prop_assert!(!later);
        prop_assert!(length.is_none_or(|length| length == written.len() as u64));
        let envelope = decode(content_type, written).unwrap();
        assert_same(&envelope, &parts);
        prop_assert_eq!(envelope.control().text(), control.text());
        let again = EnvelopeBuilder::new().build_from(&envelope).unwrap();
        prop_assert_eq!(read_back(again, Config::new()), envelope);
    }

    #[test]
    fn what_was_received_can_be_sent_on_acp_enc_4(message in message(), strict: bool, lenient: bool) {
        let config = if strict { Config::strict() } else { Config::new() };
        let config = config.allow_duplicate_members(lenient).allow_json_content(lenient);
        let Ok(received) = decode_with(&message.content_type, message.body, config) else { return Ok(()) };
        let encoder = EnvelopeBuilder::with_config(config).build_from(&received).unwrap();
        prop_assert_eq!(read_back(encoder, config), received);
    }

    #[test]
    fn merged_envelopes_lose_nothing_acp_enc_3_acp_enc_4(given in vec(messages(), 1..4)) {
        let config = Config::new().limits(Limits::unbounded_for_trusted_input());
        let mut envelopes = Vec::new();
        for (i, given) in given.iter().enumerate() {
            let control_name = if i == 0 { "_acp_control" } else { "c" };
            let mut message = EnvelopeBuilder::new().control_name(control_name.parse().unwrap());
            let in_memory: Vec<_> = given.parts.iter().map(|p| Given { streamed: None, ..p.clone() }).collect();
            let mut parts = Vec::new();
            for given in in_memory {
                if let Ok(reference) = message.add(given.part()) {
                    parts.push((reference.name().clone(), given));
                }
            }
            let encoder = message.build(&document(&given.references, &parts)).unwrap();
            envelopes.push(read_back(encoder, Config::new()));
        }
        let mut message = EnvelopeBuilder::with_config(config);
        let merged: Vec<_> = envelopes.iter().map(|e| message.merge(e).unwrap()).collect();
        let control = Control::array(merged.iter().map(|merged| &merged.control)).unwrap();
        let encoder = message.build(&control).unwrap();
        let whole = read_back(encoder, config);
        prop_assert_eq!(whole.parts().len(), envelopes.iter().map(|e| e.parts().len()).sum::<usize>());
        let mut references = whole.control().references();
        for (i, (envelope, merged)) in envelopes.iter().zip(&merged).enumerate() {
            for (pointer, name) in envelope.control().references() {
                let (new_pointer, new_name) = references.next().unwrap();
                prop_assert_eq!(new_pointer, format!("/{i}{pointer}"));
                let [old, new] = [envelope.part(name).unwrap(), whole.part(new_name).unwrap()];
                prop_assert_eq!(old.body(), new.body());
                prop_assert_eq!(old.head().filename(), new.head().filename());
                prop_assert_eq!(old.head().media_type(), new.head().media_type());
                prop_assert_eq!(merged.renamed.get(name).map_or(name, PartName::as_str), new_name);
            }
        }
        prop_assert!(references.next().is_none());
    }
}
