//! The result of the pass: for each quantity the rows of its call paths, one after another.

use super::quantity::Quantity;
use super::state::{LocationColumns, SeverityCubePartial};
use crate::metric_profile;
use ouzel_engine::FinishCx;
use ouzel_model::{CallPathId, CallPathTree, Level, LocationId, MetricId, Notice, NoticeCode};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Everything counted in a pass.
#[derive(Debug, Clone)]
pub struct SeverityCubeOutput {
    /// The call paths of the pass.
    pub call_paths: CallPathTree,
    /// The locations that run code, ascending. Rows name them by their positions here.
    pub locations: Vec<LocationId>,
    /// The quantities that have a value, ascending.
    pub metrics: Vec<CubeMetric>,
    /// Counters that were read, whether or not they gained anything.
    pub counters: BTreeSet<MetricId>,
}

/// The rows of one quantity, which follow each other by call path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CubeMetric {
    /// The quantity; `None` only in the default value.
    pub quantity: Option<Quantity>,
    /// The start of each call path's row, and the end of the last.
    pub starts: Vec<u64>,
    /// The positions of the locations that have a value, ascending in each row.
    pub locations: Vec<u32>,
    /// Their values; ticks if it is a time.
    pub values: Vec<u64>,
}

impl CubeMetric {
    /// The range of a call path's row in `locations` and `values`.
    pub fn row(&self, path: CallPathId) -> Range<usize> {
        let at = |i: usize| self.starts.get(i).map_or(self.values.len(), |&start| start as usize);
        at(path.index())..at(path.index() + 1)
    }

    /// The same rows with other ids of call paths and locations, of which no two become one; locations keep their order.
    fn renumbered(&self, n_paths: usize, path: impl Fn(CallPathId) -> CallPathId, location: &[u32]) -> Self {
        let old = (0..self.starts.len().saturating_sub(1)).map(CallPathId::from_index);
        let rows: BTreeMap<CallPathId, Range<usize>> =
            old.map(|old| (path(old), self.row(old))).filter(|(_, row)| !row.is_empty()).collect();
        let mut new = CubeMetric { quantity: self.quantity, ..CubeMetric::default() };
        for path in (0..n_paths).map(CallPathId::from_index) {
            new.starts.push(new.values.len() as u64);
            let Some(row) = rows.get(&path) else { continue };
            new.locations.extend(self.locations[row.clone()].iter().map(|&at| location[at as usize]));
            new.values.extend_from_slice(&self.values[row.clone()]);
        }
        new.starts.push(new.values.len() as u64);
        new
    }

    /// Removes the columns of one quantity and collects them.
    fn collect(quantity: Quantity, n_paths: usize, columns: &mut [LocationColumns]) -> Self {
        let columns: Vec<_> = columns.iter_mut().map(|location| location.take(quantity)).collect();
        let mut starts = vec![0_u64; n_paths + 1];
        for path in columns.iter().flat_map(|column| &column.paths) {
            starts[path.index() + 1] += 1;
        }
        for i in 0..n_paths {
            starts[i + 1] += starts[i];
        }
        let n_values = starts[n_paths] as usize;
        let (mut locations, mut values) = (vec![0; n_values], vec![0; n_values]);
        let mut next = starts.clone();
        for (location, column) in (0..).zip(columns) {
            for (path, value) in column.paths.into_iter().zip(column.values) {
                let at = &mut next[path.index()];
                locations[*at as usize] = location;
                values[*at as usize] = value;
                *at += 1;
            }
        }
        CubeMetric { quantity: Some(quantity), starts, locations, values }
    }
}

impl SeverityCubeOutput {
    /// Turns columns by location into rows by call path, one quantity at a time, so that no more than one of them is
    /// in memory twice.
    pub(super) fn new(partial: SeverityCubePartial, cx: &FinishCx<'_>) -> Self {
        let SeverityCubePartial { locations: counted, counters, .. } = partial;
        let mut locations = Vec::new();
        let mut columns = Vec::new();
        for (location, of_location) in counted {
            of_location.doubts.iter().for_each(|doubt| metric_profile::report(cx, location, doubt));
            let runs_code = cx.definitions.location(location).kind.runs_code();
            if runs_code || !of_location.columns.is_empty() {
                locations.push(location);
                columns.push(of_location);
            }
        }
        let quantities: BTreeSet<Quantity> = columns
            .iter()
            .flat_map(|location| location.columns.iter().map(|(quantity, _)| *quantity))
            .collect();
        let n_paths = cx.call_paths.len();
        let collect = |quantity| CubeMetric::collect(quantity, n_paths, &mut columns);
        let metrics = quantities.into_iter().map(collect).collect();
        SeverityCubeOutput { call_paths: cx.call_paths.clone(), locations, metrics, counters }
    }

    /// The values of some quantities at call paths and locations. Values of zero are left out.
    pub fn of_values(
        call_paths: CallPathTree,
        values: BTreeMap<(Quantity, CallPathId, LocationId), u64>,
    ) -> SeverityCubeOutput {
        let locations: BTreeSet<LocationId> = values.keys().map(|(.., location)| *location).collect();
        let locations: Vec<LocationId> = locations.into_iter().collect();
        let mut metrics: Vec<CubeMetric> = Vec::new();
        for ((quantity, path, location), value) in values.into_iter().filter(|(_, value)| *value != 0) {
            if metrics.last().is_none_or(|last| last.quantity != Some(quantity)) {
                metrics.push(CubeMetric { quantity: Some(quantity), ..CubeMetric::default() });
            }
            let Some(metric) = metrics.last_mut() else { continue };
            metric.starts.resize(metric.starts.len().max(path.index() + 1), metric.values.len() as u64);
            let at = locations.binary_search(&location).expect("the locations of all values are there");
            metric.locations.push(at as u32);
            metric.values.push(value);
        }
        for metric in &mut metrics {
            metric.starts.resize(call_paths.len() + 1, metric.values.len() as u64);
        }
        SeverityCubeOutput { call_paths, locations, metrics, counters: BTreeSet::new() }
    }

    /// The same with the quantities of `other`, none of which it has itself.
    #[must_use]
    pub fn with(self, other: &SeverityCubeOutput) -> SeverityCubeOutput {
        let mut call_paths = self.call_paths.clone();
        let absorbed = call_paths.absorb(&other.call_paths);
        let (call_paths, canonical) = call_paths.into_canonical();
        let mut locations = [&self.locations[..], &other.locations].concat();
        locations.sort_unstable();
        locations.dedup();
        let place = |of: &[LocationId]| -> Vec<u32> {
            of.iter().map(|location| locations.partition_point(|it| it < location) as u32).collect()
        };
        let n_paths = call_paths.len();
        let is_the_same = n_paths == self.call_paths.len() && locations == self.locations;
        let (mine, theirs) = (place(&self.locations), place(&other.locations));
        let own = self.metrics.into_iter().map(|metric| match is_the_same {
            true => metric,
            false => metric.renumbered(n_paths, |path| canonical.path(path), &mine),
        });
        let others = other
            .metrics
            .iter()
            .map(|metric| metric.renumbered(n_paths, |path| canonical.path(absorbed.path(path)), &theirs));
        let mut metrics: Vec<CubeMetric> = own.chain(others).collect();
        metrics.sort_by_key(|metric| metric.quantity);
        let mut counters = self.counters;
        counters.extend(&other.counters);
        SeverityCubeOutput { call_paths, locations, metrics, counters }
    }

    /// Whether anything was counted outside of all calls.
    pub fn has_outside(&self) -> bool {
        self.metrics.iter().any(|metric| !metric.row(CallPathTree::ROOT).is_empty())
    }

    /// Number of values.
    pub fn n_values(&self) -> u64 {
        self.metrics.iter().map(|metric| metric.values.len() as u64).sum()
    }
}

/// The quantities that a profile has as metrics, of those that have a value and the counters that were read: times and
/// visits always, numbers and bytes of messages and collective operations where there are such, parts of bytes where
/// there are both.
pub fn quantities(counted: &BTreeSet<Quantity>, counters: &BTreeSet<MetricId>) -> Vec<Quantity> {
    use Quantity as Q;
    let has = |any_of: &[Q]| any_of.iter().any(|quantity| counted.contains(quantity));
    let messages = has(&[Q::MessagesSent, Q::MessagesReceived]);
    let collectives = has(&[Q::Collectives]);
    let is_wanted = |quantity: &Q| match quantity {
        Q::Time | Q::Visits | Q::MinTime | Q::MaxTime => true,
        Q::MessagesSent | Q::MessagesReceived => messages,
        Q::Collectives => collectives,
        Q::BytesSent | Q::BytesReceived => messages || collectives,
        Q::BytesSentP2p | Q::BytesSentColl | Q::BytesReceivedP2p | Q::BytesReceivedColl => {
            messages && collectives
        }
        Q::IoOperations | Q::IoBytesRead | Q::IoBytesWritten => has(&[Q::IoOperations]),
        Q::Waiting(_) => counted.contains(quantity),
        Q::Counter(id) => counters.contains(id),
    };
    let of_counters = counters.iter().map(|&id| Q::Counter(id));
    Q::built_in().chain(of_counters).filter(is_wanted).collect()
}

/// Values that no profile by call path can hold.
pub(super) fn report_not_attributed(metrics: &BTreeSet<MetricId>, cx: &FinishCx<'_>) {
    for metric in metrics {
        let name = &cx.definitions.metrics[metric.index()].name;
        let message = format!(
            "values of metric {name:?} are in no call path: only accumulated integers of locations that run code are"
        );
        cx.notices.push(Notice::new(Level::Low, NoticeCode::NotRepresented, message));
    }
}
