//! From strips to trees.
//!
//! A stack of open calls becomes nested nodes. Loops of few iterations, which the strip still
//! has token by token, become loop nodes here, by the same recognition as in the stream.
//! Law: the duration of the tree is that of the strip. Calls deeper than [`DEPTH_MAX`] become
//! a profile of their caller, so that walking a tree cannot exhaust the stack.
//! Trees are averaged in [`merge`](crate::merge).

use crate::align::{LookAhead, Order};
use crate::flat_profile::FlatProfile;
use crate::fold_short::fold_short;
use crate::merger::{Merger, Over};
use crate::node::{Body, Gaps, LoopBody, LoopSource, Node, StaticId};
use crate::recognise::{Grown, Mark, REPEATS_MIN, Recogniser, SequenceScope};
use crate::rows::LoopRows;
use crate::strip::{LEAVE, LOOPS, Strip, Taken};
use ouzel_model::{Definitions, Paradigm, Region, RegionId, RegionRole};
use serde::{Deserialize, Serialize};

/// Most tokens of a tree kept in order: 4096 calls. More is no summary, and K·log2 N trees are in memory.
const TREE_TOKENS: usize = 8192;
/// Most levels of nested calls that are kept.
pub const DEPTH_MAX: usize = 192;

/// Properties of regions that are needed to make trees.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Assembler {
    /// By region: whether it synchronises.
    pub anchors: Vec<bool>,
    /// By region: what says that it is a loop, if it is one.
    pub marked: Vec<Option<LoopSource>>,
    /// How iterations are clustered.
    pub iterations: IterationClustering,
}

/// How the iterations of a loop of enters and leaves are clustered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum IterationClustering {
    /// As they come, in bounded memory.
    #[default]
    Streamed,
    /// All together at the end, by Algorithm 3 as printed: a reference, which keeps every iteration in memory.
    AsPrinted,
}

/// A loop of one location that is not inside of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopRecord {
    /// From the outermost call to the loop.
    pub path: Vec<StaticId>,
    /// How it became known.
    pub source: LoopSource,
    /// How its iterations are told apart.
    pub cfg_source: LoopSource,
    /// Number of clusters of its iterations.
    pub n_clusters: u32,
    /// Accepted iterations.
    pub accepted: u64,
    /// Rejected iterations.
    pub rejected: u64,
    /// See [`LoopBody::is_estimate`].
    pub is_estimate: bool,
    /// Its iterations.
    pub rows: LoopRows,
}

impl Assembler {
    /// For the regions of a trace, given which of them synchronise.
    pub fn new(definitions: &Definitions, anchors: Vec<bool>, iterations: IterationClustering) -> Self {
        let says = |(id, region): (usize, &Region)| match (region.role, region.paradigm) {
            (RegionRole::Loop, _) if definitions.code_flows.contains_key(&RegionId::from_index(id)) => {
                Some(LoopSource::Binary)
            }
            (RegionRole::Loop, Paradigm::Sampling) => Some(LoopSource::StructureFile),
            (RegionRole::Loop, _) => Some(LoopSource::Marked),
            _ => None,
        };
        let marked = definitions.regions.iter().enumerate().map(says).collect();
        Assembler { anchors, marked, iterations }
    }

    /// Whether a region synchronises.
    pub fn is_anchor(&self, region: RegionId) -> bool {
        self.anchors.get(region.index()).copied().unwrap_or(false)
    }

    /// What says that a region is a loop.
    fn marked(&self, region: Option<RegionId>) -> Option<LoopSource> {
        self.marked.get(region?.index()).copied().flatten()
    }

    /// Whether `id` is a loop found among the calls of `caller`, which is known as a loop: then the two are one.
    pub(crate) fn is_loop_of(&self, id: StaticId, caller: Option<StaticId>) -> bool {
        matches!(id, StaticId::FoundLoop { .. }) && self.marked(caller.and_then(StaticId::region)).is_some()
    }

    /// How a loop over children of `caller` that are `key` became known.
    pub(crate) fn loop_source(&self, caller: Option<RegionId>, key: Option<RegionId>) -> LoopSource {
        self.marked(caller).or_else(|| self.marked(key)).unwrap_or(LoopSource::TandemRepeat)
    }

    /// Notes which loops may have had more iterations than were found, where calls are made of samples: all but those that are
    /// the repetition of a call that synchronises, which is recorded.
    pub(crate) fn doubt_iterations(&self, tree: &mut Node, loops: &mut [LoopRecord]) {
        let is_sure = |id: Option<&StaticId>, source: LoopSource| match id {
            Some(StaticId::FoundLoop { key, .. }) => {
                source == LoopSource::TandemRepeat && self.is_anchor(*key)
            }
            _ => false,
        };
        for record in loops {
            record.is_estimate = !is_sure(record.path.last(), record.source);
        }
        let mut pending = vec![tree];
        while let Some(node) = pending.pop() {
            match &mut node.body {
                Body::Call { children, .. } => pending.extend(children),
                Body::Loop(body) => {
                    body.is_estimate = !is_sure(Some(&node.id), body.source);
                    pending.extend(body.clusters.iter_mut().map(|cluster| &mut cluster.tree));
                }
                Body::Profile { .. } => {}
            }
        }
    }

    /// The tree of an iteration, or of an average of iterations.
    pub fn iteration(&self, mut strip: Strip) -> Node {
        if TREE_TOKENS < strip.tokens.len() {
            fold_short(&mut strip, TREE_TOKENS, |region| self.is_anchor(region));
        }
        Assembly::new(self, StaticId::Iteration).assemble(strip, None).0
    }

    /// The tree of a location whose tokens came at `at`, and its loops.
    pub fn location(&self, mut strip: Strip, mut at: Vec<u64>) -> (Node, Vec<LoopRecord>) {
        if TREE_TOKENS < strip.tokens.len() {
            let kept = fold_short(&mut strip, TREE_TOKENS, |region| self.is_anchor(region));
            at = kept.into_iter().map(|old| at[old as usize]).collect();
        }
        let (tree, mut loops) = Assembly::new(self, StaticId::Root).assemble(strip, Some(&at));
        for record in &mut loops {
            record.path.reverse();
        }
        (tree, loops)
    }

    /// Whether an anchor is anywhere inside.
    fn has_anchor(&self, node: &Node) -> bool {
        let is_anchor = node.id.region().is_some_and(|region| self.is_anchor(region));
        let inside = |nodes: &[Node]| nodes.iter().any(|node| self.has_anchor(node));
        is_anchor
            || match &node.body {
                Body::Call { children, .. } => inside(children),
                Body::Loop(body) => body.clusters.iter().any(|cluster| self.has_anchor(&cluster.tree)),
                // A profile has no order, so it does not mark a position.
                Body::Profile { .. } => false,
            }
    }
}

/// The key of a loop over children of these ids: the region that identifies it and how many like it are inside.
pub(crate) fn loop_key(body: impl Iterator<Item = StaticId> + Clone) -> (RegionId, u8) {
    let region_of = |id: StaticId| match id {
        StaticId::Region(region)
        | StaticId::CallSite { region, .. }
        | StaticId::SourceLoop { region, .. }
        | StaticId::FoundLoop { key: region, .. } => region,
        StaticId::Root | StaticId::Iteration | StaticId::Folded => RegionId(u32::MAX),
    };
    let key = body.clone().map(region_of).min().unwrap_or(RegionId(u32::MAX));
    let levels = body.filter_map(|id| match id {
        StaticId::FoundLoop { key: inner, level } if inner == key => Some(level.saturating_add(1)),
        _ => None,
    });
    (key, levels.max().unwrap_or(0))
}

/// A child of an open call.
struct Child {
    /// Time before it.
    gap: f64,
    content: Content,
    has_anchor: bool,
    /// When it began and ended, if that is known.
    start: u64,
    end: u64,
    /// Loops inside of it, paths from the inside out.
    loops: Vec<LoopRecord>,
}

enum Content {
    Node(Node),
    /// A loop that may still grow: index into [`Assembly::growing`].
    Growing(usize),
}

/// A loop whose iterations are being collected.
#[derive(Default)]
struct Growing {
    iterations: Vec<Node>,
    /// When each ended.
    ends: Vec<u64>,
    start: u64,
    key: Option<StaticId>,
}

struct OpenCall {
    id: StaticId,
    gap: f64,
    start: u64,
    children: Vec<Child>,
}

struct Assembly<'a> {
    assembler: &'a Assembler,
    root: StaticId,
    recogniser: Recogniser<StaticId>,
    growing: Vec<Growing>,
}

impl<'a> Assembly<'a> {
    fn new(assembler: &'a Assembler, root: StaticId) -> Self {
        Assembly { assembler, root, recogniser: Recogniser::default(), growing: Vec::new() }
    }

    fn assemble(mut self, strip: Strip, at: Option<&[u64]>) -> (Node, Vec<LoopRecord>) {
        let when = |i: usize| at.and_then(|at| at.get(i)).copied().unwrap_or(0);
        let mut open = vec![OpenCall { id: self.root, gap: 0.0, start: when(0), children: Vec::new() }];
        let mut aux = strip.aux.into_iter();
        let mut deep: Option<(FlatProfile, usize)> = None;
        for (i, (&token, &time)) in strip.tokens.iter().zip(&strip.times).enumerate() {
            let taken = if token < LOOPS || token == LEAVE { None } else { aux.next() };
            if let Some((profile, depth)) = &mut deep {
                // Calls too deep to be kept, up to the leave of the outermost of them.
                *depth = if token == LEAVE { *depth - 1 } else { *depth + usize::from(token < LOOPS) };
                if 0 < *depth {
                    profile.add_token(token, time, taken.as_ref().map(|taken| &taken.node));
                    continue;
                }
            }
            let call = open.last_mut().expect("leaves do not outnumber enters");
            if let Some(taken) = taken {
                let has_anchor = self.assembler.has_anchor(&taken.node);
                call.children.push(Child::of_taken(taken, time, has_anchor, when(i)));
            } else if token == LEAVE {
                let mut call = open.pop().expect("leaves do not outnumber enters");
                if let Some((profile, _)) = deep.take() {
                    call.children.push(Child::plain(profile.into_node(StaticId::Folded), when(i)));
                }
                let child = self.complete(call, time, when(i));
                match open.last_mut() {
                    Some(caller) => caller.children.push(child),
                    None => break,
                }
            } else {
                let id = StaticId::Region(RegionId(token));
                if open.len() == DEPTH_MAX {
                    deep = Some((FlatProfile::default(), 1));
                }
                open.push(OpenCall { id, gap: time, start: when(i), children: Vec::new() });
            }
        }
        let end = when(strip.tokens.len().saturating_sub(1));
        let root = open.swap_remove(0);
        let Child { content, loops, .. } = self.complete(root, 0.0, end);
        match content {
            Content::Node(node) => (node, loops),
            Content::Growing(_) => unreachable!("a call is no loop"),
        }
    }

    /// The node of a call that is left, `last_gap` after its last child.
    fn complete(&mut self, call: OpenCall, last_gap: f64, end: u64) -> Child {
        let OpenCall { id, gap, start, children } = call;
        let region = id.region();
        let has_anchor = region.is_some_and(|region| self.assembler.is_anchor(region))
            || children.iter().any(|child| child.has_anchor);
        let children = if may_repeat(&children) { self.find_loops(children) } else { children };
        let mut gaps = Gaps::with_capacity(children.len() + 1);
        let mut nodes = Vec::with_capacity(children.len());
        let mut loops = Vec::new();
        for child in children {
            gaps.push(child.gap);
            let (node, record) = self.settled(child.content, region);
            nodes.push(node);
            loops.extend(child.loops);
            loops.extend(record);
        }
        gaps.push(last_gap);
        for record in &mut loops {
            if id != self.root {
                record.path.push(id);
            }
        }
        let content = Content::Node(Node::call(id, gaps, nodes));
        self.growing.clear();
        Child { gap, content, has_anchor, start, end, loops }
    }

    /// The node of a child, and the record of its iterations if it is a loop found here.
    fn settled(&mut self, content: Content, caller: Option<RegionId>) -> (Node, Option<LoopRecord>) {
        let at = match content {
            Content::Node(node) => return (node, None),
            Content::Growing(at) => at,
        };
        let Growing { iterations, ends, start, key } = std::mem::take(&mut self.growing[at]);
        let order: &dyn Order = &LookAhead;
        let id = key.expect("a growing loop has a key");
        let key = if let StaticId::FoundLoop { key, .. } = id { Some(key) } else { None };
        let source = self.assembler.loop_source(caller, key);
        let body = LoopBody::of_iterations(iterations, source, &Merger::exact(order, Over::Iterations));
        let mut rows = LoopRows::default();
        let mut before = start;
        for end in ends {
            rows.push(end, end.saturating_sub(before));
            before = end;
        }
        rows.start = start;
        rows.set_clusters(&body.map);
        let record = LoopRecord {
            path: vec![id],
            source,
            cfg_source: body.cfg_source,
            n_clusters: body.clusters.len() as u32,
            accepted: rows.n,
            rejected: 0,
            is_estimate: body.is_estimate,
            rows,
        };
        (Node::of_loop(id, body), Some(record))
    }

    /// Replaces iterations among the children by loops.
    fn find_loops(&mut self, children: Vec<Child>) -> Vec<Child> {
        let mut out: Vec<Child> = Vec::with_capacity(children.len());
        let mut scope = self.recogniser.open();
        let mark = |at: usize| Mark { at: at as u32, aux: 0 };
        for child in children {
            let key = match &child.content {
                Content::Node(node) => node.id,
                Content::Growing(_) => unreachable!("children are complete"),
            };
            let grown = self.recogniser.settle_stretch(scope, Some(key), mark(out.len()), found_key);
            self.take(&mut out, grown);
            let has_anchor = child.has_anchor;
            let grown = if has_anchor {
                let start = self.before_anchor(&mut out, scope, Some(key));
                out.push(child);
                self.recogniser.anchor(&mut scope, key, [start, mark(out.len())], found_key)
            } else {
                out.push(child);
                let marks = [mark(out.len() - 1), mark(out.len())];
                self.recogniser.child(scope, key, marks, found_key)
            };
            self.take(&mut out, grown);
        }
        let grown = self.recogniser.settle_stretch(scope, None, mark(out.len()), found_key);
        self.take(&mut out, grown);
        self.before_anchor(&mut out, scope, None);
        self.recogniser.close(scope);
        out
    }

    /// Removes what ends before the stretch; returns the start of the stretch.
    fn before_anchor(&mut self, out: &mut Vec<Child>, scope: SequenceScope, key: Option<StaticId>) -> Mark {
        let end = Mark { at: out.len() as u32, aux: 0 };
        let mut start = self.recogniser.stretch_start(scope).unwrap_or(end);
        let grown = self.recogniser.settle_blocks(scope, key, end, found_key);
        let before = out.len();
        self.take(out, grown);
        start.at -= (before - out.len()) as u32;
        start
    }

    /// Removes the iterations of a loop that has grown from the children.
    fn take(&mut self, out: &mut Vec<Child>, grown: Option<Grown>) {
        let Some(Grown { found, end, .. }) = grown else { return };
        let found = self.recogniser.found(found);
        let (id, is_anchored) = (found.key, found.is_anchored);
        let mut starts: Vec<usize> = found.starts.drain(..).map(|mark| mark.at as usize).collect();
        let end = end.at as usize;
        let slot = match found.slot {
            Some(slot) => slot as usize,
            None => {
                let slot = self.growing.len();
                found.slot = Some(slot as u32);
                if is_anchored {
                    starts[0] = first_start(&found.body, out, &starts);
                }
                let (first, second) = (out[starts[0]].gap, out[starts[1]].gap);
                let before = (first - second).max(0.0);
                let start_ticks = out[starts[0]].start.saturating_sub((first - before) as u64);
                out[starts[0]].gap -= before;
                self.growing.push(Growing { key: Some(id), start: start_ticks, ..Growing::default() });
                let content = Content::Growing(slot);
                let loop_child = Child { content, ..Child::plain_gap(before, is_anchored, start_ticks) };
                out.insert(starts[0], loop_child);
                for start in &mut starts {
                    *start += 1;
                }
                return self.take_iterations(out, &starts, end + 1, slot);
            }
        };
        self.take_iterations(out, &starts, end, slot);
    }

    fn take_iterations(&mut self, out: &mut Vec<Child>, starts: &[usize], end: usize, slot: usize) {
        let first = starts[0];
        let mut ends: Vec<usize> = starts[1..].to_vec();
        ends.push(end);
        let mut taken = out.splice(first..end, []).collect::<Vec<_>>().into_iter();
        let mut at = first;
        for end in ends {
            let (mut gaps, mut nodes, mut ended) = (Gaps::new(), Vec::new(), 0);
            for child in taken.by_ref().take(end - at) {
                ended = child.end;
                gaps.push(child.gap);
                nodes.push(self.settled(child.content, None).0);
            }
            gaps.push(0.0);
            at = end;
            let growing = &mut self.growing[slot];
            growing.iterations.push(Node::call(StaticId::Iteration, gaps, nodes));
            growing.ends.push(ended);
        }
        if let Some(last) = self.growing[slot].ends.last()
            && let Some(child) =
                out.iter_mut().find(|c| matches!(c.content, Content::Growing(s) if s == slot))
        {
            child.end = *last;
        }
    }
}

/// Children among which this is looked for; among more it takes longer than looking for loops.
const FEW_CHILDREN: usize = 12;

/// Whether a loop may be among the children: one of them comes as often as the body of a loop has to.
fn may_repeat(children: &[Child]) -> bool {
    let id = |child: &Child| match &child.content {
        Content::Node(node) => Some(node.id),
        Content::Growing(_) => None,
    };
    let is_repeated =
        |first: &Child| REPEATS_MIN <= children.iter().filter(|other| id(other) == id(first)).count();
    FEW_CHILDREN < children.len() || (REPEATS_MIN <= children.len() && children.iter().any(is_repeated))
}

fn found_key(body: &[StaticId]) -> StaticId {
    let (key, level) = loop_key(body.iter().copied());
    StaticId::FoundLoop { key, level }
}

/// Where the first iteration of a loop over blocks begins: of the children before its first anchor, the longest
/// suffix whose ids are in the second iteration, too.
fn first_start(body: &[StaticId], out: &[Child], starts: &[usize]) -> usize {
    let id = |child: &Child| match &child.content {
        Content::Node(node) => Some(node.id),
        Content::Growing(_) => None,
    };
    let second = &out[starts[1]..starts[2]];
    let first = &out[starts[0]..starts[1]];
    let anchor = first.iter().position(|child| id(child).is_none_or(|id| id == body[0])).unwrap_or(0);
    let is_inside =
        |child: &&Child| id(child).is_some_and(|of| second.iter().any(|other| id(other) == Some(of)));
    let n = first[..anchor].iter().rev().take_while(is_inside).count();
    starts[0] + anchor - n
}

impl Child {
    fn plain_gap(gap: f64, has_anchor: bool, start: u64) -> Self {
        let content = Content::Node(Node::leaf(StaticId::Folded, 0.0));
        Child { gap, content, has_anchor, start, end: start, loops: Vec::new() }
    }

    fn plain(node: Node, at: u64) -> Self {
        Child { content: Content::Node(node), ..Child::plain_gap(0.0, false, at) }
    }

    fn of_taken(taken: Taken, gap: f64, has_anchor: bool, at: u64) -> Self {
        let Taken { node, rows } = taken;
        let record = rows.zip(node.as_loop()).map(|(rows, body)| LoopRecord {
            path: vec![node.id],
            source: body.source,
            cfg_source: body.cfg_source,
            n_clusters: body.clusters.len() as u32,
            accepted: rows.n - body.rejected.min(rows.n),
            rejected: body.rejected,
            is_estimate: body.is_estimate,
            rows: *rows,
        });
        let end = record.as_ref().and_then(|record| record.rows.rows.last()).map_or(at, |row| row.end);
        let loops = record.into_iter().collect();
        Child { gap, content: Content::Node(node), has_anchor, start: at, end, loops }
    }
}
