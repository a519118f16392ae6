//! Late senders whose messages could have been received in a better order.
//!
//! A late sender is in wrong order if a later visit of the same location completes a message that was sent earlier:
//! receiving that one first would have filled the wait. All of the wait counts, once, at the first such message. Law:
//! exact for any distance; each wait is put on a stack and taken off at most once, so time is linear in the messages.

use crate::class::WaitClass;
use crate::messages::Received;
use crate::records::LocationRecords;
use crate::wait::Wait;
use ouzel_model::{CallPathId, LocationId, Ticks, WorldRank};
use std::collections::BTreeMap;

/// A late sender that may turn out to be in wrong order.
struct PendingLateSender<'a> {
    sent: Ticks,
    from: WorldRank,
    wait: &'a Wait,
}

/// The parts of late senders that are in wrong order. `waits` are by location.
pub(crate) fn wrong_order(
    waits: &[Wait],
    received: &[Vec<Option<Received>>],
    records: &BTreeMap<LocationId, LocationRecords>,
) -> Vec<Wait> {
    let mut found = Vec::new();
    for of_location in waits.chunk_by(|a, b| a.location == b.location) {
        let location = of_location[0].location;
        let (Some(received), Some(records)) = (received.get(location.index()), records.get(&location)) else {
            continue;
        };
        let mut late: BTreeMap<u32, Vec<&Wait>> = BTreeMap::new();
        for wait in of_location.iter().filter(|wait| wait.class == WaitClass::LateSender) {
            late.entry(wait.nth).or_default().push(wait);
        }
        if !late.is_empty() {
            add_of_location(&mut found, &late, received, records);
        }
    }
    found
}

fn add_of_location(
    found: &mut Vec<Wait>,
    late: &BTreeMap<u32, Vec<&Wait>>,
    received: &[Option<Received>],
    records: &LocationRecords,
) {
    let messages: Vec<(u32, Received)> =
        records.received.iter().filter_map(|&nth| Some((nth, received[nth as usize]?))).collect();
    // By the time of the send, ascending.
    let mut pending: Vec<PendingLateSender<'_>> = Vec::new();
    for of_visit in messages.chunk_by(|a, b| is_one_visit(a.1.visit, b.1.visit)) {
        for (_, message) in of_visit {
            while let Some(before) = pending.pop_if(|before| message.sent < before.sent) {
                let class = match before.from == message.from {
                    true => WaitClass::WrongOrderSameSource,
                    false => WaitClass::WrongOrderDifferentSource,
                };
                found.push(Wait { class, ..*before.wait });
            }
        }
        for (nth, message) in of_visit {
            let waits = late.get(nth).into_iter().flatten();
            pending.extend(waits.map(|wait| PendingLateSender {
                sent: message.sent,
                from: message.from,
                wait,
            }));
        }
    }
}

/// A call that completes several messages does so in no order.
fn is_one_visit(a: Option<(Ticks, CallPathId)>, b: Option<(Ticks, CallPathId)>) -> bool {
    a.is_some() && a == b
}
