//! Writes a profile of a chosen size: `make_cubex OUT CALL_PATHS LOCATIONS METRICS` or `make_cubex OUT REGIONS PROCESSES`.
//!
//! The first is a chain of calls with a leaf at each link; values are smooth in the location and differ by call path and
//! metric. The second has bottlenecks: phases of ten regions each; processes are of ten kinds, by their rank modulo ten,
//! that differ in the time and the instructions of two regions; everything else varies by up to two per cent.

use ouzel_cube::{
    Anchor, AnchorCnode, AnchorGroup, AnchorLocation, AnchorMetric, AnchorRegion, AnchorSystemNode,
    SystemNodeKind, Writer, wide_order,
};
use std::fs::File;
use std::io::BufWriter;

/// Name, unit, and the value of a second of time.
const METRICS: [(&str, &str, f64); 8] = [
    ("time", "sec", 1.0),
    ("PAPI_TOT_INS", "#", 2e9),
    ("PAPI_TOT_CYC", "#", 3e9),
    ("PAPI_L2_TCM", "#", 1e6),
    ("PAPI_L2_TCA", "#", 2e7),
    ("io_bytes", "bytes", 1e5),
    ("bytes_sent", "bytes", 3e6),
    ("visits", "occ", 100.0),
];
const PER_PHASE: u32 = 10;
/// The regions in which kinds of processes differ.
const UNEVEN: [u32; 2] = [15, 58];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((out, sizes)) = arguments.split_first() else {
        return Err("usage: make_cubex OUT SIZES".into());
    };
    let sizes = sizes.iter().map(|size| size.parse()).collect::<Result<Vec<u32>, _>>()?;
    match sizes[..] {
        [n_paths, n_locations, n_metrics] => {
            let metrics = (0..n_metrics).map(|id| {
                let kind = if id.is_multiple_of(2) { "INCLUSIVE" } else { "EXCLUSIVE" };
                metric(id, kind, (&format!("Metric {id}"), &format!("metric_{id}")), "sec")
            });
            // 0 → (1, 2 → (3, 4 → …)): leaves have odd numbers.
            let caller = |id: u32| (id > 0).then(|| (id as usize - 1) / 2 * 2);
            let anchor =
                anchor(metrics.collect(), n_paths, n_locations, (caller, |id| format!("function_{id}")));
            let smooth = |metric: u32, path: u32, location: u32| {
                f64::from(n_paths - path) * (2.0 + f64::from(location % 97) / 97.0) + f64::from(metric)
            };
            write(out, &anchor, smooth)
        }
        [n_regions, n_processes] => {
            let metrics =
                (0..).zip(METRICS).map(|(id, (name, unit, _))| metric(id, "EXCLUSIVE", (name, name), unit));
            // 0 → (1 → (2, …, 10), 11 → (12, …, 20), …)
            let caller = |id: u32| match id.checked_sub(1)? {
                place if place.is_multiple_of(PER_PHASE) => Some(0),
                place => Some((place / PER_PHASE * PER_PHASE + 1) as usize),
            };
            let name = |id| if id == 0 { "main".to_owned() } else { format!("region_{id}") };
            write(out, &anchor(metrics.collect(), n_regions, n_processes, (caller, name)), uneven)
        }
        _ => Err("usage: make_cubex OUT CALL_PATHS LOCATIONS METRICS, or OUT REGIONS PROCESSES".into()),
    }
}

/// Writes the values of `value` by metric, call path and location.
fn write(
    out: &str,
    anchor: &Anchor,
    value: impl Fn(u32, u32, u32) -> f64,
) -> Result<(), Box<dyn std::error::Error>> {
    let (n_paths, n_locations) = (anchor.cnodes.len() as u32, anchor.locations.len() as u32);
    let parents: Vec<Option<usize>> = anchor.cnodes.iter().map(|cnode| cnode.parent).collect();
    let wide = wide_order(&parents);
    let mut writer = Writer::new(BufWriter::new(File::create(out)?));
    let all: Vec<u32> = (0..n_paths).collect();
    for (id, metric) in (0..).zip(&anchor.metrics) {
        writer.metric(id, &all, 8 * u64::from(n_locations))?;
        for index in 0..n_paths {
            let path = if metric.kind == "INCLUSIVE" { wide[index as usize] } else { index };
            let row: Vec<u8> =
                (0..n_locations).flat_map(|location| value(id, path, location).to_le_bytes()).collect();
            writer.row(u64::from(index), &row)?;
        }
    }
    writer.finish(anchor)?;
    Ok(())
}

fn uneven(metric: u32, region: u32, process: u32) -> f64 {
    let (name, _, rate) = METRICS[metric as usize];
    let is_uneven = UNEVEN.contains(&region) && matches!(name, "time" | "PAPI_TOT_INS" | "PAPI_TOT_CYC");
    let factor = if is_uneven { 10.0 + 5.0 * f64::from(process % 10) } else { 1.0 };
    let base = 1.0 + f64::from(region * 37 % 100) / 50.0;
    let noise = 1.0 + 0.02 * random(process, region, metric);
    if region == 0 { 0.0 } else { rate * base * factor * noise }
}

/// From 0 to 1, by splitmix64.
fn random(process: u32, region: u32, metric: u32) -> f64 {
    let seed = (u64::from(process) << 32) | (u64::from(region) << 8) | u64::from(metric);
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn metric(id: u32, kind: &str, (display, unique): (&str, &str), unit: &str) -> AnchorMetric {
    AnchorMetric {
        id,
        kind: kind.to_owned(),
        display_name: display.to_owned(),
        unique_name: unique.to_owned(),
        data_type: "DOUBLE".to_owned(),
        unit: unit.to_owned(),
        ..AnchorMetric::default()
    }
}

/// A region for each call path, a process for each location.
fn anchor(
    metrics: Vec<AnchorMetric>,
    n_paths: u32,
    n_locations: u32,
    (caller, name): (impl Fn(u32) -> Option<usize>, impl Fn(u32) -> String),
) -> Anchor {
    let region = |id: u32| AnchorRegion {
        id,
        begin: -1,
        end: -1,
        name: name(id),
        mangled_name: name(id),
        paradigm: "compiler".to_owned(),
        role: "function".to_owned(),
        ..AnchorRegion::default()
    };
    let cnode =
        |id: u32| AnchorCnode { id, callee: id, parent: caller(id), line: -1, ..AnchorCnode::default() };
    let group = |id: u32| AnchorGroup {
        id,
        parent: Some(0),
        name: format!("MPI Rank {id}"),
        rank: i64::from(id),
        kind: "process".to_owned(),
    };
    let location = |id: u32| AnchorLocation {
        id,
        group: Some(id as usize),
        name: "Master thread".to_owned(),
        rank: 0,
        kind: "thread".to_owned(),
    };
    let machine = AnchorSystemNode {
        id: 0,
        kind: SystemNodeKind::Tree,
        parent: None,
        name: "generated".to_owned(),
        class: "machine".to_owned(),
    };
    Anchor {
        version: "4.4".to_owned(),
        metrics,
        regions: (0..n_paths).map(region).collect(),
        cnodes: (0..n_paths).map(cnode).collect(),
        system_nodes: vec![machine],
        groups: (0..n_locations).map(group).collect(),
        locations: (0..n_locations).map(location).collect(),
        ..Anchor::default()
    }
}
