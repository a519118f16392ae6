//! Real programs under both families of MPI libraries, recorded.

mod counted;
mod deaths;
mod files;
mod programs;
mod sampled;
mod samples;
mod shop;
mod window;
