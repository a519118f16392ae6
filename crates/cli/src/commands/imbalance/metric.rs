//! `--metric NAME`: how unevenly what a counter gained is spread.

use super::super::{first, rows, title};
use super::ImbalanceArgs;
use crate::commands::profile::metrics;
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::style::Paint;
use anyhow::bail;
use ouzel::analyses::By;
use ouzel::analyses::imbalance::imbalance;
use ouzel::model::Table;
use ouzel_answers::MetricImbalanceAnswer;

pub fn run(session: &Session<'_>, args: &ImbalanceArgs, by: By, name: &str) -> anyhow::Result<Outcome> {
    if args.plot.plot_file.is_some() {
        bail!("--plot draws the imbalance of time: leave out --metric");
    }
    let definitions = session.definitions();
    let id = metrics::one(definitions, name)?;
    let metric = &definitions.metrics[id.index()];
    let classes = ouzel::rules::semantics(args.rules.file())?.classes(definitions);
    let answer = session.answer(|trace, options| trace.call_path_gains(id, by, options))?.map(|gains| {
        let judged = imbalance(&gains, definitions, &classes, by);
        (gains, judged)
    });
    session.reply(
        &answer,
        |(gains, judged)| {
            MetricImbalanceAnswer::new(gains, judged, definitions, (by, args.top_ranks), metric)
        },
        |(gains, judged)| judged.table_of_metric(gains, definitions, by, metric, args.top_ranks),
        |(gains, judged), page| {
            title(session, page);
            let table = judged.table_of_metric(gains, definitions, by, metric, args.top_ranks);
            let n_shown = args.top.n_shown(table.n_rows());
            rows(page, &grid(&table.picked(&first(n_shown)), by), n_shown, table.n_rows());
            let text = format!("{} in {}, over {} processes", metric.name, metric.unit, judged.n_processes);
            page.text(0, &text, Paint::Dim);
        },
    )
}

fn grid(shown: &Table, by: By) -> Grid {
    let column = |name: &str, title: &str| GridColumn::of(shown, name, title);
    let name = match by {
        By::CallPath => ("call_path", "call path"),
        By::Region => ("region", "region"),
    };
    Grid::default()
        .with(column(name.0, name.1).naming())
        .with(column("imbalance", "imbalance"))
        .with(column("lost", "max − mean"))
        .with(column("mean", "mean"))
        .with(column("max", "max"))
        .with(column("max_rank", "of rank"))
        .with(column("min", "min"))
        .with(column("min_rank", "of rank"))
        .with(column("top_ranks", "ranks with most").optional(2))
}
