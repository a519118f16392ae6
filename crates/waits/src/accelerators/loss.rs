//! One loss, and the change that shows it.

use super::loss_kind::DeviceLossKind;
use super::replay::LengthChanges;
use ouzel_model::{CallPathId, LocationId, Ticks, TimeRange};
use std::collections::BTreeSet;

/// A loss.
#[derive(Debug, Clone)]
pub struct DeviceLoss {
    /// What it is.
    pub kind: DeviceLossKind,
    /// The code or call; the operation for communication and small kernels.
    pub call_path: CallPathId,
    /// Other call paths of which the same change gains the same time instead.
    pub alternatives: Vec<CallPathId>,
    /// The threads or streams that cause it.
    pub locations: BTreeSet<LocationId>,
    /// From the first call or operation that it is about to the last.
    pub range: TimeRange,
    /// What the run gains without it.
    pub gain: Ticks,
    /// Whether a replay found the gain.
    pub is_replayed: bool,
    /// Number of calls or operations.
    pub n: u64,
    /// Their time, before the change.
    pub time: Ticks,
    /// Whether there are collectives of which not all members are recorded: their time may be waiting for the others.
    pub lacks_members: bool,
}

/// A change and what it is about.
pub(super) struct Candidate {
    pub loss: DeviceLoss,
    pub changes: LengthChanges,
}

/// A loss whose gain is not known yet.
pub(super) fn loss(
    kind: DeviceLossKind,
    call_path: CallPathId,
    spans: impl Iterator<Item = (LocationId, TimeRange)>,
    n: usize,
    time: u64,
) -> DeviceLoss {
    let mut locations = BTreeSet::new();
    let mut range: Option<TimeRange> = None;
    for (location, span) in spans {
        locations.insert(location);
        range = Some(range.map_or(span, |range| range.and(span)));
    }
    DeviceLoss {
        kind,
        call_path,
        alternatives: Vec::new(),
        locations,
        range: range.unwrap_or(TimeRange { start: Ticks(0), end: Ticks(0) }),
        gain: Ticks(0),
        is_replayed: false,
        n: n as u64,
        time: Ticks(time),
        lacks_members: false,
    }
}
