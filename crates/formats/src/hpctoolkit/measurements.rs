//! Raw measurements: `.hpctrace` files with the `.hpcrun` files that hold their call paths.
//!
//! Functions, loops and lines are not known yet: a frame is a place in a library. Its name
//! is its address until `hpcprof` finds out what is there.

use super::contexts::{ContextIds, ContextsBuilder, PlacedNode};
use super::files::{TraceFile, sampled_trace, trace_file, trace_files};
use super::regions;
use crate::reader::{OpenError, Opened};
use ouzel_hpcdb::measurement::{Measurement, Node};
use ouzel_hpcdb::{Line, SampleLayout, TimeField};
use ouzel_model::{ContextId, Level, Notice, NoticeCode, Paradigm, Provenance, Region, RegionRole};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

/// The name of the placeholder for the time at which nothing runs.
const NO_ACTIVITY: &str = "NoActvty";

/// Opens the measurements of a folder, or one trace.
pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
    let mut notices = Vec::new();
    let mut files = match path.is_dir() {
        true => trace_files(path, &mut notices)?,
        false => vec![trace_file(&path.with_extension("hpctrace"))?],
    };
    if files.is_empty() {
        return Err(OpenError::Refused {
            path: path.to_owned(),
            reason: "these HPCToolkit measurements hold no traces; run hpcprof on them and open its database"
                .to_owned(),
        });
    }
    let mut builder = ContextsBuilder::default();
    builder.placeholder(regions::entry(&Arc::from("<unknown call path>")));
    let mut program = None;
    let mut metric = None;
    for file in &mut files {
        match measurement(file) {
            Ok(measurement) => {
                file.ids = Some(Arc::new(build(&measurement, &mut builder, &mut notices)));
                let property = |name: &str| {
                    measurement.properties.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
                };
                file.declared_last_ns = declared_last_ns(file.line, property);
                program = program.or_else(|| property("program-name"));
                if let ([(name, _)], None) = (&measurement.metrics[..], &metric) {
                    metric = Some(name.clone());
                }
            }
            Err(error) => {
                let reason = format!("the call paths of a trace are lost: {}", error.kind);
                let notice = Notice::new(Level::High, NoticeCode::MissingDefinitions, reason);
                notices.push(notice.in_file(error.file).at(error.offset));
            }
        }
    }
    notices.extend(builder.notice());
    let message = "these are measurements: functions are known only by address, loops and lines are unknown; hpcprof \
                   finds them";
    notices.push(Notice::new(Level::Medium, NoticeCode::MissingDefinitions, message));
    let provenance = Provenance {
        format: "HPCToolkit measurements".to_owned(),
        format_version: String::new(),
        creator: "hpcrun".to_owned(),
        machine: String::new(),
        description: program.unwrap_or_default(),
    };
    let tree = (builder.contexts, builder.regions.into_vec());
    Ok(Opened::trace(sampled_trace(&files, tree, provenance, metric.as_deref(), false, notices)))
}

/// When the last sample of a trace was taken, by what its `.hpcrun` says of it.
fn declared_last_ns(line: Line, property: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |name: &str| property(name)?.parse::<u64>().ok();
    // Times that go back: the last sample need not be the latest.
    if number("trace-disorder").is_some_and(|n| 0 < n) {
        return None;
    }
    let last = number("trace-max-time")?;
    match line.layout {
        SampleLayout::Measurement { time: TimeField::Nanoseconds, .. } => Some(last),
        _ => last.checked_mul(1000),
    }
}

fn measurement(file: &TraceFile) -> Result<Measurement, ouzel_hpcdb::ReadError> {
    let path = file.file.path.with_extension("hpcrun");
    let name: Arc<str> = Arc::from(path.display().to_string());
    let opened = ouzel_files::input::open(&path)
        .map_err(|error| ouzel_hpcdb::ReadError::of_file(&name, error.into()))?;
    Measurement::read(&name, opened)
}

/// Adds the call paths of one thread; returns what its numbers refer to.
fn build(measurement: &Measurement, builder: &mut ContextsBuilder, notices: &mut Vec<Notice>) -> ContextIds {
    let nodes = &measurement.nodes;
    let modules: FxHashMap<u16, &str> =
        measurement.modules.iter().map(|(id, path)| (*id, path.rsplit('/').next().unwrap_or(path))).collect();
    let by_id: FxHashMap<u32, usize> = nodes.iter().enumerate().map(|(i, node)| (node.id, i)).collect();
    let mut placed: Vec<Option<PlacedNode>> = vec![None; nodes.len()];
    let mut seen = vec![false; nodes.len()];
    let mut n_circular = 0;
    let mut numbers: Vec<(u32, Option<ContextId>)> = Vec::with_capacity(nodes.len());
    for start in 0..nodes.len() {
        // Callers first, in whatever order the file has them.
        let mut chain = Vec::new();
        let mut at = Some(start);
        while let Some(i) = at.filter(|&i| placed[i].is_none()) {
            if std::mem::replace(&mut seen[i], true) {
                n_circular += 1;
                break;
            }
            chain.push(i);
            at = by_id.get(&nodes[i].parent).copied();
        }
        for i in chain.into_iter().rev() {
            let caller = by_id.get(&nodes[i].parent).and_then(|&caller| placed[caller]);
            placed[i] = Some(builder.frame(caller, region(&nodes[i], &modules), u64::from(nodes[i].id)));
        }
        let is_idle = nodes[start].placeholder().as_deref() == Some(NO_ACTIVITY);
        numbers.push((nodes[start].id, placed[start].map(|placed| placed.context).filter(|_| !is_idle)));
    }
    if 0 < n_circular {
        let message = "call paths are their own callers; the cycle was cut";
        notices.push(Notice::new(Level::Medium, NoticeCode::DamagedDefinitions, message).times(n_circular));
    }
    ContextIds::new(&numbers, notices)
}

fn region(node: &Node, modules: &FxHashMap<u16, &str>) -> Region {
    match node.placeholder() {
        Some(text) => regions::entry(&Arc::from(format!("<{text}>"))),
        None => {
            let module = modules.get(&node.module).copied().unwrap_or("unknown module");
            Region {
                name: Arc::from(format!("<unknown procedure> {:#x} [{module}]", node.offset)),
                canonical_name: None,
                file: None,
                line: None,
                end_line: None,
                role: RegionRole::Function,
                paradigm: Paradigm::Unknown,
            }
        }
    }
}
