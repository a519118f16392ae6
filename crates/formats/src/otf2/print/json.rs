//! A record as one JSON object on one line.
//!
//! References are `{"id": 3, "name": "main"}`, or `null` where they refer to nothing; typed values are
//! `{"type": "UINT64", "value": 5}`; values of enumerations are the names of the reference tools.

use super::layout::{
    Layout, PrintLine, PrintPlace, RecordHead, Section, Time, is_undefined, put, put_float, put_list,
};
use super::names::put_quoted;
use ouzel_otf2::records::{FieldValue, IdMap, RefKind, Value};

pub(super) fn put_head(out: &mut String, head: &RecordHead) {
    let (what, whose) = match head.section {
        Section::Events => ("record", "location"),
        Section::Definitions => ("definition", ""),
        Section::LocalDefinitions => ("local_definition", "of_location"),
        Section::Markers => ("marker_record", ""),
    };
    out.push('{');
    if let Some(location) = head.location {
        put!(out, "\"{whose}\":{location},");
    }
    if let Some(Time { ticks, ns }) = head.time {
        put!(out, "\"time_ticks\":{ticks},");
        if let Some(ns) = ns {
            put!(out, "\"time_ns\":{ns},");
        }
    }
    if let Some(PrintPlace { offset, number }) = head.place {
        put!(out, "\"file_offset\":{offset},\"number\":{number},");
    }
    put!(out, "\"{what}\":\"{}\"", head.name.unwrap_or("Unknown"));
}

pub(super) fn put_value(line: &mut PrintLine<'_, '_>, value: FieldValue<'_>) {
    match value {
        FieldValue::Unsigned(number) | FieldValue::Ticks(number) | FieldValue::Key(_, number) => {
            put!(line.out, "{number}");
        }
        FieldValue::Signed(number) => put!(line.out, "{number}"),
        FieldValue::Float(number) => put_float(line.out, Layout::JsonLines, number),
        FieldValue::Text(text) => put_quoted(line.out, &text.to_string_lossy()),
        FieldValue::Symbol(symbol) => put!(line.out, "\"{symbol}\""),
        FieldValue::Ref(kind, id) => put_ref(line, kind, id),
        FieldValue::Value(value) => put_typed(line, "", value),
        FieldValue::Refs(kind, ids) => put_list(line, ids.iter(), |line, id| {
            put_ref(line, kind, u64::from(id));
        }),
        FieldValue::Numbers(numbers) => put_list(line, numbers.iter(), |line, n| put!(line.out, "{n}")),
        FieldValue::Ids(ids) => put_list(line, ids.iter(), |line, id| put!(line.out, "{id}")),
        FieldValue::Metrics(values) => put_list(line, values.iter().enumerate(), |line, (idx, value)| {
            let member = line.names.member(line.metric, idx);
            line.out.push('{');
            if let Some(member) = member {
                line.out.push_str("\"member\":");
                put_ref(line, RefKind::MetricMember, u64::from(member));
                line.out.push(',');
            }
            put_type_and_value(line, value.value());
        }),
        FieldValue::Attributes(attributes) => put_list(line, attributes.iter(), |line, attribute| {
            line.out.push_str("{\"attribute\":");
            put_ref(line, RefKind::Attribute, u64::from(attribute.attribute));
            line.out.push(',');
            put_type_and_value(line, attribute.value);
        }),
        FieldValue::IoProperties(properties) => put_list(line, properties.iter(), |line, property| {
            put_typed(line, &format!("\"property\":{},", property.property), property.value);
        }),
        FieldValue::IdMap(IdMap::Dense(ids)) => {
            put_list(line, ids.iter().enumerate(), |line, (local, global)| {
                put!(line.out, "[{local},{global}]");
            });
        }
        FieldValue::IdMap(IdMap::Sparse(pairs)) => put_list(line, pairs.iter(), |line, (local, global)| {
            put!(line.out, "[{local},{global}]");
        }),
    }
}

fn put_ref(line: &mut PrintLine<'_, '_>, kind: RefKind, id: u64) {
    if is_undefined(kind, id) {
        line.out.push_str("null");
        return;
    }
    put!(line.out, "{{\"id\":{id}");
    if let Some(name) = line.names.quoted(kind, id) {
        put!(line.out, ",\"name\":{name}");
    }
    line.out.push('}');
}

fn put_typed(line: &mut PrintLine<'_, '_>, before: &str, value: Value) {
    put!(line.out, "{{{before}");
    put_type_and_value(line, value);
}

fn put_type_and_value(line: &mut PrintLine<'_, '_>, value: Value) {
    put!(line.out, "\"type\":\"{}\",\"value\":", value.value_type());
    match value {
        Value::Uint8(number) => put!(line.out, "{number}"),
        Value::Uint16(number) => put!(line.out, "{number}"),
        Value::Uint32(number) => put!(line.out, "{number}"),
        Value::Uint64(number) | Value::Other(_, number) => put!(line.out, "{number}"),
        Value::Int8(number) => put!(line.out, "{number}"),
        Value::Int16(number) => put!(line.out, "{number}"),
        Value::Int32(number) => put!(line.out, "{number}"),
        Value::Int64(number) => put!(line.out, "{number}"),
        Value::Float(number) if number.is_finite() => put!(line.out, "{number:?}"),
        Value::Float(_) => line.out.push_str("null"),
        Value::Double(number) => put_float(line.out, Layout::JsonLines, number),
        Value::Ref(kind, id) => put_ref(line, kind, ouzel_otf2::records::RefId::to_u64(id)),
        Value::Location(id) => put_ref(line, RefKind::Location, id),
    }
    line.out.push('}');
}
