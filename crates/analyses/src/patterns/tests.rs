use super::matrix_profile::exclusion;
use super::*;
use crate::reference::{calls, code_locations, random_traces};
use ouzel_model::{LocationId, RegionId, TraceSource, WorldRank};
use ouzel_testkit::{ToyTrace, golden, laws, run};
use std::num::NonZeroUsize;

fn jobs(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).unwrap()
}

/// Numbers below `n` from a seed.
fn random(seed: u64, n: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % n
    }
}

#[test]
fn the_expected_values_are_met() {
    let golden = golden("pipit_ops");
    let series: Vec<f64> = serde_json::from_value(golden["input"]["series"].clone()).unwrap();
    let profile = matrix_profile(&series, 4, jobs(2), None).unwrap();
    let expected: Vec<(f64, usize)> =
        serde_json::from_value(golden["expected"]["matrix_profile_4"].clone()).unwrap();
    assert_eq!(profile.len(), expected.len());
    for (i, (found, (distance, neighbour))) in profile.iter().zip(expected).enumerate() {
        assert!((found.distance - distance).abs() < 1e-9, "{i}: {found:?}");
        assert_eq!(found.neighbour, Some(neighbour), "{i}");
    }
    let motif = motif(&profile).unwrap();
    let (found, _) = matches(&series, 4, motif.index, None, None).unwrap();
    let found: Vec<usize> = found.iter().map(|found| found.index).collect();
    let expected: (usize, Vec<usize>) = serde_json::from_value(golden["expected"]["motif"].clone()).unwrap();
    assert_eq!((motif.index, found), expected);
}

/// Every window with every other.
fn slow_profile(series: &[f64], window: usize) -> Vec<f64> {
    let normalised = |i: usize| -> Option<Vec<f64>> {
        let points = &series[i..i + window];
        let mean = points.iter().sum::<f64>() / window as f64;
        let deviation = (points.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / window as f64).sqrt();
        let is_constant = points.iter().all(|point| point.total_cmp(&points[0]).is_eq());
        (!is_constant).then(|| points.iter().map(|p| (p - mean) / deviation).collect())
    };
    let distance = |i: usize, j: usize| match (normalised(i), normalised(j)) {
        (None, None) => 0.0,
        (Some(a), Some(b)) => a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
        _ => (window as f64).sqrt(),
    };
    let n = series.len() - window + 1;
    (0..n)
        .map(|i| {
            let others = (0..n).filter(|&j| exclusion(window) < i.abs_diff(j));
            others.map(|j| distance(i, j)).fold(f64::INFINITY, f64::min)
        })
        .collect()
}

#[test]
fn the_profile_is_that_of_the_slow_way() {
    for (seed, (n, window, values)) in
        (1..).zip([(40, 3, 5), (90, 7, 1000), (64, 16, 2), (30, 30, 9), (120, 5, 1_000_000_000), (33, 8, 1)])
    {
        let series: Vec<f64> =
            std::iter::repeat_with(random(seed, values)).take(n).map(|x| x as f64).collect();
        let profile = matrix_profile(&series, window, jobs(1), None).unwrap();
        let expected = slow_profile(&series, window);
        assert_eq!(profile.len(), expected.len());
        for (i, (found, expected)) in profile.iter().zip(expected).enumerate() {
            let close =
                found.distance.total_cmp(&expected).is_eq() || (found.distance - expected).abs() < 1e-6;
            assert!(close, "seed {seed}, window {i}: {found:?}, {expected} expected");
        }
    }
}

#[test]
fn threads_and_tiles_change_nothing() {
    // More rows than a tile has.
    let mut next = random(7, 50);
    let series: Vec<f64> = (0..9000_u64).map(|i| (next() + 100 * (i % 25)) as f64).collect();
    let one = matrix_profile(&series, 25, jobs(1), None).unwrap();
    assert!(one == matrix_profile(&series, 25, jobs(3), None).unwrap());
    // Distances come from the windows themselves, so a neighbour that is the best is so at the border of a tile, too.
    for i in [0, 5000, 8191, 8192, 8193, 8975] {
        let (all, _) = matches(&series, 25, i, None, Some(1)).unwrap();
        assert_eq!(all[0].index, i);
        let others = (0..one.len()).filter(|&j| exclusion(25) < j.abs_diff(i));
        let windows = matrix_profile::Windows::new(&series, 25).unwrap();
        let best = others.map(|j| windows.distance(i, j)).fold(f64::INFINITY, f64::min);
        assert!((one[i].distance - best).abs() < 1e-6, "{i}: {:?}, {best} expected", one[i]);
    }
}

#[test]
fn windows_that_do_not_fit_are_errors() {
    let series = [1.0, 2.0, f64::NAN, 4.0];
    assert_eq!(matrix_profile(&series, 3, jobs(1), None), Err(ProfileError::NotFinite { index: 2 }));
    let error = matrix_profile(&series, 5, jobs(1), None).unwrap_err();
    assert_eq!(error, ProfileError::Window { window: 5, n_points: 4 });
    assert!(error.to_string().contains("5 calls"));
    assert!(matrix_profile(&series, 2, jobs(1), None).is_err());
}

/// A program of `n` iterations of unequal length behind a start-up.
fn program(n: u64) -> ToyTrace {
    let mut text = String::from(
        "0: enter main @0, enter read @1, leave @3, enter read @3, leave @6, enter read @6, leave @8, enter solve @10",
    );
    let mut at = 10;
    let mut next = random(3, 3);
    for i in 0..n {
        for (name, length) in [("step", 0), ("assemble", 40), ("exchange", 9), ("norm", 21)] {
            let (enter, leave) = (at, at + length + next());
            text.push_str(&format!(", enter {name} @{enter}"));
            if name != "step" {
                text.push_str(&format!(", leave @{leave}"));
            }
            at = leave;
        }
        at += 3 + i % 2;
        text.push_str(&format!(", leave @{at}"));
    }
    text.push_str(&format!(", leave @{at}, leave @{}", at + 5));
    ToyTrace::new(&text)
}

fn series(trace: &ToyTrace) -> CallSeriesOutput {
    run(trace, CallSeries::default())
}

fn region(trace: &ToyTrace, name: &str) -> RegionId {
    let at = trace.definitions().regions.iter().position(|region| &*region.name == name);
    RegionId::from_index(at.unwrap())
}

#[test]
fn iterations_are_found_with_and_without_a_start() {
    let trace = program(20);
    let series = series(&trace);
    let start = region(&trace, "step");
    let steps: Vec<(u64, u64)> = series
        .calls
        .iter()
        .filter(|call| series.call_paths.region(call.call_path) == Some(start))
        .map(|call| (call.enter.0, call.leave.0))
        .collect();
    let options = |start, distance_max| PatternOptions { start, distance_max, ..PatternOptions::default() };
    for given in [Some(start), None] {
        let output = patterns(&series, &options(given, Some(1.0)), jobs(2), None).unwrap();
        assert_eq!((output.start, output.window, output.iterations), (start, 4, Some(20)));
        assert_eq!((output.location, output.n_calls), (LocationId(0), 80));
        // The best motif may begin anywhere in an iteration; then the last one has no whole window.
        let occurrences = &output.occurrences;
        let phase = output.motif.index % 4;
        let indices: Vec<usize> = occurrences.iter().map(|found| found.index).collect();
        let expected: Vec<usize> = (0..if phase == 0 { 20 } else { 19 }).map(|i| 4 * i + phase).collect();
        assert_eq!(indices, expected);
        for pair in occurrences.windows(2) {
            assert!(pair[0].range.start < pair[0].range.end && pair[0].range.start < pair[1].range.start);
        }
        for (occurrence, step) in occurrences.iter().zip(&steps) {
            assert!(step.0 <= occurrence.range.start.0 && occurrence.range.start.0 <= step.1);
        }
        assert_eq!(output.table(&trace.definitions().clock).columns[0].data.len(), occurrences.len());
    }
    // By default those that are most alike: some of them, all at the same place of an iteration.
    let output = patterns(&series, &options(None, None), jobs(1), None).unwrap();
    assert!((1..=20).contains(&output.occurrences.len()));
    assert!(output.occurrences.iter().all(|found| found.index % 4 == output.motif.index % 4));
}

#[test]
fn a_region_around_the_loop_will_do() {
    let trace = program(12);
    let options = PatternOptions { start: Some(region(&trace, "solve")), ..PatternOptions::default() };
    let output = patterns(&series(&trace), &options, jobs(1), None).unwrap();
    assert_eq!((output.iterations, output.window, output.n_calls), (Some(12), 4, 48));
    let three = PatternOptions { iterations: NonZeroUsize::new(3), ..options };
    let output = patterns(&series(&trace), &three, jobs(1), None).unwrap();
    assert_eq!(output.window, 16);
    assert!(output.occurrences.len() <= 3);
}

#[test]
fn what_cannot_be_found_is_said() {
    let trace = ToyTrace::new("0: enter main @0, enter a @1, leave @2, leave @3\n1: enter b @1, leave @2");
    let of = |rank| run(&trace, CallSeries { rank: Some(WorldRank(rank)) });
    let detect =
        |rank: u32, options: PatternOptions| patterns(&of(rank), &options, jobs(1), None).unwrap_err();
    assert_eq!(detect(0, PatternOptions::default()), PatternError::NothingRepeats);
    assert_eq!(detect(7, PatternOptions::default()), PatternError::NoCalls);
    let start = Some(region(&trace, "a"));
    let options = PatternOptions { start, ..PatternOptions::default() };
    assert_eq!(detect(1, options), PatternError::StartNotEntered);
    let options = PatternOptions { window: Some(9), start: Some(region(&trace, "main")), ..options };
    assert!(matches!(detect(0, options), PatternError::Profile(_)));
}

#[test]
fn the_series_has_the_calls_in_the_order_of_entry() {
    for trace in random_traces() {
        let location = code_locations(&trace)[0];
        let output = run(&trace, CallSeries { rank: trace.definitions().location(location).rank });
        let expected = calls(&trace).into_iter().filter(|call| call.location == location);
        let expected: Vec<_> = expected.map(|call| (call.path, call.enter, call.leave)).collect();
        let found: Vec<_> = output
            .calls
            .iter()
            .map(|call| (output.call_paths.regions(call.call_path), call.enter.0, call.leave.0))
            .collect();
        assert_eq!(found, expected);
        let exclusive: u64 = output.calls.iter().map(|call| call.exclusive.0).sum();
        let outermost = expected.iter().filter(|call| call.0.len() == 1);
        assert_eq!(exclusive, outermost.map(|call| call.2 - call.1).sum::<u64>());
    }
}

#[test]
fn laws_hold() {
    laws::check(CallSeries::default, |output| {
        let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
        format!("{paths:?} {:?} {:?}", output.location, output.calls)
    });
}

#[test]
fn it_stops_when_it_is_asked_to() {
    // It would take minutes.
    let long: Vec<f64> = (0..400_000_u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761) >> 8)).collect();
    let progress = ouzel_engine::Progress::default();
    progress.cancel();
    assert_eq!(matrix_profile(&long, 10, jobs(2), Some(&progress)), Err(ProfileError::Cancelled));
    // Cancelled meanwhile by another thread.
    let progress = ouzel_engine::Progress::default();
    std::thread::scope(|scope| {
        let work = scope.spawn(|| matrix_profile(&long, 10, jobs(2), Some(&progress)));
        progress.cancel();
        assert_eq!(work.join().unwrap(), Err(ProfileError::Cancelled));
    });
}
