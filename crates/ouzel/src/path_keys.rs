//! What a critical path needs of a pass.

use ouzel_analyses::critical_path::{CriticalPathOutput, WaitsOfDevices, critical_path};
use ouzel_analyses::paired_operations::{Operations, OperationsOutput};
use ouzel_engine::{AnalysisError, AnalysisSet, Key, Outputs};
use ouzel_model::{Definitions, Notices};
use ouzel_waits::accelerators::{PathWaits, PathWaitsOutput};

/// The analyses of a pass that find what a critical path follows: messages, collectives, and accelerators.
pub(crate) struct PathKeys {
    operations: Key<Operations>,
    devices: Option<Key<PathWaits>>,
}

impl PathKeys {
    /// Adds the analyses to a pass.
    pub fn new(set: &mut AnalysisSet, definitions: &Definitions) -> Self {
        let operations = set.add(Operations::new(definitions));
        let devices = PathWaits::new(definitions);
        let devices = devices.has_devices().then(|| set.add_silent(devices));
        PathKeys { operations, devices }
    }

    /// The path, and the operations that it follows. Says to `notices` what it could not follow.
    ///
    /// # Errors
    /// If an analysis cannot answer.
    pub fn path(
        self,
        outputs: &mut Outputs,
        definitions: &Definitions,
        notices: &Notices,
    ) -> Result<(CriticalPathOutput, OperationsOutput), AnalysisError> {
        let mut operations = outputs.take(&self.operations)?;
        let mut of_devices = WaitsOfDevices::default();
        if let Some(key) = self.devices {
            let PathWaitsOutput { call_paths, waits, notices: remarks } = outputs.take(&key)?;
            let remap = operations.call_paths.absorb(&call_paths);
            of_devices = waits;
            of_devices.list.iter_mut().for_each(|wait| wait.call_path = remap.path(wait.call_path));
            notices.extend(remarks);
        }
        Ok((critical_path(&operations, &of_devices, definitions, notices), operations))
    }
}
