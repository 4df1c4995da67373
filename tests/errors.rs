//! Every error: its code, category, place and part; the list of codes; the text a reader sees; what
//! an error costs; that errors stay.

mod fixture;
mod support;

use std::{collections::BTreeSet, fs};

use acp_envelope::{
    Config, ContentHead, Control, ControlErrorKind, DecodeError, DecodeErrorKind, Envelope,
    EnvelopeDecoder, Item, Limits, Location, Part, PartName, Reference, SalvagedControl, Status,
    Warning, WarningCode,
    parser::{Event, ParseError, ParseErrorKind, Parser, PartHead},
    syntax::{Boundary, ContentTypeError, ContentTypeErrorKind},
};
use bytes::Bytes;
use fixture::faults::{self, Fault};
use support::{Finding, bytewise, decode_chunks};

/// The error of a message that is fed whole; byte by byte it must be the same (ACP-FRM-7).
fn error_of(content_type: &str, body: &str, config: Config) -> DecodeError {
    let body = Bytes::copy_from_slice(body.as_bytes());
    let error = run(content_type, &body, config).expect_err(&format!("{}", body.escape_ascii()));
    let apart = decode_chunks(content_type.as_bytes(), bytewise(&body), config).unwrap_err();
    assert_eq!(apart, Finding::from(&error), "{}", body.escape_ascii());
    error
}

fn run(content_type: &str, body: &Bytes, config: Config) -> Result<(), DecodeError> {
    let mut decoder = EnvelopeDecoder::new(content_type, config)?;
    let mut input = body.clone();
    loop {
        match decoder.next_item(&mut input)? {
            Status::NeedInput => decoder.finish(),
            Status::End => return Ok(()),
            _ => {}
        }
    }
}

fn error_of_fault(fault: &Fault) -> DecodeError {
    error_of(&fault.content_type, &fault.body, fault.config)
}

#[test]
fn every_fault_has_its_code_category_place_and_part_acp_frm_7_acp_hdr_7() {
    for fault in faults::all() {
        let error = error_of_fault(&fault);
        let part = error.part().map(|p| (p.index, p.name.as_ref().map(PartName::as_str)));
        assert_eq!(error.kind(), &fault.kind, "{fault:?}");
        assert_eq!((error.code(), error.category()), (fault.code, fault.category), "{fault:?}");
        assert_eq!((error.location(), part), (&fault.place, fault.part), "{fault:?}");
    }
}

/// The names of the variants of an enum, as its source lists them.
fn variants(source: &str, name: &str) -> Vec<String> {
    let (_, body) = source.split_once(&format!("pub enum {name} {{\n")).unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    lines
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .map(|line| line.split_once(|c: char| !c.is_alphanumeric()).unwrap().0.to_owned())
        .collect()
}

#[test]
fn every_variant_of_every_kind_is_provoked() {
    let provoked: BTreeSet<String> =
        faults::all().iter().map(|fault| format!("{:?}", fault.kind)).collect();
    for (layer, name, source) in [
        ("ContentType", "ContentTypeErrorKind", "src/syntax/content_type.rs"),
        ("Parse", "ParseErrorKind", "src/parser/error.rs"),
        ("Control", "ControlErrorKind", "src/control/error.rs"),
        ("Envelope", "EnvelopeErrorKind", "src/envelope/error.rs"),
    ] {
        let variants = variants(&read(source), name);
        assert!(variants.len() > 5, "{variants:?}");
        // No message has these: tests/encode_errors.rs provokes the first, the test below the others.
        let elsewhere = ["Unserializable", "Missing", "Repeated"];
        for variant in variants.into_iter().filter(|v| !elsewhere.contains(&v.as_str())) {
            let wanted = format!("{layer}({variant}");
            let end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
            let found = provoked.iter().any(|p| p.strip_prefix(&wanted).is_some_and(end));
            assert!(found, "{wanted}) is not provoked");
        }
    }
}

#[test]
fn a_carrier_has_one_content_type_field_acp_ct_1_acp_ct_2() {
    let fault = |values: &[&str]| {
        let error = EnvelopeDecoder::from_fields(values, Config::new()).unwrap_err();
        (error.kind().clone(), error.code(), error.location().clone())
    };
    let missing = DecodeErrorKind::ContentType(ContentTypeErrorKind::Missing);
    let repeated = DecodeErrorKind::ContentType(ContentTypeErrorKind::Repeated);
    let malformed = DecodeErrorKind::ContentType(ContentTypeErrorKind::Malformed);
    let place = Location::ContentType;
    assert_eq!(fault(&[]), (missing, "content_type_unsupported", place(0)));
    let json = "application/json";
    assert_eq!(fault(&[json, json]), (repeated, "content_type_invalid", place(0)));
    assert_eq!(fault(&["text/", json]), (malformed, "content_type_invalid", place(5)));
    assert!(EnvelopeDecoder::from_fields([json], Config::new()).is_ok());
}

#[test]
fn errors_and_warnings_say_in_json_what_they_say() {
    for fault in faults::all() {
        let error = error_of_fault(&fault);
        let json = serde_json::to_value(&error).unwrap();
        assert_eq!(json["code"], error.code());
        assert_eq!(json["message"], error.to_string());
        assert_eq!(json["hint"], error.hint());
        let category = format!("{:?}", error.category()).to_lowercase();
        assert_eq!(json["category"], category);
        let part = error.part().map(|part| {
            serde_json::json!({ "index": part.index, "name": part.name.as_ref().map(PartName::as_str) })
        });
        assert_eq!(json["part"], serde_json::json!(part));
        let place = match error.location() {
            Location::Byte(at) => serde_json::json!({ "byte": at }),
            Location::ContentType(at) => serde_json::json!({ "content_type": at }),
            Location::Pointer(pointer) => serde_json::json!({ "pointer": pointer }),
            Location::LineColumn { line, column } => {
                serde_json::json!({ "line": line, "column": column })
            }
            other => panic!("{other:?} is no place of a message"),
        };
        assert_eq!(json["location"], place);
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The codes in back quotes under a heading of the specification.
fn codes_under(spec: &str, heading: &str) -> Vec<String> {
    let (_, text) = spec.split_once(heading).unwrap();
    let (_, text) = text.split_once('\n').unwrap();
    let (list, _) = text.split_once("\n\n").unwrap();
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn codes_are_those_of_the_list_and_of_the_specification() {
    let list = read("testdata/error-codes.txt");
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines.is_sorted(), "the list is sorted");

    let spec = read("docs/acp.md");
    let errors = codes_under(&spec, "\n## Error codes");
    let warnings = codes_under(&spec, "\n## Warning codes");
    let specified: BTreeSet<String> = errors
        .iter()
        .cloned()
        .chain(warnings.iter().map(|code| format!("{code} warning")))
        .collect();
    assert_eq!(lines, Vec::from_iter(&specified));

    let refused = |fault: &Fault| format!("{:?}", fault.kind).contains("Refused");
    let provoked: BTreeSet<_> =
        faults::all().iter().map(|fault| (error_of_fault(fault).code(), refused(fault))).collect();
    let is_error = |&&(code, refused): &&(&str, bool)| !refused || errors.iter().any(|e| e == code);
    let provoked_errors: BTreeSet<_> =
        provoked.iter().filter(is_error).map(|(code, _)| *code).collect();
    assert_eq!(provoked_errors, errors.iter().map(String::as_str).collect());
    let provoked_warnings: BTreeSet<_> =
        provoked.iter().filter(|(_, refused)| *refused).map(|(code, _)| *code).collect();
    assert_eq!(provoked_warnings, warnings.iter().map(String::as_str).collect());
    assert_eq!(provoked_warnings, WarningCode::ALL.map(WarningCode::as_str).into());
}

#[test]
fn a_part_head_read_without_the_decoder_has_the_same_faults_acp_hdr_2_to_acp_hdr_5() {
    let mut checked = 0;
    for fault in faults::all() {
        let DecodeErrorKind::Parse(kind) = fault.kind else { continue };
        if fault.config != Config::new() {
            continue;
        }
        let error = parse(&fault.body).expect_err(&fault.body);
        assert_eq!((error.kind(), error.code()), (kind, fault.code), "{}", fault.body);
        assert_eq!(Location::Byte(error.offset()), fault.place, "{}", fault.body);
        assert_eq!(error.part(), fault.part.map(|(index, _)| index), "{}", fault.body);
        checked += 1;
    }
    assert!(checked > 15);
}

fn parse(body: &str) -> Result<(), ParseError> {
    let mut parser = Parser::new(&Boundary::new(b"b").unwrap(), Limits::new());
    let mut input = Bytes::copy_from_slice(body.as_bytes());
    loop {
        match parser.next_event(&mut input)? {
            // The control part needs no name.
            Status::Item(Event::PartStart(head)) if head.index() > 0 => {
                head.form_data()?;
            }
            Status::NeedInput => parser.finish(),
            Status::End => return Ok(()),
            _ => {}
        }
    }
}

#[test]
fn errors_stay() {
    for fault in faults::all() {
        let Ok(mut decoder) = EnvelopeDecoder::new(&fault.content_type, fault.config) else {
            continue;
        };
        let mut input = Bytes::from(fault.body);
        let first = loop {
            match decoder.next_item(&mut input) {
                Ok(Status::NeedInput) => decoder.finish(),
                Ok(Status::End) => panic!("{:?} does not fail", fault.kind),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        let (left, offset) = (input.clone(), decoder.offset());
        for _ in 0..2 {
            assert_eq!(decoder.next_item(&mut input).unwrap_err(), first);
            decoder.finish();
            let mut more = Bytes::from_static(b"--b--\r\n");
            assert_eq!(decoder.next_item(&mut more).unwrap_err(), first);
            assert_eq!((&more[..], &input), (&b"--b--\r\n"[..], &left), "nothing more is taken");
            assert_eq!(decoder.offset(), offset);
        }
    }
    let mut parser = Parser::new(&Boundary::new(b"b").unwrap(), Limits::new());
    let first = parser.next_event(&mut Bytes::from_static(b"--bx")).unwrap_err();
    parser.finish();
    assert_eq!(parser.next_event(&mut Bytes::from_static(b"--b")).unwrap_err(), first);
    assert_eq!(first.kind(), ParseErrorKind::DelimiterMalformed);
}

#[test]
fn errors_are_small_and_cross_threads() {
    fn assert_send<T: Send + Sync + 'static>() {}
    fn assert_error<T: std::error::Error + Send + Sync + 'static>() {}
    assert_eq!(size_of::<DecodeError>(), size_of::<usize>());
    assert!(size_of::<ParseError>() <= 40);
    assert_error::<DecodeError>();
    assert_error::<ParseError>();
    assert_error::<ContentTypeError>();
    assert_send::<Config>();
    assert_send::<ContentHead>();
    assert_send::<Control>();
    assert_send::<ControlErrorKind>();
    assert_send::<Envelope>();
    assert_send::<EnvelopeDecoder>();
    assert_send::<Event>();
    assert_send::<Item>();
    assert_send::<Parser>();
    assert_send::<Part>();
    assert_send::<PartHead>();
    assert_send::<Reference>();
    assert_send::<SalvagedControl>();
    assert_send::<Status<Item>>();
    assert_send::<Warning>();
}
