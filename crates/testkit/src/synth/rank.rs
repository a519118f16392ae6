//! One rank: writes its events and adds up what is true of them.

use std::collections::BTreeMap;

use ouzel_otf2::records::enums::{CollectiveOp, Type};
use ouzel_otf2::records::event::{
    Enter, Leave, Metric, MpiCollectiveBegin, MpiCollectiveEnd, MpiIrecv, MpiIrecvRequest, MpiIsend,
    MpiIsendComplete, MpiRecv, MpiSend,
};
use ouzel_otf2::records::{Event, EventKind, List, MetricValue};
use ouzel_otf2::wire::UNDEFINED_U32;
use ouzel_otf2::write::EventWriter;

use super::clock::SkewedClock;
use super::definitions::{COUNTERS, LocalIds};
use super::facts::{CollectiveFacts, CounterFacts, MessageFacts, RankFacts, RegionFacts, ns_from_ticks};
use super::regions::{N_REGIONS, REGIONS, Region};
use super::{Counters, SynthError};
use crate::Rng;

const CYCLES_PER_TICK: u64 = 3;
/// Counters do not begin at zero: values before the first event belong to no region.
const COUNTERS_AT_START: [u64; 2] = [98_850, 41_234];

#[derive(Debug, Clone, Copy, Default)]
struct Totals {
    visits: u64,
    inclusive: u64,
    exclusive: u64,
    visit_min: u64,
    visit_max: u64,
    counters: [CounterFacts; 2],
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    region: Region,
    enter: u64,
    in_callees: u64,
    counters_at_enter: [u64; 2],
}

#[derive(Debug)]
pub(super) struct Rank {
    pub(super) rng: Rng,
    pub(super) clock: SkewedClock,
    /// True time of the last event.
    pub(super) now: u64,
    writer: EventWriter,
    ids: LocalIds,
    start: Option<u64>,
    stack: Vec<Frame>,
    totals: [Totals; N_REGIONS],
    counters: Counters,
    counts: [u64; 2],
    counted_at: u64,
    messages: MessageFacts,
    collectives: BTreeMap<CollectiveOp, CollectiveFacts>,
    n_by_kind: [u64; 256],
    next_request: u64,
}

/// A message as one of its sides sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Envelope {
    /// The other side, as a rank of the communicator.
    pub(super) peer: u32,
    pub(super) tag: u32,
    pub(super) bytes: u64,
}

impl Rank {
    pub(super) fn new(
        writer: EventWriter,
        clock: SkewedClock,
        ids: LocalIds,
        counters: Counters,
        rng: Rng,
    ) -> Self {
        Rank {
            rng,
            clock,
            now: 0,
            writer,
            ids,
            start: None,
            stack: Vec::new(),
            totals: [Totals::default(); N_REGIONS],
            counters,
            counts: COUNTERS_AT_START,
            counted_at: 0,
            messages: MessageFacts::default(),
            collectives: BTreeMap::new(),
            n_by_kind: [0; 256],
            next_request: 0,
        }
    }

    pub(super) fn n_events(&self) -> u64 {
        self.writer.n_events()
    }

    fn write<'e>(&mut self, event: impl Into<Event<'e>>) -> Result<(), SynthError> {
        let event = event.into();
        self.n_by_kind[usize::from(event.kind().id())] += 1;
        let local = self.clock.local(self.now);
        Ok(self.writer.write(local, event)?)
    }

    pub(super) fn enter(&mut self, after: u64, region: Region) -> Result<(), SynthError> {
        self.now += after;
        self.start.get_or_insert(self.now);
        self.count()?;
        self.stack.push(Frame { region, enter: self.now, in_callees: 0, counters_at_enter: self.counts });
        let region = self.ids.regions[region as usize];
        self.write(Enter { region })
    }

    pub(super) fn leave(&mut self, after: u64) -> Result<(), SynthError> {
        self.now += after;
        self.count()?;
        let frame = self.stack.pop().expect("the program leaves what it entered");
        let inclusive = self.now - frame.enter;
        let totals = &mut self.totals[frame.region as usize];
        totals.visit_min = if totals.visits == 0 { inclusive } else { totals.visit_min.min(inclusive) };
        totals.visit_max = totals.visit_max.max(inclusive);
        totals.visits += 1;
        totals.inclusive += inclusive;
        totals.exclusive += inclusive - frame.in_callees;
        for (total, (now, before)) in
            totals.counters.iter_mut().zip(self.counts.iter().zip(frame.counters_at_enter))
        {
            total.inclusive += now - before;
        }
        if let Some(caller) = self.stack.last_mut() {
            caller.in_callees += inclusive;
        }
        let region = self.ids.regions[frame.region as usize];
        self.write(Leave { region })
    }

    /// A visit without callees and other events.
    pub(super) fn visit(&mut self, after: u64, region: Region, ticks: u64) -> Result<(), SynthError> {
        self.enter(after, region)?;
        self.leave(ticks)
    }

    /// Lets the counters go on to now, and writes them.
    fn count(&mut self) -> Result<(), SynthError> {
        if self.counters == Counters::Off {
            return Ok(());
        }
        if let Some(frame) = self.stack.last() {
            let ticks = self.now - self.counted_at;
            let info = &REGIONS[frame.region as usize];
            let gains = [ticks * CYCLES_PER_TICK, ticks * info.instructions_per_tick];
            let totals = &mut self.totals[frame.region as usize].counters;
            for ((count, total), gain) in self.counts.iter_mut().zip(totals).zip(gains) {
                *count += gain;
                total.exclusive += gain;
            }
        }
        self.counted_at = self.now;
        let values = self.counts.map(|bits| MetricValue { value_type: Type::Uint64, bits });
        let metric = self.ids.counter_class;
        self.write(Metric { metric, values: List::new(&values) })
    }

    /// Posts a receive; gives back its request.
    pub(super) fn post_receive(&mut self, after: u64) -> Result<u64, SynthError> {
        self.now += after;
        let request_id = self.next_request;
        self.next_request += 1;
        self.write(MpiIrecvRequest { request_id })?;
        Ok(request_id)
    }

    /// Posts a send on the Cartesian communicator; gives back its request.
    pub(super) fn post_send(&mut self, after: u64, message: Envelope) -> Result<u64, SynthError> {
        self.now += after;
        let request_id = self.next_request;
        self.next_request += 1;
        self.count_sent(message);
        let Envelope { peer: receiver, tag: msg_tag, bytes: msg_length } = message;
        let communicator = self.ids.cart_comm;
        self.write(MpiIsend { receiver, communicator, msg_tag, msg_length, request_id })?;
        Ok(request_id)
    }

    pub(super) fn complete_receive(&mut self, message: Envelope, request_id: u64) -> Result<(), SynthError> {
        self.count_received(message);
        let Envelope { peer: sender, tag: msg_tag, bytes: msg_length } = message;
        let communicator = self.ids.cart_comm;
        self.write(MpiIrecv { sender, communicator, msg_tag, msg_length, request_id })
    }

    pub(super) fn complete_send(&mut self, request_id: u64) -> Result<(), SynthError> {
        self.write(MpiIsendComplete { request_id })
    }

    /// A blocking send on the world communicator.
    pub(super) fn send(&mut self, after: u64, message: Envelope) -> Result<(), SynthError> {
        self.now += after;
        self.count_sent(message);
        let Envelope { peer: receiver, tag: msg_tag, bytes: msg_length } = message;
        self.write(MpiSend { receiver, communicator: self.ids.world_comm, msg_tag, msg_length })
    }

    /// A blocking receive on the world communicator.
    pub(super) fn receive(&mut self, after: u64, message: Envelope) -> Result<(), SynthError> {
        self.now += after;
        self.count_received(message);
        let Envelope { peer: sender, tag: msg_tag, bytes: msg_length } = message;
        self.write(MpiRecv { sender, communicator: self.ids.world_comm, msg_tag, msg_length })
    }

    fn count_sent(&mut self, message: Envelope) {
        self.messages.n_sent += 1;
        self.messages.bytes_sent += message.bytes;
    }

    fn count_received(&mut self, message: Envelope) {
        self.messages.n_received += 1;
        self.messages.bytes_received += message.bytes;
    }

    pub(super) fn begin_collective(&mut self, after: u64) -> Result<(), SynthError> {
        self.now += after;
        self.write(MpiCollectiveBegin {})
    }

    /// Ends an unrooted collective on the world communicator, now.
    pub(super) fn end_collective(&mut self, op: CollectiveOp, bytes: u64) -> Result<(), SynthError> {
        let total = self.collectives.entry(op).or_insert_with(|| CollectiveFacts {
            operation: op.to_string(),
            n_calls: 0,
            bytes_sent: 0,
            bytes_received: 0,
        });
        total.n_calls += 1;
        total.bytes_sent += bytes;
        total.bytes_received += bytes;
        self.write(MpiCollectiveEnd {
            collective_op: op,
            communicator: self.ids.world_comm,
            root: UNDEFINED_U32,
            size_sent: bytes,
            size_received: bytes,
        })
    }

    /// Ends the event file; the facts and the number of records by kind.
    pub(super) fn finish(self, rank: u32, hz: u64) -> Result<Finished, SynthError> {
        assert!(self.stack.is_empty(), "the program leaves what it entered");
        let mut regions: Vec<RegionFacts> = Vec::new();
        for (totals, info) in self.totals.iter().zip(&REGIONS) {
            if totals.visits > 0 {
                regions.push(region_facts(info.name, totals, self.counters, hz));
            }
        }
        regions.sort_by(|a, b| a.region.cmp(&b.region));
        let facts = RankFacts {
            rank,
            location: self.writer.location(),
            n_events: self.writer.n_events(),
            start_ticks: self.start.unwrap_or(self.now),
            end_ticks: self.now,
            regions,
            messages: self.messages,
            collectives: self.collectives.into_values().collect(),
        };
        self.writer.finish()?;
        let by_kind = EventKind::ALL
            .iter()
            .map(|kind| (kind.name(), self.n_by_kind[usize::from(kind.id())]))
            .filter(|&(_, n)| n > 0)
            .collect();
        Ok(Finished { facts, by_kind, clock: self.clock })
    }
}

/// A rank whose events are written.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) facts: RankFacts,
    pub(super) by_kind: Vec<(&'static str, u64)>,
    pub(super) clock: SkewedClock,
}

fn region_facts(name: &str, totals: &Totals, counters: Counters, hz: u64) -> RegionFacts {
    let counters = match counters {
        Counters::Off => BTreeMap::new(),
        Counters::On => COUNTERS.iter().map(|&name| name.to_owned()).zip(totals.counters).collect(),
    };
    RegionFacts {
        region: name.to_owned(),
        visits: totals.visits,
        inclusive_ticks: totals.inclusive,
        exclusive_ticks: totals.exclusive,
        inclusive_ns: ns_from_ticks(totals.inclusive, hz),
        exclusive_ns: ns_from_ticks(totals.exclusive, hz),
        visit_min_ticks: totals.visit_min,
        visit_max_ticks: totals.visit_max,
        counters,
    }
}
