//! Archives that lose definitions, kind by kind and one by one: counts stay, peers are right or unknown, and what a
//! call without a name does is what its records say.

use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::comm_matrix::{CommMatrix, CommMatrixOutput, Expansion};
use ouzel::analyses::communication_totals::{Communication, CommunicationOutput};
use ouzel::analyses::semantics::Semantics;
use ouzel::engine::AnalysisSet;
use ouzel::model::{Definitions, Level, RegionRole, WorldRank};
use ouzel::{Options, Trace};
use ouzel_testkit::{without_definitions, workspace_root};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a trace records about who communicates with whom.
struct Facts {
    definitions: Definitions,
    matrix: CommMatrixOutput,
    communication: CommunicationOutput,
    n_events: u64,
    n_visits: u64,
    is_said: bool,
}

fn facts(path: &Path) -> Facts {
    let trace: Trace = ouzel::open(path).expect("events are enough");
    let mut set = AnalysisSet::default();
    let matrix = set.add(CommMatrix { expansion: Expansion::PointToPoint });
    let communication = set.add(Communication);
    let profile = set.add(CallPathProfile);
    let mut report = trace.run(&set, &Options::default()).expect("the pass succeeds");
    let profile = report.outputs.take(&profile).expect("a profile");
    let visits = |location: &ouzel::analyses::call_path_profile::LocationProfile| -> u64 {
        location.rows.iter().map(|row| row.times.visits).sum()
    };
    Facts {
        definitions: trace.definitions().clone(),
        matrix: report.outputs.take(&matrix).expect("a matrix"),
        communication: report.outputs.take(&communication).expect("totals"),
        n_events: report.coverage.events_read,
        n_visits: profile.locations.iter().map(visits).sum(),
        is_said: report.notices.iter().any(|notice| Level::Low < notice.level),
    }
}

fn cells(matrix: &CommMatrixOutput) -> BTreeMap<(WorldRank, WorldRank), (u64, u64)> {
    let cell = |cell: &ouzel::analyses::comm_matrix::MatrixCell| {
        ((cell.from, cell.to), (cell.traffic.messages, cell.traffic.bytes))
    };
    matrix.cells.iter().map(cell).collect()
}

/// Messages sent, by sender.
fn sent(matrix: &CommMatrixOutput) -> BTreeMap<WorldRank, u64> {
    let rows = matrix.by_process().into_iter().map(|row| (row.rank, row.sent.messages));
    rows.filter(|&(_, messages)| 0 < messages).collect()
}

/// Holds what is left to what there was.
fn compare(what: &str, whole: &Facts, left: &Facts) {
    assert_eq!((left.n_events, left.n_visits), (whole.n_events, whole.n_visits), "{what}: events and calls");
    let totals = |facts: &Facts| {
        (
            facts.communication.total_messages(),
            facts.communication.total_collectives(),
            facts.matrix.null_peers,
        )
    };
    assert_eq!(totals(left), totals(whole), "{what}: messages and collectives");
    assert_eq!(left.definitions.processes().len(), whole.definitions.processes().len(), "{what}: processes");
    let all = cells(&whole.matrix);
    for (pair, traffic) in cells(&left.matrix) {
        let there = all.get(&pair).copied().unwrap_or_default();
        assert!(traffic.0 <= there.0 && traffic.1 <= there.1, "{what}: {pair:?} {traffic:?} of {there:?}");
    }
    if left.matrix.without_rank.messages == 0 {
        assert_eq!(sent(&left.matrix), sent(&whole.matrix), "{what}: each sender's messages, to whomever");
    }
    compare_roles(what, whole, left);
}

/// A role that was taken from records is that of the definition.
fn compare_roles(what: &str, whole: &Facts, left: &Facts) {
    let semantics = Semantics::default();
    for region in &left.definitions.regions {
        let Some(number) = region.name.strip_prefix("<unknown region ") else { continue };
        let number: usize =
            number.split('>').next().expect("a number before the bracket").parse().expect("a number");
        if region.role == RegionRole::Artificial {
            continue;
        }
        // The archives number regions from zero, and none is defined twice.
        let defined = &whole.definitions.regions[number];
        assert_eq!(
            semantics.class(region),
            semantics.class(defined),
            "{what}: {} is {}",
            region.name,
            defined.name
        );
    }
}

fn archives() -> Vec<PathBuf> {
    ["pmpi-masterio", "pmpi-jacobi"].map(|name| workspace_root().join("testdata").join(name)).to_vec()
}

#[test]
fn counts_stay_and_peers_are_right_or_unknown_whatever_definitions_are_lost() {
    let dir = tempfile::tempdir().unwrap();
    for (nth, archive) in archives().iter().enumerate() {
        let whole = facts(archive);
        let copy = dir.path().join(nth.to_string());
        let all = RefCell::new(Vec::new());
        without_definitions(archive, &copy, |_, definition| {
            all.borrow_mut().push(definition.kind());
            false
        })
        .unwrap();
        let all = all.into_inner();
        for kind in all.iter().copied().collect::<BTreeSet<_>>() {
            let n = without_definitions(archive, &copy, |_, definition| definition.kind() == kind).unwrap();
            assert!(0 < n);
            let left = facts(&copy);
            compare(&format!("{} without {kind:?}", archive.display()), &whole, &left);
            assert!(left.is_said, "that {kind:?} is lost");
        }
        for lost in 0..all.len() {
            let n = without_definitions(archive, &copy, |position, _| position == lost).unwrap();
            assert_eq!(n, 1);
            compare(&format!("{} without definition {lost}", archive.display()), &whole, &facts(&copy));
        }
    }
}

#[test]
fn without_any_definition_the_world_is_what_all_ranks_talk_on() {
    let dir = tempfile::tempdir().unwrap();
    let archive = &archives()[0];
    let copy = dir.path().join("lost");
    without_definitions(archive, &copy, |_, _| false).unwrap();
    std::fs::remove_file(copy.join("traces.def")).unwrap();
    std::fs::remove_file(copy.join("traces.otf2")).unwrap();
    let (whole, left) = (facts(archive), facts(&copy));
    compare("nothing but events", &whole, &left);
    assert_eq!(cells(&left.matrix), cells(&whole.matrix), "every peer is known");
    // Ranks 5 to 7 talk to others and lose their files.
    for rank in 5..8 {
        std::fs::remove_file(copy.join(format!("traces/{rank}.evt"))).unwrap();
        std::fs::remove_file(copy.join(format!("traces/{rank}.def"))).ok();
    }
    let left = facts(&copy);
    let all = cells(&whole.matrix);
    for (pair, traffic) in cells(&left.matrix) {
        assert_eq!(Some(&traffic), all.get(&pair), "{pair:?}");
    }
    assert!(left.matrix.to_unknown.is_empty() && left.matrix.without_rank.messages == 0);
    let with_files = |(from, _): &(WorldRank, WorldRank)| from.0 < 5;
    assert_eq!(cells(&left.matrix).len(), all.keys().filter(|pair| with_files(pair)).count());
    assert_eq!(left.definitions.known_ranks().len(), 8, "three of them have no events");
}
