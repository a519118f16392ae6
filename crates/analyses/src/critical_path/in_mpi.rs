//! When locations are in MPI, SHMEM or NCCL.

use super::activity::{Activity, of_class};
use crate::semantics::Semantics;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{Definitions, EventChunk, EventKind, LocationId, Needs, Remap, Ticks, TimeRange};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The outermost calls of each location that are [in MPI](Activity::InMpi), by the built-in rules of what regions mean.
/// Law: their lengths are the exclusive times of all call paths with that activity.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallsOfMpi {
    /// By region: whether its calls are in MPI; `None` where they work.
    regions: Vec<Option<bool>>,
}

/// While a location is folded.
#[derive(Debug, Default)]
pub struct CallsOfMpiLocal {
    /// Number of open calls from the outermost one on that does not work.
    depth: u32,
    /// Whether that one is in MPI.
    is_in_mpi: bool,
    /// When it was entered.
    since: Ticks,
    done: Vec<TimeRange>,
}

/// The calls of each location, in the order of time.
pub type RangesInMpi = BTreeMap<LocationId, Vec<TimeRange>>;

impl CallsOfMpi {
    /// The analysis for a trace.
    pub fn new(definitions: &Definitions) -> Self {
        let activity = |class| match of_class(class) {
            Activity::Working => None,
            activity => Some(activity == Activity::InMpi),
        };
        CallsOfMpi { regions: Semantics::default().classes(definitions).into_iter().map(activity).collect() }
    }
}

impl Analysis for CallsOfMpi {
    type Local = CallsOfMpiLocal;
    type Partial = RangesInMpi;
    type Output = RangesInMpi;
    const NAME: &'static str = "calls-of-mpi";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::NOTHING
    }

    fn empty(&self) -> RangesInMpi {
        RangesInMpi::new()
    }

    fn begin(&self, _: &LocationCx<'_>) -> CallsOfMpiLocal {
        CallsOfMpiLocal::default()
    }

    fn fold(&self, local: &mut CallsOfMpiLocal, chunk: &EventChunk<'_>) {
        for (row, kind) in chunk.kind.iter().enumerate() {
            match kind {
                EventKind::Enter if 0 < local.depth => local.depth += 1,
                EventKind::Enter => {
                    if let Some(is_in_mpi) = self.regions[chunk.region[row].index()] {
                        (local.depth, local.is_in_mpi, local.since) = (1, is_in_mpi, chunk.time[row]);
                    }
                }
                EventKind::Leave if 0 < local.depth => {
                    local.depth -= 1;
                    if local.depth == 0 && local.is_in_mpi {
                        local.done.push(TimeRange { start: local.since, end: chunk.time[row] });
                    }
                }
                _ => {}
            }
        }
    }

    fn end(&self, local: CallsOfMpiLocal, cx: &LocationCx<'_>, _: &LocationSummary, into: &mut RangesInMpi) {
        if !local.done.is_empty() {
            into.insert(cx.location, local.done);
        }
    }

    fn remap(&self, _: &mut RangesInMpi, _: &Remap) {}

    fn merge(&self, into: &mut RangesInMpi, mut from: RangesInMpi) {
        into.append(&mut from);
    }

    fn finish(&self, partial: RangesInMpi, _: &FinishCx<'_>) -> Result<RangesInMpi, AnalysisError> {
        Ok(partial)
    }
}
