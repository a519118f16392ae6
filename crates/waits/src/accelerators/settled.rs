//! `kernels` and `idle` over many processes, each reduced to its sums once all of it is read.
//!
//! Law: the answers are those of [`AcceleratorsOutput::kernels`], of [`AcceleratorsOutput::idle`] and
//! [`AcceleratorsOutput::longest_gaps`]; memory is that of the processes that are being read, and
//! of the sums. Calls that are not selected are shown as `[filtered]` where they are known, so that nothing is reduced
//! before the end if single calls are selected.

use super::copies::without_size;
use super::idle::{IdleCause, StreamIdle};
use super::kernel_sums::{KernelSums, KernelsAsked};
use super::kernels::{KernelsBy, KernelsOutput, KernelsPer};
use super::longest_gaps::IdleGap;
use super::steps::{OperationSteps, StepError, StepsAsked};
use super::{Accelerators, AcceleratorsLocal, AcceleratorsOutput, AcceleratorsPartial, remarks};
use ouzel_engine::{
    Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Question, Scope, SelectionCx, SettleCx,
};
use ouzel_model::{
    CallPathTree, Contents, Definitions, EventChunk, Level, LocationGroupId, LocationId, Needs, Notice,
    NoticeCode, Remap, TimeRange,
};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where no launch is known.
pub const NO_LAUNCHES: &str = "the trace does not record which call launched which operation of an accelerator: queues, \
                               launch delays and causes of idle time are unknown";

/// The same, where samples show what hosts do.
const LAUNCHES_BY_SAMPLES: &str = "the trace does not record which call launched which operation of an accelerator: queues and \
                                   launch delays are unknown, and causes of idle time are what samples show of the host";

/// What is asked of each process.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum Settled {
    Kernels(KernelsBy, KernelsPer),
    /// Idle time, and so many of the longest gaps.
    Idle(usize),
}

/// What accelerators run, as sums.
#[derive(Debug)]
pub struct Kernels {
    of: Accelerators,
    asked: Settled,
    only_step: Option<u64>,
}

impl Kernels {
    /// The kernels of what `of` sees.
    pub fn new(of: Accelerators, by: KernelsBy, per: KernelsPer, asked: &StepsAsked<'_>) -> Self {
        Kernels::settled(of, Settled::Kernels(by, per), asked)
    }

    /// Why streams of what `of` sees have nothing to do, and the `n` longest gaps.
    pub fn idle(of: Accelerators, n: usize, asked: &StepsAsked<'_>) -> Self {
        Kernels::settled(of, Settled::Idle(n), asked)
    }

    fn settled(of: Accelerators, settled: Settled, asked: &StepsAsked<'_>) -> Self {
        Kernels { of: of.without_code(), asked: settled, only_step: asked.step }
    }
}

impl Question for Kernels {
    type Analysis = KernelsFold;
    type Output = SettledKernels;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<KernelsFold> {
        let &SelectionCx { definitions, selection } = cx;
        let mut n_locations: BTreeMap<LocationGroupId, u32> = BTreeMap::new();
        for location in &definitions.locations {
            *n_locations.entry(self.of.apis.unit(location.group)).or_default() += 1;
        }
        Arc::new(KernelsFold {
            of: self.of.clone(),
            asked: self.asked,
            only_step: self.only_step,
            selected: selection.locations.iter().copied().collect(),
            window: selection.window,
            n_locations,
            selects_calls: selection.regions.is_some() || selection.tests.is_some(),
        })
    }
}

/// [`Kernels`] for one selection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KernelsFold {
    of: Accelerators,
    asked: Settled,
    only_step: Option<u64>,
    selected: BTreeSet<LocationId>,
    window: Option<TimeRange>,
    /// Locations of each process, and of those that share devices together.
    n_locations: BTreeMap<LocationGroupId, u32>,
    /// Whether single calls are selected.
    selects_calls: bool,
}

/// Processes that are not complete, and the sums of the others.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct KernelsPartial {
    rest: AcceleratorsPartial,
    /// The locations of these processes that are read.
    read: BTreeMap<LocationGroupId, BTreeSet<LocationId>>,
    sums: KernelSums,
}

/// The answer, and which steps there are.
#[derive(Debug)]
pub struct SettledKernels {
    /// What the streams run.
    pub kernels: KernelsOutput,
    pub(super) sums: KernelSums,
}

impl SettledKernels {
    /// The answer, if it has the steps that are asked for.
    ///
    /// # Errors
    /// If there are no steps, or not the one that is asked for.
    pub fn of_steps(self, asked: &StepsAsked<'_>) -> Result<KernelsOutput, StepError> {
        asked.check(&self.sums.steps)?;
        Ok(self.kernels)
    }

    /// Idle time by rank and stream, and the longest gaps, if these were asked for and there are such steps.
    ///
    /// # Errors
    /// If there are no steps, or not the one that is asked for.
    pub fn idle_of_steps(self, asked: &StepsAsked<'_>) -> Result<(Vec<StreamIdle>, Vec<IdleGap>), StepError> {
        asked.check(&self.sums.steps)?;
        Ok((self.sums.idle, self.sums.gaps))
    }
}

impl KernelsFold {
    /// The sums of processes, of all without `only`, else of those whose locations these are.
    fn settle(
        &self,
        part: AcceleratorsPartial,
        only: Option<&BTreeSet<LocationId>>,
        is_read: impl Fn(LocationId) -> bool,
        call_paths: &CallPathTree,
        definitions: &Definitions,
    ) -> KernelSums {
        let (call_paths, shown) = call_paths.shown(definitions.filtered_region);
        let mut records = part.records;
        if self.selects_calls {
            records.values_mut().for_each(|records| records.remap(&shown));
        }
        let mut output = AcceleratorsOutput {
            call_paths,
            records,
            apis: self.of.apis.clone(),
            activities: self.of.activities.clone(),
            kept: self.of.kept.clone(),
            selected: self.selected.clone(),
            window: self.window,
            spans: BTreeMap::new(),
            steps: OperationSteps::default(),
            only_step: self.only_step,
            only_locations: only.cloned(),
            is_continued: false,
        };
        let steps = self.of.steps_of(part.steps, is_read);
        if !steps.is_empty() {
            let processes = output.processes(definitions);
            output.steps = OperationSteps::new(&steps, &processes, &self.of.apis, definitions);
        }
        match self.asked {
            Settled::Kernels(by, per) => output.kernel_sums(by, per, definitions),
            Settled::Idle(n) => output.idle_sums(n, definitions),
        }
    }
}

impl Analysis for KernelsFold {
    type Local = AcceleratorsLocal;
    type Partial = KernelsPartial;
    type Output = SettledKernels;
    const NAME: &'static str = "kernels";
    const PARTIAL_VERSION: u32 = 3;
    const SCOPE: Scope = Scope::Trace;

    fn needs(&self) -> Needs {
        self.of.needs()
    }

    fn speaks_of(&self) -> Contents {
        self.of.speaks_of()
    }

    fn empty(&self) -> KernelsPartial {
        KernelsPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> AcceleratorsLocal {
        self.of.begin(cx)
    }

    fn fold(&self, local: &mut AcceleratorsLocal, chunk: &EventChunk<'_>) {
        self.of.fold(local, chunk);
    }

    fn end(
        &self,
        local: AcceleratorsLocal,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut KernelsPartial,
    ) {
        self.of.end(local, cx, summary, &mut into.rest);
        let unit = self.of.apis.unit(cx.definitions.location(cx.location).group);
        into.read.entry(unit).or_default().insert(cx.location);
    }

    fn compact(&self, partial: &mut KernelsPartial, cx: &SettleCx<'_>) {
        if self.selects_calls {
            return;
        }
        let is_complete = |(owner, read): &(&LocationGroupId, &BTreeSet<LocationId>)| {
            self.n_locations.get(owner).is_some_and(|n| *n as usize == read.len())
        };
        let complete: Vec<LocationGroupId> =
            partial.read.iter().filter(is_complete).map(|(owner, _)| *owner).collect();
        for owner in complete {
            let read = partial.read.remove(&owner).unwrap_or_default();
            let mut part = AcceleratorsPartial::default();
            for location in &read {
                part.records.extend(partial.rest.records.remove_entry(location));
                part.steps.extend(partial.rest.steps.remove_entry(location));
            }
            if part.records.is_empty() && part.steps.is_empty() && !self.of.has_found(&read) {
                continue;
            }
            let is_read = |location| read.contains(&location);
            partial.sums.merge(self.settle(part, Some(&read), is_read, cx.call_paths, cx.definitions));
        }
    }

    fn remap(&self, partial: &mut KernelsPartial, remap: &Remap) {
        self.of.remap(&mut partial.rest, remap);
    }

    fn merge(&self, into: &mut KernelsPartial, mut from: KernelsPartial) {
        self.of.merge(&mut into.rest, from.rest);
        for (owner, read) in &mut from.read {
            into.read.entry(*owner).or_default().append(read);
        }
        into.sums.merge(from.sums);
    }

    fn finish(&self, partial: KernelsPartial, cx: &FinishCx<'_>) -> Result<SettledKernels, AnalysisError> {
        let KernelsPartial { rest, read, mut sums } = partial;
        let is_read = |location| read.values().any(|of| of.contains(&location));
        sums.merge(self.settle(rest, None, is_read, cx.call_paths, cx.definitions));
        if 0 < sums.n_operations && sums.n_launched == 0 {
            let are_sampled = sums.idle.iter().any(|row| row.of(IdleCause::Other) < row.idle);
            let what = if are_sampled { LAUNCHES_BY_SAMPLES } else { NO_LAUNCHES };
            cx.notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, what));
        }
        if let Some(notice) = without_size(&sums.copies, cx.definitions) {
            cx.notices.push(notice);
        }
        remarks::shared_devices(cx.definitions).into_iter().for_each(|notice| cx.notices.push(notice));
        sums.idle.sort_by_key(|row| (row.rank.is_none(), row.rank, row.location));
        sums.gaps.sort_by_key(|gap| (Reverse(gap.length()), gap.range.start, gap.location));
        let (by, per) = match self.asked {
            Settled::Kernels(by, per) => (by, per),
            Settled::Idle(n) => {
                sums.gaps.truncate(n);
                (KernelsBy::Kernel, KernelsPer::Run)
            }
        };
        let pools = self.of.kept.pools();
        let asked = KernelsAsked { by, per, only_step: self.only_step, pools };
        Ok(SettledKernels { kernels: sums.output(&asked, cx.definitions), sums })
    }
}
