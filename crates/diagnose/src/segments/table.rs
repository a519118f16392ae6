//! Segments as tables.

use super::{SegmentCard, SegmentPath, SegmentsCard};
use ouzel_model::{ColumnData, Table, Unit};
use std::sync::Arc;

impl SegmentsCard {
    /// The segments as a table, without their call paths.
    pub fn table(&self) -> Table {
        let each = || self.segments.iter();
        let numbers = |value: fn(&SegmentCard) -> u64| ColumnData::U64(each().map(value).collect());
        let ns = Unit::Nanoseconds;
        Table::new("segments")
            .with("id", Unit::None, "Number of the segment", numbers(|s| u64::from(s.id)))
            .with(
                "start_ns",
                ns.clone(),
                "When the first rank began it for the first time",
                numbers(|s| s.start_ns),
            )
            .with(
                "end_ns",
                ns.clone(),
                "When the last rank ended it for the last time",
                numbers(|s| s.end_ns),
            )
            .with("duration_ns", ns.clone(), "Time in it, mean over ranks", numbers(|s| s.duration_ns))
            .with("n_phases", Unit::Count, "How often it occurred", numbers(|s| s.n_phases))
            .with(
                "sync",
                Unit::None,
                "Call path of the synchronisation that ends it; empty at the end of the run",
                ColumnData::TextList(each().map(|s| s.sync.clone().unwrap_or_default()).collect()),
            )
            .with("imb_sync_ns", ns.clone(), "Imbalance of the synchronisation", numbers(|s| s.imb_sync_ns))
            .with("sum_imb_ns", ns.clone(), "Imbalance of its call paths", numbers(|s| s.sum_imb_ns))
            .with("sum_wait_ns", ns.clone(), "Waiting of its call paths", numbers(|s| s.sum_wait_ns))
            .with("lost_ns", ns, "imb_sync_ns + sum_wait_ns", numbers(|s| s.lost_ns))
            .with(
                "diagnosis_row",
                Unit::None,
                "Row of the diagnosis table",
                numbers(|s| u64::from(s.kind.row())),
            )
            .with(
                "diagnosis",
                Unit::None,
                "That row in words",
                ColumnData::Text(each().map(|s| Arc::from(s.diagnosis)).collect()),
            )
    }
}

impl SegmentCard {
    /// Its call paths as a table.
    pub fn paths_table(&self) -> Table {
        let each = || self.paths.iter();
        let numbers = |value: fn(&SegmentPath) -> u64| ColumnData::U64(each().map(value).collect());
        let optional =
            |value: fn(&SegmentPath) -> Option<u64>| ColumnData::OptionU64(each().map(value).collect());
        let ns = Unit::Nanoseconds;
        Table::new("segment_paths")
            .with(
                "call_path",
                Unit::None,
                "Regions from the outermost",
                ColumnData::TextList(each().map(|p| p.call_path.clone()).collect()),
            )
            .with(
                "is_self",
                Unit::None,
                "1 if only the time outside callees counts",
                numbers(|p| u64::from(p.is_self)),
            )
            .with(
                "category",
                Unit::None,
                "computation, wait or synchronization",
                ColumnData::Text(each().map(|p| Arc::from(p.category.as_str())).collect()),
            )
            .with("n_visits", Unit::Count, "Visits of all ranks", numbers(|p| p.n_visits))
            .with("imb_ns", ns.clone(), "Imbalance, added up over iterations", numbers(|p| p.imb_ns))
            .with("wait_ns", ns.clone(), "Waiting, added up over iterations", numbers(|p| p.wait_ns))
            .with(
                "imb_total_ns",
                ns,
                "Imbalance of the times over the whole run",
                optional(|p| p.imb_total_ns),
            )
            .with(
                "most_rank",
                Unit::None,
                "Rank with the most time when most was lost",
                optional(|p| p.most_rank.map(u64::from)),
            )
            .with(
                "least_rank",
                Unit::None,
                "Rank with the least time at that point",
                optional(|p| p.least_rank.map(u64::from)),
            )
    }
}
