//! Every message of the corpus and every capture gives the expected verdict, however it is cut:
//! whole, byte by byte, at the sizes a client wrote, and at random places (ACP-FRM-7).

mod support;

use acp_envelope::{Envelope, decode_with};
use serde_json::Value;
use sha2::{Digest, Sha256};
use support::{
    Finding, Message, bytewise,
    cases::{Case, captures, corpus},
    cut, decode_chunks, decode_whole, random_cuts,
};

const RANDOM_CUTS: u64 = 6;

#[test]
fn every_message_of_the_corpus_gets_its_verdict() {
    let cases = corpus();
    assert_eq!(cases.len(), 270);
    cases.iter().for_each(check);
}

#[test]
fn every_capture_of_a_real_client_gets_its_verdict() {
    let cases = captures();
    assert_eq!(cases.len(), 330);
    cases.iter().for_each(check);
}

fn check(case: &Case) {
    let whole = decode_whole(&case.content_type, &case.body, case.config);
    compare(case, &whole);
    let at_once = decode_with(&case.content_type, case.body.clone(), case.config);
    let at_once = at_once.as_ref().map(Envelope::parts).map_err(Finding::from);
    assert_eq!(
        at_once.map(<[_]>::len),
        whole.as_ref().map(|m| m.parts.len()).map_err(Clone::clone)
    );
    let again = |what: &str, cuts: Vec<bytes::Bytes>| {
        let outcome = decode_chunks(&case.content_type, cuts, case.config);
        assert_eq!(outcome, whole, "{} fed {what}", case.id);
    };
    again("byte by byte", bytewise(&case.body).collect());
    for sizes in &case.recorded_cuts {
        assert_eq!(sizes.iter().sum::<usize>(), case.body.len(), "{}: sizes", case.id);
        again("as recorded", cut(&case.body, sizes.iter().copied()));
    }
    for seed in 0..RANDOM_CUTS {
        again(&format!("with seed {seed}"), random_cuts(&case.body, seed));
    }
}

fn compare(case: &Case, outcome: &Result<Message, Finding>) {
    let id = &case.id;
    let ok = &case.expect["ok"];
    match outcome {
        Err(finding) => assert_eq!(case.expect["error"], finding.code, "{id}: {finding:?}"),
        Ok(message) => {
            assert!(ok.is_object(), "{id}: accepted, expected {}", case.expect);
            if let Some(control) = ok.get("control") {
                let ours: Value = serde_json::from_str(&message.control).unwrap();
                assert!(equal_by_value(control, &ours), "{id}: {control} is not {ours}");
            }
            assert_eq!(ok["parts"], parts_as_expected(message), "{id}");
            let mut warnings: Vec<_> = message.warnings.iter().map(|w| w.code).collect();
            warnings.sort_unstable();
            assert_eq!(ok["warnings"], Value::from(warnings), "{id}");
        }
    }
}

fn parts_as_expected(message: &Message) -> Value {
    let parts = message.parts.iter().map(|part| {
        serde_json::json!({
            "name": part.name,
            "content_type": String::from_utf8_lossy(&part.content_type),
            "filename": part.filename,
            "len": part.body.len(),
            "sha256": hex::encode(Sha256::digest(&part.body)),
        })
    });
    parts.collect()
}

/// Numbers are compared by value: `1e2` is `100`.
fn equal_by_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal_by_value(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(k, a)| b.get(k).is_some_and(|b| equal_by_value(a, b)))
        }
        _ => a == b,
    }
}
