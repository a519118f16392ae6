//! The records of waits, kept in a pass that other analyses need anyway, for an answer that may be wanted later.
//!
//! Laws: [`Waits::of_records`] gives what [`Waits`] gives in a pass of its own. If the run has more records than may be
//! kept, none are, however many threads fold it.

use crate::fold::{Waits, WaitsLocal};
use crate::output::WaitsOutput;
use crate::records::WaitsPartial;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Scope};
use ouzel_model::{
    CallPathTree, Contents, Definitions, EventChunk, LocationId, Needs, Notices, Remap, TimeRange,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a record, with what is kept of its calls.
const RECORD_BYTES: u64 = 80;

/// The records from which [`Waits`] makes its answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WaitRecords {
    waits: Waits,
    /// Most records that are kept; none are if there are more.
    limit: u64,
    /// Records that partials of this process hold.
    #[serde(skip)]
    held: Arc<AtomicU64>,
}

impl WaitRecords {
    /// The records for `waits`, in at most so much memory.
    pub fn new(waits: Waits, max_bytes: u64) -> Self {
        WaitRecords { waits, limit: max_bytes / RECORD_BYTES, held: Arc::default() }
    }
}

/// The records of the locations folded so far.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRecordsPartial {
    records: WaitsPartial,
    /// Whether there are none because there are too many.
    is_over: bool,
}

/// The records of a run, and what an answer takes beside them.
#[derive(Debug)]
pub struct KeptRecords {
    records: WaitsPartial,
    call_paths: CallPathTree,
    locations: BTreeMap<LocationId, LocationSummary>,
    selected: BTreeMap<LocationId, LocationSummary>,
    window: Option<TimeRange>,
}

impl Analysis for WaitRecords {
    type Local = Option<WaitsLocal>;
    type Partial = WaitRecordsPartial;
    /// Nothing if there are too many.
    type Output = Option<KeptRecords>;
    const NAME: &'static str = "wait-records";
    const PARTIAL_VERSION: u32 = 2;
    const SCOPE: Scope = Waits::SCOPE;

    fn needs(&self) -> Needs {
        self.waits.needs()
    }

    fn speaks_of(&self) -> Contents {
        self.waits.speaks_of()
    }

    fn empty(&self) -> WaitRecordsPartial {
        WaitRecordsPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> Option<WaitsLocal> {
        (self.held.load(Ordering::Relaxed) <= self.limit).then(|| self.waits.begin(cx))
    }

    fn fold(&self, local: &mut Option<WaitsLocal>, chunk: &EventChunk<'_>) {
        if let Some(local) = local {
            self.waits.fold(local, chunk);
        }
    }

    fn end(
        &self,
        local: Option<WaitsLocal>,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut WaitRecordsPartial,
    ) {
        let mut n = 0;
        if let Some(local) = local.filter(|_| !into.is_over) {
            self.waits.end(local, cx, summary, &mut into.records);
            n = into.records.locations.get(&cx.location).map_or(0, WaitsPartial::n_of);
        }
        if self.limit < self.held.fetch_add(n, Ordering::Relaxed) + n {
            *into = WaitRecordsPartial { records: self.waits.empty(), is_over: true };
        }
    }

    fn remap(&self, partial: &mut WaitRecordsPartial, remap: &Remap) {
        self.waits.remap(&mut partial.records, remap);
    }

    fn merge(&self, into: &mut WaitRecordsPartial, from: WaitRecordsPartial) {
        into.is_over |= from.is_over;
        if into.is_over {
            into.records = self.waits.empty();
        } else {
            self.waits.merge(&mut into.records, from.records);
        }
    }

    fn finish(
        &self,
        partial: WaitRecordsPartial,
        cx: &FinishCx<'_>,
    ) -> Result<Option<KeptRecords>, AnalysisError> {
        let WaitRecordsPartial { records, is_over } = partial;
        // Processes fold their parts without knowing of each other.
        let is_kept = !is_over && records.n_records() <= self.limit;
        Ok(is_kept.then(|| KeptRecords {
            records,
            call_paths: cx.call_paths.clone(),
            locations: cx.locations.clone(),
            selected: cx.selected.clone(),
            window: cx.window,
        }))
    }
}

impl Waits {
    /// The answer from records that were kept for such waits.
    ///
    /// # Errors
    /// As for a pass.
    pub fn of_records(
        &self,
        kept: KeptRecords,
        definitions: &Definitions,
        notices: &Notices,
    ) -> Result<WaitsOutput, AnalysisError> {
        let KeptRecords { records, call_paths, locations, selected, window } = kept;
        let cx = FinishCx {
            definitions,
            call_paths: &call_paths,
            locations: &locations,
            selected: &selected,
            window,
            notices,
        };
        self.finish(records, &cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_model::TraceSource;
    use ouzel_testkit::laws::check_made_for;
    use ouzel_testkit::{random_program, run};

    #[test]
    fn laws_hold() {
        let make = |definitions: &Definitions| WaitRecords::new(Waits::new(definitions), u64::MAX);
        check_made_for(make, |kept| {
            let kept = kept.as_ref().expect("all are kept");
            let n = |(id, of): (&LocationId, _)| (*id, WaitsPartial::n_of(of));
            format!("{:?}", kept.records.locations.iter().map(n).collect::<Vec<_>>())
        });
    }

    #[test]
    fn an_answer_of_records_is_that_of_a_pass() {
        for seed in 0..100 {
            let trace = random_program(seed);
            let definitions = trace.definitions();
            let waits = Waits::with_dependencies_and_edges(definitions);
            let kept = |max_bytes| run(&trace, WaitRecords::new(waits.clone(), max_bytes));
            let records = kept(u64::MAX).expect("all are kept");
            let n_bytes = records.records.n_records() * RECORD_BYTES;
            assert!(0 < n_bytes, "{seed}");
            let later = waits.of_records(records, definitions, &Notices::default()).unwrap();
            assert_eq!(format!("{later:?}"), format!("{:?}", run(&trace, waits.clone())), "{seed}");
            assert!(kept(n_bytes).is_some() && kept(n_bytes - 1).is_none(), "{seed}");
        }
    }
}
