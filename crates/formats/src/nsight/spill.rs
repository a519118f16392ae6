//! Sorted rows in a temporary file, for what does not fit into memory.

use super::rows::{ROW_BYTES, ReportRow};
use ouzel_files::unfinished::Unfinished;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

/// A temporary file that many readers share.
#[derive(Debug, Clone)]
pub(crate) struct Spill {
    file: Arc<(Unfinished, File)>,
}

impl Spill {
    pub fn new() -> io::Result<Spill> {
        Ok(Spill { file: Arc::new(Unfinished::temporary()?) })
    }

    /// Appends rows and returns where they begin.
    pub fn append(&self, rows: &[ReportRow], bytes: &mut Vec<u8>) -> io::Result<u64> {
        bytes.clear();
        rows.iter().for_each(|row| row.write(bytes));
        let mut file = &self.file.1;
        let at = file.seek(SeekFrom::End(0))?;
        file.write_all(bytes)?;
        Ok(at)
    }

    /// A handle to read with.
    pub fn reader(&self) -> io::Result<SpillReader> {
        Ok(SpillReader { file: ouzel_files::input::open(self.file.0.path())?, bytes: Vec::new() })
    }
}

/// Reads rows of a [`Spill`].
#[derive(Debug)]
pub(crate) struct SpillReader {
    file: File,
    bytes: Vec<u8>,
}

impl SpillReader {
    /// Replaces `rows` by the `n_rows` rows at `offset`.
    pub fn read(&mut self, offset: u64, n_rows: usize, rows: &mut Vec<ReportRow>) -> io::Result<()> {
        self.bytes.resize(n_rows * ROW_BYTES, 0);
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut self.bytes)?;
        rows.clear();
        for bytes in self.bytes.as_chunks::<ROW_BYTES>().0 {
            let row = ReportRow::read(bytes).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "the temporary file was changed")
            })?;
            rows.push(row);
        }
        Ok(())
    }
}

/// Sorted rows in a temporary file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SortedRun {
    pub offset: u64,
    pub n_rows: u64,
}
