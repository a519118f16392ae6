use super::*;
use ouzel_engine::{AnalysisSet, Folder};
use ouzel_model::{
    CallPathTree, Definitions, Filter, LocationId, LocationKind, Notices, RankSet, RegionId, Ticks,
    TraceSource, WorldRank,
};
use ouzel_testkit::{Rng, ToyEvent, ToyPayload, ToyTrace, laws, run, run_report};
use std::collections::BTreeMap;
use std::fmt::Write;

fn phases(text: &str) -> (PhasesOutput, Definitions, Vec<String>) {
    let trace = ToyTrace::new(text);
    let (output, report) = run_report(&trace, &Filter::default(), Phases::default());
    let notices = report.notices.iter().map(ToString::to_string).collect();
    (output, trace.definitions().clone(), notices)
}

/// Cells as `phase path visits sum/max@location/min inclusive, sum exclusive`.
fn cells(output: &PhasesOutput, definitions: &Definitions, group: usize) -> Vec<String> {
    let show = |cell: &Cell| {
        let names: Vec<&str> = output
            .call_paths
            .regions(cell.call_path)
            .into_iter()
            .map(|r| &*definitions.region(r).name)
            .collect();
        let name = if cell.call_path == CallPathTree::ROOT { "-".to_owned() } else { names.join("/") };
        let Stat { sum, max, max_at, min, .. } = cell.inclusive;
        format!(
            "{} {name}{} {} {}/{}@{}/{} {}",
            cell.phase,
            if cell.subset { "*" } else { "" },
            cell.n_visits,
            sum.0,
            max.0,
            max_at.0,
            min.0,
            cell.exclusive.sum.0
        )
    };
    output.groups[group].cells.iter().map(show).collect()
}

#[test]
fn calls_that_span_phases_give_each_its_part() {
    let (output, definitions, notices) = phases(
        "
        0: enter main @0, enter work @2, leave @8, enter MPI_Barrier @8, leave @20, enter work @20, leave @30, leave @34
        1: enter main @1, enter work @1, leave @19, enter MPI_Barrier @19, leave @20, leave @40",
    );
    let group = &output.groups[0];
    assert_eq!(notices, Vec::<String>::new());
    assert_eq!(group.alignment, Alignment::Complete);
    assert_eq!(group.phases.len(), 2);
    assert_eq!(
        (group.phases[0].start, group.phases[0].last_enter, group.phases[0].end),
        (Ticks(0), Ticks(19), Ticks(20))
    );
    assert_eq!((group.phases[1].start, group.phases[1].end), (Ticks(20), Ticks(40)));
    assert_eq!(
        cells(&output, &definitions, 0),
        [
            "0 - 0 39/20@0/19 0",
            "0 main 0 39/20@0/19 2",
            "0 main/work 2 24/18@1/6 24",
            "0 main/MPI_Barrier 2 13/12@0/1 13",
            "1 - 0 34/20@1/14 0",
            "1 main 2 34/20@1/14 24",
            "1 main/work 1 10/10@0/0 10",
        ]
    );
    let totals: Vec<u64> = group.totals.iter().map(|total| total.inclusive.max.0).collect();
    assert_eq!(totals, [39, 39, 18, 12]);
}

#[test]
fn peers_that_stay_away_count_as_zero_and_leave_no_trace_in_the_number() {
    let (output, definitions, _) = phases(
        "
        comm row = 1 2
        0: enter f @0, leave @9, enter MPI_Barrier @9, collective barrier @10, leave @10
        1: enter MPI_Barrier @0, collective barrier comm row @4, leave @4, enter MPI_Barrier @4, collective barrier @10, leave @10
        2: enter MPI_Barrier @1, collective barrier comm row @4, leave @4, enter MPI_Barrier @4, collective barrier @10, leave @10
        3: other @0, other @20",
    );
    assert_eq!(output.groups[0].locations.len(), 3, "a location without calls is no peer");
    assert_eq!(
        cells(&output, &definitions, 0),
        [
            "0 - 0 29/10@0/9 0",
            "0 f 1 9/9@0/0 9",
            "0 MPI_Barrier 3 13/6@1/1 13",
            "0 MPI_Barrier* 2 7/4@1/0 7",
            "1 - 0 0/0@0/0 0",
        ]
    );
    let busy: Vec<(u64, u64)> =
        output.groups[0].phases.iter().map(|phase| (phase.busy.sum.0, phase.busy.max.0)).collect();
    assert_eq!(busy, [(9, 9), (0, 0)]);
}

#[test]
fn what_is_called_inside_of_a_wait_is_part_of_it() {
    let (output, definitions, _) = phases(
        "
        0: enter MPI_Barrier @0, enter progress @2, enter MPI_Barrier @3, leave @4, leave @5, leave @8, enter f @8, leave @9
        1: enter MPI_Barrier @0, leave @8, enter f @8, leave @9",
    );
    assert_eq!(
        cells(&output, &definitions, 0),
        ["0 - 0 16/8@0/8 0", "0 MPI_Barrier 2 16/8@0/8 16", "1 - 0 2/1@0/1 0", "1 f 2 2/1@0/1 2"]
    );
}

#[test]
fn threads_synchronise_within_their_process() {
    let barrier = "enter omp_barrier @0, leave @5, enter f @5, leave @9";
    let n_phases =
        |text: &str| -> Vec<usize> { phases(text).0.groups.iter().map(|group| group.phases.len()).collect() };
    assert_eq!(n_phases(&format!("0: {barrier}")), [2], "one process");
    assert_eq!(n_phases(&format!("0: {barrier}\n0.1: {barrier}\n0.2: {barrier}")), [2, 2]);
    assert_eq!(n_phases(&format!("0: {barrier}\n1: {barrier}\n0.1: {barrier}")), [1, 2], "two processes");
}

#[test]
fn what_peers_do_not_have_in_common_is_one_phase() {
    let (output, definitions, notices) = phases(
        "
        0: enter MPI_Barrier @0, leave @4, enter f @4, leave @5, enter MPI_Barrier @5, leave @8, enter f @8, leave @18
        1: enter MPI_Barrier @1, leave @4, enter f @4, leave @16",
    );
    let group = &output.groups[0];
    let reason = Misalignment::DifferentCounts { fewest: (1, LocationId(1)), most: (2, LocationId(0)) };
    assert_eq!(group.alignment, Alignment::UpTo { n_anchors: 1, reason });
    // The greatest time in f is that of one member in all of the tail: 12, not 1 + 10 nor 12 + 10.
    assert_eq!(
        cells(&output, &definitions, 0),
        [
            "0 - 0 7/4@0/3 0",
            "0 MPI_Barrier 2 7/4@0/3 7",
            "1 - 0 26/14@0/12 0",
            "1 MPI_Barrier 1 3/3@0/0 3",
            "1 f 3 23/12@1/11 23",
        ]
    );
    assert_eq!(
        notices,
        [
            "the main threads have 1 synchronisations in common (\"1\" synchronises 1 times and \"0\" 2 times); the rest is one phase"
        ]
    );
}

/// Ranks that do the same up to a place of their own, and the work of each.
fn similar_ranks(rng: &mut Rng) -> String {
    let shared: Vec<u64> = (0..3 + rng.below(40)).map(|_| rng.below(3)).collect();
    let mut text = String::new();
    for rank in 0..2 + rng.below(5) {
        let n_shared = if rng.below(8) == 0 { rng.below(shared.len() as u64) as usize } else { shared.len() };
        let n_own = if rng.below(8) == 0 { rng.below(9) } else { 0 };
        let own: Vec<u64> = (0..n_own).map(|_| rng.below(3)).collect();
        let mut at = rng.below(5);
        write!(text, "{rank}: enter main @{at}").unwrap();
        for kind in shared[..n_shared].iter().chain(&own) {
            for work in ["f", "g"].iter().take(rng.below(3) as usize) {
                write!(text, ", enter {work} @{at}").unwrap();
                at += rng.below(50);
                write!(text, ", leave @{at}").unwrap();
            }
            let region = ["MPI_Barrier", "MPI_Allreduce", "MPI_Alltoall"][*kind as usize];
            write!(text, ", enter {region} @{at}").unwrap();
            at += rng.below(20);
            write!(text, ", leave @{at}").unwrap();
        }
        writeln!(text, ", leave @{at}").unwrap();
    }
    text
}

/// Phase and call path.
type Place = (u32, Vec<RegionId>);

/// Folds each location alone and merges in some order and grouping.
fn merged(trace: &ToyTrace, rng: &mut Rng) -> (Vec<u8>, PhasesOutput) {
    let mut set = AnalysisSet::default();
    let key = set.add(Phases::default());
    let set = set.prepare(trace.definitions(), &Filter::default());
    let fold = |location| {
        let mut folder = Folder::new(trace, &set);
        folder.fold(location, None);
        folder.into_partial()
    };
    let mut parts: Vec<_> = trace.definitions().location_ids().map(fold).collect();
    rng.shuffle(&mut parts);
    while 1 < parts.len() {
        let at = rng.below(parts.len() as u64 - 1) as usize;
        let right = parts.remove(at + 1);
        set.merge(&mut parts[at], right).unwrap();
    }
    let bytes = set.encode(parts.pop().unwrap()).unwrap();
    let whole = set.decode(&bytes).unwrap();
    let output = set.finish(whole, trace.definitions(), &Notices::default()).take(&key).unwrap();
    (bytes, output)
}

#[test]
fn any_order_of_merging_gives_the_same_and_what_is_cut_is_exact() {
    let mut n_cut = 0;
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let trace = ToyTrace::new(&similar_ranks(&mut rng));
        let (bytes, output) = merged(&trace, &mut rng);
        for _ in 0..3 {
            assert_eq!(merged(&trace, &mut rng).0, bytes, "seed {seed}");
        }
        let group = &output.groups[0];
        let last = group.phases.len() as u32 - 1;
        n_cut += u32::from(group.alignment != Alignment::Complete);
        // Each cell again, from each location alone.
        let mut expected: BTreeMap<Place, Vec<(u64, u64)>> = BTreeMap::new();
        for location in trace.definitions().location_ids() {
            let ranks = Some(RankSet::from_ranges(&[(location.0, location.0)]));
            let filter = Filter { ranks, ..Filter::default() };
            let (alone, _) = run_report(&trace, &filter, Phases::default());
            let mut own: BTreeMap<Place, (u64, u64)> = BTreeMap::new();
            for cell in &alone.groups[0].cells {
                let path = alone.call_paths.regions(cell.call_path);
                let sum = own.entry((cell.phase.min(last), path)).or_default();
                sum.0 += cell.inclusive.sum.0;
                sum.1 += cell.exclusive.sum.0;
            }
            own.into_iter().for_each(|(key, times)| expected.entry(key).or_default().push(times));
        }
        assert_eq!(group.cells.len(), expected.len(), "seed {seed}");
        for cell in &group.cells {
            let times = &expected[&(cell.phase, output.call_paths.regions(cell.call_path))];
            let check = |stat: &Stat, times: Vec<u64>| {
                let least =
                    if times.len() < group.locations.len() { Some(0) } else { times.iter().copied().min() };
                assert_eq!(stat.n_seen as usize, times.len());
                assert_eq!(stat.sum.0, times.iter().sum::<u64>());
                assert_eq!((Some(stat.max.0), Some(stat.min.0)), (times.iter().copied().max(), least));
            };
            check(&cell.inclusive, times.iter().map(|times| times.0).collect());
            check(&cell.exclusive, times.iter().map(|times| times.1).collect());
        }
    }
    assert!((30..120).contains(&n_cut), "{n_cut} of 150 are cut");
}

/// Anchors at (last enter, end) within a time range.
fn anchors_within(time_ns: (u64, u64)) -> Vec<(u64, u64)> {
    // Rank 1 leaves each barrier 3 later than the others and comes to it first.
    let trace = ToyTrace::new(
        "
        0: enter f @0, leave @20, enter MPI_Barrier @20, leave @30, enter f @30, leave @50, enter MPI_Barrier @50, leave @60, enter f @60, leave @70
        1: enter f @0, leave @10, enter MPI_Barrier @10, leave @33, enter f @33, leave @40, enter MPI_Barrier @40, leave @63, enter f @63, leave @70
        2: enter f @0, leave @20, enter MPI_Barrier @20, leave @30, enter f @30, leave @45, enter MPI_Barrier @45, leave @60, enter f @60, leave @70",
    );
    let filter = Filter { time_ns: Some(time_ns), ..Filter::default() };
    let (output, _) = run_report(&trace, &filter, Phases::default());
    let group = &output.groups[0];
    let anchors = group.phases.iter().filter(|phase| phase.anchor.is_some());
    anchors.map(|phase| (phase.last_enter.0, phase.end.0)).collect()
}

#[test]
fn a_time_range_that_begins_in_a_synchronisation_keeps_the_others_aligned() {
    assert_eq!(anchors_within((0, 70)), [(20, 33), (50, 63)]);
    assert_eq!(anchors_within((15, 70)), [(20, 33), (50, 63)], "one has come");
    assert_eq!(anchors_within((25, 70)), [(25, 33), (50, 63)], "all have come");
    assert_eq!(anchors_within((31, 70)), [(31, 33), (50, 63)], "two have left");
    assert_eq!(anchors_within((31, 61)), [(31, 33), (50, 61)], "two have left, and one stays at the end");
    assert_eq!(anchors_within((34, 70)), [(50, 63)], "all have left");
    assert_eq!(anchors_within((15, 55)), [(20, 33), (50, 55)]);
    assert_eq!(anchors_within((15, 47)), [(20, 33)], "not all come");
}

/// A rank with `n` barriers, each after `work` ticks.
fn many_barriers(trace: &mut ToyTrace, rank: u32, n: u64, work: u64) {
    let (f, barrier) = (trace.region("f"), trace.region("MPI_Barrier"));
    let mut events = Vec::new();
    for i in 0..n {
        let start = Ticks(i * 10);
        let mut push = |time, what| events.push(ToyEvent { time, what });
        push(start, ToyPayload::Enter(f));
        push(Ticks(start.0 + work), ToyPayload::Leave(f));
        push(Ticks(start.0 + work), ToyPayload::Enter(barrier));
        push(Ticks(start.0 + 10), ToyPayload::Leave(barrier));
    }
    trace.add_location(WorldRank(rank), &rank.to_string(), LocationKind::CpuThread, events);
}

#[test]
fn too_many_phases_are_put_together() {
    let n = 150_000;
    let mut trace = ToyTrace::empty();
    many_barriers(&mut trace, 0, n, 4);
    many_barriers(&mut trace, 1, n, 6);
    let output = run(&trace, Phases::default());
    let group = &output.groups[0];
    assert_eq!((group.phases_per_entry, group.alignment), (4, Alignment::Complete));
    assert_eq!(group.phases.len() as u64, n / 4 + 1);
    let f =
        group.cells_of(7).iter().find(|cell| cell.n_visits == 8 && cell.inclusive.max == Ticks(24)).unwrap();
    assert_eq!((f.inclusive.sum, f.inclusive.min), (Ticks(40), Ticks(16)));
    let in_anchor = group.phases[7].in_anchor.unwrap();
    assert_eq!((in_anchor.sum, in_anchor.max, in_anchor.min), (Ticks(40), Ticks(24), Ticks(16)));

    // One that ends early keeps finer entries; they are put together in the end, up to the last common border.
    many_barriers(&mut trace, 2, 50_000, 5);
    let output = run(&trace, Phases::default());
    let group = &output.groups[0];
    assert_eq!(group.phases_per_entry, 4);
    let Alignment::UpTo { n_anchors, .. } = group.alignment else { panic!("they differ") };
    assert!((43_000..=50_000).contains(&n_anchors), "{n_anchors}");
    let f =
        group.cells_of(7).iter().find(|cell| cell.n_visits == 12 && cell.inclusive.max == Ticks(24)).unwrap();
    assert_eq!((f.inclusive.sum, f.inclusive.min), (Ticks(60), Ticks(16)));
}

#[test]
fn laws_hold() {
    laws::check(Phases::default, |output| format!("{:?}", output.groups));
}
