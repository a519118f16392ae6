//! The order in which the parts of a loop can run in one iteration.
//!
//! A part is a call, an inlined function or an inner loop that is directly in the loop. Law: the order is transitive and
//! without circles. Parts of the source that were copied (unrolled loops) are one; of two parts whose copies can run
//! before and after each other, the one at the lesser line comes first. Of inlined functions, calls and loops say where
//! they are, if there are any, as other instructions of theirs are moved about by the compiler.
//!
//! Source: Wei and Mellor-Crummey, ICS'18, section 3.2 (Algorithm 1, lines that make the graph).

use crate::flow::Transfer;
use crate::tree::{Analysed, Key};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most parts of a loop that are ordered.
const PARTS_MAX: usize = 512;

/// A part of a loop.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex {
    /// The line of the call or of the inner loop; 0 if unknown.
    pub line: u32,
    /// The function that is called; empty for a loop, and for a call through a register or memory.
    pub function: Arc<str>,
    /// Whether it is an inner loop.
    pub is_loop: bool,
}

/// What can run after what in one iteration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    /// Ascending, each once.
    pub vertices: Vec<Vertex>,
    /// Places in `vertices`: the second can run after the first. Ascending, all that follow from others too.
    pub edges: Vec<(usize, usize)>,
}

/// Numbers of parts.
type Set = BTreeSet<usize>;

pub(crate) fn of_loop(
    analysed: &Analysed,
    number: usize,
    target: &dyn Fn(Transfer) -> Option<Arc<str>>,
) -> Option<Flow> {
    let found = analysed.loops.get(number)?;
    let mut parts: Vec<(usize, Vertex, bool)> = Vec::new();
    for step in found.blocks.iter().flat_map(|&block| analysed.graph.blocks[block].steps.clone()) {
        parts.extend(part(analysed, number, step, target).map(|(vertex, is_sure)| (step, vertex, is_sure)));
    }
    let sure: BTreeSet<Vertex> = parts.iter().filter(|part| part.2).map(|part| part.1.clone()).collect();
    parts.retain(|(_, vertex, is_sure)| *is_sure || !sure.contains(vertex));
    let vertices: Vec<Vertex> =
        parts.iter().map(|part| &part.1).collect::<BTreeSet<_>>().into_iter().cloned().collect();
    if vertices.is_empty() || PARTS_MAX < vertices.len() {
        return None;
    }
    let mut of_block: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (step, vertex, _) in &parts {
        if let Ok(place) = vertices.binary_search(vertex) {
            let inside = of_block.entry(analysed.graph.block_of(*step)).or_default();
            if inside.last() != Some(&place) {
                inside.push(place);
            }
        }
    }
    let after = after(analysed, &found.blocks, found.header, &of_block, vertices.len());
    let follows = |a: usize, b: usize| after[a].contains(&b);
    let all = (0..vertices.len()).flat_map(|a| (0..vertices.len()).map(move |b| (a, b)));
    // Vertices are sorted by line.
    let edges = all.filter(|&(a, b)| a != b && follows(a, b) && (a < b || !follows(b, a))).collect();
    Some(Flow { vertices, edges })
}

/// The part of a loop that an instruction is in, and whether it surely is where the source has it.
fn part(
    analysed: &Analysed,
    number: usize,
    step: usize,
    target: &dyn Fn(Transfer) -> Option<Arc<str>>,
) -> Option<(Vertex, bool)> {
    let path = analysed.path(step);
    let at = path.iter().position(|key| *key == Key::Loop(number))?;
    let transfer = analysed.graph.steps[step].transfer;
    let is_call = matches!(transfer, Transfer::Call(_) | Transfer::CallSlot(_));
    let line = |place: Option<&crate::lines::Place>| place.map_or(0, |place| place.line);
    let nothing: Arc<str> = Arc::from("");
    match path.get(at + 1) {
        Some(Key::Loop(inner)) => {
            let line = line(analysed.frames[*inner].place.as_ref());
            Some((Vertex { line, function: nothing, is_loop: true }, true))
        }
        Some(Key::Inlined(inlined)) => {
            let has_loop = path[at + 1..].iter().any(|key| matches!(key, Key::Loop(_)));
            let vertex =
                Vertex { line: line(inlined.call.as_ref()), function: inlined.name.clone(), is_loop: false };
            Some((vertex, has_loop || is_call))
        }
        None if is_call => {
            let line = line(analysed.spot(step).place.as_ref());
            let function = target(transfer).unwrap_or(nothing);
            Some((Vertex { line, function, is_loop: false }, true))
        }
        None => None,
    }
}

/// For each part those that can run after it without a step back.
fn after(
    analysed: &Analysed,
    blocks: &[usize],
    header: usize,
    of_block: &BTreeMap<usize, Vec<usize>>,
    n: usize,
) -> Vec<Set> {
    // Blocks that are done, and what can run in them and behind them.
    let mut done: BTreeMap<usize, Set> = BTreeMap::new();
    let mut on_path = BTreeSet::from([header]);
    let mut path: Vec<(usize, usize, Set)> = vec![(header, 0, Set::new())];
    let mut after = vec![Set::new(); n];
    while let Some((block, next, behind)) = path.last_mut() {
        if let Some(&to) = analysed.graph.blocks[*block].successors.get(*next) {
            if blocks.binary_search(&to).is_err() || on_path.contains(&to) {
                *next += 1;
            } else if let Some(found) = done.get(&to) {
                *next += 1;
                behind.extend(found);
            } else {
                on_path.insert(to);
                path.push((to, 0, Set::new()));
            }
            continue;
        }
        let block = *block;
        let mut behind = std::mem::take(behind);
        for &part in of_block.get(&block).into_iter().flatten().rev() {
            after[part].extend(&behind);
            behind.insert(part);
        }
        on_path.remove(&block);
        done.insert(block, behind);
        path.pop();
    }
    after
}
