//! The tables of the README say what the code does.

use std::{collections::BTreeSet, fs};

use acp_envelope::{Limits, WarningCode};

/// The rows of the table under a heading, as cells without back ticks.
fn table(heading: &str) -> Vec<Vec<String>> {
    let readme = fs::read_to_string("README.md").unwrap();
    let section = readme.split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = |row: &str| -> Vec<String> {
        row.trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().trim_matches('`').to_owned())
            .collect()
    };
    rows.map(cells).collect()
}

#[test]
fn limits_are_those_of_the_code() {
    let set = Limits::new();
    let defaults = [
        ("max_parts", set.max_parts as u64),
        ("max_part_bytes", set.max_part_bytes),
        ("max_message_bytes", set.max_message_bytes),
        ("max_boundary_chars", set.max_boundary_chars as u64),
        ("max_control_bytes", set.max_control_bytes as u64),
        ("max_json_bytes", set.max_json_bytes as u64),
        ("max_header_bytes", set.max_header_bytes as u64),
        ("max_headers", set.max_headers as u64),
        ("max_json_depth", set.max_json_depth as u64),
    ];
    let expected: Vec<_> =
        defaults.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let shown: Vec<_> =
        table("Limits").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    assert_eq!(shown, expected);
    let debug = format!("{set:?}");
    assert_eq!(debug.matches("max_").count(), defaults.len(), "a limit is missing: {debug}");
}

#[test]
fn error_codes_are_those_of_the_specification() {
    let codes = fs::read_to_string("testdata/error-codes.txt").unwrap();
    let listed: BTreeSet<_> = codes
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    let mut shown: BTreeSet<_> = table("Errors").into_iter().map(|row| row[0].clone()).collect();
    shown.extend(WarningCode::ALL.map(|code| code.as_str().to_owned()));
    assert_eq!(shown, listed);
}

#[test]
fn codes_of_the_encoder_are_those_of_the_code() {
    let source = fs::read_to_string("src/encode/error.rs").unwrap();
    let code = |line: &str| {
        let code = line.split_once(" => \"")?.1.strip_suffix("\",")?.to_owned();
        code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_').then_some(code)
    };
    let coded: BTreeSet<_> = source.lines().filter_map(code).collect();
    assert!(coded.len() > 3, "{coded:?}");
    let shown: BTreeSet<_> =
        table("What the encoder refuses").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(shown, coded);
}

#[test]
fn codes_of_the_gateway_are_those_of_the_code() {
    let sources =
        ["src/bin/acp/serve", "src/http", "src/stream.rs"].map(|path| match fs::read_dir(path) {
            Err(_) => fs::read_to_string(path).unwrap(),
            Ok(files) => {
                files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
            }
        });
    let shown = table("Run the gateway");
    assert!(shown.len() > 9, "{shown:?}");
    for row in shown {
        let code = format!("\"{}\"", row[0]);
        assert!(sources.iter().any(|source| source.contains(&code)), "no code {code}");
    }
}

#[test]
fn rust_version_is_that_of_the_manifest() {
    let manifest = fs::read_to_string("Cargo.toml").unwrap();
    let version = manifest.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(fs::read_to_string("README.md").unwrap().contains(&format!("Rust {version} or newer")));
}
