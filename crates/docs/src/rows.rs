//! The keys of rows, from the columns of the tables of a small trace: names, types, units and explanations stand with
//! the analyses.

use anyhow::{Context, Result};
use ouzel::analyses::breakdown::{Breakdown, HostCode, Requests};
use ouzel::analyses::call_path_profile::{CallPathProfile, TotalProfile};
use ouzel::analyses::call_tree::call_tree;
use ouzel::analyses::calls::CallBatch;
use ouzel::analyses::comm_matrix::{CommMatrix, Expansion};
use ouzel::analyses::communication_totals::Communication;
use ouzel::analyses::idle::{IDLE, IdleRegions, idle_time};
use ouzel::analyses::inventory::EVENT_KINDS;
use ouzel::analyses::semantics::Semantics;
use ouzel::analyses::severities::Grouping;
use ouzel::analyses::timeline::Timeline;
use ouzel::analyses::{By, Per};
use ouzel::model::{Column, ColumnData, Scope, Table};
use ouzel::{CorrelationQuery, CorrelationRun, Options, Spectra, Trace};
use ouzel_answers::ProfileRows;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Schemas of rows, by the names that the shapes give them.
pub type Rows = BTreeMap<&'static str, Value>;

/// What the type of a column does not say: row, column, constraint.
const CONSTRAINTS: &[(&str, &str, &str)] = &[
    // It is null only where a receiver is unknown.
    ("CommPair", "to", r#"{"type": ["integer", "null"]}"#),
    ("CorrelatedView", "coverage", r#"{"minimum": 0, "maximum": 1}"#),
    ("CorrelatedView", "r", r#"{"minimum": -1, "maximum": 1}"#),
    ("CorrelatedView", "r_max", r#"{"minimum": -1, "maximum": 1}"#),
    ("CorrelatedView", "r_min", r#"{"minimum": -1, "maximum": 1}"#),
    ("CorrelatedView", "sign", r#"{"enum": ["like", "against", "none"]}"#),
    (
        "CriticalPathStep",
        "kind",
        r#"{"enum": ["local", "message", "collective", "launch", "synchronization"]}"#,
    ),
    (
        "CriticalPathStep",
        "activity",
        r#"{"enum": ["working", "in_mpi", "waiting", "message", "collective", "launch"]}"#,
    ),
    ("LatenessOperation", "kind", r#"{"enum": ["send", "receive", "collective"]}"#),
    ("ProfileRow", "call_path", r#"{"minItems": 1}"#),
];

/// The rows of all answers.
pub fn of_a_trace(path: &Path) -> Result<Rows> {
    let trace = ouzel::open(path)?;
    let options = Options::default();
    let mut rows = Rows::new();
    let mut add = |name, tables: &[Table]| {
        rows.insert(name, of_tables(name, tables));
    };
    times(&trace, &options, &mut add)?;
    traffic(&trace, &options, &mut add)?;
    severities(&trace, &options, &mut add)?;
    let definitions = trace.definitions();
    let path = trace.critical_path(&options)?.output;
    add("CriticalPathStep", &[path.segments_table(definitions)]);
    add("CriticalPathRegion", &[path.by_region_table(definitions)]);
    let lateness = trace.lateness(&options)?.output;
    add("LatenessRow", &[lateness.table(&definitions.clock)]);
    let operations = lateness.operation_batches(definitions).next().context("no operation")?;
    add("LatenessOperation", &[operations]);
    let counts = EVENT_KINDS
        .iter()
        .map(|&kind| (kind.as_str().to_owned(), json!({ "type": "integer", "minimum": 1 })));
    let counts: Map<String, Value> = counts.collect();
    rows.insert("EventCounts", json!({ "type": "object", "properties": counts }));
    let mut metrics = rows["ProfileRow"].clone();
    metrics["patternProperties"] = gains();
    rows.insert("ProfileRow", metrics);
    for name in ["CallRow", "CallTreeNode"] {
        let mut with_gains = rows[name].clone();
        with_gains["patternProperties"] = gains();
        rows.insert(name, with_gains);
    }
    Ok(rows)
}

/// Columns that `--metric` adds: named by the counter.
fn gains() -> Value {
    json!({ "_(inclusive|exclusive)$": { "type": ["integer", "null"], "minimum": 0 } })
}

fn times(trace: &Trace, options: &Options<'_>, add: &mut dyn FnMut(&'static str, &[Table])) -> Result<()> {
    let definitions = trace.definitions();
    let classes = Semantics::default().classes(definitions);
    let breakdown = Breakdown::new(&classes, HostCode::ComputesWithoutStreams, Requests::Included);
    let breakdown = trace.ask(breakdown, options)?.output;
    let table = breakdown.table(definitions);
    add("BreakdownRow", std::slice::from_ref(&table));
    let parts = breakdown.mean().context("no process")?.map(|(name, _)| name);
    let columns = table.columns.into_iter().filter(|column| parts.contains(&&*column.name));
    add("BreakdownMean", &[Table { name: table.name, columns: columns.collect() }]);
    let profile = trace.ask(CallPathProfile, options)?.output;
    let total = trace.ask(TotalProfile, options)?.output;
    add("CallTreeNode", &[call_tree(&total, None, &[], definitions).table(definitions)]);
    add("CallRow", &[CallBatch::new(0).into_table(definitions, &[])]);
    let idle = idle_time(&profile, definitions, &IdleRegions::named(definitions, IDLE));
    add("IdleRow", &[idle.table(definitions, Per::Location), idle.table(definitions, Per::Rank)]);
    let communication = trace.ask(Communication, options)?.output;
    let (mut tables, mut regions) = (Vec::new(), Vec::new());
    for by in [By::Region, By::CallPath] {
        for per in [Per::Total, Per::Rank, Per::Location] {
            let table = profile.table(definitions, by, per);
            let ProfileRows { mut rows, regions: of_rows, .. } = ProfileRows::new(table, by, per);
            tables.push(rows.clone());
            regions.extend(of_rows);
            rows.columns.extend(communication.table(definitions, by, per).columns);
            tables.push(rows);
        }
    }
    add("ProfileRow", &tables);
    add("ProfileRegion", &regions);
    let timeline = trace.ask(Timeline::default(), options)?.output;
    add("Stretch", &[timeline.table(definitions)]);
    Ok(())
}

fn traffic(trace: &Trace, options: &Options<'_>, add: &mut dyn FnMut(&'static str, &[Table])) -> Result<()> {
    let matrix = trace.ask(CommMatrix { expansion: Expansion::PointToPoint }, options)?.output;
    add("CommPair", &[matrix.table()]);
    Ok(())
}

fn severities(
    trace: &Trace,
    options: &Options<'_>,
    add: &mut dyn FnMut(&'static str, &[Table]),
) -> Result<()> {
    let profile = trace.severity_cube(options)?.output;
    let definitions = profile.definitions();
    let metric = profile.default_metric().context("no metric")?;
    let mut tables = Vec::new();
    for grouping in [Grouping::Region, Grouping::CallPath] {
        tables.push(profile.severities(metric, Scope::Exclusive, grouping)?.table(definitions));
    }
    add("SeverityRow", &tables);
    let query = CorrelationQuery { topology: Some("2x8".to_owned()), ..CorrelationQuery::default() };
    let run = CorrelationRun { jobs: options.jobs, spectra: &Spectra::Forget, progress: None };
    add("CorrelatedView", &[profile.correlate(&query, &run)?.table(definitions)]);
    Ok(())
}

/// An object with the columns of all `tables`; those that not all have are optional.
fn of_tables(name: &str, tables: &[Table]) -> Value {
    let mut properties = Map::new();
    for column in tables.iter().flat_map(|table| &table.columns) {
        properties.entry(column.name.clone()).or_insert_with(|| of_column(name, column));
    }
    let in_all = |key: &&String| tables.iter().all(|table| table.column(key).is_some());
    let required: Vec<&String> = properties.keys().filter(in_all).collect();
    let required = json!(required);
    json!({ "type": "object", "properties": properties, "required": required })
}

fn of_column(row: &str, column: &Column) -> Value {
    let count = || json!({ "type": "integer", "minimum": 0 });
    let mut schema = match &column.data {
        ColumnData::U64(_) => count(),
        ColumnData::OptionU64(_) => json!({ "type": ["integer", "null"], "minimum": 0 }),
        ColumnData::I64(_) => json!({ "type": "integer" }),
        ColumnData::F64(_) => json!({ "type": "number" }),
        ColumnData::OptionF64(_) => json!({ "type": ["number", "null"] }),
        ColumnData::Text(_) => json!({ "type": "string" }),
        ColumnData::OptionText(_) => json!({ "type": ["string", "null"] }),
        ColumnData::TextList(_) => json!({ "type": "array", "items": { "type": "string" } }),
        ColumnData::U64List(_) => json!({ "type": "array", "items": count() }),
    };
    schema["description"] = json!(column.doc);
    for (_, _, constraint) in CONSTRAINTS.iter().filter(|(r, c, _)| *r == row && *c == column.name) {
        let constraint: Map<String, Value> = serde_json::from_str(constraint).unwrap_or_default();
        for (key, value) in constraint {
            schema[key] = value;
        }
    }
    schema
}
