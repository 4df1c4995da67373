//! References under other names; the text around them stays as it is.

use std::borrow::Cow;

use super::{place::strings, refs::REF};

/// `text`, the text of a valid document, with the names of its references replaced where there is a
/// new one.
pub(super) fn rename<'n>(text: &str, new_name: impl Fn(&str) -> Option<&'n str>) -> String {
    let mut renamed = String::with_capacity(text.len());
    let mut copied = 0;
    let mut follows_ref = false;
    for string in strings(text) {
        let token = text.get(string.clone()).unwrap_or_default();
        // In a valid document `$ref` stands alone in its object and has a string for its value.
        if follows_ref && let Some(name) = new_name(&unquoted(token)) {
            renamed.push_str(text.get(copied..=string.start).unwrap_or_default());
            renamed.push_str(name);
            copied = string.end - 1;
        }
        let after = text.get(string.end..).unwrap_or_default();
        let is_member_name = after.trim_start_matches([' ', '\t', '\r', '\n']).starts_with(':');
        follows_ref = is_member_name && unquoted(token) == REF;
    }
    renamed.push_str(text.get(copied..).unwrap_or_default());
    renamed
}

/// What a string token of a valid document says.
fn unquoted(token: &str) -> Cow<'_, str> {
    match token.get(1..token.len().saturating_sub(1)) {
        Some(inside) if !inside.contains('\\') => Cow::Borrowed(inside),
        _ => Cow::Owned(serde_json::from_str(token).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_of_references_change_acp_ref_1_acp_ref_2_acp_ref_3() {
        let text = r#" [ "$ref" , "a", {"a":"a","b" :"\"$ref\":" , "c":{ "$ref"
            : "a" }}, {"\u0024ref":"\u0061"},{"$ref":"b"}, {"x":"$ref"}, {"x":"{\"$ref\":\"a\"}"} , 1.50e+3 ] "#;
        let expected = text.replace(": \"a\" }", ": \"z-1\" }").replace("\"\\u0061\"", "\"z-1\"");
        assert_ne!(text, expected);
        assert_eq!(rename(text, |name| (name == "a").then_some("z-1")), expected);
        assert_eq!(rename(text, |_| None), text);
    }
}
