//! Bytes that come in pieces and are wanted in one.

use bytes::{Bytes, BytesMut};

/// The bytes so far: a view where they came in one piece, a copy otherwise.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    first: Bytes,
    joined: BytesMut,
}

impl Pieces {
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
