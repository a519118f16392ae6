//! What accelerators do, by the steps that are asked for.

use crate::ask::{DEVICE_BYTES, of_whole_run};
use crate::{Answer, AskError, Options, Trace};
use ouzel_analyses::semantics::Semantics;
use ouzel_context_tree::{ContextTreesOutput, LoopSummary, TreeGroup};
use ouzel_diagnose::iterations;
use ouzel_files::memory;
use ouzel_model::units::count;
use ouzel_model::{Definitions, Level, LocationId, Notice, NoticeCode, Ticks, TimeRange};
use ouzel_waits::accelerators::{
    Accelerators, DeviceChange, DeviceProjection, FoundSteps, GapPieces, IdleCause, IdleGap, Kernels,
    KernelsBy, KernelsOutput, KernelsPer, NO_LAUNCHES, ReportedDevices, StepError, StepsAsked, StreamIdle,
};
use std::num::NonZeroU16;

/// Iterations that a loop has at least for its iterations to be steps.
const LEAST_ITERATIONS: u64 = 3;

/// Why streams of accelerators have nothing to do.
#[derive(Debug, Clone)]
pub struct IdleByCause {
    /// By rank and stream.
    pub streams: Vec<StreamIdle>,
    /// The longest gaps, longest first.
    pub gaps: Vec<IdleGap>,
}

impl Trace {
    /// What accelerators run, with queues, delays and copies in bins if `bins` are asked for, in memory that does not grow
    /// with the number of processes. One pass, and one for bins. Where nothing marks steps and they are asked for, they are
    /// the iterations of the loop that takes longest on threads that drive a device; finding it takes one more.
    ///
    /// # Errors
    /// If the pass was cancelled; if steps are asked for, and there are none or not the one that is asked for.
    pub fn kernels(
        &self,
        (by, per): (KernelsBy, KernelsPer),
        bins: Option<NonZeroU16>,
        asked: &StepsAsked<'_>,
        options: &Options<'_>,
    ) -> Result<Answer<KernelsOutput>, AskError> {
        let (analysis, notice) = self.with_steps(asked, options)?;
        let answer = self.ask(Kernels::new(analysis.clone(), by, per, asked), options)?;
        let Answer { output, coverage, run_range, mut notices } = answer;
        notices.extend(notice);
        let grid = bins.map(|bins| output.grid(bins));
        let mut output = output.of_steps(asked)?;
        if let Some(grid) = grid {
            let in_bins = self.ask(Kernels::over_time(analysis, grid, asked), options)?.output;
            output.over_time = Some(in_bins.in_bins(grid, self.definitions()));
        }
        Ok(Answer { output, coverage, run_range, notices })
    }

    /// Why streams have nothing to do, and the `n` longest gaps with what hosts did in them, in memory that does not grow
    /// with the number of processes. Two passes; the second looks only at threads, in these gaps.
    ///
    /// # Errors
    /// As [`kernels`](Trace::kernels).
    pub fn idle_by_cause(
        &self,
        n: usize,
        asked: &StepsAsked<'_>,
        options: &Options<'_>,
    ) -> Result<Answer<IdleByCause>, AskError> {
        let (analysis, notice) = self.with_steps(asked, options)?;
        let answer = self.ask(Kernels::idle(analysis, n, asked), options)?;
        let Answer { output, coverage, run_range, mut notices } = answer;
        notices.extend(notice);
        let (streams, gaps) = output.idle_of_steps(asked)?;
        let mut answer = Answer { output: IdleByCause { streams, gaps }, coverage, run_range, notices };
        let idle: Ticks = answer.output.streams.iter().map(|row| row.idle).sum();
        let unknown: Ticks = answer.output.streams.iter().map(|row| row.of(IdleCause::Other)).sum();
        if Ticks(0) < idle && unknown == idle {
            answer.notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, NO_LAUNCHES));
        }
        let pieces = GapPieces::new(&answer.output.gaps);
        let Some(question) = pieces.question() else { return Ok(answer) };
        let calls = self.ask(question, options)?.output;
        Ok(answer.map(|mut output| {
            pieces.add_host(&mut output.gaps, &calls);
            output
        }))
    }

    /// The analysis with the steps that are asked for, and a notice where they had to be found.
    fn with_steps(
        &self,
        asked: &StepsAsked<'_>,
        options: &Options<'_>,
    ) -> Result<(Accelerators, Option<Notice>), AskError> {
        let definitions = self.definitions();
        match Accelerators::new(definitions).with_steps(asked, definitions) {
            Err(StepError::NotMarked) => {
                let analysis = Accelerators::new(definitions);
                let trees = self.context_trees(&Semantics::default(), &of_whole_run(options))?.output;
                let found = found_steps(&trees, &analysis, definitions).ok_or(StepError::NotMarked)?;
                Ok((analysis.with_found_steps(&found.steps), Some(found.notice())))
            }
            marked => Ok((marked?, None)),
        }
    }
}

impl Trace {
    /// How long the run would take with changes of what accelerators do, with the mean step where steps are known. One pass,
    /// and one more to find steps that nothing marks.
    ///
    /// # Errors
    /// If the pass was cancelled, the run cannot be replayed, or nothing has a name of a change.
    pub fn device_what_if(
        &self,
        changes: &[DeviceChange],
        options: &Options<'_>,
    ) -> Result<Answer<DeviceProjection>, AskError> {
        let options = &of_whole_run(options);
        let definitions = self.definitions();
        let steps = StepsAsked { per_step: true, ..StepsAsked::default() };
        let (of, notice) = match self.with_steps(&steps, options) {
            Err(AskError::Steps(_)) => (Accelerators::new(definitions), None),
            found => found?,
        };
        let devices = ReportedDevices::new(definitions, memory::share(DEVICE_BYTES)).of_steps(of);
        let Answer { output, coverage, run_range, mut notices } = self.ask(devices, options)?;
        let (output, in_parts) = output.what_if(changes, definitions, options.jobs)??;
        notices.extend(notice.into_iter().chain(in_parts));
        Ok(Answer { output, coverage, run_range, notices })
    }
}

/// The iterations of a loop as steps.
struct IterationSteps {
    steps: FoundSteps,
    name: String,
    n_iterations: u64,
    /// Iterations in one step.
    per_step: u64,
    /// Threads whose iterations are those of another that is like them.
    n_alike: u64,
}

impl IterationSteps {
    fn notice(&self) -> Notice {
        let IterationSteps { name, n_iterations, per_step, n_alike, .. } = self;
        let mut message =
            format!("nothing marks steps: they are the {} iterations of {name}", count(*n_iterations));
        if 1 < *per_step {
            message += &format!(", {} in each step", count(*per_step));
        }
        if 0 < *n_alike {
            message += &format!("; {n_alike} threads have the times of a thread whose calls are like theirs");
        }
        Notice::new(Level::Low, NoticeCode::NotAvailable, message)
    }
}

/// The iterations of the loop with most time on threads that drive devices.
fn found_steps(
    trees: &ContextTreesOutput,
    analysis: &Accelerators,
    definitions: &Definitions,
) -> Option<IterationSteps> {
    let is_driver = |location: LocationId| analysis.is_driver(definitions, location);
    let of_loop = |(group, of): (&TreeGroup, &LoopSummary)| {
        let mut found = IterationSteps {
            steps: FoundSteps::new(),
            name: String::new(),
            n_iterations: 0,
            per_step: 1,
            n_alike: 0,
        };
        let mut ticks = 0;
        for instance in of.instances.iter().filter(|it| LEAST_ITERATIONS <= it.n_iterations) {
            let members = group.clusters.iter().filter(|cluster| cluster.id == instance.cluster);
            let rows = instance.iterations.iter();
            let steps: Vec<(u64, TimeRange)> =
                rows.map(|row| (row.index, TimeRange { start: row.start, end: row.end })).collect();
            for &member in members.flat_map(|cluster| &cluster.members).filter(|&&it| is_driver(it)) {
                ticks += steps.iter().map(|(_, range)| range.end.since(range.start).0).sum::<u64>();
                found.n_alike += u64::from(member != instance.location);
                found.n_iterations = found.n_iterations.max(instance.n_iterations);
                found.per_step = found.per_step.max(instance.iterations_per_row);
                found.steps.insert(member, steps.clone());
            }
        }
        found.name = iterations::title(of, definitions);
        (ticks, found)
    };
    let loops = trees.groups.iter().flat_map(|group| group.loops.iter().map(move |of| (group, of)));
    // Of equally long ones the first.
    let found =
        loops.filter(|(_, of)| !of.is_nested).map(of_loop).filter(|(_, found)| !found.steps.is_empty());
    found.reduce(|best, next| if best.0 < next.0 { next } else { best }).map(|(_, found)| found)
}
