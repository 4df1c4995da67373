//! The control document (section 5) and its references (section 6).

use super::*;

/// A valid control document: its text, and its references in document order.
pub(super) struct Document {
    pub(super) text: String,
    pub(super) references: Vec<Reference>,
}

/// The name and the pointer of one `{"$ref": name}`.
pub(super) type Reference = (String, String);

pub(super) fn judge_json(
    body: &[u8],
    charset: Option<Label>,
    policy: &Policy,
) -> Result<Message, Fault> {
    let mut limit = (policy.json_size, "limit_control_size");
    if policy.message_size < policy.json_size {
        limit = (policy.message_size, "limit_message_size");
    }
    if body.len() as u64 > limit.0 {
        return Err(fault_at((limit.1, limit.0 as usize), None));
    }
    let document = judge_document(body, 0, charset, None, None, policy)?;
    check_resolved(&document.references, &[])?;
    let (control, parts, warnings) = (document.text, Vec::new(), Vec::new());
    Ok(Message { control, parts, warnings })
}

/// Charset, then syntax and depth, then references (ACP-CTL-7).
pub(super) fn judge_document(
    bytes: &[u8],
    start: usize,
    charset: Option<Label>,
    control_name: Option<&str>,
    part: Option<u64>,
    policy: &Policy,
) -> Result<Document, Fault> {
    let text = decode(bytes, start, charset, part)?;
    let chars: Vec<char> = text.chars().collect();
    let root = read_json(&chars, policy).map_err(|(code, at)| {
        let place = line_column(&chars[..at]);
        Fault { code, place, part }
    })?;
    let mut references = Vec::new();
    find_references(&root, "", control_name, &mut references)?;
    Ok(Document { text, references })
}

/// ACP-CTL-3.
pub(super) fn decode(
    bytes: &[u8],
    start: usize,
    charset: Option<Label>,
    part: Option<u64>,
) -> Result<String, Fault> {
    let code = "control_charset";
    let encoding = match charset {
        None => Ok(UTF_8),
        Some((label, place)) => {
            let known = Encoding::for_label_no_replacement(&label);
            known.ok_or(Fault { code, place, part })
        }
    }?;
    let text = if encoding == UTF_8 {
        let text = std::str::from_utf8(bytes).map(Cow::from);
        text.map_err(|error| error.valid_up_to())
    } else {
        let text = encoding.decode_without_bom_handling_and_without_replacement(bytes);
        text.ok_or(0)
    };
    let text = text.map_err(|at| fault_at((code, start + at), part))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

/// The place after this text. Lines end at LF.
pub(super) fn line_column(before: &[char]) -> Place {
    let lines: Vec<&[char]> = before.split(|&character| character == '\n').collect();
    let column = lines.last().map_or(0, |line| line.len()) + 1;
    Place::LineColumn(lines.len() as u64, column as u64)
}

pub(super) fn ref_fault(code: &'static str, pointer: &str) -> Fault {
    let place = Place::Pointer(pointer.to_owned());
    Fault { code, place, part: None }
}

/// ACP-REF-5.
pub(super) fn check_resolved(references: &[Reference], parts: &[Part]) -> Result<(), Fault> {
    let resolves = |name: &String| parts.iter().any(|part| part.name == *name);
    match references.iter().find(|(name, _)| !resolves(name)) {
        Some((_, pointer)) => Err(ref_fault("ref_unresolved", pointer)),
        None => Ok(()),
    }
}

/// Collects the references below a value, and finds the first fault from left to right.
pub(super) fn find_references(
    value: &Json,
    pointer: &str,
    control_name: Option<&str>,
    found: &mut Vec<Reference>,
) -> Result<(), Fault> {
    match value {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_references(item, &format!("{pointer}/{index}"), control_name, found)?;
            }
        }
        Json::Object(members) => {
            let mut target: Option<&str> = None;
            for (index, (name, value)) in members.iter().enumerate() {
                // `$ref` stands alone: nothing after it, nothing before it, and a name in it.
                if target.is_some() {
                    return Err(ref_fault("ref_invalid", pointer));
                }
                if name == "$ref" {
                    target = value.as_name().filter(|_| index == 0);
                    target.ok_or_else(|| ref_fault("ref_invalid", pointer))?;
                }
                let token = name.replace('~', "~0").replace('/', "~1");
                find_references(value, &format!("{pointer}/{token}"), control_name, found)?;
            }
            if target.is_some() && target == control_name {
                return Err(ref_fault("ref_control", pointer));
            }
            found.extend(target.map(|name| (name.to_owned(), pointer.to_owned())));
        }
        Json::Text(_) | Json::Other => {}
    }
    Ok(())
}
