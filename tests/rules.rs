//! Every rule of the specification is checked by at least one test that names it.

use std::{fs, path::Path};

/// The ids of the rules, out of the first column of the tables.
fn rules() -> Vec<String> {
    let spec = read(Path::new("docs/acp.md"));
    let rows = spec.lines().filter_map(|line| line.strip_prefix("| ACP-")?.split_once(" |"));
    let rules: Vec<_> = rows.map(|(id, _)| format!("ACP-{id}")).collect();
    for section in ["MSG", "CT", "FRM", "HDR", "CTL", "NAME", "REF", "LIM", "ENC"] {
        let first = format!("ACP-{section}-1");
        assert!(rules.contains(&first), "{first} is not in the table any more");
    }
    rules
}

fn read(path: &Path) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The `.rs` files of a folder, and of the folders in it.
fn rust_files(folder: &str, nested: bool) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if nested && path.is_dir() {
            files.extend(rust_files(path.to_str().unwrap(), true));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path.to_str().unwrap().to_owned());
        }
    }
    files
}

/// All text that names what a test checks.
fn tests() -> String {
    let mut text = String::new();
    for file in rust_files("tests", false) {
        if !file.ends_with("/rules.rs") {
            text.push_str(&read(Path::new(&file)));
        }
    }
    for file in rust_files("src", true) {
        if let Some((_, tests)) = read(Path::new(&file)).split_once("\n#[cfg(test)]\nmod ") {
            text.push_str(tests);
        }
    }
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/corpus");
    for set in fs::read_dir(corpus).unwrap() {
        let cases = set.unwrap().path().join("cases.json");
        if !cases.exists() {
            continue;
        }
        let cases: serde_json::Value = serde_json::from_str(&read(&cases)).unwrap();
        for rule in cases.as_array().unwrap().iter().flat_map(|c| c["rule"].as_array().unwrap()) {
            text.push_str(rule.as_str().unwrap());
            text.push('\n');
        }
    }
    text
}

/// Whether the id stands in the text as it is, or as a piece of a test's name, and no longer number.
fn is_named(id: &str, text: &str) -> bool {
    let as_name = id.to_lowercase().replace('-', "_");
    [id, &as_name].iter().any(|id| {
        text.match_indices(*id)
            .any(|(at, _)| !text[at + id.len()..].starts_with(|c: char| c.is_ascii_digit()))
    })
}

#[test]
fn every_rule_is_named_by_a_test() {
    let (rules, tests) = (rules(), tests());
    let missing: Vec<_> = rules.iter().filter(|id| !is_named(id, &tests)).collect();
    assert!(missing.is_empty(), "no test names {missing:?}");
}

#[test]
fn an_id_is_not_found_in_a_longer_one() {
    assert!(is_named("ACP-FRM-1", "x ACP-FRM-1."));
    assert!(is_named("ACP-FRM-1", "fn name_acp_frm_1()"));
    assert!(is_named("ACP-FRM-1", "fn name_acp_frm_1_acp_frm_10()"));
    assert!(!is_named("ACP-FRM-1", "ACP-FRM-10 acp_frm_12()"));
}
