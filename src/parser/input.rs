//! What the parser reads from.

use bytes::{Buf, Bytes, BytesMut};

mod sealed {
    #[expect(unnameable_types, reason = "that nobody can name it is what seals the trait")]
    pub trait Sealed {}
    impl Sealed for bytes::Bytes {}
    impl Sealed for bytes::BytesMut {}
}

/// A buffer whose front the parser takes without copying: [`Bytes`] or [`BytesMut`]. What it does
/// not take stays with the caller. Sealed.
pub trait Input: sealed::Sealed {
    /// What is there.
    #[doc(hidden)]
    fn bytes(&self) -> &[u8];

    /// Takes the first `n` bytes.
    #[doc(hidden)]
    fn take(&mut self, n: usize) -> Bytes;

    /// Drops the first `n` bytes.
    #[doc(hidden)]
    fn skip(&mut self, n: usize);
}

impl Input for Bytes {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn take(&mut self, n: usize) -> Bytes {
        self.split_to(n)
    }

    fn skip(&mut self, n: usize) {
        self.advance(n);
    }
}

impl Input for BytesMut {
    fn bytes(&self) -> &[u8] {
        self
    }

    fn take(&mut self, n: usize) -> Bytes {
        self.split_to(n).freeze()
    }

    fn skip(&mut self, n: usize) {
        self.advance(n);
    }
}
