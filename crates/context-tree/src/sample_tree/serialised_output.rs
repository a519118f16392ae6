//! The paper's Algorithm 4, simulated and sampled: output that is serialised through rank 0.
//!
//! For each of three arrays every rank exchanges with its local group, then sends to rank 0, which receives and
//! writes in the order of ranks. The local group of rank 0 waits for it in the exchange, all others in the send.
//! Published: clusters of 1, 15 and 496 of 512 processes.

use super::builder::SampleTreeBuilder;
use super::tests::{relative, sample_path};
use super::*;
use crate::cluster::cluster;
use crate::control_flow::{ControlFlow, ControlFlows};
use crate::diff::Differ;
use crate::merger::{Merger, Over};
use crate::node::LoopSource;
use ouzel_model::{Lca, RegionId};
use std::collections::BTreeMap;

/// Ticks that rank 0 takes to write the array of one rank.
const WRITE: u64 = 100;
/// Ticks of an exchange among ranks that are all there.
const EXCHANGE: u64 = 1000;
/// Ticks between samples.
const PERIOD: u64 = 150;
const N_ARRAYS: usize = 3;

/// Ranks that exchange with `rank`: every fourth of a block of 64.
fn group(rank: usize, n_ranks: usize) -> impl Iterator<Item = usize> {
    let first = rank / 64 * 64 + rank % 4;
    (first..n_ranks.min(rank / 64 * 64 + 64)).step_by(4)
}

/// A call: the path from `main` on and when it ended; it begins where the one before ended.
type Calls = Vec<(Vec<StaticId>, u64)>;

fn call(region: u32, line: u32) -> StaticId {
    StaticId::CallSite { region: RegionId(region), line }
}

fn arrays_loop() -> StaticId {
    StaticId::SourceLoop { region: RegionId(0), line: 3 }
}

fn ranks_loop() -> StaticId {
    StaticId::SourceLoop { region: RegionId(0), line: 9 }
}

/// What each rank does.
fn simulated(n_ranks: usize) -> Vec<Calls> {
    let main = StaticId::Region(RegionId(0));
    let inside = |id| vec![main, arrays_loop(), id];
    let received = |id| vec![main, arrays_loop(), ranks_loop(), id];
    let mut calls: Vec<Calls> = vec![Vec::new(); n_ranks];
    let mut now = vec![0u64; n_ranks];
    for _ in 0..N_ARRAYS {
        let arrived = now.clone();
        for rank in 0..n_ranks {
            let last = group(rank, n_ranks).map(|member| arrived[member]).max().unwrap();
            now[rank] = last + EXCHANGE;
            calls[rank].push((inside(call(1, 4)), now[rank]));
        }
        now[0] += WRITE;
        calls[0].push((inside(call(2, 8)), now[0]));
        for rank in 1..n_ranks {
            let received_at = now[0].max(now[rank]);
            calls[0].push((received(call(3, 10)), received_at));
            now[0] = received_at + WRITE;
            calls[0].push((received(call(2, 11)), now[0]));
            now[rank] = received_at;
            calls[rank].push((inside(call(4, 6)), received_at));
        }
    }
    let end = now.into_iter().max().unwrap() + EXCHANGE;
    for calls in &mut calls {
        calls.push((vec![main, call(5, 12)], end));
    }
    calls
}

/// The tree of one rank, sampled from `offset` on.
fn sampled(calls: &Calls, offset: u64) -> SampledTree {
    let mut builder = SampleTreeBuilder::default();
    let (mut at, mut before, mut path_before) = (0, None, [].as_slice());
    let end = calls.last().unwrap().1;
    for time in (offset..end).step_by(PERIOD as usize) {
        while calls[at].1 <= time {
            at += 1;
        }
        let path = &calls[at].0;
        let lca = match before {
            None => Lca::Unknown,
            Some(same) if same == at => Lca::Exact(path.len() as u32),
            Some(_) => Lca::Exact(1),
        };
        before = Some(at);
        builder.push(Ticks(time), sample_path(&mut path_before, path), lca);
    }
    builder.finish().unwrap()
}

fn flows() -> ControlFlows {
    let flow = |edges: &[(Option<StaticId>, StaticId)]| ControlFlow::from_edges(edges, LoopSource::Binary);
    let (exchange, send, write) = (call(1, 4), call(4, 6), call(2, 8));
    let (recv, rest) = (call(3, 10), call(2, 11));
    ControlFlows(BTreeMap::from([
        (
            arrays_loop(),
            flow(&[
                (None, exchange),
                (Some(exchange), send),
                (Some(exchange), write),
                (Some(write), ranks_loop()),
                (Some(send), exchange),
                (Some(ranks_loop()), exchange),
            ]),
        ),
        (ranks_loop(), flow(&[(None, recv), (Some(recv), rest), (Some(rest), recv)])),
    ]))
}

fn clusters(n_ranks: usize) -> Vec<Vec<usize>> {
    let flows = flows();
    let differ = Differ::sampled(&flows, PERIOD as f64);
    let merger = |over| Merger { differ, over, ..Merger::exact(&flows, over) };
    let trees = simulated(n_ranks).into_iter().enumerate().map(|(rank, calls)| {
        let tree = sampled(&calls, (rank as u64 * 37) % PERIOD);
        assert_eq!((tree.period, tree.quality), (Ticks(PERIOD), LcaQuality::Exact));
        relative(tree, &flows, &merger(Over::Iterations))
    });
    cluster(trees.collect(), &merger(Over::Locations))
        .into_iter()
        .map(|(members, _)| members.into_vec())
        .collect()
}

#[test]
fn ranks_cluster_by_what_they_wait_in() {
    let found = clusters(512);
    let sizes: Vec<usize> = found.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 496, 15], "{:?}", found.iter().map(|m| &m[..m.len().min(20)]).collect::<Vec<_>>());
    assert_eq!(found[0], [0]);
    assert_eq!(found[2], (4..64).step_by(4).collect::<Vec<_>>());
}
