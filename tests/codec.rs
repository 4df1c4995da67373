//! Messages over `Framed` of tokio-util: the same outcome as without it (ACP-FRM-7), several
//! messages on one connection, and what is written is read.
#![cfg(feature = "codec")]

mod adapter;
mod fixture;
mod support;

use std::{
    collections::VecDeque,
    error::Error as _,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use acp_envelope::{
    Category, Config, Control, EnvelopeBuilder, EnvelopeDecoder, EnvelopeEncoder, Item, Limits,
    Location, NewPart, Status,
    codec::{CodecError, EnvelopeCodec, Frame},
    decode, decode_with,
};
use adapter::{Items, assert_send, findings, ready};
use bytes::{Bytes, BytesMut};
use fixture::{JSON, MULTIPART, control, message_of};
use futures_util::StreamExt as _;
use proptest::{collection::vec, prelude::*};
use support::{
    Finding, Message, decode_whole,
    messages::{Generated, cases, message},
    random_cuts,
};
use tokio::io::{AsyncRead, AsyncWriteExt as _, ReadBuf};
use tokio_util::codec::{Decoder as _, Encoder as _, Framed, FramedRead, LinesCodec};

/// A connection that gives one piece at each read, and then its end or an error.
struct Pieces {
    pieces: VecDeque<Bytes>,
    error: Option<io::ErrorKind>,
}

impl Pieces {
    fn new(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        // A read of nothing is the end.
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
        Self { pieces: pieces.collect(), error: None }
    }

    /// What was not read yet.
    fn rest(self) -> Vec<u8> {
        self.pieces.into_iter().flatten().collect()
    }
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(mut piece) = self.pieces.pop_front() {
            buf.put_slice(&piece.split_to(piece.len().min(buf.remaining())));
            if !piece.is_empty() {
                self.pieces.push_front(piece);
            }
        } else if let Some(error) = self.error.take() {
            return Poll::Ready(Err(error.into()));
        }
        Poll::Ready(Ok(()))
    }
}

fn decoder(content_type: impl AsRef<[u8]>) -> EnvelopeDecoder {
    EnvelopeDecoder::new(content_type, Config::new()).unwrap()
}

fn text(frame: &Frame) -> String {
    match frame {
        Frame::Item(Item::Control(control)) => format!("control {}", control.text()),
        Frame::Item(Item::PartStart(head)) => format!("start {}", head.name()),
        Frame::Item(Item::Data(data)) => format!("data {}", data.escape_ascii()),
        Frame::Item(Item::PartEnd { len }) => format!("end {len}"),
        Frame::End => "over".to_owned(),
        other => panic!("unknown frame {other:?}"),
    }
}

/// The frames that need no more input, as far as the message's end.
fn available(codec: &mut EnvelopeCodec, src: &mut BytesMut) -> Vec<String> {
    let mut frames = Vec::new();
    while let Some(frame) = codec.decode(src).unwrap() {
        frames.push(text(&frame));
        if matches!(frame, Frame::End) {
            break;
        }
    }
    frames
}

/// The frames of one message, as far as its end.
async fn frames<R>(framed: &mut FramedRead<R, EnvelopeCodec>) -> Result<Vec<String>, CodecError>
where
    R: AsyncRead + Unpin,
{
    let mut frames = Vec::new();
    loop {
        let frame = framed.next().await.expect("a message does not end without its end")?;
        frames.push(text(&frame));
        if matches!(frame, Frame::End) {
            return Ok(frames);
        }
    }
}

/// One message out of a connection, and the connection after it.
fn read(
    codec: EnvelopeCodec,
    pieces: Pieces,
) -> (Result<Message, CodecError>, FramedRead<Pieces, EnvelopeCodec>) {
    let mut framed = FramedRead::new(pieces, codec);
    let (mut items, mut warnings) = (Items::default(), Vec::new());
    let outcome = loop {
        let frame = ready(framed.next()).expect("a message does not end without its end");
        if let Some(decoder) = framed.decoder().decoder() {
            warnings = findings(decoder.warnings());
        }
        match frame {
            Ok(Frame::Item(item)) => items.take(item),
            Ok(Frame::End) => break Ok(items.into_message(warnings)),
            Ok(other) => panic!("unknown frame {other:?}"),
            Err(error) => {
                assert!(ready(framed.next()).is_none(), "nothing comes after an error");
                break Err(error);
            }
        }
    };
    (outcome, framed)
}

/// The finding that `expected` says there is, for an error of a message.
fn finding(error: &CodecError) -> Finding {
    match error {
        CodecError::Decode(error) => Finding::from(error),
        other => panic!("{other:?}"),
    }
}

/// What is wrong with a message, whatever may follow.
fn fault_within(mut decoder: EnvelopeDecoder, mut input: Bytes) -> Option<Finding> {
    loop {
        match decoder.next_item(&mut input) {
            Ok(Status::Item(_)) => {}
            Ok(_) => return None,
            Err(error) => return Some(Finding::from(&error)),
        }
    }
}

#[test]
fn a_message_ends_with_its_input() {
    let body = Bytes::from(message_of(&[("p", "one"), ("q", "")]));
    let mut framed = FramedRead::new(Pieces::new([body]), EnvelopeCodec::new(decoder(MULTIPART)));
    let document = "control [{\"$ref\":\"p\"},{\"$ref\":\"q\"}]";
    assert_eq!(
        ready(frames(&mut framed)).unwrap(),
        [document, "start p", "data one", "end 3", "start q", "end 0", "over"]
    );
    assert!(ready(framed.next()).is_none() && ready(framed.next()).is_none());
    assert_eq!(framed.decoder().decoder().unwrap().warnings(), [], "what was found out stays");
}

#[test]
fn a_json_form_ends_with_its_input_acp_msg_1() {
    let pieces = ["[1,", "2]"].map(Bytes::from);
    let mut framed = FramedRead::new(Pieces::new(pieces), EnvelopeCodec::new(decoder(JSON)));
    assert_eq!(ready(frames(&mut framed)).unwrap(), ["control [1,2]", "over"]);
    assert!(ready(framed.next()).is_none());
}

/// No item waits for the input's end, or for a byte more than it needs.
#[test]
fn items_come_as_soon_as_they_are_certain() {
    let body = message_of(&[("p", "one")]);
    let mut codec = EnvelopeCodec::new(decoder(MULTIPART));
    let (mut src, mut seen) = (BytesMut::new(), Vec::new());
    for (i, byte) in body.bytes().enumerate() {
        src.extend_from_slice(&[byte]);
        let frames = available(&mut codec, &mut src);
        seen.extend(frames.into_iter().map(|frame| (frame, i + 1)));
        assert!(src.is_empty(), "what is there is taken");
        assert_eq!(codec.decoder().unwrap().offset(), i as u64 + 1);
    }
    let end = |what: &str| body.find(what).unwrap() + what.len();
    let content = end("a/b\r\n\r\n");
    let expected = [
        ("control [{\"$ref\":\"p\"}]".to_owned(), end("}]\r\n--b\r\n")),
        ("start p".to_owned(), content),
        ("data o".to_owned(), content + 1),
        ("data n".to_owned(), content + 2),
        ("data e".to_owned(), content + 3),
        ("end 3".to_owned(), end("--b--\r\n")),
    ];
    assert_eq!(seen, expected);
    assert!(matches!(codec.decode_eof(&mut src).unwrap(), Some(Frame::End)));
    assert!(codec.decode_eof(&mut src).unwrap().is_none());
}

/// As who has no more input asks at once.
#[test]
fn the_end_of_input_can_come_with_the_last_of_it() {
    let body = message_of(&[("p", "one")]);
    for codec in [
        EnvelopeCodec::new(decoder(MULTIPART)),
        EnvelopeCodec::with_length(decoder(MULTIPART), body.len() as u64).unwrap(),
    ] {
        let (mut codec, mut src) = (codec, BytesMut::from(body.as_str()));
        let mut seen = Vec::new();
        while let Some(frame) = codec.decode_eof(&mut src).unwrap() {
            assert!(seen.len() < 6, "a message has an end");
            seen.push(text(&frame));
        }
        assert_eq!(seen, ["control [{\"$ref\":\"p\"}]", "start p", "data one", "end 3", "over"]);
    }
    let mut codec = EnvelopeCodec::new(decoder(JSON));
    let mut src = BytesMut::from("[1]");
    let frame = codec.decode_eof(&mut src).unwrap().unwrap();
    assert_eq!(text(&frame), "control [1]");
}

#[test]
fn a_message_whose_input_ends_early_is_refused_acp_frm_5() {
    let body = Bytes::from(message_of(&[("p", "one")]));
    let complete = body.len() - "\r\n".len();
    for n in 0..complete {
        let (outcome, _) =
            read(EnvelopeCodec::new(decoder(MULTIPART)), Pieces::new([body.slice(..n)]));
        let error = outcome.unwrap_err();
        assert_eq!((error.code(), error.category()), ("truncated", Category::Truncated), "{n}");
        assert_eq!(finding(&error).place, Location::Byte(n as u64));
    }
    let short = Pieces::new([body.slice(..complete)]);
    read(EnvelopeCodec::new(decoder(MULTIPART)), short).0.unwrap();
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_cut_changes_the_outcome_acp_frm_7(message in message(), strict: bool, seed: u64) {
        let config = if strict { Config::strict() } else { Config::new() };
        let body = Bytes::from(message.body.clone());
        let whole = decode_whole(&message.content_type, &body, config);
        let decoder = || EnvelopeDecoder::new(&message.content_type, config);
        let Ok(first) = decoder() else { return Ok(()) };
        let second = EnvelopeCodec::with_length(decoder().unwrap(), body.len() as u64).unwrap();
        for codec in [EnvelopeCodec::new(first), second] {
            let (outcome, _) = read(codec, Pieces::new(random_cuts(&body, seed)));
            let outcome = outcome.map_err(|error| finding(&error));
            prop_assert_eq!(&outcome, &whole);
        }
    }

    /// Whatever length was declared, and wherever the input ends.
    #[test]
    fn a_message_ends_after_its_length_acp_frm_5(
        message in message(),
        share in 0.0..1.2,
        seed: u64,
    ) {
        let body = Bytes::from(message.body.clone());
        let length = (share * body.len() as f64) as usize;
        let decoder = || EnvelopeDecoder::new(&message.content_type, Config::new());
        let Ok(first) = decoder() else { return Ok(()) };
        let codec = EnvelopeCodec::with_length(first, length as u64).unwrap();
        let (outcome, framed) = read(codec, Pieces::new(random_cuts(&body, seed)));
        if length > body.len() {
            match (outcome.unwrap_err(), fault_within(decoder().unwrap(), body.clone())) {
                (CodecError::CutShort { missing }, None) => {
                    prop_assert_eq!(missing, (length - body.len()) as u64);
                }
                (error, fault) => prop_assert_eq!(Some(finding(&error)), fault),
            }
            return Ok(());
        }
        let expected = decode_whole(&message.content_type, &body.slice(..length), Config::new());
        prop_assert_eq!(outcome.map_err(|error| finding(&error)), expected.clone());
        if expected.is_ok() {
            let mut left = framed.read_buffer().to_vec();
            left.extend(framed.into_inner().rest());
            prop_assert_eq!(&left, &body[length..], "what follows is left alone");
        }
    }

    /// Each with its length, one directly after the other.
    #[test]
    fn several_messages_come_over_one_connection_acp_frm_7(
        messages in vec(message(), 1..6),
        seed: u64,
    ) {
        let valid = |m: &Generated| decode(&m.content_type, m.body.clone()).is_ok();
        let messages: Vec<_> = messages.into_iter().filter(valid).collect();
        let all: Vec<u8> = messages.iter().flat_map(|message| message.body.clone()).collect();
        let pieces = Pieces::new(random_cuts(&all.into(), seed));
        let mut framed = FramedRead::new(pieces, EnvelopeCodec::idle());
        for message in &messages {
            let length = message.body.len() as u64;
            let codec = EnvelopeCodec::with_length(decoder(&message.content_type), length).unwrap();
            *framed.decoder_mut() = codec;
            let mut items = Items::default();
            while let Frame::Item(item) = ready(framed.next()).unwrap().unwrap() {
                items.take(item);
            }
            let body = Bytes::from(message.body.clone());
            let expected = decode_whole(&message.content_type, &body, Config::new()).unwrap();
            prop_assert_eq!(items.into_message(expected.warnings.clone()), expected);
        }
        prop_assert!(ready(framed.next()).is_none());
    }

    #[test]
    fn what_is_encoded_is_decoded_acp_enc_4(messages in vec(message(), 1..4), seed: u64) {
        let mut written = BytesMut::from("before");
        let mut sent = VecDeque::new();
        for message in messages {
            let Ok(envelope) = decode(&message.content_type, message.body) else { continue };
            let encoder = EnvelopeBuilder::new().build_from(&envelope).unwrap();
            let length = encoder.content_length().unwrap();
            sent.push_back((encoder.content_type().to_owned(), length, envelope));
            EnvelopeCodec::idle().encode(encoder, &mut written).unwrap();
        }
        let mut received = written.split_off("before".len()).freeze();
        prop_assert_eq!(&written, "before", "what was in the buffer stays");
        for (content_type, length, envelope) in sent {
            let body = received.split_to(length as usize);
            prop_assert_eq!(&decode(&content_type, body.clone()).unwrap(), &envelope);
            let codec = EnvelopeCodec::with_length(decoder(&content_type), length).unwrap();
            let (message, _) = read(codec, Pieces::new(random_cuts(&body, seed)));
            let message = message.unwrap();
            prop_assert_eq!(message.control, envelope.control().text());
            let bodies = message.parts.into_iter().map(|part| Bytes::from(part.body));
            prop_assert!(bodies.eq(envelope.parts().iter().map(|part| part.body().clone())));
        }
        prop_assert!(received.is_empty());
    }
}

/// A connection whose carrier writes a line before each message: its Content-Type and its length.
fn carried(messages: &[(&str, String)]) -> Bytes {
    let carried = messages.iter().map(|(content_type, body)| {
        assert!(decode(content_type, body.clone()).is_ok());
        format!("{content_type}\t{}\r\n{body}", body.len())
    });
    carried.collect::<String>().into()
}

fn armed(line: &str) -> EnvelopeCodec {
    let (content_type, length) = line.split_once('\t').unwrap();
    EnvelopeCodec::with_length(decoder(content_type), length.parse().unwrap()).unwrap()
}

/// Reads lines and messages in turn, until the connection ends after a message.
async fn read_carried<T>(connection: T) -> Vec<String>
where
    T: AsyncRead + Unpin,
{
    let mut lines = FramedRead::new(connection, LinesCodec::new());
    let mut read = Vec::new();
    while let Some(line) = lines.next().await {
        let line = line.unwrap();
        let mut messages = lines.map_decoder(|_| armed(&line));
        read.extend(frames(&mut messages).await.unwrap());
        lines = messages.map_decoder(|_| LinesCodec::new());
    }
    read
}

#[tokio::test]
async fn the_carrier_writes_between_messages() {
    let messages = [
        (MULTIPART, message_of(&[("p", "one")])),
        (JSON, "[2]".to_owned()),
        (JSON, "\"3\n\"".replace('\n', "\\n")),
        (MULTIPART, fixture::message([control("4")]) + "\r\nepilogue"),
        (MULTIPART, message_of(&[("q", "\r\n--"), ("r", "")])),
    ];
    let carried = carried(&messages);
    let expected = [
        "control [{\"$ref\":\"p\"}]",
        "start p",
        "data one",
        "end 3",
        "over",
        "control [2]",
        "over",
        "control \"3\\n\"",
        "over",
        "control 4",
        "over",
        "control [{\"$ref\":\"q\"},{\"$ref\":\"r\"}]",
        "start q",
        "data \\r\\n--",
        "end 4",
        "start r",
        "end 0",
        "over",
    ];
    // In one write, and in pieces of any size, which cut data but not its sum.
    assert_eq!(ready(read_carried(Pieces::new([carried.clone()]))), expected);
    for seed in 0..100 {
        let frames = ready(read_carried(Pieces::new(random_cuts(&carried, seed))));
        assert_eq!(without_cuts(frames), without_cuts(expected.map(str::to_owned)), "seed {seed}");
    }
    for (size, piece) in [(1, 1), (7, 3), (1 << 20, 1 << 20)] {
        let (mut near, far) = tokio::io::duplex(size);
        let pieces: Vec<_> = carried.chunks(piece).collect();
        let write = async move {
            for piece in pieces {
                near.write_all(piece).await.unwrap();
            }
        };
        let ((), frames) = tokio::join!(write, read_carried(far));
        assert_eq!(without_cuts(frames), without_cuts(expected.map(str::to_owned)), "{size}");
    }
}

/// Frames, with the data of each part in one.
fn without_cuts(frames: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for frame in frames {
        match (joined.last_mut(), frame.strip_prefix("data ")) {
            (Some(last), Some(data)) if last.starts_with("data ") => last.push_str(data),
            _ => joined.push(frame),
        }
    }
    joined
}

/// Both ends use one codec for both directions, each message announced by a line.
#[tokio::test]
async fn both_directions_of_a_connection_carry_messages_acp_enc_4() {
    async fn send(
        framed: &mut Framed<tokio::io::DuplexStream, EnvelopeCodec>,
        message: EnvelopeEncoder,
    ) {
        let line = format!("{}\t{}\n", message.content_type(), message.content_length().unwrap());
        let mut written = BytesMut::from(line.as_str());
        framed.codec_mut().encode(message, &mut written).unwrap();
        framed.get_mut().write_all(&written).await.unwrap();
    }
    async fn receive(
        framed: Framed<tokio::io::DuplexStream, EnvelopeCodec>,
    ) -> (Framed<tokio::io::DuplexStream, EnvelopeCodec>, Option<String>) {
        let mut lines = framed.map_codec(|_| LinesCodec::new());
        let Some(line) = lines.next().await else {
            return (lines.map_codec(|_| EnvelopeCodec::idle()), None);
        };
        let line = line.unwrap();
        let mut framed = lines.map_codec(|_| armed(&line));
        let mut items = Items::default();
        while let Frame::Item(item) = framed.next().await.unwrap().unwrap() {
            items.take(item);
        }
        let message = items.into_message(Vec::new());
        let body = message.parts.first().map_or(&[][..], |part| &part.body);
        (framed, Some(format!("{} {}", message.control, body.escape_ascii())))
    }
    fn request(content: &str) -> EnvelopeEncoder {
        let mut message = EnvelopeBuilder::new();
        let part = NewPart::new("a/b", content.to_owned()).name("p");
        let reference = message.add(part).unwrap();
        message.build(&Control::new(&reference).unwrap()).unwrap()
    }
    let (near, far) = tokio::io::duplex(50);
    let server = async move {
        let mut framed = Framed::new(far, EnvelopeCodec::idle());
        loop {
            let (next, Some(text)) = receive(framed).await else { break };
            framed = next;
            let control = Control::new(&text).unwrap();
            let answer = EnvelopeBuilder::new().json_without_parts(true).build(&control).unwrap();
            send(&mut framed, answer).await;
        }
    };
    let client = async move {
        let mut framed = Framed::new(near, EnvelopeCodec::idle());
        let mut answers = Vec::new();
        for content in ["one", "", "\r\n--three"] {
            send(&mut framed, request(content)).await;
            let (next, answer) = receive(framed).await;
            framed = next;
            answers.push(answer.unwrap());
        }
        answers
    };
    let ((), answers) = tokio::join!(server, client);
    let answer = |content: &str| format!("{:?} ", format!("{{\"$ref\":\"p\"}} {content}"));
    assert_eq!(answers, [answer("one"), answer(""), answer("\\r\\n--three")]);
}

#[test]
fn a_length_that_is_too_large_is_refused_before_the_first_byte_acp_lim_3_acp_lim_6() {
    let limits = Limits::new().max_message_bytes(100).max_json_bytes(50);
    let config = Config::new().limits(limits);
    for (content_type, limit, code) in
        [(MULTIPART, 100, "limit_message_size"), (JSON, 50, "limit_control_size")]
    {
        let decoder = || EnvelopeDecoder::new(content_type, config).unwrap();
        EnvelopeCodec::with_length(decoder(), limit).unwrap();
        let error = EnvelopeCodec::with_length(decoder(), limit + 1).unwrap_err();
        assert_eq!((error.code(), error.category()), (code, Category::Limit));
        assert_eq!(*error.location(), Location::ContentLength(limit + 1));
    }
}

#[test]
fn a_connection_that_ends_within_the_length_is_cut_short_acp_frm_5() {
    let body = Bytes::from(message_of(&[("p", "one")]));
    let length = body.len() as u64;
    // Within the message, or after it.
    for (n, declared) in
        (0..length).map(|n| (n, length)).chain([(length, length + 1), (length - 2, length + 1000)])
    {
        let codec = EnvelopeCodec::with_length(decoder(MULTIPART), declared).unwrap();
        let (outcome, _) = read(codec, Pieces::new([body.slice(..n as usize)]));
        let error = outcome.unwrap_err();
        let CodecError::CutShort { missing } = error else { panic!("{error:?}") };
        assert_eq!(missing, declared - n);
        assert_eq!((error.code(), error.category()), ("truncated", Category::Truncated));
        assert_eq!(error.to_string(), format!("input ends {missing} bytes before the body does"));
        assert!(error.source().is_none());
    }
    for json in ["", "[1", "[1]"] {
        let codec = EnvelopeCodec::with_length(decoder(JSON), 4).unwrap();
        let (outcome, _) = read(codec, Pieces::new([json.into()]));
        let Err(CodecError::CutShort { missing }) = outcome else { panic!("{json}: {outcome:?}") };
        assert_eq!(missing, 4 - json.len() as u64);
    }
}

#[test]
fn an_idle_codec_refuses_input_and_nothing_else() {
    for codec in [EnvelopeCodec::idle(), EnvelopeCodec::default()] {
        let mut framed = FramedRead::new(Pieces::new([]), codec);
        assert!(ready(framed.next()).is_none());
        let mut framed = FramedRead::new(Pieces::new(["x".into()]), EnvelopeCodec::idle());
        let error = ready(framed.next()).unwrap().unwrap_err();
        assert!(matches!(error, CodecError::Idle));
        assert_eq!((error.code(), error.category()), ("codec_idle", Category::Misuse));
        assert_eq!(error.to_string(), "input for which the codec was not armed");
        assert!(error.source().is_none());
        assert_eq!(framed.read_buffer(), &b"x"[..], "the input stays");
    }
}

#[test]
fn what_comes_after_a_message_for_which_the_codec_was_not_armed_stays() {
    let codec = EnvelopeCodec::with_length(decoder(JSON), 3).unwrap();
    let mut framed = FramedRead::new(Pieces::new(["[1][2]".into()]), codec);
    assert_eq!(ready(frames(&mut framed)).unwrap(), ["control [1]", "over"]);
    assert!(matches!(ready(framed.next()), Some(Err(CodecError::Idle))));
    assert_eq!(framed.read_buffer(), &b"[2]"[..]);
    *framed.decoder_mut() = EnvelopeCodec::with_length(decoder(JSON), 3).unwrap();
    assert!(ready(framed.next()).is_none(), "the error is over");
    let mut src = framed.read_buffer().clone();
    let frame = framed.decoder_mut().decode(&mut src).unwrap().unwrap();
    assert_eq!(text(&frame), "control [2]");
}

#[test]
fn errors_of_a_message_stay_acp_frm_7() {
    let mut codec = EnvelopeCodec::new(decoder(MULTIPART));
    let mut src = BytesMut::from("--bx and more");
    let first = codec.decode(&mut src).unwrap_err();
    assert_eq!((first.code(), first.category()), ("delimiter_malformed", Category::Syntax));
    assert!(first.source().is_none(), "it is that error");
    for _ in 0..2 {
        let again = codec.decode(&mut src).unwrap_err();
        assert_eq!(again.to_string(), first.to_string());
        assert_eq!(finding(&again), finding(&first));
        assert_eq!(finding(&codec.decode_eof(&mut src).unwrap_err()), finding(&first));
    }
}

#[test]
fn an_error_of_the_connection_is_passed_on() {
    let connection =
        Pieces { error: Some(io::ErrorKind::ConnectionReset), ..Pieces::new(["--b".into()]) };
    let mut framed = FramedRead::new(connection, EnvelopeCodec::new(decoder(MULTIPART)));
    let error = ready(framed.next()).unwrap().unwrap_err();
    assert_eq!((error.code(), error.category()), ("io", Category::Io));
    assert_eq!(error.to_string(), "connection failed");
    let source: &io::Error = error.source().unwrap().downcast_ref().unwrap();
    assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn content_that_is_not_in_memory_is_not_encoded() {
    let mut message = EnvelopeBuilder::new();
    let reference = message.add(NewPart::streamed("a/b", Some(3)).name("p")).unwrap();
    let encoder = message.build(&Control::new(&reference).unwrap()).unwrap();
    let mut written = BytesMut::from("before");
    let error = EnvelopeCodec::idle().encode(encoder, &mut written).unwrap_err();
    assert_eq!((error.code(), error.category()), ("content_missing", Category::Misuse));
    assert!(error.source().is_none());
    assert_eq!(written, "before", "and nothing is written");
}

#[test]
fn encoding_leaves_the_message_that_arrives_alone() {
    let body = message_of(&[("p", "one")]);
    let (first, second) = body.split_at(body.len() / 2);
    let mut codec = EnvelopeCodec::with_length(decoder(MULTIPART), body.len() as u64).unwrap();
    let mut src = BytesMut::from(first);
    let mut seen = available(&mut codec, &mut src);
    let answer = EnvelopeBuilder::new().json_without_parts(true);
    let answer = answer.build(&Control::from_text("[1]").unwrap()).unwrap();
    let mut written = BytesMut::new();
    codec.encode(answer, &mut written).unwrap();
    assert_eq!(written, "[1]");
    src.extend_from_slice(second.as_bytes());
    seen.extend(available(&mut codec, &mut src));
    let expected = ["control [{\"$ref\":\"p\"}]", "start p", "data one", "end 3", "over"];
    assert_eq!(without_cuts(seen), expected);
}

#[test]
fn what_a_strict_receiver_refuses_is_refused_acp_frm_6() {
    let body = Bytes::from(fixture::message([control("1")]) + "text");
    decode(MULTIPART, body.clone()).unwrap();
    let expected = decode_with(MULTIPART, body.clone(), Config::strict()).unwrap_err();
    let decoder = EnvelopeDecoder::new(MULTIPART, Config::strict()).unwrap();
    let (outcome, _) = read(EnvelopeCodec::new(decoder), Pieces::new(random_cuts(&body, 1)));
    assert_eq!(finding(&outcome.unwrap_err()), Finding::from(&expected));
}

#[tokio::test]
async fn a_connection_can_be_read_in_a_task() {
    let body = message_of(&[("p", "one")]);
    let (mut near, far) = tokio::io::duplex(10);
    let mut framed = assert_send(FramedRead::new(far, EnvelopeCodec::new(decoder(MULTIPART))));
    let reading =
        tokio::spawn(async move { assert_send(frames(&mut framed)).await.unwrap().len() });
    near.write_all(body.as_bytes()).await.unwrap();
    drop(near);
    let without_data = 4;
    assert!(reading.await.unwrap() > without_data);
}
