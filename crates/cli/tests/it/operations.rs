//! The operations: their numbers are consistent with each other and the profile, and empty answers are reported.

use crate::run::{Scratch, json, ran_on, testdata};
use ouzel_testkit::synth::{self, Counters, SynthOptions};
use serde_json::Value;

fn integers(value: &Value) -> Vec<u64> {
    let numbers = value.as_array().expect("an array").iter();
    numbers.map(|number| number.as_u64().expect("an integer")).collect()
}

fn sum(value: &Value) -> u64 {
    integers(value).into_iter().sum()
}

fn column(rows: &Value, key: &str) -> Vec<u64> {
    let rows = rows.as_array().expect("an array").iter();
    rows.map(|row| row[key].as_u64().expect("an integer")).collect()
}

const ARCHIVES: [&str; 3] = ["pmpi-jacobi", "pmpi-masterio", "eztrace-jacobi"];

#[test]
fn bins_hold_all_of_the_time() {
    for archive in ARCHIVES {
        for bins in ["1", "7", "100"] {
            let data = json(&testdata(archive), &["time-profile", "--bins", bins])["data"].take();
            let n_bins: usize = bins.parse().unwrap();
            let edges = integers(&data["bin_edges_ns"]);
            assert_eq!((edges.len(), data["idle_ns"].as_array().unwrap().len()), (n_bins + 1, n_bins));
            assert!(edges.is_sorted());
            let functions = data["functions"].as_array().unwrap();
            assert!(functions.iter().all(|f| f["exclusive_ns"].as_array().unwrap().len() == n_bins));
            let busy: u64 = functions.iter().map(|f| sum(&f["exclusive_ns"])).sum();
            let whole = (edges[n_bins] - edges[0]) * data["n_locations"].as_u64().unwrap();
            // Each number is rounded to nanoseconds separately.
            let n_numbers = (functions.len() as u64 + 2) * (n_bins as u64 + 1);
            assert!((busy + sum(&data["idle_ns"])).abs_diff(whole) <= n_numbers, "{archive} in {bins}");
            let profile = json(&testdata(archive), &["profile"]);
            for row in profile["data"]["rows"].as_array().unwrap() {
                let ns = row["exclusive_ns"].as_u64().unwrap();
                let found = functions.iter().find(|f| f["region"] == row["region"]);
                let binned = found.map_or(0, |f| sum(&f["exclusive_ns"]));
                assert!(binned.abs_diff(ns) <= n_bins as u64 + 1, "{archive}: {row}");
            }
        }
    }
}

#[test]
fn the_matrix_has_what_ranks_send_and_receive() {
    for unit in ["bytes", "messages"] {
        let archive = testdata("pmpi-jacobi");
        let data = json(&archive, &["comm-matrix", "--unit", unit, "--dense"])["data"].take();
        let matrix: Vec<Vec<u64>> = data["matrix"].as_array().unwrap().iter().map(integers).collect();
        assert_eq!((data["unit"].as_str(), matrix.len()), (Some(unit), 9));
        assert_eq!(integers(&data["ranks"]), (0..9).collect::<Vec<_>>());
        let sparse = json(&archive, &["comm-matrix", "--unit", unit])["data"].take();
        assert_eq!((&sparse["ranks"], &sparse["unit"]), (&data["ranks"], &data["unit"]));
        assert!(sparse["matrix"].is_null() && data["pairs"].is_null());
        let mut rebuilt = vec![vec![0; 9]; 9];
        for pair in sparse["pairs"].as_array().unwrap() {
            let place = |key: &str| usize::try_from(pair[key].as_u64().unwrap()).unwrap();
            assert!(
                0 < pair["messages"].as_u64().unwrap(),
                "a pair that exchanged nothing has no row: {pair}"
            );
            rebuilt[place("from")][place("to")] = pair[unit].as_u64().unwrap();
        }
        assert_eq!(rebuilt, matrix);
        let each = json(&archive, &["comm-by-process", "--unit", unit])["data"].take();
        let sent: Vec<u64> = matrix.iter().map(|row| row.iter().sum()).collect();
        let received: Vec<u64> = (0..9).map(|to| matrix.iter().map(|row| row[to]).sum()).collect();
        assert_eq!(column(&each["rows"], "sent"), sent);
        assert_eq!(column(&each["rows"], "received"), received, "no message is lost");
        let over_time = json(&archive, &["comm-over-time", "--unit", unit, "--bins", "11"])["data"].take();
        assert_eq!(sum(&over_time["sent"]), sent.iter().sum::<u64>());
        assert_eq!(sum(&over_time["received"]), received.iter().sum::<u64>());
        assert_eq!(over_time["bin_edges_ns"].as_array().unwrap().len(), 12);
    }
    // A halo exchange on a grid of 3 by 3 ranks: the corners have two neighbours, the centre four.
    let data =
        json(&testdata("pmpi-jacobi"), &["comm-matrix", "--unit", "messages", "--dense"])["data"].take();
    let neighbours = |rank: usize| integers(&data["matrix"][rank]).iter().filter(|n| 0 < **n).count();
    assert_eq!((0..9).map(neighbours).collect::<Vec<_>>(), [2, 3, 2, 3, 4, 3, 2, 3, 2]);
}

#[test]
fn counters_gain_in_bins_what_they_gain_in_calls() {
    let scratch = Scratch::new("counters-over-time");
    let trace = scratch.0.join("trace");
    let options =
        SynthOptions { n_events: 20_000, n_ranks: 4, counters: Counters::On, ..SynthOptions::default() };
    synth::write_archive(&trace, &options).expect("the archive can be written");
    let gains = |words: &[&str]| -> Vec<(String, u64)> {
        let words = [&["counters-over-time"], words].concat();
        let data = json(&trace, &words)["data"].take();
        let counters = data["counters"].as_array().unwrap().iter();
        counters.map(|each| (each["metric"].as_str().unwrap().to_owned(), sum(&each["gain"]))).collect()
    };
    let whole = gains(&[]);
    let names: Vec<&str> = whole.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["PAPI_TOT_CYC", "PAPI_TOT_INS"]);
    for bins in ["1", "7", "1000"] {
        assert_eq!(gains(&["--bins", bins]), whole, "{bins} bins");
    }
    let (low, high) = (gains(&["--ranks", "0-1"]), gains(&["--ranks", "2-3"]));
    let both = low.iter().zip(&high).map(|((name, a), (_, b))| (name.clone(), a + b));
    assert_eq!(both.collect::<Vec<_>>(), whole);
    assert_eq!(gains(&["--metric", "*_INS"]), whole[1..]);
    // Ranks are in some call from their first event to their last.
    let profile = json(&trace, &["profile", "--metric", "PAPI_*", "--top", "0"])["data"].take();
    for (name, gain) in &whole {
        let key = format!("{name}_exclusive");
        assert_eq!(column(&profile["rows"], &key).iter().sum::<u64>(), *gain, "{name}");
    }
}

#[test]
fn every_message_has_a_size() {
    for archive in ARCHIVES {
        let n_sends = json(&testdata(archive), &["info"])["data"]["events"]["message_sends"].clone();
        for words in [&["messages"][..], &["messages", "--bins", "3"], &["messages", "--log"]] {
            let data = json(&testdata(archive), words)["data"].take();
            let n_edges = data["edges"].as_array().unwrap().len();
            assert_eq!(n_edges, data["counts"].as_array().unwrap().len() + 1, "{archive} {words:?}");
            assert_eq!(Value::from(sum(&data["counts"])), data["n_messages"], "{archive} {words:?}");
            if n_sends.is_u64() {
                assert_eq!(data["n_messages"], n_sends, "{archive}");
            }
        }
    }
}

#[test]
fn parts_of_a_rank_sum_up_to_its_span() {
    for archive in ARCHIVES {
        let data = json(&testdata(archive), &["breakdown"])["data"].take();
        let rows = data["rows"].as_array().unwrap();
        assert!(!rows.is_empty(), "{archive}");
        for row in rows {
            let part = |key: &str| row[key].as_u64().unwrap();
            let parts = ["computation_ns", "overlap_ns", "communication_ns", "other_ns"].map(part);
            assert!(parts.iter().sum::<u64>().abs_diff(part("span_ns")) <= 4, "{archive}: {row}");
        }
    }
}

#[test]
fn imbalance_names_the_ranks_with_most() {
    let archive = testdata("pmpi-masterio");
    let data = json(&archive, &["imbalance"])["data"].take();
    let rows = data["rows"].as_array().unwrap();
    let writing = rows.iter().find(|row| row["region"] == "write_chunk").unwrap();
    assert_eq!(integers(&writing["top_ranks"]), [0], "rank 0 writes alone");
    let (mean, max) = (writing["mean_ns"].as_u64().unwrap(), writing["max_ns"].as_u64().unwrap());
    assert!((mean * 8).abs_diff(max) <= 8);
    assert!((writing["imbalance"].as_f64().unwrap() - 8.0).abs() < 1e-6);
    let lost = column(&data["rows"], "lost_ns");
    assert!(lost.is_sorted_by(|a, b| a >= b), "most lost first: {lost:?}");
    let paths = json(&archive, &["imbalance", "--call-paths"])["data"].take();
    assert!(paths["rows"].as_array().unwrap().iter().all(|row| row["call_path"].is_array()));
}

#[test]
fn idle_is_what_the_user_says() {
    let archive = testdata("pmpi-masterio");
    let idle = |words: &[&str]| {
        let words = [&["idle"], words].concat();
        column(&json(&archive, &words)["data"]["rows"], "idle_ns").iter().sum::<u64>()
    };
    let profile = json(&archive, &["profile"]);
    let inclusive = |region: &str| {
        let rows = profile["data"]["rows"].as_array().unwrap();
        rows.iter().find(|row| row["region"] == region).unwrap()["inclusive_ns"].as_u64().unwrap()
    };
    let (barrier, solve) = (idle(&["--idle", "MPI_Barrier"]), idle(&["--idle", "solve"]));
    assert!(barrier.abs_diff(inclusive("MPI_Barrier")) <= 8 && solve.abs_diff(inclusive("solve")) <= 8);
    assert!(idle(&["--idle", "solve,MPI_Barrier"]).abs_diff(barrier + solve) <= 16);
    assert_eq!(idle(&["--per", "location"]), idle(&[]), "one location for each rank");
    let ran = ran_on(&archive, &["idle", "--idle", "nothing_like_it"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("nothing_like_it"), "{}", ran.err);
}

#[test]
fn where_there_are_no_messages_the_answer_says_so() {
    let archive = testdata("pmpi-jacobi");
    for command in ["comm-matrix", "messages", "comm-by-process", "comm-over-time"] {
        // Before the first message.
        let ran = ran_on(&archive, &[command, "--time", "..1us"]);
        assert!(ran.err.contains("no messages in this trace: "), "{command}: {}{}", ran.out, ran.err);
        assert_eq!((ran.code, ran.out.lines().count()), (Some(0), 1), "{command}: {}", ran.out);
        let notices = json(&archive, &[command, "--time", "..1us"])["notices"].take();
        let said = notices.as_array().unwrap().iter().any(|n| n["code"] == "not-available");
        assert!(said, "{command}: {notices}");
    }
}

#[test]
fn clocks_are_repaired_on_request() {
    let of = |archive: &str, flags: &[&str], code: &str| {
        let words = [&["critical-path"], flags].concat();
        let notices = json(&testdata(archive), &words)["notices"].take();
        let of_code = notices.as_array().unwrap().iter().filter(|notice| notice["code"] == code);
        of_code.map(|notice| notice["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let said = |flags: &[&str]| {
        let all = of("eztrace-jacobi", flags, "clocks-unsynchronised");
        all.iter().any(|message| message.contains("have been repaired"))
    };
    assert!(said(&["--repair-clocks"]) && !said(&[]));
    assert!(of("eztrace-jacobi", &["--repair-clocks"], "message-order").is_empty());
    let ran = ran_on(&testdata("eztrace-jacobi"), &["print", "--repair-clocks"]);
    assert_eq!(ran.code, Some(64), "{}", ran.err);
    assert!(ran.err.contains("--repair-clocks does not apply"), "{}", ran.err);
}

#[test]
fn tables_have_the_rows_of_the_json() {
    let scratch = Scratch::new("operations");
    let archive = testdata("pmpi-masterio");
    for (command, n_rows) in [
        ("timeline", 0),
        ("time-profile", 0),
        ("comm-matrix", 0),
        ("messages", 20),
        ("comm-by-process", 8),
        ("comm-over-time", 50),
        ("breakdown", 8),
        ("imbalance", 0),
        ("idle", 8),
        ("critical-path", 0),
        ("lateness", 0),
        ("efficiency", 5),
        ("waits", 0),
        ("what-if", 0),
        ("patterns", 0),
    ] {
        let csv = ran_on(&archive, &[command, "--format", "csv"]).out;
        let lines = csv.lines().count() - 1;
        assert!(0 < lines && (n_rows == 0 || lines == n_rows), "{command}: {csv}");
        let file = scratch.0.join(format!("{command}.parquet"));
        let ran = ran_on(&archive, &[command, "-o", file.to_str().unwrap()]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""), "{command}: {}", ran.err);
        assert!(std::fs::read(&file).unwrap().starts_with(b"PAR1"), "{command}");
    }
}

#[test]
fn delays_lead_to_chains_of_waiting() {
    let scratch = Scratch::new("chains");
    let archive = testdata("zoo/late_sender/faulty");
    let picture = scratch.0.join("chain.svg");
    let data = json(&archive, &["waits", "--delays", "--plot", picture.to_str().unwrap()])["data"].take();
    assert!(std::fs::read_to_string(&picture).unwrap().contains("longer in interior"));
    let chain = &data["chains"][0];
    assert_eq!(chain["call_path"][2], "interior", "{chain}");
    let waits = chain["waits"].as_array().unwrap();
    assert_eq!((waits.len() as u64, &waits[0]["culprit"]["rank"]), (2, &chain["rank"]), "{chain}");
    assert_eq!(waits[1]["culprit"]["rank"], waits[0]["rank"], "{chain}");
    let sum = |class: &str| {
        let of = data["classes"].as_array().unwrap().iter().find(|it| it["class"] == class).cloned();
        of.map_or(0, |of| of["wait_ns"].as_u64().unwrap())
    };
    let late = sum("late_sender");
    assert!(0 < late);
    assert_eq!(sum("direct_late_sender") + sum("indirect_late_sender"), late);
    assert_eq!(sum("propagating_late_sender") + sum("terminal_late_sender"), late);
    let path = &data["critical_path"];
    let part = |key: &str| path[key].as_u64().unwrap();
    let all = part("activity_ns") + part("non_critical_ns") + part("lost_ns");
    assert_eq!(all, part("length_ns") * part("n_locations"), "{path}");
    for words in [&["--class", "direct_late_sender"][..], &["--plot", "chain.svg"]] {
        let ran = ran_on(&archive, &[&["waits"], words].concat());
        assert!(ran.err.contains("add --delays"), "{}", ran.err);
    }
    let selected = json(&archive, &["waits", "--delays", "--ranks", "0-3"])["data"].take();
    assert!(selected["critical_path"].is_null() && !selected["chains"].as_array().unwrap().is_empty());
}

#[test]
fn a_replay_without_a_change_is_the_run() {
    for archive in ARCHIVES {
        let data = json(&testdata(archive), &["what-if"])["data"].take();
        assert_eq!(data["identity_error_ns"], 0, "{archive}");
        assert_eq!(data["run_time_ns"], data["projected_run_time_ns"], "{archive}");
        let critical: u64 = column(&data["critical_path"], "time_ns").iter().sum();
        assert!(critical <= data["run_time_ns"].as_u64().unwrap(), "{archive}");
        for row in data["ranking"].as_array().unwrap() {
            let part = |key: &str| row[key].as_u64().unwrap();
            assert!(part("gain_halved_ns") <= part("gain_removed_ns"), "{archive}: {row}");
            assert!(part("gain_removed_ns") <= part("critical_ns"), "{archive}: {row}");
        }
    }
}

#[test]
fn changes_make_the_run_shorter() {
    let archive = testdata("pmpi-masterio");
    let ranking = json(&archive, &["what-if"])["data"]["ranking"].take();
    let solve = ranking.as_array().unwrap().iter().find(|row| row["call_path"][1] == "solve").unwrap();
    let gain = |words: &[&str]| json(&archive, &[&["what-if"], words].concat())["data"]["gain_ns"].take();
    assert_eq!(gain(&["--faster", "step/solve=2"]), solve["gain_halved_ns"]);
    assert_eq!(gain(&["--remove", "solve"]), solve["gain_removed_ns"]);
    assert_eq!(gain(&["--balance", "solve"]), solve["gain_balanced_ns"]);
    assert_eq!(gain(&["--faster", "solve=1"]), 0);
    let both = gain(&["--faster", "solve=2", "--balance", "write_chunk", "--network", "ideal"]);
    assert!(solve["gain_halved_ns"].as_i64() < both.as_i64(), "{both}");
    let ran = ran_on(&archive, &["what-if", "--remove", "slove"]);
    assert!(
        ran.err.contains("no region or call path is named \"slove\"; did you mean solve?"),
        "{}",
        ran.err
    );
    for bad in [["--faster", "solve"], ["--faster", "solve=0"], ["--network", "fast"]] {
        assert_eq!(ran_on(&archive, &[&["what-if"], &bad[..]].concat()).code, Some(64), "{bad:?}");
    }
}

#[test]
fn communication_is_serialisation_and_transfer() {
    for (archive, is_known) in [("pmpi-masterio", true), ("pmpi-jacobi", true), ("nsight-made", false)] {
        let run = json(&testdata(archive), &["efficiency"])["data"]["runs"][0].take();
        let part = |key: &str| run[key].as_f64();
        let product = part("serialisation").zip(part("transfer")).map(|(one, other)| one * other);
        assert_eq!(product.is_some(), is_known, "{archive}: {run}");
        let communication = part("communication").unwrap();
        assert!(product.is_none_or(|product| (product - communication).abs() < 1e-9), "{archive}: {run}");
        if is_known {
            let ideal = json(&testdata(archive), &["what-if", "--network", "ideal"])["data"].take();
            assert_eq!(run["ideal_run_time_ns"], ideal["projected_run_time_ns"], "{archive}");
        }
    }
    let part = json(&testdata("pmpi-masterio"), &["efficiency", "--ranks", "0-3"])["data"].take();
    assert!(
        part["runs"][0]["transfer"].is_null() && part.to_string().contains("not of a selection"),
        "{part}"
    );
}

#[test]
fn waiting_is_unknown_without_messages_and_collectives() {
    let scratch = Scratch::new("unknown-waiting");
    let archive = scratch.0.join("calls.json");
    std::fs::write(&archive, r#"{"traceEvents":[{"ph":"X","name":"f","pid":1,"tid":1,"ts":0,"dur":9}]}"#)
        .unwrap();
    let page = ran_on(&archive, &["waits", "--delays"]).out;
    assert!(page.contains("waiting is unknown: the trace records no messages"), "{page}");
    let data = json(&archive, &["waits", "--delays"])["data"].take();
    for total in ["total_wait_ns", "possible_wait_ns", "delays", "exact_share"] {
        assert!(data[total].is_null(), "{total}: {data}");
    }
    assert!(data["missing"].is_string(), "{data}");
    let data = json(&testdata("pmpi-masterio"), &["waits"])["data"].take();
    assert!(data["missing"].is_null() && data["total_wait_ns"].is_u64(), "{data}");
}

/// The sums were made from the records as `otf2-print` writes them, by a script that knows nothing of this program.
#[test]
fn threads_of_a_real_run_wait_as_its_records_say() {
    let data = json(&testdata("eztrace-openmp"), &["waits", "--delays"])["data"].take();
    let class = |name: &str| {
        let classes = data["classes"].as_array().unwrap();
        classes.iter().find(|it| it["class"] == name).map(|it| it["wait_ns"].as_u64().unwrap())
    };
    assert_eq!(class("openmp_wait_at_barrier"), Some(359_549_559 + 120_477_756), "{data}");
    assert_eq!(class("idle_threads"), Some(3 * 63_331_539), "{data}");
    assert_eq!(class("management"), Some(26_472_546), "{data}");
    assert_eq!(class("limited_parallelism"), Some(218_909_454), "{data}");
    let costs: u64 =
        ["short_term_ns", "long_term_ns"].map(|key| column(&data["delays"], key).iter().sum()).iter().sum();
    let unexplained: u64 = column(&data["unexplained"], "wait_ns").iter().sum();
    assert_eq!(Some(costs + unexplained), data["total_wait_ns"].as_u64(), "{data}");
    let page = ran_on(&testdata("eztrace-openmp"), &["waits"]).out;
    assert!(page.contains("of 4 threads × 461.4 ms"), "{page}");
}

/// As above; the run records locks and parallel regions, no teams. Without the lock, it takes 0.39 s less on 16 threads.
#[test]
fn threads_in_a_convoy_wait_for_the_lock() {
    let waits = |run: &str| json(&testdata(&format!("zoo/lock_convoy/{run}")), &["waits"])["data"].take();
    let class = |data: &Value, name: &str| {
        let classes = data["classes"].as_array().unwrap();
        classes.iter().find(|it| it["class"] == name).map(|it| (it["wait_ns"].as_u64(), it["n"].as_u64()))
    };
    let (faulty, fixed) = (waits("faulty"), waits("fixed"));
    assert_eq!(class(&faulty, "lock_contention"), Some((Some(5_351_031_591), Some(948))), "{faulty}");
    assert_eq!(class(&faulty, "openmp_wait_at_barrier"), Some((Some(829_680_843), Some(84))), "{faulty}");
    assert_eq!(class(&fixed, "lock_contention"), None, "{fixed}");
    let total = |data: &Value| data["total_wait_ns"].as_u64().unwrap();
    let saved = 16 * (faulty["run_time_ns"].as_u64().unwrap() - fixed["run_time_ns"].as_u64().unwrap());
    assert!(saved.abs_diff(total(&faulty) - total(&fixed)) < saved / 50, "{saved} {faulty}");
    let first = &faulty["rows"][0];
    assert_eq!(first["class"], "lock_contention", "{faulty}");
    assert_eq!(first["culprit"]["call_path"].as_array().unwrap().last().unwrap(), "omp_set_lock", "{faulty}");
}

#[test]
fn the_critical_path_tiles_the_run() {
    for archive in ARCHIVES {
        let data = json(&testdata(archive), &["critical-path"])["data"].take();
        let (starts, ends) = (column(&data["segments"], "start_ns"), column(&data["segments"], "end_ns"));
        assert!(!starts.is_empty() && starts[1..] == ends[..ends.len() - 1], "{archive}: no gap, no overlap");
        assert_eq!(data["length_ns"].as_u64(), Some(ends[ends.len() - 1] - starts[0]), "{archive}");
        let on_path: u64 = column(&data["by_region"], "total_ns").iter().sum();
        let n_regions = data["by_region"].as_array().unwrap().len() as u64;
        assert!(on_path.abs_diff(data["length_ns"].as_u64().unwrap()) <= 3 * n_regions, "{archive}");
    }
    let data = json(&testdata("pmpi-masterio"), &["critical-path"])["data"].take();
    let writing = |row: &&Value| row["region"] == "write_chunk";
    let row = data["by_region"].as_array().unwrap().iter().find(writing).unwrap().clone();
    assert_eq!(row["top_rank"], 0, "the run waits for the one that writes: {row}");
}

#[test]
fn lateness_of_ranks_is_that_of_their_operations() {
    for archive in ["pmpi-jacobi", "pmpi-masterio"] {
        let data = json(&testdata(archive), &["lateness", "--operations"])["data"].take();
        let operations = data["operations"].as_array().unwrap();
        for row in data["rows"].as_array().unwrap() {
            let own = operations.iter().filter(|operation| operation["rank"] == row["rank"]);
            let late: Vec<u64> = own.map(|operation| operation["lateness_ns"].as_u64().unwrap()).collect();
            assert_eq!(late.len() as u64, row["operations"].as_u64().unwrap(), "{archive}");
            assert_eq!(late.iter().max().copied(), row["max_ns"].as_u64(), "{archive}: {row}");
            let sum: u64 = late.iter().sum();
            assert!(sum.abs_diff(row["sum_ns"].as_u64().unwrap()) <= late.len() as u64, "{archive}: {row}");
        }
        let steps = column(&data["operations"], "step");
        assert_eq!(steps.iter().max().map(|last| last + 1), data["n_steps"].as_u64());
        let short = json(&testdata(archive), &["lateness"])["data"].take();
        assert_eq!((&short["rows"], &short["n_steps"]), (&data["rows"], &data["n_steps"]));
        assert!(short["operations"].is_null(), "they may be as many as the events");
    }
}

#[test]
fn patterns_are_ranges_of_time_within_the_start_region() {
    let archive = testdata("pmpi-masterio");
    let data = json(&archive, &["patterns"])["data"].take();
    let (starts, ends) = (column(&data["occurrences"], "start_ns"), column(&data["occurrences"], "end_ns"));
    let n_iterations = data["iterations"].as_u64().unwrap() as usize;
    assert!((2..=n_iterations).contains(&starts.len()) && starts.is_sorted(), "{data}");
    assert!(starts.iter().zip(&ends).all(|(start, end)| start < end));
    let ran = ran_on(&archive, &["patterns", "--start", "no_such_region"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("no_such_region"), "{}", ran.err);
    let none = ran_on(&archive, &["patterns", "--time", "..1us"]);
    assert!(none.err.contains("no pattern: "), "{}", none.err);
}

#[test]
fn pictures_are_drawn_in_both_formats() {
    let scratch = Scratch::new("pictures");
    let archive = testdata("pmpi-masterio");
    for (command, title) in [
        ("time-profile", "Where the time went"),
        ("comm-matrix", "Bytes sent from rank to rank"),
        ("messages", "Messages by size"),
        ("comm-by-process", "What each rank sends"),
        ("comm-over-time", "Communication over time"),
        ("breakdown", "Computation and communication"),
        ("imbalance", "Regions that lose most"),
        ("idle", "How long each rank waits"),
        ("critical-path", "The critical path from rank to rank"),
    ] {
        let file = |ending: &str| scratch.0.join(format!("{command}.{ending}"));
        for ending in ["svg", "png"] {
            let ran = ran_on(&archive, &[command, "--plot", file(ending).to_str().unwrap()]);
            assert_eq!(ran.code, Some(0), "{command}: {}", ran.err);
            assert!(!ran.out.is_empty(), "{command}: the answer is given, too");
        }
        let svg = std::fs::read_to_string(file("svg")).unwrap();
        assert!(svg.contains(title) && svg.contains("pmpi-masterio"), "{command}");
        assert!(std::fs::read(file("png")).unwrap().starts_with(b"\x89PNG"), "{command}");
    }
}

#[test]
fn runs_stand_side_by_side() {
    let (big, small) = (testdata("pmpi-jacobi"), testdata("pmpi-masterio"));
    let data = json(&big, &["compare", small.to_str().unwrap()])["data"].take();
    let runs = data["runs"].as_array().unwrap();
    let of = |key: &str| runs.iter().map(|run| run[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("n_processes"), [9, 8]);
    assert_eq!(of("is_reference"), [false, true], "the one of fewer processes");
    let times: Vec<f64> = runs.iter().map(|run| run["run_time_ns"].as_f64().unwrap()).collect();
    assert!((runs[0]["speed_up"].as_f64().unwrap() - times[1] / times[0]).abs() < 1e-12);
    assert!((runs[0]["efficiency"].as_f64().unwrap() - times[1] / times[0] * 8.0 / 9.0).abs() < 1e-12);
    for (i, archive) in [&big, &small].into_iter().enumerate() {
        let profile = json(archive, &["profile"]);
        for row in profile["data"]["rows"].as_array().unwrap() {
            let functions = data["functions"].as_array().unwrap();
            let found = functions.iter().find(|function| function["region"] == row["region"]).unwrap();
            let (a, b) = (found["exclusive_ns"][i].as_u64().unwrap(), row["exclusive_ns"].as_u64().unwrap());
            assert!(a.abs_diff(b) <= 1, "{row}");
        }
    }
    let only_one =
        data["functions"].as_array().unwrap().iter().find(|f| f["region"] == "write_chunk").unwrap();
    assert!(only_one["exclusive_ns"][0].is_null(), "not called is not zero: {only_one}");
    let efficiency = json(&big, &["efficiency", small.to_str().unwrap()])["data"].take();
    assert_eq!(data["efficiency"], efficiency, "the same as ouzel efficiency says");
    let n =
        |path: &Value| runs.iter().find(|run| run["path"] == *path).unwrap()["n_processes"].as_u64().unwrap();
    let by_path = json(&big, &["compare", small.to_str().unwrap(), "--call-paths"])["data"].take();
    assert_eq!(by_path["growing"], data["growing"], "call paths in both");
    let paths = by_path["functions"].as_array().unwrap();
    assert!(!data["growing"].as_array().unwrap().is_empty());
    for row in data["growing"].as_array().unwrap() {
        let function = paths.iter().find(|f| f["call_path"] == row["call_path"]).unwrap();
        assert_eq!(row["mean_ns"], function["mean_ns"][0], "the only run with other processes: {row}");
        let reference = function["mean_ns"][1].as_u64().unwrap_or(0);
        let reference = match (row["iterations"].as_u64(), row["reference_iterations"].as_u64()) {
            (Some(own), Some(reference_has)) => reference * own / reference_has,
            _ => reference,
        };
        let ideal = match efficiency["scaling"].as_str() {
            Some("strong") => reference * 8 / n(&row["path"]),
            _ => reference,
        };
        assert_eq!(row["ideal_ns"], ideal, "{row}");
        let excess = row["excess_ns"].as_u64().unwrap();
        assert!(runs[0]["run_time_ns"].as_u64().unwrap() < 100 * excess, "{row}");
    }
    for function in data["functions"].as_array().unwrap() {
        for i in 0..2 {
            let (mean, max) = (function["mean_ns"][i].as_u64(), function["max_ns"][i].as_u64());
            assert!(max.is_none() || mean <= max, "{function}");
        }
    }
    let page = ran_on(&big, &["compare", small.to_str().unwrap(), "--top", "3"]);
    assert_eq!(page.code, Some(0), "{}", page.err);
    assert!(page.out.contains("reference") && page.out.contains("run 2"), "{}", page.out);
}
