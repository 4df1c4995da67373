//! Messages as arguments and answers of handlers, over real connections.

#![cfg(feature = "axum")]

#[path = "support/net.rs"]
mod net;

use std::{io, net::SocketAddr};

use ::axum::{
    Extension, Router,
    body::Body,
    extract::{DefaultBodyLimit, Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::IntoResponse,
    routing::post,
};
use acp_envelope::{
    Config, Control, Envelope, EnvelopeBuilder, Limits, NewPart, decode,
    http::{BodyChunks, EnvelopeBody, Problem, ValidateLayer, receive},
    spool::{Spool, SpooledEnvelope},
    stream::EnvelopeStream,
};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, Limited};
use net::within;
use serde_json::Value;

const MIB: usize = 1 << 20;

type Message = EnvelopeStream<BodyChunks<Body>>;

async fn whole(envelope: Envelope) -> String {
    envelope.parts()[0].body().len().to_string()
}

async fn spooled(message: SpooledEnvelope) -> Result<String, StatusCode> {
    let (content, mut read) = (message.parts()[0].content().clone(), 0);
    let mut chunks = content.stream();
    while let Some(chunk) = chunks.next().await {
        read += chunk.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?.len();
    }
    assert_eq!(read as u64, content.len());
    let place = if content.is_in_memory() { "memory" } else { "file" };
    Ok(format!("{read} in {place}"))
}

async fn streamed(message: Message) -> Result<String, Problem> {
    count(message).await
}

async fn from_state(State(config): State<Config>, request: Request) -> Result<String, Problem> {
    let (head, body) = request.into_parts();
    count(receive(&head.headers, body, config)?).await
}

async fn count(mut message: Message) -> Result<String, Problem> {
    let mut bytes = 0;
    while let Some(mut part) = message.next_part().await? {
        while let Some(chunk) = part.chunk().await? {
            bytes += chunk.len();
        }
    }
    Ok(bytes.to_string())
}

async fn echo(envelope: Envelope) -> Result<impl IntoResponse, Problem> {
    Ok(EnvelopeBody::new(EnvelopeBuilder::new().build_from(&envelope)?))
}

async fn raw(request: Request) -> Result<String, StatusCode> {
    let body = request.into_body().collect().await.map_err(|_| StatusCode::IM_A_TEAPOT)?;
    Ok(body.to_bytes().len().to_string())
}

fn routes() -> Router {
    Router::new()
        .route("/whole", post(whole))
        .route("/spooled", post(spooled))
        .route("/streamed", post(streamed))
        .route("/echo", post(echo))
}

async fn serve(app: Router) -> SocketAddr {
    let (listener, address) = net::listen().await;
    tokio::spawn(async { ::axum::serve(listener, app).await.unwrap() });
    address
}

/// A message with one part of that many bytes, which are made while it is sent.
fn message(bytes: usize) -> EnvelopeBody {
    let mut message = EnvelopeBuilder::new();
    let part = NewPart::streamed("application/octet-stream", Some(bytes as u64)).name("p");
    let part = message.add(part).unwrap();
    let encoder = message.build(&Control::new(&part).unwrap()).unwrap();
    let chunk = |n| Ok::<_, io::Error>(Bytes::from(vec![b'x'; n]));
    let chunks = (0..bytes / MIB).map(move |_| chunk(MIB)).chain([chunk(bytes % MIB)]);
    EnvelopeBody::new(encoder).content(&part, stream::iter(chunks))
}

async fn post_message(address: SocketAddr, path: &str, body: EnvelopeBody) -> (u16, Bytes) {
    let request = net::reqwest_client()
        .post(net::url(address, path))
        .header("content-type", body.content_type())
        .body(reqwest::Body::wrap(body));
    let answer = within(request.send()).await.unwrap();
    let status = answer.status().as_u16();
    (status, within(answer.bytes()).await.unwrap())
}

fn code((status, document): (u16, Bytes)) -> (u16, String) {
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["status"], status);
    (status, document["code"].as_str().unwrap().to_owned())
}

fn text((status, answer): (u16, Bytes)) -> (u16, String) {
    (status, String::from_utf8(answer.to_vec()).unwrap())
}

#[tokio::test]
async fn the_frameworks_body_limit_does_not_cap_a_message() {
    for app in [routes(), routes().layer(DefaultBodyLimit::max(1024))] {
        let address = serve(app).await;
        for bytes in [3 * MIB, 90 * MIB] {
            for (path, place) in [("/whole", ""), ("/spooled", " in file"), ("/streamed", "")] {
                let answer = text(post_message(address, path, message(bytes)).await);
                assert_eq!(answer, (200, format!("{bytes}{place}")), "{path}");
            }
        }
    }
}

#[tokio::test]
async fn limits_come_from_a_layer_or_from_the_state_acp_lim_2() {
    let config = Config::new().limits(Limits::new().max_part_bytes(100));
    let app = routes()
        .layer(Extension(config))
        .merge(Router::new().route("/state", post(from_state)).with_state(config));
    let address = serve(app).await;
    for path in ["/whole", "/spooled", "/streamed", "/state"] {
        assert_eq!(post_message(address, path, message(100)).await.0, 200, "{path}");
        let answer = code(post_message(address, path, message(101)).await);
        assert_eq!(answer, (413, "limit_part_size".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn a_spool_comes_from_a_layer() {
    let folder = tempfile::tempdir().unwrap();
    let spool = Spool::new().max_memory_bytes(100).directory(folder.path());
    let address = serve(routes().layer(Extension(spool))).await;
    for (bytes, place) in [(100, "100 in memory"), (101, "101 in file")] {
        let answer = text(post_message(address, "/spooled", message(bytes)).await);
        assert_eq!(answer, (200, place.to_owned()));
    }
    let missing = Spool::new().max_memory_bytes(0).directory(folder.path().join("missing"));
    let address = serve(routes().layer(Extension(missing))).await;
    let answer = code(post_message(address, "/spooled", message(1)).await);
    assert_eq!(answer, (500, "io".to_owned()));
}

#[tokio::test]
async fn a_message_can_be_the_answer() {
    let address = serve(routes()).await;
    let request = message(9);
    let request = net::reqwest_client()
        .post(net::url(address, "/echo"))
        .header("content-type", request.content_type())
        .body(reqwest::Body::wrap(request));
    let answer = within(request.send()).await.unwrap();
    let content_type = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert!(answer.headers().contains_key("content-length"));
    let envelope = decode(content_type, within(answer.bytes()).await.unwrap()).unwrap();
    assert_eq!(envelope.part("p").unwrap().body(), "xxxxxxxxx");
}

#[tokio::test]
async fn what_is_refused_is_answered_with_a_problem_acp_ctl_1_acp_ct_1() {
    use reqwest::multipart::{Form, Part};

    let address = serve(routes()).await;
    for path in ["/whole", "/spooled", "/streamed", "/echo"] {
        let post = || net::reqwest_client().post(net::url(address, path));
        let answer = within(post().body("{}").send()).await.unwrap();
        let answer = (answer.status().as_u16(), answer.bytes().await.unwrap());
        assert_eq!(code(answer), (415, "content_type_unsupported".to_owned()));

        let send = async |control: Part| {
            let pdf = Part::bytes(&b"%PDF"[..]).mime_str("application/pdf").unwrap();
            let form = Form::new().part("_acp_control", control).part("p", pdf);
            let answer = within(post().multipart(form).send()).await.unwrap();
            (answer.status().as_u16(), answer.bytes().await.unwrap())
        };
        let control = || Part::text(r#"{"$ref":"p"}"#);
        assert_eq!(send(control().mime_str("application/json").unwrap()).await.0, 200, "{path}");
        assert_eq!(code(send(control()).await), (422, "control_not_json".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn a_declared_length_over_the_limit_is_answered_before_the_body_acp_lim_3() {
    let address = serve(routes()).await;
    for path in ["/whole", "/spooled", "/streamed", "/echo"] {
        let fields =
            [("Content-Type", "multipart/form-data; boundary=b"), ("Content-Length", "524288001")];
        // Nothing of the body is sent: whoever waited for it would wait for ever.
        let request = net::request(path, &fields, b"");
        let (status, headers, answer) = net::exchange(address, &request).await;
        let refused = net::problem(status, &headers, &answer);
        assert_eq!(refused, (413, "limit_message_size".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn a_limit_around_the_receiver_is_told_from_a_body_that_fails() {
    async fn limit(request: Request, next: Next) -> impl IntoResponse {
        next.run(request.map(|body| Body::new(Limited::new(body, 1000)))).await
    }
    let address = serve(routes().layer(middleware::from_fn(limit))).await;
    for path in ["/whole", "/spooled", "/streamed"] {
        let answer = code(post_message(address, path, message(2000)).await);
        assert_eq!(answer, (413, "body_limit".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn a_layer_lets_valid_messages_through_as_they_are_acp_ref_5() {
    let app = Router::new().route("/raw", post(raw)).layer(ValidateLayer::new(Config::new()));
    let address = serve(app).await;
    let head = "--b\r\nContent-Type: application/json\r\n\r\n{\"$ref\":\"p\"}\r\n--b\r\n\
        Content-Disposition: form-data; name=\"p\"\r\nContent-Type: application/pdf\r\n\r\n";
    let body = |head: &str| [head.as_bytes(), &vec![b'x'; 8 * MIB], b"\r\n--b--\r\n"].concat();
    let send = async |content_type: &str, body: Vec<u8>| {
        let request = net::reqwest_client().post(net::url(address, "/raw"));
        let request = request.header("content-type", content_type).body(body);
        let answer = within(request.send()).await.unwrap();
        (answer.status().as_u16(), answer.bytes().await.unwrap())
    };
    let multipart = "multipart/form-data; boundary=b";
    let whole = body(head);
    let length = whole.len().to_string();
    assert_eq!(text(send(multipart, whole).await), (200, length));
    let dangling = body(&head.replace("name=\"p\"", "name=\"q\""));
    assert_eq!(code(send(multipart, dangling).await), (422, "ref_unresolved".to_owned()));
    let refused = code(send("text/plain", b"x".to_vec()).await);
    assert_eq!(refused, (415, "content_type_unsupported".to_owned()));
}
