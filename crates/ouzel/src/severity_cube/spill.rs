//! Severities that are too many for memory: rows in a temporary file.
//!
//! ```text
//! part: metric ► row of a call path ► (location u32, value u64), 12 bytes each, little-endian
//! ```
//!
//! Parts follow each other in the file, each with rows by metric and call path, ascending. A row of the profile is put
//! together from those of its parts, which are read in blocks, from the last to the first, at their positions. Memory
//! holds only where rows begin: 16 bytes for each row of a part. The file is not mapped: that is `unsafe` in Rust, as
//! the file may change, and reading blocks ahead is as fast. The file has no name; it is deleted with the profile.

use ouzel_analyses::severity_cube::{
    CubeMetric, CubeParts, Quantity, SeverityCubeOutput, fill, notices_of, profile_definitions, quantities,
};
use ouzel_model::{
    CallPathId, CallPathTree, Clock, Definitions, LocationId, MetricId, Notice, ProfileDefinitions,
    ProfileSource, ReadError, SeverityRow, SeverityRows,
};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a value in the file.
const ENTRY_BYTES: usize = 12;

/// Rows are read in blocks of this many bytes, or one row where that is more; as for a `.cubex`.
const BLOCK_BYTES: u64 = 1 << 18;

/// The name of the file in errors: it has none of its own.
const FILE: &str = "temporary file of severities";

/// The file while it is being written.
pub(super) struct Spill {
    out: BufWriter<File>,
    n_bytes: u64,
    max_bytes: u64,
    parts: Vec<SpillPart>,
    counters: BTreeSet<MetricId>,
    has_outside: bool,
}

struct SpillPart {
    call_paths: CallPathTree,
    locations: Vec<LocationId>,
    metrics: Vec<(Quantity, PartRows)>,
}

/// The rows of a metric in a part.
struct PartRows {
    /// The rows that have values: call path, and offset of the first value. Ascending.
    rows: Vec<(CallPathId, u64)>,
    /// Offset of the end of the last row.
    end: u64,
}

impl Spill {
    pub(super) fn new(folder: Option<&Path>, max_bytes: u64) -> io::Result<Self> {
        let file = match folder {
            Some(folder) => tempfile::tempfile_in(folder)?,
            None => tempfile::tempfile()?,
        };
        let out = BufWriter::with_capacity(1 << 20, file);
        let (parts, counters) = (Vec::new(), BTreeSet::new());
        Ok(Spill { out, n_bytes: 0, max_bytes, parts, counters, has_outside: false })
    }

    /// Writes a part.
    pub(super) fn add(&mut self, output: SeverityCubeOutput) -> io::Result<()> {
        self.has_outside |= output.has_outside();
        let SeverityCubeOutput { call_paths, locations, metrics, mut counters } = output;
        self.counters.append(&mut counters);
        let mut of_metrics = Vec::with_capacity(metrics.len());
        for metric in metrics {
            let Some(quantity) = metric.quantity else { continue };
            of_metrics.push((quantity, self.add_rows(&metric, call_paths.len())?));
        }
        self.parts.push(SpillPart { call_paths, locations, metrics: of_metrics });
        Ok(())
    }

    fn add_rows(&mut self, metric: &CubeMetric, n_paths: usize) -> io::Result<PartRows> {
        let mut rows = Vec::new();
        for path in (0..n_paths).map(CallPathId::from_index) {
            let row = metric.row(path);
            if row.is_empty() {
                continue;
            }
            rows.push((path, self.n_bytes));
            self.n_bytes += (ENTRY_BYTES * row.len()) as u64;
            if self.max_bytes < self.n_bytes {
                let limit = self.max_bytes;
                return Err(io::Error::other(format!(
                    "severities take more than the {limit} bytes allowed for their temporary file: select \
                     ranks, a time or regions"
                )));
            }
            for (location, value) in metric.locations[row.clone()].iter().zip(&metric.values[row]) {
                self.out.write_all(&location.to_le_bytes())?;
                self.out.write_all(&value.to_le_bytes())?;
            }
        }
        Ok(PartRows { rows, end: self.n_bytes })
    }

    /// The profile of a trace with these definitions; `notices` are those of the pass, about locations of the trace.
    pub(super) fn into_profile(
        self,
        definitions: &Definitions,
        notices: Vec<Notice>,
    ) -> io::Result<SpilledProfile> {
        let Spill { out, parts, counters, has_outside, .. } = self;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let mut call_paths = CallPathTree::default();
        let absorbed: Vec<_> = parts.iter().map(|part| call_paths.absorb(&part.call_paths)).collect();
        let (call_paths, canonical) = call_paths.into_canonical();
        let mut locations: Vec<LocationId> = parts.iter().flat_map(|part| part.locations.clone()).collect();
        locations.sort_unstable();
        locations.dedup();
        let counted =
            parts.iter().flat_map(|part| part.metrics.iter().map(|(quantity, _)| *quantity)).collect();
        let quantities = quantities(&counted, &counters);
        let of = CubeParts {
            call_paths: &call_paths,
            locations: &locations,
            quantities: &quantities,
            has_outside,
        };
        let (profile, path_of) = profile_definitions(definitions, of);
        let parts = parts.into_iter().zip(absorbed).map(|(part, absorbed)| {
            let new_path = |old: CallPathId| path_of[canonical.path(absorbed.path(old)).index()];
            let new_location = |old: &LocationId| {
                let at = locations.binary_search(old).expect("the locations of all parts are there");
                LocationId::from_index(at)
            };
            let mut metrics: Vec<Option<PartRows>> = quantities.iter().map(|_| None).collect();
            for (quantity, PartRows { rows, end }) in part.metrics {
                let Ok(at) = quantities.binary_search(&quantity) else { continue };
                // A row outside all calls has a path of the profile if there is any.
                let rows = rows.into_iter().filter_map(|(path, start)| Some((new_path(path)?, start)));
                metrics[at] = Some(PartRows { rows: rows.collect(), end });
            }
            ProfilePart { locations: part.locations.iter().map(new_location).collect(), metrics }
        });
        Ok(SpilledProfile {
            parts: parts.collect(),
            definitions: profile,
            quantities,
            file,
            clock: definitions.clock,
            notices: notices_of(&locations, notices),
        })
    }
}

/// A profile whose severities are in a file.
pub(super) struct SpilledProfile {
    definitions: ProfileDefinitions,
    /// One for each metric.
    quantities: Vec<Quantity>,
    file: File,
    parts: Vec<ProfilePart>,
    clock: Clock,
    notices: Vec<Notice>,
}

struct ProfilePart {
    /// The locations that entries name by their positions here.
    locations: Vec<LocationId>,
    /// By metric of the profile.
    metrics: Vec<Option<PartRows>>,
}

impl ProfileSource for SpilledProfile {
    fn definitions(&self) -> &ProfileDefinitions {
        &self.definitions
    }

    fn notices(&self) -> &[Notice] {
        &self.notices
    }

    fn severity_bytes(&self, metric: MetricId) -> u64 {
        let of_part = |part: &ProfilePart| {
            let rows = part.metrics[metric.index()].as_ref()?;
            Some(rows.end - rows.rows.first()?.1)
        };
        self.parts.iter().filter_map(of_part).sum()
    }

    fn open(
        &self,
        metric: MetricId,
        paths: Range<CallPathId>,
    ) -> Result<Box<dyn SeverityRows + '_>, ReadError> {
        let streams = self.parts.iter().filter_map(|part| {
            let of_part = part.metrics[metric.index()].as_ref()?;
            let position = |path: CallPathId| of_part.rows.partition_point(|(at, _)| *at < path);
            let (first, next) = (position(paths.start), position(paths.end));
            let block = SpillBlock { file: &self.file, bytes: Vec::new(), start: 0 };
            Some(PartStream { locations: &part.locations, rows: of_part, first, next, block })
        });
        let quantity = self.quantities[metric.index()];
        Ok(Box::new(SpilledRows { profile: self, quantity, streams: streams.collect(), entries: Vec::new() }))
    }
}

/// Rows of one metric over all parts.
struct SpilledRows<'a> {
    profile: &'a SpilledProfile,
    quantity: Quantity,
    streams: Vec<PartStream<'a>>,
    entries: Vec<(LocationId, u64)>,
}

impl SeverityRows for SpilledRows<'_> {
    fn read(&mut self, row: &mut SeverityRow) -> Result<bool, ReadError> {
        let Some(path) = self.streams.iter().filter_map(PartStream::path).max() else { return Ok(false) };
        self.entries.clear();
        for stream in self.streams.iter_mut().filter(|stream| stream.path() == Some(path)) {
            stream.read(&mut self.entries)?;
        }
        // A location is in one part; parts are not in the order of locations.
        if !self.entries.is_sorted() {
            self.entries.sort_unstable();
        }
        let n_locations = self.profile.definitions.locations.len();
        let (locations, values) =
            (self.entries.iter().map(|(id, _)| *id), self.entries.iter().map(|(_, value)| *value));
        row.path = path;
        fill(row, self.quantity, n_locations, &self.profile.clock, locations, values);
        Ok(true)
    }

    fn notices(&mut self) -> Vec<Notice> {
        Vec::new()
    }
}

/// Rows of one metric in one part, from the last to the first.
struct PartStream<'a> {
    locations: &'a [LocationId],
    rows: &'a PartRows,
    first: usize,
    next: usize,
    block: SpillBlock<'a>,
}

impl PartStream<'_> {
    /// The call path of the next row.
    fn path(&self) -> Option<CallPathId> {
        (self.first < self.next).then(|| self.rows.rows[self.next - 1].0)
    }

    /// Adds the entries of the next row.
    fn read(&mut self, entries: &mut Vec<(LocationId, u64)>) -> Result<(), ReadError> {
        let at = self.next - 1;
        let end = self.rows.rows.get(self.next).map_or(self.rows.end, |(_, start)| *start);
        let least = self.rows.rows[self.first].1;
        let bytes = self.block.get(self.rows.rows[at].1..end, least)?;
        self.next = at;
        for entry in bytes.chunks_exact(ENTRY_BYTES) {
            let (location, value) = entry.split_at(4);
            let location = u32::from_le_bytes(location.try_into().expect("an entry begins with 4 bytes"));
            let value = u64::from_le_bytes(value.try_into().expect("an entry ends with 8 bytes"));
            entries.push((self.locations[location as usize], value));
        }
        Ok(())
    }
}

/// The part of the file that was read last.
struct SpillBlock<'a> {
    file: &'a File,
    bytes: Vec<u8>,
    start: u64,
}

impl SpillBlock<'_> {
    /// Bytes of the file; also reads the bytes before them, down to `least`.
    fn get(&mut self, range: Range<u64>, least: u64) -> Result<&[u8], ReadError> {
        let is_there = self.start <= range.start && range.end <= self.start + self.bytes.len() as u64;
        if !is_there {
            let first = range.end.saturating_sub(BLOCK_BYTES.max(range.end - range.start)).max(least);
            self.bytes.resize((range.end - first) as usize, 0);
            self.start = first;
            let failed = |error: io::Error| ReadError {
                file: Arc::from(FILE),
                offset: first,
                record: 0,
                reason: error.to_string(),
            };
            read_exact_at(self.file, &mut self.bytes, first).map_err(failed)?;
        }
        let at = (range.start - self.start) as usize;
        Ok(&self.bytes[at..at + (range.end - range.start) as usize])
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let n = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes = &mut bytes[n..];
        offset += n as u64;
    }
    Ok(())
}
