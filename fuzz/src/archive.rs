//! A whole archive, from the bytes of all its files to a profile.

use crate::allocation::{ARCHIVE, bounded};
use ouzel_analyses::inventory::Inventory;
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_analyses::{By, Per};
use ouzel_engine::{AnalysisSet, Pass};
use ouzel_model::Filter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// The files that an input may hold; the number of one is its place here.
pub const FILES: [&str; 8] = [
    "traces.otf2",
    "traces.def",
    "traces/0.evt",
    "traces/0.def",
    "traces/1.evt",
    "traces/1.def",
    "traces.marker",
    "traces/0.snap",
];

/// One input for several files: of each its number, its length in two bytes, its bytes.
pub fn pack(files: &[(u8, &[u8])]) -> Vec<u8> {
    let mut packed = Vec::new();
    for &(number, bytes) in files {
        let n_bytes = u16::try_from(bytes.len()).expect("seeds are small");
        packed.push(number);
        packed.extend(n_bytes.to_le_bytes());
        packed.extend(bytes);
    }
    packed
}

/// The files of an input; the last gets what is left, and of two with one number the later counts.
pub fn unpack<const N: usize>(mut data: &[u8]) -> [Option<&[u8]>; N] {
    let mut files = [None; N];
    while let [number, low, high, rest @ ..] = data {
        let n_bytes = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (bytes, behind) = rest.split_at(n_bytes);
        files[usize::from(*number) % N] = Some(bytes);
        data = behind;
    }
    files
}

/// Opens what the bytes make, makes a profile of it, and turns it into tables.
pub fn archive(data: &[u8]) {
    let files = unpack::<{ FILES.len() }>(data);
    let dir = dir("archive");
    for (name, bytes) in FILES.iter().zip(files) {
        let path = dir.join(name);
        match bytes {
            Some(bytes) => fs::write(&path, bytes).expect("the directory is ours"),
            None => drop(fs::remove_file(&path)),
        }
    }
    bounded(data.len(), ARCHIVE, || open_and_fold(&dir, data.len()));
}

fn open_and_fold(dir: &Path, n_bytes: usize) {
    let Ok((_, source)) = ouzel_formats::open(dir) else { return };
    let definitions = source.definitions();
    let mut set = AnalysisSet::default();
    let (profile, inventory) = (set.add(CallPathProfile), set.add(Inventory));
    let filter = Filter::default();
    let pass = Pass { filter: &filter, jobs: NonZeroUsize::MIN, progress: None };
    let mut report = set.run(&*source, pass).expect("whatever the files hold, the pass ends");
    // An event is two bytes at the least.
    assert!(report.coverage.events_read * 2 <= n_bytes as u64);
    let profile = report.outputs.take(&profile).expect("the profile answers");
    for per in [Per::Total, Per::Location] {
        let _ = profile.table(definitions, By::Region, per);
    }
    let inventory = report.outputs.take(&inventory).expect("the inventory answers");
    let _ = inventory.table(definitions);
    for notice in &report.notices {
        assert!(!notice.to_string().is_empty());
    }
}

/// A directory of this process, in memory where the system has a place for that.
pub fn dir(purpose: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { env::temp_dir() };
    let dir = base.join(format!("ouzel-fuzz-{purpose}-{}", process::id()));
    fs::create_dir_all(dir.join("traces")).expect("a directory for files");
    dir
}
