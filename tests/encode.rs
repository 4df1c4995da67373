//! What the encoder writes (ACP-ENC-1…8): the exact bytes, boundaries, names, both forms, content
//! that comes while the message is written, envelopes that are merged or sent on.

mod support;

use std::collections::BTreeSet;

use acp_envelope::{
    Config, Control, Envelope, EnvelopeBuilder, EnvelopeEncoder, Limits, Naming, NewPart, PartName,
    Reference, decode, decode_with, syntax::Boundary,
};
use bytes::Bytes;
use serde_json::json;
use support::{cases, read_back};

fn name(name: &str) -> PartName {
    name.parse().unwrap()
}

fn boundary(boundary: &str) -> Boundary {
    Boundary::new(boundary.as_bytes()).unwrap()
}

/// A control document with references to these parts.
fn refer<'a>(names: impl IntoIterator<Item = &'a str>) -> Control {
    let references: Vec<_> = names.into_iter().map(|n| Reference::new(name(n))).collect();
    Control::new(&references).unwrap()
}

fn read(encoder: EnvelopeEncoder) -> Envelope {
    read_back(encoder, Config::new())
}

/// Writes a message with these chunks of content; `END` ends a part's.
fn write(encoder: EnvelopeEncoder, chunks: &[&'static str]) -> Vec<u8> {
    let mut chunks = chunks.iter();
    let next = |_: &PartName| chunks.next().filter(|&&c| c != "END").map(|&c| Bytes::from(c));
    support::write(encoder, next).unwrap()
}

#[test]
fn a_message_has_exactly_these_bytes_acp_enc_1_acp_enc_5_acp_enc_8() {
    let mut message = EnvelopeBuilder::new().boundary(boundary("b"));
    let doc = NewPart::new("text/plain; charset=utf-8", "hello\r\n").name("doc");
    message.add(doc.filename("a \"b\"\r\n.txt").field("X-Trace", "7\té")).unwrap();
    message.add(NewPart::new("image/png", "").name("img")).unwrap();
    let control = Control::from_text("{ \"doc\" : {\"$ref\":\"doc\"}, \"n\":1.0 }\n").unwrap();
    let encoder = message.build(&control).unwrap();
    assert_eq!(encoder.content_type(), "multipart/form-data; boundary=b");
    let expected = "--b\r\nContent-Disposition: form-data; name=\"_acp_control\"\r\n\
        Content-Type: application/json\r\n\r\n{ \"doc\" : {\"$ref\":\"doc\"}, \"n\":1.0 }\n\r\n\
        --b\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"a %22b%22%0D%0A.txt\"\r\n\
        Content-Type: text/plain; charset=utf-8\r\nX-Trace: 7\té\r\n\r\nhello\r\n\r\n\
        --b\r\nContent-Disposition: form-data; name=\"img\"\r\nContent-Type: image/png\r\n\r\n\r\n\
        --b--\r\n";
    assert_eq!(encoder.content_length(), Some(expected.len() as u64));
    assert_eq!(encoder.into_bytes().unwrap(), expected);
}

#[test]
fn the_control_part_can_have_another_name_acp_enc_1() {
    let message = EnvelopeBuilder::new().control_name(name("control"));
    let envelope = read(message.build(&refer([])).unwrap());
    assert_eq!(envelope.control_name().unwrap(), &"control");
    let message = EnvelopeBuilder::new();
    let envelope = read(message.build(&refer([])).unwrap());
    assert_eq!(envelope.control_name().unwrap(), &"_acp_control");
}

#[test]
fn a_control_document_is_utf8_without_a_mark_acp_enc_1_acp_ctl_3() {
    let latin1 = [b"[\"".as_slice(), b"\xe9\"]"].concat();
    for (content_type, body, text) in [
        ("application/json; charset=latin1", latin1, "[\"é\"]"),
        ("application/json", b"\xef\xbb\xbf[1]".to_vec(), "[1]"),
    ] {
        let received = decode(content_type, body).unwrap();
        for json in [false, true] {
            let message = EnvelopeBuilder::new().json_without_parts(json);
            let segments = message.build_from(&received).unwrap().into_segments().unwrap();
            assert!(segments.contains(&Bytes::from(text)));
        }
    }
}

#[test]
fn boundaries_are_128_random_bits_acp_enc_2() {
    let mut seen = BTreeSet::new();
    let mut bits = 0_u128;
    for _ in 0..64 {
        let encoder = EnvelopeBuilder::new().build(&refer([])).unwrap();
        let boundary = encoder.content_type().strip_prefix("multipart/form-data; boundary=");
        let random = u128::from_str_radix(boundary.unwrap(), 16).unwrap();
        assert_eq!(boundary.unwrap().len(), 32);
        bits |= random;
        assert!(seen.insert(random));
    }
    assert_eq!(bits, u128::MAX, "every bit is set at some time");
}

#[test]
fn a_boundary_that_is_no_token_is_quoted_acp_enc_2_acp_ct_3() {
    for text in ["b", "a b'()+_,./:=?c", "=", &"x".repeat(70)] {
        let encoder = EnvelopeBuilder::new().boundary(boundary(text)).build(&refer([])).unwrap();
        assert!(encoder.content_type().contains(text));
        read(encoder);
    }
}

#[test]
fn parts_without_a_name_get_one_acp_enc_3() {
    let mut message = EnvelopeBuilder::new();
    let parts = [0; 3].map(|_| message.add(NewPart::new("a/b", "x")).unwrap());
    let names: BTreeSet<_> = parts.iter().map(|part| part.name().clone()).collect();
    assert_eq!(names.len(), 3);
    let mut of_agent = EnvelopeBuilder::new().naming(Naming::Agent(name("painter-7")));
    let part = of_agent.add(NewPart::new("a/b", "x")).unwrap();
    assert!(part.name().as_str().starts_with("painter-7-"));
    let envelope = read(message.build(&Control::new(&parts).unwrap()).unwrap());
    assert!(envelope.warnings().is_empty());
    for part in parts {
        assert_eq!(envelope.resolve(&part).unwrap().body(), "x");
    }
}

#[test]
fn control_documents_come_from_values_and_text_acp_enc_4() {
    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Task {
        instruction: String,
        images: Vec<Reference>,
        price: f64,
    }
    let mut message = EnvelopeBuilder::new();
    let images = ["a", "b"].map(|n| message.add(NewPart::new("image/png", "").name(n)).unwrap());
    let task = Task { instruction: "compare".to_owned(), images: images.to_vec(), price: 0.5 };
    let value = json!({ "instruction": "compare", "images": images, "price": 0.5 });
    let text = "{\"instruction\":\"compare\",\r\n\"images\":[{\"$ref\":\"a\"},{\"$ref\":\"b\"}],\"price\":0.50}";
    for control in [
        Control::new(&task).unwrap(),
        Control::new(&value).unwrap(),
        Control::from_text(text).unwrap(),
    ] {
        let envelope = read(message.clone().build(&control).unwrap());
        assert_eq!(envelope.control().text(), control.text());
        assert_eq!(envelope.control().deserialize::<Task>().unwrap(), task);
    }
}

#[test]
fn content_can_come_while_the_message_is_written_acp_enc_6() {
    let build = |second: NewPart<'static>| {
        let mut message = EnvelopeBuilder::new().boundary(boundary("b"));
        message.add(NewPart::streamed("a/b", Some(6)).name("one")).unwrap();
        message.add(second.name("two")).unwrap();
        message.add(NewPart::streamed("a/b", Some(0)).name("three")).unwrap();
        message.build(&refer(["one", "two", "three"])).unwrap()
    };
    let encoder = build(NewPart::new("a/b", "\r\n--\r\n--"));
    let length = encoder.content_length().unwrap();
    let written = write(encoder, &["abc", "", "def", "END", "END"]);
    assert_eq!(written.len() as u64, length);
    let envelope = decode("multipart/form-data; boundary=b", written).unwrap();
    let bodies: Vec<_> = envelope.parts().iter().map(|part| part.body().clone()).collect();
    assert_eq!(bodies, ["abcdef", "\r\n--\r\n--", ""]);

    let encoder = build(NewPart::streamed("a/b", None));
    assert_eq!(encoder.content_length(), None);
    let chunks = ["abcdef", "END", "\r", "\n--", "\r\n", "-", "-", "END", "END"];
    let written = write(encoder, &chunks);
    assert_eq!(decode("multipart/form-data; boundary=b", written).unwrap(), envelope);
}

#[test]
fn the_caller_chooses_the_form_of_a_message_without_parts_acp_enc_7_acp_msg_3() {
    let control = Control::from_text("{\"n\": 1.0}").unwrap();
    let encode = |json| EnvelopeBuilder::new().json_without_parts(json).build(&control).unwrap();
    let (multipart, json) = (encode(false), encode(true));
    assert!(multipart.content_type().starts_with("multipart/form-data; boundary="));
    assert_eq!((json.content_type(), json.content_length()), ("application/json", Some(10)));
    assert_eq!(read(multipart), read(json));
    let mut message = EnvelopeBuilder::new().json_without_parts(true);
    message.add(NewPart::new("a/b", "").name("p")).unwrap();
    assert!(message.build(&control).unwrap().content_type().starts_with("multipart/form-data"));
}

/// An envelope with parts of these names, each of which its document refers to, and whose content
/// says who sent them.
fn answer(sender: &str, document: &str, names: &[&str]) -> Envelope {
    let mut message = EnvelopeBuilder::new().control_name(name("control"));
    for name in names {
        let content = format!("{name} of {sender}");
        message.add(NewPart::new("a/b", content).name(*name).filename(sender)).unwrap();
    }
    read(message.build(&Control::from_text(document.to_owned()).unwrap()).unwrap())
}

#[test]
fn merged_envelopes_keep_everything_acp_enc_3_acp_enc_4() {
    let a = answer("a", r#"[ {"$ref":"x"}, {"$ref":"y"}, 1.50 ]"#, &["x", "y"]);
    let b = answer(
        "b",
        "{\"u\": {\"$ref\" : \"x\"},\t\"v\":[{\"$ref\":\"x-2\"},{\"\\u0024ref\":\"\\u0078\"}], \"x\":\"{\\\"$ref\\\":\\\"x\\\"}\", \"w\":{\"$ref\":\"z\"}}",
        &["x", "z", "x-2"],
    );
    let mut message = EnvelopeBuilder::new();
    let own = message.add(NewPart::new("a/b", "ours").name("z")).unwrap();
    let [a, b] = [message.merge(&a).unwrap(), message.merge(&b).unwrap()];
    assert!(a.renamed.is_empty());
    let renamed: Vec<_> = b.renamed.iter().map(|(old, new)| (old.as_str(), new.as_str())).collect();
    assert_eq!(renamed, [("x", "x-3"), ("z", "z-2")]);
    assert_eq!(a.control.text(), r#"[ {"$ref":"x"}, {"$ref":"y"}, 1.50 ]"#);
    assert_eq!(
        b.control.text(),
        "{\"u\": {\"$ref\" : \"x-3\"},\t\"v\":[{\"$ref\":\"x-2\"},{\"\\u0024ref\":\"x-3\"}], \"x\":\"{\\\"$ref\\\":\\\"x\\\"}\", \"w\":{\"$ref\":\"z-2\"}}",
    );
    let own = Control::new(&own).unwrap();
    let control = Control::object([("own", &own), ("a", &a.control), ("b", &b.control)]).unwrap();
    let envelope = read(message.build(&control).unwrap());
    assert!(envelope.warnings().is_empty());
    let content = |pointer: &str| {
        let value = envelope.control().value().unwrap();
        let reference: Reference =
            serde_json::from_value(value.pointer(pointer).unwrap().clone()).unwrap();
        envelope.resolve(&reference).unwrap().body().clone()
    };
    for (pointer, expected) in [
        ("/own", "ours"),
        ("/a/0", "x of a"),
        ("/a/1", "y of a"),
        ("/b/u", "x of b"),
        ("/b/v/0", "x-2 of b"),
        ("/b/v/1", "x of b"),
        ("/b/w", "z of b"),
    ] {
        assert_eq!(content(pointer), expected, "{pointer}");
    }
    assert_eq!(envelope.parts().len(), 6);
    let senders: Vec<_> =
        envelope.parts().iter().map(|p| p.head().filename().map(Into::into)).collect();
    let expected = [None, Some("a"), Some("a"), Some("b"), Some("b"), Some("b")];
    assert_eq!(senders, expected.map(|sender| sender.map(str::to_owned)));
}

#[test]
fn a_merged_part_can_have_neither_the_control_parts_name_nor_one_too_long_acp_name_1_acp_name_2() {
    let long = "n".repeat(256);
    let document = format!(r#"[{{"$ref":"_acp_control"}},{{"$ref":"{long}"}}]"#);
    let received = answer("a", &document, &["_acp_control", &long]);
    let mut message = EnvelopeBuilder::new();
    let first = message.merge(&received).unwrap();
    assert_eq!(first.renamed.len(), 1);
    assert_eq!(first.renamed["_acp_control"], "_acp_control-2");
    let second = message.merge(&received).unwrap();
    assert_eq!(second.renamed["_acp_control"], "_acp_control-3");
    assert_eq!(second.renamed[long.as_str()], format!("{}-2", &long[..254]).as_str());
    let control = Control::array([&first.control, &second.control]).unwrap();
    assert!(read(message.build(&control).unwrap()).warnings().is_empty());
}

#[test]
fn a_merge_that_fails_leaves_the_message_as_it_was_acp_lim_1() {
    let limits = Limits::new().max_parts(3);
    let mut message = EnvelopeBuilder::with_config(Config::new().limits(limits));
    message.add(NewPart::new("a/b", "").name("p")).unwrap();
    let before = format!("{message:?}");
    let received = answer("a", "[]", &["p", "q", "r"]);
    assert_eq!(message.merge(&received).unwrap_err().code(), "limit_parts");
    assert_eq!(format!("{message:?}"), before);
    assert_eq!(
        message.add(NewPart::new("a/b\r\n", "")).unwrap_err().code(),
        "content_type_invalid"
    );
    assert_eq!(format!("{message:?}"), before);
    message.merge(&answer("a", "[]", &["q", "r"])).unwrap();
}

#[test]
fn an_unnamed_control_part_gets_a_name_that_is_free_acp_enc_1_acp_ctl_2() {
    let received = decode("application/json", "1").unwrap();
    let sent = read(EnvelopeBuilder::new().build_from(&received).unwrap());
    assert_eq!(sent.control_name().unwrap(), &"_acp_control");
    let body = "--b\r\nContent-Type: application/json\r\n\r\n{\"$ref\":\"_acp_control\"}\r\n--b\r\n\
        Content-Disposition: form-data; name=\"_acp_control\"\r\nContent-Type: a/b\r\n\r\nx\r\n--b--\r\n";
    let received = decode("multipart/form-data; boundary=b", body).unwrap();
    let sent = read(EnvelopeBuilder::new().build_from(&received).unwrap());
    assert_eq!(sent, received);
    assert_eq!(sent.control_name().unwrap().as_str().len(), 36);
}

#[test]
fn what_was_received_can_be_sent_on_acp_enc_4_acp_enc_8() {
    let (mut sent_on, mut accepted) = (0, 0);
    for case in cases::corpus().into_iter().chain(cases::captures()) {
        accepted += usize::from(case.expect["ok"].is_object());
        let Ok(received) = decode_with(&case.content_type, case.body.clone(), case.config) else {
            continue;
        };
        // The new boundary may be longer, and a limit of the case so tight that it matters.
        let config = case.config.limits(Limits::unbounded_for_trusted_input());
        let message = EnvelopeBuilder::with_config(config);
        let encoder = message.build_from(&received).unwrap_or_else(|e| panic!("{}: {e}", case.id));
        let content_type = encoder.content_type().to_owned();
        let body = encoder.into_bytes().unwrap();
        let again = decode_with(&content_type, body.clone(), config)
            .unwrap_or_else(|e| panic!("{}: {e}", case.id));
        assert_eq!(again, received, "{}", case.id);
        for part in again.parts() {
            let fields: Vec<_> = part.head().fields().map(|f| f.name).collect();
            assert_eq!(fields[..2], ["Content-Disposition", "Content-Type"], "{}", case.id);
            assert_eq!(fields.len() - 2, part.head().extra_fields().count(), "{}", case.id);
        }
        sent_on += 1;
    }
    assert!(sent_on > 100 && sent_on == accepted, "{sent_on} of {accepted}");
}
