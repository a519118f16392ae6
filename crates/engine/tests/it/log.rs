//! An analysis that writes down all it sees, and insists on what the engine promises.

use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{
    CallPathId, CallPathTree, Definitions, EventChunk, EventKind, EventSink, LocationId, Needs, RegionId,
    Remap, Ticks,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Writes down every row.
pub struct Log;

/// Writes down every row of a list.
#[derive(Default)]
pub struct ListLog {
    location: Option<LocationId>,
    region_names: Vec<String>,
    local: <Log as Analysis>::Local,
    /// Names of the open calls' paths.
    open: Vec<String>,
    rows: BTreeMap<LocationId, Vec<Row>>,
    names: Vec<String>,
}

impl ListLog {
    pub fn into_seen(self) -> Seen {
        Seen { rows: self.rows, names: self.names }
    }
}

impl EventSink for ListLog {
    type Error = ();

    fn needs(&self) -> Needs {
        Log.needs()
    }
    fn begin(&mut self, location: LocationId, definitions: &Definitions) -> Result<(), ()> {
        assert!(self.open.is_empty(), "the location before has ended");
        self.location = Some(location);
        self.region_names = definitions.regions.iter().map(|region| region.name.to_string()).collect();
        if self.names.is_empty() {
            self.names.push("-".to_owned());
        }
        Ok(())
    }
    fn take(&mut self, chunk: &EventChunk<'_>) -> Result<(), ()> {
        Log.fold(&mut self.local, chunk);
        for (row, kind) in chunk.kind.iter().enumerate() {
            match kind {
                EventKind::Enter => {
                    let name = &self.region_names[chunk.region[row].index()];
                    let path =
                        self.open.last().map_or_else(|| name.clone(), |caller| format!("{caller}/{name}"));
                    let index = chunk.call_path[row].index();
                    self.names.resize(self.names.len().max(index + 1), String::new());
                    self.names[index].clone_from(&path);
                    self.open.push(path);
                }
                EventKind::Leave => _ = self.open.pop(),
                _ => {}
            }
        }
        Ok(())
    }
    fn end(&mut self) -> Result<(), ()> {
        let (rows, open) = std::mem::take(&mut self.local);
        assert!(open.is_empty(), "every call is closed at the end");
        self.rows.insert(self.location.expect("one was begun"), rows);
        Ok(())
    }
}

/// One row as an analysis sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub time: Ticks,
    pub kind: EventKind,
    pub path: CallPathId,
    /// Payload in the side tables.
    pub values: Vec<u64>,
    /// Enter and time in callees of the visit that ends here.
    pub visit: Option<(Ticks, Ticks)>,
}

/// Everything seen, with names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub rows: BTreeMap<LocationId, Vec<Row>>,
    /// The regions of each path, joined by `/`.
    pub names: Vec<String>,
}

impl Seen {
    /// One line for each row, locations in order.
    pub fn lines(&self) -> Vec<String> {
        self.rows.values().flatten().map(|row| self.line(row)).collect()
    }

    fn line(&self, row: &Row) -> String {
        let path = &self.names[row.path.index()];
        let at = row.time.0;
        match (row.kind, row.visit) {
            (EventKind::Enter, _) => format!("enter {path} @{at}"),
            (_, Some((enter, in_callees))) => {
                let inclusive = row.time.0 - enter.0;
                format!("leave {path} @{at} incl {inclusive} excl {}", inclusive - in_callees.0)
            }
            (kind, None) => format!("{kind:?} {:?} in {path} @{at}", row.values),
        }
    }

    /// Every visit: location, path, enter, leave, time in callees.
    pub fn visits(&self) -> impl Iterator<Item = (LocationId, &str, Ticks, Ticks, Ticks)> {
        self.rows.iter().flat_map(move |(&location, rows)| {
            rows.iter().filter_map(move |row| {
                let (enter, in_callees) = row.visit?;
                Some((location, self.names[row.path.index()].as_str(), enter, row.time, in_callees))
            })
        })
    }

    /// Exclusive time over everything.
    pub fn exclusive(&self) -> u64 {
        self.visits().map(|(_, _, enter, leave, in_callees)| leave.0 - enter.0 - in_callees.0).sum()
    }
}

impl Analysis for Log {
    type Local = (Vec<Row>, Vec<(RegionId, Ticks)>);
    type Partial = BTreeMap<LocationId, Vec<Row>>;
    type Output = Seen;
    const NAME: &'static str = "log";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::ALL_EVENTS | Needs::CALL_PATHS | Needs::VISITS
    }
    fn empty(&self) -> Self::Partial {
        BTreeMap::new()
    }
    fn begin(&self, _: &LocationCx<'_>) -> Self::Local {
        (Vec::new(), Vec::new())
    }

    fn fold(&self, (rows, open): &mut Self::Local, chunk: &EventChunk<'_>) {
        let first = rows.len();
        assert!(!chunk.time.is_empty(), "no chunk is empty");
        assert_eq!(chunk.call_path.len(), chunk.time.len());
        assert_eq!(chunk.region.len(), chunk.time.len());
        for (row, &time) in chunk.time.iter().enumerate() {
            assert!(rows.last().is_none_or(|last| last.time <= time), "time does not go back");
            let (kind, path) = (chunk.kind[row], chunk.call_path[row]);
            rows.push(Row { time, kind, path, values: Vec::new(), visit: None });
            match kind {
                EventKind::Enter => open.push((chunk.region[row], time)),
                EventKind::Leave => {
                    assert_eq!(open.last().map(|o| o.0), Some(chunk.region[row]), "leaves are nested");
                    let (_, enter) = open.pop().expect("it was there");
                    let visit = chunk.visits.iter().find(|v| v.row as usize == row);
                    let visit = visit.expect("a leave has a visit");
                    assert_eq!((visit.enter, visit.leave, visit.call_path), (enter, time, path));
                    rows[first + row].visit = Some((visit.enter, visit.in_callees));
                }
                _ => {}
            }
        }
        let n_leaves = chunk.kind.iter().filter(|&&kind| kind == EventKind::Leave).count();
        assert_eq!(chunk.visits.len(), n_leaves, "a visit has a leave");
        let mut add = |row: u32, kind: EventKind, value: u64| {
            let row = &mut rows[first + row as usize];
            assert_eq!(row.kind, kind, "a payload points at its event");
            row.values.push(value);
        };
        chunk.sends.iter().for_each(|x| add(x.row, EventKind::MessageSend, x.bytes));
        chunk.recvs.iter().for_each(|x| add(x.row, EventKind::MessageRecv, x.bytes));
        chunk.requests.iter().for_each(|x| add(x.row, EventKind::Request, x.request));
        chunk.collectives.iter().for_each(|x| add(x.row, EventKind::CollectiveEnd, x.bytes_sent));
        chunk.threads.iter().for_each(|x| add(x.row, EventKind::Thread, x.step.index() as u64));
        chunk.rma.iter().for_each(|x| add(x.row, EventKind::Rma, x.step.index() as u64));
        chunk.metrics.iter().for_each(|x| add(x.row, EventKind::Metric, x.bits));
        chunk.parameters.iter().for_each(|x| add(x.row, EventKind::Parameter, u64::from(x.parameter.0)));
    }

    fn end(
        &self,
        (rows, open): Self::Local,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut Self::Partial,
    ) {
        assert!(open.is_empty(), "every call is closed at the end");
        into.insert(cx.location, rows);
    }
    fn remap(&self, partial: &mut Self::Partial, remap: &Remap) {
        for rows in partial.values_mut() {
            rows.iter_mut().for_each(|row| row.path = remap.path(row.path));
        }
    }
    fn merge(&self, into: &mut Self::Partial, mut from: Self::Partial) {
        into.append(&mut from);
    }
    fn finish(&self, rows: Self::Partial, cx: &FinishCx<'_>) -> Result<Seen, AnalysisError> {
        let name = |path| {
            let regions = cx.call_paths.regions(path);
            let names: Vec<&str> = regions.iter().map(|&r| &*cx.definitions.region(r).name).collect();
            if names.is_empty() { "-".to_owned() } else { names.join("/") }
        };
        let names = std::iter::once(CallPathTree::ROOT).chain(cx.call_paths.paths()).map(name).collect();
        Ok(Seen { rows, names })
    }
}

/// Writes down every row, of calls made of samples where there are no others.
pub struct LogOfCalls;

impl Analysis for LogOfCalls {
    type Local = <Log as Analysis>::Local;
    type Partial = <Log as Analysis>::Partial;
    type Output = Seen;
    const NAME: &'static str = "log_of_calls";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        let kinds = [Needs::MESSAGES, Needs::COLLECTIVES, Needs::METRICS, Needs::PARAMETERS, Needs::OTHERS];
        kinds.into_iter().fold(Needs::CALL_PATHS | Needs::VISITS | Needs::THREADS | Needs::RMA, Needs::union)
    }
    fn empty(&self) -> Self::Partial {
        Log.empty()
    }
    fn begin(&self, cx: &LocationCx<'_>) -> Self::Local {
        Log.begin(cx)
    }
    fn fold(&self, local: &mut Self::Local, chunk: &EventChunk<'_>) {
        Log.fold(local, chunk);
    }
    fn end(
        &self,
        mut local: Self::Local,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut Self::Partial,
    ) {
        // Where there are enters and leaves, samples may or may not be seen.
        local.0.retain(|row| row.kind != EventKind::Sample);
        Log.end(local, cx, summary, into);
    }
    fn remap(&self, partial: &mut Self::Partial, remap: &Remap) {
        Log.remap(partial, remap);
    }
    fn merge(&self, into: &mut Self::Partial, from: Self::Partial) {
        Log.merge(into, from);
    }
    fn finish(&self, rows: Self::Partial, cx: &FinishCx<'_>) -> Result<Seen, AnalysisError> {
        Log.finish(rows, cx)
    }
}
