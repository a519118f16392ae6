//! Answers on archives whose content is known.

use crate::run::{Scratch, command, json, ran_on, testdata};
use expect_test::expect;
use serde_json::Value;

fn rows(answer: &Value) -> &[Value] {
    answer["data"]["rows"].as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn info_counts_what_is_there() {
    let answer = json(&testdata("pmpi-jacobi"), &["info"]);
    let keys =
        ["n_processes", "n_locations", "n_metric_locations", "n_events", "start_ns", "end_ns", "span_ns"];
    let found: Vec<String> = keys.iter().map(|&key| format!("{key} {}", answer["data"][key])).collect();
    expect![[r#"
        n_processes 9
        n_locations 9
        n_metric_locations 0
        n_events 25308
        start_ns 0
        end_ns 2016440298
        span_ns 2016440298"#]]
    .assert_eq(&found.join("\n"));
    assert_eq!(answer["schema"], "ouzel/info/1");
    assert_eq!(answer["coverage"]["locations_complete"], 9);
    assert_eq!(answer["notices"], serde_json::json!([]));
}

#[test]
fn profile_rows_come_by_exclusive_time() {
    for archive in
        ["pmpi-jacobi", "pmpi-masterio", "eztrace-jacobi", "eztrace-pingpong", "eztrace-fortran-ring"]
    {
        let answer = json(&testdata(archive), &["profile"]);
        let times: Vec<u64> = rows(&answer).iter().map(|row| row["exclusive_ns"].as_u64().unwrap()).collect();
        assert!(!times.is_empty() && times.is_sorted_by(|a, b| a >= b), "{archive}: {times:?}");
        for row in rows(&answer) {
            assert!(row["region"].is_string() && row["visits"].is_u64() && row["inclusive_ns"].is_u64());
            assert!(row.get("rank").is_none() && row.get("call_path").is_none());
        }
    }
}

#[test]
fn views_add_up_to_the_total() {
    let archive = testdata("pmpi-masterio");
    let sum = |words: &[&str]| -> u64 {
        rows(&json(&archive, words)).iter().map(|row| row["exclusive_ns"].as_u64().unwrap()).sum()
    };
    let total = sum(&["profile"]);
    for words in [
        &["profile", "--per", "rank"][..],
        &["profile", "--per", "location"],
        &["profile", "--call-paths"],
        &["profile", "--region", "MPI_*"],
        &["profile", "--jobs", "1", "--sort", "name"],
    ] {
        assert_eq!(sum(words), total, "{words:?}");
    }
    let path = json(&archive, &["profile", "--call-paths"]);
    let depth = |row: &Value| row["call_path"].as_array().map_or(0, Vec::len);
    assert!(rows(&path).iter().any(|row| 1 < depth(row)));
    assert!(rows(&path).iter().all(|row| row["call_path"][depth(row) - 1] == row["region"]));
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    for archive in ["pmpi-jacobi", "eztrace-jacobi"] {
        let answer = |jobs| json(&testdata(archive), &["profile", "--per", "location", "--jobs", jobs]);
        assert_eq!(answer("1"), answer("3"), "{archive}");
    }
}

#[test]
fn the_page_fits_its_width() {
    for (columns, words) in
        [("80", &["--call-paths"][..]), ("200", &["--per", "rank"]), ("60", &["--per", "location"])]
    {
        let output = command()
            .arg("profile")
            .arg(testdata("pmpi-jacobi"))
            .args(words)
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        let page = String::from_utf8(output.stdout).unwrap();
        let width: usize = columns.parse().unwrap();
        // The two lines below the table are sentences.
        let table = page.lines().filter(|line| !line.contains(" · ") && !line.starts_with('…'));
        for line in table {
            assert!(line.chars().count() <= width, "{columns}: {line}");
        }
        assert!(!page.contains('\x1b'), "no colour without a terminal");
    }
}

#[test]
fn a_page_for_people() {
    let ran = ran_on(&testdata("pmpi-masterio"), &["profile", "--top", "3"]);
    expect![[r#"
        region       exclusive   share              inclusive  visits       min       max  paradigm
        solve          22.59 s  68.6 %  ██████████    24.10 s      24  964.2 ms   1.052 s  compiler
        MPI_Init       5.440 s  16.5 %  ██▍           5.440 s       8  626.1 ms  744.8 ms  mpi
        MPI_Barrier    1.623 s   4.9 %  ▊             1.623 s      24  26.62 µs  119.5 ms  mpi
        … 7 more rows with 3.283 s exclusive (10.0 %): --top 0 shows all
        10 regions · 32.93 s in regions, summed over locations · run of 4.189 s
    "#]]
    .assert_eq(&ran.out);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let coloured = ran_on(&testdata("pmpi-masterio"), &["profile", "--top", "3", "--color", "always"]);
    assert!(coloured.out.contains("\x1b["));
}

#[test]
fn convert_writes_every_event_once() {
    let scratch = Scratch::new("convert");
    let out = scratch.0.join("tables");
    let answer = json(&testdata("pmpi-jacobi"), &["convert", out.to_str().unwrap(), "--to", "csv"]);
    assert_eq!(answer["data"]["files"][0]["n_rows"], answer["coverage"]["events_read"]);
    let events = std::fs::read_to_string(out.join("events.csv")).unwrap();
    let mut lines = events.lines();
    expect!["time_ns,rank,location,kind,region,depth,partner,communicator,tag,bytes_sent,bytes_received,collective,root,request,rma_step,rma_detail,window,rma_operation,metric,metric_value,metric_value_exact,parameter,parameter_value,sampled_path,frames_kept,frames_kept_at_most,thread_step,lock,acquisition"]
        .assert_eq(lines.next().unwrap());
    let fields: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(fields.len(), 25_308);
    let place = |row: &[&str]| -> (u64, u64) { (row[2].parse().unwrap(), row[0].parse().unwrap()) };
    assert!(fields.is_sorted_by_key(|row| place(row)), "by location, then by time");
    let sum = |column: usize, kind: &str| -> u64 {
        fields.iter().filter(|row| row[3] == kind).map(|row| row[column].parse::<u64>().unwrap()).sum()
    };
    assert_eq!(sum(9, "message_send"), sum(10, "message_recv"), "what is sent is received");
}

#[test]
fn messages_stand_in_the_rows_of_the_calls_that_made_them() {
    let answer = json(&testdata("pmpi-jacobi"), &["profile", "--messages"]);
    let of = |region: &str, keys: [&str; 3]| -> Vec<u64> {
        let row = rows(&answer).iter().find(|row| row["region"] == region).unwrap();
        keys.iter().map(|&key| row[key].as_u64().unwrap()).collect()
    };
    assert_eq!(of("MPI_Isend", ["sends", "bytes_sent", "receives"]), [360, 432_000, 0]);
    assert_eq!(of("MPI_Recv", ["receives", "bytes_received", "sends"]), [360, 432_000, 0]);
    assert_eq!(of("MPI_Allreduce", ["collectives", "collective_bytes_sent", "sends"])[0], 540);
    let sum = |key: &str| -> u64 { rows(&answer).iter().map(|row| row[key].as_u64().unwrap()).sum() };
    assert_eq!((sum("sends"), sum("bytes_sent")), (sum("receives"), sum("bytes_received")));
    assert_eq!(sum("collectives"), 549);
}

#[test]
fn the_report_says_who_writes_alone_and_who_waits() {
    let answer = json(&testdata("pmpi-masterio"), &["report"]);
    let losses = answer["data"]["losses"].as_array().unwrap();
    let lost: Vec<u64> = losses.iter().map(|loss| loss["lost_ns"].as_u64().unwrap()).collect();
    assert!(lost.is_sorted_by(|a, b| a >= b), "most first: {lost:?}");
    let loss = |kind: &str, region: &str| {
        let of = |loss: &&Value| {
            loss["kind"] == kind
                && loss["call_path"].as_array().and_then(|path| path.last()).is_some_and(|r| r == region)
        };
        losses.iter().find(of).unwrap_or_else(|| panic!("{kind} in {region}: {losses:?}")).clone()
    };
    let writing = loss("uneven_work", "write_chunk");
    assert_eq!((&writing["most"]["rank"], &writing["least"]["time_ns"]), (&0.into(), &0.into()));
    let (max, mean) = (writing["most"]["time_ns"].as_u64().unwrap(), writing["mean_ns"].as_u64().unwrap());
    assert!(writing["lost_ns"].as_u64().unwrap().abs_diff(max - mean) <= 1, "max - mean: {writing}");
    assert_eq!(loss("wait_for_all", "MPI_Barrier")["least"]["rank"], 0, "the writer comes last");
    let ratio = |key: &str| answer["data"]["efficiency"][key].as_f64().unwrap();
    assert!((ratio("parallel") - ratio("load_balance") * ratio("communication")).abs() < 1e-12);
    let nothing = serde_json::json!({
        "lost": [], "doubtful": [], "remarks": [], "ranks_cut": {"ranges": "", "list": []},
    });
    assert_eq!(answer["data"]["trust"], nothing);
}

#[test]
fn the_report_is_one_page_in_any_width() {
    let page = ran_on(&testdata("pmpi-masterio"), &["report"]);
    assert_eq!(page.code, Some(0));
    let cards: Vec<&str> = page
        .out
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit()))
        .map(|line| line.split("   ").next().unwrap_or_default())
        .map(|line| line.split(" /").next().unwrap_or_default())
        .collect();
    expect![[r#"
        OTF2 by mintrace 1 · 8 ranks on 1 node · 4.189 s · 542 events read
        How well the time was used
        Segments that lose time
        8 ranks fall into 3 groups
        Loops
        Where time is lost, by call path
        How far to trust it
        The same with pictures: ouzel report"#]]
    .assert_eq(&cards.join("\n"));
    assert!(page.out.contains(" can be recovered"), "says at once what can be gained: {}", page.out);
    assert!(page.out.contains("ouzel profile"), "names the next command: {}", page.out);
    assert!(page.out.lines().count() < 90, "one page: {}", page.out);
}
