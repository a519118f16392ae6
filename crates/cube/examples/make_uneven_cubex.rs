//! Writes a profile with bottlenecks: `make_uneven_cubex OUT REGIONS PROCESSES`.
//!
//! Phases of ten regions each. Processes are of ten kinds, by their rank modulo ten, that differ in the time and the
//! instructions of two regions; everything else varies by up to two per cent.

use ouzel_cube::{
    Anchor, AnchorCnode, AnchorGroup, AnchorLocation, AnchorMetric, AnchorRegion, AnchorSystemNode,
    SystemNodeKind, Writer,
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
    let arguments: Vec<String> = std::env::args().collect();
    let [_, out, n_regions, n_processes] = &arguments[..] else {
        return Err("usage: make_uneven_cubex OUT REGIONS PROCESSES".into());
    };
    let (n_regions, n_processes): (u32, u32) = (n_regions.parse()?, n_processes.parse()?);
    let anchor = anchor(n_regions, n_processes);
    let mut writer = Writer::new(BufWriter::new(File::create(out)?));
    let all: Vec<u32> = (0..n_regions).collect();
    let mut bytes = Vec::new();
    for (id, (name, _, rate)) in (0..).zip(METRICS) {
        writer.metric(id, &all, 8 * u64::from(n_processes))?;
        for region in 0..n_regions {
            bytes.clear();
            for process in 0..n_processes {
                let is_uneven =
                    UNEVEN.contains(&region) && matches!(name, "time" | "PAPI_TOT_INS" | "PAPI_TOT_CYC");
                let factor = if is_uneven { 10.0 + 5.0 * f64::from(process % 10) } else { 1.0 };
                let base = 1.0 + f64::from(region * 37 % 100) / 50.0;
                let noise = 1.0 + 0.02 * random(process, region, id);
                let own = if region == 0 { 0.0 } else { rate * base * factor * noise };
                bytes.extend_from_slice(&own.to_le_bytes());
            }
            writer.row(u64::from(region), &bytes)?;
        }
    }
    writer.finish(&anchor)?;
    Ok(())
}

/// From 0 to 1, by splitmix64.
fn random(process: u32, region: u32, metric: u32) -> f64 {
    let seed = (u64::from(process) << 32) | (u64::from(region) << 8) | u64::from(metric);
    let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn anchor(n_regions: u32, n_processes: u32) -> Anchor {
    let metric = |(id, (name, unit, _)): (u32, (&str, &str, f64))| AnchorMetric {
        id,
        kind: "EXCLUSIVE".to_owned(),
        display_name: name.to_owned(),
        unique_name: name.to_owned(),
        data_type: "DOUBLE".to_owned(),
        unit: unit.to_owned(),
        ..AnchorMetric::default()
    };
    let name = |id: u32| if id == 0 { "main".to_owned() } else { format!("region_{id}") };
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
    // 0 → (1 → (2, …, 10), 11 → (12, …, 20), …)
    let caller = |id: u32| match id.checked_sub(1)? {
        place if place.is_multiple_of(PER_PHASE) => Some(0),
        place => Some((place / PER_PHASE * PER_PHASE + 1) as usize),
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
        metrics: (0..).zip(METRICS).map(metric).collect(),
        regions: (0..n_regions).map(region).collect(),
        cnodes: (0..n_regions).map(cnode).collect(),
        system_nodes: vec![machine],
        groups: (0..n_processes).map(group).collect(),
        locations: (0..n_processes).map(location).collect(),
        ..Anchor::default()
    }
}
