//! The head that most clients write, recognised at once (ACP-HDR-1…4):
//!
//! ```text
//! Content-Disposition: form-data; name="…"[; filename="…"]
//! Content-Type: type/subtype
//!
//! ```
//!
//! A shortcut and nothing else: for what is recognised here, [`BlockScan`](super::BlockScan) finds no
//! fault, and [`Disposition::parse`] and [`MediaType::parse`] read the same.

use super::{
    Disposition, MediaType,
    bytes::{is_field_value, is_token, run},
    disposition::Value,
};

const BEFORE_NAME: &[u8] = b"Content-Disposition: form-data; name=\"";
const BEFORE_FILENAME: &[u8] = b"; filename=\"";
const BEFORE_TYPE: &[u8] = b"\r\nContent-Type: ";
const AFTER_TYPE: &[u8] = b"\r\n\r\n";

/// Where in a header block is what it says. Small, since it goes with each head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlainHead {
    name: Span,
    filename: Option<Span>,
    media_type: Span,
    /// Length of the type.
    slash: u16,
}

/// Bytes of a header block.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u16,
    end: u16,
}

impl Span {
    /// `None` in a block that is longer than heads are.
    fn new(start: usize, len: usize) -> Option<Self> {
        Some(Self { start: start.try_into().ok()?, end: (start + len).try_into().ok()? })
    }

    fn of(self, block: &[u8]) -> &[u8] {
        block.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }
}

impl PlainHead {
    /// How many fields it has.
    pub(crate) const FIELDS: usize = 2;

    /// Reads the head at the start of `chunk`, and says how long it is with its blank line.
    pub(crate) fn read(chunk: &[u8]) -> Option<(Self, usize)> {
        let rest = chunk.strip_prefix(BEFORE_NAME)?;
        let mut at = BEFORE_NAME.len();
        let (name, rest) = quoted(rest, &mut at)?;
        let (filename, rest) = match rest.strip_prefix(BEFORE_FILENAME) {
            None => (None, rest),
            Some(rest) => {
                at += BEFORE_FILENAME.len();
                let (filename, rest) = quoted(rest, &mut at)?;
                (Some(filename), rest)
            }
        };
        let rest = rest.strip_prefix(BEFORE_TYPE)?;
        at += BEFORE_TYPE.len();
        let slash = run(rest, is_token);
        let subtype = rest.get(slash..)?.strip_prefix(b"/")?;
        let essence = slash + 1 + run(subtype, is_token);
        if slash == 0 || essence == slash + 1 || !rest.get(essence..)?.starts_with(AFTER_TYPE) {
            return None;
        }
        let media_type = Span::new(at, essence)?;
        let slash = slash.try_into().ok()?;
        Some((Self { name, filename, media_type, slash }, at + essence + AFTER_TYPE.len()))
    }

    /// The name, which may be none that a part may have.
    pub(crate) fn name<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        self.name.of(block)
    }

    /// Where the name starts in the block.
    pub(crate) fn name_at(&self) -> usize {
        self.name.start.into()
    }

    pub(crate) fn disposition<'a>(&self, block: &'a [u8]) -> Disposition<'a> {
        let value = |span: Span| {
            let at = usize::from(span.start) - "Content-Disposition: ".len();
            Value { text: span.of(block), at, quoted: true }
        };
        Disposition::of(value(self.name), self.filename.map(value))
    }

    pub(crate) fn media_type<'a>(&self, block: &'a [u8]) -> MediaType<'a> {
        MediaType::plain(self.media_type.of(block), self.slash.into())
    }

    /// Where the media type starts in the block.
    pub(crate) fn media_type_at(&self) -> usize {
        self.media_type.start.into()
    }
}

/// The inside of a quoted-string without escapes that is at `at`, where `rest` starts; what follows
/// it, and where that starts.
fn quoted<'a>(rest: &'a [u8], at: &mut usize) -> Option<(Span, &'a [u8])> {
    let len = run(rest, |b| is_field_value(b) && b != b'"' && b != b'\\');
    let span = Span::new(*at, len)?;
    *at += len + 1;
    Some((span, rest.get(len..)?.strip_prefix(b"\"")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{BlockScan, Fields, Scanned, bytes::strings_of};

    /// What is recognised is read as the long way reads it; gives whether it was recognised.
    fn check(head: &[u8]) -> bool {
        let Some((plain, len)) = PlainHead::read(head) else { return false };
        let block = &head[..len];
        let scanned = BlockScan::new().scan(head, b"--boundary", 8192, 64);
        assert_eq!(scanned, Scanned::Complete(len), "{}", head.escape_ascii());
        let fields: Vec<_> = Fields::new(block).collect();
        assert!(fields.len() == 2 && fields[0].is("content-disposition"));
        let (read, long) = (plain.disposition(block), Disposition::parse(fields[0].value).unwrap());
        assert_eq!(read, long);
        assert_eq!(Some(plain.name(block)), long.name());
        assert_eq!(plain.name_at(), fields[0].value_at + long.name_at());
        assert!(fields[1].is("content-type"));
        assert_eq!(plain.media_type(block), MediaType::parse(fields[1].value).unwrap());
        true
    }

    #[test]
    fn what_is_recognised_is_what_the_long_way_reads_acp_hdr_1_acp_hdr_3_acp_hdr_4() {
        let tokens: [&[u8]; 6] =
            [b"a", b"\"", b"\\", b"\r\n", b"; filename=\"", b"\"\r\nContent-Type: a/b\r\n\r\n"];
        let start = b"Content-Disposition: form-data; name=\"";
        let recognised = strings_of(tokens, 6).filter(|rest| check(&[start, &rest[..]].concat()));
        assert!(recognised.count() > 300);
    }

    #[test]
    fn heads_of_other_kinds_take_the_long_way_acp_hdr_3_acp_hdr_4() {
        let plain = "Content-Disposition: form-data; name=\"n\"; filename=\"f\"\r\nContent-Type: a/b\r\n\r\n";
        assert!(check(plain.as_bytes()));
        for end in 0..plain.len() {
            assert!(!check(&plain.as_bytes()[..end]), "{end}");
        }
        for (old, new) in [
            ("Disposition", "disposition"),
            ("\"n\"", "n"),
            ("\"f\"", "\"\0\""),
            ("; filename", ";filename"),
            ("a/b", "a/b;c=d"),
            ("a/b", "/b"),
            ("a/b", "a/"),
            ("a/b", "a/b\r\nX: y"),
        ] {
            assert!(!check(plain.replace(old, new).as_bytes()), "{new}");
        }
    }
}
