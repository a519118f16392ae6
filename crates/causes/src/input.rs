//! What is read of a profile before bottlenecks are looked for.

use crate::output::RegionName;
use crate::processes::Processes;
use crate::regions::Regions;
use ouzel_model::ProfileDefinitions;

/// The common input for the two kinds of bottlenecks.
pub(crate) struct BottleneckInput<'a> {
    pub definitions: &'a ProfileDefinitions,
    pub processes: &'a Processes,
    pub regions: &'a Regions,
    /// Factor that converts times to the unit of the answer.
    pub scale: f64,
}

impl BottleneckInput<'_> {
    /// The name of a region.
    pub fn name(&self, region: usize) -> RegionName {
        let region = &self.regions.regions[region];
        RegionName {
            call_path: self.definitions.call_path_names(region.path),
            itself: region.is_own,
            path: region.path,
        }
    }
}
