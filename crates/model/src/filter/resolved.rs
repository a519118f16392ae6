//! A predicate over one trace: names looked up, and all that is known of a location put in.
//!
//! ```text
//! Predicate ──names──► LocationTests ──rank, thread──► CallTest ──call path──► CallTest ──whole call──► bool
//! ```
//! Each step replaces the tests it can answer by their answers and simplifies, so that
//! `rank = 0 or name = "x"` is no test at all on rank 0 and a test of names elsewhere.

use super::{NumberSet, Predicate, TextTest};
use crate::{Clock, Definitions, LocationId, MetricId, RegionId, Ticks, TimeRange};
use std::sync::Arc;

/// A predicate with the names of regions and metrics looked up.
#[derive(Debug, Clone)]
pub struct LocationTests {
    test: CallTest,
    threads: Vec<Option<u32>>,
}

/// What is left to ask of a call.
#[derive(Debug, Clone)]
pub enum CallTest {
    /// Nothing: the answer is known.
    Fixed(bool),
    /// Whether all pass.
    All(Vec<CallTest>),
    /// Whether one passes.
    Any(Vec<CallTest>),
    /// Whether it does not pass.
    Not(Box<CallTest>),
    /// By region: whether it passes.
    Region(Arc<[bool]>),
    /// By region: whether it lets the calls below it pass, and its own.
    Within(Arc<[bool]>),
    /// Of the joined names.
    Path(Arc<TextTest>),
    /// Of the number of calls around it.
    Depth(NumberSet),
    /// Of the location's rank.
    Rank(NumberSet),
    /// Of the location's number in its process.
    Thread(NumberSet),
    /// Whether it overlaps.
    Time(TimeRange),
    /// In nanoseconds.
    Enter(NumberSet),
    /// In nanoseconds.
    Leave(NumberSet),
    /// In nanoseconds.
    Inclusive(NumberSet),
    /// In nanoseconds.
    Exclusive(NumberSet),
    /// Of what one of the counters gained.
    Metric(Arc<[MetricId]>, NumberSet),
}

/// What is known of a call when it has ended.
#[derive(Debug)]
pub struct CallFacts<'a> {
    /// When it was entered.
    pub enter: Ticks,
    /// When it was left.
    pub leave: Ticks,
    /// The time between, less that in callees.
    pub exclusive: Ticks,
    /// What each counter gained, by metric; `None` where it is not known.
    pub gains: &'a [Option<u64>],
}

impl LocationTests {
    /// Looks up the names.
    pub(super) fn new(predicate: &Predicate, definitions: &Definitions) -> Self {
        LocationTests { test: resolved(predicate, definitions), threads: definitions.threads() }
    }

    /// Whether the end of a call must be known at some location, see [`CallTest::needs_end`].
    pub fn needs_end(&self) -> bool {
        self.test.needs_end()
    }

    /// Whether calls of the last of `regions` from the others may pass somewhere.
    pub(super) fn may_pass_on(&self, regions: &[RegionId], definitions: &Definitions) -> bool {
        !self.test.on_path(regions, definitions).is_never()
    }

    /// What is left to ask of the calls of `location`.
    pub fn at(&self, definitions: &Definitions, location: LocationId) -> CallTest {
        let rank = definitions.location(location).rank.map(|rank| u64::from(rank.0));
        let thread = self.threads[location.index()].map(u64::from);
        let holds = |set: &NumberSet, number: Option<u64>| number.is_some_and(|n| set.contains(n));
        self.test.simplified(&|test| match test {
            CallTest::Rank(set) => Some(holds(set, rank)),
            CallTest::Thread(set) => Some(holds(set, thread)),
            _ => None,
        })
    }
}

fn resolved(predicate: &Predicate, definitions: &Definitions) -> CallTest {
    let all = |parts: &[Predicate]| parts.iter().map(|p| resolved(p, definitions)).collect();
    let regions = |test: &TextTest| definitions.regions.iter().map(|r| test.passes(&r.name)).collect();
    let number = |set: &NumberSet, make: fn(NumberSet) -> CallTest| match set.ranges() {
        [] => CallTest::Fixed(false),
        _ => make(set.clone()),
    };
    match predicate {
        Predicate::All(parts) => CallTest::All(all(parts)),
        Predicate::Any(parts) => CallTest::Any(all(parts)),
        Predicate::Not(part) => CallTest::Not(Box::new(resolved(part, definitions))),
        Predicate::Name(test) => CallTest::Region(regions(test)),
        Predicate::Within(test) => CallTest::Within(regions(test)),
        Predicate::Path(test) => CallTest::Path(Arc::new(test.clone())),
        Predicate::Depth(set) => number(set, CallTest::Depth),
        Predicate::Rank(set) => CallTest::Rank(set.clone()),
        Predicate::Thread(set) => CallTest::Thread(set.clone()),
        &Predicate::Time { start_ns, end_ns } => {
            let ticks = |ns| definitions.clock.ticks_from_ns(ns);
            CallTest::Time(TimeRange { start: ticks(start_ns), end: ticks(end_ns) })
        }
        Predicate::Enter(set) => number(set, CallTest::Enter),
        Predicate::Leave(set) => number(set, CallTest::Leave),
        Predicate::Inclusive(set) => number(set, CallTest::Inclusive),
        Predicate::Exclusive(set) => number(set, CallTest::Exclusive),
        Predicate::Metric { metric, gain } => {
            let counters = definitions.metrics.iter().enumerate();
            let named = counters.filter(|(_, m)| m.is_counter() && *m.name == **metric);
            CallTest::Metric(named.map(|(i, _)| MetricId::from_index(i)).collect(), gain.clone())
        }
    }
}

impl CallTest {
    /// Whether no call can pass.
    pub fn is_never(&self) -> bool {
        matches!(self, CallTest::Fixed(false))
    }

    /// Whether every call passes.
    pub fn is_always(&self) -> bool {
        matches!(self, CallTest::Fixed(true))
    }

    /// Whether the call path of a call does not suffice to tell: the end of the call must be known.
    pub fn needs_end(&self) -> bool {
        self.any(&|test| {
            matches!(
                test,
                CallTest::Time(_)
                    | CallTest::Enter(_)
                    | CallTest::Leave(_)
                    | CallTest::Inclusive(_)
                    | CallTest::Exclusive(_)
                    | CallTest::Metric(..)
            )
        })
    }

    /// Whether values of counters must be known.
    pub fn needs_metrics(&self) -> bool {
        self.any(&|test| matches!(test, CallTest::Metric(..)))
    }

    fn any(&self, holds: &dyn Fn(&CallTest) -> bool) -> bool {
        match self {
            CallTest::All(parts) | CallTest::Any(parts) => parts.iter().any(|part| part.any(holds)),
            CallTest::Not(part) => part.any(holds),
            leaf => holds(leaf),
        }
    }

    /// What is left to ask of a call of the last of `regions` from the others, outermost first.
    pub fn on_path(&self, regions: &[RegionId], definitions: &Definitions) -> CallTest {
        let passes = |bits: &[bool], region: &RegionId| bits.get(region.index()).copied().unwrap_or(false);
        self.simplified(&|test| match test {
            CallTest::Region(bits) => Some(regions.last().is_some_and(|region| passes(bits, region))),
            CallTest::Within(bits) => Some(regions.iter().any(|region| passes(bits, region))),
            CallTest::Depth(set) => Some(set.contains((regions.len() as u64).saturating_sub(1))),
            CallTest::Path(test) => {
                let names: Vec<&str> = regions.iter().map(|&r| &*definitions.region(r).name).collect();
                Some(test.passes(&names.join("/")))
            }
            _ => None,
        })
    }

    /// Whether the call passes. Tests of the location and of the call path have been answered before.
    pub fn passes(&self, call: &CallFacts<'_>, clock: &Clock) -> bool {
        let ns = |ticks| clock.ns_from_ticks(ticks);
        match self {
            CallTest::Fixed(answer) => *answer,
            CallTest::All(parts) => parts.iter().all(|part| part.passes(call, clock)),
            CallTest::Any(parts) => parts.iter().any(|part| part.passes(call, clock)),
            CallTest::Not(part) => !part.passes(call, clock),
            CallTest::Time(range) => overlaps(call.enter, call.leave, *range),
            CallTest::Enter(set) => set.contains(ns(call.enter)),
            CallTest::Leave(set) => set.contains(ns(call.leave)),
            CallTest::Inclusive(set) => set.contains(ns(call.leave.since(call.enter))),
            CallTest::Exclusive(set) => set.contains(ns(call.exclusive)),
            CallTest::Metric(metrics, set) => metrics.iter().any(|metric| {
                call.gains.get(metric.index()).copied().flatten().is_some_and(|gain| set.contains(gain))
            }),
            CallTest::Region(_)
            | CallTest::Within(_)
            | CallTest::Path(_)
            | CallTest::Depth(_)
            | CallTest::Rank(_)
            | CallTest::Thread(_) => false,
        }
    }

    /// With the tests that `answer` knows answered, and nothing left that an answer decides.
    fn simplified(&self, answer: &dyn Fn(&CallTest) -> Option<bool>) -> CallTest {
        match self {
            CallTest::All(parts) => joined(parts, answer, true),
            CallTest::Any(parts) => joined(parts, answer, false),
            CallTest::Not(part) => match part.simplified(answer) {
                CallTest::Fixed(known) => CallTest::Fixed(!known),
                CallTest::Not(part) => *part,
                part => CallTest::Not(Box::new(part)),
            },
            leaf => answer(leaf).map_or_else(|| leaf.clone(), CallTest::Fixed),
        }
    }
}

/// Parts of an and (`neutral` is true) or of an or (false).
fn joined(parts: &[CallTest], answer: &dyn Fn(&CallTest) -> Option<bool>, neutral: bool) -> CallTest {
    let mut open = Vec::new();
    for part in parts {
        match part.simplified(answer) {
            CallTest::Fixed(known) if known == neutral => {}
            CallTest::Fixed(known) => return CallTest::Fixed(known),
            part => open.push(part),
        }
    }
    match open.len() {
        0 => CallTest::Fixed(neutral),
        1 => open.remove(0),
        _ if neutral => CallTest::All(open),
        _ => CallTest::Any(open),
    }
}

/// Whether some of a call lies in `range`. A call that takes no time lies where it begins.
fn overlaps(enter: Ticks, leave: Ticks, range: TimeRange) -> bool {
    range.start < range.end && enter < range.end && (range.start < leave || range.start <= enter)
}
