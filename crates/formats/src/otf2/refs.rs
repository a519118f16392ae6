//! From the references of a file to the dense ids of the model.
//!
//! Two steps in one table look-up: local reference → global reference (the mapping
//! tables of the location) → id. Law: a reference without a definition gets the
//! placeholder of its table and is counted, never dropped.

use ouzel_model::{CommId, MetricId, ParameterId, RegionId};
use ouzel_otf2::MappingTables;
use ouzel_otf2::records::RefKind;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Global references of a trace and what they stand for.
#[derive(Debug)]
pub(super) struct GlobalRefs {
    pub regions: FxHashMap<u32, RegionId>,
    pub unknown_region: RegionId,
    pub comms: FxHashMap<u32, CommId>,
    pub unknown_comm: CommId,
    /// Members of each metric class or instance.
    pub metrics: FxHashMap<u32, Arc<[MetricId]>>,
    pub parameters: FxHashMap<u32, ParameterId>,
    /// Region of each calling context.
    pub calling_contexts: FxHashMap<u32, RegionId>,
    pub strings: FxHashMap<u32, Arc<str>>,
}

/// Local references below this are looked up in a table, others by two hash maps. Tracers count regions from zero;
/// the bound only keeps a corrupt reference from taking memory.
const TABLE_LEN_MAX: usize = 1 << 16;

/// The references of one location.
#[derive(Debug)]
pub(super) struct LocationRefs<'a> {
    global: &'a GlobalRefs,
    mapping: MappingTables,
    /// Id of each small local region reference; the unknown region where there is none.
    regions: Vec<RegionId>,
    /// References without a definition: kind and global reference.
    undefined: BTreeMap<(RefKind, u32), u64>,
}

impl<'a> LocationRefs<'a> {
    pub fn new(global: &'a GlobalRefs, mapping: MappingTables) -> Self {
        let n_known = global.regions.len().min(TABLE_LEN_MAX);
        let regions = (0..n_known as u32)
            .map(|local| {
                let id = global.regions.get(&mapping.map_u32(RefKind::Region, local)).copied();
                id.unwrap_or(global.unknown_region)
            })
            .collect();
        LocationRefs { global, mapping, regions, undefined: BTreeMap::new() }
    }

    #[inline]
    pub fn region(&mut self, local: u32) -> RegionId {
        match self.regions.get(local as usize) {
            Some(&id) if id != self.global.unknown_region => id,
            _ => self.region_slow(local),
        }
    }

    #[inline(never)]
    fn region_slow(&mut self, local: u32) -> RegionId {
        let global = self.mapping.map_u32(RefKind::Region, local);
        match self.global.regions.get(&global) {
            Some(&id) => id,
            None => self.undefined(RefKind::Region, global, self.global.unknown_region),
        }
    }

    pub fn comm(&mut self, local: u32) -> CommId {
        let global = self.mapping.map_u32(RefKind::Comm, local);
        match self.global.comms.get(&global) {
            Some(&id) => id,
            None => self.undefined(RefKind::Comm, global, self.global.unknown_comm),
        }
    }

    pub fn calling_context(&mut self, local: u32) -> RegionId {
        let global = self.mapping.map_u32(RefKind::CallingContext, local);
        match self.global.calling_contexts.get(&global) {
            Some(&id) => id,
            None => self.undefined(RefKind::CallingContext, global, self.global.unknown_region),
        }
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

    /// References met that no definition explains, with how often.
    pub fn take_undefined(&mut self) -> BTreeMap<(RefKind, u32), u64> {
        std::mem::take(&mut self.undefined)
    }
}
