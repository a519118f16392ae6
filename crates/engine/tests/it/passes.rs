//! Whole passes: threads, panics, cancelling, coverage.

use crate::Log;
use ouzel_engine::{
    Analysis, AnalysisError, AnalysisSet, FinishCx, Folder, LocationCx, LocationSummary, Pass, PassError,
    Progress,
};
use ouzel_model::{EventChunk, Filter, Level, LocationId, Needs, Notice, NoticeCode, Remap, TraceSource};
use ouzel_testkit::{Faults, RandomTrace, ToyTrace, run_report};
use std::num::NonZeroUsize;

/// Where a [`Broken`] analysis breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breaks {
    Fold,
    Merge,
    Finish,
    /// It does not panic: it reports that it has no answer.
    Answer,
    Never,
}

struct Broken(Breaks);

impl Analysis for Broken {
    type Local = u64;
    type Partial = u64;
    type Output = u64;
    const NAME: &'static str = "broken";
    const PARTIAL_VERSION: u32 = 1;
    fn needs(&self) -> Needs {
        Needs::NOTHING
    }
    fn empty(&self) -> u64 {
        0
    }
    fn begin(&self, _: &LocationCx<'_>) -> u64 {
        0
    }
    fn fold(&self, local: &mut u64, _: &EventChunk<'_>) {
        assert!(self.0 != Breaks::Fold, "planted in fold");
        *local += 1;
    }
    fn end(&self, local: u64, _: &LocationCx<'_>, _: &LocationSummary, into: &mut u64) {
        *into += local;
    }
    fn remap(&self, _: &mut u64, _: &Remap) {}
    fn merge(&self, into: &mut u64, from: u64) {
        assert!(self.0 != Breaks::Merge, "planted in merge");
        *into += from;
    }
    fn finish(&self, partial: u64, _: &FinishCx<'_>) -> Result<u64, AnalysisError> {
        assert!(self.0 != Breaks::Finish, "planted in finish");
        if self.0 == Breaks::Answer {
            return Err(AnalysisError { analysis: Self::NAME, reason: "there is nothing to say".to_owned() });
        }
        Ok(partial)
    }
}

fn trace() -> ToyTrace {
    RandomTrace { seed: 5, n_locations: 9, n_events: 100, faults: Faults::None }.build()
}

fn pass(filter: &Filter, jobs: usize) -> Pass<'_> {
    Pass { filter, jobs: NonZeroUsize::new(jobs).expect("at least one"), progress: None }
}

#[test]
fn a_panic_in_an_analysis_is_an_error_of_the_pass() {
    for (breaks, text) in [
        (Breaks::Fold, "planted in fold"),
        (Breaks::Merge, "planted in merge"),
        (Breaks::Finish, "planted in finish"),
    ] {
        for jobs in [1, 3] {
            let mut set = AnalysisSet::default();
            set.add(Broken(breaks));
            let error = set.run(&trace(), pass(&Filter::default(), jobs)).unwrap_err();
            assert!(matches!(&error, PassError::Panicked(found) if found.contains(text)), "{error}");
            assert!(error.to_string().starts_with("internal error: "), "{error}");
        }
    }
}

#[test]
fn an_analysis_without_an_answer_does_not_cost_the_others() {
    let mut set = AnalysisSet::default();
    let broken = set.add(Broken(Breaks::Answer));
    let log = set.add(Log);
    let mut report = set.run(&trace(), pass(&Filter::default(), 2)).unwrap();
    let error = report.outputs.take(&broken).unwrap_err();
    assert_eq!(error.to_string(), "broken: there is nothing to say");
    assert!(!report.outputs.take(&log).unwrap().rows.is_empty());
}

#[test]
fn a_pass_can_be_cancelled() {
    for jobs in [1, 3] {
        let progress = Progress::default();
        progress.cancel();
        let mut set = AnalysisSet::default();
        // It panics if it is shown anything.
        set.add(Broken(Breaks::Fold));
        let filter = Filter::default();
        let pass = Pass { progress: Some(&progress), ..pass(&filter, jobs) };
        assert!(matches!(set.run(&trace(), pass), Err(PassError::Cancelled)));
        assert_eq!(progress.bytes(), 0);
    }
}

#[test]
fn a_location_is_left_in_the_middle_when_cancelled() {
    let progress = Progress::default();
    progress.cancel();
    let mut set = AnalysisSet::default();
    set.add(Log);
    let trace = trace().with_chunk_events(7);
    let filter = Filter::default();
    let set = set.prepare(trace.definitions(), &filter);
    let mut folder = Folder::new(&trace, &set);
    folder.fold(LocationId(0), Some(&progress));
    assert_eq!(folder.into_partial().locations()[&LocationId(0)].n_events, 7);
}

#[test]
fn progress_ends_at_all_bytes() {
    let progress = Progress::default();
    let mut set = AnalysisSet::default();
    set.add(Log);
    let filter = Filter::default();
    let trace = trace().with_chunk_events(10).with_damage(LocationId(2), 20);
    set.run(&trace, Pass { progress: Some(&progress), ..pass(&filter, 2) }).unwrap();
    let all: u64 = trace.definitions().location_ids().map(|l| trace.location_bytes(l)).sum();
    assert_eq!(progress.bytes(), all);
}

#[test]
fn coverage_counts_locations_and_records() {
    let trace = ToyTrace::new(
        "0: enter a @0, metric x=1 @1, leave @2\n1: enter a @0, leave @3\n1.metrics: metric x=3 @9\n2: enter b @0",
    );
    let filter = Filter { ranks: Some("0-1".parse().unwrap()), ..Filter::default() };
    let report = run_report(&trace, &filter, Broken(Breaks::Never)).1;
    let coverage = report.coverage;
    assert_eq!((coverage.locations, coverage.locations_selected), (4, 3));
    // The records that no analysis needed were read, too.
    assert_eq!((coverage.locations_complete, coverage.events_read), (3, 6));
    let run = report.run_range.unwrap();
    assert_eq!((run.start.0, run.end.0), (0, 3), "metric sources do not run");
}

#[test]
fn notices_from_opening_are_passed_on() {
    let notice = Notice::new(Level::Medium, NoticeCode::MissingAnchor, "the anchor is missing");
    let trace = ToyTrace::new("0: enter a @0, leave @1").with_notice(notice.clone());
    assert_eq!(run_report(&trace, &Filter::default(), Log).1.notices, [notice]);
}

#[test]
fn a_trace_without_locations_gives_an_answer() {
    let (seen, report) = run_report(&ToyTrace::empty(), &Filter::default(), Log);
    assert_eq!((seen.lines().len(), report.run_range), (0, None));
}

#[test]
fn a_selection_without_a_location_is_said() {
    let trace = ToyTrace::new("0: enter main @0, leave @9");
    let codes = |ranks: &str| -> Vec<NoticeCode> {
        let filter = Filter { ranks: Some(ranks.parse().expect("ranks")), ..Filter::default() };
        let (_, report) = run_report(&trace, &filter, Broken(Breaks::Never));
        report.notices.iter().map(|notice| notice.code).collect()
    };
    assert_eq!(codes("99"), [NoticeCode::EmptySelection]);
    assert_eq!(codes("0"), []);
}

#[test]
fn what_the_selection_names_in_vain_is_said_once() {
    let trace =
        ToyTrace::new("0: enter main @0, leave @9\n1: enter main @0, leave @9\n2: enter main @0, leave @9");
    for jobs in [1, 2, 3] {
        let filter = Filter { regions: vec!["nope".to_owned()], ..Filter::default() };
        let mut set = AnalysisSet::default();
        set.add(Broken(Breaks::Never));
        let jobs = NonZeroUsize::new(jobs).unwrap();
        let report = set.run(&trace, Pass { filter: &filter, jobs, progress: None }).unwrap();
        let told: Vec<_> = report.notices.iter().map(|notice| (notice.code, notice.count)).collect();
        assert_eq!(told, [(NoticeCode::EmptySelection, 1)]);
    }
}
