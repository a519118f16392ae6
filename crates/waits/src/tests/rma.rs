//! One-sided communication, one rule at a time.

use super::{check, described, waits};
use crate::Waits;
use ouzel_model::{Filter, NoticeCode, RankSet, TraceSource};
use ouzel_testkit::{ToyTrace, run_report};

/// A fence of a rank, in the trace language.
fn fence(enter: u64, leave: u64) -> String {
    format!("enter MPI_Win_fence @{enter}, rma w begin @{enter}, rma w end barrier @{leave}, leave @{leave}")
}

#[test]
fn a_fence_waits_for_its_last_member() {
    // B = 30, X = 31: ranks 0 and 1 wait 30 and 10.
    let ranks = [fence(0, 31), fence(20, 33), fence(30, 32)];
    let ranks: Vec<String> = ranks.iter().enumerate().map(|(rank, it)| format!("{rank}: {it}")).collect();
    check(
        &format!("comm all = 0 1 2\nwindow w = all\n{}", ranks.join("\n")),
        &[
            "wait_at_fence 0 MPI_Win_fence: 30 in 1 for 2 MPI_Win_fence",
            "wait_at_fence 1 MPI_Win_fence: 10 in 1 for 2 MPI_Win_fence",
        ],
    );
}

#[test]
fn members_that_leave_before_the_last_comes_do_not_wait_at_a_fence() {
    let text = format!("comm all = 0 1\nwindow w = all\n0: {}\n1: {}", fence(0, 9), fence(10, 11));
    check(&text, &[]);
    let without_records = "comm all = 0 1\nwindow w = all
         0: enter MPI_Win_fence @0, rma w end barrier @12, leave @12
         1: enter MPI_Win_fence @7, rma w end barrier @11, leave @12";
    check(without_records, &["wait_at_fence 0 MPI_Win_fence: 7 in 1 for 1 MPI_Win_fence"]);
}

#[test]
fn a_fence_is_early_until_the_last_access_of_another_ended() {
    // Rank 0 waits from 10 to 50. Rank 1 writes to it until 24, rank 2 until 32; its own access and those to others do
    // not count, nor those before the fence before.
    let text = format!(
        "comm all = 0 1 2\nwindow w = all
         0: {first}, enter MPI_Put @6, rma w put 0 8 1 @6, leave @10, {second}
         1: enter MPI_Put @0, rma w put 0 8 1 @0, leave @3, {first}, enter MPI_Get @20, rma w get 0 8 1 @20, leave @24, {last}
         2: {first}, enter MPI_Accumulate @30, rma w atomic 0 8 1 @30, leave @32, enter MPI_Put @33, rma w put 1 8 2 @33, leave @44, {late}",
        first = fence(5, 5),
        second = fence(10, 50),
        last = fence(40, 50),
        late = fence(50, 50),
    );
    check(
        &text,
        &[
            "early_fence 0 MPI_Win_fence: 22 in 1 for 2 MPI_Win_fence",
            "early_fence 1 MPI_Win_fence: 4 in 1 for 2 MPI_Win_fence",
            "wait_at_fence 0 MPI_Win_fence: 40 in 1 for 2 MPI_Win_fence",
            "wait_at_fence 1 MPI_Win_fence: 10 in 1 for 2 MPI_Win_fence",
        ],
    );
}

#[test]
fn making_and_freeing_a_window_waits_for_its_last_member() {
    let text = "comm all = 0 1\nwindow w = all
         0: enter MPI_Win_create @0, rma w begin @1, rma w create @8, rma w end create_handle @9, leave @9, enter MPI_Win_free @20, rma w begin @20, rma w destroy @28, rma w end destroy_handle @29, leave @30
         1: enter MPI_Win_create @5, rma w begin @6, rma w create @8, rma w end create_handle @9, leave @9, enter MPI_Win_free @22, rma w begin @22, rma w destroy @22, rma w end destroy_handle @24, leave @24";
    check(
        text,
        &[
            "wait_at_create 0 MPI_Win_create: 5 in 1 for 1 MPI_Win_create",
            "wait_at_create 0 MPI_Win_free: 2 in 1 for 1 MPI_Win_free",
        ],
    );
}

#[test]
fn other_collectives_on_windows_wait_as_on_communicators() {
    let text = "comm all = 0 1\nwindow w = all
         0: enter shmem_barrier_all @0, rma w begin @0, rma w end barrier @12, leave @12
         1: enter shmem_barrier_all @10, rma w begin @10, rma w end barrier @13, leave @14";
    check(
        text,
        &[
            "barrier_completion 1 shmem_barrier_all: 2 in 1",
            "wait_at_barrier 0 shmem_barrier_all: 10 in 1 for 1 shmem_barrier_all",
        ],
    );
}

/// Rank 0 accesses the memory of ranks 1 and 2, which post at these times.
fn accesses(origin: &str, posts: [u64; 2]) -> String {
    let target = |rank: u64, post: u64| {
        format!(
            "{rank}: enter MPI_Win_post @{post}, rma w sync 0 @{post}, leave @{post}, enter MPI_Win_wait @200, rma w sync 0 @200, leave @200"
        )
    };
    format!("comm all = 0 1 2\nwindow w = all\n0: {origin}\n{}\n{}", target(1, posts[0]), target(2, posts[1]))
}

#[test]
fn a_post_is_late_for_the_call_that_holds_it() {
    let late = |origin: &str, posts, expected: &[&str]| check(&accesses(origin, posts), expected);
    let blocking = "enter MPI_Win_start @10, rma w sync 1 2 @40, leave @40, enter MPI_Put @40, rma w put 1 8 1 @40, leave @50, enter MPI_Win_complete @50, rma w sync 1 2 @60, leave @60";
    late(blocking, [15, 35], &["late_post 0 MPI_Win_start: 25 in 1 for 2 MPI_Win_post"]);
    // Of two at one time, the smaller rank is the culprit.
    late(blocking, [35, 35], &["late_post 0 MPI_Win_start: 25 in 1 for 1 MPI_Win_post"]);
    late(blocking, [5, 10], &[]);
    let lazy = "enter MPI_Win_start @10, rma w sync 1 2 @11, leave @11, enter MPI_Put @20, rma w put 1 8 1 @20, leave @21, enter MPI_Get @30, rma w get 2 8 2 @30, leave @45, enter MPI_Win_complete @50, rma w sync 1 2 @60, leave @60";
    late(lazy, [15, 40], &["late_post 0 MPI_Get: 10 in 1 for 2 MPI_Win_post"]);
    late(lazy, [59, 40], &["late_post 0 MPI_Win_complete: 9 in 1 for 1 MPI_Win_post"]);
    // Between two calls, nobody waits.
    late(lazy, [15, 25], &[]);
}

#[test]
fn a_wait_is_early_until_the_last_origin_completes() {
    // C = 60; the last access to rank 0 ends at 40, so from then on completion is late.
    let text = "comm all = 0 1 2\nwindow w = all
         0: enter MPI_Win_post @0, rma w sync 1 2 @0, leave @0, enter MPI_Win_wait @10, rma w sync 1 2 @61, leave @61
         1: enter MPI_Win_start @0, rma w sync 0 @0, leave @0, enter MPI_Put @5, rma w put 0 8 1 @5, leave @8, enter MPI_Win_complete @20, rma w sync 0 @20, leave @20
         2: enter MPI_Win_start @0, rma w sync 0 1 @0, leave @0, enter MPI_Put @30, rma w put 0 8 1 @30, leave @40, enter MPI_Put @41, rma w put 1 8 2 @41, leave @55, enter MPI_Win_complete @60, rma w sync 0 1 @62, leave @62";
    let trace = ToyTrace::new(text);
    // Rank 1 never lets rank 2 in: who waits for that is unknown.
    let (output, report) = run_report(&trace, &Filter::default(), Waits::new(trace.definitions()));
    assert_eq!(
        described(&output, trace.definitions()),
        [
            "early_wait 0 MPI_Win_wait: 50 in 1 for 2 MPI_Win_complete",
            "late_complete 0 MPI_Win_wait: 20 in 1 for 2 MPI_Win_complete",
        ]
    );
    let codes: Vec<_> = report.notices.iter().map(|notice| (notice.code, notice.count)).collect();
    assert_eq!(codes, [(NoticeCode::UnalignedSynchronisations, 1)]);
}

#[test]
fn without_accesses_all_of_an_early_wait_is_late_completion() {
    let text = "comm all = 0 1\nwindow w = all
         0: enter MPI_Win_post @0, rma w sync 1 @0, leave @0, enter MPI_Win_wait @10, rma w sync 1 @20, leave @20
         1: enter MPI_Win_start @0, rma w sync 0 @0, leave @0, enter MPI_Win_complete @19, rma w sync 0 @19, leave @19";
    check(
        text,
        &[
            "early_wait 0 MPI_Win_wait: 9 in 1 for 1 MPI_Win_complete",
            "late_complete 0 MPI_Win_wait: 9 in 1 for 1 MPI_Win_complete",
        ],
    );
}

#[test]
fn a_test_ends_an_epoch_and_never_waits() {
    // Epochs go on after it: the second is matched with the second.
    let text = "comm all = 0 1\nwindow w = all
         0: enter MPI_Win_post @0, rma w sync 1 @0, leave @0, enter MPI_Win_test @5, rma w asked 1 @6, leave @6, enter MPI_Win_test @10, rma w sync 1 @20, leave @20, enter MPI_Win_post @30, rma w sync 1 @30, leave @30, enter MPI_Win_wait @30, rma w sync 1 @50, leave @50
         1: enter MPI_Win_start @0, rma w sync 0 @0, leave @0, enter MPI_Win_complete @19, rma w sync 0 @19, leave @19, enter MPI_Win_start @30, rma w sync 0 @30, leave @30, enter MPI_Win_complete @45, rma w sync 0 @45, leave @45";
    check(
        text,
        &[
            "early_wait 0 MPI_Win_wait: 15 in 1 for 1 MPI_Win_complete",
            "late_complete 0 MPI_Win_wait: 15 in 1 for 1 MPI_Win_complete",
        ],
    );
}

#[test]
fn a_wait_that_ends_before_its_accesses_shows_wrong_clocks() {
    let text = "comm all = 0 1\nwindow w = all
         0: enter MPI_Win_post @0, rma w sync 1 @0, leave @0, enter MPI_Win_wait @10, rma w sync 1 @20, leave @20
         1: enter MPI_Win_start @0, rma w sync 0 @0, leave @0, enter MPI_Win_complete @27, rma w sync 0 @27, leave @27";
    let trace = ToyTrace::new(text);
    let (output, report) = run_report(&trace, &Filter::default(), Waits::new(trace.definitions()));
    assert_eq!(
        described(&output, trace.definitions()),
        ["early_wait 0 MPI_Win_wait: 10 in 1 for 1 MPI_Win_complete (doubtful)"]
    );
    let said: Vec<_> =
        report.notices.iter().map(|it| (it.code, it.count, it.message.contains("7 ns"))).collect();
    assert_eq!(said, [(NoticeCode::MessageOrder, 1, true)]);
}

#[test]
fn groups_that_synchronise_in_unknown_calls_are_counted() {
    let trace = ToyTrace::new(
        "comm all = 0 1\nwindow w = all
         0: enter MPI_Win_magic @0, rma w sync 1 @0, leave @9
         1: enter MPI_Win_magic @0, rma w sync 0 @0, leave @9",
    );
    let (output, report) = run_report(&trace, &Filter::default(), Waits::new(trace.definitions()));
    assert!(output.is_empty() && output.missing().is_none());
    assert_eq!(report.notices.iter().map(|it| it.count).sum::<u64>(), 2);
}

#[test]
fn an_exclusive_lock_waits_for_all_and_a_shared_one_for_exclusive_ones() {
    // Ranks 1 and 2 share the lock of rank 0 until 20 and 30; rank 3 asks at 5 and holds it until 50; rank 1 asks again
    // at 35, to share it.
    let shared = |enter: u64, had: u64, unlock: u64| {
        format!(
            "enter MPI_Win_lock @{enter}, rma w request 0 shared @{enter}, leave @{had}, enter MPI_Win_unlock @{unlock}, rma w release 0 @{unlock}, leave @{unlock}"
        )
    };
    let text = format!(
        "comm all = 0 1 2 3\nwindow w = all
         0: enter main @0, leave @1
         1: {}, {}
         2: {}
         3: enter MPI_Win_lock @5, rma w request 0 exclusive @5, leave @31, enter MPI_Put @31, rma w put 0 8 1 @31, leave @40, enter MPI_Win_unlock @50, rma w release 0 @51, leave @51",
        shared(0, 0, 20),
        shared(35, 50, 60),
        shared(2, 2, 30),
    );
    check(
        &text,
        &[
            "rma_lock 1 MPI_Win_lock: 15 in 1 for 3 MPI_Win_unlock",
            "rma_lock 3 MPI_Win_lock: 25 in 1 for 2 MPI_Win_unlock",
        ],
    );
}

#[test]
fn a_lock_that_is_taken_late_is_waited_for_where_it_is_needed() {
    // The calls that lock return at once; rank 2 waits when it flushes, rank 1 when it unlocks.
    let text = "comm all = 0 1 2\nwindow w = all
         0: enter MPI_Win_lock @0, rma w request 0 exclusive @0, leave @1, enter MPI_Win_unlock @30, rma w release 0 @31, leave @31
         1: enter MPI_Win_lock @5, rma w request 0 exclusive @5, leave @6, enter MPI_Put @7, rma w put 0 8 1 @7, leave @8, enter MPI_Win_unlock @40, rma w complete 1 @70, rma w release 0 @70, leave @70
         2: enter MPI_Win_lock @3, rma w request 0 exclusive @3, leave @4, enter MPI_Put @5, rma w put 0 8 1 @5, leave @6, enter MPI_Win_flush @10, rma w remote 1 @33, leave @33, enter MPI_Win_unlock @60, rma w release 0 @61, leave @61";
    check(
        text,
        &[
            "rma_lock 1 MPI_Win_unlock: 20 in 1 for 2 MPI_Win_unlock",
            "rma_lock 2 MPI_Win_flush: 20 in 1 for 0 MPI_Win_unlock",
        ],
    );
}

#[test]
fn a_lock_of_all_targets_conflicts_with_that_of_each() {
    let text = "comm all = 0 1 2\nwindow w = all
         0: enter MPI_Win_lock @0, rma w request 2 exclusive @0, leave @0, enter MPI_Win_unlock @30, rma w release 2 @30, leave @30
         1: enter MPI_Win_lock_all @10, rma w request all shared @10, leave @30, enter MPI_Win_unlock_all @50, rma w release all @50, leave @50
         2: enter MPI_Win_lock @20, rma w request 0 exclusive @20, leave @50, enter MPI_Win_unlock @60, rma w release 0 @60, leave @60";
    check(
        text,
        &[
            "rma_lock 1 MPI_Win_lock_all: 20 in 1 for 0 MPI_Win_unlock",
            "rma_lock 2 MPI_Win_lock: 30 in 1 for 1 MPI_Win_unlock_all",
        ],
    );
}

#[test]
fn locks_of_other_windows_and_targets_do_not_conflict() {
    let text = "comm all = 0 1\nwindow w = all\nwindow v = all
         0: enter MPI_Win_lock @0, rma w request 0 exclusive @0, leave @0, enter MPI_Win_lock @0, rma v request 1 exclusive @0, leave @0, enter MPI_Win_unlock @30, rma w release 0 @30, leave @30, enter MPI_Win_unlock @35, rma v release 1 @35, leave @35
         1: enter MPI_Win_lock @10, rma w request 1 exclusive @10, leave @32, enter MPI_Win_lock @33, rma v request 0 exclusive @33, leave @40, enter MPI_Win_unlock @50, rma w release 1 @50, leave @50, enter MPI_Win_unlock @51, rma v release 0 @51, leave @51";
    check(text, &[]);
}

#[test]
fn a_recorded_acquisition_ends_the_wait() {
    let text = "comm all = 0 1\nwindow w = all
         0: enter shmem_set_lock @0, rma w acquire all exclusive @1, leave @1, enter shmem_clear_lock @30, rma w release all @31, leave @31
         1: enter shmem_set_lock @10, rma w acquire all exclusive @32, leave @32, enter shmem_clear_lock @40, rma w release all @40, leave @40";
    check(text, &["rma_lock 1 shmem_set_lock: 20 in 1 for 0 shmem_clear_lock"]);
}

#[test]
fn a_part_of_a_window_alone_shows_no_value() {
    let text = format!("comm all = 0 1 2\nwindow w = all\n0: {}\n1: {}", fence(0, 9), fence(8, 9));
    let trace = ToyTrace::new(&text);
    let (output, report) = run_report(&trace, &Filter::default(), Waits::new(trace.definitions()));
    assert!(output.waits.is_empty());
    assert_eq!(
        report.notices.iter().map(|it| (it.code, it.count)).collect::<Vec<_>>(),
        [(NoticeCode::UnalignedSynchronisations, 2)]
    );
    // Ranks that are only not selected take part all the same.
    let all = ToyTrace::new(&format!("{text}\n2: {}", fence(9, 9)));
    let filter = Filter { ranks: Some(RankSet::from_ranges(&[(0, 0)])), ..Filter::default() };
    let (output, report) = run_report(&all, &filter, Waits::new(all.definitions()));
    assert_eq!(output.total().0, 9);
    assert!(report.notices.is_empty());
    assert_eq!(waits(&all).total().0, 10);
}
