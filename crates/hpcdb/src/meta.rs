//! `meta.db`: names, metrics, source files and the tree of call paths.

use crate::bytes::Bytes;
use crate::contexts::{self, Context, ContextTables, StructArray};
use crate::header::{FileHeader, FileKind, Section, Version, check_footer};
use crate::metrics::{self, Metric, ValueScope};
use crate::texts::Texts;
use crate::{Damage, ReadError, ReadErrorKind};
use std::sync::Arc;

/// What a database knows once. All pointers of the file are indices here.
#[derive(Debug, Clone)]
pub struct Meta {
    /// Version of the file.
    pub version: Version,
    /// What was measured, usually the program.
    pub title: Arc<str>,
    /// Longer text.
    pub description: Arc<str>,
    /// Names of the kinds in identifier tuples, e.g. `RANK`, by their number.
    pub kinds: Vec<Arc<str>>,
    /// Over which parts of the call tree values are summed.
    pub scopes: Vec<ValueScope>,
    /// What was measured.
    pub metrics: Vec<Metric>,
    /// Paths of executables and libraries.
    pub modules: Vec<Arc<str>>,
    /// Paths of source files.
    pub files: Vec<Arc<str>>,
    /// Functions.
    pub functions: Vec<Function>,
    /// The tree of call paths, parents before children.
    pub contexts: Vec<Context>,
    /// What was lost.
    pub damages: Vec<Damage>,
}

/// A function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Function {
    /// Its name as people read it; `None` if the program does not say.
    pub name: Option<Arc<str>>,
    /// Index into [`Meta::modules`], and where in it the function begins.
    pub module: Option<(u32, u64)>,
    /// Index into [`Meta::files`], and the line at which it is defined.
    pub source: Option<(u32, u32)>,
}

/// Order of the sections in the header.
const GENERAL: usize = 0;
const KINDS: usize = 1;
const METRICS: usize = 2;
const CONTEXTS: usize = 3;
const MODULES: usize = 5;
const FILES: usize = 6;
const FUNCTIONS: usize = 7;

/// Smallest sizes of version 4.0.
const NAMED_BYTES: u64 = 16;
const FUNCTION_BYTES: u64 = 40;

impl Meta {
    /// Reads a whole `meta.db` that is in memory.
    ///
    /// # Errors
    /// If it is not a `meta.db`, has another major version, or the layout before the release. A part that is broken
    /// is in [`Meta::damages`] instead, and empty.
    pub fn read(file: &Arc<str>, bytes: &[u8]) -> Result<Meta, ReadError> {
        let bytes = Bytes::new(file, bytes);
        let header = FileHeader::read(bytes, FileKind::Meta)?;
        let section = |i: usize| header.sections[i];
        if metrics::is_pre_release(bytes, section(METRICS))
            || contexts::is_pre_release(bytes, section(CONTEXTS))
        {
            return Err(bytes.error(0, ReadErrorKind::PreRelease));
        }
        let mut texts = Texts::new(bytes.bytes.len() as u64);
        let texts = &mut texts;
        let mut damages = Vec::new();
        damages.extend(check_footer(file, FileKind::Meta, bytes.bytes.len() as u64, bytes.bytes));
        let (title, description) = kept(general(bytes, section(GENERAL), texts), &mut damages);
        let (scopes, metrics) = kept(metrics::read(bytes, section(METRICS), texts), &mut damages);
        let modules = kept(rows(bytes, section(MODULES), NAMED_BYTES, "module"), &mut damages);
        let files = kept(rows(bytes, section(FILES), NAMED_BYTES, "file"), &mut damages);
        let functions = kept(rows(bytes, section(FUNCTIONS), FUNCTION_BYTES, "function"), &mut damages);
        let tables = ContextTables { modules, files, functions };
        let tree = contexts::read(bytes, section(CONTEXTS), &tables, texts);
        damages.extend(tree.error.map(damage));
        let mut n_dangling = tree.n_dangling;
        let meta = Meta {
            version: header.version,
            title,
            description,
            kinds: kept(kinds(bytes, section(KINDS), texts), &mut damages),
            scopes,
            metrics,
            modules: paths(bytes, &tables.modules, texts, &mut damages),
            files: paths(bytes, &tables.files, texts, &mut damages),
            functions: functions_of(bytes, &tables, texts, &mut n_dangling, &mut damages),
            contexts: tree.contexts,
            damages: Vec::new(),
        };
        if 0 < n_dangling {
            damages.push(Damage {
                file: Arc::clone(file),
                offset: section(CONTEXTS).offset,
                reason: "call paths or functions refer to a function, file or module that is missing"
                    .to_owned(),
                count: n_dangling,
            });
        }
        Ok(Meta { damages, ..meta })
    }
}

fn damage(error: ReadError) -> Damage {
    let ReadError { file, offset, kind } = error;
    Damage { file, offset, reason: kind.to_string(), count: 1 }
}

/// What was read, or nothing and a damage.
fn kept<T: Default>(read: Result<T, ReadError>, damages: &mut Vec<Damage>) -> T {
    read.unwrap_or_else(|error| {
        damages.push(damage(error));
        T::default()
    })
}

fn general(bytes: Bytes<'_>, section: Section, texts: &mut Texts) -> Result<(Arc<str>, Arc<str>), ReadError> {
    let at = section.offset;
    let mut text = |at| texts.read(bytes, bytes.u64(at, "title")?);
    Ok((text(at)?, text(at.saturating_add(8))?))
}

fn kinds(bytes: Bytes<'_>, section: Section, texts: &mut Texts) -> Result<Vec<Arc<str>>, ReadError> {
    let at = section.offset;
    let n = u64::from(bytes.u8(at.saturating_add(8), "kinds")?);
    let names = bytes.array_of(bytes.u64(at, "kinds")?, n, 8, "kind")?;
    names.map(|at| texts.read(bytes, bytes.u64(at, "kind")?)).collect()
}

/// The array that a section's header names: all of it lies in the file.
fn rows(
    bytes: Bytes<'_>,
    section: Section,
    least: u64,
    what: &'static str,
) -> Result<StructArray, ReadError> {
    let at = section.offset;
    let n = u64::from(bytes.u32(at.saturating_add(8), what)?);
    let stride = u64::from(bytes.u16(at.saturating_add(0xc), what)?);
    let rows = StructArray { at: bytes.u64(at, what)?, n, stride };
    if 0 < n && stride < least {
        let reason = format!("a {what} of {stride} bytes, but at least {least} are needed");
        return Err(bytes.broken(at, reason));
    }
    let _in_file = bytes.array_of(rows.at, n, stride, what)?;
    Ok(rows)
}

fn offsets(rows: &StructArray) -> impl Iterator<Item = u64> + use<> {
    let StructArray { at, n, stride } = *rows;
    (0..n).map(move |i| at + i * stride)
}

/// The paths of modules or files; a broken one is empty.
fn paths(
    bytes: Bytes<'_>,
    rows: &StructArray,
    texts: &mut Texts,
    damages: &mut Vec<Damage>,
) -> Vec<Arc<str>> {
    let path = |at: u64| texts.read(bytes, bytes.u64(at + 8, "path")?);
    first_damage(offsets(rows).map(path), damages)
}

/// The values; the first error is reported with the number of all.
fn first_damage<T: Default>(
    values: impl Iterator<Item = Result<T, ReadError>>,
    damages: &mut Vec<Damage>,
) -> Vec<T> {
    let mut first: Option<Damage> = None;
    let all = values.map(|value| {
        value.unwrap_or_else(|error| {
            match &mut first {
                Some(damage) => damage.count += 1,
                None => first = Some(damage(error)),
            }
            T::default()
        })
    });
    let all = all.collect();
    damages.extend(first);
    all
}

fn functions_of(
    bytes: Bytes<'_>,
    tables: &ContextTables,
    texts: &mut Texts,
    n_dangling: &mut u64,
    damages: &mut Vec<Damage>,
) -> Vec<Function> {
    let what = "function";
    let mut row = |rows: &StructArray, pointer: u64| {
        let row = rows.row(pointer);
        *n_dangling += u64::from(row.is_none() && pointer != 0);
        row
    };
    let function = |at: u64| {
        let name = bytes.u64(at, what)?;
        let module = row(&tables.modules, bytes.u64(at + 8, what)?);
        let file = row(&tables.files, bytes.u64(at + 0x18, what)?);
        Ok(Function {
            name: if name == 0 {
                None
            } else {
                Some(texts.read(bytes, name)?).filter(|name| !name.is_empty())
            },
            module: module.zip(Some(bytes.u64(at + 0x10, what)?)),
            source: file.zip(Some(bytes.u32(at + 0x20, what)?)),
        })
    };
    first_damage(offsets(&tables.functions).map(function), damages)
}
