//! What makes a run with accelerators longer, and what it would gain without: found by replays.
//!
//! | loss | what the replay changes |
//! |---|---|
//! | host late | the code that the host runs before it launches, as far as it is the longest since the last launch or wait, takes no time |
//! | input pipeline | the same, by the name of that code |
//! | first use, memory churn | code of such names takes no time, and calls that release memory do not wait, see `named_losses` |
//! | useless synchronisation | the calls of one call path do not wait and take no time, except the last wait of each thread |
//! | serialised streams | the same, where operations that are launched after such a call go to another stream |
//! | synchronous copies, pageable memory | the calls of one call path do not block, nor do those after them that wait for their copies; these run beside their stream |
//! | load imbalance | no replay: of the kernel with the most, the time of the rank with most less the mean, at most what hosts of others wait in MPI |
//! | straggler | in collectives in which one rank begins last, it begins with the one before it: its stream or its host is faster, whichever gains more |
//! | small kernels | of kernels that run shorter than their launches and follow each other, all launches but the first take no time |
//! | exposed communication | collectives of devices take no time after the last has begun; where not all members are recorded, no time |
//!
//! Where samples show what hosts do and launches are not recorded, nothing is replayed: see `sampled_hosts`.
//!
//! A straggler takes the place of late code if it is late by that code and the gain is as high. Gains of several losses
//! are not to be added. A loss without gain is none: a host that is late but ahead of the device
//! costs nothing. Changes of one kind of which each gains what all of them gain are one loss, see `alternatives`.

use super::AcceleratorsOutput;
use super::alternatives;
use super::loss::{Candidate, DeviceLoss, loss};
use super::loss_kind::DeviceLossKind;
use super::members::DeviceMember;
use super::names;
use super::replay::{DeviceReplay, LengthChanges};
use super::trials::Trials;
use crate::devices::calls::DeviceApi;
use crate::devices::records::{HostState, OperationValue};
use ouzel_analyses::breakdown::Activity;
use ouzel_model::{CallPathId, CallPathTree, Definitions, LocationId, Ticks};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A caller is named instead of its callee if it explains more time by this factor.
const CALLER_EXPLAINS_MORE: (u64, u64) = (11, 10);

/// Replays for one kind of loss at most: those of the call paths with most time.
const MOST_REPLAYS: usize = 4;

/// The losses of a run.
#[derive(Debug, Clone, Default)]
pub struct DeviceLosses {
    /// The call paths of the losses.
    pub call_paths: CallPathTree,
    /// The most gain first.
    pub list: Vec<DeviceLoss>,
}

impl AcceleratorsOutput {
    /// What replays of these records find, with their collectives; none if they cannot be replayed.
    pub(super) fn replayed_losses(
        &self,
        collectives: &[Vec<DeviceMember>],
        definitions: &Definitions,
    ) -> Option<Vec<DeviceLoss>> {
        let replay = self.replay_with(collectives, definitions)?;
        let mut trials = Trials::new(&replay);
        let named = [DeviceLossKind::FirstUse, DeviceLossKind::MemoryChurn];
        let named = named.iter().filter_map(|&kind| self.named_loss(&replay, kind, definitions));
        let candidates = [
            named.collect(),
            self.late_code(&replay, definitions),
            self.waits(&replay),
            self.copies(&mut trials, definitions),
            stragglers(&replay),
            self.small_kernels(&replay),
            self.exposed(&replay),
        ];
        let mut candidates: Vec<Candidate> = candidates.into_iter().flatten().collect();
        for it in &mut candidates {
            it.loss.gain = Ticks(trials.gain(&[&it.changes]));
            it.loss.is_replayed = true;
        }
        candidates.retain(|it| it.loss.gain != Ticks(0));
        let mut list = alternatives::gather(candidates, &mut trials);
        one_loss_of_each_straggler(&mut list);
        Some(list)
    }

    /// Code of the host before launches and waits, with what it calls.
    fn late_code(&self, replay: &DeviceReplay, definitions: &Definitions) -> Vec<Candidate> {
        // By call path; there is more code than there are call paths.
        let mut own_of: Vec<Option<u64>> = vec![None; self.call_paths.len()];
        for (_, path, ticks) in self.code_before(replay) {
            *own_of[path.index()].get_or_insert(0) += ticks;
        }
        let own = own_of.iter().enumerate().filter_map(|(i, of)| Some((CallPathId::from_index(i), (*of)?)));
        let own: BTreeMap<CallPathId, u64> = own.collect();
        let mut with_callees: BTreeMap<CallPathId, u64> = BTreeMap::new();
        for (&path, ticks) in &own {
            self.chain(path).for_each(|at| *with_callees.entry(at).or_default() += ticks);
        }
        let sum = |path: CallPathId| with_callees[&path];
        let candidate = |path: CallPathId| {
            let name = self.call_paths.region(path).map(|region| definitions.region(region).name.clone());
            let kind = name.map_or(DeviceLossKind::HostLate, |name| names::host_loss(&name));
            let mut changes = LengthChanges::default();
            for (number, code, ticks) in self.code_before(replay) {
                if !self.chain(code).any(|at| at == path) {
                    continue;
                }
                match changes.before.last_mut().filter(|it| it.0 == number) {
                    Some(last) => last.1 -= ticks,
                    None => changes.before.push((number, replay.lengths.before[number as usize] - ticks)),
                }
            }
            let spans = changes.before.iter().map(|&(number, _)| replay.code_span(number as usize));
            let loss = loss(kind, path, spans, changes.before.len(), sum(path));
            Candidate { loss, changes }
        };
        // Those are found by their names, wherever they are called.
        let is_named =
            |it: &Candidate| matches!(it.loss.kind, DeviceLossKind::FirstUse | DeviceLossKind::MemoryChurn);
        self.widest(own, &with_callees).into_iter().map(candidate).filter(|it| !is_named(it)).collect()
    }

    /// The call paths with most time of their own, each as the caller that explains more; both by ticks.
    pub(super) fn widest(
        &self,
        own: BTreeMap<CallPathId, u64>,
        with_callees: &BTreeMap<CallPathId, u64>,
    ) -> Vec<CallPathId> {
        let sum = |path: CallPathId| with_callees[&path];
        let mut paths: Vec<CallPathId> = Vec::new();
        for (path, _) in most(own, |ticks| *ticks) {
            let explains = |path, at| sum(path) * CALLER_EXPLAINS_MORE.0 < sum(at) * CALLER_EXPLAINS_MORE.1;
            let widest = self.chain(path).fold(path, |path, at| if explains(path, at) { at } else { path });
            paths.extend(Some(widest).filter(|it| !paths.contains(it) && 0 < sum(*it)));
        }
        // A callee with nearly all of the time says more than its caller.
        let says_more = |callee: CallPathId, caller: CallPathId| {
            callee != caller
                && self.chain(callee).any(|at| at == caller)
                && sum(caller) * CALLER_EXPLAINS_MORE.1 <= sum(callee) * CALLER_EXPLAINS_MORE.0
        };
        let all = paths.clone();
        paths.retain(|&caller| !all.iter().any(|&callee| says_more(callee, caller)));
        paths
    }

    /// The code before each call but the first of a thread, before which it has nothing to launch late: the number of the
    /// call, the call path, and its time. What communicates waits for others, and is left out.
    fn code_before<'a>(
        &'a self,
        replay: &'a DeviceReplay,
    ) -> impl Iterator<Item = (u32, CallPathId, u64)> + 'a {
        let is_code = |path: CallPathId| {
            self.call_paths
                .region(path)
                .is_some_and(|region| self.kept.state(region) != Some(HostState::Communicates))
        };
        let calls = (0..).zip(&replay.calls).filter(|(_, it): &(u32, _)| it.before.is_some());
        calls.flat_map(move |(number, it)| {
            let mut left = replay.lengths.before[number as usize];
            let code = replay.code(it).iter().filter(move |it| is_code(it.0));
            code.map(move |&(path, ticks)| {
                let ticks = ticks.min(left);
                left -= ticks;
                (number, path, ticks)
            })
        })
    }

    /// A call path and its callers, innermost first.
    pub(super) fn chain(&self, path: CallPathId) -> impl Iterator<Item = CallPathId> + '_ {
        let callers = std::iter::successors(Some(path), |&at| Some(self.call_paths.parent(at)));
        callers.take_while(|&at| self.call_paths.region(at).is_some())
    }

    /// Calls that wait for streams, devices and events.
    fn waits(&self, replay: &DeviceReplay) -> Vec<Candidate> {
        let mut of_path: BTreeMap<CallPathId, Vec<usize>> = BTreeMap::new();
        for (number, it) in replay.calls.iter().enumerate() {
            let is_copy = matches!(it.call.api, DeviceApi::BlockingCopy | DeviceApi::Free);
            if it.is_waiting && !is_copy && !it.is_last_wait {
                of_path.entry(it.call.path).or_default().push(number);
            }
        }
        let ticks = |number: &usize| {
            let call = &replay.calls[*number].call;
            call.leave.since(call.enter).0
        };
        let candidate = |(path, calls): (CallPathId, Vec<usize>)| {
            let mut changes = LengthChanges::default();
            for &number in &calls {
                changes.waitless.push(number as u32);
                changes.own.push((number as u32, 0));
            }
            let n_serial = calls.iter().filter(|&&number| serialises(replay, number)).count();
            let kind = match calls.len() <= 2 * n_serial {
                true => DeviceLossKind::SerializedStreams,
                false => DeviceLossKind::UselessSynchronization,
            };
            let spans = calls.iter().map(|&number| replay.call_span(number));
            let time = calls.iter().map(ticks).sum();
            Candidate { loss: loss(kind, path, spans, calls.len(), time), changes }
        };
        most(of_path, |calls| calls.iter().map(ticks).sum()).into_iter().map(candidate).collect()
    }

    /// Copies that the host waits for at once, in the call after the one that starts them: the number of the waiting
    /// call, and of the operation, by the call path that starts them. Those of call paths where more is lost by the copies
    /// than by waiting for what their streams run before.
    fn awaited_copies(&self, trials: &mut Trials<'_>) -> BTreeMap<CallPathId, Vec<(usize, usize)>> {
        let replay = trials.replay;
        let mut of_path: BTreeMap<CallPathId, Vec<(usize, usize)>> = BTreeMap::new();
        for (number, it) in replay.calls.iter().enumerate() {
            let Some(awaited) = it.awaits.filter(|_| it.call.api != DeviceApi::BlockingCopy) else {
                continue;
            };
            let operation = &replay.operations[awaited.operation as usize];
            let is_copy = self.activity(operation.path) == Activity::Transfer;
            if let Some(launch) = operation.launch.filter(|_| is_copy && operation.launch == it.before) {
                let path = replay.calls[launch as usize].call.path;
                of_path.entry(path).or_default().push((number, awaited.operation as usize));
            }
        }
        let is_copy_lost = |(_, copies): &(CallPathId, Vec<(usize, usize)>)| {
            let changes = copies_beside(replay, copies);
            let without_waiting = LengthChanges { beside: Vec::new(), ..changes.clone() };
            2 * trials.gain(&[&without_waiting]) < trials.gain(&[&changes])
        };
        most(of_path, |copies| copies.iter().map(|&it| copied(replay, it)).sum())
            .into_iter()
            .filter(is_copy_lost)
            .collect()
    }

    /// Calls that copy and block, and copies that the host waits for at once.
    fn copies(&self, trials: &mut Trials<'_>, definitions: &Definitions) -> Vec<Candidate> {
        let replay = trials.replay;
        let mut of_path = self.awaited_copies(trials);
        for (number, it) in replay.operations.iter().enumerate() {
            let Some(launch) = it.launch.map(|launch| launch as usize) else { continue };
            let call = &replay.calls[launch].call;
            if call.api == DeviceApi::BlockingCopy && self.activity(it.path) == Activity::Transfer {
                of_path.entry(call.path).or_default().push((launch, number));
            }
        }
        let candidate = |(path, copies): (CallPathId, Vec<(usize, usize)>)| {
            let changes = copies_beside(replay, &copies);
            let is_pageable = |&(_, number): &(usize, usize)| {
                let it = &replay.operations[number];
                if let Some(is_pageable) = self.value(it.place.0, it.place.1, OperationValue::Pageable) {
                    return is_pageable == 1;
                }
                let name = self.call_paths.region(it.path);
                let name = name.map(|region| definitions.region(region).name.clone());
                name.and_then(|name| names::is_pageable(&name)) == Some(true)
            };
            let kind = match copies.len() < 2 * copies.iter().filter(|it| is_pageable(it)).count() {
                true => DeviceLossKind::PageableMemory,
                false => DeviceLossKind::SynchronousCopies,
            };
            let spans = copies.iter().map(|it| replay.call_span(it.0));
            let time = copies.iter().map(|&it| copied(replay, it)).sum();
            Candidate { loss: loss(kind, path, spans, copies.len(), time), changes }
        };
        most(of_path, |copies| copies.iter().map(|&it| copied(replay, it)).sum())
            .into_iter()
            .map(candidate)
            .collect()
    }

    /// Runs of short kernels.
    fn small_kernels(&self, replay: &DeviceReplay) -> Vec<Candidate> {
        let mut changes = LengthChanges::default();
        let (mut kernels, mut time) = (Vec::new(), 0);
        for (number, it) in replay.operations.iter().enumerate() {
            let Some(launch) = it.launch.map(|launch| launch as usize) else { continue };
            let takes = |launch: usize| {
                let call = &replay.calls[launch].call;
                call.leave.since(call.enter).0
            };
            let is_kernel = self.activity(it.path) == Activity::Computation;
            let is_short = is_kernel && it.end - it.start < takes(launch) && !replay.lengths.waits[launch];
            let follows = replay.calls[launch].before.is_some_and(|before| {
                replay.calls[before as usize].launches == number.checked_sub(1).map(|it| it as u32)
            });
            if is_short && follows {
                // Time between launches is the host's own, as far as it is not that of a framework around a launch.
                changes.own.push((launch as u32, 0));
                changes.delay.push((number as u32, 0));
                time += takes(launch);
                kernels.push(number);
            }
        }
        let Some(&first) = kernels.first() else { return Vec::new() };
        let mut of_path: BTreeMap<CallPathId, usize> = BTreeMap::new();
        kernels.iter().for_each(|&it| *of_path.entry(replay.operations[it].path).or_default() += 1);
        let path = of_path.into_iter().max_by_key(|it| (it.1, Reverse(it.0)));
        let path = path.map_or(replay.operations[first].path, |it| it.0);
        let launches = kernels.iter().filter_map(|&it| replay.operations[it].launch);
        let spans = launches.map(|launch| replay.call_span(launch as usize));
        let loss = loss(DeviceLossKind::SmallKernels, path, spans, kernels.len(), time);
        vec![Candidate { loss, changes }]
    }

    /// Collectives of devices; of those with members that are not recorded, all of the time.
    fn exposed(&self, replay: &DeviceReplay) -> Vec<Candidate> {
        let complete = replay.collectives.iter().flatten().map(|&it| it as usize);
        let communicates = |it: &usize| {
            let operation = &replay.operations[*it];
            operation.collective.is_none() && self.activity(operation.path) == Activity::Communication
        };
        let others: Vec<usize> = (0..replay.operations.len()).filter(communicates).collect();
        let n = replay.collectives.len() + others.len();
        let lacks_members = !others.is_empty();
        let members: Vec<usize> = complete.chain(others).collect();
        let time = members.iter().map(|&it| replay.lengths.length[it]).max().unwrap_or(0);
        let length = members.iter().map(|&it| (it as u32, 0)).collect();
        let changes = LengthChanges { length, ..LengthChanges::default() };
        let Some(&first) = members.first() else { return Vec::new() };
        let spans = members.iter().map(|&it| replay.operation_span(it));
        let path = replay.operations[first].path;
        let loss = loss(DeviceLossKind::ExposedCommunication, path, spans, n, time);
        vec![Candidate { loss: DeviceLoss { lacks_members, ..loss }, changes }]
    }
}

/// What is said of all losses that were found, the most gain first.
pub(super) fn chosen(mut list: Vec<DeviceLoss>, imbalance: Option<DeviceLoss>) -> Vec<DeviceLoss> {
    one_loss_of_each_straggler(&mut list);
    without_late_code_of_stragglers(&mut list);
    list.extend(imbalance);
    list.sort_by_key(|loss| (Reverse(loss.gain), loss.kind, loss.call_path));
    list
}

/// How long the copy of a call takes.
fn copied(replay: &DeviceReplay, (_, operation): (usize, usize)) -> u64 {
    let it = &replay.operations[operation];
    it.end - it.start
}

/// Calls that no longer wait for their copies, which run beside their streams.
fn copies_beside(replay: &DeviceReplay, copies: &[(usize, usize)]) -> LengthChanges {
    let mut changes = LengthChanges::default();
    for &(call, operation) in copies {
        changes.waitless.push(call as u32);
        changes.own.push((call as u32, replay.lengths.after[call].max(1)));
        changes.beside.push(operation as u32);
    }
    changes
}

/// Drops late code that makes a straggler late: the straggler says who is late, too.
fn without_late_code_of_stragglers(list: &mut Vec<DeviceLoss>) {
    let stragglers: Vec<(CallPathId, Ticks)> = list
        .iter()
        .filter(|it| it.kind == DeviceLossKind::Straggler)
        .map(|it| (it.call_path, it.gain))
        .collect();
    list.retain(|it| {
        let gain = it.gain.0.saturating_mul(CALLER_EXPLAINS_MORE.1);
        let says_as_much = |of: &(CallPathId, Ticks)| {
            of.0 == it.call_path && gain <= of.1.0.saturating_mul(CALLER_EXPLAINS_MORE.0)
        };
        let is_late_code = matches!(it.kind, DeviceLossKind::HostLate | DeviceLossKind::InputPipeline);
        !is_late_code || !stragglers.iter().any(says_as_much)
    });
}

/// Whether what is launched next goes to another stream than what a call waits for.
fn serialises(replay: &DeviceReplay, number: usize) -> bool {
    let it = &replay.calls[number];
    let Some(awaited) = it.awaits.map(|of| of.operation) else { return false };
    let next = replay.calls[number + 1..].iter().take_while(|next| next.location == it.location);
    let next = next.filter_map(|next| next.launches).next();
    let stream = |operation: u32| replay.operations[operation as usize].place.0;
    next.is_some_and(|next| stream(next) != stream(awaited))
}

/// Ranks that begin collectives last.
fn stragglers(replay: &DeviceReplay) -> Vec<Candidate> {
    let mut of_stream: BTreeMap<LocationId, Vec<(u32, u64)>> = BTreeMap::new();
    for members in &replay.collectives {
        let start = |number: &u32| replay.operations[*number as usize].start;
        let mut sorted = members.clone();
        sorted.sort_by_key(|it| Reverse(start(it)));
        if let [last, second, ..] = sorted[..] {
            let late = start(&last) - start(&second);
            let stream = replay.operations[last as usize].place.0;
            of_stream.entry(stream).or_default().push((last, late));
        }
    }
    let candidate = |collectives: &[(u32, u64)], by: LateBy| {
        let mut lengths = Shortened { replay, before: BTreeMap::new(), length: BTreeMap::new() };
        let mut of_paths: BTreeMap<CallPathId, u64> = BTreeMap::new();
        for &(number, late) in collectives {
            let longest = advance(&mut lengths, (number, late), by);
            longest.into_iter().for_each(|(path, ticks)| *of_paths.entry(path).or_default() += ticks);
        }
        let path = of_paths.into_iter().max_by_key(|it| (it.1, Reverse(it.0))).map(|it| it.0);
        let time = collectives.iter().map(|it| it.1).sum();
        let first = &replay.operations[collectives[0].0 as usize];
        let path = path.unwrap_or(first.path);
        let spans = collectives.iter().map(|it| replay.operation_span(it.0 as usize));
        let loss = loss(DeviceLossKind::Straggler, path, spans, collectives.len(), time);
        Candidate { loss, changes: lengths.changes() }
    };
    // Whether the stream or its host is late shows which of the two changes gains more.
    let late = most(of_stream, |of| of.iter().map(|it| it.1).sum());
    late.iter().flat_map(|(_, it)| [candidate(it, LateBy::Stream), candidate(it, LateBy::Host)]).collect()
}

/// What makes an operation begin late, where its stream is busy until then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LateBy {
    /// What the stream runs before.
    Stream,
    /// The host, which launches late what the stream runs before.
    Host,
}

/// Of the losses of one straggler, keeps that with most gain.
fn one_loss_of_each_straggler(list: &mut Vec<DeviceLoss>) {
    let mut most: BTreeMap<BTreeSet<LocationId>, Ticks> = BTreeMap::new();
    for it in list.iter().filter(|it| it.kind == DeviceLossKind::Straggler) {
        let gain = most.entry(it.locations.clone()).or_default();
        *gain = it.gain.max(*gain);
    }
    list.retain(|it| {
        // Of equal ones the first.
        let is_most = most.get(&it.locations).is_some_and(|&gain| it.gain == gain);
        it.kind != DeviceLossKind::Straggler || (is_most && most.remove(&it.locations).is_some())
    });
}

/// Lengths that become less step by step.
struct Shortened<'a> {
    replay: &'a DeviceReplay,
    before: BTreeMap<u32, u64>,
    length: BTreeMap<u32, u64>,
}

impl Shortened<'_> {
    /// Shortens the code before a call by at most so much; gives by how much.
    fn code(&mut self, call: u32, most: u64) -> u64 {
        let left = self.before.entry(call).or_insert(self.replay.lengths.before[call as usize]);
        let less = most.min(*left);
        *left -= less;
        less
    }

    /// Shortens an operation by at most so much; gives by how much.
    fn operation(&mut self, number: u32, most: u64) -> u64 {
        let left = self.length.entry(number).or_insert(self.replay.lengths.length[number as usize]);
        let less = most.min(*left);
        *left -= less;
        less
    }

    fn changes(self) -> LengthChanges {
        let (before, length) = (self.before.into_iter().collect(), self.length.into_iter().collect());
        LengthChanges { before, length, ..LengthChanges::default() }
    }
}

/// Makes an operation begin earlier by shortening what its stream, or the host that launches it, did since the collective
/// before. Gives the code or kernel that is shortened most, and by how much.
fn advance(
    lengths: &mut Shortened<'_>,
    (number, mut late): (u32, u64),
    by: LateBy,
) -> Option<(CallPathId, u64)> {
    let replay = lengths.replay;
    let mut longest: Option<(u64, CallPathId)> = None;
    let mut is_shortened = |less: u64, path: CallPathId, late: &mut u64| {
        *late -= less;
        if 0 < less && longest.is_none_or(|it| it.0 < less) {
            longest = Some((less, path));
        }
    };
    let it = &replay.operations[number as usize];
    let is_launch_bound = |number: u32| {
        let it = &replay.operations[number as usize];
        let call = it.launch.and_then(|launch| replay.calls.get(launch as usize));
        call.is_some_and(|of| replay.lengths.delay[number as usize] + of.call.enter.0 == it.start)
    };
    let is_of_stream = |other: &u32| {
        let of = &replay.operations[*other as usize];
        of.place.0 == it.place.0 && of.collective.is_none()
    };
    let before = |&at: &u32| at.checked_sub(1).filter(is_of_stream);
    // What the stream runs until then without a break, from the operation itself on.
    let mut chain = std::iter::successors(Some(number), before);
    let launched_late = match by {
        LateBy::Host => chain.find(|&at| is_launch_bound(at)),
        LateBy::Stream => Some(number).filter(|&at| is_launch_bound(at)),
    };
    if let Some(bound) = launched_late {
        let mut call = replay.operations[bound as usize].launch;
        while let Some(at) = call.filter(|_| 0 < late) {
            let of = &replay.calls[at as usize];
            is_shortened(lengths.code(at, late), of.call.code, &mut late);
            call = of.before;
            let launches = call.and_then(|call| replay.calls[call as usize].launches);
            if launches.is_some_and(|it| replay.operations[it as usize].collective.is_some()) {
                break;
            }
        }
    } else {
        let mut before = number.checked_sub(1);
        while let Some(at) = before.filter(|_| 0 < late) {
            let of = &replay.operations[at as usize];
            if of.place.0 != it.place.0 || of.collective.is_some() {
                break;
            }
            is_shortened(lengths.operation(at, late), of.path, &mut late);
            before = at.checked_sub(1);
        }
    }
    longest.map(|it| (it.1, it.0))
}

/// Those with most time.
fn most<K: Ord + Copy, V>(of: BTreeMap<K, V>, ticks: impl Fn(&V) -> u64) -> Vec<(K, V)> {
    let mut all: Vec<(K, V)> = of.into_iter().collect();
    all.sort_by_key(|(key, value)| (Reverse(ticks(value)), *key));
    all.truncate(MOST_REPLAYS);
    all
}
