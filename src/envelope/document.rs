//! The bytes of a control document as they come.

use bytes::{Bytes, BytesMut};

/// The bytes so far: a view where they came in one piece, a copy otherwise.
#[derive(Debug, Default)]
pub(super) struct Document {
    first: Bytes,
    joined: BytesMut,
}

impl Document {
    /// 1 GiB: places in its text, which is up to three times as long, are counted in 32 bits.
    pub(super) const MAX: usize = 1 << 30;

    pub(super) fn append(&mut self, piece: Bytes) {
        if self.first.is_empty() && self.joined.is_empty() {
            self.first = piece;
        } else {
            self.joined.extend_from_slice(&std::mem::take(&mut self.first));
            self.joined.extend_from_slice(&piece);
        }
    }

    pub(super) fn take(&mut self) -> Bytes {
        if self.joined.is_empty() {
            std::mem::take(&mut self.first)
        } else {
            std::mem::take(&mut self.joined).freeze()
        }
    }
}
