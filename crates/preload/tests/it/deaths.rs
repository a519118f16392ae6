//! Processes that are killed: what they recorded stays, and the notice says who died how.

use crate::sampled::Workshop;
use crate::shop::{LIBRARIES, N_RANKS, Shop, check_with_reference_tool};
use ouzel_otf2::Archive;
use ouzel_otf2::remark::Remark;
use ouzel_recording::launch::Choices;
use ouzel_testkit::has_programs;
use std::path::Path;

#[test]
fn a_killed_rank_keeps_what_it_recorded() {
    for shop in LIBRARIES.into_iter().filter_map(|library| Shop::open(library, "mpicc")) {
        let program = shop.compile("mpicc", "program.c", "program", &[]);
        for (rank, signal) in [(3, 9), (1, 11)] {
            let name = format!("run-{rank}-{signal}");
            let words = ["--die", &rank.to_string(), &signal.to_string()];
            let output = shop.run(&program, &name, &words, None);
            let what = format!("{}: rank {rank} by {signal}", shop.library);
            assert!(!output.status.success(), "{what}: {output:?}");
            let finished = shop.finish(&name);
            let archive = &finished.archives[0];
            assert_eq!(archive.n_processes, N_RANKS, "{what}");
            let said: Vec<&str> = archive.notices.iter().map(|notice| notice.message.as_str()).collect();
            let expected = format!("rank {rank} was killed by signal {signal} after ");
            assert!(said.iter().any(|line| line.starts_with(&expected)), "{what}: {said:?}");
            let opened = Archive::open(&shop.path(&name)).expect("an archive");
            let mut events = opened.events(rank).expect("its events");
            let mut n_events = 0;
            while events.next_record().expect("all that was recorded is valid").is_some() {
                n_events += 1;
            }
            // Eleven of twenty steps, with nine calls or more, each an enter, a leave and mostly more.
            assert!(11 * 9 * 2 < n_events, "{what}: {n_events} events");
            check_with_reference_tool(&shop.path(&name));
        }
    }
}

/// Who writes to a pipe that is read no further ends as it should: nothing of it is lost.
#[test]
fn an_end_by_a_closed_pipe_is_no_loss() {
    let Some(shop) = Workshop::open() else { return };
    if !has_programs(&["bash", "yes", "head"]) {
        return;
    }
    let choices = Choices { with_io: true, ..Choices::default() };
    let words = ["-c", "yes | head -n 3; echo \"${PIPESTATUS[@]}\""];
    let output = shop.run_with(Path::new("bash"), "run", &words, &choices);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "y\ny\ny\n141 0\n", "{output:?}");
    let finished = shop.finish("run");
    let notices: Vec<_> = finished.archives.iter().flat_map(|archive| archive.notices.iter()).collect();
    assert!(notices.iter().all(|notice| !notice.is_loss), "{notices:?}");
    let is_said = |notice: &&&Remark| notice.message.ends_with(": its output was read no further");
    assert_eq!(notices.iter().filter(is_said).count(), 1, "{notices:?}");
}

/// A helper that its parent ends, as `multiprocessing` does at the end, is no loss.
#[test]
fn an_end_by_a_signal_of_another_process_is_no_loss() {
    let Some(shop) = Workshop::open() else { return };
    if !has_programs(&["python3"]) {
        return;
    }
    let choices = Choices { with_io: true, ..Choices::default() };
    let program = "\
import multiprocessing, time
def work():
    while True:
        open('/dev/null').close()
worker = multiprocessing.Process(target=work)
worker.start()
time.sleep(0.5)
worker.terminate()
worker.join()
print(worker.exitcode)
";
    let output = shop.run_with(Path::new("python3"), "run", &["-c", program], &choices);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "-15\n", "{output:?}");
    let finished = shop.finish("run");
    let notices: Vec<_> = finished.archives.iter().flat_map(|archive| archive.notices.iter()).collect();
    assert!(notices.iter().all(|notice| !notice.is_loss), "{notices:?}");
    let said = "1 process was ended by a signal of another recorded process";
    assert!(notices.iter().any(|notice| notice.message == said), "{notices:?}");
}

/// Files that may not grow end the recording, not the program.
#[test]
fn a_limit_of_the_size_of_files_ends_the_recording_alone() {
    let Some(shop) = Workshop::open() else { return };
    if !has_programs(&["bash"]) {
        return;
    }
    let choices = Choices { with_io: true, ..Choices::default() };
    // Of kilobytes: room for two chunks of events, and not even for the table of threads.
    for (name, n_kilobytes, what) in
        [("some", 600, "recorded nothing more after "), ("none", 10, " not recorded: ")]
    {
        let writes = "for ((i = 0; i < 20000; i++)); do echo $i; done > /dev/null; exit 7";
        let script = match name {
            "some" => format!("ulimit -f {n_kilobytes}; {writes}"),
            _ => format!("(ulimit -f {n_kilobytes}; bash -c '{writes}')"),
        };
        let output = shop.run_with(Path::new("bash"), name, &["-c", &script], &choices);
        assert_eq!(output.status.code(), Some(7), "{name}: {output:?}");
        let reason = "the limit of the size of files is reached (ulimit -f)";
        let finished = shop.finish(name);
        let said: Vec<&str> =
            finished.archives.iter().flat_map(|it| it.notices.iter().map(|it| &*it.message)).collect();
        let is_said = said.iter().any(|line| line.contains(what) && line.ends_with(reason));
        assert!(is_said, "{name}: {said:?}");
    }
}
