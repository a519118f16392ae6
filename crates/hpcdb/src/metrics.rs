//! What was measured, and over which part of the call tree a value was summed.

use crate::ReadError;
use crate::bytes::Bytes;
use crate::header::Section;
use crate::texts::Texts;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// One metric of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name with its unit, e.g. `CPUTIME (sec)`.
    pub name: Arc<str>,
    /// Index into [`Meta::scopes`](crate::Meta::scopes) and the metric id by which values of threads name it.
    pub values: Vec<(Option<usize>, u16)>,
    /// Its values in the summary profile.
    pub summaries: Vec<Summary>,
}

/// A value of the summary profile: over all threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Index into [`Meta::scopes`](crate::Meta::scopes).
    pub scope: Option<usize>,
    /// What is done to each thread's value `$$` first, e.g. `$$` or `($$^2)`.
    pub formula: Arc<str>,
    /// How the values are put together.
    pub combine: Combine,
    /// The metric id by which values of the summary profile name it.
    pub id: u16,
}

/// How values of threads become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the operation's name")]
pub enum Combine {
    Sum,
    Min,
    Max,
    Unknown(u8),
}

/// Over which part of the call tree a value is summed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueScope {
    /// Its name: `point`, `function`, `lex_aware`, `execution`, or others.
    pub name: Arc<str>,
    /// Its kind.
    pub scope_type: ScopeType,
    /// For transitive scopes, the bit of [`Context::propagation`](crate::Context::propagation) that ends it.
    pub propagation_index: u8,
}

/// Kind of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeType {
    /// Not given.
    Custom,
    /// Exactly where it was measured.
    Point,
    /// With everything below.
    Execution,
    /// With everything below that a propagation bit allows.
    Transitive,
    /// Of a newer version.
    Unknown(u8),
}

/// Smallest sizes of version 4.0.
const METRIC_BYTES: u64 = 32;
const SCOPE_INSTANCE_BYTES: u64 = 16;
const SUMMARY_BYTES: u64 = 24;
const SCOPE_BYTES: u64 = 16;

/// Whether the header is that of the layout before the release, whose structures are smaller.
pub(crate) fn is_pre_release(bytes: Bytes<'_>, section: Section) -> bool {
    let stride = bytes.u8(section.offset + 0xc, "metrics");
    stride.is_ok_and(|stride| 0 < stride && u64::from(stride) < METRIC_BYTES)
}

/// Reads the section.
pub(crate) fn read(
    bytes: Bytes<'_>,
    section: Section,
    texts: &mut Texts,
) -> Result<(Vec<ValueScope>, Vec<Metric>), ReadError> {
    let at = section.offset;
    let what = "metrics";
    let stride = |offset, least: u64| {
        let found = u64::from(bytes.u8(at.saturating_add(offset), what)?);
        let error =
            || bytes.broken(at, format!("a structure of {found} bytes, but at least {least} are needed"));
        Some(found).filter(|&found| least <= found).ok_or_else(error)
    };
    let n_scopes = u64::from(bytes.u16(at.saturating_add(0x18), what)?);
    let mut scopes = Vec::new();
    let mut index = FxHashMap::default();
    for at in bytes.array_of(bytes.u64(at + 0x10, what)?, n_scopes, stride(0x1a, SCOPE_BYTES)?, "scope")? {
        index.insert(at, scopes.len());
        let scope_type = match bytes.u8(at + 8, what)? {
            0 => ScopeType::Custom,
            1 => ScopeType::Point,
            2 => ScopeType::Execution,
            3 => ScopeType::Transitive,
            other => ScopeType::Unknown(other),
        };
        scopes.push(ValueScope {
            name: texts.read(bytes, bytes.u64(at, what)?)?,
            scope_type,
            propagation_index: bytes.u8(at + 9, what)?,
        });
    }
    let n_metrics = u64::from(bytes.u32(at + 8, what)?);
    let (instance, summary) = (stride(0xd, SCOPE_INSTANCE_BYTES)?, stride(0xe, SUMMARY_BYTES)?);
    let mut metrics = Vec::new();
    for at in bytes.array_of(bytes.u64(at, what)?, n_metrics, stride(0xc, METRIC_BYTES)?, "metric")? {
        let n = |offset| bytes.u16(at + offset, what).map(u64::from);
        let values = bytes
            .array_of(bytes.u64(at + 8, what)?, n(0x18)?, instance, "metric value")?
            .map(|at| Ok((index.get(&bytes.u64(at, what)?).copied(), bytes.u16(at + 8, what)?)))
            .collect::<Result<_, ReadError>>()?;
        let summaries = bytes
            .array_of(bytes.u64(at + 0x10, what)?, n(0x1a)?, summary, "metric summary")?
            .map(|at| read_summary(bytes, at, &index, texts))
            .collect::<Result<_, ReadError>>()?;
        metrics.push(Metric { name: texts.read(bytes, bytes.u64(at, what)?)?, values, summaries });
    }
    Ok((scopes, metrics))
}

fn read_summary(
    bytes: Bytes<'_>,
    at: u64,
    scopes: &FxHashMap<u64, usize>,
    texts: &mut Texts,
) -> Result<Summary, ReadError> {
    let what = "metric summary";
    Ok(Summary {
        scope: scopes.get(&bytes.u64(at, what)?).copied(),
        formula: texts.read(bytes, bytes.u64(at + 8, what)?)?,
        combine: match bytes.u8(at + 0x10, what)? {
            0 => Combine::Sum,
            1 => Combine::Min,
            2 => Combine::Max,
            other => Combine::Unknown(other),
        },
        id: bytes.u16(at + 0x12, what)?,
    })
}
