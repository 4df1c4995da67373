//! What the fuzz targets check, each as a plain function over bytes; it panics where something does
//! not hold. What else a target finds, a panic of the library or memory that grows, needs no check.
//!
//! | target | what must hold |
//! |---|---|
//! | [`parser`] | the multipart parser: no cut matters, header fields are what `httparse` reads |
//! | [`envelope`] | the decoder: its invariants, what is left after an error, what is accepted can be sent on |
//! | [`chunking`] | a message under different cuts: one outcome (ACP-FRM-7) |
//! | [`oracle`] | a message: what the naive reading of the rules says |
//! | [`adapters`] | a message through `codec`, `stream` and `http`: what the decoder says |
//! | [`roundtrip`] | a message written and read: nothing is lost (ACP-ENC-4) |
//! | [`control`] | a control document: what we accept `serde_json` accepts, with the same value |
//! | [`disposition`] | values of header fields, boundaries and names: what the oracle says |
//! | [`http_head`] | the head of an HTTP message: the library and the command say the same |
//! | [`search`] | the search for delimiters: what the naive search finds |

#![allow(missing_docs, unreachable_pub, reason = "the table says it; a module of a test, too")]

mod adapters;
mod chunking;
mod control;
mod disposition;
mod envelope;
mod http_head;
mod message;
mod naive;
mod parser;
mod roundtrip;
mod search;
mod support;

// What the tests of the adapters have, and the command: the same files.
#[path = "../../tests/adapter/mod.rs"]
mod adapter;
#[path = "../../src/bin/acp/http.rs"]
mod http_message;

pub use self::{
    adapters::adapters, chunking::chunking, control::control, disposition::disposition,
    envelope::envelope, http_head::http_head, naive::oracle, parser::parser, roundtrip::roundtrip,
    search::search,
};
