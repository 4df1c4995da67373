//! A message under different cuts: one outcome (ACP-FRM-7).

use super::{
    message::Input,
    support::drive::{decode_chunks, decode_whole, random_cuts},
};

pub fn chunking(data: &[u8]) {
    let Some(input) = Input::read(data) else { return };
    let (content_type, config) = (input.content_type, input.config());
    let whole = decode_whole(content_type, &input.body, config);
    assert_eq!(decode_chunks(content_type, input.chunks(), config), whole);
    let at_random = random_cuts(&input.body, input.size as u64);
    assert_eq!(decode_chunks(content_type, at_random, config), whole);
}
