//! Writes a profile of a chosen size: `make_cubex OUT CALL_PATHS LOCATIONS METRICS`.
//!
//! A chain of calls with a leaf at each link; values are smooth in the location and differ by call path and metric.

use ouzel_cube::{
    Anchor, AnchorCnode, AnchorGroup, AnchorLocation, AnchorMetric, AnchorRegion, AnchorSystemNode,
    SystemNodeKind, Writer, wide_order,
};
use std::fs::File;
use std::io::BufWriter;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, out, n_paths, n_locations, n_metrics] = &arguments[..] else {
        return Err("usage: make_cubex OUT CALL_PATHS LOCATIONS METRICS".into());
    };
    let (n_paths, n_locations): (u32, u32) = (n_paths.parse()?, n_locations.parse()?);
    let n_metrics: u32 = n_metrics.parse()?;
    let anchor = anchor(n_paths, n_locations, n_metrics);
    let parents: Vec<Option<usize>> = anchor.cnodes.iter().map(|cnode| cnode.parent).collect();
    let wide = wide_order(&parents);
    let mut writer = Writer::new(BufWriter::new(File::create(out)?));
    let all: Vec<u32> = (0..n_paths).collect();
    let mut bytes = Vec::new();
    for (id, metric) in (0..n_metrics).zip(&anchor.metrics) {
        writer.metric(id, &all, 8 * u64::from(n_locations))?;
        for index in 0..n_paths {
            let path = if metric.kind == "INCLUSIVE" { wide[index as usize] } else { index };
            bytes.clear();
            for location in 0..n_locations {
                let value =
                    f64::from(n_paths - path) * (2.0 + f64::from(location % 97) / 97.0) + f64::from(id);
                bytes.extend_from_slice(&value.to_le_bytes());
            }
            writer.row(u64::from(index), &bytes)?;
        }
    }
    writer.finish(&anchor)?;
    Ok(())
}

fn anchor(n_paths: u32, n_locations: u32, n_metrics: u32) -> Anchor {
    let metric = |id: u32| AnchorMetric {
        id,
        kind: if id.is_multiple_of(2) { "INCLUSIVE" } else { "EXCLUSIVE" }.to_owned(),
        display_name: format!("Metric {id}"),
        unique_name: format!("metric_{id}"),
        data_type: "DOUBLE".to_owned(),
        unit: "sec".to_owned(),
        ..AnchorMetric::default()
    };
    let name = |id: u32| format!("function_{id}");
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
    // 0 → (1, 2 → (3, 4 → …)): leaves have odd numbers.
    let cnode = |id: u32| AnchorCnode {
        id,
        callee: id,
        parent: (id > 0).then(|| (id as usize - 1) / 2 * 2),
        line: -1,
        ..AnchorCnode::default()
    };
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
        metrics: (0..n_metrics).map(metric).collect(),
        regions: (0..n_paths).map(region).collect(),
        cnodes: (0..n_paths).map(cnode).collect(),
        system_nodes: vec![machine],
        groups: (0..n_locations).map(group).collect(),
        locations: (0..n_locations).map(location).collect(),
        ..Anchor::default()
    }
}
