use super::*;
use crate::pyramid::{Builder, Widths};
use crate::weights::Parents;
use ouzel_model::{CallPathTree, TraceSource};
use ouzel_testkit::{ToyTrace, laws, run};

/// Every region of a toy trace computes.
fn tiles() -> Tiles {
    Tiles::new(vec![0; 64].into())
}

fn name(trace: &ToyTrace, tree: &CallPathTree, bin: Bin) -> String {
    let Some(path) = bin.call_path() else { return "-".to_owned() };
    let regions = tree.regions(path);
    let names: Vec<&str> = regions.iter().map(|&region| &*trace.definitions().region(region).name).collect();
    if names.is_empty() { "outside".to_owned() } else { names.join("/") }
}

#[test]
fn a_bin_shows_whoever_holds_most_of_it_from_the_root() {
    let trace = ToyTrace::new(
        "0: enter a @0, enter b @3, leave @5, enter c @5, leave @7, leave @7, enter d @12, leave @16",
    );
    let (tree, all) = run(&trace, tiles());
    let tiles = &all[&ouzel_model::LocationId(0)];
    let row =
        |log2: u32, n: u64| (0..n).map(|at| name(&trace, &tree, tiles.bin(log2, at))).collect::<Vec<_>>();
    assert_eq!(row(1, 8), ["a", "a", "a/b", "outside", "outside", "outside", "d", "d"]);
    assert_eq!(row(2, 4), ["a", "a/c", "outside", "d"]);
    assert_eq!(row(3, 2), ["a", "outside"]);
    assert_eq!(tiles.bin(3, 0).shares, [(7 * 255 + 4) / 8, 0, 0, 0].map(|share: u32| share as u8));
    assert_eq!(tiles.bin(4, 1), Bin::new(None, [0; 4]));
}

/// A program of nested calls of pseudo-random length, and the path of each tick.
fn long(n_calls: u64) -> (ToyTrace, Vec<&'static str>) {
    let mut events = String::from("0: enter main @0");
    let (mut at, mut truth, mut seed) = (0_u64, Vec::new(), 1_u64);
    for i in 0..n_calls {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (gap, length) = ((seed >> 33) % 3, 1 + (seed >> 40) % if i % 97 == 0 { 300 } else { 7 });
        let (region, path) = [("f", "main/f"), ("g", "main/g"), ("h", "main/h")][(seed >> 50) as usize % 3];
        truth.extend((0..gap).map(|_| "main"));
        truth.extend((0..length).map(|_| path));
        events.push_str(&format!(", enter {region} @{}, leave @{}", at + gap, at + gap + length));
        at += gap + length;
    }
    events.push_str(&format!(", leave @{at}"));
    (ToyTrace::new(&events), truth)
}

/// Every bin of every level against a count of ticks.
#[test]
fn whoever_holds_more_than_half_of_a_bin_is_shown_at_every_level() {
    let (trace, truth) = long(9_000);
    let (tree, all) = run(&trace, tiles());
    let tiles = &all[&ouzel_model::LocationId(0)];
    let (mut n_checked, n_ticks) = (0, truth.len() as u64);
    for log2 in tiles.finest()..40 {
        let width = 1_u64 << log2;
        for at in 0..n_ticks.div_ceil(width) {
            let bin = tiles.bin(log2, at);
            let ticks = &truth[(at * width) as usize..((at + 1) * width).min(n_ticks) as usize];
            let expected = (ticks.len() as u64 * 255 + width / 2) / width;
            assert!(u64::from(bin.shares[0]).abs_diff(expected) <= 1, "level {log2}, bin {at}");
            for path in ["main", "main/f", "main/g", "main/h"] {
                let n_of_path = ticks.iter().filter(|of| **of == path).count() as u64;
                if width < 2 * n_of_path {
                    assert_eq!(name(&trace, &tree, bin), path, "level {log2}, bin {at}");
                    n_checked += 1;
                }
            }
        }
    }
    assert!(500 < n_checked, "only {n_checked} bins have a path that holds more than half");
}

#[test]
fn a_level_has_as_many_bins_as_its_intervals_are_worth() {
    let (trace, _) = long(9_000);
    let (_, all) = run(&trace, tiles());
    let n_bins = all[&ouzel_model::LocationId(0)].n_bins() as u64;
    assert!((1_000..=5_000).contains(&n_bins), "{n_bins} bins for about 18,000 intervals");
    // A short call in a very long run costs nothing.
    let trace = ToyTrace::new("0: enter a @0, enter b @5, leave @6, leave @1000000000000");
    let (_, all) = run(&trace, tiles());
    let tiles = &all[&ouzel_model::LocationId(0)];
    assert!(
        tiles.n_bins() < 600 && tiles.finest() == 32,
        "{} bins, level {}",
        tiles.n_bins(),
        tiles.finest()
    );
}

/// At most so many bins of each location, of a run of this length.
fn bounded(n_bins_max: u64, length: Option<u64>) -> Tiles {
    tiles().bounded(vec![true; 1024].into(), n_bins_max, length.map(ouzel_model::Ticks))
}

#[test]
fn a_bounded_number_of_bins_shows_the_same_whatever_is_known_of_the_length() {
    let (trace, truth) = long(9_000);
    let location = ouzel_model::LocationId(0);
    let n_ticks = truth.len() as u64;
    let all = &run(&trace, tiles()).1[&location];
    for n_bins_max in [2, 100, 1000] {
        // Known, not known, and wrong on both sides.
        for length in [Some(n_ticks), None, Some(n_ticks / 5), Some(3 * n_ticks)] {
            let few = &run(&trace, bounded(n_bins_max, length)).1[&location];
            let n_finest = n_ticks.div_ceil(1 << few.finest());
            assert!(n_finest <= n_bins_max, "{n_finest} bins, {n_bins_max} {length:?}");
            let is_too_long = length.is_some_and(|length| n_ticks < length);
            assert!(is_too_long || n_bins_max < 4 * n_finest, "{n_finest} bins, {n_bins_max} {length:?}");
            for log2 in few.finest().max(all.finest())..20 {
                for at in 0..n_ticks.div_ceil(1 << log2) {
                    assert_eq!(few.bin(log2, at), all.bin(log2, at), "{n_bins_max} {length:?}: {log2}, {at}");
                }
            }
        }
    }
}

#[test]
fn a_part_shows_what_the_whole_would_if_nothing_came_any_more() {
    let mut parents = Parents::default();
    let path = |number: u64| ouzel_model::CallPathId(number as u32);
    for number in 1..=9 {
        parents.note(path(number), path(number / 3));
    }
    let builder = || Builder::new(ouzel_model::Ticks(5), 0, Widths::default());
    let (mut growing, mut steps) = (builder(), Vec::new());
    let (mut at, mut seed, mut n_checked) = (5_u64, 7_u64, 0);
    for step in 1..=12_000_u64 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        at += 1 + (seed >> 33) % if step % 50 == 0 { 2_000 } else { 9 };
        steps.push((ouzel_model::Ticks(at), path((seed >> 40) % 10), (seed >> 50) as u8 % 5));
        let &(to, path, category) = steps.last().unwrap();
        growing.add(to, path, category, &parents);
        if !step.is_multiple_of(997) && step != 3 {
            continue;
        }
        let part = growing.so_far(300, &parents);
        let mut whole = builder();
        steps.iter().for_each(|&(to, path, category)| whole.add(to, path, category, &parents));
        let whole = whole.finish(&parents);
        assert_eq!(part.span(), whole.span());
        for log2 in part.finest().max(whole.finest())..30 {
            for bin in 0..=at >> log2 {
                assert_eq!(part.bin(log2, bin), whole.bin(log2, bin), "step {step}, level {log2}, bin {bin}");
                n_checked += 1;
            }
        }
    }
    assert!(3_000 < n_checked, "{n_checked} bins");
}

#[test]
fn locations_that_are_not_chosen_have_no_tiles() {
    let trace = ToyTrace::new("0: enter a @0, leave @9\n1: enter a @0, leave @9\n2: enter a @0, leave @9");
    let (_, all) = run(&trace, tiles().bounded(vec![true, false, true].into(), 100, None));
    assert_eq!(all.keys().map(|location| location.0).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn laws_hold() {
    let text = |(tree, all): &<Tiles as ouzel_engine::Analysis>::Output| {
        let paths: Vec<_> = tree.paths().map(|path| tree.regions(path)).collect();
        format!("{paths:?} {all:?}")
    };
    laws::check(tiles, text);
    laws::check(|| bounded(20, None), text);
}
