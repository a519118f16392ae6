//! A program in a few lines: what each rank does, simulated as a trace.
//!
//! A message is there as soon as its send is over; a synchronising send is over when its receive
//! is entered; a synchronisation ends for all when the last has come, and takes its cost from then on.

use ouzel_testkit::ToyTrace;
use std::collections::BTreeMap;
use std::fmt::Write;

/// One thing that a rank does.
#[derive(Debug, Clone, Copy)]
pub enum Action {
    /// A region is entered.
    Enter(&'static str),
    /// The innermost region is left.
    Leave,
    /// Work in a region, in ticks.
    Work(&'static str, u64),
    /// A message: its receiver, its bytes, and the duration of the call.
    Send(usize, u64, u64),
    /// A message that waits until it is received: its receiver, its bytes, and the duration of the transfer.
    Ssend(usize, u64, u64),
    /// The next message from a rank.
    Recv(usize),
    /// All ranks synchronise: the call, and its duration after the last arrival.
    Sync(&'static str, u64),
}

/// What each rank does.
#[derive(Debug, Clone)]
pub struct Program(Vec<Vec<Action>>);

#[derive(Default)]
struct Rank {
    now: u64,
    at: usize,
    line: String,
}

impl Program {
    pub fn new(n_ranks: usize, actions: impl Fn(usize) -> Vec<Action>) -> Self {
        Program((0..n_ranks).map(actions).collect())
    }

    pub fn trace(&self) -> ToyTrace {
        ToyTrace::new(&self.text())
    }

    /// The same with counters of the processor at each call: for each rank the cycles of a tick, and ten times the
    /// instructions of a cycle.
    pub fn trace_with_counters(&self, of: impl Fn(usize) -> (u64, u64)) -> ToyTrace {
        let mut text = String::new();
        for (rank, line) in self.text().lines().enumerate() {
            let (label, events) = line.split_once(": ").expect("a label");
            let (per_tick, per_ten_cycles) = of(rank);
            let counted = events.split(", ").map(|event| {
                let at: u64 = event.rsplit_once('@').and_then(|it| it.1.parse().ok()).expect("a time");
                let cycles = per_tick * at;
                let instructions = per_ten_cycles * cycles / 10;
                format!("metric PAPI_TOT_CYC={cycles} PAPI_TOT_INS={instructions} @{at}, {event}")
            });
            let _ = writeln!(text, "{label}: {}", counted.collect::<Vec<_>>().join(", "));
        }
        ToyTrace::new(&text)
    }

    fn text(&self) -> String {
        let mut ranks: Vec<Rank> = self.0.iter().map(|_| Rank::default()).collect();
        for rank in &mut ranks {
            rank.line.push_str("enter main @0");
        }
        // Messages under way, by sender and receiver: their arrival times and bytes.
        let mut sent: BTreeMap<(usize, usize), Vec<(u64, u64)>> = BTreeMap::new();
        let n_actions: usize = self.0.iter().map(Vec::len).sum();
        // In each round one action of some rank ends, or no rank can go on.
        for _ in 0..=n_actions {
            let moved = (0..ranks.len()).any(|r| self.step(r, &mut ranks, &mut sent));
            if !moved && !self.synchronise(&mut ranks) {
                break;
            }
        }
        assert!(ranks.iter().zip(&self.0).all(|(rank, own)| rank.at == own.len()), "the program ends");
        let mut text = String::new();
        for (r, rank) in ranks.iter().enumerate() {
            let _ = writeln!(text, "{r}: {}, leave @{}", rank.line, rank.now);
        }
        text
    }

    /// Lets rank `r` do what it can; returns whether it did anything.
    fn step(
        &self,
        r: usize,
        ranks: &mut [Rank],
        sent: &mut BTreeMap<(usize, usize), Vec<(u64, u64)>>,
    ) -> bool {
        let Some(&action) = self.0[r].get(ranks[r].at) else { return false };
        let start = ranks[r].now;
        match action {
            Action::Enter(name) => ranks[r].write(&format!("enter {name}"), 0),
            Action::Leave => ranks[r].write("leave", 0),
            Action::Work(name, ticks) => {
                ranks[r].write(&format!("enter {name}"), ticks);
                ranks[r].write("leave", 0);
            }
            Action::Send(to, bytes, cost) => {
                ranks[r].write("enter MPI_Send", 0);
                ranks[r].write(&format!("send>{to} bytes {bytes}"), cost);
                ranks[r].write("leave", 0);
                sent.entry((r, to)).or_default().push((start, bytes));
            }
            Action::Ssend(to, bytes, cost) => {
                let Some(entered) = ranks[to].entered_receive(&self.0[to], r) else { return false };
                ranks[r].write("enter MPI_Ssend", 0);
                let until = entered.max(start) + cost;
                ranks[r].write(&format!("send>{to} bytes {bytes}"), until - start);
                ranks[r].write("leave", 0);
                sent.entry((r, to)).or_default().push((until, bytes));
            }
            Action::Recv(from) => {
                let queue = sent.entry((from, r)).or_default();
                if queue.is_empty() {
                    return false;
                }
                let (there, bytes) = queue.remove(0);
                ranks[r].write("enter MPI_Recv", (there + 1).saturating_sub(start));
                ranks[r].write(&format!("recv<{from} bytes {bytes}"), 0);
                ranks[r].write("leave", 0);
            }
            Action::Sync(..) => return false,
        }
        ranks[r].at += 1;
        true
    }

    /// Ends the synchronisation that all have reached; returns whether there is one.
    fn synchronise(&self, ranks: &mut [Rank]) -> bool {
        let syncs: Option<Vec<(&str, u64)>> = ranks
            .iter()
            .zip(&self.0)
            .map(|(rank, own)| match own.get(rank.at) {
                Some(&Action::Sync(name, cost)) => Some((name, cost)),
                _ => None,
            })
            .collect();
        let Some(syncs) = syncs else { return false };
        let last = ranks.iter().map(|rank| rank.now).max().unwrap_or_default();
        for (rank, (name, cost)) in ranks.iter_mut().zip(syncs) {
            let wait = last + cost - rank.now;
            rank.write(&format!("enter {name}"), 0);
            rank.write("collective-begin", wait);
            let operation = name.trim_start_matches("MPI_").to_lowercase();
            let bytes = if operation == "barrier" { "0/0" } else { "8/8" };
            rank.write(&format!("collective {operation} bytes {bytes}"), 0);
            rank.write("leave", 0);
            rank.at += 1;
        }
        true
    }
}

impl Rank {
    /// An event now, followed by the time it takes.
    fn write(&mut self, event: &str, ticks: u64) {
        let _ = write!(self.line, ", {event} @{}", self.now);
        self.now += ticks;
    }

    /// When it entered its current receive, if that is one from `from`.
    fn entered_receive(&self, actions: &[Action], from: usize) -> Option<u64> {
        match actions.get(self.at) {
            Some(&Action::Recv(of)) if of == from => Some(self.now),
            _ => None,
        }
    }
}
