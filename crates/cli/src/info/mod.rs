//! `ouzel info`: what is in the trace.

use crate::args::{Common, InfoArgs};
use crate::exit::Outcome;

/// Answers.
///
/// # Errors
/// If the trace cannot be opened or the answer not be written.
pub fn run(_common: &Common, _args: &InfoArgs) -> anyhow::Result<Outcome> {
    anyhow::bail!("info")
}
