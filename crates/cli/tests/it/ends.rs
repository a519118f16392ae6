//! How runs end that use only part of the data, fail, or lose their reader.

use crate::run::{Scratch, command, json, ran_on, testdata};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

#[test]
fn a_wrong_path_is_one_line_and_code_1() {
    let scratch = Scratch::new("wrong-path");
    fs::write(scratch.0.join("notes.txt"), "no trace").unwrap();
    for path in [scratch.0.join("absent"), scratch.0.clone(), scratch.0.join("notes.txt")] {
        for words in [&["profile"][..], &["info"], &["convert", "out", "--to", "csv"]] {
            let ran = ran_on(&path, words);
            assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{path:?} {words:?}");
            assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
            assert!(ran.err.starts_with("ouzel: error: "), "{}", ran.err);
        }
    }
    let absent = ran_on(&scratch.0.join("absent"), &["profile"]);
    assert!(absent.err.contains("no such file or directory"), "{}", absent.err);
}

#[test]
fn a_truncated_file_costs_its_tail_and_is_told() {
    let scratch = Scratch::new("truncated");
    let archive = scratch.copied("pmpi-jacobi");
    let events = archive.join("traces/4.evt");
    let bytes = fs::read(&events).unwrap();
    fs::write(&events, &bytes[..bytes.len() / 2]).unwrap();

    let page = ran_on(&archive, &["profile"]);
    assert_eq!(page.code, Some(2), "{}", page.err);
    assert!(page.err.starts_with("lost      "), "{}", page.err);
    assert!(page.err.contains("4.evt+0x"), "{}", page.err);
    assert_eq!(ran_on(&archive, &["profile", "--quiet"]).err, "");

    let answer = json(&archive, &["profile", "--per", "rank"]);
    assert_eq!(answer["coverage"]["locations_damaged"], 1);
    assert_eq!(answer["notices"][0]["level"], "high");
    assert_eq!(answer["notices"][0]["location"], 4);
    assert!(answer["notices"][0]["offset"].is_u64());
    let of_others = |answer: &serde_json::Value| -> Vec<serde_json::Value> {
        let rows = answer["data"]["rows"].as_array().unwrap();
        rows.iter().filter(|row| row["rank"] != 4).cloned().collect()
    };
    let whole = json(&testdata("pmpi-jacobi"), &["profile", "--per", "rank"]);
    assert_eq!(of_others(&answer), of_others(&whole), "the other ranks are untouched");
}

#[test]
fn a_closed_pipe_ends_in_silence() {
    let archive = testdata("pmpi-jacobi");
    for words in [
        &["profile", "--format", "json", "--per", "location", "--call-paths"][..],
        &["profile", "--format", "csv", "--per", "location", "--call-paths"],
        &["profile", "--top", "0", "--per", "location", "--call-paths"],
        &["print"],
        &["print", "--merged"],
        &["print", "--format", "json"],
    ] {
        let mut child = command()
            .arg(words[0])
            .arg(&archive)
            .args(&words[1..])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        // The reader goes away after the first line; the output is longer than a pipe holds.
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
        assert_eq!(output.status.code(), Some(0), "{words:?}");
    }
}

#[test]
fn nothing_is_overwritten_unasked() {
    let scratch = Scratch::new("overwrite");
    let out = scratch.0.join("events.csv");
    let convert = |more: &[&str]| {
        let mut words = vec!["convert", out.to_str().unwrap(), "--to", "csv"];
        words.extend(more);
        ran_on(&testdata("pmpi-jacobi"), &words)
    };
    fs::write(&out, "mine").unwrap();
    let refused = convert(&[]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("--force"), "{}", refused.err);
    assert_eq!(fs::read_to_string(&out).unwrap(), "mine");
    assert_eq!(convert(&["--force"]).code, Some(0));
    assert!(fs::read_to_string(&out).unwrap().starts_with("time_ns,rank,location,kind,region,"));
    let left: Vec<_> = fs::read_dir(&scratch.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [Path::new("events.csv").as_os_str()], "no half-written file stays");
}
