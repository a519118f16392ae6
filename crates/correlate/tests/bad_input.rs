//! Topologies, values and questions that do not fit: a clear error or notice, never a wrong number.
#![expect(clippy::unwrap_used, reason = "a test")]

mod common;

use common::{direct, grid, profile, random_view, topology, view};
use ouzel_correlate::{
    AxisError, AxisSet, CorrelateError, Grid, GridError, Peak, Question, Run, View, Weights, correlate,
    view_on_grid,
};
use ouzel_model::{
    CallPathId, CartMembers, CartTopology, Level, Location, LocationGroupId, LocationId, LocationKind,
    MetricId, ProfileSource, Scope, WorldRank,
};
use ouzel_testkit::{Rng, ToyProfile};
use std::num::NonZeroUsize;
use std::sync::Arc;

fn error(profile: &ToyProfile, grid: &Grid, question: &Question) -> CorrelateError {
    correlate(profile, grid, question, &Run::new(NonZeroUsize::MIN)).unwrap_err()
}

#[test]
fn a_topology_that_does_not_fit_is_an_error_that_names_it() {
    let profile = profile(&[vec![1.0; 6]]);
    let definitions = profile.definitions();
    let good = topology(&[2, 3], &[]);
    let mut two = good.clone();
    two.coordinates[2..4].copy_from_slice(&[0, 0]);
    let said = Grid::new(definitions, &two).unwrap_err().to_string();
    assert!(said.contains("location 0") && said.contains("location 1") && said.contains("[0, 0]"), "{said}");
    assert!(said.contains("MPI Rank 0") && said.contains("MPI Rank 1"), "{said}");
    let mut outside = good.clone();
    outside.coordinates[11] = 3;
    let said = Grid::new(definitions, &outside).unwrap_err().to_string();
    assert!(said.contains("location 5") && said.contains("x1") && said.contains('3'), "{said}");
    let mut short = good.clone();
    short.coordinates.pop();
    assert!(matches!(Grid::new(definitions, &short), Err(GridError::Coordinates { n_coordinates: 11, .. })));
    let mut foreign = good.clone();
    foreign.members = CartMembers::Locations((100..106).map(LocationId).collect());
    assert!(matches!(Grid::new(definitions, &foreign), Err(GridError::Foreign { n_locations: 6, .. })));
    for sizes in [&[][..], &[0, 3], &[2; 32]] {
        let mut shape = good.clone();
        shape.dimensions = sizes
            .iter()
            .map(|&size| {
                let mut axis = good.dimensions[0].clone();
                axis.size = size;
                axis
            })
            .collect();
        assert!(matches!(Grid::new(definitions, &shape), Err(GridError::Shape { .. })), "{sizes:?}");
    }
}

#[test]
fn places_and_locations_that_are_missing_are_told() {
    let profile = profile(&[vec![1.0; 6]]);
    let definitions = profile.definitions();
    // Four of six locations in a grid of 20 places; one member is unknown.
    let mut few = topology(&[4, 5], &[]);
    few.members = CartMembers::Locations([0, 1, 3, 4, 77].map(LocationId).to_vec());
    few.coordinates = vec![1, 1, 1, 2, 2, 1, 2, 4, 3, 4];
    let grid = Grid::new(definitions, &few).unwrap();
    assert!((grid.coverage() - 0.2).abs() < 1e-12);
    assert_eq!((grid.n_places(), grid.n_located(), grid.place(LocationId(2))), (20, 4, None));
    assert_eq!(grid.location(6), Some(LocationId(0)));
    assert_eq!(grid.coordinates(grid.place(LocationId(4)).unwrap()), [2, 4]);
    let notices = grid.notices();
    let of = |part: &str| notices.iter().find(|notice| notice.message.contains(part)).unwrap();
    assert_eq!((of("are given the mean").level, of("are given the mean").count), (Level::Medium, 16));
    assert_eq!(of("no place").count, 2);
    assert_eq!(of("not locations of the profile").count, 1);
    // Cut to what is used: rows 1 and 2; around the end, columns 4, 0, 1, 2 are as many as 1 to 4.
    let cut = grid.cut_to_used().unwrap();
    assert_eq!(cut.axes().iter().map(|axis| axis.size).collect::<Vec<_>>(), [2, 4]);
    assert_eq!((cut.origin(), cut.n_located()), (&[1, 1][..], 4));
    assert_eq!(cut.coordinates(cut.place(LocationId(4)).unwrap()), [1, 3]);
    assert!(cut.axes().iter().all(|axis| !axis.periodic));
    assert_eq!(cut.cut_to_used(), None);
    // Around the end: columns 4 and 0.
    few.members = CartMembers::Locations([0, 1].map(LocationId).to_vec());
    few.coordinates = vec![0, 4, 0, 0];
    let cut = Grid::new(definitions, &few).unwrap().cut_to_used().unwrap();
    assert_eq!((cut.n_places(), cut.origin()), (2, &[0, 4][..]));
    assert_eq!((cut.place(LocationId(0)), cut.place(LocationId(1))), (Some(0), Some(1)));
}

/// `n_axes` axes of two places, of which as many as there are locations are taken.
fn hypercube(n_axes: usize, places: &[u64]) -> CartTopology {
    let mut topology = topology(&[2], &[]);
    topology.dimensions = vec![topology.dimensions[0].clone(); n_axes];
    topology.members = CartMembers::Locations((0..places.len() as u32).map(LocationId).collect());
    let bits = |place: &u64| (0..n_axes).rev().map(|axis| (place >> axis & 1) as u32).collect::<Vec<_>>();
    topology.coordinates = places.iter().flat_map(bits).collect();
    topology
}

/// What a grid takes is bounded by the places that are used, whatever the product of the axes is.
#[test]
fn a_topology_of_far_more_places_than_locations_is_cut_or_refused() {
    let profile = profile(&[vec![1.0; 8]]);
    let definitions = profile.definitions();
    let near: Vec<u64> = (0..8).collect();
    for n_axes in [13, 24, 31] {
        let grid = Grid::new(definitions, &hypercube(n_axes, &near)).unwrap();
        assert_eq!((grid.n_places(), grid.n_located()), (8, 8), "{n_axes} axes");
        assert_eq!(grid.axes().len(), n_axes, "axes keep their numbers");
        assert_eq!(grid.coordinates(5)[n_axes - 3..], [1, 0, 1]);
        let notice = &grid.notices()[0];
        assert!(notice.message.contains("it is cut to those around the used ones (1x1x"), "{notice}");
        // Far apart: 0 and the last place span everything.
        let mut far = near.clone();
        far[7] = (1 << n_axes) - 1;
        let said = Grid::new(definitions, &hypercube(n_axes, &far)).unwrap_err().to_string();
        assert!(said.contains("\"grid\" (2x2x") && said.contains(&(1_u64 << n_axes).to_string()), "{said}");
        assert!(said.contains("around the 8 used ones") && said.contains("--topology"), "{said}");
    }
    // 4096 places are used however few are taken.
    let far = [0, 1, 2, 3, 4, 5, 6, 4095];
    assert_eq!(Grid::new(definitions, &hypercube(12, &far)).unwrap().n_places(), 4096);
    // Products beyond 64 bits, and two locations in one of such places.
    let mut huge = hypercube(3, &near);
    huge.dimensions.iter_mut().for_each(|axis| axis.size = u32::MAX);
    let grid = Grid::new(definitions, &huge).unwrap();
    assert_eq!((grid.n_places(), grid.origin()), (8, &[0, 0, 0][..]));
    huge.coordinates[0] = u32::MAX - 1;
    assert_eq!(Grid::new(definitions, &huge).unwrap().origin()[0], u32::MAX - 1, "around the end");
    huge.coordinates[0] = u32::MAX / 2;
    let said = Grid::new(definitions, &huge).unwrap_err().to_string();
    assert!(said.contains("more than 2^64 places"), "{said}");
    huge.coordinates = vec![7; 24];
    let said = Grid::new(definitions, &huge).unwrap_err().to_string();
    assert!(said.contains("two locations in place [7, 7, 7]"), "{said}");
}

#[test]
fn processes_with_threads_get_an_axis_more() {
    let mut profile = profile(&[vec![1.0; 2]]);
    let thread = |native_id| Location {
        name: Arc::from("thread"),
        kind: LocationKind::CpuThread,
        group: LocationGroupId(1),
        rank: Some(WorldRank(1)),
        declared_events: None,
        native_id,
    };
    profile.definitions_mut().locations.extend([thread(2), thread(3)]);
    let mut of_groups = topology(&[2], &[]);
    of_groups.members = CartMembers::Groups([0, 1].map(LocationGroupId).to_vec());
    let mut of_ranks = of_groups.clone();
    of_ranks.members = CartMembers::Ranks([0, 1].map(ouzel_model::CommRank).to_vec());
    for topology in [of_groups, of_ranks] {
        let grid = Grid::new(profile.definitions(), &topology).unwrap();
        assert_eq!(grid.axes().iter().map(|axis| axis.size).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(&*grid.axes()[1].name, "thread");
        let places: Vec<_> = (0..4).map(|location| grid.place(LocationId(location))).collect();
        assert_eq!(places, [Some(0), Some(3), Some(4), Some(5)]);
        assert_eq!(grid.location(1), None);
    }
}

#[test]
fn questions_that_have_no_answer_say_why() {
    let mut rng = Rng::new(2);
    let mut profile = profile(&[random_view(&mut rng, 6), vec![0.0; 6]]);
    let empty = profile.metric(
        "empty",
        ouzel_model::MetricKind::Exclusive,
        ouzel_model::MetricValueType::F64,
        ouzel_model::Aggregation::Sum,
    );
    let grid = grid(&profile, &topology(&[2, 3], &[]));
    let all = AxisSet::all(2);
    let said = |reference, axes| error(&profile, &grid, &Question::new(reference, axes)).to_string();
    let of = |metric, path| View { metric: MetricId(metric), path: CallPathId(path) };
    assert!(said(of(empty, 0), all).contains("\"empty\" has no nonzero value in any call path"));
    let zero = said(view(1), all);
    assert!(zero.contains("time") && zero.contains("f1"), "{zero}");
    assert!(said(of(9, 0), all).contains("no such view"));
    assert!(said(of(0, 9), all).contains("no such view"));
    assert!(said(view(0), AxisSet::from_indices([])).contains("no axis"));
    assert!(said(view(0), AxisSet::from_indices([2])).contains("axis 2"));
    let names = |names: &[&'static str]| AxisSet::from_names(&grid, names.iter().copied());
    assert_eq!(names(&["x1", "0"]), Ok(all));
    assert!(matches!(names(&["y"]), Err(AxisError::Unknown { .. })));
    assert_eq!(names(&[]), Err(AxisError::Empty));
    let one = common::profile(&[vec![3.0]]);
    let place = common::grid(&one, &topology(&[1], &[]));
    let said = error(&one, &place, &Question::new(view(0), AxisSet::all(1))).to_string();
    assert!(said.contains("1 location"), "{said}");
}

#[test]
fn values_that_are_not_finite_are_missing_and_told() {
    let mut rng = Rng::new(4);
    let sizes = [4, 3];
    let (v0, mut v1) = (random_view(&mut rng, 12), random_view(&mut rng, 12));
    v1[5] = f64::NAN;
    v1[7] = f64::INFINITY;
    let profile = profile(&[v0.clone(), v1.clone()]);
    let grid = grid(&profile, &topology(&sizes, &[]));
    let axes = AxisSet::from_indices([0]);
    for reference in [0, 1] {
        let question = Question::new(view(reference), axes);
        let found = correlate(&profile, &grid, &question, &Run::new(NonZeroUsize::MIN)).unwrap();
        let (a, mut b) = (v0.clone(), v1.clone());
        b[7] = f64::NAN;
        let (from, to) = if reference == 0 { (&a, &b) } else { (&b, &a) };
        let expected = direct(&sizes, from, to, axes, Weights::Poster, Peak::Absolute);
        assert!((found.rows[0].r - expected.r).abs() < 1e-12);
        let told = found.notices.iter().find(|notice| notice.message.contains("not finite")).unwrap();
        assert_eq!(told.count, 2);
        let coverage = if reference == 0 { found.rows[0].coverage } else { found.coverage };
        assert!((coverage - 10.0 / 12.0).abs() < 1e-12);
    }
    let shown = view_on_grid(&profile, &grid, view(1), Scope::Exclusive).unwrap();
    assert!(shown[5].is_nan() && shown[7].is_nan() && shown.iter().filter(|v| v.is_nan()).count() == 2);
    assert!(view_on_grid(&profile, &grid, view(7), Scope::Exclusive).is_err());
}
