//! Totals, while locations are folded and afterwards.

use ouzel_model::{CallPathId, IoMode, IoOperation};
use serde::{Deserialize, Serialize};

/// Operations and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoTotals {
    /// Number of operations, those included that neither read nor write.
    pub operations: u64,
    /// Number of operations that read.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Number of operations that write.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

impl IoTotals {
    /// Adds an operation. Bytes stop at the greatest number, which only corrupt lengths reach.
    pub fn add(&mut self, operation: &IoOperation) {
        self.operations += 1;
        let (n, bytes) = match operation.mode {
            IoMode::Read => (&mut self.reads, &mut self.bytes_read),
            IoMode::Write => (&mut self.writes, &mut self.bytes_written),
            IoMode::Other => return,
        };
        *n += 1;
        *bytes = bytes.saturating_add(operation.bytes.unwrap_or(0));
    }

    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read.saturating_add(self.bytes_written)
    }
}

/// Operations of one call path at one location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathIo {
    /// The innermost call; the root outside of every region.
    pub call_path: CallPathId,
    /// Its operations.
    pub totals: IoTotals,
}
