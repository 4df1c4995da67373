//! Messages as they arrive in async code: the same outcome as without it (ACP-FRM-7), one chunk
//! held at most, nothing lost when a future is dropped or the body fails.
#![cfg(feature = "stream")]

mod adapter;
mod fixture;
mod support;

use std::{
    convert::Infallible,
    error::Error,
    fmt, io,
    pin::Pin,
    task::{Context, Poll},
};

use acp_envelope::{
    Category, Config, DecodeError, EnvelopeDecoder, Item, Limits, decode, decode_with,
    stream::{self, EnvelopeStream, PartStream, StreamError},
};
use adapter::{Body, Items, assert_send, findings, message_of_envelope, once, part, ready};
use bytes::Bytes;
use fixture::{JSON, MULTIPART, control, message_of};
use futures_util::{Stream, StreamExt as _};
use proptest::{collection::vec, prelude::*};
use support::{
    Finding, Message, Part, Random, bytewise,
    cases::{Case, captures, corpus},
    cut, decode_whole,
    messages::{cases, message},
    random_cuts,
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, ReadBuf};

const FAILURE: &str = "the line is dead";

/// A reader of the body `B`.
type Reader<B = Body> = EnvelopeStream<B>;

fn decoder(content_type: &str) -> EnvelopeDecoder {
    EnvelopeDecoder::new(content_type, Config::new()).unwrap()
}

fn new_decoder(content_type: &[u8], config: Config) -> Result<EnvelopeDecoder, Finding> {
    EnvelopeDecoder::new(content_type, config).map_err(|error| Finding::from(&error))
}

fn reader<E: Unpin>(content_type: &str, body: Body<E>) -> Reader<Body<E>> {
    EnvelopeStream::new(body, decoder(content_type))
}

/// The error of the message; the body has none.
fn refused(error: &StreamError<Infallible>) -> Finding {
    match error {
        StreamError::Decode(error) => Finding::from(error),
        other => panic!("{other:?}"),
    }
}

/// The control document and the parts, read chunk by chunk.
async fn read<S, E>(message: &mut Reader<S>) -> Result<(String, Vec<Part>), StreamError<E>>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    let control = message.control().await?.text().to_owned();
    let mut parts = Vec::new();
    while let Some(mut next) = message.next_part().await? {
        let mut body = Vec::new();
        while let Some(chunk) = next.chunk().await? {
            assert!(!chunk.is_empty(), "chunks are never empty");
            body.extend_from_slice(&chunk);
        }
        assert_eq!(next.chunk().await.ok(), Some(None), "the end of a part stays");
        parts.push(part(next.head(), body));
    }
    Ok((control, parts))
}

/// Control document, then part after part; the verdict stays.
fn by_parts(content_type: &[u8], chunks: Vec<Bytes>, config: Config) -> Result<Message, Finding> {
    let body = Body::new(chunks);
    let mut message = EnvelopeStream::new(body, new_decoder(content_type, config)?);
    match ready(read(&mut message)) {
        Ok((control, parts)) => {
            assert!(ready(message.next_part()).unwrap().is_none(), "the end stays");
            ready(message.finish()).unwrap();
            assert_eq!(ready(message.control()).unwrap().text(), control);
            Ok(Message { control, parts, warnings: findings(message.decoder().warnings()) })
        }
        Err(error) => {
            for _ in 0..2 {
                assert_eq!(ready(message.next_part()).unwrap_err(), error, "errors stay");
                assert_eq!(ready(message.finish()).unwrap_err(), error, "errors stay");
            }
            Err(refused(&error))
        }
    }
}

/// As a stream of items, which ends with the message or with an error.
fn by_items(content_type: &[u8], chunks: Vec<Bytes>, config: Config) -> Result<Message, Finding> {
    let body = Body::new(chunks);
    let mut message = EnvelopeStream::new(body, new_decoder(content_type, config)?);
    let (mut items, mut refusal) = (Items::default(), None);
    while let Some(item) = ready(message.next()) {
        assert!(refusal.is_none(), "nothing comes after an error");
        match item {
            Ok(item) => items.take(item),
            Err(error) => refusal = Some(refused(&error)),
        }
    }
    assert!(ready(message.next()).is_none(), "the end stays");
    match refusal {
        Some(refusal) => Err(refusal),
        None => Ok(items.into_message(findings(message.decoder().warnings()))),
    }
}

fn at_once(content_type: &[u8], chunks: Vec<Bytes>, config: Config) -> Result<Message, Finding> {
    let decoding = stream::decode(Body::new(chunks), new_decoder(content_type, config)?);
    ready(decoding).map(|envelope| message_of_envelope(&envelope)).map_err(|error| refused(&error))
}

/// In each way there is.
fn outcomes(
    content_type: &[u8],
    chunks: &[Bytes],
    config: Config,
) -> [(&'static str, Result<Message, Finding>); 3] {
    [
        ("by parts", by_parts(content_type, chunks.to_vec(), config)),
        ("by items", by_items(content_type, chunks.to_vec(), config)),
        ("at once", at_once(content_type, chunks.to_vec(), config)),
    ]
}

/// Limits small enough to be exceeded by some generated messages, and the strict profile.
fn configs() -> impl Strategy<Value = Config> {
    let small = Limits::new().max_part_bytes(12).max_parts(2).max_message_bytes(400);
    prop_oneof![
        2 => Just(Config::new()),
        1 => Just(Config::strict()),
        1 => Just(Config::new().limits(small)),
    ]
}

#[test]
fn every_case_and_capture_has_the_same_outcome_as_without_async_acp_frm_7() {
    let mut accepted = 0;
    for Case { id, content_type, body, config, recorded_cuts, .. } in
        corpus().into_iter().chain(captures())
    {
        let whole = decode_whole(&content_type, &body, config);
        accepted += usize::from(whole.is_ok());
        let mut cuts = vec![vec![body.clone()], random_cuts(&body, 1), random_cuts(&body, 2)];
        cuts.extend(recorded_cuts.into_iter().map(|sizes| cut(&body, sizes)));
        if body.len() < 10_000 {
            cuts.push(bytewise(&body).collect());
        }
        for (i, chunks) in cuts.iter().enumerate() {
            for (way, outcome) in outcomes(&content_type, chunks, config) {
                assert_eq!(outcome, whole, "{id} {way}, cut {i}");
            }
        }
    }
    assert!(accepted > 100, "{accepted}");
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_cut_changes_the_outcome_acp_frm_7(message in message(), config in configs(), seed: u64) {
        let body = Bytes::from(message.body.clone());
        let whole = decode_whole(&message.content_type, &body, config);
        let chunks = random_cuts(&body, seed);
        for (way, outcome) in outcomes(&message.content_type, &chunks, config) {
            prop_assert_eq!(&outcome, &whole, "{}", way);
        }
    }

    /// Chunks, as a stream, as a reader with buffers of any size, in one piece, or not to the end.
    #[test]
    fn parts_are_the_same_in_whatever_way_they_are_read_acp_frm_3(message in message(), seed: u64) {
        let body = Bytes::from(message.body.clone());
        let whole = decode_whole(&message.content_type, &body, Config::new());
        let Ok(decoder) = new_decoder(&message.content_type, Config::new()) else { return Ok(()) };
        let mut reader = EnvelopeStream::new(Body::new(random_cuts(&body, seed)), decoder);
        let mut random = Random(seed);
        let (mut bodies, mut refusal) = (Vec::new(), None);
        loop {
            match ready(reader.next_part()) {
                Ok(None) => break,
                Ok(Some(mut part)) => match ready(read_somehow(&mut part, &mut random)) {
                    Ok(read) => bodies.push((part.head().name().to_string(), read)),
                    Err(error) => {
                        let error = error.get_ref().and_then(|error| error.downcast_ref());
                        refusal = error.map(|error: &DecodeError| Finding::from(error));
                        break;
                    }
                },
                Err(error) => {
                    refusal = Some(refused(&error));
                    break;
                }
            }
        }
        match (whole, refusal) {
            (Err(expected), Some(refusal)) => prop_assert_eq!(refusal, expected),
            (Ok(expected), None) => {
                prop_assert_eq!(bodies.len(), expected.parts.len());
                for ((name, (read, all)), part) in bodies.iter().zip(&expected.parts) {
                    prop_assert_eq!(name, &part.name);
                    prop_assert!(part.body.starts_with(read));
                    prop_assert!(!all || read.len() == part.body.len());
                }
            }
            (expected, refusal) => prop_assert!(false, "{:?}, but {:?}", expected, refusal),
        }
    }

    /// At any time, all bytes that were taken from the body but the last chunk were handed on. What
    /// could have been a delimiter is content only with the chunk after it, and then comes first:
    /// of that, a small buffer may leave a rest.
    #[test]
    fn the_body_is_never_more_than_a_chunk_ahead(message in message(), seed: u64) {
        const LONGEST_DELIMITER: u64 = 4 + 22;
        let body = Bytes::from(message.body.clone());
        let Ok(decoder) = new_decoder(&message.content_type, Config::new()) else { return Ok(()) };
        let source = Body::new(random_cuts(&body, seed));
        let counts = source.counts();
        let check = |at: u64, rest: u64| {
            let counts = counts();
            let ahead = counts.bytes as u64 - at;
            prop_assert!(ahead <= counts.last as u64 + rest, "{} bytes ahead: {:?}", ahead, counts);
            Ok(())
        };
        let mut reader = EnvelopeStream::new(source, decoder);
        prop_assert_eq!(counts().chunks, 0, "nothing is asked for before it is needed");
        let mut random = Random(seed);
        if ready(reader.control()).is_err() {
            return Ok(());
        }
        check(reader.decoder().offset(), 0)?;
        while let Ok(Some(mut part)) = ready(reader.next_part()) {
            let mut at = part.head().body_offset();
            check(at, 0)?;
            loop {
                let mut buffer = vec![0; 1 + random.below(8)];
                let (read, is_full) = if random.below(2) == 0 {
                    (ready(part.chunk()).ok().flatten().map_or(0, |chunk| chunk.len()), false)
                } else {
                    let read = ready(part.read(&mut buffer)).unwrap_or(0);
                    (read, read == buffer.len())
                };
                if read == 0 {
                    break;
                }
                at += read as u64;
                check(at, if is_full { LONGEST_DELIMITER } else { 0 })?;
            }
        }
    }

    #[test]
    fn a_stream_of_items_is_never_more_than_a_chunk_ahead(message in message(), seed: u64) {
        let body = Bytes::from(message.body.clone());
        let Ok(decoder) = new_decoder(&message.content_type, Config::new()) else { return Ok(()) };
        let source = Body::new(random_cuts(&body, seed));
        let counts = source.counts();
        let mut reader = EnvelopeStream::new(source, decoder);
        let mut at = 0;
        while let Some(Ok(item)) = ready(reader.next()) {
            match item {
                Item::PartStart(head) => at = head.body_offset(),
                Item::Data(data) => at += data.len() as u64,
                _ => at = reader.decoder().offset(),
            }
            let counts = counts();
            let ahead = counts.bytes as u64 - at;
            prop_assert!(ahead <= counts.last as u64, "{} bytes ahead: {:?}", ahead, counts);
        }
    }

    /// Every future is dropped after its first poll, and another is made in its place.
    #[test]
    fn dropped_futures_lose_nothing(message in message(), seed: u64) {
        let body = Bytes::from(message.body.clone());
        let whole = decode_whole(&message.content_type, &body, Config::new());
        let Ok(decoder) = new_decoder(&message.content_type, Config::new()) else { return Ok(()) };
        let source = Body::new(random_cuts(&body, seed)).hesitant();
        let counts = source.counts();
        let mut reader = EnvelopeStream::new(source, decoder);
        let outcome = read_impatiently(&mut reader);
        let outcome = outcome.map_err(|error| refused(&error)).map(|(control, parts)| {
            Message { control, parts, warnings: findings(reader.decoder().warnings()) }
        });
        prop_assert_eq!(outcome, whole);
        let counts = counts();
        prop_assert_eq!(counts.hesitations, counts.chunks + usize::from(counts.ended));
    }

    #[test]
    fn dropped_futures_of_finish_lose_nothing(message in message(), seed: u64) {
        let body = Bytes::from(message.body.clone());
        let whole = decode_whole(&message.content_type, &body, Config::new());
        let Ok(decoder) = new_decoder(&message.content_type, Config::new()) else { return Ok(()) };
        let source = Body::new(random_cuts(&body, seed)).hesitant();
        let mut reader = EnvelopeStream::new(source, decoder);
        let outcome = loop {
            if let Poll::Ready(outcome) = once(reader.finish()) {
                break outcome;
            }
        };
        prop_assert_eq!(outcome.map_err(|error| refused(&error)).err(), whole.err());
    }

    #[test]
    fn a_body_that_fails_and_goes_on_loses_nothing(
        message in message(),
        seed: u64,
        failures in vec(0..30usize, 1..6),
    ) {
        let body = Bytes::from(message.body.clone());
        let whole = decode_whole(&message.content_type, &body, Config::new());
        let Ok(decoder) = new_decoder(&message.content_type, Config::new()) else { return Ok(()) };
        let mut chunks: Vec<_> = random_cuts(&body, seed).into_iter().map(Ok).collect();
        // Something comes after each: a body that ends by failing is no message.
        prop_assume!(!chunks.is_empty());
        for at in failures {
            chunks.insert(at % chunks.len(), Err(FAILURE));
        }
        let source = Body::with_failures(chunks);
        let counts = source.counts();
        let mut reader = EnvelopeStream::new(source, decoder);
        let (outcome, failures) = read_through_failures(&mut reader);
        prop_assert_eq!(failures, counts().failures);
        let warnings = findings(reader.decoder().warnings());
        let outcome = outcome.map(|(control, parts)| Message { control, parts, warnings });
        prop_assert_eq!(outcome, whole);
    }

    #[test]
    fn both_forms_are_the_same_envelope_acp_msg_3(message in message(), seed: u64) {
        let Ok(envelope) = decode(&message.content_type, message.body) else { return Ok(()) };
        if !envelope.parts().is_empty() {
            return Ok(());
        }
        let document = Bytes::copy_from_slice(envelope.control().text().as_bytes());
        let chunks = random_cuts(&document, seed);
        let received = ready(stream::decode(Body::new(chunks.clone()), decoder(JSON)));
        prop_assert_eq!(received.unwrap(), envelope.clone());
        let expected = (envelope.control().text().to_owned(), Vec::new());
        prop_assert_eq!(ready(read(&mut reader(JSON, Body::new(chunks)))), Ok(expected));
    }
}

/// Reads a part, each time in another way; whether to its end.
async fn read_somehow(
    part: &mut PartStream<'_, Body>,
    random: &mut Random,
) -> io::Result<(Vec<u8>, bool)> {
    let mut read = Vec::new();
    loop {
        let chunk = match random.below(12) {
            0 => return Ok((read, false)),
            1 => {
                read.extend_from_slice(&part.bytes().await?);
                None
            }
            2 => {
                let before = read.len();
                assert_eq!(part.read_to_end(&mut read).await?, read.len() - before);
                None
            }
            3 | 4 => part.next().await.transpose()?,
            5..8 => part.chunk().await?,
            _ => {
                let mut buffer = vec![0; 1 + random.below(5)];
                let n = part.read(&mut buffer).await?;
                buffer.truncate(n);
                Some(Bytes::from(buffer)).filter(|chunk| !chunk.is_empty())
            }
        };
        match chunk {
            Some(chunk) => read.extend_from_slice(&chunk),
            None => break,
        }
    }
    assert_eq!(part.read(&mut [0; 4]).await?, 0, "the end of a part stays");
    Ok((read, true))
}

/// As [`read`], with futures that are polled once.
fn read_impatiently(message: &mut Reader) -> Result<(String, Vec<Part>), StreamError<Infallible>> {
    let control = loop {
        if let Poll::Ready(control) = once(message.control()) {
            break control?.text().to_owned();
        }
    };
    let mut parts = Vec::new();
    loop {
        let Poll::Ready(next) = once(message.next_part()) else { continue };
        let Some(mut next) = next? else { return Ok((control, parts)) };
        let mut body = Vec::new();
        loop {
            // Every other part is read as a reader, which drops futures that have to wait too.
            if parts.len() % 2 == 1 {
                let mut buffer = [0; 7];
                match once(next.read(&mut buffer)) {
                    Poll::Ready(Ok(0)) => break,
                    Poll::Ready(Ok(n)) => body.extend_from_slice(&buffer[..n]),
                    Poll::Ready(Err(_)) => break, // The same error comes once more.
                    Poll::Pending => {}
                }
                continue;
            }
            match once(next.chunk()) {
                Poll::Ready(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
                Poll::Ready(Ok(None)) => break,
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => {}
            }
        }
        parts.push(part(next.head(), body));
    }
}

/// As [`read`], and goes on after each failure of the body; how many there were.
fn read_through_failures(
    message: &mut Reader<Body<&'static str>>,
) -> (Result<(String, Vec<Part>), Finding>, usize) {
    let mut failures = 0;
    // The finding, unless it is the body that failed.
    let mut judge = |error: StreamError<&'static str>| match error {
        StreamError::Decode(error) => Some(Finding::from(&error)),
        StreamError::Body(error) => {
            assert_eq!(error, FAILURE);
            failures += 1;
            None
        }
        other => panic!("{other:?}"),
    };
    let control = loop {
        match ready(message.control()) {
            Ok(control) => break control.text().to_owned(),
            Err(error) => {
                if let Some(finding) = judge(error) {
                    return (Err(finding), failures);
                }
            }
        }
    };
    let mut parts = Vec::new();
    loop {
        let mut next = match ready(message.next_part()) {
            Ok(None) => return (Ok((control, parts)), failures),
            Ok(Some(next)) => next,
            Err(error) => match judge(error) {
                Some(finding) => return (Err(finding), failures),
                None => continue,
            },
        };
        let mut body = Vec::new();
        loop {
            // As a stream, which goes on too.
            match ready(next.next()) {
                Some(Ok(chunk)) => body.extend_from_slice(&chunk),
                None => break,
                Some(Err(error)) => {
                    if let Some(finding) = judge(error) {
                        return (Err(finding), failures);
                    }
                }
            }
        }
        parts.push(part(next.head(), body));
    }
}

/// Chunks that each end where something becomes certain.
fn chunks() -> Vec<Bytes> {
    let document = control("[{\"$ref\":\"p\"},{\"$ref\":\"q\"}]");
    let head =
        |name| format!("Content-Disposition: form-data; name={name}\r\nContent-Type: a/b\r\n\r\n");
    let chunks = [
        format!("--b\r\n{document}"),
        "\r\n--b\r\n".to_owned(),   // 2: the control document
        head("p"),                  // 3: the head of `p`
        "AAAA".to_owned(),          // 4
        "BBBB".to_owned(),          // 5
        "CC\r\n--b".to_owned(),     // 6
        "\r\n".to_owned(),          // 7: the end of `p`
        head("q"),                  // 8
        "DD".to_owned(),            // 9
        "\r\n--b--\r\n".to_owned(), // 10: the end of `q`, and of the message with the next
    ];
    chunks.map(Bytes::from).into()
}

#[test]
fn no_chunk_is_taken_before_it_is_needed() {
    let body = Body::new(chunks());
    let counts = body.counts();
    let mut message = reader(MULTIPART, body);
    assert_eq!(counts().chunks, 0);
    ready(message.control()).unwrap();
    ready(message.control()).unwrap();
    assert_eq!(counts().chunks, 2);
    let mut part = ready(message.next_part()).unwrap().unwrap();
    assert_eq!(counts().chunks, 3);
    for (chunk, taken) in [(Some("AAAA"), 4), (Some("BBBB"), 5), (Some("CC"), 6), (None, 7)] {
        assert_eq!(ready(part.chunk()).unwrap(), chunk.map(Bytes::from));
        assert_eq!(counts().chunks, taken);
    }
    ready(message.next_part()).unwrap().unwrap();
    assert_eq!(counts().chunks, 8);
    assert!(ready(message.next_part()).unwrap().is_none());
    assert_eq!((counts().chunks, counts().ended), (10, true));
}

#[test]
fn no_chunk_is_taken_before_a_stream_of_items_needs_it() {
    let body = Body::new(chunks());
    let counts = body.counts();
    let mut message = reader(MULTIPART, body);
    let mut taken = Vec::new();
    while let Some(item) = ready(message.next()) {
        let what = match item.unwrap() {
            Item::Control(_) => "control",
            Item::PartStart(_) => "start",
            Item::Data(_) => "data",
            Item::PartEnd { .. } => "end",
            other => panic!("{other:?}"),
        };
        taken.push((what, counts().chunks));
    }
    let of_p = [("start", 3), ("data", 4), ("data", 5), ("data", 6), ("end", 7)];
    let of_q = [("start", 8), ("data", 9), ("end", 10)];
    assert_eq!(taken, [&[("control", 2)][..], &of_p, &of_q].concat());
    assert!(counts().ended);
}

#[test]
fn a_reader_takes_no_chunk_before_its_buffer_needs_one() {
    let body = Body::new(chunks());
    let counts = body.counts();
    let mut message = reader(MULTIPART, body);
    let mut part = ready(message.next_part()).unwrap().unwrap();
    let mut buffer = [0; 3];
    assert_eq!(ready(part.read(&mut [])).unwrap(), 0);
    assert_eq!(counts().chunks, 3, "an empty buffer needs nothing");
    for (n, read, taken) in [(3, "AAA", 4), (1, "A", 4), (3, "BBB", 5), (1, "B", 5), (2, "CC", 6)] {
        assert_eq!(ready(part.read(&mut buffer)).unwrap(), n);
        assert_eq!((&buffer[..n], counts().chunks), (read.as_bytes(), taken));
    }
    assert_eq!((ready(part.read(&mut buffer)).unwrap(), counts().chunks), (0, 7));
}

#[test]
fn what_a_reader_leaves_of_a_chunk_comes_next() {
    let mut message = reader(MULTIPART, Body::new(chunks()));
    let mut part = ready(message.next_part()).unwrap().unwrap();
    let mut buffer = [0; 3];
    assert_eq!((ready(part.read(&mut buffer)).unwrap(), &buffer), (3, b"AAA"));
    assert_eq!(ready(part.chunk()).unwrap().unwrap(), "A");
    assert_eq!((ready(part.read(&mut buffer)).unwrap(), &buffer), (3, b"BBB"));
    assert_eq!(ready(part.next()).unwrap().unwrap(), "B");
    assert_eq!(ready(part.bytes()).unwrap(), "CC");
    assert_eq!(ready(part.bytes()).unwrap(), "");
}

#[test]
fn parts_are_read_in_one_piece_to_a_vector_or_to_text() {
    let mut message = reader(MULTIPART, Body::new(chunks()));
    let mut part = ready(message.next_part()).unwrap().unwrap();
    assert_eq!(part.head().name(), "p");
    assert_eq!(ready(part.bytes()).unwrap(), "AAAABBBBCC");
    let mut part = ready(message.next_part()).unwrap().unwrap();
    let mut text = String::new();
    assert_eq!(ready(part.read_to_string(&mut text)).unwrap(), 2);
    assert_eq!((text.as_str(), part.head().name().as_str()), ("DD", "q"));
    ready(message.finish()).unwrap();
}

#[test]
fn what_is_left_unread_of_a_part_is_skipped() {
    for chunks_read in 0..4 {
        let mut message = reader(MULTIPART, Body::new(chunks()));
        let mut part = ready(message.next_part()).unwrap().unwrap();
        for _ in 0..chunks_read {
            assert!(ready(part.chunk()).unwrap().is_some());
        }
        let mut next = ready(message.next_part()).unwrap().unwrap();
        assert_eq!(next.head().name(), "q", "{chunks_read} chunks read");
        assert_eq!(ready(next.bytes()).unwrap(), "DD", "{chunks_read} chunks read");
        ready(message.finish()).unwrap();
    }
}

#[test]
fn what_a_reader_has_left_of_a_chunk_is_skipped_too() {
    let mut message = reader(MULTIPART, Body::new(chunks()));
    let mut part = ready(message.next_part()).unwrap().unwrap();
    assert_eq!(ready(part.read(&mut [0; 3])).unwrap(), 3);
    let mut next = ready(message.next_part()).unwrap().unwrap();
    assert_eq!(ready(next.bytes()).unwrap(), "DD");
}

#[test]
fn a_part_that_comes_in_one_chunk_is_not_copied() {
    let body = Bytes::from(message_of(&[("p", "content")]));
    let within = body.as_ptr_range();
    let mut message = reader(MULTIPART, Body::new([body]));
    let mut part = ready(message.next_part()).unwrap().unwrap();
    let content = ready(part.bytes()).unwrap();
    assert_eq!(content, "content");
    assert!(within.contains(&content.as_ptr()));
}

/// Parts that were handed out prove nothing: what follows does.
#[test]
fn a_message_cut_short_anywhere_is_refused_acp_frm_5() {
    let body = Bytes::from(message_of(&[("p", "one\r\n--"), ("q", ""), ("r", "three")]));
    let complete = body.len() - "\r\n".len();
    let (mut refused_after_parts, mut refused_in_a_part) = (0, 0);
    for n in 0..=body.len() {
        let short = body.slice(..n);
        let whole = decode_whole(MULTIPART.as_bytes(), &short, Config::new());
        let code = whole.as_ref().err().map(|error| error.code);
        // A lone CR after the close delimiter is no end of its line.
        let expected = match n {
            _ if n < complete => Some("truncated"),
            _ if n == complete + 1 => Some("delimiter_malformed"),
            _ => None,
        };
        assert_eq!(code, expected, "{n} bytes");
        for size in [1, 7, body.len()] {
            let chunks = cut(&short, vec![size; n / size + 1]);
            for (way, outcome) in outcomes(MULTIPART.as_bytes(), &chunks, Config::new()) {
                assert_eq!(outcome, whole, "{way}, {n} bytes in chunks of {size}");
            }
            let mut message = reader(MULTIPART, Body::new(chunks));
            let mut parts = 0;
            let error = loop {
                match ready(message.next_part()) {
                    Ok(None) => break None,
                    Ok(Some(mut part)) => match ready(part.bytes()) {
                        Ok(_) => parts += 1,
                        Err(error) => {
                            assert_eq!(ready(part.chunk()).unwrap_err(), error, "errors stay");
                            refused_in_a_part += 1;
                            break Some(error.code());
                        }
                    },
                    Err(error) => {
                        refused_after_parts += usize::from(parts > 0);
                        break Some(error.code());
                    }
                }
            };
            assert_eq!(error, expected, "{n} bytes in chunks of {size}");
        }
    }
    assert!(refused_after_parts > 0 && refused_in_a_part > 0);
}

#[test]
fn a_json_form_cut_short_anywhere_is_refused_acp_msg_1() {
    let body = Bytes::from_static(b"{\"a\":[1,2]}");
    for n in 0..body.len() {
        let short = body.slice(..n);
        let whole = decode_whole(JSON.as_bytes(), &short, Config::new());
        assert_eq!(whole.as_ref().unwrap_err().code, "control_malformed");
        let chunks: Vec<_> = bytewise(&short).collect();
        for (way, outcome) in outcomes(JSON.as_bytes(), &chunks, Config::new()) {
            assert_eq!(outcome, whole, "{way}, {n} bytes");
        }
    }
}

#[test]
fn an_error_in_a_part_is_that_of_the_message() {
    let body = Bytes::from(message_of(&[("p", "12345"), ("q", "")]));
    let config = Config::new().limits(Limits::new().max_part_bytes(4));
    let decoder = EnvelopeDecoder::new(MULTIPART, config).unwrap();
    let chunks: Vec<_> = bytewise(&body).collect();
    let mut message = EnvelopeStream::new(Body::new(chunks), decoder);
    ready(message.control()).unwrap();
    let mut part = ready(message.next_part()).unwrap().unwrap();
    for byte in ["1", "2", "3", "4"] {
        assert_eq!(ready(part.chunk()).unwrap().unwrap(), byte);
    }
    let error = ready(part.chunk()).unwrap_err();
    assert_eq!((error.code(), error.category()), ("limit_part_size", Category::Limit));
    assert_eq!(ready(part.chunk()).unwrap_err(), error);
    assert_eq!(ready(part.bytes()).unwrap_err(), error);
    assert_eq!(ready(part.next()).unwrap().unwrap_err(), error);
    let as_reader = ready(part.read(&mut [0; 1])).unwrap_err();
    assert_eq!(as_reader.kind(), io::ErrorKind::InvalidData);
    assert_eq!(ready(message.next_part()).unwrap_err(), error);
    assert_eq!(ready(message.finish()).unwrap_err(), error);
}

#[test]
fn a_body_that_ends_by_failing_is_no_message_acp_frm_5() {
    let message = message_of(&[("p", "one")]);
    for (content_type, whole) in [(JSON, "12"), (MULTIPART, message.as_str())] {
        let chunks = [Ok(Bytes::from(whole.to_owned())), Err("reset")];
        let mut message = reader(content_type, Body::with_failures(chunks));
        assert_eq!(ready(message.finish()).unwrap_err().code(), "body_failed");
        for _ in 0..2 {
            let StreamError::Decode(error) = ready(message.finish()).unwrap_err() else { panic!() };
            let place = acp_envelope::Location::Byte(whole.len() as u64);
            assert_eq!((error.code(), error.location()), ("truncated", &place), "{content_type}");
        }
    }
}

#[test]
fn a_body_that_fails_is_asked_again_at_the_next_call() {
    let failing = || chunks().into_iter().flat_map(|chunk| [Err(FAILURE), Ok(chunk)]);
    let broken = StreamError::Body(FAILURE);

    let mut message = reader(MULTIPART, Body::with_failures(failing()));
    assert_eq!(ready(message.control()).unwrap_err(), broken); // and 1
    assert_eq!(ready(message.control()).unwrap_err(), broken); // and 2
    ready(message.control()).unwrap();
    assert_eq!(ready(message.next_part()).unwrap_err(), broken); // and 3
    let mut part = ready(message.next_part()).unwrap().unwrap();
    assert_eq!(ready(part.chunk()).unwrap_err(), broken); // and 4
    assert_eq!(ready(part.chunk()).unwrap().unwrap(), "AAAA");
    let error = ready(part.read(&mut [0; 9])).unwrap_err(); // and 5
    assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::Other, FAILURE));
    let mut buffer = [0; 9];
    assert_eq!((ready(part.read(&mut buffer)).unwrap(), &buffer[..4]), (4, &b"BBBB"[..]));
    assert_eq!(ready(part.next()).unwrap().unwrap_err(), broken); // and 6
    assert_eq!(ready(part.next()).unwrap().unwrap(), "CC");
    for _ in 7..=10 {
        assert_eq!(ready(message.finish()).unwrap_err(), broken);
    }
    ready(message.finish()).unwrap();
}

#[test]
fn a_stream_of_items_ends_after_a_failure_of_the_body() {
    let chunks: Vec<_> = chunks().into_iter().map(Ok).collect();
    for at in 0..=chunks.len() {
        let mut chunks = chunks.clone();
        chunks.insert(at, Err(FAILURE));
        let body = Body::with_failures(chunks);
        let counts = body.counts();
        let mut message = reader(MULTIPART, body);
        let error = loop {
            match ready(message.next()) {
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => panic!("a message without its end is no message"),
            }
        };
        assert_eq!(error, StreamError::Body(FAILURE));
        assert!(ready(message.next()).is_none() && ready(message.next()).is_none());
        assert_eq!(counts().chunks, at, "and asks for nothing more");
    }
}

#[test]
fn decoding_at_once_passes_a_failure_of_the_body_on() {
    let chunks = chunks().into_iter().map(Ok).take(5).chain([Err(FAILURE)]);
    let body = Body::with_failures(chunks);
    let error = ready(stream::decode(body, decoder(MULTIPART))).unwrap_err();
    assert_eq!(error, StreamError::Body(FAILURE));
}

#[test]
fn a_body_that_is_lent_outlives_the_message() {
    let chunks = [Bytes::from(message_of(&[]).replace("--b--", "--bx--")), "a".into(), "b".into()];
    let mut body = Body::new(chunks);
    let mut message = EnvelopeStream::new(&mut body, decoder(MULTIPART));
    assert_eq!(ready(message.finish()).unwrap_err().code(), "delimiter_malformed");
    drop(message);
    let rest: Vec<_> = ready(body.map(Result::unwrap).collect());
    assert_eq!(rest, ["a", "b"], "nothing more was asked for");
}

#[test]
fn the_decoder_gives_the_control_document_of_a_refused_message() {
    let body = message_of(&[("p", "1")]).replace("name=\"p\"", "name=\"q\"");
    let mut message = reader(MULTIPART, Body::new([body.into()]));
    assert_eq!(ready(message.finish()).unwrap_err().code(), "ref_unresolved");
    let salvaged = message.into_decoder().salvage().unwrap();
    assert_eq!(salvaged.text(), "[{\"$ref\":\"p\"}]");
}

#[test]
fn the_json_form_is_a_control_document_and_no_part_acp_msg_3() {
    let body = Bytes::from_static(b"{\"a\":[1,2]}");
    for chunks in [vec![body.clone()], bytewise(&body).collect(), vec![Bytes::new(), body.clone()]]
    {
        let source = Body::new(chunks.clone());
        let counts = source.counts();
        let mut message = reader(JSON, source);
        assert_eq!(ready(message.control()).unwrap().text(), body);
        assert!(counts().ended, "its end is that of the message");
        assert!(ready(message.next_part()).unwrap().is_none());
        ready(message.finish()).unwrap();

        let items = reader(JSON, Body::new(chunks.clone()));
        let items: Vec<_> = ready(items.map(Result::unwrap).collect());
        assert!(matches!(&items[..], [Item::Control(control)] if control.text() == body));

        let multipart = decode(MULTIPART, fixture::message([control("{\"a\":[1,2]}")])).unwrap();
        let envelope = ready(stream::decode(Body::new(chunks), decoder(JSON)));
        assert_eq!(envelope.unwrap(), multipart);
    }
}

#[test]
fn references_of_the_json_form_are_refused_acp_msg_5() {
    let body = [Bytes::from("[{\"$ref\":"), "\"p\"}]".into()];
    let mut message = reader(JSON, Body::new(body));
    for _ in 0..2 {
        assert_eq!(ready(message.control()).unwrap_err().code(), "ref_unresolved");
    }
}

/// What a pipe that holds `size` bytes lets through, written in pieces of `piece` bytes.
async fn through_a_pipe(
    body: &Bytes,
    size: usize,
    piece: usize,
) -> Result<(String, Vec<Part>), StreamError<io::Error>> {
    let (mut near, far) = tokio::io::duplex(size);
    let write = async move {
        for piece in body.chunks(piece) {
            // A refused message is not read to its end.
            if near.write_all(piece).await.is_err() {
                break;
            }
        }
    };
    let read = async move {
        let mut message = EnvelopeStream::from_reader(far, decoder(MULTIPART));
        read(&mut message).await
    };
    tokio::join!(write, read).1
}

#[tokio::test]
async fn a_message_comes_through_a_pipe_of_any_size_acp_frm_7() {
    let content = "0123456789abcdef\r\n--b?".repeat(1000);
    let content = content.replace("--b?", "--B?");
    let body = Bytes::from(message_of(&[("p", &content), ("q", ""), ("r", "\r\n")]));
    let expected = decode_whole(MULTIPART.as_bytes(), &body, Config::new()).unwrap();
    for (size, piece) in [(1, 1), (7, 100), (1000, 3), (4096, 4096), (1 << 20, 1 << 20)] {
        let (control, parts) = through_a_pipe(&body, size, piece).await.unwrap();
        assert_eq!((&control, &parts), (&expected.control, &expected.parts), "{size}, {piece}");
        let short = body.slice(..body.len() - 4);
        let error = through_a_pipe(&short, size, piece).await.unwrap_err();
        assert_eq!(error.code(), "truncated", "{size}, {piece}");
    }
}

#[test]
fn a_reader_is_read_64_kib_at_once() {
    let content = "x".repeat(1 << 20);
    let body = message_of(&[("p", &content)]);
    let mut message = EnvelopeStream::from_reader(body.as_bytes(), decoder(MULTIPART));
    let mut part = ready(message.next_part()).unwrap().unwrap();
    let (mut received, mut largest) = (0, 0);
    while let Some(chunk) = ready(part.chunk()).unwrap() {
        assert!(chunk.iter().all(|&b| b == b'x'));
        received += chunk.len();
        largest = largest.max(chunk.len());
    }
    assert_eq!((received, largest), (1 << 20, 64 << 10));
}

/// A reader that gives some bytes, and then fails.
struct Failing(&'static [u8]);

impl AsyncRead for Failing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.0.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        buf.put_slice(std::mem::take(&mut self.0));
        Poll::Ready(Ok(()))
    }
}

#[test]
fn an_error_of_the_reader_is_passed_on() {
    let mut message = EnvelopeStream::from_reader(Failing(b"--b\r\nContent-"), decoder(MULTIPART));
    let error = ready(message.control()).unwrap_err();
    assert_eq!((error.code(), error.category()), ("body_failed", Category::Io));
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::ConnectionReset);
}

/// Compiles only if all of it can go to another thread, and runs there.
async fn read_in_a_task<S>(body: impl Fn() -> S) -> Result<String, StreamError<io::Error>>
where
    S: Stream<Item = io::Result<Bytes>> + Send + Unpin,
{
    let mut message = assert_send(EnvelopeStream::new(body(), decoder(MULTIPART)));
    let control = assert_send(message.control()).await?.text().to_owned();
    let mut part = assert_send(assert_send(message.next_part()).await?.unwrap());
    assert_eq!(assert_send(part.chunk()).await?.unwrap(), "AAAA");
    assert_eq!(assert_send(part.bytes()).await?, "BBBBCC");
    assert_eq!(assert_send(part.read(&mut [0; 1])).await.unwrap(), 0);
    assert!(assert_send(message.next()).await.unwrap().is_ok());
    assert_send(message.finish()).await?;
    let decoding = assert_send(stream::decode(body(), decoder(MULTIPART)));
    assert_eq!(decoding.await?.control().text(), control);
    Ok(control)
}

#[tokio::test]
async fn a_message_can_be_read_in_a_task() {
    type Boxed = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;
    let boxed = || -> Boxed { Box::pin(futures_util::stream::iter(chunks().into_iter().map(Ok))) };
    let control = tokio::spawn(read_in_a_task(boxed)).await.unwrap().unwrap();
    assert_eq!(control, "[{\"$ref\":\"p\"},{\"$ref\":\"q\"}]");
    let plain = || Body::with_failures(chunks().into_iter().map(Ok)).hesitant();
    assert_eq!(tokio::spawn(read_in_a_task(plain)).await.unwrap().unwrap(), control);
}

/// An error of some body that is no I/O error.
#[derive(Debug, PartialEq)]
struct Broken(u8);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broken {}", self.0)
    }
}

impl Error for Broken {}

fn decode_error(content_type: &str, body: &str, config: Config) -> DecodeError {
    decode_with(content_type, body.to_owned(), config).unwrap_err()
}

#[test]
fn errors_become_io_errors_of_the_kind_that_says_the_most() {
    let small = Config::new().limits(Limits::new().max_message_bytes(3));
    for (error, category, kind) in [
        (decode_error(MULTIPART, "--b", Config::new()), Category::Truncated, "UnexpectedEof"),
        (decode_error(MULTIPART, "--bx", Config::new()), Category::Syntax, "InvalidData"),
        (decode_error(JSON, "{\"$ref\":\"p\"}", Config::new()), Category::Rule, "InvalidData"),
        (decode_error(MULTIPART, "--b\r\n", small), Category::Limit, "InvalidData"),
    ] {
        let streamed = StreamError::<Broken>::from(error.clone());
        assert_eq!((streamed.code(), streamed.category()), (error.code(), category));
        assert_eq!(streamed.to_string(), error.to_string());
        assert!(streamed.source().is_none(), "it is that error");
        let as_io = io::Error::from(streamed);
        assert_eq!(format!("{:?}", as_io.kind()), kind);
        assert_eq!(as_io.get_ref().unwrap().downcast_ref(), Some(&error));
    }

    let error = StreamError::Body(Broken(7));
    assert_eq!((error.code(), error.category()), ("body_failed", Category::Io));
    assert_eq!(error.to_string(), "body of the message cannot be read");
    assert_eq!(error.source().unwrap().downcast_ref(), Some(&Broken(7)));
    let as_io = io::Error::from(error);
    assert_eq!(as_io.kind(), io::ErrorKind::Other);
    assert_eq!(as_io.get_ref().unwrap().downcast_ref(), Some(&Broken(7)));
}

#[test]
fn an_io_error_of_the_body_stays_itself() {
    let reset = || io::Error::from_raw_os_error(104);
    let as_io = io::Error::from(StreamError::Body(reset()));
    assert_eq!(as_io.raw_os_error(), Some(104));
    let boxed: Box<dyn Error + Send + Sync> = Box::new(reset());
    assert_eq!(io::Error::from(StreamError::Body(boxed)).raw_os_error(), Some(104));
}
