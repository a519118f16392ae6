//! The messages and collective operations of a stretch of time: each of them while there are few, else counts of
//! messages between blocks of rows.

use crate::meta::TILE_ROWS;
use ouzel::analyses::paired_operations::{CollectiveInstance, OperationsOutput};
use ouzel::engine::Progress;
use ouzel::model::{Filter, LocationId, Ticks};
use ouzel::{Options, TimelineConnections, Trace};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// `arrows` (`[row of the sender, begin of the send, row of the receiver, end of the receive]`), or, where there are
/// more than `limit`, `bundles` (`[block of senders, block of receivers, messages]`) and their sum `n`; and `collectives`
/// (`{op, root, members: [row, arrival, end]}`), or, where they have more than `limit` members, their number
/// `n_collectives`.
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
    let mut found = arrows_or_bundles(&arrows(trace, rows, &operations), limit);
    let collectives = collectives(trace, rows, &operations);
    let n_members: usize = collectives.iter().map(|collective| collective.members.len()).sum();
    match n_members <= limit {
        true => found["collectives"] = json!(collectives),
        false => found["n_collectives"] = json!(collectives.len()),
    }
    Ok(found)
}

fn arrows_or_bundles(arrows: &[(usize, u64, usize, u64)], limit: usize) -> Value {
    if arrows.len() <= limit {
        return json!({ "arrows": arrows });
    }
    let mut bundles: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for &(from, _, to, _) in arrows {
        *bundles.entry((from / TILE_ROWS, to / TILE_ROWS)).or_default() += 1;
    }
    let bundles: Vec<(usize, usize, u64)> =
        bundles.into_iter().map(|((from, to), n)| (from, to, n)).collect();
    json!({ "bundles": bundles, "n": arrows.len() })
}

/// A collective operation as the page draws it.
#[derive(Serialize)]
struct Collective {
    op: &'static str,
    root: Option<u32>,
    /// Row, when it arrived, when its call ended; by rank.
    members: Vec<(usize, u64, u64)>,
}

/// Collective operations of which one member at least is selected.
fn collectives(trace: &Trace, rows: &[LocationId], operations: &OperationsOutput) -> Vec<Collective> {
    let row_of: BTreeMap<LocationId, usize> = rows.iter().enumerate().map(|(row, &id)| (id, row)).collect();
    let clock = &trace.definitions().clock;
    let drawn = |instance: &CollectiveInstance| {
        let operation = |at: u32| operations.operations.get(at as usize);
        let is_selected =
            instance.members.iter().any(|&(at, _)| operation(at).is_some_and(|member| member.is_selected));
        let member = |&(at, arrival): &(u32, Ticks)| {
            let member = operation(at)?;
            let row = row_of.get(&member.location)?;
            Some((*row, clock.ns_from_ticks(arrival), clock.ns_from_ticks(member.leave)))
        };
        is_selected.then(|| Collective {
            op: instance.op.as_str(),
            root: instance.root.map(|rank| rank.0),
            members: instance.members.iter().filter_map(member).collect(),
        })
    };
    operations.collectives.iter().filter_map(drawn).collect()
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
