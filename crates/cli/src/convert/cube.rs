//! A profile as `.cubex`.

use crate::args::{Common, ConvertArgs};
use crate::exit::Outcome;
use crate::profile_session::ProfileSession;
use anyhow::{Context, bail};
use std::fs::File;
use std::io::BufWriter;

/// Writes.
///
/// # Errors
/// If there is no profile, the file is there already, or it cannot be written.
pub fn run(common: &Common, args: &ConvertArgs) -> anyhow::Result<Outcome> {
    let session = ProfileSession::open(common)?;
    let out = &args.out;
    if out.exists() && !args.force {
        bail!("{out:?} is there already: --force replaces it");
    }
    let file = File::create(out).with_context(|| format!("cannot write {out:?}"))?;
    let more = ouzel::formats::cube::write::write(session.profile.source(), BufWriter::new(file))?;
    let notices = session.notices(more);
    Ok(session.end(&notices))
}
