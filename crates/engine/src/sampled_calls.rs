//! Calls made of samples, for locations that hold nothing else.
//!
//! ```text
//! samples   A/B   A/B   A/C    A    nothing   A    │ last time stamp
//! calls     A───────────────────────────┘     A────┘
//!           B───────────┘
//!                       C──────┘
//! ```
//!
//! A sample owns the time until the next one, as in the context trees of samples: a frame is entered at the first
//! sample that shows it, and left at the first later one that does not. What is open at the last sample is left at
//! the last time stamp of the location. Frames of two samples are one call if they are the same region, called from
//! the same line by frames that are one call, and the tracer does not say otherwise ([`Lca`]). A loop right inside
//! of a frame that stayed is taken to have stayed, as loops leave no marks.
//!
//! Law: the result is nested, and independent of chunk borders. Filter, call paths and visits are handled elsewhere.

use ouzel_model::{
    ChunkBuffer, ContextId, Definitions, EventKind, Lca, RegionId, RegionRole, Sample, SampledContexts, Ticks,
};
use rustc_hash::FxHashMap;

/// The frames that samples may show, as a tree.
#[derive(Debug)]
pub(crate) struct Frames {
    /// Node 0 is outside of every call; parents come before children.
    nodes: Vec<FrameNode>,
    /// The node of the innermost frame of each context.
    of_context: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct FrameNode {
    parent: u32,
    depth: u32,
    region: RegionId,
    is_loop: bool,
}

/// Outside of every call.
const OUTSIDE: u32 = 0;

impl Frames {
    pub fn new(definitions: &Definitions) -> Self {
        let contexts = &definitions.sampled_contexts;
        let outside =
            FrameNode { parent: OUTSIDE, depth: 0, region: definitions.unknown_region, is_loop: false };
        let mut frames = Frames { nodes: vec![outside], of_context: Vec::with_capacity(contexts.len()) };
        let mut known = FxHashMap::default();
        for id in (0..contexts.len()).map(ContextId::from_index) {
            let node = frames.node(contexts, definitions, id);
            let key = (node.parent, node.region, call_line(contexts, definitions, id));
            let next = frames.nodes.len() as u32;
            let at = *known.entry(key).or_insert(next);
            if at == next {
                frames.nodes.push(node);
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
        FrameNode { parent, depth, region: context.region, is_loop }
    }

    fn get(&self, at: u32) -> FrameNode {
        self.nodes[at as usize]
    }

    /// The innermost frame that two paths share.
    fn common(&self, mut a: u32, mut b: u32) -> u32 {
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
    fn kept(&self, common: u32, lca: Lca) -> u32 {
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

/// Distinguishes call sites by the line of the call. A loop is at one place, wherever it was entered from.
fn call_line(contexts: &SampledContexts, definitions: &Definitions, id: ContextId) -> Option<u32> {
    let context = contexts.get(id);
    let region = definitions.region(context.region);
    let own = region.line.filter(|_| region.role == RegionRole::Loop);
    own.or_else(|| context.parent.and_then(|parent| contexts.get(parent).line))
}

/// The calls of one location.
#[derive(Debug)]
pub(crate) struct SampledCalls {
    /// The innermost open frame.
    at: u32,
    has_sample: bool,
    /// The last time stamp, with or without a row.
    last: Ticks,
    /// Frames to be entered, innermost first.
    entered: Vec<RegionId>,
    /// New row of each old one.
    new_row: Vec<u32>,
}

impl SampledCalls {
    pub fn new() -> Self {
        SampledCalls {
            at: OUTSIDE,
            has_sample: false,
            last: Ticks(0),
            entered: Vec::new(),
            new_row: Vec::new(),
        }
    }

    /// Whether a sample was seen.
    pub fn has_sample(&self) -> bool {
        self.has_sample
    }

    /// Replaces the contents of `calls` by the rows of `raw`, with enters and leaves for its samples.
    pub fn derive(&mut self, frames: &Frames, raw: &ChunkBuffer, calls: &mut ChunkBuffer) {
        calls.clear();
        calls.n_records = raw.n_records;
        calls.span = raw.span;
        let last = raw.span.map(|(_, last)| last).max(raw.time.last().copied());
        self.last = self.last.max(last.unwrap_or_default());
        self.new_row.clear();
        let mut samples = raw.samples.iter().peekable();
        for (row, (&time, &kind)) in raw.time.iter().zip(&raw.kind).enumerate() {
            if kind != EventKind::Sample {
                self.new_row.push(calls.push(time, kind, raw.region[row]));
                continue;
            }
            self.new_row.push(u32::MAX);
            while samples.next_if(|sample| (sample.row as usize) < row).is_some() {}
            if let Some(sample) = samples.next_if(|sample| sample.row as usize == row) {
                self.sample(frames, calls, time, sample);
            }
        }
        if raw.samples.len() < raw.len() {
            self.copy_payloads(raw, calls);
        }
    }

    fn sample(&mut self, frames: &Frames, calls: &mut ChunkBuffer, time: Ticks, sample: &Sample) {
        let to = sample.context.and_then(|id| frames.of_context.get(id.index()).copied()).unwrap_or(OUTSIDE);
        // At the first sample, what stayed of the sample before has no meaning.
        let kept =
            if self.has_sample { frames.kept(frames.common(self.at, to), sample.lca) } else { OUTSIDE };
        self.has_sample = true;
        self.leave_to(frames, calls, time, kept);
        let mut at = to;
        while at != kept {
            let FrameNode { parent, region, .. } = frames.get(at);
            self.entered.push(region);
            at = parent;
        }
        while let Some(region) = self.entered.pop() {
            calls.push(time, EventKind::Enter, region);
        }
        self.at = to;
    }

    /// Leaves the frames inside `outer`.
    fn leave_to(&mut self, frames: &Frames, calls: &mut ChunkBuffer, time: Ticks, outer: u32) {
        while self.at != outer {
            let FrameNode { parent, region, .. } = frames.get(self.at);
            calls.push(time, EventKind::Leave, region);
            self.at = parent;
        }
    }

    /// Replaces the contents of `calls` by the leaves of the calls open at the end.
    pub fn end(&mut self, frames: &Frames, calls: &mut ChunkBuffer) {
        calls.clear();
        let last = self.last;
        self.leave_to(frames, calls, last, OUTSIDE);
    }

    /// Gives the payload of other rows their new row numbers.
    fn copy_payloads(&self, raw: &ChunkBuffer, calls: &mut ChunkBuffer) {
        fn copy<T: Clone>(new_row: &[u32], from: &[T], to: &mut Vec<T>, row_of: impl Fn(&mut T) -> &mut u32) {
            to.extend(from.iter().filter_map(|payload| {
                let mut payload = payload.clone();
                let row = row_of(&mut payload);
                *row = new_row.get(*row as usize).copied()?;
                (*row != u32::MAX).then_some(payload)
            }));
        }
        let new_row = &self.new_row;
        copy(new_row, &raw.sends, &mut calls.sends, |x| &mut x.row);
        copy(new_row, &raw.recvs, &mut calls.recvs, |x| &mut x.row);
        copy(new_row, &raw.requests, &mut calls.requests, |x| &mut x.row);
        copy(new_row, &raw.collectives, &mut calls.collectives, |x| &mut x.row);
        copy(new_row, &raw.threads, &mut calls.threads, |x| &mut x.row);
        copy(new_row, &raw.rma, &mut calls.rma, |x| &mut x.row);
        copy(new_row, &raw.metrics, &mut calls.metrics, |x| &mut x.row);
        copy(new_row, &raw.parameters, &mut calls.parameters, |x| &mut x.row);
        copy(new_row, &raw.links, &mut calls.links, |x| &mut x.row);
        copy(new_row, &raw.device_calls, &mut calls.device_calls, |x| &mut x.row);
        copy(new_row, &raw.io, &mut calls.io, |x| &mut x.row);
        copy(new_row, &raw.named_records, &mut calls.named_records, |x| &mut x.row);
    }
}
