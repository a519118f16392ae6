//! A profile for people.

use super::ProfileArgs;
use crate::args::{DEFAULT_TOP, Per};
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::style::Paint;
use crate::terminal::units;
use ouzel::analyses::profile_columns::exclusive_name;
use ouzel::model::{MetricId, Table};
use std::collections::BTreeSet;
use std::sync::Arc;

const BAR_WIDTH: usize = 10;

/// The page.
pub fn lines(
    session: &Session<'_>,
    args: &ProfileArgs,
    counters: &[MetricId],
    table: &Table,
    span_ns: Option<u64>,
) -> Vec<String> {
    let style = session.style();
    let times = table.values::<u64>("exclusive_ns");
    let sum = |rows: &[usize]| rows.iter().map(|&row| times[row]).sum::<u64>();
    // Calls hidden by a region filter were not asked for: their rows come last, and those of each rank are one line.
    // All totals include them.
    let (selected, hidden, own) = by_kind(session, table);
    // What a profiler does or draws for itself comes after that and has no share: shares are those of the program.
    let own_ns = sum(&own);
    let total_ns: u64 = times.iter().sum::<u64>() - own_ns;
    let folded = if args.per.is_some() && !selected.is_empty() { hidden.as_slice() } else { &[] };
    let not_selected_ns = sum(folded);
    let kept = if folded.is_empty() { [selected, hidden].concat() } else { selected };
    let n_of_program = kept.len();
    let kept = [kept, own].concat();
    let table = &table.picked(&kept);
    let n_rows = table.n_rows();
    let n_shown = match args.top.unwrap_or(DEFAULT_TOP) {
        0 => n_rows,
        top => top.min(n_rows),
    };
    let shown = table.picked(&(0..n_shown).collect::<Vec<_>>());
    let mut grid = grid(args, &shown, &table.picked(&(0..n_of_program).collect::<Vec<_>>()), total_ns);
    for &id in counters {
        let definitions = session.definitions();
        let name = exclusive_name(definitions, id);
        grid = grid.with(GridColumn::of(&shown, &name, &definitions.metrics[id.index()].name));
    }
    let mut lines = grid.lines(session.common.width, style);
    if n_rows == 0 {
        lines.push("no region was entered in the selection".to_owned());
        return lines;
    }
    let hidden_ns: u64 = table.values::<u64>("exclusive_ns").iter().take(n_of_program).skip(n_shown).sum();
    if n_shown < n_of_program {
        let share = units::percent(Some(hidden_ns as f64 / total_ns.max(1) as f64));
        let n_hidden = units::counted((n_of_program - n_shown) as u64, "more row", "more rows");
        lines.push(style.paint(
            Paint::Dim,
            &format!("… {n_hidden} with {} exclusive ({share}): --top 0 shows all", units::time(hidden_ns)),
        ));
    }
    if 0 < not_selected_ns {
        let share = units::percent(Some(not_selected_ns as f64 / total_ns as f64));
        let line = format!(
            "… {} ({share}) of all ranks in calls that are not selected",
            units::time(not_selected_ns)
        );
        lines.push(style.paint(Paint::Dim, &line));
    }
    if 0 < own_ns {
        let line = format!(
            "{} of the profiler itself, which is no code of the program, is in no share",
            units::time(own_ns)
        );
        lines.push(style.paint(Paint::Dim, &line));
    }
    let span = span_ns.map(|ns| format!(" · run of {}", units::time(ns))).unwrap_or_default();
    let what = if args.call_paths { ("call path", "call paths") } else { ("region", "regions") };
    let what = if args.per.is_some() { ("row", "rows") } else { what };
    let n_rows = units::counted(n_rows as u64, what.0, what.1);
    lines.push(style.paint(
        Paint::Dim,
        &format!("{n_rows} · {} in regions, summed over locations{span}", units::time(total_ns)),
    ));
    lines
}

/// The rows of what is selected, those of the region `[filtered]`, and those of the profiler itself.
fn by_kind(session: &Session<'_>, table: &Table) -> (Vec<usize>, Vec<usize>, Vec<usize>) {
    let regions = table.values::<Arc<str>>("region");
    let own: BTreeSet<&str> = session
        .definitions()
        .regions
        .iter()
        .filter(|region| region.is_of_profiler())
        .map(|region| &*region.name)
        .collect();
    let (program, own): (Vec<usize>, Vec<usize>) =
        (0..table.n_rows()).partition(|&row| !own.contains(&*regions[row]));
    let (selected, hidden) = program.into_iter().partition(|&row| &*regions[row] != "[filtered]");
    (selected, hidden, own)
}

/// The rows that are shown, of which the first are the first of the `program`.
fn grid(args: &ProfileArgs, shown: &Table, program: &Table, total_ns: u64) -> Grid {
    let exclusive = shown.values::<u64>("exclusive_ns");
    let of_program = |row: usize, ns: u64| (row < program.n_rows()).then_some(ns);
    let largest = program.values::<u64>("exclusive_ns").iter().copied().max().unwrap_or(0);
    let share = |(row, &ns): (usize, &u64)| match of_program(row, ns) {
        Some(ns) => units::percent((total_ns != 0).then(|| ns as f64 / total_ns as f64)),
        None => String::new(),
    };
    let bars = exclusive.iter().enumerate().map(|(row, &ns)| {
        of_program(row, ns).map(|ns| units::bar(ns, largest, BAR_WIDTH)).unwrap_or_default()
    });
    let name = if args.call_paths { ("call_path", "call path") } else { ("region", "region") };
    let column = |name: &str, title: &str| GridColumn::of(shown, name, title);
    let mut grid = Grid::default().with(column(name.0, name.1).naming());
    if args.per.is_some() {
        grid = grid.with(column("rank", "rank"));
    }
    if args.per == Some(Per::Location) {
        grid = grid.with(column("location", "location"));
    }
    grid = grid
        .with(column("exclusive_ns", "exclusive"))
        .with(GridColumn::numbers("share", exclusive.iter().enumerate().map(share)))
        .with(GridColumn::text("", bars).painted(Paint::Bar).optional(2))
        .with(column("inclusive_ns", "inclusive"))
        .with(column("visits", "visits").optional(1));
    if args.messages {
        grid = grid
            .with(column("sends", "sends"))
            .with(column("bytes_sent", "sent"))
            .with(column("receives", "receives"))
            .with(column("bytes_received", "received"))
            .with(column("collectives", "collectives"));
    }
    grid.with(column("min_ns", "min").optional(4))
        .with(column("max_ns", "max").optional(3))
        .with(column("paradigm", "paradigm").optional(5))
        .with_some(source(shown))
}

/// File and line of each region; `None` if no region has them.
fn source(table: &Table) -> Option<GridColumn> {
    let files = table.values::<Option<Arc<str>>>("file");
    if files.iter().all(Option::is_none) {
        return None;
    }
    let place = |(file, line): (&Option<Arc<str>>, &Option<u64>)| match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_string(),
        (None, _) => String::new(),
    };
    let lines = table.values::<Option<u64>>("line");
    Some(GridColumn::text("source", files.iter().zip(lines).map(place)).optional(6))
}
