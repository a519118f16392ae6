use super::*;
use ouzel_model::{Filter, Level, NoticeCode, TraceSource};
use ouzel_testkit::{ToyTrace, laws, run, run_report};

/// One line for each row: who waits where, for whom, how often and how long.
fn described(trace: &ToyTrace, output: &LateMessagesOutput) -> Vec<String> {
    let name = |path| {
        let regions = output.call_paths.regions(path);
        regions.last().map_or_else(String::new, |&r| trace.definitions().region(r).name.to_string())
    };
    let row = |row: &LateRow| {
        let pairs: Vec<String> = row
            .pairs
            .iter()
            .map(|p| format!("{}<-{} {}x {}", p.waiting, p.culprit, p.n_waits, p.wait.0))
            .collect();
        format!(
            "{:?} {} for {}: {} ({} indirect) [{}]",
            row.kind,
            name(row.waiting),
            name(row.culprit),
            row.wait.0,
            row.indirect.0,
            pairs.join(", ")
        )
    };
    output.rows.iter().map(row).collect()
}

fn check(text: &str, expected: &[&str]) {
    let trace = ToyTrace::new(text);
    let output = run(&trace, LateMessages::default());
    assert_eq!(described(&trace, &output), expected);
}

#[test]
fn a_receive_waits_until_the_send_is_entered() {
    check(
        "0: enter MPI_Recv @10, recv<1 @90, leave @90
         1: enter work @0, leave @60, enter MPI_Send @60, send>0 @65, leave @66",
        &["LateSender MPI_Recv for MPI_Send: 50 (0 indirect) [0<-1 1x 50]"],
    );
}

#[test]
fn an_early_send_makes_nobody_wait() {
    check(
        "0: enter MPI_Recv @10, recv<1 @14, leave @14
         1: enter MPI_Send @5, send>0 @6, leave @9",
        &[],
    );
}

#[test]
fn a_send_waits_for_its_receive_only_if_it_blocks() {
    let blocked = "0: enter MPI_Send @10, send>1 @11, leave @50
                   1: enter MPI_Recv @40, recv<0 @48, leave @48";
    check(blocked, &["LateReceiver MPI_Send for MPI_Recv: 30 (0 indirect) [0<-1 1x 30]"]);
    let just_blocked = "0: enter MPI_Send @10, send>1 @11, leave @40
                        1: enter MPI_Recv @40, recv<0 @48, leave @48";
    check(just_blocked, &["LateReceiver MPI_Send for MPI_Recv: 30 (0 indirect) [0<-1 1x 30]"]);
    let buffered = "0: enter MPI_Send @10, send>1 @11, leave @39
                    1: enter MPI_Recv @40, recv<0 @48, leave @48";
    check(buffered, &[]);
}

#[test]
fn non_blocking_receives_are_paired_as_posted_and_wait_where_they_complete() {
    // The second message is complete first; tags are equal.
    check(
        "0: enter MPI_Irecv @1, request 7 recv-posted @1, leave @2, enter MPI_Irecv @2, request 8 recv-posted @2, leave @3, enter MPI_Wait @10, recv<1 bytes 2 request 8 @40, leave @40, enter MPI_Wait @41, recv<1 bytes 1 request 7 @42, leave @42
         1: enter MPI_Send @5, send>0 bytes 1 @5, leave @6, enter MPI_Isend @30, send>0 bytes 2 request 3 @30, leave @31",
        &["LateSender MPI_Wait for MPI_Isend: 20 (0 indirect) [0<-1 1x 20]"],
    );
}

#[test]
fn a_wait_for_many_messages_counts_once_for_the_latest() {
    check(
        "0: enter MPI_Irecv @1, request 7 recv-posted @1, leave @2, enter MPI_Irecv @2, request 8 recv-posted @2, leave @3, enter MPI_Waitall @10, recv<1 request 7 @50, recv<2 request 8 @50, leave @50
         1: enter MPI_Send @20, send>0 @20, leave @21
         2: enter MPI_Send @45, send>0 @45, leave @46",
        &["LateSender MPI_Waitall for MPI_Send: 35 (0 indirect) [0<-2 1x 35]"],
    );
}

#[test]
fn a_non_blocking_send_waits_where_it_completes() {
    check(
        "0: enter MPI_Isend @1, send>1 request 5 @1, leave @2, enter MPI_Wait @4, request 5 send-complete @30, leave @30
         1: enter MPI_Recv @24, recv<0 @29, leave @29",
        &["LateReceiver MPI_Wait for MPI_Recv: 20 (0 indirect) [0<-1 1x 20]"],
    );
}

#[test]
fn waiting_for_one_who_waits_is_indirect() {
    // 1 waits for 2 from 10 to 60, so 40 of what 0 waits for 1 is the fault of 2.
    check(
        "0: enter MPI_Recv @20, recv<1 @90, leave @90
         1: enter MPI_Recv @10, recv<2 @61, leave @61, enter work @61, leave @80, enter MPI_Send @80, send>0 @81, leave @82
         2: enter work @0, leave @60, enter MPI_Send @60, send>1 @60, leave @61",
        &["LateSender MPI_Recv for MPI_Send: 110 (40 indirect) [0<-1 1x 60, 1<-2 1x 50]"],
    );
}

#[test]
fn computation_does_not_wait() {
    check(
        "0: enter work @10, recv<1 @90, leave @90
         1: enter work @60, send>0 @65, leave @66",
        &[],
    );
}

#[test]
fn nothing_is_lost_in_silence() {
    let trace = ToyTrace::new(
        "0: enter MPI_Recv @1, recv<1 @2, leave @2, enter MPI_Irecv @3, request 1 recv-posted @3, leave @4, send>9 @5
         1: enter MPI_Send @3, send>0 tag 4 @3, leave @4",
    );
    let (output, report) = run_report(&trace, &Filter::default(), LateMessages::default());
    assert_eq!((output.n_messages, output.unmatched_sends, output.unmatched_receives), (0, 1, 1));
    assert_eq!((output.unresolved_peers, output.uncompleted_receives), (1, 1));
    let seen: Vec<_> = report.notices.iter().map(|n| (n.level, n.code, n.count)).collect();
    let unmatched = NoticeCode::UnmatchedMessages;
    assert_eq!(
        seen,
        [
            (Level::Medium, unmatched, 1),
            (Level::Medium, unmatched, 1),
            (Level::Medium, unmatched, 1),
            (Level::Low, unmatched, 1)
        ]
    );
}

#[test]
fn wrong_clocks_show() {
    let trace = ToyTrace::new(
        "0: enter MPI_Recv @1, recv<1 @2, leave @2
         1: enter MPI_Send @3, send>0 @3, leave @4",
    );
    let (output, report) = run_report(&trace, &Filter::default(), LateMessages::default());
    assert_eq!((output.n_messages, output.received_before_sent), (1, 1));
    assert_eq!(report.notices[0].code, NoticeCode::MessageOrder);
}

#[test]
fn ends_of_a_communicator_that_is_defined_twice_are_paired() {
    check(
        "comm a = 0 1
         comm b = 0 1
         0: enter MPI_Recv @1, recv<1 comm a @20, leave @20
         1: enter MPI_Send @15, send>0 comm b @16, leave @17",
        &["LateSender MPI_Recv for MPI_Send: 14 (0 indirect) [0<-1 1x 14]"],
    );
}

#[test]
fn messages_are_counted_where_they_are_sent() {
    let trace = ToyTrace::new(
        "0: enter MPI_Send @1, send>1 bytes 8 @2, leave @3, enter MPI_Send @4, send>1 bytes 4 @5, leave @6, enter MPI_Send @7, send>2 bytes 1 @8, leave @9
         1: recv<0 @9, recv<0 @9
         2: recv<0 @9",
    );
    let output = run(&trace, LateMessages::default());
    let [row] = output.sends[..] else { panic!("{output:?}") };
    assert_eq!((row.n_messages, row.bytes, row.n_pairs), (3, 13, 2));
    // In a tree with another path in front, the numbers are others and the paths the same.
    let mut tree = ouzel_model::CallPathTree::default();
    tree.child(ouzel_model::CallPathTree::ROOT, ouzel_model::RegionId(77));
    let names = |output: &LateMessagesOutput| output.call_paths.regions(output.sends[0].call_path);
    let before = names(&output);
    let output = output.numbered_like(&mut tree);
    assert_eq!(names(&output), before);
    assert_ne!(output.sends[0].call_path, row.call_path);
}

#[test]
fn laws_hold() {
    laws::check(LateMessages::default, |output| {
        let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
        let LateMessagesOutput { rows, sends, n_messages, unmatched_sends, unmatched_receives, .. } = output;
        let n = (output.unresolved_peers, output.uncompleted_receives, output.received_before_sent);
        format!("{paths:?} {rows:?} {sends:?} {n_messages} {unmatched_sends} {unmatched_receives} {n:?}")
    });
}
