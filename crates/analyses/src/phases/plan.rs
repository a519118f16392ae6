//! Which synchronisations all peers had in common, as data; see `planning` for how they are found.

use super::periods::SamplePeriodsOutput;
use crate::peers::PeerKind;
use ouzel_model::{LocationId, RegionId, Ticks};
use serde::{Deserialize, Serialize};

/// The common synchronisations of some peer groups.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorPlan {
    /// Plans of groups that need one.
    pub(super) groups: Vec<GroupPlan>,
    /// The sampling period of each location that has one.
    pub(super) periods: SamplePeriodsOutput,
}

/// The common synchronisations of one peer group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GroupPlan {
    pub kind: PeerKind,
    /// In order of time.
    pub anchors: Vec<PlannedAnchor>,
    /// The longest sampling period of a member; 0 if none is sampled.
    pub period: Ticks,
}

/// A synchronisation of all peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlannedAnchor {
    pub region: RegionId,
    /// When it was complete.
    pub time: Ticks,
    /// Whether a phase ends here also where iterations are too short for the sampling period.
    pub ends_stretch: bool,
}

impl AnchorPlan {
    /// Keeps the plans of groups whose members are sampled, or that have more synchronisations than `n_known` says.
    pub fn retain_better(&mut self, n_known: impl Fn(PeerKind) -> u64) {
        self.groups
            .retain(|group| group.period != Ticks(0) || n_known(group.kind) < group.anchors.len() as u64);
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    pub(super) fn group(&self, kind: PeerKind) -> Option<&GroupPlan> {
        self.groups.iter().find(|group| group.kind == kind)
    }

    /// The sampling period of a location; 0 if its calls are exact.
    pub(super) fn period(&self, location: LocationId) -> Ticks {
        self.periods.of_samples_alone(location)
    }
}

impl GroupPlan {
    /// Whether a call of `region` from `enter` to `leave`, uncertain by `slack`, is one of the synchronisations.
    pub fn has(&self, region: RegionId, (enter, leave): (Ticks, Ticks), slack: Ticks) -> bool {
        let from = self.anchors.partition_point(|it| after(it.time, slack) < enter);
        let to = after(leave, slack);
        self.anchors[from..].iter().take_while(|it| it.time <= to).any(|it| it.region == region)
    }
}

/// Some time after `time`.
pub(super) fn after(time: Ticks, duration: Ticks) -> Ticks {
    Ticks(time.0.saturating_add(duration.0))
}

/// `√(2 ln n)`: by how many standard deviations the greatest of `n` equal values exceeds their mean, at most.
pub(super) fn noise_factor(n: u64) -> f64 {
    (2.0 * (n.max(2) as f64).ln()).sqrt()
}
