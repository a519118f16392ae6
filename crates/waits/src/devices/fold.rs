//! The fold over a stream, or over a thread of a process that drives a device.

use super::calls::DeviceApi;
use super::records::{
    DeviceOperation, DeviceRecords, HostCall, HostState, InnerRange, MemoryChange, OperationValue,
    StreamCollective,
};
use ouzel_model::{
    CallPathId, CallPathTree, Definitions, DeviceStep, EventChunk, EventKind, LaunchShape, Link, LinkEnd,
    Metric, MetricValue, Parameter, ParameterId, ParameterValue, Region, RegionRole, Ticks, popped,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is kept beside calls and operations; nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DetailsKept {
    /// By region.
    states: Vec<Option<HostState>>,
    values: Vec<(ParameterId, KeptValue)>,
    /// By metric.
    memory: Vec<Option<(u32, MemoryCounter)>>,
    /// What allocators manage: `device 0`, `host`.
    pools: Vec<Arc<str>>,
    /// Whether the code before each call is kept.
    code: bool,
    /// By region, whether it is a kernel or a copy, whatever it is called from.
    operations: Vec<bool>,
}

/// What a parameter of an operation says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum KeptValue {
    Number(OperationValue),
    Shape,
    HostMemory,
}

/// What a counter of an allocator counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum MemoryCounter {
    Allocated,
    Reserved,
    Change,
}

/// The names that counters of allocators begin with.
const MEMORY_COUNTERS: [(&str, MemoryCounter); 3] = [
    ("memory allocated, ", MemoryCounter::Allocated),
    ("memory reserved, ", MemoryCounter::Reserved),
    ("memory change, ", MemoryCounter::Change),
];

impl DetailsKept {
    /// Everything: `states` are those of calls on the host, by region.
    pub fn all(definitions: &Definitions, states: Vec<Option<HostState>>) -> Self {
        let names = [
            ("bytes", KeptValue::Number(OperationValue::Bytes)),
            (LaunchShape::PARAMETER, KeptValue::Shape),
            ("host memory", KeptValue::HostMemory),
        ];
        let known = |(id, name): (usize, &Arc<str>)| {
            let (_, value) = names.iter().find(|(known, _)| **known == **name)?;
            Some((ParameterId::from_index(id), *value))
        };
        let values = definitions.parameters.iter().enumerate().filter_map(known).collect();
        let mut pools: Vec<Arc<str>> = Vec::new();
        let mut counter = |metric: &Metric| {
            let of =
                |&(start, counter): &(&str, MemoryCounter)| Some((metric.name.strip_prefix(start)?, counter));
            let (pool, counter) = MEMORY_COUNTERS.iter().find_map(of)?;
            let number = pools.iter().position(|it| **it == *pool).unwrap_or_else(|| {
                pools.push(Arc::from(pool));
                pools.len() - 1
            });
            Some((number as u32, counter))
        };
        let memory = definitions.metrics.iter().map(&mut counter).collect();
        let is_operation =
            |region: &Region| matches!(region.role, RegionRole::Kernel | RegionRole::DataTransfer);
        let operations = definitions.regions.iter().map(is_operation).collect();
        DetailsKept { states, values, memory, pools, code: true, operations }
    }

    /// The same without the code before each call.
    pub(crate) fn without_code(self) -> Self {
        DetailsKept { code: false, ..self }
    }

    /// Whether the code before each call is kept.
    pub(crate) fn has_code(&self) -> bool {
        self.code
    }

    /// What allocators manage.
    pub(crate) fn pools(&self) -> &[Arc<str>] {
        &self.pools
    }

    pub(crate) fn state(&self, region: ouzel_model::RegionId) -> Option<HostState> {
        self.states.get(region.index()).copied().flatten()
    }
}

/// Call paths that are kept of the code before a call: it is the longest that matter.
const MOST_CODE: usize = 4;

/// While a location is folded.
#[derive(Debug)]
pub(crate) enum DeviceFold {
    Stream(Box<StreamFold>),
    Thread(Box<HostFold>),
}

/// While a stream is folded.
#[derive(Debug, Default)]
pub(crate) struct StreamFold {
    depth: u32,
    /// Whether the outermost open call is an operation.
    is_open: bool,
    /// Whether it is code that runs one.
    is_host_path: bool,
    /// The number of each shape, by its text; `None` for what is none.
    shapes: FxHashMap<Arc<str>, Option<u32>>,
    done: DeviceRecords,
}

/// While a thread is folded.
#[derive(Debug, Default)]
pub(crate) struct HostFold {
    open: Vec<OpenHostCall>,
    /// Number of open calls that block.
    n_blocking: u32,
    /// When the thread last changed between calls.
    since: Ticks,
    /// Time since the last call that launched or waited, by call path, and when each came first.
    code: FxHashMap<CallPathId, (Ticks, u32)>,
    /// What was done since the outermost call that blocks was entered.
    inner: Vec<InnerRange>,
    /// Whether its calls are made of samples, and none says what it launched.
    is_sampled: bool,
    /// Whether all that is done is kept then.
    keeps_code: bool,
    /// The outermost open call that communicates or starts something up: its depth, what it is, and since when.
    state: Option<(usize, HostState, Ticks)>,
    done: DeviceRecords,
}

#[derive(Debug)]
struct OpenHostCall {
    path: CallPathId,
    /// Which of [`DeviceRecords::calls`].
    call: Option<u32>,
    blocks: bool,
    /// Whether another call inside has waited.
    has_waited: bool,
}

impl DeviceFold {
    pub fn stream() -> Self {
        DeviceFold::Stream(Box::default())
    }

    /// Of a thread: whether its calls are made of samples, and all that these show is kept.
    pub fn thread(is_sampled: bool, keeps_code: bool) -> Self {
        DeviceFold::Thread(Box::new(HostFold { is_sampled, keeps_code, ..HostFold::default() }))
    }

    pub fn fold(&mut self, apis: &[DeviceApi], kept: &DetailsKept, chunk: &EventChunk<'_>) {
        match self {
            DeviceFold::Stream(stream) => stream.fold(apis, kept, chunk),
            DeviceFold::Thread(thread) => thread.fold(apis, kept, chunk),
        }
    }

    /// The records; with the median interval between samples, if any were taken.
    pub fn end(self, period: Option<Ticks>) -> DeviceRecords {
        let mut done = match self {
            DeviceFold::Stream(stream) => stream.done,
            DeviceFold::Thread(mut thread) => {
                let period = period.filter(|_| thread.is_sampled).unwrap_or_default();
                thread.done.code.period = period;
                thread.done
            }
        };
        done.fit();
        done
    }
}

impl StreamFold {
    /// Operations are the outermost calls of a stream. Where a tracer records the host's call path around an operation
    /// (HPCToolkit), it is named after the innermost call that begins with it.
    fn fold(&mut self, apis: &[DeviceApi], kept: &DetailsKept, chunk: &EventChunk<'_>) {
        let mut links = chunk.links;
        let (mut parameters, mut collectives) = (chunk.parameters, chunk.collectives);
        for (row, (&at, &kind)) in chunk.time.iter().zip(chunk.kind).enumerate() {
            let mut link = 0;
            while let Some(it) = popped(&mut links, row, |link| link.row) {
                if it.end == LinkEnd::To {
                    link = it.id;
                }
            }
            match kind {
                EventKind::Enter => {
                    let api = apis[chunk.region[row].index()];
                    let is_kernel = api != DeviceApi::Transfer;
                    if self.depth == 0 {
                        self.is_open = api != DeviceApi::Nothing;
                    }
                    if self.depth == 0 && self.is_open {
                        self.done.operations.push(DeviceOperation {
                            path: chunk.call_path[row],
                            start: at,
                            end: at,
                            link,
                            is_kernel,
                        });
                        let region = chunk.region[row];
                        self.is_host_path = kept.operations.get(region.index()).is_some_and(|it| !it);
                    } else if let Some(open) = self.done.operations.last_mut()
                        && self.is_open
                        && self.is_host_path
                        && open.start == at
                    {
                        (open.path, open.is_kernel) = (chunk.call_path[row], is_kernel);
                    }
                    self.depth += 1;
                }
                EventKind::Leave => {
                    self.depth -= 1;
                    let is_over = self.depth == 0 && self.is_open;
                    let open = self.done.operations.last_mut().filter(|_| is_over);
                    if let Some(open) = open {
                        open.end = at;
                    }
                }
                EventKind::Parameter if !kept.values.is_empty() => {
                    while let Some(it) = popped(&mut parameters, row, |it| it.row) {
                        self.parameter(kept, it);
                    }
                }
                EventKind::CollectiveEnd if !kept.values.is_empty() || !kept.states.is_empty() => {
                    let Some(it) = popped(&mut collectives, row, |it| it.row) else { continue };
                    let Some(nth) = self.open() else { continue };
                    let &ouzel_model::Collective { op, comm, bytes_sent, bytes_received, .. } = it;
                    let collective = StreamCollective { nth, op, comm, bytes_sent, bytes_received };
                    self.done.details.collectives.push(collective);
                }
                _ => {}
            }
        }
    }
}

impl StreamFold {
    /// Keeps a parameter of the operation that runs, if it is one of those that are kept.
    fn parameter(&mut self, kept: &DetailsKept, it: &Parameter) {
        let known = kept.values.iter().find(|(id, _)| *id == it.parameter);
        if let Some((nth, &(_, kind))) = self.open().zip(known) {
            self.keep(nth, kind, &it.value);
        }
    }

    /// Keeps a value of an operation.
    fn keep(&mut self, nth: u32, kind: KeptValue, value: &ParameterValue) {
        let details = &mut self.done.details;
        match (kind, value) {
            (KeptValue::Number(kind), ParameterValue::U64(number)) => {
                details.values.push((nth, kind, *number));
            }
            (KeptValue::HostMemory, ParameterValue::Text(text)) => {
                let is_pageable = u64::from(&**text == "pageable");
                details.values.push((nth, OperationValue::Pageable, is_pageable));
            }
            (KeptValue::Shape, ParameterValue::Text(text)) => {
                let number = *self.shapes.entry(text.clone()).or_insert_with(|| {
                    details.shapes.push(text.parse().ok()?);
                    Some(details.shapes.len() as u32 - 1)
                });
                details.shape_of.extend(number.map(|number| (nth, number)));
            }
            _ => {}
        }
    }

    /// The number of the operation that runs.
    fn open(&self) -> Option<u32> {
        (0 < self.depth).then_some(self.done.operations.len() as u32).and_then(|n| n.checked_sub(1))
    }
}

impl HostFold {
    fn fold(&mut self, apis: &[DeviceApi], kept: &DetailsKept, chunk: &EventChunk<'_>) {
        let (mut links, mut steps, mut metrics) = (chunk.links, chunk.device_calls, chunk.metrics);
        for (row, (&at, &kind)) in chunk.time.iter().zip(chunk.kind).enumerate() {
            match kind {
                EventKind::Enter => {
                    let path = chunk.call_path[row];
                    let step = popped(&mut steps, row, |step| step.row).map(|it| it.step);
                    let mut launched = launches(&mut links, row);
                    let link = launched.next().unwrap_or(0);
                    if let Some(state) = kept.state(chunk.region[row]).filter(|_| self.state.is_none()) {
                        self.state = Some((self.open.len(), state, at));
                    }
                    let number = self.done.calls.len();
                    self.enter(path, apis[chunk.region[row].index()], (link, step), at);
                    if number < self.done.calls.len() && kept.code {
                        self.keep_code(number as u32);
                    }
                    // Calls that only have further links.
                    self.done.calls.extend(launched.map(|link| HostCall {
                        path,
                        code: path,
                        enter: at,
                        leave: at,
                        link,
                        api: DeviceApi::Other,
                        step: None,
                    }));
                }
                EventKind::Leave => {
                    self.leave(at);
                    if let Some((_, state, since)) = self.state.take_if(|it| it.0 == self.open.len()) {
                        self.done.details.states.push((state, since, at));
                    }
                }
                EventKind::Metric if !kept.pools.is_empty() => {
                    while let Some(it) = popped(&mut metrics, row, |it| it.row) {
                        self.metric(kept, at, it);
                    }
                }
                _ => {}
            }
        }
    }

    /// Keeps a value of a counter, if it is one of an allocator.
    fn metric(&mut self, kept: &DetailsKept, at: Ticks, it: &MetricValue) {
        if let Some((pool, counter)) = kept.memory.get(it.metric.index()).copied().flatten() {
            self.keep_memory(at, pool, counter, f64::from_bits(it.bits));
        }
    }

    /// Keeps a value of a counter of an allocator; the first of a change is what is allocated.
    fn keep_memory(&mut self, at: Ticks, pool: u32, counter: MemoryCounter, value: f64) {
        let path = self.open.last().map_or(CallPathTree::ROOT, |call| call.path);
        let changes = &mut self.done.details.memory;
        // Bytes below 2⁵³ are exact.
        let bytes = value.max(0.0) as u64;
        if counter == MemoryCounter::Allocated {
            changes.push(MemoryChange { path, at, pool, allocated: bytes, reserved: None, change: None });
            return;
        }
        let Some(last) = changes.last_mut().filter(|last| last.at == at && last.pool == pool) else { return };
        match counter {
            MemoryCounter::Reserved => last.reserved = Some(bytes),
            _ => last.change = Some(value as i64),
        }
    }

    /// Keeps the code before a call.
    fn keep_code(&mut self, call: u32) {
        let mut longest: Vec<(Ticks, u32, CallPathId)> =
            self.code.iter().map(|(&path, &(ticks, nth))| (ticks, nth, path)).collect();
        longest.sort_unstable_by_key(|&(ticks, nth, _)| (std::cmp::Reverse(ticks), nth));
        let kept = longest.iter().take(MOST_CODE).map(|&(ticks, _, path)| (call, path, ticks));
        self.done.details.codes.extend(kept);
    }

    /// The thread goes on in another call.
    fn change(&mut self, at: Ticks) {
        let path = self.open.last().map_or(CallPathTree::ROOT, |call| call.path);
        let start = std::mem::replace(&mut self.since, at);
        if start < at && !self.open.is_empty() {
            let first = self.code.len() as u32;
            self.code.entry(path).or_insert((Ticks(0), first)).0 += at.since(start);
            let range = InnerRange { path, start, end: at };
            if 0 < self.n_blocking {
                self.inner.push(range);
            }
            if self.is_sampled && self.keeps_code {
                self.done.code.ranges.push(range);
            }
        }
    }

    fn enter(
        &mut self,
        path: CallPathId,
        api: DeviceApi,
        (link, step): (u64, Option<DeviceStep>),
        at: Ticks,
    ) {
        self.change(at);
        let starts_the_same = |around: DeviceApi| {
            around == api || (api == DeviceApi::AsyncCopy && around == DeviceApi::BlockingCopy)
        };
        let is_inner = api.starts()
            && self
                .open
                .iter()
                .any(|it| it.call.is_some_and(|it| starts_the_same(self.done.calls[it as usize].api)));
        let api = if is_inner { DeviceApi::Other } else { api };
        let is_known = link != 0 || step.is_some() || api.blocks() || api.starts();
        let call = is_known.then(|| {
            let longest = self.code.iter().max_by_key(|(_, (ticks, nth))| (*ticks, std::cmp::Reverse(*nth)));
            let code = longest.map_or(path, |(&code, _)| code);
            self.done.calls.push(HostCall { path, code, enter: at, leave: at, link, api, step });
            self.done.calls.len() as u32 - 1
        });
        if link != 0 {
            // What it launches is recorded.
            self.is_sampled = false;
            self.done.code.ranges = Vec::new();
        }
        let blocks = api.blocks() || step.is_some_and(is_await);
        self.n_blocking += u32::from(blocks);
        self.open.push(OpenHostCall { path, call, blocks, has_waited: false });
    }

    fn leave(&mut self, at: Ticks) {
        self.change(at);
        let Some(open) = self.open.pop() else { return };
        let Some(place) = open.call else {
            self.tell_caller(open.has_waited);
            return;
        };
        let calls = &mut self.done.calls;
        calls[place as usize].leave = at;
        if open.blocks || calls[place as usize].link != 0 || calls[place as usize].api.starts() {
            self.code.clear();
        }
        if !open.blocks {
            self.tell_caller(open.has_waited);
            return;
        }
        self.settle(place, open.has_waited);
        self.n_blocking -= 1;
        if self.n_blocking == 0 {
            let mut inner = std::mem::take(&mut self.inner);
            if 1 < inner.len() {
                self.done.inner.append(&mut inner);
            }
        }
        self.tell_caller(true);
    }

    fn tell_caller(&mut self, has_waited: bool) {
        if let Some(caller) = self.open.last_mut() {
            caller.has_waited |= has_waited;
        }
    }

    /// Of calls that block inside each other one waits: that which copies or releases memory, else the innermost, for
    /// what is recorded of any.
    fn settle(&mut self, place: u32, has_waited: bool) {
        let calls = &mut self.done.calls;
        let is_copy = |api| matches!(api, DeviceApi::BlockingCopy | DeviceApi::Free);
        let around = || self.open.iter().rev().filter_map(|it| it.call);
        let HostCall { api, step, .. } = calls[place as usize];
        let is_in_copy = around().any(|it| is_copy(calls[it as usize].api));
        if is_in_copy || (has_waited && !is_copy(api)) {
            calls[place as usize].api = DeviceApi::Other;
            calls[place as usize].step = step.filter(|step| !is_await(*step));
        } else if step.is_none() && !is_copy(api) {
            calls[place as usize].step =
                around().filter_map(|it| calls[it as usize].step).find(|step| is_await(*step));
        }
    }
}

/// Takes the links of a row, and leaves those to what its call launched.
fn launches<'a>(links: &mut &'a [Link], row: usize) -> impl Iterator<Item = u64> + use<'a> {
    let n = links.iter().take_while(|link| link.row as usize == row).count();
    let (of_row, rest) = links.split_at(n);
    *links = rest;
    of_row.iter().filter(|link| link.end == LinkEnd::From).map(|link| link.id)
}

/// Whether the host waits.
pub(crate) fn is_await(step: DeviceStep) -> bool {
    matches!(step, DeviceStep::AwaitStream(_) | DeviceStep::AwaitDevice(_) | DeviceStep::AwaitEvent(_))
}
