//! `ouzel compare`.

use crate::EfficiencyAnswer;
use ouzel::analyses::By;
use ouzel::efficiency::Efficiencies;
use ouzel::multi_run::{Growth, MultiRunOutput};
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
    /// Call paths that stop scaling, most excess first: those that take more than ideally by over 1 % of the run time.
    /// Empty where that is unknown or all runs have as many threads or processes.
    pub growing: Vec<ComparedGrowth>,
}

/// A call path that takes more time than if it scaled like the reference.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedGrowth {
    /// Name of the region that it ends in.
    pub region: Arc<str>,
    /// Regions from the outermost.
    pub call_path: Vec<Arc<str>>,
    /// The run with most excess, as named.
    pub path: Arc<str>,
    /// Mean exclusive time of a process there.
    pub mean_ns: u64,
    /// What it would be if it scaled: mean of the reference · its processes / those of the run with strong scaling, mean
    /// of the reference with weak scaling; times `iterations` / `reference_iterations` where these are known.
    pub ideal_ns: u64,
    /// `mean_ns - ideal_ns`.
    pub excess_ns: u64,
    /// Iterations of the run; `null` unless they are known and differ from those of the reference.
    pub iterations: Option<u64>,
    /// Those of the reference; likewise.
    pub reference_iterations: Option<u64>,
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
    /// Iterations of the loop of synchronisations that takes most time; `null` if there is none.
    pub n_iterations: Option<u64>,
    /// Whether the others are compared with it: fewest processes; of several, the first.
    pub is_reference: bool,
    /// Run time of the reference / run time; `null` if that is zero.
    pub speed_up: Option<f64>,
    /// Speed-up · processes of the reference / processes; likewise.
    pub efficiency: Option<f64>,
}

/// One region, or one call path, in all runs.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedRegion {
    /// Name of the region; of a call path, of that it ends in.
    pub region: Arc<str>,
    /// With `--call-paths`: regions from the outermost.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub call_path: Option<Vec<Arc<str>>>,
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
    /// The shape of `output`, whose rows are regions or call paths; `metric` names the counter that its values are of, if
    /// they are not times, `growths` are the call paths that stop scaling.
    pub fn new(
        (output, by): (&MultiRunOutput, By),
        metric: Option<&str>,
        efficiencies: Option<&Efficiencies>,
        growths: &[Growth],
    ) -> Self {
        let runs = output.runs.iter().map(|run| ComparedRun {
            path: run.name.clone(),
            n_processes: run.n_processes,
            run_time_ns: run.run_time_ns,
            n_iterations: run.n_iterations,
            is_reference: run.is_reference,
            speed_up: run.speed_up,
            efficiency: run.efficiency,
        });
        let functions = output.rows.iter().map(|row| {
            let (exclusive_ns, mean_ns) = (row.exclusive_ns.clone(), row.mean_ns.clone());
            let values = match metric {
                None => ComparedValues::Time { exclusive_ns, mean_ns, max_ns: row.max_ns.clone() },
                Some(_) => ComparedValues::Gain { exclusive: exclusive_ns, mean: mean_ns },
            };
            let call_path = (by == By::CallPath).then(|| row.place.clone());
            ComparedRegion { region: row.region(), call_path, values }
        });
        CompareAnswer {
            runs: runs.collect(),
            metric: metric.map(str::to_owned),
            functions: functions.collect(),
            efficiency: efficiencies.map(EfficiencyAnswer::new),
            growing: growths
                .iter()
                .map(|growth| ComparedGrowth {
                    region: growth.call_path.last().cloned().unwrap_or_else(|| "".into()),
                    call_path: growth.call_path.clone(),
                    path: output.runs[growth.run].name.clone(),
                    mean_ns: growth.mean_ns,
                    ideal_ns: growth.ideal_ns,
                    excess_ns: growth.mean_ns - growth.ideal_ns,
                    iterations: growth.iterations.map(|(own, _)| own),
                    reference_iterations: growth.iterations.map(|(_, reference)| reference),
                })
                .collect(),
        }
    }
}
