//! Gains by replay: how much earlier the run would end without the cause of a finding.
//!
//! The times between synchronisations give each rule its loss. They take for granted that nothing else delays a phase
//! once the cause is gone. A replay follows every rank and message through the run with the change, so another rank
//! that becomes the last, or a message that becomes the late one, takes its part of the gain. See What if in
//! docs/method.md.
//!
//! Law: a gain is that of the replay where the rule says what changes and every peer is replayed; findings are ordered
//! by it.

use super::context::{Context, Times};
use super::draft::Draft;
use super::finding::{Confidence, Evidence, FindingKind, Quantity};
use super::stages::Stage;
use ouzel_model::CallPathId;
use ouzel_replay::{Edit, Replay};
use std::cell::RefCell;

/// Part of the run from which two gains are said to differ.
const DIFFERS: f64 = 0.05;

/// The run, ready to be replayed.
pub(super) struct Replays<'a> {
    replay: &'a Replay,
    /// What call paths of the profile are called in the replay.
    paths: Vec<Option<CallPathId>>,
    /// What was replayed, with its gain: rules ask for the same changes again.
    gains: RefCell<Vec<(Vec<Edit>, u64)>>,
}

impl<'a> Replays<'a> {
    /// `None` if the peers are not those that are replayed, or if calls that synchronise without being recorded as such
    /// take more than 1 % of the run.
    pub fn new(replay: &'a Replay, cx: &Context<'_>) -> Option<Self> {
        let are_all = replay.locations().eq(cx.group.locations.iter().copied());
        if !are_all || !cx.nothing_lost || replay.doubt().is_some() {
            return None;
        }
        let (paths, needing) = (replay.paths_of(cx.paths()), replay.needing_paths());
        let is_recorded =
            |stage: &&Stage| match stage.anchor.and_then(|anchor| paths[anchor.call_path.index()]) {
                Some(path) => needing.contains(&path),
                None => stage.anchor.is_none(),
            };
        let unrecorded = cx.stages.iter().filter(|stage| !is_recorded(stage)).map(Stage::time_in_sync);
        let are_recorded = !cx.is_significant(unrecorded.sum());
        are_recorded.then_some(Replays { replay, paths, gains: RefCell::default() })
    }

    /// Sets the gain of a finding that says what changes.
    pub fn add_to(&self, draft: &mut Draft, cx: &Context<'_>) {
        draft.replayed = self.gain_after(&draft.remedy_before, &draft.remedy);
        // Where the parts of the run are long, work may have to move within them, too.
        if draft.replayed.is_some_and(|gain| gain.saturating_mul(2) < draft.gain) {
            let phase_by_phase = phase_by_phase(&draft.remedy);
            let gain = self.gain_after(&draft.remedy_before, &phase_by_phase);
            if let Some(gain) = gain.filter(|&gain| draft.replayed < Some(gain)) {
                (draft.replayed, draft.remedy) = (Some(gain.min(draft.gain)), phase_by_phase);
            }
        }
        if is_bounded(draft, cx) {
            draft.replayed = draft.replayed.map(|gain| gain.min(draft.gain));
        }
        if is_spread(draft) && self.without_transfers(draft, cx) {
            return;
        }
        let Some(gain) = draft.replayed.filter(|gain| DIFFERS < cx.share(gain.abs_diff(draft.gain))) else {
            return;
        };
        let why = match draft.kind {
            _ if gain < draft.gain => "other ranks and messages then delay the run instead",
            _ => "what waits for these ranks goes on earlier, too",
        };
        let evidence = Evidence::new(
            format!(
                "a replay of the run with this change differs from the times between synchronisations: {why}"
            ),
            "by replay: run time − run time of the replay; between synchronisations: see above",
            vec![
                Quantity::ns("by replay", cx.ns(gain)),
                Quantity::ns("between synchronisations", cx.ns(draft.gain)),
            ],
        );
        // Pages show the first few.
        draft.evidence.insert(draft.evidence.len().min(1), evidence);
    }

    /// Where recorded transfers hide what spreading work gains, takes the gain without them; returns whether it does.
    fn without_transfers(&self, draft: &mut Draft, cx: &Context<'_>) -> bool {
        let hides = |gain: &u64| gain.saturating_mul(2) < draft.gain;
        let Some(recorded) = draft.replayed.filter(hides) else { return false };
        if cx.share(draft.gain - recorded) <= DIFFERS {
            return false;
        }
        let gain_of = |edits: &[Edit]| match edits.is_empty() {
            true => 0,
            false => self.replay.gain_without_transfers(&self.known(edits)),
        };
        let gain = gain_of(&draft.remedy).max(gain_of(&phase_by_phase(&draft.remedy)));
        let gain = u64::try_from(gain).unwrap_or_default().min(draft.gain);
        if cx.share(gain.saturating_sub(recorded)) <= DIFFERS {
            return false;
        }
        (draft.replayed, draft.without_transfers) = (Some(gain), true);
        draft.confidence.0 = draft.confidence.0.min(Confidence::Likely);
        draft.confidence.1 += "; transfers are taken to shrink with the waiting";
        let evidence = Evidence::new(
            "messages do not progress while their ranks compute, so recorded transfers contain waiting: a replay that \
             keeps them as long gains less",
            "with recorded transfers: run time − run time of the replay; without: the same where transfers take no \
             time, before and after; at most the gain between synchronisations",
            vec![
                Quantity::ns("with recorded transfers", cx.ns(recorded)),
                Quantity::ns("without transfers", cx.ns(gain)),
                Quantity::ns("between synchronisations", cx.ns(draft.gain)),
            ],
        );
        draft.evidence.insert(draft.evidence.len().min(1), evidence);
        true
    }

    /// What all findings gain together: those that are replayed in one replay, and the sum of the others.
    pub fn together(&self, drafts: &[Draft]) -> u64 {
        let replayed = drafts.iter().filter(|draft| draft.replayed.is_some());
        let edits: Vec<Edit> = replayed.flat_map(|draft| draft.remedy.iter().cloned()).collect();
        let others = drafts.iter().filter(|draft| draft.replayed.is_none()).map(|draft| draft.gain);
        let replayed = self.gain(&edits).unwrap_or_default();
        let hidden = drafts.iter().filter(|draft| draft.without_transfers).map(Draft::stated_gain).max();
        replayed.max(hidden.unwrap_or_default()).saturating_add(others.sum())
    }

    /// What is gained beyond what changes before have gained.
    fn gain_after(&self, before: &[Edit], edits: &[Edit]) -> Option<u64> {
        let already = self.gain(before).unwrap_or_default();
        self.gain(edits)?;
        Some(self.gain(&[before, edits].concat())?.saturating_sub(already))
    }

    /// Leaves out findings about work in a path that calls, or is called in, that of a larger one, if they gain nothing
    /// more: they tell the same loss again. Largest first.
    pub fn without_repetitions(&self, drafts: &mut Vec<Draft>, cx: &Context<'_>) {
        let mut kept: Vec<Draft> = Vec::new();
        for draft in drafts.drain(..) {
            let is_below = |path, above| cx.chain(path).any(|at| at == above);
            let tells_it = |larger: &Draft| {
                let is_related = is_below(draft.path, larger.path) || is_below(larger.path, draft.path);
                let more = || self.gain_after(&larger.remedy, &draft.remedy).unwrap_or_default();
                is_about_work(larger) && is_about_work(&draft) && is_related && !cx.is_significant(more())
            };
            if !kept.iter().any(tells_it) {
                kept.push(draft);
            }
        }
        *drafts = kept;
    }

    /// `None` if nothing changes that the replay knows.
    pub fn gain(&self, edits: &[Edit]) -> Option<u64> {
        let edits = self.known(edits);
        if edits.is_empty() {
            return None;
        }
        let known = self.gains.borrow().iter().find(|it| it.0 == edits).map(|it| it.1);
        Some(known.unwrap_or_else(|| {
            // A change that makes the run longer gains nothing.
            let gain = self.replay.gain(&edits).try_into().unwrap_or_default();
            self.gains.borrow_mut().push((edits, gain));
            gain
        }))
    }

    /// The changes with the call paths of the replay; without those that it does not know.
    fn known(&self, edits: &[Edit]) -> Vec<Edit> {
        let mut edits = edits.to_vec();
        edits.retain_mut(|edit| {
            let paths = &mut edit.code_mut().paths;
            *paths = paths.iter().filter_map(|path| self.paths[path.index()]).collect();
            !paths.is_empty()
        });
        edits
    }
}

/// Changes that spread work within parts of the run, with each phase as a part: who shares work out anew for each part
/// may do so within it, too. Empty if there are none.
fn phase_by_phase(edits: &[Edit]) -> Vec<Edit> {
    let spread = edits.iter().filter_map(|edit| match edit {
        Edit::BalanceIn(code, _) => Some(Edit::Balance(code.clone())),
        _ => None,
    });
    spread.collect()
}

fn is_about_work(draft: &Draft) -> bool {
    matches!(
        draft.kind,
        FindingKind::LoadImbalance
            | FindingKind::GrowingImbalance
            | FindingKind::SlowRank
            | FindingKind::Serialisation
    )
}

/// Whether a replay can show more than what can be had: work that only some ranks run leaves the others unchanged when it
/// is spread, waiting is hidden behind no more than the work that there is, and ranks that come early spend time in a
/// collective that is not its cost.
fn is_bounded(draft: &Draft, cx: &Context<'_>) -> bool {
    match draft.kind {
        FindingKind::CollectiveCost
        | FindingKind::CommunicationCost
        | FindingKind::WaitingForDevice
        | FindingKind::WaitingElsewhere => true,
        _ => {
            is_spread(draft) && cx.by_peer(draft.path, Times::Inclusive).iter().any(|&(_, ticks)| ticks == 0)
        }
    }
}

/// Whether a finding is about work that is to be spread over the ranks.
fn is_spread(draft: &Draft) -> bool {
    let spreads = |edit: &Edit| matches!(edit, Edit::Balance(_) | Edit::BalanceIn(..));
    draft.kind == FindingKind::LoadImbalance && draft.remedy.iter().any(spreads)
}
