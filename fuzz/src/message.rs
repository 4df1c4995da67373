//! A message as an input spells it, so that a person can write one: a digit for the setting, a
//! character for the cut, the Content-Type up to a line feed, then the body.

use acp_envelope::Config;
use bytes::Bytes;

use super::support::verdict::Setting;

/// What an input says.
pub(crate) struct Input<'a> {
    pub(crate) setting: Setting,
    /// Bytes in a chunk.
    pub(crate) size: usize,
    pub(crate) content_type: &'a [u8],
    pub(crate) body: Bytes,
}

impl<'a> Input<'a> {
    pub(crate) fn read(data: &'a [u8]) -> Option<Self> {
        let [setting, size, rest @ ..] = data else { return None };
        let line = rest.iter().position(|&b| b == b'\n')?;
        let (content_type, body) = rest.split_at(line);
        Some(Self {
            setting: setting_of(setting.wrapping_sub(b'0')),
            size: usize::from(size.wrapping_sub(b'0')).max(1),
            content_type,
            body: Bytes::copy_from_slice(&body[1..]),
        })
    }

    pub(crate) fn config(&self) -> Config {
        self.setting.config()
    }

    /// The body in chunks of the size that the input says.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = Bytes> {
        chunks(&self.body, self.size)
    }
}

/// `1` allows duplicate members, `2` JSON content, `4` refuses every warning, `8` sets limits that
/// short messages reach; `:` is 10, and so on.
fn setting_of(bits: u8) -> Setting {
    let has = |bit: u8| bits & bit != 0;
    let mut setting = Setting {
        duplicates: has(1),
        json_content: has(2),
        refused: if has(4) { u8::MAX } else { 0 },
        ..Setting::default()
    };
    if has(8) {
        setting.message_size = Some(600);
        setting.part_size = Some(20);
        setting.parts = Some(2);
        setting.control_size = Some(60);
        setting.header_size = Some(120);
        setting.headers = Some(3);
        setting.json_depth = Some(4);
    }
    setting
}

/// `body` in pieces of one size.
pub(crate) fn chunks(body: &[u8], size: usize) -> impl Iterator<Item = Bytes> {
    body.chunks(size.max(1)).map(Bytes::copy_from_slice)
}
