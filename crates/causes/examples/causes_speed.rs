//! Bottlenecks of a profile made up here: `causes_speed HOW REGIONS PROCESSES JOBS`.
//!
//! HOW: `kinds` (ten kinds of processes, that differ in two regions), `everywhere` (two kinds, one slower in every
//! region), `noise` (no process is like another), `drift` (ever slower in one region).

use ouzel_causes::{Options, causes};
use ouzel_model::{Aggregation, MetricKind, MetricValueType};
use ouzel_testkit::{Rng, ToyProfile};
use std::num::NonZeroUsize;

const METRICS: [&str; 8] = [
    "time",
    "PAPI_TOT_INS",
    "PAPI_TOT_CYC",
    "PAPI_L2_TCM",
    "PAPI_L2_TCA",
    "io_bytes",
    "bytes_sent",
    "visits",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, how, n_regions, n_processes, jobs] = &arguments[..] else {
        return Err("usage: causes_speed kinds|everywhere|noise|drift REGIONS PROCESSES JOBS".into());
    };
    let (n_regions, n_processes): (u32, u32) = (n_regions.parse()?, n_processes.parse()?);
    let jobs: NonZeroUsize = jobs.parse()?;
    let mut profile = ToyProfile::new(n_processes);
    let main = profile.call(None, "main");
    let mut calls = Vec::new();
    let mut phase = main;
    for i in 0..n_regions {
        let caller = if i % 10 == 0 { main } else { phase };
        calls.push(profile.call(Some(caller), &format!("region {i}")));
        if i % 10 == 0 {
            phase = calls[i as usize];
        }
    }
    let mut rng = Rng::new(1);
    for name in METRICS {
        let metric = profile.metric(name, MetricKind::Exclusive, MetricValueType::F64, Aggregation::Sum);
        if name != "time" {
            profile.definitions_mut().metrics[metric as usize].unit = "#".into();
        }
        for (i, &call) in calls.iter().enumerate() {
            let base = 1.0 + rng.below(100) as f64 / 50.0;
            let value = |process: u32| {
                let factor = match how.as_str() {
                    "kinds" if i == 14 || i == 57 => 10.0 + 5.0 * f64::from(process % 10),
                    "everywhere" => 1.0 + f64::from(process % 2),
                    "noise" => 0.0,
                    "drift" if i == 33 => 1000.0 * f64::from(process) / f64::from(n_processes),
                    _ => 1.0,
                };
                (process, base * factor)
            };
            let mut values: Vec<(u32, f64)> = (0..n_processes).map(value).collect();
            for (_, value) in &mut values {
                let noise = rng.below(1000) as f64 / 1000.0;
                *value = if how == "noise" { base * noise } else { *value * (1.0 + 0.02 * noise) };
            }
            profile.set_some(metric, call, &values);
        }
    }
    let before = std::time::SystemTime::now();
    let found = causes(&profile, &Options { jobs, ..Options::default() })?;
    println!(
        "{how}: {:.2} s, {} clusters, {} CCR, {} CCCR, {:?} composites, {} internal, {} attributes",
        before.elapsed()?.as_secs_f64(),
        found.external.clusters.len(),
        found.external.ccr.len(),
        found.external.cccr.len(),
        found.external.n_composites,
        found.internal.cccr.len(),
        found.tables.attributes.len()
    );
    Ok(())
}
