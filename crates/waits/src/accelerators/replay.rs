//! The run of hosts and streams once more, with changes: how long it would take.
//!
//! ```text
//! calls that launch and wait, operations ──build──► points (enter, leave, begin, end) and what each follows
//!                                        ──run────► times of all points, for lengths as recorded or changed
//! ```
//!
//! | point | time |
//! |---|---|
//! | enter of a call | leave of the call before + the time between them |
//! | leave of a call | enter + its own time; at least the end of the operation that it waits for + what it took after that |
//! | begin of an operation | the latest of: enter of its launch + delay; end of the operation before + gap; end of the operation that its stream waits for + gap |
//! | end of an operation | begin + its length; in a collective the begin of the last member + what it took from there |
//!
//! Only the latest of several has a gap, so that the run as recorded comes out again; the delay of an operation that waited
//! for something else is the median of the others of its process, at most what it was. Messages between hosts are not
//! followed: the time between calls holds them. Law: without a change every time is the recorded one; where it is not, as
//! clocks contradict each other, there is no replay.

use super::AcceleratorsOutput;
use super::gaps::for_operations;
use super::members::DeviceMember;
use crate::devices::calls::DeviceApi;
use crate::devices::events::StreamEvents;
use crate::devices::fold::is_await;
use crate::devices::host;
use crate::devices::records::HostCall;
use crate::devices::streams::{CallPlace, DeviceProcess, OperationPlace};
use ouzel_model::{CallPathId, Definitions, LocationId, Ticks, TimeRange};
use std::collections::BTreeMap;

/// A call that is in no other one.
#[derive(Debug)]
pub(super) struct ReplayCall {
    pub location: LocationId,
    pub call: HostCall,
    /// The code that took the longest before it: where it is in [`DeviceReplay::codes`], and how many call paths.
    code: (u32, u32),
    /// The call before, of the same thread.
    pub before: Option<u32>,
    /// What it waits for, if anything.
    pub awaits: Option<Awaits>,
    /// Whether it waits for streams, devices or events, or a call in it does.
    pub is_waiting: bool,
    /// Operations that it launches; the first of them.
    pub launches: Option<u32>,
    /// Whether it is the last of its thread that waits.
    pub is_last_wait: bool,
}

/// What a call waits for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Awaits {
    /// The operation.
    pub operation: u32,
    /// Whether for its begin; else for its end.
    is_begin: bool,
    /// Whether that came while the call waited.
    has_waited: bool,
}

/// An operation.
#[derive(Debug)]
pub(super) struct ReplayOperation {
    pub place: OperationPlace,
    /// In which of the streams of all processes.
    stream: u32,
    pub path: CallPathId,
    pub start: u64,
    pub end: u64,
    before: Option<u32>,
    pub launch: Option<u32>,
    awaited: Option<u32>,
    /// Which collective.
    pub collective: Option<u32>,
}

/// What may be changed. Times are in ticks, by number of the call or operation.
#[derive(Debug, Clone, Default)]
pub(super) struct Lengths {
    /// Before the enter of a call.
    pub before: Vec<u64>,
    /// In a call, without waiting.
    pub own: Vec<u64>,
    /// In a call, after what it waited for.
    pub after: Vec<u64>,
    /// Whether a call waits.
    pub waits: Vec<bool>,
    /// From the enter of the launch.
    pub delay: Vec<u64>,
    follow: Vec<u64>,
    event: Vec<u64>,
    /// Of operations; of collectives after the last begin.
    pub length: Vec<u64>,
    /// Operations that run beside their stream.
    pub is_beside: Vec<bool>,
}

/// What of the lengths becomes less: numbers of calls or operations, each once, with what is left. Several changes are
/// kept at once, so that they hold only what differs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LengthChanges {
    pub before: Vec<(u32, u64)>,
    pub own: Vec<(u32, u64)>,
    /// Calls that no longer wait.
    pub waitless: Vec<u32>,
    pub delay: Vec<(u32, u64)>,
    pub length: Vec<(u32, u64)>,
    /// Operations that run beside their stream.
    pub beside: Vec<u32>,
}

impl Lengths {
    /// Makes a change; of several for one number, the least counts.
    pub fn change(&mut self, changes: &LengthChanges) {
        let lessen = |of: &mut [u64], to: &[(u32, u64)]| {
            to.iter().for_each(|&(number, ticks)| of[number as usize] = of[number as usize].min(ticks));
        };
        lessen(&mut self.before, &changes.before);
        lessen(&mut self.own, &changes.own);
        lessen(&mut self.delay, &changes.delay);
        lessen(&mut self.length, &changes.length);
        changes.waitless.iter().for_each(|&number| self.waits[number as usize] = false);
        changes.beside.iter().for_each(|&number| self.is_beside[number as usize] = true);
    }

    /// Undoes a change of these lengths, which were like the others before.
    pub fn restore(&mut self, changes: &LengthChanges, before: &Lengths) {
        let restore = |of: &mut [u64], as_in: &[u64], changed: &[(u32, u64)]| {
            changed.iter().for_each(|&(number, _)| of[number as usize] = as_in[number as usize]);
        };
        restore(&mut self.before, &before.before, &changes.before);
        restore(&mut self.own, &before.own, &changes.own);
        restore(&mut self.delay, &before.delay, &changes.delay);
        restore(&mut self.length, &before.length, &changes.length);
        let restore = |of: &mut [bool], as_in: &[bool], changed: &[u32]| {
            changed.iter().for_each(|&number| of[number as usize] = as_in[number as usize]);
        };
        restore(&mut self.waits, &before.waits, &changes.waitless);
        restore(&mut self.is_beside, &before.is_beside, &changes.beside);
    }
}

/// The times of all operations, and the end of the run.
#[derive(Debug, Default)]
pub(super) struct ReplayTimes {
    pub enter: Vec<u64>,
    leave: Vec<u64>,
    pub start: Vec<u64>,
    end: Vec<u64>,
    /// Last begins of collectives.
    begun: Vec<u64>,
    pub ends: ReplayEnds,
}

/// When the last of the threads ends, and the last of the streams.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReplayEnds {
    threads: u64,
    streams: u64,
}

impl ReplayEnds {
    /// When the run ends.
    pub fn last(self) -> u64 {
        self.threads.max(self.streams)
    }
}

/// The run, ready to be replayed.
#[derive(Debug, Default)]
pub(super) struct DeviceReplay {
    pub calls: Vec<ReplayCall>,
    codes: Vec<(CallPathId, u64)>,
    pub operations: Vec<ReplayOperation>,
    /// Members of collectives.
    pub collectives: Vec<Vec<u32>>,
    pub lengths: Lengths,
    /// Points in an order in which each comes after what it follows.
    order: Vec<u32>,
    /// The last call of each thread, the first enter's offset being in the lengths, and the time after it.
    tails: Vec<(u32, u64)>,
    n_streams: usize,
    /// When it ends without a change.
    ends: ReplayEnds,
    /// When the next part of the run begins, if this is one.
    part_end: Option<u64>,
}

impl AcceleratorsOutput {
    /// The run with these collectives, if a replay without changes gives it as it was recorded.
    pub(super) fn replay_with(
        &self,
        collectives: &[Vec<DeviceMember>],
        definitions: &Definitions,
    ) -> Option<DeviceReplay> {
        let processes = self.processes(definitions);
        let mut replay = DeviceReplay::default();
        let mut places = Places::default();
        // They are as many as there are records at most, and large: lists that double would take up to twice as much.
        let streams = processes.iter().flat_map(|process| &process.streams);
        let threads = processes.iter().flat_map(|process| &process.threads);
        replay.operations.reserve_exact(streams.map(|it| it.operations.len()).sum());
        replay.calls.reserve_exact(threads.clone().map(|it| it.1.calls.len()).sum());
        replay.codes.reserve_exact(threads.map(|it| it.1.details.codes.len()).sum());
        for process in &processes {
            replay.add_operations(process, &mut places);
        }
        for process in &processes {
            replay.add_calls(self, process, &mut places);
        }
        replay.add_collectives(collectives, &places);
        drop((places, processes));
        replay.measure();
        replay.order = replay.ordered()?;
        let times = replay.run(&replay.lengths);
        replay.ends = times.ends;
        replay.part_end = self.part_end.map(|it| it.0);
        let is_same = replay.operations.iter().zip(&times.start).all(|(it, start)| it.start == *start)
            && replay.operations.iter().zip(&times.end).all(|(it, end)| it.end == *end)
            && replay.calls.iter().zip(&times.leave).all(|(it, leave)| it.call.leave.0 == *leave);
        is_same.then_some(replay)
    }
}

/// The numbers of operations and calls.
#[derive(Default)]
struct Places {
    /// That of the first operation of each stream; the others follow.
    operations: BTreeMap<LocationId, u32>,
    /// Those of the calls of each thread.
    calls: BTreeMap<LocationId, Vec<u32>>,
}

impl Places {
    fn operation(&self, (stream, nth): OperationPlace) -> u32 {
        self.operations[&stream] + nth as u32
    }

    fn call(&self, (thread, nth): CallPlace) -> Option<u32> {
        self.calls.get(&thread)?.get(nth as usize).copied()
    }
}

impl DeviceReplay {
    /// The code that took the longest before a call, longest first.
    pub fn code(&self, call: &ReplayCall) -> &[(CallPathId, u64)] {
        let (first, n) = (call.code.0 as usize, call.code.1 as usize);
        &self.codes[first..first + n]
    }

    /// Where and when a call was.
    pub fn call_span(&self, number: usize) -> (LocationId, TimeRange) {
        let it = &self.calls[number];
        (it.location, TimeRange { start: it.call.enter, end: it.call.leave })
    }

    /// Where and when the code before a call was.
    pub fn code_span(&self, number: usize) -> (LocationId, TimeRange) {
        let it = &self.calls[number];
        let start = Ticks(it.call.enter.0.saturating_sub(self.lengths.before[number]));
        (it.location, TimeRange { start, end: it.call.enter })
    }

    /// Where and when an operation was.
    pub fn operation_span(&self, number: usize) -> (LocationId, TimeRange) {
        let it = &self.operations[number];
        (it.place.0, TimeRange { start: Ticks(it.start), end: Ticks(it.end) })
    }

    fn add_operations(&mut self, process: &DeviceProcess<'_>, places: &mut Places) {
        for stream in &process.streams {
            let mut before = None;
            places.operations.insert(stream.location, self.operations.len() as u32);
            for (nth, it) in stream.operations.iter().enumerate() {
                let number = self.operations.len() as u32;
                let place = (stream.location, nth);
                self.operations.push(ReplayOperation {
                    place,
                    stream: self.n_streams as u32,
                    path: it.path,
                    start: it.start.0,
                    end: it.end.0,
                    before: before.replace(number),
                    launch: None,
                    awaited: None,
                    collective: None,
                });
            }
            self.n_streams += 1;
        }
    }

    fn add_calls(&mut self, of: &AcceleratorsOutput, process: &DeviceProcess<'_>, places: &mut Places) {
        let events = StreamEvents::new(process);
        for &(location, records) in &process.threads {
            let mut last: Option<u32> = None;
            let mut codes = &records.details.codes[..];
            let mut numbers = Vec::with_capacity(records.calls.len());
            for (nth, call) in (0..).zip(&records.calls) {
                let n = codes.iter().take_while(|it| it.0 == nth).count();
                let (code, rest) = codes.split_at(n);
                codes = rest;
                let outer = last.filter(|&outer| call.enter < self.calls[outer as usize].call.leave);
                let number = outer.unwrap_or(self.calls.len() as u32);
                numbers.push(number);
                if outer.is_none() {
                    let first = self.codes.len() as u32;
                    self.codes.extend(code.iter().map(|it| (it.1, it.2.0)));
                    self.calls.push(ReplayCall {
                        location,
                        call: *call,
                        code: (first, n as u32),
                        before: last.replace(number),
                        awaits: None,
                        is_waiting: false,
                        launches: None,
                        is_last_wait: false,
                    });
                }
                let is_waiting = call.api.blocks() || call.step.is_some_and(is_await);
                self.calls[number as usize].is_waiting |= is_waiting;
                let awaited = is_waiting.then(|| host::awaited(process, &events, call)).flatten();
                self.add_await(number, awaited.map(|place| (places.operation(place), false)));
            }
            places.calls.insert(location, numbers);
            let end = of.spans.get(&location).map_or(0, |span| span.1.0);
            self.tails
                .extend(last.map(|last| (last, end.saturating_sub(self.calls[last as usize].call.leave.0))));
            let waits = |call: &&mut ReplayCall| call.location == location && call.awaits.is_some();
            if let Some(last) = self.calls.iter_mut().rev().find(waits) {
                last.is_last_wait = true;
            }
        }
        for stream in &process.streams {
            for_operations(process, &events, stream, |_, gap| {
                let number = places.operation((stream.location, gap.nth));
                let launch = gap.launch.and_then(|(place, _)| places.call(place));
                let awaited = gap.awaited.map(|(place, ..)| places.operation(place));
                let it = &mut self.operations[number as usize];
                (it.launch, it.awaited) = (launch, awaited);
                if let Some(launch) = launch {
                    let call = &mut self.calls[launch as usize];
                    call.launches.get_or_insert(number);
                    if call.call.api == DeviceApi::BlockingCopy {
                        let is_begin = call.call.leave.0 < self.operations[number as usize].end;
                        self.add_await(launch, Some((number, is_begin)));
                    }
                }
            });
        }
    }

    /// A call waits for an operation to end, or to begin; of several for the last.
    fn add_await(&mut self, call: u32, awaited: Option<(u32, bool)>) {
        let Some((operation, is_begin)) = awaited else { return };
        let at = |number: u32, is_begin: bool| {
            let it = &self.operations[number as usize];
            if is_begin { it.start } else { it.end }
        };
        let (it, until) = (&self.calls[call as usize], at(operation, is_begin));
        let is_earlier = |other: Awaits| until <= at(other.operation, other.is_begin);
        if it.call.leave.0 < until || it.awaits.is_some_and(is_earlier) {
            return;
        }
        let has_waited = it.call.enter.0 < until;
        self.calls[call as usize].awaits = Some(Awaits { operation, is_begin, has_waited });
    }

    fn add_collectives(&mut self, instances: &[Vec<DeviceMember>], places: &Places) {
        for members in instances {
            // Overlap is what makes them one.
            let last = members.iter().map(|it| it.start).max().unwrap_or_default();
            if members.iter().any(|it| it.end < last) {
                continue;
            }
            let found = |it: &DeviceMember| self.operation_at(*places.operations.get(&it.location)?, it);
            let numbers: Vec<u32> = members.iter().filter_map(found).collect();
            if numbers.len() == members.len() {
                let collective = self.collectives.len() as u32;
                for &number in &numbers {
                    self.operations[number as usize].collective = Some(collective);
                }
                self.collectives.push(numbers);
            }
        }
    }

    /// The operation of a stream that is a member of a collective; `first` is the first of the stream.
    fn operation_at(&self, first: u32, member: &DeviceMember) -> Option<u32> {
        let of_stream = &self.operations[first as usize..];
        let n = of_stream.partition_point(|it| it.place.0 == member.location && it.start <= member.start.0);
        let nth = n.checked_sub(1).filter(|&nth| of_stream[nth].start == member.start.0)?;
        Some(first + nth as u32)
    }

    /// The lengths as recorded.
    fn measure(&mut self) {
        let mut lengths = Lengths::default();
        for of in [&mut lengths.before, &mut lengths.own, &mut lengths.after] {
            of.reserve_exact(self.calls.len());
        }
        for of in [&mut lengths.delay, &mut lengths.follow, &mut lengths.event, &mut lengths.length] {
            of.reserve_exact(self.operations.len());
        }
        for it in &self.calls {
            let HostCall { enter, leave, .. } = it.call;
            let before = it.before.map_or(0, |before| self.calls[before as usize].call.leave.0);
            lengths.before.push(enter.0.saturating_sub(before));
            let until = it.awaits.map(|of| {
                let operation = &self.operations[of.operation as usize];
                if of.is_begin { operation.start } else { operation.end }
            });
            let has_waited = it.awaits.is_some_and(|of| of.has_waited);
            let after = if has_waited { leave.0.saturating_sub(until.unwrap_or(0)) } else { 0 };
            lengths.after.push(after);
            lengths.own.push(if has_waited { after } else { leave.0.saturating_sub(enter.0) });
            lengths.waits.push(it.awaits.is_some());
        }
        let ready = |it: &ReplayOperation| {
            let end = |number: Option<u32>| number.map(|number| self.operations[number as usize].end);
            let enter = it.launch.map(|launch| self.calls[launch as usize].call.enter.0);
            (enter, end(it.before), end(it.awaited))
        };
        let is_launched = |it: &&ReplayOperation| {
            let (enter, before, awaited) = ready(it);
            let leave = it.launch.map_or(0, |launch| self.calls[launch as usize].call.leave.0.min(it.start));
            enter.is_some() && before.max(awaited).unwrap_or(0) < leave
        };
        let mut delays: Vec<u64> = self
            .operations
            .iter()
            .filter(is_launched)
            .filter_map(|it| Some(it.start.saturating_sub(ready(it).0?)))
            .collect();
        let middle = delays.len() / 2;
        let usual = if delays.is_empty() { 0 } else { *delays.select_nth_unstable(middle).1 };
        let starts = |of: &Vec<u32>| of.iter().map(|&number| self.operations[number as usize].start).max();
        let begun: Vec<Option<u64>> = self.collectives.iter().map(starts).collect();
        for it in &self.operations {
            let (enter, before, awaited) = ready(it);
            let since = |at: Option<u64>| at.map_or(0, |at| it.start.saturating_sub(at));
            let by_launch = is_launched(&it) || (before.is_none() && awaited.is_none());
            let by_event = !by_launch && before < awaited;
            lengths.delay.push(match by_launch {
                true => enter.map_or(it.start, |enter| it.start.saturating_sub(enter)),
                false => since(enter).min(usual),
            });
            lengths.follow.push(if by_launch || by_event { 0 } else { since(before) });
            lengths.event.push(if by_event { since(awaited) } else { 0 });
            let begun = it.collective.and_then(|it| begun[it as usize]).unwrap_or(it.start);
            lengths.length.push(it.end.saturating_sub(begun));
            lengths.is_beside.push(false);
        }
        self.lengths = lengths;
    }

    /// The points that a point follows. Points are enters and leaves of calls, begins and ends of operations, and the
    /// last begins of collectives, in that order.
    fn follows(&self, point: u32, mut f: impl FnMut(u32)) {
        let n_of_calls = 2 * self.calls.len() as u32;
        let n = n_of_calls + 2 * self.operations.len() as u32;
        let (enter, leave) = (|call: u32| 2 * call, |call: u32| 2 * call + 1);
        let (start, end) = (|it: u32| n_of_calls + 2 * it, |it: u32| n_of_calls + 2 * it + 1);
        if n <= point {
            self.collectives[(point - n) as usize].iter().for_each(|&member| f(start(member)));
        } else if point < n_of_calls {
            let it = &self.calls[(point / 2) as usize];
            if point.is_multiple_of(2) {
                it.before.into_iter().for_each(|before| f(leave(before)));
            } else {
                f(enter(point / 2));
                it.awaits.into_iter().for_each(|of| match of.is_begin {
                    true => f(start(of.operation)),
                    false => f(end(of.operation)),
                });
            }
        } else {
            let number = (point - n_of_calls) / 2;
            let it = &self.operations[number as usize];
            if (point - n_of_calls).is_multiple_of(2) {
                it.before.into_iter().chain(it.awaited).for_each(|other| f(end(other)));
                it.launch.into_iter().for_each(|launch| f(enter(launch)));
            } else {
                f(start(number));
                it.collective.into_iter().for_each(|collective| f(n + collective));
            }
        }
    }

    /// All points, each after those that it follows; none if they follow each other in a circle. Points of a thread and
    /// its streams come together, as far as they can, so that what a replay reads lies together.
    fn ordered(&self) -> Option<Vec<u32>> {
        let n = 2 * (self.calls.len() + self.operations.len()) + self.collectives.len();
        // What follows each point, from its place in the list to that of the next point.
        let mut places = vec![0_u32; n + 1];
        let mut open = vec![0_u32; n];
        for point in 0..n as u32 {
            self.follows(point, |before| {
                places[before as usize + 1] += 1;
                open[point as usize] += 1;
            });
        }
        for point in 0..n {
            places[point + 1] += places[point];
        }
        let mut list = vec![0_u32; places[n] as usize];
        let mut filled = places.clone();
        for point in 0..n as u32 {
            self.follows(point, |before| {
                let place = &mut filled[before as usize];
                list[*place as usize] = point;
                *place += 1;
            });
        }
        drop(filled);
        let mut order: Vec<u32> = Vec::with_capacity(n);
        let mut ready: Vec<u32> = (0..n as u32).rev().filter(|&point| open[point as usize] == 0).collect();
        while let Some(point) = ready.pop() {
            order.push(point);
            let at = point as usize;
            for &after in &list[places[at] as usize..places[at + 1] as usize] {
                open[after as usize] -= 1;
                if open[after as usize] == 0 {
                    ready.push(after);
                }
            }
        }
        (order.len() == n).then_some(order)
    }

    /// Times of a run that was not replayed yet.
    pub fn times(&self) -> ReplayTimes {
        let zeros = |n: usize| vec![0; n];
        ReplayTimes {
            enter: zeros(self.calls.len()),
            leave: zeros(self.calls.len()),
            start: zeros(self.operations.len()),
            end: zeros(self.operations.len()),
            begun: zeros(self.collectives.len()),
            ends: ReplayEnds::default(),
        }
    }

    /// By how much these times end earlier than those without a change.
    ///
    /// In a part of a run, what begins before the next part may end after it, and the next may not wait for that: what counts
    /// is the time before the next part, or what both threads and streams gain, whichever is more.
    pub fn gain(&self, times: &ReplayTimes) -> i64 {
        let less = |before: u64, after: u64| before as i64 - after as i64;
        let (before, after) = (self.ends, times.ends);
        let Some(end) = self.part_end else { return less(before.last(), after.last()) };
        let of_both = less(before.threads, after.threads).min(less(before.streams, after.streams));
        of_both.max(less(before.last().min(end), after.last().min(end)))
    }

    /// The times with some lengths.
    pub fn run(&self, lengths: &Lengths) -> ReplayTimes {
        let mut times = self.times();
        self.run_into(&mut times, lengths);
        times
    }

    /// Replaces the times of another run by those with some lengths.
    pub fn run_into(&self, times: &mut ReplayTimes, lengths: &Lengths) {
        let n = 2 * self.calls.len() as u32;
        let n_of_all = n + 2 * self.operations.len() as u32;
        // Until when each stream is not free, and until when what runs beside it.
        let mut free = vec![[0_u64; 2]; self.n_streams];
        for &point in &self.order {
            if point < n {
                let number = (point / 2) as usize;
                let it = &self.calls[number];
                if point % 2 == 0 {
                    let before = it.before.map_or(0, |before| times.leave[before as usize]);
                    times.enter[number] = before + lengths.before[number];
                } else {
                    let awaited = it.awaits.filter(|_| lengths.waits[number]);
                    let until = awaited.map_or(0, |of| match of.is_begin {
                        true => times.start[of.operation as usize],
                        false => times.end[of.operation as usize],
                    });
                    let own = times.enter[number] + lengths.own[number];
                    let waited = if times.enter[number] < until { until + lengths.after[number] } else { 0 };
                    times.leave[number] = own.max(waited);
                }
                continue;
            }
            if n_of_all <= point {
                let collective = (point - n_of_all) as usize;
                let starts = self.collectives[collective].iter().map(|&it| times.start[it as usize]);
                times.begun[collective] = starts.max().unwrap_or(0);
                continue;
            }
            let number = ((point - n) / 2) as usize;
            let it = &self.operations[number];
            let beside = usize::from(lengths.is_beside[number]);
            if (point - n).is_multiple_of(2) {
                let launched = it.launch.map_or(0, |launch| times.enter[launch as usize]);
                let follows = free[it.stream as usize][beside] + lengths.follow[number];
                let awaited = it.awaited.map_or(0, |other| times.end[other as usize]) + lengths.event[number];
                times.start[number] = (launched + lengths.delay[number]).max(follows).max(awaited);
            } else {
                let begun = it.collective.map_or(times.start[number], |it| times.begun[it as usize]);
                times.end[number] = begun + lengths.length[number];
                free[it.stream as usize][beside] = times.end[number];
            }
        }
        let threads = self.tails.iter().map(|&(last, tail)| times.leave[last as usize] + tail);
        times.ends = ReplayEnds {
            threads: threads.max().unwrap_or(0),
            streams: times.end.iter().copied().max().unwrap_or(0),
        };
    }
}
