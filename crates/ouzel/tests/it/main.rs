//! Damaged archives, from the files to the profile: every way that a file can be broken or lost.
//!
//! Law: whatever is done to a file, nothing panics or hangs; what is lost is a notice of level high
//! that names the file; the rows of locations that were not touched stay equal bit for bit.

mod answer;
mod archive;
mod files;
mod flips;
mod lengths;
mod shared;
mod truncation;
