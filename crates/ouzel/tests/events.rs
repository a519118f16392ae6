//! The columns of events, against the analyses of the same trace.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use ouzel::analyses::call_path_profile::CallPathProfile;
use ouzel::analyses::comm_matrix::{CommMatrix, Expansion, TrafficUnit};
use ouzel::events::{EventBatch, EventOptions, EventType};
use ouzel::model::{Filter, LocationId};
use ouzel::{Options, Trace};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

fn trace() -> Arc<Trace> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/pmpi-jacobi");
    Arc::new(ouzel::open(&path).unwrap())
}

fn options(jobs: usize) -> EventOptions {
    EventOptions {
        filter: Filter::default(),
        locations: None,
        with_payload: true,
        jobs: NonZeroUsize::new(jobs).unwrap(),
    }
}

fn batches(trace: &Arc<Trace>, options: EventOptions) -> Vec<EventBatch> {
    trace.events(options).collect::<Result<_, _>>().unwrap()
}

#[test]
fn rows_come_by_location_in_order_of_time_for_any_number_of_threads() {
    let trace = trace();
    let one = batches(&trace, options(1));
    assert_eq!(one, batches(&trace, options(3)));
    assert!(one.windows(2).all(|pair| pair[0].location <= pair[1].location));
    for batch in &one {
        assert!(batch.time_ns.is_sorted());
        let lengths = [batch.event_type.len(), batch.name.len(), batch.depth.len(), batch.bytes.len()];
        assert_eq!(lengths, [batch.len(); 4]);
    }
}

#[test]
fn calls_and_messages_are_those_of_the_analyses() {
    let trace = trace();
    let all = batches(&trace, options(2));
    let names = trace.events(options(1)).names().clone();
    let mut enters: BTreeMap<u32, u64> = BTreeMap::new();
    let mut sent = 0;
    for batch in &all {
        for row in 0..batch.len() {
            if batch.event_type[row] == EventType::Enter as u8 {
                *enters.entry(batch.name[row]).or_default() += 1;
            }
            if matches!(&*names.all()[batch.name[row] as usize], "MpiSend" | "MpiIsend") {
                sent += batch.bytes[row].expect("a send has a size");
            }
        }
    }
    let profile = trace.ask(CallPathProfile, &Options::default()).unwrap().output;
    let visits: u64 = profile
        .table(trace.definitions(), ouzel::analyses::By::Region, ouzel::analyses::Per::Total)
        .column("visits")
        .map(|column| match &column.data {
            ouzel::model::ColumnData::U64(visits) => visits.iter().sum(),
            _ => 0,
        })
        .unwrap();
    assert_eq!(enters.values().sum::<u64>(), visits);
    let analysis = CommMatrix { expansion: Expansion::PointToPoint };
    let matrix = trace.ask(analysis, &Options::default()).unwrap().output;
    let total: u64 = matrix.cells.iter().map(|cell| TrafficUnit::Bytes.of(cell.traffic)).sum();
    assert_eq!(sent, total);
}

#[test]
fn only_the_locations_that_are_asked_for_are_read() {
    let trace = trace();
    let only = EventOptions { locations: Some(vec![LocationId(2)]), with_payload: false, ..options(2) };
    let found = batches(&trace, only);
    assert!(!found.is_empty() && found.iter().all(|batch| batch.location == LocationId(2)));
    assert!(found.iter().all(|batch| batch.bytes.is_empty()), "what is not asked for is not made");
    let mut reader = trace.events(options(1));
    reader.next().unwrap().unwrap();
    drop(reader);
}
