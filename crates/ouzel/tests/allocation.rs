//! What is held in memory at once while damaged files are read.
//!
//! Law: at most [`FACTOR`] bytes for each byte of the archive and [`FIXED`] for any, whatever the
//! files claim. A program of its own, because it counts every allocation of the process.

use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::inventory::Inventory;
use ouzel::engine::AnalysisSet;
use peak_alloc::PeakAlloc;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The model holds a definition of a few bytes in a row of a table, in an index and with a text or a notice.
const FACTOR: usize = 128;
/// Windows on files, and one chunk of every column.
const FIXED: usize = 16 << 20;

/// Bytes held at once while the archive is opened and a pass runs.
fn peak(path: &Path) -> usize {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    if let Ok(trace) = ouzel::open(path) {
        let mut set = AnalysisSet::default();
        let (profile, inventory) = (set.add(CallPathProfile), set.add(Inventory));
        let options = ouzel::Options { jobs: NonZeroUsize::MIN, ..ouzel::Options::default() };
        let mut report = trace.run(&set, &options).expect("whatever the files hold, the pass ends");
        let outputs = (report.outputs.take(&profile), report.outputs.take(&inventory));
        assert!(outputs.0.is_ok() && outputs.1.is_ok());
    }
    MEMORY.peak_usage().saturating_sub(before)
}

#[track_caller]
fn assert_bounded(path: &Path, what: &str) {
    let n_bytes: usize = files(path).iter().map(|(_, bytes)| bytes.len()).sum();
    let (held, allowed) = (peak(path), FIXED + FACTOR * n_bytes);
    assert!(held <= allowed, "{what}: {held} bytes held for an archive of {n_bytes}; {allowed} are allowed");
}

fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).expect("the archive is there") {
        let path = entry.expect("the archive can be listed").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let bytes = fs::read(&path).expect("the archive can be read");
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

fn scratch(purpose: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("ouzel-memory-{purpose}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(dir.join("traces")).expect("temporary files can be made");
    dir
}

/// A definition file with these records behind its header.
fn definition_file(records: &[Vec<u8>]) -> Vec<u8> {
    let mut file = vec![3, 0x42];
    file.extend([0; 16]);
    records.iter().for_each(|record| file.extend(record));
    file.extend([2, 1]);
    file
}

/// A record with its length in the long form.
fn record(id: u8, fields: &[u8]) -> Vec<u8> {
    let len = (fields.len() as u64).to_le_bytes();
    [&[id, 0xff], &len[..], fields].concat()
}

/// A number of four digits.
fn number(n: u32) -> [u8; 5] {
    let [a, b, c, d] = n.to_le_bytes();
    [4, a, b, c, d]
}

/// A group (18) of one-digit members: `group_type` 4 are locations, 5 ranks; paradigm 4 is MPI.
fn group(id: u32, group_type: u8, n_members: u32) -> Vec<u8> {
    let mut fields = [&number(id)[..], &[0xff, 0], &number(n_members)].concat();
    fields.extend((0..n_members).flat_map(|member| [1, member as u8]));
    fields.extend([group_type, 4, 0]);
    record(18, &fields)
}

/// A communicator (22) of a group.
fn comm(id: u32, group: u32) -> Vec<u8> {
    record(22, &[&number(id)[..], &[0xff], &number(group), &[0xff, 0]].concat())
}

#[test]
fn damaged_archives_hold_no_more_than_whole_ones() {
    let root = ouzel_testkit::workspace_root().join("testdata");
    let dir = scratch("damaged");
    for name in ["pmpi-masterio", "eztrace-pingpong"] {
        let source = root.join(name);
        for (path, bytes) in files(&source) {
            let to = dir.join(path.strip_prefix(&source).expect("it lies there"));
            fs::create_dir_all(to.parent().expect("it has a directory"))
                .expect("temporary files can be made");
            fs::write(&to, bytes).expect("temporary files can be made");
        }
        assert_bounded(&dir, name);
        for (path, bytes) in files(&dir) {
            for at in (0..bytes.len()).step_by(bytes.len().div_ceil(25)) {
                let what = format!("{}+{at:#x}", path.display());
                fs::write(&path, &bytes[..at]).expect("the copy is ours");
                assert_bounded(&dir, &format!("{what}, cut there"));
                // Whatever number lies there is now huge, in each way that the format has.
                for huge in [
                    &[0xff; 9][..],
                    &[4, 0xff, 0xff, 0xff, 0x7f],
                    &[8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
                ] {
                    let mut wrong = bytes.clone();
                    let n_bytes = huge.len().min(wrong.len() - at);
                    wrong[at..at + n_bytes].copy_from_slice(&huge[..n_bytes]);
                    fs::write(&path, &wrong).expect("the copy is ours");
                    assert_bounded(&dir, &format!("{what}, huge"));
                }
            }
            fs::write(&path, &bytes).expect("the copy is ours");
        }
        fs::remove_dir_all(&dir).expect("the directory is ours");
    }

    // What many definitions have in common is held once: the members of a group, above all.
    let dir = scratch("made");
    let definitions = dir.join("traces.def");
    let n = 4000;
    let shapes: [(&str, Vec<Vec<u8>>); 6] = [
        ("communicators of one group", {
            let mut records = vec![group(0, 4, 30_000), group(1, 5, 30_000)];
            records.extend((0..n).map(|id| comm(id, 1)));
            records
        }),
        ("communicators of all ranks", {
            let mut records = vec![group(0, 4, 30_000)];
            records.extend((0..n).map(|id| comm(id, 0)));
            records
        }),
        ("inter-communicators", {
            let mut records = vec![group(0, 4, 30_000), group(1, 5, 30_000)];
            let fields = |id| [&number(id)[..], &[0xff, 1, 1, 1, 1, 0xff, 0]].concat();
            records.extend((0..n).map(|id| record(43, &fields(id))));
            records
        }),
        ("short texts", (0..10 * n).map(|id| record(10, &[&number(id)[..], b"x\0"].concat())).collect()),
        ("locations without a group", {
            let fields = |id: u32| [&number(id)[..], &[0xff, 1, 0, 0xff]].concat();
            (0..n).map(|id| record(14, &fields(id))).collect()
        }),
        ("regions without a name", {
            let fields = |id: u32| [&number(id)[..], &[0xff, 0xff, 0, 0xff, 0, 0]].concat();
            (0..n).map(|id| record(15, &fields(id))).collect()
        }),
    ];
    for (what, records) in shapes {
        fs::write(&definitions, definition_file(&records)).expect("temporary files can be made");
        assert_bounded(&dir, what);
    }

    // A count without items, and a table of ids that ends before it begins.
    let huge = number(0x7fff_ffff);
    for fields in [[&huge[..], &[0xff, 0], &huge].concat(), [&[3][..], &huge, &[0]].concat()] {
        for id in [5, 18, 20, 31, 32] {
            let file = definition_file(&[record(id, &fields)]);
            fs::write(&definitions, &file).expect("temporary files can be made");
            fs::write(dir.join("traces/0.def"), &file).expect("temporary files can be made");
            assert_bounded(&dir, &format!("record {id} with a huge count"));
        }
    }
    fs::remove_dir_all(&dir).expect("the directory is ours");
}
