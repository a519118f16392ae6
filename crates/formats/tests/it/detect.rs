//! Every real file is recognised by exactly one reader, whatever its name; anything else is refused with reasons.

use ouzel_files::LOOK_BYTES;
use ouzel_formats::{Candidate, Format, OpenError, READERS, open};
use ouzel_testkit::{shared_data, workspace_root};
use std::path::{Path, PathBuf};

/// Every format that recognises a path.
fn found(path: &Path) -> Vec<Format> {
    let before = bytes_read_by_thread();
    let candidate = Candidate::at(path);
    let readers = READERS.iter().filter(|reader| (reader.recognise)(&candidate).is_some());
    let found = readers.map(|reader| reader.format).collect();
    for (file, n_bytes) in candidate.bytes_read() {
        assert!(n_bytes <= LOOK_BYTES, "{n_bytes} bytes of {file:?} were read to recognise {path:?}");
    }
    // No reader bypasses the candidate. The system's own count is read from a file, twice.
    let counted: usize = candidate.bytes_read().iter().map(|(_, n_bytes)| n_bytes).sum();
    if let Some((before, after)) = before.zip(bytes_read_by_thread()) {
        let n_bytes = after - before;
        assert!(
            n_bytes <= counted as u64 + 2048,
            "{n_bytes} bytes were read to recognise {path:?}, {counted} counted"
        );
    }
    found
}

/// Bytes that this thread has read by system calls, if the system reports them.
fn bytes_read_by_thread() -> Option<u64> {
    let io = std::fs::read_to_string("/proc/thread-self/io").ok()?;
    io.lines().find_map(|line| line.strip_prefix("rchar: "))?.parse().ok()
}

/// Files of a megabyte and more, beginning as each format does, some that are none, and folders with many of them.
#[test]
fn recognising_reads_each_file_once_and_a_bounded_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let archive = workspace_root().join("testdata/pmpi-masterio");
    let anchor = std::fs::read(archive.join("traces.otf2")).unwrap();
    let export = std::fs::read(workspace_root().join("testdata/nsight-made/small.sqlite")).unwrap();
    let beginnings: [(&str, &[u8], &[Format]); 12] = [
        (
            "kineto.json",
            b"{\"schemaVersion\": 1, \"deviceProperties\": [], \"traceEvents\": [",
            &[Format::Chrome],
        ),
        ("events.json", b"[{\"ph\": \"X\", \"ts\": 1, \"dur\": 1, \"name\": \"", &[Format::Chrome]),
        ("object.json", b"{\"name\": \"", &[]),
        ("text", b"a text", &[]),
        ("anchor", &anchor, &[Format::Otf2]),
        ("broken.otf2", b"something else", &[]),
        ("export", &export, &[Format::Nsight]),
        ("table", b"Timestamp (ns),Event Type,Name\n", &[Format::Csv]),
        ("profile.cube", b"<?xml version=\"1.0\"?>\n<cube version=\"4.4\">", &[Format::Cube]),
        (
            "experiment.xml",
            b"<?xml version=\"1.0\"?>\n<HPCToolkitExperiment version=\"2.2\">",
            &[Format::HpcToolkit],
        ),
        ("run.sts", b"TOTAL_CHARES 1\nTOTAL_EPS 1\nTOTAL_MSGS 1\n", &[Format::Projections]),
        ("packed", b"\x1f\x8b\x08\0\0\0\0\0", &[]),
    ];
    for (name, begin, formats) in beginnings {
        let path = folder.path().join(name);
        std::fs::write(&path, [begin, &[b'x'; 3 << 20]].concat()).unwrap();
        assert_eq!(found(&path), formats, "{name}");
    }
    assert_eq!(found(&folder.path().join("absent")), []);
    // More files than are held open.
    let many = folder.path().join("many");
    std::fs::create_dir(&many).unwrap();
    for i in 0..300 {
        std::fs::write(many.join(format!("rank-{i}.json")), [beginnings[0].1, &[b' '; 100_000]].concat())
            .unwrap();
    }
    assert_eq!(found(&many), [Format::Chrome]);
    // Beside an archive, a file that is not an anchor does not become one.
    std::fs::write(folder.path().join("kineto.def"), "").unwrap();
    assert_eq!(found(&folder.path().join("kineto.json")), [Format::Chrome]);
}

/// The folders of real data and what is in them.
const FOLDERS: &[(&str, Format)] = &[
    ("chrome", Format::Chrome),
    ("chrome-pytorch", Format::Chrome),
    ("cube", Format::Cube),
    ("cube3-xml", Format::Cube),
    ("hpctoolkit", Format::HpcToolkit),
    ("hpctoolkit-meas", Format::HpcToolkit),
    ("hpctoolkit-prof2", Format::HpcToolkit),
    ("hpctoolkit-v2v3", Format::HpcToolkit),
    ("nsight", Format::Nsight),
    ("otf2", Format::Otf2),
    ("projections", Format::Projections),
];

/// Whether a path is not data but the sources of the data.
fn is_no_data(path: &Path) -> bool {
    path.ends_with("otf2/sources")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort_unstable();
    paths
}

#[test]
fn every_real_folder_has_exactly_one_reader() {
    let Some(shared) = shared_data() else { return };
    let (mut wrong, mut n) = (Vec::new(), 0);
    for (kind, format) in FOLDERS {
        let mut left: Vec<PathBuf> = entries(&shared.join("data").join(kind));
        while let Some(path) = left.pop() {
            match &found(&path)[..] {
                // A folder of folders.
                [] if path.is_dir() && entries(&path).iter().all(|path| path.is_dir()) => {
                    left.extend(entries(&path));
                }
                [found] if found == format => n += 1,
                _ if is_no_data(&path) => {}
                found => wrong.push(format!("{path:?}: {found:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(35 <= n, "{n} folders");
    assert_eq!(found(&shared.join("data/foo-bar.csv")), [Format::Csv]);
}

/// Formats of one file, under a name that reveals nothing.
#[test]
fn names_do_not_matter() {
    let Some(shared) = shared_data() else { return };
    let data = shared.join("data");
    let folder = tempfile::tempdir().unwrap();
    let renamed = folder.path().join("data");
    let mut n = 0;
    for (kind, format) in FOLDERS {
        let is_one_file = matches!(format, Format::Chrome | Format::Cube | Format::Nsight);
        for path in
            entries(&data.join(kind)).iter().filter(|_| is_one_file).flat_map(|folder| entries(folder))
        {
            if !path.is_file() || found(&path).is_empty() {
                continue;
            }
            std::fs::copy(&path, &renamed).unwrap();
            assert_eq!(found(&renamed), [*format], "{path:?}");
            n += 1;
        }
    }
    assert!(20 <= n, "{n} files");
    std::fs::copy(data.join("foo-bar.csv"), &renamed).unwrap();
    assert_eq!(found(&renamed), [Format::Csv]);
    std::fs::copy(data.join("projections/hello-ppl/hello.sts"), &renamed).unwrap();
    assert_eq!(found(&renamed), [Format::Projections]);
}

#[test]
fn what_is_no_trace_is_refused_with_what_was_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("empty"), "").unwrap();
    std::fs::write(path("text.csv"), "a,b\n1,2\n").unwrap();
    std::fs::write(path("picture.otf2"), b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap();
    std::fs::write(path("object.json"), "{\"name\": 3}").unwrap();
    std::fs::write(path("run.sts"), "a text\n").unwrap();
    std::fs::create_dir(path("nothing")).unwrap();
    std::fs::create_dir(path("other")).unwrap();
    std::fs::write(path("other/readme"), "a text\n").unwrap();
    let cases = [
        ("empty", "it is an empty file"),
        ("text.csv", "begins with \"a,b\\n1,2\\n\""),
        ("picture.otf2", "binary file that begins with the bytes 89 50 4e 47"),
        ("object.json", "begins with \"{\\\"name\\\": 3}\""),
        ("run.sts", "begins with \"a text"),
        ("nothing", "it is an empty directory"),
        ("other", "it is a directory with \"readme\""),
    ];
    for (name, reason) in cases {
        let error = open(&path(name)).err().unwrap_or_else(|| panic!("{name} is opened"));
        assert!(matches!(error, OpenError::NotATrace { .. }), "{name}: {error:?}");
        let error = error.to_string();
        assert!(error.contains(reason), "{name}: {error}");
        for reader in READERS {
            assert!(error.contains(reader.format.as_str()), "{name}: {error}");
        }
    }
    let error = open(&path("none")).err().unwrap();
    assert!(matches!(error, OpenError::NotFound(_)), "{error:?}");
}

/// If there are several, the answer names them.
#[test]
fn several_traces_in_one_folder_are_candidates() {
    let Some(shared) = shared_data() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in
        [("projections/hello-ppl/hello.0.log", "a.0.log"), ("projections/hello-ppl/hello.1.log", "b.0.log")]
    {
        std::fs::copy(shared.join("data").join(from), folder.path().join(to)).unwrap();
    }
    let error = open(folder.path()).err().unwrap();
    assert!(matches!(&error, OpenError::Ambiguous { candidates, .. } if candidates.len() == 2), "{error}");
    // Two formats.
    std::fs::remove_file(folder.path().join("b.0.log")).unwrap();
    std::fs::write(folder.path().join("b.json"), "{\"traceEvents\": [{\"ph\": \"X\", \"ts\": 1, \"dur\": 1, \"name\": \"f\", \"pid\": 0, \"tid\": 0}]}").unwrap();
    let error = open(folder.path()).err().unwrap().to_string();
    assert!(error.contains("Projections") && error.contains("Chrome"), "{error}");
}
