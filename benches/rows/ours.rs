//! This crate's ways to read a message.

use std::convert::Infallible;

use acp_envelope::{
    Config, EnvelopeDecoder, Item, Limits, PartName, Status,
    codec::{EnvelopeCodec, Frame},
    parser::{Event, Parser},
    stream::EnvelopeStream,
    syntax::Boundary,
};
use bytes::{Bytes, BytesMut};
use tokio_util::codec::Decoder as _;

use crate::workload::{
    BOUNDARY, CONTENT_TYPE, Input, JSON, Outcome,
    arrival::{Paced, block_on},
    sink::Sink,
};

/// 64 content parts, and the control part, which the parser alone takes for one of them.
const LIMITS: Limits = Limits::new().max_parts(64 + 1);

/// The multipart machine alone, and the meaning of the heads.
pub(crate) fn parser(input: &Input, sink: &mut Sink) -> Outcome {
    let mut parser = Parser::new(&Boundary::new(BOUNDARY.as_bytes())?, LIMITS);
    let (mut chunks, mut chunk) = (input.chunks.iter(), Bytes::new());
    loop {
        match parser.next_event(&mut chunk)? {
            Status::Item(Event::PartStart(head)) => {
                let head = head.form_data()?;
                sink.part(head.name, head.media_type.as_bytes());
            }
            Status::Item(Event::Data(data)) => sink.body(&data),
            Status::Item(_) => {}
            Status::NeedInput => match chunks.next() {
                Some(next) => chunk = next.clone(),
                None => parser.finish(),
            },
            _ => return Ok(()),
        }
    }
}

/// All rules of a message.
pub(crate) fn decoder(input: &Input, sink: &mut Sink) -> Outcome {
    let mut decoder = envelope_decoder()?;
    let (mut chunks, mut chunk) = (input.chunks.iter(), Bytes::new());
    loop {
        match decoder.next_item(&mut chunk)? {
            Status::Item(item) => deliver(&item, decoder.control_name(), sink),
            Status::NeedInput => match chunks.next() {
                Some(next) => chunk = next.clone(),
                None => decoder.finish(),
            },
            _ => return Ok(()),
        }
    }
}

/// Part by part, in async code.
pub(crate) fn stream(input: &Input, sink: &mut Sink) -> Outcome {
    block_on(input, async {
        let body = Paced::<Infallible>::new(input);
        let mut message = EnvelopeStream::new(body, envelope_decoder()?);
        let control = message.control().await?.raw().clone();
        deliver_control(&control, message.decoder().control_name(), sink);
        while let Some(mut part) = message.next_part().await? {
            let head = part.head();
            sink.part(head.name().as_str().as_bytes(), head.media_type().as_bytes());
            while let Some(data) = part.chunk().await? {
                sink.body(&data);
            }
        }
        Ok(())
    })
}

/// As `FramedRead` calls it. The chunks are copied into its buffer, as the bytes of a socket are by
/// the read, so that this row has a copy more than the others.
pub(crate) fn codec(input: &Input, sink: &mut Sink) -> Outcome {
    let mut codec = EnvelopeCodec::new(envelope_decoder()?);
    let mut buffer = BytesMut::new();
    for chunk in &input.chunks {
        buffer.extend_from_slice(chunk);
        while let Some(frame) = codec.decode(&mut buffer)? {
            deliver_frame(&frame, &codec, sink);
        }
    }
    while let Some(frame) = codec.decode_eof(&mut buffer)? {
        deliver_frame(&frame, &codec, sink);
        if matches!(frame, Frame::End) {
            return Ok(());
        }
    }
    Err("the message does not end".into())
}

fn envelope_decoder() -> Result<EnvelopeDecoder, acp_envelope::DecodeError> {
    EnvelopeDecoder::new(CONTENT_TYPE, Config::new().limits(LIMITS))
}

fn deliver_frame(frame: &Frame, codec: &EnvelopeCodec, sink: &mut Sink) {
    if let Frame::Item(item) = frame {
        let control_name = codec.decoder().and_then(EnvelopeDecoder::control_name);
        deliver(item, control_name, sink);
    }
}

fn deliver(item: &Item, control_name: Option<&PartName>, sink: &mut Sink) {
    match item {
        Item::Control(control) => deliver_control(control.raw(), control_name, sink),
        Item::PartStart(head) => {
            sink.part(head.name().as_str().as_bytes(), head.media_type().as_bytes());
        }
        Item::Data(data) => sink.body(data),
        _ => {}
    }
}

/// The decoder does not say the control part's type: it takes no other than this.
fn deliver_control(document: &[u8], name: Option<&PartName>, sink: &mut Sink) {
    sink.part(name.map(|name| name.as_str().as_bytes()).unwrap_or_default(), JSON.as_bytes());
    sink.body(document);
}
