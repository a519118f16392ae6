//! Iterations between synchronisations as those of the program's own loops.
//!
//! ```text
//! phases           │     iteration 0     │     iteration 1     │     a barrier after every third step
//! the program's    │ step │ step │ step │ step │ step │ step │     0: steps 0–2, 1: steps 3–5
//! ```
//! A loop of phases need not be the loop that its author knows: ranks may synchronise once in several steps. The outermost
//! loop of the program that covers most of the time has the iterations that pages name then.
//!
//! Where both have equally many, their borders need not be the same: phases end where ranks synchronise, iterations of the
//! program where calls begin to repeat. Pages number by the program's.
//!
//! Law: where the program's loop has about as many iterations and not as many, or fewer, nothing changes; steps stay in
//! order, and each iteration has one.

use ouzel_analyses::peers::PeerKind;
use ouzel_analyses::phases::PhaseGroup;
use ouzel_analyses::phases::structure::Structure;
use ouzel_context_tree::{ContextTreesOutput, LoopSummary};
use ouzel_efficiency::parts::{OwnIterations, OwnLoop};
use ouzel_model::{Ticks, TimeRange};

/// The outermost loops of main threads, each at the location that represents most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Steps(Vec<StepLoop>);

/// A loop of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepLoop {
    /// When each iteration starts and ends, in order.
    steps: Vec<TimeRange>,
}

/// Iterations of a loop of phases as those of a loop of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InSteps<'s> {
    pub of_program: &'s StepLoop,
    /// For each iteration of the phases its first and last step.
    pub of: Vec<(usize, usize)>,
}

impl InSteps<'_> {
    /// Iterations of the program's loop.
    pub fn n_all(&self) -> usize {
        self.of_program.n_steps()
    }

    /// First and last of the steps whose middle is in a part of an iteration; that around its middle, if there is none.
    /// If there are as many steps as iterations, the one that has most of the part.
    pub fn within(&self, part: TimeRange) -> (usize, usize) {
        if self.of.len() == self.n_all() {
            return self.of_program.with_most(&part);
        }
        self.of_program.within(&part).unwrap_or_else(|| self.of_program.around(&part))
    }
}

impl Steps {
    /// From the loops of all locations.
    pub fn new(trees: &ContextTreesOutput) -> Steps {
        let groups = trees.groups.iter().filter(|group| group.kind == PeerKind::MainThread);
        // Findings name single iterations, whose numbers are true only if all are there.
        let is_sure = |summary: &LoopSummary| summary.rejected == 0 && !summary.is_estimate;
        let own = |summary: &&LoopSummary| !summary.is_nested && is_sure(summary);
        Steps(groups.flat_map(|group| group.loops.iter().filter(own).filter_map(StepLoop::new)).collect())
    }

    /// Iterations in these times, in order, as those of the program's own loop; `None` if it has about as many and not as
    /// many. Where it has as many, but other borders, two can have most of their time in the same one.
    pub fn own_loop(&self, iterations: &[TimeRange]) -> Option<OwnLoop> {
        let steps = self.of(iterations)?;
        let of = steps.of.iter().map(|&(first, last)| (first as u64, last as u64)).collect();
        Some(OwnLoop { n_all: steps.n_all() as u64, of })
    }

    /// The iterations of the outermost loop around each phase of a group, as those of the program's own loop, if one is
    /// around them; `None` outside of loops.
    pub(crate) fn of_phases(&self, structure: &Structure, group: &PhaseGroup) -> Vec<Option<OwnIterations>> {
        let mut of_phases = vec![None; group.phases.len()];
        for of in structure.loops.iter().filter(|of| of.parent.is_none()) {
            let ranges: Vec<TimeRange> = of.iterations.iter().map(|&it| group.range_of(it)).collect();
            let steps = self.of(&ranges);
            let n_all = steps.as_ref().map_or(ranges.len(), InSteps::n_all) as u64;
            for (number, &(first, last)) in of.iterations.iter().enumerate() {
                for phase in first..=last {
                    let range = group.range_of((phase, phase));
                    let own = match &steps {
                        // Findings take the closest step; a list says nothing of a phase outside of all steps.
                        Some(steps) if overlap(steps.of_program.range(), range) == 0 => continue,
                        Some(steps) => steps.within(range),
                        None => (number, number),
                    };
                    let (first, last) = (own.0 as u64, own.1 as u64);
                    of_phases[phase as usize] = Some(OwnIterations { n_all, first, last });
                }
            }
        }
        of_phases
    }

    /// The loop that takes most of a range, and at least three quarters.
    pub(crate) fn around(&self, range: TimeRange) -> Option<&StepLoop> {
        let of = self.0.iter().max_by_key(|of| overlap(of.range(), range))?;
        (3 * length(range) <= 4 * overlap(of.range(), range)).then_some(of)
    }

    /// Iterations in these times, in order, as steps; `None` if no loop covers them, or if it has about as many and not as
    /// many, or fewer.
    pub(crate) fn of(&self, iterations: &[TimeRange]) -> Option<InSteps<'_>> {
        let (first, last) = (iterations.first()?, iterations.last()?);
        let all = TimeRange { start: first.start, end: last.end };
        let around = self.around(all)?;
        let (n, n_steps) = (iterations.len(), around.steps.len());
        if n_steps == n {
            let of = iterations.iter().map(|of| around.with_most(of)).collect();
            return Some(InSteps { of_program: around, of });
        }
        if 2 * n_steps < 3 * n {
            return None;
        }
        let found = iterations.iter().map(|of| around.within(of)).collect::<Option<_>>()?;
        Some(InSteps { of_program: around, of: found })
    }
}

impl StepLoop {
    fn new(summary: &LoopSummary) -> Option<StepLoop> {
        let main =
            summary.instances.iter().max_by_key(|instance| (instance.n_iterations, instance.cluster))?;
        let steps = main.iterations.iter().map(|row| TimeRange { start: row.start, end: row.end }).collect();
        (main.iterations_per_row == 1 && !main.iterations.is_empty()).then_some(StepLoop { steps })
    }

    fn range(&self) -> TimeRange {
        let start = self.steps.first().map(|step| step.start).unwrap_or_default();
        TimeRange { start, end: self.steps.last().map(|step| step.end).unwrap_or_default() }
    }

    /// How long each of its iterations is, in ticks.
    pub fn lengths(&self) -> impl Iterator<Item = u64> {
        self.steps.iter().map(|step| length(*step))
    }

    /// From the start of one of its iterations to the end of another.
    pub fn range_of(&self, first: usize, last: usize) -> TimeRange {
        TimeRange { start: self.steps[first].start, end: self.steps[last].end }
    }

    /// Its iterations.
    pub fn n_steps(&self) -> usize {
        self.steps.len()
    }

    /// Those whose middle is before a time.
    pub fn n_before(&self, time: Ticks) -> usize {
        self.steps.partition_point(|step| middle(step) < time)
    }

    /// First and last of the steps whose middle is in a range; `None` if there is none.
    fn within(&self, range: &TimeRange) -> Option<(usize, usize)> {
        let (first, end) = (self.n_before(range.start), self.n_before(range.end));
        (first < end).then(|| (first, end - 1))
    }

    /// The step that has most of a range, the first of several; the closest one, if none has any of it.
    fn with_most(&self, of: &TimeRange) -> (usize, usize) {
        let (begin, end) = (
            self.steps.partition_point(|step| step.end <= of.start),
            self.steps.partition_point(|step| step.start < of.end),
        );
        let most = (begin..end).rev().max_by_key(|&step| overlap(self.steps[step], *of));
        let step = most.unwrap_or_else(|| begin.min(self.steps.len().saturating_sub(1)));
        (step, step)
    }

    /// The step that the middle of an iteration is in.
    fn around(&self, of: &TimeRange) -> (usize, usize) {
        let middle = middle(of);
        let step = self.steps.partition_point(|step| step.start <= middle).saturating_sub(1);
        (step, step)
    }
}

fn middle(range: &TimeRange) -> Ticks {
    Ticks(range.start.0 + length(*range) / 2)
}

fn length(range: TimeRange) -> u64 {
    range.end.since(range.start).0
}

fn overlap(a: TimeRange, b: TimeRange) -> u64 {
    a.end.min(b.end).0.saturating_sub(a.start.max(b.start).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(n: u64, each: u64) -> Vec<TimeRange> {
        (0..n).map(|i| TimeRange { start: Ticks(100 + i * each), end: Ticks(100 + (i + 1) * each) }).collect()
    }

    fn steps(n: u64, each: u64) -> Steps {
        Steps(vec![StepLoop { steps: ranges(3, 10) }, StepLoop { steps: ranges(n, each) }])
    }

    #[test]
    fn an_iteration_has_the_steps_between_two_synchronisations() {
        let sixty = steps(60, 10);
        let found = sixty.of(&ranges(6, 100)).expect("the loop is around them");
        assert_eq!(found.n_all(), 60);
        // A part of an iteration is in some of its steps, or at the end of one.
        let part = |start, end| found.within(TimeRange { start: Ticks(start), end: Ticks(end) });
        assert_eq!((part(100, 120), part(196, 200)), ((0, 1), (9, 9)));
        assert_eq!(found.of, [(0, 9), (10, 19), (20, 29), (30, 39), (40, 49), (50, 59)]);
        // Ranks leave a synchronisation a little later than the one at which steps are known.
        let late =
            ranges(6, 100).into_iter().map(|of| TimeRange { start: of.start, end: Ticks(of.end.0 + 3) });
        assert_eq!(sixty.of(&late.collect::<Vec<_>>()).map(|found| found.of[0]), Some((0, 9)));
    }

    #[test]
    fn of_equally_many_the_numbers_are_those_of_the_program() {
        let twenty = steps(20, 10);
        let in_step: Vec<_> = (0..20).map(|i| (i, i)).collect();
        assert_eq!(twenty.of(&ranges(20, 10)).map(|found| found.of), Some(in_step));
        let own = twenty.own_loop(&ranges(20, 10)).expect("as many");
        assert!(own.n_all == 20 && own.of.iter().copied().eq((0..20).map(|i| (i, i))), "{own:?}");
        // Phases that end in the middle of an iteration begin before the loop.
        let earlier = |by: u64| -> Vec<_> {
            let moved =
                |of: TimeRange| TimeRange { start: Ticks(of.start.0 - by), end: Ticks(of.end.0 - by) };
            ranges(20, 10).into_iter().map(moved).collect()
        };
        let found = |by| twenty.of(&earlier(by)).map(|found| (found.of[0], found.of[1], found.of[19]));
        assert_eq!(found(4), Some(((0, 0), (1, 1), (19, 19))));
        assert_eq!(found(8), Some(((0, 0), (0, 0), (18, 18))));
        let own = twenty.own_loop(&earlier(8)).map(|own| (own.of[0], own.of[1], own.of[19]));
        assert_eq!(own, Some(((0, 0), (0, 0), (18, 18))), "the numbers that findings have");
        let part = TimeRange { start: Ticks(153), end: Ticks(162) };
        assert_eq!(twenty.of(&earlier(8)).map(|found| found.within(part)), Some((5, 5)));
    }

    #[test]
    fn other_loops_say_nothing() {
        assert_eq!(steps(23, 10).of(&ranges(22, 10)), None, "about as many");
        assert_eq!(steps(3, 80).of(&ranges(24, 10)), None, "fewer");
        assert_eq!(steps(60, 1).of(&ranges(6, 100)), None, "a loop in a tenth of the time");
        assert_eq!(steps(60, 10).of(&[]), None);
        assert_eq!(Steps::default().of(&ranges(6, 100)), None);
    }
}
