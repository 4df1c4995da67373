//! What the tests have as well: the same files.

#![allow(dead_code, reason = "not everything in them is needed here")]

#[path = "../../tests/support/drive.rs"]
pub mod drive;
#[path = "../../tests/support/oracle/mod.rs"]
pub mod oracle;
#[path = "../../tests/support/verdict.rs"]
pub mod verdict;

pub use self::drive::{Finding, Message, Part};
