//! From enters and leaves to rows.

use super::CallBatch;
use ouzel_engine::counter_gain;
use ouzel_model::{
    Clock, Definitions, EventChunk, EventKind, EventSink, LocationId, MetricId, MetricValue, MetricValueType,
    Needs, RegionId, Ticks, TimeRange,
};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Rows in a batch: a row group of Parquet.
const BATCH_ROWS: usize = 1 << 16;

/// Sends the calls of the locations it is given.
#[derive(Debug)]
pub struct CallList {
    sender: SyncSender<CallBatch>,
    clock: Clock,
    names: Vec<Arc<str>>,
    threads: Vec<Option<u32>>,
    filtered: RegionId,
    /// The counters, and whether each is signed.
    metrics: Vec<(MetricId, bool)>,
    /// Place of each metric in `metrics`.
    place: Vec<Option<u32>>,
    /// Only calls that overlap this range are listed.
    window: Option<TimeRange>,
    local: Option<Local>,
}

impl CallList {
    /// Calls of a trace with these definitions, with columns for the counters `metrics`, into `sender`. Calls that do
    /// not overlap `window` are left out.
    pub fn new(
        definitions: &Definitions,
        metrics: &[MetricId],
        window: Option<TimeRange>,
        sender: SyncSender<CallBatch>,
    ) -> Self {
        let mut place = vec![None; definitions.metrics.len()];
        metrics.iter().enumerate().for_each(|(i, metric)| place[metric.index()] = Some(i as u32));
        let is_signed = |id: MetricId| definitions.metrics[id.index()].value_type == MetricValueType::I64;
        CallList {
            sender,
            clock: definitions.clock,
            names: definitions.regions.iter().map(|region| region.name.clone()).collect(),
            threads: definitions.threads(),
            filtered: definitions.filtered_region,
            metrics: metrics.iter().map(|&id| (id, is_signed(id))).collect(),
            place,
            window,
            local: None,
        }
    }

    fn is_listed(&self, open: &Open, leave: Ticks) -> bool {
        let overlaps = |range: TimeRange| {
            range.start < range.end
                && open.enter < range.end
                && (range.start < leave || range.start <= open.enter)
        };
        open.region != self.filtered && self.window.is_none_or(overlaps)
    }

    fn open(&self, local: &mut Local, region: RegionId, enter: Ticks) {
        let depth = local.open.last().map_or(0, |call| call.depth + u32::from(call.region != self.filtered));
        let number = local.n_calls;
        local.n_calls += u64::from(region != self.filtered);
        local.open.push(Open { number, region, depth, enter, in_callees: Ticks(0), n_children: 0 });
        local.gains.extend(local.values.iter().flat_map(|&value| [value, Some(0)]));
    }

    fn close(&self, local: &mut Local, leave: Ticks) {
        let Some(open) = local.open.pop() else { return };
        let n_metrics = self.metrics.len();
        let is_listed = self.is_listed(&open, leave);
        let inclusive = leave.since(open.enter);
        let of_own = local.gains.len() - 2 * n_metrics;
        for i in 0..n_metrics {
            let [before, in_callees] = [local.gains[of_own + 2 * i], local.gains[of_own + 2 * i + 1]];
            let gain = before
                .zip(local.values[i])
                .and_then(|(before, now)| counter_gain(before, now, self.metrics[i].1));
            let own = gain.zip(in_callees).and_then(|(gain, in_callees)| gain.checked_sub(in_callees));
            if is_listed {
                local.batch.gains[i][0].push(gain);
                local.batch.gains[i][1].push(own);
            }
            if let Some(of_caller) = of_own.checked_sub(2 * n_metrics) {
                let sum = &mut local.gains[of_caller + 2 * i + 1];
                *sum = sum.zip(gain).and_then(|(sum, gain)| sum.checked_add(gain));
            }
        }
        local.gains.truncate(of_own);
        if let Some(caller) = local.open.last_mut() {
            caller.in_callees += inclusive;
        }
        if !is_listed {
            // Calls listed below it belong to the caller.
            if let Some(caller) = local.open.last_mut() {
                caller.n_children += open.n_children;
            }
            return;
        }
        if let Some(caller) = local.open.last_mut() {
            caller.n_children += 1;
        }
        let parent = local.open.iter().rev().find(|call| call.region != self.filtered);
        let ns = |ticks| self.clock.ns_from_ticks(ticks);
        let batch = &mut local.batch;
        batch.rank.push(local.rank);
        batch.thread.push(local.thread);
        batch.location.push(local.location);
        batch.call.push(open.number);
        batch.parent.push(parent.map(|call| call.number));
        batch.depth.push(u64::from(open.depth));
        batch.n_children.push(open.n_children);
        batch.region.push(self.names[open.region.index()].clone());
        batch.enter_ns.push(ns(open.enter));
        batch.leave_ns.push(ns(leave));
        batch.inclusive_ns.push(ns(inclusive));
        batch.exclusive_ns.push(ns(inclusive.since(open.in_callees)));
    }

    fn remember(&self, local: &mut Local, value: &MetricValue) {
        if let Some(place) = self.place[value.metric.index()] {
            local.values[place as usize] = Some(value.bits);
        }
    }

    /// Sends the rows collected so far.
    fn send(&self, local: &mut Local) -> Result<(), Closed> {
        let batch = std::mem::replace(&mut local.batch, CallBatch::new(self.metrics.len()));
        if batch.is_empty() { Ok(()) } else { self.sender.send(batch).map_err(|_| Closed) }
    }
}

/// The location being read.
#[derive(Debug)]
struct Local {
    rank: Option<u64>,
    thread: Option<u64>,
    location: u64,
    open: Vec<Open>,
    n_calls: u64,
    /// Last value of each chosen counter.
    values: Vec<Option<u64>>,
    /// For each open call and counter its value at the enter and what callees gained.
    gains: Vec<Option<u64>>,
    batch: CallBatch,
}

/// An open call.
#[derive(Debug)]
struct Open {
    number: u64,
    region: RegionId,
    depth: u32,
    enter: Ticks,
    in_callees: Ticks,
    n_children: u64,
}

/// Nobody takes the rows any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

impl EventSink for CallList {
    type Error = Closed;

    fn needs(&self) -> Needs {
        if self.metrics.is_empty() { Needs::NOTHING } else { Needs::METRICS }
    }

    fn begin(&mut self, id: LocationId, definitions: &Definitions) -> Result<(), Closed> {
        let location = definitions.location(id);
        self.local = Some(Local {
            rank: location.rank.map(|rank| u64::from(rank.0)),
            thread: self.threads[id.index()].map(u64::from),
            location: location.native_id,
            open: Vec::new(),
            n_calls: 0,
            values: vec![None; self.metrics.len()],
            gains: Vec::new(),
            batch: CallBatch::new(self.metrics.len()),
        });
        Ok(())
    }

    fn take(&mut self, chunk: &EventChunk<'_>) -> Result<(), Closed> {
        let mut local = self.local.take().expect("a location was begun");
        let mut metrics = chunk.metrics;
        for (row, (&at, &kind)) in chunk.time.iter().zip(chunk.kind).enumerate() {
            match kind {
                EventKind::Enter => self.open(&mut local, chunk.region[row], at),
                EventKind::Leave => {
                    self.close(&mut local, at);
                    if BATCH_ROWS <= local.batch.len() {
                        self.send(&mut local)?;
                    }
                }
                EventKind::Metric if !self.metrics.is_empty() => {
                    let n = metrics.iter().take_while(|value| value.row as usize <= row).count();
                    metrics[..n].iter().for_each(|value| self.remember(&mut local, value));
                    metrics = &metrics[n..];
                }
                _ => {}
            }
        }
        self.local = Some(local);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Closed> {
        let mut local = self.local.take().expect("a location was begun");
        self.send(&mut local)
    }
}
