//! Bodies that are handed on while a decoder watches, and the layer that puts one in front of a
//! service: nobody reads the whole of a message that is refused (ACP-MSG-2, ACP-FRM-7).

#![cfg(feature = "http")]

mod fixture;
#[path = "support/net.rs"]
mod net;
mod support;

use std::{
    collections::VecDeque,
    error::Error,
    fmt,
    future::{Ready, ready},
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
};

use ::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header::CONTENT_TYPE};
use acp_envelope::{
    Config, Control, DecodeError, EnvelopeBuilder, EnvelopeDecoder, NewPart, decode_with,
    http::{Passed, Validate, ValidateLayer, ValidatingBody, Verdict},
    stream::StreamError,
};
use bytes::Bytes;
use fixture::{JSON, MULTIPART, control, message, message_of, part};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::body::Incoming;
use net::{chunks, exchange, hyper_client, problem, request, serve, url, within};
use proptest::prelude::*;
use support::{
    Random, bytewise,
    cases::{self, Case},
    cut,
    messages::{self, Generated},
    random_cuts,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tower::{Layer as _, Service, ServiceExt as _, service_fn};

// Bodies of given frames.

/// A body of these frames, which is not always ready.
#[derive(Debug)]
struct Frames {
    frames: VecDeque<Frame<Bytes>>,
    /// Whether it says how many bytes are left.
    with_length: bool,
    /// What it ends with, instead of its end.
    failure: Option<Broken>,
    waits: bool,
    over: bool,
}

/// The reason a body fails for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("broken")
    }
}

impl Error for Broken {}

impl Frames {
    fn new(pieces: &[Bytes], with_length: bool) -> Self {
        let frames = pieces.iter().cloned().map(Frame::data).collect();
        Self { frames, with_length, failure: None, waits: true, over: false }
    }

    fn trailers(mut self, trailers: &HeaderMap) -> Self {
        self.frames.push_back(Frame::trailers(trailers.clone()));
        self
    }

    fn failing(self) -> Self {
        Self { failure: Some(Broken), ..self }
    }

    fn left(&self) -> u64 {
        self.frames.iter().filter_map(Frame::data_ref).map(|data| data.len() as u64).sum()
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        assert!(!self.over, "nothing is asked for after the end");
        self.waits = !self.waits;
        if !self.waits {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = self.frames.pop_front();
        let next = frame.map(Ok).or_else(|| self.failure.map(Err));
        self.over = !matches!(next, Some(Ok(_)));
        Poll::Ready(next)
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty() && self.failure.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        if self.with_length { SizeHint::with_exact(self.left()) } else { SizeHint::default() }
    }
}

/// What was handed on of a body.
#[derive(Debug, Default)]
struct Passage {
    data: Vec<Bytes>,
    trailers: Vec<HeaderMap>,
    error: Option<StreamError<Broken>>,
}

impl Passage {
    fn bytes(&self) -> Vec<u8> {
        self.data.concat()
    }
}

/// Polls a body until there is something.
fn next<B: Body + Unpin>(body: &mut B) -> Option<Result<Frame<B::Data>, B::Error>> {
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..10_000 {
        if let Poll::Ready(frame) = Pin::new(&mut *body).poll_frame(&mut cx) {
            return frame;
        }
    }
    panic!("the body waits for ever");
}

/// Reads a body to its end, and looks at what it says of itself on the way.
fn pass(body: Frames, decoder: EnvelopeDecoder) -> (Passage, Verdict) {
    let (mut left, with_length) = (body.left(), body.with_length);
    let (mut body, verdict) = ValidatingBody::new(body, decoder);
    let mut passage = Passage::default();
    loop {
        let hint = body.size_hint();
        if with_length {
            assert_eq!(hint.exact(), Some(left), "what is left is known at every step");
        } else {
            assert_eq!((hint.lower(), hint.upper()), (0, None));
        }
        let said_end = body.is_end_stream();
        match next(&mut body) {
            None => break,
            Some(_) if said_end => panic!("something comes after the end"),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => {
                    left -= data.len() as u64;
                    passage.data.push(data);
                }
                Err(frame) => passage.trailers.push(frame.into_trailers().unwrap()),
            },
            Some(Err(error)) => {
                passage.error = Some(error);
                return (passage, verdict);
            }
        }
    }
    assert_eq!(left, 0, "all has come");
    assert!(body.is_end_stream());
    assert!(next(&mut body).is_none(), "an end stays");
    (passage, verdict)
}

fn new_decoder(content_type: &[u8], config: Config) -> EnvelopeDecoder {
    EnvelopeDecoder::new(content_type, config).unwrap()
}

fn trailers() -> HeaderMap {
    let sum = ("x-sum".parse().unwrap(), HeaderValue::from_static("1"));
    HeaderMap::from_iter([sum])
}

// Valid messages.

fn same_frames(given: &[Bytes], handed_on: &[Bytes]) -> bool {
    let is_same =
        |(a, b): (&Bytes, &Bytes)| a.len() == b.len() && (a.is_empty() || a.as_ptr() == b.as_ptr());
    given.len() == handed_on.len() && given.iter().zip(handed_on).all(is_same)
}

/// Ways to cut a body, none of which has an empty last piece.
fn ways_to_cut(body: &Bytes) -> Vec<Vec<Bytes>> {
    let mut ways = vec![vec![body.clone()], cut(body, [body.len() - 1])];
    if body.len() < 3000 {
        ways.push(bytewise(body).collect());
    }
    ways.extend((0..4).map(|seed| random_cuts(body, seed)));
    for pieces in &mut ways {
        while pieces.last().is_some_and(Bytes::is_empty) {
            pieces.pop();
        }
    }
    ways
}

fn accepted(case: &Case) -> bool {
    case.expect["ok"].is_object()
}

#[test]
fn the_very_frames_of_a_valid_message_are_handed_on_acp_frm_3_acp_frm_7() {
    let mut checked = 0;
    let cases = cases::corpus().into_iter().chain(cases::captures());
    for case in cases.filter(accepted) {
        let envelope = decode_with(&case.content_type, case.body.clone(), case.config).unwrap();
        for pieces in ways_to_cut(&case.body) {
            for (with_length, with_trailers) in
                [(true, false), (false, false), (true, true), (false, true)]
            {
                let mut body = Frames::new(&pieces, with_length);
                let mut expected = Vec::new();
                if with_trailers {
                    body = body.trailers(&trailers());
                    expected.push(trailers());
                }
                let (passage, verdict) = pass(body, new_decoder(&case.content_type, case.config));
                let id = &case.id;
                assert_eq!(passage.error, None, "{id}");
                assert!(same_frames(&pieces, &passage.data), "{id}: {pieces:?} {passage:?}");
                assert_eq!(passage.trailers, expected, "{id}");
                assert_eq!(verdict.refused(), None);
                let Some(Ok(Passed { bytes, parts, warnings, .. })) = verdict.get() else {
                    panic!("{id}: {verdict:?}")
                };
                assert_eq!(*bytes, case.body.len() as u64, "{id}");
                assert_eq!(*parts, envelope.parts().len(), "{id}");
                assert_eq!(warnings, envelope.warnings(), "{id}");
            }
        }
        checked += 1;
    }
    assert!(checked > 100, "{checked}");
}

#[test]
fn the_last_of_a_known_length_is_handed_on_when_the_verdict_is_there() {
    let body = Bytes::from(message_of(&[("p", "content")]));
    for pieces in ways_to_cut(&body) {
        let frames = Frames::new(&pieces, true);
        let (mut body, verdict) =
            ValidatingBody::new(frames, new_decoder(MULTIPART.as_ref(), Config::new()));
        for _ in 1..pieces.len() {
            next(&mut body).unwrap().unwrap();
            assert!(verdict.get().is_none(), "it can still turn out to be invalid");
        }
        next(&mut body).unwrap().unwrap();
        assert!(verdict.get().unwrap().is_ok());
    }
}

#[test]
fn empty_frames_lose_nothing_wherever_they_stand_acp_frm_7() {
    let body = Bytes::from(message_of(&[("p", "content")]));
    let (first, second) = (body.slice(..90), body.slice(90..));
    let none = Bytes::new();
    for pieces in [
        vec![none.clone(), first.clone(), second.clone()],
        vec![first.clone(), none.clone(), none.clone(), second.clone()],
        vec![first.clone(), second.clone(), none.clone()],
        vec![first, second, none.clone(), none],
    ] {
        for with_length in [true, false] {
            for with_trailers in [true, false] {
                let mut frames = Frames::new(&pieces, with_length);
                if with_trailers {
                    frames = frames.trailers(&trailers());
                }
                let decoder = new_decoder(MULTIPART.as_ref(), Config::new());
                let (passage, verdict) = pass(frames, decoder);
                assert!(verdict.get().unwrap().is_ok());
                assert_eq!(passage.bytes(), body, "with length: {with_length}");
                assert_eq!(passage.trailers.len(), usize::from(with_trailers));
            }
        }
    }
}

// Messages that are refused.

/// Hands on a message that is refused, with known and unknown length, cut in these ways.
fn check_refused(
    what: &str,
    content_type: &[u8],
    body: &Bytes,
    config: Config,
    ways: &[Vec<Bytes>],
    expected: &DecodeError,
) {
    for pieces in ways {
        for with_length in [true, false] {
            let frames = Frames::new(pieces, with_length);
            let (passage, verdict) = pass(frames, new_decoder(content_type, config));
            let error = passage.error.as_ref();
            assert_eq!(error, Some(&StreamError::Decode(expected.clone())), "{what}");
            assert_eq!(verdict.refused(), Some(expected), "{what}");
            let handed_on = passage.bytes();
            assert!(body.starts_with(&handed_on), "{what}");
            if with_length && !body.is_empty() {
                assert!(handed_on.len() < body.len(), "{what}: all of it was handed on");
            }
        }
    }
}

#[test]
fn a_message_that_is_refused_is_never_handed_on_whole_acp_frm_7() {
    let mut refused = 0;
    for case in cases::corpus().into_iter().chain(cases::captures()) {
        if accepted(&case) || EnvelopeDecoder::new(&case.content_type, case.config).is_err() {
            continue;
        }
        let expected = decode_with(&case.content_type, case.body.clone(), case.config).unwrap_err();
        let ways = if case.body.is_empty() { vec![vec![]] } else { ways_to_cut(&case.body) };
        check_refused(&case.id, &case.content_type, &case.body, case.config, &ways, &expected);
        refused += 1;
    }
    assert!(refused > 250, "{refused}");
}

#[test]
fn a_message_that_is_cut_short_anywhere_is_never_handed_on_whole_acp_frm_5() {
    let multipart = message([control("[{\"$ref\":\"p\"}]"), part("p", "\r\n--\r\n")]);
    for (content_type, whole) in
        [(MULTIPART, multipart.as_str()), (JSON, "{\"a\":[1,\"\\u0041\"]}")]
    {
        let whole = Bytes::copy_from_slice(whole.as_bytes());
        // The CRLF after the close delimiter may be missing.
        let shortest = whole.len() - if content_type == MULTIPART { 2 } else { 0 };
        for len in 0..shortest {
            let body = whole.slice(..len);
            let error = decode_with(content_type, body.clone(), Config::new()).unwrap_err();
            let ways = if len == 0 { vec![vec![]] } else { ways_to_cut(&body) };
            let (what, config) = (format!("{len} bytes"), Config::new());
            check_refused(&what, content_type.as_ref(), &body, config, &ways, &error);
        }
    }
}

proptest! {
    #![proptest_config(messages::cases())]

    #[test]
    fn a_body_passes_exactly_when_its_message_is_valid_acp_frm_7(
        Generated { content_type, body } in messages::message(), seed: u64,
    ) {
        let Ok(decoder) = EnvelopeDecoder::new(&content_type, Config::new()) else { return Ok(()) };
        let body = Bytes::from(body);
        let outcome = decode_with(&content_type, body.clone(), Config::new());
        let mut pieces = random_cuts(&body, seed);
        while pieces.last().is_some_and(Bytes::is_empty) {
            pieces.pop();
        }
        let with_length = Random(seed).below(2) == 0;
        match outcome {
            Ok(envelope) => {
                let (passage, verdict) = pass(Frames::new(&pieces, with_length), decoder);
                prop_assert!(same_frames(&pieces, &passage.data));
                let passed = verdict.get().unwrap().as_ref().unwrap();
                prop_assert_eq!(&passed.warnings[..], envelope.warnings());
            }
            Err(error) => {
                check_refused("", &content_type, &body, Config::new(), &[pieces], &error);
            }
        }
    }
}

#[test]
fn nothing_more_is_handed_on_after_an_error() {
    let whole = Bytes::from(message_of(&[("p", "content")]));
    let noted = Bytes::from([&whole[..], b"note"].concat());
    let cut_short = whole.slice(..whole.len() - 4);
    let broken = |pieces: &[Bytes], with_length| Frames::new(pieces, with_length).failing();
    for (body, is_refused) in [(noted, true), (cut_short, true), (whole, false)] {
        for (pieces, with_length) in
            ways_to_cut(&body).iter().flat_map(|pieces| [(pieces, true), (pieces, false)])
        {
            let make = if is_refused { Frames::new } else { broken };
            let decoder = new_decoder(MULTIPART.as_ref(), Config::strict());
            let (mut body, verdict) = ValidatingBody::new(make(pieces, with_length), decoder);
            while let Some(Ok(_)) = next(&mut body) {}
            let refused = verdict.refused().cloned();
            assert_eq!(refused.is_some(), is_refused);
            // The body underneath may still have frames, or have come to its end.
            for _ in 0..3 {
                assert!(!matches!(next(&mut body), Some(Ok(_))), "a frame comes after the error");
            }
            assert_eq!(verdict.refused(), refused.as_ref(), "the first verdict stands");
            assert!(!verdict.get().is_some_and(Result::is_ok));
        }
    }
}

#[test]
fn a_body_that_is_dropped_half_way_has_no_verdict() {
    let body = Bytes::from(message_of(&[("p", "content")]));
    for (with_length, frames) in [(true, 0), (true, 1), (false, 0), (false, 1), (false, 2)] {
        let pieces = cut(&body, [100]);
        let decoder = new_decoder(MULTIPART.as_ref(), Config::new());
        let (mut body, verdict) = ValidatingBody::new(Frames::new(&pieces, with_length), decoder);
        for _ in 0..frames {
            next(&mut body).unwrap().unwrap();
        }
        drop(body);
        assert!(verdict.get().is_none() && verdict.refused().is_none());
    }
}

#[test]
fn an_error_of_the_body_passes_through() {
    let whole = Bytes::from(message_of(&[("p", "content")]));
    for with_length in [true, false] {
        for len in [0, 1, 100, whole.len()] {
            let mut frames = Frames::new(&cut(&whole.slice(..len), [60]), with_length).failing();
            frames.frames.retain(|frame| !frame.data_ref().unwrap().is_empty());
            let (passage, verdict) = pass(frames, new_decoder(MULTIPART.as_ref(), Config::new()));
            assert_eq!(passage.error, Some(StreamError::Body(Broken)));
            assert_eq!(passage.error.unwrap().code(), "body_failed");
            assert!(verdict.get().is_none(), "the message is neither valid nor at fault");
            if with_length && len == whole.len() {
                let handed_on: usize = passage.data.iter().map(Bytes::len).sum();
                assert!(handed_on < len, "the end did not come");
            }
        }
    }
}

// The layer.

type Answer = Response<Full<Bytes>>;

fn post(content_type: &str, body: Frames) -> Request<Frames> {
    Request::post("/").header(CONTENT_TYPE, content_type).body(body).unwrap()
}

/// A whole message, as a request.
fn post_whole(content_type: &str, body: &str) -> Request<Frames> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    post(content_type, Frames::new(&random_cuts(&body, 3), false))
}

/// A body that nobody may read.
fn untouched() -> Frames {
    Frames { over: true, ..Frames::new(&[], false) }
}

async fn text<B>(response: Response<B>) -> (StatusCode, HeaderMap, Vec<u8>)
where
    B: Body<Data = Bytes>,
    B::Error: fmt::Debug,
{
    let (head, body) = response.into_parts();
    (head.status, head.headers, body.collect().await.unwrap().to_bytes().to_vec())
}

/// Reads all, and sends it back; fails when the body does.
async fn echo<B>(request: Request<B>) -> Result<Answer, io::Error>
where
    B: Body<Data = Bytes>,
    io::Error: From<B::Error>,
{
    let body = request.into_body().collect().await?;
    let mut answer = Response::new(Full::new(body.to_bytes()));
    *answer.status_mut() = StatusCode::CREATED;
    Ok(answer)
}

#[tokio::test]
async fn a_valid_message_reaches_the_service_and_its_answer_the_sender() {
    let service = ValidateLayer::new(Config::strict()).layer(service_fn(echo));
    let whole = message_of(&[("p", "content"), ("q", "")]);
    for (content_type, body) in [(MULTIPART, &*whole), (JSON, "{\"id\":1}")] {
        let response = service.clone().oneshot(post_whole(content_type, body)).await.unwrap();
        assert!(matches!(response.body(), Either::Left(_)));
        let (status, _, answer) = text(response).await;
        assert_eq!((status, answer), (StatusCode::CREATED, body.as_bytes().to_vec()));
    }
}

#[tokio::test]
async fn a_message_of_bad_header_fields_does_not_reach_the_service_acp_ct_2_acp_lim_3() {
    let called = Arc::new(AtomicUsize::new(0));
    let counter = called.clone();
    let service = ValidateLayer::new(Config::new()).layer(service_fn(move |request| {
        counter.fetch_add(1, Ordering::Relaxed);
        echo::<ValidatingBody<Frames>>(request)
    }));
    for (fields, status, code) in [
        (&[][..], 415, "content_type_unsupported"),
        (&[("content-type", "text/plain")], 415, "content_type_unsupported"),
        (&[("content-type", JSON), ("content-type", JSON)], 400, "content_type_invalid"),
        (&[("content-type", JSON), ("content-encoding", "gzip")], 415, "content_encoding"),
        (&[("content-type", JSON), ("content-length", "x")], 400, "content_length_invalid"),
        (
            &[("content-type", MULTIPART), ("content-length", "600000000")],
            413,
            "limit_message_size",
        ),
    ] {
        let mut request = Request::post("/");
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let answer = service.clone().oneshot(request.body(untouched()).unwrap()).await.unwrap();
        let (answered, headers, body) = text(answer).await;
        assert_eq!(problem(answered, &headers, &body), (status, code.to_owned()));
        assert_eq!(headers.contains_key("accept-encoding"), code == "content_encoding");
    }
    assert_eq!(called.load(Ordering::Relaxed), 0);
    service.oneshot(post_whole(JSON, "1")).await.unwrap();
    assert_eq!(called.load(Ordering::Relaxed), 1);
}

/// What a service answers, when it does not fail, to a message that is refused.
async fn swallow(request: Request<ValidatingBody<Frames>>) -> Result<Answer, io::Error> {
    let mut body = request.into_body();
    while let Some(Ok(_)) = body.frame().await {}
    Ok(Response::new(Full::from("thank you")))
}

#[tokio::test]
async fn whatever_the_service_makes_of_a_refused_message_the_answer_is_a_problem() {
    let layer = ValidateLayer::new(Config::strict());
    let unresolved = message([control("{\"$ref\":\"lost\"}")]);
    let truncated = &unresolved[..40];
    let noted = message([control("{}")]) + "note";
    for (content_type, body, expected) in [
        (MULTIPART, &*unresolved, (422, "ref_unresolved")),
        (MULTIPART, truncated, (400, "truncated")),
        (MULTIPART, &noted, (422, "epilogue")),
        (MULTIPART, "", (400, "truncated")),
        (JSON, "[1,]", (400, "control_malformed")),
        (JSON, "", (400, "control_malformed")),
    ] {
        let request = || post_whole(content_type, body);
        let (status, code) = expected;
        let failed = layer.layer(service_fn(echo)).oneshot(request()).await.unwrap();
        let swallowed = layer.layer(service_fn(swallow)).oneshot(request()).await.unwrap();
        for answer in [failed, swallowed] {
            assert!(matches!(answer.body(), Either::Right(_)));
            let (answered, headers, body) = text(answer).await;
            assert_eq!(problem(answered, &headers, &body), (status, code.to_owned()), "{body:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_before_the_message_was_judged_stands() {
    let early = |_: Request<ValidatingBody<Frames>>| async {
        Ok::<_, io::Error>(Response::new(Full::<Bytes>::from("busy")))
    };
    let service = ValidateLayer::new(Config::new()).layer(service_fn(early));
    for body in [Frames::new(&["[1,]".into()], true), untouched()] {
        let answer = service.clone().oneshot(post(JSON, body)).await.unwrap();
        let (status, _, answer) = text(answer).await;
        assert_eq!((status, &answer[..]), (StatusCode::OK, &b"busy"[..]));
    }
}

#[tokio::test]
async fn an_error_that_is_not_the_messages_stays_the_services() {
    let layer = ValidateLayer::new(Config::new());
    let fails = |request: Request<ValidatingBody<Frames>>| async {
        request.into_body().collect().await?;
        Err::<Answer, _>(io::Error::other("agent"))
    };
    let error = layer.layer(service_fn(fails)).oneshot(post_whole(JSON, "1")).await.unwrap_err();
    assert_eq!(error.to_string(), "agent");
    // The body failed, and nobody knows whether the message would have been valid.
    let body = Frames::new(&["[1".into()], false).failing();
    let error = layer.layer(service_fn(echo)).oneshot(post(JSON, body)).await.unwrap_err();
    assert_eq!(error.to_string(), "broken");
}

/// A service that has to be asked whether it is ready, before each call.
#[derive(Debug)]
struct Gate {
    asked: u8,
}

impl Clone for Gate {
    fn clone(&self) -> Self {
        Self { asked: 0 }
    }
}

impl Service<Request<ValidatingBody<Frames>>> for Gate {
    type Response = Answer;
    type Error = io::Error;
    type Future = Ready<io::Result<Answer>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.asked += 1;
        match self.asked {
            1 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            2 => Poll::Ready(Ok(())),
            _ => Poll::Ready(Err(io::Error::other("closed"))),
        }
    }

    fn call(&mut self, _: Request<ValidatingBody<Frames>>) -> Self::Future {
        assert_eq!(self.asked, 2, "the service that is called is the one that was ready");
        ready(Ok(Response::new(Full::default())))
    }
}

#[tokio::test]
async fn readiness_is_that_of_the_service() {
    let mut service: Validate<Gate> = ValidateLayer::default().layer(Gate { asked: 0 });
    let mut cx = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_pending());
    for _ in 0..2 {
        let answer = service.clone().oneshot(post_whole(JSON, "1")).await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    let answer = service.ready().await.unwrap().call(post_whole(JSON, "1")).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(service.ready().await.unwrap_err().to_string(), "closed");
}

#[test]
fn the_layers_future_crosses_threads() {
    fn assert_sent<T: Send + 'static>(_: T) {}
    fn assert_shared<T: Clone + Send + Sync + 'static>(_: &T) {}
    let mut service = ValidateLayer::new(Config::new()).layer(Gate { asked: 2 });
    assert_shared(&service);
    assert_sent(service.call(post_whole(JSON, "1")));
    assert_sent(service.call(post_whole("text/plain", "1")));
}

// A gateway in front of an agent, both of hyper.

/// What has come to the agent: its header fields, and the body, if all of it has come.
type Arrival = (HeaderMap, Result<(Bytes, Option<HeaderMap>), String>);

/// An agent that sends back what it gets, and what has come to it.
async fn agent() -> (SocketAddr, UnboundedReceiver<Arrival>) {
    let (arrived, arrivals) = unbounded_channel();
    let address = serve(move |request: Request<Incoming>| {
        let arrived = arrived.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map_err(|error| format!("{error:?}"));
            let body = body.map(|b| (b.trailers().cloned(), b.to_bytes()));
            let answer = body.as_ref().map(|(_, data)| data.clone()).unwrap_or_default();
            arrived.send((head.headers, body.map(|(trailers, data)| (data, trailers)))).unwrap();
            Response::new(Full::new(answer))
        }
    });
    (address.await, arrivals)
}

/// A gateway that lets valid messages through to the agent.
async fn gateway(agent: SocketAddr) -> SocketAddr {
    let client = hyper_client::<ValidatingBody<Incoming>>();
    let forward = service_fn(move |request: Request<ValidatingBody<Incoming>>| {
        let (mut head, body) = request.into_parts();
        head.uri = url(agent, "/").parse().unwrap();
        client.request(Request::from_parts(head, body))
    });
    let service = ValidateLayer::new(Config::strict()).layer(forward);
    serve(move |request| {
        let answer = service.clone().oneshot(request);
        async move { answer.await.expect("an agent that answers") }
    })
    .await
}

/// A message of a megabyte.
fn large(document: &str) -> (String, Bytes) {
    let mut message = EnvelopeBuilder::new();
    let content = Bytes::from(b"content\r\n".repeat(120_000));
    message.add(NewPart::new("a/b", content).name("p")).unwrap();
    let encoder = message.build(&Control::from_text(document.to_owned()).unwrap()).unwrap();
    (encoder.content_type().to_owned(), encoder.into_bytes().unwrap())
}

/// A request with its length, and one in chunks; whether it is the one with the length.
fn requests(content_type: &str, body: &Bytes) -> [(bool, Vec<u8>); 2] {
    let length = body.len().to_string();
    let plain = [("Content-Type", content_type), ("Content-Length", &length)];
    let coded = [("Content-Type", content_type), ("Transfer-Encoding", "chunked")];
    let pieces = random_cuts(body, 5);
    let sent = [&chunks(&pieces)[..], b"0\r\n\r\n"].concat();
    [(true, request("/", &plain, body)), (false, request("/", &coded, &sent))]
}

#[tokio::test]
async fn a_gateway_passes_valid_messages_on_as_they_are_acp_frm_7() {
    let (agent, mut arrivals) = agent().await;
    let gateway = gateway(agent).await;
    let (content_type, body) = large("{\"$ref\":\"p\"}");
    for (has_length, request) in requests(&content_type, &body) {
        let (status, _, answer) = exchange(gateway, &request).await;
        assert_eq!(status, 200);
        let (headers, arrived) = within(arrivals.recv()).await.unwrap();
        assert_eq!(arrived.unwrap().0, body);
        assert_eq!(headers.get("content-length").is_some(), has_length);
        assert_eq!(headers["content-type"], content_type);
        // The agent sent the message back with chunks or without.
        assert!(answer.windows(1000).any(|window| window == &body[..1000]));
    }
}

#[tokio::test]
async fn a_gateway_lets_no_whole_message_through_that_is_refused_acp_frm_5_acp_ref_8() {
    let (agent, mut arrivals) = agent().await;
    let gateway = gateway(agent).await;
    // Only its last bytes, or the end after them, make the message invalid.
    let (content_type, whole) = large("{\"$ref\":\"p\"}");
    let cut_short = whole.slice(..whole.len() - 4);
    let with_note = Bytes::from([&whole[..], b"note"].concat());
    for (body, expected) in [(cut_short, (400, "truncated")), (with_note, (422, "epilogue"))] {
        for (has_length, request) in requests(&content_type, &body) {
            let (status, headers, answer) = exchange(gateway, &request).await;
            let (status, code) = problem(status, &headers, &answer);
            assert_eq!((status, &*code), expected, "with length: {has_length}");
            let (_, arrived) = within(arrivals.recv()).await.unwrap();
            assert!(arrived.is_err(), "the agent got all of it, with length: {has_length}");
        }
    }
}
