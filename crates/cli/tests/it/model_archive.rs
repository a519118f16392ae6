//! Models built in memory, written as archives and read back: every table and every row.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use crate::archives::assert_reference_reads;
use crate::run::{Scratch, ran};
use ouzel::formats::otf2::Otf2Source;
use ouzel::formats::otf2::model_archive::{Clocks, Finished, ModelArchive};
use ouzel::model::{
    CartDimension, CartMembers, CartTopology, ChunkBuffer, Clock, Collective, CollectiveOp, CollectiveRoot,
    CommId, CommRank, Communicator, Definitions, EventKind, EventSink, Level, LocationId, LocationKind,
    LockUse, Marker, MetricId, MetricMode, MetricValueType, Needs, NoticeCode, Paradigm, ParameterId,
    ParameterValue, RankGroupId, ReadPlan, RegionId, Request, RequestEvent, RmaAccess, RmaAtomicKind,
    RmaCollective, RmaLock, RmaLockMode, RmaOperationId, RmaStep, RmaSyncKind, RmaSyncLevel, RmaWindow,
    RmaWindowId, TaskId, ThreadLife, ThreadStep, Ticks, TraceSource, WorldRank,
};
use ouzel_testkit::{Faults, RandomTrace, ToyEvent, ToyPayload, ToyTrace};
use std::path::Path;
use std::sync::Arc;

/// Writes all of a nested trace.
pub fn write(trace: &ToyTrace, dir: &Path, clocks: Clocks) -> Finished {
    write_with(trace, &[], dir, clocks)
}

fn write_with(trace: &ToyTrace, markers: &[Marker], dir: &Path, clocks: Clocks) -> Finished {
    let definitions = trace.definitions();
    let mut archive = ModelArchive::create(dir, "traces", definitions).unwrap();
    let plan = ReadPlan::all(Needs::ALL_EVENTS);
    let mut buffer = ChunkBuffer::default();
    for location in definitions.location_ids() {
        archive.begin(location, definitions).unwrap();
        let mut reader = trace.open(location, &plan).unwrap();
        loop {
            buffer.clear();
            let more = reader.read(&mut buffer).unwrap();
            archive.take(&buffer.view()).unwrap();
            if !more {
                break;
            }
        }
        archive.end().unwrap();
    }
    archive.mark(markers).unwrap();
    archive.finish(clocks).unwrap()
}

/// Every row of a location in words; chunk borders and rows without a place in OTF2 are left out.
fn rows(source: &dyn TraceSource, location: LocationId) -> Vec<String> {
    let plan = ReadPlan::all(Needs::ALL_EVENTS);
    let mut reader = source.open(location, &plan).unwrap();
    let mut buffer = ChunkBuffer::default();
    let mut all = Vec::new();
    loop {
        buffer.clear();
        let more = reader.read(&mut buffer).unwrap();
        for row in 0..buffer.len() {
            all.extend(row_in_words(&buffer, row));
        }
        if !more {
            return all;
        }
    }
}

fn row_in_words(buffer: &ChunkBuffer, row: usize) -> Option<String> {
    let here = |of: u32| of as usize == row;
    let payload = match buffer.kind[row] {
        EventKind::Other => return None,
        EventKind::Enter | EventKind::Leave => format!("{:?}", buffer.region[row]),
        EventKind::MessageSend | EventKind::MessageRecv => {
            let ends = buffer.sends.iter().chain(&buffer.recvs).filter(|end| here(end.row));
            let words =
                ends.map(|m| format!("{:?} {:?} {} {} {:?}", m.comm, m.peer, m.tag, m.bytes, m.request));
            words.collect()
        }
        EventKind::Request => {
            let steps = buffer.requests.iter().filter(|step| here(step.row));
            steps.map(|step| format!("{} {:?}", step.request, step.event)).collect()
        }
        EventKind::CollectiveEnd => {
            let ends = buffer.collectives.iter().filter(|end| here(end.row));
            ends.map(|end| format!("{:?}", Collective { row: 0, ..*end })).collect()
        }
        EventKind::Thread => {
            let steps = buffer.threads.iter().filter(|event| here(event.row));
            steps.map(|event| format!("{:?}", event.step)).collect()
        }
        EventKind::Rma => {
            let steps = buffer.rma.iter().filter(|event| here(event.row));
            steps.map(|event| format!("{:?} {:?}", event.window, event.step)).collect()
        }
        EventKind::Metric => {
            let values = buffer.metrics.iter().filter(|value| here(value.row));
            values.map(|value| format!("{:?}={:#x} ", value.metric, value.bits)).collect()
        }
        EventKind::Parameter => {
            let parameters = buffer.parameters.iter().filter(|parameter| here(parameter.row));
            parameters.map(|p| format!("{:?}={:?}", p.parameter, p.value)).collect()
        }
        EventKind::Sample => {
            let samples = buffer.samples.iter().filter(|sample| here(sample.row));
            samples.map(|s| format!("{:?} {:?} {:?}", s.context, s.lca, s.generator)).collect()
        }
        EventKind::CollectiveBegin | EventKind::BufferFlush | EventKind::MeasurementOnOff => String::new(),
    };
    Some(format!("{} {:?} {payload}", buffer.time[row].0, buffer.kind[row]))
}

/// Evens out what an archive does not keep: its creator, what is declared, the reader's own placeholder.
fn comparable(definitions: &Definitions, is_read_back: bool) -> Definitions {
    let mut definitions = definitions.clone();
    definitions.provenance = ouzel::model::Provenance::default();
    definitions.clock.declared_length = None;
    for location in &mut definitions.locations {
        location.declared_events = None;
    }
    // Formats have names of their own for records.
    definitions.records = Vec::new();
    if is_read_back {
        let placeholder = definitions.communicators.pop().unwrap();
        assert_eq!(&*placeholder.name, "<unknown communicator>");
    }
    definitions
}

fn assert_comes_back(trace: &ToyTrace, name: &str) {
    let scratch = Scratch::new(name);
    let dir = scratch.0.join("one");
    let finished = write(trace, &dir, Clocks::Synchronised);
    let back = Otf2Source::open(&dir).unwrap();
    assert_eq!(back.notices(), [], "{name}");
    assert_eq!(comparable(back.definitions(), true), comparable(trace.definitions(), false), "{name}");
    let mut n_events = 0;
    for location in trace.definitions().location_ids() {
        let expected = rows(trace, location);
        assert_eq!(rows(&back, location), expected, "{name} {location:?}");
        let declared = back.definitions().location(location).declared_events;
        assert_eq!(declared, Some(expected.len() as u64), "{name} {location:?}");
        n_events += expected.len() as u64;
    }
    assert_eq!(finished.n_events, n_events);
    assert_reference_reads(&dir.join("traces.otf2"));
}

#[test]
fn random_traces_come_back() {
    for seed in 0..40 {
        let recipe =
            RandomTrace { seed, n_locations: 1 + seed as u32 % 7, n_events: 300, faults: Faults::None };
        assert_comes_back(
            &recipe.build().with_chunk_events(1 + seed as usize * 3),
            &format!("random-{seed}"),
        );
    }
}

fn communicator(name: &str, ranks: &[u32]) -> Communicator {
    Communicator::of_ranks(name, ranks.iter().copied().map(WorldRank).collect())
}

/// A trace with every kind of definition, and values at the limits of their types.
fn rich_trace() -> ToyTrace {
    let mut trace = ToyTrace::empty();
    let main = trace.region("main");
    let (send, kernel) = (trace.region("MPI_Isend"), trace.region("cudaKernel"));
    let metrics = ["a", "b", "c"].map(|name| trace.metric(name));
    let parameters = ["text", "signed"].map(|name| trace.parameter(name));
    for rank in 0..4 {
        let events = match rank {
            1 => rich_events(main, send, metrics, parameters),
            2 => rma_events(),
            3 => thread_events(),
            _ => Vec::new(),
        };
        trace.add_location(WorldRank(rank), "Master thread", LocationKind::CpuThread, events);
    }
    let kernels = vec![
        ToyEvent { time: Ticks(7), what: ToyPayload::Enter(kernel) },
        ToyEvent { time: Ticks(9), what: ToyPayload::Leave(kernel) },
    ];
    let stream = trace.add_location(WorldRank(2), "Stream 0", LocationKind::AcceleratorStream, kernels);
    let definitions = trace.definitions_mut();
    definitions.clock = Clock {
        ticks_per_second: 3_699_958_577,
        offset_ticks: 1 << 50,
        realtime_ns: Some(1_750_000_000_000_000_000),
        declared_length: None,
    };
    let [_, b, c] = &mut definitions.metrics[..] else { panic!("there are three") };
    (b.value_type, b.mode, b.unit) = (MetricValueType::F64, MetricMode::Absolute, Arc::from("10^-6 s"));
    (c.value_type, c.mode, c.unit) = (MetricValueType::I64, MetricMode::Relative, Arc::from("2^10 bytes"));
    definitions.regions[main.index()].canonical_name = Some(Arc::from("_Zmain"));
    definitions.regions[main.index()].file = Some(Arc::from("größe.c"));
    definitions.regions[main.index()].line = Some(3);
    definitions.regions[main.index()].end_line = Some(u32::MAX - 1);
    definitions.communicators.extend([
        Communicator::of_caller("MPI_COMM_SELF"),
        Communicator { parent: Some(CommId(0)), ..communicator("odd", &[3, 1]) },
        Communicator {
            remote_members: Some([WorldRank(0), WorldRank(2)].into()),
            parent: Some(CommId(0)),
            ..communicator("between", &[3, 1])
        },
        Communicator {
            member_locations: [LocationId(3), LocationId(1)].into(),
            ..communicator("threads", &[])
        },
        Communicator { member_locations: [LocationId(1)].into(), ..communicator("team", &[]) },
        Communicator { member_locations: [stream].into(), ..communicator("streams", &[]) },
    ]);
    let window = |name: &str, comm, has_life_events| RmaWindow { name: name.into(), comm, has_life_events };
    definitions.rma_windows = vec![window("matrix", CommId(2), true), window("", CommId(0), false)];
    let groups: [&[u32]; 3] = [&[3, 1], &[0, 1, 2, 3], &[0, 2]];
    definitions.rank_groups =
        groups.iter().map(|ranks| ranks.iter().copied().map(WorldRank).collect()).collect();
    definitions.topologies.push(CartTopology {
        name: Arc::from("grid"),
        comm: Some(CommId(2)),
        dimensions: vec![
            CartDimension { name: Arc::from("x"), size: 2, periodic: true },
            CartDimension { name: Arc::from("y"), size: 1, periodic: false },
        ],
        members: CartMembers::Ranks(vec![CommRank(0), CommRank(1)]),
        coordinates: vec![0, 0, 1, 0],
    });
    trace
}

/// Every step of one-sided communication.
fn rma_events() -> Vec<ToyEvent> {
    let (first, second) = (Some(RmaWindowId(0)), Some(RmaWindowId(1)));
    let (id, target) = (RmaOperationId(u64::MAX - 1), CommRank(1));
    let access = RmaAccess { target, bytes: 1 << 40, id };
    let lock = RmaLock { target: CommRank(u32::MAX), lock: 7, mode: RmaLockMode::Shared };
    let collective = |op, root| {
        RmaStep::CollectiveEnd(RmaCollective {
            op,
            level: RmaSyncLevel::BOTH,
            root,
            bytes_sent: 3,
            bytes_received: 4,
        })
    };
    let group = |group| RmaStep::GroupSync { level: RmaSyncLevel::PROCESS, group };
    let what = [
        (None, RmaStep::CollectiveBegin),
        (first, RmaStep::WindowCreate),
        (first, collective(CollectiveOp::CreateHandle, CollectiveRoot::None)),
        (second, collective(CollectiveOp::Bcast, CollectiveRoot::Rank(CommRank(2)))),
        (second, collective(CollectiveOp::Barrier, CollectiveRoot::This)),
        (first, group(Some(RankGroupId(2)))),
        (second, group(None)),
        (first, RmaStep::LockRequest(RmaLock { mode: RmaLockMode::Exclusive, ..lock })),
        (first, RmaStep::LockAcquire(lock)),
        (first, RmaStep::LockTry(lock)),
        (first, RmaStep::LockRelease { target: lock.target, lock: u64::MAX }),
        (second, RmaStep::Sync { target, kind: RmaSyncKind::NotifyIn }),
        (second, RmaStep::WaitChange),
        (first, RmaStep::Put(access)),
        (first, RmaStep::Get(access)),
        (first, RmaStep::Atomic { access, kind: RmaAtomicKind::CompareAndSwap, bytes_received: 9 }),
        (first, RmaStep::CompleteBlocking(id)),
        (first, RmaStep::CompleteNonBlocking(id)),
        (first, RmaStep::Test(id)),
        (first, RmaStep::CompleteRemote(id)),
        (first, RmaStep::WindowDestroy),
    ];
    let event = |((window, step), time): (_, u64)| ToyEvent {
        time: Ticks(time / 2),
        what: ToyPayload::Rma(window, step),
    };
    what.into_iter().zip(0..).map(event).collect()
}

/// Every step of threads, tasks and locks.
fn thread_events() -> Vec<ToyEvent> {
    let task = TaskId { team: Some(CommId(5)), creator: 2, number: u32::MAX };
    let life = ThreadLife { contingent: Some(CommId(4)), sequence: u64::MAX };
    let unknown = ThreadLife { contingent: None, sequence: 0 };
    let what = [
        ToyPayload::Thread(ThreadStep::Fork { paradigm: Paradigm::OpenMp, n_requested: 4 }),
        ToyPayload::Thread(ThreadStep::TeamBegin(CommId(5))),
        ToyPayload::Thread(ThreadStep::TaskCreate(task)),
        ToyPayload::Thread(ThreadStep::TaskSwitch(TaskId::without_team(u64::MAX - 1))),
        ToyPayload::Thread(ThreadStep::TaskCreate(TaskId::without_team(7))),
        ToyPayload::Thread(ThreadStep::TaskComplete(TaskId::without_team(1 << 40))),
        ToyPayload::Thread(ThreadStep::TaskSwitch(task)),
        ToyPayload::Thread(ThreadStep::TaskComplete(task)),
        ToyPayload::Thread(ThreadStep::LockAcquire(LockUse {
            paradigm: Paradigm::Pthread,
            lock: 3,
            order: 9,
        })),
        ToyPayload::Thread(ThreadStep::LockRelease(LockUse {
            paradigm: Paradigm::OpenMp,
            lock: u32::MAX,
            order: 0,
        })),
        ToyPayload::Thread(ThreadStep::TeamEnd(CommId(5))),
        ToyPayload::Thread(ThreadStep::Join { paradigm: Paradigm::OmpSs }),
        ToyPayload::Thread(ThreadStep::ThreadCreate(life)),
        ToyPayload::Thread(ThreadStep::ThreadBegin(life)),
        ToyPayload::Thread(ThreadStep::ThreadEnd(life)),
        ToyPayload::Thread(ThreadStep::ThreadWait(life)),
        ToyPayload::Thread(ThreadStep::ThreadEnd(unknown)),
    ];
    what.into_iter().zip(0..).map(|(what, time)| ToyEvent { time: Ticks(time / 2), what }).collect()
}

fn rich_events(
    main: RegionId,
    send: RegionId,
    metrics: [MetricId; 3],
    parameters: [ParameterId; 2],
) -> Vec<ToyEvent> {
    let request = |request, event| ToyPayload::Request(Request { row: 0, request, event });
    let end = |op, comm, root, request| {
        let comm = CommId(comm);
        ToyPayload::CollectiveEnd(Collective {
            row: 0,
            op,
            comm,
            root,
            bytes_sent: 1,
            bytes_received: u64::MAX,
            request,
        })
    };
    let [a, b, c] = metrics;
    let what = [
        ToyPayload::Metric(vec![(a, u64::MAX), (b, (-0.5_f64).to_bits()), (c, (-3_i64).cast_unsigned())]),
        ToyPayload::Enter(main),
        ToyPayload::Metric(vec![(c, 5)]),
        ToyPayload::Metric(vec![(c, 6), (a, 0)]),
        ToyPayload::Parameter(parameters[0], ParameterValue::Text(Arc::from("fünf"))),
        ToyPayload::Parameter(parameters[0], ParameterValue::Text(Arc::from(""))),
        ToyPayload::Parameter(parameters[1], ParameterValue::I64(i64::MIN)),
        ToyPayload::Parameter(parameters[1], ParameterValue::I64(-1)),
        ToyPayload::Enter(send),
        request(0, RequestEvent::RecvPosted),
        request(u64::MAX, RequestEvent::Tested),
        request(1, RequestEvent::Cancelled),
        request(2, RequestEvent::CollectivePosted),
        request(3, RequestEvent::SendComplete),
        ToyPayload::Leave(send),
        ToyPayload::CollectiveBegin,
        end(CollectiveOp::Barrier, 2, CollectiveRoot::None, None),
        end(CollectiveOp::Bcast, 3, CollectiveRoot::This, Some(2)),
        end(CollectiveOp::Gatherv, 3, CollectiveRoot::ThisGroup, None),
        end(CollectiveOp::DestroyHandleAndDeallocate, 0, CollectiveRoot::Rank(CommRank(3)), None),
        ToyPayload::BufferFlush,
        ToyPayload::MeasurementOnOff,
        ToyPayload::Leave(main),
    ];
    what.into_iter().zip(0..).map(|(what, time)| ToyEvent { time: Ticks(time / 2), what }).collect()
}

#[test]
fn every_kind_of_definition_and_event_comes_back() {
    assert_comes_back(&rich_trace(), "rich");
}

#[test]
fn what_cannot_be_said_is_counted() {
    let mut trace = ToyTrace::empty();
    let other = ToyEvent { time: Ticks(1), what: ToyPayload::Other };
    let flush = ToyEvent { time: Ticks(2), what: ToyPayload::BufferFlush };
    trace.add_location(WorldRank(0), "0", LocationKind::CpuThread, vec![other.clone(), other, flush]);
    let scratch = Scratch::new("unsaid");
    let finished = write(&trace, &scratch.0.join("one"), Clocks::Synchronised);
    assert_eq!(finished.n_events, 1);
    let told: Vec<_> =
        finished.notices.iter().map(|n| (n.count, n.message.split(' ').next().unwrap())).collect();
    assert_eq!(told, [(2, "events"), (1, "buffer")]);
}

#[test]
fn the_archive_tells_whether_clocks_were_synchronised() {
    let trace = RandomTrace { seed: 5, n_locations: 4, n_events: 50, faults: Faults::None }.build();
    for (clocks, expected) in [(Clocks::Synchronised, 0), (Clocks::Unsynchronised, 1)] {
        let scratch = Scratch::new(&format!("clocks-{expected}"));
        write(&trace, &scratch.0.join("one"), clocks);
        let back = Otf2Source::open(&scratch.0.join("one")).unwrap();
        let plan = ReadPlan::all(Needs::ALL_EVENTS);
        let mut reader = back.open(LocationId(0), &plan).unwrap();
        while reader.read(&mut ChunkBuffer::default()).unwrap() {}
        let told = reader.notices();
        let n = told.iter().filter(|n| n.code == NoticeCode::ClocksUnsynchronised).count();
        assert_eq!(n, expected, "{clocks:?}: {told:?}");
    }
}

#[test]
fn a_declared_length_is_kept_and_never_too_short() {
    // The last event is at tick 11.
    for (declared, expected) in [(None, 11), (Some(4), 11), (Some(1000), 1000)] {
        let mut trace = rich_trace();
        trace.definitions_mut().clock.declared_length = declared.map(Ticks);
        let scratch = Scratch::new(&format!("length-{expected}-{}", declared.is_some()));
        write(&trace, &scratch.0.join("one"), Clocks::Synchronised);
        let back = Otf2Source::open(&scratch.0.join("one")).unwrap();
        assert_eq!(back.definitions().clock.declared_length, Some(Ticks(expected)), "{declared:?}");
    }
}

#[test]
fn locations_of_equal_ids_get_their_own_files() {
    let mut trace = RandomTrace { seed: 3, n_locations: 4, n_events: 40, faults: Faults::None }.build();
    for location in &mut trace.definitions_mut().locations {
        location.native_id = 7;
    }
    let scratch = Scratch::new("equal-ids");
    write(&trace, &scratch.0.join("one"), Clocks::Synchronised);
    let back = Otf2Source::open(&scratch.0.join("one")).unwrap();
    let ids: Vec<u64> = back.definitions().locations.iter().map(|location| location.native_id).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
    for location in trace.definitions().location_ids() {
        assert_eq!(rows(&back, location), rows(&trace, location));
    }
}

#[test]
fn metric_classes_tell_when_they_were_read() {
    let mut trace = ToyTrace::empty();
    let main = trace.region("main");
    let [a, b, c] = ["a", "b", "c"].map(|name| trace.metric(name));
    let event = |time, what| ToyEvent { time: Ticks(time), what };
    let read = |metrics: &[MetricId]| ToyPayload::Metric(metrics.iter().map(|&metric| (metric, 1)).collect());
    let events = vec![
        event(1, read(&[a, b])),
        event(1, read(&[a])),
        event(1, ToyPayload::Enter(main)),
        event(2, read(&[b])),
        event(3, read(&[a])),
        event(3, ToyPayload::Leave(main)),
        event(3, read(&[c])),
    ];
    trace.add_location(WorldRank(0), "0", LocationKind::CpuThread, events);
    trace.add_location(WorldRank(0), "metrics", LocationKind::Metric, vec![event(3, read(&[b, c]))]);
    let scratch = Scratch::new("classes");
    write(&trace, &scratch.0.join("one"), Clocks::Synchronised);
    let back = Otf2Source::open(&scratch.0.join("one")).unwrap();
    let (records, _) = back.archive().read_global_definitions();
    let classes = records.records().map(|record| format!("{record:?}"));
    let classes: Vec<String> = classes.filter(|words| words.starts_with("MetricClass")).collect();
    let expected = [
        "[0, 1], metric_occurrence: SynchronousStrict",
        "[0], metric_occurrence: SynchronousStrict",
        "[1], metric_occurrence: Synchronous,",
        "[2], metric_occurrence: Synchronous,",
        "[1, 2], metric_occurrence: Asynchronous",
    ];
    assert_eq!(classes.len(), expected.len(), "{classes:#?}");
    for (class, expected) in classes.iter().zip(expected) {
        assert!(class.contains(expected), "{class} is not {expected}");
    }
}

#[test]
fn markers_are_read_back() {
    let trace = ToyTrace::new("0: enter a @5, leave @50\n1: enter a @7, leave @60");
    let marker = |time, length, category: &str, level, location, text: &str| Marker {
        time: Ticks(time),
        length: Ticks(length),
        group: Arc::from("by hand"),
        category: Arc::from(category),
        level,
        location,
        text: Arc::from(text),
    };
    let markers = [
        marker(5, 0, "begin", None, None, ""),
        marker(9, 20, "slow", Some(Level::High), Some(LocationId(1)), "Größe <b>1</b>"),
        marker(30, 1, "slow", Some(Level::Low), Some(LocationId(0)), "less so"),
        marker(40, 0, "slow", Some(Level::High), None, "all of them"),
    ];
    let scratch = Scratch::new("markers");
    write_with(&trace, &markers, &scratch.0, Clocks::Synchronised);
    assert_reference_reads(&scratch.0.join("traces.otf2"));
    let source = Otf2Source::open(&scratch.0).unwrap();
    assert_eq!(source.markers(), markers);
    let [said] = source.notices() else { panic!("{:?}", source.notices()) };
    assert_eq!((said.code, said.count), (NoticeCode::NotRepresented, 4));
    // And by a conversion of that archive, but for what is not selected.
    let anchor = scratch.0.join("traces.otf2");
    let out = scratch.0.join("part");
    let (anchor, out) = (anchor.to_str().unwrap(), out.to_str().unwrap());
    let converted = ran(&["convert", anchor, out, "--to", "otf2", "--time", "8ns..35ns"]);
    assert_eq!(converted.code, Some(0), "{}", converted.err);
    assert_eq!(Otf2Source::open(Path::new(out)).unwrap().markers(), &markers[1..3]);
}
