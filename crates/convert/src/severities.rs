//! The severities of a profile as one long table: a row for each value.
//!
//! Law: metrics in the order of the profile, call paths from the last to the first as rows
//! are read, locations ascending. Values exclude callees; extremes, which cannot be split
//! up, include them: see the column `scope`. A missing row is zero in a metric that is
//! summed, and no value in any other. One batch is in memory at a time.

use super::ConvertError;
use super::tables::Tables;
use ouzel::model::{
    ColumnData, MetricId, Notice, ProfileDefinitions, ProfileSource, Scope, ScopedRows, SeverityError,
    SeverityRow, Table, Unit,
};
use ouzel_answers::Written;
use ouzel_export::TableWriter;
use std::sync::Arc;

/// Rows that are gathered before they are written: some megabytes.
const BATCH_ROWS: usize = 1 << 16;

/// Writes the table.
pub(crate) fn write(
    source: &dyn ProfileSource,
    tables: Tables,
) -> Result<(Vec<Written>, Vec<Notice>), ConvertError> {
    let file = tables.create("severities")?;
    let mut batch = Batch::default();
    let mut writer = tables.writer(&file, &batch.take())?;
    let mut notices = Vec::new();
    let mut n_rows = 0;
    for id in source.definitions().metric_ids() {
        n_rows += write_metric(source, id, &mut batch, writer.as_mut(), &mut notices)?;
    }
    writer.write(&batch.take())?;
    writer.finish()?;
    let files = vec![tables.written("severities", file, n_rows)?];
    tables.complete()?;
    Ok((files, notices))
}

fn write_metric(
    source: &dyn ProfileSource,
    id: MetricId,
    batch: &mut Batch,
    writer: &mut dyn TableWriter,
    notices: &mut Vec<Notice>,
) -> Result<u64, ConvertError> {
    let definitions = source.definitions();
    let metric = definitions.metric(id);
    let all = definitions.call_tree.all();
    let (scope, mut rows) = match ScopedRows::open(source, id, Scope::Exclusive, all.clone()) {
        Err(SeverityError::NotAdditive { .. }) => {
            (Scope::Inclusive, ScopedRows::open(source, id, Scope::Inclusive, all)?)
        }
        rows => (Scope::Exclusive, rows?),
    };
    let mut row = SeverityRow::new(metric.value_type);
    let (name, scope): (_, Arc<str>) = (metric.name.clone(), Arc::from(scope.as_str()));
    let mut n_rows = 0;
    while rows.read(&mut row).map_err(SeverityError::from)? {
        batch.push(definitions, (&name, &scope), &row);
        n_rows += row.values.len() as u64;
        if BATCH_ROWS <= batch.value.len() {
            writer.write(&batch.take())?;
        }
    }
    notices.extend(rows.notices());
    Ok(n_rows)
}

/// Rows to be written.
#[derive(Debug, Default)]
struct Batch {
    metric: Vec<Arc<str>>,
    scope: Vec<Arc<str>>,
    call_path: Vec<Vec<Arc<str>>>,
    call_path_id: Vec<u64>,
    rank: Vec<Option<u64>>,
    location: Vec<u64>,
    value: Vec<f64>,
}

impl Batch {
    fn push(
        &mut self,
        definitions: &ProfileDefinitions,
        (metric, scope): (&Arc<str>, &Arc<str>),
        row: &SeverityRow,
    ) {
        let tree = &definitions.call_tree;
        let region = |path| definitions.regions[tree.node(path).region.index()].name.clone();
        let names: Vec<Arc<str>> = tree.from_root(row.path).into_iter().map(region).collect();
        for (id, value) in row.iter() {
            let location = &definitions.locations[id.index()];
            self.metric.push(metric.clone());
            self.scope.push(scope.clone());
            self.call_path.push(names.clone());
            self.call_path_id.push(tree.node(row.path).native_id);
            self.rank.push(location.rank.map(|rank| u64::from(rank.0)));
            self.location.push(location.native_id);
            self.value.push(value);
        }
    }

    /// The rows as a table; none are left.
    fn take(&mut self) -> Table {
        let Batch { metric, scope, call_path, call_path_id, rank, location, value } = std::mem::take(self);
        Table::new("severities")
            .with("metric", Unit::None, "Unique name of the metric", ColumnData::Text(metric))
            .with(
                "scope",
                Unit::None,
                "Whether the value excludes callees (exclusive) or includes them",
                ColumnData::Text(scope),
            )
            .with(
                "call_path",
                Unit::None,
                "Regions from the outermost to the innermost",
                ColumnData::TextList(call_path),
            )
            .with(
                "call_path_id",
                Unit::None,
                "Id of the call path in the profile's file",
                ColumnData::U64(call_path_id),
            )
            .with("rank", Unit::None, "World rank of the location", ColumnData::OptionU64(rank))
            .with("location", Unit::None, "Id of the location in the profile", ColumnData::U64(location))
            .with(
                "value",
                Unit::None,
                "The severity, in the unit of the metric; whole numbers beyond 2^53 are rounded",
                ColumnData::F64(value),
            )
    }
}
