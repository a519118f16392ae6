//! The fold: one addition for each operation.

use super::output::IoOutput;
use super::state::{IoTotals, PathIo};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{CallPathId, EventChunk, LocationId, Needs, Remap};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Totals of input and output.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Io;

impl Analysis for Io {
    /// By call path.
    type Local = Vec<IoTotals>;
    type Partial = BTreeMap<LocationId, Vec<PathIo>>;
    type Output = IoOutput;
    const NAME: &'static str = "io";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::IO | Needs::CALL_PATHS
    }

    fn empty(&self) -> Self::Partial {
        BTreeMap::new()
    }

    fn begin(&self, _: &LocationCx<'_>) -> Vec<IoTotals> {
        Vec::new()
    }

    fn fold(&self, local: &mut Vec<IoTotals>, chunk: &EventChunk<'_>) {
        for operation in chunk.io {
            let path = chunk.call_path[operation.row as usize].index();
            if local.len() <= path {
                local.resize((path + 1).next_power_of_two(), IoTotals::default());
            }
            local[path].add(operation);
        }
    }

    fn end(&self, local: Vec<IoTotals>, cx: &LocationCx<'_>, _: &LocationSummary, into: &mut Self::Partial) {
        let paths: Vec<PathIo> = local
            .into_iter()
            .enumerate()
            .filter(|(_, totals)| 0 < totals.operations)
            .map(|(path, totals)| PathIo { call_path: CallPathId::from_index(path), totals })
            .collect();
        if !paths.is_empty() {
            into.insert(cx.location, paths);
        }
    }

    fn remap(&self, partial: &mut Self::Partial, remap: &Remap) {
        for paths in partial.values_mut() {
            paths.iter_mut().for_each(|path| path.call_path = remap.path(path.call_path));
            paths.sort_unstable_by_key(|path| path.call_path);
        }
    }

    fn merge(&self, into: &mut Self::Partial, mut from: Self::Partial) {
        into.append(&mut from);
    }

    fn finish(&self, partial: Self::Partial, cx: &FinishCx<'_>) -> Result<IoOutput, AnalysisError> {
        Ok(IoOutput { call_paths: cx.call_paths.clone(), locations: partial })
    }
}
