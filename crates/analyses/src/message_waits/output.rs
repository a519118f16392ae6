//! Waits, added up by call path and by pair of ranks.

use super::settled::{Sends, Settled};
use super::waits::{LateKind, Wait, WaitTimes};
use crate::message_matching::MessageEnds;
use ouzel_engine::FinishCx;
use ouzel_model::{CallPathId, CallPathTree, Ticks, TimeRange, WorldRank};
use std::collections::BTreeMap;

/// Number of pairs of ranks that a row names: those that wait most.
const MAX_PAIRS: usize = 16;

/// Who waited for whose message. With a selection: messages whose send is selected, and waits whose waiting side is
/// selected; waits are cut to the time range, as calls are.
#[derive(Debug, Clone)]
pub struct LateMessagesOutput {
    /// The call paths that the rows refer to.
    pub call_paths: CallPathTree,
    /// Most waiting first.
    pub rows: Vec<LateRow>,
    /// Messages by the call path that sent them, ascending.
    pub sends: Vec<SendRow>,
    /// Messages with both ends.
    pub n_messages: u64,
    /// Sends that have no receive.
    pub unmatched_sends: u64,
    /// Receives that have no send.
    pub unmatched_receives: u64,
    /// Ends whose other side is no rank of the communicator.
    pub unresolved_peers: u64,
    /// Ends that have no other side (`MPI_PROC_NULL`).
    pub null_peers: u64,
    /// Receives that were posted and never completed.
    pub uncompleted_receives: u64,
    /// Messages whose receive completed before the send was posted: clocks are wrong.
    pub received_before_sent: u64,
    /// The greatest such difference.
    pub received_before_sent_worst: Ticks,
}

/// Messages of one call path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendRow {
    /// The call that posted them.
    pub call_path: CallPathId,
    /// Number of messages.
    pub n_messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Pairs of sender and receiver.
    pub n_pairs: u64,
}

/// Waiting in one call path for another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateRow {
    /// Who was late.
    pub kind: LateKind,
    /// The call that waits.
    pub waiting: CallPathId,
    /// The call on the other side that came late.
    pub culprit: CallPathId,
    /// Number of visits that waited.
    pub n_waits: u64,
    /// Bytes of the messages waited for.
    pub bytes: u64,
    /// Time waited, over all ranks.
    pub wait: Ticks,
    /// The part during which the other side itself waited for a message: the cause is further away.
    pub indirect: Ticks,
    /// From the start of the first wait to the end of the last.
    pub range: TimeRange,
    /// By the rank that waits, ascending.
    pub by_waiting: Vec<RankWait>,
    /// By the rank that is late, ascending.
    pub by_culprit: Vec<RankWait>,
    /// The pairs of ranks that wait most, most first.
    pub pairs: Vec<PairWait>,
}

/// Waiting of one rank, or for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankWait {
    /// The rank.
    pub rank: WorldRank,
    /// Number of visits.
    pub n_waits: u64,
    /// Time waited.
    pub wait: Ticks,
}

/// Waiting of one rank for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairWait {
    /// Who waits.
    pub waiting: WorldRank,
    /// The rank waited for.
    pub culprit: WorldRank,
    /// Number of visits.
    pub n_waits: u64,
    /// Time waited.
    pub wait: Ticks,
}

type PairSums<K> = BTreeMap<K, (u64, Ticks)>;

#[derive(Default)]
struct WaitSums {
    bytes: u64,
    indirect: Ticks,
    range: Option<TimeRange>,
    pairs: PairSums<(WorldRank, WorldRank)>,
}

/// The result from settled pairs; `ends` has the counts of ends that belong to no channel.
pub(super) fn output(ends: &MessageEnds, mut settled: Settled, cx: &FinishCx<'_>) -> LateMessagesOutput {
    // Locations that are not selected also pass on their waits to others.
    let waiting = WaitTimes::of(&settled.waits);
    let (call_paths, shown) = cx.call_paths.shown(cx.definitions.filtered_region);
    settled.select(cx, &shown);
    waiting.mark_indirect(&mut settled.waits);
    LateMessagesOutput {
        call_paths,
        rows: rows(&settled.waits),
        sends: send_rows(&settled.sends),
        n_messages: settled.sends.iter().map(|sends| sends.n_messages).sum(),
        unmatched_sends: settled.unmatched_sends,
        unmatched_receives: settled.unmatched_receives,
        unresolved_peers: ends.unresolved_peers,
        null_peers: ends.null_peers,
        uncompleted_receives: ends.uncompleted_receives,
        received_before_sent: settled.received_before_sent,
        received_before_sent_worst: settled.received_before_sent_worst,
    }
}

/// One row for each call path.
fn send_rows(sends: &[Sends]) -> Vec<SendRow> {
    let row = |of_path: &[Sends]| SendRow {
        call_path: of_path[0].path,
        n_messages: of_path.iter().map(|sends| sends.n_messages).sum(),
        bytes: of_path.iter().fold(0, |sum: u64, sends| sum.saturating_add(sends.bytes)),
        n_pairs: of_path.len() as u64,
    };
    sends.chunk_by(|a, b| a.path == b.path).map(row).collect()
}

fn rows(waits: &[Wait]) -> Vec<LateRow> {
    let mut rows: BTreeMap<(LateKind, CallPathId, CallPathId), WaitSums> = BTreeMap::new();
    for wait in waits {
        rows.entry((wait.kind, wait.waiting_path, wait.culprit_path)).or_default().add(wait);
    }
    let mut rows: Vec<LateRow> = rows.into_iter().filter_map(|(key, row)| row.finish(key)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.wait));
    rows
}

impl WaitSums {
    fn add(&mut self, wait: &Wait) {
        self.bytes = self.bytes.saturating_add(wait.bytes);
        self.indirect += wait.indirect;
        let range = self.range.get_or_insert(TimeRange { start: wait.start, end: wait.end });
        range.start = range.start.min(wait.start);
        range.end = range.end.max(wait.end);
        add(&mut self.pairs, (wait.waiting, wait.culprit), (1, wait.ticks()));
    }

    fn finish(self, (kind, waiting, culprit): (LateKind, CallPathId, CallPathId)) -> Option<LateRow> {
        let (mut by_waiting, mut by_culprit) = (PairSums::new(), PairSums::new());
        for (&(waiting, culprit), &sum) in &self.pairs {
            add(&mut by_waiting, waiting, sum);
            add(&mut by_culprit, culprit, sum);
        }
        let mut pairs: Vec<PairWait> = self
            .pairs
            .into_iter()
            .map(|((waiting, culprit), (n_waits, wait))| PairWait { waiting, culprit, n_waits, wait })
            .collect();
        let wait = pairs.iter().map(|pair| pair.wait).sum();
        let n_waits = pairs.iter().map(|pair| pair.n_waits).sum();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.wait));
        pairs.truncate(MAX_PAIRS);
        let ranks = |sums: PairSums<WorldRank>| -> Vec<RankWait> {
            sums.into_iter().map(|(rank, (n_waits, wait))| RankWait { rank, n_waits, wait }).collect()
        };
        Some(LateRow {
            kind,
            waiting,
            culprit,
            n_waits,
            bytes: self.bytes,
            wait,
            indirect: self.indirect,
            range: self.range?,
            by_waiting: ranks(by_waiting),
            by_culprit: ranks(by_culprit),
            pairs,
        })
    }
}

fn add<K: Ord>(sums: &mut PairSums<K>, key: K, (n, wait): (u64, Ticks)) {
    let sum = sums.entry(key).or_default();
    sum.0 += n;
    sum.1 += wait;
}

impl LateMessagesOutput {
    /// The same with the call paths numbered as in `tree`; missing paths are added to it.
    #[must_use]
    pub fn numbered_like(mut self, tree: &mut CallPathTree) -> Self {
        let remap = tree.absorb(&self.call_paths);
        for row in &mut self.rows {
            row.waiting = remap.path(row.waiting);
            row.culprit = remap.path(row.culprit);
        }
        for row in &mut self.sends {
            row.call_path = remap.path(row.call_path);
        }
        self.sends.sort_unstable_by_key(|row| row.call_path);
        self.call_paths = tree.clone();
        self
    }

    /// Time waited for late senders, or late receivers, over all ranks.
    pub fn wait(&self, kind: LateKind) -> Ticks {
        self.rows.iter().filter(|row| row.kind == kind).map(|row| row.wait).sum()
    }
}
