//! The charset of the control document (ACP-CTL-3): decoding without replacement.

use std::sync::Arc;

use encoding_rs::{DecoderResult, Encoding, UTF_8};

use super::{ControlError, ControlErrorKind, Place};

const BOM: char = '\u{feff}';
const UTF_8_BOM: &[u8] = b"\xef\xbb\xbf";

/// A document as text.
#[derive(Debug)]
pub(super) enum Decoded<'a> {
    /// UTF-8, and where the text starts in the raw document.
    Utf8 { start: usize, text: &'a str },
    /// In another charset.
    Other(Arc<str>),
}

/// Decodes `raw` in the charset of `label`, a WHATWG label; UTF-8 without one. One byte order mark
/// of that charset is skipped; it never overrides the label.
pub(super) fn decode<'a>(raw: &'a [u8], label: Option<&[u8]>) -> Result<Decoded<'a>, ControlError> {
    let encoding = match label {
        None => UTF_8,
        Some(label) => Encoding::for_label_no_replacement(label)
            .ok_or_else(|| ControlError::new(ControlErrorKind::CharsetUnknown, Place::Label))?,
    };
    if encoding == UTF_8 {
        let start = if raw.starts_with(UTF_8_BOM) { UTF_8_BOM.len() } else { 0 };
        return match std::str::from_utf8(raw.get(start..).unwrap_or_default()) {
            Ok(text) => Ok(Decoded::Utf8 { start, text }),
            Err(e) => Err(undecodable(encoding, start + e.valid_up_to())),
        };
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let length = decoder.max_utf8_buffer_length_without_replacement(raw.len());
    let mut text = String::with_capacity(length.unwrap_or_default());
    match decoder.decode_to_string_without_replacement(raw, &mut text, true) {
        (DecoderResult::InputEmpty, _) => {
            Ok(Decoded::Other(text.strip_prefix(BOM).unwrap_or(&text).into()))
        }
        (DecoderResult::Malformed(length, after), read) => {
            let start = read.saturating_sub(usize::from(length) + usize::from(after));
            Err(undecodable(encoding, start))
        }
        (DecoderResult::OutputFull, read) => Err(undecodable(encoding, read)),
    }
}

fn undecodable(encoding: &'static Encoding, at: usize) -> ControlError {
    let kind = ControlErrorKind::CharsetMismatch { charset: encoding.name() };
    ControlError::new(kind, Place::Byte(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(raw: &'static [u8], label: Option<&str>) -> Place {
        match decode(raw, label.map(str::as_bytes)) {
            Ok(_) => panic!("decoded"),
            Err(e) => e.place().clone(),
        }
    }

    fn text(raw: &'static [u8], label: &str) -> String {
        match decode(raw, Some(label.as_bytes())) {
            Ok(Decoded::Utf8 { text, .. }) => text.to_owned(),
            Ok(Decoded::Other(text)) => text.to_string(),
            Err(e) => panic!("{:?}", e.kind()),
        }
    }

    #[test]
    fn the_label_decides_and_one_mark_is_skipped_acp_ctl_3() {
        assert_eq!(text(b"\xef\xbb\xbf{}", "UTF8"), "{}");
        assert_eq!(text(b"\xff\xfe{\0}\0", "utf-16le"), "{}");
        assert_eq!(text(b"\xfe\xff\0{\0}", "utf-16be"), "{}");
        assert_eq!(text(b"\xfe\xff\xfe\xff", "utf-16be"), "\u{feff}");
        assert_eq!(text(b"\x84\x31\x95\x33{}", "gb18030"), "{}");
        assert_eq!(text(b"\x80", "latin1"), "€");
        assert_eq!(text(b"\xef\xbb\xbf", "latin1"), "ï»¿");
    }

    #[test]
    fn a_mark_never_overrides_the_label_acp_ctl_3() {
        assert_eq!(fault(b"\xff\xfe{\0}\0", None), Place::Byte(0));
        assert_eq!(fault(b"\xfe\xff\xd8\0\0{", Some("utf-16be")), Place::Byte(2));
    }

    #[test]
    fn what_does_not_decode_is_placed_acp_ctl_3() {
        assert_eq!(fault(b"{\"a\":\"\xe9\"}", None), Place::Byte(6));
        assert_eq!(fault(b"{\0}\0 ", Some("utf-16le")), Place::Byte(4));
        assert_eq!(fault(b"{}\x81", Some("shift_jis")), Place::Byte(2));
        for unknown in ["utf-7", "utf8mb4", "", "hz-gb-2312", "replacement"] {
            assert_eq!(fault(b"{}", Some(unknown)), Place::Label, "{unknown}");
        }
    }
}
