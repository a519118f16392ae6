//! Which part of an iteration each synchronisation ends, for who finds loops by other means than phases.
//!
//! ```text
//! phases    M A │ X A │ M A │ X A      one loop of two phases an iteration
//! parts       1     2     1     2      of the synchronisations, in order, at every location
//! ```
//!
//! Law: synchronisations are counted as [`Phases`](super::Phases) counts them, so loops over synchronisations of equal
//! parts have the iterations of the phases. Groups whose synchronisations are all alike have no parts.

use super::anchors::{AnchorRules, Flags};
use super::contents;
use super::output::{AlignedBy, PhasesOutput};
use crate::peers::{PeerGroup, PeerGroups, PeerKind};
use crate::semantics::Semantics;
use ouzel_engine::SelectionCx;
use ouzel_model::{CommId, RegionId};
use serde::{Deserialize, Serialize};

/// The parts of iterations that synchronisations end, by peer group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationParts {
    groups: Vec<(PeerKind, Vec<u32>)>,
}

impl IterationParts {
    /// Of these phases; `None` if no synchronisations of one place are parts of different kinds.
    pub fn new(phases: &PhasesOutput) -> Option<Self> {
        let is_counted = |group: &&super::PhaseGroup| {
            group.phases_per_entry == 1 && group.aligned_by == AlignedBy::Synchronisations
        };
        let groups = phases.groups.iter().filter(is_counted);
        let groups: Vec<_> = groups.filter_map(|group| Some((group.kind, contents::parts(group)?))).collect();
        (!groups.is_empty()).then_some(IterationParts { groups })
    }
}

/// How to count the synchronisations of a peer group, and the part that each ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PartRules {
    rules: AnchorRules,
    parts: Vec<u32>,
}

impl PartRules {
    /// By peer group; `None` for groups that have no parts.
    pub fn by_group(
        parts: &IterationParts,
        cx: &SelectionCx<'_>,
        peers: &PeerGroups,
        semantics: &Semantics,
    ) -> Vec<Option<PartRules>> {
        let classes = semantics.classes(cx.definitions);
        let of_group = |group: &PeerGroup| {
            let (_, parts) = parts.groups.iter().find(|(kind, _)| *kind == group.kind)?;
            Some(PartRules { rules: AnchorRules::new(cx, group, &classes), parts: parts.clone() })
        };
        peers.groups().iter().map(of_group).collect()
    }
}

/// Counts the synchronisations of one location.
#[derive(Debug, Default)]
pub struct AnchorCounter {
    frames: Vec<Flags>,
    /// Open calls inside of a call whose callees are ignored, itself included.
    n_inside_leaf: u32,
    n_anchors: usize,
}

impl AnchorCounter {
    /// `region` is entered; it is hidden if something else is shown in its place.
    #[inline]
    pub fn enter(&mut self, rules: &PartRules, region: RegionId, is_hidden: bool) {
        if 0 < self.n_inside_leaf {
            self.n_inside_leaf += 1;
            return;
        }
        let flags = rules.rules.flags(region);
        let flags = if is_hidden { rules.rules.of_hidden(flags) } else { flags };
        self.n_inside_leaf = u32::from(flags.has(Flags::LEAF));
        self.frames.push(flags);
    }

    /// The innermost call takes part in a blocking collective.
    #[inline]
    pub fn collective(&mut self, rules: &PartRules, comm: CommId) {
        if let Some(flags) = self.frames.last_mut().filter(|flags| flags.has(Flags::SYNC)) {
            *flags = flags.union(rules.rules.recorded(comm));
        }
    }

    /// The innermost call is left; the part that ends with it if it synchronises all peers.
    #[inline]
    pub fn leave(&mut self, rules: &PartRules) -> Option<u32> {
        if 1 < self.n_inside_leaf {
            self.n_inside_leaf -= 1;
            return None;
        }
        self.n_inside_leaf = 0;
        if !self.frames.pop()?.is_anchor() {
            return None;
        }
        self.n_anchors += 1;
        Some(rules.parts.get(self.n_anchors - 1).copied().unwrap_or(contents::FIRST_PART))
    }
}
