//! `kernels` and `idle` over many processes, each reduced to its sums once all of it is read.
//!
//! Law: the answers are those of [`AcceleratorsOutput::kernels`], of [`AcceleratorsOutput::idle`] and
//! [`AcceleratorsOutput::longest_gaps`]; memory is that of the processes that are being read, and
//! of the sums. Calls that are not selected are shown as `[filtered]` where they are known, so that nothing is reduced
//! before the end if single calls are selected.

use super::by_process::{ByProcess, Settle, SettledProcess};
use super::copies::without_size;
use super::idle::{IdleCause, StreamIdle};
use super::kernel_sums::{KernelSums, KernelsAsked};
use super::kernels::{KernelsBy, KernelsOutput, KernelsPer};
use super::longest_gaps::IdleGap;
use super::over_time::KernelsOverTime;
use super::steps::{StepError, StepsAsked};
use super::{Accelerators, remarks};
use ouzel_analyses::time_grid::TimeGrid;
use ouzel_engine::{AnalysisError, FinishCx, Question, SelectionCx};
use ouzel_model::{Definitions, Level, Notice, NoticeCode, Remap, Ticks, TimeRange};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::num::NonZeroU16;
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
    /// Queues, delays and copies in these bins.
    OverTime(TimeGrid),
}

/// What accelerators run, as sums.
#[derive(Debug)]
pub struct Kernels {
    of: Accelerators,
    asked: KernelsOfProcess,
}

/// What is asked of each process, and of which step alone.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct KernelsOfProcess {
    asked: Settled,
    only_step: Option<u64>,
}

/// The sums of some processes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SumsOfProcesses(KernelSums);

/// [`Kernels`] for one selection.
pub type KernelsFold = ByProcess<KernelsOfProcess>;

impl Kernels {
    /// The kernels of what `of` sees.
    pub fn new(of: Accelerators, by: KernelsBy, per: KernelsPer, asked: &StepsAsked<'_>) -> Self {
        Kernels::settled(of, Settled::Kernels(by, per), asked)
    }

    /// Why streams of what `of` sees have nothing to do, and the `n` longest gaps.
    pub fn idle(of: Accelerators, n: usize, asked: &StepsAsked<'_>) -> Self {
        Kernels::settled(of, Settled::Idle(n), asked)
    }

    /// Queues, delays and copies of what `of` sees in bins: those of [`SettledKernels::grid`].
    pub fn over_time(of: Accelerators, grid: TimeGrid, asked: &StepsAsked<'_>) -> Self {
        Kernels::settled(of, Settled::OverTime(grid), asked)
    }

    fn settled(of: Accelerators, settled: Settled, asked: &StepsAsked<'_>) -> Self {
        Kernels { of: of.without_code(), asked: KernelsOfProcess { asked: settled, only_step: asked.step } }
    }
}

impl Question for Kernels {
    type Analysis = KernelsFold;
    type Output = SettledKernels;

    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<KernelsFold> {
        Arc::new(ByProcess::new(self.of.clone(), self.asked, true, cx))
    }
}

/// The answer, and which steps there are.
#[derive(Debug)]
pub struct SettledKernels {
    /// What the streams run.
    pub kernels: KernelsOutput,
    /// The selected time, as far as anything is recorded in it.
    range: TimeRange,
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

    /// Bins over the selected time.
    pub fn grid(&self, bins: NonZeroU16) -> TimeGrid {
        TimeGrid::new(self.range, bins)
    }

    /// Queues, delays and copies, if these were asked for in these bins.
    pub fn in_bins(self, grid: TimeGrid, definitions: &Definitions) -> KernelsOverTime {
        self.sums.over_time.output(grid, definitions)
    }
}

impl Settle for KernelsOfProcess {
    type Sums = SumsOfProcesses;
    type Output = SettledKernels;
    const NAME: &'static str = "kernels";
    const PARTIAL_VERSION: u32 = 4;
    const HAS_MESSAGES: bool = false;

    fn has_steps(&self) -> bool {
        true
    }

    fn settle(&self, process: SettledProcess, definitions: &Definitions, sums: &mut SumsOfProcesses) {
        let SettledProcess { mut output, .. } = process;
        output.only_step = self.only_step;
        sums.0.merge(match self.asked {
            Settled::Kernels(by, per) => output.kernel_sums(by, per, definitions),
            Settled::Idle(n) => output.idle_sums(n, definitions),
            Settled::OverTime(grid) => {
                let over_time = output.over_time_sums(&grid, definitions);
                KernelSums { over_time, ..KernelSums::default() }
            }
        });
    }

    fn remap(_: &mut SumsOfProcesses, _: &Remap) {}

    fn merge(into: &mut SumsOfProcesses, from: SumsOfProcesses) {
        into.0.merge(from.0);
    }

    fn finish(
        fold: &KernelsFold,
        SumsOfProcesses(mut sums): SumsOfProcesses,
        cx: &FinishCx<'_>,
    ) -> Result<SettledKernels, AnalysisError> {
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
        let (by, per) = match fold.asked.asked {
            Settled::Kernels(by, per) => (by, per),
            Settled::Idle(n) => {
                sums.gaps.truncate(n);
                (KernelsBy::Kernel, KernelsPer::Run)
            }
            Settled::OverTime(_) => (KernelsBy::Kernel, KernelsPer::Run),
        };
        let spans = || cx.locations.values().filter_map(|summary| summary.span);
        let start = spans().map(|span| span.0).min().unwrap_or(Ticks(0));
        let end = spans().map(|span| span.1).max().unwrap_or(Ticks(0));
        let range = cx.window.map_or(TimeRange { start, end }, |window| TimeRange {
            start: window.start.max(start),
            end: window.end.min(end),
        });
        let pools = fold.of.kept.pools();
        let asked = KernelsAsked { by, per, only_step: fold.asked.only_step, pools };
        Ok(SettledKernels { kernels: sums.output(&asked, cx.definitions), range, sums })
    }
}
