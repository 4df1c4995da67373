//! The header block of a part: its scan byte by byte (ACP-HDR-1), and its fields.

use memchr::memchr;

use super::bytes::{is_all_field_value, is_field_value, is_ows, is_token, run, trim};

/// Where the scan of a header block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    LineStart,
    /// CR at a line's start: LF makes it the blank line.
    BlankLine,
    Name,
    Value,
    /// CR after a value: LF ends the line.
    LineEnd,
}

/// An incremental scan that looks at every byte once.
#[derive(Debug, Clone)]
pub(crate) struct BlockScan {
    at: At,
    /// Bytes of the lines so far.
    len: usize,
    fields: usize,
    /// Bytes of `"--" boundary` that the current line has matched from its start.
    delimiter: Option<usize>,
}

/// What a scan has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// The block goes on after the chunk.
    Partial,
    /// The blank line is complete; the block took this many bytes of the chunk.
    Complete(usize),
    /// This byte of the chunk may not stand where it does.
    Malformed(usize),
    /// This byte of the chunk is one too many.
    TooLarge(usize),
    /// This byte of the chunk starts one field too many.
    TooMany(usize),
}

impl BlockScan {
    pub(crate) const fn new() -> Self {
        Self { at: At::LineStart, len: 0, fields: 0, delimiter: None }
    }

    /// Goes on with `chunk`, the bytes after those of earlier calls. `delimiter` is
    /// `"--" boundary`: no header line may start with it.
    pub(crate) fn scan(
        &mut self,
        chunk: &[u8],
        delimiter: &[u8],
        max_bytes: usize,
        max_fields: usize,
    ) -> Scanned {
        let mut i = 0;
        while let Some(&b) = chunk.get(i) {
            if self.at == At::LineStart && self.fields < max_fields {
                let rest = chunk.get(i..).unwrap_or_default();
                let rest = rest.get(..max_bytes - self.len).unwrap_or(rest);
                if let Some(line) = faultless_line(rest, delimiter) {
                    self.len += line;
                    self.fields += 1;
                    i += line;
                    continue;
                }
            }
            match (self.at, b) {
                (At::LineStart, b'\r') => {
                    self.at = At::BlankLine;
                    i += 1;
                    continue;
                }
                (At::BlankLine, b'\n') => return Scanned::Complete(i + 1),
                (At::BlankLine, _) => return Scanned::Malformed(i),
                _ if self.len >= max_bytes => return Scanned::TooLarge(i),
                (At::LineStart, _) if self.fields >= max_fields => return Scanned::TooMany(i),
                (At::LineStart, _) if !is_token(b) => return Scanned::Malformed(i),
                (At::LineStart, _) => {
                    self.at = At::Name;
                    self.delimiter = Some(0);
                }
                (At::Name, b':') => self.at = At::Value,
                (At::Name, _) if !is_token(b) => return Scanned::Malformed(i),
                (At::Name, _) => {}
                (At::Value, b'\r') => self.at = At::LineEnd,
                (At::Value, _) if !is_field_value(b) => return Scanned::Malformed(i),
                (At::Value, _) => {}
                (At::LineEnd, b'\n') => {
                    self.at = At::LineStart;
                    self.fields += 1;
                }
                (At::LineEnd, _) => return Scanned::Malformed(i),
            }
            if self.starts_with_delimiter(b, delimiter) {
                return Scanned::Malformed(i);
            }
            self.len += 1;
            i += 1;
            if self.delimiter.is_none() {
                i += self.skip_ordinary(chunk, i, max_bytes);
            }
        }
        Scanned::Partial
    }

    /// Takes the bytes from `i` on that change nothing, and says how many.
    fn skip_ordinary(&mut self, chunk: &[u8], i: usize, max_bytes: usize) -> usize {
        let rest = chunk.get(i..).unwrap_or_default();
        let rest = rest.get(..max_bytes - self.len).unwrap_or(rest);
        let skipped = match self.at {
            At::Name => run(rest, is_token),
            At::Value => run(rest, is_field_value),
            At::LineStart | At::BlankLine | At::LineEnd => 0,
        };
        self.len += skipped;
        skipped
    }

    /// Whether `b` completes `"--" boundary` at the start of a line.
    fn starts_with_delimiter(&mut self, b: u8, delimiter: &[u8]) -> bool {
        let matched = self.delimiter.filter(|&n| delimiter.get(n) == Some(&b)).map(|n| n + 1);
        self.delimiter = matched;
        matched == Some(delimiter.len())
    }
}

/// The length of the line at the start of `rest`, where all of it is there and there is nothing wrong
/// with it. Whatever else there is, is for the scan byte by byte to say.
fn faultless_line(rest: &[u8], delimiter: &[u8]) -> Option<usize> {
    let end = memchr(b'\r', rest)?;
    let (line, line_end) = rest.split_at_checked(end)?;
    let (name, value) = line.split_at_checked(run(line, is_token))?;
    let faultless = line_end.starts_with(b"\r\n")
        && !name.is_empty()
        && value.first() == Some(&b':')
        && is_all_field_value(value)
        && !line.starts_with(delimiter);
    faultless.then_some(end + 2)
}

/// A header field of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Field<'a> {
    /// The name as sent; names compare without regard to case.
    pub name: &'a str,
    /// The value without white space at its ends. Bytes from 0x80 on are allowed.
    pub value: &'a [u8],
    /// Where the line starts in the header block.
    pub(crate) at: usize,
    /// Where the value starts in the header block.
    pub(crate) value_at: usize,
}

impl Field<'_> {
    /// Whether the field has that name, in any case.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }
}

/// The fields of a header block that has been scanned, in order.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    block: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(block: &'a [u8]) -> Self {
        Self { block, at: 0 }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.block.get(self.at..)?;
        let line = rest.get(..memchr(b'\r', rest)?)?;
        let (name, value) = line.split_at_checked(run(line, is_token))?;
        let (spaces, trimmed) = trim(value.get(1..)?, is_ows);
        let at = self.at;
        self.at += line.len() + 2;
        Some(Field {
            name: std::str::from_utf8(name).ok()?,
            value: trimmed,
            at,
            value_at: at + name.len() + 1 + spaces,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELIMITER: &[u8] = b"--b:x";

    /// Scans whole and byte by byte, and checks that both agree.
    fn scan(block: &[u8], max_bytes: usize, max_fields: usize) -> Scanned {
        let whole = BlockScan::new().scan(block, DELIMITER, max_bytes, max_fields);
        let mut bytewise = BlockScan::new();
        let mut outcome = Scanned::Partial;
        for (i, b) in block.iter().enumerate() {
            outcome = match bytewise.scan(&[*b], DELIMITER, max_bytes, max_fields) {
                Scanned::Partial => continue,
                Scanned::Complete(n) => Scanned::Complete(i + n),
                Scanned::Malformed(n) => Scanned::Malformed(i + n),
                Scanned::TooLarge(n) => Scanned::TooLarge(i + n),
                Scanned::TooMany(n) => Scanned::TooMany(i + n),
            };
            break;
        }
        assert_eq!(whole, outcome, "{}", block.escape_ascii());
        whole
    }

    #[test]
    fn faults_are_placed_at_their_byte_acp_hdr_1() {
        for (block, expected) in [
            (&b"\r\n"[..], Scanned::Complete(2)),
            (b"A: b\r\n\r\nbody", Scanned::Complete(8)),
            (b"A: b\r\n", Scanned::Partial),
            (b" A: b\r\n\r\n", Scanned::Malformed(0)),
            (b"A : b\r\n\r\n", Scanned::Malformed(1)),
            (b": b\r\n\r\n", Scanned::Malformed(0)),
            (b"A\r\n\r\n", Scanned::Malformed(1)),
            (b"A: b\n\r\n", Scanned::Malformed(4)),
            (b"A: b\rc\r\n\r\n", Scanned::Malformed(5)),
            (b"A: \0\r\n\r\n", Scanned::Malformed(3)),
            (b"A: b\r\n c\r\n\r\n", Scanned::Malformed(6)),
            (b"A: b\r\n\n", Scanned::Malformed(6)),
            (b"A: b\r\n\rx", Scanned::Malformed(7)),
            (b"A: \xff\t\r\n\r\n", Scanned::Complete(9)),
            (b"--b:x\r\n\r\n", Scanned::Malformed(4)),
            (b"A: b\r\n--b:xyz: c\r\n\r\n", Scanned::Malformed(10)),
            (b"--b:y\r\n\r\n", Scanned::Complete(9)),
        ] {
            assert_eq!(scan(block, 100, 100), expected, "{}", block.escape_ascii());
        }
    }

    #[test]
    fn the_blank_line_does_not_count_acp_lim_7() {
        assert_eq!(scan(b"A: b\r\n\r\n", 6, 1), Scanned::Complete(8));
        assert_eq!(scan(b"A: b\r\n\r\n", 5, 1), Scanned::TooLarge(5));
        assert_eq!(scan(b"A: b\r\nC", 6, 2), Scanned::TooLarge(6));
    }

    #[test]
    fn a_field_too_many_is_refused_at_its_first_byte_acp_lim_8() {
        assert_eq!(scan(b"A: b\r\nC: d\r\n\r\n", 100, 2), Scanned::Complete(14));
        assert_eq!(scan(b"A: b\r\nC: d\r\n\r\n", 100, 1), Scanned::TooMany(6));
    }

    #[test]
    fn fields_are_those_that_httparse_reads_acp_hdr_1() {
        let block = b"Content-Disposition: form-data; name=\"a\" \t\r\nX:\r\ny:\t\xe9:z\r\n\r\n";
        let mut slots = [httparse::EMPTY_HEADER; 8];
        let httparse::Status::Complete((_, theirs)) =
            httparse::parse_headers(block, &mut slots).unwrap()
        else {
            panic!("httparse wants more")
        };
        let ours: Vec<_> = Fields::new(block).map(|f| (f.name, f.value)).collect();
        let theirs: Vec<_> = theirs.iter().map(|h| (h.name, h.value)).collect();
        assert_eq!(ours, theirs);
        assert_eq!(ours.len(), 3);
    }
}
