//! What processes do: breakdown, idle time, imbalance.

use super::rank_name;
use crate::axis::{Scale, number};
use crate::bars::{Arrangement, Bars, Series, Ticks};
use crate::colour::{Colour, of_region};
use crate::rows::{BarRow, BarRows};
use crate::{Marks, Picture};
use ouzel_analyses::breakdown::BreakdownOutput;
use ouzel_analyses::idle::IdleOutput;
use ouzel_analyses::imbalance::ImbalanceOutput;
use ouzel_model::{Definitions, Ticks as ModelTicks};

/// Series of times of ranks, stacked.
fn by_rank(title: &str, of: &str, names: Vec<String>, parts: Vec<(&str, Colour, Vec<u64>)>) -> Picture {
    let sum = |i: usize| parts.iter().map(|(_, _, ns)| ns[i] as f64).sum::<f64>();
    let scale = Scale::of_ns((0..names.len()).map(sum).fold(0.0, f64::max));
    // The legend leaves out what no process did.
    let seen = parts.into_iter().filter(|(_, _, ns)| ns.iter().any(|&ns| 0 < ns));
    let series = seen.map(|(name, colour, ns)| Series {
        name: name.to_owned(),
        colour,
        values: ns.into_iter().map(|ns| ns as f64 / scale.divisor).collect(),
    });
    let bars = Bars {
        x_name: "rank".to_owned(),
        y_name: format!("time ({})", scale.unit),
        edges: Bars::named_edges(names.len()),
        series: series.collect(),
        ticks: Ticks::Names(names),
        arrangement: Arrangement::Stacked,
    };
    Picture::new(title, of, Marks::Bars(bars.bounded()))
}

/// Computation, communication and their overlap in each process.
pub fn breakdown(output: &BreakdownOutput, definitions: &Definitions, of: &str) -> Picture {
    let ns = |value: &dyn Fn(&ouzel_analyses::breakdown::ProcessBreakdown) -> ModelTicks| -> Vec<u64> {
        output.rows.iter().map(|row| definitions.clock.ns_from_ticks(value(row))).collect()
    };
    let named = |row: &ouzel_analyses::breakdown::ProcessBreakdown| {
        let times = row.times;
        ModelTicks(times.transfer.0.saturating_add(times.unclassified.0))
    };
    let parts = vec![
        ("computation only", Colour::computation(), ns(&|row| row.times.computation)),
        ("overlap of both", Colour::overlap(), ns(&|row| row.times.overlap)),
        ("communication only", Colour::communication(), ns(&|row| row.times.communication)),
        ("other: transfers", Colour::receiving(), ns(&|row| row.times.transfer)),
        ("other: unclassified", Colour::INSIGNIFICANT, ns(&|row| row.times.unclassified)),
        ("other", Colour::OUTSIDE, ns(&|row| row.other().since(named(row)))),
    ];
    let names = output.rows.iter().map(|row| rank_name(row.rank)).collect();
    by_rank("Computation and communication of each process", of, names, parts)
}

/// Idle time of each rank, and the rest of its span.
pub fn idle(output: &IdleOutput, definitions: &Definitions, of: &str) -> Picture {
    let ranks = output.ranks(definitions);
    let ns = |value: &dyn Fn(&ouzel_analyses::idle::RankIdle) -> ModelTicks| -> Vec<u64> {
        ranks.iter().map(|row| definitions.clock.ns_from_ticks(value(row))).collect()
    };
    let parts = vec![
        ("idle: threads", Colour::idle(), ns(&|row| row.threads)),
        ("idle: accelerator streams", Colour::receiving(), ns(&|row| row.streams)),
        ("not idle", Colour::OUTSIDE, ns(&|row| row.span.since(row.idle))),
    ];
    let names = ranks.iter().map(|row| rank_name(row.rank)).collect();
    by_rank("How long each rank waits, summed over its locations", of, names, parts)
}

/// Regions that are drawn.
const MAX_ROWS: usize = 18;

/// Most and mean exclusive time of the regions that lose most.
pub fn imbalance(output: &ImbalanceOutput, definitions: &Definitions, of: &str) -> Picture {
    let shown = &output.rows[..MAX_ROWS.min(output.rows.len())];
    let clock = &definitions.clock;
    let largest = shown.iter().map(|row| clock.ns_from_ticks(row.exclusive.max)).max().unwrap_or(0);
    let scale = Scale::of_ns(largest as f64);
    let rows = shown.iter().map(|row| {
        let name = definitions.region(row.key.region).name.to_string();
        let rank = row.exclusive.max_process.rank;
        BarRow {
            note: format!("× {}  rank {}", number((row.imbalance * 100.0).round() / 100.0), rank_name(rank)),
            colour: of_region(&name, row.class),
            name,
            larger: clock.ns_from_ticks(row.exclusive.max) as f64 / scale.divisor,
            smaller: row.exclusive.mean().ns(clock) as f64 / scale.divisor,
        }
    });
    let marks = BarRows {
        x_name: format!("exclusive time of a process ({})", scale.unit),
        legend: ["maximum (× mean, rank)", "mean over processes"],
        rows: rows.collect(),
    };
    Picture::new("Regions that lose most time to imbalance", of, Marks::Rows(marks))
}
