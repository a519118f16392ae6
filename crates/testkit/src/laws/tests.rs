use super::*;
use ouzel_engine::{AnalysisError, FinishCx, LocationCx, LocationSummary, Pairing, SettleCx};
use ouzel_model::{CallPathId, EventChunk, Needs, Remap, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is wrong with a [`Faulty`] analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    /// Merge keeps the left side of what depends on the order.
    FirstWins,
    /// Merge counts how often it was called.
    CountsMerges,
    /// The last time stamp is forgotten at the border of a chunk.
    ForgetsAtBorder,
    /// Call paths keep their old numbers.
    ForgetsRemap,
    /// Rows are counted, also those that only others need.
    CountsRows,
    /// A field is not encoded.
    SkipsField,
    /// Splitting loses all but the first bucket.
    LosesBuckets,
    /// Settling forgets what was in the bucket.
    LosesWhenSettled,
    /// Settling adds something each time.
    SettlesTwice,
    /// Folding several locations into one partial overwrites.
    OverwritesInEnd,
}

/// A small analysis of time per call path and gaps between rows, with a fault.
struct Faulty(Fault);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct State {
    time: BTreeMap<CallPathId, u64>,
    gaps: u64,
    first: Option<u64>,
    n_merges: u64,
    #[serde(skip)]
    hidden: u64,
}

impl Analysis for Faulty {
    type Local = (Option<Ticks>, State);
    type Partial = State;
    type Output = State;
    const NAME: &'static str = "faulty";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::VISITS
    }
    fn empty(&self) -> State {
        State::default()
    }
    fn begin(&self, _: &LocationCx<'_>) -> Self::Local {
        (None, State::default())
    }
    fn fold(&self, (last, state): &mut Self::Local, chunk: &EventChunk<'_>) {
        if self.0 == Fault::ForgetsAtBorder {
            *last = None;
        }
        for (&time, kind) in chunk.time.iter().zip(chunk.kind) {
            if matches!(kind, ouzel_model::EventKind::Enter) {
                state.gaps += last.map_or(0, |last| time.since(last).0);
                *last = Some(time);
            }
        }
        for v in chunk.visits {
            *state.time.entry(v.call_path).or_default() += v.leave.since(v.enter).0;
            state.hidden += u64::from(self.0 == Fault::SkipsField);
        }
        if self.0 == Fault::CountsRows {
            state.gaps += chunk.time.len() as u64;
        }
    }
    fn end(&self, (_, mut local): Self::Local, cx: &LocationCx<'_>, _: &LocationSummary, into: &mut State) {
        if self.0 == Fault::FirstWins {
            local.first = Some(u64::from(cx.location.0));
        }
        if self.0 == Fault::OverwritesInEnd {
            *into = local;
        } else {
            self.add(into, local);
        }
    }
    fn remap(&self, partial: &mut State, remap: &Remap) {
        if self.0 != Fault::ForgetsRemap {
            let old = std::mem::take(&mut partial.time);
            partial.time = old.into_iter().map(|(path, time)| (remap.path(path), time)).collect();
        }
    }
    fn merge(&self, into: &mut State, from: State) {
        into.n_merges += u64::from(self.0 == Fault::CountsMerges);
        self.add(into, from);
    }
    fn pairing(&self) -> Option<&dyn Pairing<State>> {
        Some(self)
    }
    fn finish(&self, partial: State, _: &FinishCx<'_>) -> Result<State, AnalysisError> {
        Ok(partial)
    }
}

impl Pairing<State> for Faulty {
    fn split(&self, rest: &mut State, n_buckets: usize) -> Vec<State> {
        let mut buckets = vec![State::default(); n_buckets];
        for (path, time) in std::mem::take(&mut rest.time) {
            if self.0 != Fault::LosesBuckets || path.index() % n_buckets == 0 {
                buckets[path.index() % n_buckets].time.insert(path, time);
            }
        }
        buckets
    }
    fn settle(&self, mut bucket: State, cx: &SettleCx<'_>) -> State {
        assert!(bucket.time.keys().all(|path| path.index() < cx.call_paths.len()), "paths are of this tree");
        match self.0 {
            Fault::LosesWhenSettled => State::default(),
            Fault::SettlesTwice => {
                bucket.n_merges += 1;
                bucket
            }
            _ => bucket,
        }
    }
}

impl Faulty {
    fn add(&self, into: &mut State, from: State) {
        for (path, time) in from.time {
            *into.time.entry(path).or_default() += time;
        }
        into.gaps += from.gaps;
        into.hidden += from.hidden;
        into.first = into.first.or(from.first);
        into.n_merges += from.n_merges;
    }
}

fn law_broken_by(fault: Fault) -> Option<Law> {
    violation(|_| Faulty(fault), |state| format!("{state:?}")).map(|v| v.law)
}

#[test]
fn a_lawful_analysis_passes() {
    check(|| Faulty(Fault::None), |state| format!("{state:?}"));
}

#[test]
fn the_probe_is_lawful() {
    check(|| Probe::OfSamples, String::clone);
    check(|| Probe::OfCalls, String::clone);
}

#[test]
fn faults_of_merging_are_caught() {
    assert_eq!(law_broken_by(Fault::FirstWins), Some(Law::MergeOrder));
    assert_eq!(law_broken_by(Fault::CountsMerges), Some(Law::Identity));
    assert_eq!(law_broken_by(Fault::OverwritesInEnd), Some(Law::Partition));
}

#[test]
fn a_maximum_in_place_of_a_sum_is_caught() {
    // Over disjoint locations a maximum is associative and commutative: it shows where folds add and merges do not.
    struct MaxInMerge;
    impl Analysis for MaxInMerge {
        type Local = u64;
        type Partial = u64;
        type Output = u64;
        const NAME: &'static str = "max-in-merge";
        const PARTIAL_VERSION: u32 = 1;
        fn needs(&self) -> Needs {
            Needs::VISITS
        }
        fn empty(&self) -> u64 {
            0
        }
        fn begin(&self, _: &LocationCx<'_>) -> u64 {
            0
        }
        fn fold(&self, local: &mut u64, chunk: &EventChunk<'_>) {
            *local += chunk.visits.len() as u64;
        }
        fn end(&self, local: u64, _: &LocationCx<'_>, _: &LocationSummary, into: &mut u64) {
            *into += local;
        }
        fn remap(&self, _: &mut u64, _: &Remap) {}
        fn merge(&self, into: &mut u64, from: u64) {
            *into = from.max(*into);
        }
        fn finish(&self, partial: u64, _: &FinishCx<'_>) -> Result<u64, AnalysisError> {
            Ok(partial)
        }
    }
    let broken = violation(|_| MaxInMerge, u64::to_string).expect("the fault shows");
    assert_eq!(broken.law, Law::Partition, "{}", broken.detail);
}

#[test]
fn state_lost_at_a_chunk_border_is_caught() {
    assert_eq!(law_broken_by(Fault::ForgetsAtBorder), Some(Law::ChunkBorders));
}

#[test]
fn call_paths_left_as_they_were_are_caught() {
    assert!(law_broken_by(Fault::ForgetsRemap).is_some());
}

#[test]
fn a_result_that_depends_on_the_company_is_caught() {
    assert_eq!(law_broken_by(Fault::CountsRows), Some(Law::Company));
}

#[test]
fn state_that_does_not_travel_is_caught() {
    assert_eq!(law_broken_by(Fault::SkipsField), Some(Law::Encoding));
}

#[test]
fn buckets_that_lose_something_are_caught() {
    assert_eq!(law_broken_by(Fault::LosesBuckets), Some(Law::Split));
}

#[test]
fn settling_that_changes_something_is_caught() {
    assert_eq!(law_broken_by(Fault::LosesWhenSettled), Some(Law::Settling));
    assert_eq!(law_broken_by(Fault::SettlesTwice), Some(Law::Settling));
}

#[test]
#[should_panic(expected = "faulty breaks law Company")]
fn the_message_names_the_law() {
    check(|| Faulty(Fault::CountsRows), |state| format!("{state:?}"));
}
