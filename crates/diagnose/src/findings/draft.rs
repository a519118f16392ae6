//! A finding in the making: ticks and ids, before they become nanoseconds and names.

use super::context::{Context, Times};
use super::finding::{Confidence, Evidence, Finding, FindingKind, GainBy, Iterations};
use super::ranks::Ranks;
use ouzel_analyses::phases::{Phase, Uncertainty};
use ouzel_analyses::semantics::{Category, Family};
use ouzel_model::{CallPathId, CallPathTree, TimeRange};
use ouzel_replay::Edit;

/// A loss is clear if it is so many times its band.
const CLEAR: u64 = 3;

/// The result of a rule.
#[derive(Debug)]
pub(super) struct Draft {
    pub kind: FindingKind,
    pub title: String,
    /// What happens; what a change would save follows.
    pub sentence: String,
    pub saving: Saving,
    pub path: CallPathId,
    /// Other call paths in which the time is spent.
    pub also: Vec<CallPathId>,
    pub ranks: Ranks,
    pub iterations: Option<Iterations>,
    /// Numbers of the epochs concerned.
    pub epochs: Vec<u32>,
    pub range: TimeRange,
    /// In ticks, from the times between synchronisations.
    pub gain: u64,
    /// What is replayed to find the gain for the run; empty if no replay can tell it.
    pub remedy: Vec<Edit>,
    /// Changes of another finding about the same calls, which are made before: this one has what they leave.
    pub remedy_before: Vec<Edit>,
    /// What that replay gains, in ticks.
    pub replayed: Option<u64>,
    /// Whether that is without transfers, before and after.
    pub without_transfers: bool,
    /// What is lost, in ticks: more than the gain if not all of it can be recovered. Decides whether it matters.
    pub loss: u64,
    pub assumption: String,
    pub confidence: (Confidence, String),
    pub evidence: Vec<Evidence>,
    pub advice: String,
    pub command: Vec<String>,
}

/// How far the times of call paths can be off in the phases of a time range, each with its callees.
pub(super) fn uncertainty(
    cx: &Context<'_>,
    range: TimeRange,
    is_meant: impl Fn(CallPathId) -> bool,
) -> Uncertainty {
    let mut sum = Uncertainty::default();
    let is_inside = |phase: &Phase| phase.start < range.end && range.start < phase.end;
    for (phase, _) in cx.group.phases.iter().enumerate().filter(|(_, phase)| is_inside(phase)) {
        for cell in cx.group.cells_of(phase as u32).iter().filter(|cell| is_meant(cell.call_path)) {
            if let Some(uncertainty) = cx.group.uncertainty(phase as u32, cell, &cell.inclusive) {
                sum.add(&uncertainty);
            }
        }
    }
    sum
}

/// The end of a sentence around a gain: *before* 2 s (10 %)*after*.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// "Doing so would save"; empty if there is nothing to save.
    pub before: String,
    pub after: String,
}

impl Saving {
    pub fn new(before: impl Into<String>) -> Self {
        Saving { before: before.into(), after: ".".to_owned() }
    }

    /// A saving that grows with the number of iterations.
    pub fn in_a_longer_run(before: impl Into<String>) -> Self {
        Saving { after: ", and more in a longer run.".to_owned(), ..Saving::new(before) }
    }
}

impl Draft {
    /// A draft about the whole run, without words and gain, which its rule adds; the command compares the ranks.
    pub fn about(cx: &Context<'_>, kind: FindingKind, path: CallPathId) -> Self {
        Draft {
            kind,
            title: String::new(),
            sentence: String::new(),
            saving: Saving::default(),
            path,
            also: Vec::new(),
            ranks: Ranks::default(),
            iterations: None,
            epochs: Vec::new(),
            range: cx.group.run_range,
            gain: 0,
            remedy: Vec::new(),
            remedy_before: Vec::new(),
            replayed: None,
            without_transfers: false,
            loss: 0,
            assumption: String::new(),
            confidence: cx.confidence_of_phases(),
            evidence: Vec::new(),
            advice: String::new(),
            command: compare_ranks(cx, path),
        }
    }

    /// What the run would gain, in ticks.
    pub fn stated_gain(&self) -> u64 {
        self.replayed.unwrap_or(self.gain)
    }

    /// What decides whether it matters, in ticks.
    pub fn stated_loss(&self) -> u64 {
        self.replayed.unwrap_or(self.loss)
    }

    /// The time of the peer that spends most in the call paths that are named, in ticks: a bound of the gain.
    pub fn spent(&self, cx: &Context<'_>) -> u64 {
        most_spent(cx, std::iter::once(self.path).chain(self.also.iter().copied()))
    }

    /// How far the loss can be off, in ticks; 0 if times are exact. That of the path in the phases that it is about, of
    /// uneven work with the waiting in it, and of the waiting in the other paths.
    pub fn band(&self, cx: &Context<'_>) -> u64 {
        // How long threads did not run is the clock less their processor time, whatever samples there are.
        if cx.group.noise.is_none() || self.kind == FindingKind::NotRunning {
            return 0;
        }
        // Work is what is left of a call without the waiting in it, of which samples may miss some.
        let is_work = matches!(
            self.kind,
            FindingKind::LoadImbalance
                | FindingKind::GrowingImbalance
                | FindingKind::SlowRank
                | FindingKind::SlowNode
        );
        let waits = |path| cx.category(path, false) != Category::Computation;
        let waits_inside = |path| is_work && waits(path) && cx.chain(path).any(|at| at == self.path);
        let own = uncertainty(cx, self.range, |path| path == self.path || waits_inside(path));
        let others = uncertainty(cx, self.range, |path| path != self.path && self.also.contains(&path));
        own.of_extremes().0.saturating_add(others.of_mean().0)
    }

    /// Whether the loss is greater than its band.
    pub fn is_above_band(&self, cx: &Context<'_>) -> bool {
        let band = self.band(cx);
        band == 0 || band < self.stated_loss().max(self.loss)
    }

    /// Says how far the loss can be off, and trusts it less if that is much.
    fn confidence(&self, cx: &Context<'_>) -> (Confidence, String) {
        let (confidence, reason) = self.confidence.clone();
        let band = self.band(cx);
        if band == 0 || self.loss == 0 {
            return (confidence, reason);
        }
        let reason = format!("{reason}; by samples it is off by {} at most", cx.time(band));
        let is_clear = CLEAR.saturating_mul(band) <= self.loss;
        (if is_clear { confidence } else { confidence.min(Confidence::Possible) }, reason)
    }

    /// Keeps the promise within what is spent in the call paths that are named.
    pub fn bound(&mut self, cx: &Context<'_>) {
        let spent = self.spent(cx);
        self.gain = self.gain.min(spent);
        self.replayed = self.replayed.map(|gain| gain.min(spent));
    }

    /// The iterations, unless they are more than a peer makes calls in these call paths: phases may hold an iteration and
    /// a call before it.
    fn named_iterations(&self, cx: &Context<'_>) -> Option<Iterations> {
        let iterations = self.iterations.clone()?;
        let paths = || std::iter::once(self.path).chain(self.also.iter().copied());
        let is_call = |path| cx.class(path).is_some_and(|class| class.family != Family::User);
        // Samples do not count calls.
        if cx.group.noise.is_some() || !paths().all(is_call) {
            return Some(iterations);
        }
        let mut n_calls = vec![0; cx.group.locations.len()];
        for path in paths() {
            n_calls.iter_mut().zip(cx.visits_by_peer(path)).for_each(|(n, (visits, _))| *n += visits);
        }
        n_calls.into_iter().any(|n| iterations.n_named() <= n).then_some(iterations)
    }

    fn sentence(&self, cx: &Context<'_>) -> String {
        let (Draft { sentence, saving, .. }, gain) = (self, self.stated_gain());
        match saving.before.is_empty() {
            true => sentence.clone(),
            false => {
                let (time, percent) = (cx.time(gain), cx.percent(gain));
                format!("{sentence} {} {time} ({percent}){}", saving.before, saving.after)
            }
        }
    }

    pub fn finish(self, cx: &Context<'_>) -> Finding {
        let (sentence, gain) = (self.sentence(cx), self.stated_gain());
        let (confidence, confidence_reason) = self.confidence(cx);
        let band_ns = cx.ns(self.band(cx));
        let iterations = self.named_iterations(cx);
        Finding {
            kind: self.kind,
            title: self.title,
            sentence,
            call_path: cx.names(self.path),
            more_call_paths: self.also.iter().map(|&path| cx.names(path)).collect(),
            source: cx.source(self.path),
            ranks: self.ranks,
            iterations,
            epochs: self.epochs,
            time_range_ns: cx.range_ns(self.range),
            gain_ns: cx.ns(gain),
            gain_fraction: cx.share(gain),
            gain_by: match (self.replayed, self.without_transfers) {
                (Some(_), true) => GainBy::ReplayWithoutTransfers,
                (Some(_), false) => GainBy::Replay,
                (None, _) => GainBy::Phases,
            },
            phases_gain_ns: cx.ns(self.gain),
            band_ns,
            assumption: self.assumption,
            confidence,
            confidence_reason,
            evidence: self.evidence,
            advice: self.advice,
            command: self.command,
            varies_like: None,
        }
    }
}

/// `ouzel` arguments that compare the ranks in a region.
pub(super) fn compare_ranks(cx: &Context<'_>, path: CallPathId) -> Vec<String> {
    let words: &[&str] = match cx.names(path).last() {
        Some(region) => &["profile", "--call-paths", "--per", "rank", "--region", &region.clone()],
        None => &["profile", "--per", "rank"],
    };
    words.iter().map(|&word| word.to_owned()).collect()
}

/// The time of the peer that spends most in some call paths, in ticks.
pub(super) fn most_spent(cx: &Context<'_>, paths: impl Iterator<Item = CallPathId>) -> u64 {
    let mut sums = vec![0; cx.group.locations.len()];
    for path in paths {
        if path == CallPathTree::ROOT {
            return cx.run();
        }
        let times = cx.by_peer(path, Times::Inclusive);
        sums.iter_mut().zip(times).for_each(|(sum, (_, ticks))| *sum += ticks);
    }
    sums.into_iter().max().unwrap_or_default()
}
