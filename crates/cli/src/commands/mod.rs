//! The commands, one in each file, and what their pages share.
//!
//! A command runs its analysis and gives the session three views of the output: data for JSON, a table, a page. Law: if
//! there is nothing to show, the answer gives the reason. This module computes nothing.

mod breakdown;
mod call_tree;
mod calls;
mod causes;
mod cc;
mod clusters;
mod comm_by_process;
mod comm_matrix;
mod comm_over_time;
mod compare;
mod completions;
mod convert;
mod correlate;
mod counters_over_time;
mod critical_path;
mod efficiency;
mod help;
mod idle;
mod imbalance;
mod info;
mod instrument;
mod iterations;
mod kernels;
mod lateness;
mod licenses;
mod messages;
mod patterns;
mod print;
mod profile;
mod record;
mod report;
mod segments;
mod structure;
mod time_profile;
mod timeline;
#[cfg(feature = "view")]
mod view;
mod waits;
mod what_if;

use crate::args::Traffic;
use crate::command::{Command, Need};
use crate::output::draw;
use crate::session::Session;
use crate::terminal::grid::Grid;
use crate::terminal::page::Page;
use crate::terminal::style::Paint;
use crate::terminal::units;
use ouzel::analyses::comm_matrix::TrafficUnit;
use ouzel::model::{Definitions, did_you_mean, near_names};
use ouzel_plot::Picture;

/// All commands, in the order of `ouzel --help`.
pub const COMMANDS: &[Command] = &[
    report::COMMAND,
    #[cfg(feature = "view")]
    view::COMMAND,
    segments::COMMAND,
    clusters::COMMAND,
    iterations::COMMAND,
    info::COMMAND,
    print::COMMAND,
    profile::COMMAND,
    correlate::COMMAND,
    causes::COMMAND,
    timeline::COMMAND,
    time_profile::COMMAND,
    comm_matrix::COMMAND,
    messages::COMMAND,
    comm_by_process::COMMAND,
    comm_over_time::COMMAND,
    counters_over_time::COMMAND,
    breakdown::COMMAND,
    imbalance::COMMAND,
    idle::COMMAND,
    kernels::COMMAND,
    efficiency::COMMAND,
    waits::COMMAND,
    what_if::COMMAND,
    critical_path::COMMAND,
    lateness::COMMAND,
    patterns::COMMAND,
    compare::COMMAND,
    calls::COMMAND,
    call_tree::COMMAND,
    convert::COMMAND,
    record::COMMAND,
    instrument::COMMAND,
    cc::CC,
    cc::F90,
    structure::COMMAND,
    help::COMMAND,
    licenses::COMMAND,
    completions::COMMAND,
];

/// The commands that need this for their answer, with the option if only one needs it.
pub fn that_need(need: Need) -> Vec<String> {
    COMMANDS.iter().filter_map(|command| command.needing(need)).collect()
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
    ouzel_plot::origin(session.trace.path(), &session.common.filter)
}

/// The first `n` rows.
fn first(n: usize) -> Vec<usize> {
    (0..n).collect()
}

/// Regions that a message about an unknown name suggests.
const N_NEAR: usize = 3;

/// What follows a message about a name that no region has.
fn regions_near(definitions: &Definitions, name: &str) -> String {
    let regions = definitions.regions.iter().map(|region| &*region.name);
    did_you_mean(&near_names(name, regions, N_NEAR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_needs_for_an_option_names_one() {
        for command in COMMANDS {
            let parser = command.parser();
            for option in command.needs.iter().filter_map(|need| need.option) {
                let is_there =
                    |arg: &clap::Arg| arg.get_long().is_some_and(|long| format!("--{long}") == option);
                assert!(parser.get_arguments().any(is_there), "{}: {option}", command.name);
            }
        }
    }
}
