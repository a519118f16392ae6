//! Bottlenecks of a profile and their causes, with what regions mean.
//!
//! `ouzel_causes` has only numbers; the [`Semantics`] of the analyses know which regions communicate or wait. This
//! module combines them. Law: input and output to files is work; communication and waiting are not.

use crate::{Profile, Variations};
use ouzel_analyses::semantics::{Category, Family, Semantics};
use ouzel_causes::{Causes, CausesError, Options, causes};
use ouzel_diagnose::RunReport;
use ouzel_diagnose::findings::explain;
use ouzel_model::{Definitions, MetricMode, ProfileDefinitions, Region, RegionRole};
use std::num::NonZeroUsize;

impl Profile {
    /// For each region, whether time in it is communication or waiting.
    pub fn waiting_regions(&self, semantics: &Semantics) -> Vec<bool> {
        waiting_regions(self.definitions(), semantics)
    }

    /// Bottlenecks and what explains them. What `semantics` calls communication or waiting is left out when processes
    /// are compared, and counts towards the calling regions; without semantics these are regions like any other.
    ///
    /// # Errors
    /// If no metric represents time, or it is zero everywhere, or severities cannot be read.
    pub fn causes(
        &self,
        semantics: Option<&Semantics>,
        options: &Options<'_>,
    ) -> Result<Causes, CausesError> {
        let waiting = semantics.map(|semantics| self.waiting_regions(semantics));
        let waiting = waiting.as_deref().unwrap_or(options.waiting);
        causes(self.source(), &Options { waiting, ..*options })
    }
}

fn waiting_regions(definitions: &ProfileDefinitions, semantics: &Semantics) -> Vec<bool> {
    definitions.regions.iter().map(|region| waits(region, semantics)).collect()
}

/// Whether a report on such a trace should explain its findings: it counts more than time, messages and calls.
pub fn wants_causes(definitions: &Definitions) -> bool {
    definitions.metrics.iter().any(|metric| metric.mode == MetricMode::Accumulated)
}

/// Maximum number of vector components that a report compares to find composites: some tenths of a second.
pub(crate) const REPORT_EFFORT: u64 = 200_000_000;

impl Variations {
    /// Adds to the findings of `report` what explains their call paths, from everything counted in the trace. `ouzel
    /// causes` reports problems; a report goes on without explanations.
    pub fn explain(&self, report: &mut RunReport, semantics: &Semantics, jobs: NonZeroUsize) {
        let source = self.source();
        let waiting = waiting_regions(source.definitions(), semantics);
        let options = Options { waiting: &waiting, jobs, max_effort: REPORT_EFFORT, ..Options::default() };
        if let Ok(causes) = causes(source, &options) {
            explain(&mut report.findings, &causes);
        }
    }
}

fn waits(region: &Region, semantics: &Semantics) -> bool {
    let class = semantics.class(region);
    let is_communication = matches!(class.family, Family::Mpi | Family::Shmem | Family::Nccl);
    let is_input_output = matches!(region.role, RegionRole::FileIo | RegionRole::FileIoMetadata)
        || region.name.to_lowercase().contains("mpi_file_");
    class.category != Category::Computation || (is_communication && !is_input_output)
}
