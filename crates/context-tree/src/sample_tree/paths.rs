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
