//! Everything that the files of a trace hold, put together in the order of the files.
//!
//! Numbers of groups and tracks are those of the trace; numbers in records stay those of their file, and
//! [`FileRecords`] says what they are.
//!
//! Law: a trace is the same in whatever order, and by however many threads, its files are read.

use super::bits::Bits;
use super::collect::{Collector, Detail, DetailKind, FileFacts, ProcessGroup};
use super::drivers::Drivers;
use super::laid::LaidTrack;
use super::names::{ChromeRegions, TextTable};
use super::parse::ReadFile;
use super::record::Store;
use super::samples::ContextDraft;
use super::syncs::StreamSyncs;
use super::track::GroupDraft;
use crate::position::u32_from;
use ouzel_model::{ContextId, LaunchShape, Level, MetricId, Notice, NoticeCode, RegionId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the numbers in the records of one file are.
#[derive(Debug, Default)]
pub(super) struct FileRecords {
    pub regions: Vec<RegionId>,
    pub metrics: Vec<MetricId>,
    /// Names of instants.
    pub marks: Vec<Arc<str>>,
    /// How kernels were launched, as text.
    pub shapes: Vec<Arc<str>>,
    pub details: Vec<Detail>,
    /// Its sampled paths are numbered from here on.
    pub first_context: u32,
    /// The context of each stack frame.
    pub frames: Vec<Option<ContextId>>,
    /// Correlations seen at launches, and at what was launched.
    pub launches: Bits,
    pub launched: Bits,
}

/// How often something was seen, and the file and offset of the first time.
type Seen = (u64, Arc<str>, u64);

/// A trace whose files were read, before it is defined.
#[derive(Debug, Default)]
pub(super) struct TraceDraft {
    pub store: Store,
    pub regions: ChromeRegions,
    pub metrics: TextTable,
    pub tracks: Vec<LaidTrack>,
    pub groups: Vec<GroupDraft>,
    pub process_groups: Vec<ProcessGroup>,
    pub files: Vec<FileFacts>,
    pub records: Vec<FileRecords>,
    pub contexts: Vec<ContextDraft>,
    /// Where the source of a region is: file and line.
    pub sources: BTreeMap<u32, (String, Option<u32>)>,
    pub drivers: Drivers,
    pub syncs: StreamSyncs,
    texts: FxHashSet<Arc<str>>,
    shapes: FxHashMap<LaunchShape, Arc<str>>,
    /// What had to be repaired in the files.
    pub repairs: Vec<Notice>,
    oddities: BTreeMap<(Level, NoticeCode, String), Seen>,
}

impl TraceDraft {
    /// Adds the next file.
    pub fn add(&mut self, read: ReadFile) {
        let ReadFile { mut collector, tracks, notices } = read;
        self.repairs.extend(notices);
        for (what, (n, offset)) in collector.take_oddities() {
            let seen = self.oddities.entry(what).or_insert((0, collector.file.name.clone(), offset));
            seen.0 += n;
        }
        let Collector { file, store, regions, marks, metrics, mut details, groups, process_groups, .. } =
            collector;
        let Collector { samples, shapes, launches, launched, drivers, syncs, .. } = collector;
        let regions: Vec<RegionId> = self.regions.append(regions).into_iter().map(RegionId).collect();
        let first_context = u32_from(self.contexts.len());
        let of_trace = |it: ContextDraft| ContextDraft {
            parent: it.parent.map(|parent| first_context + parent),
            region: regions[it.region as usize].0,
            ..it
        };
        self.contexts.extend(samples.contexts.into_iter().map(of_trace));
        for (region, source) in samples.sources {
            self.sources.entry(regions[region as usize].0).or_insert(source);
        }
        let context = |frame| Some(ContextId(first_context + samples.frame_contexts.get(&frame)?));
        let comms: Vec<u32> = process_groups.into_iter().map(|group| self.process_group(group)).collect();
        for Detail { what, .. } in &mut details {
            if let DetailKind::Collective { group, .. } = what {
                *group = comms[*group as usize];
            }
        }
        let records = FileRecords {
            metrics: self.metrics.append(metrics).into_iter().map(MetricId).collect(),
            marks: marks.texts.into_iter().map(|text| self.text(text)).collect(),
            shapes: shapes.list.into_iter().map(|shape| self.shape(shape)).collect(),
            details,
            first_context,
            frames: (0..u32_from(samples.frames.texts.len())).map(context).collect(),
            launches,
            launched,
            regions,
        };
        self.records.push(records);
        let (first_track, first_group) = (self.tracks.len(), self.groups.len());
        self.drivers.append(drivers, first_track, first_group);
        self.syncs.append(syncs, u32_from(first_track), first_group);
        let first_records = self.store.append(store);
        self.tracks.extend(tracks.into_iter().map(|mut track| {
            track.draft.group += first_group;
            track.draft.records += first_records;
            track.laid.lanes.iter_mut().for_each(|lane| lane.records += first_records);
            track
        }));
        self.groups.extend(groups);
        self.files.push(file);
    }

    /// The number of a process group of a file in the trace.
    fn process_group(&mut self, group: ProcessGroup) -> u32 {
        let Some(index) = ProcessGroup::find(&self.process_groups, &group.name, &group.ranks) else {
            self.process_groups.push(group);
            return u32_from(self.process_groups.len() - 1);
        };
        let known = &mut self.process_groups[index];
        if known.ranks.is_empty() {
            known.ranks = group.ranks;
        }
        u32_from(index)
    }

    fn text(&mut self, text: String) -> Arc<str> {
        if let Some(known) = self.texts.get(&text[..]) {
            return known.clone();
        }
        let text: Arc<str> = Arc::from(text);
        self.texts.insert(text.clone());
        text
    }

    fn shape(&mut self, shape: LaunchShape) -> Arc<str> {
        self.shapes.entry(shape).or_insert_with(|| Arc::from(shape.to_string())).clone()
    }

    /// Everything counted in the files, each with the place where it was seen first.
    pub fn counted(&mut self) -> impl Iterator<Item = Notice> {
        let notice = |((level, code, what), (count, file, offset))| {
            Notice::new(level, code, what).times(count).in_file(file).at(offset)
        };
        std::mem::take(&mut self.oddities).into_iter().map(notice)
    }
}
