//! Messages over `Framed` and its kin in `tokio_util`. Feature `codec`.

use std::{fmt, io};

use bytes::{Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

use crate::{Category, DecodeError, EncodeError, EnvelopeDecoder, EnvelopeEncoder, Item, Status};

/// Decodes one message, and encodes any number.
///
/// A message knows its beginning and its end only with what its carrier says: a Content-Type, from
/// which the [`EnvelopeDecoder`] is made, and where its body ends. That is where the input ends
/// ([`new`](Self::new)), or after a number of bytes ([`with_length`](Self::with_length)); then what
/// follows stays in the buffer. Once there was [`Frame::End`], the codec can be armed for the next
/// message.
///
/// ```
/// use acp_envelope::{Config, EnvelopeDecoder, Item, codec::{EnvelopeCodec, Frame}};
/// use bytes::BytesMut;
/// use tokio_util::codec::Decoder;
///
/// let json = || EnvelopeDecoder::new("application/json", Config::new());
/// let mut received = BytesMut::from("[1]{\"a\":2}");
///
/// let mut codec = EnvelopeCodec::with_length(json()?, 3)?;
/// let Some(Frame::Item(Item::Control(first))) = codec.decode(&mut received)? else { panic!() };
/// assert!(matches!(codec.decode(&mut received)?, Some(Frame::End)));
/// assert_eq!(first.text(), "[1]");
///
/// codec = EnvelopeCodec::with_length(json()?, 7)?;
/// let Some(Frame::Item(Item::Control(second))) = codec.decode(&mut received)? else { panic!() };
/// assert_eq!(second.text(), "{\"a\":2}");
/// # Ok::<(), acp_envelope::codec::CodecError>(())
/// ```
#[derive(Debug, Default)]
pub struct EnvelopeCodec {
    /// The message that is being decoded.
    armed: Option<Armed>,
}

#[derive(Debug)]
struct Armed {
    decoder: EnvelopeDecoder,
    /// Bytes of the body that have not come, where their number is known.
    left: Option<u64>,
    /// The message has come to its end.
    over: bool,
}

/// What a message that arrives consists of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Frame {
    /// A piece of it, which is provisional.
    Item(Item),
    /// The message is complete and valid: act on it now.
    End,
}

impl EnvelopeCodec {
    /// A codec for a message that ends where the input does.
    #[must_use]
    pub const fn new(decoder: EnvelopeDecoder) -> Self {
        Self { armed: Some(Armed { decoder, left: None, over: false }) }
    }

    /// A codec for a message whose body has that many bytes.
    ///
    /// # Errors
    ///
    /// Those of [`EnvelopeDecoder::declare_length`].
    pub fn with_length(mut decoder: EnvelopeDecoder, bytes: u64) -> Result<Self, DecodeError> {
        decoder.declare_length(bytes)?;
        Ok(Self { armed: Some(Armed { decoder, left: Some(bytes), over: false }) })
    }

    /// A codec that encodes only, until another takes its place. As [`Default`].
    #[must_use]
    pub const fn idle() -> Self {
        Self { armed: None }
    }

    /// The decoder of the message that is being decoded, or was decoded last: warnings, offset.
    #[must_use]
    pub fn decoder(&self) -> Option<&EnvelopeDecoder> {
        self.armed.as_ref().map(|armed| &armed.decoder)
    }

    fn next(&mut self, src: &mut BytesMut, eof: bool) -> Result<Option<Frame>, CodecError> {
        let Some(armed) = self.armed.as_mut().filter(|armed| !armed.over) else {
            return if src.is_empty() { Ok(None) } else { Err(CodecError::Idle) };
        };
        match armed.next(src, eof)? {
            Status::Item(item) => Ok(Some(Frame::Item(item))),
            Status::NeedInput => Ok(None),
            Status::End => {
                armed.over = true;
                Ok(Some(Frame::End))
            }
        }
    }
}

impl Armed {
    fn next(&mut self, src: &mut BytesMut, eof: bool) -> Result<Status<Item>, CodecError> {
        let Some(left) = self.left else {
            if eof && src.is_empty() {
                self.decoder.finish();
            }
            return match self.decoder.next_item(src)? {
                Status::NeedInput if eof => self.next(src, eof),
                status => Ok(status),
            };
        };
        let ours = usize::try_from(left).map_or(src.len(), |left| src.len().min(left));
        let mut body = src.split_to(ours);
        if left == 0 {
            self.decoder.finish();
        }
        let status = self.decoder.next_item(&mut body);
        let left = left - (ours - body.len()) as u64;
        self.left = Some(left);
        body.unsplit(std::mem::take(src));
        *src = body;
        match status? {
            Status::NeedInput if left == 0 => self.next(src, eof),
            Status::NeedInput if eof => Err(CodecError::CutShort { missing: left }),
            status => Ok(status),
        }
    }
}

impl Decoder for EnvelopeCodec {
    type Item = Frame;
    type Error = CodecError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Frame>, CodecError> {
        self.next(src, false)
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Frame>, CodecError> {
        self.next(src, true)
    }
}

/// Writes a whole message, all content of which is in memory (else `content_missing`), and which is
/// copied into the buffer: that is how `tokio_util` writes. Its Content-Type is for the carrier.
impl Encoder<EnvelopeEncoder> for EnvelopeCodec {
    type Error = CodecError;

    fn encode(&mut self, message: EnvelopeEncoder, dst: &mut BytesMut) -> Result<(), CodecError> {
        let segments = message.into_segments()?;
        dst.reserve(segments.iter().map(Bytes::len).sum());
        segments.iter().for_each(|segment| dst.extend_from_slice(segment));
        Ok(())
    }
}

/// What can go wrong with a codec.
#[derive(Debug)]
#[non_exhaustive]
pub enum CodecError {
    /// The message that arrives is refused.
    Decode(DecodeError),
    /// The message cannot be written.
    Encode(EncodeError),
    /// The input ended before the body did, whose length was given. `truncated`
    CutShort {
        /// How many bytes are missing.
        missing: u64,
    },
    /// There is input, but the codec was not armed for a message. `codec_idle`
    Idle,
    /// The connection failed. `io`
    Io(io::Error),
}

impl CodecError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Decode(error) => error.code(),
            Self::Encode(error) => error.code(),
            Self::CutShort { .. } => "truncated",
            Self::Idle => "codec_idle",
            Self::Io(_) => "io",
        }
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(&self) -> Category {
        match self {
            Self::Decode(error) => error.category(),
            Self::Encode(error) => error.category(),
            Self::CutShort { .. } => Category::Truncated,
            Self::Idle => Category::Misuse,
            Self::Io(_) => Category::Io,
        }
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Encode(error) => error.fmt(f),
            Self::CutShort { missing } => {
                write!(f, "input ends {missing} bytes before the body does")
            }
            Self::Idle => f.write_str("input for which the codec was not armed"),
            Self::Io(_) => f.write_str("connection failed"),
        }
    }
}

impl std::error::Error for CodecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for CodecError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<DecodeError> for CodecError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl From<EncodeError> for CodecError {
    fn from(error: EncodeError) -> Self {
        Self::Encode(error)
    }
}
