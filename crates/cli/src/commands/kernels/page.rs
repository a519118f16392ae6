//! The page of `ouzel kernels`.

use crate::args::TopArgs;
use crate::commands::{first, rows, title};
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use ouzel::model::{Definitions, Table};
use ouzel::waits::accelerators::{IdleCause, KernelsOutput, KernelsPer, KernelsTable};

pub fn write_page(session: &Session<'_>, output: &KernelsOutput, top: &TopArgs, page: &mut Page) {
    title(session, page);
    let definitions = session.definitions();
    let table = output.table(KernelsTable::Rows, definitions);
    let n_rows = table.n_rows();
    if n_rows == 0 {
        page.text(0, "no operation of an accelerator in the selection", Paint::Plain);
        return;
    }
    let n_shown = top.n_shown(n_rows);
    let shown = table.picked(&first(n_shown));
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let ns = |name: &str| shown.values::<f64>(name).iter().map(|&ns| units::time(ns.round() as u64));
    let by = output.by.as_str();
    let grid = Grid::default()
        .with_some((output.per == KernelsPer::Step).then(|| column("step", "step")))
        .with(column(by, by).naming())
        .with(column("type", "type").optional(5))
        .with(column("total_ns", "total"))
        .with(column("share", "share"))
        .with(column("launches", "launches"))
        .with(GridColumn::numbers("mean", ns("mean_ns")))
        .with(GridColumn::numbers("median", ns("median_ns")).optional(3))
        .with(column("min_ns", "min").optional(2))
        .with(column("max_ns", "max").optional(2))
        .with(GridColumn::numbers("deviation", ns("std_ns")).optional(1));
    rows(page, &with_launches(grid, &shown), n_shown, n_rows);
    write_over_time(output, definitions, page);
    write_steps(output, definitions, page);
    let types = output.table(KernelsTable::Types, definitions);
    let of = |name: &str| GridColumn::of(&types, name, name.trim_end_matches("_ns"));
    rows(page, &Grid::default().with(of("type")).with(of("total_ns")).with(of("share")), 0, 0);
    write_copies(output, definitions, page);
    write_queues(output, definitions, page);
    write_communication(output, definitions, page);
    write_memory(output, definitions, page);
    let short = output.short;
    if 0 < short.n {
        let what = units::counted(short.n, "kernel runs", "kernels run");
        page.text(
            0,
            &format!(
                "{what} shorter than the call that launches: {} of work, {} of launching",
                units::time(short.total_ns),
                units::time(short.launch_ns)
            ),
            Paint::Dim,
        );
    }
}

/// How kernels are launched, if the trace says so.
fn with_launches(grid: Grid, shown: &Table) -> Grid {
    if shown.values::<u64>("n_shapes").iter().all(|&n| n == 0) {
        return grid;
    }
    let occupancy = shown.values::<Option<f64>>("occupancy");
    let has_occupancy = occupancy.iter().any(Option::is_some);
    let percent = |it: &Option<f64>| it.map_or_else(String::new, |it| format!("{:.0} %", 100.0 * it));
    let column = |name: &str, title: &str, order| GridColumn::of(shown, name, title).optional(order);
    grid.with(column("grid", "blocks", 4))
        .with(column("block", "threads", 4))
        .with(column("registers", "registers", 1))
        .with(column("shared_bytes", "shared", 1))
        .with_some(
            has_occupancy
                .then(|| GridColumn::numbers("occupancy", occupancy.iter().map(percent)).optional(4)),
        )
}

/// Bins with operations, if bins are asked for.
fn write_over_time(output: &KernelsOutput, definitions: &Definitions, page: &mut Page) {
    let table = output.table(KernelsTable::OverTime, definitions);
    let launches = table.values::<u64>("launches");
    let queues = table.values::<u64>("max_queue_length");
    let busy = table.values::<u64>("busy_ns");
    let places: Vec<usize> =
        (0..table.n_rows()).filter(|&row| 0 < launches[row] || 0 < queues[row] || 0 < busy[row]).collect();
    if places.is_empty() {
        return;
    }
    let shown = table.picked(&places);
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let time = |ns: Option<f64>| ns.map_or_else(String::new, |ns| units::time(ns.round() as u64));
    let delays = shown.values::<Option<f64>>("mean_delay_ns").iter().map(|&ns| time(ns));
    let lengths = shown.values::<f64>("mean_queue_length").iter().map(|length| format!("{length:.2}"));
    let grid = Grid::default()
        .with(column("bin_start_ns", "from"))
        .with(column("bin_end_ns", "to"))
        .with(column("rank", "rank"))
        .with(column("stream", "stream"))
        .with(column("launches", "begin"))
        .with(column("busy_ns", "busy"))
        .with(GridColumn::numbers("queue, mean", lengths))
        .with(column("max_queue_length", "longest"))
        .with(GridColumn::numbers("launch delay, mean", delays))
        .with(column("max_delay_ns", "longest"));
    rows(page, &grid, 0, 0);
    let copies = output.table(KernelsTable::CopiesOverTime, definitions);
    if copies.n_rows() == 0 {
        return;
    }
    let column = |name: &str, title: &str| GridColumn::of(&copies, name, title);
    let bytes = copies.values::<u64>("bytes").iter().map(|&bytes| units::bytes(bytes));
    let rate = |it: &Option<f64>| it.map_or_else(String::new, |it| format!("{it:.2} GB/s"));
    let rates = copies.values::<Option<f64>>("gb_per_s").iter().map(rate);
    let grid = Grid::default()
        .with(column("bin_start_ns", "from"))
        .with(column("bin_end_ns", "to"))
        .with(column("direction", "copies"))
        .with(column("n", "number"))
        .with(GridColumn::numbers("bytes", bytes))
        .with(GridColumn::numbers("mean", rates))
        .with(column("of_best", "of the best"));
    rows(page, &grid, 0, 0);
}

/// Operators on the page with their memory; JSON has all.
const MOST_MEMORY: usize = 12;

fn write_memory(output: &KernelsOutput, definitions: &Definitions, page: &mut Page) {
    let table = output.table(KernelsTable::Memory, definitions);
    if table.n_rows() == 0 {
        return;
    }
    let bytes = |it: u64| units::bytes(it);
    let reserved = table
        .values::<Option<u64>>("peak_reserved_bytes")
        .iter()
        .map(|it| it.map_or_else(String::new, bytes));
    let grid = Grid::default()
        .with(GridColumn::of(&table, "rank", "rank"))
        .with(GridColumn::of(&table, "place", "memory"))
        .with(GridColumn::of(&table, "n_allocations", "given"))
        .with(GridColumn::of(&table, "n_releases", "taken back"))
        .with(GridColumn::numbers(
            "peak",
            table.values::<u64>("peak_allocated_bytes").iter().map(|&it| bytes(it)),
        ))
        .with(GridColumn::of(&table, "peak_operator", "by").optional(1))
        .with(GridColumn::numbers("held at most", reserved))
        .with(GridColumn::of(&table, "fragmentation", "of it unused at the peak"));
    rows(page, &grid, 0, 0);
    let table = output.table(KernelsTable::MemoryByOperator, definitions);
    let n_shown = table.n_rows().min(MOST_MEMORY);
    let shown = table.picked(&first(n_shown));
    let column =
        |name: &str| shown.values::<u64>(name).iter().map(|&it| units::bytes(it)).collect::<Vec<_>>();
    let grid = Grid::default()
        .with(GridColumn::of(&shown, "operator", "operator").naming())
        .with(GridColumn::of(&shown, "rank", "rank").optional(1))
        .with(GridColumn::of(&shown, "place", "memory"))
        .with(GridColumn::of(&shown, "n_allocations", "given"))
        .with(GridColumn::numbers("bytes", column("allocated_bytes")))
        .with(GridColumn::numbers("taken back", column("released_bytes")))
        .with(GridColumn::numbers("peak", column("peak_allocated_bytes")));
    rows(page, &grid, n_shown, table.n_rows());
}

/// Causes on the page; JSON has all.
const STEP_CAUSES: [IdleCause; 3] = [IdleCause::HostLate, IdleCause::HostWaits, IdleCause::Partner];

fn write_steps(output: &KernelsOutput, definitions: &Definitions, page: &mut Page) {
    let table = output.table(KernelsTable::Steps, definitions);
    let n_rows = table.n_rows();
    if n_rows == 0 {
        return;
    }
    let n_shown = n_rows.min(MOST_STEPS);
    let longest_first = |row: &usize| (output.steps[*row].outlier.is_none(), *row);
    let mut places: Vec<usize> = (0..n_rows).collect();
    places.sort_by_key(longest_first);
    places.truncate(n_shown);
    places.sort_unstable();
    let shown = table.picked(&places);
    let column = |name: &str, title: &str| GridColumn::of(&shown, name, title);
    let why = places.iter().map(|&place| match output.steps[place].outlier {
        None => String::new(),
        Some(outlier) => {
            let longer = format!("{} longer than the median", units::time(outlier.excess_ns));
            match outlier.reason {
                None => longer,
                Some((reason, ns)) => format!("{longer}: {} ({})", reason.in_words(), units::time(ns)),
            }
        }
    });
    let grid = Grid::default()
        .with(column("step", "step"))
        .with(column("length_ns", "length"))
        .with(column("launches", "launches"))
        .with(column("device_ns", "on devices"))
        .with(column("idle_ns", "streams idle"));
    let grid = STEP_CAUSES.iter().fold(grid, |grid, cause| {
        let name = format!("{}_ns", cause.as_str());
        let occurs = table.values::<u64>(&name).iter().any(|&ns| 0 < ns);
        grid.with_some(occurs.then(|| column(&name, cause.in_words()).optional(2)))
    });
    let grid = grid.with(GridColumn::text("", why));
    rows(page, &grid, n_shown, n_rows);
    if let Some(of) = output.step_lengths().filter(|of| 1 < of.n) {
        let time = |ns: f64| units::time(ns.round() as u64);
        let text = format!(
            "{} steps: mean {}, median {}, shortest {}, longest {}, deviation {}",
            of.n,
            time(of.mean_ns),
            time(of.median_ns),
            units::time(of.min_ns),
            units::time(of.max_ns),
            time(of.std_ns),
        );
        page.text(0, &text, Paint::Dim);
    }
}

/// Steps on the page: those that take longer than the others before all.
const MOST_STEPS: usize = 20;

fn write_copies(output: &KernelsOutput, definitions: &Definitions, page: &mut Page) {
    let table = output.table(KernelsTable::Copies, definitions);
    if table.n_rows() == 0 {
        return;
    }
    let rate = |name: &str| {
        let rate = |rate: &Option<f64>| rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.2} GB/s"));
        table.values::<Option<f64>>(name).iter().map(rate).collect::<Vec<_>>()
    };
    let bytes = table.values::<Option<u64>>("bytes").iter();
    let bytes = bytes.map(|bytes| bytes.map_or_else(|| "-".to_owned(), units::bytes));
    let has_memory = table.values::<Option<u64>>("n_pageable").iter().any(Option::is_some);
    let grid = Grid::default()
        .with(GridColumn::of(&table, "direction", "copies"))
        .with(GridColumn::of(&table, "n", "number"))
        .with(GridColumn::numbers("bytes", bytes))
        .with(GridColumn::of(&table, "total_ns", "total"))
        .with(GridColumn::numbers("mean", rate("mean_gb_per_s")))
        .with(GridColumn::numbers("best", rate("max_gb_per_s")))
        .with_some(has_memory.then(|| GridColumn::of(&table, "n_pageable", "pageable").optional(1)))
        .with_some(
            has_memory.then(|| GridColumn::numbers("pageable, mean", rate("pageable_gb_per_s")).optional(1)),
        )
        .with_some(
            has_memory.then(|| GridColumn::numbers("pinned, mean", rate("pinned_gb_per_s")).optional(1)),
        )
        .with(GridColumn::of(&table, "overlapped_ns", "beside kernels").optional(2));
    rows(page, &grid, 0, 0);
}

fn write_communication(output: &KernelsOutput, definitions: &Definitions, page: &mut Page) {
    let table = output.table(KernelsTable::Communication, definitions);
    if table.n_rows() == 0 {
        return;
    }
    let n_shown = table.n_rows().min(MOST_COLLECTIVES);
    let shown = table.picked(&first(n_shown));
    let bytes = shown.values::<u64>("bytes").iter().map(|&bytes| units::bytes(bytes));
    let rate = |rate: &Option<f64>| rate.map_or_else(String::new, |rate| format!("{rate:.2} GB/s"));
    let rates = shown.values::<Option<f64>>("bus_gb_per_s").iter().map(rate);
    let grid = Grid::default()
        .with(GridColumn::of(&shown, "operation", "collective"))
        .with(GridColumn::of(&shown, "group_size", "members"))
        .with(GridColumn::numbers("size", bytes))
        .with(GridColumn::of(&shown, "n", "number"))
        .with(GridColumn::of(&shown, "total_ns", "total"))
        .with(GridColumn::of(&shown, "waiting_ns", "waiting"))
        .with(GridColumn::of(&shown, "exposed_ns", "exposed"))
        .with(GridColumn::numbers("bus", rates));
    rows(page, &grid, 0, 0);
    let late = output.table(KernelsTable::Stragglers, definitions);
    let grid = Grid::default()
        .with(GridColumn::of(&late, "rank", "rank"))
        .with(GridColumn::of(&late, "n", "collectives"))
        .with(GridColumn::of(&late, "n_last", "last in"))
        .with(GridColumn::of(&late, "late_ns", "late by"));
    rows(page, &grid, 0, 0);
}

/// Rows of collectives on the page; JSON has all.
const MOST_COLLECTIVES: usize = 12;

fn write_queues(output: &KernelsOutput, definitions: &Definitions, page: &mut Page) {
    let delays = output.table(KernelsTable::LaunchDelays, definitions);
    let mean = delays.values::<f64>("mean_delay_ns").iter().map(|&ns| units::time(ns.round() as u64));
    let grid = Grid::default()
        .with(GridColumn::of(&delays, "rank", "rank"))
        .with(GridColumn::numbers("launch delay, mean", mean))
        .with(GridColumn::of(&delays, "max_delay_ns", "longest"));
    rows(page, &grid, 0, 0);
    let queues = output.table(KernelsTable::Queues, definitions);
    let grid = Grid::default()
        .with(GridColumn::of(&queues, "rank", "rank"))
        .with(GridColumn::of(&queues, "stream", "stream"))
        .with(GridColumn::of(&queues, "max_queue_length", "longest queue"));
    rows(page, &grid, 0, 0);
}
