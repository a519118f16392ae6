//! Samples of programs whose call paths are known.

use crate::sampled::{Sampled, Workshop, shadowed};
use crate::shop::{LIBRARIES, N_RANKS, Recorded, Shop, check_with_reference_tool};
use ouzel_recording::launch::Choices;
use ouzel_testkit::{has_programs, workspace_root};
use std::collections::BTreeSet;
use std::path::Path;

/// Samples that a share is made of, at least. A timer that is no counter of the kernel gives 250 a second.
const N_LEAST: usize = 200;

/// How far a share of `n` samples may be off: six standard errors of half as many. Many tests check a share in each run
/// of all tests, so three are exceeded by chance. Samples are not independent either: one that is due while another is
/// taken comes right after it, at the same place, and more do so the longer the stack and the higher the load.
/// At the least number, this is 0.27: an exchange of the two functions is off by 0.4, and 0.3 if one has all samples.
fn bound(share: f64, n: usize) -> f64 {
    6.0 * (share * (1.0 - share) / (n as f64 / 2.0)).sqrt()
}

fn check_split(sampled: &Sampled, what: &str) {
    let (heavy, light) = (sampled.n_through("heavy"), sampled.n_through("light"));
    let n = heavy + light;
    assert!(N_LEAST <= n, "{what}: {n} samples of {}, as {:?}", sampled.paths.len(), sampled.paths.last());
    let share = heavy as f64 / n as f64;
    assert!((share - 0.7).abs() < bound(0.7, n), "{what}: {share} of {n}");
    // The beginning, the end and the loop itself, which have more samples where faults of pages are slow.
    assert!(sampled.paths.len() < n + n / 5 + 100, "{what}: {n} of {} samples", sampled.paths.len());
}

/// The line of the program's source with this text.
fn line_of(text: &str) -> u32 {
    let source = std::fs::read_to_string(workspace_root().join("zoo/record/samples.c")).expect("the source");
    source.lines().zip(1..).find(|(line, _)| line.contains(text)).expect("the line").1
}

#[test]
fn shares_are_those_of_the_program() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let output = shop.run(&program, "run", &["split", "60000"], 1000);
    assert!(output.status.success(), "{output:?}");
    let finished = shop.finish("run");
    assert!(finished.archives[0].notices.iter().all(|notice| !notice.is_loss), "{finished:?}");
    let sampled = Sampled::read(&shop.path("run"));
    check_split(&sampled, "split");
    // Some samples are at the begin or the end of the function, outside of the inlined one.
    let is_inlined = |path: &&Vec<(String, Option<u32>)>| {
        path.iter().map(|(name, _)| name.as_str()).eq(["samples", "main", "split", "heavy", "inner"])
    };
    let paths: Vec<_> = sampled.paths.iter().filter(is_inlined).collect();
    assert!(sampled.n_through("heavy") / 2 < paths.len(), "{} of {:?}", paths.len(), sampled.paths.last());
    let line = line_of("sink = inner(7 * n, 1);");
    assert!(paths.iter().all(|path| path[3].1 == Some(line)), "the line of the inlined call");
}

#[test]
fn all_threads_are_sampled() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let output = shop.run(&program, "run", &["threads", "3"], 1000);
    assert!(output.status.success(), "{output:?}");
    let finished = shop.finish("run");
    assert_eq!(finished.archives[0].n_locations, 4, "{finished:?}");
    let sampled = Sampled::read(&shop.path("run"));
    check_split(&sampled, "threads");
    let of_threads = sampled.paths.iter().filter(|path| path.iter().any(|(name, _)| name == "split"));
    for path in of_threads {
        assert_eq!((path[0].0.as_str(), path[1].0.as_str()), ("samples", "in_thread"), "{path:?}");
    }
}

#[test]
fn twenty_thousand_threads_in_sequence_leave_one_file() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let output = shop.run(&program, "run", &["sequence", "20000"], 1000);
    assert!(output.status.success(), "{output:?}");
    let finished = shop.finish("run");
    let archive = &finished.archives[0];
    assert!(archive.n_locations <= 3 && archive.notices.iter().all(|notice| !notice.is_loss), "{archive:?}");
}

/// A thread that sleeps takes no samples: its calls are recorded, with the path that they are made from.
#[test]
fn sleeping_is_recorded_where_it_is_called() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let output = shop.run(&program, "run", &["nap", "20"], 200);
    assert!(output.status.success(), "{output:?}");
    let finished = shop.finish("run");
    assert!(finished.archives[0].notices.iter().all(|notice| !notice.is_loss), "{finished:?}");
    let sampled = Sampled::read(&shop.path("run"));
    assert_eq!(sampled.enters["[sleeping]"], 40, "{:?}", sampled.enters);
    let is_nap = |path: &&Vec<(String, Option<u32>)>| {
        path.iter().map(|(name, _)| name.as_str()).eq(["samples", "main", "nap"])
    };
    let n_lines = sampled.paths.iter().filter(is_nap).map(|path| path[2].1).collect::<BTreeSet<_>>().len();
    assert_eq!(n_lines, 1, "{:?}", sampled.paths);
}

/// A function that ends with a call has left the stack by then, as the compiler makes a jump of it.
#[test]
fn functions_that_end_with_a_call_are_on_its_path() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let output = shop.run(&program, "run", &["tail", "20"], 200);
    assert!(output.status.success(), "{output:?}");
    shop.finish("run");
    let sampled = Sampled::read(&shop.path("run"));
    assert_eq!(sampled.enters["[sleeping]"], 20, "{:?}", sampled.enters);
    let is_rest = |path: &&Vec<(String, Option<u32>)>| {
        path.iter().map(|(name, _)| name.as_str()).eq(["samples", "main", "rest"])
    };
    let lines: BTreeSet<_> = sampled.paths.iter().filter(is_rest).map(|path| path[2].1).collect();
    let jump = line_of("return usleep(1000);");
    assert!(lines.contains(&Some(jump)), "{lines:?} of {:?}", sampled.paths);
    // The calls were made by no other function.
    assert!(!sampled.paths.iter().any(|path| path.len() == 2 && path[1].0 == "main"), "{:?}", sampled.paths);
}

#[test]
fn deep_recursion_is_walked_to_its_end() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O1", "-fno-optimize-sibling-calls"]);
    let output = shop.run(&program, "run", &["deep", "10000"], 1000);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "10001\n", "{output:?}");
    shop.finish("run");
    let sampled = Sampled::read(&shop.path("run"));
    check_split(&sampled, "deep");
    let deepest = sampled.paths.iter().map(Vec::len).max();
    assert_eq!(deepest, Some(2 + 10_001 + 3), "the program, main, the recursion, split, heavy, inner");
}

#[test]
fn a_small_stack_for_signals_is_the_programs_own() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let output = shop.run(&program, "run", &["stack", "60000"], 1000);
    assert!(output.status.success(), "{output:?}");
    shop.finish("run");
    check_split(&Sampled::read(&shop.path("run")), "stack");
}

#[test]
fn the_programs_own_signals_reach_it() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let output = shop.run(&program, "run", &["signals", "200"], 1000);
    // A signal that is raised while a sample is due is one with it, as signals of this sort do not queue. Few are, but
    // more where the load is high.
    let n: u32 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
    assert!((100..=200).contains(&n), "{n}: {output:?}");
    shop.finish("run");
    check_split(&Sampled::read(&shop.path("run")), "signals");
}

#[test]
fn children_and_programs_that_follow_are_sampled() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    for (what, n_processes) in [("fork", 2), ("exec", 2)] {
        let output = shop.run(&program, what, &[what], 1000);
        assert!(output.status.success(), "{what}: {output:?}");
        let finished = shop.finish(what);
        let archive = &finished.archives[0];
        assert_eq!(archive.n_processes, n_processes, "{what}: {archive:?}");
        assert!(archive.notices.iter().all(|notice| !notice.is_loss), "{archive:?}");
        let sampled = Sampled::read(&shop.path(what));
        check_split(&sampled, what);
        if what == "fork" {
            // The parent goes on to be sampled.
            assert!(sampled.of_locations.iter().all(|&n| N_LEAST / 2 < n), "{:?}", sampled.of_locations);
        }
    }
}

#[test]
fn libraries_that_are_loaded_later_are_known() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let library = shop.compile("loaded.c", "loaded.so", &["-O2", "-shared", "-fPIC"]);
    let library = library.to_str().expect("a path");
    let output = shop.run(&program, "run", &["load", library, "60000"], 1000);
    assert!(output.status.success(), "{output:?}");
    shop.finish("run");
    let sampled = Sampled::read(&shop.path("run"));
    let n = sampled
        .paths
        .iter()
        .filter(|path| path.iter().map(|(name, _)| name).eq(["samples", "main", "work_loaded"]))
        .count();
    assert!(50 < n, "{n} of {} samples", sampled.paths.len());
    assert!(n + n / 5 + 20 > sampled.n_through("work_loaded"));
}

#[test]
fn a_thousand_libraries_are_known() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    let library = shop.compile("loaded.c", "loaded.so", &["-O2", "-shared", "-fPIC"]);
    let folder = shop.path("many");
    std::fs::create_dir(&folder).expect("a folder");
    for i in 0..1000 {
        std::fs::copy(&library, folder.join(format!("{i}.so"))).expect("a copy");
    }
    let folder = folder.to_str().expect("a path");
    let output = shop.run(&program, "run", &["load-many", folder, "30"], 1000);
    assert!(output.status.success(), "{output:?}");
    shop.finish("run");
    let sampled = Sampled::read(&shop.path("run"));
    let is_work = |path: &&Vec<(String, Option<u32>)>| {
        path.iter().map(|(name, _)| name).eq(["samples", "main", "work_loaded"])
    };
    let n = sampled.paths.iter().filter(is_work).count();
    assert!(50 < n, "{n} of {} samples", sampled.paths.len());
    assert!(n + n / 5 + 20 > sampled.n_through("work_loaded"));
}

#[test]
fn time_in_the_recorder_is_time_of_what_calls_it() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("free_lock.c", "free_lock", &["-O1"]);
    let output = shop.run(&program, "run", &["20000000"], 1000);
    assert!(output.status.success(), "{output:?}");
    shop.finish("run");
    let sampled = Sampled::read(&shop.path("run"));
    let n = sampled.n_through("update");
    assert!(50 < n, "{n} of {} samples", sampled.paths.len());
    assert_eq!(sampled.n_through("pthread_mutex_lock"), 0, "the one of the recorder");
}

#[test]
fn calls_of_mpi_say_where_they_are_made() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let library = shop.library;
        let program = shop.compile("mpicc", "program.c", "program", &[]);
        let counter = shop.compile("mpicc", "count.c", "count.so", &["-shared", "-fPIC"]);
        let choices = Choices { sample_hz: Some(1000), ..Choices::default() };
        let output = shop.run_with(&program, "run", &[], Some(&counter), &choices);
        assert!(output.status.success(), "{library}: {output:?}");
        let finished = shop.finish("run");
        let archive = &finished.archives[0];
        assert_eq!(archive.n_processes, N_RANKS, "{library}");
        assert!(archive.notices.iter().all(|notice| !notice.is_loss), "{library}: {archive:?}");
        check_with_reference_tool(&shop.path("run"));
        let recorded = Recorded::read(&shop.path("run"));
        for (rank, counted) in shop.counted().iter().enumerate() {
            for (function, expected) in counted {
                assert_eq!(
                    recorded.counts[rank].get(function),
                    Some(expected),
                    "{library}: {rank}, {function}"
                );
            }
        }
        let sampled = Sampled::read(&shop.path("run"));
        for function in ["ring", "collectives", "persistent"] {
            assert!(N_RANKS <= sampled.n_through(function), "{library}: {function}");
        }
        // The recorder and MPI are on no path of a call.
        let of_call = sampled.paths.iter().filter(|path| path.iter().any(|(name, _)| name == "ring"));
        assert!(
            of_call.clone().all(|path| path[0].0 == "program" && path[1].0 == "main"),
            "{library}: {:?}",
            of_call.collect::<Vec<_>>()
        );
        assert_eq!(sampled.n_through("MPI_Send"), 0, "{library}");
    }
}

#[test]
fn a_limit_ends_the_recording_and_not_the_program() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    // The tables of the process, and one chunk.
    let choices = Choices { sample_hz: Some(1000), limit_bytes: Some(300_000), ..Choices::default() };
    let output = shop.run_with(&program, "run", &["threads", "2"], &choices);
    assert!(output.status.success(), "{output:?}");
    let finished = shop.finish("run");
    let said: Vec<&str> = finished.archives[0].notices.iter().map(|notice| notice.message.as_str()).collect();
    assert!(said.iter().any(|line| line.ends_with("the limit of 300000 bytes is reached")), "{said:?}");
}

#[test]
fn a_killed_program_keeps_its_samples() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("samples.c", "samples", &["-O2"]);
    for i in 1..=10 {
        let name = format!("run-{i}");
        let output = shop.run(&program, &name, &["kill", &(5000 + i * 1000).to_string()], 1000);
        assert!(!output.status.success(), "{output:?}");
        let finished = shop.finish(&name);
        let archive = &finished.archives[0];
        assert!(archive.notices.iter().any(|notice| notice.is_loss), "{archive:?}");
        let sampled = Sampled::read(&shop.path(&name));
        assert!(0 < sampled.n_through("split"), "{i}: {archive:?}");
    }
}

/// What a sample says of the frames that stayed is not less than what did, as the enters and leaves of the same thread
/// show: the shadow of its stack.
#[test]
fn what_stayed_is_bounded_from_above() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("shadow.c", "shadow", &["-O1", "-finstrument-functions"]);
    let output = shop.run(&program, "run", &[], 1000);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    shop.finish("run");
    let pairs = shadowed(&shop.path("run"));
    let mut n_bounded = 0;
    for pair in &pairs {
        assert!(pair.n_stayed <= pair.n_at_most, "{pair:?}");
        n_bounded += usize::from(pair.n_at_most < pair.n_functions);
    }
    // Calls end between most samples, and the stack shows it of many: of a half where samples come at their rate, of
    // fewer where some come right after each other.
    assert!(50 < pairs.len() && pairs.len() / 50 < n_bounded, "{n_bounded} of {}", pairs.len());
}

/// What a script starts around the program is no process of the recording; a short process of the same program is one.
#[test]
fn helpers_of_a_script_are_left_out() {
    let Some(shop) = Workshop::open() else { return };
    if !has_programs(&["bash", "readlink", "sleep"]) {
        return;
    }
    for (script, n_processes, note) in [
        ("readlink /; readlink /; basename /a; sleep 5", 1, Some("together: basename (1), readlink (2)")),
        ("sleep 0.01; sleep 3", 2, None),
        // Too much to be of no account.
        ("readlink /; sleep 0.01", 2, None),
        ("readlink /", 1, None),
    ] {
        let name = format!("run{}", script.len());
        let output = shop.run(Path::new("bash"), &name, &["-c", &format!("{script}; :")], 200);
        assert!(output.status.success(), "{output:?}");
        let finished = shop.finish(&name);
        let archive = &finished.archives[0];
        assert_eq!(archive.n_processes, n_processes, "{script}: {:?}", archive.notices);
        let said = archive.notices.iter().find(|it| it.message.contains("left out"));
        let is_as_said =
            said.is_some_and(|it| note.is_some_and(|note| it.message.ends_with(note) && !it.is_loss));
        assert_eq!(is_as_said, note.is_some(), "{script}: {said:?}");
    }
}
