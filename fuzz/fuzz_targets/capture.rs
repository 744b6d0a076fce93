//! One of the targets of `milena-fuzz`, for libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| milena_fuzz::capture(data));
