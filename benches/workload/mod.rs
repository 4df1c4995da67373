//! The messages that are measured, how they arrive, and where what is read of them goes. All of
//! them are made from a seed, the same in every run.

#![allow(
    dead_code,
    missing_debug_implementations,
    missing_docs,
    unreachable_pub,
    reason = "a module of every bench, each of which uses what it needs"
)]

pub mod arrival;
pub mod message;
pub mod sink;

use std::{error::Error, time::Duration};

use bytes::Bytes;
use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use memchr::memmem::Finder;

use self::sink::Totals;

/// 38 characters, so that the delimiter has 42.
pub const BOUNDARY: &str = "----AgentEnvelope7MA4YWxkTrZu0gWq3x9Qz";
pub const CONTENT_TYPE: &str =
    "multipart/form-data; boundary=----AgentEnvelope7MA4YWxkTrZu0gWq3x9Qz";

pub const CONTROL_NAME: &str = "control";
pub const JSON: &str = "application/json";
pub const BINARY: &str = "application/octet-stream";

/// What a row says of itself: an error stops the bench.
pub type Outcome = Result<(), Box<dyn Error>>;

/// A message as it arrives.
pub struct Input {
    pub chunks: Vec<Bytes>,
    /// Bytes of all chunks.
    pub len: usize,
    /// What a right reading of it delivers.
    pub expected: Totals,
    /// For the limit row that searches for the delimiter: built once, not in every message.
    pub finder: Finder<'static>,
}

impl Input {
    pub fn new(chunks: Vec<Bytes>, expected: Totals) -> Self {
        for chunk in &chunks {
            // The first clone of a buffer moves its count into an allocation. Later ones are one
            // increment, as they are for bytes that were frozen out of a read buffer.
            drop(chunk.clone());
        }
        let len = chunks.iter().map(Bytes::len).sum();
        let finder = Finder::new(&delimiter()).into_owned();
        Self { chunks, len, expected, finder }
    }

    /// `message` in chunks of `size` bytes, each in a buffer of its own, as after one read each.
    pub fn cut(message: &[u8], size: usize, expected: Totals) -> Self {
        let chunks = message.chunks(size).map(Bytes::copy_from_slice).collect();
        Self::new(chunks, expected)
    }
}

/// CRLF, two hyphens, the boundary.
pub fn delimiter() -> Vec<u8> {
    [b"\r\n--", BOUNDARY.as_bytes()].concat()
}

/// A group whose rows take about two seconds each. Large messages need no more than ten samples.
pub fn group<'c>(
    c: &'c mut Criterion,
    name: &str,
    bytes: usize,
    samples: usize,
) -> BenchmarkGroup<'c, WallTime> {
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Bytes(bytes as u64)).sample_size(samples).nresamples(10_000);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(1500));
    group
}

/// Measures `run`, which is checked first: what is fast and wrong is not measured. A row that is
/// filtered out is not checked either.
pub fn row(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    check: impl Fn(),
    mut run: impl FnMut(),
) {
    let mut checked = false;
    group.bench_function(name, |b| {
        if !checked {
            check();
            checked = true;
        }
        b.iter(&mut run);
    });
}

/// Splitmix64: random enough for bodies, and quick.
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend_from_slice(&self.next().to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }
}
