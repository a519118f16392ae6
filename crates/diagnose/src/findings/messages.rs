//! Findings about waiting in messages.
//!
//! | finding | evidence | gain |
//! |---|---|---|
//! | serialised work | all ranks take their turn in one path: its time on all ranks but one fits the waiting | waiting |
//! | serialised work | nearly all waiting for messages is for one rank, and by many: all messages go through it | waiting |
//! | wrong order | late senders, and in half of the waiting a message that was sent before is received only later | waiting |
//! | late senders, late receivers | at least half of the time in these calls passes before the other side is there | waiting |
//! | imbalance of communication | ranks arrive apart at the next synchronisation although they computed alike | `Σ (spread of arrival − imbalance)` |
//! | many small messages | messages are short, and several go to the same partner before the sender receives anything | waiting × (1 − 1 / messages in a row) |
//! | cost of communication | none of these | waiting |
//!
//! `waiting` is the share of these calls in `Σ (length − max busy)`, see [`waiting`](super::waiting).

use super::context::{Context, Times};
use super::draft::{Draft, Saving, compare_ranks};
use super::finding::{Confidence, Evidence, FindingKind, Quantity, QuantityUnit};
use super::hub::{hub, through_one};
use super::message_waiting::{LATE, at_most_likely, base, others, rows_of, share_late, share_of_indirect};
use super::ranks::Ranks;
use super::stages::Stage;
use super::waiting::Waiting;
use super::words::{capitalised, percent};
use super::work::above_mean;
use ouzel_analyses::communication_totals::MessageTotals;
use ouzel_analyses::message_waits::{LateKind, LateMessagesOutput, LateRow, RankWait};
use ouzel_analyses::semantics::Category;
use ouzel_model::units::{count, counted};
use ouzel_model::{CallPathId, LocationId};
use ouzel_replay::{Edit, EditedCode};
use ouzel_waits::WaitClass;
use std::collections::BTreeMap;

/// Mean length of a message below which its cost does not depend on its length: that of a page, below the limit
/// up to which MPI libraries send at once (4 to 64 KiB).
const SMALL_BYTES: u64 = 4096;
/// Least number of messages to the same partner in a row that counts as many.
const MANY: f64 = 2.0;
/// Least share of the waiting in which messages sent before are received later, for the order to be the reason.
const WRONG_ORDER: f64 = 0.5;
/// How well turns must match the waiting.
const FIT_PERCENT: u128 = 20;

/// The findings.
pub(super) fn messages(cx: &Context<'_>, waiting: &Waiting<'_>) -> Vec<Draft> {
    let stages: Vec<&Stage> = waiting.stages.iter().map(|&(stage, _)| stage).collect();
    if let Some(turns) = turns(cx, waiting, &stages) {
        return vec![turns];
    }
    if let Some(hub) = hub(cx, waiting) {
        return vec![through_one(cx, waiting, &stages, &hub)];
    }
    if let Some(late) = cx.late.and_then(|late| late_messages(cx, late, waiting, &stages)) {
        return vec![late];
    }
    let mut drafts = Vec::new();
    let uneven = uneven_communication(cx, waiting, &stages);
    let (mut rest, mut remedy_before) = (waiting.ticks, Vec::new());
    if let Some(uneven) = uneven.filter(|uneven| waiting.ticks < 2 * uneven.gain) {
        rest = rest.saturating_sub(uneven.gain);
        remedy_before.clone_from(&uneven.remedy);
        drafts.push(uneven);
    }
    drafts.push(Draft { remedy_before, ..cost(cx, waiting, &stages, rest) });
    drafts
}

/// The ranks do the same work one after the other, and the next waits for the one before.
fn turns(cx: &Context<'_>, waiting: &Waiting<'_>, stages: &[&Stage]) -> Option<Draft> {
    if cx.n_peers() < 4 {
        return None;
    }
    let mut sums: BTreeMap<CallPathId, (u128, u128, u128)> = BTreeMap::new();
    for stage in stages {
        for (&(path, subset), times) in &stage.paths {
            let computes = cx.category(path, subset) == Category::Computation;
            if computes && 0 < times.exclusive_sum && !cx.is_inside_waiting(path) {
                let sum = sums.entry(path).or_default();
                sum.0 += times.exclusive_sum;
                sum.1 += times.exclusive_max;
                sum.2 += times.inclusive_sum;
            }
        }
    }
    let fits = |&(_, (sum, max, _)): &(&CallPathId, &(u128, u128, u128))| {
        let turns = sum.saturating_sub(*max);
        turns.abs_diff(u128::from(waiting.ticks)) * 100 <= u128::from(waiting.ticks) * FIT_PERCENT
    };
    let (&path, &(sum, max, _)) = sums.iter().filter(fits).min_by_key(|(path, (sum, max, _))| {
        (sum.saturating_sub(*max).abs_diff(u128::from(waiting.ticks)), **path)
    })?;
    // Each rank must have its turn, and others must wait for ranks that wait themselves.
    let by_peer = cx.by_peer(path, Times::Exclusive);
    let n_take_part = by_peer.iter().filter(|&&(_, ticks)| 0 < ticks).count();
    let chained = cx.late.map_or(0.0, |late| share_of_indirect(late, waiting));
    if n_take_part < 4 || chained < 0.25 {
        return None;
    }
    let name = cx.name(path);
    let ranks = cx.ranks(by_peer.iter().filter(|&&(_, ticks)| 0 < ticks).map(|&(location, _)| location));
    let mut draft = base(cx, waiting, stages, waiting.ticks);
    draft.evidence.push(Evidence::new(
        format!("the ranks are in {name} one after the other: their times there add up to the waiting"),
        "Σ over ranks of the time in it, less that of the rank with the most",
        vec![
            Quantity::ns("sum of turns", cx.ns(u64::try_from(sum.saturating_sub(max)).unwrap_or(u64::MAX))),
            Quantity::of("share of waiting for ranks that also wait", chained, QuantityUnit::Ratio),
        ],
    ));
    Some(Draft {
        kind: FindingKind::Serialisation,
        title: format!("{name} is serialised: the ranks work in turn"),
        sentence: format!(
            "One rank at a time works in {name} and hands over to the next with a message; the others wait."
        ),
        saving: Saving::new("Working at the same time would save"),
        remedy: vec![waiting.released()],
        path,
        also: others(cx, waiting, path),
        ranks,
        assumption: "all ranks can do their part at the same time".to_owned(),
        confidence: at_most_likely(cx, "the chain of messages shows that the turns depend on each other"),
        advice: format!(
            "Check what {name} needs from the previous rank: often it is an order that is not required, or a file that \
             all ranks could write at once."
        ),
        command: compare_ranks(cx, path),
        ..draft
    })
}

fn late_messages(
    cx: &Context<'_>,
    late: &LateMessagesOutput,
    waiting: &Waiting<'_>,
    stages: &[&Stage],
) -> Option<Draft> {
    let rows = rows_of(late, waiting);
    let waited: u64 = rows.iter().map(|row| row.wait.0).sum();
    let share = share_late(cx, late, waiting);
    if share < LATE {
        return None;
    }
    let of = |kind| -> u64 { rows.iter().filter(|row| row.kind == kind).map(|row| row.wait.0).sum() };
    let late_kind = if of(LateKind::LateReceiver) <= of(LateKind::LateSender) {
        LateKind::LateSender
    } else {
        LateKind::LateReceiver
    };
    let rows: Vec<&LateRow> = rows.into_iter().filter(|row| row.kind == late_kind).collect();
    let main = *rows.first()?;
    let (culprits, waiters) = who_waits_for_whom(main);
    let n = cx.n_peers() as usize;
    let (who, whom) = (culprits.in_words(n), waiters.in_words(n));
    let (waits, comes) = (cx.place(main.waiting), cx.place(main.culprit));
    let indirect: u64 = rows.iter().map(|row| row.indirect.0).sum();
    let n_waits: u64 = rows.iter().map(|row| row.n_waits).sum();
    let mut draft = base(cx, waiting, stages, waiting.ticks);
    draft.evidence.push(Evidence::new(
        format!("{} of the time in these calls passes before the other side enters {comes}", percent(share)),
        match late_kind {
            LateKind::LateSender => {
                "Σ over receives of min(send posted, receive left) − receive or wait entered"
            }
            LateKind::LateReceiver => "Σ over sends that block of receive posted − send or wait entered",
        },
        vec![
            Quantity::ns("waiting of all ranks", cx.ns(waited)),
            Quantity::count("waits", n_waits),
            Quantity::ns("waiting for ranks that also waited", cx.ns(indirect)),
        ],
    ));
    draft.evidence.push(pairs_evidence(cx, main));
    if let Some(share) = share_of_wrong_order(cx, waiting).filter(|&share| WRONG_ORDER <= share) {
        return Some(wrong_order(cx, waiting, draft, main, &waiters, share));
    }
    let (kind, title, verb, order) = match late_kind {
        LateKind::LateSender => (FindingKind::LateSender, "Late senders", "receive", "send"),
        LateKind::LateReceiver => (FindingKind::LateReceiver, "Late receivers", "send", "receive"),
    };
    let chain = if waited < 2 * indirect {
        " Most of the waiting is passed on: the late ranks wait for others, so look for the first in the chain."
    } else {
        ""
    };
    Some(Draft {
        kind,
        title: format!("{title} in {comes}: {who}"),
        sentence: format!(
            "{} wait{} in {waits} because {who} {order}{} late in {comes}.",
            capitalised(&whom),
            if waiters.list.len() == 1 { "s" } else { "" },
            if culprits.list.len() == 1 { "s" } else { "" }
        ),
        saving: Saving { after: format!(".{chain}"), ..Saving::new("Avoiding the delay would save") },
        remedy: vec![waiting.released()],
        path: main.culprit,
        also: waiting.paths.iter().map(|&(path, _)| path).filter(|&path| path != main.culprit).collect(),
        ranks: culprits,
        assumption: "the other side is ready when it is needed, and all work stays the same".to_owned(),
        confidence: late_confidence(cx),
        advice: format!(
            "Let {who} {order} earlier: before the work that the message does not depend on, with a non-blocking \
             call; or let {whom} {verb} later and work meanwhile."
        ),
        command: compare_ranks(cx, main.waiting),
        ..draft
    })
}

/// Share of the waiting for late senders in these calls in which messages sent before are received later.
#[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
fn share_of_wrong_order(cx: &Context<'_>, waiting: &Waiting<'_>) -> Option<f64> {
    let sum = |class| -> u64 {
        let is_own = |path| waiting.paths.iter().any(|&(own, _)| own == path);
        let own = cx.waits.of(class).filter(|(path, _)| is_own(*path));
        own.flat_map(|(_, sums)| sums.values()).sum()
    };
    let wrong = sum(WaitClass::WrongOrderSameSource) + sum(WaitClass::WrongOrderDifferentSource);
    (0 < wrong).then(|| wrong as f64 / sum(WaitClass::LateSender).max(wrong) as f64)
}

/// Messages are received in another order than they are sent.
fn wrong_order(
    cx: &Context<'_>,
    waiting: &Waiting<'_>,
    mut draft: Draft,
    main: &LateRow,
    waiters: &Ranks,
    share: f64,
) -> Draft {
    let (waits, who) = (cx.place(main.waiting), cx.in_words(waiters));
    let s = if waiters.list.len() == 1 { "s" } else { "" };
    draft.evidence.push(Evidence::new(
        format!("in {} of this waiting, a message that was sent before is received only later", percent(share)),
        "waits of the classes wrong order (same source, other source) / waits for late senders, in these calls",
        vec![Quantity::of("share in the wrong order", share, QuantityUnit::Ratio)],
    ));
    Draft {
        kind: FindingKind::WrongOrder,
        title: format!("Messages are received in the wrong order in {waits}: {who}"),
        sentence: format!(
            "{} wait{s} in {waits} for messages that are sent late, while messages sent before are there.",
            capitalised(&who)
        ),
        saving: Saving::new("Finding them ready would save at most"),
        remedy: vec![waiting.released()],
        path: main.waiting,
        also: others(cx, waiting, main.waiting),
        ranks: waiters.clone(),
        assumption: "each call finds the message that it waits for, and all work stays the same".to_owned(),
        confidence: late_confidence(cx),
        advice: "Receive messages in the order in which they are sent, or post all receives first and take what comes \
                 (MPI_Waitany); or send in the order in which they are needed."
            .to_owned(),
        command: compare_ranks(cx, main.waiting),
        ..draft
    }
}

/// Who is late, and who waits, in one pair of calls: elsewhere, those who wait here may be late for others. No rank waits for
/// itself.
fn who_waits_for_whom(row: &LateRow) -> (Ranks, Ranks) {
    let by_rank =
        |of: &[RankWait]| -> BTreeMap<u32, u64> { of.iter().map(|by| (by.rank.0, by.wait.0)).collect() };
    let (mut late, mut waiting) = (by_rank(&row.by_culprit), by_rank(&row.by_waiting));
    if let [alone] = mattering(&waiting).list[..] {
        late.remove(&alone);
    } else if let [alone] = mattering(&late).list[..] {
        waiting.remove(&alone);
    }
    (mattering(&late), mattering(&waiting))
}

/// Ranks with at least a quarter of the greatest value.
fn mattering(by_rank: &BTreeMap<u32, u64>) -> Ranks {
    let most = by_rank.values().copied().max().unwrap_or_default();
    Ranks::new(by_rank.iter().filter(|(_, wait)| most <= 4 * **wait).map(|(&rank, _)| rank))
}

fn pairs_evidence(cx: &Context<'_>, row: &LateRow) -> Evidence {
    let values = row.pairs.iter().take(6).map(|pair| {
        Quantity::ns(&format!("rank {} waits for rank {}", pair.waiting, pair.culprit), cx.ns(pair.wait.0))
    });
    Evidence::new("pairs of ranks with the longest waits", "sum of the waits of the pair", values.collect())
}

fn late_confidence(cx: &Context<'_>) -> (Confidence, String) {
    let (confidence, reason) = cx.confidence_of_phases();
    if cx.clocks_are_right {
        return (confidence, format!("{reason}; sends and receives were paired"));
    }
    let reason =
        format!("{reason}; the clocks of the ranks are not synchronised, so which rank was late is doubtful");
    (Confidence::Possible, reason)
}

/// Ranks that compute alike but communicate differently.
fn uneven_communication(cx: &Context<'_>, waiting: &Waiting<'_>, stages: &[&Stage]) -> Option<Draft> {
    let spread = |stage: &&Stage| -> u64 {
        let phases = stage.phases.iter();
        stage.mean(phases.map(|p| p.spread_of_arrival().saturating_sub(p.imbalance())).sum())
    };
    let gain = stages.iter().map(spread).sum::<u64>().min(waiting.ticks);
    // The call whose time is spread most unevenly, phase by phase.
    let mut spreads: BTreeMap<CallPathId, u64> = BTreeMap::new();
    for stage in stages {
        for &(path, _) in &waiting.paths {
            if let Some(times) = stage.paths.get(&(path, false)) {
                *spreads.entry(path).or_default() += stage.mean(times.inclusive_imbalance(stage.n_peers()));
            }
        }
    }
    let (path, _) = *super::context::greatest_first(&spreads).first()?;
    let by_peer = cx.by_peer(path, Times::Inclusive);
    let longest = above_mean(&by_peer);
    if !communicate_more(cx, path, &longest) {
        return None;
    }
    let ranks = cx.ranks(longest);
    let who = cx.in_words(&ranks);
    let place = cx.place(path);
    let mut draft = base(cx, waiting, stages, gain);
    let has_messages = cx.recorded.messages;
    draft.evidence.push(messages_by_rank(cx, path, &by_peer));
    let s = if ranks.list.len() == 1 { "s" } else { "" };
    let (what, of_calls) = if has_messages { ("messages", "messages") } else { ("its time", "these calls") };
    Some(Draft {
        kind: FindingKind::CommunicationImbalance,
        title: format!("Communication imbalance in {place}: {who}"),
        sentence: format!(
            "All ranks compute for similar times, but {who} spend{s} longer in {place}, and the others wait at the \
             next synchronisation."
        ),
        saving: Saving::new(format!("Spreading {what} evenly would save")),
        remedy: vec![Edit::Balance(EditedCode::with_callees(path))],
        path,
        also: others(cx, waiting, path),
        assumption: format!(
            "the same time in {of_calls} in total, spread evenly over the ranks in each phase"
        ),
        confidence: at_most_likely(cx, &format!("it is assumed that {what} can be spread")),
        advice: if has_messages {
            format!(
                "Check why {who} send{s} or receive{s} more: a hub that all ranks talk to can be split, or replaced \
                 with a collective operation or a tree."
            )
        } else {
            format!("Check why {who} take{s} longer there; a trace that records communication shows more.")
        },
        ranks,
        command: compare_ranks(cx, path),
        ..draft
    })
}

/// Whether each of these peers sends and receives more messages, or more bytes, in a call than each of the others. Where
/// messages are not recorded, nobody knows better.
fn communicate_more(cx: &Context<'_>, path: CallPathId, peers: &[LocationId]) -> bool {
    let mut of: BTreeMap<LocationId, (u64, u64)> =
        cx.group.locations.iter().map(|&it| (it, (0, 0))).collect();
    for location in &cx.communication.locations {
        let Some((n, bytes)) = of.get_mut(&location.location) else { continue };
        for row in location.messages.iter().filter(|row| row.call_path == path) {
            *n += row.totals.sends + row.totals.receives;
            *bytes = bytes.saturating_add(row.totals.bytes_sent).saturating_add(row.totals.bytes_received);
        }
    }
    let own: Vec<(u64, u64)> = peers.iter().filter_map(|peer| of.remove(peer)).collect();
    let more =
        |value: &dyn Fn(&(u64, u64)) -> u64| own.iter().map(value).min() > of.values().map(value).max();
    !cx.recorded.messages || more(&|it| it.0) || more(&|it| it.1)
}

/// Messages of the rank with the most time in a call, compared with the mean.
#[expect(clippy::cast_precision_loss, reason = "shown, not computed with")]
fn messages_by_rank(cx: &Context<'_>, path: CallPathId, by_peer: &[(LocationId, u64)]) -> Evidence {
    let n = by_peer.len().max(1) as f64;
    let count = |location: LocationId| -> u64 {
        let at = cx.communication.locations.iter().find(|l| l.location == location);
        let rows = at.into_iter().flat_map(|l| &l.messages).filter(|row| row.call_path == path);
        rows.map(|row| row.totals.sends + row.totals.receives).sum()
    };
    let most = by_peer.iter().rev().max_by_key(|&&(_, ticks)| ticks);
    let all: u64 = by_peer.iter().map(|&(location, _)| count(location)).sum();
    let time: u64 = by_peer.iter().map(|&(_, ticks)| ticks).sum();
    let (location, ticks) = most.copied().unwrap_or((LocationId(0), 0));
    let mut values = vec![
        Quantity::ns("time of the rank with the most", cx.ns(ticks)),
        Quantity::ns("mean time", cx.ns(time / by_peer.len().max(1) as u64)),
    ];
    let place = cx.place(path);
    if !cx.recorded.messages {
        return Evidence::new(format!("time in {place} by rank, over the run"), "sums", values);
    }
    values.push(Quantity::count("messages of that rank", count(location)));
    values.push(Quantity::of("mean number of messages", all as f64 / n, QuantityUnit::Count));
    Evidence::new(format!("time and messages in {place} by rank, over the run"), "sums over visits", values)
}

/// Messages that take time although no rank is late.
#[expect(clippy::cast_precision_loss, reason = "ratios of counts")]
fn cost(cx: &Context<'_>, waiting: &Waiting<'_>, stages: &[&Stage], rest: u64) -> Draft {
    let (mut n_messages, mut bytes) = (0_u64, 0_u64);
    let (mut sender, mut most) = (None, 0);
    let is_here = |path: CallPathId| stages.iter().any(|stage| stage.paths.contains_key(&(path, false)));
    for row in cx.late.map(|late| late.sends.as_slice()).unwrap_or_default() {
        if is_here(row.call_path) {
            n_messages += row.n_messages;
            bytes = bytes.saturating_add(row.bytes);
            if most < row.n_messages {
                (sender, most) = (Some(*row), row.n_messages);
            }
        }
    }
    let draft = base(cx, waiting, stages, rest);
    let mean_bytes = bytes.checked_div(n_messages).unwrap_or_default();
    // How many messages go to the same partner before anything is received.
    let per_time = sender.map_or(0.0, |row| {
        let totals = sent_in(cx, row.call_path);
        totals.sends as f64 / totals.bursts.max(1) as f64
    });
    if MANY <= per_time && mean_bytes < SMALL_BYTES {
        return small(
            cx,
            draft,
            waiting,
            sender.map(|row| row.call_path),
            [n_messages, mean_bytes],
            per_time,
        );
    }
    let place = cx.place(waiting.main_path());
    let gain = waiting.hidden(rest);
    let (confidence, reason) = cx.confidence_of_phases();
    let kept = |what: &str| capitalised(&cx.keep_from_computing(what, "keep", rest));
    let told = told(cx);
    let reason = match told {
        Told::Paired => format!("{reason}; how much of it is network time that cannot be saved is not known"),
        Told::OneSide => {
            format!("{reason}; messages were not paired, so waiting and transfer are not distinguished")
        }
        Told::Nothing => format!("{reason}; the trace does not record what these calls wait for"),
    };
    let (title, sentence) = match told {
        Told::Paired => (
            format!("Message time in {place}"),
            format!(
                "{}, with the other side mostly there already; the call that takes longest is {place}.",
                kept("messages")
            ),
        ),
        Told::OneSide => (
            format!("Message time in {place}"),
            format!("{}, for waiting or transfer; the call that takes longest is {place}.", kept("messages")),
        ),
        Told::Nothing => {
            let why = "what it waits for is not recorded";
            (
                format!("Time in {place}"),
                format!("{}; the one that takes longest is {place}, and {why}.", kept("calls")),
            )
        }
    };
    Draft {
        kind: FindingKind::CommunicationCost,
        title,
        sentence,
        saving: Saving::new("Hiding this time behind computation would save at most"),
        gain,
        assumption: match told {
            Told::Nothing => "it is hidden behind the available computation".to_owned(),
            _ => "transfers are hidden behind the available computation".to_owned(),
        },
        confidence: (confidence.min(Confidence::Possible), reason),
        advice: match told {
            Told::Nothing => "See what these calls wait for; a trace of the calls shows more.".to_owned(),
            _ => "Start sends and receives early (non-blocking) and work meanwhile; check whether everything that is \
                  sent is needed."
                .to_owned(),
        },
        ..draft
    }
}

/// Messages of a call path, of all peers.
fn sent_in(cx: &Context<'_>, path: CallPathId) -> MessageTotals {
    let mut sum = MessageTotals::default();
    let rows = cx.communication.locations.iter().flat_map(|location| &location.messages);
    rows.filter(|row| row.call_path == path).for_each(|row| sum.add(&row.totals));
    sum
}

/// What the trace records about the messages of calls that take time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// When both sides of them were there.
    Paired,
    /// Only that there are messages.
    OneSide,
    Nothing,
}

fn told(cx: &Context<'_>) -> Told {
    match cx.recorded.messages {
        true if 1 < cx.n_peers() && cx.late.is_some_and(|late| 0 < late.n_messages) => Told::Paired,
        true => Told::OneSide,
        false => Told::Nothing,
    }
}

fn small(
    cx: &Context<'_>,
    mut draft: Draft,
    waiting: &Waiting<'_>,
    sender: Option<CallPathId>,
    [n_messages, mean_bytes]: [u64; 2],
    per_time: f64,
) -> Draft {
    let path = sender.unwrap_or(draft.path);
    let place = cx.place(path);
    #[expect(clippy::cast_precision_loss, reason = "the last step of the formula")]
    let gain = (draft.gain as f64 * (1.0 - 1.0 / per_time)) as u64;
    let part = (1000, (per_time * 1000.0) as u64);
    let mut remedy = vec![waiting.shortened(part)];
    if sender.is_some() && waiting.paths.iter().all(|&(waits, _)| waits != path) {
        remedy.push(Edit::Scale(EditedCode::with_callees(path), part));
    }
    draft.evidence.push(Evidence::new(
        format!("{} of {} bytes on average", counted(n_messages, "message", "messages"), count(mean_bytes)),
        "messages of the call / groups of them that go to one partner before the sender receives anything",
        vec![
            Quantity::count("messages", n_messages),
            Quantity::of("mean size", mean_bytes as f64, QuantityUnit::Bytes),
            Quantity::of("messages to the same partner in a row", per_time, QuantityUnit::Count),
        ],
    ));
    Draft {
        kind: FindingKind::SmallMessages,
        title: format!("Many small messages in {place}"),
        sentence: format!(
            "{} messages of {} bytes on average are sent in {place}, about {per_time:.0} to the same partner before \
             anything is received.",
            count(n_messages),
            count(mean_bytes)
        ),
        saving: Saving::new("Combining these into one would save"),
        remedy,
        path,
        also: others(cx, waiting, path),
        gain,
        loss: gain,
        assumption: "each message costs the same, and one to each partner is enough each time".to_owned(),
        confidence: at_most_likely(cx, "it is assumed that messages can be combined"),
        advice: "Collect the data for each rank and send them at once (a buffer, a derived datatype, or a \
                 neighbourhood collective)."
            .to_owned(),
        command: compare_ranks(cx, path),
        ..draft
    }
}
