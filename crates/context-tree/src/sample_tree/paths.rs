//! The sampled call paths of a trace, as a tree of frames.
//!
//! Law: two paths are equal as far as their frames are instances of the same. Frames beyond the 192nd are cut.

use super::builder::MAX_DEPTH;
use super::code_flow::CodeFlows;
use super::{is_loop, static_id};
use crate::node::{LoopSource, StaticId};
use ouzel_model::{
    Clock, ContextId, Definitions, InterruptCounts, InterruptGenerator, Paradigm, SampledFrame, Ticks,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Samples from which on their intervals say more about the period than the trace: one that is taken late or lost does
/// not move the median of these.
const SAMPLES_MIN: u64 = 8;

/// The path without a frame.
pub(super) const NO_FRAME: u32 = 0;

/// A frame of a sampled path, and so the path that ends with it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Frame {
    /// The path of its caller.
    caller: u32,
    depth: u32,
    id: StaticId,
}

/// The sampled call paths of a trace, by what their frames are instances of.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct SampledPaths {
    /// The first is none; callers come before what they call.
    frames: Vec<Frame>,
    /// For each context its path, and whether that is cut.
    of_context: Vec<(u32, bool)>,
    has_loops: bool,
    /// Loops that an analysis of the binary found.
    structural: BTreeSet<StaticId>,
    /// What the code of the program says of loops.
    code: CodeFlows,
    /// Ticks between samples, as the user says.
    given: Option<Ticks>,
    /// Ticks between samples, as the trace says; the longest of several.
    recorded: Option<Ticks>,
}

/// Ticks between the samples of a generator; `None` if it counts something else than time.
fn period_ticks(generator: &InterruptGenerator, clock: &Clock) -> Option<u64> {
    let InterruptGenerator { counts, period, base, exponent, .. } = generator;
    let exponent = i32::try_from(*exponent).ok().filter(|_| *counts == InterruptCounts::Time)?;
    let seconds = *period as f64 * f64::from(*base).powi(exponent);
    let ticks = (seconds * clock.ticks_per_second as f64).round();
    (1.0..1e18).contains(&ticks).then_some(ticks as u64)
}

impl SampledPaths {
    /// The paths that these definitions have; `period` is what the user says about the time between samples.
    pub fn new(definitions: &Definitions, period: Option<Ticks>) -> Self {
        let contexts = &definitions.sampled_contexts;
        let mut frames = vec![Frame { caller: NO_FRAME, depth: 0, id: StaticId::Root }];
        let mut of_context: Vec<(u32, bool)> = Vec::with_capacity(contexts.len());
        let (mut known, mut structural) = (FxHashMap::default(), BTreeSet::new());
        for context in contexts.iter() {
            let call_line = context.parent.and_then(|parent| contexts.get(parent).line);
            let id = static_id(definitions, SampledFrame { region: context.region, call_line });
            if is_loop(id) && definitions.region(context.region).paradigm == Paradigm::Sampling {
                structural.insert(id);
            }
            let of_caller = context.parent.and_then(|parent| of_context.get(parent.index()).copied());
            let (caller, _) = of_caller.unwrap_or((NO_FRAME, false));
            let depth = frames[caller as usize].depth + 1;
            if MAX_DEPTH < depth as usize {
                of_context.push((caller, true));
                continue;
            }
            let path = *known.entry((caller, id)).or_insert_with(|| {
                frames.push(Frame { caller, depth, id });
                frames.len() as u32 - 1
            });
            of_context.push((path, false));
        }
        let has_loops = frames.iter().any(|frame| is_loop(frame.id));
        let generators = definitions.interrupt_generators.iter();
        let recorded = generators.filter_map(|generator| period_ticks(generator, &definitions.clock)).max();
        let code = CodeFlows::new(definitions);
        let recorded = recorded.map(Ticks);
        SampledPaths { frames, of_context, has_loops, structural, code, given: period, recorded }
    }

    /// How a loop became known.
    pub(super) fn known_by(&self, id: StaticId) -> LoopSource {
        match id {
            StaticId::FoundLoop { .. } => LoopSource::TandemRepeat,
            id if self.code.has(id) => LoopSource::Binary,
            id if self.structural.contains(&id) => LoopSource::StructureFile,
            _ => LoopSource::Marked,
        }
    }

    /// The time between samples of a location of which the median is `median`.
    pub(super) fn period(&self, median: Ticks, n_samples: u64) -> Ticks {
        let estimate = if n_samples < SAMPLES_MIN { self.recorded.unwrap_or(median) } else { median };
        self.given.unwrap_or(estimate)
    }

    /// Whether the code of the program shows loops: then calls that are recorded beside samples are kept in order, too.
    pub fn has_code(&self) -> bool {
        !self.code.is_empty()
    }

    /// Whether there is no path: the trace has no samples.
    pub fn is_empty(&self) -> bool {
        self.of_context.is_empty()
    }

    /// Whether loops are frames of paths.
    pub(super) fn has_loops(&self) -> bool {
        self.has_loops
    }

    /// What the code of the program says of loops.
    pub(super) fn code(&self) -> &CodeFlows {
        &self.code
    }

    /// The time between samples, as the user or the trace says.
    pub(super) fn said_period(&self) -> Option<Ticks> {
        self.given.or(self.recorded)
    }

    /// The path of a sample, and whether it is cut.
    pub(super) fn of(&self, context: Option<ContextId>) -> (u32, bool) {
        context.and_then(|id| self.of_context.get(id.index()).copied()).unwrap_or((NO_FRAME, false))
    }

    /// The number of frames that two paths have in common. Those that only the second one has are put into `beyond`,
    /// outermost first.
    pub(super) fn common(&self, mut before: u32, mut path: u32, beyond: &mut Vec<StaticId>) -> usize {
        beyond.clear();
        // What is called has a greater number than its caller.
        while before != path {
            if before < path {
                let Frame { caller, id, .. } = self.frames[path as usize];
                beyond.push(id);
                path = caller;
            } else {
                before = self.frames[before as usize].caller;
            }
        }
        beyond.reverse();
        self.frames[path as usize].depth as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_model::TraceSource;
    use ouzel_testkit::{Rng, ToyTrace};

    /// The frames of a path, outermost first, as its contexts say.
    fn frames(definitions: &Definitions, context: ContextId) -> Vec<StaticId> {
        let contexts = &definitions.sampled_contexts;
        let (mut path, mut at) = (Vec::new(), Some(context));
        while let Some(id) = at {
            let call_line = contexts.get(id).parent.and_then(|parent| contexts.get(parent).line);
            path.push(static_id(definitions, SampledFrame { region: contexts.get(id).region, call_line }));
            at = contexts.get(id).parent;
        }
        path.reverse();
        path
    }

    #[test]
    fn paths_share_the_frames_that_are_instances_of_the_same() {
        let mut rng = Rng::new(7);
        let mut text = "0:".to_owned();
        for time in 0..40 {
            let depth = if time % 8 == 7 { 185 + rng.below(15) } else { 1 + rng.below(6) };
            let frame = |_| format!("{}@{}", ["f", "g"][rng.below(8) as usize / 7], 1 + rng.below(8) / 7);
            let path: Vec<String> = (0..depth).map(frame).collect();
            let comma = if time == 0 { "" } else { "," };
            text += &format!("{comma} sample {} @{time}", path.join("/"));
        }
        let trace = ToyTrace::new(&text);
        let definitions = trace.definitions();
        let paths = SampledPaths::new(definitions, None);
        let n = definitions.sampled_contexts.len();
        let (mut before, mut of_before) = (Vec::new(), NO_FRAME);
        let (mut beyond, mut n_cut, mut n_common) = (Vec::new(), 0, 0);
        for _ in 0..2000 {
            let context = ContextId::from_index(rng.below(n as u64) as usize);
            let (path, is_cut) = paths.of(Some(context));
            let mut all = frames(definitions, context);
            assert_eq!(is_cut, MAX_DEPTH < all.len());
            all.truncate(MAX_DEPTH);
            let common = before.iter().zip(&all).take_while(|(a, b)| a == b).count();
            assert_eq!(paths.common(of_before, path, &mut beyond), common);
            assert_eq!(beyond, all[common..]);
            n_cut += u32::from(is_cut);
            n_common += common;
            (before, of_before) = (all, path);
        }
        assert!(0 < n_cut && 2000 < n_common, "{n_cut} {n_common}");
        assert_eq!(paths.of(None), (NO_FRAME, false));
    }
}
