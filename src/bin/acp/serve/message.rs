//! One message from its request to its answer.

use std::{sync::Arc, time::Instant};

use acp_envelope::{
    EnvelopeDecoder, Item,
    http::{BodyChunks, Passed, Problem, ValidatingBody, Verdict, decoder},
    stream::{EnvelopeStream, StreamError},
};
use axum::{
    extract::{Request, State},
    response::Response,
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::{
    HeaderValue, StatusCode,
    header::{CONNECTION, CONTENT_LENGTH, EXPECT, RETRY_AFTER},
    request::Parts,
};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde::Serialize;
use serde_json::value::RawValue;
use tracing::info;

use super::{
    app::{App, text},
    client_body::{BodyFault, ClientBody, Receipt},
    server::Peer,
    upstream::{Upstream, UpstreamFault},
};
use crate::summary::{Summary, Summing};

/// Takes a message, and answers what is in it or what is wrong with it.
pub(super) async fn take(State(app): State<Arc<App>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = ClientBody::new(body, app.pace, head.headers.contains_key(EXPECT));
    let mut record = Record::new(&app, head.extensions.get().copied(), body.receipt());
    let answer = match app.permits.try_acquire() {
        Err(_) => Err(busy()),
        Ok(_permit) => receive(&app, head, body, &mut record).await,
    };
    answer.unwrap_or_else(|refusal| {
        record.refuse(&refusal);
        refusal.into_response()
    })
}

/// Why a message is not answered by what is in it.
enum Refusal {
    /// The message breaks a rule.
    Message(Problem),
    /// Something around it went wrong; the cause is not for the client.
    Failed { problem: Problem, cause: Option<String> },
}

async fn receive(
    app: &App,
    head: Parts,
    body: ClientBody,
    record: &mut Record<'_>,
) -> Result<Response, Refusal> {
    let decoder = decoder(&head.headers, app.config);
    let decoder = decoder.map_err(|error| Refusal::Message(error.into()))?;
    let answer = match &app.upstream {
        None => summarize(body, decoder, record).await?,
        Some(upstream) if upstream.streams() => {
            forward_at_once(upstream, head, body, decoder, record).await?
        }
        Some(upstream) => store_and_forward(app, upstream, head, body, decoder, record).await?,
    };
    record.status = Some(answer.status());
    Ok(answer)
}

#[derive(Serialize)]
struct Valid<'a> {
    verdict: &'static str,
    #[serde(flatten)]
    message: &'a Summary,
}

/// Answers what is in the message.
async fn summarize(
    mut body: ClientBody,
    decoder: EnvelopeDecoder,
    record: &mut Record<'_>,
) -> Result<Response, Refusal> {
    let mut summary = Summary::of(&decoder);
    let mut summing = Summing::new(true);
    let mut message = EnvelopeStream::new(BodyChunks::new(&mut body), decoder);
    let outcome = loop {
        match message.try_next().await {
            Ok(Some(item)) => {
                summing.take(&item, message.decoder(), &mut summary);
                if let (Item::Control(document), Some(control)) = (&item, &mut summary.control) {
                    control.document = RawValue::from_string(document.text().to_owned()).ok();
                }
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    summary.finish(message.decoder());
    record.parts = summary.parts.len();
    outcome.map_err(Refusal::of)?;
    record.valid(summary.warnings.len());
    let json = serde_json::to_vec(&Valid { verdict: "ok", message: &summary });
    let json = json.map_err(|error| Refusal::io(&error.into()))?;
    Ok(text("application/json", json))
}

/// Forwards the message once it is known to be valid.
async fn store_and_forward(
    app: &App,
    upstream: &Upstream,
    mut head: Parts,
    mut body: ClientBody,
    decoder: EnvelopeDecoder,
    record: &mut Record<'_>,
) -> Result<Response, Refusal> {
    let mut writer = app.spool.writer();
    let mut trailers = None;
    let (mut validating, verdict) = ValidatingBody::new(&mut body, decoder);
    let outcome = loop {
        match validating.frame().await {
            None => break Ok(()),
            Some(Err(error)) => break Err(Refusal::of(error)),
            Some(Ok(frame)) => match frame.into_data() {
                Ok(data) => {
                    if let Err(error) = writer.write(&data).await {
                        break Err(Refusal::io(&error));
                    }
                }
                Err(frame) => trailers = frame.into_trailers().ok(),
            },
        }
    };
    record.judge(&verdict);
    outcome?;
    drop(body);
    let content = writer.finish().await.map_err(|error| Refusal::io(&error))?;
    // A body with trailers goes on as it came: in chunks.
    if trailers.is_none() {
        head.headers.insert(CONTENT_LENGTH, content.len().into());
    }
    let trailers = stream::iter(trailers.map(|fields| Ok(Frame::trailers(fields))));
    let frames = content.stream().map_ok(Frame::data).map_err(Into::into).chain(trailers);
    upstream.forward(&head, record.peer, StreamBody::new(frames)).await.map_err(Refusal::upstream)
}

/// Forwards the message while it arrives.
async fn forward_at_once(
    upstream: &Upstream,
    head: Parts,
    body: ClientBody,
    decoder: EnvelopeDecoder,
    record: &mut Record<'_>,
) -> Result<Response, Refusal> {
    let (validating, verdict) = ValidatingBody::new(body, decoder);
    let answer = upstream.forward(&head, record.peer, validating.map_err(Into::into)).await;
    record.judge(&verdict);
    if let Some(error) = verdict.refused() {
        return Err(Refusal::Message(Problem::from(error)));
    }
    match (answer, record.receipt.fault()) {
        (Ok(answer), _) => Ok(answer),
        (Err(_), Some(fault)) => Err(Refusal::client(fault)),
        (Err(error), None) => Err(Refusal::upstream(error)),
    }
}

impl Refusal {
    fn of(error: StreamError<BodyFault>) -> Self {
        match error {
            StreamError::Body(fault) => Self::client(fault),
            StreamError::Decode(error) => Self::Message(error.into()),
            // There is no other.
            error => Self::Failed { problem: error.into(), cause: None },
        }
    }

    fn client(fault: BodyFault) -> Self {
        let (status, code, hint) = match fault {
            BodyFault::TooSlow => (
                StatusCode::REQUEST_TIMEOUT,
                "client_timeout",
                "send the message faster, or in smaller pieces",
            ),
            BodyFault::Failed => (StatusCode::BAD_REQUEST, "body_failed", "send the whole body"),
        };
        let problem = Problem::new(status, code, fault.to_string(), hint);
        Self::Failed { problem, cause: None }
    }

    fn upstream(fault: UpstreamFault) -> Self {
        let hint = "try again later";
        let problem = Problem::new(fault.status(), fault.code(), fault.to_string(), hint);
        Self::Failed { problem, cause: fault.cause() }
    }

    fn io(error: &std::io::Error) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        let detail = "gateway cannot hold the message";
        let problem = Problem::new(status, "io", detail, "try again later");
        Self::Failed { problem, cause: Some(error.to_string()) }
    }

    fn into_response(self) -> Response {
        let (Self::Message(problem) | Self::Failed { problem, .. }) = self;
        let status = problem.status();
        let mut response = problem.into_response::<axum::body::Body>();
        match status {
            StatusCode::SERVICE_UNAVAILABLE => {
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::REQUEST_TIMEOUT => {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

fn busy() -> Refusal {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let detail = "too many messages are in flight";
    let problem = Problem::new(status, "busy", detail, "try again in a second");
    Refusal::Failed { problem, cause: None }
}

/// What is counted and logged about a message, once it is answered or its client has gone.
struct Record<'a> {
    app: &'a App,
    started: Instant,
    peer: Option<Peer>,
    verdict: &'static str,
    code: &'static str,
    status: Option<StatusCode>,
    cause: Option<String>,
    receipt: Receipt,
    parts: usize,
    warnings: usize,
}

impl<'a> Record<'a> {
    fn new(app: &'a App, peer: Option<Peer>, receipt: Receipt) -> Self {
        Self {
            app,
            started: Instant::now(),
            peer,
            verdict: "aborted",
            code: "",
            status: None,
            cause: None,
            receipt,
            parts: 0,
            warnings: 0,
        }
    }

    fn valid(&mut self, warnings: usize) {
        self.verdict = "valid";
        self.warnings = warnings;
    }

    /// Takes what was found out so far.
    fn judge(&mut self, verdict: &Verdict) {
        match verdict.get() {
            Some(Ok(Passed { parts, warnings, .. })) => {
                self.parts = *parts;
                self.valid(warnings.len());
            }
            Some(Err(_)) => self.verdict = "refused",
            None => self.verdict = "undecided",
        }
    }

    fn refuse(&mut self, refusal: &Refusal) {
        let problem = match refusal {
            Refusal::Message(problem) => {
                self.verdict = "refused";
                problem
            }
            Refusal::Failed { problem, cause } => {
                self.verdict = "failed";
                self.cause.clone_from(cause);
                problem
            }
        };
        (self.code, self.status) = (problem.code(), Some(problem.status()));
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        let (took, bytes) = (self.started.elapsed(), self.receipt.bytes());
        self.app.metrics.count(self.verdict, self.code, bytes, self.parts, took);
        info!(
            verdict = self.verdict,
            code = self.code,
            status = self.status.map(|status| status.as_u16()),
            cause = self.cause,
            bytes,
            parts = self.parts,
            warnings = self.warnings,
            seconds = took.as_secs_f64(),
            peer = self.peer.map(|Peer(peer)| peer.to_string()),
            "message"
        );
    }
}
