//! The control document of a refused message, for the degraded mode (§5.3): given when it was
//! complete and valid JSON, and only after an error.

mod fixture;

use acp_envelope::{Config, EnvelopeDecoder, Limits, SalvagedControl, Status};
use bytes::Bytes;
use fixture::{JSON, MULTIPART, control, message, part};

/// Decodes until the end or an error: the error's code, and what can be salvaged.
fn salvage(
    content_type: &str,
    body: &str,
    config: Config,
) -> (Option<&'static str>, Option<SalvagedControl>) {
    let mut decoder = EnvelopeDecoder::new(content_type, config).unwrap();
    let mut input = Bytes::copy_from_slice(body.as_bytes());
    let error = loop {
        match decoder.next_item(&mut input) {
            Ok(Status::NeedInput) => decoder.finish(),
            Ok(Status::End) => break None,
            Ok(_) => {}
            Err(error) => break Some(error),
        }
    };
    let salvaged = decoder.salvage();
    if let Some(salvaged) = &salvaged {
        assert_eq!(Some(salvaged.error()), error.as_ref());
    }
    (error.map(|error| error.code()), salvaged)
}

#[test]
fn a_complete_document_outlives_every_later_fault() {
    let of = |document: &str, rest: &str| format!("--b\r\n{}\r\n{rest}", control(document));
    let p = part("p", "x");
    let too_large = Config::new().limits(Limits::new().max_part_bytes(0));
    for (code, document, body, config) in [
        // A reference is at fault: the document itself can be read.
        ("ref_invalid", "{\"$ref\":1}", "--b--\r\n".to_owned(), Config::new()),
        ("ref_control", "[{\"$ref\":\"c\"}]", "--b--\r\n".to_owned(), Config::new()),
        (
            "ref_unresolved",
            "{\"x\":{\"$ref\":\"q\"}}",
            format!("--b\r\n{p}\r\n--b--"),
            Config::new(),
        ),
        // The fault is later.
        ("truncated", "[1]", "--b\r\n".to_owned(), Config::new()),
        ("truncated", "[1]", format!("--b\r\n{p}"), Config::new()),
        ("delimiter_malformed", "[1]", format!("--b\r\n{p}\r\n--b!"), Config::new()),
        ("header_malformed", "[1]", "--b\r\n: x".to_owned(), Config::new()),
        ("name_missing", "[1]", "--b\r\n\r\n".to_owned(), Config::new()),
        ("limit_part_size", "[1]", format!("--b\r\n{p}\r\n--b--"), too_large),
        ("epilogue", "[1]", "--b--\r\nx".to_owned(), Config::strict()),
    ] {
        let (found, salvaged) = salvage(MULTIPART, &of(document, &body), config);
        assert_eq!(found, Some(code), "{document} {body:?}");
        let salvaged = salvaged.unwrap_or_else(|| panic!("{code}: nothing salvaged"));
        assert_eq!((salvaged.text(), &salvaged.raw()[..]), (document, document.as_bytes()));
        assert_eq!(
            salvaged.value().unwrap(),
            serde_json::from_str::<serde_json::Value>(document).unwrap()
        );
    }
}

#[test]
fn the_json_form_is_salvaged_as_well() {
    for (code, document) in
        [("ref_invalid", "{\"$ref\":[]}"), ("ref_unresolved", "{\"$ref\":\"p\"}")]
    {
        let (found, salvaged) = salvage(JSON, document, Config::new());
        assert_eq!((found, salvaged.unwrap().text()), (Some(code), document));
    }
}

#[test]
fn a_salvaged_document_is_text_without_its_mark_and_can_be_read_into_a_struct() {
    #[derive(Debug, serde::Deserialize)]
    struct Task {
        id: u32,
    }
    let document = "\u{feff}{\"id\":7,\"doc\":{\"$ref\":\"lost\"}}";
    let (_, salvaged) = salvage(JSON, document, Config::new());
    let salvaged = salvaged.unwrap();
    assert_eq!(salvaged.text(), &document[3..]);
    assert_eq!(salvaged.raw(), document.as_bytes());
    assert_eq!(salvaged.deserialize::<Task>().unwrap().id, 7);
}

#[test]
fn a_document_that_is_not_valid_or_not_complete_is_not_salvaged() {
    let in_control = |document: &str| message([control(document)]);
    let shallow = Config::new().limits(Limits::new().max_json_depth(1));
    let small = Config::new().limits(Limits::new().max_control_bytes(1));
    for (code, body, config) in [
        ("control_malformed", in_control("{"), Config::new()),
        ("control_malformed", in_control("{\"a\":1,\"a\":1}"), Config::new()),
        ("control_malformed", in_control("[1e999]"), Config::new()),
        ("control_charset", in_control("{}").replace("json", "json; charset=utf-7"), Config::new()),
        ("limit_json_depth", in_control("[[]]"), shallow),
        ("limit_control_size", in_control("{}"), small),
        // Every byte of the document is there, but not the delimiter line that ends it.
        ("truncated", format!("--b\r\n{}\r\n--b\r", control("{}")), Config::new()),
        ("delimiter_malformed", format!("--b\r\n{}\r\n--b!", control("{}")), Config::new()),
        ("delimiter_malformed", format!("--b\r\n{}\r\n--b--\r\r", control("{}")), Config::new()),
        ("control_not_json", in_control("{}").replace("/json", "/cbor"), Config::new()),
        ("control_missing", "--b--".to_owned(), Config::new()),
        ("truncated", String::new(), Config::new()),
    ] {
        let (found, salvaged) = salvage(MULTIPART, &body, config);
        assert_eq!(found, Some(code), "{body:?}");
        assert_eq!(salvaged, None, "{body:?}");
    }
    let (found, salvaged) = salvage(JSON, "[1", Config::new());
    assert_eq!((found, salvaged), (Some("control_malformed"), None));
}

#[test]
fn a_valid_message_has_nothing_to_salvage() {
    let body = message([control("{\"$ref\":\"p\"}"), part("p", "x")]);
    assert_eq!(salvage(MULTIPART, &body, Config::new()), (None, None));
    assert_eq!(salvage(JSON, "1", Config::new()), (None, None));
    // Nor has one that has not failed yet.
    let mut decoder = EnvelopeDecoder::new(MULTIPART, Config::new()).unwrap();
    let mut input = Bytes::from(body);
    assert!(matches!(decoder.next_item(&mut input), Ok(Status::Item(_))));
    assert_eq!(decoder.salvage(), None);
}
