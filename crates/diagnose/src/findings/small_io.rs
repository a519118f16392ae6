//! Many reads or writes of few bytes.
//!
//! | finding | evidence | gain |
//! |---|---|---|
//! | many small reads or writes | calls that move less than half of a page each | time × (1 − mean bytes / page) |

use super::context::{Context, Times};
use super::draft::{Draft, Saving};
use super::finding::{Confidence, Evidence, FindingKind, Quantity, QuantityUnit};
use super::work::above_mean;
use ouzel_analyses::io_totals::IoTotals;
use ouzel_model::units::{bytes, count};
use ouzel_model::{CallPathId, LocationId};
use ouzel_replay::{Edit, EditedCode};
use std::collections::BTreeMap;

/// The length of a page, and of the buffers of `stdio`: an operation takes about as long if it moves less.
const PAGE: u64 = 4096;
/// Least number of operations of a rank.
const MANY: u64 = 100;

/// The totals of each peer in a call path.
type ByPeer = Vec<(LocationId, IoTotals)>;

pub(super) fn small_operations(cx: &Context<'_>) -> Vec<Draft> {
    let mut by_path: BTreeMap<CallPathId, ByPeer> = BTreeMap::new();
    for location in &cx.group.locations {
        for path in cx.io.locations.get(location).into_iter().flatten() {
            by_path.entry(path.call_path).or_default().push((*location, path.totals));
        }
    }
    // What a library does inside of an operation is part of that.
    let is_inside = |path: CallPathId| cx.chain(path).skip(1).any(|caller| by_path.contains_key(&caller));
    let outermost = by_path.iter().filter(|(path, _)| !is_inside(**path));
    outermost.filter_map(|(&path, by_peer)| small(cx, path, by_peer)).collect()
}

fn small(cx: &Context<'_>, path: CallPathId, by_peer: &ByPeer) -> Option<Draft> {
    let moving = |totals: &IoTotals| totals.reads + totals.writes;
    let n: u64 = by_peer.iter().map(|(_, totals)| moving(totals)).sum();
    let moved = by_peer.iter().map(|(_, totals)| totals.bytes()).fold(0, u64::saturating_add);
    let most_calls = by_peer.iter().map(|(_, totals)| moving(totals)).max().unwrap_or_default();
    let mean_bytes = moved.checked_div(n)?;
    if most_calls < MANY || PAGE < 2 * mean_bytes {
        return None;
    }
    let times = cx.by_peer(path, Times::Inclusive);
    let ticks: u64 = times.iter().map(|&(_, ticks)| ticks).sum();
    let rest = (mean_bytes.max(1), PAGE);
    let left = |ticks: u64| u64::try_from(u128::from(ticks) * u128::from(rest.0) / u128::from(PAGE));
    let gain = |ticks: u64| ticks - left(ticks).unwrap_or(ticks);
    let ranks = cx.ranks(above_mean(&times));
    let place = cx.place(path);
    let is_write = by_peer.iter().all(|(_, totals)| totals.reads == 0);
    let is_read = by_peer.iter().all(|(_, totals)| totals.writes == 0);
    let (noun, doing) = match (is_read, is_write) {
        (true, false) => ("reads", "Reading"),
        (false, true) => ("writes", "Writing"),
        _ => ("reads and writes", "Moving"),
    };
    let evidence = Evidence::new(
        format!("{} {noun} of {} on average", count(n), bytes(mean_bytes)),
        "operations of all ranks in this call path, and the bytes that they moved; time of all ranks / operations",
        vec![
            Quantity::count("operations", n),
            Quantity::of("mean size", mean_bytes as f64, QuantityUnit::Bytes),
            Quantity::ns("mean time of one", cx.ns(ticks / n.max(1))),
            Quantity::ns("most of one rank", cx.ns(times.iter().map(|it| it.1).max().unwrap_or_default())),
        ],
    );
    // Who waits for whom meanwhile is the replay's affair.
    let of_mean = gain(ticks / cx.n_peers().max(1));
    Some(Draft {
        title: format!("Many small {noun} in {place}"),
        sentence: format!(
            "{} {noun} of {} on average are made one by one in {place}.",
            count(n),
            bytes(mean_bytes)
        ),
        saving: Saving::new(format!("{doing} {} at a time would save", bytes(PAGE))),
        ranks,
        gain: of_mean,
        loss: of_mean,
        remedy: vec![Edit::Scale(EditedCode::with_callees(path), rest)],
        assumption: "the bytes follow each other in the file, and an operation of a page takes as long as a short one"
            .to_owned(),
        confidence: (
            Confidence::Likely,
            "numbers and sizes are recorded; whether they can be put together is not".to_owned(),
        ),
        evidence: vec![evidence],
        advice: "Collect the data in a buffer and move much at once: stdio or streams with a buffer (setvbuf), one \
                 array instead of its elements, MPI-IO with collective calls or a file view."
            .to_owned(),
        ..Draft::about(cx, FindingKind::SmallIo, path)
    })
}
