use super::output::DENSE_RANKS_MAX;
use super::state::CommMatrixPartial;
use super::*;
use crate::reference::random_traces;
use ouzel_model::{ColumnData, Communicator, Filter, Level, LocationId, Notices, TraceSource, WorldRank};
use ouzel_testkit::{ToyPayload, ToyTrace, golden, laws, run, run_report};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

/// The messages of `golden/pipit_ops.json`, one thread for each end so that times need not be sorted.
pub(crate) fn golden_messages(golden: &serde_json::Value) -> ToyTrace {
    let mut text = String::new();
    for rank in 0..3 {
        let _ = writeln!(text, "{rank}: other @0, other @40");
    }
    for message in golden["input"]["messages"].as_array().unwrap() {
        let value = |key: &str| message[key].as_u64().unwrap();
        let (from, to, bytes) = (value("src"), value("dst"), value("size"));
        let _ = writeln!(text, "{from}.1: send>{to} bytes {bytes} @{}", value("t_send"));
        let _ = writeln!(text, "{to}.1: recv<{from} bytes {bytes} @{}", value("t_recv"));
    }
    ToyTrace::new(&text)
}

#[test]
fn the_expected_values_are_met() {
    let golden = golden("pipit_ops");
    let output = run(&golden_messages(&golden), CommMatrix::default());
    let matrix =
        |key: &str| -> Vec<Vec<u64>> { serde_json::from_value(golden["expected"][key].clone()).unwrap() };
    assert_eq!(output.matrix(TrafficUnit::Messages), matrix("comm_matrix_count"));
    assert_eq!(output.matrix(TrafficUnit::Bytes), matrix("comm_matrix_size"));
    let by_process = golden["expected"]["comm_by_process"].as_object().unwrap();
    assert_eq!(by_process.len(), output.ranks.len());
    for row in output.by_process() {
        let expected = &by_process[&row.rank.0.to_string()];
        assert_eq!(row.sent.bytes, expected["sent"].as_u64().unwrap(), "sent by {:?}", row.rank);
        assert_eq!(row.received.bytes, expected["received"].as_u64().unwrap(), "received by {:?}", row.rank);
    }
}

#[test]
fn every_send_is_in_its_cell_and_every_receive_at_its_rank() {
    for trace in random_traces() {
        let output = run(&trace, CommMatrix::default());
        let mut cells: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
        let mut received: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let members = &trace.definitions().communicators[0].members;
        let mut unknown: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for location in trace.definitions().location_ids() {
            let rank = trace.definitions().location(location).rank.unwrap().0;
            for event in trace.events(location) {
                match &event.what {
                    ToyPayload::Send(end) => match members.get(end.peer.index()) {
                        Some(to) => {
                            let cell = cells.entry((rank, to.0)).or_default();
                            *cell = (cell.0 + 1, cell.1 + end.bytes);
                        }
                        None => {
                            let sum = unknown.entry(rank).or_default();
                            *sum = (sum.0 + 1, sum.1 + end.bytes);
                        }
                    },
                    ToyPayload::Recv(end) => {
                        let sum = received.entry(rank).or_default();
                        *sum = (sum.0 + 1, sum.1 + end.bytes);
                    }
                    _ => {}
                }
            }
        }
        let found: BTreeMap<_, _> = output
            .cells
            .iter()
            .map(|c| ((c.from.0, c.to.0), (c.traffic.messages, c.traffic.bytes)))
            .collect();
        assert_eq!(found, cells);
        let to_unknown = output.to_unknown.iter().map(|(from, t)| (from.0, (t.messages, t.bytes)));
        assert_eq!(to_unknown.collect::<BTreeMap<_, _>>(), unknown);
        for row in output.by_process() {
            let expected = received.get(&row.rank.0).copied().unwrap_or_default();
            assert_eq!((row.received.messages, row.received.bytes), expected);
            let of_row = cells.iter().filter(|((from, _), _)| *from == row.rank.0);
            let of_unknown = unknown.get(&row.rank.0).map_or(0, |(_, bytes)| *bytes);
            assert_eq!(row.sent.bytes, of_row.map(|(_, (_, bytes))| bytes).sum::<u64>() + of_unknown);
        }
    }
}

#[test]
fn a_selection_keeps_whom_it_talks_to() {
    let trace = ToyTrace::new(
        "
        0: other @0
        1: other @0
        2: send>7 @1, send>2 bytes 5 @2, send>0 bytes 3 @2, recv<2 bytes 5 @3, send>4294967294 @4
        3: recv<0 @1",
    );
    let filter = Filter { ranks: Some("2".parse().unwrap()), ..Filter::default() };
    let (output, report) = run_report(&trace, &filter, CommMatrix::default());
    assert_eq!(output.ranks, [WorldRank(0), WorldRank(2)]);
    assert_eq!(output.matrix(TrafficUnit::Bytes), [[0, 0], [3, 5]]);
    assert_eq!(output.to_unknown, [(WorldRank(2), Traffic { messages: 1, bytes: 0 })]);
    assert_eq!(output.null_peers, 1);
    assert_eq!(
        report.notices.iter().map(|n| (n.level, n.count)).collect::<Vec<_>>(),
        [(Level::Medium, 1), (Level::Low, 1)]
    );
    let table = output.by_process_table();
    assert_eq!(table.column("bytes_received").unwrap().data, ColumnData::OptionU64(vec![None, Some(5)]));
    let table = output.table();
    assert_eq!(table.column("to").unwrap().data, ColumnData::OptionU64(vec![Some(0), Some(2), None]));
}

fn expanded(text: &str) -> CommMatrixOutput {
    run(&ToyTrace::new(text), CommMatrix { expansion: Expansion::WithCollectives })
}

/// Ranks 0 to 3; each does the same with `bytes` of its own sent.
fn collective(op: &str, bytes: [u64; 4]) -> CommMatrixOutput {
    let lines = (0..4).map(|rank| format!("{rank}: collective {op} bytes {}/1 @1\n", bytes[rank]));
    expanded(&lines.collect::<String>())
}

#[test]
fn collectives_are_spread_as_documented() {
    let check = |op: &str, bytes: [u64; 4], expected: [[u64; 4]; 4], n_messages: u64| {
        let output = collective(op, bytes);
        assert_eq!(output.matrix(TrafficUnit::Bytes), expected, "{op}");
        let messages = output.matrix(TrafficUnit::Messages).concat();
        assert_eq!(messages.iter().sum::<u64>(), n_messages, "{op}");
        assert_eq!(output.not_expanded, Traffic::default(), "{op}");
    };
    let z = [0; 4];
    check("bcast root 1", [0, 42, 0, 0], [z, [11, 11, 10, 10], z, z], 4);
    check("bcast root 1", [9, 40, 9, 9], [z, [10, 10, 10, 10], z, z], 4);
    check("scatterv root 3", [0, 0, 0, 8], [z, z, z, [2, 2, 2, 2]], 4);
    check("reduce root 2", [5, 6, 7, 8], [[0, 0, 5, 0], [0, 0, 6, 0], [0, 0, 7, 0], [0, 0, 8, 0]], 4);
    check("allreduce", [4, 8, 0, 12], [[1; 4], [2; 4], z, [3; 4]], 16);
    check("alltoallw", [5, 0, 0, 0], [[2, 1, 1, 1], z, z, z], 16);
    check("scan", [4, 3, 2, 1], [[1; 4], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]], 10);
    check("exscan", [3, 2, 1, 0], [[0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], z], 6);
    check("barrier", z, [z; 4], 0);
}

#[test]
fn what_has_no_formula_is_counted() {
    let output = collective("create_handle_and_allocate", [1, 2, 3, 4]);
    assert_eq!(output.not_expanded, Traffic { messages: 4, bytes: 10 });
    assert!(output.cells.is_empty());
    // The last rank of an exclusive scan has no rank above it.
    assert_eq!(collective("exscan", [0, 0, 0, 7]).not_expanded, Traffic { messages: 1, bytes: 7 });
    assert_eq!(collective("bcast", [7, 0, 0, 0]).not_expanded, Traffic { messages: 1, bytes: 7 });
}

#[test]
fn collectives_count_on_request_only_and_add_to_messages() {
    let text = "
        comm pair = 1 0
        0: send>1 bytes 5 @1, collective allgather comm pair bytes 6/6 @2
        1: recv<0 bytes 5 @1, collective allgather comm pair bytes 8/8 @2
        2: other @1";
    let output = run(&ToyTrace::new(text), CommMatrix::default());
    assert_eq!(output.matrix(TrafficUnit::Bytes), [[0, 5, 0], [0, 0, 0], [0, 0, 0]]);
    let output = expanded(text);
    assert_eq!(output.matrix(TrafficUnit::Bytes), [[3, 8, 0], [4, 4, 0], [0, 0, 0]]);
    let received: Vec<u64> = output.received.iter().map(|traffic| traffic.bytes).collect();
    assert_eq!(received, [7, 12, 0]);
}

#[test]
fn between_groups_the_other_one_receives() {
    let mut trace = ToyTrace::new(
        "
        comm inter = 0
        0: collective allgather comm inter bytes 4/4 @1
        1: collective allgather comm inter bytes 6/6 @1
        2: collective allgather comm inter bytes 8/8 @1",
    );
    let ranks = |ranks: &[u32]| -> Arc<[WorldRank]> { ranks.iter().copied().map(WorldRank).collect() };
    let inter = &mut trace.definitions_mut().communicators[1];
    *inter = Communicator { members: ranks(&[0]), remote_members: Some(ranks(&[1, 2])), ..inter.clone() };
    let output = run(&trace, CommMatrix { expansion: Expansion::WithCollectives });
    assert_eq!(output.matrix(TrafficUnit::Bytes), [[0, 2, 2], [6, 0, 0], [8, 0, 0]]);
}

#[test]
fn many_ranks_take_memory_by_pairs_that_talk() {
    // 100,000 ranks in a ring, straight into a partial: a square matrix of them would take 80 GB.
    let n = 100_000;
    let mut partial = CommMatrixPartial::default();
    for rank in 0..n {
        partial.sent.insert((WorldRank(rank), WorldRank((rank + 1) % n)), Traffic::one(8));
    }
    let trace = ToyTrace::new("0: other @0");
    let paths = ouzel_model::CallPathTree::default();
    let (locations, notices) = (BTreeMap::new(), Notices::default());
    let cx = ouzel_engine::FinishCx {
        definitions: trace.definitions(),
        call_paths: &paths,
        locations: &locations,
        selected: &locations,
        window: None,
        notices: &notices,
    };
    let output = ouzel_engine::Analysis::finish(&CommMatrix::default(), partial, &cx).unwrap();
    assert_eq!((output.ranks.len(), output.cells.len()), (100_000, 100_000));
    assert_eq!(output.by_process()[99_999].sent, Traffic::one(8));
}

#[test]
fn expansion_keeps_every_recorded_byte() {
    for trace in random_traces() {
        let plain = run(&trace, CommMatrix::default());
        let output = run(&trace, CommMatrix { expansion: Expansion::WithCollectives });
        let total = |output: &CommMatrixOutput| output.cells.iter().map(|c| c.traffic.bytes).sum::<u64>();
        let mut recorded = 0;
        for location in trace.definitions().location_ids() {
            let rank = trace.definitions().location(location).rank.unwrap();
            recorded += collective_bytes(&trace, location, rank);
        }
        assert_eq!(total(&output) + output.not_expanded.bytes, total(&plain) + recorded);
        let ranks: BTreeSet<_> = output.ranks.iter().collect();
        assert_eq!(ranks.len(), output.ranks.len());
    }
}

/// Bytes that a location sends in collectives: all it records; in one-to-all operations only if it is the root.
fn collective_bytes(trace: &ToyTrace, location: LocationId, rank: WorldRank) -> u64 {
    use ouzel_model::{CollectiveOp, CollectiveRoot};
    let members = &trace.definitions().communicators[0].members;
    let ends = trace.events(location).iter().filter_map(|event| match &event.what {
        ToyPayload::CollectiveEnd(end) => Some(end),
        _ => None,
    });
    ends.filter(|end| {
        let is_one_to_all =
            matches!(end.op, CollectiveOp::Bcast | CollectiveOp::Scatter | CollectiveOp::Scatterv);
        let is_other = match end.root {
            CollectiveRoot::Rank(root) => members.get(root.index()).is_some_and(|&root| root != rank),
            _ => false,
        };
        !(is_one_to_all && is_other)
    })
    .map(|end| end.bytes_sent)
    .sum()
}

#[test]
fn laws_hold() {
    for expansion in [Expansion::PointToPoint, Expansion::WithCollectives] {
        laws::check(|| CommMatrix { expansion }, |output| format!("{output:?}"));
    }
}

#[test]
fn a_whole_matrix_has_a_limit_of_ranks() {
    let of = |n_ranks: usize| CommMatrixOutput {
        ranks: (0..n_ranks as u32).map(WorldRank).collect(),
        ..collective("barrier", [0; 4])
    };
    assert!(of(DENSE_RANKS_MAX).check_dense().is_ok());
    let error = of(DENSE_RANKS_MAX + 1).check_dense().unwrap_err().to_string();
    assert!(error.contains("4097 × 4097 ranks"), "{error}");
}
