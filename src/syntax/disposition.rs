//! Content-Disposition of a part (RFC 7578 §4.2, ACP-HDR-3, ACP-HDR-6).

use std::borrow::Cow;

use super::{
    bytes::{is_token, run},
    parameters::{Parameter, Parameters, first_repeated},
};

/// A valid `form-data` disposition. All places are counted in the field value.
///
/// ```
/// use acp_envelope::syntax::Disposition;
///
/// let d = Disposition::parse(b"form-data; name=\"doc\"; filename=\"a%22b.txt\"").unwrap();
/// assert_eq!(d.name(), Some(&b"doc"[..]));
/// assert_eq!(d.filename().as_deref(), Some("a\"b.txt"));
/// assert_eq!(Disposition::parse(b"attachment; name=doc").unwrap_err(), 0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disposition<'a> {
    name: Option<Value<'a>>,
    filename: Option<Value<'a>>,
    filename_ext: Option<Value<'a>>,
}

/// The value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value<'a> {
    /// As sent, without the quotes; escapes are not undone.
    pub(super) text: &'a [u8],
    /// Where `text` starts in the field value.
    pub(super) at: usize,
    pub(super) quoted: bool,
}

impl<'a> Disposition<'a> {
    pub(super) const fn of(name: Value<'a>, filename: Option<Value<'a>>) -> Self {
        Self { name: Some(name), filename, filename_ext: None }
    }

    /// Reads a field value without white space at its ends.
    ///
    /// # Errors
    ///
    /// The byte that is wrong (code `disposition_invalid`): where the grammar breaks; the value's
    /// start when the type is not `form-data`; the name of a parameter that is given twice, or that
    /// is `name*` or a continuation (`name*0`, `filename*0`).
    pub fn parse(field: &'a [u8]) -> Result<Self, usize> {
        let type_end = run(field, is_token);
        let (kind, _) = field.split_at(type_end);
        if kind.is_empty() {
            return Err(0);
        }
        let parameters = Parameters::new(field, type_end);
        let mut this = Self { name: None, filename: None, filename_ext: None };
        let mut forbidden = None;
        for parameter in parameters.clone() {
            let parameter = parameter?;
            let Parameter { value: text, value_at: at, quoted, .. } = parameter;
            let value = Value { text, at, quoted };
            if parameter.is("name") {
                this.name.get_or_insert(value);
            } else if parameter.is("filename") {
                this.filename.get_or_insert(value);
            } else if parameter.is("filename*") {
                this.filename_ext.get_or_insert(value);
            } else if parameter.starts_with("name*") || parameter.starts_with("filename*") {
                forbidden.get_or_insert(parameter.at);
            }
        }
        if !kind.eq_ignore_ascii_case(b"form-data") {
            return Err(0);
        }
        let repeated = first_repeated(parameters).map(|parameter| parameter.at);
        match forbidden.into_iter().chain(repeated).min() {
            Some(at) => Err(at),
            None => Ok(this),
        }
    }

    /// The name as sent, without quotes: no escape is undone.
    #[must_use]
    pub fn name(&self) -> Option<&'a [u8]> {
        self.name.map(|value| value.text)
    }

    /// Where the name starts in the field value.
    pub(crate) fn name_at(&self) -> usize {
        self.name.map_or(0, |value| value.at)
    }

    /// The file name for display, never a path (ACP-HDR-6): `filename*` when it is valid UTF-8
    /// without control characters, otherwise `filename` with its escapes undone. `None` when there
    /// is none, or none that is UTF-8.
    #[must_use]
    pub fn filename(&self) -> Option<Cow<'a, str>> {
        self.filename_ext
            .and_then(|value| extended(&value))
            .map(Cow::Owned)
            .or_else(|| self.filename.and_then(|value| displayed(&value)))
    }

    /// The bytes of `filename` as sent, without quotes; those of `filename*` when it stands alone.
    #[must_use]
    pub fn filename_bytes(&self) -> Option<&'a [u8]> {
        self.filename.or(self.filename_ext).map(|value| value.text)
    }
}

/// `UTF-8'language'value` (RFC 8187 §3.2.1); `None` when it is anything else.
fn extended(sent: &Value<'_>) -> Option<String> {
    let mut pieces = sent.text.splitn(3, |&b| b == b'\'');
    let (charset, language, value) = (pieces.next()?, pieces.next()?, pieces.next()?);
    let is_language = language.iter().all(|&b| b.is_ascii_alphanumeric() || b == b'-');
    if sent.quoted || !charset.eq_ignore_ascii_case(b"utf-8") || !is_language {
        return None;
    }
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&b, after)) = rest.split_first() {
        rest = after;
        if b == b'%' {
            let ([high, low], after) = rest.split_first_chunk::<2>()?;
            decoded.push(hex_digit(*high)? << 4 | hex_digit(*low)?);
            rest = after;
        } else if is_token(b) && !matches!(b, b'*' | b'\'') {
            decoded.push(b);
        } else {
            return None;
        }
    }
    String::from_utf8(decoded).ok().filter(|name| !name.contains(char::is_control))
}

fn hex_digit(b: u8) -> Option<u8> {
    char::from(b).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// `\"` and `\\` (quoted-string) and `%22`, `%0D`, `%0A` (WHATWG) undone, all else kept.
fn displayed<'a>(sent: &Value<'a>) -> Option<Cow<'a, str>> {
    let text = std::str::from_utf8(sent.text).ok()?;
    if !text.contains(['\\', '%']) {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let escapes = [("\\\"", '"'), ("\\\\", '\\'), ("%22", '"'), ("%0D", '\r'), ("%0A", '\n')];
        let escape = escapes
            .into_iter()
            .filter(|(escape, _)| sent.quoted || !escape.starts_with('\\'))
            .find(|(escape, _)| rest.starts_with(escape));
        let (len, c) =
            escape.map_or_else(|| (first.len_utf8(), first), |(escape, c)| (escape.len(), c));
        decoded.push(c);
        rest = rest.get(len..).unwrap_or_default();
    }
    Some(Cow::Owned(decoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filename(value: &str) -> Option<String> {
        let field = format!("form-data; name=a; {value}");
        Disposition::parse(field.as_bytes()).unwrap().filename().map(Cow::into_owned)
    }

    #[test]
    fn file_names_are_decoded_for_display_acp_hdr_6() {
        for (value, expected) in [
            (r#"filename="a\"b\\c\d""#, "a\"b\\c\\d"),
            (r#"filename="%22%0D%0A%0d%41""#, "\"\r\n%0d%41"),
            ("filename=a%22b", "a\"b"),
            ("filename=x; filename*=utf-8''%E2%82%AC", "€"),
            ("filename=x; filename*=UTF-8'en'a", "a"),
            ("filename=x; filename*=UTF-8'de-CH-1996'a", "a"),
            ("filename=x; filename*=UTF-8'e$'a", "x"),
            ("filename=x; filename*=iso-8859-1''%E9", "x"),
            ("filename=x; filename*=utf-8''%C3", "x"),
            ("filename=x; filename*=utf-8''a%0Ab", "x"),
            ("filename=x; filename*=utf-8''%4", "x"),
            ("filename=x; filename*=\"utf-8''y\"", "x"),
            ("filename=x; filename*=utf-8''a'b", "x"),
        ] {
            assert_eq!(filename(value).as_deref(), Some(expected), "{value}");
        }
        assert_eq!(filename("x=y"), None);
    }

    #[test]
    fn a_file_name_that_is_not_utf8_keeps_its_bytes_acp_hdr_6() {
        let d = Disposition::parse(b"form-data; name=a; filename=\"\xff\"").unwrap();
        assert_eq!((d.filename(), d.filename_bytes()), (None, Some(&b"\xff"[..])));
    }

    #[test]
    fn faults_are_placed_acp_hdr_3() {
        for (field, at) in [
            (&b""[..], 0),
            (b"; name=a", 0),
            (b"attachment; name=a", 0),
            (b"form-data; name=a; name*=utf-8''b", 19),
            (b"form-data; filename*0=a", 11),
            (b"form-data; a=1; A=2; name*0=x", 16),
            (b"form-data; name = a", 15),
            (b"form-data name=a", 10),
        ] {
            assert_eq!(Disposition::parse(field).unwrap_err(), at, "{}", field.escape_ascii());
        }
    }
}
