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

use std::{fmt, sync::Arc};

use bytes::Bytes;
use serde::Deserialize;

pub use self::{
    error::ControlErrorKind,
    refs::{Pointers, Reference},
};
pub(crate) use self::{
    error::{ControlError, Place},
    json::Rules,
    refs::References,
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

    /// Judges `raw` in the charset of `label` (UTF-8 without one). A reference to `own_name`, the
    /// name of the control part, is a fault.
    pub(crate) fn judge(
        raw: Bytes,
        label: Option<&[u8]>,
        rules: Rules,
        own_name: Option<&PartName>,
    ) -> Result<Judged, ControlError> {
        let text = charset::decode(&raw, label)?;
        let mut control = Self { raw, text, references: Arc::default() };
        let start = match &control.text {
            Text::Utf8 { start } => Some(*start),
            Text::Decoded(_) => None,
        };
        let (references, reference_fault) =
            json::read(control.text(), rules, own_name).map_err(|e| e.of_text_at(start))?;
        control.references = Arc::new(references);
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
    /// that), the last one counts. Numbers are what `serde_json` makes of them; the exact digits are
    /// in [`text`](Self::text).
    ///
    /// # Errors
    ///
    /// None as such. A crate elsewhere in the build may have turned on features of `serde_json` that
    /// give some member names a meaning of their own; a document with such a name may then fail.
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
