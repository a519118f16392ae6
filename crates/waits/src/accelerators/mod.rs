//! What accelerators do: kernels, copies and queues, and why a stream has nothing to do.
//!
//! ```text
//! streams, and threads that drive them ──fold──► operations and calls ──finish──► AcceleratorsOutput
//!     ├─ kernels  by kernel, type, operator or scope; queues, launch delays, copies
//!     ├─ idle     the gaps of each stream, split by cause; the longest, with what the host did
//!     ├─ steps    both by step, and which step takes longer than the others
//!     └─ path     what a critical path can follow: launches, streams, events, synchronisations, collectives
//! ```
//!
//! Which call launched which operation, and for what the host and streams wait, is found as in the other analysis of
//! this crate, see `devices`. Questions that need only sums of each process reduce it once it is read, see `by_process`.
//!
//! Laws: each operation is counted once, in the time range in which it begins; the causes of a stream's idle time add up
//! to that time exactly. Memory is that of `devices`, with 16 bytes more for each copy, 32 for each collective, and 24
//! for each outermost call of MPI or of a start-up of a thread that drives a device, and at most 64 for each of its calls.
#![expect(clippy::excessive_nesting, reason = "processes have streams, these operations, these launches")]

mod alternatives;
#[cfg(test)]
mod at_once;
mod by_process;
mod communication;
mod copies;
mod difference;
mod gaps;
mod idle;
mod kept_devices;
mod kernel_imbalance;
mod kernel_sums;
mod kernels;
mod lengths;
mod longest_gaps;
mod loss;
mod loss_kind;
#[cfg(test)]
mod loss_tests;
mod losses;
mod members;
mod memory;
mod named_losses;
mod names;
mod over_time;
mod parts;
#[cfg(test)]
mod parts_tests;
mod path;
#[cfg(test)]
mod path_tests;
mod queues;
mod reachable;
mod remarks;
mod replay;
mod reported;
mod resource_tables;
mod sampled_hosts;
mod settled;
mod shapes;
mod step_rows;
mod steps;
mod summary;
mod sums;
mod tables;
#[cfg(test)]
mod tests;
mod trials;
mod what_if;

pub use communication::{CommunicationRow, Straggler};
pub use copies::{Copies, CopySizes};
pub use difference::{KernelChange, KernelDifference, KernelDifferenceRow};
pub use idle::{IdleCause, StreamIdle};
pub use kernels::{Durations, KernelRow, KernelType, KernelsBy, KernelsOutput, KernelsPer, ShortKernels};
pub use longest_gaps::{GapPieces, IdleGap};
pub use loss::DeviceLoss;
pub use loss_kind::DeviceLossKind;
pub use losses::DeviceLosses;
pub use memory::{MemoryRow, OperatorMemoryRow};
pub use names::{allocates_memory, stream_id};
pub use over_time::{CopyBin, DelayRange, KernelsOverTime, QueueLength, StreamBin};
pub use path::{PathWaits, PathWaitsFold, PathWaitsOutput};
pub use queues::{LaunchDelay, StreamQueue};
pub use reported::{DevicesOfRun, ReportedDevices, ReportedDevicesFold};
pub use resource_tables::gaps_table;
pub use settled::{Kernels, KernelsFold, NO_LAUNCHES, SettledKernels};
pub use shapes::LaunchShapeSummary;
pub use step_rows::{StepOutlier, StepReason, StepRow};
pub use steps::{FoundSteps, StepError, StepMarks, StepsAsked};
pub use summary::AcceleratorsSummary;
pub use tables::{KernelsTable, idle_table};
pub use what_if::{DeviceChange, DeviceProjection, DeviceWhatIfError};

use crate::devices::records::HostState;
use crate::devices::streams::{DeviceProcess, processes_of};
use crate::devices::{DetailsKept, DeviceApis, DeviceFold, DeviceRecords, is_stream};
use ouzel_analyses::breakdown::{Activity, activity};
use ouzel_analyses::semantics::{Category, Family, Semantics};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Scope, Selected};
use ouzel_model::{
    CallPathId, CallPathTree, Content, Contents, Definitions, EventChunk, Location, LocationId, LocationKind,
    Needs, Remap, Ticks, TimeRange,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use steps::{OperationSteps, StepCalls, StepFold};

/// What accelerators do, and the threads that drive them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Accelerators {
    apis: DeviceApis,
    kept: DetailsKept,
    /// What operations of each region are.
    activities: Vec<Activity>,
    steps: StepMarks,
    /// Steps that were found elsewhere; they count if none is marked.
    found: StepCalls,
}

impl Accelerators {
    /// The analysis by the built-in rules of what regions mean.
    pub fn new(definitions: &Definitions) -> Self {
        let classes = Semantics::default().classes(definitions);
        let state = |(region, class): (&ouzel_model::Region, &ouzel_analyses::semantics::Class)| {
            let communicates = matches!(class.family, Family::Mpi | Family::Shmem | Family::Nccl)
                && class.category != Category::Computation;
            match communicates {
                true => Some(HostState::Communicates),
                false => names::starts_up(&region.name).then_some(HostState::StartsUp),
            }
        };
        let states = definitions.regions.iter().zip(&classes).map(state).collect();
        Accelerators {
            apis: DeviceApis::new(definitions),
            kept: DetailsKept::all(definitions, states),
            activities: activity::stream_activities(definitions, &classes),
            steps: StepMarks::default(),
            found: StepCalls::default(),
        }
    }

    /// The same without the code before each call, which only [`DevicesOfRun::losses`] needs.
    #[must_use]
    pub fn without_code(self) -> Self {
        Accelerators { kept: self.kept.without_code(), ..self }
    }

    /// Streams, threads that drive them, and counters of memory.
    fn is_folded(&self, location: &Location) -> bool {
        let counts_memory = !self.kept.pools().is_empty() && location.kind == LocationKind::Metric;
        self.apis.has(location) || (counts_memory && !self.apis.is_empty())
    }

    /// The steps that are marked; if none is, those that were found elsewhere, of locations that are read.
    fn steps_of(&self, marked: StepCalls, is_read: impl Fn(LocationId) -> bool) -> StepCalls {
        if !marked.is_empty() {
            return marked;
        }
        let read = self.found.iter().filter(|(location, _)| is_read(**location));
        read.map(|(&location, of)| (location, of.clone())).collect()
    }

    /// Whether steps of any of these locations were found elsewhere.
    fn has_found(&self, locations: &BTreeSet<LocationId>) -> bool {
        self.found.keys().any(|location| locations.contains(location))
    }

    /// Whether any process drives an accelerator.
    pub fn has_devices(&self) -> bool {
        !self.apis.is_empty()
    }
}

/// The records of locations folded so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceleratorsPartial {
    records: BTreeMap<LocationId, DeviceRecords>,
    steps: StepCalls,
}

/// A location while it is folded; none if it neither is a stream nor drives one.
#[derive(Debug)]
pub struct AcceleratorsLocal {
    fold: Option<DeviceFold>,
    steps: Option<StepFold>,
}

impl Analysis for Accelerators {
    type Local = AcceleratorsLocal;
    type Partial = AcceleratorsPartial;
    type Output = AcceleratorsOutput;
    const NAME: &'static str = "accelerators";
    const PARTIAL_VERSION: u32 = 4;
    const SCOPE: Scope = Scope::Trace;

    fn needs(&self) -> Needs {
        match self.apis.is_empty() {
            true => Needs::CALL_PATHS,
            false if !self.kept.pools().is_empty() => {
                Needs::CALL_PATHS | Needs::LINKS | Needs::PARAMETERS | Needs::COLLECTIVES | Needs::METRICS
            }
            false => Needs::CALL_PATHS | Needs::LINKS | Needs::PARAMETERS | Needs::COLLECTIVES,
        }
    }

    fn speaks_of(&self) -> Contents {
        Contents::of(&[Content::Calls])
    }

    fn empty(&self) -> AcceleratorsPartial {
        AcceleratorsPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> AcceleratorsLocal {
        let location = cx.definitions.location(cx.location);
        AcceleratorsLocal {
            fold: self.is_folded(location).then(|| match is_stream(location) {
                true => DeviceFold::stream(),
                false => DeviceFold::thread(cx.has_sampled_calls, self.kept.has_code()),
            }),
            steps: steps::has_steps(&self.apis, cx).then(StepFold::default),
        }
    }

    fn fold(&self, local: &mut AcceleratorsLocal, chunk: &EventChunk<'_>) {
        if let Some(fold) = &mut local.fold {
            fold.fold(self.apis.of_regions(), &self.kept, chunk);
        }
        if let Some(steps) = &mut local.steps {
            steps.fold(&self.steps, chunk);
        }
    }

    fn end(
        &self,
        local: AcceleratorsLocal,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut AcceleratorsPartial,
    ) {
        let records = local.fold.map(|fold| fold.end(summary.sampling_period)).unwrap_or_default();
        if records != DeviceRecords::default() {
            into.records.insert(cx.location, records);
        }
        let last = summary.span.map(|span| span.1);
        let steps = local.steps.map(|steps| steps.end(last)).unwrap_or_default();
        if !steps.is_empty() {
            into.steps.insert(cx.location, steps);
        }
    }

    fn remap(&self, partial: &mut AcceleratorsPartial, remap: &Remap) {
        partial.records.values_mut().for_each(|records| records.remap(remap));
    }

    fn merge(&self, into: &mut AcceleratorsPartial, mut from: AcceleratorsPartial) {
        into.records.append(&mut from.records);
        into.steps.append(&mut from.steps);
    }

    fn finish(
        &self,
        partial: AcceleratorsPartial,
        cx: &FinishCx<'_>,
    ) -> Result<AcceleratorsOutput, AnalysisError> {
        let (call_paths, shown) = cx.call_paths.shown(cx.definitions.filtered_region);
        let mut records = partial.records;
        records.values_mut().for_each(|records| records.remap(&shown));
        let mut output = AcceleratorsOutput {
            call_paths,
            records,
            apis: self.apis.clone(),
            activities: self.activities.clone(),
            kept: self.kept.clone(),
            selected: cx.selected.keys().copied().collect(),
            window: cx.window,
            spans: cx.locations.iter().filter_map(|(&id, summary)| Some((id, summary.span?))).collect(),
            steps: OperationSteps::default(),
            only_step: None,
            only_locations: None,
            is_continued: false,
            part_end: None,
        };
        remarks::shared_devices(cx.definitions).into_iter().for_each(|notice| cx.notices.push(notice));
        let steps = self.steps_of(partial.steps, |location| cx.locations.contains_key(&location));
        if !steps.is_empty() {
            let processes = output.processes(cx.definitions);
            output.steps = OperationSteps::new(&steps, &processes, &self.apis, cx.definitions);
        }
        Ok(output)
    }
}

/// The operations of all streams, and the calls that drive them.
#[derive(Debug, Clone)]
pub struct AcceleratorsOutput {
    /// The call paths that operations and calls refer to.
    pub call_paths: CallPathTree,
    records: BTreeMap<LocationId, DeviceRecords>,
    apis: DeviceApis,
    activities: Vec<Activity>,
    kept: DetailsKept,
    selected: BTreeSet<LocationId>,
    window: Option<TimeRange>,
    /// First and last event of each location.
    spans: BTreeMap<LocationId, (Ticks, Ticks)>,
    steps: OperationSteps,
    /// The step whose operations count, if one is selected.
    only_step: Option<u64>,
    /// The locations of the processes, if these are not all.
    only_locations: Option<BTreeSet<LocationId>>,
    /// Whether this is a part of the run that is not the first.
    is_continued: bool,
    /// When the next part begins, if there is one.
    part_end: Option<Ticks>,
}

impl AcceleratorsOutput {
    /// What an operation of a call path is.
    fn activity(&self, path: CallPathId) -> Activity {
        let region = self.call_paths.region(path);
        let activity = region.and_then(|region| self.activities.get(region.index()));
        activity.copied().unwrap_or(Activity::Unclassified)
    }

    /// What is selected of a location.
    fn selected_of(&self, location: LocationId) -> Selected {
        Selected { location: self.selected.contains(&location), window: self.window }
    }

    /// The processes that drive devices.
    fn processes<'a>(&'a self, definitions: &Definitions) -> Vec<DeviceProcess<'a>> {
        let records = self.records.iter().map(|(&id, records)| (id, records)).collect();
        let apis = (&self.apis, self.is_continued);
        match &self.only_locations {
            Some(locations) => processes_of(locations.iter().copied(), &records, apis, definitions),
            None => processes_of(definitions.location_ids(), &records, apis, definitions),
        }
    }

    /// The details of a stream or thread.
    fn details(&self, location: LocationId) -> Option<&crate::devices::records::DeviceDetails> {
        self.records.get(&location).map(|records| &records.details)
    }
}
