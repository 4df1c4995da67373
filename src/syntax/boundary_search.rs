//! The search for a boundary in what is about to be sent.
//!
//! A line that starts with `"--" boundary` is a delimiter to a strict receiver where CRLF stands
//! before it, and to some others after CR or LF alone. So lines of all three kinds are looked for.

use memchr::memrchr2;

use super::{Boundary, bytes::common_prefix, search::Search};

/// Looks for lines that start with `"--" boundary`. CR and LF occur in no boundary, so what a
/// chunk's end cuts is described by its length, as with a [`Delimiter`](super::Delimiter).
#[derive(Debug, Clone)]
pub(crate) struct BoundarySearch {
    boundary: Boundary,
    search: Search,
}

/// How far a search has come in content that comes in chunks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// Bytes of a line end's last byte and `"--" boundary` that end what has been seen.
    held: usize,
}

impl Progress {
    /// Before content: a blank line has just ended.
    pub(crate) const fn new() -> Self {
        Self { held: 1 }
    }
}

impl BoundarySearch {
    pub(crate) fn new(boundary: &Boundary) -> Self {
        Self { boundary: boundary.clone(), search: Search::new(boundary.line()) }
    }

    /// The byte of `content` at which `"--" boundary` is complete at the start of a line.
    pub(crate) fn find(&self, content: &[u8]) -> Option<usize> {
        self.find_on(&mut Progress::new(), content)
    }

    /// Goes on with `chunk`.
    pub(crate) fn find_on(&self, progress: &mut Progress, chunk: &[u8]) -> Option<usize> {
        let line = self.boundary.line();
        let mut seen = 0;
        if let Some(matched) = progress.held.checked_sub(1) {
            let rest = line.get(matched..).unwrap_or_default();
            seen = common_prefix(chunk, rest);
            if seen == rest.len() {
                return seen.checked_sub(1);
            }
            if seen == chunk.len() {
                progress.held += seen;
                return None;
            }
        }
        // What was held is broken, and no line starts within it.
        let chunk_rest = chunk.get(seen..).unwrap_or_default();
        if let Some(at) = self.search.find(chunk_rest, |place| self.covering(chunk_rest, place)) {
            return Some(seen + at + line.len() - 1);
        }
        let tail_start = chunk_rest.len().saturating_sub(line.len());
        let tail = chunk_rest.get(tail_start..).unwrap_or_default();
        let begun = memrchr2(b'\r', b'\n', tail).and_then(|end| tail.get(end + 1..));
        progress.held = match begun {
            Some(begun) if line.starts_with(begun) => 1 + begun.len(),
            _ => 0,
        };
        None
    }

    /// Where the line starts that covers `place`. That is after the last line end before it, or
    /// nowhere.
    fn covering(&self, content: &[u8], place: usize) -> Option<usize> {
        let line = self.boundary.line();
        let earliest = place.saturating_sub(line.len());
        let line_end = memrchr2(b'\r', b'\n', content.get(earliest..place)?)?;
        let start = earliest + line_end + 1;
        content.get(start..)?.starts_with(line).then_some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::bytes::strings_of, *};

    /// Every position tried, the obvious way.
    fn naive(line: &[u8], content: &[u8]) -> Option<usize> {
        let starts_line = |at: usize| at == 0 || matches!(content[at - 1], b'\r' | b'\n');
        let at =
            (0..content.len()).find(|&at| starts_line(at) && content[at..].starts_with(line))?;
        Some(at + line.len() - 1)
    }

    #[test]
    fn finds_what_the_naive_search_finds_however_it_is_cut_acp_enc_2() {
        let long = "a".repeat(31) + "b";
        for boundary in ["ab", "-", "--a", &long] {
            let boundary = Boundary::new(boundary.as_bytes()).unwrap();
            let search = BoundarySearch::new(&boundary);
            let tokens: [&[u8]; 6] = [b"\r", b"\n", b"-", b"a", b"b", boundary.line()];
            for content in strings_of(tokens, 6) {
                let expected = naive(boundary.line(), &content);
                assert_eq!(search.find(&content), expected, "{}", content.escape_ascii());
                for cut in 0..=content.len() {
                    let mut progress = Progress::new();
                    let (first, second) = content.split_at(cut);
                    let found = search.find_on(&mut progress, first);
                    let rest = || search.find_on(&mut progress, second).map(|at| cut + at);
                    assert_eq!(found.or_else(rest), expected, "{} {cut}", content.escape_ascii());
                }
            }
        }
    }
}
