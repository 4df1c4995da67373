//! Part names (ACP-NAME-1).

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use serde::{Serialize, Serializer};

/// The name of a part: 1 to 256 characters out of ASCII letters, digits, `-`, `_` and `.`
/// (ACP-NAME-1). Valid by construction, case-sensitive, and cheap to clone.
///
/// ```
/// use acp_envelope::PartName;
///
/// let name: PartName = "input_image".parse()?;
/// assert_eq!(name.as_str(), "input_image");
/// assert_eq!("user[role]".parse::<PartName>().unwrap_err().position(), 4);
/// # Ok::<(), acp_envelope::InvalidName>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartName(Arc<str>);

impl PartName {
    /// The most characters a name may have (ACP-NAME-1).
    pub const MAX_CHARS: usize = 256;

    /// Checks `bytes` as they were sent: no escape is undone.
    ///
    /// # Errors
    ///
    /// [`InvalidName`] (code `name_invalid` or `ref_invalid`, by where the name stood).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, InvalidName> {
        Self::check(bytes)?;
        let name = std::str::from_utf8(bytes).map_err(|_| InvalidName { position: 0 })?;
        Ok(Self(name.into()))
    }

    /// `_acp_control`, the name a control part should have (ACP-CTL-2).
    pub(crate) fn control() -> Self {
        Self("_acp_control".into())
    }

    /// The name with `-n` at its end, shortened where it would be too long.
    pub(crate) fn numbered(&self, n: u64) -> Option<Self> {
        let number = format!("-{n}");
        let kept = self.0.len().min(Self::MAX_CHARS - number.len());
        format!("{}{number}", self.0.get(..kept)?).parse().ok()
    }

    /// The check alone, without a copy of the name.
    pub(crate) fn check(bytes: &[u8]) -> Result<(), InvalidName> {
        let bad = |b: &u8| !(b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
        let shown = bytes.get(..Self::MAX_CHARS).unwrap_or(bytes);
        match shown.iter().position(bad) {
            Some(position) => Err(InvalidName { position }),
            None if bytes.is_empty() || bytes.len() > shown.len() => {
                Err(InvalidName { position: shown.len() })
            }
            None => Ok(()),
        }
    }

    /// The name's characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for PartName {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for PartName {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for PartName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for PartName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl FromStr for PartName {
    type Err = InvalidName;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Self::check(s.as_bytes())?;
        Ok(Self(s.into()))
    }
}

impl PartialEq<str> for PartName {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for PartName {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

/// The text is not a part name (ACP-NAME-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidName {
    position: usize,
}

impl InvalidName {
    /// The first byte that may not stand there, counted from 0: one of another kind, the 257th, or
    /// 0 when the name is empty.
    #[must_use]
    pub const fn position(self) -> usize {
        self.position
    }
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.position;
        write!(
            f,
            "a name is 1 to 256 ASCII letters, digits, \"-\", \"_\" or \".\" (character {position})"
        )
    }
}

impl std::error::Error for InvalidName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_judged_acp_name_1() {
        for b in 0..=u8::MAX {
            let allowed = b.is_ascii_alphanumeric() || b"-_.".contains(&b);
            assert_eq!(PartName::from_bytes(&[b'a', b]).is_ok(), allowed, "{b:#x}");
        }
    }

    #[test]
    fn length_is_1_to_256_acp_name_1() {
        assert!(PartName::from_bytes(&[b'n'; 256]).is_ok());
        assert_eq!(PartName::from_bytes(&[b'n'; 257]).unwrap_err().position(), 256);
        assert_eq!(PartName::from_bytes(b"").unwrap_err().position(), 0);
    }
}
