//! One-sided communication, from records to answers.

use crate::model_archive::write;
use crate::run::{Scratch, json, ran_on};
use ouzel::formats::otf2::model_archive::Clocks;
use ouzel_testkit::ToyTrace;
use serde_json::Value;
use std::path::Path;

/// A fence, an epoch of rank 0 with the two others, and a lock that ranks 1 and 2 want.
const RUN: &str = "window w = MPI_COMM_WORLD
    0: enter MPI_Win_fence @0, rma w begin @0, rma w end barrier @31, leave @31, enter MPI_Win_start @100, rma w sync 1 2 @140, leave @140, enter MPI_Put @140, rma w put 1 64 7 @140, rma w done 7 @150, leave @150, enter MPI_Win_complete @160, rma w sync 1 2 @160, leave @160
    1: enter MPI_Win_fence @20, rma w begin @20, rma w end barrier @33, leave @33, enter MPI_Win_post @115, rma w sync 0 @115, leave @116, enter MPI_Win_wait @148, rma w sync 0 @160, leave @160, enter MPI_Win_lock @200, rma w request 0 exclusive @200, leave @200, enter MPI_Win_unlock @230, rma w release 0 @231, leave @231
    2: enter MPI_Win_fence @30, rma w begin @30, rma w end barrier @32, leave @32, enter MPI_Win_post @135, rma w sync 0 @135, leave @135, enter MPI_Win_wait @170, rma w sync 0 @170, leave @170, enter MPI_Win_lock @210, rma w request 0 shared @210, leave @231, enter MPI_Win_unlock @240, rma w release 0 @240, leave @240";

fn trace() -> ToyTrace {
    ToyTrace::new(RUN)
}

/// Classes with their sums and numbers of waits.
fn classes(archive: &Path) -> Vec<(String, u64, u64)> {
    let data = json(archive, &["waits", "--delays"])["data"].take();
    let class = |it: &Value| {
        let name = it["class"].as_str().expect("a name").to_owned();
        (name, it["wait_ns"].as_u64().expect("a sum"), it["n"].as_u64().expect("a number"))
    };
    assert_eq!(data["total_wait_ns"], 107, "{data}");
    data["classes"].as_array().expect("classes").iter().map(class).collect()
}

#[test]
fn an_archive_of_windows_waits_as_counted_by_hand() {
    let scratch = Scratch::new("one-sided");
    let made = scratch.0.join("made");
    write(&trace(), &made, Clocks::Synchronised);
    // 30 + 10 at the fence; from 100 to the post at 135; from 148 to the end of the accesses at 160, the last of which
    // ended at 150; from 210 to the release at 230.
    let expected = [
        ("wait_at_fence", 40, 2),
        ("late_post", 35, 1),
        ("early_wait", 12, 1),
        ("rma_lock", 20, 1),
        ("late_complete", 10, 1),
    ];
    let mut expected: Vec<(String, u64, u64)> =
        expected.map(|(class, wait, n)| (class.to_owned(), wait, n)).to_vec();
    let sorted = |mut classes: Vec<(String, u64, u64)>| {
        classes.sort_unstable();
        classes
    };
    expected.sort_unstable();
    assert_eq!(sorted(classes(&made)), expected);
    let copy = scratch.0.join("copy");
    let ran = ran_on(&made, &["convert", copy.to_str().expect("a path"), "--to", "otf2"]);
    assert!(!ran.err.contains("left out") && !ran.out.contains("left out"), "{}{}", ran.out, ran.err);
    assert_eq!(sorted(classes(&copy)), expected);
    for archive in [&made, &copy] {
        let info = ran_on(archive, &["info"]).out;
        assert!(info.contains("one-sided communication") && info.contains("18 events of it"), "{info}");
        let replay = json(archive, &["what-if"])["data"].take();
        assert_eq!(replay["identity_error_ns"], 0, "{replay}");
        assert!(replay["limits"].to_string().contains("in the recorded order"), "{replay}");
    }
}

#[test]
fn tables_of_events_tell_windows_and_targets() {
    let scratch = Scratch::new("one-sided-table");
    let made = scratch.0.join("made");
    write(&trace(), &made, Clocks::Synchronised);
    let table = scratch.0.join("events.csv");
    let to = table.to_str().expect("a path");
    ran_on(&made, &["convert", to, "--to", "csv"]);
    let text = std::fs::read_to_string(&table).expect("it was written");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let at = |name: &str| header.iter().position(|it| *it == name).unwrap_or_else(|| panic!("{header:?}"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let step = |name: &str| rows.iter().filter(|row| row[at("rma_step")] == name).collect::<Vec<_>>();
    let put = step("RmaPut");
    let cell = |name: &str| put[0][at(name)];
    assert_eq!(put.len(), 1);
    assert_eq!(
        ["window", "partner", "bytes_sent", "rma_operation", "communicator"].map(cell),
        ["w", "1", "64", "7", "MPI_COMM_WORLD"]
    );
    let locks: Vec<&str> = step("RmaRequestLock").iter().map(|row| row[at("rma_detail")]).collect();
    assert_eq!(locks, ["exclusive", "shared"]);
    let chrome = scratch.0.join("trace.json");
    let ran = ran_on(&made, &["convert", chrome.to_str().expect("a path"), "--to", "chrome"]);
    assert!(format!("{}{}", ran.out, ran.err).contains("events of one-sided communication have no place"));
}
