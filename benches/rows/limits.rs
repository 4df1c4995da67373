//! What the machine can do with the bytes of a message: limits, not parsers.

use std::hint::black_box;

use bytes::Bytes;

use crate::workload::{Input, Outcome, delimiter, sink::Sink};

/// Copies the message into memory that was written before.
pub(crate) fn memcpy(input: &Input, sink: &mut Sink) -> Outcome {
    let target = sink.target(input.len);
    let mut rest = &mut *target;
    for chunk in &input.chunks {
        let (front, back) = rest.split_at_mut(chunk.len());
        front.copy_from_slice(chunk);
        rest = back;
    }
    black_box(&mut *target);
    judge(sink.is_checking(), || *sink.target(input.len) == *input.chunks.concat())
}

/// Reads every byte, and does next to nothing with it.
pub(crate) fn read(input: &Input, sink: &mut Sink) -> Outcome {
    let sum = input.chunks.iter().fold(0, |all: u64, chunk| all.wrapping_add(sum(chunk)));
    black_box(sum);
    judge(sink.is_checking(), || {
        // Each byte with its weight in its word, or alone at a chunk's end.
        let plain = |chunk: &Bytes| {
            let end = chunk.len() / LANES / 8 * LANES * 8;
            let weight = |at: usize| if at < end { 8 * (at % 8) } else { 0 };
            let bytes = chunk.iter().enumerate().map(|(at, &b)| u64::from(b) << weight(at));
            bytes.fold(0, u64::wrapping_add)
        };
        input.chunks.iter().map(plain).fold(0, u64::wrapping_add) == sum
    })
}

/// Searches for the delimiter with memchr's general searcher, built before.
pub(crate) fn memmem(input: &Input, sink: &mut Sink) -> Outcome {
    let search = |chunk: &Bytes| input.finder.find_iter(chunk).count();
    let found: usize = input.chunks.iter().map(search).sum();
    black_box(found);
    judge(sink.is_checking(), || {
        let delimiter = delimiter();
        let windows =
            |chunk: &Bytes| chunk.windows(delimiter.len()).filter(|w| *w == delimiter).count();
        input.chunks.iter().map(windows).sum::<usize>() == found
    })
}

/// Sums of words that do not wait for each other.
const LANES: usize = 8;

#[inline]
fn sum(bytes: &[u8]) -> u64 {
    let mut sums = [0u64; LANES];
    let (words, _) = bytes.as_chunks::<8>();
    let (groups, _) = words.as_chunks::<LANES>();
    for group in groups {
        for (sum, word) in sums.iter_mut().zip(group) {
            *sum = sum.wrapping_add(u64::from_le_bytes(*word));
        }
    }
    let rest = &bytes[groups.len() * LANES * 8..];
    rest.iter().map(|&byte| u64::from(byte)).chain(sums).fold(0, u64::wrapping_add)
}

fn judge(checking: bool, is_right: impl FnOnce() -> bool) -> Outcome {
    if checking && !is_right() { Err("it does something else".into()) } else { Ok(()) }
}
