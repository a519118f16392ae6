//! Bottlenecks between processes, with what differs there.

use crate::advice;
use crate::attributes::{Attribute, AttributeKind};
use crate::clusters::{Clustering, Partition, partition};
use crate::column::{Column, mean};
use crate::input::BottleneckInput;
use crate::output::{BetweenProcesses, Cluster, Critical, External, ExternalCause};
use crate::search::Search;
use crate::vectors::Vectors;

pub(crate) fn external(
    context: &BottleneckInput<'_>,
    search: &Search,
    columns: &[Column<'_>],
    core: &[usize],
    attributes: &[Attribute],
) -> External {
    let members = search.partition.members();
    let by_cluster = |values: &[f64]| -> Vec<f64> {
        let of =
            |members: &Vec<usize>| mean(&members.iter().map(|&process| values[process]).collect::<Vec<_>>());
        members.iter().map(of).collect()
    };
    let times = |region: usize| -> Vec<f64> {
        context.regions.busy[region].iter().map(|time| time * context.scale).collect()
    };
    let sum_of = |regions: &[usize]| {
        let mut sum = vec![0.0; context.processes.len()];
        for &region in regions {
            sum.iter_mut().zip(times(region)).for_each(|(sum, time)| *sum += time);
        }
        sum
    };
    let of_depth_1: Vec<usize> =
        (0..context.regions.regions.len()).filter(|&at| context.regions.regions[at].depth == 1).collect();
    let in_all = by_cluster(&sum_of(&of_depth_1));
    let critical = |at: usize| {
        let ccr = &search.ccr[at];
        Critical {
            regions: ccr.regions.iter().map(|&region| context.name(region)).collect(),
            level: ccr.level,
            time_by_cluster: by_cluster(&sum_of(&ccr.regions)),
        }
    };
    let cause = |region: usize| {
        let times = times(region);
        let differs_by_itself = differs(&times);
        let explained_by: Vec<BetweenProcesses> = core
            .iter()
            .filter(|_| differs_by_itself)
            .filter(|&&at| differs(&columns[at].in_cores[&region]))
            .map(|&at| {
                let values = &columns[at].in_cores[&region];
                between(columns[at].attribute, by_cluster(values), correlation(values, &times))
            })
            .collect();
        let is_explained = !explained_by.is_empty() || !differs_by_itself;
        let tried = columns.iter().filter(|column| column.attribute.kind != AttributeKind::Communication);
        let tried = tried.map(|column| column.attribute.label.clone());
        ExternalCause {
            region: context.name(region),
            time_by_cluster: by_cluster(&times),
            differs_by_itself,
            explained_by,
            unexplained_by: if is_explained { Vec::new() } else { tried.collect() },
            measure_next: if is_explained { Vec::new() } else { advice::measure_next(attributes) },
        }
    };
    let composites = search.composites;
    External {
        clusters: members
            .iter()
            .zip(in_all)
            .map(|(members, time)| Cluster {
                processes: members.iter().map(|&process| context.processes.numbers[process]).collect(),
                time,
            })
            .collect(),
        severity: Some(search.severity).filter(|severity| severity.is_finite()),
        n_clusters_of_depth_1: search.partition_of_depth_1.n_clusters() as u64,
        ccr: (0..search.ccr.len()).map(critical).collect(),
        cccr: search.cccr.iter().map(|&at| critical(at)).collect(),
        n_composites: composites.map(|composites| composites.n_tried),
        is_truncated: composites.is_some_and(|composites| composites.is_truncated),
        causes: search
            .cccr
            .iter()
            .flat_map(|&at| &search.ccr[at].regions)
            .map(|&region| cause(region))
            .collect(),
    }
}

fn differs(values: &[f64]) -> bool {
    let by_itself: Partition = partition(&Vectors::from_columns(values.len(), &[values]), Clustering::Ball);
    by_itself.n_clusters() > 1
}

fn between(attribute: &Attribute, by_cluster: Vec<f64>, correlation: Option<f64>) -> BetweenProcesses {
    let highest = by_cluster.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = by_cluster.iter().copied().fold(f64::INFINITY, f64::min);
    BetweenProcesses {
        attribute: attribute.name.clone(),
        label: attribute.label.clone(),
        unit: attribute.unit.clone(),
        kind: attribute.kind,
        ratio: (lowest > 0.0).then(|| highest / lowest),
        by_cluster,
        correlation,
        advice: advice::between_processes(attribute),
    }
}

/// Pearson's correlation; `None` if either side is constant.
fn correlation(one: &[f64], other: &[f64]) -> Option<f64> {
    let (mean_one, mean_other) = (mean(one), mean(other));
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        one.iter().zip(other).map(|(a, b)| f(a - mean_one, b - mean_other)).sum()
    };
    let spread = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    (spread > 0.0).then(|| (sum(&|a, b| a * b) / spread).clamp(-1.0, 1.0))
}
