//! Messages and bytes that are held in memory or in a file: the same as they were sent, within the
//! memory that is documented, and nothing is left behind.
#![cfg(feature = "spool")]

mod adapter;
mod fixture;
mod support;

use std::{
    error::Error as _,
    fs, io,
    path::{Path, PathBuf},
    pin::Pin,
    task::{Context, Waker},
};

use acp_envelope::{
    Category, Config, EnvelopeDecoder, Limits, decode_with,
    spool::{Content, Spool, SpoolError, SpoolWriter, SpooledEnvelope},
    stream::StreamError,
};
use adapter::{Body, assert_send, findings, part};
use bytes::Bytes;
use fixture::{JSON, MULTIPART, control, message_of, reference};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use proptest::{collection::vec, prelude::*};
use support::{
    Finding, Message, bytewise,
    cases::{Case, captures, corpus},
    cut, decode_whole,
    messages::{cases, message},
    random_cuts,
};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

const FAILURE: &str = "the line is dead";

fn decoder() -> EnvelopeDecoder {
    EnvelopeDecoder::new(MULTIPART, Config::new()).unwrap()
}

/// A runtime with one thread for files, which so does one thing after the other.
fn runtime() -> Runtime {
    Builder::new_current_thread().max_blocking_threads(1).build().unwrap()
}

/// Waits until the thread for files has done what it was given before.
async fn files_are_done() {
    tokio::task::spawn_blocking(|| ()).await.unwrap();
}

/// Bytes of which no block is like another.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    // No line breaks: it never holds a delimiter.
    (0..len).map(|_| next() & 0x7f | 0x40).collect()
}

fn text(len: usize) -> String {
    String::from_utf8(noise(len)).unwrap()
}

/// A directory of a test's own for temporary files.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn spool(&self, max_memory: usize) -> Spool {
        Spool::new().max_memory_bytes(max_memory).directory(self.path())
    }

    /// How many names there are. On Windows files have names until they are closed.
    fn names(&self) -> usize {
        if cfg!(windows) { 0 } else { fs::read_dir(self.path()).unwrap().count() }
    }

    /// How many files in it the process has open.
    #[cfg(target_os = "linux")]
    fn open_files(&self) -> usize {
        let directory = self.path().canonicalize().unwrap();
        let open = fs::read_dir("/proc/self/fd").unwrap();
        // A descriptor of another test may be gone by now.
        let files = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        files.filter(|file| file.starts_with(&directory)).count()
    }

    fn assert_open_files(&self, expected: usize, when: &str) {
        assert_eq!(self.names(), 0, "{when}");
        #[cfg(target_os = "linux")]
        assert_eq!(self.open_files(), expected, "{when}");
        let _ = expected;
    }
}

async fn receive(
    spool: &Spool,
    body: impl IntoIterator<Item = Bytes>,
) -> Result<SpooledEnvelope, SpoolError<std::convert::Infallible>> {
    spool.receive(Body::new(body), decoder()).await
}

/// What a content's stream gives.
async fn streamed(content: &Content) -> Vec<u8> {
    let mut chunks = content.stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.unwrap();
        let most = if content.is_in_memory() { content.len() } else { 128 << 10 };
        assert!((1..=most).contains(&(chunk.len() as u64)), "{} bytes at once", chunk.len());
        bytes.extend_from_slice(&chunk);
    }
    bytes
}

/// The message as the other tests know it.
async fn held(envelope: &SpooledEnvelope) -> Message {
    let mut parts = Vec::new();
    for held in envelope.parts() {
        let body = held.content().bytes().await.unwrap();
        assert_eq!(held.content().len(), body.len() as u64);
        assert_eq!(held.content().is_empty(), body.is_empty());
        assert_eq!(streamed(held.content()).await, body);
        parts.push(part(held.head(), body));
    }
    let control = envelope.control().text().to_owned();
    Message { control, parts, warnings: findings(envelope.warnings()) }
}

fn refused(error: &SpoolError<std::convert::Infallible>) -> Finding {
    match error {
        SpoolError::Stream(StreamError::Decode(error)) => Finding::from(error),
        other => panic!("{other:?}"),
    }
}

fn received(
    runtime: &Runtime,
    spool: &Spool,
    content_type: &[u8],
    chunks: Vec<Bytes>,
    config: Config,
) -> Result<Message, Finding> {
    let decoder = EnvelopeDecoder::new(content_type, config).map_err(|e| Finding::from(&e))?;
    runtime.block_on(async {
        match spool.receive(Body::new(chunks), decoder).await {
            Ok(envelope) => Ok(held(&envelope).await),
            Err(error) => Err(refused(&error)),
        }
    })
}

#[test]
fn every_case_and_capture_has_the_same_outcome_as_without_a_spool_acp_frm_7() {
    let (place, runtime) = (Place::new(), runtime());
    for Case { id, content_type, body, config, .. } in corpus().into_iter().chain(captures()) {
        let whole = decode_whole(&content_type, &body, config);
        for (seed, max_memory) in [(1, 0), (2, 10), (3, MIB)] {
            let chunks = random_cuts(&body, seed);
            let outcome =
                received(&runtime, &place.spool(max_memory), &content_type, chunks, config);
            assert_eq!(outcome, whole, "{id} with {max_memory} bytes in memory");
        }
    }
    place.assert_open_files(0, "at the end");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 4, ..cases() })]

    #[test]
    fn what_is_held_is_what_was_sent_acp_frm_3(
        message in message(),
        strict: bool,
        max_memory in 0..40usize,
        seed: u64,
    ) {
        let config = if strict { Config::strict() } else { Config::new() };
        let body = Bytes::from(message.body.clone());
        let whole = decode_whole(&message.content_type, &body, config);
        let spool = Spool::new().max_memory_bytes(max_memory);
        let chunks = random_cuts(&body, seed);
        let outcome = received(&runtime(), &spool, &message.content_type, chunks, config);
        prop_assert_eq!(outcome, whole);
    }

    #[test]
    fn a_writer_holds_what_was_written(
        pieces in vec(vec(any::<u8>(), 0..20), 0..12),
        max_memory in 0..100usize,
    ) {
        let written = pieces.concat();
        let content = runtime().block_on(async {
            let mut writer = Spool::new().max_memory_bytes(max_memory).writer();
            for piece in &pieces {
                writer.write(piece).await.unwrap();
            }
            let content = writer.finish().await.unwrap();
            assert_eq!(content.bytes().await.unwrap(), written);
            assert_eq!(streamed(&content).await, written);
            content
        });
        prop_assert_eq!(content.len(), written.len() as u64);
        prop_assert_eq!(content.is_empty(), written.is_empty());
        prop_assert_eq!(content.is_in_memory(), written.len() <= max_memory);
    }
}

#[tokio::test]
async fn a_spooled_envelope_says_what_an_envelope_says() {
    let place = Place::new();
    let body = "preamble\r\n--b\r\nContent-Type: application/json\r\n\r\n\
        [{\"$ref\":\"p\"},{\"$ref\":\"p\"}]\r\n\
        --b\r\nContent-Disposition: form-data; name=p; filename=\"a \\\"b\\\".txt\"\r\n\
        X-A: b\r\n\r\n12345\r\n\
        --b\r\nContent-Disposition: form-data; name=q\r\n\
        Content-Type: A/B;c=\"d\"\r\n\r\n\r\n--b--\r\n";
    let envelope = acp_envelope::decode(MULTIPART, body).unwrap();
    for max_memory in [0, 4, 5] {
        let spooled = receive(&place.spool(max_memory), [body.into()]).await.unwrap();
        assert_eq!(spooled.control(), envelope.control());
        assert_eq!(spooled.control_name(), envelope.control_name());
        assert_eq!(spooled.warnings(), envelope.warnings());
        assert!(spooled.warnings().len() > 3);
        assert_eq!(spooled.parts().len(), 2);
        for (ours, theirs) in spooled.parts().iter().zip(envelope.parts()) {
            assert_eq!(ours.head(), theirs.head());
            assert_eq!(ours.head().index(), theirs.head().index());
            assert_eq!(ours.head().body_offset(), theirs.head().body_offset());
            assert!(ours.head().referenced_by().eq(theirs.head().referenced_by()));
            assert!(ours.head().fields().eq(theirs.head().fields()));
            assert_eq!(&ours.content().bytes().await.unwrap(), theirs.body());
        }
        let named = spooled.part("q").unwrap();
        assert_eq!((named.head().index(), named.content().len()), (2, 0));
        assert!(spooled.part("Q").is_none() && spooled.part("_acp_control").is_none());
        let references: Vec<acp_envelope::Reference> = spooled.control().deserialize().unwrap();
        assert_eq!(spooled.resolve(&references[1]).unwrap().head().name(), "p");
    }
    let named = receive(&place.spool(0), [message_of(&[]).into()]).await.unwrap();
    assert_eq!(named.control_name().unwrap(), &"c");
}

#[tokio::test]
async fn the_json_form_is_held_too_acp_msg_3() {
    let place = Place::new();
    let decoder = || EnvelopeDecoder::new(JSON, Config::new()).unwrap();
    let chunks = bytewise(&Bytes::from_static(b"{\"a\":[1,2]}")).collect::<Vec<_>>();
    let json = place.spool(0).receive(Body::new(chunks), decoder()).await.unwrap();
    let multipart = fixture::message([control("{\"a\":[1,2]}")]);
    let multipart = receive(&place.spool(0), [multipart.into()]).await.unwrap();
    assert_eq!(json.control(), multipart.control());
    assert!(json.parts().is_empty() && multipart.parts().is_empty());
    assert_eq!(json.control_name(), None);
    place.assert_open_files(0, "without parts");
}

#[tokio::test]
async fn n_bytes_are_held_in_memory_and_n_plus_1_in_a_file() {
    const N: usize = 1000;
    let place = Place::new();
    for (len, in_memory) in [(0, true), (1, true), (N - 1, true), (N, true), (N + 1, false)] {
        let content = text(len);
        let body = Bytes::from(message_of(&[("p", &content)]));
        for chunks in [vec![body.clone()], bytewise(&body).collect(), random_cuts(&body, 1)] {
            let envelope = receive(&place.spool(N), chunks).await.unwrap();
            let held = envelope.part("p").unwrap().content();
            assert_eq!((held.len(), held.is_in_memory()), (len as u64, in_memory), "{len}");
            place.assert_open_files(usize::from(!in_memory), "while it is held");
            assert_eq!(held.bytes().await.unwrap(), content);
            drop(envelope);
            place.assert_open_files(0, "when it is dropped");
        }
    }
}

#[tokio::test]
async fn without_memory_every_byte_is_in_a_file() {
    let place = Place::new();
    let body = message_of(&[("p", ""), ("q", "1")]);
    let envelope = receive(&place.spool(0), [body.into()]).await.unwrap();
    let in_memory = |name| envelope.part(name).unwrap().content().is_in_memory();
    assert!(in_memory("p") && !in_memory("q"), "nothing needs no file");
}

#[tokio::test]
async fn all_parts_share_the_memory() {
    let place = Place::new();
    // Of 1000 bytes, `pa` leaves 400, for which `pb` is too large and `pc` is not.
    let parts = [
        ("pa", 600, true),
        ("pb", 401, false),
        ("pc", 400, true),
        ("pd", 1, false),
        ("pe", 0, true),
        ("pf", 5000, false),
    ];
    let contents = parts.map(|(name, len, _)| (name, text(len)));
    let contents: Vec<_> = contents.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let body = Bytes::from(message_of(&contents));
    for chunks in [vec![body.clone()], bytewise(&body).collect(), random_cuts(&body, 7)] {
        let envelope = receive(&place.spool(1000), chunks).await.unwrap();
        for ((name, len, in_memory), (_, content)) in parts.into_iter().zip(&contents) {
            let held = envelope.part(name).unwrap().content();
            assert_eq!((held.len(), held.is_in_memory()), (len as u64, in_memory), "{name}");
            assert_eq!(held.bytes().await.unwrap(), content.as_bytes(), "{name}");
            assert_eq!(streamed(held).await, content.as_bytes(), "{name}");
        }
        place.assert_open_files(1, "all parts share a file");
    }
}

/// Larger than what is written or read at once, at places in the file that are no multiples of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_one_file_are_read_at_once_any_number_of_times() {
    let place = Place::new();
    let all = text(MIB);
    let contents: Vec<(String, &str)> = [300_001, 1, 131_072, 0, 131_073, 262_145]
        .into_iter()
        .enumerate()
        .map(|(i, len)| (format!("p{i}"), &all[i * 1000..i * 1000 + len]))
        .collect();
    let parts: Vec<_> = contents.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let body = Bytes::from(message_of(&parts));
    let chunks = cut(&body, vec![10_007; body.len() / 10_007]);
    let envelope = receive(&place.spool(0), chunks).await.unwrap();
    place.assert_open_files(1, "all parts share a file");
    let read = || {
        let reads = contents.iter().map(|(name, expected)| {
            let content = envelope.part(name).unwrap().content().clone();
            let expected = Bytes::copy_from_slice(expected.as_bytes());
            async move {
                let (streamed, bytes) = tokio::join!(streamed(&content), content.bytes());
                assert!(streamed == expected, "a stream of {} bytes", expected.len());
                assert!(bytes.unwrap() == expected, "{} bytes", expected.len());
            }
        });
        reads.collect::<Vec<_>>()
    };
    let tasks: Vec<_> =
        (0..4).flat_map(|_| read()).map(|read| tokio::spawn(assert_send(read))).collect();
    for task in tasks {
        task.await.unwrap();
    }
    // One is in the middle when another starts.
    let content = envelope.part("p0").unwrap().content();
    let mut first = content.stream();
    let start = first.next().await.unwrap().unwrap();
    assert_eq!(start.len(), 128 * KIB);
    assert!(content.bytes().await.unwrap().starts_with(&start));
    let rest: Vec<_> = first.try_collect().await.unwrap();
    assert!([vec![start], rest].concat().concat() == contents[0].1.as_bytes());
}

#[tokio::test]
async fn the_file_is_gone_with_the_last_that_needs_it() {
    let place = Place::new();
    let body = message_of(&[("p", "one"), ("q", "two")]);
    let envelope = receive(&place.spool(0), [body.into()]).await.unwrap();
    let again = envelope.clone();
    let content = envelope.part("q").unwrap().content().clone();
    drop(envelope);
    place.assert_open_files(1, "there is a clone");
    assert_eq!(again.part("p").unwrap().content().bytes().await.unwrap(), "one");
    drop(again);
    place.assert_open_files(1, "there is a content");
    let stream = content.stream();
    drop(content);
    place.assert_open_files(1, "there is a stream");
    let chunks: Vec<_> = stream.try_collect().await.unwrap();
    assert_eq!(chunks, ["two"]);
    place.assert_open_files(0, "there is none");
}

/// A valid start, with two parts of which the first is in the file.
fn start() -> String {
    message_of(&[("p", &text(300_000)), ("q", "two")]).replace("--b--\r\n", "")
}

#[test]
fn a_refused_message_leaves_nothing_behind() {
    let part = |name: &str| fixture::part(name, "");
    for (code, body) in [
        ("truncated", start()),
        ("truncated", start()[..200_000].to_owned()),
        ("delimiter_malformed", start() + "--bx"),
        ("name_duplicate", format!("{}--b\r\n{}\r\n--b--\r\n", start(), part("p"))),
        ("header_malformed", start() + "--b\r\nX : y\r\n"),
        ("ref_unresolved", start().replace("name=\"q\"", "name=\"r\"") + "--b--\r\n"),
        ("limit_part_size", start().replace("two", &"2".repeat(400_001))),
    ] {
        let place = Place::new();
        let limits = Limits::new().max_part_bytes(400_000);
        let decoder = EnvelopeDecoder::new(MULTIPART, Config::new().limits(limits)).unwrap();
        let body = Bytes::from(body);
        let chunks = cut(&body, vec![5003; body.len() / 5003]);
        runtime().block_on(async {
            let error = place.spool(1000).receive(Body::new(chunks), decoder).await.unwrap_err();
            assert_eq!(error.code(), code);
            files_are_done().await;
            place.assert_open_files(0, code);
        });
    }
}

#[test]
fn a_body_that_fails_leaves_nothing_behind() {
    let place = Place::new();
    runtime().block_on(async {
        let chunks = [Ok(Bytes::from(start())), Err(FAILURE)];
        let error = place.spool(1000).receive(Body::with_failures(chunks), decoder()).await;
        let error = error.unwrap_err();
        assert!(matches!(error, SpoolError::Stream(StreamError::Body(FAILURE))));
        assert_eq!((error.code(), error.category()), ("body_failed", Category::Io));
        files_are_done().await;
        place.assert_open_files(0, "after a failure of the body");
    });
}

/// Dropped at every place where it waits: for the body, and for the file.
#[test]
fn a_dropped_future_leaves_nothing_behind() {
    let place = Place::new();
    let body = Bytes::from(start() + "--b--\r\n");
    let chunks = cut(&body, vec![30_011; body.len() / 30_011]);
    let mut most = 0;
    for polls in 0.. {
        let done = runtime().block_on(async {
            let source = Body::new(chunks.clone()).hesitant();
            let spool = place.spool(1000);
            let mut receiving = Box::pin(spool.receive(source, decoder()));
            for _ in 0..polls {
                let cx = &mut Context::from_waker(Waker::noop());
                if receiving.as_mut().poll(cx).is_ready() {
                    return true;
                }
                files_are_done().await;
                #[cfg(target_os = "linux")]
                {
                    most = most.max(place.open_files());
                }
            }
            drop(receiving);
            files_are_done().await;
            place.assert_open_files(0, &format!("after {polls} polls"));
            false
        });
        if done {
            assert!(polls > chunks.len(), "{polls} polls");
            break;
        }
    }
    assert!(most == 1 || cfg!(not(target_os = "linux")), "there was a file");
    place.assert_open_files(0, "at the end");
}

#[tokio::test]
async fn no_file_is_opened_before_it_is_needed() {
    let directory = PathBuf::from("/no/such/directory");
    let spool = Spool::new().max_memory_bytes(3).directory(&directory);
    let envelope = receive(&spool, [message_of(&[("p", "one")]).into()]).await.unwrap();
    assert!(envelope.parts()[0].content().is_in_memory());
    let mut writer = spool.writer();
    writer.write(b"one").await.unwrap();
    assert!(writer.finish().await.unwrap().is_in_memory());
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_an_error_of_the_file() {
    let place = Place::new();
    let spool = place.spool(2).directory(place.path().join("missing"));
    let error = receive(&spool, [message_of(&[("p", "one")]).into()]).await.unwrap_err();
    assert_eq!((error.code(), error.category()), ("io", Category::Io));
    assert_eq!(error.to_string(), "temporary file failed");
    let source: &io::Error = error.source().unwrap().downcast_ref().unwrap();
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
    let SpoolError::File(error) = error else { panic!("{error:?}") };
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let error = spool.writer().write(b"one").await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn errors_of_the_message_and_of_the_body_keep_code_and_source() {
    let error = decode_with(MULTIPART, "--b", Config::new()).unwrap_err();
    let spooled = SpoolError::<io::Error>::from(error.clone());
    assert_eq!((spooled.code(), spooled.category()), ("truncated", Category::Truncated));
    assert_eq!(spooled.to_string(), error.to_string());
    assert!(spooled.source().is_none());
    let body = io::Error::from(io::ErrorKind::ConnectionReset);
    let spooled = SpoolError::from(StreamError::Body(body));
    assert_eq!((spooled.code(), spooled.category()), ("body_failed", Category::Io));
    let source: &io::Error = spooled.source().unwrap().downcast_ref().unwrap();
    assert_eq!(source.kind(), io::ErrorKind::ConnectionReset);
}

#[test]
fn a_spool_has_defaults() {
    let spool = Spool::new();
    assert_eq!(spool, Spool::default());
    assert_eq!((spool.max_memory_bytes, spool.directory), (256 * KIB, None));
    let set = Spool::new().max_memory_bytes(7).directory("d");
    assert_eq!((set.max_memory_bytes, set.directory), (7, Some(PathBuf::from("d"))));
}

#[tokio::test]
async fn a_writer_takes_pieces_of_any_size() {
    let place = Place::new();
    let written = noise(400_000);
    for size in [1000, 8191, 131_072, 131_073, 400_000] {
        for max_memory in [0, 1, 131_072, 399_999, 400_000] {
            let mut writer: SpoolWriter = place.spool(max_memory).writer();
            for piece in written.chunks(size) {
                writer.write(piece).await.unwrap();
                writer.write(b"").await.unwrap();
            }
            let content = writer.finish().await.unwrap();
            assert_eq!((content.len(), content.is_empty()), (400_000, false));
            assert_eq!(content.is_in_memory(), max_memory == 400_000);
            place.assert_open_files(usize::from(max_memory < 400_000), "while it is held");
            assert!(streamed(&content).await == written, "{size}, {max_memory}");
            assert!(content.bytes().await.unwrap() == written, "{size}, {max_memory}");
        }
    }
    place.assert_open_files(0, "at the end");
}

#[tokio::test]
async fn nothing_written_is_held_in_memory() {
    for max_memory in [0, 1] {
        let mut writer = Spool::new().max_memory_bytes(max_memory).writer();
        writer.write(b"").await.unwrap();
        let content = writer.finish().await.unwrap();
        assert!(content.is_empty() && content.is_in_memory());
        assert_eq!(content.len(), 0);
        assert_eq!(content.bytes().await.unwrap(), "");
        assert!(content.stream().next().await.is_none());
    }
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing_behind() {
    let place = Place::new();
    runtime().block_on(async {
        let mut writer = place.spool(10).writer();
        writer.write(&noise(200_000)).await.unwrap();
        place.assert_open_files(1, "while it is written");
        drop(writer);
        files_are_done().await;
        place.assert_open_files(0, "when it is dropped");
    });
}

#[tokio::test]
async fn a_message_can_be_received_in_a_task() {
    type Boxed = Pin<Box<dyn futures_util::Stream<Item = io::Result<Bytes>> + Send>>;
    async fn receive<S>(body: S) -> Vec<u8>
    where
        S: futures_util::Stream<Item = io::Result<Bytes>> + Send,
    {
        let spool = Spool::new().max_memory_bytes(1);
        let envelope = assert_send(spool.receive(body, decoder())).await.unwrap();
        let content = assert_send(envelope.parts()[0].content());
        assert_eq!(assert_send(content.bytes()).await.unwrap(), "one");
        let mut stream = assert_send(content.stream());
        let first = assert_send(stream.next()).await.unwrap().unwrap();
        let mut writer = assert_send(spool.writer());
        assert_send(writer.write(&first)).await.unwrap();
        let content = assert_send(writer.finish()).await.unwrap();
        content.bytes().await.unwrap().to_vec()
    }
    let chunks = || stream::iter([Ok(Bytes::from(message_of(&[("p", "one")])))]);
    let boxed: Boxed = Box::pin(chunks());
    assert_eq!(tokio::spawn(receive(boxed)).await.unwrap(), b"one");
    assert_eq!(tokio::spawn(receive(chunks())).await.unwrap(), b"one");
}

/// A message of parts of 1 MiB of the same byte each, in chunks that are made when asked for.
fn large(parts: usize, chunk: usize) -> impl Iterator<Item = Bytes> {
    let name = |i: usize| format!("p{i}");
    let document: Vec<_> = (0..parts).map(|i| reference(&name(i))).collect();
    let first = format!("--b\r\n{}", control(&format!("[{}]", document.join(","))));
    let content = move |i: usize| {
        let letter = b'a' + (i % 26) as u8;
        (0..MIB / chunk).map(move |_| Bytes::from(vec![letter; chunk]))
    };
    let head = move |i: usize| Bytes::from(format!("\r\n--b\r\n{}", fixture::part(&name(i), "")));
    let parts = (0..parts).flat_map(move |i| std::iter::once(head(i)).chain(content(i)));
    std::iter::once(Bytes::from(first)).chain(parts).chain(["\r\n--b--\r\n".into()])
}

/// The most memory that receiving takes, and what is held afterwards, in bytes. Counted is what the
/// thread that receives allocates: the thread for files has nothing of its own.
fn memory<I: Iterator<Item = Bytes>>(
    spool: &Spool,
    chunks: impl Fn() -> I,
    check: impl Fn(&Runtime, &SpooledEnvelope),
) -> (u64, i64) {
    let runtime = runtime();
    let receive = |chunks: I| {
        let body = stream::iter(chunks.map(Ok::<_, io::Error>));
        runtime.block_on(spool.receive(body, decoder())).unwrap()
    };
    // What is set up once is not a message's.
    drop(receive(chunks()));
    let (mut held, chunks) = (None, chunks());
    let used = allocation_counter::measure(|| held = Some(receive(chunks)));
    check(&runtime, &held.unwrap());
    (used.bytes_max, used.bytes_current)
}

/// What [`Limits`] says that a decoder keeps for these messages: no document of size, no header
/// block that is cut, names and warnings of each part, and the rest.
const fn of_the_decoder(parts: usize) -> usize {
    parts * KIB + 16 * KIB
}

/// What a runtime takes for each block that is written. The thread for files gives it back, mostly,
/// which is not counted here.
const TASK: usize = 256;

/// The same for `bytes` in chunks of one size, of which 128 KiB at most are written at once.
const fn of_the_runtime(bytes: usize, chunk: usize) -> usize {
    let block = if chunk < 128 * KIB { chunk } else { 128 * KIB };
    bytes / block * TASK
}

#[test]
fn memory_stays_within_what_is_documented_acp_lim_2() {
    let place = Place::new();
    for (max_memory, chunk) in [(256 * KIB, 64 * KIB), (4 * MIB, 64 * KIB), (256 * KIB, MIB)] {
        let spool = place.spool(max_memory);
        let (peak, _) = memory(
            &spool,
            || large(64, chunk),
            |runtime, envelope| {
                place.assert_open_files(1, "while it is held");
                let in_memory =
                    envelope.parts().iter().filter(|part| part.content().is_in_memory());
                assert_eq!(in_memory.count(), max_memory / MIB);
                for (i, part) in envelope.parts().iter().enumerate() {
                    let bytes = runtime.block_on(part.content().bytes()).unwrap();
                    assert_eq!(bytes.len(), MIB);
                    assert!(bytes.iter().all(|&byte| byte == b'a' + (i % 26) as u8), "part {i}");
                }
            },
        );
        let documented = 2 * max_memory + 128 * KIB + of_the_decoder(64) + chunk;
        let uncounted = of_the_runtime(64 * MIB, chunk);
        println!(
            "64 MiB, {max_memory} in memory, chunks of {chunk}: {peak} of {documented} bytes, and \
             up to {uncounted} that another thread frees"
        );
        assert!(peak <= (documented + uncounted) as u64, "{peak} of {documented} bytes");
    }
    place.assert_open_files(0, "at the end");
}

/// The control document comes in a chunk of its own, all parts in another.
#[test]
fn the_heads_that_are_held_do_not_keep_the_body_alive_acp_lim_2() {
    let place = Place::new();
    let content = text(MIB);
    let body = message_of(&[("p", &content), ("q", ""), ("r", "small")]);
    let (first, parts) = body.split_once("\r\n--b\r\n").unwrap();
    let pieces = [format!("{first}\r\n--b\r\n"), parts.to_owned()];
    for max_memory in [0, KIB] {
        let chunks = || pieces.iter().map(|piece| Bytes::copy_from_slice(piece.as_bytes()));
        let (peak, kept) = memory(&place.spool(max_memory), chunks, |_, envelope| {
            assert_eq!(envelope.parts().len(), 3);
        });
        assert!(peak >= MIB as u64, "the chunk is counted");
        assert!(kept < 16 * KIB as i64, "{kept} bytes are kept with {max_memory} in memory");
    }
}

#[test]
fn memory_does_not_grow_with_the_message_acp_lim_3() {
    let place = Place::new();
    let spool = place.spool(16 * KIB);
    let peak = |parts| memory(&spool, || large(parts, 32 * KIB), |_, _| {}).0;
    let (small, large) = (peak(8), peak(64));
    let uncounted = of_the_runtime(64 * MIB, 32 * KIB);
    println!("8 MiB: {small} bytes, 64 MiB: {large} bytes, {uncounted} uncounted");
    // A few bytes are kept of each part, and none of its content.
    let more = 56 * KIB + uncounted;
    assert!(large <= small + more as u64, "8 MiB: {small}, 64 MiB: {large}");
}

#[tokio::test]
async fn a_writer_that_has_failed_holds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::new().max_memory_bytes(2).directory(folder.path().join("missing"));
    let mut writer = spool.writer();
    writer.write(b"ab").await.unwrap();
    assert!(writer.write(b"c").await.is_err());
    assert!(writer.write(b"").await.is_err());
    assert!(writer.finish().await.is_err());
}
