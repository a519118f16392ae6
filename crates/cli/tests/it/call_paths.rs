//! Every call path that a command prints is one of `profile --call-paths`: nothing that was found, folded or made up
//! appears in it as a caller or callee.

use crate::run::{Ran, Scratch, at_hand, command, json, ran_on, testdata};
use ouzel::model::{Filter, short_name};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Commands that print call paths, with what makes them print all of them.
const COMMANDS: [&[&str]; 20] = [
    &["report"],
    &["segments", "--all"],
    &["segments"],
    &["clusters", "--top", "0"],
    &["iterations", "--top", "0"],
    &["critical-path"],
    &["waits", "--delays"],
    &["what-if", "--top", "0"],
    &["efficiency", "--per", "segment"],
    &["lateness"],
    &["patterns"],
    &["imbalance", "--call-paths"],
    &["call-tree"],
    &["calls"],
    &["timeline"],
    &["idle"],
    &["comm-by-process"],
    &["correlate"],
    &["causes"],
    &["profile", "--metric", "bytes_sent", "--call-paths"],
];

/// Commands run on long traces: those whose call paths are not the profile's own rows.
const FIRST: usize = 9;
/// From this size of events in bytes, a trace is long.
const LONG: u64 = 3_000_000;

type Paths = BTreeSet<Vec<String>>;

/// The call paths of the profile, and that of code outside of regions.
fn profile(archive: &Path, selection: &[&str]) -> Paths {
    let words = [&["profile", "--call-paths"], selection].concat();
    let mut paths = Paths::from([Vec::new()]);
    collect(&json(archive, &words)["data"], &mut paths);
    paths
}

/// Every list of names under a key that holds call paths.
fn collect(value: &Value, into: &mut Paths) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                match value {
                    Value::Array(names) if matches!(key.as_str(), "call_path" | "sync" | "program") => {
                        into.insert(
                            names
                                .iter()
                                .map(|name| name.as_str().expect("what the test made").to_owned())
                                .collect(),
                        );
                    }
                    value => collect(value, into),
                }
            }
        }
        Value::Array(all) => all.iter().for_each(|value| collect(value, into)),
        _ => {}
    }
}

const CALLS: &str = " › ";

/// Known call paths as a tree.
struct Known {
    /// For each place in the tree, its callees; that of the outermost regions is the first.
    callees: Vec<BTreeMap<String, usize>>,
    /// The places of each region.
    places: BTreeMap<String, Vec<usize>>,
}

impl Known {
    fn new(paths: &Paths) -> Self {
        let mut known = Known { callees: vec![BTreeMap::new()], places: BTreeMap::new() };
        for path in paths {
            let mut at = 0;
            for name in path {
                let new = known.callees.len();
                at = *known.callees[at].entry(name.clone()).or_insert(new);
                if at == new {
                    known.callees.push(BTreeMap::new());
                    known.places.entry(name.clone()).or_default().push(at);
                }
            }
        }
        known
    }

    /// How much of a text calls below a place cover, from callee to callee.
    fn covered(&self, at: usize, text: &str) -> usize {
        let called = self.callees[at].iter().filter_map(|(name, &callee)| {
            let rest = text.strip_prefix(name.as_str())?;
            Some(name.len() + self.behind(callee, rest))
        });
        called.max().unwrap_or(0)
    }

    /// The same for a text that goes on with an arrow.
    fn behind(&self, at: usize, text: &str) -> usize {
        match text.strip_prefix(CALLS).map_or(0, |rest| self.covered(at, rest)) {
            0 => 0,
            n => CALLS.len() + n,
        }
    }

    /// How much of a text any part of a path covers.
    fn covered_by_any(&self, text: &str) -> usize {
        let found = self.places.iter().filter_map(|(name, places)| {
            let rest = text.strip_prefix(name.as_str())?;
            let behind = places.iter().map(|&place| self.behind(place, rest)).max();
            Some(name.len() + behind.unwrap_or(0))
        });
        found.max().unwrap_or(0)
    }

    /// How much of a text is covered by paths whose outermost region ends the text before it.
    fn covered_after(&self, before: &str, text: &str) -> usize {
        let outermost = self.callees[0].iter().filter(|(name, _)| before.ends_with(name.as_str()));
        outermost.map(|(_, &place)| self.behind(place, text)).max().unwrap_or(0)
    }
}

/// The text around each "›" that is not a call of a known path. A path is recognised from its outermost region, or from
/// anywhere after a "…"; line breaks do not matter. Lines with shortened names are skipped, as the JSON has them whole.
fn unknown_calls(text: &str, known: &Paths) -> Vec<String> {
    let known = Known::new(known);
    let is_whole = |line: &&str| line.split_whitespace().all(|word| word == "…" || !word.contains('…'));
    let text = text.lines().filter(is_whole).flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let (mut unknown, mut at) = (Vec::new(), 0);
    while let Some(call) = text[at..].find(CALLS).map(|found| at + found) {
        let (before, behind) = text.split_at(call);
        let n_known = match before.ends_with('…') {
            true => match known.covered_by_any(&behind[CALLS.len()..]) {
                0 => 0,
                n => CALLS.len() + n,
            },
            false => known.covered_after(before, behind),
        };
        if n_known == 0 {
            let around = before.chars().rev().take(60).collect::<Vec<_>>().into_iter().rev();
            unknown.push(around.chain(behind.chars().take(60)).collect());
        }
        at = call + n_known.max(CALLS.len());
    }
    unknown
}

fn check_text(text: &str, known: &Paths, of: &str) {
    // Names may contain several spaces, which look like a line break; findings shorten those of C++.
    let words = |name: &str| name.split_whitespace().collect::<Vec<_>>().join(" ");
    let whole = known.iter().map(|path| path.iter().map(|name| words(name)).collect());
    let short = known.iter().map(|path| path.iter().map(|name| words(&short_name(name))).collect());
    let known = whole.chain(short).collect();
    let unknown = unknown_calls(text, &known);
    assert!(unknown.is_empty(), "{of}: no such calls: {unknown:#?}");
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    text.replace("&amp;", "&")
}

/// Names in elements of the class `path`, except the first, which is the trace.
fn check_html(html: &str, known: &Paths, of: &str) {
    let spans = html.split("class=\"path\">").skip(2).filter_map(|rest| rest.split_once('<'));
    for (text, _) in spans {
        let path: Vec<String> = unescaped(text).split(" › ").map(str::to_owned).collect();
        assert!(known.contains(&path), "{of}: no such call path: {path:?}");
    }
}

/// A page whose sentences, with the call paths in them, are on one line each.
fn on_wide_lines(archive: &Path, words: &[&str]) -> Ran {
    let output = command().env("COLUMNS", "2000").arg(words[0]).arg(archive).args(&words[1..]).output();
    let output = output.expect("the binary is there");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// The names with `[filtered]` in place of calls that are not MPI's, once for those directly inside each other. Only rows
/// about call paths name hidden callers.
fn of_mpi_alone(path: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = Vec::new();
    for name in path {
        let name = if name.starts_with("MPI_") { name } else { "[filtered]" };
        if name != "[filtered]" || shown.last().is_none_or(|last| last != name) {
            shown.push(name.to_owned());
        }
    }
    shown
}

fn check(archive: &Path, selection: &[&str]) {
    let mut selected = profile(archive, selection);
    if selection == ["--region", "MPI_*"] {
        selected.extend(profile(archive, &[]).iter().map(|path| of_mpi_alone(path)));
    }
    // What makes calls of a selected time late may lie before it; a tree has calls before it, too, without visits.
    let reaches_back = |words: &[&str]| words.contains(&"--delays") || words[0] == "call-tree";
    let whole = (!selection.is_empty()).then(|| profile(archive, &[]));
    // Findings, trees, waits and the critical path of selected calls name all callers; segments and replays are those of
    // all calls.
    let names_callers = |words: &[&str]| {
        const COMMANDS: [&str; 7] =
            ["report", "call-tree", "segments", "efficiency", "waits", "critical-path", "what-if"];
        COMMANDS.contains(&words[0])
    };
    let is_long = LONG < ouzel::open(archive).expect("what the test made").event_bytes(&Filter::default());
    // A replay is of the whole run, whatever is selected.
    let is_of_selection = |words: &&&[&str]| words[0] != "what-if" || !selection.contains(&"--time");
    // The repaired programs of the zoo have the call paths of the faulty ones.
    let is_twin = archive.ends_with("fixed");
    let n_commands = if is_twin { 1 } else { COMMANDS.len() };
    let commands = &COMMANDS[..if is_long { FIRST.min(n_commands) } else { n_commands }];
    for words in commands.iter().filter(is_of_selection) {
        let words = [*words, selection].concat();
        let is_of_all = reaches_back(&words) && selection.contains(&"--time") || names_callers(&words);
        let mut known = selected.clone();
        known.extend(whole.iter().filter(|_| is_of_all).flatten().cloned());
        let of = format!("{words:?} of {archive:?}");
        let page = on_wide_lines(archive, &words);
        // Questions that do not apply to a trace are refused.
        if !matches!(page.code, Some(0 | 2)) {
            continue;
        }
        check_text(&page.out, &known, &of);
        let mut found = Paths::new();
        let answer: Value =
            serde_json::from_str(&ran_on(archive, &[&words[..], &["--format", "json"]].concat()).out)
                .expect("what the test made");
        collect(&answer["data"], &mut found);
        let unknown: Vec<_> = found.difference(&known).collect();
        assert!(unknown.is_empty(), "{of}: {unknown:?}");
    }
    // Tests at the same time must not share a folder.
    let scratch = Scratch::new(if selection.is_empty() { "call-paths-html" } else { "selected-paths-html" });
    let file = scratch.0.join("page.html");
    let words = [&["report", "-o", file.to_str().expect("what the test made")], selection].concat();
    if matches!(ran_on(archive, &words).code, Some(0 | 2)) {
        let html = std::fs::read_to_string(&file).expect("what the test made");
        let known = whole.as_ref().unwrap_or(&selected);
        check_html(&html, known, &format!("page of {archive:?}"));
    }
}

#[test]
fn every_call_path_is_one_of_the_profile() {
    for archive in at_hand() {
        check(&archive, &[]);
    }
}

#[test]
fn a_path_that_does_not_exist_is_seen() {
    let path = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>();
    let known = Paths::from([path(&["main", "a b", "MPI_Send"])]);
    for (text, is_known) in [
        ("  12 ms  main › a b › MPI_Send  of 4 s", true),
        ("of main › a\n  b › MPI_Send, main › a b", true),
        ("like … ›\n  a b › MPI_Send", true),
        ("… › MPI_Send", true),
        ("main › a b › MPI_S…nd", true),
        ("main › MPI_Send", false),
        ("a b › MPI_Send", false),
        ("main › loop~a › a b", false),
        ("main › a b › loop~a", false),
        ("… › short calls › MPI_Send", false),
        ("… › a b › short calls", false),
    ] {
        assert_eq!(unknown_calls(text, &known).is_empty(), is_known, "{text}");
    }
}

#[test]
fn every_call_path_of_a_selection_is_one_of_its_profile() {
    for archive in at_hand().into_iter().filter(|path| path.to_string_lossy().contains("testdata")) {
        check(&archive, &["--region", "MPI_*"]);
        check(&archive, &["--time", "1ms..40ms"]);
    }
}

/// Findings, and the names in each path in which they are.
fn found(archive: &Path, words: &[&str]) -> (Value, Vec<Value>, Vec<Vec<String>>) {
    let data = json(archive, &[&["report"], words].concat())["data"].take();
    let is_one = |finding: &&Value| finding["kind"] != "nothing_significant";
    let findings: Vec<Value> =
        data["findings"].as_array().expect("a list").iter().filter(is_one).cloned().collect();
    let names = |finding: &Value| {
        let more = finding["more_call_paths"].as_array().expect("a list").iter();
        let paths = std::iter::once(&finding["call_path"]).chain(more);
        let names = paths.flat_map(|path| path.as_array().expect("a path"));
        names.map(|name| name.as_str().expect("a name").to_owned()).collect()
    };
    let paths = findings.iter().map(names).collect();
    (data, findings, paths)
}

/// The report about some regions has the findings of the whole run that are in them or what they call, as they are there.
#[test]
fn a_report_about_regions_has_the_findings_in_them() {
    let (mut n_shown, mut n_elsewhere) = (0, 0);
    for archive in at_hand().into_iter().filter(|path| path.to_string_lossy().contains("testdata")) {
        let (all, findings, paths) = found(&archive, &[]);
        assert!(all["headline"]["selected"].is_null(), "{archive:?}");
        let last = findings.first().and_then(|first| first["call_path"].as_array()?.last()?.as_str());
        for region in ["MPI_*"].into_iter().chain(last) {
            let is_meant = |name: &String| match region.strip_suffix('*') {
                Some(start) => name.starts_with(start),
                None => name == region,
            };
            // Patterns are no names.
            if region != "MPI_*" && region.contains(['*', '?']) {
                continue;
            }
            let is_in = |names: &Vec<String>| names.iter().any(is_meant);
            let expected: Vec<&Value> =
                findings.iter().zip(&paths).filter(|(_, names)| is_in(names)).map(|(it, _)| it).collect();
            let (data, shown, _) = found(&archive, &["--region", region]);
            // What varies alike is looked for among the findings that are shown.
            let told = |it: &Value| {
                let keys = ["kind", "title", "sentence", "call_path", "gain_ns", "ranks", "evidence"];
                keys.map(|key| it[key].clone())
            };
            let (expected, shown): (Vec<_>, Vec<_>) =
                (expected.into_iter().map(told).collect(), shown.iter().map(told).collect());
            assert_eq!(shown, expected, "{archive:?}: {region}");
            let selected = data["headline"]["selected"].as_str().expect("a sentence");
            let is_left_out = shown.len() < findings.len();
            assert_eq!(selected.contains("about other calls"), is_left_out, "{archive:?}: {selected}");
            assert_eq!(data["efficiency"], all["efficiency"], "{archive:?}");
            let page = ran_on(&archive, &["report", "--region", region]).out;
            assert!(!page.contains("[filtered]") && !data.to_string().contains("[filtered]"), "{page}");
            n_shown += shown.len();
            n_elsewhere += findings.len() - shown.len();
        }
    }
    assert!(30 < n_shown && 10 < n_elsewhere, "{n_shown} and {n_elsewhere}");
}

/// The tree of some regions leads to them through their callers, and has the time of the run.
#[test]
fn a_call_tree_of_regions_has_their_callers() {
    for (name, region) in [("zoo/halo3d/faulty", "advance"), ("pmpi-masterio", "write_chunk")] {
        let nodes = |words: &[&str]| {
            let nodes = json(&testdata(name), &[&["call-tree"], words].concat())["data"]["nodes"].take();
            nodes.as_array().expect("a list").clone()
        };
        let (all, some) = (nodes(&[]), nodes(&["--region", region]));
        let number = |node: &Value, key: &str| node[key].as_u64().expect("a number");
        let sum = |nodes: &[Value]| nodes.iter().map(|node| number(node, "exclusive_ns")).sum::<u64>();
        assert!(sum(&all).abs_diff(sum(&some)) <= all.len() as u64, "{name}");
        let named = |nodes: &[Value]| -> Vec<Value> {
            let told = |node: &Value| {
                let keys =
                    ["visits", "inclusive_ns", "exclusive_ns", "call_path"].map(|key| node[key].clone());
                Value::from(keys.to_vec())
            };
            nodes.iter().filter(|node| node["region"] == region).map(told).collect()
        };
        assert!(!named(&all).is_empty());
        assert_eq!(named(&all), named(&some), "{name}");
        for (i, node) in some.iter().enumerate() {
            let below = some.iter().filter(|child| child["parent"] == i);
            let inside: u64 = below.map(|child| number(child, "inclusive_ns")).sum();
            let whole = number(node, "exclusive_ns") + inside;
            assert!(whole.abs_diff(number(node, "inclusive_ns")) <= some.len() as u64, "{name}: {node}");
        }
    }
}

/// Rows of what is selected are those of the whole profile, with all callers by name; the rest of the time is filtered.
#[test]
fn call_paths_of_a_selection_name_their_callers() {
    let mut n_callers = 0;
    for archive in at_hand().into_iter().filter(|path| path.to_string_lossy().contains("testdata")) {
        let rows = |words: &[&str]| {
            let words = [&["profile", "--call-paths", "--per", "rank", "--top", "0"], words].concat();
            let rows = json(&archive, &words)["data"]["rows"].take();
            rows.as_array().expect("a list").clone()
        };
        let path = |row: &Value| row["call_path"].as_array().expect("a list").clone();
        let is_selected = |row: &&Value| {
            path(row).last().and_then(Value::as_str).is_some_and(|name| name.starts_with("MPI_"))
        };
        let (all, selected) = (rows(&[]), rows(&["--region", "MPI_*"]));
        let in_order = |rows: &[Value]| {
            let mut rows: Vec<String> = rows.iter().filter(is_selected).map(Value::to_string).collect();
            rows.sort_unstable();
            rows
        };
        assert_eq!(in_order(&selected), in_order(&all), "{archive:?}");
        let sum =
            |rows: &[Value]| rows.iter().map(|row| row["exclusive_ns"].as_u64().unwrap_or(0)).sum::<u64>();
        // Each row is rounded where a tick is no nanosecond.
        assert!(sum(&selected).abs_diff(sum(&all)) <= all.len() as u64, "{archive:?}");
        n_callers += selected.iter().filter(is_selected).filter(|row| 1 < path(row).len()).count();
    }
    assert!(100 < n_callers, "{n_callers}");
}

/// Time by cluster and call path, mean over the members, from the rows of the profile by location.
fn means(rows: &[Value], locations: &BTreeSet<u64>) -> BTreeMap<Vec<String>, f64> {
    let mut means = BTreeMap::new();
    for row in
        rows.iter().filter(|row| locations.contains(&row["location"].as_u64().expect("what the test made")))
    {
        let path = row["call_path"]
            .as_array()
            .expect("what the test made")
            .iter()
            .map(|name| name.as_str().expect("what the test made").to_owned());
        let ns = row["exclusive_ns"].as_u64().expect("what the test made") as f64;
        *means.entry(path.collect::<Vec<_>>()).or_default() += ns / locations.len() as f64;
    }
    means
}

/// The regions of a difference's call path.
fn path_of(difference: &Value) -> Vec<String> {
    let names = difference["call_path"].as_array().expect("a path").iter();
    names.map(|name| name.as_str().expect("a name").to_owned()).collect()
}

/// A mean that is shown in whole nanoseconds is that of the profile.
fn is_mean(difference: &Value, key: &str, mean: Option<&f64>) {
    let (found, mean) = (difference[key].as_u64().expect("a time"), mean.unwrap_or(&0.0));
    assert!((found as f64 - mean).abs() <= 1.0, "{difference}: {key}, {mean}");
}

#[test]
fn differences_of_clusters_are_those_of_the_profile() {
    for archive in at_hand() {
        let answer = json(&archive, &["clusters"]);
        let clusters = answer["data"]["clusters"].as_array().unwrap();
        // Reports of several processes name their threads alike.
        let ids = clusters.iter().flat_map(|cluster| cluster["locations"].as_array().unwrap());
        let mut known = BTreeSet::new();
        let are_told_apart = ids.map(|id| id.as_u64().unwrap()).all(|id| known.insert(id));
        if clusters.is_empty() || !are_told_apart {
            continue;
        }
        let profile = json(&archive, &["profile", "--call-paths", "--per", "location"]);
        let rows = profile["data"]["rows"].as_array().unwrap();
        let members = |cluster: &Value| -> BTreeSet<u64> {
            cluster["locations"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect()
        };
        for peers in clusters.chunk_by(|a, b| a["peers"] == b["peers"]) {
            // The first of those with most members.
            let largest = peers.iter().rev().max_by_key(|cluster| cluster["size"].as_u64()).unwrap();
            assert_eq!(largest["differences"], serde_json::json!([]), "{archive:?}");
            let reference = means(rows, &members(largest));
            for cluster in peers.iter().filter(|cluster| cluster["id"] != largest["id"]) {
                let times = means(rows, &members(cluster));
                let mut told = BTreeSet::new();
                let differences = cluster["differences"].as_array().unwrap().iter();
                for (difference, path) in
                    differences.map(|of| (of, path_of(of))).filter(|(_, p)| !p.is_empty())
                {
                    is_mean(difference, "time_ns", times.get(&path));
                    is_mean(difference, "reference_ns", reference.get(&path));
                    assert!(told.insert(path), "{archive:?}: told twice: {difference}");
                }
                let all: BTreeSet<&Vec<String>> = times.keys().chain(reference.keys()).collect();
                for path in all.into_iter().filter(|path| !told.contains(*path)) {
                    let of = |means: &BTreeMap<_, f64>| means.get(path).copied().unwrap_or(0.0);
                    let difference = of(&times) - of(&reference);
                    assert!(
                        difference.abs() < 1.5,
                        "{archive:?}: {path:?} differs by {difference} ns, untold"
                    );
                }
            }
        }
    }
}
