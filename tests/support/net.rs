//! Real servers and clients on the loopback interface.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "a module of every test file, each of which uses what it needs"
)]

use std::{convert::Infallible, error::Error, future::Future, net::SocketAddr, time::Duration};

use ::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use bytes::Bytes;
use http_body::Body;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

/// How long anything may take: far longer than it does, so that a hang fails.
const PATIENCE: Duration = Duration::from_secs(120);

pub async fn within<F: Future>(future: F) -> F::Output {
    timeout(PATIENCE, future).await.expect("nothing hangs")
}

pub async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// A server of hyper that answers every request with `service`.
pub async fn serve<S, F, B>(service: S) -> SocketAddr
where
    S: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Response<B>> + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let service = service.clone();
            let service = service_fn(move |request| {
                let response = service(request);
                async move { Ok::<_, Infallible>(response.await) }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

/// The client of hyper.
pub fn hyper_client<B>() -> Client<HttpConnector, B>
where
    B: Body + Send,
    B::Data: Send,
{
    Client::builder(TokioExecutor::new()).build_http()
}

/// The client of reqwest, which asks no proxy.
pub fn reqwest_client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

pub fn url(address: SocketAddr, path: &str) -> String {
    format!("http://{address}{path}")
}

/// The bytes of a request.
pub fn request(path: &str, fields: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let fields: String =
        fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("POST {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{fields}\r\n");
    [head.as_bytes(), body].concat()
}

/// A body in chunked transfer coding, without its last chunk.
pub fn chunks<'a>(pieces: impl IntoIterator<Item = &'a Bytes>) -> Vec<u8> {
    let mut coded = Vec::new();
    for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
        coded.extend(format!("{:x}\r\n", piece.len()).as_bytes());
        coded.extend_from_slice(piece);
        coded.extend(b"\r\n");
    }
    coded
}

/// Sends these bytes and goes away.
pub async fn send_and_leave(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    within(stream.write_all(bytes)).await.unwrap();
}

/// Sends these bytes, and reads the answer until the server closes.
pub async fn exchange(address: SocketAddr, bytes: &[u8]) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    within(stream.write_all(bytes)).await.unwrap();
    let mut answer = Vec::new();
    within(stream.read_to_end(&mut answer)).await.unwrap();
    let mut slots = [httparse::EMPTY_HEADER; 16];
    let mut head = httparse::Response::new(&mut slots);
    let httparse::Status::Complete(end) = head.parse(&answer).unwrap() else {
        panic!("the head is not complete: {}", answer.escape_ascii())
    };
    let field = |field: &httparse::Header<'_>| {
        (HeaderName::try_from(field.name).unwrap(), HeaderValue::from_bytes(field.value).unwrap())
    };
    let headers = head.headers.iter().map(field).collect();
    let status = StatusCode::from_u16(head.code.unwrap()).unwrap();
    (status, headers, answer.split_off(end))
}

/// The problem document of an answer: its status and its code.
pub fn problem(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> (u16, String) {
    assert_eq!(headers["content-type"], "application/problem+json");
    let document: Value = serde_json::from_slice(body).unwrap();
    assert_eq!(document["status"], status.as_u16());
    (status.as_u16(), document["code"].as_str().unwrap().to_owned())
}

/// The first error of a chain that is an `E`.
pub fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    error.downcast_ref().or_else(|| cause(error.source()?))
}
