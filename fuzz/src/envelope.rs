//! The decoder: a whole message and a message in pieces are the same, an error is one line, a
//! document that is left after it is JSON, and what is accepted can be sent on (ACP-ENC-4).

use acp_envelope::{
    Config, DecodeError, Envelope, EnvelopeBuilder, EnvelopeDecoder, Limits, decode_with,
};

use super::{
    adapter::message_of_envelope,
    message::Input,
    support::{Finding, drive::decode_whole},
};

pub fn envelope(data: &[u8]) {
    let Some(input) = Input::read(data) else { return };
    let pieces = decode_whole(input.content_type, &input.body, input.config());
    match decode_with(input.content_type, input.body.clone(), input.config()) {
        Ok(received) => {
            assert_eq!(pieces, Ok(message_of_envelope(&received)));
            // The new boundary may be longer than small limits allow.
            send_on(&received, input.config().limits(Limits::new()));
        }
        Err(error) => {
            assert_eq!(pieces, Err(Finding::from(&error)));
            assert!(!error.to_string().contains(char::is_control), "{error}");
            salvage(&input, &error);
        }
    }
}

fn salvage(input: &Input<'_>, error: &DecodeError) {
    let Ok(mut decoder) = EnvelopeDecoder::new(input.content_type, input.config()) else { return };
    let mut body = input.body.clone();
    decoder.finish();
    while decoder.next_item(&mut body).is_ok() {}
    let Some(salvaged) = decoder.salvage() else { return };
    assert_eq!(salvaged.error(), error);
    salvaged.value().expect("it is valid JSON");
}

/// The same message within a new boundary. A head just within its limits may grow too large, with a
/// quoted name and the Content-Type that a part has by default. A file name that holds `%22` itself
/// cannot be written so that it comes back; so file names are left out.
fn send_on(received: &Envelope, config: Config) {
    let encoder = match EnvelopeBuilder::with_config(config).build_from(received) {
        Err(error) if ["limit_headers", "limit_header_size"].contains(&error.code()) => return,
        encoder => encoder.expect("what was accepted can be sent on"),
    };
    let content_type = encoder.content_type().to_owned();
    let body = encoder.into_bytes().expect("all content is in memory");
    let again = decode_with(content_type, body, config).expect("what is sent on is accepted");
    assert_eq!(again.control(), received.control());
    let parts = |envelope: &Envelope| -> Vec<_> {
        let parts = envelope.parts().iter();
        parts
            .map(|part| {
                let head = part.head();
                let extra = head.extra_fields().map(|f| (f.name.to_owned(), f.value.to_vec()));
                let said = (head.name().clone(), head.media_type().to_string());
                (said, extra.collect::<Vec<_>>(), part.body().clone())
            })
            .collect()
    };
    assert_eq!(parts(&again), parts(received));
}
