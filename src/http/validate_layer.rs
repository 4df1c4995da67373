//! A tower layer that lets valid messages through.

use std::{
    future::{Future, ready},
    pin::Pin,
    task::{Context, Poll},
};

use ::http::{Request, Response};
use bytes::Bytes;
use http_body::Body;
use http_body_util::{Either, Full};
use tower_layer::Layer;
use tower_service::Service;

use super::{Problem, ValidatingBody, decoder};
use crate::Config;

/// Puts a decoder in front of a service that takes messages: it reads the very bytes that were sent,
/// and reads a whole message only when it is valid.
///
/// A message whose header fields are at fault is refused before the service is called. One that turns
/// out to be invalid later fails the body that the service reads ([`ValidatingBody`]), and whatever the
/// service then answers, the sender is answered a [`Problem`]. An answer that the service gave before
/// that stands.
///
/// Every request is taken for a message: put the layer around the routes that take them.
///
/// ```
/// use acp_envelope::{Config, http::{ValidatingBody, ValidateLayer}};
/// use ::http::{Request, Response};
/// use http_body_util::{BodyExt, Full};
/// use tower::{ServiceBuilder, ServiceExt, service_fn};
///
/// type Body = Full<bytes::Bytes>;
///
/// // The agent.
/// async fn echo(request: Request<ValidatingBody<Body>>) -> Result<Response<Body>, std::io::Error> {
///     let message = request.into_body().collect().await.map_err(std::io::Error::from)?;
///     Ok(Response::new(Full::new(message.to_bytes())))
/// }
///
/// # futures_util::FutureExt::now_or_never(async {
/// let gateway = ServiceBuilder::new().layer(ValidateLayer::new(Config::strict())).service(service_fn(echo));
/// let send = |body| {
///     let request = Request::post("/").header("content-type", "application/json");
///     gateway.clone().oneshot(request.body(Body::from(body)).unwrap())
/// };
/// assert_eq!(send("{\"id\":1}").await?.status(), 200);
/// assert_eq!(send("{\"id\":1}{").await?.status(), 400);
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap().unwrap();
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ValidateLayer {
    config: Config,
}

impl ValidateLayer {
    /// Lets messages through that a decoder of that configuration accepts.
    #[must_use]
    pub const fn new(config: Config) -> Self {
        Self { config }
    }
}

impl<S> Layer<S> for ValidateLayer {
    type Service = Validate<S>;

    fn layer(&self, inner: S) -> Validate<S> {
        Validate { inner, config: self.config }
    }
}

/// The service that [`ValidateLayer`] makes.
#[derive(Debug, Clone)]
pub struct Validate<S> {
    inner: S,
    config: Config,
}

impl<S, B, R> Service<Request<B>> for Validate<S>
where
    S: Service<Request<ValidatingBody<B>>, Response = Response<R>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Body<Data = Bytes> + Unpin,
    R: Send + 'static,
{
    type Response = Response<Either<R, Full<Bytes>>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (head, body) = request.into_parts();
        let decoder = match decoder(&head.headers, self.config) {
            Ok(decoder) => decoder,
            Err(error) => return Box::pin(ready(Ok(refusal(Problem::from(error))))),
        };
        let (body, verdict) = ValidatingBody::new(body, decoder);
        let response = self.inner.call(Request::from_parts(head, body));
        Box::pin(async move {
            let response = response.await;
            match verdict.refused() {
                Some(error) => Ok(refusal(Problem::from(error))),
                None => Ok(response?.map(Either::Left)),
            }
        })
    }
}

fn refusal<R>(problem: Problem) -> Response<Either<R, Full<Bytes>>> {
    problem.into_response::<Full<Bytes>>().map(Either::Right)
}
