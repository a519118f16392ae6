//! No page contradicts itself or the profile of the same trace: what it names exists, what it promises was spent, and its
//! evidence supports it.

use crate::run::{at_hand, every_trace, json, ran_on};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Inclusive time and visits of each rank by call path; `null` of a rank is one as well.
struct Spent(BTreeMap<String, BTreeMap<String, (u64, u64)>>);

impl Spent {
    fn new(archive: &Path) -> Self {
        let data = json(archive, &["profile", "--call-paths", "--per", "rank", "--top", "0"])["data"].take();
        let mut spent: BTreeMap<String, BTreeMap<String, (u64, u64)>> = BTreeMap::new();
        for row in data["rows"].as_array().expect("a profile has rows") {
            let by_rank = spent.entry(row["call_path"].to_string()).or_default();
            let (ticks, visits) = by_rank.entry(row["rank"].to_string()).or_default();
            *ticks += number(&row["inclusive_ns"]);
            *visits += number(&row["visits"]);
        }
        Spent(spent)
    }

    /// The time of the rank that spends most in these call paths, and the visits of the one that has most.
    fn most(&self, paths: &[&Value]) -> (u64, u64) {
        let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (rank, (ticks, visits)) in paths.iter().filter_map(|path| self.0.get(&path.to_string())).flatten()
        {
            let sum = sums.entry(rank).or_default();
            *sum = (sum.0 + ticks, sum.1 + visits);
        }
        sums.into_values().fold((0, 0), |most, sum| (most.0.max(sum.0), most.1.max(sum.1)))
    }

    fn ranks(&self) -> BTreeSet<&str> {
        self.0.values().flat_map(BTreeMap::keys).map(String::as_str).collect()
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// The value of a quantity whose name begins so, in evidence whose text contains `text`.
fn evidence(finding: &Value, text: &str, name: &str) -> Option<f64> {
    let of =
        list(&finding["evidence"]).iter().find(|it| it["text"].as_str().is_some_and(|t| t.contains(text)))?;
    let value =
        list(&of["values"]).iter().find(|it| it["name"].as_str().is_some_and(|n| n.starts_with(name)))?;
    value["value"].as_f64()
}

fn check_finding(of: &str, finding: &Value, run_ns: u64, spent: &Spent, epochs: &[Value]) {
    let gain = number(&finding["gain_ns"]);
    let paths: Vec<&Value> =
        std::iter::once(&finding["call_path"]).chain(list(&finding["more_call_paths"])).collect();
    for path in paths.iter().filter(|path| !list(path).is_empty()) {
        assert!(spent.0.contains_key(&path.to_string()), "{of}: no call path {path}: {finding}");
    }
    let is_everywhere = paths.iter().any(|path| list(path).is_empty());
    // Hosts and streams are replayed: a gain there is time in which the device has nothing to do, not time of the path.
    let is_of_device = finding["assumption"].as_str().is_some_and(|text| text.contains("hosts and streams"));
    let limit = if is_everywhere || is_of_device { run_ns } else { spent.most(&paths).0 };
    // Clocks that are no multiple of a nanosecond round each time.
    assert!(gain <= limit + limit / 1000 + 1000, "{of}: gains {gain} ns of {limit} ns: {finding}");
    assert!(gain == 0 || number(&finding["band_ns"]) < gain, "{of}: less than its noise: {finding}");
    // Neighbours by number need have nothing in common.
    let varies = &finding["varies_like"];
    let are_numbers =
        varies["axes"].as_array().is_some_and(|axes| axes.iter().any(|it| it["name"] == "process"));
    for row in varies["rows"].as_array().into_iter().flatten().filter(|_| are_numbers) {
        assert!(list(&row["shift"]).iter().all(|step| step == 0), "{of}: numbers are shifted: {finding}");
    }
    let ranks = spent.ranks();
    for rank in list(&finding["ranks"]["list"]) {
        assert!(ranks.contains(&*rank.to_string()), "{of}: no rank {rank}: {finding}");
    }
    if let Some(iterations) = finding["iterations"].as_object() {
        let (mut next, mut n_named) = (0, 0);
        for range in list(&iterations["ranges"]) {
            let (first, last) = (number(&range[0]), number(&range[1]));
            assert!(next <= first && first <= last && last < number(&iterations["n_all"]), "{of}: {finding}");
            next = last + 1;
            n_named += last + 1 - first;
        }
        let is_call = |path: &&Value| {
            list(path).last().and_then(Value::as_str).is_some_and(|name| name.starts_with("MPI_"))
        };
        let is_counted = finding["band_ns"] == 0 && paths.iter().all(is_call);
        assert!(!is_counted || n_named <= spent.most(&paths).1, "{of}: called too seldom: {finding}");
    }
    for epoch in list(&finding["epochs"]) {
        let number = number(epoch);
        assert!((1..=epochs.len() as u64).contains(&number), "{of}: no epoch {epoch}: {finding}");
        // Of what is lost in an epoch, a finding loses a part.
        if let Some(lost) = evidence(finding, "epochs", &format!("epoch {number} ")) {
            let all = epochs[number as usize - 1]["imbalance_ns"].as_f64().expect("a number");
            assert!(lost <= all + 1.0, "{of}: {lost} of {all} ns in epoch {number}: {finding}");
        }
    }
    if finding["kind"] == "load_imbalance"
        && let Some(most) = evidence(finding, "by rank, over the run", "most")
        && let Some(mean) = evidence(finding, "by rank, over the run", "mean")
    {
        let differs = most - mean;
        assert!(0.3 * gain as f64 <= differs * 1.001, "{of}: {differs} ns differ for {gain} ns: {finding}");
    }
}

/// What a page says of all ranks and of the busiest one is true of them.
fn check_words(of: &str, finding: &Value, data: &Value) {
    let run_ns = number(&data["run"]["span_ns"]) as f64;
    // In each phase the busiest has as much work as the busiest over the run, or more.
    if let Some(idle) = evidence(finding, "keep even the busiest rank from computing", "waiting")
        && let Some(busiest) = data["efficiency"]["communication"].as_f64()
    {
        let rest = (1.0 - busiest) * run_ns;
        assert!(idle <= rest * 1.001 + 1000.0, "{of}: idle for {idle} of {rest} ns: {finding}");
    }
    let is_doubtful = |it: &Value| it["code"] == "clocks-unsynchronised" || it["code"] == "message-order";
    let are_several = data["run"]["recorded"]["n_processes"].as_u64().is_some_and(|n| 1 < n);
    if are_several && list(&data["trust"]["doubtful"]).iter().any(is_doubtful) {
        assert_ne!(finding["confidence"], "sure", "{of}: clocks may differ: {finding}");
    }
}

/// The report, if the archive has one: what cannot be opened has no page.
fn report(archive: &Path) -> Option<Value> {
    let ran = ran_on(archive, &["report", "--format", "json"]);
    let answer = || serde_json::from_str::<Value>(&ran.out).expect("an answer is JSON");
    matches!(ran.code, Some(0 | 2)).then(|| answer()["data"].take())
}

/// The report about its events, if the archive has any: that about a profile has checks of its own.
fn report_on_events(archive: &Path) -> Option<Value> {
    report(archive).filter(|data| data["run"].is_object())
}

fn check(archive: &Path, data: &Value) {
    let of = archive.display().to_string();
    let (run_ns, spent) = (number(&data["run"]["span_ns"]), Spent::new(archive));
    let findings = list(&data["findings"]);
    let epochs = list(&data["epochs"]);
    let gains: Vec<u64> = findings.iter().map(|it| number(&it["gain_ns"])).collect();
    assert!(gains.is_sorted_by(|a, b| a >= b), "{of}: {gains:?} are in order");
    let together = number(&data["headline"]["gain_ns"]);
    assert!(gains.iter().all(|gain| *gain <= together), "{of}: {gains:?} are part of {together}");
    let text = data["headline"]["text"].as_str().expect("a headline");
    let is_possible = |it: &Value| it["confidence"] == "possible" && 0 < number(&it["gain_ns"]);
    let is_bound = 0 < together && findings.iter().any(is_possible);
    assert_eq!(text.starts_with("Up to "), is_bound, "{of}: {text}");
    for finding in findings {
        let is_about_code = finding["kind"] != "nothing_significant";
        let share = number(&finding["gain_ns"]) as f64 / run_ns.max(1) as f64;
        let is_remark = finding["kind"] == "balanced_elsewhere";
        assert!(!is_about_code || is_remark || 0.0099 <= share, "{of}: too small: {finding}");
        if is_about_code {
            check_finding(&of, finding, run_ns, &spent, epochs);
            check_words(&of, finding, data);
        }
    }
    let mut end = 0;
    for (id, epoch) in (1..).zip(epochs) {
        let (from, to) = (number(&epoch["start_ns"]), number(&epoch["end_ns"]));
        assert!(number(&epoch["id"]) == id && end <= from && from < to, "{of}: {epochs:?}");
        end = to;
        let ratio = |name: &str| epoch[name].as_f64().unwrap_or(0.0);
        let product = ratio("load_balance") * ratio("communication");
        assert!((ratio("parallel") - product).abs() < 1e-6, "{of}: {epoch}");
        assert!(number(&epoch["imbalance_ns"]) <= to - from, "{of}: {epoch}");
    }
    for loss in list(&data["losses"]) {
        let share = loss["share_of_run"].as_f64().expect("a share");
        let is_in_time = loss["kind"] == "wait_for_threads" || share <= 1.0 + 1e-9;
        assert!(is_in_time, "{of}: more than the run: {loss}");
    }
}

/// Whether the loop is one over calls of the main threads around a synchronisation.
fn is_ended_by(of: &Value, segment: &Value) -> bool {
    let (path, sync) = (list(&of["call_path"]), segment["sync"].as_array().map_or(&[][..], Vec::as_slice));
    let name = of["name"].as_str().and_then(|name| name.strip_prefix("loop~"));
    let in_loop = |it: &Value| {
        let (from, to) = (number(&segment["start_ns"]), number(&segment["end_ns"]));
        from.max(number(&it["start_ns"])) < to.min(number(&it["end_ns"]))
    };
    of["peers"] == "main_thread"
        && sync.starts_with(path)
        && sync.get(path.len()).is_some_and(|callee| callee.as_str() == name)
        && list(&of["instances"]).iter().all(in_loop)
}

/// Numbers of the iterations of the outermost loop around a segment.
fn iterations_of(segment: &Value) -> BTreeSet<u64> {
    let iterations = segment["iterations"].as_array().map_or(&[][..], Vec::as_slice);
    iterations.iter().filter_map(|it| it["iteration"].get(0)).map(number).collect()
}

/// How many loops of clusters of locations were found to have as many iterations as the segments in them; findings do, too.
fn check_iterations(archive: &Path, report: &Value) -> usize {
    let of = archive.display().to_string();
    let segments = json(archive, &["segments", "--all"])["data"].take();
    let counts: BTreeSet<u64> =
        list(&segments["segments"]).iter().map(|it| iterations_of(it).len() as u64).collect();
    let is_exact =
        segments["alignment"]["by"] == "synchronisations" && segments["alignment"]["complete"] == true;
    for finding in list(&report["findings"]).iter().filter(|it| is_exact && it["iterations"].is_object()) {
        let n = number(&finding["iterations"]["n_all"]);
        assert!(counts.contains(&n), "{of}: {n} iterations, not {counts:?}: {finding}");
    }
    let loops = json(archive, &["iterations"])["data"].take();
    let mut n_compared = 0;
    for segment in list(&segments["segments"]).iter().filter(|it| is_exact && it["loop_depth"] == 1) {
        let expected = iterations_of(segment).len() as u64;
        // A loop that other calls interrupt is shown in pieces, each a loop; one that is run again and again is inside of
        // another, and counted over all.
        let mut pieces: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let is_around = |it: &&Value| is_ended_by(it, segment);
        let (nested, outermost): (Vec<_>, Vec<_>) =
            list(&loops["loops"]).iter().filter(is_around).partition(|it| it["is_nested"] == true);
        let is_nested = nested.iter().any(|it| number(&it["accepted"]) == expected);
        for of_loop in outermost {
            for instance in list(&of_loop["instances"]) {
                let cluster = instance["location_cluster"].to_string();
                pieces.entry(cluster).or_default().push(number(&instance["n_iterations"]));
            }
        }
        for (cluster, counts) in pieces {
            let is_whole = is_nested || counts.contains(&expected) || counts.iter().sum::<u64>() == expected;
            assert!(
                is_whole,
                "{of}: segment {}, cluster {cluster}: {counts:?}, not {expected}",
                segment["id"]
            );
            n_compared += 1;
        }
    }
    n_compared
}

/// What these do every few steps synchronises all ranks: an iteration of their phases is all steps up to there, and that
/// of their loops is a step.
const EVERY_FEW_STEPS: [&str; 3] = ["ensemble", "rebalanced_mesh", "serialised_output"];

#[test]
fn loops_findings_and_segments_have_the_same_iterations() {
    let mut n_compared = 0;
    let is_of = |archive: &Path, name: &str| archive.components().any(|part| part.as_os_str() == name);
    for archive in at_hand().iter().filter(|archive| !EVERY_FEW_STEPS.iter().any(|name| is_of(archive, name)))
    {
        if let Some(report) = report(archive) {
            n_compared += check_iterations(archive, &report);
        }
    }
    assert!(10 < n_compared, "{n_compared} loops");
}

/// Where ranks synchronise every few steps, findings and efficiencies name the steps all the same.
#[test]
fn steps_are_named_however_seldom_ranks_synchronise() {
    let (mut n_named, mut n_parts) = (0, 0);
    for archive in at_hand() {
        let names = |name: &str| archive.components().any(|part| part.as_os_str() == name);
        let n_steps = match (names("serialised_output"), names("ensemble")) {
            (true, _) => 24,
            (_, true) => 30,
            _ => continue,
        };
        let efficiency = json(&archive, &["efficiency", "--per", "iteration"])["data"].take();
        let parts = list(&efficiency["runs"][0]["parts"]);
        let main: Vec<&Value> =
            parts.iter().map(|it| &it["iterations"]).filter(|it| it["n_all"] == n_steps).collect();
        assert!(!main.is_empty(), "{}: {parts:?}", archive.display());
        let ranges: BTreeSet<(u64, u64)> =
            main.iter().map(|it| &it["ranges"][0]).map(|it| (number(&it[0]), number(&it[1]))).collect();
        assert!(
            ranges.iter().is_sorted_by(|a, b| a.1 < b.0) && ranges.last().is_some_and(|it| it.1 < n_steps)
        );
        n_parts += ranges.len();
        let segments = json(&archive, &["segments", "--all"])["data"].take();
        let of_all = list(&segments["segments"]).iter().flat_map(|it| list(&it["iterations"]));
        let named = of_all.filter(|it| it["iterations"]["n_all"] == n_steps).count();
        assert!(ranges.len() <= named, "{}: {named} of {}", archive.display(), ranges.len());
        let Some(report) = report(&archive) else { continue };
        for finding in report["findings"].as_array().expect("findings") {
            if let Some(n_all) = finding["iterations"]["n_all"].as_u64() {
                assert_eq!(n_all, n_steps, "{}: {finding}", archive.display());
                n_named += 1;
            }
        }
    }
    assert!(1 < n_named && 5 < n_parts, "{n_named} findings, {n_parts} parts");
}

/// Checks that iterations of segments are those that the list of loops has at their time, where it has as many; returns how
/// many it compared.
fn check_numbers(archive: &Path) -> usize {
    let of = archive.display().to_string();
    let loops = json(archive, &["iterations"])["data"].take();
    let lists: Vec<(u64, &[Value])> = list(&loops["loops"])
        .iter()
        .filter(|it| it["peers"] == "main_thread" && it["is_nested"] == false)
        .map(|it| (number(&it["accepted"]), list(&it["iterations"])))
        .collect();
    let mut n_compared = 0;
    for segment in list(&json(archive, &["segments", "--all"])["data"]["segments"]) {
        for it in segment["iterations"].as_array().map_or(&[][..], Vec::as_slice) {
            let Some(n_all) = it["iterations"]["n_all"].as_u64() else { continue };
            let range = &it["iterations"]["ranges"][0];
            let (from, to) = (number(&it["start_ns"]), number(&it["end_ns"]));
            let is_there = |row: &Value| {
                (number(&range[0])..=number(&range[1])).contains(&number(&row["index"]))
                    && number(&row["start_ns"]) <= to
                    && from <= number(&row["end_ns"])
            };
            let is_around = |rows: &[Value]| {
                let ends = |key: &str| rows.iter().map(|row| number(&row[key])).collect::<Vec<_>>();
                ends("start_ns").iter().min().is_some_and(|start| *start <= (from + to) / 2)
                    && ends("end_ns").iter().max().is_some_and(|end| (from + to) / 2 < *end)
            };
            let own = lists.iter().filter(|(n, rows)| *n == n_all && is_around(rows));
            let own: Vec<&[Value]> = own.map(|(_, rows)| *rows).collect();
            if !own.is_empty() {
                let is_listed = own.iter().any(|rows| rows.iter().any(is_there));
                assert!(is_listed, "{of}: {}: {it}", segment["id"]);
                n_compared += 1;
            }
        }
    }
    n_compared
}

#[test]
fn segments_number_iterations_as_the_list_of_loops_does() {
    let n_compared: usize = at_hand().iter().map(|archive| check_numbers(archive)).sum();
    assert!(500 < n_compared, "{n_compared} iterations");
}

#[test]
fn no_page_contradicts_itself() {
    let mut n_checked = 0;
    for archive in every_trace() {
        if let Some(report) = report_on_events(&archive) {
            check(&archive, &report);
            n_checked += 1;
        }
    }
    assert!(30 < n_checked, "{n_checked} pages");
}
