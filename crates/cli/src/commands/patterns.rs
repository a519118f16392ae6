//! `ouzel patterns`: which stretches of calls repeat.

use super::{regions_near, rows, title};
use crate::args::Common;
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::{spark, units};
use anyhow::{Context, bail};
use clap::Args;
use ouzel::analyses::patterns::{CallSeries, PatternError, PatternOptions, PatternsOutput, patterns};
use ouzel::model::{ColumnData, Definitions, Level, Notice, NoticeCode, RegionId, Table, Unit, WorldRank};
use ouzel_answers::{Occurrence, PatternsAnswer};
use std::num::NonZeroUsize;

pub const COMMAND: Command = Command::about_a_run::<PatternsArgs>("patterns", &[Need::Calls.always()]);

/// Which sequences of calls repeat, and when
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel patterns scorep-run/
  ouzel patterns scorep-run/ --start timestep
  ouzel patterns scorep-run/ --rank 3 --iterations 20 --format json | jq '.data.occurrences[0]'

The exclusive times of one rank's calls, in order of entry, are compared with themselves (matrix profile);
the sequence that repeats best is the pattern. Without --start, the region that begins it is detected. For
loops of all ranks, found from the structure of calls, see ouzel iterations.")]
pub struct PatternsArgs {
    /// Look from the first entry of this region to its last leave [default: detected]
    #[arg(long, value_name = "REGION")]
    pub start: Option<String>,

    /// The rank whose calls are compared [default: the lowest selected]
    #[arg(long, value_name = "RANK")]
    pub rank: Option<u32>,

    /// Maximum number of occurrences of the pattern [default: visits of the start region]
    #[arg(long, value_name = "N")]
    pub iterations: Option<NonZeroUsize>,

    /// Number of calls in the pattern, at least 3 [default: calls / iterations]
    #[arg(long, value_name = "N")]
    pub window: Option<NonZeroUsize>,
}

impl Question for PatternsArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &PatternsArgs) -> anyhow::Result<Outcome> {
    let (definitions, common) = (session.definitions(), session.common);
    let start = args.start.as_deref().map(|name| region(definitions, name)).transpose()?;
    let rank = args.rank.map(WorldRank);
    let series = session.ask(CallSeries { rank })?;
    let options = PatternOptions {
        start,
        iterations: args.iterations,
        window: args.window.map(NonZeroUsize::get),
        distance_max: None,
    };
    let mut why = None;
    let found = match patterns(&series.output, &options, common.jobs, None) {
        Ok(found) => Some(found),
        Err(
            error @ (PatternError::NothingRepeats | PatternError::TooShort { .. } | PatternError::NoCalls),
        ) => {
            why = Some(format!("no pattern: {error}"));
            None
        }
        Err(error) => return Err(error).context("no patterns"),
    };
    let mut answer = series.map(|_| found);
    if let Some(message) = why {
        answer.notices.push(Notice::new(Level::Low, NoticeCode::NotAvailable, message));
    }
    session.reply(
        &answer,
        |found| PatternsAnswer::new(found.as_ref(), definitions),
        |found| match found {
            Some(found) => found.table(&definitions.clock),
            None => nothing(),
        },
        |found, page| write_page(session, found.as_ref(), page),
    )
}

/// The table without occurrences.
fn nothing() -> Table {
    let (start, end) = (ColumnData::U64(Vec::new()), ColumnData::U64(Vec::new()));
    Table::new("occurrences")
        .with("start_ns", Unit::Nanoseconds, "When its first call was entered", start)
        .with("end_ns", Unit::Nanoseconds, "When its last call was left", end)
        .with("distance", Unit::None, "Distance to the motif", ColumnData::F64(Vec::new()))
}

/// The region of that name.
fn region(definitions: &Definitions, name: &str) -> anyhow::Result<RegionId> {
    match definitions.regions.iter().position(|region| &*region.name == name) {
        Some(place) => Ok(RegionId::from_index(place)),
        None => {
            let near = regions_near(definitions, name);
            bail!("no region is called {name:?}{near}; ouzel profile lists the regions of the trace")
        }
    }
}

/// Occurrences that a page lists; other formats have all.
const MAX_SHOWN: usize = 30;

fn write_page(session: &Session<'_>, found: Option<&PatternsOutput>, page: &mut Page) {
    title(session, page);
    if found.is_none() {
        return;
    }
    let data = PatternsAnswer::new(found, session.definitions());
    let durations: Vec<u64> =
        data.occurrences.iter().map(|it| it.end_ns.saturating_sub(it.start_ns)).collect();
    let shown = &data.occurrences[..MAX_SHOWN.min(data.occurrences.len())];
    let texts = |value: &dyn Fn(&Occurrence) -> u64| {
        shown.iter().map(|it| units::time(value(it))).collect::<Vec<_>>()
    };
    let grid = Grid::default()
        .with(GridColumn::numbers("occurrence", (0..shown.len()).map(|i| i.to_string())))
        .with(GridColumn::numbers("from", texts(&|it| it.start_ns)))
        .with(GridColumn::numbers("to", texts(&|it| it.end_ns)))
        .with(GridColumn::numbers("takes", texts(&|it| it.end_ns.saturating_sub(it.start_ns))))
        .with(GridColumn::numbers("distance", shown.iter().map(|it| units::number(Some(it.distance)))));
    page.gap();
    page.lines.push(page.style.paint(Paint::Bar, &spark::bars(&durations, page.text_width())));
    rows(page, &grid, shown.len(), shown.len());
    let n = units::counted(durations.len() as u64, "occurrence", "occurrences");
    let rank = data.rank.map(|rank| format!(" of rank {rank}")).unwrap_or_default();
    let start = data.start.unwrap_or_default();
    let window = data.window.unwrap_or(0);
    page.text(
        0,
        &format!(
            "{n} of {window} calls{rank} within {start}; as a filter: --time START..END; --format csv has all"
        ),
        Paint::Dim,
    );
}
