//! Counts for Prometheus.

use std::time::Duration;

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

/// The media type of [`Metrics::to_text`].
pub(super) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the buckets, in seconds.
const SECONDS: [f64; 11] = [0.001, 0.005, 0.02, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 600.0];

#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    messages: Family<Verdict, Counter>,
    bytes: Counter,
    parts: Counter,
    seconds: Histogram,
    in_flight: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Verdict {
    verdict: &'static str,
    code: &'static str,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("acp");
        let messages = Family::default();
        let (bytes, parts) = (Counter::default(), Counter::default());
        let (seconds, in_flight) = (Histogram::new(SECONDS), Gauge::default());
        registry.register("messages", "Messages by verdict and code", messages.clone());
        let help = "Bytes of messages that were received";
        registry.register_with_unit("received", help, Unit::Bytes, bytes.clone());
        registry.register("parts", "Content parts of messages that were received", parts.clone());
        let help = "Time from a message's head to its answer";
        registry.register_with_unit("duration", help, Unit::Seconds, seconds.clone());
        registry.register("in_flight", "Messages in flight", in_flight.clone());
        Self { registry, messages, bytes, parts, seconds, in_flight }
    }

    pub(super) fn count(
        &self,
        verdict: &'static str,
        code: &'static str,
        bytes: u64,
        parts: usize,
        took: Duration,
    ) {
        self.messages.get_or_create(&Verdict { verdict, code }).inc();
        self.bytes.inc_by(bytes);
        self.parts.inc_by(parts as u64);
        self.seconds.observe(took.as_secs_f64());
    }

    /// The counts, and how many messages are in flight.
    pub(super) fn to_text(&self, in_flight: usize) -> String {
        self.in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
