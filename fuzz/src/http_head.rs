//! The head of an HTTP message: more bytes do not change what was said of it, and the command's
//! reader of saved messages and the library's reader of header fields say the same.

use acp_envelope::{
    Config, EnvelopeDecoder,
    http::{HeaderError, decoder},
};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{CONTENT_TYPE, TRANSFER_ENCODING},
};

use super::http_message::{Framing, Head, read_head, starts_like_http};

pub fn http_head(data: &[u8]) {
    let [cut, data @ ..] = data else { return };
    let begun = &data[..usize::from(*cut).min(data.len())];
    let whole = read_head(data);
    match (read_head(begun), &whole) {
        (Ok(None), _) => {}
        (Ok(Some(before)), Ok(Some(head))) => {
            assert_eq!((before.len, before.framing), (head.len, head.framing));
            assert_eq!(before.content_types, head.content_types);
        }
        (Err(_), Err(_)) => {}
        (before, head) => panic!("{before:?} became {head:?}"),
    }
    // It has no wrong answer for any bytes, but must have one.
    let _ = starts_like_http(data);
    if let Some(headers) = fields(data) {
        compare(&whole, &headers);
    }
}

/// The header fields as an HTTP library has them, if it has them all.
fn fields(data: &[u8]) -> Option<HeaderMap> {
    let mut slots = [httparse::EMPTY_HEADER; 256];
    let mut response = httparse::Response::new(&mut slots);
    let parsed = if data.starts_with(b"HTTP/") {
        response.parse(data).map(|status| (status, response.headers))
    } else {
        let mut request = httparse::Request::new(response.headers);
        request.parse(data).map(|status| (status, request.headers))
    };
    let Ok((httparse::Status::Complete(_), fields)) = parsed else { return None };
    let mut headers = HeaderMap::new();
    for field in fields {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_bytes(field.value).ok()?);
    }
    Some(headers)
}

fn compare(head: &Result<Option<Head>, String>, headers: &HeaderMap) {
    let values = || headers.get_all(CONTENT_TYPE).iter();
    let ours = decoder(headers, Config::new());
    // What is said of the Content-Type comes first.
    let by_type = EnvelopeDecoder::from_fields(values(), Config::new());
    if let Err(error) = by_type {
        assert_eq!(ours.unwrap_err(), HeaderError::Message(error));
        return;
    }
    match (head, ours) {
        (Ok(Some(head)), ours) => {
            assert_eq!(head.content_types, values().map(HeaderValue::as_bytes).collect::<Vec<_>>());
            let Err(error) = ours else { return };
            let too_long = ["limit_message_size", "limit_control_size"].contains(&error.code());
            assert!(too_long && matches!(head.framing, Framing::Length(_)), "{error}");
        }
        // The server of HTTP judges Transfer-Encoding.
        (Err(said), Ok(_)) => assert!(headers.contains_key(TRANSFER_ENCODING), "{said}"),
        (Err(_), Err(error)) => {
            assert!(!matches!(error, HeaderError::Message(_)), "{error}");
        }
        (Ok(None), _) => panic!("the head is complete"),
    }
}
