//! Writes `.cubex`.
//!
//! First the rows, metric by metric, in any order of rows; then the definitions. Rows are
//! plain and little-endian, with sparse indices, as the tools of CUBE write them. A metric
//! that is never begun has no files: all of its values are zero.

use crate::tar::{self, BLOCK_BYTES};
use crate::{Anchor, anchor_writer};
use std::io::{Error, ErrorKind, Result, Seek, SeekFrom, Write};

/// Writes one profile.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    end: u64,
    current: Option<Current>,
}

/// The metric whose rows come.
#[derive(Debug)]
struct Current {
    data_start: u64,
    n_rows: u64,
    row_bytes: u64,
}

impl<W: Write + Seek> Writer<W> {
    /// Begins at the beginning of `out`.
    pub fn new(out: W) -> Self {
        Writer { out, end: 0, current: None }
    }

    /// Begins a metric with rows for these tree indices, ascending; each row has `row_bytes`. Rows that are never
    /// written are zero.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn metric(&mut self, id: u32, tree_indices: &[u32], row_bytes: u64) -> Result<()> {
        let mut index = b"CUBEX.INDEX\x01\0\0\0\0\0\x01".to_vec();
        let n_rows = u32::try_from(tree_indices.len())
            .map_err(|_| Error::new(ErrorKind::InvalidInput, "a metric has more than 2^32 rows"))?;
        index.extend_from_slice(&n_rows.to_le_bytes());
        for tree_index in tree_indices {
            index.extend_from_slice(&tree_index.to_le_bytes());
        }
        self.member(&format!("{id}.index"), &index)?;
        let n_rows = u64::from(n_rows);
        let head = b"CUBEX.DATA";
        let n_bytes = n_rows
            .checked_mul(row_bytes)
            .and_then(|n| n.checked_add(head.len() as u64))
            .ok_or_else(|| Error::new(ErrorKind::InvalidInput, "a metric has more than 2^64 bytes"))?;
        self.out.seek(SeekFrom::Start(self.end))?;
        self.out.write_all(&tar::header(&format!("{id}.data"), n_bytes))?;
        self.out.write_all(head)?;
        let data_start = self.end + BLOCK_BYTES + head.len() as u64;
        self.end = (self.end + BLOCK_BYTES + n_bytes).next_multiple_of(BLOCK_BYTES);
        self.current = Some(Current { data_start, n_rows, row_bytes });
        Ok(())
    }

    /// Writes the row at this position among the tree indices of the metric begun last.
    ///
    /// # Errors
    /// If there is no such row, its size is another, or it cannot be written.
    pub fn row(&mut self, position: u64, bytes: &[u8]) -> Result<()> {
        let current = self.current.as_ref();
        let fits = current.filter(|c| position < c.n_rows && bytes.len() as u64 == c.row_bytes);
        let Some(Current { data_start, row_bytes, .. }) = fits else {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "a row does not belong to the metric begun last",
            ));
        };
        self.out.seek(SeekFrom::Start(data_start + position * row_bytes))?;
        self.out.write_all(bytes)
    }

    /// Writes the definitions and the end.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(mut self, anchor: &Anchor) -> Result<W> {
        self.member("anchor.xml", anchor_writer::write(anchor).as_bytes())?;
        self.out.seek(SeekFrom::Start(self.end))?;
        self.out.write_all(&[0; 2 * tar::BLOCK])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn member(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        self.out.seek(SeekFrom::Start(self.end))?;
        self.out.write_all(&tar::header(name, bytes.len() as u64))?;
        self.out.write_all(bytes)?;
        self.end = (self.end + BLOCK_BYTES + bytes.len() as u64).next_multiple_of(BLOCK_BYTES);
        Ok(())
    }
}
