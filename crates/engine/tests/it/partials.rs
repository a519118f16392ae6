//! Partials: what does not fit together is refused.

use crate::Log;
use ouzel_engine::{
    Analysis, AnalysisError, AnalysisSet, FinishCx, Folder, LocationCx, LocationSummary, Partial,
    PartialError, Prepared,
};
use ouzel_model::{EventChunk, Filter, LocationId, Needs, Notices, Remap, TraceSource};
use ouzel_testkit::{Faults, RandomTrace, ToyTrace};

/// Counts visits; the version is part of its stamp.
struct Visits<const VERSION: u32>;

impl<const VERSION: u32> Analysis for Visits<VERSION> {
    type Local = u64;
    type Partial = u64;
    type Output = u64;
    const NAME: &'static str = "visits";
    const PARTIAL_VERSION: u32 = VERSION;
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
        *into += from;
    }
    fn finish(&self, partial: u64, _: &FinishCx<'_>) -> Result<u64, AnalysisError> {
        Ok(partial)
    }
}

fn set<A: Analysis>(analysis: A) -> Prepared {
    let mut set = AnalysisSet::default();
    set.add(analysis);
    prepared(&set)
}

fn prepared(set: &AnalysisSet) -> Prepared {
    set.prepare(trace().definitions(), &Filter::default())
}

fn trace() -> ToyTrace {
    RandomTrace { seed: 8, n_locations: 4, n_events: 60, faults: Faults::None }.build()
}

fn fold(set: &Prepared, locations: &[u32]) -> Partial {
    let trace = trace();
    let mut folder = Folder::new(&trace, set);
    locations.iter().for_each(|&l| folder.fold(LocationId(l), None));
    folder.into_partial()
}

#[test]
fn a_location_is_not_counted_twice() {
    let set = set(Visits::<1>);
    let mut into = fold(&set, &[0, 2]);
    let before = set.encode(fold(&set, &[0, 2])).unwrap();
    let error = set.merge(&mut into, fold(&set, &[1, 2])).unwrap_err();
    assert!(matches!(error, PartialError::Overlap(LocationId(2))), "{error}");
    assert_eq!(set.encode(into).unwrap(), before, "the refused merge changed nothing");
}

#[test]
fn partials_of_other_analyses_are_refused() {
    let (ours, newer, other) = (set(Visits::<1>), set(Visits::<2>), set(Log));
    let mut two = AnalysisSet::default();
    two.add(Visits::<1>);
    two.add(Log);
    let two = prepared(&two);
    let bytes = ours.encode(fold(&ours, &[0])).unwrap();
    assert_eq!(ours.decode(&bytes).unwrap().locations().len(), 1);
    let mismatch = |set: &Prepared| set.decode(&bytes).unwrap_err().to_string();
    assert_eq!(mismatch(&newer), r#"partial of ("visits", 1) cannot be read as ("visits", 2)"#);
    assert_eq!(mismatch(&other), r#"partial of ("visits", 1) cannot be read as ("log", 1)"#);
    assert!(matches!(two.decode(&bytes), Err(PartialError::Slots { expected: 2, found: 1 })));
}

#[test]
fn bytes_that_are_no_partial_are_refused() {
    let set = set(Log);
    let bytes = set.encode(fold(&set, &[0, 1])).unwrap();
    for n in 0..bytes.len() {
        assert!(set.decode(&bytes[..n]).is_err(), "cut to {n} bytes");
    }
    let mut foreign = bytes;
    foreign[3] ^= 1;
    assert!(matches!(set.decode(&foreign), Err(PartialError::ForeignBuild)));
}

#[test]
fn a_pass_in_pieces_says_what_a_pass_says() {
    let set = set(Log);
    let trace = trace();
    let mut total = set.empty();
    for locations in [&[3][..], &[1, 0], &[2]] {
        let bytes = set.encode(fold(&set, locations)).unwrap();
        set.merge(&mut total, set.decode(&bytes).unwrap()).unwrap();
    }
    let bytes = set.encode(total).unwrap();
    assert_eq!(bytes, set.encode(fold(&set, &[0, 1, 2, 3])).unwrap());
    let notices = Notices::default();
    set.finish(set.decode(&bytes).unwrap(), trace.definitions(), &notices);
    assert_eq!(notices.to_vec(), []);
}
