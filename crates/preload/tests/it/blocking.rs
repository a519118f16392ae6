//! Threads and processes that wait for each other: recorded is each call that had to wait, and programs notice nothing.

use crate::sampled::{Sampled, Workshop};
use ouzel_recording::launch::Choices;
use std::process::Command;

#[test]
fn calls_that_have_to_wait_are_recorded() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("blocking.c", "blocking", &["-O1"]);
    let choices = Choices { sample_hz: Some(200), with_io: true, ..Default::default() };
    let output = shop.run_with(&program, "run", &[], &choices);
    assert!(output.status.success(), "{output:?}");
    let finished = shop.finish("run");
    assert!(finished.archives[0].notices.iter().all(|notice| !notice.is_loss), "{finished:?}");
    let sampled = Sampled::read(&shop.path("run"));
    let n = |name: &str| sampled.enters.get(name).copied().unwrap_or(0);
    // A thousand calls before these have found what they asked for.
    assert_eq!((n("pthread_mutex_lock"), n("sem_wait")), (3, 3), "{:?}", sampled.enters);
    assert_eq!((n("pthread_rwlock_rdlock"), n("pthread_rwlock_wrlock")), (3, 3), "{:?}", sampled.enters);
    // The second thread at a barrier need not wait, which is not known before.
    assert_eq!((n("pthread_cond_wait"), n("pthread_barrier_wait")), (3, 6), "{:?}", sampled.enters);
    assert_eq!((n("pthread_join"), n("poll"), n("waitpid")), (24, 3, 3), "{:?}", sampled.enters);
    assert_eq!(n("read [pipe]"), 6, "{:?}", sampled.enters);
    let is_update = |path: &&Vec<(String, Option<u32>)>| {
        path.iter().map(|(name, _)| name.as_str()).eq(["blocking", "lock_mutex", "update"])
    };
    assert_eq!(sampled.paths.iter().filter(is_update).count(), 3, "{:?}", sampled.paths);
}

#[test]
fn functions_that_wait_return_what_they_would() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("blocking.c", "blocking", &["-O1"]);
    let bare = Command::new(&program).arg("results").output().expect("it can be run");
    assert!(bare.status.success(), "{bare:?}");
    for (name, hz) in [("plain", 0), ("sampled", 1000)] {
        let choices = Choices { sample_hz: (hz != 0).then_some(hz), with_io: true, ..Default::default() };
        let recorded = shop.run_with(&program, name, &["results"], &choices);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&recorded.stdout), text(&bare.stdout), "{name}");
        assert!(recorded.status.success(), "{recorded:?}");
        shop.finish(name);
    }
}

#[test]
fn samples_end_no_wait_before_its_time() {
    let Some(shop) = Workshop::open() else { return };
    let program = shop.compile("blocking.c", "blocking", &["-O1"]);
    // At this rate, and without the mask, 35 to 52 of the 4,000 waits ended early.
    let recorded = shop.run(&program, "run", &["computing"], 4000);
    assert_eq!(String::from_utf8_lossy(&recorded.stdout), "interrupted 0\n");
    shop.finish("run");
    let sampled = Sampled::read(&shop.path("run"));
    // Without files, `poll` and `select` sleep.
    let n = |name: &str| sampled.enters.get(name).copied().unwrap_or(0);
    assert_eq!((n("[sleeping]"), n("epoll_wait")), (3000, 1000), "{:?}", sampled.enters);
    assert!(0 < sampled.n_through("computing"), "{:?}", sampled.enters);
}
