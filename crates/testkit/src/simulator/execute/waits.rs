//! What a call waited for, seen when it ends.

use super::super::matching::{Matching, VisitId};
use super::super::run::{Visit, Wait, WaitClass, WrongOrder};
use super::{Execution, Part, Pending, Side};
use std::cmp::Reverse;

impl Execution<'_> {
    /// The wait of a call that completes these parts: for the latest sender; for the latest receiver if no sender was
    /// late; for the last of those whose data a collective operation needs.
    pub fn wait(&self, pending: &Pending, completed: &[Part]) -> Option<Wait> {
        let Visit { rank, enter, ref call_path, .. } = self.run.visits[pending.visit];
        let mut waited_for = Vec::new();
        for part in completed {
            waited_for.extend(self.other_side(part.side));
        }
        let instance = pending.instance.map(|number| &self.run.instances[number]);
        if let Some(instance) = instance {
            let class = WaitClass::of(instance.call.kind);
            waited_for.extend(instance.waited_for(rank).iter().flatten().map(|&visit| (class, visit)));
        }
        let visits = &self.run.visits;
        let late = waited_for.into_iter().filter(|&(_, visit)| enter < visits[visit].enter);
        let (class, culprit_visit) = late
            .min_by_key(|&(class, visit)| (class, Reverse(visits[visit].enter), visits[visit].rank, visit))?;
        let culprit = &visits[culprit_visit];
        let first = match (class, instance) {
            (WaitClass::WaitForLast, Some(instance)) => {
                instance.others().map(|visit| visits[visit].enter).min()
            }
            _ => None,
        };
        Some(Wait {
            rank,
            call_path: call_path.clone(),
            class,
            start: enter,
            ticks: culprit.enter - enter,
            culprit: culprit.rank,
            culprit_path: culprit.call_path.clone(),
            wrong_order: None,
            early_reduce: first.map_or(0, |first| first.saturating_sub(enter)),
            visit: pending.visit,
            culprit_visit,
        })
    }

    /// The posting that one side of a message waits for, if it waits at all.
    fn other_side(&self, side: Side) -> Option<(WaitClass, VisitId)> {
        let Matching { messages, receives } = &self.matching;
        match side {
            Side::Receive(number) => Some((WaitClass::LateSender, messages[receives[number].message?].post)),
            Side::Message(number) if messages[number].is_eager => None,
            Side::Message(number) => {
                Some((WaitClass::LateReceiver, receives[messages[number].receive?].post))
            }
        }
    }
}

/// Compares a message that was waited for with those that the same rank received in later calls: the first that was
/// sent earlier tells.
pub fn wrong_order(
    wait: &Wait,
    visits: &[Visit],
    received: &[(VisitId, usize)],
    matching: &Matching,
) -> Option<WrongOrder> {
    let sent = visits[wait.culprit_visit].enter;
    let overtakes = |&&(visit, message): &&(VisitId, usize)| {
        let is_later = visits[visit].rank == wait.rank && wait.visit < visit;
        is_later && visits[matching.messages[message].post].enter < sent
    };
    let &(_, message) = received.iter().find(overtakes)?;
    let is_same = matching.messages[message].from == wait.culprit;
    Some(if is_same { WrongOrder::SameSource } else { WrongOrder::DifferentSource })
}
