//! What a message is, whichever form and carrier it has; the order in which it is judged; what is
//! known of its references (ACP-MSG-1…5, ACP-HDR-7, ACP-CTL-6, ACP-CTL-7, ACP-REF-1…9).

mod fixture;
mod support;

use acp_envelope::{
    Config, Envelope, EnvelopeDecoder, Item, Reference, Status, WarningCode, decode, decode_with,
};
use bytes::{Bytes, BytesMut};
use fixture::{JSON, MULTIPART, control, marked_byte, message, message_of, part, reference};
use support::Finding;

fn code_of(content_type: &str, body: impl Into<Bytes>) -> &'static str {
    decode(content_type, body).map_or_else(|error| error.code(), |_| "ok")
}

#[test]
fn both_forms_are_accepted_and_no_other_acp_msg_1_acp_ct_1() {
    for (content_type, body, expected) in [
        (JSON, "[]".to_owned(), "ok"),
        ("APPLICATION/Json;charset=utf-8", "[]".to_owned(), "ok"),
        (MULTIPART, message_of(&[("p", "x")]), "ok"),
        ("Multipart/Form-Data; x=y; BOUNDARY=\"b\"", message([control("[]")]), "ok"),
        ("multipart/mixed; boundary=b", message([control("[]")]), "content_type_unsupported"),
        ("application/ld+json", "[]".to_owned(), "content_type_unsupported"),
    ] {
        assert_eq!(code_of(content_type, body), expected, "{content_type}");
    }
}

#[test]
fn content_type_and_bytes_are_all_that_is_needed_acp_msg_2() {
    // The same message out of one buffer that a carrier refills, and out of separate ones.
    let body = message_of(&[("p", "12345"), ("q", "\r\n--")]);
    let mut refilled = EnvelopeDecoder::new(MULTIPART, Config::new()).unwrap();
    let mut buffer = BytesMut::new();
    let mut arriving = body.as_bytes().chunks(7);
    let mut parts: Vec<(String, Vec<u8>)> = Vec::new();
    loop {
        match refilled.next_item(&mut buffer).unwrap() {
            Status::Item(Item::PartStart(head)) => {
                parts.push((head.name().to_string(), Vec::new()))
            }
            Status::Item(Item::Data(data)) => parts.last_mut().unwrap().1.extend(data),
            Status::NeedInput => match arriving.next() {
                Some(bytes) => buffer.extend_from_slice(bytes),
                None => refilled.finish(),
            },
            Status::End => break,
            _ => {}
        }
    }
    assert_eq!(refilled.offset(), body.len() as u64);
    let whole = decode(MULTIPART, body).unwrap();
    let expected = whole.parts().iter().map(|p| (p.head().name().to_string(), p.body().to_vec()));
    assert_eq!(parts, expected.collect::<Vec<_>>());
}

#[test]
fn a_control_part_alone_is_the_json_form_acp_msg_3() {
    for document in ["{\"a\": [1, 2.50, \"é\"]}", " null\n", "\u{feff}\"x\""] {
        let multipart = decode(MULTIPART, message([control(document)])).unwrap();
        let json = decode(JSON, document.to_owned()).unwrap();
        assert_eq!(multipart, json);
        assert_eq!(multipart.control().raw(), json.control().raw());
        assert_eq!(json.control().raw(), document.as_bytes());
        // A name, or none and its warning, is no part of the content.
        let unnamed = control(document).replace("; name=\"c\"", "");
        let unnamed = decode(MULTIPART, message([unnamed])).unwrap();
        assert_eq!((&unnamed, unnamed.warnings().len()), (&json, 1));
        assert_eq!(multipart.control_name().unwrap(), &"c");
        assert_eq!((unnamed.control_name(), json.control_name()), (None, None));
    }
    let other = decode(JSON, "{\"a\": [1, 2.5, \"é\"]}").unwrap();
    assert_ne!(
        decode(JSON, "{\"a\": [1, 2.50, \"é\"]}").unwrap(),
        other,
        "numbers are kept as sent"
    );
}

#[test]
fn base64_is_a_plain_string_acp_msg_4() {
    let document = "{\"ok\":\"aGk=\",\"not\":\"%%%=\",\"data\":\"data:image/png;base64,!\"}";
    let envelope = decode(JSON, document).unwrap();
    assert_eq!(envelope.control().text(), document);
    assert_eq!(envelope.warnings(), []);
    assert_eq!(envelope.control().references().count(), 0);
}

#[test]
fn a_reference_in_the_json_form_is_unresolved_acp_msg_5() {
    let error = decode(JSON, "[1,{\"x\":{\"$ref\":\"p\"}}]").unwrap_err();
    assert_eq!(error.code(), "ref_unresolved");
    assert_eq!(error.location().to_string(), "at /1/x");
    // A malformed one is that first.
    assert_eq!(code_of(JSON, "[{\"$ref\":\"p\"},{\"$ref\":1}]"), "ref_invalid");
}

/// The code and the place (marked) of the fault in the headers of a second content part.
fn check_head(code: &str, lines: &str) {
    let first = part("p", "");
    let (body, place) = marked_byte(&message([control("1"), first, format!("{lines}\r\n\r\n")]));
    let error = decode(MULTIPART, body).expect_err(lines);
    assert_eq!((error.code(), error.location()), (code, &place), "{lines:?}");
}

#[test]
fn bytes_come_first_then_meaning_then_what_is_missing_then_names_acp_hdr_7() {
    let d = "Content-Disposition: form-data; name=";
    // Bytes of a later line before the meaning of an earlier one.
    check_head("header_malformed", &format!("{d}\"a b\"\r\nX‸ : y"));
    // Meaning, line by line: the first line that is wrong, whatever is wrong with the next.
    check_head("name_invalid", &format!("{d}\"a‸ b\"\r\nContent-Type: text"));
    check_head("content_type_invalid", &format!("Content-Type: text‸\r\n{d}\"a b\""));
    check_head("nested_multipart", "Content-Type: ‸multipart/x\r\nContent-Disposition: attachment");
    check_head(
        "disposition_invalid",
        "Content-Disposition: ‸attachment\r\nContent-Type: multipart/x",
    );
    check_head("control_duplicate", &format!("Content-Type: ‸application/json\r\n{d}p"));
    check_head("transfer_encoding", &format!("Content-Transfer-Encoding: ‸x\r\n{d}p\r\n{d}p"));
    check_head("header_duplicate", &format!("{d}p\r\n‸{d}p\r\nContent-Type: multipart/x"));
    // A field given twice at its second line, before its meaning.
    check_head("header_duplicate", "Content-Type: a/b\r\n‸Content-Type: text");
    // What is missing after all that is there, and before a duplicate name.
    check_head("content_type_invalid", "Content-Type: text‸");
    check_head("name_duplicate", &format!("{d}\"‸p\"\r\nContent-Type: a/b"));
    check_head("nested_multipart", &format!("{d}p\r\nContent-Type: ‸multipart/x"));
}

#[test]
fn one_field_too_many_is_refused_at_the_first_byte_of_its_line_acp_hdr_7_acp_lim_8() {
    let sixteen = "X: y\r\n".repeat(16);
    check_head("limit_headers", &format!("{sixteen}‸ : folded and malformed"));
    check_head("limit_headers", &format!("{sixteen}‸Content-Disposition: x"));
}

#[test]
fn syntax_of_the_name_is_judged_before_its_value_acp_hdr_3() {
    check_head("disposition_invalid", "Content-Disposition: form-data; name=\"a b\"; ‸name=c");
    check_head("disposition_invalid", "Content-Disposition: form-data; name=\"a b\"; x‸");
    check_head("disposition_invalid", "Content-Disposition: ‸attachment; name=\"a b\"");
}

#[test]
fn a_document_is_judged_at_the_end_of_its_delimiter_line_acp_ctl_7() {
    let body = |document: &str, rest: &str| format!("--b\r\n{}\r\n--b{rest}", control(document));
    // A delimiter line that is malformed or cut short comes before anything in the document.
    for (rest, code) in [
        ("x", "delimiter_malformed"),
        ("\r", "truncated"),
        ("\r\n", "control_malformed"),
        ("--", "control_malformed"),
    ] {
        assert_eq!(code_of(MULTIPART, body("{", rest)), code, "{rest:?}");
    }
    // The document comes before what follows its delimiter line.
    assert_eq!(code_of(MULTIPART, body("{\"$ref\":1}", "\r\n: malformed")), "ref_invalid");
}

#[test]
fn charset_comes_before_syntax_and_syntax_before_references_acp_ctl_7() {
    let latin1 = |text: &str| Bytes::from(text.chars().map(|c| c as u8).collect::<Vec<_>>());
    for (document, code) in [
        (latin1("{\"$ref\":1}, é"), "control_charset"),
        (latin1("{\"$ref\":1},"), "control_malformed"),
        (latin1("[{\"$ref\":1},{\"a\":1,\"a\":1}]"), "control_malformed"),
        (
            latin1(&format!("[{{\"$ref\":1}},{}{}]", "[".repeat(200), "]".repeat(200))),
            "limit_json_depth",
        ),
        // Among syntax and depth, and among references, the first in document order.
        (latin1(&format!("[1e999,{}", "[".repeat(200))), "control_malformed"),
        (latin1(&format!("[{}1e999", "[".repeat(200))), "limit_json_depth"),
        (latin1("[{\"$ref\":\"lost\"},{\"$ref\":\"a b\"}]"), "ref_invalid"),
    ] {
        assert_eq!(code_of(JSON, document.clone()), code, "{}", document.escape_ascii());
    }
    let in_order = |document| code_of(MULTIPART, message([control(document)]));
    assert_eq!(in_order("[{\"$ref\":\"c\"},{\"$ref\":2}]"), "ref_control");
    assert_eq!(in_order("[{\"$ref\":2},{\"$ref\":\"c\"}]"), "ref_invalid");
}

#[test]
fn json_content_is_refused_unless_the_switch_allows_it_acp_ctl_6() {
    let json_part = part("p", "{\"$ref\":\"q\",\"broken").replace("a/b", "Application/JSON");
    let body = message([control(&reference("p")), json_part]);
    assert_eq!(code_of(MULTIPART, body.clone()), "control_duplicate");
    let config = Config::new().allow_json_content(true);
    let envelope = decode_with(MULTIPART, body, config).unwrap();
    assert_eq!(
        envelope.control().text(),
        reference("p"),
        "the control document is still the first"
    );
    assert_eq!(envelope.part("p").unwrap().body(), "{\"$ref\":\"q\",\"broken");
    // The control part itself still has to be JSON.
    let other_first = message([control("1").replace("/json", "/xml"), part("p", "")]);
    assert_eq!(decode_with(MULTIPART, other_first, config).unwrap_err().code(), "control_not_json");
    let ld =
        message([control(&reference("p")), part("p", "").replace("a/b", "application/ld+json")]);
    assert_eq!(code_of(MULTIPART, ld), "ok");
}

#[test]
fn duplicate_members_are_refused_unless_the_switch_allows_them_acp_ctl_5() {
    let lenient = |document: &str| {
        let config = Config::new().allow_duplicate_members(true);
        decode_with(MULTIPART, message([control(document), part("p", ""), part("q", "")]), config)
    };
    let envelope = lenient("{\"a\":{\"$ref\":\"p\"},\"a\":{\"$ref\":\"q\"}}").unwrap();
    assert_eq!(envelope.control().value().unwrap()["a"]["$ref"], "q", "the last value counts");
    assert!(envelope.part("p").unwrap().head().is_referenced(), "every reference is there");
    for (document, code) in [
        ("{\"a\":{\"$ref\":\"lost\"},\"a\":1}", "ref_unresolved"),
        ("{\"a\":{\"$ref\":1},\"a\":1}", "ref_invalid"),
        ("{\"$ref\":\"p\",\"$ref\":\"p\"}", "ref_invalid"),
    ] {
        assert_eq!(lenient(document).unwrap_err().code(), code, "{document}");
    }
}

fn envelope() -> Envelope {
    let document = "{\"z\":[{\"$ref\":\"p\"},\"p\",{\"ref\":\"q\"}],\"a/~\":{\"b\":{\"$ref\":\"p\"}},\"q\":{\"\\u0024ref\":\"Q\"}}";
    decode(MULTIPART, message([control(document), part("p", "1"), part("q", "2"), part("Q", "3")]))
        .unwrap()
}

#[test]
fn references_are_known_with_their_pointers_in_document_order_acp_ref_1_acp_ref_2_acp_ref_7() {
    let envelope = envelope();
    let all: Vec<_> = envelope.control().references().collect();
    let expected = [("/z/0", "p"), ("/a~1~0/b", "p"), ("/q", "Q")];
    assert_eq!(all, expected.map(|(pointer, name)| (pointer.to_owned(), name)));
    let by = |name| envelope.part(name).unwrap().head().referenced_by();
    assert_eq!(by("p").len(), 2, "the length is exact");
    assert_eq!(by("p").collect::<Vec<_>>(), ["/z/0", "/a~1~0/b"]);
    assert_eq!(by("Q").collect::<Vec<_>>(), ["/q"]);
    assert_eq!(by("q").next(), None);
    let root = decode(MULTIPART, message([control(&reference("p")), part("p", "")])).unwrap();
    assert_eq!(root.parts()[0].head().referenced_by().collect::<Vec<_>>(), [""]);
}

#[test]
fn a_reference_is_resolved_by_its_exact_name_acp_ref_5() {
    let envelope = envelope();
    let resolve = |name: &str| envelope.resolve(&Reference::new(name.parse().unwrap()));
    assert_eq!(resolve("q").unwrap().body(), "2");
    assert_eq!(resolve("Q").unwrap().body(), "3");
    assert_eq!(resolve("c"), None, "the control part is no content part");
    assert_eq!(resolve("r"), None);
    let value = envelope.control().value().unwrap();
    let read: Reference = serde_json::from_value(value["z"][0].clone()).unwrap();
    assert_eq!(envelope.resolve(&read).unwrap().head().index(), 1);
}

#[test]
fn the_first_unresolved_reference_is_reported_at_the_close_delimiter_acp_ref_5() {
    let document = "[{\"$ref\":\"y\"},{\"$ref\":\"p\"},{\"$ref\":\"x\"}]";
    let whole = message([control(document), part("p", "1")]);
    let mut decoder = EnvelopeDecoder::new(MULTIPART, Config::new()).unwrap();
    // Up to the last byte of the close delimiter line, all is in order.
    let mut input = Bytes::from(whole);
    let mut last = input.split_off(input.len() - 1);
    while !matches!(decoder.next_item(&mut input).unwrap(), Status::NeedInput) {}
    let error =
        decoder.next_item(&mut last).and_then(|_| decoder.next_item(&mut last)).unwrap_err();
    assert_eq!(Finding::from(&error).code, "ref_unresolved");
    assert_eq!((error.location().to_string(), error.part()), ("at /0".to_owned(), None));
}

#[test]
fn a_reference_to_the_control_part_is_refused_before_any_part_acp_ref_6() {
    let mut decoder = EnvelopeDecoder::new(MULTIPART, Config::new()).unwrap();
    let mut input = Bytes::from(format!("--b\r\n{}\r\n--b\r\n", control(&reference("c"))));
    assert_eq!(decoder.next_item(&mut input).unwrap_err().code(), "ref_control");
}

#[test]
fn an_unreferenced_part_stays_readable_and_is_marked_acp_ref_8() {
    let envelope = envelope();
    let part = envelope.part("q").unwrap();
    assert!(!part.head().is_referenced() && envelope.part("Q").unwrap().head().is_referenced());
    assert_eq!(part.body(), "2");
    let [warning] = envelope.warnings() else { panic!("{:?}", envelope.warnings()) };
    assert_eq!(warning.code(), WarningCode::UnreferencedPart);
    assert_eq!(warning.part().unwrap().index, part.head().index());
}

#[test]
fn no_charset_is_guessed_acp_ref_9() {
    let p = part("p", "caf\u{e9}").replace("a/b", "text/plain");
    let envelope = decode(MULTIPART, message([control(&reference("p")), p])).unwrap();
    let [warning] = envelope.warnings() else { panic!("{:?}", envelope.warnings()) };
    assert_eq!(warning.code(), WarningCode::CharsetMissing);
    let part = envelope.part("p").unwrap();
    assert_eq!(part.head().media_type().as_bytes(), b"text/plain");
    assert!(!part.head().media_type().has_parameter("charset"));
    assert_eq!(part.body(), "caf\u{e9}".as_bytes());
}

#[test]
fn fields_are_kept_as_sent_acp_hdr_2_acp_hdr_6() {
    let head = "X-Note: \t one  two \r\ncontent-disposition: FORM-DATA; name=p; filename=\"..\\\\a%22\"\r\n\
        Content-ID: <x>";
    let body = message([control(&reference("p")), format!("{head}\r\n\r\n1")]);
    let (offset, envelope) = (body.rfind("1\r\n--b--").unwrap(), decode(MULTIPART, body).unwrap());
    let head = envelope.part("p").unwrap().head();
    let fields: Vec<_> = head.fields().map(|f| (f.name, f.value)).collect();
    assert_eq!(fields.len(), 3);
    assert_eq!((fields[0], fields[2]), (("X-Note", &b"one  two"[..]), ("Content-ID", &b"<x>"[..])));
    assert_eq!(head.filename().unwrap(), "..\\a\"");
    assert_eq!(head.filename_bytes().unwrap(), b"..\\\\a%22");
    assert_eq!(head.media_type().essence(), "text/plain");
    assert_eq!((head.index(), head.body_offset()), (1, offset as u64));
}
