//! Parameters: `*( OWS ";" OWS [ token "=" ( token / quoted-string ) ] )` (RFC 9110 §5.6.6).

use super::bytes::{is_field_value, is_ows, is_token, run};

/// One parameter, its places counted in the field value it stands in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parameter<'a> {
    pub(crate) name: &'a [u8],
    /// Where the name starts.
    pub(crate) at: usize,
    /// As sent, without the quotes; escapes are not undone.
    pub(crate) value: &'a [u8],
    /// Where `value` starts.
    pub(crate) value_at: usize,
    pub(crate) quoted: bool,
}

impl Parameter<'_> {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// Whether the name starts with `prefix`, in any case.
    pub(crate) fn starts_with(&self, prefix: &str) -> bool {
        self.name.get(..prefix.len()).is_some_and(|n| n.eq_ignore_ascii_case(prefix.as_bytes()))
    }

    /// The value with the quoted-pairs of RFC 9110 §5.6.4 undone.
    pub(crate) fn unquoted(&self) -> Vec<u8> {
        let mut value = Vec::with_capacity(self.value.len());
        let mut rest = self.value.iter().copied();
        while let Some(b) = rest.next() {
            value.push(if b == b'\\' && self.quoted { rest.next().unwrap_or(b) } else { b });
        }
        value
    }
}

/// The parameters of a field value. Ends after the first fault, which is given as its place.
#[derive(Debug, Clone)]
pub(crate) struct Parameters<'a> {
    field: &'a [u8],
    at: usize,
}

impl<'a> Parameters<'a> {
    /// Reads `field` (without white space at its ends) from `at`, where a type has ended.
    pub(crate) fn new(field: &'a [u8], at: usize) -> Self {
        Self { field, at }
    }

    fn rest(&self) -> &'a [u8] {
        self.field.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, class: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let (run, _) = rest.split_at(run(rest, class));
        self.at += run.len();
        run
    }

    /// Takes `byte`, or gives the place where it is missing.
    fn expect(&mut self, byte: u8) -> Result<(), usize> {
        if self.rest().first() != Some(&byte) {
            return Err(self.at);
        }
        self.at += 1;
        Ok(())
    }

    fn token(&mut self) -> Result<&'a [u8], usize> {
        let token = self.skip(is_token);
        if token.is_empty() { Err(self.at) } else { Ok(token) }
    }

    /// The inside of a quoted-string whose opening quote is taken.
    fn quoted(&mut self) -> Result<&'a [u8], usize> {
        let inside = self.rest();
        let start = self.at;
        loop {
            self.skip(|b| is_field_value(b) && b != b'"' && b != b'\\');
            match self.rest() {
                [b'"', ..] => break,
                [b'\\', escaped, ..] if is_field_value(*escaped) => self.at += 2,
                [b'\\', ..] => return Err(self.at + 1),
                _ => return Err(self.at),
            }
        }
        let inside = inside.get(..self.at - start).unwrap_or_default();
        self.at += 1;
        Ok(inside)
    }

    fn parameter(&mut self) -> Result<Parameter<'a>, usize> {
        let at = self.at;
        let name = self.token()?;
        self.expect(b'=')?;
        let quoted = self.expect(b'"').is_ok();
        let value_at = self.at;
        let value = if quoted { self.quoted()? } else { self.token()? };
        Ok(Parameter { name, at, value, value_at, quoted })
    }
}

impl<'a> Iterator for Parameters<'a> {
    type Item = Result<Parameter<'a>, usize>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.skip(is_ows);
            if self.rest().is_empty() {
                return None;
            }
            let result = self.expect(b';').and_then(|()| {
                self.skip(is_ows);
                match self.rest() {
                    [] | [b';', ..] => Ok(None),
                    _ => self.parameter().map(Some),
                }
            });
            match result {
                Ok(None) => {}
                Ok(Some(parameter)) => return Some(Ok(parameter)),
                Err(at) => {
                    self.at = self.field.len();
                    return Some(Err(at));
                }
            }
        }
    }
}

/// The first parameter whose name, in any case, an earlier one has.
pub(crate) fn first_repeated<'a>(parameters: Parameters<'a>) -> Option<Parameter<'a>> {
    const FEW: usize = 8;
    let mut few = [&b""[..]; FEW];
    for (seen, parameter) in parameters.clone().flatten().enumerate() {
        let Some(slot) = few.get_mut(seen) else { return first_repeated_of_many(parameters) };
        *slot = parameter.name;
        if few.iter().take(seen).any(|name| name.eq_ignore_ascii_case(parameter.name)) {
            return Some(parameter);
        }
    }
    None
}

/// The same by sorting: a sender must not buy quadratic work with many parameters.
fn first_repeated_of_many<'a>(parameters: Parameters<'a>) -> Option<Parameter<'a>> {
    let mut all: Vec<(Vec<u8>, Parameter<'a>)> =
        parameters.flatten().map(|p| (p.name.to_ascii_lowercase(), p)).collect();
    all.sort_by(|(a, p), (b, q)| (a, p.at).cmp(&(b, q.at)));
    let repeated = all.windows(2).filter_map(|pair| match pair {
        [(a, _), (b, parameter)] if a == b => Some(*parameter),
        _ => None,
    });
    repeated.min_by_key(|parameter| parameter.at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(field: &[u8]) -> Result<Vec<[&[u8]; 2]>, usize> {
        Parameters::new(field, 0).map(|p| p.map(|p| [p.name, p.value])).collect()
    }

    #[test]
    fn tokens_quoted_strings_and_empty_parameters_are_read_acp_hdr_3() {
        let read = read(br#"; a=1 ;b="x;\"y\\";; c=d;"#).unwrap();
        assert_eq!(read, [[&b"a"[..], b"1"], [b"b", br#"x;\"y\\"#], [b"c", b"d"]]);
    }

    #[test]
    fn a_fault_is_placed_at_its_byte_acp_hdr_3() {
        for (field, at) in [
            (&b"; a"[..], 3),
            (b"; a=", 4),
            (b"; a =1", 3),
            (b"; a= 1", 4),
            (b" x", 1),
            (b"; a=b c=d", 6),
            (br#"; a="b"c"#, 7),
            (br#"; a="b"#, 6),
            (br#"; a="b\"#, 7),
            (b"; =b", 2),
            (b"; a=b=c", 5),
        ] {
            assert_eq!(read(field).unwrap_err(), at, "{:?}", String::from_utf8_lossy(field));
        }
    }

    #[test]
    fn repeats_are_found_among_few_and_many_acp_ct_2() {
        let many: String = (0..500).map(|n| format!(";p{n}=0")).collect();
        let repeated = |field: String| {
            first_repeated(Parameters::new(field.as_bytes(), 0)).map(|parameter| parameter.at)
        };
        assert_eq!(repeated(many.clone()), None);
        assert_eq!(repeated(format!("{many};P7=1;p3=1")), Some(many.len() + 1));
        assert_eq!(repeated(";a=1;b=2;A=3;b=4".to_owned()), Some(9));
    }
}
