//! A decoder and an encoder driven by hand: a message goes in in pieces, and everything that comes
//! out is written down.

use acp_envelope::{
    Config, DecodeError, EncodeError, EnvelopeDecoder, EnvelopeEncoder, Item, Location, PartName,
    Status,
};
use bytes::Bytes;

/// Everything a decoder says of a valid message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub control: String,
    pub parts: Vec<Part>,
    pub warnings: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    pub content_type: Vec<u8>,
    pub filename: Option<String>,
    pub referenced_by: Vec<String>,
    pub body: Vec<u8>,
}

/// An error or a warning: code, place, part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub code: &'static str,
    pub place: Location,
    pub part: Option<usize>,
}

impl From<&DecodeError> for Finding {
    fn from(error: &DecodeError) -> Self {
        let part = error.part().map(|part| part.index);
        Self { code: error.code(), place: error.location().clone(), part }
    }
}

/// Decodes a message that arrives in `chunks`.
pub fn decode_chunks(
    content_type: &[u8],
    chunks: impl IntoIterator<Item = Bytes>,
    config: Config,
) -> Result<Message, Finding> {
    let mut decoder = EnvelopeDecoder::new(content_type, config).map_err(|e| Finding::from(&e))?;
    let mut chunks = chunks.into_iter();
    let mut input = Bytes::new();
    let mut control = None;
    let mut parts: Vec<Part> = Vec::new();
    loop {
        match decoder.next_item(&mut input) {
            Ok(Status::Item(Item::Control(document))) => {
                assert!(control.is_none() && parts.is_empty(), "control document comes first");
                control = Some(document.text().to_owned());
            }
            Ok(Status::Item(Item::PartStart(head))) => {
                assert_eq!(head.index(), parts.len() + 1);
                assert_eq!(head.is_referenced(), head.referenced_by().len() > 0);
                parts.push(Part {
                    name: head.name().to_string(),
                    content_type: head.media_type().as_bytes().to_vec(),
                    filename: head.filename().map(Into::into),
                    referenced_by: head.referenced_by().collect(),
                    body: Vec::new(),
                });
            }
            Ok(Status::Item(Item::Data(data))) => {
                assert!(!data.is_empty(), "data is never empty");
                parts.last_mut().expect("data belongs to a part").body.extend_from_slice(&data);
            }
            Ok(Status::Item(Item::PartEnd { len })) => {
                assert_eq!(len, parts.last().expect("an end belongs to a part").body.len() as u64);
            }
            Ok(Status::Item(other)) => panic!("unknown item {other:?}"),
            Ok(Status::NeedInput) => {
                assert!(input.is_empty(), "more input is asked for only when none is left");
                match chunks.next() {
                    Some(chunk) => input = chunk,
                    None => decoder.finish(),
                }
            }
            Ok(Status::End) => break,
            Ok(other) => panic!("unknown status {other:?}"),
            Err(error) => {
                let again = decoder.next_item(&mut input).expect_err("errors are sticky");
                assert_eq!(error, again);
                assert!(!error.hint().is_empty());
                return Err(Finding::from(&error));
            }
        }
    }
    let warnings = decoder.warnings().iter().map(|warning| Finding {
        code: warning.code().as_str(),
        place: warning.location().clone(),
        part: warning.part().map(|part| part.index),
    });
    let warnings = warnings.collect();
    Ok(Message {
        control: control.expect("a valid message has a control document"),
        parts,
        warnings,
    })
}

/// Decodes a message that arrives whole.
pub fn decode_whole(content_type: &[u8], body: &Bytes, config: Config) -> Result<Message, Finding> {
    decode_chunks(content_type, [body.clone()], config)
}

/// Writes a message; `next` gives the next chunk of a part that is streamed.
pub fn write(
    mut encoder: EnvelopeEncoder,
    mut next: impl FnMut(&PartName) -> Option<Bytes>,
) -> Result<Vec<u8>, EncodeError> {
    let (mut written, mut content) = (Vec::new(), Bytes::new());
    loop {
        match encoder.next_segment(&mut content) {
            Ok(Status::Item(segment)) => {
                assert!(!segment.is_empty(), "segments are never empty");
                written.extend_from_slice(&segment);
            }
            Ok(Status::NeedInput) => {
                assert!(content.is_empty(), "content is asked for only when none is left");
                let awaited = encoder.awaited().expect("the content is that of a part");
                match next(awaited) {
                    Some(chunk) => content = chunk,
                    None => encoder.finish_part(),
                }
            }
            Ok(Status::End) => return Ok(written),
            Ok(other) => panic!("unknown status {other:?}"),
            Err(error) => {
                let again = encoder.next_segment(&mut Bytes::from("x"));
                assert_eq!(again.expect_err("errors are sticky"), error);
                return Err(error);
            }
        }
    }
}

/// `body` in pieces of these sizes, the rest as the last one.
pub fn cut(body: &Bytes, sizes: impl IntoIterator<Item = usize>) -> Vec<Bytes> {
    let mut rest = body.clone();
    let mut pieces = Vec::new();
    for size in sizes {
        if rest.is_empty() {
            break;
        }
        pieces.push(rest.split_to(size.min(rest.len())));
    }
    pieces.push(rest);
    pieces
}

/// `body` one byte at a time.
pub fn bytewise(body: &Bytes) -> impl Iterator<Item = Bytes> {
    (0..body.len()).map(|i| body.slice(i..=i))
}

/// `body` in random pieces, mostly small, some empty; the same for the same seed.
pub fn random_cuts(body: &Bytes, seed: u64) -> Vec<Bytes> {
    let mut random = Random(seed);
    let sizes = std::iter::repeat_with(|| match random.below(4) {
        0 => random.below(3),
        1 | 2 => random.below(60),
        _ => random.below(5000),
    });
    cut(body, sizes)
}

/// A small generator, so that cuts are the same on every machine (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}
