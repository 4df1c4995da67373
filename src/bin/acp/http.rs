//! The head of a raw HTTP/1.1 message (RFC 9112).

/// The longest head that is read.
const MAX_HEAD: usize = 64 << 10;
const MAX_FIELDS: usize = 256;

/// What a head says about the body that follows it.
#[derive(Debug)]
pub(crate) struct Head {
    /// Bytes of the head, the blank line included.
    pub(crate) len: usize,
    /// Values of all Content-Type fields.
    pub(crate) content_types: Vec<Vec<u8>>,
    pub(crate) framing: Framing,
}

/// How the end of the body is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    Length(u64),
    Chunked,
    /// Neither is said: the body is the rest of the input.
    Rest,
}

/// Whether `start` is, or may become, a request or status line of HTTP/1.
pub(crate) fn starts_like_http(start: &[u8]) -> bool {
    let line = start.split(|&b| b == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let is_method = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_uppercase);
    line.starts_with(b"HTTP/1.")
        || matches!(line.split(|&b| b == b' ').collect::<Vec<_>>()[..],
            [method, _, version] if is_method(method) && version.starts_with(b"HTTP/1."))
}

/// Reads the head at the start of `input`; `None` when it needs more.
pub(crate) fn read_head(input: &[u8]) -> Result<Option<Head>, String> {
    let mut slots = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let parsed = if input.starts_with(b"HTTP/") {
        let mut response = httparse::Response::new(&mut slots);
        response.parse(input).map(|status| (status, response.headers.to_vec()))
    } else {
        let mut request = httparse::Request::new(&mut slots);
        request.parse(input).map(|status| (status, request.headers.to_vec()))
    };
    match parsed {
        Err(error) => Err(format!("not a valid HTTP/1.1 head: {error}")),
        Ok((httparse::Status::Partial, _)) if input.len() > MAX_HEAD => {
            Err(format!("HTTP head exceeds {MAX_HEAD} bytes"))
        }
        Ok((httparse::Status::Partial, _)) => Ok(None),
        Ok((httparse::Status::Complete(len), fields)) => describe(len, &fields).map(Some),
    }
}

fn describe(len: usize, fields: &[httparse::Header<'_>]) -> Result<Head, String> {
    let values = |name: &str| -> Vec<Vec<u8>> {
        let named = fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| field.value.to_vec()).collect()
    };
    if let Some(coding) = values("content-encoding").iter().find(|v| !is(v, "identity")) {
        return Err(format!("body is encoded ({}): decode it first", coding.escape_ascii()));
    }
    let framing = match (&values("transfer-encoding")[..], &values("content-length")[..]) {
        ([], []) => Framing::Rest,
        ([], [length]) => Framing::Length(parse_length(length)?),
        ([coding], []) if is(coding, "chunked") => Framing::Chunked,
        ([_, ..], []) => return Err("Transfer-Encoding is not `chunked`".to_owned()),
        ([], _) => return Err("Content-Length is given twice".to_owned()),
        _ => return Err("both Transfer-Encoding and Content-Length are given".to_owned()),
    };
    Ok(Head { len, content_types: values("content-type"), framing })
}

fn is(value: &[u8], word: &str) -> bool {
    value.eq_ignore_ascii_case(word.as_bytes())
}

fn parse_length(value: &[u8]) -> Result<u64, String> {
    let digits = std::str::from_utf8(value).ok().filter(|v| v.bytes().all(|b| b.is_ascii_digit()));
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| {
        format!("Content-Length {:?} is no length", value.escape_ascii().to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_messages_are_told_from_bodies() {
        for http in ["POST / HTTP/1.1\r\n", "PUT /a?b HTTP/1.0\n", "HTTP/1.1 200 OK\r\n"] {
            assert!(starts_like_http(http.as_bytes()), "{http:?}");
        }
        for body in
            ["--b\r\nContent-Type: a/b\r\n", "{\"a\": 1}", "", "post / HTTP/1.1", "A B HTTP/2"]
        {
            assert!(!starts_like_http(body.as_bytes()), "{body:?}");
        }
    }

    #[test]
    fn a_body_has_one_length_or_none() {
        let framing = |fields: &str| {
            let head = format!("POST / HTTP/1.1\r\n{fields}\r\n");
            read_head(head.as_bytes()).map(|head| head.unwrap().framing)
        };
        assert_eq!(framing(""), Ok(Framing::Rest));
        assert_eq!(framing("Content-Length: 12\r\n"), Ok(Framing::Length(12)));
        assert_eq!(framing("Transfer-Encoding: Chunked\r\n"), Ok(Framing::Chunked));
        for ambiguous in [
            "Content-Length: 1\r\nContent-Length: 1\r\n",
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Content-Length: +1\r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Encoding: gzip\r\n",
        ] {
            assert!(framing(ambiguous).is_err(), "{ambiguous:?}");
        }
    }
}
