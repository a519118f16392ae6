use super::*;
use crate::communication_totals::{Channel, LEAST_NULL_PEER, groups, peer_rank};
use crate::reference::{agreeing_trace, random_traces};
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary};
use ouzel_model::{
    EventChunk, LocationId, MessageEnd, Needs, RegionId, Remap, RequestEvent, Ticks, TraceSource, WorldRank,
};
use ouzel_testkit::{RandomTrace, ToyEvent, ToyPayload, ToyTrace, laws, run};
use std::collections::BTreeMap;

/// All there is to know of an end: location, posted, nth, names on the call path, bytes, and the call it completed in.
type Described = (u32, u64, u32, Vec<RegionId>, u64, Option<(Vec<RegionId>, u64, u64)>);
/// Sender, receiver, and both ends.
type DescribedPair = (u32, u32, Described, Described);

/// Every pair, sorted, and the number of sends and receives without one.
#[derive(Debug, Clone, Copy)]
struct Pairs;

impl Analysis for Pairs {
    type Local = MatchingLocal;
    type Partial = MessageEnds;
    type Output = (Vec<DescribedPair>, u64, u64);
    const NAME: &'static str = "pairs";
    const PARTIAL_VERSION: u32 = 1;

    fn needs(&self) -> Needs {
        Needs::MESSAGES | Needs::CALL_PATHS | Needs::VISITS
    }
    fn empty(&self) -> MessageEnds {
        MessageEnds::default()
    }
    fn begin(&self, _: &LocationCx<'_>) -> MatchingLocal {
        MatchingLocal::default()
    }
    fn fold(&self, local: &mut MatchingLocal, chunk: &EventChunk<'_>) {
        fold(local, &mut (), chunk);
    }
    fn end(&self, local: MatchingLocal, cx: &LocationCx<'_>, _: &LocationSummary, into: &mut MessageEnds) {
        local.end(cx, into);
    }
    fn remap(&self, partial: &mut MessageEnds, remap: &Remap) {
        partial.remap(remap);
    }
    fn merge(&self, into: &mut MessageEnds, from: MessageEnds) {
        into.merge(from);
    }
    fn finish(&self, partial: MessageEnds, cx: &FinishCx<'_>) -> Result<Self::Output, AnalysisError> {
        let mut pairs = Vec::new();
        let described = |end: &End<'_>| {
            let completed = end.completed();
            let completed = completed.map(|c| (cx.call_paths.regions(c.path), c.enter.0, c.leave.0));
            let path = cx.call_paths.regions(end.path());
            (end.location.0, end.posted().0, end.nth(), path, end.bytes(), completed)
        };
        let unmatched = for_each_pair(&partial, cx.definitions, |pair| {
            pairs.push((pair.from.0, pair.to.0, described(&pair.send), described(&pair.receive)));
        });
        pairs.sort();
        Ok((pairs, unmatched.sends, unmatched.receives))
    }
}

/// An end as it is found by walking over the events with a stack of calls.
#[derive(Debug, Clone)]
struct SlowEnd {
    end: MessageEnd,
    side: Side,
    described: Described,
}

/// The ends of a location; places that a receive was posted to and never came are left out.
fn slow_ends(location: LocationId, events: &[ToyEvent]) -> Vec<SlowEnd> {
    let mut ends: Vec<SlowEnd> = Vec::new();
    // Path, enter, and the ends that complete in the call.
    let mut stack: Vec<(Vec<RegionId>, u64, Vec<usize>)> = Vec::new();
    let mut posted: BTreeMap<u64, (u64, u32, Vec<RegionId>)> = BTreeMap::new();
    let mut sending: BTreeMap<u64, usize> = BTreeMap::new();
    let mut n_posted = 0;
    for ToyEvent { time: Ticks(at), what } in events {
        let (path, begun) = stack.last().map_or((vec![], *at), |call| (call.0.clone(), call.1));
        let here = (begun, n_posted, path.clone());
        let mut complete = |end: usize| stack.last_mut().into_iter().for_each(|call| call.2.push(end));
        match what {
            ToyPayload::Enter(region) => stack.push(([path, vec![*region]].concat(), *at, vec![])),
            ToyPayload::Leave(_) => {
                let (path, enter, completed) = stack.pop().expect("the trace is well nested");
                for end in completed {
                    ends[end].described.5 = Some((path.clone(), enter, *at));
                }
            }
            ToyPayload::Send(end) => {
                n_posted += 1;
                match end.request {
                    Some(request) => drop(sending.insert(request, ends.len())),
                    None => complete(ends.len()),
                }
                let described = (location.0, here.0, here.1, here.2, end.bytes, None);
                ends.push(SlowEnd { end: *end, side: Side::Send, described });
            }
            ToyPayload::Recv(end) => {
                let before = end.request.and_then(|request| posted.remove(&request));
                n_posted += u32::from(before.is_none());
                let here = before.unwrap_or(here);
                complete(ends.len());
                let described = (location.0, here.0, here.1, here.2, end.bytes, None);
                ends.push(SlowEnd { end: *end, side: Side::Receive, described });
            }
            ToyPayload::Request(request) => match request.event {
                RequestEvent::RecvPosted => {
                    n_posted += 1;
                    posted.insert(request.request, here);
                }
                RequestEvent::SendComplete => {
                    sending.remove(&request.request).into_iter().for_each(complete);
                }
                RequestEvent::Cancelled => {
                    posted.remove(&request.request);
                    sending.remove(&request.request);
                }
                _ => {}
            },
            _ => {}
        }
    }
    ends
}

/// The pairs by the rule alone: the first send in the order of posting goes with the first receive, and so on.
fn slow_pairs(trace: &ToyTrace) -> (Vec<DescribedPair>, u64, u64) {
    let definitions = trace.definitions();
    let mut channels: BTreeMap<Channel, [Vec<Described>; 2]> = BTreeMap::new();
    for location in definitions.location_ids() {
        let me = definitions.location(location).rank.expect("every location of a toy has a rank");
        for SlowEnd { end, side, described } in slow_ends(location, trace.events(location)) {
            let MessageEnd { comm, peer, tag, .. } = end;
            let known = (peer.0 < LEAST_NULL_PEER).then(|| peer_rank(definitions, comm, me, peer)).flatten();
            let Some(peer) = known else { continue };
            let (from, to) = if side == Side::Send { (me, peer) } else { (peer, me) };
            let channel = channels.entry(Channel { from, to, comm, tag }).or_default();
            channel[side as usize].push(described);
        }
    }
    type Pool<'a> = (&'a [WorldRank], &'a [WorldRank], WorldRank, WorldRank, u32, Option<Channel>);
    let mut pools: BTreeMap<Pool<'_>, [Vec<Described>; 2]> = BTreeMap::new();
    for (channel, [sends, receives]) in channels {
        let (one, other) = groups(definitions.communicator(channel.comm));
        let own = (sends.len() == receives.len()).then_some(channel);
        let pool = pools.entry((one, other, channel.from, channel.to, channel.tag, own)).or_default();
        pool[0].extend(sends);
        pool[1].extend(receives);
    }
    let order = |end: &Described| (end.1, end.0, end.2);
    let (mut pairs, mut n_sends, mut n_receives) = (Vec::new(), 0, 0);
    for ((_, _, from, to, _, _), [mut sends, mut receives]) in pools {
        sends.sort_by_key(order);
        receives.sort_by_key(order);
        let is_balanced = sends.len() == receives.len();
        let mut sends = std::collections::VecDeque::from(sends);
        for receive in receives {
            let done = receive.5.as_ref().map(|call| call.2);
            match sends.pop_front_if(|send| is_balanced || done.is_none_or(|done| send.1 <= done)) {
                Some(send) => pairs.push((from.0, to.0, send, receive)),
                None => n_receives += 1,
            }
        }
        n_sends += sends.len() as u64;
    }
    pairs.sort();
    (pairs, n_sends, n_receives)
}

#[test]
fn pairs_are_those_of_the_slow_way() {
    let mut n_pairs = 0;
    let large = (20..60).map(|seed| {
        let faults = ouzel_testkit::Faults::None;
        RandomTrace { seed, n_locations: 2 + (seed % 3) as u32, n_events: 3000, faults }.build()
    });
    for trace in random_traces().chain((0..20).map(agreeing_trace)).chain(large) {
        let (found, expected) = (run(&trace, Pairs), slow_pairs(&trace));
        assert_eq!(found, expected);
        n_pairs += expected.0.len();
    }
    assert!(1000 < n_pairs, "{n_pairs}");
}

#[test]
fn chunk_borders_mean_nothing_to_calls_that_span_them() {
    // The wait is over long after its messages, with many calls inside and behind.
    let mut text = String::from("0: enter main @0, enter MPI_Waitall @1, recv<1 @2, recv<1 bytes 7 @3");
    for i in 0..5000 {
        text.push_str(&format!(", enter inner @{}, leave @{}", 10 + 2 * i, 11 + 2 * i));
    }
    text.push_str(
        ", leave @20000, leave @20001\n1: enter MPI_Send @0, send>0 @0, send>0 bytes 7 @0, leave @1",
    );
    let trace = ToyTrace::new(&text);
    let found = run(&trace, Pairs);
    assert_eq!(found, slow_pairs(&trace));
    assert_eq!(found.0[1].3.5.as_ref().map(|call| (call.1, call.2)), Some((1, 20_000)));
}

#[test]
fn laws_hold() {
    laws::check(|| Pairs, |output| format!("{output:?}"));
}
