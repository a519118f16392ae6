//! What the fuzz targets do with their bytes: one function for each entry of a decoder, and for each kind of thing that
//! users write, or that is kept and sent.
//!
//! Law of each: no panic, no hang, and no more memory at once than a constant factor of the
//! input (see [`allocation`]); what a reader counts is no more than the input can hold.
//! The files of `fuzz_targets/` only name a function for the fuzzer.

pub mod allocation;
pub mod archive;
pub mod chrome;
pub mod cube;
pub mod definitions;
pub mod events;
pub mod front_end;
pub mod hpctoolkit;
pub mod nsight;
pub mod profiles;
pub mod round_trip;
pub mod text;
pub mod words;
pub mod workers;

use std::num::NonZeroU64;

/// Splits off the chunk size that the anchor would contain; a first byte of zero means that there is none.
pub fn chunk_bytes_first(data: &[u8]) -> (Option<NonZeroU64>, &[u8]) {
    match data.split_first() {
        Some((&byte, rest)) => (NonZeroU64::new(u64::from(byte) * 64), rest),
        None => (None, data),
    }
}
