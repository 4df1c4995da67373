//! The command `acp serve`, run as its operators run it.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "a module of every test file, each of which uses what it needs"
)]

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{io::AsyncReadExt as _, net::TcpStream};

use crate::net;

pub const TYPE: &str = "multipart/form-data; boundary=b";

/// A gateway, which ends with this.
pub struct Gateway {
    process: Child,
    pub address: SocketAddr,
    /// What it has written to standard error.
    lines: Arc<Mutex<Vec<String>>>,
}

impl Gateway {
    pub fn start(args: &[&str]) -> Self {
        Self::start_with(args, &[])
    }

    pub fn start_with(args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_acp"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--log", "json"]).args(args);
        command.envs(env.iter().copied()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let (stderr, kept) = (process.stderr.take().unwrap(), Arc::clone(&lines));
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines() {
                kept.lock().unwrap().push(line.unwrap());
            }
        });
        let listens = wait_for(|| {
            let lines = lines.lock().unwrap();
            let said = lines.iter().find_map(|line| line.split_once("listening on http://"))?.1;
            said.split('"').next().unwrap().parse().ok()
        });
        let Some(address) = listens else { panic!("does not listen: {:?}", lines.lock().unwrap()) };
        Self { process, address, lines }
    }

    pub fn url(&self, path: &str) -> String {
        net::url(self.address, path)
    }

    /// What was logged about messages, once it is at least about `n`.
    pub fn messages(&self, n: usize) -> Vec<Value> {
        let messages = wait_for(|| {
            let lines = self.lines.lock().unwrap();
            let parsed = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let messages: Vec<_> = parsed.filter(|line| line["message"] == "message").collect();
            (messages.len() >= n).then_some(messages)
        });
        messages.unwrap_or_else(|| panic!("not {n}: {:?}", self.lines.lock().unwrap()))
    }

    /// Verdict, code and status of message `n`, counted from 1, once it is logged.
    pub fn verdict(&self, n: usize) -> (String, String, Option<u64>) {
        let line = &self.messages(n)[n - 1];
        let text = |name: &str| line[name].as_str().unwrap().to_owned();
        (text("verdict"), text("code"), line["status"].as_u64())
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// One figure of the metrics.
    pub async fn metric(&self, name: &str) -> Option<f64> {
        let request = "GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
        let (_, _, text) = net::exchange(self.address, request.as_bytes()).await;
        let text = String::from_utf8(text).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map(|figure| figure.parse().unwrap())
    }

    /// Waits until no message is in flight.
    pub async fn is_idle(&self) {
        let start = Instant::now();
        while self.metric("acp_in_flight").await != Some(0.0) {
            assert!(start.elapsed() < PATIENCE, "a message is in flight for ever");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// The most memory it has had resident, in bytes.
    #[cfg(target_os = "linux")]
    pub fn peak_memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
    }

    /// Open files that have no name any more.
    #[cfg(target_os = "linux")]
    pub fn spooled_files(&self) -> usize {
        let files = std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap();
        let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        targets.filter(|target| target.to_string_lossy().ends_with("(deleted)")).count()
    }

    pub fn terminate(&self) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// How it has ended, once it has.
    pub fn ended(&mut self) -> ExitStatus {
        wait_for(|| self.process.try_wait().unwrap()).expect("it ends")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// How long anything may take: far longer than it does.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn wait_for<T>(mut there: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(thing) = there() {
            return Some(thing);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}

/// A valid message with one part `p`.
pub fn message(content: &[u8]) -> Vec<u8> {
    [start().as_bytes(), content, b"\r\n--b--\r\n"].concat()
}

/// A message as far as the content of its part `p`.
pub fn start() -> String {
    "--b\r\nContent-Type: application/json\r\nContent-Disposition: form-data; name=\"c\"\r\n\r\n\
        {\"p\":{\"$ref\":\"p\"}}\r\n--b\r\nContent-Disposition: form-data; name=\"p\"\r\n\
        Content-Type: application/pdf\r\n\r\n"
        .to_owned()
}

/// The head of a request to `/messages` that keeps its connection.
pub fn head(fields: &[(&str, &str)]) -> String {
    let mut head = "POST /messages HTTP/1.1\r\nHost: h\r\n".to_owned();
    for (name, value) in fields {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    head + "\r\n"
}

/// The head of a request with a body of that many bytes.
pub fn head_with_length(content_type: &str, bytes: usize) -> String {
    head(&[("Content-Type", content_type), ("Content-Length", &bytes.to_string())])
}

/// Reads as far as an answer's blank line, and the body that its Content-Length says.
pub async fn answer(stream: &mut TcpStream) -> (u16, String, Vec<u8>) {
    let mut read = Vec::new();
    loop {
        if let Some(end) = memchr::memmem::find(&read, b"\r\n\r\n") {
            let head = String::from_utf8(read[..end + 2].to_vec()).unwrap();
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            let field = |line: &str| line.strip_prefix("content-length: ")?.parse().ok();
            let length: usize = head.lines().find_map(field).unwrap_or_default();
            if read.len() >= end + 4 + length {
                return (status, head, read[end + 4..end + 4 + length].to_vec());
            }
        }
        if net::within(stream.read_buf(&mut read)).await.unwrap() == 0 {
            panic!("closed after: {}", read.escape_ascii());
        }
    }
}

/// The code of a problem document.
pub fn code(body: &[u8]) -> String {
    let document: Value = serde_json::from_slice(body).unwrap();
    document["code"].as_str().unwrap_or_else(|| panic!("no problem: {document}")).to_owned()
}
