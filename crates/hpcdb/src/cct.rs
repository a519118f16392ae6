//! `cct.db`: the values of `profile.db` again, by call path instead of by thread.
//!
//! Good for the question how one call path differs over the threads. Law: the numbers are
//! those of `profile.db`; there are none of its summaries.

use crate::header::{FileHeader, FileKind, Version, check_footer};
use crate::source::Source;
use crate::{Damage, ReadError};
use std::io::{Read, Seek};
use std::sync::Arc;

/// Smallest size of a context's header, of version 4.0.
const CONTEXT_BYTES: u64 = 32;
/// Bytes of a value and of an entry of the index.
const VALUE_BYTES: u64 = 12;
const INDEX_BYTES: u64 = 10;

/// What `cct.db` says before the values.
#[derive(Debug, Clone)]
pub struct CctDb {
    /// Version of the file.
    pub version: Version,
    /// Number of contexts that may have values: their numbers are less.
    pub n_contexts: u64,
    /// What was lost.
    pub damages: Vec<Damage>,
    table: u64,
    stride: u64,
}

/// One value of a context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CctValue {
    /// The id of metric and scope, see [`Metric::values`](crate::Metric::values).
    pub metric: u16,
    /// Index of the profile.
    pub profile: u32,
    /// The value.
    pub value: f64,
}

impl CctDb {
    /// Reads the header.
    ///
    /// # Errors
    /// If it is not a `cct.db`, is of another major version, or has no table of contexts.
    pub fn read<R: Read + Seek>(file: &Arc<str>, from: R) -> Result<CctDb, ReadError> {
        let mut source = Source::new(Arc::clone(file), from)?;
        let beginning = source.beginning(FileKind::Cct.header_bytes())?;
        let header = FileHeader::read(source.view(0, &beginning), FileKind::Cct)?;
        let ending = source.ending()?;
        let damages = check_footer(file, FileKind::Cct, source.n_bytes, &ending).into_iter().collect();
        let (at, what) = (header.sections[0].offset, "contexts");
        let mut bytes = Vec::new();
        source.read(at, 0xd, what, &mut bytes)?;
        let head = source.view(at, &bytes);
        let stride = u64::from(head.u8(at + 0xc, what)?);
        let n_contexts = u64::from(head.u32(at + 8, what)?);
        if 0 < n_contexts && stride < CONTEXT_BYTES {
            let reason = format!("contexts have {stride} bytes, but need at least {CONTEXT_BYTES}");
            return Err(source.broken(at, reason));
        }
        Ok(CctDb { version: header.version, n_contexts, damages, table: head.u64(at, what)?, stride })
    }

    /// The values of the context `context`, metrics and profiles ascending; none if it has no row.
    ///
    /// # Errors
    /// If they lie outside of the file or contradict their index.
    pub fn values<R: Read + Seek>(
        &self,
        file: &Arc<str>,
        from: R,
        context: u32,
    ) -> Result<Vec<CctValue>, ReadError> {
        if self.n_contexts <= u64::from(context) {
            return Ok(Vec::new());
        }
        let mut source = Source::new(Arc::clone(file), from)?;
        let what = "values of a context";
        let at = self.table.saturating_add(u64::from(context) * self.stride);
        let mut head = Vec::new();
        source.read(at, CONTEXT_BYTES, what, &mut head)?;
        let head = source.view(at, &head);
        let (n_values, start) = (head.u64(at, what)?, head.u64(at + 8, what)?);
        let (n_metrics, index_at) = (u64::from(head.u16(at + 0x10, what)?), head.u64(at + 0x18, what)?);
        let (mut index, mut values) = (Vec::new(), Vec::new());
        source.read(start, n_values.saturating_mul(VALUE_BYTES), what, &mut values)?;
        source.read(index_at, n_metrics * INDEX_BYTES, what, &mut index)?;
        let (index, values) = (source.view(index_at, &index), source.view(start, &values));
        let entry = |i: u64| {
            let at = index_at + i * INDEX_BYTES;
            Ok((index.u16(at, what)?, index.u64(at + 2, what)?))
        };
        let mut found = Vec::new();
        for i in 0..n_metrics {
            let (metric, first): (u16, u64) = entry(i)?;
            let end = if i + 1 < n_metrics { entry(i + 1)?.1 } else { n_values };
            if end < first || n_values < end {
                let reason = format!("values {first} to {end} of {n_values}");
                return Err(source.broken(index_at + i * INDEX_BYTES, reason));
            }
            for k in first..end {
                let at = start + k * VALUE_BYTES;
                let value = f64::from_bits(values.u64(at + 4, what)?);
                found.push(CctValue { metric, profile: values.u32(at, what)?, value });
            }
        }
        Ok(found)
    }
}
