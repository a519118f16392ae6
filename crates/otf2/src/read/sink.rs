//! Where events go, which are wanted, and what was counted on the way.

use std::collections::BTreeMap;

use crate::records::{AttributeList, Event, EventKind};

/// Takes the events of one location, in the order of the file.
///
/// Enter and leave are separate from the others because nearly all events are
/// of these two kinds. Times are raw ticks: no clock correction, and not
/// always increasing. References are local to the location.
pub trait EventSink {
    /// A region begins.
    fn enter(&mut self, time: u64, region: u32);
    /// A region ends.
    fn leave(&mut self, time: u64, region: u32);
    /// Every other event.
    fn event(&mut self, time: u64, event: Event<'_>);
    /// Attributes of the event that comes next.
    fn attributes(&mut self, list: AttributeList<'_>) {
        let _ = list;
    }
}

/// A set of event kinds.
///
/// ```
/// use ouzel_otf2::read::EventKinds;
/// use ouzel_otf2::records::EventKind;
/// let unwanted = EventKinds::NONE.with(EventKind::Metric);
/// assert!(unwanted.contains(EventKind::Metric));
/// assert!(!unwanted.contains(EventKind::Enter));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventKinds(u128);

impl EventKinds {
    /// The empty set.
    pub const NONE: EventKinds = EventKinds(0);
    /// Every kind that this version knows.
    pub const ALL: EventKinds = {
        let mut all = EventKinds::NONE;
        let mut at = 0;
        while at < EventKind::ALL.len() {
            all = all.with(EventKind::ALL[at]);
            at += 1;
        }
        all
    };

    /// The kinds that are one number without a length before it.
    pub(super) const BARE: EventKinds = {
        let mut bare = EventKinds::NONE;
        let mut at = 0;
        while at < EventKind::ALL.len() {
            if EventKind::ALL[at].is_bare() {
                bare = bare.with(EventKind::ALL[at]);
            }
            at += 1;
        }
        bare
    };

    /// The set and one kind more.
    #[must_use]
    pub const fn with(self, kind: EventKind) -> Self {
        EventKinds(self.0 | 1 << kind.id())
    }

    /// The set without a kind.
    #[must_use]
    pub const fn without(self, kind: EventKind) -> Self {
        EventKinds(self.0 & !(1 << kind.id()))
    }

    /// Whether the kind is in the set.
    #[inline]
    pub const fn contains(self, kind: EventKind) -> bool {
        self.contains_id(kind.id())
    }

    #[inline]
    pub(super) const fn contains_id(self, id: u8) -> bool {
        id < 128 && self.0 >> id & 1 == 1
    }
}

/// What a reader of events met so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventCounts {
    /// Events, also skipped and unknown ones.
    pub events: u64,
    /// Events that the chunk headers met so far claim.
    pub events_claimed: u64,
    /// Chunks begun.
    pub chunks: u64,
    /// Chunks with more or fewer events than their header claims.
    pub chunks_miscounted: u64,
    /// Events whose bodies were skipped because no caller needs them.
    pub skipped: u64,
    /// Events of kinds that this version does not know, by id.
    pub unknown: BTreeMap<u8, u64>,
    /// Records with bytes after the fields that this version knows.
    pub longer_records: u64,
    /// Those bytes.
    pub trailing_bytes: u64,
    /// Attribute lists.
    pub attribute_lists: u64,
    /// Times before the time of the event before.
    pub steps_back: u64,
    /// The largest step back, in ticks.
    pub largest_step_back: u64,
    /// File offset of the first record that goes back.
    pub first_step_back: Option<u64>,
}

impl EventCounts {
    #[cold]
    pub(super) fn step_back(&mut self, ticks: u64, offset: u64) {
        self.steps_back += 1;
        self.largest_step_back = self.largest_step_back.max(ticks);
        self.first_step_back.get_or_insert(offset);
    }

    #[cold]
    pub(super) fn unknown_record(&mut self, id: u8) {
        *self.unknown.entry(id).or_default() += 1;
    }

    #[cold]
    pub(super) fn longer_record(&mut self, bytes: usize) {
        self.longer_records += 1;
        self.trailing_bytes += bytes as u64;
    }
}
