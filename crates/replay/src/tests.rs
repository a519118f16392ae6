use crate::{Change, Code, Edit, EditedCode, Gains, Graph, Projection, Replay};
use ouzel_analyses::critical_path::CallsOfMpi;
use ouzel_model::{CallPathId, CallPathTree, Filter, LocationId, Ticks, TraceSource};
use ouzel_testkit::simulator::windows::{
    BlockAt, RandomWindows, WindowStep, random_windows, simulate_windows,
};
use ouzel_testkit::simulator::{
    self, Machine, MatchingOrder, Program, RandomOptions, SendMode, Transfer, golden, simulate,
};
use ouzel_testkit::{ToyTrace, random_program, run, run_report};
use ouzel_waits::Waits;

const SEEDS: u64 = 1000;

fn graph(trace: &ToyTrace) -> Graph {
    let definitions = trace.definitions();
    let mut output = run_report(trace, &Filter::default(), Waits::with_edges(definitions)).0;
    Graph::new(&output.edges.take().expect("they were asked for"), definitions)
}

fn replay(trace: &ToyTrace) -> Replay {
    let graph = graph(trace);
    let calls = run(trace, graph.second_pass());
    Replay::new(graph, calls, trace.definitions())
}

fn project(trace: &ToyTrace, changes: &[Change]) -> Projection {
    replay(trace).what_if(changes).expect("the code is there")
}

fn code(text: &str) -> Code {
    let Ok(code) = text.parse();
    code
}

fn projected(program: &Program, change: &str) -> u64 {
    let truth = simulate(program, &Machine::default());
    project(&truth.trace, &[Change::faster(change).expect("a factor")]).projected.0
}

#[test]
fn golden_programs_are_faster_as_published() {
    assert_eq!(projected(&golden::chain(), "foo@0=2"), 60);
    assert_eq!(projected(&golden::through_a_collective(), "foo@0=2"), 55);
    assert_eq!(projected(&golden::through_a_collective(), "foo@1=2"), 65);
}

#[test]
fn golden_programs_have_their_ideal_time() {
    for (program, ideal) in
        [(golden::chain(), 110), (golden::through_a_collective(), 80), (golden::in_turn(), 2000)]
    {
        let replay = replay(&simulate(&program, &Machine::default()).trace);
        assert_eq!(replay.ideal_run_time().0, ideal);
    }
}

#[test]
fn without_a_change_every_time_is_as_recorded() {
    let costly =
        Machine { eager_limit: 50, overhead: 3, latency: 20, bytes_per_tick: Some(50), ..Machine::default() };
    for seed in 0..SEEDS {
        let options = RandomOptions { matching: MatchingOrder::ByTime, ..RandomOptions::new(seed) };
        for machine in [Machine::default(), costly] {
            let truth = simulate(&options.build().program(), &machine);
            let found = project(&truth.trace, &[]);
            assert_eq!(found.identity_error, Ticks(0), "seed {seed}");
            assert_eq!((found.run_time, found.projected), (Ticks(truth.run_time), Ticks(truth.run_time)));
            // Of a call that waits for a sender and a receiver, only the sender is a wait state.
            let wait: u64 = found.ranks.iter().map(|rank| rank.wait.0).sum();
            assert!(machine != Machine::default() || truth.total_wait() <= wait, "seed {seed}");
        }
    }
    for seed in 0..SEEDS {
        assert_eq!(project(&random_program(seed), &[]).identity_error, Ticks(0), "seed {seed}");
    }
}

#[test]
fn windows_without_a_change_are_as_recorded() {
    for seed in 0..SEEDS {
        let RandomWindows { ranks, n_windows, block_at } = random_windows(seed);
        let truth = simulate_windows(&ranks, n_windows, block_at);
        let found = project(&truth.trace, &[]);
        assert_eq!(found.identity_error, Ticks(0), "seed {seed}");
        assert_eq!(replay(&truth.trace).dropped().unmet, 0, "seed {seed}");
    }
}

/// Fences and epochs of groups that wait where they begin; who has a lock first may change with the work.
#[test]
fn windows_with_less_work_take_as_long_as_the_program_without_it() {
    let is_lock = |step: &WindowStep| matches!(step, WindowStep::Lock(..));
    let mut n_gains = 0;
    for seed in 0..SEEDS {
        let RandomWindows { mut ranks, n_windows, .. } = random_windows(seed);
        if ranks.iter().flatten().any(is_lock) {
            continue;
        }
        let truth = simulate_windows(&ranks, n_windows, BlockAt::First);
        let found = project(&truth.trace, &[Change::Removed(code("work@0"))]);
        for step in &mut ranks[0] {
            if let WindowStep::Work(ticks) = step {
                *ticks = 0;
            }
        }
        let changed = simulate_windows(&ranks, n_windows, BlockAt::First);
        assert_eq!(found.projected.0, end(&changed.trace), "seed {seed}");
        n_gains += u64::from(found.projected < found.run_time);
    }
    assert!(50 < n_gains, "{n_gains}");
}

/// The last time of a trace that begins at zero.
fn end(trace: &ToyTrace) -> u64 {
    let last = |location| trace.events(location).last().map_or(0, |event| event.time.0);
    trace.definitions().location_ids().map(last).max().unwrap_or_default()
}

/// Programs with machines on which a replay is exact: calls and transfers cost nothing, or cost the same whoever is
/// late and every send waits for its receiver, as the region tells.
fn exact_cases(seed: u64) -> Vec<(Program, Machine)> {
    let mut program = RandomOptions::new(seed).build().program();
    // A visit that takes no time is none that could be balanced.
    program.ranks.iter_mut().for_each(|steps| steps.retain(|step| *step != simulator::Step::Work(0)));
    let costly = Machine {
        overhead: 3,
        latency: 20,
        bytes_per_tick: Some(50),
        transfer: Transfer::InCall,
        ..Machine::default()
    };
    let synchronous = all_synchronous(&program).map(|program| (program, costly));
    [(program, Machine::default())].into_iter().chain(synchronous).collect()
}

/// `None` if it has a call that sends and receives: which mode it sends in is not recorded.
fn all_synchronous(program: &Program) -> Option<Program> {
    let mut program = program.clone();
    for step in program.ranks.iter_mut().flatten() {
        match step {
            simulator::Step::Call(simulator::Call::Send(out) | simulator::Call::Isend(_, out)) => {
                out.mode = SendMode::Synchronous;
            }
            simulator::Step::Call(simulator::Call::Sendrecv(..)) => return None,
            _ => {}
        }
    }
    Some(program)
}

#[test]
fn changes_give_the_run_times_of_changed_programs() {
    let (mut n_gains, mut n_costly) = (0, 0);
    for seed in 0..SEEDS {
        for (program, machine) in exact_cases(seed) {
            n_costly += u64::from(machine != Machine::default());
            let truth = simulate(&program, &machine);
            let replay = replay(&truth.trace);
            for name in regions(&program) {
                for (change, truly) in changes(name) {
                    let changed = simulate(&program.changed(&truly), &machine).run_time;
                    let found = replay.what_if(std::slice::from_ref(&change)).expect("it is there");
                    let error = found.projected.0.abs_diff(changed);
                    // Shares of a mean are rounded, here for each piece, there for each step.
                    let allowed = 20 * u64::from(matches!(change, Change::Balanced(_)));
                    assert!(error <= allowed, "seed {seed}: {change}: {:?} {changed}", found.projected);
                    n_gains += u64::from(changed < truth.run_time);
                }
            }
        }
    }
    assert!(1000 < n_gains && 20 < n_costly, "{n_gains} {n_costly}");
}

fn changes(name: &str) -> Vec<(Change, simulator::Change)> {
    let (below, all) = (format!("{name}/**"), || simulator::Code::named(name));
    let faster = [
        (format!("{name}=2"), simulator::Change::faster(all(), 2)),
        (format!("{name}@0-1=3"), simulator::Change::faster(all().on(0..=1), 3)),
        (format!("{below}=2"), simulator::Change::faster(simulator::Code::named(&below), 2)),
    ];
    let others = [
        (Change::Removed(code(name)), simulator::Change::removed(all())),
        (Change::Balanced(code(name)), simulator::Change::Balanced(all())),
    ];
    let faster = faster.map(|(text, truly)| (Change::faster(&text).expect("a factor"), truly));
    faster.into_iter().chain(others).collect()
}

/// The regions in which a program works.
fn regions(program: &Program) -> Vec<&'static str> {
    let mut names = Vec::new();
    for steps in &program.ranks {
        let mut open = Vec::new();
        for step in steps {
            match step {
                simulator::Step::Enter(name) => open.push(*name),
                simulator::Step::Leave => drop(open.pop()),
                simulator::Step::Work(_) => names.extend(open.last()),
                simulator::Step::Call(_) => {}
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn the_ideal_run_time_is_that_of_a_machine_without_costs() {
    for seed in 0..SEEDS {
        for (program, machine) in exact_cases(seed) {
            let trace = simulate(&program, &machine).trace;
            let ideal = simulate(&program, &machine.ideal()).run_time;
            assert_eq!(replay(&trace).ideal_run_time().0, ideal, "seed {seed}");
            let calls = run(&trace, CallsOfMpi::new(trace.definitions()));
            assert_eq!(graph(&trace).ideal_run_time(&calls).0, ideal, "seed {seed}");
        }
    }
}

#[test]
fn less_work_is_never_slower_and_gains_no_more_than_its_part_of_the_critical_path() {
    for seed in 0..SEEDS {
        let program = RandomOptions::new(seed).build().program();
        let replay = replay(&simulate(&program, &Machine::default()).trace);
        let run_time = replay.what_if(&[]).expect("nothing is changed").run_time;
        for row in replay.ranking(usize::MAX) {
            let Gains::Replayed { halved, removed, .. } = row.gains else { panic!("all are replayed") };
            assert!(halved <= removed && removed <= row.critical && row.critical <= run_time, "{row:?}");
            assert!(2 * halved.0 <= row.critical.0, "{row:?}");
        }
    }
}

#[test]
fn the_critical_path_is_as_long_as_the_run() {
    for seed in 0..SEEDS {
        let found = project(&random_program(seed), &[]);
        let critical: Ticks = found.critical_path.iter().map(|it| it.1).sum();
        assert!(critical <= found.run_time, "seed {seed}");
    }
}

#[test]
fn another_network_changes_what_transfers_take() {
    // 20 ticks and 10 bytes a tick; the receiver is there first.
    let program = Program::new(vec![
        [simulator::work("work", 100), simulator::send(1)].concat(),
        [simulator::work("work", 50), simulator::recv(0), simulator::work("work", 50)].concat(),
    ]);
    let machine = Machine { latency: 20, bytes_per_tick: Some(8), ..Machine::default() };
    let truth = simulate(&program, &machine);
    assert_eq!(truth.run_time, 100 + 20 + 1 + 50);
    let network = |text: &str| Change::Network(text.parse().expect("a network"));
    let run_time = |text: &str| project(&truth.trace, &[network(text)]).projected.0;
    assert_eq!(run_time("latency=5ns,bandwidth=8GB/s"), 100 + 5 + 1 + 50);
    assert_eq!(run_time("latency=40ns,bandwidth=4GB/s"), 100 + 40 + 2 + 50);
    assert_eq!(run_time("ideal"), 150);
    // A transfer that is gone cannot become shorter at the expense of work.
    let both = [Change::Removed(code("MPI_Recv")), network("latency=5ns,bandwidth=8GB/s")];
    assert_eq!(project(&truth.trace, &both).projected.0, 100 + 5 + 1 + 50);
}

#[test]
fn spans_fill_the_time_of_each_rank() {
    for seed in 0..100 {
        let program = RandomOptions::new(seed).build().program();
        let replay = replay(&simulate(&program, &Machine::default()).trace);
        let changes = [Change::Network(crate::Network::Ideal)];
        let found = replay.what_if(&changes).expect("a network is no code");
        for (spans, rank) in replay.spans(&changes, 64).expect("the same").iter().zip(&found.ranks) {
            for (of, end) in [(&spans.recorded, rank.end), (&spans.projected, rank.projected_end)] {
                assert!(of.windows(2).all(|pair| pair[0].2 == pair[1].1), "seed {seed}: gaps");
                assert_eq!(of.last().map_or(Ticks(0), |span| span.2), end, "seed {seed}");
            }
        }
    }
}

#[test]
fn unknown_code_is_an_error() {
    let replay = replay(&simulate(&golden::chain(), &Machine::default()).trace);
    let unknown = replay.what_if(&[Change::Removed(code("nowhere"))]).unwrap_err();
    assert_eq!(unknown.to_string(), "no region or call path is named \"nowhere\"");
    assert!(Change::faster("foo").is_err() && Change::faster("foo=0").is_err());
}

#[test]
fn functions_may_be_named_as_pages_show_them() {
    let trace = ToyTrace::new(
        "0: enter main @0, enter step(int) @10, enter f(int) @20, leave @50, leave @50, enter f @50, leave @60, leave @60",
    );
    let saved = |name: &str| 60 - project(&trace, &[Change::Removed(code(name))]).projected.0;
    assert_eq!((saved("step(int)"), saved("step"), saved("step/**"), saved("main/step/f")), (10, 10, 40, 30));
    // The whole name of another function.
    assert_eq!(saved("f"), 10);
}

#[test]
fn calls_that_take_no_time_still_wait() {
    let replay = replay(&simulate(&golden::chain(), &Machine::default()).trace);
    let still_wait = |name: &str| {
        let changes = [Change::Removed(code(name))];
        let found = replay.what_if(&changes).expect("the code is there");
        replay.limits(&changes, &found).iter().any(|limit| limit.contains("still wait"))
    };
    assert!(still_wait("MPI_Recv") && !still_wait("foo"));
}

#[test]
fn calls_that_wait_for_each_other_are_replayed_as_recorded() {
    // Each receives before it sends, and all at one time: clocks or matching are wrong.
    let pair = |a: u32, b: u32| {
        let of = |me: u32, other: u32| {
            format!(
                "{me}: enter MPI_Recv @0, recv<{other} @10, leave @10, enter MPI_Send @10, send>{other} @10, leave @12"
            )
        };
        format!("{}\n{}", of(a, b), of(b, a))
    };
    let trace = ToyTrace::new(&format!("{}\n{}", pair(0, 1), pair(2, 3)));
    let replay = replay(&trace);
    assert_eq!(replay.dropped().cyclic, 2);
    let found = replay.what_if(&[]).expect("nothing is changed");
    assert_eq!((found.identity_error, found.projected), (Ticks(0), Ticks(12)));
    assert!(replay.limits(&[], &found).iter().any(|limit| limit.contains("wait for each other")));
}

/// The call paths that end in a region, found by way of a tree with other numbers.
fn edited(replay: &Replay, trace: &ToyTrace, name: &str) -> EditedCode {
    let tree = &replay.pieces.call_paths;
    let mut other = CallPathTree::default();
    for path in tree.paths().rev() {
        let of = tree.regions(path).into_iter();
        of.fold(CallPathTree::ROOT, |parent, region| other.child(parent, region));
    }
    let is_named = |path: &CallPathId| {
        other.region(*path).is_some_and(|region| *trace.definitions().region(region).name == *name)
    };
    let own = replay.paths_of(&other);
    let named =
        other.paths().filter(is_named).map(|path| own[path.index()].expect("it is a path of the run"));
    EditedCode::exclusive(named.collect())
}

#[test]
fn released_calls_find_what_they_wait_for() {
    let truth = simulate(&golden::chain(), &Machine::default());
    let replay = replay(&truth.trace);
    let receive = edited(&replay, &truth.trace, "MPI_Recv");
    let of = |rank| EditedCode { locations: Some(vec![LocationId(rank)]), ..receive.clone() };
    // Rank 0 works for 100; rank 1 for 10 and 10; rank 2 for 10.
    assert_eq!(replay.gain(&[Edit::Release(receive.clone())]), 10);
    assert_eq!(replay.gain(&[Edit::Release(of(1))]), 10);
    assert_eq!(replay.gain(&[Edit::Release(of(2))]), 0);
    let work = EditedCode { locations: Some(vec![LocationId(0)]), ..edited(&replay, &truth.trace, "foo") };
    assert_eq!(replay.gain(&[Edit::Scale(work.clone(), (1, 2))]), 50);
    assert_eq!(replay.gain(&[Edit::Scale(work, (1, 2)), Edit::Release(receive)]), 60);
}

#[test]
fn edits_gain_what_changes_gain_and_released_calls_never_make_a_run_longer() {
    for seed in 0..SEEDS {
        let program = RandomOptions::new(seed).build().program();
        let truth = simulate(&program, &Machine::default());
        let replay = replay(&truth.trace);
        for name in regions(&program) {
            let at_once = |change: Change| {
                let found = replay.what_if(&[change]).expect("it is there");
                found.run_time.0.cast_signed() - found.projected.0.cast_signed()
            };
            let work = edited(&replay, &truth.trace, name);
            let removed = replay.gain(&[Edit::Scale(work.clone(), (0, 1))]);
            assert_eq!(removed, at_once(Change::Removed(code(name))), "seed {seed}: {name}");
            let balanced = replay.gain(&[Edit::Balance(work)]);
            assert_eq!(balanced, at_once(Change::Balanced(code(name))), "seed {seed}: {name}");
        }
        for call in ["MPI_Recv", "MPI_Wait", "MPI_Waitall", "MPI_Barrier", "MPI_Allreduce"] {
            let calls = edited(&replay, &truth.trace, call);
            assert!(0 <= replay.gain(&[Edit::Release(calls)]), "seed {seed}: {call}");
        }
    }
}

#[test]
fn factors_are_exact_decimals() {
    let part = |text: &str| match Change::faster(text) {
        Ok(Change::Faster { numerator, denominator, .. }) => Some((numerator, denominator)),
        _ => None,
    };
    assert_eq!(part("solve=1.1765"), Some((11_765, 10_000)));
    assert_eq!(part("solve=2"), Some((2, 1)));
    assert_eq!(part("a=b=.5"), Some((5, 10)));
    assert_eq!(part("solve=1000000"), Some((1_000_000, 1)));
    assert_eq!(part("solve=0.001"), Some((1, 1000)));
    for wrong in
        ["0", "0.0009", "1000000.1", "-1", "1e3", "", ".", "nan", "1.0000000001", "99999999999999999999"]
    {
        assert_eq!(part(&format!("solve={wrong}")), None, "{wrong}");
    }
}
