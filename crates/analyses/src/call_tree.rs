//! One tree of call paths for the whole run: visits, time and counters of every node.
//!
//! ```text
//! profile of the run, counters (by location and call path) ──sum──► nodes by path of names
//! ```
//! A node is a path of names: regions of one name called from one node are one node, as
//! in Pipit's calling-context tree (Bhatele et al., SC 2023, section III). Laws: parents
//! come before children, children of a node in the order of their names; `inclusive` is
//! `exclusive` plus `inclusive` of the children, of time and of every counter; a recursive
//! call is a deeper node. Callers of selected calls that are not selected themselves have no visits, and their own time
//! is in `[filtered]`. For one tree per location, see the crate `ouzel-context-tree`.

use crate::call_path_profile::TotalProfileOutput;
use crate::metric_profile::MetricProfileOutput;
use ouzel_model::{CallPathId, CallPathTree, ColumnData, Definitions, MetricId, Table, Ticks, Unit};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The tree of all locations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallTreeOutput {
    /// Parents before children, depth first, siblings by name.
    pub nodes: Vec<CallTreeNode>,
    /// The counters that the nodes have gains of.
    pub metrics: Vec<MetricId>,
}

/// A call path of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallTreeNode {
    /// The caller's index in the list; `None` for the outermost.
    pub parent: Option<usize>,
    /// Number of callers.
    pub depth: u64,
    /// Name of the region at its end.
    pub region: Arc<str>,
    /// Visits at all locations.
    pub visits: u64,
    /// Ticks from enter to leave, summed over visits.
    pub inclusive: Ticks,
    /// The same without the ticks in callees.
    pub exclusive: Ticks,
    /// Inclusive and exclusive gain of each counter, in the counter's unit.
    pub gains: Vec<(u64, u64)>,
}

/// The tree of a profile, with the gains of `metrics`, which `counters` of the same pass hold.
pub fn call_tree(
    profile: &TotalProfileOutput,
    counters: Option<&MetricProfileOutput>,
    metrics: &[MetricId],
    definitions: &Definitions,
) -> CallTreeOutput {
    let paths = &profile.call_paths;
    let (mut nodes, node_of) = skeleton(paths, definitions, metrics.len());
    for row in &profile.rows {
        let Some(node) = node_of[row.call_path.index()].map(|i| &mut nodes[i]) else { continue };
        node.visits += row.times.visits;
        node.inclusive = Ticks(node.inclusive.0.saturating_add(row.times.inclusive.0));
        node.exclusive = Ticks(node.exclusive.0.saturating_add(row.times.exclusive.0));
    }
    for row in counters.into_iter().flat_map(|c| &c.locations).flat_map(|location| &location.rows) {
        let Some(i) = metrics.iter().position(|&metric| metric == row.metric) else { continue };
        let Some(node) = node_of[row.call_path.index()] else { continue };
        let (inclusive, exclusive) = &mut nodes[node].gains[i];
        *inclusive = inclusive.saturating_add(row.inclusive);
        *exclusive = exclusive.saturating_add(row.exclusive);
    }
    with_hidden_callers(&mut nodes, &definitions.region(definitions.filtered_region).name);
    CallTreeOutput { nodes, metrics: metrics.to_vec() }
}

/// Gives callers without values of their own what their callees have, and takes from `[filtered]` what these have.
fn with_hidden_callers(nodes: &mut [CallTreeNode], filtered: &str) {
    let mut in_callees = vec![(0, vec![0; nodes.first().map_or(0, |node| node.gains.len())]); nodes.len()];
    for i in (0..nodes.len()).rev() {
        let node = &mut nodes[i];
        let (time, gains) = std::mem::take(&mut in_callees[i]);
        if node.visits == 0 || &*node.region == filtered {
            node.inclusive = Ticks(node.exclusive.0.saturating_add(time));
            for ((inclusive, exclusive), in_callees) in node.gains.iter_mut().zip(gains) {
                *inclusive = exclusive.saturating_add(in_callees);
            }
        }
        if let Some(parent) = node.parent {
            let (time, gains) = &mut in_callees[parent];
            *time = node.inclusive.0.saturating_add(*time);
            gains.iter_mut().zip(&node.gains).for_each(|(sum, gain)| *sum = gain.0.saturating_add(*sum));
        }
    }
}

/// The nodes without values, and the node of each call path; the root has none.
fn skeleton(
    paths: &CallPathTree,
    definitions: &Definitions,
    n_metrics: usize,
) -> (Vec<CallTreeNode>, Vec<Option<usize>>) {
    let mut children: Vec<Vec<CallPathId>> = vec![Vec::new(); paths.len()];
    paths.paths().for_each(|path| children[paths.parent(path).index()].push(path));
    let mut nodes: Vec<CallTreeNode> = Vec::new();
    let mut node_of = vec![None; paths.len()];
    // A future node, with the call paths that it is made of.
    let mut pending: Vec<(Option<usize>, Arc<str>, Vec<CallPathId>)> = Vec::new();
    let below = |parent: Option<usize>, made_of: &[CallPathId]| {
        let mut by_name: BTreeMap<Arc<str>, Vec<CallPathId>> = BTreeMap::new();
        for &path in made_of.iter().flat_map(|path| &children[path.index()]) {
            if let Some(region) = paths.region(path) {
                by_name.entry(definitions.region(region).name.clone()).or_default().push(path);
            }
        }
        by_name.into_iter().rev().map(move |(name, made_of)| (parent, name, made_of)).collect::<Vec<_>>()
    };
    pending.extend(below(None, &[CallPathTree::ROOT]));
    while let Some((parent, region, made_of)) = pending.pop() {
        let node = nodes.len();
        let depth = parent.map_or(0, |parent| nodes[parent].depth + 1);
        let gains = vec![(0, 0); n_metrics];
        nodes.push(CallTreeNode {
            parent,
            depth,
            region,
            visits: 0,
            inclusive: Ticks(0),
            exclusive: Ticks(0),
            gains,
        });
        made_of.iter().for_each(|path| node_of[path.index()] = Some(node));
        pending.extend(below(Some(node), &made_of));
    }
    (nodes, node_of)
}

impl CallTreeOutput {
    /// The names from the outermost to a node.
    pub fn call_path(&self, node: usize) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = std::iter::successors(Some(node), |&at| self.nodes[at].parent)
            .map(|at| self.nodes[at].region.clone())
            .collect();
        names.reverse();
        names
    }

    /// The nodes as a table, times in nanoseconds.
    pub fn table(&self, definitions: &Definitions) -> Table {
        let column =
            |value: &dyn Fn(&CallTreeNode) -> u64| ColumnData::U64(self.nodes.iter().map(value).collect());
        let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
        let parents = self.nodes.iter().map(|node| node.parent.map(|parent| parent as u64)).collect();
        let mut table = Table::new("call paths")
            .with(
                "node",
                Unit::None,
                "Number of the call path",
                ColumnData::U64((0..self.nodes.len() as u64).collect()),
            )
            .with(
                "parent",
                Unit::None,
                "Number of the caller's call path; missing for the outermost",
                ColumnData::OptionU64(parents),
            )
            .with("depth", Unit::Count, "Number of callers", column(&|node| node.depth))
            .with(
                "region",
                Unit::None,
                "Name of the called region",
                ColumnData::Text(self.nodes.iter().map(|node| node.region.clone()).collect()),
            )
            .with(
                "call_path",
                Unit::None,
                "Regions from the outermost to this one",
                ColumnData::TextList((0..self.nodes.len()).map(|node| self.call_path(node)).collect()),
            )
            .with("visits", Unit::Count, "How often it was entered", column(&|node| node.visits))
            .with(
                "inclusive_ns",
                Unit::Nanoseconds,
                "Time from enter to leave, summed over visits",
                column(&|node| ns(node.inclusive)),
            )
            .with(
                "exclusive_ns",
                Unit::Nanoseconds,
                "Time from enter to leave less the time in callees, summed over visits",
                column(&|node| ns(node.exclusive)),
            );
        for (i, metric) in self.metrics.iter().enumerate() {
            let metric = &definitions.metrics[metric.index()];
            let unit = || Unit::Other(metric.unit.clone());
            table = table
                .with(
                    format!("{}_inclusive", metric.name),
                    unit(),
                    "What the counter gained from enter to leave, summed over visits",
                    column(&|node| node.gains[i].0),
                )
                .with(
                    format!("{}_exclusive", metric.name),
                    unit(),
                    "The same without its gain in callees",
                    column(&|node| node.gains[i].1),
                );
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_path_profile::TotalProfile;
    use crate::golden::TWO_PROCESSES;
    use crate::metric_profile::MetricProfile;
    use ouzel_model::TraceSource;
    use ouzel_testkit::{Faults, RandomTrace, ToyTrace, golden, run};

    fn tree(trace: &ToyTrace) -> CallTreeOutput {
        let metrics: Vec<MetricId> =
            (0..trace.definitions().metrics.len()).map(MetricId::from_index).collect();
        let (profile, counters) = (run(trace, TotalProfile), run(trace, MetricProfile));
        call_tree(&profile, Some(&counters), &metrics, trace.definitions())
    }

    #[test]
    fn the_example_of_two_processes_has_its_agreed_tree() {
        let golden = golden("pipit_ops");
        let expected = golden["expected"]["cct"].as_object().unwrap();
        let tree = tree(&ToyTrace::new(TWO_PROCESSES));
        assert_eq!(tree.nodes.len(), expected.len());
        for (i, node) in tree.nodes.iter().enumerate() {
            let agreed = &expected[&tree.call_path(i).join("/")];
            assert_eq!(
                *agreed,
                serde_json::json!([node.visits, node.inclusive.0, node.exclusive.0]),
                "{node:?}"
            );
        }
    }

    #[test]
    fn regions_of_one_name_are_one_node() {
        let mut trace = ToyTrace::new(
            "0: enter main @0, enter f @1, enter g @2, leave @3, leave @4, enter other @5, enter g @6, leave @8, leave @9, leave @10",
        );
        let other = trace.definitions().regions.iter().position(|r| &*r.name == "other").unwrap();
        trace.definitions_mut().regions[other].name = "f".into();
        let tree = tree(&trace);
        let rows: Vec<_> = (0..tree.nodes.len())
            .map(|i| {
                let node = &tree.nodes[i];
                (tree.call_path(i).join("/"), node.parent, node.visits, node.inclusive.0, node.exclusive.0)
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("main".to_owned(), None, 1, 10, 3),
                ("main/f".to_owned(), Some(0), 2, 7, 4),
                ("main/f/g".to_owned(), Some(1), 2, 3, 3)
            ]
        );
    }

    #[test]
    fn inclusive_values_are_exclusive_ones_and_those_of_children() {
        for seed in 0..12 {
            let trace = RandomTrace { seed, n_locations: 4, n_events: 300, faults: Faults::Leaves }.build();
            let tree = tree(&trace);
            let mut sums: Vec<(u64, Vec<u64>)> =
                tree.nodes.iter().map(|n| (n.exclusive.0, n.gains.iter().map(|g| g.1).collect())).collect();
            for (i, node) in tree.nodes.iter().enumerate().rev() {
                let expected = (node.inclusive.0, node.gains.iter().map(|g| g.0).collect::<Vec<_>>());
                assert_eq!(sums[i], expected, "seed {seed}: {:?}", tree.call_path(i));
                if let Some(parent) = node.parent {
                    assert!(parent < i);
                    let own = sums[i].clone();
                    sums[parent].0 += own.0;
                    sums[parent].1.iter_mut().zip(own.1).for_each(|(sum, gain)| *sum += gain);
                }
            }
            assert_eq!(tree.table(trace.definitions()).n_rows(), tree.nodes.len());
        }
    }
}
