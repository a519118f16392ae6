//! Names from files control no terminal, browser or spreadsheet, whichever command shows them.

use crate::commands::commands_but;
use crate::run::{Scratch, command};
use ouzel::model::is_visible;
use serde_json::json;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Output;

const NAMES: [&str; 16] = [
    "esc\x1b[31mRED\x1b]0;title\x07\x1b[2J",
    "c1\u{9b}31m",
    "new\nline\r\tcol",
    "bidi\u{202e}gnp.exe\u{2066}x",
    "\u{200b}zero\u{feff}width",
    "\u{2028}ls\u{2029}",
    "soft\u{ad}hyphen\u{34f}",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(1)",
    "-2+3",
    "'=1",
    "\t=tab",
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "größe \u{202d}計算",
];

/// A Chrome trace of two processes, and the same as an OTF2 archive. Folder and files have such names, too.
fn archives(scratch: &Scratch) -> Vec<PathBuf> {
    let folder = scratch.0.join("dir\u{202e}\x1b[2J");
    std::fs::create_dir_all(&folder).expect("what the test made");
    let mut events = Vec::new();
    for pid in 0..2 {
        events.push(
            json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": "proc\x1b[5m\u{202e}"}}),
        );
        events.push(
            json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": 0, "args": {"name": "=thr\x1b[1m"}}),
        );
        for (i, name) in (0..).zip(NAMES.iter().cycle().take(64)) {
            let dur = 90 + 40 * i % 7 * (pid + 1);
            events.push(json!({"ph": "X", "name": name, "pid": pid, "tid": 0, "ts": 1000 * i, "dur": dur}));
            let args = json!({"=val\u{202e}ue": i});
            events.push(json!({"ph": "C", "name": "=met\x1bric", "pid": pid, "ts": 1000 * i, "args": args}));
        }
    }
    let chrome = folder.join("tr\u{2066}ace.json");
    std::fs::write(&chrome, serde_json::to_vec(&json!({"traceEvents": events})).expect("what the test made"))
        .expect("what the test made");
    let otf2 = folder.join("otf2");
    let written = ran(&chrome, "convert", &[otf2.as_os_str(), "--to".as_ref(), "otf2".as_ref()]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    vec![chrome, otf2]
}

fn ran(path: &Path, word: &str, words: &[&OsStr]) -> Output {
    command().env("COLUMNS", "300").arg(word).arg(path).args(words).output().expect("the binary is there")
}

/// The text without our own paint.
fn unpainted(text: &str) -> String {
    let codes = ["0", "1", "2", "36", "34", "1;31", "33", "32"];
    codes.iter().fold(text.to_owned(), |text, code| text.replace(&format!("\x1b[{code}m"), ""))
}

fn check(what: &str, text: &[u8]) {
    let text = String::from_utf8(text.to_vec()).expect("UTF-8");
    let odd: Vec<char> = text.chars().filter(|&c| c != '\n' && !is_visible(c)).collect();
    assert!(odd.is_empty(), "{what}: {odd:?} in {text}");
}

/// Words with which commands show more names than without.
const MORE: &[(&str, &[&str])] = &[
    ("profile", &["--call-paths", "--per", "location"]),
    ("profile", &["--metric", "*"]),
    ("timeline", &["--depth"]),
    ("idle", &["--idle", "*"]),
    ("efficiency", &["--per", "segment"]),
    ("waits", &["--per", "rank"]),
    ("patterns", &["--start", "new\nline\r\tcol"]),
    ("correlate", &["--metric", "=met\x1bric"]),
    ("print", &["--all"]),
];

#[test]
fn no_command_shows_a_terminal_what_files_say_to_it() {
    let scratch = Scratch::new("hostile-names");
    for archive in archives(&scratch) {
        // These take two paths, and are looked at below or compare what other commands show.
        let all = commands_but(&["compare", "convert"]);
        let plain = all.iter().map(|name| (name.as_str(), &[][..]));
        for (first, rest) in plain.chain(MORE.iter().copied()) {
            for (format, colour) in [("table", "never"), ("table", "always"), ("json", "never")] {
                let more = ["--format", format, "--color", colour, "--region", "no\u{202e}ne"];
                // An empty selection is reported by its name.
                let more = if colour == "always" { &more[..] } else { &more[..4] };
                let words: Vec<&OsStr> = rest.iter().chain(more).map(OsStr::new).collect();
                let done = ran(&archive, first, &words);
                let what = format!("{first} {words:?}");
                check(&what, unpainted(&String::from_utf8_lossy(&done.stdout)).as_bytes());
                check(&what, unpainted(&String::from_utf8_lossy(&done.stderr)).as_bytes());
                assert!(!String::from_utf8_lossy(&done.stderr).contains("internal error"), "{what}");
            }
        }
    }
}

#[test]
fn escapes_say_what_was_there() {
    let scratch = Scratch::new("hostile-escapes");
    for archive in archives(&scratch) {
        let page =
            String::from_utf8(ran(&archive, "profile", &["--top".as_ref(), "0".as_ref()]).stdout).unwrap();
        for name in [
            r"esc\u{1b}[31mRED",
            r"c1\u{9b}31m",
            r"new\nline\r\tcol",
            r"bidi\u{202e}gnp.exe\u{2066}x",
            "計算",
        ] {
            assert!(page.contains(name), "{name} in {page}");
        }
        let data: serde_json::Value =
            serde_json::from_slice(&ran(&archive, "profile", &["--format".as_ref(), "json".as_ref()]).stdout)
                .unwrap();
        let regions: Vec<&str> = data["data"]["rows"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|row| row["region"].as_str())
            .collect();
        for name in NAMES {
            assert!(regions.contains(&name), "JSON has the name as it is: {name:?}");
        }
    }
}

#[test]
fn errors_and_wrong_usage_are_clean() {
    for words in [
        &["profile", "no\x1b[2Jwhere\u{202e}"][..],
        &["profile", "a", "b\x1b[2J\u{202e}"],
        &["profile", "a", "--jobs", "\u{9b}31m"],
        &["pro\u{202e}file"],
    ] {
        let done = command().args(words).output().expect("the binary is there");
        assert!(!done.status.success());
        check(&format!("{words:?}"), &done.stderr);
        assert!(!done.stderr.is_empty());
    }
}

#[test]
fn files_for_browsers_and_spreadsheets_are_tame() {
    let scratch = Scratch::new("hostile-files");
    for archive in archives(&scratch) {
        for (word, out) in [("report", "page.html"), ("time-profile", "bins.svg"), ("timeline", "rows.svg")] {
            let file = scratch.0.join(format!("{}-{out}", archive.ends_with("otf2")));
            let option = if out.ends_with("svg") { "--plot" } else { "-o" };
            let done = ran(&archive, word, &[option.as_ref(), file.as_os_str()]);
            assert!(
                done.status.code().is_some_and(|code| code != 1),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            );
            let text = std::fs::read_to_string(&file).expect("was written");
            let text = text.replace(['\u{a0}', '\u{202f}'], " ");
            check(out, text.as_bytes());
            assert!(!text.contains("<script>alert") && !text.contains("<img src=x"), "{out}");
        }
        let csv = |more: &[&str]| {
            let words: Vec<&OsStr> = ["--format", "csv"].iter().chain(more).map(OsStr::new).collect();
            String::from_utf8(ran(&archive, "profile", &words).stdout).unwrap()
        };
        let (guarded, raw) = (csv(&[]), csv(&["--csv-raw"]));
        for name in ["=cmd|' /C calc'!A0", "+1+1", "@SUM(1)", "-2+3", "'=1"] {
            assert!(guarded.contains(&format!("\n'{name},")), "{guarded}");
            assert!(raw.contains(&format!("\n{name},")), "{raw}");
        }
        let out = scratch.0.join(format!("tables-{}", archive.ends_with("otf2")));
        let done = ran(&archive, "convert", &[out.as_os_str(), "--to".as_ref(), "csv".as_ref()]);
        check("convert", &done.stdout);
        let regions = std::fs::read_to_string(out.join("regions.csv")).expect("was written");
        assert!(regions.contains("'=cmd|") && !regions.contains(",=cmd|"), "{regions}");
    }
}
