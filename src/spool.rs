//! Bytes that are held until a message is known to be valid: in memory first, then in a temporary
//! file. Feature `spool`.
//!
//! The file has no name from the start (on Windows: it is deleted when it is closed), so nothing is
//! left behind when a message is refused, the sender goes away, a future is dropped or the process is
//! killed. Files are written and read on the blocking threads of tokio, whose runtime is needed.

use std::{
    error::Error,
    fmt,
    fs::File,
    io,
    ops::Range,
    path::PathBuf,
    pin::{Pin, pin},
    sync::Arc,
};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::stream;
use tokio::{io::AsyncWriteExt as _, task::spawn_blocking};

use crate::{
    Category, ContentHead, Control, DecodeError, EnvelopeDecoder, PartName, Reference, Warning,
    stream::{EnvelopeStream, StreamError},
};

/// How much of a file is written or read at once, in bytes.
const BLOCK: usize = 128 << 10;

/// Where bytes are held: settings.
///
/// # Memory
///
/// For each message that is received: [`max_memory_bytes`](Self::max_memory_bytes), up to twice, and
/// three times while a buffer grows; 128 KiB for a file; what the decoder keeps
/// ([`Limits`](crate::Limits)), the chunk that the control document came in, and the headers of every
/// part, twice; and a chunk of the body. On disk: [`Limits::max_message_bytes`](crate::Limits::max_message_bytes), and one
/// open file.
///
/// ```
/// use acp_envelope::{Config, EnvelopeDecoder, spool::Spool};
/// use bytes::Bytes;
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let body = "--b\r\nContent-Type: application/json\r\n\r\n{\"doc\":{\"$ref\":\"d\"}}\r\n--b\r\n\
///     Content-Disposition: form-data; name=\"d\"\r\nContent-Type: application/pdf\r\n\r\n%PDF\r\n--b--\r\n";
/// let body = futures_util::stream::iter([Ok::<_, std::io::Error>(Bytes::from(body))]);
/// let decoder = EnvelopeDecoder::new("multipart/form-data; boundary=b", Config::new())?;
///
/// let message = Spool::new().max_memory_bytes(2).receive(body, decoder).await?; // and it is valid
/// let part = message.part("d").unwrap();
/// assert!(!part.content().is_in_memory());
/// assert_eq!(part.content().bytes().await?, "%PDF");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spool {
    /// Bytes of one message that are held in memory. Default 256 KiB.
    pub max_memory_bytes: usize,
    /// The directory of temporary files. Default: that of the operating system.
    pub directory: Option<PathBuf>,
}

impl Spool {
    /// The defaults.
    #[must_use]
    pub const fn new() -> Self {
        Self { max_memory_bytes: 256 << 10, directory: None }
    }

    /// Sets [`max_memory_bytes`](field@Self::max_memory_bytes).
    #[must_use]
    pub const fn max_memory_bytes(mut self, bytes: usize) -> Self {
        self.max_memory_bytes = bytes;
        self
    }

    /// Sets [`directory`](field@Self::directory).
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Receives a whole message: small parts are held in memory, as long as there is room, others in
    /// one file. When it succeeds, the message is complete and valid.
    ///
    /// # Errors
    ///
    /// [`SpoolError`]; nothing is left behind.
    pub async fn receive<S, E>(
        &self,
        body: S,
        decoder: EnvelopeDecoder,
    ) -> Result<SpooledEnvelope, SpoolError<E>>
    where
        S: Stream<Item = Result<Bytes, E>>,
    {
        let body = pin!(body);
        let mut message = EnvelopeStream::new(body, decoder);
        let control = message.control().await?.clone();
        let mut file = None;
        let mut memory = self.max_memory_bytes;
        let mut parts = Vec::new();
        while let Some(mut part) = message.next_part().await? {
            let mut writer = SpoolWriter::new(self.directory.clone(), memory, file.take());
            while let Some(chunk) = part.chunk().await? {
                writer.write(&chunk).await.map_err(SpoolError::File)?;
            }
            memory = memory.saturating_sub(writer.memory.len());
            parts.push((part.head().detached(), writer.held()));
            file = writer.file;
        }
        let file = SpoolFile::freeze(file).await.map_err(SpoolError::File)?;
        let (control_name, warnings) = message.into_decoder().into_findings();
        let parts = parts
            .into_iter()
            .map(|(head, held)| SpooledPart { head, content: Content::new(held, file.as_ref()) });
        Ok(SpooledEnvelope { control, control_name, parts: parts.collect(), warnings })
    }

    /// Holds bytes that are written one after the other.
    #[must_use]
    pub fn writer(&self) -> SpoolWriter {
        SpoolWriter::new(self.directory.clone(), self.max_memory_bytes, None)
    }
}

impl Default for Spool {
    fn default() -> Self {
        Self::new()
    }
}

/// Takes bytes one after the other, for example those of a whole body, whose content is then read
/// any number of times.
#[derive(Debug)]
pub struct SpoolWriter {
    directory: Option<PathBuf>,
    /// What was written, as long as it fits.
    memory: BytesMut,
    max_memory: usize,
    file: Option<SpoolFile>,
    /// Where in the file the bytes start, once they are there.
    start: Option<u64>,
    /// A write has failed, or was dropped.
    broken: bool,
}

fn broken() -> io::Error {
    io::Error::other("a write before has failed or was dropped")
}

/// A file that is written to its end.
#[derive(Debug)]
struct SpoolFile {
    file: tokio::fs::File,
    len: u64,
}

/// Where bytes are held.
#[derive(Debug)]
enum Held {
    Memory(Bytes),
    File(Range<u64>),
}

impl SpoolWriter {
    fn new(directory: Option<PathBuf>, max_memory: usize, file: Option<SpoolFile>) -> Self {
        Self { directory, memory: BytesMut::new(), max_memory, file, start: None, broken: false }
    }

    /// Appends bytes. Not cancel-safe: when its future is dropped, the writer is good for nothing more.
    ///
    /// # Errors
    ///
    /// Those of the file. What was written before is then lost, and every later call fails.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if std::mem::replace(&mut self.broken, true) {
            return Err(broken());
        }
        self.append(bytes).await?;
        self.broken = false;
        Ok(())
    }

    async fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.start.is_none() {
            if self.memory.len().saturating_add(bytes.len()) <= self.max_memory {
                self.memory.extend_from_slice(bytes);
                return Ok(());
            }
            let memory = std::mem::take(&mut self.memory);
            let file = self.file().await?;
            let start = file.len;
            file.write(&memory).await?;
            self.start = Some(start);
        }
        self.file().await?.write(bytes).await
    }

    /// What was written.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub async fn finish(mut self) -> io::Result<Content> {
        if self.broken {
            return Err(broken());
        }
        let held = self.held();
        let file = SpoolFile::freeze(self.file).await?;
        Ok(Content::new(held, file.as_ref()))
    }

    fn held(&mut self) -> Held {
        match (self.start, &self.file) {
            (Some(start), Some(file)) => Held::File(start..file.len),
            _ => Held::Memory(self.memory.split().freeze()),
        }
    }

    async fn file(&mut self) -> io::Result<&mut SpoolFile> {
        let file = match self.file.take() {
            Some(file) => file,
            None => SpoolFile::open(self.directory.clone()).await?,
        };
        Ok(self.file.insert(file))
    }
}

impl SpoolFile {
    async fn open(directory: Option<PathBuf>) -> io::Result<Self> {
        let open = || directory.map_or_else(tempfile::tempfile, tempfile::tempfile_in);
        let mut file = tokio::fs::File::from_std(blocking(open).await?);
        file.set_max_buf_size(BLOCK);
        Ok(Self { file, len: 0 })
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes).await?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Ends the writing.
    async fn freeze(file: Option<Self>) -> io::Result<Option<Arc<File>>> {
        let Some(Self { mut file, .. }) = file else { return Ok(None) };
        file.flush().await?;
        Ok(Some(Arc::new(file.into_std().await)))
    }
}

/// Bytes that are held. Cheap to clone; the file is gone when the last clone is.
#[derive(Debug, Clone)]
pub struct Content(Kept);

#[derive(Debug, Clone)]
enum Kept {
    Memory(Bytes),
    File { file: Arc<File>, range: Range<u64> },
}

impl Content {
    fn new(held: Held, file: Option<&Arc<File>>) -> Self {
        Self(match (held, file) {
            (Held::File(range), Some(file)) => Kept::File { file: file.clone(), range },
            (Held::Memory(bytes), _) => Kept::Memory(bytes),
            // Bytes are in a file only where there is one.
            (Held::File(_), None) => Kept::Memory(Bytes::new()),
        })
    }

    /// How many bytes.
    #[must_use]
    pub const fn len(&self) -> u64 {
        match &self.0 {
            Kept::Memory(bytes) => bytes.len() as u64,
            Kept::File { range, .. } => range.end - range.start,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether they are held in memory.
    #[must_use]
    pub const fn is_in_memory(&self) -> bool {
        matches!(self.0, Kept::Memory(_))
    }

    /// The bytes from the first one, any number of times: in one chunk what is held in memory, in
    /// chunks of 128 KiB what is in a file.
    #[must_use]
    pub fn stream(&self) -> Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send + Sync>> {
        match self.0.clone() {
            Kept::Memory(bytes) => {
                let bytes = Some(bytes).filter(|bytes| !bytes.is_empty());
                Box::pin(stream::iter(bytes.map(Ok)))
            }
            Kept::File { file, range } => {
                Box::pin(stream::try_unfold((file, range), |(file, range)| async move {
                    let len = (range.end - range.start).min(BLOCK as u64);
                    if len == 0 {
                        return Ok(None);
                    }
                    let (source, at) = (file.clone(), range.start);
                    let chunk = blocking(move || read_at(&source, at, len)).await?;
                    Ok(Some((chunk, (file, at + len..range.end))))
                }))
            }
        }
    }

    /// All bytes in one piece.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub async fn bytes(&self) -> io::Result<Bytes> {
        match self.0.clone() {
            Kept::Memory(bytes) => Ok(bytes),
            Kept::File { file, range } => {
                blocking(move || read_at(&file, range.start, range.end - range.start)).await
            }
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Reads without a common position, so that several may read at once.
fn read_at(file: &File, at: u64, len: u64) -> io::Result<Bytes> {
    let mut bytes = BytesMut::zeroed(usize::try_from(len).map_err(io::Error::other)?);
    #[cfg(unix)]
    std::os::unix::fs::FileExt::read_exact_at(file, &mut bytes, at)?;
    #[cfg(windows)]
    {
        let (mut at, mut rest) = (at, &mut bytes[..]);
        while !rest.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(file, rest, at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => {
                    at += n as u64;
                    rest = rest.split_at_mut(n).1;
                }
            }
        }
    }
    Ok(bytes.freeze())
}

/// A complete, valid message whose parts are held in memory or in a file.
#[derive(Debug, Clone)]
pub struct SpooledEnvelope {
    control: Control,
    control_name: Option<PartName>,
    parts: Vec<SpooledPart>,
    warnings: Vec<Warning>,
}

impl SpooledEnvelope {
    /// The control document.
    #[must_use]
    pub const fn control(&self) -> &Control {
        &self.control
    }

    /// The control part's name; `None` in the JSON form, or where it has none.
    #[must_use]
    pub const fn control_name(&self) -> Option<&PartName> {
        self.control_name.as_ref()
    }

    /// The content parts in the order sent.
    #[must_use]
    pub fn parts(&self) -> &[SpooledPart] {
        &self.parts
    }

    /// The content part of that name, matched exactly.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&SpooledPart> {
        self.parts.iter().find(|part| part.head.name() == name)
    }

    /// The content part a reference means. `None` for a reference that is not of this message.
    #[must_use]
    pub fn resolve(&self, reference: &Reference) -> Option<&SpooledPart> {
        self.part(reference.name().as_str())
    }

    /// What is worth knowing, though the message stands.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }
}

/// A content part that is held.
#[derive(Debug, Clone)]
pub struct SpooledPart {
    head: ContentHead,
    content: Content,
}

impl SpooledPart {
    /// Name, media type, file name, other fields, references.
    #[must_use]
    pub const fn head(&self) -> &ContentHead {
        &self.head
    }

    /// The content, byte for byte.
    #[must_use]
    pub const fn content(&self) -> &Content {
        &self.content
    }
}

/// The message is refused, its body cannot be read, or it cannot be held.
#[derive(Debug)]
#[non_exhaustive]
pub enum SpoolError<E> {
    /// The message is refused, or its body failed.
    Stream(StreamError<E>),
    /// The temporary file failed, for example because the disk is full. [`Category::Io`], code `io`.
    File(io::Error),
}

impl<E> SpoolError<E> {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Stream(error) => error.code(),
            Self::File(_) => "io",
        }
    }

    /// Who has to act.
    #[must_use]
    pub const fn category(&self) -> Category {
        match self {
            Self::Stream(error) => error.category(),
            Self::File(_) => Category::Io,
        }
    }
}

impl<E> fmt::Display for SpoolError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(error) => error.fmt(f),
            Self::File(_) => f.write_str("temporary file failed"),
        }
    }
}

impl<E: Error + 'static> Error for SpoolError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Stream(error) => error.source(),
            Self::File(error) => Some(error),
        }
    }
}

impl<E> From<StreamError<E>> for SpoolError<E> {
    fn from(error: StreamError<E>) -> Self {
        Self::Stream(error)
    }
}

impl<E> From<DecodeError> for SpoolError<E> {
    fn from(error: DecodeError) -> Self {
        Self::Stream(error.into())
    }
}
