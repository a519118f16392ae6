//! What sentences say beside the finding: what happened once, and what takes the time if nothing is significant.

use super::super::FindingKind;
use super::{iterated, report, work};
use ouzel_testkit::ToyTrace;

#[test]
fn what_happened_once_is_told_with_its_time() {
    let uneven = |rank, i| match (rank, i) {
        (5, 7) => 2200,
        (5, _) => 1060,
        _ => 1000,
    };
    let found = report(&iterated(|rank, i| vec![work("solve", uneven(rank, i))]).trace());
    let finding = found.findings.iter().find(|it| it.kind == FindingKind::LoadImbalance).expect("a finding");
    assert!(finding.sentence.contains(", most of it once: "), "{finding:?}");
    assert!(finding.advice.starts_with("See what rank 5 does from "), "{finding:?}");
    assert!(finding.command.iter().any(|word| word == "--time"), "{finding:?}");
    let found = report(&iterated(|rank, _| vec![work("solve", if rank == 5 { 1200 } else { 1000 })]).trace());
    let finding = &found.findings[0];
    assert_eq!(finding.kind, FindingKind::LoadImbalance);
    assert!(!finding.sentence.contains("once"), "{finding:?}");
    assert!(finding.advice.starts_with("Give this rank less to do in solve"), "{finding:?}");
}

#[test]
fn a_run_of_waiting_without_a_cause_is_not_called_computation() {
    let rank = |rank: u32| {
        format!(
            "{rank}: enter main @0, enter MPI_Init @1, leave @989, enter MPI_Barrier @990, leave @999, leave @1000"
        )
    };
    let found = report(&ToyTrace::new(&[rank(0), rank(1)].join("\n")));
    let finding = &found.findings[0];
    assert_eq!(finding.kind, FindingKind::NothingSignificant, "{finding:?}");
    assert!(finding.sentence.contains("longest in MPI_Init in main (988 ns on average)"), "{finding:?}");
    assert_eq!(found.headline.text, "No single change would recover more than 1.0 % of 1.000 µs");
}

#[test]
fn the_only_other_rank_is_one() {
    let rank = |rank: u32, end: u32| {
        format!(
            "{rank}: enter main @0, enter solve @1, leave @{end}, enter MPI_Barrier @{end}, leave @999, leave @1000"
        )
    };
    let found = report(&ToyTrace::new(&[rank(0, 400), rank(1, 900)].join("\n")));
    let finding = &found.findings[0];
    assert_eq!(finding.kind, FindingKind::LoadImbalance, "{finding:?}");
    assert!(
        finding.sentence.starts_with("Rank 1 works longer in solve than the other, which waits."),
        "{finding:?}"
    );
}
