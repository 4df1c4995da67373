//! Work grows with the message and no faster, whatever the sender does (ACP-FRM-7, ACP-LIM): the
//! instructions that are executed are counted, for n, 2n and 4n bytes of something that a careless
//! reader would look at again and again.
//!
//! The program runs itself under valgrind, so it has a main function of its own. Where there is no
//! valgrind it says so, and nothing is checked.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::{
    env,
    fmt::Write as _,
    fs,
    process::{Command, ExitCode},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use acp_envelope::{
    Config, Control, EnvelopeBuilder, EnvelopeDecoder, EnvelopeEncoder, Limits, NewPart, Status,
    syntax::Boundary,
};
use bytes::Bytes;
use fixture::{JSON, MULTIPART, control, message, message_of, part, reference};

/// Bytes of the smallest message.
const N: usize = 32 << 10;

/// Twice as much more costs twice as much more. What is above that is for tables and buffers that
/// double; quadratic work would cost four times as much.
const MOST: f64 = 3.0;

/// Instructions a byte that are not looked at: hashes are seeded anew in every run.
const NOISE: f64 = 1.0;

/// What is done with the bytes.
#[derive(Clone, Copy)]
enum Work {
    Decode(&'static str),
    /// They are the content of a part, which is written as it comes.
    Encode,
}

struct Case {
    name: &'static str,
    work: Work,
    make: fn(usize) -> String,
}

fn in_body(unit: &str, n: usize) -> String {
    message_of(&[("p", &unit.repeat(n / unit.len()))])
}

/// `item(0)`, `item(1)`, … with commas between them, of about `n` bytes.
fn items(n: usize, item: impl Fn(usize) -> String) -> String {
    let mut text = item(0);
    for i in 1.. {
        if text.len() >= n {
            break;
        }
        write!(text, ",{}", item(i)).expect("a String takes everything");
    }
    text
}

const CASES: &[Case] = &[
    body("text", |n| in_body("x", n)),
    body("CR", |n| in_body("\r", n)),
    body("CRLF", |n| in_body("\r\n", n)),
    body("delimiters but for a byte", |n| in_body("\r\n--x\r\n-", n)),
    body("preamble of delimiters but for a byte", |n| "\r\n--x".repeat(n / 5)),
    body("endless epilogue", |n| message([control("1")]) + &"--b\r\n".repeat(n / 5)),
    body("endless field value", |n| format!("--b\r\nX: {}", "x".repeat(n))),
    body("endless field name", |n| format!("--b\r\n{}", "x".repeat(n))),
    body("endless fields", |n| format!("--b\r\n{}", "A:\r\n".repeat(n / 4))),
    body("endless parameters", |n| {
        let parameters: String = (0..n / 10).map(|i| format!(";p{i:05x}=1")).collect();
        message([control("1"), part("p", "").replace("name=\"p\"", &format!("name=p{parameters}"))])
    }),
    body("parts of one name each", |n| {
        let parts = (0..n / 80).map(|i| part(&format!("p{i}"), ""));
        message([control("1")].into_iter().chain(parts))
    }),
    body("parts and their references", |n| {
        let names: Vec<_> = (0..n / 100).map(|i| format!("p{i}")).collect();
        message_of(&names.iter().map(|name| (name.as_str(), "")).collect::<Vec<_>>())
    }),
    json("nested arrays", |n| format!("[{}]", items(n, |_| "[".repeat(99) + &"]".repeat(99)))),
    json("short members", |n| format!("{{{}}}", items(n, |i| format!("\"{i:05x}\":0")))),
    json("members of one name", |n| format!("{{{}}}", items(n, |_| "\"a\":0".into()))),
    json("references", |n| format!("[{}]", items(n, |i| reference(&format!("{i:05x}"))))),
    json("references in many arrays", |n| {
        format!("[{}]", items(n, |_| "[".repeat(90) + &reference("a") + &"]".repeat(90)))
    }),
    json("references under a long name", |n| {
        format!("{{\"{}\":[{}]}}", "k".repeat(n / 2), items(n / 2, |_| reference("a")))
    }),
    json("escapes", |n| format!("\"{}\"", "\\n".repeat(n / 2))),
    json("an unfinished string", |n| format!("\"{}", "\\u0061".repeat(n / 6))),
    Case { name: "written: text", work: Work::Encode, make: |n| "x".repeat(n) },
    Case { name: "written: line ends", work: Work::Encode, make: |n| "\r\n".repeat(n / 2) },
    Case {
        name: "written: boundary but for a byte",
        work: Work::Encode,
        make: |n| "\r\n--x".repeat(n / 5),
    },
];

const fn body(name: &'static str, make: fn(usize) -> String) -> Case {
    Case { name, work: Work::Decode(MULTIPART), make }
}

const fn json(name: &'static str, make: fn(usize) -> String) -> Case {
    Case { name, work: Work::Decode(JSON), make }
}

fn main() -> ExitCode {
    if let Ok(file) = env::var("ACP_WORK_FILE") {
        run(&file);
        return ExitCode::SUCCESS;
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("skipped: there is no valgrind here");
        return ExitCode::SUCCESS;
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(case) = CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    for size in [1, 4 << 10] {
                        failed.fetch_add(usize::from(!is_linear(case, size)), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    match failed.into_inner() {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Measures and prints one case in pieces of `size`.
fn is_linear(case: &Case, size: usize) -> bool {
    let [a, b, c] = [1, 2, 4].map(|times| instructions(case, times * N, size));
    let (first, second) = (b - a, c - b);
    let is_linear = second <= MOST * first + NOISE * N as f64;
    let verdict = if is_linear { "ok" } else { "FAILED" };
    let (growth, each) = (second / first, second / (2 * N) as f64);
    println!("{verdict:6} {growth:5.2}  {each:7.2} a byte  {} in pieces of {size}", case.name);
    is_linear
}

/// What a run of this program on a message of `n` bytes executes.
fn instructions(case: &Case, n: usize, size: usize) -> f64 {
    let name = format!("acp-work-{}-{:?}", std::process::id(), thread::current().id());
    let file = env::temp_dir().join(name);
    fs::write(&file, (case.make)(n)).expect("the message can be written");
    let content_type = match case.work {
        Work::Decode(content_type) => content_type,
        Work::Encode => "",
    };
    let program = env::current_exe().expect("this program is a file");
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(program)
        .env("ACP_WORK_FILE", &file)
        .env("ACP_WORK_TYPE", content_type)
        .env("ACP_WORK_SIZE", size.to_string())
        .output()
        .expect("valgrind can be run");
    fs::remove_file(&file).expect("the message was written");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", case.name);
    let line = said.lines().find(|line| line.contains("refs:")).expect("it says how many");
    let digits: String = line.rsplit(':').next().into_iter().flat_map(str::chars).collect();
    digits.trim().replace(',', "").parse().expect("a number")
}

/// In the child: the work itself.
fn run(file: &str) {
    let variable = |name: &str| env::var(name).expect("the parent has set it");
    let size = variable("ACP_WORK_SIZE").parse().expect("a number");
    let body = Bytes::from(fs::read(file).expect("the parent has written it"));
    let chunks = (0..body.len()).step_by(size).map(|at| body.slice(at..body.len().min(at + size)));
    match variable("ACP_WORK_TYPE").as_str() {
        "" => encode(chunks),
        content_type => decode(content_type, chunks),
    }
}

fn decode(content_type: &str, mut chunks: impl Iterator<Item = Bytes>) {
    let limits = Limits::unbounded_for_trusted_input();
    let config = Config::new().limits(limits).allow_duplicate_members(true);
    let mut decoder = EnvelopeDecoder::new(content_type, config).expect("a Content-Type");
    let mut input = Bytes::new();
    loop {
        match decoder.next_item(&mut input) {
            Ok(Status::NeedInput) => match chunks.next() {
                Some(chunk) => input = chunk,
                None => decoder.finish(),
            },
            Ok(Status::Item(_)) => {}
            _ => return,
        }
    }
}

fn encode(mut chunks: impl Iterator<Item = Bytes>) {
    let mut message = EnvelopeBuilder::new().boundary(Boundary::new(b"b").expect("a boundary"));
    message.add(NewPart::streamed("image/png", None).name("p")).expect("a part");
    let control = Control::from_text("{\"$ref\":\"p\"}").expect("a document");
    let mut encoder: EnvelopeEncoder = message.build(&control).expect("a message");
    let mut content = Bytes::new();
    while let Ok(status) = encoder.next_segment(&mut content) {
        match status {
            Status::NeedInput => match chunks.next() {
                Some(chunk) => content = chunk,
                None => encoder.finish_part(),
            },
            Status::End => return,
            _ => {}
        }
    }
}
