//! The tree of call paths: functions, loops, lines and instructions below entry points.
//!
//! In the file each node points at its children, which are contiguous.
//! Law: parents come before their children; the walk ends, as it visits no more nodes than
//! the file has room for.

use crate::bytes::Bytes;
use crate::header::Section;
use crate::texts::Texts;
use crate::{ReadError, ReadErrorKind};
use std::sync::Arc;

/// Smallest size of an entry point and of a context, of version 4.0.
const ENTRY_BYTES: u64 = 32;
const CONTEXT_BYTES: u64 = 32;

/// A node of the tree of call paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// The number by which samples and values name it. Unique, not dense; 0 is the root of everything.
    pub id: u32,
    /// Index of the parent in [`Meta::contexts`](crate::Meta::contexts); `None` for an entry point.
    pub parent: Option<u32>,
    /// What it is.
    pub lexical: LexicalType,
    /// How it was reached from its parent.
    pub relation: Relation,
    /// Index into [`Meta::functions`](crate::Meta::functions).
    pub function: Option<u32>,
    /// Index into [`Meta::files`](crate::Meta::files), and the line there.
    pub source: Option<(Option<u32>, u32)>,
    /// Index into [`Meta::modules`](crate::Meta::modules), and the offset there.
    pub instruction: Option<(Option<u32>, u64)>,
    /// Bits by which values of transitive scopes go up to the parent.
    pub propagation: u16,
    /// Byte of the file at which it begins.
    pub offset: u64,
}

/// What a context is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LexicalType {
    /// Where threads begin.
    Entry {
        /// 1 the main thread, 2 another thread of the program, else unknown.
        code: u16,
        /// Its display name.
        name: Arc<str>,
    },
    /// A function; unknown if it names none.
    Function,
    /// A loop, with file and line of its head.
    Loop,
    /// A line.
    Line,
    /// A machine instruction.
    Instruction,
    /// Of a newer version.
    Unknown(u8),
}

/// How a context was reached from its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It is a part of the parent's code.
    Lexical,
    /// It was called.
    Call,
    /// It was called, and the compiler put it in place of the call.
    InlinedCall,
    /// Of a newer version.
    Unknown(u8),
}

/// Where the tables lie that contexts point into.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ContextTables {
    pub modules: StructArray,
    pub files: StructArray,
    pub functions: StructArray,
}

/// An array of structures in the file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StructArray {
    pub at: u64,
    pub n: u64,
    pub stride: u64,
}

impl StructArray {
    /// The row that `pointer` points at.
    pub fn row(&self, pointer: u64) -> Option<u32> {
        let ahead = pointer.checked_sub(self.at)?;
        let row = ahead.checked_div(self.stride)?;
        let exact = row < self.n && row * self.stride == ahead;
        u32::try_from(row).ok().filter(|_| exact)
    }
}

/// Whether the section is that of the layout before the release, which has no entry points.
pub(crate) fn is_pre_release(bytes: Bytes<'_>, section: Section) -> bool {
    let Ok(n) = bytes.u16(section.offset.saturating_add(8), "contexts") else { return false };
    let stride = bytes.u8(section.offset.saturating_add(0xa), "contexts");
    0 < n && stride.is_ok_and(|stride| u64::from(stride) < ENTRY_BYTES)
}

/// What was read of the tree, and how many pointers into tables pointed at nothing.
#[derive(Debug, Default)]
pub(crate) struct ReadContexts {
    pub contexts: Vec<Context>,
    pub n_dangling: u64,
    /// What ended the walk early.
    pub error: Option<ReadError>,
}

/// Reads the section. What was read before an error is kept.
pub(crate) fn read(
    bytes: Bytes<'_>,
    section: Section,
    tables: &ContextTables,
    texts: &mut Texts,
) -> ReadContexts {
    let mut tree = ReadContexts::default();
    if let Err(error) = walk(bytes, section, tables, texts, &mut tree) {
        tree.error = Some(error);
    }
    tree
}

fn walk(
    bytes: Bytes<'_>,
    section: Section,
    tables: &ContextTables,
    texts: &mut Texts,
    tree: &mut ReadContexts,
) -> Result<(), ReadError> {
    let what = "contexts";
    let at = section.offset;
    let n = u64::from(bytes.u16(at.saturating_add(8), what)?);
    let stride = u64::from(bytes.u8(at.saturating_add(0xa), what)?);
    if stride < ENTRY_BYTES {
        let reason = format!("entry points have {stride} bytes, but need at least {ENTRY_BYTES}");
        return Err(bytes.broken(at, reason));
    }
    // Children that are still to be read: parent, offset, size.
    let mut left: Vec<(u32, u64, u64)> = Vec::new();
    for at in bytes.array_of(bytes.u64(at, what)?, n, stride, "entry point")? {
        let lexical = LexicalType::Entry {
            code: bytes.u16(at + 0x14, what)?,
            name: texts.read(bytes, bytes.u64(at + 0x18, what)?)?,
        };
        left.push((next_context(bytes, at, tree)?, bytes.u64(at + 8, what)?, bytes.u64(at, what)?));
        tree.contexts.push(Context {
            id: bytes.u32(at + 0x10, what)?,
            parent: None,
            lexical,
            relation: Relation::Call,
            function: None,
            source: None,
            instruction: None,
            propagation: u16::MAX,
            offset: at,
        });
    }
    // A stack: a subtree is read before the next one, so that a damaged file loses whole subtrees.
    left.reverse();
    let max_contexts = bytes.bytes.len() as u64 / CONTEXT_BYTES;
    while let Some((parent, start, n_bytes)) = left.pop() {
        bytes.slice(start, n_bytes, "children")?;
        let (mut at, end) = (start, start + n_bytes);
        let first = left.len();
        while at < end {
            if max_contexts < tree.contexts.len() as u64 {
                return Err(bytes.broken(at, "contexts contain each other"));
            }
            let (context, children, size) = context(bytes, at, parent, tables, &mut tree.n_dangling)?;
            if 0 < children.1 {
                left.push((next_context(bytes, at, tree)?, children.0, children.1));
            }
            tree.contexts.push(context);
            at += size;
        }
        if at != end {
            return Err(bytes.broken(start, "children are larger than the space declared for them"));
        }
        left[first..].reverse();
    }
    Ok(())
}

/// The number of the next context.
fn next_context(bytes: Bytes<'_>, at: u64, tree: &ReadContexts) -> Result<u32, ReadError> {
    let n = tree.contexts.len();
    u32::try_from(n).map_err(|_| bytes.broken(at, format!("{n} contexts come before; at most 2^32 are read")))
}

/// The context at `at`, offset and size of its children, and its own size.
fn context(
    bytes: Bytes<'_>,
    at: u64,
    parent: u32,
    tables: &ContextTables,
    n_dangling: &mut u64,
) -> Result<(Context, (u64, u64), u64), ReadError> {
    let what = "context";
    let fixed = Bytes { base: at, bytes: bytes.slice(at, CONTEXT_BYTES, what)?, ..bytes };
    let n_words = u64::from(fixed.u8(at + 0x17, what)?);
    let size = CONTEXT_BYTES + 8 * n_words;
    let record = Bytes { base: at, bytes: bytes.slice(at, size, what)?, ..bytes };
    let flags = record.u8(at + 0x14, what)?;
    let mut words = Words { record, next: at + CONTEXT_BYTES, half: None };
    let mut row = |rows: &StructArray, pointer: u64| {
        let row = rows.row(pointer);
        *n_dangling += u64::from(row.is_none());
        row
    };
    let function = match flags & 1 {
        0 => None,
        _ => row(&tables.functions, words.u64()?),
    };
    let source = match flags & 2 {
        0 => None,
        _ => Some((row(&tables.files, words.u64()?), words.u32()?)),
    };
    let instruction = match flags & 4 {
        0 => None,
        _ => Some((row(&tables.modules, words.u64()?), words.u64()?)),
    };
    let context = Context {
        id: record.u32(at + 0x10, what)?,
        parent: Some(parent),
        lexical: match record.u8(at + 0x16, what)? {
            0 => LexicalType::Function,
            1 => LexicalType::Loop,
            2 => LexicalType::Line,
            3 => LexicalType::Instruction,
            other => LexicalType::Unknown(other),
        },
        relation: match record.u8(at + 0x15, what)? {
            0 => Relation::Lexical,
            1 => Relation::Call,
            2 => Relation::InlinedCall,
            other => Relation::Unknown(other),
        },
        function,
        source,
        instruction,
        propagation: record.u16(at + 0x18, what)?,
        offset: at,
    };
    Ok((context, (record.u64(at + 8, what)?, record.u64(at, what)?), size))
}

/// Takes fields out of words of eight bytes: a small field takes the half that is free, a large one a new word.
struct Words<'a> {
    record: Bytes<'a>,
    next: u64,
    half: Option<u64>,
}

impl Words<'_> {
    fn word(&mut self) -> Result<u64, ReadError> {
        let at = self.next;
        self.next += 8;
        self.record.u64(at, "field of a context").map(|_| at).map_err(|error| match error.kind {
            ReadErrorKind::OutOfFile { .. } => {
                self.record.broken(self.record.base, "a context has more fields than it has room for")
            }
            _ => error,
        })
    }

    fn u64(&mut self) -> Result<u64, ReadError> {
        let at = self.word()?;
        self.record.u64(at, "field of a context")
    }

    fn u32(&mut self) -> Result<u32, ReadError> {
        let at = match self.half.take() {
            Some(at) => at,
            None => {
                let at = self.word()?;
                self.half = Some(at + 4);
                at
            }
        };
        self.record.u32(at, "field of a context")
    }
}
