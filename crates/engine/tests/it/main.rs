//! The engine from outside: what analyses see, and what a pass answers.

mod damage;
mod log;
mod partials;
mod passes;
mod predicates;
mod random;
mod regions;
mod repairs;
mod sampled;
mod time_range;

use log::{Log, Seen};
use ouzel_model::{Filter, NoticeCode};
use ouzel_testkit::{ToyTrace, run_report};

/// What an analysis that needs everything sees of the trace `text` under `filter`, and the notices.
/// Chunks of one event must show the same.
fn see(text: &str, filter: &Filter) -> (Seen, Vec<(NoticeCode, u64)>) {
    let trace = ToyTrace::new(text);
    let (seen, report) = run_report(&trace, filter, Log);
    let notices =
        |notices: Vec<ouzel_model::Notice>| notices.into_iter().map(|n| (n.code, n.count)).collect();
    let (in_pieces, pieces_report) = run_report(&trace.with_chunk_events(1), filter, Log);
    assert_eq!(in_pieces.lines(), seen.lines(), "chunks of one event");
    let (notices, of_pieces): (Vec<_>, Vec<_>) = (notices(report.notices), notices(pieces_report.notices));
    assert_eq!(notices, of_pieces, "notices of chunks of one event");
    (seen, notices)
}

/// Checks the events of a trace of one location, as its analyses see them.
#[track_caller]
fn check(text: &str, filter: &Filter, expected: &[&str], notices: &[(NoticeCode, u64)]) {
    let (seen, found) = see(text, filter);
    assert_eq!(seen.lines(), expected);
    assert_eq!(found, notices);
}
