//! Every warning: its code, place and part, and that it is an error of the same code when refused
//! (ACP-FRM-6, ACP-CTL-2, ACP-REF-8, ACP-REF-9).

mod fixture;
mod support;

use acp_envelope::{Config, PartName, Warning, WarningCode, decode, decode_with};
use bytes::Bytes;
use fixture::{MULTIPART, control, findings, marked_byte, message, part};
use support::{Finding, bytewise, decode_chunks};

fn warnings_of(body: &str) -> Vec<Warning> {
    decode(MULTIPART, body.to_owned()).unwrap().warnings().to_vec()
}

#[test]
fn every_warning_has_its_code_place_and_part_acp_frm_6_acp_ctl_2_acp_ref_8_acp_ref_9() {
    let cases = findings::all();
    for code in WarningCode::ALL {
        assert!(cases.iter().any(|case| case.code == code), "{code:?} is not provoked");
    }
    for case in cases {
        let (body, place) = marked_byte(&case.body);
        let [warning] = &warnings_of(&body)[..] else { panic!("{body:?}: one finding expected") };
        let part = warning.part().map(|p| (p.index, p.name.as_ref().map(PartName::as_str)));
        assert_eq!(
            (warning.code(), warning.location(), part),
            (case.code, &place, case.part),
            "{body:?}"
        );
        let apart = decode_chunks(MULTIPART.as_bytes(), bytewise(&body.into()), Config::new());
        let index = case.part.map(|(index, _)| index);
        let expected = Finding { code: case.code.as_str(), place, part: index };
        assert_eq!(apart.unwrap().warnings, [expected]);
    }
}

#[test]
fn the_strict_profile_refuses_every_warning_at_its_place_acp_frm_6() {
    for case in findings::all() {
        let (body, place) = marked_byte(&case.body);
        assert!(Config::strict().refuses(case.code));
        let error = decode_with(MULTIPART, body, Config::strict()).unwrap_err();
        let part = error.part().map(|p| (p.index, p.name.as_ref().map(PartName::as_str)));
        assert_eq!((error.code(), error.location(), part), (case.code.as_str(), &place, case.part));
    }
}

#[test]
fn refusing_one_warning_leaves_the_others() {
    for refused in WarningCode::ALL {
        let config = Config::new().refuse(refused);
        for case in findings::all() {
            let (body, _) = marked_byte(&case.body);
            let outcome = decode_with(MULTIPART, body, config);
            assert_eq!(
                outcome.is_err(),
                case.code == refused,
                "{:?} with {refused:?} refused",
                case.code
            );
        }
    }
}

#[test]
fn each_finding_is_a_warning_in_the_order_it_becomes_certain_acp_ref_8() {
    let text = |name: &str| part(name, "x").replace("a/b", "text/plain");
    let parts = message([control("1").replace("; name=\"c\"", ""), text("p"), text("q")]);
    let body = format!("note\r\n{parts}note");
    let codes: Vec<_> =
        warnings_of(&body).iter().map(|w| (w.code(), w.part().map(|p| p.index))).collect();
    use WarningCode::{CharsetMissing, ControlUnnamed, Epilogue, Preamble, UnreferencedPart};
    assert_eq!(
        codes,
        [
            (Preamble, None),
            (ControlUnnamed, Some(0)),
            (CharsetMissing, Some(1)),
            (UnreferencedPart, Some(1)),
            (CharsetMissing, Some(2)),
            (UnreferencedPart, Some(2)),
            (Epilogue, None),
        ]
    );
}

#[test]
fn line_ends_around_the_message_are_no_finding_acp_frm_6() {
    let body = message([control("{}")]);
    let close = body.trim_end();
    for body in [
        body.clone(),
        format!("\r\n{body}"),
        close.to_owned(),
        format!("{close} \t"),
        format!("{close} \t\r\n"),
        format!("{body}\r\n"),
    ] {
        assert_eq!(warnings_of(&body), [], "{body:?}");
        assert!(decode_with(MULTIPART, Bytes::from(body), Config::strict()).is_ok());
    }
}

#[test]
fn text_with_a_charset_and_other_types_are_no_finding_acp_ref_9() {
    for content_type in
        ["text/plain; charset=utf-8", "text/csv; Charset=\"x\"", "application/xml", "textual/x"]
    {
        let p = part("p", "x").replace("a/b", content_type);
        assert_eq!(warnings_of(&message([control("{\"$ref\":\"p\"}"), p])), [], "{content_type}");
    }
}
