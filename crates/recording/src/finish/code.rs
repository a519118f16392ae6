//! The loops of binaries between the functions of a call path, and what can run after what in them.
//!
//! ```text
//! frames of an address (functions, outermost first) ──loops of the binary──► frames, loops among them ──► places shifted
//! ```
//! Law: functions stay what symbols say; a frame around a loop is at the loop's line, and the loop's own frame where the
//! function is. Loops without a line are left out, and so is one directly inside of another one of the same line, since
//! nothing tells them apart. Only code with lines is looked at.

use super::symbols::SymbolFrame;
use ouzel_otf2::code_flow::CodePartText;
use ouzel_structure::{Binary, Explorer, Flow, ScopeId};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// A frame of a path: a function or a loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeFrame {
    pub frame: SymbolFrame,
    /// Where it is in the code, if that is known.
    pub scope: Option<CodeScope>,
}

/// A function or loop of a binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CodeScope {
    module: Arc<str>,
    /// An address in it.
    address: u64,
    /// The begin of its function.
    entry: u64,
    id: ScopeId,
}

/// Which scope of which file it is: the file, the begin of its function, its place there.
pub(super) type CodeScopeKey = (Arc<str>, u64, ScopeId);

impl CodeScope {
    pub fn key(&self) -> CodeScopeKey {
        (self.module.clone(), self.entry, self.id)
    }

    pub fn is_loop(&self) -> bool {
        matches!(self.id, ScopeId::Loop(_))
    }
}

/// The file, and what is known of its code.
type OpenCode = (Arc<str>, Explorer<Arc<Binary>>);

/// The binaries met so far.
#[derive(Debug, Default)]
pub(super) struct Code {
    binaries: FxHashMap<String, Option<OpenCode>>,
    flows: FxHashMap<CodeScopeKey, Vec<CodePartText>>,
}

impl Code {
    fn open(&mut self, module: &str) -> Option<&mut OpenCode> {
        let open = || {
            let binary = Binary::open(Path::new(module)).ok()?;
            Some((Arc::from(module), Explorer::new(Arc::new(binary))))
        };
        self.binaries.entry(module.to_owned()).or_insert_with(open).as_mut()
    }

    /// Puts the loops of the code between the functions that symbols have at an address.
    pub fn frames(&mut self, module: &str, address: u64, functions: Vec<SymbolFrame>) -> Vec<CodeFrame> {
        let plain = |frame: SymbolFrame| CodeFrame { frame, scope: None };
        let has_lines = functions.iter().any(|frame| frame.place.is_some());
        let found = if has_lines { self.open(module) } else { None };
        let found = found
            .and_then(|(module, explorer)| explorer.scopes(address).map(|found| (module.clone(), found)));
        let Some((module, (entry, scopes))) = found else {
            return functions.into_iter().map(plain).collect();
        };
        let is_loop = |id: ScopeId| matches!(id, ScopeId::Loop(_));
        let n_functions = scopes.iter().filter(|scope| !is_loop(scope.id)).count();
        if n_functions != functions.len() {
            // Symbols and flow do not agree where the compiler has moved code: then loops are left out.
            return functions.into_iter().map(plain).collect();
        }
        let mut frames: Vec<CodeFrame> = Vec::new();
        let mut functions = functions.into_iter();
        for found in scopes {
            let scope = Some(CodeScope { module: module.clone(), address, entry, id: found.id });
            if !is_loop(found.id) {
                frames.extend(functions.next().map(|frame| CodeFrame { frame, scope }));
                continue;
            }
            let Some(outer) = frames.last_mut() else { continue };
            let place = Some((found.file.to_string(), found.line));
            let is_same = outer.scope.as_ref().is_some_and(CodeScope::is_loop)
                && outer.frame.file == *found.file
                && outer.frame.line == found.line;
            if found.line == 0 || found.file.is_empty() || is_same {
                continue;
            }
            let base = found.file.rsplit('/').next().unwrap_or_default();
            let frame = SymbolFrame {
                name: format!("loop at {base}:{}", found.line),
                file: found.file.to_string(),
                line: found.line,
                place: std::mem::replace(&mut outer.frame.place, place),
            };
            frames.push(CodeFrame { frame, scope });
        }
        frames
    }

    /// Addresses in the functions that a call led through and that were left by a jump, outermost first: see
    /// [`Explorer::left_by_jumps`].
    pub fn left_by_jumps(&mut self, module: &str, call: u64, reached: Option<u64>) -> Vec<u64> {
        self.open(module).map(|(_, explorer)| explorer.left_by_jumps(call, reached)).unwrap_or_default()
    }

    /// The parts of a function or loop; empty if their order is not known.
    pub fn parts(&mut self, asked: &CodeScope) -> Vec<CodePartText> {
        let key = asked.key();
        if let Some(known) = self.flows.get(&key) {
            return known.clone();
        }
        let flow = self.open(&asked.module).and_then(|(_, explorer)| explorer.flow(asked.address, asked.id));
        let parts = flow.map(|flow| parts_of_flow(&flow)).unwrap_or_default();
        self.flows.insert(key, parts.clone());
        parts
    }
}

fn parts_of_flow(flow: &Flow) -> Vec<CodePartText> {
    let mut parts: Vec<CodePartText> = flow
        .vertices
        .iter()
        .zip(&flow.always)
        .map(|(vertex, &is_always)| CodePartText {
            line: vertex.line,
            is_loop: vertex.is_loop,
            is_always,
            after: Vec::new(),
            function: vertex.function.to_string(),
        })
        .collect();
    for &(before, after) in &flow.edges {
        if let (Some(part), Ok(after)) = (parts.get_mut(before), u32::try_from(after)) {
            part.after.push(after);
        }
    }
    parts
}

/// The parts of copies of one function or loop as one. Where copies of a loop do not agree which of two parts comes first,
/// that at the lesser line does; in a function, each can follow the other. A part is always there if it is in all copies.
pub(super) fn united(a: &[CodePartText], b: &[CodePartText], is_loop: bool) -> Vec<CodePartText> {
    let key = |part: &CodePartText| (part.line, part.function.clone(), part.is_loop);
    let keys: BTreeSet<_> = a.iter().chain(b).map(key).collect();
    let keys: Vec<_> = keys.into_iter().collect();
    let n = keys.len();
    let mut follows = vec![vec![false; n]; n];
    let mut n_always = vec![0; n];
    for parts in [a, b] {
        let places: Vec<usize> =
            parts.iter().map(|part| keys.binary_search(&key(part)).unwrap_or(usize::MAX)).collect();
        for (before, part) in places.iter().zip(parts) {
            if let Some(n_always) = n_always.get_mut(*before) {
                *n_always += u32::from(part.is_always);
            }
            for after in part.after.iter().filter_map(|&after| places.get(after as usize)) {
                if let Some(cell) = follows.get_mut(*before).and_then(|row| row.get_mut(*after)) {
                    *cell = true;
                }
            }
        }
    }
    for via in 0..n {
        let through = follows[via].clone();
        for row in follows.iter_mut().filter(|row| row[via]) {
            row.iter_mut().zip(&through).for_each(|(cell, &more)| *cell |= more);
        }
    }
    // Keys are sorted by line.
    let comes_first =
        |before: usize, after: usize| before < after || before != after && !follows[after][before];
    let part = |(before, (line, function, is_inner)): (usize, &(u32, String, bool))| CodePartText {
        line: *line,
        is_loop: *is_inner,
        is_always: n_always[before] == 2,
        after: (0..n)
            .filter(|&after| follows[before][after] && (!is_loop || comes_first(before, after)))
            .filter_map(|after| u32::try_from(after).ok())
            .collect(),
        function: function.clone(),
    };
    keys.iter().enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(line: u32, after: &[u32]) -> CodePartText {
        let is_always = line == 5;
        CodePartText { line, is_loop: false, is_always, after: after.to_vec(), function: "f".to_owned() }
    }

    #[test]
    fn copies_of_a_loop_are_one() {
        let found = united(&[part(2, &[1]), part(5, &[])], &[part(5, &[1]), part(7, &[])], true);
        assert_eq!(found, [part(2, &[1, 2]), part(5, &[2]), part(7, &[])]);
        let turned =
            |is_loop| united(&[part(2, &[1]), part(5, &[])], &[part(2, &[]), part(5, &[0])], is_loop);
        assert_eq!(turned(true), [part(2, &[1]), part(5, &[])]);
        assert_eq!(turned(false), [part(2, &[0, 1]), part(5, &[0, 1])]);
        assert_eq!(united(&[part(2, &[0])], &[part(2, &[])], false), [part(2, &[0])]);
        let rare = CodePartText { is_always: false, ..part(5, &[]) };
        assert_eq!(
            united(&[part(5, &[])], &[], true),
            std::slice::from_ref(&rare),
            "a copy has no such part"
        );
        assert_eq!(united(&[part(5, &[])], std::slice::from_ref(&rare), true), std::slice::from_ref(&rare));
        assert_eq!(united(&[], &[], true), []);
    }
}
