//! `acp pack` and `acp unpack`, run as their users run them: real files there and back, whole HTTP
//! requests, names that are no file names, what is refused and leaves nothing behind.
#![cfg(feature = "cli")]

mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};

use acp_envelope::{Control, EnvelopeBuilder, NewPart, Reference, decode};
use serde_json::Value;
use support::command::{folder, run, run_bytes, run_with};

const PNG: &str = "testdata/files/page.png";
const PDF: &str = "testdata/files/page.pdf";

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    fs::write(&path, content).unwrap();
    text(&path)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// The paths of everything in a folder, as `/` separated names, sorted.
fn list(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            names.extend(list(&entry.path()).into_iter().map(|inner| format!("{name}/{inner}")));
            names.push(name + "/");
        } else {
            names.push(name);
        }
    }
    names.sort();
    names
}

fn manifest(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("manifest.json")).unwrap()).unwrap()
}

/// A message with parts of these names and the given content.
fn message(folder: &Path, parts: &[(&str, &str)]) -> Vec<String> {
    let mut message = EnvelopeBuilder::new();
    let references: Vec<Reference> = parts
        .iter()
        .map(|(name, content)| {
            let content = content.to_string();
            message.add(NewPart::new("a/b", content).name(*name).filename("../../evil")).unwrap()
        })
        .collect();
    let encoder = message.build(&Control::new(&references).unwrap()).unwrap();
    let content_type = encoder.content_type().to_owned();
    let body = write(folder, "message", encoder.into_bytes().unwrap());
    vec![body, "--content-type".to_owned(), content_type]
}

fn unpack(message: &[String], folder: &Path, flags: &[&str]) -> (i32, String, String) {
    let mut args = vec!["unpack".to_owned(), "-d".to_owned(), text(folder)];
    args.extend(message.iter().cloned());
    args.extend(flags.iter().map(|&flag| flag.to_owned()));
    run(&args)
}

#[test]
fn a_real_image_and_a_real_pdf_come_back_identical_acp_enc_4_acp_frm_3() {
    let folder = folder("pack-real");
    let document =
        "{ \"img\" : {\"$ref\":\"img\"},\r\n  \"doc\":{\"$ref\":\"doc.1\"}, \"n\": 1.50 }\n";
    let control = write(&folder, "control", document);
    let request = text(&folder.join("request.http"));
    let (img, doc) = (format!("img={PNG}"), format!("doc.1={PDF};filename=die \"Seite\" é.pdf"));
    let packed = run(&[
        "pack",
        "--control",
        &control,
        "--part",
        &img,
        "--part",
        &doc,
        "--http",
        "/messages",
        "-o",
        &request,
    ]);
    assert_eq!(packed.0, 0, "{packed:?}");
    assert!(packed.1.starts_with("multipart/form-data; boundary="), "{}", packed.1);
    assert_eq!(
        packed.2,
        "acp: img: image/png (guessed from the file's extension)\n\
         acp: doc.1: application/pdf (guessed from the file's extension)\n"
    );
    let (status, checked, _) = run(&["check", "--strict", &request]);
    assert_eq!((status, checked.contains("and 2 parts")), (0, true), "{checked}");

    let out = folder.join("out/of/it");
    let (status, unpacked, error) = run(&["unpack", &request, "-d", &text(&out)]);
    assert_eq!((status, error.as_str()), (0, ""), "{unpacked}");
    assert!(unpacked.contains("4 files written to"), "{unpacked}");
    assert_eq!(list(&out), ["control.json", "doc.1", "img", "manifest.json"]);
    assert_eq!(fs::read(out.join("img")).unwrap(), fs::read(PNG).unwrap());
    assert_eq!(fs::read(out.join("doc.1")).unwrap(), fs::read(PDF).unwrap());
    assert_eq!(fs::read_to_string(out.join("control.json")).unwrap(), document);
    let manifest = manifest(&out);
    let parts = manifest["parts"].as_array().unwrap();
    let of = |part: &Value| {
        ["name", "path", "content_type", "filename"].map(|m| part[m].as_str().unwrap().to_owned())
    };
    assert_eq!(of(&parts[0]), ["img", "img", "image/png", "page.png"]);
    assert_eq!(of(&parts[1]), ["doc.1", "doc.1", "application/pdf", "die \"Seite\" é.pdf"]);
    assert_eq!(manifest["control"]["path"], "control.json");
    assert_eq!(list(&folder).len(), 9, "{:?}", list(&folder));
}

/// The commands of the README that make and take apart a message.
#[cfg(unix)]
#[test]
fn the_readme_packs_checks_and_unpacks() {
    let readme = fs::read_to_string("README.md").unwrap();
    let mut blocks = readme.split("```sh\n").skip(1).map(|b| b.split("```").next().unwrap());
    let script = blocks.find(|block| block.contains("acp pack")).unwrap();
    let folder = folder("pack-readme");
    fs::copy(PNG, folder.join("page.png")).unwrap();
    let command = Path::new(env!("CARGO_BIN_EXE_acp")).parent().unwrap();
    let path = format!("{}:{}", text(command), std::env::var("PATH").unwrap());
    let mut shell = std::process::Command::new("sh");
    let output =
        shell.args(["-ec", script]).env("PATH", path).current_dir(&folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(list(&folder.join("out")), ["control.json", "img", "manifest.json"]);
    assert_eq!(fs::read(folder.join("out/img")).unwrap(), fs::read(PNG).unwrap());
    assert_eq!(manifest(&folder.join("out"))["parts"][0]["filename"], "My page.png");
}

#[test]
fn a_message_goes_to_standard_output_acp_enc_1_acp_enc_8() {
    let png = format!("img={PNG};type=image/x-test; a=b;filename=");
    let args = ["pack", "--control", "-", "--part", &png, "--boundary", "b", "--control-name", "c"];
    let (status, body, error) = run_bytes(&args, b"{\"$ref\":\"img\"}");
    assert_eq!((status, error.as_str()), (0, "Content-Type: multipart/form-data; boundary=b\n"));
    let expected = [
        b"--b\r\nContent-Disposition: form-data; name=\"c\"\r\nContent-Type: application/json\r\n\r\n\
          {\"$ref\":\"img\"}\r\n--b\r\nContent-Disposition: form-data; name=\"img\"\r\n\
          Content-Type: image/x-test; a=b\r\n\r\n",
        &fs::read(PNG).unwrap()[..],
        b"\r\n--b--\r\n",
    ];
    assert!(body == expected.concat());
}

#[test]
fn content_comes_from_standard_input_acp_enc_6() {
    let folder = folder("pack-stdin");
    let control = write(&folder, "control.json", "[{\"$ref\":\"in\"}]");
    let args = ["pack", "--control", &control, "--part", "in=-", "--boundary", "b"];
    let content = b"\r\n--\x00".repeat(100_000);
    let (status, body, error) = run_bytes(&args, &content);
    assert_eq!(status, 0, "{error}");
    assert!(
        error.starts_with("acp: in: application/octet-stream (nothing to guess from)\n"),
        "{error}"
    );
    let envelope = decode("multipart/form-data; boundary=b", body).unwrap();
    assert_eq!(envelope.part("in").unwrap().body(), &content[..]);
    assert_eq!(envelope.part("in").unwrap().head().filename(), None);

    let (status, body, error) = run_bytes(&[&args[..], &["--http", "/m"]].concat(), b"x");
    assert_eq!((status, body.as_slice()), (2, &b""[..]));
    assert!(error.contains("length of every part"), "{error}");
    let (status, _, error) = run_with(&["pack", "--control", "-", "--part", "a=-"], b"1");
    assert_eq!((status, error.contains("once only")), (2, true), "{error}");
}

#[test]
fn the_json_form_is_the_control_document_acp_enc_7() {
    let args = ["pack", "--control", "-", "--json-form", "--http", "http://agent:80/in"];
    let (status, out, error) = run_with(&args, b" {\"a\": 1.0}\n");
    assert_eq!((status, error.as_str()), (0, "Content-Type: application/json\n"));
    let head = "POST /in HTTP/1.1\r\nHost: agent:80\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n";
    assert_eq!(out, format!("{head} {{\"a\": 1.0}}\n"));
    assert_eq!(run_with(&["check", "-"], out.as_bytes()).0, 0);
}

#[test]
fn a_message_that_is_refused_leaves_no_file_acp_enc_2_acp_enc_4_acp_enc_5() {
    let folder = folder("pack-refused");
    let control = write(&folder, "control.json", "{\"$ref\":\"img\"}");
    let broken = write(&folder, "broken.json", "{\"a\":1,}");
    let delimiter = write(&folder, "delimiter.bin", "x\r\n--b\r\n");
    let (output, before) = (text(&folder.join("message")), list(&folder));
    for (control, part, code) in [
        (&control, format!("a b={PNG}"), "name_invalid: part 1: part name is not valid (byte 1 of"),
        (&control, format!("img={PNG};type=text"), "content_type_invalid: part 1 \"img\""),
        (
            &control,
            format!("img={PNG};type=image/png\r\nX: y"),
            "content_type_invalid: part 1 \"img\"",
        ),
        (&control, format!("img={PNG};filename=\u{1b}[2J"), "header_malformed: part 1 \"img\""),
        (
            &control,
            format!("image={PNG}"),
            "ref_unresolved: reference to a part that is not there (at the root)",
        ),
        (&control, format!("img={control}"), "control_duplicate: part 1 \"img\""),
        (&control, format!("img={delimiter}"), "boundary_occurs: part 1 \"img\""),
        (&broken, format!("img={PNG}"), "control_malformed: control document is not valid JSON"),
    ] {
        let args =
            ["pack", "--control", control, "--part", &part, "-o", &output, "--boundary", "b"];
        let (status, out, error) = run(&args);
        assert_eq!((status, out.as_str()), (1, ""), "{error}");
        let wanted = format!("acp: refused\n  {code}");
        assert!(error.contains(&wanted) && error.contains("\n  hint: "), "{wanted}: {error}");
        assert_eq!(list(&folder), before, "{code}");
    }
    let strict =
        ["--control", &control, "--part", &format!("img={PNG};type=text/plain"), "--strict"];
    let (status, _, error) = run(&[&["pack"], &strict[..]].concat());
    assert_eq!((status, error.contains("charset_missing: part 1")), (1, true), "{error}");
}

#[test]
fn the_rules_are_the_receivers_acp_ctl_5_acp_enc_4() {
    let pack = |flags: &[&str]| {
        run_with(&[&["pack", "--control", "-"], flags].concat(), b"{\"a\":1,\"a\":2}")
    };
    let (status, _, error) = pack(&[]);
    assert_eq!(
        (status, error.contains("control_malformed: member name is given twice")),
        (1, true)
    );
    assert_eq!(pack(&["--allow-duplicate-members"]).0, 0);
    assert_eq!(pack(&["--allow-duplicate-members", "--max-control-size", "12B"]).0, 1);
}

#[test]
fn what_a_receiver_would_warn_of_is_said_acp_ref_8_acp_ref_9() {
    let part = format!("unused={PNG}");
    let (status, _, error) = run_bytes(&["pack", "--control", "-", "--part", &part], b"1");
    assert_eq!(status, 0);
    assert!(error.contains("warning: unreferenced_part: part 1 \"unused\""), "{error}");
}

#[test]
fn wrong_usage_is_exit_status_2() {
    let folder = folder("pack-usage");
    let control = write(&folder, "control.json", "1");
    for args in [
        &["pack"][..],
        &["pack", "--control", "no/such/file"],
        &["pack", "--control", &control, "--part", "a=no/such/file"],
        &["pack", "--control", &control, "--part", "a=src"],
        &["pack", "--control", &control, "--part", "a"],
        &["pack", "--control", &control, "--http", "messages"],
        &["pack", "--control", &control, "--boundary", "a<b"],
        &["pack", "--control", &control, "--control-name", "a b"],
        &["pack", "--control", &control, "--part", "a=src/lib.rs", "--json-form"],
        &["pack", "--control", &control, "-o", "no/such/folder/file"],
        &["unpack", &control],
        &["unpack", "no/such/file", "-d", "x"],
        &["unpack", &control, "-d", "x"],
    ] {
        let (status, out, error) = run(args);
        assert_eq!((status, out.as_str()), (2, ""), "{args:?}");
        assert!(!error.is_empty(), "{args:?}");
    }
    assert!(!Path::new("x").exists());
    assert_eq!(list(&folder), ["control.json"]);
}

#[test]
fn parts_are_written_under_their_names_and_never_the_senders_file_names_acp_hdr_6() {
    let folder = folder("unpack-names");
    let long = "n".repeat(256);
    let parts = [
        ("..", "0"),
        (".bashrc", "1"),
        ("control.json", "2"),
        ("manifest.json", "3"),
        ("part-1", "4"),
        ("Img", "5"),
        ("img", "6"),
        (&long, "7"),
        ("-rf", "8"),
        ("NUL", "9"),
    ];
    let message = message(&folder, &parts);
    let out = folder.join("deep/out");
    let (status, shown, error) = unpack(&message, &out, &[]);
    assert_eq!((status, error.as_str()), (0, ""), "{shown}");
    let manifest = manifest(&out);
    let paths: Vec<String> = manifest["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["path"].as_str().unwrap().to_owned())
        .collect();
    let expected = [
        "part-1", "part-2", "part-3", "part-4", "part-5", "Img", "part-7", "part-8", "part-9",
        "part-10",
    ];
    assert_eq!(paths, expected);
    for (path, (name, content)) in paths.iter().zip(parts) {
        assert_eq!(fs::read_to_string(out.join(path)).unwrap(), content);
        let noted = shown.contains(&format!("\"{name}\" is written as {path}"));
        assert_eq!(noted, path != name, "{shown}");
    }
    let mut all: Vec<_> = paths.iter().map(|path| format!("deep/out/{path}")).collect();
    all.extend(
        ["deep/", "deep/out/", "deep/out/control.json", "deep/out/manifest.json", "message"]
            .map(str::to_owned),
    );
    all.sort();
    assert_eq!(list(&folder), all);
}

#[test]
fn files_are_overwritten_only_when_forced() {
    let folder = folder("unpack-force");
    let message = message(&folder, &[("a", "new a"), ("b", "new b")]);
    let out = folder.join("out");
    fs::create_dir(&out).unwrap();
    write(&out, "b", "old b");
    write(&out, "other", "other");
    let (status, shown, error) = unpack(&message, &out, &[]);
    assert_eq!((status, shown.as_str()), (2, ""));
    assert!(error.contains("b is there already (--force overwrites)"), "{error}");
    assert_eq!(list(&out), ["b", "other"]);
    assert_eq!(fs::read_to_string(out.join("b")).unwrap(), "old b");

    assert_eq!(unpack(&message, &out, &["--force"]).0, 0);
    assert_eq!(list(&out), ["a", "b", "control.json", "manifest.json", "other"]);
    assert_eq!(fs::read_to_string(out.join("b")).unwrap(), "new b");

    fs::remove_file(out.join("b")).unwrap();
    fs::create_dir(out.join("b")).unwrap();
    write(&out, "a", "old a");
    let (status, _, error) = unpack(&message, &out, &["--force"]);
    assert_eq!((status, error.contains("is there already as a directory")), (2, true), "{error}");
    assert_eq!(fs::read_to_string(out.join("a")).unwrap(), "old a");
}

#[cfg(unix)]
#[test]
fn a_link_is_replaced_and_not_followed() {
    let folder = folder("unpack-link");
    let message = message(&folder, &[("a", "new")]);
    let victim = write(&folder, "victim", "old");
    let out = folder.join("out");
    fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink(&victim, out.join("a")).unwrap();
    assert_eq!(unpack(&message, &out, &[]).0, 2);
    assert_eq!(unpack(&message, &out, &["--force"]).0, 0);
    assert_eq!(fs::read_to_string(victim).unwrap(), "old");
    assert_eq!(fs::read_to_string(out.join("a")).unwrap(), "new");
}

#[test]
fn a_refused_message_leaves_nothing_behind_acp_frm_5_acp_ref_5() {
    let folder = folder("unpack-refused");
    let mut message = message(&folder, &[("a", "x"), ("b", "y")]);
    let whole = fs::read(&message[0]).unwrap();
    let out: PathBuf = folder.join("new/out");
    let cut = write(&folder, "message", &whole[..whole.len() - 8]);
    message[0] = cut;
    let before = list(&folder);
    for (flags, code) in [(&[][..], "truncated"), (&["--max-parts", "1"], "limit_parts")] {
        let (status, shown, _) = unpack(&message, &out, flags);
        assert_eq!((status, shown.contains(code)), (1, true), "{shown}");
        assert_eq!(list(&folder), before);
    }
    let (status, shown, _) = unpack(&message, &out, &["--json"]);
    let report: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((status, report["error"]["code"].as_str()), (1, Some("truncated")));
    fs::create_dir_all(&out).unwrap();
    assert_eq!(unpack(&message, &out, &[]).0, 1);
    assert_eq!(list(&out), [""; 0]);
}

#[test]
fn a_control_document_in_another_charset_is_written_in_utf8_acp_ctl_3() {
    let folder = folder("unpack-charset");
    let body = write(&folder, "message", b"[\"\xe9\"]");
    let out = folder.join("out");
    let message =
        [body, "--content-type".to_owned(), "application/json; charset=latin1".to_owned()];
    assert_eq!(unpack(&message, &out, &[]).0, 0);
    assert_eq!(list(&out), ["control.json", "manifest.json"]);
    assert_eq!(fs::read_to_string(out.join("control.json")).unwrap(), "[\"é\"]");
    let packed = ["pack", "--control", &text(&out.join("control.json")), "--json-form"];
    assert_eq!(run(&packed).1, "[\"é\"]");
}

#[cfg(unix)]
#[test]
fn a_device_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt as _;
    let (status, out, _) = run_with(&["pack", "--control", "-", "-o", "/dev/null"], b"1");
    assert_eq!((status, out.starts_with("multipart/form-data; boundary=")), (0, true));
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}
