#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ouzel_fuzz::round_trip::record_round_trip(data));
