//! What a report says of accelerators, over any number of processes: each is reduced to sums once all of it is read, and
//! what the replay needs of it is put aside if it is much.
//!
//! ```text
//! records of processes ──compact──► sums of those that are complete; calls and operations, kept or put aside
//!                      ──finish───► DevicesOfRun ──losses──► replays, of the run at once or in parts
//! ```
//!
//! Law: the answers are those of [`AcceleratorsOutput::summary`] and, if the run is replayed at once, of
//! [`AcceleratorsOutput::losses`]. Memory is that of the processes that are being read, of `most` records with their
//! replay, of the sums, and of collectives (56 bytes each). If single calls are selected, nothing is reduced before
//! the end: they are shown as `[filtered]` where they are known.

use super::idle::IdleCause;
use super::kept_devices::KeptDevices;
use super::kernel_imbalance::KernelTimes;
use super::losses::{DeviceLosses, chosen};
use super::members::CollectiveMembers;
use super::parts::PartLosses;
use super::remarks::{remarks, unknown_copies};
use super::sampled_hosts::CodeOfHosts;
use super::steps::OperationSteps;
use super::summary::AcceleratorsSummary;
use super::{Accelerators, AcceleratorsLocal, AcceleratorsOutput, AcceleratorsPartial};
use crate::class::WaitClass;
use crate::devices::DeviceWaits;
use crate::devices::idle::add_idle_times;
use crate::devices::streams::Linking;
use ouzel_engine::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Question, Scope, Selected, SelectionCx,
    SettleCx,
};
#[cfg(test)]
use ouzel_model::TimeRange;
use ouzel_model::{
    CallPathId, CallPathTree, Contents, Definitions, EventChunk, Level, LocationGroupId, LocationId, Needs,
    Notice, NoticeCode, Remap, Ticks,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Bytes of a record with its replay and the changes of the losses, of those that are replayed together: measured on 272,000
/// launches.
const REPLAY_BYTES: u64 = 384;

/// Threads that read each keep so small a part in memory.
const PART_IN_MEMORY: usize = 4;

/// What a report asks of the accelerators of a whole run.
#[derive(Debug)]
pub struct ReportedDevices {
    of: Accelerators,
    most: usize,
}

impl ReportedDevices {
    /// The question, with at most so much memory for the calls and operations that are replayed together.
    pub fn new(definitions: &Definitions, max_bytes: u64) -> Self {
        let most = usize::try_from(max_bytes / REPLAY_BYTES).unwrap_or(usize::MAX);
        ReportedDevices { of: Accelerators::new(definitions), most }
    }
}

impl Question for ReportedDevices {
    type Analysis = ReportedDevicesFold;
    type Output = DevicesOfRun;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<ReportedDevicesFold> {
        let &SelectionCx { definitions, selection } = cx;
        let mut n_locations: BTreeMap<LocationGroupId, u32> = BTreeMap::new();
        for location in &definitions.locations {
            *n_locations.entry(self.of.apis.unit(location.group)).or_default() += 1;
        }
        Arc::new(ReportedDevicesFold {
            of: self.of.clone(),
            most: self.most,
            selected: selection.locations.iter().copied().collect(),
            n_locations,
            selects_calls: selection.regions.is_some() || selection.tests.is_some(),
        })
    }
}

/// [`ReportedDevices`] for one selection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReportedDevicesFold {
    of: Accelerators,
    /// Records that are replayed together.
    most: usize,
    selected: BTreeSet<LocationId>,
    /// Locations of each process, and of those that share devices together.
    n_locations: BTreeMap<LocationGroupId, u32>,
    /// Whether single calls are selected.
    selects_calls: bool,
}

/// Processes that are not complete, and what is kept of the others.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportedDevicesPartial {
    rest: AcceleratorsPartial,
    /// The locations of these processes that are read.
    read: BTreeMap<LocationGroupId, BTreeSet<LocationId>>,
    sums: ReportedSums,
    kept: KeptDevices,
}

/// The sums of some processes.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct ReportedSums {
    summary: Option<AcceleratorsSummary>,
    n_unknown_copies: u64,
    knows_launches: bool,
    /// Whether launches of any process are not known by ids.
    lacks_ids: bool,
    kernels: KernelTimes,
    code: CodeOfHosts,
    members: CollectiveMembers,
    /// Idle time of devices, by the code that it is charged to and its thread.
    idle: BTreeMap<(CallPathId, LocationId), Ticks>,
}

impl ReportedSums {
    fn merge(&mut self, from: ReportedSums) {
        match (&mut self.summary, from.summary) {
            (Some(sum), Some(more)) => sum.merge(&more),
            (sum, more) => *sum = sum.or(more),
        }
        self.n_unknown_copies += from.n_unknown_copies;
        self.knows_launches |= from.knows_launches;
        self.lacks_ids |= from.lacks_ids;
        self.kernels.merge(from.kernels);
        self.code.merge(from.code);
        self.members.merge(from.members);
        from.idle.into_iter().for_each(|(key, ticks)| *self.idle.entry(key).or_default() += ticks);
    }

    fn remap(&mut self, remap: &Remap) {
        self.kernels.remap(remap);
        self.code.remap(remap);
        self.members.remap(remap);
        for ((path, location), ticks) in std::mem::take(&mut self.idle) {
            *self.idle.entry((remap.path(path), location)).or_default() += ticks;
        }
    }
}

impl ReportedDevicesFold {
    /// What is seen of some records.
    fn output(&self, records: AcceleratorsPartial, call_paths: CallPathTree) -> AcceleratorsOutput {
        AcceleratorsOutput {
            call_paths,
            records: records.records,
            apis: self.of.apis.clone(),
            activities: self.of.activities.clone(),
            kept: self.of.kept.clone(),
            selected: self.selected.clone(),
            window: None,
            spans: BTreeMap::new(),
            steps: OperationSteps::default(),
            only_step: None,
            only_locations: None,
            is_continued: false,
        }
    }

    /// Adds processes to the sums, and keeps what is replayed of them: all without `only`, else those whose locations
    /// these are.
    fn settle(
        &self,
        part: AcceleratorsPartial,
        only: Option<BTreeSet<LocationId>>,
        (sums, kept): (&mut ReportedSums, &mut KeptDevices),
        (call_paths, definitions): (&CallPathTree, &Definitions),
    ) {
        let (call_paths, shown) = call_paths.shown(definitions.filtered_region);
        let mut output = self.output(part, call_paths);
        if self.selects_calls {
            output.records.values_mut().for_each(|records| records.remap(&shown));
        }
        output.only_locations = only;
        let processes = output.processes(definitions);
        let mut idle = DeviceWaits::default();
        let selected_of = |location| Selected { location: self.selected.contains(&location), window: None };
        let mut of_processes = ReportedSums {
            summary: output.summary_of(&processes, definitions),
            kernels: output.kernel_times(&processes, definitions),
            code: output.code_of_hosts(&processes),
            members: output.collective_members(&processes, definitions),
            ..ReportedSums::default()
        };
        for process in &processes {
            add_idle_times(&mut idle, process, &selected_of);
            of_processes.n_unknown_copies += unknown_copies(process);
            of_processes.lacks_ids |= process.linking != Linking::Recorded;
            let mut launches = process.streams.iter().flat_map(|stream| &stream.launches);
            of_processes.knows_launches |= launches.any(Option::is_some);
        }
        for it in idle.sums().filter(|it| it.class == WaitClass::DeviceIdle) {
            *of_processes.idle.entry((it.path, it.location)).or_default() += it.wait;
        }
        drop(processes);
        sums.merge(of_processes);
        for (location, records) in output.records {
            kept.add(location, records, self.most / PART_IN_MEMORY);
        }
    }
}

impl Analysis for ReportedDevicesFold {
    type Local = AcceleratorsLocal;
    type Partial = ReportedDevicesPartial;
    type Output = DevicesOfRun;
    const NAME: &'static str = "reported-devices";
    const PARTIAL_VERSION: u32 = 2;
    const SCOPE: Scope = Scope::Trace;

    fn needs(&self) -> Needs {
        self.of.needs()
    }

    fn speaks_of(&self) -> Contents {
        self.of.speaks_of()
    }

    fn empty(&self) -> ReportedDevicesPartial {
        ReportedDevicesPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> AcceleratorsLocal {
        AcceleratorsLocal { steps: None, ..self.of.begin(cx) }
    }

    fn fold(&self, local: &mut AcceleratorsLocal, chunk: &EventChunk<'_>) {
        self.of.fold(local, chunk);
    }

    fn end(
        &self,
        local: AcceleratorsLocal,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut ReportedDevicesPartial,
    ) {
        self.of.end(local, cx, summary, &mut into.rest);
        let unit = self.of.apis.unit(cx.definitions.location(cx.location).group);
        into.read.entry(unit).or_default().insert(cx.location);
    }

    fn compact(&self, partial: &mut ReportedDevicesPartial, cx: &SettleCx<'_>) {
        if self.selects_calls {
            return;
        }
        let ReportedDevicesPartial { rest, read, sums, kept } = partial;
        let is_complete = |(owner, read): &(&LocationGroupId, &BTreeSet<LocationId>)| {
            self.n_locations.get(owner).is_some_and(|n| *n as usize == read.len())
        };
        let complete: Vec<LocationGroupId> = read.iter().filter(is_complete).map(|it| *it.0).collect();
        for owner in complete {
            let locations = read.remove(&owner).unwrap_or_default();
            let mut part = AcceleratorsPartial::default();
            for location in &locations {
                part.records.extend(rest.records.remove_entry(location));
            }
            if !part.records.is_empty() {
                self.settle(part, Some(locations), (sums, kept), (cx.call_paths, cx.definitions));
            }
        }
    }

    fn remap(&self, partial: &mut ReportedDevicesPartial, remap: &Remap) {
        self.of.remap(&mut partial.rest, remap);
        partial.sums.remap(remap);
        partial.kept.remap(remap);
    }

    fn merge(&self, into: &mut ReportedDevicesPartial, mut from: ReportedDevicesPartial) {
        self.of.merge(&mut into.rest, from.rest);
        for (owner, read) in &mut from.read {
            into.read.entry(*owner).or_default().append(read);
        }
        into.sums.merge(from.sums);
        into.kept.merge(from.kept);
    }

    fn finish(
        &self,
        partial: ReportedDevicesPartial,
        cx: &FinishCx<'_>,
    ) -> Result<DevicesOfRun, AnalysisError> {
        let ReportedDevicesPartial { rest, mut sums, mut kept, .. } = partial;
        self.settle(rest, None, (&mut sums, &mut kept), (cx.call_paths, cx.definitions));
        let (call_paths, _) = cx.call_paths.shown(cx.definitions.filtered_region);
        let spans = cx.locations.iter().filter_map(|(&id, summary)| Some((id, summary.span?))).collect();
        let output = self.output(AcceleratorsPartial::default(), call_paths);
        Ok(DevicesOfRun { output, sums, kept, spans, most: self.most })
    }
}

/// What a run does with its accelerators, to be asked for what it loses.
#[derive(Debug)]
pub struct DevicesOfRun {
    /// Without records.
    output: AcceleratorsOutput,
    sums: ReportedSums,
    kept: KeptDevices,
    spans: BTreeMap<LocationId, (Ticks, Ticks)>,
    most: usize,
}

impl DevicesOfRun {
    /// The call paths of [`idle`](DevicesOfRun::idle).
    pub fn call_paths(&self) -> &CallPathTree {
        &self.output.call_paths
    }

    /// What the devices do; none if there is no operation.
    pub fn summary(&self) -> Option<AcceleratorsSummary> {
        self.sums.summary
    }

    /// What has to be said beside losses: who shares a device, and which copies cannot be judged.
    pub fn remarks(&self, definitions: &Definitions) -> Vec<Notice> {
        remarks(self.sums.n_unknown_copies, definitions)
    }

    /// Whether the trace says which call launched any of the operations, or samples show what hosts do instead.
    pub fn tells_of_hosts(&self) -> bool {
        self.sums.knows_launches || self.sums.code.has_hosts()
    }

    /// Time between the kernels of devices, by the code that it is charged to, and the thread.
    pub fn idle(&self) -> impl Iterator<Item = (CallPathId, LocationId, Ticks)> {
        self.sums.idle.iter().map(|(&(path, location), &ticks)| (path, location, ticks))
    }

    /// All that it holds.
    #[cfg(test)]
    pub(super) fn described(&self) -> String {
        let paths = |path| self.output.call_paths.regions(path);
        let idle: Vec<_> =
            self.idle().map(|(path, location, ticks)| (paths(path), location, ticks)).collect();
        let records = self.kept.within(TimeRange { start: Ticks(0), end: Ticks(u64::MAX) });
        let code: Vec<_> = self.sums.code.paths().map(|(path, code)| (paths(path), code)).collect();
        let mut texts =
            vec![format!("{:?} {idle:?} {:?} {code:?}", self.sums.summary, self.sums.n_unknown_copies)];
        for (location, of) in records.expect("they are kept") {
            let operations = of.operations.iter().map(|it| (paths(it.path), it.start));
            let codes = of.details.codes.iter().map(|it| (it.0, paths(it.1), it.2));
            let of = (operations.collect::<Vec<_>>(), codes.collect::<Vec<_>>(), &of.details.values);
            texts.push(format!("{location:?} {of:?}"));
        }
        texts.join(" ")
    }

    /// The losses of the run; none if it cannot be replayed, and samples do not show what hosts do instead. If it is replayed in parts, a notice says so.
    ///
    /// # Errors
    /// If what was put aside cannot be read.
    pub fn losses(
        self,
        definitions: &Definitions,
    ) -> Result<(Option<DeviceLosses>, Option<Notice>), AnalysisError> {
        let DevicesOfRun { mut output, sums, mut kept, spans, most } = self;
        let failed = |error: std::io::Error| AnalysisError {
            analysis: ReportedDevicesFold::NAME,
            reason: format!("a temporary file cannot be read: {error}"),
        };
        let collectives = sums.members.instances(definitions);
        let waiting = sums.summary.map_or(Ticks(0), |summary| summary.causes[IdleCause::Partner as usize]);
        let imbalance = sums.kernels.imbalance(waiting);
        let of_samples = sums.code.losses(&output, definitions);
        drop((sums.members, sums.idle, sums.kernels, sums.code));
        // Launches that are known by their order alone are known of all together.
        let (found, notice) = if of_samples.is_some() {
            (of_samples, None)
        } else if kept.n_records() <= most || sums.lacks_ids {
            output.records = kept.all().map_err(failed)?;
            output.spans = spans;
            (output.replayed_losses(&collectives, definitions), None)
        } else {
            kept.put_aside();
            let of_run = (&mut output, &spans);
            let parts = PartLosses::new(&kept, most, of_run, &collectives, definitions).map_err(failed)?;
            let n_replayed = parts.n_parts - parts.n_failed;
            let message = format!(
                "the {} calls and operations of accelerators are replayed in {} parts, each of all ranks: a gain is the sum \
                 over {n_replayed} of them, without what reaches from one into the next",
                kept.n_records(),
                parts.n_parts
            );
            let notice = Notice::new(Level::Low, NoticeCode::NotAvailable, message);
            ((0 < n_replayed).then_some(parts.list), Some(notice))
        };
        let losses =
            found.map(|found| DeviceLosses { call_paths: output.call_paths, list: chosen(found, imbalance) });
        Ok((losses, notice))
    }
}
