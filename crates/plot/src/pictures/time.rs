//! Time in the course of the run.

use crate::axis::Scale;
use crate::bars::{Arrangement, Bars, Series, Ticks};
use crate::colour::{Colour, of_region};
use crate::{Marks, Picture};
use ouzel_analyses::By;
use ouzel_analyses::semantics::Class;
use ouzel_analyses::time_profile::TimeProfileOutput;
use ouzel_model::{Definitions, Ticks as ModelTicks};

/// Regions with a colour of their own; the rest are merged.
const MAX_REGIONS: usize = 16;

/// Exclusive time of each region in each bin, stacked; idle time on top. `classes` has the class of every region.
pub fn time_profile(
    output: &TimeProfileOutput,
    definitions: &Definitions,
    classes: &[Class],
    of: &str,
) -> Picture {
    let ns = |ticks: ModelTicks| definitions.clock.ns_from_ticks(ticks) as f64;
    let edges: Vec<f64> = output.grid.edges_ns(definitions).into_iter().map(|ns| ns as f64).collect();
    let time = Scale::of_ns(edges.last().copied().unwrap_or(0.0));
    let functions = output.functions(definitions, By::Region);
    // Time in bins as a number of locations, which can be read off whatever the width of a bin.
    let widths: Vec<f64> = edges.windows(2).map(|edge| (edge[1] - edge[0]).max(1.0)).collect();
    let values = |exclusive: &[ModelTicks]| -> Vec<f64> {
        exclusive.iter().zip(&widths).map(|(&ticks, width)| ns(ticks) / width).collect()
    };
    let mut series: Vec<Series> = functions
        .iter()
        .take(MAX_REGIONS)
        .map(|row| {
            let name = definitions.region(row.key.region).name.to_string();
            let colour = of_region(&name, classes[row.key.region.index()]);
            Series { name, colour, values: values(&row.exclusive) }
        })
        .collect();
    if MAX_REGIONS < functions.len() {
        let mut rest = vec![0.0; widths.len()];
        for row in &functions[MAX_REGIONS..] {
            rest.iter_mut().zip(values(&row.exclusive)).for_each(|(sum, value)| *sum += value);
        }
        let name = format!("{} other regions", functions.len() - MAX_REGIONS);
        series.push(Series { name, colour: Colour::INSIGNIFICANT, values: rest });
    }
    series.push(Series {
        name: "in no region".to_owned(),
        colour: Colour::OUTSIDE,
        values: values(&output.idle),
    });
    let bars = Bars {
        x_name: format!("time since the trace start ({})", time.unit),
        y_name: "locations (mean number in the region)".to_owned(),
        edges: edges.into_iter().map(|ns| ns / time.divisor).collect(),
        ticks: Ticks::Numbers,
        series,
        arrangement: Arrangement::Stacked,
    };
    Picture::new("Where the time went during the run", of, Marks::Bars(bars.bounded()))
}
