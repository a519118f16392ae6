//! Which region a loop begins with.

use super::series::SeriesCall;
use ouzel_model::{CallPathId, CallPathTree, RegionId, Ticks};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Fewer visits are no repetition: two have one distance between them, which is always even.
const VISITS_MIN: u64 = 3;

/// A region that begins what repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartRegion {
    /// The region.
    pub region: RegionId,
    /// The call path whose visits were found to repeat.
    pub call_path: CallPathId,
    /// Number of its visits.
    pub n_visits: u64,
}

/// Visits of one call path.
#[derive(Debug, Clone, Copy)]
struct Visits {
    n: u64,
    first: usize,
    last: usize,
    enter: Ticks,
    leave: Ticks,
    /// Sum of squares of the distances between visits, in calls.
    squares: u128,
}

impl Visits {
    fn covered(&self) -> Ticks {
        self.leave.since(self.enter)
    }

    /// Variance of the distances / their mean²: 0 is regular.
    fn unevenness(&self) -> f64 {
        let n_gaps = (self.n - 1) as f64;
        let sum = (self.last - self.first) as f64;
        (n_gaps * self.squares as f64 / (sum * sum) - 1.0).max(0.0)
    }
}

/// The region whose visits among `calls` repeat most regularly at the shallowest depth, as described in
/// [`patterns`](super); `None` if no call path is visited three times.
pub(crate) fn find_start(calls: &[SeriesCall], call_paths: &CallPathTree) -> Option<StartRegion> {
    let mut by_path: BTreeMap<CallPathId, Visits> = BTreeMap::new();
    for (i, call) in calls.iter().enumerate() {
        let new = Visits { n: 0, first: i, last: i, enter: call.enter, leave: call.leave, squares: 0 };
        let visits = by_path.entry(call.call_path).or_insert(new);
        visits.n += 1;
        visits.squares += ((i - visits.last) as u128).pow(2);
        visits.last = i;
        visits.leave = visits.leave.max(call.leave);
    }
    let end = calls.iter().map(|call| call.leave).max()?;
    let span = end.since(calls.first()?.enter);
    let found = |(path, visits): (CallPathId, Visits)| {
        let region = call_paths.region(path)?;
        Some(StartRegion { region, call_path: path, n_visits: visits.n })
    };
    let candidates: Vec<(CallPathId, Visits)> =
        by_path.into_iter().filter(|(_, visits)| VISITS_MIN <= visits.n).collect();
    let covers_half = |visits: &Visits| span.0 <= visits.covered().0.saturating_mul(2);
    let shallow = candidates
        .iter()
        .filter(|(_, visits)| covers_half(visits))
        .map(|&(path, _)| call_paths.depth(path))
        .min();
    let Some(depth) = shallow else {
        let longest =
            candidates.into_iter().min_by_key(|(_, visits)| (Reverse(visits.covered()), visits.first));
        return longest.and_then(found);
    };
    candidates
        .into_iter()
        .filter(|(path, visits)| call_paths.depth(*path) == depth && covers_half(visits))
        .min_by(|(_, a), (_, b)| {
            a.unevenness().total_cmp(&b.unevenness()).then_with(|| a.first.cmp(&b.first))
        })
        .and_then(found)
}
