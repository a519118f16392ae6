//! What `hpcrun` writes while a program runs: `.hpctrace` (samples) and `.hpcrun` (the call paths they name).
//!
//! Both are big-endian. A trace begins with a header that says how samples are written; a
//! profile of version 4 ends with a table of its sections. Older databases keep the traces,
//! each in its file or all in one (`experiment.mt`, [`merged_lines`]).
//! The values of a profile are not read, only its tree of call paths.

use crate::source::Source;
use crate::trace::{SampleLayout, TimeField};
use crate::{Line, ReadError, ReadErrorKind};
use std::io::{Read, Seek};
use std::sync::Arc;

const TRACE_MAGIC: &[u8; 18] = b"HPCRUN-trace______";
const PROFILE_MAGIC: &[u8; 18] = b"HPCRUN-profile____";
/// Magic, version, byte order.
const HEAD_BYTES: usize = 24;
/// The footer of a profile: six sections by start and end, its own start, `HPCRUNsm`.
const FOOTER_BYTES: u64 = 112;
const FOOTER_MAGIC: &[u8; 8] = b"HPCRUNsm";
/// Bytes of a node of the tree of call paths.
const NODE_BYTES: usize = 19;

/// Flags of a trace.
const HAS_METRIC: u64 = 1;
const HAS_LCA: u64 = 2;

/// Bounds that give the unit of times by their size: nanoseconds since 1970 are larger from 1973 on, microseconds
/// smaller until the year 5138.
const LEAST_NS: u64 = 100_000_000_000_000_000;
/// Microseconds since 1970 of the years 2001 to 2096.
const US_OF_THIS_CENTURY: std::ops::Range<u64> = 1_000_000_000_000_000..4_000_000_000_000_000;

/// Whether a file begins as a trace or a profile does.
pub fn is_measurement(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(TRACE_MAGIC) || first_bytes.starts_with(PROFILE_MAGIC)
}

/// The samples of the trace at `start..end` of a file.
///
/// # Errors
/// If there is no trace, or one that is not big-endian.
pub fn trace_line<R: Read + Seek>(
    file: &Arc<str>,
    from: R,
    start: u64,
    end: Option<u64>,
) -> Result<Line, ReadError> {
    let mut source = Source::new(Arc::clone(file), from)?;
    line_at(&mut source, start, end)
}

fn line_at<R: Read + Seek>(source: &mut Source<R>, start: u64, end: Option<u64>) -> Result<Line, ReadError> {
    let end = end.unwrap_or(source.n_bytes).min(source.n_bytes);
    let mut head = Vec::new();
    source.read(start, HEAD_BYTES as u64, "header of a trace", &mut head)?;
    if !head.starts_with(TRACE_MAGIC) {
        let expected = String::from_utf8_lossy(TRACE_MAGIC).into_owned();
        let kind = ReadErrorKind::Magic { expected };
        return Err(ReadError { file: Arc::clone(&source.file), offset: start, kind });
    }
    if head[23] != b'b' {
        return Err(source.broken(start + 23, format!("byte order {:?} is not \"b\"", char::from(head[23]))));
    }
    let has_flags = b"01.00" != &head[18..23];
    let mut at = start + HEAD_BYTES as u64;
    let mut flags = 0;
    let mut bytes = Vec::new();
    if has_flags {
        source.read(at, 8, "flags of a trace", &mut bytes)?;
        flags = be_u64(&bytes, 0).expect("eight bytes were read");
        at += 8;
    }
    let has_metric = flags & HAS_METRIC != 0;
    let n_bytes = SampleLayout::Measurement { has_metric, time: TimeField::Nanoseconds }.n_bytes();
    let n_samples = end.saturating_sub(at) / n_bytes;
    let rest_bytes = end.saturating_sub(at) % n_bytes;
    let mut first = None;
    if 0 < n_samples {
        source.read(at, 8, "first sample", &mut bytes)?;
        first = be_u64(&bytes, 0);
    }
    let time = match first {
        Some(first) if flags & HAS_LCA != 0 && US_OF_THIS_CENTURY.contains(&(first & ((1 << 54) - 1))) => {
            TimeField::MicrosecondsAndLca
        }
        Some(first) if first < LEAST_NS => TimeField::Microseconds,
        _ => TimeField::Nanoseconds,
    };
    let layout = SampleLayout::Measurement { has_metric, time };
    let n_written = n_written(source, at, n_samples, n_bytes)?;
    Ok(Line {
        profile: 0,
        start: at,
        n_samples: n_written,
        rest_bytes,
        n_unwritten: n_samples - n_written,
        layout,
    })
}

/// Number of samples before those that are zeros up to the end, by bisection: no sample is of the year 1970, and a
/// file may claim more of them than can be read in a day.
fn n_written<R: Read + Seek>(
    source: &mut Source<R>,
    start: u64,
    n_samples: u64,
    n_bytes: u64,
) -> Result<u64, ReadError> {
    let mut bytes = Vec::new();
    let (mut low, mut high) = (0, n_samples);
    // The last one first: in a whole file it says that there are none.
    let mut at = n_samples.saturating_sub(1);
    while low < high {
        source.read(start + at * n_bytes, n_bytes, "sample", &mut bytes)?;
        if bytes.iter().all(|&byte| byte == 0) {
            high = at;
        } else {
            low = at + 1;
        }
        at = low + (high - low) / 2;
    }
    Ok(low)
}

/// A trace among others in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergedLine {
    /// Number of the process; its rank if [`Merged::has_ranks`].
    pub process: u32,
    /// Number of the thread.
    pub thread: u32,
    /// Its samples.
    pub line: Line,
}

/// The traces of an `experiment.mt`.
#[derive(Debug, Clone)]
pub struct Merged {
    /// Whether processes are ranks of MPI.
    pub has_ranks: bool,
    /// The traces, in the order of the file.
    pub lines: Vec<MergedLine>,
    /// What was lost: traces that cannot be found.
    pub damages: Vec<crate::Damage>,
}

/// What an `experiment.mt` ends with.
const MERGED_END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0xde, 0xad, 0xf0, 0x0d];

/// Finds the traces of an `experiment.mt`.
///
/// # Errors
/// If the table of traces is not there.
pub fn merged_lines<R: Read + Seek>(file: &Arc<str>, from: R) -> Result<Merged, ReadError> {
    let mut source = Source::new(Arc::clone(file), from)?;
    let mut bytes = Vec::new();
    source.read(0, 8, "header", &mut bytes)?;
    let kind = be_u32(&bytes, 0).expect("eight bytes were read");
    let n = u64::from(be_u32(&bytes, 4).expect("eight bytes were read"));
    source.read(8, n * 16, "table of traces", &mut bytes)?;
    let entry = |entry: &[u8]| Some((be_u32(entry, 0)?, be_u32(entry, 4)?, be_u64(entry, 8)?));
    let entries: Vec<(u32, u32, u64)> = bytes.chunks_exact(16).filter_map(entry).collect();
    let mut starts: Vec<u64> = entries.iter().map(|entry| entry.2).collect();
    starts.sort_unstable();
    // The last trace ends before the marker, if the file is whole.
    let at = source.n_bytes.saturating_sub(MERGED_END.len() as u64);
    source.read(at, source.n_bytes - at, "end of the file", &mut bytes)?;
    let is_whole = bytes == MERGED_END;
    let last = if is_whole { at } else { source.n_bytes };
    let mut merged = Merged { has_ranks: kind & 1 == 1, lines: Vec::new(), damages: Vec::new() };
    if !is_whole {
        merged.damages.push(crate::Damage {
            file: Arc::clone(&source.file),
            offset: source.n_bytes,
            reason: "the file was truncated: its end marker is missing".to_owned(),
            count: 1,
        });
    }
    for (process, thread, start) in entries {
        let next = starts.partition_point(|&other| other <= start);
        let end = starts.get(next).copied().unwrap_or(last);
        match line_at(&mut source, start, Some(end)) {
            Ok(line) => merged.lines.push(MergedLine { process, thread, line }),
            Err(error) => merged.damages.push(crate::Damage {
                file: error.file,
                offset: error.offset,
                reason: format!("the trace of process {process}, thread {thread} is lost: {}", error.kind),
                count: 1,
            }),
        }
    }
    Ok(merged)
}

/// A node of the tree of call paths of one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The number by which samples name it.
    pub id: u32,
    /// The number of its caller; that of no node at the root.
    pub parent: u32,
    /// The module by its number; 0 for placeholders, see [`Node::placeholder`].
    pub module: u16,
    /// The place in the module.
    pub offset: u64,
}

impl Node {
    /// The text of a placeholder, e.g. `NoActvty`.
    pub fn placeholder(&self) -> Option<String> {
        let text = self.offset.to_be_bytes();
        let is_text = self.module == 0 && text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
        is_text.then(|| String::from_utf8_lossy(&text).trim_matches([' ', '|', '^']).to_owned())
    }
}

/// What of an `.hpcrun` is needed to understand its trace.
#[derive(Debug, Clone, Default)]
pub struct Measurement {
    /// Pairs of name and value, e.g. `mpi-rank` and `0`.
    pub properties: Vec<(String, String)>,
    /// Number and path of each module.
    pub modules: Vec<(u16, String)>,
    /// Name and period of each metric.
    pub metrics: Vec<(String, u64)>,
    /// The tree of call paths, in the order of the file.
    pub nodes: Vec<Node>,
}

impl Measurement {
    /// Reads a profile of version 4.
    ///
    /// # Errors
    /// If it is none, or its sections are broken.
    pub fn read<R: Read + Seek>(file: &Arc<str>, from: R) -> Result<Measurement, ReadError> {
        let mut source = Source::new(Arc::clone(file), from)?;
        let head = source.beginning(HEAD_BYTES as u64)?;
        if !head.starts_with(PROFILE_MAGIC) {
            let expected = String::from_utf8_lossy(PROFILE_MAGIC).into_owned();
            return Err(ReadError::of_file(file, ReadErrorKind::Magic { expected }));
        }
        if !head[18..].starts_with(b"04.") {
            let version = String::from_utf8_lossy(head.get(18..23).unwrap_or_default()).into_owned();
            return Err(source.broken(18, format!("version {version} is not read (only 04.xx is)")));
        }
        let at = source.n_bytes.saturating_sub(FOOTER_BYTES);
        let mut footer = Vec::new();
        source.read(at, FOOTER_BYTES, "footer", &mut footer)?;
        if !footer.ends_with(FOOTER_MAGIC) {
            return Err(source.broken(at, "no footer: the file was truncated or is still being written"));
        }
        let mut section = |i: usize| -> Result<Fields, ReadError> {
            let bound = |k: usize| be_u64(&footer, 8 * k).expect("the footer has fourteen words");
            let (start, end) = (bound(2 * i), bound(2 * i + 1));
            let mut bytes = Vec::new();
            source.read(start, end.saturating_sub(start), "section", &mut bytes)?;
            Ok(Fields { file: Arc::clone(&source.file), base: start, bytes, next: 0 })
        };
        let mut properties = section(0)?;
        properties.next = HEAD_BYTES;
        Ok(Measurement {
            properties: read_properties(&mut properties)?,
            modules: read_modules(&mut section(1)?)?,
            nodes: read_nodes(&mut section(2)?)?,
            metrics: read_metrics(&mut section(3)?)?,
        })
    }
}

fn read_properties(fields: &mut Fields) -> Result<Vec<(String, String)>, ReadError> {
    let n = fields.u32()?;
    (0..n).map(|_| Ok((fields.text()?, fields.text()?))).collect()
}

fn read_modules(fields: &mut Fields) -> Result<Vec<(u16, String)>, ReadError> {
    let n = fields.u32()?;
    let module = |_| {
        let module = (fields.u16()?, fields.text()?);
        fields.u64()?;
        Ok(module)
    };
    (0..n).map(module).collect()
}

fn read_nodes(fields: &mut Fields) -> Result<Vec<Node>, ReadError> {
    let n = fields.u64()?;
    if fields.left() as u64 / (NODE_BYTES as u64) < n {
        return Err(fields.broken(format!("{n} call paths in {} bytes", fields.left())));
    }
    let node = |_| {
        let (id, parent) = (fields.u32()?, fields.u32()?);
        let (module, offset) = (fields.u16()?, fields.u64()?);
        fields.take(1)?;
        Ok(Node { id, parent, module, offset })
    };
    (0..n).map(node).collect()
}

fn read_metrics(fields: &mut Fields) -> Result<Vec<(String, u64)>, ReadError> {
    let n = fields.u32()?;
    let metric = |_| {
        let name = fields.text()?;
        // Description, and flags of 16 bytes.
        fields.text()?;
        fields.take(16)?;
        let period = fields.u64()?;
        // Formula and format; is_frequency, multiplexed, mean threshold, number of samples.
        fields.text()?;
        fields.text()?;
        fields.take(2 + 2 + 8 + 8)?;
        Ok((name, period))
    };
    (0..n).map(metric).collect()
}

/// Takes one field after the other; a count never leads to more memory than there are bytes.
struct Fields {
    file: Arc<str>,
    base: u64,
    bytes: Vec<u8>,
    next: usize,
}

impl Fields {
    fn left(&self) -> usize {
        self.bytes.len() - self.next
    }

    fn broken(&self, reason: impl Into<String>) -> ReadError {
        let offset = self.base + self.next as u64;
        ReadError { file: Arc::clone(&self.file), offset, kind: ReadErrorKind::Broken(reason.into()) }
    }

    fn take(&mut self, n: usize) -> Result<&[u8], ReadError> {
        let end = self.next.checked_add(n).filter(|&end| end <= self.bytes.len());
        let Some(end) = end else { return Err(self.broken("a section ends within a field")) };
        let taken = &self.bytes[self.next..end];
        self.next = end;
        Ok(taken)
    }

    fn u16(&mut self) -> Result<u16, ReadError> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Result<u32, ReadError> {
        self.take(4).map(|bytes| be_u32(bytes, 0).expect("four bytes"))
    }

    fn u64(&mut self) -> Result<u64, ReadError> {
        self.take(8).map(|bytes| be_u64(bytes, 0).expect("eight bytes"))
    }

    fn text(&mut self) -> Result<String, ReadError> {
        let n = self.u32()?;
        self.take(n as usize).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }
}

fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn be_u64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
