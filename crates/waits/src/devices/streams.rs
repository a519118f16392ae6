//! The streams of a process, and which call launched which operation.
//!
//! Operations are linked to their launches by the ids that the trace records. A process without any such id launches
//! in order: if it has one stream, the n-th operation is that of the n-th call that launches, copies or fills, if there are
//! as many, each pair is of one kind, and none begins before its call. Else the n-th kernel, by the time when kernels begin,
//! is that of the n-th launch, on the same conditions; and a copy is that of the call that blocks around it. Law: operations
//! of a stream are in the order in which they were launched, which is that of their begins.

use super::calls::{DeviceApi, DeviceApis, is_stream};
use super::records::{DeviceOperation, DeviceRecords, HostCall, SampledCode};
use ouzel_model::{Definitions, LocationGroupId, LocationId, Ticks};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A call of a thread.
pub(crate) type CallPlace = (LocationId, u32);
/// An operation: its stream, and place there.
pub(crate) type OperationPlace = (LocationId, usize);

/// The threads and streams of a process.
#[derive(Default)]
pub(crate) struct DeviceProcess<'a> {
    /// By location.
    pub threads: Vec<(LocationId, &'a DeviceRecords)>,
    /// By location.
    pub streams: Vec<Stream<'a>>,
    /// How its operations are linked.
    pub linking: Linking,
    /// Whether the records are a part of the run that is not the first: what has a link whose call is not among them was
    /// launched before.
    continues: bool,
    /// What other processes run on its devices: its own context, the stream, and its operations.
    pub others: Vec<(LocationGroupId, LocationId, &'a [DeviceOperation])>,
}

/// How the operations of a process are linked to their launches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Linking {
    /// By ids.
    #[default]
    Recorded,
    /// By their order.
    InOrder,
    /// Not at all.
    Unknown,
}

/// The operations of a stream.
pub(crate) struct Stream<'a> {
    pub location: LocationId,
    /// The accelerator context.
    pub device: LocationGroupId,
    pub operations: &'a [DeviceOperation],
    /// Of each operation, if it is known.
    pub launches: Vec<Option<CallPlace>>,
    /// When the last of all operations up to this one was launched, by what is known.
    launched: Vec<Ticks>,
    /// Number of operations before the first whose launch is recorded: they were launched before the recording began, or
    /// by calls that are not recorded. 0 if no launch is recorded.
    pub n_unrecorded: usize,
}

impl Stream<'_> {
    /// Number of operations that were launched before a time.
    pub fn n_launched_before(&self, at: Ticks) -> usize {
        self.launched.partition_point(|launched| *launched < at)
    }
}

impl<'a> DeviceProcess<'a> {
    pub fn stream(&self, location: LocationId) -> Option<&Stream<'a>> {
        let place = self.streams.binary_search_by_key(&location, |it| it.location).ok()?;
        Some(&self.streams[place])
    }

    pub fn call(&self, (location, call): CallPlace) -> &'a HostCall {
        let place = self.threads.binary_search_by_key(&location, |it| it.0);
        let place = place.expect("a place of a call is of a thread of the process");
        &self.threads[place].1.calls[call as usize]
    }

    /// The thread that is taken to launch where no launch is recorded: the first whose calls are made of samples.
    pub fn sampled_host(&self) -> Option<(LocationId, &'a SampledCode)> {
        let sampled = |it: &&(LocationId, &'a DeviceRecords)| it.1.code.period != Ticks(0);
        let host = self.threads.iter().find(sampled).filter(|_| self.linking == Linking::Unknown);
        host.map(|&(location, of)| (location, &of.code))
    }

    /// All calls of all threads.
    pub fn calls(&self) -> impl Iterator<Item = (CallPlace, &'a HostCall)> {
        self.threads
            .iter()
            .flat_map(|&(location, of)| (0..).zip(&of.calls).map(move |(nth, call)| ((location, nth), call)))
    }

    pub fn operation(&self, (stream, nth): OperationPlace) -> &'a DeviceOperation {
        let stream = self.stream(stream).expect("a place of an operation is of a stream of the process");
        &stream.operations[nth]
    }

    /// The last of some operations to end, of several the one of the smallest stream.
    pub fn last(&self, places: impl Iterator<Item = OperationPlace>) -> Option<OperationPlace> {
        places.max_by_key(|&it| (self.operation(it).end, Reverse(it.0)))
    }

    /// Whether all operations are of one stream.
    pub fn has_one_stream(&self) -> bool {
        self.streams.iter().filter(|it| !it.operations.is_empty()).count() == 1
    }

    /// Whether all operations are of one device.
    pub fn has_one_device(&self) -> bool {
        let mut devices = self.streams.iter().filter(|it| !it.operations.is_empty()).map(|it| it.device);
        let first = devices.next();
        devices.all(|it| Some(it) == first)
    }

    fn link(&mut self) {
        let all = || self.streams.iter().flat_map(|it| it.operations);
        let of_links = CallsByLink::new(self.calls().map(|(place, call)| (call.link, place)));
        let is_linked = |it: &DeviceOperation| of_links.get(it.link, &mut 0).is_some();
        let mut in_order = FxHashMap::default();
        let is_linked_before = self.continues && all().any(|it| it.link != 0);
        if !all().any(is_linked) && !is_linked_before {
            let matched = self.in_one_stream().or_else(|| self.in_order());
            self.linking = if matched.is_some() { Linking::InOrder } else { Linking::Unknown };
            in_order = matched.unwrap_or_default();
            self.add_copies_in_calls(&mut in_order);
        }
        let mut launches = Vec::with_capacity(self.streams.len());
        for stream in &self.streams {
            let mut near = 0;
            let launch = |(nth, it): (usize, &DeviceOperation)| match self.linking {
                Linking::Recorded => of_links.get(it.link, &mut near),
                _ => in_order.get(&(stream.location, nth)).copied(),
            };
            launches.push(stream.operations.iter().enumerate().map(launch).collect::<Vec<_>>());
        }
        for (nth, launches) in launches.into_iter().enumerate() {
            let mut last = Ticks(0);
            let launched = launches.iter().zip(self.streams[nth].operations).map(|(launch, it)| {
                let unknown = if self.continues && it.link != 0 { last } else { it.start };
                last = last.max(launch.map_or(unknown, |launch| self.call(launch).enter));
                last
            });
            let launched = launched.collect();
            let is_recorded = self.linking == Linking::Recorded;
            let first = launches.iter().position(Option::is_some).filter(|_| is_recorded);
            let stream = &mut self.streams[nth];
            stream.n_unrecorded = first.unwrap_or(0);
            (stream.launches, stream.launched) = (launches, launched);
        }
    }

    /// Adds the call of each copy and fill that lies within one call that copies and blocks.
    fn add_copies_in_calls(&self, launches: &mut FxHashMap<(LocationId, usize), CallPlace>) {
        let is_copy = |(_, call): &(u32, &HostCall)| call.api == DeviceApi::BlockingCopy;
        let of_thread = |&(location, of): &(LocationId, &'a DeviceRecords)| {
            let calls: Vec<(u32, &HostCall)> = (0..).zip(&of.calls).filter(is_copy).collect();
            (location, calls)
        };
        let threads: Vec<(LocationId, Vec<(u32, &HostCall)>)> = self.threads.iter().map(of_thread).collect();
        let call_of = |it: &DeviceOperation| {
            let around = |(location, calls): &(LocationId, Vec<(u32, &HostCall)>)| {
                let n = calls.partition_point(|(_, call)| call.enter <= it.start);
                let &(nth, call) = calls[..n].last()?;
                (it.end <= call.leave).then_some((*location, nth))
            };
            let mut found = threads.iter().filter_map(around);
            found.next().filter(|_| found.next().is_none())
        };
        for stream in &self.streams {
            for (nth, it) in stream.operations.iter().enumerate().filter(|(_, it)| !it.is_kernel) {
                if let Some(call) = call_of(it) {
                    launches.entry((stream.location, nth)).or_insert(call);
                }
            }
        }
    }

    /// The call of each operation of the only stream, which runs what is put into it in that order.
    fn in_one_stream(&self) -> Option<FxHashMap<(LocationId, usize), CallPlace>> {
        let mut streams = self.streams.iter().filter(|it| !it.operations.is_empty());
        let stream = streams.next().filter(|_| streams.next().is_none())?;
        let starts_kernel = |call: &HostCall| match call.api {
            DeviceApi::Launch => Some(true),
            DeviceApi::AsyncCopy | DeviceApi::BlockingCopy => Some(false),
            _ => None,
        };
        let mut calls: Vec<(Ticks, CallPlace, bool)> = self
            .calls()
            .filter_map(|(place, call)| starts_kernel(call).map(|is_kernel| (call.enter, place, is_kernel)))
            .collect();
        calls.sort_unstable();
        let is_pair = |(call, it): (&(Ticks, CallPlace, bool), &DeviceOperation)| {
            call.2 == it.is_kernel && call.0 <= it.start
        };
        let is_possible =
            calls.len() == stream.operations.len() && calls.iter().zip(stream.operations).all(is_pair);
        let pairs = calls.iter().enumerate().map(|(nth, call)| ((stream.location, nth), call.1));
        is_possible.then(|| pairs.collect())
    }

    /// The launch of each kernel, by its stream and place there.
    fn in_order(&self) -> Option<FxHashMap<(LocationId, usize), CallPlace>> {
        let is_launch = |(_, call): &(CallPlace, &HostCall)| call.api == DeviceApi::Launch;
        let mut launches: Vec<(Ticks, CallPlace)> =
            self.calls().filter(is_launch).map(|(place, call)| (call.enter, place)).collect();
        let mut kernels: Vec<(Ticks, LocationId, usize)> = Vec::new();
        for stream in &self.streams {
            let of_stream = stream.operations.iter().enumerate().filter(|(_, it)| it.is_kernel);
            kernels.extend(of_stream.map(|(nth, it)| (it.start, stream.location, nth)));
        }
        launches.sort_unstable();
        kernels.sort_unstable();
        let is_possible = launches.len() == kernels.len()
            && launches.iter().zip(&kernels).all(|(launch, kernel)| launch.0 <= kernel.0);
        let pairs = launches.iter().zip(&kernels).map(|(launch, kernel)| ((kernel.1, kernel.2), launch.1));
        (is_possible && !kernels.is_empty()).then(|| pairs.collect())
    }
}

/// The processes that drive devices, by their groups: those that launched anything.
pub(crate) fn processes<'a>(
    records: &BTreeMap<LocationId, &'a DeviceRecords>,
    apis: &DeviceApis,
    definitions: &Definitions,
) -> Vec<DeviceProcess<'a>> {
    processes_of(definitions.location_ids(), records, (apis, false), definitions)
}

/// The same of some locations, which are all of their processes; of a part of the run that is not the first, if it
/// `continues`.
pub(crate) fn processes_of<'a>(
    locations: impl Iterator<Item = LocationId>,
    records: &BTreeMap<LocationId, &'a DeviceRecords>,
    (apis, continues): (&DeviceApis, bool),
    definitions: &Definitions,
) -> Vec<DeviceProcess<'a>> {
    let mut processes: BTreeMap<LocationGroupId, DeviceProcess<'_>> = BTreeMap::new();
    for id in locations {
        let location = definitions.location(id);
        let of = records.get(&id).copied();
        let process = processes.entry(apis.owner(location.group)).or_default();
        if is_stream(location) {
            process.streams.push(Stream {
                location: id,
                device: location.group,
                operations: of.map_or(&[], |of| &of.operations),
                launches: Vec::new(),
                launched: Vec::new(),
                n_unrecorded: 0,
            });
        } else if let Some(of) = of {
            process.threads.push((id, of));
        }
    }
    processes.retain(|_, process| process.streams.iter().any(|it| !it.operations.is_empty()));
    for process in processes.values_mut() {
        process.continues = continues;
        process.link();
    }
    add_others(&mut processes, apis);
    processes.into_values().collect()
}

/// Calls with a link, by their links: the first call of each.
struct CallsByLink(Vec<(u64, CallPlace)>);

impl CallsByLink {
    /// Links that are compared before a search.
    const NEAR: usize = 8;

    fn new(calls: impl Iterator<Item = (u64, CallPlace)>) -> Self {
        let mut calls: Vec<(u64, CallPlace)> = calls.filter(|it| it.0 != 0).collect();
        // Runtimes number calls as they are made; several threads are put together.
        calls.sort_by_key(|it| it.0);
        calls.dedup_by_key(|it| it.0);
        CallsByLink(calls)
    }

    /// The call of a link; `near` is where the one before was found, as streams run what is launched mostly in order.
    fn get(&self, link: u64, near: &mut usize) -> Option<CallPlace> {
        let behind = self.0.get(*near..).unwrap_or_default().iter().take(Self::NEAR);
        *near = match behind.into_iter().position(|it| it.0 == link) {
            Some(nth) => *near + nth,
            None => self.0.binary_search_by_key(&link, |it| it.0).ok()?,
        };
        Some(self.0[*near].1)
    }
}

/// Adds what other processes run on the devices of each.
fn add_others(processes: &mut BTreeMap<LocationGroupId, DeviceProcess<'_>>, apis: &DeviceApis) {
    type OfProcess<'a> = (LocationGroupId, LocationId, &'a [DeviceOperation]);
    let mut of_devices: BTreeMap<u32, Vec<OfProcess<'_>>> = BTreeMap::new();
    for (&process, of) in processes.iter() {
        for stream in &of.streams {
            if let Some(device) = apis.shared_device(stream.device) {
                of_devices.entry(device).or_default().push((process, stream.location, stream.operations));
            }
        }
    }
    for (&own, process) in processes.iter_mut().filter(|_| !of_devices.is_empty()) {
        let contexts: BTreeSet<LocationGroupId> = process.streams.iter().map(|it| it.device).collect();
        for context in contexts {
            let Some(all) = apis.shared_device(context).and_then(|it| of_devices.get(&it)) else { continue };
            let others = all.iter().filter(|(process, ..)| *process != own);
            process.others.extend(others.map(|&(_, stream, operations)| (context, stream, operations)));
        }
    }
}
