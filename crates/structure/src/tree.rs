//! The scopes of one function: loops, inlined functions and calls, nested as in the source.
//!
//! An instruction is in loops, by the flow, and in inlined functions, by the debug information. Which of them is inside
//! of which follows from the inlined functions that the whole loop is in: those that its header, the ends of its
//! iterations and the jumps that leave it share, and the loops inside of it, too.
//! A loop's line is the least of those of its header, of the jumps that end its iterations and of those that leave it,
//! all in the function that the loop is in: after optimisation the header of an outer loop may have the line of an inner
//! one, and the jump of a `while` at the top is no end of an iteration.

use crate::flow::{FlowGraph, Transfer};
use crate::functions::Function;
use crate::lines::{Inlined, Lines, Place, Spot};
use crate::loops::{self, Loop};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a scope is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ScopeKind {
    /// A function with code of its own.
    Function,
    /// A loop.
    Loop,
    /// A function whose code was put in place of a call.
    Inlined,
    /// A call.
    Call,
}

impl ScopeKind {
    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            ScopeKind::Function => "function",
            ScopeKind::Loop => "loop",
            ScopeKind::Inlined => "inlined",
            ScopeKind::Call => "call",
        }
    }
}

/// A part of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// What it is.
    pub kind: ScopeKind,
    /// The function whose source it is in; of an inlined function its own name.
    pub function: Arc<str>,
    /// What a call leads to; empty if a register or memory says so.
    pub target: Arc<str>,
    /// The file; empty if unknown.
    pub file: Arc<str>,
    /// The line of the loop, or that of the call; 0 if unknown.
    pub line: u32,
    /// Scopes around it; 1 is directly in the function.
    pub depth: u32,
    /// Where it begins: the header of a loop, a call, or the first instruction.
    pub address: u64,
    /// Bytes of its instructions.
    pub n_bytes: u64,
    /// Whether it is a loop that is entered at several places.
    pub is_irreducible: bool,
}

/// A function and what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionStructure {
    /// Its name in the source, or where it is if the file does not name it.
    pub name: Arc<str>,
    /// The file; empty if unknown.
    pub file: Arc<str>,
    /// The line that it begins at; 0 if unknown.
    pub line: u32,
    /// Where it begins.
    pub address: u64,
    /// Bytes of all of its parts.
    pub n_bytes: u64,
    /// Jumps by tables that were not found: blocks behind them are known, but not who leads to them.
    pub n_unresolved: u64,
    /// What is in it, outer scopes before inner ones, each level by line and address.
    pub scopes: Vec<Scope>,
}

/// A scope by what it is in the binary.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Loop(usize),
    Inlined(Inlined),
}

/// Which scope of a function it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ScopeId {
    /// The function itself.
    Function,
    /// A function inlined in it, by its instance.
    Inlined(u64),
    /// A loop, by its place among those of the function.
    Loop(usize),
}

impl ScopeId {
    pub(crate) fn is(self, key: &Key) -> bool {
        match key {
            Key::Loop(number) => self == ScopeId::Loop(*number),
            Key::Inlined(inlined) => self == ScopeId::Inlined(inlined.instance),
        }
    }
}

/// A function with its flow, loops and places.
#[derive(Debug)]
pub(crate) struct Analysed {
    pub graph: FlowGraph,
    pub loops: Vec<Loop>,
    pub frames: Vec<LoopFrame>,
    /// For each instruction its entry in `spots`.
    pub spot_of: Vec<u32>,
    pub spots: Vec<Spot>,
    /// The innermost loop of each block.
    pub loop_of: Vec<Option<usize>>,
    pub name: Arc<str>,
    pub place: Option<Place>,
}

/// Where a loop is in the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LoopFrame {
    /// The inlined functions around it, outermost first.
    pub inlined: Vec<Inlined>,
    pub place: Option<Place>,
}

impl Analysed {
    pub fn new(function: &Function, graph: FlowGraph, name: &str, lines: &mut Lines) -> Analysed {
        let mut numbers: FxHashMap<Spot, u32> = FxHashMap::default();
        let mut spots = Vec::new();
        let mut spot_of = Vec::with_capacity(graph.steps.len());
        for step in &graph.steps {
            let spot = lines.spot(step.address);
            let next = u32::try_from(spots.len()).unwrap_or(u32::MAX);
            let number = *numbers.entry(spot).or_insert_with_key(|spot| {
                spots.push(spot.clone());
                next
            });
            spot_of.push(number);
        }
        let loops = loops::find(&graph);
        let mut loop_of = vec![None; graph.blocks.len()];
        for (i, found) in loops.iter().enumerate() {
            // Inner loops come after outer ones.
            found.blocks.iter().for_each(|&block| loop_of[block] = Some(i));
        }
        let name = lines.text(name);
        let place = lines.place(function.entry);
        let mut analysed =
            Analysed { graph, loops, frames: Vec::new(), spot_of, spots, loop_of, name, place };
        analysed.frames = analysed.loop_frames();
        analysed
    }

    pub fn spot(&self, step: usize) -> &Spot {
        &self.spots[self.spot_of[step] as usize]
    }

    fn loop_frames(&self) -> Vec<LoopFrame> {
        let mut frames: Vec<LoopFrame> = Vec::new();
        for found in &self.loops {
            let begin = self.graph.blocks[found.header].steps.start;
            let marks = self.ends(found).chain(self.exits(found)).chain([begin]);
            frames.push(LoopFrame { inlined: self.shared(marks), place: None });
        }
        for (i, found) in self.loops.iter().enumerate() {
            let depth = self.common_depth(i, &frames[i].inlined);
            frames[i].inlined.truncate(depth);
            debug_assert!(found.parent.is_none_or(|parent| parent < i), "outer loops come first");
        }
        for i in (0..self.loops.len()).rev() {
            if let Some(parent) = self.loops[i].parent {
                let n = n_common(&frames[parent].inlined, &frames[i].inlined);
                frames[parent].inlined.truncate(n);
            }
        }
        for (i, frame) in frames.iter_mut().enumerate() {
            frame.place = self.loop_place(&self.loops[i], &frame.inlined);
        }
        frames
    }

    /// The inlined functions that instructions share.
    fn shared(&self, steps: impl Iterator<Item = usize>) -> Vec<Inlined> {
        let mut stacks = steps.map(|step| &self.spot(step).inlined);
        let Some(first) = stacks.next() else { return Vec::new() };
        let n = stacks.fold(first.len(), |n, stack| n.min(n_common(first, stack)));
        first[..n].to_vec()
    }

    /// How many of these inlined functions most instructions of a loop are in. Header and end of a loop may both be in
    /// one that is called in the loop, such as the comparison of an iterator.
    fn common_depth(&self, at: usize, inlined: &[Inlined]) -> usize {
        let blocks = self.loops[at].blocks.iter().map(|&block| &self.graph.blocks[block]);
        let mut n_at_least = vec![0usize; inlined.len()];
        let mut n_steps = 0;
        for step in blocks.flat_map(|block| block.steps.clone()) {
            n_steps += 1;
            n_at_least[..n_common(inlined, &self.spot(step).inlined)].iter_mut().for_each(|n| *n += 1);
        }
        n_at_least.iter().take_while(|&&n| n_steps < 2 * n).count()
    }

    /// The jumps that end iterations.
    fn ends(&self, found: &Loop) -> impl Iterator<Item = usize> {
        found.latches.iter().map(|&latch| self.graph.blocks[latch].steps.end - 1)
    }

    /// The jumps that may leave a loop.
    fn exits(&self, found: &Loop) -> impl Iterator<Item = usize> {
        let is_inside = |block: &usize| found.blocks.binary_search(block).is_ok();
        let blocks = found.blocks.iter().map(|&block| &self.graph.blocks[block]);
        let leaving =
            blocks.filter(move |block| 1 < block.successors.len() && !block.successors.iter().all(is_inside));
        leaving.map(|block| block.steps.end - 1)
    }

    fn loop_place(&self, found: &Loop, inlined: &[Inlined]) -> Option<Place> {
        let place = |step: usize| {
            let spot = self.spot(step);
            let is_inside = n_common(inlined, &spot.inlined) == inlined.len();
            is_inside.then(|| spot.place_at(inlined.len())).flatten()
        };
        // What the compiler moves into a loop, such as constants, has the line of the function's beginning.
        let begin = self.graph.blocks[found.header].steps.start;
        let begin = Some(begin).filter(|&step| place(step) != self.place.as_ref());
        let marks = self.ends(found).chain(self.exits(found)).chain(begin);
        let places: Vec<&Place> = marks.filter_map(place).collect();
        let file = &places.first()?.file;
        let least = places.iter().filter(|place| place.file == *file).min().copied();
        least.cloned()
    }

    /// The loops and inlined functions that an instruction is in, outermost first.
    pub fn path(&self, step: usize) -> Vec<Key> {
        let mut around = Vec::new();
        let mut at = self.loop_of[self.graph.block_of(step)];
        while let Some(found) = at {
            around.push(found);
            at = self.loops[found].parent;
        }
        around.reverse();
        let own = &self.spot(step).inlined;
        let of_loop = around.last().map(|&found| self.frames[found].inlined.as_slice()).unwrap_or_default();
        // The compiler may have moved it into the loop of an inlined function.
        let inlined = if n_common(own, of_loop) == of_loop.len() { own.as_slice() } else { of_loop };
        let mut path = Vec::new();
        let mut around = around.into_iter().peekable();
        for depth in 0..=inlined.len() {
            while let Some(found) = around.next_if(|&found| self.frames[found].inlined.len() <= depth) {
                path.push(Key::Loop(found));
            }
            path.extend(inlined.get(depth).cloned().map(Key::Inlined));
        }
        path
    }

    /// The whole as scopes. `target` names what a call leads to.
    pub fn structure(
        &self,
        function: &Function,
        target: &dyn Fn(Transfer) -> Option<Arc<str>>,
    ) -> FunctionStructure {
        let mut builder = Builder { nodes: Vec::new(), children: FxHashMap::default() };
        let mut known: FxHashMap<(Option<usize>, u32), Option<usize>> = FxHashMap::default();
        for (step, at) in self.graph.steps.iter().enumerate() {
            let key = (self.loop_of[self.graph.block_of(step)], self.spot_of[step]);
            let node = *known.entry(key).or_insert_with(|| {
                let mut node = None;
                for key in self.path(step) {
                    node = Some(builder.child(node, key, at.address));
                }
                node
            });
            let mut around = node;
            while let Some(inner) = around {
                let inner = &mut builder.nodes[inner];
                inner.n_bytes += u64::from(at.n_bytes);
                inner.address = inner.address.min(at.address);
                around = inner.parent;
            }
            let is_call = match at.transfer {
                Transfer::Call(_) | Transfer::CallSlot(_) => true,
                // A call whose caller does not go on after it.
                Transfer::Jump(to) => self.graph.block_at(to).is_none() && target(at.transfer).is_some(),
                Transfer::JumpSlot(_) => target(at.transfer).is_some(),
                _ => false,
            };
            if is_call {
                builder.nodes.push(Node {
                    parent: node,
                    what: What::Call(step),
                    address: at.address,
                    n_bytes: u64::from(at.n_bytes),
                });
            }
        }
        let (file, line) = parts(self.place.as_ref());
        FunctionStructure {
            name: self.name.clone(),
            file,
            line,
            address: function.entry,
            n_bytes: function.n_bytes(),
            n_unresolved: self.graph.n_unresolved,
            scopes: self.scopes(&builder.nodes, target),
        }
    }

    fn scopes(&self, nodes: &[Node], target: &dyn Fn(Transfer) -> Option<Arc<str>>) -> Vec<Scope> {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len() + 1];
        for (i, node) in nodes.iter().enumerate() {
            children[node.parent.map_or(0, |parent| parent + 1)].push(i);
        }
        let scopes: Vec<Scope> = nodes.iter().map(|node| self.scope(node, nodes, target)).collect();
        for list in &mut children {
            list.sort_by_key(|&i| (scopes[i].line, scopes[i].address, scopes[i].kind));
            list.reverse();
        }
        let mut ordered = Vec::with_capacity(nodes.len());
        let mut open: Vec<(usize, u32)> = children[0].iter().map(|&i| (i, 1)).collect();
        while let Some((i, depth)) = open.pop() {
            ordered.push(Scope { depth, ..scopes[i].clone() });
            open.extend(children[i + 1].iter().map(|&child| (child, depth + 1)));
        }
        ordered
    }

    fn scope(&self, node: &Node, nodes: &[Node], target: &dyn Fn(Transfer) -> Option<Arc<str>>) -> Scope {
        let mut function = self.name.clone();
        let mut around = node.parent;
        while let Some(at) = around {
            if let What::Scope(Key::Inlined(inlined)) = &nodes[at].what {
                function = inlined.name.clone();
                break;
            }
            around = nodes[at].parent;
        }
        let nothing: Arc<str> = Arc::from("");
        let scope = |kind, place: Option<&Place>| {
            let (file, line) = parts(place);
            let (address, n_bytes) = (node.address, node.n_bytes);
            Scope {
                kind,
                function,
                target: nothing,
                file,
                line,
                depth: 0,
                address,
                n_bytes,
                is_irreducible: false,
            }
        };
        match &node.what {
            What::Scope(Key::Loop(found)) => Scope {
                address: self.graph.steps[self.graph.blocks[self.loops[*found].header].steps.start].address,
                is_irreducible: self.loops[*found].is_irreducible,
                ..scope(ScopeKind::Loop, self.frames[*found].place.as_ref())
            },
            What::Scope(Key::Inlined(inlined)) => {
                Scope { function: inlined.name.clone(), ..scope(ScopeKind::Inlined, inlined.call.as_ref()) }
            }
            What::Call(step) => {
                let transfer = self.graph.steps[*step].transfer;
                let target = target(transfer).unwrap_or_else(|| Arc::from(""));
                Scope { target, ..scope(ScopeKind::Call, self.spot(*step).place.as_ref()) }
            }
        }
    }
}

fn parts(place: Option<&Place>) -> (Arc<str>, u32) {
    place.map_or_else(|| (Arc::from(""), 0), |place| (place.file.clone(), place.line))
}

/// How many of the outermost inlined functions are the same.
fn n_common(a: &[Inlined], b: &[Inlined]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a.instance == b.instance).count()
}

#[derive(Debug)]
enum What {
    Scope(Key),
    Call(usize),
}

#[derive(Debug)]
struct Node {
    parent: Option<usize>,
    what: What,
    address: u64,
    n_bytes: u64,
}

struct Builder {
    nodes: Vec<Node>,
    children: FxHashMap<(Option<usize>, Key), usize>,
}

impl Builder {
    fn child(&mut self, parent: Option<usize>, key: Key, address: u64) -> usize {
        *self.children.entry((parent, key)).or_insert_with_key(|(parent, key)| {
            self.nodes.push(Node { parent: *parent, what: What::Scope(key.clone()), address, n_bytes: 0 });
            self.nodes.len() - 1
        })
    }
}
