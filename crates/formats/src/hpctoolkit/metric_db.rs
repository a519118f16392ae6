//! The values of databases before format 4: those of each thread in `.metric-db` files, sums in the XML file.
//!
//! Without files of threads, the sums are given at one location for all.
//! Law: inclusive values are read, from which exclusive ones follow.

use super::files::{files_with_ending, identities_of_names};
use super::gathered::GatheredRows;
use super::identity::{self, Identity};
use super::xml_tree::XmlTree;
use super::{io_error, read_error};
use ouzel_hpcdb::experiment::{Experiment, ThreadValues};
use ouzel_model::{
    Aggregation, CallPathId, CallTree, Level, Location, LocationGroup, LocationGroupId, LocationGroupKind,
    LocationId, LocationKind, MetricId, MetricKind, MetricValueType, Notice, NoticeCode, ProfileDefinitions,
    ProfileMetric, ProfileSource, Provenance, ReadError, SeverityRows,
};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The values of an `experiment.xml` and the files beside it.
#[derive(Debug)]
pub(super) struct ExperimentProfile {
    definitions: ProfileDefinitions,
    notices: Vec<Notice>,
    /// For each node of the XML file that is a frame: its number and its call path.
    frames: Vec<(u32, CallPathId)>,
    values: ValueOrigin,
}

/// Where values come from.
#[derive(Debug)]
enum ValueOrigin {
    /// For each metric: call path and sum.
    Sums(Vec<Vec<(CallPathId, f64)>>),
    /// A file for each location, a column for each metric.
    Threads { files: Vec<PathBuf>, columns: Vec<u32> },
}

/// The values; `None` if there are none.
pub(super) fn profile(
    folder: &Path,
    experiment: &Experiment,
    tree: &XmlTree,
    provenance: Provenance,
    mut notices: Vec<Notice>,
) -> Option<ExperimentProfile> {
    let mut definitions = ProfileDefinitions::empty();
    definitions.provenance = provenance;
    definitions.regions.clone_from(&tree.regions);
    let built = CallTree::build(tree.frames.clone());
    definitions.call_tree = built.tree;
    let frame_of = |(node, frame): (&ouzel_hpcdb::experiment::Node, &Option<u32>)| {
        let frame = (*frame)? as usize;
        // With its callees, a line is a part of its frame.
        let is_frame = tree.frames[frame].native_id == u64::from(node.id);
        is_frame.then(|| (node.id, built.ids[frame]))
    };
    let frames: Vec<(u32, CallPathId)> =
        experiment.nodes.iter().zip(&tree.frame_of).filter_map(frame_of).collect();
    let files = files_with_ending(folder, "metric-db").unwrap_or_default();
    let columns: Vec<_> = experiment.thread_metrics.iter().filter(|m| &*m.scope == "inclusive").collect();
    let values = if files.is_empty() || columns.is_empty() {
        all_threads(&mut definitions);
        sums(experiment, &frames, &mut definitions)?
    } else {
        let (identities, order) = identity::ordered(identities_of_names(&files));
        threads(&identities, &order, &mut definitions, &mut notices);
        definitions.metrics = columns.iter().map(|metric| define(&metric.name)).collect();
        ValueOrigin::Threads {
            files: order.iter().map(|&i| files[i].clone()).collect(),
            columns: columns.iter().map(|metric| metric.column).collect(),
        }
    };
    Some(ExperimentProfile { definitions, notices, frames, values })
}

fn threads(
    identities: &[Identity],
    order: &[usize],
    definitions: &mut ProfileDefinitions,
    notices: &mut Vec<Notice>,
) {
    let tables = identity::define(identities, |i| order[i] as u64, |_| None, notices);
    definitions.system_tree = tables.system_tree;
    definitions.location_groups = tables.location_groups;
    definitions.locations = tables.locations;
}

/// One location for all threads.
fn all_threads(definitions: &mut ProfileDefinitions) {
    definitions.location_groups.push(LocationGroup {
        name: Arc::from("all processes"),
        kind: LocationGroupKind::Process,
        system_node: None,
        creator: None,
        device: None,
        rank: None,
    });
    definitions.locations.push(Location {
        name: Arc::from("all threads"),
        kind: LocationKind::Unknown,
        group: LocationGroupId(0),
        rank: None,
        declared_events: None,
        native_id: 0,
    });
}

/// The sums of the XML file; `None` if it has no inclusive metric.
fn sums(
    experiment: &Experiment,
    frames: &[(u32, CallPathId)],
    definitions: &mut ProfileDefinitions,
) -> Option<ValueOrigin> {
    let path_of: rustc_hash::FxHashMap<u32, CallPathId> = frames.iter().copied().collect();
    let mut all = Vec::new();
    for metric in experiment.metrics.iter().filter(|metric| &*metric.scope == "inclusive") {
        definitions.metrics.push(define(&metric.name));
        let value = |node: &ouzel_hpcdb::experiment::Node| {
            let value = node.values.iter().find(|value| value.0 == metric.id && value.1.is_finite());
            Some((*path_of.get(&node.id)?, value?.1))
        };
        all.push(experiment.nodes.iter().filter_map(value).collect());
    }
    (!all.is_empty()).then_some(ValueOrigin::Sums(all))
}

/// `CPUTIME (usec)` of `CPUTIME (usec):Sum (I)`.
fn define(display_name: &Arc<str>) -> ProfileMetric {
    let full = display_name.strip_suffix(" (I)").unwrap_or(display_name);
    let name = full.strip_suffix(":Sum").unwrap_or(full);
    let split = name.strip_suffix(')').and_then(|head| head.rsplit_once(" ("));
    let unit = split.map_or("", |(_, unit)| unit);
    ProfileMetric {
        name: Arc::from(name),
        display_name: Arc::clone(display_name),
        unit: Arc::from(if unit == "B" { "bytes" } else { unit }),
        description: Arc::from(""),
        parent: None,
        value_type: MetricValueType::F64,
        kind: MetricKind::Inclusive,
        aggregation: Aggregation::Sum,
        hidden: false,
    }
}

impl ProfileSource for ExperimentProfile {
    fn definitions(&self) -> &ProfileDefinitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn severity_bytes(&self, metric: MetricId) -> u64 {
        match &self.values {
            ValueOrigin::Sums(values) => 16 * values[metric.index()].len() as u64,
            ValueOrigin::Threads { files, .. } => 8 * (files.len() * self.frames.len()) as u64,
        }
    }

    fn open(
        &self,
        metric: MetricId,
        paths: Range<CallPathId>,
    ) -> Result<Box<dyn SeverityRows + '_>, ReadError> {
        let mut rows = GatheredRows::default();
        match &self.values {
            ValueOrigin::Sums(values) => {
                let wanted = values[metric.index()].iter().filter(|value| paths.contains(&value.0));
                rows.values.extend(wanted.map(|&(path, value)| (path.0, 0, value)));
            }
            ValueOrigin::Threads { files, columns } => {
                let wanted: Vec<_> = self.frames.iter().filter(|frame| paths.contains(&frame.1)).collect();
                let column = columns[metric.index()];
                for (i, path) in files.iter().enumerate() {
                    gather(path, LocationId::from_index(i), column, &wanted, &mut rows);
                }
            }
        }
        rows.sort();
        Ok(Box::new(rows))
    }
}

/// Adds the values of one thread in one column; a file that cannot be read is reported.
fn gather(
    path: &Path,
    location: LocationId,
    column: u32,
    wanted: &[&(u32, CallPathId)],
    rows: &mut GatheredRows,
) {
    match thread_values(path) {
        Ok(values) => {
            let found = wanted.iter().filter_map(|&&(node, path)| Some((path, values.get(node, column)?)));
            let found = found.filter(|(_, value)| *value != 0.0 && value.is_finite());
            rows.values.extend(found.map(|(path, value)| (path.0, location.0, value)));
        }
        Err(error) => {
            let notice = Notice::new(Level::High, NoticeCode::DamagedEvents, error.reason);
            rows.notices.push(notice.in_file(error.file).at(error.offset).on(location));
        }
    }
}

fn thread_values(path: &Path) -> Result<ThreadValues, ReadError> {
    let name: Arc<str> = Arc::from(path.display().to_string());
    let file = ouzel_files::input::open(path).map_err(|error| io_error(&name, &error))?;
    ThreadValues::read(&name, file).map_err(|error| read_error(&error))
}
