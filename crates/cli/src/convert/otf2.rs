//! `--to otf2`: an archive with what was selected.

use crate::args::{Common, ConvertArgs};
use crate::exit::Outcome;

/// Writes.
///
/// # Errors
/// If the trace cannot be opened, something is in the way, or writing fails.
pub fn run(_common: &Common, _args: &ConvertArgs) -> anyhow::Result<Outcome> {
    anyhow::bail!("--to otf2 is not part of this build")
}
