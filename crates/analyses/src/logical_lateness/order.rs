//! The logical step of each operation: a topological order, without recursion.

use crate::paired_operations::{Operation, OperationKind, OperationsOutput};
use ouzel_model::{Clock, Definitions};

/// No operation.
const NONE: u32 = u32::MAX;

/// Operations that a message about a cycle names.
const MAX_NAMED: usize = 12;

/// Operations each of which should come after the next, and the last after the first: messages or collectives were
/// paired wrongly, or the trace is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// Indices of the operations, each before the next.
    pub operations: Vec<u32>,
    message: String,
}

impl std::fmt::Display for Cycle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Cycle {}

/// The logical steps, and what they hang on.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The step of each operation.
    pub steps: Vec<u32>,
    /// Of a send its receive, of a receive its send, of a collective its instance; else [`NONE`].
    pub partner: Vec<u32>,
}

/// The logical step of each operation.
///
/// # Errors
/// If operations wait for each other in a circle.
pub fn steps(output: &OperationsOutput, definitions: &Definitions) -> Result<Vec<u32>, Cycle> {
    Ok(order(output, definitions)?.steps)
}

/// Steps and partners.
///
/// Each location advances until it reaches a receive whose send has no step yet, or a collective that others have not
/// reached yet. It resumes when they have, so the operations of a location are visited in order.
pub(super) fn order(output: &OperationsOutput, definitions: &Definitions) -> Result<Order, Cycle> {
    let mut walk = Walk::new(output);
    // The first location first.
    let mut ready: Vec<u32> = (0..walk.places.len() as u32).rev().collect();
    while let Some(place) = ready.pop() {
        walk.go_on(place as usize, &mut ready);
    }
    let Walk { order, .. } = walk;
    if order.steps.iter().any(|&step| LEAST_UNKNOWN <= step) {
        return Err(cycle(output, &order, definitions));
    }
    Ok(order)
}

/// Steps from here on are none: [`NOT_YET`] and [`WAITING`].
const LEAST_UNKNOWN: u32 = u32::MAX - 1;
/// Nobody has come to the operation.
const NOT_YET: u32 = u32::MAX;
/// Its location waits in it.
const WAITING: u32 = u32::MAX - 1;

/// Operations of one location that have no step yet.
struct UnorderedOperations {
    first: u32,
    next: u32,
    end: u32,
}

/// A collective that members have yet to come to.
#[derive(Clone, Copy)]
struct Gathering {
    n_missing: u32,
    /// The greatest step that a member would have alone.
    step: u32,
}

struct Walk<'a> {
    output: &'a OperationsOutput,
    order: Order,
    /// By location.
    places: Vec<UnorderedOperations>,
    gatherings: Vec<Gathering>,
}

impl<'a> Walk<'a> {
    fn new(output: &'a OperationsOutput) -> Self {
        let n = output.operations.len();
        let mut partner = vec![NONE; n];
        for message in &output.messages {
            partner[message.receive as usize] = message.send;
            partner[message.send as usize] = message.receive;
        }
        let mut gatherings = Vec::with_capacity(output.collectives.len());
        for (k, instance) in (0..).zip(&output.collectives) {
            gatherings.push(Gathering { n_missing: instance.members.len() as u32, step: 0 });
            instance.members.iter().for_each(|&(op, _)| partner[op as usize] = k);
        }
        let mut places = Vec::new();
        let mut first = 0;
        for of_location in output.operations.chunk_by(|a, b| a.location == b.location) {
            let end = first + of_location.len() as u32;
            places.push(UnorderedOperations { first, next: first, end });
            first = end;
        }
        Walk { output, order: Order { steps: vec![NOT_YET; n], partner }, places, gatherings }
    }

    /// The place of an operation.
    fn place_of(&self, op: u32) -> u32 {
        self.places.partition_point(|place| place.end <= op) as u32
    }

    /// Goes on with a location as far as it gets; adds locations that need not wait any more.
    fn go_on(&mut self, at: usize, ready: &mut Vec<u32>) {
        let UnorderedOperations { first, next, end } = self.places[at];
        for op in next..end {
            let step = if op == first { 0 } else { self.order.steps[op as usize - 1] + 1 };
            let step = match (self.output.operations[op as usize].kind, self.order.partner[op as usize]) {
                (_, NONE) => Some(step),
                (OperationKind::Send, receive) => {
                    if self.order.steps[receive as usize] == WAITING {
                        ready.push(self.place_of(receive));
                    }
                    Some(step)
                }
                (OperationKind::Receive, send) => {
                    let sent = self.order.steps[send as usize];
                    (sent < LEAST_UNKNOWN).then(|| step.max(sent + 1))
                }
                (OperationKind::Collective, instance) => self.gather(op, instance, step, ready),
            };
            let Some(step) = step else {
                self.order.steps[op as usize] = WAITING;
                self.places[at].next = op;
                return;
            };
            self.order.steps[op as usize] = step;
        }
        self.places[at].next = end;
    }

    /// A member comes to a collective, where it alone would have `step`. The last one gives all of them their step.
    fn gather(&mut self, op: u32, instance: u32, step: u32, ready: &mut Vec<u32>) -> Option<u32> {
        let gathering = &mut self.gatherings[instance as usize];
        gathering.step = gathering.step.max(step);
        gathering.n_missing -= 1;
        let Gathering { n_missing, step } = *gathering;
        if 0 < n_missing {
            return None;
        }
        for &(member, _) in self.output.collectives[instance as usize].members.iter().filter(|it| it.0 != op)
        {
            self.order.steps[member as usize] = step;
            let place = self.place_of(member);
            self.places[place as usize].next = member + 1;
            ready.push(place);
        }
        Some(step)
    }
}

/// What comes directly before an operation: the one before it on its location, and of a receive its send.
pub(super) fn before(
    operations: &[Operation],
    partner: &[u32],
    op: usize,
) -> impl Iterator<Item = usize> + use<> {
    let is_receive = operations[op].kind == OperationKind::Receive;
    let send = some(partner[op]).filter(|_| is_receive);
    previous(operations, op).into_iter().chain(send)
}

/// The operation before another on its location.
fn previous(operations: &[Operation], op: usize) -> Option<usize> {
    let previous = op.checked_sub(1)?;
    (operations[previous].location == operations[op].location).then_some(previous)
}

fn some(op: u32) -> Option<usize> {
    (op != NONE).then_some(op as usize)
}

/// A cycle among the operations that wait for others for ever, found by going back from one to another until one
/// repeats. All members of a collective wait together.
fn cycle(output: &OperationsOutput, order: &Order, definitions: &Definitions) -> Cycle {
    let Order { steps, partner } = order;
    let is_stuck = |op: &usize| LEAST_UNKNOWN <= steps[*op];
    let n = output.operations.len();
    let instance = |op: usize| {
        let is_collective = output.operations[op].kind == OperationKind::Collective;
        some(partner[op]).filter(|_| is_collective)
    };
    // Operation `i` is node `i`, instance `k` is node `n + k`.
    let mut seen_at = vec![usize::MAX; n + output.collectives.len()];
    let mut way: Vec<usize> = Vec::new();
    let mut at = (0..n).find(is_stuck);
    while let Some(op) = at {
        let of = instance(op);
        let node = of.map_or(op, |k| n + k);
        if seen_at[node] != usize::MAX {
            way.drain(..seen_at[node]);
            break;
        }
        seen_at[node] = way.len();
        // The member that waits, and for whom: the smallest, so that the message is always the same.
        let members = of.map(|k| output.collectives[k].members.iter().map(|&(op, _)| op as usize));
        let members = members.into_iter().flatten().chain(of.is_none().then_some(op));
        let waiting = members
            .flat_map(|member| {
                let before = before(&output.operations, partner, member);
                before.filter(is_stuck).map(move |before| (member, before))
            })
            .min();
        way.push(waiting.map_or(op, |(member, _)| member));
        at = waiting.map(|(_, before)| before);
    }
    way.reverse();
    let operations: Vec<u32> = way.iter().map(|&op| op as u32).collect();
    let named: Vec<String> =
        way.iter().take(MAX_NAMED).map(|&op| name(output, op, definitions, &definitions.clock)).collect();
    let more = way.len().saturating_sub(MAX_NAMED);
    let more = if 0 < more { format!(" → {more} more") } else { String::new() };
    let message = format!(
        "operations wait for each other in a cycle, so messages or collectives cannot be paired: {}{more} → the first",
        named.join(" → ")
    );
    Cycle { operations, message }
}

fn name(output: &OperationsOutput, op: usize, definitions: &Definitions, clock: &Clock) -> String {
    let op = output.operations[op];
    let location = definitions.location(op.location);
    let place = location
        .rank
        .map_or_else(|| format!("location {:?}", location.name), |rank| format!("rank {}", rank.0));
    let region = output.call_paths.region(op.call_path);
    let region = region.map_or_else(String::new, |id| format!(" in {:?}", definitions.region(id).name));
    format!("{} of {place}{region} at {} ns", op.kind.as_str(), clock.ns_from_ticks(op.leave))
}
