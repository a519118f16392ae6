//! Outputs: never over an input, over other files only if requested, complete or absent.
//!
//! The commands are those of the program, so that a new one is tested with the others.

use crate::commands::commands;
use crate::run::{Ran, Scratch, command, ran, ran_on, testdata};
use ouzel_testkit::shared_data;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Every file of a folder with its content.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("can be listed") {
        let path = entry.expect("can be listed").path();
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false => drop(found.insert(path.clone(), fs::read(&path).expect("can be read"))),
        }
    }
    found
}

/// Runs a command on `trace` with these options, and with its other arguments: another trace, a target.
fn asked(command: &str, trace: &Path, scratch: &Scratch, options: &[&str]) -> Ran {
    let (trace_text, out) = (trace.to_str().expect("what the test made"), scratch.0.join("converted"));
    let mut words = vec![command, trace_text];
    match command {
        "compare" => words.push(trace_text),
        "convert" => words.extend([out.to_str().expect("what the test made"), "--to", "csv"]),
        _ => {}
    }
    ran(&[&words[..], options].concat())
}

/// The options by which a command writes a file, with the ending that the file must have.
fn options_of(command: &str) -> Vec<(&'static str, &'static str)> {
    let help = ran(&[command, "--help"]).out;
    assert!(help.contains("--force"), "{command} can replace nothing");
    let mut options = Vec::new();
    if command != "convert" {
        options.push(("-o", "csv"));
    }
    if help.contains("--plot <FILE>") {
        options.push(("--plot", "svg"));
    }
    options
}

/// `-o` and `--plot` of every command, as words for a file.
fn every_way_to_write(mut check: impl FnMut(&str, &dyn Fn(&Path) -> Vec<String>, &str)) {
    for command in commands() {
        for (option, ending) in options_of(&command) {
            let format = if command == "print" && option == "-o" { &["--format", "table"][..] } else { &[] };
            let words = |file: &Path| {
                let file = file.to_str().expect("what the test made");
                [&[option, file][..], format].concat().into_iter().map(str::to_owned).collect()
            };
            check(&command, &words, ending);
        }
    }
}

#[test]
fn no_command_writes_over_its_input() {
    let scratch = Scratch::new("over-input");
    let trace = scratch.copied("pmpi-jacobi");
    let before = contents(&trace);
    let mut targets: Vec<PathBuf> = ["traces.otf2", "traces.def", "traces/1.evt", "traces/../traces/3.evt"]
        .map(|name| trace.join(name))
        .to_vec();
    // Names that an archive would treat as its own, and other names of its files.
    targets.extend(["traces.marker", "traces/99.evt"].map(|name| trace.join(name)));
    let named = |name: &str| scratch.0.join(name);
    fs::hard_link(trace.join("traces/2.evt"), named("hard.svg")).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(trace.join("traces.otf2"), named("soft.svg")).unwrap();
        std::os::unix::fs::symlink(&trace, named("alias")).unwrap();
        targets.extend([named("soft.svg"), named("alias/traces.def"), named("alias/traces/7.evt")]);
    }
    targets.push(named("hard.svg"));
    every_way_to_write(|command, words, ending| {
        for target in &targets {
            if ending == "svg" && target.extension().is_none_or(|found| found != "svg") {
                continue;
            }
            for force in [&[][..], &["--force"]] {
                let words = words(target);
                let words: Vec<&str> =
                    words.iter().map(String::as_str).chain(force.iter().copied()).collect();
                let ran = asked(command, &trace, &scratch, &words);
                assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{command} {words:?}: {}", ran.err);
                assert!(ran.err.contains("part of the input"), "{command} {words:?}: {}", ran.err);
            }
        }
    });
    assert_eq!(contents(&trace), before);
    assert!(!scratch.0.join("converted").exists());
}

#[test]
fn convert_does_not_write_over_its_input_in_any_format() {
    let scratch = Scratch::new("convert-over-input");
    let trace = scratch.copied("pmpi-jacobi");
    let before = contents(&trace);
    for (form, out) in [
        ("csv", "traces"),
        ("csv", "traces/deep/er"),
        ("csv", "traces.def/csv"),
        ("parquet", "traces"),
        ("otf2", ""),
        ("otf2", "traces.otf2"),
        ("otf2", "traces/inner.otf2"),
        ("otf2", "traces"),
        ("chrome", "traces.otf2"),
        ("chrome", "traces/1.evt"),
        ("chrome", "traces/new.json"),
        ("cube", "traces.def"),
        ("cube", "traces/0.def"),
    ] {
        let out = trace.join(out);
        let ran = ran_on(&trace, &["convert", out.to_str().unwrap(), "--to", form, "--force"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{form} {out:?}");
        assert_eq!(contents(&trace), before, "{form} {out:?}: {}", ran.err);
    }
    // Around the trace: its folder would be treated as that of the event files.
    let outer = scratch.0.join("outer");
    fs::create_dir_all(&outer).unwrap();
    fs::rename(&trace, outer.join("traces")).unwrap();
    let inner = outer.join("traces");
    let before = contents(&inner);
    let ran = ran_on(&inner, &["convert", outer.to_str().unwrap(), "--to", "otf2", "--force"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("part of the input"), "{}", ran.err);
    assert_eq!(contents(&inner), before);
    // Other names in the folder of the trace are free.
    let ran = ran_on(&inner, &["convert", inner.to_str().unwrap(), "--to", "csv", "--force"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(inner.join("events.csv").is_file());
}

#[test]
fn rules_and_other_traces_are_inputs() {
    let scratch = Scratch::new("other-inputs");
    let trace = scratch.copied("pmpi-jacobi");
    let other = scratch.copied("pmpi-masterio");
    let rules = scratch.0.join("rules.toml");
    fs::write(&rules, "[[rule]]\nregion = \"a\"\ncategory = \"wait\"\n").unwrap();
    let before = contents(&scratch.0);
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (rules, event_file) = (text(&rules), text(&other.join("traces/1.evt")));
    for words in [
        &["report", "--rules", &rules, "-o", &rules][..],
        &["breakdown", "--rules", &rules, "-o", &rules],
        &["causes", "--rules", &rules, "-o", &rules],
        &["compare", &text(&other), "-o", &event_file],
    ] {
        let ran = ran_on(&trace, &[words, &["--force", "--format", "table"]].concat());
        assert_eq!(ran.code, Some(1), "{words:?}");
        assert!(ran.err.contains("part of the input"), "{words:?}: {}", ran.err);
    }
    assert_eq!(contents(&scratch.0), before);
}

/// Law: a file is an input if its absence changes an answer, in all formats.
#[test]
fn what_an_answer_needs_is_an_input() {
    let mut traces: Vec<PathBuf> = ["eztrace-pingpong", "pmpi-jacobi", "nsight-made"].map(testdata).to_vec();
    if let Some(shared) = shared_data() {
        for name in [
            "projections/pingpong-pipit",
            "hpctoolkit/pingpong-pipit",
            "hpctoolkit/test-small.d",
            "hpctoolkit-v2v3/hatchet-hpctoolkit-cpi-database",
            "hpctoolkit-meas/test-small.m",
            "cube/hatchet-scorep-cpi",
            "chrome-pytorch/param-dlrm-8rank",
            "otf2/scorep-pingpong",
        ] {
            traces.push(shared.join("data").join(name));
        }
    }
    let scratch = Scratch::new("needs");
    for (nth, original) in traces.iter().filter(|path| path.is_dir()).enumerate() {
        let trace = scratch.0.join(nth.to_string());
        copy_small(original, &trace);
        let trace = match ran_on(&trace, &["info"]).code {
            Some(0 | 2) => trace,
            // The shared folders hold the folder of the run.
            _ => fs::read_dir(&trace)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .find(|path| path.is_dir())
                .unwrap_or(trace),
        };
        let answer = || ran_on(&trace, &["info", "--format", "json"]).out;
        let whole = answer();
        assert!(!whole.is_empty(), "{original:?} cannot be read");
        let inputs = ouzel::inputs(&trace);
        let mut n_inputs = 0;
        for file in contents(&trace).into_keys().take(60) {
            let aside = scratch.0.join("aside");
            fs::rename(&file, &aside).unwrap();
            let is_needed = answer() != whole;
            fs::rename(&aside, &file).unwrap();
            let is_input = inputs.touched_by(&file).is_some();
            assert!(is_input || !is_needed, "{file:?} of {original:?} is read and not an input");
            n_inputs += usize::from(is_input);
        }
        assert!(0 < n_inputs, "{original:?}");
        let report = trace.join("report.txt");
        let is_own_folder = original.to_str().is_some_and(|name| name.contains("hpctoolkit"));
        assert_eq!(inputs.touched_by(&report).is_some(), is_own_folder, "{original:?}");
    }
}

/// Copies a folder without its largest files.
fn copy_small(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("what the test made");
    for entry in fs::read_dir(from).expect("what the test made") {
        let (from, to) = (
            entry.as_ref().expect("what the test made").path(),
            to.join(entry.expect("what the test made").file_name()),
        );
        match from.is_dir() {
            true => copy_small(&from, &to),
            false if from.metadata().expect("what the test made").len() < 4 << 20 => {
                // Copies of what cannot be written could not be moved either.
                fs::write(&to, fs::read(&from).expect("what the test made")).expect("what the test made");
            }
            false => {}
        }
    }
}

#[test]
fn every_command_replaces_a_file_only_if_asked() {
    let scratch = Scratch::new("replace");
    let trace = testdata("pmpi-jacobi");
    every_way_to_write(|command, words, ending| {
        let file = scratch.0.join(format!("{command}.{ending}"));
        let words = words(&file);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        fs::write(&file, "precious").unwrap();
        let refused = asked(command, &trace, &scratch, &words);
        assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""), "{command}: {}", refused.err);
        assert!(refused.err.contains("add --force"), "{command}: {}", refused.err);
        assert_eq!(fs::read_to_string(&file).unwrap(), "precious", "{command}");
        // It is refused before anything is read.
        let early = asked(command, &scratch.0.join("no trace"), &scratch, &words);
        assert!(early.err.contains("add --force"), "{command}: {}", early.err);
        let forced = asked(command, &trace, &scratch, &[&words[..], &["--force"]].concat());
        let replaced = fs::read(&file).unwrap();
        match forced.code {
            Some(0 | 2) => assert!(replaced != b"precious" && !replaced.is_empty(), "{command}"),
            // Not every command has an answer for every trace; without one the old file stays.
            _ => assert_eq!(replaced, b"precious", "{command}: {}", forced.err),
        }
        fs::remove_file(&file).unwrap();
        let new = asked(command, &trace, &scratch, &words);
        assert_eq!(new.code, forced.code, "{command}: {}", new.err);
        match new.code {
            Some(0 | 2) => assert_eq!(fs::read(&file).unwrap(), replaced, "{command}"),
            _ => assert!(!file.exists(), "{command}"),
        }
    });
    let left: Vec<PathBuf> = contents(&scratch.0).into_keys().collect();
    let is_whole = |path: &PathBuf| !path.file_name().unwrap().to_str().unwrap().starts_with('.');
    assert!(left.iter().all(is_whole), "{left:?}");
}

#[test]
fn answer_and_picture_are_two_files() {
    let scratch = Scratch::new("two-files");
    let file = scratch.0.join("both.svg");
    let file = file.to_str().unwrap();
    let ran = ran_on(&testdata("pmpi-jacobi"), &["idle", "-o", file, "--plot", file]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("cannot be both the answer and the picture"), "{}", ran.err);
    assert!(contents(&scratch.0).is_empty());
}

#[test]
fn what_cannot_be_written_is_said_at_once() {
    let scratch = Scratch::new("unwritable");
    let trace = testdata("pmpi-jacobi");
    fs::create_dir(scratch.0.join("folder")).unwrap();
    fs::write(scratch.0.join("file"), "").unwrap();
    for (target, needle) in [
        ("folder", "is a directory"),
        ("absent/out.csv", "cannot write"),
        ("file/out.csv", "cannot write"),
        ("folder/..", "is a directory"),
    ] {
        let target = scratch.0.join(target);
        let words = ["profile", "-o", target.to_str().unwrap(), "--force"];
        let ran = ran_on(&trace, &words);
        assert_eq!(ran.code, Some(1), "{target:?}");
        assert!(ran.err.contains(needle) && ran.err.lines().count() == 1, "{target:?}: {}", ran.err);
        let early = ran_on(&scratch.0.join("no trace"), &words);
        assert!(early.err.contains(needle), "{target:?}: {}", early.err);
    }
}

#[cfg(unix)]
mod on_unix {
    use super::*;
    use ouzel_testkit::synth::{self, SynthOptions};
    use std::io::Read as _;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Child, Command, Stdio};

    #[test]
    fn links_are_followed_to_regular_files_only() {
        let scratch = Scratch::new("links");
        let trace = testdata("pmpi-jacobi");
        let at = |name: &str| scratch.0.join(name);
        fs::create_dir(at("results")).unwrap();
        fs::write(at("results/1.csv"), "old").unwrap();
        symlink("results/1.csv", at("latest.csv")).unwrap();
        let latest = at("latest.csv");
        let words = ["profile", "-o", latest.to_str().unwrap()];
        assert_eq!(ran_on(&trace, &words).code, Some(1));
        assert_eq!(ran_on(&trace, &[&words[..], &["--force"]].concat()).code, Some(0));
        assert!(latest.symlink_metadata().unwrap().is_symlink());
        assert!(fs::read_to_string(at("results/1.csv")).unwrap().starts_with("region,"));
        assert_eq!(fs::read_dir(at("results")).unwrap().count(), 1);

        symlink("nothing", at("dangling.csv")).unwrap();
        let dangling = at("dangling.csv");
        let ran = ran_on(&trace, &["profile", "-o", dangling.to_str().unwrap(), "--force"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains("symbolic link"), "{}", ran.err);
        assert!(!at("nothing").exists());

        let _socket = UnixListener::bind(at("socket")).unwrap();
        let socket = at("socket");
        let ran = ran_on(&trace, &["profile", "-o", socket.to_str().unwrap(), "--force"]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains("only regular files"), "{}", ran.err);
    }

    /// A link with the name that unfinished files once had.
    #[test]
    fn no_link_beside_the_target_is_followed() {
        let scratch = Scratch::new("part-link");
        let victim = scratch.0.join("victim");
        fs::write(&victim, "victim").unwrap();
        symlink(&victim, scratch.0.join("p.json.part")).unwrap();
        let out = scratch.0.join("p.json");
        let ran = ran_on(&testdata("pmpi-jacobi"), &["convert", out.to_str().unwrap(), "--to", "chrome"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "victim");
        assert!(out.symlink_metadata().unwrap().is_file());
    }

    #[test]
    fn streams_are_written_to_and_not_replaced() {
        let scratch = Scratch::new("streams");
        let trace = testdata("pmpi-jacobi");
        let wanted = ran_on(&trace, &["profile", "--format", "csv"]).out;
        let is_stream = |path: &&str| !fs::metadata(path).unwrap().is_file();
        for device in ["/dev/null", "/dev/zero", "/dev/stdout"].into_iter().filter(is_stream) {
            let ran = ran_on(&trace, &["profile", "-o", device, "--format", "csv"]);
            assert_eq!(ran.code, Some(0), "{device}: {}", ran.err);
            assert_eq!(ran.out, if device == "/dev/stdout" { &*wanted } else { "" });
        }
        assert!(!fs::metadata("/dev/zero").unwrap().is_file());
        let full = ran_on(&trace, &["profile", "-o", "/dev/full"]);
        assert_eq!(full.code, Some(1), "what cannot be written is an error");
        assert!(full.err.contains("/dev/full") && full.err.lines().count() == 1, "{}", full.err);

        let fifo = scratch.0.join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let reader = {
            let fifo = fifo.clone();
            std::thread::spawn(move || fs::read_to_string(fifo).unwrap())
        };
        let ran = ran_on(&trace, &["profile", "-o", fifo.to_str().unwrap(), "--format", "csv"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(reader.join().unwrap(), wanted);

        // If standard output is a file, the output is appended to that file.
        let (shell, file) = (scratch.0.join("shell.csv"), command().get_program().to_owned());
        let line =
            format!("{:?} profile {trace:?} -o /dev/stdout --format csv > {shell:?}", Path::new(&file));
        assert!(Command::new("sh").arg("-c").arg(line).status().unwrap().success());
        assert_eq!(fs::read_to_string(shell).unwrap(), wanted);
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        let scratch = Scratch::new("permissions");
        let file = scratch.0.join("private.csv");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let ran = ran_on(&testdata("pmpi-jacobi"), &["profile", "-o", file.to_str().unwrap(), "--force"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_full_disk_leaves_the_old_file() {
        let scratch = Scratch::new("full-disk");
        let trace = synthetic(&scratch, 40_000);
        let (program, trace) = (command().get_program().to_owned(), trace.display().to_string());
        fs::write(scratch.0.join("old.csv"), "precious").unwrap();
        let before: Vec<PathBuf> = contents(&scratch.0).into_keys().collect();
        for words in [
            "calls TRACE -o old.csv --force",
            "calls TRACE -o new.csv",
            "print TRACE -o new.txt",
            "convert TRACE new.json --to chrome",
            "convert TRACE new --to csv",
            "convert TRACE new --to parquet",
            "convert TRACE new --to otf2",
            "convert TRACE deep/er/new.otf2 --to otf2",
            // Pictures and pages are shorter than the buffer of a writer.
            "time-profile TRACE --plot new.svg",
            "timeline TRACE --plot new.png",
            "report TRACE -o new.html",
        ] {
            // A limit on the size of files simulates a full disk: 8 blocks of 512 bytes or 1 KiB.
            let line =
                format!("ulimit -f 8; exec {:?} {}", Path::new(&program), words.replace("TRACE", &trace));
            let output = Command::new("sh").arg("-c").arg(line).current_dir(&scratch.0).output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{words}: {err}");
            assert!(err.starts_with("ouzel: error: ") && err.lines().count() == 1, "{words}: {err}");
            assert!(err.contains("new") || err.contains("old.csv"), "{words} does not name the file: {err}");
            assert_eq!(contents(&scratch.0).into_keys().collect::<Vec<_>>(), before, "{words}");
            assert!(!scratch.0.join("deep").exists() && !scratch.0.join("new").exists(), "{words}");
        }
        assert_eq!(fs::read_to_string(scratch.0.join("old.csv")).unwrap(), "precious");
    }

    /// A trace whose conversion takes longer than looking for a file.
    fn synthetic(scratch: &Scratch, n_events: u64) -> PathBuf {
        let trace = scratch.0.join("trace");
        let options = SynthOptions { n_events, n_ranks: 4, ..SynthOptions::default() };
        synth::write_archive(&trace, &options).expect("the archive can be written");
        trace
    }

    fn names(folder: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        entries
            .map(|entry| {
                entry.expect("what the test made").file_name().into_string().expect("what the test made")
            })
            .collect()
    }

    /// Starts a command and waits until there is an unfinished file with some bytes in it.
    fn begun(words: &[&str], folder: &Path) -> Child {
        let mut child = command()
            .args(words)
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("what the test made");
        let is_begun = || names(folder).iter().any(|name| name.ends_with(".part"));
        while !is_begun() {
            assert_eq!(
                child.try_wait().expect("what the test made"),
                None,
                "{words:?} ended before it began to write"
            );
            std::thread::yield_now();
        }
        child
    }

    const SIGHUP: i32 = 1;
    const SIGINT: i32 = 2;
    const SIGTERM: i32 = 15;

    fn send(child: &Child, signal: i32) {
        let sent = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
        assert!(sent.expect("what the test made").success());
    }

    #[test]
    fn a_signal_leaves_nothing_and_the_old_file() {
        let scratch = Scratch::new("signals");
        synthetic(&scratch, 400_000);
        fs::write(scratch.0.join("old.csv"), "precious").unwrap();
        let mut before = names(&scratch.0);
        before.sort();
        for (signal, words) in [
            (SIGTERM, "calls trace -o old.csv --force -j 1"),
            (SIGINT, "convert trace new.json --to chrome"),
            (SIGHUP, "convert trace new --to csv"),
            (SIGTERM, "convert trace new --to otf2"),
            (SIGINT, "convert trace new.otf2 --to otf2"),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            let child = begun(&words, &scratch.0);
            send(&child, signal);
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.signal(), Some(signal), "{words:?}: {:?}", output.status);
            assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
            let mut after = names(&scratch.0);
            after.sort();
            assert_eq!(after, before, "{words:?}");
        }
        assert_eq!(fs::read_to_string(scratch.0.join("old.csv")).unwrap(), "precious");
        // An interrupted run does not block the next one.
        let ran = ran_on(
            &scratch.0.join("trace"),
            &["convert", scratch.0.join("new").to_str().unwrap(), "--to", "csv"],
        );
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }

    #[test]
    fn what_a_killed_run_leaves_does_not_block_the_next() {
        let scratch = Scratch::new("killed");
        synthetic(&scratch, 400_000);
        fs::create_dir(scratch.0.join("there")).unwrap();
        for (words, folder) in
            [("convert trace new --to csv", ""), ("convert trace there --to otf2", "there")]
        {
            let words: Vec<&str> = words.split(' ').collect();
            let folder = scratch.0.join(folder);
            let mut child =
                command().args(&words).current_dir(&scratch.0).stderr(Stdio::null()).spawn().unwrap();
            while !names(&folder).iter().any(|name| name.ends_with(".part")) {
                assert_eq!(child.try_wait().unwrap(), None);
                std::thread::yield_now();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            assert!(names(&folder).iter().any(|name| name.ends_with(".part")), "it was killed in time");
            let again = command().args(&words).current_dir(&scratch.0).output().unwrap();
            assert_eq!(
                again.status.code(),
                Some(0),
                "{words:?}: {:?}",
                String::from_utf8_lossy(&again.stderr)
            );
        }
    }

    #[test]
    fn a_signal_that_is_ignored_stays_ignored() {
        let scratch = Scratch::new("nohup");
        synthetic(&scratch, 400_000);
        let line = "trap '' HUP; exec \"$0\" convert trace new.json --to chrome";
        let program = command().get_program().to_owned();
        let mut child =
            Command::new("sh").arg("-c").arg(line).arg(program).current_dir(&scratch.0).spawn().unwrap();
        while !names(&scratch.0).iter().any(|name| name.ends_with(".part")) {
            assert_eq!(child.try_wait().unwrap(), None);
            std::thread::yield_now();
        }
        send(&child, SIGHUP);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(scratch.0.join("new.json").is_file());
    }

    /// Two conversions of different traces into one target at the same time.
    #[test]
    fn of_two_writers_one_wins_as_a_whole() {
        let traces = ["pmpi-jacobi", "pmpi-masterio"].map(testdata);
        let form = |out: &str| match out.rsplit_once('.') {
            Some((_, "json")) => "chrome",
            Some((_, "cubex")) => "cube",
            Some((_, "otf2")) | None => "otf2",
            _ => "csv",
        };
        for (out, there) in [
            ("o.json", false),
            ("o.cubex", false),
            ("o.csv", false),
            ("o.d", false),
            ("o.d", true),
            ("o", false),
            ("o", true),
            ("o.otf2", false),
        ] {
            let convert = |trace: &Path, folder: &Path, force: bool| {
                let mut command = command();
                command
                    .arg("convert")
                    .arg(trace)
                    .arg(out)
                    .args(["--to", form(out)])
                    .args(force.then_some("--force"));
                command.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
            };
            let written = |folder: &Path| -> BTreeMap<PathBuf, Vec<u8>> {
                let all = contents(folder).into_iter();
                all.map(|(path, bytes)| (path.strip_prefix(folder).unwrap().to_owned(), bytes)).collect()
            };
            let alone = traces.each_ref().map(|trace| {
                let scratch = Scratch::new(&format!("writers-alone-{out}"));
                assert!(convert(trace, &scratch.0, false).wait().unwrap().success());
                written(&scratch.0)
            });
            for (round, force) in (0..6).map(|round| (round, round % 2 == 0)) {
                let scratch = Scratch::new(&format!("writers-{out}-{there}-{round}"));
                if there {
                    fs::create_dir(scratch.0.join(out)).unwrap();
                }
                let both = traces.each_ref().map(|trace| convert(trace, &scratch.0, force));
                let ended = both.map(|child| child.wait_with_output().unwrap());
                let codes = ended.each_ref().map(|output| output.status.code());
                let winner = alone.iter().position(|alone| *alone == written(&scratch.0));
                let errors = ended.map(|output| String::from_utf8(output.stderr).unwrap());
                let winner =
                    winner.unwrap_or_else(|| panic!("{out} {force}: a mixture, {codes:?} {errors:?}"));
                match force {
                    true => assert_eq!(codes, [Some(0), Some(0)], "{out}: {errors:?}"),
                    false => {
                        assert_eq!(codes[winner], Some(0), "{out}: {errors:?}");
                        assert_eq!(codes[1 - winner], Some(1), "{out}: {errors:?}");
                        assert!(errors[1 - winner].contains("add --force"), "{out}: {errors:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_folder_keeps_what_is_not_of_the_conversion() {
        let scratch = Scratch::new("folder-keeps");
        let out = scratch.0.join("out");
        let convert = |trace: &str, form: &str, force: bool| {
            let mut words = vec!["convert", out.to_str().unwrap(), "--to", form];
            words.extend(force.then_some("--force"));
            ran_on(&testdata(trace), &words)
        };
        fs::create_dir(&out).unwrap();
        fs::write(out.join("notes.txt"), "mine").unwrap();
        assert_eq!(convert("pmpi-jacobi", "csv", false).code, Some(1), "it is not empty");
        assert_eq!(convert("pmpi-jacobi", "csv", true).code, Some(0));
        assert_eq!(convert("pmpi-masterio", "csv", true).code, Some(0));
        assert_eq!(convert("pmpi-masterio", "otf2", true).code, Some(0));
        // A folder with the name of an archive, which is not an archive.
        fs::write(out.join("traces/notes.txt"), "mine, too").unwrap();
        let before = contents(&out);
        let ran = convert("pmpi-jacobi", "otf2", true);
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains("notes.txt"), "{}", ran.err);
        assert_eq!(contents(&out), before);
        let mut found = names(&out);
        found.sort();
        let expected = ["events.csv", "locations.csv", "metrics.csv", "notes.txt", "regions.csv"];
        assert_eq!(found, [&expected[..], &["traces", "traces.def", "traces.otf2"]].concat());
    }

    #[test]
    fn a_reader_that_goes_away_is_no_error_of_a_fifo() {
        let scratch = Scratch::new("fifo-closed");
        let fifo = scratch.0.join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let trace = testdata("pmpi-jacobi");
        let mut child = command().arg("print").arg(&trace).arg("-o").arg(&fifo).spawn().unwrap();
        let mut first = [0; 16];
        fs::File::open(&fifo).unwrap().read_exact(&mut first).unwrap();
        assert!(matches!(child.wait().unwrap().code(), Some(0)));
    }
}
