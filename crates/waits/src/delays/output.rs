//! The costs of delays, by class, call path and location.

use super::chain::WaitChain;
use super::dependencies::Dependencies;
use crate::class::WaitClass;
use ouzel_analyses::callers::{CallPathRows, Callers};
use ouzel_model::{
    CallPathId, CallPathTree, ColumnData, Definitions, LocationId, RegionId, Remap, Table, Ticks, Unit,
    WorldRank,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Which code makes others wait.
#[derive(Debug, Clone)]
pub struct DelaysOutput {
    /// The call paths that the rows refer to.
    pub call_paths: CallPathTree,
    /// By class, call path and location.
    pub costs: BTreeMap<(WaitClass, CallPathId, LocationId), (Ticks, Ticks)>,
    /// Waits whose cause is not known, by class and waiting call path.
    pub unexplained: BTreeMap<(WaitClass, CallPathId), Ticks>,
    /// Of the code with the highest costs, the chain of waiting that begins there; highest costs first.
    pub chains: Vec<WaitChain>,
    /// The waits that were divided by rate, as memory did not suffice for all.
    pub by_rate: Ticks,
}

/// Waiting that one call path of one rank causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayRow {
    /// The class of the waits.
    pub class: WaitClass,
    /// The code that takes longer than elsewhere.
    pub call_path: CallPathId,
    /// The rank that runs it.
    pub rank: Option<WorldRank>,
    /// Waits of those who waited for this rank.
    pub short_term: Ticks,
    /// Waits of others, who waited for ranks that waited themselves.
    pub long_term: Ticks,
}

/// Waiting of one call path whose cause is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnexplainedRow {
    /// The class of the waits.
    pub class: WaitClass,
    /// The call that waits.
    pub call_path: CallPathId,
    /// How long.
    pub wait: Ticks,
}

/// The sums while waits are settled; call paths of costs and of unexplained waits are of different trees.
#[derive(Debug, Default)]
pub(super) struct DelaySums {
    costs: BTreeMap<(WaitClass, CallPathId, LocationId), (Ticks, Ticks)>,
    unexplained: BTreeMap<(WaitClass, CallPathId), Ticks>,
}

impl DelaySums {
    pub fn cost(&mut self, at: (WaitClass, CallPathId, LocationId), cost: u64, is_short: bool) {
        if 0 < cost {
            let (short, long) = self.costs.entry(at).or_default();
            *(if is_short { short } else { long }) += Ticks(cost);
        }
    }

    pub fn unexplained(&mut self, class: WaitClass, path: CallPathId, wait: u64) {
        if 0 < wait {
            *self.unexplained.entry((class, path)).or_default() += Ticks(wait);
        }
    }

    /// Of each call path of a location over all classes: short-term and long-term costs.
    pub fn by_delay(&self) -> BTreeMap<(CallPathId, LocationId), (Ticks, Ticks)> {
        let mut sums: BTreeMap<(CallPathId, LocationId), (Ticks, Ticks)> = BTreeMap::new();
        for (&(_, path, location), &(short, long)) in &self.costs {
            let sum = sums.entry((path, location)).or_default();
            *sum = (sum.0 + short, sum.1 + long);
        }
        sums
    }

    /// Adds waiting of threads that follows from no single call; `remap` is for its call paths.
    pub fn add_sums(&mut self, of: &Dependencies, remap: &Remap) {
        for sum in &of.sums {
            match sum.class {
                // The code that the master runs alone is what they wait for.
                WaitClass::IdleThreads => {
                    self.cost((sum.class, remap.path(sum.path), sum.location), sum.wait.0, true);
                }
                class => self.unexplained(class, sum.path, sum.wait.0),
            }
        }
    }

    /// The output; `remap` is for the call paths of unexplained waits.
    pub fn finish(self, call_paths: CallPathTree, remap: &Remap, chains: Vec<WaitChain>) -> DelaysOutput {
        let unexplained = self.unexplained.into_iter();
        let unexplained =
            unexplained.map(|((class, path), wait)| ((class, remap.path(path)), wait)).collect();
        DelaysOutput { call_paths, costs: self.costs, unexplained, chains, by_rate: Ticks(0) }
    }
}

impl CallPathRows for DelaysOutput {
    fn call_paths(&self) -> &CallPathTree {
        &self.call_paths
    }

    fn with_callers(mut self, callers: &Callers) -> Self {
        let mut costs: BTreeMap<_, (Ticks, Ticks)> = BTreeMap::new();
        for ((class, path, location), (short, long)) in self.costs {
            let sum = costs.entry((class, callers.at(path), location)).or_default();
            *sum = (sum.0 + short, sum.1 + long);
        }
        let mut unexplained: BTreeMap<_, Ticks> = BTreeMap::new();
        for ((class, path), wait) in self.unexplained {
            *unexplained.entry((class, callers.at(path))).or_default() += wait;
        }
        for chain in &mut self.chains {
            chain.delay.call_path = callers.at(chain.delay.call_path);
            for wait in &mut chain.waits {
                wait.call_path = callers.at(wait.call_path);
                wait.culprit.path = callers.at(wait.culprit.path);
            }
        }
        DelaysOutput { call_paths: callers.call_paths().clone(), costs, unexplained, ..self }
    }
}

impl DelaysOutput {
    /// The costs with the call paths numbered as in `tree`; missing paths are added to it. Without chains.
    #[must_use]
    pub fn numbered_like(self, tree: &mut CallPathTree) -> Self {
        let remap = tree.absorb(&self.call_paths);
        let costs = self.costs.into_iter();
        let costs = costs.map(|((class, path, at), cost)| ((class, remap.path(path), at), cost)).collect();
        let unexplained = self.unexplained.into_iter();
        let unexplained =
            unexplained.map(|((class, path), wait)| ((class, remap.path(path)), wait)).collect();
        DelaysOutput { call_paths: tree.clone(), costs, unexplained, chains: Vec::new(), ..self }
    }

    /// The share of all waits that is not divided by rate, from 0 to 1; 1 without waits.
    pub fn exact_share(&self, waits: Ticks) -> f64 {
        if waits == Ticks(0) { 1.0 } else { waits.since(self.by_rate).0 as f64 / waits.0 as f64 }
    }

    /// One row for each class, call path and rank, the most waiting first.
    pub fn rows(&self, definitions: &Definitions) -> Vec<DelayRow> {
        let mut sums: BTreeMap<(WaitClass, CallPathId, Option<WorldRank>), (Ticks, Ticks)> = BTreeMap::new();
        for (&(class, path, location), &(short, long)) in &self.costs {
            let sum = sums.entry((class, path, definitions.location(location).rank)).or_default();
            *sum = (sum.0 + short, sum.1 + long);
        }
        let row = |((class, call_path, rank), (short_term, long_term))| DelayRow {
            class,
            call_path,
            rank,
            short_term,
            long_term,
        };
        let mut rows: Vec<DelayRow> = sums.into_iter().map(row).collect();
        rows.sort_by_key(|row| Reverse(row.short_term + row.long_term));
        rows
    }

    /// The rows as a table.
    pub fn table(&self, definitions: &Definitions) -> Table {
        let rows = self.rows(definitions);
        let ns = |value: &dyn Fn(&DelayRow) -> Ticks| {
            ColumnData::U64(rows.iter().map(|row| definitions.clock.ns_from_ticks(value(row))).collect())
        };
        let classes = rows.iter().map(|row| Arc::from(row.class.as_str())).collect();
        let paths = rows.iter().map(|row| self.names(row.call_path, definitions)).collect();
        let ranks = rows.iter().map(|row| row.rank.map(|rank| u64::from(rank.0))).collect();
        Table::new("delays")
            .with("class", Unit::None, "The class of the waits", ColumnData::Text(classes))
            .with(
                "call_path",
                Unit::None,
                "The code that takes longer than elsewhere, from the root; empty outside all regions",
                ColumnData::TextList(paths),
            )
            .with("rank", Unit::None, "World rank that runs it", ColumnData::OptionU64(ranks))
            .with(
                "short_term_ns",
                Unit::Nanoseconds,
                "Waiting of those who wait for this rank",
                ns(&|row| row.short_term),
            )
            .with(
                "long_term_ns",
                Unit::Nanoseconds,
                "Waiting of others, who wait for ranks that waited themselves",
                ns(&|row| row.long_term),
            )
    }

    /// Waits whose cause is not known, the longest first.
    pub fn unexplained_rows(&self) -> Vec<UnexplainedRow> {
        let row = |(&(class, call_path), &wait): (&(WaitClass, CallPathId), &Ticks)| UnexplainedRow {
            class,
            call_path,
            wait,
        };
        let mut rows: Vec<UnexplainedRow> = self.unexplained.iter().map(row).collect();
        rows.sort_by_key(|row| Reverse(row.wait));
        rows
    }

    /// The names of the regions of a call path, from the root.
    pub fn names(&self, path: CallPathId, definitions: &Definitions) -> Vec<Arc<str>> {
        let name = |region: &RegionId| definitions.region(*region).name.clone();
        self.call_paths.regions(path).iter().map(name).collect()
    }
}
