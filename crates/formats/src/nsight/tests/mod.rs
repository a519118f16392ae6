//! Answers against direct queries of the same files, and against exports made row by row.

mod damage;
mod made;
mod real;

use super::NsightSource;
use super::reports::exports_in;
use ouzel_files::Candidate;
use ouzel_model::{
    ChunkBuffer, Collective, EventKind, Filter, Link, LocationId, MessageEnd, Needs, ParameterValue,
    ReadError, ReadPlan, RequestEvent, TraceSource,
};
use std::collections::BTreeMap;
use std::path::Path;

pub(super) fn is_export(path: &Path) -> bool {
    super::recognise_file(&Candidate::at(path), path)
}

pub(super) fn opened(path: &Path) -> Result<NsightSource, ReadError> {
    NsightSource::open(path, &exports_in(&Candidate::at(path)))
}

/// What the events of a location, or of several, come to.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Sums {
    /// Number and summed duration of the calls of each region, by name.
    pub calls: BTreeMap<String, (u64, u64)>,
    pub sends: Vec<MessageEnd>,
    pub recvs: Vec<MessageEnd>,
    pub requests: Vec<(u64, RequestEvent)>,
    pub collectives: Vec<Collective>,
    pub links: Vec<Link>,
    pub n_samples: u64,
    pub bytes: u64,
    /// Parameters that are text.
    pub texts: Vec<String>,
    /// Values of counters.
    pub values: Vec<(u64, String, f64)>,
    pub n_records: u64,
}

/// Reads a location, and checks the laws of readers: times do not decrease, calls nest, all are closed.
pub(super) fn sums_of(source: &NsightSource, location: LocationId, into: &mut Sums) {
    sums_in(source, location, &Filter::default(), into);
}

pub(super) fn sums_in(source: &NsightSource, location: LocationId, filter: &Filter, into: &mut Sums) {
    let time_range = filter.resolve(&source.definitions).window;
    let plan = ReadPlan { needs: Needs::ALL_EVENTS, time_range };
    let mut reader = TraceSource::open(source, location, &plan).unwrap();
    let mut buffer = ChunkBuffer::default();
    let (mut last, mut open) = (0, Vec::new());
    while reader.read(&mut buffer).unwrap() {
        for (row, (&time, &kind)) in buffer.time.iter().zip(&buffer.kind).enumerate() {
            assert!(last <= time.0, "times go back at {location:?}");
            last = time.0;
            let region = buffer.region[row];
            match kind {
                EventKind::Enter => open.push((region, time.0)),
                EventKind::Leave => {
                    let (entered, since) = open.pop().expect("a call is open");
                    assert_eq!(entered, region);
                    let name = source.definitions().region(region).name.to_string();
                    let sum = into.calls.entry(name).or_default();
                    *sum = (sum.0 + 1, sum.1 + (time.0 - since));
                }
                _ => {}
            }
        }
        into.sends.extend(&buffer.sends);
        into.recvs.extend(&buffer.recvs);
        into.requests.extend(buffer.requests.iter().map(|request| (request.request, request.event)));
        into.collectives.extend(&buffer.collectives);
        into.links.extend(&buffer.links);
        into.n_samples += buffer.samples.len() as u64;
        into.n_records += buffer.n_records;
        for parameter in &buffer.parameters {
            match &parameter.value {
                ParameterValue::U64(bytes) => into.bytes += bytes,
                ParameterValue::Text(text) => into.texts.push(text.to_string()),
                ParameterValue::I64(_) => panic!("{parameter:?}"),
            }
        }
        for value in &buffer.metrics {
            let metric = &source.definitions().metrics[value.metric.index()];
            into.values.push((
                buffer.time[value.row as usize].0,
                metric.name.to_string(),
                f64::from_bits(value.bits),
            ));
        }
    }
    assert!(open.is_empty(), "calls stay open at {location:?}");
    reader.notices();
}

pub(super) fn all_sums(source: &NsightSource) -> Sums {
    let mut sums = Sums::default();
    for location in source.definitions().location_ids() {
        sums_of(source, location, &mut sums);
    }
    sums
}
