//! The fold: an addition for each visit, message, collective operation and cut of the counters.

use super::output::{SeverityCubeOutput, report_not_attributed};
use super::quantity::Quantity;
use super::state::{LocationColumns, QuantityColumn, SeverityCubeLocal, SeverityCubePartial};
use crate::call_path_profile::{VisitTimes, add_visits};
use crate::communication_totals::{CollectiveTotals, MessageTotals};
use crate::io_totals::IoTotals;
use crate::metric_profile::{self, MetricPartial, MetricProfile};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{
    CallPathId, Collective, Content, Contents, EventChunk, IoOperation, MessageEnd, Needs, Remap,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Everything that is counted, by call path and location.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SeverityCube {
    /// Bytes that the partials of this process take together, counted at the end of each location.
    #[serde(skip)]
    held_bytes: Arc<AtomicU64>,
    is_evidence: bool,
}

impl SeverityCube {
    /// A cube whose partials add the bytes they take to `held_bytes`, for who decides when they are too many.
    pub fn counting(held_bytes: Arc<AtomicU64>) -> Self {
        SeverityCube { held_bytes, is_evidence: false }
    }

    /// A cube that another answer takes its evidence from: what it leaves out is no loss of that answer.
    pub fn as_evidence() -> Self {
        SeverityCube { is_evidence: true, ..SeverityCube::default() }
    }
}

/// Bytes of one value in a partial: a call path and a number.
const VALUE_BYTES: u64 = 12;

impl Analysis for SeverityCube {
    type Local = SeverityCubeLocal;
    type Partial = SeverityCubePartial;
    type Output = SeverityCubeOutput;
    const NAME: &'static str = "severity-cube";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::VISITS | Needs::MESSAGES | Needs::COLLECTIVES | Needs::METRICS | Needs::IO | Needs::CALL_PATHS
    }

    fn speaks_of(&self) -> Contents {
        Contents::of(&[Content::Calls])
    }

    fn empty(&self) -> SeverityCubePartial {
        SeverityCubePartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> SeverityCubeLocal {
        SeverityCubeLocal { counters: MetricProfile.begin(cx), ..SeverityCubeLocal::default() }
    }

    fn fold(&self, local: &mut SeverityCubeLocal, chunk: &EventChunk<'_>) {
        add_visits(chunk.visits, &mut local.times);
        add_ends(chunk.sends, chunk.call_path, &mut local.messages, |totals, bytes| {
            totals.add(&MessageTotals { sends: 1, bytes_sent: bytes, ..MessageTotals::default() });
        });
        add_ends(chunk.recvs, chunk.call_path, &mut local.messages, |totals, bytes| {
            totals.add(&MessageTotals { receives: 1, bytes_received: bytes, ..MessageTotals::default() });
        });
        add_collectives(chunk.collectives, chunk.call_path, &mut local.collectives);
        add_io(chunk.io, chunk.call_path, &mut local.io);
        metric_profile::fold_rows(chunk.kind, chunk.call_path, chunk.metrics, &mut local.counters);
    }

    fn end(
        &self,
        local: SeverityCubeLocal,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut SeverityCubePartial,
    ) {
        let mut location = LocationColumns::default();
        let SeverityCubeLocal { times, messages, collectives, io, counters } = local;
        push_times(&times, &mut location);
        push_traffic(&messages, &collectives, &mut location);
        push_io(&io, &mut location);
        into.counters.extend(counters.metrics());
        let mut of_counters = MetricPartial::default();
        MetricProfile.end(counters, cx, summary, &mut of_counters);
        let metric_profile::LocationPartial { gains, doubts, summaries } =
            of_counters.into_location(cx.location);
        for gains in gains.chunk_by(|a, b| a.metric == b.metric) {
            let mut column = QuantityColumn::default();
            gains.iter().for_each(|gain| column.push(gain.call_path, gain.exclusive));
            location.push(Quantity::Counter(gains[0].metric), column);
        }
        location.doubts = doubts;
        into.not_attributed.extend(summaries.into_iter().map(|(metric, _)| metric));
        let n_values: usize = location.columns.iter().map(|(_, column)| column.paths.len()).sum();
        self.held_bytes.fetch_add(VALUE_BYTES * n_values as u64, Ordering::Relaxed);
        into.locations.insert(cx.location, location);
    }

    fn remap(&self, partial: &mut SeverityCubePartial, remap: &Remap) {
        for location in partial.locations.values_mut() {
            location.columns.iter_mut().for_each(|(_, column)| column.remap(remap));
        }
    }

    fn merge(&self, into: &mut SeverityCubePartial, mut from: SeverityCubePartial) {
        into.locations.append(&mut from.locations);
        into.counters.append(&mut from.counters);
        into.not_attributed.append(&mut from.not_attributed);
    }

    fn finish(
        &self,
        partial: SeverityCubePartial,
        cx: &FinishCx<'_>,
    ) -> Result<SeverityCubeOutput, AnalysisError> {
        if !self.is_evidence {
            report_not_attributed(&partial.not_attributed, cx);
        }
        Ok(SeverityCubeOutput::new(partial, cx))
    }
}

/// Adds one side of each message to its call path.
#[inline(never)]
fn add_ends(
    ends: &[MessageEnd],
    call_path: &[CallPathId],
    messages: &mut Vec<MessageTotals>,
    add: impl Fn(&mut MessageTotals, u64),
) {
    for end in ends {
        add(at(messages, call_path[end.row as usize]), end.bytes);
    }
}

/// Adds each collective operation to its call path.
#[inline(never)]
fn add_collectives(ends: &[Collective], call_path: &[CallPathId], collectives: &mut Vec<CollectiveTotals>) {
    for end in ends {
        let Collective { bytes_sent, bytes_received, .. } = *end;
        let totals = CollectiveTotals { operations: 1, bytes_sent, bytes_received };
        at(collectives, call_path[end.row as usize]).add(&totals);
    }
}

/// Adds each input or output operation to the call path in which it completes.
#[inline(never)]
fn add_io(operations: &[IoOperation], call_path: &[CallPathId], io: &mut Vec<IoTotals>) {
    for operation in operations {
        at(io, call_path[operation.row as usize]).add(operation);
    }
}

/// The totals of a call path; there is room for it afterwards.
#[inline]
fn at<T: Clone + Default>(totals: &mut Vec<T>, path: CallPathId) -> &mut T {
    let i = path.index();
    if totals.len() <= i {
        totals.resize((i + 1).next_power_of_two(), T::default());
    }
    &mut totals[i]
}

fn push_times(times: &[VisitTimes], location: &mut LocationColumns) {
    type Value = fn(&VisitTimes) -> u64;
    let quantities: [(Quantity, Value); 4] = [
        (Quantity::Time, |times| times.exclusive.0),
        (Quantity::Visits, |times| times.visits),
        (Quantity::MinTime, |times| times.min.0),
        (Quantity::MaxTime, |times| times.max.0),
    ];
    for (quantity, value) in quantities {
        let mut column = QuantityColumn::default();
        for (i, times) in times.iter().enumerate().filter(|(_, times)| 0 < times.visits) {
            let value = value(times);
            // Zero time is a least or greatest one all the same.
            if value != 0 || matches!(quantity, Quantity::MinTime | Quantity::MaxTime) {
                column.push(CallPathId::from_index(i), value);
            }
        }
        location.push(quantity, column);
    }
}

fn push_traffic(
    messages: &[MessageTotals],
    collectives: &[CollectiveTotals],
    location: &mut LocationColumns,
) {
    type Value = fn(&MessageTotals, &CollectiveTotals) -> u64;
    let quantities: [(Quantity, Value); 9] = [
        (Quantity::MessagesSent, |m, _| m.sends),
        (Quantity::MessagesReceived, |m, _| m.receives),
        (Quantity::Collectives, |_, c| c.operations),
        (Quantity::BytesSent, |m, c| m.bytes_sent.saturating_add(c.bytes_sent)),
        (Quantity::BytesSentP2p, |m, _| m.bytes_sent),
        (Quantity::BytesSentColl, |_, c| c.bytes_sent),
        (Quantity::BytesReceived, |m, c| m.bytes_received.saturating_add(c.bytes_received)),
        (Quantity::BytesReceivedP2p, |m, _| m.bytes_received),
        (Quantity::BytesReceivedColl, |_, c| c.bytes_received),
    ];
    let no_collectives = CollectiveTotals::default();
    let no_messages = MessageTotals::default();
    for (quantity, value) in quantities {
        let mut column = QuantityColumn::default();
        for i in 0..messages.len().max(collectives.len()) {
            let value =
                value(messages.get(i).unwrap_or(&no_messages), collectives.get(i).unwrap_or(&no_collectives));
            if value != 0 {
                column.push(CallPathId::from_index(i), value);
            }
        }
        location.push(quantity, column);
    }
}

fn push_io(io: &[IoTotals], location: &mut LocationColumns) {
    type Value = fn(&IoTotals) -> u64;
    let quantities: [(Quantity, Value); 3] = [
        (Quantity::IoOperations, |io| io.operations),
        (Quantity::IoBytesRead, |io| io.bytes_read),
        (Quantity::IoBytesWritten, |io| io.bytes_written),
    ];
    for (quantity, value) in quantities {
        let mut column = QuantityColumn::default();
        for (i, value) in io.iter().map(value).enumerate().filter(|(_, value)| *value != 0) {
            column.push(CallPathId::from_index(i), value);
        }
        location.push(quantity, column);
    }
}
