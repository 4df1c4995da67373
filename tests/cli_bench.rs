//! `acp bench`, run as its users run it: rows as a table and as JSON, the shape of the message, real
//! messages, several threads, and what is refused. No test looks at how fast anything is.
#![cfg(feature = "cli")]

mod support;

use std::fs;

use serde_json::Value;
use support::command::{folder, run};

const ROWS: [&str; 7] = ["parser", "decoder", "stream", "encode", "sha256", "base64", "read limit"];
const QUICK: [&str; 5] = ["bench", "--sample-ms", "1", "--rounds", "4"];
const SMALL: [&str; 4] = ["--parts", "3", "--part-size", "2KiB"];

/// The JSON of a run with few rounds.
fn quick(flags: &[&str]) -> Value {
    let (status, out, error) = run(&[&QUICK[..], &["--json"], flags].concat());
    assert_eq!(status, 0, "{flags:?}: {error}");
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

fn names(results: &Value) -> Vec<&str> {
    results["rows"].as_array().unwrap().iter().map(|row| row["row"].as_str().unwrap()).collect()
}

fn is_positive(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number > 0.0 && number.is_finite())
}

#[test]
fn json_has_every_row_with_positive_numbers() {
    let results = quick(&SMALL);
    assert_eq!(names(&results), ROWS);
    for row in results["rows"].as_array().unwrap() {
        for number in ["gb_per_s", "ns_per_message", "ratio_to_read_limit"] {
            assert!(is_positive(&row[number]), "{row}");
        }
        assert!(row["noise_percent"].as_f64().unwrap() >= 0.0, "{row}");
    }
    assert_eq!(results["rows"][6]["ratio_to_read_limit"], 1.0);
    assert_eq!((&results["rounds"], &results["scaling"]), (&4.into(), &Value::Null));
    assert_eq!(results["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(results["machine"]["arch"], std::env::consts::ARCH);
    assert!(results["noise_percent"].is_number());
}

#[test]
fn a_table_has_every_row_and_a_judgement_of_the_noise() {
    let (status, out, _) = run(&[&QUICK[..], &SMALL].concat());
    assert_eq!(status, 0);
    for row in ROWS {
        assert!(out.contains(&format!("│ {row} ")), "{row}: {out}");
    }
    assert!(out.contains("3 parts") && out.contains("3 references"), "{out}");
    assert!(out.lines().last().unwrap().starts_with("noise: up to ±"), "{out}");
}

#[test]
fn a_single_round_says_nothing_of_the_noise() {
    let (_, out, _) = run(&[&["bench", "--sample-ms", "1", "--rounds", "1"], &SMALL[..]].concat());
    assert!(out.ends_with("noise: not known from so few rounds (1)\n"), "{out}");
}

#[test]
fn the_message_has_the_shape_that_is_asked_for() {
    let shape = |flags: &[&str]| quick(flags)["message"].clone();
    let number = |message: &Value, member: &str| message[member].as_u64().unwrap();

    let message = shape(&SMALL);
    assert_eq!((number(&message, "parts"), number(&message, "references")), (3, 3));
    assert_eq!((&message["form"], number(&message, "chunk_bytes")), (&"multipart".into(), 65536));
    assert!((2048..2200).contains(&number(&message, "control_bytes")), "{message}");

    for (parts, references) in [("5", "2"), ("2", "7"), ("70", "0"), ("0", "0")] {
        let message = shape(&["--parts", parts, "--refs", references, "--part-size", "9B"]);
        let found = [number(&message, "parts"), number(&message, "references")];
        assert_eq!(found.map(|n| n.to_string()), [parts, references]);
    }

    let control =
        |size| number(&shape(&[&SMALL[..], &["--control-size", size]].concat()), "control_bytes");
    assert!((20_000..20_200).contains(&control("20kB")));
    assert!(control("0B") < 400);

    let large = shape(&["--parts", "2", "--part-size", "100KiB", "--chunk", "1000B"]);
    assert_eq!(number(&large, "chunk_bytes"), 1000);
    assert!((204_800 + 2048..204_800 + 4096).contains(&number(&large, "bytes")));
}

#[test]
fn chunks_may_be_single_bytes() {
    let results = quick(&["--parts", "2", "--part-size", "100B", "--chunk", "1B"]);
    assert_eq!(names(&results), ROWS);
}

#[test]
fn a_message_without_content_has_nothing_to_hash() {
    for flags in [["--parts", "0", "--refs", "0"], ["--parts", "2", "--part-size", "0B"]] {
        assert_eq!(
            names(&quick(&flags)),
            ["parser", "decoder", "stream", "encode", "read limit"],
            "{flags:?}"
        );
    }
}

#[test]
fn a_real_message_is_measured() {
    let results = quick(&["--file", "testdata/captures/curl/acp.http"]);
    let message = serde_json::json!({
        "form": "multipart", "bytes": 3128, "parts": 2, "control_bytes": 179, "references": 2,
        "chunk_bytes": 65536,
    });
    assert_eq!((&results["message"], names(&results)), (&message, ROWS.to_vec()));
}

#[test]
fn every_valid_capture_is_read_alike_by_all_rows() {
    let captures = support::cases::captures();
    let valid = captures.iter().filter(|case| case.expect["error"].is_null());
    // One of each client would take a while.
    for case in valid.step_by(10) {
        let path = format!("testdata/captures/{}", case.id);
        let (status, _, error) =
            run(&["bench", "--rounds", "1", "--sample-ms", "1", "--json", "--file", &path]);
        assert_eq!(status, 0, "{path}: {error}");
    }
}

#[test]
fn the_json_form_is_measured_without_the_parser() {
    let path = folder("cli-bench-json").join("message.json");
    fs::write(&path, "{\"id\":7,\"text\":\"hello\"}").unwrap();
    let results = quick(&["--file", path.to_str().unwrap(), "--content-type", "application/json"]);
    assert_eq!(names(&results), ["decoder", "stream", "encode", "read limit"]);
    assert_eq!(results["message"]["form"], "json");
}

#[test]
fn a_file_that_is_refused_fails_as_in_check() {
    for (file, flags) in [
        ("testdata/captures/curl/dup-name.http", &[][..]),
        ("testdata/captures/curl/large.http", &["--strict"]),
        ("README.md", &[]),
        ("no/such/file", &[]),
    ] {
        for json in [&[][..], &["--json"]] {
            let check = run(&[&["check"], json, flags, &[file]].concat());
            assert_ne!(check.0, 0);
            assert_eq!(run(&[&["bench", "--file", file], json, flags].concat()), check);
        }
    }
}

#[test]
fn threads_are_a_row_of_their_own() {
    let flags = [&SMALL[..], &["--threads", "2"]].concat();
    let results = quick(&flags);
    assert_eq!((names(&results), &results["scaling"]["threads"]), (ROWS.to_vec(), &2.into()));
    assert!(
        is_positive(&results["scaling"]["gb_per_s"]) && is_positive(&results["scaling"]["factor"])
    );
    let (_, out, _) = run(&[&QUICK[..], &flags].concat());
    assert!(out.contains("│ decoder, 2 threads ") && out.contains("2 threads decode "), "{out}");
}

#[test]
fn what_cannot_be_measured_is_refused_with_a_reason() {
    for (flags, reason) in [
        (&["--parts", "0", "--refs", "1"][..], "--refs: there are no parts to refer to"),
        (&["--chunk", "0"], "a chunk holds one byte at least"),
        (&["--chunk", "x"], "--chunk"),
        (&["--rounds", "0"], "--rounds"),
        (&["--threads", "0"], "--threads"),
        (&["--sample-ms", "0"], "--sample-ms"),
        (&["--part-size", "16EiB"], "--parts and --part-size"),
        (&["--part-size", "1EiB", "--parts", "16"], "--parts and --part-size: that is too large"),
        (&["--refs", "1", "--strict"], "unreferenced_part: part 2 \"part-2\""),
        (&["--file", "x", "--parts", "1"], "cannot be used with"),
        (&["--file", "-"], "give a file"),
        (&["--content-type", "application/json"], "how a --file is read"),
    ] {
        let (status, out, error) = run(&[&["bench"], flags].concat());
        assert_eq!((status, out.as_str()), (2, ""), "{flags:?}");
        assert!(error.contains(reason), "{flags:?}: {error}");
    }
}

#[test]
fn a_debug_build_says_that_its_numbers_mean_nothing() {
    let (_, out, error) = run(&[&QUICK[..], &["--json"], &SMALL].concat());
    let results: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(results["debug_build"], cfg!(debug_assertions));
    assert_eq!(error.contains("debug build"), cfg!(debug_assertions), "{error}");
}
