//! `ouzel record`: what it passes through, what it refuses, and what the other commands make of a recording.
//! Recording itself is tested in `crates/preload`.

use crate::run::{Scratch, command, json, ran, ran_on};
use ouzel_testkit::{has_openmp, has_programs, workspace_root};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of the tests is text")
}

#[test]
fn output_and_exit_code_are_those_of_the_program() {
    let scratch = Scratch::new("record-passes");
    for (script, out, code) in [("echo out; echo err >&2; exit 5", "out\n", 5), ("kill -9 $$", "", 137)] {
        let target = scratch.0.join("run");
        let ran =
            ran(&["record", "--sample", "off", "--io", "off", "-o", text(&target), "--", "sh", "-c", script]);
        assert_eq!((ran.out.as_str(), ran.code), (out, Some(code)), "{}", ran.err);
        assert!(ran.err.contains("nothing was recorded here"), "{}", ran.err);
        assert!(!target.exists(), "nothing is left behind");
    }
}

#[test]
fn what_cannot_be_recorded_is_refused() {
    let scratch = Scratch::new("record-refuses");
    let (target, used) = (scratch.0.join("new"), scratch.copied("pmpi-jacobi"));
    for (words, needle) in [
        (&["record", "-o", text(&target), "--", "no-such-program"][..], "cannot run \"no-such-program\""),
        (&["record", "-o", text(&used), "--", "true"], "holds a recording already"),
        (&["record", "-o", text(&target)], "write it after --"),
        (&["record", "--finish", text(&used)], "finished before"),
        (&["record", "--finish", text(&scratch.0)], "nothing was recorded here"),
    ] {
        let ran = ran(words);
        assert_eq!((ran.out.as_str(), ran.code), ("", Some(1)), "{words:?}");
        assert!(ran.err.contains(needle), "{words:?}: {}", ran.err);
    }
    assert!(!target.exists());
}

#[test]
fn a_dry_run_says_what_can_be_recorded() {
    let ran = ran(&["record", "--dry-run", "--", "no-such-program"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for needle in [
        "libouzel_record.so",
        "MPI",
        "samples",
        "counters      task-clock, page-faults, context-switches",
        "memory        of each process",
        "--lca prefix",
        "not recorded",
        "no-such-program: not found",
    ] {
        assert!(ran.out.contains(needle), "{needle}: {}", ran.out);
    }
}

#[test]
fn choices_that_cannot_be_are_refused() {
    let scratch = Scratch::new("record-choices");
    let target = scratch.0.join("run");
    for (words, needle) in [
        (["--counters", "flops"], "\"flops\" is no counter; there are auto, none, task-clock"),
        (["--buffer", "4K"], "a buffer has 256K to 16M, in steps of 64K"),
        (["--buffer", "300K"], "in steps of 64K"),
        (["--lca", "exact"], "longjmp"),
        (["--memory", "maybe"], "maybe"),
    ] {
        let ran = ran(&["record", words[0], words[1], "-o", text(&target), "--", "true"]);
        assert_eq!((ran.out.as_str(), ran.code), ("", Some(64)), "{words:?}: {}", ran.err);
        assert!(ran.err.contains(needle), "{words:?}: {}", ran.err);
    }
    assert!(!target.exists());
}

#[test]
fn the_environment_can_be_evaluated() {
    let scratch = Scratch::new("record-env");
    let target = scratch.0.join("it's");
    let ran = ran(&["record", "--env", "-o", text(&target)]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let script = format!("{}\nprintf '%s' \"$OUZEL_RECORD_DIR\"", ran.out);
    // Without the library, which a shell need not have to understand its path.
    let script = script.replace("export LD_PRELOAD=", "export NOT_PRELOADED=");
    let shell = Command::new("sh").args(["-c", &script]).output().expect("a shell");
    assert_eq!(PathBuf::from(String::from_utf8(shell.stdout).expect("text")), target);
}

/// A job script: the variables are still there when the archive is made.
#[test]
fn what_makes_the_archive_is_not_recorded() {
    if !has_programs(&["gcc"]) {
        return;
    }
    let scratch = Scratch::new("record-script");
    let (program, target) = (scratch.0.join("samples"), scratch.0.join("run"));
    recorder(&program, &target);
    let ouzel = text(Path::new(command().get_program())).to_owned();
    let script = format!(
        "eval \"$('{ouzel}' record --env --sample 2000 -o '{0}')\"; '{1}' split 60000; '{ouzel}' record --finish '{0}'",
        text(&target),
        text(&program)
    );
    let shell = Command::new("bash").args(["-c", &script]).output().expect("a shell");
    assert!(shell.status.success(), "{shell:?}");
    let profile = ran(&["profile", text(&target), "--format", "csv", "--top", "0"]).out;
    assert!(profile.contains("heavy") && !profile.contains("ouzel"), "{profile}");
}

/// A program of the zoo, built with nothing of the zoo's tracer, recorded under Open MPI.
fn recorded(scratch: &Scratch, sources: &[&str], n_ranks: u32, words: &[&str]) -> Option<(PathBuf, Output)> {
    if !has_programs(&["mpicc.openmpi", "mpirun.openmpi", "timeout"]) {
        return None;
    }
    let (program, target) = (scratch.0.join("program"), scratch.0.join("run"));
    let mut compile = Command::new("mpicc.openmpi");
    compile.args(["-O1", "-g", "-w", "-o"]).arg(&program);
    compile.args(sources.iter().map(|source| workspace_root().join("zoo").join(source)));
    assert!(compile.status().expect("the compiler is there").success());
    let mut record = command();
    record.args(["record", "--quiet", "-o"]).arg(&target).arg("--");
    record.args(["timeout", "600", "mpirun.openmpi", "-n", &n_ranks.to_string()]).arg(&program).args(words);
    for (name, value) in [
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ] {
        record.env(name, value);
    }
    let output = record.output().expect("the binary is there");
    Some((target, output))
}

#[test]
fn a_program_that_crashes_is_said_to_have_been_killed() {
    let scratch = Scratch::new("record-crashed");
    let mut record = command();
    record.args(["record", "-o"]).arg(scratch.0.join("run"));
    record.args(["--", "bash", "-c", "echo begun > /dev/null; kill -SEGV $$"]);
    let output = record.output().expect("the binary is there");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(" (bash) was killed by signal 11; its last event is at "), "{said}");
    assert_eq!(output.status.code(), Some(139), "{said}");
}

#[test]
fn the_report_of_a_recording_says_who_was_killed() {
    let scratch = Scratch::new("record-killed");
    let words = ["--die", "2", "9"];
    let Some((target, output)) = recorded(&scratch, &["record/program.c"], 4, &words) else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("ouzel: rank 2 was killed by signal 9 after "), "{said}");
    assert!(!output.status.success());
    let report = ran_on(&target, &["report"]);
    assert_eq!(report.code, Some(2), "{}", report.err);
    let words = report.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    let incomplete = words.split("The trace is incomplete:").nth(1).expect("it is on the page");
    assert!(incomplete.contains("rank 2 was killed by signal 9 after "), "{}", report.out);
    let info = json(&target, &["info"]);
    let found = info.to_string();
    assert!(found.contains("rank 2 was killed by signal 9 after "), "{found}");
}

#[test]
fn a_launcher_that_starts_nothing_is_no_rank() {
    if !has_programs(&["mpirun.openmpi"]) {
        return;
    }
    let scratch = Scratch::new("record-launcher");
    let target = scratch.0.join("run");
    let mut record = command();
    record.args(["record", "--quiet", "-o"]).arg(&target).args([
        "--",
        "mpirun.openmpi",
        "-n",
        "2",
        "/no/such/program",
    ]);
    assert!(!record.output().expect("the binary is there").status.success());
    let report = ran_on(&target, &["report"]);
    assert_eq!(report.code, Some(2), "{}", report.err);
    let words = report.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(
        words.contains("only the launcher orterun was recorded: it started no program"),
        "{}",
        report.out
    );
}

/// Steps in which no sample need be taken: the code says that calls of MPI which come again are those of the next step.
#[test]
fn steps_shorter_than_a_sampling_period_are_iterations() {
    let scratch = Scratch::new("record-steps");
    let Some((target, output)) = recorded(&scratch, &["record/steps.c"], 2, &["200"]) else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let iterations = json(&target, &["iterations"]);
    let loops = iterations["data"]["loops"].as_array().expect("loops");
    let path = |it: &serde_json::Value| it["call_path"].to_string();
    let steps: Vec<_> = loops.iter().filter(|it| path(it).contains("loop at steps.c:36")).collect();
    let counts: Vec<_> = steps.iter().map(|it| it["accepted"].as_u64()).collect();
    assert_eq!(counts, [Some(200)], "{iterations}");
    assert_eq!(steps[0]["is_estimate"], false, "each exchanges, as the code says");
    // What no sample shows between two calls is not in the function that makes them.
    let profile = json(&target, &["profile", "--call-paths"]);
    let own = |name: &str| -> u64 {
        let rows = profile["data"]["rows"].as_array().expect("rows");
        // Where others have the processor is chance.
        let is_own = |row: &&serde_json::Value| {
            let path = row["call_path"].as_array().expect("a path");
            path.iter().any(|it| it == name) && path.iter().all(|it| it != "[not running]")
        };
        let of_code = |row: &&serde_json::Value| row["paradigm"] != "mpi";
        let rows = rows.iter().filter(is_own).filter(of_code);
        rows.filter_map(|row| row["exclusive_ns"].as_u64()).sum()
    };
    assert!(5 * own("exchange") < own("relax"), "{} and {}", own("exchange"), own("relax"));
}

/// Builds the program whose samples are known; what records it, up to its command.
fn recorder(program: &Path, target: &Path) -> Command {
    let mut compile = Command::new("gcc");
    compile.args(["-O2", "-g", "-pthread", "-o"]).arg(program);
    compile.arg(workspace_root().join("zoo/record/samples.c")).arg("-ldl");
    assert!(compile.status().expect("the compiler is there").success());
    let mut record = command();
    record.args(["record", "--quiet", "--sample", "1000", "-o"]).arg(target);
    record
}

/// A program without MPI: where it computes is in the profile, with nothing around it that only starts it.
#[test]
fn the_profile_of_a_recording_says_where_a_program_computes() {
    if !has_programs(&["gcc"]) {
        return;
    }
    let scratch = Scratch::new("record-profile");
    let (program, target) = (scratch.0.join("samples"), scratch.0.join("run"));
    let mut record = recorder(&program, &target);
    record.args(["--", "sh", "-c"]);
    let output = record
        .arg(format!("'{}' split 60000; exit 3", text(&program)))
        .output()
        .expect("the binary is there");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let profile = json(&target, &["profile"]).to_string();
    for name in ["main", "split", "heavy", "light", "samples"] {
        assert!(profile.contains(&format!("\"{name}\"")), "{name}: {profile}");
    }
    assert!(
        ["_start", "__libc_start_main", "sh"].iter().all(|name| !profile.contains(&format!("\"{name}\""))),
        "{profile}"
    );
}

/// A function that is blocked in a call that nobody records computes only for its processor time.
#[test]
fn the_profile_of_a_recording_says_how_long_a_thread_did_not_run() {
    if !has_programs(&["gcc"]) {
        return;
    }
    let scratch = Scratch::new("record-blocked");
    let (program, target) = (scratch.0.join("samples"), scratch.0.join("run"));
    let mut record = recorder(&program, &target);
    record.arg("--");
    let output = record.arg(&program).args(["blocked", "20"]).output().expect("the binary is there");
    assert!(output.status.success(), "{output:?}");
    let profile = json(&target, &["profile", "--call-paths"]);
    let rows = profile["data"]["rows"].as_array().expect("rows");
    let stands_still = |row: &&serde_json::Value| {
        let path: Vec<&str> =
            row["call_path"].as_array().unwrap().iter().filter_map(|it| it.as_str()).collect();
        path.contains(&"blocked") && path.last() == Some(&"[not running]")
    };
    let stood: u64 = rows.iter().filter(stands_still).filter_map(|row| row["inclusive_ns"].as_u64()).sum();
    // Twenty times 20 ms, and more where others have the processors.
    assert!(380_000_000 < stood, "{stood} of {profile}");
}

/// The planted fault: rank 5 takes one and a half times as long for everything.
#[test]
fn the_report_of_a_recording_finds_the_planted_fault() {
    // Other load can slow any rank down, so one of five runs has to find what was planted and no other rank. A
    // diagnosis that is wrong, or that takes one rank for another, finds it in none.
    let mut found = Vec::new();
    for attempt in 0..5 {
        let scratch = Scratch::new(&format!("record-zoo-{attempt}"));
        let sources = ["programs/slow_rank.c", "record/zoo.c"];
        let Some((target, output)) = recorded(&scratch, &sources, 8, &[]) else { return };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report = json(&target, &["report"]);
        let findings = report["data"]["findings"].as_array().expect("findings");
        let planted = findings.iter().find(|finding| finding["kind"] == "slow_rank");
        let ranks = planted.map(|finding| finding["ranks"]["list"].to_string());
        if ranks.as_deref() == Some("[5]") {
            return;
        }
        found.push(findings.clone());
    }
    panic!("{found:?}");
}

/// Threads of one process, of which one works longest: the others wait for it at the barrier of their team.
#[test]
fn the_report_of_a_recording_names_uneven_threads() {
    if !has_programs(&["gcc"]) {
        return;
    }
    // Other load can even out what the threads do by the clock, so one of five runs has to show it.
    let mut found = Vec::new();
    for attempt in 0..5 {
        let scratch = Scratch::new(&format!("record-threads-{attempt}"));
        let (program, target) = (scratch.0.join("openmp"), scratch.0.join("run"));
        let mut compile = Command::new("gcc");
        compile.args(["-O1", "-g", "-fopenmp", "-o"]).arg(&program);
        compile.arg(workspace_root().join("zoo/record/openmp.c"));
        assert!(compile.status().expect("the compiler is there").success());
        let mut record = command();
        // So often that what is found is above what samples may miss.
        record.args(["record", "--quiet", "--sample", "1000", "-o"]).arg(&target);
        record.arg("--").arg(&program).args(["uneven", "40"]);
        let output = record.output().expect("the binary is there");
        assert!(output.status.success(), "{output:?}");
        let waits = json(&target, &["waits"]);
        let classes = waits["data"]["classes"].as_array().expect("classes");
        let waited =
            |class: &serde_json::Value| class["class"] == "openmp_wait_at_barrier" && class["wait_ns"] != 0;
        assert!(classes.iter().any(waited), "{waits}");
        let report = json(&target, &["report"]);
        // Where other load takes the processors, that they do not run comes first.
        let findings = report["data"]["findings"].as_array().expect("findings");
        let is_named = |finding: &serde_json::Value| {
            let title = finding["title"].as_str().unwrap_or_default();
            let is_uneven = finding["kind"] == "load_imbalance";
            is_uneven && !title.contains('[') && title.ends_with(": threads of each process")
        };
        if findings.iter().any(is_named) {
            return;
        }
        found.push(findings.clone());
    }
    panic!("{found:?}");
}

/// Findings of some kinds in the report of a program, recorded anew: the ranks they name, and what they gain.
fn found(scratch: &Scratch, program: &Path, words: &[&str], kinds: &[&str]) -> Vec<(String, u64)> {
    let target = scratch.0.join("run");
    if target.exists() {
        std::fs::remove_dir_all(&target).expect("it can be removed");
    }
    let mut record = command();
    record
        .args(["record", "--quiet", "--sample", "1000", "-o"])
        .arg(&target)
        .arg("--")
        .arg(program)
        .args(words);
    let output = record.output().expect("the binary is there");
    assert!(output.status.success(), "{output:?}");
    let report = json(&target, &["report"])["data"].clone();
    let findings = report["findings"].as_array().expect("findings").clone();
    let is_one = |finding: &serde_json::Value| kinds.iter().any(|kind| finding["kind"] == *kind);
    let of_kind = findings.into_iter().filter(is_one);
    let row = |finding: serde_json::Value| {
        let ranks = finding["ranks"]["ranges"].as_str().unwrap_or_default().to_owned();
        (ranks, finding["gain_ns"].as_u64().unwrap_or(0))
    };
    of_kind.map(row).collect()
}

/// Processes that start others, wait for them and clean up behind them have nothing to do with how work is spread.
#[test]
fn work_is_spread_over_the_processes_that_work() {
    if !has_programs(&["gcc"]) {
        return;
    }
    let scratch = Scratch::new("record-processes");
    let program = scratch.0.join("processes");
    let mut compile = Command::new("gcc");
    compile.args(["-O1", "-g", "-o"]).arg(&program).arg(workspace_root().join("zoo/record/processes.c"));
    assert!(compile.status().expect("the compiler is there").success());
    for how in ["fork", "server"] {
        let even = found(&scratch, &program, &[how, "300", "300", "300"], &["load_imbalance"]);
        assert_eq!(even, [], "{how}");
        // The last one has 200 ms more than the mean of the three, and 300 ms more than the others.
        let kinds = ["load_imbalance", "slow_rank"];
        let uneven = found(&scratch, &program, &[how, "100", "100", "400"], &kinds);
        let [(ranks, gain_ns)] = &uneven[..] else { panic!("{how}: {uneven:?}") };
        assert!(!ranks.contains(['-', ',']), "{how}: {ranks}");
        assert!((150_000_000..350_000_000).contains(gain_ns), "{how}: {gain_ns}");
    }
}

/// What threads lose is the same whoever compiles the program: libgomp is wrapped, libomp reports.
#[test]
fn threads_of_both_runtimes_are_told_alike() {
    let scratch = Scratch::new("record-openmp");
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has_openmp(compiler)) {
        let program = scratch.0.join(compiler);
        let mut compile = Command::new(compiler);
        compile.args(["-O1", "-g", "-w", "-fopenmp", "-o"]).arg(&program);
        compile.arg(workspace_root().join("zoo/record/openmp.c"));
        assert!(compile.status().expect("the compiler is there").success());
        let locks = found(&scratch, &program, &["locks", "20"], &["lock_contention"]);
        assert_eq!(locks.len(), 1, "{compiler}: {locks:?}");
        // Three of four threads wait, in each of ten regions.
        found(&scratch, &program, &["uneven", "10"], &[]);
        let waits = json(&scratch.0.join("run"), &["waits"])["data"].clone();
        let classes = waits["classes"].as_array().expect("classes");
        let n = classes.iter().find(|row| row["class"] == "openmp_wait_at_barrier").map(|row| &row["n"]);
        assert_eq!(n.and_then(serde_json::Value::as_u64), Some(30), "{compiler}: {classes:?}");
    }
}
