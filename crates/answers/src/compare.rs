//! `ouzel compare`.

use crate::EfficiencyAnswer;
use ouzel::efficiency::Efficiencies;
use ouzel::multi_run::{MultiRunOutput, RegionGrowth};
use serde::Serialize;
use std::sync::Arc;

/// Several runs side by side.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompareAnswer {
    /// In the order given.
    pub runs: Vec<ComparedRun>,
    /// With `--metric`: the counter that is compared instead of time.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub metric: Option<String>,
    /// Most over all runs first.
    pub functions: Vec<ComparedRegion>,
    /// The efficiencies of the runs, as `ouzel efficiency` gives them, and whether they scale strongly or weakly; `null`
    /// with `--metric`.
    pub efficiency: Option<EfficiencyAnswer>,
    /// Regions that stop scaling, most excess first: those that take more than ideally by over 1 % of the run time.
    /// Empty where that is unknown or all runs have as many threads or processes.
    pub growing: Vec<ComparedGrowth>,
}

/// A region that takes more time than if it scaled like the reference.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedGrowth {
    /// Name of the region.
    pub region: Arc<str>,
    /// The run with most excess, as named.
    pub path: Arc<str>,
    /// Mean exclusive time of a process there.
    pub mean_ns: u64,
    /// What it would be if it scaled: mean of the reference · its processes / those of the run with strong scaling, mean
    /// of the reference with weak scaling.
    pub ideal_ns: u64,
    /// `mean_ns - ideal_ns`.
    pub excess_ns: u64,
}

/// One run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRun {
    /// The trace as named.
    pub path: Arc<str>,
    /// Number of processes.
    pub n_processes: u64,
    /// From the first event to the last.
    pub run_time_ns: u64,
    /// Whether the others are compared with it: fewest processes; of several, the first.
    pub is_reference: bool,
    /// Run time of the reference / run time; `null` if that is zero.
    pub speed_up: Option<f64>,
    /// Speed-up · processes of the reference / processes; likewise.
    pub efficiency: Option<f64>,
}

/// One region in all runs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRegion {
    /// Name of the region.
    pub region: Arc<str>,
    /// In each run.
    #[serde(flatten)]
    pub values: ComparedValues,
}

/// By run; `null` where the region is not called.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ComparedValues {
    /// Without `--metric`.
    Time {
        /// Exclusive time over all processes, of each run; `null` where the region is not called.
        exclusive_ns: Vec<Option<u64>>,
        /// The same / number of processes.
        mean_ns: Vec<Option<u64>>,
        /// Exclusive time of the process with most; `null` also where several regions have the name.
        max_ns: Vec<Option<u64>>,
    },
    /// With `--metric`.
    Gain {
        /// With `--metric`: what the counter gained, in its unit, instead of `exclusive_ns`.
        exclusive: Vec<Option<u64>>,
        /// With `--metric`: the same / number of processes, instead of `mean_ns`.
        mean: Vec<Option<u64>>,
    },
}

impl CompareAnswer {
    /// The shape of `output`; `metric` names the counter that its values are of, if they are not times, `growths` are the
    /// regions that stop scaling.
    pub fn new(
        output: &MultiRunOutput,
        metric: Option<&str>,
        efficiencies: Option<&Efficiencies>,
        growths: &[RegionGrowth],
    ) -> Self {
        let runs = output.runs.iter().map(|run| ComparedRun {
            path: run.name.clone(),
            n_processes: run.n_processes,
            run_time_ns: run.run_time_ns,
            is_reference: run.is_reference,
            speed_up: run.speed_up,
            efficiency: run.efficiency,
        });
        let functions = output.regions.iter().map(|row| {
            let (exclusive_ns, mean_ns) = (row.exclusive_ns.clone(), row.mean_ns.clone());
            let values = match metric {
                None => ComparedValues::Time { exclusive_ns, mean_ns, max_ns: row.max_ns.clone() },
                Some(_) => ComparedValues::Gain { exclusive: exclusive_ns, mean: mean_ns },
            };
            ComparedRegion { region: row.region.clone(), values }
        });
        CompareAnswer {
            runs: runs.collect(),
            metric: metric.map(str::to_owned),
            functions: functions.collect(),
            efficiency: efficiencies.map(EfficiencyAnswer::new),
            growing: growths
                .iter()
                .map(|growth| ComparedGrowth {
                    region: growth.region.clone(),
                    path: output.runs[growth.run].name.clone(),
                    mean_ns: growth.mean_ns,
                    ideal_ns: growth.ideal_ns,
                    excess_ns: growth.mean_ns - growth.ideal_ns,
                })
                .collect(),
        }
    }
}
