//! Epochs of groups: `MPI_Win_start` to `MPI_Win_complete` at an origin, `MPI_Win_post` to `MPI_Win_wait` at a target.
//!
//! The k-th access epoch of an origin with a target is that of the k-th exposure epoch of the target with the origin.

use super::{Call, OneSided, RmaWaits, wait_until};
use crate::class::WaitClass;
use crate::edges::{Join, Need, Post};
use crate::rma_records::{RmaRecord, RmaWhat, SyncCall};
use crate::wait::{Culprit, Wait};
use ouzel_model::{LocationId, RankGroupId, RmaWindowId, Ticks, WorldRank};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// What an origin does from its start to its end.
#[derive(Debug)]
struct AccessEpoch {
    window: RmaWindowId,
    origin: WorldRank,
    group: Option<RankGroupId>,
    start: Call,
    accesses: Vec<(WorldRank, Call)>,
    complete: Option<Call>,
    is_selected: bool,
}

/// What a target does while others access its memory.
#[derive(Debug)]
struct ExposureEpoch {
    window: RmaWindowId,
    target: WorldRank,
    group: Option<RankGroupId>,
    post: Call,
    /// The call that ended it, and whether that one waited.
    end: Option<(Call, bool)>,
    is_selected: bool,
}

#[derive(Debug, Default)]
struct Epochs {
    accesses: Vec<AccessEpoch>,
    exposures: Vec<ExposureEpoch>,
    n_unknown: u64,
}

/// Window, origin and target.
type Pair = (RmaWindowId, WorldRank, WorldRank);

/// Adds the waits of all epochs of groups.
pub(super) fn add(found: &mut RmaWaits, one_sided: &OneSided<'_>) {
    let mut epochs = Epochs::default();
    for &(location, of) in &one_sided.locations {
        if let Some(rank) = one_sided.ranks.rank(location) {
            epochs.add_location(location, rank, &of.records, one_sided);
        }
    }
    // Threads of a process share its windows.
    epochs.accesses.sort_by_key(|it| (it.window, it.origin, it.start.enter, it.start.location));
    epochs.exposures.sort_by_key(|it| (it.window, it.target, it.post.enter, it.post.location));
    found.n_unknown_syncs += epochs.n_unknown;
    let group = |group: Option<RankGroupId>| one_sided.group(group);
    let mut exposures_of: BTreeMap<Pair, Vec<usize>> = BTreeMap::new();
    for (at, of) in epochs.exposures.iter().enumerate() {
        for &origin in group(of.group) {
            exposures_of.entry((of.window, origin, of.target)).or_default().push(at);
        }
    }
    let mut accesses_of: BTreeMap<Pair, Vec<usize>> = BTreeMap::new();
    for (at, of) in epochs.accesses.iter().enumerate() {
        for &target in group(of.group) {
            accesses_of.entry((of.window, of.origin, target)).or_default().push(at);
        }
    }
    let partners =
        |own: &BTreeMap<Pair, Vec<usize>>, of: &BTreeMap<Pair, Vec<usize>>, pair: Pair, at: usize| {
            let nth = own.get(&pair)?.binary_search(&at).ok()?;
            of.get(&pair)?.get(nth).copied()
        };
    let mut let_in: Vec<(&AccessEpoch, Vec<Call>)> = Vec::new();
    for (at, epoch) in epochs.accesses.iter().enumerate() {
        let exposure = |&target: &WorldRank| {
            let pair = (epoch.window, epoch.origin, target);
            let exposure = partners(&accesses_of, &exposures_of, pair, at)?;
            Some(epochs.exposures[exposure].post)
        };
        match group(epoch.group).iter().map(exposure).collect::<Option<Vec<Call>>>() {
            Some(posts) if epoch.group.is_some() => let_in.push((epoch, posts)),
            _ => found.add_partial(epoch.is_selected),
        }
    }
    // Whether the library lets epochs begin before their targets have posted.
    let is_left_before = |(epoch, posts): &(&AccessEpoch, Vec<Call>)| {
        latest(posts.iter()).is_some_and(|last| epoch.start.leave < last.enter)
    };
    let starts_wait = !let_in.iter().any(is_left_before);
    for (epoch, posts) in &let_in {
        late_post(found, epoch, posts, starts_wait);
    }
    for (at, epoch) in epochs.exposures.iter().enumerate() {
        let access = |&origin: &WorldRank| {
            let access = partners(&exposures_of, &accesses_of, (epoch.window, origin, epoch.target), at)?;
            let access = &epochs.accesses[access];
            access.complete.map(|complete| (access, complete))
        };
        let Some((end, true)) = epoch.end else { continue };
        match group(epoch.group).iter().map(access).collect::<Option<Vec<_>>>() {
            Some(accesses) if epoch.group.is_some() => early_wait(found, epoch, end, &accesses),
            _ => found.add_partial(epoch.is_selected),
        }
    }
}

/// The last to be entered; of several, that of the smallest location.
fn latest<'a>(calls: impl Iterator<Item = &'a Call>) -> Option<&'a Call> {
    calls.max_by_key(|call| (call.enter, Reverse(call.location)))
}

fn culprit(call: &Call) -> Culprit {
    Culprit { location: call.location, path: call.path, arrived: call.enter, left: call.leave }
}

/// The first call of an origin that is left only after the last target has let it in. If none waited, it is where calls
/// of this run do.
fn late_post(found: &mut RmaWaits, epoch: &AccessEpoch, posts: &[Call], starts_wait: bool) {
    let Some(last) = latest(posts.iter()) else { return };
    let calls = || {
        let accesses = epoch.accesses.iter().map(|(_, call)| call);
        std::iter::once(&epoch.start).chain(accesses).chain(&epoch.complete)
    };
    let waits = calls().filter(|call| call.location != last.location);
    let waiting = waits.filter_map(|call| Some((call, wait_until(WaitClass::LatePost, call, last.enter)?)));
    let waiting = waiting.into_iter().find(|(call, _)| last.enter <= call.leave);
    let usual = if starts_wait { Some(&epoch.start) } else { epoch.complete.as_ref() };
    let needing = waiting.as_ref().map(|(call, _)| *call).or(usual);
    if let Some(need) = needing.and_then(Call::need) {
        found.join(posts.iter().filter_map(Call::post), need);
    }
    found.waits.extend(waiting.map(|(_, wait)| wait.of(culprit(last))));
}

/// A target waits for the last origin to end its accesses.
fn early_wait(found: &mut RmaWaits, epoch: &ExposureEpoch, end: Call, accesses: &[(&AccessEpoch, Call)]) {
    let Some(last) = latest(accesses.iter().map(|(_, complete)| complete)) else { return };
    if let Some(need) = end.need() {
        found.join(accesses.iter().filter_map(|(_, complete)| complete.post()), need);
    }
    if last.location == end.location {
        return;
    }
    if end.leave < last.enter {
        found.clamped(WaitClass::EarlyWait, &end, culprit(last), epoch.is_selected);
        return;
    }
    let Some(wait) = wait_until(WaitClass::EarlyWait, &end, last.enter) else { return };
    let wait = wait.of(culprit(last));
    let of_target = |access: &AccessEpoch| {
        let here = access.accesses.iter().filter(|(target, _)| *target == epoch.target);
        here.map(|(_, call)| call.leave).max()
    };
    let accessed: Option<Ticks> = accesses.iter().filter_map(|(access, _)| of_target(access)).max();
    let start = accessed.unwrap_or_default().max(wait.start);
    if start < wait.end {
        found.beside.push(Wait { class: WaitClass::LateComplete, start, ..wait });
    }
    found.waits.push(wait);
}

impl RmaWaits {
    fn add_partial(&mut self, is_selected: bool) {
        self.n_without_edges += 1;
        self.n_partial += u64::from(is_selected);
    }

    fn join(&mut self, posts: impl Iterator<Item = Post>, need: Need) {
        let posts: Vec<Post> = posts.collect();
        if !posts.is_empty() {
            self.joins.push(Join { posts, needs: vec![need], ..Join::default() });
        }
    }
}

impl Epochs {
    fn add_location(
        &mut self,
        location: LocationId,
        rank: WorldRank,
        records: &[RmaRecord],
        one_sided: &OneSided<'_>,
    ) {
        let mut access: BTreeMap<RmaWindowId, usize> = BTreeMap::new();
        let mut exposure: BTreeMap<RmaWindowId, usize> = BTreeMap::new();
        for record in records {
            let (call, window, is_selected) = (Call::of(location, record), record.window, record.is_selected);
            match record.what {
                RmaWhat::Sync { call: SyncCall::Start, group } => {
                    access.insert(window, self.accesses.len());
                    let (start, accesses, origin) = (call, Vec::new(), rank);
                    let complete = None;
                    self.accesses.push(AccessEpoch {
                        window,
                        origin,
                        group,
                        start,
                        accesses,
                        complete,
                        is_selected,
                    });
                }
                RmaWhat::Sync { call: SyncCall::Complete, .. } => match access.remove(&window) {
                    Some(at) => self.accesses[at].complete = Some(call),
                    None => self.n_unknown += u64::from(is_selected),
                },
                RmaWhat::Sync { call: SyncCall::Post, group } => {
                    exposure.insert(window, self.exposures.len());
                    let (post, target, end) = (call, rank, None);
                    self.exposures.push(ExposureEpoch { window, target, group, post, end, is_selected });
                }
                RmaWhat::Sync { call: it @ (SyncCall::Wait | SyncCall::Test), .. } => {
                    match exposure.remove(&window) {
                        Some(at) => self.exposures[at].end = Some((call, it == SyncCall::Wait)),
                        None => self.n_unknown += u64::from(is_selected),
                    }
                }
                RmaWhat::Sync { call: SyncCall::Unknown, .. } => self.n_unknown += u64::from(is_selected),
                RmaWhat::Access { target } => {
                    let target = one_sided.ranks.target(window, location, target).flatten();
                    if let (Some(&at), Some(target)) = (access.get(&window), target) {
                        self.accesses[at].accesses.push((target, call));
                    }
                }
                _ => {}
            }
        }
    }
}
