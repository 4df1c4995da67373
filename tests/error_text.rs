//! What an error or a warning says to a reader: one line without payload, and one hint for each code.

mod fixture;

use std::collections::BTreeMap;

use acp_envelope::{
    Config, DecodeError, EnvelopeDecoder, Limits, WarningCode, decode, decode_with, parser::Parser,
    syntax::Boundary,
};
use bytes::Bytes;
use fixture::{JSON, MULTIPART, control, faults, message, message_of, part};

fn all_errors() -> Vec<DecodeError> {
    faults::all()
        .into_iter()
        .map(|fault| decode_with(&fault.content_type, fault.body, fault.config).unwrap_err())
        .collect()
}

fn text_of(content_type: &str, body: impl Into<Bytes>) -> String {
    decode(content_type, body).unwrap_err().to_string()
}

#[test]
fn an_error_says_what_bound_and_where() {
    let limits = |limits| Config::new().limits(limits);
    let too_large = message_of(&[("img", "12345")]);
    let at = too_large.find('5').unwrap();
    let error = decode_with(MULTIPART, too_large, limits(Limits::new().max_part_bytes(4)));
    let expected = format!("part 1 \"img\": body exceeds 4 bytes (byte {at})");
    assert_eq!(error.unwrap_err().to_string(), expected);

    let config = limits(Limits::new().max_message_bytes(3));
    let declared = EnvelopeDecoder::new(MULTIPART, config).unwrap().declare_length(4);
    assert_eq!(declared.unwrap_err().to_string(), "message exceeds 3 bytes (declared length)");

    for (content_type, body, expected) in [
        (
            "text/json",
            String::new(),
            "Content-Type is neither multipart/form-data nor application/json (byte 0 of the Content-Type)",
        ),
        (MULTIPART, "--b\r\nX :".to_owned(), "part 0: header line is malformed (byte 6)"),
        (MULTIPART, "--bx".to_owned(), "delimiter line is malformed (byte 3)"),
        (
            MULTIPART,
            message([control("{\"a\":1\n,}")]),
            "part 0 \"c\": control document is not valid JSON: trailing comma (line 2, column 2)",
        ),
        (
            MULTIPART,
            message([control("{\"$ref\":\"p\"}")]),
            "reference to a part that is not there (at the root)",
        ),
        (
            JSON,
            "[{},{\"a b\":{\"$ref\":7}}]".to_owned(),
            "value of $ref is not a string (at /1/a b)",
        ),
    ] {
        assert_eq!(text_of(content_type, body), expected);
    }
}

#[test]
fn a_warning_says_what_and_where() {
    let body = message([control("1"), part("p", "x").replace("a/b", "text/plain")]);
    let warnings = decode(MULTIPART, body.clone()).unwrap().warnings().to_vec();
    let (charset, name) = (body.find("text/plain").unwrap(), body.find("p\"\r\n").unwrap());
    assert_eq!(
        warnings[0].to_string(),
        format!("part 1 \"p\": text without a charset (byte {charset})")
    );
    assert_eq!(
        warnings[1].to_string(),
        format!("part 1 \"p\": nothing refers to the part (byte {name})")
    );
}

#[test]
fn a_text_is_one_line_without_a_full_stop() {
    for error in all_errors() {
        let text = error.to_string();
        assert!(!text.contains(char::is_control), "{text:?}");
        assert!(!text.ends_with('.') && !text.is_empty(), "{text:?}");
        let what = text.split_once("\": ").map_or(text.as_str(), |(_, what)| what);
        let first = what.split(' ').next().unwrap();
        assert!(
            first.starts_with(|c: char| c.is_ascii_lowercase() || c == '$')
                || first.starts_with("Content-"),
            "{text:?}"
        );
    }
}

#[test]
fn member_names_in_a_pointer_are_escaped() {
    for (name, shown) in [
        ("a\\nb", "at /a\\nb"),
        ("a\\r\\u0000\\u001b[31m", "at /a\\r\\0\\u{1b}[31m"),
        ("\u{202e}\u{2028}\u{85}", "at /\\u{202e}\\u{2028}\\u{85}"),
        ("a\\/b~", "at /a~1b~0"),
    ] {
        for reference in ["7", "\"lost\"", "\"p q\""] {
            let text = text_of(JSON, format!("{{\"{name}\":{{\"$ref\":{reference}}}}}"));
            assert!(text.ends_with(&format!("({shown})")), "{text:?}");
        }
    }
}

#[test]
fn no_payload_and_no_field_value_is_in_a_text() {
    const SECRET: &str = "s3cr3t";
    let disposition = |value: &str| format!("Content-Disposition: {value}\r\n\r\n{SECRET}");
    let in_json = [
        "[\"s3cr3t\"",
        "[s3cr3t]",
        "{\"s3cr3t\":1,\"s3cr3t\":2}",
        "\"\\s3cr3t\"",
        "[{\"$ref\":\"s3cr3t\"}]",
    ];
    let heads = [
        disposition(&format!("{SECRET}; name=p")),
        disposition(&format!("form-data; name=\"{SECRET} \"")),
        disposition(&format!("form-data; name=p; filename*0={SECRET}")),
        disposition(&format!("form-data; name=p\r\n{SECRET}\r\n")),
        disposition(&format!("form-data; name=p\r\nContent-Type: multipart/{SECRET}")),
        disposition(&format!("form-data; name=p\r\nContent-Transfer-Encoding: {SECRET}")),
        disposition(&format!("form-data; name=p\r\nContent-Type: {SECRET}")),
    ];
    let mut messages: Vec<(String, String)> = vec![
        (format!("{SECRET}/json"), String::new()),
        (format!("multipart/form-data; {SECRET}"), String::new()),
        (format!("multipart/form-data; boundary=\"{SECRET}<\""), String::new()),
        (format!("application/json; charset={SECRET}"), "1".to_owned()),
        (MULTIPART.to_owned(), format!("--b{SECRET}")),
        (MULTIPART.to_owned(), format!("--b\r\nContent-Type: text/{SECRET}\r\n\r\n")),
        (
            MULTIPART.to_owned(),
            message([control("{}"), part("p", SECRET)]).replace("--b--", "--b-"),
        ),
    ];
    messages.extend(in_json.map(|document| (JSON.to_owned(), document.to_owned())));
    messages.extend(heads.map(|head| (MULTIPART.to_owned(), message([control("{}"), head]))));
    for (content_type, body) in messages {
        let error = decode(&content_type, body.clone()).expect_err(&body);
        assert!(!error.to_string().contains(SECRET), "{error}");
        assert!(!error.hint().contains(SECRET));
        assert!(!format!("{:?}", error.kind()).contains(SECRET), "{error:?}");
    }
}

#[test]
fn every_hint_is_one_sentence_and_belongs_to_one_code() {
    let mut codes_of_hint = BTreeMap::new();
    for error in all_errors() {
        let hint = error.hint();
        assert!(hint.starts_with(|c: char| c.is_ascii_lowercase()), "{hint:?}");
        assert!(!hint.ends_with(['.', ' ']) && !hint.contains(". "), "{hint:?}");
        assert!(!hint.contains(char::is_control), "{hint:?}");
        let code = *codes_of_hint.entry(hint).or_insert_with(|| error.code());
        assert_eq!(code, error.code(), "{hint:?}");
    }
    for code in WarningCode::ALL {
        assert_eq!(codes_of_hint.get(code.hint()), Some(&code.as_str()), "one hint for both");
    }
}

#[test]
fn the_layers_own_errors_have_the_same_text() {
    let mut parser = Parser::new(&Boundary::new(b"b").unwrap(), Limits::new());
    let error = parser.next_event(&mut Bytes::from_static(b"--b\r\nX :")).unwrap_err();
    assert_eq!(error.to_string(), text_of(MULTIPART, "--b\r\nX :"));
}
