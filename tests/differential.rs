//! What we accept, other multipart parsers read with the same part names and bodies: the accepted
//! messages of the corpus, the captures, a list of our own, and generated ones. The crate `multer`
//! reads them here, parsers of other languages by `tests/interop/run`.
//!
//! Where a parser refuses a message or reads something else, `tests/interop/exceptions.json` lists
//! it, with what the parser does and why; no other exception may be.

#[path = "support/multer.rs"]
mod peer;
mod support;

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Debug,
    fs,
    path::Path,
};

use acp_envelope::{Config, decode_with};
use bytes::Bytes;
use proptest::{
    collection::vec,
    prelude::*,
    sample::{select, subsequence},
    test_runner::{TestError, TestRunner},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use support::{
    cases::{captures, corpus},
    messages::{cases, content, message},
};

const READERS: [&str; 6] = ["multer", "email", "multipart", "busboy", "undici", "mime/multipart"];

/// A message that we accept, and what we read in it.
struct Accepted {
    case: String,
    content_type: String,
    body: Bytes,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// None for a control part that has none.
    name: Option<String>,
    body: Bytes,
}

/// Dispositions of a part, whose name is put for `{f}`. What looks like another name is `g`.
const DISPOSITIONS: [(&str, &str); 20] = [
    ("own/name-after-filename", r#"form-data; filename="a.txt"; name="{f}""#),
    ("own/name-unquoted", "form-data; name={f}"),
    ("own/name-unquoted-then-filename", r#"form-data; name={f}; filename="a.txt""#),
    ("own/no-space-after-semicolon", r#"form-data;name="{f}";filename="a.txt""#),
    ("own/space-before-semicolon", r#"form-data ; name="{f}" ; filename="a.txt""#),
    ("own/trailing-semicolon", r#"form-data; name="{f}";"#),
    ("own/other-case", r#"Form-DATA; NAME="{f}"; FileName="a.txt""#),
    ("own/name-in-filename", r#"form-data; filename="my name.txt"; name="{f}""#),
    ("own/name-parameter-in-filename", r#"form-data; filename="; name=g"; name="{f}""#),
    ("own/name-parameter-in-filename-quoted", r#"form-data; filename="; name=\"g\""; name="{f}""#),
    ("own/name-parameter-in-filename-after", r#"form-data; name="{f}"; filename="; name=\"g\"""#),
    ("own/name-parameter-in-other", r#"form-data; x="; name=g; "; name="{f}""#),
    ("own/escaped-backslash-before-quote", r#"form-data; filename="a\\"; name="{f}""#),
    (
        "own/escaped-backslash-then-parameter",
        r#"form-data; filename="\\"; name="{f}"; x="; name=g""#,
    ),
    ("own/backslash-kept", r#"form-data; filename="C:\dir\a.txt"; name="{f}""#),
    ("own/parameter-ends-in-name", r#"form-data; xname="g"; name="{f}""#),
    ("own/parameter-starts-with-name", r#"form-data; name-x="g"; name="{f}""#),
    ("own/extended-filename-first", r#"form-data; filename*=UTF-8''a%3B%20name%3Dg; name="{f}""#),
    ("own/extended-filename-only", r#"form-data; name="{f}"; filename*=UTF-8''a.txt"#),
    ("own/filename-not-ascii-first", r#"form-data; filename="日本; name=g"; name="{f}""#),
];

/// Content-Types of messages whose boundary is `b`. What looks like another boundary is `c`.
const CONTENT_TYPES: [(&str, &str); 6] = [
    ("own/boundary-in-other-parameter", r#"multipart/form-data; x="; boundary=c"; boundary=b"#),
    ("own/boundary-after-longer-name", "multipart/form-data; xboundary=c; boundary=b"),
    ("own/boundary-before-quoted-semicolon", r#"multipart/form-data; boundary=b; x="y; z""#),
    (
        "own/boundary-after-escaped-quote",
        r#"multipart/form-data; x="\"; boundary=c; \""; boundary=b"#,
    ),
    ("own/content-type-in-other-case", "Multipart/FORM-Data;BOUNDARY=b"),
    ("own/content-type-with-spaces", r#"multipart/form-data ; boundary="b" ; charset=utf-8"#),
];

const BOUNDARY_B: &str = "multipart/form-data; boundary=b";
const CONTROL: &str = "Content-Disposition: form-data; name=\"_acp_control\"\r\n\
    Content-Type: application/json\r\n\r\n{\"f\":{\"$ref\":\"f\"}}";
const PART: &str = "Content-Disposition: form-data; name=\"f\"\r\nContent-Type: image/png\r\n\r\nv";

/// Messages whose boundary is `b`.
fn framings() -> Vec<(&'static str, String)> {
    let parts = format!("--b\r\n{CONTROL}\r\n--b\r\n{PART}\r\n--b--");
    let with_content = |content: &str| parts.replace("\r\n\r\nv", &format!("\r\n\r\n{content}"));
    let fields = "image/png\r\nX-A: 1\r\nX-A: 2\r\nx-b:\r\nX-C:\t \td \t\r\n\
        X-D: 1\r\nX-D: 2\r\nx-e:\r\nX-F:\t \td \t\r\n\r\n";
    vec![
        ("own/preamble-names-the-delimiter", format!("starts at --b\r\n\r\n{parts}\r\n")),
        ("own/preamble-of-dashes", format!("--\r\n--\r\n{parts}\r\n")),
        ("own/preamble-looks-like-headers", format!("Content-Type: text/plain\r\n\r\n{parts}\r\n")),
        ("own/epilogue-with-a-part", format!("{parts}\r\n--b\r\n{PART}\r\n--b--\r\n")),
        ("own/epilogue-of-a-second-message", format!("{parts}\r\n{parts}\r\n")),
        ("own/padding-after-close", format!("{parts} \t\r\n")),
        ("own/padding-after-delimiters", parts.replace("--b\r\n", "--b \t \r\n")),
        ("own/fields-of-all-kinds", parts.replace("image/png\r\n\r\n", fields)),
        ("own/delimiters-inside-content", with_content("v --b\r\n-b\r\nv\n--b--\nv\r--b\rv")),
        ("own/line-ends-around-content", with_content("\r\n\r\nv\r\n\r\n")),
    ]
}

/// Messages of our own, as far as the corpus and the captures have none like them.
fn own() -> Vec<(&'static str, &'static str, String)> {
    let whole = |part: &str| format!("--b\r\n{CONTROL}\r\n--b\r\n{part}\r\n--b--\r\n");
    let mut messages = Vec::new();
    for (case, disposition) in DISPOSITIONS {
        let disposition = disposition.replace("{f}", "f");
        let part = PART.replace("form-data; name=\"f\"", &disposition);
        messages.push((case, BOUNDARY_B, whole(&part)));
    }
    messages.extend(CONTENT_TYPES.map(|(case, content_type)| (case, content_type, whole(PART))));
    messages.extend(framings().into_iter().map(|(case, body)| (case, BOUNDARY_B, body)));
    messages
}

/// The parts of a message in multipart form that we accept, the control part first.
fn parts(content_type: &[u8], body: &Bytes, config: Config) -> Option<Vec<Part>> {
    let envelope = decode_with(content_type, body.clone(), config).ok()?;
    let kind = content_type.trim_ascii_start().to_ascii_lowercase();
    if kind.starts_with(b"application/json") {
        return None;
    }
    let name = envelope.control_name().map(ToString::to_string);
    let mut parts = vec![Part { name, body: envelope.control().raw().clone() }];
    parts.extend(envelope.parts().iter().map(|part| Part {
        name: Some(part.head().name().to_string()),
        body: part.body().clone(),
    }));
    Some(parts)
}

fn accepted() -> Vec<Accepted> {
    let mut accepted = Vec::new();
    for case in corpus().into_iter().chain(captures()) {
        if let Some(parts) = parts(&case.content_type, &case.body, case.config) {
            let content_type = String::from_utf8(case.content_type).unwrap();
            accepted.push(Accepted { case: case.id, content_type, body: case.body, parts });
        }
    }
    for (case, content_type, body) in own() {
        let body = Bytes::from(body);
        let parts = parts(content_type.as_bytes(), &body, Config::new());
        let parts = parts.unwrap_or_else(|| panic!("{case} is refused"));
        let (case, content_type) = (case.to_owned(), content_type.to_owned());
        accepted.push(Accepted { case, content_type, body, parts });
    }
    accepted
}

/// What a reader does with the messages that it does not read the same.
fn exceptions(reader: &str) -> BTreeMap<String, String> {
    let listed = fs::read("tests/interop/exceptions.json").unwrap();
    let listed: Vec<Value> = serde_json::from_slice(&listed).unwrap();
    let mut exceptions = BTreeMap::new();
    for entry in listed.iter().filter(|entry| entry["reader"] == reader) {
        for case in entry["cases"].as_array().unwrap() {
            let (case, it) = (case.as_str().unwrap(), entry["it"].as_str().unwrap());
            let before = exceptions.insert(case.to_owned(), it.to_owned());
            assert_eq!(before, None, "{reader}, {case}: listed twice");
        }
    }
    exceptions
}

/// What multer does with a message, in the words of `exceptions.json`.
fn multer_does(content_type: &str, body: &Bytes, parts: &[Part], chunk: usize) -> &'static str {
    let Ok(read) = peer::read(content_type, body, chunk) else { return "refuses" };
    let read = read.into_iter().map(|part| Part { name: part.name, body: part.body });
    if read.eq(parts.iter().cloned()) { "reads the same" } else { "reads otherwise" }
}

#[test]
fn multer_reads_what_we_accept_acp_frm_3_acp_hdr_3() {
    let exceptions = exceptions("multer");
    let accepted = accepted();
    for Accepted { case, content_type, body, parts } in &accepted {
        let expected = exceptions.get(case).map_or("reads the same", String::as_str);
        for chunk in [body.len(), 4096, 7] {
            let does = multer_does(content_type, body, parts, chunk);
            assert_eq!(
                does, expected,
                "multer {does} in chunks of {chunk}: {case}; exceptions.json, or the lack of it \
                 there, says that it {expected}"
            );
        }
    }
    assert!(accepted.len() - exceptions.len() > 300, "most are compared");
}

#[test]
fn every_exception_is_of_a_message_and_says_why_acp_frm_3() {
    let cases: BTreeSet<_> = accepted().into_iter().map(|message| message.case).collect();
    for reader in READERS {
        for (case, it) in exceptions(reader) {
            assert!(cases.contains(&case), "{reader}, {case}: we accept no such message");
            // The version of undici is that of the Node.js that is there; newer ones read more.
            let may = reader == "undici" && it == "may refuse";
            assert!(may || ["refuses", "reads otherwise"].contains(&it.as_str()), "{case}: {it}");
        }
    }
    let listed = fs::read("tests/interop/exceptions.json").unwrap();
    let listed: Vec<Value> = serde_json::from_slice(&listed).unwrap();
    for entry in listed {
        assert!(READERS.iter().any(|reader| entry["reader"] == *reader), "{entry}");
        assert!(entry["why"].as_str().is_some_and(|why| why.len() > 20), "{entry}");
    }
}

/// Whether the delimiter stands in the preamble, inside a line. multer looks for it anywhere
/// (`own/preamble-names-the-delimiter`).
fn preamble_names_the_delimiter(content_type: &str, body: &[u8]) -> bool {
    let delimiter = format!("--{}", multer::parse_boundary(content_type).unwrap());
    let first = body.windows(delimiter.len()).position(|at| at == delimiter.as_bytes());
    let before = body.split_at(first.unwrap()).0;
    !before.is_empty() && !before.ends_with(b"\r\n")
}

/// Has multer read the generated messages that we accept, and gives how many these are and how
/// many of them it must read the same; `misread` says which others it must read otherwise, told
/// the message and how many parts we read.
fn compare_generated<T: Debug>(
    messages: &impl Strategy<Value = T>,
    message: impl Fn(&T) -> (String, Bytes),
    misread: impl Fn(&T, usize) -> bool,
) -> (u32, u32) {
    let (accepted, compared) = (Cell::new(0), Cell::new(0));
    let outcome = TestRunner::new(cases()).run(messages, |generated| {
        let (content_type, body) = message(&generated);
        let Some(parts) = parts(content_type.as_bytes(), &body, Config::new()) else {
            return Ok(());
        };
        accepted.set(accepted.get() + 1);
        let expected = if misread(&generated, parts.len()) {
            "reads otherwise"
        } else {
            compared.set(compared.get() + 1);
            "reads the same"
        };
        for chunk in [body.len(), 7] {
            prop_assert_eq!(multer_does(&content_type, &body, &parts, chunk), expected);
        }
        Ok(())
    });
    if let Err(TestError::Fail(reason, generated)) = outcome {
        panic!("{reason}\n{generated:?}");
    }
    (accepted.get(), compared.get())
}

#[test]
fn multer_reads_damaged_messages_that_we_accept_acp_frm_3() {
    let text = |content_type: &[u8]| String::from_utf8(content_type.to_vec()).unwrap();
    let (accepted, compared) = compare_generated(
        &message(),
        |message| (text(&message.content_type), message.body.clone().into()),
        |message, _| preamble_names_the_delimiter(&text(&message.content_type), &message.body),
    );
    assert!(accepted > cases().cases / 100, "{accepted} accepted");
    assert!(compared > accepted / 10 * 9, "{compared} of {accepted} compared");
}

/// A message made of what we accept, and what of `own` is in its preamble and in each of its parts.
/// Content can close the message early.
#[derive(Debug, Clone)]
struct Made {
    content_type: String,
    body: Bytes,
    cases: Vec<&'static str>,
}

/// A part of it, but for its name.
#[derive(Debug, Clone)]
struct Piece {
    line_end: &'static str,
    disposition: (&'static str, &'static str),
    fields: &'static str,
    fields_first: bool,
    content: Vec<u8>,
}

fn made() -> impl Strategy<Value = Made> {
    let exceptions = exceptions("multer");
    let (misread, read): (Vec<_>, Vec<_>) =
        DISPOSITIONS.into_iter().partition(|(case, _)| exceptions.contains_key(*case));
    let disposition = prop_oneof![30 => select(read), 1 => select(misread)];
    let boundaries = vec!["b", "-", "b:x", "AaB03x", "--edge-(1)+'2',./:=?_"];
    select(boundaries).prop_flat_map(move |boundary| {
        let fields = select(vec![
            "Content-Type: image/png\r\n",
            "content-type:text/csv;x=\"a;b\"\t\r\n",
            "X-A: b\r\nContent-Transfer-Encoding: BINARY\r\nX-A: \r\n",
            "",
        ]);
        let line_end = select(vec!["\r\n", "\r\n", " \t\r\n"]);
        let piece = (line_end, disposition.clone(), fields, any::<bool>(), content(boundary))
            .prop_map(|(line_end, disposition, fields, fields_first, content)| Piece {
                line_end,
                disposition,
                fields,
                fields_first,
                content,
            });
        let names = subsequence(vec!["a", "b", "f", "img-1", "name", "x.y_z"], 0..6).prop_shuffle();
        let read = select(vec!["", "\r\n", "\r\n\r\n", "text\r\n", "--\r\n", "X-A: b\r\n\r\n"]);
        let misread = format!("starts at --{boundary}\r\n\r\n");
        let preamble = prop_oneof![
            30 => read.prop_map(|preamble| (preamble.to_owned(), "")),
            1 => Just((misread, "own/preamble-names-the-delimiter")),
        ];
        let end = select(vec!["", "\r\n", "\r\n\r\n", " \t\r\n", "\r\ntext\r\n--b\r\n\r\n\r\n--b"]);
        (preamble, names, vec(piece, 6), end).prop_map(move |(preamble, names, pieces, end)| {
            let parts = names.into_iter().zip(pieces).collect();
            assemble(boundary, preamble, parts, end)
        })
    })
}

fn assemble(
    boundary: &str,
    (preamble, case): (String, &'static str),
    parts: Vec<(&'static str, Piece)>,
    end: &str,
) -> Made {
    let mut cases = vec![case];
    let control = "Content-Disposition: form-data; name=\"_acp_control\"\r\n\
        Content-Type: application/json\r\n\r\n[]";
    let mut body = format!("{preamble}--{boundary}\r\n{control}").into_bytes();
    for (name, Piece { line_end, disposition, fields, fields_first, content }) in parts {
        let (case, disposition) = disposition;
        cases.push(case);
        let disposition = disposition.replace("{f}", name);
        let disposition = format!("Content-Disposition: {disposition}\r\n");
        let (first, second) =
            if fields_first { (fields, &*disposition) } else { (&*disposition, fields) };
        body.extend(format!("\r\n--{boundary}{line_end}{first}{second}\r\n").as_bytes());
        body.extend(content);
    }
    body.extend(format!("\r\n--{boundary}--{end}").as_bytes());
    let content_type = format!("multipart/form-data; boundary=\"{boundary}\"");
    Made { content_type, body: body.into(), cases }
}

#[test]
fn multer_reads_messages_made_of_what_we_accept_acp_frm_2_acp_hdr_3() {
    let exceptions = exceptions("multer");
    let (accepted, compared) = compare_generated(
        &made(),
        |made| (made.content_type.clone(), made.body.clone()),
        |made, parts| made.cases.iter().take(parts).any(|case| exceptions.contains_key(*case)),
    );
    assert!(accepted > cases().cases / 3, "{accepted} accepted");
    assert!(compared > accepted / 10 * 7, "{compared} of {accepted} compared");
}

/// `tests/interop/run` asks for the messages as files, for parsers of other languages.
#[test]
fn accepted_messages_are_written_for_other_readers_acp_frm_3() {
    let Some(folder) = env::var_os("ACP_INTEROP_DIR") else { return };
    let folder = Path::new(&folder);
    let mut index = Vec::new();
    for Accepted { case, content_type, body, parts } in accepted() {
        let path = folder.join(format!("{case}.body"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &body).unwrap();
        let parts: Vec<_> = parts.iter().map(as_json).collect();
        index.push(json!({ "case": case, "content_type": content_type, "parts": parts }));
    }
    let index = serde_json::to_string_pretty(&index).unwrap();
    fs::write(folder.join("accepted.json"), index).unwrap();
}

fn as_json(part: &Part) -> Value {
    let sha256 = hex::encode(Sha256::digest(&part.body));
    json!({ "name": part.name, "len": part.body.len(), "sha256": sha256 })
}
