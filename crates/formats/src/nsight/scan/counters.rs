//! Counters: metrics of GPUs, and memory that CUDA gives and takes.
//!
//! A metric belongs to the first process of the report, as its table names none. Memory is summed up in order of time; the
//! table says only how much is given and taken.

use super::{PlaceKind, ReadError, ReportRow, ReportScan};
use crate::nsight::rows::RowKind;
use crate::position::u32_from;
use std::collections::BTreeMap;

/// A counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CounterName {
    /// Its name, with the GPU or the memory.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
}

/// Kinds of memory of the host, in `ENUM_CUDA_MEM_KIND`.
const HOST_MEMORY: [i64; 2] = [0, 1];
/// An operation that takes memory back.
const RELEASE: i64 = 1;

/// Memory that was given or taken.
struct MemoryOperation {
    start: i64,
    process: u32,
    /// The device; none for the host.
    device: Option<i64>,
    bytes: i64,
}

impl ReportScan<'_> {
    /// Every table of counters. Read them last.
    pub(super) fn counters(&mut self) -> Result<(), ReadError> {
        self.gpu_metrics()?;
        self.memory()
    }

    fn value(&mut self, process: u32, at: i64, metric: u32, value: f64) -> Result<(), ReadError> {
        let place = self.place(process, PlaceKind::Counters);
        let id = self.all.n_values;
        self.all.n_values += 1;
        let row =
            ReportRow { kind: RowKind::Value, id, bytes: value.to_bits(), ..ReportRow::call(at, at, metric) };
        self.push(place, row)
    }

    fn gpu_metrics(&mut self) -> Result<(), ReadError> {
        let mut names: BTreeMap<(i64, i64), u32> = BTreeMap::new();
        let columns = ["typeId", "metricId", "metricName"];
        self.table("TARGET_INFO_GPU_METRICS", &columns, None, |scan, row| {
            if let (Some(kind), Some(metric), Some(name)) = (row.int(0), row.int(1), row.text(2)) {
                // The lowest byte is the number of the GPU.
                let number = scan.all.counter(format!("{name}, GPU {}", kind & 0xff), "#");
                names.insert((kind, metric), number);
            }
            Ok(())
        })?;
        let of_report = self.all.processes.iter().position(|process| process.report == self.report);
        let process = of_report.map_or_else(|| self.process(0), u32_from);
        self.table("GPU_METRICS", &["timestamp", "typeId", "metricId", "value"], None, |scan, row| {
            let (Some(at), Some(kind), Some(metric), Some(value)) =
                (row.int(0), row.int(1), row.int(2), row.int(3))
            else {
                scan.n_damaged += 1;
                return Ok(());
            };
            let number = match names.get(&(kind, metric)) {
                Some(&number) => number,
                None => {
                    let number = scan.all.counter(format!("metric {metric}, GPU {}", kind & 0xff), "#");
                    names.insert((kind, metric), number);
                    number
                }
            };
            scan.value(process, at, number, value as f64)
        })
    }

    fn memory(&mut self) -> Result<(), ReadError> {
        let columns = ["start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType"];
        let mut operations: Vec<MemoryOperation> = Vec::new();
        self.table("CUDA_GPU_MEMORY_USAGE_EVENTS", &columns, None, |scan, row| {
            let (Some(start), Some(process), Some(bytes)) = (row.int(0), row.int(1), row.int(3)) else {
                scan.n_damaged += 1;
                return Ok(());
            };
            let process = scan.process(process);
            let is_host = row.int(4).is_some_and(|kind| HOST_MEMORY.contains(&kind));
            let device = (!is_host).then(|| row.int(2).unwrap_or(0));
            let bytes = if row.int(5) == Some(RELEASE) { bytes.saturating_neg() } else { bytes };
            operations.push(MemoryOperation { start, process, device, bytes });
            Ok(())
        })?;
        operations.sort_by_key(|it| it.start);
        let mut totals: BTreeMap<(u32, Option<i64>), i64> = BTreeMap::new();
        for MemoryOperation { start, process, device, bytes } in operations {
            let place = device.map_or_else(|| "host".to_owned(), |device| format!("device {device}"));
            let allocated = self.all.counter(format!("memory allocated, {place}"), "bytes");
            let change = self.all.counter(format!("memory change, {place}"), "bytes");
            let total = totals.entry((process, device)).or_default();
            // What was given before the tracing began may be taken back.
            *total = total.saturating_add(bytes).max(0);
            let total = *total;
            self.value(process, start, allocated, total as f64)?;
            self.value(process, start, change, bytes as f64)?;
        }
        Ok(())
    }
}
