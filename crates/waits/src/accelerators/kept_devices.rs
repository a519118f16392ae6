//! Calls and operations of all processes, until they are replayed: in memory as long as they are few, else put aside.
//!
//! ```text
//! records of a complete process ──add──► memory ──too many──► shelf, in slices of a location
//!                                        within(range) ◄── slices that overlap the range
//! ```
//!
//! Laws: [`KeptDevices::within`] gives the records that begin in a range, whatever was put aside; encoded, it is the same
//! whatever was put aside and in whichever order it was merged.

use crate::devices::DeviceRecords;
use ouzel_engine::{Shelf, ShelfPlace};
use ouzel_model::{LocationId, Remap, Ticks, TimeRange};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::io;

/// Records of a slice, at least and at most.
const SLICE_RECORDS: (usize, usize) = (32, 1024);

/// Records of a slice, evenly spread, at which parts may begin.
const POINTS: usize = 8;

/// How much is kept in memory, and how the rest is cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Records that are kept in memory.
    pub n_records: usize,
    /// Records of a slice.
    slice: usize,
}

impl Room {
    /// For records that are replayed in parts of about `most`, by threads that read each so small a share.
    ///
    /// All locations have about the same time, so that a part has two slices of each at its borders: if they are many,
    /// slices are small.
    pub fn new(most: usize, share: usize, n_locations: usize) -> Self {
        let slice = most / n_locations.max(1);
        Room { n_records: most / share, slice: slice.clamp(SLICE_RECORDS.0, SLICE_RECORDS.1) }
    }
}

/// The records, by location.
#[derive(Debug, Default)]
pub(super) struct KeptDevices {
    records: BTreeMap<LocationId, DeviceRecords>,
    /// Of those in memory.
    n_records: usize,
    shelved: Vec<Shelved>,
}

/// What one thread has put aside.
#[derive(Debug, Default)]
struct Shelved {
    shelf: Shelf,
    /// Of each location in the order of time.
    slices: Vec<Slice>,
    /// How call paths were numbered anew since.
    remap: Option<Remap>,
}

/// Consecutive records of a location.
#[derive(Debug)]
struct Slice {
    location: LocationId,
    /// When records begin, the first and others evenly spread.
    starts: [Ticks; POINTS],
    /// When the last begins.
    last: Ticks,
    n_records: usize,
    place: ShelfPlace,
}

impl Slice {
    fn overlaps(&self, range: TimeRange) -> bool {
        self.starts[0] < range.end && range.start <= self.last
    }

    /// When records begin at which parts may, with the number of records up to the next of them.
    fn points(&self) -> impl Iterator<Item = (Ticks, usize)> + '_ {
        let n_before = |nth: usize| self.n_records * nth / POINTS;
        self.starts.iter().enumerate().map(move |(nth, &start)| (start, n_before(nth + 1) - n_before(nth)))
    }
}

impl KeptDevices {
    /// Adds the records of a location, of which what a replay needs is kept. Those in memory are put aside once there are
    /// more than there is room for.
    pub fn add(&mut self, location: LocationId, mut records: DeviceRecords, room: Room) {
        records.leave_replayed();
        if records.n_records() == 0 {
            return;
        }
        self.n_records += records.n_records();
        self.records.insert(location, records);
        if room.n_records < self.n_records {
            self.put_aside(room);
        }
    }

    /// Puts aside what is in memory.
    pub fn put_aside(&mut self, room: Room) {
        // What others have put aside has other numbers of call paths.
        let is_own = |of: &Shelved| of.remap.is_none();
        let own = self.shelved.iter().position(is_own).unwrap_or_else(|| {
            self.shelved.push(Shelved::default());
            self.shelved.len() - 1
        });
        let Shelved { shelf, slices, .. } = &mut self.shelved[own];
        let mut left = BTreeMap::new();
        for (location, records) in std::mem::take(&mut self.records) {
            let n = records.n_records();
            let n_before = slices.len();
            for start in (0..n).step_by(room.slice) {
                let end = n.min(start + room.slice);
                let Ok(place) = shelf.put(&records.part(start..end)) else { break };
                let n_records = end - start;
                let starts = std::array::from_fn(|nth| records.start(start + n_records * nth / POINTS));
                slices.push(Slice { location, starts, last: records.start(end - 1), n_records, place });
            }
            if slices[n_before..].iter().map(|it| it.n_records).sum::<usize>() < n {
                slices.truncate(n_before);
                left.insert(location, records);
            }
        }
        self.n_records = left.values().map(DeviceRecords::n_records).sum();
        self.records = left;
    }

    pub fn remap(&mut self, remap: &Remap) {
        self.records.values_mut().for_each(|records| records.remap(remap));
        for of in &mut self.shelved {
            of.remap = Some(of.remap.as_ref().map_or_else(|| remap.clone(), |before| before.then(remap)));
        }
    }

    pub fn merge(&mut self, mut from: KeptDevices) {
        self.n_records += from.n_records;
        self.records.append(&mut from.records);
        self.shelved.append(&mut from.shelved);
    }

    /// Locations of which anything is kept, some more than once.
    pub fn locations(&self) -> impl Iterator<Item = LocationId> {
        self.records.keys().copied().chain(self.slices().map(|it| it.location))
    }

    /// Number of all records.
    pub fn n_records(&self) -> usize {
        self.n_records + self.slices().map(|it| it.n_records).sum::<usize>()
    }

    fn slices(&self) -> impl Iterator<Item = &Slice> {
        self.shelved.iter().flat_map(|of| &of.slices)
    }

    /// Times that divide the run into parts of about `most` records, in order: once all is put aside.
    pub fn borders(&self, most: usize) -> Vec<Ticks> {
        let mut starts: Vec<(Ticks, usize)> = self.slices().flat_map(Slice::points).collect();
        starts.sort_unstable();
        // Parts of about the same size.
        let all: usize = starts.iter().map(|it| it.1).sum();
        let size = all.div_ceil(all.div_ceil(most.max(1)).max(1));
        let (mut n, mut borders) = (0, Vec::new());
        for (start, n_records) in starts {
            if size < n + n_records && 0 < n && borders.last().is_none_or(|last| *last < start) {
                borders.push(start);
                n = 0;
            }
            n += n_records;
        }
        borders
    }

    /// The records that begin in a range.
    ///
    /// # Errors
    /// If what was put aside cannot be read.
    pub fn within(&self, range: TimeRange) -> io::Result<BTreeMap<LocationId, DeviceRecords>> {
        let of_range = |records: &DeviceRecords| {
            let first = |at: Ticks| {
                let calls = records.calls.partition_point(|it| it.enter < at);
                calls + records.operations.partition_point(|it| it.start < at)
            };
            records.part(first(range.start)..first(range.end))
        };
        let mut found: BTreeMap<LocationId, DeviceRecords> = BTreeMap::new();
        let mut add = |location, records: DeviceRecords| {
            if 0 < records.n_records() {
                found.entry(location).or_default().append(records);
            }
        };
        self.records.iter().for_each(|(&location, records)| add(location, of_range(records)));
        for Shelved { shelf, slices, remap } in &self.shelved {
            for slice in slices.iter().filter(|slice| slice.overlaps(range)) {
                let mut records = of_range(&shelf.get(&slice.place)?);
                remap.iter().for_each(|remap| records.remap(remap));
                add(slice.location, records);
            }
        }
        Ok(found)
    }

    /// All records.
    ///
    /// # Errors
    /// If what was put aside cannot be read.
    pub fn all(mut self) -> io::Result<BTreeMap<LocationId, DeviceRecords>> {
        let mut all = std::mem::take(&mut self.records);
        all.append(&mut self.within(TimeRange { start: Ticks(0), end: Ticks(u64::MAX) })?);
        Ok(all)
    }
}

impl PartialEq for KeptDevices {
    fn eq(&self, other: &KeptDevices) -> bool {
        let all = TimeRange { start: Ticks(0), end: Ticks(u64::MAX) };
        matches!((self.within(all), other.within(all)), (Ok(this), Ok(that)) if this == that)
    }
}

impl Serialize for KeptDevices {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = TimeRange { start: Ticks(0), end: Ticks(u64::MAX) };
        self.within(all).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for KeptDevices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let records = BTreeMap::<LocationId, DeviceRecords>::deserialize(deserializer)?;
        let n_records = records.values().map(DeviceRecords::n_records).sum();
        Ok(KeptDevices { records, n_records, shelved: Vec::new() })
    }
}
