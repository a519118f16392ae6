//! Several runs of a program side by side.

use crate::axis::Scale;
use crate::bars::{Arrangement, Bars, Series, Ticks};
use crate::colour::{Colour, of_region};
use crate::{Marks, Picture};
use ouzel_analyses::semantics::{Class, Semantics};
use ouzel_model::{Clock, Definitions, Paradigm, Region, RegionRole};
use std::sync::Arc;

/// Regions with a colour of their own; the rest are merged.
const MAX_REGIONS: usize = 14;

/// One region in all runs.
#[derive(Debug, Clone)]
pub struct RegionInRuns {
    /// Its name.
    pub name: String,
    /// Mean exclusive time of a process, by run, in nanoseconds; `None` where it is not called.
    pub mean_ns: Vec<Option<u64>>,
}

/// Mean exclusive time of a process in each region, stacked, one bar for each run; `regions` most time first.
pub fn runs(names: Vec<String>, regions: &[RegionInRuns], of: &str) -> Picture {
    let value = |region: &RegionInRuns, run: usize| region.mean_ns[run].unwrap_or(0) as f64;
    let total = |run: usize| regions.iter().map(|region| value(region, run)).sum::<f64>();
    let scale = Scale::of_ns((0..names.len()).map(total).fold(0.0, f64::max));
    let n_named = regions.len().min(MAX_REGIONS);
    let in_runs = |regions: &[RegionInRuns]| -> Vec<f64> {
        let sum = |run| regions.iter().map(|region| value(region, run)).sum::<f64>() / scale.divisor;
        (0..names.len()).map(sum).collect()
    };
    let mut series: Vec<Series> = regions[..n_named]
        .iter()
        .zip(classes(regions))
        .map(|(region, class)| Series {
            name: region.name.clone(),
            colour: of_region(&region.name, class),
            values: in_runs(std::slice::from_ref(region)),
        })
        .collect();
    if n_named < regions.len() {
        series.push(Series {
            name: format!("{} other regions", regions.len() - n_named),
            colour: Colour::INSIGNIFICANT,
            values: in_runs(&regions[n_named..]),
        });
    }
    let bars = Bars {
        x_name: "run (processes)".to_owned(),
        y_name: format!("mean exclusive time of a process ({})", scale.unit),
        edges: Bars::named_edges(names.len()),
        ticks: Ticks::Names(names),
        series,
        arrangement: Arrangement::Stacked,
    };
    Picture::new("The same program in several runs", of, Marks::Bars(bars.bounded()))
}

/// The classes of regions of different traces, which are known by name only.
fn classes(regions: &[RegionInRuns]) -> Vec<Class> {
    let clock = Clock { ticks_per_second: 1, offset_ticks: 0, realtime_ns: None, declared_length: None };
    let mut definitions = Definitions::empty(clock);
    let named = |region: &RegionInRuns| Region {
        name: Arc::from(&*region.name),
        canonical_name: None,
        file: None,
        line: None,
        end_line: None,
        role: RegionRole::Unknown,
        paradigm: if region.name.starts_with("MPI_") { Paradigm::Mpi } else { Paradigm::Unknown },
    };
    definitions.set_regions(regions.iter().map(named).collect());
    Semantics::default().classes(&definitions)
}
