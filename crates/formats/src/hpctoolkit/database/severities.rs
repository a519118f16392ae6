//! `profile.db` as a [`ProfileSource`]: what each thread spent on each call path.
//!
//! A metric is stored in several scopes. The inclusive one (`execution`) of each frame is
//! read, from which the exclusive one follows. The value of exactly one place (`point`) is
//! of no use: it is given at instructions, which the tree of `meta.db` leaves out. It is read
//! only where a metric has no inclusive scope, and summed over the places of a frame.
//! Values are stored thread by thread and needed call path by call path: the values of one
//! metric are gathered and sorted, 16 bytes each.

use super::super::gathered::GatheredRows;
use super::super::identity::{self, IdentityTables};
use super::super::io_error;
use super::tree::DatabaseTree;
use super::{identity_of, provenance};
use ouzel_hpcdb::{FileKind, Meta, Metric, Profile, ProfileDb};
use ouzel_model::{
    Aggregation, CallPathId, CallTree, Level, LocationId, MetricId, MetricKind, MetricValueType, Notice,
    NoticeCode, ProfileDefinitions, ProfileMetric, ProfileSource, ReadError, SeverityRows,
};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The values of a database.
#[derive(Debug)]
pub(super) struct DatabaseProfile {
    definitions: ProfileDefinitions,
    notices: Vec<Notice>,
    path: PathBuf,
    /// The profile of each location.
    profiles: Vec<Profile>,
    /// The stored metric of each metric.
    stored: Vec<u16>,
    /// The call path of each context number.
    paths: FxHashMap<u32, CallPathId>,
}

/// Gathers what is known once.
pub(super) fn profile(
    folder: &Path,
    meta: &Meta,
    db: &ProfileDb,
    tree: &DatabaseTree,
    mut notices: Vec<Notice>,
) -> DatabaseProfile {
    let mut definitions = ProfileDefinitions::empty();
    definitions.provenance = provenance(meta);
    definitions.regions.clone_from(&tree.regions);
    let built = CallTree::build(tree.frames.clone());
    definitions.call_tree = built.tree;
    let of_threads: Vec<&Profile> = db.profiles.iter().filter(|profile| !profile.is_summary).collect();
    // Its trace reports again what is left out.
    let mut left_out = Vec::new();
    let identities = of_threads.iter().map(|profile| identity_of(meta, profile, &mut left_out)).collect();
    let (identities, order) = identity::ordered(identities);
    // Profile 0 is the summary, so threads have the numbers from 1 on.
    let IdentityTables { system_tree, location_groups, locations } =
        identity::define(&identities, |i| order[i] as u64 + 1, |_| None, &mut left_out);
    notices.extend(left_out);
    definitions.system_tree = system_tree;
    definitions.location_groups = location_groups;
    definitions.locations = locations;
    let mut stored = Vec::new();
    for metric in &meta.metrics {
        match stored_scope(meta, metric) {
            Some((id, kind)) => {
                stored.push(id);
                definitions.metrics.push(define(meta, metric, kind));
            }
            None => {
                let message = format!("metric {:?} is stored in no known scope", metric.name);
                notices.push(Notice::new(Level::Medium, NoticeCode::NotRepresented, message));
            }
        }
    }
    let paths = tree.frame_of.iter();
    DatabaseProfile {
        definitions,
        notices,
        path: folder.join(FileKind::Profile.file_name()),
        profiles: order.iter().map(|&i| of_threads[i].clone()).collect(),
        stored,
        paths: paths.map(|(&number, &frame)| (number, built.ids[frame as usize])).collect(),
    }
}

/// The stored metric to read, and what its rows hold.
fn stored_scope(meta: &Meta, metric: &Metric) -> Option<(u16, MetricKind)> {
    let in_scope = |name: &str| {
        let is_it = |scope: Option<usize>| scope.is_some_and(|scope| &*meta.scopes[scope].name == name);
        metric.values.iter().find(|(scope, _)| is_it(*scope)).map(|&(_, id)| id)
    };
    let inclusive = in_scope("execution").map(|id| (id, MetricKind::Inclusive));
    inclusive.or_else(|| in_scope("point").map(|id| (id, MetricKind::Exclusive)))
}

/// HPCToolkit puts the unit after the name: `CPUTIME (sec)`.
fn define(meta: &Meta, metric: &Metric, kind: MetricKind) -> ProfileMetric {
    let split = metric.name.strip_suffix(')').and_then(|head| head.rsplit_once(" ("));
    let (name, unit) = split.unwrap_or((&metric.name, ""));
    let is_unique =
        meta.metrics.iter().filter(|other| other.name.split(" (").next() == Some(name)).count() == 1;
    ProfileMetric {
        name: if is_unique { Arc::from(name) } else { Arc::clone(&metric.name) },
        display_name: Arc::clone(&metric.name),
        unit: Arc::from(if unit == "B" { "bytes" } else { unit }),
        description: Arc::from(""),
        parent: None,
        value_type: MetricValueType::F64,
        kind,
        aggregation: Aggregation::Sum,
        hidden: false,
    }
}

impl ProfileSource for DatabaseProfile {
    fn definitions(&self) -> &ProfileDefinitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Values of all metrics lie among each other: an equal share of them.
    fn severity_bytes(&self, _: MetricId) -> u64 {
        let n_values: u64 = self.profiles.iter().map(Profile::n_values).sum();
        10 * n_values / self.stored.len().max(1) as u64
    }

    fn open(
        &self,
        metric: MetricId,
        paths: Range<CallPathId>,
    ) -> Result<Box<dyn SeverityRows + '_>, ReadError> {
        let name: Arc<str> = Arc::from(self.path.display().to_string());
        let mut rows = GatheredRows::default();
        let (mut n_lost, mut n_infinite) = (0, 0);
        for (i, profile) in self.profiles.iter().enumerate() {
            let file = ouzel_files::input::open(&self.path).map_err(|error| io_error(&name, &error))?;
            let location = LocationId::from_index(i);
            let values = match ProfileDb::values(&name, file, profile) {
                Ok(values) => values,
                Err(error) => {
                    let notice = Notice::new(Level::High, NoticeCode::DamagedEvents, error.kind.to_string());
                    rows.notices.push(notice.in_file(error.file).at(error.offset).on(location));
                    continue;
                }
            };
            let is_inclusive = self.definitions.metric(metric).kind == MetricKind::Inclusive;
            for value in values.iter().filter(|value| value.metric == self.stored[metric.index()]) {
                // With its callees, a line is a part of its frame.
                let is_part = |path: CallPathId| {
                    let number = self.definitions.call_tree.node(path).native_id;
                    is_inclusive && number != u64::from(value.context)
                };
                match self.paths.get(&value.context) {
                    Some(path) if !value.value.is_finite() => n_infinite += u64::from(paths.contains(path)),
                    Some(&path) if paths.contains(&path) && !is_part(path) => {
                        rows.values.push((path.0, location.0, value.value));
                    }
                    Some(_) => {}
                    // Places that the tree leaves out are in the inclusive values of their frames.
                    None => n_lost += u64::from(!is_inclusive && value.context != 0),
                }
            }
        }
        rows.sort();
        let said = [
            (n_lost, NoticeCode::UndefinedReference, "values belong to a call path that is not defined"),
            (n_infinite, NoticeCode::NotRepresented, "values are not finite numbers and are left out"),
        ];
        for (count, code, message) in said.into_iter().filter(|said| 0 < said.0) {
            rows.notices.push(Notice::new(Level::Medium, code, message).times(count).in_file(name.clone()));
        }
        Ok(Box::new(rows))
    }
}
