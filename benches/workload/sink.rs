//! Where everything goes that is read of a message.

use std::hint::black_box;

/// What was delivered. Two readings have the same totals where they deliver the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub parts: usize,
    pub body_bytes: usize,
    /// Over names, types and body bytes, in their order, however the bodies are cut.
    pub checksum: u64,
}

#[derive(Default)]
pub struct Sink {
    /// Whether everything is read, and not only touched. Never while the clock runs.
    checking: bool,
    totals: Totals,
    /// Where the limit row `memcpy` writes.
    target: Vec<u8>,
}

impl Sink {
    /// For a row that is timed: of each piece it reads the first byte, the last, and the length.
    pub fn timing() -> Self {
        Self::default()
    }

    pub fn checking() -> Self {
        Self { checking: true, ..Self::default() }
    }

    pub const fn is_checking(&self) -> bool {
        self.checking
    }

    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// A part begins.
    #[inline]
    pub fn part(&mut self, name: &[u8], media_type: &[u8]) {
        if self.checking {
            self.totals.parts += 1;
            self.mix(name);
            self.mix(b"\0");
            self.mix(media_type);
            self.mix(b"\0");
        } else {
            touch(name);
            touch(media_type);
        }
    }

    /// A piece of the current part's body.
    #[inline]
    pub fn body(&mut self, piece: &[u8]) {
        if self.checking {
            self.totals.body_bytes += piece.len();
            self.mix(piece);
        } else {
            touch(piece);
        }
    }

    /// `len` bytes to be overwritten, which are in memory from the second call on.
    pub fn target(&mut self, len: usize) -> &mut [u8] {
        if self.target.len() < len {
            self.target.resize(len, 1);
        }
        &mut self.target[..len]
    }

    fn mix(&mut self, bytes: &[u8]) {
        self.totals.checksum = bytes.iter().fold(self.totals.checksum, |sum, &byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
        });
    }
}

#[inline]
fn touch(bytes: &[u8]) {
    black_box((bytes.first().copied(), bytes.last().copied(), bytes.len()));
}
