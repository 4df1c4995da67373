//! What the gateway answers to which request.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use acp_envelope::{Config, http::Problem, spool::Spool};
use axum::{
    Router,
    body::Body,
    extract::State,
    response::Response,
    routing::{get, post},
};
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS},
};
use tokio::sync::Semaphore;

use super::{
    Bounds,
    client_body::Pace,
    message,
    metrics::{self, Metrics},
    upstream::Upstream,
};

/// What the page may do: run what is in it, and send to where it came from.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[derive(Debug)]
pub(super) struct App {
    pub(super) config: Config,
    pub(super) spool: Spool,
    pub(super) pace: Pace,
    pub(super) upstream: Option<Upstream>,
    pub(super) metrics: Metrics,
    /// One for each message that may be in flight and is not.
    pub(super) permits: Semaphore,
    max_in_flight: usize,
    /// No more messages are taken.
    closing: AtomicBool,
}

impl App {
    pub(super) fn new(config: Config, bounds: &Bounds, upstream: Option<Upstream>) -> Arc<Self> {
        let window = bounds.client_timeout.max(Duration::from_millis(1));
        let min_bytes = window.as_secs_f64() * bounds.min_rate.as_u64() as f64;
        let max_in_flight = bounds.max_in_flight.min(Semaphore::MAX_PERMITS);
        Arc::new(Self {
            config,
            spool: bounds.spool(),
            pace: Pace { window, min_bytes: min_bytes as u64 },
            upstream,
            metrics: Metrics::new(),
            permits: Semaphore::new(max_in_flight),
            max_in_flight,
            closing: AtomicBool::new(false),
        })
    }

    pub(super) fn router(self: Arc<Self>) -> Router {
        Router::new()
            .route("/", get(page))
            .route("/messages", post(message::take))
            .route("/healthz", get(health))
            .route("/metrics", get(metrics))
            .fallback(not_found)
            .method_not_allowed_fallback(method_not_allowed)
            .with_state(self)
    }

    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}

async fn page() -> Response {
    let mut response = text("text/html; charset=utf-8", include_str!("page.html"));
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

async fn health(State(app): State<Arc<App>>) -> Response {
    if app.closing.load(Ordering::Relaxed) {
        let mut response = text("text/plain; charset=utf-8", "closing\n");
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        return response;
    }
    text("text/plain; charset=utf-8", "ok\n")
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    let in_flight = app.max_in_flight - app.permits.available_permits();
    text(metrics::MEDIA_TYPE, app.metrics.to_text(in_flight))
}

async fn not_found() -> Response {
    let hint = "send messages to POST /messages";
    let problem = Problem::new(StatusCode::NOT_FOUND, "not_found", "there is nothing here", hint);
    problem.into_response()
}

async fn method_not_allowed() -> Response {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let detail = "method is not allowed here";
    Problem::new(status, "method_not_allowed", detail, "send messages with POST").into_response()
}

/// An answer that is what its media type says.
pub(super) fn text(media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
