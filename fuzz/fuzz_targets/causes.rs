#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ouzel_fuzz::profiles::why(data));
