//! The law of selections for every analysis whose numbers add up: see [`check_additive`].
//!
//! Numbers of visits and waits are left out: what reaches over a border counts on both sides of it.

use crate::breakdown::{ActivityTimes, Breakdown, HostCode, Requests};
use crate::call_path_profile::CallPathProfile;
use crate::clock_repair::ClockRepairs;
use crate::comm_matrix::{CommMatrix, Expansion};
use crate::comm_over_time::CommOverTime;
use crate::communication_totals::Communication;
use crate::critical_path::{WaitsOfDevices, critical_path};
use crate::logical_lateness::lateness;
use crate::message_histogram::MessageHistogram;
use crate::message_waits::LateMessages;
use crate::paired_operations::Operations;
use crate::phases::Phases;
use crate::semantics::Semantics;
use crate::severity_cube::{Quantity, SeverityCube};
use crate::time_grid::TimeGrid;
use ouzel_model::{CallPathId, CallPathTree, Definitions, Filter, Notices, Ticks, TimeRange};
use ouzel_testkit::laws::{Parts, Sums, check_additive};
use ouzel_testkit::{random_program, run_report};
use std::num::NonZeroU16;

/// Names of a call path: numbers differ from part to part.
fn name(tree: &CallPathTree, path: CallPathId, definitions: &Definitions) -> String {
    let names = tree.regions(path).into_iter().map(|region| definitions.region(region).name.to_string());
    names.collect::<Vec<_>>().join("/")
}

fn add(sums: &mut Sums, key: String, value: impl Into<i128>) {
    *sums.entry(key).or_default() += value.into();
}

#[test]
fn visits_take_their_time() {
    check_additive(
        Parts::TimesAndRanks,
        |_| CallPathProfile,
        |output, definitions| {
            let mut sums = Sums::new();
            for location in &output.locations {
                for row in &location.rows {
                    let key = format!(
                        "{:?} {}",
                        location.location,
                        name(&output.call_paths, row.call_path, definitions)
                    );
                    add(&mut sums, format!("inclusive {key}"), row.times.inclusive.0);
                    add(&mut sums, format!("exclusive {key}"), row.times.exclusive.0);
                }
            }
            sums
        },
    );
}

#[test]
fn severities_are_counted_once() {
    check_additive(
        Parts::TimesAndRanks,
        |_| SeverityCube::default(),
        |output, definitions| {
            let mut sums = Sums::new();
            for metric in &output.metrics {
                let Some(quantity) = metric.quantity else { continue };
                use Quantity as Q;
                let is_sum = matches!(
                    quantity,
                    Q::Time | Q::MessagesSent | Q::MessagesReceived | Q::Collectives | Q::BytesSent
                );
                if !is_sum {
                    continue;
                }
                for path in std::iter::once(CallPathTree::ROOT).chain(output.call_paths.paths()) {
                    for at in metric.row(path) {
                        let location = output.locations[metric.locations[at] as usize];
                        let key = format!(
                            "{quantity:?} {location:?} {}",
                            name(&output.call_paths, path, definitions)
                        );
                        add(&mut sums, key, metric.values[at]);
                    }
                }
            }
            sums
        },
    );
}

#[test]
fn messages_and_collectives_are_counted_once() {
    check_additive(
        Parts::TimesAndRanks,
        |_| Communication,
        |output, definitions| {
            let mut sums = Sums::new();
            for location in &output.locations {
                for row in &location.messages {
                    let key = format!(
                        "{:?} {}",
                        location.location,
                        name(&output.call_paths, row.call_path, definitions)
                    );
                    add(&mut sums, format!("sends {key}"), row.totals.sends);
                    add(&mut sums, format!("bytes sent {key}"), row.totals.bytes_sent);
                    add(&mut sums, format!("receives {key}"), row.totals.receives);
                }
                for row in &location.collectives {
                    let path = name(&output.call_paths, row.call_path, definitions);
                    let key = format!("{:?} {:?} {path}", row.op, location.location);
                    add(&mut sums, key, row.totals.operations);
                }
            }
            add(&mut sums, "unresolved".to_owned(), output.unresolved_peers);
            sums
        },
    );
}

#[test]
fn pairs_of_ranks_exchange_everything_once() {
    let matrix = |_: &Definitions| CommMatrix { expansion: Expansion::PointToPoint };
    check_additive(Parts::TimesAndRanks, matrix, |output, _| {
        let mut sums = Sums::new();
        for cell in &output.cells {
            add(&mut sums, format!("messages {:?} {:?}", cell.from, cell.to), cell.traffic.messages);
            add(&mut sums, format!("bytes {:?} {:?}", cell.from, cell.to), cell.traffic.bytes);
        }
        for (rank, received) in output.ranks.iter().zip(&output.received) {
            add(&mut sums, format!("received {rank:?}"), received.messages);
        }
        sums
    });
    let expanded = |_: &Definitions| CommMatrix { expansion: Expansion::WithCollectives };
    check_additive(Parts::TimesAndRanks, expanded, |output, _| {
        let mut sums = Sums::new();
        // Rounding is fair over a row, not over its cells.
        for row in output.by_process() {
            add(&mut sums, format!("{:?}", row.rank), row.sent.bytes);
        }
        add(&mut sums, "not expanded".to_owned(), output.not_expanded.bytes);
        sums
    });
}

#[test]
fn bins_and_sizes_hold_everything_once() {
    let range = TimeRange { start: Ticks(0), end: Ticks(3000) };
    let grid = TimeGrid::new(range, NonZeroU16::new(7).expect("bins"));
    check_additive(
        Parts::TimesAndRanks,
        |_| CommOverTime::new(grid),
        |output, _| {
            let mut sums = Sums::new();
            for (bin, traffic) in output.bins.iter().chain([&output.outside]).enumerate() {
                add(&mut sums, format!("sent {bin}"), traffic.sent.bytes);
                add(&mut sums, format!("received {bin}"), traffic.received.messages);
            }
            sums
        },
    );
    check_additive(
        Parts::TimesAndRanks,
        |_| MessageHistogram,
        |output, _| {
            let mut sums = Sums::new();
            output.sizes.iter().for_each(|&(size, n)| add(&mut sums, size.to_string(), n));
            add(&mut sums, "bytes".to_owned(), output.bytes);
            sums
        },
    );
}

#[test]
fn waiting_for_messages_adds_up() {
    check_additive(
        Parts::TimesAndRanks,
        |_| LateMessages::default(),
        |output, definitions| {
            let mut sums = Sums::new();
            for row in &output.rows {
                let [waiting, culprit] =
                    [row.waiting, row.culprit].map(|path| name(&output.call_paths, path, definitions));
                let key = format!("{:?} {waiting} for {culprit}", row.kind);
                add(&mut sums, format!("indirect {key}"), row.indirect.0);
                for of_rank in &row.by_waiting {
                    add(&mut sums, format!("{key} by {:?}", of_rank.rank), of_rank.wait.0);
                }
                for of_rank in &row.by_culprit {
                    add(&mut sums, format!("{key} because of {:?}", of_rank.rank), of_rank.wait.0);
                }
            }
            for row in &output.sends {
                let path = name(&output.call_paths, row.call_path, definitions);
                add(&mut sums, format!("messages of {path}"), row.n_messages);
                add(&mut sums, format!("bytes of {path}"), row.bytes);
            }
            add(&mut sums, "messages".to_owned(), output.n_messages);
            add(&mut sums, "sends left over".to_owned(), output.unmatched_sends);
            add(&mut sums, "receives left over".to_owned(), output.unmatched_receives);
            add(&mut sums, "no rank".to_owned(), output.unresolved_peers);
            add(&mut sums, "never completed".to_owned(), output.uncompleted_receives);
            add(&mut sums, "too early".to_owned(), output.received_before_sent);
            sums
        },
    );
}

#[test]
fn operations_are_as_late_as_in_the_whole_run() {
    let operations = |definitions: &Definitions| Operations::new(definitions);
    check_additive(Parts::TimesAndRanks, operations, |output, definitions| {
        let mut sums = Sums::new();
        add(&mut sums, "unmatched".to_owned(), output.n_unmatched_ends);
        add(&mut sums, "unaligned".to_owned(), output.n_unaligned_collectives);
        let Ok(late) = lateness(output, definitions) else { return sums };
        for it in late.operations() {
            let path = name(&late.call_paths, it.operation.call_path, definitions);
            let key = format!("{:?} {path} {} at {:?}", it.operation.location, it.step, it.operation.leave);
            add(&mut sums, format!("operation {key}"), 1);
            add(&mut sums, format!("lateness {key}"), it.lateness.0);
            add(&mut sums, format!("differential {key}"), it.differential.0);
        }
        for rank in &late.ranks {
            add(&mut sums, format!("lateness of {:?}", rank.rank), rank.sum as i128);
        }
        sums
    });
}

#[test]
fn pieces_of_the_critical_path_are_those_of_the_whole_run() {
    let operations = |definitions: &Definitions| Operations::new(definitions);
    check_additive(Parts::TimesAndRanks, operations, |output, definitions| {
        let mut sums = Sums::new();
        let path = critical_path(&output, &WaitsOfDevices::default(), definitions, &Notices::default());
        for segment in &path.segments {
            let of = name(&path.call_paths, segment.call_path, definitions);
            let key = format!("{:?} {:?} from {:?} {of}", segment.kind, segment.location, segment.from);
            add(&mut sums, key, segment.ticks().0);
        }
        add(&mut sums, "out of order".to_owned(), path.n_out_of_order);
        sums
    });
}

#[test]
fn requests_overlap_as_in_the_whole_run() {
    let breakdown = |definitions: &Definitions| {
        let classes = Semantics::default().classes(definitions);
        Breakdown::new(&classes, HostCode::Computes, Requests::Included)
    };
    check_additive(Parts::TimesAndRanks, breakdown, |output, _| {
        let mut sums = Sums::new();
        for row in &output.rows {
            let ActivityTimes { computation, overlap, communication, transfer, unclassified } = row.times;
            let parts = [computation, overlap, communication, transfer, unclassified, row.span, row.other()];
            for (i, part) in parts.into_iter().enumerate() {
                add(&mut sums, format!("{:?} {:?} {i}", row.rank, row.group), part.0);
            }
        }
        add(&mut sums, "lost".to_owned(), output.n_lost);
        sums
    });
}

#[test]
fn phases_are_those_of_the_whole_run() {
    // With other ranks there are other peers, and other synchronisations that all of them make.
    check_additive(
        Parts::Times,
        |_| Phases::default(),
        |output, definitions| {
            let mut sums = Sums::new();
            for group in &output.groups {
                // The root is the time of the members that have calls; that a member has none in a part is no loss.
                for cell in group.totals.iter().filter(|cell| cell.call_path != CallPathTree::ROOT) {
                    let path = name(&output.call_paths, cell.call_path, definitions);
                    let key = format!("{:?} {path} {}", group.kind, cell.subset);
                    add(&mut sums, format!("inclusive {key}"), cell.inclusive.sum.0);
                    add(&mut sums, format!("exclusive {key}"), cell.exclusive.sum.0);
                }
            }
            sums
        },
    );
}

#[test]
fn clocks_are_judged_by_the_whole_run() {
    for seed in 0..8 {
        let trace = random_program(seed);
        let whole = run_report(&trace, &Filter::default(), ClockRepairs::default()).0;
        let part = Filter {
            time_ns: Some((100, 200)),
            ranks: Some("1".parse().expect("a rank")),
            ..Filter::default()
        };
        let of_part = run_report(&trace, &part, ClockRepairs::default()).0;
        assert_eq!(format!("{whole:?}"), format!("{of_part:?}"));
        let (late, report) = run_report(&trace, &part, LateMessages::default());
        assert_eq!((late.received_before_sent, late.unmatched_sends, late.unmatched_receives), (0, 0, 0));
        assert!(report.notices.is_empty(), "{:?}", report.notices);
    }
}
