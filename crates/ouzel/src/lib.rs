//! Finds where parallel programs lose time.
//!
//! Open a trace, put analyses into a set, run one pass:
//!
//! ```no_run
//! use ouzel::analyses::call_path_profile::CallPathProfile;
//! use ouzel::engine::AnalysisSet;
//!
//! let trace = ouzel::open("scorep-run/traces.otf2".as_ref())?;
//! let mut set = AnalysisSet::default();
//! let profile = set.add(CallPathProfile);
//! let mut report = trace.run(&set, &ouzel::Options::default())?;
//! let profile = report.outputs.take(&profile)?;
//! println!("{} locations", profile.locations.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate is the one public interface for programs that use Ouzel; it re-exports the crates behind it under short
//! names.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod accelerators;
mod all_calls;
mod ask;
mod asked;
mod by_path;
mod call_paths;
mod calls;
pub mod catalogue;
mod connected_timeline;
mod correlation;
mod efficiencies;
pub mod events;
pub mod info;
pub mod licenses;
mod missing;
pub mod multi_run;
mod path_keys;
mod phases;
mod profile;
mod profile_report;
mod profile_table;
mod repaired;
mod root_causes;
pub mod rules;
mod severity_cube;
mod trees;
mod variations;
mod what_if;
pub mod workers;

pub use ouzel_analyses as analyses;
pub use ouzel_causes as causes;
pub use ouzel_context_tree as context_tree;
pub use ouzel_correlate as correlate;
pub use ouzel_diagnose as diagnose;
pub use ouzel_efficiency as efficiency;
pub use ouzel_engine as engine;
pub use ouzel_formats as formats;
pub use ouzel_model as model;
pub use ouzel_replay as replay;
pub use ouzel_waits as waits;

pub use accelerators::IdleByCause;
pub use ask::{Answer, AskError, DelaysAndImpact, Diagnosed};
pub use asked::Asked;
pub use call_paths::CallPathError;
pub use connected_timeline::{ConnectedTimeline, TimelineConnections};
pub use correlation::{
    Correlated, CorrelationError, CorrelationQuery, CorrelationRun, Placed, Spectra, TopologyOrigin,
};
pub use efficiencies::EfficiencyQuery;
pub use ouzel_formats::{Format, OpenError, READERS, inputs};
pub use profile::{Profile, open_profile};
pub use profile_table::ProfileQuery;
pub use root_causes::wants_causes;
pub use severity_cube::CubeStorage;
pub use variations::{Variation, Variations, wants_variations};
pub use what_if::{WhatIf, signed_ns};

use ouzel_analyses::clock_repair::ClockRepair;
use ouzel_engine::{AnalysisSet, PassError, Progress, Report};
use ouzel_model::{Definitions, Filter, Notice, Ticks, TraceSource};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// An opened trace.
pub struct Trace {
    path: PathBuf,
    format: Format,
    source: Box<dyn TraceSource>,
    fingerprint: OnceLock<workers::Fingerprint>,
    /// The same without the bytes of events.
    of_definitions: OnceLock<workers::Fingerprint>,
    /// The fingerprint before its clocks were repaired, if they were.
    recorded: Option<workers::Fingerprint>,
    /// How they were repaired, one after the other.
    repairs: Vec<Arc<ClockRepair>>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace")
            .field("path", &self.path)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

/// How to run a pass.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// The user's selection; the default is everything.
    pub filter: Filter,
    /// Number of threads; the default is one for each core.
    pub jobs: NonZeroUsize,
    /// Where to report progress.
    pub progress: Option<&'a Progress>,
    /// Ticks between samples, where neither the trace nor its samples say it right.
    pub period: Option<Ticks>,
    /// What makes the passes; `None`: threads of this process.
    pub workers: Option<&'a dyn workers::Workers>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Options { filter: Filter::default(), jobs, progress: None, period: None, workers: None }
    }
}

/// Opens a trace: a directory, an anchor file, or the stem of one.
///
/// # Errors
/// If there is nothing, nothing that is recognised, or nothing that can be read.
pub fn open(path: &Path) -> Result<Trace, OpenError> {
    Found::at(path).trace()
}

/// What a path holds, recognised once, for callers that open a trace and a profile there.
#[derive(Debug)]
pub struct Found {
    inner: ouzel_formats::Found,
}

impl Found {
    /// Looks at `path`; opens nothing yet.
    pub fn at(path: &Path) -> Self {
        Found { inner: ouzel_formats::Found::at(path) }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        self.inner.path()
    }

    /// Whether it looks like a trace or a profile. It may still be damaged.
    pub fn is_recognised(&self) -> bool {
        self.inner.is_recognised()
    }

    /// Opens the trace.
    ///
    /// # Errors
    /// If there is none, or none that can be read.
    pub fn trace(&mut self) -> Result<Trace, OpenError> {
        let (format, source) = self.inner.trace()?;
        let path = self.path().to_owned();
        let (fingerprint, of_definitions) = (OnceLock::new(), OnceLock::new());
        Ok(Trace { path, format, source, fingerprint, of_definitions, recorded: None, repairs: Vec::new() })
    }

    /// Opens the profile.
    ///
    /// # Errors
    /// If there is none, or none that can be read.
    pub fn profile(&mut self) -> Result<Profile, OpenError> {
        let found = self.inner.profile()?;
        Ok(Profile::stored(self.path(), found))
    }
}

impl Trace {
    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// What is known once.
    pub fn definitions(&self) -> &Definitions {
        self.source.definitions()
    }

    /// Problems found while opening.
    pub fn notices(&self) -> &[Notice] {
        self.source.notices()
    }

    /// The source, for folding location by location.
    pub fn source(&self) -> &dyn TraceSource {
        &*self.source
    }

    /// Bytes of the event files that `filter` selects: the total for a progress bar.
    pub fn event_bytes(&self, filter: &Filter) -> u64 {
        filter.resolve(self.definitions()).locations.into_iter().map(|l| self.source.location_bytes(l)).sum()
    }

    /// One pass for all analyses of the set. A notice reports where it found none of the data that an analysis needs.
    ///
    /// # Errors
    /// If it was cancelled, an analysis broke its contract, or workers could not do their part.
    pub fn run(&self, set: &AnalysisSet, options: &Options<'_>) -> Result<Report, PassError> {
        let Options { filter, jobs, progress, workers, .. } = options;
        let set = set.prepare(self.definitions(), filter);
        let mut report = match workers {
            Some(workers) => self.run_on(*workers, &set, *progress)?,
            None => set.run(&*self.source, *jobs, *progress)?,
        };
        missing::explain(&*self.source, &set, &mut report);
        Ok(report)
    }
}

/// The example of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
