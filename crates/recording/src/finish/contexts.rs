//! Call paths of samples as calling contexts of the run.
//!
//! ```text
//! node of a process (address, caller) ──symbols──► frames, inlined ones too ──► contexts of the run (region, line, caller)
//! ```
//! Law: each node has a context. Frames that only start the program or a thread, and those of the recorder, are
//! callers of nothing: paths begin behind them, with the region of the program, on all threads. Contexts that look alike are one, in all processes. Functions that
//! ended by a jump to the last one that they call are on the path, although they were not on the stack.

use super::FinishError;
use super::code::{CodeFrame, CodeScope, CodeScopeKey, united};
use super::interpreters::{self, is_interpreter};
use super::names::{RegionNames, RunRegion, is_part_of_body};
use super::piece::Piece;
use super::symbols::{SymbolFrame, Symbols};
use crate::journal::Entry;
use crate::launch::LIBRARY;
use crate::paths::{self, Frame, N_SEGMENTS, NO_MODULE, NODE_BYTES, PathId, PathNode, SEGMENT_NODES};
use crate::settings;
use ouzel_files::input;
use ouzel_otf2::code_flow::CodePartText;
use ouzel_otf2::records::enums::{Paradigm, RegionRole};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

const PATHS_BYTES_MAX: u64 = (N_SEGMENTS * SEGMENT_NODES * NODE_BYTES) as u64;
/// Functions that a program or a thread begins with.
const BEGINNINGS: [&str; 10] = [
    "_start",
    "__libc_start_main",
    "__libc_start_main_impl",
    "__libc_start_call_main",
    "_dl_start_user",
    "start_thread",
    "clone",
    "__clone",
    "clone3",
    "__clone3",
];

/// Files of runtimes of OpenMP, which call bodies of constructs by the recorder.
const RUNTIMES: [&str; 3] = ["libgomp", "libomp", "libiomp5"];

/// A path of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RunContext {
    pub parent: Option<u32>,
    /// A number in the list of regions.
    pub region: u64,
    /// A number in the list of places.
    pub place: Option<u32>,
}

/// The contexts of a run, and for each process its numbers and those of the run.
#[derive(Debug, Default)]
pub(super) struct UnifiedContexts {
    pub list: Vec<RunContext>,
    /// Files and lines.
    pub places: Vec<(String, u32)>,
    /// For each piece, pairs of its own number and that of the run.
    pub of_pieces: Vec<Vec<(u64, u64)>>,
    /// Files that are no longer those that ran.
    pub replaced: Vec<String>,
    /// Programs whose code has no lines.
    pub without_lines: BTreeSet<String>,
    /// Functions and loops of the code by their regions: what can run after what in them.
    pub flows: BTreeMap<u64, Vec<CodePartText>>,
    /// The region of an interpreter.
    interpreter: Option<u64>,
    /// Functions that are parts of the body of a construct, by the file and where they begin, and its region.
    parts_of_bodies: FxHashMap<(String, u64), u64>,
    seen_scopes: FxHashSet<(u64, CodeScopeKey)>,
    context_ids: FxHashMap<RunContext, u32>,
    place_ids: BTreeMap<(String, u32), u32>,
}

/// The frames of an address.
struct KnownFrames {
    /// Regions and places, outermost first.
    list: Vec<(u64, Option<u32>)>,
    /// Whether a path may begin with them.
    is_beginning: bool,
    /// Whether the function is the body of a construct of OpenMP, which its runtime has called.
    is_body: bool,
    /// Whether it is a function that the compiler has made of such a body, too.
    is_part_of_body: bool,
}

/// The frames of a process whose code is looked at for calls: where it has lines, and in the program itself.
struct Calls<'p> {
    modules: &'p FxHashMap<u16, String>,
    program: &'p str,
    of_nodes: FxHashMap<PathId, Frame>,
}

/// A call.
#[derive(Clone, Copy)]
struct Site<'p> {
    module: &'p str,
    /// An address in the call.
    call: u64,
    /// An address that runs because of it, if it is in the same file.
    reached: Option<u64>,
}

impl<'p> Calls<'p> {
    fn add(&mut self, node: &PathNode, knows_lines: bool) {
        let module = self.modules.get(&node.frame.module());
        if module.is_some_and(|module| knows_lines || module == self.program) {
            self.of_nodes.insert(node.id, node.frame);
        }
    }

    /// The call that the caller's frame is in, through which `reached` runs.
    fn site(&self, caller: PathId, reached: Option<Frame>) -> Option<Site<'p>> {
        let frame = *self.of_nodes.get(&caller)?;
        let module = self.modules.get(&frame.module())?;
        let reached = reached.filter(|reached| reached.module() == frame.module());
        Some(Site { module, call: frame.address(), reached: reached.map(Frame::address) })
    }
}

impl UnifiedContexts {
    pub fn new(pieces: &[Piece], names: &mut RegionNames) -> Result<Self, FinishError> {
        let mut unified = UnifiedContexts::default();
        for piece in pieces {
            let pairs = unified.add(piece, names)?;
            unified.of_pieces.push(pairs);
        }
        unified.add_constructs(names);
        unified.replaced.sort_unstable();
        unified.replaced.dedup();
        Ok(unified)
    }

    fn add(&mut self, piece: &Piece, names: &mut RegionNames) -> Result<Vec<(u64, u64)>, FinishError> {
        let path = piece.folder.join(settings::PATHS);
        let bytes = match input::read_limited(&path, PATHS_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(FinishError::new(&path, error)),
        };
        let root = names.root(piece).map(|region| self.id(RunContext { parent: None, region, place: None }));
        let modules = self.modules(piece, &mut names.symbols);
        let mut known: FxHashMap<(u16, u64), KnownFrames> = FxHashMap::default();
        // The context that callees of each node have as their caller.
        let mut outer: FxHashMap<PathId, Option<u32>> = FxHashMap::default();
        // Of each node that is the recorder's or of a runtime which the recorder may have been called by: what called them.
        let mut between: FxHashMap<PathId, Option<u32>> = FxHashMap::default();
        let mut calls = Calls { modules: &modules, program: &piece.program, of_nodes: FxHashMap::default() };
        let mut pairs = Vec::new();
        let (mut n_in_program, mut has_lines) = (0u64, false);
        for node in paths::of_file(&bytes) {
            let place = (node.frame.module(), node.frame.address());
            let frames = known.entry(place).or_insert_with(|| {
                let module = modules.get(&place.0).filter(|_| place.0 != NO_MODULE);
                self.frames(module.map(String::as_str), place.1, names)
            });
            let knows_lines = frames.list.iter().any(|(_, place)| place.is_some());
            if modules.get(&place.0).is_some_and(|module| *module == piece.program) {
                n_in_program += 1;
                has_lines |= knows_lines;
            }
            if !modules.get(&place.0).is_some_and(|module| is_interpreter(own_name(module))) {
                calls.add(&node, knows_lines);
            }
            let mut parent = node.parent.and_then(|parent| outer.get(&parent).copied().flatten());
            let in_runtime = node.parent.and_then(|parent| between.get(&parent).copied());
            if let (true, Some(caller)) = (frames.is_body, in_runtime) {
                parent = caller;
            }
            if let Some(caller) = node.parent.filter(|_| parent.is_some()) {
                parent = self.behind_jumps(parent, calls.site(caller, Some(node.frame)), names);
            }
            let file_name = modules.get(&place.0).map_or("", |path| own_name(path));
            let is_own = file_name == LIBRARY;
            // What the recorder calls, the program or a runtime has called in truth.
            let caller = in_runtime.unwrap_or(parent);
            if is_own || RUNTIMES.iter().any(|runtime| file_name.starts_with(runtime)) {
                between.insert(node.id, caller);
            }
            if let Some(caller) = caller.filter(|_| is_own) {
                outer.insert(node.id, Some(caller));
                pairs.push((u64::from(node.id.0), u64::from(caller)));
                continue;
            }
            let mut at = parent.or(root);
            let same = if frames.is_part_of_body { self.body(parent, names) } else { None };
            if let (Some(region), Some(module)) = (same, modules.get(&place.0)) {
                let beginning = names.symbols.beginning(module, place.1);
                self.parts_of_bodies.extend(beginning.map(|beginning| ((module.clone(), beginning), region)));
            }
            for &(region, place) in frames.list.iter().skip(usize::from(same.is_some())) {
                at = self.inside(at, region, place);
            }
            outer.insert(node.id, at.filter(|_| !is_own && (parent.is_some() || !frames.is_beginning)));
            // A path that ends with a call is that of a recorded one, to a function of another file.
            let at = self.behind_jumps(at, calls.site(node.id, None), names);
            pairs.extend(at.map(|at| (u64::from(node.id.0), u64::from(at))));
        }
        let is_told = self.replaced.contains(&piece.program) || is_interpreter(own_name(&piece.program));
        if 0 < n_in_program && !has_lines && !is_told {
            self.without_lines.insert(piece.program.clone());
        }
        Ok(pairs)
    }

    /// The path that goes on from `at` through the functions that a call led through and that were left by jumps.
    fn behind_jumps(
        &mut self,
        mut at: Option<u32>,
        site: Option<Site<'_>>,
        names: &mut RegionNames,
    ) -> Option<u32> {
        let Some(Site { module, call, reached }) = site else { return at };
        for jump in names.code.left_by_jumps(module, call, reached) {
            for (region, place) in self.frames(Some(module), jump, names).list {
                at = Some(self.id(RunContext { parent: at, region, place }));
            }
        }
        at
    }

    /// Adds the paths of constructs of OpenMP that no sample shows, since threads wait in them: where their calls are in the
    /// code, on each path to it.
    fn add_constructs(&mut self, names: &mut RegionNames) {
        for (module, offset, region) in std::mem::take(&mut names.constructs) {
            let Some(address) = names.symbols.address(&module, offset) else { continue };
            let KnownFrames { list: mut frames, is_part_of_body, .. } =
                self.frames(Some(&module), address, names);
            let beginning = names.symbols.beginning(&module, address).filter(|_| is_part_of_body);
            let body = beginning.and_then(|beginning| self.parts_of_bodies.get(&(module.clone(), beginning)));
            if let (Some(&body), Some(first)) = (body, frames.first_mut()) {
                *first = (body, first.1);
            }
            let Some(&(outermost, _)) = frames.first() else { continue };
            let callers = self.list.iter().filter(|context| context.region == outermost);
            let callers: BTreeSet<Option<u32>> = callers.map(|context| context.parent).collect();
            for caller in callers {
                let mut at = caller;
                for &(region, place) in &frames {
                    at = Some(self.id(RunContext { parent: at, region, place }));
                }
                let site = Site { module: &module, call: address, reached: None };
                let at = self.behind_jumps(at, Some(site), names);
                self.id(RunContext { parent: at, region, place: None });
            }
        }
    }

    /// The paths of a process's files by their numbers. Files that are not those that ran give no names.
    fn modules(&mut self, piece: &Piece, symbols: &mut Symbols) -> FxHashMap<u16, String> {
        let mut modules = FxHashMap::default();
        for entry in &piece.entries {
            if let Entry::Module { number, build_id, path } = entry {
                if symbols.forget_if_replaced(path, build_id) {
                    self.replaced.push(path.clone());
                }
                modules.insert(*number, path.clone());
            }
        }
        modules
    }

    fn frames(&mut self, module: Option<&str>, address: u64, names: &mut RegionNames) -> KnownFrames {
        let file_name = module.map_or("unknown code", own_name);
        let mut found = module.map(|module| names.symbols.frames(module, address)).unwrap_or_default();
        // Where C's library has no names of its own, as distributions install it, its outermost frames begin programs.
        let is_bare =
            found.is_empty() && ["libc.so", "ld-linux"].iter().any(|own| file_name.starts_with(own));
        if found.is_empty() {
            let (name, file) = (format!("[{file_name}]"), String::new());
            found.push(SymbolFrame { name, file, line: 0, place: None });
        }
        let is_beginning = is_bare
            || file_name == LIBRARY
            || found.iter().any(|frame| BEGINNINGS.contains(&frame.name.as_str()));
        let is_interpreter = is_interpreter(file_name);
        let found = if is_interpreter { interpreters::frames(found) } else { found };
        let mut found = match module.filter(|_| !is_interpreter) {
            Some(module) => names.code.frames(module, address, found),
            None => found.into_iter().map(|frame| CodeFrame { frame, scope: None }).collect(),
        };
        let mut body = module.and_then(|module| names.body(module, address));
        let is_part = |found: &CodeFrame| is_part_of_body(&found.frame.name);
        let (is_body, is_part_of_body) =
            (body.is_some(), body.is_none() && found.first().is_some_and(is_part));
        if is_body {
            // Parts that are inlined into it are the same.
            let n_parts = found.iter().skip(1).take_while(|found| is_part(found)).count();
            found.drain(..n_parts);
        }
        let frames = found.into_iter().map(|CodeFrame { frame, scope }| {
            let SymbolFrame { name, file, line, place } = frame;
            let (role, paradigm) = match &scope {
                Some(scope) if scope.is_loop() => (RegionRole::Loop, Paradigm::Sampling),
                _ => (RegionRole::Function, Paradigm::User),
            };
            let is_inside = name == interpreters::PYTHON;
            let region = body
                .take()
                .unwrap_or_else(|| names.id_of_sampled(RunRegion { name, file, line, role, paradigm }));
            if is_inside {
                self.interpreter = Some(region);
            }
            if let Some(scope) = scope {
                self.add_flow(region, &scope, names);
            }
            (region, place.map(|place| self.place(place)))
        });
        KnownFrames { list: frames.collect(), is_beginning, is_body, is_part_of_body }
    }

    /// The region of a context, if it is a construct with a body.
    fn body(&self, context: Option<u32>, names: &RegionNames) -> Option<u64> {
        let region = self.list.get(context? as usize)?.region;
        names.has_body(region).then_some(region)
    }

    /// The context of a frame. One of an interpreter inside of another is the same.
    fn inside(&mut self, parent: Option<u32>, region: u64, place: Option<u32>) -> Option<u32> {
        let is_same = |at: u32| self.list.get(at as usize).is_some_and(|caller| caller.region == region);
        if self.interpreter == Some(region) && parent.is_some_and(is_same) {
            return parent;
        }
        Some(self.id(RunContext { parent, region, place }))
    }

    fn add_flow(&mut self, region: u64, scope: &CodeScope, names: &mut RegionNames) {
        if !self.seen_scopes.insert((region, scope.key())) {
            return;
        }
        let parts = names.code.parts(scope);
        // A loop is one of the code even if nothing is known of its parts.
        if parts.is_empty() && !scope.is_loop() {
            return;
        }
        let parts = match self.flows.get(&region) {
            Some(known) => united(known, &parts, scope.is_loop()),
            None => parts,
        };
        self.flows.insert(region, parts);
    }

    fn place(&mut self, place: (String, u32)) -> u32 {
        let next = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let id = *self.place_ids.entry(place.clone()).or_insert(next);
        if id == next {
            self.places.push(place);
        }
        id
    }

    fn id(&mut self, context: RunContext) -> u32 {
        let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        let id = *self.context_ids.entry(context).or_insert(next);
        if id == next {
            self.list.push(context);
        }
        id
    }
}

/// The last part of a path.
fn own_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// How samples were taken: how often and by what; none if no process took any.
pub(super) fn sampler(pieces: &[Piece]) -> Option<(u32, String)> {
    let entries = pieces.iter().flat_map(|piece| &piece.entries);
    entries.into_iter().find_map(|entry| match entry {
        Entry::Sampler { hz, source } if 0 < *hz => Some((*hz, source.clone())),
        _ => None,
    })
}
