//! Messages in HTTP: header fields, statuses and problem documents, bodies that are received and
//! sent, with hyper and reqwest on both ends (ACP-MSG-2).

#![cfg(feature = "http")]

mod fixture;
#[path = "support/net.rs"]
mod net;
mod support;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use ::http::{
    HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header::CONTENT_TYPE,
};
use acp_envelope::{
    Category, Config, Control, DecodeError, DecodeErrorKind, Envelope, EnvelopeBuilder, Limits,
    Location, NewPart, Reference, decode, decode_with,
    http::{
        self, BodyChunks, BodyError, EnvelopeBody, HeaderError, Problem, ValidateLayer,
        ValidatingBody, Verdict,
    },
    stream::{EnvelopeStream, StreamError},
    syntax::{Boundary, ContentTypeErrorKind},
};
use bytes::Bytes;
use fixture::{
    JSON, MULTIPART,
    faults::{self, Fault},
};
use futures_util::{StreamExt as _, stream};
use http_body::{Body, Frame};
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::Incoming;
use net::{cause, chunks, hyper_client, reqwest_client, send_and_leave, serve, url, within};
use serde_json::{Value, json};
use support::{Random, random_cuts};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

// Header fields.

/// A body that nobody may read.
#[derive(Debug)]
struct Untouched;

impl Body for Untouched {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        panic!("the body is read")
    }
}

fn fields(fields: &[(&str, &[u8])]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_bytes(value).unwrap());
    }
    headers
}

/// What header fields alone are refused with: status and code, and the answer's header fields.
fn refused(headers: &HeaderMap, config: Config) -> (u16, String, HeaderMap) {
    let error = http::decoder(headers, config).unwrap_err();
    let early = http::receive(headers, Untouched, config).unwrap_err();
    assert_eq!(early, error);
    let problem = Problem::from(early);
    assert_eq!((problem.code(), problem.hint()), (error.code(), error.hint()));
    assert_eq!(problem.detail(), error.to_string());
    let (head, body) = problem.into_response::<Bytes>().into_parts();
    let (status, code) = net::problem(head.status, &head.headers, &body);
    (status, code, head.headers)
}

#[test]
fn there_is_one_content_type_field_acp_ct_1_acp_ct_2() {
    let refused = |values: &[&str]| {
        let values: Vec<_> = values.iter().map(|v| ("content-type", v.as_bytes())).collect();
        let (status, code, _) = refused(&fields(&values), Config::new());
        (status, code)
    };
    assert_eq!(refused(&[]), (415, "content_type_unsupported".to_owned()));
    assert_eq!(refused(&["text/plain"]), (415, "content_type_unsupported".to_owned()));
    assert_eq!(refused(&[JSON, JSON]), (400, "content_type_invalid".to_owned()));
    assert_eq!(refused(&[JSON, MULTIPART]), (400, "content_type_invalid".to_owned()));
    assert_eq!(refused(&["multipart/form-data"]), (400, "boundary_missing".to_owned()));
    for (value, is_multipart) in [(JSON, false), (MULTIPART, true)] {
        let headers = fields(&[("content-type", value.as_bytes())]);
        let decoder = http::decoder(&headers, Config::new()).unwrap();
        assert_eq!(decoder.is_multipart(), is_multipart);
    }
}

#[test]
fn a_content_coding_is_refused_and_the_answer_says_what_is_accepted() {
    let with = |codings: &[&str]| {
        let codings = codings.iter().map(|coding| ("content-encoding", coding.as_bytes()));
        let all: Vec<_> = [("content-type", JSON.as_bytes())].into_iter().chain(codings).collect();
        fields(&all)
    };
    for codings in
        [&["gzip"][..], &["GZIP"], &["br"], &["identity, gzip"], &["identity", "zstd"], &["x"]]
    {
        let (status, code, headers) = refused(&with(codings), Config::new());
        assert_eq!((status, &*code), (415, "content_encoding"), "{codings:?}");
        assert_eq!(headers["accept-encoding"], "identity", "{codings:?}");
    }
    for codings in [&[][..], &["identity"], &["Identity"]] {
        assert!(http::decoder(&with(codings), Config::new()).is_ok(), "{codings:?}");
    }
    let (_, _, headers) = refused(&fields(&[("content-type", b"text/plain")]), Config::new());
    assert!(!headers.contains_key("accept-encoding"), "the coding was not at fault");
}

#[test]
fn a_content_length_is_one_number() {
    let with = |lengths: &[&[u8]]| {
        let lengths = lengths.iter().map(|length| ("content-length", *length));
        let all: Vec<_> = [("content-type", JSON.as_bytes())].into_iter().chain(lengths).collect();
        fields(&all)
    };
    for length in [&b""[..], b"-1", b"+5", b"5,5", b"5, 5", b"0x5", b"5 5", b"1e3", b"5.0", b"\xb2"]
    {
        let (status, code, _) = refused(&with(&[length]), Config::new());
        assert_eq!((status, &*code), (400, "content_length_invalid"), "{length:?}");
    }
    for lengths in [[&b"5"[..], b"5"], [b"5", b"6"], [b"5", b"x"]] {
        let (status, code, _) = refused(&with(&lengths), Config::new());
        assert_eq!((status, &*code), (400, "content_length_invalid"), "{lengths:?}");
    }
    for length in [&b"0"[..], b"5", b"0005"] {
        assert!(http::decoder(&with(&[length]), Config::new()).is_ok(), "{length:?}");
    }
    // RFC 9112 §6.1: an intermediary may have gone by either.
    let mut both = with(&[b"5"]);
    both.insert("transfer-encoding", HeaderValue::from_static("chunked"));
    let (status, code, _) = refused(&both, Config::new());
    assert_eq!((status, &*code), (400, "content_length_invalid"));
    both.remove("content-length");
    assert!(http::decoder(&both, Config::new()).is_ok());
    // More than any number holds.
    assert!(http::decoder(&with(&[&[b'9'; 40]]), Config::new()).is_err());
}

#[test]
fn a_declared_length_over_a_limit_is_refused_unread_acp_lim_3_acp_lim_6() {
    let small = Limits::new().max_message_bytes(1000).max_json_bytes(100);
    for (content_type, limits, limit, code) in [
        (MULTIPART, Limits::new(), 500 << 20, "limit_message_size"),
        (MULTIPART, small, 1000, "limit_message_size"),
        (JSON, Limits::new(), 1 << 20, "limit_control_size"),
        (JSON, small, 100, "limit_control_size"),
        (JSON, small.max_json_bytes(2000), 1000, "limit_message_size"),
    ] {
        let config = Config::new().limits(limits);
        let declared = |length: u64| {
            let length = length.to_string();
            fields(&[
                ("content-type", content_type.as_bytes()),
                ("content-length", length.as_bytes()),
            ])
        };
        assert!(http::decoder(&declared(limit), config).is_ok(), "{content_type} {limit}");
        let (status, refused, _) = refused(&declared(limit + 1), config);
        assert_eq!((status, &*refused), (413, code));
        let error = http::decoder(&declared(limit + 1), config).unwrap_err();
        let HeaderError::Message(error) = error else { panic!("{error}") };
        assert_eq!(error.location(), &Location::ContentLength(limit + 1));
    }
}

// Statuses and problem documents.

/// Every code that a message is refused with, and the statuses that it is answered with: two, where
/// it stands for malformed bytes as well as for a rule that is broken.
const STATUSES: [(&str, &[u16]); 35] = [
    ("boundary_invalid", &[400]),
    ("boundary_missing", &[400]),
    ("charset_missing", &[422]),
    ("content_type_invalid", &[400]),
    ("content_type_unsupported", &[415]),
    ("control_charset", &[400, 422]),
    ("control_duplicate", &[422]),
    ("control_malformed", &[400, 422]),
    ("control_missing", &[422]),
    ("control_not_json", &[422]),
    ("control_unnamed", &[422]),
    ("delimiter_malformed", &[400]),
    ("disposition_invalid", &[400]),
    ("epilogue", &[422]),
    ("header_duplicate", &[422]),
    ("header_malformed", &[400]),
    ("limit_boundary", &[413]),
    ("limit_control_size", &[413]),
    ("limit_header_size", &[413]),
    ("limit_headers", &[413]),
    ("limit_json_depth", &[413]),
    ("limit_message_size", &[413]),
    ("limit_part_size", &[413]),
    ("limit_parts", &[413]),
    ("name_duplicate", &[422]),
    ("name_invalid", &[422]),
    ("name_missing", &[422]),
    ("nested_multipart", &[422]),
    ("preamble", &[422]),
    ("ref_control", &[422]),
    ("ref_invalid", &[422]),
    ("ref_unresolved", &[422]),
    ("transfer_encoding", &[422]),
    ("truncated", &[400]),
    ("unreferenced_part", &[422]),
];

/// What is wrong with the message of a fault, and how a receiver of HTTP answers it.
async fn refusal(fault: &Fault) -> (DecodeError, Problem) {
    let body = Bytes::copy_from_slice(fault.body.as_bytes());
    let error = decode_with(&fault.content_type, body.clone(), fault.config).unwrap_err();
    let headers = fields(&[("content-type", fault.content_type.as_bytes())]);
    let problem = match http::receive(&headers, Full::new(body), fault.config) {
        Err(early) => Problem::from(early),
        Ok(mut message) => Problem::from(message.finish().await.unwrap_err()),
    };
    assert_eq!(problem, Problem::from(&error), "{fault:?}");
    (error, problem)
}

/// RFC 9110 §15.5: what a status says of a fault.
fn status_by_rule(kind: &DecodeErrorKind, category: Category) -> u16 {
    match (kind, category) {
        (DecodeErrorKind::ContentType(ContentTypeErrorKind::Unsupported), _) => 415,
        (_, Category::Limit) => 413,
        (DecodeErrorKind::ContentType(_), _) => 400,
        (_, Category::Syntax | Category::Truncated) => 400,
        (_, Category::Rule) => 422,
        other => panic!("{other:?} is no fault of a message"),
    }
}

#[tokio::test]
async fn every_code_is_answered_with_its_status() {
    let mut statuses: BTreeMap<&str, BTreeSet<u16>> = BTreeMap::new();
    for fault in faults::all() {
        let (error, problem) = refusal(&fault).await;
        let status = http::status(error.kind()).as_u16();
        assert_eq!(status, status_by_rule(&fault.kind, fault.category), "{fault:?}");
        assert_eq!(problem.status().as_u16(), status, "{fault:?}");
        statuses.entry(error.code()).or_default().insert(status);
    }
    let expected = STATUSES.map(|(code, statuses)| (code, statuses.iter().copied().collect()));
    assert_eq!(statuses, expected.into());

    let list = format!("{}/testdata/error-codes.txt", env!("CARGO_MANIFEST_DIR"));
    let list = fs::read_to_string(list).unwrap();
    let codes: BTreeSet<_> = list.lines().map(|line| line.trim_end_matches(" warning")).collect();
    assert_eq!(codes, STATUSES.map(|(code, _)| code).into());
}

#[tokio::test]
async fn a_problem_document_says_what_the_error_says() {
    for fault in faults::all() {
        let (error, problem) = refusal(&fault).await;
        assert_eq!((problem.code(), problem.hint()), (error.code(), error.hint()));
        assert_eq!((problem.location(), problem.part()), (Some(error.location()), error.part()));
        assert_eq!(problem.detail(), error.to_string());
        let status = problem.status();
        let expected = json!({
            "title": status.canonical_reason().unwrap(),
            "status": status.as_u16(),
            "detail": error.to_string(),
            "code": error.code(),
            "location": error.location(),
            "part": error.part(),
            "hint": error.hint(),
        });
        let response = problem.into_response::<Bytes>();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert_eq!(serde_json::from_slice::<Value>(response.body()).unwrap(), expected);
    }
}

#[test]
fn a_problem_of_the_carriers_own_has_no_place_in_a_message() {
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "busy", "too many", "wait");
    assert_eq!((problem.location(), problem.part()), (None, None));
    let document: Value = serde_json::from_slice(&problem.to_json()).unwrap();
    assert_eq!(
        document,
        json!({ "title": "Too Many Requests", "status": 429, "detail": "too many", "code": "busy",
            "location": null, "part": null, "hint": "wait" })
    );
}

#[test]
fn what_we_cannot_send_is_our_own_fault() {
    let unresolved = Control::from_text("[{\"$ref\":\"lost\"}]").unwrap();
    let error = EnvelopeBuilder::new().build(&unresolved).unwrap_err();
    let problem = Problem::from(error);
    assert_eq!((problem.status().as_u16(), problem.code()), (500, "ref_unresolved"));
    assert_eq!(problem.location(), Some(&Location::Pointer("/0".to_owned())));
}

// Messages that are received.

/// The contents of a message: of its control document, and of each part by its name.
type Contents = Vec<(String, Bytes)>;

fn contents(envelope: &Envelope) -> Contents {
    let control = ("control".to_owned(), envelope.control().text().to_owned().into());
    let parts = envelope.parts().iter();
    let parts = parts.map(|part| (part.head().name().to_string(), part.body().clone()));
    [control].into_iter().chain(parts).collect()
}

/// Reads a message as it arrives.
async fn read<B: Body + Unpin>(
    mut message: EnvelopeStream<BodyChunks<B>>,
) -> Result<Contents, StreamError<B::Error>> {
    let control = message.control().await?.text().to_owned();
    let mut contents = vec![("control".to_owned(), control.into())];
    while let Some(mut part) = message.next_part().await? {
        let name = part.head().name().to_string();
        contents.push((name, part.bytes().await?));
    }
    message.finish().await?;
    Ok(contents)
}

/// A server that reads messages, and what it has read.
async fn receiver() -> (SocketAddr, UnboundedReceiver<Result<Contents, (String, Problem)>>) {
    let (arrived, arrivals) = unbounded_channel();
    let address = serve(move |request: Request<Incoming>| {
        let arrived = arrived.clone();
        async move {
            let (head, body) = request.into_parts();
            let message = http::receive(&head.headers, body, Config::new()).unwrap();
            let outcome = read(message).await;
            let outcome = outcome.map_err(|error| (format!("{error:?}"), Problem::from(error)));
            arrived.send(outcome).unwrap();
            Response::new(Empty::new())
        }
    });
    (address.await, arrivals)
}

/// Bytes without a pattern, many of which look like line ends and dashes.
fn noise(len: usize) -> Bytes {
    let mut random = Random(7);
    (0..len).map(|_| b"\r\n--\0\xff\r\nab"[random.below(10)]).collect()
}

/// A message in either form: Content-Type and body.
fn samples() -> [(String, Bytes); 2] {
    let mut message = EnvelopeBuilder::new();
    let photo = message.add(NewPart::new("image/png", noise(150_000)).name("photo")).unwrap();
    let empty = message.add(NewPart::new("a/b", "").name("empty")).unwrap();
    let encoder = message.build(&Control::new(&[photo, empty]).unwrap()).unwrap();
    let multipart = (encoder.content_type().to_owned(), encoder.into_bytes().unwrap());
    [multipart, (JSON.to_owned(), Bytes::from("{\"text\":\"no parts\"}\n"))]
}

#[tokio::test]
async fn a_message_is_received_however_its_body_is_framed_acp_msg_2_acp_frm_7() {
    let (address, mut arrivals) = receiver().await;
    for (content_type, body) in samples() {
        let expected = contents(&decode(&content_type, body.clone()).unwrap());
        let length = body.len().to_string();
        let coded = [("Content-Type", &*content_type), ("Transfer-Encoding", "chunked")];
        let pieces = random_cuts(&body, 1);
        let plain = [("Content-Type", &*content_type), ("Content-Length", &length)];
        for (fields, sent) in [
            (plain, body.to_vec()),
            (coded, [&chunks(&pieces)[..], b"0\r\n\r\n"].concat()),
            (coded, [&chunks([&body])[..], b"0\r\n\r\n"].concat()),
            (coded, [&chunks(&pieces)[..], b"0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n"].concat()),
        ] {
            let (status, ..) = net::exchange(address, &net::request("/", &fields, &sent)).await;
            assert_eq!(status, 200);
            let arrived = within(arrivals.recv()).await.unwrap();
            assert_eq!(arrived, Ok(expected.clone()), "{content_type} {fields:?}");
        }
    }
}

#[tokio::test]
async fn a_sender_that_goes_away_fails_the_message_acp_frm_5() {
    let (address, mut arrivals) = receiver().await;
    for (content_type, body) in samples() {
        let one_more = (body.len() + 1).to_string();
        let long = [("Content-Type", &*content_type), ("Content-Length", &one_more)];
        let coded = [("Content-Type", &*content_type), ("Transfer-Encoding", "chunked")];
        let half = body.slice(..body.len() / 2);
        let in_chunks = chunks(&random_cuts(&body, 2));
        for (what, fields, sent) in [
            ("half of its length", long, half.to_vec()),
            // The message itself is complete, but nobody can know.
            ("all but a byte", long, body.to_vec()),
            ("half of its chunks", coded, chunks([&half])),
            ("a piece of a chunk", coded, in_chunks[..in_chunks.len() / 2].to_vec()),
            ("all but the last chunk", coded, in_chunks.clone()),
        ] {
            send_and_leave(address, &net::request("/", &fields, &sent)).await;
            let arrived = within(arrivals.recv()).await.unwrap();
            let (error, problem) = arrived.expect_err(what);
            assert!(error.starts_with("Body(hyper::Error"), "{what}: {error}");
            assert_eq!((problem.status().as_u16(), problem.code()), (400, "body_failed"), "{what}");
            assert_eq!((problem.location(), problem.part()), (None, None));
        }
    }
}

// Messages that are sent.

/// How the content of a message is at hand.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    InMemory,
    Streamed { with_length: bool },
    Json,
}

const KINDS: [Kind; 4] = [
    Kind::InMemory,
    Kind::Streamed { with_length: true },
    Kind::Streamed { with_length: false },
    Kind::Json,
];

const LINES: [&str; 5] = ["line 1\r\n", "", "line 2", "\r\n--", "\r\n--\r\n"];

fn boundary() -> Boundary {
    Boundary::new(b"b-0123456789").unwrap()
}

/// A message with a photo in memory and, in between, a log of that kind.
fn outgoing(kind: Kind) -> EnvelopeBody {
    let mut message = EnvelopeBuilder::new().boundary(boundary());
    if kind == Kind::Json {
        let control = Control::from_text("{\"log\": null}").unwrap();
        return EnvelopeBody::new(message.json_without_parts(true).build(&control).unwrap());
    }
    let text = "text/plain; charset=utf-8";
    let log = LINES.concat();
    let log = match kind {
        Kind::Streamed { with_length } => {
            NewPart::streamed(text, with_length.then_some(log.len() as u64))
        }
        _ => NewPart::new(text, log),
    };
    let photo = message.add(NewPart::new("image/png", noise(300_000)).name("photo")).unwrap();
    let log = message.add(log.name("log").filename("a \"log\"")).unwrap();
    let thumb = message.add(NewPart::new("image/png", "PNG").name("thumb")).unwrap();
    let control = Control::new(&[&photo, &log, &thumb]).unwrap();
    let body = EnvelopeBody::new(message.build(&control).unwrap());
    match kind {
        Kind::Streamed { .. } => body.content(&log, slowly(LINES.map(|line| Ok(line.into())))),
        _ => body,
    }
}

/// Content that comes a piece at a time.
fn slowly<const N: usize>(
    pieces: [io::Result<Bytes>; N],
) -> impl futures_util::Stream<Item = io::Result<Bytes>> + Send {
    stream::iter(pieces).then(async |piece| {
        tokio::time::sleep(Duration::from_millis(2)).await;
        piece
    })
}

/// What has come of a message: the header fields, and the body, if all of it has come.
type Arrival = (HeaderMap, Result<Bytes, String>);

async fn collect<B>(body: B) -> Result<Bytes, String>
where
    B: Body,
    B::Error: std::fmt::Debug,
{
    body.collect().await.map(|body| body.to_bytes()).map_err(|error| format!("{error:?}"))
}

/// Ways of a message from one program to another. Each gives what has arrived, and the code of the
/// error that the sender was told.
#[derive(Debug, Clone, Copy)]
enum Way {
    RequestOfReqwest,
    RequestOfHyper,
    ResponseOfHyper,
}

const WAYS: [Way; 3] = [Way::RequestOfReqwest, Way::RequestOfHyper, Way::ResponseOfHyper];

impl Way {
    async fn carry(self, message: EnvelopeBody) -> (Arrival, Option<&'static str>) {
        let (arrived, mut arrivals) = unbounded_channel();
        if let Self::ResponseOfHyper = self {
            let message = std::sync::Arc::new(std::sync::Mutex::new(Some(message)));
            let address = serve(move |_| {
                let message = message.lock().unwrap().take();
                async move { message.expect("one request").into_response() }
            });
            let request = Request::get(url(address.await, "/")).body(Empty::<Bytes>::new());
            let response = within(hyper_client().request(request.unwrap())).await.unwrap();
            assert_eq!(response.status(), 200);
            let (head, body) = response.into_parts();
            return ((head.headers, within(collect(body)).await), None);
        }
        let address = serve(move |request: Request<Incoming>| {
            let arrived = arrived.clone();
            async move {
                let (head, body) = request.into_parts();
                arrived.send((head.headers, collect(body).await)).unwrap();
                Response::new(Empty::new())
            }
        });
        let url = url(address.await, "/");
        let told = match self {
            Self::RequestOfReqwest => {
                let mut headers = HeaderMap::new();
                message.set_headers(&mut headers);
                let request = reqwest_client().post(url).headers(headers);
                let sent = within(request.body(reqwest::Body::wrap(message)).send()).await;
                sent.err().map(|error| cause::<BodyError>(&error).expect("the cause").code())
            }
            _ => {
                let mut request = Request::post(url);
                message.set_headers(request.headers_mut().unwrap());
                let sent = within(hyper_client().request(request.body(message).unwrap())).await;
                sent.err().map(|error| cause::<BodyError>(&error).expect("the cause").code())
            }
        };
        (within(arrivals.recv()).await.expect("a request"), told)
    }
}

#[tokio::test]
async fn what_is_sent_arrives_acp_enc_4_acp_enc_6_acp_enc_7() {
    for kind in KINDS {
        let reference = outgoing(if kind == Kind::Json { kind } else { Kind::InMemory });
        let content_type = reference.content_type().to_owned();
        let body = reference.collect().await.unwrap().to_bytes();
        let expected = decode(&content_type, body.clone()).unwrap();
        for way in WAYS {
            let ((headers, arrived), told) = way.carry(outgoing(kind)).await;
            let what = format!("{kind:?} by {way:?}");
            assert_eq!(told, None, "{what}");
            let arrived = arrived.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(arrived, body, "{what}");
            let values: Vec<_> = headers.get_all(CONTENT_TYPE).iter().collect();
            assert_eq!(values, [content_type.as_str()], "{what}");
            let length = headers.get("content-length").map(|length| length.to_str().unwrap());
            let coding = headers.get("transfer-encoding").map(|coding| coding.to_str().unwrap());
            if kind == (Kind::Streamed { with_length: false }) {
                assert_eq!((length, coding), (None, Some("chunked")), "{what}");
            } else {
                assert_eq!((length, coding), (Some(&*body.len().to_string()), None), "{what}");
            }
            let message = http::receive(&headers, Full::new(arrived), Config::new()).unwrap();
            assert_eq!(read(message).await.unwrap(), contents(&expected), "{what}");
        }
    }
}

/// Messages that cannot be written to their end, with the code of the reason. All begin with
/// content that takes its time, so that something is on its way before.
fn failing() -> Vec<(&'static str, &'static str, EnvelopeBody)> {
    let start = |second: NewPart<'static>| {
        let mut message = EnvelopeBuilder::new().boundary(boundary());
        let first = message.add(NewPart::streamed("a/b", Some(3)).name("first")).unwrap();
        let second = message.add(second.name("second")).unwrap();
        let last = message.add(NewPart::new("a/b", "end").name("last")).unwrap();
        let control = Control::new(&[&first, &second, &last]).unwrap();
        let body = EnvelopeBody::new(message.build(&control).unwrap());
        (body.content(&first, slowly([Ok("1".into()), Ok("23".into())])), second)
    };
    let mut all = Vec::new();
    for length in [Some(4), None] {
        let part = || NewPart::streamed("a/b", length);
        let (body, _) = start(part());
        all.push(("content_missing", "no source", body));
        let (body, second) = start(part());
        let disk = || Err(io::Error::other("disk"));
        let body = body.content(&second, slowly([Ok("12".into()), disk()]));
        all.push(("content_failed", "half", body));
        let (body, second) = start(part());
        let body = body.content(&second, slowly([Ok("1234".into()), disk()]));
        all.push(("content_failed", "all, and then no end", body));
        let (body, second) = start(part());
        let delimiter = slowly([Ok("\r\n".into()), Ok("--b-0123456789".into())]);
        all.push(("boundary_occurs", "the delimiter", body.content(&second, delimiter)));
    }
    for (what, content) in [
        ("none", vec![]),
        ("too short", vec!["123"]),
        ("too long at once", vec!["12345"]),
        ("too long in the end", vec!["12", "34", "5"]),
    ] {
        let (body, second) = start(NewPart::streamed("a/b", Some(4)));
        let content: Vec<_> = content.into_iter().map(|c| Ok::<_, io::Error>(c.into())).collect();
        all.push(("content_length", what, body.content(&second, stream::iter(content))));
    }
    all
}

#[tokio::test]
async fn a_message_that_fails_never_arrives_whole_acp_enc_2_acp_enc_6() {
    for way in WAYS {
        for (code, what, body) in failing() {
            let ((_, arrived), told) = way.carry(body).await;
            assert!(arrived.is_err(), "{what} by {way:?}: {arrived:?}");
            if !matches!(way, Way::ResponseOfHyper) {
                assert_eq!(told, Some(code), "{what} by {way:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_message_that_fails_says_why_and_is_over_acp_enc_6() {
    for (code, what, mut body) in failing() {
        let error = loop {
            match within(body.frame()).await.expect(what) {
                Ok(frame) => assert!(!frame.into_data().unwrap().is_empty(), "{what}"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), code, "{what}");
        match &error {
            BodyError::Encode(error) => {
                let part = error.part().unwrap();
                assert_eq!((part.index, part.name.as_ref().unwrap().as_str()), (2, "second"));
            }
            BodyError::Content(_) => {
                assert_eq!(cause::<io::Error>(&error).unwrap().to_string(), "disk")
            }
            other => panic!("{other}"),
        }
        assert!(within(body.frame()).await.is_none(), "{what}: no more comes");
        assert!(body.is_end_stream());
    }
}

#[tokio::test]
async fn a_body_knows_how_much_is_left_acp_enc_6() {
    for kind in KINDS {
        let mut body = outgoing(kind);
        let mut headers = fields(&[("content-length", b"1"), ("content-type", b"x/y")]);
        body.set_headers(&mut headers);
        assert_eq!(headers[CONTENT_TYPE], body.content_type());
        let mut sent = Vec::new();
        let exact = body.size_hint().exact();
        let length = headers.get("content-length").map(|l| l.to_str().unwrap().parse().unwrap());
        assert_eq!(length, exact, "{kind:?}");
        assert_eq!(exact.is_some(), kind != Kind::Streamed { with_length: false });
        while let Some(frame) = within(body.frame()).await {
            sent.extend_from_slice(&frame.unwrap().into_data().unwrap());
            let left = exact.map(|length: u64| length - sent.len() as u64);
            assert_eq!(body.size_hint().exact(), left, "{kind:?}");
            assert_eq!(body.size_hint().lower(), left.unwrap_or_default(), "{kind:?}");
        }
        assert!(body.is_end_stream());
        assert_eq!(exact.unwrap_or(sent.len() as u64), sent.len() as u64, "{kind:?}");
    }
}

#[tokio::test]
async fn content_is_handed_on_without_a_copy_acp_enc_6() {
    let (photo, chunk) = (noise(100_000), noise(5_000));
    let mut message = EnvelopeBuilder::new();
    let first = message.add(NewPart::new("image/png", photo.clone())).unwrap();
    let second = message.add(NewPart::streamed("image/png", None)).unwrap();
    let encoder = message.build(&Control::new(&[&first, &second]).unwrap()).unwrap();
    let chunks = [chunk.slice(..2_000), chunk.slice(2_000..)];
    let content = stream::iter(chunks.clone().map(Ok::<_, io::Error>));
    let mut body = EnvelopeBody::new(encoder).content(&second, content);
    let mut frames = BTreeSet::new();
    while let Some(frame) = body.frame().await {
        let data = frame.unwrap().into_data().unwrap();
        frames.insert((data.as_ptr(), data.len()));
    }
    for content in [&photo, &chunks[0], &chunks[1]] {
        assert!(frames.contains(&(content.as_ptr(), content.len())));
    }
}

#[tokio::test]
async fn content_given_twice_is_that_given_last() {
    let mut message = EnvelopeBuilder::new();
    let part: Reference = message.add(NewPart::streamed("a/b", None).name("p")).unwrap();
    let encoder = message.build(&Control::new(&part).unwrap()).unwrap();
    let content_type = encoder.content_type().to_owned();
    let body = EnvelopeBody::new(encoder)
        .content(&part, slowly([Ok("first".into())]))
        .content(&part, slowly([Ok("second".into())]));
    let body = body.collect().await.unwrap().to_bytes();
    assert_eq!(decode(content_type, body).unwrap().part("p").unwrap().body(), "second");
}

#[test]
fn adapters_cross_threads() {
    fn assert_shared<T: Send + Sync + 'static>() {}
    assert_shared::<EnvelopeBody>();
    assert_shared::<BodyError>();
    assert_shared::<HeaderError>();
    assert_shared::<Problem>();
    assert_shared::<Verdict>();
    assert_shared::<ValidateLayer>();
    assert_shared::<BodyChunks<Full<Bytes>>>();
    assert_shared::<ValidatingBody<Full<Bytes>>>();
    assert_shared::<EnvelopeStream<BodyChunks<Incoming>>>();
    fn _is_sent(message: EnvelopeStream<BodyChunks<Incoming>>) -> impl Future + Send {
        read(message)
    }
}
