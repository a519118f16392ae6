use super::*;
use crate::tests::programs::{chain, late_at_barrier, message_before_barrier, reports};
use crate::{WaitClass, WaitRows, Waits, WaitsOutput, WaitsPer};
use ouzel_model::{Filter, Ticks, TraceSource};
use ouzel_testkit::laws::check_made_for;
use ouzel_testkit::{ToyTrace, random_program, run, run_report};

/// Both passes: the waits of what is selected, and their causes.
fn delays(trace: &ToyTrace, filter: &Filter) -> (WaitsOutput, DelaysOutput) {
    delays_within(trace, filter, u64::MAX)
}

/// The same with so much memory for what the second pass finds.
fn delays_within(trace: &ToyTrace, filter: &Filter, bytes: u64) -> (WaitsOutput, DelaysOutput) {
    let mut output = run_report(trace, filter, Waits::with_dependencies(trace.definitions())).0;
    let mut dependencies = output.dependencies.take().expect("they were asked for").within(bytes);
    let mut calls = run(trace, dependencies.second_pass());
    while !dependencies.accepts(&calls) {
        calls = run(trace, dependencies.second_pass());
    }
    let (delays, parts) = dependencies.delays(&calls);
    output.parts = parts;
    (output, delays)
}

/// The waiting of a class, parts included.
fn sum(output: &WaitsOutput, class: WaitClass) -> Ticks {
    output.classes().iter().find(|sum| sum.class == class).map_or(Ticks(0), |sum| sum.wait)
}

/// `class rank path: short-term + long-term`.
fn described(trace: &ToyTrace) -> Vec<String> {
    let (output, delays) = delays(trace, &Filter::default());
    check_conservation(&output, &delays, "a program");
    assert_eq!(delays.unexplained_rows(), []);
    let rows = delays.rows(trace.definitions()).into_iter().map(|row| {
        let rank = row.rank.map_or(u32::MAX, |rank| rank.0);
        let path = delays.names(row.call_path, trace.definitions()).join("/");
        format!("{} {rank} {path}: {} + {}", row.class.as_str(), row.short_term.0, row.long_term.0)
    });
    let mut rows: Vec<String> = rows.collect();
    rows.sort_unstable();
    rows
}

/// Of each class, everything is explained or said not to be.
fn check_conservation(output: &WaitsOutput, delays: &DelaysOutput, what: &str) {
    for &class in WaitClass::ALL {
        let of_class = output.waits.iter().filter(|it| it.class == class && it.is_counted());
        let waits: Ticks = of_class.map(crate::Wait::ticks).sum();
        let costs = delays.costs.iter().filter(|(at, _)| at.0 == class).map(|(_, cost)| cost.0 + cost.1);
        let unexplained = delays.unexplained.iter().filter(|(at, _)| at.0 == class).map(|(_, wait)| *wait);
        assert_eq!(costs.chain(unexplained).sum::<Ticks>(), waits, "{what}: {}", class.as_str());
    }
    for (whole, [direct, indirect, propagating, terminal]) in PARTS {
        let of = |class| sum(output, class);
        assert_eq!(of(direct) + of(indirect), of(whole), "{what}");
        assert_eq!(of(propagating) + of(terminal), of(whole), "{what}");
        // What is direct is caused by delays at once, or has no known cause.
        let short: Ticks = delays.costs.iter().filter(|(at, _)| at.0 == whole).map(|(_, cost)| cost.0).sum();
        let unknown = delays.unexplained.iter().filter(|(at, _)| at.0 == whole).map(|(_, wait)| *wait);
        assert!(short <= of(direct) && of(direct) <= short + unknown.sum::<Ticks>(), "{what}");
    }
}

const PARTS: [(WaitClass, [WaitClass; 4]); 2] = [
    (
        WaitClass::LateSender,
        [
            WaitClass::DirectLateSender,
            WaitClass::IndirectLateSender,
            WaitClass::PropagatingLateSender,
            WaitClass::TerminalLateSender,
        ],
    ),
    (
        WaitClass::LateReceiver,
        [
            WaitClass::DirectLateReceiver,
            WaitClass::IndirectLateReceiver,
            WaitClass::PropagatingLateReceiver,
            WaitClass::TerminalLateReceiver,
        ],
    ),
];

#[test]
fn a_chain_is_caused_where_it_begins() {
    assert_eq!(
        described(&chain().end()),
        ["late_sender 0 main/foo: 90 + 90", "late_sender 1 main/foo: 10 + 0"]
    );
}

#[test]
fn waits_of_a_chain_are_divided() {
    let trace = chain().end();
    let (output, _) = delays(&trace, &Filter::default());
    let which = WaitRows { per: WaitsPer::Rank, classes: PARTS[0].1.to_vec() };
    let rows = output.rows(&which, trace.definitions());
    let mut rows: Vec<_> =
        rows.iter().map(|row| (row.rank.expect("a rank").0, row.class.as_str(), row.wait.0, row.n)).collect();
    rows.sort_unstable();
    // Rank 1 waits 90 for the code of rank 0. Of the 100 of rank 2, 90 follow from that.
    let expected = [
        (1, "direct_late_sender", 90, 1),
        (1, "propagating_late_sender", 90, 1),
        (2, "direct_late_sender", 10, 1),
        (2, "indirect_late_sender", 90, 1),
        (2, "terminal_late_sender", 100, 1),
    ];
    assert_eq!(rows, expected);
    assert_eq!(output.total(), Ticks(190), "parts are not added up");
}

/// `rank path +longer start..end: rank path start..end of caused, …`.
fn described_chains(trace: &ToyTrace) -> Vec<String> {
    let (_, delays) = delays(trace, &Filter::default());
    let rank = |location| trace.definitions().location(location).rank.expect("a rank").0;
    let path = |path| delays.names(path, trace.definitions()).join("/");
    let wait = |it: &ChainWait| {
        let (start, end, for_rank) = (it.start.0, it.end.0, rank(it.culprit.location));
        let (waits, caused) = (path(it.call_path), it.caused.0);
        format!("{} {waits} {start}..{end} for {for_rank}, {caused}", rank(it.location))
    };
    let chain = |WaitChain { delay, waits, n_waits }: &WaitChain| {
        let ChainDelay { location, call_path, start, end, longer, .. } = *delay;
        let waits: Vec<String> = waits.iter().map(wait).collect();
        assert_eq!(waits.len() as u64, *n_waits);
        let at = format!("{} {} +{} {}..{}", rank(location), path(call_path), longer.0, start.0, end.0);
        format!("{at}: {}", waits.join("; "))
    };
    delays.chains.iter().map(chain).collect()
}

#[test]
fn chains_begin_at_the_delay() {
    assert_eq!(
        described_chains(&chain().end()),
        [
            "0 main/foo +90 0..100: 1 main/MPI_Recv 10..100 for 0, 90; 2 main/MPI_Recv 10..110 for 1, 90",
            "1 main/foo +10 0..110: 2 main/MPI_Recv 10..110 for 1, 10",
        ]
    );
    assert_eq!(
        described_chains(&message_before_barrier().end()),
        [
            "0 main/foo +40 0..50: 1 main/MPI_Recv 10..50 for 0, 40; 2 main/MPI_Barrier 20..80 for 1, 40",
            "1 main/foo +20 50..80: 0 main/MPI_Barrier 60..80 for 1, 20",
        ]
    );
}

#[test]
fn chains_lead_from_rank_to_rank() {
    let (mut n_chains, mut longest) = (0, 0);
    for seed in 0..300 {
        let trace = random_program(seed);
        let (_, delays) = delays(&trace, &Filter::default());
        let mut costs = Ticks(u64::MAX);
        for WaitChain { delay, waits, n_waits } in &delays.chains {
            let all = delay.short_term + delay.long_term;
            assert!(all <= costs && Ticks(0) < delay.longer, "program {seed}: {delay:?}");
            costs = all;
            let (mut before, mut at) = (delay.location, delay.start);
            for wait in waits {
                assert_eq!(wait.culprit.location, before, "program {seed}: {wait:?}");
                assert!(at <= wait.culprit.arrived && wait.start < wait.end, "program {seed}: {wait:?}");
                assert!(wait.caused <= wait.end.since(wait.start), "program {seed}: {wait:?}");
                (before, at) = (wait.location, wait.end);
            }
            n_chains += 1;
            longest = longest.max(*n_waits);
        }
    }
    assert!(300 < n_chains && 3 < longest, "{n_chains} chains, up to {longest} waits");
}

#[test]
fn a_barrier_is_caused_by_its_last() {
    assert_eq!(described(&late_at_barrier().end()), ["wait_at_barrier 3 main/foo: 270 + 0"]);
}

#[test]
fn a_wait_at_a_barrier_is_caused_by_a_message_before_it() {
    assert_eq!(
        described(&message_before_barrier().end()),
        [
            "late_sender 0 main/foo: 40 + 0",
            "wait_at_barrier 0 main/foo: 0 + 40",
            "wait_at_barrier 1 main/foo: 40 + 0"
        ]
    );
}

#[test]
fn balanced_code_causes_nothing() {
    let trace = ToyTrace::new(
        "0: enter main @0, enter foo @0, leave @60, enter bar @60, leave @80, enter MPI_Send @80, send>1 @80, leave @80, leave @80
         1: enter main @0, enter foo @0, leave @30, enter bar @30, leave @70, enter MPI_Recv @70, recv<0 @80, leave @80, leave @80",
    );
    assert_eq!(described(&trace), ["late_sender 0 main/foo: 10 + 0"]);
}

#[test]
fn without_memory_waits_are_divided_by_rate() {
    let trace = ToyTrace::new(
        "0: enter main @0, enter foo @0, leave @60, enter bar @60, leave @80, enter MPI_Send @80, send>1 @80, leave @80, leave @80
         1: enter main @0, enter foo @0, leave @30, enter bar @30, leave @70, enter MPI_Recv @70, recv<0 @80, leave @80, leave @80",
    );
    let (output, delays) = delays_within(&trace, &Filter::default(), 0);
    let rows = delays.rows(trace.definitions());
    let rows: Vec<_> = rows
        .iter()
        .map(|row| (delays.names(row.call_path, trace.definitions()).join("/"), row.short_term.0))
        .collect();
    // 10 · 60 / 80 and 10 · 20 / 80; of equal remainders the first gets the tick.
    assert_eq!(rows, [("main/foo".to_owned(), 8), ("main/bar".to_owned(), 2)]);
    assert_eq!((delays.by_rate, delays.exact_share(output.total()).to_bits()), (Ticks(10), 0f64.to_bits()));
}

#[test]
fn all_waiting_is_explained_with_little_memory() {
    let (mut n_partly, mut n_wholly) = (0, 0);
    for seed in 0..300 {
        let trace = random_program(seed);
        let window = Filter { time_ns: Some((100, 300)), ..Filter::default() };
        for (filter, bytes) in [(Filter::default(), 30_000), (Filter::default(), 1000), (window, 4000)] {
            let (output, of_few) = delays_within(&trace, &filter, bytes);
            check_conservation(&output, &of_few, &format!("program {seed} {filter:?} in {bytes}"));
            let share = of_few.exact_share(output.total());
            assert!((0.0..=1.0).contains(&share), "program {seed}: {share}");
            n_partly += u64::from(0.0 < share && share < 1.0);
            let of_all = delays(&trace, &filter).1;
            if of_few.by_rate == Ticks(0) {
                n_wholly += 1;
                assert_eq!((of_few.costs, of_few.unexplained), (of_all.costs, of_all.unexplained));
            }
        }
    }
    assert!(100 < n_partly && 20 < n_wholly, "{n_partly} {n_wholly}");
}

#[test]
fn right_and_wrong_order_have_different_causes() {
    let short_term = |trace: &ToyTrace| -> Vec<u64> {
        let (output, delays) = delays(trace, &Filter::default());
        check_conservation(&output, &delays, "reports");
        assert_eq!((output.total().0, delays.unexplained_rows().len()), (420 * 6, 0));
        let rows = delays.rows(trace.definitions());
        let of = |rank: u32| rows.iter().filter(move |row| row.rank.is_some_and(|it| it.0 == rank));
        (1..5).map(|rank| of(rank).map(|row| row.short_term.0).sum()).collect()
    };
    // For a work of 10: 40, 20, 55/3, 15/2, and 10, 10, 10, 30.
    let right = reports(5, 3, 60, |n| (1..n).collect()).end();
    assert_eq!(short_term(&right), [240, 120, 110, 45]);
    let wrong = reports(5, 3, 60, |n| (1..n).rev().collect()).end();
    assert_eq!(short_term(&wrong), [60, 60, 60, 180]);
}

#[test]
fn all_waiting_is_explained_or_said_not_to_be() {
    let (mut n_explained, mut n_unexplained) = (0, 0);
    for seed in 0..300 {
        let trace = random_program(seed);
        let window = Filter { time_ns: Some((100, 300)), ..Filter::default() };
        let ranks = Filter { ranks: Some("1-2".parse().expect("ranks")), ..Filter::default() };
        for filter in [Filter::default(), window, ranks] {
            let (output, delays) = delays(&trace, &filter);
            check_conservation(&output, &delays, &format!("program {seed} {filter:?}"));
            n_explained += delays.costs.len();
            n_unexplained += delays.unexplained.len();
        }
    }
    assert!(n_unexplained < n_explained, "{n_unexplained} of {n_explained}");
}

#[test]
fn laws_hold() {
    check_made_for(Waits::with_dependencies, |output| {
        let of = output.dependencies.as_ref().expect("they were asked for");
        format!("{:?} {:?}", of.waits, of.intervals)
    });
}
