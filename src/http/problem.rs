//! Errors as answers.

use std::error::Error;

use ::http::{
    HeaderValue, Response, StatusCode,
    header::{ACCEPT_ENCODING, CONTENT_TYPE},
};
use bytes::Bytes;
use http_body_util::LengthLimitError;
use serde::Serialize;

use super::HeaderError;
#[cfg(feature = "spool")]
use crate::spool::SpoolError;
use crate::{
    Category, DecodeError, DecodeErrorKind, EncodeError, Location, PartId, stream::StreamError,
    syntax::ContentTypeErrorKind,
};

/// The status a message is refused with: 415 for another media type, 413 for a limit, 422 for a rule,
/// 400 for what is malformed or cut short (RFC 9110 §15.5). The sender's fault is 4xx, ours 500.
///
/// ```
/// use acp_envelope::{decode, http::status};
///
/// let of = |content_type: &str, body: &'static str| {
///     status(decode(content_type, body).unwrap_err().kind()).as_u16()
/// };
/// assert_eq!(of("text/plain", ""), 415);
/// assert_eq!(of("multipart/form-data", ""), 400);
/// assert_eq!(of("application/json", "[1,]"), 400);
/// assert_eq!(of("application/json", r#"{"$ref":"lost"}"#), 422);
/// ```
#[must_use]
pub const fn status(kind: &DecodeErrorKind) -> StatusCode {
    use ContentTypeErrorKind::{Missing, Unsupported};
    match (kind, kind.category()) {
        (DecodeErrorKind::ContentType(Missing | Unsupported), _) => {
            StatusCode::UNSUPPORTED_MEDIA_TYPE
        }
        (_, Category::Limit) => StatusCode::PAYLOAD_TOO_LARGE,
        (DecodeErrorKind::ContentType(_), _) | (_, Category::Syntax | Category::Truncated) => {
            StatusCode::BAD_REQUEST
        }
        (_, Category::Rule) => StatusCode::UNPROCESSABLE_ENTITY,
        (_, Category::Misuse | Category::Io) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// An answer that says what is wrong, where, and what to change: a status and a problem document
/// (RFC 9457). Its `type` is `about:blank`, which stands for the status; what is special about it
/// says `code`.
///
/// ```
/// use acp_envelope::{decode, http::Problem};
/// use bytes::Bytes;
///
/// let error = decode("application/json", "[{\"$ref\":\"a\"}]").unwrap_err();
/// let response = Problem::from(&error).into_response::<Bytes>();
/// assert_eq!(response.status(), 422);
/// assert_eq!(response.headers()["content-type"], "application/problem+json");
/// assert_eq!(serde_json::from_slice::<serde_json::Value>(response.body())?, serde_json::json!({
///     "title": "Unprocessable Entity", "status": 422,
///     "detail": "reference to a part that is not there (at /0)",
///     "code": "ref_unresolved", "location": { "pointer": "/0" }, "part": null,
///     "hint": error.hint(),
/// }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem(Box<Document>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Document {
    title: &'static str,
    #[serde(serialize_with = "number")]
    status: StatusCode,
    detail: String,
    code: &'static str,
    location: Option<Location>,
    part: Option<PartId>,
    hint: &'static str,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn number<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}

impl Problem {
    /// A problem of the carrier's own, which has no place in a message.
    #[must_use]
    pub fn new(
        status: StatusCode,
        code: &'static str,
        detail: impl Into<String>,
        hint: &'static str,
    ) -> Self {
        let title = status.canonical_reason().unwrap_or("Error");
        let (detail, location, part) = (detail.into(), None, None);
        Self(Box::new(Document { title, status, detail, code, location, part, hint }))
    }

    fn at(mut self, location: Option<&Location>, part: Option<&PartId>) -> Self {
        self.0.location = location.cloned();
        self.0.part = part.cloned();
        self
    }

    /// The status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.0.code
    }

    /// What is wrong, in one line.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Where it is, when it is somewhere in the message.
    #[must_use]
    pub const fn location(&self) -> Option<&Location> {
        self.0.location.as_ref()
    }

    /// The part it is in.
    #[must_use]
    pub const fn part(&self) -> Option<&PartId> {
        self.0.part.as_ref()
    }

    /// What the sender should change.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        self.0.hint
    }

    /// The document.
    #[must_use]
    pub fn to_json(&self) -> Bytes {
        // Strings, numbers, and maps with names as keys: there is nothing that can fail.
        serde_json::to_vec(&self.0).unwrap_or_default().into()
    }

    /// The response.
    #[must_use]
    pub fn into_response<B: From<Bytes>>(self) -> Response<B> {
        let mut response = Response::new(self.to_json().into());
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.code() == HeaderError::ContentEncoding.code() {
            // RFC 9110 §15.5.16
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        response
    }
}

impl From<&DecodeError> for Problem {
    fn from(error: &DecodeError) -> Self {
        Self::new(status(error.kind()), error.code(), error.to_string(), error.hint())
            .at(Some(error.location()), error.part())
    }
}

impl From<DecodeError> for Problem {
    fn from(error: DecodeError) -> Self {
        Self::from(&error)
    }
}

impl From<HeaderError> for Problem {
    fn from(error: HeaderError) -> Self {
        let status = match &error {
            HeaderError::Message(error) => return Self::from(error),
            HeaderError::ContentEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            HeaderError::ContentLength => StatusCode::BAD_REQUEST,
        };
        Self::new(status, error.code(), error.to_string(), error.hint())
    }
}

/// The message that was to be sent is at fault, and so are we: 500.
impl From<EncodeError> for Problem {
    fn from(error: EncodeError) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self::new(status, error.code(), error.to_string(), error.hint())
            .at(error.location(), error.part())
    }
}

/// A body that fails is the sender's, who is then most often gone. One that a layer around us cuts
/// off for its length ([`LengthLimitError`]) is 413.
impl<E: Error + 'static> From<StreamError<E>> for Problem {
    fn from(error: StreamError<E>) -> Self {
        match &error {
            StreamError::Decode(error) => Self::from(error),
            StreamError::Body(body) if is_length_limit(body) => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "body_limit",
                "body exceeds the limit of a layer around the receiver",
                "send less, or raise that limit beside those of the message",
            ),
            StreamError::Body(_) => {
                let status = StatusCode::BAD_REQUEST;
                Self::new(status, error.code(), error.to_string(), "send the whole body")
            }
        }
    }
}

fn is_length_limit(error: &(dyn Error + 'static)) -> bool {
    error.is::<LengthLimitError>() || error.source().is_some_and(is_length_limit)
}

/// A temporary file that fails is ours: 500.
#[cfg(feature = "spool")]
impl<E: Error + 'static> From<SpoolError<E>> for Problem {
    fn from(error: SpoolError<E>) -> Self {
        match error {
            SpoolError::Stream(error) => Self::from(error),
            SpoolError::File(_) => {
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                Self::new(status, error.code(), error.to_string(), "try again")
            }
        }
    }
}
