//! What calls of a region may wait for.
//!
//! Law: a kind depends on the region alone. Regions that compute by [`Semantics`] never wait.

use ouzel_analyses::semantics::{Category, Class, Family, Semantics, mpi_function};
use ouzel_model::{CallPathTree, Definitions};
use serde::{Deserialize, Serialize};

/// How calls of a region wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CallKind {
    /// Never.
    Computes,
    /// For what its records name.
    Waits,
    /// As [`CallKind::Waits`]; its send completes after its receive is posted.
    SendsSynchronously,
    /// As [`CallKind::Waits`]; its collective is one of neighbours.
    MeetsNeighbours,
    /// For a message that a later call receives.
    Probes,
    /// Never: it asks whether a request is complete.
    Tests,
    /// For all processes, without a record.
    StartsMpi,
    /// For all processes, without a record.
    EndsMpi,
}

impl CallKind {
    fn of(name: &str, class: Class) -> CallKind {
        let function = mpi_function(name);
        match function.as_deref() {
            // Kernels of accelerators wait for what the model does not hold.
            _ if class.category == Category::Computation || class.family == Family::Nccl => {
                CallKind::Computes
            }
            Some("ssend" | "issend") => CallKind::SendsSynchronously,
            Some(name) if name.starts_with("neighbor_") || name.starts_with("ineighbor_") => {
                CallKind::MeetsNeighbours
            }
            Some("probe" | "mprobe") => CallKind::Probes,
            Some("test" | "testall" | "testany" | "testsome" | "iprobe" | "improbe") => CallKind::Tests,
            Some("init" | "init_thread") => CallKind::StartsMpi,
            Some("finalize") => CallKind::EndsMpi,
            _ => CallKind::Waits,
        }
    }

    /// The kind of each region.
    pub fn of_regions(definitions: &Definitions, semantics: &Semantics) -> Vec<CallKind> {
        let regions = definitions.regions.iter();
        regions.map(|region| CallKind::of(&region.name, semantics.class(region))).collect()
    }

    /// The kind of the last region of each call path.
    pub fn of_paths(of_regions: &[CallKind], call_paths: &CallPathTree) -> Vec<CallKind> {
        let kind = |path| call_paths.region(path).map_or(CallKind::Computes, |it| of_regions[it.index()]);
        std::iter::once(CallKind::Computes).chain(call_paths.paths().map(kind)).collect()
    }

    /// Whether a record inside such a call takes as long as the call.
    pub fn is_operation(self) -> bool {
        self != CallKind::Computes
    }

    /// Whether such a call waits for what is recorded inside it.
    pub fn waits(self) -> bool {
        matches!(self, CallKind::Waits | CallKind::SendsSynchronously | CallKind::MeetsNeighbours)
    }
}
