//! `ouzel waits`: which calls wait, of which kind, how long, and for whom.

use super::{origin, plot, rows, title};
use crate::args::{Common, PlotArgs, TopArgs};
use crate::command::{Command, Need, Question};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::names::call_path;
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use anyhow::bail;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use ouzel::Trace;
use ouzel::model::{Ticks, WorldRank};
use ouzel::waits::{
    Certainty, ClassRole, DelaysOutput, ImpactRow, PathImpact, WaitChain, WaitClass, WaitRow, WaitRows,
    WaitsOutput, WaitsPer,
};
use ouzel_answers::WaitsAnswer;
use ouzel_plot::pictures;

pub const COMMAND: Command = Command::about_a_run::<WaitsArgs>(
    "waits",
    &[
        Need::Messages.always(),
        Need::Collectives.always(),
        Need::Threads.always(),
        Need::Rma.always(),
        Need::Streams.always(),
    ],
);

/// Which calls wait for other ranks, threads or accelerators, of which kind, how long, and for whom
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub struct WaitsArgs {
    /// One row for each rank that waits, instead of sums over all
    #[arg(long, value_enum, value_name = "WHAT")]
    pub per: Option<PerRank>,

    /// Only these classes, separated by commas, e.g. late_sender,wait_at_barrier
    #[arg(long, value_name = "CLASS,…", value_delimiter = ',')]
    #[arg(value_parser = class_parser(), hide_possible_values = true)]
    pub class: Vec<WaitClass>,

    /// Also find which earlier code of which rank makes others wait; CSV and Parquet then list that
    #[arg(long)]
    pub delays: bool,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

/// What rows are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PerRank {
    /// Each rank
    Rank,
}

const EXAMPLES: &str = "\
Examples:
  ouzel waits scorep-run/
  ouzel waits scorep-run/ --per rank --class late_sender
  ouzel waits report.sqlite --class host_waits_for_device,queueing
  ouzel waits scorep-run/ --delays                 the code that makes others wait
  ouzel waits scorep-run/ --delays --plot chain.svg  the worst chain of waiting, from rank to rank
  ouzel waits scorep-run/ --format json | jq '.data.classes'

A call that waits for several others counts once, for the longest wait. The waits are followed by their parts
(early_reduce, wrong order; with --delays direct, indirect, propagating and terminal), which they include, and
by time that is not spent waiting for a late rank, thread or accelerator: completion (after the last
arrival), thread management, limited parallelism, polling with MPI_Test, late starts of kernels, idle
devices and calls that synchronise with nothing. docs/method.md has the formulas.";

fn after_help() -> String {
    let names: Vec<&str> = WaitClass::ALL.iter().map(|class| class.as_str()).collect();
    let indented = textwrap::Options::new(100).initial_indent("  ").subsequent_indent("  ");
    format!("{EXAMPLES}\n\nClasses:\n{}", textwrap::fill(&names.join(", "), indented))
}

fn class_parser() -> impl TypedValueParser<Value = WaitClass> {
    let names = WaitClass::ALL.iter().map(|class| class.as_str());
    PossibleValuesParser::new(names).try_map(|name| WaitClass::from_name(&name).ok_or("no class"))
}

impl Question for WaitsArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &WaitsArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    check(args)?;
    let answer = match args.delays {
        true => {
            let answer = session.answer(Trace::delays_and_impact)?;
            answer.map(|(waits, delays, impact)| (waits, Some(delays), impact))
        }
        false => session.answer(Trace::waits)?.map(|waits| (waits, None, None)),
    };
    let per = if args.per.is_some() { WaitsPer::Rank } else { WaitsPer::Total };
    let which = WaitRows { per, classes: args.class.clone() };
    let rows = answer.output.0.rows(&which, definitions);
    if let Some(delays) = &answer.output.1 {
        plot(session, || pictures::waiting_chain(delays, definitions, &origin(session)))?;
    }
    session.reply(
        &answer,
        |(waits, delays, impact)| {
            WaitsAnswer::new(waits, &rows, delays.as_ref(), impact.as_ref(), definitions)
        },
        |(waits, delays, _)| match delays {
            Some(delays) => delays.table(definitions),
            None => waits.table(&rows, definitions),
        },
        |(waits, delays, impact), page| {
            write_page(session, waits, &rows, args, page);
            if let Some(delays) = delays.as_ref().filter(|_| !waits.is_empty()) {
                write_causes(session, delays, args, page);
                if Ticks(0) < delays.by_rate {
                    let share = units::percent(Some(1.0 - delays.exact_share(waits.total())));
                    let text = format!(
                        "Memory did not suffice for all causes: {share} of the waiting is divided by rate."
                    );
                    page.text(0, &text, Paint::Dim);
                }
                if let Some(impact) = impact {
                    write_impact(session, impact, page);
                }
            }
        },
    )
}

/// What only `--delays` can show.
fn check(args: &WaitsArgs) -> anyhow::Result<()> {
    let of_causes = args.class.iter().find(|class| class.is_of_causes());
    match of_causes {
        _ if args.delays => Ok(()),
        Some(class) => bail!("--class {} is a part by causes: add --delays", class.as_str()),
        None if args.plot.plot_file.is_some() => bail!("--plot draws a chain of waiting: add --delays"),
        None => Ok(()),
    }
}

/// Characters of a call path.
const PATH_WIDTH: usize = 22;
/// The same, of code that makes others wait.
const CAUSE_WIDTH: usize = 52;
/// Call paths of the critical path that are shown.
const N_IMPACTS: usize = 5;
/// Chains of waiting that are shown.
const N_CHAINS: usize = 3;
/// Waits of a chain that are shown.
const N_CHAIN_WAITS: usize = 8;

fn write_page(
    session: &Session<'_>,
    output: &WaitsOutput,
    waits: &[WaitRow],
    args: &WaitsArgs,
    page: &mut Page,
) {
    title(session, page);
    if let Some(missing) = output.missing() {
        page.text(0, &format!("waiting is unknown: {missing}"), Paint::Plain);
        return;
    }
    if output.is_empty() {
        page.text(0, "no call of the selection waits for another rank, thread or accelerator", Paint::Plain);
        return;
    }
    let ns = |ticks: Ticks| session.definitions().clock.ns_from_ticks(ticks);
    page.gap();
    page.text(0, &total(output, ns), Paint::Plain);
    page.gap();
    page.grid(0, &classes(output, ns));
    let n_shown = args.top.n_shown(waits.len());
    rows(page, &places(session, output, &waits[..n_shown], ns), n_shown, waits.len());
    let text = "A call that waits for several others counts once, for the longest wait. The last two columns name the call that \
                a row waits for longest. Shares are of the time of all ranks, or of all their threads. --per rank shows each rank that waits.";
    page.text(0, text, Paint::Dim);
}

/// How much of the ranks' time is waiting.
fn total(output: &WaitsOutput, ns: impl Fn(Ticks) -> u64) -> String {
    let has_devices = output.waits.iter().any(|wait| wait.is_counted() && wait.class.is_of_devices());
    let (who, whom) = match (output.n_threads, has_devices) {
        (n, false) if n == output.n_ranks => (units::counted(n, "rank", "ranks"), "ranks"),
        (n, true) if n == output.n_ranks => (units::counted(n, "rank", "ranks"), "ranks and accelerators"),
        (n, false) => (units::counted(n, "thread", "threads"), "ranks and threads"),
        (n, true) => (units::counted(n, "thread", "threads"), "ranks, threads and accelerators"),
    };
    let mut text = format!(
        "{} of {who} × {} ({}) is waiting for late {whom}",
        units::time(ns(output.total())),
        units::time(ns(output.run_time)),
        units::percent(Some(output.share(output.total()))),
    );
    if Ticks(0) < output.possible() {
        text += &format!("; another {} possibly", units::time(ns(output.possible())));
    }
    text
}

/// The sum of each class.
fn classes(output: &WaitsOutput, ns: impl Fn(Ticks) -> u64) -> Grid {
    let sums = output.classes();
    let most = sums.iter().map(|sum| ns(sum.wait)).max().unwrap_or(0);
    let name = |class: WaitClass| match class.role() {
        ClassRole::Primary => class.in_words().to_owned(),
        ClassRole::PartOf(_) => format!("  of it {}", class.in_words()),
        ClassRole::Beside => format!("({})", class.in_words()),
    };
    let shares = sums.iter().map(|sum| units::percent(Some(output.share(sum.wait))));
    Grid::default()
        .with(GridColumn::text("kind", sums.iter().map(|sum| name(sum.class))).painted(Paint::Name))
        .with(GridColumn::numbers("time", sums.iter().map(|sum| units::time(ns(sum.wait)))))
        .with(GridColumn::numbers("share", shares))
        .with(GridColumn::numbers("times", sums.iter().map(|sum| units::count(sum.n))))
        .with(
            GridColumn::text("", sums.iter().map(|sum| units::bar(ns(sum.wait), most, 20)))
                .painted(Paint::Bar)
                .optional(1),
        )
}

/// A rank, or a dash for what has none.
fn rank(rank: Option<WorldRank>) -> String {
    rank.map_or_else(|| "-".to_owned(), |rank| rank.0.to_string())
}

/// Where calls wait, and for whom.
fn places(session: &Session<'_>, output: &WaitsOutput, waits: &[WaitRow], ns: impl Fn(Ticks) -> u64) -> Grid {
    let definitions = session.definitions();
    let path = |path| call_path(&output.names(path, definitions), PATH_WIDTH);
    let culprit = |row: &WaitRow| row.culprit.map_or_else(String::new, |it| path(it.call_path));
    let of_rank = |row: &WaitRow| row.culprit.map_or_else(String::new, |it| rank(it.rank));
    let class = |row: &WaitRow| match row.certainty {
        Certainty::Certain => row.class.in_words().to_owned(),
        Certainty::UpperBound => format!("{}, at most", row.class.in_words()),
        Certainty::Possible => format!("{}, possibly", row.class.in_words()),
        Certainty::Doubtful => format!("{}, doubtful", row.class.in_words()),
    };
    let by_rank = waits.iter().any(|row| row.rank.is_some());
    let ranks = by_rank.then(|| GridColumn::numbers("rank", waits.iter().map(|row| rank(row.rank))));
    let longest = GridColumn::numbers("longest", waits.iter().map(|row| units::time(ns(row.longest))));
    Grid::default()
        .with(GridColumn::numbers("wait", waits.iter().map(|row| units::time(ns(row.wait)))))
        .with(GridColumn::numbers("times", waits.iter().map(|row| units::count(row.n))))
        .with(longest.optional(2))
        .with(GridColumn::text("kind", waits.iter().map(class)))
        .with_some(ranks)
        .with(
            GridColumn::text("in", waits.iter().map(|row| path(row.call_path)))
                .painted(Paint::Name)
                .shortened(),
        )
        .with(GridColumn::numbers("for rank", waits.iter().map(of_rank)))
        .with(GridColumn::text("for call", waits.iter().map(culprit)).optional(1))
}

/// Which code makes others wait.
fn write_causes(session: &Session<'_>, delays: &DelaysOutput, args: &WaitsArgs, page: &mut Page) {
    let definitions = session.definitions();
    let ns = |ticks: Ticks| definitions.clock.ns_from_ticks(ticks);
    let causes = delays.rows(definitions);
    let n_shown = args.top.n_shown(causes.len());
    let shown = &causes[..n_shown];
    let path = |path| call_path(&delays.names(path, definitions), CAUSE_WIDTH);
    let grid = Grid::default()
        .with(GridColumn::numbers("short-term", shown.iter().map(|row| units::time(ns(row.short_term)))))
        .with(GridColumn::numbers("long-term", shown.iter().map(|row| units::time(ns(row.long_term)))))
        .with(GridColumn::text("kind", shown.iter().map(|row| row.class.in_words().to_owned())))
        .with(GridColumn::numbers("rank", shown.iter().map(|row| rank(row.rank))))
        .with(
            GridColumn::text("extra time in", shown.iter().map(|row| path(row.call_path)))
                .painted(Paint::Name)
                .shortened(),
        );
    rows(page, &grid, n_shown, causes.len());
    let unexplained: Ticks = delays.unexplained_rows().iter().map(|row| row.wait).sum();
    let text = format!(
        "Short-term: waiting of the ranks that wait for this rank. Long-term: waiting of others, further down the chain. \
         {} of the waiting has no known cause. docs/method.md has the formulas.",
        units::time(ns(unexplained))
    );
    page.text(0, &text, Paint::Dim);
    let chains = delays.chains.iter().filter(|chain| 1 < chain.n_waits);
    for chain in chains.take(N_CHAINS) {
        write_chain(session, delays, chain, page);
    }
}

/// Which call paths the run depends on more than the mean of the ranks does.
fn write_impact(session: &Session<'_>, impact: &PathImpact, page: &mut Page) {
    let definitions = session.definitions();
    let time = |ticks: Ticks| units::time(definitions.clock.ns_from_ticks(ticks));
    let shown: Vec<&ImpactRow> =
        impact.rows.iter().filter(|row| Ticks(0) < row.imbalance).take(N_IMPACTS).collect();
    let path = |row: &&ImpactRow| call_path(&impact.names(row.call_path, definitions), CAUSE_WIDTH);
    page.gap();
    let all = impact.length.0.saturating_mul(impact.n_locations) as f64;
    let share = |ticks: Ticks| units::percent(Some(if all == 0.0 { 0.0 } else { ticks.0 as f64 / all }));
    let (lost, beside) = (impact.sum(|row| row.lost), impact.sum(|row| row.non_critical));
    let text = format!(
        "On the critical path of {}: while it takes longer than the ranks do, these are idle for {} ({}). Another {} ({}) \
         of their time is not critical; delays there are hidden.",
        time(impact.length),
        time(lost),
        share(lost),
        time(beside),
        share(beside),
    );
    page.text(0, &text, Paint::Plain);
    let times = |title: &str, of: fn(&ImpactRow) -> Ticks| {
        GridColumn::numbers(title, shown.iter().map(|row| time(of(row))))
    };
    let grid = Grid::default()
        .with(times("imbalance", |row| row.imbalance))
        .with(times("critical", |row| row.critical))
        .with(times("idle ranks", |row| row.lost))
        .with(GridColumn::text("call path", shown.iter().map(path)).painted(Paint::Name).shortened());
    page.grid(0, &grid);
    let text = "Imbalance: how much longer the critical path takes here than the mean over the ranks, without waits.";
    page.text(0, text, Paint::Dim);
}

/// Where a chain of waiting begins, and how it goes from rank to rank.
fn write_chain(session: &Session<'_>, delays: &DelaysOutput, chain: &WaitChain, page: &mut Page) {
    let definitions = session.definitions();
    let time = |ticks: Ticks| units::time(definitions.clock.ns_from_ticks(ticks));
    let rank = |location| rank(definitions.location(location).rank);
    let path = |path| call_path(&delays.names(path, definitions), CAUSE_WIDTH);
    let delay = &chain.delay;
    page.gap();
    let text = format!(
        "A chain of waiting begins on rank {}, which takes {} longer in {}:",
        rank(delay.location),
        time(delay.longer),
        path(delay.call_path)
    );
    page.text(0, &text, Paint::Plain);
    let shown = &chain.waits[..chain.waits.len().min(N_CHAIN_WAITS)];
    let for_rank = shown.iter().map(|wait| rank(wait.culprit.location));
    let grid = Grid::default()
        .with(GridColumn::numbers("rank", shown.iter().map(|wait| rank(wait.location))))
        .with(GridColumn::numbers("for rank", for_rank))
        .with(GridColumn::numbers("wait", shown.iter().map(|wait| time(wait.end.since(wait.start)))))
        .with(GridColumn::numbers("due to above", shown.iter().map(|wait| time(wait.caused))))
        .with(GridColumn::numbers("from", shown.iter().map(|wait| time(wait.start))).optional(1))
        .with(
            GridColumn::text("waits in", shown.iter().map(|wait| path(wait.call_path)))
                .painted(Paint::Name)
                .shortened(),
        );
    page.grid(2, &grid);
    let n_hidden = chain.n_waits - shown.len() as u64;
    if 0 < n_hidden {
        page.text(2, &format!("… and {}", units::counted(n_hidden, "more wait", "more waits")), Paint::Dim);
    }
}
