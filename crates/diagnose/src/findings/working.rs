//! The peers among which work can be spread, where nothing synchronises them.
//!
//! Ranks of MPI all take part. Processes of a program without it may be there only to start others and wait for them, to clean
//! up behind them (as Python's `multiprocessing` has one), or to run a command; they compute next to nothing. Which process has
//! started which does not tell them: one that cleans up is started like one that works, and a process that works may have
//! started the others. So the peers are those that compute at least a tenth of what the busiest one does.

use super::context::{Context, Times};
use super::stages::stages;
use crate::steps::Steps;
use ouzel_analyses::phases::{Cell, PhaseGroup, Stat};
use ouzel_analyses::semantics::Family;
use ouzel_model::{CallPathId, CallPathTree, LocationId, Ticks};
use std::cmp::Reverse;

/// Part of the computing of the busiest, one in so many, from which a process is there to work.
const WORKS: u64 = 10;

/// The group of the peers that work, if others are in the group, too.
pub(super) fn working_group(cx: &Context<'_>) -> Option<PhaseGroup> {
    let is_ranked = cx.recorded.calls || cx.classes.iter().any(|class| class.family == Family::Mpi);
    if is_ranked || cx.group.phases.len() != 1 {
        return None;
    }
    let busy = cx.by_peer(CallPathTree::ROOT, Times::Busy);
    let most = busy.iter().map(|&(_, ticks)| ticks).max().unwrap_or(0);
    let works: Vec<bool> = busy.iter().map(|&(_, ticks)| most <= ticks.saturating_mul(WORKS)).collect();
    if works.iter().all(|&works| works) {
        return None;
    }
    let of = |path: CallPathId, times: Times| {
        let all = cx.by_peer(path, times).into_iter().zip(&works);
        stat(all.filter(|(_, works)| **works).map(|(peer, _)| peer))
    };
    let mut group = cx.group.clone();
    let mut keep = works.iter();
    group.locations.retain(|_| keep.next() == Some(&true));
    let mut keep = works.iter();
    group.program.retain(|_| keep.next() == Some(&true));
    for phase in &mut group.phases {
        phase.busy = of(CallPathTree::ROOT, Times::Busy);
    }
    let restricted = |cell: &Cell| Cell {
        inclusive: of(cell.call_path, Times::Inclusive),
        exclusive: of(cell.call_path, Times::Exclusive),
        busy: of(cell.call_path, Times::Busy),
        ..*cell
    };
    group.cells = group.cells.iter().map(restricted).collect();
    group.totals = group.totals.iter().map(restricted).collect();
    if let Some(noise) = &mut group.noise {
        noise.n_peers = group.locations.len() as u64;
    }
    Some(group)
}

/// The same findings are made from, about this group alone.
pub(super) fn context_of<'a>(cx: &Context<'a>, group: &'a PhaseGroup) -> Context<'a> {
    Context {
        group,
        // There is one phase, so there are neither loops nor epochs.
        stages: stages(group, &Steps::default()),
        steps: cx.steps,
        epochs: &[],
        definitions: cx.definitions,
        classes: cx.classes,
        profile: cx.profile,
        communication: cx.communication,
        io: cx.io,
        late: cx.late,
        waits: cx.waits,
        clocks_are_right: cx.clocks_are_right,
        nothing_lost: cx.nothing_lost,
        recorded: cx.recorded,
        counters: cx.counters,
    }
}

/// The times of these peers.
fn stat(peers: impl Iterator<Item = (LocationId, u64)> + Clone) -> Stat {
    const NOBODY: (LocationId, u64) = (LocationId(0), 0);
    let most = peers.clone().min_by_key(|&(location, ticks)| (Reverse(ticks), location));
    let least = peers.clone().min_by_key(|&(location, ticks)| (ticks, location));
    let ((max_at, max), (min_at, min)) = (most.unwrap_or(NOBODY), least.unwrap_or(NOBODY));
    Stat {
        n_seen: u32::try_from(peers.clone().filter(|&(_, ticks)| 0 < ticks).count()).unwrap_or(u32::MAX),
        sum: Ticks(peers.map(|(_, ticks)| ticks).sum()),
        max: Ticks(max),
        max_at,
        min: Ticks(min),
        min_at,
    }
}
