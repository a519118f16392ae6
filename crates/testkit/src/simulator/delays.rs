//! Who makes the others wait: delay costs by their definition, in the plainest way.
//!
//! A wait `w` of `W` ticks has a waiter and a culprit. Both are looked at from their last common synchronisation on,
//! the culprit to the call that was waited for, the waiter to the call that waits. `T_c[p]` and `T_i[p]` are the times
//! of culprit and waiter in call path `p` without waiting, and `P` is the waiting of the culprit:
//!
//! ```text
//! d[p] = max(0, T_c[p] − T_i[p])     D = Σ d[p]
//! W is shared among d[p] and the waits of P: short-term costs of p, and K of the waits
//! K(w) is shared in the same way: long-term costs of p, and K of the waits further back
//! ```
//!
//! Sharing is by [`share()`]: terms d by call path, then waits by time. A wait that lies partly before the
//! common synchronisation counts with its part after it.
//!
//! Two ranks have synchronised where one waited for the other, and where an operation of all with all ended of which no
//! member left before the last had come, whether or not a member waited. They also do at the start, as all begin at
//! once. The interval begins when the first of the two left that operation (the first of all members, if all took part).
//!
//! Law: short-term and long-term costs add up to the waits. Nothing is unexplained here, as clocks agree and nothing is
//! cut.

use super::program::{CallPath, Shape};
use super::run::{Run, Wait, WaitClass};
use super::share;
use std::collections::BTreeMap;

/// A call path of a rank, and the class of the waits that its delay causes in the end.
pub type DelayKey = (WaitClass, usize, CallPath);

/// What the delays of a run cost others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Delays {
    /// Waits that a delay causes at once. No entry is zero.
    pub short_term: BTreeMap<DelayKey, u64>,
    /// Waits that it causes because those who wait for it delay others. No entry is zero.
    pub long_term: BTreeMap<DelayKey, u64>,
    /// Of each wait in [`Run::waits`]: the part that earlier waits of the culprit cause.
    pub indirect: Vec<u64>,
    /// Of each wait: the largest part that it causes of another wait.
    pub propagating: Vec<u64>,
}

/// What a wait is made of.
struct Makeup {
    /// The delays of the culprit.
    delays: Vec<(CallPath, u64)>,
    /// The waits of the culprit, and how much of each counts.
    waits: Vec<(usize, u64)>,
}

impl Makeup {
    /// Shares `ticks` among delays and waits.
    fn share(&self, ticks: u64) -> (Vec<u64>, Vec<u64>) {
        let delays = self.delays.iter().map(|&(_, ticks)| ticks);
        let weights: Vec<u64> = delays.chain(self.waits.iter().map(|&(_, ticks)| ticks)).collect();
        let mut of_delays = share(ticks, &weights);
        let of_waits = of_delays.split_off(self.delays.len());
        (of_delays, of_waits)
    }
}

impl Run {
    /// The delay costs of this run.
    pub fn delays(&self) -> Delays {
        let makeups: Vec<Makeup> = self.waits.iter().map(|wait| self.makeup(wait)).collect();
        let n_waits = makeups.len();
        let mut delays =
            Delays { indirect: vec![0; n_waits], propagating: vec![0; n_waits], ..Delays::default() };
        let mut passed_on: Vec<BTreeMap<WaitClass, u64>> = vec![BTreeMap::new(); n_waits];
        for number in effects_first(&makeups) {
            let (wait, makeup) = (&self.waits[number], &makeups[number]);
            let (of_delays, of_waits) = makeup.share(wait.ticks);
            delays.indirect[number] = of_waits.iter().sum();
            for (&(cause, _), &ticks) in makeup.waits.iter().zip(&of_waits) {
                delays.propagating[cause] = delays.propagating[cause].max(ticks);
                *passed_on[cause].entry(wait.class).or_default() += ticks;
            }
            add(&mut delays.short_term, wait, wait.class, makeup, &of_delays);
            for (class, ticks) in std::mem::take(&mut passed_on[number]) {
                let (of_delays, of_waits) = makeup.share(ticks);
                for (&(cause, _), &ticks) in makeup.waits.iter().zip(&of_waits) {
                    *passed_on[cause].entry(class).or_default() += ticks;
                }
                add(&mut delays.long_term, wait, class, makeup, &of_delays);
            }
        }
        delays
    }

    fn makeup(&self, wait: &Wait) -> Makeup {
        let start = self.last_common(wait);
        let (of_culprit, waits) = self.times(wait.culprit, start, self.visits[wait.culprit_visit].enter);
        let (of_waiter, _) = self.times(wait.rank, start, wait.start);
        let more = |(call_path, ticks): (CallPath, u64)| {
            let delay = ticks.saturating_sub(of_waiter.get(&call_path).copied().unwrap_or_default());
            (0 < delay).then_some((call_path, delay))
        };
        let makeup = Makeup { delays: of_culprit.into_iter().filter_map(more).collect(), waits };
        let all: u64 = makeup.delays.iter().map(|&(_, ticks)| ticks).sum::<u64>()
            + makeup.waits.iter().map(|&(_, ticks)| ticks).sum::<u64>();
        assert!(wait.ticks <= all, "with common clocks, delays and waits of the culprit make up the wait");
        makeup
    }

    /// When waiter and culprit of a wait last left an operation that synchronised them; 0 if none did.
    fn last_common(&self, wait: &Wait) -> u64 {
        let before = |a: usize, b: usize| a < wait.visit && b < wait.culprit_visit;
        let of_waits = self.waits.iter().filter_map(|other| {
            let (a, b) = match (other.rank, other.culprit) {
                pair if pair == (wait.rank, wait.culprit) => (other.visit, other.culprit_visit),
                pair if pair == (wait.culprit, wait.rank) => (other.culprit_visit, other.visit),
                _ => return None,
            };
            let end = self.visits[a].leave.min(self.visits[b].leave);
            before(a, b).then_some((a, end))
        });
        let of_instances = self.instances.iter().filter_map(|instance| {
            let visits = || instance.arrived.iter().flatten().copied();
            let of_rank = |rank| visits().find(|&visit| self.visits[visit].rank == rank);
            let (a, b) = (of_rank(wait.rank)?, of_rank(wait.culprit)?);
            let last = visits().map(|visit| self.visits[visit].enter).max()?;
            let end = visits().map(|visit| self.visits[visit].leave).min()?;
            let synchronises = instance.call.kind.shape() == Shape::AllToAll && last <= end;
            (synchronises && before(a, b)).then_some((a, end))
        });
        of_waits.chain(of_instances).max().map_or(0, |(_, end)| end)
    }

    /// The times of a rank from `start` to `end`: by call path without waits, and of each wait.
    fn times(&self, rank: usize, start: u64, end: u64) -> (BTreeMap<CallPath, u64>, Vec<(usize, u64)>) {
        let (mut times, mut waits) = (BTreeMap::new(), Vec::new());
        for span in &self.spans[rank] {
            let ticks = span.end.min(end).saturating_sub(span.start.max(start));
            match span.wait {
                _ if ticks == 0 => {}
                Some(wait) => waits.push((wait, ticks)),
                None => *times.entry(span.call_path.clone()).or_default() += ticks,
            }
        }
        (times, waits)
    }
}

fn add(
    costs: &mut BTreeMap<DelayKey, u64>,
    wait: &Wait,
    class: WaitClass,
    makeup: &Makeup,
    of_delays: &[u64],
) {
    for ((call_path, _), &ticks) in makeup.delays.iter().zip(of_delays).filter(|&(_, &ticks)| 0 < ticks) {
        *costs.entry((class, wait.culprit, call_path.clone())).or_default() += ticks;
    }
}

/// The waits in an order in which each comes after all that it helps to cause.
fn effects_first(makeups: &[Makeup]) -> Vec<usize> {
    let mut n_effects = vec![0; makeups.len()];
    for &(cause, _) in makeups.iter().flat_map(|makeup| &makeup.waits) {
        n_effects[cause] += 1;
    }
    let mut order: Vec<usize> = (0..makeups.len()).filter(|&number| n_effects[number] == 0).collect();
    let mut n_done = 0;
    while let Some(&number) = order.get(n_done) {
        n_done += 1;
        for &(cause, _) in &makeups[number].waits {
            n_effects[cause] -= 1;
            if n_effects[cause] == 0 {
                order.push(cause);
            }
        }
    }
    assert_eq!(order.len(), makeups.len(), "no wait causes itself");
    order
}
