//! A profile as `.cubex`, or everything that is counted of a trace.

use super::tables::FileInWork;
use super::tables::severities::written;
use crate::args::{Common, ConvertArgs};
use crate::exit::Outcome;
use crate::profile_session::ProfileSession;
use anyhow::bail;

/// Writes. The rows of the file that is told are its call paths.
///
/// # Errors
/// If there is no profile and no trace, the file is there already, or it cannot be written.
pub fn run(common: &Common, args: &ConvertArgs) -> anyhow::Result<Outcome> {
    let out = &args.out;
    if out.exists() && !args.force {
        bail!("{out:?} is there already: --force replaces it");
    }
    let session = ProfileSession::open_or_make(common)?;
    let mut file = FileInWork::new(out.clone());
    let source = session.profile.source();
    let more = ouzel::formats::cube::write::write(source, file.open()?)?;
    let notices = session.notices(more);
    let n_call_paths = source.definitions().call_tree.len() as u64;
    written(&session, &notices, &[file.complete(n_call_paths)?])
}
