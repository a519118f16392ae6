use super::*;
use ouzel_model::{EventKind, LocationId, Ticks, TraceSource};
use ouzel_testkit::{Rng, ToyEvent, ToyPayload, ToyTrace, laws, run};

fn kind(what: &ToyPayload) -> EventKind {
    match what {
        ToyPayload::Enter(_) => EventKind::Enter,
        ToyPayload::Leave(_) => EventKind::Leave,
        ToyPayload::Send(_) => EventKind::MessageSend,
        ToyPayload::Recv(_) => EventKind::MessageRecv,
        ToyPayload::Request(_) => EventKind::Request,
        ToyPayload::CollectiveBegin => EventKind::CollectiveBegin,
        ToyPayload::CollectiveEnd(_) => EventKind::CollectiveEnd,
        _ => EventKind::Other,
    }
}

/// The trace with its clocks repaired; times of a location must not go back.
fn repaired(trace: &ToyTrace, repair: &ClockRepair) -> ToyTrace {
    let mut repaired = trace.clone();
    for (&location, correction) in &repair.corrections {
        let mut corrector = Corrector::new(correction);
        let mut last = Ticks(0);
        for event in repaired.events_mut(location) {
            event.time = corrector.time(event.time, kind(&event.what));
            assert!(last <= event.time, "order within a location stays");
            last = event.time;
        }
    }
    repaired
}

/// Repairs, and checks that nothing is left; returns what was found, and the trace afterwards.
fn check(trace: &ToyTrace) -> (ClockRepair, ToyTrace) {
    let repair = run(trace, ClockRepairs::default());
    let after = repaired(trace, &repair);
    let again = run(&after, ClockRepairs::default());
    assert_eq!((again.n_violations, repair.n_left), (0, 0), "{again:?} after {repair:?}");
    assert!(again.corrections.is_empty());
    (repair, after)
}

/// Messages to and fro and barriers of `n` ranks, whose clocks are `clock(rank, time)`.
fn program(n: u32, n_rounds: u32, seed: u64, clock: impl Fn(u32, u64) -> u64) -> ToyTrace {
    let mut rng = Rng::new(seed);
    let mut text = vec![Vec::new(); n as usize];
    let mut now = vec![1_000_000_u64; n as usize];
    for round in 0..n_rounds {
        for from in 0..n {
            let to = (from + 1 + rng.below(u64::from(n) - 1) as u32) % n;
            let sent = now[from as usize] + rng.below(500);
            let received = sent.max(now[to as usize]) + 100 + rng.below(300);
            text[from as usize].push((sent, format!("send>{to} tag {round} bytes 8")));
            text[to as usize].push((received, format!("recv<{from} tag {round} bytes 8")));
            now[from as usize] = sent + 1;
            now[to as usize] = received + 1;
        }
        let begins: Vec<u64> = now.iter().map(|at| at + rng.below(900)).collect();
        let last = begins.iter().max().expect("there are ranks");
        for rank in 0..n as usize {
            text[rank].push((begins[rank], "collective-begin".to_owned()));
            now[rank] = last + 50 + rng.below(100);
            text[rank].push((now[rank], "collective barrier".to_owned()));
            now[rank] += 5000;
        }
    }
    let line = |(rank, events): (usize, &Vec<(u64, String)>)| {
        let time = |at: &u64| clock(rank as u32, *at);
        let events: Vec<String> = events.iter().map(|(at, what)| format!("{what} @{}", time(at))).collect();
        format!("{rank}: {}", events.join(", "))
    };
    ToyTrace::new(&text.iter().enumerate().map(line).collect::<Vec<_>>().join("\n"))
}

#[test]
fn good_clocks_are_left_alone() {
    for seed in 0..10 {
        let trace = program(4, 20, seed, |_, at| at);
        let (repair, after) = check(&trace);
        assert!(100 < repair.n_dependent);
        assert_eq!((repair.n_violations, repair.corrections.len()), (0, 0));
        for location in trace.definitions().location_ids() {
            assert_eq!(after.events(location), trace.events(location), "bit for bit");
        }
    }
}

/// The largest error of differences between clocks, in ticks, over the events of the trace.
fn error(truth: &ToyTrace, found: &ToyTrace) -> u64 {
    let shift = |location: LocationId, i: usize| {
        found.events(location)[i].time.0 as i64 - truth.events(location)[i].time.0 as i64
    };
    let all =
        || truth.definitions().location_ids().flat_map(|l| (0..truth.events(l).len()).map(move |i| (l, i)));
    let most = all().map(|(l, i)| shift(l, i)).max().expect("there are events");
    let least = all().map(|(l, i)| shift(l, i)).min().expect("there are events");
    most.abs_diff(least)
}

#[test]
fn offsets_are_found() {
    for seed in 0..10 {
        let truth = program(5, 40, seed, |_, at| at);
        let offsets = [0, 70_000, 900_000, 350, 40_000];
        let wrong = program(5, 40, seed, |rank, at| at + offsets[rank as usize]);
        let (repair, after) = check(&wrong);
        assert!(0 < repair.n_violations && 10_000 < repair.worst.0, "{repair:?}");
        assert!(error(&truth, &after) < 2_000, "seed {seed}: {}", error(&truth, &after));
    }
}

#[test]
fn drifts_are_found() {
    for seed in 0..10 {
        let truth = program(4, 200, seed, |_, at| at);
        // Up to 1 % faster: 12,000 ticks over the run.
        let wrong =
            program(4, 200, seed, |rank, at| at + 5_000 * u64::from(rank) + at * u64::from(rank) / 300);
        let (repair, after) = check(&wrong);
        assert!(0 < repair.n_violations);
        let (before, now) = (error(&truth, &wrong), error(&truth, &after));
        assert!(now < before / 4, "seed {seed}: {before} before, {now} now");
    }
}

#[test]
fn a_clock_that_jumps_is_followed() {
    for seed in 0..10 {
        let wrong =
            program(3, 30, seed, |rank, at| if rank == 1 && 1_100_000 < at { at + 3_000 } else { at });
        let (repair, _) = check(&wrong);
        assert!(0 < repair.n_violations);
    }
}

#[test]
fn times_below_zero_move_all_up() {
    // What rank 1 receives at 10 was sent at 1000; what it sends at 20 arrives at 1015.
    let trace = ToyTrace::new(
        "0: enter main @0, send>1 @1000, recv<1 @1015, leave @1020
         1: enter main @0, recv<0 @10, send>0 @20, leave @30",
    );
    let (repair, after) = check(&trace);
    assert_eq!((repair.n_dependent, repair.n_violations, repair.worst), (2, 1, Ticks(990)));
    let times = |location| after.events(LocationId(location)).iter().map(|e: &ToyEvent| e.time.0).collect();
    let both: [Vec<u64>; 2] = [times(0), times(1)];
    assert_eq!(both, [vec![0, 1000, 1015, 1020], vec![992, 1002, 1012, 1022]]);
}

#[test]
fn rooted_collectives_bind_the_root() {
    let bcast = |root: u64, other: u64| {
        ToyTrace::new(&format!(
            "0: collective-begin @{root}, collective bcast root 0 bytes 8/8 @{}
             1: collective-begin @0, collective bcast root 0 bytes 8/8 @{other}",
            root + 5
        ))
    };
    assert_eq!(run(&bcast(10, 11), ClockRepairs::default()).n_violations, 0);
    assert_eq!(check(&bcast(100, 11)).0.n_violations, 1);
    let reduce = |root: u64, other: u64| {
        ToyTrace::new(&format!(
            "0: collective-begin @0, collective reduce root 0 bytes 8/8 @{root}
             1: collective-begin @{other}, collective reduce root 0 bytes 8/8 @{}",
            other + 5
        ))
    };
    assert_eq!(run(&reduce(10, 9), ClockRepairs::default()).n_violations, 0);
    assert_eq!(check(&reduce(10, 99)).0.n_violations, 1);
}

#[test]
fn circles_end() {
    // Paired wrongly: each is received before anything is sent by the other.
    let trace = ToyTrace::new("0: recv<1 @5, send>1 @9\n 1: recv<0 @5, send>0 @9");
    let repair = run(&trace, ClockRepairs::default());
    assert_eq!((repair.n_violations, repair.n_left), (2, 1));
    repaired(&trace, &repair);
}

#[test]
fn after_a_jump_the_line_is_reached_again() {
    let correction = Correction {
        line: OffsetLine::default(),
        jumps: vec![Jump { point: 0, from: Ticks(100), to: Ticks(200) }],
    };
    let mut corrector = Corrector::new(&correction);
    assert_eq!(corrector.time(Ticks(99), EventKind::Enter), Ticks(99));
    assert_eq!(corrector.time(Ticks(100), EventKind::Enter), Ticks(100), "before the point");
    assert_eq!(corrector.time(Ticks(100), EventKind::MessageRecv), Ticks(200));
    assert_eq!(corrector.time(Ticks(228), EventKind::Leave), Ticks(200 + 127));
    assert_eq!(corrector.time(Ticks(100 + 128 * 100), EventKind::Leave), Ticks(100 + 128 * 100));
}

#[test]
fn clock_repairs_are_lawful() {
    laws::check(ClockRepairs::default, |repair| format!("{repair:?}"));
}
