//! The bytes around a fault, for people.

use std::collections::VecDeque;

use bytes::Bytes;

const BEFORE: u64 = 32;
const AFTER: u64 = 24;

/// The last bytes of a body, so that a fault can be shown.
#[derive(Debug)]
pub(crate) struct Window {
    pieces: VecDeque<Bytes>,
    /// Where the first piece starts in the body.
    start: u64,
    len: usize,
    keep: usize,
}

impl Window {
    /// Keeps at least the last `keep` bytes.
    pub(crate) fn new(keep: usize) -> Self {
        Self { pieces: VecDeque::new(), start: 0, len: 0, keep }
    }

    pub(crate) fn push(&mut self, piece: Bytes) {
        self.len += piece.len();
        self.pieces.push_back(piece);
        while let Some(first) = self.pieces.front()
            && self.len - first.len() >= self.keep
        {
            self.len -= first.len();
            self.start += first.len() as u64;
            self.pieces.pop_front();
        }
    }

    /// Two lines: the bytes around `at`, and a mark under it. `None` when they are gone.
    pub(crate) fn around(&self, at: u64) -> Option<[String; 2]> {
        let end = self.start + self.len as u64;
        if at < self.start || at > end {
            return None;
        }
        let first = at.saturating_sub(BEFORE).max(self.start);
        let last = at.saturating_add(AFTER).min(end);
        let skip = usize::try_from(first - self.start).ok()?;
        let take = usize::try_from(last - first).ok()?;
        let before_at = usize::try_from(at - first).ok()?;
        let bytes: Vec<u8> =
            self.pieces.iter().flat_map(|p| p.iter().copied()).skip(skip).take(take).collect();
        let (before, after) = bytes.split_at_checked(before_at)?;
        let (before, after) = (escaped(before), escaped(after));
        let lead = if first > 0 { "…" } else { "" };
        let mark = " ".repeat(lead.chars().count() + before.len()) + "^";
        Some([format!("{lead}{before}{after}"), mark])
    }
}

/// Printable ASCII as it is, all else escaped.
fn escaped(bytes: &[u8]) -> String {
    let escaped = bytes.iter().map(|&b| match b {
        b'"' | b'\'' => char::from(b).to_string(),
        b => b.escape_ascii().to_string(),
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_shown_with_control_characters_escaped() {
        let mut window = Window::new(8);
        window.push(Bytes::from_static(b"--b\r\nA: \x1b[2J\xff\r\n"));
        let [text, mark] = window.around(8).unwrap();
        assert_eq!(text, r"--b\r\nA: \x1b[2J\xff\r\n");
        assert_eq!(mark, "          ^");
        assert_eq!(window.around(15).unwrap()[1].len(), r"--b\r\nA: \x1b[2J\xff\r\n".len() + 1);
        assert_eq!(window.around(16), None);
    }

    #[test]
    fn old_bytes_are_given_up() {
        let mut window = Window::new(4);
        for piece in [&b"abcd"[..], b"ef", b"ghi"] {
            window.push(Bytes::from_static(piece));
        }
        assert_eq!(window.around(3), None);
        assert_eq!(window.around(8).unwrap()[0], "…efghi");
    }
}
