//! From the tree of `meta.db` to regions and sampled contexts.

use super::super::contexts::{ContextIds, ContextsBuilder, PlacedNode};
use super::super::regions;
use ouzel_hpcdb::{Context, LexicalType, Meta, Relation};
use ouzel_model::{CallNode, ContextId, Level, Notice, NoticeCode, Region, RegionRole, SampledContexts};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What the tree became.
pub(super) struct DatabaseTree {
    pub contexts: SampledContexts,
    pub regions: Vec<Region>,
    /// The contexts that the numbers refer to.
    pub ids: ContextIds,
    /// The frames, callers first.
    pub frames: Vec<CallNode>,
    /// For each number of a context, the frame it belongs to, as a place in `frames`.
    pub frame_of: FxHashMap<u32, u32>,
}

/// Builds the tree. The first context is the placeholder for numbers that are not defined.
pub(super) fn build(meta: &Meta, notices: &mut Vec<Notice>) -> DatabaseTree {
    let mut builder = ContextsBuilder::default();
    builder.placeholder(regions::entry(&Arc::from("<unknown call path>")));
    let mut placed: Vec<PlacedNode> = Vec::with_capacity(meta.contexts.len());
    let mut numbers: Vec<(u32, Option<ContextId>)> = vec![(0, None)];
    let mut frame_of = FxHashMap::default();
    let mut n_instructions = 0;
    for context in &meta.contexts {
        let parent = context.parent.map(|parent| placed[parent as usize]);
        let here = place(meta, context, parent, &mut builder);
        let is_lost = matches!(context.lexical, LexicalType::Instruction | LexicalType::Unknown(_))
            && context.relation == Relation::Lexical;
        n_instructions += u64::from(is_lost);
        frame_of.entry(context.id).or_insert(here.frame);
        numbers.push((context.id, Some(here.context)));
        placed.push(here);
    }
    notices.extend(builder.notice());
    if 0 < n_instructions {
        let message =
            "instructions on call paths are left out; samples count for the enclosing line or function";
        notices.push(Notice::new(Level::Low, NoticeCode::NotRepresented, message).times(n_instructions));
    }
    let ids = ContextIds::new(&numbers, notices);
    DatabaseTree {
        contexts: builder.contexts,
        regions: builder.regions.into_vec(),
        ids,
        frames: builder.frames,
        frame_of,
    }
}

fn place(
    meta: &Meta,
    context: &Context,
    parent: Option<PlacedNode>,
    builder: &mut ContextsBuilder,
) -> PlacedNode {
    let native_id = u64::from(context.id);
    let file = |file: Option<u32>| file.and_then(|file| meta.files.get(file as usize)).cloned();
    let source = context.source.map(|(at, line)| (file(at), line));
    let (source_file, line) = source.map_or((None, None), |(file, line)| (file, Some(line)));
    match (&context.lexical, parent) {
        (LexicalType::Entry { name, .. }, _) => builder.frame(None, regions::entry(name), native_id),
        (LexicalType::Loop, _) => {
            let inside = parent.map(|parent| builder.region(parent));
            let region = regions::of_loop(source_file, line, inside);
            builder.frame(parent, region, native_id)
        }
        (LexicalType::Function, _) => {
            let region = match context.function {
                Some(function) => function_region(meta, function),
                None => unknown_function(meta, context),
            };
            let is_below_kernel =
                parent.is_some_and(|parent| builder.region(parent).role == RegionRole::Kernel);
            // Device work below the placeholder of a launch is the kernel.
            let role = if is_below_kernel { RegionRole::Kernel } else { region.role };
            builder.frame(parent, Region { role, ..region }, native_id)
        }
        // The callee is something else without a name.
        _ if context.relation != Relation::Lexical => {
            builder.frame(parent, unknown_function(meta, context), native_id)
        }
        (LexicalType::Line, Some(parent)) => builder.line(parent, source_file, line),
        (_, Some(parent)) => parent,
        (_, None) => builder.frame(None, unknown_function(meta, context), native_id),
    }
}

fn function_region(meta: &Meta, index: u32) -> Region {
    let function = &meta.functions[index as usize];
    let (file, line) = match function.source {
        Some((file, line)) => (meta.files.get(file as usize).cloned(), Some(line)),
        None => (None, None),
    };
    let name = match &function.name {
        Some(name) => Arc::clone(name),
        None => nameless(meta, function.module, file.as_deref().zip(line)),
    };
    regions::function(&name, file, line)
}

/// A call of something without a name: known by its place, if at all.
fn unknown_function(meta: &Meta, context: &Context) -> Region {
    let module = context.instruction.and_then(|(module, offset)| Some((module?, offset)));
    let source = context.source.and_then(|(file, line)| Some((&**meta.files.get(file? as usize)?, line)));
    regions::function(&nameless(meta, module, source), None, None)
}

/// A name for what has none, in the words HPCToolkit uses.
fn nameless(meta: &Meta, module: Option<(u32, u64)>, source: Option<(&str, u32)>) -> Arc<str> {
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let module = module.and_then(|(module, offset)| Some((base(meta.modules.get(module as usize)?), offset)));
    Arc::from(match (module, source) {
        (Some((module, offset)), _) => format!("<unknown procedure> {offset:#x} [{module}]"),
        (None, Some((file, line))) => format!("<unknown procedure> at {}:{line}", base(file)),
        (None, None) => "<unknown procedure>".to_owned(),
    })
}
