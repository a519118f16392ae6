use crate::bars::{Arrangement, Bars, MAX_BARS, Series, Ticks};
use crate::colour::Colour;
use crate::fields::{Field, FieldAxis, Solid};
use crate::lanes::{Arrow, Interval, Lanes, MAX_ARROWS, MAX_VECTORS};
use crate::matrix::{MAX_CELLS, Matrix};
use crate::pictures::{self, Connections, TimelineRows};
use crate::{ColourScale, ImageFormat, Marks, Palette, Picture};
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_analyses::comm_matrix::{CommMatrix, TrafficUnit};
use ouzel_analyses::semantics::Semantics;
use ouzel_analyses::time_grid::TimeGrid;
use ouzel_analyses::time_profile::TimeProfile;
use ouzel_analyses::timeline::Timeline;
use ouzel_analyses::{By, imbalance};
use ouzel_model::{Ticks as ModelTicks, TimeRange, TraceSource};
use ouzel_testkit::{ToyTrace, run};
use ouzel_waits::{DelaysOutput, Waits};
use std::num::NonZeroU16;

fn trace() -> ToyTrace {
    ToyTrace::new(
        "
        0: enter solve<&> @0, leave @600, enter MPI_Barrier @600, leave @1000
        1: enter solve<&> @0, leave @900, enter MPI_Barrier @900, leave @1000",
    )
}

fn time_profile() -> Picture {
    let trace = trace();
    let range = TimeRange { start: ModelTicks(0), end: ModelTicks(1000) };
    let grid = TimeGrid::new(range, NonZeroU16::new(5).unwrap());
    let output = run(&trace, TimeProfile::new(grid));
    let definitions = trace.definitions();
    let classes = Semantics::default().classes(definitions);
    pictures::time_profile(&output, definitions, &classes, "toy")
}

#[test]
fn a_picture_has_title_axes_with_units_and_a_legend() {
    let svg = time_profile().svg().unwrap();
    for text in ["Where the time went", "time since the trace start (", "locations", "MPI_Barrier", "toy"] {
        assert!(svg.contains(text), "{text} is missing in {svg}");
    }
    assert!(svg.contains("solve&lt;&amp;&gt;"), "names are escaped");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
}

#[test]
fn equal_results_give_equal_files() {
    let (a, b) = (time_profile(), time_profile());
    assert_eq!(a.svg().unwrap(), b.svg().unwrap());
    assert_eq!(a.png().unwrap(), b.png().unwrap());
}

#[test]
fn a_bitmap_shows_what_the_vectors_show() {
    let picture = time_profile();
    let bytes = picture.png().unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (2200, 1240));
    let Marks::Bars(bars) = &picture.marks else { panic!("time profiles are bars") };
    for series in bars.series.iter().filter(|series| series.values.iter().any(|v| 0.1 < *v)) {
        let found = pixels.chunks_exact(3).filter(|pixel| *pixel == series.colour.rgb).count();
        assert!(10_000 < found, "{}: {found} pixels", series.name);
    }
}

#[test]
fn many_bars_become_few_and_keep_their_mean() {
    let n = 10 * MAX_BARS + 3;
    let series =
        Series { name: "x".into(), colour: Colour::idle(), values: (0..n).map(|i| i as f64).collect() };
    let bars = Bars {
        x_name: "rank".into(),
        y_name: "time (s)".into(),
        edges: Bars::named_edges(n),
        ticks: Ticks::Numbers,
        series: vec![series],
        arrangement: Arrangement::Stacked,
    }
    .bounded();
    let n_bars = bars.series[0].values.len();
    assert!(n_bars <= MAX_BARS && bars.edges.len() == n_bars + 1);
    assert_eq!(bars.edges[n_bars].to_bits(), (n as f64 - 0.5).to_bits());
    assert_eq!(bars.series[0].values[0].to_bits(), 5.0_f64.to_bits(), "the mean of 0 to 10");
    assert!(bars.y_name.contains("mean of 11 neighbours"));
}

#[test]
fn many_cells_become_few_and_keep_their_sum() {
    let n = 3 * MAX_CELLS;
    let matrix = Matrix {
        x_name: "receiver".into(),
        y_name: "sender".into(),
        value_name: "messages".into(),
        names: (0..n).map(|i| i.to_string()).collect(),
        cells: (0..n).map(|i| (i, (i + 1) % n, 2.0)).collect(),
        scale: ColourScale::Logarithmic,
        palette: None,
    }
    .bounded();
    assert!(matrix.names.len() <= MAX_CELLS);
    let sum: f64 = matrix.cells.iter().map(|cell| cell.2).sum();
    assert_eq!(sum.to_bits(), (2.0 * n as f64).to_bits());
    let svg = Picture::new("t", "", Marks::Matrix(matrix)).svg().unwrap();
    assert!(svg.len() < 200_000, "{} bytes", svg.len());
}

#[test]
fn nothing_is_a_picture_too() {
    let trace = ToyTrace::new("0: other @0");
    let matrix = run(&trace, CommMatrix::default());
    let profile = run(&trace, CallPathProfile);
    let definitions = trace.definitions();
    let classes = Semantics::default().classes(definitions);
    let judged = imbalance::imbalance(&profile, definitions, &classes, By::Region);
    for picture in [
        pictures::comm_matrix(&matrix, TrafficUnit::Bytes, ColourScale::Logarithmic, ""),
        pictures::comm_by_process(&matrix, TrafficUnit::Messages, ""),
        pictures::imbalance(&judged, definitions, ""),
    ] {
        assert!(picture.svg().unwrap().contains("</svg>") && !picture.png().unwrap().is_empty());
    }
}

#[test]
fn the_ending_says_the_format() {
    let of = |path: &str| ImageFormat::of_path(path.as_ref()).ok();
    assert_eq!(
        [of("a.svg"), of("b.PNG"), of("c"), of("d.pdf")],
        [Some(ImageFormat::Svg), Some(ImageFormat::Png), None, None]
    );
}

fn lanes_of(n: usize) -> Lanes {
    let interval = |i: usize| Interval {
        lane: i % 2,
        from_lane: None,
        range: (i as f64, i as f64 + 1.0),
        colour: if i.is_multiple_of(2) { Colour::computation() } else { Colour::idle() },
    };
    Lanes {
        x_name: "time (s)".to_owned(),
        y_name: "rank".to_owned(),
        names: vec!["0".to_owned(), "1".to_owned()],
        range: (0.0, n as f64),
        intervals: (0..n).map(interval).collect(),
        arrows: (0..n).map(|i| Arrow { from: (i as f64, 0), to: (i as f64 + 0.5, 1) }).collect(),
        path: Vec::new(),
        legend: vec![(Colour::computation(), "solve".to_owned())],
    }
}

#[test]
fn a_timeline_of_a_million_events_is_a_small_file() {
    let picture = |n| Picture::new("lanes", "toy", Marks::Lanes(lanes_of(n)));
    let few = picture(MAX_VECTORS).svg().unwrap();
    assert!(!few.contains("<image"), "few intervals are vectors");
    let many = picture(1_000_000).svg().unwrap();
    assert!(many.contains("data:image/png;base64,"), "many are pixels");
    assert!(many.len() < 1_000_000, "{} bytes", many.len());
}

#[test]
fn arrows_that_are_not_drawn_are_told() {
    let mut lanes = lanes_of(10);
    // Each pair of lanes is an arrow of its own.
    let n_lanes = 70;
    lanes.names = (0..n_lanes).map(|i| i.to_string()).collect();
    let arrows =
        (0..n_lanes).flat_map(|from| (0..n_lanes).map(move |to| Arrow { from: (1.0, from), to: (2.0, to) }));
    lanes.arrows = arrows.collect();
    let n_left_out = lanes.arrows.len() - MAX_ARROWS;
    let svg = Picture::new("lanes", "toy", Marks::Lanes(lanes)).svg().unwrap();
    assert!(svg.contains(&format!("{n_left_out} messages not drawn")), "{n_left_out}");
}

#[test]
fn calls_are_drawn_by_depth() {
    let trace = ToyTrace::new("0: enter main @0, enter solve @100, leave @700, leave @1000");
    let definitions = trace.definitions();
    let output = run(&trace, Timeline::default());
    let classes = Semantics::default().classes(definitions);
    let draw = |rows| {
        let picture = pictures::timeline(&output, definitions, &classes, rows, Connections::default(), "toy");
        let Marks::Lanes(lanes) = picture.marks else { panic!("a timeline has lanes") };
        lanes
    };
    let flames = draw(TimelineRows::Depths);
    assert_eq!(flames.names, ["0", "1"]);
    let lanes: Vec<usize> = flames.intervals.iter().map(|interval| interval.lane).collect();
    assert_eq!(lanes, [0, 1], "main is one interval below solve");
    let rows = draw(TimelineRows::Locations);
    assert_eq!(rows.intervals.len(), 3, "main, solve, main");
    assert_eq!(rows.names.len(), 1);
}

fn fields_over(sizes: &[usize], solid: Solid, value: impl Fn(usize) -> f64) -> Picture {
    let axes = sizes.iter().zip(["x", "y", "z", "core", "thread", "u", "v"]);
    let axes = axes.map(|(&size, name)| FieldAxis { name: name.to_owned(), size }).collect();
    let n = sizes.iter().product();
    let field = |title: &str, unit: &str| Field {
        title: title.to_owned(),
        note: "main › solve".to_owned(),
        unit: unit.to_owned(),
        values: (0..n).map(&value).collect(),
    };
    let all = vec![field("chosen: time", "sec"), field("1. r = 0.9", "occ")];
    pictures::fields("fields", "toy", axes, all, (Palette::Cividis, solid))
}

#[test]
fn each_field_has_axes_and_a_scale_with_its_unit() {
    let svg = fields_over(&[3, 4], Solid::Slices, |i| i as f64).svg().unwrap();
    for text in ["chosen: time", "1. r = 0.9", "main › solve", ">\ns\n<", "occ", "x", "y", "11", "2.75"] {
        assert!(svg.contains(text), "{text} is missing in {svg}");
    }
    assert!(!svg.contains("missing"), "nothing is missing");
    let cells = |i: f64| rgb_text(Palette::Cividis.colour(i / 11.0));
    for i in 0..12 {
        assert!(svg.contains(&cells(f64::from(i))), "the colour of place {i}");
    }
}

fn rgb_text(colour: Colour) -> String {
    let [r, g, b] = colour.rgb;
    format!("#{r:02X}{g:02X}{b:02X}")
}

#[test]
fn missing_places_have_no_colour_of_the_scale() {
    for (sizes, solid) in [
        (&[12][..], Solid::Slices),
        (&[3, 4], Solid::Slices),
        (&[3, 4, 2], Solid::Slices),
        (&[3, 4, 2], Solid::Cubes),
        (&[70, 80], Solid::Slices),
    ] {
        let hole = |i: usize| if i == 5 { f64::NAN } else { (i % 7) as f64 };
        let svg = fields_over(sizes, solid, hole).svg().unwrap();
        assert!(svg.contains("missing"), "{sizes:?}");
        let none = fields_over(sizes, solid, |_| f64::NAN).svg().unwrap();
        assert!(none.contains("no values") && none.contains("all missing"), "{sizes:?}");
    }
}

#[test]
fn a_field_of_many_places_is_a_small_file() {
    for sizes in [&[256, 256][..], &[16, 16, 16, 16], &[8, 8, 8, 8, 4, 2, 2], &[65_536]] {
        let picture = fields_over(sizes, Solid::Slices, |i| ((i * 7919) % 1000) as f64);
        let svg = picture.svg().unwrap();
        assert!(svg.len() < 1_000_000, "{sizes:?}: {} bytes", svg.len());
    }
    let svg = fields_over(&[1500, 1200], Solid::Slices, |i| i as f64).svg().unwrap();
    assert!(svg.contains("mean of") && svg.len() < 1_000_000, "{} bytes", svg.len());
}

#[test]
fn only_faces_that_are_seen_are_drawn() {
    let polygons = |svg: &str| svg.matches("<polygon").count();
    let full = fields_over(&[6, 6, 6], Solid::Cubes, |i| i as f64).svg().unwrap();
    // Two fields, three faces of 6 × 6, each with its bevel.
    assert_eq!(polygons(&full), 2 * 3 * 36 * 2);
    // A hole at the corner nearest to the viewer shows three faces behind it instead of its own three.
    let hole = fields_over(&[6, 6, 6], Solid::Cubes, |i| if i == 215 { f64::NAN } else { i as f64 });
    assert_eq!(polygons(&hole.svg().unwrap()), 2 * 3 * 36 * 2);
    // Too many for cubes: slices.
    let many = fields_over(&[200, 200, 200], Solid::Cubes, |i| i as f64).svg().unwrap();
    assert_eq!(polygons(&many), 0);
}

#[test]
fn fields_of_one_place_or_a_wrong_number_of_values_are_no_panic() {
    let one = fields_over(&[1, 1], Solid::Cubes, |_| 4.0);
    assert!(one.svg().unwrap().contains("</svg>") && !one.png().unwrap().is_empty());
    let axes = vec![FieldAxis { name: "x".to_owned(), size: 3 }];
    let short = Field { title: String::new(), note: String::new(), unit: String::new(), values: vec![1.0] };
    let style = (Palette::default(), Solid::default());
    assert!(pictures::fields("t", "", axes, vec![short], style).svg().is_err());
}

#[test]
fn a_chain_of_waiting_goes_from_rank_to_rank() {
    // Rank 0 is late, 1 waits for it, and 2 for rank 1.
    let trace = ToyTrace::new(
        "0: enter main @0, enter foo @0, leave @100, enter MPI_Send @100, send>1 @100, leave @100, leave @100
         1: enter main @0, enter foo @0, leave @10, enter MPI_Recv @10, recv<0 @100, leave @100, enter foo @100, leave @120, enter MPI_Send @120, send>2 @120, leave @120, leave @120
         2: enter main @0, enter foo @0, leave @10, enter MPI_Recv @10, recv<1 @120, leave @120, leave @120",
    );
    let definitions = trace.definitions();
    let mut waits = run(&trace, Waits::with_dependencies(definitions));
    let dependencies = waits.dependencies.take().unwrap();
    let (delays, _) = dependencies.delays(&run(&trace, dependencies.second_pass()));
    let picture = pictures::waiting_chain(&delays, definitions, "toy");
    let Marks::Lanes(lanes) = &picture.marks else { panic!("ranks are lanes") };
    assert_eq!(lanes.names, ["0", "1", "2"]);
    let drawn: Vec<(usize, (f64, f64))> = lanes.intervals.iter().map(|it| (it.lane, it.range)).collect();
    assert_eq!(drawn, [(0, (0.0, 100.0)), (1, (10.0, 100.0)), (2, (10.0, 120.0)), (1, (100.0, 120.0))]);
    let ends: Vec<_> = lanes.arrows.iter().map(|arrow| (arrow.from, arrow.to)).collect();
    assert_eq!(ends, [((100.0, 0), (100.0, 1)), ((120.0, 1), (120.0, 2))]);
    let svg = picture.svg().unwrap();
    assert!(svg.contains("Rank 0 takes 90 ns longer in foo, and others wait"), "{svg}");
    let none = DelaysOutput { chains: Vec::new(), ..delays };
    assert!(pictures::waiting_chain(&none, definitions, "toy").svg().unwrap().contains("No rank waits"));
}
