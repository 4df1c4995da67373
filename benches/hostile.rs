//! Bodies that are made to be slow: each is the worst, or nearly, for one way to search for the
//! delimiter. `random` is the same message without malice: how much slower a row is on another is
//! what a sender gains.

mod rows;
mod workload;

use criterion::{Criterion, criterion_group, criterion_main};
use memchr::arch::all::packedpair::Pair;

use self::{
    rows::measure,
    workload::{Input, Random, delimiter, message::Message},
};

const BODY: usize = 4 << 20;
const CHUNK: usize = 8 << 10;

/// A body of `unit`, repeated.
fn repeated(unit: &[u8]) -> Input {
    let body: Vec<u8> = unit.iter().copied().cycle().take(BODY).collect();
    Message::new(1, 1200).part(0, &body).cut(CHUNK)
}

fn random() -> Input {
    Message::new(1, 1200).part(0, &Random::new(1).bytes(BODY)).cut(CHUNK)
}

/// The delimiter without its last character, again and again.
fn near() -> Input {
    let delimiter = delimiter();
    repeated(&delimiter[..delimiter.len() - 1])
}

/// Every chunk ends in the delimiter without its last character, which is not what follows.
fn edge() -> Input {
    let delimiter = delimiter();
    let near = &delimiter[..delimiter.len() - 1];
    let mut body = Random::new(1).bytes(BODY);
    let mut message = Message::new(1, 1200);
    message.start_part(0);
    let first = CHUNK - message.len() % CHUNK;
    for end in (first..body.len()).step_by(CHUNK).filter(|&end| end >= near.len()) {
        body[end - near.len()..end].copy_from_slice(near);
        body[end] = b'!';
    }
    message.body(&body);
    message.cut(CHUNK)
}

/// For a search for two bytes of the delimiter at their distance: half of the positions have them.
fn pair(first: usize, second: usize) -> Input {
    let (delimiter, distance) = (delimiter(), second - first);
    let run = |at: usize| vec![delimiter[at]; distance];
    repeated(&[run(first), run(second)].concat())
}

/// The two bytes that memchr takes to be the rarest, and searches for.
fn rare() -> Input {
    let rarest = Pair::new(&delimiter()).expect("a delimiter has more than one byte");
    let (a, b) = (usize::from(rarest.index1()), usize::from(rarest.index2()));
    pair(a.min(b), a.max(b))
}

/// For a search for the delimiter's first four bytes and its last: they are there at every eighth
/// position.
fn quad() -> Input {
    let delimiter = delimiter();
    let (quad, last) = (&delimiter[..4], delimiter[delimiter.len() - 1]);
    let distance = delimiter.len() - 2; // ten times four
    repeated(&[quad.repeat(distance / 4), vec![last; distance]].concat())
}

/// For a search that looks up four bytes at every 31st position among those of the delimiter, as this
/// crate's does: 23 of 25 times it finds them, and no CR is near.
fn gram() -> Input {
    repeated(&delimiter()[10..35])
}

fn hostile(c: &mut Criterion) {
    let last = delimiter().len() - 1;
    measure(c, "random", 20, &random());
    measure(c, "near", 20, &near());
    measure(c, "edge", 20, &edge());
    measure(c, "rare", 20, &rare());
    measure(c, "pair", 20, &pair(0, last));
    measure(c, "quad", 20, &quad());
    measure(c, "cr", 20, &repeated(b"\r"));
    measure(c, "crlf", 20, &repeated(b"\r\n"));
    measure(c, "dash", 20, &repeated(b"-"));
    measure(c, "gram", 20, &gram());
}

criterion_group!(benches, hostile);
criterion_main!(benches);
