//! `ouzel imbalance`: how unevenly each region's time is spread over the ranks.

mod metric;

use super::{first, origin, plot, rows, title};
use crate::args::{Common, MetricArgs, PlotArgs, RuleArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use clap::Args;
use ouzel::analyses::By;
use ouzel::analyses::imbalance::imbalance;
use ouzel::model::Table;
use ouzel_answers::ImbalanceAnswer;
use ouzel_plot::pictures;

pub const COMMAND: Command = Command::about_a_run::<ImbalanceArgs>(
    "imbalance",
    &[Need::Ranks.always(), Need::Counters.with("--metric")],
);

/// How unevenly each region's time is spread over the ranks
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel imbalance scorep-run/
  ouzel imbalance scorep-run/ --call-paths --top 50
  ouzel imbalance scorep-run/ --plot imbalance.svg

imbalance = max / mean of the exclusive time over all ranks; a rank that never runs the region counts as 0.
max − mean is what the slowest rank would save if the time were spread evenly; rows are sorted by it.")]
pub struct ImbalanceArgs {
    #[command(flatten)]
    pub metric: MetricArgs,

    /// Number of ranks with the most to name in each row
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub top_ranks: usize,

    /// One row for each call path instead of each region
    #[arg(long)]
    pub call_paths: bool,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for ImbalanceArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &ImbalanceArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let classes = ouzel::rules::semantics(args.rules.file())?.classes(definitions);
    let by = if args.call_paths { By::CallPath } else { By::Region };
    if let Some(name) = &args.metric.metric {
        return metric::run(session, args, by, name);
    }
    let answer = session.answer(|trace, options| trace.call_path_profile(by, options))?.map(|profile| {
        let judged = imbalance(&profile, definitions, &classes, by);
        (profile, judged)
    });
    plot(session, || pictures::imbalance(&answer.output.1, definitions, &origin(session)))?;
    session.reply(
        &answer,
        |(profile, judged)| ImbalanceAnswer::new(profile, judged, definitions, by, args.top_ranks),
        |(profile, judged)| judged.table(profile, definitions, by, args.top_ranks),
        |(profile, judged), page| {
            write_page(
                session,
                &judged.table(profile, definitions, by, args.top_ranks),
                judged.n_processes,
                args,
                page,
            );
        },
    )
}

fn write_page(session: &Session<'_>, table: &Table, n_processes: u64, args: &ImbalanceArgs, page: &mut Page) {
    title(session, page);
    let n_rows = table.n_rows();
    let n_shown = args.top.n_shown(n_rows);
    let shown = table.picked(&first(n_shown));
    let lost = shown.values::<u64>("lost_ns");
    let largest = lost.iter().copied().max().unwrap_or(0);
    let ratio = shown.values::<f64>("imbalance").iter().map(|&ratio| units::number(Some(ratio)));
    let name = if args.call_paths { ("call_path", "call path") } else { ("region", "region") };
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let grid = Grid::default()
        .with(column(name.0, name.1).naming())
        .with(GridColumn::numbers("imbalance", ratio))
        .with(column("lost_ns", "max − mean"))
        .with(
            GridColumn::text("", lost.iter().map(|&ns| units::bar(ns, largest, 10)))
                .painted(Paint::Bar)
                .optional(2),
        )
        .with(column("mean_ns", "mean"))
        .with(column("max_ns", "max"))
        .with(column("max_rank", "of rank"))
        .with(column("min_ns", "min").optional(3))
        .with(column("min_rank", "of rank").optional(4))
        .with(column("top_ranks", "ranks with most").optional(5));
    rows(page, &grid, n_shown, n_rows);
    if n_rows == 0 {
        page.text(0, "no region was entered in the selection", Paint::Plain);
        return;
    }
    let of = match n_processes {
        1 => "only one process: there is nothing to compare it with".to_owned(),
        n => format!("compared over {}", units::counted(n, "process", "processes")),
    };
    page.text(0, &format!("{} · {of}", units::counted(n_rows as u64, "row", "rows")), Paint::Dim);
}
