//! The fold: one addition for each visit.

use super::output::{LocationProfile, ProfileOutput};
use super::state::{ProfileLocal, ProfilePartial, VisitTimes};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{EventChunk, Needs, Remap, Ticks, Visit};
use serde::{Deserialize, Serialize};

/// Flat profile and call-path profile.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct CallPathProfile;

impl Analysis for CallPathProfile {
    type Local = ProfileLocal;
    type Partial = ProfilePartial;
    type Output = ProfileOutput;
    const NAME: &'static str = "profile";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::VISITS
    }

    fn empty(&self) -> ProfilePartial {
        ProfilePartial::default()
    }

    fn begin(&self, _cx: &LocationCx<'_>) -> ProfileLocal {
        ProfileLocal::default()
    }

    fn fold(&self, local: &mut ProfileLocal, chunk: &EventChunk<'_>) {
        add_visits(chunk.visits, &mut local.paths);
    }

    fn end(&self, local: ProfileLocal, cx: &LocationCx<'_>, _: &LocationSummary, into: &mut ProfilePartial) {
        // Of 100,000 locations, room for more would be a third of the memory.
        let mut rows = Vec::with_capacity(local.rows().count());
        rows.extend(local.rows());
        into.locations.insert(cx.location, rows);
    }

    fn remap(&self, partial: &mut ProfilePartial, remap: &Remap) {
        for rows in partial.locations.values_mut() {
            for row in rows.iter_mut() {
                row.call_path = remap.path(row.call_path);
            }
            rows.sort_unstable_by_key(|row| row.call_path);
        }
    }

    fn merge(&self, into: &mut ProfilePartial, mut from: ProfilePartial) {
        into.locations.append(&mut from.locations);
    }

    fn finish(&self, mut partial: ProfilePartial, cx: &FinishCx<'_>) -> Result<ProfileOutput, AnalysisError> {
        let of_location = |(&location, summary): (_, &LocationSummary)| {
            let rows = partial.locations.remove(&location).unwrap_or_default();
            let inside: Ticks = rows.iter().map(|row| row.times.exclusive).sum();
            let span = summary.span;
            let outside = span.map_or(Ticks(0), |(first, last)| last.since(first).since(inside));
            LocationProfile { location, span, outside, rows }
        };
        let locations = cx.locations.iter().map(of_location).collect();
        Ok(ProfileOutput { call_paths: cx.call_paths.clone(), locations, run_range: cx.run_range() })
    }
}

/// Adds each visit to the times of its call path.
#[inline(never)]
pub(crate) fn add_visits(visits: &[Visit], paths: &mut Vec<VisitTimes>) {
    for visit in visits {
        let i = visit.call_path.index();
        if paths.len() <= i {
            grow(paths, i);
        }
        let inclusive = visit.leave.since(visit.enter);
        let times = &mut paths[i];
        times.visits += 1;
        times.inclusive += inclusive;
        times.exclusive += inclusive.since(visit.in_callees);
        times.min = times.min.min(inclusive);
        times.max = times.max.max(inclusive);
    }
}

/// Makes room for call path `i`.
#[cold]
fn grow(paths: &mut Vec<VisitTimes>, i: usize) {
    paths.resize((i + 1).next_power_of_two(), VisitTimes::default());
}
