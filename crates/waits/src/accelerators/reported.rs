//! What a report says of accelerators, over any number of processes: each is reduced to sums once all of it is read, and
//! what the replay needs of it is put aside if it is much.
//!
//! ```text
//! records of processes ──compact──► sums of those that are complete; calls and operations, kept or put aside
//!                      ──finish───► DevicesOfRun ──losses──► replays, of the run at once or in parts
//! ```
//!
//! Law: the answers are those of an output that keeps the whole run, if the run is replayed at once. Memory is that of
//! the processes that are being read, of the replay of `most` records, or of two such parts at the same time, of the sums,
//! and of collectives (32 bytes each). If single calls are selected, nothing is reduced before the end: they are shown as `[filtered]` where they
//! are known.

use super::AcceleratorsOutput;
use super::by_process::{ByProcess, Settle, SettledProcess};
use super::idle::IdleCause;
use super::kept_devices::{KeptDevices, Room};
use super::kernel_imbalance::KernelTimes;
use super::losses::{DeviceLosses, chosen};
use super::members::CollectiveMembers;
use super::parts::{PartLosses, for_parts};
use super::remarks::{remarks, unknown_copies};
use super::sampled_hosts::CodeOfHosts;
use super::steps::StepCalls;
use super::summary::AcceleratorsSummary;
use super::what_if::{DeviceChange, DeviceProjection, DeviceWhatIfError, WhatIf};
use super::{Accelerators, AcceleratorsPartial};
use crate::class::WaitClass;
use crate::devices::idle::add_idle_times;
use crate::devices::streams::Linking;
use crate::devices::{DeviceWaits, is_stream};
use ouzel_engine::{AnalysisError, FinishCx, Question, Selected, SelectionCx};
#[cfg(test)]
use ouzel_model::TimeRange;
use ouzel_model::units::count;
use ouzel_model::{
    CallPathId, CallPathTree, Definitions, Level, LocationId, Notice, NoticeCode, Remap, Ticks,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
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
    asked: ReportOfProcess,
}

impl ReportedDevices {
    /// The question, with at most so much memory for the calls and operations that are replayed together.
    pub fn new(definitions: &Definitions, max_bytes: u64) -> Self {
        let most = usize::try_from(max_bytes / REPLAY_BYTES).unwrap_or(usize::MAX);
        let asked = ReportOfProcess { most, has_steps: false };
        ReportedDevices { of: Accelerators::new(definitions), asked }
    }

    /// The same of what `of` sees, with its steps and without the code of hosts: for [`DevicesOfRun::what_if`].
    #[must_use]
    pub fn of_steps(self, of: Accelerators) -> Self {
        ReportedDevices { of: of.without_code(), asked: ReportOfProcess { has_steps: true, ..self.asked } }
    }
}

impl Question for ReportedDevices {
    type Analysis = ReportedDevicesFold;
    type Output = DevicesOfRun;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<ReportedDevicesFold> {
        Arc::new(ByProcess::new(self.of.clone(), self.asked, false, cx))
    }
}

/// What a report asks of each process.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ReportOfProcess {
    /// Records that are replayed together.
    most: usize,
    has_steps: bool,
}

/// [`ReportedDevices`] for one selection.
pub type ReportedDevicesFold = ByProcess<ReportOfProcess>;

/// What is kept of some processes.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptOfProcesses {
    sums: ReportedSums,
    kept: KeptDevices,
    steps: StepCalls,
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

impl Settle for ReportOfProcess {
    type Sums = KeptOfProcesses;
    type Output = DevicesOfRun;
    const NAME: &'static str = "reported-devices";
    const PARTIAL_VERSION: u32 = 3;
    const HAS_MESSAGES: bool = false;

    fn has_steps(&self) -> bool {
        self.has_steps
    }

    /// Adds a process to the sums, and keeps what is replayed of it.
    fn settle(&self, process: SettledProcess, definitions: &Definitions, into: &mut KeptOfProcesses) {
        let SettledProcess { output, mut steps, .. } = process;
        into.steps.append(&mut steps);
        let processes = output.processes(definitions);
        let mut idle = DeviceWaits::default();
        let selected_of = |location| Selected { location: output.selected.contains(&location), window: None };
        let mut sums = ReportedSums {
            summary: output.summary_of(&processes, definitions),
            kernels: output.kernel_times(&processes, definitions),
            code: output.code_of_hosts(&processes),
            members: output.collective_members(&processes, definitions),
            ..ReportedSums::default()
        };
        for process in &processes {
            add_idle_times(&mut idle, process, &selected_of);
            sums.n_unknown_copies += unknown_copies(process);
            sums.lacks_ids |= process.linking != Linking::Recorded;
            let mut launches = process.streams.iter().flat_map(|stream| &stream.launches);
            sums.knows_launches |= launches.any(Option::is_some);
        }
        for it in idle.sums().filter(|it| it.class == WaitClass::DeviceIdle) {
            *sums.idle.entry((it.path, it.location)).or_default() += it.wait;
        }
        drop(processes);
        into.sums.merge(sums);
        let room = Room::new(self.most, PART_IN_MEMORY, definitions.locations.len());
        for (location, records) in output.records {
            into.kept.add(location, records, room);
        }
    }

    fn remap(of: &mut KeptOfProcesses, remap: &Remap) {
        of.sums.remap(remap);
        of.kept.remap(remap);
    }

    fn merge(into: &mut KeptOfProcesses, from: KeptOfProcesses) {
        into.sums.merge(from.sums);
        into.kept.merge(from.kept);
        into.steps.extend(from.steps);
    }

    fn finish(
        fold: &ReportedDevicesFold,
        of: KeptOfProcesses,
        cx: &FinishCx<'_>,
    ) -> Result<DevicesOfRun, AnalysisError> {
        let (call_paths, _) = cx.call_paths.shown(cx.definitions.filtered_region);
        let spans = cx.locations.iter().filter_map(|(&id, summary)| Some((id, summary.span?))).collect();
        let output = fold.output(AcceleratorsPartial::default(), call_paths);
        let KeptOfProcesses { sums, kept, steps } = of;
        Ok(DevicesOfRun { output, sums, kept, steps, spans, most: fold.asked.most })
    }
}

/// What a run does with its accelerators, to be asked for what it loses.
#[derive(Debug)]
pub struct DevicesOfRun {
    /// Without records.
    output: AcceleratorsOutput,
    sums: ReportedSums,
    kept: KeptDevices,
    steps: StepCalls,
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

    /// The losses of the run; none if it cannot be replayed, and samples do not show what hosts do instead. If it is replayed
    /// in parts, a notice says so, and several threads share them.
    ///
    /// # Errors
    /// If what was put aside cannot be read.
    pub fn losses(
        self,
        definitions: &Definitions,
        n_threads: NonZeroUsize,
    ) -> Result<(Option<DeviceLosses>, Option<Notice>), AnalysisError> {
        let DevicesOfRun { output, sums, kept, spans, most, .. } = self;
        let collectives = sums.members.instances(definitions);
        let waiting = sums.summary.map_or(Ticks(0), |summary| summary.causes[IdleCause::Partner as usize]);
        let imbalance = sums.kernels.imbalance(waiting);
        let of_samples = sums.code.losses(&output, definitions);
        let call_paths = output.call_paths.clone();
        drop((sums.idle, sums.kernels, sums.code));
        let (found, notice) = match of_samples {
            Some(list) => (Some(list), None),
            None => {
                let n_records = kept.n_records();
                let mut losses = PartLosses::default();
                // Launches that are known by their order alone are known of all together.
                let most = if sums.lacks_ids { usize::MAX } else { most };
                let of_parts = for_parts(
                    kept,
                    (most, n_threads),
                    (output, &spans),
                    &collectives,
                    |part, collectives| part.replayed_losses(collectives, definitions),
                );
                let of_parts = of_parts.map_err(|error| cannot_be_read(&error))?;
                of_parts.into_iter().for_each(|of_part| losses.add(of_part));
                let notice = in_parts(n_records, losses.n_parts, losses.n_failed);
                ((losses.n_failed < losses.n_parts).then_some(losses.list), notice)
            }
        };
        let losses = found.map(|found| DeviceLosses { call_paths, list: chosen(found, imbalance) });
        Ok((losses, notice))
    }

    /// The run with changes, made one after the other. If it is replayed in parts, a notice says so, and several threads
    /// share them.
    ///
    /// # Errors
    /// Of the outer result: if what was put aside cannot be read. Of the inner one: if the run cannot be replayed, or nothing
    /// has a name.
    pub fn what_if(
        self,
        changes: &[DeviceChange],
        definitions: &Definitions,
        n_threads: NonZeroUsize,
    ) -> Result<Result<(DeviceProjection, Option<Notice>), DeviceWhatIfError>, AnalysisError> {
        let DevicesOfRun { output, sums, kept, steps, spans, most } = self;
        let collectives = sums.members.instances(definitions);
        let n_records = kept.n_records();
        let most = if sums.lacks_ids { usize::MAX } else { most };
        // A thread ends with its last event, also where the last parts have none of its calls.
        let is_thread = |id: &LocationId| !is_stream(definitions.location(*id));
        let ends = kept.locations().filter(is_thread).filter_map(|id| spans.get(&id)).map(|span| span.1.0);
        let mut what_if = WhatIf::new(changes, ends.max().unwrap_or(0));
        let of_parts =
            for_parts(kept, (most, n_threads), (output, &spans), &collectives, |part, collectives| {
                part.changed(changes, (collectives, &steps), definitions)
            });
        of_parts.map_err(|error| cannot_be_read(&error))?.into_iter().for_each(|it| what_if.add(it));
        let notice = in_parts(n_records, what_if.n_parts, what_if.n_failed);
        Ok(what_if.projection().map(|projection| (projection, notice)))
    }
}

fn cannot_be_read(error: &std::io::Error) -> AnalysisError {
    AnalysisError {
        analysis: ReportOfProcess::NAME,
        reason: format!("a temporary file cannot be read: {error}"),
    }
}

/// What to say of a run that is not replayed at once.
fn in_parts(n_records: usize, n_parts: usize, n_failed: usize) -> Option<Notice> {
    let n_replayed = n_parts - n_failed;
    let message = format!(
        "the {} calls and operations of accelerators are replayed in {n_parts} parts, each of all ranks: a gain is the sum \
         over {n_replayed} of them, without what reaches from one into the next",
        count(n_records as u64)
    );
    (1 < n_parts).then(|| Notice::new(Level::Low, NoticeCode::NotAvailable, message))
}
