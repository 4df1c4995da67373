//! The search for `CRLF "--" boundary`, and for its beginning at the end of a chunk.
//!
//! How a whole one is found is in [`super::search`].
//!
//! CR stands in the delimiter at position 0 only. So a partial match at the end of a chunk is fully
//! described by its length, and when it fails, no shorter one can be inside it: the parser carries
//! one integer from chunk to chunk and rescans nothing.

use bytes::Bytes;
use memchr::memrchr;

use super::{Boundary, bytes::common_prefix, search::Search};

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
    boundary: Boundary,
    search: Search,
    /// The delimiter's bytes to be handed out, once some were.
    shared: Bytes,
}

impl Delimiter {
    /// Length of the CRLF a delimiter starts with.
    pub(crate) const CRLF: usize = 2;

    pub(crate) fn new(boundary: &Boundary) -> Self {
        let search = Search::new(boundary.delimiter());
        Self { boundary: boundary.clone(), search, shared: Bytes::new() }
    }

    fn bytes(&self) -> &[u8] {
        self.boundary.delimiter()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes().len()
    }

    /// The delimiter's bytes from `start` to `end`, of which there is one copy for all calls.
    pub(crate) fn slice(&mut self, start: usize, end: usize) -> Bytes {
        if self.shared.is_empty() {
            self.shared = Bytes::copy_from_slice(self.boundary.delimiter());
        }
        self.shared.slice(start..end)
    }

    /// `"--" boundary`: the delimiter as a line.
    pub(crate) fn line(&self) -> &[u8] {
        self.boundary.line()
    }

    /// How many bytes of `chunk` go on with a delimiter of which `held` bytes are matched.
    pub(crate) fn continues(&self, held: usize, chunk: &[u8]) -> usize {
        common_prefix(chunk, self.bytes().get(held..).unwrap_or_default())
    }

    /// The first delimiter in `chunk`, whole or cut by the chunk's end.
    pub(crate) fn find(&self, chunk: &[u8]) -> Hit {
        if let Some(text) = self.search.find(chunk, |place| self.covering(chunk, place)) {
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

    /// Where the delimiter starts that covers `place`. That is the last CR up to there, or nowhere.
    fn covering(&self, chunk: &[u8], place: usize) -> Option<usize> {
        let earliest = (place + 1).saturating_sub(self.len());
        let start = earliest + memrchr(b'\r', chunk.get(earliest..=place)?)?;
        chunk.get(start..)?.starts_with(self.bytes()).then_some(start)
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
    fn every_way_to_search_finds_what_the_naive_search_finds_acp_frm_3() {
        let some = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234567";
        let dashes = "-".repeat(30);
        for boundary in [&some[..1], &some[..29], &some[..30], &some[..38], &some[..70], &dashes] {
            let boundary = Boundary::new(boundary.as_bytes()).unwrap();
            let (delimiter, bytes) = (Delimiter::new(&boundary), boundary.delimiter());
            let (near, end) = (&bytes[..bytes.len() - 1], &bytes[bytes.len() / 2..]);
            for chunk in strings_of([b"\r", b"--", b"0123456789abcdef", bytes, near, end], 5) {
                assert_eq!(
                    delimiter.find(&chunk),
                    naive(bytes, &chunk),
                    "{}",
                    chunk.escape_ascii()
                );
            }
        }
    }

    #[test]
    fn a_delimiter_is_found_wherever_it_stands_acp_frm_3() {
        let boundary = Boundary::new(&[b'x'; 30]).unwrap();
        let (delimiter, bytes) = (Delimiter::new(&boundary), boundary.delimiter());
        for text in 0..600 {
            let chunk = [&vec![b'x'; text][..], bytes, b"x"].concat();
            assert_eq!(delimiter.find(&chunk), Hit { text, matched: bytes.len() });
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
