//! The bounds a receiver sets: every one finite unless asked otherwise.

use crate::syntax::MAX_BOUNDARY_CHARS;

/// Upper bounds on what a message may hold (ACP-LIM-1…9).
///
/// A limit of N accepts exactly N and refuses N + 1, at the byte where the excess is certain. Zero
/// means none, never "no limit".
///
/// # Memory
///
/// Bodies of content parts are handed out as they come and never kept. What a decoder keeps at most,
/// *C* being `max_control_bytes` (`max_json_bytes` in the JSON form) and *H* `max_header_bytes`:
///
/// | what | bytes |
/// |---|---|
/// | the control document | 1 *C* as a view of the input; 2 *C* where it comes in several chunks |
/// | its text, when its charset is not UTF-8 | 3 *C* |
/// | the places of its references | 4 *C* |
/// | a header block that a chunk's end cuts | 2 *H* |
/// | name and warnings of each part (`max_parts`) | 1 KiB |
/// | everything else | 16 KiB |
///
/// While the control document is judged, 13 *C* more may be in use, for documents of nothing but
/// references inside arrays or very short members; while a buffer grows, it stands beside its old
/// self. `tests/bounds.rs` holds these figures against a counting allocator.
///
/// ```
/// use acp_envelope::Limits;
///
/// let limits = Limits::new().max_parts(8).max_part_bytes(10 << 20);
/// assert_eq!(limits.max_parts, 8);
/// assert_eq!(limits.max_header_bytes, 8 * 1024);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Content parts of a message, the control part not counted. Default 64; code `limit_parts`.
    ///
    /// For a [`Parser`](crate::parser::Parser) used alone, which knows no control part: all parts.
    pub max_parts: usize,
    /// Bytes in the body of one content part. Default 100 MiB; code `limit_part_size`.
    pub max_part_bytes: u64,
    /// Bytes of the whole message, framing included. Default 500 MiB; code `limit_message_size`.
    pub max_message_bytes: u64,
    /// Characters of the boundary. Default 70, which RFC 2046 sets: it can be lowered, and a higher
    /// value changes nothing but the code of a longer boundary. Code `limit_boundary`.
    pub max_boundary_chars: usize,
    /// Bytes of the control document in the multipart form. Default 1 MiB; no more than 1 GiB counts;
    /// code `limit_control_size`.
    pub max_control_bytes: usize,
    /// Bytes of the body in the JSON form. Default 1 MiB; no more than 1 GiB counts; code
    /// `limit_control_size`.
    pub max_json_bytes: usize,
    /// Bytes of one part's header lines with their CRLF, the blank line not counted. Default 8 KiB;
    /// code `limit_header_size`.
    pub max_header_bytes: usize,
    /// Header fields of one part. Default 16; code `limit_headers`.
    pub max_headers: usize,
    /// Arrays and objects open at once in the control document. Default 128; no more than
    /// [`Limits::JSON_DEPTH_CEILING`] count; code `limit_json_depth`.
    pub max_json_depth: usize,
}

impl Limits {
    /// The highest JSON depth that can be allowed: reading is recursive, and takes up to 1.5 MiB of
    /// stack at this depth in a debug build, 400 KiB in a release build; a quarter of it at 128.
    pub const JSON_DEPTH_CEILING: usize = 512;

    /// The defaults of ACP §7.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            max_parts: 64,
            max_part_bytes: 100 << 20,
            max_message_bytes: 500 << 20,
            max_boundary_chars: MAX_BOUNDARY_CHARS,
            max_control_bytes: 1 << 20,
            max_json_bytes: 1 << 20,
            max_header_bytes: 8 << 10,
            max_headers: 16,
            max_json_depth: 128,
        }
    }

    /// No bound that can be lifted is left: memory then grows with what the sender sends.
    #[must_use]
    pub const fn unbounded_for_trusted_input() -> Self {
        Self {
            max_parts: usize::MAX,
            max_part_bytes: u64::MAX,
            max_message_bytes: u64::MAX,
            max_boundary_chars: MAX_BOUNDARY_CHARS,
            max_control_bytes: usize::MAX,
            max_json_bytes: usize::MAX,
            max_header_bytes: usize::MAX,
            max_headers: usize::MAX,
            max_json_depth: Self::JSON_DEPTH_CEILING,
        }
    }
}

macro_rules! setters {
    ($($name:ident: $type:ty),* $(,)?) => {
        impl Limits {
            $(
                #[doc = concat!("Sets [`Limits::", stringify!($name), "`](field@Self::", stringify!($name), ").")]
                #[must_use]
                pub const fn $name(mut self, value: $type) -> Self {
                    self.$name = value;
                    self
                }
            )*
        }
    };
}

setters! {
    max_parts: usize,
    max_part_bytes: u64,
    max_message_bytes: u64,
    max_boundary_chars: usize,
    max_control_bytes: usize,
    max_json_bytes: usize,
    max_header_bytes: usize,
    max_headers: usize,
    max_json_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}
