//! Random programs made from a seed, with the events of a possible run.
//!
//! Laws: equal seeds give equal traces; all clocks agree, so no rank receives before the send is entered or leaves a
//! collective before all of its members have entered it; messages of a channel do not overtake each other. The programs
//! have blocking and non-blocking messages of several tags over two communicators, calls that complete many of them,
//! and collectives of all and of some ranks; many are under way at any time.

use super::ToyTrace;
use crate::rng::Rng;
use std::fmt::Write;

/// A program of three to six ranks; see the module.
pub fn random_program(seed: u64) -> ToyTrace {
    let mut program = Program::new(seed);
    for request in 0..60 + program.rng.below(40) {
        let rank = program.rng.below(program.ranks.len() as u64) as usize;
        program.work(rank);
        match program.rng.below(10) {
            0 => program.collective(Comm::World),
            1 => program.collective(Comm::Row),
            2..=5 => program.message(rank, None),
            6..=8 => program.message(rank, Some(request)),
            _ => program.wait(rank),
        }
    }
    program.end()
}

/// The communicator of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comm {
    World,
    /// All ranks but the first.
    Row,
}

/// What a rank has posted, and the event that completes it.
struct Posted {
    event: String,
    /// Not before this time.
    at: u64,
}

struct Rank {
    line: String,
    now: u64,
    posted: Vec<Posted>,
}

struct Program {
    rng: Rng,
    ranks: Vec<Rank>,
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let rank = |rank, now| Rank { line: format!("{rank}: enter main @{now}"), now, posted: Vec::new() };
        let n = 3 + rng.below(4);
        let ranks = (0..n).map(|i| rank(i, rng.below(5))).collect();
        Program { rng, ranks }
    }

    fn work(&mut self, rank: usize) {
        let time = self.rng.below(40);
        let name = ["solve", "step"][self.rng.below(2) as usize];
        self.call(rank, name, "", time);
    }

    /// A call that takes `time`; `event` happens when it begins.
    fn call(&mut self, rank: usize, name: &str, event: &str, time: u64) {
        let rank = &mut self.ranks[rank];
        let _ = write!(rank.line, ", enter {name} @{}", rank.now);
        if !event.is_empty() {
            let _ = write!(rank.line, ", {event} @{}", rank.now);
        }
        rank.now += time;
        let _ = write!(rank.line, ", leave @{}", rank.now);
    }

    fn collective(&mut self, comm: Comm) {
        let (name, op) =
            [("MPI_Barrier", "barrier"), ("MPI_Allreduce", "allreduce"), ("MPI_Bcast", "bcast root 1")]
                [self.rng.below(3) as usize];
        let first = usize::from(comm == Comm::Row);
        let last = self.ranks[first..].iter().map(|rank| rank.now).max().unwrap_or_default();
        for rank in &mut self.ranks[first..] {
            let leave = last + self.rng.below(3);
            let of = if comm == Comm::Row { " comm row" } else { "" };
            let _ = write!(
                rank.line,
                ", enter {name} @{}, collective {op}{of} bytes 8/8 @{leave}, leave @{leave}",
                rank.now
            );
            rank.now = leave;
        }
    }

    /// A message to another rank; non-blocking at both ends if there is a request.
    fn message(&mut self, from: usize, request: Option<u64>) {
        let n = self.ranks.len();
        let to = (from + 1 + self.rng.below(n as u64 - 1) as usize) % n;
        let (tag, bytes) = (self.rng.below(2), self.rng.below(100));
        let over_row = 0 < from && 0 < to && self.rng.below(2) == 0;
        let (mine, theirs, comm) = if over_row { (from - 1, to - 1, " comm row") } else { (from, to, "") };
        let what = format!("tag {tag} bytes {bytes}{comm}");
        let (sent, time) = (self.ranks[from].now, self.rng.below(3));
        match request {
            None => {
                self.call(from, "MPI_Send", &format!("send>{theirs} {what}"), time);
                let leave = self.ranks[to].now.max(sent) + self.rng.below(4);
                let rank = &mut self.ranks[to];
                let _ = write!(
                    rank.line,
                    ", enter MPI_Recv @{}, recv<{mine} {what} @{leave}, leave @{leave}",
                    rank.now
                );
                rank.now = leave;
            }
            Some(request) => {
                self.call(from, "MPI_Isend", &format!("send>{theirs} {what} request {request}"), time);
                let event = format!("request {request} send-complete");
                self.ranks[from].posted.push(Posted { event, at: sent });
                let time = self.rng.below(3);
                self.call(to, "MPI_Irecv", &format!("request {request} recv-posted"), time);
                let event = format!("recv<{mine} {what} request {request}");
                self.ranks[to].posted.push(Posted { event, at: sent });
            }
        }
    }

    /// Completes all that a rank has posted.
    fn wait(&mut self, rank: usize) {
        let slack = self.rng.below(4);
        let rank = &mut self.ranks[rank];
        let _ = write!(rank.line, ", enter MPI_Waitall @{}", rank.now);
        rank.now = rank.posted.iter().map(|posted| posted.at).fold(rank.now, u64::max) + slack;
        for Posted { event, .. } in rank.posted.drain(..) {
            let _ = write!(rank.line, ", {event} @{}", rank.now);
        }
        let _ = write!(rank.line, ", leave @{}", rank.now);
    }

    fn end(mut self) -> ToyTrace {
        (0..self.ranks.len()).for_each(|rank| self.wait(rank));
        let members: Vec<String> = (1..self.ranks.len()).map(|rank| rank.to_string()).collect();
        let mut text = format!("comm row = {}", members.join(" "));
        for Rank { line, now, .. } in &self.ranks {
            let _ = write!(text, "\n{line}, leave @{now}");
        }
        ToyTrace::new(&text)
    }
}
