//! `acp serve` under load: 200 messages of 10 MiB at once stay within the memory that its help
//! promises. `--nocapture` shows the figures.

#![cfg(all(feature = "cli", target_os = "linux"))]

#[path = "gateway/mod.rs"]
mod gateway;
#[path = "support/net.rs"]
mod net;

use std::sync::Arc;

use gateway::{Gateway, TYPE, answer, head_with_length, message};
use http_body_util::BodyExt as _;
use net::within;
use tokio::{
    io::AsyncWriteExt as _,
    net::TcpStream,
    sync::Barrier,
    time::{Duration, sleep},
};

const KIB: u64 = 1 << 10;
/// A tenth of them in a debug build, which decodes slowly.
const MESSAGES: u64 = if cfg!(debug_assertions) { 20 } else { 200 };

/// What `acp serve --help` says.
const BOUND: u64 = 12 * 1024 * KIB + MESSAGES * (3 * 256 + 400) * KIB;

/// Sends the first half of every message, and the rest when all are there.
async fn upload(gateway: &Gateway, body: &Arc<Vec<u8>>) {
    let halfway = Arc::new(Barrier::new(MESSAGES as usize + 1));
    let sending = |address| {
        let (halfway, body) = (Arc::clone(&halfway), Arc::clone(body));
        tokio::spawn(async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let (first, second) = body.split_at(body.len() / 2);
            stream.write_all(head_with_length(TYPE, body.len()).as_bytes()).await.unwrap();
            stream.write_all(first).await.unwrap();
            halfway.wait().await;
            halfway.wait().await;
            stream.write_all(second).await.unwrap();
            answer(&mut stream).await.0
        })
    };
    let sent: Vec<_> = (0..MESSAGES).map(|_| sending(gateway.address)).collect();
    within(halfway.wait()).await;
    within(async {
        while gateway.metric("acp_in_flight").await != Some(MESSAGES as f64) {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    within(halfway.wait()).await;
    for sent in sent {
        assert_eq!(within(sent).await.unwrap(), 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_large_messages_at_once_stay_within_the_memory_that_is_documented() {
    let noise = (0_u64..).map(|n| (n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8);
    let body = Arc::new(message(&noise.take(10 << 20).collect::<Vec<_>>()));
    let agent = net::serve(|request: http::Request<hyper::body::Incoming>| async {
        let mut body = request.into_body();
        while let Some(frame) = body.frame().await {
            drop(frame.unwrap());
        }
        http::Response::new(http_body_util::Full::<bytes::Bytes>::default())
    })
    .await;
    let upstream = net::url(agent, "/");
    for args in [&[][..], &["--upstream", &upstream], &["--upstream", &upstream, "--stream"]] {
        let gateway = Gateway::start(args);
        upload(&gateway, &body).await;
        let peak = gateway.peak_memory();
        eprintln!("{args:?}: peak {} MiB of {} MiB", peak >> 20, BOUND >> 20);
        assert!(peak <= BOUND, "{peak} bytes with {args:?}");
        gateway.is_idle().await;
        assert_eq!(gateway.spooled_files(), 0);
    }
}
