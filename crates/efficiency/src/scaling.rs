//! Several runs of a program: how its computation scales.
//!
//! With the useful time `Σu`, the instructions and cycles in it, and the number of threads `N`, all of one run, and
//! those of the reference with an index `r`:
//!
//! ```text
//! computation scaling = Σu_r/Σu · s     instruction scaling = ins_r/ins · s     s = 1 (strong), N/N_r (weak)
//! IPC scaling = (ins/cyc)/(ins_r/cyc_r)   frequency scaling = (cyc/Σu)/(cyc_r/Σu_r)
//! global efficiency = parallel efficiency · computation scaling      speed-up = T_r/T · s
//! ```
//!
//! Law: computation scaling = instruction scaling · IPC scaling · frequency scaling. The reference is the run with the
//! fewest threads, the first of several, among those that have efficiencies. Runs stay in the caller's order.

use crate::metric::{Metric, MetricValue, Reason};
use crate::run::RunEfficiency;

/// What the size of the problem does while the number of threads grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// It stays: ideally the work of all threads together does.
    Strong,
    /// It grows with the number of threads: ideally the work of one thread stays.
    Weak,
}

impl Scaling {
    /// Its name in JSON, in Python and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Scaling::Strong => "strong",
            Scaling::Weak => "weak",
        }
    }
}

/// How it is known how the problem grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalingBasis {
    /// By the instructions in the useful time.
    Instructions,
    /// By the useful time: instructions are not recorded in every run.
    UsefulTime,
    /// The user said so.
    Stated,
}

impl ScalingBasis {
    /// Its name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ScalingBasis::Instructions => "instructions",
            ScalingBasis::UsefulTime => "useful_time",
            ScalingBasis::Stated => "stated",
        }
    }
}

/// Runs grow weakly if the work of a thread shrinks by less than this part: the limit of POP's basic analysis.
const WEAK_ABOVE: f64 = 0.9;

/// The metrics of several runs, in the order of tables.
pub const METRICS: [Metric; 5] = [
    Metric::Global,
    Metric::ComputationScaling,
    Metric::InstructionScaling,
    Metric::IpcScaling,
    Metric::FrequencyScaling,
];

/// A run, with the length of a tick.
#[derive(Debug, Clone, Copy)]
pub struct Scaled<'a> {
    /// Its efficiencies.
    pub run: &'a RunEfficiency,
    /// Ticks of its clock in a second.
    pub ticks_per_second: u64,
}

/// How several runs scale.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalingOutput {
    /// Strong or weak; `None` if no two runs have different numbers of threads: then both are the same.
    pub scaling: Option<(Scaling, ScalingBasis)>,
    /// The run that the others are compared with; `None` if there is none.
    pub reference: Option<usize>,
    /// For each run the values of [`METRICS`].
    pub metrics: Vec<Vec<MetricValue>>,
    /// For each run its speed-up; `None` if it takes no time or has no efficiencies.
    pub speed_ups: Vec<Option<f64>>,
}

/// Compares runs; `stated` says how the problem grows, if the user knows.
pub fn scaling(runs: &[Scaled<'_>], stated: Option<Scaling>) -> ScalingOutput {
    let known = |&i: &usize| 0 < runs[i].run.n_threads;
    let reference = (0..runs.len()).filter(known).min_by_key(|&i| runs[i].run.n_threads);
    let Some(reference) = reference.filter(|_| 1 < runs.len()) else {
        let none = if runs.len() < 2 { "there is only one run" } else { "no run has efficiencies" };
        let missing = |metric: &Metric| MetricValue::new(*metric, Err(Reason::new(none)));
        let metrics = runs.iter().map(|_| METRICS.iter().map(missing).collect()).collect();
        return ScalingOutput {
            scaling: None,
            reference: None,
            metrics,
            speed_ups: runs.iter().map(|_| None).collect(),
        };
    };
    let base = runs[reference];
    let stated = stated.map(|scaling| (scaling, ScalingBasis::Stated));
    let scaling = stated.or_else(|| told(runs, base));
    let is_weak = scaling.is_some_and(|(scaling, _)| scaling == Scaling::Weak);
    let pairs = || {
        runs.iter().map(|&run| {
            let size = part(run.run.n_threads as f64, base.run.n_threads as f64);
            Pair { base, run, grown: if is_weak { size.unwrap_or(1.0) } else { 1.0 } }
        })
    };
    ScalingOutput {
        scaling,
        reference: Some(reference),
        metrics: pairs().map(|pair| pair.metrics()).collect(),
        speed_ups: pairs().map(|pair| pair.speed_up()).collect(),
    }
}

/// Whether the work of a thread stays as their number grows: the mean over the runs with another number of threads of
/// `(work / work of the reference) / (N / N_r)`.
fn told(runs: &[Scaled<'_>], base: Scaled<'_>) -> Option<(Scaling, ScalingBasis)> {
    let n = |run: &Scaled<'_>| run.run.n_threads;
    let others: Vec<&Scaled<'_>> = runs.iter().filter(|run| n(run) != n(&base) && 0 < n(run)).collect();
    let mean = |work: &dyn Fn(&Scaled<'_>) -> Option<f64>| -> Option<f64> {
        let of = |run: &&Scaled<'_>| {
            let grown = part(work(run)?, work(&base)?)?;
            part(grown, part(n(run) as f64, n(&base) as f64)?)
        };
        let ratios = others.iter().map(of).collect::<Option<Vec<f64>>>()?;
        part(ratios.iter().sum(), ratios.len() as f64)
    };
    let (mean, basis) = match mean(&instructions) {
        Some(mean) => (mean, ScalingBasis::Instructions),
        None => (mean(&|run| Some(run.useful()))?, ScalingBasis::UsefulTime),
    };
    Some((if WEAK_ABOVE < mean { Scaling::Weak } else { Scaling::Strong }, basis))
}

fn instructions(run: &Scaled<'_>) -> Option<f64> {
    run.run.counters.instructions.as_ref().ok().map(|&n| n as f64)
}

/// `a / b`; `None` if `b` is zero.
fn part(a: f64, b: f64) -> Option<f64> {
    (0.0 < b).then(|| a / b)
}

impl Scaled<'_> {
    /// Useful time of all threads, in seconds.
    fn useful(&self) -> f64 {
        self.run.useful_sum as f64 / self.ticks_per_second as f64
    }
}

/// A run and what it is compared with.
struct Pair<'a> {
    base: Scaled<'a>,
    run: Scaled<'a>,
    /// How much more work there is.
    grown: f64,
}

impl Pair<'_> {
    fn metrics(&self) -> Vec<MetricValue> {
        if self.run.run.n_threads == 0 {
            let reason = Reason::new("the run has no efficiencies");
            return METRICS.map(|metric| MetricValue::new(metric, Err(reason.clone()))).to_vec();
        }
        let value = |metric| match metric {
            Metric::Global => {
                let parallel = self.run.run.get(Metric::Parallel);
                let known = parallel.ok_or_else(|| Reason::new("the run has no parallel efficiency"))?;
                self.computation().map(|computation| known * computation)
            }
            Metric::ComputationScaling => self.computation(),
            Metric::InstructionScaling => {
                let [ins, ins_r] = self.both(|run| run.run.counters.instructions.clone())?;
                quotient(ins_r, ins).map(|scaling| scaling * self.grown)
            }
            Metric::IpcScaling => {
                let [ins, ins_r] = self.both(|run| run.run.counters.instructions.clone())?;
                let [cyc, cyc_r] = self.both(|run| run.run.counters.cycles.clone())?;
                quotient(quotient(ins, cyc)?, quotient(ins_r, cyc_r)?)
            }
            _ => {
                let [cyc, cyc_r] = self.both(|run| run.run.counters.cycles.clone())?;
                quotient(quotient(cyc, self.run.useful())?, quotient(cyc_r, self.base.useful())?)
            }
        };
        METRICS.map(|metric| MetricValue::new(metric, value(metric))).to_vec()
    }

    fn computation(&self) -> Result<f64, Reason> {
        quotient(self.base.useful(), self.run.useful()).map(|scaling| scaling * self.grown)
    }

    /// A counter of the run and of the reference.
    fn both(&self, of: impl Fn(&Scaled<'_>) -> Result<u128, Reason>) -> Result<[f64; 2], Reason> {
        let base = of(&self.base).map_err(|reason| Reason::new(format!("in the reference, {reason}")))?;
        Ok([of(&self.run)? as f64, base as f64])
    }

    fn speed_up(&self) -> Option<f64> {
        if self.run.run.n_threads == 0 {
            return None;
        }
        let seconds = |run: &Scaled<'_>| run.run.run_time.0 as f64 / run.ticks_per_second as f64;
        part(seconds(&self.base), seconds(&self.run)).map(|speed_up| speed_up * self.grown)
    }
}

fn quotient(a: f64, b: f64) -> Result<f64, Reason> {
    part(a, b).ok_or_else(|| Reason::new("there is nothing useful to divide by"))
}
