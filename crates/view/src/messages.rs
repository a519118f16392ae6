//! The messages of a stretch of time: arrows while there are few, else counts between blocks of rows.

use crate::meta::TILE_ROWS;
use ouzel::analyses::paired_operations::OperationsOutput;
use ouzel::engine::Progress;
use ouzel::model::{Filter, LocationId, Ticks};
use ouzel::{Options, TimelineConnections, Trace};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// `arrows` (`[row of the sender, begin of the send, row of the receiver, end of the receive]`), or, where there are
/// more than `limit`, `bundles` (`[block of senders, block of receivers, messages]`) and their sum `n`.
///
/// # Errors
/// Why the events cannot be read, for people.
pub(crate) fn messages(
    trace: &Trace,
    rows: &[LocationId],
    (from_ns, to_ns): (u64, u64),
    limit: usize,
    progress: &Progress,
) -> Result<Value, String> {
    let filter = Filter { time_ns: Some((from_ns, to_ns)), ..Filter::default() };
    let options = Options { filter, progress: Some(progress), ..Options::default() };
    let wanted = TimelineConnections { messages: true, critical_path: false };
    let answer = trace.timeline(wanted, &options).map_err(|error| error.to_string())?;
    let operations = answer.output.messages.ok_or("messages were not paired")?;
    let arrows = arrows(trace, rows, &operations);
    if arrows.len() <= limit {
        return Ok(json!({ "arrows": arrows }));
    }
    let mut bundles: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for &(from, _, to, _) in &arrows {
        *bundles.entry((from / TILE_ROWS, to / TILE_ROWS)).or_default() += 1;
    }
    let bundles: Vec<(usize, usize, u64)> =
        bundles.into_iter().map(|((from, to), n)| (from, to, n)).collect();
    Ok(json!({ "bundles": bundles, "n": arrows.len() }))
}

/// Messages of which one side at least is selected.
fn arrows(
    trace: &Trace,
    rows: &[LocationId],
    operations: &OperationsOutput,
) -> Vec<(usize, u64, usize, u64)> {
    let row_of: BTreeMap<LocationId, usize> = rows.iter().enumerate().map(|(row, &id)| (id, row)).collect();
    let clock = &trace.definitions().clock;
    let ns = |at: Ticks| clock.ns_from_ticks(at);
    let arrow = |message: &ouzel::analyses::paired_operations::Message| {
        let send = operations.operations.get(message.send as usize)?;
        let receive = operations.operations.get(message.receive as usize)?;
        let is_selected = send.is_selected || receive.is_selected;
        let rows = row_of.get(&send.location).zip(row_of.get(&receive.location)).filter(|_| is_selected);
        rows.map(|(&from, &to)| (from, ns(send.enter), to, ns(receive.leave)))
    };
    operations.messages.iter().filter_map(arrow).collect()
}
