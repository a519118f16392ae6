//! Figures, golden values and laws of control flow.

use super::acceptance::Verdict;
use super::*;
use ouzel_model::{RegionId, Ticks};
use ouzel_testkit::Rng;

fn call(line: u32) -> StaticId {
    StaticId::CallSite { region: RegionId(0), line }
}

/// `"e>1 1>2 2>1"`: edges between lines, `e` is the entry.
fn flow(edges: &str) -> ControlFlow {
    let vertex = |text: &str| text.parse().ok().map(call);
    let edge = |text: &str| {
        let (from, to) = text.split_once('>').unwrap();
        (vertex(from), vertex(to).unwrap())
    };
    ControlFlow::from_edges(&edges.split_whitespace().map(edge).collect::<Vec<_>>(), LoopSource::Binary)
}

fn tags(flow: &ControlFlow, lines: &[u32]) -> Vec<u32> {
    flow.tag(lines.iter().map(|&line| call(line))).tags
}

#[test]
fn a_child_that_cannot_follow_begins_an_iteration() {
    let body = flow("e>1 1>2 1>3 2>3 3>1");
    assert_eq!(tags(&body, &[1, 2, 3, 1, 3, 2, 1]), [0, 0, 0, 1, 1, 2, 3]);
    assert_eq!(body.successors(Some(call(1))), [call(2), call(3)]);
    assert_eq!(body.successors(None), [call(1), call(2), call(3)]);
    // The first child is not reached from the entry: numbering begins at one, which does no harm.
    assert_eq!(tags(&flow("e>1 2>3 3>2"), &[3, 2]), [1, 2]);
    let tagged = body.tag([call(1), call(77), call(2), call(3)]);
    assert_eq!((tagged.tags, tagged.n_unknown), (vec![0, 1, 2, 2], 1));
    // One without a line can be anywhere.
    let somewhere = StaticId::Region(RegionId(77));
    let tagged = body.tag([somewhere, call(1), somewhere, call(2), call(1)]);
    assert_eq!((tagged.tags, tagged.n_unknown), (vec![0, 0, 0, 0, 1], 2));
}

#[test]
fn back_edges_of_nested_and_irreducible_flow_are_dropped() {
    // Two entries into the circle 1 <> 2: the search from the entry takes 1 first.
    assert_eq!(tags(&flow("e>1 e>2 1>2 2>1"), &[1, 2, 1, 2]), [0, 0, 1, 1]);
    assert_eq!(
        tags(&flow("2>1 1>2 e>2 e>1"), &[1, 2, 1, 2]),
        [0, 0, 1, 1],
        "the order of edges does not matter"
    );
    assert_eq!(tags(&flow("e>1 1>1"), &[1, 1, 1]), [0, 1, 2]);
    // Many vertices: more than one word of bits.
    let chain: Vec<String> = (0..200).map(|i| format!("{}>{}", i, i + 1)).collect();
    let chain = flow(&format!("e>0 {} 200>0", chain.join(" ")));
    assert!(chain.follows(Some(call(0)), call(200)) && !chain.follows(Some(call(200)), call(0)));
}

#[test]
fn different_tags_are_never_one_pass_through_the_body() {
    let mut rng = Rng::new(7);
    for _ in 0..200 {
        // A body without branches back: any ascending choice of lines is an iteration.
        let n = 2 + rng.below(8) as u32;
        let mut edges = vec![format!("e>0 {}>0", n - 1)];
        edges.extend((1..n).map(|i| format!("e>{i}")));
        for from in 0..n {
            edges.extend((from + 1..n).map(|to| format!("{from}>{to}")));
        }
        let body = flow(&edges.join(" "));
        let (mut lines, mut iterations) = (Vec::new(), Vec::new());
        for iteration in 0..5 {
            for line in (0..n).filter(|_| rng.below(2) == 0) {
                lines.push(line);
                iterations.push(iteration);
            }
        }
        for (pair, of) in tags(&body, &lines).windows(2).zip(iterations.windows(2)) {
            assert!(pair[0] == pair[1] || of[0] != of[1], "{lines:?} {iterations:?}");
        }
    }
}

#[test]
fn short_iterations_are_rejected() {
    let acceptance = Acceptance { n_children: 3, duration: Ticks(50) };
    let check = |durations: &[u64], of_loop, expected: (u64, u64, u64, bool)| {
        let durations: Vec<Ticks> = durations.iter().copied().map(Ticks).collect();
        let verdict = decide(&[0, 0, 0, 1, 2, 2], &durations, &|_| false, Ticks(of_loop), acceptance);
        let Verdict { n_accepted, n_rejected, rejected, becomes_profile, iterations } = verdict;
        assert_eq!((n_accepted, n_rejected, rejected.0, becomes_profile), expected);
        assert_eq!(iterations.iter().map(|i| i.children.clone()).collect::<Vec<_>>(), [0..3, 3..4, 4..6]);
    };
    check(&[1, 1, 1, 50, 10, 10], 100, (2, 1, 20, false));
    check(&[1, 1, 1, 49, 10, 10], 138, (1, 2, 69, false));
    check(&[1, 1, 1, 49, 10, 10], 137, (1, 2, 69, true));
    assert_eq!(Acceptance::sampled(Ticks(10)), Acceptance { n_children: 5, duration: Ticks(50) });
}

/// Published: PFLOTRAN 23/0 and 3/0, AMG2013 8/1 (the last iteration lasts less than two periods) and 11/0.
#[test]
fn a_last_iteration_below_two_periods_is_rejected() {
    let body = flow("e>1 1>2 2>1");
    for (n, last, expected) in [(23, 100, (23, 0)), (3, 100, (3, 0)), (9, 9, (8, 1)), (11, 100, (11, 0))] {
        let lines: Vec<u32> = (0..n).flat_map(|_| [1, 2]).collect();
        let mut durations = vec![Ticks(100); lines.len()];
        durations[lines.len() - 2..].fill(Ticks(last));
        let of_loop = Ticks(durations.iter().map(|d| d.0).sum());
        let verdict =
            decide(&tags(&body, &lines), &durations, &|_| false, of_loop, Acceptance::sampled(Ticks(5)));
        assert_eq!(
            (verdict.n_accepted, verdict.n_rejected, verdict.becomes_profile),
            (expected.0, expected.1, false)
        );
    }
}

fn learned(sequences: &[&[u32]]) -> ControlFlow {
    let sequences: Vec<Vec<StaticId>> =
        sequences.iter().map(|lines| lines.iter().map(|&line| call(line)).collect()).collect();
    learn(sequences.iter().map(Vec::as_slice), LoopSource::LearnedExact)
}

#[test]
fn the_order_is_learned_from_what_repeats() {
    let found = learned(&[&[1, 3, 1, 1, 2]]);
    assert_eq!(tags(&found, &[1, 3, 1, 1, 2]), [0, 0, 1, 2, 2]);
    assert!(found.follows(Some(call(2)), call(3)), "never seen together: by line");
    assert_eq!(found.source(), LoopSource::LearnedExact);
    // The cut at the first repeat is too late: 3 2 | 1 are two iterations, as the majority shows.
    let found = learned(&[&[1, 2, 3, 1, 2, 3, 1, 2, 3], &[2, 3, 1, 2, 3]]);
    assert_eq!(tags(&found, &[2, 3, 1, 2, 3]), [0, 0, 1, 1, 1]);
    // The same against the order of lines.
    let found = learned(&[&[3, 2, 1, 3, 2, 1, 3, 2, 1], &[2, 1, 3, 2, 1]]);
    assert_eq!(tags(&found, &[2, 1, 3, 2, 1]), [0, 0, 1, 1, 1]);
}

#[test]
fn a_circle_of_majorities_is_broken_at_the_weakest() {
    let mut sequences: Vec<&[u32]> = vec![&[1, 2]; 5];
    sequences.extend([&[2, 3][..]; 4]);
    sequences.extend([&[3, 1][..]; 2]);
    let found = learned(&sequences);
    assert!(found.follows(Some(call(1)), call(3)) && !found.follows(Some(call(3)), call(1)));
    // The same where the order of lines is at odds with it.
    let turned: Vec<Vec<u32>> =
        sequences.iter().map(|pair| pair.iter().map(|line| 9 - line).collect()).collect();
    let found = learned(&turned.iter().map(Vec::as_slice).collect::<Vec<_>>());
    assert!(found.follows(Some(call(8)), call(6)) && !found.follows(Some(call(6)), call(8)));
}

#[test]
fn learning_does_not_know_the_order_of_instances() {
    let mut rng = Rng::new(3);
    let mut sequences: Vec<Vec<u32>> =
        (0..12).map(|_| (0..20).map(|_| rng.below(6) as u32).collect()).collect();
    let describe = |sequences: &[Vec<u32>]| {
        let sequences: Vec<&[u32]> = sequences.iter().map(Vec::as_slice).collect();
        format!("{:?}", learned(&sequences))
    };
    let one = describe(&sequences);
    sequences.reverse();
    assert_eq!(describe(&sequences), one);
}

#[test]
fn bodies_of_many_call_sites_are_learned_in_part() {
    let lines: Vec<u32> = (0..700).chain(0..300).collect();
    let found = learned(&[&lines]);
    assert_eq!(found.vertices().len(), 512);
    assert!(found.follows(Some(call(0)), call(299)));
}

#[test]
fn places_are_a_linear_extension() {
    let flows = ControlFlows(BTreeMap::from([(call(100), flow("e>9 9>2 9>4 4>1"))]));
    let compare = |a, b| flows.compare(call(100), call(a), call(b));
    assert_eq!(compare(9, 2), Some(Ordering::Less));
    assert_eq!(compare(2, 4), Some(Ordering::Less), "by line");
    assert_eq!(compare(4, 2), Some(Ordering::Greater));
    assert_eq!(compare(2, 77), None);
    assert_eq!(flows.compare(StaticId::Iteration, call(1), call(4)), Some(Ordering::Greater));
    assert_eq!(flows.compare(StaticId::Root, call(1), call(4)), None);
}
