//! `--metric NAME`: how unevenly what a counter gained is spread.

use super::super::{first, rows, title};
use super::ImbalanceArgs;
use crate::commands::profile::metrics;
use crate::exit::Outcome;
use crate::rules;
use crate::session::{Session, taken};
use crate::terminal::grid::{Grid, GridColumn, Importance};
use crate::terminal::style::Paint;
use anyhow::bail;
use ouzel::Answer;
use ouzel::analyses::imbalance::{ImbalanceOutput, imbalance, top_ranks};
use ouzel::analyses::metric_profile::MetricProfile;
use ouzel::analyses::profile::{Profile, ProfileOutput};
use ouzel::analyses::{By, RowKey};
use ouzel::engine::AnalysisSet;
use ouzel::model::{Definitions, Metric, Table};
use serde::Serialize;
use std::sync::Arc;

/// The `data` of the JSON answer.
#[derive(Debug, Serialize)]
struct Data {
    n_processes: u64,
    metric: Arc<str>,
    unit: Arc<str>,
    /// Largest `max − mean` first.
    rows: Vec<Entry>,
}

/// Values in the unit of the counter.
#[derive(Debug, Serialize)]
struct Entry {
    region: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_path: Option<Vec<Arc<str>>>,
    imbalance: f64,
    mean: u64,
    max: u64,
    min: u64,
    lost: u64,
    top_ranks: Vec<u32>,
}

pub fn run(session: &Session<'_>, args: &ImbalanceArgs, by: By, name: &str) -> anyhow::Result<Outcome> {
    if args.plot.plot_file.is_some() {
        bail!("--plot draws the imbalance of time: leave out --metric");
    }
    let definitions = session.definitions();
    let id = metrics::one(definitions, name)?;
    let metric = &definitions.metrics[id.index()];
    let classes = rules::semantics(args.rules.file())?.classes(definitions);
    let mut set = AnalysisSet::default();
    let (profile, counters) = (set.add(Profile), set.add(MetricProfile));
    let mut report = session.run(&set)?;
    let profile = taken(report.outputs.take(&profile), "profile")?;
    let gains = taken(report.outputs.take(&counters), "counters")?.in_place_of_time(&profile, id);
    let judged = imbalance(&gains, definitions, &classes, by);
    let answer = Answer::new(judged, report);
    session.reply(
        "imbalance",
        &answer,
        |judged| data(&gains, judged, definitions, by, metric, args.top_ranks),
        |judged| judged.table_of_metric(&gains, definitions, by, metric, args.top_ranks),
        |judged, page| {
            title(session, page);
            let table = judged.table_of_metric(&gains, definitions, by, metric, args.top_ranks);
            let n_shown = args.top.n_shown(table.n_rows());
            rows(page, &grid(&crate::rows::picked(&table, &first(n_shown))), n_shown, table.n_rows());
            let text = format!("{} in {}, over {} processes", metric.name, metric.unit, judged.n_processes);
            page.text(0, &text, Paint::Dim);
        },
    )
}

fn data(
    gains: &ProfileOutput,
    judged: &ImbalanceOutput,
    definitions: &Definitions,
    by: By,
    metric: &Metric,
    n_top: usize,
) -> Data {
    let tops = top_ranks(gains, definitions, by, n_top);
    let name = |region| definitions.region(region).name.clone();
    let path = |key: &RowKey| {
        key.call_path.map(|path| gains.call_paths.regions(path).into_iter().map(name).collect())
    };
    let rows = judged.rows.iter().map(|row| Entry {
        region: name(row.key.region),
        call_path: path(&row.key),
        imbalance: row.imbalance,
        mean: row.exclusive.mean().rounded(),
        max: row.exclusive.max.0,
        min: row.exclusive.min.0,
        lost: row.lost.rounded(),
        top_ranks: tops.get(&row.key).cloned().unwrap_or_default(),
    });
    Data {
        n_processes: judged.n_processes,
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        rows: rows.collect(),
    }
}

fn grid(shown: &Table) -> Grid {
    let column = |name: &str, title: &str| GridColumn::of(shown, name, title);
    let name =
        if shown.column("call_path").is_some() { ("call_path", "call path") } else { ("region", "region") };
    Grid::default()
        .with_some(column(name.0, name.1).map(|c| c.painted(Paint::Name).importance(Importance::Shortened)))
        .with_some(column("imbalance", "imbalance"))
        .with_some(column("lost", "max − mean"))
        .with_some(column("mean", "mean"))
        .with_some(column("max", "max"))
        .with_some(column("max_rank", "of rank"))
        .with_some(column("min", "min"))
        .with_some(column("min_rank", "of rank"))
        .with_some(column("top_ranks", "ranks with most").map(|c| c.importance(Importance::Optional(2))))
}
