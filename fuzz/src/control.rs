//! A control document: what we accept `serde_json` accepts, with the same value and the references
//! that stand in it; what we refuse it refuses, but for our own rules.

use std::collections::BTreeSet;

use acp_envelope::Control;
use bytes::Bytes;
use serde_json::Value;

use super::support::verdict::{Setting, assert_agreed};

pub fn control(data: &[u8]) {
    let raw = Bytes::copy_from_slice(data);
    assert_agreed(b"application/json", &raw, &Setting::default());
    // A byte order mark is no JSON.
    let text = data.strip_prefix("\u{feff}".as_bytes()).unwrap_or(data);
    match (Control::from_text(raw), serde_json::from_slice::<Value>(text)) {
        (Ok(control), Ok(value)) => {
            assert_eq!(control.text().as_bytes(), text);
            assert_eq!(control.value().expect("it was read before"), value);
            compare_references(&control, &value);
        }
        (Ok(_), Err(error)) => {
            assert!(error.to_string().starts_with("recursion limit exceeded"), "{error}");
        }
        (Err(error), Ok(_)) => assert_eq!(error.code(), "ref_invalid", "{error}"),
        (Err(_), Err(_)) => {}
    }
}

/// Of a member given twice the tree has the last value only, we have all references.
fn compare_references(control: &Control, value: &Value) {
    let mut in_value = BTreeSet::new();
    find_references(value, String::new(), &mut in_value);
    let ours: Vec<_> = control.references().map(|(at, name)| (at, name.to_owned())).collect();
    assert_eq!(ours.len(), control.reference_count());
    let members = members_of(value);
    let in_text: BTreeSet<_> = ours.iter().cloned().collect();
    assert!(in_text.is_superset(&in_value), "{in_text:?} lacks some of {in_value:?}");
    if members == colons(control.text()) {
        assert_eq!(in_text, in_value);
    }
}

fn find_references(value: &Value, pointer: String, found: &mut BTreeSet<(String, String)>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(name)) = members.get("$ref") {
                found.insert((pointer.clone(), name.clone()));
            }
            for (name, value) in members {
                let token = name.replace('~', "~0").replace('/', "~1");
                find_references(value, format!("{pointer}/{token}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_references(item, format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// Members of all objects.
fn members_of(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.values().map(|value| 1 + members_of(value)).sum(),
        Value::Array(items) => items.iter().map(members_of).sum(),
        _ => 0,
    }
}

/// Colons outside strings: one for each member, those given twice included.
fn colons(text: &str) -> usize {
    let (mut colons, mut in_string, mut escaped) = (0, false, false);
    for character in text.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = in_string,
            '"' => in_string = !in_string,
            ':' if !in_string => colons += 1,
            _ => {}
        }
    }
    colons
}
