//! Messages as arguments and answers of axum's handlers. Feature `axum`.
//!
//! | argument | what |
//! |---|---|
//! | [`Envelope`] | the whole message, in memory |
//! | [`SpooledEnvelope`] | the whole message, large parts in a temporary file |
//! | [`EnvelopeStream`] | the message as it arrives |
//!
//! A message that is refused is answered with a [`Problem`]; handlers that read a stream turn its error
//! into one with `?`. A handler may answer with an [`EnvelopeBody`].
//!
//! # Limits
//!
//! The [`Config`](crate::Config) of a route is the one in the request's extensions, and so is the [`Spool`]: put
//! `axum::Extension(config)` around the route as a layer. Without one, it is the default. A
//! handler that has its `Config` in axum's state takes the request and calls [`receive`](crate::http::receive).
//!
//! axum's `DefaultBodyLimit` of 2 MB does not apply, and need not be turned off: [`Limits`](crate::Limits)
//! do, 500 MiB a message by default. `tower_http::limit::RequestBodyLimitLayer` does apply, where it is
//! used. An [`Envelope`] takes as much memory as the message has bytes: lower its limits.
//!
//! ```
//! use acp_envelope::{Config, Control, Envelope, EnvelopeBuilder, Limits, http::{EnvelopeBody, Problem}};
//! use axum::{Extension, Router, routing::post};
//!
//! /// Sends back what it has got.
//! async fn echo(envelope: Envelope) -> Result<EnvelopeBody, Problem> {
//!     let encoder = EnvelopeBuilder::new().build_from(&envelope)?;
//!     Ok(EnvelopeBody::new(encoder))
//! }
//!
//! let config = Config::strict().limits(Limits::new().max_message_bytes(8 << 20));
//! let app: Router = Router::new().route("/messages", post(echo)).layer(Extension(config));
//! # use ::http::Request; use tower::ServiceExt as _;
//! # futures_util::FutureExt::now_or_never(async {
//! # let request = Request::post("/messages").header("content-type", "application/json");
//! let response = app.oneshot(request.body(axum::body::Body::from("{\"id\":1}"))?).await?;
//! assert_eq!(response.status(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap().unwrap();
//! ```

use ::http::Extensions;
use axum_core::{
    body::Body,
    extract::{FromRequest, Request},
    response::{IntoResponse, Response},
};

use crate::{
    Envelope, EnvelopeDecoder,
    http::{BodyChunks, EnvelopeBody, Problem, decoder},
    spool::{Spool, SpooledEnvelope},
    stream::{self, EnvelopeStream},
};

/// The message as it arrives. The handler turns its errors into a [`Problem`], with `?`.
impl<S: Sync> FromRequest<S> for EnvelopeStream<BodyChunks<Body>> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (body, decoder) = open(request)?;
        Ok(Self::new(body, decoder))
    }
}

/// The whole message, in memory.
impl<S: Sync> FromRequest<S> for Envelope {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let (body, decoder) = open(request)?;
        Ok(stream::decode(body, decoder).await?)
    }
}

/// The whole message, as the [`Spool`] of the request's extensions holds it.
impl<S: Sync> FromRequest<S> for SpooledEnvelope {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let spool: Spool = setting(request.extensions());
        let (body, decoder) = open(request)?;
        Ok(spool.receive(body, decoder).await?)
    }
}

fn open(request: Request) -> Result<(BodyChunks<Body>, EnvelopeDecoder), Problem> {
    let config = setting(request.extensions());
    let decoder = decoder(request.headers(), config)?;
    Ok((BodyChunks::new(request.into_body()), decoder))
}

/// What a layer has put into the extensions, or the default.
fn setting<T: Clone + Default + Send + Sync + 'static>(extensions: &Extensions) -> T {
    extensions.get().cloned().unwrap_or_default()
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        self.into_response()
    }
}

impl IntoResponse for EnvelopeBody {
    fn into_response(self) -> Response {
        Self::into_response(self).map(Body::new)
    }
}
