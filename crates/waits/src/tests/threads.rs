use super::{check, described, waits};
use crate::{ClassRole, Waits};
use ouzel_model::{Filter, NoticeCode, TraceSource};
use ouzel_testkit::{ToyTrace, run_report};

#[test]
fn a_lock_is_waited_for_from_the_call_to_the_release_before() {
    check(
        "0: enter main @0, enter omp_set_lock @10, acquire 3#1 @11, leave @12, enter work @12, leave @40,
            enter omp_unset_lock @40, release 3#1 @41, leave @42, leave @50
         0.1: enter foo @0, enter omp_set_lock @20, acquire 3#2 @44, leave @45, leave @50"
            .replace('\n', " ")
            .replace("         0.1", "\n0.1")
            .as_str(),
        &["lock_contention 0 foo/omp_set_lock: 21 in 1 for 0 main/omp_set_lock"],
    );
}

#[test]
fn acquisitions_are_in_the_order_of_their_numbers() {
    // By the times of the records, thread 0 would have been first.
    check(
        "0: enter !$omp critical @0, acquire 1#2 @30, release 1#2 @35, leave @40
         0.1: enter !$omp critical @5, acquire 1#1 @32, release 1#1 @33, leave @40
         0.2: enter !$omp critical @6, acquire 1#3 @36, release 1#3 @37, leave @40",
        &["lock_contention 0 !$omp critical: 59 in 2 for 0 !$omp critical"],
    );
}

#[test]
fn locks_of_other_processes_and_models_are_others() {
    check(
        "0: enter omp_set_lock @0, acquire 1#1 @0, leave @1, enter work @1, release 1#1 @90, leave @90
         0.1: enter pthread_mutex_lock @5, acquire p1#2 @50, leave @50
         1: enter omp_set_lock @5, acquire 1#2 @60, leave @60
         1.1: enter omp_set_lock @5, acquire 2#2 @60, leave @60",
        &[],
    );
}

#[test]
fn nobody_waits_in_code_that_does_more_than_take_a_lock() {
    check(
        "0: enter pthread_mutex_lock @0, acquire p1#1 @0, leave @1, enter work @1, release p1#1 @50, leave @50
         0.1: enter foo @5, acquire p1#2 @60, release p1#2 @60, leave @60
         0.2: enter pthread_mutex_trylock @5, acquire p1#3 @61, leave @61",
        &[],
    );
}

#[test]
fn a_condition_is_waited_for_from_the_release_of_its_lock() {
    check(
        "0: enter pthread_mutex_lock @0, acquire p1#1 @0, leave @1, enter pthread_cond_wait @10, release p1#1 @12, acquire p1#3 @70, leave @71
         0.1: enter work @0, leave @30, enter pthread_mutex_lock @30, acquire p1#2 @31, leave @31, enter pthread_mutex_unlock @60, release p1#2 @65, leave @66",
        &["condition_wait 0 pthread_cond_wait: 53 in 1 for 0 pthread_mutex_lock"],
    );
}

/// A team of three threads, and one of two that has a thread of its own; a task is run inside of a barrier.
const TEAM: &str = "
    team three = 0 0.1 0.2
    team two = 0 0.3
    0: enter main @0, enter !$omp parallel @10, fork 3 @10, team-begin three @11, enter foo @11, leave @20, enter !$omp implicit barrier @20, leave @62, team-end three @62, join @65, leave @66, enter solve @66, leave @70, enter !$omp parallel @80, fork 2 @80, team-begin two @80, enter !$omp implicit barrier @90, leave @90, team-end two @90, join @90, leave @91, leave @100
    0.1: team-begin three @13, enter foo @13, leave @60, enter !$omp implicit barrier @60, leave @61, team-end three @61
    0.2: team-begin three @12, enter !$omp implicit barrier @30, enter !$omp task @35, leave @50, leave @62, team-end three @63
    0.3: team-begin two @81, enter !$omp implicit barrier @85, leave @90, team-end two @90";

#[test]
fn threads_wait_at_barriers_and_have_nothing_to_do_outside_of_teams() {
    let trace = ToyTrace::new(TEAM);
    let (output, report) = run_report(&trace, &Filter::default(), Waits::new(trace.definitions()));
    let barrier = "!$omp implicit barrier";
    let mut expected = vec![
        // Thread 0 waits until 60; thread 2, too, but for its task, 5 + 10; thread 3 waits for 5.
        format!("openmp_wait_at_barrier 0 main/!$omp parallel/{barrier}: 40 in 1 for 0 {barrier}"),
        format!("openmp_wait_at_barrier 0 {barrier}: 20 in 3 for 0 {barrier}"),
        // Two threads have nothing to do while the master is outside of teams.
        "idle_threads 0 main: 58 in 6".to_owned(),
        "idle_threads 0 main/solve: 8 in 2".to_owned(),
        // The second team has one thread less.
        "limited_parallelism 0 main/!$omp parallel: 10 in 1".to_owned(),
        // 3 + 4 of thread 1, 2 + 2 of thread 2, 1 + 0 of thread 3.
        "management 0 main/!$omp parallel: 12 in 5".to_owned(),
    ];
    expected.sort_unstable();
    assert_eq!(described(&output, trace.definitions()), expected);
    assert!(report.notices.is_empty(), "{:?}", report.notices);
    assert_eq!((output.n_ranks, output.n_threads), (1, 3));
    let primary = output.classes().into_iter().filter(|it| it.class.role() == ClassRole::Primary);
    assert_eq!(primary.map(|it| it.wait.0).sum::<u64>(), output.total().0);
    assert_eq!(output.total().0, 40 + 20 + 58 + 8);
}

#[test]
fn a_range_of_time_cuts_what_threads_wait() {
    let trace = ToyTrace::new(TEAM);
    let total = |time_ns| {
        let filter = Filter { time_ns, ..Filter::default() };
        let output = run_report(&trace, &filter, Waits::new(trace.definitions())).0;
        let classes = output.classes().into_iter().map(|it| (it.class, it.wait.0));
        classes.collect::<std::collections::BTreeMap<_, _>>()
    };
    let whole = total(None);
    for cut in [1, 12, 33, 40, 63, 68, 85, 99] {
        let (mut sum, after) = (total(Some((0, cut))), total(Some((cut, 101))));
        for (class, wait) in after {
            *sum.entry(class).or_default() += wait;
        }
        assert_eq!(sum, whole, "{cut}");
    }
}

#[test]
fn a_barrier_without_all_members_of_its_team_has_no_value() {
    let trace = ToyTrace::new(
        "team two = 0 0.1
         team more = 0 0.1 0.2
         0: fork 2 @0, team-begin two @0, enter !$omp barrier @5, leave @9, team-end two @9, join @9, fork 2 @10, team-begin more @10, enter !$omp barrier @10, leave @20, team-end more @20, join @20
         0.1: team-begin two @0, team-end two @9, team-begin more @10, enter !$omp barrier @15, leave @20, team-end more @20
         0.2: enter foo @0, leave @30",
    );
    let (output, report) = run_report(&trace, &Filter::default(), Waits::new(trace.definitions()));
    assert!(output.waits.is_empty(), "{:?}", output.waits);
    let told: Vec<_> = report.notices.iter().map(|notice| (notice.code, notice.count)).collect();
    assert_eq!(told, [(NoticeCode::UnalignedSynchronisations, 3)]);
}

#[test]
fn without_records_of_teams_barriers_between_fork_and_join_are_one_team() {
    check(
        "0: enter main @0, fork 2 @5, enter !$omp barrier @10, leave @30, join @40, enter !$omp barrier @50, leave @60, leave @60
         0.1: enter !$omp barrier @30, leave @30, enter !$omp barrier @55, leave @60
         0.2: enter foo @0, leave @60",
        &[
            "openmp_wait_at_barrier 0 main/!$omp barrier: 20 in 1 for 0 !$omp barrier",
            "idle_threads 0 main: 15 in 2",
            "idle_threads 0 main/!$omp barrier: 10 in 1",
        ],
    );
}

#[test]
fn threads_wait_for_the_end_of_a_team_without_a_barrier() {
    // As a tracer sees it that records no barriers: threads end in the team when their work is done.
    check(
        "team two = 0 0.1
         0: enter main @0, fork 2 @10, team-begin two @10, enter foo @10, leave @30, team-end two @30, join @55, leave @60
         0.1: team-begin two @12, enter foo @12, leave @50, team-end two @50",
        &[
            "openmp_wait_at_barrier 0 main: 20 in 1",
            "idle_threads 0 main: 15 in 2",
            "management 0 main: 7 in 2",
        ],
    );
}

#[test]
fn locks_without_records_are_told() {
    let trace = ToyTrace::new(
        "team one = 0
         0: fork 1 @0, team-begin one @0, team-end one @1, join @1, enter pthread_mutex_lock @5, leave @50
         0.1: enter pthread_mutex_lock @0, leave @4, enter pthread_mutex_unlock @40, leave @40",
    );
    let (output, report) = run_report(&trace, &Filter::default(), Waits::new(trace.definitions()));
    assert!(output.waits.is_empty());
    let told: Vec<_> = report.notices.iter().map(|notice| (notice.code, notice.count)).collect();
    assert_eq!(told, [(NoticeCode::NotAvailable, 2)]);
}

#[test]
fn threads_and_messages_of_a_hybrid_run_wait_apart() {
    let trace = ToyTrace::new(
        "team first = 0 0.1
         team second = 1 1.1
         0: enter main @0, enter solve @0, leave @40, enter MPI_Send @40, send>1 bytes 8 @40, leave @41, leave @60
         0.1: enter foo @0, leave @60
         1: enter main @0, fork 2 @0, team-begin second @0, enter !$omp implicit barrier @10, leave @20, team-end second @20, join @20, enter MPI_Recv @20, recv<0 bytes 8 @42, leave @42, leave @60
         1.1: team-begin second @0, enter !$omp implicit barrier @20, leave @20, team-end second @20",
    );
    let output = waits(&trace);
    assert_eq!(
        described(&output, trace.definitions()),
        [
            "idle_threads 1 main/MPI_Recv: 22 in 1",
            "idle_threads 1 main: 18 in 1",
            "late_sender 1 main/MPI_Recv: 20 in 1 for 0 main/MPI_Send",
            "openmp_wait_at_barrier 1 main/!$omp implicit barrier: 10 in 1 for 1 !$omp implicit barrier",
        ]
    );
    assert_eq!((output.n_ranks, output.n_threads), (2, 4));
}

#[test]
fn without_records_of_forks_visits_of_a_parallel_region_at_one_time_are_one() {
    // Thread 1 leaves the first region when thread 0 is in the second.
    check(
        "0: enter main @0, enter !$omp parallel @10, enter !$omp barrier @20, leave @30, leave @31, enter !$omp parallel @35, enter !$omp barrier @50, leave @50, leave @51, leave @61
         0.1: enter !$omp parallel @9, enter !$omp barrier @30, leave @35, leave @37, enter !$omp parallel @38, enter !$omp barrier @40, leave @50, leave @52
         0.2: enter foo @0, leave @60",
        &[
            "openmp_wait_at_barrier 0 !$omp parallel/!$omp barrier: 10 in 1 for 0 main/!$omp parallel/!$omp barrier",
            "openmp_wait_at_barrier 0 main/!$omp parallel/!$omp barrier: 10 in 1 for 0 !$omp parallel/!$omp barrier",
            "idle_threads 0 main: 24 in 3",
        ],
    );
}

#[test]
fn a_thread_is_joined_when_it_has_ended() {
    check(
        "team pool = 0 0.1 0.2
         0: enter main @0, thread-create pool 1 @1, thread-create pool 2 @2, enter pthread_join @10, thread-wait pool 1 @41, leave @41, enter pthread_join @41, thread-wait pool 2 @42, leave @42, leave @50
         0.1: thread-begin pool 1 @3, enter work @3, leave @40, thread-end pool 1 @40
         0.2: thread-begin pool 2 @3, enter work @3, leave @30, thread-end pool 2 @30",
        &["thread_join 0 main/pthread_join: 30 in 1 for 0 "],
    );
}

#[test]
fn a_process_of_one_thread_is_not_looked_at() {
    let trace = ToyTrace::new(
        "0: enter omp_set_lock @0, acquire 1#2 @4, leave @5\n1: acquire 1#1 @0, release 1#1 @3",
    );
    let output = waits(&trace);
    assert!(output.is_empty() && output.missing().is_some());
    let several = waits(&ToyTrace::new("0: acquire 1#1 @0\n0.1: enter foo @0, leave @1"));
    assert!(several.is_empty() && several.missing().is_none());
}
