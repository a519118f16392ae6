//! Trees and loops of whole traces.

use super::*;
use ouzel_analyses::call_path_profile::{CallPathProfile, ProfileOutput};
use ouzel_analyses::{By, Per};
use ouzel_model::{Definitions, RegionId, RegionRole, TraceSource};
use ouzel_testkit::{Faults, RandomTrace, Rng, ToyTrace, laws, run};
use std::collections::BTreeMap;
use std::fmt::Write;

fn clusters_of(trace: &ToyTrace) -> ContextTreesOutput {
    run(trace, ContextTrees::default())
}

/// A tree in one line: `name duration(children)`, loops as `loop×iterations[clusters]`.
fn describe(node: &Node, definitions: &Definitions) -> String {
    let mut text = format!("{} {}", node.id.name(definitions), node.duration());
    let list = |nodes: &mut dyn Iterator<Item = &Node>| {
        nodes.map(|node| describe(node, definitions)).collect::<Vec<_>>().join(", ")
    };
    match &node.body {
        Body::Call { children, .. } if children.is_empty() => {}
        Body::Call { children, .. } => write!(text, "({})", list(&mut children.iter())).unwrap(),
        Body::Loop(body) => {
            let clusters = list(&mut body.clusters.iter().map(|cluster| &cluster.tree));
            write!(text, "×{}[{clusters}]", body.n_iterations()).unwrap();
        }
        Body::Profile { children, .. } => write!(text, "{{{}}}", list(&mut children.iter())).unwrap(),
    }
    text
}

fn tree_of(trace: &ToyTrace) -> String {
    let output = clusters_of(trace);
    describe(&output.groups[0].clusters[0].tree, trace.definitions())
}

/// One rank, with `body` from a time on giving `enter NAME @t, leave @t` until the time it returns.
fn one_rank(calls: &[(&str, u64, u64)]) -> ToyTrace {
    let mut text = String::from("0: enter main @0");
    let mut time = 0;
    for (name, gap, duration) in calls {
        let start = time + gap;
        time = start + duration;
        write!(text, ", enter {name} @{start}, leave @{time}").unwrap();
    }
    write!(text, ", leave @{}", time + 1).unwrap();
    ToyTrace::new(&text)
}

#[test]
fn a_tree_is_what_ran_inside_what() {
    let trace = ToyTrace::new(
        "0: enter main @10, enter a @12, enter b @13, leave @15, leave @16, enter a @20, leave @30, leave @31",
    );
    assert_eq!(tree_of(&trace), "execution 21(main 21(a 4(b 2), a 10))");
}

#[test]
fn the_length_of_loops_inside_of_unlike_iterations_is_an_estimate() {
    let inner = |n_of: fn(usize) -> usize| {
        let mut calls = Vec::new();
        for i in 0..6 {
            calls.push(("a", 0, 1000));
            calls.extend(vec![("x", 0, 1); n_of(i)]);
            calls.push(("MPI_Barrier", 0, 1));
        }
        let output = clusters_of(&one_rank(&calls));
        let loops = &output.groups[0].loops;
        let outer = loops.iter().find(|of| !of.is_nested).expect("the outer loop is found");
        assert_eq!((outer.accepted, outer.is_estimate), (6, false));
        let nested = loops.iter().find(|of| of.is_nested).expect("the inner loop is found");
        (nested.accepted, nested.is_estimate)
    };
    assert_eq!(inner(|_| 4), (24, false));
    // The average of loops is as long as the longest.
    assert_eq!(inner(|i| 4 + i % 2), (30, true));
}

#[test]
fn loops_of_three_and_of_many_iterations_are_found_alike() {
    for n in [3, 7, 8, 9, 50] {
        let mut calls = vec![("init", 2, 5)];
        for _ in 0..n {
            calls.extend([("a", 1, 10), ("b", 1, 20)]);
        }
        calls.push(("end", 3, 4));
        let trace = one_rank(&calls);
        let whole = 7 + 32 * n + 7 + 1;
        let expected = format!(
            "execution {whole}(main {whole}(init 5, loop~a {}×{n}[iteration 32(a 10, b 20)], end 4))",
            32 * n
        );
        assert_eq!(tree_of(&trace), expected);
        let group = &clusters_of(&trace).groups[0];
        let [summary] = &group.loops[..] else { panic!("{:?}", group.loops) };
        assert_eq!((summary.accepted, summary.rejected, summary.n_clusters), (n, 0, 1));
        assert_eq!((summary.source, summary.is_nested), (LoopSource::TandemRepeat, false));
        let rows = &summary.instances[0].iterations;
        let times: Vec<_> = rows.iter().map(|row| (row.index, row.start.0, row.end.0, row.cluster)).collect();
        let expected: Vec<_> = (0..n).map(|i| (i, 7 + 32 * i, 7 + 32 * (i + 1), 0)).collect();
        assert_eq!(times, expected);
    }
}

#[test]
fn a_loop_knows_what_is_called_right_after_it() {
    // The first call of `step` has no reduction, so iterations are from `solve` to the end of the next reduction.
    let mut calls = vec![("step", 1, 1)];
    for _ in 0..5 {
        calls.extend([("solve", 1, 10), ("MPI_Allreduce", 1, 3)]);
    }
    let loops = |calls: &[(&str, u64, u64)]| {
        let trace = one_rank(calls);
        let names = |regions: &mut dyn Iterator<Item = &RegionId>| {
            regions.map(|it| trace.definitions().region(*it).name.to_string()).collect::<Vec<_>>()
        };
        let loops = &clusters_of(&trace).groups[0].loops;
        let described = loops
            .iter()
            .map(|of| (of.accepted, names(&mut of.called.iter()), names(&mut of.followed_by.iter())));
        described.collect::<Vec<_>>()
    };
    let after = |last: &[(&'static str, u64, u64)]| loops(&[&calls[..], last].concat());
    let called = || vec!["solve".to_owned(), "MPI_Allreduce".to_owned()];
    assert_eq!(after(&[("solve", 1, 9), ("MPI_Reduce", 1, 2)]), [(5, called(), vec!["solve".to_owned()])]);
    assert_eq!(after(&[("output", 1, 9), ("MPI_Reduce", 1, 2)]), [(5, called(), vec!["output".to_owned()])]);
    // A loop that comes again says nothing: what follows may follow either.
    let other = [("output", 1, 9), ("MPI_Barrier", 1, 3)].repeat(5);
    let again = [&other, &calls[1..], &[("solve", 1, 9), ("MPI_Reduce", 1, 2)]].concat();
    let both = after(&again).into_iter().filter(|of| of.1 == called());
    assert_eq!(both.collect::<Vec<_>>(), [(5, called(), vec![]), (5, called(), vec![])]);
}

/// Every loop as `call path | name | loops around | accepted | nested`.
fn loops_of(trace: &ToyTrace) -> Vec<String> {
    let definitions = trace.definitions();
    let region = |id: &RegionId| definitions.region(*id).name.to_string();
    let describe = |found: &LoopSummary| {
        let path = found.call_path().iter().map(region).collect::<Vec<_>>().join(" › ");
        let around: Vec<String> = found.inside_of().map(|id| id.name(definitions)).collect();
        let name = found.path.last().unwrap().name(definitions);
        format!("{path} | {name} | {} | {} | {}", around.join(" "), found.accepted, found.is_nested)
    };
    clusters_of(trace).groups[0].loops.iter().map(describe).collect()
}

#[test]
fn a_region_marked_as_a_loop_is_the_loop() {
    for (n_outer, n_inner) in [(3, 3), (12, 4), (4, 20)] {
        let mut text = String::from("0: enter main @0, enter steps @0");
        let mut time = 0;
        for _ in 0..n_outer {
            write!(text, ", enter begin @{time}, leave @{}, enter inner @{}", time + 7, time + 7).unwrap();
            time += 7;
            for _ in 0..n_inner {
                write!(text, ", enter work @{time}, leave @{}", time + 10).unwrap();
                time += 10;
            }
            write!(text, ", leave @{time}").unwrap();
        }
        write!(text, ", leave @{time}, leave @{time}").unwrap();
        let mut trace = ToyTrace::new(&text);
        let unmarked = [
            format!("main › steps | loop~begin |  | {n_outer} | false"),
            format!("main › steps › inner | loop~work | loop~begin | {} | true", n_outer * n_inner),
        ];
        assert_eq!(loops_of(&trace), unmarked);
        for name in ["steps", "inner"] {
            let region = trace.region(name);
            trace.definitions_mut().regions[region.index()].role = RegionRole::Loop;
        }
        let marked = [
            format!("main › steps | steps |  | {n_outer} | false"),
            format!("main › steps › inner | inner | loop~begin | {} | true", n_outer * n_inner),
        ];
        let found = loops_of(&trace);
        assert_eq!(found, marked.map(|line| line.replace("loop~begin", "")), "no level below a marked loop");
        assert!(clusters_of(&trace).groups[0].loops.iter().all(|l| l.source == LoopSource::Marked));
    }
}

#[test]
fn what_is_beside_the_iterations_of_a_marked_loop_is_inside_of_it() {
    let mut text = String::from("0: enter steps @0, enter inner @0");
    let mut time = 0;
    let mut works = |text: &mut String| {
        for _ in 0..4 {
            write!(text, ", enter work @{time}, leave @{}", time + 10).unwrap();
            time += 10;
        }
        time
    };
    let now = works(&mut text);
    write!(text, ", leave @{now}").unwrap();
    let mut now = now;
    for _ in 0..5 {
        write!(text, ", enter begin @{now}, leave @{}", now + 3).unwrap();
        now += 3;
    }
    write!(text, ", leave @{now}").unwrap();
    let mut trace = ToyTrace::new(&text);
    for name in ["steps", "inner"] {
        let region = trace.region(name);
        trace.definitions_mut().regions[region.index()].role = RegionRole::Loop;
    }
    let expected = ["steps | steps |  | 5 | false", "steps › inner | inner |  | 4 | true"];
    assert_eq!(loops_of(&trace), expected);
}

#[test]
fn a_slow_iteration_is_a_cluster_of_its_own() {
    for n in [5, 40] {
        let calls: Vec<_> = (0..n).map(|i| ("a", 0, if i == 3 { 100 } else { 10 })).collect();
        let group = &clusters_of(&one_rank(&calls)).groups[0];
        let rows = &group.loops[0].instances[0].iterations;
        let slow: Vec<u64> = rows.iter().filter(|row| row.cluster == 1).map(|row| row.index).collect();
        assert_eq!((slow, group.loops[0].n_clusters), (vec![3], 2));
    }
}

#[test]
fn loops_nest_and_are_counted() {
    for (n_outer, n_inner) in [(4, 3), (4, 20), (20, 4), (20, 20)] {
        let mut calls = Vec::new();
        for _ in 0..n_outer {
            calls.push(("begin", 0, 7));
            calls.extend(std::iter::repeat_n(("inner", 0, 10), n_inner as usize));
        }
        let group = &clusters_of(&one_rank(&calls)).groups[0];
        let seen: Vec<_> = group
            .loops
            .iter()
            .map(|l| (l.is_nested, l.path.len(), l.accepted, l.n_clusters, l.instances.len()))
            .collect();
        assert_eq!(
            seen,
            [(false, 2, n_outer, 1, 1), (true, 3, n_outer * n_inner, 1, 0)],
            "{n_outer} {n_inner}"
        );
    }
}

#[test]
fn ranks_that_do_different_things_between_barriers_have_the_same_loop() {
    let iteration = |rank: u64, i: u64| {
        let start = 100 * i;
        let mut text = String::new();
        for k in 0..if rank == 0 { 7 } else { 1 } {
            let name = if rank == 0 { "MPI_Recv" } else { "MPI_Send" };
            write!(text, "enter {name} @{}, leave @{}, ", start + 10 * k, start + 10 * k + 5).unwrap();
        }
        write!(text, "enter MPI_Barrier @{}, leave @{}, ", start + 90, start + 100).unwrap();
        text
    };
    for n in [4, 30] {
        let line = |rank| {
            let calls: String = (0..n).map(|i| iteration(rank, i)).collect();
            format!("{rank}: enter main @0, {calls}leave @{}\n", 100 * n)
        };
        let trace = ToyTrace::new(&(0..4).map(line).collect::<String>());
        let group = &clusters_of(&trace).groups[0];
        let members: Vec<Vec<u32>> =
            group.clusters.iter().map(|c| c.members.iter().map(|m| m.0).collect()).collect();
        assert_eq!(members, [vec![0], vec![1, 2, 3]]);
        let outer: Vec<_> = group.loops.iter().filter(|l| !l.is_nested).collect();
        assert_eq!(outer.len(), 1);
        assert_eq!((outer[0].accepted, outer[0].instances.len()), (n, 2));
    }
}

#[test]
fn what_precedes_the_first_iteration_is_not_part_of_it() {
    let mut calls = vec![("init", 50, 5), ("read", 0, 9)];
    for _ in 0..10 {
        calls.extend([("work", 1, 10), ("MPI_Barrier", 0, 2)]);
    }
    let trace = one_rank(&calls);
    assert_eq!(
        tree_of(&trace),
        "execution 195(main 195(init 5, read 9, loop~MPI_Barrier 130×10[iteration 13(work 10, MPI_Barrier 2)]))"
    );
}

/// Exclusive time by region, in ticks.
fn exclusive_times(profile: &ProfileOutput, definitions: &Definitions) -> BTreeMap<RegionId, f64> {
    let mut times = BTreeMap::new();
    for row in profile.rows(definitions, By::Region, Per::Total) {
        let region = row.key.region;
        times.insert(region, row.times.exclusive.0 as f64);
    }
    times
}

fn check_sums(trace: &ToyTrace) {
    let definitions = trace.definitions();
    let trees = run(trace, ContextTrees::default());
    let expected = exclusive_times(&run(trace, CallPathProfile), definitions);
    let mut found = flat_profile::FlatProfile::default();
    for cluster in trees.groups.iter().flat_map(|group| &group.clusters) {
        found.add_tree(&cluster.tree, cluster.members.len() as f64);
    }
    let found: BTreeMap<_, _> = found.regions().map(|(region, time, _)| (region, time)).collect();
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (region, time) in expected {
        let found = found[&region];
        assert!((time - found).abs() <= 1e-9 * (1.0 + time), "{found} instead of {time}");
    }
}

#[test]
fn sums_are_those_of_the_profile() {
    for seed in 0..30 {
        let recipe = RandomTrace { seed, n_locations: 5, n_events: 600, faults: Faults::None };
        check_sums(&recipe.build());
    }
}

/// A trace of random loops of random bodies, some of them long.
fn loops_in_loops(seed: u64, n_calls: usize) -> ToyTrace {
    let mut text = String::new();
    for rank in 0..3 {
        let mut rng = Rng::new(seed * 3 + rank);
        let mut time = 0;
        write!(text, "{rank}: enter main @0").unwrap();
        let mut n = 0;
        while n < n_calls {
            let body: Vec<u64> = (0..1 + rng.below(5)).map(|_| rng.below(7)).collect();
            for _ in 0..1 + rng.below(40) {
                for &call in &body {
                    call_of(call, &mut rng, &mut time, &mut text);
                }
                n += body.len();
            }
        }
        writeln!(text, ", leave @{}", time + 3).unwrap();
    }
    ToyTrace::new(&text)
}

/// One call, with a short loop inside if it is `d`.
fn call_of(call: u64, rng: &mut Rng, time: &mut u64, text: &mut String) {
    *time += rng.below(3);
    let name = ["a", "b", "c", "MPI_Barrier", "d", "MPI_Send", "e"][call as usize];
    write!(text, ", enter {name} @{time}").unwrap();
    for _ in 0..if name == "d" { rng.below(12) } else { 0 } {
        write!(text, ", enter f @{time}, leave @{}", *time + 2).unwrap();
        *time += 2;
    }
    *time += rng.below(9);
    write!(text, ", leave @{time}").unwrap();
}

#[test]
fn loops_keep_the_sums() {
    for seed in 0..20 {
        check_sums(&loops_in_loops(seed, 1500));
    }
}

/// Two ranks that poll, a random number of times in every iteration, calling this or that.
fn polling(n: u64) -> ToyTrace {
    let mut text = String::new();
    for rank in 0..2 {
        let mut rng = Rng::new(rank);
        let mut time = 0;
        write!(text, "{rank}: enter main @0").unwrap();
        for _ in 0..n {
            for _ in 0..3 + rng.below(9) {
                let name = ["MPI_Test", "MPI_Iprobe", "yield", "look"][rng.below(4) as usize];
                write!(text, ", enter {name} @{time}, leave @{}", time + 9).unwrap();
                time += 10;
            }
            write!(text, ", enter MPI_Barrier @{time}, leave @{}", time + 50).unwrap();
            time += 50;
        }
        writeln!(text, ", leave @{}", time + 3).unwrap();
    }
    ToyTrace::new(&text)
}

#[test]
fn iterations_that_are_all_unlike_become_sums_by_region() {
    let trace = polling(2_500);
    check_sums(&trace);
    let group = &clusters_of(&trace).groups[0];
    let summary = &group.loops[0];
    assert_eq!((summary.accepted, summary.rejected), (2_500, 0));
    let n_nodes = group.clusters[0].tree.n_nodes();
    assert!(n_nodes < 200, "{n_nodes} nodes");
}

#[test]
fn what_does_not_repeat_is_folded_and_keeps_the_sums() {
    let mut rng = Rng::new(7);
    let mut text = String::from("0: enter main @0");
    let mut time = 0;
    for _ in 0..60_000 {
        time += rng.below(5);
        write!(text, ", enter r{} @{time}", rng.below(200)).unwrap();
        if rng.below(3) == 0 {
            write!(text, ", enter r{} @{}, leave @{}", rng.below(200), time + 1, time + 3).unwrap();
            time += 3;
        }
        time += rng.below(50);
        write!(text, ", leave @{time}").unwrap();
    }
    write!(text, ", leave @{}", time + 1).unwrap();
    let trace = ToyTrace::new(&text);
    check_sums(&trace);
    let tree = &clusters_of(&trace).groups[0].clusters[0].tree;
    assert!(tree.n_nodes() < 10_000, "{} nodes", tree.n_nodes());
    assert_eq!(tree.children()[0].children()[0].id, StaticId::Folded);
}

#[test]
fn deep_recursion_is_cut_and_keeps_the_sums() {
    let depth = 5_000;
    let mut text = String::from("0: ");
    for i in 0..depth {
        write!(text, "enter r{} @{}, ", i % 3, i).unwrap();
    }
    for i in 0..depth {
        write!(text, "leave @{}, ", depth + 2 * i).unwrap();
    }
    check_sums(&ToyTrace::new(&text));
}

#[test]
fn a_loop_of_very_many_iterations_is_a_profile() {
    let n = 70_000;
    let calls: Vec<_> = (0..n).map(|_| ("a", 1, 2)).collect();
    let trace = one_rank(&calls);
    check_sums(&trace);
    let group = &clusters_of(&trace).groups[0];
    let summary = &group.loops[0];
    assert_eq!((summary.accepted, summary.rejected), (0, n));
    let instance = &summary.instances[0];
    assert_eq!((instance.n_iterations, instance.iterations_per_row), (n, 32));
    let body = group.clusters[0].tree.children()[0].children()[0].as_loop().unwrap();
    assert_eq!((body.gap, body.profiles.len()), (n as f64, 1));
}

#[test]
fn laws_hold() {
    laws::check(ContextTrees::default, |output| format!("{output:?}"));
}

#[test]
fn partials_of_loops_do_not_know_the_order() {
    let trace = loops_in_loops(3, 900);
    let expected = format!("{:?}", clusters_of(&trace));
    for chunk in [1, 13, 4096] {
        assert_eq!(format!("{:?}", clusters_of(&trace.clone().with_chunk_events(chunk))), expected);
    }
}
