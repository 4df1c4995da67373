//! `acp serve --upstream`: what reaches the agent, byte for byte, and what happens when one of the
//! three breaks off.

#![cfg(feature = "cli")]

#[path = "gateway/mod.rs"]
mod gateway;
#[path = "support/net.rs"]
mod net;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use gateway::{Gateway, TYPE, answer, code, head, head_with_length, message, start};
use net::within;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::sleep,
};

const MIB: usize = 1 << 20;
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// An agent that keeps what it reads.
struct Agent {
    address: SocketAddr,
    connections: Arc<Mutex<Vec<Connection>>>,
}

/// What has come on a connection, and whether it was closed.
type Connection = (Vec<u8>, bool);

/// What an agent does on a connection.
#[derive(Clone, Copy)]
enum Does {
    /// Answers this, when the request is there.
    Answer(&'static [u8]),
    /// The same, and closes.
    AnswerAndClose(&'static [u8]),
    /// Answers this, when the head is there, and reads on.
    AnswerEarly(&'static [u8]),
    /// Closes when this much is there.
    DieAfter(usize),
    /// Reads, and says nothing.
    Listen,
    /// Reads this much, and then nothing more.
    StopAfter(usize),
}

impl Agent {
    async fn that(does: Does) -> Self {
        let (listener, address) = net::listen().await;
        let connections = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&connections);
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let kept = Arc::clone(&kept);
                let n = kept.lock().unwrap().len();
                kept.lock().unwrap().push((Vec::new(), false));
                tokio::spawn(async move {
                    converse(stream, does, |piece| kept.lock().unwrap()[n].0.extend(piece)).await;
                    kept.lock().unwrap()[n].1 = true;
                });
            }
        });
        Self { address, connections }
    }

    fn url(&self) -> String {
        net::url(self.address, "/agent")
    }

    fn gateway(&self, args: &[&str]) -> Gateway {
        Gateway::start(&[&["--upstream", &self.url()], args].concat())
    }

    /// What came on the first connection.
    fn received(&self) -> Vec<u8> {
        self.connections.lock().unwrap().first().map(|(bytes, _)| bytes.clone()).unwrap_or_default()
    }

    /// Waits until something about the first connection is so.
    async fn sees(&self, what: impl Fn(&[u8], bool) -> bool) {
        within(async {
            loop {
                if let Some((bytes, closed)) = self.connections.lock().unwrap().first()
                    && what(bytes, *closed)
                {
                    return;
                }
                sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }

    fn was_asked(&self) -> bool {
        !self.connections.lock().unwrap().is_empty()
    }
}

async fn converse(mut stream: TcpStream, does: Does, mut keep: impl FnMut(&[u8])) {
    let (mut read, mut buffer, mut answered) = (Vec::new(), vec![0; 64 << 10], false);
    loop {
        let Ok(n @ 1..) = stream.read(&mut buffer).await else { return };
        keep(&buffer[..n]);
        read.extend_from_slice(&buffer[..n]);
        let answer = match does {
            Does::Answer(answer) if is_whole(&read) => {
                read.clear();
                answer
            }
            Does::AnswerAndClose(answer) if is_whole(&read) => {
                return drop(stream.write_all(answer).await);
            }
            Does::AnswerEarly(answer) if !answered && body_of(&read).is_some() => {
                answered = true;
                answer
            }
            Does::DieAfter(bytes) if read.len() >= bytes => return,
            Does::StopAfter(bytes) if read.len() >= bytes => {
                return sleep(Duration::from_secs(3600)).await;
            }
            _ => continue,
        };
        if stream.write_all(answer).await.is_err() {
            return;
        }
    }
}

/// Head and body of a request, once the head is there.
fn body_of(request: &[u8]) -> Option<(String, &[u8])> {
    let end = memchr::memmem::find(request, b"\r\n\r\n")? + 4;
    Some((String::from_utf8(request[..end].to_vec()).unwrap().to_lowercase(), &request[end..]))
}

/// Whether a request has come to its end.
fn is_whole(request: &[u8]) -> bool {
    let Some((head, body)) = body_of(request) else { return false };
    match field(&head, "content-length") {
        Some(length) => body.len() >= length.parse().unwrap(),
        None => body.ends_with(b"0\r\n\r\n") || body.ends_with(b"\r\nx-sum: 1\r\n\r\n"),
    }
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The content of a body in chunked coding.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    loop {
        let Ok(httparse::Status::Complete((line, size))) = httparse::parse_chunk_size(body) else {
            return content;
        };
        let size = usize::try_from(size).unwrap();
        let Some(chunk) = body.get(line..line + size).filter(|chunk| !chunk.is_empty()) else {
            return content;
        };
        content.extend_from_slice(chunk);
        body = body.get(line + size + 2..).unwrap_or_default();
    }
}

/// How a body is framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Length,
    Chunked,
}

const FRAMINGS: [Framing; 2] = [Framing::Length, Framing::Chunked];

/// Starts a request whose body is to have `bytes` bytes.
async fn begin(gateway: &Gateway, framing: Framing, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let head = match framing {
        Framing::Length => head_with_length(TYPE, bytes),
        Framing::Chunked => head(&[("Content-Type", TYPE), ("Transfer-Encoding", "chunked")]),
    };
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Sends a piece of the body. A gateway that has answered may not read it any more.
async fn send(stream: &mut TcpStream, framing: Framing, piece: &[u8]) {
    let _ = match framing {
        Framing::Length => within(stream.write_all(piece)).await,
        Framing::Chunked => {
            let chunk = [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
            within(stream.write_all(&chunk)).await
        }
    };
}

async fn end(stream: &mut TcpStream, framing: Framing) {
    if framing == Framing::Chunked {
        let _ = within(stream.write_all(b"0\r\n\r\n")).await;
    }
}

async fn send_whole(gateway: &Gateway, framing: Framing, body: &[u8]) -> (u16, String, Vec<u8>) {
    let mut stream = begin(gateway, framing, body.len()).await;
    for piece in body.chunks(MIB) {
        send(&mut stream, framing, piece).await;
    }
    end(&mut stream, framing).await;
    answer(&mut stream).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_valid_message_is_forwarded_as_it_was_sent() {
    for args in [&[][..], &["--stream"]] {
        for framing in FRAMINGS {
            let agent = Agent::that(Does::Answer(OK)).await;
            let gateway = agent.gateway(args);
            let body = message(&vec![b'x'; MIB]);
            let (status, _, answer) = send_whole(&gateway, framing, &body).await;
            assert_eq!((status, &answer[..]), (200, &b"ok"[..]));

            let request = agent.received();
            let (head, received) = body_of(&request).unwrap();
            assert!(head.starts_with("post /agent http/1.1\r\n"), "{head}");
            assert_eq!(field(&head, "content-type"), Some(TYPE));
            assert_eq!(field(&head, "via"), Some("1.1 acp"));
            assert_eq!(field(&head, "x-forwarded-for"), Some("127.0.0.1"));
            assert_eq!(field(&head, "host"), Some(agent.address.to_string().as_str()));
            if args.is_empty() || framing == Framing::Length {
                assert_eq!(field(&head, "content-length"), Some(body.len().to_string().as_str()));
                assert!(received == body, "the body is another one");
            } else {
                assert_eq!(field(&head, "transfer-encoding"), Some("chunked"));
                assert!(unchunked(received) == body, "the body is another one");
            }
            assert_eq!(gateway.verdict(1), ("valid".into(), String::new(), Some(200)));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_between_neighbours_stay_there_and_others_pass() {
    let agent = Agent::that(Does::Answer(OK)).await;
    let gateway = agent.gateway(&[]);
    let body = message(b"%PDF");
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let request = head(&[
        ("Content-Type", TYPE),
        ("Content-Length", &body.len().to_string()),
        ("Connection", "keep-alive, X-Hop"),
        ("X-Hop", "1"),
        ("Keep-Alive", "9"),
        ("Proxy-Authorization", "secret"),
        ("Authorization", "Bearer t"),
        ("X-Forwarded-For", "10.0.0.1"),
    ]);
    let request = request.replace("/messages", "/messages?q=1");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
    assert_eq!(answer(&mut stream).await.0, 200);
    let received = agent.received();
    let (head, _) = body_of(&received).unwrap();
    assert!(head.starts_with("post /agent?q=1 http/1.1\r\n"), "{head}");
    assert_eq!(field(&head, "authorization"), Some("bearer t"));
    assert_eq!(head.matches("x-forwarded-for: ").count(), 2, "{head}");
    for gone in ["x-hop", "keep-alive", "proxy-authorization", "secret"] {
        assert!(!head.contains(gone), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_flows_back_untouched_with_its_trailers() {
    let said = b"HTTP/1.1 418 I'm a teapot\r\nX-Agent: a\r\nX-Agent: b\r\nTrailer: X-Sum\r\n\
        Transfer-Encoding: chunked\r\n\r\n3\r\n\0\xFFa\r\n0\r\nX-Sum: 7\r\n\r\n";
    for args in [&[][..], &["--stream"]] {
        let agent = Agent::that(Does::Answer(said)).await;
        let gateway = agent.gateway(args);
        let body = message(b"%PDF");
        let length = body.len().to_string();
        let fields = [("Content-Type", TYPE), ("Content-Length", &length), ("TE", "trailers")];
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(&[head(&fields).as_bytes(), &body].concat()).await.unwrap();
        let mut read = Vec::new();
        while !read.ends_with(b"\r\n\r\n") || !read.windows(5).any(|w| w == b"\r\n0\r\n") {
            assert!(
                within(stream.read_buf(&mut read)).await.unwrap() > 0,
                "{}",
                read.escape_ascii()
            );
        }
        let (head, rest) = body_of(&read).unwrap();
        assert!(head.starts_with("http/1.1 418 "), "{head}");
        assert_eq!(head.matches("x-agent: ").count(), 2);
        assert_eq!(unchunked(rest), b"\0\xFFa");
        let rest = rest.to_ascii_lowercase();
        assert!(rest.ends_with(b"0\r\nx-sum: 7\r\n\r\n"), "{}", rest.escape_ascii());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_streams_is_handed_on_as_it_comes() {
    let agent = net::serve(|_| async {
        let (tell, told) = tokio::sync::mpsc::channel::<bytes::Bytes>(1);
        tokio::spawn(async move {
            tell.send("data: 1\n\n".into()).await.unwrap();
            sleep(Duration::from_secs(3600)).await;
        });
        let events = futures_util::stream::unfold(told, |mut told| async {
            let event = told.recv().await?;
            Some((Ok::<_, std::io::Error>(http_body::Frame::data(event)), told))
        });
        http::Response::new(http_body_util::StreamBody::new(Box::pin(events)))
    })
    .await;
    let gateway = Gateway::start(&["--upstream", &net::url(agent, "/")]);
    let mut stream = begin(&gateway, Framing::Length, message(b"").len()).await;
    stream.write_all(&message(b"")).await.unwrap();
    let mut read = Vec::new();
    while !read.ends_with(b"data: 1\n\n\r\n") {
        assert!(within(stream.read_buf(&mut read)).await.unwrap() > 0, "{}", read.escape_ascii());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_takes_nothing_of_its_answer_is_cut_off() {
    let agent = net::serve(|_| async {
        let data = || http_body::Frame::data(bytes::Bytes::from_static(&[b'x'; 64 << 10]));
        let endless = futures_util::stream::repeat_with(move || Ok::<_, std::io::Error>(data()));
        http::Response::new(http_body_util::StreamBody::new(endless))
    })
    .await;
    let gateway = Gateway::start(&["--upstream", &net::url(agent, "/"), "--client-timeout", "1s"]);
    let mut stream = begin(&gateway, Framing::Length, message(b"").len()).await;
    stream.write_all(&message(b"")).await.unwrap();
    sleep(Duration::from_secs(3)).await;
    // What was on its way comes, and then no more.
    let (mut buffer, mut read) = (vec![0; 1 << 20], 0);
    while let Ok(n @ 1..) = within(stream.read(&mut buffer)).await {
        read += n;
        assert!(read < 100 * MIB, "it is not cut off");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_not_whole_for_the_client() {
    let said = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
    let agent = Agent::that(Does::AnswerAndClose(said)).await;
    let gateway = agent.gateway(&[]);
    let mut stream = begin(&gateway, Framing::Length, message(b"").len()).await;
    stream.write_all(&message(b"")).await.unwrap();
    let mut read = Vec::new();
    drop(within(stream.read_to_end(&mut read)).await);
    let (head, rest) = body_of(&read).unwrap();
    assert_eq!((field(&head, "content-length"), rest), (Some("9"), &b"half"[..]));
}

/// A message that is invalid in its last bytes, with what is wrong.
fn invalid(content: &[u8]) -> [(Vec<u8>, u16, &'static str); 3] {
    let whole = message(content);
    let cut = whole[..whole.len() - 4].to_vec();
    let dangling = start().replace("name=\"p\"", "name=\"q\"");
    let dangling = [dangling.as_bytes(), content, b"\r\n--b--"].concat();
    let malformed = [start().as_bytes(), content, b"\r\n--bad\r\n"].concat();
    [
        (cut, 400, "truncated"),
        (dangling, 422, "ref_unresolved"),
        (malformed, 400, "delimiter_malformed"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_message_is_not_forwarded_acp_frm_5_acp_ref_5() {
    let folder = tempfile::tempdir().unwrap();
    let content = vec![b'x'; 50 * MIB];
    let agent = Agent::that(Does::Answer(OK)).await;
    let gateway = agent.gateway(&["--spool-dir", folder.path().to_str().unwrap()]);
    let mut n = 0;
    for framing in FRAMINGS {
        for (body, status, expected) in invalid(&content) {
            let (answered, _, document) = send_whole(&gateway, framing, &body).await;
            assert_eq!((answered, code(&document).as_str()), (status, expected), "{framing:?}");
            n += 1;
            assert_eq!(
                gateway.verdict(n),
                ("refused".into(), expected.into(), Some(status.into()))
            );
        }
    }
    assert!(!agent.was_asked());
    is_clean(&gateway, folder.path()).await;
}

/// Nothing is in flight, and no file is left, with a name or without.
async fn is_clean(gateway: &Gateway, folder: &std::path::Path) {
    gateway.is_idle().await;
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    #[cfg(target_os = "linux")]
    gateway::wait_for(|| (gateway.spooled_files() == 0).then_some(())).expect("files are closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_held_in_a_file_and_the_file_goes() {
    let folder = tempfile::tempdir().unwrap();
    let agent = Agent::that(Does::Answer(OK)).await;
    let gateway = agent.gateway(&["--spool-dir", folder.path().to_str().unwrap()]);
    let body = message(&vec![b'x'; 2 * MIB]);
    for framing in FRAMINGS {
        let mut stream = begin(&gateway, framing, body.len()).await;
        send(&mut stream, framing, &body[..body.len() - 1]).await;
        #[cfg(target_os = "linux")]
        gateway::wait_for(|| (gateway.spooled_files() == 1).then_some(())).expect("a file is used");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        send(&mut stream, framing, &body[body.len() - 1..]).await;
        end(&mut stream, framing).await;
        assert_eq!(answer(&mut stream).await.0, 200);
        is_clean(&gateway, folder.path()).await;
    }
    let missing = folder.path().join("missing");
    let gateway = agent.gateway(&["--spool-dir", missing.to_str().unwrap()]);
    let (status, _, document) = send_whole(&gateway, Framing::Length, &body).await;
    assert_eq!((status, code(&document).as_str()), (500, "io"));
    assert!(gateway.messages(1)[0]["cause"].as_str().is_some_and(|cause| !cause.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn streaming_forwards_while_the_client_sends() {
    for framing in FRAMINGS {
        let agent = Agent::that(Does::Answer(OK)).await;
        let gateway = agent.gateway(&["--stream"]);
        let body = message(b"first half, second half");
        let middle = body.len() - 20;
        let mut stream = begin(&gateway, framing, body.len()).await;
        send(&mut stream, framing, &body[..middle]).await;
        agent.sees(|received, _| received.windows(10).any(|w| w == b"first half")).await;
        send(&mut stream, framing, &body[middle..]).await;
        end(&mut stream, framing).await;
        assert_eq!(answer(&mut stream).await.0, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streaming_cuts_the_request_when_the_message_turns_invalid_acp_frm_5_acp_ref_5() {
    let content = vec![b'x'; 50 * MIB];
    for framing in FRAMINGS {
        for (body, status, expected) in invalid(&content) {
            let agent = Agent::that(Does::Answer(OK)).await;
            let gateway = agent.gateway(&["--stream"]);
            let (answered, _, document) = send_whole(&gateway, framing, &body).await;
            assert_eq!((answered, code(&document).as_str()), (status, expected), "{framing:?}");
            agent.sees(|_, closed| closed).await;
            let received = agent.received();
            assert!(received.len() > 49 * MIB, "it was forwarded");
            assert!(!is_whole(&received), "{framing:?} {expected}: the agent has got a whole one");
            gateway.is_idle().await;
            assert_eq!(
                gateway.verdict(1),
                ("refused".into(), expected.into(), Some(status.into()))
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_of_the_request_are_forwarded() {
    for args in [&[][..], &["--stream"]] {
        let agent = Agent::that(Does::Answer(OK)).await;
        let gateway = agent.gateway(args);
        let fields =
            [("Content-Type", TYPE), ("Transfer-Encoding", "chunked"), ("Trailer", "X-Sum")];
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(head(&fields).as_bytes()).await.unwrap();
        send(&mut stream, Framing::Chunked, &message(b"%PDF")).await;
        stream.write_all(b"0\r\nX-Sum: 1\r\n\r\n").await.unwrap();
        assert_eq!(answer(&mut stream).await.0, 200);
        let end = b"0\r\nx-sum: 1\r\n\r\n";
        agent.sees(|received, _| received.to_ascii_lowercase().ends_with(end)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    let body = message(&vec![b'x'; 2 * MIB]);
    for framing in FRAMINGS {
        let agent = Agent::that(Does::Answer(OK)).await;
        let gateway = agent.gateway(&["--spool-dir", dir]);
        let mut stream = begin(&gateway, framing, body.len()).await;
        send(&mut stream, framing, &body[..MIB]).await;
        drop(stream);
        gateway.messages(1);
        is_clean(&gateway, folder.path()).await;
        assert!(!agent.was_asked());

        let gateway = agent.gateway(&["--stream"]);
        let mut stream = begin(&gateway, framing, body.len()).await;
        send(&mut stream, framing, &body[..MIB]).await;
        agent.sees(|received, _| received.len() > MIB / 2).await;
        drop(stream);
        agent.sees(|_, closed| closed).await;
        assert!(!is_whole(&agent.received()));
        gateway.is_idle().await;
        let (verdict, _, _) = gateway.verdict(1);
        assert!(["aborted", "failed"].contains(&verdict.as_str()), "{verdict}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_fails_is_a_bad_gateway() {
    let body = message(&vec![b'x'; 8 * MIB]);
    for args in [&[][..], &["--stream"]] {
        let (listener, nobody) = net::listen().await;
        drop(listener);
        let gateway = Gateway::start(&[&["--upstream", &net::url(nobody, "/")], args].concat());
        let (status, _, document) = send_whole(&gateway, Framing::Length, &body).await;
        assert_eq!((status, code(&document).as_str()), (502, "upstream_unreachable"), "{args:?}");

        for bytes in [1, MIB] {
            let agent = Agent::that(Does::DieAfter(bytes)).await;
            let gateway = agent.gateway(args);
            for framing in FRAMINGS {
                let (status, _, document) = send_whole(&gateway, framing, &body).await;
                let answered = (status, code(&document));
                assert_eq!(answered, (502, "upstream_failed".to_owned()), "{args:?} {framing:?}");
            }
            gateway.is_idle().await;
            let line = &gateway.messages(2)[0];
            assert_eq!((&line["verdict"], &line["status"]), (&"failed".into(), &502.into()));
            assert!(line["cause"].as_str().is_some_and(|cause| !cause.is_empty()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_does_nothing_is_timed_out() {
    let body = message(&vec![b'x'; 16 * MIB]);
    for args in [&["--upstream-timeout", "300ms"][..], &["--upstream-timeout", "300ms", "--stream"]]
    {
        for does in [Does::Listen, Does::StopAfter(MIB)] {
            let agent = Agent::that(does).await;
            let gateway = agent.gateway(args);
            let (status, _, document) = send_whole(&gateway, Framing::Length, &body).await;
            assert_eq!((status, code(&document).as_str()), (504, "upstream_timeout"), "{args:?}");
            gateway.is_idle().await;
        }
    }
    // Who waits for a slow client does something.
    let agent = Agent::that(Does::Answer(OK)).await;
    let gateway = agent.gateway(&["--upstream-timeout", "300ms", "--stream"]);
    let body = message(b"%PDF");
    let mut stream = begin(&gateway, Framing::Length, body.len()).await;
    for piece in body.chunks(body.len() / 2 + 1) {
        sleep(Duration::from_millis(900)).await;
        send(&mut stream, Framing::Length, piece).await;
    }
    assert_eq!(answer(&mut stream).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_answers_early_is_heard() {
    let refusal = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nno\n";
    for framing in FRAMINGS {
        let agent = Agent::that(Does::AnswerEarly(refusal)).await;
        let gateway = agent.gateway(&["--stream"]);
        let body = message(&vec![b'x'; 16 * MIB]);
        let mut stream = begin(&gateway, framing, body.len()).await;
        send(&mut stream, framing, &body[..MIB]).await;
        let (status, _, said) = answer(&mut stream).await;
        assert_eq!((status, &said[..]), (413, &b"no\n"[..]));
        gateway.is_idle().await;
        assert_eq!(gateway.verdict(1), ("undecided".into(), String::new(), Some(413)));
        // The rest is still judged and forwarded, and the connection is there for the next message.
        send(&mut stream, framing, &body[MIB..]).await;
        end(&mut stream, framing).await;
        agent.sees(|received, _| is_whole(received)).await;
        stream.write_all(head_with_length("text/plain", 0).as_bytes()).await.unwrap();
        assert_eq!(answer(&mut stream).await.0, 415);
    }
}
