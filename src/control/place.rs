//! Where in the text a fault of the syntax is. Looked for only once there is one.

use std::ops::Range;

use memchr::{memchr_iter, memrchr};

use super::Place;

/// serde_json counts the bytes it has looked at; the fault is the last of them, or the end.
pub(super) fn last_looked_at(text: &str, error: &serde_json::Error) -> usize {
    let at = if error.is_eof() {
        text.len()
    } else {
        let line_feed = |n| memchr_iter(b'\n', text.as_bytes()).nth(n);
        let before_line = error.line().checked_sub(2);
        let line_start = before_line.and_then(line_feed).map_or(0, |lf| lf + 1);
        (line_start + error.column()).saturating_sub(1)
    };
    bad_digit(text.as_bytes(), at).unwrap_or(at)
}

/// A `\u` escape is read as four bytes at once: where the fault at `at` is in one, or the end of the
/// text cuts one, this is its first byte that is no digit.
fn bad_digit(text: &[u8], at: usize) -> Option<usize> {
    (at.saturating_sub(5)..at).find_map(|escape| {
        let (before, escape_on) = text.split_at_checked(escape)?;
        let [b'\\', b'u', digits @ ..] = escape_on else { return None };
        // After an odd number of backslashes this one is escaped itself.
        let is_escaped = before.iter().rev().take_while(|&&b| b == b'\\').count() % 2 == 1;
        let bad = digits.iter().take(4).position(|b| !b.is_ascii_hexdigit())?;
        (!is_escaped).then_some(escape + 2 + bad)
    })
}

/// Where the number starts in which `at` is.
pub(super) fn number_start(text: &str, at: usize) -> usize {
    let is_of_number = |b: &u8| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E');
    let up_to_it = text.as_bytes().get(..at).unwrap_or_default();
    at - up_to_it.iter().rev().take_while(|&b| is_of_number(b)).count()
}

/// The bracket that opens one level more than `limit`. The text is valid up to there.
pub(super) fn first_deeper(text: &str, limit: usize) -> usize {
    let mut depth = 0;
    walk(text, |b, _| {
        match b {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        depth > limit
    })
}

/// The closing quote of the `n`th string. The text is valid up to there.
pub(super) fn string_end(text: &str, n: usize) -> usize {
    let mut strings = 0;
    walk(text, |b, _| {
        strings += usize::from(b == b'"');
        strings == n
    })
}

/// The strings of a valid text, member names too, with their quotes.
pub(super) fn strings(text: &str) -> Vec<Range<usize>> {
    let mut strings = Vec::new();
    walk(text, |b, range| {
        if b == b'"' {
            strings.push(range);
        }
        false
    });
    strings
}

/// The last byte of the first token at which `found` holds, given its first byte and its range.
/// Strings are one token, all else is one a byte.
fn walk(text: &str, mut found: impl FnMut(u8, Range<usize>) -> bool) -> usize {
    let mut at = 0;
    let text = text.as_bytes();
    while let Some(&b) = text.get(at) {
        let start = at;
        if b == b'"' {
            at += 1;
            while let Some(&inside) = text.get(at).filter(|&&inside| inside != b'"') {
                at += if inside == b'\\' { 2 } else { 1 };
            }
        }
        if found(b, start..at + 1) {
            break;
        }
        at += 1;
    }
    at
}

/// The line and column of byte `at`.
pub(super) fn line_column(text: &str, at: usize) -> Place {
    let at = (0..=at.min(text.len())).rfind(|&at| text.is_char_boundary(at)).unwrap_or_default();
    let before = text.get(..at).unwrap_or_default();
    let line_start = memrchr(b'\n', before.as_bytes()).map_or(0, |lf| lf + 1);
    Place::LineColumn {
        line: memchr_iter(b'\n', before.as_bytes()).count() + 1,
        column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        byte: Some(at),
    }
}
