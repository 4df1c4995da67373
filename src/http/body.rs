//! A message that is written, as a body.

use std::{
    collections::BTreeMap,
    error::Error,
    fmt,
    pin::Pin,
    sync::{Mutex, PoisonError},
    task::{Context, Poll, ready},
};

use ::http::{
    HeaderMap, HeaderValue, Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::TryStreamExt as _;
use http_body::{Body, Frame, SizeHint};

use crate::{EncodeError, EnvelopeEncoder, PartName, Reference, Status};

type Content = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;
type BoxError = Box<dyn Error + Send + Sync>;

/// A message as the body of a request or a response, and the header fields that go with it
/// (ACP-ENC-6). Content in memory is handed on without a copy; that of streamed parts is asked for
/// when its turn has come.
///
/// ```
/// use acp_envelope::{Control, EnvelopeBuilder, NewPart, decode, http::EnvelopeBody};
/// use ::http::Request;
/// use bytes::Bytes;
/// use futures_util::stream;
/// use http_body_util::BodyExt;
///
/// # futures_util::FutureExt::now_or_never(async {
/// let mut message = EnvelopeBuilder::new();
/// let log = message.add(NewPart::streamed("text/plain; charset=utf-8", Some(14)))?;
/// let encoder = message.build(&Control::new(&log)?)?;
/// let lines = ["line 1\n", "line 2\n"].map(|line| Ok::<_, std::io::Error>(Bytes::from(line)));
/// let body = EnvelopeBody::new(encoder).content(&log, stream::iter(lines));
///
/// let mut request = Request::post("/messages");
/// body.set_headers(request.headers_mut().unwrap());
/// let request = request.body(body)?;
///
/// let (head, body) = request.into_parts();
/// let received = body.collect().await?.to_bytes();
/// assert_eq!(head.headers["content-length"], received.len().to_string());
/// let envelope = decode(&head.headers["content-type"], received)?;
/// assert_eq!(envelope.resolve(&log).unwrap().body(), "line 1\nline 2\n");
/// # Ok::<(), Box<dyn Error>>(())
/// # }).unwrap().unwrap();
/// # use std::error::Error;
/// ```
pub struct EnvelopeBody {
    encoder: EnvelopeEncoder,
    /// The content of streamed parts. Never locked: HTTP clients ask for bodies that are `Sync`.
    contents: Mutex<BTreeMap<PartName, Content>>,
    /// Content that has come and was not given to the encoder.
    input: Bytes,
    /// Bytes of the message that were handed out.
    sent: u64,
    /// It was handed out to its end, or has failed.
    over: bool,
}

impl EnvelopeBody {
    /// The message of that encoder.
    #[must_use]
    pub const fn new(encoder: EnvelopeEncoder) -> Self {
        let contents = Mutex::new(BTreeMap::new());
        Self { encoder, contents, input: Bytes::new(), sent: 0, over: false }
    }

    /// Gives the content of a streamed part. A part without fails the body with `content_missing`.
    #[must_use]
    pub fn content<S, E>(mut self, part: &Reference, content: S) -> Self
    where
        S: Stream<Item = Result<Bytes, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        let content = Box::pin(content.map_err(Into::into));
        let contents = self.contents.get_mut().unwrap_or_else(PoisonError::into_inner);
        contents.insert(part.name().clone(), content);
        self
    }

    /// The Content-Type value.
    #[must_use]
    pub fn content_type(&self) -> &str {
        self.encoder.content_type()
    }

    /// Sets Content-Type and, where it is known, Content-Length.
    pub fn set_headers(&self, headers: &mut HeaderMap) {
        // A boundary has no character that a header field could not have (ACP-CT-3).
        if let Ok(content_type) = HeaderValue::from_str(self.content_type()) {
            headers.insert(CONTENT_TYPE, content_type);
        }
        match self.encoder.content_length() {
            Some(length) => headers.insert(CONTENT_LENGTH, length.into()),
            None => headers.remove(CONTENT_LENGTH),
        };
    }

    /// A response of status 200 with the message.
    #[must_use]
    pub fn into_response(self) -> Response<Self> {
        let mut headers = HeaderMap::new();
        self.set_headers(&mut headers);
        let mut response = Response::new(self);
        *response.headers_mut() = headers;
        response
    }

    fn poll_segment(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, BodyError>> {
        loop {
            match self.encoder.next_segment(&mut self.input)? {
                Status::Item(segment) => return Poll::Ready(Ok(Some(segment))),
                Status::End => return Poll::Ready(Ok(None)),
                Status::NeedInput => {
                    let contents = self.contents.get_mut().unwrap_or_else(PoisonError::into_inner);
                    let part = self.encoder.awaited();
                    let Some(content) = part.and_then(|part| contents.get_mut(part)) else {
                        return Poll::Ready(Err(self.encoder.content_missing().into()));
                    };
                    match ready!(content.as_mut().poll_next(cx)) {
                        Some(Ok(chunk)) => self.input = chunk,
                        Some(Err(error)) => return Poll::Ready(Err(BodyError::Content(error))),
                        None => self.encoder.finish_part(),
                    }
                }
            }
        }
    }
}

impl Body for EnvelopeBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(None);
        }
        let segment = ready!(this.poll_segment(cx));
        match &segment {
            Ok(Some(segment)) => this.sent += segment.len() as u64,
            Ok(None) | Err(_) => this.over = true,
        }
        Poll::Ready(segment.map(|segment| segment.map(Frame::data)).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.over
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.encoder.content_length();
        length.map_or_else(SizeHint::default, |length| SizeHint::with_exact(length - self.sent))
    }
}

impl fmt::Debug for EnvelopeBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnvelopeBody")
            .field("encoder", &self.encoder)
            .field("sent", &self.sent)
            .finish_non_exhaustive()
    }
}

/// The message cannot be written to its end; what was written is none that a receiver accepts.
#[derive(Debug)]
#[non_exhaustive]
pub enum BodyError {
    /// A rule is broken while streamed content comes, or some is missing.
    Encode(EncodeError),
    /// The content of a part failed. `content_failed`
    Content(Box<dyn Error + Send + Sync>),
}

impl BodyError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Encode(error) => error.code(),
            Self::Content(_) => "content_failed",
        }
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encode(error) => error.fmt(f),
            Self::Content(_) => f.write_str("content of a part cannot be read"),
        }
    }
}

impl Error for BodyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Encode(_) => None,
            Self::Content(error) => Some(&**error),
        }
    }
}

impl From<EncodeError> for BodyError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}
