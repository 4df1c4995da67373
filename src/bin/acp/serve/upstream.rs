//! The agent behind the gateway.

use std::{
    error::Error,
    fmt, io, iter,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri,
    header::{
        CONNECTION, EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING,
        UPGRADE, VIA,
    },
    request::Parts,
    uri::Scheme,
};
use http_body::{Frame, SizeHint};
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use hyper::rt::{Read, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{
        Client, Error as ClientError, ResponseFuture,
        connect::{Connection, HttpConnector},
    },
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::sleep;
use tower_service::Service;

use super::server::Peer;

type BoxError = Box<dyn Error + Send + Sync>;
type Forwarded = UnsyncBoxBody<Bytes, BoxError>;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Fields that are between two neighbours (RFC 9110 §7.6.1), beside those that Connection names.
const HOP_BY_HOP: [HeaderName; 7] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TRANSFER_ENCODING,
    UPGRADE,
];

#[derive(Debug)]
pub(super) struct Upstream {
    url: Uri,
    client: HttpClient,
    streams: bool,
    timeout: Duration,
}

#[derive(Debug)]
enum HttpClient {
    Plain(Client<TimeoutConnector<HttpConnector>, Forwarded>),
    Tls(Client<TimeoutConnector<HttpsConnector<HttpConnector>>, Forwarded>),
}

/// The upstream has not answered.
#[derive(Debug)]
pub(super) enum UpstreamFault {
    /// It cannot be connected to, broke off, or does not speak HTTP.
    Failed(ClientError),
    TimedOut,
}

impl Upstream {
    pub(super) fn new(url: &Uri, streams: bool, timeout: Duration) -> io::Result<Self> {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new());
        let client = match url.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => {
                HttpClient::Plain(builder.build(timed(tcp, timeout)))
            }
            Some(scheme) if *scheme == Scheme::HTTPS => {
                tcp.enforce_http(false);
                let tls = HttpsConnectorBuilder::new().with_native_roots()?;
                let tls = tls.https_only().enable_http1().wrap_connector(tcp);
                HttpClient::Tls(builder.build(timed(tls, timeout)))
            }
            _ => {
                let fault = format!("upstream is no http or https URL: {url}");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, fault));
            }
        };
        Ok(Self { url: url.clone(), client, streams, timeout })
    }

    /// Whether messages are forwarded while they arrive.
    pub(super) const fn streams(&self) -> bool {
        self.streams
    }

    /// Forwards a request, and hands the answer back as it is.
    pub(super) async fn forward<B>(
        &self,
        head: &Parts,
        peer: Option<Peer>,
        body: B,
    ) -> Result<Response, UpstreamFault>
    where
        B: http_body::Body<Data = Bytes, Error = BoxError> + Send + 'static,
    {
        let progress = Progress::default();
        let body = Watched { body: body.boxed_unsync(), progress: progress.clone() };
        let mut request = Request::new(body.boxed_unsync());
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = self.target(&head.uri);
        *request.headers_mut() = end_to_end(&head.headers);
        let headers = request.headers_mut();
        headers.remove(HOST);
        headers.remove(EXPECT);
        if wants_trailers(&head.headers) {
            headers.insert(TE, HeaderValue::from_static("trailers"));
            headers.insert(CONNECTION, HeaderValue::from_static("te"));
        }
        headers.append(VIA, HeaderValue::from_static("1.1 acp"));
        if let Some(address) = peer.and_then(|Peer(at)| at.ip().to_string().parse().ok()) {
            headers.append(X_FORWARDED_FOR, address);
        }
        let answer = tokio::select! {
            answer = self.send(request) => answer.map_err(UpstreamFault::of)?,
            () = progress.stalled(self.timeout) => return Err(UpstreamFault::TimedOut),
        };
        let (mut head, body) = answer.into_parts();
        head.headers = end_to_end(&head.headers);
        Ok(Response::from_parts(head, Body::new(body)))
    }

    fn send(&self, request: Request<Forwarded>) -> ResponseFuture {
        match &self.client {
            HttpClient::Plain(client) => client.request(request),
            HttpClient::Tls(client) => client.request(request),
        }
    }

    /// The URL, with the query of the request where it has none of its own.
    fn target(&self, requested: &Uri) -> Uri {
        let (None, Some(query)) = (self.url.query(), requested.query()) else {
            return self.url.clone();
        };
        let mut parts = self.url.clone().into_parts();
        parts.path_and_query = format!("{}?{query}", self.url.path()).parse().ok();
        Uri::from_parts(parts).unwrap_or_else(|_| self.url.clone())
    }
}

/// A connection is given up when it cannot be made, or takes nothing, for that time: it would stay
/// for ever, and the body of the message with it.
fn timed<C>(connector: C, timeout: Duration) -> TimeoutConnector<C>
where
    C: Service<Uri> + Send,
    C::Response: Read + Write + Connection + Send + Unpin,
    C::Future: Send + 'static,
    C::Error: Into<BoxError>,
{
    let mut connector = TimeoutConnector::new(connector);
    connector.set_connect_timeout(Some(timeout));
    connector.set_write_timeout(Some(timeout));
    connector
}

/// The fields that are for whoever is at the other end.
fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<&str> = members(headers, &CONNECTION).collect();
    let is_hop = |name: &HeaderName| {
        HOP_BY_HOP.contains(name)
            || *name == TE
            || named.iter().any(|named| named.eq_ignore_ascii_case(name.as_str()))
    };
    let kept = headers.iter().filter(|(name, _)| !is_hop(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn wants_trailers(headers: &HeaderMap) -> bool {
    members(headers, &TE).any(|coding| coding.eq_ignore_ascii_case("trailers"))
}

/// The members of a field that is a list (RFC 9110 §5.6.1).
fn members<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

/// How a body is read.
#[derive(Debug, Clone, Default)]
struct Progress(Arc<Reads>);

#[derive(Debug, Default)]
struct Reads {
    /// How often something was read.
    count: AtomicU64,
    /// Whether the reader waits for more: it is then not the one that stalls.
    waits: AtomicBool,
}

impl Progress {
    /// Waits until nothing was read for that time, though there was something, or all was read before.
    async fn stalled(&self, time: Duration) {
        loop {
            let before = self.0.count.load(Ordering::Relaxed);
            sleep(time).await;
            let now = self.0.count.load(Ordering::Relaxed);
            if now == before && !self.0.waits.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

/// A body that tells when it is read.
#[derive(Debug)]
struct Watched {
    body: Forwarded,
    progress: Progress,
}

impl http_body::Body for Watched {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        let Progress(reads) = &self.progress;
        reads.waits.store(frame.is_pending(), Ordering::Relaxed);
        reads.count.fetch_add(1, Ordering::Relaxed);
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl UpstreamFault {
    fn of(error: ClientError) -> Self {
        let timed_out = causes(&error)
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|cause| cause.kind() == io::ErrorKind::TimedOut);
        if timed_out { Self::TimedOut } else { Self::Failed(error) }
    }

    pub(super) const fn status(&self) -> StatusCode {
        match self {
            Self::Failed(_) => StatusCode::BAD_GATEWAY,
            Self::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// What lies behind it, for the log.
    pub(super) fn cause(&self) -> Option<String> {
        let Self::Failed(error) = self else { return None };
        Some(causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": "))
    }

    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Failed(error) if error.is_connect() => "upstream_unreachable",
            Self::Failed(_) => "upstream_failed",
            Self::TimedOut => "upstream_timeout",
        }
    }
}

/// An error and what lies behind it.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// Nothing of what is behind the gateway is shown to its clients.
impl fmt::Display for UpstreamFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Failed(error) if error.is_connect() => "upstream cannot be reached",
            Self::Failed(_) => "upstream broke off before it answered",
            Self::TimedOut => "upstream does not answer",
        })
    }
}
