//! From the references of a file to the dense ids of the model.
//!
//! Two steps in one table look-up: local reference → global reference (the mapping
//! tables of the location) → id. Law: a reference without a definition gets the
//! placeholder of its table and is counted, never dropped.

use super::contexts::ContextRef;
use ouzel_model::{CommId, InterruptGeneratorId, MetricId, ParameterId, RankGroupId, RegionId, RmaWindowId};
use ouzel_otf2::MappingTables;
use ouzel_otf2::records::RefKind;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Global references of a trace and what they refer to.
#[derive(Debug)]
pub(super) struct GlobalRefs {
    pub regions: FxHashMap<u32, RegionId>,
    pub unknown_region: RegionId,
    pub comms: FxHashMap<u32, CommId>,
    pub unknown_comm: CommId,
    pub rma_windows: FxHashMap<u32, RmaWindowId>,
    pub rank_groups: FxHashMap<u32, RankGroupId>,
    /// Members of each metric class or instance.
    pub metrics: FxHashMap<u32, Arc<[MetricId]>>,
    pub parameters: FxHashMap<u32, ParameterId>,
    pub calling_contexts: FxHashMap<u32, ContextRef>,
    pub interrupt_generators: FxHashMap<u32, InterruptGeneratorId>,
    pub strings: FxHashMap<u32, Arc<str>>,
}

/// Slots of the cache of regions: more than the regions that are active in most programs; 32 KiB, of which only the
/// slots in use take room in the processor's cache.
const CACHE_SLOTS: usize = 4096;

/// The references of one location.
#[derive(Debug)]
pub(super) struct LocationRefs<'a> {
    global: &'a GlobalRefs,
    mapping: MappingTables,
    /// Region references met lately with their ids, each in the slot of its low digits. Local references may be
    /// dense or sparse.
    cache: Box<[(u32, RegionId); CACHE_SLOTS]>,
    /// References without a definition: kind and global reference.
    undefined: BTreeMap<(RefKind, u32), u64>,
}

impl<'a> LocationRefs<'a> {
    pub fn new(global: &'a GlobalRefs, mapping: MappingTables) -> Self {
        let cache = Box::new([(u32::MAX, global.unknown_region); CACHE_SLOTS]);
        LocationRefs { global, mapping, cache, undefined: BTreeMap::new() }
    }

    #[inline]
    pub fn region(&mut self, local: u32) -> RegionId {
        let (cached, id) = self.cache[local as usize % CACHE_SLOTS];
        if cached == local && local != u32::MAX { id } else { self.region_slow(local) }
    }

    #[inline(never)]
    fn region_slow(&mut self, local: u32) -> RegionId {
        let global = self.mapping.map_u32(RefKind::Region, local);
        let Some(&id) = self.global.regions.get(&global) else {
            return self.undefined(RefKind::Region, global, self.global.unknown_region);
        };
        self.cache[local as usize % CACHE_SLOTS] = (local, id);
        id
    }

    pub fn comm(&mut self, local: u32) -> CommId {
        let global = self.mapping.map_u32(RefKind::Comm, local);
        match self.global.comms.get(&global) {
            Some(&id) => id,
            None => self.undefined(RefKind::Comm, global, self.global.unknown_comm),
        }
    }

    pub fn rma_window(&mut self, local: u32) -> Option<RmaWindowId> {
        let global = self.mapping.map_u32(RefKind::RmaWin, local);
        let id = self.global.rma_windows.get(&global).copied();
        if id.is_none() {
            self.undefined(RefKind::RmaWin, global, ());
        }
        id
    }

    pub fn rank_group(&mut self, local: u32) -> Option<RankGroupId> {
        let global = self.mapping.map_u32(RefKind::Group, local);
        let id = self.global.rank_groups.get(&global).copied();
        if id.is_none() {
            self.undefined(RefKind::Group, global, ());
        }
        id
    }

    pub fn calling_context(&mut self, local: u32) -> Option<ContextRef> {
        let global = self.mapping.map_u32(RefKind::CallingContext, local);
        let context = self.global.calling_contexts.get(&global).copied();
        if context.is_none() {
            self.undefined(RefKind::CallingContext, global, ());
        }
        context
    }

    /// The placeholder region for every id without a definition.
    pub fn unknown_region(&self) -> RegionId {
        self.global.unknown_region
    }

    /// What took a sample, if the file says so.
    pub fn interrupt_generator(&mut self, local: u32) -> Option<InterruptGeneratorId> {
        let global = self.mapping.map_u32(RefKind::InterruptGenerator, local);
        let generator = self.global.interrupt_generators.get(&global).copied();
        if generator.is_none() && global != u32::MAX {
            self.undefined(RefKind::InterruptGenerator, global, ());
        }
        generator
    }

    pub fn parameter(&mut self, local: u32) -> Option<ParameterId> {
        let global = self.mapping.map_u32(RefKind::Parameter, local);
        let id = self.global.parameters.get(&global).copied();
        if id.is_none() {
            self.undefined(RefKind::Parameter, global, ());
        }
        id
    }

    pub fn metric_members(&mut self, local: u32) -> Option<&'a [MetricId]> {
        let global = self.mapping.map_u32(RefKind::Metric, local);
        let members = self.global.metrics.get(&global);
        if members.is_none() {
            self.undefined(RefKind::Metric, global, ());
        }
        members.map(|members| &**members)
    }

    pub fn text(&mut self, local: u32) -> Arc<str> {
        let global = self.mapping.map_u32(RefKind::String, local);
        match self.global.strings.get(&global) {
            Some(text) => text.clone(),
            None => self.undefined(RefKind::String, global, Arc::from(format!("<unknown string {global}>"))),
        }
    }

    #[cold]
    fn undefined<T>(&mut self, kind: RefKind, global: u32, placeholder: T) -> T {
        // A corrupt file may name any number; what is beyond the first thousand is counted under one.
        let global = if self.undefined.len() < 1000 { global } else { u32::MAX };
        *self.undefined.entry((kind, global)).or_default() += 1;
        placeholder
    }

    /// References met that have no definition, and how often.
    pub(crate) fn take_undefined(&mut self) -> BTreeMap<(RefKind, u32), u64> {
        std::mem::take(&mut self.undefined)
    }
}
