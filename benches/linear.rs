//! Work grows with the message and no faster: each group feeds n, 2n and 4n bytes of something that
//! a careless reader would look at again and again. The throughput of the three must be the same.

use std::{hint::black_box, time::Duration};

use acp_envelope::{Config, EnvelopeDecoder, Limits, Status};
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const N: usize = 256 << 10;
const JSON: &str = "application/json";
const MULTIPART: &str = "multipart/form-data; boundary=b";

/// How the bytes arrive.
#[derive(Clone, Copy)]
enum Cut {
    Bytewise,
    Chunks,
}

/// Decodes `body` to its end or to its error; the number of items tells one from the other.
fn decode(content_type: &str, body: &Bytes, cut: Cut) -> usize {
    let limits = Limits::new().max_header_bytes(usize::MAX).max_json_bytes(8 * N);
    let config = Config::new().limits(limits);
    let mut decoder = EnvelopeDecoder::new(content_type, config).expect("a Content-Type");
    let size = match cut {
        Cut::Bytewise => 1,
        Cut::Chunks => 64 << 10,
    };
    let (mut rest, mut input, mut items) = (body.clone(), Bytes::new(), 0);
    loop {
        match decoder.next_item(&mut input) {
            Ok(Status::NeedInput) if rest.is_empty() => decoder.finish(),
            Ok(Status::NeedInput) => input = rest.split_to(size.min(rest.len())),
            Ok(Status::Item(_)) => items += 1,
            _ => return items,
        }
    }
}

/// A message whose content part is `unit` repeated to `n` bytes.
fn body_of(unit: &str, n: usize) -> String {
    format!(
        "--b\r\nContent-Type: application/json\r\n\r\n1\r\n--b\r\n\
         Content-Disposition: form-data; name=p\r\nContent-Type: a/b\r\n\r\n{}\r\n--b--\r\n",
        unit.repeat(n / unit.len())
    )
}

/// A header block of `n` bytes that does not end.
fn header_of(n: usize) -> String {
    format!("--b\r\nX: {}", "x".repeat(n))
}

/// An object of `n` bytes, all of them short members.
fn members_of(n: usize) -> String {
    let mut text = String::from("{");
    for i in 0..n / 10 {
        text.push_str(&format!("\"{i:05x}\":0,"));
    }
    text + "\"\":0}"
}

fn linear(c: &mut Criterion) {
    type Make = fn(usize) -> String;
    let groups: [(&str, &str, Make, Cut); 9] = [
        ("text bytewise", MULTIPART, |n| body_of("x", n), Cut::Bytewise),
        ("CR bytewise", MULTIPART, |n| body_of("\r", n), Cut::Bytewise),
        ("CR", MULTIPART, |n| body_of("\r", n), Cut::Chunks),
        ("near-misses bytewise", MULTIPART, |n| body_of("\r\n--x\r\n-", n), Cut::Bytewise),
        ("near-misses", MULTIPART, |n| body_of("\r\n--x\r\n-", n), Cut::Chunks),
        ("endless header bytewise", MULTIPART, header_of, Cut::Bytewise),
        ("endless header", MULTIPART, header_of, Cut::Chunks),
        ("members bytewise", JSON, members_of, Cut::Bytewise),
        ("members", JSON, members_of, Cut::Chunks),
    ];
    for (name, content_type, make, cut) in groups {
        let mut group = c.benchmark_group(name);
        group.sample_size(10).warm_up_time(Duration::from_millis(100));
        group.measurement_time(Duration::from_millis(500));
        for times in [1, 2, 4] {
            let body = Bytes::from(make(times * N));
            group.throughput(Throughput::Bytes(body.len() as u64));
            group.bench_with_input(BenchmarkId::from_parameter(body.len()), &body, |b, body| {
                b.iter(|| decode(content_type, black_box(body), cut));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, linear);
criterion_main!(benches);
