//! Messages: by pair of ranks, by size, by rank, over time.

use super::rank_name;
use crate::axis::{Scale, number};
use crate::bars::{Arrangement, Bars, Series, Ticks};
use crate::colour::Colour;
use crate::matrix::Matrix;
use crate::{ColourScale, Marks, Picture};
use ouzel_analyses::comm_matrix::{CommMatrixOutput, TrafficUnit};
use ouzel_analyses::comm_over_time::CommOverTimeOutput;
use ouzel_analyses::message_histogram::Histogram;
use ouzel_model::Definitions;

/// The divisor for values of a unit, and the words for an axis.
fn scaled(unit: TrafficUnit, largest: f64) -> (f64, String) {
    match unit {
        TrafficUnit::Bytes => {
            let scale = Scale::of_bytes(largest);
            (scale.divisor, format!("bytes ({})", scale.unit))
        }
        TrafficUnit::Messages => (1.0, "messages".to_owned()),
    }
}

/// Who sends how much to whom.
pub fn comm_matrix(output: &CommMatrixOutput, unit: TrafficUnit, scale: ColourScale, of: &str) -> Picture {
    let place = |rank| output.ranks.binary_search(&rank);
    let largest = output.cells.iter().map(|cell| unit.of(cell.traffic)).max().unwrap_or(0) as f64;
    let (divisor, value_name) = scaled(unit, largest);
    let cells = output.cells.iter().filter_map(|cell| {
        Some((place(cell.from).ok()?, place(cell.to).ok()?, unit.of(cell.traffic) as f64 / divisor))
    });
    let matrix = Matrix {
        x_name: "receiver (rank)".to_owned(),
        y_name: "sender (rank)".to_owned(),
        value_name,
        names: output.ranks.iter().map(|&rank| rank_name(Some(rank))).collect(),
        cells: cells.collect(),
        scale,
        palette: None,
    };
    let title = match unit {
        TrafficUnit::Bytes => "Bytes sent from rank to rank",
        TrafficUnit::Messages => "Messages sent from rank to rank",
    };
    let unknown: u64 = output.to_unknown.iter().map(|(_, traffic)| traffic.messages).sum();
    let of = match unknown {
        0 => of.to_owned(),
        n => format!("{of} · without {n} messages to unknown receivers").trim_start_matches(" · ").to_owned(),
    };
    Picture::new(title, &of, Marks::Matrix(matrix.bounded()))
}

/// Numbers of messages by size. Bins by powers of two are drawn equally wide.
pub fn message_histogram(histogram: &Histogram, is_log2: bool, of: &str) -> Picture {
    let Histogram { edges, counts } = histogram;
    let scale = Scale::of_bytes(edges.last().copied().unwrap_or(0.0));
    let (x_name, edges, ticks) = if is_log2 {
        let bytes = |&edge: &f64| {
            let own = Scale::of_binary_bytes(edge);
            format!("{} {}", number(edge / own.divisor), own.unit)
        };
        let names = edges.iter().map(bytes).collect();
        let places = (0..edges.len()).map(|i| i as f64).collect();
        ("size of the message (powers of two)".to_owned(), places, Ticks::Edges(names))
    } else {
        let edges = edges.iter().map(|edge| edge / scale.divisor).collect();
        (format!("size of the message ({})", scale.unit), edges, Ticks::Numbers)
    };
    let series = Series {
        name: "messages sent".to_owned(),
        colour: Colour::communication(),
        values: counts.iter().map(|&n| n as f64).collect(),
    };
    let bars = Bars {
        x_name,
        y_name: "messages".to_owned(),
        edges,
        ticks,
        series: vec![series],
        arrangement: Arrangement::Beside,
    };
    Picture::new("Messages by size", of, Marks::Bars(bars.bounded()))
}

/// Series of what was sent and received.
fn two_series(sent: Vec<u64>, received: Vec<u64>, divisor: f64) -> Vec<Series> {
    let values = |counts: Vec<u64>| counts.into_iter().map(|n| n as f64 / divisor).collect();
    vec![
        Series { name: "sent".to_owned(), colour: Colour::communication(), values: values(sent) },
        Series { name: "received".to_owned(), colour: Colour::receiving(), values: values(received) },
    ]
}

/// What each rank sends and receives.
pub fn comm_by_process(output: &CommMatrixOutput, unit: TrafficUnit, of: &str) -> Picture {
    let rows = output.by_process();
    let sent: Vec<u64> = rows.iter().map(|row| unit.of(row.sent)).collect();
    let received: Vec<u64> = rows.iter().map(|row| unit.of(row.received)).collect();
    let largest = sent.iter().chain(&received).copied().max().unwrap_or(0) as f64;
    let (divisor, y_name) = scaled(unit, largest);
    let bars = Bars {
        x_name: "rank".to_owned(),
        y_name,
        edges: Bars::named_edges(rows.len()),
        ticks: Ticks::Names(rows.iter().map(|row| rank_name(Some(row.rank))).collect()),
        series: two_series(sent, received, divisor),
        arrangement: Arrangement::Beside,
    };
    Picture::new("What each rank sends and receives", of, Marks::Bars(bars.bounded()))
}

/// What is sent and received in each bin of time.
pub fn comm_over_time(
    output: &CommOverTimeOutput,
    definitions: &Definitions,
    unit: TrafficUnit,
    of: &str,
) -> Picture {
    let edges = output.grid.edges_ns(definitions);
    let time = Scale::of_ns(edges.last().copied().unwrap_or(0) as f64);
    let sent: Vec<u64> = output.bins.iter().map(|bin| unit.of(bin.sent)).collect();
    let received: Vec<u64> = output.bins.iter().map(|bin| unit.of(bin.received)).collect();
    let largest = sent.iter().chain(&received).copied().max().unwrap_or(0) as f64;
    let (divisor, amount) = scaled(unit, largest);
    let bars = Bars {
        x_name: format!("time since the trace start ({})", time.unit),
        y_name: format!("{amount} in each bin"),
        edges: edges.into_iter().map(|ns| ns as f64 / time.divisor).collect(),
        ticks: Ticks::Numbers,
        series: two_series(sent, received, divisor),
        arrangement: Arrangement::Beside,
    };
    Picture::new("Communication over time", of, Marks::Bars(bars.bounded()))
}
