//! Which calls of a location a predicate lets pass.
//!
//! ```text
//! CallTest ──the call path tells──────────────► OfPaths: one verdict for each path, kept
//!          └─only the whole call tells──► Survey ──► OfCalls: one bit for each call, in the order of the enters
//! ```
//! A test of a whole call (its time, what a counter gained) is known when the call ends,
//! and what is hidden must be known when it begins. So the location is read twice: a
//! [`Survey`] records the verdicts, then the main pass looks them up. Memory: one
//! bit for each call of the current location. Law: a verdict depends on the calls as
//! recorded and repaired, never on the time range, other filters or chunk borders.

use ouzel_model::{
    CallFacts, CallPathId, CallPathTree, CallTest, Definitions, EventChunk, EventKind, MetricValueType,
    RegionId, Ticks,
};
use std::rc::Rc;

/// Which calls are shown; queried once for each enter, in order.
#[derive(Debug, Clone)]
pub(crate) enum Verdicts<'d> {
    /// All of them.
    All,
    /// By their call paths.
    OfPaths(PathVerdicts<'d>),
    /// By the results of a survey.
    OfCalls(CallVerdicts),
}

impl Verdicts<'_> {
    /// Whether nothing is hidden.
    pub fn is_all(&self) -> bool {
        matches!(self, Verdicts::All)
    }

    /// A call begins; returns whether it is shown.
    pub fn enter(&mut self, region: RegionId) -> bool {
        match self {
            Verdicts::All => true,
            Verdicts::OfPaths(paths) => paths.enter(region),
            Verdicts::OfCalls(calls) => calls.next(),
        }
    }

    /// The innermost call ends.
    pub fn leave(&mut self) {
        if let Verdicts::OfPaths(paths) = self {
            paths.stack.pop();
        }
    }
}

/// Verdicts of call paths, computed on demand.
#[derive(Debug, Clone)]
pub(crate) struct PathVerdicts<'d> {
    test: CallTest,
    definitions: &'d Definitions,
    paths: CallPathTree,
    known: Vec<Option<bool>>,
    stack: Vec<CallPathId>,
}

impl<'d> PathVerdicts<'d> {
    /// For a test that depends only on call paths.
    pub fn new(test: CallTest, definitions: &'d Definitions) -> Self {
        PathVerdicts {
            test,
            definitions,
            paths: CallPathTree::default(),
            known: Vec::new(),
            stack: Vec::new(),
        }
    }

    fn enter(&mut self, region: RegionId) -> bool {
        let caller = self.stack.last().copied().unwrap_or(CallPathTree::ROOT);
        let path = self.paths.child(caller, region);
        self.stack.push(path);
        if self.known.len() <= path.index() {
            self.known.resize(path.index() + 1, None);
        }
        let ask = || self.test.on_path(&self.paths.regions(path), self.definitions).is_always();
        *self.known[path.index()].get_or_insert_with(ask)
    }
}

/// One bit for each call, in the order of the enters.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallVerdicts {
    bits: Vec<u64>,
    next: usize,
}

impl CallVerdicts {
    fn next(&mut self) -> bool {
        let call = self.next;
        self.next += 1;
        self.bits.get(call / 64).is_some_and(|word| word & (1 << (call % 64)) != 0)
    }

    fn set(&mut self, call: usize) {
        if self.bits.len() <= call / 64 {
            self.bits.resize(call / 64 + 1, 0);
        }
        self.bits[call / 64] |= 1 << (call % 64);
    }
}

/// Records the verdicts of whole calls.
#[derive(Debug)]
pub(crate) struct Survey<'d> {
    test: CallTest,
    definitions: &'d Definitions,
    paths: CallPathTree,
    /// The rest of the test after the call path is known, by path.
    left: Vec<Option<Rc<CallTest>>>,
    stack: Vec<OpenCall>,
    /// Last value of each counter, by metric.
    values: Vec<Option<u64>>,
    /// Values at the enters of the open calls: as many as there are metrics for each.
    at_enter: Vec<Option<u64>>,
    gains: Vec<Option<u64>>,
    n_calls: usize,
    verdicts: CallVerdicts,
}

#[derive(Debug)]
struct OpenCall {
    number: usize,
    path: CallPathId,
    enter: Ticks,
    in_callees: Ticks,
}

impl<'d> Survey<'d> {
    pub fn new(test: CallTest, definitions: &'d Definitions) -> Self {
        let n_metrics = if test.needs_metrics() { definitions.metrics.len() } else { 0 };
        Survey {
            test,
            definitions,
            paths: CallPathTree::default(),
            left: Vec::new(),
            stack: Vec::new(),
            values: vec![None; n_metrics],
            at_enter: Vec::new(),
            gains: vec![None; n_metrics],
            n_calls: 0,
            verdicts: CallVerdicts::default(),
        }
    }

    /// Processes the next rows: nested, none left out.
    pub fn see(&mut self, chunk: &EventChunk<'_>) {
        let mut metrics = chunk.metrics;
        for (row, ((&at, &kind), &region)) in chunk.time.iter().zip(chunk.kind).zip(chunk.region).enumerate()
        {
            match kind {
                EventKind::Enter => self.enter(at, region),
                EventKind::Leave => self.leave(at),
                EventKind::Metric if !self.values.is_empty() => {
                    let n = metrics.iter().take_while(|value| value.row as usize <= row).count();
                    for value in &metrics[..n] {
                        self.values[value.metric.index()] = Some(value.bits);
                    }
                    metrics = &metrics[n..];
                }
                _ => {}
            }
        }
    }

    /// The verdicts, when every call has ended.
    pub fn into_verdicts(self) -> CallVerdicts {
        self.verdicts
    }

    fn enter(&mut self, at: Ticks, region: RegionId) {
        let caller = self.stack.last().map_or(CallPathTree::ROOT, |call| call.path);
        let path = self.paths.child(caller, region);
        self.stack.push(OpenCall { number: self.n_calls, path, enter: at, in_callees: Ticks(0) });
        self.n_calls += 1;
        self.at_enter.extend_from_slice(&self.values);
    }

    fn leave(&mut self, at: Ticks) {
        let Some(OpenCall { number, path, enter, in_callees }) = self.stack.pop() else { return };
        let inclusive = at.since(enter);
        if let Some(caller) = self.stack.last_mut() {
            caller.in_callees += inclusive;
        }
        let first = self.at_enter.len() - self.values.len();
        for (i, before) in self.at_enter.drain(first..).enumerate() {
            let signed = self.definitions.metrics[i].value_type == MetricValueType::I64;
            self.gains[i] =
                before.zip(self.values[i]).and_then(|(before, now)| counter_gain(before, now, signed));
        }
        let left = self.left(path);
        let call = CallFacts { enter, leave: at, exclusive: inclusive.since(in_callees), gains: &self.gains };
        if left.passes(&call, &self.definitions.clock) {
            self.verdicts.set(number);
        }
    }

    /// The rest of the test after the path is known.
    fn left(&mut self, path: CallPathId) -> Rc<CallTest> {
        if self.left.len() <= path.index() {
            self.left.resize(path.index() + 1, None);
        }
        let ask = || Rc::new(self.test.on_path(&self.paths.regions(path), self.definitions));
        self.left[path.index()].get_or_insert_with(ask).clone()
    }
}

/// What an accumulated counter gained between two values, which are bits of a signed or unsigned number; `None` if it
/// went back.
pub fn counter_gain(before: u64, now: u64, signed: bool) -> Option<u64> {
    if signed {
        let (before, now) = (before.cast_signed(), now.cast_signed());
        (before <= now).then(|| now.abs_diff(before))
    } else {
        now.checked_sub(before)
    }
}
