//! The command `acp`, run as its users run it.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The command, to be run in the project's folder.
pub fn acp<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_acp"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// Exit status, standard output, standard error.
pub fn run<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> (i32, String, String) {
    text(acp(args).output().unwrap())
}

/// Runs with `input` on standard input.
pub fn run_with(args: &[&str], input: &[u8]) -> (i32, String, String) {
    let (status, out, error) = run_bytes(args, input);
    (status, String::from_utf8(out).unwrap(), error)
}

/// The same with the bytes of standard output.
pub fn run_bytes(args: &[&str], input: &[u8]) -> (i32, Vec<u8>, String) {
    let pipe = Stdio::piped;
    let mut child = acp(args).stdin(pipe()).stdout(pipe()).stderr(pipe()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // Beside the reading, so that neither waits for the other. A command that is refused its
    // arguments does not read.
    let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    writing.join().unwrap();
    (status.code().unwrap(), stdout, String::from_utf8(stderr).unwrap())
}

fn text(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// An empty folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
