//! A message written and read: what the builder takes arrives, and can be sent on and merged
//! (ACP-ENC-2…6).

use acp_envelope::{
    Config, Control, Envelope, EnvelopeBuilder, Limits, NewPart, PartName, decode_with,
    syntax::Boundary,
};
use arbitrary::{Arbitrary, Unstructured};
use bytes::Bytes;
use serde_json::{Value, json};

use super::{message::chunks, support::drive::write};

#[derive(Debug, Arbitrary)]
struct Given<'a> {
    boundary: Option<&'a str>,
    json_content: bool,
    json_without_parts: bool,
    parts: Vec<Part<'a>>,
    document: Document<'a>,
    /// Bytes in a chunk of streamed content.
    size: u8,
}

#[derive(Debug, Arbitrary)]
struct Part<'a> {
    name: Name<'a>,
    media_type: MediaType<'a>,
    filename: Option<&'a str>,
    fields: Vec<(&'a str, &'a str)>,
    content: &'a [u8],
    /// Whether the content comes while the message is written, and whether its length is known.
    streamed: Option<bool>,
}

#[derive(Debug, Arbitrary)]
enum Name<'a> {
    Made,
    Numbered(u8),
    Any(&'a str),
}

#[derive(Debug, Arbitrary)]
enum MediaType<'a> {
    Png,
    Text,
    Json,
    /// With parameters.
    Any(&'a str),
}

#[derive(Debug, Arbitrary)]
enum Document<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a str),
    /// One of the parts.
    Reference(u8),
    Array(Vec<Self>),
    Object(Vec<(&'a str, Self)>),
}

pub fn roundtrip(data: &[u8]) {
    let Ok(given) = Given::arbitrary(&mut Unstructured::new(data)) else { return };
    let config = Config::new().allow_json_content(given.json_content);
    let mut message =
        EnvelopeBuilder::with_config(config).json_without_parts(given.json_without_parts);
    if let Some(boundary) = given.boundary.and_then(|b| Boundary::new(b.as_bytes()).ok()) {
        message = message.boundary(boundary);
    }
    let mut added = Vec::new();
    for part in &given.parts {
        match message.add(part.to_send()) {
            Ok(reference) => added.push((reference.name().clone(), part)),
            Err(error) => assert!(!error.to_string().contains(char::is_control), "{error}"),
        }
    }
    let names: Vec<&PartName> = added.iter().map(|(name, _)| name).collect();
    let Ok(control) = Control::new(&given.document.value(&names)) else { return };
    let Ok(encoder) = message.build(&control) else { return };
    let (content_type, length) = (encoder.content_type().to_owned(), encoder.content_length());
    let size = usize::from(given.size);
    let mut contents: Vec<_> =
        added.iter().map(|(name, part)| (name, chunks(part.content, size))).collect();
    let written = write(encoder, |awaited| {
        contents.iter_mut().find(|(name, _)| *name == awaited).and_then(|(_, chunks)| chunks.next())
    });
    let written = match written {
        Ok(written) => written,
        Err(error) => {
            // What is streamed cannot be known before.
            assert_eq!(error.code(), "boundary_occurs");
            assert!(added.iter().any(|(_, part)| part.streamed.is_some()));
            return;
        }
    };
    assert!(length.is_none_or(|length| length == written.len() as u64));
    let envelope = decode_with(content_type, written, config).expect("what is written is accepted");
    assert_eq!(envelope.control(), &control);
    compare(&envelope, &added);
    send_on(&envelope, config);
}

impl<'a> Part<'a> {
    fn to_send(&self) -> NewPart<'a> {
        let media_type = match self.media_type {
            MediaType::Png => "image/png",
            MediaType::Text => "text/plain; charset=utf-8",
            MediaType::Json => "application/json",
            MediaType::Any(media_type) => media_type,
        };
        let mut part = match self.streamed {
            None => NewPart::new(media_type, Bytes::copy_from_slice(self.content)),
            Some(known) => {
                NewPart::streamed(media_type, known.then_some(self.content.len() as u64))
            }
        };
        match self.name {
            Name::Made => {}
            Name::Numbered(n) => part = part.name(format!("p{n}")),
            Name::Any(name) => part = part.name(name),
        }
        if let Some(filename) = self.filename {
            part = part.filename(filename);
        }
        self.fields.iter().fold(part, |part, (name, value)| part.field(*name, *value))
    }
}

impl Document<'_> {
    fn value(&self, names: &[&PartName]) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => json!(number),
            Self::Real(number) => json!(number),
            Self::Text(text) => json!(text),
            Self::Reference(_) if names.is_empty() => json!({ "$ref": "none" }),
            Self::Reference(n) => json!({ "$ref": names[usize::from(*n) % names.len()].as_str() }),
            Self::Array(items) => items.iter().map(|item| item.value(names)).collect(),
            Self::Object(members) => members
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.value(names)))
                .collect(),
        }
    }
}

fn compare(envelope: &Envelope, added: &[(PartName, &Part<'_>)]) {
    assert_eq!(envelope.parts().len(), added.len());
    for (read, (name, given)) in envelope.parts().iter().zip(added) {
        let head = read.head();
        assert_eq!(head.name(), name);
        assert_eq!(read.body(), given.content);
        if let MediaType::Any(media_type) = given.media_type {
            assert_eq!(head.media_type().as_bytes(), media_type.as_bytes());
        }
        // Of a percent sign that is no escape, no receiver knows that it is none.
        let ambiguous =
            |name: &str| ["%22", "%0D", "%0A"].iter().any(|escape| name.contains(escape));
        if !given.filename.is_some_and(ambiguous) {
            assert_eq!(head.filename().as_deref(), given.filename);
        }
        let sent = given.fields.iter().map(|(name, value)| (*name, value.as_bytes()));
        assert!(head.extra_fields().map(|field| (field.name, field.value)).eq(sent));
    }
}

/// As it is, and twice within one other message.
fn send_on(envelope: &Envelope, config: Config) {
    let encoder = EnvelopeBuilder::with_config(config).build_from(envelope).expect("it is valid");
    let content_type = encoder.content_type().to_owned();
    let body = encoder.into_bytes().expect("all content is in memory");
    let again = decode_with(content_type, body, config).expect("what is sent on is accepted");
    assert_eq!(again.parts().len(), envelope.parts().len());
    assert_eq!(again.control(), envelope.control());

    let config = config.limits(Limits::unbounded_for_trusted_input());
    let mut message = EnvelopeBuilder::with_config(config);
    let twice = [(); 2].map(|()| message.merge(envelope).expect("it has room").control);
    let control = Control::array(&twice).expect("documents in an array are a document");
    let encoder = message.build(&control).expect("every reference has its part");
    let content_type = encoder.content_type().to_owned();
    let body = encoder.into_bytes().expect("all content is in memory");
    let merged = decode_with(content_type, body, config).expect("what is merged is accepted");
    let bodies = |envelope: &Envelope| -> Vec<Bytes> {
        envelope.parts().iter().map(|part| part.body().clone()).collect()
    };
    assert_eq!(bodies(&merged), [bodies(envelope), bodies(envelope)].concat());
}
