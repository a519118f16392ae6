//! Temporal context trees from call-path samples.
//!
//! ```text
//! (time, path, what stayed) ─push─► open frames ─finish─► SampledTree ─relative─► iterations, in a Node
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
mod relative;
#[cfg(test)]
mod serialised_output;
#[cfg(test)]
mod tests;

pub(crate) use location::SampleTiming;
pub use location::{LocationSamples, SampleDoubts, SampledLocation};
pub use paths::SampledPaths;

use crate::node::{Node, StaticId, add_profile, profile_of};
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
    /// Number of nodes inside of it: those right behind it in the tree.
    pub n_inside: u32,
    /// Its first sample; the true start is at most one interval earlier.
    pub first: Ticks,
    /// Its last sample.
    pub last: Ticks,
    /// The first sample without it; the true end is at most one interval earlier.
    pub end: Ticks,
    /// Of short calls that lost their order: their durations.
    pub folded: Option<Box<Node>>,
    /// The worst evidence for its continuity from sample to sample.
    pub continuity: LcaQuality,
    /// Whether it, or a call inside of it, is recorded: then it was there for certain, however short it was.
    pub has_recorded: bool,
    /// Whether it is itself recorded: then each of its instances is known.
    pub is_recorded: bool,
}

/// The tree of one location.
#[derive(Debug, Clone, PartialEq)]
pub struct SampledTree {
    /// Calls and loops in order of time, each followed by what is inside of it; the first is the root, whose range is that
    /// of all samples.
    pub nodes: Vec<SampledNode>,
    /// Number of samples.
    pub n_samples: u64,
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
        self.end.since(self.first)
    }

    /// Number of nodes that it is kept in, without those inside of it.
    fn n_kept(&self) -> usize {
        1 + self.folded.as_ref().map_or(0, |folded| folded.n_nodes())
    }
}

/// Neighbours in a part of a tree, each with what is inside of it.
fn neighbours(mut nodes: &[SampledNode]) -> impl Iterator<Item = &[SampledNode]> + Clone {
    std::iter::from_fn(move || {
        let (next, behind) = nodes.split_at(1 + nodes.first()?.n_inside as usize);
        nodes = behind;
        Some(next)
    })
}

/// The next of the neighbours in a part of a tree, with what is inside of it.
fn next_of<'t>(nodes: &mut &'t mut [SampledNode]) -> Option<&'t mut [SampledNode]> {
    let n = 1 + nodes.first()?.n_inside as usize;
    let (next, behind) = std::mem::take(nodes).split_at_mut(n);
    *nodes = behind;
    Some(next)
}

/// Adds only the durations of a node to those of the same id in `into`, which stays sorted; returns the sum of what was
/// added. `nodes` are the node and what is inside of it; what was folded there is moved.
///
/// Durations are whole ticks, so sums do not depend on their order.
fn add_durations(nodes: &mut [SampledNode], into: &mut Vec<Node>) -> f64 {
    match nodes[0].folded.take() {
        Some(folded) => {
            let duration = folded.duration();
            add_profile(into, *folded);
            duration
        }
        None => add_instance(nodes, profile_of(into, nodes[0].id)),
    }
}

/// Adds the durations of a node that is not folded to the profile of its id; returns its own.
fn add_instance(nodes: &mut [SampledNode], profile: &mut Node) -> f64 {
    let (node, mut inside) = nodes.split_first_mut().expect("a node");
    let duration = node.duration().0 as f64;
    profile.add_instance(Some(duration), |children| {
        let mut sum = 0.0;
        while let Some(child) = next_of(&mut inside) {
            sum += add_durations(child, children);
        }
        sum
    });
    duration
}
