//! Archives with sampled contexts, written record by record.

use crate::otf2::Otf2Source;
use ouzel_model::{
    ChunkBuffer, ContextId, EventKind, InterruptCounts, InterruptGeneratorId, Lca, Level, LocationId,
    MAX_SAMPLED_DEPTH, Needs, NoticeCode, ReadPlan, RegionId, Ticks, TraceSource,
};
use ouzel_otf2::records::definition as def;
use ouzel_otf2::records::enums::{
    Base, InterruptGeneratorMode, LocationGroupType, LocationType, Paradigm, RegionRole,
};
use ouzel_otf2::records::event::{CallingContextEnter, CallingContextLeave, CallingContextSample};
use ouzel_otf2::wire::UNDEFINED_U32;
use ouzel_otf2::write::{ArchiveWriter, EventWriter, WriteOptions};
use std::fs;
use std::path::PathBuf;

pub(in crate::otf2) struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Opens an archive of one location with these events and contexts `(id, region, line, parent)`.
pub(in crate::otf2) fn archive(
    name: &str,
    contexts: &[(u32, u32, u32, u32)],
    events: impl FnOnce(&mut EventWriter),
) -> (Scratch, Otf2Source) {
    archive_in_files(name, ["", "", ""], contexts, events)
}

/// The same with the source files of the three regions.
fn archive_in_files(
    name: &str,
    files: [&str; 3],
    contexts: &[(u32, u32, u32, u32)],
    events: impl FnOnce(&mut EventWriter),
) -> (Scratch, Otf2Source) {
    let dir = std::env::temp_dir().join(format!("ouzel-contexts-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    let mut archive = ArchiveWriter::create(&dir, "traces", WriteOptions::default()).unwrap();
    let mut writer = archive.events(0).unwrap();
    events(&mut writer);
    let summary = writer.finish().unwrap();
    archive
        .define(def::ClockProperties {
            timer_resolution: 1_000_000,
            global_offset: 0,
            trace_length: 1000,
            realtime_timestamp: 0,
        })
        .unwrap();
    let name = archive.string("node").unwrap();
    let group = def::LocationGroup {
        id: 0,
        name,
        location_group_type: LocationGroupType::Process,
        system_tree_parent: 0,
        creating_location_group: UNDEFINED_U32,
    };
    archive.define(def::SystemTreeNode { id: 0, name, class_name: name, parent: UNDEFINED_U32 }).unwrap();
    archive.define(group).unwrap();
    let number_of_events = summary.n_events;
    let location_type = LocationType::CpuThread;
    archive
        .define(def::Location { id: 0, name, location_type, number_of_events, location_group: 0 })
        .unwrap();
    for ((id, region), file) in [(7, "main"), (8, "solve"), (9, "step")].into_iter().zip(files) {
        let name = archive.string(region).unwrap();
        let source_file = archive.string(file).unwrap();
        let region = def::Region {
            id,
            name,
            canonical_name: name,
            description: UNDEFINED_U32,
            region_role: RegionRole::Function,
            paradigm: Paradigm::User,
            region_type: 0,
            region_flags: 0,
            source_file,
            begin_line_number: 1,
            end_line_number: 99,
        };
        archive.define(region).unwrap();
    }
    let file = archive.string("a.c").unwrap();
    for &(id, region, line, parent) in contexts {
        archive.define(def::SourceCodeLocation { id: 1000 + id, file, line_number: line }).unwrap();
        let source_code_location = 1000 + id;
        archive.define(def::CallingContext { id, region, source_code_location, parent }).unwrap();
    }
    let name = archive.string("timer").unwrap();
    let generator = def::InterruptGenerator {
        id: 4,
        name,
        interrupt_generator_mode: InterruptGeneratorMode::Time,
        base: Base::Decimal,
        exponent: -3,
        period: 10,
    };
    archive.define(generator).unwrap();
    archive.finish().unwrap();
    let source = Otf2Source::open(&dir).unwrap();
    (Scratch(dir), source)
}

fn sample(events: &mut EventWriter, time: u64, calling_context: u32, unwind_distance: u32) {
    let interrupt_generator = 4;
    let sample = CallingContextSample { calling_context, unwind_distance, interrupt_generator };
    events.write(time, sample).unwrap();
}

/// Time, context and what stayed, of each sample.
fn samples(source: &Otf2Source, needs: Needs) -> (Vec<(u64, u32, Lca)>, Vec<NoticeCode>) {
    let mut reader = source.open(LocationId(0), &ReadPlan::all(needs)).unwrap();
    let mut buffer = ChunkBuffer::default();
    let mut all = Vec::new();
    loop {
        buffer.clear();
        let more = reader.read(&mut buffer).unwrap();
        for found in &buffer.samples {
            assert_eq!(buffer.kind[found.row as usize], EventKind::Sample);
            assert_eq!(found.generator, Some(InterruptGeneratorId(0)));
            let Ticks(time) = buffer.time[found.row as usize];
            all.push((time, found.context.map_or(u32::MAX, |context| context.0), found.lca));
        }
        if !more {
            let codes = reader.notices().into_iter().map(|notice| notice.code);
            return (all, codes.collect());
        }
    }
}

#[test]
fn samples_and_their_contexts_are_read() {
    // Children come before their parents.
    let contexts = [(30, 9, 21, 20), (20, 8, 9, 10), (10, 7, 4, UNDEFINED_U32), (11, 7, 5, UNDEFINED_U32)];
    let (_scratch, source) = archive("read", &contexts, |events| {
        sample(events, 10, 20, 3);
        events.write(15, CallingContextEnter { calling_context: 30, unwind_distance: 2 }).unwrap();
        sample(events, 20, 30, 1);
        sample(events, 30, 30, 0);
        events.write(35, CallingContextLeave { calling_context: 30 }).unwrap();
        sample(events, 40, 11, 1);
        sample(events, 50, 20, UNDEFINED_U32);
    });
    let definitions = source.definitions();
    let worst = source.notices().iter().map(|notice| notice.level).max();
    assert_eq!(worst, Some(Level::Low), "that a parent stands behind its child: {:?}", source.notices());
    let seen: Vec<_> =
        definitions.sampled_contexts.iter().map(|c| (c.parent, c.region, c.line, c.depth)).collect();
    assert_eq!(
        seen,
        [
            (None, RegionId(0), Some(4), 1),
            (Some(ContextId(0)), RegionId(1), Some(9), 2),
            (Some(ContextId(1)), RegionId(2), Some(21), 3),
            (None, RegionId(0), Some(5), 1),
        ]
    );
    assert_eq!(definitions.sampled_contexts.get(ContextId(3)).file.as_deref(), Some("a.c"));
    let generator = &definitions.interrupt_generators[0];
    assert_eq!((generator.counts, generator.period, generator.exponent), (InterruptCounts::Time, 10, -3));
    let (seen, notices) = samples(&source, Needs::ALL_EVENTS);
    assert_eq!(
        seen,
        [
            (10, 1, Lca::Unknown),
            (20, 2, Lca::Exact(2)),
            (30, 2, Lca::Exact(3)),
            (40, 3, Lca::Exact(1)),
            (50, 1, Lca::Unknown),
        ]
    );
    assert_eq!(notices, []);
    assert_eq!(samples(&source, Needs::NOTHING), (vec![], vec![]), "nobody needs them");
}

#[test]
fn broken_contexts_are_cut_and_told() {
    let contexts = [(1, 7, 1, 2), (2, 8, 2, 1), (3, 55, 3, UNDEFINED_U32), (4, 9, 4, 77)];
    let (_scratch, source) = archive("broken", &contexts, |events| {
        sample(events, 10, 1, 3);
        sample(events, 20, 99, 3);
    });
    let codes: Vec<_> = source.notices().iter().map(|notice| (notice.code, notice.count)).collect();
    for expected in [(NoticeCode::DamagedDefinitions, 1), (NoticeCode::UndefinedReference, 1)] {
        assert!(codes.contains(&expected), "{codes:?}");
    }
    let contexts = &source.definitions().sampled_contexts;
    assert_eq!(contexts.len(), 4);
    assert!(contexts.iter().any(|c| c.region == source.definitions().unknown_region));
    let (seen, notices) = samples(&source, Needs::ALL_EVENTS);
    assert_eq!(seen.len(), 1);
    assert!(notices.contains(&NoticeCode::UndefinedReference), "{notices:?}");
    assert!(notices.contains(&NoticeCode::NotRepresented), "{notices:?}");
}

#[test]
fn a_chain_as_long_as_the_file_is_cut() {
    let chain: Vec<_> =
        (0..5000).map(|id| (id, 7, 1, if id == 0 { UNDEFINED_U32 } else { id - 1 })).collect();
    let (_scratch, source) = archive("deep", &chain, |events| {
        sample(events, 10, 4998, 1);
        sample(events, 20, 4999, 2);
    });
    let contexts = &source.definitions().sampled_contexts;
    assert_eq!(contexts.iter().map(|c| c.depth).max(), Some(MAX_SAMPLED_DEPTH));
    assert_eq!(source.notices().iter().map(|notice| notice.count).collect::<Vec<_>>(), [5000 - 1024]);
    let deepest = contexts.len() as u32 - 1;
    let (seen, _) = samples(&source, Needs::SAMPLES);
    assert_eq!(seen, [(10, deepest, Lca::Unknown), (20, deepest, Lca::Exact(4999))]);
}

#[test]
fn a_location_is_sampled_if_it_has_samples_and_no_call() {
    let contexts = [(10, 7, 4, UNDEFINED_U32), (20, 8, 9, 10)];
    let is_sampled = |name: &str, write: &dyn Fn(&mut EventWriter)| {
        let (_scratch, source) = archive(name, &contexts, write);
        source.is_sampled(LocationId(0))
    };
    assert!(is_sampled("samples", &|events| (0..5000).for_each(|i| sample(events, i / 10, 20, 1))));
    assert!(!is_sampled("nothing", &|_| {}));
    assert!(!is_sampled("late-call", &|events| {
        (0..5000).for_each(|i| sample(events, i / 10, 20, 1));
        events.write(600, CallingContextEnter { calling_context: 20, unwind_distance: 2 }).unwrap();
    }));
}

#[test]
fn lines_of_calls_become_those_of_callers() {
    // `main` in a.c calls `solve` of another file in two lines; once inside, `step` is called from there.
    let contexts = [(1, 7, 0, UNDEFINED_U32), (2, 8, 13, 1), (3, 8, 21, 1), (4, 9, 30, 3)];
    let paths = |files, contexts: &[(u32, u32, u32, u32)]| {
        let (_scratch, source) =
            archive_in_files("call-lines", files, contexts, |events| sample(events, 1, 4, 1));
        let contexts = &source.definitions().sampled_contexts;
        let mut frames = Vec::new();
        let mut paths = Vec::new();
        for id in (0..contexts.len()).map(ContextId::from_index) {
            contexts.frames(id, &mut frames);
            paths.push(frames.iter().map(|frame| (frame.region.0, frame.call_line)).collect::<Vec<_>>());
        }
        paths.sort();
        paths.dedup();
        paths
    };
    let of_calls = paths(["a.c", "", "b.c"], &contexts);
    let (main, solve) = ((0, None), |line| (1, Some(line)));
    assert_eq!(
        of_calls,
        [vec![main], vec![main, solve(13)], vec![main, solve(21)], vec![main, solve(21), (2, Some(30))]]
    );
    // The same lines inside of the regions.
    let inside = paths(["x.c", "a.c", "a.c"], &contexts);
    assert_eq!(inside, [vec![main], vec![main, (1, None)], vec![main, (1, None), (2, Some(21))]]);
}
