//! The stored rows of one metric.
//!
//! The index lists which call paths have a row, and the byte order of both files. The data
//! are rows of one size, plain or each compressed alone. A row that cannot be read is lost
//! alone; the rows after the end of a cut file are known to be lost from the start.

use crate::tar::TarMember;
use crate::{CubeError, inflate};
use rustc_hash::FxHashMap;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// Plain rows are read in blocks of so many bytes, or one row where that is more. They stay in the second cache until
/// they are used: blocks of 1 MiB took 30 % longer; of 64 KiB, calls to the system count.
const BLOCK_BYTES: u64 = 1 << 18;

const INDEX_MAGIC: &[u8] = b"CUBEX.INDEX";
const DATA_MAGIC: &[u8] = b"CUBEX.DATA";
const COMPRESSED_MAGIC: &[u8] = b"ZCUBEX.DATA";

/// Bytes of an entry of the table of compressed rows: where it begins unpacked, where packed, and its packed size.
const ENTRY_BYTES: usize = 24;

/// Reads rows of one metric in any order.
pub struct MetricRows<R> {
    input: R,
    file: Arc<str>,
    data: TarMember,
    row_bytes: u64,
    is_little_endian: bool,
    /// Number of the row of each tree index that has one.
    rows: FxHashMap<u32, u32>,
    storage: Storage,
    block: Vec<u8>,
    block_start: u64,
    damage: Vec<(CubeError, u64)>,
}

enum Storage {
    /// Rows one after another from this offset.
    Plain(u64),
    /// For each row, offset and size of its stream; size 0: not there.
    Compressed(Vec<(u64, u64)>),
}

impl<R> std::fmt::Debug for MetricRows<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MetricRows").field("file", &self.file).finish_non_exhaustive()
    }
}

impl<R: Read + Seek> MetricRows<R> {
    /// Reads the index.
    ///
    /// # Errors
    /// If index or data have no valid head.
    pub(crate) fn open(
        mut input: R,
        file: Arc<str>,
        index: TarMember,
        data: TarMember,
        (n_paths, row_bytes): (usize, u64),
    ) -> Result<Self, CubeError> {
        let (is_little_endian, row_ids) = read_index(&mut input, &file, index, n_paths)?;
        let mut rows = MetricRows {
            input,
            file,
            data,
            row_bytes,
            is_little_endian,
            rows: FxHashMap::default(),
            storage: Storage::Plain(0),
            block: Vec::new(),
            block_start: 0,
            damage: Vec::new(),
        };
        rows.open_data()?;
        rows.keep_rows(&row_ids, index, n_paths);
        Ok(rows)
    }

    fn open_data(&mut self) -> Result<(), CubeError> {
        let head = self.read_at(0, self.data.n_bytes.min(COMPRESSED_MAGIC.len() as u64 + 8))?;
        if head.starts_with(DATA_MAGIC) {
            self.storage = Storage::Plain(DATA_MAGIC.len() as u64);
            return Ok(());
        }
        let Some(n) = head.strip_prefix(COMPRESSED_MAGIC).and_then(|rest| rest.try_into().ok()) else {
            return Err(CubeError::new(&self.file, self.data.offset, "the data of a metric have no header"));
        };
        let n_entries = self.u64_from(n);
        let table = COMPRESSED_MAGIC.len() as u64 + 8;
        let n_bytes = n_entries.checked_mul(ENTRY_BYTES as u64).filter(|&n| n <= self.data.n_bytes - table);
        let Some(n_bytes) = n_bytes else {
            let reason = format!("{n_entries} compressed rows are declared, more than there is room for");
            return Err(CubeError::new(&self.file, self.data.offset + table, reason));
        };
        let bytes = self.read_at(table, n_bytes)?;
        let start = table + n_bytes;
        let n_entries = bytes.len() / ENTRY_BYTES;
        let mut streams = Vec::new();
        if streams.try_reserve_exact(n_entries).is_err() {
            return Err(no_memory(&self.file, self.data.offset + table, n_bytes));
        }
        streams.resize(n_entries, (0, 0));
        for entry in bytes.chunks_exact(ENTRY_BYTES) {
            let field = |i: usize| self.u64_from(entry[8 * i..8 * i + 8].try_into().expect("eight bytes"));
            let (unpacked, packed, n_bytes) = (field(0), field(1), field(2));
            let row = unpacked.checked_div(self.row_bytes).filter(|row| row * self.row_bytes == unpacked);
            let end = start.checked_add(packed).and_then(|at| at.checked_add(n_bytes));
            let slot = row.and_then(|row| streams.get_mut(usize::try_from(row).ok()?));
            match slot.zip(end) {
                Some((slot, end)) if end <= self.data.n_bytes => *slot = (start + packed, n_bytes),
                _ if n_bytes == 0 => {}
                _ => self.damage.push((
                    CubeError::new(
                        &self.file,
                        self.data.offset + table,
                        "a compressed row lies outside its file",
                    ),
                    1,
                )),
            }
        }
        self.storage = Storage::Compressed(streams);
        Ok(())
    }

    /// Notes which row each tree index has, as far as the data reach.
    fn keep_rows(&mut self, row_ids: &[u32], index: TarMember, n_paths: usize) {
        let n_stored = match &self.storage {
            Storage::Plain(start) => (self.data.n_bytes - start).checked_div(self.row_bytes).unwrap_or(0),
            Storage::Compressed(streams) => streams.len() as u64,
        };
        let mut n_lost = 0;
        let mut n_bad = 0;
        let n_rows = row_ids.len();
        // The index counts its rows in 32 bits.
        for (row, &id) in (0_u32..).zip(row_ids) {
            if id as usize >= n_paths || self.rows.contains_key(&id) {
                n_bad += 1;
            } else if u64::from(row) >= n_stored {
                n_lost += 1;
            } else {
                self.rows.insert(id, row);
            }
        }
        if n_lost > 0 {
            let at = self.data.offset + self.data.n_bytes;
            let reason = format!("the data of a metric end before its {n_rows} rows do");
            self.damage.push((CubeError::new(&self.file, at, reason), n_lost));
        }
        if n_bad > 0 {
            let reason = "an index names missing call paths, or one call path twice";
            self.damage.push((CubeError::new(&self.file, index.offset, reason), n_bad));
        }
    }

    /// Whether numbers of the rows are little-endian.
    pub fn is_little_endian(&self) -> bool {
        self.is_little_endian
    }

    /// Number of rows that can be read.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// What is lost, with the number of rows; emptied by the call.
    pub fn take_damage(&mut self) -> Vec<(CubeError, u64)> {
        std::mem::take(&mut self.damage)
    }

    /// Reads the row of a tree index; `None` if there is none, or it is lost.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&mut self, tree_index: u32) -> Result<Option<&[u8]>, CubeError> {
        let Some(&row) = self.rows.get(&tree_index) else { return Ok(None) };
        let row_bytes = usize::try_from(self.row_bytes)
            .map_err(|_| no_memory(&self.file, self.data.offset, self.row_bytes))?;
        match &self.storage {
            Storage::Plain(start) => {
                let at = start + u64::from(row) * self.row_bytes;
                let end = at + self.row_bytes;
                let is_there = self.block_start <= at && end - self.block_start <= self.block.len() as u64;
                if !is_there {
                    // Readers go from the last row to the first: a block ends with the row that is asked for.
                    let first = end.saturating_sub(BLOCK_BYTES.max(self.row_bytes)).max(*start);
                    let (offset, n_bytes) = (self.data.offset + first, end - first);
                    // The block is not valid until it is read.
                    self.block_start = u64::MAX;
                    read_into(&mut self.input, &self.file, offset, n_bytes, &mut self.block)?;
                    self.block_start = first;
                }
                let from = usize::try_from(at - self.block_start).expect("the block is in memory");
                Ok(Some(&self.block[from..from + row_bytes]))
            }
            Storage::Compressed(streams) => {
                let (offset, n_bytes) = streams[row as usize];
                if n_bytes == 0 {
                    return Ok(None);
                }
                let packed = self.read_at(offset, n_bytes)?;
                match inflate::row(&packed, row_bytes, &mut self.block) {
                    Ok(()) => Ok(Some(&self.block)),
                    Err(reason) => {
                        self.damage.push((CubeError::new(&self.file, self.data.offset + offset, reason), 1));
                        Ok(None)
                    }
                }
            }
        }
    }

    /// Reads bytes of the data member.
    fn read_at(&mut self, offset: u64, n_bytes: u64) -> Result<Vec<u8>, CubeError> {
        read_at(&mut self.input, &self.file, self.data.offset + offset, n_bytes)
    }

    fn u64_from(&self, bytes: [u8; 8]) -> u64 {
        if self.is_little_endian { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) }
    }
}

fn read_at(
    input: &mut (impl Read + Seek),
    file: &Arc<str>,
    offset: u64,
    n_bytes: u64,
) -> Result<Vec<u8>, CubeError> {
    let mut bytes = Vec::new();
    read_into(input, file, offset, n_bytes, &mut bytes)?;
    Ok(bytes)
}

/// Replaces the contents of `bytes`; its memory is used again.
fn read_into(
    input: &mut (impl Read + Seek),
    file: &Arc<str>,
    offset: u64,
    n_bytes: u64,
    bytes: &mut Vec<u8>,
) -> Result<(), CubeError> {
    let failed = |error: std::io::Error| CubeError::io(file, offset, &error);
    input.seek(SeekFrom::Start(offset)).map_err(failed)?;
    // Of what the file holds, maybe as holes: more than there is memory for.
    let len = usize::try_from(n_bytes).map_err(|_| no_memory(file, offset, n_bytes))?;
    if bytes.try_reserve(len.saturating_sub(bytes.len())).is_err() {
        return Err(no_memory(file, offset, n_bytes));
    }
    bytes.resize(len, 0);
    input.read_exact(bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => CubeError::new(file, offset, "the file has shrunk"),
        _ => failed(error),
    })
}

fn no_memory(file: &Arc<str>, offset: u64, n_bytes: u64) -> CubeError {
    CubeError::new(file, offset, format!("{n_bytes} bytes do not fit into memory"))
}

/// Whether the numbers are little-endian, and the tree index of each row.
fn read_index(
    input: &mut (impl Read + Seek),
    file: &Arc<str>,
    index: TarMember,
    n_paths: usize,
) -> Result<(bool, Vec<u32>), CubeError> {
    let wrong = |at: u64, reason: &str| CubeError::new(file, index.offset + at, reason);
    // No valid index is longer than one id for each call path and its head.
    let n_bytes = index.n_bytes.min(22 + 4 * n_paths as u64);
    let bytes = read_at(input, file, index.offset, n_bytes)?;
    let Some(rest) = bytes.strip_prefix(INDEX_MAGIC) else { return Err(wrong(0, "an index has no header")) };
    let Some((marker, rest)) = rest.split_first_chunk::<4>() else {
        return Err(wrong(11, "an index ends early"));
    };
    let is_little_endian = match (u32::from_le_bytes(*marker), u32::from_be_bytes(*marker)) {
        (1, _) => true,
        (_, 1) => false,
        _ => return Err(wrong(11, "an index does not state its byte order")),
    };
    let u32_from = |bytes: [u8; 4]| {
        if is_little_endian { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) }
    };
    let [_, _, format, rest @ ..] = rest else { return Err(wrong(15, "an index ends early")) };
    match format {
        1 => {
            let Some((n, rest)) = rest.split_first_chunk::<4>() else {
                return Err(wrong(18, "an index ends early"));
            };
            let n = u32_from(*n) as usize;
            let ids: Vec<u32> = rest.as_chunks::<4>().0.iter().take(n).map(|&id| u32_from(id)).collect();
            if ids.len() < n && n <= n_paths {
                return Err(wrong(22, "an index ends before its rows do"));
            }
            if n > n_paths {
                return Err(wrong(18, &format!("an index names {n} rows of {n_paths} call paths")));
            }
            Ok((is_little_endian, ids))
        }
        3 => Ok((is_little_endian, (0..).take(n_paths).collect())),
        other => Err(wrong(17, &format!("an index has the unknown format {other}"))),
    }
}
