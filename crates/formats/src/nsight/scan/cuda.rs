//! Device work (kernels, copies, fills and graphs), and waits of the host for it.

use super::links::link_id;
use super::{Origin, PlaceKind, ReadError, ReportRow, ReportScan};
use crate::nsight::database::QueryRow;
use crate::nsight::regions::{
    SYNC_CONTEXT, SYNC_EVENT, SYNC_STREAM, SYNC_STREAM_WAIT, memcpy_name, sync_name,
};
use crate::nsight::rows::{HAS_BYTES, HAS_SHAPE, NO_PEER, PAGEABLE, PINNED, RowKind, StreamStep};
use crate::position::u32_from;
use ouzel_model::LaunchShape;
use std::sync::Arc;

/// The table of waits of the host.
pub(super) const WAITS: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
/// CUPTI's id of no stream and no event.
const NO_ID: i64 = u32::MAX as i64;
/// The columns that all tables of devices begin with here.
const COMMON: [&str; 7] = ["start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId"];

/// Kinds of memory of the host, in `ENUM_CUDA_MEM_KIND` of the export.
const MEMORY_PAGEABLE: i64 = 0;
const MEMORY_PINNED: i64 = 1;

/// What the tables say of an operation beside its times.
#[derive(Clone, Copy, Default)]
struct OperationFacts {
    bytes: Option<i64>,
    /// Memory of the host, as in [`PAGEABLE`].
    memory: u8,
    /// Number of the launch shape.
    shape: Option<u64>,
}

/// The shape of the launch of a kernel; `None` if the export does not say.
fn shape(row: &QueryRow<'_, '_>) -> Option<LaunchShape> {
    let number = |column: usize| u32::try_from(row.int(column)?).ok();
    let extent = |first: usize| Some([number(first)?, number(first + 1)?, number(first + 2)?]);
    let shared_bytes = match (number(17), number(18)) {
        (None, None) => None,
        (fixed, dynamic) => Some(fixed.unwrap_or(0).saturating_add(dynamic.unwrap_or(0))),
    };
    Some(LaunchShape {
        grid: extent(10)?,
        block: extent(13)?,
        registers: number(16),
        shared_bytes,
        occupancy_permille: None,
    })
}

impl ReportScan<'_> {
    /// Every table of devices.
    pub(super) fn devices(&mut self) -> Result<(), ReadError> {
        self.kernels()?;
        self.named("CUPTI_ACTIVITY_KIND_MEMCPY", Some("bytes"), "copyKind", &Origin::Memcpy, memcpy_name)?;
        self.named("CUPTI_ACTIVITY_KIND_MEMSET", Some("bytes"), "", &Origin::Memset, |_| {
            "[CUDA memset]".to_owned()
        })?;
        self.named("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", None, "graphId", &Origin::Graph, |graph| {
            format!("[CUDA graph {graph}]")
        })
    }

    /// Waits of the host for a device, which are a part of the call of the same correlation id. Read them after
    /// the calls.
    ///
    /// The codes of `syncType` are not the same in all versions of the tool; which ids a row has is.
    pub(super) fn waits(&mut self) -> Result<(), ReadError> {
        let columns = [
            "start",
            "end",
            "globalPid",
            "correlationId",
            "syncType",
            "deviceId",
            "contextId",
            "streamId",
            "eventId",
        ];
        let has_ids = ["streamId", "eventId"].iter().all(|id| self.database.has_column(WAITS, id));
        self.table(WAITS, &columns, None, |scan, row| {
            let (Some(start), Some(end), Some(process)) = (row.int(0), row.int(1), row.int(2)) else {
                scan.n_damaged += 1;
                return Ok(());
            };
            let process = scan.process(process);
            let Some(place) = scan.callers.get(link_id(process, row.int(3))) else {
                scan.leave_out("waits for devices whose call was not traced");
                return Ok(());
            };
            let is_id = |id: &i64| (0..NO_ID).contains(id);
            let (stream, event) = (row.int(7).filter(is_id), row.int(8).filter(is_id));
            let kind = match (event, stream) {
                _ if !has_ids => row.int(4).unwrap_or(0),
                (Some(_), None) => SYNC_EVENT,
                (Some(_), Some(_)) => SYNC_STREAM_WAIT,
                (None, Some(_)) => SYNC_STREAM,
                (None, None) => SYNC_CONTEXT,
            };
            let region = scan.coded(&Origin::Sync, b'w', kind, sync_name);
            let call = ReportRow::call(start, end, region);
            if !has_ids {
                return scan.push(place, call);
            }
            let (device, context) = (row.int(5).unwrap_or(0), row.int(6).unwrap_or(0));
            let step = match kind {
                SYNC_EVENT => StreamStep::AwaitEvent,
                SYNC_STREAM_WAIT => StreamStep::StreamAwaits,
                SYNC_STREAM => StreamStep::AwaitStream,
                _ => StreamStep::AwaitContext,
            };
            let peer = match stream {
                Some(stream) => scan.place(process, PlaceKind::Stream { device, context, stream }),
                None if step == StreamStep::AwaitContext => scan.context(process, device, context),
                None => NO_PEER,
            };
            let more = event.map_or(0, |event| scan.event(process, event));
            scan.push(place, ReportRow { kind: RowKind::StreamStep, op: step as u8, peer, more, ..call })
        })
    }

    /// The streams in which events are recorded, by the call that does it. Read them before the calls.
    pub(super) fn event_records(&mut self) -> Result<(), ReadError> {
        let columns = ["globalPid", "correlationId", "deviceId", "contextId", "streamId", "eventId"];
        self.table("CUPTI_ACTIVITY_KIND_CUDA_EVENT", &columns, None, |scan, row| {
            let process = scan.process(row.int(0).unwrap_or(0));
            let call = link_id(process, row.int(1));
            let (Some(stream), Some(event)) = (row.int(4), row.int(5)) else { return Ok(()) };
            let (device, context) = (row.int(2).unwrap_or(0), row.int(3).unwrap_or(0));
            let place = scan.place(process, PlaceKind::Stream { device, context, stream });
            let event = scan.event(process, event);
            if call != 0 {
                scan.event_records.insert(call, (event, place));
            }
            Ok(())
        })
    }

    /// The number of an event, unique over all processes.
    fn event(&mut self, process: u32, event: i64) -> u64 {
        let next = self.all.events.len() as u64;
        *self.all.events.entry((process, event)).or_insert(next)
    }

    /// The number of a context.
    fn context(&mut self, process: u32, device: i64, context: i64) -> u32 {
        let next = u32_from(self.all.contexts_of_devices.len());
        *self.all.contexts_of_devices.entry((process, device, context)).or_insert(next)
    }

    /// The region of a code.
    fn coded(&mut self, origin: &Origin, cache: u8, code: i64, name: impl Fn(i64) -> String) -> u32 {
        if let Some(&region) = self.names.get(&(cache, code)) {
            return region;
        }
        let region = self.all.regions.get(origin.clone(), &Arc::from(name(code)));
        self.names.insert((cache, code), region);
        region
    }

    fn kernels(&mut self) -> Result<(), ReadError> {
        let [a, b, c, d, e, f, g] = COMMON;
        let columns = [
            a,
            b,
            c,
            d,
            e,
            f,
            g,
            "demangledName",
            "shortName",
            "mangledName",
            "gridX",
            "gridY",
            "gridZ",
            "blockX",
            "blockY",
            "blockZ",
            "registersPerThread",
            "staticSharedMemory",
            "dynamicSharedMemory",
        ];
        self.table("CUPTI_ACTIVITY_KIND_KERNEL", &columns, None, |scan, row| {
            let Some(name) = row.int(7).or_else(|| row.int(8)) else {
                scan.leave_out("kernels without a name");
                return Ok(());
            };
            // Several linker names may share one demangled name; the first that is met is kept.
            let region = match scan.names.get(&(b'k', name)) {
                Some(&region) => region,
                None => {
                    let mangled = row.int(9).and_then(|id| scan.strings.get(id));
                    scan.region(&Origin::Kernel(mangled), b'k', name, |name| name)
                }
            };
            let shape = shape(row).map(|shape| scan.all.shape(shape));
            scan.device_row(row, region, OperationFacts { shape, ..OperationFacts::default() })
        })
    }

    /// A table whose rows are named by a code in column `named_by`.
    fn named(
        &mut self,
        table: &str,
        bytes: Option<&str>,
        named_by: &str,
        origin: &Origin,
        name: impl Fn(i64) -> String,
    ) -> Result<(), ReadError> {
        let [a, b, c, d, e, f, g] = COMMON;
        let has_memory = *origin == Origin::Memcpy;
        let memory = |column| if has_memory { column } else { "" };
        let columns =
            [a, b, c, d, e, f, g, named_by, bytes.unwrap_or(""), memory("srcKind"), memory("dstKind")];
        let cache = match origin {
            Origin::Memcpy => b'c',
            Origin::Memset => b's',
            _ => b'g',
        };
        self.table(table, &columns, None, |scan, row| {
            let region = scan.coded(origin, cache, row.int(7).unwrap_or(0), &name);
            let kinds = [9, 10].map(|column| row.int(column).filter(|_| has_memory));
            let memory = match () {
                () if kinds.contains(&Some(MEMORY_PAGEABLE)) => PAGEABLE,
                () if kinds.contains(&Some(MEMORY_PINNED)) => PINNED,
                () => 0,
            };
            let bytes = bytes.map(|_| row.int(8).unwrap_or(0));
            scan.device_row(row, region, OperationFacts { bytes, memory, shape: None })
        })
    }

    fn device_row(
        &mut self,
        row: &QueryRow<'_, '_>,
        region: u32,
        facts: OperationFacts,
    ) -> Result<(), ReadError> {
        let (Some(start), Some(end)) = (row.int(0), row.int(1)) else {
            self.n_damaged += 1;
            return Ok(());
        };
        let process = self.process(row.int(2).unwrap_or(0));
        let id = link_id(process, row.int(6));
        let (device, context) = (row.int(3).unwrap_or(0), row.int(4).unwrap_or(0));
        let kind = PlaceKind::Stream { device, context, stream: row.int(5).unwrap_or(0) };
        self.linked.insert(id);
        self.all.n_links += u64::from(id != 0);
        let place = self.place(process, kind);
        let bytes = facts.bytes.map(|bytes| (HAS_BYTES, u64::try_from(bytes).unwrap_or(0)));
        let (more, bytes) = bytes.or(facts.shape.map(|shape| (HAS_SHAPE, shape))).unwrap_or((0, 0));
        let row = ReportRow {
            kind: RowKind::Device,
            op: facts.memory,
            id,
            bytes,
            more,
            ..ReportRow::call(start, end, region)
        };
        self.push(place, row)
    }
}
