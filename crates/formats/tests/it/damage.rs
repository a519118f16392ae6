//! Damaged Projections traces and tables: no panic, no hang, and what is lost is reported.

use crate::read;
use ouzel_formats::open;
use ouzel_model::{Level, LocationId, Needs, TraceSource};
use ouzel_testkit::{Rng, shared_data};
use std::path::Path;

/// Opens and reads everything; returns whether lost data is reported.
fn says_damage(path: &Path) -> bool {
    let Ok((_, source)) = open(path) else { return true };
    let source: Box<dyn TraceSource> = source;
    let mut says = source.notices().iter().any(|notice| notice.level == Level::High);
    for location in source.definitions().location_ids() {
        let rows = read::location(&*source, location, Needs::ALL_EVENTS);
        says |= rows.error.is_some() || rows.notices.iter().any(|notice| notice.level == Level::High);
    }
    says
}

/// Copies of a folder with one file changed by `change` at each step.
fn each_damage(
    folder: &Path,
    file: &str,
    change: impl Fn(&[u8], u64) -> Vec<u8>,
    n: u64,
    check: impl Fn(&Path, u64),
) {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        std::fs::write(copy.path().join(entry.file_name()), std::fs::read(entry.path()).unwrap()).unwrap();
    }
    let whole = std::fs::read(folder.join(file)).unwrap();
    for step in 0..n {
        std::fs::write(copy.path().join(file), change(&whole, step)).unwrap();
        check(copy.path(), step);
    }
}

fn flipped(whole: &[u8], seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = whole.to_vec();
    for _ in 0..1 + rng.below(4) {
        let at = rng.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << rng.below(8);
    }
    bytes
}

#[test]
fn logs_that_are_cut_say_so() {
    let Some(shared) = shared_data() else { return };
    let data = shared.join("data/projections");
    let cut = |whole: &[u8], step: u64| whole[..whole.len() * step as usize / 100].to_vec();
    for (folder, log) in [("pingpong-pipit", "pingpong.prj.1.log.gz"), ("hello-ppl", "hello.2.log")] {
        each_damage(&data.join(folder), log, cut, 100, |path, step| {
            assert!(says_damage(path), "{folder} cut at {step} percent");
        });
    }
    for (folder, sts) in [("pingpong-pipit", "pingpong.prj.sts"), ("hello-ppl", "hello.sts")] {
        each_damage(&data.join(folder), sts, cut, 100, |path, step| {
            assert!(says_damage(path), "{folder} cut at {step} percent");
        });
    }
}

#[test]
fn flipped_bits_do_no_harm() {
    let Some(shared) = shared_data() else { return };
    let data = shared.join("data/projections");
    for (folder, file) in [
        ("pingpong-pipit", "pingpong.prj.0.log.gz"),
        ("pingpong-pipit", "pingpong.prj.sts"),
        ("hello-ppl", "hello.0.log"),
        ("hello-ppl", "hello.sts"),
        ("hello-1darray-pipit-old", "hello.0.log.gz"),
    ] {
        each_damage(&data.join(folder), file, flipped, 60, |path, _| _ = says_damage(path));
    }
}

#[test]
fn members_that_are_missing_are_named() {
    let Some(shared) = shared_data() else { return };
    let folder = shared.join("data/projections/hello-ppl");
    let copy = tempfile::tempdir().unwrap();
    for name in ["hello.0.log", "hello.1.log", "hello.3.log"] {
        std::fs::copy(folder.join(name), copy.path().join(name)).unwrap();
    }
    let (_, source) = open(copy.path()).unwrap();
    assert!(source.notices()[0].message.contains(".sts file is missing"), "{:?}", source.notices());
    std::fs::copy(folder.join("hello.sts"), copy.path().join("hello.sts")).unwrap();
    let (_, source) = open(copy.path()).unwrap();
    assert!(source.notices()[0].message.contains("the run had 4 PEs, but there are 3 logs"));
    let rows = read::location(&*source, LocationId(2), Needs::ALL_EVENTS);
    assert!(0 < rows.n_records && rows.error.is_none());
    for name in ["hello.0.log", "hello.1.log", "hello.3.log"] {
        std::fs::remove_file(copy.path().join(name)).unwrap();
    }
    let error = open(&copy.path().join("hello.sts")).err().unwrap().to_string();
    assert!(error.contains("logs of this Projections trace are missing"), "{error}");
    std::fs::copy(folder.join("hello.0.sum"), copy.path().join("hello.0.sum")).unwrap();
    let error = open(copy.path()).err().unwrap().to_string();
    assert!(error.contains("summary (.sum)"), "{error}");
}

#[test]
fn damaged_tables_do_no_harm() {
    let Some(shared) = shared_data() else { return };
    let whole = std::fs::read(shared.join("data/foo-bar.csv")).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    for percent in 0..100 {
        std::fs::write(file.path(), &whole[..whole.len() * percent / 100]).unwrap();
        says_damage(file.path());
    }
    for seed in 0..200 {
        std::fs::write(file.path(), flipped(&whole, seed)).unwrap();
        says_damage(file.path());
    }
}
