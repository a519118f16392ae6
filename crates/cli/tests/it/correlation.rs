//! `ouzel correlate` from outside: a planted pattern is found with its shift and sign, over topologies that the profile
//! defines, from the system tree and by hand; invalid questions are reported.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use crate::run::{Ran, Scratch, json, ran_on, testdata};
use ouzel::formats::cube::write;
use ouzel::model::{
    Aggregation, CartDimension, CartMembers, CartTopology, LocationId, MetricKind, MetricValueType,
};
use ouzel_testkit::{ToyProfile, shared_data};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const X: usize = 6;
const Y: usize = 5;

/// A pattern that no shift maps to itself.
fn pattern(x: usize, y: usize) -> f64 {
    [3.0, 1.0, 4.0, 1.0, 5.0, 9.0][x] + [2.0, 7.0, 1.0, 8.0, 2.0][y] * 0.5
}

/// 6 × 5 ranks. `solve` varies by a pattern; `twin` by the same, shifted by (2, 4) and scaled, in bytes; `wait` against
/// it; `noise` by something else; `flat` not at all. The rank at `hole` has no place.
fn planted(folder: &Path, hole: Option<u32>) -> PathBuf {
    let mut profile = ToyProfile::new((X * Y) as u32);
    let main = profile.call(None, "main");
    let solve = profile.call(Some(main), "solve");
    let wait = profile.call(Some(main), "wait");
    let noise = profile.call(Some(main), "noise");
    let flat = profile.call(Some(main), "flat");
    let metric = |profile: &mut ToyProfile, name: &str| {
        profile.metric(name, MetricKind::Exclusive, MetricValueType::F64, Aggregation::Sum)
    };
    let time = metric(&mut profile, "time");
    let bytes = metric(&mut profile, "bytes");
    let each = |value: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
        (0..X * Y).map(|rank| value(rank / Y, rank % Y)).collect()
    };
    profile.set(time, main, &each(&|_, _| 0.5));
    profile.set(time, solve, &each(&pattern));
    profile.set(time, wait, &each(&|x, y| 20.0 - pattern(x, y)));
    profile.set(time, noise, &each(&|x, y| ((x * 37 + y * 101 + x * y * 53) % 17) as f64));
    profile.set(time, flat, &each(&|_, _| 3.0));
    profile.set(bytes, solve, &each(&|x, y| 100.0 + 7.0 * pattern((x + X - 2) % X, (y + Y - 4) % Y)));
    let axis =
        |name: &str, size: usize| CartDimension { name: Arc::from(name), size: size as u32, periodic: true };
    let members = (0..(X * Y) as u32).filter(|rank| Some(*rank) != hole);
    profile.definitions_mut().topologies.push(CartTopology {
        name: Arc::from("torus"),
        comm: None,
        dimensions: vec![axis("x", X), axis("y", Y)],
        coordinates: members.clone().flat_map(|rank| [rank / Y as u32, rank % Y as u32]).collect(),
        members: CartMembers::Locations(members.map(LocationId).collect()),
    });
    let path = folder.join("planted.cubex");
    write::write(&profile, File::create(&path).unwrap()).unwrap();
    path
}

fn row(answer: &Value, i: usize) -> &Value {
    &answer["data"]["rows"][i]
}

fn names(row: &Value) -> (String, String) {
    let path: Vec<&str> =
        row["call_path"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    (row["metric"].as_str().unwrap().to_owned(), path.join("/"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

const ASKED: [&str; 6] = ["correlate", "--no-cache", "--metric", "time", "--path", "solve"];

fn asked(more: &[&'static str]) -> Vec<&'static str> {
    [&ASKED[..], more].concat()
}

#[test]
fn what_was_planted_comes_first_with_shift_and_sign() {
    let scratch = Scratch::new("correlate-planted");
    let path = planted(&scratch.0, None);
    let answer = json(&path, &asked(&[]));
    assert_eq!(answer["schema"], "ouzel/correlate/1");
    let data = &answer["data"];
    assert_eq!(data["reference"]["metric"], "time");
    assert_eq!(data["reference"]["call_path"], serde_json::json!(["main", "solve"]));
    assert_eq!(
        (&data["topology"]["name"], &data["topology"]["origin"]),
        (&"torus".into(), &"defined".into())
    );
    assert_eq!(data["axes"][1]["name"], "y");
    let (twin, wait) = (row(&answer, 0), row(&answer, 1));
    let mut both = [names(twin), names(wait)];
    both.sort();
    assert_eq!(
        both,
        [("bytes".to_owned(), "main/solve".to_owned()), ("time".to_owned(), "main/wait".to_owned())]
    );
    for row in [twin, wait] {
        let is_twin = names(row).0 == "bytes";
        let (r, shift) = if is_twin { (1.0, [2, 4]) } else { (-1.0, [0, 0]) };
        assert!((number(&row["r"]) - r).abs() < 1e-9, "{row}");
        assert_eq!(row["shift"], serde_json::json!(shift), "{row}");
        assert_eq!(row["sign"], if is_twin { "like" } else { "against" });
        assert!(number(&row["r_min"]) <= number(&row["r"]) && number(&row["r"]) <= number(&row["r_max"]));
        assert_eq!(row["coverage"], 1.0);
    }
    // A view that does not vary has no correlation, and comes last.
    let rows = data["rows"].as_array().unwrap();
    for row in &rows[rows.len() - 2..] {
        assert_eq!(row["r"], 0.0, "{row}");
    }
    assert_eq!(data["n_views"], 5, "main, wait, noise, flat, bytes of solve");
}

#[test]
fn values_are_those_of_each_place() {
    let scratch = Scratch::new("correlate-values");
    let path = planted(&scratch.0, Some(7));
    let values = ["correlate", "--metric", "time", "--path", "/main/solve", "--values"];
    let answer = json(&path, &values);
    assert_eq!(answer["schema"], "ouzel/topology/1");
    let data = &answer["data"];
    assert_eq!(data["view"]["call_path"], serde_json::json!(["main", "solve"]));
    assert_eq!((&data["axes"][0]["size"], &data["axes"][1]["size"]), (&X.into(), &Y.into()));
    for place in 0..X * Y {
        let is_hole = place == 7;
        let value = if is_hole { Value::Null } else { pattern(place / Y, place % Y).into() };
        assert_eq!(data["values"][place], value, "{place}");
        assert_eq!(data["ranks"][place], if is_hole { Value::Null } else { place.into() }, "{place}");
    }
    let names: Vec<&str> =
        data["metrics"].as_array().unwrap().iter().map(|metric| metric["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["time", "bytes"]);
    assert_eq!(data["topologies"][0], serde_json::json!({"name": "torus", "sizes": [X, Y]}));
    // What does not vary has values, and no correlation.
    let flat = ["correlate", "--metric", "time", "--path", "flat", "--values", "--top", "2"];
    assert_eq!(json(&path, &flat)["data"]["values"][0], 3.0);
    let page = ran_on(&path, &flat).out;
    assert!(page.contains("2 of 29 places"), "{page}");
    let csv = ran_on(&path, &[&values[..], &["--format", "csv"]].concat()).out;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!((rows[0], rows.len()), ("place,location,rank,value", X * Y));
}

#[test]
fn a_filter_keeps_one_axis() {
    let scratch = Scratch::new("correlate-axes");
    let path = planted(&scratch.0, None);
    let answer = json(&path, &asked(&["--axes", "x", "--all"]));
    let selected: Vec<bool> = answer["data"]["axes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|axis| axis["selected"].as_bool().unwrap())
        .collect();
    assert_eq!(selected, [true, false]);
    let kept = number(&answer["data"]["reference"]["kept"]);
    assert!(0.0 < kept && kept < 1.0, "{kept}");
    let twin =
        answer["data"]["rows"].as_array().unwrap().iter().find(|row| row["metric"] == "bytes").unwrap();
    assert_eq!(twin["shift"][0], 2, "{twin}");
    let by_number = json(&path, &asked(&["--axes", "0", "--all"]));
    assert_eq!(by_number["data"]["rows"], answer["data"]["rows"]);
}

#[test]
fn all_best_and_tables_say_the_same() {
    let scratch = Scratch::new("correlate-all");
    let path = planted(&scratch.0, None);
    let all = json(&path, &asked(&["--all"]));
    let best = json(&path, &asked(&["--top", "2"]));
    let rows = all["data"]["rows"].as_array().unwrap();
    assert_eq!(best["data"]["rows"].as_array().unwrap()[..], rows[..2]);
    let csv = ran_on(&path, &asked(&["--all", "--format", "csv"]));
    assert_eq!(csv.code, Some(0), "{}", csv.err);
    assert_eq!(csv.out.lines().count(), 1 + rows.len());
    assert!(csv.out.starts_with("metric,call_path,call_path_id,r,shift,r_max,"), "{}", csv.out);
    let parquet = scratch.0.join("all.parquet");
    let ran = ran_on(&path, &[&ASKED[..], &["-o", parquet.to_str().unwrap()]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(fs::read(&parquet).unwrap().starts_with(b"PAR1"));
}

#[test]
fn missing_places_and_other_topologies_are_told() {
    let scratch = Scratch::new("correlate-holes");
    let path = planted(&scratch.0, Some(7));
    let answer = json(&path, &asked(&[]));
    assert_eq!(
        (&answer["data"]["topology"]["n_places"], &answer["data"]["topology"]["n_located"]),
        (&30.into(), &29.into())
    );
    let told = answer["notices"].as_array().unwrap().iter().map(|notice| notice["message"].as_str().unwrap());
    assert!(
        told.clone().any(|message| message.contains("29 of 30 places")),
        "{:?}",
        told.collect::<Vec<_>>()
    );
    let by_hand = json(&path, &asked(&["--topology", "6x5"]));
    assert_eq!(by_hand["data"]["topology"]["origin"], "by_hand");
    assert_eq!(row(&by_hand, 0)["shift"].as_array().unwrap().len(), 2);
    let line = json(&path, &asked(&["--topology", "1"]));
    assert_eq!(line["data"]["topology"]["origin"], "system_tree");
    assert_eq!(line["data"]["topology"]["n_places"], 30);
}

#[test]
fn what_cannot_be_asked_is_told_with_what_can() {
    let scratch = Scratch::new("correlate-wrong");
    let path = planted(&scratch.0, None);
    let mut one = ToyProfile::new(1);
    let main = one.call(None, "main");
    let time = one.metric("time", MetricKind::Exclusive, MetricValueType::F64, Aggregation::Sum);
    one.set(time, main, &[1.0]);
    let alone = scratch.0.join("alone.cubex");
    write::write(&one, File::create(&alone).unwrap()).unwrap();
    for (path, words, told) in [
        (&path, &["--metric", "tim"][..], "no metric \"tim\"; it has: time"),
        (&path, &["--path", "sovle"], "no call path \"sovle\"; similar regions: solve"),
        (&path, &["--path", "main/*"], "4 call paths match: main/solve (id 1), "),
        (&path, &["--axes", "z"], "no axis \"z\"; its axes are x, y"),
        (&path, &["--topology", "moon"], "no topology \"moon\"; it has: 0: \"torus\" (6x5), 1: "),
        (&path, &["--topology", "4x7"], "28 places"),
        (&path, &["--metric", "bytes", "--path", "flat"], "no nonzero value in call path main/flat"),
        (&path, &["--ranks", "0-3"], "need a trace"),
        (&alone, &[], "give one by hand"),
        (&alone, &["--topology", "1x1"], "nothing can vary over it"),
    ] {
        let Ran { code, out, err } = ran_on(path, &[&["correlate", "--no-cache"], words].concat());
        assert_eq!((code, out.as_str()), (Some(1), ""), "{words:?}: {err}");
        assert!(err.contains(told), "{words:?}: {err}");
    }
    let misuse = ran_on(&path, &["correlate", "--palette", "viridis"]);
    assert_eq!(misuse.code, Some(64), "a palette without a picture: {}", misuse.err);
}

#[test]
fn the_picture_shows_reference_and_partners() {
    let scratch = Scratch::new("correlate-plot");
    let path = planted(&scratch.0, Some(7));
    for (name, more) in [
        ("two.svg", &[][..]),
        ("three.svg", &["--topology", "2x3x5", "--draw", "cubes", "--palette", "green-yellow-red"]),
        ("line.svg", &["--topology", "30"]),
    ] {
        let file = scratch.0.join(name);
        let plot = ["--plot", file.to_str().unwrap(), "--views", "2"];
        let ran = ran_on(&path, &[&ASKED[..], &plot, more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let svg = fs::read_to_string(&file).unwrap();
        for text in ["chosen: time", "1.  r = ", "2.  r = ", "main › solve", "planted.cubex"] {
            assert!(svg.contains(text), "{name}: {text}");
        }
        assert!(!svg.contains("3.  r = "), "{name}");
        assert_eq!(svg.contains("missing"), name == "two.svg", "{name}");
    }
}

#[test]
fn pages_fit_their_width_and_say_what_was_chosen() {
    let scratch = Scratch::new("correlate-page");
    let path = planted(&scratch.0, None);
    for width in ["60", "80", "200"] {
        let output = crate::run::command()
            .env("COLUMNS", width)
            .args(["correlate", path.to_str().unwrap(), "--no-cache"])
            .output()
            .unwrap();
        let page = String::from_utf8(output.stdout).unwrap();
        let limit: usize = width.parse().unwrap();
        let table = page.lines().filter(|line| line.contains("main")).skip(1);
        for line in table {
            assert!(line.chars().count() <= limit, "{width}: {line}");
        }
        let words: Vec<&str> = page.split_whitespace().collect();
        assert!(words.join(" ").contains("no --metric and --path given"), "{page}");
        assert!(page.contains("against") && page.contains("shift x y"), "{page}");
    }
}

/// A trace is counted in one pass first; ranks are the places unless the system tree has more detail.
#[test]
fn a_trace_is_asked_too() {
    let trace = testdata("pmpi-jacobi");
    let answer = json(&trace, &["correlate", "--no-cache", "--metric", "time"]);
    assert!(1 < answer["data"]["topology"]["n_located"].as_u64().unwrap());
    let rows = answer["data"]["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        assert!(number(&row["r"]).abs() <= 1.0, "{row}");
    }
    let part = json(&trace, &["correlate", "--no-cache", "--metric", "time", "--ranks", "0-1"]);
    assert_eq!(part["input"]["filter"]["ranks"], "0-1");
}

/// Recorded profiles that define a topology: every answer is right, or the reason for a missing one is given.
#[test]
fn recorded_topologies_are_asked() {
    let Some(shared) = shared_data() else { return };
    let mut n_answered = 0;
    let mut folders = vec![shared.join("data/cube"), shared.join("data/cube3-xml")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains(".cube") {
                files.push(path);
            }
        }
    }
    files.sort();
    for path in files {
        let ran = ran_on(&path, &["correlate", "--no-cache", "--format", "json", "--top", "5"]);
        match ran.code {
            Some(0 | 2) => {
                let answer: Value = serde_json::from_str(&ran.out).unwrap();
                for row in answer["data"]["rows"].as_array().unwrap() {
                    let (r, max, min) = (number(&row["r"]), number(&row["r_max"]), number(&row["r_min"]));
                    assert!(-1.0 <= min && min <= r && r <= max && max <= 1.0, "{path:?}: {row}");
                }
                n_answered += 1;
            }
            code => {
                assert_eq!(code, Some(1), "{path:?}");
                assert!(ran.err.starts_with("ouzel: error: "), "{path:?}: {}", ran.err);
            }
        }
    }
    assert!(0 < n_answered);
}

/// A trace of 16 ranks: what they do longer in `solve` they do shorter in `output`; then all wait for the slowest.
fn uneven(folder: &Path) -> PathBuf {
    let work = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3];
    let mut text = String::from("Timestamp (ns),Event Type,Name,Process\n");
    for (rank, work) in work.iter().enumerate() {
        let mut now = 0;
        for _ in 0..4 {
            for (region, length) in [("solve", 2 * work), ("output", 12 - work), ("MPI_Barrier", 10 - work)] {
                text += &format!("{now},Enter,{region},{rank}\n");
                now += length * 1_000_000;
                text += &format!("{now},Leave,{region},{rank}\n");
            }
        }
    }
    let path = folder.join("uneven.csv");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn findings_are_followed_by_what_varies_like_them() {
    let scratch = Scratch::new("correlate-report");
    let path = uneven(&scratch.0);
    let answer = json(&path, &["report"]);
    let findings = answer["data"]["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["varies_like"].is_object()).unwrap();
    let varies = &finding["varies_like"];
    assert_eq!((&varies["metric"], &varies["axes"][0]["size"]), (&"time".into(), &16.into()));
    let rows = varies["rows"].as_array().unwrap();
    assert!((1..=3).contains(&rows.len()), "{varies}");
    let own = finding["call_path"].as_array().unwrap().last().unwrap();
    for row in rows {
        assert!(0.8 < number(&row["r"]).abs(), "16 places say little below: {row}");
        assert_ne!(row["call_path"].as_array().unwrap().last().unwrap(), own);
    }
    let page = ran_on(&path, &["report"]).out;
    assert!(page.contains("this time varies"), "{page}");
    let html = scratch.0.join("report.html");
    let ran = ran_on(&path, &["report", "-o", html.to_str().unwrap()]);
    assert!(matches!(ran.code, Some(0 | 2)), "{}", ran.err);
    let html = fs::read_to_string(&html).unwrap();
    assert!(html.contains("Views that vary over") && html.contains("data:image/svg+xml;base64,"));
}
