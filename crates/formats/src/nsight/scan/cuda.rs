//! What runs on devices: kernels, copies, fills, waits and graphs.

use super::links::link_id;
use super::{Origin, PlaceKind, ReadError, ReportScan, Row};
use crate::nsight::database::Columns;
use crate::nsight::regions::{memcpy_name, sync_name};
use crate::nsight::rows::RowKind;
use std::sync::Arc;

/// The columns that all tables of devices begin with here.
const COMMON: [&str; 7] = ["start", "end", "globalPid", "deviceId", "contextId", "streamId", "correlationId"];

impl ReportScan<'_> {
    /// Every table of devices.
    pub(super) fn devices(&mut self) -> Result<(), ReadError> {
        self.kernels()?;
        self.named("CUPTI_ACTIVITY_KIND_MEMCPY", Some("bytes"), "copyKind", Origin::Memcpy, |kind| {
            memcpy_name(kind)
        })?;
        self.named("CUPTI_ACTIVITY_KIND_MEMSET", Some("bytes"), "", Origin::Memset, |_| {
            "[CUDA memset]".to_owned()
        })?;
        self.named("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", None, "graphId", Origin::Graph, |graph| {
            format!("[CUDA graph {graph}]")
        })?;
        self.named("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", None, "syncType", Origin::Sync, sync_name)
    }

    fn kernels(&mut self) -> Result<(), ReadError> {
        let [a, b, c, d, e, f, g] = COMMON;
        let columns = [a, b, c, d, e, f, g, "demangledName", "shortName", "mangledName"];
        self.table("CUPTI_ACTIVITY_KIND_KERNEL", &columns, None, |scan, row| {
            let Some(name) = row.int(7).or_else(|| row.int(8)) else {
                scan.leave_out("kernels without a name");
                return Ok(());
            };
            // One demangled name may stand for several linker's names; the first that is met is kept.
            let region = match scan.names.get(&(b'k', name)) {
                Some(&region) => region,
                None => {
                    let mangled = row.int(9).and_then(|id| scan.strings.get(id));
                    scan.region(&Origin::Kernel(mangled), b'k', name, |name| name)
                }
            };
            scan.device_row(row, region, None, false)
        })
    }

    /// A table whose rows are named by a code in column `named_by`.
    fn named(
        &mut self,
        table: &str,
        bytes: Option<&str>,
        named_by: &str,
        origin: Origin,
        name: impl Fn(i64) -> String,
    ) -> Result<(), ReadError> {
        let [a, b, c, d, e, f, g] = COMMON;
        let columns = [a, b, c, d, e, f, g, named_by, bytes.unwrap_or("")];
        let waits = origin == Origin::Sync;
        let cache = match origin {
            Origin::Memcpy => b'c',
            Origin::Memset => b's',
            Origin::Graph => b'g',
            _ => b'w',
        };
        self.table(table, &columns, None, |scan, row| {
            let code = row.int(7).unwrap_or(0);
            let region = match scan.names.get(&(cache, code)) {
                Some(&region) => region,
                None => {
                    let region = scan.all.regions.get(origin.clone(), &Arc::from(name(code)));
                    scan.names.insert((cache, code), region);
                    region
                }
            };
            scan.device_row(row, region, bytes.map(|_| row.int(8).unwrap_or(0)), waits)
        })
    }

    fn device_row(
        &mut self,
        row: &Columns<'_, '_>,
        region: u32,
        bytes: Option<i64>,
        waits: bool,
    ) -> Result<(), ReadError> {
        let (Some(start), Some(end)) = (row.int(0), row.int(1)) else {
            self.n_damaged += 1;
            return Ok(());
        };
        let process = self.process(row.int(2).unwrap_or(0));
        let id = link_id(process, row.int(6));
        let (device, context) = (row.int(3).unwrap_or(0), row.int(4).unwrap_or(0));
        let kind = match waits {
            true => PlaceKind::Waits { device, context },
            false => PlaceKind::Stream { device, context, stream: row.int(5).unwrap_or(0) },
        };
        self.linked.insert(id);
        self.all.n_links += u64::from(id != 0);
        let place = self.place(process, kind);
        let bytes = bytes.map(|bytes| u64::try_from(bytes).unwrap_or(0));
        let row = Row {
            kind: RowKind::Device,
            id,
            bytes: bytes.unwrap_or(0),
            more: u64::from(bytes.is_some()),
            ..Row::call(start, end, region)
        };
        self.push(place, row)
    }
}
