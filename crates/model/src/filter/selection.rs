//! A filter over one trace: patterns as regions, ranks as locations, times in ticks, the predicate with its names looked
//! up.
//!
//! Law: it is made once for a pass. Readers, the engine and analyses all use the same one, so they cannot disagree.

use super::{Borders, Filter, LocationTests};
use crate::{CallPathId, CallPathTree, Definitions, LocationId, Notice, RegionId, TimeRange};

/// What a filter selects of one trace.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The selected locations, ascending. A location without a rank is selected only if no rank is asked for.
    pub locations: Vec<LocationId>,
    /// The time range, if there is one.
    pub window: Option<TimeRange>,
    /// What listings do with calls that reach over a border of the time range.
    pub borders: Borders,
    /// For each region whether its calls are shown, or `None` if all are.
    pub regions: Option<Vec<bool>>,
    /// What calls must satisfy to be shown, if there is a predicate.
    pub tests: Option<LocationTests>,
    /// A notice for each region, counter or rank that the filter names and the trace lacks, sorted.
    pub unmatched: Vec<Notice>,
    /// Whether everything is selected.
    pub is_everything: bool,
}

impl Filter {
    /// The filter over a trace with these definitions.
    pub fn resolve(&self, definitions: &Definitions) -> Selection {
        let tests = self.predicate.as_ref().map(|predicate| LocationTests::new(predicate, definitions));
        let is_asked = |id: LocationId| match (&self.ranks, definitions.location(id).rank) {
            (None, _) => true,
            (Some(ranks), Some(rank)) => ranks.contains(rank),
            (Some(_), None) => false,
        };
        let may_pass =
            |id: LocationId| tests.as_ref().is_none_or(|tests| !tests.at(definitions, id).is_never());
        let ticks = |ns| definitions.clock.ticks_from_ns(ns);
        Selection {
            locations: definitions.location_ids().filter(|&id| is_asked(id) && may_pass(id)).collect(),
            window: self.time_ns.map(|(start, end)| TimeRange { start: ticks(start), end: ticks(end) }),
            borders: self.borders,
            regions: (!self.regions.is_empty()).then(|| definitions.regions_like(&self.regions)),
            unmatched: self.unmatched(definitions),
            is_everything: self.is_everything(),
            tests,
        }
    }
}

impl Selection {
    /// By call path: whether what is said of it is said of selected calls. Regions that are selected by name are meant
    /// with all that they call; a predicate is asked of the calls of the path itself, and what only the end of a call
    /// tells holds.
    pub fn of_paths(&self, paths: &CallPathTree, definitions: &Definitions) -> Vec<bool> {
        self.by_path(paths, definitions, |bits, regions| regions.iter().any(|&region| has(bits, region)))
    }

    /// By call path: whether its calls are selected, as far as [call paths tell](Filter::split_paths).
    pub fn of_calls(&self, paths: &CallPathTree, definitions: &Definitions) -> Vec<bool> {
        self.by_path(paths, definitions, |bits, regions| {
            regions.last().is_some_and(|&region| has(bits, region))
        })
    }

    fn by_path(
        &self,
        paths: &CallPathTree,
        definitions: &Definitions,
        is_named: impl Fn(&[bool], &[RegionId]) -> bool,
    ) -> Vec<bool> {
        let is_selected = |path: CallPathId| {
            let regions = paths.regions(path);
            self.regions.as_ref().is_none_or(|bits| is_named(bits, &regions))
                && self.tests.as_ref().is_none_or(|tests| tests.may_pass_on(&regions, definitions))
        };
        std::iter::once(CallPathTree::ROOT).chain(paths.paths()).map(is_selected).collect()
    }
}

fn has(bits: &[bool], region: RegionId) -> bool {
    bits.get(region.index()).copied().unwrap_or(false)
}
