//! Waits, added up by call path and by pair of ranks.

use super::waits::{LateKind, Wait, Waits};
use crate::matching::{MessageEnds, Pair, for_each_pair};
use crate::semantics::Class;
use ouzel_engine::FinishCx;
use ouzel_model::{CallPathId, CallPathTree, Ticks, TimeRange, WorldRank};
use std::collections::BTreeMap;

/// Pairs of ranks that a row names: those that wait most.
const MAX_PAIRS: usize = 16;

/// Who waited for whose message.
#[derive(Debug, Clone)]
pub struct LateMessagesOutput {
    /// The call paths that the rows speak of.
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
    /// Ends whose other side is nobody.
    pub null_peers: u64,
    /// Receives that were posted and never completed.
    pub uncompleted_receives: u64,
    /// Messages whose receive completed before the send was posted: clocks are wrong.
    pub received_before_sent: u64,
    /// By how much at worst.
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
    /// Part of it during which the other side waited for a message itself: the cause is further away.
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
    /// For whom.
    pub culprit: WorldRank,
    /// Number of visits.
    pub n_waits: u64,
    /// Time waited.
    pub wait: Ticks,
}

type Sums<K> = BTreeMap<K, (u64, Ticks)>;

#[derive(Default)]
struct Row {
    bytes: u64,
    indirect: Ticks,
    range: Option<TimeRange>,
    pairs: Sums<(WorldRank, WorldRank)>,
}

/// What the pairs say, given the classes of the regions.
pub(super) fn output(ends: &MessageEnds, cx: &FinishCx<'_>, classes: &[Class]) -> LateMessagesOutput {
    let mut waits = Waits::new(cx.call_paths, classes);
    let mut sends = vec![Sends::default(); cx.call_paths.len()];
    let mut output = LateMessagesOutput {
        call_paths: cx.call_paths.clone(),
        rows: Vec::new(),
        sends: Vec::new(),
        n_messages: 0,
        unmatched_sends: 0,
        unmatched_receives: 0,
        unresolved_peers: ends.unresolved_peers,
        null_peers: ends.null_peers,
        uncompleted_receives: ends.uncompleted_receives,
        received_before_sent: 0,
        received_before_sent_worst: Ticks(0),
    };
    let unmatched = for_each_pair(ends, cx.definitions, |pair| {
        waits.add(&pair);
        sends[pair.send.path().index()].add(&pair);
        output.n_messages += 1;
        if let Some(early) = received_before_sent(&pair) {
            output.received_before_sent += 1;
            output.received_before_sent_worst = output.received_before_sent_worst.max(early);
        }
    });
    output.unmatched_sends = unmatched.sends;
    output.unmatched_receives = unmatched.receives;
    output.rows = rows(&waits.settle());
    output.sends = sends.into_iter().enumerate().filter_map(|(path, sends)| sends.finish(path)).collect();
    output
}

/// By how much a message was received before it was sent, if it was.
fn received_before_sent(pair: &Pair<'_>) -> Option<Ticks> {
    let (completed, posted) = (pair.receive.completed()?.leave, pair.send.posted());
    (completed < posted).then(|| posted.since(completed))
}

fn rows(waits: &[Wait]) -> Vec<LateRow> {
    let mut rows: BTreeMap<(LateKind, CallPathId, CallPathId), Row> = BTreeMap::new();
    for wait in waits {
        rows.entry((wait.kind, wait.waiting_path, wait.culprit_path)).or_default().add(wait);
    }
    let mut rows: Vec<LateRow> = rows.into_iter().filter_map(|(key, row)| row.finish(key)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.wait));
    rows
}

/// Messages of one call path.
#[derive(Debug, Clone, Default)]
struct Sends {
    n_messages: u64,
    bytes: u64,
    /// Sender and receiver of messages, not twice in a row: messages come channel by channel.
    pairs: Vec<(WorldRank, WorldRank)>,
}

impl Sends {
    fn add(&mut self, pair: &Pair<'_>) {
        self.n_messages += 1;
        self.bytes = self.bytes.saturating_add(pair.send.bytes());
        let ranks = (pair.from, pair.to);
        if self.pairs.last() != Some(&ranks) {
            self.pairs.push(ranks);
        }
    }

    fn finish(mut self, path: usize) -> Option<SendRow> {
        self.pairs.sort_unstable();
        self.pairs.dedup();
        let Sends { n_messages, bytes, pairs } = self;
        let (call_path, n_pairs) = (CallPathId::from_index(path), pairs.len() as u64);
        (0 < n_messages).then_some(SendRow { call_path, n_messages, bytes, n_pairs })
    }
}

impl Row {
    fn add(&mut self, wait: &Wait) {
        self.bytes = self.bytes.saturating_add(wait.bytes);
        self.indirect += wait.indirect;
        let range = self.range.get_or_insert(TimeRange { start: wait.start, end: wait.end });
        range.start = range.start.min(wait.start);
        range.end = range.end.max(wait.end);
        add(&mut self.pairs, (wait.waiting, wait.culprit), (1, wait.ticks()));
    }

    fn finish(self, (kind, waiting, culprit): (LateKind, CallPathId, CallPathId)) -> Option<LateRow> {
        let (mut by_waiting, mut by_culprit) = (Sums::new(), Sums::new());
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
        let ranks = |sums: Sums<WorldRank>| -> Vec<RankWait> {
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

fn add<K: Ord>(sums: &mut Sums<K>, key: K, (n, wait): (u64, Ticks)) {
    let sum = sums.entry(key).or_default();
    sum.0 += n;
    sum.1 += wait;
}

impl LateMessagesOutput {
    /// The same with the call paths numbered as in `tree`, which gains those that it lacks.
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
