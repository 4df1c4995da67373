//! Generated messages: valid ones, and valid ones that were damaged.

use std::fmt;

use proptest::{collection::vec, option, prelude::*, sample::select, test_runner::Config};

/// A message as a carrier hands it over.
#[derive(Clone)]
pub struct Generated {
    pub content_type: Vec<u8>,
    pub body: Vec<u8>,
}

impl fmt::Debug for Generated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.content_type.escape_ascii(), self.body.escape_ascii())
    }
}

/// How many messages each property is tried on.
pub fn cases() -> Config {
    let cases = std::env::var("ACP_PROPERTY_CASES");
    let cases = cases.map_or(4000, |cases| cases.parse().expect("a number"));
    Config { failure_persistence: None, ..Config::with_cases(cases) }
}

const BOUNDARIES: [&str; 5] = ["b", "-", "b:x", "AaB03x", "--edge-(1)+'2',./:=?_"];
const NAMES: [&str; 6] = ["a", "b", "img-1", "_acp_control", "A", "x.y_z"];

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => select(vec!["1", "-0.5e2", "true", "null", "\"t\"", "\"$ref\"", "\"\\u0041\"", "\"\\\\ux\"", "\"\\ud83d\\ude00\\\\\"", "\"é\"", "[]", "{}"])
            .prop_map(str::to_owned),
        3 => select(NAMES.to_vec()).prop_map(|name| format!("{{\"$ref\":\"{name}\"}}")),
        1 => select(vec![
            "{\"$ref\":1}", "{\"$ref\":\"a/b\"}", "{\"$ref\":\"a\",\"t\":1}", "{\"t\":[],\"$ref\":\"a\"}",
            "{\"\\u0024ref\":\"a\"}", "{\"$ref\":{\"$ref\":\"b\"}}", "{\"k\":1,\"k\":2}", "{\"$ref\":\"a\",\"$ref\":\"a\"}", "{\"$serde_json::private::Number\":\"1e999\"}",
            "1e999", "[1,]", "{\"a\" 1}", "\"\\ud800\"", "012", "tru", "\"a\nb\"", "nul", "{\"a\":1,}", "\"",
        ]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let member = (select(vec!["k", "l/m", "n~", "ö", "\\u006b", "\\\"q"]), inner.clone());
        prop_oneof![
            vec(inner, 0..4).prop_map(|values| format!("[{}]", values.join(" , "))),
            vec(member, 0..3).prop_map(|members| {
                let members: Vec<_> = members.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
                format!("{{\n{}}}", members.join(",\r\n"))
            }),
        ]
    })
}

/// Content that looks like framing.
pub fn content(boundary: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let cut = boundary.len() - 1;
    let pieces = vec![
        b"\r".to_vec(),
        b"\n".to_vec(),
        b"\r\n".to_vec(),
        b"-".to_vec(),
        b"--".to_vec(),
        b"x".to_vec(),
        b"\r\n--".to_vec(),
        b"\0\xff".to_vec(),
        boundary.as_bytes().to_vec(),
        [b"\r\n--", &boundary.as_bytes()[..cut]].concat(),
        [b"--", boundary.as_bytes()].concat(),
    ];
    vec(select(pieces), 0..8).prop_map(|pieces| pieces.concat())
}

/// A header block of a content part.
fn content_head() -> impl Strategy<Value = String> {
    let disposition = prop_oneof![
        8 => (select(NAMES.to_vec()), option::of(select(vec![
            "f.txt", "\\\"q\\\"", "%22", "C:\\\\a", "日本", "",
        ]))).prop_map(|(name, file)| {
            let file = file.map_or_else(String::new, |file| format!("; filename=\"{file}\""));
            format!("Content-Disposition: form-data; name=\"{name}\"{file}\r\n")
        }),
        1 => select(vec![
            "", "content-disposition:form-data;name=a;\r\n", "Content-Disposition: form-data\r\n",
            "Content-Disposition: attachment; name=\"a\"\r\n", "Content-Disposition: form-data; name*=utf-8''a\r\n",
            "Content-Disposition: form-data; name=\"a b\"\r\n", "Content-Disposition: form-data; name=\"\"\r\n",
            "Content-Disposition: form-data; name=\"a\"; name=\"b\"\r\n",
            "Content-Disposition: form-data; name=\"a\"; filename*=utf-8''%e2%82%ac\r\n",
            "Content-Disposition: form-data; name=\"a\r\n",
        ]).prop_map(str::to_owned),
    ];
    let media_type = select(vec![
        "Content-Type: image/png\r\n",
        "Content-Type: application/pdf\r\n",
        "Content-Type: text/plain; charset=utf-8\r\n",
        "Content-Type: text/plain\r\n",
        "Content-Type:text/csv;x=\"a;b\"\t\r\n",
        "",
        "Content-Type: application/json\r\n",
        "Content-Type: multipart/mixed; boundary=q\r\n",
        "Content-Type: text\r\n",
        "Content-Type: a/b; c=1; C=2\r\n",
    ]);
    let other = select(vec![
        "",
        "",
        "",
        "X-A: b\r\n",
        "Content-Transfer-Encoding: BINARY\r\n",
        "Content-Transfer-Encoding: base64\r\n",
        "Content-Type: a/b\r\n",
        "X: \u{7f}\r\n",
        " folded\r\n",
        "X : y\r\n",
        "--b: x\r\n",
        "--AaB03x: x\r\n",
        "X: y\n",
    ]);
    (disposition, media_type, other, 0..6usize).prop_map(|(d, m, o, order)| {
        let [x, y, z] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]][order];
        let lines = [d.as_str(), m, o];
        [lines[x], lines[y], lines[z]].concat()
    })
}

fn control_head() -> impl Strategy<Value = String> {
    let media_type = prop_oneof![
        8 => Just("Content-Type: application/json\r\n"),
        1 => select(vec![
            "Content-Type: Application/JSON; charset=\"UTF-8\"\r\n", "", "Content-Type: text/plain\r\n",
            "Content-Type: application/json; charset=utf-7\r\n", "Content-Type: application/json; charset=latin1\r\n",
        ]),
    ];
    let disposition = prop_oneof![
        6 => Just("Content-Disposition: form-data; name=\"_acp_control\"\r\n"),
        1 => select(vec!["", "Content-Disposition: form-data; name=a\r\n", "Content-Disposition: form-data\r\n"]),
    ];
    (disposition, media_type, any::<bool>())
        .prop_map(|(d, m, swap)| if swap { [m, d].concat() } else { [d, m].concat() })
}

/// A message in multipart form: mostly valid, often wrong in one place.
fn multipart() -> impl Strategy<Value = Generated> {
    select(BOUNDARIES.to_vec()).prop_flat_map(|boundary| {
        let line_end =
            select(vec!["\r\n", "\r\n", "\r\n", "\r\n", " \t\r\n", "\n", "\r\r\n", "-\r\n"]);
        let part = (line_end, content_head(), content(boundary));
        let preamble = select(vec!["", "", "", "\r\n", "\r\n\r\n", "text\r\n", "--\r\n", "\r"]);
        let tail = select(vec![
            "--\r\n",
            "--",
            "--\r\n\r\n",
            "-- \t\r\n",
            "--\r\ntext",
            "--\r",
            "-",
            "--x",
            "--\r\n\r",
        ]);
        (preamble, control_head(), json(), vec(part, 0..4), tail).prop_map(
            move |(preamble, head, json, parts, tail)| {
                let mut body = format!("{preamble}--{boundary}\r\n{head}\r\n{json}").into_bytes();
                for (line_end, head, content) in parts {
                    body.extend(format!("\r\n--{boundary}{line_end}{head}\r\n").as_bytes());
                    body.extend(content);
                }
                body.extend(format!("\r\n--{boundary}{tail}").as_bytes());
                let content_type =
                    format!("multipart/form-data; boundary=\"{boundary}\"").into_bytes();
                Generated { content_type, body }
            },
        )
    })
}

fn json_form() -> impl Strategy<Value = Generated> {
    let content_type = select(vec![
        "application/json",
        " Application/json ; charset=utf-8",
        "application/json;charset=utf-16le",
        " application/json; charset=nope",
        "application/json; a=b; boundary=x; boundary=y",
        "text/json",
        "application/json;",
        "application/json; x",
        "multipart/form-data",
        "multipart/form-data; boundary=\"a\\b\"",
    ]);
    (content_type, json()).prop_map(|(content_type, json)| Generated {
        content_type: content_type.as_bytes().to_vec(),
        body: json.into_bytes(),
    })
}

/// One damage to a message, at a place that is a share of its length.
#[derive(Debug, Clone)]
enum Damage {
    Truncate(f64),
    Delete(f64, usize),
    Insert(f64, &'static [u8]),
    Swap(f64, f64),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = 0.0..1.0;
    let inserted: Vec<&[u8]> = vec![
        b"\r", b"\n", b"\r\n", b"-", b"--", b" ", b"\t", b"\0", b"\xff", b"\"", b";", b"\r\n--b",
    ];
    prop_oneof![
        at.clone().prop_map(Damage::Truncate),
        (at.clone(), 1..4usize).prop_map(|(at, n)| Damage::Delete(at, n)),
        (at.clone(), select(inserted)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        (at.clone(), at).prop_map(|(a, b)| Damage::Swap(a, b)),
    ]
}

fn apply(body: &mut Vec<u8>, damage: &Damage) {
    let index = |share: f64| (share * body.len() as f64) as usize;
    match *damage {
        Damage::Truncate(at) => body.truncate(index(at)),
        Damage::Delete(at, n) => {
            let at = index(at);
            body.drain(at..(at + n).min(body.len()));
        }
        Damage::Insert(at, bytes) => {
            let at = index(at);
            body.splice(at..at, bytes.iter().copied());
        }
        Damage::Swap(a, b) if !body.is_empty() => {
            let (a, b) = (index(a), index(b));
            body.swap(a, b);
        }
        Damage::Swap(..) => {}
    }
}

/// Any message: both forms, undamaged or damaged.
pub fn message() -> impl Strategy<Value = Generated> {
    damaged(prop_oneof![8 => multipart().boxed(), 1 => json_form().boxed()])
}

/// One of these messages, undamaged or damaged.
pub fn damaged(message: impl Strategy<Value = Generated>) -> impl Strategy<Value = Generated> {
    (message, vec(damage(), 0..3)).prop_map(|(mut message, damages)| {
        damages.iter().for_each(|damage| apply(&mut message.body, damage));
        message
    })
}
