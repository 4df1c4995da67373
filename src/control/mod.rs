//! The control document alone: charset, strict JSON, references. It knows nothing of parts.
//!
//! A document is judged in one pass, without a tree: charset of the whole, then syntax and depth in
//! document order, then references in document order (ACP-CTL-7).

mod charset;
mod error;
mod json;
mod members;
mod path;
mod place;
mod refs;
mod rename;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use self::{charset::Decoded, json::Contents};
pub(crate) use self::{error::Place, json::Rules, refs::References};
pub use self::{
    error::{ControlError, ControlErrorKind},
    refs::{Pointers, Reference},
};
use crate::name::PartName;

/// A control document: one RFC 8259 value, and where it refers to parts. Cheap to clone.
///
/// The bytes are kept as they were sent; [`value`](Self::value) and
/// [`deserialize`](Self::deserialize) read them when asked.
///
/// ```
/// let envelope = acp_envelope::decode("application/json", r#"{"id": 7, "big": 12345678901234567890123}"#)?;
/// let control = envelope.control();
/// assert_eq!(control.text(), r#"{"id": 7, "big": 12345678901234567890123}"#);
/// assert_eq!(control.value()?["id"], 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Control {
    raw: Bytes,
    /// What `raw` decodes to.
    text: Text,
    references: Arc<References>,
    /// Arrays and objects open at once, at most.
    depth: usize,
    /// A member name is given twice in one object.
    repeats_members: bool,
}

/// Where the document's text is.
#[derive(Clone)]
enum Text {
    /// UTF-8, from this byte of the raw document on.
    Utf8 { start: usize },
    /// In another charset, decoded.
    Decoded(Arc<str>),
}

/// A document whose syntax holds, and the first fault of its references, which leaves the document
/// itself readable.
pub(crate) struct Judged {
    pub(crate) control: Control,
    pub(crate) reference_fault: Option<ControlError>,
}

impl Control {
    /// The largest document that can be judged: places in its text, which is up to three times as
    /// long, are counted in 32 bits.
    pub(crate) const MAX_BYTES: usize = 1 << 30;

    /// The JSON form of `value`, the value of an agent's own type, with [`Reference`]s in it.
    ///
    /// # Errors
    ///
    /// `control_malformed` when it has none; `ref_invalid` when an object has a member `$ref` and
    /// is no reference; `limit_control_size` above 1 GiB and `limit_json_depth` above
    /// [`Limits::JSON_DEPTH_CEILING`](crate::Limits::JSON_DEPTH_CEILING).
    ///
    /// ```
    /// use acp_envelope::{Control, Reference};
    ///
    /// #[derive(serde::Serialize)]
    /// struct Task { instruction: &'static str, image: Reference }
    ///
    /// let task = Task { instruction: "read", image: Reference::new("img".parse()?) };
    /// let control = Control::new(&task)?;
    /// assert_eq!(control.text(), r#"{"instruction":"read","image":{"$ref":"img"}}"#);
    /// assert_eq!(control.references().next(), Some(("/image".to_owned(), "img")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new<T: Serialize + ?Sized>(value: &T) -> Result<Self, ControlError> {
        match serde_json::to_vec(value) {
            Ok(text) => Self::from_text(text),
            Err(error) => {
                let reason = error.to_string().into();
                let kind = ControlErrorKind::Unserializable { reason };
                Err(ControlError::new(kind, Place::Pointer(String::new())))
            }
        }
    }

    /// A document that is JSON text in UTF-8 already. It is kept byte for byte.
    ///
    /// How deep it may be, and whether a member name may come twice in one object, is for the
    /// receiver to say: it is judged when a message is built.
    ///
    /// # Errors
    ///
    /// `control_charset`, `control_malformed`, `ref_invalid`; `limit_control_size` above 1 GiB and
    /// `limit_json_depth` above [`Limits::JSON_DEPTH_CEILING`](crate::Limits::JSON_DEPTH_CEILING).
    ///
    /// ```
    /// use acp_envelope::Control;
    ///
    /// let control = Control::from_text("{ \"price\": 1.10 }")?;
    /// assert_eq!(control.text(), "{ \"price\": 1.10 }");
    /// assert_eq!(Control::from_text(r#"{"$ref":"a b"}"#).unwrap_err().code(), "ref_invalid");
    /// # Ok::<(), acp_envelope::ControlError>(())
    /// ```
    pub fn from_text(text: impl Into<Bytes>) -> Result<Self, ControlError> {
        let raw = text.into();
        if raw.len() > Self::MAX_BYTES {
            let kind = ControlErrorKind::TooLarge { limit: Self::MAX_BYTES };
            return Err(ControlError::new(kind, Place::Byte(Self::MAX_BYTES)));
        }
        let judged = Self::judge(raw, None, Rules::LEAST, None)?;
        judged.reference_fault.map_or(Ok(judged.control), Err)
    }

    /// An array of documents, each with its text as it is.
    ///
    /// # Errors
    ///
    /// Those of [`from_text`](Self::from_text).
    ///
    /// ```
    /// use acp_envelope::Control;
    ///
    /// let [a, b] = [Control::from_text("1.0")?, Control::from_text("[ ]")?];
    /// assert_eq!(Control::array([&a, &b])?.text(), "[1.0,[ ]]");
    /// # Ok::<(), acp_envelope::ControlError>(())
    /// ```
    pub fn array<'a>(elements: impl IntoIterator<Item = &'a Self>) -> Result<Self, ControlError> {
        let texts: Vec<&str> = elements.into_iter().map(Self::text).collect();
        Self::from_text(format!("[{}]", texts.join(",")))
    }

    /// An object of documents, each with its text as it is.
    ///
    /// # Errors
    ///
    /// Those of [`from_text`](Self::from_text), `ref_invalid` for the name `$ref` among them.
    ///
    /// ```
    /// use acp_envelope::Control;
    ///
    /// let [a, b] = [Control::from_text("1.0")?, Control::from_text("[ ]")?];
    /// assert_eq!(Control::object([("x", &a), ("y\"", &b)])?.text(), r#"{"x":1.0,"y\"":[ ]}"#);
    /// # Ok::<(), acp_envelope::ControlError>(())
    /// ```
    pub fn object<'a>(
        members: impl IntoIterator<Item = (&'a str, &'a Self)>,
    ) -> Result<Self, ControlError> {
        let member = |(name, value): (&str, &Self)| {
            format!("{}:{}", serde_json::Value::from(name), value.text())
        };
        let members: Vec<String> = members.into_iter().map(member).collect();
        Self::from_text(format!("{{{}}}", members.join(",")))
    }

    /// The document with references under other names.
    pub(crate) fn renamed<'n>(
        &self,
        new_name: impl Fn(&str) -> Option<&'n str>,
    ) -> Result<Self, ControlError> {
        Self::from_text(rename::rename(self.text(), new_name))
    }

    /// Whether a reader with these rules takes the document, which other rules may have let pass.
    pub(crate) fn conform(&self, rules: Rules) -> Result<(), ControlError> {
        let repeats_do_not_matter = !self.repeats_members || rules.allow_duplicate_members;
        if self.depth <= rules.max_depth && repeats_do_not_matter {
            return Ok(());
        }
        // It is not taken; this says where.
        Self::judge(self.utf8(), None, rules, None).map(|_| ())
    }

    /// The text as bytes: a view where the document is in UTF-8.
    pub(crate) fn utf8(&self) -> Bytes {
        match &self.text {
            Text::Utf8 { start } => self.raw.slice(*start..),
            Text::Decoded(text) => Bytes::copy_from_slice(text.as_bytes()),
        }
    }

    /// Judges `raw` in the charset of `label` (UTF-8 without one). A reference to `own_name`, the
    /// name of the control part, is a fault.
    pub(crate) fn judge(
        raw: Bytes,
        label: Option<&[u8]>,
        rules: Rules,
        own_name: Option<&PartName>,
    ) -> Result<Judged, ControlError> {
        let (text, contents) = match charset::decode(&raw, label)? {
            Decoded::Utf8 { start, text } => {
                let contents = json::read(text, rules, own_name);
                (Text::Utf8 { start }, contents.map_err(|e| e.of_text_at(Some(start)))?)
            }
            Decoded::Other(text) => {
                let contents = json::read(&text, rules, own_name);
                let contents = contents.map_err(|e| e.of_text_at(None))?;
                (Text::Decoded(text), contents)
            }
        };
        let Contents { references, reference_fault, depth, repeats_members } = contents;
        let references = Arc::new(references);
        let control = Self { raw, text, references, depth, repeats_members };
        Ok(Judged { control, reference_fault })
    }

    /// The document as it was sent: a view of the input where it came in one piece.
    #[must_use]
    pub const fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The document as text, without a byte order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.text {
            Text::Utf8 { start } => {
                std::str::from_utf8(self.raw.get(*start..).unwrap_or_default()).unwrap_or_default()
            }
            Text::Decoded(text) => text,
        }
    }

    /// The document as a tree. Where a member is given twice (only when the configuration allows
    /// that), the last one counts. Numbers are what `serde_json` makes of them; the exact digits
    /// are in [`text`](Self::text).
    ///
    /// # Errors
    ///
    /// None as such. A crate elsewhere in the build may have turned on features of `serde_json`
    /// that give some member names a meaning of their own; a document with such a name may then
    /// fail.
    pub fn value(&self) -> Result<serde_json::Value, serde_json::Error> {
        self.deserialize()
    }

    /// The document as a `T`.
    ///
    /// # Errors
    ///
    /// The document is valid JSON, but no `T`.
    ///
    /// ```
    /// use acp_envelope::Reference;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Task<'a> { instruction: &'a str, image: Reference }
    ///
    /// let body = "--b\r\nContent-Type: application/json\r\n\r\n\
    ///     {\"instruction\":\"read\",\"image\":{\"$ref\":\"img\"}}\r\n--b\r\n\
    ///     Content-Disposition: form-data; name=\"img\"\r\nContent-Type: image/png\r\n\r\nPNG\r\n--b--\r\n";
    /// let envelope = acp_envelope::decode("multipart/form-data; boundary=b", body).unwrap();
    /// let task: Task = envelope.control().deserialize().unwrap();
    /// assert_eq!(task.instruction, "read");
    /// assert_eq!(envelope.resolve(&task.image).unwrap().body(), "PNG");
    /// ```
    pub fn deserialize<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(self.text());
        // The depth was bounded when the document was judged.
        deserializer.disable_recursion_limit();
        T::deserialize(&mut deserializer)
    }

    /// Every reference in document order: where it stands (JSON Pointer), and the name it has.
    pub fn references(&self) -> impl Iterator<Item = (String, &str)> {
        self.references.iter()
    }

    /// How many references there are.
    #[must_use]
    pub fn reference_count(&self) -> usize {
        self.references.len()
    }

    pub(crate) fn reference_table(&self) -> &Arc<References> {
        &self.references
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Control").field(&self.text()).finish()
    }
}

/// Equal text.
impl PartialEq for Control {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Control {}
