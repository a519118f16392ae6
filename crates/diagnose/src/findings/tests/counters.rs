//! Ranks that take longer because they execute more instructions, or fewer per cycle, or have fewer cycles.

use super::super::FindingKind;
use super::program::Program;
use super::{iterated, report, work};

#[test]
fn counters_say_whether_slow_ranks_have_more_to_do_or_are_slower() {
    let uneven =
        iterated(|rank, _| vec![work("solve", if rank == 1 { 2000 } else { 1000 }), work("pack", 500)]);
    let of = |program: &Program, counters: &dyn Fn(usize) -> (u64, u64)| {
        let found = report(&program.trace_with_counters(counters)).findings.remove(0);
        let evidence = found.evidence.into_iter().find(|it| it.formula.contains("counters"));
        (found.kind, evidence.expect("the trace has counters"), found.advice)
    };
    // Rank 1 executes twice as many instructions, at the rate of the others.
    let (kind, evidence, advice) = of(&uneven, &|_| (2, 15));
    assert_eq!(kind, FindingKind::LoadImbalance);
    assert_eq!(
        evidence.text,
        "rank 1 executes 2.00 times as many instructions as the others, as many per cycle"
    );
    assert!(advice.starts_with("These ranks have more to do"), "{advice}");
    let values: Vec<_> = evidence.values.iter().map(|it| (&*it.name, it.value.round())).collect();
    assert_eq!(
        values,
        [
            ("instructions on rank 1", 120_000.0),
            ("instructions on the others", 60_000.0),
            ("instructions per cycle on rank 1", 2.0),
            ("instructions per cycle on the others", 2.0),
            ("cycles on rank 1", 80_000.0),
            ("cycles on the others", 40_000.0),
        ]
    );
    // As many instructions, half of them per cycle.
    let (_, evidence, advice) = of(&uneven, &|rank| (2, if rank == 1 { 10 } else { 20 }));
    assert_eq!(
        evidence.text,
        "rank 1 executes as many instructions as the others, 1.00 per cycle instead of 2.00"
    );
    assert!(advice.contains("fewer instructions per cycle"), "{advice}");
    // As many of both, in twice the time.
    let (_, evidence, advice) = of(&uneven, &|rank| (if rank == 1 { 1 } else { 2 }, 20));
    assert_eq!(
        evidence.text,
        "rank 1 executes as many instructions as the others, as many per cycle, 0.50 times as many cycles in the same \
         time"
    );
    assert!(advice.contains("lower clock"), "{advice}");
    // A rank that is slow in everything.
    let slow = iterated(|rank, _| {
        ["solve", "pack", "move", "sum"].map(|name| work(name, if rank == 5 { 1300 } else { 1000 })).to_vec()
    });
    let (kind, evidence, _) = of(&slow, &|rank| (2, if rank == 5 { 10 } else { 13 }));
    assert_eq!(kind, FindingKind::SlowRank);
    assert_eq!(
        evidence.text,
        "rank 5 executes as many instructions as the others, 1.00 per cycle instead of 1.30"
    );
}
