//! The corpus and the captures, read from `testdata/`.

use std::{fs, path::PathBuf};

use acp_envelope::{Config, Limits, WarningCode};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::Value;

/// A message and the verdict the specification demands.
pub struct Case {
    pub id: String,
    pub rules: Vec<String>,
    pub content_type: Vec<u8>,
    pub body: Bytes,
    pub config: Config,
    pub expect: Value,
    /// Recorded sizes in which a client wrote the body.
    pub recorded_cuts: Vec<Vec<usize>>,
}

const SETS: [&str; 8] =
    ["framing", "headers", "names", "control", "refs", "limits", "clients", "dos"];

fn testdata(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)
}

fn read_json(path: &str) -> Value {
    let bytes = fs::read(testdata(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The corpus: situations of public bug reports, retold.
pub fn corpus() -> Vec<Case> {
    let on_disk = fs::read_dir(testdata("corpus")).unwrap();
    let folders = on_disk.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    assert_eq!(folders, SETS.len(), "every set is listed");
    let cases = SETS.iter().flat_map(|set| {
        let Value::Array(cases) = read_json(&format!("corpus/{set}/cases.json")) else {
            panic!("{set} is no array")
        };
        cases
    });
    cases.map(|case| corpus_case(&case)).collect()
}

/// A case as the corpus writes it.
pub fn corpus_case(case: &Value) -> Case {
    let rules = case["rule"].as_array().unwrap();
    Case {
        id: case["id"].as_str().unwrap().to_owned(),
        rules: rules.iter().map(|rule| rule.as_str().unwrap().to_owned()).collect(),
        content_type: case["content_type"].as_str().unwrap().as_bytes().to_vec(),
        body: corpus_body(&case["body"]).into(),
        config: config(&case["policy"]),
        expect: case["expect"].clone(),
        recorded_cuts: Vec::new(),
    }
}

fn corpus_body(body: &Value) -> Vec<u8> {
    if let Some(text) = body["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(base64) = body["base64"].as_str() {
        return STANDARD.decode(base64).unwrap();
    }
    let pieces = body["repeat"].as_array().unwrap().iter();
    pieces.flat_map(|p| corpus_body(p).repeat(p["times"].as_u64().unwrap() as usize)).collect()
}

fn config(policy: &Value) -> Config {
    let mut limits = Limits::new();
    for (name, value) in policy["limits"].as_object().into_iter().flatten() {
        let value = value.as_u64().unwrap();
        let count = value as usize;
        limits = match name.as_str() {
            "parts" => limits.max_parts(count),
            "part_size" => limits.max_part_bytes(value),
            "message_size" => limits.max_message_bytes(value),
            "boundary" => limits.max_boundary_chars(count),
            "control_size" => limits.max_control_bytes(count),
            "json_size" => limits.max_json_bytes(count),
            "header_size" => limits.max_header_bytes(count),
            "headers" => limits.max_headers(count),
            "json_depth" => limits.max_json_depth(count),
            other => panic!("unknown limit {other}"),
        };
    }
    let mut config = Config::new().limits(limits);
    for (name, value) in policy.as_object().into_iter().flatten() {
        config = match (name.as_str(), value.as_bool()) {
            ("limits", _) => config,
            ("refuse_preamble", Some(true)) => config.refuse(WarningCode::Preamble),
            ("refuse_epilogue", Some(true)) => config.refuse(WarningCode::Epilogue),
            ("allow_duplicate_members", Some(allow)) => config.allow_duplicate_members(allow),
            ("allow_json_content", Some(allow)) => config.allow_json_content(allow),
            other => panic!("unknown policy {other:?}"),
        };
    }
    config
}

/// The captures: requests as real HTTP clients wrote them.
pub fn captures() -> Vec<Case> {
    let Value::Array(entries) = read_json("captures/manifest.json") else {
        panic!("the manifest is no array")
    };
    let on_disk: usize = fs::read_dir(testdata("captures"))
        .unwrap()
        .filter_map(|entry| fs::read_dir(entry.unwrap().path()).ok())
        .map(Iterator::count)
        .sum();
    assert_eq!(entries.len(), on_disk, "every file is listed");
    entries.iter().map(capture).collect()
}

fn capture(entry: &Value) -> Case {
    let file = entry["file"].as_str().unwrap();
    let message = fs::read(testdata("captures").join(file)).unwrap();
    let mut slots = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut slots);
    let httparse::Status::Complete(head) = request.parse(&message).unwrap() else {
        panic!("{file} has no complete head")
    };
    // One client sends two Content-Type fields; the expected result is that of the first.
    let content_type = request.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-type"));
    let sizes = |name: &str| {
        let sizes = entry[name].as_array()?.iter();
        Some(sizes.map(|size| size.as_u64().unwrap() as usize).collect())
    };
    Case {
        id: file.to_owned(),
        rules: Vec::new(),
        content_type: content_type.unwrap().value.to_vec(),
        body: message[head..].to_vec().into(),
        config: Config::new(),
        expect: entry["expect"].clone(),
        recorded_cuts: ["read_sizes", "te_chunk_sizes"].into_iter().filter_map(sizes).collect(),
    }
}
