//! Real programs under both families of MPI libraries, recorded.

#[cfg(target_arch = "x86_64")]
mod blocking;
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
