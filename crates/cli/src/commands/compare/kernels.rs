//! `ouzel compare --by kernel`: what accelerators run in one run, step or rank and not, or differently, in another.

use super::{CompareArgs, name_trace, together};
use crate::args::Common;
use crate::commands::{first, rows};
use crate::exit::Outcome;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use anyhow::bail;
use ouzel::Answer;
use ouzel::model::{Filter, RankSet};
use ouzel::waits::accelerators::{KernelChange, KernelDifference, KernelsOutput, KernelsPer, StepsAsked};
use ouzel_answers::{KernelDifferenceAnswer, KernelDifferenceSide};
use std::path::PathBuf;
use std::sync::Arc;

/// One of the two that are compared.
struct Side {
    /// Another trace than the first.
    other: Option<PathBuf>,
    step: Option<u64>,
    rank: Option<u32>,
}

/// Compares two traces, steps or ranks.
pub(super) fn run(session: &Session<'_>, args: &CompareArgs) -> anyhow::Result<Outcome> {
    let sides = sides(session.common, args)?;
    let mut outputs = Vec::new();
    let mut coverage = None;
    let mut notices = Vec::new();
    for side in &sides {
        let common = Common { filter: filter(session.common, side.rank), ..session.common.clone() };
        let session = match &side.other {
            None => Session { common: &common, trace: Arc::clone(&session.trace) },
            Some(path) => Session::open_at(&common, path)?,
        };
        let mut answer = kernels(&session, side, args)?;
        name_trace(&mut answer.notices, session.trace.path());
        coverage = Some(match coverage {
            None => answer.coverage,
            Some(before) => together(before, answer.coverage),
        });
        notices.extend(answer.notices);
        let shown = KernelDifferenceSide {
            path: session.trace.path().display().to_string(),
            step: side.step,
            rank: side.rank,
            launches: 0,
            total_ns: 0,
        };
        outputs.push((shown, answer.output));
    }
    notices.sort_by_key(|notice| notice.level);
    notices.dedup();
    let [(before, from), (after, to)] = &outputs[..] else { bail!("two sides are compared") };
    let difference = KernelDifference::new(from, to);
    let sides = [before.clone(), after.clone()];
    let answer =
        Answer { output: difference, coverage: coverage.unwrap_or_default(), run_range: None, notices };
    session.reply(
        &answer,
        |output| KernelDifferenceAnswer::new(output, sides.clone()),
        KernelDifference::table,
        |output, page| write_page(output, &sides, args, page),
    )
}

/// The two that are to be compared.
fn sides(common: &Common, args: &CompareArgs) -> anyhow::Result<[Side; 2]> {
    if 1 < args.others.len() {
        bail!("--by compares two: name one other trace");
    }
    if 2 < args.step.len() || 2 < args.rank.len() {
        bail!("--step and --rank take one number, or two: --step 3,5");
    }
    if args.others.is_empty() && args.step.len() < 2 && args.rank.len() < 2 {
        bail!(
            "nothing to compare with: name another trace, two steps (--step 3,5) or two ranks (--rank 0,3)"
        );
    }
    if !args.rank.is_empty() && common.filter.ranks.is_some() {
        bail!("--rank says which ranks are compared: leave out --ranks");
    }
    let of = |side: usize| Side {
        other: args.others.first().filter(|_| side == 1).cloned(),
        step: args.step.get(side).or(args.step.first()).copied(),
        rank: args.rank.get(side).or(args.rank.first()).copied(),
    };
    Ok([of(0), of(1)])
}

fn filter(common: &Common, rank: Option<u32>) -> Filter {
    let ranks = rank.map(|rank| RankSet::from_ranges(&[(rank, rank)]));
    Filter { ranks: ranks.or_else(|| common.filter.ranks.clone()), ..common.filter.clone() }
}

fn kernels(session: &Session<'_>, side: &Side, args: &CompareArgs) -> anyhow::Result<Answer<KernelsOutput>> {
    let by = args.by.unwrap_or_default().into();
    let asked = StepsAsked { marks: args.step_range.as_deref(), step: side.step, per_step: false };
    session.answer(|trace, options| trace.kernels((by, KernelsPer::Run), None, &asked, options))
}

/// What distinguishes a side.
fn in_words(side: &KernelDifferenceSide) -> String {
    let step = side.step.map(|step| format!(", step {step}"));
    let rank = side.rank.map(|rank| format!(", rank {rank}"));
    format!("{}{}{}", side.path, step.unwrap_or_default(), rank.unwrap_or_default())
}

fn write_page(
    output: &KernelDifference,
    sides: &[KernelDifferenceSide; 2],
    args: &CompareArgs,
    page: &mut Page,
) {
    let (launches, total) = (output.launches(), output.total_ns());
    let grid = Grid::default()
        .with(GridColumn::text("", ["before", "after"].map(str::to_owned)))
        .with(GridColumn::text("trace", sides.iter().map(in_words)).painted(Paint::Name).shortened())
        .with(GridColumn::numbers("launches", launches.map(units::count)))
        .with(GridColumn::numbers("total", total.map(units::time)));
    page.grid(0, &grid);
    let table = output.table();
    let changed: Vec<usize> =
        (0..table.n_rows()).filter(|&row| output.rows[row].change() != KernelChange::Same).collect();
    let n_same = table.n_rows() - changed.len();
    if changed.is_empty() {
        let what = if table.n_rows() == 0 { "neither runs anything" } else { "both run the same" };
        page.text(0, &format!("{what} on accelerators"), Paint::Plain);
        return;
    }
    let n_shown = args.top.n_shown(changed.len());
    let places: Vec<usize> = first(n_shown).into_iter().map(|place| changed[place]).collect();
    let shown = table.picked(&places);
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let by = output.by.as_str();
    let grid = Grid::default()
        .with(column(by, by).naming())
        .with(column("change", "change"))
        .with(column("type", "type").optional(4))
        .with(column("before_launches", "launches before"))
        .with(column("after_launches", "after"))
        .with(column("before_ns", "time before"))
        .with(column("after_ns", "after"))
        .with(column("difference_ns", "difference"))
        .with(column("by_number_ns", "by number").optional(2))
        .with(column("by_length_ns", "by length").optional(3));
    rows(page, &grid, n_shown, changed.len());
    let n = |change| output.n(change);
    let text = format!(
        "{} added, {} gone, {} changed, {n_same} the same",
        n(KernelChange::Added),
        n(KernelChange::Gone),
        n(KernelChange::Changed),
    );
    page.text(0, &text, Paint::Dim);
}
