use super::state::CommunicationPartial;
use super::*;
use crate::{By, Per};
use ouzel_model::{
    CollectiveOp, ColumnData, CommId, Communicator, Filter, Level, Membership, NoticeCode, TraceSource,
    WorldRank,
};
use ouzel_testkit::{ToyTrace, laws, run, run_report};

const EXCHANGE: &str = "
    comm pair = 1 0
    0: enter main @0, enter MPI_Send @1, send>1 tag 3 bytes 64 @2, send>1 tag 3 bytes 36 @3, leave @4, collective allreduce bytes 8/16 @5, enter MPI_Recv @6, recv<0 comm pair bytes 5 @7, leave @8, leave @9
    1: enter main @0, enter MPI_Recv @1, recv<0 tag 3 bytes 64 @2, recv<0 tag 4 bytes 36 @3, leave @4, collective allreduce bytes 8/16 @5, collective barrier @6, enter MPI_Send @7, send>1 comm pair bytes 5 @8, leave @8, leave @9";

#[test]
fn totals_go_to_the_innermost_region_and_its_rank() {
    let trace = ToyTrace::new(EXCHANGE);
    let output = run(&trace, Communication);
    let rows = output.rows(trace.definitions(), By::Region, Per::Rank);
    let seen: Vec<_> = rows
        .iter()
        .map(|row| {
            let MessageTotals { sends, bytes_sent, receives, bytes_received, .. } = row.messages;
            let c = row.collectives;
            let name = &*trace.definitions().region(row.key.region).name;
            let collectives = [c.operations, c.bytes_sent, c.bytes_received];
            (name, row.key.rank.unwrap().0, [sends, bytes_sent, receives, bytes_received], collectives)
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("MPI_Recv", 1, [0, 0, 2, 100], [0; 3]),
            ("MPI_Send", 0, [2, 100, 0, 0], [0; 3]),
            ("main", 0, [0; 4], [1, 8, 16]),
            ("main", 1, [0; 4], [2, 8, 16]),
            ("MPI_Recv", 0, [0, 0, 1, 5], [0; 3]),
            ("MPI_Send", 1, [1, 5, 0, 0], [0; 3]),
        ]
    );
    assert_eq!(output.total_messages().bytes_sent, 105);
    assert_eq!(output.total_collectives().operations, 3);
    let ops: Vec<_> = output
        .locations
        .iter()
        .flat_map(|location| &location.collectives)
        .map(|row| (row.op, row.totals.operations, row.totals.bytes_received))
        .collect();
    assert_eq!(
        ops,
        [(CollectiveOp::Allreduce, 1, 16), (CollectiveOp::Barrier, 1, 0), (CollectiveOp::Allreduce, 1, 16)]
    );
}

#[test]
fn a_burst_ends_where_something_is_received() {
    let trace = ToyTrace::new(
        "
        0: enter f @0, send>1 @1, send>1 @2, send>2 @3, recv<1 @4, send>1 @5, send>1 @6, collective barrier @7, send>1 @8, leave @9
        1: enter f @0, leave @9
        2: enter f @0, leave @9",
    );
    let output = run(&trace, Communication);
    let totals = output.total_messages();
    // To 1: three of one or two; to 2: one.
    assert_eq!((totals.sends, totals.bursts), (6, 4));
}

#[test]
fn peers_are_ranks_of_their_communicator_and_tags_are_kept_apart() {
    // On `pair`, rank 0 is world rank 1: that message has both sides. Tags 3 and 4 have one too many each.
    let (output, report) = run_report(&ToyTrace::new(EXCHANGE), &Filter::default(), Communication);
    assert_eq!((output.unmatched_sends, output.unmatched_receives, output.unresolved_peers), (1, 1, 0));
    let channel = |tag| Channel { from: WorldRank(0), to: WorldRank(1), comm: CommId(0), tag };
    assert_eq!(
        output.unmatched,
        [
            UnmatchedChannel { channel: channel(3), sends_less_receives: 1 },
            UnmatchedChannel { channel: channel(4), sends_less_receives: -1 },
        ]
    );
    let seen: Vec<_> = report.notices.iter().map(|n| (n.level, n.code, n.count)).collect();
    assert_eq!(seen, [(Level::Medium, NoticeCode::UnmatchedMessages, 1); 2]);
}

#[test]
fn in_a_selection_nothing_is_said_to_be_one_sided() {
    let trace = ToyTrace::new(EXCHANGE);
    let of_rank = Filter { ranks: Some("0".parse().unwrap()), ..Filter::default() };
    let of_time = Filter { time_ns: Some((0, 6)), ..Filter::default() };
    let by_rank = Filter::default().and("rank = 0".parse().unwrap());
    for filter in [of_rank, of_time, by_rank] {
        let (output, report) = run_report(&trace, &filter, Communication);
        assert_eq!((output.unmatched_sends, output.unmatched_receives), (0, 0), "{filter:?}");
        assert!(report.notices.is_empty(), "{filter:?}: {:?}", report.notices);
    }
}

#[test]
fn a_peer_that_is_no_member_is_counted_and_not_matched() {
    let trace = ToyTrace::new("0: send>7 @1, recv<0 @2, send>0 @3");
    let (output, report) = run_report(&trace, &Filter::default(), Communication);
    assert_eq!((output.unmatched_sends, output.unmatched_receives, output.unresolved_peers), (0, 0, 1));
    assert_eq!(report.notices[0].count, 1);
    assert_eq!(output.total_messages().sends, 2);
    assert!(output.rows(trace.definitions(), By::Region, Per::Total).is_empty());
}

#[test]
fn ranks_that_were_not_recorded_leave_nothing_doubtful() {
    let mut trace = ToyTrace::new("0: send>2 @1, send>1 @2\n1: recv<0 @3, recv<2 @4");
    trace.definitions_mut().communicators[0] = communicator(&[0, 1, 2], None);
    let (output, report) = run_report(&trace, &Filter::default(), Communication);
    assert_eq!((output.unmatched_sends, output.unmatched_receives), (1, 1));
    assert_eq!(report.notices.iter().map(|n| (n.level, n.count)).collect::<Vec<_>>(), [(Level::Low, 2)]);
}

#[test]
fn a_message_to_nobody_lacks_nothing() {
    let trace = ToyTrace::new("0: send>4294967294 bytes 8 @1, recv<4294967295 @2, other @3");
    let (output, report) = run_report(&trace, &Filter::default(), Communication);
    assert_eq!((output.unmatched_sends, output.unresolved_peers, output.null_peers), (0, 0, 2));
    assert_eq!(report.notices.iter().map(|n| (n.level, n.count)).collect::<Vec<_>>(), [(Level::Low, 2)]);
}

fn communicator(members: &[u32], remote: Option<&[u32]>) -> Communicator {
    let ranks = |ranks: &[u32]| ranks.iter().copied().map(WorldRank).collect();
    Communicator { remote_members: remote.map(ranks), ..Communicator::of_ranks("", ranks(members)) }
}

#[test]
fn groups_of_an_inter_communicator_name_each_other() {
    let mut trace = ToyTrace::new(
        "
        comm inter = 0 1
        0: send>1 comm inter @1
        1: other @1
        2: other @1
        3: recv<0 comm inter @9",
    );
    trace.definitions_mut().communicators[1] = communicator(&[0, 1], Some(&[2, 3]));
    let output = run(&trace, Communication);
    assert_eq!((output.unmatched_sends, output.unmatched_receives, output.unresolved_peers), (0, 0, 0));
}

#[test]
fn a_communicator_that_is_defined_twice_is_one_in_the_end() {
    let trace = ToyTrace::new(
        "
        comm a = 0 1
        comm b = 0 1
        comm c = 1 0
        0: send>1 comm a @1, send>1 comm a @2
        1: recv<0 comm b @3, recv<1 comm c @4",
    );
    let output = run(&trace, Communication);
    assert_eq!((output.unmatched_sends, output.unmatched_receives), (1, 1));
}

#[test]
fn a_process_talks_to_itself_on_a_communicator_without_members() {
    let mut trace = ToyTrace::new(
        "
        comm self = 0
        0: other @0
        1: send>0 comm self @1, recv<0 comm self @2",
    );
    trace.definitions_mut().communicators[1] =
        Communicator { membership: Membership::Caller, ..communicator(&[], None) };
    let output = run(&trace, Communication);
    assert_eq!((output.unmatched_sends, output.unmatched_receives, output.unresolved_peers), (0, 0, 0));
}

#[test]
fn channels_in_balance_take_no_room() {
    let mut partial = CommunicationPartial::default();
    let channel = Channel { from: WorldRank(0), to: WorldRank(1), comm: CommId(0), tag: 0 };
    partial.add_to_channel(channel, 3);
    partial.add_to_channel(channel, -3);
    assert_eq!(partial, CommunicationPartial::default());
}

#[test]
fn buckets_share_the_channels() {
    let bucket = |tag| Channel { from: WorldRank(0), to: WorldRank(1), comm: CommId(0), tag }.bucket(4);
    let mut seen: Vec<usize> = (0..64).map(bucket).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [0, 1, 2, 3]);
}

#[test]
fn tables_have_the_totals() {
    let trace = ToyTrace::new(EXCHANGE);
    let output = run(&trace, Communication);
    let table = output.table(trace.definitions(), By::Region, Per::Total);
    let column = |name: &str| table.column(name).unwrap().data.clone();
    assert_eq!(column("bytes_received"), ColumnData::U64(vec![105, 0, 0]));
    assert_eq!(column("collective_bytes_sent"), ColumnData::U64(vec![0, 0, 16]));
}

#[test]
fn laws_hold() {
    laws::check(Communication::default, |output| {
        let CommunicationOutput { locations, unmatched, unmatched_sends, unmatched_receives, .. } = output;
        let paths: Vec<_> = output.call_paths.paths().map(|p| output.call_paths.regions(p)).collect();
        let n = (unmatched_sends, unmatched_receives, output.unresolved_peers);
        format!("{paths:?} {locations:?} {unmatched:?} {n:?}")
    });
}
