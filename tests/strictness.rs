//! `docs/strictness.md` shows what others read in messages that we refuse. `tests/strictness/run`
//! makes it of the tricks in `tests/strictness/tricks.json`; here our own answers are checked.

#[path = "support/multer.rs"]
mod peer;
mod support;

use std::{collections::BTreeSet, env, fs, path::Path};

use acp_envelope::decode_with;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use support::cases::{Case, corpus, corpus_case};

/// What a sender does, and a message in which it is done.
struct Trick {
    sentence: String,
    message: Case,
}

/// The tricks on readers of multipart (`messages`) or of JSON (`documents`).
fn tricks(kind: &str) -> Vec<Trick> {
    let tricks = fs::read("tests/strictness/tricks.json").unwrap();
    let tricks: Value = serde_json::from_slice(&tricks).unwrap();
    let mut corpus = corpus();
    let mut message = |trick: &Value| match trick["case"].as_str() {
        None => corpus_case(&trick["own"]),
        Some(case) => {
            let at = corpus.iter().position(|message| message.id == case);
            corpus.swap_remove(at.unwrap_or_else(|| panic!("{case} is not there, or used twice")))
        }
    };
    let tricks = tricks[kind].as_array().unwrap().iter().map(|trick| Trick {
        sentence: trick["trick"].as_str().unwrap().to_owned(),
        message: message(trick),
    });
    tricks.collect()
}

const VALID: &str = "valid";

/// A message without a trick, which comes first: a reader that does not read it was asked wrongly.
fn valid() -> Trick {
    let text = "--b\r\nContent-Disposition: form-data; name=\"_acp_control\"\r\n\
        Content-Type: application/json\r\n\r\n{\"f\":{\"$ref\":\"f\"}}\r\n--b\r\n\
        Content-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\
        Content-Type: image/png\r\n\r\nv\r\n--b--\r\n";
    let message = corpus_case(&json!({
        "id": VALID,
        "rule": [],
        "content_type": "multipart/form-data; boundary=b",
        "body": { "text": text },
        "expect": { "ok": {} },
    }));
    assert!(decode_with(&message.content_type, message.body.clone(), message.config).is_ok());
    Trick { sentence: String::new(), message }
}

/// Trick, case, rules and our answer of each row of the document under a heading.
fn rows(heading: &str) -> Vec<[String; 4]> {
    let document = fs::read_to_string("docs/strictness.md").unwrap();
    let section = document.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    let cells =
        rows.map(|row| row.trim_start_matches("| ").split(" | ").take(4).map(str::to_owned));
    cells.map(|cells| cells.collect::<Vec<_>>().try_into().unwrap()).collect()
}

fn row(Trick { sentence, message }: &Trick) -> [String; 4] {
    let (rules, answer) = (rules(message).join(", "), our_answer(message));
    [sentence.clone(), format!("`{}`", message.id), rules, format!("`{answer}`")]
}

/// The ids of the rules that a message is about. The corpus names a limit by its code.
fn rules(message: &Case) -> Vec<String> {
    let spec = fs::read_to_string("docs/acp.md").unwrap();
    let rules = message.rules.iter().map(|rule| {
        let has_rule = |line: &&str| {
            line.starts_with(&format!("| {rule} |")) || line.ends_with(&format!("| `{rule}` |"))
        };
        let line = spec.lines().find(has_rule).unwrap_or_else(|| panic!("there is no {rule}"));
        line.split(" | ").next().unwrap().trim_start_matches("| ").to_owned()
    });
    rules.collect()
}

/// The code with which we refuse a message.
fn our_answer(message: &Case) -> &'static str {
    let answer = decode_with(&message.content_type, message.body.clone(), message.config);
    match answer {
        Ok(_) => panic!("{}: not refused", message.id),
        Err(error) => error.code(),
    }
}

#[test]
fn every_trick_is_refused_with_the_code_it_says_acp_frm_1_acp_hdr_1_acp_ctl_4() {
    for Trick { sentence, message } in tricks("messages").iter().chain(&tricks("documents")) {
        assert_eq!(message.expect["error"], our_answer(message), "{sentence}");
    }
}

#[test]
fn the_document_has_the_tricks_and_our_answers_of_now_acp_frm_1_acp_hdr_1_acp_ctl_4() {
    let [messages, documents] = ["messages", "documents"].map(|kind| {
        let rows: Vec<_> = tricks(kind).iter().map(row).collect();
        let different: BTreeSet<_> = rows.iter().map(|row| &row[0]).collect();
        assert_eq!(different.len(), rows.len(), "a sentence stands twice");
        rows
    });
    assert_eq!(rows("Multipart"), messages, "run tests/strictness/run");
    assert_eq!(rows("JSON"), documents, "run tests/strictness/run");
}

/// `tests/strictness/run` asks for the messages as files, and for what the readers in Rust read.
#[test]
fn tricks_are_written_for_other_readers_acp_frm_1() {
    let Some(folder) = env::var_os("ACP_STRICTNESS_DIR") else { return };
    let folder = Path::new(&folder);
    let (mut messages, mut by_multer) = (Vec::new(), Map::new());
    for trick in [valid()].into_iter().chain(tricks("messages")) {
        let (entry, Case { id, content_type, body, .. }) = (index_entry(&trick), trick.message);
        write(folder, &format!("{id}.body"), &body);
        let content_type = String::from_utf8(content_type).unwrap();
        by_multer.insert(id, read_with_multer(&content_type, &body));
        messages.push(entry);
    }
    let (mut documents, mut by_serde) = (Vec::new(), Map::new());
    for trick in [valid()].into_iter().chain(tricks("documents")) {
        let (entry, message) = (index_entry(&trick), trick.message);
        let document = control_document(&message).expect("it has one");
        write(folder, &format!("{}.json", message.id), &document);
        let read = match serde_json::from_slice::<Value>(&document) {
            Ok(value) => json!({ "document": value.to_string() }),
            Err(error) => json!({ "refused": error.to_string() }),
        };
        by_serde.insert(message.id, read);
        documents.push(entry);
    }
    let index = json!({ "messages": messages, "documents": documents });
    write(folder, "index.json", index.to_string().as_bytes());
    let multer = json!({ "name": "multer", "version": version("multer"), "messages": by_multer });
    write(folder, "readings/multer.json", multer.to_string().as_bytes());
    let serde = json!({
        "name": "serde_json",
        "version": version("serde_json"),
        "documents": by_serde,
    });
    write(folder, "readings/serde_json.json", serde.to_string().as_bytes());
}

/// What the document shows of a trick beside the readings.
fn index_entry(trick: &Trick) -> Value {
    json!({
        "case": trick.message.id,
        "content_type": String::from_utf8(trick.message.content_type.clone()).unwrap(),
        "row": if trick.message.id == VALID { Value::Null } else { json!(row(trick)) },
        "control": control_document(&trick.message).map(|document| STANDARD.encode(document)),
    })
}

/// What stands between the first blank line after a delimiter and the next delimiter; the boundary
/// is the last one of the Content-Type.
fn control_document(message: &Case) -> Option<Bytes> {
    let content_type = std::str::from_utf8(&message.content_type).unwrap();
    let boundary = content_type.rsplit("boundary=").next()?.trim_matches('"');
    let delimiter = format!("\r\n--{boundary}");
    let find = |needle: &[u8], from: usize| {
        let found = message.body.get(from..)?.windows(needle.len()).position(|at| at == needle)?;
        Some(from + found)
    };
    let is_first = message.body.starts_with(delimiter.trim_start().as_bytes());
    let first = if is_first { 0 } else { find(delimiter.as_bytes(), 0)? };
    let start = find(b"\r\n\r\n", first)? + 4;
    let end = find(delimiter.as_bytes(), start)?;
    Some(message.body.slice(start..end))
}

fn read_with_multer(content_type: &str, body: &Bytes) -> Value {
    let parts = match peer::read(content_type, body, body.len()) {
        Ok(parts) => parts,
        Err(error) => return json!({ "refused": error }),
    };
    let parts =
        parts.into_iter().map(|part| json!([part.name, part.filename, STANDARD.encode(part.body)]));
    json!({ "parts": parts.collect::<Vec<_>>() })
}

/// The version that Cargo has taken.
fn version(package: &str) -> String {
    let lock = fs::read_to_string("Cargo.lock").unwrap();
    let entry = format!("name = \"{package}\"\nversion = \"");
    lock.split(&entry).nth(1).unwrap().split('"').next().unwrap().to_owned()
}

fn write(folder: &Path, name: &str, content: &[u8]) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
