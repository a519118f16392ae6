//! Questions that reduce each process to sums once all of it is read.
//!
//! ```text
//! records of processes ──compact──► settle those that are complete ──► sums
//!                      ──finish───► settle the others ──► sums ──► answer
//! ```
//!
//! Processes that share devices are one here. Law: the answer is the same whenever a process is settled. Memory is that of
//! the processes that are being read, and of the sums. Calls that are not selected are shown as `[filtered]` where all are
//! known, so that nothing is settled before the end if single calls are selected.

use super::steps::{OperationSteps, StepCalls};
use super::{Accelerators, AcceleratorsLocal, AcceleratorsOutput, AcceleratorsPartial};
use ouzel_engine::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Scope, SelectionCx, SettleCx,
};
use ouzel_model::{
    CallPathTree, Contents, Definitions, EventChunk, LocationGroupId, LocationId, Needs, Remap, Ticks,
    TimeRange,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// What a question makes of each process.
pub trait Settle: Debug + Clone + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// What is kept of processes; the same in whichever order it is merged.
    type Sums: Debug + Default + Send + Serialize + DeserializeOwned + 'static;
    /// The answer.
    type Output: Send + 'static;
    /// See [`Analysis::NAME`].
    const NAME: &'static str;
    /// See [`Analysis::PARTIAL_VERSION`].
    const PARTIAL_VERSION: u32;
    /// Whether it asks which processes exchange messages.
    const HAS_MESSAGES: bool;

    /// Whether it asks for steps.
    fn has_steps(&self) -> bool;
    /// Adds a process to the sums.
    fn settle(&self, process: SettledProcess, definitions: &Definitions, sums: &mut Self::Sums);
    /// Numbers call paths anew.
    fn remap(sums: &mut Self::Sums, remap: &Remap);
    /// Adds the sums of other processes.
    fn merge(into: &mut Self::Sums, from: Self::Sums);
    /// The answer of all processes.
    ///
    /// # Errors
    /// If it cannot answer.
    fn finish(
        fold: &ByProcess<Self>,
        sums: Self::Sums,
        cx: &FinishCx<'_>,
    ) -> Result<Self::Output, AnalysisError>;
}

/// A process all of which is read, or several that share devices.
#[derive(Debug)]
pub struct SettledProcess {
    /// Its records, and those of no other process.
    pub(super) output: AcceleratorsOutput,
    /// Its steps, if they are asked for.
    pub(super) steps: StepCalls,
    /// Whether any of its threads sends or receives messages or takes part in a collective; no, if that is not asked.
    pub(super) has_messages: bool,
}

/// A question that settles processes, for one selection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ByProcess<S> {
    pub(super) of: Accelerators,
    pub(super) asked: S,
    pub(super) selected: BTreeSet<LocationId>,
    window: Option<TimeRange>,
    /// Locations of each process.
    n_locations: BTreeMap<LocationGroupId, u32>,
    /// Whether single calls are selected.
    selects_calls: bool,
}

/// A location while it is folded.
#[derive(Debug)]
pub struct LocalOfProcess {
    devices: AcceleratorsLocal,
    has_messages: bool,
}

/// Processes that are not complete, and the sums of the others.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PartialByProcess<Sums> {
    rest: AcceleratorsPartial,
    /// What is read of these processes.
    read: BTreeMap<LocationGroupId, BTreeMap<LocationId, ReadLocation>>,
    sums: Sums,
}

/// A location that is read.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ReadLocation {
    span: Option<(Ticks, Ticks)>,
    has_messages: bool,
}

impl<S: Settle> ByProcess<S> {
    /// What `of` sees, in the time range of the selection if it `is_cut`.
    pub(super) fn new(of: Accelerators, asked: S, is_cut: bool, cx: &SelectionCx<'_>) -> Self {
        let &SelectionCx { definitions, selection } = cx;
        let mut n_locations: BTreeMap<LocationGroupId, u32> = BTreeMap::new();
        for location in &definitions.locations {
            *n_locations.entry(of.apis.unit(location.group)).or_default() += 1;
        }
        ByProcess {
            of,
            asked,
            selected: selection.locations.iter().copied().collect(),
            window: selection.window.filter(|_| is_cut),
            n_locations,
            selects_calls: selection.regions.is_some() || selection.tests.is_some(),
        }
    }

    /// What is seen of some records.
    pub(super) fn output(&self, part: AcceleratorsPartial, call_paths: CallPathTree) -> AcceleratorsOutput {
        AcceleratorsOutput {
            call_paths,
            records: part.records,
            apis: self.of.apis.clone(),
            activities: self.of.activities.clone(),
            kept: self.of.kept.clone(),
            selected: self.selected.clone(),
            window: self.window,
            spans: BTreeMap::new(),
            steps: OperationSteps::default(),
            only_step: None,
            only_locations: None,
            is_continued: false,
            part_end: None,
        }
    }

    /// Adds a process of these locations to the sums, if anything is recorded of its devices.
    fn settle(
        &self,
        partial: &mut PartialByProcess<S::Sums>,
        read: &BTreeMap<LocationId, ReadLocation>,
        (call_paths, definitions): (&CallPathTree, &Definitions),
    ) {
        let mut part = AcceleratorsPartial::default();
        let mut locations = BTreeSet::new();
        for location in read.keys() {
            part.records.extend(partial.rest.records.remove_entry(location));
            part.steps.extend(partial.rest.steps.remove_entry(location));
            locations.insert(*location);
        }
        let has_steps = !part.steps.is_empty() || self.of.has_found(&locations);
        if part.records.is_empty() && !has_steps {
            return;
        }
        let (call_paths, shown) = call_paths.shown(definitions.filtered_region);
        if self.selects_calls {
            part.records.values_mut().for_each(|records| records.remap(&shown));
        }
        let steps = self.of.steps_of(std::mem::take(&mut part.steps), |id| read.contains_key(&id));
        let mut output = self.output(part, call_paths);
        output.only_locations = Some(locations);
        output.spans = read.iter().filter_map(|(&id, of)| Some((id, of.span?))).collect();
        if !steps.is_empty() {
            let processes = output.processes(definitions);
            output.steps = OperationSteps::new(&steps, &processes, &self.of.apis, definitions);
        }
        let has_messages = read.values().any(|of| of.has_messages);
        let process = SettledProcess { output, steps, has_messages };
        self.asked.settle(process, definitions, &mut partial.sums);
    }
}

impl<S: Settle> Analysis for ByProcess<S> {
    type Local = LocalOfProcess;
    type Partial = PartialByProcess<S::Sums>;
    type Output = S::Output;
    const NAME: &'static str = S::NAME;
    const PARTIAL_VERSION: u32 = S::PARTIAL_VERSION;
    const SCOPE: Scope = Scope::Trace;

    fn needs(&self) -> Needs {
        match S::HAS_MESSAGES {
            true => self.of.needs() | Needs::MESSAGES | Needs::COLLECTIVES,
            false => self.of.needs(),
        }
    }

    fn speaks_of(&self) -> Contents {
        self.of.speaks_of()
    }

    fn empty(&self) -> Self::Partial {
        PartialByProcess::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> LocalOfProcess {
        let mut devices = self.of.begin(cx);
        if !self.asked.has_steps() {
            devices.steps = None;
        }
        LocalOfProcess { devices, has_messages: false }
    }

    fn fold(&self, local: &mut LocalOfProcess, chunk: &EventChunk<'_>) {
        self.of.fold(&mut local.devices, chunk);
        if S::HAS_MESSAGES {
            let is_empty = chunk.sends.is_empty()
                && chunk.recvs.is_empty()
                && chunk.requests.is_empty()
                && chunk.collectives.is_empty();
            local.has_messages |= !is_empty;
        }
    }

    fn end(
        &self,
        local: LocalOfProcess,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut Self::Partial,
    ) {
        self.of.end(local.devices, cx, summary, &mut into.rest);
        let location = cx.definitions.location(cx.location);
        let read = ReadLocation {
            span: summary.span,
            has_messages: local.has_messages && !crate::devices::is_stream(location),
        };
        into.read.entry(self.of.apis.unit(location.group)).or_default().insert(cx.location, read);
    }

    fn compact(&self, partial: &mut Self::Partial, cx: &SettleCx<'_>) {
        if self.selects_calls {
            return;
        }
        let is_complete = |it: &(&LocationGroupId, &BTreeMap<_, _>)| {
            self.n_locations.get(it.0) == Some(&(it.1.len() as u32))
        };
        let complete: Vec<LocationGroupId> =
            partial.read.iter().filter(is_complete).map(|it| *it.0).collect();
        for unit in complete {
            let read = partial.read.remove(&unit).unwrap_or_default();
            self.settle(partial, &read, (cx.call_paths, cx.definitions));
        }
    }

    fn remap(&self, partial: &mut Self::Partial, remap: &Remap) {
        self.of.remap(&mut partial.rest, remap);
        S::remap(&mut partial.sums, remap);
    }

    fn merge(&self, into: &mut Self::Partial, mut from: Self::Partial) {
        self.of.merge(&mut into.rest, from.rest);
        for (unit, read) in &mut from.read {
            into.read.entry(*unit).or_default().append(read);
        }
        S::merge(&mut into.sums, from.sums);
    }

    fn finish(&self, mut partial: Self::Partial, cx: &FinishCx<'_>) -> Result<S::Output, AnalysisError> {
        for read in std::mem::take(&mut partial.read).into_values() {
            self.settle(&mut partial, &read, (cx.call_paths, cx.definitions));
        }
        S::finish(self, partial.sums, cx)
    }
}
