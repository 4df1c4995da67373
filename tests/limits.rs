//! Every limit accepts N and refuses N + 1, with code and place, whole and byte by byte; zero; the
//! declared length; trusted input (ACP-LIM-1…9).

mod fixture;
mod support;

use acp_envelope::{Config, EnvelopeDecoder, Limits, Location, decode_with};
use bytes::Bytes;
use fixture::{JSON, MULTIPART, control, marked_byte, message, message_of};
use support::{Finding, finding, outcome};

/// Code, limit, its value, and a message that just keeps it: with one less it is refused at the mark.
type Case = (&'static str, fn(Limits, usize) -> Limits, usize, &'static str, String, Option<usize>);

fn check<const N: usize>(cases: [Case; N]) {
    for (code, set, n, content_type, body, part) in cases {
        let (body, place) = marked_byte(&body);
        let accepted = outcome(content_type, &body, set(Limits::new(), n));
        assert!(accepted.is_ok(), "{code}: {accepted:?}");
        let refused = outcome(content_type, &body, set(Limits::new(), n - 1));
        assert_eq!(refused, Err(finding(code, place, part)));
    }
}

#[test]
fn n_is_accepted_and_one_more_refused_acp_lim_1_acp_lim_2_acp_lim_3() {
    let part_size = |limits: Limits, n| limits.max_part_bytes(n as u64);
    let message_size = |limits: Limits, n| limits.max_message_bytes(n as u64);
    let body = message_of(&[("p", "1"), ("q", "2")]);
    let third_part = body.rfind("--b\r\n").unwrap() + "--b\r".len();
    let at = |n: usize| format!("{}‸{}", &body[..n], &body[n..]);
    check([
        ("limit_parts", Limits::max_parts, 2, MULTIPART, at(third_part), None),
        ("limit_part_size", part_size, 5, MULTIPART, message_of(&[("p", "1234‸5")]), Some(1)),
        ("limit_message_size", message_size, body.len(), MULTIPART, at(body.len() - 1), None),
        ("limit_message_size", message_size, 4, JSON, "nul‸l".to_owned(), None),
    ]);
}

#[test]
fn n_is_accepted_and_one_more_refused_acp_lim_5_acp_lim_6() {
    let multipart = message([control("{\"a\":1‸}")]);
    let json = "{\"a\":1‸}".to_owned();
    check([
        ("limit_control_size", Limits::max_control_bytes, 7, MULTIPART, multipart, Some(0)),
        ("limit_control_size", Limits::max_json_bytes, 7, JSON, json, None),
    ]);
}

#[test]
fn n_is_accepted_and_one_more_refused_acp_lim_7_acp_lim_8() {
    let first = "Content-Disposition: form-data; name=p\r\nMore: than the control part\r\n";
    let of = |last: &str| message([control("{\"$ref\":\"p\"}"), format!("{first}{last}\r\n")]);
    let size = first.len() + "Content-Type: a/b\r\n".len();
    let too_large = of("Content-Type: a/b\r‸\n");
    let too_many = of("‸Content-Type: a/b\r\n");
    check([
        ("limit_header_size", Limits::max_header_bytes, size, MULTIPART, too_large, Some(1)),
        ("limit_headers", Limits::max_headers, 3, MULTIPART, too_many, Some(1)),
    ]);
}

#[test]
fn n_is_accepted_and_one_more_refused_acp_lim_9() {
    for (document, n, line, column) in [
        ("[[[1],[2]]]", 3, 1, 3),
        ("{\"a\":\n [{\"b\":[]}]}", 4, 2, 8),
        ("[{}, [ {\"a\":[]}]]", 4, 1, 13),
        ("[[{ \"a\":1}]]", 3, 1, 3),
    ] {
        for (content_type, body, part) in
            [(JSON, document.to_owned(), None), (MULTIPART, message([control(document)]), Some(0))]
        {
            let with = |n| outcome(content_type, &body, Limits::new().max_json_depth(n));
            assert!(with(n).is_ok(), "{document}");
            let place = Location::LineColumn { line, column };
            assert_eq!(with(n - 1), Err(finding("limit_json_depth", place, part)), "{document}");
        }
    }
}

#[test]
fn one_level_too_many_is_refused_at_its_bracket_whatever_it_holds_acp_lim_9_acp_ctl_7() {
    for document in ["[[[", "[[{", "[[{x", "[[[1,]", "[[{\"a\":1,\"a\":1}]]", "[[{\"$ref\":1}"] {
        let refused = outcome(JSON, document, Limits::new().max_json_depth(2));
        let place = Location::LineColumn { line: 1, column: 3 };
        assert_eq!(refused, Err(finding("limit_json_depth", place, None)), "{document}");
    }
}

#[test]
fn the_boundary_limit_can_be_lowered_acp_lim_4() {
    for (n, limit, expected) in [
        (8, 8, None),
        (9, 8, Some(("limit_boundary", 38))),
        (70, 70, None),
        (71, 70, Some(("limit_boundary", 100))),
        (71, 1000, Some(("boundary_invalid", 100))),
    ] {
        let content_type = format!("multipart/form-data; boundary={}", "b".repeat(n));
        let body = message([control("{}")]).replace("--b", &format!("--{}", "b".repeat(n)));
        let outcome = outcome(&content_type, &body, Limits::new().max_boundary_chars(limit));
        let expected = expected.map(|(code, at)| finding(code, Location::ContentType(at), None));
        assert_eq!(outcome.err(), expected, "{n} characters, limit {limit}");
    }
}

#[test]
fn defaults_are_those_of_the_specification_acp_lim_1_to_acp_lim_9() {
    let limits = Limits::default();
    assert_eq!(limits, Limits::new());
    assert_eq!(limits.max_parts, 64, "ACP-LIM-1");
    assert_eq!(limits.max_part_bytes, 100 * 1024 * 1024, "ACP-LIM-2");
    assert_eq!(limits.max_message_bytes, 500 * 1024 * 1024, "ACP-LIM-3");
    assert_eq!(limits.max_boundary_chars, 70, "ACP-LIM-4");
    assert_eq!(limits.max_control_bytes, 1024 * 1024, "ACP-LIM-5");
    assert_eq!(limits.max_json_bytes, 1024 * 1024, "ACP-LIM-6");
    assert_eq!(limits.max_header_bytes, 8 * 1024, "ACP-LIM-7");
    assert_eq!(limits.max_headers, 16, "ACP-LIM-8");
    assert_eq!(limits.max_json_depth, 128, "ACP-LIM-9");
}

#[test]
fn zero_means_none_acp_lim_1_acp_lim_2_acp_lim_3_acp_lim_5_acp_lim_7_acp_lim_8_acp_lim_9() {
    type Set = fn(Limits) -> Limits;
    let document = |text: &str| message([control(text)]);
    let of = |body: &str| message_of(&[("p", body)]);
    let no_head = || message(["\r\n1"]);
    // What has none is accepted, or refused for another reason; what has one is refused.
    let cases: [(Set, String, &str, String, &str); 7] = [
        (|l| l.max_parts(0), document("1"), "ok", of(""), "limit_parts"),
        (|l| l.max_part_bytes(0), of(""), "ok", of("1"), "limit_part_size"),
        (|l| l.max_message_bytes(0), String::new(), "truncated", "-".into(), "limit_message_size"),
        (
            |l| l.max_control_bytes(0),
            document(""),
            "control_malformed",
            document("1"),
            "limit_control_size",
        ),
        (|l| l.max_header_bytes(0), no_head(), "control_not_json", of(""), "limit_header_size"),
        (|l| l.max_headers(0), no_head(), "control_not_json", of(""), "limit_headers"),
        (|l| l.max_json_depth(0), document("1"), "ok", document("[]"), "limit_json_depth"),
    ];
    for (set, none, verdict, one, code) in cases {
        let code_of = |body: &str| {
            outcome(MULTIPART, body, set(Limits::new())).map_or_else(|e| e.code, |_| "ok")
        };
        assert_eq!(code_of(&none), verdict, "{none:?}");
        assert_eq!(code_of(&one), code, "{one:?}");
    }
}

#[test]
fn zero_means_none_acp_lim_4_acp_lim_6() {
    let no_boundary = outcome(MULTIPART, "", Limits::new().max_boundary_chars(0)).unwrap_err();
    assert_eq!(no_boundary, finding("limit_boundary", Location::ContentType(30), None));
    let json = |body| outcome(JSON, body, Limits::new().max_json_bytes(0)).unwrap_err().code;
    assert_eq!([json(""), json("1")], ["control_malformed", "limit_control_size"]);
}

#[test]
fn the_limit_of_content_parts_says_nothing_about_the_control_part_acp_lim_2_acp_lim_5() {
    let body = message([control("100")]);
    assert!(outcome(MULTIPART, &body, Limits::new().max_part_bytes(0)).is_ok());
    let body = message_of(&[("p", "100"), ("q", &"1".repeat(40))]);
    assert!(outcome(MULTIPART, &body, Limits::new().max_control_bytes(27)).is_ok());
}

#[test]
fn each_form_has_its_own_limit_of_the_control_document_acp_lim_5_acp_lim_6() {
    let (json, multipart) = ("[1,2]", message([control("[1,2]")]));
    let limits = Limits::new().max_control_bytes(0);
    assert!(outcome(JSON, json, limits).is_ok());
    assert_eq!(outcome(MULTIPART, &multipart, limits).unwrap_err().code, "limit_control_size");
    let limits = Limits::new().max_json_bytes(0);
    assert!(outcome(MULTIPART, &multipart, limits).is_ok());
    assert_eq!(outcome(JSON, json, limits).unwrap_err().code, "limit_control_size");
}

#[test]
fn a_declared_length_too_large_is_refused_before_a_byte_acp_lim_3_acp_lim_6() {
    let small = |json, message| Limits::new().max_json_bytes(json).max_message_bytes(message);
    for (content_type, limits, n, code) in [
        (MULTIPART, small(2, 20), 20, "limit_message_size"),
        (JSON, small(10, 20), 10, "limit_control_size"),
        (JSON, small(30, 20), 20, "limit_message_size"),
        (MULTIPART, Limits::new(), 500 << 20, "limit_message_size"),
        (JSON, Limits::new(), 1 << 20, "limit_control_size"),
    ] {
        let decoder = || EnvelopeDecoder::new(content_type, Config::new().limits(limits)).unwrap();
        assert!(decoder().declare_length(n).is_ok());
        let mut refusing = decoder();
        let error = refusing.declare_length(n + 1).unwrap_err();
        assert_eq!(Finding::from(&error), finding(code, Location::ContentLength(n + 1), None));
        let mut input = Bytes::from_static(b"--b");
        assert_eq!(refusing.next_item(&mut input).unwrap_err(), error, "errors are sticky");
        assert_eq!((refusing.offset(), input.len()), (0, 3));
        assert!(refusing.salvage().is_none());
    }
}

/// Its length is known, but nobody has declared it.
#[test]
fn a_whole_message_is_judged_like_one_that_arrives_acp_frm_7_acp_lim_3() {
    let config = Config::new().limits(Limits::new().max_message_bytes(4));
    for (body, code, at) in
        [("-bad-", "limit_message_size", 4), ("--b!-", "delimiter_malformed", 3)]
    {
        let error = decode_with(MULTIPART, body, config).unwrap_err();
        assert_eq!(Finding::from(&error), finding(code, Location::Byte(at), None));
        assert_eq!(outcome(MULTIPART, body, config.limits), Err(Finding::from(&error)));
    }
}

#[test]
fn trusted_input_is_not_bounded_acp_lim_1() {
    let names: Vec<_> = (0..200).map(|n| format!("p{n}")).collect();
    let parts: Vec<_> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let body = message_of(&parts);
    let trusted = Limits::unbounded_for_trusted_input();
    assert_eq!(outcome(MULTIPART, &body, trusted).unwrap().parts.len(), 200);
    assert_eq!(outcome(MULTIPART, &body, Limits::new()).unwrap_err().code, "limit_parts");
}

#[test]
fn trusted_input_keeps_the_two_bounds_that_cannot_be_lifted_acp_lim_4_acp_lim_9() {
    let trusted = Limits::unbounded_for_trusted_input();
    let arrays = |n: usize| "[".repeat(n) + &"]".repeat(n);
    let objects = |n: usize| "{\"a\":".repeat(n) + "1" + &"}".repeat(n);
    let ceiling = Limits::JSON_DEPTH_CEILING;
    for limits in [trusted, Limits::new().max_json_depth(usize::MAX)] {
        assert!(outcome(JSON, &arrays(ceiling), limits).is_ok());
        assert!(outcome(JSON, &objects(ceiling), limits).is_ok());
        for document in [arrays(ceiling + 1), objects(ceiling + 1)] {
            assert_eq!(outcome(JSON, &document, limits).unwrap_err().code, "limit_json_depth");
        }
    }
    let long = format!("multipart/form-data; boundary={}", "b".repeat(71));
    assert_eq!(outcome(&long, "", trusted).unwrap_err().code, "limit_boundary");
}
