//! Segments, iterations and clusters, checked by eye.

use super::{threads_of, value};
use crate::Metric;
use crate::RegionOfInterest;
use crate::parts::{OwnLoop, OwnLoops, Part, cluster, iterations, iterations_of_longest_loop, segments};
use ouzel_analyses::phases::Phases;
use ouzel_model::{LocationId, TraceSource};
use ouzel_testkit::{ToyTrace, run};

/// Two ranks, three iterations of 100 in which one works 80 and the other 40, in turn; then 50 in which both work 50.
fn in_turn() -> ToyTrace {
    let rank = |rank: u64| {
        let mut text = format!("{rank}: enter main @0");
        for iteration in 0..3 {
            let at = iteration * 100;
            let works = if iteration % 2 == rank { 80 } else { 40 };
            let (reached, end) = (at + works, at + 100);
            text +=
                &format!(", enter step @{at}, leave @{reached}, enter MPI_Barrier @{reached}, leave @{end}");
        }
        text + ", leave @350"
    };
    ToyTrace::new(&format!("{}\n{}", rank(0), rank(1)))
}

fn triple(part: &Part) -> [Option<f64>; 3] {
    [Metric::Parallel, Metric::LoadBalance, Metric::Communication].map(|metric| part.get(metric))
}

#[test]
fn segments_see_an_imbalance_that_moves() {
    let trace = in_turn();
    let parts = segments(&run(&trace, Phases::default()), trace.definitions(), &|_| false).unwrap();
    let [body, end] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!((body.id, body.time.0, body.n_compared), (1, 300, 2));
    assert_eq!(body.call_path.iter().map(|name| &**name).collect::<Vec<_>>(), ["main", "MPI_Barrier"]);
    assert_eq!(triple(body), [0.6, 0.75, 0.8].map(Some));
    assert_eq!((end.id, end.time.0, triple(end)), (2, 50, [1.0, 1.0, 1.0].map(Some)));
    let whole = crate::RunEfficiency::new(&threads_of(&trace), Err(crate::Reason::new("no replay")));
    assert!(0.95 > whole.get(Metric::LoadBalance).unwrap(), "the run as a whole is 230/250 balanced");
}

#[test]
fn iterations_are_those_of_the_outermost_loops() {
    let trace = in_turn();
    let phases = run(&trace, Phases::default());
    let of = |own: &OwnLoops<'_>| iterations(&phases, trace.definitions(), &|_| false, own).unwrap();
    let parts = of(&|_| None);
    assert_eq!(
        parts.iter().map(|part| (part.in_loop, part.id)).collect::<Vec<_>>(),
        [(Some(0), 0), (Some(0), 1), (Some(0), 2)]
    );
    for part in &parts {
        assert_eq!((part.time.0, triple(part)), (100, [0.6, 0.75, 0.8].map(Some)));
    }
    let starts: Vec<u64> = parts.iter().filter_map(|part| part.start).map(|start| start.0).collect();
    assert_eq!(starts, [0, 100, 200]);
    // The loop of the program has two steps between synchronisations.
    let steps = of(&|ranges| {
        let of = ranges.iter().map(|range| (range.start.0 / 50, range.end.0 / 50 - 1)).collect();
        Some(OwnLoop { n_all: 6, of })
    });
    let own = |parts: &[Part]| -> Vec<(u64, u64)> {
        parts.iter().filter_map(|part| part.iterations).map(|it| (it.first, it.last)).collect()
    };
    assert_eq!((own(&parts), own(&steps)), (vec![(0, 0), (1, 1), (2, 2)], vec![(0, 1), (2, 3), (4, 5)]));
    assert_eq!([&parts, &steps].map(|of| iterations_of_longest_loop(of)), [Some(3), Some(6)]);
}

#[test]
fn runs_without_loops_and_incomplete_ranks_say_so() {
    let trace = ToyTrace::new("0: enter main @0, leave @10\n1: enter main @0, leave @10");
    let phases = run(&trace, Phases::default());
    assert!(iterations(&phases, trace.definitions(), &|_| false, &|_| None).is_err());
    let damaged = |location: LocationId| location == LocationId(1);
    assert!(segments(&phases, trace.definitions(), &damaged).is_err());
}

#[test]
fn what_is_useful_in_phases_is_what_is_useful_in_the_run() {
    let text = "
        0: enter main @0, enter MPI_Comm_rank @5, enter hook @6, leave @8, leave @10, enter sem_wait @20, enter spin @22, \
           leave @28, leave @30, enter !$omp implicit barrier @40, enter task @42, leave @48, leave @50, \
           enter MPI_Barrier @60, leave @70, leave @90
        1: enter MPI_Barrier @10, leave @70, enter work @80, leave @90";
    let trace = ToyTrace::new(text);
    let phases = run(&trace, Phases::default());
    let group = phases.main_group().expect("main threads");
    let in_phases: u64 = group.phases.iter().map(|phase| phase.useful.sum.0).sum();
    let in_run: u64 = threads_of(&trace).threads.iter().map(|thread| thread.useful.0).sum();
    assert_eq!(in_phases, in_run);
}

#[test]
fn clusters_are_compared_within_themselves() {
    let trace = in_turn();
    let threads = threads_of(&trace);
    let part = cluster(&threads, trace.definitions(), (3, "main_thread"), &[LocationId(1)]).unwrap();
    assert_eq!((part.id, part.ranks, part.n_compared, part.time.0), (3, vec![1], 1, 350));
    assert_eq!(value(&part.metrics, Metric::LoadBalance), Some(1.0));
    assert_eq!(cluster(&threads, trace.definitions(), (3, "main_thread"), &[]), None);
}

#[test]
fn the_region_of_interest_is_between_start_and_end() {
    let rank = |init: u64, works: u64| {
        let (start, stop) = (50 + init, 60 + works);
        format!(
            "enter main @0, enter MPI_Init @10, leave @{start}, enter work @60, leave @{stop}, enter MPI_Barrier @{stop}, \
             leave @160, enter MPI_Finalize @160, leave @200, leave @210"
        )
    };
    let text = format!("0: {}\n1: {}", rank(0, 100), rank(5, 50));
    let trace = ToyTrace::new(&text);
    let phases = run(&trace, Phases::default());
    let threads = threads_of(&trace);
    let interest = RegionOfInterest::new(&threads, phases.main_group().unwrap()).unwrap();
    assert_eq!((interest.range.start.0, interest.range.end.0), (50, 160));
    // Outside, each rank computes 10 before and 10 after; inside, 110 and 55.
    assert_eq!((interest.run.useful_sum, interest.run.useful_max.0), (165, 110));
    let part = interest.part();
    assert_eq!((part.time.0, triple(&part)), (110, [0.75, 0.75, 1.0].map(Some)));
    let whole = crate::RunEfficiency::new(&threads, Err(crate::Reason::new("no replay")));
    assert_eq!(whole.useful_sum, 165 + 40);
    let inside: u64 = phases.main_group().unwrap().program.iter().map(|it| it.useful_inside().0).sum();
    assert_eq!(inside, 165);
    // Without these calls there is none.
    let trace = in_turn();
    let phases = run(&trace, Phases::default());
    assert_eq!(RegionOfInterest::new(&threads_of(&trace), phases.main_group().unwrap()), None);
}
