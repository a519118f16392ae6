//! What findings about messages share: how much of the waiting is for messages, and what each finding begins with.

use super::context::{Context, Times};
use super::draft::Draft;
use super::finding::{Confidence, Evidence, FindingKind, Quantity};
use super::stages::Stage;
use super::waiting::Waiting;
use super::work::{iterations, range_of};
use ouzel_analyses::message_waits::{LateMessagesOutput, LateRow};
use ouzel_model::CallPathId;

/// Least share of the time in calls that passes before the other side is there, for the other side to be the cause.
pub(super) const LATE: f64 = 0.5;

/// Calls with less of the run, as a mean over ranks, are not named.
const LEAST_SHARE: f64 = 0.001;

/// A finding about all these calls, without words of its own.
pub(super) fn base(cx: &Context<'_>, waiting: &Waiting<'_>, stages: &[&Stage], gain: u64) -> Draft {
    let path = waiting.main_path();
    let shown: Vec<CallPathId> = waiting.paths.iter().take(4).map(|&(path, _)| path).collect();
    let values = cx.places(&shown).into_iter().zip(&waiting.paths);
    let (one, _) = cx.peers_in_words();
    let kept = match cx.n_peers() {
        1 => format!("these calls keep the {one} from computing"),
        _ => format!("between synchronisations, these calls keep even the busiest {one} from computing"),
    };
    Draft {
        title: String::new(),
        sentence: String::new(),
        ranks: cx.ranks(cx.group.locations.iter().copied()),
        iterations: iterations(stages, |phase| u128::from(phase.waiting())),
        range: range_of(stages),
        gain,
        remedy: waiting.gone(),
        also: others(cx, waiting, path),
        loss: gain,
        evidence: vec![Evidence::new(
            kept,
            "Σ over phases of (length − max busy), less the cost of the synchronisation, divided among the calls \
             that wait in proportion to their mean times",
            std::iter::once(Quantity::ns("waiting", cx.ns(waiting.ticks)))
                .chain(
                    values.map(|(place, &(_, ticks))| {
                        Quantity::ns(&format!("mean time in {place}"), cx.ns(ticks))
                    }),
                )
                .collect(),
        )],
        advice: String::new(),
        ..Draft::about(cx, FindingKind::CommunicationCost, path)
    }
}

/// The calls that wait beside one of them.
pub(super) fn others(cx: &Context<'_>, waiting: &Waiting<'_>, path: CallPathId) -> Vec<CallPathId> {
    let matters = |&&(other, ticks): &&(CallPathId, u64)| other != path && LEAST_SHARE <= cx.share(ticks);
    waiting.paths.iter().filter(matters).map(|&(other, _)| other).collect()
}

/// At most `likely`, however sure the phases are: causes are inferred.
pub(super) fn at_most_likely(cx: &Context<'_>, reason: &str) -> (Confidence, String) {
    let (confidence, phases) = cx.confidence_of_phases();
    (confidence.min(Confidence::Likely), format!("{phases}; {reason}"))
}

/// The rows of these calls.
pub(super) fn rows_of<'l>(late: &'l LateMessagesOutput, waiting: &Waiting<'_>) -> Vec<&'l LateRow> {
    late.rows.iter().filter(|row| waiting.paths.iter().any(|&(path, _)| path == row.waiting)).collect()
}

/// Share of the time in these calls that passes before the other side is there.
#[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
pub(super) fn share_late(cx: &Context<'_>, late: &LateMessagesOutput, waiting: &Waiting<'_>) -> f64 {
    let waited: u64 = rows_of(late, waiting).iter().map(|row| row.wait.0).sum();
    let paths = waiting.paths.iter();
    let in_calls = paths.flat_map(|&(path, _)| cx.by_peer(path, Times::Inclusive)).map(|(_, ticks)| ticks);
    waited as f64 / in_calls.sum::<u64>().max(1) as f64
}

/// Share of this waiting that is for ranks that wait themselves.
#[expect(clippy::cast_precision_loss, reason = "the only division, of exact sums")]
pub(super) fn share_of_indirect(late: &LateMessagesOutput, waiting: &Waiting<'_>) -> f64 {
    let rows = rows_of(late, waiting);
    let all: u64 = rows.iter().map(|row| row.wait.0).sum();
    let indirect: u64 = rows.iter().map(|row| row.indirect.0).sum();
    if all == 0 { 0.0 } else { indirect as f64 / all as f64 }
}
