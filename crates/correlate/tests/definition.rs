//! Answers are those of the definition, on grids of every kind.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{Direct, direct, grid, profile, random_view, topology, view};
use ouzel_correlate::{AxisSet, Correlation, Grid, Peak, Question, Run, Weights, correlate, view_on_grid};
use ouzel_model::{ProfileSource, Scope};
use ouzel_testkit::Rng;
use std::num::NonZeroUsize;

const ONE: NonZeroUsize = NonZeroUsize::MIN;

/// Sizes of one to seven axes: odd, even, prime, one.
const SHAPES: &[&[u32]] = &[
    &[2],
    &[5],
    &[8],
    &[17],
    &[4, 3],
    &[1, 7],
    &[6, 5],
    &[3, 1, 4],
    &[2, 3, 5],
    &[4, 4, 3],
    &[2, 3, 2, 4],
    &[3, 1, 2, 1, 5],
    &[2, 2, 3, 2, 2],
    &[2, 2, 2, 3, 1, 2],
    &[2, 1, 2, 2, 3, 2, 2],
    &[2, 2, 2, 2, 2, 2, 2],
];

fn filters(n_axes: usize, rng: &mut Rng) -> Vec<AxisSet> {
    let all = (1_u64 << n_axes) - 1;
    let of = |bits: u64| AxisSet::from_indices((0..n_axes).filter(move |axis| bits >> axis & 1 == 1));
    if n_axes <= 3 {
        return (1..=all).map(of).collect();
    }
    let mut some: Vec<AxisSet> = (0..6).map(|_| of(1 + rng.below(all))).collect();
    some.push(of(all));
    some
}

#[test]
fn every_filter_on_every_grid_gives_what_the_definition_says() {
    let mut rng = Rng::new(1);
    for (i, &sizes) in SHAPES.iter().enumerate() {
        let n: usize = sizes.iter().map(|&d| d as usize).product();
        // Half of the grids have holes.
        let missing: Vec<usize> =
            if i % 2 == 1 && n > 4 { (0..n / 5).map(|i| i * 4 + 1).collect() } else { Vec::new() };
        let views: Vec<Vec<f64>> = (0..3).map(|_| random_view(&mut rng, n - missing.len())).collect();
        let profile = profile(&views);
        let grid = grid(&profile, &topology(sizes, &missing));
        let on_grid: Vec<Vec<f64>> =
            (0..3).map(|path| view_on_grid(&profile, &grid, view(path), Scope::Exclusive).unwrap()).collect();
        assert_eq!(on_grid[0].iter().filter(|v| v.is_nan()).count(), missing.len());
        for axes in filters(sizes.len(), &mut rng) {
            for (weights, peak) in [
                (Weights::Poster, Peak::Absolute),
                (Weights::Physical, Peak::Absolute),
                (Weights::Poster, Peak::Greatest),
            ] {
                let question = Question { weights, peak, ..Question::new(view(0), axes) };
                let found = correlate(&profile, &grid, &question, &Run::new(ONE)).unwrap();
                assert_eq!(found.rows.len(), 2);
                for row in &found.rows {
                    let other = &on_grid[row.view.path.index()];
                    let expected = direct(sizes, &on_grid[0], other, axes, weights, peak);
                    check(row, &expected, &format!("{sizes:?} {axes:?} {weights:?} {peak:?}"));
                }
            }
        }
    }
}

fn check(row: &Correlation, expected: &Direct, what: &str) {
    let pairs = [(row.r, expected.r), (row.r_max, expected.max), (row.r_min, expected.min)];
    for (found, expected) in pairs {
        assert!((found - expected).abs() < 1e-9, "{what} {:?}: {found} instead of {expected}", row.view);
    }
    assert_eq!(row.shift, expected.shift, "{what} {:?}", row.view);
}

fn ask(views: &[Vec<f64>], sizes: &[u32], axes: AxisSet) -> Vec<Correlation> {
    let profile = profile(views);
    let grid = grid(&profile, &topology(sizes, &[]));
    let question = Question { top: None, ..Question::new(view(0), axes) };
    correlate(&profile, &grid, &question, &Run::new(ONE)).unwrap().rows
}

#[test]
fn scale_offset_and_shift_change_nothing_but_the_shift() {
    let mut rng = Rng::new(7);
    for sizes in [&[7_u32][..], &[4, 6], &[3, 5, 2], &[2, 3, 2, 3]] {
        let n: usize = sizes.iter().map(|&d| d as usize).product();
        let (a, b) = (random_view(&mut rng, n), random_view(&mut rng, n));
        let by: Vec<u32> = sizes.iter().map(|&d| rng.below(u64::from(d)) as u32).collect();
        let moved: Vec<f64> = (0..n)
            .map(|place| {
                let at = common::unravel(sizes, place);
                let from: Vec<u32> =
                    at.iter().zip(&by).zip(sizes).map(|((x, s), d)| (x + d - s) % d).collect();
                b[common::ravel(sizes, &from)]
            })
            .collect();
        let scaled: Vec<f64> = b.iter().map(|v| 3.25e-7 * v + 19.0).collect();
        let huge: Vec<f64> = b.iter().map(|v| 8e306 * v).collect();
        let tiny: Vec<f64> = b.iter().map(|v| 1e-320 * v).collect();
        for axes in [AxisSet::all(sizes.len()), AxisSet::from_indices([0])] {
            let mut rows = ask(
                &[a.clone(), b.clone(), scaled.clone(), moved.clone(), huge.clone(), tiny.clone()],
                sizes,
                axes,
            );
            rows.sort_by_key(|row| row.view);
            let plain = rows[0].clone();
            assert!(rows.iter().all(|row| row.r.abs() <= 1.0 && row.r_max <= 1.0 && row.r_min >= -1.0));
            // 1e-320 has 2000 steps only: its values are themselves off by a thousandth.
            for (row, near) in rows.iter().zip([1e-12, 1e-8, 1e-12, 1e-12, 2e-2]) {
                assert!((row.r.abs() - plain.r.abs()).abs() < near, "{sizes:?}: {row:?} {plain:?}");
            }
            assert_eq!(rows[1].shift, plain.shift);
            assert_eq!(rows[3].shift, plain.shift);
        }
        // A view against itself, moved: 1 at that shift, but for filters that leave periods.
        let moved_self = ask(&[b.clone(), moved], sizes, AxisSet::all(sizes.len()));
        assert!((moved_self[0].r - 1.0).abs() < 1e-12);
        assert_eq!(moved_self[0].shift, by);
    }
}

#[test]
fn what_does_not_vary_along_the_axes_is_zero() {
    let along_0: Vec<f64> = (0..48).map(|place| f64::from(place / 8) * 1e9 + 1e12).collect();
    let along_1: Vec<f64> = (0..48).map(|place| 0.1 + f64::from(place % 8)).collect();
    let constant = vec![0.1; 48];
    let rows = ask(&[along_0, along_1, constant], &[6, 8], AxisSet::from_indices([1]));
    for row in rows {
        assert_eq!((row.r.to_bits(), row.r_max.to_bits(), row.shift), (0, 0, vec![0, 0]));
    }
}

#[test]
fn the_head_of_the_full_list_is_the_top() {
    let mut rng = Rng::new(11);
    let (sizes, n) = ([6_u32, 4, 3], 72);
    let mut views: Vec<Vec<f64>> = (0..90).map(|_| random_view(&mut rng, n)).collect();
    for i in 0..12 {
        // Relatives of the reference, some of them equal.
        let noise = random_view(&mut rng, n);
        views.push(views[0].iter().zip(noise).map(|(v, e)| 2.0 * v + 0.02 * f64::from(i / 3) * e).collect());
    }
    let profile = profile(&views);
    let grid = grid(&profile, &topology(&sizes, &[]));
    for axes in [AxisSet::all(3), AxisSet::from_indices([0, 2]), AxisSet::from_indices([1])] {
        let all = Question { top: None, ..Question::new(view(0), axes) };
        let full = correlate(&profile, &grid, &all, &Run::new(ONE)).unwrap();
        assert_eq!((full.rows.len(), full.n_transformed), (101, 101));
        for (top, jobs) in [(1, 1), (5, 2), (13, 3), (40, 2), (200, 1)] {
            let (top, jobs) = (NonZeroUsize::new(top), NonZeroUsize::new(jobs).unwrap());
            let question = Question { top, ..all.clone() };
            let some = correlate(&profile, &grid, &question, &Run::new(jobs)).unwrap();
            let n = top.unwrap().get().min(101);
            assert_eq!(some.rows, full.rows[..n]);
            assert_eq!(some.n_views, 101);
        }
    }
}

#[test]
fn unused_axes_select_nothing() {
    let mut rng = Rng::new(3);
    let views = [random_view(&mut rng, 6), random_view(&mut rng, 6)];
    let rows = ask(&views, &[1, 6], AxisSet::from_indices([0]));
    assert_eq!(rows[0].r.to_bits(), 0);
    let profile = profile(&views);
    let _: Grid = grid(&profile, &topology(&[2, 3], &[]));
    assert_eq!(profile.definitions().locations.len(), 6);
}
