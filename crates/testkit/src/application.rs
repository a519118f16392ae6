//! A simulated application with planted losses, and the truth about it.
//!
//! ```text
//! main                    every rank: read and decode, each another way; barrier; rank 0 writes a grid; barrier
//!   loop@30               solver: assemble, solve (k1, k2), MPI_Allreduce; iterations of three lengths
//!   output                loop@3: exchange in the local group, then send to rank 0, which receives and writes
//!     loop@3 / loop@9       in the order of ranks; barrier
//! ```
//!
//! Ranks of one local group wait for each other in the next exchange, so those that are in the group of rank 0 wait
//! there, all others in the send. Law: the solver is balanced; only `init`, the grid and the output make ranks wait.
//! [`SerialisedOutput`](crate::SerialisedOutput) is the output alone.

use crate::{Rng, ToyPayload, ToyTrace};
use ouzel_model::{RegionId, RegionRole, TraceSource};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A run to be simulated.
#[derive(Debug, Clone)]
pub struct OutputApplication {
    /// Number of ranks.
    pub n_ranks: usize,
    /// Every so many-th rank of a block is in one local group.
    pub stride: usize,
    /// Ranks in a block of local groups.
    pub span: usize,
    /// Iterations of the solver.
    pub n_iterations: usize,
    /// Ticks of its shortest iteration; the others take 1.4 and 2 times as long.
    pub iteration: u64,
    /// Ticks of rank 0 to write what one rank sends.
    pub service: u64,
    /// Ticks of rank 0 to write the grid.
    pub grid: u64,
    /// Ticks until all ranks have read and decoded; 0: there is no such part.
    pub init: u64,
    /// Which rank reads and decodes how long, and which iterations are long.
    pub seed: u64,
}

/// What happened.
#[derive(Debug)]
pub struct SimulatedApplication {
    /// The run as exact events.
    pub trace: ToyTrace,
    /// Ticks of the run.
    pub run_time: u64,
    /// Ticks of the run if all ranks wrote grid and arrays together.
    pub run_time_fixed: u64,
    /// The ranks that behave alike: rank 0, the others of its local group, and all others.
    pub clusters: [Vec<usize>; 3],
    lines: BTreeMap<(RegionId, RegionId), u32>,
}

const N_ARRAYS: usize = 3;

/// Caller, callee, line of the call.
const CALLS: [(&str, &str, u32); 16] = [
    ("main", "init", 10),
    ("init", "read", 11),
    ("init", "decode", 12),
    ("main", "MPI_Barrier", 13),
    ("main", "write_grid", 20),
    ("loop@30", "assemble", 31),
    ("loop@30", "solve", 32),
    ("solve", "k1", 5),
    ("solve", "k2", 6),
    ("loop@30", "MPI_Allreduce", 33),
    ("main", "output", 40),
    ("loop@3", "MPI_Alltoall", 4),
    ("loop@3", "MPI_Send", 6),
    ("loop@3", "write", 8),
    ("loop@9", "MPI_Recv", 10),
    ("output", "MPI_Barrier", 12),
];

impl OutputApplication {
    /// The run in which every fourth rank of 64 is in one local group.
    pub fn of_ranks(n_ranks: usize, seed: u64) -> Self {
        OutputApplication {
            n_ranks,
            stride: 4,
            span: (n_ranks / 4).clamp(4, 64),
            n_iterations: 14,
            iteration: 12_000,
            service: 520,
            grid: 55_000,
            init: 45_000,
            seed,
        }
    }

    /// The first rank of the local group of `rank`.
    fn leader(&self, rank: usize) -> usize {
        rank / self.span * self.span + rank % self.span % self.stride
    }

    /// Ranks that exchange with `rank`.
    fn group(&self, rank: usize) -> impl Iterator<Item = usize> + use<> {
        let end = self.n_ranks.min(rank / self.span * self.span + self.span);
        (self.leader(rank)..end).step_by(self.stride)
    }

    /// Executes the run.
    pub fn run(&self) -> SimulatedApplication {
        let mut rng = Rng::new(self.seed);
        let mut ranks: Vec<RankText> = (0..self.n_ranks).map(RankText::new).collect();
        ranks.iter_mut().for_each(|rank| rank.enter("main"));
        if 0 < self.init {
            ranks.iter_mut().for_each(|rank| self.initialise(rank, &mut rng));
            meet(&mut ranks, "MPI_Barrier", "barrier");
        }
        ranks[0].call("write_grid", self.grid);
        meet(&mut ranks, "MPI_Barrier", "barrier");
        let solver = self.solve(&mut ranks, &mut rng);
        self.output(&mut ranks);
        ranks.iter_mut().for_each(RankText::leave);
        let run_time = ranks[0].now;
        let near: Vec<usize> = self.group(0).skip(1).collect();
        let far = (1..self.n_ranks).filter(|rank| !near.contains(rank)).collect();
        let together = self.grid / self.n_ranks as u64 + N_ARRAYS as u64 * self.service;
        let (trace, lines) = self.trace(ranks);
        SimulatedApplication {
            trace,
            run_time,
            run_time_fixed: self.init + solver + together,
            clusters: [vec![0], near, far],
            lines,
        }
    }

    /// Reads and decodes: a rank that reads long decodes shortly.
    fn initialise(&self, rank: &mut RankText, rng: &mut Rng) {
        let share = 200 + rng.below(601);
        // All but up to a fortieth of it; rank 0 is the last.
        let spare = if rank.text.starts_with("0:") { 0 } else { rng.below(self.init / 40 + 1) };
        let total = self.init - spare;
        let read = total * share / 1000;
        rank.enter("init");
        rank.call("read", read);
        rank.call("decode", total - read);
        rank.leave();
    }

    /// The solver; gives its time.
    fn solve(&self, ranks: &mut [RankText], rng: &mut Rng) -> u64 {
        let start = ranks[0].now;
        ranks.iter_mut().for_each(|rank| rank.enter("loop@30"));
        for _ in 0..self.n_iterations {
            let length = self.iteration * [10, 14, 20][rng.below(3) as usize] / 10;
            for rank in ranks.iter_mut() {
                rank.call("assemble", length / 4);
                rank.enter("solve");
                rank.call("k1", length / 2);
                rank.call("k2", length / 4);
                rank.leave();
            }
            meet(ranks, "MPI_Allreduce", "allreduce");
        }
        ranks.iter_mut().for_each(RankText::leave);
        ranks[0].now - start
    }

    fn output(&self, ranks: &mut [RankText]) {
        for rank in ranks.iter_mut() {
            rank.enter("output");
            rank.enter("loop@3");
        }
        for _ in 0..N_ARRAYS {
            self.exchange(ranks);
            let (zero, others) = ranks.split_first_mut().expect("there are ranks");
            zero.call("write", self.service);
            zero.enter("loop@9");
            for rank in others {
                let received = zero.now.max(rank.now);
                zero.call("MPI_Recv", received - zero.now);
                rank.call("MPI_Send", received - rank.now);
                zero.call("write", self.service);
            }
            zero.leave();
        }
        ranks.iter_mut().for_each(RankText::leave);
        meet(ranks, "MPI_Barrier", "barrier");
        ranks.iter_mut().for_each(RankText::leave);
    }

    fn exchange(&self, ranks: &mut [RankText]) {
        let arrived: Vec<u64> = ranks.iter().map(|rank| rank.now).collect();
        for (i, rank) in ranks.iter_mut().enumerate() {
            let last = self.group(i).map(|member| arrived[member]).max().expect("a rank is in its group");
            let what = format!("alltoall comm group{}", self.leader(i));
            rank.collective("MPI_Alltoall", &what, last);
        }
    }

    fn trace(&self, ranks: Vec<RankText>) -> (ToyTrace, BTreeMap<(RegionId, RegionId), u32>) {
        let mut text = String::new();
        for leader in (0..self.n_ranks).filter(|&rank| self.leader(rank) == rank) {
            let members: Vec<String> = self.group(leader).map(|rank| rank.to_string()).collect();
            writeln!(text, "comm group{leader} = {}", members.join(" ")).expect("a string takes all");
        }
        for rank in ranks {
            writeln!(text, "{}", rank.text).expect("a string takes all");
        }
        let mut trace = ToyTrace::new(&text);
        let mut lines = BTreeMap::new();
        let more = [("loop@9", "write", 11)];
        for (caller, callee, line) in CALLS.into_iter().chain(more) {
            lines.insert((trace.region(caller), trace.region(callee)), line);
        }
        for (name, line) in [("loop@30", 30), ("loop@3", 3), ("loop@9", 9)] {
            let region = trace.region(name);
            let region = &mut trace.definitions_mut().regions[region.index()];
            (region.role, region.line) = (RegionRole::Loop, Some(line));
        }
        (trace, lines)
    }
}

impl SimulatedApplication {
    /// The line at which a call of `caller` calls `callee` for the `nth` time, from 0.
    pub fn line(&self, caller: RegionId, callee: RegionId, nth: usize) -> Option<u32> {
        let line = self.lines.get(&(caller, callee)).copied();
        // The second barrier of `main`.
        if line == Some(13) && nth == 1 { Some(21) } else { line }
    }

    /// The same run with samples alone.
    pub fn samples(&self, sampler: &crate::Sampler) -> ToyTrace {
        sampler.samples(&self.trace, &|caller, callee, nth| self.line(caller, callee, nth))
    }

    /// The same run with samples beside exact calls of MPI.
    pub fn samples_beside_mpi(&self, sampler: &crate::Sampler) -> ToyTrace {
        let line = |caller, callee, nth| self.line(caller, callee, nth);
        sampler.samples_beside_calls(&self.trace, &line, |name| name.starts_with("MPI_"))
    }

    /// The same run by a tracer that marks no loops.
    pub fn unmarked(&self) -> SimulatedApplication {
        let mut trace = self.trace.clone();
        let definitions = self.trace.definitions();
        let is_loop = |region: RegionId| definitions.region(region).role == RegionRole::Loop;
        for location in definitions.location_ids() {
            let mut open = Vec::new();
            trace.events_mut(location).retain(|event| match event.what {
                ToyPayload::Enter(region) => {
                    open.push(region);
                    !is_loop(region)
                }
                ToyPayload::Leave(_) => open.pop().is_none_or(|region| !is_loop(region)),
                _ => true,
            });
        }
        // What a loop calls, its function calls at the same line.
        let mut lines = self.lines.clone();
        for (&(caller, callee), &line) in &self.lines {
            let name = &*definitions.region(caller).name;
            let inside = definitions
                .regions
                .iter()
                .position(|region| &*region.name == if name == "loop@30" { "main" } else { "output" });
            if let Some(function) = inside.filter(|_| is_loop(caller)) {
                lines.insert((RegionId::from_index(function), callee), line);
            }
        }
        SimulatedApplication { trace, lines, clusters: self.clusters.clone(), ..*self }
    }

    /// Number of ranks.
    pub fn n_ranks(&self) -> usize {
        self.trace.definitions().locations.len()
    }
}

/// The calls of a rank, each beginning where the one before it ended.
struct RankText {
    text: String,
    now: u64,
}

impl RankText {
    fn new(rank: usize) -> Self {
        RankText { text: format!("{rank}: "), now: 0 }
    }

    fn add(&mut self, what: std::fmt::Arguments<'_>) {
        let separator = if self.text.ends_with(": ") { "" } else { ", " };
        write!(self.text, "{separator}{what}").expect("a string takes all");
    }

    fn enter(&mut self, name: &str) {
        let now = self.now;
        self.add(format_args!("enter {name} @{now}"));
    }

    fn leave(&mut self) {
        let now = self.now;
        self.add(format_args!("leave @{now}"));
    }

    fn call(&mut self, name: &str, ticks: u64) {
        self.enter(name);
        self.now += ticks;
        self.leave();
    }

    fn collective(&mut self, name: &str, what: &str, end: u64) {
        self.enter(name);
        self.now = end;
        self.add(format_args!("collective {what} @{end}"));
        self.leave();
    }
}

/// All ranks wait for the last.
fn meet(ranks: &mut [RankText], name: &str, what: &str) {
    let end = ranks.iter().map(|rank| rank.now).max().expect("there are ranks");
    ranks.iter_mut().for_each(|rank| rank.collective(name, what, end));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The run of which archives and truth are stored with the shared data.
    #[test]
    fn the_stored_run_comes_out() {
        let application = OutputApplication { stride: 3, span: 12, ..OutputApplication::of_ranks(48, 31) };
        let found = application.run();
        let n = |i: usize| found.clusters[i].len();
        assert_eq!((n(0), n(1), n(2), found.n_ranks()), (1, 3, 44, 48));
        // All but the solver, whose iterations depend on the seed.
        let output = (N_ARRAYS * 48) as u64 * application.service;
        let solver = found.run_time_fixed - 45_000 - 55_000 / 48 - 3 * 520;
        assert_eq!(found.run_time, 45_000 + 55_000 + solver + output);
    }
}
