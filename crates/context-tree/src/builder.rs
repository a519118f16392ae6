//! The tree of one location, from its enters and leaves.
//!
//! Everything that is open or not yet part of a loop is in one array of tokens, each with the
//! time before it. When a loop has enough iterations, they move from the array to the loop's
//! clusters and one token stays; so the array is as long as the part that does not repeat.
//! Law: durations are kept: the tree is as long as the location's run, and exclusive times
//! by region are those of its events. If a call gathers more than `OPEN_TOKENS` tokens that
//! do not repeat, its shortest calls are folded and recognition inside of it starts anew.
//! Loops are detected in [`recognise`](crate::recognise).

use crate::align::LookAhead;
use crate::assemble::{Assembler, LoopRecord, loop_key};
use crate::fold_short::fold_short;
use crate::iterations::{Incoming, Iterations};
use crate::merger::{Merger, Over};
use crate::node::{Node, StaticId};
use crate::piece::{Inner, InnerLoop, IterationColumns, Tools};
use crate::recognise::{Grown, Mark, Recogniser, SequenceScope};
use crate::rows::LoopRows;
use crate::strip::{LEAVE, LOOPS, Strip, Taken, Token};
use ouzel_model::RegionId;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Tokens that an open call gathers before its shortest calls are folded: 1.3 MB with their times.
const OPEN_TOKENS: usize = 65_536;
/// Iterations of a loop that stay in the array. Most loops in programs are short (neighbours of a rank, dimensions)
/// and part of an outer iteration; taking them out would cost more than comparing their columns.
const TAKEN_FROM: usize = 8;

/// A call that is open.
#[derive(Debug, Clone, Copy)]
struct OpenToken {
    key: Token,
    start: Mark,
    scope: SequenceScope,
    has_anchor: bool,
}

/// What blocks and other children are compared by, as one number: their token, and the part of an iteration that the last
/// synchronisation in them ends; 0 without a synchronisation or without parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChildKey(u64);

impl ChildKey {
    #[inline]
    fn new(token: Token, part: u32) -> Self {
        ChildKey(u64::from(part) << 32 | u64::from(token))
    }

    fn token(self) -> Token {
        self.0 as u32
    }

    fn part(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// What a token represents.
#[derive(Debug)]
enum Aux {
    /// Complete; for a loop, with its iterations.
    Taken(Inner, Option<Box<LoopRows>>),
    /// A loop that may still grow: index into [`Builder::growing`].
    Growing(u32),
}

/// Builds the tree of one location.
#[derive(Debug)]
pub struct Builder {
    assembler: Arc<Assembler>,
    tokens: Vec<Token>,
    times: Vec<f64>,
    /// When each token came; a loop's when its first iteration began.
    at: Vec<u64>,
    aux: Vec<Aux>,
    open: Vec<OpenToken>,
    recogniser: Recogniser<ChildKey>,
    loop_ids: LoopIds,
    growing: Vec<Option<Box<Iterations>>>,
    /// Indices of [`Aux::Growing`], ascending.
    growing_aux: Vec<u32>,
    /// When the last token came.
    last: u64,
    /// The part of an iteration that the last synchronisation ended; 0 where synchronisations of one place are alike.
    part: u32,
}

/// Tokens of loops.
#[derive(Debug, Default)]
struct LoopIds {
    ids: Vec<StaticId>,
    tokens: FxHashMap<StaticId, Token>,
}

impl LoopIds {
    fn id(&self, token: Token) -> StaticId {
        if token < LOOPS { StaticId::Region(RegionId(token)) } else { self.ids[(token - LOOPS) as usize] }
    }

    /// The token of a loop over children of these tokens.
    fn token(&mut self, body: &[ChildKey]) -> ChildKey {
        let (key, level) = loop_key(body.iter().map(|child| self.id(child.token())));
        let id = StaticId::FoundLoop { key, level };
        let next = LOOPS + self.ids.len() as Token;
        let token = *self.tokens.entry(id).or_insert(next);
        if token == next {
            self.ids.push(id);
        }
        // Like a block, a loop is of the part that its iterations begin with.
        ChildKey::new(token, body.first().map_or(0, |child| child.part()))
    }
}

impl Builder {
    /// A location that has done nothing yet.
    pub fn new(assembler: Arc<Assembler>) -> Self {
        let recogniser = Recogniser::default();
        let root =
            OpenToken { key: LEAVE, start: Mark::default(), scope: recogniser.open(), has_anchor: false };
        Builder {
            assembler,
            tokens: Vec::new(),
            times: Vec::new(),
            at: Vec::new(),
            aux: Vec::new(),
            open: vec![root],
            recogniser,
            loop_ids: LoopIds::default(),
            growing: Vec::new(),
            growing_aux: Vec::new(),
            last: 0,
            part: 0,
        }
    }

    /// The call that is left next synchronises, and ends this part of an iteration.
    pub fn set_part(&mut self, part: u32) {
        self.part = part;
    }

    /// A region is entered.
    #[inline]
    pub fn enter(&mut self, region: RegionId, time: u64) {
        let start = self.mark();
        // The execution begins with its first call.
        self.push_token(region.0, time);
        let scope = self.recogniser.open();
        let has_anchor = self.assembler.is_anchor(region);
        self.open.push(OpenToken { key: region.0, start, scope, has_anchor });
    }

    /// The innermost region is left.
    #[inline]
    pub fn leave(&mut self, time: u64) {
        if self.open.len() < 2 {
            return;
        }
        let call = self.open[self.open.len() - 1];
        if !self.recogniser.is_empty(call.scope) {
            self.settle(call.scope);
        }
        self.open.pop();
        self.push_token(LEAVE, time);
        self.child(call);
    }

    #[inline]
    fn push_token(&mut self, token: Token, time: u64) {
        let last = if self.tokens.is_empty() && self.open.len() == 1 { time } else { self.last };
        self.tokens.push(token);
        // Signed numbers become floats in one instruction, and no gap needs the last bit.
        self.times.push(time.saturating_sub(last) as i64 as f64);
        self.at.push(time);
        self.last = time;
    }

    #[inline]
    fn mark(&self) -> Mark {
        Mark { at: self.tokens.len() as u32, aux: self.aux.len() as u32 }
    }

    /// A child of the innermost open call is complete.
    #[inline]
    fn child(&mut self, child: OpenToken) {
        let OpenToken { key, start, has_anchor, .. } = child;
        let key = ChildKey::new(key, if has_anchor { self.part } else { 0 });
        let caller = self.open.len() - 1;
        let scope = self.open[caller].scope;
        let Builder { recogniser, loop_ids, .. } = self;
        let loop_token = |body: &[ChildKey]| loop_ids.token(body);
        // Marks are passed by value: a mark in memory is written in halves and read as a whole, which stalls.
        let start = match recogniser.settle_stretch(scope, Some(key), start, loop_token) {
            Some(grown) => self.take(grown, start),
            None => start,
        };
        let grown = if has_anchor {
            self.open[caller].has_anchor = true;
            self.anchor(caller, key, start)
        } else {
            let end = self.mark();
            let Builder { recogniser, loop_ids, .. } = self;
            recogniser.child(scope, key, [start, end], |body| loop_ids.token(body))
        };
        if let Some(grown) = grown {
            // Nothing follows it.
            self.take(grown, self.mark());
        }
        let caller_start = self.open[caller].start.at as usize;
        if OPEN_TOKENS < self.tokens.len() - caller_start {
            self.fold_short();
        }
    }

    #[inline(never)]
    fn anchor(&mut self, caller: usize, key: ChildKey, start: Mark) -> Option<Grown> {
        let scope = self.open[caller].scope;
        let mut block_start = self.recogniser.stretch_start(scope).unwrap_or(start);
        let Builder { recogniser, loop_ids, .. } = self;
        if let Some(grown) = recogniser.settle_blocks(scope, Some(key), start, |body| loop_ids.token(body)) {
            let moved = self.take(grown, start);
            block_start.at -= start.at - moved.at;
            block_start.aux = (block_start.aux + moved.aux) - start.aux;
        }
        let end = self.mark();
        let Builder { recogniser, loop_ids, open, .. } = self;
        recogniser.anchor(&mut open[caller].scope, key, [block_start, end], |body| loop_ids.token(body))
    }

    /// No more children come in the innermost call.
    #[inline(never)]
    fn settle(&mut self, scope: SequenceScope) {
        let end = self.mark();
        let Builder { recogniser, loop_ids, .. } = self;
        if let Some(grown) = recogniser.settle_stretch(scope, None, end, |body| loop_ids.token(body)) {
            self.take(grown, end);
        }
        let end = self.mark();
        let Builder { recogniser, loop_ids, .. } = self;
        if let Some(grown) = recogniser.settle_blocks(scope, None, end, |body| loop_ids.token(body)) {
            self.take(grown, end);
        }
        self.recogniser.close(scope);
        let first = self.open[self.open.len() - 1].start.aux;
        self.close_growing(first as usize, self.aux.len());
    }

    /// Takes the iterations of a loop that has grown, if there are enough; returns the new position of a later mark.
    fn take(&mut self, grown: Grown, behind: Mark) -> Mark {
        let Grown { found: index, end, .. } = grown;
        let found = self.recogniser.found(index);
        let is_new = found.slot.is_none();
        // What stays in the array is recognised again, without parts.
        let has_parts = found.body.iter().any(|child| child.part() != 0);
        if is_new && found.starts.len() < TAKEN_FROM && !has_parts {
            return behind;
        }
        let mut starts = std::mem::take(&mut found.starts);
        let (key, is_anchored, first_key) = (found.key.token(), found.is_anchored, found.body[0].token());
        if is_new {
            found.slot = Some(self.growing.len() as u32);
            self.growing.push(Some(Box::new(Iterations::new(key))));
            if is_anchored {
                starts[0] = first_start(first_key, &self.tokens, &starts);
            }
            self.begin_loop(&mut starts, key, index);
        }
        // The token of a new loop moves everything by one.
        let moved = |mark: Mark| Mark { at: mark.at + u32::from(is_new), aux: mark.aux + u32::from(is_new) };
        let (end, behind) = (moved(end), moved(behind));
        let slot = self.recogniser.found(index).slot.expect("it was given one");
        self.take_iterations(slot, &starts, end);
        let behind =
            Mark { at: behind.at - (end.at - starts[0].at), aux: behind.aux - (end.aux - starts[0].aux) };
        // The buffer is used again.
        starts.clear();
        self.recogniser.found(index).starts = starts;
        behind
    }

    /// Puts the token of a loop in front of its first iteration.
    fn begin_loop(&mut self, starts: &mut [Mark], key: Token, index: u32) {
        let (first, second) = (starts[0].at as usize, starts[1].at as usize);
        // The excess over the gap before the second iteration was before the loop.
        let before = (self.times[first] - self.times[second]).max(0.0);
        self.times[first] -= before;
        let began = self.at[first].saturating_sub(self.times[first] as u64);
        self.tokens.insert(first, key);
        self.times.insert(first, before);
        self.at.insert(first, began);
        let aux = starts[0].aux;
        let slot = self.recogniser.found(index).slot.expect("it was given one");
        self.aux.insert(aux as usize, Aux::Growing(slot));
        let place = self.growing_aux.partition_point(|&other| other < aux);
        for other in &mut self.growing_aux[place..] {
            *other += 1;
        }
        self.growing_aux.insert(place, aux);
        for start in starts {
            *start = Mark { at: start.at + 1, aux: start.aux + 1 };
        }
    }

    /// Moves the iterations that begin at `starts`, the last up to `end`, into the clusters of a loop.
    fn take_iterations(&mut self, slot: u32, starts: &[Mark], end: Mark) {
        let first = starts[0];
        self.close_growing(first.aux as usize, end.aux as usize);
        let mut iterations = self.growing[slot as usize].take().expect("the loop is growing");
        let n_aux = (end.aux - first.aux) as usize;
        let mut aux = self.aux.splice(first.aux as usize..end.aux as usize, []).map(|aux| match aux {
            Aux::Taken(inner, _) => inner,
            Aux::Growing(_) => unreachable!("loops inside were closed"),
        });
        let tools = tools(&self.assembler);
        for (i, start) in starts.iter().enumerate() {
            let next = starts.get(i + 1).copied().unwrap_or(end);
            let range = start.at as usize..next.at as usize;
            let aux: Vec<Inner> = aux.by_ref().take((next.aux - start.aux) as usize).collect();
            let times = &self.times[range.clone()];
            let duration = times.iter().sum::<f64>() + aux.iter().map(Inner::duration).sum::<f64>();
            let end = range.end.checked_sub(1).map_or(self.last, |last| self.at[last]);
            let columns = IterationColumns { tokens: &self.tokens[range], times };
            iterations.push(Incoming { columns, aux, duration, end }, tools);
        }
        drop(aux);
        self.growing[slot as usize] = Some(iterations);
        let range = first.at as usize..end.at as usize;
        if end.at as usize == self.tokens.len() {
            self.tokens.truncate(range.start);
            self.times.truncate(range.start);
            self.at.truncate(range.start);
        } else {
            self.tokens.drain(range.clone());
            self.times.drain(range.clone());
            self.at.drain(range);
        }
        let place = self.growing_aux.partition_point(|&other| other < end.aux);
        for other in &mut self.growing_aux[place..] {
            *other -= n_aux as u32;
        }
    }

    /// Closes the loops among `aux[first..end]`.
    #[inline]
    fn close_growing(&mut self, first: usize, end: usize) {
        let low = self.growing_aux.partition_point(|&aux| (aux as usize) < first);
        let high = self.growing_aux.partition_point(|&aux| (aux as usize) < end);
        for at in low..high {
            let aux = self.growing_aux[at] as usize;
            self.close_loop(aux);
        }
        self.growing_aux.drain(low..high);
        // Slots are freed in the order in which they were given, inner calls first.
        while self.growing.last().is_some_and(Option::is_none) {
            self.growing.pop();
        }
    }

    #[inline(never)]
    fn close_loop(&mut self, aux: usize) {
        let Aux::Growing(slot) = self.aux[aux] else { return };
        let Some(iterations) = self.growing[slot as usize].take() else { return };
        let id = self.loop_ids.id(iterations.token);
        let caller = self.open.last().filter(|call| call.key < LOOPS).map(|call| RegionId(call.key));
        let key = if let StaticId::FoundLoop { key, .. } = id { Some(key) } else { None };
        let source = self.assembler.loop_source(caller, key);
        let assembler = self.assembler.clone();
        let (body, rows) = iterations.close(source, tools(&assembler));
        let inner = Inner::Loop(Box::new(InnerLoop { id, body }));
        self.aux[aux] = Aux::Taken(inner, Some(Box::new(rows)));
    }

    /// Folds the shortest calls inside of the innermost open call.
    #[cold]
    fn fold_short(&mut self) {
        let call = self.open[self.open.len() - 1];
        self.settle(call.scope);
        let call_mut = self.open.last_mut().expect("the execution is open");
        call_mut.scope = self.recogniser.open();
        // After the token that enters it; the execution has none.
        let first = Mark { at: call.start.at + u32::from(call.key != LEAVE), aux: call.start.aux };
        let aux = self.aux.split_off(first.aux as usize);
        let mut strip = Strip {
            aux: taken(aux, &self.assembler),
            tokens: self.tokens.split_off(first.at as usize),
            times: self.times.split_off(first.at as usize),
        };
        let at = self.at.split_off(first.at as usize);
        let assembler = &self.assembler;
        let kept = fold_short(&mut strip, OPEN_TOKENS / 2, |region| assembler.is_anchor(region));
        self.at.extend(kept.into_iter().map(|old| at[old as usize]));
        self.tokens.append(&mut strip.tokens);
        self.times.append(&mut strip.times);
        self.aux
            .extend(strip.aux.into_iter().map(|Taken { node, rows }| Aux::Taken(Inner::Tree(node), rows)));
    }

    /// The tree, its loops, and when the location's first call began.
    pub fn finish(mut self) -> (Node, Vec<LoopRecord>) {
        // Callers close the calls that they nest; a call still open would have no end.
        while 1 < self.open.len() {
            self.leave(self.last);
        }
        let root = self.open[0].scope;
        self.settle(root);
        let aux = taken(self.aux, &self.assembler);
        let strip = Strip { tokens: self.tokens, times: self.times, aux };
        self.assembler.location(strip, self.at)
    }
}

/// The trees of complete loops and profiles.
fn taken(aux: Vec<Aux>, assembler: &Assembler) -> Vec<Taken> {
    let tree = |aux| match aux {
        Aux::Taken(inner, rows) => Some(Taken { node: inner.to_node(tools(assembler)), rows }),
        Aux::Growing(_) => None,
    };
    aux.into_iter().filter_map(tree).collect()
}

fn tools(assembler: &Assembler) -> Tools<'_> {
    Tools { assembler, merger: Merger::exact(&LookAhead, Over::Iterations) }
}

/// Where the first iteration of a loop over blocks begins: of the children before its first anchor, the longest
/// suffix whose ids are in the second iteration, too.
fn first_start(anchor: Token, tokens: &[Token], starts: &[Mark]) -> Mark {
    let children = |from: Mark, to: Mark| {
        let mut children: Vec<(Token, Mark)> = Vec::new();
        let (mut depth, mut aux) = (0_u32, from.aux);
        for at in from.at..to.at {
            let token = tokens[at as usize];
            if token == LEAVE {
                depth = depth.saturating_sub(1);
                continue;
            }
            if depth == 0 {
                children.push((token, Mark { at, aux }));
            }
            if token < LOOPS {
                depth += 1;
            } else {
                aux += 1;
            }
        }
        children
    };
    let (first, second) = (children(starts[0], starts[1]), children(starts[1], starts[2]));
    let n_before = first.iter().position(|&(token, _)| token == anchor).unwrap_or(0);
    let is_inside = |&&(token, _): &&(Token, Mark)| second.iter().any(|&(other, _)| other == token);
    let n_inside = first[..n_before].iter().rev().take_while(is_inside).count();
    first.get(n_before - n_inside).map_or(starts[0], |&(_, mark)| mark)
}
