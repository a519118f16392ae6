//! Small programs are simulated, with a fault and without; the first finding must be the fault.

mod accelerators;
mod counters;
mod program;
mod threads;
mod words;

use super::*;
use crate::{ReportAnalyses, RunReport};
use ouzel_analyses::message_waits::LateMessages;
use ouzel_analyses::semantics::Semantics;
use ouzel_context_tree::ContextTrees;
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_model::{Filter, SystemNode, SystemNodeId, TraceSource};
use ouzel_replay::Graph;
use ouzel_testkit::{ToyTrace, run};
use ouzel_waits::Waits;
use ouzel_waits::accelerators::ReportedDevices;
use program::{Action, Program};
use std::num::NonZeroUsize;
use std::sync::Arc;

fn report(trace: &ToyTrace) -> RunReport {
    let filter = Filter::default();
    let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
    let mut set = AnalysisSet::default();
    let analyses = ReportAnalyses::add_to(&mut set, trace.definitions(), &Semantics::default());
    let mut first = set.run(trace, pass).expect("the first pass succeeds");
    let mut material = analyses.gather(&mut first, trace.definitions()).expect("analyses answer");
    material.set_steps(Steps::new(&run(trace, ContextTrees::default())));
    if material.wants_messages(trace.definitions()) {
        let mut set = AnalysisSet::default();
        let key = set.add(LateMessages::default());
        let mut second = set.run(trace, pass).expect("the second pass succeeds");
        let late = second.outputs.take(&key).expect("messages are paired");
        material.add_messages(late, &second.notices);
    }
    if material.wants_replay(trace.definitions()) {
        let (replay, delays) = replay(trace);
        material.add_replay(replay);
        material.add_delays(delays);
    }
    let devices = run(trace, ReportedDevices::new(trace.definitions(), u64::MAX));
    if devices.summary().is_some() {
        material.add_summary(devices.summary());
        let (losses, _) =
            devices.losses(trace.definitions(), NonZeroUsize::MIN).expect("nothing is put aside");
        material.add_accelerators(losses.expect("simulated runs can be replayed"));
    }
    material.report(trace.definitions())
}

fn replay(trace: &ToyTrace) -> (Replay, DelaysOutput) {
    let definitions = trace.definitions();
    let waits = run(trace, Waits::with_dependencies_and_edges(definitions));
    let graph = Graph::new(&waits.edges.expect("they were asked for"), definitions);
    let calls = run(trace, graph.second_pass());
    let dependencies = waits.dependencies.expect("they were asked for");
    let (delays, _) = dependencies.delays(&run(trace, dependencies.second_pass()));
    (Replay::new(graph, calls, definitions), delays)
}

/// Kind, last region of the call path, ranks and gain in percent of the first finding.
fn first(trace: &ToyTrace) -> (FindingKind, String, String, f64) {
    let report = report(trace);
    let finding = report.findings.first().expect("there is a finding");
    assert!(!finding.evidence.is_empty() && !finding.sentence.is_empty(), "{finding:?}");
    let region = finding.call_path.last().map(ToString::to_string).unwrap_or_default();
    (finding.kind, region, finding.ranks.ranges.clone(), (finding.gain_fraction * 1000.0).round() / 10.0)
}

/// The first finding, and that its gain is what the run without the fault is shorter by, within a part of the run.
fn check(faulty: &Program, fixed: &Program, kind: FindingKind, region: &str, ranks: &str, tolerance: f64) {
    let found = report(&faulty.trace());
    let (before, after) = (found.run.span_ns as f64, report(&fixed.trace()).run.span_ns as f64);
    let all: Vec<_> = found.findings.iter().map(|f| (f.kind, f.gain_fraction, &f.title)).collect();
    let finding = found.findings.first().expect("there is a finding");
    assert_eq!(finding.kind, kind, "{all:?}");
    assert_eq!(finding.call_path.last().map(|name| &**name), Some(region), "{finding:?}");
    assert_eq!(finding.ranks.ranges, ranks, "{finding:?}");
    let measured = (before - after) / before;
    assert!((finding.gain_fraction - measured).abs() <= tolerance, "{measured} measured: {all:?}");
    assert!(found.headline.gain_fraction <= 1.0, "{:?}", found.headline);
}

fn quiet(program: &Program) {
    let (kind, ..) = first(&program.trace());
    assert_eq!(kind, FindingKind::NothingSignificant);
}

fn work(region: &'static str, ticks: u64) -> Action {
    Action::Work(region, ticks)
}

const SYNC: Action = Action::Sync("MPI_Allreduce", 1);

/// 8 ranks, 20 iterations that end in a synchronisation.
fn iterated(body: impl Fn(usize, u64) -> Vec<Action>) -> Program {
    Program::new(8, |rank| {
        (0..20)
            .flat_map(|i| {
                let mut actions = body(rank, i);
                actions.push(SYNC);
                actions
            })
            .collect()
    })
}

#[test]
fn even_work_is_nothing_significant() {
    let even = iterated(|_, _| vec![work("solve", 1000), work("move", 500)]);
    quiet(&even);
    let report = report(&even.trace());
    let [only] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!((only.gain_ns, only.confidence), (0, Confidence::Sure));
    assert!(only.evidence.len() == 2, "the largest candidate is told: {only:?}");
}

#[test]
fn uneven_work_is_load_imbalance() {
    let faulty =
        iterated(|rank, _| vec![work("move", 300), work("solve", if rank < 2 { 1600 } else { 800 })]);
    let fixed = iterated(|_, _| vec![work("move", 300), work("solve", 1000)]);
    check(&faulty, &fixed, FindingKind::LoadImbalance, "solve", "0-1", 0.001);
}

#[test]
fn imbalance_of_several_callees_is_told_to_the_caller() {
    let faulty = iterated(|rank, _| {
        let ticks = if rank == 4 { 900 } else { 500 };
        vec![Action::Enter("physics"), work("a", ticks), work("b", ticks), Action::Leave, work("solve", 1000)]
    });
    let (kind, region, ranks, _) = first(&faulty.trace());
    assert_eq!((kind, &*region, &*ranks), (FindingKind::LoadImbalance, "physics", "4"));
}

#[test]
fn imbalance_of_a_function_whose_callees_communicate_is_told_by_its_work() {
    // The callees of `physics` wait for messages of the slow rank: with that time, all ranks are in it equally long.
    let program = |slow: u64, others: u64| {
        iterated(move |rank, _| {
            let ticks = if rank == 4 { slow } else { others };
            let next = (rank + 1) % 8;
            vec![
                Action::Enter("physics"),
                work("a", ticks),
                work("b", ticks),
                Action::Send(next, 64, 1),
                Action::Recv((rank + 7) % 8),
                Action::Leave,
                work("solve", 1000),
            ]
        })
    };
    let (faulty, fixed) = (program(900, 500), program(550, 550));
    check(&faulty, &fixed, FindingKind::LoadImbalance, "physics", "4", 0.01);
    let found = report(&faulty.trace());
    assert_eq!(
        found.findings.iter().filter(|it| it.kind == FindingKind::LoadImbalance).count(),
        1,
        "told once"
    );
    // The evidence supports the claim: what is shown of the ranks differs as much as the finding says.
    let by_rank =
        found.findings[0].evidence.iter().find(|it| it.text.contains("by rank")).expect("it is shown");
    let [most, mean, _] = &by_rank.values[..] else { panic!("{by_rank:?}") };
    assert_eq!((&*most.name, &*mean.name), ("most (rank 4)", "mean"));
    assert!(found.findings[0].gain_ns as f64 <= 1.01 * (most.value - mean.value), "{by_rank:?}");
}

#[test]
fn imbalance_that_moves_after_many_phases_has_epochs() {
    let slow = |i: u64| [2, 5, 0][(i / 10) as usize];
    let program = |is_even: bool| {
        Program::new(6, move |rank| {
            let of = |i: u64| match (is_even, rank as u64 == slow(i)) {
                (true, _) => 700,
                (false, true) => 1200,
                (false, false) => 600,
            };
            (0..30).flat_map(|i| [work("advance", of(i)), work("output", 20), SYNC]).collect()
        })
    };
    check(&program(false), &program(true), FindingKind::LoadImbalance, "advance", "0,2,5", 0.01);
    let found = report(&program(false).trace());
    assert_eq!(found.findings[0].epochs, [1, 2, 3]);
    assert_eq!(found.findings[0].gain_by, GainBy::Replay);
    let who: Vec<&str> = found.epochs.iter().map(|epoch| &*epoch.most_ranks.ranges).collect();
    assert_eq!(who, ["2", "5", "0"]);
    let iterations: Vec<_> =
        found.epochs.iter().map(|epoch| epoch.iterations.clone().unwrap().ranges[0]).collect();
    assert_eq!(iterations, [(0, 9), (10, 19), (20, 29)]);
    assert!(found.findings.iter().all(|it| it.kind != FindingKind::ExcessSynchronisation), "it is not noise");
}

#[test]
fn work_before_a_loop_is_no_slow_iteration_and_slow_iterations_at_its_start_are() {
    let step = |rank: usize, slow: bool| [work("solve", if slow { 1500 } else { 1000 + rank as u64 }), SYNC];
    let setup = Program::new(4, move |rank| {
        let before = [work("setup", 30_000), SYNC];
        before.into_iter().chain((0..20).flat_map(|_| step(rank, false))).collect()
    });
    let kinds = |program: &Program| -> Vec<FindingKind> {
        report(&program.trace()).findings.iter().map(|it| it.kind).collect()
    };
    assert_eq!(kinds(&setup), [FindingKind::NothingSignificant]);
    let start = Program::new(4, move |rank| (0..60).flat_map(|i| step(rank, i < 10)).collect());
    let found = report(&start.trace());
    assert_eq!(found.findings[0].kind, FindingKind::IterationOutlier, "{:?}", found.findings);
    let iterations = found.findings[0].iterations.clone().unwrap();
    assert_eq!((iterations.n_all, &iterations.ranges[..]), (60, &[(0, 9)][..]));
    assert!(found.findings[0].sentence.starts_with("Iterations 0 to 9 take"), "{:?}", found.findings[0]);
}

#[test]
fn no_gain_exceeds_what_is_spent_in_the_paths_that_are_named() {
    let late = iterated(|rank, _| {
        let partner = rank ^ 1;
        match rank % 2 {
            0 => vec![work("interior", 900), Action::Send(partner, 64, 1), work("rest", 100)],
            _ => vec![Action::Recv(partner), work("interior", 900), work("rest", 100)],
        }
    });
    let trace = late.trace();
    let profile = run(&trace, ouzel_analyses::call_path_profile::CallPathProfile);
    let definitions = trace.definitions();
    let spent = |finding: &Finding| -> u64 {
        let paths: Vec<_> = std::iter::once(&finding.call_path).chain(&finding.more_call_paths).collect();
        let of = |location: &ouzel_analyses::call_path_profile::LocationProfile| -> u64 {
            let named = location.rows.iter().filter(|row| {
                let regions = profile.call_paths.regions(row.call_path);
                let names: Vec<_> = regions.iter().map(|it| definitions.region(*it).name.clone()).collect();
                paths.iter().any(|path| **path == names)
            });
            named.map(|row| row.times.inclusive.0).sum()
        };
        profile.locations.iter().map(of).max().unwrap_or_default()
    };
    let found = report(&trace);
    assert_eq!(found.findings[0].kind, FindingKind::LateSender);
    for finding in &found.findings {
        assert!(finding.gain_ns <= spent(finding), "{finding:?}");
    }
}

#[test]
fn ranks_that_do_not_run_all_the_time_are_told_as_interrupted() {
    let program = |turn: u64| {
        iterated(move |rank, i| {
            // Two ranks share a core: every other visit takes as long as both.
            let ticks = |ticks: u64, visit: u64| {
                if (2..=3).contains(&rank) && (i + visit).is_multiple_of(2) { ticks * turn } else { ticks }
            };
            vec![work("flux", ticks(500, 0)), work("solve", ticks(600, 1)), work("update", ticks(400, 0))]
        })
    };
    check(&program(3), &program(1), FindingKind::SlowRank, "main", "2-3", 0.03);
    let found = report(&program(3).trace());
    assert!(found.findings[0].title.ends_with("are interrupted everywhere"), "{:?}", found.findings[0]);
}

#[test]
fn a_rank_with_more_work_in_one_path_from_some_step_on_is_not_interrupted() {
    let program = |more: u64| {
        iterated(move |rank, i| vec![work("relax", if rank == 2 && 7 <= i { 400 * more } else { 400 })])
    };
    check(&program(2), &program(1), FindingKind::GrowingImbalance, "relax", "2", 0.06);
}

#[test]
fn findings_in_calls_that_sleep_name_the_caller() {
    // As `ouzel record` shows a program that emulates its work.
    let late = |rank: usize| if rank == 2 { 90 } else { 50 };
    let text: String = (0..8)
        .map(|rank| {
            let steps: String = (0..20)
                .map(|i| {
                    let (start, end) = (100 * i, 100 * i + late(rank));
                    let (leave, all) = (100 * i + 95, 100 * i + 100);
                    format!(
                        ", enter relax @{start}, enter [sleeping] @{start}, leave @{end}, leave @{end}, enter MPI_Barrier @{end}, collective barrier @{leave}, leave @{all}"
                    )
                })
                .collect();
            format!("{rank}: enter main @0{steps}, leave @2000\n")
        })
        .collect();
    let found = report(&ToyTrace::new(&text));
    assert_eq!(found.findings[0].title, "Load imbalance in [sleeping] in relax: rank 2");
}

#[test]
fn imbalance_that_rises_is_growing() {
    let extra = |i: u64| if i < 8 { 0 } else { 100 * (i - 7) };
    let faulty = iterated(|rank, i| {
        vec![work("move", if rank == 3 { 1000 + 7 * extra(i) } else { 1000 - extra(i) / 2 })]
    });
    let (kind, region, ranks, _) = first(&faulty.trace());
    assert_eq!((kind, &*region, &*ranks), (FindingKind::GrowingImbalance, "move", "3"));
    let iterations = report(&faulty.trace()).findings[0].iterations.clone().expect("the loop is seen");
    assert_eq!(iterations.n_all, 20);
    assert!((8..=10).contains(&iterations.ranges[0].0), "{iterations:?}");
}

fn slow(is_slow: impl Fn(usize) -> bool) -> Program {
    iterated(move |rank, i| {
        let factor = if is_slow(rank) { 15 } else { 10 };
        vec![work("advect", (20 + i % 2) * factor), work("solve", 50 * factor), work("update", 30 * factor)]
    })
}

#[test]
fn a_rank_that_is_slow_in_everything_is_a_slow_rank() {
    check(&slow(|rank| rank == 5), &slow(|_| false), FindingKind::SlowRank, "main", "5", 0.01);
}

#[test]
fn all_ranks_of_a_node_are_a_slow_node() {
    let with_nodes = |program: &Program| {
        let mut trace = program.trace();
        let definitions = trace.definitions_mut();
        let node = |name: &str| SystemNode {
            name: Arc::from(name),
            class: Arc::from("node"),
            parent: None,
            shared_memory: true,
        };
        definitions.system_tree.nodes = vec![node("n0"), node("n1"), node("n2"), node("n3")];
        for (i, group) in definitions.location_groups.iter_mut().enumerate() {
            group.system_node = Some(SystemNodeId::from_index(i / 2));
        }
        trace
    };
    let trace = with_nodes(&slow(|rank| rank / 2 == 1));
    let (kind, _, ranks, _) = first(&trace);
    assert_eq!((kind, &*ranks), (FindingKind::SlowNode, "2-3"));
    assert!(report(&trace).findings[0].title.contains("n1"));
    // One slow rank of each of two nodes is no node, and two of eight are no exception.
    let trace = with_nodes(&slow(|rank| rank == 2 || rank == 4));
    assert_eq!(first(&trace).0, FindingKind::LoadImbalance);
}

#[test]
fn work_of_one_rank_alone_is_serialised() {
    let faulty = |name: &'static str| {
        iterated(move |rank, _| {
            let own = if rank == 0 { work(name, 800) } else { work("prepare", 1) };
            vec![work("solve", 1000), SYNC, own]
        })
    };
    let fixed = iterated(|_, _| vec![work("solve", 1000), SYNC, work("write_chunk", 100)]);
    check(&faulty("write_chunk"), &fixed, FindingKind::Serialisation, "write_chunk", "0", 0.01);
    check(&faulty("fwrite"), &fixed, FindingKind::IoByOneRank, "fwrite", "0", 0.01);
}

#[test]
fn messages_to_a_rank_that_works_alone_are_part_of_its_finding() {
    // Rank 0 takes the data of one after the other, which takes time, and writes them.
    let faulty = iterated(|rank, _| {
        let mut actions = vec![work("solve", 1000), SYNC];
        match rank {
            0 => (1..8).for_each(|from| actions.extend([Action::Recv(from), work("fwrite", 100)])),
            _ => actions.push(Action::Ssend(0, 1 << 20, 50)),
        }
        actions
    });
    let fixed =
        iterated(|rank, _| vec![work("solve", 1000), SYNC, work("fwrite", if rank == 0 { 87 } else { 88 })]);
    check(&faulty, &fixed, FindingKind::IoByOneRank, "fwrite", "0", 0.05);
    assert_eq!(report(&faulty.trace()).findings.len(), 1);
    // Without the work, it is the messages that all go through one rank.
    let only_messages = iterated(|rank, _| {
        let mut actions = vec![work("solve", 1000), SYNC];
        match rank {
            0 => actions.extend((1..8).map(Action::Recv)),
            _ => actions.push(Action::Ssend(0, 1 << 20, 150)),
        }
        actions
    });
    let (kind, region, ranks, _) = first(&only_messages.trace());
    assert_eq!((kind, &*region, &*ranks), (FindingKind::Serialisation, "MPI_Recv", "0"));
}

#[test]
fn work_in_turn_is_serialised() {
    let faulty = iterated(|rank, _| {
        let mut actions = vec![work("solve", 500)];
        if 0 < rank {
            actions.push(Action::Recv(rank - 1));
        }
        actions.push(work("append", 200));
        if rank < 7 {
            actions.push(Action::Send(rank + 1, 8, 1));
        }
        actions
    });
    let fixed = iterated(|_, _| vec![work("solve", 500), work("append", 200)]);
    check(&faulty, &fixed, FindingKind::Serialisation, "append", "0-7", 0.02);
}

/// Even ranks send to odd ones, before or after their work.
fn exchange(late: bool) -> Program {
    iterated(move |rank, _| match (rank % 2, late) {
        (0, true) => vec![work("interior", 900), Action::Send(rank + 1, 64, 2), work("edge", 300)],
        (0, false) => vec![work("edge", 300), Action::Send(rank + 1, 64, 2), work("interior", 900)],
        _ => vec![work("edge", 300), Action::Recv(rank - 1), work("interior", 900)],
    })
}

#[test]
fn messages_sent_late_are_late_senders() {
    check(&exchange(true), &exchange(false), FindingKind::LateSender, "MPI_Send", "0,2,4,6", 0.01);
    quiet(&exchange(false));
}

#[test]
fn messages_received_late_are_late_receivers() {
    let program = |late: bool| {
        iterated(move |rank, _| match (rank % 2, late) {
            (0, true) => vec![work("interior", 900), Action::Recv(rank + 1), work("edge", 300)],
            (0, false) => vec![work("edge", 300), Action::Recv(rank + 1), work("interior", 900)],
            _ => vec![work("edge", 300), Action::Ssend(rank - 1, 64, 1), work("interior", 900)],
        })
    };
    check(&program(true), &program(false), FindingKind::LateReceiver, "MPI_Recv", "0,2,4,6", 0.01);
}

#[test]
fn waiting_for_an_uneven_neighbour_is_imbalance_and_not_lateness() {
    // Rank 3 computes longer, its neighbour waits for its message: the cause is the work.
    let faulty = iterated(|rank, _| {
        let mut actions = vec![work("solve", if rank == 3 { 1500 } else { 1000 })];
        match rank {
            3 => actions.push(Action::Send(4, 8, 1)),
            4 => actions.push(Action::Recv(3)),
            _ => {}
        }
        actions
    });
    let report = report(&faulty.trace());
    let kinds: Vec<_> = report.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::LoadImbalance]);
}

#[test]
fn differences_that_even_out_are_excess_synchronisation() {
    // In each iteration another rank takes long; over 8 iterations all are equal.
    let body = |rank: usize, i: u64| work("sweep", if i as usize % 8 == rank { 1700 } else { 900 });
    let program = |sync: bool| {
        Program::new(8, move |rank| {
            (0..24)
                .flat_map(|i| {
                    let mut actions = vec![body(rank, i)];
                    if sync || i == 23 {
                        actions.push(Action::Sync("MPI_Barrier", 1));
                    }
                    actions
                })
                .collect()
        })
    };
    let kind = FindingKind::ExcessSynchronisation;
    check(&program(true), &program(false), kind, "MPI_Barrier", "0-7", 0.01);
}

#[test]
fn a_dear_collective_is_its_cost() {
    let program = |often: bool| {
        Program::new(8, move |_| {
            (0..40)
                .flat_map(|i| match often || i % 8 == 7 {
                    true => vec![work("sweep", 400), Action::Sync("MPI_Allreduce", 200)],
                    false => vec![work("sweep", 400)],
                })
                .collect()
        })
    };
    check(&program(true), &program(false), FindingKind::CollectiveCost, "MPI_Allreduce", "0-7", 0.05);
}

#[test]
fn many_short_messages_to_one_partner_are_small_messages() {
    let program = |n: usize| {
        iterated(move |rank, _| {
            let mut actions = vec![work("solve", 1000), Action::Enter("exchange")];
            actions.extend((0..n).map(|_| Action::Send((rank + 1) % 8, 64, 40)));
            actions.extend((0..n).map(|_| Action::Recv((rank + 7) % 8)));
            actions.push(Action::Leave);
            actions
        })
    };
    check(&program(20), &program(1), FindingKind::SmallMessages, "MPI_Send", "0-7", 0.03);
    let (kind, ..) = first(&program(1).trace());
    assert_ne!(kind, FindingKind::SmallMessages);
}

#[test]
fn one_rank_that_sends_for_all_is_communication_imbalance() {
    let program = |uneven: bool| {
        iterated(move |rank, _| {
            let mut actions = vec![work("solve", 1000)];
            let n = match (uneven, rank) {
                (true, 2) => 8,
                (true, _) => 0,
                (false, _) => 1,
            };
            actions.extend((0..n).map(|i| Action::Send(if uneven { i } else { rank }, 64, 100)));
            actions
        })
    };
    check(&program(true), &program(false), FindingKind::CommunicationImbalance, "MPI_Send", "2", 0.01);
}

/// Two ranks that compute and write as much together: rank 0 so many bytes with each call, rank 1 nothing.
fn writers(n_calls: u64, bytes: u64) -> ToyTrace {
    let mut text = String::from("0: enter main @0, enter solve @0, leave @1000, enter save @1000");
    for call in 0..n_calls {
        let at = 1000 + call * 5;
        text += &format!(", enter write @{at}, write {bytes} @{}, leave @{}", at + 5, at + 5);
    }
    let end = 1000 + n_calls * 5;
    text += &format!(
        ", leave @{end}, enter MPI_Barrier @{end}, collective barrier @{}, leave @{}, leave @{}\n",
        end + 1,
        end + 1,
        end + 1
    );
    text += &format!(
        "1: enter main @0, enter solve @0, leave @1000, enter MPI_Barrier @1000, collective barrier @{}, leave @{}, leave @{}\n",
        end + 1,
        end + 1,
        end + 1
    );
    ToyTrace::new(&text)
}

#[test]
fn many_short_writes_are_small_io() {
    let found = report(&writers(400, 8)).findings;
    let small = found.iter().find(|finding| finding.kind == FindingKind::SmallIo).expect("it is found");
    assert_eq!(small.title, "Many small writes in write in save");
    assert!(small.sentence.starts_with("400 writes of 8 B on average are made one by one in write in save."));
    assert_eq!(small.ranks.ranges, "0");
    // Of 2,000 ticks all but 8 / 4096, for which rank 1 waits.
    assert_eq!(small.gain_ns, 1997, "{small:?}");
    // Few writes, and writes of pages.
    for clean in [writers(50, 8), writers(400, 4096)] {
        assert!(report(&clean).findings.iter().all(|finding| finding.kind != FindingKind::SmallIo));
    }
}

#[test]
fn threads_that_wait_for_locks_are_lock_contention() {
    let trace = ToyTrace::new(
        "0: enter main @0, enter deposit @10, enter omp_set_lock @10, leave @60, enter add @60, leave @80, leave @80, enter MPI_Allreduce @80, leave @81, leave @81
         0.1: enter deposit @10, enter omp_set_lock @10, leave @11, enter add @11, leave @59, leave @59
         1: enter main @0, enter deposit @10, enter omp_set_lock @10, leave @60, enter add @60, leave @80, leave @80, enter MPI_Allreduce @80, leave @81, leave @81",
    );
    let (kind, region, ..) = first(&trace);
    assert_eq!((kind, &*region), (FindingKind::LockContention, "omp_set_lock"));
}

#[test]
fn uneven_work_says_what_a_visit_costs_if_all_have_as_many() {
    let of = |n: fn(usize) -> usize| {
        let work = move |rank, _| vec![work("solve", if rank == 1 { 2000 } else { 1000 }); n(rank)];
        let found = report(&iterated(work).trace()).findings.remove(0);
        assert_eq!(found.kind, FindingKind::LoadImbalance);
        found.evidence.into_iter().find(|it| it.text == "each rank enters solve 20 times")
    };
    let values = of(|_| 1).expect("20 visits each").values;
    let values: Vec<_> = values.iter().map(|it| (&*it.name, it.value)).collect();
    assert_eq!(
        values,
        [("mean visit on rank 1", 2000.0), ("mean visit on rank 0", 1000.0), ("shortest visit", 1000.0)]
    );
    assert!(of(|rank| 1 + rank % 2).is_none());
}

#[test]
fn iterations_that_stick_out_are_outliers() {
    let outliers = iterated(|_, i| vec![work("solve", if i == 7 { 6000 } else { 1000 + i % 3 })]);
    let found = report(&outliers.trace()).findings.remove(0);
    assert_eq!(found.kind, FindingKind::IterationOutlier);
    assert_eq!(found.iterations.expect("they are named").ranges, [(7, 7)]);
    assert!(
        found.sentence.contains(" on all ranks: 6.000 µs of work instead of 1.001 µs."),
        "{}",
        found.sentence
    );
    // On one rank alone, on average over all.
    let alone = iterated(|rank, i| vec![work("solve", if i == 7 && rank == 1 { 30_000 } else { 1000 })]);
    let found = report(&alone.trace()).findings;
    let found = found.iter().find(|it| it.kind == FindingKind::IterationOutlier).expect("it sticks out");
    assert_eq!(found.ranks.ranges, "1");
    assert!(found.sentence.contains(" on rank 1: on average over all ranks, "), "{}", found.sentence);
    // At even distances it is a part of the program.
    let regular = iterated(|_, i| vec![work("solve", if i % 8 == 7 { 6000 } else { 1000 + i % 3 })]);
    assert!(report(&regular.trace()).findings.iter().all(|f| f.kind != FindingKind::IterationOutlier));
}

#[test]
fn a_finding_names_iterations_only_if_they_have_its_loss() {
    let of = |worst: u64| {
        let program = iterated(move |rank, i| {
            let extra = if rank == 3 { if i == 7 { worst } else { 300 } } else { 0 };
            vec![work("solve", 1000 + extra)]
        });
        let findings = report(&program.trace()).findings;
        let uneven = findings.into_iter().find(|it| it.kind == FindingKind::LoadImbalance);
        uneven.and_then(|it| it.iterations).expect("an imbalance in a loop").ranges
    };
    // Iteration 7 stands out, but 19 others have three quarters of the loss.
    assert_eq!(of(2000), [(0, 19)]);
    assert_eq!(of(60_000), [(7, 7)]);
}

#[test]
fn iterations_that_take_longer_and_longer_grow() {
    let growing = iterated(|_, i| vec![work("solve", 500), work("search", 100 + 60 * i)]);
    let (kind, region, _, gain) = first(&growing.trace());
    assert_eq!((kind, &*region), (FindingKind::GrowthOverIterations, "search"));
    // Σ 60 i over 20 iterations.
    let whole = (20 * 600 + 60 * 190 + 20) as f64;
    assert!((gain - 100.0 * 60.0 * 190.0 / whole).abs() < 0.5, "{gain}");
}

#[test]
fn ranks_that_stand_still_come_before_those_that_wait_for_them() {
    let program = iterated(|rank, _| {
        let stands = (rank == 3).then(|| [Action::Enter("solve"), work("[not running]", 300), Action::Leave]);
        [work("solve", 1000)].into_iter().chain(stands.into_iter().flatten()).collect()
    });
    let findings = report(&program.trace()).findings;
    let first = &findings[0];
    assert_eq!((first.kind, &*first.ranks.ranges), (FindingKind::NotRunning, "3"), "{findings:?}");
    assert!(first.title.ends_with("longest in solve"), "{}", first.title);
    // 300 ticks in each of 20 iterations, and nobody else is the cause.
    assert_eq!(first.gain_ns, 6000);
    assert_eq!(findings.len(), 1, "{findings:?}");
}

#[test]
fn imbalance_that_evens_out_is_a_remark_without_gain() {
    let program = iterated(|rank, _| {
        let (a, b) = if rank < 4 { (1500, 500) } else { (500, 1500) };
        vec![work("solve", a), work("move", b)]
    });
    let findings = report(&program.trace()).findings;
    let kinds: Vec<_> = findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [FindingKind::NothingSignificant, FindingKind::BalancedElsewhere]);
    assert_eq!(findings[1].gain_ns, 0);
}

#[test]
fn findings_are_json_as_documented() {
    let faulty = iterated(|rank, _| vec![work("solve", if rank < 2 { 1600 } else { 800 })]);
    let report = report(&faulty.trace());
    let json = serde_json::to_value(&report.findings[0]).unwrap();
    assert_eq!(json["kind"], "load_imbalance");
    assert_eq!(json["confidence"], "sure");
    assert_eq!(json["ranks"]["list"], serde_json::json!([0, 1]));
    assert_eq!(json["call_path"], serde_json::json!(["main", "solve"]));
    assert_eq!(json["time_range_ns"].as_array().map(Vec::len), Some(2));
    assert!(json["evidence"][0]["values"][0]["unit"] == "ns" && json["advice"].is_string());
}
