//! The made-up program, simulated on all ranks at once, phase by phase.
//!
//! Law: what a rank waits for is known before the wait is written: first all
//! ranks send, then all wait; first all arrive at a collective, then all leave.

use std::collections::BTreeMap;

use ouzel_otf2::records::enums::CollectiveOp;
use ouzel_otf2::write::ArchiveWriter;

use super::clock::SkewedClock;
use super::definitions::{self, Ids, world_from_cart};
use super::facts::{CollectiveFacts, Facts, Losses, MessageFacts, RegionFacts, ns_from_ticks};
use super::grid::{DIRECTIONS, Grid, opposite};
use super::rank::{Envelope, Rank};
use super::regions::Region;
use super::{SynthError, SynthOptions};
use crate::Rng;

const ROWS: usize = 4;
const KERNELS: [Region; 6] =
    [Region::Stencil, Region::Flux, Region::Stencil, Region::Source, Region::Stencil, Region::Flux];
/// Bytes of a halo, by dimension.
const HALO_BYTES: [u64; 2] = [8 << 10, 48 << 10];
const ALLREDUCE_BYTES: u64 = 8;
const OUTPUT_BYTES: u64 = 256 << 10;
const OUTPUT_TAG: u32 = 99;
const BYTES_PER_NS: u64 = 12;
const LATENCY_NS: u64 = 1_400;

/// The ranks and what the phases have in common.
struct Program<'o> {
    options: &'o SynthOptions,
    grid: Grid,
    ranks: Vec<Rank>,
    losses: Losses,
    n_iterations: u64,
    /// When each rank's message left, by direction.
    sent_at: Vec<[u64; DIRECTIONS.len()]>,
    requests: Vec<[Requests; DIRECTIONS.len()]>,
    /// When each rank came to the collective.
    arrived_at: Vec<u64>,
}

/// The open requests of one direction.
#[derive(Debug, Clone, Copy, Default)]
struct Requests {
    receive: u64,
    send: u64,
}

/// Writes all events and local definitions.
pub(super) fn run(archive: &ArchiveWriter, ids: &Ids, options: &SynthOptions) -> Result<Facts, SynthError> {
    let mut program = Program::new(archive, ids, options)?;
    program.begin()?;
    while program.n_events() < options.n_events {
        program.iterate()?;
    }
    program.end()?;
    program.into_facts(archive, ids)
}

impl<'o> Program<'o> {
    fn new(archive: &ArchiveWriter, ids: &Ids, options: &'o SynthOptions) -> Result<Self, SynthError> {
        let n_ranks = options.n_ranks as usize;
        let hz = options.ticks_per_second;
        // A day after the timer began, as timers have it.
        let start = 86_400 * hz;
        let mut ranks = Vec::with_capacity(n_ranks);
        for rank in 0..options.n_ranks {
            let seed = options.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ u64::from(rank);
            let clock = SkewedClock::new(options.skew, seed, hz, start);
            let writer = archive.events(u64::from(rank))?;
            let mut one = Rank::new(writer, clock, ids.local(rank), options.counters, Rng::new(!seed));
            one.now = start;
            ranks.push(one);
        }
        let slow_ranks =
            (0..options.n_ranks).filter(|rank| rank % 4 == 1 && options.imbalance_percent > 0).collect();
        Ok(Program {
            options,
            grid: Grid::new(options.n_ranks),
            ranks,
            losses: Losses { slow_ranks, ..Losses::default() },
            n_iterations: 0,
            sent_at: vec![[0; DIRECTIONS.len()]; n_ranks],
            requests: vec![[Requests::default(); DIRECTIONS.len()]; n_ranks],
            arrived_at: vec![0; n_ranks],
        })
    }

    fn n_events(&self) -> u64 {
        self.ranks.iter().map(Rank::n_events).sum()
    }

    /// Ticks of so many nanoseconds, at least one.
    fn ticks(&self, ns: u64) -> u64 {
        let ticks = u128::from(ns) * u128::from(self.options.ticks_per_second) / 1_000_000_000;
        u64::try_from(ticks).expect("phases are short").max(1)
    }

    /// From the start of a message to its end.
    fn transfer(&self, bytes: u64) -> u64 {
        self.ticks(LATENCY_NS + bytes / BYTES_PER_NS)
    }

    fn begin(&mut self) -> Result<(), SynthError> {
        let (gap, init, work) = (self.ticks(200), self.ticks(90_000), self.ticks(40_000));
        let n = self.ranks.len() as u64;
        for (nth, rank) in (0..).zip(&mut self.ranks) {
            rank.enter(gap * nth, Region::Main)?;
            // All come out of MPI_Init together.
            rank.visit(gap, Region::MpiInit, init + gap * (n - nth))?;
            rank.enter(gap, Region::Initialise)?;
            rank.visit(gap, Region::MpiCartCreate, work)?;
            let jitter = rank.rng.below(work);
            rank.leave(work + jitter)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), SynthError> {
        let (gap, finalize) = (self.ticks(200), self.ticks(60_000));
        let last = self.ranks.iter().map(|rank| rank.now).max().unwrap_or(0);
        for rank in &mut self.ranks {
            rank.visit(gap, Region::MpiFinalize, last - rank.now + finalize)?;
            rank.leave(gap)?;
        }
        Ok(())
    }

    fn iterate(&mut self) -> Result<(), SynthError> {
        self.send_halos()?;
        self.wait_for_halos()?;
        for rank in 0..self.ranks.len() {
            self.compute(rank)?;
        }
        self.reduce()?;
        self.n_iterations += 1;
        let every = self.options.output_every;
        if every > 0 && self.n_iterations.is_multiple_of(every) {
            self.write_output()?;
        }
        Ok(())
    }

    fn send_halos(&mut self) -> Result<(), SynthError> {
        let (gap, pack, post) = (self.ticks(80), self.ticks(900), self.ticks(240));
        let (grid, n_ranks) = (self.grid, self.options.n_ranks);
        for world_rank in 0..n_ranks {
            let nth = world_rank as usize;
            let cart_rank = world_from_cart(world_rank, n_ranks);
            let rank = &mut self.ranks[nth];
            rank.enter(gap, Region::TimeStep)?;
            rank.enter(gap, Region::HaloExchange)?;
            let jitter = rank.rng.below(pack);
            rank.visit(gap, Region::Pack, pack + jitter)?;
            for direction in (0..DIRECTIONS.len()).filter(|&d| grid.neighbour(cart_rank, d).is_some()) {
                rank.enter(gap, Region::MpiIrecv)?;
                self.requests[nth][direction].receive = rank.post_receive(post)?;
                rank.leave(gap)?;
            }
            for (direction, tag) in (0..DIRECTIONS.len()).zip(0..) {
                let Some(peer) = grid.neighbour(cart_rank, direction) else { continue };
                rank.enter(gap, Region::MpiIsend)?;
                let message = Envelope { peer, tag, bytes: HALO_BYTES[direction / 2] };
                self.requests[nth][direction].send = rank.post_send(post, message)?;
                self.sent_at[nth][direction] = rank.now;
                rank.leave(gap)?;
            }
        }
        Ok(())
    }

    fn wait_for_halos(&mut self) -> Result<(), SynthError> {
        let (gap, unpack, test) = (self.ticks(80), self.ticks(800), self.ticks(200));
        let transfers = HALO_BYTES.map(|bytes| self.transfer(bytes));
        let (grid, n_ranks) = (self.grid, self.options.n_ranks);
        for world_rank in 0..n_ranks {
            let nth = world_rank as usize;
            let cart_rank = world_from_cart(world_rank, n_ranks);
            let peers: [Option<u32>; DIRECTIONS.len()] =
                std::array::from_fn(|direction| grid.neighbour(cart_rank, direction));
            let rank = &mut self.ranks[nth];
            rank.enter(gap, Region::MpiWaitall)?;
            let ready = rank.now + test;
            let mut done = ready;
            for (direction, &peer) in peers.iter().enumerate() {
                let Some(peer) = peer else { continue };
                let sender = world_from_cart(peer, n_ranks) as usize;
                done = done.max(self.sent_at[sender][opposite(direction)] + transfers[direction / 2]);
            }
            self.losses.halo_wait_ticks += done - ready;
            rank.now = done;
            for (direction, &peer) in peers.iter().enumerate() {
                let Some(peer) = peer else { continue };
                let tag = u32::try_from(opposite(direction)).expect("four directions");
                let message = Envelope { peer, tag, bytes: HALO_BYTES[direction / 2] };
                rank.complete_receive(message, self.requests[nth][direction].receive)?;
                rank.complete_send(self.requests[nth][direction].send)?;
            }
            rank.leave(gap)?;
            let jitter = rank.rng.below(unpack);
            rank.visit(gap, Region::Unpack, unpack + jitter)?;
            rank.leave(gap)?;
        }
        Ok(())
    }

    fn compute(&mut self, nth: usize) -> Result<(), SynthError> {
        let (gap, work, spread) = (self.ticks(60), self.ticks(700), self.ticks(160));
        let is_slow = self.losses.slow_ranks.binary_search(&(nth as u32)).is_ok();
        let extra = if is_slow { work * self.options.imbalance_percent / 100 } else { 0 };
        let rank = &mut self.ranks[nth];
        rank.enter(gap, Region::Compute)?;
        for sweep in [Region::SweepX, Region::SweepY] {
            rank.enter(gap, sweep)?;
            for _ in 0..ROWS {
                rank.enter(gap, Region::Row)?;
                for kernel in KERNELS {
                    let jitter = rank.rng.below(spread);
                    rank.visit(gap, kernel, work + jitter + extra)?;
                    self.losses.extra_compute_ticks += extra;
                }
                rank.leave(gap)?;
            }
            rank.leave(gap)?;
        }
        rank.leave(gap)
    }

    fn reduce(&mut self) -> Result<(), SynthError> {
        let (gap, work, cost) = (self.ticks(80), self.ticks(500), self.ticks(3_000));
        for (rank, arrived_at) in self.ranks.iter_mut().zip(&mut self.arrived_at) {
            rank.enter(gap, Region::ResidualNorm)?;
            rank.enter(work, Region::MpiAllreduce)?;
            rank.begin_collective(gap)?;
            *arrived_at = rank.now;
        }
        let (last, wait) = self.last_arrival();
        self.losses.allreduce_wait_ticks += wait;
        for rank in &mut self.ranks {
            rank.now = last + cost;
            rank.end_collective(CollectiveOp::Allreduce, ALLREDUCE_BYTES)?;
            rank.leave(0)?;
            rank.leave(gap)?;
            rank.leave(gap)?;
        }
        Ok(())
    }

    /// When the last rank came to the collective, and how long the others waited for it in all.
    fn last_arrival(&self) -> (u64, u64) {
        let last = self.arrived_at.iter().copied().max().unwrap_or(0);
        (last, self.arrived_at.iter().map(|&at| last - at).sum())
    }

    /// All ranks send to rank 0, which receives one message after the other; a send ends when its message was received.
    fn write_output(&mut self) -> Result<(), SynthError> {
        let (gap, disk, cost) = (self.ticks(80), self.ticks(15_000), self.ticks(2_000));
        let transfer = self.transfer(OUTPUT_BYTES);
        let (root, others) = self.ranks.split_first_mut().expect("there is a rank");
        root.enter(gap, Region::WriteOutput)?;
        root.visit(gap, Region::Fwrite, disk)?;
        for (peer, rank) in (1..).zip(others) {
            rank.enter(gap, Region::WriteOutput)?;
            rank.enter(gap, Region::MpiSend)?;
            rank.send(gap, Envelope { peer: 0, tag: OUTPUT_TAG, bytes: OUTPUT_BYTES })?;
            root.enter(gap, Region::MpiRecv)?;
            let begin = root.now.max(rank.now);
            self.losses.output_send_wait_ticks += begin - rank.now;
            let end = begin + transfer;
            root.receive(end - root.now, Envelope { peer, tag: OUTPUT_TAG, bytes: OUTPUT_BYTES })?;
            root.leave(gap)?;
            rank.leave(end - rank.now)?;
            root.visit(gap, Region::Fwrite, disk)?;
        }
        for (rank, arrived_at) in self.ranks.iter_mut().zip(&mut self.arrived_at) {
            rank.enter(gap, Region::MpiBarrier)?;
            rank.begin_collective(gap)?;
            *arrived_at = rank.now;
        }
        let (last, wait) = self.last_arrival();
        self.losses.output_barrier_wait_ticks += wait;
        for rank in &mut self.ranks {
            rank.now = last + cost;
            rank.end_collective(CollectiveOp::Barrier, 0)?;
            rank.leave(0)?;
            rank.leave(gap)?;
        }
        self.losses.n_output_phases += 1;
        Ok(())
    }

    fn into_facts(self, archive: &ArchiveWriter, ids: &Ids) -> Result<Facts, SynthError> {
        let hz = self.options.ticks_per_second;
        let mut ranks = Vec::with_capacity(self.ranks.len());
        let mut n_events_by_record = BTreeMap::new();
        for (number, rank) in (0..).zip(self.ranks) {
            let finished = rank.finish(number, hz)?;
            definitions::write_local(archive, ids, number, &finished.clock)?;
            for (name, n) in finished.by_kind {
                *n_events_by_record.entry(name.to_owned()).or_default() += n;
            }
            ranks.push(finished.facts);
        }
        let start_ticks = ranks.iter().map(|rank| rank.start_ticks).min().unwrap_or(0);
        let end_ticks = ranks.iter().map(|rank| rank.end_ticks).max().unwrap_or(0);
        let mut messages = MessageFacts::default();
        ranks.iter().for_each(|rank| messages.add(&rank.messages));
        let mut losses = self.losses;
        losses.serialised_output_wait_ticks =
            losses.output_send_wait_ticks + losses.output_barrier_wait_ticks;
        Ok(Facts {
            schema: "ouzel/synth-facts/1".to_owned(),
            ticks_per_second: hz,
            start_ticks,
            end_ticks,
            span_ticks: end_ticks - start_ticks,
            span_ns: ns_from_ticks(end_ticks - start_ticks, hz),
            n_ranks: self.options.n_ranks,
            grid: self.grid.sizes,
            n_iterations: self.n_iterations,
            n_events: ranks.iter().map(|rank| rank.n_events).sum(),
            n_events_by_record,
            regions: sum_of_regions(ranks.iter().flat_map(|rank| &rank.regions), hz),
            messages,
            collectives: sum_of_collectives(ranks.iter().flat_map(|rank| &rank.collectives)),
            losses,
            ranks,
        })
    }
}

fn sum_of_regions<'f>(regions: impl Iterator<Item = &'f RegionFacts>, hz: u64) -> Vec<RegionFacts> {
    let mut sums: BTreeMap<&str, RegionFacts> = BTreeMap::new();
    for facts in regions {
        let Some(sum) = sums.get_mut(facts.region.as_str()) else {
            sums.insert(&facts.region, facts.clone());
            continue;
        };
        sum.visits += facts.visits;
        sum.inclusive_ticks += facts.inclusive_ticks;
        sum.exclusive_ticks += facts.exclusive_ticks;
        sum.visit_min_ticks = sum.visit_min_ticks.min(facts.visit_min_ticks);
        sum.visit_max_ticks = sum.visit_max_ticks.max(facts.visit_max_ticks);
        for (sum, counter) in sum.counters.values_mut().zip(facts.counters.values()) {
            sum.inclusive += counter.inclusive;
            sum.exclusive += counter.exclusive;
        }
    }
    let mut sums: Vec<RegionFacts> = sums.into_values().collect();
    for sum in &mut sums {
        sum.inclusive_ns = ns_from_ticks(sum.inclusive_ticks, hz);
        sum.exclusive_ns = ns_from_ticks(sum.exclusive_ticks, hz);
    }
    sums
}

fn sum_of_collectives<'f>(collectives: impl Iterator<Item = &'f CollectiveFacts>) -> Vec<CollectiveFacts> {
    let mut sums: BTreeMap<&str, CollectiveFacts> = BTreeMap::new();
    for facts in collectives {
        match sums.get_mut(facts.operation.as_str()) {
            Some(sum) => {
                sum.n_calls += facts.n_calls;
                sum.bytes_sent += facts.bytes_sent;
                sum.bytes_received += facts.bytes_received;
            }
            None => {
                sums.insert(&facts.operation, facts.clone());
            }
        }
    }
    sums.into_values().collect()
}
