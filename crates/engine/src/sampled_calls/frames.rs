//! The frames that samples may show, and what their code allows to follow what.

use crate::code_order::CodeOrder;
use crate::processor_time::ProcessorTime;
use ouzel_model::{ContextId, Definitions, Lca, Paradigm, RegionId, RegionRole, SampledContexts};
use rustc_hash::FxHashMap;

/// The frames that samples may show, as a tree.
#[derive(Debug)]
pub(crate) struct Frames {
    /// Node 0 is outside of every call; parents come before children.
    pub(super) nodes: Vec<FrameNode>,
    /// The node of the innermost frame of each context.
    pub(super) of_context: Vec<u32>,
    /// The nodes of each region.
    pub(super) of_region: FxHashMap<RegionId, Vec<u32>>,
    /// Where in the innermost frame of each context the program is.
    pub(super) line_of_context: Vec<Option<u32>>,
    /// For each region whether it is a function of MPI.
    pub(super) is_mpi: Vec<bool>,
    /// For each region whether it is the barrier that ends a construct.
    pub(super) ends_construct: Vec<bool>,
    /// For each region whether teams run in it.
    pub(super) is_parallel: Vec<bool>,
    /// How to know how long threads did not run.
    pub(super) processor_time: Option<ProcessorTime>,
    pub(super) code: CodeOrder,
}

/// A frame and where it is called from.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameNode {
    pub(super) parent: u32,
    pub(super) depth: u32,
    pub(super) region: RegionId,
    pub(super) is_loop: bool,
    pub(super) call_line: Option<u32>,
}

/// Outside of every call.
pub(super) const OUTSIDE: u32 = 0;

impl Frames {
    pub fn new(definitions: &Definitions) -> Self {
        let contexts = &definitions.sampled_contexts;
        let outside = FrameNode {
            parent: OUTSIDE,
            depth: 0,
            region: definitions.unknown_region,
            is_loop: false,
            call_line: None,
        };
        let mut frames = Frames {
            nodes: vec![outside],
            of_context: Vec::with_capacity(contexts.len()),
            of_region: FxHashMap::default(),
            line_of_context: contexts.iter().map(|context| context.line).collect(),
            is_mpi: definitions.regions.iter().map(|region| region.paradigm == Paradigm::Mpi).collect(),
            ends_construct: definitions
                .regions
                .iter()
                .map(|region| region.role == RegionRole::ImplicitBarrier)
                .collect(),
            is_parallel: definitions
                .regions
                .iter()
                .map(|region| region.role == RegionRole::Parallel)
                .collect(),
            processor_time: ProcessorTime::new(definitions),
            code: CodeOrder::new(definitions),
        };
        let mut known = FxHashMap::default();
        for id in (0..contexts.len()).map(ContextId::from_index) {
            let node = frames.node(contexts, definitions, id);
            let key = (node.parent, node.region, node.call_line);
            let next = frames.nodes.len() as u32;
            let at = *known.entry(key).or_insert(next);
            if at == next {
                frames.nodes.push(node);
                frames.of_region.entry(node.region).or_default().push(at);
            }
            frames.of_context.push(at);
        }
        frames
    }

    fn node(&self, contexts: &SampledContexts, definitions: &Definitions, id: ContextId) -> FrameNode {
        let context = contexts.get(id);
        let parent = context.parent.map_or(OUTSIDE, |parent| self.of_context[parent.index()]);
        let depth = self.nodes[parent as usize].depth + 1;
        let is_loop = definitions.region(context.region).role == RegionRole::Loop;
        let call_line = call_line(contexts, definitions, id);
        FrameNode { parent, depth, region: context.region, is_loop, call_line }
    }

    /// The innermost frame of a path.
    pub(super) fn of(&self, context: Option<ContextId>) -> u32 {
        context.and_then(|id| self.of_context.get(id.index()).copied()).unwrap_or(OUTSIDE)
    }

    /// Where in its innermost frame a path is.
    pub(super) fn line(&self, context: Option<ContextId>) -> Option<u32> {
        context.and_then(|id| self.line_of_context.get(id.index()).copied()).flatten()
    }

    pub(super) fn get(&self, at: u32) -> FrameNode {
        self.nodes[at as usize]
    }

    /// Whether a frame is that of a construct of threads which begins as a recorded call.
    pub(super) fn begins(&self, frame: u32, region: RegionId) -> bool {
        let is_parallel = self.is_parallel.get(region.index()).copied().unwrap_or_default();
        is_parallel && self.get(frame).region == region
    }

    /// The innermost frame that can have stayed between two recorded calls, by the order of the code; [`OUTSIDE`] if that is
    /// not known, or if it is the innermost one that both are in: a sample between them may show frames inside of it that
    /// the second call is in, too.
    pub(super) fn stays(&self, (before, next): &(Call, Call)) -> u32 {
        let both = self.common(before.caller, next.caller);
        let (mut at, mut below) = (both, None);
        let stays = loop {
            let FrameNode { parent, region, is_loop, .. } = self.get(at);
            if at == OUTSIDE || is_loop {
                break at;
            }
            let (a, b) = match below {
                None => (self.parts(at, before), self.parts(at, next)),
                // It was called twice from here.
                Some(below) => (self.parts_of_frame(region, below), self.parts_of_frame(region, below)),
            };
            if a.is_empty() || b.is_empty() {
                return OUTSIDE;
            }
            if self.code.follows(region, &a, &b) {
                break at;
            }
            (at, below) = (parent, Some(at));
        };
        if stays == both { OUTSIDE } else { stays }
    }

    /// The outer one of two frames of a path; the first if the second is not known.
    pub(super) fn outer(&self, a: u32, b: u32) -> u32 {
        if b != OUTSIDE && self.get(b).depth < self.get(a).depth { self.common(a, b) } else { a }
    }

    /// The parts of a frame's code that a recorded call can be, or that are around it.
    fn parts(&self, frame: u32, call: &Call) -> Vec<usize> {
        let region = self.get(frame).region;
        if call.caller == frame {
            return self.code.parts(region, call.line, false, call.region);
        }
        let mut at = call.caller;
        while self.get(at).parent != frame {
            at = self.get(at).parent;
            if at == OUTSIDE {
                return Vec::new();
            }
        }
        self.parts_of_frame(region, at)
    }

    fn parts_of_frame(&self, region: RegionId, inner: u32) -> Vec<usize> {
        let FrameNode { region: called, is_loop, call_line, .. } = self.get(inner);
        self.code.parts(region, call_line, is_loop, called)
    }

    /// The innermost frame that two paths share.
    pub(super) fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            // Node numbers grow with depth on each path.
            if a < b {
                b = self.get(b).parent;
            } else {
                a = self.get(a).parent;
            }
        }
        a
    }

    /// The innermost frame of `common`, the frames shared by a sample and the one before, that went on.
    pub(super) fn kept(&self, common: u32, lca: Lca) -> u32 {
        let (Lca::Exact(bound) | Lca::AtMost(bound)) = lca else { return common };
        let (mut kept, mut at) = (common, common);
        while bound < self.get(at).depth {
            let FrameNode { parent, is_loop, .. } = self.get(at);
            if !is_loop {
                kept = parent;
            }
            at = parent;
        }
        kept
    }
}

impl Frames {
    /// Where a call of `region` is whose enter comes after the frame `near`: at the frame that shares most with `near`,
    /// of equals at that whose caller is open already.
    pub(super) fn place(&self, near: u32, region: RegionId) -> Option<RecordedPlace> {
        let nodes = self.of_region.get(&region)?;
        let rank = |node: u32| {
            let caller = self.get(node).parent;
            let common = self.common(near, caller);
            (self.get(common).depth, common == caller)
        };
        let best = nodes.iter().map(|&node| rank(node)).max()?;
        let mut equals = nodes.iter().copied().filter(|&node| rank(node) == best);
        let first = equals.next()?;
        let alone = RecordedPlace { caller: self.get(first).parent, call: first };
        Some(equals.fold(alone, |place, node| RecordedPlace {
            caller: self.common(place.caller, self.get(node).parent),
            call: OUTSIDE,
        }))
    }
}

/// Where a recorded call is among the frames that samples show.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedPlace {
    /// The frame that calls it.
    pub(super) caller: u32,
    /// Its own frame; [`OUTSIDE`] if it can be several.
    pub(super) call: u32,
}

/// Distinguishes call sites by the line of the call. A loop is at one place, wherever it was entered from.
fn call_line(contexts: &SampledContexts, definitions: &Definitions, id: ContextId) -> Option<u32> {
    let context = contexts.get(id);
    let region = definitions.region(context.region);
    let own = region.line.filter(|_| region.role == RegionRole::Loop);
    own.or_else(|| context.parent.and_then(|parent| contexts.get(parent).line))
}

/// A recorded call whose caller is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) region: RegionId,
    /// The frame that calls it.
    pub(super) caller: u32,
    /// Where in that.
    pub(super) line: Option<u32>,
}
