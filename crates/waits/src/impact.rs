//! What the critical path says of each call path: whether code that makes others wait costs run time in the end.
//!
//! | quantity of call path p | formula |
//! |---|---|
//! | critical | `cp`: time on the critical path |
//! | imbalance | `cp − Σ t / N`, if positive: how much longer the path takes for p than a location does in the mean |
//! | activity | `Σ min(t, cp)` over the locations |
//! | non-critical | `Σ max(t − cp, 0)` |
//! | lost | of each location what it is idle, `|cp| − Σ_p t`, divided in proportion to `max(cp − t, 0)` |
//!
//! `t` is the time of a location in p without waits, `N` the number of locations. After D. Böhme et al., *Scalable
//! critical-path based performance analysis* (2012). Laws: activity + non-critical + lost = `N · |cp|`, in ticks, if no
//! location is busy for longer than the path; `Σ cp = |cp|`. Imbalances are rounded down to ticks.

use crate::delays::shares;
use crate::output::WaitsOutput;
use crate::wait::Wait;
use ouzel_analyses::call_path_profile::{LocationProfile, ProfileOutput};
use ouzel_analyses::critical_path::PathProfile;
use ouzel_model::{CallPathId, CallPathTree, Definitions, LocationId, LocationKind, RegionId, Ticks};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The time of all locations beside the critical path.
#[derive(Debug, Clone)]
pub struct PathImpact {
    /// The call paths that the rows refer to.
    pub call_paths: CallPathTree,
    /// Length of the critical path.
    pub length: Ticks,
    /// Locations of processes that have events.
    pub n_locations: u64,
    /// The call paths of all locations, the highest imbalance first, then the most time on the critical path.
    pub rows: Vec<ImpactRow>,
}

/// A call path beside the critical path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImpactRow {
    /// The call path; the root for time outside of every region.
    pub call_path: CallPathId,
    /// Its time on the critical path.
    pub critical: Ticks,
    /// How much more that is than the mean over the locations.
    pub imbalance: Ticks,
    /// Time of locations up to that on the path.
    pub activity: Ticks,
    /// Time of locations beyond that.
    pub non_critical: Ticks,
    /// Time that locations are idle because the path takes longer here than they do.
    pub lost: Ticks,
}

/// The rows while they are summed up.
type Rows = BTreeMap<CallPathId, ImpactRow>;

fn row(rows: &mut Rows, call_path: CallPathId) -> &mut ImpactRow {
    let none = Ticks(0);
    rows.entry(call_path).or_insert(ImpactRow {
        call_path,
        critical: none,
        imbalance: none,
        activity: none,
        non_critical: none,
        lost: none,
    })
}

impl PathImpact {
    /// From the critical path, the times and the waits of one selection, which must have all locations and calls.
    pub fn new(
        path: &PathProfile,
        profile: &ProfileOutput,
        waits: &WaitsOutput,
        definitions: &Definitions,
    ) -> Self {
        let mut call_paths = profile.call_paths.clone();
        let of_path = call_paths.absorb(&path.call_paths);
        let of_waits = call_paths.absorb(&waits.call_paths);
        let mut rows = Rows::new();
        for it in &path.rows {
            row(&mut rows, of_path.path(it.call_path)).critical += it.time.total();
        }
        let critical: Vec<(CallPathId, Ticks)> =
            rows.values().map(|row| (row.call_path, row.critical)).filter(|it| Ticks(0) < it.1).collect();
        let mut waiting: BTreeMap<(LocationId, CallPathId), Ticks> = BTreeMap::new();
        // What waits for accelerators is on no critical path.
        let is_wait = |wait: &&Wait| wait.is_counted() && !wait.class.is_of_devices();
        for wait in waits.waits.iter().filter(is_wait) {
            *waiting.entry((wait.location, of_waits.path(wait.path))).or_default() += Wait::ticks(wait);
        }
        let is_process = |it: &&LocationProfile| {
            matches!(definitions.location(it.location).kind, LocationKind::CpuThread | LocationKind::Unknown)
        };
        let (length, mut n_locations) = (path.length(), 0);
        for location in profile.locations.iter().filter(is_process).filter(|it| it.span.is_some()) {
            n_locations += 1;
            let times = location.rows.iter().map(|it| (it.call_path, it.times.exclusive));
            let times = times.chain([(CallPathTree::ROOT, location.outside)]).map(|(path, time)| {
                let wait = waiting.get(&(location.location, path)).copied().unwrap_or_default();
                (path, time.since(wait))
            });
            add_location(&mut rows, &times.collect(), &critical, length);
        }
        let mut rows: Vec<ImpactRow> = rows.into_values().map(|row| row.balanced(n_locations)).collect();
        rows.sort_by_key(|row| (Reverse(row.imbalance), Reverse(row.critical), row.call_path));
        PathImpact { call_paths, length, n_locations, rows }
    }

    /// The sum over the rows.
    pub fn sum(&self, of: impl Fn(&ImpactRow) -> Ticks) -> Ticks {
        self.rows.iter().map(of).sum()
    }

    /// The names of the regions of a call path, from the root.
    pub fn names(&self, path: CallPathId, definitions: &Definitions) -> Vec<Arc<str>> {
        let name = |region: &RegionId| definitions.region(*region).name.clone();
        self.call_paths.regions(path).iter().map(name).collect()
    }
}

/// Adds what one location does, and what it is idle.
fn add_location(
    rows: &mut Rows,
    times: &BTreeMap<CallPathId, Ticks>,
    critical: &[(CallPathId, Ticks)],
    length: Ticks,
) {
    for (&path, &time) in times.iter().filter(|(_, time)| Ticks(0) < **time) {
        let row = row(rows, path);
        row.activity += time.min(row.critical);
        row.non_critical += time.since(row.critical);
    }
    let headroom = |&(path, critical): &(CallPathId, Ticks)| {
        let time = times.get(&path).copied().unwrap_or_default();
        critical.since(time).0
    };
    let headroom: Vec<u64> = critical.iter().map(headroom).collect();
    if headroom.iter().all(|&ticks| ticks == 0) {
        return;
    }
    let idle = length.since(times.values().copied().sum());
    for (&(path, _), lost) in critical.iter().zip(shares(idle.0, &headroom)) {
        row(rows, path).lost += Ticks(lost);
    }
}

impl ImpactRow {
    /// With its imbalance: all time of locations is activity or not critical.
    fn balanced(self, n_locations: u64) -> Self {
        let times = u128::from(self.activity.0) + u128::from(self.non_critical.0);
        let (n, critical) = (u128::from(n_locations), u128::from(self.critical.0));
        let imbalance = (n * critical).saturating_sub(times).checked_div(n).unwrap_or_default();
        ImpactRow { imbalance: Ticks(imbalance as u64), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Waits;
    use crate::tests::programs::{chain, late_at_barrier};
    use ouzel_analyses::call_path_profile::CallPathProfile;
    use ouzel_analyses::critical_path::{PathCalls, WaitsOfDevices, critical_path, profile};
    use ouzel_analyses::paired_operations::Operations;
    use ouzel_analyses::semantics::Semantics;
    use ouzel_model::{Notices, TraceSource};
    use ouzel_testkit::simulator::{Machine, RandomOptions, simulate};
    use ouzel_testkit::{ToyTrace, random_program, run};

    fn impact(trace: &ToyTrace) -> PathImpact {
        let definitions = trace.definitions();
        let path = critical_path(
            &run(trace, Operations::new(definitions)),
            &WaitsOfDevices::default(),
            definitions,
            &Notices::default(),
        );
        let classes = Semantics::default().classes(definitions);
        let path = profile(&path, &run(trace, PathCalls::new(&path)), &classes, definitions);
        let (times, waits) = (run(trace, CallPathProfile), run(trace, Waits::new(definitions)));
        PathImpact::new(&path, &times, &waits, definitions)
    }

    /// `path: critical imbalance activity+non-critical+lost`, of the call paths on the critical path.
    fn described(trace: &ToyTrace) -> Vec<String> {
        let impact = impact(trace);
        let row = |row: &ImpactRow| {
            let ImpactRow { critical, imbalance, activity, non_critical, lost, .. } = *row;
            let path = impact.names(row.call_path, trace.definitions()).join("/");
            let parts = format!("{}+{}+{}", activity.0, non_critical.0, lost.0);
            format!("{path}: {} {} {parts}", critical.0, imbalance.0)
        };
        impact.rows.iter().filter(|row| Ticks(0) < row.critical).map(row).collect()
    }

    #[test]
    fn imbalance_is_what_the_path_takes_longer_than_the_mean() {
        // 110 − (100 + 20 + 10) / 3 = 66⅔.
        assert_eq!(described(&chain().end()), ["main/foo: 110 66 130+0+200"]);
        // 100 − (3 · 10 + 100) / 4 = 67½.
        assert_eq!(described(&late_at_barrier().end()), ["main/foo: 100 67 130+0+270"]);
    }

    #[test]
    fn time_beside_the_path_is_not_critical() {
        let trace = ToyTrace::new(
            "0: enter main @0, enter foo @0, leave @60, enter MPI_Send @60, send>1 @60, leave @60, leave @60
             1: enter main @0, enter bar @0, leave @50, enter MPI_Recv @50, recv<0 @60, leave @60, leave @60",
        );
        // Rank 1 has nothing of foo and 50 of bar, which is not critical.
        assert_eq!(described(&trace), ["main/foo: 60 30 60+0+10"]);
        let impact = impact(&trace);
        assert_eq!((impact.sum(|row| row.non_critical), impact.length), (Ticks(50), Ticks(60)));
    }

    fn check_sum(impact: &PathImpact, what: &str) {
        let all = impact.sum(|row| row.activity + row.non_critical + row.lost);
        assert_eq!(all.0, impact.n_locations * impact.length.0, "{what}");
        assert_eq!(impact.sum(|row| row.critical), impact.length, "{what}");
    }

    #[test]
    fn all_time_of_all_ranks_is_explained() {
        let mut n_lost = 0;
        for seed in 0..300 {
            let program = RandomOptions::new(seed).build().program();
            let costly = Machine { overhead: 3, latency: 20, ..Machine::default() };
            for machine in [Machine::default(), costly] {
                let impact = impact(&simulate(&program, &machine).trace);
                check_sum(&impact, &format!("seed {seed}"));
                n_lost += u64::from(Ticks(0) < impact.sum(|row| row.lost));
            }
        }
        assert!(400 < n_lost, "{n_lost}");
        // Locations that begin later than the path does are idle before.
        for seed in 0..100 {
            let impact = impact(&random_program(seed));
            let all = impact.sum(|row| row.activity + row.non_critical + row.lost);
            assert!(impact.n_locations * impact.length.0 <= all.0, "seed {seed}");
        }
    }
}
