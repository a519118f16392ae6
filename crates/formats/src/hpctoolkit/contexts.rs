//! The tree of call paths of a database as sampled contexts.
//!
//! HPCToolkit's tree has nodes for functions, loops, lines and instructions. A function or
//! loop is a frame; a line is a place in the frame that holds it, and an instruction adds
//! nothing that the model keeps.
//! Law: parents come first; no path is deeper than [`MAX_SAMPLED_DEPTH`] frames.

use super::regions::HpctoolkitRegions;
use crate::position::u32_from;
use ouzel_model::{
    CallNode, CallPathId, ContextId, Level, MAX_SAMPLED_DEPTH, Notice, NoticeCode, Region, RegionId,
    SampledContexts,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Where a node of the format's tree is in the model's.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedNode {
    /// The path with the place in its innermost frame.
    pub context: ContextId,
    /// The caller's path.
    caller: Option<ContextId>,
    /// The innermost frame's region.
    pub region: RegionId,
    /// The innermost frame, as a place in [`ContextsBuilder::frames`].
    pub frame: u32,
}

/// Builds the tree.
#[derive(Debug, Default)]
pub(super) struct ContextsBuilder {
    pub contexts: SampledContexts,
    pub regions: HpctoolkitRegions,
    /// Every frame: what a profile's call tree is made of. Callers come first.
    pub frames: Vec<CallNode>,
    n_too_deep: u64,
}

impl ContextsBuilder {
    /// A path for something unknown; no frame of it is in [`ContextsBuilder::frames`].
    pub fn placeholder(&mut self, region: Region) -> ContextId {
        let region = self.regions.id(region);
        self.contexts.push(None, region, None, None)
    }

    /// A frame called from `parent`, which the format knows as `native_id`.
    pub fn frame(&mut self, parent: Option<PlacedNode>, region: Region, native_id: u64) -> PlacedNode {
        let region = self.regions.id(region);
        let caller = parent.map(|parent| parent.context);
        if let Some(parent) = parent.filter(|parent| self.is_full(parent.context)) {
            self.n_too_deep += 1;
            return parent;
        }
        let mut node = CallNode::new(parent.map(|parent| CallPathId(parent.frame)), region, native_id);
        if let Some(site) = caller.map(|caller| self.contexts.get(caller)) {
            node.site_file.clone_from(&site.file);
            node.site_line = site.line;
        }
        let frame = u32_from(self.frames.len());
        self.frames.push(node);
        PlacedNode { context: self.contexts.push(caller, region, None, None), caller, region, frame }
    }

    /// A line in the frame of `parent`.
    pub fn line(&mut self, parent: PlacedNode, file: Option<Arc<str>>, line: Option<u32>) -> PlacedNode {
        let line = line.filter(|&line| line != 0);
        if line.is_none() {
            return parent;
        }
        let context = self.contexts.push(parent.caller, parent.region, file, line);
        PlacedNode { context, ..parent }
    }

    fn is_full(&self, context: ContextId) -> bool {
        MAX_SAMPLED_DEPTH <= self.contexts.get(context).depth
    }

    /// The region of the innermost frame.
    pub fn region(&self, placed: PlacedNode) -> &Region {
        self.regions.get(placed.region)
    }

    /// What was left out.
    pub fn notice(&self) -> Option<Notice> {
        let message = format!(
            "call paths have more than {MAX_SAMPLED_DEPTH} callers; their samples count for the deepest caller kept"
        );
        let notice = Notice::new(Level::Medium, NoticeCode::DamagedDefinitions, message);
        (0 < self.n_too_deep).then(|| notice.times(self.n_too_deep))
    }
}

/// What the context numbers of trace lines refer to.
#[derive(Debug)]
pub(super) enum ContextIds {
    /// By number: [`ABSENT`] is no context, [`NOTHING`] means that nothing runs.
    Dense(Vec<u32>),
    /// The same for numbers far apart.
    Sparse(FxHashMap<u32, u32>),
}

/// A number that no context has.
pub(super) const ABSENT: u32 = u32::MAX;
/// Nothing runs.
pub(super) const NOTHING: u32 = u32::MAX - 1;

impl ContextIds {
    /// From pairs of number and context; `None` if nothing runs there. The first of equal numbers counts; others get
    /// a notice.
    pub fn new(pairs: &[(u32, Option<ContextId>)], notices: &mut Vec<Notice>) -> Self {
        let value = |context: Option<ContextId>| context.map_or(NOTHING, |context| context.0);
        let largest = pairs.iter().map(|pair| pair.0).max().unwrap_or(0) as usize;
        let mut n_twice = 0;
        // A table of at most 64 bytes for each context; the numbers of real databases are less than three times dense.
        let ids = if largest / 16 <= pairs.len() {
            let mut table = vec![ABSENT; largest + 1];
            for &(number, context) in pairs {
                let entry = &mut table[number as usize];
                n_twice += u64::from(*entry != ABSENT);
                if *entry == ABSENT {
                    *entry = value(context);
                }
            }
            ContextIds::Dense(table)
        } else {
            let mut table = FxHashMap::default();
            for &(number, context) in pairs {
                n_twice += u64::from(table.contains_key(&number));
                table.entry(number).or_insert_with(|| value(context));
            }
            ContextIds::Sparse(table)
        };
        if 0 < n_twice {
            let message = "call paths are defined twice; the first definition was kept";
            notices.push(Notice::new(Level::Medium, NoticeCode::DuplicateDefinition, message).times(n_twice));
        }
        ids
    }

    /// What `number` refers to: a context's number, [`NOTHING`] or [`ABSENT`].
    #[inline]
    pub fn get(&self, number: u32) -> u32 {
        match self {
            ContextIds::Dense(table) => table.get(number as usize).copied().unwrap_or(ABSENT),
            ContextIds::Sparse(table) => table.get(&number).copied().unwrap_or(ABSENT),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::regions::function;
    use super::*;

    #[test]
    fn lines_are_places_in_frames() {
        let mut builder = ContextsBuilder::default();
        let region = |name: &str| function(&Arc::from(name), None, None);
        let main = builder.frame(None, region("main"), 1);
        let at = builder.line(main, Some(Arc::from("a.c")), Some(12));
        let solve = builder.frame(Some(at), region("solve"), 2);
        let mut frames = Vec::new();
        builder.contexts.frames(solve.context, &mut frames);
        assert_eq!(frames.iter().map(|f| f.call_line).collect::<Vec<_>>(), [None, Some(12)]);
        assert_eq!(
            (builder.frames[1].site_line, builder.frames[1].site_file.as_deref()),
            (Some(12), Some("a.c"))
        );
        assert_eq!(builder.line(solve, None, Some(0)).context, solve.context, "no line, no place");
    }

    #[test]
    fn paths_end_where_the_model_ends() {
        let mut builder = ContextsBuilder::default();
        let mut at = None;
        for _ in 0..MAX_SAMPLED_DEPTH + 3 {
            at = Some(builder.frame(at, function(&Arc::from("f"), None, None), 0));
        }
        assert_eq!(builder.contexts.len() as u32, MAX_SAMPLED_DEPTH);
        assert_eq!(builder.notice().unwrap().count, 3);
    }

    #[test]
    fn numbers_near_and_far_are_found() {
        for far in [7, 4_000_000_000] {
            let pairs = [(0, None), (3, Some(ContextId(5))), (far, Some(ContextId(6))), (3, None)];
            let mut notices = Vec::new();
            let ids = ContextIds::new(&pairs, &mut notices);
            assert_eq!([0, 3, far, 1, u32::MAX].map(|n| ids.get(n)), [NOTHING, 5, 6, ABSENT, ABSENT]);
            assert_eq!(notices.iter().map(|notice| notice.count).collect::<Vec<_>>(), [1]);
        }
    }
}
