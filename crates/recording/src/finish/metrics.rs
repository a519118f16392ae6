//! What events of counters and memory refer to.
//!
//! Law: processes with the same counters share a class; a counter is one metric in all classes.

use super::piece::Piece;
use crate::counters::{ALL, COUNTERS, Counter, CounterSource, MEMORY};
use crate::journal::Entry;
use ouzel_otf2::records::List;
use ouzel_otf2::records::definition::{MetricClass, MetricMember};
use ouzel_otf2::records::enums::{Base, MetricOccurrence, MetricType, RecorderKind, Type};
use ouzel_otf2::write::{ArchiveWriter, WriteError};

/// A counter that grows from the beginning of its thread.
const ACCUMULATED: u8 = 0;
/// A value of its own at a point in time.
const ABSOLUTE_AT_POINT: u8 = 1 | 1 << 4;

/// Name, description and unit of the metrics of memory, in the order of their values.
const OF_MEMORY: [(&str, &str); 2] = [
    ("resident_memory", "Memory of the process that is in use"),
    ("resident_memory_highest", "Memory of the process that was in use at most"),
];

/// The classes of a run.
#[derive(Debug, Default)]
pub(super) struct UnifiedMetrics {
    /// Each with its counters.
    classes: Vec<Vec<&'static Counter>>,
    has_memory: bool,
    /// For each piece, pairs of its own number and that of the run.
    pub of_pieces: Vec<Vec<(u64, u64)>>,
}

/// The counters of a process; none if it has none.
fn counted(piece: &Piece) -> Vec<&'static Counter> {
    let names = piece.entries.iter().find_map(|entry| match entry {
        Entry::Counters { counted, .. } => Some(counted),
        _ => None,
    });
    let named = |name: &str| ALL.iter().find(|counter| counter.name == name);
    names.into_iter().flat_map(|names| names.split(',').filter_map(named)).collect()
}

impl UnifiedMetrics {
    pub(super) fn new(pieces: &[Piece]) -> Self {
        let has_memory = pieces.iter().any(|piece| piece.entries.contains(&Entry::Memory));
        let mut unified = UnifiedMetrics { has_memory, ..UnifiedMetrics::default() };
        // The class of memory comes first.
        let first = u64::from(unified.has_memory);
        for piece in pieces {
            let mut pairs = Vec::new();
            let counters = counted(piece);
            if !counters.is_empty() {
                let known = unified.classes.iter().position(|class| *class == counters);
                let class = known.unwrap_or(unified.classes.len());
                if known.is_none() {
                    unified.classes.push(counters);
                }
                pairs.push((u64::from(COUNTERS), first + class as u64));
            }
            if piece.entries.contains(&Entry::Memory) {
                pairs.push((u64::from(MEMORY), 0));
            }
            unified.of_pieces.push(pairs);
        }
        unified
    }

    /// Writes what they are.
    pub(super) fn define(&self, writer: &mut ArchiveWriter) -> Result<(), WriteError> {
        let mut n_members = 0;
        let mut member = |writer: &mut ArchiveWriter, texts: [&str; 3], mode: u8, metric_type: MetricType| {
            let [name, description, unit] = texts;
            let (name, description, unit) =
                (writer.string(name)?, writer.string(description)?, writer.string(unit)?);
            writer.define(MetricMember {
                id: n_members,
                name,
                description,
                metric_type,
                metric_mode: mode,
                value_type: Type::Uint64,
                base: Base::Decimal,
                exponent: 0,
                unit,
            })?;
            n_members += 1;
            Ok::<u32, WriteError>(n_members - 1)
        };
        let mut n_classes = 0;
        let mut class = |writer: &mut ArchiveWriter, members: &[u32]| {
            n_classes += 1;
            writer.define(MetricClass {
                id: n_classes - 1,
                metric_members: List::new(members),
                metric_occurrence: MetricOccurrence::Asynchronous,
                recorder_kind: RecorderKind::Cpu,
            })
        };
        if self.has_memory {
            let mut members = Vec::new();
            for (name, description) in OF_MEMORY {
                let texts = [name, description, "bytes"];
                members.push(member(writer, texts, ABSOLUTE_AT_POINT, MetricType::Other)?);
            }
            class(writer, &members)?;
        }
        let mut known: Vec<(&Counter, u32)> = Vec::new();
        for counters in &self.classes {
            let mut members = Vec::new();
            for &counter in counters {
                let id = known.iter().find(|(known, _)| *known == counter).map(|&(_, id)| id);
                let id = match id {
                    Some(id) => id,
                    None => {
                        let kind = match counter.source {
                            CounterSource::Perf(..) => MetricType::Other,
                            _ => MetricType::Rusage,
                        };
                        let texts = [counter.name, counter.description, counter.unit];
                        let id = member(writer, texts, ACCUMULATED, kind)?;
                        known.push((counter, id));
                        id
                    }
                };
                members.push(id);
            }
            class(writer, &members)?;
        }
        Ok(())
    }
}
