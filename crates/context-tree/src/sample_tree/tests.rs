//! Figures 3 to 6 of the paper by the stored values, and laws of trees from samples.

use super::builder::{MAX_DEPTH, SamplePath, SampleTreeBuilder};
use super::evidence::Evidence;
use super::found_loops::find_loops;
use super::iterations::{learn_flows, verdict};
use super::relative::{LoopRules, RelativeTree};
use super::*;
use crate::align::LookAhead;
use crate::control_flow::{Acceptance, ControlFlow, ControlFlows, decide};
use crate::merger::{Merger, Over};
use crate::node::{Body, LoopSource};
use ouzel_model::{Lca, RegionId};
use ouzel_testkit::{Rng, golden};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Names as the paper writes them: `main`, `foo@13`, `loop@6`.
#[derive(Default)]
struct Names(Vec<String>);

impl Names {
    fn id(&mut self, name: &str) -> StaticId {
        let (text, line) = name.split_once('@').unwrap_or((name, ""));
        let at = self.0.iter().position(|known| known == text).unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        });
        let region = RegionId::from_index(at);
        match line.parse() {
            Ok(line) if text == "loop" => StaticId::SourceLoop { region, line },
            Ok(line) => StaticId::CallSite { region, line },
            Err(_) => StaticId::Region(region),
        }
    }

    fn name(&self, id: StaticId) -> String {
        match id {
            StaticId::Root => "<root>".to_owned(),
            StaticId::Region(region) => self.0[region.index()].clone(),
            StaticId::CallSite { region, line } | StaticId::SourceLoop { region, line } => {
                format!("{}@{line}", self.0[region.index()])
            }
            other => format!("{other:?}"),
        }
    }

    fn kind(id: StaticId) -> &'static str {
        match id {
            StaticId::Root => "root",
            StaticId::Iteration => "iter",
            id if is_loop(id) => "loop",
            _ => "call",
        }
    }

    fn profile(&self, node: &Node) -> Value {
        let Body::Profile { self_time, children, .. } = &node.body else { panic!("{node:?}") };
        let mut value = json!({
            "kind": "profile", "id": self.name(node.id), "dur": node.duration() as u64, "self": *self_time as u64,
        });
        if !children.is_empty() {
            value["children"] = children.iter().map(|child| self.profile(child)).collect();
        }
        value
    }

    /// The tree of a node as the stored values have it; loops with iterations if `cut` says what these are.
    fn tree(&self, nodes: &[SampledNode], cut: Option<(&ControlFlows, Acceptance)>) -> Value {
        let node = &nodes[0];
        let of_all = |nodes: &[SampledNode]| neighbours(nodes).map(|nodes| self.tree(nodes, cut)).collect();
        let mut children: Vec<Value> = Vec::new();
        match cut.and_then(|(flows, acceptance)| Some((flows.0.get(&node.id)?, acceptance))) {
            None => children = of_all(&nodes[1..]),
            Some((flow, acceptance)) => {
                let profile_of_one = |nodes: &[SampledNode]| {
                    let mut profile = Node::no_instance(nodes[0].id);
                    add_instance(&mut nodes.to_vec(), &mut profile);
                    profile
                };
                let Some(verdict) = verdict(nodes, flow, acceptance) else {
                    return self.profile(&profile_of_one(nodes));
                };
                let calls: Vec<&[SampledNode]> = neighbours(&nodes[1..]).collect();
                let mut profiles = Vec::new();
                for iteration in verdict.iterations {
                    let calls = &calls[iteration.children];
                    if iteration.is_accepted {
                        let (start, end) = (calls[0][0].first.0, calls[calls.len() - 1][0].end.0);
                        let inside = of_all(&calls.concat());
                        let id = format!("iter#{}", children.len());
                        children.push(json!({
                            "id": id, "kind": "iter", "start": start, "end": end, "children": inside,
                        }));
                    } else {
                        calls.iter().for_each(|nodes| add_profile(&mut profiles, profile_of_one(nodes)));
                    }
                }
                children.extend(profiles.iter().map(|profile| self.profile(profile)));
            }
        }
        let (first, last) = (node.first.0, node.last.0);
        let mut value =
            json!({ "first": first, "last": last, "id": self.name(node.id), "kind": Names::kind(node.id) });
        if !children.is_empty() {
            value["children"] = children.into();
        }
        value
    }

    /// What becomes of each instance of a loop, in the order of their ends, inner before outer.
    fn reports(&self, nodes: &[SampledNode], flows: &ControlFlows, acceptance: Acceptance) -> Vec<Value> {
        let node = &nodes[0];
        let inside = neighbours(&nodes[1..]);
        let mut reports: Vec<Value> =
            inside.clone().flat_map(|nodes| self.reports(nodes, flows, acceptance)).collect();
        if let Some(flow) = flows.0.get(&node.id) {
            let tags = flow.tag(inside.clone().map(|child| child[0].id)).tags;
            let durations: Vec<Ticks> = inside.map(|child| child[0].duration()).collect();
            let verdict = decide(&tags, &durations, &|_| false, node.duration(), acceptance);
            reports.push(json!({
                "loop": self.name(node.id), "start": node.first.0, "end": node.end.0, "tags": tags,
                "accepted": verdict.n_accepted, "rejected": verdict.n_rejected,
                "rejected_dur": verdict.rejected.0, "became_profile": verdict.becomes_profile,
            }));
        }
        reports
    }
}

/// The tree with iterations, in relative form.
pub(super) fn relative(tree: SampledTree, flows: &ControlFlows, merger: &Merger<'_>) -> Node {
    let rules = LoopRules {
        flows,
        acceptance: Acceptance::sampled(tree.period),
        evidence: &Evidence::none(),
        known_by: &|_| LoopSource::Marked,
        merger,
    };
    let RelativeTree { tree, duration, .. } = RelativeTree::new(tree.nodes, rules);
    assert!((tree.duration() - duration).abs() < 1e-6);
    tree
}

/// Samples as `(time, path, what stayed)`.
fn built(samples: &[(u64, Vec<StaticId>, Lca)]) -> SampledTree {
    let mut builder = SampleTreeBuilder::default();
    let mut before = [].as_slice();
    for (time, path, lca) in samples {
        builder.push(Ticks(*time), sample_path(&mut before, path), *lca);
    }
    builder.finish().unwrap()
}

/// The path of a sample, which takes the place of the one before.
pub(super) fn sample_path<'p>(before: &mut &'p [StaticId], path: &'p [StaticId]) -> SamplePath<'p> {
    let kept = &path[..path.len().min(MAX_DEPTH)];
    let common = std::mem::replace(before, kept).iter().zip(kept).take_while(|(a, b)| a == b).count();
    SamplePath { common, beyond: &kept[common..], is_cut: kept.len() < path.len() }
}

struct Fig2 {
    names: Names,
    golden: Value,
    samples: Vec<(u64, Vec<StaticId>, Lca)>,
    flows: ControlFlows,
}

fn fig2() -> Fig2 {
    let golden = golden("tct_fig2");
    let in_order = |value: &Value| value.as_array().cloned().unwrap_or_default().into_iter();
    let mut all: Vec<String> = in_order(&golden["input"]["samples"])
        .flat_map(|sample| in_order(&sample["path"]))
        .filter_map(|name| Some(name.as_str()?.to_owned()))
        .collect();
    all.sort_unstable();
    // Profiles are in order of ids, in the golden data of names.
    let mut names = Names::default();
    for name in &all {
        names.id(name);
    }
    let sample = |sample: &Value| {
        let path = sample["path"].as_array().unwrap();
        let path = path.iter().map(|name| names.id(name.as_str().unwrap())).collect();
        let lca = sample["lca"].as_u64().map_or(Lca::Unknown, |kept| Lca::Exact(kept as u32));
        (sample["t"].as_u64().unwrap(), path, lca)
    };
    let samples = golden["input"]["samples"].as_array().unwrap().iter().map(sample).collect();
    let mut flows = BTreeMap::new();
    for (name, edges) in golden["input"]["cfg"].as_object().unwrap() {
        let mut vertex = |value: &Value| match value.as_str().unwrap() {
            "entry" => None,
            name => Some(names.id(name)),
        };
        let mut edge = |edge: &Value| (vertex(&edge[0]), vertex(&edge[1]).unwrap());
        let edges: Vec<_> = edges.as_array().unwrap().iter().map(&mut edge).collect();
        flows.insert(names.id(name), ControlFlow::from_edges(&edges, LoopSource::Binary));
    }
    Fig2 { names, golden, samples, flows: ControlFlows(flows) }
}

fn successors(names: &mut Names, flow: &ControlFlow) -> Value {
    let mut all = serde_json::Map::new();
    for before in flow.vertices().iter().copied().map(Some).chain([None]) {
        let name = before.map_or("entry".to_owned(), |id| names.name(id));
        let mut after: Vec<String> = flow.successors(before).into_iter().map(|id| names.name(id)).collect();
        after.sort_unstable();
        all.insert(name, json!(after));
    }
    Value::Object(all)
}

#[test]
fn the_tree_of_figure_4_comes_out() {
    let Fig2 { names, golden, samples, .. } = fig2();
    let tree = built(&samples);
    assert_eq!(names.tree(&tree.nodes, None), golden["expected"]["tree"]);
    assert_eq!((tree.period, tree.quality, tree.n_inconsistent), (Ticks(10), LcaQuality::Exact, 0));
    assert_eq!((tree.nodes[0].first, tree.nodes[0].end, tree.n_samples), (Ticks(10), Ticks(90), 8));
    let without: Vec<_> = samples.into_iter().map(|(time, path, _)| (time, path, Lca::Unknown)).collect();
    let tree = built(&without);
    assert_eq!(names.tree(&tree.nodes, None), golden["expected"]["tree_without_lca"]);
    assert_eq!(tree.quality, LcaQuality::Inferred);
}

#[test]
fn the_iterations_of_figure_6_come_out() {
    let Fig2 { mut names, golden, samples, flows } = fig2();
    let expected = &golden["expected"];
    let body = names.id("loop@6");
    assert_eq!(successors(&mut names, &flows.0[&body]), expected["successors"]);
    let all = Acceptance { n_children: 1, duration: Ticks(1) };
    let defaults = Acceptance::sampled(Ticks(golden["input"]["period"].as_u64().unwrap()));
    for (acceptance, tree, report) in
        [(all, "tree_accept_1_1", "report_accept_1_1"), (defaults, "tree_defaults", "report_defaults")]
    {
        let built = built(&samples);
        let reports = names.reports(&built.nodes, &flows, acceptance);
        assert_eq!(names.tree(&built.nodes, Some((&flows, acceptance))), expected[tree]);
        assert_eq!(json!(reports), expected[report]);
        assert_eq!(reports[0]["tags"], expected["tags"]);
    }
    assert_eq!(golden["published"]["iterations"], 3);
    let tree = built(&samples);
    let learned = learn_flows(&tree.nodes, LoopSource::LearnedSampled);
    // The stored order knows no lines: B and C are in no iteration together.
    let mut by_line = expected["learned_successors"].clone();
    by_line["B@8"] = json!(["C@9"]);
    assert_eq!(successors(&mut names, &learned.0[&body]), by_line);
    assert_eq!(learned.0[&body].source(), LoopSource::LearnedSampled);
}

#[test]
fn without_what_stayed_an_iteration_is_lost() {
    let Fig2 { names, samples, flows, .. } = fig2();
    let without: Vec<_> = samples.into_iter().map(|(time, path, _)| (time, path, Lca::Unknown)).collect();
    let tree = built(&without);
    let accepts_all = Acceptance { n_children: 1, duration: Ticks(0) };
    assert_eq!(names.reports(&tree.nodes, &flows, accepts_all)[0]["accepted"], 2);
}

fn call(region: u32) -> StaticId {
    StaticId::Region(RegionId(region))
}

fn looped(line: u32) -> StaticId {
    StaticId::SourceLoop { region: RegionId(99), line }
}

/// Instances of `id` below the outermost frame, as `first-last` with what they rest on.
fn instances(samples: &[(u64, Vec<StaticId>, Lca)], id: StaticId) -> Vec<(u64, u64, LcaQuality)> {
    let nodes = built(samples).nodes;
    let found = nodes.iter().filter(|node| node.id == id);
    let mut found: Vec<_> = found.map(|node| (node.first.0, node.last.0, node.continuity)).collect();
    found.sort_unstable();
    found
}

#[test]
fn a_bound_rules_continuity_out_and_never_in() {
    use LcaQuality::{Exact, Inferred, UpperBound};
    let two = |lca| vec![(10, vec![call(0), call(1)], Lca::Unknown), (20, vec![call(0), call(1)], lca)];
    assert_eq!(instances(&two(Lca::Exact(2)), call(1)), [(10, 20, Exact)]);
    assert_eq!(instances(&two(Lca::AtMost(2)), call(1)), [(10, 20, UpperBound)], "may have stayed: marked");
    assert_eq!(instances(&two(Lca::Unknown), call(1)), [(10, 20, Inferred)]);
    // One frame at most stayed: the inner one did not, which is certain; the outer one may have.
    assert_eq!(instances(&two(Lca::AtMost(1)), call(1)), [(10, 10, Exact), (20, 20, Exact)]);
    assert_eq!(instances(&two(Lca::AtMost(1)), call(0)), [(10, 20, UpperBound)]);
    assert_eq!(built(&two(Lca::AtMost(1))).quality, UpperBound);
    assert_eq!(built(&two(Lca::AtMost(0))).quality, Exact, "nothing went on, so nothing rests on it");
    // A record that says more than the paths have in common.
    let tree = built(&[(1, vec![call(0)], Lca::Unknown), (2, vec![call(1)], Lca::Exact(1))]);
    assert_eq!(tree.n_inconsistent, 1);
}

#[test]
fn loops_below_a_frame_that_stayed_stay() {
    let path = |leaf| vec![call(0), looped(1), looped(2), call(leaf)];
    let samples = [(10, path(5), Lca::Unknown), (20, path(5), Lca::Exact(1)), (30, path(5), Lca::Exact(0))];
    assert_eq!(instances(&samples, looped(2)).len(), 2);
    assert_eq!(instances(&samples, call(5)).len(), 3);
    assert_eq!(instances(&samples, call(0)).len(), 2);
}

#[test]
fn recursion_and_deep_stacks_are_paths_like_others() {
    let deep: Vec<StaticId> = (0..1024).map(|_| call(3)).collect();
    let samples = [
        (10, deep.clone(), Lca::Unknown),
        (20, deep[..7].to_vec(), Lca::Exact(7)),
        (40, deep, Lca::Exact(7)),
    ];
    let tree = built(&samples);
    assert_eq!(tree.nodes.len(), 1 + 7 + 2 * (192 - 7));
    assert_eq!((tree.n_too_deep, tree.n_inconsistent), (2, 0));
    assert_eq!(tree.nodes[0].end, Ticks(50), "the median of 10 and 20 is the lower");
    let node = relative(tree, &ControlFlows::default(), &Merger::exact(&LookAhead, Over::Iterations));
    assert!((node.duration() - 40.0).abs() < 1e-9);
}

#[test]
fn durations_sum_to_the_time_sampled() {
    let mut rng = Rng::new(11);
    for _ in 0..50 {
        let (mut time, mut samples) = (0, Vec::new());
        for _ in 0..200 {
            let n = 1 + rng.below(5);
            let id = |depth, choice| if depth % 2 == 1 { looped(choice) } else { call(choice) };
            let path: Vec<_> = (0..n).map(|depth| id(depth, rng.below(3) as u32)).collect();
            let lca = [Lca::Unknown, Lca::Exact(rng.below(6) as u32), Lca::AtMost(rng.below(6) as u32)];
            samples.push((time, path, lca[rng.below(3) as usize]));
            time += 5 + rng.below(20);
        }
        let tree = built(&samples);
        let expected = tree.nodes[0].duration().0 as f64;
        check(&tree.nodes);
        let flows = learn_flows(&tree.nodes, LoopSource::LearnedSampled);
        let mut profile = Vec::new();
        let sum = add_durations(&mut tree.nodes.clone(), &mut profile);
        assert!((sum - expected).abs() < 1e-6 && (profile[0].duration() - expected).abs() < 1e-6);
        let node = relative(tree, &flows, &Merger::exact(&LookAhead, Over::Iterations));
        assert!((node.duration() - expected).abs() < 1e-6, "{} {expected}", node.duration());
        let of_node = node.into_profile();
        assert!((of_node.duration() - expected).abs() < 1e-6);
    }
}

/// Checks a node and what is inside of it.
fn check(nodes: &[SampledNode]) {
    let node = &nodes[0];
    assert_eq!(nodes.len(), 1 + node.n_inside as usize);
    assert!(node.first <= node.last && node.last < node.end, "{node:?}");
    let mut at = node.first;
    for inside in neighbours(&nodes[1..]) {
        assert!(at <= inside[0].first && inside[0].end <= node.end, "neighbours do not overlap");
        at = inside[0].end;
        check(inside);
    }
}

#[test]
fn loops_that_nothing_marks_hold_the_calls_that_repeat() {
    let is_found = |node: &SampledNode| matches!(node.id, StaticId::FoundLoop { .. });
    let mut rng = Rng::new(3);
    let mut n_nested = 0;
    for _ in 0..100 {
        let mut samples = Vec::new();
        for i in 0..300 {
            // One call stays; those in it call others some 20 times each; some calls go deeper.
            let is_next = rng.below(20) == 0;
            let callee = |depth: u64, choice: u64| call((10 * depth + choice) as u32);
            let mut path = vec![callee(0, 0), callee(1, i / 40 % 2), callee(2, rng.below(2))];
            path.extend((rng.below(3) == 0).then(|| callee(3, rng.below(2))));
            samples.push((10 * i, path, Lca::Exact(if is_next { 1 } else { 2 })));
        }
        let mut nodes = built(&samples).nodes;
        let before = (nodes.len(), nodes[0].duration());
        find_loops(&mut nodes);
        check(&nodes);
        let n_loops = nodes.iter().filter(|node| is_found(node)).count();
        assert_eq!((nodes.len() - n_loops, nodes[0].duration()), before, "loops are all that is new");
        for (at, node) in nodes.iter().enumerate().filter(|(_, node)| is_found(node)) {
            let inside = &nodes[at + 1..][..node.n_inside as usize];
            assert!(2 < neighbours(inside).count() && node.first == inside[0].first, "{node:?}");
            n_nested += usize::from(inside.iter().any(is_found));
        }
    }
    assert!(0 < n_nested, "no loop is in another");
}

#[test]
fn a_tree_too_large_folds_its_shortest_calls() {
    let mut builder = SampleTreeBuilder::with_max_nodes(100);
    let paths: Vec<[StaticId; 2]> = (1..9).map(|leaf| [call(0), call(leaf)]).collect();
    let mut before = [].as_slice();
    for i in 0..10_000u64 {
        // One call in a hundred is long.
        let long = i % 100 < 50;
        let path = &paths[if long { 0 } else { 1 + (i % 7) as usize }];
        let lca = if long && 0 < i % 100 { Lca::Exact(2) } else { Lca::Exact(1) };
        builder.push(Ticks(i * 10), sample_path(&mut before, path), lca);
    }
    let tree = builder.finish().unwrap();
    let n_nodes: usize = tree.nodes.iter().map(SampledNode::n_kept).sum();
    assert!(n_nodes <= 120 && Ticks(20) <= tree.folded_below, "{n_nodes}");
    assert_eq!(tree.nodes[0].duration(), Ticks(100_000));
    check(&tree.nodes);
    let mut profile = Vec::new();
    add_durations(&mut tree.nodes.clone(), &mut profile);
    assert!((profile[0].duration() - 100_000.0).abs() < 1e-6);
    let node = relative(tree, &ControlFlows::default(), &Merger::exact(&LookAhead, Over::Iterations));
    assert!((node.duration() - 100_000.0).abs() < 1e-6);
}
