//! Loops for people: how often, how long, and which iterations stand out.

use super::data::{Data, InstanceEntry, IterationEntry, LoopEntry};
use crate::commands::segments::page::epochs;
use crate::session::Session;
use crate::terminal::grid::{Grid, GridColumn};
use crate::terminal::names::{call_path, region};
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::{spark, units};
use std::fmt::Write;

/// Loops that the page shows; JSON has all of them.
const MAX_LOOPS: usize = 20;
/// Clusters of ranks whose iterations are drawn.
const MAX_INSTANCES: usize = 4;
const INDENT: usize = 5;
/// Why a number is an estimate.
const MISSED: &str = "an estimate: samples miss short iterations";

/// The page, with at most `top` of the longest iterations of each loop (0: all).
pub fn lines(session: &Session<'_>, data: &Data, top: usize) -> Vec<String> {
    let mut page = Page::new(session.style(), session.common.width);
    page.title(&session.asked());
    if data.loops.is_empty() {
        page.gap();
        page.text(
            2,
            "No iterations were found: the trace marks no loop, and no sequence of calls repeats three times or \
             more. Record more functions, or filter out fewer.",
            Paint::Plain,
        );
        return page.lines;
    }
    for (i, of_loop) in data.loops.iter().take(MAX_LOOPS).enumerate() {
        one(&mut page, i + 1, of_loop, data, top);
    }
    if MAX_LOOPS < data.loops.len() {
        let n = units::counted((data.loops.len() - MAX_LOOPS) as u64, "shorter loop", "shorter loops");
        page.gap();
        page.text(0, &format!("… {n}: --format json has all."), Paint::Dim);
    }
    epochs(&mut page, &data.epochs);
    page.lines
}

fn one(page: &mut Page, number: usize, of_loop: &LoopEntry, data: &Data, top: usize) {
    page.gap();
    let mut what = of_loop.n_in_words();
    if !of_loop.is_nested {
        let ns = of_loop.total_ns();
        let share = units::percent((data.run_time_ns != 0).then(|| ns as f64 / data.run_time_ns as f64));
        let _ = write!(what, " · {} ({share})", units::time(ns));
    }
    let room = page.width.saturating_sub(what.chars().count() + 8).max(24);
    let name = page.style.paint(Paint::Name, &loop_name(of_loop, room));
    page.lines.push(format!("{number:>3}  {name}   {}", page.style.paint(Paint::Heading, &what)));
    page.text(INDENT, &origin(of_loop), Paint::Dim);
    if of_loop.is_estimate && !of_loop.is_nested {
        page.text(INDENT, MISSED, Paint::Dim);
    }
    for instance in of_loop.instances.iter().take(MAX_INSTANCES) {
        durations(page, of_loop, instance);
    }
    if MAX_INSTANCES < of_loop.instances.len() {
        let n = (of_loop.instances.len() - MAX_INSTANCES) as u64;
        let n = units::counted(n, "more cluster of ranks runs it", "more clusters of ranks run it");
        page.text(INDENT, &format!("… {n}: --format json has all"), Paint::Dim);
    }
    if let Some(instance) = of_loop.main_instance() {
        longest(page, &of_loop.iterations_of(instance), instance.mean_ns, top);
    }
}

/// The call path of a loop that is a region; `loop around REGION in` the call path around one that was found.
pub fn loop_name(of_loop: &LoopEntry, room: usize) -> String {
    if of_loop.is_region() {
        return call_path(&of_loop.call_path, room);
    }
    let title = of_loop.title();
    let room_of_name = room.saturating_sub(title.before.chars().count());
    let name = format!("{}{}", title.before, call_path(&[title.region], room_of_name));
    if of_loop.call_path.is_empty() {
        return name;
    }
    let room = room.saturating_sub(name.chars().count() + 4).max(12);
    format!("{name} in {}", call_path(&of_loop.call_path, room))
}

/// How the loop was found, and which part of it was not counted as an iteration.
fn origin(of_loop: &LoopEntry) -> String {
    let mut parts = vec![of_loop.source_in_words()];
    if of_loop.is_nested {
        let outer = of_loop.inside_of.last().map_or_else(|| "another loop".to_owned(), |name| region(name));
        parts.push(match of_loop.is_estimate {
            true => format!("inside {outer}, whose iterations differ: counted in their averages"),
            false => format!("inside {outer}, counted over all its iterations"),
        });
    }
    if 0 < of_loop.rejected {
        let n = units::counted(of_loop.rejected, "piece", "pieces");
        parts.push(format!("{n} could not be distinguished as iterations"));
    }
    if of_loop.is_nested && 1 < of_loop.n_clusters {
        parts.push(format!("{} kinds of iterations", of_loop.n_clusters));
    }
    parts.join(" · ")
}

/// `all alike`, or how many kinds `n` iterations are of; `None` for one, which has nothing to be like.
pub fn kinds(instance: &InstanceEntry, n: usize) -> Option<String> {
    match (n, instance.n_clusters) {
        (0 | 1, _) => None,
        (_, 0 | 1) => Some("all alike".to_owned()),
        (_, n) => Some(format!("{n} kinds")),
    }
}

/// The durations as bars, and their summary, at the representative of a cluster of locations.
fn durations(page: &mut Page, of_loop: &LoopEntry, instance: &InstanceEntry) {
    let who = match (instance.rank, instance.n_locations) {
        (Some(rank), 1) => format!("rank {rank}"),
        (Some(rank), 2) => format!("rank {rank} and another like it"),
        (Some(rank), n) => format!("rank {rank} and {} others like it", units::count(n - 1)),
        (None, n) => units::counted(n, "location", "locations"),
    };
    let several = if 1 < instance.iterations_per_entry {
        format!(" ({} together)", instance.iterations_per_entry)
    } else {
        String::new()
    };
    let spread = spark::spread(instance.min_ns, instance.mean_ns, instance.max_ns);
    let iterations = of_loop.iterations_of(instance);
    let kinds = kinds(instance, iterations.len()).map_or_else(String::new, |kinds| format!("; {kinds}"));
    let values: Vec<u64> = iterations.iter().map(|i| i.duration_ns()).collect();
    let bars = spark::bars(&values, page.text_width().saturating_sub(2 * INDENT));
    page.lines.push(format!("{:INDENT$}{}", "", page.style.paint(Paint::Bar, &bars)));
    let one = match of_loop.is_estimate {
        true => format!("what was found{several} takes"),
        false => format!("an iteration{several} takes"),
    };
    page.text(INDENT, &format!("{who}: {one} {spread}{kinds}"), Paint::Plain);
}

fn longest(page: &mut Page, iterations: &[&IterationEntry], mean_ns: u64, top: usize) {
    let mut order: Vec<&IterationEntry> = iterations.to_vec();
    order.sort_by_key(|i| (std::cmp::Reverse(i.duration_ns()), i.index));
    if top != 0 {
        // Only iterations at least a tenth above the mean are worth a line.
        order.retain(|i| mean_ns + mean_ns / 10 < i.duration_ns());
        order.truncate(top);
    }
    if order.is_empty() {
        return;
    }
    let texts =
        |value: &dyn Fn(&IterationEntry) -> String| order.iter().map(|i| value(i)).collect::<Vec<_>>();
    let of_mean =
        |i: &IterationEntry| units::percent((mean_ns != 0).then(|| i.duration_ns() as f64 / mean_ns as f64));
    let epochs = order.iter().any(|i| i.epoch.is_some()).then(|| {
        GridColumn::numbers("epoch", texts(&|i| i.epoch.map_or_else(String::new, |id| id.to_string())))
    });
    page.grid(
        INDENT,
        &Grid::default()
            .with(GridColumn::numbers("longest", texts(&|i| i.index.to_string())))
            .with(GridColumn::numbers("takes", texts(&|i| units::time(i.duration_ns()))))
            .with(GridColumn::numbers("of the mean", texts(&of_mean)))
            .with(GridColumn::numbers("from", texts(&|i| units::time(i.start_ns))))
            .with(GridColumn::numbers("to", texts(&|i| units::time(i.end_ns))))
            .with(GridColumn::numbers("kind", texts(&|i| i.cluster.to_string())))
            .with_some(epochs),
    );
}
