//! The paper's Algorithm 4, simulated: output that is serialised through rank 0, and the same output in parallel.
//!
//! Three times every rank exchanges an array with its local group and sends it to rank 0, which
//! receives and writes in the order of ranks. The local group of rank 0 waits for it in the
//! next exchange, all others in the send. Law: the same work is done in parallel, spread evenly.

use crate::ToyTrace;
use std::fmt::Write;

/// A run.
#[derive(Debug)]
pub struct SerialisedOutput {
    /// Number of ranks.
    pub n_ranks: usize,
    /// Ticks of an exchange among ranks that are all there.
    pub exchange: u64,
}

const N_ARRAYS: usize = 3;
/// Ticks to write the array of one rank.
const WRITE: u64 = 100;
/// Ticks to write the grid; any number of ranks that tests use divides it.
const WRITE_GRID: u64 = 5120;
/// Ticks of the barrier when all are there.
const BARRIER: u64 = 1000;

/// Calls in a row, each beginning where the one before it ended.
struct Rank {
    text: String,
    now: u64,
}

impl Rank {
    fn call(&mut self, name: &str, end: u64) {
        write!(self.text, ", enter {name} @{}, leave @{end}", self.now).expect("a string takes all");
        self.now = end;
    }

    fn collective(&mut self, name: &str, what: &str, end: u64) {
        write!(self.text, ", enter {name} @{}, collective {what} @{end}, leave @{end}", self.now)
            .expect("a string takes all");
        self.now = end;
    }
}

impl SerialisedOutput {
    /// Ranks of which every fourth is in one local group.
    pub fn block(&self) -> usize {
        (self.n_ranks / 4).min(64)
    }

    /// The first rank of the local group of `rank`.
    fn leader(&self, rank: usize) -> usize {
        rank / self.block() * self.block() + rank % 4
    }

    /// Ranks that exchange with `rank`.
    fn group(&self, rank: usize) -> impl Iterator<Item = usize> + use<> {
        let end = rank / self.block() * self.block() + self.block();
        (self.leader(rank)..self.n_ranks.min(end)).step_by(4)
    }

    fn exchange(&self, ranks: &mut [Rank]) {
        let arrived: Vec<u64> = ranks.iter().map(|rank| rank.now).collect();
        for (i, rank) in ranks.iter_mut().enumerate() {
            let last = self.group(i).map(|member| arrived[member]).max().expect("a rank is in its group");
            let what = format!("alltoall comm group{}", self.leader(i));
            rank.collective("MPI_Alltoall", &what, last + self.exchange);
        }
    }

    fn ranks(&self) -> Vec<Rank> {
        let start = |rank| Rank { text: format!("{rank}: enter main @0"), now: 0 };
        (0..self.n_ranks).map(start).collect()
    }

    fn finished(&self, mut ranks: Vec<Rank>) -> (ToyTrace, u64) {
        let end = ranks.iter().map(|rank| rank.now).max().expect("there are ranks") + BARRIER;
        let mut text = String::new();
        for leader in (0..self.n_ranks).filter(|&rank| self.leader(rank) == rank) {
            let members: Vec<String> = self.group(leader).map(|rank| rank.to_string()).collect();
            writeln!(text, "comm group{leader} = {}", members.join(" ")).expect("a string takes all");
        }
        for rank in &mut ranks {
            rank.collective("MPI_Barrier", "barrier", end);
            writeln!(text, "{}, leave @{end}", rank.text).expect("a string takes all");
        }
        (ToyTrace::new(&text), end)
    }

    /// All output through rank 0, and how long the run takes.
    pub fn through_rank_0(&self) -> (ToyTrace, u64) {
        let mut ranks = self.ranks();
        ranks[0].call("write_grid", WRITE_GRID);
        for _ in 0..N_ARRAYS {
            self.exchange(&mut ranks);
            let (zero, others) = ranks.split_first_mut().expect("there are ranks");
            zero.call("write", zero.now + WRITE);
            for rank in others {
                let received = zero.now.max(rank.now);
                zero.call("MPI_Recv", received);
                zero.call("write", received + WRITE);
                rank.call("MPI_Send", received);
            }
        }
        self.finished(ranks)
    }

    /// Every rank writes its own part, and how long that run takes.
    pub fn in_parallel(&self) -> (ToyTrace, u64) {
        let mut ranks = self.ranks();
        let part_of_grid = WRITE_GRID / self.n_ranks as u64;
        ranks.iter_mut().for_each(|rank| rank.call("write_grid", part_of_grid));
        for _ in 0..N_ARRAYS {
            self.exchange(&mut ranks);
            ranks.iter_mut().for_each(|rank| rank.call("write", rank.now + WRITE));
        }
        self.finished(ranks)
    }
}
