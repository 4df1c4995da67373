//! A message: what the naive reading of the rules says of it.

use super::{message::Input, support::verdict::assert_agreed};

pub fn oracle(data: &[u8]) {
    let Some(input) = Input::read(data) else { return };
    assert_agreed(input.content_type, &input.body, &input.setting);
}
