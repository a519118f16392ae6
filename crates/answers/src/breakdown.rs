//! `ouzel breakdown`.

use ouzel::analyses::breakdown::BreakdownOutput;
use ouzel::model::Definitions;
use ouzel_export::TableRows;
use serde::Serialize;
use serde_json::{Map, Value};

/// Computation, communication and their overlap.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BreakdownAnswer {
    /// By rank: parts of the span, which add up to it.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::BreakdownRow>"))]
    pub rows: TableRows,
    /// Each part averaged over the processes; `null` without one.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::words::BreakdownMean>"))]
    pub mean: Option<Map<String, Value>>,
}

impl BreakdownAnswer {
    /// The shape of `output`.
    pub fn new(output: &BreakdownOutput, definitions: &Definitions) -> Self {
        let mean = output.mean().map(|parts| {
            let part = |(name, mean): (&str, ouzel::analyses::MeanTicks)| {
                (name.to_owned(), mean.ns(&definitions.clock).into())
            };
            parts.into_iter().map(part).collect()
        });
        BreakdownAnswer { rows: TableRows(output.table(definitions)), mean }
    }
}
