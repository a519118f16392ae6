//! Results by call path, of calls that are selected by their paths: each with all its callers.
//!
//! ```text
//! recorded          main › solve › halo › MPI_Waitall        main › solve › kernel
//! MPI_* selected    main › solve › halo › MPI_Waitall        [filtered]
//! ```
//!
//! A selection hides calls, and hidden ones directly inside each other become one call `[filtered]`. Where rows are call
//! paths, that would hide who calls what is selected. So such results are made of all calls, and hidden ones are put
//! together here: a call that is shown has the names of all its callers; the rest is in `[filtered]` below the innermost
//! caller that is shown.
//!
//! Law: with `[filtered]` in place of hidden callers, the rows are those of a pass with the selection, as long as counters
//! do not go back.

use crate::call_path_profile::{PathTimes, ProfileOutput, TotalProfileOutput, VisitTimes};
use crate::communication_totals::{CommunicationOutput, PathCollectives, PathMessages};
use crate::metric_profile::{MetricProfileOutput, PathMetric};
use crate::time_profile::{TimeProfileOutput, TimeProfileRow};
use ouzel_model::{CallPathId, CallPathTree, RegionId, Ticks};
use std::collections::BTreeMap;

/// Results by call path.
pub trait CallPathRows {
    /// The call paths that the rows refer to.
    fn call_paths(&self) -> &CallPathTree;

    /// The same with hidden calls put together. `callers` is made of the same call paths.
    #[must_use]
    fn with_callers(self, callers: &Callers) -> Self;
}

/// Where the values of each call path are shown.
#[derive(Debug, Clone)]
pub struct Callers {
    /// The call paths of the result.
    call_paths: CallPathTree,
    /// By call path: where its values are.
    shown_at: Vec<CallPathId>,
    /// By call path: whether it is inside of a hidden call that has its visits and its inclusive values already.
    joins: Vec<bool>,
}

impl Callers {
    /// For the call paths of a pass, of which some are shown; `stand_in` takes the place of the others' regions.
    pub fn new(call_paths: &CallPathTree, is_shown: &[bool], stand_in: RegionId) -> Self {
        let mut tree = call_paths.clone();
        let mut shown_at = vec![CallPathTree::ROOT; call_paths.len()];
        let mut joins = vec![false; call_paths.len()];
        let is_hidden = |path: CallPathId| {
            let is_shown = is_shown.get(path.index()).copied().unwrap_or(true);
            call_paths.region(path).is_some_and(|region| region == stand_in || !is_shown)
        };
        for path in call_paths.paths() {
            let caller = call_paths.parent(path);
            (shown_at[path.index()], joins[path.index()]) = match (is_hidden(path), is_hidden(caller)) {
                (true, true) => (shown_at[caller.index()], true),
                (true, false) => (tree.child(caller, stand_in), false),
                (false, _) => (path, false),
            };
        }
        Callers { call_paths: tree, shown_at, joins }
    }

    /// The call paths of what is shown: those of the result, and `[filtered]` in place of hidden ones.
    pub fn call_paths(&self) -> &CallPathTree {
        &self.call_paths
    }

    /// Where the values of a call path are shown.
    pub fn at(&self, path: CallPathId) -> CallPathId {
        self.shown_at.get(path.index()).copied().unwrap_or(path)
    }

    fn joins(&self, path: CallPathId) -> bool {
        self.joins.get(path.index()).copied().unwrap_or(false)
    }

    /// Times where they are shown.
    fn times(&self, rows: &[PathTimes]) -> Vec<PathTimes> {
        let mut shown: BTreeMap<CallPathId, VisitTimes> = BTreeMap::new();
        for row in rows {
            let sum = shown.entry(self.at(row.call_path)).or_default();
            match self.joins(row.call_path) {
                true => sum.exclusive = Ticks(sum.exclusive.0.saturating_add(row.times.exclusive.0)),
                false => sum.add(&row.times),
            }
        }
        shown.into_iter().map(|(call_path, times)| PathTimes { call_path, times }).collect()
    }
}

impl CallPathRows for ProfileOutput {
    fn call_paths(&self) -> &CallPathTree {
        &self.call_paths
    }

    fn with_callers(mut self, callers: &Callers) -> Self {
        for location in &mut self.locations {
            location.rows = callers.times(&location.rows);
        }
        ProfileOutput { call_paths: callers.call_paths.clone(), ..self }
    }
}

impl CallPathRows for TotalProfileOutput {
    fn call_paths(&self) -> &CallPathTree {
        &self.call_paths
    }

    fn with_callers(self, callers: &Callers) -> Self {
        let rows = callers.times(&self.rows);
        TotalProfileOutput { call_paths: callers.call_paths.clone(), rows }
    }
}

impl CallPathRows for MetricProfileOutput {
    fn call_paths(&self) -> &CallPathTree {
        &self.call_paths
    }

    fn with_callers(mut self, callers: &Callers) -> Self {
        for location in &mut self.locations {
            let mut rows = BTreeMap::new();
            for row in &location.rows {
                let key = (row.metric, callers.at(row.call_path));
                let sum: &mut (u64, u64) = rows.entry(key).or_default();
                let inclusive = if callers.joins(row.call_path) { 0 } else { row.inclusive };
                *sum = (sum.0.saturating_add(inclusive), sum.1.saturating_add(row.exclusive));
            }
            let row = |((metric, call_path), (inclusive, exclusive))| PathMetric {
                metric,
                call_path,
                inclusive,
                exclusive,
            };
            location.rows = rows.into_iter().map(row).collect();
        }
        MetricProfileOutput { call_paths: callers.call_paths.clone(), ..self }
    }
}

impl CallPathRows for CommunicationOutput {
    fn call_paths(&self) -> &CallPathTree {
        &self.call_paths
    }

    fn with_callers(mut self, callers: &Callers) -> Self {
        for location in &mut self.locations {
            let mut messages: BTreeMap<CallPathId, PathMessages> = BTreeMap::new();
            for row in location.messages.drain(..) {
                let call_path = callers.at(row.call_path);
                messages
                    .entry(call_path)
                    .and_modify(|sum| sum.totals.add(&row.totals))
                    .or_insert(PathMessages { call_path, ..row });
            }
            location.messages = messages.into_values().collect();
            let mut collectives: BTreeMap<_, PathCollectives> = BTreeMap::new();
            for row in location.collectives.drain(..) {
                let call_path = callers.at(row.call_path);
                collectives
                    .entry((call_path, row.op))
                    .and_modify(|sum| sum.totals.add(&row.totals))
                    .or_insert(PathCollectives { call_path, ..row });
            }
            location.collectives = collectives.into_values().collect();
        }
        CommunicationOutput { call_paths: callers.call_paths.clone(), ..self }
    }
}

impl CallPathRows for TimeProfileOutput {
    fn call_paths(&self) -> &CallPathTree {
        &self.call_paths
    }

    fn with_callers(mut self, callers: &Callers) -> Self {
        let mut rows: BTreeMap<CallPathId, TimeProfileRow> = BTreeMap::new();
        for row in self.rows.drain(..) {
            let call_path = callers.at(row.call_path);
            match rows.get_mut(&call_path) {
                Some(sum) => {
                    for (sum, ticks) in sum.exclusive.iter_mut().zip(&row.exclusive) {
                        sum.0 = sum.0.saturating_add(ticks.0);
                    }
                }
                None => {
                    rows.insert(call_path, TimeProfileRow { call_path, ..row });
                }
            }
        }
        TimeProfileOutput {
            rows: rows.into_values().collect(),
            call_paths: callers.call_paths.clone(),
            ..self
        }
    }
}

impl<T: CallPathRows, M: CallPathRows, C: CallPathRows> CallPathRows for (T, Option<M>, Option<C>) {
    fn call_paths(&self) -> &CallPathTree {
        self.0.call_paths()
    }

    fn with_callers(self, callers: &Callers) -> Self {
        let (first, second, third) = self;
        (
            first.with_callers(callers),
            second.map(|it| it.with_callers(callers)),
            third.map(|it| it.with_callers(callers)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_path_profile::{CallPathProfile, TotalProfile};
    use crate::communication_totals::Communication;
    use crate::metric_profile::MetricProfile;
    use crate::time_grid::TimeGrid;
    use crate::time_profile::TimeProfile;
    use crate::{By, Per};
    use ouzel_engine::Question;
    use ouzel_model::{ColumnData, Definitions, Filter, Table, TimeRange, TraceSource};
    use ouzel_testkit::{Faults, RandomTrace, ToyTrace, run, run_report};

    const FILTERED: &str = "[filtered]";

    /// What is selected, and the same asked of the names of a call path.
    #[derive(Clone)]
    struct Selected {
        filter: Filter,
        shows: fn(&[String]) -> bool,
    }

    fn regions(names: &[&str], shows: fn(&[String]) -> bool) -> Selected {
        let regions = names.iter().map(|&it| it.to_owned()).collect();
        Selected { filter: Filter { regions, ..Filter::default() }, shows }
    }

    fn predicate(text: &str, shows: fn(&[String]) -> bool) -> Selected {
        Selected { filter: Filter::default().and(text.parse().expect("a predicate")), shows }
    }

    fn is_one_of(path: &[String], names: &[&str]) -> bool {
        path.last().is_some_and(|name| names.contains(&&**name))
    }

    fn with_callers<Q>(trace: &ToyTrace, question: Q, selected: &Selected) -> Q::Output
    where
        Q: Question,
        Q::Output: CallPathRows,
    {
        let output = run(trace, question);
        let definitions = trace.definitions();
        let (_, shown) = selected.filter.split_paths().expect("paths tell what is selected");
        let is_shown = shown.resolve(definitions).of_calls(output.call_paths(), definitions);
        let callers = Callers::new(output.call_paths(), &is_shown, definitions.filtered_region);
        output.with_callers(&callers)
    }

    fn names(tree: &CallPathTree, path: CallPathId, definitions: &Definitions) -> Vec<String> {
        tree.regions(path).into_iter().map(|region| definitions.region(region).name.to_string()).collect()
    }

    /// The names with `[filtered]` in place of what is not selected, once for those directly inside each other.
    fn hidden(names: &[String], shows: fn(&[String]) -> bool) -> Vec<String> {
        let mut shown: Vec<String> = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let is_shown = name != FILTERED && shows(&names[..=i]);
            let name = if is_shown { name.clone() } else { FILTERED.to_owned() };
            if name != FILTERED || shown.last() != Some(&name) {
                shown.push(name);
            }
        }
        shown
    }

    #[test]
    fn callers_have_names_and_the_rest_is_in_one_row() {
        let text = "
            0: enter main @0, enter solve @10, enter send @20, enter pack @22, leave @25, leave @30, leave @40, \
               enter send @50, leave @54, leave @60";
        let trace = ToyTrace::new(text);
        let send = regions(&["send"], |path| is_one_of(path, &["send"]));
        let output = with_callers(&trace, CallPathProfile, &send);
        let definitions = trace.definitions();
        let rows = output.rows(definitions, By::CallPath, Per::Total).into_iter().map(|row| {
            let path = names(&output.call_paths, row.key.call_path.expect("by call path"), definitions);
            let times = row.times;
            (path.join("/"), times.visits, times.inclusive.0, times.exclusive.0, times.min.0, times.max.0)
        });
        let expected = [
            ("[filtered]", 1, 60, 46, 60, 60),
            ("main/solve/send", 1, 10, 7, 10, 10),
            ("main/send", 1, 4, 4, 4, 4),
            ("main/solve/send/[filtered]", 1, 3, 3, 3, 3),
        ];
        assert_eq!(
            rows.collect::<Vec<_>>(),
            expected.map(|it| (it.0.to_owned(), it.1, it.2, it.3, it.4, it.5))
        );
    }

    #[test]
    fn without_names_the_rows_are_those_of_a_pass_with_the_selection() {
        let selections = [
            regions(&["solve", "MPI_Send"], |path| is_one_of(path, &["solve", "MPI_Send"])),
            regions(&["step"], |path| is_one_of(path, &["step"])),
            predicate("name like 'MPI_*'", |path| path.last().is_some_and(|name| name.starts_with("MPI_"))),
            predicate("within = solve and depth > 1", |path| {
                2 < path.len() && path.contains(&"solve".to_owned())
            }),
            predicate("depth in 0-1 or path like '*/exchange'", |path| {
                path.len() < 3 || is_one_of(path, &["exchange"])
            }),
        ];
        for (seed, faults) in (0..20).zip([Faults::None, Faults::Leaves].into_iter().cycle()) {
            let trace = RandomTrace { seed, n_locations: 4, n_events: 300, faults }.build();
            for selected in &selections {
                check(&trace, selected);
            }
        }
    }

    fn check(trace: &ToyTrace, selected: &Selected) {
        let definitions = trace.definitions();
        let n_bins = std::num::NonZeroU16::new(7).expect("not zero");
        let grid = TimeGrid::new(TimeRange { start: Ticks(0), end: Ticks(1000) }, n_bins);
        same(trace, CallPathProfile, selected, |of| of.table(definitions, By::CallPath, Per::Location));
        same(trace, TotalProfile, selected, |of| of.table(definitions, By::CallPath));
        // A counter that goes back gains nothing from one cut to the next: how many cuts there are matters.
        if run_report(trace, &Filter::default(), MetricProfile).1.notices.is_empty() {
            same(trace, MetricProfile, selected, |of| of.table(definitions, By::CallPath, Per::Location));
        }
        same(trace, Communication, selected, |of| of.table(definitions, By::CallPath, Per::Location));
        same(trace, TimeProfile::new(grid), selected, |of| of.table(definitions, By::CallPath));
    }

    fn same<Q>(trace: &ToyTrace, question: Q, selected: &Selected, table: impl Fn(&Q::Output) -> Table)
    where
        Q: Question + Clone,
        Q::Output: CallPathRows,
    {
        let (of_pass, _) = run_report(trace, &selected.filter, question.clone());
        let (of_pass, callers) = (table(&of_pass), table(&with_callers(trace, question, selected)));
        assert!(of_pass.n_rows() <= callers.n_rows());
        let as_shown = |names: &[String]| hidden(names, selected.shows);
        assert_eq!(sums(&callers, as_shown), sums(&of_pass, <[String]>::to_vec), "{:?}", selected.filter);
    }

    /// Sums of the values by what is shown of a row; shortest and longest visits have no sum.
    fn sums(table: &Table, shown: impl Fn(&[String]) -> Vec<String>) -> BTreeMap<String, Vec<u64>> {
        const OTHERS: [&str; 5] = ["min_ns", "max_ns", "bin_start_ns", "bin_end_ns", "region_id"];
        let mut sums: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for row in 0..table.n_rows() {
            let (mut key, mut values) = (String::new(), Vec::new());
            for column in table.columns.iter().filter(|column| !OTHERS.contains(&&*column.name)) {
                match &column.data {
                    ColumnData::TextList(of) => {
                        let path: Vec<String> = of[row].iter().map(ToString::to_string).collect();
                        key += &shown(&path).join("/");
                    }
                    ColumnData::U64(of) if &*column.name == "bin" => key += &format!(" {}", of[row]),
                    ColumnData::OptionU64(of) if &*column.name == "location" => {
                        key += &format!(" {:?}", of[row]);
                    }
                    ColumnData::Text(of) if &*column.name == "metric" => key += &format!(" {}", of[row]),
                    ColumnData::U64(of) => values.push(of[row]),
                    _ => {}
                }
            }
            let sum = sums.entry(key).or_insert_with(|| vec![0; values.len()]);
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        sums.retain(|_, values| values.iter().any(|it| 0 < *it));
        sums
    }
}
