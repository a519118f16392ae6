//! Uneven work, as far as sums over the run show it.
//!
//! With the time x of a process that computes in a call path and its callees (of its threads, the one with most):
//!
//! ```text
//! between ranks      max(x) − mean(x)                      between threads    mean over ranks of max − mean of its threads
//! bound              ≤ T − mean(u): time that is no computation of the ranks, with T of the longest
//! ```
//!
//! A call path is named if no callee has 70 % of its difference, and no caller is named in its place. Law: the gain is
//! not more than the time that the longest rank spends there.

use super::times::{PathSums, Slowness, Times, VisitSpread};
use super::{PerVisit, ProfileImbalance, ProfileImbalanceKind, SlowRank, ns};
use crate::findings::words::percent;
use crate::losses::RankTime;
use crate::profile::lanes::Lanes;
use ouzel_model::units::{count, time};
use ouzel_model::{CallPathId, ProfileDefinitions};

/// Differences below this part of the longest rank's time are no findings, as in reports of traces.
const LEAST_PART: f64 = 0.01;
/// A callee with this part of the difference is named in place of its caller, as in loss trees.
const EXPLAINS: f64 = 0.7;
/// A rank is slow if its visits take longer in this part of what can be compared.
const SLOW_PART: f64 = 0.8;
/// What is compared must be this part of what the rank computes.
const JUDGED_PART: f64 = 0.5;

/// Of samples, a difference counts if it is so many standard deviations of the number of samples of the longest.
const DEVIATIONS: f64 = 3.0;

/// What imbalances are looked for in.
pub(super) struct Found<'a> {
    pub definitions: &'a ProfileDefinitions,
    pub lanes: &'a Lanes,
    pub times: &'a Times,
    /// The time of the longest thread, in seconds.
    pub longest: f64,
    /// The sampling period or less, if times come from samples.
    pub period: Option<f64>,
}

impl Found<'_> {
    /// Uneven work between ranks and between threads, most gain first. What slow ranks explain is not among it.
    pub fn imbalances(&self, slow: &[SlowRank]) -> Vec<ProfileImbalance> {
        let n = self.lanes.processes.len();
        let between_ranks = |sums: &PathSums| sums.useful.most.0 - sums.useful.mean;
        let mut found = Vec::new();
        if 1 < n {
            let bound = self.longest - self.mean_useful_of_ranks();
            let paths = self.deepest(&|sums| between_ranks(sums).min(bound));
            let is_slow = |sums: &PathSums| {
                let rank = self.lanes.processes[sums.useful.most.1].rank;
                is_even(sums.visits) && slow.iter().any(|slow| Some(slow.rank) == rank)
            };
            let paths = paths.into_iter().filter(|path| !is_slow(self.sums(*path)));
            found.extend(paths.map(|path| self.of_ranks(path, between_ranks(self.sums(path)).min(bound))));
        }
        if self.lanes.is_multithreaded() {
            let mean = self.times.useful.iter().sum::<f64>() / self.lanes.n as f64;
            let bound = self.longest - mean;
            let gain = |sums: &PathSums| sums.useful.between_threads.min(bound);
            let is_common = |path: &CallPathId| self.times.shares_root[path.index()];
            found.extend(
                self.deepest(&gain)
                    .into_iter()
                    .filter(is_common)
                    .map(|path| self.of_threads(path, gain(self.sums(path)))),
            );
        }
        found.sort_by_key(|found| std::cmp::Reverse(found.gain_at_most_ns));
        found
    }

    /// Ranks whose visits take longer than the median nearly everywhere, while all ranks enter equally often.
    pub fn slow_ranks(&self) -> Vec<SlowRank> {
        let n = self.lanes.processes.len();
        let is_slow = |(at, of): &(usize, &Slowness)| {
            let lanes = self.lanes.processes[*at].lanes.clone();
            let useful: f64 = self.times.useful[lanes].iter().sum();
            2 <= of.n_paths
                && SLOW_PART * of.judged <= of.slow
                && JUDGED_PART * useful <= of.judged
                && LEAST_PART * self.longest <= of.excess
        };
        let slow: Vec<(usize, &Slowness)> = self.times.slowness.iter().enumerate().filter(is_slow).collect();
        if n < 3 || n < 2 * slow.len() + 1 {
            return Vec::new();
        }
        let rank = |(at, of): (usize, &Slowness)| {
            let factor = of.slow / (of.slow - of.excess);
            let rank = self.lanes.processes[at].rank?;
            let (excess, paths) = (time(ns(of.excess)), count(of.n_paths));
            let sentence = format!(
                "All ranks enter these {paths} call paths equally often, but visits of rank {rank} take {factor:.2} \
                 times as long as the median: {excess} more. That is usual for a rank on a slower or throttled core, \
                 one that is preempted, or one with more data per visit in all of them; a profile cannot tell these \
                 apart."
            );
            Some(SlowRank { rank, factor, excess_ns: ns(of.excess), n_call_paths: of.n_paths, sentence })
        };
        slow.into_iter().filter_map(rank).collect()
    }

    /// Mean over the processes of what their longest thread computes.
    fn mean_useful_of_ranks(&self) -> f64 {
        let of = |lanes: &std::ops::Range<usize>| {
            self.times.useful[lanes.clone()].iter().copied().fold(0.0, f64::max)
        };
        let sum: f64 = self.lanes.processes.iter().map(|process| of(&process.lanes)).sum();
        sum / self.lanes.processes.len() as f64
    }

    fn sums(&self, path: CallPathId) -> &PathSums {
        &self.times.paths[path.index()]
    }

    /// The deepest call paths that explain most of a difference, those of at least 1 % of the longest rank's time.
    fn deepest(&self, gain: &dyn Fn(&PathSums) -> f64) -> Vec<CallPathId> {
        let tree = &self.definitions.call_tree;
        let mut below = vec![0.0_f64; tree.len()];
        for path in tree.paths().rev() {
            let most = below[path.index()].max(gain(self.sums(path)));
            if let Some(parent) = tree.node(path).parent {
                let of = &mut below[parent.index()];
                *of = of.max(most);
            }
        }
        let mut found = Vec::new();
        let mut next = 0;
        for path in tree.paths() {
            let own = gain(self.sums(path));
            let of_samples = |period: f64| DEVIATIONS * (self.sums(path).useful.most.0 * period).sqrt();
            let noise = self.period.map_or(0.0, of_samples);
            let is_large = LEAST_PART * self.longest <= own && noise < own;
            let is_named = is_large && below[path.index()] < EXPLAINS * own;
            if next <= path.0 && is_named {
                found.push(path);
                next = tree.subtree(path).end.0;
            }
        }
        found
    }

    fn of_ranks(&self, path: CallPathId, gain: f64) -> ProfileImbalance {
        let sums = self.sums(path);
        let rank =
            |(value, at): (f64, usize)| RankTime { rank: self.lanes.processes[at].rank, time_ns: ns(value) };
        let (most, least) = (rank(sums.useful.most), rank(sums.useful.least));
        let named =
            |of: RankTime| of.rank.map_or_else(|| "a process".to_owned(), |rank| format!("rank {rank}"));
        let per_visit = self.per_visit(sums);
        let mut sentence = format!(
            "{} computes {} here, {} {}, the mean is {}.",
            capital(&named(most)),
            time(most.time_ns),
            named(least),
            time(least.time_ns),
            time(ns(sums.useful.mean)),
        );
        sentence.push_str(&visits_in_words(sums.visits, per_visit));
        ProfileImbalance {
            kind: ProfileImbalanceKind::BetweenRanks,
            title: format!("Uneven work between ranks in {}", self.name(path)),
            sentence,
            assumption: "as far as the ranks are in it at the same time".to_owned(),
            gain_at_most_ns: ns(gain),
            gain_at_most_fraction: gain / self.longest,
            mean_ns: ns(sums.useful.mean),
            inclusive_ns: ns(sums.inclusive),
            call_path: self.definitions.call_path_names(path),
            source: self.source(path),
            most,
            least,
            per_visit,
        }
    }

    fn of_threads(&self, path: CallPathId, gain: f64) -> ProfileImbalance {
        let sums = self.sums(path);
        let rank =
            |(value, at): (f64, usize)| RankTime { rank: self.lanes.processes[at].rank, time_ns: ns(value) };
        let n = self.lanes.processes.iter().map(|process| process.lanes.len()).max().unwrap_or(1);
        let kind = match sums.useful.on_one_thread {
            true => ProfileImbalanceKind::OneThread,
            false => ProfileImbalanceKind::BetweenThreads,
        };
        let (mean, between) = (time(ns(sums.useful.mean)), time(ns(sums.useful.between_threads)));
        let (title, sentence) = match kind {
            ProfileImbalanceKind::OneThread => (
                format!("Only one thread computes in {}", self.name(path)),
                format!(
                    "One of up to {n} threads computes {mean} here, in the mean over the processes; the others have no time here."
                ),
            ),
            _ => (
                format!("Uneven work between threads in {}", self.name(path)),
                format!(
                    "The longest thread of a process computes {mean} here, in the mean over the processes: {between} more than the mean of its threads."
                ),
            ),
        };
        ProfileImbalance {
            kind,
            title,
            sentence,
            assumption: "as far as the threads of a process are in it at the same time, or could be"
                .to_owned(),
            gain_at_most_ns: ns(gain),
            gain_at_most_fraction: gain / self.longest,
            mean_ns: ns(sums.useful.mean),
            inclusive_ns: ns(sums.inclusive),
            call_path: self.definitions.call_path_names(path),
            source: self.source(path),
            most: rank(sums.useful.most),
            least: rank(sums.useful.least),
            per_visit: None,
        }
    }

    /// How long a visit takes, where all processes enter equally often and have one thread.
    fn per_visit(&self, sums: &PathSums) -> Option<PerVisit> {
        let visits = sums.visits.filter(|_| is_even(sums.visits) && !self.lanes.is_multithreaded())?;
        let each = |value: f64| ns(value / visits.most);
        Some(PerVisit {
            n_visits: ns(visits.most / 1e9),
            most_ns: each(sums.useful.most.0),
            least_ns: each(sums.useful.least.0),
        })
    }

    fn name(&self, path: CallPathId) -> String {
        self.definitions.regions[self.definitions.call_tree.node(path).region.index()].name.to_string()
    }

    fn source(&self, path: CallPathId) -> Option<String> {
        self.definitions.regions[self.definitions.call_tree.node(path).region.index()].source()
    }
}

fn is_even(visits: Option<VisitSpread>) -> bool {
    visits.is_some_and(|visits| 0.0 < visits.least && visits.most <= visits.least)
}

fn visits_in_words(visits: Option<VisitSpread>, per_visit: Option<PerVisit>) -> String {
    if let Some(PerVisit { n_visits, most_ns, least_ns }) = per_visit {
        return format!(
            " All ranks enter it equally often ({}); a visit takes from {} to {}: more data per visit, or a slower \
             or disturbed core.",
            ouzel_model::units::counted(n_visits, "time", "times"),
            time(least_ns),
            time(most_ns)
        );
    }
    match visits {
        Some(visits) if visits.least < visits.most => format!(
            " The ranks enter it from {} to {} times, the longest {} times ({} of the most).",
            count(ns(visits.least / 1e9)),
            count(ns(visits.most / 1e9)),
            count(ns(visits.of_longest / 1e9)),
            percent(visits.of_longest / visits.most),
        ),
        _ => String::new(),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
