//! The order in which the parts of a loop can run in one iteration, and those of a function in one call.
//!
//! A part is a call, an inlined function or an inner loop that is directly in the loop or function. Law: the order is
//! transitive, and that of a loop without circles. Parts of the source that were copied (unrolled loops) are one; of two
//! parts of a loop whose copies can run before and after each other, the one at the lesser line comes first. Parts of a
//! function that have copies can follow each other, and themselves. Of inlined functions, calls and loops say where they are, if there are any, as other instructions of
//! theirs are moved about by the compiler.
//!
//! Source: Wei and Mellor-Crummey, ICS'18, section 3.2 (Algorithm 1, lines that make the graph).

use crate::flow::{Block, Transfer};
use crate::tree::{Analysed, Key, ScopeId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most parts that are ordered.
const PARTS_MAX: usize = 512;

/// A part of a loop or function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex {
    /// The line of the call or of the inner loop; 0 if unknown.
    pub line: u32,
    /// The function that is called; empty for a loop, and for a call through a register or memory.
    pub function: Arc<str>,
    /// Whether it is an inner loop.
    pub is_loop: bool,
}

/// What can run after what in one iteration of a loop, or in one call of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flow {
    /// Ascending, each once.
    pub vertices: Vec<Vertex>,
    /// For each part whether no iteration that is followed by another, and no call that returns, can do without it.
    pub always: Vec<bool>,
    /// Places in `vertices`: the second can run after the first. Ascending, all that follow from others too. No part of a
    /// loop follows itself, as an unrolled loop has copies of a part for different iterations.
    pub edges: Vec<(usize, usize)>,
}

/// Numbers of parts.
type Set = BTreeSet<usize>;

/// The loop that a scope is or is directly in, `step` being in the scope; `Some(None)` if it is in none.
fn loop_around(analysed: &Analysed, scope: ScopeId, step: usize) -> Option<Option<usize>> {
    match scope {
        ScopeId::Loop(number) => Some(Some(number)),
        ScopeId::Function => Some(None),
        ScopeId::Inlined(_) => {
            let path = analysed.path(step);
            let at = path.iter().position(|key| scope.is(key))?;
            Some(path[..at].iter().rev().find_map(|key| match key {
                Key::Loop(number) => Some(*number),
                Key::Inlined(_) => None,
            }))
        }
    }
}

/// Where a scope runs.
struct Extent {
    /// The blocks of its loop, or of its function if that is in no loop; ascending.
    blocks: Vec<usize>,
    /// The first of them.
    header: usize,
    /// Whether they are a loop.
    repeats: bool,
}

/// `step` is in the scope.
fn extent(analysed: &Analysed, scope: ScopeId, step: usize) -> Option<Extent> {
    match loop_around(analysed, scope, step) {
        Some(Some(number)) => {
            let found = analysed.loops.get(number)?;
            Some(Extent { blocks: found.blocks.clone(), header: found.header, repeats: true })
        }
        // Of what nothing is known to lead to, it is not known what runs before.
        _ => {
            let reached = analysed.graph.reached();
            let blocks = (0..reached.len()).filter(|&block| reached[block]).collect();
            Some(Extent { blocks, header: analysed.graph.entry, repeats: false })
        }
    }
}

/// The order of the parts of a scope that an instruction is in.
pub(crate) fn of_scope(
    analysed: &Analysed,
    (scope, step): (ScopeId, usize),
    target: &dyn Fn(Transfer) -> Option<Arc<str>>,
) -> Option<Flow> {
    let is_loop = matches!(scope, ScopeId::Loop(_));
    // Jumps whose targets are not known may lead back.
    if !is_loop && 0 < analysed.graph.n_unresolved {
        return None;
    }
    let extent = extent(analysed, scope, step)?;
    let mut parts: Vec<(usize, Part)> = Vec::new();
    for step in extent.blocks.iter().flat_map(|&block| analysed.graph.blocks[block].steps.clone()) {
        parts.extend(part(analysed, scope, step, target).map(|part| (step, part)));
    }
    // What is in a loop without a line looks as if it were in the function, and comes again.
    let is_hidden = |part: &Part| part.vertex.is_loop && part.vertex.line == 0;
    if !is_loop && parts.iter().any(|(_, part)| is_hidden(part)) {
        return None;
    }
    let sure: BTreeSet<Vertex> =
        parts.iter().filter(|(_, part)| part.is_sure).map(|(_, part)| part.vertex.clone()).collect();
    parts.retain(|(_, part)| part.is_sure || !sure.contains(&part.vertex));
    let vertices: Vec<Vertex> =
        parts.iter().map(|(_, part)| &part.vertex).collect::<BTreeSet<_>>().into_iter().cloned().collect();
    if vertices.is_empty() || PARTS_MAX < vertices.len() {
        return None;
    }
    let mut of_block: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut copies: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); vertices.len()];
    for (step, Part { vertex, copy, .. }) in &parts {
        if let Ok(place) = vertices.binary_search(vertex) {
            let inside = of_block.entry(analysed.graph.block_of(*step)).or_default();
            if inside.last() != Some(&place) {
                inside.push(place);
            }
            copies[place].insert(*copy);
        }
    }
    let after = after(analysed, &extent, &of_block, vertices.len());
    let always = (0..vertices.len()).map(|part| is_always(analysed, &extent, &of_block, part)).collect();
    let follows = |a: usize, b: usize| match a == b {
        true => !is_loop && 1 < copies[a].len(),
        false => after[a].contains(&b),
    };
    let all = (0..vertices.len()).flat_map(|a| (0..vertices.len()).map(move |b| (a, b)));
    // Vertices are sorted by line.
    let edges = all.filter(|&(a, b)| follows(a, b) && (!is_loop || a < b || !follows(b, a))).collect();
    Some(Flow { vertices, always, edges })
}

/// What an instruction is part of.
struct Part {
    vertex: Vertex,
    /// Which of its copies.
    copy: u64,
    /// Whether it surely is where the source has it.
    is_sure: bool,
}

/// The part of a scope that an instruction is in.
fn part(
    analysed: &Analysed,
    scope: ScopeId,
    step: usize,
    target: &dyn Fn(Transfer) -> Option<Arc<str>>,
) -> Option<Part> {
    let path = analysed.path(step);
    let inside = match scope {
        ScopeId::Function => 0,
        _ => path.iter().position(|key| scope.is(key))? + 1,
    };
    let transfer = analysed.graph.steps[step].transfer;
    let is_call = matches!(transfer, Transfer::Call(_) | Transfer::CallSlot(_));
    let line = |place: Option<&crate::lines::Place>| place.map_or(0, |place| place.line);
    let nothing: Arc<str> = Arc::from("");
    match path.get(inside) {
        Some(Key::Loop(inner)) => {
            let line = line(analysed.frames[*inner].place.as_ref());
            let vertex = Vertex { line, function: nothing, is_loop: true };
            Some(Part { vertex, copy: *inner as u64, is_sure: true })
        }
        Some(Key::Inlined(inlined)) => {
            let has_loop = path[inside..].iter().any(|key| matches!(key, Key::Loop(_)));
            let vertex =
                Vertex { line: line(inlined.call.as_ref()), function: inlined.name.clone(), is_loop: false };
            Some(Part { vertex, copy: inlined.instance, is_sure: has_loop || is_call })
        }
        None if is_call => {
            let line = line(analysed.spot(step).place.as_ref());
            let function = target(transfer).unwrap_or(nothing);
            Some(Part { vertex: Vertex { line, function, is_loop: false }, copy: step as u64, is_sure: true })
        }
        None => None,
    }
}

/// Whether no way through a scope leads past a part. Jumps whose targets are not known may lead past all.
fn is_always(
    analysed: &Analysed,
    extent: &Extent,
    of_block: &BTreeMap<usize, Vec<usize>>,
    part: usize,
) -> bool {
    let has_part = |block: &usize| of_block.get(block).is_some_and(|inside| inside.contains(&part));
    let mut passed = BTreeSet::new();
    let mut open = vec![extent.header];
    while let Some(block) = open.pop() {
        if has_part(&block) || !passed.insert(block) {
            continue;
        }
        let Block { successors, leaves, .. } = &analysed.graph.blocks[block];
        if if extent.repeats { successors.contains(&extent.header) } else { *leaves } {
            return false;
        }
        open.extend(successors.iter().filter(|next| extent.blocks.binary_search(next).is_ok()));
    }
    analysed.graph.n_unresolved == 0
}

/// For each part those that can run after it without a step back.
fn after(
    analysed: &Analysed,
    Extent { blocks, header, .. }: &Extent,
    of_block: &BTreeMap<usize, Vec<usize>>,
    n: usize,
) -> Vec<Set> {
    // Blocks that are done, and what can run in them and behind them.
    let mut done: BTreeMap<usize, Set> = BTreeMap::new();
    let mut on_path = BTreeSet::from([*header]);
    let mut path: Vec<(usize, usize, Set)> = vec![(*header, 0, Set::new())];
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
