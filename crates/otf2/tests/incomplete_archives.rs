//! Archives with files missing or cut, and every way to name an archive.

use std::fs;
use std::path::{Path, PathBuf};

use ouzel_otf2::read::EventSink;
use ouzel_otf2::records::Event;
use ouzel_otf2::records::enums::LocationType;
use ouzel_otf2::{Archive, LocalDefinitions, NoticeKind, ReadErrorKind};

/// A copy of a small archive in a directory of its own, removed at the end.
struct Copy(PathBuf);

impl Copy {
    fn new(name: &str) -> Self {
        let to = std::env::temp_dir().join(format!("ouzel-otf2-{name}-{}", std::process::id()));
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/pmpi-masterio");
        fs::create_dir_all(to.join("traces")).expect("the temporary directory is writable");
        for dir in ["", "traces"] {
            for entry in
                fs::read_dir(from.join(dir)).expect("the archive is part of the repository").flatten()
            {
                if entry.path().is_file() {
                    fs::copy(entry.path(), to.join(dir).join(entry.file_name()))
                        .expect("files can be copied");
                }
            }
        }
        Copy(to)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    fn remove(&self, file: &str) {
        fs::remove_file(self.path(file)).expect("the file is there");
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[derive(Default)]
struct Count(u64);

impl EventSink for Count {
    fn enter(&mut self, _: u64, _: u32) {
        self.0 += 1;
    }

    fn leave(&mut self, _: u64, _: u32) {
        self.0 += 1;
    }

    fn event(&mut self, _: u64, _: Event<'_>) {
        self.0 += 1;
    }
}

fn n_events(archive: &Archive) -> u64 {
    let mut count = Count::default();
    for &location in archive.locations_on_disk() {
        let mut reader = archive.events(location).expect("each location has an event file");
        while reader.read(100, &mut count).expect("the file is whole") > 0 {}
    }
    count.0
}

#[test]
fn an_archive_has_many_names() {
    let copy = Copy::new("names");
    let expected = n_events(&Archive::open(&copy.path("traces.otf2")).unwrap());
    assert!(expected > 0);
    for path in [copy.0.clone(), copy.path("traces"), copy.path("traces.def")] {
        let archive = Archive::open(&path).unwrap();
        assert_eq!((archive.name(), archive.notices()), ("traces", &[][..]), "{path:?}");
        assert_eq!(n_events(&archive), expected);
    }
    for (from, to) in [("traces.otf2", "run.7.otf2"), ("traces.def", "run.7.def"), ("traces", "run.7")] {
        fs::rename(copy.path(from), copy.path(to)).unwrap();
    }
    for path in [copy.0.clone(), copy.path("run.7.otf2"), copy.path("run.7")] {
        assert_eq!(n_events(&Archive::open(&path).unwrap()), expected, "{path:?}");
    }
}

#[test]
fn several_archives_in_one_directory_must_be_told_apart() {
    let copy = Copy::new("several");
    fs::copy(copy.path("traces.otf2"), copy.path("other.otf2")).unwrap();
    let error = Archive::open(&copy.0).unwrap_err();
    assert!(error.to_string().ends_with("other.otf2, traces.otf2"), "{error}");
    assert_eq!(Archive::open(&copy.path("traces.otf2")).unwrap().name(), "traces");
}

#[test]
fn nothing_is_no_archive() {
    let copy = Copy::new("nothing");
    fs::create_dir(copy.path("empty")).unwrap();
    for path in ["empty", "missing", "missing.otf2"] {
        let error = Archive::open(&copy.path(path)).unwrap_err();
        assert!(matches!(error.kind, ReadErrorKind::NoArchive), "{error}");
    }
}

#[test]
fn without_its_anchor_an_archive_is_the_same() {
    let copy = Copy::new("anchor");
    let whole = Archive::open(&copy.0).unwrap();
    let expected = n_events(&whole);
    let (definitions, _) = whole.read_global_definitions();
    let anchor = fs::read(copy.path("traces.otf2")).unwrap();
    for damage in [None, Some(0), Some(40), Some(anchor.len() - 20)] {
        match damage {
            None => copy.remove("traces.otf2"),
            Some(n) => fs::write(copy.path("traces.otf2"), &anchor[..n]).unwrap(),
        }
        let archive = Archive::open(&copy.0).unwrap();
        assert!(archive.anchor_is_rebuilt());
        let [notice] = archive.notices() else {
            panic!("one notice for the anchor: {:?}", archive.notices())
        };
        assert!(matches!(notice.kind, NoticeKind::AnchorRebuilt { .. }));
        assert!(notice.to_string().contains("traces.otf2"), "{notice}");
        assert_eq!(n_events(&archive), expected);
        let (rebuilt, notices) = archive.read_global_definitions();
        assert_eq!(notices, []);
        assert_eq!(rebuilt.len(), definitions.len());
        for &location in archive.locations_on_disk() {
            assert_eq!(archive.read_local_definitions(location), whole.read_local_definitions(location));
            assert_eq!(archive.event_chunks(location).unwrap().0.len(), 1);
        }
    }
}

#[test]
fn without_definitions_locations_are_known_from_their_files() {
    let copy = Copy::new("definitions");
    copy.remove("traces.def");
    let archive = Archive::open(&copy.0).unwrap();
    let (definitions, notices) = archive.read_global_definitions();
    assert!(definitions.is_empty() && definitions.clock().is_none());
    assert!(notices.iter().any(|notice| notice.kind == NoticeKind::NoGlobalDefinitions));
    assert!(notices.iter().any(|notice| notice.kind == NoticeKind::UndefinedLocations { n: 8, first: 0 }));
    let ids: Vec<u64> = definitions.locations().map(|location| location.id).collect();
    assert_eq!(ids, archive.locations_on_disk());
    assert_eq!(definitions.location(5).unwrap().location_type, LocationType::Unknown);
    assert!(definitions.is_made_up(5) && !definitions.is_made_up(99));
    assert_eq!(archive.compare_event_counts(&definitions), [], "nothing was claimed");
    copy.remove("traces.otf2");
    assert_eq!(n_events(&Archive::open(&copy.0).unwrap()), n_events(&archive));
}

#[test]
fn definitions_cut_at_any_byte_keep_their_prefix() {
    let copy = Copy::new("cut");
    let whole = fs::read(copy.path("traces.def")).unwrap();
    let all: Vec<String> = {
        let (definitions, _) = Archive::open(&copy.0).unwrap().read_global_definitions();
        definitions.records().map(|record| format!("{record:?}")).collect()
    };
    let archive = Archive::open(&copy.0).unwrap();
    for n in 0..whole.len() {
        fs::write(copy.path("traces.def"), &whole[..n]).unwrap();
        let (definitions, notices) = archive.read_global_definitions();
        let kept: Vec<String> =
            definitions.records().take(definitions.len()).map(|record| format!("{record:?}")).collect();
        assert!(all.starts_with(&kept), "cut at {n}");
        let damage = notices.iter().find(|notice| matches!(notice.kind, NoticeKind::Damaged { .. }));
        let damage = damage.expect("a cut file is damaged");
        assert!(damage.offset <= n as u64 && damage.file.ends_with("traces.def"), "{damage}");
        assert_eq!(definitions.locations().count(), 8, "locations are known from their files");
    }
}

#[test]
fn a_location_without_its_files_leaves_the_others_alone() {
    let copy = Copy::new("location");
    copy.remove("traces/3.evt");
    copy.remove("traces/4.def");
    let archive = Archive::open(&copy.0).unwrap();
    assert!(matches!(archive.events(3).unwrap_err().kind, ReadErrorKind::NoSuchFile { location: 3 }));
    let (local, notices) = archive.read_local_definitions(4);
    assert!(local.mapping.is_identity() && local.clock.is_identity());
    let [notice] = &notices[..] else { panic!("others have such a file: {notices:?}") };
    assert!(matches!(notice.kind, NoticeKind::NoLocalDefinitions { location: 4 }), "{notice}");
    assert!(notice.file.ends_with("4.def"), "{notice}");
    let (definitions, _) = archive.read_global_definitions();
    let notices = archive.compare_event_counts(&definitions);
    assert!(!definitions.is_made_up(3));
    let [notice] = &notices[..] else { panic!("one file is missing: {notices:?}") };
    assert!(matches!(notice.kind, NoticeKind::NoEventFile { location: 3, .. }), "{notice}");
}

#[test]
fn an_archive_without_local_definitions_is_whole() {
    let copy = Copy::new("no-local");
    for location in 0..8 {
        copy.remove(&format!("traces/{location}.def"));
    }
    let archive = Archive::open(&copy.0).unwrap();
    assert_eq!(archive.read_local_definitions(4), (LocalDefinitions::default(), vec![]));
}
