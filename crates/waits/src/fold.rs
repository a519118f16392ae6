//! The fold: notes the calls that synchronise a location with others.

use crate::calls::CallKind;
use crate::depth::Depth;
use crate::devices::{DetailsKept, DeviceApis, DeviceFold, is_stream};
use crate::output::{WaitsOutput, output};
use crate::records::{
    BareCall, BareKind, CollectiveRecord, CollectiveSite, LocationRecords, Poll, Steps, WaitsPartial,
};
use crate::rma::{RecordPlace, RmaCallKind, RmaFold};
use crate::threads::{ThreadCalls, ThreadFold};
use ouzel_analyses::communication_totals::peer_rank;
use ouzel_analyses::message_matching::{self, MatchingLocal, Observer, Side};
use ouzel_analyses::message_waits::LateMessages;
use ouzel_analyses::semantics::Semantics;
use ouzel_engine::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Scope, Selected};
use ouzel_model::{
    CallPathId, CallPathTree, Collective, CollectiveRoot, Content, Contents, Definitions, EventChunk,
    EventKind, LocationKind, MessageEnd, Needs, Notices, RegionId, Remap, Request, RequestEvent, RmaEvent,
    Ticks, Visit,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Wait states of messages, collectives and threads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Waits {
    /// How calls of each region wait.
    kinds: Vec<CallKind>,
    threads: ThreadCalls,
    /// What calls of each region do with windows; empty without windows.
    rma: Vec<RmaCallKind>,
    devices: DeviceApis,
    depth: Depth,
    /// What else is made of the ends of messages.
    late: Option<LateMessages>,
    /// Whether what goes wrong is not reported.
    is_silent: bool,
}

impl Waits {
    /// The analysis by the built-in rules of what regions mean.
    pub fn new(definitions: &Definitions) -> Self {
        let semantics = Semantics::default();
        let kinds = CallKind::of_regions(definitions, &semantics);
        let threads = ThreadCalls::new(definitions, &semantics);
        let rma = RmaCallKind::of_regions(definitions, &semantics);
        let devices = DeviceApis::new(definitions);
        Waits { kinds, threads, rma, devices, depth: Depth::Waits, late: None, is_silent: false }
    }

    /// Whether any process drives an accelerator, which it may wait for.
    pub fn has_devices(&self) -> bool {
        !self.devices.is_empty()
    }

    /// The same without accelerators.
    #[must_use]
    pub fn without_devices(self) -> Self {
        Waits { devices: DeviceApis::default(), ..self }
    }

    /// Whether any process has several threads, which may wait for each other.
    pub fn has_threads(&self) -> bool {
        !self.threads.is_empty()
    }

    /// The same, with what is needed to find the causes of waits.
    pub fn with_dependencies(definitions: &Definitions) -> Self {
        Waits { depth: Depth::Causes, ..Waits::new(definitions) }
    }

    /// Who needs whom, whether it waited or not, and no waits. Threads of a process and accelerators are left out.
    pub fn with_edges(definitions: &Definitions) -> Self {
        let (threads, devices) = (ThreadCalls::default(), DeviceApis::default());
        Waits { depth: Depth::Edges, threads, devices, ..Waits::new(definitions) }
    }

    /// Waits with both. Threads of a process are left out.
    pub fn with_dependencies_and_edges(definitions: &Definitions) -> Self {
        Waits { depth: Depth::CausesAndEdges, ..Waits::with_edges(definitions) }
    }

    /// The same with what another analysis makes of the same ends of messages: they are read once for both.
    #[must_use]
    pub fn with_late_messages(self, late: LateMessages) -> Self {
        Waits { late: Some(late), ..self }
    }

    /// The same without notices, for answers in which waiting is one of many things.
    #[must_use]
    pub fn silent(self) -> Self {
        Waits { is_silent: true, ..self }
    }
}

/// While a location is folded.
#[derive(Debug)]
pub struct WaitsLocal {
    messages: MatchingLocal,
    own: OpenRecords,
    /// Of a process with several.
    threads: Option<ThreadFold>,
    /// Of a stream, or a process that drives one.
    devices: Option<DeviceFold>,
}

/// The records of the location, and what is open.
#[derive(Debug, Default)]
struct OpenRecords {
    selected: Selected,
    done: LocationRecords,
    /// The root of each collective as recorded, and whether its begin is recorded.
    roots: Vec<(CollectiveRoot, bool)>,
    /// The last begin of a collective that has not ended.
    begun: Option<Ticks>,
    /// Collectives in open calls, those of inner calls last.
    open: Vec<(CallPathId, u32)>,
    /// Where and when collectives were posted.
    posts: Vec<(CallPathId, Ticks)>,
    /// Those posted in open calls, those of inner calls last.
    posting: Vec<(CallPathId, u32)>,
    /// Which of [`OpenRecords::posts`] was posted under a request.
    posted: FxHashMap<u64, u32>,
    /// Collectives with the post that they complete.
    completes: Vec<(u32, u32)>,
    /// When a request was first tested without success.
    tested: FxHashMap<u64, Ticks>,
    /// Polls whose last call is open.
    polling: Vec<(CallPathId, u32)>,
    /// Number of calls with records that are over, if their order is kept.
    call: Option<u32>,
    /// The call in which each of [`OpenRecords::posts`] was made, if their order is kept.
    post_calls: Vec<u32>,
    rma: RmaFold,
}

/// [`OpenRecords`] while a chunk is read.
struct Folding<'a> {
    own: &'a mut OpenRecords,
    kinds: &'a [CallKind],
    rma: &'a [RmaCallKind],
    chunk: &'a EventChunk<'a>,
    /// The first row that was not searched for the begin of a collective.
    row: usize,
}

impl Analysis for Waits {
    type Local = WaitsLocal;
    type Partial = WaitsPartial;
    type Output = WaitsOutput;
    const NAME: &'static str = "waits";
    const PARTIAL_VERSION: u32 = 4;
    const SCOPE: Scope = Scope::Trace;

    fn needs(&self) -> Needs {
        let threads = if self.threads.is_empty() { Needs::NOTHING } else { Needs::THREADS };
        let rma = if self.rma.is_empty() { Needs::NOTHING } else { Needs::RMA };
        let devices = if self.devices.is_empty() { Needs::NOTHING } else { Needs::LINKS };
        Needs::MESSAGES | Needs::COLLECTIVES | Needs::CALL_PATHS | Needs::VISITS | threads | rma | devices
    }

    fn speaks_of(&self) -> Contents {
        let mut contents = Contents::of_needs(self.needs());
        if !self.devices.is_empty() {
            // Operations of streams, and calls that wait for them.
            contents.insert(Content::Calls);
        }
        contents
    }

    fn empty(&self) -> WaitsPartial {
        WaitsPartial::default()
    }

    fn begin(&self, cx: &LocationCx<'_>) -> WaitsLocal {
        let call = self.depth.has_edges().then_some(0);
        let own = OpenRecords { selected: cx.selected, call, ..OpenRecords::default() };
        let location = cx.definitions.location(cx.location);
        let threads = self.threads.has(location).then(|| ThreadFold::new(cx.selected));
        let fold =
            || if is_stream(location) { DeviceFold::stream() } else { DeviceFold::thread(false, false) };
        let devices = self.devices.has(location).then(fold);
        WaitsLocal { messages: MatchingLocal::new(cx), own, threads, devices }
    }

    fn fold(&self, local: &mut WaitsLocal, chunk: &EventChunk<'_>) {
        let WaitsLocal { messages, own, threads, devices } = local;
        let mut folding = Folding { own, kinds: &self.kinds, rma: &self.rma, chunk, row: 0 };
        message_matching::fold(messages, &mut folding, chunk);
        folding.search_begin(chunk.kind.len());
        own.add_bare_calls(&self.kinds, chunk);
        if let Some(threads) = threads {
            threads.fold(self.threads.of_regions(), chunk);
        }
        if let Some(devices) = devices {
            devices.fold(self.devices.of_regions(), &DetailsKept::default(), chunk);
        }
    }

    fn end(&self, local: WaitsLocal, cx: &LocationCx<'_>, _: &LocationSummary, into: &mut WaitsPartial) {
        let WaitsLocal { messages, own, threads, devices } = local;
        messages.end(cx, &mut into.ends);
        let mut of_streams = Vec::new();
        let mut records = own.end(cx, &mut of_streams);
        records.threads = threads.map(ThreadFold::end).unwrap_or_default();
        if let Some(devices) = devices {
            records.devices = devices.end(None);
            records.stream_collectives = of_streams;
        }
        if records != LocationRecords::default() {
            into.locations.insert(cx.location, records);
        }
    }

    fn remap(&self, partial: &mut WaitsPartial, remap: &Remap) {
        partial.remap(remap);
    }

    fn merge(&self, into: &mut WaitsPartial, from: WaitsPartial) {
        into.merge(from);
    }

    fn finish(&self, partial: WaitsPartial, cx: &FinishCx<'_>) -> Result<WaitsOutput, AnalysisError> {
        let unheard = Notices::default();
        let notices = if self.is_silent { &unheard } else { cx.notices };
        let late = self.late.as_ref().map(|late| late.of_ends(&partial.ends, cx));
        let of_records = (&*self.kinds, &self.devices);
        Ok(WaitsOutput { late, ..output(&partial, of_records, self.depth, &FinishCx { notices, ..*cx }) })
    }
}

impl Observer for Folding<'_> {
    fn end(&mut self, end: &MessageEnd, side: Side, nth: u32, path: CallPathId, at: Ticks) {
        let recorded = &mut self.own.done.recorded;
        let place = nth as usize;
        if recorded.len() <= place {
            recorded.resize(place + 1, Ticks(0));
        }
        recorded[place] = at;
        self.own.order_end(end, side, nth);
        if side == Side::Receive {
            let received = &mut self.own.done.received;
            received.push(nth);
            self.own.succeed(end.request, path, at);
        }
    }

    fn request(&mut self, request: &Request, nth: Option<u32>, path: CallPathId, at: Ticks) {
        let own = &mut *self.own;
        own.order_request(request, nth);
        match request.event {
            RequestEvent::CollectivePosted => {
                let posted = own.posts.len() as u32;
                own.posts.push((path, at));
                own.post_calls.extend(own.call);
                own.posted.insert(request.request, posted);
                push_open(&mut own.posting, path, posted);
            }
            RequestEvent::Tested => {
                own.tested.entry(request.request).or_insert(at);
            }
            RequestEvent::SendComplete => own.succeed(Some(request.request), path, at),
            RequestEvent::Cancelled => {
                own.tested.remove(&request.request);
            }
            RequestEvent::RecvPosted => {}
        }
    }

    fn collective(&mut self, collective: &Collective, path: CallPathId, at: Ticks) {
        self.search_begin(collective.row as usize);
        let own = &mut *self.own;
        let &Collective { op, comm, root, bytes_sent, bytes_received, request, .. } = collective;
        let index = own.done.collectives.len() as u32;
        let post = request.and_then(|request| own.posted.remove(&request));
        own.completes.extend(post.map(|post| (index, post)));
        if let Some(completed) = own.call {
            let posted = post.map_or(completed, |post| own.post_calls[post as usize]);
            own.done.order.collectives.push(Steps { posted, completed });
        }
        let begun = own.begun.take();
        own.roots.push((root, begun.is_some()));
        own.done.collectives.push(CollectiveRecord {
            op,
            comm,
            root: None,
            moves_data: bytes_sent != 0 || bytes_received != 0,
            is_blocking: post.is_none(),
            is_selected: own.selected.has(at),
            site: CollectiveSite::Communicator,
            arrived_path: path,
            arrived: begun.unwrap_or(at),
            path,
            enter: at,
            end: at,
        });
        push_open(&mut own.open, path, index);
        own.succeed(request, path, at);
    }

    fn rma(&mut self, event: &RmaEvent, path: CallPathId, at: Ticks) {
        if !self.rma.is_empty() {
            let own = &mut *self.own;
            let (nth, is_selected) = (own.call, own.selected.has(at));
            own.rma.event(event, RecordPlace { path, at, nth, is_selected });
        }
    }

    fn is_waiting(&self) -> bool {
        let own = &*self.own;
        own.rma.is_waiting() || !own.open.is_empty() || !own.posting.is_empty() || !own.polling.is_empty()
    }

    fn leave(&mut self, visit: &Visit, region: RegionId) {
        let OpenRecords { done, roots, open, posts, posting, polling, call, rma, .. } = &mut *self.own;
        if let Some(call) = call {
            *call += 1;
        }
        let kind = self.kinds[region.index()];
        if rma.is_waiting() {
            rma.leave(visit, self.rma[region.index()]);
        }
        let is_of_visit = |open: &mut (CallPathId, u32)| open.0 == visit.call_path;
        while let Some((_, i)) = open.pop_if(is_of_visit) {
            if kind.is_operation() {
                let (_, has_begin) = roots[i as usize];
                done.collectives[i as usize].put_into(visit, has_begin);
            }
        }
        while let Some((_, i)) = posting.pop_if(is_of_visit) {
            if kind.is_operation() {
                posts[i as usize].1 = visit.enter;
            }
        }
        while let Some((_, i)) = polling.pop_if(is_of_visit) {
            // A call that waits for the request does so in the open.
            if kind != CallKind::Tests {
                let poll = &mut done.polls[i as usize];
                poll.end = poll.end.min(visit.enter).max(poll.start);
            }
        }
    }
}

impl Folding<'_> {
    /// Looks for begins of collectives before a row.
    fn search_begin(&mut self, before: usize) {
        let rows = self.row..before;
        let last = self.chunk.kind[rows.clone()].iter().rposition(|kind| *kind == EventKind::CollectiveBegin);
        if let Some(last) = last {
            self.own.begun = Some(self.chunk.time[rows.start + last]);
        }
        self.row = before;
    }
}

fn push_open(open: &mut Vec<(CallPathId, u32)>, path: CallPathId, index: u32) {
    if path != CallPathTree::ROOT {
        open.push((path, index));
    }
}

impl CollectiveRecord {
    /// Once the call is known in which it ended.
    fn put_into(&mut self, visit: &Visit, has_begin: bool) {
        if self.is_blocking {
            // Without a begin record it begins with its call; one before the call is of an end that is lost.
            if !has_begin || self.arrived < visit.enter {
                self.arrived = visit.enter;
            }
        } else {
            self.end = visit.leave;
        }
        self.enter = visit.enter;
    }
}

impl OpenRecords {
    /// The steps of an end of a message, if they are kept.
    fn steps(&mut self, nth: u32) -> Option<(&mut Steps, u32)> {
        let (call, ends, place) = (self.call?, &mut self.done.order.ends, nth as usize);
        if ends.len() <= place {
            ends.resize(place + 1, Steps::NONE);
        }
        Some((&mut ends[place], call))
    }

    fn order_end(&mut self, end: &MessageEnd, side: Side, nth: u32) {
        let Some((steps, call)) = self.steps(nth) else { return };
        if side == Side::Send || end.request.is_none() || steps.posted == Steps::NONE.posted {
            steps.posted = call;
        }
        steps.completed = call;
    }

    fn order_request(&mut self, request: &Request, nth: Option<u32>) {
        let Some((steps, call)) = nth.and_then(|nth| self.steps(nth)) else { return };
        if request.event == RequestEvent::RecvPosted {
            steps.posted = call;
        }
        steps.completed = call;
    }

    /// A request is complete.
    fn succeed(&mut self, request: Option<u64>, path: CallPathId, at: Ticks) {
        let Some(first) = request.and_then(|request| self.tested.remove(&request)) else { return };
        let polls = &mut self.done.polls;
        let start = polls.last().map_or(first, |last: &Poll| first.max(last.end));
        push_open(&mut self.polling, path, polls.len() as u32);
        polls.push(Poll { path, start, end: at.max(start) });
    }

    fn add_bare_calls(&mut self, kinds: &[CallKind], chunk: &EventChunk<'_>) {
        for visit in chunk.visits {
            let kind = match kinds[chunk.region[visit.row as usize].index()] {
                CallKind::Probes => BareKind::Probe,
                CallKind::StartsMpi => BareKind::Init,
                CallKind::EndsMpi => BareKind::Finalize,
                _ => continue,
            };
            let &Visit { call_path: path, enter, leave, .. } = visit;
            self.done.bare.push(BareCall { kind, path, enter, leave });
        }
    }

    /// The records of the location; collectives of a stream go to `of_streams`.
    fn end(self, cx: &LocationCx<'_>, of_streams: &mut Vec<CollectiveRecord>) -> LocationRecords {
        let OpenRecords { mut done, roots, posts, completes, rma, .. } = self;
        done.rma = rma.end();
        let location = cx.definitions.location(cx.location);
        if !matches!(location.kind, LocationKind::CpuThread | LocationKind::Unknown) {
            // Streams have operations of their own, which no call of a process waits for.
            *of_streams = std::mem::take(&mut done.collectives);
        }
        for (it, (root, _)) in done.collectives.iter_mut().zip(roots) {
            it.root = match (root, location.rank) {
                (CollectiveRoot::This, me) => me,
                (CollectiveRoot::Rank(rank), Some(me)) => peer_rank(cx.definitions, it.comm, me, rank),
                _ => None,
            };
        }
        for (index, post) in completes {
            if let Some(it) = done.collectives.get_mut(index as usize) {
                (it.arrived_path, it.arrived) = posts[post as usize];
            }
        }
        done
    }
}
