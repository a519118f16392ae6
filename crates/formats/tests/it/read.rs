//! Everything a source gives, as plain rows.

use ouzel_model::{
    ChunkBuffer, EventKind, LocationId, MessageEnd, MetricValue, Needs, Notice, Parameter, ParameterValue,
    ReadError, ReadPlan, TraceSource,
};
use std::collections::BTreeMap;

/// The rows of one location.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Rows {
    /// Time, kind and name of the region (of enters and leaves).
    pub events: Vec<(u64, EventKind, String)>,
    pub sends: Vec<MessageEnd>,
    pub recvs: Vec<MessageEnd>,
    pub metrics: Vec<MetricValue>,
    pub parameters: Vec<Parameter>,
    pub n_records: u64,
    pub notices: Vec<Notice>,
    pub error: Option<ReadError>,
}

impl Rows {
    pub fn count(&self, kind: EventKind) -> usize {
        self.events.iter().filter(|&&(_, found, _)| found == kind).count()
    }

    /// Exclusive ticks of each region; the calls must nest.
    pub fn exclusive(&self) -> BTreeMap<String, u64> {
        let mut times: BTreeMap<String, u64> = BTreeMap::new();
        let mut open: Vec<(&str, u64, u64)> = Vec::new();
        for (time, kind, name) in &self.events {
            match kind {
                EventKind::Enter => open.push((name, *time, 0)),
                EventKind::Leave => {
                    let (entered, since, inside) = open.pop().expect("a call is open");
                    assert_eq!(entered, name, "calls nest");
                    *times.entry(name.clone()).or_default() += time - since - inside;
                    if let Some((_, _, inside)) = open.last_mut() {
                        *inside += time - since;
                    }
                }
                _ => {}
            }
        }
        times
    }

    /// Values of the parameter `name`, as text.
    pub fn parameter(&self, source: &dyn TraceSource, name: &str) -> Vec<String> {
        let place = source.definitions().parameters.iter().position(|known| **known == *name).unwrap();
        let values = self.parameters.iter().filter(|parameter| parameter.parameter.index() == place);
        values
            .map(|parameter| match &parameter.value {
                ParameterValue::Text(text) => text.to_string(),
                ParameterValue::I64(number) => number.to_string(),
                ParameterValue::U64(number) => number.to_string(),
            })
            .collect()
    }
}

/// Reads a location to its end and checks the law of its columns.
pub fn location(source: &dyn TraceSource, location: LocationId, needs: Needs) -> Rows {
    let plan = ReadPlan::all(needs);
    let mut rows = Rows::default();
    let mut reader = match source.open(location, &plan) {
        Ok(reader) => reader,
        Err(error) => return Rows { error: Some(error), ..rows },
    };
    let mut buffer = ChunkBuffer::default();
    let mut last = 0;
    loop {
        buffer.clear();
        let more = reader.read(&mut buffer);
        assert!(buffer.time.len() == buffer.kind.len() && buffer.kind.len() == buffer.region.len());
        for ((time, kind), region) in buffer.time.iter().zip(&buffer.kind).zip(&buffer.region) {
            assert!(last <= time.0, "times do not decrease");
            last = time.0;
            let is_call = matches!(kind, EventKind::Enter | EventKind::Leave);
            let name =
                if is_call { source.definitions().region(*region).name.to_string() } else { String::new() };
            rows.events.push((time.0, *kind, name));
        }
        rows.sends.extend(&buffer.sends);
        rows.recvs.extend(&buffer.recvs);
        rows.metrics.extend(&buffer.metrics);
        rows.parameters.extend(buffer.parameters.iter().cloned());
        rows.n_records += buffer.n_records;
        match more {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                rows.error = Some(error);
                break;
            }
        }
    }
    rows.notices = reader.notices();
    rows
}

/// Every location.
pub fn all(source: &dyn TraceSource) -> Vec<Rows> {
    source.definitions().location_ids().map(|id| location(source, id, Needs::ALL_EVENTS)).collect()
}
