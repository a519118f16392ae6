//! `ouzel compare --by kernel`.

use ouzel::waits::accelerators::{KernelDifference, KernelDifferenceRow};
use serde::Serialize;
use std::sync::Arc;

/// With `--by kernel`, `operator` or `scope`: what accelerators run in one run, step or rank and not, or differently, in
/// another.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelDifferenceAnswer {
    /// What the rows are: `kernel`, `operator` or `scope`.
    pub by: &'static str,
    /// What is compared.
    pub before: KernelDifferenceSide,
    /// What it is compared with.
    pub after: KernelDifferenceSide,
    /// The largest difference in time first.
    pub rows: Vec<KernelDifferenceEntry>,
}

/// One of the two that are compared.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelDifferenceSide {
    /// The trace as named.
    pub path: String,
    /// The step that was asked for; else `null`.
    pub step: Option<u64>,
    /// The rank that was asked for; else `null`.
    pub rank: Option<u32>,
    /// Number of all operations.
    pub launches: u64,
    /// Time of all; operations of several streams that run at once count each.
    pub total_ns: u64,
}

/// Operations of one name and type.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelDifferenceEntry {
    /// The kernel, or the operator or scope that launches; `null` if none is known.
    pub name: Option<Arc<str>>,
    /// `computation`, `communication` or `memory`.
    pub r#type: &'static str,
    /// `added`: only after; `gone`: only before; `changed`: in number or time; `same`.
    pub change: &'static str,
    /// Number of operations before.
    pub before_launches: u64,
    /// Number of operations after.
    pub after_launches: u64,
    /// Their time before.
    pub before_ns: u64,
    /// Their time after.
    pub after_ns: u64,
    /// `after_ns - before_ns`.
    pub difference_ns: i64,
    /// The part of it by the number of operations, at the mean time before; all of it if one side has none.
    pub by_number_ns: i64,
    /// The rest: by longer or shorter operations.
    pub by_length_ns: i64,
    /// Mean time before; `null` without any.
    pub before_mean_ns: Option<f64>,
    /// Mean time after; `null` without any.
    pub after_mean_ns: Option<f64>,
}

impl KernelDifferenceAnswer {
    /// The shape of `output`; the sides get their sums from it.
    pub fn new(output: &KernelDifference, [before, after]: [KernelDifferenceSide; 2]) -> Self {
        let (launches, total) = (output.launches(), output.total_ns());
        KernelDifferenceAnswer {
            by: output.by.as_str(),
            before: KernelDifferenceSide { launches: launches[0], total_ns: total[0], ..before },
            after: KernelDifferenceSide { launches: launches[1], total_ns: total[1], ..after },
            rows: output.rows.iter().map(entry).collect(),
        }
    }
}

fn entry(row: &KernelDifferenceRow) -> KernelDifferenceEntry {
    let ([before_launches, after_launches], [before_ns, after_ns]) = (row.launches(), row.total_ns());
    let (by_number_ns, by_length_ns) = row.parts_ns();
    KernelDifferenceEntry {
        name: row.name.clone(),
        r#type: row.kind.as_str(),
        change: row.change().as_str(),
        before_launches,
        after_launches,
        before_ns,
        after_ns,
        difference_ns: row.difference_ns(),
        by_number_ns,
        by_length_ns,
        before_mean_ns: row.before.map(|it| it.mean_ns),
        after_mean_ns: row.after.map(|it| it.mean_ns),
    }
}
