//! Synthetic archives, and the truth about them.
//!
//! A made-up stencil code on a grid of MPI ranks is simulated: a message is not
//! received before it was sent, a wait ends when its last request does, an
//! allreduce ends for all at once. What the simulation knows (visits, times,
//! messages, losses) is added up while it runs, beside the events and without
//! any decoder, and stored as `facts.json` next to the trace.
//!
//! Law: equal options give equal bytes. Memory does not grow with the number of
//! events: one chunk for each rank is kept.
//!
//! Planted, to be found again: every fourth rank computes longer; every so many
//! iterations all ranks send their result to rank 0, one after the other.
//!
//! ```
//! use ouzel_testkit::synth::{self, SynthOptions};
//! # let dir = std::env::temp_dir().join(format!("ouzel-synth-doc-{}", std::process::id()));
//! let options = SynthOptions { n_events: 5_000, n_ranks: 4, ..SynthOptions::default() };
//! let facts = synth::write_archive(&dir, &options)?;
//! assert!(facts.n_events >= 5_000 && dir.join("traces.otf2").is_file());
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod definitions;
mod facts;
mod grid;
mod program;
mod rank;
mod regions;

use std::fs;
use std::io;
use std::path::Path;

pub use ouzel_otf2::wire::Endian;
use ouzel_otf2::write::{ArchiveWriter, WriteError, WriteOptions};

pub use facts::{CollectiveFacts, CounterFacts, Facts, Losses, MessageFacts, RankFacts, RegionFacts};

/// How local clocks differ from the time of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skew {
    /// All clocks are right, and no offsets are written.
    None,
    /// Every clock is off by its own constant.
    Constant,
    /// Every clock is off by an amount that changes from interval to interval.
    Drifting,
}

/// What archive to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SynthOptions {
    /// The run ends with the iteration that brings it to so many events.
    pub n_events: u64,
    /// MPI ranks; at least one.
    pub n_ranks: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// Whether hardware counters are recorded with every enter and leave.
    pub counters: Counters,
    /// Ticks per second.
    pub ticks_per_second: u64,
    /// What is wrong with the clocks.
    pub skew: Skew,
    /// Iterations from one output phase to the next; zero for none at all.
    pub output_every: u64,
    /// Percent that every fourth rank computes longer.
    pub imbalance_percent: u64,
    /// Byte order of the files.
    pub endian: Endian,
    /// Bytes of an event chunk.
    pub event_chunk_bytes: u64,
}

/// Whether hardware counters are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counters {
    /// None.
    Off,
    /// `PAPI_TOT_CYC` and `PAPI_TOT_INS`, accumulated, strictly synchronous.
    On,
}

impl Default for SynthOptions {
    /// A million events of 16 ranks with drifting nanosecond clocks.
    fn default() -> Self {
        SynthOptions {
            n_events: 1_000_000,
            n_ranks: 16,
            seed: 1,
            counters: Counters::Off,
            ticks_per_second: 1_000_000_000,
            skew: Skew::Drifting,
            output_every: 25,
            imbalance_percent: 40,
            endian: Endian::Little,
            event_chunk_bytes: 1 << 20,
        }
    }
}

/// Why no archive could be made.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// The archive cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The facts cannot be written.
    #[error("facts.json: {0}")]
    Facts(#[from] io::Error),
    /// Options that make no program.
    #[error("{0}")]
    Options(&'static str),
}

/// Writes `dir/traces.otf2` with its files, and `dir/facts.json`.
///
/// # Errors
/// [`SynthError`]: there is an archive already, a file cannot be written, or an option makes no sense.
pub fn write_archive(dir: &Path, options: &SynthOptions) -> Result<Facts, SynthError> {
    if options.n_ranks == 0 {
        return Err(SynthError::Options("at least one rank is needed"));
    }
    if options.ticks_per_second < 10_000_000 {
        return Err(SynthError::Options(
            "the resolution must be 10 MHz or better, for regions of a microsecond",
        ));
    }
    let write_options = WriteOptions {
        endian: options.endian,
        event_chunk_bytes: options.event_chunk_bytes,
        machine: "synthetic cluster".to_owned(),
        creator: "ouzel synth".to_owned(),
        description: "stencil code with planted losses".to_owned(),
        properties: vec![("OTF2::MPI_COMMUNICATION_COMPLETE".to_owned(), "true".to_owned())],
        trace_id: options.seed,
        ..WriteOptions::default()
    };
    let mut archive = ArchiveWriter::create(dir, "traces", write_options)?;
    let ids = definitions::Ids::new(options);
    let facts = program::run(&archive, &ids, options)?;
    definitions::write(&mut archive, &ids, &facts)?;
    archive.finish()?;
    let file = io::BufWriter::new(fs::File::create(dir.join("facts.json"))?);
    serde_json::to_writer_pretty(file, &facts).map_err(io::Error::from)?;
    Ok(facts)
}

#[cfg(test)]
mod tests;
