//! `ouzel clusters`: which ranks behave alike.

mod page;

use crate::args::{ClustersArgs, Common};
use crate::exit::Outcome;
use crate::rules;
use crate::session::Session;
pub use ouzel::diagnose::clusters as data;

/// Runs the command.
///
/// # Errors
/// If the trace cannot be opened or the answer cannot be written.
pub fn run(common: &Common, args: &ClustersArgs) -> anyhow::Result<Outcome> {
    let semantics = rules::semantics(args.rules.file())?;
    let session = Session::open(common)?;
    let definitions = session.definitions();
    let answer = session.answer(|trace, options| trace.clusters(&semantics, options))?;
    session.reply(
        "clusters",
        &answer,
        |data| data,
        |data| data.table(definitions),
        |data, page| page::write(page, &session, data, args.top),
    )
}
