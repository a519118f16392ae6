//! What holds for every program, and every machine where nothing else is said.

use crate::simulator::*;
use crate::{ToyEvent, ToyPayload};
use ouzel_model::{LocationId, Ticks};
use std::collections::BTreeMap;

/// Machines: free and eager; free with rendezvous; costly, with transfers in the background and in calls.
fn machines() -> [Machine; 4] {
    let rendezvous = Machine { eager_limit: 50, ..Machine::default() };
    let costly =
        Machine { overhead: 3, latency: 20, bytes_per_tick: Some(50), eager_limit: 200, ..rendezvous };
    [Machine::default(), rendezvous, costly, Machine { transfer: Transfer::InCall, ..costly }]
}

/// Checks a law, which says what breaks it, for random programs on all machines; reports the smallest that breaks it.
fn check(n_programs: u64, matching: MatchingOrder, law: impl Fn(&Program, &Machine) -> Result<(), String>) {
    for seed in 0..n_programs {
        let random = RandomOptions { matching, ..RandomOptions::new(seed) }.build();
        for machine in machines() {
            if law(&random.program(), &machine).is_err() {
                let smallest = random.smallest(|program| law(program, &machine).is_err()).program();
                let broken = law(&smallest, &machine);
                panic!(
                    "{broken:?} on {machine:?} of seed {seed}, without what does not matter: {smallest:#?}"
                );
            }
        }
    }
}

fn holds(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// Spans follow each other; a wait is the beginning of its call and no longer.
fn time_adds_up(program: &Program, machine: &Machine) -> Result<(), String> {
    let run = simulate(program, machine);
    for (rank, spans) in run.spans.iter().enumerate() {
        let end = spans.last().map_or(0, |span| span.end);
        let is_gapless = spans.first().is_none_or(|span| span.start == 0)
            && spans.windows(2).all(|pair| pair[0].end == pair[1].start);
        holds(is_gapless, || format!("rank {rank} has gaps"))?;
        let in_calls: u64 =
            run.visits.iter().filter(|visit| visit.rank == rank).map(|visit| visit.leave - visit.enter).sum();
        let n = run.useful[rank] + in_calls;
        holds(n == end, || format!("rank {rank} ends at {end}, its work and calls take {n}"))?;
        let last = run.trace.events(LocationId(rank as u32)).last().map(|event| event.time);
        holds(last.is_none_or(|time| time == Ticks(end)), || {
            format!("the trace of rank {rank} ends at {last:?}")
        })?;
    }
    for wait in &run.waits {
        let visit = &run.visits[wait.visit];
        let fits = visit.enter == wait.start && 0 < wait.ticks && wait.ticks <= visit.leave - visit.enter;
        let comes = run.visits[wait.culprit_visit].enter == wait.start + wait.ticks;
        holds(fits && comes && wait.early_reduce <= wait.ticks, || format!("{wait:?} of {visit:?}"))?;
    }
    Ok(())
}

#[test]
fn the_time_of_a_rank_is_work_and_waits_and_the_rest_of_calls() {
    check(400, MatchingOrder::Fixed, time_adds_up);
    check(200, MatchingOrder::ByTime, time_adds_up);
}

#[test]
fn work_is_that_of_the_program() {
    check(300, MatchingOrder::Fixed, |program, machine| {
        let run = simulate(program, machine);
        let work = |step: &Step| if let Step::Work(ticks) = step { *ticks } else { 0 };
        let work: Vec<u64> = program.ranks.iter().map(|steps| steps.iter().map(work).sum()).collect();
        holds(run.useful == work, || format!("{:?} instead of {work:?}", run.useful))
    });
}

/// Whether a call is of one message or collective operation at most.
fn needs_one(visit: &run::Visit) -> bool {
    visit.call_path.last().is_none_or(|&call| !["MPI_Waitall", "MPI_Sendrecv"].contains(&call))
}

#[test]
fn without_costs_a_call_of_one_message_or_operation_only_waits() {
    check(400, MatchingOrder::Fixed, |program, machine| {
        let run = simulate(program, &machine.ideal());
        let waits: BTreeMap<usize, u64> = run.waits.iter().map(|wait| (wait.visit, wait.ticks)).collect();
        for (number, visit) in run.visits.iter().enumerate() {
            let waited = waits.get(&number).copied().unwrap_or_default();
            let is_all = !needs_one(visit) || waited == visit.leave - visit.enter;
            holds(is_all, || format!("{visit:?} waits {waited}"))?;
        }
        Ok(())
    });
}

/// What a call takes beyond its wait, of calls that need one thing, by rank.
fn rests(run: &Run) -> Vec<Vec<u64>> {
    let mut rests = vec![Vec::new(); run.spans.len()];
    for (number, visit) in run.visits.iter().enumerate().filter(|(_, visit)| needs_one(visit)) {
        let wait = run.waits.iter().find(|wait| wait.visit == number).map_or(0, |wait| wait.ticks);
        rests[visit.rank].push(visit.leave - visit.enter - wait);
    }
    rests
}

#[test]
fn with_transfers_in_calls_what_follows_a_wait_is_always_the_same() {
    let in_calls = machines()[3];
    check(150, MatchingOrder::Fixed, |program, _| {
        let changed = program.changed(&Change::removed(Code::named("solve")));
        let (before, after) = (rests(&simulate(program, &in_calls)), rests(&simulate(&changed, &in_calls)));
        holds(before == after, || format!("{before:?} becomes {after:?}"))
    });
}

#[test]
fn the_last_member_of_an_operation_of_all_with_all_does_not_wait() {
    check(300, MatchingOrder::Fixed, |program, machine| {
        let run = simulate(program, machine);
        for instance in run.instances.iter().filter(|instance| instance.call.kind.shape() == Shape::AllToAll)
        {
            let waits = |visit: &Option<usize>| run.waits.iter().any(|wait| Some(wait.visit) == *visit);
            holds(!instance.arrived.iter().all(waits), || format!("all wait in {instance:?}"))?;
        }
        Ok(())
    });
}

fn costs_add_up(program: &Program, machine: &Machine) -> Result<(), String> {
    let run = simulate(program, machine);
    let delays = run.delays();
    let mut by_class: BTreeMap<WaitClass, (u64, u64)> = BTreeMap::new();
    for wait in &run.waits {
        by_class.entry(wait.class).or_default().0 += wait.ticks;
    }
    for ((class, ..), ticks) in delays.short_term.iter().chain(&delays.long_term) {
        by_class.entry(*class).or_default().1 += ticks;
    }
    holds(by_class.values().all(|(waits, costs)| waits == costs), || format!("{by_class:?}"))?;
    let parts = run.waits.iter().zip(delays.indirect.iter().zip(&delays.propagating));
    let are_parts = parts
        .clone()
        .all(|(wait, (&indirect, &propagating))| indirect <= wait.ticks && propagating <= wait.ticks);
    let direct: u64 = parts.map(|(wait, (indirect, _))| wait.ticks - indirect).sum();
    let short_term: u64 = delays.short_term.values().sum();
    holds(are_parts && direct == short_term, || format!("{short_term} at once, {direct} direct"))
}

#[test]
fn delay_costs_of_a_class_add_up_to_its_waits() {
    check(400, MatchingOrder::Fixed, costs_add_up);
    check(200, MatchingOrder::ByTime, costs_add_up);
}

#[test]
fn a_network_without_transfer_never_takes_longer() {
    check(400, MatchingOrder::Fixed, |program, machine| {
        let (real, ideal) = (simulate(program, machine), simulate(program, &machine.ideal()));
        let longest = real.useful.iter().max().copied().unwrap_or_default();
        let is_between = longest <= ideal.run_time && ideal.run_time <= real.run_time;
        holds(is_between, || format!("{longest}, {} and {}", ideal.run_time, real.run_time))
    });
}

#[test]
fn less_work_never_lengthens_the_run() {
    let solve = || Code::named("solve");
    let changes = [
        Change::faster(solve(), 2),
        Change::faster(solve().on(0..=0), 3),
        Change::removed(Code::named("main/step/solve")),
        Change::removed(Code::named("step/**").on(1..=2)),
    ];
    check(250, MatchingOrder::Fixed, |program, machine| {
        let before = simulate(program, machine).run_time;
        for change in &changes {
            let after = simulate(&program.changed(change), machine).run_time;
            holds(after <= before, || format!("{before} becomes {after} by {change:?}"))?;
        }
        Ok(())
    });
}

#[test]
fn a_change_changes_the_work_that_it_names() {
    check(50, MatchingOrder::Fixed, |program, _| {
        let useful =
            |change: &Change| -> Vec<u64> { simulate(&program.changed(change), &Machine::default()).useful };
        let all = || Code::named("main/**");
        let before = simulate(program, &Machine::default()).useful;
        let third: Vec<u64> = before.iter().map(|ticks| ticks / 3).collect();
        holds(program.changed(&Change::faster(all(), 1)) == *program, || "faster by nothing".to_owned())?;
        holds(useful(&Change::faster(all(), 3)) == third, || "faster".to_owned())?;
        holds(useful(&Change::removed(all())) == vec![0; before.len()], || "removed".to_owned())?;
        let is_balanced = |ticks: &[u64]| ticks.iter().sum::<u64>() <= before.iter().sum();
        holds(is_balanced(&useful(&Change::Balanced(all()))), || "balanced".to_owned())
    });
}

#[test]
fn balanced_work_is_the_mean_of_each_phase() {
    let ranks = [[30, 7], [10, 0], [20, 5]];
    let rank = |[first, second]: [u64; 2]| {
        let between = if second == 0 { Vec::new() } else { work("solve", second) };
        [work("solve", first), send(0), work("solve", first), barrier(), between].concat()
    };
    let mut program = Program::new(ranks.into_iter().map(rank).collect());
    program.ranks[0].extend((0..3).flat_map(recv));
    let times = |program: &Program| -> Vec<Vec<u64>> {
        let work = |step: &Step| if let Step::Work(ticks) = step { Some(*ticks) } else { None };
        program.ranks.iter().map(|steps| steps.iter().filter_map(work).collect()).collect()
    };
    let balanced = program.changed(&Change::Balanced(Code::named("solve")));
    assert_eq!(times(&balanced), [vec![20, 20, 4], vec![20, 20], vec![20, 20, 4]]);
    assert!(simulate(&balanced, &Machine::default()).run_time <= 44);
}

#[test]
fn traces_are_in_order_and_nested() {
    check(200, MatchingOrder::ByTime, |program, machine| {
        let run = simulate(program, machine);
        for rank in 0..program.ranks.len() {
            let events = run.trace.events(LocationId(rank as u32));
            holds(events.is_sorted_by_key(|event| event.time), || format!("rank {rank} goes back"))?;
            let mut open = Vec::new();
            for ToyEvent { what, .. } in events {
                match what {
                    ToyPayload::Enter(region) => open.push(*region),
                    ToyPayload::Leave(region) => {
                        holds(open.pop() == Some(*region), || format!("rank {rank} leaves {region:?}"))?;
                    }
                    _ => {}
                }
            }
            holds(open.is_empty(), || format!("rank {rank} ends inside"))?;
        }
        Ok(())
    });
}

#[test]
fn everything_occurs() {
    let mut classes: BTreeMap<WaitClass, usize> = BTreeMap::new();
    let (mut n_wrong, mut n_long, mut n_polls) = (0, 0, 0);
    for seed in 0..100 {
        let options = RandomOptions { matching: MatchingOrder::ByTime, ..RandomOptions::new(seed) };
        let run = simulate(&options.build().program(), &machines()[1]);
        n_polls += run.polling.len();
        n_long += run.delays().long_term.len();
        for wait in &run.waits {
            *classes.entry(wait.class).or_default() += 1;
            n_wrong += usize::from(wait.wrong_order.is_some());
        }
    }
    assert_eq!(classes.len(), 9);
    let counts = [n_wrong, n_long, n_polls];
    assert!(classes.values().chain(&counts).all(|&n| 5 < n), "{classes:?} {counts:?}");
}

#[test]
fn the_smallest_failing_program_has_only_what_fails() {
    let waits_for_sender = |program: &Program| {
        simulate(program, &Machine::default()).waits.iter().any(|wait| wait.class == WaitClass::LateSender)
    };
    let random = RandomOptions::new(7).build();
    assert!(waits_for_sender(&random.program()));
    let smallest = random.smallest(waits_for_sender).program();
    let n_calls = |steps: &Vec<Step>| steps.iter().filter(|step| matches!(step, Step::Call(_))).count();
    // Each rank also completes everything at the end.
    assert!(
        smallest.ranks.iter().map(n_calls).sum::<usize>() <= 2 * smallest.ranks.len() + 2,
        "{smallest:#?}"
    );
}
