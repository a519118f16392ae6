//! Temporal context trees: what ran inside what, in order, with the time between.
//!
//! A [`Node`] is in relative form: a call with `n` children has `n + 1` gaps, the time
//! before, between and after them. Its duration is the sum of gaps and children, so a
//! tree has no position in time and trees of different instances can be averaged.
//! Law: `gaps.len() == children.len() + 1`; profile children are sorted by id, each once.
//! Times are floats, in ticks: they are only averages, which are computed in a fixed order.
//! Nodes are compared in [`diff`](crate::diff) and averaged in [`merge`](crate::merge).
//!
//! Source: Wei and Mellor-Crummey, ICS'18, sections 3 and 4.

use crate::run_length::Runs;
use ouzel_model::{Definitions, RegionId};
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::cmp::Ordering;

/// What a node is an instance of: the same on every location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StaticId {
    /// The whole execution of a location.
    Root,
    /// A call of a region.
    Region(RegionId),
    /// A call of a region from a known line.
    CallSite {
        /// The region called.
        region: RegionId,
        /// The line of the call in the caller.
        line: u32,
    },
    /// A loop known from the source or the binary.
    SourceLoop {
        /// The region the loop is in.
        region: RegionId,
        /// Its line.
        line: u32,
    },
    /// A loop without a mark, found because its body repeats.
    FoundLoop {
        /// The region that identifies it: the synchronising call that ends its iterations,
        /// else the least region of its body.
        key: RegionId,
        /// Loops inside of it that have the same key.
        level: u8,
    },
    /// One iteration of a loop.
    Iteration,
    /// Calls too short to be kept in order.
    Folded,
}

/// By kind, region, and line.
impl Ord for StaticId {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for StaticId {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl StaticId {
    /// Numbers in the order of ids: these are compared more often than anything else.
    #[inline]
    fn key(self) -> (u64, u32) {
        let of = |kind: u64, region: RegionId| kind << 32 | u64::from(region.0);
        match self {
            StaticId::Root => (0, 0),
            StaticId::Region(region) => (of(1, region), 0),
            StaticId::CallSite { region, line } => (of(2, region), line),
            StaticId::SourceLoop { region, line } => (of(3, region), line),
            StaticId::FoundLoop { key, level } => (of(4, key), u32::from(level)),
            StaticId::Iteration => (5 << 32, 0),
            StaticId::Folded => (6 << 32, 0),
        }
    }

    /// The name of the construct.
    pub fn name(self, definitions: &Definitions) -> String {
        let region = |id: RegionId| {
            definitions.regions.get(id.index()).map_or("<unknown region>", |region| &*region.name)
        };
        match self {
            StaticId::Root => "execution".to_owned(),
            StaticId::Region(id) => region(id).to_owned(),
            StaticId::CallSite { region: id, line } => format!("{}@{line}", region(id)),
            StaticId::SourceLoop { line, .. } => format!("loop@{line}"),
            StaticId::FoundLoop { key, level: 0 } => format!("loop~{}", region(key)),
            StaticId::FoundLoop { key, level } => format!("loop~{}~{}", region(key), level + 1),
            StaticId::Iteration => "iteration".to_owned(),
            StaticId::Folded => "short calls".to_owned(),
        }
    }

    /// Its region in the trace, called or marked as a loop; `None` for found loops and folded calls.
    pub fn recorded(self) -> Option<RegionId> {
        match self {
            StaticId::Region(region)
            | StaticId::CallSite { region, .. }
            | StaticId::SourceLoop { region, .. } => Some(region),
            StaticId::Root | StaticId::FoundLoop { .. } | StaticId::Iteration | StaticId::Folded => None,
        }
    }

    /// The line of a call site or loop in the source.
    pub(crate) fn line(self) -> Option<u32> {
        match self {
            StaticId::CallSite { line, .. } | StaticId::SourceLoop { line, .. } => Some(line),
            _ => None,
        }
    }

    /// The region called, if it is a call.
    pub fn region(self) -> Option<RegionId> {
        match self {
            StaticId::Region(region) | StaticId::CallSite { region, .. } => Some(region),
            _ => None,
        }
    }
}

/// How a loop and its iterations became known, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopSource {
    /// The program or its tracer marks the loop.
    Marked,
    /// Control flow of the binary.
    Binary,
    /// A file that describes the structure of the program.
    StructureFile,
    /// Order of calls learned from exact events.
    LearnedExact,
    /// Order of calls learned from samples.
    LearnedSampled,
    /// Order of lines in the source.
    LineOrder,
    /// A body that repeats three times or more.
    TandemRepeat,
}

impl LoopSource {
    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            LoopSource::Marked => "marked",
            LoopSource::Binary => "binary",
            LoopSource::StructureFile => "structure-file",
            LoopSource::LearnedExact => "learned-exact",
            LoopSource::LearnedSampled => "learned-sampled",
            LoopSource::LineOrder => "line-order",
            LoopSource::TandemRepeat => "tandem-repeat",
        }
    }
}

/// Durations of the instances averaged into a node, in ticks.
///
/// Among locations a missing instance counts as 0; among iterations of the same locations
/// the values are the weighted means of the iterations' values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// Number of locations.
    pub n: u32,
    /// Sum over them.
    pub sum: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Stats {
    /// The statistics of one location.
    pub fn one(duration: f64) -> Self {
        Stats { n: 1, sum: duration, min: duration, max: duration }
    }

    /// `sum / n`; 0 if `n` is 0.
    pub fn mean(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.sum / f64::from(self.n) }
    }
}

/// An instance, or the average of instances, of one static construct.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// What it is an instance of.
    pub id: StaticId,
    /// The durations it is averaged from.
    pub stats: Stats,
    /// What is inside.
    pub body: Body,
}

/// Times before, between and after calls; those of the many calls with at most one call inside need no allocation.
pub type Gaps = SmallVec<[f64; 2]>;

/// The inside of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Body {
    /// Children in order of time.
    Call {
        /// Time before, between and after the children; one more than children.
        gaps: Gaps,
        /// Calls and loops inside.
        children: Vec<Node>,
    },
    /// Iterations, in clusters.
    Loop(Box<LoopBody>),
    /// Instances added up: no order, only durations.
    Profile {
        /// Time outside of the children.
        self_time: f64,
        /// Number of instances.
        visits: f64,
        /// What was called, by id.
        children: Vec<Node>,
    },
}

/// The iterations of a loop; `T` is the form their averages have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopBody<T = Node> {
    /// How the loop became known.
    pub source: LoopSource,
    /// How its iterations are told apart.
    pub cfg_source: LoopSource,
    /// Time between, before and after the iterations that belongs to none of them.
    pub gap: f64,
    /// Iterations that are alike, by the first of them.
    pub clusters: Vec<IterationCluster<T>>,
    /// For each iteration the index of its cluster. Rejected ones keep their place, so that iterations of two
    /// locations have the same numbers although other ones were too short to be accepted.
    pub map: Runs,
    /// Children of rejected iterations, by id.
    pub profiles: Vec<Node>,
    /// Number of rejected iterations.
    pub rejected: u64,
    /// Whether there may have been more iterations than were found, as in samples, or fewer, as in the average of loops
    /// of different lengths, which is as long as the longest.
    pub is_estimate: bool,
}

/// Iterations that are alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IterationCluster<T = Node> {
    /// Number of iterations.
    pub n: u64,
    /// Their average.
    pub tree: T,
}

impl Node {
    /// A call without children.
    pub fn leaf(id: StaticId, duration: f64) -> Self {
        Node {
            id,
            stats: Stats::one(duration),
            body: Body::Call { gaps: smallvec![duration], children: Vec::new() },
        }
    }

    /// A call of one location with what is inside.
    ///
    /// # Panics
    /// If there is not one gap more than children.
    pub fn call(id: StaticId, gaps: impl Into<Gaps>, children: Vec<Node>) -> Self {
        let gaps = gaps.into();
        assert_eq!(gaps.len(), children.len() + 1, "a gap before, between and after the children");
        let duration =
            gaps.iter().sum::<f64>() + children.iter().map(|child| child.stats.mean()).sum::<f64>();
        Node { id, stats: Stats::one(duration), body: Body::Call { gaps, children } }
    }

    /// A loop of one location.
    pub fn of_loop(id: StaticId, body: LoopBody) -> Self {
        let of_clusters = body.clusters.iter().map(|c| c.n as f64 * c.tree.stats.mean());
        let of_profiles = body.profiles.iter().map(|profile| profile.stats.mean());
        let duration = body.gap + of_clusters.sum::<f64>() + of_profiles.sum::<f64>();
        Node { id, stats: Stats::one(duration), body: Body::Loop(Box::new(body)) }
    }

    /// A profile of one location; children are sorted and united.
    pub fn profile(id: StaticId, self_time: f64, visits: f64, children: Vec<Node>) -> Self {
        let mut united = Vec::new();
        for child in children {
            add_profile(&mut united, child.into_profile());
        }
        let body = Body::Profile { self_time, visits, children: united };
        Node { id, stats: Stats::one(body.duration()), body }
    }

    /// A profile of no instance.
    pub(crate) fn no_instance(id: StaticId) -> Self {
        let body = Body::Profile { self_time: 0.0, visits: 0.0, children: Vec::new() };
        Node { id, stats: Stats::default(), body }
    }

    /// Time from its start to its end, in ticks; of a profile, the sum over its instances.
    pub fn duration(&self) -> f64 {
        self.body.duration()
    }

    /// Adds the durations of another node to those of this one, as a profile.
    pub(crate) fn absorb(&mut self, other: Node) {
        if !matches!(self.body, Body::Profile { .. }) {
            *self = std::mem::replace(self, Node::leaf(self.id, 0.0)).into_profile();
        }
        unite(self, other.into_profile());
    }

    /// Adds an instance of one location to a profile: by `add` what is inside, the sum of which `add` returns, and the
    /// duration; `None` is that sum.
    pub(crate) fn add_instance(&mut self, duration: Option<f64>, add: impl FnOnce(&mut Vec<Node>) -> f64) {
        let Body::Profile { self_time, visits, children } = &mut self.body else { return };
        let inside = add(children);
        let duration = duration.unwrap_or(inside);
        *self_time += duration - inside;
        *visits += 1.0;
        let Stats { n, sum, min, max } = &mut self.stats;
        *n = (*n).max(1);
        for value in [sum, min, max] {
            *value += duration;
        }
    }

    /// Number of nodes, this one and those of averaged iterations included.
    pub fn n_nodes(&self) -> usize {
        1 + match &self.body {
            Body::Call { children, .. } | Body::Profile { children, .. } => {
                children.iter().map(Node::n_nodes).sum::<usize>()
            }
            Body::Loop(body) => body
                .clusters
                .iter()
                .map(|c| c.tree.n_nodes())
                .chain(body.profiles.iter().map(Node::n_nodes))
                .sum(),
        }
    }

    /// The children of a call or profile; empty for a loop, see [`LoopBody::clusters`].
    pub fn children(&self) -> &[Node] {
        match &self.body {
            Body::Call { children, .. } | Body::Profile { children, .. } => children,
            Body::Loop(_) => &[],
        }
    }

    /// The iterations, if it is a loop.
    pub(crate) fn as_loop(&self) -> Option<&LoopBody> {
        match &self.body {
            Body::Loop(body) => Some(body),
            _ => None,
        }
    }

    /// The same durations without order. Iterations are dissolved into their loop.
    #[must_use]
    pub fn into_profile(self) -> Node {
        match &self.body {
            Body::Profile { .. } => self,
            _ => self.to_profile().into_owned(),
        }
    }

    /// [`Node::into_profile`] of one that stays.
    pub(crate) fn to_profile(&self) -> Cow<'_, Node> {
        let mut united = Vec::new();
        let (self_time, visits) = match &self.body {
            Body::Profile { .. } => return Cow::Borrowed(self),
            Body::Call { gaps, children } => {
                for child in children {
                    add_profile(&mut united, child.to_profile().into_owned());
                }
                (gaps.iter().sum(), 1.0)
            }
            Body::Loop(body) => {
                let mut self_time = body.gap;
                for IterationCluster { n, tree } in &body.clusters {
                    let Body::Profile { self_time: own, children, .. } = tree.to_profile().into_owned().body
                    else {
                        continue;
                    };
                    self_time += own * *n as f64;
                    for mut child in children {
                        multiply(&mut child, *n as f64);
                        add_profile(&mut united, child);
                    }
                }
                for profile in &body.profiles {
                    add_profile(&mut united, profile.to_profile().into_owned());
                }
                (self_time, 1.0)
            }
        };
        let body = Body::Profile { self_time, visits, children: united };
        Cow::Owned(Node { id: self.id, stats: self.stats, body })
    }
}

impl Body {
    /// Time from start to end, in ticks.
    pub fn duration(&self) -> f64 {
        match self {
            Body::Call { gaps, children } => {
                gaps.iter().sum::<f64>() + children.iter().map(Node::duration).sum::<f64>()
            }
            Body::Loop(body) => body.duration(),
            Body::Profile { self_time, children, .. } => {
                self_time + children.iter().map(Node::duration).sum::<f64>()
            }
        }
    }
}

impl<T> LoopBody<T> {
    /// A loop without an iteration.
    pub(crate) fn empty(source: LoopSource, cfg_source: LoopSource) -> Self {
        LoopBody {
            source,
            cfg_source,
            gap: 0.0,
            clusters: Vec::new(),
            map: Runs::default(),
            profiles: Vec::new(),
            rejected: 0,
            is_estimate: false,
        }
    }

    /// Number of accepted iterations.
    pub fn n_iterations(&self) -> u64 {
        self.map.n_accepted()
    }
}

impl LoopBody {
    /// Time from its start to its end.
    pub(crate) fn duration(&self) -> f64 {
        self.gap
            + self.clusters.iter().map(|c| c.n as f64 * c.tree.duration()).sum::<f64>()
            + self.profiles.iter().map(Node::duration).sum::<f64>()
    }

    /// The time and the calls of `n` iterations of a cluster, as a profile: time outside of calls, and calls by id.
    pub(crate) fn add_iterations(&self, cluster: usize, n: f64, gap: &mut f64, profiles: &mut Vec<Node>) {
        let Some(cluster) = self.clusters.get(cluster) else { return };
        let Body::Profile { self_time, children, .. } = cluster.tree.to_profile().into_owned().body else {
            return;
        };
        *gap += self_time * n;
        for mut child in children {
            multiply(&mut child, n);
            add_profile(profiles, child);
        }
    }
}

/// The profile of an id in `into`, which stays sorted; an empty one if there was none.
pub(crate) fn profile_of(into: &mut Vec<Node>, id: StaticId) -> &mut Node {
    let at = match into.binary_search_by(|node| node.id.cmp(&id)) {
        Ok(at) => at,
        Err(at) => {
            if into.is_empty() {
                // Most calls of samples have no other callee than this one.
                into.reserve_exact(1);
            }
            into.insert(at, Node::no_instance(id));
            at
        }
    };
    &mut into[at]
}

/// Adds the durations of a profile to those of the same id in `into`, which stays sorted.
pub fn add_profile(into: &mut Vec<Node>, profile: Node) {
    match into.binary_search_by(|node| node.id.cmp(&profile.id)) {
        Err(at) => into.insert(at, profile),
        Ok(at) => unite(&mut into[at], profile),
    }
}

/// Adds the durations of one profile to those of another.
fn unite(node: &mut Node, profile: Node) {
    let stats = &mut node.stats;
    // The same locations ran both: their durations add, the greatest at most to the sum of the greatest.
    stats.n = stats.n.max(profile.stats.n);
    stats.sum += profile.stats.sum;
    stats.min += profile.stats.min;
    stats.max += profile.stats.max;
    let (
        Body::Profile { self_time, visits, children },
        Body::Profile { self_time: s, visits: v, children: c },
    ) = (&mut node.body, profile.body)
    else {
        unreachable!("only profiles are in a list of profiles");
    };
    *self_time += s;
    *visits += v;
    for child in c {
        add_profile(children, child);
    }
}

/// Turns one instance in a profile into `n`.
fn multiply(node: &mut Node, n: f64) {
    let Stats { sum, min, max, .. } = &mut node.stats;
    for value in [sum, min, max] {
        *value *= n;
    }
    if let Body::Profile { self_time, visits, children } = &mut node.body {
        *self_time *= n;
        *visits *= n;
        for child in children {
            multiply(child, n);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(region: u32) -> StaticId {
        StaticId::Region(RegionId(region))
    }

    #[test]
    fn a_profile_keeps_every_duration() {
        let tree = |a: f64| Node::call(StaticId::Iteration, vec![1.0, 2.0], vec![Node::leaf(id(3), a)]);
        let body = LoopBody {
            source: LoopSource::TandemRepeat,
            cfg_source: LoopSource::TandemRepeat,
            gap: 0.5,
            clusters: vec![
                IterationCluster { n: 3, tree: tree(10.0) },
                IterationCluster { n: 1, tree: tree(20.0) },
            ],
            map: Runs::from_values([0, 0, 1, 0]),
            profiles: vec![Node::profile(id(4), 7.0, 2.0, Vec::new())],
            rejected: 2,
            is_estimate: false,
        };
        let node = Node::of_loop(StaticId::FoundLoop { key: RegionId(3), level: 0 }, body);
        assert!((node.duration() - (0.5 + 3.0 * 13.0 + 23.0 + 7.0)).abs() < 1e-12);
        let profile = node.clone().into_profile();
        assert!((profile.duration() - node.duration()).abs() < 1e-12);
        let Body::Profile { self_time, children, .. } = &profile.body else { panic!("{profile:?}") };
        assert!((self_time - 12.5).abs() < 1e-12);
        assert_eq!(
            children.iter().map(|c| (c.id, c.duration())).collect::<Vec<_>>(),
            [(id(3), 50.0), (id(4), 7.0)]
        );
        let Body::Profile { visits, .. } = children[0].body else { panic!("{profile:?}") };
        assert!((visits - 4.0).abs() < 1e-12);
    }
}
