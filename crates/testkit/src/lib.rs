//! Traces for tests: a small language for events, the law harness, the synthetic generator, the simulator.
//!
//! [`ToyProfile`] is a profile in memory, [`ToyTrace`] a trace in memory, from text or a seed ([`RandomTrace`]).
//! [`laws::check`] checks an analysis against the laws of [`Analysis`](ouzel_engine::Analysis) on dozens of random
//! traces. [`simulator`] executes parallel programs and knows the truth about them. [`run`] gives the answer of one
//! analysis; [`shared_data`] finds real traces, [`golden`] golden values; [`skips`] counts the tests that found none.

mod application;
mod data;
pub mod hpctoolkit;
pub mod laws;
mod lost;
pub mod nsight;
pub mod pytorch;
mod rng;
mod run;
mod sampler;
mod serialised_output;
pub mod simulator;
pub mod skips;
pub mod synth;
mod toy;
mod toy_profile;

pub use application::{OutputApplication, SimulatedApplication};
pub use data::{
    archives, compiles_mpi, compiles_openmp, golden, has_openmp, has_programs, shared_data, shared_path,
    workspace_root,
};
pub use lost::without_definitions;
pub use rng::Rng;
pub use run::{run, run_report};
pub use sampler::{SampledLca, Sampler};
pub use serialised_output::SerialisedOutput;
pub use toy::{
    Faults, RandomTrace, ToyEvent, ToyPayload, ToyTrace, random_program, region_from_name, sampled_trace,
};
pub use toy_profile::ToyProfile;
