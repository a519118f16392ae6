//! Instructions and cycles of the useful time.

use crate::metric::Reason;
use crate::time_kind::path_kinds;
use crate::useful::Threads;
use ouzel_analyses::metric_profile::MetricProfileOutput;
use ouzel_analyses::semantics::Class;
use ouzel_model::{Definitions, LocationId, MetricId};
use std::collections::BTreeSet;

/// Names of the counter of completed instructions, in lower case and without the modifiers of perf.
const INSTRUCTIONS: [&str; 5] = [
    "papi_tot_ins",
    "instructions",
    "perf::instructions",
    "perf_count_hw_instructions",
    "perf::perf_count_hw_instructions",
];
/// Likewise, of processor cycles.
const CYCLES: [&str; 8] = [
    "papi_tot_cyc",
    "cycles",
    "cpu-cycles",
    "cpu_cycles",
    "perf::cycles",
    "perf::cpu-cycles",
    "perf_count_hw_cpu_cycles",
    "perf::perf_count_hw_cpu_cycles",
];

/// Useful time outside of regions may be one part in so many of all: counters do not see it. Chosen by the author.
const OUTSIDE_PART: u128 = 100;

/// The two counters of a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CounterIds {
    /// Completed instructions.
    pub instructions: Option<MetricId>,
    /// Processor cycles.
    pub cycles: Option<MetricId>,
}

impl CounterIds {
    /// The counters of a trace, by the names that PAPI and perf give them.
    pub fn of(definitions: &Definitions) -> Self {
        let find = |names: &[&str]| {
            let is_named = |name: &str| {
                let name = name.to_ascii_lowercase();
                let modifiers = name.rsplit_once(':').filter(|(before, mods)| {
                    !before.ends_with(':') && mods.chars().all(|c| "ukhgp".contains(c))
                });
                names.contains(&modifiers.map_or(&*name, |(before, _)| before))
            };
            let metrics = definitions.metrics.iter();
            let found = metrics.enumerate().find(|(_, metric)| metric.is_counter() && is_named(&metric.name));
            found.map(|(i, _)| MetricId::from_index(i))
        };
        CounterIds { instructions: find(&INSTRUCTIONS), cycles: find(&CYCLES) }
    }

    /// Whether there is any.
    pub fn any(self) -> bool {
        self.instructions.is_some() || self.cycles.is_some()
    }
}

/// What the counters gained in the useful time of all threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsefulCounters {
    /// Completed instructions.
    pub instructions: Result<u128, Reason>,
    /// Processor cycles.
    pub cycles: Result<u128, Reason>,
}

impl UsefulCounters {
    /// Of a trace that has none.
    pub fn none() -> Self {
        UsefulCounters {
            instructions: Err(Reason::new("the trace has no counter of instructions, such as PAPI_TOT_INS")),
            cycles: Err(Reason::new("the trace has no counter of cycles, such as PAPI_TOT_CYC")),
        }
    }

    /// Sums what the counters gained in the useful call paths of `threads`, whose profile is of the same pass.
    pub fn new(
        threads: &Threads,
        counters: &MetricProfileOutput,
        definitions: &Definitions,
        classes: &[Class],
    ) -> Self {
        let ids = CounterIds::of(definitions);
        let sum = |id: Option<MetricId>, missing: Reason| match id {
            Some(id) => useful_gain(threads, counters, (definitions, classes), id),
            None => Err(missing),
        };
        let UsefulCounters { instructions, cycles } = UsefulCounters::none();
        let missing = |value: Result<u128, Reason>| value.expect_err("none has reasons alone");
        UsefulCounters {
            instructions: sum(ids.instructions, missing(instructions)),
            cycles: sum(ids.cycles, missing(cycles)),
        }
    }
}

fn useful_gain(
    threads: &Threads,
    counters: &MetricProfileOutput,
    (definitions, classes): (&Definitions, &[Class]),
    id: MetricId,
) -> Result<u128, Reason> {
    let name = &definitions.metrics[id.index()].name;
    let sum = |of: &dyn Fn(&crate::ThreadTimes) -> u64| -> u128 {
        threads.threads.iter().map(|thread| u128::from(of(thread))).sum()
    };
    let (outside, useful) = (sum(&|thread| thread.outside.0), sum(&|thread| thread.useful.0));
    if useful < outside * OUTSIDE_PART {
        let reason =
            "more than 1 % of the useful time is outside of recorded regions, where counters are unknown";
        return Err(Reason::new(reason));
    }
    let paths = path_kinds(&counters.call_paths, definitions, classes);
    let paths = paths.ok_or_else(|| Reason::new("a region filter hides what the time was spent on"))?;
    let wanted: BTreeSet<LocationId> =
        threads.threads.iter().filter(|thread| 0 < thread.useful.0).map(|thread| thread.location).collect();
    let (mut gain, mut n_seen) = (0_u128, 0);
    for location in counters.locations.iter().filter(|location| wanted.contains(&location.location)) {
        let rows = || location.rows.iter().filter(|row| row.metric == id);
        n_seen += usize::from(rows().next().is_some());
        let useful = rows().filter(|row| paths[row.call_path.index()].kind.is_useful());
        gain += useful.map(|row| u128::from(row.exclusive)).sum::<u128>();
    }
    if n_seen < wanted.len() {
        let n_missing = wanted.len() - n_seen;
        let reason = format!("{n_missing} of {} threads have no values of {name}", wanted.len());
        return Err(Reason::new(reason));
    }
    Ok(gain)
}
