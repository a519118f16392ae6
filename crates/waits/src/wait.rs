//! A wait, and which wait of a visit counts.

use crate::class::{Certainty, ClassRole, WaitClass};
use ouzel_model::{CallPathId, LocationId, Ticks};
use std::cmp::Reverse;

/// The call that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Culprit {
    /// Where.
    pub location: LocationId,
    /// Its call path.
    pub path: CallPathId,
    /// When it arrived: the call was entered, the collective began, the lock was released, the thread ended.
    pub arrived: Ticks,
    /// When the call was left; `arrived` where that is not kept (non-blocking operations).
    pub left: Ticks,
}

/// A range of time in which a call waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// What for.
    pub class: WaitClass,
    /// How far that is known.
    pub certainty: Certainty,
    /// Whether its end was cut, as the message came before it was sent.
    pub is_clamped: bool,
    /// Who waits.
    pub location: LocationId,
    /// The call that waits.
    pub path: CallPathId,
    /// When the call was entered.
    pub enter: Ticks,
    /// When it was left.
    pub leave: Ticks,
    /// When it began to wait.
    pub start: Ticks,
    /// When it could go on.
    pub end: Ticks,
    /// For whom, if that is one call.
    pub culprit: Option<Culprit>,
    /// Place of the message among the posted ends of the location; zero without a message.
    pub nth: u32,
}

/// Waiting of one class in one call path of a location: many short times without a single call that came late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitSum {
    /// What for.
    pub class: WaitClass,
    /// Whom it is charged to.
    pub location: LocationId,
    /// The call.
    pub path: CallPathId,
    /// How long, over all threads that wait.
    pub wait: Ticks,
    /// Number of times, each of one thread.
    pub n: u64,
    /// The longest time of one thread.
    pub longest: Ticks,
    /// When that one began.
    pub longest_at: Ticks,
}

impl WaitSum {
    /// Whether it is in the sum of all waiting.
    pub fn is_counted(&self) -> bool {
        self.class.role() == ClassRole::Primary
    }
}

impl Wait {
    /// How long.
    pub fn ticks(&self) -> Ticks {
        self.end.since(self.start)
    }

    /// Whether it is in the sum of all waiting.
    pub fn is_counted(&self) -> bool {
        self.class.role() == ClassRole::Primary && !self.is_only_possible()
    }

    /// Whether the send may as well have been busy.
    pub fn is_only_possible(&self) -> bool {
        self.certainty == Certainty::Possible
    }

    /// What tells visits apart: calls of one location that take time begin at different times or are inside each other.
    pub(crate) fn visit(&self) -> (LocationId, Ticks, CallPathId) {
        (self.location, self.enter, self.path)
    }
}

/// Leaves one wait of each visit: the longest, but a send waits for its receiver only where the visit waits for nothing
/// else, and possibly only where nothing is certain. Ties go to the smallest (culprit, place of the message).
pub(crate) fn longest_of_visits(waits: &mut Vec<Wait>) {
    waits.sort_unstable_by_key(|wait| {
        let preference = match (wait.class, wait.certainty) {
            (WaitClass::LateReceiver, Certainty::Possible) => 2,
            (WaitClass::LateReceiver, _) => 1,
            _ => 0,
        };
        let culprit = wait.culprit.map(|it| it.location);
        (wait.visit(), preference, Reverse(wait.ticks()), culprit, wait.nth, wait.class)
    });
    waits.dedup_by_key(|wait| wait.visit());
}
