//! The samples of each thread and stream over time: `trace.db`, and the lines of all traces.
//!
//! A sample is a time and the number of a context, packed in the order of time, so that any
//! moment is found by bisection. Databases and measurements write it differently
//! ([`SampleLayout`]); a reader of lines ([`Lines`]) reads both.

use crate::bytes::Bytes;
use crate::header::{FileHeader, FileKind, Version, check_footer};
use crate::source::Source;
use crate::{Damage, ReadError};
use std::io::{Read, Seek};
use std::sync::Arc;

/// Bytes of a sample.
const SAMPLE_BYTES: u64 = 12;
/// Smallest size of a line's header, of version 4.0.
const LINE_BYTES: u64 = 24;
/// Samples read at once: 48 KiB, which leave room for the columns made of them in a second-level cache.
const WINDOW_SAMPLES: u64 = 4096;

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceSample {
    /// Nanoseconds since 1970-01-01 UTC.
    pub time_ns: u64,
    /// The context by its number; in `trace.db` 0 if nothing ran.
    pub context: u32,
    /// Calls from the innermost frame of the sample before up to the innermost frame that stayed, where recorded.
    pub lca_distance: Option<u32>,
}

/// How samples are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SampleLayout {
    /// `trace.db`: little-endian; nanoseconds, context.
    #[default]
    Database,
    /// `.hpctrace`: big-endian; time, context, perhaps a metric.
    Measurement {
        /// Whether the number of a metric follows each sample.
        has_metric: bool,
        /// What the time field holds.
        time: TimeField,
    },
}

/// What the time field of a measured sample holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeField {
    /// Nanoseconds since 1970.
    Nanoseconds,
    /// Microseconds since 1970.
    Microseconds,
    /// Microseconds in the low 54 bits, [`TraceSample::lca_distance`] in the others; all ones for none.
    MicrosecondsAndLca,
}

impl SampleLayout {
    /// Bytes of a sample.
    pub fn n_bytes(self) -> u64 {
        match self {
            SampleLayout::Measurement { has_metric: true, .. } => SAMPLE_BYTES + 4,
            _ => SAMPLE_BYTES,
        }
    }
}

/// Where the samples of one thread or stream lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Index of the profile that says whose they are.
    pub profile: u32,
    /// Offset of the first sample.
    pub start: u64,
    /// Number of samples; those that lie in the file.
    pub n_samples: u64,
    /// Bytes after the last of them that are no whole sample: the file was cut.
    pub rest_bytes: u64,
    /// Samples after the last of them that are zeros: room for them was made, and they were never written.
    pub n_unwritten: u64,
    /// How they are written.
    pub layout: SampleLayout,
}

impl Line {
    /// Bytes of the samples in the file.
    pub fn n_bytes(&self) -> u64 {
        self.n_samples * self.layout.n_bytes()
    }
}

/// What `trace.db` says before the samples.
#[derive(Debug, Clone)]
pub struct TraceDb {
    /// Version of the file.
    pub version: Version,
    /// Nanoseconds since 1970-01-01 UTC of the earliest sample, as the file declares it.
    pub min_time_ns: u64,
    /// The same of the latest sample.
    pub max_time_ns: u64,
    /// The lines, in the order of the file.
    pub lines: Vec<Line>,
    /// What was lost.
    pub damages: Vec<Damage>,
}

impl TraceDb {
    /// Reads header and lines.
    ///
    /// # Errors
    /// If it is not a `trace.db`, is of another major version, or the table of lines cannot be read.
    pub fn read<R: Read + Seek>(file: &Arc<str>, from: R) -> Result<TraceDb, ReadError> {
        let mut source = Source::new(Arc::clone(file), from)?;
        let beginning = source.beginning(FileKind::Trace.header_bytes())?;
        let header = FileHeader::read(source.view(0, &beginning), FileKind::Trace)?;
        let ending = source.ending()?;
        let mut damages = Vec::new();
        damages.extend(check_footer(file, FileKind::Trace, source.n_bytes, &ending));
        let what = "trace lines";
        let at = header.sections[0].offset;
        let mut bytes = Vec::new();
        source.read(at, 0x20, what, &mut bytes)?;
        let head = source.view(at, &bytes);
        let (table, n) = (head.u64(at, what)?, u64::from(head.u32(at + 8, what)?));
        let stride = u64::from(head.u8(at + 0xc, what)?);
        let (min_time_ns, max_time_ns) = (head.u64(at + 0x10, what)?, head.u64(at + 0x18, what)?);
        if 0 < n && stride < LINE_BYTES {
            let reason = format!("trace lines have {stride} bytes, but need at least {LINE_BYTES}");
            return Err(source.broken(at, reason));
        }
        source.read(table, n * stride, what, &mut bytes)?;
        let rows = source.view(table, &bytes);
        let mut lines = Vec::new();
        for at in rows.array_of(table, n, stride, what)? {
            lines.push(line(rows, at, source.n_bytes, &mut damages)?);
        }
        Ok(TraceDb { version: header.version, min_time_ns, max_time_ns, lines, damages })
    }
}

fn line(rows: Bytes<'_>, at: u64, file_bytes: u64, damages: &mut Vec<Damage>) -> Result<Line, ReadError> {
    let what = "trace line";
    let profile = rows.u32(at, what)?;
    let (start, end) = (rows.u64(at + 8, what)?, rows.u64(at + 0x10, what)?);
    let n_samples = end.saturating_sub(start) / SAMPLE_BYTES;
    let in_file = file_bytes.saturating_sub(start) / SAMPLE_BYTES;
    if end < start || in_file < n_samples {
        let lost = n_samples - n_samples.min(in_file);
        damages.push(Damage {
            file: Arc::clone(rows.file),
            offset: at,
            reason: match lost {
                0 => "a trace line ends before it begins".to_owned(),
                _ => format!("the file ends {lost} samples before the trace line does"),
            },
            count: 1,
        });
    }
    // Only where the file goes on: the end of a cut file is reported already.
    let rest_bytes = if n_samples <= in_file { end.saturating_sub(start) % SAMPLE_BYTES } else { 0 };
    let layout = SampleLayout::Database;
    Ok(Line { profile, start, n_samples: n_samples.min(in_file), rest_bytes, n_unwritten: 0, layout })
}

/// The samples of one line, window by window.
#[derive(Debug)]
pub struct Lines<R> {
    source: Source<R>,
    line: Line,
    /// Number of the next sample.
    next: u64,
    /// Samples before this one are read.
    end: u64,
    window: Vec<u8>,
}

impl<R: Read + Seek> Lines<R> {
    /// Reads `line` of the `trace.db` that `from` reads.
    ///
    /// # Errors
    /// If the file cannot be read at all.
    pub fn new(file: Arc<str>, from: R, line: Line) -> Result<Self, ReadError> {
        let source = Source::new(file, from)?;
        Ok(Lines { source, line, next: 0, end: line.n_samples, window: Vec::new() })
    }

    /// The file's name.
    pub fn file(&self) -> &Arc<str> {
        &self.source.file
    }

    /// Number of the sample that is read next.
    pub fn position(&self) -> u64 {
        self.next
    }

    /// Number of samples that [`Lines::read`] will still give.
    pub fn n_left(&self) -> u64 {
        self.end - self.next
    }

    /// Offset of the sample that is read next.
    pub fn offset(&self) -> u64 {
        self.line.start + self.next * self.line.layout.n_bytes()
    }

    /// Leaves out samples that only show what was before `start_ns` or after `end_ns`: of those before, the last one
    /// stays, as it holds until the next; of those from `end_ns` on, the first one stays.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn restrict(&mut self, start_ns: u64, end_ns: u64) -> Result<(), ReadError> {
        let first = self.first_not_before(start_ns.saturating_add(1))?;
        let end = self.first_not_before(end_ns)?;
        self.next = first.saturating_sub(1);
        self.end = end.saturating_add(1).min(self.line.n_samples).max(self.next);
        Ok(())
    }

    /// Number of the first sample that is not before `time_ns`, by bisection.
    fn first_not_before(&mut self, time_ns: u64) -> Result<u64, ReadError> {
        let (mut low, mut high) = (0, self.line.n_samples);
        let mut bytes = Vec::new();
        while low < high {
            let middle = low + (high - low) / 2;
            let n_bytes = self.line.layout.n_bytes();
            self.source.read(self.line.start + middle * n_bytes, n_bytes, "sample", &mut bytes)?;
            if sample(&bytes, self.line.layout).time_ns < time_ns {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Up to `max_samples` samples, none at the end.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(
        &mut self,
        max_samples: u64,
    ) -> Result<impl ExactSizeIterator<Item = TraceSample>, ReadError> {
        let n = self.n_left().min(max_samples).min(WINDOW_SAMPLES);
        let layout = self.line.layout;
        self.source.read(self.offset(), n * layout.n_bytes(), "samples", &mut self.window)?;
        self.next += n;
        let n_bytes = usize::try_from(layout.n_bytes()).expect("a sample has few bytes");
        Ok(self.window.chunks_exact(n_bytes).map(move |bytes| sample(bytes, layout)))
    }
}

#[inline]
fn sample(bytes: &[u8], layout: SampleLayout) -> TraceSample {
    let time: [u8; 8] = bytes[..8].try_into().expect("a sample has at least twelve bytes");
    let context: [u8; 4] = bytes[8..12].try_into().expect("a sample has at least twelve bytes");
    let SampleLayout::Measurement { time: field, .. } = layout else {
        let (time_ns, context) = (u64::from_le_bytes(time), u32::from_le_bytes(context));
        return TraceSample { time_ns, context, lca_distance: None };
    };
    let (time, context) = (u64::from_be_bytes(time), u32::from_be_bytes(context));
    match field {
        TimeField::Nanoseconds => TraceSample { time_ns: time, context, lca_distance: None },
        TimeField::Microseconds => {
            TraceSample { time_ns: time.saturating_mul(1000), context, lca_distance: None }
        }
        TimeField::MicrosecondsAndLca => {
            let distance = (time >> LCA_SHIFT) as u32;
            TraceSample {
                time_ns: (time & LCA_TIME_MASK) * 1000,
                context,
                lca_distance: Some(distance).filter(|&distance| distance != NO_LCA),
            }
        }
    }
}

/// The shift of the distance in a time field that has one.
const LCA_SHIFT: u32 = 54;
const LCA_TIME_MASK: u64 = (1 << LCA_SHIFT) - 1;
const NO_LCA: u32 = (1 << (64 - LCA_SHIFT)) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn read(bytes: &[u8], layout: SampleLayout) -> Vec<TraceSample> {
        let n_samples = bytes.len() as u64 / layout.n_bytes();
        let line = Line { profile: 0, start: 0, n_samples, rest_bytes: 0, n_unwritten: 0, layout };
        let mut lines = Lines::new(Arc::from("x"), Cursor::new(bytes), line).unwrap();
        lines.read(u64::MAX).unwrap().collect()
    }

    #[test]
    fn samples_are_read_as_each_tool_wrote_them() {
        let measured = |has_metric, time| SampleLayout::Measurement { has_metric, time };
        let big = |time: u64, rest: &[u8]| [&time.to_be_bytes(), rest].concat();
        let sample = |time_ns, lca_distance| TraceSample { time_ns, context: 7, lca_distance };
        let check = |bytes: &[u8], layout, expected| assert_eq!(read(bytes, layout), [expected]);
        let little = [&9_u64.to_le_bytes()[..], &[7, 0, 0, 0]].concat();
        check(&little, SampleLayout::Database, sample(9, None));
        check(&big(9, &[0, 0, 0, 7]), measured(false, TimeField::Nanoseconds), sample(9, None));
        check(
            &big(9, &[0, 0, 0, 7, 0, 0, 0, 1]),
            measured(true, TimeField::Microseconds),
            sample(9000, None),
        );
        let lca = measured(false, TimeField::MicrosecondsAndLca);
        check(&big((3 << 54) | 9, &[0, 0, 0, 7]), lca, sample(9000, Some(3)));
        check(&big((1023 << 54) | 9, &[0, 0, 0, 7]), lca, sample(9000, None));
    }

    #[test]
    fn a_range_keeps_the_sample_that_holds_at_its_start() {
        let times = [10_u64, 20, 20, 30, 40];
        let bytes: Vec<u8> = times.iter().flat_map(|t| [&t.to_le_bytes()[..], &[0; 4]].concat()).collect();
        let layout = SampleLayout::Database;
        let line = Line { profile: 0, start: 0, n_samples: 5, rest_bytes: 0, n_unwritten: 0, layout };
        for (start, end, first, n) in
            [(0, 5, 0, 1), (0, 10, 0, 1), (20, 21, 2, 2), (25, 100, 2, 3), (99, 100, 4, 1)]
        {
            let mut lines = Lines::new(Arc::from("x"), Cursor::new(&bytes), line).unwrap();
            lines.restrict(start, end).unwrap();
            assert_eq!((lines.position(), lines.n_left()), (first, n), "{start}..{end}");
        }
    }
}
