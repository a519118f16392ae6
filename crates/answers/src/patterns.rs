//! `ouzel patterns`.

use ouzel::analyses::patterns::PatternsOutput;
use ouzel::model::Definitions;
use serde::Serialize;
use std::sync::Arc;

/// Which stretches of calls repeat. If nothing does, a notice says why.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PatternsAnswer {
    /// The rank that was analysed; `null` if the trace knows none, or nothing repeats.
    pub rank: Option<u32>,
    /// The region that the series of calls begins and ends with; `null` if nothing repeats.
    pub start: Option<Arc<str>>,
    /// Calls compared at a time; `null` if nothing repeats.
    pub window: Option<usize>,
    /// Occurrences expected: visits of the start region, or as asked for.
    pub iterations: Option<usize>,
    /// In order of time; `[]` if nothing repeats.
    pub occurrences: Vec<Occurrence>,
}

/// One occurrence.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Occurrence {
    /// When its first call was entered.
    pub start_ns: u64,
    /// When its last call was left.
    pub end_ns: u64,
    /// z-normalised Euclidean distance to the motif.
    pub distance: f64,
}

impl PatternsAnswer {
    /// The shape of what was found; `None` if nothing repeats.
    pub fn new(found: Option<&PatternsOutput>, definitions: &Definitions) -> Self {
        let ns = |ticks| definitions.clock.ns_from_ticks(ticks);
        let occurrences = found.iter().flat_map(|found| &found.occurrences).map(|occurrence| Occurrence {
            start_ns: ns(occurrence.range.start),
            end_ns: ns(occurrence.range.end),
            distance: occurrence.distance,
        });
        PatternsAnswer {
            rank: found.and_then(|found| definitions.location(found.location).rank).map(|rank| rank.0),
            start: found.map(|found| definitions.region(found.start).name.clone()),
            window: found.map(|found| found.window),
            iterations: found.and_then(|found| found.iterations),
            occurrences: occurrences.collect(),
        }
    }
}
