//! The logical step of each operation: a topological order, without recursion.

use crate::operations::{Operation, OperationsOutput};
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

/// What comes before and after each operation. A node is an operation, or all members of a collective: operation `i`
/// is node `i`, instance `k` is node `number of operations + k`.
struct Graph<'a> {
    output: &'a OperationsOutput,
    node: Vec<u32>,
    /// The send of a receive.
    send: Vec<u32>,
    /// The receive of a send.
    receive: Vec<u32>,
}

/// The logical step of each operation.
///
/// # Errors
/// If operations wait for each other in a circle.
pub fn steps(output: &OperationsOutput, definitions: &Definitions) -> Result<Vec<u32>, Cycle> {
    let graph = Graph::new(output);
    let n = output.operations.len();
    let n_nodes = n + output.collectives.len();
    let mut n_before = vec![0_u32; n_nodes];
    for op in 0..n {
        n_before[graph.node_of(op)] += graph.before(op).count() as u32;
    }
    let mut ready: Vec<u32> =
        (0..n).filter(|&op| graph.node_of(op) == op && n_before[op] == 0).map(|op| op as u32).collect();
    ready.extend((n..n_nodes).filter(|&node| n_before[node] == 0).map(|node| node as u32));
    let mut step = vec![0_u32; n_nodes];
    let mut n_members_done = 0;
    while let Some(node) = ready.pop() {
        for op in graph.members(node as usize) {
            n_members_done += 1;
            for next in graph.after(op) {
                let next = graph.node_of(next);
                step[next] = step[next].max(step[node as usize] + 1);
                n_before[next] -= 1;
                if n_before[next] == 0 {
                    ready.push(next as u32);
                }
            }
        }
    }
    if n_members_done < n {
        return Err(cycle(&graph, &n_before, definitions));
    }
    Ok((0..n).map(|op| step[graph.node_of(op)]).collect())
}

impl<'a> Graph<'a> {
    fn new(output: &'a OperationsOutput) -> Self {
        let n = output.operations.len();
        let mut node: Vec<u32> = (0..n as u32).collect();
        for (k, instance) in output.collectives.iter().enumerate() {
            for &(op, _) in &instance.members {
                node[op as usize] = (n + k) as u32;
            }
        }
        let (mut send, mut receive) = (vec![NONE; n], vec![NONE; n]);
        for message in &output.messages {
            send[message.receive as usize] = message.send;
            receive[message.send as usize] = message.receive;
        }
        Graph { output, node, send, receive }
    }

    fn node_of(&self, op: usize) -> usize {
        self.node[op] as usize
    }

    /// Operations of a node.
    fn members(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let instance = node.checked_sub(self.output.operations.len()).map(|k| &self.output.collectives[k]);
        let alone = instance.is_none().then_some(node);
        alone
            .into_iter()
            .chain(instance.into_iter().flat_map(|i| i.members.iter().map(|&(op, _)| op as usize)))
    }

    /// What comes directly before an operation.
    fn before(&self, op: usize) -> impl Iterator<Item = usize> + use<> {
        previous(&self.output.operations, op).into_iter().chain(some(self.send[op]))
    }

    /// What comes directly after an operation.
    fn after(&self, op: usize) -> impl Iterator<Item = usize> + use<> {
        let operations = &self.output.operations;
        let next = op + 1;
        let next = (next < operations.len() && previous(operations, next) == Some(op)).then_some(next);
        next.into_iter().chain(some(self.receive[op]))
    }
}

/// The operation before another on its location.
pub(super) fn previous(operations: &[Operation], op: usize) -> Option<usize> {
    let previous = op.checked_sub(1)?;
    (operations[previous].location == operations[op].location).then_some(previous)
}

/// The send of each receive.
pub(super) fn sends(output: &OperationsOutput) -> Vec<Option<usize>> {
    Graph::new(output).send.into_iter().map(some).collect()
}

fn some(op: u32) -> Option<usize> {
    (op != NONE).then_some(op as usize)
}

/// A cycle among the nodes that wait for others for ever, found by going back from one to another until one repeats.
fn cycle(graph: &Graph<'_>, n_before: &[u32], definitions: &Definitions) -> Cycle {
    let is_stuck = |op: &usize| 0 < n_before[graph.node_of(*op)];
    let n = graph.output.operations.len();
    let mut seen_at = vec![usize::MAX; n_before.len()];
    let mut way: Vec<usize> = Vec::new();
    let mut at = (0..n).find(is_stuck);
    while let Some(op) = at {
        let node = graph.node_of(op);
        if seen_at[node] != usize::MAX {
            way.drain(..seen_at[node]);
            break;
        }
        seen_at[node] = way.len();
        // The member that waits, and for whom: the smallest, so that the message is always the same.
        let waiting = graph
            .members(node)
            .flat_map(|member| graph.before(member).filter(is_stuck).map(move |before| (member, before)))
            .min();
        way.push(waiting.map_or(op, |(member, _)| member));
        at = waiting.map(|(_, before)| before);
    }
    way.reverse();
    let operations: Vec<u32> = way.iter().map(|&op| op as u32).collect();
    let named: Vec<String> = way
        .iter()
        .take(MAX_NAMED)
        .map(|&op| name(graph.output, op, definitions, &definitions.clock))
        .collect();
    let more = way.len().saturating_sub(MAX_NAMED);
    let more = if 0 < more { format!(" → {more} more") } else { String::new() };
    let message = format!(
        "operations wait for each other in a circle, so messages or collectives cannot be paired: {}{more} → the first",
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
