//! Memory stays within what [`Limits`] documents, whatever the sender does (ACP-LIM-1…9). Counted, not
//! estimated. What the same inputs cost in work is counted in `benches/work.rs`.

mod fixture;

use acp_envelope::{Config, EnvelopeDecoder, Limits, Status, Warning};
use allocation_counter::measure;
use bytes::Bytes;
use fixture::{JSON, MULTIPART, control, message, message_of, reference};

const MIB: usize = 1 << 20;

/// What a decoder needs whatever comes: itself, the search for the delimiter, the way through a
/// document of the deepest nesting, a few warnings.
const FIXED: u64 = 16 << 10;

/// A document or a header block that comes in pieces is appended to a buffer that doubles...
const GROWN: u64 = 2;
/// ...and that stands beside its old self while it does.
const GROWING: u64 = 3;

/// The places of references, in sizes of the document.
const REFERENCES: u64 = 4;
/// The text of a document that is not UTF-8, in sizes of the document.
const TEXT: u64 = 3;
/// What judging a document needs beside its text, in sizes of the document.
const JUDGING: u64 = 13;

struct Outcome {
    code: &'static str,
    /// The most that was in use at once.
    peak: u64,
    /// What the decoder has at the end.
    kept: u64,
    allocations: u64,
    calls: u64,
}

/// Decodes what comes in `chunks`, and drops every item at once.
fn run(content_type: &str, chunks: impl IntoIterator<Item = Bytes>, config: Config) -> Outcome {
    // What the library sets up once is not a message's.
    acp_envelope::decode(JSON, "{}").expect("a message");
    let mut chunks = chunks.into_iter();
    let (mut code, mut calls, mut decoder) = ("ok", 0, None);
    let used = measure(|| {
        let decoder =
            decoder.insert(EnvelopeDecoder::new(content_type, config).expect("a Content-Type"));
        let mut input = Bytes::new();
        loop {
            calls += 1;
            match decoder.next_item(&mut input) {
                Ok(Status::NeedInput) => match chunks.next() {
                    Some(chunk) => input = chunk,
                    None => decoder.finish(),
                },
                Ok(Status::End) => break,
                Ok(_) => {}
                Err(error) => {
                    code = error.code();
                    break;
                }
            }
        }
    });
    let freed = measure(|| drop(decoder.take()));
    let kept = freed.bytes_current.unsigned_abs();
    Outcome { code, peak: used.bytes_max, kept, allocations: used.count_total, calls }
}

/// `body` in pieces of one size, whose buffer is not the decoder's and does not count.
fn pieces(body: &Bytes, size: usize) -> impl Iterator<Item = Bytes> {
    (0..body.len()).step_by(size).map(move |at| body.slice(at..body.len().min(at + size)))
}

/// A buffer that can be shared without an allocation.
fn shared(body: impl Into<Vec<u8>>) -> Bytes {
    let body = Bytes::from(body.into());
    drop(body.clone());
    body
}

#[test]
fn framing_of_any_kind_is_not_kept_acp_lim_3() {
    const N: usize = MIB / 4;
    let in_body = |content: String| {
        format!(
            "--b\r\n{}\r\n--b\r\nContent-Disposition: form-data; name=p\r\n\r\n{content}",
            control("1")
        )
    };
    for (what, body) in [
        ("endless preamble", "x".repeat(N)),
        ("preamble of near-delimiters", "\r\n--x".repeat(N / 5)),
        ("endless epilogue", message([control("1")]) + &"x".repeat(N)),
        ("epilogue of delimiters", message([control("1")]) + &"--b\r\n".repeat(N / 5)),
        ("body of near-delimiters", in_body("\r\n--x".repeat(N / 5))),
        ("body of shorter near-delimiters", in_body("\r\n-".repeat(N / 3))),
        ("body of CR", in_body("\r".repeat(N))),
        ("body of CRLF", in_body("\r\n".repeat(N / 2))),
        ("body of dashes", in_body("-".repeat(N))),
    ] {
        let body = shared(body);
        for size in [1, 64 << 10, body.len()] {
            let outcome = run(MULTIPART, pieces(&body, size), Config::new());
            assert!(outcome.peak < 4 << 10, "{what} in pieces of {size}: {}", outcome.peak);
        }
    }
}

#[test]
fn one_header_block_is_kept_at_most_acp_lim_7() {
    let limit = Limits::new().max_header_bytes;
    let line =
        |n: usize| format!("Content-Disposition: form-data; name=p\r\nX: {}\r\n", "x".repeat(n));
    let longest = line(limit - line(0).len());
    assert_eq!(longest.len(), limit);
    let fields = "A:\r\n".repeat(15) + "Content-Type: application/json\r\n";
    for (what, code, body) in [
        (
            "endless field value",
            "limit_header_size",
            format!("--b\r\nX: {}", "x".repeat(16 * limit)),
        ),
        ("endless field name", "limit_header_size", format!("--b\r\n{}", "x".repeat(16 * limit))),
        ("endless fields", "limit_headers", format!("--b\r\n{}", "A:\r\n".repeat(limit))),
        ("the longest block", "ok", message([control("1"), longest.clone() + "\r\n"])),
        (
            "ten of them",
            "name_duplicate",
            message([control("1")].into_iter().chain(vec![longest + "\r\n"; 10])),
        ),
        ("the most fields", "ok", message([fields + "\r\n1"])),
    ] {
        let body = shared(body);
        for size in [1, 1000, body.len()] {
            let outcome = run(MULTIPART, pieces(&body, size), Config::new());
            assert_eq!(outcome.code, code, "{what}");
            let kept = GROWN * limit as u64 + FIXED;
            assert!(outcome.kept <= kept, "{what} in pieces of {size}: keeps {}", outcome.kept);
            let peak = GROWING * limit as u64 + FIXED;
            assert!(outcome.peak <= peak, "{what} in pieces of {size}: {}", outcome.peak);
        }
    }
}

#[test]
fn names_and_two_warnings_are_kept_of_each_part_acp_lim_1() {
    let name = |n: usize| format!("{}{n:03}", "n".repeat(253));
    let part = |n| format!("Content-Disposition: form-data; name={}\r\n\r\nx", name(n));
    let body = shared(message([control("1")].into_iter().chain((0..64).map(part))));
    // The name, its place in a set, and warnings in a list that doubles.
    let of_a_part = 256 + 64 + GROWN * 2 * size_of::<Warning>() as u64;
    for size in [1, body.len()] {
        let outcome = run(MULTIPART, pieces(&body, size), Config::new());
        assert_eq!(outcome.code, "ok");
        assert!(outcome.kept <= 64 * of_a_part, "{} in pieces of {size}", outcome.kept);
    }
}

#[test]
fn the_peak_does_not_grow_with_the_body_acp_lim_2() {
    let peak = |n: usize, size: usize| {
        let body = shared(message_of(&[("p", &"x".repeat(n))]));
        let outcome = run(MULTIPART, pieces(&body, size), Config::new());
        assert_eq!(outcome.code, "ok");
        (outcome.peak, outcome.allocations)
    };
    assert_eq!(peak(MIB, 64 << 10), peak(8 * MIB, 64 << 10));
    assert_eq!(peak(MIB / 8, 1), peak(MIB, 1));
}

/// A document of about `n` bytes: `open`, then items with commas between them, then `close`.
fn document(open: &str, item: impl Fn(usize) -> String, close: &str, n: usize) -> String {
    let mut text = open.to_owned() + &item(0);
    for i in 1.. {
        let item = item(i);
        if text.len() + item.len() + close.len() + 1 > n {
            break;
        }
        text.push(',');
        text.push_str(&item);
    }
    text + close
}

/// The `n`th name of that length, in the order of their bytes, which is the worst for a tree.
fn name(mut n: usize, length: usize) -> String {
    const ALPHABET: &[u8] = b"-.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
    let mut name = vec![0; length];
    for byte in name.iter_mut().rev() {
        *byte = ALPHABET[n % ALPHABET.len()];
        n /= ALPHABET.len();
    }
    assert_eq!(n, 0, "there are no more names");
    String::from_utf8(name).unwrap()
}

/// Compares with what is documented; `text_times` says how many sizes of the document its text may
/// have.
fn check_document(what: &str, content_type: &str, text: Vec<u8>, text_times: u64, config: Config) {
    let n = text.len() as u64;
    let config = config.limits(Limits::new().max_json_bytes(text.len().max(MIB)));
    let text = shared(text);
    // Whole, as it mostly comes, and in the two pieces that make the buffer largest.
    let cuts: [Vec<Bytes>; 3] = [
        vec![text.clone()],
        pieces(&text, 64 << 10).collect(),
        vec![text.slice(..text.len() - 1), text.slice(text.len() - 1..)],
    ];
    for (cut, buffers) in cuts.into_iter().zip([0, GROWN, GROWN]) {
        let outcome = run(content_type, cut, config);
        let ends = ["ok", "ref_unresolved"];
        assert!(ends.contains(&outcome.code), "{what}: {}", outcome.code);
        let kept = (buffers + text_times + REFERENCES) * n + FIXED;
        let times = |bytes: u64| bytes as f64 / n as f64;
        assert!(outcome.kept <= kept, "{what}: keeps {:.2} sizes", times(outcome.kept));
        let peak = (buffers + text_times + JUDGING) * n + FIXED;
        assert!(outcome.peak <= peak, "{what}: uses {:.2} sizes", times(outcome.peak));
    }
}

fn check_json(what: &str, text: String) {
    check_document(what, JSON, text.into_bytes(), 0, Config::new());
}

#[test]
fn deep_nesting_is_not_kept_acp_lim_9() {
    let arrays = |_| "[".repeat(127) + &"]".repeat(127);
    check_json("arrays", document("[", arrays, "]", MIB));
    let objects = |_| "{\"a\":".repeat(127) + "1" + &"}".repeat(127);
    check_json("objects", document("[", objects, "]", MIB));
}

#[test]
fn references_are_kept_small_acp_lim_5_acp_lim_6() {
    let distinct: Vec<_> = (0..65_000).map(|n| reference(&name(n, 4))).collect();
    check_json("distinct names", format!("[{}]", distinct.join(",")));
    check_json("one name", document("[", |_| reference("a"), "]", MIB));
    check_json(
        "members",
        document("{", |n| format!("\"{}\":{}", name(n, 3), reference("a")), "}", MIB),
    );
}

#[test]
fn a_hundred_thousand_references_are_kept_small_acp_lim_6() {
    for name in ["a", "a-name-of-thirty-two-characters.."] {
        check_json("one name", format!("[{}]", vec![reference(name); 100_000].join(",")));
    }
    let distinct: Vec<_> = (0..100_000).map(|n| reference(&name(n, 4))).collect();
    check_json("distinct names", format!("[{}]", distinct.join(",")));
}

/// One long name above 50,000 references is kept once: spelled out in every pointer it would be 15 GB.
#[test]
fn pointers_are_spelled_out_when_asked_for_acp_lim_5() {
    for long in ["k".repeat(300_000), "\\u0000".repeat(50_000)] {
        let references = vec![reference("a"); 50_000].join(",");
        check_json("a long name", format!("{{\"{long}\":[{references}]}}"));
    }
}

/// The places of references inside many arrays: a bracket pair is two bytes of the document.
#[test]
fn references_inside_nested_arrays_are_kept_small_acp_lim_5_acp_lim_9() {
    let nested = |_| "[".repeat(126) + &reference("a") + &"]".repeat(126);
    // The second size is one at which tables have just doubled.
    for n in [MIB, 550_000] {
        check_json("a reference in 126 arrays", document("[", nested, "]", n));
    }
}

#[test]
fn member_names_are_not_kept_acp_lim_5() {
    let text = document("{", |n| format!("\"{}\":0", name(n, 3)), "}", MIB);
    assert!(text.split(',').count() > 100_000);
    check_json("many short names", text);
    check_json(
        "many escaped names",
        document("{", |n| format!("\"\\n{}\":0", name(n, 3)), "}", MIB),
    );
    let small = |_| document("{", |n| format!("\"{}\":0", name(n, 1)), "}", 24 * 6);
    check_json("many small objects", document("[", small, "]", MIB));
}

/// Objects inside each other, all of them open at once, with many names of one character.
#[test]
fn member_names_of_nested_objects_are_not_kept_acp_lim_5_acp_lim_9() {
    let names: String = (0..31).map(|n| format!("\"{}\":0,", name(n, 1))).collect();
    check_json("open objects", format!("{{{names}\"~\":").repeat(127) + "1" + &"}".repeat(127));
}

#[test]
fn members_given_twice_are_not_kept_acp_lim_5_acp_ctl_5() {
    let twice = |n| format!("\"{0}\":0,\"{0}\":0", name(n, 3));
    let objects = |_| "{\"a\":0,\"a\":{\"b\":0,\"b\":0}}".to_owned();
    for (what, text) in [
        ("one name", document("{", |_| "\"a\":0".to_owned(), "}", MIB)),
        ("one escaped name", document("{", |_| "\"\\u0061\":0".to_owned(), "}", MIB)),
        ("each name twice", document("{", twice, "}", MIB)),
        ("small objects", document("[", objects, "]", MIB)),
    ] {
        let body = shared(text.clone());
        let refused = run(JSON, [body], Config::new());
        assert_eq!(refused.code, "control_malformed", "{what}");
        assert!(refused.peak <= JUDGING * text.len() as u64 + FIXED, "{what}: {}", refused.peak);
        let allowed = Config::new().allow_duplicate_members(true);
        check_document(what, JSON, text.into_bytes(), 0, allowed);
    }
}

#[test]
fn strings_of_escapes_are_not_kept_acp_lim_5() {
    check_json("one string", format!("\"{}\"", "\\n".repeat(MIB / 2 - 1)));
    check_json("one name", format!("{{\"{}\":0}}", "\\ud83d\\ude00".repeat(MIB / 12 - 1)));
    check_json(
        "many strings",
        document("[", |_| format!("\"{}\"", "\\u0061".repeat(20)), "]", MIB),
    );
}

#[test]
fn a_document_in_another_charset_is_kept_with_its_text_acp_lim_5() {
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let charset = |name: &str| format!("{JSON}; charset={name}");
    let names = document("{", |n| format!("\"{}\":0", name(n, 3)), "}", MIB / 2);
    check_document("UTF-16 names", &charset("utf-16le"), utf16(&names), TEXT, Config::new());
    let text = format!("\"{}\"", "€".repeat(MIB / 2 - 2));
    check_document("UTF-16 text", &charset("utf-16le"), utf16(&text), TEXT, Config::new());
    let mut euros = vec![0x80; MIB];
    euros[0] = b'"';
    euros[MIB - 1] = b'"';
    check_document(
        "one byte a character, three in UTF-8",
        &charset("windows-1252"),
        euros,
        TEXT,
        Config::new(),
    );
}

#[test]
fn calls_grow_with_the_bytes_acp_frm_7() {
    for (what, unit) in
        [("x", "x"), ("CR", "\r"), ("CRLF", "\r\n"), ("near-delimiters", "\r\n--x\r\n-")]
    {
        for n in [16 << 10, 32 << 10, 64 << 10] {
            let body = shared(message_of(&[("p", &unit.repeat(n / unit.len()))]));
            let calls = run(MULTIPART, pieces(&body, 1), Config::new()).calls;
            assert!(calls <= 2 * body.len() as u64 + 10, "{what}: {calls} calls for {n} bytes");
        }
    }
}

#[test]
fn allocations_do_not_grow_with_the_chunks_of_a_body_acp_frm_7() {
    for (size, unit) in [(1, "x"), (4096, "x"), (1, "\r"), (7, "\r\n--x"), (4096, "\r\n--")] {
        let allocations = |n: usize| {
            let body = shared(message_of(&[("p", &unit.repeat(n * size / unit.len()))]));
            // The framing is cut in the same way, whatever stands between.
            let (start, end) = (body.len() - "\r\n--b--\r\n".len(), body.len());
            let cut = pieces(&body.slice(..start), size)
                .chain([body.slice(start..end)])
                .collect::<Vec<_>>();
            run(MULTIPART, cut, Config::new()).allocations
        };
        assert_eq!(allocations(50), allocations(1000), "chunks of {size} bytes of {unit:?}");
    }
}
