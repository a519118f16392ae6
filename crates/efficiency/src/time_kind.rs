//! What time in each call path is spent on, and in which parallel region.
//!
//! Law: a kind depends on the regions of a call path alone. Calls inside of a call that communicates are part of it, and
//! calls inside of one that waits do nothing useful; but tasks run inside of OpenMP barriers, and these compute.

use ouzel_analyses::semantics::{Category, Class, Family};
use ouzel_model::{CallPathTree, Definitions, Paradigm, Region, RegionId, RegionRole};

/// What time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeKind {
    /// The program's own work.
    Computation,
    /// Calls of an accelerator runtime that do not wait: they count as work, too.
    Launch,
    /// MPI, SHMEM, NCCL, and everything inside.
    Communication,
    /// Waiting for an accelerator.
    DeviceWait,
    /// Waiting for anything else, and the measurement system.
    Other,
}

impl TimeKind {
    /// Whether it is useful time.
    pub fn is_useful(self) -> bool {
        matches!(self, TimeKind::Computation | TimeKind::Launch)
    }

    /// Whether the thread does something, useful or not, or waits for another process or an accelerator: everything but
    /// waiting for other threads.
    pub fn is_busy(self) -> bool {
        self != TimeKind::Other
    }
}

/// A call path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathKind {
    /// What its exclusive time is spent on.
    pub kind: TimeKind,
    /// The outermost parallel region around it or at it.
    pub parallel: Option<RegionId>,
    /// Whether the path ends in that region.
    pub is_region: bool,
}

/// By call path; `None` if a region filter hides calls.
pub(crate) fn path_kinds(
    call_paths: &CallPathTree,
    definitions: &Definitions,
    classes: &[Class],
) -> Option<Vec<PathKind>> {
    let outside = PathKind { kind: TimeKind::Computation, parallel: None, is_region: false };
    let mut kinds = vec![outside; call_paths.len()];
    // What calls inside of the path inherit: communication and waiting, but for waiting of threads.
    let mut inherited: Vec<Option<TimeKind>> = vec![None; call_paths.len()];
    for path in call_paths.paths() {
        let Some(id) = call_paths.region(path) else { continue };
        if id == definitions.filtered_region {
            return None;
        }
        let (region, class) = (definitions.region(id), classes[id.index()]);
        let above = call_paths.parent(path).index();
        let own = own_kind(region, class);
        let kind = inherited[above].unwrap_or(own);
        inherited[path.index()] = match (kind, class.family) {
            _ if inherited[above].is_some() => inherited[above],
            (TimeKind::Computation | TimeKind::Launch, _) | (_, Family::OpenMp) => None,
            _ => Some(kind),
        };
        let is_region = kinds[above].parallel.is_none() && is_parallel(region, class);
        let parallel = if is_region { Some(id) } else { kinds[above].parallel };
        kinds[path.index()] = PathKind { kind, parallel, is_region };
    }
    Some(kinds)
}

fn own_kind(region: &Region, class: Class) -> TimeKind {
    let waits = class.category != Category::Computation;
    match class.family {
        Family::Mpi | Family::Shmem | Family::Nccl => TimeKind::Communication,
        _ if region.paradigm == Paradigm::MeasurementSystem => TimeKind::Other,
        Family::CudaHip if waits => TimeKind::DeviceWait,
        Family::CudaHip => TimeKind::Launch,
        _ if waits => TimeKind::Other,
        _ => TimeKind::Computation,
    }
}

/// Whether a region is executed by a team of threads: by its role, else by the names that tracers and compilers give it.
fn is_parallel(region: &Region, class: Class) -> bool {
    const NAMES: [&str; 4] = ["!$omp parallel", "omp parallel", "GOMP_parallel", "__kmpc_fork_call"];
    let is_named = || NAMES.iter().any(|name| region.name.starts_with(name));
    region.role == RegionRole::Parallel || (class.family == Family::OpenMp && is_named())
}
