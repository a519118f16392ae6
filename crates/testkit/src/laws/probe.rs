//! An analysis that runs beside others: needs everything, and remembers all of it in order.

use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{EventChunk, EventKind, LocationId, Needs, Remap};
use std::collections::BTreeMap;

/// Remembers what it saw of each location, as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Probe {
    /// Needs everything, so it sees the samples of locations that hold nothing else.
    OfSamples,
    /// Needs all but samples, so it sees the calls made of them.
    OfCalls,
}

/// Rows, visits and payloads of each kind as text, each in order.
type Seen = [String; 11];

impl Analysis for Probe {
    type Local = (Probe, Seen);
    type Partial = BTreeMap<LocationId, Seen>;
    type Output = String;
    const NAME: &'static str = "probe";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        let derived = Needs::CALL_PATHS | Needs::VISITS;
        let kinds = [Needs::MESSAGES, Needs::COLLECTIVES, Needs::METRICS, Needs::PARAMETERS, Needs::OTHERS];
        match self {
            Probe::OfSamples => Needs::ALL_EVENTS | derived,
            Probe::OfCalls => {
                kinds.into_iter().fold(derived | Needs::LINKS | Needs::THREADS | Needs::RMA, Needs::union)
            }
        }
    }
    fn empty(&self) -> Self::Partial {
        BTreeMap::new()
    }
    fn begin(&self, _: &LocationCx<'_>) -> Self::Local {
        (*self, Seen::default())
    }
    fn fold(&self, (probe, seen): &mut Self::Local, chunk: &EventChunk<'_>) {
        let [rows, visits, sends, recvs, requests, collectives, metrics, parameters, samples, threads, rma] =
            seen;
        assert_eq!(chunk.call_path.len(), chunk.time.len(), "call paths are filled");
        let at = |row: u32| chunk.time[row as usize];
        // An analysis that does not need samples may still see them, if others do.
        let is_asked_for = |kind: EventKind| *probe == Probe::OfSamples || kind != EventKind::Sample;
        for (time, kind) in chunk.time.iter().zip(chunk.kind).filter(|(_, kind)| is_asked_for(**kind)) {
            rows.push_str(&format!("{}{kind:?} ", time.0));
        }
        for v in chunk.visits {
            assert_eq!(at(v.row), v.leave, "a visit points at its leave");
            visits.push_str(&format!("{}-{}-{} ", v.enter.0, v.leave.0, v.in_callees.0));
        }
        let add = |to: &mut String, row: u32, value: u64| to.push_str(&format!("{}:{value} ", at(row).0));
        chunk.sends.iter().for_each(|x| add(sends, x.row, x.bytes));
        chunk.recvs.iter().for_each(|x| add(recvs, x.row, x.bytes));
        chunk.requests.iter().for_each(|x| add(requests, x.row, x.request));
        chunk.collectives.iter().for_each(|x| add(collectives, x.row, x.bytes_sent));
        chunk.threads.iter().for_each(|x| add(threads, x.row, x.step.index() as u64));
        chunk.rma.iter().for_each(|x| add(rma, x.row, x.step.index() as u64));
        chunk.metrics.iter().for_each(|x| add(metrics, x.row, x.bits));
        for x in chunk.samples.iter().filter(|_| *probe == Probe::OfSamples) {
            add(samples, x.row, x.context.map_or(u64::MAX, |c| u64::from(c.0)));
        }
        chunk.parameters.iter().for_each(|x| add(parameters, x.row, u64::from(x.parameter.0)));
    }
    fn end(
        &self,
        (_, seen): Self::Local,
        cx: &LocationCx<'_>,
        _: &LocationSummary,
        into: &mut Self::Partial,
    ) {
        into.insert(cx.location, seen);
    }
    fn remap(&self, _: &mut Self::Partial, _: &Remap) {}
    fn merge(&self, into: &mut Self::Partial, mut from: Self::Partial) {
        into.append(&mut from);
    }
    fn finish(&self, partial: Self::Partial, _: &FinishCx<'_>) -> Result<String, AnalysisError> {
        Ok(format!("{partial:?}"))
    }
}
