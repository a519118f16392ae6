//! `ouzel profile` of a trace.

use ouzel::analyses::{By, Per};
use ouzel::model::{Column, Table};
use ouzel_export::Rows;
use serde::Serialize;

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
    /// What the keys of the rows mean.
    pub columns: Vec<ProfileColumn<'a>>,
    /// Sorted by exclusive time unless `--sort` says otherwise. Time outside what `--region` selects is in the row
    /// `[filtered]`.
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
    /// The shape of `table`, whose rows are `by` and `per`.
    pub fn new(table: &'a Table, (by, per): (By, Per), span_ns: Option<u64>) -> Self {
        let (by, per) = (by.as_str(), per.as_str());
        ProfileAnswer { by, per, span_ns, columns: ProfileColumn::all(table), rows: Rows(table) }
    }
}
