//! Sums of a metric by call path and process, callees included.
//!
//! Rows come from the last call path to the first, so callees come before callers; what they
//! sum up to waits in one place for each level of the tree. Waiting call paths (communication)
//! are no regions: they and what is below count to the call path that they are called from.

use crate::processes::Processes;
use ouzel_model::{
    CallPathId, MetricId, MetricValueType, Notice, ProfileSource, Scope, ScopedRows, SeverityError,
    SeverityRow,
};

/// What a call path sums up to in each process.
#[derive(Debug, Clone)]
pub(crate) struct ProcessSums {
    /// With everything below.
    pub total: Vec<f64>,
    /// Without regions below: its own, and that of the waiting call paths right below it.
    pub own: Vec<f64>,
    /// Of `total`, what was not spent in waiting call paths.
    pub busy: Vec<f64>,
    /// Of `own`, what was not spent in waiting call paths.
    pub own_busy: Vec<f64>,
    is_zero: bool,
}

impl ProcessSums {
    fn zero(n: usize) -> Self {
        let [total, own, busy, own_busy] = [(); 4].map(|()| vec![0.0; n]);
        ProcessSums { total, own, busy, own_busy, is_zero: true }
    }

    fn clear(&mut self) {
        if !self.is_zero {
            for sums in [&mut self.total, &mut self.own, &mut self.busy, &mut self.own_busy] {
                sums.fill(0.0);
            }
            self.is_zero = true;
        }
    }
}

fn add(to: &mut [f64], from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// Calls `visit` for every call path that has a value with it or below, from the last to the first.
///
/// # Errors
/// If the metric has no values without callees, or they cannot be read.
pub(crate) fn fold(
    source: &dyn ProfileSource,
    metric: MetricId,
    processes: &Processes,
    waits: &Waits,
    only_timed: bool,
    visit: &mut dyn FnMut(CallPathId, &ProcessSums),
) -> Result<Vec<Notice>, SeverityError> {
    let tree = &source.definitions().call_tree;
    let n = processes.len();
    let mut rows = ScopedRows::open(source, metric, Scope::Exclusive, tree.all())?;
    let mut row = SeverityRow::new(MetricValueType::F64);
    let mut has_row = rows.read(&mut row)?;
    // What the callees of the call path of each depth that is still to come sum up to.
    let mut levels: Vec<ProcessSums> = vec![ProcessSums::zero(n); tree.n_levels() + 1];
    let mut here = ProcessSums::zero(n);
    let mut exclusive = vec![0.0; n];
    for path in tree.paths().rev() {
        let is_stored = has_row && row.path == path;
        let depth = tree.depth(path);
        if !is_stored && levels[depth + 1].is_zero {
            continue;
        }
        std::mem::swap(&mut here, &mut levels[depth + 1]);
        levels[depth + 1].clear();
        if is_stored {
            exclusive.fill(0.0);
            processes.add(&row, only_timed, &mut exclusive);
            has_row = rows.read(&mut row)?;
            add(&mut here.total, &exclusive);
            add(&mut here.own, &exclusive);
            if !waits.idle[path.index()] {
                add(&mut here.busy, &exclusive);
                add(&mut here.own_busy, &exclusive);
            }
        }
        here.is_zero = false;
        let caller = &mut levels[depth];
        caller.is_zero = false;
        add(&mut caller.total, &here.total);
        add(&mut caller.busy, &here.busy);
        if waits.folds[path.index()] {
            add(&mut caller.own, &here.total);
        }
        visit(path, &here);
        here.clear();
    }
    Ok(rows.notices())
}

/// What waiting does to call paths.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits {
    /// For each call path, whether its time is time of waiting.
    pub idle: Vec<bool>,
    /// For each call path, whether it counts to its caller. Roots never do, as there is none.
    pub folds: Vec<bool>,
    /// Whether all time of the profile was, and no call path is taken for waiting therefore.
    pub is_all: bool,
}

impl Waits {
    /// Takes waiting for work like any other.
    pub fn forget(&mut self) {
        self.is_all = self.idle.contains(&true);
        self.idle.fill(false);
        self.folds.fill(false);
    }
}

/// The call paths that are one of the regions that wait, or below one.
pub(crate) fn waits(source: &dyn ProfileSource, waiting: &[bool]) -> Waits {
    let tree = &source.definitions().call_tree;
    let mut waits = Waits { idle: vec![false; tree.len()], folds: vec![false; tree.len()], is_all: false };
    for path in tree.paths() {
        let node = tree.node(path);
        let is_waiting = waiting.get(node.region.index()).copied().unwrap_or(false);
        // What a library calls while it waits is waiting, too. A root calls the program, whatever its name.
        let within = node.parent.filter(|&parent| tree.node(parent).parent.is_some());
        let is_idle = is_waiting || within.is_some_and(|parent| waits.idle[parent.index()]);
        waits.idle[path.index()] = is_idle;
        waits.folds[path.index()] = is_idle && node.parent.is_some();
    }
    waits
}
