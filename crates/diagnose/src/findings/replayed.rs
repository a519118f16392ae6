//! Gains by replay: how much earlier the run would end without the cause of a finding.
//!
//! The times between synchronisations give each rule its loss. They take for granted that nothing else delays a phase
//! once the cause is gone. A replay follows every rank and message through the run with the change, so another rank
//! that becomes the last, or a message that becomes the late one, takes its part of the gain. See What if in
//! docs/method.md.
//!
//! Law: a gain is that of the replay where the rule says what changes and every peer is replayed; findings are ordered
//! by it.

use super::context::Context;
use super::draft::Draft;
use super::finding::{Evidence, FindingKind, Quantity};
use super::stages::Stage;
use ouzel_model::CallPathId;
use ouzel_replay::{Edit, Replay};

/// Part of the run from which two gains are said to differ.
const DIFFERS: f64 = 0.05;

/// The run, ready to be replayed.
pub(super) struct Replays<'a> {
    replay: &'a Replay,
    /// What call paths of the profile are called in the replay.
    paths: Vec<Option<CallPathId>>,
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
        are_recorded.then_some(Replays { replay, paths })
    }

    /// Sets the gain of a finding that says what changes.
    pub fn add_to(&self, draft: &mut Draft, cx: &Context<'_>) {
        draft.replayed = self.gain_after(&draft.remedy_before, &draft.remedy);
        let Some(gain) = draft.replayed.filter(|gain| DIFFERS < cx.share(gain.abs_diff(draft.gain))) else {
            return;
        };
        let why = match draft.kind {
            _ if gain < draft.gain => "other ranks and messages then delay the run instead",
            FindingKind::CollectiveCost => {
                "the replay also takes away what slower ranks spend in the call after the last has come"
            }
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

    /// What all findings gain together: those that are replayed in one replay, and the sum of the others.
    pub fn together(&self, drafts: &[Draft]) -> u64 {
        let replayed = drafts.iter().filter(|draft| draft.replayed.is_some());
        let edits: Vec<Edit> = replayed.flat_map(|draft| draft.remedy.iter().cloned()).collect();
        let others = drafts.iter().filter(|draft| draft.replayed.is_none()).map(|draft| draft.gain);
        self.gain(&edits).unwrap_or_default().saturating_add(others.sum())
    }

    /// What is gained beyond what changes before have gained.
    fn gain_after(&self, before: &[Edit], edits: &[Edit]) -> Option<u64> {
        let already = self.gain(before).unwrap_or_default();
        self.gain(edits)?;
        Some(self.gain(&[before, edits].concat())?.saturating_sub(already))
    }

    /// `None` if nothing changes that the replay knows.
    pub fn gain(&self, edits: &[Edit]) -> Option<u64> {
        let mut edits = edits.to_vec();
        edits.retain_mut(|edit| {
            let paths = &mut edit.code_mut().paths;
            *paths = paths.iter().filter_map(|path| self.paths[path.index()]).collect();
            !paths.is_empty()
        });
        // A change that makes the run longer gains nothing.
        (!edits.is_empty()).then(|| self.replay.gain(&edits).try_into().unwrap_or_default())
    }
}
