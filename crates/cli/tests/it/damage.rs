//! Archives with lost files, from outside: there is still an answer, code 2, and the file is named.

use crate::run::{Scratch, json, ran_on};
use std::fs;
use std::path::Path;

/// Breaks a copy of an archive and runs every command that answers with a page on it.
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
    // The last two bytes mark the end of the file.
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

/// The page in the terminal, in HTML and as JSON.
fn pages(archive: &Path) -> (String, String, serde_json::Value) {
    let page = ran_on(archive, &["report"]).out;
    let html = ran_on(archive, &["report", "--format", "html"]).out;
    (page, html, json(archive, &["report"])["data"].take())
}

/// The position of a text, which must be there.
fn place(page: &str, text: &str) -> usize {
    page.find(text).unwrap_or_else(|| panic!("{text:?} is on the page: {page}"))
}

/// A damaged run first reports what is missing, in all forms, and never that all is well.
fn check_pages(archive: &Path, incomplete: &str) {
    let (page, html, data) = pages(archive);
    let headline = &data["headline"];
    assert_eq!(headline["incomplete"], incomplete, "{archive:?}");
    let keys: Vec<&String> = data.as_object().expect("what the test made").keys().collect();
    let key = |name: &str| keys.iter().position(|key| *key == name).expect("what the test made");
    assert!(key("trust") < key("headline") && key("headline") < key("findings"), "{keys:?}");
    let text = headline["text"].as_str().expect("what the test made");
    assert!(!text.contains("Nothing significant is lost"), "{text}");
    let unwrapped = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(place(&unwrapped, "lost: ") < place(&unwrapped, incomplete), "{page}");
    assert!(place(&unwrapped, incomplete) < place(&unwrapped, text), "{page}");
    assert!(place(&unwrapped, text) < place(&unwrapped, "How well the time was used"), "{page}");
    let (h1, trust) = (place(&html, &format!("<h1>{text}</h1>")), place(&html, "<section id=\"trust\">"));
    assert!(h1 < place(&html, incomplete) && place(&html, incomplete) < trust, "{html}");
    assert!(trust < place(&html, "<section id=\"efficiencies\">"));
    if let Some(findings) = html.find("<section id=\"findings\">") {
        assert!(trust < findings, "losses come first");
    }
}

#[test]
fn pages_of_damaged_runs_say_first_what_is_missing() {
    let scratch = Scratch::new("damaged-pages");
    let archive = scratch.copied("pmpi-masterio");
    let (_, _, whole) = pages(&archive);
    assert_eq!(whole["headline"]["incomplete"], serde_json::Value::Null);
    fs::remove_file(archive.join("traces/5.evt")).unwrap();
    check_pages(&archive, "The trace is incomplete: rank 5 has no events.");
    cut_in_half(&archive.join("traces/2.evt"));
    check_pages(&archive, "The trace is incomplete: rank 5 has no events; the events of rank 2 end early.");
    let (page, html, data) = pages(&archive);
    // Incompletely known ranks would seem to idle.
    assert_eq!(data["efficiency_left_out"]["list"], serde_json::json!([2, 5]));
    assert_eq!(data["efficiency"]["n_compared"], 6);
    let note = "Without ranks 2 and 5, whose events are incomplete.";
    assert!(page.contains(note) && html.contains(note), "{page}");
    fs::remove_file(archive.join("traces.def")).unwrap();
    let (page, html, data) = pages(&archive);
    let incomplete = data["headline"]["incomplete"].as_str().unwrap();
    assert!(incomplete.contains("definitions are missing"), "{incomplete}");
    check_pages(&archive, incomplete);
    assert_eq!(data["losses"], serde_json::json!([]), "nothing says what computes and what waits");
    for page in [page, html] {
        assert!(!page.contains("uneven work") && !page.contains("Nothing significant"), "{page}");
    }
}

#[test]
fn a_run_that_was_killed_says_so_first() {
    let Some(shared) = ouzel_testkit::shared_data() else { return };
    let archive = shared.join("data/field/amg-gmres-8-killed");
    let (_, _, data) = pages(&archive);
    let incomplete = data["headline"]["incomplete"].as_str().unwrap();
    assert!(incomplete.contains("the events of rank 4 end early"), "{incomplete}");
    check_pages(&archive, incomplete);
}
