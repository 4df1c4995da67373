//! The multipart parser alone: its invariants hold, no cut matters, and neither does the kind of
//! buffer; header fields are what `httparse` reads.

use acp_envelope::{
    Limits, Status,
    parser::{Event, Input as Buffer, Parser, PartHead},
    syntax::{Boundary, ContentType},
};
use bytes::{Bytes, BytesMut};

use super::message::Input;

pub fn parser(data: &[u8]) {
    let Some(input) = Input::read(data) else { return };
    let limits = input.config().limits;
    let Ok(ContentType::FormData(boundary)) = ContentType::parse(input.content_type, &limits)
    else {
        return;
    };
    let whole = parse::<Bytes>(&boundary, limits, [input.body.clone()]);
    assert_eq!(parse(&boundary, limits, input.chunks()), whole);
    assert_eq!(parse(&boundary, limits, input.chunks().map(BytesMut::from)), whole);
}

/// Everything that comes out, with joined data; data handed out before an error may differ.
fn parse<B: Buffer + Default + AsRef<[u8]>>(
    boundary: &Boundary,
    limits: Limits,
    chunks: impl IntoIterator<Item = B>,
) -> Result<Vec<String>, String> {
    let mut parser = Parser::new(boundary, limits);
    let mut chunks = chunks.into_iter();
    let (mut input, mut seen, mut data) = (B::default(), Vec::new(), Vec::new());
    loop {
        let before = (parser.offset(), input.as_ref().len());
        let status = match parser.next_event(&mut input) {
            Ok(status) => status,
            Err(error) => {
                assert_eq!(parser.next_event(&mut input).unwrap_err(), error, "errors are sticky");
                return Err(error.to_string());
            }
        };
        let taken = parser.offset() - before.0;
        assert_eq!(taken, (before.1 - input.as_ref().len()) as u64);
        match status {
            Status::Item(Event::PartStart(head)) => {
                compare_fields(&head);
                let fields: Vec<_> = head.fields().collect();
                seen.push(format!("{fields:?} {:?}", head.form_data()));
            }
            Status::Item(Event::Data(piece)) => {
                assert!(!piece.is_empty());
                data.extend_from_slice(&piece);
            }
            Status::Item(Event::PartEnd { len }) => {
                assert_eq!(len, data.len() as u64);
                seen.push(data.escape_ascii().to_string());
                data.clear();
            }
            Status::Item(other) => seen.push(format!("{other:?}")),
            Status::NeedInput => {
                assert!(input.as_ref().is_empty());
                match chunks.next() {
                    Some(chunk) => input = chunk,
                    None => parser.finish(),
                }
            }
            _ => return Ok(seen),
        }
    }
}

fn compare_fields(head: &PartHead) {
    let ours: Vec<_> = head.fields().map(|field| (field.name, field.value)).collect();
    let lines = ours.iter().flat_map(|(name, value)| [name.as_bytes(), b": ", value, b"\r\n"]);
    let block = [lines.collect::<Vec<_>>().concat().as_slice(), b"\r\n"].concat();
    let mut slots = [httparse::EMPTY_HEADER; 64];
    let Ok(httparse::Status::Complete((_, theirs))) = httparse::parse_headers(&block, &mut slots)
    else {
        panic!("{}", block.escape_ascii());
    };
    let theirs: Vec<_> = theirs.iter().map(|field| (field.name, field.value)).collect();
    assert_eq!(ours, theirs);
}
