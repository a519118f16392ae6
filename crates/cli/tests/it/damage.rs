//! Archives with lost files, from outside: an answer all the same, code 2, and the file by name.

use crate::run::{Scratch, json, ran_on};
use std::fs;
use std::path::Path;

/// Breaks a copy of an archive and asks every command that answers with a page about it.
fn check(test: &str, lost: &str, damage: impl Fn(&Path)) {
    let scratch = Scratch::new(test);
    let archive = scratch.copied("pmpi-masterio");
    damage(&archive.join(lost));
    for words in [&["profile"][..], &["report"], &["profile", "--format", "csv"]] {
        let ran = ran_on(&archive, words);
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.err);
        assert!(ran.out.contains("MPI_"), "{words:?} answers from the rest: {}", ran.out);
        let told = if words == ["report"] { ran.out + &ran.err } else { ran.err };
        assert!(told.contains(lost), "{words:?} names {lost}: {told}");
    }
}

fn cut_in_half(path: &Path) {
    let bytes = fs::read(path).expect("a copy of an archive is readable");
    fs::write(path, &bytes[..bytes.len() / 2]).expect("a copy of an archive is writable");
}

#[test]
fn a_missing_event_file_is_named() {
    check("lost-events", "traces/2.evt", |path| fs::remove_file(path).unwrap());
}

#[test]
fn an_empty_event_file_is_named() {
    check("empty-events", "traces/2.evt", |path| fs::write(path, []).unwrap());
}

#[test]
fn a_directory_in_place_of_an_event_file_is_named() {
    check("directory", "traces/2.evt", |path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    });
}

#[test]
fn missing_or_cut_local_definitions_are_named() {
    check("lost-local", "traces/2.def", |path| fs::remove_file(path).unwrap());
    check("cut-local", "traces/2.def", cut_in_half);
}

#[test]
fn a_missing_or_cut_anchor_is_named() {
    check("lost-anchor", "traces.otf2", |path| fs::remove_file(path).unwrap());
    check("cut-anchor", "traces.otf2", cut_in_half);
}

#[test]
fn the_place_of_the_damage_is_told() {
    let scratch = Scratch::new("place");
    let archive = scratch.copied("pmpi-masterio");
    let events = archive.join("traces/2.evt");
    let bytes = fs::read(&events).unwrap();
    // The file ends with two bytes that say so.
    fs::write(&events, &bytes[..bytes.len() - 2]).unwrap();
    let ran = ran_on(&archive, &["profile"]);
    let place = format!("2.evt+{:#x}", bytes.len() - 2);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains(&place), "{place}: {}", ran.err);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = Scratch::new("forbidden");
    let forbidden = scratch.0.join("forbidden");
    fs::write(&forbidden, "").unwrap();
    fs::set_permissions(&forbidden, fs::Permissions::from_mode(0o0)).unwrap();
    if fs::File::open(&forbidden).is_ok() {
        eprintln!("skipped: this user may read every file");
        return;
    }
    check("no-permission", "traces/2.evt", |path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o0)).unwrap();
    });
}

#[test]
fn without_definitions_regions_stay_apart_and_nothing_is_said_of_efficiency() {
    let scratch = Scratch::new("lost-definitions");
    let archive = scratch.copied("pmpi-masterio");
    let regions = |archive: &Path| -> Vec<u64> {
        let rows = json(archive, &["profile"])["data"]["rows"].take();
        let mut visits: Vec<u64> =
            rows.as_array().expect("rows").iter().filter_map(|row| row["visits"].as_u64()).collect();
        visits.sort_unstable();
        visits
    };
    let whole = regions(&archive);
    fs::remove_file(archive.join("traces.def")).expect("a copy of an archive is writable");
    assert_eq!(regions(&archive), whole, "as many visits of as many regions as with their names");
    let report = json(&archive, &["report"]);
    assert!(report["data"]["efficiency"].is_null(), "{report}");
    let why = report["data"]["efficiency_missing"].as_str().expect("a reason");
    assert!(why.contains("definitions are lost"), "{why}");
}
