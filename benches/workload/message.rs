//! How a message is written, without the encoder that is measured.

use bytes::Bytes;

use super::{
    BINARY, CONTROL_NAME, Input, JSON, delimiter,
    sink::{Sink, Totals},
};

/// A message while it is written, and what a reader of it has to deliver.
pub struct Message {
    bytes: Vec<u8>,
    expected: Sink,
}

impl Message {
    /// The control part, with a document of about `control_len` bytes that refers to each of
    /// `parts` parts.
    pub fn new(parts: usize, control_len: usize) -> Self {
        let mut message = Self { bytes: Vec::new(), expected: Sink::checking() };
        message.start(CONTROL_NAME, JSON);
        message.body(control_document(parts, control_len).as_bytes());
        message
    }

    /// Starts the content part of that index.
    pub fn start_part(&mut self, index: usize) {
        self.start(&part_name(index), BINARY);
    }

    pub fn body(&mut self, piece: &[u8]) {
        self.expected.body(piece);
        self.bytes.extend_from_slice(piece);
    }

    pub fn part(mut self, index: usize, body: &[u8]) -> Self {
        self.start_part(index);
        self.body(body);
        self
    }

    /// Bytes written so far.
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Ends the message, which arrives in chunks of `size` bytes.
    pub fn cut(mut self, size: usize) -> Input {
        self.close();
        Input::cut(&self.bytes, size, self.expected.totals())
    }

    /// Ends the message, which arrives in one chunk.
    pub fn whole(self) -> Input {
        self.cut(usize::MAX)
    }

    /// Goes on with `block`, `times` times, and ends the message. Its chunks, of `size` bytes, are
    /// views of `block`: they are in the cache when they come, as those are that were just read
    /// from a socket.
    pub fn repeat(mut self, block: &Bytes, times: usize, size: usize) -> Input {
        let mut chunks = vec![Bytes::from(std::mem::take(&mut self.bytes))];
        for _ in 0..times {
            self.expected.body(block);
            chunks.extend((0..block.len()).step_by(size).map(|at| block.slice(at..at + size)));
        }
        self.close();
        chunks.push(Bytes::from(self.bytes));
        Input::new(chunks, self.expected.totals())
    }

    pub const fn expected(&self) -> Totals {
        self.expected.totals()
    }

    fn start(&mut self, name: &str, media_type: &str) {
        let delimiter = delimiter();
        let before = if self.bytes.is_empty() { &delimiter[2..] } else { &delimiter };
        self.bytes.extend_from_slice(before);
        let head = format!(
            "\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\
             Content-Type: {media_type}\r\n\r\n"
        );
        self.bytes.extend_from_slice(head.as_bytes());
        self.expected.part(name.as_bytes(), media_type.as_bytes());
    }

    fn close(&mut self) {
        self.bytes.extend_from_slice(&delimiter());
        self.bytes.extend_from_slice(b"--\r\n");
    }
}

pub fn part_name(index: usize) -> String {
    format!("blob-{index:04}")
}

/// A control document of about `len` bytes, in which each of `parts` parts is referred to once.
pub fn control_document(parts: usize, len: usize) -> String {
    let mut text = String::from(
        "{\"type\":\"message\",\"id\":\"01J9ZK3V8Q4N7W2C5R6T1Y0B3D\",\"role\":\"agent\",\"content\":[",
    );
    for index in 0..parts {
        let comma = if index == 0 { "" } else { "," };
        let name = part_name(index);
        text.push_str(&format!(
            "{comma}{{\"kind\":\"blob\",\"mime\":\"{BINARY}\",\"data\":{{\"$ref\":\"{name}\"}}}}"
        ));
    }
    text.push_str("],\"trace\":[\"begins\"");
    let mut line = 0;
    while text.len() + 2 < len {
        text.push_str(&format!(",\"line {line} of the trace\""));
        line += 1;
    }
    text + "]}"
}
