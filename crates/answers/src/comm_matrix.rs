//! `ouzel comm-matrix`.

use ouzel::analyses::comm_matrix::{CommMatrixOutput, TrafficUnit};
use ouzel_export::TableRows;
use serde::Serialize;

/// Who sends how much to whom: `pairs`, or with `--dense` (up to 4,096 ranks) `matrix` and `to_unknown`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("oneOf" = [{ "required": ["pairs"] }, { "required": ["matrix", "to_unknown"] }]))
)]
pub struct CommMatrixAnswer {
    /// World ranks, ascending.
    pub ranks: Vec<u32>,
    /// What `matrix` and `to_unknown` count.
    #[cfg_attr(feature = "schema", schemars(with = "crate::words::TrafficUnit"))]
    pub unit: &'static str,
    /// Pairs of ranks that exchanged something, by sender, then by receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::CommPair>"))]
    pub pairs: Option<TableRows>,
    /// With `--dense`: row = sender, column = receiver, in the order of `ranks[]`; amounts in `unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Vec<u64>>"))]
    pub matrix: Option<Vec<Vec<u64>>>,
    /// With `--dense`: by sender, in the order of `ranks[]`, what was sent to unknown receivers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<u64>"))]
    pub to_unknown: Option<Vec<u64>>,
}

/// How the matrix is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommMatrixForm {
    /// The pairs that communicated.
    Pairs,
    /// The whole matrix.
    Dense,
}

impl CommMatrixAnswer {
    /// The shape of `output`, the whole matrix in `unit`.
    pub fn new(output: &CommMatrixOutput, unit: TrafficUnit, form: CommMatrixForm) -> Self {
        let is_dense = form == CommMatrixForm::Dense;
        CommMatrixAnswer {
            ranks: output.ranks.iter().map(|rank| rank.0).collect(),
            unit: unit.as_str(),
            pairs: (!is_dense).then(|| TableRows(output.table())),
            matrix: is_dense.then(|| output.matrix(unit)),
            to_unknown: is_dense.then(|| output.unknown(unit)),
        }
    }
}
