//! Call-path samples: what was on the stack of a location at certain times.
//!
//! The call paths that occur are a tree of [`SampledContext`]s, known once. A sample ([`Sample`]) names a node and,
//! where the tracer knows it, how many of its outermost frames are the same instances as in the sample before
//! ([`Lca`]).
//!
//! Law: a parent comes before its children; no path is deeper than [`MAX_SAMPLED_DEPTH`]. Instances are not recorded:
//! two samples with the same context need not be one visit.

use crate::{ContextId, InterruptGeneratorId, RegionId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Frames of the deepest sampled path that is kept; adapters cut deeper ones. Work on a sample grows with its depth,
/// and a corrupt file may define a chain as long as the file. Real stacks beyond this are runaway recursion.
pub const MAX_SAMPLED_DEPTH: u32 = 1024;

/// A call path that samples name: a region, where in it the program was, and the path of its caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledContext {
    /// The caller's path; `None` for an outermost frame.
    pub parent: Option<ContextId>,
    /// The region of the innermost frame.
    pub region: RegionId,
    /// File of `line`; `None` if unknown.
    pub file: Option<Arc<str>>,
    /// Line of the region at which the program was: that of the call, if there are callees. `None` if unknown.
    pub line: Option<u32>,
    /// Number of frames on the path, this one included.
    pub depth: u32,
}

/// What distinguishes a frame of a sampled path from its siblings: the region called, and the line of the caller.
/// The line inside the innermost frame is not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SampledFrame {
    /// The region.
    pub region: RegionId,
    /// Line of the call in the caller; `None` for an outermost frame or if unknown.
    pub call_line: Option<u32>,
}

/// The tree of sampled call paths.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SampledContexts {
    nodes: Vec<SampledContext>,
}

impl SampledContexts {
    /// Adds a path, even if an equal one is there.
    ///
    /// # Panics
    /// If the parent is not there, or [`MAX_SAMPLED_DEPTH`] deep.
    pub fn push(
        &mut self,
        parent: Option<ContextId>,
        region: RegionId,
        file: Option<Arc<str>>,
        line: Option<u32>,
    ) -> ContextId {
        let depth = 1 + parent.map_or(0, |parent| self.nodes[parent.index()].depth);
        assert!(depth <= MAX_SAMPLED_DEPTH, "a reader cuts sampled paths that are too deep");
        self.nodes.push(SampledContext { parent, region, file, line, depth });
        ContextId::from_index(self.nodes.len() - 1)
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no path.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The path of an id.
    pub fn get(&self, id: ContextId) -> &SampledContext {
        &self.nodes[id.index()]
    }

    /// Every path, parents before children.
    pub fn iter(&self) -> std::slice::Iter<'_, SampledContext> {
        self.nodes.iter()
    }

    /// Puts the frames of a path into `frames`, outermost first.
    pub fn frames(&self, id: ContextId, frames: &mut Vec<SampledFrame>) {
        frames.clear();
        let mut at = Some(id);
        while let Some(context) = at.map(|id| self.get(id)) {
            let call_line = context.parent.and_then(|parent| self.get(parent).line);
            frames.push(SampledFrame { region: context.region, call_line });
            at = context.parent;
        }
        frames.reverse();
    }
}

/// What interrupts a program to take samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptGenerator {
    /// Its name, e.g. `PAPI_TOT_CYC`.
    pub name: Arc<str>,
    /// What `period` counts.
    pub counts: InterruptCounts,
    /// One sample is taken every `period * base^exponent` seconds or occurrences.
    pub period: u64,
    /// Base of the scale: 2 or 10.
    pub base: u8,
    /// Exponent of the scale.
    pub exponent: i64,
}

/// What the period of an interrupt generator counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum InterruptCounts {
    /// Seconds.
    Time,
    /// Occurrences of something.
    Occurrences,
}

/// How many outermost frames of a sample are the same instances as in the sample before at its location: the lowest
/// common ancestor of the two, as a depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Lca {
    /// Exactly this many stayed.
    Exact(u32),
    /// At most this many stayed; the exact number is unknown.
    AtMost(u32),
    /// The tracer does not say.
    Unknown,
}

/// One sample of the call path of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Index into the base columns.
    pub row: u32,
    /// The call path found; `None` if nothing was running, which ends every frame of the sample before.
    pub context: Option<ContextId>,
    /// What stayed of the sample before.
    pub lca: Lca,
    /// What took the sample; `None` if unknown.
    pub generator: Option<InterruptGeneratorId>,
}

/// Where a call is made, as samples show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSite {
    /// Index into the base columns: the row of the enter.
    pub row: u32,
    /// The line of the call in its caller, or of a loop; `None` if unknown.
    pub line: Option<u32>,
    /// Whether the enter is recorded. Others are made of samples: when they come is exact to the time between samples.
    pub is_recorded: bool,
    /// What the sample that shows the enter says of the frames around it.
    pub lca: Lca,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_told_by_the_line_it_was_called_from() {
        let mut contexts = SampledContexts::default();
        let main = contexts.push(None, RegionId(0), None, Some(12));
        let solve = contexts.push(Some(main), RegionId(1), None, Some(40));
        let again = contexts.push(Some(main), RegionId(1), None, Some(41));
        let frame = |region, call_line| SampledFrame { region: RegionId(region), call_line };
        let mut frames = Vec::new();
        contexts.frames(solve, &mut frames);
        assert_eq!(frames, [frame(0, None), frame(1, Some(12))]);
        let one = frames.clone();
        contexts.frames(again, &mut frames);
        assert_eq!(frames, one, "the line inside the innermost frame does not count");
        assert_eq!(contexts.get(solve).depth, 2);
    }
}
