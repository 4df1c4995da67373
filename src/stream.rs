//! Messages as they arrive, in async code. Feature `stream`.
//!
//! [`EnvelopeStream`] reads a body of which it holds one chunk at most, and only when it is asked for
//! more: whoever reads slowly slows the sender down. [`decode`] gives a whole
//! [`Envelope`].
//!
//! Nothing here spawns a task or needs a runtime.

use std::{
    error::Error,
    fmt,
    future::poll_fn,
    io,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::io::ReaderStream;

use crate::{
    Category, ContentHead, Control, DecodeError, Envelope, EnvelopeDecoder, Item, Status,
    envelope::Collected,
};

/// How much [`EnvelopeStream::from_reader`] reads at once, in bytes.
const CHUNK: usize = 64 << 10;

/// A message that is decoded while it arrives: the control document, then one part after the other,
/// each of which is read while it is borrowed.
///
/// Everything it gives is **provisional** until [`next_part`](Self::next_part) gives `None`, or
/// [`finish`](Self::finish) succeeds: only then is the message known to be complete and valid.
/// Commit then, and not before; drop what was done when there is an error instead.
///
/// As a [`Stream`] it gives the [`Item`]s; the stream's end is the proof. After an error it ends.
///
/// Every method is cancel-safe: when its future is dropped, the next call goes on where it was. A body
/// that is lent, as `&mut body`, outlives the stream.
///
/// ```
/// use acp_envelope::{Config, EnvelopeDecoder, stream::EnvelopeStream};
/// use bytes::Bytes;
///
/// # futures_util::FutureExt::now_or_never(async {
/// let chunks = [
///     "--b\r\nContent-Type: application/json\r\n\r\n{\"doc\":{\"$ref\":\"d\"}}\r\n--b\r\nContent-Dispo",
///     "sition: form-data; name=\"d\"\r\nContent-Type: application/pdf\r\n\r\n%P", "DF\r\n--b--\r\n",
/// ];
/// let body = futures_util::stream::iter(chunks.map(|c| Ok::<_, std::io::Error>(Bytes::from(c))));
/// let decoder = EnvelopeDecoder::new("multipart/form-data; boundary=b", Config::new())?;
/// let mut message = EnvelopeStream::new(body, decoder);
///
/// assert_eq!(message.control().await?.text(), r#"{"doc":{"$ref":"d"}}"#);
/// let mut received = Vec::new();
/// while let Some(mut part) = message.next_part().await? {
///     assert_eq!(part.head().name(), "d");
///     while let Some(chunk) = part.chunk().await? {
///         received.extend_from_slice(&chunk);
///     }
/// }
/// assert_eq!(received, b"%PDF"); // and the message is valid
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap().unwrap();
/// ```
#[derive(Debug)]
pub struct EnvelopeStream<S> {
    body: S,
    decoder: EnvelopeDecoder,
    /// What has come and is not decoded yet.
    input: Bytes,
    /// The control document, once it is there.
    control: Option<Control>,
    /// Whether the body of a part is coming.
    in_part: bool,
    /// As a stream of items: it is over.
    over: bool,
    /// The body has failed, and nothing has come of it since.
    failing: bool,
    /// The body has ended by failing.
    cut: bool,
}

impl<S, E> EnvelopeStream<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    /// Reads the message that `decoder` was made for from its body, in chunks of any size.
    pub fn new(body: S, decoder: EnvelopeDecoder) -> Self {
        Self {
            body,
            decoder,
            input: Bytes::new(),
            control: None,
            in_part: false,
            over: false,
            failing: false,
            cut: false,
        }
    }

    /// The control document. The first call reads as far as its end, which in the JSON form is that
    /// of the message.
    ///
    /// # Errors
    ///
    /// That of the decoder, or that of the body.
    pub async fn control(&mut self) -> Result<&Control, StreamError<E>> {
        while self.control.is_none() && poll_fn(|cx| self.poll_item(cx)).await?.is_some() {}
        // A message that ends without an error has had its control document.
        self.control.as_ref().ok_or_else(|| DecodeError::control_missing_at_end().into())
    }

    /// The next part, or `None` when the message is complete and valid. What is left unread of the
    /// part before is skipped.
    ///
    /// # Errors
    ///
    /// That of the decoder, and then the same at every call; or that of the body, and then the next
    /// call asks the body for more. A body that ends after it has failed is `truncated`, even where
    /// what came of it would be a message (ACP-FRM-5).
    pub async fn next_part(&mut self) -> Result<Option<PartStream<'_, S>>, StreamError<E>> {
        while let Some(item) = poll_fn(|cx| self.poll_item(cx)).await? {
            if let Item::PartStart(head) = item {
                return Ok(Some(PartStream { message: self, head, rest: Bytes::new() }));
            }
        }
        Ok(None)
    }

    /// Reads to the end of the message, and skips what is in it. When it succeeds, the message is
    /// complete and valid.
    ///
    /// # Errors
    ///
    /// Those of [`next_part`](Self::next_part).
    pub async fn finish(&mut self) -> Result<(), StreamError<E>> {
        while poll_fn(|cx| self.poll_item(cx)).await?.is_some() {}
        Ok(())
    }

    /// The next bytes of the part that is coming.
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError<E>>> {
        while self.in_part {
            match self.decoder.next_item(&mut self.input)? {
                Status::Item(Item::Data(data)) => return Poll::Ready(Ok(Some(data))),
                Status::Item(Item::PartEnd { .. }) => self.in_part = false,
                Status::NeedInput => ready!(self.poll_chunk(cx))?,
                _ => break,
            }
        }
        Poll::Ready(Ok(None))
    }

    /// The next item, and a chunk of the body only where one is needed.
    #[inline]
    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Item>, StreamError<E>>> {
        loop {
            match self.decoder.next_item(&mut self.input)? {
                Status::Item(item) => {
                    match &item {
                        Item::Control(control) => self.control = Some(control.clone()),
                        Item::PartStart(_) => self.in_part = true,
                        Item::PartEnd { .. } => self.in_part = false,
                        Item::Data(_) => {}
                    }
                    return Poll::Ready(Ok(Some(item)));
                }
                Status::End => return Poll::Ready(Ok(None)),
                Status::NeedInput => ready!(self.poll_chunk(cx))?,
            }
        }
    }

    /// Takes the next chunk of the body, or its end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamError<E>>> {
        if self.cut {
            return Poll::Ready(Err(DecodeError::truncated(self.decoder.offset()).into()));
        }
        match ready!(Pin::new(&mut self.body).poll_next(cx)) {
            Some(Ok(chunk)) => {
                self.failing = false;
                self.input = chunk;
            }
            Some(Err(error)) => {
                self.failing = true;
                return Poll::Ready(Err(StreamError::Body(error)));
            }
            None if self.failing => self.cut = true,
            None => self.decoder.finish(),
        }
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncRead> EnvelopeStream<ReaderStream<R>> {
    /// Reads the message from a reader, 64 KiB at once.
    ///
    /// ```
    /// use acp_envelope::{Config, EnvelopeDecoder, stream::EnvelopeStream};
    ///
    /// # futures_util::FutureExt::now_or_never(async {
    /// let decoder = EnvelopeDecoder::new("application/json", Config::new())?;
    /// let mut message = EnvelopeStream::from_reader(&b"[1]"[..], decoder);
    /// assert_eq!(message.control().await?.text(), "[1]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap().unwrap();
    /// ```
    pub fn from_reader(reader: R, decoder: EnvelopeDecoder) -> Self
    where
        R: Unpin,
    {
        Self::new(ReaderStream::with_capacity(reader, CHUNK), decoder)
    }
}

impl<S> EnvelopeStream<S> {
    /// The decoder: warnings so far, offset, the control part's name.
    #[must_use]
    pub const fn decoder(&self) -> &EnvelopeDecoder {
        &self.decoder
    }

    /// The decoder, for [`EnvelopeDecoder::salvage`] after an error.
    #[must_use]
    pub fn into_decoder(self) -> EnvelopeDecoder {
        self.decoder
    }
}

impl<S, E> Stream for EnvelopeStream<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    type Item = Result<Item, StreamError<E>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        if this.over {
            return Poll::Ready(None);
        }
        let item = ready!(this.poll_item(cx)).transpose();
        this.over = matches!(item, None | Some(Err(_)));
        Poll::Ready(item)
    }
}

/// A content part while it arrives. It borrows the message: the next part can be asked for when this
/// one is gone.
///
/// It is a [`Stream`] of chunks, views of what the body gave, and an [`AsyncRead`]; both end where the
/// part does. They can be mixed.
#[derive(Debug)]
pub struct PartStream<'a, S> {
    message: &'a mut EnvelopeStream<S>,
    head: ContentHead,
    /// What an `AsyncRead` could not take of the chunk before.
    rest: Bytes,
}

impl<S, E> PartStream<'_, S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    /// Name, media type, file name, other fields, references.
    #[must_use]
    pub const fn head(&self) -> &ContentHead {
        &self.head
    }

    /// The next bytes of the body, never none; `None` at the part's end.
    ///
    /// # Errors
    ///
    /// Those of [`EnvelopeStream::next_part`].
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, StreamError<E>> {
        poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// What is left of the body, in one piece. It is as long as the sender likes, up to
    /// [`Limits::max_part_bytes`](crate::Limits::max_part_bytes). Unlike [`chunk`](Self::chunk) it is
    /// not cancel-safe: what was read is lost when its future is dropped.
    ///
    /// # Errors
    ///
    /// Those of [`EnvelopeStream::next_part`].
    pub async fn bytes(&mut self) -> Result<Bytes, StreamError<E>> {
        let first = self.chunk().await?.unwrap_or_default();
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let mut bytes = BytesMut::from(first);
        bytes.extend_from_slice(&second);
        while let Some(chunk) = self.chunk().await? {
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes.freeze())
    }

    #[inline]
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>, StreamError<E>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Ok(Some(std::mem::take(&mut self.rest))));
        }
        self.message.poll_data(cx)
    }
}

impl<S, E> Stream for PartStream<'_, S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
{
    type Item = Result<Bytes, StreamError<E>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_chunk(cx).map(Result::transpose)
    }
}

impl<S, E> AsyncRead for PartStream<'_, S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if let Some(mut chunk) = ready!(this.poll_chunk(cx))? {
            buf.put_slice(&chunk.split_to(chunk.len().min(buf.remaining())));
            this.rest = chunk;
        }
        Poll::Ready(Ok(()))
    }
}

/// Decodes a whole message from its body, which is read to its end. The parts are copied where they
/// come in several chunks, and held in memory: what [`Limits`](crate::Limits) allow.
///
/// # Errors
///
/// That of the decoder, or that of the body.
pub async fn decode<S, E>(body: S, decoder: EnvelopeDecoder) -> Result<Envelope, StreamError<E>>
where
    S: Stream<Item = Result<Bytes, E>>,
{
    let body = pin!(body);
    let mut message = EnvelopeStream::new(body, decoder);
    let mut items = Collected::default();
    while let Some(item) = poll_fn(|cx| message.poll_item(cx)).await? {
        items.take(item);
    }
    Ok(items.into_envelope(message.into_decoder())?)
}

/// The message is refused, or its body cannot be read to the end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamError<E> {
    /// The message is refused.
    Decode(DecodeError),
    /// The body failed. [`Category::Io`], code `body_failed`.
    Body(E),
}

impl<E> StreamError<E> {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Decode(error) => error.code(),
            Self::Body(_) => "body_failed",
        }
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(&self) -> Category {
        match self {
            Self::Decode(error) => error.category(),
            Self::Body(_) => Category::Io,
        }
    }
}

impl<E> fmt::Display for StreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Body(_) => f.write_str("body of the message cannot be read"),
        }
    }
}

impl<E: Error + 'static> Error for StreamError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Decode(_) => None,
            Self::Body(error) => Some(error),
        }
    }
}

impl<E> From<DecodeError> for StreamError<E> {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

/// A message that is refused is [`io::ErrorKind::InvalidData`], one that is cut short
/// [`io::ErrorKind::UnexpectedEof`]; an I/O error of the body is that error.
impl<E: Into<Box<dyn Error + Send + Sync>>> From<StreamError<E>> for io::Error {
    fn from(error: StreamError<E>) -> Self {
        match error {
            StreamError::Decode(error) => {
                let kind = match error.category() {
                    Category::Truncated => io::ErrorKind::UnexpectedEof,
                    _ => io::ErrorKind::InvalidData,
                };
                Self::new(kind, error)
            }
            StreamError::Body(error) => match error.into().downcast::<Self>() {
                Ok(error) => *error,
                Err(error) => Self::other(error),
            },
        }
    }
}
