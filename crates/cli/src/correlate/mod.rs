//! `ouzel correlate`: which views vary over the topology like a given one.

mod data;
mod page;

use crate::args::correlate::CorrelateArgs;
use crate::args::{Common, OutputFormat};
use crate::exit::Outcome;
use crate::found::Found;
use crate::output;
use crate::profile_session::ProfileSession;
use crate::progress;
use ouzel::{Correlated, CorrelationQuery, CorrelationRun, Profile, Spectra};
use ouzel_plot::pictures::{self, CorrelationViews};

/// Runs the command.
///
/// # Errors
/// If there is neither profile nor trace, a name is unknown, there is no topology, or the answer cannot be written.
pub fn run(common: &Common, args: &CorrelateArgs) -> anyhow::Result<Outcome> {
    let session = Found::new(common).profile_or_made()?;
    let profile = &session.profile;
    let query = CorrelationQuery {
        metric: args.metric.clone(),
        path: args.call_path.clone(),
        axes: args.axes.clone(),
        topology: args.topology.clone(),
        top: args.top(),
        scope: args.scope.scope(),
        weights: args.weights.weights(),
        peak: args.peak.peak(),
    };
    let spectra = match &args.spectra {
        Some(file) => Spectra::In(file.clone()),
        None if args.no_cache => Spectra::Forget,
        None => Spectra::Keep,
    };
    let answer = progress::with_counts(common.progress, "views", |progress| {
        let run = CorrelationRun { jobs: common.jobs, spectra: &spectra, progress: Some(progress) };
        profile.correlate(&query, &run)
    })?;
    if let Some(target) = &common.outputs.plot {
        output::draw(&picture(&session, args, &answer)?, target)?;
    }
    let definitions = profile.definitions();
    let notices = session.notices(answer.notices.clone());
    match common.format {
        OutputFormat::Table | OutputFormat::Html => {
            session.write_page(&page::lines(&session, args, &answer))?;
        }
        OutputFormat::Json => {
            session.write_json("correlate", &notices, data::Data::new(definitions, &answer))?;
        }
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&answer.table(definitions))?,
    }
    Ok(session.end(&notices))
}

/// The reference and the first partners side by side.
fn picture(
    session: &ProfileSession<'_>,
    args: &CorrelateArgs,
    answer: &Correlated,
) -> anyhow::Result<ouzel_plot::Picture> {
    let profile: &Profile = &session.profile;
    let mut partners = Vec::new();
    for row in answer.answer.rows.iter().take(args.views.get()) {
        partners.push((row, profile.on_grid(answer, row.view)?));
    }
    let views = CorrelationViews {
        definitions: profile.definitions(),
        grid: &answer.grid,
        question: &answer.question,
        reference: profile.on_grid(answer, answer.question.reference)?,
        partners,
    };
    let style = (args.palette.palette(), args.draw.solid());
    let of = crate::terminal::style::clean(&profile.path().display().to_string());
    Ok(pictures::correlation(views, &of, style))
}
