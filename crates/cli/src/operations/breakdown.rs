//! `ouzel breakdown`: computation, communication and their overlap.

use super::{first, origin, plot, rows, title};
use crate::args::operations::{BreakdownArgs, HostCodeWord};
use crate::exit::Outcome;
use crate::rules;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn, Importance};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use ouzel::analyses::breakdown::{Breakdown, BreakdownOutput, HostCode, Requests};
use ouzel::model::{Definitions, Table};
use ouzel_export::to_json;
use ouzel_plot::pictures;
use serde::Serialize;
use serde_json::{Map, Value};

/// The `data` of the JSON answer.
#[derive(Debug, Serialize)]
struct Data {
    /// By rank.
    rows: Value,
    /// Each part averaged over the processes; `null` without one.
    mean: Option<Map<String, Value>>,
}

pub fn run(session: &Session<'_>, args: &BreakdownArgs) -> anyhow::Result<Outcome> {
    let definitions = session.definitions();
    let classes = rules::semantics(args.rules.file())?.classes(definitions);
    let host_code = match args.host_code {
        HostCodeWord::WithoutStreams => HostCode::ComputesWithoutStreams,
        HostCodeWord::Computes => HostCode::Computes,
        HostCodeWord::No => HostCode::DoesNotCompute,
    };
    let filter = &session.common.filter;
    let analysis = Breakdown::new(definitions, filter, &classes, host_code, Requests::Included);
    let answer = session.ask(analysis)?;
    plot(session, || pictures::breakdown(&answer.output, definitions, &origin(session)))?;
    session.reply(
        "breakdown",
        &answer,
        |output| Data { rows: to_json(&output.table(definitions)), mean: mean(output, definitions) },
        |output| output.table(definitions),
        |output, page| write_page(session, &output.table(definitions), args, page),
    )
}

fn mean(output: &BreakdownOutput, definitions: &Definitions) -> Option<Map<String, Value>> {
    let parts = output.mean()?;
    Some(
        parts.into_iter().map(|(name, mean)| (name.to_owned(), mean.ns(&definitions.clock).into())).collect(),
    )
}

fn write_page(session: &Session<'_>, table: &Table, args: &BreakdownArgs, page: &mut Page) {
    title(session, page);
    let n_rows = table.n_rows();
    let n_shown = args.top.n_shown(n_rows);
    let shown = crate::rows::picked(table, &first(n_shown));
    let span = crate::rows::integers(&shown, "span_ns");
    let part = |grid: Grid, name: &str, title: &str, order: u8| {
        let values = crate::rows::integers(&shown, name);
        if values.iter().all(|&ns| ns == 0) && name != "overlap_ns" {
            return grid;
        }
        let shares = values
            .iter()
            .zip(span)
            .map(|(&ns, &of)| units::percent((of != 0).then(|| ns as f64 / of as f64)));
        grid.with_some(GridColumn::of(&shown, name, title))
            .with(GridColumn::numbers("", shares).painted(Paint::Dim).importance(Importance::Optional(order)))
    };
    let mut grid = Grid::default().with_some(GridColumn::of(&shown, "rank", "rank"));
    for (name, title, order) in [
        ("computation_ns", "computation", 1),
        ("overlap_ns", "overlap", 2),
        ("communication_ns", "communication", 1),
        ("other_ns", "other", 3),
        ("transfer_ns", "incl. transfers", 4),
        ("unclassified_ns", "incl. unclassified", 4),
    ] {
        grid = part(grid, name, title, order);
    }
    rows(page, &grid.with_some(GridColumn::of(&shown, "span_ns", "span")), n_shown, n_rows);
    if n_rows == 0 {
        page.text(0, "no process ran in the selection", Paint::Plain);
        return;
    }
    page.text(
        0,
        "computation: only computing · overlap: computing while communicating · communication: only \
         communicating · other: neither; they add up to the span",
        Paint::Dim,
    );
}
