//! Media types (RFC 9110 §8.3.1).

use std::{fmt, ops::Range};

use super::{
    bytes::{is_token, run},
    parameters::{Parameter, Parameters, first_repeated},
};

/// A media type as it was sent: `type/subtype` and parameters, valid by construction. It borrows
/// the field value.
///
/// ```
/// use acp_envelope::syntax::MediaType;
///
/// let media_type = MediaType::parse(b"Text/CSV; charset=\"utf-8\"").unwrap();
/// assert!(media_type.is("text/csv"));
/// assert_eq!(media_type.parameter("charset").unwrap(), b"utf-8");
/// assert_eq!(media_type.mime().unwrap(), "text/csv; charset=utf-8");
/// assert_eq!(MediaType::parse(b"text").unwrap_err(), 4);
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MediaType<'a> {
    field: &'a [u8],
    slash: usize,
    essence_end: usize,
}

impl<'a> MediaType<'a> {
    /// `text/plain`, which a part without Content-Type has (RFC 7578 §4.4).
    pub(crate) const TEXT_PLAIN: Self = Self { field: b"text/plain", slash: 4, essence_end: 10 };

    /// Reads a field value without white space at its ends. A parameter given twice is left to the
    /// caller, since it is not a matter of grammar.
    ///
    /// # Errors
    ///
    /// The byte at which the grammar of RFC 9110 §8.3.1 breaks.
    pub fn parse(field: &'a [u8]) -> Result<Self, usize> {
        let slash = run(field, is_token);
        if slash == 0 || field.get(slash) != Some(&b'/') {
            return Err(slash);
        }
        let subtype = slash + 1;
        let essence_end = subtype + run(field.get(subtype..).unwrap_or_default(), is_token);
        if essence_end == subtype {
            return Err(essence_end);
        }
        for parameter in Parameters::new(field, essence_end) {
            parameter?;
        }
        Ok(Self { field, slash, essence_end })
    }

    /// `field` is a type of `slash` bytes, a slash and a subtype.
    pub(super) const fn plain(field: &'a [u8], slash: usize) -> Self {
        Self { field, slash, essence_end: field.len() }
    }

    /// The field value as sent. Quoted parameter values may hold bytes that are not UTF-8.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.field
    }

    /// `type/subtype` as sent, without parameters.
    #[must_use]
    pub fn essence(&self) -> &'a str {
        self.ascii(0..self.essence_end)
    }

    /// The type as sent, such as `text`.
    #[must_use]
    pub fn type_(&self) -> &'a str {
        self.ascii(0..self.slash)
    }

    /// The subtype as sent, such as `plain` or `ld+json`.
    #[must_use]
    pub fn subtype(&self) -> &'a str {
        self.ascii(self.slash + 1..self.essence_end)
    }

    /// Whether type and subtype are those of `essence`, in any case; parameters do not matter.
    #[must_use]
    pub fn is(&self, essence: &str) -> bool {
        self.bytes(0..self.essence_end).eq_ignore_ascii_case(essence.as_bytes())
    }

    /// Whether the type is that one, in any case.
    pub(crate) fn is_type(&self, type_: &str) -> bool {
        self.bytes(0..self.slash).eq_ignore_ascii_case(type_.as_bytes())
    }

    /// The value of the first parameter of that name, unquoted.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<Vec<u8>> {
        self.find(name).map(|parameter| parameter.unquoted())
    }

    /// Whether there is a parameter of that name.
    #[must_use]
    pub fn has_parameter(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Where the first parameter of that name stands.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.find(name).map(|parameter| parameter.at)
    }

    /// The same media type for callers of the `mime` crate; `None` when a parameter is one that crate
    /// cannot hold: not UTF-8, or with a quote or a backslash.
    #[must_use]
    pub fn mime(&self) -> Option<mime::Mime> {
        let mut text = self.essence().to_owned();
        for parameter in self.parameters() {
            let name = std::str::from_utf8(parameter.name).ok()?;
            let value = String::from_utf8(parameter.unquoted()).ok()?;
            if value.contains(['"', '\\']) {
                return None;
            }
            text.push_str("; ");
            text.push_str(name);
            text.push('=');
            if !value.is_empty() && value.bytes().all(is_token) {
                text.push_str(&value);
            } else {
                text.push('"');
                text.push_str(&value);
                text.push('"');
            }
        }
        text.parse().ok()
    }

    /// Where the first parameter stands whose name an earlier one has.
    pub(crate) fn repeated(&self) -> Option<usize> {
        first_repeated(self.raw_parameters()).map(|parameter| parameter.at)
    }

    pub(crate) fn parameters(&self) -> impl Iterator<Item = Parameter<'a>> {
        self.raw_parameters().flatten()
    }

    /// The parameters as they are read: all `Ok`, as `parse` has seen.
    pub(crate) fn raw_parameters(&self) -> Parameters<'a> {
        Parameters::new(self.field, self.essence_end)
    }

    fn find(&self, name: &str) -> Option<Parameter<'a>> {
        self.parameters().find(|parameter| parameter.is(name))
    }

    /// A piece of the essence: tokens and a slash, so ASCII.
    fn ascii(&self, range: Range<usize>) -> &'a str {
        std::str::from_utf8(self.bytes(range)).unwrap_or_default()
    }

    fn bytes(&self, range: Range<usize>) -> &'a [u8] {
        self.field.get(range).unwrap_or_default()
    }
}

impl fmt::Debug for MediaType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MediaType(b\"{}\")", self.field.escape_ascii())
    }
}

/// As sent, with bytes that are no printable ASCII escaped.
impl fmt::Display for MediaType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(self.field) {
            Ok(text) if !text.contains(char::is_control) => f.write_str(text),
            _ => write!(f, "{}", self.field.escape_ascii()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_placed_acp_hdr_4() {
        for (field, at) in
            [("", 0), ("text", 4), ("/x", 0), ("text/", 5), ("a/b c", 4), ("a/b; x", 6)]
        {
            assert_eq!(MediaType::parse(field.as_bytes()).unwrap_err(), at, "{field:?}");
        }
    }

    #[test]
    fn callers_get_a_mime_acp_hdr_4() {
        let mime = |field: &str| MediaType::parse(field.as_bytes()).unwrap().mime();
        assert_eq!(
            mime("video/mp4; codecs=\"a,b;c\"; w=1").unwrap().get_param("codecs").unwrap(),
            "a,b;c"
        );
        assert_eq!(
            mime("text/event-stream;charset=utf-8;").unwrap(),
            "text/event-stream; charset=utf-8"
        );
        assert_eq!(mime("a/b; x=\"q\\\"\""), None);
        assert_eq!(MediaType::TEXT_PLAIN.mime().unwrap(), mime::TEXT_PLAIN);
    }
}
