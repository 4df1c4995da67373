//! What a message holds, as JSON. The JSON is stable: members are added, never renamed or removed.

use acp_envelope::{ContentHead, Control, EnvelopeDecoder, Item, Warning};
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// The most JSON Pointers that are listed for one part.
const MAX_POINTERS: usize = 100;

/// The most bytes of JSON Pointers in one summary: a long member name stands in all of them.
const MAX_POINTER_BYTES: usize = 1 << 20;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Summary {
    /// `multipart` or `json`; `null` where the Content-Type says neither.
    pub(crate) form: Option<&'static str>,
    /// Bytes of the body that were read.
    pub(crate) size: u64,
    pub(crate) control: Option<ControlSummary>,
    pub(crate) parts: Vec<PartSummary>,
    pub(crate) warnings: Vec<Warning>,
}

#[derive(Debug, Serialize)]
pub(crate) struct ControlSummary {
    pub(crate) name: Option<String>,
    pub(crate) size: usize,
    pub(crate) sha256: String,
    pub(crate) references: usize,
    /// The document itself, where it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) document: Option<Box<RawValue>>,
    /// The file it was written to, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct PartSummary {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) content_type: String,
    pub(crate) filename: Option<String>,
    pub(crate) size: u64,
    /// `null` where the part is not complete.
    pub(crate) sha256: Option<String>,
    /// JSON Pointers of references to the part: all, or the first 100; 1 MiB in one summary.
    pub(crate) referenced_by: Vec<String>,
    /// How many references there are.
    pub(crate) references: usize,
    /// The file it was written to, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

impl Summary {
    pub(crate) fn of(decoder: &EnvelopeDecoder) -> Self {
        let form = if decoder.is_multipart() { "multipart" } else { "json" };
        Self { form: Some(form), ..Self::default() }
    }

    /// Takes what is known at the message's end, or where it is refused.
    pub(crate) fn finish(&mut self, decoder: &EnvelopeDecoder) {
        self.size = decoder.offset();
        self.warnings = decoder.warnings().to_vec();
    }
}

/// Makes a summary of items as they come.
#[derive(Debug)]
pub(crate) struct Summing {
    /// Digest of the current part, where digests are wanted.
    digest: Option<Sha256>,
    digests: bool,
    /// Bytes of JSON Pointers that may still be listed.
    pointer_room: usize,
}

impl Summing {
    pub(crate) fn new(digests: bool) -> Self {
        Self { digest: None, digests, pointer_room: MAX_POINTER_BYTES }
    }

    /// Puts an item that `decoder` gave into the summary.
    pub(crate) fn take(&mut self, item: &Item, decoder: &EnvelopeDecoder, summary: &mut Summary) {
        match item {
            Item::Control(control) => summary.control = Some(control_summary(control, decoder)),
            Item::PartStart(head) => {
                summary.parts.push(self.part_summary(head));
                self.digest = self.digests.then(Sha256::new);
            }
            Item::Data(data) => {
                if let Some(digest) = &mut self.digest {
                    digest.update(data);
                }
                if let Some(part) = summary.parts.last_mut() {
                    part.size += data.len() as u64;
                }
            }
            Item::PartEnd { .. } => {
                if let Some(part) = summary.parts.last_mut() {
                    part.sha256 = self.digest.take().map(|digest| hex::encode(digest.finalize()));
                }
            }
            _ => {}
        }
    }

    fn part_summary(&mut self, head: &ContentHead) -> PartSummary {
        let fits = |pointer: &String| match self.pointer_room.checked_sub(pointer.len()) {
            Some(left) => {
                self.pointer_room = left;
                true
            }
            None => false,
        };
        PartSummary {
            index: head.index(),
            name: head.name().to_string(),
            content_type: head.media_type().to_string(),
            filename: head.filename().map(Into::into),
            size: 0,
            sha256: None,
            referenced_by: head.referenced_by().take(MAX_POINTERS).take_while(fits).collect(),
            references: head.referenced_by().len(),
            path: None,
        }
    }
}

fn control_summary(control: &Control, decoder: &EnvelopeDecoder) -> ControlSummary {
    ControlSummary {
        name: decoder.control_name().map(ToString::to_string),
        size: control.raw().len(),
        sha256: hex::encode(Sha256::digest(control.raw())),
        references: control.reference_count(),
        document: None,
        path: None,
    }
}
