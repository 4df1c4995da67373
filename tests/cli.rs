//! The command `acp`, run as its users run it: verdicts, exit status, JSON, HTTP messages, bare
//! bodies, standard input; and every command of the README.
#![cfg(feature = "cli")]

mod support;

use std::{fs, io::Write, path::PathBuf};

use serde_json::Value;
use support::command::{run, run_with};

const BODY: &str = "--b\r\nContent-Disposition: form-data; name=\"_acp_control\"\r\n\
    Content-Type: application/json\r\n\r\n{\"doc\":{\"$ref\":\"d\"}}\r\n--b\r\n\
    Content-Disposition: form-data; name=\"d\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b--\r\n";
const TYPE: &str = "multipart/form-data; boundary=b";

fn json(out: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

fn http(fields: &str, body: &str) -> Vec<u8> {
    format!("POST /messages HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}").into_bytes()
}

#[test]
fn every_command_of_the_readme_works() {
    let readme = fs::read_to_string("README.md").unwrap();
    let block = readme.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let commands: Vec<_> = block
        .lines()
        .filter_map(|l| l.strip_prefix("cargo run --release --features cli -- "))
        .collect();
    assert!(commands.len() >= 2);
    for command in commands {
        let (status, out, _) = run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(status, 0, "{command}: {out}");
        assert!(out.contains(": ok"), "{command}: {out}");
    }
    let shown = readme.split("$ acp ").nth(1).unwrap().split("```").next().unwrap();
    let (command, expected) = shown.split_once('\n').unwrap();
    let (status, out, _) = run(&command.split(' ').collect::<Vec<_>>());
    assert_eq!((status, out.as_str()), (1, expected));
}

#[test]
fn every_capture_gets_its_verdict_as_a_file() {
    for case in support::cases::captures() {
        let path = format!("testdata/captures/{}", case.id);
        let (status, out, _) = run(&["check", "--json", &path]);
        let report = json(&out);
        assert_eq!(report["file"], path);
        if let Some(code) = case.expect["error"].as_str() {
            assert_eq!((status, report["verdict"].as_str()), (1, Some("refused")), "{path}");
            assert_eq!(report["error"]["code"], code, "{path}");
            assert!(report["error"]["hint"].is_string());
        } else {
            assert_eq!((status, report["verdict"].as_str()), (0, Some("ok")), "{path}: {out}");
            assert_eq!(report["error"], Value::Null);
            for (ours, theirs) in report["parts"]
                .as_array()
                .unwrap()
                .iter()
                .zip(case.expect["ok"]["parts"].as_array().unwrap())
            {
                for member in ["name", "content_type", "filename", "sha256"] {
                    assert_eq!(ours[member], theirs[member], "{path}");
                }
                assert_eq!(ours["size"], theirs["len"], "{path}");
            }
        }
    }
}

#[test]
fn json_has_a_stable_shape() {
    let (status, out, _) =
        run_with(&["check", "--json", "--content-type", TYPE, "-"], BODY.as_bytes());
    let expected = serde_json::json!({
        "file": "-", "verdict": "ok", "error": null, "form": "multipart", "size": BODY.len(),
        "control": {
            "name": "_acp_control", "size": 20, "references": 1,
            "sha256": "578e9c5b654c346c4052605d03b4ccd00b76d86db4dcadd17c42a58a1af6408e",
        },
        "parts": [{
            "index": 1, "name": "d", "content_type": "text/plain", "filename": null, "size": 5,
            "sha256": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
            "referenced_by": ["/doc"], "references": 1,
        }],
        "warnings": [{
            "code": "charset_missing", "message": "part 1 \"d\": text without a charset (byte 175)",
            "location": {"byte": 175}, "part": {"index": 1, "name": "d"},
            "hint": "say which charset the text is in, such as `text/plain; charset=utf-8`, or send another type",
        }],
    });
    assert_eq!(status, 0);
    assert_eq!(json(&out), expected);
}

#[test]
fn places_are_told_apart_in_json() {
    for (content_type, body, location) in [
        (TYPE, "--b\n", r#"{"byte":3}"#),
        ("text/plain", "", r#"{"content_type":0}"#),
        ("application/json", "[1,]", r#"{"line":1,"column":4}"#),
        ("application/json", "[{\"$ref\":\"a\"}]", r#"{"pointer":"/0"}"#),
    ] {
        let (status, out, _) =
            run_with(&["check", "--json", "--content-type", content_type, "-"], body.as_bytes());
        assert_eq!((status, &json(&out)["error"]["location"]), (1, &json(location)));
    }
    let large = http(&format!("Content-Type: {TYPE}\r\nContent-Length: 99\r\n"), "");
    let (status, out, _) = run_with(&["check", "--json", "--max-message-size", "98B", "-"], &large);
    assert_eq!((status, &json(&out)["error"]["code"]), (1, &Value::from("limit_message_size")));
    assert_eq!(json(&out)["error"]["location"], json(r#"{"content_length":99}"#));
}

#[test]
fn the_bytes_around_a_fault_are_shown_with_a_mark_under_it() {
    let body = BODY.replace("{\"doc\"", "{doc");
    for (content_type, body, shown, marked) in [
        (TYPE, body.as_str(), r"application/json\r\n\r\n{doc:{", "doc:"),
        ("text/pl ain", "", "text/pl ain", "ain"),
        ("application/json", "\u{feff}[1,\n 2,]", r"\xef\xbb\xbf[1,\n 2,]", "]"),
    ] {
        let (_, out, _) =
            run_with(&["check", "--content-type", content_type, "-"], body.as_bytes());
        let mut lines = out.lines().skip_while(|line| !line.contains(shown));
        let (line, mark) = (lines.next().unwrap(), lines.next().unwrap());
        let at = mark.chars().position(|c| c == '^').unwrap();
        assert!(line.chars().skip(at).collect::<String>().starts_with(marked), "{out}");
    }
}

#[test]
fn http_bodies_end_where_http_says() {
    let len = BODY.len();
    let chunked =
        format!("5;x=y\r\n{}\r\n{:X}\r\n{}\r\n0\r\nX: y\r\n\r\n", &BODY[..5], len - 5, &BODY[5..]);
    let with_length = format!("Content-Type: {TYPE}\r\nContent-Length: {len}\r\n");
    let typed = format!("Content-Type: {TYPE}\r\n");
    let coded = format!("{typed}Transfer-Encoding: chunked\r\n");
    for (fields, body) in [(&with_length, BODY), (&typed, BODY), (&coded, chunked.as_str())] {
        let (status, out, error) = run_with(&["check", "-"], &http(fields, body));
        assert_eq!((status, error.as_str()), (0, ""), "{fields}: {out}");
    }
    let (status, out, _) = run_with(&["check", "-"], &http(&coded, &chunked[..chunked.len() - 2]));
    assert_eq!(
        (status, out.contains("truncated: input ends before the HTTP body does")),
        (1, true),
        "{out}"
    );
    let (status, _, error) =
        run_with(&["check", "-"], &http(&with_length, &format!("{BODY}GET /")));
    assert_eq!((status, error.contains("5 bytes after the HTTP message")), (0, true), "{error}");
    for broken in ["5\r\n--b\r\nx", "g\r\n", "5\r\n--b\r\n\n\r\n"] {
        let (status, _, error) = run_with(&["check", "-"], &http(&coded, broken));
        assert_eq!((status, error.starts_with("acp: -: ")), (2, true), "{broken:?}: {error}");
    }
}

#[test]
fn http_has_one_content_type_field_acp_ct_2() {
    let (status, out, _) = run_with(&["check", "-"], &http("", BODY));
    assert_eq!(status, 1);
    assert!(out.contains("content_type_unsupported: there is no Content-Type"), "{out}");
    let twice = http(&format!("Content-Type: {TYPE}\r\ncontent-type: {TYPE}\r\n"), BODY);
    let (status, out, _) = run_with(&["check", "-"], &twice);
    assert_eq!(status, 1);
    assert!(out.contains("content_type_invalid: there are two Content-Type fields"), "{out}");
}

#[test]
fn unreadable_input_is_exit_status_2() {
    assert_eq!(run(&["check", "no/such/file"]).0, 2);
    assert_eq!(run(&["check", "src"]).0, 2);
    assert_eq!(run(&["check"]).0, 2);
    assert_eq!(run(&["check", "--max-parts", "x", "README.md"]).0, 2);
    let (status, out, error) = run(&["check", "README.md"]);
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(error.contains("--content-type"), "{error}");
    let (status, out, _) =
        run(&["check", "--json", "README.md", "testdata/captures/curl/acp.http"]);
    let verdicts: Vec<_> = out.lines().map(|line| json(line)["verdict"].clone()).collect();
    assert_eq!((status, verdicts), (2, vec!["error".into(), "ok".into()]));
    let (status, out, _) = run_with(&["check", "--json", "-"], b"POST / HTTP/1.1\r\nContent-Len");
    assert_eq!((status, &json(&out)["error"]["code"]), (2, &Value::from("http_malformed")));
}

#[test]
fn what_a_sender_writes_cannot_steer_the_terminal() {
    let body = BODY.replace(
        "name=\"d\"",
        "name=\"d\"; filename*=utf-8''%E2%80%AE%C2%9Bgpj.exe; filename=\"a%0D%0A\u{202e}b\"",
    );
    let (status, out, _) = run_with(&["inspect", "--content-type", TYPE, "-"], body.as_bytes());
    assert_eq!(status, 0);
    assert!(
        out.chars().all(|c| c == '\n' || !c.is_control()) && !out.contains('\u{202e}'),
        "{out:?}"
    );
}

#[test]
fn inspect_shows_parts_references_and_warnings() {
    let (status, out, _) = run_with(&["inspect", "--content-type", TYPE, "-"], BODY.as_bytes());
    assert_eq!(status, 0);
    for shown in [
        "_acp_control",
        "text/plain",
        "2cf24dba5fb0a30e26e83b2ac5b9e29e",
        "/doc",
        "warning: charset_missing: part 1 \"d\"",
    ] {
        assert!(out.contains(shown), "{shown}: {out}");
    }
    let cut = &BODY[..BODY.len() - 8];
    let (status, out, _) = run_with(&["inspect", "--content-type", TYPE, "-"], cut.as_bytes());
    assert_eq!(
        (status, out.contains("truncated:"), out.contains("(incomplete)")),
        (1, true, true),
        "{out}"
    );
}

#[test]
fn pointers_are_listed_within_bounds() {
    let references = vec!["{\"$ref\":\"d\"}"; 2000].join(",");
    let listed = |name: &str| {
        let document = format!("{{\"{name}\":[{references}]}}");
        let body = BODY.replace("{\"doc\":{\"$ref\":\"d\"}}", &document);
        let (status, out, _) =
            run_with(&["check", "--json", "--content-type", TYPE, "-"], body.as_bytes());
        assert_eq!(status, 0);
        let part = json(&out)["parts"][0].clone();
        assert_eq!(part["references"], 2000);
        part["referenced_by"].as_array().unwrap().len()
    };
    assert_eq!(listed("a"), 100);
    assert_eq!(listed(&"a".repeat(300_000)), 3);
}

#[test]
fn rules_are_flags() {
    let check = |flags: &[&str]| {
        let args = [&["check", "--json", "--content-type", TYPE], flags, &["-"]].concat();
        let (_, out, _) = run_with(&args, BODY.as_bytes());
        json(&out)["error"]["code"].as_str().unwrap_or("ok").to_owned()
    };
    assert_eq!(check(&[]), "ok");
    assert_eq!(check(&["--strict"]), "charset_missing");
    assert_eq!(check(&["--refuse", "charset_missing"]), "charset_missing");
    assert_eq!(check(&["--refuse", "epilogue"]), "ok");
    for (flag, value, code) in [
        ("--max-parts", "0", "limit_parts"),
        ("--max-part-size", "4B", "limit_part_size"),
        ("--max-message-size", "10B", "limit_message_size"),
        ("--max-control-size", "19B", "limit_control_size"),
        ("--max-header-size", "40B", "limit_header_size"),
        ("--max-headers", "1", "limit_headers"),
        ("--max-json-depth", "1", "limit_json_depth"),
        ("--max-boundary", "0", "limit_boundary"),
    ] {
        assert_eq!(check(&[flag, value]), code, "{flag} {value}");
    }
}

#[test]
fn completions_and_manual_page_are_printed() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (status, out, _) = run(&["completions", shell]);
        assert!(status == 0 && out.contains("inspect"), "{shell}");
    }
    assert!(run(&["man"]).1.contains(".TH acp 1"));
    assert!(run(&["man", "check"]).1.contains("content\\-type"));
    assert_eq!(run(&["man", "nothing"]).0, 2);
}

#[test]
fn a_file_of_many_gigabytes_would_be_read_piece_by_piece() {
    // 80 MiB here, so that the test is quick; nothing in the way it is read depends on the size.
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("large.http");
    let mut file = fs::File::create(&path).unwrap();
    let (before, after) = BODY.split_once("hello").unwrap();
    let len = before.len() + (80 << 20) + after.len();
    file.write_all(&http(&format!("Content-Type: {TYPE}\r\nContent-Length: {len}\r\n"), before))
        .unwrap();
    for _ in 0..80 {
        file.write_all(&vec![b'\r'; 1 << 20]).unwrap();
    }
    file.write_all(after.as_bytes()).unwrap();
    drop(file);
    let (status, out, _) = run(&["check", path.to_str().unwrap()]);
    fs::remove_file(&path).unwrap();
    assert_eq!((status, out.contains(": ok: multipart form")), (0, true), "{out}");
}
