//! What a run was in truth: its trace, its length, and every wait.

use super::instance::Instance;
use super::matching::VisitId;
use super::program::{CallPath, CollectiveKind, Shape};
use crate::ToyTrace;

/// A run of a program. Times are ticks since the start, when all ranks begin.
#[derive(Debug)]
pub struct Run {
    /// What a tracer records of it.
    pub trace: ToyTrace,
    /// From the start to the end of the last rank.
    pub run_time: u64,
    /// What each rank computes: its time outside of MPI.
    pub useful: Vec<u64>,
    /// Every wait, in the order in which the waiting calls were left.
    pub waits: Vec<Wait>,
    /// Every polling loop whose first test failed.
    pub polling: Vec<Polling>,
    pub(super) visits: Vec<Visit>,
    pub(super) instances: Vec<Instance>,
    /// The time of each rank from the start to its end, without gaps; no span is empty.
    pub(super) spans: Vec<Vec<Span>>,
}

/// Why a call waits: the primary classes that a program of this simulator can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the classes are explained in docs/method.md")]
pub enum WaitClass {
    LateSender,
    LateReceiver,
    WaitAtBarrier,
    WaitAtNxn,
    LateBroadcast,
    WaitForLast,
    EarlyScan,
    WaitAtInit,
    WaitAtFinalize,
}

impl WaitClass {
    pub(super) fn of(kind: CollectiveKind) -> Self {
        match (kind, kind.shape()) {
            (CollectiveKind::Init, _) => WaitClass::WaitAtInit,
            (CollectiveKind::Finalize, _) => WaitClass::WaitAtFinalize,
            (CollectiveKind::Barrier, _) => WaitClass::WaitAtBarrier,
            (_, Shape::AllToAll) => WaitClass::WaitAtNxn,
            (_, Shape::OneToAll) => WaitClass::LateBroadcast,
            (_, Shape::AllToOne) => WaitClass::WaitForLast,
            (_, Shape::Prefix) => WaitClass::EarlyScan,
        }
    }

    /// The name in answers.
    pub fn as_str(self) -> &'static str {
        match self {
            WaitClass::LateSender => "late_sender",
            WaitClass::LateReceiver => "late_receiver",
            WaitClass::WaitAtBarrier => "wait_at_barrier",
            WaitClass::WaitAtNxn => "wait_at_nxn",
            WaitClass::LateBroadcast => "late_broadcast",
            WaitClass::WaitForLast => "wait_for_last",
            WaitClass::EarlyScan => "early_scan",
            WaitClass::WaitAtInit => "wait_at_init",
            WaitClass::WaitAtFinalize => "wait_at_finalize",
        }
    }
}

/// A call that waited for another rank to come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Who waited.
    pub rank: usize,
    /// In which call.
    pub call_path: CallPath,
    /// Why.
    pub class: WaitClass,
    /// From when; the call was entered then.
    pub start: u64,
    /// How long; never zero.
    pub ticks: u64,
    /// Who was late; the smallest of equally late ranks.
    pub culprit: usize,
    /// The call that was waited for: the posting of the message, the culprit's part in the collective operation.
    pub culprit_path: CallPath,
    /// Of a late sender: whether a message that was sent earlier was received in a later call.
    pub wrong_order: Option<WrongOrder>,
    /// Of a root that waits for the last: the part until the first other member came.
    pub early_reduce: u64,
    pub(super) visit: VisitId,
    pub(super) culprit_visit: VisitId,
}

/// Where the first message came from that was sent earlier and received later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongOrder {
    /// From the late sender itself.
    SameSource,
    /// From another rank.
    DifferentSource,
}

/// A loop of `MPI_Test`, from the first failure to success. Not a wait: the rank may do useful work in between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Polling {
    /// Who polled.
    pub rank: usize,
    /// The call that tests.
    pub call_path: CallPath,
    /// When the first test that failed was entered.
    pub start: u64,
    /// Until the test that succeeded was entered.
    pub ticks: u64,
}

/// A visit of a call of MPI.
#[derive(Debug)]
pub(super) struct Visit {
    pub rank: usize,
    pub call_path: CallPath,
    pub enter: u64,
    pub leave: u64,
}

/// A stretch of one rank's time.
#[derive(Debug)]
pub(super) struct Span {
    pub call_path: CallPath,
    pub start: u64,
    pub end: u64,
    /// Index into [`Run::waits`].
    pub wait: Option<usize>,
}

impl Run {
    pub(super) fn new(n_ranks: usize) -> Self {
        Run {
            trace: ToyTrace::empty(),
            run_time: 0,
            useful: vec![0; n_ranks],
            waits: Vec::new(),
            polling: Vec::new(),
            visits: Vec::new(),
            instances: Vec::new(),
            spans: (0..n_ranks).map(|_| Vec::new()).collect(),
        }
    }

    pub(super) fn push_span(&mut self, rank: usize, span: Span) {
        if span.start < span.end {
            self.run_time = self.run_time.max(span.end);
            self.spans[rank].push(span);
        }
    }

    /// Waiting of all ranks.
    pub fn total_wait(&self) -> u64 {
        self.waits.iter().map(|wait| wait.ticks).sum()
    }

    /// Waiting of one class, by rank.
    pub fn waiting(&self, class: WaitClass) -> Vec<u64> {
        let mut by_rank = vec![0; self.spans.len()];
        for wait in self.waits.iter().filter(|wait| wait.class == class) {
            by_rank[wait.rank] += wait.ticks;
        }
        by_rank
    }
}
