//! `ouzel correlate`: which views vary over the topology like a given one.

mod page;

use crate::args::{Common, OutputFormat, PlotArgs, Scope};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::found::Found;
use crate::output;
use crate::profile_session::ProfileSession;
use crate::progress;
use clap::{Args, ValueEnum};
use ouzel::correlate::Peak;
use ouzel::correlate::Weights;
use ouzel::{Correlated, CorrelationQuery, CorrelationRun, Profile, Spectra};
use ouzel_answers::{CorrelateAnswer, PlacedAnswer};
use ouzel_plot::Palette;
use ouzel_plot::fields::Solid;
use ouzel_plot::pictures::{self, CorrelationViews};
use std::num::NonZeroUsize;
use std::path::PathBuf;

pub const COMMAND: Command = Command::about_a_run::<CorrelateArgs>("correlate", &[Need::Calls.always()]);

/// Metrics and call paths that vary over the machine's topology like a given one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel correlate profile.cubex --metric time --path MPI_Allreduce
  ouzel correlate profile.cubex --metric time --path main/solve --axes x,y --plot alike.svg
  ouzel correlate scorep-run/ --topology 16x8x4 --top 50     a trace is counted in one pass first
  ouzel correlate profile.cubex --all --format csv -o all.csv
  ouzel correlate profile.cubex --values --metric time --path solve     its values at each place, unranked

A view is one metric of one call path over all locations. Views are ranked by |r|: 1 means equal except for
scale, offset and shift along the axes. Only variation along --axes counts; the rest is filtered out.
Columns:
  r          the correlation at the shift where its magnitude is largest
  sign       like: high where the reference is high; against: low there
  shift      in places along each axis, wrapping around: where the view has the reference's pattern
  r_max, r_min   the extremes over all shifts
  coverage   share of places where the view has a value
The topology is the first that the profile defines and that fits its locations, else compute node × process ×
thread from the system tree. With sizes given by hand, locations fill the places in order, last axis fastest.
A topology of more than 4,096 places and more than 64 per location is cut to the part in use, or refused.
Spectra of 16 MB to 4 GB are kept for the next query, in $XDG_CACHE_HOME/ouzel or ~/.cache/ouzel.
The cache holds up to 8 GB; the least recently used file goes first.
Name a call path by its region, by nested regions (solve/MPI_*, /main/solve), or by its id.
How each number is computed: docs/method.md")]
pub struct CorrelateArgs {
    /// The metric of the reference [default: time]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,

    /// The call path of the reference: a region, a/b/c, or an id [default: the largest total]
    #[arg(long = "path", value_name = "PATH")]
    pub call_path: Option<String>,

    /// Only variation along these axes, by name or number [default: all]
    #[arg(long, value_name = "AXES", value_delimiter = ',')]
    pub axes: Vec<String>,

    /// Number of views to show, largest |r| first (0: all)
    #[arg(long, value_name = "N", default_value_t = 20, conflicts_with = "all")]
    pub top: usize,

    /// Show all views
    #[arg(long)]
    pub all: bool,

    /// Values without or with those of callees
    #[arg(long, value_enum, default_value_t = Scope::Exclusive, value_name = "SCOPE")]
    pub scope: Scope,

    /// A topology of the profile by name or number, or sizes by hand: 16x8x4, node=16,core=8
    #[arg(long, value_name = "NAME|SIZES")]
    pub topology: Option<String>,

    /// How a wave is weighted by axis: by waves over the whole axis, or by waves per place
    #[arg(long, value_enum, default_value_t = WeightsArg::Poster, value_name = "HOW")]
    pub weights: WeightsArg,

    /// Which extreme over all shifts ranks views: the largest magnitude, or the maximum
    #[arg(long, value_enum, default_value_t = PeakArg::Absolute, value_name = "WHICH")]
    pub peak: PeakArg,

    /// Compare nothing: show the values of the reference at each place
    #[arg(long, conflicts_with_all = ["spectra", "plot_file"])]
    pub values: bool,

    /// Neither keep spectra for the next query nor use kept ones
    #[arg(long, help_heading = "Running")]
    pub no_cache: bool,

    /// Keep spectra in this file, and use it [default: in the user's cache folder, from 16 MB on]
    #[arg(long, value_name = "FILE", conflicts_with = "no_cache", help_heading = "Running")]
    pub spectra: Option<PathBuf>,

    #[command(flatten)]
    pub plot: PlotArgs,

    /// Number of views to draw beside the reference
    #[arg(long, value_name = "N", default_value = "3", requires = "plot_file", help_heading = "Output")]
    pub views: NonZeroUsize,

    /// Colours of the picture
    #[arg(long, value_enum, default_value_t = PaletteArg::Cividis, value_name = "PALETTE",
        requires = "plot_file", help_heading = "Output")]
    pub palette: PaletteArg,

    /// How to draw three or more axes
    #[arg(long, value_enum, default_value_t = SolidArg::Slices, value_name = "HOW", requires = "plot_file",
        help_heading = "Output")]
    pub draw: SolidArg,
}

impl CorrelateArgs {
    /// How many of the best; `None`: all.
    pub fn top(&self) -> Option<NonZeroUsize> {
        if self.all { None } else { NonZeroUsize::new(self.top) }
    }

    fn query(&self) -> CorrelationQuery {
        CorrelationQuery {
            metric: self.metric.clone(),
            path: self.call_path.clone(),
            axes: self.axes.clone(),
            topology: self.topology.clone(),
            top: self.top(),
            scope: self.scope.scope(),
            weights: self.weights.weights(),
            peak: self.peak.peak(),
        }
    }
}

impl Question for CorrelateArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(common, self)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WeightsArg {
    Poster,
    Physical,
}

impl WeightsArg {
    pub fn weights(self) -> Weights {
        match self {
            WeightsArg::Poster => Weights::Poster,
            WeightsArg::Physical => Weights::Physical,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PeakArg {
    Absolute,
    Max,
}

impl PeakArg {
    pub fn peak(self) -> Peak {
        match self {
            PeakArg::Absolute => Peak::Absolute,
            PeakArg::Max => Peak::Greatest,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PaletteArg {
    /// Blue to yellow, readable for the colour-blind
    Cividis,
    /// Violet to yellow, readable for the colour-blind
    Viridis,
    /// Green is small, red is large
    GreenYellowRed,
}

impl PaletteArg {
    pub fn palette(self) -> Palette {
        match self {
            PaletteArg::Cividis => Palette::Cividis,
            PaletteArg::Viridis => Palette::Viridis,
            PaletteArg::GreenYellowRed => Palette::GreenYellowRed,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SolidArg {
    /// Heat maps, one for each place of the other axes
    Slices,
    /// Blocks of small cubes that show their surface
    Cubes,
}

impl SolidArg {
    pub fn solid(self) -> Solid {
        match self {
            SolidArg::Slices => Solid::Slices,
            SolidArg::Cubes => Solid::Cubes,
        }
    }
}

fn run(common: &Common, args: &CorrelateArgs) -> anyhow::Result<Outcome> {
    let session = Found::new(common).profile_or_made()?;
    let profile = &session.profile;
    let query = args.query();
    if args.values {
        return values(&session, args, &query);
    }
    let spectra = match &args.spectra {
        Some(file) => Spectra::In(file.clone()),
        None if args.no_cache => Spectra::Forget,
        None => Spectra::Keep,
    };
    let answer = progress::with_counts(common, "views", |progress| {
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
            session.write_json(
                session.common.command,
                &notices,
                CorrelateAnswer::new(definitions, &answer),
            )?;
        }
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&answer.table(definitions))?,
    }
    Ok(session.end(&notices))
}

/// One view at its places, without a ranking.
fn values(
    session: &ProfileSession<'_>,
    args: &CorrelateArgs,
    query: &CorrelationQuery,
) -> anyhow::Result<Outcome> {
    let placed = session.profile.placed(query)?;
    let definitions = session.profile.definitions();
    let notices = session.notices(placed.notices.clone());
    match session.common.format {
        OutputFormat::Table | OutputFormat::Html => {
            session.write_page(&page::placed(session, args, &placed))?;
        }
        OutputFormat::Json => {
            session.write_json("topology", &notices, PlacedAnswer::new(definitions, &placed))?;
        }
        OutputFormat::Csv | OutputFormat::Parquet => session.write_table(&placed.table(definitions))?,
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
    let of = ouzel_plot::style::short_name(profile.path());
    Ok(pictures::correlation(views, &of, style))
}
