//! The search for `CRLF "--" boundary`, and for its beginning at the end of a chunk.
//!
//! CR stands in the delimiter at position 0 only. So a partial match at the end of a chunk is fully
//! described by its length, and when it fails, no shorter one can be inside it: the parser carries
//! one integer from chunk to chunk and rescans nothing.

use bytes::Bytes;
use memchr::{memmem, memrchr};

use super::{Boundary, bytes::common_prefix};

/// Where the text before a delimiter ends, and how much of the delimiter follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Bytes of the chunk that belong to no delimiter.
    pub(crate) text: usize,
    /// Bytes of the delimiter after them: all of it, a part that the chunk's end cuts, or none.
    pub(crate) matched: usize,
}

/// The delimiter of a message, ready to be searched for.
#[derive(Debug, Clone)]
pub(crate) struct Delimiter {
    bytes: Bytes,
    finder: memmem::Finder<'static>,
}

impl Delimiter {
    /// Length of the CRLF a delimiter starts with.
    pub(crate) const CRLF: usize = 2;

    pub(crate) fn new(boundary: &Boundary) -> Self {
        let bytes = boundary.delimiter().clone();
        let finder = memmem::Finder::new(&bytes).into_owned();
        Self { bytes, finder }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The delimiter's bytes from `start` to `end`, without a copy.
    pub(crate) fn slice(&self, start: usize, end: usize) -> Bytes {
        self.bytes.slice(start..end)
    }

    /// `"--" boundary`: the delimiter as a line.
    pub(crate) fn line(&self) -> &[u8] {
        self.bytes.get(Self::CRLF..).unwrap_or_default()
    }

    /// How many bytes of `chunk` go on with a delimiter of which `held` bytes are matched.
    pub(crate) fn continues(&self, held: usize, chunk: &[u8]) -> usize {
        common_prefix(chunk, self.bytes.get(held..).unwrap_or_default())
    }

    /// The first delimiter in `chunk`, whole or cut by the chunk's end.
    pub(crate) fn find(&self, chunk: &[u8]) -> Hit {
        if let Some(text) = self.finder.find(chunk) {
            return Hit { text, matched: self.len() };
        }
        let tail_start = chunk.len().saturating_sub(self.len() - 1);
        let tail = chunk.get(tail_start..).unwrap_or_default();
        if let Some(cr) = memrchr(b'\r', tail) {
            let matched = tail.len() - cr;
            if self.continues(0, tail.get(cr..).unwrap_or_default()) == matched {
                return Hit { text: tail_start + cr, matched };
            }
        }
        Hit { text: chunk.len(), matched: 0 }
    }

    /// The byte at which it is certain that byte `at` of `chunk` is text: itself, or the byte that
    /// breaks the beginning of a delimiter in which it stands.
    pub(crate) fn certain_at(&self, chunk: &[u8], at: usize) -> usize {
        let start = (at + 1).saturating_sub(self.len());
        let Some(cr) = memrchr(b'\r', chunk.get(start..=at).unwrap_or_default()) else { return at };
        let cr = start + cr;
        at.max(cr + self.continues(0, chunk.get(cr..).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::{super::bytes::strings_of, *};

    /// Every position tried, the obvious way.
    fn naive(delimiter: &[u8], chunk: &[u8]) -> Hit {
        for text in 0..chunk.len() {
            let matched = chunk[text..].iter().zip(delimiter).take_while(|(a, b)| a == b).count();
            if matched == delimiter.len() || text + matched == chunk.len() {
                return Hit { text, matched };
            }
        }
        Hit { text: chunk.len(), matched: 0 }
    }

    #[test]
    fn finds_what_the_naive_search_finds_acp_frm_3() {
        let delimiter = Delimiter::new(&Boundary::new(b"ab").unwrap());
        let tokens: [&[u8]; 6] = [b"\r", b"\n", b"-", b"a", b"b", b"\r\n--ab"];
        for chunk in strings_of(tokens, 6) {
            assert_eq!(delimiter.find(&chunk), naive(b"\r\n--ab", &chunk), "{chunk:?}");
        }
    }

    #[test]
    fn text_is_certain_at_the_byte_that_breaks_the_match_acp_frm_7() {
        let delimiter = Delimiter::new(&Boundary::new(b"ab").unwrap());
        assert_eq!(delimiter.certain_at(b"xy\r\n--aZ", 1), 1);
        for inside in 2..=7 {
            assert_eq!(delimiter.certain_at(b"xy\r\n--aZ", inside), 7);
        }
        assert_eq!(delimiter.certain_at(b"\r\r\n-", 0), 1);
    }
}
