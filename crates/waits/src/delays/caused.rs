//! A wait with its culprit, and the points where several locations were together.

use crate::class::WaitClass;
use crate::wait::{Culprit, Wait};
use ouzel_model::{CallPathId, LocationId, Ticks};

/// An operation after which all its members go on together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupPoint {
    /// When the first member left.
    pub at: Ticks,
    /// When each member left, by location.
    pub members: Vec<(LocationId, Ticks)>,
}

/// A wait with its culprit, whatever is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CausedWait {
    pub class: WaitClass,
    pub location: LocationId,
    /// As it is shown.
    pub path: CallPathId,
    pub start: Ticks,
    pub end: Ticks,
    pub leave: Ticks,
    pub culprit: Culprit,
    /// The part that is selected.
    pub counted: Ticks,
    /// Its place among the selected waits, if any of it is.
    pub place: usize,
}

impl CausedWait {
    /// A wait without a single culprit has no cause that could be followed.
    pub fn new(wait: &Wait, counted: Ticks, place: usize) -> Option<Self> {
        let &Wait { class, location, path, start, end, leave, .. } = wait;
        Some(CausedWait { class, location, path, start, end, leave, culprit: wait.culprit?, counted, place })
    }

    pub fn ticks(&self) -> Ticks {
        self.end.since(self.start)
    }
}
