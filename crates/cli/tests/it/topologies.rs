//! Topologies of far more places than are used: commands need only the memory for the used ones, and leave nothing
//! behind.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use crate::model_archive;
use crate::run::{Ran, Scratch, command, ran_on};
use ouzel::formats::cube::write;
use ouzel::formats::otf2::model_archive::Clocks;
use ouzel::model::{
    Aggregation, CartDimension, CartMembers, CartTopology, CommId, CommRank, LocationId, LocationKind,
    MetricKind, MetricValueType, Ticks, WorldRank,
};
use ouzel_testkit::{ToyEvent, ToyPayload, ToyProfile, ToyTrace};
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const N_RANKS: u32 = 16;

/// A hypercube of `n_axes` axes. Ranks take the corners next to the origin; with `far` the last one is opposite.
fn hypercube(n_axes: u32, far: bool, members: CartMembers, comm: Option<CommId>) -> CartTopology {
    let axis = |i| CartDimension { name: Arc::from(format!("d{i}")), size: 2, periodic: true };
    let at = |rank: u32, axis: u32| {
        let is_opposite = far && rank == N_RANKS - 1;
        if is_opposite { 1 } else { rank.checked_shr(axis).unwrap_or(0) & 1 }
    };
    CartTopology {
        name: Arc::from("cube of many axes"),
        comm,
        dimensions: (0..n_axes).map(axis).collect(),
        members,
        coordinates: (0..N_RANKS).flat_map(|rank| (0..n_axes).map(move |axis| at(rank, axis))).collect(),
    }
}

fn profile(folder: &Path, n_axes: u32, far: bool) -> PathBuf {
    profile_of(folder, n_axes, far, [("solve", 7), ("wait", 5), ("output", 3)])
}

fn profile_of(folder: &Path, n_axes: u32, far: bool, calls: [(&str, u32); 3]) -> PathBuf {
    let mut profile = ToyProfile::new(N_RANKS);
    let main = profile.call(None, "main");
    let time = profile.metric("time", MetricKind::Exclusive, MetricValueType::F64, Aggregation::Sum);
    for (name, factor) in calls {
        let call = profile.call(Some(main), name);
        let values: Vec<f64> = (0..N_RANKS).map(|rank| f64::from(rank * factor % 11)).collect();
        profile.set(time, call, &values);
    }
    let members = CartMembers::Locations((0..N_RANKS).map(LocationId).collect());
    profile.definitions_mut().topologies.push(hypercube(n_axes, far, members, None));
    let path = folder.join("bomb.cubex");
    write::write(&profile, File::create(&path).unwrap()).unwrap();
    path
}

fn trace(folder: &Path, n_axes: u32, far: bool) -> PathBuf {
    let mut trace = ToyTrace::empty();
    let (main, solve, output) = (trace.region("main"), trace.region("solve"), trace.region("output"));
    for rank in 0..N_RANKS {
        let middle = u64::from(1000 + 100 * (rank * 7 % 11));
        let events = [
            (0, ToyPayload::Enter(main)),
            (1, ToyPayload::Enter(solve)),
            (middle, ToyPayload::Leave(solve)),
            (middle, ToyPayload::Enter(output)),
            (3000, ToyPayload::Leave(output)),
            (3001, ToyPayload::Leave(main)),
        ];
        let events = events.map(|(time, what)| ToyEvent { time: Ticks(time), what });
        trace.add_location(WorldRank(rank), "Master thread", LocationKind::CpuThread, events.to_vec());
    }
    let members = CartMembers::Ranks((0..N_RANKS).map(CommRank).collect());
    trace.definitions_mut().topologies.push(hypercube(n_axes, far, members, Some(CommId(0))));
    let path = folder.join("trace");
    model_archive::write(&trace, &path, Clocks::Synchronised);
    path
}

/// Runs within a quarter of a gigabyte: 2^24 places take twice that for the first spectrum alone.
fn within_limits(path: &Path, cache: &Path, words: &[&str]) -> Ran {
    let ouzel = command().get_program().to_owned();
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -v 262144 && exec \"$@\"", "sh"]).arg(ouzel);
    let output = limited.args([words[0]]).arg(path).args(&words[1..]).args(["--jobs", "2"]);
    let output = output.env("XDG_CACHE_HOME", cache).output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn told(answer: &Value) -> Vec<&str> {
    answer["notices"].as_array().unwrap().iter().map(|notice| notice["message"].as_str().unwrap()).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_cube_of_many_axes_is_refused_with_its_name_and_what_to_do() {
    let scratch = Scratch::new("topologies-far");
    let cache = scratch.0.join("cache");
    for (path, made) in [(profile(&scratch.0, 24, true), "profile"), (trace(&scratch.0, 24, true), "trace")] {
        let ran = within_limits(&path, &cache, &["correlate", "--topology", "0"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{made}: {}", ran.err);
        for part in ["\"cube of many axes\" (2x2x", "16777216 places", "--topology"] {
            assert!(ran.err.contains(part), "{made}: {}", ran.err);
        }
        // Unless one is requested, the next topology is used, and a notice reports it.
        let ran = within_limits(&path, &cache, &["correlate", "--format", "json"]);
        let answer: Value = serde_json::from_str(&ran.out).expect(&ran.err);
        assert_eq!(answer["data"]["topology"]["origin"], "system_tree");
        let is_said = |text: &&str| text.contains("16777216 places") && text.contains("another one is used");
        assert!(told(&answer).iter().any(is_said), "{:?}", told(&answer));
        let ran = within_limits(&path, &cache, &["info"]);
        assert!(matches!(ran.code, Some(0 | 2)) && ran.out.contains("16,777,216 places"), "{}", ran.out);
    }
    let path = scratch.0.join("trace");
    let ran = within_limits(&path, &cache, &["report", "--format", "json"]);
    let answer: Value = serde_json::from_str(&ran.out).expect(&ran.err);
    assert!(told(&answer).iter().any(|text| text.contains("16777216 places")), "{:?}", told(&answer));
    assert!(!cache.exists(), "nothing was worth keeping");
    let mut left: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["traces", "traces.def", "traces.otf2"], "nothing is left beside the trace");
}

#[cfg(target_os = "linux")]
#[test]
fn a_cube_of_many_axes_is_cut_to_the_corner_that_is_used() {
    let scratch = Scratch::new("topologies-near");
    let cache = scratch.0.join("cache");
    for path in [profile(&scratch.0, 31, false), trace(&scratch.0, 31, false)] {
        let svg = scratch.0.join("alike.svg");
        let plot = ["correlate", "--path", "solve", "--plot", svg.to_str().unwrap(), "--format", "json"];
        let ran = within_limits(&path, &cache, &plot);
        let answer: Value = serde_json::from_str(&ran.out).expect(&ran.err);
        let topology = &answer["data"]["topology"];
        assert_eq!((&topology["origin"], &topology["n_places"]), (&"defined".into(), &16.into()));
        let is_said = |text: &&str| text.contains("it is cut to those around the used ones (2x2x2x2x1x1x");
        assert!(told(&answer).iter().any(is_said), "{:?}", told(&answer));
        assert!(fs::read_to_string(&svg).unwrap().contains("solve"));
        fs::remove_file(&svg).unwrap();
    }
    let page = scratch.0.join("page.html");
    let ran =
        within_limits(&scratch.0.join("trace"), &cache, &["report", "--output", page.to_str().unwrap()]);
    assert!(matches!(ran.code, Some(0 | 2)), "{}", ran.err);
    assert!(fs::read_to_string(&page).unwrap().contains("it is cut to those around the used ones"));
}

#[test]
fn spectra_are_kept_where_the_user_says() {
    let scratch = Scratch::new("topologies-spectra");
    let path = profile(&scratch.0, 4, false);
    let (kept, foreign) = (scratch.0.join("kept"), scratch.0.join("foreign"));
    fs::write(&foreign, "precious").unwrap();
    let asked = |file: &Path| ran_on(&path, &["correlate", "--spectra", file.to_str().unwrap()]);
    let (first, again) = (asked(&kept), asked(&kept));
    assert!(first.out.contains("spectra kept in") && again.out.contains("spectra from"), "{}", again.out);
    let refused = asked(&foreign);
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
    assert!(refused.err.contains("holds no spectra"), "{}", refused.err);
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "precious");
    let damaged = fs::read(&kept).unwrap()[..4200].to_vec();
    fs::write(&kept, damaged).unwrap();
    let repaired = asked(&kept);
    assert!(repaired.out.contains("spectra kept in"), "{}", repaired.out);
    assert!(repaired.err.contains("its length is wrong"), "{}", repaired.err);
    assert!(asked(&kept).out.contains("spectra from"));
}

#[test]
fn the_default_call_path_is_the_same_from_kept_spectra() {
    let scratch = Scratch::new("topologies-default-path");
    let kept = scratch.0.join("kept");
    let asked = |path: &Path, words: &[&str]| {
        let ran = ran_on(path, &[&["correlate", "--format", "json"], words].concat());
        serde_json::from_str::<Value>(&ran.out).expect(&ran.err)
    };
    let spectra = ["--spectra", kept.to_str().unwrap()];
    let path = profile(&scratch.0, 4, false);
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let plain = asked(&path, &["--no-cache"]);
    for state in ["written", "read"] {
        let answer = asked(&path, &spectra);
        assert_eq!(answer["data"]["cache"], state);
        assert_eq!(answer["data"]["reference"], plain["data"]["reference"]);
        assert_eq!(answer["data"]["rows"], plain["data"]["rows"]);
    }
    // Another profile under the same name, of the same length and time: the kept totals are not its own.
    let path = profile_of(&scratch.0, 4, false, [("solve", 1), ("wait", 0), ("output", 9)]);
    File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    let (plain, answer) = (asked(&path, &["--no-cache"]), asked(&path, &spectra));
    assert_eq!(answer["data"]["reference"], plain["data"]["reference"]);
    assert_eq!(answer["data"]["rows"], plain["data"]["rows"]);
}
