//! Memory that an allocator of a framework gives, takes and holds: by place, and by the operator that asks for it.
//!
//! The counters are those of PyTorch's caching allocator: what it has given, and what it holds of the device. What it
//! holds and has not given is in its cache, or lost to fragmentation; the trace does not say which.

use super::sums::{RankKey, merge_maps};
use super::{AcceleratorsOutput, KernelsBy};
use crate::devices::records::MemoryChange;
use ouzel_model::{Definitions, LocationId, RegionId, Ticks, WorldRank};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The memory of one device, or of the host, of one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRow {
    /// The rank of the process, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// `device 0`, or `host`.
    pub place: Arc<str>,
    /// How often memory was given.
    pub n_allocations: u64,
    /// How often it was taken back.
    pub n_releases: u64,
    /// How much was given.
    pub allocated_bytes: u64,
    /// Most that was given at one time.
    pub peak_allocated_bytes: u64,
    /// When.
    pub peak_at: Ticks,
    /// The operator that asked for it then.
    pub peak_operator: Option<Arc<str>>,
    /// Most that the allocator held of the device.
    pub peak_reserved_bytes: Option<u64>,
    /// The part of what it held that was not given when most was given.
    pub fragmentation: Option<f64>,
}

/// What one operator asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorMemoryRow {
    /// The rank of the process, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// `device 0`, or `host`.
    pub place: Arc<str>,
    /// The innermost operator or function; `None` if none is known.
    pub operator: Option<Arc<str>>,
    /// How often memory was given.
    pub n_allocations: u64,
    /// How often it was taken back.
    pub n_releases: u64,
    /// How much was given.
    pub allocated_bytes: u64,
    /// How much was taken back.
    pub released_bytes: u64,
    /// Most that was given to all at one time, after a change by this operator.
    pub peak_allocated_bytes: u64,
}

/// When most was given. The order is that of the peaks: more, earlier, the last that is recorded then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct MemoryPeak {
    allocated: u64,
    at: Reverse<Ticks>,
    /// Of which location, and which of its changes.
    place: (LocationId, u32),
    reserved: Option<u64>,
    operator: Option<RegionId>,
}

/// Changes by one operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct OperatorSum {
    n: [u64; 2],
    bytes: [u64; 2],
    peak: u64,
}

impl OperatorSum {
    fn merge(&mut self, from: OperatorSum) {
        for side in 0..2 {
            self.n[side] += from.n[side];
            self.bytes[side] = self.bytes[side].saturating_add(from.bytes[side]);
        }
        self.peak = self.peak.max(from.peak);
    }
}

/// Changes of the memory of one place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PoolSums {
    peak: Option<MemoryPeak>,
    reserved: Option<u64>,
    operators: BTreeMap<Option<RegionId>, OperatorSum>,
}

impl PoolSums {
    fn add(&mut self, change: &MemoryChange, place: (LocationId, u32), operator: Option<RegionId>) {
        let peak = MemoryPeak {
            allocated: change.allocated,
            at: Reverse(change.at),
            place,
            reserved: change.reserved,
            operator,
        };
        self.peak = self.peak.max(Some(peak));
        self.reserved = self.reserved.max(change.reserved);
        let sum = self.operators.entry(operator).or_default();
        sum.peak = sum.peak.max(change.allocated);
        if let Some(by) = change.change.filter(|by| *by != 0) {
            let side = usize::from(by < 0);
            sum.n[side] += 1;
            sum.bytes[side] = sum.bytes[side].saturating_add(by.unsigned_abs());
        }
    }

    /// Adds the changes of other locations.
    pub fn merge(&mut self, from: PoolSums) {
        self.peak = self.peak.max(from.peak);
        self.reserved = self.reserved.max(from.reserved);
        merge_maps(&mut self.operators, from.operators, OperatorSum::merge);
    }

    fn row(&self, rank: Option<WorldRank>, place: Arc<str>, definitions: &Definitions) -> Option<MemoryRow> {
        let peak = self.peak?;
        let unused = |reserved: u64| {
            (peak.allocated <= reserved && 0 < reserved)
                .then(|| (reserved - peak.allocated) as f64 / reserved as f64)
        };
        let n = |side: usize| self.operators.values().map(|sum| sum.n[side]).sum();
        let allocated = self.operators.values().map(|sum| sum.bytes[0]);
        Some(MemoryRow {
            rank,
            place,
            n_allocations: n(0),
            n_releases: n(1),
            allocated_bytes: allocated.fold(0, u64::saturating_add),
            peak_allocated_bytes: peak.allocated,
            peak_at: peak.at.0,
            peak_operator: peak.operator.map(|region| definitions.region(region).name.clone()),
            peak_reserved_bytes: self.reserved,
            fragmentation: peak.reserved.and_then(unused),
        })
    }

    /// By operator, the highest peak first.
    fn operator_rows(
        &self,
        rank: Option<WorldRank>,
        place: &Arc<str>,
        definitions: &Definitions,
    ) -> Vec<OperatorMemoryRow> {
        let mut sums: BTreeMap<Option<Arc<str>>, OperatorSum> = BTreeMap::new();
        for (region, sum) in &self.operators {
            let name = region.map(|region| definitions.region(region).name.clone());
            sums.entry(name).or_default().merge(*sum);
        }
        let row = |(operator, sum): (Option<Arc<str>>, OperatorSum)| OperatorMemoryRow {
            rank,
            place: place.clone(),
            operator,
            n_allocations: sum.n[0],
            n_releases: sum.n[1],
            allocated_bytes: sum.bytes[0],
            released_bytes: sum.bytes[1],
            peak_allocated_bytes: sum.peak,
        };
        let mut rows: Vec<OperatorMemoryRow> = sums.into_iter().map(row).collect();
        rows.sort_by_key(|row| Reverse((row.peak_allocated_bytes, row.allocated_bytes)));
        rows
    }
}

/// By rank and place; and by operator, the highest peak first.
pub(super) fn memory_rows(
    memory: &BTreeMap<(RankKey, u32), PoolSums>,
    pools: &[Arc<str>],
    definitions: &Definitions,
) -> (Vec<MemoryRow>, Vec<OperatorMemoryRow>) {
    let (mut rows, mut operators) = (Vec::new(), Vec::new());
    for (&((_, rank), pool), sums) in memory {
        let Some(place) = pools.get(pool as usize) else { continue };
        rows.extend(sums.row(rank, place.clone(), definitions));
        operators.extend(sums.operator_rows(rank, place, definitions));
    }
    (rows, operators)
}

impl AcceleratorsOutput {
    /// Adds what allocators gave and took.
    pub(super) fn add_memory(
        &self,
        memory: &mut BTreeMap<(RankKey, u32), PoolSums>,
        definitions: &Definitions,
    ) {
        for (&location, records) in &self.records {
            let rank = definitions.location(location).rank;
            for (nth, change) in (0..).zip(&records.details.memory) {
                if self.selected_of(location).has(change.at) {
                    let operator = self.caller(change.path, KernelsBy::Operator, definitions);
                    let sums = memory.entry(((rank.is_none(), rank), change.pool)).or_default();
                    sums.add(change, (location, nth), operator);
                }
            }
        }
    }
}
