//! What the encoder writes, other multipart parsers read with the same names, media types, file
//! names and content: our own decoder and the crate `multer` here, parsers of other languages by
//! `tests/interop/run` (ACP-ENC-1…8).

#[path = "support/multer.rs"]
mod peer;
mod support;

use std::{borrow::Cow, collections::BTreeMap, env, fs, path::Path};

use acp_envelope::{
    Control, EnvelopeBuilder, EnvelopeEncoder, NewPart, PartName, decode, syntax::Boundary,
};
use bytes::Bytes;
use multer::Multipart;
use peer::{arriving, run};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// As WHATWG wants it: 27 to 70 letters, digits, `'`, `-`, `_`.
const BOUNDARY: &str = "near-miss-0123456789-abcdefghij";
/// All characters of a boundary that are in no token, and some that are.
const QUOTED_BOUNDARY: &str = "a b'()+_,./:=?c";

/// A message, and what must be read out of it.
struct Message {
    case: &'static str,
    content_type: String,
    body: Bytes,
    /// The control part first.
    parts: Vec<Part>,
}

#[derive(Clone)]
struct Part {
    /// None for one that the builder names.
    name: Option<Cow<'static, str>>,
    content_type: &'static str,
    filename: Option<&'static str>,
    fields: &'static [(&'static str, &'static str)],
    content: Bytes,
    written: Written,
}

#[derive(Clone, Copy, PartialEq)]
enum Written {
    FromMemory,
    Streamed { with_len: bool },
}

fn part(
    name: impl Into<Cow<'static, str>>,
    content_type: &'static str,
    content: impl Into<Bytes>,
) -> Part {
    let (filename, fields, written) = (None, &[][..], Written::FromMemory);
    Part {
        name: Some(name.into()),
        content_type,
        filename,
        fields,
        content: content.into(),
        written,
    }
}

fn file(
    name: impl Into<Cow<'static, str>>,
    content_type: &'static str,
    filename: &'static str,
    content: impl Into<Bytes>,
) -> Part {
    Part { filename: Some(filename), ..part(name, content_type, content) }
}

impl Part {
    fn name(&self) -> &str {
        self.name.as_deref().expect("the builder has given a name")
    }

    fn to_send(&self) -> NewPart<'_> {
        let mut new = match self.written {
            Written::FromMemory => NewPart::new(self.content_type, self.content.clone()),
            Written::Streamed { with_len } => {
                let len = with_len.then_some(self.content.len() as u64);
                NewPart::streamed(self.content_type, len)
            }
        };
        if let Some(name) = self.name.as_deref() {
            new = new.name(name);
        }
        if let Some(filename) = self.filename {
            new = new.filename(filename);
        }
        self.fields.iter().fold(new, |new, (name, value)| new.field(*name, *value))
    }
}

fn message(case: &'static str, parts: Vec<Part>) -> Message {
    build(case, None, "", parts)
}

/// Builds a message whose control document holds `text` and refers to all parts.
fn build(case: &'static str, boundary: Option<&str>, text: &str, mut parts: Vec<Part>) -> Message {
    let mut builder = EnvelopeBuilder::new();
    if let Some(boundary) = boundary {
        builder = builder.boundary(Boundary::new(boundary.as_bytes()).unwrap());
    }
    let mut references = Vec::new();
    for part in &mut parts {
        let reference = builder.add(part.to_send()).unwrap();
        part.name = Some(reference.name().to_string().into());
        references.push(reference);
    }
    let control = Control::new(&json!({ "text": text, "parts": references })).unwrap();
    let encoder = builder.build(&control).unwrap();
    let (content_type, len) = (encoder.content_type().to_owned(), encoder.content_length());
    let body = write(encoder, &parts);
    let is_known = |part: &Part| part.written != Written::Streamed { with_len: false };
    let known = parts.iter().all(is_known).then_some(body.len() as u64);
    assert_eq!(len, known, "{case}: bytes announced");

    parts.insert(0, part("_acp_control", "application/json", control.text().to_owned()));
    Message { case, content_type, body, parts }
}

/// The bytes of a message; streamed content is handed over in pieces.
fn write(encoder: EnvelopeEncoder, parts: &[Part]) -> Bytes {
    let streamed = parts.iter().filter(|part| part.written != Written::FromMemory);
    let mut sources: BTreeMap<_, _> =
        streamed.map(|part| (part.name(), part.content.chunks(999))).collect();
    if sources.is_empty() {
        return encoder.into_bytes().unwrap();
    }
    let next = |part: &PartName| {
        let source = sources.get_mut(part.as_str()).expect("it is streamed");
        source.next().map(Bytes::copy_from_slice)
    };
    support::write(encoder, next).unwrap().into()
}

fn messages() -> Vec<Message> {
    vec![
        message("no_parts", vec![]),
        message("one_part", vec![file("doc", "application/pdf", "report.pdf", "%PDF-1.7\n")]),
        message("many_parts", many_parts()),
        message("empty_bodies", empty_bodies()),
        message("line_ends_and_dashes", numbered("text/plain; charset=utf-8", &LINE_ENDS)),
        build("near_misses_of_the_boundary", Some(BOUNDARY), "", near_misses()),
        build("boundary_in_text", Some(BOUNDARY), "", boundary_in_text()),
        message("all_byte_values", all_byte_values()),
        message("one_mebibyte", vec![file("big", "video/mp4", "big.mp4", mebibyte())]),
        message("filenames_plain", files(&["a.txt", "no-extension", ".hidden", "a.tar.gz", "50%"])),
        message(
            "filenames_with_quotes_and_line_ends",
            files(&["my \"table\".csv", "\"", "a\rb\nc", "line\r\nX-Injected: yes", "\"\r\n\""]),
        ),
        message(
            "filenames_not_ascii",
            files(&["日本語.txt", "é.txt", "🎉.png", "e\u{301}", "Ω\tω"]),
        ),
        message("filenames_with_backslashes", files(&BACKSLASHES)),
        message("filenames_with_separators", files(&SEPARATORS)),
        message("media_types", media_types()),
        message("names", names()),
        message("extra_fields", extra_fields()),
        build("quoted_boundary", Some(QUOTED_BOUNDARY), "", many_parts()),
        build("boundary_of_dashes", Some(&"-".repeat(30)), "", one_of_each()),
        build("longest_boundary", Some(&"-0123456789".repeat(7)[..70]), "", one_of_each()),
        build("control_not_ascii", None, "日本語, é, 🎉, \u{0}\u{7f}\u{2028}\"\\", one_of_each()),
        message("streamed", streamed()),
    ]
}

fn one_of_each() -> Vec<Part> {
    vec![
        part("field", "text/plain; charset=utf-8", "text, é"),
        file("file", "application/octet-stream", "a.bin", "content"),
    ]
}

/// As many as the specification's limits allow.
fn many_parts() -> Vec<Part> {
    let part = |n| file(format!("part-{n}"), "image/png", "same.png", format!("content {n}"));
    (1..=64).map(part).collect()
}

fn empty_bodies() -> Vec<Part> {
    vec![
        part("first", "text/plain; charset=utf-8", ""),
        file("second", "image/png", "empty.png", ""),
        part("third", "application/octet-stream", ""),
    ]
}

const LINE_ENDS: [&str; 16] = [
    "\r",
    "\n",
    "\r\n",
    "\n\r",
    "\r\r\n",
    "\r\n\r\n",
    "-",
    "--",
    "\r\n--",
    "\r\n-",
    "--\r\n",
    "--\r\n--",
    "\r\n--\r\n",
    "a\r\nb\nc\rd\r\n",
    "a: b\r\n\r\nc",
    "\r\n--\r\n--x\r\n\r\n--",
];

/// Parts with that content, each once without and once with a file name.
fn numbered(content_type: &'static str, contents: &[&str]) -> Vec<Part> {
    let parts = contents.iter().enumerate().flat_map(|(n, content)| {
        let content = Bytes::copy_from_slice(content.as_bytes());
        [
            part(format!("field-{n}"), content_type, content.clone()),
            file(format!("file-{n}"), content_type, "a.txt", content),
        ]
    });
    parts.collect()
}

/// The delimiter but for its last byte, and other beginnings of it.
fn near_misses() -> Vec<Part> {
    let (cut, _) = BOUNDARY.split_at(BOUNDARY.len() - 1);
    let contents = [
        format!("\r\n--{cut}"),
        format!("\r\n--{cut}\r\n"),
        format!("\r\n--{cut}--\r\n"),
        format!("--{cut}"),
        format!("--{cut}\r\n\r\n--{cut}\r\n"),
        format!("a\r\n--{cut}\r\n--{cut}\r\n--"),
        format!("\r\r\n--{cut}\r"),
        format!("\r\n\r\n--{}", &cut[..1]),
        format!("\r\n--{}", cut.to_uppercase()),
        "ends like a delimiter begins\r\n--".to_owned(),
    ];
    numbered("text/plain; charset=utf-8", &contents.each_ref().map(String::as_str))
}

/// The boundary, but not where a delimiter stands: at the start of a line, after two dashes.
fn boundary_in_text() -> Vec<Part> {
    let contents = [
        BOUNDARY.to_owned(),
        format!("\r\n{BOUNDARY}\r\n"),
        format!("\r\n-{BOUNDARY}\r\n"),
        format!("text --{BOUNDARY} text"),
        format!("text --{BOUNDARY}\r\n"),
        format!("text --{BOUNDARY}--\r\n"),
    ];
    numbered("text/plain; charset=utf-8", &contents.each_ref().map(String::as_str))
}

fn all_byte_values() -> Vec<Part> {
    let up: Vec<u8> = (0..=u8::MAX).collect();
    let down: Vec<u8> = (0..=u8::MAX).rev().collect();
    vec![
        file("file", "application/octet-stream", "all.bin", up.clone()),
        part("octets", "application/octet-stream", [down.clone(), up.clone()].concat()),
        part("image", "image/png", up),
        part("mark", "text/plain; charset=utf-8", "\u{feff}after a byte order mark"),
        file("image-file", "image/png", "all.png", down),
    ]
}

/// Numbers that look random; the same at every run.
fn mebibyte() -> Vec<u8> {
    let next = |n: &u64| Some(n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    std::iter::successors(Some(1_u64), next).map(|n| (n >> 56) as u8).take(1 << 20).collect()
}

fn files(filenames: &[&'static str]) -> Vec<Part> {
    let file = |(n, filename): (_, &&'static str)| {
        file(format!("file-{n}"), "application/octet-stream", filename, format!("content {n}"))
    };
    filenames.iter().enumerate().map(file).collect()
}

const BACKSLASHES: [&str; 15] = [
    r"C:\dir\file.txt",
    r"dir\file.txt",
    r"\first",
    r"C:\dir\",
    r"last\",
    r"\",
    r"\\",
    r"two\\in the middle",
    r"two last\\",
    r"three\\\",
    r"\\server\share\file.txt",
    "quote after\\\"",
    "\"quote before\\",
    "line end after\\\r\n",
    r"not ASCII after\日本",
];

const SEPARATORS: [&str; 14] = [
    "",
    " ",
    "with spaces.txt",
    " around ",
    "a;b.txt",
    "a=b",
    "a; filename=b; name=c",
    "a\"; filename=\"b",
    "a, b",
    "it's (1) <2> [3] {4} @5 #6 $7 &8 +9 ~`!^|*?:/.txt",
    "../../up",
    "/root",
    "a%20b%zz",
    r"escaped\; if a reader thinks so\(1\)\=",
];

fn media_types() -> Vec<Part> {
    let types = [
        "text/plain; charset=utf-8",
        "text/plain;charset=UTF-8",
        r#"text/csv; charset="utf-8"; header=present"#,
        r#"video/mp4; codecs="a,b""#,
        r#"video/mp4; codecs="avc1.4D401E, mp4a.40.2""#,
        r#"application/x; a="b;c=\"d\" \\e"; f=g"#,
        "application/vnd.example.v2+xml; version=1.0",
        "image/svg+xml",
        "Image/PNG",
        "application/octet-stream",
        "application/ld+json",
        "text/plain; charset=iso-8859-1",
    ];
    let parts = types.iter().enumerate().flat_map(|(n, content_type)| {
        [
            part(format!("field-{n}"), content_type, "content"),
            file(format!("file-{n}"), content_type, "a", "content"),
        ]
    });
    parts.collect()
}

fn names() -> Vec<Part> {
    let names = [
        "a",
        "A",
        "0",
        ".",
        "..",
        "-",
        "--",
        "_",
        "__",
        "a.b-c_D",
        "1.0",
        "name",
        "filename",
        "Content-Type",
        "__proto__",
        "constructor",
        "toString",
        "acp_control",
    ];
    let mut parts: Vec<_> =
        names.iter().map(|name| file(*name, "image/png", "a.png", *name)).collect();
    parts.push(part("n".repeat(256), "text/plain; charset=utf-8", "longest"));
    parts
        .push(Part { name: None, ..part("", "text/plain; charset=utf-8", "named by the builder") });
    parts
}

fn extra_fields() -> Vec<Part> {
    let fields = &[
        ("X-Trace", "a; b=\"c\", d: e"),
        ("Content-Language", "de"),
        ("X-Text", "日本語, é"),
        ("X-Empty", ""),
        ("content-id", "<1@example.org>"),
        ("X-Tab", "a\tb"),
    ];
    one_of_each().into_iter().map(|part| Part { fields, ..part }).collect()
}

fn streamed() -> Vec<Part> {
    let content = Bytes::from(mebibyte()).slice(..10_000);
    let streamed = |with_len, part| Part { written: Written::Streamed { with_len }, ..part };
    vec![
        streamed(true, file("with-length", "audio/ogg", "a.ogg", content.clone())),
        file("in-memory", "audio/ogg", "b.ogg", "between"),
        streamed(false, file("without-length", "audio/ogg", "c.ogg", content)),
        streamed(true, part("empty-with-length", "text/plain; charset=utf-8", "")),
        streamed(false, part("empty", "text/plain; charset=utf-8", "")),
        streamed(false, part("text", "text/plain; charset=utf-8", "line 1\r\n--\r\nline 2\r\n")),
    ]
}

#[test]
fn our_decoder_reads_what_was_sent_acp_enc_4() {
    for Message { case, content_type, body, parts } in messages() {
        let envelope = decode(content_type, body).unwrap();
        assert_eq!(envelope.warnings(), [], "{case}");
        let (control, parts) = parts.split_first().unwrap();
        assert_eq!(envelope.control_name().unwrap(), &"_acp_control", "{case}");
        assert_eq!(envelope.control().raw(), &control.content, "{case}");
        assert_eq!(envelope.parts().len(), parts.len(), "{case}");
        for (read, sent) in envelope.parts().iter().zip(parts) {
            let (head, name) = (read.head(), sent.name());
            assert_eq!(head.name(), &name, "{case}");
            assert_eq!(
                head.media_type().as_bytes(),
                sent.content_type.as_bytes(),
                "{case}, {name}"
            );
            assert_eq!(head.filename().as_deref(), sent.filename, "{case}, {name}");
            let fields = head.extra_fields().map(|field| (field.name, field.value));
            let expected = sent.fields.iter().map(|(name, value)| (*name, value.as_bytes()));
            assert!(fields.eq(expected), "{case}, {name}");
            assert!(read.body() == &sent.content, "{case}, {name}");
        }
    }
}

#[test]
fn multer_reads_what_was_sent_acp_enc_8() {
    for message in messages() {
        for chunk in [message.body.len(), 4096, 7, 1] {
            run(check_with_multer(&message, chunk));
        }
    }
}

async fn check_with_multer(message: &Message, chunk: usize) {
    let Message { case, content_type, body, parts } = message;
    let boundary = multer::parse_boundary(content_type).unwrap();
    let mut multipart = Multipart::new(arriving(body, chunk), boundary);
    for sent in parts {
        let place = format!("{case}, {}, in chunks of {chunk}", sent.name());
        let field = multipart.next_field().await.unwrap();
        let field = field.unwrap_or_else(|| panic!("{place}: not there"));
        assert_eq!(field.name(), Some(sent.name()), "{place}");
        assert_eq!(
            field.file_name(),
            sent.filename.and_then(multer_filename).as_deref(),
            "{place}"
        );
        // The crate `mime`, which multer reads it with, knows no escapes in quoted-strings.
        assert_eq!(field.content_type(), sent.content_type.parse().ok().as_ref(), "{place}");
        let as_sent = field.headers()["content-type"].as_bytes();
        assert_eq!(as_sent, sent.content_type.as_bytes(), "{place}");
        for (name, value) in sent.fields {
            assert_eq!(field.headers()[*name].as_bytes(), value.as_bytes(), "{place}");
        }
        assert!(field.bytes().await.unwrap() == sent.content, "{place}");
    }
    assert!(multipart.next_field().await.unwrap().is_none(), "{case}: parts too many");
}

/// What `multer` gives for a file name: the text between the quotes. It undoes neither `%22`, `%0D`
/// and `%0A` nor `\\`, and takes the quote after a backslash for a part of the name even where that
/// backslash is itself escaped: then it finds no end, and gives no file name.
fn multer_filename(filename: &str) -> Option<String> {
    (!filename.ends_with('\\')).then(|| {
        let percent = filename.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        double_backslashes(&percent)
    })
}

/// A backslash before another one is doubled.
fn double_backslashes(filename: &str) -> String {
    let next = filename.chars().skip(1).map(Some).chain([None]);
    let escaped =
        |(c, next)| if (c, next) == ('\\', Some('\\')) { "\\\\".into() } else { String::from(c) };
    filename.chars().zip(next).map(escaped).collect()
}

/// `tests/interop/run` asks for the messages as files, and has parsers of other languages read them.
#[test]
fn messages_are_written_for_other_readers_acp_enc_8() {
    let Some(folder) = env::var_os("ACP_INTEROP_DIR") else { return };
    let folder = Path::new(&folder);
    let mut index = Vec::new();
    for Message { case, content_type, body, parts } in messages() {
        fs::write(folder.join(format!("{case}.body")), &body).unwrap();
        let parts: Vec<_> = parts.iter().map(as_json).collect();
        index.push(json!({ "case": case, "content_type": content_type, "parts": parts }));
    }
    let index = serde_json::to_string_pretty(&index).unwrap();
    fs::write(folder.join("index.json"), index).unwrap();
}

fn as_json(part: &Part) -> Value {
    json!({
        "name": part.name(),
        "content_type": part.content_type,
        "filename": part.filename,
        "len": part.content.len(),
        "sha256": hex::encode(Sha256::digest(&part.content)),
    })
}
