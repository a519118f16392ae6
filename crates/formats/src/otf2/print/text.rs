//! A record as one line for people.
//!
//! `"name" <id>` is a reference, `<id>` one whose name is not known; words in capitals
//! are the names of the reference tools.

use super::layout::{
    Layout, PrintLine, PrintPlace, RecordHead, Section, Time, Widths, is_undefined, put, put_float, put_list,
};
use super::names::put_quoted;
use ouzel_otf2::records::{FieldValue, IdMap, RefId, RefKind, Value};

/// Columns of the name, which most events fit.
const NAME_WIDTH: usize = 16;

/// The titles of the columns that [`put_head`] fills for events.
pub(super) fn put_titles(out: &mut String, has_places: bool, has_seconds: bool, widths: Widths) {
    out.push('#');
    if has_places {
        put!(out, "{:>9}  {:>8}  ", "offset", "number");
    }
    put!(
        out,
        "{:>location$}  {:>ticks$}  ",
        "location",
        "ticks",
        location = widths.location,
        ticks = widths.ticks
    );
    if has_seconds {
        put!(out, "{:>14}  ", "seconds");
    }
    put!(out, "{:<NAME_WIDTH$}  fields\n", "record");
}

pub(super) fn put_head(out: &mut String, head: &RecordHead, widths: Widths) {
    if head.section == Section::Events {
        // Below the sign that begins the titles.
        out.push(' ');
    }
    if let Some(PrintPlace { offset, number }) = head.place {
        put!(out, "{offset:>#9x}  {number:>8}  ");
    }
    if let Some(location) = head.location {
        put!(out, "{location:>width$}  ", width = widths.location);
    }
    if let Some(Time { ticks, ns }) = head.time {
        put!(out, "{ticks:>width$}  ", width = widths.ticks);
        if let Some(ns) = ns {
            put!(out, "{:>4}.{:09}  ", ns / 1_000_000_000, ns % 1_000_000_000);
        }
    }
    match head.name {
        Some(name) => put!(out, "{name:<NAME_WIDTH$}"),
        None => put!(out, "{:<NAME_WIDTH$}", format!("UNKNOWN({})", head.id)),
    }
}

pub(super) fn put_field(line: &mut PrintLine<'_, '_>, name: &str, value: FieldValue<'_>) {
    put!(line.out, "{name} ");
    match value {
        FieldValue::Unsigned(number) => match special(name, number) {
            Some(special) => line.out.push_str(&special),
            None => put!(line.out, "{number}"),
        },
        FieldValue::Ticks(number) => put!(line.out, "{number}"),
        FieldValue::Key(_, number) => put!(line.out, "<{number}>"),
        FieldValue::Signed(number) => put!(line.out, "{number}"),
        FieldValue::Float(number) => put_float(line.out, Layout::Text, number),
        FieldValue::Text(text) => put_quoted(line.out, &text.to_string_lossy()),
        FieldValue::Symbol(symbol) => put!(line.out, "{symbol}"),
        FieldValue::Ref(kind, id) => put_ref(line, kind, id),
        FieldValue::Value(value) => put_value(line, value),
        FieldValue::Refs(kind, ids) => {
            put_list(line, ids.iter(), |line, id| put_ref(line, kind, id.to_u64()));
        }
        FieldValue::Numbers(numbers) => put_list(line, numbers.iter(), |line, n| put!(line.out, "{n}")),
        FieldValue::Ids(ids) => put_list(line, ids.iter(), |line, id| put!(line.out, "{id}")),
        FieldValue::Metrics(values) => put_list(line, values.iter().enumerate(), |line, (idx, value)| {
            if let Some(member) = line.names.member(line.metric, idx) {
                put_ref(line, RefKind::MetricMember, member.to_u64());
                line.out.push_str(": ");
            }
            put_value(line, value.value());
        }),
        FieldValue::Attributes(attributes) => put_list(line, attributes.iter(), |line, attribute| {
            put_ref(line, RefKind::Attribute, attribute.attribute.to_u64());
            line.out.push_str(": ");
            put_value(line, attribute.value);
        }),
        FieldValue::IoProperties(properties) => put_list(line, properties.iter(), |line, property| {
            put!(line.out, "{}: ", property.property);
            put_value(line, property.value);
        }),
        FieldValue::IdMap(IdMap::Dense(ids)) => {
            put_list(line, ids.iter().enumerate(), |line, (local, global)| {
                put!(line.out, "{local}→{global}");
            });
        }
        FieldValue::IdMap(IdMap::Sparse(pairs)) => {
            put_list(line, pairs.iter(), |line, (local, global)| put!(line.out, "{local}→{global}"));
        }
    }
}

fn put_ref(line: &mut PrintLine<'_, '_>, kind: RefKind, id: u64) {
    if is_undefined(kind, id) {
        line.out.push_str("UNDEFINED");
        return;
    }
    if let Some(name) = line.names.quoted(kind, id) {
        put!(line.out, "{name} ");
    }
    put!(line.out, "<{id}>");
}

fn put_value(line: &mut PrintLine<'_, '_>, value: Value) {
    put!(line.out, "{} ", value.value_type());
    match value {
        Value::Uint8(number) => put!(line.out, "{number}"),
        Value::Uint16(number) => put!(line.out, "{number}"),
        Value::Uint32(number) => put!(line.out, "{number}"),
        Value::Uint64(number) | Value::Other(_, number) => put!(line.out, "{number}"),
        Value::Int8(number) => put!(line.out, "{number}"),
        Value::Int16(number) => put!(line.out, "{number}"),
        Value::Int32(number) => put!(line.out, "{number}"),
        Value::Int64(number) => put!(line.out, "{number}"),
        Value::Float(number) => put!(line.out, "{number:?}"),
        Value::Double(number) => put_float(line.out, Layout::Text, number),
        Value::Ref(kind, id) => put_ref(line, kind, id.to_u64()),
        Value::Location(id) => put_ref(line, RefKind::Location, id),
    }
}

/// The words of the reference tools for roots that are no ranks, unknown times and sets of flags.
fn special(field: &str, number: u64) -> Option<String> {
    let names: &[&str] = match field {
        "root" => {
            let root = u32::try_from(number).ok()?;
            return ["NONE", "SELF", "THIS_GROUP"]
                .get(usize::try_from(u32::MAX - root).ok()?)
                .map(ToString::to_string);
        }
        "realtime_timestamp" => return (number == u64::MAX).then(|| "UNDEFINED".to_owned()),
        "creation_flags" => &[
            "CREATE",
            "TRUNCATE",
            "DIRECTORY",
            "EXCLUSIVE",
            "NO_CONTROLLING_TERMINAL",
            "NO_FOLLOW",
            "PATH",
            "TEMPORARY_FILE",
            "LARGEFILE",
            "NO_SEEK",
            "UNIQUE",
        ],
        "operation_flags" => &["NON_BLOCKING", "COLLECTIVE"],
        "status_flags" => &[
            "CLOSE_ON_EXEC",
            "APPEND",
            "NON_BLOCKING",
            "ASYNC",
            "SYNC",
            "DATA_SYNC",
            "AVOID_CACHING",
            "NO_ACCESS_TIME",
            "DELETE_ON_CLOSE",
        ],
        "sync_level" => &["PROCESS", "MEMORY"],
        _ => return None,
    };
    if number == 0 {
        return Some("NONE".to_owned());
    }
    let mut words: Vec<String> = names
        .iter()
        .enumerate()
        .filter(|(bit, _)| number >> bit & 1 == 1)
        .map(|(_, name)| (*name).to_owned())
        .collect();
    let unnamed = number >> names.len() << names.len();
    if unnamed != 0 {
        words.push(format!("{unnamed:#x}"));
    }
    Some(format!("{{{}}}", words.join(", ")))
}
