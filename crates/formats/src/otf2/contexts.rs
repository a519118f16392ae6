//! Calling contexts and interrupt generators: what samples refer to.
//!
//! Contexts come in any order; the model needs parents first. Law: every defined
//! context has a place in the tree; parents that are missing, circular or deeper than
//! [`MAX_SAMPLED_DEPTH`] are cut off and reported, never followed forever.
//!
//! OTF2 does not say whether the line of a context is inside of its region or that of the call in the caller's region,
//! and tracers do either; the files of regions show which ([`are_lines_of_calls`]). In the model a line is inside.

#[cfg(test)]
pub(super) mod tests;

use super::collect::Collected;
use ouzel_model::{
    ContextId, InterruptCounts, InterruptGenerator, InterruptGeneratorId, Level, MAX_SAMPLED_DEPTH, Notice,
    NoticeCode, RegionId, SampledContexts,
};
use ouzel_otf2::records::definition as def;
use ouzel_otf2::records::enums::{Base, InterruptGeneratorMode};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

const UNDEFINED: u32 = u32::MAX;

/// What a reference to a calling context refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::otf2) struct ContextRef {
    /// Region of the innermost frame, also where the path was cut.
    pub region: RegionId,
    /// The path; that of the deepest caller that is kept, where it was cut.
    pub context: ContextId,
    /// Frames of the path as it is defined.
    pub depth: u32,
}

/// The tree of contexts, and what each reference refers to.
pub(super) fn contexts(
    collected: &Collected,
    regions: &FxHashMap<u32, RegionId>,
    unknown_region: RegionId,
    notices: &mut Vec<Notice>,
) -> (SampledContexts, FxHashMap<u32, ContextRef>) {
    let defined = &collected.calling_contexts;
    let by_id: FxHashMap<u32, &def::CallingContext> = defined.iter().map(|c| (c.id, c)).collect();
    let line = |d: &def::SourceCodeLocation| {
        let line = Some(d.line_number).filter(|&n| n != 0 && n != UNDEFINED);
        (d.id, (collected.some_text(d.file), line))
    };
    let mut tree = ContextForest {
        of_calls: are_lines_of_calls(collected).then(FxHashMap::default),
        regions,
        unknown_region,
        lines: collected.source_code_locations.iter().map(line).collect(),
        contexts: SampledContexts::default(),
        refs: FxHashMap::default(),
        lost: Lost::default(),
    };
    for context in defined {
        let mut chain = Vec::new();
        let mut on_chain = FxHashSet::default();
        let mut parent = None;
        let mut at = Some(context);
        while let Some(context) = at {
            if let Some(&placed) = tree.refs.get(&context.id) {
                parent = Some(placed);
                break;
            }
            if !on_chain.insert(context.id) {
                tree.lost.circular += 1;
                break;
            }
            chain.push(context);
            at = by_id.get(&context.parent).copied();
            tree.lost.parents += u64::from(at.is_none() && context.parent != UNDEFINED);
        }
        for context in chain.into_iter().rev() {
            parent = Some(tree.place(context, parent));
        }
    }
    tree.lost.tell(notices);
    (tree.contexts, tree.refs)
}

/// Whether the lines of contexts are those of calls: more of them are in the file of the caller's region, which is not
/// that of their own region, than the other way round.
fn are_lines_of_calls(collected: &Collected) -> bool {
    let files: FxHashMap<u32, Option<Arc<str>>> =
        collected.regions.iter().map(|region| (region.id, collected.some_text(region.source_file))).collect();
    let places: FxHashMap<u32, Arc<str>> = (collected.source_code_locations.iter())
        .filter_map(|place| Some((place.id, collected.some_text(place.file)?)))
        .collect();
    let region_of: FxHashMap<u32, u32> =
        collected.calling_contexts.iter().map(|context| (context.id, context.region)).collect();
    let (mut n_of_calls, mut n_inside) = (0, 0);
    for context in &collected.calling_contexts {
        let file = |region: Option<&u32>| region.and_then(|region| files.get(region)).cloned().flatten();
        let (own, caller) = (file(Some(&context.region)), file(region_of.get(&context.parent)));
        let Some((place, caller)) = places.get(&context.source_code_location).zip(caller) else { continue };
        n_of_calls += u64::from(caller == *place && own.as_ref() != Some(place));
        n_inside += u64::from(caller != *place && own.as_ref() == Some(place));
    }
    n_inside < n_of_calls
}

/// A path by its caller, region and line.
type PathKey = (Option<ContextId>, RegionId, Option<u32>);

struct ContextForest<'c> {
    /// The paths that callers with a line are on, if lines are those of calls.
    of_calls: Option<FxHashMap<PathKey, ContextId>>,
    regions: &'c FxHashMap<u32, RegionId>,
    unknown_region: RegionId,
    lines: FxHashMap<u32, (Option<Arc<str>>, Option<u32>)>,
    contexts: SampledContexts,
    refs: FxHashMap<u32, ContextRef>,
    lost: Lost,
}

/// Dangling references of contexts, by number of contexts.
#[derive(Debug, Default)]
struct Lost {
    parents: u64,
    circular: u64,
    regions: u64,
    too_deep: u64,
}

impl ContextForest<'_> {
    fn place(&mut self, context: &def::CallingContext, parent: Option<ContextRef>) -> ContextRef {
        let region = self.regions.get(&context.region).copied();
        self.lost.regions += u64::from(region.is_none());
        let region = region.unwrap_or(self.unknown_region);
        let placed = match parent {
            Some(parent) if MAX_SAMPLED_DEPTH <= parent.depth => {
                self.lost.too_deep += 1;
                ContextRef { region, depth: parent.depth.saturating_add(1), ..parent }
            }
            _ => {
                let (file, line) = self.lines.get(&context.source_code_location).cloned().unwrap_or_default();
                let id = match &mut self.of_calls {
                    Some(known) => {
                        let contexts = &mut self.contexts;
                        let parent =
                            parent.map(|parent| caller_at(contexts, known, parent.context, file, line));
                        contexts.push(parent, region, None, None)
                    }
                    None => self.contexts.push(parent.map(|parent| parent.context), region, file, line),
                };
                ContextRef { region, context: id, depth: self.contexts.get(id).depth }
            }
        };
        self.refs.insert(context.id, placed);
        placed
    }
}

/// The path of a caller while it calls at a line.
fn caller_at(
    contexts: &mut SampledContexts,
    known: &mut FxHashMap<PathKey, ContextId>,
    caller: ContextId,
    file: Option<Arc<str>>,
    line: Option<u32>,
) -> ContextId {
    if line.is_none() {
        return caller;
    }
    let (parent, region) = (contexts.get(caller).parent, contexts.get(caller).region);
    *known.entry((parent, region, line)).or_insert_with(|| contexts.push(parent, region, file, line))
}

impl Lost {
    fn tell(&self, notices: &mut Vec<Notice>) {
        let too_deep = format!(
            "calling contexts have more than {MAX_SAMPLED_DEPTH} callers; their samples count for the deepest caller kept"
        );
        let said = [
            (
                self.parents,
                NoticeCode::UndefinedReference,
                "calling contexts have a parent that is not defined; they are treated as outermost",
            ),
            (
                self.circular,
                NoticeCode::DamagedDefinitions,
                "calling contexts are their own callers; the cycle was cut",
            ),
            (
                self.regions,
                NoticeCode::UndefinedReference,
                "calling contexts have a region that is not defined; a placeholder replaces it",
            ),
            (self.too_deep, NoticeCode::DamagedDefinitions, &*too_deep),
        ];
        for (count, code, message) in said {
            if 0 < count {
                notices.push(Notice::new(Level::Medium, code, message).times(count));
            }
        }
    }
}

/// The interrupt generators, and the id of each reference.
pub(super) fn generators(
    collected: &Collected,
) -> (Vec<InterruptGenerator>, FxHashMap<u32, InterruptGeneratorId>) {
    let generator = |d: &def::InterruptGenerator| InterruptGenerator {
        name: collected.text(d.name),
        counts: match d.interrupt_generator_mode {
            InterruptGeneratorMode::Time => InterruptCounts::Time,
            _ => InterruptCounts::Occurrences,
        },
        period: d.period,
        base: if d.base == Base::Binary { 2 } else { 10 },
        exponent: d.exponent,
    };
    let defined = &collected.interrupt_generators;
    let refs = defined.iter().enumerate().map(|(i, d)| (d.id, InterruptGeneratorId::from_index(i))).collect();
    (defined.iter().map(generator).collect(), refs)
}
