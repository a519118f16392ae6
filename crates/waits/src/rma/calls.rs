//! What calls with records of one-sided communication do.
//!
//! Law: depends on the definitions alone. A run without windows has no such calls, so that its events are not looked at.

use ouzel_analyses::semantics::{Category, Family, Semantics, mpi_function};
use ouzel_model::{Definitions, Paradigm, Region, RegionRole};
use serde::{Deserialize, Serialize};

/// What calls of a region do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RmaCallKind {
    /// They are the program's own: what is recorded inside takes no time.
    Works,
    /// What their records say.
    Call,
    /// They separate epochs of all ranks.
    Fence,
    /// They begin accesses to a group.
    Start,
    /// They end them.
    Complete,
    /// They let a group access the memory.
    Post,
    /// They wait until the group has.
    Wait,
    /// They ask whether it has.
    Test,
}

impl RmaCallKind {
    fn of(region: &Region, semantics: &Semantics) -> Self {
        match mpi_function(&region.name).as_deref() {
            Some("win_fence") => RmaCallKind::Fence,
            Some("win_start") => RmaCallKind::Start,
            Some("win_complete") => RmaCallKind::Complete,
            Some("win_post") => RmaCallKind::Post,
            Some("win_wait") => RmaCallKind::Wait,
            Some("win_test") => RmaCallKind::Test,
            Some(_) => RmaCallKind::Call,
            None => {
                let class = semantics.class(region);
                let is_library = matches!(class.family, Family::Mpi | Family::Shmem)
                    || matches!(region.paradigm, Paradigm::Gaspi | Paradigm::Upc | Paradigm::Shmem)
                    || region.role == RegionRole::Rma;
                match is_library || class.category != Category::Computation {
                    true => RmaCallKind::Call,
                    false => RmaCallKind::Works,
                }
            }
        }
    }

    /// The kind of each region; none if the run has no windows.
    pub fn of_regions(definitions: &Definitions, semantics: &Semantics) -> Vec<RmaCallKind> {
        if definitions.rma_windows.is_empty() {
            return Vec::new();
        }
        definitions.regions.iter().map(|region| RmaCallKind::of(region, semantics)).collect()
    }
}
