//! A strict, zero-copy, sans-IO codec for the Agent Content Protocol (ACP 0.5.0-draft): one JSON
//! control document plus binary parts in one `multipart/form-data` body.
//!
//! ```text
//!  bytes ─▶ syntax ─▶ parser ──────────────▶ envelope ─▶ items, or an Envelope
//!           grammar   multipart: events      rules of a message
//!              ▲                                ▲   ▲
//!              │                  control ──────┘   │
//!              │                  charset, strict   │
//!              │                  JSON, references  │
//!              │                     ▲              │
//!  bytes ◀─────┴────── encode ───────┴──────────────┘ ◀─ parts, a control document
//! ```
//!
//! - [`decode`] takes a whole message and gives an [`Envelope`].
//! - [`EnvelopeDecoder`] takes chunks as they arrive and gives [`Item`]s.
//! - [`EnvelopeBuilder`] takes parts and a [`Control`] document and gives an [`EnvelopeEncoder`], which
//!   gives the bytes to be written.
//! - [`parser::Parser`] is the multipart parser alone; it knows nothing of JSON or ACP.
//!
//! What is refused is refused with a [`DecodeError`] or an [`EncodeError`]: a stable code, a place, the
//! part, and a hint. [`Limits`] bounds what a message may hold, [`Config`] the policy.
//!
//! ```
//! use acp_envelope::{Control, EnvelopeBuilder, NewPart, decode};
//! use serde_json::json;
//!
//! let mut message = EnvelopeBuilder::new();
//! let doc = message.add(NewPart::new("application/pdf", "%PDF").name("d"))?;
//! let encoder = message.build(&Control::new(&json!({ "doc": doc }))?)?;
//!
//! let content_type = encoder.content_type().to_owned();
//! let envelope = decode(content_type, encoder.into_bytes()?)?;
//! let part = envelope.part("d").unwrap();
//! assert_eq!(part.body(), "%PDF");
//! assert_eq!(part.head().referenced_by().collect::<Vec<_>>(), ["/doc"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! The default is the library alone, without I/O. The others add to it and change nothing:
//!
//! | feature | adds |
//! |---|---|
//! | `stream` | module `stream`: messages as they arrive, in async code |
//! | `codec` | module `codec`: for `Framed` of tokio-util |
//! | `spool` | module `spool`: parts in memory or in temporary files until the message is valid |
//! | `http` | module `http`: headers, bodies, problem documents, validating pass-through |
//! | `axum` | module `axum`: extractors and responses |
//! | `cli` | the command `acp` |
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::cast_possible_truncation
    )
)]

#[cfg(feature = "axum")]
pub mod axum;
#[cfg(feature = "codec")]
pub mod codec;
pub mod control;
pub mod encode;
pub mod envelope;
pub mod error;
#[cfg(feature = "http")]
pub mod http;
pub mod parser;
#[cfg(feature = "spool")]
pub mod spool;
#[cfg(feature = "stream")]
pub mod stream;
pub mod syntax;

mod limits;
mod name;

#[doc(inline)]
pub use crate::{
    control::{Control, ControlError, ControlErrorKind, Reference},
    encode::{
        EncodeError, EncodeErrorKind, EnvelopeBuilder, EnvelopeEncoder, Merged, Naming, NewPart,
    },
    envelope::{
        Config, ContentHead, DecodeError, DecodeErrorKind, Envelope, EnvelopeDecoder,
        EnvelopeErrorKind, Item, Part, SalvagedControl, Warning, WarningCode, decode, decode_with,
    },
    error::{Category, Location, PartId},
    limits::Limits,
    name::{InvalidName, PartName},
    parser::Status,
};

/// The examples of the README.
#[cfg(all(doctest, feature = "axum"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
