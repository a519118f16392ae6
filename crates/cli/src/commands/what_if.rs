//! `ouzel what-if`: how long the run would take if some of its code, or the network, were faster.

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
use clap::Args;
use ouzel::model::{CallPathId, Ticks};
use ouzel::replay::{Change, Code, Network, PathGain, RankProjection};
use ouzel::{WhatIf, signed_ns};
use ouzel_answers::WhatIfAnswer;
use ouzel_plot::pictures;

pub const COMMAND: Command = Command::about_a_run::<WhatIfArgs>("what-if", &[Need::Calls.always()]);

/// How long the run would take if code were faster, removed or balanced, or the network another one
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel what-if scorep-run/                                      which code would gain most
  ouzel what-if scorep-run/ --faster solve=2 --balance exchange  both together
  ouzel what-if scorep-run/ --remove 'solve/**@0-3'
  ouzel what-if scorep-run/ --network latency=5us,bandwidth=12GB/s
  ouzel what-if scorep-run/ --faster solve=2 --plot before-after.svg

CODE is a region (solve: its exclusive time wherever it is called), a call path (main/step/solve), or
either with all that it calls except MPI and waiting (solve/**), on all ranks or some (solve@0-3).
Functions of C++ may be named without their parameters, as pages show them. Options may be repeated; the
changes are made together. Every rank keeps its other work and all that it needs of other ranks; the answer
says what the replay leaves out. docs/method.md has the model.")]
pub struct WhatIfArgs {
    /// This code FACTOR times as fast
    #[arg(long, value_name = "CODE=FACTOR", value_parser = Change::faster)]
    pub faster: Vec<Change>,

    /// This code without any time
    #[arg(long, value_name = "CODE")]
    pub remove: Vec<Code>,

    /// This code spread evenly over the ranks, between synchronisations of all ranks
    #[arg(long, value_name = "CODE")]
    pub balance: Vec<Code>,

    /// Another network: ideal (no transfer takes time), or latency=TIME,bandwidth=BYTES/s
    #[arg(long, value_name = "NETWORK")]
    pub network: Option<Network>,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl WhatIfArgs {
    fn changes(&self) -> Vec<Change> {
        let faster = self.faster.iter().cloned();
        let removed = self.remove.iter().cloned().map(Change::Removed);
        let balanced = self.balance.iter().cloned().map(Change::Balanced);
        faster.chain(removed).chain(balanced).chain(self.network.map(Change::Network)).collect()
    }
}

impl Question for WhatIfArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

/// Ranks in a picture.
const N_DRAWN: usize = 16;

fn run(session: &Session<'_>, args: &WhatIfArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let changes = args.changes();
    let answer = session.answer(|trace, options| trace.what_if(changes.clone(), options))?;
    if session.common.outputs.plot.is_some() {
        let spans = answer.output.replay.spans(&changes, N_DRAWN)?;
        let with = (!changes.is_empty()).then(|| in_words(&changes));
        plot(session, || pictures::what_if(&spans, with.as_deref(), definitions, &origin(session)))?;
    }
    session.reply(
        &answer,
        |found| WhatIfAnswer::new(found, definitions),
        |found| found.table(definitions),
        |found, page| write_page(session, found, args, page),
    )
}

fn in_words(changes: &[Change]) -> String {
    changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Characters of a call path.
const PATH_WIDTH: usize = 52;
/// Call paths of the critical path that are shown.
const N_CRITICAL: usize = 5;

fn write_page(session: &Session<'_>, found: &WhatIf, args: &WhatIfArgs, page: &mut Page) {
    title(session, page);
    page.gap();
    if found.changes.is_empty() {
        write_ranking(session, found, args, page);
    } else {
        write_projection(session, found, args, page);
    }
    page.gap();
    page.text(0, "What the replay leaves out or takes for granted", Paint::Dim);
    for limit in &found.limits {
        page.hanging("· ", 2, limit, Paint::Dim);
    }
}

fn write_projection(session: &Session<'_>, found: &WhatIf, args: &WhatIfArgs, page: &mut Page) {
    let ns = |ticks: Ticks| session.definitions().clock.ns_from_ticks(ticks);
    let projection = &found.projection;
    let (recorded, projected) = (ns(projection.run_time), ns(projection.projected));
    let gain = gain(signed_ns(found.gain(), session.definitions()), recorded);
    let text = format!(
        "With {}, the run would take {} instead of {}: {gain}",
        in_words(&found.changes),
        units::time(projected),
        units::time(recorded),
    );
    page.text(0, &text, Paint::Plain);
    let n_shown = args.top.n_shown(projection.ranks.len());
    let ranks = &projection.ranks[..n_shown];
    let times = |title: &str, of: fn(&RankProjection) -> Ticks| {
        GridColumn::numbers(title, ranks.iter().map(|rank| units::time(ns(of(rank)))))
    };
    let name = |rank: &RankProjection| rank.rank.map_or_else(|| "-".to_owned(), |rank| rank.0.to_string());
    let grid = Grid::default()
        .with(GridColumn::numbers("rank", ranks.iter().map(name)))
        .with(times("ends at", |rank| rank.end))
        .with(times("would end at", |rank| rank.projected_end))
        .with(times("waits", |rank| rank.wait))
        .with(times("would wait", |rank| rank.projected_wait));
    rows(page, &grid, n_shown, projection.ranks.len());
    page.gap();
    page.text(0, "The critical path would then be in", Paint::Plain);
    let path = |path: CallPathId| call_path(&found.replay.names(path), PATH_WIDTH);
    let shown = &projection.critical_path[..projection.critical_path.len().min(N_CRITICAL)];
    let grid =
        Grid::default().with(GridColumn::numbers("time", shown.iter().map(|it| units::time(ns(it.1))))).with(
            GridColumn::text("call path", shown.iter().map(|it| path(it.0))).painted(Paint::Name).shortened(),
        );
    rows(page, &grid, shown.len(), shown.len());
}

fn write_ranking(session: &Session<'_>, found: &WhatIf, args: &WhatIfArgs, page: &mut Page) {
    let definitions = session.definitions();
    let ns = |ticks: Ticks| definitions.clock.ns_from_ticks(ticks);
    let n_rows = found.ranking.len();
    if n_rows == 0 {
        page.text(0, "no code of the program's own is on the critical path", Paint::Plain);
        return;
    }
    page.text(
        0,
        &format!("What changing one call path would gain, of {}", units::time(ns(found.projection.run_time))),
        Paint::Plain,
    );
    let n_shown = args.top.n_shown(n_rows);
    let shown = &found.ranking[..n_shown];
    let most = |row: &PathGain, gain: Ticks| {
        let text = units::time(ns(gain));
        if row.gains.balanced().is_some() { text } else { format!("≤ {text}") }
    };
    let balanced = |row: &PathGain| {
        row.gains.balanced().map_or_else(String::new, |gain| signed(signed_ns(gain, definitions)))
    };
    let path = |row: &PathGain| call_path(&found.replay.names(row.call_path), PATH_WIDTH);
    let grid = Grid::default()
        .with(GridColumn::numbers("halved", shown.iter().map(|row| most(row, row.gains.halved()))))
        .with(GridColumn::numbers("removed", shown.iter().map(|row| most(row, row.gains.removed()))))
        .with(GridColumn::numbers("balanced", shown.iter().map(balanced)))
        .with(
            GridColumn::numbers("critical", shown.iter().map(|row| units::time(ns(row.critical))))
                .optional(1),
        )
        .with(GridColumn::text("call path", shown.iter().map(path)).painted(Paint::Name).shortened());
    rows(page, &grid, n_shown, n_rows);
    let text = "How much shorter the run would be if the exclusive time of a call path were half as long, gone, or spread \
                evenly over the ranks between synchronisations of all. Gains do not add up. --faster CODE=2 shows one.";
    page.text(0, text, Paint::Dim);
}

fn gain(gain_ns: i64, run_ns: u64) -> String {
    let share = units::percent(Some(gain_ns.unsigned_abs() as f64 / run_ns.max(1) as f64));
    match gain_ns {
        0 => "no gain".to_owned(),
        1.. => format!("{} ({share}) less", units::time(gain_ns.unsigned_abs())),
        _ => format!("{} ({share}) more", units::time(gain_ns.unsigned_abs())),
    }
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "−" } else { "" };
    format!("{sign}{}", units::time(ns.unsigned_abs()))
}
