//! Real programs under both families of MPI libraries, recorded.

mod counted;
mod deaths;
mod files;
#[cfg(target_arch = "x86_64")]
mod openmp;
mod programs;
mod sampled;
mod samples;
mod shop;
mod window;
