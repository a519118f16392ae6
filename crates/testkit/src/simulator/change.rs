//! Changed programs: what somebody would get who really changed the code.
//!
//! Only [`Step::Work`] changes; calls of MPI cost what they cost. The stretch of a rank between two calls of MPI is a
//! segment, that between two operations of all ranks with all a phase. Rounding keeps sums: the new time of a rank (of
//! a rank in a phase, for [`Change::Balanced`]) is shared among its segments in proportion to their old times, and the
//! time of a segment among its steps, both by [`share()`].

use super::program::{Call, Program, Shape, Step};
use super::share;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// What is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The code takes `numerator / denominator` of its time; the time of a rank is rounded down.
    Scaled {
        /// The code.
        code: Code,
        /// Its new time,
        numerator: u64,
        /// for so much old time.
        denominator: u64,
    },
    /// In each phase, each rank that runs the code takes the mean over all selected ranks. Those that do not run it
    /// count as zero and get nothing; ticks that are left go to the smallest ranks.
    Balanced(Code),
}

/// The code that is changed: its own time, without what it calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// A region wherever it is called (`solve`), one call path (`main/step/solve`), or either with all that it calls
    /// (`solve/**`).
    pub name: String,
    /// On these ranks; on all if `None`.
    pub ranks: Option<RangeInclusive<usize>>,
}

impl Code {
    /// A region, or call path, on all ranks.
    pub fn named(name: &str) -> Self {
        Code { name: name.to_owned(), ranks: None }
    }

    /// The same on these ranks.
    #[must_use]
    pub fn on(self, ranks: RangeInclusive<usize>) -> Self {
        Code { ranks: Some(ranks), ..self }
    }

    fn is_selected(&self, rank: usize, call_path: &[&str]) -> bool {
        let is_named = |call_path: &[&str], name: &str| match name.contains('/') {
            true => call_path.join("/") == name,
            false => call_path.last() == Some(&name),
        };
        let is_here = match self.name.strip_suffix("/**") {
            Some(name) => (1..=call_path.len()).any(|depth| is_named(&call_path[..depth], name)),
            None => is_named(call_path, &self.name),
        };
        is_here && self.ranks.as_ref().is_none_or(|ranks| ranks.contains(&rank))
    }
}

impl Change {
    /// The code `factor` times faster.
    pub fn faster(code: Code, factor: u64) -> Self {
        Change::Scaled { code, numerator: 1, denominator: factor }
    }

    /// The code removed.
    pub fn removed(code: Code) -> Self {
        Change::Scaled { code, numerator: 0, denominator: 1 }
    }
}

impl Program {
    /// The program with `change` made.
    #[must_use]
    pub fn changed(&self, change: &Change) -> Program {
        let (Change::Scaled { code, .. } | Change::Balanced(code)) = change;
        let pieces: Vec<Pieces> = (0..self.ranks.len()).map(|rank| self.pieces(rank, code)).collect();
        let mut changed = self.clone();
        for (rank, phases) in pieces.iter().enumerate() {
            match *change {
                Change::Scaled { numerator, denominator, .. } => {
                    let segments: Vec<&Segment> = phases.values().flat_map(BTreeMap::values).collect();
                    let old: u64 = segments.iter().map(|segment| ticks(segment)).sum();
                    let new = u128::from(old) * u128::from(numerator) / u128::from(denominator);
                    set(&mut changed.ranks[rank], &segments, new as u64);
                }
                Change::Balanced(_) => {
                    for (phase, segments) in phases {
                        let new = mean(&pieces, code, *phase, rank);
                        set(&mut changed.ranks[rank], &segments.values().collect::<Vec<_>>(), new);
                    }
                }
            }
        }
        changed
    }

    /// The steps of a rank that run the code.
    fn pieces(&self, rank: usize, code: &Code) -> Pieces {
        let (mut pieces, mut call_path) = (Pieces::new(), Vec::new());
        let (mut phase, mut segment) = (0, 0);
        for (number, step) in self.ranks[rank].iter().enumerate() {
            match *step {
                Step::Enter(name) => call_path.push(name),
                Step::Leave => drop(call_path.pop()),
                Step::Work(ticks) if code.is_selected(rank, &call_path) => {
                    let of_phase: &mut BTreeMap<_, Segment> = pieces.entry(phase).or_default();
                    of_phase.entry(segment).or_default().push((number, ticks));
                }
                Step::Work(_) => {}
                Step::Call(call) => {
                    segment += 1;
                    phase += usize::from(is_of_all_with_all(call));
                }
            }
        }
        pieces
    }
}

/// Steps in a segment: their numbers and ticks.
type Segment = Vec<(usize, u64)>;

/// Segments of one rank, by phase and number.
type Pieces = BTreeMap<usize, BTreeMap<usize, Segment>>;

fn is_of_all_with_all(call: Call) -> bool {
    matches!(call, Call::Collective(call) if call.comm == 0 && call.kind.shape() == Shape::AllToAll)
}

fn ticks(segment: &Segment) -> u64 {
    segment.iter().map(|&(_, ticks)| ticks).sum()
}

/// What `rank` takes in a phase if all take the same.
fn mean(pieces: &[Pieces], code: &Code, phase: usize, rank: usize) -> u64 {
    let counts = |rank: &usize| code.ranks.as_ref().is_none_or(|ranks| ranks.contains(rank));
    let ranks: Vec<usize> = (0..pieces.len()).filter(counts).collect();
    let segments = pieces.iter().filter_map(|phases| phases.get(&phase)).flat_map(BTreeMap::values);
    let shares = share(segments.map(ticks).sum(), &vec![1; ranks.len()]);
    ranks.iter().position(|&other| other == rank).map_or(0, |position| shares[position])
}

/// Gives the steps of `segments` a new sum.
fn set(steps: &mut [Step], segments: &[&Segment], new: u64) {
    let old: Vec<u64> = segments.iter().map(|segment| ticks(segment)).collect();
    for (segment, new) in segments.iter().zip(share(new, &old)) {
        let old: Vec<u64> = segment.iter().map(|&(_, ticks)| ticks).collect();
        for (&(number, _), new) in segment.iter().zip(share(new, &old)) {
            steps[number] = Step::Work(new);
        }
    }
}
