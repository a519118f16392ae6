use super::*;
use crate::phases::{Alignment, Phases, PhasesOutput};
use crate::semantics::{Class, Semantics};
use ouzel_model::{CallPathTree, Definitions, TraceSource};
use ouzel_testkit::{Rng, ToyTrace, run};
use std::fmt::Write;

struct Ran {
    output: PhasesOutput,
    definitions: Definitions,
    classes: Vec<Class>,
}

fn ran(text: &str) -> Ran {
    ran_trace(&ToyTrace::new(text))
}

fn ran_trace(trace: &ToyTrace) -> Ran {
    let definitions = trace.definitions().clone();
    let output = run(trace, Phases::default());
    let classes = Semantics::default().classes(&definitions);
    Ran { output, definitions, classes }
}

impl Ran {
    fn segments(&self) -> Segments {
        segments(&self.output.groups[0], &self.output.call_paths, &self.classes, &Thresholds::default())
    }

    /// Paths as `name imbalance wait`, sums over members.
    fn paths(&self, segment: &Segment) -> Vec<String> {
        let show = |path: &PathLoss| {
            let name = match self.output.call_paths.region(path.call_path) {
                Some(region) => &*self.definitions.region(region).name,
                None => "outside",
            };
            let own = if path.is_self { "<self>" } else { "" };
            let subset = if path.subset { "*" } else { "" };
            format!("{name}{own}{subset} {} {}", path.imb.sum, path.wait.sum)
        };
        segment.paths.iter().map(show).collect()
    }
}

#[test]
fn each_category_loses_in_its_way() {
    let ran = ran("
        comm row = 0 1
        0: enter main @0, enter f @0, leave @60, enter MPI_Recv @60, leave @70, enter MPI_Allreduce @70, collective allreduce comm row @90, leave @90, enter MPI_Barrier @90, collective barrier @100, leave @100, leave @100
        1: enter main @0, enter f @0, leave @30, enter MPI_Recv @30, leave @80, enter MPI_Allreduce @80, collective allreduce comm row @90, leave @90, enter MPI_Barrier @90, collective barrier @100, leave @100, leave @100
        2: enter main @0, enter f @0, leave @30, enter MPI_Barrier @30, collective barrier @100, leave @100, leave @100");
    let segments = ran.segments();
    assert_eq!(segments.alignment, Alignment::Complete);
    let segment = &segments.segments[0];
    // f: 60 30 30, Recv: 10 50 0, Allreduce of two: 20 10 0, Barrier: 10 10 70.
    assert_eq!(ran.paths(segment), ["f 60 0", "MPI_Recv 90 60", "MPI_Allreduce* 30 30"]);
    assert_eq!((segment.imb_sync.sum, segment.wait_sync.sum), (60, 30));
    assert_eq!((segment.sum_imb.sum, segment.sum_wait.sum), (180, 90));
    assert_eq!(segment.diagnosis, Diagnosis::ImbalanceAndWaiting);
    assert_eq!(segments.projected.sum, 300 - 60 - 90);
    assert_eq!(segment.paths[1].max_at.0, 1);
    assert_eq!(segment.last_at.unwrap().0, 0);
}

#[test]
fn iterations_of_a_loop_are_one_segment() {
    let mut text = String::new();
    for rank in 0..2 {
        write!(text, "{rank}: enter main @0, enter MPI_Init @0, leave @5").unwrap();
        for i in 0..3 {
            let (start, work) = (5 + 20 * i, if i % 2 == rank { 8 } else { 16 });
            write!(
                text,
                ", enter work @{start}, leave @{}, enter MPI_Barrier @{}, leave @{}",
                start + work,
                start + work,
                start + 20
            )
            .unwrap();
        }
        writeln!(text, ", enter MPI_Finalize @65, leave @70, leave @70").unwrap();
    }
    let ran = ran(&text);
    let segments = ran.segments();
    let shape: Vec<(usize, usize, bool)> =
        segments.segments.iter().map(|s| (s.phases.len(), s.loops.len(), s.start_or_end)).collect();
    assert_eq!(shape, [(1, 0, true), (3, 1, false), (1, 0, true), (1, 0, true)]);
    let segment = &segments.segments[1];
    assert_eq!((segment.start.0, segment.end.0, segment.length.sum), (5, 65, 120));
    // Each iteration: 16 − 12; of the totals 8+16+8 and 16+8+16: 40 − 36.
    assert_eq!(ran.paths(segment), ["work 24 0"]);
    assert_eq!(segment.paths[0].total.unwrap().imbalance.sum, 8);
    let phases = segment.paths[0].per_phase(&ran.output.groups[0], segment);
    assert_eq!(
        phases.iter().map(|p| (p.phase, p.loss.imbalance.sum, p.max_at.0)).collect::<Vec<_>>(),
        [(1, 8, 1), (2, 8, 0), (3, 8, 1)]
    );
    assert_eq!((segment.imb_sync.sum, segment.wait_sync.sum), (24, 24));
    assert_eq!(segments.projected.sum, 140 - 24);
}

#[test]
fn without_regions_of_its_own_a_program_is_what_lies_outside() {
    let ran = ran("
        0: enter MPI_Init @0, leave @1, enter MPI_Barrier @41, leave @43, enter MPI_Finalize @43, leave @44
        1: enter MPI_Init @0, leave @1, enter MPI_Barrier @11, leave @43, enter MPI_Finalize @43, leave @44");
    let segments = ran.segments();
    assert_eq!(ran.paths(&segments.segments[1]), ["outside<self> 30 0"]);
    assert_eq!(segments.projected.sum, 88 - 30);
    assert_eq!(segments.segments[1].paths[0].call_path, CallPathTree::ROOT);
}

#[test]
fn work_before_the_end_is_a_loss() {
    let ran = ran("
        0: enter MPI_Init @0, leave @1, enter f @1, leave @41, enter MPI_Finalize @41, leave @44
        1: enter MPI_Init @0, leave @1, enter f @1, leave @11, enter MPI_Finalize @11, leave @44");
    let segments = ran.segments();
    assert!(!segments.segments[1].start_or_end && segments.segments[1].reported);
    assert_eq!(segments.projected.sum, 88 - 30);
}

#[test]
fn a_synchronisation_may_be_called_from_different_places() {
    let ran = ran("
        0: enter a @0, enter MPI_Barrier @10, leave @20, leave @20
        1: enter b @0, enter MPI_Barrier @16, leave @20, leave @20");
    let segment = &ran.segments().segments[0];
    assert_eq!((segment.imb_sync.sum, segment.wait_sync.sum), (6, 8));
}

/// A program of rounds: every rank works for its time, then all synchronise for `latency`.
fn bulk_synchronous(rounds: &[Vec<u64>], latency: u64) -> String {
    let n_ranks = rounds[0].len();
    let mut text = String::new();
    for rank in 0..n_ranks {
        let mut at = 0;
        write!(text, "{rank}: enter main @0").unwrap();
        for round in rounds {
            let end = at + round.iter().max().unwrap() + latency;
            let entered = at + round[rank];
            write!(
                text,
                ", enter work @{at}, leave @{entered}, enter MPI_Allreduce @{entered}, leave @{end}"
            )
            .unwrap();
            at = end;
        }
        writeln!(text, ", leave @{at}").unwrap();
    }
    text
}

#[test]
fn the_projected_run_time_is_that_of_the_balanced_program() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let (n_ranks, n_rounds) = (2 + rng.below(7), 1 + rng.below(12));
        let latency = rng.below(30);
        let round = |_| {
            let mut work: Vec<u64> = (0..n_ranks).map(|_| rng.below(5000)).collect();
            // So that the work can be shared out evenly in whole nanoseconds.
            work[0] += n_ranks - work.iter().sum::<u64>() % n_ranks;
            work
        };
        let rounds: Vec<Vec<u64>> = (0..n_rounds).map(round).collect();
        let balanced: Vec<Vec<u64>> =
            rounds.iter().map(|round| vec![round.iter().sum::<u64>() / n_ranks; n_ranks as usize]).collect();
        let faulty = ran(&bulk_synchronous(&rounds, latency)).segments();
        let fixed = ran(&bulk_synchronous(&balanced, latency)).segments();
        assert_eq!(faulty.projected.sum, u128::from(fixed.run_time.0) * u128::from(n_ranks), "seed {seed}");
        assert_eq!(fixed.projected.sum, u128::from(fixed.run_time.0) * u128::from(n_ranks));
    }
}

#[test]
fn output_through_one_rank_is_serialised() {
    // The paper's algorithm 4: rank 0 writes its part and receives and writes those of the others, one by one;
    // they send and come to the barrier.
    let (n_ranks, write, n_rounds) = (8_u64, 100_u64, 3_u64);
    let mut lines: Vec<String> = (0..n_ranks).map(|rank| format!("{rank}: enter main @0")).collect();
    for round in 0..n_rounds {
        let start = round * (n_ranks * write + 2);
        let end = start + n_ranks * write + 2;
        for rank in 0..n_ranks {
            let line = &mut lines[rank as usize];
            if rank == 0 {
                for part in 0..n_ranks {
                    let at = start + part * write;
                    write!(line, ", enter write @{at}, leave @{}", at + write).unwrap();
                }
                write!(line, ", enter MPI_Barrier @{}, leave @{end}", end - 2).unwrap();
            } else {
                let sent = start + rank * write;
                write!(
                    line,
                    ", enter MPI_Send @{start}, leave @{sent}, enter MPI_Barrier @{sent}, leave @{end}"
                )
                .unwrap();
            }
        }
    }
    let end = n_rounds * (n_ranks * write + 2);
    lines.iter_mut().for_each(|line| write!(line, ", leave @{end}").unwrap());
    let ran = ran(&lines.join("\n"));
    let segments = ran.segments();
    let segment = &segments.segments[0];
    assert_eq!(segment.phases.len() as u64, n_rounds);
    assert_eq!(ran.paths(segment).len(), 2, "write and MPI_Send");
    assert_eq!(segment.diagnosis, Diagnosis::ImbalanceAndWaiting);
    // All that is left is the writing, shared out, and the barrier's own time.
    let left = n_rounds * (n_ranks * write + 2 * n_ranks);
    assert_eq!(segments.projected.sum, u128::from(left));
    assert_eq!(segment.last_at.unwrap().0, 0);
}

#[test]
fn different_synchronisations_end_the_alignment() {
    let ran = ran("
        0: enter f @0, leave @8, enter MPI_Barrier @8, leave @10, enter g @10, leave @30, enter MPI_Allreduce @30, leave @40
        1: enter f @0, leave @2, enter MPI_Barrier @2, leave @10, enter g @10, leave @16, enter MPI_Alltoall @16, leave @40");
    let segments = ran.segments();
    assert!(matches!(segments.alignment, Alignment::UpTo { n_anchors: 1, .. }));
    assert_eq!(segments.segments.len(), 2);
    assert_eq!(ran.paths(&segments.segments[0]), ["f 6 0"]);
    assert_eq!(segments.segments[1].sync, None);
}

#[test]
fn the_projected_time_is_that_of_output_in_parallel() {
    for n_ranks in [64, 128, 512] {
        // Where an exchange itself takes time, that is waiting, too, and stays in the repaired run.
        let simulation = ouzel_testkit::SerialisedOutput { n_ranks, exchange: 0 };
        let ((serialised, run_time), (parallel, repaired)) =
            (simulation.through_rank_0(), simulation.in_parallel());
        let segments = ran_trace(&serialised).segments();
        assert_eq!(segments.run_time.0, run_time);
        assert_eq!(segments.projected.sum, u128::from(repaired) * n_ranks as u128, "{n_ranks} ranks");
        assert_eq!(segments.segments[0].diagnosis, Diagnosis::Serialised);
        let left = ran_trace(&parallel).segments();
        assert_eq!((left.run_time.0, left.projected.sum), (repaired, u128::from(repaired) * n_ranks as u128));
    }
}
