//! Calls of host threads: CUDA's interfaces, the operating system's libraries, the profiler's own work, and every
//! other table that holds calls with a thread and a name.

use super::links::link_id;
use super::{Origin, ReadError, ReportRow, ReportScan};
use crate::nsight::regions::without_api_version;
use crate::nsight::rows::{RowKind, StreamStep};

/// The class of calls among the rows of `OSRT_API`; others mark the begin and end of the tracing.
const OSRT_CALL: i64 = 27;

impl ReportScan<'_> {
    /// Calls of CUDA, of the operating system's libraries, and the overhead of the profiler.
    pub(super) fn host_calls(&mut self) -> Result<(), ReadError> {
        self.event_records()?;
        let columns = ["start", "end", "globalTid", "nameId", "correlationId"];
        let has_waits = self.database.has_table(super::cuda::WAITS);
        self.table("CUPTI_ACTIVITY_KIND_RUNTIME", &columns, None, |scan, row| {
            let (Some(start), Some(end), Some(thread), Some(name)) =
                (row.int(0), row.int(1), row.int(2), row.int(3))
            else {
                scan.n_damaged += 1;
                return Ok(());
            };
            let region = scan.region(&Origin::CudaApi, b'a', name, without_api_version);
            let process = scan.process(thread);
            let link = link_id(process, row.int(4));
            let id = if scan.linked.contains(link) { link } else { 0 };
            let place = scan.thread(thread);
            if has_waits {
                scan.callers.insert(link, place);
            }
            let call = ReportRow { id, ..ReportRow::call(start, end, region) };
            let row = match scan.event_records.get(&link) {
                Some(&(event, stream)) if link != 0 => {
                    let op = StreamStep::Record as u8;
                    ReportRow { kind: RowKind::StreamStep, op, peer: stream, more: event, ..call }
                }
                _ => call,
            };
            scan.push(place, row)
        })?;
        self.waits()?;
        self.callers = super::Callers::default();
        let columns = ["start", "end", "globalTid", "nameId", "eventClass"];
        self.table("OSRT_API", &columns, None, |scan, row| {
            if row.int(4).is_some_and(|class| class != OSRT_CALL) {
                scan.leave_out("marks of the tracing of OS runtime libraries");
                return Ok(());
            }
            scan.plain_call(row, &Origin::Library, b'l')
        })?;
        self.program.is_overhead = true;
        let columns = ["start", "end", "globalTid", "nameId"];
        let read = self.table(super::overhead::OVERHEAD, &columns, None, |scan, row| {
            scan.plain_call(row, &Origin::Overhead, b'o')
        });
        self.program.is_overhead = false;
        read
    }

    /// Every table that was not read yet and has the columns of calls.
    pub(super) fn other_ranges(&mut self) -> Result<(), ReadError> {
        let tables: Vec<String> = self.database.table_names().map(str::to_owned).collect();
        for table in tables {
            let has = |column: &str| self.database.has_column(&table, column);
            let name = ["nameId", "textId"].into_iter().find(|column| has(column));
            let is_of_calls = has("start") && has("end") && has("globalTid");
            // Work of graphics devices names the thread that queued it, and runs elsewhere.
            if self.scanned.contains(&table) || table.contains("WORKLOAD") || !is_of_calls {
                continue;
            }
            let Some(name) = name else { continue };
            self.table(&table, &["start", "end", "globalTid", name], None, |scan, row| {
                scan.plain_call(row, &Origin::Library, b'l')
            })?;
        }
        Ok(())
    }

    /// A call without payload: start, end, thread, name.
    pub(super) fn plain_call(
        &mut self,
        row: &crate::nsight::database::QueryRow<'_, '_>,
        origin: &Origin,
        cache: u8,
    ) -> Result<(), ReadError> {
        let (Some(start), Some(thread), Some(name)) = (row.int(0), row.int(2), row.int(3)) else {
            self.n_damaged += 1;
            return Ok(());
        };
        let end = self.end(row, start);
        let region = self.region(origin, cache, name, |name| name);
        let place = self.thread(thread);
        self.push(place, ReportRow::call(start, end, region))
    }
}
