//! What an archive answers: the profile of each location, and the notices.

use ouzel::analyses::call_path_profile::{CallPathProfile, VisitTimes};
use ouzel::analyses::inventory::Inventory;
use ouzel::analyses::{By, Per};
use ouzel::engine::AnalysisSet;
use ouzel::model::{Level, Notice, RegionId, Ticks};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

/// The answer of a pass, in a form that can be compared with that of another.
#[derive(Debug)]
pub struct Answer {
    /// By the id in the files.
    pub locations: BTreeMap<u64, LocationAnswer>,
    pub notices: Vec<Notice>,
}

/// What is known of one location.
#[derive(Debug, PartialEq, Eq)]
pub struct LocationAnswer {
    pub n_events: u64,
    pub kinds: Vec<u64>,
    pub span: Option<(Ticks, Ticks)>,
    pub outside: Ticks,
    /// By the regions of the call path.
    pub rows: BTreeMap<Vec<RegionId>, VisitTimes>,
    pub declared_events: Option<u64>,
}

impl Answer {
    /// Opens the archive and runs one pass; `None` if it cannot be opened, which is an answer, too.
    pub fn of(path: &Path) -> Option<Answer> {
        let trace = match ouzel::open(path) {
            Ok(trace) => trace,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return None;
            }
        };
        let mut set = AnalysisSet::default();
        let (profile, inventory) = (set.add(CallPathProfile), set.add(Inventory));
        let options = ouzel::Options { jobs: NonZeroUsize::MIN, ..ouzel::Options::default() };
        let mut report = trace.run(&set, &options).expect("whatever the files hold, the pass ends");
        let profile = report.outputs.take(&profile).expect("the profile answers");
        let inventory = report.outputs.take(&inventory).expect("the inventory answers");
        let definitions = trace.definitions();
        let _ = profile.table(definitions, By::Region, Per::Total);
        let mut locations = BTreeMap::new();
        for (of, held) in profile.locations.iter().zip(&inventory.locations) {
            let defined = definitions.location(of.location);
            let path = |path| profile.call_paths.regions(path);
            let answer = LocationAnswer {
                n_events: report.locations[&of.location].n_events,
                kinds: held.events.to_vec(),
                span: of.span,
                outside: of.outside,
                rows: of.rows.iter().map(|row| (path(row.call_path), row.times)).collect(),
                declared_events: defined.declared_events,
            };
            locations.insert(defined.native_id, answer);
        }
        Some(Answer { locations, notices: report.notices })
    }

    /// The notices of lost data.
    pub fn losses(&self) -> impl Iterator<Item = &Notice> {
        self.notices.iter().filter(|notice| notice.level == Level::High)
    }

    /// The first notice of lost data about a file.
    pub fn loss_in(&self, path: &Path) -> Option<&Notice> {
        self.losses().find(|notice| notice.file.as_deref().is_some_and(|file| Path::new(file) == path))
    }
}
