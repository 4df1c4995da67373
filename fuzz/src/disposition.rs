//! Values of header fields, boundaries and names: what the oracle says of them, to the byte.

use acp_envelope::{
    Limits, PartName,
    syntax::{Boundary, ContentType, Disposition, MediaType},
};

use super::support::oracle;

pub fn disposition(data: &[u8]) {
    content_type(data);
    name(data);
    // Values stand in a header field without white space around them.
    let value = data.trim_ascii();
    form_data(value);
    media_type(value);
}

fn form_data(value: &[u8]) {
    let ours = Disposition::parse(value);
    let theirs = oracle::disposition(value);
    let said = ours.as_ref().map(|d| (d.name().map(Vec::from), d.filename().map(String::from)));
    assert_eq!(said.map_err(|at| *at), theirs);
    if let Ok(ours) = ours {
        let sent = ours.filename_bytes().unwrap_or_default();
        assert!(value.windows(sent.len().max(1)).any(|part| part.starts_with(sent)));
    }
}

fn media_type(value: &[u8]) {
    let ours = MediaType::parse(value);
    let theirs = oracle::media_type(value);
    let Ok((essence, parameters)) = theirs else {
        assert_eq!(ours.map(|_| ()), theirs.map(|_| ()));
        return;
    };
    let ours = ours.expect("the oracle reads it");
    assert!(ours.is(&essence) && essence == ours.essence().to_lowercase());
    assert_eq!(format!("{}/{}", ours.type_(), ours.subtype()), ours.essence());
    assert_eq!(ours.as_bytes(), value);
    for (name, _) in &parameters {
        let first = parameters.iter().find(|(other, _)| other == name);
        assert_eq!(ours.parameter(name), first.map(|(_, value)| value.clone()));
        assert!(ours.has_parameter(&name.to_uppercase()));
    }
    if let Some(mime) = ours.mime() {
        assert_eq!(mime.essence_str(), essence);
    }
}

fn content_type(value: &[u8]) {
    let ours = ContentType::parse(value, &Limits::new());
    let ours = ours.map_err(|error| (error.code(), error.position()));
    let boundary = ours.map(|ours| match ours {
        ContentType::FormData(boundary) => Some(boundary.as_str().as_bytes().to_vec()),
        _ => None,
    });
    if let Ok(Some(boundary)) = &boundary {
        assert_eq!(Boundary::new(boundary).expect("it was one").as_str().as_bytes(), boundary);
    }
    assert_eq!(boundary, oracle::boundary_of(value));
}

fn name(value: &[u8]) {
    let ours = PartName::from_bytes(value);
    assert_eq!(ours.err().map(|error| error.position()), oracle::bad_byte_of_name(value));
}
