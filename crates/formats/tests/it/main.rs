//! Readers held to real files: what is recognised, what is read, what damage does.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

mod csv;
mod damage;
mod detect;
mod hpctoolkit;
mod hpctoolkit_damage;
mod projections;
mod read;
mod siblings;
mod table;
