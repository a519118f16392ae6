//! Programs whose waits are known; operations take no time.

use super::{described, waits};
use crate::WaitsOutput;
use ouzel_model::TraceSource;
use ouzel_testkit::ToyTrace;
use std::fmt::Write;

/// A program of ranks that work and exchange messages, with the times that follow.
pub(crate) struct Ranks(pub(crate) Vec<(String, u64)>);

impl Ranks {
    pub(crate) fn new(n: usize) -> Self {
        Ranks((0..n).map(|rank| (format!("{rank}: enter main @0"), 0)).collect())
    }

    pub(crate) fn work(&mut self, rank: usize, time: u64) {
        let (line, now) = &mut self.0[rank];
        let start = *now;
        *now += time;
        let _ = write!(line, ", enter foo @{start}, leave @{now}");
    }

    /// A message, received when it is there, and sent when the receive is posted if it is synchronous.
    pub(crate) fn message(&mut self, from: usize, to: usize, send: &str) {
        let (sent, posted) = (self.0[from].1, self.0[to].1);
        let done = sent.max(posted);
        let left = if send == "MPI_Ssend" { done } else { sent };
        let _ = write!(self.0[from].0, ", enter {send} @{sent}, send>{to} bytes 8 @{sent}, leave @{left}");
        let _ =
            write!(self.0[to].0, ", enter MPI_Recv @{posted}, recv<{from} bytes 8 @{done}, leave @{done}");
        (self.0[from].1, self.0[to].1) = (left, done);
    }

    pub(crate) fn send(&mut self, from: usize, to: usize) {
        self.message(from, to, "MPI_Send");
    }

    /// A collective of all that lets members go when `leaves` says.
    pub(crate) fn collective(&mut self, call: &str, op: &str, leaves: impl Fn(usize, &[u64]) -> u64) {
        let arrived: Vec<u64> = self.0.iter().map(|rank| rank.1).collect();
        for (rank, (line, now)) in self.0.iter_mut().enumerate() {
            let leave = leaves(rank, &arrived).max(*now);
            let _ = write!(
                line,
                ", enter {call} @{now}, collective-begin @{now}, collective {op} bytes 8/8 @{leave}, leave @{leave}"
            );
            *now = leave;
        }
    }

    pub(crate) fn barrier(&mut self) {
        self.collective("MPI_Barrier", "barrier", |_, arrived| arrived.iter().copied().max().unwrap_or(0));
    }

    pub(crate) fn end(self) -> ToyTrace {
        let lines: Vec<String> =
            self.0.into_iter().map(|(line, now)| format!("{line}, leave @{now}")).collect();
        ToyTrace::new(&lines.join("\n"))
    }

    pub(crate) fn waits(self) -> (WaitsOutput, Vec<String>) {
        let trace = self.end();
        let output = waits(&trace);
        let rows = described(&output, trace.definitions());
        (output, rows)
    }
}

/// Rank 0 is late, 1 waits for it, and 2 for rank 1.
pub(crate) fn chain() -> Ranks {
    let mut ranks = Ranks::new(3);
    ranks.work(0, 100);
    (1..3).for_each(|rank| ranks.work(rank, 10));
    ranks.send(0, 1);
    ranks.work(1, 10);
    ranks.send(1, 2);
    ranks
}

/// The last of four ranks is late at a barrier.
pub(crate) fn late_at_barrier() -> Ranks {
    let mut ranks = Ranks::new(4);
    (0..3).for_each(|rank| ranks.work(rank, 10));
    ranks.work(3, 100);
    ranks.barrier();
    ranks
}

/// A message that is late makes its receiver late at a barrier.
pub(crate) fn message_before_barrier() -> Ranks {
    let mut ranks = Ranks::new(3);
    ranks.work(0, 50);
    ranks.work(1, 10);
    ranks.send(0, 1);
    ranks.work(0, 10);
    ranks.work(1, 30);
    ranks.work(2, 20);
    ranks.barrier();
    ranks
}

/// Rank 0 starts a chain over the others; each works, passes on, then reports to rank 0.
pub(crate) fn reports(n: usize, repetitions: usize, work: u64, order: impl Fn(usize) -> Vec<usize>) -> Ranks {
    let mut ranks = Ranks::new(n);
    for _ in 0..repetitions {
        for rank in 1..n {
            ranks.send(rank - 1, rank);
            ranks.work(rank, work);
        }
        for rank in order(n) {
            ranks.send(rank, 0);
        }
    }
    ranks
}
