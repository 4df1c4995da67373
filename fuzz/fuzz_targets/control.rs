#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| acp_envelope_fuzz::control(data));
