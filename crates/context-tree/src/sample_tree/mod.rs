//! Temporal context trees from call-path samples.
//!
//! ```text
//! (time, path, what stayed) ─push─► open frames ─finish─► SampledNode ─identify─► iterations ─into_node─► Node
//! ```
//!
//! A sample owns the time until the next one; the last owns one sampling interval. A node begins at its first
//! sample and ends at the first sample without it, so siblings abut and durations sum to the time sampled.
//! Law: a node is one instance as far as the samples show. Its [`LcaQuality`] tells how reliable that is:
//! - `Exact`: the tracer records how many frames stayed. Frames beyond are new instances. A loop directly below a
//!   frame that stayed is taken to have stayed, as is a loop below such a loop: procedures leave marks, loops none.
//! - `UpperBound`: the tracer records how many can have stayed. Frames beyond are certainly new instances.
//!   Frames within are *taken* to be the same instances if their call sites are, which no record shows: the bound
//!   can only disprove continuity, and every node that continues on this assumption is marked.
//! - `Inferred`: the tracer records nothing. Equal call sites at the outer end of two paths are taken to be the same
//!   instances, and every node that continues on it is marked. Two calls in a row from one site become one.
//!
//! Source: Wei and Mellor-Crummey, ICS'18, sections 3.1 and 3.2. The paper is not consistent about what a sample
//! represents (Fig. 4 draws closed ranges, Fig. 7 counts periods); [`SampledNode::first`] and
//! [`SampledNode::last`] are the ranges of Fig. 4.

mod builder;
mod code_flow;
mod evidence;
mod found_loops;
mod iterations;
mod location;
mod paths;
#[cfg(test)]
mod serialised_output;
#[cfg(test)]
mod tests;

pub(crate) use location::SampleTiming;
pub use location::{LocationSamples, SampleDoubts, SampledLocation};
pub use paths::SampledPaths;

use crate::cluster::{Members, Weighted, cluster};
use crate::merger::Merger;
use crate::node::{
    Body, Gaps, IterationCluster, LoopBody, LoopSource, Node, StaticId, Stats, add_profile, profile_of,
};
use crate::run_length::{REJECTED, Runs};
use ouzel_model::{Definitions, RegionRole, SampledFrame, Ticks};
use serde::{Deserialize, Serialize};

/// What is known about whether two samples saw the same instance, best first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LcaQuality {
    /// Recorded.
    #[default]
    Exact,
    /// Bounded from above: it is known where instances ended, not whether they went on.
    UpperBound,
    /// Guessed from equal call sites.
    Inferred,
}

impl LcaQuality {
    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            LcaQuality::Exact => "exact",
            LcaQuality::UpperBound => "upper_bound",
            LcaQuality::Inferred => "inferred",
        }
    }
}

/// What a frame of a sampled path is an instance of.
pub(crate) fn static_id(definitions: &Definitions, frame: SampledFrame) -> StaticId {
    let SampledFrame { region, call_line } = frame;
    let defined = definitions.region(region);
    match (defined.role, call_line) {
        (RegionRole::Loop, line) => StaticId::SourceLoop { region, line: defined.line.or(line).unwrap_or(0) },
        (_, Some(line)) => StaticId::CallSite { region, line },
        (_, None) => StaticId::Region(region),
    }
}

/// One instance, in absolute time.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledNode {
    /// What it is an instance of.
    pub id: StaticId,
    /// Its first sample.
    pub first: Ticks,
    /// Its last sample.
    pub last: Ticks,
    /// Equal to `first`; the true start is at most one interval earlier.
    pub start: Ticks,
    /// The first sample without it; the true end is at most one interval earlier.
    pub end: Ticks,
    /// Number of samples.
    pub n_samples: u64,
    /// The worst evidence for its continuity from sample to sample.
    pub continuity: LcaQuality,
    /// Whether it, or a call inside of it, is recorded: then it was there for certain, however short it was.
    pub has_recorded: bool,
    /// Whether it is itself recorded: then each of its instances is known.
    pub is_recorded: bool,
    /// What is inside.
    pub inside: Inside,
}

/// The inside of a [`SampledNode`].
#[derive(Debug, Clone, PartialEq)]
pub enum Inside {
    /// Calls and loops in order of time.
    Ordered(Vec<SampledNode>),
    /// A loop with its iterations.
    Iterations(Box<SampledIterations>),
    /// Only durations: a profile.
    Profile(Box<Node>),
}

/// The iterations of a loop. Apart, as there are few loops among the calls of a tree.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledIterations {
    /// Accepted iterations, in order of time.
    pub accepted: Vec<SampledNode>,
    /// What was called in rejected ones, by id.
    pub profiles: Vec<Node>,
    /// Whether each iteration is accepted, in order of time.
    pub is_accepted: Vec<bool>,
    /// Number of rejected ones.
    pub n_rejected: u64,
    /// Whether there may have been more.
    pub is_estimate: bool,
    /// How the loop became known.
    pub source: LoopSource,
    /// How its control flow became known.
    pub cfg_source: LoopSource,
}

/// The tree of one location.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledTree {
    /// The root; its range is that of all samples.
    pub root: SampledNode,
    /// Median interval between samples.
    pub period: Ticks,
    /// Worst quality of a record that kept a node open.
    pub quality: LcaQuality,
    /// Records that claim more frames stayed than the two paths have in common.
    pub n_inconsistent: u64,
    /// Samples with more frames than are kept.
    pub n_too_deep: u64,
    /// Calls shorter than this were folded because the tree was too large; 0 if none.
    pub folded_below: Ticks,
}

/// Whether a frame is a loop rather than a procedure.
fn is_loop(id: StaticId) -> bool {
    matches!(id, StaticId::SourceLoop { .. } | StaticId::FoundLoop { .. })
}

impl SampledNode {
    /// From start to end.
    pub fn duration(&self) -> Ticks {
        self.end.since(self.start)
    }

    /// Number of nodes, this one included; a profile counts with its own.
    pub fn n_nodes(&self) -> usize {
        1 + match &self.inside {
            Inside::Ordered(children) => children.iter().map(SampledNode::n_nodes).sum(),
            Inside::Iterations(inside) => {
                inside.accepted.iter().map(SampledNode::n_nodes).sum::<usize>()
                    + inside.profiles.iter().map(Node::n_nodes).sum::<usize>()
            }
            Inside::Profile(profile) => profile.n_nodes(),
        }
    }

    /// The same as a profile with the id [`StaticId::Folded`] around it.
    fn into_folded(mut self) -> SampledNode {
        if self.id != StaticId::Folded {
            let mut folded = Box::new(Node::no_instance(StaticId::Folded));
            self.fold_into(&mut folded);
            self.inside = Inside::Profile(folded);
            self.id = StaticId::Folded;
        }
        self
    }

    /// Adds only the durations to a profile of folded calls. What is inside of it may be moved.
    fn fold_into(&mut self, folded: &mut Node) {
        match &mut self.inside {
            Inside::Profile(profile) if self.id == StaticId::Folded => folded.absorb(taken(profile)),
            _ => folded.add_instance(None, |children| self.add_to(children)),
        }
    }

    /// Only the durations, by id.
    pub fn into_profile(mut self) -> Box<Node> {
        match self.inside {
            Inside::Profile(profile) => profile,
            _ => {
                let mut profile = Box::new(Node::no_instance(self.id));
                self.add_instance_to(&mut profile);
                profile
            }
        }
    }

    /// Adds only the durations to those of the same id in `into`, which stays sorted; returns the sum of what was added.
    /// Profiles inside of it are moved; the calls, of which there can be very many, stay where they are.
    ///
    /// Durations are whole ticks, so sums do not depend on their order.
    fn add_to(&mut self, into: &mut Vec<Node>) -> f64 {
        if let Inside::Profile(profile) = &mut self.inside {
            let duration = profile.duration();
            add_profile(into, taken(profile));
            return duration;
        }
        self.add_instance_to(profile_of(into, self.id));
        self.duration().0 as f64
    }

    /// Adds the durations of one that is no profile to the profile of its id.
    fn add_instance_to(&mut self, profile: &mut Node) {
        let duration = self.duration().0 as f64;
        let add = |nodes: &mut [SampledNode], children: &mut Vec<Node>| -> f64 {
            nodes.iter_mut().map(|node| node.add_to(children)).sum()
        };
        profile.add_instance(Some(duration), |children| match &mut self.inside {
            Inside::Profile(_) => unreachable!("profiles are moved as they are"),
            Inside::Ordered(nodes) => add(nodes, children),
            Inside::Iterations(inside) => {
                let mut of_iteration = |iteration: &mut SampledNode| match &mut iteration.inside {
                    Inside::Ordered(nodes) => add(nodes, children),
                    _ => 0.0,
                };
                let mut sum: f64 = inside.accepted.iter_mut().map(&mut of_iteration).sum();
                for profile in inside.profiles.drain(..) {
                    sum += profile.duration();
                    add_profile(children, profile);
                }
                sum
            }
        });
    }

    /// The tree in relative form; iterations are clustered by `merger`, inner loops first.
    pub(crate) fn into_node(self, merger: &Merger<'_>) -> Node {
        self.into_timed(merger).0
    }

    /// The tree in relative form, and its duration.
    fn into_timed(self, merger: &Merger<'_>) -> (Node, f64) {
        let SampledNode { id, start, end, inside, .. } = self;
        match inside {
            Inside::Profile(profile) => {
                let duration = profile.duration();
                (*profile, duration)
            }
            Inside::Ordered(children) => {
                let (mut gaps, mut at) = (Gaps::with_capacity(children.len() + 1), start);
                let (mut nodes, mut inside) = (Vec::with_capacity(children.len()), 0.0);
                for child in children {
                    gaps.push(child.start.since(at).0 as f64);
                    at = child.end;
                    let (node, duration) = child.into_timed(merger);
                    inside += duration;
                    nodes.push(node);
                }
                gaps.push(end.since(at).0 as f64);
                let duration = gaps.iter().sum::<f64>() + inside;
                let body = Body::Call { gaps, children: nodes };
                (Node { id, stats: Stats::one(duration), body }, duration)
            }
            Inside::Iterations(inside) => {
                let mut body = inside.into_loop(merger);
                let whole = end.since(start).0 as f64;
                body.gap = (whole - body.duration()).max(0.0);
                let node = Node::of_loop(id, body);
                let duration = node.duration();
                (node, duration)
            }
        }
    }
}

impl SampledIterations {
    /// The loop, without time outside of iterations.
    fn into_loop(self, merger: &Merger<'_>) -> LoopBody {
        let SampledIterations {
            accepted,
            profiles,
            is_accepted,
            n_rejected,
            is_estimate,
            source,
            cfg_source,
        } = self;
        let n = accepted.len();
        let nodes = accepted.into_iter().map(|iteration| iteration.into_node(merger)).collect();
        let clusters = cluster(nodes, merger);
        let mut of = vec![0; n];
        for (i, (members, _)) in (0..).zip(&clusters) {
            members.iter().for_each(|&member| of[member] = i);
        }
        let cluster = |(members, average): (Members, Weighted)| IterationCluster {
            n: members.len() as u64,
            tree: average.tree,
        };
        LoopBody {
            source,
            cfg_source,
            gap: 0.0,
            clusters: clusters.into_iter().map(cluster).collect(),
            map: map_of(&is_accepted, &of),
            profiles,
            rejected: n_rejected,
            is_estimate,
        }
    }
}

/// A profile, which leaves an empty one in its place.
fn taken(profile: &mut Node) -> Node {
    let id = profile.id;
    std::mem::replace(profile, Node::profile(id, 0.0, 0.0, Vec::new()))
}

/// The cluster of each iteration, given those of the accepted ones.
fn map_of(is_accepted: &[bool], clusters: &[u32]) -> Runs {
    let mut clusters = clusters.iter().copied();
    let of = |&is_accepted: &bool| if is_accepted { clusters.next().unwrap_or(REJECTED) } else { REJECTED };
    Runs::from_values(is_accepted.iter().map(of).collect::<Vec<_>>())
}
