//! A profile as `.cubex`, or everything that can be counted in a trace.

use super::ConvertArgs;
use super::tables::severities::written;
use super::{Written, file_target};
use crate::args::Common;
use crate::exit::Outcome;
use crate::found::Found;
use crate::output::refused;

/// Writes the file. The number of rows that is reported is that of its call paths.
///
/// # Errors
/// If there is no profile and no trace, the file is there already, or it cannot be written.
pub fn run(common: &Common, args: &ConvertArgs) -> anyhow::Result<Outcome> {
    let target = file_target(common, &args.out)?;
    let session = Found::new(common).profile_or_made()?;
    let file = target.begin()?;
    let source = session.profile.source();
    let more = ouzel::formats::cube::write::write(source, file.writer())?;
    let notices = session.notices(more);
    let n_call_paths = source.definitions().call_tree.len() as u64;
    let size_bytes = file.complete().map_err(refused)?;
    written(&session, &notices, &[Written::new(&args.out, n_call_paths, size_bytes)])
}
