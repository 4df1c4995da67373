//! The boundary of a multipart body (RFC 2046 §5.1.1, ACP-CT-3).

use std::fmt;

use super::bytes::is_boundary;

/// The longest boundary of RFC 2046 §5.1.1.
pub(crate) const MAX_BOUNDARY_CHARS: usize = 70;

const BEFORE_BOUNDARY: &[u8] = b"\r\n--";

const MAX_DELIMITER_CHARS: usize = BEFORE_BOUNDARY.len() + MAX_BOUNDARY_CHARS;

/// A boundary: 1 to 70 characters of RFC 2046 `bchars`, the last one not a space. Valid by
/// construction (ACP-CT-3).
///
/// ```
/// use acp_envelope::syntax::Boundary;
///
/// let boundary = Boundary::new(b"x7Qk2mRvT").unwrap();
/// assert_eq!(boundary.as_str(), "x7Qk2mRvT");
/// assert_eq!(Boundary::new(b"a<b").unwrap_err().position(), 1);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Boundary {
    /// `CRLF "--" boundary`: the delimiter, of which the boundary is the end, and zeros.
    delimiter: [u8; MAX_DELIMITER_CHARS],
    delimiter_len: usize,
}

impl Boundary {
    /// Takes `boundary` as it stands, without quotes.
    ///
    /// # Errors
    ///
    /// [`InvalidBoundary`] (code `boundary_invalid`) when it is empty, longer than 70 characters,
    /// ends in a space or holds another character.
    pub fn new(boundary: &[u8]) -> Result<Self, InvalidBoundary> {
        let allowed = boundary.get(..MAX_BOUNDARY_CHARS).unwrap_or(boundary);
        let position = allowed.iter().position(|&b| !is_boundary(b));
        let position = match (position, boundary.split_last()) {
            (Some(position), _) => position,
            (None, None) => 0,
            (None, Some(_)) if boundary.len() > allowed.len() => allowed.len(),
            (None, Some((b' ', rest))) => rest.len(),
            (None, Some(_)) => return Ok(Self::of(boundary)),
        };
        Err(InvalidBoundary { position })
    }

    /// `boundary` is known to be one.
    fn of(boundary: &[u8]) -> Self {
        let mut delimiter = [0; MAX_DELIMITER_CHARS];
        let delimiter_len = BEFORE_BOUNDARY.len() + boundary.len();
        let (before, rest) = delimiter.split_at_mut(BEFORE_BOUNDARY.len());
        before.copy_from_slice(BEFORE_BOUNDARY);
        if let Some(rest) = rest.get_mut(..boundary.len()) {
            rest.copy_from_slice(boundary);
        }
        Self { delimiter, delimiter_len }
    }

    /// The boundary's characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let boundary = self.delimiter().get(BEFORE_BOUNDARY.len()..).unwrap_or_default();
        std::str::from_utf8(boundary).unwrap_or_default()
    }

    /// `"--" boundary`: the delimiter as a line.
    pub(crate) fn line(&self) -> &[u8] {
        self.delimiter().get("\r\n".len()..).unwrap_or_default()
    }

    /// `CRLF "--" boundary`.
    pub(super) fn delimiter(&self) -> &[u8] {
        self.delimiter.get(..self.delimiter_len).unwrap_or_default()
    }
}

impl fmt::Debug for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Boundary").field(&self.as_str()).finish()
    }
}

/// The text is not a boundary (ACP-CT-3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidBoundary {
    position: usize,
}

impl InvalidBoundary {
    /// The first byte that may not stand there, counted from 0: one of another kind, the 71st, a
    /// space at the end, or 0 when the boundary is empty.
    #[must_use]
    pub const fn position(self) -> usize {
        self.position
    }
}

impl fmt::Display for InvalidBoundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.position;
        write!(f, "a boundary is 1 to 70 characters of RFC 2046 bchars (character {position})")
    }
}

impl std::error::Error for InvalidBoundary {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_judged_acp_ct_3() {
        let allowed =
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'()+_,-./:=? ";
        for b in 0..=u8::MAX {
            assert_eq!(Boundary::new(&[b, b'x']).is_ok(), allowed.contains(&b), "{b:#x}");
        }
    }

    #[test]
    fn length_is_1_to_70_and_the_end_no_space_acp_ct_3() {
        assert!(Boundary::new(&[b'b'; 70]).is_ok());
        assert_eq!(Boundary::new(&[b'b'; 71]).unwrap_err().position(), 70);
        assert_eq!(Boundary::new(b"").unwrap_err().position(), 0);
        assert_eq!(Boundary::new(b"ab ").unwrap_err().position(), 2);
    }
}
