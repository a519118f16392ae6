//! One rank that nearly all messages go through: the others wait until it serves them.
//!
//! Work that the rank does meanwhile is handled in [`imbalance`](super::imbalance).

use super::context::Context;
use super::draft::{Draft, Saving, compare_ranks};
use super::finding::{Evidence, FindingKind, Quantity, QuantityUnit};
use super::message_waiting::{LATE, at_most_likely, base, others, rows_of, share_late};
use super::ranks::Ranks;
use super::stages::Stage;
use super::waiting::Waiting;
use ouzel_analyses::message_waits::LateRow;
use ouzel_model::CallPathId;
use std::collections::BTreeMap;

/// A rank that many others wait for.
#[derive(Debug)]
pub(super) struct Hub {
    pub rank: u32,
    /// Share of the waiting for messages that is for this rank.
    pub share: f64,
    pub n_waiting: usize,
    /// The call in this rank.
    pub path: CallPathId,
    /// The call of the ranks that wait for it.
    pub waiting: CallPathId,
}

/// Least share of the waiting that is for one rank.
const HUB: f64 = 0.8;
/// Least number of ranks that wait for it.
const HUB_WAITING: usize = 3;

/// The rank that nearly all waiting for messages in these calls is for.
#[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
pub(super) fn hub(cx: &Context<'_>, waiting: &Waiting<'_>) -> Option<Hub> {
    let late = cx.late?;
    if share_late(cx, late, waiting) < LATE {
        return None;
    }
    let rows = rows_of(late, waiting);
    let mut for_rank: BTreeMap<u32, u64> = BTreeMap::new();
    for by in rows.iter().flat_map(|row| &row.by_culprit) {
        *for_rank.entry(by.rank.0).or_default() += by.wait.0;
    }
    let all: u64 = for_rank.values().sum();
    let (&rank, &most) = for_rank.iter().max_by_key(|&(&rank, &wait)| (wait, std::cmp::Reverse(rank)))?;
    let share = most as f64 / all.max(1) as f64;
    let of_hub = |row: &&&LateRow| row.by_culprit.iter().any(|by| by.rank.0 == rank);
    let main = rows.iter().find(of_hub)?;
    // Rows have all that wait in a call, for whomever; pairs say for whom, and are the greatest ones.
    let pairs = rows.iter().flat_map(|row| &row.pairs).filter(|pair| pair.culprit.0 == rank);
    let for_it = Ranks::new(pairs.map(|pair| pair.waiting.0).filter(|&waits| waits != rank)).list.len();
    let alone = rows.iter().filter(|row| row.by_culprit.iter().all(|by| by.rank.0 == rank));
    let waiters = alone.flat_map(|row| &row.by_waiting).map(|by| by.rank.0).filter(|&waits| waits != rank);
    let n_waiting = for_it.max(Ranks::new(waiters).list.len());
    let is_hub = HUB <= share && HUB_WAITING <= n_waiting;
    is_hub.then_some(Hub { rank, share, n_waiting, path: main.culprit, waiting: main.waiting })
}

/// All messages go through one rank, which does not compute meanwhile.
pub(super) fn through_one(cx: &Context<'_>, waiting: &Waiting<'_>, stages: &[&Stage], hub: &Hub) -> Draft {
    let (place, rank) = (cx.place(hub.path), hub.rank);
    let mut draft = base(cx, waiting, stages, waiting.ticks);
    draft.evidence.push(hub.evidence(cx));
    Draft {
        kind: FindingKind::Serialisation,
        title: format!("Ranks wait for rank {rank} in {place}"),
        sentence: format!(
            "{} ranks wait in {} until rank {rank} serves them, one after the other, in {place}.",
            hub.n_waiting,
            cx.place(hub.waiting),
        ),
        saving: Saving::new("Avoiding this bottleneck would save"),
        remedy: waiting.gone(),
        path: hub.path,
        also: others(cx, waiting, hub.path),
        ranks: Ranks::new([rank]),
        assumption: "what goes through this rank is spread over the ranks, or needs no waiting".to_owned(),
        confidence: at_most_likely(cx, "how much of it is unavoidable transfer is not known"),
        advice: format!(
            "Replace the messages through rank {rank} with a collective operation or a tree, or with parallel output \
             if they are for output; or let the others send without waiting (non-blocking) and continue."
        ),
        command: compare_ranks(cx, hub.path),
        ..draft
    }
}

impl Hub {
    /// Whether the rank sends about as many messages as it receives: it talks with the others, as who hands out tasks.
    pub fn answers(&self, cx: &Context<'_>) -> bool {
        let own = cx.communication.locations.iter().filter(|it| cx.rank(it.location) == Some(self.rank));
        let (mut n_sent, mut n_received) = (0_u64, 0_u64);
        for row in own.flat_map(|it| &it.messages) {
            n_sent += row.totals.sends;
            n_received += row.totals.receives;
        }
        n_sent.max(n_received) <= n_sent.min(n_received).saturating_mul(2)
    }

    pub fn evidence(&self, cx: &Context<'_>) -> Evidence {
        Evidence::new(
            format!("{} ranks wait for rank {} to send or receive messages", self.n_waiting, self.rank),
            "waiting for this rank / all waiting for messages in these calls",
            vec![
                Quantity::of(
                    &format!("share of rank {} in {}", self.rank, cx.place(self.path)),
                    self.share,
                    QuantityUnit::Ratio,
                ),
                Quantity::count("ranks that wait", self.n_waiting as u64),
            ],
        )
    }
}
