//! What the threads' time is spent on: computation, or which library.

use ouzel_analyses::semantics::{Class, Family};
use ouzel_efficiency::{TimeKind, kinds_in_profile};
use ouzel_model::{ProfileDefinitions, Region, RegionRole};
use serde::Serialize;

/// What time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ShareKind {
    /// The program's own work.
    Computation,
    /// MPI, but for its input and output.
    Mpi,
    /// OpenSHMEM.
    Shmem,
    /// Collectives of accelerators.
    Nccl,
    /// Waiting in OpenMP: barriers, locks, critical sections.
    Openmp,
    /// Waiting for locks and other threads.
    Threads,
    /// Calls that drive an accelerator.
    AcceleratorCalls,
    /// Waiting for an accelerator.
    AcceleratorWaits,
    /// Input and output, by MPI or by the operating system.
    InputOutput,
    /// The measurement system.
    Measurement,
    /// Any other waiting.
    OtherWaiting,
    /// Threads that have nothing to do, as the tool reports them.
    IdleThreads,
}

impl ShareKind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [ShareKind; 12] = [
        ShareKind::Computation,
        ShareKind::Mpi,
        ShareKind::Shmem,
        ShareKind::Nccl,
        ShareKind::Openmp,
        ShareKind::Threads,
        ShareKind::AcceleratorCalls,
        ShareKind::AcceleratorWaits,
        ShareKind::InputOutput,
        ShareKind::Measurement,
        ShareKind::OtherWaiting,
        ShareKind::IdleThreads,
    ];

    /// The kind in snake case, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.names().0
    }

    /// The kind for people.
    pub fn in_words(self) -> &'static str {
        self.names().1
    }

    fn names(self) -> (&'static str, &'static str) {
        match self {
            ShareKind::Computation => ("computation", "computation"),
            ShareKind::Mpi => ("mpi", "MPI"),
            ShareKind::Shmem => ("shmem", "OpenSHMEM"),
            ShareKind::Nccl => ("nccl", "NCCL/RCCL"),
            ShareKind::Openmp => ("openmp", "waiting in OpenMP"),
            ShareKind::Threads => ("threads", "waiting for threads and locks"),
            ShareKind::AcceleratorCalls => ("accelerator_calls", "calls of the accelerator's runtime"),
            ShareKind::AcceleratorWaits => ("accelerator_waits", "waiting for an accelerator"),
            ShareKind::InputOutput => ("input_output", "input and output"),
            ShareKind::Measurement => ("measurement", "the measurement system"),
            ShareKind::OtherWaiting => ("other_waiting", "other waiting"),
            ShareKind::IdleThreads => ("idle_threads", "idle threads"),
        }
    }
}

/// For each call path what its own time is spent on, and whether that is computation as efficiencies count it.
pub(super) fn kinds(definitions: &ProfileDefinitions, classes: &[Class]) -> Vec<(ShareKind, bool)> {
    let kinds = kinds_in_profile(&definitions.call_tree, &definitions.regions, classes);
    let of = |(kind, told_by): (TimeKind, ouzel_model::RegionId)| {
        let at = told_by.index();
        (share_kind(kind, &definitions.regions[at], classes[at].family), kind.is_useful())
    };
    kinds.into_iter().map(of).collect()
}

fn share_kind(kind: TimeKind, region: &Region, family: Family) -> ShareKind {
    let is_file = matches!(region.role, RegionRole::FileIo | RegionRole::FileIoMetadata)
        || region.name.to_lowercase().contains("mpi_file_")
        || family == Family::PosixIo;
    match (kind, family) {
        (TimeKind::Computation | TimeKind::Communication, _) if is_file => ShareKind::InputOutput,
        (TimeKind::Computation, _) => ShareKind::Computation,
        (TimeKind::Launch, _) => ShareKind::AcceleratorCalls,
        (TimeKind::DeviceWait, _) => ShareKind::AcceleratorWaits,
        (TimeKind::Communication, Family::Shmem) => ShareKind::Shmem,
        (TimeKind::Communication, Family::Nccl) => ShareKind::Nccl,
        (TimeKind::Communication, _) => ShareKind::Mpi,
        (TimeKind::Other, Family::OpenMp) => ShareKind::Openmp,
        (TimeKind::Other, Family::Pthread) => ShareKind::Threads,
        (TimeKind::Other, _) if region.paradigm == ouzel_model::Paradigm::MeasurementSystem => {
            ShareKind::Measurement
        }
        (TimeKind::Other, _) => ShareKind::OtherWaiting,
    }
}
