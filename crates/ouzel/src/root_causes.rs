//! Bottlenecks of a profile and their causes, with what regions mean.
//!
//! `ouzel_causes` knows numbers; which regions communicate or wait, the [`Semantics`] of the analyses know. Here both
//! meet. Law: input and output to files is work, communication and waiting are not.

use crate::Profile;
use ouzel_analyses::semantics::{Category, Family, Semantics};
use ouzel_causes::{Causes, CausesError, Options, causes};
use ouzel_model::{Region, RegionRole};

impl Profile {
    /// For each region, whether time in it is communication or waiting.
    pub fn waiting_regions(&self, semantics: &Semantics) -> Vec<bool> {
        self.definitions().regions.iter().map(|region| waits(region, semantics)).collect()
    }

    /// Bottlenecks and what explains them. Communication and waiting, as `semantics` say, are left out of what processes
    /// are compared by, and count to the regions that call them; without semantics they are regions like any other.
    ///
    /// # Errors
    /// If no metric stands for time, or it is zero everywhere, or severities cannot be read.
    pub fn causes(
        &self,
        semantics: Option<&Semantics>,
        options: &Options<'_>,
    ) -> Result<Causes, CausesError> {
        let waiting = semantics.map(|semantics| self.waiting_regions(semantics));
        let waiting = waiting.as_deref().unwrap_or(options.waiting);
        causes(self.source(), &Options { waiting, ..*options })
    }
}

fn waits(region: &Region, semantics: &Semantics) -> bool {
    let class = semantics.class(region);
    let is_communication = matches!(class.family, Family::Mpi | Family::Shmem | Family::Nccl);
    let is_input_output = matches!(region.role, RegionRole::FileIo | RegionRole::FileIoMetadata)
        || region.name.to_lowercase().contains("mpi_file_");
    class.category != Category::Computation || (is_communication && !is_input_output)
}
