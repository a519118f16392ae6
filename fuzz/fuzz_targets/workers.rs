#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ouzel_fuzz::workers::spoilt(data));
