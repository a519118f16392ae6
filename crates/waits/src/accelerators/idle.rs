//! Why each stream has nothing to do: its gaps, split by cause.
//!
//! A gap lies between the end of all earlier operations of a stream, `g`, and the begin `s` of the next one. With `e` and
//! `l` the enter and leave of the call that launches that one, and `w` the end of the last operation that the stream
//! waits for by an event:
//!
//! | cause | part of the gap |
//! |---|---|
//! | start-up | before `e`, while the launching thread makes contexts, loads or compiles code |
//! | copy | before `e`, while that thread waits for a copy, or is in a call that copies and blocks; until `w`, if that operation is a copy |
//! | partner | before `e`, while that thread waits for a collective, or is in a call of MPI that waits; until `w`, if that operation communicates |
//! | host waits | before `e`, the rest of the calls in which that thread waits for a device |
//! | host late | before `e`, the rest; and from there to `s`, if `g < e`; else until `l`, unless the call blocks |
//! | other stream | until `w`, if that operation is a kernel; or while other streams of the device ran until less than 500 µs before `s`; if `g < e`, only those of other processes, from `l` on |
//! | dependency | the rest, if `e ≤ g`: the operation was in the queue and followed the one before |
//! | other | the gap, if the launch is not known |
//!
//! Where launches are not recorded and samples show what the host does, an operation after a gap of a sampling period or
//! more is taken to be launched when it begins, by the first sampled thread of its process: `e = l = s`.
//!
//! Ranges that overlap count once, for the first row that has them in time. Law: the causes add up to the idle time, and
//! idle and busy time to the span, from the begin of the first operation to the end of the last.

use super::AcceleratorsOutput;
use super::gaps::{Gap, for_operations};
use crate::class::WaitClass;
use crate::devices::calls::DeviceApi;
use crate::devices::events::StreamEvents;
use crate::devices::fold::is_await;
use crate::devices::idle::{HeldBy, SOON_PER_SECOND, held_up};
use crate::devices::records::HostState;
use crate::devices::streams::{DeviceProcess, Stream};
use crate::devices::{DeviceWaits, host};
use crate::wait::Wait;
use ouzel_analyses::breakdown::Activity;
use ouzel_model::{CallPathId, Definitions, LocationId, Ticks, TimeRange, WorldRank};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a stream has nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdleCause {
    /// The host launches the next operation late.
    HostLate,
    /// The host waits for a device before it launches.
    HostWaits,
    /// It waits for a kernel of another stream.
    OtherStream,
    /// It, or the host, waits for a copy.
    Copy,
    /// It, or the host, waits for other ranks.
    Partner,
    /// The next operation follows the one before.
    Dependency,
    /// The host makes contexts, loads or compiles code.
    StartUp,
    /// It is not known which call launched the next operation.
    Other,
}

impl IdleCause {
    /// All, in the order of tables.
    pub const ALL: [IdleCause; 8] = [
        IdleCause::HostLate,
        IdleCause::HostWaits,
        IdleCause::OtherStream,
        IdleCause::Copy,
        IdleCause::Partner,
        IdleCause::Dependency,
        IdleCause::StartUp,
        IdleCause::Other,
    ];

    /// The term in snake case.
    pub fn as_str(self) -> &'static str {
        match self {
            IdleCause::HostLate => "host_late",
            IdleCause::HostWaits => "host_waits",
            IdleCause::OtherStream => "other_stream",
            IdleCause::Copy => "copy",
            IdleCause::Partner => "partner",
            IdleCause::Dependency => "dependency",
            IdleCause::StartUp => "start_up",
            IdleCause::Other => "other",
        }
    }

    /// The cause in words.
    pub fn in_words(self) -> &'static str {
        match self {
            IdleCause::HostLate => "host late",
            IdleCause::HostWaits => "host waits",
            IdleCause::OtherStream => "other stream",
            IdleCause::Copy => "copy",
            IdleCause::Partner => "partner",
            IdleCause::Dependency => "dependency",
            IdleCause::StartUp => "start-up",
            IdleCause::Other => "other",
        }
    }

    fn of_operation(activity: Activity, kernel: IdleCause) -> IdleCause {
        match activity {
            Activity::Transfer => IdleCause::Copy,
            Activity::Communication => IdleCause::Partner,
            _ => kernel,
        }
    }
}

/// The idle time of one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamIdle {
    /// The rank of the process, if the trace has ranks.
    pub rank: Option<WorldRank>,
    /// The stream.
    pub location: LocationId,
    /// From the begin of its first operation to the end of its last.
    pub span: Ticks,
    /// Time without an operation.
    pub idle: Ticks,
    /// The parts of it, as in [`IdleCause::ALL`].
    pub causes: [Ticks; 8],
}

impl StreamIdle {
    /// Time in which it runs an operation.
    pub fn busy(&self) -> Ticks {
        self.span.since(self.idle)
    }

    /// The part of one cause.
    pub fn of(&self, cause: IdleCause) -> Ticks {
        self.causes[cause as usize]
    }
}

/// What a thread does in a range of time, as far as it explains why it does not launch.
#[derive(Debug, Clone, Copy)]
struct HostPiece {
    start: Ticks,
    end: Ticks,
    cause: IdleCause,
}

impl AcceleratorsOutput {
    /// Why each selected stream has nothing to do, by rank and stream.
    pub fn idle(&self, definitions: &Definitions) -> Vec<StreamIdle> {
        self.idle_of(&self.processes(definitions), definitions)
    }

    /// The same of some processes.
    pub(super) fn idle_of(
        &self,
        processes: &[DeviceProcess<'_>],
        definitions: &Definitions,
    ) -> Vec<StreamIdle> {
        let mut causes: BTreeMap<LocationId, [Ticks; 8]> = BTreeMap::new();
        for process in processes {
            self.for_idle_of(process, definitions, |stream, _, cause, ticks| {
                causes.entry(stream).or_insert([Ticks(0); 8])[cause as usize] += ticks;
            });
        }
        let mut rows = Vec::new();
        for process in processes {
            for stream in &process.streams {
                let causes = causes.get(&stream.location).copied().unwrap_or_default();
                let idle = causes.iter().copied().sum();
                let Some(span) = self.span_of(stream, idle) else { continue };
                let rank = definitions.location(stream.location).rank;
                rows.push(StreamIdle { rank, location: stream.location, span, idle, causes });
            }
        }
        rows.sort_by_key(|row| (row.rank.is_none(), row.rank, row.location));
        rows
    }

    /// From the begin of the first operation of a stream to the end of the last; of the selected step its operations,
    /// and the gaps that they end.
    fn span_of(&self, stream: &Stream<'_>, idle: Ticks) -> Option<Ticks> {
        let selected = self.selected_of(stream.location);
        if self.only_step.is_none() {
            let first = stream.operations.first().filter(|_| selected.location)?.start;
            let last = stream.operations.iter().map(|it| it.end).max()?;
            let (first, last) = selected.clip_span((first, last))?;
            return Some(last.since(first));
        }
        let (mut free, mut busy, mut has_any) = (Ticks(0), Ticks(0), false);
        for (nth, it) in stream.operations.iter().enumerate() {
            let start = it.start.max(free);
            if selected.location && start < it.end && self.is_of_step(stream.location, nth) {
                let range = selected.clip(TimeRange { start, end: it.end });
                busy += range.end.since(range.start);
            }
            has_any |= self.counts(stream, nth);
            free = free.max(it.end);
        }
        (has_any || Ticks(0) < busy).then_some(busy + idle)
    }

    /// Calls `f` with the stream and place of each selected operation that ends a gap, and with each part of this gap,
    /// by cause.
    pub(super) fn for_idle_of(
        &self,
        process: &DeviceProcess<'_>,
        definitions: &Definitions,
        mut f: impl FnMut(LocationId, usize, IdleCause, Ticks),
    ) {
        self.for_idle_parts(process, definitions, |stream, nth, cause, range| {
            f(stream, nth, cause, range.end.since(range.start));
        });
    }

    /// The same with the time of each part; the parts of a gap come one after the other, in order.
    pub(super) fn for_idle_parts(
        &self,
        process: &DeviceProcess<'_>,
        definitions: &Definitions,
        mut f: impl FnMut(LocationId, usize, IdleCause, TimeRange),
    ) {
        let soon = Ticks(definitions.clock.ticks_per_second / SOON_PER_SECOND);
        let events = StreamEvents::new(process);
        let mut found = DeviceWaits::default();
        host::add(&mut found, process, &events);
        let hosts = self.host_pieces(process, &found.waits);
        for stream in &process.streams {
            let selected = self.selected_of(stream.location);
            for_operations(process, &events, stream, |_, gap| {
                let nth = gap.nth;
                if !selected.location || !self.is_of_step(stream.location, nth) {
                    return;
                }
                self.split(process, &hosts, (stream, gap), soon, |cause, start, end| {
                    f(stream.location, nth, cause, selected.clip(TimeRange { start, end }));
                });
            });
        }
    }

    /// Calls `add` with the parts of a gap, which cover it.
    fn split(
        &self,
        process: &DeviceProcess<'_>,
        hosts: &BTreeMap<LocationId, Vec<HostPiece>>,
        (stream, gap): (&Stream<'_>, Gap<'_>),
        soon: Ticks,
        mut add: impl FnMut(IdleCause, Ticks, Ticks),
    ) {
        let TimeRange { start, end } = gap.range;
        let mut at = start;
        let mut until = |cause: IdleCause, to: Ticks| {
            let to = to.min(end);
            if at < to {
                add(cause, at, to);
                at = to;
            }
            at
        };
        let sampled = process.sampled_host().filter(|(_, code)| start + code.period <= end);
        let launched = gap.launch.map(|(place, call)| (place.0, call.enter));
        let Some((host, entered)) = launched.or(sampled.map(|(host, _)| (host, end))) else {
            until(IdleCause::Other, end);
            return;
        };
        let pieces = hosts.get(&host).map_or(&[][..], |pieces| &pieces[..]);
        let first = pieces.partition_point(|piece| piece.end <= start);
        let entered = entered.min(end);
        for piece in pieces[first..].iter().take_while(|piece| piece.start < entered) {
            until(IdleCause::HostLate, piece.start);
            until(piece.cause, piece.end.min(entered));
        }
        let mut now = until(IdleCause::HostLate, entered);
        let Some((_, call)) = gap.launch else { return };
        if let Some((operation, since, _)) = gap.awaited {
            let it = process.operation(operation);
            if now.max(since) < it.end {
                until(IdleCause::HostLate, since);
                now = until(IdleCause::of_operation(self.activity(it.path), IdleCause::OtherStream), it.end);
            }
        }
        if !call.api.blocks() {
            now = until(IdleCause::HostLate, call.leave);
        }
        let (by, rest) = match start < call.enter {
            true => (HeldBy::OtherProcesses, IdleCause::HostLate),
            false => (HeldBy::Any, IdleCause::Dependency),
        };
        let held = held_up(process, stream, by, (now, end));
        if now < held && end.since(held) <= soon {
            until(IdleCause::OtherStream, held);
        }
        until(rest, end);
    }

    /// What the threads of a process do when they do not compute, in order and without overlap.
    fn host_pieces(
        &self,
        process: &DeviceProcess<'_>,
        waits: &[Wait],
    ) -> BTreeMap<LocationId, Vec<HostPiece>> {
        let mut hosts: BTreeMap<LocationId, Vec<HostPiece>> = BTreeMap::new();
        for wait in waits.iter().filter(|wait| wait.class != WaitClass::Queueing) {
            let culprit = wait.culprit.map(|culprit| self.activity(culprit.path));
            let cause =
                culprit.map_or(IdleCause::HostWaits, |it| IdleCause::of_operation(it, IdleCause::HostWaits));
            let piece = HostPiece { start: wait.start, end: wait.end, cause };
            hosts.entry(wait.location).or_default().push(piece);
        }
        for ((location, _), call) in process.calls() {
            let cause = match call.api {
                DeviceApi::BlockingCopy => IdleCause::Copy,
                _ if call.api.blocks() || call.step.is_some_and(is_await) => IdleCause::HostWaits,
                _ => continue,
            };
            let piece = HostPiece { start: call.enter, end: call.leave, cause };
            hosts.entry(location).or_default().push(piece);
        }
        for (location, of) in &process.threads {
            let states = of.details.states.iter().map(|&(state, start, end)| HostPiece {
                start,
                end,
                cause: match state {
                    HostState::Communicates => IdleCause::Partner,
                    HostState::StartsUp => IdleCause::StartUp,
                },
            });
            hosts.entry(*location).or_default().extend(states);
        }
        for pieces in hosts.values_mut() {
            *pieces = without_overlap(std::mem::take(pieces));
        }
        hosts
    }

    /// What an operation of a call path is, for findings.
    pub fn is_communication(&self, path: CallPathId) -> bool {
        self.activity(path) == Activity::Communication
    }
}

/// The pieces in order; where several lie at one time, that which begins first, of these the shortest.
fn without_overlap(mut pieces: Vec<HostPiece>) -> Vec<HostPiece> {
    pieces.sort_unstable_by_key(|piece| (piece.start, piece.end, piece.cause));
    let mut kept: Vec<HostPiece> = Vec::with_capacity(pieces.len());
    for mut piece in pieces {
        let free = kept.last().map_or(Ticks(0), |last| last.end);
        piece.start = piece.start.max(free);
        if piece.start < piece.end {
            kept.push(piece);
        }
    }
    kept
}
