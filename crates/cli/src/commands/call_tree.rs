//! `ouzel call-tree`: one tree of call paths for the whole run.

use super::{rows, title};
use crate::args::Common;
use crate::command::{Command, Need, Question};
use crate::commands::profile::metrics;
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::{Paint, clean};
use crate::terminal::units;
use clap::Args;
use ouzel::analyses::call_tree::CallTreeOutput;
use ouzel_answers::CallTreeAnswer;

pub const COMMAND: Command = Command::about_a_run::<CallTreeArgs>(
    "call-tree",
    &[Need::Calls.always(), Need::Counters.with("--metric")],
);

/// One call-path tree for the whole run, with visits, time and counters
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel call-tree scorep-run/
  ouzel call-tree scorep-run/ --metric PAPI_TOT_INS --format csv -o tree.csv
  ouzel call-tree scorep-run/ --format json | jq '.data.nodes[] | select(.parent == null)'

A node is a path of names; values are sums over all locations. A recursive call is a deeper node.
With --region, callers that are not selected have no visits, and their own time is in [filtered].")]
pub struct CallTreeArgs {
    /// Add the gains of counters that match this pattern, e.g. 'PAPI_*' (may be repeated)
    #[arg(long, value_name = "PATTERN")]
    pub metric: Vec<String>,

    /// Show call paths with at least this many thousandths of the time; other formats contain all
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub min_permille: u32,
}

impl Question for CallTreeArgs {
    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &CallTreeArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let chosen = metrics::chosen(definitions, &args.metric)?;
    let answer = session.answer(|trace, options| trace.call_tree(&chosen, options))?;
    session.reply(
        &answer,
        |tree| CallTreeAnswer::new(tree, definitions),
        |tree| tree.table(definitions),
        |tree, page| write_page(session, tree, args, page),
    )
}

/// The tree, without nodes that take too little of the whole.
fn write_page(session: &Session<'_>, tree: &CallTreeOutput, args: &CallTreeArgs, page: &mut Page) {
    title(session, page);
    let total: u64 = tree.nodes.iter().map(|node| node.exclusive.0).sum();
    let is_shown = |i: &usize| {
        let inclusive = u128::from(tree.nodes[*i].inclusive.0) * 1000;
        inclusive >= u128::from(total) * u128::from(args.min_permille)
    };
    let shown: Vec<usize> = (0..tree.nodes.len()).filter(is_shown).collect();
    let picked = tree.table(session.definitions()).picked(&shown);
    let indent = |&i: &usize| {
        let node = &tree.nodes[i];
        format!("{}{}", "  ".repeat(usize::try_from(node.depth).unwrap_or(0).min(40)), clean(&node.region))
    };
    let column = |name: &str, title: &str| GridColumn::of(&picked, name, title);
    let mut grid = Grid::default()
        .with(GridColumn::text("call path", shown.iter().map(indent)).painted(Paint::Name).shortened())
        .with(column("visits", "visits"))
        .with(column("inclusive_ns", "inclusive"))
        .with(column("exclusive_ns", "exclusive"));
    for metric in picked.columns.iter().filter(|c| c.name.ends_with("clusive")) {
        grid = grid.with(column(&metric.name, &metric.name));
    }
    rows(page, &grid, shown.len(), shown.len());
    let n_hidden = tree.nodes.len() - shown.len();
    let mut text = units::counted(tree.nodes.len() as u64, "call path", "call paths");
    if n_hidden != 0 {
        let share = f64::from(args.min_permille) / 10.0;
        text +=
            &format!("; {n_hidden} below {share} % of the time are not shown: --min-permille 0 shows all");
    }
    page.text(0, &text, Paint::Dim);
}
