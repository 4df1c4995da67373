//! What the encoder refuses: injection (ACP-ENC-5), names, references, limits, boundaries that occur
//! in content. Each with its code, place, part and text.

mod support;

use acp_envelope::{
    Category, Config, Control, ControlError, EncodeError, EncodeErrorKind, EnvelopeBuilder,
    EnvelopeEncoder, Limits, Location, NewPart, PartName, WarningCode, decode_with,
    parser::ParseErrorKind, syntax::Boundary,
};
use bytes::Bytes;
use serde_json::json;

fn name(name: &str) -> PartName {
    name.parse().unwrap()
}

fn limited(limits: Limits) -> EnvelopeBuilder {
    EnvelopeBuilder::with_config(Config::new().limits(limits))
}

fn control(text: &str) -> Control {
    Control::from_text(text.to_owned()).unwrap()
}

fn value(at: u64) -> Option<Location> {
    Some(Location::Value(at))
}

/// Code, place, and the part's index.
fn finding(error: &EncodeError) -> (&'static str, Option<Location>, Option<usize>) {
    assert!(!error.hint().is_empty());
    assert_eq!(error.category(), Category::Misuse);
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "{text:?}");
    (error.code(), error.location().cloned(), error.part().map(|part| part.index))
}

/// What adding a part gives, as the second one of a message.
fn add(part: NewPart<'_>) -> (&'static str, Option<Location>, Option<usize>) {
    let mut message = EnvelopeBuilder::new();
    message.add(NewPart::new("a/b", "").name("first")).unwrap();
    finding(&message.add(part).unwrap_err())
}

fn part() -> NewPart<'static> {
    NewPart::new("image/png", "x").name("second")
}

#[test]
fn a_name_cannot_end_its_line_acp_enc_5_acp_name_1() {
    for (name, at) in [
        ("a\r\nX: y", 1),
        ("a\nb", 1),
        ("a\0", 1),
        ("a\"; filename=\"b", 1),
        ("ä", 0),
        ("", 0),
        ("a b", 1),
        ("%0D%0A", 0),
    ] {
        assert_eq!(add(part().name(name)), ("name_invalid", value(at), Some(2)), "{name:?}");
    }
}

#[test]
fn a_media_type_cannot_end_its_line_acp_enc_5_acp_hdr_4() {
    for (media_type, at) in [
        ("a/b\r\nX: y", 3),
        ("a/b\n", 3),
        ("a/b; c=\"\0\"", 8),
        ("a/b; c=\"\r\n\r\nbody\"", 8),
        ("text", 4),
        ("", 0),
        (" a/b", 0),
        ("a/b ", 3),
        ("a/b;c=d;\t", 8),
        ("a/b; c=1; C=2", 10),
    ] {
        let given = NewPart::new(media_type, "").name("second");
        assert_eq!(add(given), ("content_type_invalid", value(at), Some(2)), "{media_type:?}");
    }
}

#[test]
fn a_header_field_cannot_end_its_line_acp_enc_5_acp_hdr_1() {
    for (field, text, at) in [
        ("X", "y\r\nZ: w", 1),
        ("X", "y\n", 1),
        ("X", "\0", 0),
        ("X", "a\u{7f}", 1),
        ("X\r\nY", "", 1),
        ("X Y", "", 1),
        ("X:", "", 1),
        ("", "", 0),
        ("é", "", 0),
        ("X ", "y", 1),
        // Nobody would see these.
        ("X", " y", 0),
        ("X", "y \t", 1),
        ("X", " ", 0),
    ] {
        let given = part().field(field, text);
        assert_eq!(add(given), ("header_malformed", value(at), Some(2)), "{field:?} {text:?}");
    }
}

#[test]
fn a_file_name_cannot_end_its_line_or_its_quotes_acp_enc_5_acp_hdr_6() {
    for (filename, at) in [("a\0b", 1), ("\u{1b}[2J", 0), ("a\u{7f}", 1)] {
        assert_eq!(
            add(part().filename(filename)),
            ("header_malformed", value(at), Some(2)),
            "{filename:?}"
        );
    }
    for filename in
        ["\"; name=\"other", "a\r\nContent-Type: text/html", "a\r\n\r\nbody", "\\", "\\\"", "a\\\\"]
    {
        let mut message = EnvelopeBuilder::new();
        let part = message.add(part().filename(filename)).unwrap();
        let encoder = message.build(&Control::new(&part).unwrap()).unwrap();
        let content_type = encoder.content_type().to_owned();
        let envelope =
            decode_with(content_type, encoder.into_bytes().unwrap(), Config::strict()).unwrap();
        let [read] = envelope.parts() else { panic!("one part") };
        assert_eq!(read.head().filename().unwrap(), filename);
        assert_eq!((read.head().fields().count(), read.body()), (2, &Bytes::from("x")));
    }
}

#[test]
fn fields_that_frame_the_part_are_not_the_callers_acp_enc_8() {
    for field in
        ["Content-Disposition", "content-type", "CONTENT-LENGTH", "Content-transfer-encoding"]
    {
        assert_eq!(add(part().field(field, "binary")), ("field_reserved", value(0), Some(2)));
    }
    let mut message = EnvelopeBuilder::new();
    message.add(part().field("Content-Language", "de").field("Content-ID", "<7>")).unwrap();
}

#[test]
fn names_are_unique_acp_enc_3_acp_name_2() {
    assert_eq!(add(part().name("first")), ("name_duplicate", value(0), Some(2)));
    assert_eq!(add(part().name("_acp_control")), ("name_duplicate", value(0), Some(2)));
    let mut message = EnvelopeBuilder::new();
    message.add(part()).unwrap();
    let error = message.control_name(name("second")).build(&control("1")).unwrap_err();
    assert_eq!(finding(&error), ("name_duplicate", None, Some(0)));
}

#[test]
fn types_that_a_receiver_refuses_are_refused_acp_enc_4_acp_name_3_acp_ctl_6() {
    let of_type = |media_type: &'static str| add(NewPart::new(media_type, "").name("second"));
    assert_eq!(of_type("Multipart/Mixed; boundary=c"), ("nested_multipart", value(0), Some(2)));
    assert_eq!(of_type("application/JSON"), ("control_duplicate", value(0), Some(2)));
    let mut lenient = EnvelopeBuilder::with_config(Config::new().allow_json_content(true));
    lenient.add(NewPart::new("application/json", "{}")).unwrap();
}

#[test]
fn references_are_checked_before_the_first_byte_acp_enc_4_acp_ref_5_acp_ref_6() {
    let at = |pointer: &str| Some(Location::Pointer(pointer.to_owned()));
    let build = |json: bool, text: &str| {
        let message = EnvelopeBuilder::new().json_without_parts(json);
        finding(&message.build(&control(text)).unwrap_err())
    };
    let lost = "[{\"a/b\":{\"$ref\":\"lost\"}}]";
    assert_eq!(build(false, lost), ("ref_unresolved", at("/0/a~1b"), None));
    assert_eq!(build(true, lost), ("ref_unresolved", at("/0/a~1b"), None));
    let own = "[1,{\"$ref\":\"_acp_control\"}]";
    assert_eq!(build(false, own), ("ref_control", at("/1"), None));
    let mut message = EnvelopeBuilder::new();
    message.add(part().name("Lost")).unwrap();
    let error = message.build(&control("{\"$ref\":\"lost\"}")).unwrap_err();
    assert_eq!(finding(&error), ("ref_unresolved", at(""), None));
}

#[test]
fn control_documents_are_judged_where_they_are_made_acp_enc_4_acp_ctl_4_acp_ref_3_acp_ref_4() {
    let finding = |error: ControlError| {
        assert!(!error.hint().is_empty());
        (error.code(), error.location().to_string())
    };
    for (text, code, place) in [
        ("{\"a\":1,}", "control_malformed", "line 1, column 8"),
        ("[{\"$ref\":7}]", "ref_invalid", "at /0"),
        ("{\"$ref\":\"a\",\"b\":1}", "ref_invalid", "at the root"),
        ("1e999", "control_malformed", "line 1, column 1"),
    ] {
        assert_eq!(finding(Control::from_text(text).unwrap_err()), (code, place.to_owned()));
    }
    let not_utf8 = Control::from_text(&b"[\"\xff\"]"[..]).unwrap_err();
    assert_eq!(finding(not_utf8), ("control_charset", "byte 2 of the value".to_owned()));
    let deep = Control::from_text("[".repeat(513) + &"]".repeat(513)).unwrap_err();
    assert_eq!(finding(deep), ("limit_json_depth", "line 1, column 513".to_owned()));
    let no_json = std::collections::BTreeMap::from([((1, 2), 3)]);
    let unserializable = Control::new(&no_json).unwrap_err();
    assert_eq!(unserializable.category(), Category::Rule);
    assert!(unserializable.to_string().contains("cannot be written as JSON: key must be a string"));
    assert_eq!(finding(unserializable), ("control_malformed", "at the root".to_owned()));
    let schema = Control::new(&json!({ "$ref": "#/definitions/a" })).unwrap_err();
    assert_eq!(finding(schema), ("ref_invalid", "at the root".to_owned()));
}

#[test]
fn a_document_that_a_lenient_receiver_took_is_judged_again_acp_enc_4_acp_ctl_5_acp_lim_9() {
    let repeated = "{\"a\":1,\"a\":2}";
    let lenient = Config::new().allow_duplicate_members(true);
    let received = decode_with("application/json", repeated, lenient).unwrap();
    let error = EnvelopeBuilder::new().build_from(&received).unwrap_err();
    let place = Some(Location::LineColumn { line: 1, column: 10 });
    assert_eq!(finding(&error), ("control_malformed", place.clone(), None));
    EnvelopeBuilder::with_config(lenient).build_from(&received).unwrap();
    let one = control("1");
    let twice = Control::object([("a", &one), ("a", &one)]).unwrap();
    let error = EnvelopeBuilder::new().build(&twice).unwrap_err();
    assert_eq!(finding(&error), ("control_malformed", place, None));
    EnvelopeBuilder::with_config(lenient).build(&twice).unwrap();
    let harmless = decode_with("application/json", "{\"a\":1}", lenient).unwrap();
    EnvelopeBuilder::new().build_from(&harmless).unwrap();

    let deep = control(&("[".repeat(129) + &"]".repeat(129)));
    let error = EnvelopeBuilder::new().build(&deep).unwrap_err();
    let place = Some(Location::LineColumn { line: 1, column: 129 });
    assert_eq!(finding(&error), ("limit_json_depth", place, None));
    limited(Limits::new().max_json_depth(129)).build(&deep).unwrap();
}

#[test]
fn a_receiver_that_refuses_warnings_gets_none_acp_enc_4_acp_ref_8_acp_ref_9() {
    let mut strict = EnvelopeBuilder::with_config(Config::strict());
    let error = strict.add(NewPart::new("text/csv", "").name("t")).unwrap_err();
    assert_eq!(finding(&error), ("charset_missing", value(0), Some(1)));
    let text = strict.add(NewPart::new("text/csv; charset=utf-8", "").name("t")).unwrap();
    strict.add(NewPart::new("a/b", "").name("u")).unwrap();
    let error = strict.build(&Control::new(&text).unwrap()).unwrap_err();
    assert_eq!(finding(&error), ("unreferenced_part", None, Some(2)));
    assert_eq!(error.to_string(), "part 2 \"u\": nothing refers to the part");
    let config = Config::new().refuse(WarningCode::CharsetMissing);
    let mut message = EnvelopeBuilder::with_config(config);
    message.add(NewPart::new("a/b", "")).unwrap();
    message.build(&control("1")).unwrap();
}

/// Builds a message with one part under limits that the decoder then gets too, and says what both
/// find; a limit of exactly as much as is there must let it pass.
fn under(limits: Limits, json: bool) -> Result<(), &'static str> {
    let config = Config::new().limits(limits);
    let mut message = EnvelopeBuilder::with_config(config)
        .boundary(Boundary::new(b"boundary").unwrap())
        .json_without_parts(json);
    let document = control("[[1]]");
    let built = (|| {
        if !json {
            message.add(NewPart::new("image/png", "12345").name("p").field("X", "y"))?;
        }
        message.build(&document)
    })();
    let built: Result<EnvelopeEncoder, EncodeError> = built;
    match built {
        Err(error) => Err(finding(&error).0),
        Ok(encoder) => {
            let content_type = encoder.content_type().to_owned();
            let body = encoder.into_bytes().unwrap();
            decode_with(content_type, body, config).expect("a receiver takes it");
            Ok(())
        }
    }
}

#[test]
fn limits_are_the_receivers_acp_enc_4_acp_lim_1_acp_lim_3_acp_lim_4_acp_lim_7_acp_lim_8() {
    let all = Limits::new();
    let size = {
        let mut size = 0;
        while under(all.max_message_bytes(size), false).is_err() {
            size += 1;
        }
        size
    };
    let control_head =
        "Content-Disposition: form-data; name=\"_acp_control\"\r\nContent-Type: application/json\r\n"
            .len();
    let head =
        "Content-Disposition: form-data; name=\"p\"\r\nContent-Type: image/png\r\nX: y\r\n".len();
    for (limits, limit, code) in [
        (all.max_parts(1), all.max_parts(0), "limit_parts"),
        (all.max_part_bytes(5), all.max_part_bytes(4), "limit_part_size"),
        (all.max_message_bytes(size), all.max_message_bytes(size - 1), "limit_message_size"),
        (all.max_boundary_chars(8), all.max_boundary_chars(7), "limit_boundary"),
        (all.max_control_bytes(5), all.max_control_bytes(4), "limit_control_size"),
        (all.max_header_bytes(control_head), all.max_header_bytes(head - 1), "limit_header_size"),
        (all.max_headers(3), all.max_headers(2), "limit_headers"),
        (all.max_json_depth(2), all.max_json_depth(1), "limit_json_depth"),
    ] {
        assert_eq!(under(limits, false), Ok(()), "{code}");
        assert_eq!(under(limit, false), Err(code));
    }
    assert_eq!(under(all.max_header_bytes(control_head - 1), false), Err("limit_header_size"));
    assert_eq!(under(all.max_json_bytes(5), true), Ok(()));
    assert_eq!(under(all.max_json_bytes(4), true), Err("limit_control_size"));
    assert_eq!(under(all.max_message_bytes(4), true), Err("limit_message_size"));
}

#[test]
fn a_boundary_that_occurs_is_refused_before_anything_is_written_acp_enc_2() {
    let build = |first: NewPart<'static>, second: NewPart<'static>| {
        let mut message = EnvelopeBuilder::new().boundary(Boundary::new(b"cut-here").unwrap());
        message.add(first.name("first")).unwrap();
        message.add(second.name("second")).unwrap();
        message.build(&control("[{\"$ref\":\"first\"},{\"$ref\":\"second\"}]"))
    };
    let bytes = |content: &'static str| NewPart::new("a/b", content);
    for (content, at) in [
        ("x\r\n--cut-here", 12),
        ("--cut-here", 9),
        ("--cut-here--\r\n", 9),
        ("\r\n--cut-her\r\n--cut-here and there", 22),
        // Not for a strict receiver, but for some others.
        ("x\n--cut-here", 11),
        ("\r--cut-here", 10),
    ] {
        let error = build(bytes("x"), bytes(content)).unwrap_err();
        assert_eq!(finding(&error), ("boundary_occurs", value(at), Some(2)), "{content:?}");
        assert_eq!(error.part().unwrap().name, Some(name("second")));
    }
    for content in
        ["x--cut-here", "\r\n---cut-here", "\r\n--cut-her", "\r\n--cut-Here", "-cut-here"]
    {
        build(bytes("x"), bytes(content)).unwrap();
    }
    let disguised = bytes("x").field("--cut-here", "y");
    let error = build(bytes("x"), disguised).unwrap_err();
    let before = "Content-Disposition: form-data; name=\"second\"\r\nContent-Type: a/b\r\n".len();
    assert_eq!(finding(&error), ("boundary_occurs", value(before as u64 + 9), Some(2)));
    build(bytes("x").field("--cut-her", "y"), bytes("x")).unwrap();
}

/// Streams `chunks` as the content of the only part.
fn stream(
    message: &mut EnvelopeBuilder,
    len: Option<u64>,
    chunks: &[&'static str],
) -> Result<usize, EncodeError> {
    message.add(NewPart::streamed("a/b", len).name("s"))?;
    let encoder = message.clone().build(&control("{\"$ref\":\"s\"}"))?;
    let mut chunks = chunks.iter().map(|&chunk| Bytes::from(chunk));
    support::write(encoder, |_| chunks.next()).map(|written| written.len())
}

#[test]
fn a_streamed_part_that_holds_the_delimiter_is_an_error_however_it_is_cut_acp_enc_2() {
    let build = || EnvelopeBuilder::new().boundary(Boundary::new(b"bb").unwrap());
    for (chunks, at) in [
        (&["--bb"][..], 3),
        (&["-", "-", "b", "b"], 3),
        (&["x\r\n--b", "b"], 6),
        (&["x", "\r", "\n", "--", "bb--"], 6),
        (&["\r\n-", "\r\n--", "bbx"], 8),
        (&["\r\n--b\r", "\n--bb"], 10),
        (&["\r", "--b", "b"], 4),
        (&["a\n-", "-bb"], 5),
    ] {
        let error = stream(&mut build(), None, chunks).unwrap_err();
        assert_eq!(finding(&error), ("boundary_occurs", value(at), Some(1)), "{chunks:?}");
    }
    for chunks in [&["-", "-", "b"][..], &["\r\n--b", "\r\n--b"], &["x--b", "b"], &["\r", "\r"]] {
        stream(&mut build(), None, chunks).unwrap();
    }
}

#[test]
fn streamed_content_has_the_length_that_was_declared_acp_enc_6() {
    let finding = |len, chunks: &[&'static str]| {
        finding(&stream(&mut EnvelopeBuilder::new(), Some(len), chunks).unwrap_err())
    };
    assert_eq!(finding(3, &["ab"]), ("content_length", value(2), Some(1)));
    assert_eq!(finding(3, &["ab", "cd"]), ("content_length", value(3), Some(1)));
    assert_eq!(finding(0, &["a"]), ("content_length", value(0), Some(1)));
    stream(&mut EnvelopeBuilder::new(), Some(4), &["ab", "cd"]).unwrap();
}

#[test]
fn streamed_content_keeps_to_the_limits_acp_lim_2_acp_lim_3() {
    let limits = Limits::new();
    let found = |limits, len, chunks: &[&'static str]| {
        stream(&mut limited(limits), len, chunks).map_err(|error| finding(&error))
    };
    let four = limits.max_part_bytes(4);
    let too_large = Err(("limit_part_size", value(4), Some(1)));
    assert!(found(four, None, &["ab", "cd"]).is_ok());
    assert_eq!(found(four, None, &["ab", "cde"]), too_large);
    assert_eq!(found(four, Some(5), &[]), too_large);
    let size = found(limits, None, &["abcd"]).unwrap() as u64;
    let too_large = |limit| Err(("limit_message_size", Some(Location::Byte(limit)), None));
    assert!(found(limits.max_message_bytes(size), None, &["abc", "d"]).is_ok());
    assert_eq!(found(limits.max_message_bytes(size - 1), None, &["abc", "d"]), too_large(size - 1));
    assert_eq!(found(limits.max_message_bytes(size - 1), Some(4), &[]), too_large(size - 1));
    assert_eq!(found(limits.max_message_bytes(9), None, &[]), too_large(9));
    let unbounded = Limits::unbounded_for_trusted_input().max_message_bytes(u64::MAX - 1);
    let mut message = limited(unbounded);
    for name in ["a", "b"] {
        message.add(NewPart::streamed("a/b", Some(u64::MAX)).name(name)).unwrap();
    }
    assert_eq!(finding(&message.build(&control("1")).unwrap_err()).0, "limit_message_size");
}

#[test]
fn content_that_is_to_come_cannot_be_left_out_acp_enc_6() {
    let mut message = EnvelopeBuilder::new();
    message.add(NewPart::streamed("a/b", Some(0)).name("s")).unwrap();
    let encoder = || message.clone().build(&control("{\"$ref\":\"s\"}")).unwrap();
    let expected = ("content_missing", None, Some(1));
    assert_eq!(finding(&encoder().into_segments().unwrap_err()), expected);
    assert_eq!(finding(&encoder().into_bytes().unwrap_err()), expected);
}

#[test]
fn an_error_is_one_pointer_and_says_what_is_wrong_in_one_line() {
    assert_eq!(size_of::<EncodeError>(), size_of::<usize>());
    let mut message = EnvelopeBuilder::new();
    let error = message.add(part().field("X", "y\r\n")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "part 1 \"second\": header line is malformed (byte 1 of the value)"
    );
    assert!(matches!(error.kind(), EncodeErrorKind::Refused(_)));
    assert_eq!(error.hint(), ParseErrorKind::HeaderMalformed.hint());
    for (kind, hint) in [
        (EncodeErrorKind::BoundaryOccurs, "choose a boundary that does not occur"),
        (EncodeErrorKind::FieldReserved, "leave the field out"),
        (EncodeErrorKind::ContentLength { declared: 1 }, "exactly as many bytes"),
        (EncodeErrorKind::ContentMissing, "`next_segment`"),
        (EncodeErrorKind::RandomUnavailable, "try again"),
    ] {
        assert!(kind.hint().contains(hint), "{kind}");
    }
    let of_the_system = EncodeErrorKind::RandomUnavailable;
    assert_eq!(
        (of_the_system.code(), of_the_system.category()),
        ("random_unavailable", Category::Io)
    );
    let error = EncodeError::from(Control::from_text("[").unwrap_err());
    assert_eq!(error.location(), Some(&Location::LineColumn { line: 1, column: 2 }));
}
