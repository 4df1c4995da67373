//! Which limit or fault is reported where two are near each other: the one that is certain first, at
//! the byte that makes it certain (ACP-LIM-2, ACP-LIM-3, ACP-FRM-7).

mod fixture;
mod support;

use acp_envelope::{Config, Limits, Location};
use bytes::Bytes;
use fixture::{MULTIPART, control, marked, marked_byte, message, message_of, part};
use support::{Finding, Message, cut, decode_chunks, finding, outcome};

#[test]
fn a_fault_within_the_message_limit_comes_before_it_acp_lim_3() {
    let with = |part: &str| message([control("{\"$ref\":\"p\"}").as_str(), part]);
    for (code, body) in [
        ("delimiter_malformed", "--b‸x\r\n".to_owned()),
        ("delimiter_malformed", with(&part("p", "123\r\n--b‸123"))),
        ("header_malformed", with("Content-Type‸ : a/b\r\n\r\n")),
        ("name_missing", with("Content-Type: a/b\r\n\r‸\n")),
        ("name_duplicate", with("Content-Disposition: form-data; name=c\r\n\r‸\n")),
        ("control_malformed", format!("--b\r\n{}\r\n--b\r‸\n", control("{"))),
        ("ref_unresolved", format!("--b\r\n{}\r\n--b--\r‸\n", control("{\"$ref\":\"p\"}"))),
        ("control_missing", "--b--\r‸\n".to_owned()),
    ] {
        let (body, certain) = marked(&body);
        let code_within = |n| {
            let limits = Limits::new().max_message_bytes(n as u64);
            outcome(MULTIPART, &body, limits).map_or_else(|e| e, |_| panic!("{code} is accepted"))
        };
        assert_eq!(code_within(certain + 1).code, code, "{body:?}");
        let place = Location::Byte(certain as u64);
        assert_eq!(code_within(certain), finding("limit_message_size", place, None), "{body:?}");
    }
    let exact = outcome(MULTIPART, "--b\r\n", Limits::new().max_message_bytes(5));
    assert_eq!(exact, Err(finding("truncated", Location::Byte(5), None)));
}

/// The same, and cut in two at every place.
fn outcome_of_every_cut(
    content_type: &str,
    body: &str,
    limits: Limits,
) -> Result<Message, Finding> {
    let whole = outcome(content_type, body, limits);
    let bytes = Bytes::copy_from_slice(body.as_bytes());
    for first in 0..bytes.len() {
        let config = Config::new().limits(limits);
        let in_two = decode_chunks(content_type.as_bytes(), cut(&bytes, [first]), config);
        assert_eq!(in_two, whole, "{} cut at {first}", bytes.escape_ascii());
    }
    whole
}

#[test]
fn excess_that_looks_like_a_delimiter_is_certain_where_the_match_breaks_acp_lim_2_acp_frm_7() {
    let content_type = "multipart/form-data; boundary=bound";
    for tail in [
        "\r‸x",
        "\r\n‸x",
        "\r\n-‸x",
        "\r\n--‸x",
        "\r\n--boun‸x",
        "\r\n--b‸\r\n--",
        "\r\n‸",
        "\r‸\r\n",
    ] {
        let content = format!("1234{tail}");
        let body = message_of(&[("p", &content), ("q", "")]);
        let body = body.replace("--b\r\nC", "--bound\r\nC").replace("--b--", "--bound--");
        let (body, place) = marked_byte(&body);
        let with = |limit: usize| {
            outcome_of_every_cut(content_type, &body, Limits::new().max_part_bytes(limit as u64))
        };
        // Whichever byte of the near-delimiter is the one too many.
        let (content, end) = marked(&content);
        for limit in 4..end {
            let expected = finding("limit_part_size", place.clone(), Some(1));
            assert_eq!(with(limit), Err(expected), "{tail:?}, limit {limit}");
        }
        assert_eq!(with(content.len()).unwrap().parts[0].body, content.as_bytes());
    }
}
