//! The body of a message, read chunk by chunk from a file or standard input.

use std::{
    fs::{File, Metadata},
    io::{self, Read, Stdin},
    path::Path,
};

use bytes::{Buf as _, Bytes, BytesMut};

use crate::{
    args::Reading,
    http::{self, Framing},
};

/// How much is read at once.
pub(crate) const CHUNK: usize = 256 << 10;

/// Why an input cannot be read as a message at all.
#[derive(Debug)]
pub(crate) enum Unreadable {
    Io(io::Error),
    /// The HTTP message around the body is at fault.
    Http(String),
    /// Neither an HTTP message nor a Content-Type.
    Untyped,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Http(fault) => f.write_str(fault),
            Self::Untyped => f.write_str(
                "not an HTTP message: give the Content-Type of the body with --content-type",
            ),
        }
    }
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// A file or standard input.
#[derive(Debug)]
pub(crate) enum Source {
    File(File),
    Stdin(Stdin),
}

impl Source {
    /// Opens `path`; `-` is standard input.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if is_standard(path) {
            Ok(Self::Stdin(io::stdin()))
        } else {
            File::open(path).map(Self::File)
        }
    }

    /// Bytes to be read, where that is known. See [`length`].
    fn length(&self) -> io::Result<Option<u64>> {
        match self {
            Self::File(file) => length(&file.metadata()?),
            Self::Stdin(_) => Ok(None),
        }
    }
}

/// Whether a path stands for standard input or output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// The length of a file that has one before it is read; a directory cannot be read.
pub(crate) fn length(metadata: &Metadata) -> io::Result<Option<u64>> {
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(metadata.is_file().then_some(metadata.len()))
}

impl Read for Source {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buf),
            Self::Stdin(stdin) => stdin.read(buf),
        }
    }
}

/// A message body that is read as it is asked for.
#[derive(Debug)]
pub(crate) struct Body {
    source: Source,
    /// Bytes of the input that were read, but not yet handed out.
    buffer: BytesMut,
    framing: Framing,
    /// Chunked: bytes left in the current chunk.
    chunk_left: u64,
    /// Chunked: whether a chunk has come, whose CRLF is due.
    in_chunks: bool,
    ended: bool,
    /// Bytes of the input, where that is known.
    pub(crate) input_len: Option<u64>,
    /// Values of all Content-Type fields, or the one given.
    pub(crate) content_types: Vec<Vec<u8>>,
}

/// What reading on gives.
#[derive(Debug)]
pub(crate) enum Piece {
    Data(Bytes),
    /// The body is complete.
    End,
    /// The input ended before the body did.
    Cut,
}

impl Body {
    /// Opens `file` and reads as far as its head.
    pub(crate) fn open(file: &str, reading: &Reading) -> Result<Self, Unreadable> {
        let source = Source::open(Path::new(file))?;
        let input_len = source.length()?;
        let mut body = Self {
            source,
            buffer: BytesMut::new(),
            framing: Framing::Rest,
            chunk_left: 0,
            in_chunks: false,
            ended: false,
            input_len,
            content_types: Vec::new(),
        };
        if let Some(content_type) = &reading.content_type {
            body.content_types.push(content_type.as_bytes().to_vec());
            return Ok(body);
        }
        body.fill()?;
        if !reading.http && !http::starts_like_http(&body.buffer) {
            return Err(Unreadable::Untyped);
        }
        let head = loop {
            match http::read_head(&body.buffer).map_err(Unreadable::Http)? {
                Some(head) => break head,
                None if body.fill()? => {}
                None => return Err(Unreadable::Http("HTTP head is cut short".to_owned())),
            }
        };
        body.buffer.advance(head.len);
        body.framing = head.framing;
        body.content_types = head.content_types;
        Ok(body)
    }

    /// The length the HTTP message declares.
    pub(crate) fn declared_len(&self) -> Option<u64> {
        match self.framing {
            Framing::Length(length) => Some(length),
            Framing::Chunked | Framing::Rest => None,
        }
    }

    /// Bytes of the input that follow the body; reads them all.
    pub(crate) fn trailing(&mut self) -> io::Result<u64> {
        let mut trailing = 0;
        while !self.buffer.is_empty() || self.fill()? {
            trailing += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(trailing)
    }

    /// Reads on.
    pub(crate) fn next_piece(&mut self) -> Result<Piece, Unreadable> {
        match self.framing {
            Framing::Rest => Ok(self.data(u64::MAX)?.map_or(Piece::End, Piece::Data)),
            Framing::Length(0) => Ok(Piece::End),
            Framing::Length(left) => {
                let Some(data) = self.data(left)? else { return Ok(Piece::Cut) };
                self.framing = Framing::Length(left - data.len() as u64);
                Ok(Piece::Data(data))
            }
            Framing::Chunked if self.ended => Ok(Piece::End),
            Framing::Chunked => self.next_chunked(),
        }
    }

    fn next_chunked(&mut self) -> Result<Piece, Unreadable> {
        if self.chunk_left == 0 {
            match self.chunk_size()? {
                None => return Ok(Piece::Cut),
                Some(0) => return self.trailers(),
                Some(size) => self.chunk_left = size,
            }
        }
        let Some(data) = self.data(self.chunk_left)? else { return Ok(Piece::Cut) };
        self.chunk_left -= data.len() as u64;
        Ok(Piece::Data(data))
    }

    /// The size line of the next chunk, after the CRLF of the one before; `None` at the end.
    fn chunk_size(&mut self) -> Result<Option<u64>, Unreadable> {
        while self.in_chunks {
            match &self.buffer[..] {
                [b'\r', b'\n', ..] => {
                    self.buffer.advance(2);
                    break;
                }
                [] | [b'\r'] => {
                    if !self.fill()? {
                        return Ok(None);
                    }
                }
                _ => return Err(Unreadable::Http("chunk does not end where it should".to_owned())),
            }
        }
        self.in_chunks = true;
        loop {
            match httparse::parse_chunk_size(&self.buffer) {
                Ok(httparse::Status::Complete((line, size))) => {
                    self.buffer.advance(line);
                    return Ok(Some(size));
                }
                Ok(httparse::Status::Partial) if self.buffer.len() <= CHUNK => {
                    if !self.fill()? {
                        return Ok(None);
                    }
                }
                _ => return Err(Unreadable::Http("chunk size is malformed".to_owned())),
            }
        }
    }

    /// The trailer fields after the last chunk, up to their blank line.
    fn trailers(&mut self) -> Result<Piece, Unreadable> {
        loop {
            let mut slots = [httparse::EMPTY_HEADER; 64];
            match httparse::parse_headers(&self.buffer, &mut slots) {
                Ok(httparse::Status::Complete((len, _))) => {
                    self.buffer.advance(len);
                    self.ended = true;
                    return Ok(Piece::End);
                }
                Ok(httparse::Status::Partial) if self.buffer.len() <= CHUNK => {
                    if !self.fill()? {
                        return Ok(Piece::Cut);
                    }
                }
                _ => return Err(Unreadable::Http("trailer fields are malformed".to_owned())),
            }
        }
    }

    /// Some bytes, `limit` at most; `None` at the end of the input.
    fn data(&mut self, limit: u64) -> io::Result<Option<Bytes>> {
        if self.buffer.is_empty() && !self.fill()? {
            return Ok(None);
        }
        let available = self.buffer.len();
        let n = usize::try_from(limit).map_or(available, |limit| available.min(limit));
        Ok(Some(self.buffer.split_to(n).freeze()))
    }

    /// Reads more into the buffer; `false` at the end of the input.
    fn fill(&mut self) -> io::Result<bool> {
        let start = self.buffer.len();
        self.buffer.resize(start + CHUNK, 0);
        let read = read(&mut self.source, &mut self.buffer[start..]);
        self.buffer.truncate(start + *read.as_ref().unwrap_or(&0));
        read.map(|n| n > 0)
    }
}

/// Reads some bytes; 0 at the end.
pub(crate) fn read(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}
