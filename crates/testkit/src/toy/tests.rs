use super::*;
use ouzel_model::CHUNK_EVENTS;

fn read_all(trace: &ToyTrace, location: LocationId, needs: Needs) -> (Vec<(u64, EventKind)>, u64) {
    let mut reader = trace.open(location, &ReadPlan::all(needs)).expect("toys open");
    let (mut buffer, mut rows, mut n_records) = (ChunkBuffer::default(), Vec::new(), 0);
    while reader.read(&mut buffer).expect("it is not damaged") {
        rows.extend(buffer.time.iter().map(|t| t.0).zip(buffer.kind.iter().copied()));
        n_records += buffer.n_records;
    }
    (rows, n_records)
}

#[test]
fn text_becomes_definitions_and_events() {
    let trace = ToyTrace::new(
        "comm row = 0 1
         0: enter main @0, enter MPI_Send @10, send>1 tag 7 bytes 64 comm row @12, leave @20, leave main @40
         0.1: metric cycles=3 @4
         0.gpu0: enter kernel @5, leave @6
         0.metrics: metric power=4 @9
         1: collective bcast root 1 bytes 8/9 @3",
    );
    let definitions = trace.definitions();
    let kinds: Vec<_> = definitions.locations.iter().map(|l| (l.kind, l.rank.map(|r| r.0))).collect();
    let (cpu, gpu, metric) = (LocationKind::CpuThread, LocationKind::AcceleratorStream, LocationKind::Metric);
    assert_eq!(kinds, [(cpu, Some(0)), (cpu, Some(0)), (gpu, Some(0)), (metric, Some(0)), (cpu, Some(1))]);
    assert_eq!(definitions.processes().len(), 2);
    assert_eq!(*definitions.communicators[0].members, [WorldRank(0), WorldRank(1)]);
    let names: Vec<&str> = definitions.regions[..definitions.n_regions()].iter().map(|r| &*r.name).collect();
    assert_eq!(names, ["main", "MPI_Send", "kernel"]);
    assert_eq!(definitions.region(RegionId(1)).paradigm, Paradigm::Mpi);
    let ToyPayload::Send(send) = &trace.events(LocationId(0))[2].what else { panic!("the third is a send") };
    assert_eq!((send.comm.0, send.peer.0, send.tag, send.bytes), (1, 1, 7, 64));
}

#[test]
#[should_panic(expected = "time goes back at \"leave @3\"")]
fn text_that_goes_back_is_refused() {
    ToyTrace::new("0: enter main @5, leave @3");
}

#[test]
fn rows_not_needed_are_counted_all_the_same() {
    let trace =
        ToyTrace::new("0: enter a @0, send>0 @1, metric x=1 @2, other @3, leave @4").with_chunk_events(2);
    let (rows, n_records) = read_all(&trace, LocationId(0), Needs::MESSAGES);
    assert_eq!(rows, [(0, EventKind::Enter), (1, EventKind::MessageSend), (4, EventKind::Leave)]);
    assert_eq!(n_records, 5);
}

#[test]
fn random_traces_are_the_same_every_time() {
    let recipe = RandomTrace { seed: 4, n_locations: 6, n_events: CHUNK_EVENTS, faults: Faults::Leaves };
    let (one, other) = (recipe.build(), recipe.build());
    for location in one.definitions().location_ids() {
        assert_eq!(one.events(location), other.events(location));
        assert!(one.events(location).is_sorted_by_key(|event| event.time));
    }
    assert_eq!(one.definitions(), other.definitions());
    assert_ne!(RandomTrace { seed: 5, ..recipe }.build().events(LocationId(0)), one.events(LocationId(0)));
    assert_eq!(one.definitions().locations[5].kind, LocationKind::Metric);
}

#[test]
fn damage_leaves_what_comes_before() {
    let trace = ToyTrace::new("0: enter a @0, leave @1, enter a @2, leave @3").with_chunk_events(2);
    let trace = trace.with_damage(LocationId(0), 3);
    let plan = ReadPlan::all(Needs::NOTHING);
    let mut reader = trace.open(LocationId(0), &plan).expect("toys open");
    let mut buffer = ChunkBuffer::default();
    assert_eq!(reader.read(&mut buffer), Ok(true));
    let error = reader.read(&mut buffer).expect_err("it is damaged");
    assert_eq!(error.to_string(), "toy/0.evt+0x1b (record 3): input ends inside a record");
    assert_eq!(buffer.time, [Ticks(2)]);
}
