//! `ouzel compare`: several runs side by side.

mod kernels;

use super::kernels::ByWhat;
use super::{origin, plot, rows};
use crate::args::{Common, MetricArgs, PlotArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::commands::profile::metrics;
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::names::call_path;
use crate::terminal::page::Page;
use crate::terminal::style::{Paint, clean};
use crate::terminal::units;
use anyhow::{Context, bail};
use clap::Args;
use ouzel::analyses::By;
use ouzel::efficiency::parts::iterations_of_longest_loop;
use ouzel::efficiency::{Efficiencies, Metric, PartKind, Scaling, TraceEfficiency};
use ouzel::engine::Coverage;
use ouzel::model::{Notice, Table, Unit};
use ouzel::multi_run::{Growth, MultiRunOutput, PlaceRow, Run, RunRow, growths, multi_run};
use ouzel::{Answer, EfficiencyQuery};
use ouzel_answers::CompareAnswer;
use ouzel_plot::Picture;
use ouzel_plot::pictures::{RegionInRuns, runs};
use std::path::Path;
use std::path::PathBuf;

pub const COMMAND: Command = Command::about_a_run::<CompareArgs>(
    "compare",
    &[Need::Calls.always(), Need::Counters.with("--metric"), Need::Streams.with("--by")],
);

/// Several runs side by side: how the program scales, and what grows
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel compare before/ after/
  ouzel compare p32/ p64/ p128/ --region 'MPI_*'
  ouzel compare p32/ p64/ --call-paths --top 20
  ouzel compare p32/ p64/ --format json | jq '.data.runs[] | {path, speed_up, efficiency}'
  ouzel compare before.json.gz after.json.gz --by kernel     kernels added, gone, changed
  ouzel compare trace.json.gz --by operator --step 3,5       two steps of one run
  ouzel compare traces/ --by kernel --rank 0,3               two ranks of one run

Regions and call paths are compared by name. What stops scaling is compared by iteration where the runs
have different numbers of them. The reference is the run with the fewest processes (the first of several):
speed-up is its run time / that of the other run; efficiency is speed-up × its processes / the other's.")]
pub struct CompareArgs {
    #[command(flatten)]
    pub metric: MetricArgs,

    /// The other traces
    #[arg(value_name = "OTHER", required_unless_present = "by")]
    pub others: Vec<PathBuf>,

    /// Compare call paths, not regions
    #[arg(long)]
    pub call_paths: bool,

    /// Compare what accelerators run: two traces, steps or ranks
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["call_paths", "metric", "plot_file"])]
    pub by: Option<ByWhat>,

    /// Only what is launched in the step of this number; two numbers compare two steps
    #[arg(long, value_name = "N[,N]", value_delimiter = ',', requires = "by")]
    pub step: Vec<u64>,

    /// Range around each step, with * and ?; by default ProfilerStep of PyTorch
    #[arg(long, value_name = "NAME", requires = "by")]
    pub step_range: Option<String>,

    /// Only what this rank runs; two numbers compare two ranks
    #[arg(long, value_name = "N[,N]", value_delimiter = ',', requires = "by")]
    pub rank: Vec<u32>,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for CompareArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        let session = Session::open(common)?;
        match self.by {
            Some(_) => kernels::run(&session, self),
            None => run(&session, self),
        }
    }
}

/// The first trace is opened; the others are opened one after the other, so that no two are in memory.
fn run(session: &Session<'_>, args: &CompareArgs) -> anyhow::Result<Outcome> {
    let metric = args.metric.metric.as_deref();
    if metric.is_some() && args.plot.plot_file.is_some() {
        bail!("--plot draws times: leave out --metric");
    }
    let by = if args.call_paths { By::CallPath } else { By::Region };
    let mut efficiencies = Vec::new();
    let mut of_run = |session: &Session<'_>, path: &Path| {
        let answer = profiled(session, path, by, metric)?;
        if metric.is_some() {
            return anyhow::Ok(answer);
        }
        let (efficiency, n_iterations) = efficiency(session)?;
        efficiencies.push((path.display().to_string().into(), efficiency));
        Ok(answer.map(|run| run.with_iterations(n_iterations)))
    };
    let mut answer = of_run(session, &session.common.path)?.map(|run| vec![run]);
    for path in &args.others {
        let other = Session::open_at(session.common, path)?;
        let Answer { output, coverage, notices, .. } = of_run(&other, path)?;
        answer.output.push(output);
        answer.coverage = together(answer.coverage, coverage);
        answer.notices.extend(notices);
    }
    answer.notices.sort_by_key(|notice| notice.level);
    let efficiencies = metric.is_none().then(|| Efficiencies::new(efficiencies, None));
    let scaling = efficiencies.as_ref().and_then(|of| of.scaling.scaling);
    let growths = scaling.map_or_else(Vec::new, |(scaling, _)| growths(&answer.output, scaling));
    let answer = answer.map(|runs| multi_run(&runs, by));
    plot(session, || picture(session, &answer.output))?;
    session.reply(
        &answer,
        |output| CompareAnswer::new((output, by), metric, efficiencies.as_ref(), &growths),
        |output| table(output, by, metric),
        |output, page| {
            write_page(session, output, args, page);
            if let Some(efficiencies) = &efficiencies {
                what_changed(page, output, efficiencies, &growths);
            }
        },
    )
}

/// The efficiencies of a run, and the number of iterations of its longest loop. What went wrong is told by the pass for
/// the profile.
fn efficiency(session: &Session<'_>) -> anyhow::Result<(TraceEfficiency, Option<u64>)> {
    let query = EfficiencyQuery { per: Some(PartKind::Iteration), ..EfficiencyQuery::default() };
    let mut output = session.answer(|trace, options| trace.efficiency(&query, options))?.output;
    let parts = output.parts.take().and_then(|(_, parts)| parts.ok());
    Ok((output, parts.and_then(|parts| iterations_of_longest_loop(&parts))))
}

/// Efficiencies side by side, and what stops scaling.
fn what_changed(page: &mut Page, output: &MultiRunOutput, efficiencies: &Efficiencies, growths: &[Growth]) {
    const MAX_GROWTHS: usize = 5;
    let metrics = [
        Metric::Parallel,
        Metric::LoadBalance,
        Metric::Communication,
        Metric::Serialisation,
        Metric::Transfer,
    ];
    let mut grid =
        Grid::default().with(GridColumn::text("", metrics.map(|metric| metric.in_words().to_owned())));
    for run in 0..efficiencies.runs.len() {
        let values = metrics.map(|metric| units::percent(efficiencies.value(run, metric).ok()));
        grid = grid.with(GridColumn::numbers(&format!("run {}", run + 1), values));
    }
    page.heading("How well the time was used");
    page.grid(2, &grid);
    if efficiencies
        .missing()
        .iter()
        .any(|missing| missing.metrics.iter().any(|metric| metrics.contains(metric)))
    {
        page.text(2, "- cannot be computed: ouzel efficiency has the reasons.", Paint::Dim);
    }
    let Some((scaling, _)) = efficiencies.scaling.scaling else { return };
    let (word, meaning) = match scaling {
        Scaling::Strong => ("strong", "the time of all processes together stays"),
        Scaling::Weak => ("weak", "the time of each process stays"),
    };
    page.heading(&format!("What stops scaling ({word}: ideally {meaning})"));
    if growths.is_empty() {
        page.text(2, "No call path takes more than ideally by over 1 % of the run time.", Paint::Plain);
    }
    for growth in growths.iter().take(MAX_GROWTHS) {
        let run = &output.runs[growth.run];
        let ideal = match growth.ideal_ns {
            0 => "the reference spends none here".to_owned(),
            ns => format!("ideally {}", units::time(ns)),
        };
        let iterations = match growth.iterations.filter(|_| 0 < growth.ideal_ns) {
            Some((own, reference)) => {
                let (own, reference) = (units::count(own), units::count(reference));
                format!(" for {own} iterations (the reference has {reference})")
            }
            None => String::new(),
        };
        let text = format!(
            "{}: {} per process with {}, {ideal}{iterations}",
            call_path(&growth.call_path, page.text_width().saturating_sub(4)),
            units::time(growth.mean_ns),
            units::counted(run.n_processes, "process", "processes"),
        );
        page.hanging("  ", 4, &text, Paint::Plain);
    }
}

/// One bar for each run, named by its number in the table and that of its processes.
fn picture(session: &Session<'_>, output: &MultiRunOutput) -> Picture {
    let name = |(run, i): (&RunRow, usize)| format!("{i} ({})", run.n_processes);
    let region =
        |row: &PlaceRow| RegionInRuns { name: row.place.join(" › "), mean_ns: row.mean_ns.clone() };
    let regions: Vec<RegionInRuns> = output.rows.iter().map(region).collect();
    runs(output.runs.iter().zip(1..).map(name).collect(), &regions, &origin(session))
}

/// What was read of both traces.
pub(super) fn together(a: Coverage, b: Coverage) -> Coverage {
    Coverage {
        locations: a.locations + b.locations,
        locations_selected: a.locations_selected + b.locations_selected,
        locations_complete: a.locations_complete + b.locations_complete,
        locations_damaged: a.locations_damaged + b.locations_damaged,
        events_read: a.events_read + b.events_read,
    }
}

fn profiled(session: &Session<'_>, path: &Path, by: By, metric: Option<&str>) -> anyhow::Result<Answer<Run>> {
    let definitions = session.definitions();
    let name = path.display().to_string();
    let mut answer = match metric {
        None => {
            let answer = session.answer(|trace, options| trace.call_path_profile(by, options))?;
            let range = answer.run_range;
            answer.map(|profile| Run::new(&name, &profile, definitions, range))
        }
        Some(metric) => {
            let id = metrics::one(definitions, metric).with_context(|| name.clone())?;
            let answer = session.answer(|trace, options| trace.call_path_gains(id, by, options))?;
            let range = answer.run_range;
            answer.map(|gains| Run::of_metric(&name, &gains, definitions, range))
        }
    };
    name_trace(&mut answer.notices, path);
    Ok(answer)
}

/// Names the trace that notices are about: locations of different traces have equal ids.
pub(super) fn name_trace(notices: &mut [Notice], path: &Path) {
    for notice in notices {
        notice.message = format!("{}: {}", path.display(), notice.message);
        notice.location = None;
    }
}

/// The table, with the counter's name in its columns.
fn table(output: &MultiRunOutput, by: By, metric: Option<&str>) -> Table {
    let mut table = output.table(by);
    for column in table.columns.iter_mut().filter(|_| metric.is_some()) {
        let (name, doc) = match &*column.name {
            "exclusive_ns" => {
                ("exclusive", "What the counter gained, minus that in callees, over all processes")
            }
            "mean_ns" => ("mean", "The same / number of processes"),
            _ => continue,
        };
        column.name = name.to_owned();
        column.doc = doc;
        column.unit = Unit::Count;
    }
    table
}

/// Columns for call paths.
const PATH_WIDTH: usize = 60;

fn write_page(session: &Session<'_>, output: &MultiRunOutput, args: &CompareArgs, page: &mut Page) {
    let runs = &output.runs;
    let numbers = || (1..=runs.len()).map(|i| i.to_string());
    let factor = |value: Option<f64>| units::number(value);
    let mark = |is_reference: bool| if is_reference { "reference" } else { "" }.to_owned();
    page.grid(
        0,
        &Grid::default()
            .with(GridColumn::numbers("run", numbers()))
            .with(
                GridColumn::text("trace", runs.iter().map(|run| run.name.to_string()))
                    .painted(Paint::Name)
                    .shortened(),
            )
            .with(GridColumn::numbers("processes", runs.iter().map(|run| units::count(run.n_processes))))
            .with(GridColumn::numbers("run time", runs.iter().map(|run| units::time(run.run_time_ns))))
            .with(GridColumn::numbers("speed-up", runs.iter().map(|run| factor(run.speed_up))))
            .with(GridColumn::numbers("efficiency", runs.iter().map(|run| units::percent(run.efficiency))))
            .with(GridColumn::text("", runs.iter().map(|run| mark(run.is_reference)))),
    );
    let n_shown = args.top.n_shown(output.rows.len());
    let shown: &[PlaceRow] = &output.rows[..n_shown];
    let (title, width) = if args.call_paths { ("call path", PATH_WIDTH) } else { ("region", usize::MAX) };
    let names = shown.iter().map(|row| call_path(&row.place, width));
    let mut grid = Grid::default().with(GridColumn::text(title, names).painted(Paint::Name).shortened());
    for i in 0..runs.len() {
        let shown_as = if args.metric.metric.is_some() { units::count } else { units::time };
        let times = shown.iter().map(|row| row.mean_ns[i].map_or_else(|| "-".to_owned(), shown_as));
        grid = grid.with(GridColumn::numbers(&format!("run {}", i + 1), times));
    }
    let change = |row: &PlaceRow| match (row.mean_ns.first(), row.mean_ns.last()) {
        (Some(&Some(before)), Some(&Some(after))) if 0 < before => {
            format!("× {}", units::number(Some(after as f64 / before as f64)))
        }
        _ => "-".to_owned(),
    };
    let uneven_in = |row: &PlaceRow, run: usize| match (row.max_ns[run], row.mean_ns[run]) {
        (Some(most), Some(mean)) if 0 < mean => units::number(Some(most as f64 / mean as f64)),
        _ => "-".to_owned(),
    };
    let uneven = |row: &PlaceRow| match (uneven_in(row, 0), uneven_in(row, runs.len() - 1)) {
        (before, after) if before == after => after,
        (before, after) => format!("{before} → {after}"),
    };
    if args.metric.metric.is_none() {
        grid = grid.with(GridColumn::numbers("max/mean", shown.iter().map(uneven)).optional(1));
    }
    grid = grid.with(GridColumn::numbers("last / first", shown.iter().map(change)));
    rows(page, &grid, n_shown, output.rows.len());
    let selected = if session.common.filter.is_everything() { "" } else { ", in the selection" };
    let what = args.metric.metric.as_deref().map_or_else(|| "time".to_owned(), clean);
    let uneven =
        if args.metric.metric.is_none() { "; max/mean of the first and of the last run" } else { "" };
    page.text(
        0,
        &format!("exclusive {what} per process, mean over all processes{selected}{uneven}"),
        Paint::Dim,
    );
}
