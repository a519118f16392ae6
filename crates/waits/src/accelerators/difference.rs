//! What accelerators run in one selection and not, or differently, in another: two runs, two steps, two ranks.
//!
//! Rows pair by name and type. Law: for each row, `by_number + by_length = after − before`, exactly. The part by number
//! is the difference in launches at the mean time before, rounded; the part by length is the rest. What one side lacks
//! differs by number alone.

use super::kernels::{Durations, KernelRow, KernelType, KernelsBy, KernelsOutput};
use ouzel_model::{ColumnData, Table, Unit};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How a kernel, operator or scope differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelChange {
    /// Only the second side has it.
    Added,
    /// Only the first side has it.
    Gone,
    /// Number or time differ.
    Changed,
    /// Neither number nor time differ.
    Same,
}

impl KernelChange {
    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            KernelChange::Added => "added",
            KernelChange::Gone => "gone",
            KernelChange::Changed => "changed",
            KernelChange::Same => "same",
        }
    }
}

/// Operations of one name and type on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelDifferenceRow {
    /// The kernel, operator or scope; `None` for operations that none is known of.
    pub name: Option<Arc<str>>,
    /// What they do.
    pub kind: KernelType,
    /// On the first side.
    pub before: Option<Durations>,
    /// On the second side.
    pub after: Option<Durations>,
}

impl KernelDifferenceRow {
    /// How it differs.
    pub fn change(&self) -> KernelChange {
        match (&self.before, &self.after) {
            (None, _) => KernelChange::Added,
            (_, None) => KernelChange::Gone,
            (Some(a), Some(b)) if (a.n, a.total_ns) == (b.n, b.total_ns) => KernelChange::Same,
            _ => KernelChange::Changed,
        }
    }

    /// Launches of both sides.
    pub fn launches(&self) -> [u64; 2] {
        [&self.before, &self.after].map(|side| side.map_or(0, |it| it.n))
    }

    /// Time of both sides.
    pub fn total_ns(&self) -> [u64; 2] {
        [&self.before, &self.after].map(|side| side.map_or(0, |it| it.total_ns))
    }

    /// Time of the second side beyond that of the first.
    pub fn difference_ns(&self) -> i64 {
        difference(self.total_ns())
    }

    /// The parts of the difference: by the number of launches, and by their length.
    pub fn parts_ns(&self) -> (i64, i64) {
        let all = self.difference_ns();
        let by_number = match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                (difference([before.n, after.n]) as f64 * before.mean_ns).round() as i64
            }
            _ => all,
        };
        (by_number, all.saturating_sub(by_number))
    }
}

fn difference([before, after]: [u64; 2]) -> i64 {
    let part = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    part(after) - part(before)
}

/// What two selections run.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelDifference {
    /// What the rows are.
    pub by: KernelsBy,
    /// The largest difference in time first.
    pub rows: Vec<KernelDifferenceRow>,
}

/// A row of each name and type.
type Sides = BTreeMap<(Option<Arc<str>>, KernelType), [Option<Durations>; 2]>;

impl KernelDifference {
    /// The difference of two answers, which are grouped alike and not by step.
    pub fn new(before: &KernelsOutput, after: &KernelsOutput) -> Self {
        let mut sides = Sides::new();
        let mut add = |rows: &[KernelRow], side: usize| {
            for row in rows {
                sides.entry((row.name.clone(), row.kind)).or_default()[side] = Some(row.durations);
            }
        };
        add(&before.groups, 0);
        add(&after.groups, 1);
        let rows = sides.into_iter();
        let rows =
            rows.map(|((name, kind), [before, after])| KernelDifferenceRow { name, kind, before, after });
        let mut rows: Vec<KernelDifferenceRow> = rows.collect();
        rows.sort_by_key(|row| Reverse((row.difference_ns().unsigned_abs(), row.total_ns()[0])));
        KernelDifference { by: before.by, rows }
    }

    /// Time of all operations on both sides.
    pub fn total_ns(&self) -> [u64; 2] {
        [0, 1].map(|side| self.rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.total_ns()[side])))
    }

    /// Number of all operations on both sides.
    pub fn launches(&self) -> [u64; 2] {
        [0, 1].map(|side| self.rows.iter().map(|row| row.launches()[side]).sum())
    }

    /// How many rows differ in a way.
    pub fn n(&self, change: KernelChange) -> usize {
        self.rows.iter().filter(|row| row.change() == change).count()
    }

    /// The rows.
    pub fn table(&self) -> Table {
        let rows = &self.rows;
        let u64s =
            |value: &dyn Fn(&KernelDifferenceRow) -> u64| ColumnData::U64(rows.iter().map(value).collect());
        let i64s =
            |value: &dyn Fn(&KernelDifferenceRow) -> i64| ColumnData::I64(rows.iter().map(value).collect());
        let words = |value: &dyn Fn(&KernelDifferenceRow) -> &'static str| {
            ColumnData::Text(rows.iter().map(|row| Arc::from(value(row))).collect())
        };
        let means = |value: &dyn Fn(&KernelDifferenceRow) -> Option<Durations>| {
            ColumnData::OptionF64(rows.iter().map(|row| value(row).map(|it| it.mean_ns)).collect())
        };
        let names = ColumnData::OptionText(rows.iter().map(|row| row.name.clone()).collect());
        Table::new("difference of kernels")
            .with(self.by.as_str(), Unit::None, "Its name; missing if none is known", names)
            .with("type", Unit::None, "computation, communication or memory", words(&|row| row.kind.as_str()))
            .with("change", Unit::None, "added, gone, changed or same", words(&|row| row.change().as_str()))
            .with("before_launches", Unit::None, "Operations of the first", u64s(&|row| row.launches()[0]))
            .with("after_launches", Unit::None, "Operations of the second", u64s(&|row| row.launches()[1]))
            .with("before_ns", Unit::Nanoseconds, "Their time in the first", u64s(&|row| row.total_ns()[0]))
            .with("after_ns", Unit::Nanoseconds, "Their time in the second", u64s(&|row| row.total_ns()[1]))
            .with(
                "difference_ns",
                Unit::Nanoseconds,
                "after - before",
                i64s(&KernelDifferenceRow::difference_ns),
            )
            .with(
                "by_number_ns",
                Unit::Nanoseconds,
                "The part by more or fewer launches, at the mean time before",
                i64s(&|row| row.parts_ns().0),
            )
            .with("by_length_ns", Unit::Nanoseconds, "The part by longer or shorter operations", {
                i64s(&|row| row.parts_ns().1)
            })
            .with("before_mean_ns", Unit::Nanoseconds, "Mean time in the first; missing without any", {
                means(&|row| row.before)
            })
            .with("after_mean_ns", Unit::Nanoseconds, "Mean time in the second; missing without any", {
                means(&|row| row.after)
            })
    }
}
