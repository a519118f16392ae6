//! Brackets that the tracer writes when they are over: their times lie back in the log.
//!
//! They are gathered in a sweep of their own and then merged by time. Law: sorted by begin,
//! outer ones first. Memory: 48 bytes for each, and its text.

use super::record::LogRecord;
use super::scan::{Log, scan};
use ouzel_model::ReadError;
use std::cmp::Reverse;
use std::sync::Arc;

/// One bracket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bracket {
    pub start: u64,
    pub end: u64,
    /// The user event.
    pub id: i64,
    /// Text that was given with it.
    pub text: Option<Arc<str>>,
}

/// The brackets of a log, and the number of pairs that lack their second end. If the log cannot be read to its end,
/// reading its records says so.
pub(super) fn brackets(log: &Log) -> (Vec<Bracket>, u64) {
    let mut all = Vec::new();
    let mut open: Option<(i64, i64, u64)> = None;
    let mut n_single = 0;
    let stopped: Result<_, ReadError> = scan(log, &mut |scan| match scan.record {
        LogRecord::UserPair { id, time, event } => match open.take() {
            Some((first, number, start)) if (first, number) == (id, event) => {
                all.push(Bracket { start: start.min(time), end: start.max(time), id, text: None });
            }
            other => {
                n_single += u64::from(other.is_some());
                open = Some((id, event, time));
            }
        },
        LogRecord::BracketedNote { start, end, id, text } => {
            let text = Some(Arc::from(String::from_utf8_lossy(text)));
            all.push(Bracket { start, end, id, text });
        }
        _ => {}
    });
    drop(stopped);
    n_single += u64::from(open.is_some());
    all.sort_by_key(|bracket| (bracket.start, Reverse(bracket.end)));
    (all, n_single)
}
