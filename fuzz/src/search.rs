//! The search for delimiters, of the parser and of the encoder, against its naive twins: for
//! boundaries of every length, so in every way that it is done.
//!
//! The first bytes of an input choose the boundary and the cut. Of the rest, each byte stands for a
//! piece of the delimiter, or for itself: near-misses are what a search can get wrong.

use acp_envelope::{
    Control, EnvelopeBuilder, Limits, Location, NewPart, Status,
    parser::{Event, Parser},
    syntax::Boundary,
};
use bytes::Bytes;

use super::message::chunks;

const CHARACTERS: &[u8; 70] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'()+_,./";

/// One boundary, one text, one cut.
pub fn search(data: &[u8]) {
    let [length, size, tokens @ ..] = data else { return };
    let characters = if length & 0x80 == 0 { CHARACTERS } else { &[b'-'; 70] };
    let boundary = &characters[..=usize::from(length % 70)];
    let delimiter = [b"\r\n--", boundary].concat();
    let text: Vec<u8> = tokens.iter().flat_map(|&token| piece(&delimiter, token)).collect();
    let boundary = Boundary::new(boundary).expect("the boundary is valid");
    for size in [text.len(), usize::from(*size)] {
        assert_eq!(parsed(&boundary, &text, size), first_delimiter(&delimiter, &text));
        assert_eq!(refused(&boundary, &text, size), first_line(&delimiter[2..], &text));
    }
}

fn piece(delimiter: &[u8], token: u8) -> Vec<u8> {
    let at = usize::from(token & 0x3f) % delimiter.len();
    match token >> 6 {
        0 => delimiter[..=at].to_vec(),
        1 => delimiter[at..].to_vec(),
        _ => vec![token],
    }
}

/// The content that the parser gives out before the first delimiter in `text`, or at its end.
fn parsed(boundary: &Boundary, text: &[u8], size: usize) -> Vec<u8> {
    let line = ["--", boundary.as_str()].concat();
    let body = [line.as_bytes(), b"\r\n\r\n", text, b"\r\n", line.as_bytes(), b"--"].concat();
    let mut parser = Parser::new(boundary, Limits::new());
    let (mut chunks, mut input, mut content) = (chunks(&body, size), Bytes::new(), Vec::new());
    loop {
        match parser.next_event(&mut input) {
            Ok(Status::Item(Event::Data(data))) => content.extend_from_slice(&data),
            Ok(Status::Item(Event::PartStart(_))) => {}
            Ok(Status::NeedInput) => match chunks.next() {
                Some(chunk) => input = chunk,
                None => parser.finish(),
            },
            // What follows a delimiter decides whether it ends the part or refuses the message.
            _ => return content,
        }
    }
}

/// The same, with every position tried. The blank line before the text counts for the first one.
fn first_delimiter(delimiter: &[u8], text: &[u8]) -> Vec<u8> {
    let body = [b"\r\n", text, delimiter].concat();
    let at = (0..body.len()).find(|&at| body[at..].starts_with(delimiter));
    let at = at.expect("the delimiter is at the end");
    body[2..at.max(2)].to_vec()
}

/// The byte of `text` at which the encoder refuses it.
fn refused(boundary: &Boundary, text: &[u8], size: usize) -> Option<u64> {
    let mut message = EnvelopeBuilder::new().boundary(boundary.clone());
    message.add(NewPart::streamed("image/png", None).name("p")).expect("the part is valid");
    let control = Control::from_text("1").expect("the document is valid");
    // A short boundary may occur in the head.
    let mut encoder = message.build(&control).ok()?;
    let (mut chunks, mut content) = (chunks(text, size), Bytes::new());
    loop {
        match encoder.next_segment(&mut content) {
            Ok(Status::Item(_)) => {}
            Ok(Status::NeedInput) => match chunks.next() {
                Some(chunk) => content = chunk,
                None => encoder.finish_part(),
            },
            Ok(_) => return None,
            Err(error) => match error.location() {
                Some(Location::Value(at)) => return Some(*at),
                location => panic!("{error} at {location:?}"),
            },
        }
    }
}

/// The same, with every position tried.
fn first_line(line: &[u8], text: &[u8]) -> Option<u64> {
    let starts_line = |at: usize| at == 0 || matches!(text[at - 1], b'\r' | b'\n');
    let at = (0..text.len()).find(|&at| starts_line(at) && text[at..].starts_with(line))?;
    Some((at + line.len() - 1) as u64)
}
