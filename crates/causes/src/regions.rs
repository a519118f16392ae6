//! The region tree: which call paths are regions, and how much time each process spends there.
//!
//! ```text
//! call tree ──waiting call paths to their callers──small ones to their callers──only callees in the place of their callers──► regions
//! ```
//!
//! A profile knows call paths down to the last library function; the method needs the parts of a program. So
//! communication counts towards the region that calls it; a call path that takes less than [`MIN_SHARE`] of the time of
//! every process counts towards its caller; and while a level has only one region (`main`), that is the program and its
//! callees are the regions of depth 1. What such a caller does itself is a region of its own, unless that, too, is less
//! than the share. Law: ids of regions are call paths, and callers come before callees.

use crate::fold::{Waits, fold, waits};
use crate::processes::Processes;
use crate::search::Forest;
use ouzel_model::{CallPathId, Level, MetricId, Notice, NoticeCode, ProfileSource, SeverityError};
use rustc_hash::FxHashMap;

/// Share of the time of a process that a call path must take, in any process, to be a region.
pub(crate) const MIN_SHARE: f64 = 0.001;
/// Maximum number of values kept for each quantity: 160 MB. Beyond, more call paths count towards their callers.
const MAX_NUMBERS: usize = 20_000_000;

/// One region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Its call path.
    pub path: CallPathId,
    /// Whether it is the caller's own part of the call path, without the regions it calls.
    pub is_own: bool,
    /// The region that calls it; `None` at depth 1.
    pub parent: Option<usize>,
    /// 1 for the program's own parts, and one more for each caller.
    pub depth: u32,
}

/// The regions of a profile, with the time of each process.
#[derive(Debug)]
pub(crate) struct Regions {
    pub regions: Vec<Region>,
    /// Time of each process without waiting, by region.
    pub busy: Vec<Vec<f64>>,
    /// All time of each process, by region.
    pub wall: Vec<Vec<f64>>,
    /// All time of each process.
    pub program: Vec<f64>,
    /// The callers that were replaced by their callees, from the root.
    pub outer: Vec<CallPathId>,
    /// Which call paths wait.
    pub waits: Waits,
    pub notices: Vec<Notice>,
    place: FxHashMap<(CallPathId, bool), usize>,
}

/// A metric by region and process.
#[derive(Debug)]
pub(crate) struct Values {
    /// By region, callees included.
    pub regions: Vec<Vec<f64>>,
    /// Of the whole process.
    pub program: Vec<f64>,
    pub notices: Vec<Notice>,
}

impl Regions {
    pub(crate) fn new(
        source: &dyn ProfileSource,
        metric: MetricId,
        processes: &Processes,
        waiting: &[bool],
    ) -> Result<Self, SeverityError> {
        let tree = &source.definitions().call_tree;
        let mut waits = waits(source, waiting);
        let n = processes.len();
        let mut program = vec![0.0; n];
        let mut all_busy = 0.0;
        fold(source, metric, processes, &waits, true, &mut |path, sums| {
            if tree.node(path).parent.is_none() {
                program.iter_mut().zip(&sums.total).for_each(|(all, here)| *all += here);
                all_busy += sums.busy.iter().sum::<f64>();
            }
        })?;
        // If only communication was recorded, communication is analysed.
        if all_busy <= MIN_SHARE * program.iter().sum::<f64>() {
            waits.forget();
        }
        let share = |times: &[f64]| {
            let shares = times.iter().zip(&program).filter(|(_, all)| **all > 0.0).map(|(t, all)| t / all);
            shares.fold(0.0, f64::max)
        };
        let mut shares: Vec<(CallPathId, f64)> = Vec::new();
        fold(source, metric, processes, &waits, true, &mut |path, sums| {
            if !waits.folds[path.index()] {
                shares.push((path, share(&sums.total)));
            }
        })?;
        let limit = least_share(&shares, n);
        let mut kept = vec![false; tree.len()];
        for (path, _) in shares.iter().filter(|(_, share)| limit <= *share && *share > 0.0) {
            kept[path.index()] = true;
        }
        let mut notices = Vec::new();
        let n_small = shares.iter().filter(|(path, share)| *share > 0.0 && !kept[path.index()]).count();
        if n_small > 0 {
            let message = format!(
                "call paths that take less than {:.2} % of the time of every process count towards their callers",
                limit * 100.0
            );
            notices.push(Notice::new(Level::Low, NoticeCode::NotRepresented, message).times(n_small as u64));
        }
        let (mut regions, outer) = arrange(source, &kept);
        let mut place = index(&regions);
        let empty = || vec![vec![0.0; n]; regions.len()];
        let (mut busy, mut wall) = (empty(), empty());
        let more = fold(source, metric, processes, &waits, true, &mut |path, sums| {
            if let Some(&at) = place.get(&(path, false)) {
                busy[at].copy_from_slice(&sums.busy);
                wall[at].copy_from_slice(&sums.total);
            }
            if let Some(&at) = place.get(&(path, true)) {
                busy[at].copy_from_slice(&sums.own_busy);
                wall[at].copy_from_slice(&sums.own);
            }
        })?;
        notices.extend(more);
        // What an outer caller does itself is a region only if it takes time.
        let is_left: Vec<bool> = regions
            .iter()
            .zip(&wall)
            .map(|(region, times)| !region.is_own || limit <= share(times))
            .collect();
        keep(&mut regions, &mut busy, &mut wall, &is_left);
        place = index(&regions);
        Ok(Regions { regions, busy, wall, program, outer, waits, notices, place })
    }

    /// The values of a metric in each region and process, and in each process as a whole.
    pub(crate) fn values(
        &self,
        source: &dyn ProfileSource,
        metric: MetricId,
        processes: &Processes,
        only_timed: bool,
    ) -> Result<Values, SeverityError> {
        let tree = &source.definitions().call_tree;
        let mut values = vec![vec![0.0; processes.len()]; self.regions.len()];
        let mut program = vec![0.0; processes.len()];
        let notices = fold(source, metric, processes, &self.waits, only_timed, &mut |path, sums| {
            if tree.node(path).parent.is_none() {
                program.iter_mut().zip(&sums.total).for_each(|(all, here)| *all += here);
            }
            if let Some(&at) = self.place.get(&(path, false)) {
                values[at].copy_from_slice(&sums.total);
            }
            if let Some(&at) = self.place.get(&(path, true)) {
                values[at].copy_from_slice(&sums.own);
            }
        })?;
        Ok(Values { regions: values, program, notices })
    }

    /// The input of the search.
    pub(crate) fn forest(&self) -> Forest {
        Forest { parents: self.parents(), times: self.busy.clone(), n_processes: self.program.len() }
    }

    pub(crate) fn parents(&self) -> Vec<Option<usize>> {
        self.regions.iter().map(|region| region.parent).collect()
    }
}

fn index(regions: &[Region]) -> FxHashMap<(CallPathId, bool), usize> {
    regions.iter().enumerate().map(|(at, region)| ((region.path, region.is_own), at)).collect()
}

/// The smallest share that keeps no more values than fit.
fn least_share(shares: &[(CallPathId, f64)], n_processes: usize) -> f64 {
    let most = (MAX_NUMBERS / n_processes.max(1)).max(1);
    let mut sorted: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    // Callers take no less than their callees, so the most costly ones are a tree.
    sorted.get(most).map_or(MIN_SHARE, |share| share.max(MIN_SHARE).next_up())
}

/// The kept call paths as regions in pre-order, and the callers that were replaced by their callees.
fn arrange(source: &dyn ProfileSource, kept: &[bool]) -> (Vec<Region>, Vec<CallPathId>) {
    let tree = &source.definitions().call_tree;
    let mut callees: FxHashMap<Option<CallPathId>, Vec<CallPathId>> = FxHashMap::default();
    for path in tree.paths().filter(|path| kept[path.index()]) {
        let caller = std::iter::successors(tree.node(path).parent, |&at| tree.node(at).parent)
            .find(|caller| kept[caller.index()]);
        callees.entry(caller).or_default().push(path);
    }
    let mut outer = Vec::new();
    let mut top = None;
    while let Some([only]) = callees.get(&top).map(Vec::as_slice)
        && callees.contains_key(&Some(*only))
    {
        outer.push(*only);
        top = Some(*only);
    }
    let mut regions: Vec<Region> =
        outer.iter().map(|&path| Region { path, is_own: true, parent: None, depth: 1 }).collect();
    let mut places: FxHashMap<CallPathId, usize> = FxHashMap::default();
    let inside = top.map_or_else(|| tree.all(), |top| tree.subtree(top));
    for path in tree.paths().filter(|path| inside.contains(path) && Some(*path) != top && kept[path.index()])
    {
        let caller = std::iter::successors(tree.node(path).parent, |&at| tree.node(at).parent)
            .find_map(|caller| places.get(&caller).copied());
        places.insert(path, regions.len());
        let depth = caller.map_or(1, |caller| regions[caller].depth + 1);
        regions.push(Region { path, is_own: false, parent: caller, depth });
    }
    (regions, outer)
}

/// Keeps the marked regions; those removed have no callees.
fn keep(regions: &mut Vec<Region>, busy: &mut Vec<Vec<f64>>, wall: &mut Vec<Vec<f64>>, marked: &[bool]) {
    let mut n_before = 0;
    let places: Vec<usize> = marked
        .iter()
        .map(|&is_kept| {
            n_before += usize::from(is_kept);
            n_before - usize::from(is_kept)
        })
        .collect();
    for region in regions.iter_mut() {
        region.parent = region.parent.map(|parent| places[parent]);
    }
    let mut next = marked.iter();
    regions.retain(|_| *next.next().expect("one mark each"));
    for columns in [busy, wall] {
        let mut next = marked.iter();
        columns.retain(|_| *next.next().expect("one mark each"));
    }
}
