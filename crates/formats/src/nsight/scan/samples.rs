//! Samples of CPUs and their call chains.
//!
//! A chain is a run of rows with one id, the innermost frame at depth 0. Frames without a symbol are named after
//! their module, and neighbours of one module are one frame: addresses of two runs never agree.

use super::{Origin, ReadError, ReportRow, ReportScan};
use crate::nsight::rows::RowKind;
use ouzel_model::{ContextId, MAX_SAMPLED_DEPTH, RegionId};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The chain that is being read.
#[derive(Debug, Default)]
struct Chain {
    id: Option<i64>,
    /// Depth and region of each frame.
    frames: Vec<(i64, u32)>,
}

impl ReportScan<'_> {
    /// The tables of samples.
    pub(super) fn samples(&mut self) -> Result<(), ReadError> {
        let mut contexts: Vec<(i64, u32)> = Vec::new();
        let mut chain = Chain::default();
        let mut modules: FxHashMap<i64, u32> = FxHashMap::default();
        let columns = ["id", "stackDepth", "symbol", "module", "unresolved"];
        self.table("SAMPLING_CALLCHAINS", &columns, None, |scan, row| {
            let (Some(id), Some(depth)) = (row.int(0), row.int(1)) else {
                scan.n_damaged += 1;
                return Ok(());
            };
            if chain.id != Some(id) {
                scan.close(&mut chain, &mut contexts);
                chain.id = Some(id);
            }
            let (symbol, module) = (row.int(2).unwrap_or(-1), row.int(3).unwrap_or(-1));
            let region = if row.int(4).unwrap_or(0) == 0 {
                scan.region(&Origin::Sampled, b'p', symbol, |name| name)
            } else {
                *modules.entry(module).or_insert_with(|| scan.unresolved(module))
            };
            chain.frames.push((depth, region));
            Ok(())
        })?;
        self.close(&mut chain, &mut contexts);
        // Ids of samples ascend with their chains in every export seen; a search needs it.
        contexts.sort_unstable();
        self.table("COMPOSITE_EVENTS", &["start", "globalTid", "id"], None, |scan, row| {
            let (Some(start), Some(thread)) = (row.int(0), row.int(1)) else {
                scan.n_damaged += 1;
                return Ok(());
            };
            let id = row.int(2).unwrap_or(-1);
            let Ok(found) = contexts.binary_search_by_key(&id, |&(id, _)| id) else {
                scan.leave_out("CPU samples without a call chain");
                return Ok(());
            };
            scan.all.n_samples += 1;
            let place = scan.thread(thread);
            let context = contexts[found].1 + 1;
            scan.push(place, ReportRow { kind: RowKind::Sample, ..ReportRow::call(start, start, context) })
        })
    }

    /// The region of frames of a module without symbols.
    fn unresolved(&mut self, module: i64) -> u32 {
        let module = self.strings.get(module);
        let path = module.as_deref().unwrap_or("unknown module");
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        self.all.regions.get(Origin::Sampled, &Arc::from(format!("<unresolved in {file}>")))
    }

    /// Puts the chain into the tree of contexts.
    fn close(&mut self, chain: &mut Chain, contexts: &mut Vec<(i64, u32)>) {
        let Some(id) = chain.id.take() else { return };
        chain.frames.sort_by_key(|&(depth, _)| std::cmp::Reverse(depth));
        chain.frames.dedup_by(|inner, outer| {
            let name_is_of_module = |region| self.all.regions.is_unresolved(region);
            inner.1 == outer.1 && name_is_of_module(inner.1)
        });
        let mut context: Option<u32> = None;
        for &(_, region) in chain.frames.iter().take(MAX_SAMPLED_DEPTH as usize) {
            let key = (context.map_or(0, |context| context + 1), region);
            let all = &mut *self.all;
            context = Some(*all.context_index.entry(key).or_insert_with(|| {
                all.contexts.push(context.map(ContextId), RegionId(region), None, None).0
            }));
        }
        contexts.extend(context.map(|context| (id, context)));
        chain.frames.clear();
    }
}
