//! A binary: its functions, each analysed when it is asked for, and all of them at once.

use crate::flow::{FlowGraph, Transfer};
use crate::functions::{Function, Functions};
use crate::image::Image;
use crate::lines::Lines;
use crate::order::{self, Flow};
use crate::tail_calls::{self, Exit, Target};
use crate::tree::{Analysed, FunctionStructure, Key, ScopeId};
use crate::{StructureError, names};
use ouzel_files::input;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most bytes of a file that are read: larger ones than any program.
const FILE_BYTES_MAX: u64 = 4 << 30;
/// Functions that one thread takes at a time.
const FUNCTIONS_AT_ONCE: usize = 32;
/// Calls of calls that are looked at to find out whether a function ever returns.
const RETURN_DEPTH: u8 = 3;

/// A file with its functions.
#[derive(Debug)]
pub struct Binary {
    path: PathBuf,
    image: Image,
    functions: Functions,
}

/// What a file's functions look like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Structure {
    /// The build id in hexadecimal digits, if there is one.
    pub build_id: Option<String>,
    /// Bytes of code in functions.
    pub n_code_bytes: u64,
    /// By ascending address.
    pub functions: Vec<FunctionStructure>,
    /// What is missing or doubtful.
    pub notices: Vec<String>,
}

/// Whether functions return, as far as it was asked.
type Returns = FxHashMap<(usize, u8), bool>;

impl Binary {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is no ELF file, is for another machine, or nothing of it can be used.
    pub fn open(path: &Path) -> Result<Binary, StructureError> {
        let image = Image::new(input::read_limited(path, FILE_BYTES_MAX)?)?;
        let functions = Functions::new(&image);
        Ok(Binary { path: path.to_owned(), image, functions })
    }

    /// The build id in hexadecimal digits, if there is one.
    pub fn build_id(&self) -> Option<&str> {
        self.image.build_id.as_deref()
    }

    /// The whole file.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.image.bytes()
    }

    /// All functions, by up to `n_threads` threads. `only`: a function's name in the source; others are left out.
    pub fn structure(&self, n_threads: usize, only: Option<&str>) -> Structure {
        let all = 0..self.functions.list.len();
        let is_asked = |&i: &usize| only.is_none_or(|name| *self.name(i) == *name);
        let asked: Vec<usize> = all.filter(is_asked).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut explorer = Explorer::new(self);
            let mut done = Vec::new();
            loop {
                let start = next.fetch_add(FUNCTIONS_AT_ONCE, Ordering::Relaxed);
                let Some(chunk) = asked.get(start..asked.len().min(start + FUNCTIONS_AT_ONCE)) else { break };
                if chunk.is_empty() {
                    break;
                }
                done.extend(chunk.iter().map(|&function| explorer.structure(function)));
            }
            (done, explorer.trouble)
        };
        let n_threads = n_threads.clamp(1, asked.len().div_ceil(FUNCTIONS_AT_ONCE).max(1));
        let results: Vec<(Vec<FunctionStructure>, Option<String>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..n_threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            let others = threads.into_iter().filter_map(|thread| thread.join().ok());
            std::iter::once(own).chain(others).collect()
        });
        let trouble = results.iter().find_map(|(_, trouble)| trouble.clone());
        let mut functions: Vec<FunctionStructure> = results.into_iter().flat_map(|(done, _)| done).collect();
        functions.sort_by_key(|function| function.address);
        Structure {
            build_id: self.image.build_id.clone(),
            n_code_bytes: functions.iter().map(|function| function.n_bytes).sum(),
            notices: self.notices(&functions, trouble),
            functions,
        }
    }

    fn notices(&self, functions: &[FunctionStructure], trouble: Option<String>) -> Vec<String> {
        let mut notices = self.image.notices.clone();
        if let Some(trouble) = trouble {
            notices.push(format!("the debug information cannot be read: {trouble}"));
        }
        if self.functions.list.is_empty() {
            notices.push("no functions: there are neither symbols nor unwind entries".to_owned());
        } else if self.functions.list.iter().all(|function| function.name.is_none()) {
            notices.push("no symbols: functions are those of the unwind entries, without names".to_owned());
        }
        let has_lines = functions.iter().any(|function| 0 < function.line);
        if !functions.is_empty() && !has_lines {
            notices.push(
                "no debug information: compile with -g for files, lines and inlined functions".to_owned(),
            );
        }
        let unresolved: Vec<&FunctionStructure> =
            functions.iter().filter(|function| 0 < function.n_unresolved).collect();
        if let Some(first) = unresolved.first() {
            let n: u64 = unresolved.iter().map(|function| function.n_unresolved).sum();
            notices.push(format!(
                "the jump tables of {n} jumps in {} functions (such as {}) were not found: loops around them may be missing",
                unresolved.len(),
                first.name
            ));
        }
        notices
    }

    /// The name of a function in the source, or where it is.
    fn name(&self, function: usize) -> String {
        let Function { name, entry, .. } = &self.functions.list[function];
        name.as_deref().map_or_else(|| format!("[{entry:#x}]"), names::in_source)
    }

    /// What a call or jump leads to by name; none if that is not known.
    fn target(&self, transfer: Transfer) -> Option<Arc<str>> {
        let imported = |name: &String| Arc::from(names::in_source(name));
        match transfer {
            Transfer::Call(Some(address)) | Transfer::Jump(address) => match self.functions.at(address) {
                Some(function) => Some(Arc::from(self.name(function))),
                None => self.functions.stubs.get(&address).map(imported),
            },
            Transfer::CallSlot(slot) | Transfer::JumpSlot(slot) => self.image.slots.get(&slot).map(imported),
            _ => None,
        }
    }

    /// Whether what a call leads to never comes back, as far as `depth` calls show.
    fn never_returns(&self, transfer: Transfer, depth: u8, known: &mut Returns) -> bool {
        let function = match transfer {
            Transfer::Call(Some(address)) => match self.functions.at(address) {
                Some(function) => function,
                None => {
                    return self.functions.stubs.get(&address).is_some_and(|name| names::never_returns(name));
                }
            },
            Transfer::CallSlot(slot) => {
                return self.image.slots.get(&slot).is_some_and(|name| names::never_returns(name));
            }
            _ => return false,
        };
        let Function { name, .. } = &self.functions.list[function];
        if name.as_deref().is_some_and(names::never_returns) {
            return true;
        }
        if depth == 0 {
            return false;
        }
        if let Some(&returns) = known.get(&(function, depth)) {
            return !returns;
        }
        let returns = self.flow(function, depth - 1, known).returns();
        known.insert((function, depth), returns);
        !returns
    }

    fn flow(&self, function: usize, depth: u8, known: &mut Returns) -> FlowGraph {
        let Function { entry, ranges, .. } = &self.functions.list[function];
        let mut judge = |transfer| self.never_returns(transfer, depth, known);
        FlowGraph::new(&self.image, ranges, *entry, &mut judge)
    }
}

/// Looks into functions of a binary, each when an address in it is asked for. For one thread.
#[derive(Debug)]
pub struct Explorer<B> {
    binary: B,
    lines: Lines,
    known: Returns,
    functions: FxHashMap<usize, Analysed>,
    /// Why there is no debug information.
    trouble: Option<String>,
}

/// One of the scopes that an address is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeAt {
    /// Which one it is.
    pub id: ScopeId,
    /// The function's name, or that of the function that the loop is in.
    pub function: Arc<str>,
    /// The file of a loop; of a function, that of the place in it.
    pub file: Arc<str>,
    /// The line of a loop; of a function, where in it the address is or what is called there; 0 if unknown.
    pub line: u32,
}

impl<B: Deref<Target = Binary> + Clone> Explorer<B> {
    /// An explorer that has looked at nothing.
    pub fn new(binary: B) -> Self {
        let (lines, trouble) = Lines::new(&binary.path);
        Explorer { binary, lines, known: FxHashMap::default(), functions: FxHashMap::default(), trouble }
    }

    fn analyse(&mut self, function: usize) -> Analysed {
        let binary = self.binary.clone();
        let graph = binary.flow(function, RETURN_DEPTH, &mut self.known);
        Analysed::new(&binary.functions.list[function], graph, &binary.name(function), &mut self.lines)
    }

    fn structure(&mut self, function: usize) -> FunctionStructure {
        let binary = self.binary.clone();
        self.analyse(function)
            .structure(&binary.functions.list[function], &|transfer| binary.target(transfer))
    }

    fn around(&mut self, address: u64) -> Option<(u64, &Analysed)> {
        let function = self.binary.functions.around(address)?;
        if !self.functions.contains_key(&function) {
            let analysed = self.analyse(function);
            self.functions.insert(function, analysed);
        }
        Some((self.binary.functions.list[function].entry, self.functions.get(&function)?))
    }

    /// The address of the function that an address is in, and the functions and loops there, outermost first. None if
    /// it is in no function, or between instructions.
    pub fn scopes(&mut self, address: u64) -> Option<(u64, Vec<ScopeAt>)> {
        let (entry, analysed) = self.around(address)?;
        let step = analysed.graph.step_around(address)?;
        let spot = analysed.spot(step);
        let place = |place: Option<&crate::lines::Place>| {
            place.map_or_else(|| (Arc::from(""), 0), |place| (place.file.clone(), place.line))
        };
        let mut scopes = Vec::new();
        let mut depth = 0;
        let (file, line) = place(spot.place_at(0));
        scopes.push(ScopeAt { id: ScopeId::Function, function: analysed.name.clone(), file, line });
        for key in analysed.path(step) {
            let function = match &key {
                Key::Loop(_) => scopes
                    .iter()
                    .rev()
                    .find(|scope| !matches!(scope.id, ScopeId::Loop(_)))
                    .map_or_else(|| analysed.name.clone(), |scope| scope.function.clone()),
                Key::Inlined(inlined) => inlined.name.clone(),
            };
            let (id, (file, line)) = match &key {
                Key::Loop(found) => (ScopeId::Loop(*found), place(analysed.frames[*found].place.as_ref())),
                Key::Inlined(inlined) => {
                    depth += 1;
                    (ScopeId::Inlined(inlined.instance), place(spot.place_at(depth)))
                }
            };
            scopes.push(ScopeAt { id, function, file, line });
        }
        Some((entry, scopes))
    }

    /// The functions that a call led through and that the stack does not show, as each was left by a jump to the next:
    /// addresses in them, outermost first. An address is that of the jump, or of the function's beginning if several
    /// jumps can have been taken. `call` is the last byte of a call; what `reached` is in runs because of it (none:
    /// code of another file).
    pub fn left_by_jumps(&mut self, call: u64, reached: Option<u64>) -> Vec<u64> {
        let binary = self.binary.clone();
        let functions = &binary.functions;
        let Some(called) = self.called_at(call) else { return Vec::new() };
        let reached = reached.and_then(|address| functions.around(address));
        // Parts and copies that the compiler makes of a function have its name.
        if reached.is_some_and(|reached| binary.name(reached) == binary.name(called)) {
            return Vec::new();
        }
        let mut exits = |function: usize| self.exits(function);
        let left = tail_calls::chain(called, reached, &mut exits).into_iter();
        left.map(|left| left.jump.unwrap_or(functions.list[left.function].entry)).collect()
    }

    /// The function of this file that a call leads to whose last byte is at an address.
    fn called_at(&mut self, call: u64) -> Option<usize> {
        let binary = self.binary.clone();
        let (_, analysed) = self.around(call)?;
        let step = analysed.graph.steps[analysed.graph.step_around(call)?];
        match step.transfer {
            Transfer::Call(Some(target)) if step.address + u64::from(step.n_bytes) == call + 1 => {
                binary.functions.at(target)
            }
            _ => None,
        }
    }

    fn exits(&mut self, function: usize) -> Vec<Exit> {
        let binary = self.binary.clone();
        let functions = &binary.functions;
        let target = |address: u64| match functions.at(address) {
            Some(function) => Target::Own(function),
            None if functions.stubs.contains_key(&address) => Target::Imported,
            None => Target::Unknown,
        };
        let found = self.around(functions.list[function].entry);
        found.map(|(_, analysed)| tail_calls::exits(&analysed.graph, &target)).unwrap_or_default()
    }

    /// The order in which calls, inlined functions and loops right inside of a scope can run in one iteration of it, if it
    /// is a loop, or in one call. `address` is in it.
    pub fn flow(&mut self, address: u64, scope: ScopeId) -> Option<Flow> {
        let binary = self.binary.clone();
        let (_, analysed) = self.around(address)?;
        let step = analysed.graph.step_around(address)?;
        order::of_scope(analysed, (scope, step), &|transfer| binary.target(transfer))
    }
}
