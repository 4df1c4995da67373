//! Messages that are written: what comes out, every strict receiver reads (ACP-ENC-1…8).
//!
//! [`EnvelopeBuilder`] takes parts and a control document and checks them against all rules;
//! [`EnvelopeEncoder`] gives the bytes. Neither does I/O, and content is never copied.

mod boundary;
mod builder;
mod encoder;
mod error;
mod naming;
mod part;

use std::collections::BTreeMap;

pub use self::{
    builder::EnvelopeBuilder,
    encoder::EnvelopeEncoder,
    error::{EncodeError, EncodeErrorKind},
    naming::Naming,
    part::NewPart,
};
use crate::{control::Control, name::PartName};

/// What [`EnvelopeBuilder::merge`] gives for an envelope whose parts it has added.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merged {
    /// The envelope's control document, its references under the names that their parts have now.
    pub control: Control,
    /// The parts that have another name now: their old and new names.
    pub renamed: BTreeMap<PartName, PartName>,
}
