#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ouzel_fuzz::round_trip::archive_round_trip(data));
