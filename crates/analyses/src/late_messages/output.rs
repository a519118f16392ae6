//! Waits, added up by call path and by pair of ranks.

use super::pairing::Pairing;
use super::waits::{LateKind, Wait};
use ouzel_model::{CallPathId, CallPathTree, Ticks, TimeRange, WorldRank};
use std::collections::{BTreeMap, BTreeSet};

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

/// The output, without what only the partial knows.
pub(super) fn output(pairing: &Pairing, waits: &[Wait], call_paths: CallPathTree) -> LateMessagesOutput {
    let mut rows: BTreeMap<(LateKind, CallPathId, CallPathId), Row> = BTreeMap::new();
    for wait in waits {
        rows.entry((wait.kind, wait.waiting_path, wait.culprit_path)).or_default().add(wait);
    }
    let mut rows: Vec<LateRow> = rows.into_iter().filter_map(|(key, row)| row.finish(key)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.wait));
    let early = |pair: &super::pairing::Pair| {
        let completed = pair.receive.completed?.leave;
        (completed < pair.send.posted).then(|| pair.send.posted.since(completed))
    };
    LateMessagesOutput {
        call_paths,
        rows,
        sends: sends(pairing),
        n_messages: pairing.pairs.len() as u64,
        unmatched_sends: pairing.unmatched_sends,
        unmatched_receives: pairing.unmatched_receives,
        unresolved_peers: 0,
        null_peers: 0,
        uncompleted_receives: 0,
        received_before_sent: pairing.pairs.iter().filter_map(early).count() as u64,
        received_before_sent_worst: pairing.pairs.iter().filter_map(early).max().unwrap_or_default(),
    }
}

#[derive(Default)]
struct Sends {
    n_messages: u64,
    bytes: u64,
    pairs: BTreeSet<(WorldRank, WorldRank)>,
}

fn sends(pairing: &Pairing) -> Vec<SendRow> {
    let mut sends: BTreeMap<CallPathId, Sends> = BTreeMap::new();
    for pair in &pairing.pairs {
        let of_path = sends.entry(pair.send.path).or_default();
        of_path.n_messages += 1;
        of_path.bytes = of_path.bytes.saturating_add(pair.send.bytes);
        of_path.pairs.insert((pair.from, pair.to));
    }
    let row = |(call_path, Sends { n_messages, bytes, pairs })| SendRow {
        call_path,
        n_messages,
        bytes,
        n_pairs: pairs.len() as u64,
    };
    sends.into_iter().map(row).collect()
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
