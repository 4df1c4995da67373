//! `acp serve`: what it answers, and what a client cannot do to it.

#![cfg(feature = "cli")]

#[path = "gateway/mod.rs"]
mod gateway;
#[path = "support/net.rs"]
mod net;

use std::time::Duration;

use ::http::HeaderValue;
use gateway::{Gateway, TYPE, answer, code, head, head_with_length, message, start};
use net::{exchange, problem, request, within};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::sleep,
};

async fn connect(gateway: &Gateway) -> TcpStream {
    TcpStream::connect(gateway.address).await.unwrap()
}

async fn post(gateway: &Gateway, content_type: &str, body: &[u8]) -> (u16, Value) {
    let length = body.len().to_string();
    let fields = [("Content-Type", content_type), ("Content-Length", &length)];
    let (status, headers, body) =
        exchange(gateway.address, &request("/messages", &fields, body)).await;
    let expected = if status == 200 { "application/json" } else { "application/problem+json" };
    assert_eq!(headers["content-type"], expected);
    (status.as_u16(), serde_json::from_slice(&body).unwrap())
}

fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[tokio::test]
async fn both_forms_are_answered_with_what_is_in_them_acp_msg_1() {
    let gateway = Gateway::start(&[]);
    let body = message(b"%PDF");
    let (status, summary) = post(&gateway, TYPE, &body).await;
    let document = json!({ "p": { "$ref": "p" } });
    let expected = json!({
        "verdict": "ok", "form": "multipart", "size": body.len(),
        "control": {
            "name": "c", "size": 18, "sha256": sha256(b"{\"p\":{\"$ref\":\"p\"}}"),
            "references": 1, "document": document,
        },
        "parts": [{
            "index": 1, "name": "p", "content_type": "application/pdf", "filename": null,
            "size": 4, "sha256": sha256(b"%PDF"), "referenced_by": ["/p"], "references": 1,
        }],
        "warnings": [],
    });
    assert_eq!((status, summary), (200, expected));

    let (status, summary) = post(&gateway, "application/json", b"[1.50]").await;
    assert_eq!((status, &summary["form"]), (200, &json!("json")));
    assert_eq!(summary["control"]["document"].to_string(), "[1.5]");
    let nameless = String::from_utf8(message(b"x")).unwrap();
    let nameless = nameless.replace("Content-Disposition: form-data; name=\"c\"\r\n", "");
    let (status, summary) = post(&gateway, TYPE, nameless.as_bytes()).await;
    assert_eq!((status, &summary["warnings"][0]["code"]), (200, &json!("control_unnamed")));
}

#[tokio::test]
async fn what_is_refused_is_answered_with_a_problem() {
    let gateway = Gateway::start(&["--max-part-size", "3B"]);
    let whole = message(b"%PD");
    let text = String::from_utf8(whole.clone()).unwrap();
    for (content_type, body, status, code) in [
        ("text/plain", &b""[..], 415, "content_type_unsupported"),
        ("multipart/form-data", b"", 400, "boundary_missing"),
        (TYPE, &whole[..whole.len() - 9], 400, "truncated"),
        (TYPE, &message(b"%PDF"), 413, "limit_part_size"),
        (TYPE, text.replace("\"p\"\r\n", "\"q\"\r\n").as_bytes(), 422, "ref_unresolved"),
        ("application/json", b"[1,]", 400, "control_malformed"),
    ] {
        let (answered, document) = post(&gateway, content_type, body).await;
        assert_eq!((answered, &document["code"]), (status, &json!(code)), "{document}");
        assert!(document["hint"].as_str().is_some_and(|hint| !hint.is_empty()));
    }
    assert_eq!(post(&gateway, TYPE, &whole).await.0, 200);
}

#[tokio::test]
async fn other_paths_are_the_page_health_and_metrics() {
    let gateway = Gateway::start(&[]);
    let get = async |method: &str, path: &str| {
        let request = format!("{method} {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        exchange(gateway.address, request.as_bytes()).await
    };
    let (status, headers, page) = get("GET", "/").await;
    assert_eq!(
        (status.as_u16(), &headers["content-type"]),
        (200, &HeaderValue::from_static("text/html; charset=utf-8"))
    );
    assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    assert!(String::from_utf8(page).unwrap().contains("FormData"));
    let (status, _, body) = get("GET", "/healthz").await;
    assert_eq!((status.as_u16(), &body[..]), (200, &b"ok\n"[..]));

    post(&gateway, TYPE, &message(b"%PDF")).await;
    post(&gateway, "application/json", b"[1,]").await;
    let (_, headers, _) = get("GET", "/metrics").await;
    assert!(headers["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    for (name, figure) in [
        ("acp_messages_total{verdict=\"valid\",code=\"\"}", 1.0),
        ("acp_messages_total{verdict=\"refused\",code=\"control_malformed\"}", 1.0),
        ("acp_received_bytes_total", message(b"%PDF").len() as f64 + 4.0),
        ("acp_parts_total", 1.0),
        ("acp_duration_seconds_count", 2.0),
        ("acp_in_flight", 0.0),
    ] {
        assert_eq!(gateway.metric(name).await, Some(figure), "{name}");
    }

    let (status, headers, body) = get("GET", "/nothing").await;
    assert_eq!(problem(status, &headers, &body), (404, "not_found".to_owned()));
    let (status, headers, body) = get("GET", "/messages").await;
    assert_eq!(problem(status, &headers, &body), (405, "method_not_allowed".to_owned()));
    assert_eq!(headers["allow"], "POST");
}

#[tokio::test]
async fn the_head_is_judged_before_the_body_is_asked_for_acp_ct_1_acp_ct_3_acp_lim_3() {
    let gateway = Gateway::start(&["--max-message-size", "1000B"]);
    for (fields, status, expected) in [
        (&[("Content-Type", "text/plain")][..], 415, "content_type_unsupported"),
        (&[], 415, "content_type_unsupported"),
        (&[("Content-Type", "multipart/form-data; boundary=\"\"")], 400, "boundary_invalid"),
        (&[("Content-Type", TYPE), ("Content-Type", TYPE)], 400, "content_type_invalid"),
        (&[("Content-Type", TYPE), ("Content-Encoding", "gzip")], 415, "content_encoding"),
        (&[("Content-Type", TYPE), ("Content-Length", "1001")], 413, "limit_message_size"),
    ] {
        for expect in [None, Some(("Expect", "100-continue"))] {
            let mut fields = fields.to_vec();
            if !fields.iter().any(|(name, _)| *name == "Content-Length") {
                fields.push(("Content-Length", "500"));
            }
            fields.extend(expect);
            let mut stream = connect(&gateway).await;
            stream.write_all(head(&fields).as_bytes()).await.unwrap();
            // Not a byte of the body was sent.
            let (answered, _, body) = answer(&mut stream).await;
            assert_eq!((answered, code(&body).as_str()), (status, expected), "{fields:?}");
        }
    }

    let body = message(b"%PDF");
    let mut stream = connect(&gateway).await;
    let (length, expect) = (body.len().to_string(), "100-continue");
    let fields = [("Content-Type", TYPE), ("Content-Length", &length), ("Expect", expect)];
    stream.write_all(head(&fields).as_bytes()).await.unwrap();
    assert_eq!(answer(&mut stream).await.0, 100);
    stream.write_all(&body).await.unwrap();
    assert_eq!(answer(&mut stream).await.0, 200);
}

/// A connection that is closed while the client still sends is reset, and the answer is lost.
#[tokio::test]
async fn a_client_that_is_refused_early_and_sends_on_gets_its_answer() {
    let gateway = Gateway::start(&[]);
    let mut body = message(&vec![b'x'; 8 << 20]);
    for _ in 0..10 {
        let mut stream = connect(&gateway).await;
        stream.write_all(head_with_length("text/plain", body.len()).as_bytes()).await.unwrap();
        within(stream.write_all(&body)).await.unwrap();
        assert_eq!(answer(&mut stream).await.0, 415);
    }
    body[3] = b'?';
    let client = net::reqwest_client();
    for _ in 0..10 {
        let request = client.post(gateway.url("/messages")).header("content-type", TYPE);
        let answer = within(request.body(body.clone()).send()).await.unwrap();
        assert_eq!(answer.status(), 400);
    }
}

#[tokio::test]
async fn what_follows_a_refused_head_is_not_taken_for_a_request() {
    let gateway = Gateway::start(&[]);
    let inside = "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n".repeat(5000);
    let mut stream = connect(&gateway).await;
    let first = head_with_length("text/plain", inside.len());
    stream.write_all(&[first.as_bytes(), inside.as_bytes()].concat()).await.unwrap();
    stream.write_all(&request("/messages", &[("Content-Type", "image/png")], b"")).await.unwrap();
    let mut answers = Vec::new();
    within(stream.read_to_end(&mut answers)).await.unwrap();
    let answers = String::from_utf8(answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 415 ").count(), 2, "{answers}");
    assert_eq!(answers.matches("HTTP/1.1 ").count(), 2, "{answers}");
}

#[tokio::test]
async fn reqwest_is_answered_for_its_right_and_its_easiest_call_acp_ctl_1() {
    use reqwest::multipart::{Form, Part};

    let gateway = Gateway::start(&["--strict"]);
    let document = r#"{"image":{"$ref":"img"}}"#;
    let png = std::fs::read("testdata/files/page.png").unwrap();
    let image = || Part::bytes(png.clone()).file_name("page.png").mime_str("image/png").unwrap();
    let send = async |form: Form| {
        let request = net::reqwest_client().post(gateway.url("/messages")).multipart(form);
        let answer = within(request.send()).await.unwrap();
        let status = answer.status().as_u16();
        let document = answer.bytes().await.unwrap();
        (status, serde_json::from_slice::<Value>(&document).unwrap())
    };
    let control = Part::text(document).mime_str("application/json").unwrap();
    let (status, summary) =
        send(Form::new().part("_acp_control", control).part("img", image())).await;
    assert_eq!((status, &summary["parts"][0]["sha256"]), (200, &json!(sha256(&png))));
    assert_eq!(summary["parts"][0]["filename"], "page.png");

    let (status, problem) =
        send(Form::new().text("_acp_control", document).part("img", image())).await;
    assert_eq!((status, &problem["code"]), (422, &json!("control_not_json")));
}

#[tokio::test]
async fn limits_and_strictness_are_flags_and_variables() {
    let epilogue = [message(b"%PDF"), b"bye".to_vec()].concat();
    for (args, env, status) in [
        (&[][..], &[][..], 200),
        (&["--strict"], &[], 422),
        (&["--refuse", "preamble,epilogue"], &[], 422),
        (&["--max-parts", "0"], &[], 413),
        (&[], &[("ACP_STRICT", "true")], 422),
        (&[], &[("ACP_STRICT", "no")], 200),
        (&[], &[("ACP_REFUSE", "preamble,epilogue")], 422),
        (&[], &[("ACP_MAX_PART_SIZE", "3B")], 413),
        (&["--max-part-size", "4B"], &[("ACP_MAX_PART_SIZE", "3B")], 200),
    ] {
        let gateway = Gateway::start_with(args, env);
        let (answered, document) = post(&gateway, TYPE, &epilogue).await;
        assert_eq!(answered, status, "{args:?} {env:?}: {document}");
    }
}

#[tokio::test]
async fn a_client_that_sends_too_slowly_is_cut() {
    let gateway = Gateway::start(&["--client-timeout", "1s", "--min-rate", "100B"]);
    let body = message(b"%PDF");

    // One byte after the other, far below the rate.
    let mut stream = connect(&gateway).await;
    stream.write_all(head_with_length(TYPE, body.len()).as_bytes()).await.unwrap();
    let (mut read, mut write) = stream.split();
    let drip = async {
        for byte in &body {
            if write.write_all(&[*byte]).await.is_err() {
                break;
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    let mut answered = Vec::new();
    tokio::select! {
        () = drip => panic!("every byte was taken"),
        end = within(read.read_to_end(&mut answered)) => drop(end),
    }
    assert!(answered.starts_with(b"HTTP/1.1 408 "), "{}", answered.escape_ascii());
    assert_eq!(gateway.verdict(1), ("failed".into(), "client_timeout".into(), Some(408)));

    // Half a body, and nothing more.
    let mut stream = connect(&gateway).await;
    stream.write_all(head_with_length(TYPE, body.len()).as_bytes()).await.unwrap();
    stream.write_all(&body[..99]).await.unwrap();
    let (status, _, document) = answer(&mut stream).await;
    assert_eq!((status, code(&document).as_str()), (408, "client_timeout"));
    assert_eq!(within(stream.read(&mut [0; 9])).await.unwrap(), 0, "the connection is closed");

    // Half a head.
    let mut stream = connect(&gateway).await;
    stream.write_all(b"POST /messages HTTP/1.1\r\nHost:").await.unwrap();
    let mut answered = Vec::new();
    within(stream.read_to_end(&mut answered)).await.unwrap();
    assert!(!answered.starts_with(b"HTTP/1.1 2"), "{}", answered.escape_ascii());

    // Fast enough, with pauses.
    let (body, mut stream) = (message(&[b'x'; 600]), connect(&gateway).await);
    stream.write_all(head_with_length(TYPE, body.len()).as_bytes()).await.unwrap();
    for piece in body.chunks(200) {
        stream.write_all(piece).await.unwrap();
        sleep(Duration::from_millis(600)).await;
    }
    assert_eq!(answer(&mut stream).await.0, 200);
}

#[tokio::test]
async fn no_more_messages_are_in_flight_than_allowed() {
    let gateway = Gateway::start(&["--max-in-flight", "1"]);
    let body = message(b"%PDF");
    let half = |stream: TcpStream| async {
        let mut stream = stream;
        stream.write_all(head_with_length(TYPE, body.len()).as_bytes()).await.unwrap();
        stream.write_all(&body[..body.len() / 2]).await.unwrap();
        while gateway.metric("acp_in_flight").await != Some(1.0) {}
        stream
    };
    let mut first = within(half(connect(&gateway).await)).await;
    let second = request("/messages", &[("Content-Type", "application/json")], b"");
    let (status, headers, document) = exchange(gateway.address, &second).await;
    assert_eq!(problem(status, &headers, &document), (503, "busy".to_owned()));
    assert_eq!(headers["retry-after"], "1");
    first.write_all(&body[body.len() / 2..]).await.unwrap();
    assert_eq!(answer(&mut first).await.0, 200);
    gateway.is_idle().await;

    // One that goes away in the middle of a part leaves its place.
    for n in 0..5 {
        drop(within(half(connect(&gateway).await)).await);
        gateway.is_idle().await;
        let (verdict, _, _) = gateway.verdict(n + 3);
        assert!(["aborted", "failed"].contains(&verdict.as_str()), "{verdict}");
    }
    assert_eq!(post(&gateway, TYPE, &body).await.0, 200);
}

#[tokio::test]
async fn no_more_connections_are_served_than_allowed() {
    let gateway = Gateway::start(&["--max-connections", "1"]);
    let health = b"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n";
    let mut first = connect(&gateway).await;
    first.write_all(health).await.unwrap();
    assert_eq!(answer(&mut first).await.0, 200);
    let mut second = connect(&gateway).await;
    second.write_all(health).await.unwrap();
    let waits = tokio::time::timeout(Duration::from_millis(300), second.readable()).await;
    assert!(waits.is_err(), "the second one is served beside the first");
    drop(first);
    assert_eq!(answer(&mut second).await.0, 200);
}

#[cfg(unix)]
#[tokio::test]
async fn messages_in_flight_finish_when_it_is_told_to_stop() {
    let mut gateway = Gateway::start(&[]);
    let body = message(b"%PDF");
    let mut stream = connect(&gateway).await;
    stream.write_all(head_with_length(TYPE, body.len()).as_bytes()).await.unwrap();
    stream.write_all(&body[..99]).await.unwrap();
    while gateway.metric("acp_in_flight").await != Some(1.0) {}
    gateway.terminate();
    within(async {
        while TcpStream::connect(gateway.address).await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    stream.write_all(&body[99..]).await.unwrap();
    assert_eq!(answer(&mut stream).await.0, 200);
    assert!(gateway.ended().success());

    // One that does not come to its end is not waited for.
    let mut gateway = Gateway::start(&["--shutdown-timeout", "100ms"]);
    let mut stream = connect(&gateway).await;
    stream.write_all(head_with_length(TYPE, body.len()).as_bytes()).await.unwrap();
    while gateway.metric("acp_in_flight").await != Some(1.0) {}
    gateway.terminate();
    assert!(gateway.ended().success());
    assert_eq!(gateway.verdict(1), ("aborted".into(), "".into(), None));
}

#[tokio::test]
async fn a_message_is_one_log_line_without_payload_or_names() {
    let gateway = Gateway::start(&[]);
    let start = start().replace("\"p\"", "\"secret-name\"").replace("pdf", "pdf\r\nX-A: secret");
    let body = format!("{start}secret-content\r\n--b--\r\n");
    assert_eq!(post(&gateway, TYPE, body.as_bytes()).await.0, 200);
    assert_eq!(post(&gateway, TYPE, &body.as_bytes()[..body.len() - 6]).await.0, 400);
    let lines = gateway.messages(2);
    let line = &lines[0];
    assert_eq!((&line["verdict"], &line["status"]), (&json!("valid"), &json!(200)));
    assert_eq!((&line["bytes"], &line["parts"]), (&json!(body.len()), &json!(1)));
    assert_eq!((&line["warnings"], &line["code"]), (&json!(0), &json!("")));
    assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(line["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    assert_eq!((&lines[1]["verdict"], &lines[1]["code"]), (&json!("refused"), &json!("truncated")));
    assert_eq!(lines.len(), 2);
    let text = gateway.lines().join("\n");
    assert!(!text.contains("secret") && !text.contains('\u{1b}'), "{text}");
}
