//! Opens the reports of a run: reads what they say of themselves, aligns their clocks, finds ranks, scans.

use super::database::Database;
use super::definitions::{Known, add_locations, add_world};
use super::ranks::ranks_of;
use super::reader::Shared;
use super::reports::About;
use super::rows::RowKind;
use super::scan::{CounterName, PlaceKind, RowPlace, ScannedReports};
use super::store::Store;
use super::{NsightSource, PlacedRows, Profiler, ReportTables, scan};
use ouzel_model::{
    Clock, Content, Definitions, Level, LocationGroupId, LocationId, Metric, MetricMode, MetricValueType,
    Notice, NoticeCode, Provenance, ReadError, units,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Differences of session starts that are believed: a year, in ns. Clocks that differ by more are not aligned.
const MAX_OFFSET_NS: i64 = 1 << 55;

impl NsightSource {
    /// Opens the exports that were found at `path`.
    ///
    /// # Errors
    /// If one is no database, or its strings cannot be read, or a temporary file cannot be written.
    pub(super) fn open(path: &Path, exports: &[PathBuf]) -> Result<NsightSource, ReadError> {
        NsightSource::open_reports::<Database>(path, exports, &NSIGHT)
    }

    /// The same of another profiler with such reports.
    ///
    /// # Errors
    /// As [`open`](NsightSource::open).
    pub(crate) fn open_reports<T: ReportTables>(
        path: &Path,
        files: &[PathBuf],
        profiler: &Profiler,
    ) -> Result<NsightSource, ReadError> {
        let mut notices = Vec::new();
        let (mut abouts, mut firsts, mut of_reports) = (Vec::new(), Vec::new(), Vec::new());
        for file in files {
            notices.extend(beside(file));
            for tables in T::open(file)? {
                abouts.push(tables.about()?);
                firsts.push(tables.first_time());
                of_reports.push(file.clone());
            }
        }
        let exports = &of_reports[..];
        let (offsets, start_ns) = T::align(&abouts, &firsts, &mut notices);
        let mut scan = scanned::<T>(files, &offsets)?;
        let file: Arc<str> = Arc::from(path.display().to_string());
        let report_of = |place: &RowPlace| scan.processes[place.process as usize].report;
        let ends: Vec<Option<i64>> =
            scan.places.iter().map(|place| scan.program_ends[report_of(place)]).collect();
        let store = std::mem::take(&mut scan.partition).finish(&ends);
        let store = store.map_err(|error| scan::temporary_error(&file, &error))?;
        notices.append(&mut scan.notices);
        notices.extend(after_the_program(&scan, &store));
        if 0 < store.n_clipped {
            let message = "calls that overlap too many others were cut where the others end";
            notices
                .push(Notice::new(Level::Medium, NoticeCode::TruncatedCalls, message).times(store.n_clipped));
        }
        let ranks = ranks_of(&scan, &abouts, exports, &mut notices);
        let origin = scan.first.unwrap_or(0).min(0);
        let clock = Clock {
            ticks_per_second: 1_000_000_000,
            offset_ticks: 0,
            realtime_ns: start_ns.and_then(|start| u64::try_from(start + origin).ok()),
            declared_length: None,
        };
        let mut definitions = Definitions::empty(clock);
        definitions.provenance = provenance(profiler, &abouts);
        definitions.parameters = super::reader::PARAMETERS.iter().map(|name| Arc::from(*name)).collect();
        let known = Known {
            places: &scan.places,
            processes: &scan.processes,
            abouts: &abouts,
            ranks: &ranks,
            place_names: &scan.place_names,
        };
        let placed = add_locations(&mut definitions, &known, &store.lanes);
        if 1 < definitions.number_drivers() {
            let message = "no MPI ranks are recorded; the processes that drive accelerators are ranks in the order of \
                           their process ids";
            notices.push(Notice::new(Level::Low, NoticeCode::MissingDefinitions, message));
        }
        let comms = add_world(&mut definitions, &scan.handles, &ranks);
        if comms.guessed {
            let message = "the export does not record the members of communicators; the first one that each process \
                           uses is taken as MPI_COMM_WORLD";
            notices.push(Notice::new(Level::Medium, NoticeCode::UndefinedReference, message));
        }
        let streams = streams_of(&placed, scan.places.len());
        let contexts = contexts_of(&scan, &streams, &definitions);
        let lacking = lacking(profiler, &scan);
        let world_size = definitions.communicators.first().map_or(0, |world| world.members.len());
        definitions.metrics = scan.metrics.iter().map(metric).collect();
        definitions.sampled_contexts = scan.contexts;
        definitions.set_regions(scan.regions.into_vec());
        let comms = comms.of_handle;
        let shapes = scan.shapes.iter().map(|shape| Arc::from(shape.to_string())).collect();
        let shared = Shared { file, origin, comms, world_size, shapes, streams, contexts };
        Ok(NsightSource { definitions, notices, placed, store, shared, lacking })
    }
}

/// The rows of all reports, one file at a time: a run may have more reports than files may be open.
fn scanned<T: ReportTables>(files: &[PathBuf], offsets: &[i64]) -> Result<ScannedReports, ReadError> {
    let mut scan = ScannedReports::default();
    let mut report = 0;
    for file in files {
        for tables in T::open(file)? {
            // A file that was changed since may have more.
            let Some(&offset) = offsets.get(report) else { break };
            tables.take(report, offset, &mut scan)?;
            report += 1;
        }
    }
    Ok(scan)
}

/// What of each report was left out as the profiler's own work after the program.
fn after_the_program(scan: &ScannedReports, store: &Store) -> Vec<Notice> {
    let regions = &scan.regions;
    let of_report = |(report, end): (usize, &Option<i64>)| {
        let end = (*end)?;
        let is_of_report = |place: &RowPlace| scan.processes[place.process as usize].report == report;
        let places = scan.places.iter().zip(&store.left_out);
        let left_out = || places.clone().filter(|(place, _)| is_of_report(place)).map(|(_, it)| it);
        let n: u64 = left_out().map(|it| it.n).sum();
        let until = left_out().filter(|it| 0 < it.n).map(|it| it.until).max()?;
        let rows = left_out().filter_map(|it| it.longest).filter(|row| row.kind != RowKind::Sample);
        let longest = rows.max_by_key(|row| row.end - row.start)?;
        let message = format!(
            "the profiler's own work after the end of the program, most in {:?}, took {}; it is left out, and the run \
             ends before it",
            regions.name(longest.region),
            units::time(until.abs_diff(end))
        );
        Some(Notice::new(Level::Low, NoticeCode::NotRepresented, message).times(n))
    };
    scan.program_ends.iter().enumerate().filter_map(of_report).collect()
}

/// The location of each place: that of its first lane.
fn streams_of(placed: &[PlacedRows], n_places: usize) -> Vec<Option<LocationId>> {
    let mut streams = vec![None; n_places];
    for (location, rows) in placed.iter().enumerate().filter(|(_, rows)| rows.lane == 0) {
        streams[rows.place] = Some(LocationId::from_index(location));
    }
    streams
}

/// The group of each context that is waited for. Some rows name a device and context 0: that is the only one of the
/// device.
fn contexts_of(
    scan: &ScannedReports,
    streams: &[Option<LocationId>],
    definitions: &Definitions,
) -> Vec<Option<LocationGroupId>> {
    let mut contexts = vec![None; scan.contexts_of_devices.len()];
    for (&(process, device, context), &number) in &scan.contexts_of_devices {
        let groups = |is_exact: bool| -> BTreeSet<LocationGroupId> {
            let places = scan.places.iter().zip(streams);
            let of_device = places.filter_map(|(place, &location)| match place.kind {
                PlaceKind::Stream { device: of, context: in_context, .. }
                    if (place.process, of) == (process, device) && (!is_exact || in_context == context) =>
                {
                    Some(definitions.location(location?).group)
                }
                _ => None,
            });
            of_device.collect()
        };
        let mut found = groups(true);
        if found.is_empty() {
            found = groups(false);
        }
        contexts[number as usize] = found.first().copied().filter(|_| found.len() == 1);
    }
    contexts
}

/// Notices about files beside an export that are not read, and about an export that ends early.
fn beside(export: &Path) -> Vec<Notice> {
    let mut notices = Vec::new();
    let mut log = export.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(&log).is_ok_and(|log| 0 < log.len()) {
        let message = "a write-ahead log lies beside the export and was not read; rows may be missing";
        let notice = Notice::new(Level::High, NoticeCode::MissingEvents, message);
        notices.push(notice.in_file(log.to_string_lossy().into_owned()));
    }
    let header = ouzel_files::input::head(export, 100).ok().and_then(|head| <[u8; 100]>::try_from(head).ok());
    if let (Some(header), Ok(file)) = (header, std::fs::metadata(export)) {
        // Bytes 16 and 28 of the header: page size (1 means 65536) and number of pages.
        let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65_536,
            bytes => u64::from(bytes),
        };
        let n_pages = u32::from_be_bytes([header[28], header[29], header[30], header[31]]);
        let declared = page_bytes * u64::from(n_pages);
        if file.len() < declared {
            let message = format!("the file ends after {} of {declared} bytes", file.len());
            let notice = Notice::new(Level::High, NoticeCode::DamagedEvents, message);
            notices.push(notice.in_file(export.display().to_string()).at(file.len()));
        }
    }
    notices
}

/// What is added to the times of each report, and the start of the first session.
fn align(abouts: &[About], notices: &mut Vec<Notice>) -> (Vec<i64>, Option<i64>) {
    let starts: Vec<Option<i64>> = abouts.iter().map(|about| about.utc_ns).collect();
    let first = starts.iter().flatten().min().copied();
    let [_, _, ..] = abouts else { return (vec![0], first) };
    let offset = |start: &Option<i64>| {
        let offset = start.and_then(|start| start.checked_sub(first?))?;
        (offset < MAX_OFFSET_NS).then_some(offset)
    };
    let offsets: Vec<Option<i64>> = starts.iter().map(offset).collect();
    let n_unknown = offsets.iter().filter(|offset| offset.is_none()).count();
    let message = match n_unknown {
        0 => "the reports were aligned by the start times (UTC) of their sessions; node clocks may differ by more \
              than the times you compare"
            .to_owned(),
        n => format!("{n} reports do not record when their session began; they are assumed to begin with the first"),
    };
    notices.push(Notice::new(Level::Medium, NoticeCode::ClocksUnsynchronised, message));
    (offsets.into_iter().map(|offset| offset.unwrap_or(0)).collect(), first)
}

fn metric(counter: &CounterName) -> Metric {
    Metric {
        name: Arc::from(counter.name.as_str()),
        description: Arc::from(""),
        unit: Arc::from(counter.unit),
        mode: MetricMode::Absolute,
        value_type: MetricValueType::F64,
    }
}

fn provenance(profiler: &Profiler, abouts: &[About]) -> Provenance {
    let joined = |part: fn(&About) -> &String| {
        let mut all: Vec<&str> =
            abouts.iter().map(|about| part(about).as_str()).filter(|text| !text.is_empty()).collect();
        all.sort_unstable();
        all.dedup();
        all.join(", ")
    };
    Provenance {
        format: profiler.name.to_owned(),
        format_version: joined(|about| &about.schema),
        creator: joined(|about| &about.product),
        machine: joined(|about| &about.host),
        description: String::new(),
    }
}

/// What the reports lack, with the reason.
fn lacking(profiler: &Profiler, scan: &ScannedReports) -> Vec<(Content, &'static str)> {
    let has_streams = scan.places.iter().any(|place| matches!(place.kind, PlaceKind::Stream { .. }));
    let mut lacking = vec![
        (Content::Threads, "the profiler records calls of locks, not who holds them"),
        (Content::Rma, "the profiler records no one-sided communication"),
        (Content::Topologies, "the profiler records no topologies"),
        (Content::Severities, "the profiler records events, not a profile"),
    ];
    let mut say = |has: bool, content, reason| {
        if !has {
            lacking.push((content, reason));
        }
    };
    say(0 < scan.n_values, Content::Counters, profiler.no_counters);
    say(0 < scan.n_samples, Content::Samples, profiler.no_samples);
    say(0 < scan.n_messages, Content::Messages, profiler.no_messages);
    say(0 < scan.n_collectives, Content::Collectives, profiler.no_collectives);
    say(has_streams, Content::AcceleratorStreams, profiler.no_kernels);
    say(0 < scan.n_links, Content::Links, profiler.no_links);
    lacking
}

/// Nsight Systems.
const NSIGHT: Profiler = Profiler {
    name: "Nsight Systems",
    no_counters: "no counters were recorded (nsys profile --gpu-metrics-devices=all, --cuda-memory-usage=true)",
    no_samples: "CPUs were not sampled (nsys profile --sample)",
    no_messages: "MPI was not traced, or sent nothing (nsys profile --trace=mpi)",
    no_collectives: "MPI was not traced, or ran no collectives (nsys profile --trace=mpi)",
    no_kernels: "no kernels were traced (nsys profile --trace=cuda)",
    no_links: "no kernels were traced (nsys profile --trace=cuda)",
};

impl ReportTables for Database {
    fn open(path: &Path) -> Result<Vec<Self>, ReadError> {
        Ok(vec![Database::open(path)?])
    }

    fn about(&self) -> Result<About, ReadError> {
        About::read(self)
    }

    fn first_time(&self) -> i64 {
        0
    }

    fn align(abouts: &[About], _: &[i64], notices: &mut Vec<Notice>) -> (Vec<i64>, Option<i64>) {
        align(abouts, notices)
    }

    fn take(&self, report: usize, offset_ns: i64, into: &mut ScannedReports) -> Result<(), ReadError> {
        into.take(self, report, offset_ns)
    }
}
