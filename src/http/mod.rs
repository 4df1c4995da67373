//! Messages in HTTP: requests and responses of the crate `http`, bodies of `http_body`. Feature
//! `http`.
//!
//! | what | from | to |
//! |---|---|---|
//! | [`decoder`] | header fields | an [`EnvelopeDecoder`], or an early refusal |
//! | [`receive`] | a request or response | an [`EnvelopeStream`] |
//! | [`EnvelopeBody`] | an encoder | a body that streams it, with its header fields |
//! | [`Problem`] | an error | a status and an `application/problem+json` document (RFC 9457) |
//! | [`ValidatingBody`] | a body | the same body, which fails when the message turns invalid |
//! | [`ValidateLayer`] | a service | one that sees valid messages only |

mod body;
mod problem;
mod validate;
mod validate_layer;

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use ::http::{
    HeaderMap,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING},
};
use bytes::{Buf as _, Bytes};
use futures_core::Stream;
use http_body::{Body, Frame};

pub use self::{
    body::{BodyError, EnvelopeBody},
    problem::{Problem, status},
    validate::{Passed, ValidatingBody, Verdict},
    validate_layer::{Validate, ValidateLayer},
};
use crate::{Config, DecodeError, EnvelopeDecoder, stream::EnvelopeStream};

/// A decoder for the message whose header fields these are: what they say is judged before a byte of
/// the body is read, its declared length included.
///
/// # Errors
///
/// [`HeaderError`].
///
/// ```
/// use acp_envelope::{Config, Limits, http};
/// use ::http::{HeaderMap, HeaderValue, header::{CONTENT_LENGTH, CONTENT_TYPE}};
///
/// let mut headers = HeaderMap::new();
/// headers.insert(CONTENT_TYPE, HeaderValue::from_static("multipart/form-data; boundary=b"));
/// headers.insert(CONTENT_LENGTH, HeaderValue::from_static("4096"));
/// assert!(http::decoder(&headers, Config::new()).is_ok());
///
/// let small = Config::new().limits(Limits::new().max_message_bytes(1024));
/// assert_eq!(http::decoder(&headers, small).unwrap_err().code(), "limit_message_size");
/// headers.append(CONTENT_TYPE, HeaderValue::from_static("application/json"));
/// assert_eq!(http::decoder(&headers, Config::new()).unwrap_err().code(), "content_type_invalid");
/// ```
pub fn decoder(headers: &HeaderMap, config: Config) -> Result<EnvelopeDecoder, HeaderError> {
    let mut decoder = EnvelopeDecoder::from_fields(headers.get_all(CONTENT_TYPE), config)?;
    let is_encoded = |value: &[u8]| !value.eq_ignore_ascii_case(b"identity");
    if headers.get_all(CONTENT_ENCODING).iter().any(|value| is_encoded(value.as_bytes())) {
        return Err(HeaderError::ContentEncoding);
    }
    if let Some(length) = content_length(headers)? {
        decoder.declare_length(length)?;
    }
    Ok(decoder)
}

/// The length that is declared (RFC 9110 §8.6). One beside a Transfer-Encoding is refused: whoever
/// believes in the other one reads another message (RFC 9112 §6.3).
fn content_length(headers: &HeaderMap) -> Result<Option<u64>, HeaderError> {
    let mut values = headers.get_all(CONTENT_LENGTH).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let digits = value.to_str().ok().filter(|v| v.bytes().all(|b| b.is_ascii_digit()));
    match (digits.and_then(|digits| digits.parse().ok()), values.next()) {
        (Some(length), None) if !headers.contains_key(TRANSFER_ENCODING) => Ok(Some(length)),
        _ => Err(HeaderError::ContentLength),
    }
}

/// The message that a request or a response carries, to be read as it arrives. A body that is not
/// `Unpin` is given as `Box::pin(body)`.
///
/// # Errors
///
/// [`HeaderError`], before the body is read.
///
/// ```
/// use acp_envelope::{Config, http};
/// use ::http::Request;
/// use http_body_util::Full;
///
/// # futures_util::FutureExt::now_or_never(async {
/// let request = Request::post("/messages").header("content-type", "application/json");
/// let request = request.body(Full::<bytes::Bytes>::from("{\"id\":1}"))?;
/// let (head, body) = request.into_parts();
/// let mut message = http::receive(&head.headers, body, Config::new())?;
/// assert_eq!(message.control().await?.value()?["id"], 1);
/// message.finish().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap().unwrap();
/// ```
pub fn receive<B>(
    headers: &HeaderMap,
    body: B,
    config: Config,
) -> Result<EnvelopeStream<BodyChunks<B>>, HeaderError>
where
    B: Body + Unpin,
{
    Ok(EnvelopeStream::new(BodyChunks(body), decoder(headers, config)?))
}

/// The data of a body as a stream of chunks, trailer fields left out. Nothing is copied where the
/// data are [`Bytes`].
#[derive(Debug)]
pub struct BodyChunks<B>(B);

impl<B> BodyChunks<B> {
    /// The data of that body.
    pub const fn new(body: B) -> Self {
        Self(body)
    }
}

impl<B: Body + Unpin> Stream for BodyChunks<B> {
    type Item = Result<Bytes, B::Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        while let Some(frame) = ready!(poll_frame(&mut self.0, cx)?) {
            if let Ok(mut data) = frame.into_data() {
                return Poll::Ready(Some(Ok(data.copy_to_bytes(data.remaining()))));
            }
        }
        Poll::Ready(None)
    }
}

type PolledFrame<B> = Poll<Option<Result<Frame<<B as Body>::Data>, <B as Body>::Error>>>;

/// The next frame of a body. One that says that it is at its end is not asked: it may say nothing
/// more, as hyper's does when its request was answered before.
fn poll_frame<B: Body + Unpin>(body: &mut B, cx: &mut Context<'_>) -> PolledFrame<B> {
    if body.is_end_stream() { Poll::Ready(None) } else { Pin::new(body).poll_frame(cx) }
}

/// The message is refused for what its header fields say, before a byte of it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderError {
    /// There is none or more than one Content-Type, it cannot be used (ACP-CT-1…4), or the
    /// Content-Length exceeds a limit (ACP-LIM-3, ACP-LIM-6).
    Message(DecodeError),
    /// The body has a content coding, such as gzip (RFC 9110 §8.4). `content_encoding`
    ContentEncoding,
    /// Content-Length is no number, given twice, or given beside Transfer-Encoding (RFC 9110 §8.6,
    /// RFC 9112 §6.3). `content_length_invalid`
    ContentLength,
}

impl HeaderError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Message(error) => error.code(),
            Self::ContentEncoding => "content_encoding",
            Self::ContentLength => "content_length_invalid",
        }
    }

    /// What the sender should change.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Message(error) => error.hint(),
            Self::ContentEncoding => "send the body as it is, without a Content-Encoding",
            Self::ContentLength => {
                "send one Content-Length of digits only, or Transfer-Encoding, or neither"
            }
        }
    }
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(error) => error.fmt(f),
            Self::ContentEncoding => f.write_str("body has a content coding"),
            Self::ContentLength => {
                f.write_str("Content-Length is not the one number that says the length")
            }
        }
    }
}

impl std::error::Error for HeaderError {}

impl From<DecodeError> for HeaderError {
    fn from(error: DecodeError) -> Self {
        Self::Message(error)
    }
}
