//! One scan of each table: kernels, copies, memory and counters of devices, calls of the host.
//!
//! Kernels and copies come first, so that only those calls get a link that launched something. What launched an operation
//! is the call with its stack id. A stream is a stream of HIP, or a queue where the run records no streams of HIP but the
//! first; copies then run in none.

use super::about::{CONTEXT, global_pid};
use super::tables::RocpdTables;
use crate::nsight::ReportTables;
use crate::nsight::database::{Database, IdLookup, QueryRow, ScanError};
use crate::nsight::regions::Origin;
use crate::nsight::reports::About;
use crate::nsight::rows::{HAS_BYTES, HAS_SHAPE, ReportRow, RowKind};
use crate::nsight::scan::links::{LinkedCalls, link_id};
use crate::nsight::scan::{PlaceKind, ScannedReports, temporary_error};
use ouzel_model::{LaunchShape, Level, Notice, NoticeCode, ReadError};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The stream of copies where streams of HIP are not recorded.
const COPIES: i64 = -1;

/// Times that are believed, in ns from the first process: 104 days in both directions.
const MAX_TIME_NS: i64 = 1 << 53;

impl ReportTables for RocpdTables {
    fn open(path: &Path) -> Result<Vec<Self>, ReadError> {
        let suffixes = |database: &Database| -> Vec<String> {
            let tables = database.table_names().filter_map(|table| table.strip_prefix("rocpd_string"));
            tables.map(str::to_owned).collect()
        };
        let first = Database::open(path)?;
        let suffixes = suffixes(&first);
        let mut first = Some(first);
        let tables = suffixes.into_iter().map(|suffix| {
            let database = first.take().map_or_else(|| Database::open(path), Ok)?;
            Ok(RocpdTables { database, suffix })
        });
        tables.collect()
    }

    fn about(&self) -> Result<About, ReadError> {
        super::about::read(self)
    }

    fn first_time(&self) -> i64 {
        let mut first = i64::MAX;
        let _ = self.database.scan(&self.name("info_process"), &["init", "start"], None, |row| {
            first = row.int(0).or_else(|| row.int(1)).unwrap_or(first).min(first);
            Ok(())
        });
        first
    }

    /// Times of all processes of a host are those of its clock since it started; those of several hosts are not compared.
    fn align(abouts: &[About], firsts: &[i64], notices: &mut Vec<Notice>) -> (Vec<i64>, Option<i64>) {
        let mut of_hosts: BTreeMap<&str, i64> = BTreeMap::new();
        for (about, &first) in abouts.iter().zip(firsts) {
            let least = of_hosts.entry(&about.host).or_insert(i64::MAX);
            *least = first.min(*least);
        }
        if 1 < of_hosts.len() {
            let message = "the clocks of the hosts cannot be compared: the first processes of all are taken to begin together";
            notices.push(Notice::new(Level::Medium, NoticeCode::ClocksUnsynchronised, message));
        }
        let offset = |about: &About| match of_hosts[about.host.as_str()] {
            i64::MAX => 0,
            first => first.saturating_neg(),
        };
        (abouts.iter().map(offset).collect(), None)
    }

    fn take(&self, report: usize, offset_ns: i64, into: &mut ScannedReports) -> Result<(), ReadError> {
        let lookup = |table: &str, columns: &[&str]| self.database.by_id(&self.name(table), columns);
        let mut scan = RocpdScan {
            strings: lookup("string", &["string"])?,
            events: lookup("event", &["stack_id", "category_id", "extdata"])?,
            times: lookup("timestamp", &["value"])?,
            tracks: BTreeMap::new(),
            categories: BTreeMap::new(),
            kernels: FxHashMap::default(),
            names: FxHashMap::default(),
            of_kernels: FxHashMap::default(),
            linked: LinkedCalls::default(),
            devices: BTreeMap::new(),
            has_streams: false,
            left_out: BTreeMap::new(),
            scanned: BTreeSet::new(),
            n_damaged: 0,
            all: &mut *into,
            tables: self,
            report,
            offset_ns,
        };
        scan.definitions()?;
        scan.counters_of_kernels()?;
        scan.dispatches()?;
        scan.copies()?;
        scan.calls()?;
        scan.memory()?;
        scan.finish();
        into.program_ends.push(None);
        Ok(())
    }
}

/// Where a row belongs, as the table of tracks or the row itself says.
#[derive(Debug, Clone, Copy, Default)]
struct Track {
    pid: i64,
    tid: i64,
    agent: Option<i64>,
    queue: Option<i64>,
    stream: Option<i64>,
}

/// A kernel, of which several are dispatched.
#[derive(Debug, Clone, Copy)]
struct KernelSymbol {
    region: u32,
    registers: Option<u32>,
}

struct RocpdScan<'a> {
    all: &'a mut ScannedReports,
    tables: &'a RocpdTables,
    report: usize,
    offset_ns: i64,
    strings: IdLookup<'a>,
    events: IdLookup<'a>,
    times: IdLookup<'a>,
    tracks: BTreeMap<i64, Track>,
    /// Names of categories, where they have a table of their own.
    categories: BTreeMap<i64, Arc<str>>,
    kernels: FxHashMap<i64, KernelSymbol>,
    /// Regions by the category and string of their name.
    names: FxHashMap<(i64, i64), u32>,
    /// Counters of kernels, by their events.
    of_kernels: FxHashMap<i64, Vec<(u32, f64)>>,
    linked: LinkedCalls,
    /// Number of the device of each agent that is one.
    devices: BTreeMap<i64, i64>,
    /// Whether any stream of HIP but the first has operations.
    has_streams: bool,
    left_out: BTreeMap<String, u64>,
    scanned: BTreeSet<String>,
    n_damaged: u64,
}

/// Where a row is, in the order of these columns.
const PLACE: [&str; 10] =
    ["start", "end", "start_id", "end_id", "track_id", "pid", "tid", "agent_id", "queue_id", "stream_id"];

impl RocpdScan<'_> {
    /// Scans a table with `take`. Damage ends the table with a notice.
    fn table(
        &mut self,
        table: &str,
        columns: &[&str],
        mut take: impl FnMut(&mut Self, &QueryRow<'_, '_>) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let name = self.tables.name(table);
        self.scanned.insert(name.clone());
        let database = &self.tables.database;
        match database.scan(&name, columns, None, |row| take(self, row)) {
            Ok(_) => Ok(()),
            Err(ScanError::Fatal(error)) => Err(error),
            Err(ScanError::Damaged(error)) => {
                let message = format!("{}; its first {} rows were read", error.reason, error.record);
                let notice = Notice::new(Level::High, NoticeCode::DamagedEvents, message);
                self.all.notices.push(notice.in_file(error.file));
                Ok(())
            }
        }
    }

    /// Names, tracks and kernels.
    fn definitions(&mut self) -> Result<(), ReadError> {
        self.table("info_category", &["id", "name"], |scan, row| {
            if let (Some(id), Some(name)) = (row.int(0), row.text(1)) {
                scan.categories.insert(id, Arc::from(name));
            }
            Ok(())
        })?;
        let columns = ["id", "pid", "tid", "agent_id", "queue_id", "stream_id"];
        self.table("track", &columns, |scan, row| {
            let track = Track {
                pid: row.int(1).unwrap_or(0),
                tid: row.int(2).unwrap_or(0),
                agent: row.int(3),
                queue: row.int(4),
                stream: row.int(5),
            };
            scan.has_streams |= track.stream.is_some_and(|stream| stream != 0);
            scan.tracks.insert(row.int(0).unwrap_or(0), track);
            Ok(())
        })?;
        for table in ["kernel_dispatch", "memory_copy"] {
            self.table(table, &["stream_id"], |scan, row| {
                scan.has_streams |= row.int(0).is_some_and(|stream| stream != 0);
                Ok(())
            })?;
        }
        self.table("info_agent", &["id", "type", "type_index"], |scan, row| {
            if let (Some(id), Some(b"GPU")) = (row.int(0), row.bytes(1)) {
                scan.devices.insert(id, row.int(2).unwrap_or(id));
            }
            Ok(())
        })?;
        let columns = ["id", "display_name", "kernel_name", "arch_vgpr_count"];
        self.table("info_kernel_symbol", &columns, |scan, row| {
            let Some(id) = row.int(0) else { return Ok(()) };
            let linker = row.text(2).map(|name| Arc::from(name.trim_end_matches(".kd")));
            let shown = row.text(1).filter(|name| !name.is_empty()).map(Arc::from);
            let name =
                shown.or_else(|| linker.clone()).unwrap_or_else(|| Arc::from("<kernel without a name>"));
            let region = scan.all.regions.get(Origin::HipKernel(linker), &name);
            let registers = row.int(3).and_then(|it| u32::try_from(it).ok());
            scan.kernels.insert(id, KernelSymbol { region, registers });
            Ok(())
        })
    }

    /// Values of counters of kernels, with their names.
    fn counters_of_kernels(&mut self) -> Result<(), ReadError> {
        let mut names: BTreeMap<i64, u32> = BTreeMap::new();
        self.table("info_pmc", &["id", "name", "units"], |scan, row| {
            if let (Some(id), Some(name)) = (row.int(0), row.text(1)) {
                names.insert(id, scan.all.counter(name, "#"));
            }
            Ok(())
        })?;
        self.table("pmc_event", &["event_id", "pmc_id", "value"], |scan, row| {
            let (Some(event), Some(pmc), Some(value)) = (row.int(0), row.int(1), row.real(2)) else {
                scan.n_damaged += 1;
                return Ok(());
            };
            let metric = match names.get(&pmc) {
                Some(&metric) => metric,
                None => {
                    let metric = scan.all.counter(format!("counter {pmc}"), "#");
                    names.insert(pmc, metric);
                    metric
                }
            };
            scan.of_kernels.entry(event).or_default().push((metric, value));
            Ok(())
        })
    }

    /// When and where a row of [`PLACE`] is; none if it is damaged.
    fn place(&mut self, row: &QueryRow<'_, '_>) -> Option<(i64, i64, Track)> {
        let own = |at: usize| row.int(at);
        let start = own(0).or_else(|| self.times.int(own(2)?, 0));
        let end = own(1).or_else(|| self.times.int(own(3)?, 0));
        let of_table = own(4).and_then(|track| self.tracks.get(&track)).copied().unwrap_or_default();
        let track = Track {
            pid: own(5).unwrap_or(of_table.pid),
            tid: own(6).unwrap_or(of_table.tid),
            agent: own(7).or(of_table.agent),
            queue: own(8).or(of_table.queue),
            stream: own(9).or(of_table.stream),
        };
        let found = start.zip(end).map(|(start, end)| (start, end, track));
        self.n_damaged += u64::from(found.is_none());
        found
    }

    fn process(&mut self, pid: i64) -> u32 {
        self.all.process(self.report, global_pid(pid))
    }

    /// The place of an operation of a device.
    fn stream(&mut self, track: &Track, agent: Option<i64>, is_copy: bool) -> u32 {
        let device = agent.map_or(0, |agent| self.devices.get(&agent).copied().unwrap_or(agent));
        let stream = match () {
            () if self.has_streams => track.stream.unwrap_or(0),
            () if is_copy => track.queue.unwrap_or(COPIES),
            () => track.queue.or(track.stream).unwrap_or(0),
        };
        let process = self.process(track.pid);
        let name = match () {
            () if self.has_streams => None,
            () if stream == COPIES => Some("copies".to_owned()),
            () => Some(format!("queue {stream}")),
        };
        let kind = PlaceKind::Stream { device, context: CONTEXT, stream };
        let place = self.all.place(process, kind);
        name.into_iter().for_each(|name| {
            self.all.place_names.entry(place).or_insert(name);
        });
        place
    }

    fn push(&mut self, place: u32, mut row: ReportRow) -> Result<(), ReadError> {
        (row.start, row.end) =
            (row.start.saturating_add(self.offset_ns), row.end.saturating_add(self.offset_ns));
        let is_sane = |time: i64| (-MAX_TIME_NS..=MAX_TIME_NS).contains(&time);
        if !is_sane(row.start) || !is_sane(row.end) || row.end < row.start {
            self.n_damaged += 1;
            return Ok(());
        }
        self.all.first = Some(self.all.first.map_or(row.start, |first| first.min(row.start)));
        let file = &self.tables.database.file;
        self.all.partition.push(place as usize, row).map_err(|error| temporary_error(file, &error))
    }

    fn value(&mut self, place: u32, at: i64, metric: u32, value: f64) -> Result<(), ReadError> {
        let id = self.all.n_values;
        self.all.n_values += 1;
        let row =
            ReportRow { kind: RowKind::Value, id, bytes: value.to_bits(), ..ReportRow::call(at, at, metric) };
        self.push(place, row)
    }

    /// The link of an event to the call with its stack id.
    fn link(&mut self, pid: i64, event: Option<i64>) -> u64 {
        let process = self.process(pid);
        link_id(process, event.and_then(|event| self.events.int(event, 0)))
    }

    fn dispatches(&mut self) -> Result<(), ReadError> {
        let mut columns = PLACE.to_vec();
        columns.extend(["kernel_id", "event_id", "group_segment_size"]);
        columns.extend(["grid_size_x", "grid_size_y", "grid_size_z"]);
        columns.extend(["workgroup_size_x", "workgroup_size_y", "workgroup_size_z"]);
        self.table("kernel_dispatch", &columns, |scan, row| {
            let Some((start, end, track)) = scan.place(row) else { return Ok(()) };
            let symbol = row.int(10).and_then(|kernel| scan.kernels.get(&kernel)).copied();
            let symbol = symbol.unwrap_or_else(|| {
                let name = Arc::from("<kernel without a name>");
                KernelSymbol { region: scan.all.regions.get(Origin::HipKernel(None), &name), registers: None }
            });
            let shape = shape(row, symbol.registers).map(|shape| scan.all.shape(shape));
            let (more, bytes) = shape.map_or((0, 0), |shape| (HAS_SHAPE, shape));
            let id = scan.link(track.pid, row.int(11));
            scan.linked.insert(id);
            scan.all.n_links += u64::from(id != 0);
            let place = scan.stream(&track, track.agent, false);
            let call = ReportRow::call(start, end, symbol.region);
            scan.push(place, ReportRow { kind: RowKind::Device, id, bytes, more, ..call })?;
            let values = row.int(11).and_then(|event| scan.of_kernels.remove(&event)).unwrap_or_default();
            values.into_iter().try_for_each(|(metric, value)| scan.value(place, start, metric, value))
        })
    }

    fn copies(&mut self) -> Result<(), ReadError> {
        let mut columns = PLACE.to_vec();
        columns.extend(["name_id", "event_id", "size", "dst_agent_id", "src_agent_id"]);
        self.table("memory_copy", &columns, |scan, row| {
            let Some((start, end, track)) = scan.place(row) else { return Ok(()) };
            let name = scan.string(row.int(10));
            let region = scan.all.regions.get(Origin::HipCopy, &Arc::from(copy_name(&name)));
            let mut devices = [row.int(13), row.int(14)].into_iter().flatten();
            let agent = devices.find(|agent| scan.devices.contains_key(agent)).or(row.int(13));
            let id = scan.link(track.pid, row.int(11));
            scan.linked.insert(id);
            scan.all.n_links += u64::from(id != 0);
            let place = scan.stream(&track, agent.or(track.agent), true);
            let bytes = row.int(12).and_then(|it| u64::try_from(it).ok()).unwrap_or(0);
            let call = ReportRow::call(start, end, region);
            scan.push(place, ReportRow { kind: RowKind::Device, id, bytes, more: HAS_BYTES, ..call })
        })
    }

    fn string(&mut self, id: Option<i64>) -> Arc<str> {
        let text = id.and_then(|id| self.strings.text(id, 0));
        text.map_or_else(|| Arc::from("<string is missing>"), Arc::from)
    }

    fn category(&mut self, id: i64) -> Arc<str> {
        if let Some(name) = self.categories.get(&id) {
            return Arc::clone(name);
        }
        let name: Arc<str> = self.strings.text(id, 0).map_or_else(|| Arc::from(""), Arc::from);
        self.categories.insert(id, Arc::clone(&name));
        name
    }

    fn calls(&mut self) -> Result<(), ReadError> {
        let mut columns = PLACE.to_vec();
        columns.extend(["name_id", "event_id"]);
        self.table("region", &columns, |scan, row| {
            let Some((start, end, track)) = scan.place(row) else { return Ok(()) };
            let (name, event) = (row.int(10).unwrap_or(0), row.int(11).unwrap_or(0));
            let category = scan.events.int(event, 1).unwrap_or(0);
            let kind = scan.category(category);
            let is_marker = kind.starts_with("MARKER");
            let region = if is_marker { scan.marker(name, event) } else { scan.call(category, name) };
            let link = scan.link(track.pid, row.int(11));
            let id = if !is_marker && scan.linked.contains(link) { link } else { 0 };
            let process = scan.process(track.pid);
            let tid = u32::try_from(track.tid).unwrap_or(0);
            let is_range = is_marker && scan.string(Some(name)).contains("Process");
            let kind = if is_range { PlaceKind::Ranges(tid) } else { PlaceKind::Thread(tid) };
            let place = scan.all.place(process, kind);
            scan.push(place, ReportRow { id, ..ReportRow::call(start, end, region) })
        })
    }

    /// The region of a call of an interface.
    fn call(&mut self, category: i64, name: i64) -> u32 {
        if let Some(&region) = self.names.get(&(category, name)) {
            return region;
        }
        let text = self.string(Some(name));
        let region = self.all.regions.get(Origin::HipApi, &text);
        self.names.insert((category, name), region);
        region
    }

    /// The region of a range of ROCTx: its message.
    fn marker(&mut self, name: i64, event: i64) -> u32 {
        let data = self.events.text(event, 2).unwrap_or_default();
        let message = serde_json::from_str::<serde_json::Value>(&data).ok();
        let message = message.as_ref().and_then(|it| it.get("message")?.as_str()).filter(|it| !it.is_empty());
        let text = message.map_or_else(|| self.string(Some(name)), Arc::from);
        self.all.regions.get(Origin::Nvtx(None), &text)
    }

    /// Memory that is given and taken back, summed up in order of time.
    fn memory(&mut self) -> Result<(), ReadError> {
        let mut columns = PLACE.to_vec();
        columns.extend(["type", "level", "address", "size"]);
        let mut changes: Vec<(i64, u32, bool, i64, i64, Option<i64>)> = Vec::new();
        self.table("memory_allocate", &columns, |scan, row| {
            let Some((start, _, track)) = scan.place(row) else { return Ok(()) };
            if row.bytes(11) != Some(b"REAL") {
                scan.leave_out("virtual and scratch memory");
                return Ok(());
            }
            let process = scan.process(track.pid);
            let device = track.agent.and_then(|agent| scan.devices.get(&agent)).copied();
            let gives = row.bytes(10) == Some(b"ALLOC");
            let (address, size) = (row.int(12).unwrap_or(0), row.int(13).unwrap_or(0));
            changes.push((start, process, gives, address, size, device));
            Ok(())
        })?;
        changes.sort_unstable();
        // What is taken back names its address alone.
        let mut given: BTreeMap<(u32, i64), (i64, Option<i64>)> = BTreeMap::new();
        let mut totals: BTreeMap<(u32, Option<i64>), i64> = BTreeMap::new();
        for (at, process, gives, address, size, device) in changes {
            let (bytes, device) = if gives {
                given.insert((process, address), (size, device));
                (size, device)
            } else {
                let Some((size, device)) = given.remove(&(process, address)) else {
                    self.leave_out("memory that was given before the recording");
                    continue;
                };
                (size.saturating_neg(), device)
            };
            let of = device.map_or_else(|| "host".to_owned(), |device| format!("device {device}"));
            let total = totals.entry((process, device)).or_default();
            *total = total.saturating_add(bytes).max(0);
            let total = *total;
            let allocated = self.all.counter(format!("memory allocated, {of}"), "bytes");
            let change = self.all.counter(format!("memory change, {of}"), "bytes");
            let place = self.all.place(process, PlaceKind::Counters);
            self.value(place, at, allocated, total as f64)?;
            self.value(place, at, change, bytes as f64)?;
        }
        Ok(())
    }

    fn leave_out(&mut self, what: &str) {
        *self.left_out.entry(what.to_owned()).or_default() += 1;
    }

    /// What was left out, as notices.
    fn finish(mut self) {
        let read = ["metadata", "string", "event", "timestamp", "info_", "arg"];
        let database = &self.tables.database;
        for table in database.table_names() {
            let Some(plain) =
                table.strip_prefix("rocpd_").and_then(|it| it.strip_suffix(&*self.tables.suffix))
            else {
                continue;
            };
            if self.scanned.contains(table) || read.iter().any(|read| plain.starts_with(read)) {
                continue;
            }
            if let Some(n) = database.n_rows(table).filter(|n| 0 < *n) {
                *self.left_out.entry(format!("rows of table rocpd_{plain}")).or_default() += n;
            }
        }
        let n_values: usize = self.of_kernels.values().map(Vec::len).sum();
        if 0 < n_values {
            self.left_out.insert("counters of no kernel".to_owned(), n_values as u64);
        }
        let mut say = |level, code, count, message: String| {
            if 0 < count {
                let notice = Notice::new(level, code, message).times(count);
                self.all.notices.push(notice.in_file(Arc::clone(&database.file)));
            }
        };
        for (what, count) in self.left_out {
            say(Level::Low, NoticeCode::NotRepresented, count, format!("{what} were counted and left out"));
        }
        let message = "rows without times, that end before they start, or lie months away, were left out";
        say(Level::High, NoticeCode::DamagedEvents, self.n_damaged, message.to_owned());
    }
}

/// The shape of a launch: HSA counts the threads of the whole grid.
fn shape(row: &QueryRow<'_, '_>, registers: Option<u32>) -> Option<LaunchShape> {
    let number = |column: usize| u32::try_from(row.int(column)?).ok();
    let block = [number(16)?, number(17)?, number(18)?];
    let blocks = |column: usize, threads: u32| Some(number(column)?.div_ceil(threads.max(1)));
    Some(LaunchShape {
        grid: [blocks(13, block[0])?, blocks(14, block[1])?, blocks(15, block[2])?],
        block,
        registers,
        shared_bytes: number(12),
        occupancy_permille: None,
    })
}

/// `MEMORY_COPY_HOST_TO_DEVICE` as people write it.
fn copy_name(name: &str) -> String {
    let direction = name.strip_prefix("MEMORY_COPY_").unwrap_or(name);
    let words = direction.split('_').map(|word| {
        let lower = word.to_ascii_lowercase();
        let mut letters = lower.chars();
        match (lower.as_str(), letters.next()) {
            ("to", _) => lower,
            (_, Some(first)) => format!("{}{}", first.to_ascii_uppercase(), letters.as_str()),
            _ => lower,
        }
    });
    format!("[HIP memcpy {}]", words.collect::<Vec<_>>().join("-"))
}
