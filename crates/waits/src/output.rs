//! The result: all waits of the selection, and their sums.

use crate::calls::CallKind;
use crate::class::WaitClass;
use crate::collectives::{CollectiveWaits, collective_waits};
use crate::delays::{CausedWait, Dependencies, GroupPoint, WaitParts};
use crate::depth::Depth;
use crate::device_collectives::device_collective_waits;
use crate::devices::{DeviceApis, DeviceRecords, DeviceWaits, device_waits};
use crate::edges::{Edges, MissingEdges};
use crate::messages::{ClockViolations, MessageWaits, message_waits};
use crate::order::wrong_order;
use crate::processes::{polling, process_joins, process_waits, start_of_mpi};
use crate::records::{LocationRecords, WaitsPartial};
use crate::rma::{RmaWaits, rma_waits};
use crate::threads::{ThreadWaits, is_thread, thread_waits};
use crate::wait::{Culprit, Wait, WaitSum, longest_of_visits};
use ouzel_analyses::callers::{CallPathRows, Callers};
use ouzel_analyses::message_matching::report_unmatched;
use ouzel_analyses::message_waits::LateMessagesOutput;
use ouzel_engine::FinishCx;
use ouzel_model::{
    CallPathTree, Definitions, Level, LocationId, Notice, NoticeCode, Remap, Ticks, TimeRange, WorldRank,
    units,
};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// Which calls of the selection waited.
#[derive(Debug, Clone)]
pub struct WaitsOutput {
    /// The call paths that the waits refer to.
    pub call_paths: CallPathTree,
    /// From the first event of the selection to the last.
    pub run_time: Ticks,
    /// Ranks of the selection that have events; threads, if there are no ranks, and locations, if there are no threads.
    pub n_ranks: u64,
    /// Threads of the selection that have events, of each process those that there are at once: the number of ranks, if
    /// none has several.
    pub n_threads: u64,
    /// By location and time, cut to the time range; parts of waits and what lies beside them follow. Empty if only
    /// [`edges`](WaitsOutput::edges) were asked for.
    pub waits: Vec<Wait>,
    /// Waiting of threads without a single call that came late, and what lies beside it.
    pub sums: Vec<WaitSum>,
    /// How waits for messages are divided; empty until [`Dependencies::delays`] is asked.
    pub parts: Vec<WaitParts>,
    /// Whether any process of the run records a message, a collective, a window, a team of threads or a lock; without them,
    /// waiting is unknown.
    pub has_records: bool,
    /// Messages that were received before they were sent.
    pub violations: ClockViolations,
    /// What the waits depend on, if it was asked for.
    pub dependencies: Option<Dependencies>,
    /// Who needs whom, if it was asked for.
    pub edges: Option<Edges>,
    /// Who waited for whose message, if it was asked for.
    pub late: Option<LateMessagesOutput>,
}

/// The waiting of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassSum {
    /// The class.
    pub class: WaitClass,
    /// Over all ranks, without what is only possible.
    pub wait: Ticks,
    /// Number of waits.
    pub n: u64,
}

impl WaitsOutput {
    /// The classes that occur, primary ones first.
    pub fn classes(&self) -> Vec<ClassSum> {
        let mut sums: BTreeMap<WaitClass, ClassSum> = BTreeMap::new();
        let mut add = |class, wait, n| {
            let sum = sums.entry(class).or_insert(ClassSum { class, wait: Ticks(0), n: 0 });
            sum.wait += wait;
            sum.n += n;
        };
        for wait in self.with_parts().filter(|it| !it.is_only_possible()) {
            add(wait.class, wait.ticks(), 1);
        }
        self.sums.iter().for_each(|sum| add(sum.class, sum.wait, sum.n));
        sums.into_values().filter(|sum| 0 < sum.n).collect()
    }

    /// All waits, and those for messages once more in parts.
    pub(crate) fn with_parts(&self) -> impl Iterator<Item = Wait> {
        self.waits.iter().copied().chain(self.parts.iter().flat_map(|parts| parts.of(&self.waits)))
    }

    /// The sum of the primary classes over all ranks, without what is only possible.
    pub fn total(&self) -> Ticks {
        let sums = self.sums.iter().filter(|it| it.is_counted()).map(|it| it.wait);
        self.waits.iter().filter(|it| it.is_counted()).map(Wait::ticks).chain(sums).sum()
    }

    /// Whether nothing of the selection waits.
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty() && self.sums.is_empty()
    }

    /// The sum of what is only possible.
    pub fn possible(&self) -> Ticks {
        self.waits.iter().filter(|it| it.is_only_possible()).map(Wait::ticks).sum()
    }

    /// Why the sums are unknown, if they are.
    pub fn missing(&self) -> Option<&'static str> {
        (!self.has_records).then_some(
            "the trace records no messages, collectives and windows of processes, no teams of threads, no locks and no \
             operations of accelerators",
        )
    }

    /// The part of the threads' time that a wait is, from 0 to 1; 0 without time.
    pub fn share(&self, wait: Ticks) -> f64 {
        let all = self.run_time.0 as f64 * self.n_threads as f64;
        if all == 0.0 { 0.0 } else { wait.0 as f64 / all }
    }
}

/// What is hidden waits, too. What waits depend on, and who needs whom, stays that of all calls.
impl CallPathRows for WaitsOutput {
    fn call_paths(&self) -> &CallPathTree {
        &self.call_paths
    }

    fn with_callers(mut self, callers: &Callers) -> Self {
        for wait in &mut self.waits {
            wait.path = callers.at(wait.path);
            if let Some(culprit) = &mut wait.culprit {
                culprit.path = callers.at(culprit.path);
            }
        }
        self.sums.iter_mut().for_each(|sum| sum.path = callers.at(sum.path));
        WaitsOutput { call_paths: callers.call_paths().clone(), ..self }
    }
}

pub(crate) fn output(
    partial: &WaitsPartial,
    (of_regions, apis): (&[CallKind], &DeviceApis),
    depth: Depth,
    cx: &FinishCx<'_>,
) -> WaitsOutput {
    let WaitsPartial { ends, locations } = partial;
    let kinds = CallKind::of_paths(of_regions, cx.call_paths);
    let mut messages = message_waits(ends, locations, &kinds, cx.definitions, depth);
    let mut collectives = collective_waits(locations, &kinds, cx.definitions, depth);
    let of_rma = locations.iter().map(|(&id, of)| (id, &of.rma));
    let (mut one_sided, of_windows) = rma_waits(of_rma, &kinds, cx.definitions);
    collectives.append(of_windows);
    report_one_sided(&one_sided, cx);
    report_unmatched(cx.notices, messages.unmatched, ends);
    report(&messages, &collectives, cx);
    let mut edges =
        depth.has_edges().then(|| all_edges(&mut messages, &mut collectives, &mut one_sided, locations, cx));
    let MessageWaits { mut waits, received, violations, clocks_are_wrong, .. } = messages;
    waits.extend(collectives.waits);
    waits.extend(one_sided.waits);
    longest_of_visits(&mut waits);
    let threads = thread_waits(locations.iter().map(|(&id, of)| (id, &of.threads)), depth, cx);
    report_threads(&threads, cx);
    waits.extend(apart(threads.waits, &waits));
    let mut beside = collectives.beside;
    beside.extend(one_sided.beside);
    let devices = add_devices(locations, apis, (&mut waits, &mut beside), cx);
    if !clocks_are_wrong {
        beside.extend(wrong_order(&waits, &received, locations));
    }
    beside.extend(polling(locations));
    let has_collectives = locations.values().any(|of| !of.collectives.is_empty());
    let has_messages = !ends.locations.is_empty() || one_sided.has_records || has_collectives;
    if has_messages {
        let (of_processes, completions) = process_waits(locations, cx.definitions);
        waits.extend(of_processes);
        beside.extend(completions);
    }
    if !depth.has_waits() {
        waits.clear();
        beside.clear();
    }
    let mut groups = collectives.groups;
    groups.extend(threads.groups);
    groups.extend(start_of_mpi(locations, cx.definitions));
    for of in [&mut waits, &mut beside] {
        of.sort_unstable_by_key(|it| (it.location, it.start, it.end, it.path, it.class, it.nth));
    }
    let (call_paths, shown) = cx.call_paths.shown(cx.definitions.filtered_region);
    edges.iter_mut().for_each(|edges| edges.number(&call_paths, &shown));
    let sums = threads.sums.into_iter().chain(devices.sums());
    let sums: Vec<WaitSum> = sums.map(|sum| WaitSum { path: shown.path(sum.path), ..sum }).collect();
    let dependencies = depth.has_causes().then(|| {
        let charged = sums.iter().filter(|sum| sum.is_counted()).copied();
        let charged = charged.chain(waits.iter().filter_map(|wait| of_device(wait, &shown, cx))).collect();
        dependencies(&waits, &groups, (&call_paths, &shown), cx).with_sums(charged)
    });
    waits.append(&mut beside);
    select(&mut waits, &shown, cx);
    WaitsOutput {
        call_paths,
        run_time: cx.run_range().map_or(Ticks(0), |run| run.end.since(run.start)),
        n_ranks: n_ranks(cx),
        n_threads: n_threads(cx).saturating_sub(threads.n_replaced).max(n_ranks(cx)),
        waits,
        sums,
        parts: Vec::new(),
        has_records: has_messages || threads.has_records || devices.has_records,
        violations,
        dependencies,
        edges,
        late: None,
    }
}

/// Who needs whom, taken out of what was found of each kind.
fn all_edges(
    messages: &mut MessageWaits,
    collectives: &mut CollectiveWaits,
    one_sided: &mut RmaWaits,
    locations: &BTreeMap<LocationId, LocationRecords>,
    cx: &FinishCx<'_>,
) -> Edges {
    let mut joins = std::mem::take(&mut collectives.joins);
    joins.append(&mut one_sided.joins);
    joins.extend(process_joins(locations, cx.definitions));
    Edges {
        call_paths: CallPathTree::default(),
        messages: std::mem::take(&mut messages.edges),
        joins,
        spans: cx.locations.iter().filter_map(|(&id, summary)| Some((id, summary.span?))).collect(),
        n_messages: messages.n_messages,
        missing: MissingEdges {
            likely_receivers: messages.n_likely,
            possible_receivers: messages.n_possible,
            unmatched: messages.unmatched.sends + messages.unmatched.receives,
            partial: collectives.n_without_edges,
            epochs: one_sided.n_without_edges,
            locks_in_order: one_sided.n_locks,
        },
    }
}

/// Adds what waits for accelerators and what they wait for.
fn add_devices(
    locations: &BTreeMap<LocationId, LocationRecords>,
    apis: &DeviceApis,
    (waits, beside): (&mut Vec<Wait>, &mut Vec<Wait>),
    cx: &FinishCx<'_>,
) -> DeviceWaits {
    let of_devices: BTreeMap<LocationId, &DeviceRecords> =
        locations.iter().map(|(&id, of)| (id, &of.devices)).collect();
    let mut devices = device_waits(&of_devices, apis, cx);
    let of_collectives = device_collective_waits(locations, cx.definitions);
    devices.report(cx);
    of_collectives.report(cx);
    let of_collectives = of_collectives.waits;
    for wait in outside(std::mem::take(&mut devices.waits), waits).into_iter().chain(of_collectives) {
        if wait.is_counted() { waits.push(wait) } else { beside.push(wait) }
    }
    devices
}

/// All waits with a culprit, and how much of each is selected.
fn dependencies(
    waits: &[Wait],
    groups: &[GroupPoint],
    (call_paths, shown): (&CallPathTree, &Remap),
    cx: &FinishCx<'_>,
) -> Dependencies {
    let mut n_selected = 0;
    let caused = |wait: &Wait| {
        let (selected, place) = (clipped(wait, cx), n_selected);
        n_selected += usize::from(selected.is_some());
        let counted = selected.map_or(Ticks(0), |range| range.end.since(range.start));
        let shown_wait = with_shown(wait, shown);
        let is_caused = wait.is_counted() && !wait.class.is_of_devices();
        is_caused.then(|| CausedWait::new(&shown_wait, counted, place)).flatten()
    };
    let waits = waits.iter().filter_map(caused).collect();
    let starts = cx.locations.iter().filter_map(|(&id, summary)| Some((id, summary.span?.0))).collect();
    Dependencies::new(waits, groups, &starts, call_paths.clone())
}

/// Waiting for an accelerator, which no earlier code of a process explains.
fn of_device(wait: &Wait, shown: &Remap, cx: &FinishCx<'_>) -> Option<WaitSum> {
    let range = clipped(wait, cx).filter(|_| wait.is_counted() && wait.class.is_of_devices())?;
    let ticks = range.end.since(range.start);
    Some(WaitSum {
        class: wait.class,
        location: wait.location,
        path: shown.path(wait.path),
        wait: ticks,
        n: 1,
        longest: ticks,
        longest_at: range.start,
    })
}

/// The part of a wait that is selected.
fn clipped(wait: &Wait, cx: &FinishCx<'_>) -> Option<TimeRange> {
    let selected = cx.selected_of(wait.location);
    let range = selected.clip(TimeRange { start: wait.start, end: wait.end });
    (selected.location && range.start < range.end).then_some(range)
}

/// Leaves what is selected, with the call paths that are shown.
fn select(waits: &mut Vec<Wait>, shown: &Remap, cx: &FinishCx<'_>) {
    waits.retain_mut(|wait| {
        let range = clipped(wait, cx);
        range.map(|range| (wait.start, wait.end) = (range.start, range.end)).is_some()
    });
    waits.iter_mut().for_each(|wait| *wait = with_shown(wait, shown));
}

/// The same with the call paths that are shown.
fn with_shown(wait: &Wait, shown: &Remap) -> Wait {
    let culprit = wait.culprit.map(|it| Culprit { path: shown.path(it.path), ..it });
    Wait { path: shown.path(wait.path), culprit, ..*wait }
}

fn n_ranks(cx: &FinishCx<'_>) -> u64 {
    let Definitions { locations, .. } = cx.definitions;
    let with_events = cx.selected.iter().filter(|(_, summary)| summary.span.is_some());
    let with_events = with_events.map(|(id, _)| &locations[id.index()]).filter(|it| it.kind.runs_code());
    let ranks: BTreeSet<WorldRank> = with_events.clone().filter_map(|it| it.rank).collect();
    if !ranks.is_empty() {
        return ranks.len() as u64;
    }
    let n_threads = with_events.clone().filter(|it| is_thread(it)).count();
    if n_threads == 0 { with_events.count() as u64 } else { n_threads as u64 }
}

/// Waits of threads in calls that wait for no other rank: of a visit that does both, the latter counts.
fn apart(mut of_threads: Vec<Wait>, waits: &[Wait]) -> Vec<Wait> {
    if !of_threads.is_empty() {
        let visits: FxHashSet<_> = waits.iter().map(Wait::visit).collect();
        of_threads.retain(|wait| !visits.contains(&wait.visit()));
    }
    of_threads
}

/// The parts of waits for devices in which nothing else is waited for.
fn outside(of_devices: Vec<Wait>, waits: &[Wait]) -> Vec<Wait> {
    let mut taken: BTreeMap<LocationId, Vec<(Ticks, Ticks)>> = BTreeMap::new();
    if !of_devices.is_empty() {
        for wait in waits.iter().filter(|wait| wait.is_counted()) {
            taken.entry(wait.location).or_default().push((wait.start, wait.end));
        }
    }
    taken.values_mut().for_each(|ranges| ranges.sort_unstable());
    let mut found = Vec::with_capacity(of_devices.len());
    for wait in of_devices {
        let ranges = taken.get(&wait.location).map_or(&[][..], |ranges| &ranges[..]);
        let mut start = wait.start;
        let first = ranges.partition_point(|range| range.1 <= start);
        let ranges = ranges[first..].iter().take_while(|range| range.0 < wait.end);
        for (taken, end) in ranges.copied().chain([(wait.end, wait.end)]) {
            if start < taken {
                found.push(Wait { start, end: taken.min(wait.end), ..wait });
            }
            start = start.max(end);
        }
    }
    found
}

fn n_threads(cx: &FinishCx<'_>) -> u64 {
    let has_events = cx.selected.iter().filter(|(_, summary)| summary.span.is_some());
    let n = has_events.filter(|(id, _)| is_thread(cx.definitions.location(**id))).count() as u64;
    // Without threads, as many as there are ranks.
    if n == 0 { n_ranks(cx) } else { n }
}

fn report(messages: &MessageWaits, collectives: &CollectiveWaits, cx: &FinishCx<'_>) {
    let push = |count: u64, level, code, what: String| {
        if 0 < count {
            cx.notices.push(Notice::new(level, code, what).times(count));
        }
    };
    let ClockViolations { n, worst } = messages.violations;
    push(
        n,
        Level::Medium,
        NoticeCode::MessageOrder,
        format!(
            "a message was received before it was sent, by up to {}: its wait ends with its call; --repair-clocks \
             corrects clocks",
            units::time(cx.clock().ns_from_ticks(worst))
        ),
    );
    push(
        u64::from(messages.clocks_are_wrong),
        Level::Low,
        NoticeCode::MessageOrder,
        "messages in wrong order are not looked for, as clocks are wrong".to_owned(),
    );
    let unaligned = NoticeCode::UnalignedSynchronisations;
    push(
        collectives.n_partial,
        Level::Medium,
        unaligned,
        "a collective has no wait: members of its communicator are missing".to_owned(),
    );
    push(
        collectives.n_unaligned,
        Level::Medium,
        unaligned,
        "a collective has no wait: the matching collective of the other members is unknown".to_owned(),
    );
}

fn report_one_sided(one_sided: &RmaWaits, cx: &FinishCx<'_>) {
    let push = |count: u64, code, what: String| {
        if 0 < count {
            cx.notices.push(Notice::new(Level::Medium, code, what).times(count));
        }
    };
    let ClockViolations { n, worst } = one_sided.violations;
    let worst = cx.clock().ns_from_ticks(worst);
    push(
        n,
        NoticeCode::MessageOrder,
        format!(
            "a call was left before the end of the accesses or the lock that it waits for, by up to {}: its wait ends with it",
            units::time(worst)
        ),
    );
    push(
        one_sided.n_partial,
        NoticeCode::UnalignedSynchronisations,
        "an epoch of one-sided communication has no wait: its other side is missing".to_owned(),
    );
    push(
        one_sided.n_unknown_syncs,
        NoticeCode::UnalignedSynchronisations,
        "a group synchronises for one-sided communication, but which epoch begins or ends is unknown"
            .to_owned(),
    );
}

fn report_threads(threads: &ThreadWaits, cx: &FinishCx<'_>) {
    if 0 < threads.n_unrecorded_locks {
        let message = "a call that takes a lock has no record of it: waiting for it is unknown";
        let notice = Notice::new(Level::Low, NoticeCode::NotAvailable, message);
        cx.notices.push(notice.times(threads.n_unrecorded_locks));
    }
    if 0 < threads.n_partial {
        let message = "a barrier of threads has no wait: its team, or the matching barriers of all its members, are not known";
        let code = NoticeCode::UnalignedSynchronisations;
        cx.notices.push(Notice::new(Level::Medium, code, message).times(threads.n_partial));
    }
}
