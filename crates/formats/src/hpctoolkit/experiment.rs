//! Databases before format 4: `experiment.xml` with traces beside it.
//!
//! Traces are `.hpctrace` files, one for each thread or stream, or merged into
//! `experiment.mt`. Values of each thread are in `.metric-db` files, sums over all in the
//! XML file. Law: the XML file gives the unit of times; without one it is microseconds.

use super::contexts::{ContextIds, ContextsBuilder, PlacedNode};
use super::files::{TraceFile, sampled_trace, trace_files};
use super::{damage_notice, io_error, metric_db, read_error, regions};
use crate::detect::{OpenError, Opened};
use ouzel_hpcdb::experiment::{Experiment, Node, NodeKind, Procedure};
use ouzel_hpcdb::measurement::{Merged, merged_lines};
use ouzel_hpcdb::{Line, SampleLayout, TimeField};
use ouzel_model::{
    ContextId, Definitions, Level, Notice, NoticeCode, Provenance, ReadError, Region, SampledContexts,
};
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

/// What HPCToolkit calls the time at which nothing runs.
const NO_ACTIVITY: &str = "<no activity>";

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
    let tree = build(&experiment, &mut notices);
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
    let path = Arc::new(path);
    Ok(lines.into_iter().map(|merged| TraceFile::merged(Arc::clone(&path), &merged, has_ranks)).collect())
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

/// What the tree of the XML file became.
pub(super) struct XmlTree {
    pub contexts: SampledContexts,
    pub regions: Vec<Region>,
    pub ids: Arc<ContextIds>,
    pub frames: Vec<ouzel_model::CallNode>,
    /// For each node of the XML file its frame; `None` for nodes outside of any.
    pub frame_of: Vec<Option<u32>>,
}

fn build(experiment: &Experiment, notices: &mut Vec<Notice>) -> XmlTree {
    let mut builder = ContextsBuilder::default();
    builder.placeholder(regions::entry(&Arc::from("<unknown call path>")));
    let mut placed: Vec<Option<PlacedNode>> = Vec::with_capacity(experiment.nodes.len());
    // Whether a node is the one for the time at which nothing runs, or below it.
    let mut is_idle: Vec<bool> = Vec::with_capacity(experiment.nodes.len());
    let mut numbers: Vec<(u32, Option<ContextId>)> = Vec::new();
    for node in &experiment.nodes {
        let parent = node.parent.map(|parent| parent as usize);
        let outer = parent.and_then(|parent| placed[parent]);
        let idle = parent.is_some_and(|parent| is_idle[parent])
            || procedure_name(experiment, node).as_deref() == Some(NO_ACTIVITY);
        let here = place(experiment, node, outer, &mut builder);
        if let Some(number) = node.trace_id {
            numbers.push((number, here.map(|here| here.context).filter(|_| !idle)));
        }
        placed.push(here);
        is_idle.push(idle);
    }
    notices.extend(builder.notice());
    let ids = ContextIds::new(&numbers, notices);
    XmlTree {
        contexts: builder.contexts,
        regions: builder.regions.into_vec(),
        ids: Arc::new(ids),
        frames: builder.frames,
        frame_of: placed.iter().map(|placed| placed.map(|placed| placed.frame)).collect(),
    }
}

fn procedure_name(experiment: &Experiment, node: &Node) -> Option<Arc<str>> {
    match node.procedure.as_ref()? {
        Procedure::Number(number) => experiment.procedures.get(number).cloned(),
        Procedure::Name(name) => Some(Arc::clone(name)),
    }
}

fn place(
    experiment: &Experiment,
    node: &Node,
    outer: Option<PlacedNode>,
    builder: &mut ContextsBuilder,
) -> Option<PlacedNode> {
    let file = node.file.and_then(|file| experiment.files.get(&file)).cloned();
    let id = u64::from(node.id);
    match node.kind {
        NodeKind::Procedure | NodeKind::Inlined => {
            let name = procedure_name(experiment, node);
            let name = name.unwrap_or_else(|| Arc::from("<unknown procedure>"));
            let is_root = outer.is_none() && name.starts_with('<') && name.ends_with(" root>");
            let region = match is_root {
                true => regions::entry(&name),
                false => regions::function(&name, file, Some(node.line)),
            };
            Some(builder.frame(outer, region, id))
        }
        NodeKind::Loop => {
            let inside = outer.map(|outer| builder.region(outer));
            let region = regions::of_loop(file, Some(node.line), inside);
            Some(builder.frame(outer, region, id))
        }
        NodeKind::Call | NodeKind::Statement => Some(builder.line(outer?, file, Some(node.line))),
    }
}
