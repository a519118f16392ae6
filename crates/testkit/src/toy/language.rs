//! Traces as text, one line for each location.
//!
//! ```text
//! comm row = 0 1
//! 0: enter main @0, enter MPI_Send @10, send>1 tag 7 bytes 64 @12, leave @20, leave main @40
//! 0.1: enter work @5, metric PAPI_TOT_CYC=100 @6, leave @9
//! 0.gpu0: enter kernel @7, leave @8
//! 0.metrics: metric power=17 @3
//! 2: sample main/solve@12 @10, sample main/solve@12/kernel@40 lca 2 @20
//! 1: enter main @0, recv<0 tag 7 bytes 64 @30, collective allreduce comm row bytes 8/8 @35, leave @40
//! ```
//!
//! The label is the rank, then nothing or the number of a thread, `gpuN` for a stream,
//! `metrics` for a metric source. A leave without a name is that of the innermost open call.

use super::{ToyEvent, ToyPayload, ToyTrace};
use ouzel_model::{
    Collective, CollectiveOp, CollectiveRoot, CommId, CommRank, Communicator, DeviceStep, IoMode, Lca,
    LinkEnd, LocationId, LocationKind, LockUse, MessageEnd, Paradigm, ParameterValue, RankGroupId, RegionId,
    Request, RequestEvent, RmaAccess, RmaAtomicKind, RmaCollective, RmaLock, RmaLockMode, RmaOperationId,
    RmaStep, RmaSyncLevel, RmaWindow, RmaWindowId, Sample, TaskId, ThreadLife, ThreadStep, Ticks, WorldRank,
};
use std::sync::Arc;

impl ToyTrace {
    /// The trace that `text` describes.
    ///
    /// One line per location: `rank[.thread|.gpuN|.metrics]: event, event, …`; every event ends in `@ticks`:
    /// - `enter NAME`, `leave [NAME]`
    /// - `send>PEER` or `recv<PEER`, then `tag N`, `bytes N`, `comm NAME`, `request N` as wanted
    /// - `request N send-complete|recv-posted|tested|cancelled|collective-posted`
    /// - `collective-begin`, `collective OP`, then `bytes SENT/RECEIVED`, `root RANK`, `comm NAME`, `request N`
    /// - `sample NAME/NAME@LINE/…`, outermost frame first, each but it with the line of its call if known, then
    ///   `lca N` if so many frames stayed since the sample before or `lca <=N` if at most so many did
    ///   (`sample -`: nothing ran any more)
    /// - `read BYTES`, `write BYTES`, `io` of unknown direction and size
    /// - `fork N`, `join`, `team-begin NAME`, `team-end NAME`; `acquire LOCK#ORDER` and `release LOCK#ORDER` of OpenMP,
    ///   with `p` before the lock of POSIX threads; `task-create|task-switch|task-complete TEAM CREATOR NUMBER`;
    ///   `thread-create|thread-begin|thread-wait|thread-end CONTINGENT NUMBER`
    /// - `rma WINDOW STEP`, where the step is `create`, `destroy`, `begin`, `end OP [SENT/RECEIVED]`, `sync RANK …` with a
    ///   group of world ranks, `asked RANK …` the same where nothing was synchronised, `put|get|atomic TARGET BYTES
    ///   NUMBER`, `complete|done|remote NUMBER` of an access (blocking, at the origin, at the target),
    ///   `request|acquire TARGET exclusive|shared`, `release TARGET`; `all` is every target
    /// - after an enter: `launches N` or `launched N`, the ends of link N; `awaits-stream LABEL`, `awaits-device LABEL` (the
    ///   context of that stream), `awaits-event N`, `records-event N LABEL`, `stream-awaits N LABEL`, with labels of
    ///   lines before
    /// - `metric NAME=VALUE …`, `param NAME=VALUE`, `flush`, `onoff`, `other`
    ///
    /// A line `comm NAME = RANK RANK …` defines a communicator, one without ranks that of the caller alone, and `comm
    /// NAME = ? RANK RANK …` one with only these members known; `MPI_COMM_WORLD` always exists. A line `window NAME =
    /// COMM` defines a window. A line `team NAME =
    /// LABEL LABEL …` defines a team of the locations with these labels, which may follow later.
    ///
    /// # Panics
    /// If the text does not follow this; the message has the place.
    pub fn new(text: &str) -> Self {
        let mut trace = ToyTrace::empty();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut teams = Vec::new();
        for line in lines {
            let team = line.strip_prefix("team ").and_then(|team| team.split_once('='));
            let added = match team {
                Some((name, members)) => {
                    teams.push((trace.definitions.communicators.len(), members));
                    trace.add_communicator(&format!("{name} ="))
                }
                None => trace.add_line(line),
            };
            if let Err(reason) = added {
                panic!("{reason} in {line:?}");
            }
        }
        for (at, labels) in teams {
            let labelled = |label: &str| {
                let found = trace.definitions.locations.iter().position(|it| &*it.name == label);
                LocationId::from_index(found.unwrap_or_else(|| panic!("no location {label:?}")))
            };
            let member_locations = labels.split_whitespace().map(labelled).collect();
            let team = &trace.definitions.communicators[at];
            let team = Communicator {
                member_locations,
                ..Communicator::of_ranks(team.name.clone(), Arc::default())
            };
            trace.definitions_mut().communicators[at] = Communicator { parent: Some(CommId(0)), ..team };
        }
        trace
    }

    fn add_line(&mut self, line: &str) -> Result<(), String> {
        if let Some((name, comm)) = line.strip_prefix("window ").and_then(|line| line.split_once('=')) {
            let (name, comm) = (Arc::from(name.trim()), self.communicator(comm.trim())?);
            self.definitions_mut().rma_windows.push(RmaWindow { name, comm, has_life_events: true });
            return Ok(());
        }
        if let Some(comm) = line.strip_prefix("comm ") {
            return self.add_communicator(comm);
        }
        let (label, events) = line.split_once(':').ok_or("no label")?;
        let (rank, kind) = location_from_label(label.trim())?;
        let mut open = Vec::new();
        let mut parsed: Vec<ToyEvent> = Vec::new();
        for text in events.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            let event = self.event(text, &mut open).map_err(|reason| format!("{reason} at {text:?}"))?;
            if parsed.last().is_some_and(|last| event.time < last.time) {
                return Err(format!("time goes back at {text:?}"));
            }
            parsed.push(event);
        }
        self.add_location(rank, label.trim(), kind, parsed);
        Ok(())
    }

    fn add_communicator(&mut self, text: &str) -> Result<(), String> {
        let (name, members) = text.split_once('=').ok_or("no `=`")?;
        let (members, is_unknown) = match members.trim().strip_prefix('?') {
            Some(participants) => (participants, true),
            None => (members, false),
        };
        let members: Arc<[WorldRank]> =
            members.split_whitespace().map(|rank| number(rank).map(WorldRank)).collect::<Result<_, _>>()?;
        let comm = match () {
            () if is_unknown => Communicator::unknown(name.trim(), members),
            () if members.is_empty() => Communicator::of_caller(name.trim()),
            () => Communicator::of_ranks(name.trim(), members),
        };
        self.definitions_mut().communicators.push(Communicator { parent: Some(CommId(0)), ..comm });
        Ok(())
    }

    fn event(&mut self, text: &str, open: &mut Vec<RegionId>) -> Result<ToyEvent, String> {
        let (what, time) = text.rsplit_once('@').ok_or("no time")?;
        let time = Ticks(number(time.trim())?);
        let what = what.trim();
        let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
        let rest = rest.trim();
        let what = match verb {
            "enter" => {
                open.push(self.region(rest));
                ToyPayload::Enter(self.region(rest))
            }
            "leave" => ToyPayload::Leave(self.left_region(rest, open)?),
            "request" => self.request(rest)?,
            "collective-begin" => ToyPayload::CollectiveBegin,
            "collective" => self.collective(rest)?,
            "rma" => self.rma(rest)?,
            "fork" => ToyPayload::Thread(ThreadStep::Fork {
                paradigm: Paradigm::OpenMp,
                n_requested: number(rest)?,
            }),
            "join" => ToyPayload::Thread(ThreadStep::Join { paradigm: Paradigm::OpenMp }),
            "acquire" => ToyPayload::Thread(ThreadStep::LockAcquire(lock_use(rest)?)),
            "release" => ToyPayload::Thread(ThreadStep::LockRelease(lock_use(rest)?)),
            "team-begin" | "team-end" | "task-create" | "task-switch" | "task-complete" | "thread-create"
            | "thread-begin" | "thread-wait" | "thread-end" => {
                ToyPayload::Thread(self.thread_step(verb, rest)?)
            }
            "metric" => self.metrics(rest)?,
            "param" => {
                let (name, value) = rest.split_once('=').ok_or("no `=`")?;
                let number = value.parse().map(ParameterValue::I64);
                let value = number.unwrap_or_else(|_| ParameterValue::Text(Arc::from(value)));
                ToyPayload::Parameter(self.parameter(name), value)
            }
            "sample" => self.sample(rest)?,
            "launches" => ToyPayload::Link(number(rest)?, LinkEnd::From),
            "launched" => ToyPayload::Link(number(rest)?, LinkEnd::To),
            "awaits-stream" => ToyPayload::Device(DeviceStep::AwaitStream(self.labelled(rest)?)),
            "awaits-device" => {
                let stream = self.labelled(rest)?;
                ToyPayload::Device(DeviceStep::AwaitDevice(self.definitions.location(stream).group))
            }
            "awaits-event" => ToyPayload::Device(DeviceStep::AwaitEvent(number(rest)?)),
            "records-event" | "stream-awaits" => {
                let (event, stream) = rest.split_once(' ').ok_or("no event or no stream")?;
                let (event, stream) = (number(event)?, self.labelled(stream.trim())?);
                ToyPayload::Device(match verb {
                    "records-event" => DeviceStep::RecordEvent { event, stream },
                    _ => DeviceStep::StreamAwaitsEvent { stream, event },
                })
            }
            "read" => ToyPayload::Io(IoMode::Read, Some(number(rest)?)),
            "write" => ToyPayload::Io(IoMode::Write, Some(number(rest)?)),
            "io" => ToyPayload::Io(IoMode::Other, None),
            "flush" => ToyPayload::BufferFlush,
            "onoff" => ToyPayload::MeasurementOnOff,
            "other" => ToyPayload::Other,
            _ => match (verb.strip_prefix("send>"), verb.strip_prefix("recv<")) {
                (Some(peer), _) => ToyPayload::Send(self.message(peer, rest)?),
                (_, Some(peer)) => ToyPayload::Recv(self.message(peer, rest)?),
                _ => return Err(format!("unknown event {verb:?}")),
            },
        };
        Ok(ToyEvent { time, what })
    }

    fn left_region(&mut self, name: &str, open: &mut Vec<RegionId>) -> Result<RegionId, String> {
        if name.is_empty() {
            return open.pop().ok_or_else(|| "leave without an open call needs a name".to_owned());
        }
        let region = self.region(name);
        if let Some(depth) = open.iter().rposition(|&r| r == region) {
            open.truncate(depth);
        }
        Ok(region)
    }

    /// The location of a label, of a line before.
    fn labelled(&self, label: &str) -> Result<LocationId, String> {
        let found = self.definitions.locations.iter().position(|it| &*it.name == label);
        found.map(LocationId::from_index).ok_or_else(|| format!("no location {label:?} before"))
    }

    fn message(&self, peer: &str, rest: &str) -> Result<MessageEnd, String> {
        let options = Options::new(self, rest)?;
        Ok(MessageEnd {
            row: 0,
            comm: options.comm,
            peer: CommRank(number(peer)?),
            tag: options.tag,
            bytes: options.bytes.0,
            request: options.request,
        })
    }

    fn request(&self, rest: &str) -> Result<ToyPayload, String> {
        let (request, event) = rest.split_once(' ').ok_or("no request or no step")?;
        let event = match event.trim() {
            "send-complete" => RequestEvent::SendComplete,
            "recv-posted" => RequestEvent::RecvPosted,
            "tested" => RequestEvent::Tested,
            "cancelled" => RequestEvent::Cancelled,
            "collective-posted" => RequestEvent::CollectivePosted,
            other => return Err(format!("unknown step {other:?}")),
        };
        Ok(ToyPayload::Request(Request { row: 0, request: number(request)?, event }))
    }

    fn collective(&self, rest: &str) -> Result<ToyPayload, String> {
        let (op, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let options = Options::new(self, rest)?;
        Ok(ToyPayload::CollectiveEnd(Collective {
            row: 0,
            op: op_from_name(op)?,
            comm: options.comm,
            root: options.root,
            bytes_sent: options.bytes.0,
            bytes_received: options.bytes.1,
            request: options.request,
        }))
    }

    fn thread_step(&self, verb: &str, rest: &str) -> Result<ThreadStep, String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let (&name, numbers) = words.split_first().ok_or("no team")?;
        let comm = self.communicator(name)?;
        let task = || match numbers {
            [creator, nth] => {
                Ok(TaskId { team: Some(comm), creator: number(creator)?, number: number(nth)? })
            }
            _ => Err("a task has a creator and a number".to_owned()),
        };
        let life = || match numbers {
            [sequence] => Ok(ThreadLife { contingent: Some(comm), sequence: number(sequence)? }),
            _ => Err("a thread has a number".to_owned()),
        };
        Ok(match verb {
            "team-begin" => ThreadStep::TeamBegin(comm),
            "team-end" => ThreadStep::TeamEnd(comm),
            "task-create" => ThreadStep::TaskCreate(task()?),
            "task-switch" => ThreadStep::TaskSwitch(task()?),
            "task-complete" => ThreadStep::TaskComplete(task()?),
            "thread-create" => ThreadStep::ThreadCreate(life()?),
            "thread-begin" => ThreadStep::ThreadBegin(life()?),
            "thread-wait" => ThreadStep::ThreadWait(life()?),
            _ => ThreadStep::ThreadEnd(life()?),
        })
    }

    fn rma(&mut self, rest: &str) -> Result<ToyPayload, String> {
        let words: Vec<&str> = rest.split_whitespace().collect();
        let [window, verb, words @ ..] = &*words else { return Err("no window and step".to_owned()) };
        let found = self.definitions.rma_windows.iter().position(|known| &*known.name == *window);
        let window = RmaWindowId::from_index(found.ok_or_else(|| format!("unknown window {window:?}"))?);
        let word = |at: usize| words.get(at).copied().ok_or("too few words");
        let target =
            |text: &str| if text == "all" { Ok(CommRank(u32::MAX)) } else { number(text).map(CommRank) };
        let access = || {
            let (bytes, id) = (number(word(1)?)?, RmaOperationId(number(word(2)?)?));
            Ok::<_, String>(RmaAccess { target: target(word(0)?)?, bytes, id })
        };
        let operation = || Ok::<_, String>(RmaOperationId(number(word(0)?)?));
        let lock = || {
            let mode = match word(1)? {
                "exclusive" => RmaLockMode::Exclusive,
                _ => RmaLockMode::Shared,
            };
            Ok::<_, String>(RmaLock { target: target(word(0)?)?, lock: 0, mode })
        };
        let step = match *verb {
            "create" => RmaStep::WindowCreate,
            "destroy" => RmaStep::WindowDestroy,
            "begin" => return Ok(ToyPayload::Rma(None, RmaStep::CollectiveBegin)),
            "end" => {
                let op = op_from_name(word(0)?)?;
                let (sent, received) = words.get(1).and_then(|it| it.split_once('/')).unwrap_or(("0", "0"));
                let (bytes_sent, bytes_received) = (number(sent)?, number(received)?);
                let (level, root) = (RmaSyncLevel::BOTH, CollectiveRoot::None);
                RmaStep::CollectiveEnd(RmaCollective { op, level, root, bytes_sent, bytes_received })
            }
            "sync" | "asked" => {
                let ranks: Arc<[WorldRank]> =
                    words.iter().map(|rank| number(rank).map(WorldRank)).collect::<Result<_, _>>()?;
                let level = if *verb == "sync" { RmaSyncLevel::BOTH } else { RmaSyncLevel::default() };
                RmaStep::GroupSync { level, group: Some(self.rank_group(ranks)) }
            }
            "request" => RmaStep::LockRequest(lock()?),
            "acquire" => RmaStep::LockAcquire(lock()?),
            "release" => RmaStep::LockRelease { target: target(word(0)?)?, lock: 0 },
            "put" => RmaStep::Put(access()?),
            "get" => RmaStep::Get(access()?),
            "atomic" => {
                let (kind, bytes_received) = (RmaAtomicKind::Accumulate, 0);
                RmaStep::Atomic { access: access()?, kind, bytes_received }
            }
            "complete" => RmaStep::CompleteBlocking(operation()?),
            "done" => RmaStep::CompleteNonBlocking(operation()?),
            "remote" => RmaStep::CompleteRemote(operation()?),
            _ => return Err(format!("unknown step {verb:?}")),
        };
        Ok(ToyPayload::Rma(Some(window), step))
    }

    /// The group of these ranks, in this order.
    pub(crate) fn rank_group(&mut self, ranks: Arc<[WorldRank]>) -> RankGroupId {
        let groups = &mut self.definitions_mut().rank_groups;
        let known = groups.iter().position(|group| *group == ranks);
        RankGroupId::from_index(known.unwrap_or_else(|| {
            groups.push(ranks);
            groups.len() - 1
        }))
    }

    fn communicator(&self, name: &str) -> Result<CommId, String> {
        let found = self.definitions.communicators.iter().position(|comm| &*comm.name == name);
        found.map(CommId::from_index).ok_or_else(|| format!("unknown communicator {name:?}"))
    }

    fn sample(&mut self, rest: &str) -> Result<ToyPayload, String> {
        if rest.trim() == "-" {
            return Ok(ToyPayload::Sample(Sample {
                row: 0,
                context: None,
                lca: Lca::Exact(0),
                generator: None,
            }));
        }
        let (path, lca) = rest.split_once(" lca ").unwrap_or((rest, ""));
        let mut frames: Vec<(RegionId, Option<u32>)> = Vec::new();
        for frame in path.split('/') {
            let (name, line) =
                frame.trim().split_once('@').map_or((frame.trim(), None), |(n, l)| (n, Some(l)));
            // The line of a call is where its caller is.
            if let (Some((_, at)), Some(line)) = (frames.last_mut(), line) {
                *at = Some(number(line)?);
            }
            frames.push((self.region(name), None));
        }
        let lca = match (lca.trim(), lca.trim().strip_prefix("<=")) {
            ("", _) => Lca::Unknown,
            (_, Some(at_most)) => Lca::AtMost(number(at_most)?),
            (exact, None) => Lca::Exact(number(exact)?),
        };
        let context = self.sampled_context(&frames).ok_or("no path")?;
        Ok(ToyPayload::Sample(Sample { row: 0, context: Some(context), lca, generator: None }))
    }

    fn metrics(&mut self, rest: &str) -> Result<ToyPayload, String> {
        let mut values = Vec::new();
        for pair in rest.split_whitespace() {
            let (name, value) = pair.split_once('=').ok_or("no `=`")?;
            values.push((self.metric(name), number(value)?));
        }
        Ok(ToyPayload::Metric(values))
    }
}

/// The word-and-value pairs behind a message or collective.
struct Options {
    tag: u32,
    bytes: (u64, u64),
    comm: CommId,
    root: CollectiveRoot,
    request: Option<u64>,
}

impl Options {
    fn new(trace: &ToyTrace, text: &str) -> Result<Self, String> {
        let mut options =
            Options { tag: 0, bytes: (0, 0), comm: CommId(0), root: CollectiveRoot::None, request: None };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word:?} without a value"))?;
            match word {
                "tag" => options.tag = number(value)?,
                "bytes" => {
                    let (sent, received) = value.split_once('/').unwrap_or((value, "0"));
                    options.bytes = (number(sent)?, number(received)?);
                }
                "comm" => options.comm = trace.communicator(value)?,
                "root" => options.root = CollectiveRoot::Rank(CommRank(number(value)?)),
                "request" => options.request = Some(number(value)?),
                _ => return Err(format!("unknown option {word:?}")),
            }
        }
        Ok(options)
    }
}

fn location_from_label(label: &str) -> Result<(WorldRank, LocationKind), String> {
    let (rank, rest) = label.split_once('.').unwrap_or((label, "0"));
    let kind = if rest == "metrics" {
        LocationKind::Metric
    } else if rest.starts_with("gpu") {
        LocationKind::AcceleratorStream
    } else {
        number::<u32>(rest)?;
        LocationKind::CpuThread
    };
    Ok((WorldRank(number(rank)?), kind))
}

/// `3#7`, the seventh acquisition of lock 3; with `p`, of POSIX threads.
fn lock_use(text: &str) -> Result<LockUse, String> {
    let (paradigm, text) = match text.strip_prefix('p') {
        Some(text) => (Paradigm::Pthread, text),
        None => (Paradigm::OpenMp, text),
    };
    let (lock, order) = text.split_once('#').ok_or("no `#`")?;
    Ok(LockUse { paradigm, lock: number(lock)?, order: number(order)? })
}

fn op_from_name(name: &str) -> Result<CollectiveOp, String> {
    let known = (0..=u8::MAX).map(CollectiveOp::from_code).find(|known| known.as_str() == name);
    known.ok_or_else(|| format!("unknown collective {name:?}"))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}
