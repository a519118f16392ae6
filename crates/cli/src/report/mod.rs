//! `ouzel report`: one page about the run.

use crate::args::{Common, ReportArgs};
use crate::exit::Outcome;

/// Answers.
///
/// # Errors
/// If the trace cannot be opened or the answer not be written.
pub fn run(_common: &Common, _args: &ReportArgs) -> anyhow::Result<Outcome> {
    anyhow::bail!("report is not part of this build")
}
