//! Fields with parameters: Content-Type and Content-Disposition.

use super::*;

/// A value of the form `token/token *( OWS ";" OWS [ parameter ] )`, or with one token only.
pub(super) struct Field {
    pub(super) at: usize,
    pub(super) value: Vec<u8>,
    /// What stands before the parameters, in lower case.
    pub(super) head: String,
    pub(super) parameters: Vec<Parameter>,
}

/// One parameter, and where its name and its value (inside the quotes) begin.
pub(super) struct Parameter {
    /// In lower case.
    pub(super) name: String,
    pub(super) name_at: usize,
    /// As it stands there, escapes included.
    pub(super) raw: Vec<u8>,
    pub(super) raw_at: usize,
    pub(super) quoted: bool,
}

impl Field {
    /// Reads the value in a range of bytes that begins and ends without white space.
    pub(super) fn read(
        bytes: &[u8],
        range: (usize, usize),
        code: &'static str,
        subtype: bool,
        tabs: bool,
    ) -> Result<Self, Stop> {
        let (at, end) = range;
        let items = &bytes[..end];
        let mut scanner = Scanner { items, at, code };
        scanner.some(is_token)?;
        if subtype {
            scanner.expect(b'/')?;
            scanner.some(is_token)?;
        }
        let head = lower(&items[at..scanner.at]);
        let mut parameters = Vec::new();
        let white = |byte| byte == b' ' || (tabs && byte == b'\t');
        scanner.run(white);
        while scanner.at < end {
            scanner.expect(b';')?;
            scanner.run(white);
            if !matches!(scanner.peek(), None | Some(b';')) {
                parameters.push(scanner.parameter(tabs)?);
                scanner.run(white);
            }
        }
        let value = items[at..].to_vec();
        Ok(Self { at, value, head, parameters })
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|p| p.name == name)
    }
}

impl Scanner<'_, u8> {
    pub(super) fn parameter(&mut self, tabs: bool) -> Result<Parameter, Stop> {
        let name_at = self.at;
        let name = lower(self.some(is_token)?);
        self.expect(b'=')?;
        let quoted = self.take(b'"');
        let raw_at = self.at;
        if quoted {
            while self.peek() != Some(b'"') {
                self.take(b'\\');
                if !self.peek().is_some_and(|byte| is_text(byte, tabs)) {
                    return self.refuse();
                }
                self.at += 1;
            }
        } else {
            self.some(is_token)?;
        }
        let raw = self.items[raw_at..self.at].to_vec();
        if quoted {
            self.expect(b'"')?;
        }
        Ok(Parameter { name, name_at, raw, raw_at, quoted })
    }
}

impl Parameter {
    /// The value with every `\x` undone, as RFC 9110 has it.
    pub(super) fn unescaped(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut bytes = self.raw.iter();
        while let Some(&byte) = bytes.next() {
            let escaped = if byte == b'\\' { bytes.next() } else { None };
            text.push(*escaped.unwrap_or(&byte));
        }
        text
    }
}

pub(super) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Whether a byte may stand in a value: no control, but perhaps a tab.
pub(super) fn is_text(byte: u8, tabs: bool) -> bool {
    (byte >= 0x20 && byte != 0x7f) || (tabs && byte == b'\t')
}

pub(super) fn lower(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_ascii_lowercase()
}

/// What is left of a range without the given bytes at both ends.
pub(super) fn trim(bytes: &[u8], (start, end): (usize, usize), white: &[u8]) -> (usize, usize) {
    let solid = |&at: &usize| !white.contains(&bytes[at]);
    let first = (start..end).find(solid).unwrap_or(end);
    let last = (first..end).rfind(solid).map_or(first, |at| at + 1);
    (first, last)
}
