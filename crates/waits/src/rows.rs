//! Waits added up by class and call path, as rows and as a table.

use crate::class::{Certainty, ClassRole, WaitClass};
use crate::output::WaitsOutput;
use crate::wait::{Wait, WaitSum};
use ouzel_model::{CallPathId, ColumnData, Definitions, RegionId, Table, Ticks, Unit, WorldRank};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which rows are made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitRows {
    /// Whether ranks have rows of their own.
    pub per: WaitsPer,
    /// Only these classes; all if there are none.
    pub classes: Vec<WaitClass>,
}

/// What waits are summed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WaitsPer {
    /// All ranks.
    #[default]
    Total,
    /// The locations of a rank.
    Rank,
}

/// The waits of one class in one call path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitRow {
    /// What for.
    pub class: WaitClass,
    /// The call that waits.
    pub call_path: CallPathId,
    /// Who waits, in rows of ranks.
    pub rank: Option<WorldRank>,
    /// How long in total.
    pub wait: Ticks,
    /// Number of waits.
    pub n: u64,
    /// The longest wait.
    pub longest: Ticks,
    /// When that one began, since the trace start.
    pub longest_at: Ticks,
    /// How far it is known.
    pub certainty: Certainty,
    /// Who was waited for longest in total.
    pub culprit: Option<RowCulprit>,
}

/// The call that a row waits for longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowCulprit {
    /// Its rank.
    pub rank: Option<WorldRank>,
    /// Its call path.
    pub call_path: CallPathId,
}

type RowKey = (WaitClass, Certainty, CallPathId, Option<WorldRank>);

#[derive(Default)]
struct RowSum {
    wait: Ticks,
    n: u64,
    n_clamped: u64,
    longest: Ticks,
    longest_at: Ticks,
    culprits: BTreeMap<RowCulprit, Ticks>,
}

impl RowSum {
    fn add(&mut self, wait: &Wait, culprit: Option<RowCulprit>) {
        let ticks = wait.ticks();
        self.wait += ticks;
        self.n += 1;
        self.n_clamped += u64::from(wait.is_clamped);
        if (Reverse(self.longest), self.longest_at) > (Reverse(ticks), wait.start) {
            (self.longest, self.longest_at) = (ticks, wait.start);
        }
        if let Some(culprit) = culprit {
            *self.culprits.entry(culprit).or_default() += ticks;
        }
    }

    /// Adds what has no single culprit.
    fn add_sum(&mut self, sum: &WaitSum) {
        self.wait += sum.wait;
        self.n += sum.n;
        if (Reverse(self.longest), self.longest_at) > (Reverse(sum.longest), sum.longest_at) {
            (self.longest, self.longest_at) = (sum.longest, sum.longest_at);
        }
    }

    fn finish(self, (class, certainty, call_path, rank): RowKey) -> WaitRow {
        // The first of several, as the sums are in order.
        let most = self.culprits.iter().max_by_key(|(culprit, wait)| (**wait, Reverse(**culprit)));
        let is_doubtful = self.n < self.n_clamped.saturating_mul(100);
        WaitRow {
            class,
            call_path,
            rank,
            wait: self.wait,
            n: self.n,
            longest: self.longest,
            longest_at: self.longest_at,
            certainty: if is_doubtful { Certainty::Doubtful } else { certainty },
            culprit: most.map(|(&culprit, _)| culprit),
        }
    }
}

impl WaitsOutput {
    /// One row for each class and call path: primary classes, then parts, then what lies beside; most waiting first.
    pub fn rows(&self, which: &WaitRows, definitions: &Definitions) -> Vec<WaitRow> {
        let mut sums: BTreeMap<RowKey, RowSum> = BTreeMap::new();
        let rank = |location| definitions.location(location).rank;
        let is_wanted = |it: &Wait| which.classes.is_empty() || which.classes.contains(&it.class);
        for wait in self.with_parts().filter(is_wanted) {
            let of_rank = if which.per == WaitsPer::Rank { rank(wait.location) } else { None };
            let culprit = wait.culprit.map(|it| RowCulprit { rank: rank(it.location), call_path: it.path });
            sums.entry((wait.class, wait.certainty, wait.path, of_rank)).or_default().add(&wait, culprit);
        }
        for sum in self.sums.iter().filter(|it| which.classes.is_empty() || which.classes.contains(&it.class))
        {
            let of_rank = if which.per == WaitsPer::Rank { rank(sum.location) } else { None };
            sums.entry((sum.class, Certainty::Certain, sum.path, of_rank)).or_default().add_sum(sum);
        }
        let mut rows: Vec<WaitRow> = sums.into_iter().map(|(key, sum)| sum.finish(key)).collect();
        rows.sort_by_key(|row| {
            let group = match row.class.role() {
                ClassRole::Primary => 0,
                ClassRole::PartOf(_) => 1,
                ClassRole::Beside => 2,
            };
            (group, Reverse(row.wait))
        });
        rows
    }

    /// The rows as a table.
    pub fn table(&self, rows: &[WaitRow], definitions: &Definitions) -> Table {
        let ns = |value: &dyn Fn(&WaitRow) -> Ticks| {
            ColumnData::U64(rows.iter().map(|row| definitions.clock.ns_from_ticks(value(row))).collect())
        };
        let text = |value: &dyn Fn(&WaitRow) -> &'static str| {
            ColumnData::Text(rows.iter().map(|row| Arc::from(value(row))).collect())
        };
        let rank = |value: &dyn Fn(&WaitRow) -> Option<WorldRank>| {
            ColumnData::OptionU64(rows.iter().map(|row| value(row).map(|rank| u64::from(rank.0))).collect())
        };
        let paths = |value: &dyn Fn(&WaitRow) -> Option<CallPathId>| {
            let names = |row| value(row).map_or_else(Vec::new, |path| self.names(path, definitions));
            ColumnData::TextList(rows.iter().map(names).collect())
        };
        Table::new("waits")
            .with("class", Unit::None, "What the call waits for", text(&|row| row.class.as_str()))
            .with(
                "call_path",
                Unit::None,
                "The call that waits, from the root",
                paths(&|row| Some(row.call_path)),
            )
            .with("rank", Unit::None, "World rank that waits; missing in totals", rank(&|row| row.rank))
            .with("wait_ns", Unit::Nanoseconds, "Time waited", ns(&|row| row.wait))
            .with(
                "n",
                Unit::Count,
                "Number of waits",
                ColumnData::U64(rows.iter().map(|row| row.n).collect()),
            )
            .with("longest_ns", Unit::Nanoseconds, "The longest wait", ns(&|row| row.longest))
            .with(
                "longest_at_ns",
                Unit::Nanoseconds,
                "When the longest wait began, since the trace start",
                ns(&|row| row.longest_at),
            )
            .with(
                "certainty",
                Unit::None,
                "certain, upper_bound, possible or doubtful",
                text(&|row| row.certainty.as_str()),
            )
            .with(
                "culprit_rank",
                Unit::None,
                "World rank that is waited for longest",
                rank(&|row| row.culprit.and_then(|it| it.rank)),
            )
            .with(
                "culprit_call_path",
                Unit::None,
                "The call that is waited for longest, from the root; empty if that is no single call",
                paths(&|row| row.culprit.map(|it| it.call_path)),
            )
    }

    /// The names of the regions of a call path, from the root.
    pub fn names(&self, path: CallPathId, definitions: &Definitions) -> Vec<Arc<str>> {
        let name = |region: &RegionId| definitions.region(*region).name.clone();
        self.call_paths.regions(path).iter().map(name).collect()
    }
}
