//! The laws of [`Analysis`], checked on random traces.
//!
//! Every case is a random trace under a filter. Each answer is compared with that of
//! the plainest way to get it: one location after the other, each in one chunk, merged
//! in order. Partials are compared as bytes once encoded, outputs as text.

mod additive;
mod probe;
#[cfg(test)]
mod tests;

pub use additive::{Parts, Sums, check_additive};

use crate::rng::Rng;
use crate::toy::{Faults, RandomTrace, ToyEvent, ToyPayload, ToyTrace, region_from_name, sampled_trace};
use ouzel_engine::{Analysis, AnalysisSet, Folder, Key, Partial, Prepared, Question};
use ouzel_model::{
    CollectiveOp, CollectiveRoot, CommId, CommRank, Communicator, Definitions, DeviceStep, Filter, LinkEnd,
    LocationId, LocationKind, LockUse, Notice, NoticeCode, Notices, Paradigm, RankGroupId, RmaAccess,
    RmaCollective, RmaLock, RmaLockMode, RmaOperationId, RmaStep, RmaSyncLevel, RmaWindow, RmaWindowId,
    ThreadLife, ThreadStep, TraceSource, WorldRank,
};
use probe::Probe;
use std::num::NonZeroUsize;

/// Random traces per check.
const N_TRACES: u64 = 24;

/// A law that an analysis can break; numbers as in the documentation of [`Analysis`] and of
/// [`Pairing`](ouzel_engine::Pairing).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Law {
    /// 1: the empty partial is the identity of merge.
    Identity,
    /// 2: merge is associative and commutative.
    MergeOrder,
    /// 2, too: folding locations into one partial equals folding them separately and merging.
    Partition,
    /// 3: chunk borders carry no meaning.
    ChunkBorders,
    /// 4: encoding and decoding changes nothing.
    Encoding,
    /// 5: the same answer alone and together with other analyses.
    Company,
    /// 6: the rest and the buckets of a split merge to the whole.
    Split,
    /// 7: settled buckets give the same output, and settle once.
    Settling,
    /// 8: compacted partials give the same output.
    Compacting,
    /// Any number of threads gives one answer.
    Threads,
    /// Parts of a selection add up to the whole.
    Additive,
}

/// A broken law and the case that shows it.
#[derive(Debug, Clone)]
pub struct Violation {
    /// Which law.
    pub law: Law,
    /// The case, what was expected and what was found.
    pub detail: String,
}

/// Checks the laws for the question that `make` makes; `describe` renders everything in an output.
///
/// # Panics
/// If a law is broken; the message names the law and the case.
pub fn check<Q: Question>(make: impl Fn() -> Q, describe: impl Fn(&Q::Output) -> String) {
    check_made_for(|_| make(), describe);
}

/// [`check`] for a question that is made for a trace.
///
/// # Panics
/// If a law is broken; the message names the law and the case.
pub fn check_made_for<Q: Question>(
    make: impl Fn(&Definitions) -> Q,
    describe: impl Fn(&Q::Output) -> String,
) {
    if let Some(Violation { law, detail }) = violation(make, describe) {
        panic!("{} breaks law {law:?}: {detail}", <Q::Analysis as Analysis>::NAME);
    }
}

/// [`check_made_for`] on traces whose locations are streams and threads that drive them.
///
/// # Panics
/// If a law is broken; the message names the law and the case.
pub fn check_on_devices<Q: Question>(
    make: impl Fn(&Definitions) -> Q,
    describe: impl Fn(&Q::Output) -> String,
) {
    if let Some(Violation { law, detail }) = violation_on(make, describe, with_devices) {
        panic!("{} breaks law {law:?}: {detail}", <Q::Analysis as Analysis>::NAME);
    }
}

/// The first broken law, if any; see [`check`].
pub fn violation<Q: Question>(
    make: impl Fn(&Definitions) -> Q,
    describe: impl Fn(&Q::Output) -> String,
) -> Option<Violation> {
    // Every fourth trace has locations of samples only, every eighth no others; every fourth has teams and locks,
    // every eighth one-sided communication.
    violation_on(make, describe, |trace, seed| match seed % 8 {
        1 => one_sided(trace, seed),
        3 => half_sampled(trace),
        4 | 5 => threaded(trace, seed),
        _ => trace,
    })
}

fn violation_on<Q: Question>(
    make: impl Fn(&Definitions) -> Q,
    describe: impl Fn(&Q::Output) -> String,
    changed: impl Fn(ToyTrace, u64) -> ToyTrace,
) -> Option<Violation> {
    (0..N_TRACES).find_map(|seed| {
        let recipe = RandomTrace {
            seed,
            n_locations: 1 + (seed % 6) as u32,
            n_events: [30, 150, 400][seed as usize % 3],
            faults: if seed % 2 == 0 { Faults::None } else { Faults::Leaves },
        };
        let trace = match seed % 8 {
            7 => sampled_trace(seed, recipe.n_locations, recipe.n_events),
            _ => changed(recipe.build(), seed),
        };
        filters(seed).into_iter().find_map(|filter| {
            let case = Case { make: &make, describe: &describe, trace: &trace, filter: &filter, seed };
            let broken = case.check().err();
            broken.map(|v| Violation { detail: format!("{recipe:?} {filter:?}: {}", v.detail), ..v })
        })
    })
}

/// The same without enters and leaves at every other location: calls are made from the samples there.
fn half_sampled(mut trace: ToyTrace) -> ToyTrace {
    let is_call = |what: &ToyPayload| matches!(what, ToyPayload::Enter(_) | ToyPayload::Leave(_));
    for location in trace.definitions().location_ids().step_by(2) {
        trace.events_mut(location).retain(|event| !is_call(&event.what));
    }
    trace
}

/// The same with regions of OpenMP in place of two others, and steps of threads and locks in place of what has no meaning.
fn threaded(mut trace: ToyTrace, seed: u64) -> ToyTrace {
    let mut rng = Rng::new(seed);
    let definitions = trace.definitions_mut();
    for (name, becomes) in [("step", "!$omp barrier"), ("exchange", "!$omp critical")] {
        for region in definitions.regions.iter_mut().filter(|region| &*region.name == name) {
            *region = region_from_name(becomes);
        }
    }
    let team = CommId::from_index(definitions.communicators.len());
    let member_locations = definitions.location_ids().collect();
    let comm = Communicator::of_ranks("team", [].into());
    definitions.communicators.push(Communicator { member_locations, ..comm });
    let paradigm = Paradigm::OpenMp;
    for location in trace.definitions().location_ids() {
        for event in trace.events_mut(location) {
            if !matches!(
                event.what,
                ToyPayload::Other | ToyPayload::Request(_) | ToyPayload::MeasurementOnOff
            ) {
                continue;
            }
            let used = LockUse { paradigm, lock: rng.below(2) as u32, order: rng.below(9) as u32 };
            let life = ThreadLife { contingent: Some(team), sequence: rng.below(3) };
            event.what = ToyPayload::Thread(match rng.below(8) {
                0 => ThreadStep::Fork { paradigm, n_requested: 2 },
                1 => ThreadStep::Join { paradigm },
                2 => ThreadStep::TeamBegin(team),
                3 => ThreadStep::TeamEnd(team),
                4 => ThreadStep::ThreadWait(life),
                5 => ThreadStep::ThreadEnd(life),
                6 => ThreadStep::LockAcquire(used),
                _ => ThreadStep::LockRelease(used),
            });
        }
    }
    trace
}

/// The same with calls of one-sided communication in place of two others, and its steps in place of what has no meaning.
fn one_sided(mut trace: ToyTrace, seed: u64) -> ToyTrace {
    let mut rng = Rng::new(seed);
    let definitions = trace.definitions_mut();
    let calls = [("step", "MPI_Win_fence"), ("exchange", "MPI_Win_lock"), ("solve", "MPI_Win_complete")];
    for (name, becomes) in calls {
        for region in definitions.regions.iter_mut().filter(|region| &*region.name == name) {
            *region = region_from_name(becomes);
        }
    }
    let window = |name: &str| RmaWindow { name: name.into(), comm: CommId(0), has_life_events: false };
    definitions.rma_windows = vec![window("a"), window("b")];
    let groups: [&[u32]; 2] = [&[0], &[0, 1]];
    definitions.rank_groups =
        groups.iter().map(|ranks| ranks.iter().copied().map(WorldRank).collect()).collect();
    let level = RmaSyncLevel::BOTH;
    for location in trace.definitions().location_ids() {
        for event in trace.events_mut(location) {
            if !matches!(
                event.what,
                ToyPayload::Other | ToyPayload::Request(_) | ToyPayload::MeasurementOnOff
            ) {
                continue;
            }
            let (target, mode) = (CommRank(rng.below(2) as u32), RmaLockMode::from_code(rng.below(2) as u8));
            let lock = RmaLock { target, lock: 0, mode };
            let access = RmaAccess { target, bytes: 8, id: RmaOperationId(rng.below(4)) };
            let end = RmaCollective {
                op: CollectiveOp::Barrier,
                level,
                root: CollectiveRoot::None,
                bytes_sent: 0,
                bytes_received: 0,
            };
            let step = match rng.below(8) {
                0 => RmaStep::CollectiveBegin,
                1 => RmaStep::CollectiveEnd(end),
                2 | 3 => RmaStep::GroupSync { level, group: Some(RankGroupId(rng.below(2) as u32)) },
                4 => RmaStep::LockRequest(lock),
                5 => RmaStep::LockRelease { target, lock: 0 },
                6 => RmaStep::Put(access),
                _ => RmaStep::CompleteRemote(access.id),
            };
            event.what = ToyPayload::Rma(Some(RmaWindowId(rng.below(2) as u32)), step);
        }
    }
    trace
}

/// The same with every second location a stream, calls of a runtime in place of other regions, links and steps.
fn with_devices(mut trace: ToyTrace, seed: u64) -> ToyTrace {
    let mut rng = Rng::new(seed);
    if seed % 8 == 3 {
        // Samples show what the threads do.
        trace = half_sampled(trace);
    }
    let definitions = trace.definitions_mut();
    let calls =
        [("step", "cudaDeviceSynchronize"), ("exchange", "cudaLaunchKernel"), ("solve", "cudaMemcpy")];
    for (name, becomes) in calls {
        for region in definitions.regions.iter_mut().filter(|region| &*region.name == name) {
            *region = region_from_name(becomes);
        }
    }
    for location in definitions.locations.iter_mut().skip(1).step_by(2) {
        if location.kind == LocationKind::CpuThread {
            location.kind = LocationKind::AcceleratorStream;
        }
    }
    let streams: Vec<LocationId> = definitions.location_ids().skip(1).step_by(2).collect();
    for location in trace.definitions().location_ids() {
        let is_stream = streams.contains(&location);
        let device = trace.definitions().location(location).group;
        let mut events = Vec::new();
        for event in std::mem::take(trace.events_mut(location)) {
            let (time, is_enter) = (event.time, matches!(event.what, ToyPayload::Enter(_)));
            events.push(event);
            if !is_enter || streams.is_empty() {
                continue;
            }
            let end = if is_stream { LinkEnd::To } else { LinkEnd::From };
            let (stream, event) = (streams[rng.below(streams.len() as u64) as usize], rng.below(4));
            let what = match rng.below(if is_stream { 2 } else { 7 }) {
                0 => continue,
                1 => ToyPayload::Link(1 + rng.below(40), end),
                2 => ToyPayload::Device(DeviceStep::AwaitStream(stream)),
                3 => ToyPayload::Device(DeviceStep::AwaitDevice(device)),
                4 => ToyPayload::Device(DeviceStep::AwaitEvent(event)),
                5 => ToyPayload::Device(DeviceStep::RecordEvent { event, stream }),
                _ => ToyPayload::Device(DeviceStep::StreamAwaitsEvent { stream, event }),
            };
            events.push(ToyEvent { time, what });
        }
        *trace.events_mut(location) = events;
    }
    trace
}

/// Everything, and four selections that differ from seed to seed.
fn filters(seed: u64) -> Vec<Filter> {
    let mut rng = Rng::new(seed);
    let start = rng.below(2500);
    let time_ns = Some((start, start + rng.below(3000)));
    let regions = [vec!["MPI_*".to_owned()], vec!["s*".to_owned(), "main".to_owned()]];
    let regions = regions[seed as usize % 2].clone();
    let ranks = Some("0,2-3".parse().expect("a rank set"));
    // Call paths decide the first; the others are known when calls end, which needs a second look at a location.
    let predicate = [
        "name like 'MPI_*' or depth < 2 and rank = 0",
        "inclusive > 40ns and not within = exchange or metric(PAPI_TOT_CYC) > 50",
        "time in 500ns..1500ns and (exclusive < 30ns or rank = 1 or time < 900ns)",
    ][seed as usize % 3];
    let predicate = predicate.parse().expect("a predicate");
    vec![
        Filter::default(),
        Filter { time_ns, ..Filter::default() },
        Filter { regions: regions.clone(), ..Filter::default() },
        Filter { time_ns, regions, ranks, ..Filter::default() },
        Filter::default().and(predicate),
    ]
}

/// One analysis on one trace under one filter.
struct Case<'a, M, D> {
    make: &'a M,
    describe: &'a D,
    trace: &'a ToyTrace,
    filter: &'a Filter,
    seed: u64,
}

impl<Q, M, D> Case<'_, M, D>
where
    Q: Question,
    M: Fn(&Definitions) -> Q,
    D: Fn(&Q::Output) -> String,
{
    fn check(&self) -> Result<(), Violation> {
        let (set, key) = self.alone();
        let locations = set.locations(self.trace.definitions());
        let whole = || self.merged(&set, locations.iter().map(|&l| self.fold(&set, self.trace, &[l])));
        let expected =
            Expected { bytes: encode(&set, whole()), text: self.finish(&set, &key, self.trace, whole()) };
        self.check_merging(&set, &key, &locations, &expected)?;
        self.check_chunks(&set, &key, &locations, &expected)?;
        self.check_encoding(&set, &key, &locations, &expected)?;
        self.check_company()?;
        for n_buckets in [1, 2, 5] {
            let (rest, buckets) = set.split(whole(), n_buckets);
            let merged = self.merged(&set, [rest].into_iter().chain(buckets));
            expected.bytes_are(Law::Split, &format!("{n_buckets} buckets"), &encode(&set, merged))?;
            self.check_settling(&set, &key, &locations, n_buckets, &expected)?;
        }
        for jobs in [1, 2, 3] {
            expected.text_is(Law::Threads, &format!("{jobs} threads"), &self.run(&set, &key, jobs))?;
        }
        Ok(())
    }

    fn alone(&self) -> (Prepared, Key<Q>) {
        let mut set = AnalysisSet::default();
        let key = set.add((self.make)(self.trace.definitions()));
        (self.prepared(&set), key)
    }

    fn prepared(&self, set: &AnalysisSet) -> Prepared {
        set.prepare(self.trace.definitions(), self.filter)
    }

    fn fold(&self, set: &Prepared, trace: &ToyTrace, locations: &[LocationId]) -> Partial {
        let mut folder = Folder::new(trace, set);
        for &location in locations {
            folder.fold(location, None);
        }
        folder.into_partial()
    }

    fn merged(&self, set: &Prepared, parts: impl IntoIterator<Item = Partial>) -> Partial {
        let mut whole = set.empty();
        for part in parts {
            set.merge(&mut whole, part).expect("parts are disjoint");
        }
        whole
    }

    fn finish(&self, set: &Prepared, key: &Key<Q>, trace: &ToyTrace, partial: Partial) -> String {
        self.finish_with(set, key, trace, partial, |_| true)
    }

    fn finish_with(
        &self,
        set: &Prepared,
        key: &Key<Q>,
        trace: &ToyTrace,
        partial: Partial,
        is_told: impl Fn(&Notice) -> bool,
    ) -> String {
        let notices = Notices::default();
        let mut outputs = set.finish(partial, trace.definitions(), &notices);
        let text =
            outputs.take(key).map_or_else(|error| error.to_string(), |output| (self.describe)(&output));
        format!("{text} {:?}", notices.to_vec().into_iter().filter(is_told).collect::<Vec<_>>())
    }

    fn run(&self, set: &Prepared, key: &Key<Q>, jobs: usize) -> String {
        let jobs = NonZeroUsize::new(jobs).expect("at least one");
        let mut report = set.run(self.trace, jobs, None).expect("the pass succeeds");
        let output = report.outputs.take(key);
        let text = output.map_or_else(|error| error.to_string(), |output| (self.describe)(&output));
        format!("{text} {:?}", report.notices)
    }

    /// The same locations, compacted after each.
    fn compacted(&self, set: &Prepared, locations: &[LocationId]) -> Partial {
        let mut folder = Folder::new(self.trace, set);
        for &location in locations {
            folder.fold(location, None);
            folder.compact();
        }
        folder.into_partial()
    }

    /// Laws 1, 2 and 8.
    fn check_merging(
        &self,
        set: &Prepared,
        key: &Key<Q>,
        locations: &[LocationId],
        expected: &Expected,
    ) -> Result<(), Violation> {
        let one = |l: LocationId| self.fold(set, self.trace, &[l]);
        for &location in locations {
            let alone = Expected { bytes: encode(set, one(location)), text: String::new() };
            let case = format!("location {}", location.0);
            let behind = self.merged(set, [one(location), set.empty()]);
            alone.bytes_are(Law::Identity, &case, &encode(set, behind))?;
            let mut before = one(location);
            set.merge(&mut before, set.empty()).expect("parts are disjoint");
            alone.bytes_are(Law::Identity, &case, &encode(set, before))?;
        }
        let mut rng = Rng::new(self.seed);
        for round in 0..4 {
            let mut order = locations.to_vec();
            rng.shuffle(&mut order);
            // Any two neighbours merge until one is left: any order and any grouping.
            let mut parts: Vec<Partial> = order.iter().map(|&l| one(l)).collect();
            while 1 < parts.len() {
                let at = rng.below(parts.len() as u64 - 1) as usize;
                let right = parts.remove(at + 1);
                set.merge(&mut parts[at], right).expect("parts are disjoint");
            }
            let bytes = encode(set, parts.pop().unwrap_or_else(|| set.empty()));
            expected.bytes_are(Law::MergeOrder, &format!("round {round}, order {order:?}"), &bytes)?;

            let n = 1 + rng.below(3) as usize;
            let groups = order.chunks(n).map(|group| self.fold(set, self.trace, group));
            let bytes = encode(set, self.merged(set, groups));
            expected.bytes_are(Law::Partition, &format!("{n} locations of {order:?} together"), &bytes)?;
            let groups = order.chunks(n).map(|group| self.compacted(set, group));
            let text = self.finish(set, key, self.trace, self.merged(set, groups));
            expected.text_is(Law::Compacting, &format!("{n} locations of {order:?} compacted"), &text)?;
        }
        Ok(())
    }

    /// Law 3.
    fn check_chunks(
        &self,
        set: &Prepared,
        key: &Key<Q>,
        locations: &[LocationId],
        expected: &Expected,
    ) -> Result<(), Violation> {
        for n in [1, 2, 7, 64] {
            let trace = self.trace.clone().with_chunk_events(n);
            let case = format!("chunks of {n} events");
            let partial = self.fold(set, &trace, locations);
            expected.text_is(Law::ChunkBorders, &case, &self.finish(set, key, &trace, partial))?;
            // Reading stops at the chunk in which the time range ends: the count of records read may differ.
            if self.filter.time_ns.is_none() {
                let bytes = encode(set, self.fold(set, &trace, locations));
                expected.bytes_are(Law::ChunkBorders, &case, &bytes)?;
            }
        }
        Ok(())
    }

    /// Law 4.
    fn check_encoding(
        &self,
        set: &Prepared,
        key: &Key<Q>,
        locations: &[LocationId],
        expected: &Expected,
    ) -> Result<(), Violation> {
        let travelled = |l: &LocationId| {
            let bytes = encode(set, self.fold(set, self.trace, &[*l]));
            set.decode(&bytes).map_err(|error| Violation {
                law: Law::Encoding,
                detail: format!("location {} does not decode: {error}", l.0),
            })
        };
        let parts = || locations.iter().rev().map(travelled).collect::<Result<Vec<_>, _>>();
        let case = "each location encoded and decoded";
        expected.bytes_are(Law::Encoding, case, &encode(set, self.merged(set, parts()?)))?;
        expected.text_is(Law::Encoding, case, &self.finish(set, key, self.trace, self.merged(set, parts()?)))
    }

    /// Law 7.
    fn check_settling(
        &self,
        set: &Prepared,
        key: &Key<Q>,
        locations: &[LocationId],
        n_buckets: usize,
        expected: &Expected,
    ) -> Result<(), Violation> {
        let case = format!("{n_buckets} buckets settled");
        let once_and_twice = |once: &[u8], again: &[u8]| {
            let once = Expected { bytes: once.to_vec(), text: String::new() };
            once.bytes_are(Law::Settling, &format!("{case} twice"), again)
        };
        let whole = self.settled(set, locations, n_buckets, once_and_twice)?;
        expected.text_is(Law::Settling, &case, &self.finish(set, key, self.trace, whole))
    }

    /// All locations in two rounds, as by cooperating processes: each piece encoded and decoded, in any order. `check`
    /// sees each bucket encoded, settled once and twice.
    fn settled(
        &self,
        set: &Prepared,
        locations: &[LocationId],
        n_buckets: usize,
        check: impl Fn(&[u8], &[u8]) -> Result<(), Violation>,
    ) -> Result<Partial, Violation> {
        let travelled = |partial| set.decode(&encode(set, partial)).expect("law 4 holds");
        let definitions = self.trace.definitions();
        let mut rng = Rng::new(self.seed ^ n_buckets as u64);
        let mut order = locations.to_vec();
        rng.shuffle(&mut order);
        let mut rest = set.empty();
        let mut buckets: Vec<Partial> = (0..n_buckets).map(|_| set.empty()).collect();
        for &location in &order {
            let (own_rest, pieces) = set.split(self.fold(set, self.trace, &[location]), n_buckets);
            set.merge(&mut rest, travelled(own_rest)).expect("parts are disjoint");
            for (bucket, piece) in buckets.iter_mut().zip(pieces) {
                set.merge(bucket, travelled(piece)).expect("pieces of buckets have no locations");
            }
        }
        let mut settled: Vec<Partial> = Vec::new();
        for bucket in buckets {
            let settle = |bucket| set.settle(bucket, definitions).expect("settling does not panic");
            let once = encode(set, settle(bucket));
            let again = settle(set.decode(&once).expect("law 4 holds"));
            check(&once, &encode(set, again))?;
            settled.push(set.decode(&once).expect("law 4 holds"));
        }
        settled.insert(rng.below(settled.len() as u64 + 1) as usize, rest);
        Ok(self.merged(set, settled))
    }

    /// The output of a pass, in one process or in this many settled buckets; `None` if the analysis cannot answer.
    fn output_of_buckets(&self, n_buckets: usize) -> Option<Q::Output> {
        let (set, key) = self.alone();
        let definitions = self.trace.definitions();
        let locations = set.locations(definitions);
        let partial = match n_buckets {
            0 => self.fold(&set, self.trace, &locations),
            n => self.settled(&set, &locations, n, |_, _| Ok(())).ok()?,
        };
        set.finish(partial, definitions, &Notices::default()).take(&key).ok()
    }

    /// Law 5.
    fn check_company(&self) -> Result<(), Violation> {
        let mut set = AnalysisSet::default();
        let before = set.add(Probe::OfSamples);
        let key = set.add((self.make)(self.trace.definitions()));
        let behind = set.add(Probe::OfCalls);
        let set = self.prepared(&set);
        let fold = |set: &Prepared| {
            let locations = set.locations(self.trace.definitions());
            self.fold(set, self.trace, &locations)
        };
        let text = |set: &Prepared, key: &Key<Q>| {
            // Notices about calls made from samples for the other analysis belong to that analysis.
            let is_own = |notice: &Notice| notice.code != NoticeCode::UncertainInstances;
            self.finish_with(set, key, self.trace, fold(set), is_own)
        };
        let (own_set, own_key) = self.alone();
        let alone = Expected { bytes: Vec::new(), text: text(&own_set, &own_key) };
        alone.text_is(Law::Company, "between two analyses that need everything", &text(&set, &key))?;

        // The other analysis must not notice it, either.
        let see = |set: &Prepared, key: &Key<Probe>| {
            let notices = Notices::default();
            let partial = fold(set);
            set.finish(partial, self.trace.definitions(), &notices).take(key).expect("a probe answers")
        };
        for (probe, in_company) in [(Probe::OfSamples, &before), (Probe::OfCalls, &behind)] {
            let mut alone = AnalysisSet::default();
            let probe = alone.add(probe);
            let alone = Expected { bytes: Vec::new(), text: see(&self.prepared(&alone), &probe) };
            alone.text_is(Law::Company, "what another analysis sees", &see(&set, in_company))?;
        }
        Ok(())
    }
}

/// The answer, computed in the plainest way.
struct Expected {
    bytes: Vec<u8>,
    text: String,
}

impl Expected {
    fn bytes_are(&self, law: Law, case: &str, found: &[u8]) -> Result<(), Violation> {
        if self.bytes == found {
            return Ok(());
        }
        let at = self.bytes.iter().zip(found).take_while(|(a, b)| a == b).count();
        let detail = format!(
            "{case}: encoded partials differ from byte {at} on ({} bytes expected, {} found)",
            self.bytes.len(),
            found.len()
        );
        Err(Violation { law, detail })
    }

    fn text_is(&self, law: Law, case: &str, found: &str) -> Result<(), Violation> {
        if self.text == found {
            return Ok(());
        }
        let at = self.text.bytes().zip(found.bytes()).take_while(|(a, b)| a == b).count();
        let detail =
            format!("{case}:\nexpected {}\n   found {}", excerpt(&self.text, at), excerpt(found, at));
        Err(Violation { law, detail })
    }
}

/// The text around byte `at`.
fn excerpt(text: &str, at: usize) -> String {
    let bytes = text.as_bytes();
    let part = &bytes[at.saturating_sub(120).min(bytes.len())..(at + 120).min(bytes.len())];
    format!("…{}…", String::from_utf8_lossy(part))
}

fn encode(set: &Prepared, partial: Partial) -> Vec<u8> {
    set.encode(partial).expect("a partial encodes")
}
