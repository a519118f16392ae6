//! The state of one location, and of all locations of a peer group folded so far.
//!
//! ```text
//! location: cells by (entry, call path) ──summarised──► Aligned ◄──merge──► Aligned of others
//! ```
//!
//! An *entry* is a phase, or 2^s phases once there are more than [`MAX_ENTRIES`]; s depends on the
//! location's number of phases alone, and locations of different s are kept separate. An [`Aligned`] holds
//! the entries that all its locations have in common, and one tail for the rest.
//!
//! Law: merging is associative and commutative, also when it cuts. A maximum over locations of the part
//! after a cut cannot be computed from the maxima of the entries there, so the totals from an entry to the end
//! are kept as well, at the [borders](is_border) where a cut may be: every entry up to 16, then 8 in
//! each doubling. A cut goes to the last border within the common entries.

use super::by_peer::PeerRow;
use ouzel_model::{CallPathId, LocationId, RegionId, Remap, Ticks, TimeRange};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most entries kept of a group. With 10 call paths in each, cells take about 65 MB; chosen by the author.
pub(super) const MAX_ENTRIES: u64 = 1 << 16;

/// Whether a cut may be made before entry `entry`.
pub(super) fn is_border(entry: u64) -> bool {
    border_at_most(entry) == entry
}

/// The last border that is not after `entry`.
pub(super) fn border_at_most(entry: u64) -> u64 {
    let Some(octave) = entry.checked_ilog2() else { return 0 };
    let step = octave.saturating_sub(3);
    entry >> step << step
}

/// Time of one call path in some entry, over locations: sum and extremes of those with a visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Ticks of all of them. Stops at the greatest number.
    pub sum: Ticks,
    /// Ticks of the one with most.
    pub max: Ticks,
    /// Ticks of the one with least.
    pub min: Ticks,
    /// The one with most, the smallest id among equals.
    pub max_at: LocationId,
    /// The one with least, the smallest id among equals.
    pub min_at: LocationId,
}

impl Spread {
    /// That of one location.
    pub(super) fn one(ticks: Ticks, location: LocationId) -> Self {
        Spread { sum: ticks, max: ticks, min: ticks, max_at: location, min_at: location }
    }

    /// Adds a location.
    #[inline]
    fn add(&mut self, ticks: Ticks, location: LocationId) {
        self.merge(&Spread::one(ticks, location));
    }

    /// Adds other locations.
    #[inline]
    fn merge(&mut self, other: &Spread) {
        self.sum = Ticks(self.sum.0.saturating_add(other.sum.0));
        if self.max < other.max || (self.max == other.max && other.max_at < self.max_at) {
            (self.max, self.max_at) = (other.max, other.max_at);
        }
        if other.min < self.min || (other.min == self.min && other.min_at < self.min_at) {
            (self.min, self.min_at) = (other.min, other.min_at);
        }
    }

    /// Adds what the same locations spent elsewhere. The sum is exact; the extremes are bounds, as a location
    /// need not be the extreme one in both places.
    pub(super) fn add_bound(&mut self, other: &Spread) {
        self.sum = Ticks(self.sum.0.saturating_add(other.sum.0));
        if self.max < other.max {
            self.max_at = other.max_at;
        }
        self.max = Ticks(self.max.0.saturating_add(other.max.0));
        self.min = Ticks(self.min.0.saturating_add(other.min.0));
    }
}

/// Which cell: entry, call path, whether calls were collectives that left peers out.
pub(super) type CellKey = (u32, CallPathId, bool);

/// Times of one call path in one entry, over locations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellState {
    pub(super) key: CellKey,
    /// Locations with a visit.
    pub(super) n_seen: u32,
    pub(super) n_visits: u64,
    /// Visits that do not begin where one of the same path ended.
    pub(super) n_stays: u64,
    pub(super) inclusive: Spread,
    pub(super) exclusive: Spread,
    pub(super) busy: Spread,
}

impl CellState {
    /// See [`Spread::add_bound`].
    fn add_bound(&mut self, other: &CellState) {
        self.n_seen = self.n_seen.max(other.n_seen);
        self.n_visits += other.n_visits;
        self.n_stays += other.n_stays;
        self.inclusive.add_bound(&other.inclusive);
        self.exclusive.add_bound(&other.exclusive);
        self.busy.add_bound(&other.busy);
    }
}

/// Times of one call path in one entry, at one location.
#[derive(Debug, Clone, Copy)]
pub(super) struct OneCell {
    pub key: CellKey,
    pub n_visits: u64,
    pub n_stays: u64,
    pub inclusive: Ticks,
    pub exclusive: Ticks,
    pub busy: Ticks,
}

impl OneCell {
    /// No time.
    pub fn zero(key: CellKey) -> Self {
        let none = Ticks(0);
        OneCell { key, n_visits: 0, n_stays: 0, inclusive: none, exclusive: none, busy: none }
    }

    /// Adds the times of the same location and call path elsewhere.
    pub fn add(&mut self, other: &OneCell) {
        self.n_visits += other.n_visits;
        self.n_stays += other.n_stays;
        self.inclusive += other.inclusive;
        self.exclusive += other.exclusive;
        self.busy += other.busy;
    }
}

/// What can be added to the cell of its key.
trait Addend {
    fn key(&self) -> CellKey;
    fn state(&self) -> CellState;
    fn add_to(&self, cell: &mut CellState);
}

impl Addend for CellState {
    fn key(&self) -> CellKey {
        self.key
    }
    fn state(&self) -> CellState {
        *self
    }
    fn add_to(&self, cell: &mut CellState) {
        cell.n_seen += self.n_seen;
        cell.n_visits += self.n_visits;
        cell.n_stays += self.n_stays;
        cell.inclusive.merge(&self.inclusive);
        cell.exclusive.merge(&self.exclusive);
        cell.busy.merge(&self.busy);
    }
}

impl Addend for (&OneCell, LocationId) {
    fn key(&self) -> CellKey {
        self.0.key
    }
    fn state(&self) -> CellState {
        let (cell, location) = *self;
        CellState {
            key: cell.key,
            n_seen: 1,
            n_visits: cell.n_visits,
            n_stays: cell.n_stays,
            inclusive: Spread::one(cell.inclusive, location),
            exclusive: Spread::one(cell.exclusive, location),
            busy: Spread::one(cell.busy, location),
        }
    }
    #[inline]
    fn add_to(&self, cell: &mut CellState) {
        let (one, location) = *self;
        cell.n_seen += 1;
        cell.n_visits += one.n_visits;
        cell.n_stays += one.n_stays;
        cell.inclusive.add(one.inclusive, location);
        cell.exclusive.add(one.exclusive, location);
        cell.busy.add(one.busy, location);
    }
}

/// One entry, over locations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryState {
    /// The anchor that ends it: region, call path, and the location that the call path is from.
    pub(super) anchor: Option<(RegionId, CallPathId, LocationId)>,
    /// Stands for the regions of its anchors, in order.
    pub(super) hash: SequenceHash,
    /// Time in its anchors; `None` of the last entry.
    pub(super) in_anchors: Option<Spread>,
    /// When the first location came in.
    pub(super) start: Ticks,
    /// When the last location went out.
    pub(super) end: Ticks,
    /// When the last location entered the anchor.
    pub(super) last_enter: Ticks,
}

impl EntryState {
    fn merge(&mut self, other: &EntryState) {
        self.anchor = match (self.anchor, other.anchor) {
            (Some(a), Some(b)) => Some(if a.2 <= b.2 { a } else { b }),
            _ => None,
        };
        self.in_anchors = match (self.in_anchors, &other.in_anchors) {
            (Some(mut own), Some(theirs)) => {
                own.merge(theirs);
                Some(own)
            }
            _ => None,
        };
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        self.last_enter = self.last_enter.max(other.last_enter);
    }

    /// This entry and the next as one.
    fn join(&self, next: &EntryState) -> EntryState {
        let mut in_anchors = next.in_anchors;
        if let (Some(sum), Some(own)) = (&mut in_anchors, &self.in_anchors) {
            sum.add_bound(own);
        }
        EntryState { start: self.start, hash: self.hash.join(next.hash), in_anchors, ..*next }
    }
}

/// A number for a sequence of regions; sequences that follow each other have that of the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SequenceHash {
    value: u64,
    /// The base to the length of the sequence.
    power: u64,
}

/// The prime 2^61 − 1 and a base without meaning.
const PRIME: u64 = (1 << 61) - 1;
const BASE: u64 = 0x0E4A_7C15_9E37_79B9;

fn times(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

impl SequenceHash {
    /// Of no region.
    pub(super) const EMPTY: SequenceHash = SequenceHash { value: 0, power: 1 };

    pub(super) fn push(&mut self, region: RegionId) {
        *self = self.join(SequenceHash { value: u64::from(region.0) + 1, power: BASE });
    }

    pub(super) fn join(self, next: SequenceHash) -> SequenceHash {
        SequenceHash {
            value: (times(self.value, next.power) + next.value) % PRIME,
            power: times(self.power, next.power),
        }
    }
}

/// A number of anchors and a location that has it, the smallest id among equals.
pub(super) type Count = (u64, LocationId);

/// Locations of one peer group whose entries have the same length, and the entries they have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aligned {
    /// The locations, ascending.
    pub(super) locations: Vec<LocationId>,
    /// First and last event of them all.
    pub(super) span: (Ticks, Ticks),
    /// Anchors of the location that has fewest, and of the one that has most.
    pub(super) n_anchors: (Count, Count),
    /// Whether all locations have had the same anchors to the end.
    pub(super) is_complete: bool,
    /// The common entries, then one for the rest.
    pub(super) entries: Vec<EntryState>,
    /// By key.
    pub(super) cells: Vec<CellState>,
    /// At each border up to the last entry, all from there to the end; the key's entry is the border.
    pub(super) tails: Vec<CellState>,
    /// By location.
    pub(super) rows: Vec<PeerRow>,
}

impl Aligned {
    /// Number of entries that end in an anchor.
    pub(super) fn n_common(&self) -> usize {
        self.entries.len() - 1
    }

    /// The border after which this and `other` differ; `None` if nowhere.
    fn differs_behind(&self, other: &Aligned) -> Option<usize> {
        let common = self.entries.iter().zip(&other.entries);
        let n_equal =
            common.take_while(|(a, b)| a.hash == b.hash && a.anchor.is_some() == b.anchor.is_some());
        let n_equal = n_equal.count();
        let both_complete = self.is_complete && other.is_complete;
        if both_complete && n_equal == self.entries.len() && n_equal == other.entries.len() {
            return None;
        }
        let n_equal = n_equal.min(self.n_common()).min(other.n_common());
        Some(border_at_most(n_equal as u64) as usize)
    }

    /// Adds locations.
    pub(super) fn merge(&mut self, mut other: Aligned) {
        if let Some(border) = self.differs_behind(&other) {
            self.cut(border);
            other.cut(border);
        }
        let (cells, tails) = (std::mem::take(&mut other.cells), std::mem::take(&mut other.tails));
        self.merge_entries(other);
        merge_cells(&mut self.cells, cells.into_iter());
        merge_cells(&mut self.tails, tails.into_iter());
    }

    /// Adds a location; its cells are not copied if it does what the others do.
    fn merge_one(&mut self, one: One) {
        if self.differs_behind(&one.entries).is_some() {
            return self.merge(one.into_aligned());
        }
        let One { location, entries, cells, tails } = one;
        self.merge_entries(entries);
        merge_cells(&mut self.cells, cells.iter().map(|cell| (cell, location)));
        merge_cells(&mut self.tails, tails.iter().map(|cell| (cell, location)));
    }

    /// Adds all but the cells of locations whose entries are the same.
    fn merge_entries(&mut self, mut other: Aligned) {
        let is_sorted = self.locations.last() < other.locations.first();
        self.locations.append(&mut other.locations);
        self.rows.append(&mut other.rows);
        if !is_sorted {
            self.locations.sort_unstable();
            self.rows.sort_unstable_by_key(|row| row.location);
        }
        self.span = (self.span.0.min(other.span.0), self.span.1.max(other.span.1));
        self.n_anchors.0 = self.n_anchors.0.min(other.n_anchors.0);
        self.n_anchors.1 = most(self.n_anchors.1, other.n_anchors.1);
        self.entries.iter_mut().zip(&other.entries).for_each(|(a, b)| a.merge(b));
    }

    /// Keeps the entries before the border `border`; the rest becomes the tail.
    pub(super) fn cut(&mut self, border: usize) {
        if !self.is_complete && self.n_common() <= border {
            return;
        }
        let is_kept = |cell: &CellState| (cell.key.0 as usize) < border;
        self.cells.truncate(self.cells.partition_point(is_kept));
        self.tails.truncate(self.tails.partition_point(|tail| tail.key.0 as usize <= border));
        let at = self.tails.partition_point(is_kept);
        self.cells.extend_from_slice(&self.tails[at..]);
        let start = self.entries[border].start;
        self.entries.truncate(border);
        self.entries.push(EntryState {
            anchor: None,
            hash: SequenceHash::EMPTY,
            in_anchors: None,
            start,
            end: self.span.1,
            last_enter: Ticks(0),
        });
        self.rows.iter_mut().for_each(|row| row.cut(border));
        self.is_complete = false;
    }

    /// Keeps the entries that overlap a time range, to which all times are cut. If all members reached the last
    /// anchor inside, an empty entry ends the range; else the last entry ends with it, not in an anchor. Returns how many
    /// entries were left out before.
    pub(super) fn choose(&mut self, window: TimeRange) -> usize {
        let n_common = self.n_common();
        let is_inside = |entry: &EntryState| window.start < entry.end && entry.start < window.end;
        let first = self.entries.iter().position(is_inside).unwrap_or(n_common);
        let mut last = self.entries.iter().rposition(is_inside).unwrap_or(n_common);
        if last < n_common {
            // Members differ only after the range.
            self.is_complete = true;
            last += usize::from(self.entries[last].last_enter < window.end);
        }
        self.entries.truncate(last + 1);
        self.entries.drain(..first);
        if let Some(end) = self.entries.last_mut() {
            (end.anchor, end.in_anchors) = (None, None);
        }
        self.cells.retain_mut(|cell| {
            let entry = cell.key.0 as usize;
            cell.key.0 = entry.saturating_sub(first) as u32;
            (first..=last).contains(&entry)
        });
        first
    }

    /// The same with entries of twice the length. Sums are exact, extremes over locations bounds.
    pub(super) fn coarsened(&self) -> Aligned {
        let n_common = self.n_common();
        let mut entries: Vec<EntryState> =
            self.entries[..n_common / 2 * 2].chunks_exact(2).map(|pair| pair[0].join(&pair[1])).collect();
        let last = &self.entries[n_common];
        entries.push(if n_common.is_multiple_of(2) { *last } else { self.entries[n_common - 1].join(last) });
        let mut cells: Vec<CellState> = Vec::with_capacity(self.cells.len());
        for cell in &self.cells {
            cells.push(CellState { key: (cell.key.0 / 2, cell.key.1, cell.key.2), ..*cell });
        }
        cells.sort_by_key(|cell| cell.key);
        cells.dedup_by(|cell, before| {
            let same = cell.key == before.key;
            if same {
                before.add_bound(cell);
            }
            same
        });
        let is_kept =
            |tail: &&CellState| tail.key.0.is_multiple_of(2) && is_border(u64::from(tail.key.0 / 2));
        let halve = |tail: &CellState| CellState { key: (tail.key.0 / 2, tail.key.1, tail.key.2), ..*tail };
        let tails = self.tails.iter().filter(is_kept).map(halve).collect();
        let rows = self.rows.iter().map(PeerRow::for_longer_entries).collect();
        Aligned { entries, cells, tails, rows, locations: self.locations.clone(), ..*self }
    }

    /// Renumbers call paths.
    fn remap(&mut self, remap: &Remap) {
        for (_, call_path, _) in self.entries.iter_mut().filter_map(|entry| entry.anchor.as_mut()) {
            *call_path = remap.path(*call_path);
        }
        for cells in [&mut self.cells, &mut self.tails] {
            cells.iter_mut().for_each(|cell| cell.key.1 = remap.path(cell.key.1));
            cells.sort_unstable_by_key(|cell| cell.key);
        }
    }
}

/// The greater count; of equals the one of the smaller id.
fn most(a: Count, b: Count) -> Count {
    if a.0 < b.0 || (a.0 == b.0 && b.1 < a.1) { b } else { a }
}

/// A number in the order of keys.
fn packed((entry, call_path, is_subset): CellKey) -> u128 {
    u128::from(entry) << 64 | u128::from(call_path.0) << 1 | u128::from(is_subset)
}

/// Adds the cells of `from`; both are in order of their keys.
fn merge_cells(into: &mut Vec<CellState>, from: impl Iterator<Item = impl Addend>) {
    // Locations that do the same have the same cells: nothing moves then.
    let mut at = 0;
    let mut missing: Vec<CellState> = Vec::new();
    for cell in from {
        let key = packed(cell.key());
        while into.get(at).is_some_and(|own| packed(own.key) < key) {
            at += 1;
        }
        match into.get_mut(at) {
            Some(own) if packed(own.key) == key => cell.add_to(own),
            _ => missing.push(cell.state()),
        }
    }
    if missing.is_empty() {
        return;
    }
    // From the back, in place: cells are most of the memory of a run of many phases.
    let (mut n_own, mut n_missing) = (into.len(), missing.len());
    into.reserve_exact(n_missing);
    into.extend_from_slice(&missing);
    for place in (0..into.len()).rev() {
        let Some(last) = n_missing.checked_sub(1).map(|at| missing[at]) else { return };
        match n_own.checked_sub(1).map(|at| into[at]) {
            Some(own) if last.key < own.key => {
                into[place] = own;
                n_own -= 1;
            }
            _ => {
                into[place] = last;
                n_missing -= 1;
            }
        }
    }
}

/// One location, its cells not yet spread over locations.
#[derive(Debug)]
pub(super) struct One {
    pub location: LocationId,
    /// All but the cells.
    pub entries: Aligned,
    /// See [`Aligned::cells`].
    pub cells: Vec<OneCell>,
    /// See [`Aligned::tails`].
    pub tails: Vec<OneCell>,
}

impl One {
    fn into_aligned(self) -> Aligned {
        let states = |cells: &[OneCell]| cells.iter().map(|cell| (cell, self.location).state()).collect();
        Aligned { cells: states(&self.cells), tails: states(&self.tails), ..self.entries }
    }
}

/// Peer group, and s: entries are 2^s phases long.
pub(super) type GroupKey = (u8, u8);

/// The locations folded so far, by peer group and length of entries.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhasesPartial {
    pub(super) groups: BTreeMap<GroupKey, Aligned>,
    /// Groups that are cut by a plan once more, with one entry for each stretch.
    pub(super) coarse: BTreeMap<u8, Aligned>,
}

impl PhasesPartial {
    /// Adds other locations.
    pub(super) fn merge(&mut self, from: PhasesPartial) {
        from.groups.into_iter().for_each(|(key, aligned)| add(&mut self.groups, key, aligned));
        from.coarse.into_iter().for_each(|(key, aligned)| add(&mut self.coarse, key, aligned));
    }

    /// Renumbers call paths.
    pub(super) fn remap(&mut self, remap: &Remap) {
        let all = self.groups.values_mut().chain(self.coarse.values_mut());
        all.for_each(|aligned| aligned.remap(remap));
    }

    /// Adds a location.
    pub(super) fn add_one(&mut self, key: GroupKey, one: One) {
        add_one(&mut self.groups, key, one);
    }

    /// Adds a location that is cut by a plan.
    pub(super) fn add_cut(&mut self, group: u8, fine: One, coarse: One) {
        add_one(&mut self.groups, (group, 0), fine);
        add_one(&mut self.coarse, group, coarse);
    }
}

fn add_one<K: Ord>(groups: &mut BTreeMap<K, Aligned>, key: K, one: One) {
    match groups.get_mut(&key) {
        Some(known) => known.merge_one(one),
        None => _ = groups.insert(key, one.into_aligned()),
    }
}

/// Adds locations.
fn add<K: Ord>(groups: &mut BTreeMap<K, Aligned>, key: K, aligned: Aligned) {
    match groups.entry(key) {
        std::collections::btree_map::Entry::Occupied(mut known) => known.get_mut().merge(aligned),
        std::collections::btree_map::Entry::Vacant(free) => {
            free.insert(aligned);
        }
    }
}
