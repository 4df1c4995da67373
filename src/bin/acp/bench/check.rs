//! Before anything is measured: every row does what it says.

use std::io;

use acp_envelope::{Part, decode_with};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::{
    decoding::{Receiver, broken},
    message::Message,
    rows::{self, Row},
};

/// How many parts, how many bytes of content, and which.
#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    pub(super) parts: usize,
    pub(super) bytes: u64,
    /// Of all contents, and of where each of them starts.
    digest: Sha256,
}

impl Contents {
    pub(super) fn of<'a>(parts: impl IntoIterator<Item = &'a Bytes>) -> Self {
        let mut contents = Self::default();
        for part in parts {
            contents.part();
            contents.data(part);
        }
        contents
    }

    fn sha256(&self) -> [u8; 32] {
        self.digest.clone().finalize().into()
    }
}

impl Receiver for Contents {
    fn part(&mut self) {
        self.parts += 1;
        self.digest.update(self.bytes.to_le_bytes());
    }

    fn data(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        self.digest.update(data);
    }
}

/// Runs every row once, and fails where one does not give exactly the message.
pub(super) fn check(message: &Message, rows: &[Row]) -> io::Result<()> {
    for &row in rows {
        let given = match row {
            Row::Sha256 | Row::ReadLimit => continue,
            Row::Parser | Row::Decoder | Row::Stream => {
                let mut contents = Contents::default();
                rows::read(row, message, &mut contents)?;
                contents
            }
            Row::Encode => encoded(message)?,
            Row::Base64 => from_base64(message)?,
        };
        let (given_sha256, expected_sha256) = (given.sha256(), message.contents.sha256());
        if given_sha256 != expected_sha256 {
            let (name, expected) = (row.name(), &message.contents);
            return Err(io::Error::other(format!(
                "row {name} gives {} parts with {} bytes and sha256 {}, where the message has {} \
                 parts with {} bytes and sha256 {}: this is a bug",
                given.parts,
                given.bytes,
                hex::encode(given_sha256),
                expected.parts,
                expected.bytes,
                hex::encode(expected_sha256),
            )));
        }
    }
    Ok(())
}

/// What is read of what the encoder writes.
fn encoded(message: &Message) -> io::Result<Contents> {
    let (content_type, segments) = rows::encode(message)?;
    let envelope = decode_with(content_type, segments.concat(), message.config).map_err(broken)?;
    if envelope.control().text() != message.envelope.control().text() {
        return Err(broken("the encoder writes another control document"));
    }
    Ok(Contents::of(envelope.parts().iter().map(Part::body)))
}

fn from_base64(message: &Message) -> io::Result<Contents> {
    let mut contents = Contents::default();
    let mut text = String::new();
    for part in message.envelope.parts() {
        text.clear();
        STANDARD.encode_string(part.body(), &mut text);
        contents.part();
        contents.data(&STANDARD.decode(&text).map_err(broken)?);
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_apart() {
        let sha256 = |parts: &[&'static str]| {
            let parts: Vec<Bytes> = parts.iter().map(|&part| part.into()).collect();
            Contents::of(&parts).sha256()
        };
        assert_eq!(sha256(&["ab", "c"]), sha256(&["ab", "c"]));
        for other in [&["a", "bc"][..], &["abc"], &["ab", "d"], &["ab", "c", ""], &[]] {
            assert_ne!(sha256(&["ab", "c"]), sha256(other), "{other:?}");
        }
    }
}
