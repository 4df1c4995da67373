//! The body of a request, with what a client may not do to us: send too slowly, or miss our answer.

use std::{
    error::Error,
    fmt,
    future::Future as _,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::{
    runtime::Handle,
    time::{Instant, Sleep, sleep, timeout},
};

/// How long what a client still sends is read after it was answered.
const LINGER: Duration = Duration::from_secs(5);

/// How fast a client has to send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The time over which bytes are counted.
    pub(super) window: Duration,
    /// Bytes that have to come in that time.
    pub(super) min_bytes: u64,
}

/// The body of a request.
///
/// It fails when, of the time it is waited for, too little has come in [`Pace::window`]. The time in
/// which nobody asks for more does not count.
///
/// When it is dropped before its end, what the client still sends is read and thrown away for a
/// while: a connection that is closed before would be reset, and the client would lose the answer.
#[derive(Debug)]
pub(super) struct ClientBody {
    body: Body,
    pace: Pace,
    /// Bytes that have come in this window.
    bytes: u64,
    /// How long they were waited for.
    waited: Duration,
    /// Since when the next ones are waited for, and when the window ends.
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    /// Whether the client has more to send, and sends it.
    lingers: bool,
    receipt: Receipt,
}

/// What has become of a body, for who has handed it on.
#[derive(Debug, Clone, Default)]
pub(super) struct Receipt(Arc<Received>);

#[derive(Debug, Default)]
struct Received {
    bytes: AtomicU64,
    fault: OnceLock<BodyFault>,
}

impl Receipt {
    /// Bytes that have come.
    pub(super) fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// Why it has ended early, if it has.
    pub(super) fn fault(&self) -> Option<BodyFault> {
        self.0.fault.get().copied()
    }
}

/// Why the body ends early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFault {
    TooSlow,
    /// The client has gone, or broke the rules of HTTP.
    Failed,
}

impl fmt::Display for BodyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooSlow => "client sends too slowly",
            Self::Failed => "body of the request cannot be read",
        })
    }
}

impl Error for BodyFault {}

impl ClientBody {
    /// `waits` says that the client waits for 100 Continue, which the first read sends: it is then
    /// not read just to be thrown away.
    pub(super) fn new(body: Body, pace: Pace, waits: bool) -> Self {
        Self {
            body,
            pace,
            bytes: 0,
            waited: Duration::ZERO,
            waiting: None,
            lingers: !waits,
            receipt: Receipt::default(),
        }
    }

    pub(super) fn receipt(&self) -> Receipt {
        self.receipt.clone()
    }

    fn fail(&mut self, fault: BodyFault) -> BodyFault {
        self.lingers = false;
        *self.receipt.0.fault.get_or_init(|| fault)
    }

    /// Whether too little has come in the time that is over.
    fn too_slow(&mut self) -> bool {
        let bytes = std::mem::take(&mut self.bytes);
        self.waited = Duration::ZERO;
        bytes < self.pace.min_bytes
    }

    /// Waits for the client, until a window ends in which too little has come.
    fn poll_window(&mut self, cx: &mut Context<'_>) -> Poll<BodyFault> {
        loop {
            let left = self.pace.window.saturating_sub(self.waited);
            let start = || (Instant::now(), Box::pin(sleep(left)));
            let (_, end) = self.waiting.get_or_insert_with(start);
            ready!(end.as_mut().poll(cx));
            self.waiting = None;
            if self.too_slow() {
                return Poll::Ready(self.fail(BodyFault::TooSlow));
            }
        }
    }
}

impl http_body::Body for ClientBody {
    type Data = Bytes;
    type Error = BodyFault;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyFault>>> {
        let this = self.get_mut();
        if let Some(fault) = this.receipt.fault() {
            return Poll::Ready(Some(Err(fault)));
        }
        this.lingers = true;
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) else {
            return this.poll_window(cx).map(|fault| Some(Err(fault)));
        };
        if let Some((since, _)) = this.waiting.take() {
            this.waited += since.elapsed();
        }
        Poll::Ready(match frame {
            None => {
                this.lingers = false;
                None
            }
            Some(Err(_)) => Some(Err(this.fail(BodyFault::Failed))),
            Some(Ok(frame)) => {
                let len = frame.data_ref().map_or(0, |data| data.len() as u64);
                this.receipt.0.bytes.fetch_add(len, Ordering::Relaxed);
                this.bytes += len;
                if this.waited >= this.pace.window && this.too_slow() {
                    return Poll::Ready(Some(Err(this.fail(BodyFault::TooSlow))));
                }
                Some(Ok(frame))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ClientBody {
    fn drop(&mut self) {
        if !self.lingers || self.body.is_end_stream() {
            return;
        }
        let Ok(runtime) = Handle::try_current() else { return };
        let mut body = std::mem::take(&mut self.body);
        runtime
            .spawn(timeout(LINGER, async move { while let Some(Ok(_)) = body.frame().await {} }));
    }
}
