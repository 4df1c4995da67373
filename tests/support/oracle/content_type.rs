//! The message's Content-Type (section 2).

use super::*;

/// The two serialisations (ACP-MSG-1): with the charset, with the boundary.
pub(super) enum Form {
    Json(Option<Label>),
    Multipart(Vec<u8>),
}

pub(super) fn message_form(content_type: &[u8], policy: &Policy) -> Result<Form, Stop> {
    let range = trim(content_type, (0, content_type.len()), b" ");
    let field = Field::read(content_type, range, "content_type_invalid", true, false)?;
    let mut seen = HashSet::new();
    for Parameter { name, name_at, .. } in &field.parameters {
        let repeated = !seen.insert(name);
        if name.starts_with("boundary*") || (repeated && name == "boundary") {
            return Err(("boundary_invalid", *name_at));
        }
        if repeated {
            return Err(("content_type_invalid", *name_at));
        }
    }
    match field.head.as_str() {
        "application/json" => {
            let place = |at: usize| Place::ContentType(at as u64);
            let charset = field.parameter("charset");
            Ok(Form::Json(charset.map(|p| (p.unescaped(), place(p.name_at)))))
        }
        "multipart/form-data" => match field.parameter("boundary") {
            Some(parameter) => Ok(Form::Multipart(boundary(parameter, policy)?)),
            None => Err(("boundary_missing", range.1)),
        },
        _ => Err(("content_type_unsupported", field.at)),
    }
}

/// ACP-CT-3: the length first, then the characters from left to right.
pub(super) fn boundary(parameter: &Parameter, policy: &Policy) -> Result<Vec<u8>, Stop> {
    let Parameter { raw, raw_at, .. } = parameter;
    let too_long = |limit: u64| raw.len() as u64 > limit;
    if policy.boundary <= MAX_BOUNDARY && too_long(policy.boundary) {
        return Err(("limit_boundary", raw_at + policy.boundary as usize));
    }
    if too_long(MAX_BOUNDARY) {
        return Err(("boundary_invalid", raw_at + MAX_BOUNDARY as usize));
    }
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
    let last = raw.len().saturating_sub(1);
    let ends_well = |at: usize| at < last || raw[at] != b' ';
    match (0..raw.len()).find(|&at| !allowed(raw[at]) || !ends_well(at)) {
        Some(at) => Err(("boundary_invalid", raw_at + at)),
        None if raw.is_empty() => Err(("boundary_invalid", *raw_at)),
        None => Ok(raw.clone()),
    }
}
