//! One record as one line: what both layouts share.
//!
//! A line has a head (where and when), the record's name and its fields in the order of
//! the file. [`text`](super::text) and [`json`](super::json) say how each is written.

use super::names::PrintNames;
use ouzel_otf2::records::RefKind;
use ouzel_otf2::wire::UNDEFINED_U64;

/// How lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// Columns for people, with names in quotes and ids in angle brackets.
    #[default]
    Text,
    /// One JSON object on each line.
    JsonLines,
}

/// Writes what cannot fail: to memory.
macro_rules! put {
    ($line:expr, $($format:tt)*) => {{
        use std::fmt::Write;
        write!($line, $($format)*).expect("memory takes every character")
    }};
}
pub(super) use put;

/// What a record is one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Definitions,
    LocalDefinitions,
    Markers,
    Events,
}

/// Where and when a record is.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordHead {
    pub section: Section,
    /// The record's name in the format's tables; `None` if this version does not know it.
    pub name: Option<&'static str>,
    /// The id in the file.
    pub id: u8,
    pub location: Option<u64>,
    pub time: Option<Time>,
    pub place: Option<PrintPlace>,
}

/// When an event happened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time {
    pub ticks: u64,
    /// Since the trace start, in nanoseconds; `None` if the clock is not the trace's.
    pub ns: Option<u64>,
}

/// Where a record is in its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct PrintPlace {
    /// Of the id byte.
    pub offset: u64,
    /// In the file, from 1.
    pub number: u64,
}

/// Columns that are as wide as their widest value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Widths {
    pub location: usize,
    pub ticks: usize,
}

/// A line in the making.
pub(super) struct PrintLine<'l, 'd> {
    pub out: &'l mut String,
    pub names: &'l mut PrintNames<'d>,
    pub layout: Layout,
    pub n_fields: usize,
    /// The metric class or instance that the record named, for the values that follow.
    pub metric: u64,
}

/// Whether a reference refers to nothing.
pub(super) fn is_undefined(kind: RefKind, id: u64) -> bool {
    // References to I/O paradigms have one byte only.
    id == UNDEFINED_U64 || (kind == RefKind::IoParadigm && id == 0xff)
}

/// The items in brackets, one after the other.
pub(super) fn put_list<T>(
    line: &mut PrintLine<'_, '_>,
    items: impl Iterator<Item = T>,
    put_item: impl Fn(&mut PrintLine<'_, '_>, T),
) {
    let between = match line.layout {
        Layout::Text => ", ",
        Layout::JsonLines => ",",
    };
    line.out.push('[');
    for (i, item) in items.enumerate() {
        if 0 < i {
            line.out.push_str(between);
        }
        put_item(line, item);
    }
    line.out.push(']');
}

/// A float with as many digits as it takes to read the same one back; JSON knows no others than finite ones.
pub(super) fn put_float(out: &mut String, layout: Layout, value: f64) {
    if value.is_finite() || layout == Layout::Text {
        put!(out, "{value:?}");
    } else {
        out.push_str("null");
    }
}
