//! The listener and its connections.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body};
use http::Request;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::{sleep, timeout},
};
use tokio_io_timeout::TimeoutStream;
use tower_service::Service as _;
use tracing::{info, warn};

use super::{Bounds, app::App};

/// The most bytes of a connection that are read ahead.
const READ_BUFFER: usize = 64 << 10;

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Serves until the process is told to stop, and until what is in flight then is done.
pub(super) async fn run(listen: SocketAddr, app: Arc<App>, bounds: &Bounds) -> io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    info!("listening on http://{}", listener.local_addr()?);
    let connections = Arc::new(Semaphore::new(bounds.max_connections.min(Semaphore::MAX_PERMITS)));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(bounds.client_timeout);
    http.max_buf_size(READ_BUFFER);
    let graceful = GracefulShutdown::new();
    let router = Arc::clone(&app).router();
    let accepting = async {
        loop {
            // Never closed.
            let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { return };
            let (stream, peer) = accept(&listener).await;
            let router = router.clone();
            let service = service_fn(move |request| answer(router.clone(), request, peer));
            let mut stream = TimeoutStream::new(stream);
            stream.set_write_timeout(Some(bounds.client_timeout));
            let connection = http.serve_connection(TokioIo::new(Box::pin(stream)), service);
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // A client that breaks off, or sends what is no HTTP, was answered if it could be.
                let _ = connection.await;
                drop(permit);
            });
        }
    };
    tokio::select! {
        () = accepting => {}
        stopped = stop() => stopped?,
    }
    drop(listener);
    app.close();
    info!("closing: no more messages are taken");
    if timeout(bounds.shutdown_timeout, graceful.shutdown()).await.is_err() {
        warn!("messages in flight were cut");
    }
    Ok(())
}

async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Answers are written in one piece; to wait for more would only delay them.
                let _ = stream.set_nodelay(true);
                return (stream, peer);
            }
            Err(error) => {
                // There may be no file descriptor left until another connection ends.
                warn!("cannot accept a connection: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn answer(
    mut router: Router,
    request: Request<Incoming>,
    peer: SocketAddr,
) -> Result<axum::response::Response, std::convert::Infallible> {
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(Peer(peer));
    router.call(request).await
}

/// Waits until the process is told to stop.
async fn stop() -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => interrupted,
            _ = terminate.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}
