//! Reads the rows of one location.
//!
//! Law: rows keep their order, also where times are equal (Pipit sorts such rows anew and may
//! swap an enter and its leave). Rows whose times go back are sorted by time in memory; equal
//! times keep their order.

use super::header::CsvHeader;
use super::index::LimitedLines;
use super::row::{CsvRow, RowKind, message, row};
use super::runs::{FileStretch, RunsReader, offset_in_file};
use csv::{ByteRecord, Reader};
use ouzel_model::{
    CHUNK_EVENTS, ChunkBuffer, ChunkReader, CommId, CommRank, EventKind, Level, LocationId, MessageEnd,
    Needs, Notice, NoticeCode, Parameter, ParameterId, ParameterValue, ReadError, RegionId, Ticks,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What all locations share.
#[derive(Debug)]
pub(super) struct Shared {
    pub file: Arc<str>,
    pub header: CsvHeader,
    pub regions: FxHashMap<Vec<u8>, RegionId>,
    pub unknown_region: RegionId,
    /// Time zero of the trace.
    pub first_ns: i64,
    /// Place of each process in the communicator of all; `None` if messages name several communicators.
    pub comm_ranks: Option<FxHashMap<u32, CommRank>>,
}

/// The parameter that holds the name of an instant; those of attributes follow.
pub(super) const INSTANT: ParameterId = ParameterId(0);

/// The reader of one location.
pub(super) struct CsvLocation<'a> {
    shared: &'a Shared,
    rows: RowOrder,
    runs: Arc<[FileStretch]>,
    needs: Needs,
    location: LocationId,
    last: u64,
    ended: bool,
}

/// Rows as they come, or sorted.
enum RowOrder {
    File(Box<Reader<LimitedLines<RunsReader>>>),
    Sorted(std::vec::IntoIter<ByteRecord>),
}

impl<'a> CsvLocation<'a> {
    pub fn new(
        shared: &'a Shared,
        reader: Reader<LimitedLines<RunsReader>>,
        runs: Arc<[FileStretch]>,
        needs: Needs,
        location: LocationId,
    ) -> Self {
        let rows = RowOrder::File(Box::new(reader));
        CsvLocation { shared, rows, runs, needs, location, last: 0, ended: false }
    }

    /// Reads all rows and sorts them by time.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn sort(&mut self) -> Result<(), ReadError> {
        let mut all = Vec::new();
        let mut record = ByteRecord::new();
        while self.next(&mut record)? {
            if let Some(row) = row(&self.shared.header, &record) {
                all.push((row.time_ns, record.clone()));
            }
        }
        all.sort_by_key(|&(time_ns, _)| time_ns);
        let records: Vec<ByteRecord> = all.into_iter().map(|(_, record)| record).collect();
        self.rows = RowOrder::Sorted(records.into_iter());
        Ok(())
    }

    fn next(&mut self, record: &mut ByteRecord) -> Result<bool, ReadError> {
        match &mut self.rows {
            RowOrder::Sorted(rows) => Ok(rows.next().map(|next| *record = next).is_some()),
            RowOrder::File(reader) => reader.read_byte_record(record).map_err(|error| ReadError {
                file: self.shared.file.clone(),
                offset: offset_in_file(&self.runs, reader.position().byte()),
                record: reader.position().record(),
                reason: error.to_string(),
            }),
        }
    }

    fn take(&mut self, row: &CsvRow<'_>, record: &ByteRecord, buffer: &mut ChunkBuffer) {
        let shared = self.shared;
        let since = u64::try_from(row.time_ns.saturating_sub(shared.first_ns)).unwrap_or(0);
        self.last = self.last.max(since);
        let now = Ticks(self.last);
        let region = || shared.regions.get(row.name).copied().unwrap_or(shared.unknown_region);
        match row.kind {
            RowKind::Enter => _ = buffer.push(now, EventKind::Enter, region()),
            // The data of a leave come before it, while the call is open.
            RowKind::Leave => {}
            RowKind::Instant => self.instant(now, row, record, buffer),
        }
        if self.needs.contains(Needs::PARAMETERS) {
            for (i, (column, _)) in shared.header.attributes.iter().enumerate() {
                let text = record.get(*column).unwrap_or_default();
                if !text.is_empty() {
                    parameter(buffer, now, ParameterId::from_index(i + 1), value(text));
                }
            }
        }
        if row.kind == RowKind::Leave {
            buffer.push(now, EventKind::Leave, region());
        }
    }

    fn instant(&mut self, now: Ticks, row: &CsvRow<'_>, record: &ByteRecord, buffer: &mut ChunkBuffer) {
        let shared = self.shared;
        let message = shared.comm_ranks.as_ref().and_then(|ranks| {
            let message = message(&shared.header, record, row)?;
            Some((message, *ranks.get(&message.peer)?))
        });
        if let Some((message, peer)) = message {
            if self.needs.contains(Needs::MESSAGES) {
                let kind = if message.sends { EventKind::MessageSend } else { EventKind::MessageRecv };
                let row = buffer.push(now, kind, RegionId(0));
                let (comm, tag, bytes) = (CommId(0), message.tag, message.bytes);
                let end = MessageEnd { row, comm, peer, tag, bytes, request: None };
                if message.sends { buffer.sends.push(end) } else { buffer.recvs.push(end) }
            }
        } else if self.needs.contains(Needs::PARAMETERS) {
            let name = ParameterValue::Text(Arc::from(String::from_utf8_lossy(row.name)));
            parameter(buffer, now, INSTANT, name);
        } else if self.needs.contains(Needs::OTHERS) {
            buffer.push(now, EventKind::Other, RegionId(0));
        }
    }
}

fn parameter(buffer: &mut ChunkBuffer, now: Ticks, parameter: ParameterId, value: ParameterValue) {
    let row = buffer.push(now, EventKind::Parameter, RegionId(0));
    buffer.parameters.push(Parameter { row, parameter, value });
}

/// A whole number as such, anything else as text.
fn value(text: &[u8]) -> ParameterValue {
    let text = String::from_utf8_lossy(text);
    match text.parse() {
        Ok(number) => ParameterValue::I64(number),
        Err(_) => ParameterValue::Text(Arc::from(text)),
    }
}

impl ChunkReader for CsvLocation<'_> {
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError> {
        buffer.clear();
        let mut record = ByteRecord::new();
        let mut first = None;
        while !self.ended && buffer.len() < CHUNK_EVENTS && buffer.n_records < CHUNK_EVENTS as u64 {
            if !self.next(&mut record)? {
                self.ended = true;
                break;
            }
            // The pass over the table has counted what could not be read.
            if let Some(row) = row(&self.shared.header, &record) {
                self.take(&row, &record, buffer);
                first.get_or_insert(self.last);
                buffer.n_records += 1;
            }
        }
        buffer.span = first.map(|first| (Ticks(first), Ticks(self.last)));
        Ok(0 < buffer.n_records)
    }

    fn notices(&mut self) -> Vec<Notice> {
        let RowOrder::Sorted(_) = self.rows else { return Vec::new() };
        let message = "the rows are not in time order; they were sorted, with equal times in file order";
        vec![Notice::new(Level::Low, NoticeCode::TimeGoesBack, message).on(self.location)]
    }
}
