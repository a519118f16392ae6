//! Real archives, read to the last byte.
//!
//! They lie in `otf2` below the directory that the environment variable
//! OUZEL_SHARED names, or else below `../shared` beside the workspace.

use std::path::{Path, PathBuf};

use ouzel_otf2::read::{EventSink, RecordReader};
use ouzel_otf2::records::enums::GroupType;
use ouzel_otf2::records::{AttributeList, Definition, Event, LocalDefinition};
use ouzel_otf2::wire::RecordBuffer;
use ouzel_otf2::{Archive, NoticeKind};

/// Directories that hold an anchor; empty, with a line that says so, where the data are absent.
fn archives() -> Vec<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = std::env::var_os("OUZEL_SHARED").map_or(workspace.join("../shared"), PathBuf::from);
    let mut found = directories(&shared.join("data/otf2"));
    if found.is_empty() {
        println!("no archives in {}: reading testdata alone", shared.display());
    }
    found.extend(directories(&workspace.join("testdata")));
    found
}

fn directories(of: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(of) else { return Vec::new() };
    let holds_anchor = |dir: &PathBuf| {
        std::fs::read_dir(dir).is_ok_and(|files| {
            files.flatten().any(|file| file.path().extension().is_some_and(|ending| ending == "otf2"))
        })
    };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(holds_anchor).collect();
    found.sort();
    found
}

#[derive(Debug, Default, PartialEq, Eq, Clone)]
struct Tally {
    events: u64,
    enters: u64,
    leaves: u64,
    attributes: u64,
    checksum: u64,
}

impl Tally {
    fn add(&mut self, time: u64, number: u64) {
        self.events += 1;
        self.checksum = self.checksum.wrapping_mul(31).wrapping_add(time ^ number);
    }
}

impl EventSink for Tally {
    fn enter(&mut self, time: u64, region: u32) {
        self.enters += 1;
        self.add(time, u64::from(region));
    }

    fn leave(&mut self, time: u64, region: u32) {
        self.leaves += 1;
        self.add(time, u64::from(region) << 32);
    }

    fn event(&mut self, time: u64, event: Event<'_>) {
        let mut digest = u64::from(event.kind().id());
        for byte in format!("{event:?}").bytes() {
            digest = digest.wrapping_mul(31).wrapping_add(u64::from(byte));
        }
        self.add(time, digest);
    }

    fn attributes(&mut self, list: AttributeList<'_>) {
        self.attributes += list.iter().count() as u64;
    }
}

#[test]
fn every_event_file_is_read_to_its_last_byte() {
    for path in archives() {
        let archive = Archive::open(&path).unwrap();
        assert_eq!(archive.notices(), [], "{path:?}");
        for &location in archive.locations_on_disk() {
            let Ok(mut reader) = archive.events(location) else { continue };
            let mut pushed = Tally::default();
            while reader.read(1000, &mut pushed).unwrap() > 0 {}
            let counts = reader.counts().clone();
            assert_eq!(counts.events, counts.events_claimed, "{path:?} {location}");
            assert_eq!(counts.events, pushed.events);
            assert_eq!((counts.chunks_miscounted, counts.longer_records, counts.unknown.len()), (0, 0, 0));
            let size = archive.directory().join(archive.name()).join(format!("{location}.evt"));
            assert_eq!(reader.offset(), size.metadata().unwrap().len(), "{path:?} {location}");

            // One at a time, the events are the same.
            let mut reader = archive.events(location).unwrap();
            let mut pulled = Tally::default();
            while let Some(record) = reader.next_record().unwrap() {
                pulled.attributes(record.attributes);
                match record.event.expect("the archives hold known events alone") {
                    Event::Enter(enter) => pulled.enter(record.time, enter.region),
                    Event::Leave(leave) => pulled.leave(record.time, leave.region),
                    other => pulled.event(record.time, other),
                }
                assert_eq!(record.number, pulled.events);
            }
            assert_eq!(pulled, pushed, "{path:?} {location}");
            assert_eq!(reader.counts(), &counts);
        }
    }
}

#[test]
fn every_definition_file_is_read_to_its_end() {
    for path in archives() {
        let archive = Archive::open(&path).unwrap();
        let (definitions, notices) = archive.read_global_definitions();
        let lost = |kind: &NoticeKind| {
            !matches!(
                kind,
                NoticeKind::Duplicates { .. } | NoticeKind::Late { .. } | NoticeKind::Dangling { .. }
            )
        };
        assert!(!notices.iter().any(|notice| lost(&notice.kind)), "{path:?}: {notices:?}");
        assert_eq!(definitions.len() as u64, archive.anchor().n_global_definitions);
        assert_eq!(definitions.locations().count() as u64, archive.anchor().n_locations);
        assert!(definitions.clock().is_some());
        let (name, bytes) = archive.global_definition_bytes().unwrap();
        let mut reader = RecordReader::new(&bytes, &name, archive.anchor().definition_chunk_size()).unwrap();
        while let Some((raw, record)) = reader.next_as(Definition::decode).unwrap() {
            // What is decoded encodes to the same bytes, but for lengths in their
            // long form and fields that an older version did not write.
            let mut buffer = RecordBuffer::new(raw.endian);
            record.expect("known records alone").encode(&mut buffer).unwrap();
            let same = [2, 10]
                .iter()
                .any(|&head| buffer.bytes().get(head..).is_some_and(|body| body.starts_with(raw.body)));
            assert!(same, "{path:?} {raw:?}");
        }
        for &location in archive.locations_on_disk() {
            let (_, notices) = archive.read_local_definitions(location);
            assert_eq!(notices, [], "{path:?}");
            let Ok((name, bytes)) = archive.local_definition_bytes(location) else { continue };
            let mut reader = RecordReader::new(&bytes, &name, None).unwrap();
            while let Some((_, record)) = reader.next_as(LocalDefinition::decode).unwrap() {
                assert!(record.is_some());
            }
        }
    }
}

#[test]
fn eztrace_shares_a_group_id_and_nothing_is_lost() {
    for path in archives().into_iter().filter(|path| path.to_string_lossy().contains("eztrace")) {
        let (definitions, notices) = Archive::open(&path).unwrap().read_global_definitions();
        assert!(
            notices.iter().any(|notice| matches!(notice.kind, NoticeKind::Duplicates { .. })),
            "{notices:?}"
        );
        let kinds: Vec<GroupType> =
            definitions.groups().filter(|group| group.id == 0).map(|group| group.group_type).collect();
        assert!(kinds.contains(&GroupType::CommLocations), "{kinds:?}");
        assert!(kinds.contains(&GroupType::CommGroup), "{kinds:?}");
        let group = definitions.group(0).expect("the group is defined");
        assert_eq!(group.group_type, GroupType::CommGroup);
    }
}
