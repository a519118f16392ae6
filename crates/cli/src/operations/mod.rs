//! Commands that answer one question with one table.
//!
//! Each runs its analysis and gives the session three views of the output: data for JSON, a table, a page. Law: if
//! there is nothing to show, the answer gives the reason. This module computes nothing.

mod breakdown;
mod call_tree;
mod calls;
mod comm_by_process;
mod comm_matrix;
mod comm_over_time;
mod compare;
mod critical_path;
mod idle;
mod imbalance;
mod lateness;
mod messages;
mod patterns;
mod time_profile;
mod timeline;

use crate::args::Common;
use crate::args::operations::{Operation, Traffic};
use crate::exit::Outcome;
use crate::output::draw;
use crate::session::Session;
use crate::terminal::grid::Grid;
use crate::terminal::page::Page;
use crate::terminal::style::{Paint, clean};
use crate::terminal::units;
use ouzel::analyses::comm_matrix::TrafficUnit;
use ouzel::model::Filter;
use ouzel_plot::Picture;

/// Runs the command.
///
/// # Errors
/// If the trace cannot be opened or the answer cannot be written.
pub fn run(common: &Common, operation: &Operation) -> anyhow::Result<Outcome> {
    let session = Session::open(common)?;
    match operation {
        Operation::Timeline(args) => timeline::run(&session, args),
        Operation::TimeProfile(args) => time_profile::run(&session, args),
        Operation::CommMatrix(args) => comm_matrix::run(&session, args),
        Operation::Messages(args) => messages::run(&session, args),
        Operation::CommByProcess(args) => comm_by_process::run(&session, args),
        Operation::CommOverTime(args) => comm_over_time::run(&session, args),
        Operation::Breakdown(args) => breakdown::run(&session, args),
        Operation::Imbalance(args) => imbalance::run(&session, args),
        Operation::Idle(args) => idle::run(&session, args),
        Operation::CriticalPath(args) => critical_path::run(&session, args),
        Operation::Lateness(args) => lateness::run(&session, args),
        Operation::Patterns(args) => patterns::run(&session, args),
        Operation::Compare(args) => compare::run(&session, args),
        Operation::Calls(args) => calls::run(&session, args),
        Operation::CallTree(args) => call_tree::run(&session, args),
    }
}

/// What is counted, as the analyses name it.
fn unit(traffic: Traffic) -> TrafficUnit {
    match traffic {
        Traffic::Bytes => TrafficUnit::Bytes,
        Traffic::Messages => TrafficUnit::Messages,
    }
}

/// An amount of traffic for people.
fn amount(unit: TrafficUnit, value: u64) -> String {
    match unit {
        TrafficUnit::Bytes => units::bytes(value),
        TrafficUnit::Messages => units::count(value),
    }
}

/// The line above every page: which trace.
fn title(session: &Session<'_>, page: &mut Page) {
    page.title(&session.asked());
}

/// A table below an empty line, and how many rows are not shown.
fn rows(page: &mut Page, grid: &Grid, n_shown: usize, n_rows: usize) {
    page.gap();
    page.grid(0, grid);
    if n_shown < n_rows {
        let hidden = units::counted((n_rows - n_shown) as u64, "more row", "more rows");
        page.text(0, &format!("… {hidden}: --top 0 shows all"), Paint::Dim);
    }
}

/// Draws the picture if one is asked for.
fn plot(session: &Session<'_>, picture: impl FnOnce() -> Picture) -> anyhow::Result<()> {
    match &session.common.outputs.plot {
        Some(target) => draw(&picture(), target),
        None => Ok(()),
    }
}

/// The subtitle of a picture: the trace, and what was selected of it.
fn origin(session: &Session<'_>) -> String {
    let mut text = clean(&session.trace.path().display().to_string());
    let Filter { ranks, time_ns, regions, predicate, .. } = &session.common.filter;
    if let Some(ranks) = ranks {
        text += &format!(" · ranks {ranks}");
    }
    if let Some((start, end)) = time_ns {
        let end = if *end == u64::MAX { "the end".to_owned() } else { units::time(*end) };
        text += &format!(" · from {} to {end}", units::time(*start));
    }
    if !regions.is_empty() {
        text += &format!(" · {}", clean(&regions.join(", ")));
    }
    if let Some(predicate) = predicate {
        text += &format!(" · where {}", clean(&predicate.to_string()));
    }
    text
}

/// The first `n` rows.
fn first(n: usize) -> Vec<usize> {
    (0..n).collect()
}
