//! `ouzel comm-matrix`: who sends how much to whom.

use super::{amount, origin, plot, rows, title, unit};
use crate::args::{Common, LowCommon, OutputFormat, PlotArgs, TopArgs, TrafficArgs};
use crate::command::{Command, Need, Question, without_html};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use clap::Args;
use ouzel::Answer;
use ouzel::analyses::comm_matrix::{CommMatrix, CommMatrixOutput, Expansion, PairTraffic, TrafficUnit};
use ouzel::model::WorldRank;
use ouzel_answers::{CommMatrixAnswer, CommMatrixForm};
use ouzel_plot::{ColourScale, pictures};
use std::collections::BTreeMap;

pub const COMMAND: Command = Command::about_a_run::<CommMatrixArgs>(
    "comm-matrix",
    &[Need::Messages.always(), Need::Collectives.with("--collectives")],
);

/// How much each rank sends to each other rank
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ouzel comm-matrix scorep-run/
  ouzel comm-matrix scorep-run/ --unit messages --plot matrix.svg --log
  ouzel comm-matrix scorep-run/ --collectives --format json | jq '.data.pairs[0]'
  ouzel comm-matrix scorep-run/ --dense -o matrix.csv      the whole matrix, up to 4,096 ranks

Files have one row for each pair of ranks that communicated; in the picture, rows are senders and columns are
receivers. Numbers are those of the recorded sends. Collective operations have no recorded pairs:
--collectives distributes the bytes that each rank contributed over the ranks that the operation sends to.
Remote memory access (RMA) and copies between devices are not included.")]
pub struct CommMatrixArgs {
    #[command(flatten)]
    pub traffic: TrafficArgs,

    /// Add collective operations, spread over the pairs of ranks they connect
    #[arg(long)]
    pub collectives: bool,

    /// Write the whole matrix, not just the pairs that communicated (files; up to 4,096 ranks)
    #[arg(long)]
    pub dense: bool,

    /// Use a logarithmic colour scale in the picture
    #[arg(long, requires = "plot_file")]
    pub log: bool,

    #[command(flatten)]
    pub top: TopArgs,

    #[command(flatten)]
    pub plot: PlotArgs,
}

impl Question for CommMatrixArgs {
    fn check(&self, _common: &LowCommon, format: OutputFormat) -> Result<(), &'static str> {
        match format {
            OutputFormat::Table if self.dense => Err("--dense needs --format json, csv or parquet"),
            _ => without_html(format),
        }
    }

    fn run(&self, common: &Common) -> anyhow::Result<Outcome> {
        run(&Session::open(common)?, self)
    }
}

fn run(session: &Session<'_>, args: &CommMatrixArgs) -> anyhow::Result<Outcome> {
    let unit = unit(args.traffic.unit);
    let answer = asked(session, args.collectives)?;
    let scale = if args.log { ColourScale::Logarithmic } else { ColourScale::Linear };
    if args.dense {
        answer.output.check_dense()?;
    }
    let form = if args.dense { CommMatrixForm::Dense } else { CommMatrixForm::Pairs };
    plot(session, || pictures::comm_matrix(&answer.output, unit, scale, &origin(session)))?;
    session.reply(
        &answer,
        |output| CommMatrixAnswer::new(output, unit, form),
        |output| if args.dense { output.dense_table(unit) } else { output.table() },
        |output, page| write_page(session, output, args, page),
    )
}

/// The matrix, with or without collective operations; a notice reports if nothing was sent.
pub fn asked(session: &Session<'_>, collectives: bool) -> anyhow::Result<Answer<CommMatrixOutput>> {
    let expansion = if collectives { Expansion::WithCollectives } else { Expansion::PointToPoint };
    session.ask(CommMatrix { expansion })
}

/// Whether no rank sent or received anything.
pub fn is_silent(output: &CommMatrixOutput) -> bool {
    output.cells.is_empty()
        && output.to_unknown.is_empty()
        && output.received.iter().all(|traffic| traffic.messages == 0)
}

/// Most ranks whose matrix is drawn with characters.
const MAX_DRAWN: usize = 32;

fn write_page(session: &Session<'_>, output: &CommMatrixOutput, args: &CommMatrixArgs, page: &mut Page) {
    title(session, page);
    // The notice reports it; an empty table would add nothing.
    if is_silent(output) {
        return;
    }
    let unit = unit(args.traffic.unit);
    if (2..=MAX_DRAWN).contains(&output.ranks.len()) {
        draw(output, unit, page);
    }
    let mut cells: Vec<PairTraffic> = output.pairs();
    cells.sort_by_key(|cell| std::cmp::Reverse(unit.of(cell.traffic)));
    let whole: u64 = cells.iter().map(|cell| unit.of(cell.traffic)).sum();
    let n_shown = args.top.n_shown(cells.len());
    let texts =
        |value: &dyn Fn(&PairTraffic) -> String| cells[..n_shown].iter().map(value).collect::<Vec<_>>();
    let share = |cell: &PairTraffic| {
        units::percent((whole != 0).then(|| unit.of(cell.traffic) as f64 / whole as f64))
    };
    let grid = Grid::default()
        .with(GridColumn::numbers("from", texts(&|cell| cell.from.0.to_string())))
        .with(GridColumn::numbers("to", texts(&|cell| receiver(cell.to))))
        .with(GridColumn::numbers("messages", texts(&|cell| units::count(cell.traffic.messages))))
        .with(GridColumn::numbers("bytes", texts(&|cell| units::bytes(cell.traffic.bytes))))
        .with(GridColumn::numbers(&format!("share of {}", unit.as_str()), texts(&share)))
        .with(
            GridColumn::text(
                "",
                texts(&|cell| units::bar(unit.of(cell.traffic), unit.of(cells[0].traffic), 12)),
            )
            .painted(Paint::Bar)
            .optional(1),
        );
    rows(page, &grid, n_shown, cells.len());
    let n_pairs = units::counted(cells.len() as u64, "pair of ranks", "pairs of ranks");
    page.text(0, &format!("{n_pairs} · {} in total", sums(&cells)), Paint::Dim);
}

/// A receiver as the table shows it.
fn receiver(rank: Option<WorldRank>) -> String {
    rank.map_or_else(|| "unknown".to_owned(), |rank| rank.0.to_string())
}

fn sums(cells: &[PairTraffic]) -> String {
    let messages: u64 = cells.iter().map(|cell| cell.traffic.messages).sum();
    let bytes: u64 = cells.iter().map(|cell| cell.traffic.bytes).sum();
    format!("{} with {}", units::counted(messages, "message", "messages"), amount(TrafficUnit::Bytes, bytes))
}

/// The matrix with one pair of characters for each cell: the fuller, the more.
fn draw(output: &CommMatrixOutput, unit: TrafficUnit, page: &mut Page) {
    const FILLS: [&str; 5] = ["· ", "░░", "▒▒", "▓▓", "██"];
    let matrix = output.matrix(unit);
    let unknown: BTreeMap<WorldRank, u64> =
        output.to_unknown.iter().map(|&(from, traffic)| (from, unit.of(traffic))).collect();
    let largest = matrix.iter().flatten().chain(unknown.values()).copied().max().unwrap_or(0).max(1);
    let fill = |value: u64| {
        let level = (u128::from(value) * 4).div_ceil(u128::from(largest));
        FILLS[usize::try_from(level).unwrap_or(4).min(4)]
    };
    page.gap();
    let last = if unknown.is_empty() { "" } else { " (the last: unknown receivers)" };
    page.text(0, &format!("row = sender, column = receiver{last}; fuller means more"), Paint::Dim);
    for (rank, row) in output.ranks.iter().zip(&matrix) {
        let mut cells: String = row.iter().map(|&value| fill(value)).collect();
        if !unknown.is_empty() {
            cells.push(' ');
            cells.push_str(fill(unknown.get(rank).copied().unwrap_or(0)));
        }
        let cells = page.style.paint(Paint::Bar, &cells);
        page.lines.push(format!("{:>5} {cells}", rank.0));
    }
}
