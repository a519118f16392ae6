//! `ouzel waits`.

use ouzel::model::Definitions;
use ouzel::waits::{
    ChainDelay, ChainWait, ClassSum, DelaysOutput, ImpactRow, PathImpact, WaitChain as Chain, WaitClass,
    WaitRow, WaitsOutput,
};
use serde::Serialize;
use std::sync::Arc;

/// Which calls wait for other ranks, threads or accelerators, of which kind, how long, and for whom.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitsAnswer {
    /// From the first event of the selection to the last.
    pub run_time_ns: u64,
    /// Sum of the classes that are waiting and no part of another one, over all ranks and threads; `null` if unknown, see `missing`.
    pub total_wait_ns: Option<u64>,
    /// Waiting that is only possible, see `certainty`; not in the total. `null` if unknown, see `missing`.
    pub possible_wait_ns: Option<u64>,
    /// Why waiting is unknown: the trace records no messages, no collectives, no teams of threads, no locks and no operations of accelerators; `null` if it is known.
    pub missing: Option<&'static str>,
    /// The classes that occur: those that are added up, then parts of these (direct, indirect, propagating and
    /// terminal only with `--delays`), then `barrier_completion`, `nxn_completion`, `init_completion`, `management`,
    /// `limited_parallelism`, `polling`, `launch_latency`, `serialized_streams`, `device_idle` and
    /// `useless_synchronization`, which are no waiting for a late rank, thread or accelerator.
    pub classes: Vec<WaitClassSum>,
    /// In the order of the classes' roles, most waiting first.
    pub rows: Vec<WaitsRow>,
    /// With `--delays`: which earlier code makes others wait, the most waiting first; else, and if unknown, `null`.
    pub delays: Option<Vec<WaitDelay>>,
    /// With `--delays`: waiting without a known cause, the longest first; else empty. It is the sum of the waits less
    /// all costs of delays.
    pub unexplained: Vec<UnexplainedWait>,
    /// With `--delays`: where the most waiting begins, and how it goes from rank to rank; one chain for each of the
    /// five delays with the highest costs over all classes, highest first; else empty.
    pub chains: Vec<WaitChain>,
    /// With `--delays`: the time of all locations beside the critical path, which tells delays that cost run time from
    /// those that are hidden; else, with `--ranks`, `--region` or `--where`, and if unknown, `null`.
    pub critical_path: Option<WaitsCriticalPath>,
    /// With `--delays`: share of the waiting whose causes are found without an approximation, which is 1 unless memory
    /// does not suffice; else, and if unknown, `null`.
    pub exact_share: Option<f64>,
    /// Messages that were received before they were sent.
    pub clock_violations: WaitClockViolations,
}

/// The waiting of one class.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitClassSum {
    /// What is waited for.
    pub class: &'static str,
    /// The class that it is a part of; `null` if it is none.
    pub part_of: Option<&'static str>,
    /// Time waited, over all ranks and threads, without what is only possible.
    pub wait_ns: u64,
    /// Number of waits.
    pub n: u64,
    /// wait / (run time × ranks, or threads if ranks have several).
    pub share_of_run: f64,
}

/// The waits of one class in one call path.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitsRow {
    /// What is waited for.
    pub class: &'static str,
    /// Names from the outermost region to the call that waits.
    pub call_path: Vec<Arc<str>>,
    /// With `--per rank`: world rank that waits; else `null`.
    pub rank: Option<u32>,
    /// Time waited.
    pub wait_ns: u64,
    /// Number of waits.
    pub n: u64,
    /// The longest wait.
    pub longest_ns: u64,
    /// When the longest wait began, since the trace start.
    pub longest_at_ns: u64,
    /// `certain`, `upper_bound` (which members exchange data is not recorded), `possible` (the send may as well have
    /// been busy) or `doubtful` (more than 1 % of the waits have wrong clocks).
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::WaitCertainty"))]
    pub certainty: &'static str,
    /// The call that is waited for, of several the one with the most waiting; `null` if it is no single call.
    pub culprit: Option<WaitCulprit>,
}

/// The call that is waited for.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitCulprit {
    /// World rank; `null` if it has none.
    pub rank: Option<u32>,
    /// Names from the outermost region.
    pub call_path: Vec<Arc<str>>,
}

/// Waiting of one class that one call path of one rank causes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitDelay {
    /// What is waited for.
    pub class: &'static str,
    /// Names from the outermost region to the code that takes longer than elsewhere; empty outside all regions.
    pub call_path: Vec<Arc<str>>,
    /// World rank that runs it; `null` if it has none.
    pub rank: Option<u32>,
    /// Waiting of those who wait for this rank.
    pub short_term_ns: u64,
    /// Waiting of others, who wait for ranks that waited themselves.
    pub long_term_ns: u64,
}

/// Waiting of one class in one call path whose cause is not known.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnexplainedWait {
    /// What is waited for.
    pub class: &'static str,
    /// Names from the outermost region to the call that waits.
    pub call_path: Vec<Arc<str>>,
    /// Time waited.
    pub wait_ns: u64,
}

/// Code that takes longer than elsewhere, and a chain of waits that follow from it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitChain {
    /// World rank that runs the code; `null` if it has none.
    pub rank: Option<u32>,
    /// Names from the outermost region to the code; empty outside all regions.
    pub call_path: Vec<Arc<str>>,
    /// When this rank and the first one that waits were last together, since the trace start.
    pub start_ns: u64,
    /// When this rank arrived where the first one waits for it, since the trace start.
    pub end_ns: u64,
    /// How much longer the code took this rank in between than the one that waits.
    pub longer_ns: u64,
    /// All waiting of those who wait for this rank because of the code, in this chain or not, of all classes.
    pub short_term_ns: u64,
    /// All waiting of others that follows from it.
    pub long_term_ns: u64,
    /// Number of waits of the chain.
    pub n_waits: u64,
    /// The first 100 of them, in the order of time; each is for the rank of the one before.
    pub waits: Vec<WaitOfChain>,
}

/// A wait of a chain.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitOfChain {
    /// What is waited for.
    pub class: &'static str,
    /// World rank that waits; `null` if it has none.
    pub rank: Option<u32>,
    /// Names from the outermost region to the call that waits.
    pub call_path: Vec<Arc<str>>,
    /// When it began to wait, since the trace start.
    pub start_ns: u64,
    /// How long it waited.
    pub wait_ns: u64,
    /// The part of it that the wait before causes; of the first, the code.
    pub caused_ns: u64,
    /// The call that is waited for.
    pub culprit: WaitCulprit,
}

/// The time of all locations of processes beside the critical path. activity + non-critical + lost = locations × length,
/// if no location is busy for longer than the path.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitsCriticalPath {
    /// Length of the path.
    pub length_ns: u64,
    /// Locations of processes that have events.
    pub n_locations: u64,
    /// Time without waits of locations in call paths, each up to that on the path.
    pub activity_ns: u64,
    /// Time beyond that: making it shorter gains nothing.
    pub non_critical_ns: u64,
    /// What locations are idle while the path takes longer than they do: what better balance could gain.
    pub lost_ns: u64,
    /// The call paths that are on the path, the highest imbalance first.
    pub call_paths: Vec<WaitsCriticalCallPath>,
}

/// A call path that is on the critical path.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitsCriticalCallPath {
    /// Names from the outermost region; empty outside all regions.
    pub call_path: Vec<Arc<str>>,
    /// Time on the path.
    pub critical_ns: u64,
    /// How much more that is than the mean over the locations, without waits; 0 if it is less.
    pub imbalance_ns: u64,
    /// Time of locations up to that on the path.
    pub activity_ns: u64,
    /// Time of locations beyond that.
    pub non_critical_ns: u64,
    /// Time that locations are idle because of this call path.
    pub lost_ns: u64,
}

/// Messages of the selection that were received before they were sent.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitClockViolations {
    /// How many.
    pub n: u64,
    /// The longest time from the receive back to the send.
    pub worst_ns: u64,
}

impl WaitsAnswer {
    /// The shape of `output` with `rows` of it, and of the causes if they are asked for.
    pub fn new(
        output: &WaitsOutput,
        rows: &[WaitRow],
        causes: Option<&DelaysOutput>,
        impact: Option<&PathImpact>,
        definitions: &Definitions,
    ) -> Self {
        let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
        let missing = output.missing();
        let is_known = missing.is_none();
        let class = |&ClassSum { class, wait, n }: &ClassSum| WaitClassSum {
            class: class.as_str(),
            part_of: class.part_of().map(WaitClass::as_str),
            wait_ns: ns(wait),
            n,
            share_of_run: output.share(wait),
        };
        let row = |row: &WaitRow| WaitsRow {
            class: row.class.as_str(),
            call_path: output.names(row.call_path, definitions),
            rank: row.rank.map(|rank| rank.0),
            wait_ns: ns(row.wait),
            n: row.n,
            longest_ns: ns(row.longest),
            longest_at_ns: ns(row.longest_at),
            certainty: row.certainty.as_str(),
            culprit: row.culprit.map(|it| WaitCulprit {
                rank: it.rank.map(|rank| rank.0),
                call_path: output.names(it.call_path, definitions),
            }),
        };
        WaitsAnswer {
            run_time_ns: ns(output.run_time),
            total_wait_ns: is_known.then(|| ns(output.total())),
            possible_wait_ns: is_known.then(|| ns(output.possible())),
            missing,
            classes: output.classes().iter().map(class).collect(),
            rows: rows.iter().map(row).collect(),
            delays: causes.filter(|_| is_known).map(|causes| delays(causes, definitions)),
            unexplained: causes.map_or_else(Vec::new, |causes| unexplained(causes, definitions)),
            chains: causes.map_or_else(Vec::new, |causes| chains(causes, definitions)),
            critical_path: impact.filter(|_| is_known).map(|impact| critical_path(impact, definitions)),
            exact_share: causes.filter(|_| is_known).map(|causes| causes.exact_share(output.total())),
            clock_violations: WaitClockViolations {
                n: output.violations.n,
                worst_ns: ns(output.violations.worst),
            },
        }
    }
}

fn delays(causes: &DelaysOutput, definitions: &Definitions) -> Vec<WaitDelay> {
    let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
    let rows = causes.rows(definitions).into_iter().map(|row| WaitDelay {
        class: row.class.as_str(),
        call_path: causes.names(row.call_path, definitions),
        rank: row.rank.map(|rank| rank.0),
        short_term_ns: ns(row.short_term),
        long_term_ns: ns(row.long_term),
    });
    rows.collect()
}

fn unexplained(causes: &DelaysOutput, definitions: &Definitions) -> Vec<UnexplainedWait> {
    let rows = causes.unexplained_rows().into_iter().map(|row| UnexplainedWait {
        class: row.class.as_str(),
        call_path: causes.names(row.call_path, definitions),
        wait_ns: definitions.clock.ns_from_ticks(row.wait),
    });
    rows.collect()
}

fn chains(causes: &DelaysOutput, definitions: &Definitions) -> Vec<WaitChain> {
    let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
    let rank = |location| definitions.location(location).rank.map(|rank| rank.0);
    let wait = |it: &ChainWait| WaitOfChain {
        class: it.class.as_str(),
        rank: rank(it.location),
        call_path: causes.names(it.call_path, definitions),
        start_ns: ns(it.start),
        wait_ns: ns(it.end.since(it.start)),
        caused_ns: ns(it.caused),
        culprit: WaitCulprit {
            rank: rank(it.culprit.location),
            call_path: causes.names(it.culprit.path, definitions),
        },
    };
    let chain = |Chain { delay, waits, n_waits }: &Chain| {
        let ChainDelay { location, call_path, start, end, longer, short_term, long_term } = *delay;
        WaitChain {
            rank: rank(location),
            call_path: causes.names(call_path, definitions),
            start_ns: ns(start),
            end_ns: ns(end),
            longer_ns: ns(longer),
            short_term_ns: ns(short_term),
            long_term_ns: ns(long_term),
            n_waits: *n_waits,
            waits: waits.iter().map(wait).collect(),
        }
    };
    causes.chains.iter().map(chain).collect()
}

fn critical_path(impact: &PathImpact, definitions: &Definitions) -> WaitsCriticalPath {
    let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
    let row = |row: &ImpactRow| WaitsCriticalCallPath {
        call_path: impact.names(row.call_path, definitions),
        critical_ns: ns(row.critical),
        imbalance_ns: ns(row.imbalance),
        activity_ns: ns(row.activity),
        non_critical_ns: ns(row.non_critical),
        lost_ns: ns(row.lost),
    };
    WaitsCriticalPath {
        length_ns: ns(impact.length),
        n_locations: impact.n_locations,
        activity_ns: ns(impact.sum(|row| row.activity)),
        non_critical_ns: ns(impact.sum(|row| row.non_critical)),
        lost_ns: ns(impact.sum(|row| row.lost)),
        call_paths: impact.rows.iter().filter(|row| 0 < row.critical.0).map(row).collect(),
    }
}
