//! Which rank each process of the reports is.
//!
//! | what is known | ranks |
//! |---|---|
//! | the table of MPI ranks | those of the table; other processes have none |
//! | a number of each report: of the environment, the file names, or the order of several files | that number, for the program of the report |
//! | no number, or a report with several programs | none here: the model numbers the processes that drive accelerators |
//!
//! The program of a report is the one process that drives accelerators; where none does, all its processes.
//! A launcher or shell beside it has no rank.

use super::reports::{About, ranks_from_names};
use super::scan::{PlaceKind, Process, ScannedReports};
use crate::position::u32_from;
use ouzel_model::{Level, Notice, NoticeCode};
use std::path::PathBuf;

/// The rank of each process, and how it was found.
pub(super) fn ranks_of(
    scan: &ScannedReports,
    abouts: &[About],
    exports: &[PathBuf],
    notices: &mut Vec<Notice>,
) -> Vec<Option<u32>> {
    let of_table = |process: &Process| abouts[process.report].mpi_ranks.get(&process.global_pid).copied();
    if abouts.iter().any(|about| !about.mpi_ranks.is_empty()) {
        return scan.processes.iter().map(of_table).collect();
    }
    let programs = programs(scan, abouts.len());
    // The environment of a launcher is that of all its processes: a number can be that of one of them only.
    let has_several = programs.iter().any(|of| 1 < of.n_drivers);
    let of_reports = match abouts {
        _ if has_several => None,
        [about] => about.environment_rank.filter(|_| programs[0].list.len() == 1).map(|rank| vec![rank]),
        _ => Some(ranks_of_reports(abouts, exports, notices)),
    };
    let mut ranks = vec![None; scan.processes.len()];
    for (program, rank) in programs.iter().zip(of_reports.into_iter().flatten()) {
        program.list.iter().for_each(|&process| ranks[process] = Some(rank));
    }
    ranks
}

/// The processes of a report that may be a rank.
#[derive(Debug, Clone, Default)]
struct Program {
    list: Vec<usize>,
    n_drivers: usize,
}

fn programs(scan: &ScannedReports, n_reports: usize) -> Vec<Program> {
    let mut drives = vec![false; scan.processes.len()];
    let mut has_rows = vec![false; scan.processes.len()];
    for place in &scan.places {
        has_rows[place.process as usize] = true;
        drives[place.process as usize] |= matches!(place.kind, PlaceKind::Stream { .. });
    }
    let mut programs = vec![Program::default(); n_reports];
    for (process, it) in scan.processes.iter().enumerate() {
        programs[it.report].n_drivers += usize::from(drives[process]);
    }
    for (process, it) in scan.processes.iter().enumerate() {
        let program = &mut programs[it.report];
        let is_program = if 0 < program.n_drivers { drives[process] } else { has_rows[process] };
        if is_program {
            program.list.push(process);
        }
    }
    programs
}

/// The number of each of several reports.
fn ranks_of_reports(abouts: &[About], exports: &[PathBuf], notices: &mut Vec<Notice>) -> Vec<u32> {
    let all: Option<Vec<u32>> = abouts.iter().map(|about| about.environment_rank).collect();
    let all = all.filter(|ranks| {
        let mut sorted = ranks.clone();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.len() == ranks.len()
    });
    let (ranks, from) = match (all, ranks_from_names(exports)) {
        (Some(ranks), _) => (ranks, "the programs' environment"),
        (None, Some(ranks)) => (ranks, "the file names"),
        (None, None) => ((0..u32_from(exports.len())).collect(), "the order of the files"),
    };
    let message =
        format!("the reports do not record MPI ranks; ranks were taken from {from}, one for each report");
    notices.push(Notice::new(Level::Low, NoticeCode::MissingDefinitions, message));
    ranks
}
