//! Profiles on grids, and correlation by its definition: sums over all places, no transform.
#![allow(dead_code, reason = "each test uses its part")]

use ouzel_correlate::{AxisSet, Grid, Peak, View, Weights};
use ouzel_model::{
    Aggregation, CallPathId, CartDimension, CartMembers, CartTopology, LocationId, MetricId, MetricKind,
    MetricValueType,
};
use ouzel_testkit::{Rng, ToyProfile};
use std::f64::consts::TAU;
use std::sync::Arc;

/// A topology over locations 0.. of these sizes; locations in the order of places, but for the places left out.
pub fn topology(sizes: &[u32], missing: &[usize]) -> CartTopology {
    let axis = |(at, &size): (usize, &u32)| CartDimension {
        name: Arc::from(format!("x{at}")),
        size,
        periodic: true,
    };
    let n: usize = sizes.iter().map(|&size| size as usize).product();
    let mut coordinates = Vec::new();
    for place in (0..n).filter(|place| !missing.contains(place)) {
        coordinates.extend(unravel(sizes, place));
    }
    CartTopology {
        name: Arc::from("grid"),
        comm: None,
        dimensions: sizes.iter().enumerate().map(axis).collect(),
        members: CartMembers::Locations((0..(n - missing.len()) as u32).map(LocationId).collect()),
        coordinates,
    }
}

pub fn unravel(sizes: &[u32], place: usize) -> Vec<u32> {
    let mut rest = place;
    let mut at = vec![0; sizes.len()];
    for (at, &size) in at.iter_mut().zip(sizes).rev() {
        *at = (rest % size as usize) as u32;
        rest /= size as usize;
    }
    at
}

pub fn ravel(sizes: &[u32], at: &[u32]) -> usize {
    at.iter().zip(sizes).fold(0, |place, (&at, &size)| place * size as usize + at as usize)
}

pub fn view(path: u32) -> View {
    View { metric: MetricId(0), path: CallPathId(path) }
}

/// A profile of one metric whose views are call paths without a caller; one value for each location.
pub fn profile(views: &[Vec<f64>]) -> ToyProfile {
    let mut profile = ToyProfile::new(views[0].len() as u32);
    let kind = MetricKind::Exclusive;
    let metric = profile.metric("time", kind, MetricValueType::F64, Aggregation::Sum);
    for (i, values) in views.iter().enumerate() {
        let call = profile.call(None, &format!("f{i}"));
        profile.set(metric, call, values);
    }
    profile
}

pub fn grid(profile: &ToyProfile, topology: &CartTopology) -> Grid {
    use ouzel_model::ProfileSource;
    Grid::new(profile.definitions(), topology).expect("the topology is sound")
}

/// Small integers: sums of them are exact.
pub fn random_view(rng: &mut Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.below(21) as f64).collect()
}

/// The result by the definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Direct {
    pub r: f64,
    pub shift: Vec<u32>,
    pub max: f64,
    pub min: f64,
}

/// The spectrum by its definition: V(k) = 1/N Σ v(x) e^(−2πi Σ k x / d), for all k.
pub fn spectrum(sizes: &[u32], values: &[f64]) -> Vec<(f64, f64)> {
    let n = values.len();
    let phase = |k: usize, x: usize| {
        let (k, x) = (unravel(sizes, k), unravel(sizes, x));
        let turns = |((k, x), d): ((&u32, &u32), &u32)| f64::from(k * x % d) / f64::from(*d);
        TAU * k.iter().zip(&x).zip(sizes).map(turns).sum::<f64>()
    };
    let at = |k: usize| {
        let sums = (0..n).fold((0.0, 0.0), |(re, im), x| {
            let (sin, cos) = phase(k, x).sin_cos();
            (re + values[x] * cos, im - values[x] * sin)
        });
        (sums.0 / n as f64, sums.1 / n as f64)
    };
    (0..n).map(at).collect()
}

/// The correlation in space: a view is filtered by multiplying its spectrum by √w, and the filtered views are
/// correlated by sums over places. Missing places are NaN and take the mean.
pub fn direct(sizes: &[u32], v0: &[f64], v1: &[f64], axes: AxisSet, weights: Weights, peak: Peak) -> Direct {
    let n = v0.len();
    let filtered = |v: &[f64]| -> Vec<f64> {
        let present: Vec<f64> = v.iter().copied().filter(|v| !v.is_nan()).collect();
        let mean = present.iter().sum::<f64>() / present.len() as f64;
        let v: Vec<f64> = v.iter().map(|v| if v.is_nan() { mean } else { *v }).collect();
        let spectrum = spectrum(sizes, &v);
        let root = |k: usize| {
            let u: Vec<f64> = unravel(sizes, k)
                .iter()
                .zip(sizes)
                .map(|(&k, &d)| {
                    let signed = if 2 * k > d { f64::from(k) - f64::from(d) } else { f64::from(k) };
                    if weights == Weights::Physical { signed / f64::from(d) } else { signed }
                })
                .collect();
            let all: f64 = u.iter().map(|u| u * u).sum();
            let kept: f64 = axes.iter().filter(|&axis| axis < u.len()).map(|axis| u[axis] * u[axis]).sum();
            if all > 0.0 { (kept / all).sqrt() } else { 0.0 }
        };
        (0..n)
            .map(|x| {
                let at = unravel(sizes, x);
                (0..n)
                    .map(|k| {
                        let turns = |((k, x), d): ((&u32, &u32), &u32)| f64::from(k * x % d) / f64::from(*d);
                        let phase =
                            TAU * unravel(sizes, k).iter().zip(&at).zip(sizes).map(turns).sum::<f64>();
                        root(k) * (spectrum[k].0 * phase.cos() - spectrum[k].1 * phase.sin())
                    })
                    .sum()
            })
            .collect()
    };
    let (f0, f1) = (filtered(v0), filtered(v1));
    let square = |f: &[f64]| f.iter().map(|f| f * f).sum::<f64>();
    let whole = |v: &[f64]| v.iter().filter(|v| !v.is_nan()).map(|v| v * v).sum::<f64>();
    let norm = (square(&f0) * square(&f1)).sqrt();
    if square(&f0) <= 1e-20 * whole(v0) || square(&f1) <= 1e-20 * whole(v1) {
        return Direct { r: 0.0, shift: vec![0; sizes.len()], max: 0.0, min: 0.0 };
    }
    let r: Vec<f64> = (0..n)
        .map(|shift| {
            let shift = unravel(sizes, shift);
            let moved = |x: usize| {
                let to: Vec<u32> =
                    unravel(sizes, x).iter().zip(&shift).zip(sizes).map(|((x, s), d)| (x + s) % d).collect();
                ravel(sizes, &to)
            };
            (0..n).map(|x| f0[x] * f1[moved(x)]).sum::<f64>() / norm
        })
        .collect();
    let max = r.iter().copied().fold(f64::MIN, f64::max);
    let min = r.iter().copied().fold(f64::MAX, f64::min);
    let greatest = max.max(-min);
    let passes = |v: f64| match peak {
        Peak::Absolute => v.abs() >= greatest - 1e-9,
        Peak::Greatest => v >= max - 1e-9,
    };
    let way = |shift: &[u32]| -> u32 { shift.iter().zip(sizes).map(|(&s, &d)| s.min(d - s)).sum() };
    let best = (0..n)
        .filter(|&place| passes(r[place]))
        .map(|place| unravel(sizes, place))
        .min_by_key(|shift| (way(shift), shift.clone()))
        .expect("an extreme is attained");
    Direct { r: r[ravel(sizes, &best)], shift: best, max, min }
}
