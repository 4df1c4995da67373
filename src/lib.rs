//! A strict, zero-copy, sans-IO decoder for the Agent Content Protocol.
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
pub mod error;
pub mod parser;
pub mod syntax;

mod limits;
mod name;

pub use crate::{
    control::{Control, ControlErrorKind, Reference},
    error::{Category, Location, PartId},
    limits::Limits,
    name::{InvalidName, PartName},
    parser::Status,
};
