//! Loops of a sequence of phases.
//!
//! ```text
//! I A B A B A B C           ──►   I  3×{A B}  C
//! A B B B A B B B A B B B   ──►   3×{A 3×{B}}
//! ```
//!
//! Traces do not mark the loops of a program; they are found as blocks that repeat at least three
//! times side by side, the shortest first, so that inner loops are found before the outer ones are
//! complete. A block that follows a loop and equals its body is one more iteration. Loops count as equal
//! whatever their number of iterations. Each phase gets a *slot*, its static place in the nest of loops,
//! and the number of its iteration in each loop around it.
//!
//! Law: unrolling the loops gives the sequence back. What a phase costs is not considered, and what is called in it only
//! to divide phases that end alike.

use super::output::PhaseGroup;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Most slots that are kept separate. Reports list slots; chosen by the author.
pub(crate) const MAX_SLOTS: usize = 512;

/// Number of blocks side by side that make a loop.
const N_BLOCKS: usize = 3;

/// How many earlier occurrences of a phase are tried as the end of the previous block.
const MAX_TRIED: usize = 512;

/// A phase, or a loop over phases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StructureItem {
    /// The phase of this index.
    One(u32),
    /// Equal blocks, one for each iteration.
    Loop(Vec<Vec<StructureItem>>),
}

/// Where a phase is in the nest of loops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// The loops around it, outermost first; indices into [`Structure::loops`].
    pub loops: Vec<u32>,
    /// The phases, ascending.
    pub phases: Vec<u32>,
}

/// A loop, over all the times that it was run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loop {
    /// The loop around it.
    pub parent: Option<u32>,
    /// Iterations of each run, in order of time.
    pub n_iterations: Vec<u32>,
    /// First and last phase of each iteration, in order of time.
    pub iterations: Vec<(u32, u32)>,
}

/// A sequence of phases as nested loops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    /// The sequence.
    pub items: Vec<StructureItem>,
    /// Static loops, outer ones before inner ones.
    pub loops: Vec<Loop>,
    /// Slots in order of their first phase.
    pub slots: Vec<Slot>,
    /// For each phase its slot.
    pub slot_of: Vec<u32>,
    /// For each phase the number of its iteration in each loop around it, outermost first.
    pub iterations_of: Vec<Vec<u32>>,
    /// Whether there were more than `MAX_SLOTS` slots, so that those with the same synchronisation are one,
    /// outside of all loops.
    pub slots_are_merged: bool,
}

impl Structure {
    /// The outermost loop that takes most of the run.
    pub fn main_loop(&self, group: &PhaseGroup) -> Option<&Loop> {
        let time = |&iteration: &(u32, u32)| {
            let range = group.range_of(iteration);
            range.end.since(range.start).0
        };
        let outermost = self.loops.iter().filter(|it| it.parent.is_none());
        outermost.max_by_key(|it| it.iterations.iter().map(time).sum::<u64>())
    }

    /// The loops of a sequence in which equal numbers are like phases.
    pub(crate) fn of_sequence(sequence: &[u32]) -> Self {
        let mut stack = Stack::default();
        for (phase, &symbol) in sequence.iter().enumerate() {
            stack.push_phase(phase as u32, symbol);
        }
        let items: Vec<StructureItem> = stack.entries.into_iter().map(|entry| entry.item).collect();
        let mut structure = Structure {
            items: Vec::new(),
            loops: Vec::new(),
            slots: Vec::new(),
            slot_of: vec![0; sequence.len()],
            iterations_of: vec![Vec::new(); sequence.len()],
            slots_are_merged: false,
        };
        Places { structure: &mut structure, known: BTreeMap::new(), numbers: Vec::new(), loops: Vec::new() }
            .place(&items, 0);
        structure.items = items;
        if MAX_SLOTS < structure.slots.len() {
            structure.merge_slots(sequence);
        }
        structure
    }

    /// Makes one slot of all phases that are alike.
    fn merge_slots(&mut self, sequence: &[u32]) {
        let mut slot_of_symbol: BTreeMap<u32, u32> = BTreeMap::new();
        self.slots.clear();
        for (phase, symbol) in sequence.iter().enumerate() {
            let next = self.slots.len() as u32;
            let slot = *slot_of_symbol.entry(*symbol).or_insert(next);
            if slot == next {
                self.slots.push(Slot { loops: Vec::new(), phases: Vec::new() });
            }
            self.slots[slot as usize].phases.push(phase as u32);
            self.slot_of[phase] = slot;
            self.iterations_of[phase].clear();
        }
        self.slots_are_merged = true;
    }
}

/// An item with the symbol that it is compared by.
#[derive(Debug)]
struct ComparedItem {
    symbol: usize,
    item: StructureItem,
}

/// What makes items alike: a phase of some kind, or a loop with some body.
#[derive(Debug, Default)]
struct Symbol {
    /// Symbols of the body; empty for a phase.
    body: Box<[usize]>,
    /// Where it occurs, ascending.
    places: Vec<usize>,
}

/// The items so far, loops closed as far as possible.
#[derive(Debug, Default)]
struct Stack {
    entries: Vec<ComparedItem>,
    symbols: Vec<Symbol>,
    /// Where loops are, ascending.
    loops: Vec<usize>,
    of_phase: FxHashMap<u32, usize>,
    of_body: FxHashMap<Box<[usize]>, usize>,
}

impl Stack {
    fn push_phase(&mut self, phase: u32, key: u32) {
        let symbol = *self.of_phase.entry(key).or_insert(self.symbols.len());
        if symbol == self.symbols.len() {
            self.symbols.push(Symbol::default());
        }
        self.push(symbol, StructureItem::One(phase));
        while self.absorb() || self.close() {}
    }

    fn push(&mut self, symbol: usize, item: StructureItem) {
        let at = self.entries.len();
        self.symbols[symbol].places.push(at);
        if matches!(item, StructureItem::Loop(_)) {
            self.loops.push(at);
        }
        self.entries.push(ComparedItem { symbol, item });
    }

    /// Removes the last `n` items.
    fn pop(&mut self, n: usize) -> Vec<StructureItem> {
        let from = self.entries.len() - n;
        let popped = self.entries.split_off(from);
        for entry in &popped {
            let places = &mut self.symbols[entry.symbol].places;
            places.truncate(places.partition_point(|&place| place < from));
        }
        self.loops.truncate(self.loops.partition_point(|&place| place < from));
        popped.into_iter().map(|entry| entry.item).collect()
    }

    /// Makes the last items one more iteration of the loop before them, or of the loop that ends its last iteration.
    fn absorb(&mut self) -> bool {
        let n = self.entries.len();
        let found =
            self.loops.iter().rev().take(MAX_TRIED).find_map(|&at| Some((at, self.continued(at, n)?)));
        let Some((at, depth)) = found else { return false };
        let iteration = self.pop(n - 1 - at);
        if let Some(iterations) = last_loop(&mut self.entries[at].item, depth) {
            iterations.push(iteration);
        }
        true
    }

    /// How deep in the loop at `at` the loop ends that the items behind it continue.
    fn continued(&self, at: usize, n: usize) -> Option<usize> {
        let behind = &self.entries[at + 1..n];
        if behind.is_empty() {
            return None;
        }
        let mut body = &self.symbols[self.entries[at].symbol].body;
        let mut depth = 0;
        loop {
            let is_next = |&symbol: &usize, entry: &ComparedItem| symbol == entry.symbol;
            if body.len() == behind.len()
                && body.iter().zip(behind).all(|(symbol, entry)| is_next(symbol, entry))
            {
                return Some(depth);
            }
            body = &self.symbols[*body.last()?].body;
            depth += 1;
        }
    }

    /// Makes a loop of equal blocks at the end.
    fn close(&mut self) -> bool {
        let Some(last) = self.entries.last() else { return false };
        let n = self.entries.len();
        let places = &self.symbols[last.symbol].places;
        let lengths = places.iter().rev().skip(1).take(MAX_TRIED).map(|place| n - 1 - place);
        let repeats = |&length: &usize| {
            let blocks = n - (N_BLOCKS - 1) * length..n;
            blocks.rev().all(|i| self.entries[i].symbol == self.entries[i - length].symbol)
        };
        let found = lengths.take_while(|length| N_BLOCKS * length <= n).find(repeats);
        let Some(length) = found else { return false };
        let body: Box<[usize]> = self.entries[n - length..].iter().map(|entry| entry.symbol).collect();
        let mut iterations: Vec<Vec<StructureItem>> = (0..N_BLOCKS).map(|_| self.pop(length)).collect();
        iterations.reverse();
        let symbol = *self.of_body.entry(body.clone()).or_insert(self.symbols.len());
        if symbol == self.symbols.len() {
            self.symbols.push(Symbol { body, places: Vec::new() });
        }
        self.push(symbol, StructureItem::Loop(iterations));
        true
    }
}

/// The iterations of the loop that is `depth` times the last item of the last iteration.
fn last_loop(item: &mut StructureItem, depth: usize) -> Option<&mut Vec<Vec<StructureItem>>> {
    let mut item = item;
    for _ in 0..depth {
        item = match item {
            StructureItem::Loop(iterations) => iterations.last_mut()?.last_mut()?,
            StructureItem::One(_) => return None,
        };
    }
    match item {
        StructureItem::Loop(iterations) => Some(iterations),
        StructureItem::One(_) => None,
    }
}

/// Gives phases their slots.
struct Places<'a> {
    structure: &'a mut Structure,
    /// Static places: the place around, the position there, to the place, which is a slot or a loop.
    known: BTreeMap<(u32, u32), u32>,
    numbers: Vec<u32>,
    loops: Vec<u32>,
}

impl Places<'_> {
    /// `within` is 0 outside of loops, else one more than the loop. Nesting is as deep as loops are.
    fn place(&mut self, items: &[StructureItem], within: u32) {
        for (position, item) in items.iter().enumerate() {
            let key = (within, position as u32);
            match item {
                StructureItem::One(phase) => self.place_phase(*phase, key),
                StructureItem::Loop(iterations) => self.place_loop(iterations, key),
            }
        }
    }

    fn place_phase(&mut self, phase: u32, key: (u32, u32)) {
        let Structure { slots, slot_of, iterations_of, .. } = &mut *self.structure;
        let slot = *self.known.entry(key).or_insert(slots.len() as u32);
        if slot as usize == slots.len() {
            slots.push(Slot { loops: self.loops.clone(), phases: Vec::new() });
        }
        slots[slot as usize].phases.push(phase);
        slot_of[phase as usize] = slot;
        iterations_of[phase as usize].clone_from(&self.numbers);
    }

    fn place_loop(&mut self, iterations: &[Vec<StructureItem>], key: (u32, u32)) {
        let loops = &mut self.structure.loops;
        let this = *self.known.entry(key).or_insert(loops.len() as u32);
        if this as usize == loops.len() {
            let parent = self.loops.last().copied();
            loops.push(Loop { parent, n_iterations: Vec::new(), iterations: Vec::new() });
        }
        loops[this as usize].n_iterations.push(iterations.len() as u32);
        self.loops.push(this);
        for (number, items) in iterations.iter().enumerate() {
            let range = (first_phase(items), last_phase(items));
            self.structure.loops[this as usize].iterations.push(range);
            self.numbers.push(number as u32);
            self.place(items, this + 1);
            self.numbers.pop();
        }
        self.loops.pop();
    }
}

/// The first phase of a block; a block is never empty.
fn first_phase(items: &[StructureItem]) -> u32 {
    let mut items = items;
    loop {
        match items.first() {
            Some(StructureItem::One(phase)) => return *phase,
            Some(StructureItem::Loop(iterations)) => items = iterations.first().map_or(&[], Vec::as_slice),
            None => return 0,
        }
    }
}

/// The last phase of a block; a block is never empty.
fn last_phase(items: &[StructureItem]) -> u32 {
    let mut items = items;
    loop {
        match items.last() {
            Some(StructureItem::One(phase)) => return *phase,
            Some(StructureItem::Loop(iterations)) => items = iterations.last().map_or(&[], Vec::as_slice),
            None => return 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouzel_testkit::Rng;

    fn show(items: &[StructureItem], sequence: &[u32]) -> String {
        let one = |item: &StructureItem| match item {
            StructureItem::One(phase) => char::from_u32(sequence[*phase as usize]).unwrap().to_string(),
            StructureItem::Loop(iterations) => {
                let shown: Vec<String> = iterations.iter().map(|items| show(items, sequence)).collect();
                if shown.windows(2).all(|pair| pair[0] == pair[1]) {
                    format!("({})x{}", shown[0], shown.len())
                } else {
                    format!("({})", shown.join("|"))
                }
            }
        };
        items.iter().map(one).collect()
    }

    fn unroll(items: &[StructureItem], into: &mut Vec<u32>) {
        for item in items {
            match item {
                StructureItem::One(phase) => into.push(*phase),
                StructureItem::Loop(iterations) => iterations.iter().for_each(|items| unroll(items, into)),
            }
        }
    }

    /// The structure of the letters, which must unroll to them and give like slots to like phases.
    fn structure_of(sequence: &[u32]) -> Structure {
        let structure = Structure::of_sequence(sequence);
        let mut phases = Vec::new();
        unroll(&structure.items, &mut phases);
        assert!(phases.iter().copied().eq(0..sequence.len() as u32));
        for (i, slot) in structure.slots.iter().enumerate() {
            assert!(!slot.phases.is_empty() && slot.phases.is_sorted());
            let symbol = sequence[slot.phases[0] as usize];
            for &phase in &slot.phases {
                assert_eq!(structure.slot_of[phase as usize] as usize, i);
                assert_eq!(sequence[phase as usize], symbol);
                if !structure.slots_are_merged {
                    assert_eq!(structure.iterations_of[phase as usize].len(), slot.loops.len());
                }
            }
        }
        assert_eq!(structure.slots.iter().map(|slot| slot.phases.len()).sum::<usize>(), sequence.len());
        structure
    }

    fn check(sequence: &str, expected: &str) {
        let sequence: Vec<u32> = sequence.chars().map(u32::from).collect();
        assert_eq!(show(&structure_of(&sequence).items, &sequence), expected);
    }

    #[test]
    fn blocks_that_repeat_three_times_are_loops() {
        check("", "");
        check("iabcf", "iabcf");
        check("iaaf", "iaaf");
        check("iaaaf", "i(a)x3f");
        check("iababababf", "i(ab)x4f");
        check("abaabaaba", "(aba)x3");
        check("iabcabcabcabf", "i(abc)x3abf");
    }

    #[test]
    fn loops_nest_and_inner_counts_may_differ() {
        check("iabbbabbbabbbf", "i(a(b)x3)x3f");
        check("iabbbabbbbabbbbbf", "i(a(b)x3|a(b)x4|a(b)x5)f");
        check("aaabaaabaaabcaaabaaabaaabcaaabaaabaaabc", "(((a)x3b)x3c)x3");
    }

    #[test]
    fn slots_are_places_in_the_nest() {
        let sequence: Vec<u32> = "iabbbabbbbabbbbbf".chars().map(u32::from).collect();
        let structure = structure_of(&sequence);
        let slots: Vec<(usize, usize)> =
            structure.slots.iter().map(|s| (s.loops.len(), s.phases.len())).collect();
        assert_eq!(slots, [(0, 1), (1, 3), (2, 12), (0, 1)]);
        assert_eq!(structure.loops[1].parent, Some(0));
        assert_eq!(structure.loops[1].n_iterations, [3, 4, 5]);
        assert_eq!(structure.loops[0].iterations, [(1, 4), (5, 9), (10, 15)]);
        assert_eq!(structure.iterations_of[15], [2, 4]);
    }

    #[test]
    fn random_nests_are_found_again() {
        for seed in 0..200 {
            let mut rng = Rng::new(seed);
            let mut sequence = Vec::new();
            nest(&mut rng, 3, &mut sequence);
            structure_of(&sequence);
        }
    }

    /// A random program of loops, and some noise.
    fn nest(rng: &mut Rng, depth: u32, into: &mut Vec<u32>) {
        for _ in 0..1 + rng.below(3) {
            match rng.below(3) {
                0 if 0 < depth => {
                    let mut body = Vec::new();
                    nest(rng, depth - 1, &mut body);
                    (0..1 + rng.below(6)).for_each(|_| into.extend(&body));
                }
                _ => into.push(rng.below(4) as u32),
            }
        }
    }

    #[test]
    fn a_long_loop_is_one_item() {
        let sequence: Vec<u32> = (0..60_000).map(|i| i % 7).collect();
        let structure = structure_of(&sequence);
        assert_eq!(
            (structure.loops.len(), structure.slots.len()),
            (1, 10),
            "seven in the loop, three behind it"
        );
    }

    #[test]
    fn too_many_slots_are_merged() {
        let mut rng = Rng::new(1);
        let sequence: Vec<u32> = (0..3000).map(|_| rng.below(40) as u32).collect();
        let structure = structure_of(&sequence);
        assert!(structure.slots_are_merged);
        assert_eq!(structure.slots.len(), 40);
    }
}
