//! Where the functions of a file are: by symbols and unwind entries.
//!
//! Law: ranges do not overlap. A part that the compiler has put elsewhere (`NAME.cold`, or in a stripped file a part that
//! jumps back into the middle of another) belongs to its function. Stubs that only jump to imported functions are none.

use crate::flow::{self, Transfer};
use crate::image::{Image, Symbol};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    /// As the symbols have it, not demangled; none if there is no symbol.
    pub name: Option<String>,
    /// Where it begins.
    pub entry: u64,
    /// That of the entry first.
    pub ranges: Vec<Range<u64>>,
}

impl Function {
    /// Bytes of all parts.
    pub fn n_bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }
}

/// The functions of a file, by ascending address, and the stubs of imported ones.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    pub list: Vec<Function>,
    /// Ranges with the function each is of, ascending.
    index: Vec<(Range<u64>, usize)>,
    pub stubs: FxHashMap<u64, String>,
}

impl Functions {
    pub fn new(image: &Image) -> Functions {
        let symbols = best_symbols(&image.symbols);
        let pieces = pieces(image, &symbols);
        let mut list: Vec<Function> = Vec::new();
        let owners = owners(image, &pieces, &image.symbols);
        for (i, piece) in pieces.iter().enumerate() {
            if owners[i] == i {
                list.push(Function {
                    name: piece.name.clone(),
                    entry: piece.range.start,
                    ranges: vec![piece.range.clone()],
                });
            }
        }
        for (i, piece) in pieces.iter().enumerate().filter(|(i, _)| owners[*i] != *i) {
            let entry = pieces[owners[i]].range.start;
            if let Ok(at) = list.binary_search_by_key(&entry, |function| function.entry) {
                list[at].ranges.push(piece.range.clone());
            }
        }
        let ranges = |(i, function): (usize, &Function)| {
            function.ranges.clone().into_iter().map(move |range| (range, i))
        };
        let mut index: Vec<(Range<u64>, usize)> = list.iter().enumerate().flat_map(ranges).collect();
        index.sort_by_key(|(range, _)| range.start);
        Functions { list, index, stubs: stubs(image) }
    }

    /// The function that an address is in.
    pub fn around(&self, address: u64) -> Option<usize> {
        let (range, function) =
            &self.index[self.index.partition_point(|(range, _)| range.start <= address).checked_sub(1)?];
        range.contains(&address).then_some(*function)
    }

    /// The function that begins at an address.
    pub fn at(&self, entry: u64) -> Option<usize> {
        self.list.binary_search_by_key(&entry, |function| function.entry).ok()
    }
}

/// A range without gaps.
#[derive(Debug)]
struct Part {
    range: Range<u64>,
    name: Option<String>,
}

/// The best symbol of each address, ascending.
fn best_symbols(all: &[Symbol]) -> Vec<&Symbol> {
    let key = |symbol: &Symbol| {
        let n_underscores = symbol.name.bytes().take_while(|&byte| byte == b'_').count();
        (symbol.address, symbol.rank, n_underscores, symbol.name.len())
    };
    let mut symbols: Vec<&Symbol> = all.iter().collect();
    symbols.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name)));
    symbols.dedup_by_key(|symbol| symbol.address);
    symbols
}

fn is_stub_section(name: &str) -> bool {
    name.starts_with(".plt")
}

fn pieces(image: &Image, symbols: &[&Symbol]) -> Vec<Part> {
    let stubs: Vec<Range<u64>> = image
        .code_parts()
        .filter(|(name, ..)| is_stub_section(name))
        .map(|(_, address, bytes)| address..address.saturating_add(bytes.len() as u64))
        .collect();
    let is_stub = |address: u64| stubs.iter().any(|range| range.contains(&address));
    let mut unwind = image.unwind.clone();
    unwind.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    unwind.dedup_by_key(|range| range.start);
    let mut ranges: Vec<Range<u64>> = unwind.clone();
    for symbol in symbols {
        let end = match symbol.n_bytes {
            0 => image.code_end(symbol.address).unwrap_or(symbol.address),
            n_bytes => symbol.address.saturating_add(n_bytes),
        };
        let after = unwind.partition_point(|range| range.start <= symbol.address);
        // Within a function that has an unwind entry it is only a label.
        let is_known = after.checked_sub(1).is_some_and(|at| unwind[at].contains(&symbol.address));
        if !is_known {
            ranges.push(symbol.address..end);
        }
    }
    ranges.retain(|range| image.is_code(range.start) && !is_stub(range.start));
    ranges.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    ranges.dedup_by_key(|range| range.start);
    let starts: Vec<u64> = ranges.iter().map(|range| range.start).collect();
    let mut parts = Vec::new();
    for (i, range) in ranges.into_iter().enumerate() {
        let next = starts.get(i + 1).copied().unwrap_or(u64::MAX);
        let range = range.start..range.end.min(next);
        let name = symbols.binary_search_by_key(&range.start, |symbol| symbol.address).ok();
        let name = name.map(|at| symbols[at].name.clone());
        // A symbol may say more bytes than there are.
        if image.code(&range).is_some() {
            parts.push(Part { range, name });
        }
    }
    parts
}

/// For each part the one that it belongs to: mostly itself.
fn owners(image: &Image, parts: &[Part], symbols: &[Symbol]) -> Vec<usize> {
    let mut owners: Vec<usize> = (0..parts.len()).collect();
    let at = |address: u64| parts.binary_search_by_key(&address, |part| part.range.start).ok();
    let mut by_name: FxHashMap<&str, Vec<(usize, u64)>> = FxHashMap::default();
    for (place, symbol) in symbols.iter().enumerate() {
        by_name.entry(&symbol.name).or_default().push((place, symbol.address));
    }
    for (place, symbol) in symbols.iter().enumerate() {
        let Some((stem, _)) = symbol.name.split_once(".cold") else { continue };
        // Functions of one name are in different sources: that of the same source is nearest among the symbols.
        let parents = by_name.get(stem).into_iter().flatten();
        let nearest = parents.min_by_key(|(other, _)| other.abs_diff(place));
        if let (Some(own), Some(parent)) = (at(symbol.address), nearest.and_then(|&(_, address)| at(address)))
            && own != parent
        {
            owners[own] = parent;
        }
    }
    join_unnamed(image, parts, &mut owners);
    owners
}

/// Finds parts of functions among those without a name: they jump into the middle of another, and nothing calls them.
fn join_unnamed(image: &Image, parts: &[Part], owners: &mut [usize]) {
    let unnamed: Vec<usize> = (0..parts.len()).filter(|&i| parts[i].name.is_none()).collect();
    if unnamed.is_empty() {
        return;
    }
    let mut called = FxHashSet::default();
    let mut jumps: Vec<(usize, usize)> = Vec::new();
    for &i in &unnamed {
        let mut target = None;
        for instruction in flow::decode(image, std::slice::from_ref(&parts[i].range)) {
            match flow::transfer(&instruction) {
                Transfer::Call(Some(callee)) => {
                    called.insert(callee);
                }
                Transfer::Jump(to) | Transfer::Branch(to)
                    if !parts[i].range.contains(&to) && target.is_none() =>
                {
                    let after = parts.partition_point(|part| part.range.start < to);
                    let other = after.checked_sub(1).filter(|&other| parts[other].range.contains(&to));
                    target = other.filter(|&other| parts[other].range.start != to);
                }
                _ => {}
            }
        }
        jumps.extend(target.map(|target| (i, target)));
    }
    for (part, target) in jumps {
        let size = |i: usize| parts[i].range.end - parts[i].range.start;
        let is_smaller = (size(part), part) < (size(target), target);
        if !called.contains(&parts[part].range.start) && is_smaller && owners[target] == target {
            owners[part] = target;
        }
    }
    // What a part was joined to may have been joined later.
    for i in 0..owners.len() {
        let mut at = i;
        while owners[at] != at {
            at = owners[at];
        }
        owners[i] = at;
    }
}

/// The imported functions that stubs jump to.
fn stubs(image: &Image) -> FxHashMap<u64, String> {
    let mut stubs = FxHashMap::default();
    for (_, address, bytes) in image.code_parts().filter(|(name, ..)| is_stub_section(name)) {
        let range = address..address.saturating_add(bytes.len() as u64);
        for instruction in flow::decode(image, std::slice::from_ref(&range)) {
            let Transfer::JumpSlot(slot) = flow::transfer(&instruction) else { continue };
            let Some(name) = image.slots.get(&slot) else { continue };
            // Stubs have 16 bytes, or 8 where they are not bound lazily.
            for size in [16, 8] {
                let start = instruction.ip() / size * size;
                stubs.entry(start.max(address)).or_insert_with(|| name.clone());
            }
        }
    }
    stubs
}
