//! The tables of one run in a database, by their names without the id of the run.

use crate::nsight::database::Database;

/// The tables of one run in a database.
#[derive(Debug)]
pub(super) struct RocpdTables {
    pub database: Database,
    /// What their names end in.
    pub suffix: String,
}

impl RocpdTables {
    /// The name of a table of this run.
    pub fn name(&self, table: &str) -> String {
        format!("rocpd_{table}{}", self.suffix)
    }
}
