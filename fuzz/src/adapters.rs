//! A message through the adapters `codec`, `stream` and `http`: each says what the decoder says.

use std::convert::Infallible;

use acp_envelope::{
    DecodeError, EnvelopeDecoder,
    codec::{CodecError, EnvelopeCodec, Frame},
    http::ValidatingBody,
    stream::{EnvelopeStream, StreamError},
};
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, StreamBody};
use tokio_util::codec::Decoder as _;

use super::{
    adapter::{Items, findings, ready},
    message::Input,
    support::{Finding, Message, drive::decode_whole},
};

type Outcome = Result<Message, Finding>;

pub fn adapters(data: &[u8]) {
    let Some(input) = Input::read(data) else { return };
    let decoder = || EnvelopeDecoder::new(input.content_type, input.config());
    if decoder().is_err() {
        return;
    }
    let decoder = || decoder().expect("it was made before");
    let outcome = decode_whole(input.content_type, &input.body, input.config());
    assert_eq!(through_codec(decoder(), &input), outcome);
    assert_eq!(through_stream(decoder(), &input), outcome);
    through_http(decoder(), &input, &outcome);
}

fn through_codec(decoder: EnvelopeDecoder, input: &Input<'_>) -> Outcome {
    let (mut codec, mut items) = (EnvelopeCodec::new(decoder), Items::default());
    let (mut chunks, mut buffer) = (input.chunks(), BytesMut::new());
    loop {
        let next = chunks.next();
        buffer.extend_from_slice(next.as_deref().unwrap_or_default());
        loop {
            let frame = match next {
                Some(_) => codec.decode(&mut buffer),
                None => codec.decode_eof(&mut buffer),
            };
            match frame {
                Ok(Some(Frame::Item(item))) => items.take(item),
                Ok(Some(_)) => {
                    let decoder = codec.decoder().expect("a message was decoded");
                    return Ok(items.into_message(findings(decoder.warnings())));
                }
                Ok(None) => break,
                Err(CodecError::Decode(error)) => return Err(Finding::from(&error)),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(next.is_some(), "the end of input is an error or the end of the message");
    }
}

fn of_message<T>(result: Result<T, StreamError<Infallible>>) -> Result<T, DecodeError> {
    result.map_err(|error| match error {
        StreamError::Decode(error) => error,
        StreamError::Body(never) => match never {},
        error => panic!("{error}"),
    })
}

fn through_stream(decoder: EnvelopeDecoder, input: &Input<'_>) -> Outcome {
    let body = stream::iter(input.chunks().map(Ok::<_, Infallible>));
    let (mut message, mut items) = (EnvelopeStream::new(body, decoder), Items::default());
    while let Some(item) = ready(message.next()) {
        items.take(of_message(item).map_err(|error| Finding::from(&error))?);
    }
    Ok(items.into_message(findings(message.decoder().warnings())))
}

/// What was handed on is the body, or of a refused message its beginning.
fn through_http(decoder: EnvelopeDecoder, input: &Input<'_>, outcome: &Outcome) {
    let frames = input.chunks().map(|data| Ok::<_, Infallible>(http_body::Frame::data(data)));
    let (mut body, verdict) = ValidatingBody::new(StreamBody::new(stream::iter(frames)), decoder);
    let mut passed = Vec::new();
    let refused = loop {
        match ready(body.frame()).map(of_message) {
            Some(Ok(frame)) => passed.extend(frame.into_data().unwrap_or_else(|_| Bytes::new())),
            Some(Err(error)) => break Some(error),
            None => break None,
        }
    };
    assert!(input.body.starts_with(&passed));
    match (verdict.get().expect("the body was read to its end"), outcome) {
        (Ok(valid), Ok(message)) => {
            assert!(refused.is_none() && passed == input.body);
            assert_eq!(valid.bytes, passed.len() as u64);
            assert_eq!((valid.parts, findings(&valid.warnings)), {
                (message.parts.len(), message.warnings.clone())
            });
        }
        (Err(error), Err(finding)) => {
            assert_eq!(Finding::from(error), *finding);
            assert_eq!(refused.as_ref(), Some(error));
        }
        (verdict, outcome) => panic!("{verdict:?} is not {outcome:?}"),
    }
}
