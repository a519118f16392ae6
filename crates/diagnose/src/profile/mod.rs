//! The report on a stored profile: where the time is, how evenly, and what sums over the run cannot tell.
//!
//! ```text
//! profile ──location_totals──► Lanes ──Times::read──► path sums ─┬─► shares, hot call paths, efficiencies
//!                                                                ├─► imbalances, slow ranks
//!                                       metrics of Scalasca ─────┴─► waiting, delays
//! ```
//!
//! A profile has sums over the run: no phases, no order, no messages. Law: what follows from sums is told as exact, what
//! depends on when things happened is a bound (`≤`) with its assumption or is missing with a reason. Shares are parts of
//! the time of all threads, gains parts of the time of the longest thread. Reading files is done elsewhere.

mod card;
mod imbalance;
mod lanes;
mod shares;
mod table;
#[cfg(test)]
mod tests;
mod times;
mod waiting;
mod words;

pub use card::{ProfileCard, ProfileTimeMetric};
pub use shares::ShareKind;

use crate::findings::Ranks;
use crate::findings::words::percent;
use crate::losses::RankTime;
use crate::{EfficiencyCard, TrustCard};
use imbalance::Found;
use lanes::Lanes;
use ouzel_analyses::semantics::{Category, Class, Family, Semantics, mpi_function};
use ouzel_causes::{Causes, RegionName, TimeKind, run_time_metric};
use ouzel_model::units::{counted, time};
use ouzel_model::{CallPathId, LocationId, Notice, ProfileSource, Region, SeverityError};
use serde::Serialize;
use std::sync::Arc;
use times::{LocationTotals, Metrics, Times};

/// Call paths with less of the time of all threads, callees included, are left out of the report.
const LEAST_SHARE: f64 = 0.001;
/// Of CPU time, a thread with less than this part of the longest is left out: a helper that sleeps has next to none.
const LEAST_CPU_PART: f64 = 0.01;
/// Samples of computation of the busiest thread below which its time says too little.
const LEAST_SAMPLES: f64 = 10.0;

/// A thread that waits for the outside, as in `poll`, for this part of its time is a helper of a library: it has no share
/// of the work.
const LEAST_OUTSIDE: f64 = 0.99;

/// Ranks with costly visits are named where the longest spends this part of its time.
const LEAST_COSTLY: f64 = 0.01;

/// The one page about a stored profile, as data.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileReport {
    /// What ran.
    pub profile: ProfileCard,
    /// How far the answer can be trusted.
    pub trust: TrustCard,
    /// The profile in a sentence.
    pub headline: String,
    /// What the time of all threads is spent on, most first.
    pub shares: Vec<TimeShare>,
    /// How well the time of the threads was used; `null` where that is not known, see `efficiency_missing`.
    /// Serialisation and transfer are always `null`: they need to know when messages are sent.
    pub efficiency: Option<EfficiencyCard>,
    /// Why there are no efficiencies; `null` if there are.
    pub efficiency_missing: Option<String>,
    /// Uneven work, most gain first. Each gain is that of its own change; they do not add up.
    pub imbalances: Vec<ProfileImbalance>,
    /// Ranks whose visits take longer nearly everywhere, while all ranks enter equally often.
    pub slow_ranks: Vec<SlowRank>,
    /// Waiting by class as the tool that wrote the profile measured it, most first; empty if it did not.
    pub waiting: Vec<WaitingClass>,
    /// What makes others wait, likewise.
    pub delays: Vec<WaitingClass>,
    /// Where the time is: the call paths with at least 0.1 % of the time of all threads, callees included; most time
    /// without callees first.
    pub call_paths: Vec<ProfileCallPath>,
    /// What `ouzel causes` finds, in brief; `null` if it has no answer, see `causes_missing`.
    pub causes: Option<CausesBrief>,
    /// Why `ouzel causes` has no answer; `null` if it has.
    pub causes_missing: Option<String>,
    /// What this profile cannot tell, one sentence each.
    pub unknown: Vec<String>,
}

/// Part of the time of all threads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeShare {
    /// What it is spent on.
    pub kind: ShareKind,
    /// Time of all threads.
    pub time_ns: u64,
    /// `time_ns / time of all threads`.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub fraction: f64,
}

/// A call path and its time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileCallPath {
    /// Regions from the outermost.
    pub call_path: Vec<Arc<str>>,
    /// What its own time is spent on.
    pub kind: ShareKind,
    /// Time of all threads without callees.
    pub exclusive_ns: u64,
    /// Time of all threads with callees.
    pub inclusive_ns: u64,
    /// `exclusive_ns / time of all threads`.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub exclusive_fraction: f64,
    /// Mean over the processes of the time without callees; of several threads, the one with most.
    pub mean_ns: u64,
    /// The process with most of it.
    pub most: RankTime,
    /// The process with the least.
    pub least: RankTime,
    /// How often it is entered by all threads; `null` if that is not counted.
    pub n_visits: Option<u64>,
    /// `exclusive_ns / n_visits`, rounded down; `null` without visits.
    pub per_visit_ns: Option<u64>,
    /// Ranks whose visits take more than twice those of the fastest rank, where all ranks enter equally often and one
    /// spends 1 % of the longest thread's time: they have more to do per visit, are preempted, or are on a slower core.
    pub costly_ranks: Ranks,
}

/// Work that is spread unevenly, by sums over the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileImbalance {
    /// Between what.
    pub kind: ProfileImbalanceKind,
    /// What and where, in words.
    pub title: String,
    /// Who has how much, in words.
    pub sentence: String,
    /// Under which condition the gain is a bound.
    pub assumption: String,
    /// What the run gains at most by an even spread.
    pub gain_at_most_ns: u64,
    /// `gain_at_most_ns / time of the longest thread`.
    #[cfg_attr(feature = "schema", schemars(range(min = 0.0, max = 1.0)))]
    pub gain_at_most_fraction: f64,
    /// The deepest call path that has most of the difference, with its callees.
    pub call_path: Vec<Arc<str>>,
    /// `file:line` of the last region; `null` if not recorded.
    pub source: Option<String>,
    /// Mean over the processes of the computation here; of several threads, the one with most.
    pub mean_ns: u64,
    /// The process with most of it.
    pub most: RankTime,
    /// The process with the least.
    pub least: RankTime,
    /// All time here, of all threads, callees included.
    pub inclusive_ns: u64,
    /// How long a visit takes; `null` unless all ranks enter equally often.
    pub per_visit: Option<PerVisit>,
}

/// Between what work is uneven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProfileImbalanceKind {
    /// Between processes.
    BetweenRanks,
    /// Between the threads of a process.
    BetweenThreads,
    /// One thread of each process at most computes.
    OneThread,
}

/// How long a visit takes where all ranks enter equally often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PerVisit {
    /// Visits of each rank.
    pub n_visits: u64,
    /// Mean computation in a visit of the rank with most.
    pub most_ns: u64,
    /// The same of the rank with the least.
    pub least_ns: u64,
}

/// A rank whose visits take longer nearly everywhere.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SlowRank {
    /// The rank.
    pub rank: u32,
    /// How many times the median its visits take where they take longer.
    pub factor: f64,
    /// Its time there − what as many visits of the median rank take.
    pub excess_ns: u64,
    /// Number of call paths where its visits take longer.
    pub n_call_paths: u64,
    /// This in words, with what it may mean.
    pub sentence: String,
}

/// A class of waiting, or of what makes others wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingClass {
    /// The metric in the profile.
    pub metric: String,
    /// The class that it is part of; `null` if none.
    pub part_of: Option<String>,
    /// What it means.
    pub meaning: String,
    /// Over all locations.
    pub time_ns: u64,
    /// Where most of it is, most first; at most three.
    pub call_paths: Vec<WaitingPath>,
}

/// A call path of a class of waiting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitingPath {
    /// Regions from the outermost.
    pub call_path: Vec<Arc<str>>,
    /// Over all locations, without callees.
    pub time_ns: u64,
    /// World rank of the location with most; `null` if it has none.
    pub most_rank: Option<u32>,
    /// Its time.
    pub most_ns: u64,
}

/// What `ouzel causes` finds, in brief.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CausesBrief {
    /// Processes compared.
    pub n_processes: u64,
    /// Kinds of processes; 1 if all are alike.
    pub n_kinds: u64,
    /// Where processes differ, and what explains it.
    pub between_processes: Vec<CauseBrief>,
    /// What costs most in every process, and what explains it.
    pub within_processes: Vec<CauseBrief>,
}

/// A region and what explains it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CauseBrief {
    /// Regions from the outermost.
    pub call_path: Vec<Arc<str>>,
    /// Whether it is about the last region without the regions it calls.
    pub itself: bool,
    /// Attributes that are uneven or high in the same way; empty if none explains it.
    pub explained_by: Vec<String>,
}

/// Nanoseconds of `seconds`, rounded to the next; 0 for what is negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of floats stops at the ends"
)]
fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// What a report on a profile is made from, beside the profile.
#[derive(Debug)]
pub struct ProfileInputs<'a> {
    /// What regions mean.
    pub semantics: &'a Semantics,
    /// What went wrong while opening.
    pub notices: &'a [Notice],
    /// Bottlenecks and what explains them, or why there is no answer.
    pub causes: Result<&'a Causes, String>,
}

impl ProfileReport {
    /// The report on a profile, and what went wrong while reading it.
    ///
    /// # Errors
    /// If severities cannot be read.
    pub fn new(
        source: &dyn ProfileSource,
        inputs: &ProfileInputs<'_>,
    ) -> Result<(ProfileReport, Vec<Notice>), SeverityError> {
        let definitions = source.definitions();
        let metric = run_time_metric(source);
        let classes: Vec<Class> =
            definitions.regions.iter().map(|region| class(region, inputs.semantics)).collect();
        let kinds = shares::kinds(definitions, &classes);
        let totals = match metric {
            Some((metric, _, scale)) => times::location_totals(source, (metric, scale), &kinds)?,
            None => LocationTotals::new(definitions.locations.len()),
        };
        let longest = totals.all.iter().copied().fold(0.0, f64::max);
        let least = match metric {
            Some((_, TimeKind::Cpu, _)) => LEAST_CPU_PART * longest,
            _ => 0.0,
        };
        let lanes =
            Lanes::new(definitions, &|id: LocationId| least < totals.all[id.index()], &|id: LocationId| {
                LEAST_OUTSIDE * totals.all[id.index()] <= totals.outside[id.index()]
            });
        let mut times = Times::default();
        if let Some((metric, _, scale)) = metric.filter(|_| 0 < lanes.n) {
            let metrics = Metrics {
                time: (metric, scale),
                idle: waiting::idle_metric(definitions).filter(|idle| *idle != metric),
                visits: card::visits_metric(source),
            };
            times = Times::read(source, metrics, &lanes, &kinds)?;
        }
        let card = ProfileCard::new(source, metric, &lanes, &times);
        let rank_of = |id: LocationId| definitions.locations[id.index()].rank;
        let mut notices = inputs.notices.to_vec();
        notices.extend(times.notices.iter().cloned());
        let mut report = ProfileReport {
            trust: TrustCard::of_notices(&notices, &rank_of),
            headline: String::new(),
            shares: time_shares(&times),
            efficiency: None,
            efficiency_missing: None,
            imbalances: Vec::new(),
            slow_ranks: Vec::new(),
            waiting: waiting::waits(source)?,
            delays: waiting::delays(source)?,
            call_paths: Vec::new(),
            causes: inputs.causes.as_ref().ok().map(|causes| CausesBrief::new(causes)),
            causes_missing: inputs.causes.as_ref().err().cloned(),
            unknown: words::unknown(&card, totals.n_negative),
            profile: card,
        };
        let period = report.profile.sampled.then_some(times.least);
        match efficiency(&times, &lanes, period) {
            Ok(card) => report.efficiency = Some(card),
            Err(reason) => report.efficiency_missing = Some(reason.to_owned()),
        }
        if let Some((longest, _)) = times.longest() {
            let found = Found { definitions, lanes: &lanes, times: &times, longest, period };
            report.slow_ranks = found.slow_ranks();
            report.imbalances = found.imbalances(&report.slow_ranks);
            report.call_paths = call_paths(definitions, &lanes, &times, &kinds);
        }
        report.headline = words::headline(&report);
        Ok((report, times.notices))
    }
}

/// What a region means. Some tools record every region as MPI's: one that is not named so is judged by its name. Samples
/// have functions of the C library under their inner names (`__GI___poll`), which wait in a profile of wall-clock time.
fn class(region: &Region, semantics: &Semantics) -> Class {
    let class = semantics.class(region);
    let outer = region.name.trim_start_matches("__GI_").trim_start_matches("__libc_").trim_start_matches('_');
    match class {
        Class { family: Family::Mpi, .. } if mpi_function(&region.name).is_none() => {
            semantics.class_of_name(&region.name)
        }
        // How threads of GNU's OpenMP wait, inlined.
        Class { family: Family::User, .. }
            if ["do_wait", "do_spin"].contains(&outer)
                && region.file.as_ref().is_some_and(|file| file.ends_with("wait.h")) =>
        {
            Class { category: Category::Wait, family: Family::Pthread }
        }
        Class { family: Family::User, .. } if outer.len() < region.name.len() => {
            semantics.class_of_name(outer)
        }
        _ => class,
    }
}

fn time_shares(times: &Times) -> Vec<TimeShare> {
    let all: f64 = times.shares.iter().map(|(_, time)| time).sum();
    let share =
        |&(kind, time): &(ShareKind, f64)| TimeShare { kind, time_ns: ns(time), fraction: time / all };
    let mut shares: Vec<TimeShare> = times.shares.iter().filter(|(_, time)| 0.0 < *time).map(share).collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.time_ns));
    shares
}

/// The efficiencies: the longest thread's time in place of the run time.
fn efficiency(times: &Times, lanes: &Lanes, period: Option<f64>) -> Result<EfficiencyCard, &'static str> {
    let Some((longest, _)) = times.longest() else { return Err("the profile has no time") };
    let (sum, max) = times.useful.iter().fold((0.0, 0.0_f64), |(sum, max), &u| (sum + u, max.max(u)));
    if max <= 0.0 {
        return Err("no host thread computes: all time is in libraries or waiting");
    }
    if period.is_some_and(|period| max < LEAST_SAMPLES * period) {
        return Err("no thread computes for ten samples: so few cannot be compared");
    }
    let mean = sum / lanes.n as f64;
    Ok(EfficiencyCard {
        n_compared: lanes.n as u64,
        of_threads: lanes.is_multithreaded(),
        parallel: (mean / longest).min(1.0),
        load_balance: (mean / max).min(1.0),
        communication: (max / longest).min(1.0),
        serialisation: None,
        transfer: None,
    })
}

fn call_paths(
    definitions: &ouzel_model::ProfileDefinitions,
    lanes: &Lanes,
    times: &Times,
    kinds: &[(ShareKind, bool)],
) -> Vec<ProfileCallPath> {
    let all: f64 = times.totals.iter().sum();
    let longest = times.longest().map_or(0.0, |(time, _)| time);
    let mut paths: Vec<CallPathId> = definitions.call_tree.paths().collect();
    paths.retain(|path| LEAST_SHARE * all <= times.paths[path.index()].inclusive);
    paths.sort_by(|a, b| {
        let own = |path: &CallPathId| times.paths[path.index()].exclusive;
        own(b).total_cmp(&own(a)).then(a.cmp(b))
    });
    let rank = |(value, at): (f64, usize)| RankTime { rank: lanes.processes[at].rank, time_ns: ns(value) };
    let row = |path: CallPathId| {
        let sums = &times.paths[path.index()];
        let n_visits = sums.visits.map(|visits| ns(visits.sum / 1e9));
        let is_worth_it = LEAST_COSTLY * longest <= sums.own.most.0;
        let costly = sums.costly.iter().filter(|_| is_worth_it).filter_map(|&at| lanes.processes[at].rank);
        ProfileCallPath {
            call_path: definitions.call_path_names(path),
            kind: kinds[path.index()].0,
            exclusive_ns: ns(sums.exclusive),
            inclusive_ns: ns(sums.inclusive),
            exclusive_fraction: sums.exclusive / all,
            mean_ns: ns(sums.own.mean),
            most: rank(sums.own.most),
            least: rank(sums.own.least),
            n_visits,
            per_visit_ns: n_visits.and_then(|n| ns(sums.exclusive).checked_div(n)),
            costly_ranks: Ranks::new(costly),
        }
    };
    paths.into_iter().map(row).collect()
}

impl CausesBrief {
    fn new(causes: &Causes) -> Self {
        let brief = |region: &RegionName, explained_by: Vec<String>| CauseBrief {
            call_path: region.call_path.clone(),
            itself: region.itself,
            explained_by,
        };
        let between = causes.external.causes.iter().filter(|cause| cause.differs_by_itself);
        CausesBrief {
            n_processes: causes.processes.n,
            n_kinds: causes.external.clusters.len() as u64,
            between_processes: between
                .map(|cause| {
                    brief(&cause.region, cause.explained_by.iter().map(|of| of.label.clone()).collect())
                })
                .collect(),
            within_processes: causes
                .internal
                .causes
                .iter()
                .map(|cause| {
                    brief(&cause.region, cause.explained_by.iter().map(|of| of.label.clone()).collect())
                })
                .collect(),
        }
    }

    /// This in sentences; `path` writes call paths.
    pub fn sentences(&self, path: &dyn Fn(&[Arc<str>]) -> String) -> Vec<String> {
        let mut sentences = Vec::new();
        match self.n_kinds {
            _ if self.n_processes < 2 => {}
            0 | 1 => sentences.push("By what they compute, all processes are alike.".to_owned()),
            n => sentences.push(format!("By what they compute, the processes are of {n} kinds.")),
        }
        let why = |of: &CauseBrief| match of.explained_by.is_empty() {
            true => "nothing that the profile counts explains it".to_owned(),
            false => format!("explained by {}", of.explained_by.join(", ")),
        };
        let name = |of: &CauseBrief| {
            let itself = if of.itself { " (itself)" } else { "" };
            format!("{}{itself}", path(&of.call_path))
        };
        sentences.extend(
            self.between_processes.iter().map(|of| format!("They differ in {}: {}.", name(of), why(of))),
        );
        sentences
            .extend(self.within_processes.iter().map(|of| format!("Costly: {}; {}.", name(of), why(of))));
        sentences
    }
}

impl ProfileImbalance {
    /// `≤ 3.2 s (12.0 %)`.
    pub fn gain_in_words(&self) -> String {
        format!("≤ {} ({})", time(self.gain_at_most_ns), percent(self.gain_at_most_fraction))
    }
}

impl WaitingClass {
    /// The class in a sentence; `all_ns` is the time of all threads.
    pub fn in_words(&self, path: &dyn Fn(&[Arc<str>]) -> String) -> String {
        let places = self.call_paths.iter().map(|of| {
            let rank = of.most_rank.map(|rank| format!(", most on rank {rank}: {}", time(of.most_ns)));
            format!("{} in {}{}", time(of.time_ns), path(&of.call_path), rank.unwrap_or_default())
        });
        let places: Vec<String> = places.collect();
        format!("{} ({}): {}", self.meaning, self.metric, places.join("; "))
    }
}

impl ProfileReport {
    /// What efficiencies are made from where no run time is known.
    pub fn efficiency_note(&self) -> String {
        let threads = counted(self.profile.n_threads_compared, "thread", "threads");
        let cpu = match self.profile.time_metric.as_ref().map(|metric| metric.kind) {
            Some(TimeKind::Cpu) => "; CPU time, so waiting that sleeps does not count",
            _ => "",
        };
        let idle = match self.profile.n_threads_waiting {
            0 => String::new(),
            n => format!(" ({} of them compute less than 1 % of their time)", ouzel_model::units::count(n)),
        };
        format!(
            "Of {threads}{idle}; the run time is taken as that of the longest thread{cpu}. Serialisation and transfer cannot \
             be computed: a profile does not know when messages are sent."
        )
    }
}
