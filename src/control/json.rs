//! The one pass over the document: RFC 8259 and I-JSON by serde_json, and, in its visitor, depth,
//! members given twice, and references (ACP-CTL-4, ACP-CTL-5, ACP-REF-1…6, ACP-LIM-9).

use std::{borrow::Cow, fmt, ops::Range, sync::LazyLock};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{
    ControlError, ControlErrorKind, Place,
    members::{Members, Seen},
    path::{Path, index},
    place,
    refs::{REF, References},
};
use crate::{Limits, name::PartName};

/// What can be set about reading a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) max_depth: usize,
    pub(crate) allow_duplicate_members: bool,
}

impl Rules {
    /// What every document keeps to.
    pub(super) const LEAST: Self =
        Self { max_depth: Limits::JSON_DEPTH_CEILING, allow_duplicate_members: true };
}

/// What a document holds whose syntax is valid.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) references: References,
    /// The first fault among the references.
    pub(super) reference_fault: Option<ControlError>,
    /// Arrays and objects open at once, at most.
    pub(super) depth: usize,
    /// A member name is given twice in one object.
    pub(super) repeats_members: bool,
}

/// Reads `text`, or says what the first fault of its syntax is.
pub(super) fn read(
    text: &str,
    rules: Rules,
    own_name: Option<&PartName>,
) -> Result<Contents, ControlError> {
    let (mut reader, mut outcome) = pass(Members::hashed(), text, rules, own_name);
    if reader.unsure {
        (reader, outcome) = pass(Members::exact(), text, rules, own_name);
    }
    if let Err(error) = outcome {
        let looked_at = place::last_looked_at(text, &error);
        let kind = reader.stopped.unwrap_or_else(|| syntax_fault(&error, looked_at < text.len()));
        let at = match kind {
            ControlErrorKind::TooDeep { limit } => place::first_deeper(text, limit),
            ControlErrorKind::MemberTwice => place::string_end(text, reader.strings),
            ControlErrorKind::NumberOutOfRange => place::number_start(text, looked_at),
            _ => looked_at,
        };
        return Err(ControlError::new(kind, place::line_column(text, at)));
    }
    reader.references.close();
    let Reader { references, reference_fault, depth, repeats_members, .. } = reader;
    Ok(Contents { references, reference_fault, depth, repeats_members })
}

/// Reads `text` to its end or its first fault.
fn pass<'t>(
    members: Members<'t>,
    text: &'t str,
    rules: Rules,
    own_name: Option<&'t PartName>,
) -> (Reader<'t>, serde_json::Result<()>) {
    let max_depth = rules.max_depth.min(Limits::JSON_DEPTH_CEILING);
    let mut reader = Reader {
        text: address(text)..address(text) + text.len(),
        rules: Rules { max_depth, ..rules },
        own_name,
        path: Path::default(),
        depth: 0,
        members,
        unsure: false,
        repeats_members: false,
        target: None,
        strings: 0,
        references: References::default(),
        reference_fault: None,
        stopped: None,
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let outcome = Value { reader: &mut reader, role: Role::Ordinary }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end());
    (reader, outcome)
}

/// `inside`: the fault is before the end of the text, whatever serde_json says.
fn syntax_fault(error: &serde_json::Error, inside: bool) -> ControlErrorKind {
    let text = error.to_string();
    let reason = match text.rfind(" at line ").and_then(|end| text.get(..end)) {
        _ if inside && error.is_eof() => "invalid escape",
        Some(reason) => reason,
        None => &text,
    };
    if reason == "number out of range" {
        return ControlErrorKind::NumberOutOfRange;
    }
    ControlErrorKind::Malformed { reason: reason.into() }
}

fn address(text: &str) -> usize {
    text.as_ptr().addr()
}

/// State of the pass.
struct Reader<'t> {
    /// The addresses of the text, to tell what stands in it from what serde_json made up.
    text: Range<usize>,
    rules: Rules,
    own_name: Option<&'t PartName>,
    path: Path<'t>,
    /// The longest path so far.
    depth: usize,
    members: Members<'t>,
    /// The pass was stopped by `members` that were unsure whether a name comes twice.
    unsure: bool,
    repeats_members: bool,
    /// The value of the `$ref` that was read last, where it is a string.
    target: Option<Cow<'t, str>>,
    /// Strings read so far, member names too.
    strings: usize,
    references: References,
    /// The first; later ones do not matter, and the syntax goes before it.
    reference_fault: Option<ControlError>,
    /// Why the visitor stopped the pass.
    stopped: Option<ControlErrorKind>,
}

impl<'t> Reader<'t> {
    #[cold]
    fn stop<E: serde::de::Error>(&mut self, kind: ControlErrorKind) -> E {
        let error = E::custom("stopped");
        self.stopped = Some(kind);
        error
    }

    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        let limit = self.rules.max_depth;
        if self.path.depth() >= limit {
            return Err(self.stop(ControlErrorKind::TooDeep { limit }));
        }
        self.path.enter();
        self.depth = self.depth.max(self.path.depth());
        Ok(())
    }

    #[cold]
    fn reference_fault(&mut self, kind: ControlErrorKind) {
        if self.reference_fault.is_none() {
            let place = Place::Pointer(self.path.pointer());
            self.reference_fault = Some(ControlError::new(kind, place));
        }
    }

    /// An object that holds nothing but a valid `$ref` has ended.
    fn reference(&mut self, name: &str) {
        if self.own_name.is_some_and(|own| own == name) {
            self.reference_fault(ControlErrorKind::RefToControl);
        } else {
            let node = self.path.container(self.references.tree());
            self.references.push(node, name);
        }
    }

    /// A value that is not a string has come.
    fn not_a_string(&mut self, role: Role) {
        if role == Role::OfRef {
            self.reference_fault(ControlErrorKind::RefNotString);
        }
    }

    /// The digits of a number that serde_json has not judged.
    fn number<E: serde::de::Error>(&mut self, digits: &str) -> Result<(), E> {
        match digits.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(()),
            _ => Err(self.stop(ControlErrorKind::NumberOutOfRange)),
        }
    }

    fn object<A: MapAccess<'t>>(&mut self, mut members: A) -> Result<(), A::Error> {
        let numbers_are_maps = *NUMBERS_ARE_MAPS;
        if !numbers_are_maps {
            self.enter()?;
        }
        let mut object = self.members.open();
        let (mut count, mut has_ref, mut target) = (0, false, None);
        while let Some(name) = match members.next_key_seed(Name) {
            Ok(Some(Cow::Borrowed(name)))
                if numbers_are_maps && count == 0 && self.is_made_up(name) =>
            {
                return self.number(&members.next_value::<Cow<'_, str>>()?);
            }
            outcome => {
                // An object that is too deep is at fault before anything in it.
                if numbers_are_maps && count == 0 {
                    self.enter()?;
                }
                outcome?
            }
        } {
            self.strings += 1;
            match self.members.insert(&mut object, &name) {
                Seen::New => {}
                Seen::Again if self.rules.allow_duplicate_members => self.repeats_members = true,
                Seen::Again => return Err(self.stop(ControlErrorKind::MemberTwice)),
                Seen::Unsure => {
                    self.unsure = true;
                    return Err(self.stop(ControlErrorKind::MemberTwice));
                }
            }
            let is_ref = name == REF;
            if has_ref || (is_ref && count > 0) {
                self.reference_fault(ControlErrorKind::RefNotAlone);
            }
            count += 1;
            self.path.member(name);
            let role = if is_ref { Role::OfRef } else { Role::Ordinary };
            members.next_value_seed(Value { reader: self, role })?;
            if is_ref {
                has_ref = true;
                target = self.target.take();
                if target.as_ref().is_some_and(|name| PartName::check(name.as_bytes()).is_err()) {
                    self.reference_fault(ControlErrorKind::RefNotName);
                }
            }
        }
        if let Some(name) = target
            && self.reference_fault.is_none()
        {
            self.reference(&name);
        }
        self.members.close(object);
        self.path.leave();
        Ok(())
    }

    fn is_made_up(&self, key: &str) -> bool {
        !self.text.contains(&address(key))
    }
}

/// What a value is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Ordinary,
    /// It is the value of `$ref`.
    OfRef,
}

/// Reads one value.
struct Value<'r, 't> {
    reader: &'r mut Reader<'t>,
    role: Role,
}

impl<'t> Value<'_, 't> {
    fn other<E>(self) -> Result<(), E> {
        self.reader.not_a_string(self.role);
        Ok(())
    }

    fn string<E>(self, text: impl FnOnce() -> Cow<'t, str>) -> Result<(), E> {
        self.reader.strings += 1;
        if self.role == Role::OfRef {
            self.reader.target = Some(text());
        }
        Ok(())
    }
}

impl<'t> DeserializeSeed<'t> for Value<'_, 't> {
    type Value = ();

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'t> Visitor<'t> for Value<'_, 't> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        self.other()
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        self.other()
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        self.other()
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        self.other()
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        self.other()
    }

    fn visit_borrowed_str<E>(self, text: &'t str) -> Result<Self::Value, E> {
        self.string(|| Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        self.string(|| Cow::Owned(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let Self { reader, role } = self;
        reader.not_a_string(role);
        reader.enter()?;
        for at in 0.. {
            reader.path.element(index(at));
            let element = Value { reader: &mut *reader, role: Role::Ordinary };
            if elements.next_element_seed(element)?.is_none() {
                break;
            }
        }
        reader.path.leave();
        Ok(())
    }

    fn visit_map<A: MapAccess<'t>>(self, members: A) -> Result<Self::Value, A::Error> {
        let Self { reader, role } = self;
        reader.not_a_string(role);
        reader.object(members)
    }
}

/// Whether a crate somewhere in the build has turned on serde_json's `arbitrary_precision`: numbers
/// then come as maps of one made-up member, and out of range is for us to see.
static NUMBERS_ARE_MAPS: LazyLock<bool> =
    LazyLock::new(|| "1e999".parse::<serde_json::Number>().is_ok());

/// Reads a member name.
struct Name;

impl<'t> DeserializeSeed<'t> for Name {
    type Value = Cow<'t, str>;

    fn deserialize<D: Deserializer<'t>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'t> Visitor<'t> for Name {
    type Value = Cow<'t, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_borrowed_str<E>(self, name: &'t str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { max_depth: 8, allow_duplicate_members: false };

    fn fault(text: &str) -> (&'static str, usize, usize) {
        let Err(error) = read(text, RULES, None) else { panic!("{text} is valid") };
        match error.into_parts() {
            (kind, Place::LineColumn { line, column, .. }) => (kind.code(), line, column),
            (kind, place) => panic!("{kind:?} {place:?}"),
        }
    }

    fn reference_fault(text: &str) -> (ControlErrorKind, Place) {
        let own = "own".parse().unwrap();
        read(text, RULES, Some(&own)).unwrap().reference_fault.unwrap().into_parts()
    }

    #[test]
    fn syntax_faults_are_placed_acp_ctl_4_acp_ctl_5_acp_lim_9() {
        for (text, code, line, column) in [
            ("", "control_malformed", 1, 1),
            ("{\n \"a\":1,}", "control_malformed", 2, 8),
            ("{\"a\":1", "control_malformed", 1, 7),
            ("[\"é\", x]", "control_malformed", 1, 7),
            ("\"a\nb\"", "control_malformed", 1, 3),
            ("\"\\u00\n0\"", "control_malformed", 1, 6),
            // An escape that the end of the text cuts is at fault at its first bad digit...
            ("\"\\u\nd", "control_malformed", 1, 4),
            ("\"\\u00", "control_malformed", 1, 6),
            ("\"\\ux\" \\", "control_malformed", 1, 4),
            // ...and an escaped backslash starts no escape.
            ("\"\\\\ux", "control_malformed", 1, 6),
            ("\"\\\\uxbc\n\"", "control_malformed", 1, 8),
            ("{} {}", "control_malformed", 1, 4),
            ("[012]", "control_malformed", 1, 3),
            ("{\"a\":1,\n\"\\u0061\":2}", "control_malformed", 2, 8),
            ("[[[[[[[[[1]]]]]]]]]", "limit_json_depth", 1, 9),
            ("{\"a\":1,\"a\":[[[[[[[[[]]]]]]]]]}", "control_malformed", 1, 10),
        ] {
            assert_eq!(fault(text), (code, line, column), "{text}");
        }
    }

    #[test]
    fn every_fault_of_a_reference_has_its_kind_and_pointer_acp_ref_3_acp_ref_4_acp_ref_6() {
        use ControlErrorKind::{RefNotAlone, RefNotName, RefNotString, RefToControl};
        for (text, kind, pointer) in [
            (r#"{"$ref":1}"#, RefNotString, ""),
            (r#"{"a":[0,{"$ref":["x"]}]}"#, RefNotString, "/a/1"),
            (r#"{"a":{"$ref":{"$ref":"x/y"}}}"#, RefNotString, "/a"),
            (r#"{"a/b":{"\u0024ref":"x/y"}}"#, RefNotName, "/a~1b"),
            (r#"{"a":{"$ref":"x","b":1}}"#, RefNotAlone, "/a"),
            (r#"{"a":{"b":1,"$ref":"x"}}"#, RefNotAlone, "/a"),
            (r#"[{"$ref":"own"},{"$ref":1}]"#, RefToControl, "/0"),
            (r#"[{"$ref":1},{"$ref":"own"}]"#, RefNotString, "/0"),
            (r#"{"$ref":"own","a":1}"#, RefNotAlone, ""),
        ] {
            assert_eq!(reference_fault(text), (kind, Place::Pointer(pointer.to_owned())), "{text}");
        }
    }

    #[test]
    fn syntax_goes_before_references_acp_ctl_7() {
        assert_eq!(fault(r#"[{"$ref":1},]"#).0, "control_malformed");
    }

    #[test]
    fn references_keep_document_order_acp_ref_1_acp_ref_7() {
        let text = r#"{"z":{"$ref":"b"},"a":[{"$ref":"a"},{"x":{"$ref":"b"}},"$ref",{"ref":"b"}]}"#;
        let contents = read(text, RULES, None).unwrap();
        assert!(contents.reference_fault.is_none());
        let references = contents.references;
        let all: Vec<_> = references.iter().collect();
        assert_eq!(
            all,
            [("/z".to_owned(), "b"), ("/a/0".to_owned(), "a"), ("/a/1/x".to_owned(), "b")]
        );
        assert_eq!(references.pointers("b").collect::<Vec<_>>(), ["/z", "/a/1/x"]);
        assert_eq!(references.first_unknown(|_, name| name == "b").unwrap(), "/a/0");
        assert_eq!(references.first_unknown(|_, _| true), None);
        assert!(!references.contains("c"));
    }

    #[test]
    fn a_stricter_reader_need_not_look_again_acp_ctl_5_acp_lim_9() {
        for (text, depth, repeats) in [
            ("1", 0, false),
            (r#"{"a":[{"a":{}}],"b":1}"#, 4, false),
            (r#"[{"a":1},{"a":1,"b":{"a":1},"\u0061":2}]"#, 3, true),
        ] {
            let contents = read(text, Rules::LEAST, None).unwrap();
            assert_eq!((contents.depth, contents.repeats_members), (depth, repeats), "{text}");
        }
    }

    #[test]
    fn numbers_are_judged_by_their_nearest_double_acp_ctl_4() {
        for text in ["1.7976931348623158e308", "-0", "1e-999", "123456789012345678901234567890"] {
            assert!(read(text, RULES, None).is_ok(), "{text}");
        }
        for (text, column) in [("1e999", 1), ("[0, -1e400 ]", 5), ("[1.7976931348623159e308]", 2)] {
            assert_eq!(fault(text), ("control_malformed", 1, column), "{text}");
        }
    }
}
