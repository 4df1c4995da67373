//! What the fuzz targets check: no input panics, no cut changes an outcome (ACP-FRM-7), and what is
//! accepted can be sent on (ACP-ENC-4).
//!
//! The first bytes of an input choose how the rest is read: the form, the limits, the cut.

mod search;

use acp_envelope::{
    Config, Envelope, EnvelopeBuilder, EnvelopeDecoder, Item, Limits, Status, decode_with,
    parser::{Event, Parser},
    syntax::Boundary,
};
use bytes::Bytes;

pub use self::search::search;

/// The whole message: items, warnings, and code and place of an error.
pub fn envelope(data: &[u8]) {
    let [how, size, rest @ ..] = data else { return };
    let content_type =
        if how & 1 == 0 { "multipart/form-data; boundary=b" } else { "application/json" };
    let config = if how & 2 == 0 { Config::new() } else { Config::strict() };
    let config = config.allow_duplicate_members(how & 4 != 0).limits(limits(how & 8 != 0));
    let run = |size| decode(content_type, config, rest, size);
    assert_eq!(run(rest.len()), run(usize::from(*size)));
    if let Ok(received) = decode_with(content_type, rest.to_vec(), config) {
        // The new boundary may be longer than small limits allow.
        send_on(&received, config.limits(Limits::new()));
    }
}

/// The same message within a new boundary. A file name that holds `%22` itself is the one thing that
/// cannot be written so that it comes back; so file names are left out.
fn send_on(received: &Envelope, config: Config) {
    let encoder = EnvelopeBuilder::with_config(config).build_from(received);
    let encoder = encoder.expect("what was accepted can be sent on");
    let content_type = encoder.content_type().to_owned();
    let body = encoder.into_bytes().expect("all content is in memory");
    let again = decode_with(content_type, body, config).expect("what is sent on is accepted");
    assert_eq!(again.control(), received.control());
    let parts = |envelope: &Envelope| -> Vec<_> {
        let parts = envelope.parts().iter();
        parts
            .map(|part| {
                let head = part.head();
                let extra = head.extra_fields().map(|f| (f.name.to_owned(), f.value.to_vec()));
                let said = (head.name().clone(), head.media_type().to_string());
                (said, extra.collect::<Vec<_>>(), part.body().clone())
            })
            .collect()
    };
    assert_eq!(parts(&again), parts(received));
}

/// The multipart parser alone.
pub fn parser(data: &[u8]) {
    let [how, size, rest @ ..] = data else { return };
    let run = |size| parse(limits(how & 1 != 0), rest, size);
    assert_eq!(run(rest.len()), run(usize::from(*size)));
}

/// Small limits are reached by small inputs.
fn limits(small: bool) -> Limits {
    let limits = Limits::new();
    if !small {
        return limits;
    }
    limits
        .max_parts(2)
        .max_part_bytes(20)
        .max_message_bytes(600)
        .max_control_bytes(60)
        .max_json_bytes(60)
        .max_header_bytes(120)
        .max_headers(3)
        .max_json_depth(4)
}

fn chunks(body: &[u8], size: usize) -> impl Iterator<Item = Bytes> {
    body.chunks(size.max(1)).map(Bytes::copy_from_slice)
}

/// Everything that comes out, with joined data; data handed out before an error may differ.
fn decode(
    content_type: &str,
    config: Config,
    body: &[u8],
    size: usize,
) -> Result<Vec<String>, String> {
    let mut decoder =
        EnvelopeDecoder::new(content_type, config).expect("the Content-Type is valid");
    let mut chunks = chunks(body, size);
    let (mut input, mut seen, mut data) = (Bytes::new(), Vec::new(), Vec::new());
    loop {
        match decoder.next_item(&mut input).map_err(|error| format!("{} {error}", error.code()))? {
            Status::Item(Item::Control(control)) => {
                seen.push(format!(
                    "{} {:?}",
                    control.text(),
                    control.references().collect::<Vec<_>>()
                ));
            }
            Status::Item(Item::PartStart(head)) => {
                let pointers: Vec<_> = head.referenced_by().collect();
                seen.push(format!("{head:?} {pointers:?} {:?}", head.media_type().mime()));
            }
            Status::Item(Item::Data(piece)) => data.extend_from_slice(&piece),
            Status::Item(Item::PartEnd { len }) => {
                assert_eq!(len, data.len() as u64);
                seen.push(data.escape_ascii().to_string());
                data.clear();
            }
            Status::NeedInput => match chunks.next() {
                Some(chunk) => input = chunk,
                None => decoder.finish(),
            },
            _ => break,
        }
    }
    seen.extend(decoder.warnings().iter().map(ToString::to_string));
    Ok(seen)
}

fn parse(limits: Limits, body: &[u8], size: usize) -> Result<Vec<String>, String> {
    let boundary = Boundary::new(b"b").expect("the boundary is valid");
    let mut parser = Parser::new(&boundary, limits);
    let mut chunks = chunks(body, size);
    let (mut input, mut seen, mut data) = (Bytes::new(), Vec::new(), Vec::new());
    loop {
        match parser.next_event(&mut input).map_err(|error| error.to_string())? {
            Status::Item(Event::PartStart(head)) => {
                seen.push(format!(
                    "{:?} {:?}",
                    head.fields().collect::<Vec<_>>(),
                    head.form_data()
                ));
            }
            Status::Item(Event::Data(piece)) => data.extend_from_slice(&piece),
            Status::Item(Event::PartEnd { len }) => {
                assert_eq!(len, data.len() as u64);
                seen.push(data.escape_ascii().to_string());
                data.clear();
            }
            Status::Item(other) => seen.push(format!("{other:?}")),
            Status::NeedInput => match chunks.next() {
                Some(chunk) => input = chunk,
                None => parser.finish(),
            },
            _ => return Ok(seen),
        }
    }
}
