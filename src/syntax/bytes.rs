//! Classes of bytes (RFC 9110 §5.6, RFC 2046 §5.1.1) and trimming.

/// A set of bytes. Whether a byte is in it is a load, instead of a tree of comparisons.
struct Set([bool; 256]);

impl Set {
    #[expect(clippy::indexing_slicing, reason = "a byte is an index of 256 entries")]
    const fn new(mut bytes: &[u8]) -> Self {
        let mut set = [false; 256];
        while let [b, rest @ ..] = bytes {
            set[*b as usize] = true;
            bytes = rest;
        }
        Self(set)
    }

    fn has(&self, b: u8) -> bool {
        self.0.get(usize::from(b)).is_some_and(|&has| has)
    }
}

/// `tchar` (RFC 9110 §5.6.2).
pub(crate) fn is_token(b: u8) -> bool {
    static TOKEN: Set =
        Set::new(b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    TOKEN.has(b)
}

/// What a field value may hold (RFC 9110 §5.5): VCHAR, SP, HTAB, obs-text.
pub(crate) const fn is_field_value(b: u8) -> bool {
    matches!(b, b'\t' | b' '..=b'~' | 0x80..)
}

/// Whether all of `bytes` may stand in a field value. Looks at all of them, many at once.
pub(crate) fn is_all_field_value(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |all, &b| all & is_field_value(b))
}

/// A control character of ASCII.
pub(crate) const fn is_control(b: u8) -> bool {
    b < 0x20 || b == 0x7f
}

/// Optional white space (RFC 9110 §5.6.3).
pub(crate) const fn is_ows(b: u8) -> bool {
    matches!(b, b' ' | b'\t')
}

/// `bchars` (RFC 2046 §5.1.1).
pub(crate) fn is_boundary(b: u8) -> bool {
    static BOUNDARY: Set =
        Set::new(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'()+_,-./:=? ");
    BOUNDARY.has(b)
}

/// How many bytes at the start of `bytes` satisfy `class`.
pub(crate) fn run(bytes: &[u8], class: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&b| !class(b)).unwrap_or(bytes.len())
}

/// `bytes` without the bytes of `class` at its ends, and where the rest starts.
pub(crate) fn trim(bytes: &[u8], class: impl Fn(u8) -> bool) -> (usize, &[u8]) {
    let start = run(bytes, &class);
    let end = bytes.iter().rposition(|&b| !class(b)).map_or(start, |last| last + 1);
    (start, bytes.get(start..end).unwrap_or_default())
}

/// How many bytes `a` and `b` have in common from their starts.
pub(crate) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// All strings of up to `n` of six tokens.
#[cfg(test)]
pub(super) fn strings_of(tokens: [&[u8]; 6], n: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..6usize.pow(n)).map(move |number| {
        let mut rest = number;
        let mut string = Vec::new();
        while rest > 0 {
            string.extend_from_slice(tokens[rest % 6]);
            rest /= 6;
        }
        string
    })
}
