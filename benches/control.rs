//! Control documents with 50 references, three levels down: how fast they are judged and their
//! references found, beside a parse of the same text.

mod workload;

use std::{hint::black_box, str};

use acp_envelope::Control;
use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use serde::de::IgnoredAny;
use serde_json::Value;

use self::workload::{
    Outcome, Random, group,
    sink::{Sink, Totals},
};

const REFERENCES: usize = 50;

struct Row {
    name: &'static str,
    /// Delivers each reference as a part: its name, its pointer.
    run: fn(&Bytes, &mut Sink) -> Outcome,
    delivers: bool,
    /// Whether a document without its last byte is an error.
    is_parse: bool,
}

const ROWS: [Row; 4] = [
    Row { name: "control", run: control, delivers: true, is_parse: true },
    Row { name: "serde_json value", run: value, delivers: true, is_parse: true },
    Row { name: "serde_json ignored", run: ignored, delivers: false, is_parse: true },
    Row { name: "from_utf8", run: utf8, delivers: false, is_parse: false },
];

fn control(document: &Bytes, sink: &mut Sink) -> Outcome {
    let control = Control::from_text(document.clone())?;
    if sink.is_checking() {
        let references = control.references();
        references.for_each(|(at, name)| sink.part(name.as_bytes(), at.as_bytes()));
    }
    black_box(control.reference_count());
    Ok(())
}

/// A tree, whose references are not looked for while the clock runs. The numbers are as exact as
/// this crate has serde_json read them, which costs more than its default.
fn value(document: &Bytes, sink: &mut Sink) -> Outcome {
    let value: Value = serde_json::from_str(str::from_utf8(document)?)?;
    if sink.is_checking() {
        walk(&value, &mut String::new(), sink);
    }
    black_box(value);
    Ok(())
}

/// Whether it is JSON, and nothing of what it says.
fn ignored(document: &Bytes, _: &mut Sink) -> Outcome {
    black_box(serde_json::from_str::<IgnoredAny>(str::from_utf8(document)?)?);
    Ok(())
}

fn utf8(document: &Bytes, _: &mut Sink) -> Outcome {
    black_box(str::from_utf8(document)?);
    Ok(())
}

fn walk(value: &Value, at: &mut String, sink: &mut Sink) {
    let above = at.len();
    let mut step = |name: &str, value| {
        at.push('/');
        at.push_str(name);
        walk(value, at, sink);
        at.truncate(above);
    };
    match value {
        Value::Array(array) => {
            array.iter().enumerate().for_each(|(i, value)| step(&i.to_string(), value));
        }
        Value::Object(object) => match object.get("$ref") {
            Some(name) => {
                sink.part(name.as_str().unwrap_or_default().as_bytes(), at.as_bytes());
            }
            None => object.iter().for_each(|(name, value)| step(name, value)),
        },
        _ => {}
    }
}

/// A document of about `len` bytes, and what is to be found in it.
fn document(len: usize) -> (Bytes, Totals) {
    let (mut random, mut expected) = (Random::new(11), Sink::checking());
    let mut text =
        String::from("{\"type\":\"message\",\"id\":\"01J9ZK3V8Q4N7W2C5R6T1Y0B3D\",\"content\":[");
    for i in 0..REFERENCES {
        let comma = if i == 0 { "" } else { "," };
        text.push_str(&format!("{comma}{{\"d\":{{\"$ref\":\"b{i}\"}}"));
        expected.part(format!("b{i}").as_bytes(), format!("/content/{i}/d").as_bytes());
        // This item's share of the length.
        let mut member = 0;
        while text.len() + 98 < len * (i + 1) / REFERENCES {
            member += 1;
            text.push_str(&filler(member, random.next()));
        }
        text.push('}');
    }
    (Bytes::from(text + "]}"), expected.totals())
}

/// A member of one of five kinds.
fn filler(member: usize, random: u64) -> String {
    let x = random >> 32;
    match random % 5 {
        0 => format!(",\"num{member}\":{}.{}", x % 10_000, (random >> 20) % 1000),
        1 => format!(",\"flag{member}\":[true,false,null,{}]", x % 99),
        2 => format!(",\"esc{member}\":\"line one\\nline \\\"two\\\" {x:x}\""),
        3 => format!(",\"text{member}\":\"The quick brown fox jumps over the lazy dog {x:x}\""),
        _ => format!(",\"o{member}\":{{\"a\":{{\"b\":[1,2,{{\"c\":\"{x:x}\"}}]}}}}"),
    }
}

impl Row {
    fn check(&self, document: &Bytes, expected: Totals) {
        let mut sink = Sink::checking();
        if let Err(error) = (self.run)(document, &mut sink) {
            panic!("row {}: {error}", self.name);
        }
        if self.delivers {
            assert_eq!(sink.totals(), expected, "row {}", self.name);
        }
        let cut = document.slice(..document.len() - 1);
        let is_error = (self.run)(&cut, &mut Sink::checking()).is_err();
        assert_eq!(is_error, self.is_parse, "row {}, without the document's last byte", self.name);
    }
}

fn controls(c: &mut Criterion) {
    for (name, len) in [("control 4k", 4 << 10), ("control 1m", 1 << 20)] {
        let (document, expected) = document(len);
        let mut group = group(c, name, document.len(), 20);
        for row in ROWS {
            let mut sink = Sink::timing();
            let run = || (row.run)(black_box(&document), &mut sink).expect(row.name);
            workload::row(&mut group, row.name, || row.check(&document, expected), run);
        }
        group.finish();
    }
}

criterion_group!(benches, controls);
criterion_main!(benches);
