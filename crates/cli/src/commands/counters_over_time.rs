//! `ouzel counters-over-time`: what counters gained, and what other metrics were, over the run.

use super::{rows, title};
use crate::args::{Common, TimeBinArgs};
use crate::command::{Command, Need, Question};
use crate::commands::profile::metrics;
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::{measured, spark, units};
use clap::Args;
use ouzel::analyses::counters_over_time::{
    CounterBins, CountersOverTime, CountersOverTimeOutput, MetricOverTime,
};
use ouzel_answers::CountersOverTimeAnswer;

pub const COMMAND: Command =
    Command::about_a_run::<CountersOverTimeArgs>("counters-over-time", &[Need::Counters.always()]);

/// What counters gain, and what other metrics are, over time
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel counters-over-time scorep-run/
  ouzel counters-over-time scorep-run/ --metric 'PAPI_*' --bins 500 --format csv -o counters.csv

What a counter gains between two readings of a location is spread evenly over the time between them. A value
of another metric holds until the next one at its location; a bin has the least and the greatest of them.")]
pub struct CountersOverTimeArgs {
    /// Only metrics that match this pattern, e.g. 'PAPI_*' (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub metric: Vec<String>,

    #[command(flatten)]
    pub time: TimeBinArgs,
}

impl Question for CountersOverTimeArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &CountersOverTimeArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let chosen = metrics::of_any_kind(definitions, &args.metric)?;
    let answer = session.ask_in_bins(args.time.bins, |grid| CountersOverTime::new(grid, chosen.clone()))?;
    session.reply(
        &answer,
        |output| CountersOverTimeAnswer::new(output, definitions),
        |output| output.table(definitions),
        |output, page| write_page(session, output, page),
    )
}

const BARS_WIDTH: usize = 50;
/// Columns of the names and amounts before the bars.
const AMOUNTS_WIDTH: usize = 60;

fn write_page(session: &Session<'_>, output: &CountersOverTimeOutput, page: &mut Page) {
    title(session, page);
    if output.metrics.is_empty() {
        return;
    }
    let definitions = session.definitions();
    let of = |metric: &MetricOverTime| &definitions.metrics[metric.metric.index()];
    let room = BARS_WIDTH.min(page.width.saturating_sub(AMOUNTS_WIDTH));
    let all = || output.metrics.iter();
    let grid = Grid::default()
        .with(
            GridColumn::text("metric", all().map(|metric| of(metric).name.to_string()))
                .painted(Paint::Name)
                .shortened(),
        )
        .with(GridColumn::numbers("gain, or range", all().map(|metric| amount(metric, &of(metric).unit))))
        .with(
            GridColumn::text("over the run", all().map(|metric| bars(&metric.bins, room)))
                .painted(Paint::Bar),
        );
    rows(page, &grid, output.metrics.len(), output.metrics.len());
    let clock = &definitions.clock;
    let range = output.grid.range();
    let (start, end) = (clock.ns_from_ticks(range.start), clock.ns_from_ticks(range.end));
    let n_bins = units::counted(output.grid.n_bins() as u64, "bin", "bins");
    page.text(
        0,
        &format!("{n_bins} from {} to {}; --format csv has them", units::time(start), units::time(end)),
        Paint::Dim,
    );
}

/// What a counter gained in all, or between which values a metric was.
fn amount(metric: &MetricOverTime, unit: &str) -> String {
    match &metric.bins {
        CounterBins::Gains(gains) => {
            measured::value(gains.iter().fold(0, |sum: u64, gain| sum.saturating_add(*gain)) as f64, unit)
        }
        CounterBins::Values(values) => {
            let known = values.iter().flatten();
            let range = known.copied().reduce(|(low, high), (least, most)| (low.min(least), high.max(most)));
            range.map_or_else(String::new, |(low, high)| {
                format!("{} to {}", measured::value(low, unit), measured::value(high, unit))
            })
        }
    }
}

/// Gains, or the greatest values above zero, as bars.
fn bars(bins: &CounterBins, room: usize) -> String {
    match bins {
        CounterBins::Gains(gains) => spark::bars(gains, room),
        CounterBins::Values(values) => {
            let high = |bin: &Option<(f64, f64)>| bin.map_or(0.0, |(_, high)| high.max(0.0));
            let most = values.iter().map(high).fold(0.0, f64::max);
            // Bars have a few heights: a thousandth is more than enough.
            let scaled = |value: f64| if 0.0 < most { (1000.0 * value / most) as u64 } else { 0 };
            spark::bars(&values.iter().map(|bin| scaled(high(bin))).collect::<Vec<_>>(), room)
        }
    }
}
