//! What time in each call path is spent on, and in which parallel region.
//!
//! Law: a kind depends on the regions of a call path alone. Calls inside of a call that communicates are part of it, and
//! calls inside of one that waits do nothing useful; but tasks run inside of OpenMP barriers, and these compute.

use ouzel_analyses::semantics::{Category, Class, Family};
use ouzel_model::{CallPathTree, CallTree, Definitions, Paradigm, Region, RegionId, RegionRole};

/// What time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeKind {
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
    let mut is_entry = vec![true; call_paths.len()];
    for path in call_paths.paths() {
        let Some(id) = call_paths.region(path) else { continue };
        if id == definitions.filtered_region {
            return None;
        }
        let (region, class) = (definitions.region(id), classes[id.index()]);
        let caller = call_paths.parent(path);
        let above = caller.index();
        is_entry[path.index()] = is_entry[above] && is_program(region);
        let (kind, passed_on) = match is_entry[path.index()] {
            true => (TimeKind::Computation, None),
            false => kind_within(inherited[above], region, class),
        };
        inherited[path.index()] = passed_on;
        let is_region = kinds[above].parallel.is_none() && is_parallel(region, class);
        let parallel = if is_region { Some(id) } else { kinds[above].parallel };
        kinds[path.index()] = PathKind { kind, parallel, is_region };
    }
    Some(kinds)
}

/// For each node of a stored profile's call tree what its exclusive time is spent on, and the region that says so: its
/// own, or that of the caller which communicates or waits. `classes` has the class of every region.
pub fn kinds_in_profile(tree: &CallTree, regions: &[Region], classes: &[Class]) -> Vec<(TimeKind, RegionId)> {
    let mut kinds = Vec::with_capacity(tree.len());
    let mut inherited: Vec<Option<TimeKind>> = Vec::with_capacity(tree.len());
    let mut is_entry: Vec<bool> = Vec::with_capacity(tree.len());
    for node in tree.nodes() {
        let caller = node.parent.map(ouzel_model::CallPathId::index);
        let above = caller.and_then(|caller| inherited[caller]);
        let id = node.region.index();
        is_entry.push(caller.is_none_or(|caller| is_entry[caller]) && is_program(&regions[id]));
        let (kind, passed_on) = match is_entry[is_entry.len() - 1] {
            true => (TimeKind::Computation, None),
            false => kind_within(above, &regions[id], classes[id]),
        };
        let told_by = caller.filter(|_| above.is_some()).map_or(node.region, |caller| {
            let (_, told_by): (TimeKind, RegionId) = kinds[caller];
            told_by
        });
        kinds.push((kind, told_by));
        inherited.push(passed_on);
    }
    kinds
}

/// Whether a region stands for the program or a thread, if it is at the root or called by others that do: tools put these
/// there as regions of their own, one or several (`<Primary> › <Main>` of hpcrun), and what is called there is no part of
/// the measurement system.
fn is_program(region: &Region) -> bool {
    region.paradigm == Paradigm::MeasurementSystem
}

/// What time in a call of `region` is spent on, where its callers pass on `inherited`; and what it passes on itself.
fn kind_within(inherited: Option<TimeKind>, region: &Region, class: Class) -> (TimeKind, Option<TimeKind>) {
    let kind = inherited.unwrap_or_else(|| own_kind(region, class));
    let passed_on = match (kind, class.family) {
        _ if inherited.is_some() => inherited,
        (TimeKind::Computation | TimeKind::Launch, _) | (_, Family::OpenMp) => None,
        _ => Some(kind),
    };
    (kind, passed_on)
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
