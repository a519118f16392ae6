//! `ouzel lateness`.

use ouzel::analyses::logical_lateness::LatenessOutput;
use ouzel::model::Definitions;
use ouzel_export::TableRows;
use serde::Serialize;

/// How long after the first of its peers each operation ends.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatenessAnswer<O> {
    /// Number of logical steps of the whole run.
    pub n_steps: u32,
    /// By rank.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::LatenessRow>"))]
    pub rows: TableRows,
    /// With `--operations`: by location, those of a location in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "O"))]
    pub operations: Option<O>,
}

impl<O> LatenessAnswer<O> {
    /// The shape of `output`, with `operations` if they are asked for.
    pub fn new(output: &LatenessOutput, definitions: &Definitions, operations: Option<O>) -> Self {
        let rows = TableRows(output.table(&definitions.clock));
        LatenessAnswer { n_steps: output.n_steps, rows, operations }
    }
}
