//! Messages as agents send them: how fast they are read, beside other parsers and beside what the
//! machine can do at all. Every row is checked before it is timed. What is made to be slow is in
//! `hostile.rs`.

mod rows;
mod workload;

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};

use self::{
    rows::measure,
    workload::{Input, Random, message::Message},
};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// One part that no cache holds.
fn large_cold(size: usize) -> Input {
    Message::new(1, 1200).part(0, &Random::new(1).bytes(64 * MIB)).cut(size)
}

/// One part whose chunks are in the cache when they come.
fn large_hot(size: usize) -> Input {
    let block = Bytes::from(Random::new(2).bytes(64 * KIB));
    let mut message = Message::new(1, 1200);
    message.start_part(0);
    message.repeat(&block, 16 * MIB / block.len(), size)
}

fn parts(number: usize, len: usize, control_len: usize) -> Message {
    let mut random = Random::new(3);
    let message = Message::new(number, control_len);
    (0..number).fold(message, |message, index| message.part(index, &random.bytes(len)))
}

/// A message of 64 KiB that comes in next to nothing at a time.
fn trickle(size: usize) -> Input {
    Message::new(1, 3 * KIB).part(0, &Random::new(4).bytes(60 * KIB)).cut(size)
}

fn decode(c: &mut Criterion) {
    measure(c, "large cold 8k", 10, &large_cold(8 * KIB));
    measure(c, "large cold 64k", 10, &large_cold(64 * KIB));
    measure(c, "large hot 8k", 10, &large_hot(8 * KIB));
    measure(c, "large hot 64k", 10, &large_hot(64 * KIB));
    measure(c, "64 parts whole", 30, &parts(64, KIB, 8 * KIB).whole());
    measure(c, "64 parts 8k", 30, &parts(64, KIB, 8 * KIB).cut(8 * KIB));
    measure(c, "16 parts 64k", 20, &parts(16, 256 * KIB, 2 * KIB).cut(64 * KIB));
    measure(c, "tiny", 30, &parts(1, 4 * KIB, 1200).whole());
    measure(c, "trickle 1", 20, &trickle(1));
    measure(c, "trickle 7", 20, &trickle(7));
}

criterion_group!(benches, decode);
criterion_main!(benches);
