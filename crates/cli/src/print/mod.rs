//! `ouzel print`: every record as text.

use crate::args::{Common, PrintArgs};
use crate::exit::Outcome;

/// Answers.
///
/// # Errors
/// If the trace cannot be opened or the answer not be written.
pub fn run(_common: &Common, args: &PrintArgs) -> anyhow::Result<Outcome> {
    anyhow::bail!("print (offsets: {}) is not part of this build", args.offsets)
}
