//! Definitions of the whole trace, once every file is read.

use super::ChromeSource;
use super::align::shifts;
use super::collect::{FileFacts, ProcessGroup};
use super::draft::TraceDraft;
use super::driven::Driven;
use super::files::rank_in_name;
use super::kinds::{self, ActivityClass};
use super::names::RegionDraft;
use super::place::{LocationPlans, place};
use super::reader::PARAMETERS;
use super::resources::MEMORY_COUNTERS;
use crate::naming::of_function;
use ouzel_model::{
    Clock, CommId, Communicator, ContextId, Definitions, Level, LocationKind, Metric, MetricMode,
    MetricValueType, Notice, NoticeCode, Paradigm, Provenance, Region, RegionId, SampledContexts, Ticks,
    WorldRank,
};
use std::path::Path;
use std::sync::Arc;

/// The source of everything that was read.
pub(super) fn finish(mut trace: TraceDraft) -> ChromeSource {
    let mut notices = std::mem::take(&mut trace.repairs);
    let ranks = ranks(&trace.files, &mut notices);
    let driven = Driven::new(&trace, &ranks);
    let (shifts, notice) = shifts(&trace.files);
    notices.extend(notice);
    let LocationPlans { groups, locations, mut places, of_tracks, devices } = place(&mut trace, &driven);
    let start = |(file, shift): (&FileFacts, &i64)| Some(file.span_ns?.0.saturating_add(*shift));
    let start_ns = trace.files.iter().zip(&shifts).filter_map(start).min().unwrap_or(0);
    let end = |(file, shift): (&FileFacts, &i64)| Some(file.span_ns?.1.saturating_add(*shift));
    let end_ns = trace.files.iter().zip(&shifts).filter_map(end).max().unwrap_or(0);
    for place in &mut places {
        place.shift_ns = shifts[place.file].saturating_sub(start_ns);
    }
    let steps = std::mem::take(&mut trace.syncs).resolve(
        |track| of_tracks.get(track as usize).copied().flatten(),
        |group| devices.get(&group).copied(),
    );
    let mut definitions = Definitions::empty(clock(&trace.files, start_ns, end_ns));
    definitions.provenance = provenance(&trace.files);
    definitions.set_regions(regions(&trace));
    definitions.location_groups = groups;
    definitions.locations = locations;
    definitions.number_drivers();
    definitions.metrics = trace.metrics.texts.iter().map(|name| metric(name)).collect();
    definitions.parameters = PARAMETERS.iter().map(|name| Arc::from(*name)).collect();
    definitions.sampled_contexts = contexts(&trace);
    let (communicators, comms) = communicators(&trace, &driven.ranks);
    definitions.communicators = communicators;
    notices.extend(trace.counted());
    ChromeSource {
        definitions,
        notices,
        store: trace.store,
        places,
        files: trace.records,
        comms,
        steps,
        file: trace.files.first().map_or_else(|| Arc::from(""), |file| file.name.clone()),
    }
}

/// The rank of each file: its own, else that in its name, else its place among the files of Kineto.
fn ranks(files: &[FileFacts], notices: &mut Vec<Notice>) -> Vec<Option<WorldRank>> {
    let by_name = |file: &FileFacts| rank_in_name(Path::new(&*file.name));
    let of_file = |(i, file): (usize, &FileFacts)| {
        let by_place = || u32::try_from(i).ok();
        let is_rank = file.is_kineto || 1 < files.len();
        file.rank.or_else(|| is_rank.then(|| by_name(file).or_else(by_place)).flatten()).map(WorldRank)
    };
    let ranks: Vec<Option<WorldRank>> = files.iter().enumerate().map(of_file).collect();
    for (i, rank) in ranks.iter().enumerate() {
        if let Some(rank) = rank.filter(|_| ranks[..i].contains(rank)) {
            let message = format!("another file also has rank {rank}; their events are shown side by side");
            let notice = Notice::new(Level::Medium, NoticeCode::DuplicateDefinition, message);
            notices.push(notice.in_file(files[i].name.clone()));
        }
    }
    ranks
}

fn clock(files: &[FileFacts], start_ns: i64, end_ns: i64) -> Clock {
    // Without a base, times of Kineto of before 2024 count from 1970; 10^18 ns is the year 2001.
    const YEAR_2001_NS: i64 = 1_000_000_000_000_000_000;
    let base_ns = files.first().and_then(|file| file.base_ns);
    let since_1970 = match base_ns {
        Some(base_ns) => base_ns.checked_add(start_ns),
        None => Some(start_ns).filter(|&ns| YEAR_2001_NS < ns && files.iter().all(|file| file.is_kineto)),
    };
    Clock {
        ticks_per_second: 1_000_000_000,
        offset_ticks: u64::try_from(start_ns).unwrap_or(0),
        realtime_ns: since_1970.and_then(|ns| u64::try_from(ns).ok()),
        declared_length: Some(Ticks(u64::try_from(end_ns.saturating_sub(start_ns)).unwrap_or(0))),
    }
}

fn provenance(files: &[FileFacts]) -> Provenance {
    let is_kineto = files.iter().any(|file| file.is_kineto);
    let hosts: std::collections::BTreeSet<&str> =
        files.iter().filter_map(|file| file.host.as_deref()).collect();
    Provenance {
        format: "Chrome trace".to_owned(),
        format_version: String::new(),
        creator: if is_kineto { "PyTorch Kineto".to_owned() } else { String::new() },
        machine: hosts.into_iter().collect::<Vec<_>>().join(", "),
        description: String::new(),
    }
}

/// The vendor's paradigm: by the calls of its runtime, else by the names of the devices.
fn device_paradigm(trace: &TraceDraft) -> Paradigm {
    let runtime = || trace.regions.drafts.iter().filter(|draft| draft.class == ActivityClass::Runtime);
    if runtime().any(|draft| draft.name.starts_with("hip")) {
        return Paradigm::Hip;
    }
    if runtime().any(|draft| draft.name.starts_with("cu")) {
        return Paradigm::Cuda;
    }
    let mut devices = trace.files.iter().flat_map(|file| &file.devices);
    let is = |name: &String, words: &[&str]| words.iter().any(|word| name.contains(word));
    match devices.next() {
        Some(name) if is(name, &["AMD", "Radeon", "Instinct", "gfx"]) => Paradigm::Hip,
        Some(name) if is(name, &["Intel", "Arc", "Max 1"]) => Paradigm::Unknown,
        Some(_) => Paradigm::Cuda,
        None => Paradigm::Unknown,
    }
}

fn regions(trace: &TraceDraft) -> Vec<Region> {
    let device = device_paradigm(trace);
    let of_draft = |(i, RegionDraft { name, class, op }): (u32, &RegionDraft)| {
        let (role, paradigm) = match class {
            ActivityClass::Code | ActivityClass::Runtime => {
                let (role, paradigm) = of_function(name);
                let is_unknown = *class == ActivityClass::Runtime && paradigm == Paradigm::Unknown;
                (role, if is_unknown { device } else { paradigm })
            }
            _ => (kinds::role(*class, *op), kinds::paradigm(*class, device)),
        };
        let (mut name, mut source) = (name.clone(), trace.sources.get(&i).cloned());
        if *class == ActivityClass::Python
            && let Some((function, file, line)) = python_source(&name)
        {
            source = Some((file.to_owned(), Some(line)));
            name = function.to_owned();
        }
        let (file, line) = source.map_or((None, None), |(file, line)| (Some(Arc::from(file)), line));
        Region { name: Arc::from(name), canonical_name: None, file, line, end_line: None, role, paradigm }
    };
    (0..).zip(&trace.regions.drafts).map(of_draft).collect()
}

/// Function, file and line of `path/file.py(12): function`.
fn python_source(name: &str) -> Option<(&str, &str, u32)> {
    let (place, function) = name.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    Some((function, file, line.parse().ok()?))
}

fn metric(name: &str) -> Metric {
    Metric {
        name: Arc::from(name),
        description: Arc::from(""),
        unit: Arc::from(if MEMORY_COUNTERS.iter().any(|it| name.starts_with(it)) { "bytes" } else { "#" }),
        mode: MetricMode::Absolute,
        value_type: MetricValueType::F64,
    }
}

fn contexts(trace: &TraceDraft) -> SampledContexts {
    let mut contexts = SampledContexts::default();
    for draft in &trace.contexts {
        let source = trace.sources.get(&draft.region);
        let file = source.map(|(file, _)| Arc::from(file.as_str()));
        contexts.push(draft.parent.map(ContextId), RegionId(draft.region), file, None);
    }
    contexts
}

/// A communicator for each process group, and that of each; groups without given ranks are the whole world.
fn communicators(trace: &TraceDraft, ranks: &[Option<WorldRank>]) -> (Vec<Communicator>, Vec<CommId>) {
    let size = trace.files.iter().filter_map(|file| file.world_size).max();
    let world: Arc<[WorldRank]> = match size.filter(|&size| size <= WORLD_MAX) {
        Some(size) => (0..size).map(WorldRank).collect(),
        None => {
            let mut ranks: Vec<WorldRank> = ranks.iter().copied().flatten().collect();
            ranks.sort_unstable();
            ranks.dedup();
            ranks.into()
        }
    };
    let of_group = |ProcessGroup { name, ranks, .. }: &ProcessGroup| {
        let members: Arc<[WorldRank]> = if ranks.is_empty() {
            world.clone()
        } else {
            ranks.iter().map(|&rank| WorldRank(rank)).collect()
        };
        let name = match &name[..] {
            "" => "world".to_owned(),
            name if name.parse::<u64>().is_ok() => format!("process group {name}"),
            name => name.to_owned(),
        };
        if members.is_empty() {
            return Communicator::unknown(name, members);
        }
        Communicator::of_ranks(name, members)
    };
    let communicators: Vec<Communicator> = trace.process_groups.iter().map(of_group).collect();
    let ids = (0..communicators.len()).map(CommId::from_index).collect();
    (communicators, ids)
}

/// Ranks of the largest world whose members are listed; no real machine has more.
const WORLD_MAX: u32 = 1 << 22;

/// Whether any location is of a kind.
pub(super) fn has_kind(definitions: &Definitions, kind: LocationKind) -> bool {
    definitions.locations.iter().any(|location| location.kind == kind)
}
