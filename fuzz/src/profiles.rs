//! Questions about profiles: topologies and correlation, kept spectra, causes.

use crate::allocation::{ARCHIVE, bounded};
use crate::archive::dir;
use ouzel_causes::causes;
use ouzel_correlate::{AxisSet, Cache, CacheOwner, Grid, Question, Run, View, correlate, view_on_grid};
use ouzel_model::{
    Aggregation, CallPathId, CartDimension, CartMembers, CartTopology, LocationId, MetricId, MetricKind,
    MetricValueType, ProfileSource, Scope,
};
use ouzel_testkit::{Rng, ToyProfile};
use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Takes bytes from the front of an input; after its end, zeros.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let [byte] = self.take();
        byte
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let n = N.min(self.0.len());
        bytes[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        bytes
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }
}

/// A profile of so many locations and calls of one metric.
fn profile(n_locations: u32, n_calls: u32, mut value: impl FnMut() -> f64) -> ToyProfile {
    let mut profile = ToyProfile::new(n_locations);
    let metric = profile.metric("time", MetricKind::Exclusive, MetricValueType::F64, Aggregation::Sum);
    let main = profile.call(None, "main");
    for i in 0..n_calls {
        let call = profile.call(Some(main), &format!("f{i}"));
        let values: Vec<f64> = (0..n_locations).map(|_| value()).collect();
        profile.set(metric, call, &values);
    }
    profile
}

fn question(n_axes: usize) -> Question {
    let reference = View { metric: MetricId(0), path: CallPathId(1) };
    Question { top: NonZeroUsize::new(2), ..Question::new(reference, AxisSet::all(n_axes)) }
}

/// Axes and coordinates of any size: what a grid takes is bounded by the places that are used.
pub fn topology(data: &[u8]) {
    let mut input = Input(data);
    let (n_locations, n_axes) = (1 + u32::from(input.byte() % 16), usize::from(input.byte() % 34));
    // Sizes are small, or any.
    let number = |input: &mut Input<'_>| match input.byte() {
        255 => input.u32(),
        small => u32::from(small % 32),
    };
    let axis = |size| CartDimension { name: Arc::from(""), size, periodic: size % 2 == 0 };
    let dimensions: Vec<CartDimension> = (0..n_axes).map(|_| axis(number(&mut input))).collect();
    let coordinates: Vec<u32> = (0..n_axes * n_locations as usize).map(|_| number(&mut input)).collect();
    let topology = CartTopology {
        name: Arc::from("any"),
        comm: None,
        dimensions,
        members: CartMembers::Locations((0..n_locations).map(LocationId).collect()),
        coordinates,
    };
    topology.n_missing();
    let mut rng = Rng::new(1);
    let profile = profile(n_locations, 4, || rng.below(100) as f64);
    bounded(data.len(), ARCHIVE, || {
        let Ok(grid) = Grid::new(profile.definitions(), &topology) else { return };
        grid.notices();
        assert!(grid.n_located() == n_locations as usize && grid.n_places() <= 4096);
        let question = question(n_axes);
        if let Ok(found) = correlate(&profile, &grid, &question, &Run::new(NonZeroUsize::MIN)) {
            for row in &found.rows {
                assert!(row.r.abs() <= 1.0 + 1e-9, "{row:?}");
                assert_eq!(row.shift.len(), n_axes);
            }
        }
        let values = view_on_grid(&profile, &grid, question.reference, Scope::Exclusive);
        assert_eq!(values.map_or(0, |values| values.len()), grid.n_places());
    });
}

/// Changes of a file of kept spectra: an offset of two bytes and a new byte each. Checksums count for nothing here.
pub fn spectra(data: &[u8]) {
    static GOOD: OnceLock<(ToyProfile, Grid, Vec<u8>, PathBuf)> = OnceLock::new();
    let cache = |file: &PathBuf| Cache { file: file.clone(), owner: CacheOwner::User, fingerprint: 7 };
    let (profile, grid, good, file) = GOOD.get_or_init(|| {
        let mut rng = Rng::new(1);
        let profile = profile(12, 5, || rng.below(100) as f64);
        let axis = |size| CartDimension { name: Arc::from(""), size, periodic: true };
        let topology = CartTopology {
            name: Arc::from("grid"),
            comm: None,
            dimensions: vec![axis(3), axis(4)],
            members: CartMembers::Locations((0..12).map(LocationId).collect()),
            coordinates: (0..12).flat_map(|at| [at / 4, at % 4]).collect(),
        };
        let grid = Grid::new(profile.definitions(), &topology).expect("it is sound");
        let file = dir("spectra").join("kept");
        drop(fs::remove_file(&file));
        let run = Run { cache: Some(&cache(&file)), ..Run::new(NonZeroUsize::MIN) };
        correlate(&profile, &grid, &question(2), &run).expect("it has an answer");
        let good = fs::read(&file).expect("spectra were kept");
        (profile, grid, good, file)
    });
    let mut bytes = good.clone();
    let mut input = Input(data);
    while !input.0.is_empty() {
        let at = usize::from(u16::from_le_bytes(input.take()));
        let byte = input.byte();
        match bytes.get_mut(at) {
            Some(old) => *old = byte,
            None => bytes.truncate(bytes.len().saturating_sub(usize::from(byte))),
        }
    }
    fs::write(file, &bytes).expect("the directory is ours");
    let run = Run { cache: Some(&cache(file)), ..Run::new(NonZeroUsize::MIN) };
    let found = correlate(profile, grid, &question(2), &run).expect("whatever is kept, there is an answer");
    let definitions = profile.definitions();
    for row in &found.rows {
        assert!(row.view.metric.index() < definitions.metrics.len());
        assert!(row.view.path.index() < definitions.call_tree.len());
    }
    let is_known = |location: LocationId| location.index() < definitions.locations.len();
    assert!(found.notices.iter().all(|notice| notice.location.is_none_or(is_known)));
}

/// Values of any kind in a small profile: where it is slow and why, or why that is unknown.
pub fn why(data: &[u8]) {
    let mut input = Input(data);
    let (n_locations, n_calls) = (1 + u32::from(input.byte() % 9), 1 + u32::from(input.byte() % 7));
    let mut value = || match input.byte() {
        0xff => f64::from_le_bytes(input.take()),
        0xfe => f64::NAN,
        0xfd => f64::INFINITY,
        0xfc => 1e308,
        small => f64::from(small),
    };
    let mut profile = profile(n_locations, n_calls, &mut value);
    for name in ["PAPI_L2_TCM", "PAPI_TOT_INS"] {
        let metric = profile.metric(name, MetricKind::Exclusive, MetricValueType::F64, Aggregation::Sum);
        for call in 0..=n_calls {
            let values: Vec<f64> = (0..n_locations).map(|_| value()).collect();
            profile.set(metric, call, &values);
        }
    }
    bounded(data.len(), ARCHIVE, || {
        // A missing answer has a reason.
        if let Err(error) = causes(&profile, &ouzel_causes::Options::default()) {
            assert!(!error.to_string().is_empty());
        }
    });
}
