//! Whether all samples of a thread or stream are there.
//!
//! | sign | report |
//! |---|---|
//! | a rest of a sample after the last whole one | cut, sure: lost |
//! | zeros for the last samples | never written, sure: lost |
//! | a later time of the last sample, declared elsewhere | cut, sure: lost |
//! | it ends busy, long before others of its kind | perhaps cut: doubtful |
//!
//! A thread that ends, and a stream that has nothing more to do, leave a last sample by which nothing runs; main
//! threads do not. Those of one run end together but for their last steps, so "long before" is more than a tenth of the
//! run and ten periods of sampling. Law: a trace that was cut within a sample is lost data, never silent. Cuts without
//! a sign, of the only thread or of the last tenth, are not detected.

use super::contexts::NOTHING;
use super::source::LineFile;
use ouzel_hpcdb::{Line, TraceSample};
use ouzel_model::units::count;
use ouzel_model::{Definitions, Level, LocationId, LocationKind, Notice, NoticeCode};

/// Parts of the run that are a short time.
const SHORT: u64 = 10;
/// Periods of sampling that are a short time.
const PERIODS: u64 = 10;

/// First and last sample of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineEnds {
    pub first_ns: u64,
    pub last_ns: u64,
    /// Whether nothing runs at the last sample.
    pub is_idle: bool,
    /// Mean time between samples.
    pub period_ns: u64,
}

/// The ends of a line; `None` if it has no samples, or they cannot be read.
pub(super) fn ends(file: &LineFile) -> Option<LineEnds> {
    let at = |index: u64| -> Option<TraceSample> {
        let start = file.line.start + index * file.line.layout.n_bytes();
        let line = Line { start, n_samples: 1, ..file.line };
        LineFile { line, ..file.clone() }.open().ok()?.read(1).ok()?.next()
    };
    let n = file.line.n_samples;
    let (first, last) = (at(0).filter(|_| 0 < n)?, at(n.checked_sub(1)?)?);
    Some(LineEnds {
        first_ns: first.time_ns,
        last_ns: last.time_ns,
        is_idle: file.ids.get(last.context) == NOTHING,
        period_ns: last.time_ns.saturating_sub(first.time_ns) / n.saturating_sub(1).max(1),
    })
}

/// Notices about lines that end early. `ends` and `declared_last_ns` go with `lines`, which go with the locations.
pub(super) fn notices(
    definitions: &Definitions,
    lines: &[LineFile],
    ends: &[Option<LineEnds>],
    declared_last_ns: &[Option<u64>],
) -> Vec<Notice> {
    let mut notices = Vec::new();
    let kind = |i: usize| definitions.location(LocationId::from_index(i)).kind;
    let latest = |of: LocationKind| {
        let same = ends.iter().enumerate().filter(|(i, _)| kind(*i) == of);
        same.filter_map(|(_, ends)| ends.as_ref()).map(|ends| ends.last_ns).max()
    };
    let all = || ends.iter().flatten();
    let first_ns = all().map(|ends| ends.first_ns).min().unwrap_or(0);
    let run_ns = all().map(|ends| ends.last_ns).max().unwrap_or(0).saturating_sub(first_ns);
    let latest = [LocationKind::CpuThread, LocationKind::AcceleratorStream].map(|of| (of, latest(of)));
    for (i, file) in lines.iter().enumerate() {
        let name = &file.file.name;
        let end = file.line.start + file.line.n_bytes();
        let mut say = |level, code, message: String| {
            let notice = Notice::new(level, code, message).in_file(name.clone()).at(end);
            notices.push(notice.on(LocationId::from_index(i)));
        };
        if 0 < file.line.rest_bytes {
            let message = format!(
                "the trace was truncated: it ends with {} of the {} bytes of a sample",
                file.line.rest_bytes,
                file.line.layout.n_bytes()
            );
            say(Level::High, NoticeCode::DamagedEvents, message);
            continue;
        }
        if 0 < file.line.n_unwritten {
            let n = count(file.line.n_unwritten);
            let message =
                format!("the trace was cut: its last {n} samples are zeros, they were never written");
            say(Level::High, NoticeCode::DamagedEvents, message);
            continue;
        }
        let last_ns = ends[i].map(|ends| ends.last_ns);
        if let Some(declared) = declared_last_ns[i].filter(|&declared| last_ns.unwrap_or(0) < declared) {
            let missing = declared - last_ns.unwrap_or(first_ns).min(declared);
            let message =
                format!("the trace was truncated: its last samples, {}, are missing", span(missing));
            say(Level::High, NoticeCode::DamagedEvents, message);
            continue;
        }
        let of_kind = latest.iter().find(|(of, _)| *of == kind(i)).and_then(|(_, latest)| *latest);
        let (Some(LineEnds { is_idle: false, last_ns, period_ns, .. }), Some(latest)) = (ends[i], of_kind)
        else {
            continue;
        };
        let early = latest.saturating_sub(last_ns);
        if run_ns / SHORT < early && PERIODS * period_ns < early {
            let message = format!(
                "the trace ends while busy, {} before others: it may have been truncated",
                span(early)
            );
            say(Level::Medium, NoticeCode::DamagedEvents, message);
        }
    }
    notices
}

/// A time in words.
fn span(ns: u64) -> String {
    let (whole, unit) = match ns {
        0..1_000_000 => return format!("{ns} ns"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    format!("{whole:.3} {unit}")
}
