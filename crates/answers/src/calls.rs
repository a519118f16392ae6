//! `ouzel calls`.

use serde::Serialize;

/// Every call as a row. Rows come while the trace is read, and their number after them.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallsAnswer<R, N> {
    /// Locations in the order of the trace, the calls of one as they end.
    pub rows: R,
    /// Number of rows.
    pub n_calls: N,
}
