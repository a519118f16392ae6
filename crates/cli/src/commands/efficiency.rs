//! `ouzel efficiency`: how well the time was used, in one or several runs.

use super::compare::{name_trace, together};
use super::{origin, plot, rows};
use crate::args::{Common, PeriodArgs, PlotArgs, RuleArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::names::call_path;
use crate::terminal::page::Page;
use crate::terminal::style::{Paint, clean};
use crate::terminal::units;
use clap::{Args, ValueEnum};
use ouzel::efficiency::{
    Efficiencies, HybridModel, Metric, MissingValues, Part, PartKind, Reason, Scaling, ScalingBasis,
    TraceEfficiency,
};
use ouzel::{Answer, EfficiencyQuery};
use ouzel_answers::EfficiencyAnswer;
use ouzel_plot::pictures::{self, ACCEPTABLE};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const COMMAND: Command = Command::about_a_run::<EfficiencyArgs>("efficiency", &[Need::Calls.always()]);

/// How well the time was used, in one run or several: the POP efficiencies
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel efficiency scorep-run/
  ouzel efficiency p32/ p64/ p128/ --plot scaling.svg
  ouzel efficiency scorep-run/ --hybrid additive
  ouzel efficiency scorep-run/ --per iteration --format csv

With the useful (computing) time u of each thread and the run time T:
  parallel efficiency = mean(u)/T = load balance mean(u)/max(u) × communication efficiency max(u)/T
From 80 % on an efficiency is acceptable. Several runs are compared with the one that has the fewest
threads; the data tell strong from weak scaling. Values that cannot be computed are followed by the
reason. docs/method.md has the formulas.")]
pub struct EfficiencyArgs {
    /// More traces, to see how the program scales
    #[arg(value_name = "OTHER")]
    pub others: Vec<PathBuf>,

    /// Also show the efficiencies of each part of the run
    #[arg(long, value_enum, value_name = "WHAT")]
    pub per: Option<PerPart>,

    /// Split the loss between processes and threads, by this model
    #[arg(long, value_enum, value_name = "MODEL")]
    pub hybrid: Option<Hybrid>,

    /// How the problem grows with the number of threads [default: told by the data]
    #[arg(long, value_enum, value_name = "HOW")]
    pub scaling: Option<HowScaled>,

    #[command(flatten)]
    pub rules: RuleArgs,

    #[command(flatten)]
    pub period: PeriodArgs,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

/// Parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PerPart {
    /// What leads up to each synchronisation of all ranks
    Segment,
    /// Each iteration of the outermost loops of synchronisations
    Iteration,
    /// Parts of the run in which the same ranks have most to do
    Epoch,
    /// Each group of threads that behave alike
    Cluster,
    /// The program without start-up and end: from MPI_Init to MPI_Finalize
    Program,
}

/// Ways to split the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Hybrid {
    /// Factors for MPI and OpenMP
    Multiplicative,
    /// Terms for processes and threads
    Additive,
    /// Factors as TALP computes them
    Talp,
}

/// How the problem grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HowScaled {
    /// Not at all
    Strong,
    /// With the number of threads
    Weak,
}

impl Question for EfficiencyArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(&common.sampled(&self.period))?, self)
    }
}

impl EfficiencyArgs {
    fn query(&self) -> anyhow::Result<EfficiencyQuery> {
        Ok(EfficiencyQuery {
            semantics: ouzel::rules::semantics(self.rules.file())?,
            hybrid: self.hybrid.map(|model| match model {
                Hybrid::Multiplicative => HybridModel::Multiplicative,
                Hybrid::Additive => HybridModel::Additive,
                Hybrid::Talp => HybridModel::Talp,
            }),
            per: self.per.map(|per| match per {
                PerPart::Segment => PartKind::Segment,
                PerPart::Iteration => PartKind::Iteration,
                PerPart::Epoch => PartKind::Epoch,
                PerPart::Cluster => PartKind::Cluster,
                PerPart::Program => PartKind::Program,
            }),
        })
    }

    fn stated(&self) -> Option<Scaling> {
        self.scaling.map(|how| match how {
            HowScaled::Strong => Scaling::Strong,
            HowScaled::Weak => Scaling::Weak,
        })
    }
}

/// The first trace is opened; the others are opened one after the other, so that no two are in memory.
fn run(session: &Session<'_>, args: &EfficiencyArgs) -> anyhow::Result<Outcome> {
    let query = args.query()?;
    let of = |session: &Session<'_>, path: &Path| {
        let name: Arc<str> = path.display().to_string().into();
        let answer = session.answer(|trace, options| trace.efficiency(&query, options))?;
        anyhow::Ok(answer.map(|run| (name, run)))
    };
    let first = &session.common.path;
    let mut answer = of(session, first)?.map(|run| vec![run]);
    if !args.others.is_empty() {
        name_trace(&mut answer.notices, first);
    }
    for path in &args.others {
        let other = Session::open_at(session.common, path)?;
        let Answer { output, coverage, mut notices, .. } = of(&other, path)?;
        name_trace(&mut notices, path);
        answer.output.push(output);
        answer.coverage = together(answer.coverage, coverage);
        answer.notices.extend(notices);
    }
    answer.notices.sort_by_key(|notice| std::cmp::Reverse(notice.level));
    let answer = answer.map(|runs| Efficiencies::new(runs, args.stated()));
    plot(session, || pictures::efficiencies(&answer.output, &origin(session)))?;
    session.reply(&answer, EfficiencyAnswer::new, Efficiencies::table, |output, page| {
        write_page(session, output, args, page);
    })
}

/// Characters of the names of metrics, of a column of values, and of a bar.
const NAMES_WIDTH: usize = 36;
const VALUE_WIDTH: usize = 12;
const BAR_WIDTH: usize = 20;
/// Characters of a call path.
const PATH_WIDTH: usize = 40;

fn write_page(session: &Session<'_>, output: &Efficiencies, args: &EfficiencyArgs, page: &mut Page) {
    page.title(&session.asked());
    if output.are_several() {
        page.gap();
        page.grid(0, &names(output));
        page.text(0, &how_scaled(output), Paint::Plain);
    }
    let n_columns = (page.width.saturating_sub(NAMES_WIDTH) / VALUE_WIDTH).max(1);
    let runs: Vec<usize> = (0..output.runs.len()).collect();
    for runs in runs.chunks(n_columns) {
        if output.are_several() {
            page.gap();
        }
        page.grid(0, &table(output, runs));
    }
    page.gap();
    let marks = match session.common.page_colour {
        true => "Green from 80 %, which is acceptable; yellow from 60 %; red below.",
        false => "From 80 % on, an efficiency is acceptable.",
    };
    page.text(0, marks, Paint::Dim);
    write_missing(output, page);
    for (i, (_, run)) in output.runs.iter().enumerate() {
        if let Some((kind, parts)) = &run.parts {
            write_parts((output, i), (*kind, parts), args, page);
        }
    }
}

/// Which run is which.
fn names(output: &Efficiencies) -> Grid {
    let numbers = (1..=output.runs.len()).map(|i| i.to_string());
    let mark = |i: usize| if output.scaling.reference == Some(i) { "reference" } else { "" }.to_owned();
    let paths = output.runs.iter().map(|(name, _)| name.to_string());
    Grid::default()
        .with(GridColumn::numbers("run", numbers))
        .with(GridColumn::text("trace", paths).naming())
        .with(GridColumn::text("", (0..output.runs.len()).map(mark)))
}

fn how_scaled(output: &Efficiencies) -> String {
    let Some((scaling, basis)) = output.scaling.scaling else {
        return match output.scaling.reference {
            Some(_) => "All runs have the same number of threads.".to_owned(),
            None => "No run has efficiencies.".to_owned(),
        };
    };
    let how = match scaling {
        Scaling::Strong => "Strong scaling: the total work stays about the same",
        Scaling::Weak => "Weak scaling: the work grows with the number of threads",
    };
    let told = match basis {
        ScalingBasis::Instructions => "told by the instructions in the useful time",
        ScalingBasis::UsefulTime => {
            "told by the useful time, as instructions are not known in every run; --scaling overrides it"
        }
        ScalingBasis::Stated => "as --scaling says",
    };
    format!("{how} ({told}).")
}

/// One column for each of these runs.
fn table(output: &Efficiencies, runs: &[usize]) -> Grid {
    let metrics = output.metrics();
    let least = metrics.iter().map(|metric| metric.depth()).min().unwrap_or(0);
    let facts: [(&str, &dyn Fn(usize) -> String); 3] = [
        ("processes", &|run| units::count(output.runs[run].1.run.n_processes)),
        ("threads", &|run| units::count(output.runs[run].1.run.n_threads)),
        ("run time", &|run| run_time(&output.runs[run].1)),
    ];
    let indented = |metric: &Metric| format!("{}{}", "  ".repeat(metric.depth() - least), metric.in_words());
    let mut names: Vec<String> = facts.iter().map(|(name, _)| (*name).to_owned()).collect();
    names.extend(metrics.iter().map(indented));
    if output.are_several() {
        names.push("speed-up".to_owned());
    }
    let mut grid = Grid::default().with(GridColumn::text("", names).painted(Paint::Name));
    for &run in runs {
        let mut cells: Vec<(String, Paint)> =
            facts.iter().map(|(_, fact)| (fact(run), Paint::Plain)).collect();
        cells.extend(metrics.iter().map(|&metric| cell(output.value(run, metric).ok())));
        if output.are_several() {
            cells.push((units::number(output.scaling.speed_ups[run]), Paint::Plain));
        }
        let (texts, paints): (Vec<String>, Vec<Paint>) = cells.into_iter().unzip();
        let title = if output.are_several() { format!("run {}", run + 1) } else { String::new() };
        grid = grid.with(GridColumn::numbers(&title, texts).painted_each(paints));
    }
    if let ([run], false) = (runs, output.are_several()) {
        let bars = metrics.iter().map(|&metric| bar(output.value(*run, metric).ok()));
        let bars = facts.iter().map(|_| String::new()).chain(bars);
        grid = grid.with(GridColumn::text("", bars).painted(Paint::Bar).optional(1));
    }
    grid
}

fn run_time(run: &TraceEfficiency) -> String {
    units::time(run.ns(run.run.run_time))
}

/// A value and its paint.
fn cell(value: Option<f64>) -> (String, Paint) {
    /// Where the colour changes once more below the acceptable.
    const POOR: f64 = 0.6;
    let paint = match value {
        None => Paint::Dim,
        Some(value) if ACCEPTABLE <= value => Paint::Good,
        Some(value) if POOR <= value => Paint::Doubtful,
        Some(_) => Paint::Bad,
    };
    (units::percent(value), paint)
}

fn bar(value: Option<f64>) -> String {
    let Some(value) = value else { return String::new() };
    let thousandths = (value * 1000.0).round().clamp(0.0, 1000.0) as u64;
    format!("{:░<BAR_WIDTH$}", units::bar(thousandths, 1000, BAR_WIDTH))
}

/// Names of metrics that a reason is given for, at most.
const MAX_NAMES: usize = 4;

/// Why values are missing.
fn write_missing(output: &Efficiencies, page: &mut Page) {
    for MissingValues { reason, metrics, runs } in output.missing() {
        let n_more = if metrics.len() <= MAX_NAMES { 0 } else { metrics.len() - MAX_NAMES + 1 };
        let names = metrics[..metrics.len() - n_more].iter().map(|metric| metric.in_words().to_owned());
        let more = (0 < n_more).then(|| format!("{n_more} more"));
        let names = names.chain(more).collect::<Vec<_>>().join(", ");
        let all = runs.len() == output.runs.len();
        let runs = runs.iter().map(|run| (run + 1).to_string()).collect::<Vec<_>>().join(", ");
        let of = if all { String::new() } else { format!(" (run {runs})") };
        page.hanging("- ", 2, &format!("{names}{of}: {}", clean(reason.as_str())), Paint::Dim);
    }
}

/// The parts of a run, those that lose most first; epochs and clusters by number.
fn write_parts(
    (output, run): (&Efficiencies, usize),
    (kind, parts): (PartKind, &Result<Vec<Part>, Reason>),
    args: &EfficiencyArgs,
    page: &mut Page,
) {
    let (name, of) = &output.runs[run];
    let what = match kind {
        PartKind::Segment => "Segments",
        PartKind::Iteration => "Iterations",
        PartKind::Epoch => "Epochs, in which the same ranks have most to do",
        PartKind::Cluster => "Clusters",
        PartKind::Program => "The program without start-up and end",
    };
    let title = if output.are_several() { format!("{what} of {}", clean(name)) } else { what.to_owned() };
    page.heading(&title);
    let parts = match parts {
        Ok(parts) => parts,
        Err(reason) => return page.text(2, &format!("Not known: {reason}."), Paint::Doubtful),
    };
    let lost = |part: &Part| part.time.0 as f64 * (1.0 - part.get(Metric::Parallel).unwrap_or(1.0));
    let mut sorted: Vec<&Part> = parts.iter().collect();
    if !matches!(kind, PartKind::Cluster | PartKind::Epoch) {
        sorted.sort_by(|a, b| lost(b).total_cmp(&lost(a)));
    }
    let n_shown = args.top.n_shown(sorted.len());
    rows(page, &parts_table(kind, &sorted[..n_shown], of), n_shown, sorted.len());
    let note = match kind {
        PartKind::Segment | PartKind::Iteration => {
            "Most time lost first. Time is that of the slowest rank in each phase between two synchronisations; ranks \
             are compared phase by phase."
        }
        PartKind::Epoch => "In order of time. The ranks are compared over each epoch as a whole.",
        PartKind::Cluster => "Each cluster is compared within itself, over the whole run.",
        PartKind::Program => "From when the first rank left MPI_Init to when the last entered MPI_Finalize.",
    };
    page.text(0, note, Paint::Dim);
}

fn parts_table(kind: PartKind, parts: &[&Part], of: &TraceEfficiency) -> Grid {
    let column = |title: &str, metric: Metric| {
        let (texts, paints): (Vec<String>, Vec<Paint>) =
            parts.iter().map(|part| cell(part.get(metric))).unzip();
        GridColumn::numbers(title, texts).painted_each(paints)
    };
    let id = |part: &&Part| part.number().unwrap_or_else(|| part.id.to_string());
    let place = |part: &&Part| match kind {
        PartKind::Cluster => {
            let peers = part.peers.unwrap_or_default().replace('_', " ");
            format!("{peers}s of {}", ouzel_plot::ranks::named(&part.ranks, usize::MAX))
        }
        PartKind::Epoch => ouzel_plot::ranks::named(&part.most_ranks, usize::MAX),
        PartKind::Segment if part.call_path.is_empty() => "end of the run".to_owned(),
        PartKind::Program => String::new(),
        _ => call_path(&part.call_path, PATH_WIDTH),
    };
    let title = match kind {
        PartKind::Segment => "before",
        PartKind::Iteration => "in",
        PartKind::Epoch => "most to do",
        PartKind::Cluster => "members",
        PartKind::Program => "",
    };
    let start = |part: &&Part| part.start.map_or_else(String::new, |start| units::time(of.ns(start)));
    let starts = GridColumn::numbers("start", parts.iter().map(start)).optional(2);
    Grid::default()
        .with(GridColumn::numbers(kind.as_str(), parts.iter().map(id)))
        .with_some(
            matches!(kind, PartKind::Iteration | PartKind::Epoch | PartKind::Program).then_some(starts),
        )
        .with(GridColumn::numbers("time", parts.iter().map(|part| units::time(of.ns(part.time)))))
        .with(column("parallel", Metric::Parallel))
        .with(column("balance", Metric::LoadBalance))
        .with(column("communication", Metric::Communication))
        .with(GridColumn::text(title, parts.iter().map(place)).naming())
}
