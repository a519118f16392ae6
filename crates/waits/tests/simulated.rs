//! Waits and their causes beside the truth of simulated programs.

use ouzel_model::{Filter, TraceSource};
use ouzel_testkit::simulator::{self, Machine, MatchingOrder, RandomOptions, Run, WrongOrder, simulate};
use ouzel_testkit::{run, run_report};
use ouzel_waits::{DelaysOutput, Wait, WaitClass, WaitRows, Waits, WaitsOutput, WaitsPer};
use std::collections::BTreeMap;

const SEEDS: u64 = 1000;

fn simulated(seed: u64, machine: &Machine) -> Run {
    let options = RandomOptions { matching: MatchingOrder::ByTime, ..RandomOptions::new(seed) };
    simulate(&options.build().program(), machine)
}

fn waits(truth: &Run) -> WaitsOutput {
    let (output, report) =
        run_report(&truth.trace, &Filter::default(), Waits::with_dependencies(truth.trace.definitions()));
    assert!(report.notices.is_empty(), "{:?}", report.notices);
    output
}

fn delays(truth: &Run, output: &mut WaitsOutput) -> DelaysOutput {
    let dependencies = output.dependencies.take().expect("they were asked for");
    let (delays, parts) = dependencies.delays(&run(&truth.trace, dependencies.second_pass()));
    output.parts = parts;
    delays
}

/// Class, rank, start, ticks and culprit.
type Found = (&'static str, usize, u64, u64, Option<usize>);

fn found(output: &WaitsOutput, truth: &Run, is_wanted: impl Fn(&Wait) -> bool) -> Vec<Found> {
    let rank = |location| truth.trace.definitions().location(location).rank.expect("a rank").index();
    let row = |it: &Wait| {
        let culprit = it.culprit.map(|culprit| rank(culprit.location));
        (it.class.as_str(), rank(it.location), it.start.0, it.ticks().0, culprit)
    };
    let mut rows: Vec<Found> = output.waits.iter().filter(|it| is_wanted(it)).map(row).collect();
    rows.sort_unstable();
    rows
}

fn expected(truth: &Run, part: impl Fn(&simulator::Wait) -> Option<(&'static str, u64)>) -> Vec<Found> {
    let row = |it: &simulator::Wait| {
        let (class, ticks) = part(it)?;
        Some((class, it.rank, it.start, ticks, Some(it.culprit)))
    };
    let mut rows: Vec<Found> = truth.waits.iter().filter_map(row).collect();
    rows.sort_unstable();
    rows
}

fn is_primary(wait: &Wait) -> bool {
    wait.class.role() == ouzel_waits::ClassRole::Primary
}

#[test]
fn waits_are_those_of_the_truth() {
    // Where only synchronous sends wait, it is certain which do.
    let free = Machine::default();
    let mut n_waits = 0;
    for seed in 0..SEEDS {
        let truth = simulated(seed, &free);
        let output = waits(&truth);
        let all = expected(&truth, |it| Some((it.class.as_str(), it.ticks)));
        assert_eq!(found(&output, &truth, Wait::is_counted), all, "seed {seed}");
        n_waits += all.len();
        for class in [WaitClass::WrongOrderSameSource, WaitClass::WrongOrderDifferentSource] {
            let order = match class {
                WaitClass::WrongOrderSameSource => WrongOrder::SameSource,
                _ => WrongOrder::DifferentSource,
            };
            let part =
                |it: &simulator::Wait| (it.wrong_order == Some(order)).then_some((class.as_str(), it.ticks));
            assert_eq!(found(&output, &truth, |it| it.class == class), expected(&truth, part), "seed {seed}");
        }
        let early: u64 = truth.waits.iter().map(|it| it.early_reduce).sum();
        let found: u64 =
            output.waits.iter().filter(|it| it.class == WaitClass::EarlyReduce).map(|it| it.ticks().0).sum();
        assert_eq!(found, early, "seed {seed}");
    }
    assert!(10_000 < n_waits, "{n_waits}");
}

#[test]
fn costs_of_calls_and_transfers_are_no_waits() {
    let costly =
        Machine { eager_limit: 50, overhead: 3, latency: 20, bytes_per_tick: Some(50), ..Machine::default() };
    let (mut n_certain, mut n_true) = (0, 0);
    for seed in 0..SEEDS {
        let truth = simulated(seed, &costly);
        let output = waits(&truth);
        let known = |class: &str| class != "late_receiver";
        let all = expected(&truth, |it| known(it.class.as_str()).then_some((it.class.as_str(), it.ticks)));
        let is_known = |it: &Wait| is_primary(it) && known(it.class.as_str());
        assert_eq!(found(&output, &truth, is_known), all, "seed {seed}");
        // Whether a send waited is not recorded. Of a call that completes several, the longest certain one counts, else
        // the longest possible one: the truth is not shorter than the one, not longer than the other.
        let true_ones =
            expected(&truth, |it| (!known(it.class.as_str())).then_some((it.class.as_str(), it.ticks)));
        let late = |is_wanted: fn(&Wait) -> bool| {
            found(&output, &truth, |it| it.class == WaitClass::LateReceiver && is_wanted(it))
        };
        let (certain, possible) = (late(Wait::is_counted), late(Wait::is_only_possible));
        let same = |a: &Found, b: &Found| (a.1, a.2) == (b.1, b.2);
        for it in &certain {
            assert!(
                true_ones.iter().any(|of| same(it, of) && it.3 <= of.3),
                "seed {seed}: {it:?} {true_ones:?}"
            );
        }
        for of in &true_ones {
            let is_found = certain.iter().any(|it| same(it, of))
                || possible.iter().any(|it| same(it, of) && of.3 <= it.3);
            assert!(is_found, "seed {seed}: {of:?} {possible:?}");
        }
        n_certain += certain.len();
        n_true += true_ones.len();
    }
    assert!(100 < n_certain && n_certain <= n_true, "{n_certain} of {n_true}");
}

#[test]
fn causes_are_those_of_the_truth() {
    type Sums = BTreeMap<(&'static str, usize), u64>;
    let (mut n_short, mut n_long) = (0, 0);
    for seed in 0..SEEDS {
        // Where only synchronous sends wait, it is certain which do.
        let truth = simulated(seed, &Machine::default());
        let mut output = waits(&truth);
        let found = delays(&truth, &mut output);
        let mut sums = [Sums::new(), Sums::new()];
        for row in found.rows(truth.trace.definitions()) {
            let rank = row.rank.expect("a rank").index();
            for (sums, ticks) in sums.iter_mut().zip([row.short_term.0, row.long_term.0]) {
                if 0 < ticks {
                    *sums.entry((row.class.as_str(), rank)).or_default() += ticks;
                }
            }
        }
        let expected = truth.delays();
        let sums_of = |of: &BTreeMap<simulator::DelayKey, u64>| {
            let mut sums = Sums::new();
            for ((class, rank, _), ticks) in of {
                *sums.entry((class.as_str(), *rank)).or_default() += ticks;
            }
            sums
        };
        assert_eq!(sums, [sums_of(&expected.short_term), sums_of(&expected.long_term)], "seed {seed}");
        assert_eq!(found.unexplained_rows(), [], "seed {seed}");
        n_short += sums[0].len();
        n_long += sums[1].len();
    }
    assert!(1000 < n_short && 1000 < n_long, "{n_short} {n_long}");
}

#[test]
fn parts_of_waits_are_those_of_the_truth() {
    type Sums = BTreeMap<(WaitClass, usize), u64>;
    type Parts = [(WaitClass, u64); 4];
    let (mut n_indirect, mut n_propagating) = (0, 0);
    for seed in 0..SEEDS {
        let truth = simulated(seed, &Machine::default());
        let mut output = waits(&truth);
        delays(&truth, &mut output);
        let expected = truth.delays();
        let mut sums = Sums::new();
        for (number, wait) in truth.waits.iter().enumerate() {
            let (indirect, propagating) = (expected.indirect[number], expected.propagating[number]);
            let (direct, terminal) = (wait.ticks - indirect, wait.ticks - propagating);
            use WaitClass as C;
            let parts: Parts = match wait.class {
                simulator::WaitClass::LateSender => [
                    (C::DirectLateSender, direct),
                    (C::IndirectLateSender, indirect),
                    (C::PropagatingLateSender, propagating),
                    (C::TerminalLateSender, terminal),
                ],
                simulator::WaitClass::LateReceiver => [
                    (C::DirectLateReceiver, direct),
                    (C::IndirectLateReceiver, indirect),
                    (C::PropagatingLateReceiver, propagating),
                    (C::TerminalLateReceiver, terminal),
                ],
                _ => continue,
            };
            for (class, ticks) in parts.into_iter().filter(|it| 0 < it.1) {
                *sums.entry((class, wait.rank)).or_default() += ticks;
            }
            n_indirect += u64::from(0 < indirect);
            n_propagating += u64::from(0 < propagating);
        }
        let which = WaitRows { per: WaitsPer::Rank, classes: Vec::new() };
        let mut found = Sums::new();
        for row in output.rows(&which, truth.trace.definitions()) {
            if row.class.is_of_causes() {
                *found.entry((row.class, row.rank.expect("a rank").index())).or_default() += row.wait.0;
            }
        }
        assert_eq!(found, sums, "seed {seed}");
    }
    assert!(1000 < n_indirect && 1000 < n_propagating, "{n_indirect} {n_propagating}");
}
