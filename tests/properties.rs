//! Properties on generated messages, valid and damaged: no cut changes the outcome (ACP-FRM-7), and
//! the decoder agrees with a naive reading of the rules on code, place, parts and warnings.

mod support;

use bytes::Bytes;
use proptest::{option, prelude::*, sample::select};
use support::{
    bytewise,
    cases::{captures, corpus},
    decode_chunks, decode_whole,
    messages::{Generated, cases, damaged, message},
    random_cuts,
    verdict::{Setting, assert_agreed},
};

fn setting() -> impl Strategy<Value = Setting> {
    let limits = (
        option::weighted(0.1, 0..400u16),
        option::weighted(0.1, 0..20u8),
        option::weighted(0.1, 0..3u8),
        option::weighted(0.1, 0..40u8),
        option::weighted(0.1, 0..120u8),
        option::weighted(0.1, 0..4u8),
        option::weighted(0.1, 0..4u8),
    );
    let refused = prop_oneof![3 => Just(0u8), 1 => any::<u8>()];
    (limits, refused, any::<bool>(), any::<bool>()).prop_map(
        |(l, refused, duplicates, json_content)| Setting {
            message_size: l.0,
            part_size: l.1,
            parts: l.2,
            control_size: l.3,
            header_size: l.4,
            headers: l.5,
            json_depth: l.6,
            refused,
            duplicates,
            json_content,
        },
    )
}

/// The messages of the corpus and of real clients, but for the long ones, which are all alike.
fn real_message() -> impl Strategy<Value = Generated> {
    let cases = corpus().into_iter().chain(captures());
    let messages = cases
        .filter(|case| case.body.len() < 4096)
        .map(|case| Generated { content_type: case.content_type, body: case.body.to_vec() });
    let messages: Vec<_> = messages.collect();
    assert!(messages.len() > 500, "{}", messages.len());
    select(messages)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_cut_changes_the_outcome_acp_frm_7(message in message(), setting in setting(), seed: u64) {
        let body = Bytes::from(message.body.clone());
        let whole = decode_whole(&message.content_type, &body, setting.config());
        let by_byte = decode_chunks(&message.content_type, bytewise(&body), setting.config());
        prop_assert_eq!(&by_byte, &whole);
        let at_random = decode_chunks(&message.content_type, random_cuts(&body, seed), setting.config());
        prop_assert_eq!(&at_random, &whole);
    }

    #[test]
    fn the_decoder_agrees_with_a_naive_reading_of_the_rules(message in message(), setting in setting()) {
        assert_agreed(&message.content_type, &message.body.into(), &setting);
    }

    #[test]
    fn they_agree_on_real_messages_that_were_damaged(message in damaged(real_message()), setting in setting()) {
        assert_agreed(&message.content_type, &message.body.into(), &setting);
    }
}
