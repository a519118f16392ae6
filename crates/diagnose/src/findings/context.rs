//! The common input of all rules.

use super::finding::Confidence;
use super::ranks::Ranks;
use super::stages::{Stage, category};
use super::told_apart::told_apart;
use super::words;
use crate::recorded::Recorded;
use crate::steps::Steps;
use crate::wait_sums::WaitSums;
use ouzel_analyses::call_path_profile::{LocationProfile, ProfileOutput};
use ouzel_analyses::communication_totals::CommunicationOutput;
use ouzel_analyses::io_totals::IoOutput;
use ouzel_analyses::message_waits::LateMessagesOutput;
use ouzel_analyses::metric_profile::MetricProfileOutput;
use ouzel_analyses::peers::PeerKind;
use ouzel_analyses::phases::epochs::Epoch;
use ouzel_analyses::phases::{AlignedBy, Alignment, AnchorRole, PhaseGroup};
use ouzel_analyses::semantics::{Category, Class, Family};
use ouzel_model::units::count;
use ouzel_model::units::counted;
use ouzel_model::{
    CallPathId, CallPathTree, Definitions, LocationId, LocationKind, NOT_RUNNING, RegionId, SLEEPING, Ticks,
    TimeRange, mpi_function, short_name, units,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Losses below this share of the run are not findings: no fix is worth it.
pub(crate) const SIGNIFICANT: f64 = 0.01;

/// The outputs of the analyses, and values often derived from them.
pub(super) struct Context<'a> {
    pub definitions: &'a Definitions,
    pub classes: &'a [Class],
    pub profile: &'a ProfileOutput,
    pub communication: &'a CommunicationOutput,
    pub io: &'a IoOutput,
    /// What counters gained by call path, if the processor's were recorded.
    pub counters: Option<&'a MetricProfileOutput>,
    /// Call paths are those of the profile.
    pub late: Option<&'a LateMessagesOutput>,
    pub group: &'a PhaseGroup,
    pub stages: Vec<Stage>,
    /// The iterations of the program's own loops.
    pub steps: &'a Steps,
    /// Parts in which the same peers have most to do, in order of time.
    pub epochs: &'a [Epoch],
    pub waits: &'a WaitSums,
    pub clocks_are_right: bool,
    pub nothing_lost: bool,
    pub recorded: Recorded,
}

impl<'a> Context<'a> {
    pub fn paths(&self) -> &'a CallPathTree {
        &self.profile.call_paths
    }

    pub fn n_peers(&self) -> u64 {
        self.group.locations.len() as u64
    }

    /// Whether the peers are ranks of one program: processes without a rank may have nothing to do with each other.
    pub(crate) fn are_ranks(&self) -> bool {
        self.group.locations.iter().all(|&location| self.rank(location).is_some())
    }

    /// What one of the peers and several of them are called.
    pub(crate) fn peers_in_words(&self) -> (&'static str, &'static str) {
        self.group.kind.in_words(self.are_ranks())
    }

    /// "between synchronisations, messages keep even the busiest rank from computing for 2 s (20 % of the run)": the
    /// waiting of phases, which is that of the rank with most work in each of them, not of one over the run.
    pub(crate) fn keep_from_computing(&self, what: &str, keep: &str, ticks: u64) -> String {
        let (one, _) = self.peers_in_words();
        let who = match self.n_peers() {
            1 => format!("{what} {keep} the {one}"),
            _ => format!("between synchronisations, {what} {keep} even the busiest {one}"),
        };
        format!("{who} from computing for {} ({} of the run)", self.time(ticks), self.percent(ticks))
    }

    /// "all ranks", or "the rank" where there is only one.
    pub(crate) fn all_peers(&self) -> String {
        let (one, many) = self.peers_in_words();
        if self.n_peers() == 1 { format!("the {one}") } else { format!("all {many}") }
    }

    /// The run time, in ticks; never zero.
    pub fn run(&self) -> u64 {
        self.group.run_time.0.max(1)
    }

    pub fn ns(&self, ticks: u64) -> u64 {
        self.definitions.clock.ns_from_ticks(Ticks(ticks))
    }

    pub fn range_ns(&self, range: TimeRange) -> (u64, u64) {
        (self.ns(range.start.0), self.ns(range.end.0))
    }

    /// `ticks / run time`.
    #[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
    pub fn share(&self, ticks: u64) -> f64 {
        ticks as f64 / self.run() as f64
    }

    pub(crate) fn is_significant(&self, ticks: u64) -> bool {
        SIGNIFICANT <= self.share(ticks)
    }

    pub fn percent(&self, ticks: u64) -> String {
        words::percent(self.share(ticks))
    }

    pub fn time(&self, ticks: u64) -> String {
        units::time(self.ns(ticks))
    }

    pub fn names(&self, path: CallPathId) -> Vec<Arc<str>> {
        let regions = self.paths().regions(path);
        regions.into_iter().map(|region| self.definitions.region(region).name.clone()).collect()
    }

    /// Whether a call path ends in something that its author has named. Files of the system without symbols, and the
    /// kernel's clock, say nothing to an author.
    pub fn has_name(&self, path: CallPathId) -> bool {
        let own = self.own_name(path);
        !own.starts_with('[') || own == SLEEPING
    }

    /// Name of the last region of a path, for sentences: short, as the finding has the whole one in its call path.
    pub fn name(&self, path: CallPathId) -> String {
        let own = self.own_name(path);
        // Who sleeps, or does not run, says more.
        if own == SLEEPING || own == NOT_RUNNING {
            format!("{own} in {}", self.own_name(self.paths().parent(path)))
        } else {
            own
        }
    }

    pub fn own_name(&self, path: CallPathId) -> String {
        match self.paths().region(path) {
            Some(region) => short_name(&self.definitions.region(region).name).into_owned(),
            None => crate::NO_REGION.to_owned(),
        }
    }

    /// The places of call paths, with callers where these tell them apart.
    pub(crate) fn places(&self, paths: &[CallPathId]) -> Vec<String> {
        // A library call's place has its caller already.
        let first = |path| if self.place(path) == self.own_name(path) { 1 } else { 2 };
        let caller =
            |i: usize, nth| self.chain(paths[i]).nth(first(paths[i]) + nth).map(|path| self.name(path));
        told_apart(paths.iter().map(|&path| self.place(path)).collect(), caller)
    }

    /// The name, with that of its caller if the last region is a library call, whose own name is not informative.
    pub fn place(&self, path: CallPathId) -> String {
        let caller = self.paths().parent(path);
        let is_library = self.class(path).is_some_and(|class| class.family != Family::User);
        match self.paths().region(caller) {
            Some(_) if is_library => format!("{} in {}", self.name(path), self.name(caller)),
            _ => self.name(path),
        }
    }

    pub fn source(&self, path: CallPathId) -> Option<String> {
        self.paths().region(path).and_then(|region| self.definitions.region(region).source())
    }

    pub fn class(&self, path: CallPathId) -> Option<Class> {
        self.paths().region(path).map(|region: RegionId| self.classes[region.index()])
    }

    pub fn category(&self, path: CallPathId, subset: bool) -> Category {
        category(path, subset, self.paths(), self.classes)
    }

    /// Whether a path or one of its callers waits or synchronises.
    pub(crate) fn is_inside_waiting(&self, path: CallPathId) -> bool {
        let mut at = path;
        while at != CallPathTree::ROOT {
            if self.category(at, false) != Category::Computation {
                return true;
            }
            at = self.paths().parent(at);
        }
        false
    }

    /// Whether a stage is the start of the parallel program.
    pub(crate) fn starts_mpi(&self, stage: &Stage) -> bool {
        stage.anchor.is_some_and(|anchor| anchor.role == AnchorRole::Start)
    }

    /// Whether a stage is the end of the parallel program.
    pub(crate) fn ends_mpi(&self, stage: &Stage) -> bool {
        stage.anchor.is_some_and(|anchor| anchor.role == AnchorRole::End)
    }

    /// Name of a region in lower case, as MPI spells it.
    pub fn mpi_name(&self, region: RegionId) -> String {
        let name = &self.definitions.region(region).name;
        mpi_function(name).map_or_else(|| name.to_ascii_lowercase(), |function| format!("mpi_{function}"))
    }

    pub fn rank(&self, location: LocationId) -> Option<u32> {
        self.definitions.location(location).rank.map(|rank| rank.0)
    }

    pub fn ranks(&self, locations: impl IntoIterator<Item = LocationId>) -> Ranks {
        Ranks::new(locations.into_iter().filter_map(|location| self.rank(location)))
    }

    pub fn in_words(&self, ranks: &Ranks) -> String {
        let words = match ranks.list.is_empty() {
            // Where the trace knows no ranks.
            true => "some processes".to_owned(),
            false => ranks.in_words(self.n_peers() as usize),
        };
        match self.group.kind {
            PeerKind::MainThread => words,
            _ => format!("{} of {words}", self.peers_in_words().1),
        }
    }

    /// Time of each peer in a path over the whole run, in the order of the group.
    pub(crate) fn by_peer(&self, path: CallPathId, times: Times) -> Vec<(LocationId, u64)> {
        let counts = match times {
            Times::Busy => self.computing_below(path),
            Times::Inclusive | Times::Exclusive => Vec::new(),
        };
        let of = |location: &LocationId| {
            let ticks = self.profile_of(*location).map_or(0, |profile| {
                let row = || profile.rows.binary_search_by_key(&path, |row| row.call_path).ok();
                let outside = if path == CallPathTree::ROOT { profile.outside.0 } else { 0 };
                match times {
                    Times::Exclusive if path == CallPathTree::ROOT => outside,
                    Times::Exclusive => row().map_or(0, |i| profile.rows[i].times.exclusive.0),
                    Times::Inclusive => row().map_or(0, |i| profile.rows[i].times.inclusive.0),
                    Times::Busy => {
                        let rows = profile.rows.iter().filter(|row| counts[row.call_path.index()]);
                        outside + rows.map(|row| row.times.exclusive.0).sum::<u64>()
                    }
                }
            });
            (*location, ticks)
        };
        self.group.locations.iter().map(of).collect()
    }

    /// Busy time of each peer in a path and what it calls.
    pub(crate) fn busy(&self, path: CallPathId) -> impl Iterator<Item = u64> {
        self.by_peer(path, Times::Busy).into_iter().map(|(_, ticks)| ticks)
    }

    /// For each call path, whether its own time is part of what computes in `path`, by these times.
    pub(crate) fn code_of(&self, path: CallPathId, times: Times) -> Vec<bool> {
        match times {
            Times::Busy => self.computing_below(path),
            Times::Inclusive | Times::Exclusive => {
                let mut own = vec![false; self.paths().len()];
                own[path.index()] = true;
                own
            }
        }
    }

    /// Time of a peer in some call paths without callees.
    pub(crate) fn ticks_in(&self, location: LocationId, code: &[bool]) -> u64 {
        let rows = self.profile_of(location).map(|profile| &profile.rows[..]).unwrap_or_default();
        rows.iter().filter(|row| code[row.call_path.index()]).map(|row| row.times.exclusive.0).sum()
    }

    /// For each call path, whether it is `path` or below, and computes.
    fn computing_below(&self, path: CallPathId) -> Vec<bool> {
        let paths = self.paths();
        let (mut below, mut computing) = (vec![false; paths.len()], vec![false; paths.len()]);
        (below[path.index()], computing[CallPathTree::ROOT.index()]) = (true, true);
        for at in paths.paths() {
            let parent = paths.parent(at).index();
            below[at.index()] |= below[parent];
            computing[at.index()] = computing[parent] && self.category(at, false) == Category::Computation;
        }
        below.iter().zip(&computing).map(|(below, computing)| *below && *computing).collect()
    }

    /// The path and its callers, innermost first; the root is not among them.
    pub(crate) fn chain(&self, path: CallPathId) -> impl Iterator<Item = CallPathId> {
        let paths = self.paths();
        std::iter::successors(Some(path), |at| Some(paths.parent(*at)))
            .take_while(|at| *at != CallPathTree::ROOT)
    }

    /// Number of visits of a path and ticks of the shortest one, of each peer; zeros if there is none.
    pub fn visits_by_peer(&self, path: CallPathId) -> Vec<(u64, u64)> {
        let of = |location: &LocationId| {
            let profile = self.profile_of(*location)?;
            let row = profile.rows.binary_search_by_key(&path, |row| row.call_path).ok()?;
            let times = &profile.rows[row].times;
            Some((times.visits, if times.visits == 0 { 0 } else { times.min.0 }))
        };
        self.group.locations.iter().map(|location| of(location).unwrap_or_default()).collect()
    }

    /// The part of waiting in calls that is left if all threads of a process share it: the time in calls of these regions,
    /// as a mean over the threads of a process, compared with that of its first thread. Threads that end early wait long
    /// and the last does not wait, so this is what spreading their work evenly regains.
    pub(crate) fn spread_over_threads(&self, ticks: u64, paths: &[(CallPathId, u64)]) -> u64 {
        let regions: Vec<_> = paths.iter().filter_map(|&(path, _)| self.paths().region(path)).collect();
        let in_calls = |profile: &LocationProfile| -> u128 {
            let is_one = |path| self.paths().region(path).is_some_and(|region| regions.contains(&region));
            let rows = profile.rows.iter().filter(|row| is_one(row.call_path));
            rows.map(|row| u128::from(row.times.exclusive.0)).sum()
        };
        let kind = |location| self.definitions.location(location).kind;
        let is_thread = |it: &&LocationProfile| matches!(kind(it.location), LocationKind::CpuThread);
        let (mut all, mut n_all) = (0_u128, 0_u128);
        for profile in self.profile.locations.iter().filter(is_thread) {
            (all, n_all) = (all + in_calls(profile), n_all + 1);
        }
        let peers = self.group.locations.iter().filter_map(|&location| self.profile_of(location));
        let own: u128 = peers.map(in_calls).sum();
        let (mean, own) = (all * self.group.locations.len() as u128, own * n_all.max(1));
        u64::try_from(u128::from(ticks) * mean.min(own) / own.max(1)).unwrap_or(ticks)
    }

    /// Visits of a path, of all peers.
    pub fn visits(&self, path: CallPathId) -> u64 {
        let of = |location: &LocationId| {
            let profile = self.profile_of(*location)?;
            let row = profile.rows.binary_search_by_key(&path, |row| row.call_path).ok()?;
            Some(profile.rows[row].times.visits)
        };
        self.group.locations.iter().filter_map(of).sum()
    }

    fn profile_of(&self, location: LocationId) -> Option<&'a LocationProfile> {
        let locations = &self.profile.locations;
        locations.binary_search_by_key(&location, |p| p.location).ok().map(|i| &locations[i])
    }

    /// How certain numbers from phases are, and why.
    pub(crate) fn confidence_of_phases(&self) -> (Confidence, String) {
        let (confidence, reason) = self.confidence_of_times();
        match self.clocks_are_right || self.n_peers() == 1 {
            true => (confidence, reason),
            // Phases end when the last rank leaves their synchronisation.
            false => (confidence.min(Confidence::Likely), format!("{reason}; clocks of ranks may differ")),
        }
    }

    fn confidence_of_times(&self) -> (Confidence, String) {
        if !self.nothing_lost {
            return (Confidence::Possible, "part of the trace is missing".to_owned());
        }
        if let Alignment::UpTo { n_anchors, .. } = self.group.alignment {
            let reason = format!(
                "the {} agree only on the first {} synchronisations; everything after these counts as one phase",
                self.peers_in_words().1,
                count(n_anchors)
            );
            return (Confidence::Possible, reason);
        }
        if 1 < self.group.phases_per_entry {
            let reason = format!(
                "there are so many phases that {} each are analysed together: extremes over ranks are bounds",
                self.group.phases_per_entry
            );
            return (Confidence::Likely, reason);
        }
        let (confidence, times) = match self.recorded.calls {
            true => (Confidence::Sure, "exact times"),
            false => (Confidence::Likely, "times from samples"),
        };
        let n = self.group.phases.iter().filter(|phase| phase.anchor.is_some()).count() as u64;
        if n == 0 {
            return (confidence, format!("{times} over the whole run, which no synchronisation divides"));
        }
        if self.group.aligned_by == AlignedBy::ContextTrees && 1 < self.n_peers() {
            let reason = format!(
                "{times} between {}, aligned in order and time as not every {} shows all of them",
                counted(n, "synchronisation", "synchronisations"),
                self.peers_in_words().0
            );
            return (confidence.min(Confidence::Likely), reason);
        }
        let together = if self.n_peers() == 1 { "" } else { " together" };
        let reason = format!(
            "{times} between {} that {} went through{together}",
            counted(n, "synchronisation", "synchronisations"),
            self.all_peers()
        );
        (confidence, reason)
    }
}

/// Which time of a call path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    /// With callees.
    Inclusive,
    /// With callees, without what waits or synchronises.
    Busy,
    /// Without callees.
    Exclusive,
}

/// Sums by call path, greatest first, then by path.
pub(super) fn greatest_first<V: Copy + Ord>(sums: &BTreeMap<CallPathId, V>) -> Vec<(CallPathId, V)> {
    let mut all: Vec<(CallPathId, V)> = sums.iter().map(|(&path, &value)| (path, value)).collect();
    all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    all
}
