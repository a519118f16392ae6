//! Repaired clocks, seen from outside: after the repair no operation sees a message before it was sent.

use ouzel::analyses::message_waits::LateMessages;
use ouzel::model::{ChunkBuffer, Level, LocationId, Needs, NoticeCode, ReadPlan, Ticks};
use ouzel::{Options, Trace};
use ouzel_testkit::{shared_data, workspace_root};
use std::path::Path;

/// Every time stamp of a location with a row, in order.
fn times(trace: &Trace, location: LocationId) -> Vec<Ticks> {
    let source = trace.source();
    let plan = ReadPlan::all(Needs::ALL_EVENTS);
    let mut reader = source.open(location, &plan).expect("the location opens");
    let (mut buffer, mut times) = (ChunkBuffer::default(), Vec::new());
    loop {
        buffer.clear();
        let more = reader.read(&mut buffer).expect("it is whole");
        assert!(buffer.span.is_none_or(|(first, last)| first <= last));
        times.extend_from_slice(&buffer.time);
        if !more {
            return times;
        }
    }
}

/// Repairs the clocks of an archive, and checks that nothing is left; returns the number of violations before.
fn repair(path: &Path) -> u64 {
    let open = || ouzel::open(path).expect("the archive opens");
    let options = Options::default();
    let found = open().clock_repair(&options).expect("the pass succeeds");
    let repaired = open().repair_clocks(&options).expect("the pass succeeds");
    let again = repaired.clock_repair(&options).expect("the pass succeeds");
    assert_eq!((again.n_violations, found.n_left), (0, 0), "{}", path.display());
    let late = LateMessages::default();
    let answer = repaired.ask(late, &options).expect("the analysis answers");
    assert_eq!(answer.output.received_before_sent, 0);
    let is_told = |notice: &&ouzel::model::Notice| {
        notice.code == NoticeCode::ClocksUnsynchronised && notice.level == Level::Medium
    };
    let told = repaired.notices().iter().filter(is_told).map(|notice| notice.count).max();
    for location in repaired.definitions().location_ids() {
        let (before, after) = (times(&open(), location), times(&repaired, location));
        assert_eq!(before.len(), after.len());
        assert!(after.is_sorted(), "order within a location stays");
        if found.n_violations == 0 {
            assert_eq!(before, after);
        }
    }
    if 0 < found.n_violations {
        assert_eq!(told, Some(found.n_violations));
        assert_ne!(repaired.fingerprint(), open().fingerprint(), "workers without the repair are refused");
    }
    found.n_violations
}

#[test]
fn archives_of_the_repository_are_repaired() {
    // Those of eztrace were recorded on unsynchronised clocks; the others are left unchanged.
    for (name, n_violations) in [
        ("eztrace-fortran-ring", 46),
        ("eztrace-jacobi", 291),
        ("eztrace-pingpong", 93),
        ("pmpi-jacobi", 0),
        ("pmpi-masterio", 0),
    ] {
        assert_eq!(repair(&workspace_root().join("testdata").join(name)), n_violations, "{name}");
    }
}

#[test]
fn shared_archives_are_repaired() {
    let Some(data) = shared_data() else { return };
    for name in ["scorep-pingpong", "scorep-pingpong-papi", "scorep-hip-mi300"] {
        repair(&data.join("data/otf2").join(name));
    }
}
