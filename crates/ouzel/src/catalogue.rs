//! What a trace defines, as tables: locations, regions, metrics.

use ouzel_engine::{LocationEnd, LocationSummary};
use ouzel_model::{
    ColumnData, Definitions, Location, LocationGroup, LocationGroupKind, LocationId, LocationKind, Metric,
    MetricMode, MetricValueType, Region, Table, Unit,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The locations that were read, with what is known about each.
pub fn locations(definitions: &Definitions, read: &BTreeMap<LocationId, LocationSummary>) -> Table {
    let each = || read.iter().map(|(&id, summary)| (definitions.location(id), summary));
    let text = |value: &dyn Fn(&Location) -> Arc<str>| {
        ColumnData::Text(each().map(|(location, _)| value(location)).collect())
    };
    let group =
        |location: &Location| -> &LocationGroup { &definitions.location_groups[location.group.index()] };
    let node = |location: &Location| {
        let node = group(location).system_node?;
        Some(definitions.system_tree.nodes[node.index()].name.clone())
    };
    let span = |pick: &dyn Fn(&LocationSummary) -> Option<u64>| {
        ColumnData::OptionU64(each().map(|(_, summary)| pick(summary)).collect())
    };
    let clock = &definitions.clock;
    let end = |summary: &LocationSummary| match summary.end {
        LocationEnd::Complete => "complete",
        LocationEnd::Damaged => "damaged",
    };
    Table::new("locations")
        .with(
            "location",
            Unit::None,
            "Id of the location in the trace's files",
            ColumnData::U64(each().map(|(location, _)| location.native_id).collect()),
        )
        .with("name", Unit::None, "Name given by the tracer", text(&|location| location.name.clone()))
        .with(
            "kind",
            Unit::None,
            "Thread, accelerator stream or metric source",
            text(&|l| kind_text(l.kind).into()),
        )
        .with(
            "rank",
            Unit::None,
            "World rank of the process; missing if unknown",
            ColumnData::OptionU64(each().map(|(l, _)| l.rank.map(|rank| u64::from(rank.0))).collect()),
        )
        .with("group", Unit::None, "Name of its owner", text(&|location| group(location).name.clone()))
        .with(
            "group_kind",
            Unit::None,
            "Process or accelerator",
            text(&|l| group_kind_text(group(l).kind).into()),
        )
        .with(
            "node",
            Unit::None,
            "Place in the machine",
            ColumnData::OptionText(each().map(|(location, _)| node(location)).collect()),
        )
        .with(
            "n_events",
            Unit::Count,
            "Events read",
            ColumnData::U64(each().map(|(_, summary)| summary.n_events).collect()),
        )
        .with(
            "start_ns",
            Unit::Nanoseconds,
            "Time of the first event since the trace start",
            span(&|summary| Some(clock.ns_from_ticks(summary.span?.0))),
        )
        .with(
            "end_ns",
            Unit::Nanoseconds,
            "Time of the last event since the trace start",
            span(&|summary| Some(clock.ns_from_ticks(summary.span?.1))),
        )
        .with(
            "end",
            Unit::None,
            "Whether the events could be read to the end: complete or damaged",
            ColumnData::Text(each().map(|(_, summary)| end(summary).into()).collect()),
        )
}

/// Every region.
pub fn regions(definitions: &Definitions) -> Table {
    let regions = || definitions.regions.iter();
    let line = |value: &dyn Fn(&Region) -> Option<u32>| {
        ColumnData::OptionU64(regions().map(|region| value(region).map(u64::from)).collect())
    };
    let text =
        |value: &dyn Fn(&Region) -> Option<Arc<str>>| ColumnData::OptionText(regions().map(value).collect());
    Table::new("regions")
        .with(
            "region",
            Unit::None,
            "Name of the region",
            ColumnData::Text(regions().map(|r| r.name.clone()).collect()),
        )
        .with(
            "canonical_name",
            Unit::None,
            "The linker's name, if it differs",
            text(&|r| r.canonical_name.clone()),
        )
        .with(
            "paradigm",
            Unit::None,
            "Programming model as recorded",
            text(&|r| Some(r.paradigm.as_str().into())),
        )
        .with("role", Unit::None, "What the region is, as recorded", text(&|r| Some(r.role.as_str().into())))
        .with("file", Unit::None, "Source file, if recorded", text(&|r| r.file.clone()))
        .with("line", Unit::None, "First source line, if recorded", line(&|r| r.line))
        .with("end_line", Unit::None, "Last source line, if recorded", line(&|r| r.end_line))
}

/// Every metric.
pub fn metrics(definitions: &Definitions) -> Table {
    let text = |value: &dyn Fn(&Metric) -> Arc<str>| {
        ColumnData::Text(definitions.metrics.iter().map(value).collect())
    };
    Table::new("metrics")
        .with("metric", Unit::None, "Name of the metric", text(&|m| m.name.clone()))
        .with("unit", Unit::None, "Unit of its values", text(&|m| m.unit.clone()))
        .with("mode", Unit::None, "How its values relate to time", text(&|m| mode_text(m.mode).into()))
        .with("value_type", Unit::None, "Type of its values", text(&|m| value_type_text(m.value_type).into()))
        .with("description", Unit::None, "Description given by the tracer", text(&|m| m.description.clone()))
}

/// The word for a kind of location in the column `kind`.
pub fn kind_text(kind: LocationKind) -> &'static str {
    match kind {
        LocationKind::CpuThread => "cpu_thread",
        LocationKind::AcceleratorStream => "accelerator_stream",
        LocationKind::Metric => "metric",
        LocationKind::Unknown => "unknown",
    }
}

fn group_kind_text(kind: LocationGroupKind) -> &'static str {
    match kind {
        LocationGroupKind::Process => "process",
        LocationGroupKind::Accelerator => "accelerator",
        LocationGroupKind::Unknown => "unknown",
    }
}

/// How the values of a metric relate to time.
pub fn mode_text(mode: MetricMode) -> &'static str {
    match mode {
        MetricMode::Accumulated => "accumulated",
        MetricMode::Absolute => "absolute",
        MetricMode::Relative => "relative",
    }
}

fn value_type_text(value_type: MetricValueType) -> &'static str {
    match value_type {
        MetricValueType::U64 => "uint64",
        MetricValueType::I64 => "int64",
        MetricValueType::F64 => "float64",
    }
}
