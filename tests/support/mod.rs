//! What the tests share.

#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    unused_imports,
    reason = "a module of every test file, each of which uses what it needs"
)]

pub mod cases;
#[cfg(feature = "cli")]
pub mod command;
pub mod drive;
pub mod messages;
pub mod oracle;
pub mod verdict;

use acp_envelope::{Config, Envelope, EnvelopeEncoder, Limits, Location, decode_with};
use bytes::Bytes;

pub use self::drive::{
    Finding, Message, Part, Random, bytewise, cut, decode_chunks, decode_whole, random_cuts, write,
};

/// Decodes whole and byte by byte, which must not differ (ACP-FRM-7).
pub fn outcome(content_type: &str, body: &str, limits: Limits) -> Result<Message, Finding> {
    let (body, config) = (Bytes::copy_from_slice(body.as_bytes()), Config::new().limits(limits));
    let whole = decode_whole(content_type.as_bytes(), &body, config);
    let apart = decode_chunks(content_type.as_bytes(), bytewise(&body), config);
    assert_eq!(whole, apart, "{}", body.escape_ascii());
    whole
}

/// Reads a message whose content is in memory.
pub fn read_back(encoder: EnvelopeEncoder, config: Config) -> Envelope {
    let content_type = encoder.content_type().to_owned();
    decode_with(content_type, encoder.into_bytes().unwrap(), config).unwrap()
}

pub fn finding(code: &'static str, place: Location, part: Option<usize>) -> Finding {
    Finding { code, place, part }
}
