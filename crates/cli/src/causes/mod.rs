//! `ouzel causes`: are there bottlenecks in a profile, where, and why.

mod page;

use crate::args::causes::CausesArgs;
use crate::args::{Common, OutputFormat};
use crate::exit::Outcome;
use crate::found::Found;
use crate::rules;
use ouzel::causes::Options;

/// Runs the command.
///
/// # Errors
/// If there is neither profile nor trace, no metric represents time, or the answer cannot be written.
pub fn run(common: &Common, args: &CausesArgs) -> anyhow::Result<Outcome> {
    let semantics = rules::semantics(args.rules.file())?;
    let session = Found::new(common).profile_or_made()?;
    let options = Options {
        metric: args.metric.as_deref(),
        exclude: args.exclude.as_ref(),
        clustering: args.clustering.rule(),
        waiting: &[],
        printed_rates: args.printed_rates,
        jobs: common.jobs,
        ..Options::default()
    };
    let semantics = (!args.with_communication).then_some(&semantics);
    let causes = session.profile.causes(semantics, &options)?;
    let notices = session.notices(causes.notices.clone());
    match common.format {
        OutputFormat::Table | OutputFormat::Html => {
            session.write_page(&page::lines(&session, args, &causes))?;
        }
        OutputFormat::Json => session.write_json("causes", &notices, &causes)?,
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&causes.table())?,
    }
    Ok(session.end(&notices))
}
