//! Device work (kernels, copies, fills and graphs), and waits of the host for it.

use super::links::link_id;
use super::{Origin, PlaceKind, ReadError, ReportRow, ReportScan};
use crate::nsight::database::QueryRow;
use crate::nsight::regions::{memcpy_name, sync_name};
use crate::nsight::rows::RowKind;
use std::sync::Arc;

/// The table of waits of the host.
pub(super) const WAITS: &str = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
/// The columns that all tables of devices begin with here.
const COMMON: [&str; 7] = ["start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId"];

impl ReportScan<'_> {
    /// Every table of devices.
    pub(super) fn devices(&mut self) -> Result<(), ReadError> {
        self.kernels()?;
        self.named("CUPTI_ACTIVITY_KIND_MEMCPY", Some("bytes"), "copyKind", &Origin::Memcpy, |kind| {
            memcpy_name(kind)
        })?;
        self.named("CUPTI_ACTIVITY_KIND_MEMSET", Some("bytes"), "", &Origin::Memset, |_| {
            "[CUDA memset]".to_owned()
        })?;
        self.named("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", None, "graphId", &Origin::Graph, |graph| {
            format!("[CUDA graph {graph}]")
        })
    }

    /// Waits of the host for a device, which are a part of the call of the same correlation id. Read them after
    /// the calls.
    pub(super) fn waits(&mut self) -> Result<(), ReadError> {
        let columns = ["start", "end", "globalPid", "correlationId", "syncType"];
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
            let region = scan.coded(&Origin::Sync, b'w', row.int(4).unwrap_or(0), sync_name);
            scan.push(place, ReportRow::call(start, end, region))
        })
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
        let columns = [a, b, c, d, e, f, g, "demangledName", "shortName", "mangledName"];
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
            scan.device_row(row, region, None)
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
        let columns = [a, b, c, d, e, f, g, named_by, bytes.unwrap_or("")];
        let cache = match origin {
            Origin::Memcpy => b'c',
            Origin::Memset => b's',
            _ => b'g',
        };
        self.table(table, &columns, None, |scan, row| {
            let region = scan.coded(origin, cache, row.int(7).unwrap_or(0), &name);
            scan.device_row(row, region, bytes.map(|_| row.int(8).unwrap_or(0)))
        })
    }

    fn device_row(
        &mut self,
        row: &QueryRow<'_, '_>,
        region: u32,
        bytes: Option<i64>,
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
        let bytes = bytes.map(|bytes| u64::try_from(bytes).unwrap_or(0));
        let row = ReportRow {
            kind: RowKind::Device,
            id,
            bytes: bytes.unwrap_or(0),
            more: u64::from(bytes.is_some()),
            ..ReportRow::call(start, end, region)
        };
        self.push(place, row)
    }
}
