use super::*;
use crate::golden::OPERATIONS;
use crate::paired_operations::{Operations, OperationsOutput};
use crate::reference::agreeing_trace;
use ouzel_model::TraceSource;
use ouzel_testkit::{RandomTrace, ToyTrace, golden, run};

fn operations(trace: &ToyTrace) -> OperationsOutput {
    run(trace, Operations::new(trace.definitions()))
}

fn rows(text: &str) -> Vec<(u32, u32, u64, u64)> {
    let trace = ToyTrace::new(text);
    let output = lateness(operations(&trace), trace.definitions()).expect("there is no cycle");
    let row = |op: &LateOperation| (op.operation.location.0, op.step, op.lateness.0, op.differential.0);
    output.operations().map(|op| row(&op)).collect()
}

#[test]
fn the_expected_values_are_met() {
    let golden = golden("pipit_ops");
    let expected = &golden["expected"]["lateness"];
    let found = rows(OPERATIONS);
    // Operations of each process in order, as the file names them.
    let names = ["s0", "c0", "r1", "s1", "c1", "r2", "c2"];
    assert_eq!(found.len(), names.len());
    assert_eq!(expected.as_object().unwrap().len(), names.len());
    for (name, (_, step, lateness, differential)) in names.iter().zip(found) {
        let expected = |key: &str| expected[name][key].as_u64().unwrap();
        assert_eq!(
            (u64::from(step), lateness, differential),
            (expected("step"), expected("lateness"), expected("differential")),
            "{name}"
        );
    }
}

#[test]
fn the_first_of_a_step_is_not_late() {
    // Both receive in step 1; rank 2 gets its message late because it was sent late.
    let text = "0: enter MPI_Send @0, send>1 @1, leave @2
        1: enter MPI_Recv @0, recv<0 @3, leave @3
        2: enter MPI_Recv @0, recv<3 @9, leave @9
        3: enter MPI_Send @5, send>2 @6, leave @7";
    assert_eq!(rows(text), [(0, 0, 0, 0), (1, 1, 0, 0), (2, 1, 6, 1), (3, 0, 5, 5)]);
}

#[test]
fn a_collective_of_all_brings_all_to_one_step() {
    let text = "0: send>1 @1, send>1 @2, enter MPI_Barrier @3, collective barrier @4, leave @4, send>1 @5
        1: recv<0 @3, recv<0 @3, enter MPI_Barrier @3, collective barrier @6, leave @6, recv<0 @7
        2: enter MPI_Barrier @3, collective barrier @4, leave @4, send>2 @6, recv<2 @6";
    let steps: Vec<_> = rows(text).iter().map(|row| (row.0, row.1)).collect();
    assert_eq!(
        steps,
        [(0, 0), (0, 1), (0, 3), (0, 4), (1, 1), (1, 2), (1, 3), (1, 5), (2, 3), (2, 4), (2, 5)]
    );
}

#[test]
fn a_circle_is_named() {
    let trace = ToyTrace::new(
        "0: enter MPI_Recv @1, recv<1 @2, leave @2, enter MPI_Send @3, send>1 @3, leave @4
         1: enter MPI_Recv @1, recv<0 @2, leave @2, enter MPI_Send @3, send>0 @3, leave @4",
    );
    let cycle = lateness(operations(&trace), trace.definitions()).unwrap_err();
    assert_eq!(cycle.operations, [1, 2, 3, 0]);
    assert!(cycle.to_string().contains("receive of rank 0 in \"MPI_Recv\" at 2 ns"), "{cycle}");
}

#[test]
fn long_chains_do_not_recurse() {
    let mut lines = [String::from("0: "), String::from("1: ")];
    for i in 0..20_000 {
        lines[i % 2].push_str(&format!("send>{} @{}, ", 1 - i % 2, 2 * i));
        lines[1 - i % 2].push_str(&format!("recv<{} @{}, ", i % 2, 2 * i + 1));
    }
    let trace = ToyTrace::new(&lines.join("\n"));
    let output = lateness(operations(&trace), trace.definitions()).unwrap();
    assert_eq!(output.n_steps, 40_000);
}

/// Raises steps until nothing changes; `None` if that does not end.
fn slow_steps(output: &OperationsOutput) -> Option<Vec<u32>> {
    let n = output.operations.len();
    let mut steps = vec![0_u32; n];
    for _ in 0..=n {
        let mut next = steps.clone();
        for op in 1..n {
            if output.operations[op - 1].location == output.operations[op].location {
                next[op] = next[op].max(next[op - 1] + 1);
            }
        }
        for message in &output.messages {
            let (send, receive) = (message.send as usize, message.receive as usize);
            next[receive] = next[receive].max(next[send] + 1);
        }
        for instance in &output.collectives {
            let last = instance.members.iter().map(|&(op, _)| next[op as usize]).max()?;
            instance.members.iter().for_each(|&(op, _)| next[op as usize] = last);
        }
        if next == steps {
            return Some(steps);
        }
        steps = next;
    }
    None
}

#[test]
fn steps_are_those_of_the_slow_way() {
    let (mut n_steps, mut n_cycles) = (0, 0);
    let random = (0..20).map(|seed| {
        let n_locations = 1 + (seed % 6) as u32;
        let faults = ouzel_testkit::Faults::None;
        RandomTrace { seed, n_locations, n_events: 60, faults }.build()
    });
    for trace in random.chain((0..20).map(agreeing_trace)) {
        let operations = operations(&trace);
        let found = steps(&operations, trace.definitions());
        assert_eq!(found.as_ref().ok(), slow_steps(&operations).as_ref());
        match found {
            Ok(steps) => n_steps += steps.len(),
            Err(cycle) => {
                n_cycles += 1;
                assert!(!cycle.operations.is_empty());
            }
        }
    }
    assert!(500 < n_steps && 0 < n_cycles, "{n_steps} {n_cycles}");
}

#[test]
fn traces_with_one_clock_have_no_circle_and_each_step_has_its_first() {
    for seed in 0..30 {
        let trace = agreeing_trace(seed);
        let output = lateness(operations(&trace), trace.definitions()).expect("one clock");
        for step in 0..output.n_steps {
            let of_step = output.operations().filter(|op| op.step == step);
            assert_eq!(of_step.map(|op| op.lateness.0).min(), Some(0), "step {step} of {seed}");
        }
        for row in &output.ranks {
            let of_rank = || output.operations().filter(|op| op.rank == row.rank);
            assert_eq!(row.n_operations, of_rank().count() as u64);
            assert_eq!(row.sum, of_rank().map(|op| u128::from(op.lateness.0)).sum());
            assert_eq!(row.max, of_rank().map(|op| op.lateness).max().unwrap_or_default());
        }
        assert_eq!(output.table(&trace.definitions().clock).columns.len(), 6);
        let table = output.operations_table(trace.definitions());
        assert_eq!(table.columns[0].data.len(), output.n_operations());
        let batches = output.operation_batches(trace.definitions());
        let joined = batches.reduce(|mut all, batch| {
            all.append(batch);
            all
        });
        assert_eq!(joined, Some(table));
    }
}
