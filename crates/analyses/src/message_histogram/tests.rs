use super::state::MessageHistogramLocal;
use super::state::{MAX_SIZES, log2_bin};
use super::*;
use crate::reference::random_traces;
use ouzel_model::{ColumnData, Filter, NoticeCode, TraceSource};
use ouzel_testkit::{Rng, ToyPayload, ToyTrace, golden, laws, run, run_report};
use std::fmt::Write;
use std::num::NonZeroU16;

fn bins(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

fn of_sizes(sizes: &[u64]) -> ToyTrace {
    let mut text = String::from("0: other @0");
    for size in sizes {
        let _ = write!(text, ", send>0 bytes {size} @1");
    }
    ToyTrace::new(&text)
}

#[test]
fn the_expected_values_are_met() {
    let golden = golden("pipit_ops");
    let messages = golden["input"]["messages"].as_array().unwrap();
    let sizes: Vec<u64> = messages.iter().map(|message| message["size"].as_u64().unwrap()).collect();
    let Histogram { edges, counts } = run(&of_sizes(&sizes), MessageHistogram).linear(bins(5));
    let (expected_counts, expected_edges): (Vec<u64>, Vec<f64>) =
        serde_json::from_value(golden["expected"]["message_histogram_5"].clone()).unwrap();
    assert_eq!((counts, edges), (expected_counts, expected_edges));
}

#[test]
fn every_message_is_in_the_bin_between_its_edges() {
    for trace in random_traces() {
        let output = run(&trace, MessageHistogram);
        let ends = trace.definitions().location_ids().flat_map(|location| trace.events(location));
        let sizes: Vec<u64> = ends
            .filter_map(|event| match &event.what {
                ToyPayload::Send(end) => Some(end.bytes),
                _ => None,
            })
            .collect();
        assert_eq!((output.n_messages, output.bytes), (sizes.len() as u64, sizes.iter().sum()));
        let (min, max) = (sizes.iter().min().copied(), sizes.iter().max().copied());
        assert_eq!(output.range, min.zip(max));
        for n in [1_u16, 3, 10, 333] {
            let Histogram { edges, counts } = output.linear(bins(n));
            assert_eq!((counts.len(), edges.len()), (usize::from(n), usize::from(n) + 1));
            let Some((min, max)) = min.zip(max).filter(|(min, max)| min < max) else { continue };
            for (i, &found) in counts.iter().enumerate() {
                // As fractions: min + i L / n <= size < min + (i + 1) L / n, multiplied by n.
                let (n, i, length) = (u64::from(n), i as u64, max - min);
                let is_in = |size: &&u64| {
                    let scaled = (**size - min) * n;
                    i * length <= scaled && (scaled < (i + 1) * length || (i + 1 == n && **size == max))
                };
                assert_eq!(found, sizes.iter().filter(is_in).count() as u64, "bin {i} of {n}");
            }
        }
        let Histogram { edges, counts } = output.log2();
        for (i, &found) in counts.iter().enumerate() {
            let is_in = |size: &&u64| edges[i] <= **size as f64 && (**size as f64) < edges[i + 1];
            assert_eq!(found, sizes.iter().filter(is_in).count() as u64, "{edges:?}");
        }
        assert_eq!(counts.iter().sum::<u64>(), sizes.len() as u64);
    }
}

#[test]
fn one_size_or_none_has_bins_too() {
    let Histogram { edges, counts } = run(&of_sizes(&[8, 8, 8]), MessageHistogram).linear(bins(4));
    assert_eq!((counts, edges), (vec![0, 0, 3, 0], vec![7.5, 7.75, 8.0, 8.25, 8.5]));
    let none = run(&of_sizes(&[]), MessageHistogram);
    assert_eq!(none.linear(bins(2)), Histogram { edges: vec![0.0, 0.5, 1.0], counts: vec![0, 0] });
    assert_eq!(none.log2(), Histogram { edges: vec![0.0], counts: vec![] });
    assert_eq!(run(&of_sizes(&[0, 1, 3]), MessageHistogram).log2().edges, [0.0, 1.0, 2.0, 4.0]);
    let great = run(&of_sizes(&[u64::MAX, 0]), MessageHistogram);
    assert_eq!(great.linear(bins(3)).counts, [1, 0, 1]);
    assert_eq!((great.log2().counts.len(), log2_bin(u64::MAX)), (65, 64));
    let table = great.linear(bins(3)).table();
    assert_eq!(table.column("messages").unwrap().data, ColumnData::U64(vec![1, 0, 1]));
}

#[test]
fn messages_to_nobody_are_said_and_not_counted() {
    let trace = ToyTrace::new("0: send>0 bytes 8 @1, send>4294967295 bytes 8 @1, send>0 bytes 8 @1");
    let (output, report) = run_report(&trace, &Filter::default(), MessageHistogram);
    assert_eq!((output.n_messages, output.null_peers, output.sizes), (2, 1, vec![(8, 2)]));
    assert_eq!(report.notices.iter().map(|n| n.code).collect::<Vec<_>>(), [NoticeCode::UnmatchedMessages]);
}

#[test]
fn too_many_sizes_are_counted_in_steps_whatever_the_order() {
    let mut rng = Rng::new(1);
    let mut sizes: Vec<u64> = (0..MAX_SIZES as u64 * 3).map(|i| 1000 + 2 * i).collect();
    let parts = |sizes: &[u64], n: usize| {
        let mut whole = SizeCounts::default();
        for part in sizes.chunks(sizes.len().div_ceil(n)) {
            let mut local = MessageHistogramLocal::default();
            part.iter().for_each(|&size| local.add(size, 1));
            local.settle();
            whole.add(local.counts);
        }
        whole
    };
    let all = parts(&sizes, 1);
    // In steps of 4 bytes there are half as many as sizes, still too many; in steps of 8 a quarter.
    assert_eq!((all.step_log2, all.steps.len()), (3, MAX_SIZES * 3 / 4));
    rng.shuffle(&mut sizes);
    for n in [1, 2, 7, 30] {
        assert!(parts(&sizes, n) == all, "{n} parts");
    }
    let output = MessageHistogramOutput::new(all);
    assert_eq!(output.range, Some((1000, 1000 + 2 * (MAX_SIZES as u64 * 3 - 1))));
    assert_eq!(output.step_bytes, 8);
    let counts = output.linear(bins(3)).counts;
    assert!(counts.iter().all(|n| n.abs_diff(MAX_SIZES as u64) <= 4), "{counts:?}");
    let log2 = output.log2();
    assert_eq!(log2.counts[0], (1024 - 1000) / 2);
    assert_eq!(log2.counts.iter().sum::<u64>(), MAX_SIZES as u64 * 3);
}

#[test]
fn laws_hold() {
    laws::check(|| MessageHistogram, |output| format!("{output:?}"));
}
