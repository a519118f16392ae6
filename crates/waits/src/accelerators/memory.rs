//! Memory that an allocator of a framework gives, takes and holds: by place, and by the operator that asks for it.
//!
//! The counters are those of PyTorch's caching allocator: what it has given, and what it holds of the device. What it
//! holds and has not given is in its cache, or lost to fragmentation; the trace does not say which.

use super::{AcceleratorsOutput, KernelsBy};
use crate::devices::records::MemoryChange;
use ouzel_model::{Definitions, Ticks, WorldRank};
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

/// By rank and place.
type ByPlace<T> = BTreeMap<(bool, Option<WorldRank>, u32), T>;

#[derive(Default)]
struct OperatorSum {
    n: [u64; 2],
    bytes: [u64; 2],
    peak: u64,
}

impl AcceleratorsOutput {
    /// Memory by rank and place; and by operator, the highest peak first.
    pub(super) fn memory(&self, definitions: &Definitions) -> (Vec<MemoryRow>, Vec<OperatorMemoryRow>) {
        let mut changes: ByPlace<Vec<MemoryChange>> = BTreeMap::new();
        for (&location, records) in &self.records {
            let rank = definitions.location(location).rank;
            for change in &records.details.memory {
                if self.selected_of(location).has(change.at) {
                    changes.entry((rank.is_none(), rank, change.pool)).or_default().push(*change);
                }
            }
        }
        let (mut rows, mut operators) = (Vec::new(), Vec::new());
        for ((_, rank, pool), mut of_place) in changes {
            of_place.sort_by_key(|change| change.at);
            let Some(place) = self.kept.pools().get(pool as usize).cloned() else { continue };
            rows.extend(self.memory_row((rank, place.clone()), &of_place, definitions));
            operators.extend(self.operator_rows((rank, place), &of_place, definitions));
        }
        (rows, operators)
    }

    fn memory_row(
        &self,
        (rank, place): (Option<WorldRank>, Arc<str>),
        changes: &[MemoryChange],
        definitions: &Definitions,
    ) -> Option<MemoryRow> {
        let peak = changes.iter().max_by_key(|change| (change.allocated, Reverse(change.at)))?;
        let given = |change: &&MemoryChange| change.change.is_some_and(|it| 0 < it);
        let taken = |change: &&MemoryChange| change.change.is_some_and(|it| it < 0);
        let unused = |reserved: u64| {
            (peak.allocated <= reserved && 0 < reserved)
                .then(|| (reserved - peak.allocated) as f64 / reserved as f64)
        };
        Some(MemoryRow {
            rank,
            place,
            n_allocations: changes.iter().filter(given).count() as u64,
            n_releases: changes.iter().filter(taken).count() as u64,
            allocated_bytes: changes
                .iter()
                .filter(given)
                .map(|it| it.change.unwrap_or(0).unsigned_abs())
                .sum(),
            peak_allocated_bytes: peak.allocated,
            peak_at: peak.at,
            peak_operator: self.caller(peak.path, KernelsBy::Operator, definitions),
            peak_reserved_bytes: changes.iter().filter_map(|change| change.reserved).max(),
            fragmentation: peak.reserved.and_then(unused),
        })
    }

    fn operator_rows(
        &self,
        (rank, place): (Option<WorldRank>, Arc<str>),
        changes: &[MemoryChange],
        definitions: &Definitions,
    ) -> Vec<OperatorMemoryRow> {
        let mut sums: BTreeMap<Option<Arc<str>>, OperatorSum> = BTreeMap::new();
        for change in changes {
            let sum = sums.entry(self.caller(change.path, KernelsBy::Operator, definitions)).or_default();
            sum.peak = sum.peak.max(change.allocated);
            let Some(by) = change.change.filter(|by| *by != 0) else { continue };
            let side = usize::from(by < 0);
            sum.n[side] += 1;
            sum.bytes[side] = sum.bytes[side].saturating_add(by.unsigned_abs());
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
