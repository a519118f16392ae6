//! `ouzel call-tree`.

use ouzel::analyses::call_tree::CallTreeOutput;
use ouzel::model::Definitions;
use ouzel_export::TableRows;
use serde::Serialize;

/// One tree of call paths for the whole run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallTreeAnswer {
    /// Parents before children.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::words::CallTreeNode>"))]
    pub nodes: TableRows,
}

impl CallTreeAnswer {
    /// The shape of `tree`.
    pub fn new(tree: &CallTreeOutput, definitions: &Definitions) -> Self {
        CallTreeAnswer { nodes: TableRows(tree.table(definitions)) }
    }
}
