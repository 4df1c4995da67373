//! A strict, zero-copy, sans-IO decoder for the Agent Content Protocol (ACP 0.5.0-draft): one JSON
//! control document plus binary parts in one `multipart/form-data` body.
//!
//! ```text
//!  bytes ─▶ syntax ─▶ parser ──────────────▶ envelope ─▶ items, or an Envelope
//!           grammar   multipart: events      rules of a message
//!                                               ▲
//!                                 control ──────┘
//!                                 charset, strict JSON, references
//! ```
//!
//! - [`decode`] takes a whole message and gives an [`Envelope`].
//! - [`EnvelopeDecoder`] takes chunks as they arrive and gives [`Item`]s.
//! - [`parser::Parser`] is the multipart parser alone; it knows nothing of JSON or ACP.
//!
//! What is refused is refused with a [`DecodeError`]: a stable code, a place, the part, and a hint
//! for the sender. [`Limits`] bounds what a message may hold, [`Config`] the policy.
//!
//! ```
//! let body = "--b\r\nContent-Type: application/json\r\n\r\n{\"doc\":{\"$ref\":\"d\"}}\r\n--b\r\n\
//!     Content-Disposition: form-data; name=\"d\"\r\nContent-Type: application/pdf\r\n\r\n%PDF\r\n--b--\r\n";
//! let envelope = acp_envelope::decode("multipart/form-data; boundary=b", body)?;
//! let part = envelope.part("d").unwrap();
//! assert_eq!(part.body(), "%PDF");
//! assert_eq!(part.head().referenced_by().collect::<Vec<_>>(), ["/doc"]);
//! # Ok::<(), acp_envelope::DecodeError>(())
//! ```
//!
//! # Features
//!
//! The default is the library alone. `cli` adds the command `acp`; it changes nothing here.
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

pub mod control;
pub mod encode;
pub mod envelope;
pub mod error;
pub mod parser;
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
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
