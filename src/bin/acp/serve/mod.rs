//! `acp serve`: a gateway that takes messages over HTTP.

mod app;
mod client_body;
mod logging;
mod message;
mod metrics;
mod server;
mod upstream;

use std::{io, net::SocketAddr, path::PathBuf, time::Duration};

use acp_envelope::spool::Spool;
use bytesize::ByteSize;
use clap::{Args, builder::BoolishValueParser};

use self::{app::App, logging::LogFormat, upstream::Upstream};
use crate::{args::Rules, run::Outcome};

#[derive(Debug, Args)]
#[command(
    after_help = "POST /messages takes a message and answers what is in it, or what is wrong with it as \
    application/problem+json (RFC 9457). With --upstream, a valid message is forwarded as it is, and the \
    upstream's answer is the answer. GET / is a page to try it, GET /healthz says 200 while messages are \
    taken, GET /metrics has counts for Prometheus. HTTP/1.1 without TLS: put a TLS proxy in front where \
    that is needed. SIGINT and SIGTERM let messages in flight finish.\n\nMemory: at most about 12 MiB, and \
    for each message in flight three times --spool-memory, 400 KiB, and what its control document takes."
)]
pub(crate) struct Serve {
    /// Address to listen on; port 0 is any free one
    #[arg(long, value_name = "ADDR", env = "ACP_LISTEN", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,

    #[command(flatten)]
    forwarding: Forwarding,

    #[command(flatten)]
    bounds: Bounds,

    /// How log lines are written to standard error; `off` writes none
    #[arg(long, value_name = "FORMAT", env = "ACP_LOG", default_value = "text")]
    log: LogFormat,

    #[command(flatten)]
    rules: Rules,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Forwarding")]
struct Forwarding {
    /// Forward valid messages to this http or https URL, once they are known to be valid
    #[arg(long, value_name = "URL", env = "ACP_UPSTREAM")]
    upstream: Option<http::Uri>,

    /// Forward while the message arrives; cut the request when it turns out to be invalid
    #[arg(long, env = "ACP_STREAM", value_parser = BoolishValueParser::new(), requires = "upstream")]
    stream: bool,

    /// The longest the upstream may do nothing before it answers
    #[arg(long, value_name = "TIME", env = "ACP_UPSTREAM_TIMEOUT", default_value = "60s", value_parser = humantime::parse_duration)]
    upstream_timeout: Duration,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Bounds")]
struct Bounds {
    /// Messages in flight; one more is answered 503
    #[arg(long, value_name = "N", env = "ACP_MAX_IN_FLIGHT", default_value = "256")]
    max_in_flight: usize,

    /// Connections; one more waits
    #[arg(long, value_name = "N", env = "ACP_MAX_CONNECTIONS", default_value = "1024")]
    max_connections: usize,

    /// How long a client may send less than --min-rate before it is answered 408, or take nothing of
    /// its answer before it is cut off
    #[arg(long, value_name = "TIME", env = "ACP_CLIENT_TIMEOUT", default_value = "20s", value_parser = humantime::parse_duration)]
    client_timeout: Duration,

    /// Bytes a second that a client has to send, on average over --client-timeout
    #[arg(long, value_name = "SIZE", env = "ACP_MIN_RATE", default_value = "500B")]
    min_rate: ByteSize,

    /// Bytes of a message that are held in memory before it is forwarded; the rest goes to a file
    #[arg(long, value_name = "SIZE", env = "ACP_SPOOL_MEMORY", default_value = "256KiB")]
    spool_memory: ByteSize,

    /// Directory of temporary files [default: that of the system]
    #[arg(long, value_name = "DIR", env = "ACP_SPOOL_DIR")]
    spool_dir: Option<PathBuf>,

    /// How long messages in flight may take to finish at the end
    #[arg(long, value_name = "TIME", env = "ACP_SHUTDOWN_TIMEOUT", default_value = "30s", value_parser = humantime::parse_duration)]
    shutdown_timeout: Duration,
}

impl Bounds {
    fn spool(&self) -> Spool {
        let memory = usize::try_from(self.spool_memory.as_u64()).unwrap_or(usize::MAX);
        let spool = Spool::new().max_memory_bytes(memory);
        match &self.spool_dir {
            Some(directory) => spool.directory(directory),
            None => spool,
        }
    }
}

pub(crate) fn run(serve: &Serve) -> io::Result<Outcome> {
    logging::start(serve.log);
    let forwarding = &serve.forwarding;
    let upstream = forwarding
        .upstream
        .as_ref()
        .map(|url| Upstream::new(url, forwarding.stream, forwarding.upstream_timeout))
        .transpose()?;
    let app = App::new(serve.rules.config(), &serve.bounds, upstream);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(server::run(serve.listen, app, &serve.bounds))?;
    // What is cut is logged; what still lingers is not waited for.
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(Outcome::Valid)
}
