//! Stateless grammar over bytes: boundaries, media types, dispositions, header blocks.
//!
//! Nothing here keeps state, does I/O, or knows of JSON or ACP.

mod boundary;
mod boundary_search;
mod bytes;
mod content_type;
mod delimiter;
mod disposition;
mod header_block;
mod media_type;
mod parameters;
mod plain_head;
mod search;

pub(crate) use self::boundary::MAX_BOUNDARY_CHARS;
pub(crate) use self::boundary_search::{BoundarySearch, Progress};
pub(crate) use self::bytes::{is_field_value, is_ows, is_token, run, trim};
pub(crate) use self::delimiter::Delimiter;
pub(crate) use self::header_block::{BlockScan, Scanned};
pub(crate) use self::plain_head::PlainHead;
pub use self::{
    boundary::{Boundary, InvalidBoundary},
    content_type::{ContentType, ContentTypeError, ContentTypeErrorKind},
    disposition::Disposition,
    header_block::{Field, Fields},
    media_type::MediaType,
};
