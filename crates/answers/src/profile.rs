//! `ouzel profile` of a trace.

use ouzel::analyses::{By, Per};
use ouzel::model::{Column, ColumnData, Table, Unit};
use ouzel_export::Rows;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

/// Columns that say what a region is, whatever it did.
const OF_REGION: [&str; 4] = ["paradigm", "role", "file", "line"];

/// The table of a profile as its JSON has it: where a region has a row for each rank or location, what it is stands
/// once in a table of its own. For 16,384 ranks, this is a third of the bytes.
#[derive(Debug)]
pub struct ProfileRows {
    by: By,
    per: Per,
    /// What the regions did.
    pub rows: Table,
    /// What they are; `None` where `rows` says it.
    pub regions: Option<Table>,
}

impl ProfileRows {
    /// Divides `table`, whose rows are `by` and `per`.
    pub fn new(table: Table, by: By, per: Per) -> Self {
        if per == Per::Total {
            return ProfileRows { by, per, rows: table, regions: None };
        }
        let Table { name, columns } = table;
        let (of_region, columns): (Vec<_>, Vec<_>) =
            columns.into_iter().partition(|column| OF_REGION.contains(&&*column.name));
        let mut rows = Table { name, columns };
        let named = rows.columns.iter().filter(|column| column.name == "region").cloned();
        let regions = Table { name: "regions", columns: named.chain(of_region).collect() };
        let mut numbers = FxHashMap::default();
        let (mut first_rows, mut indices) = (Vec::new(), Vec::new());
        for row in 0..regions.n_rows() {
            let region: Vec<_> = regions.columns.iter().map(|column| word(&column.data, row)).collect();
            let index = *numbers.entry(region).or_insert_with(|| {
                first_rows.push(row);
                first_rows.len() - 1
            });
            indices.push(index as u64);
        }
        let names: FxHashSet<_> = numbers.keys().map(|region| region.first()).collect();
        if names.len() < numbers.len() {
            let doc = "Number of the region in `regions`, from 0; only if two regions have one name";
            rows = rows.with("region_index", Unit::None, doc, ColumnData::U64(indices));
        }
        let regions = regions.picked(&first_rows);
        ProfileRows { by, per, rows, regions: Some(regions) }
    }
}

/// A value that is compared.
#[derive(PartialEq, Eq, Hash)]
enum Word<'t> {
    Missing,
    Text(&'t str),
    Number(u64),
}

fn word(data: &ColumnData, row: usize) -> Word<'_> {
    match data {
        ColumnData::Text(values) => Word::Text(&values[row]),
        ColumnData::OptionText(values) => values[row].as_deref().map_or(Word::Missing, Word::Text),
        ColumnData::OptionU64(values) => values[row].map_or(Word::Missing, Word::Number),
        _ => Word::Missing,
    }
}

/// Time in each region or call path.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("allOf" = [
        { "if": { "properties": { "by": { "const": "call_path" } } },
          "then": { "properties": { "rows": { "items": { "required": ["call_path"] } } } } },
        { "if": { "properties": { "per": { "enum": ["rank", "location"] } } },
          "then": { "properties": { "rows": { "items": { "required": ["rank"] } } } } },
        { "if": { "properties": { "per": { "const": "location" } } },
          "then": { "properties": { "rows": { "items": { "required": ["location"] } } } } }
    ]))
)]
pub struct ProfileAnswer<'a> {
    /// What a row is about: `call_path` with `--call-paths`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::ByRegionOrCallPath"))]
    pub by: &'static str,
    /// What a row is summed over: `rank` or `location` with `--per`.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::Per"))]
    pub per: &'static str,
    /// From the first to the last event of the selection.
    pub span_ns: Option<u64>,
    /// What the keys of the rows mean, and those of `regions`.
    pub columns: Vec<ProfileColumn<'a>>,
    /// With `--per`: what each region of the rows is, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<crate::words::ProfileRegion>>"))]
    pub regions: Option<Rows<'a>>,
    /// Sorted by exclusive time unless `--sort` says otherwise. Time outside what `--region` selects is in the row
    /// `[filtered]`; call paths of what it selects have the names of all callers.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::ProfileRow>"))]
    pub rows: Rows<'a>,
}

/// What a key of the rows means.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProfileColumn<'a> {
    /// The key.
    pub name: &'a str,
    /// Unit of its values.
    pub unit: &'a str,
    /// What it is, with its formula.
    pub doc: &'a str,
}

impl<'a> ProfileColumn<'a> {
    /// What the keys of the rows of `table` mean.
    pub fn all(table: &'a Table) -> Vec<Self> {
        let of = |column: &'a Column| ProfileColumn {
            name: &column.name,
            unit: column.unit.symbol(),
            doc: column.doc,
        };
        table.columns.iter().map(of).collect()
    }
}

impl<'a> ProfileAnswer<'a> {
    /// The shape of a profile of a run of this length.
    pub fn new(of: &'a ProfileRows, span_ns: Option<u64>) -> Self {
        let mut columns = ProfileColumn::all(&of.rows);
        let of_regions = of.regions.iter().flat_map(ProfileColumn::all);
        columns.extend(of_regions.filter(|column| OF_REGION.contains(&column.name)));
        ProfileAnswer {
            by: of.by.as_str(),
            per: of.per.as_str(),
            span_ns,
            columns,
            regions: of.regions.as_ref().map(Rows),
            rows: Rows(&of.rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn table(lines: [u64; 3]) -> Table {
        let text = |words: [&str; 3]| ColumnData::Text(words.map(Arc::from).to_vec());
        Table::new("regions")
            .with("region", Unit::None, "", text(["solve", "solve", "MPI_Wait"]))
            .with("rank", Unit::None, "", ColumnData::OptionU64(vec![Some(0), Some(1), Some(0)]))
            .with("visits", Unit::Count, "", ColumnData::U64(vec![3, 4, 5]))
            .with("paradigm", Unit::None, "", text(["compiler", "compiler", "mpi"]))
            .with("line", Unit::None, "", ColumnData::OptionU64(lines.map(Some).to_vec()))
    }

    fn json(of: &ProfileRows) -> serde_json::Value {
        serde_json::to_value(ProfileAnswer::new(of, None)).unwrap()
    }

    #[test]
    fn what_a_region_is_stands_once_where_it_has_many_rows() {
        let of = json(&ProfileRows::new(table([7, 7, 9]), By::Region, Per::Rank));
        assert_eq!(of["rows"][1], serde_json::json!({"region": "solve", "rank": 1, "visits": 4}));
        let regions = serde_json::json!([
            {"region": "solve", "paradigm": "compiler", "line": 7},
            {"region": "MPI_Wait", "paradigm": "mpi", "line": 9},
        ]);
        assert_eq!(of["regions"], regions);
        let whole = json(&ProfileRows::new(table([7, 7, 9]), By::Region, Per::Total));
        assert_eq!(whole["rows"][1]["line"], 7);
        assert!(whole.get("regions").is_none());
    }

    #[test]
    fn regions_of_one_name_have_numbers() {
        let of = json(&ProfileRows::new(table([7, 8, 9]), By::Region, Per::Rank));
        assert_eq!(of["regions"].as_array().map(Vec::len), Some(3));
        assert_eq!(of["rows"][1]["region_index"], 1);
        assert_eq!(of["regions"][1]["line"], 8);
    }
}
