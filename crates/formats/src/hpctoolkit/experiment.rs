//! Databases before format 4: `experiment.xml` with traces beside it.
//!
//! Traces are `.hpctrace` files, one for each thread or stream, or merged into
//! `experiment.mt`. Values of each thread are in `.metric-db` files, sums over all in the
//! XML file. Law: the XML file gives the unit of times; without one it is microseconds.

use super::files::{TraceFile, sampled_trace, trace_files};
use super::source::SampleFile;
use super::xml_tree::XmlTree;
use super::{damage_notice, io_error, metric_db, read_error};
use crate::reader::{OpenError, Opened};
use ouzel_hpcdb::experiment::Experiment;
use ouzel_hpcdb::measurement::{Merged, merged_lines};
use ouzel_hpcdb::{Line, SampleLayout, TimeField};
use ouzel_model::{Definitions, Level, Notice, NoticeCode, Provenance, ReadError};
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

/// Opens the database of an `experiment.xml`.
pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
    let name: Arc<str> = Arc::from(path.display().to_string());
    let file = ouzel_files::input::open(path).map_err(|error| io_error(&name, &error))?;
    let experiment = Experiment::read(&name, BufReader::new(file)).map_err(|error| read_error(&error))?;
    let mut notices: Vec<Notice> = experiment
        .damages
        .iter()
        .map(|damage| damage_notice(NoticeCode::DamagedDefinitions, damage))
        .collect();
    let folder = path.parent().unwrap_or(Path::new("."));
    let tree = XmlTree::new(&experiment, &mut notices);
    let mut files = merged(folder, &mut notices)?;
    if files.is_empty() {
        files = trace_files(folder, &mut notices)?;
    }
    for file in &mut files {
        file.line = with_unit(file.line, &experiment);
        file.ids = Some(Arc::clone(&tree.ids));
    }
    let provenance = Provenance {
        format: "HPCToolkit".to_owned(),
        format_version: experiment.version.clone(),
        creator: "HPCToolkit".to_owned(),
        machine: String::new(),
        description: experiment.title.clone(),
    };
    let profile = metric_db::profile(folder, &experiment, &tree, provenance.clone(), notices.clone());
    let mut opened = Opened { trace: None, profile: profile.map(|profile| Box::new(profile) as _) };
    if !files.is_empty() {
        let metric = match &experiment.metrics[..] {
            [first, ..] => first.name.split(":Sum").next().map(str::to_owned),
            [] => None,
        };
        let has_profile = opened.profile.is_some();
        let mut trace = sampled_trace(
            &files,
            (tree.contexts, tree.regions),
            provenance,
            metric.as_deref(),
            has_profile,
            notices,
        );
        trace.notices.extend(missing_end(&experiment, &files, &trace.definitions, &name));
        opened.trace = Some(Box::new(trace));
    }
    if opened.trace.is_none() && opened.profile.is_none() {
        return Err(OpenError::NotATrace {
            path: path.to_owned(),
            reason: "this HPCToolkit database has neither traces (*.hpctrace, experiment.mt) nor values"
                .to_owned(),
        });
    }
    Ok(opened)
}

/// The notice that the latest samples are missing: the XML file gives their time.
fn missing_end(
    experiment: &Experiment,
    files: &[TraceFile],
    definitions: &Definitions,
    name: &Arc<str>,
) -> Option<Notice> {
    let is_in_ns = |file: &TraceFile| match file.line.layout {
        SampleLayout::Measurement { time, .. } => time == TimeField::Nanoseconds,
        SampleLayout::Database => true,
    };
    let last = experiment.time_range?.1.checked_mul(if files.iter().all(is_in_ns) { 1 } else { 1000 })?;
    let read = definitions.clock.offset_ticks.checked_add(definitions.clock.declared_length?.0)?;
    let missing = last.checked_sub(read).filter(|&missing| 0 < missing)?;
    let message = format!("the samples of the last {missing} ns are missing: a trace was truncated");
    Some(Notice::new(Level::High, NoticeCode::DamagedEvents, message).in_file(Arc::clone(name)))
}

/// The traces of `experiment.mt`, if there is one.
fn merged(folder: &Path, notices: &mut Vec<Notice>) -> Result<Vec<TraceFile>, ReadError> {
    let path = folder.join("experiment.mt");
    let name: Arc<str> = Arc::from(path.display().to_string());
    let file = match ouzel_files::input::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io_error(&name, &error)),
    };
    let Merged { has_ranks, lines, damages } = merged_lines(&name, file).map_err(|e| read_error(&e))?;
    notices.extend(damages.iter().map(|damage| damage_notice(NoticeCode::DamagedEvents, damage)));
    let file = Arc::new(SampleFile::of_all(path));
    Ok(lines.into_iter().map(|merged| TraceFile::merged(Arc::clone(&file), &merged, has_ranks)).collect())
}

/// The line with the unit that the database gives.
fn with_unit(line: Line, experiment: &Experiment) -> Line {
    let SampleLayout::Measurement { has_metric, time } = line.layout else { return line };
    let time = match (experiment.ticks_per_second, time) {
        (_, TimeField::MicrosecondsAndLca) => time,
        (Some(1_000_000_000), _) => TimeField::Nanoseconds,
        (None | Some(1_000_000), _) => TimeField::Microseconds,
        (Some(_), time) => time,
    };
    Line { layout: SampleLayout::Measurement { has_metric, time }, ..line }
}
