//! What a recording lost, so that every reader of the archive can say it.

use super::communicators::Unified;
use super::contexts::UnifiedContexts;
use super::piece::Piece;
use super::under_way::UnderWay;
use super::{Death, Deaths};
use crate::counters;
use crate::io::is_of_others;
use crate::journal::Entry;
use ouzel_model::units::count;
use ouzel_otf2::remark::Remark;
use std::collections::{BTreeMap, BTreeSet};

/// The signal of a program that writes to a pipe whose reader is gone, as in `yes | head`. Linux has one number for all
/// processors.
const BROKEN_PIPE: u32 = 13;

fn loss(message: String) -> Remark {
    Remark { is_loss: true, message }
}

/// How users name a process.
fn name(piece: &Piece) -> String {
    match &piece.rank {
        Some((rank, ..)) => format!("rank {rank}"),
        None => format!("process {} ({})", piece.pid, piece.program_name()),
    }
}

fn seconds(ns: u64) -> String {
    format!("{}.{} s", ns / 1_000_000_000, ns / 100_000_000 % 10)
}

/// What is missing of the processes of a run.
pub(super) fn of_run(
    pieces: &[Piece],
    communicators: &Unified,
    start_ns: u64,
    deaths: &Deaths,
) -> Vec<Remark> {
    let (mut notices, mut silent, mut n_ended) = (Vec::new(), Vec::new(), 0_u64);
    if let Some(launcher) = pieces.first().filter(|_| pieces.iter().all(Piece::is_launcher)) {
        let name = launcher.program_name();
        notices.push(loss(format!(
            "only the launcher {name} was recorded: it started no program, or none that can be recorded"
        )));
    }
    for piece in pieces {
        let name = name(piece);
        let since = |time_ns: u64| seconds(time_ns.saturating_sub(start_ns));
        let last_ns = piece.last_ns().unwrap_or(start_ns);
        match (&piece.end, deaths.of(piece)) {
            (None, Some(Death { time_ns, signal: BROKEN_PIPE, .. })) => {
                let after = since(time_ns.unwrap_or(last_ns));
                let message = format!("{name} ended after {after}: its output was read no further");
                notices.push(Remark { is_loss: false, message });
            }
            // As helpers of `multiprocessing` end.
            (None, Some(Death { is_sent: true, .. })) if piece.rank.is_none() => n_ended += 1,
            (None, Some(Death { time_ns: Some(time_ns), signal, .. })) => {
                notices.push(loss(format!("{name} was killed by signal {signal} after {}", since(time_ns))));
            }
            (None, Some(Death { signal, .. })) => {
                let last = since(last_ns);
                let message = format!("{name} was killed by signal {signal}; its last event is at {last}");
                notices.push(loss(message));
            }
            (None, None) => silent.push((piece, last_ns)),
            (Some((time_ns, how)), _) if how == "MPI_Abort" => {
                notices.push(loss(format!("{name} called MPI_Abort after {}", since(*time_ns))));
            }
            (Some((time_ns, how)), _) if how == "abort" => {
                notices.push(loss(format!("{name} aborted after {}", since(*time_ns))));
            }
            (Some(_), _) => {}
        }
        let has_others = |entry: &Entry| matches!(entry, Entry::IoHandle { id, .. } if is_of_others(*id));
        if piece.entries.iter().any(has_others) {
            let message =
                format!("{name} used more files than can be told apart: some are \"further files\"");
            notices.push(Remark { is_loss: false, message });
        }
        for entry in &piece.entries {
            if let Entry::Lost { time_ns, reason } = entry {
                let message = format!("{name} recorded nothing more after {}: {reason}", since(*time_ns));
                notices.push(loss(message));
            }
        }
        if 0 < piece.n_unknown_lines {
            let message =
                format!("{} lines in the journal of {name} are not understood", piece.n_unknown_lines);
            notices.push(loss(message));
        }
    }
    if 0 < n_ended {
        let (processes, were) = if n_ended == 1 { ("process", "was") } else { ("processes", "were") };
        let message = format!("{n_ended} {processes} {were} ended by a signal of another recorded process");
        notices.push(Remark { is_loss: false, message });
    }
    notices.extend(without_notice(&silent, start_ns));
    let n_incomplete = communicators.list.iter().filter(|communicator| !communicator.is_complete()).count();
    if 0 < n_incomplete {
        let message =
            format!("members of {n_incomplete} communicators are not known: their first ranks wrote none");
        notices.push(loss(message));
    }
    if let Some(reason) = deaths.refusals.first() {
        let n = deaths.refusals.len();
        let (processes, were) = if n == 1 { ("process", "was") } else { ("processes", "were") };
        notices.push(loss(format!("{n} {processes} {were} not recorded: {reason}")));
    }
    notices.extend(clocks(pieces));
    notices
}

/// Processes that ended without a word, ranks in one line: mostly, a launcher has ended them.
fn without_notice(silent: &[(&Piece, u64)], start_ns: u64) -> Vec<Remark> {
    let since = |time_ns: u64| seconds(time_ns.saturating_sub(start_ns));
    let alone = |&(piece, last_ns): &(&Piece, u64)| {
        loss(format!("{} ended without notice; its last event is at {}", name(piece), since(last_ns)))
    };
    let ranks: Vec<u32> =
        silent.iter().filter_map(|(piece, _)| piece.rank.as_ref().map(|(rank, ..)| *rank)).collect();
    let last_ns = silent.iter().map(|&(_, last_ns)| last_ns).max().unwrap_or(start_ns);
    let what = format!("ended without notice, the last one at {}", since(last_ns));
    match listed(&ranks, &what) {
        Some(message) if 1 < ranks.len() && ranks.len() == silent.len() => vec![loss(message)],
        _ => silent.iter().map(alone).collect(),
    }
}

/// How many threads of MPI are not recorded.
pub(super) fn of_mpi_threads(pieces: &[Piece]) -> Option<Remark> {
    let entries = pieces.iter().flat_map(|piece| &piece.entries);
    let n = entries.filter(|entry| **entry == Entry::MpiThread).count();
    let message = match n {
        0 => return None,
        1 => "1 thread that MPI made for itself is not recorded".to_owned(),
        _ => format!("{n} threads that MPI made for itself are not recorded"),
    };
    Some(Remark { is_loss: false, message })
}

/// Whether a runtime of OpenMP reports to another tool.
pub(super) fn of_other_tools(pieces: &[Piece]) -> Option<Remark> {
    let mut entries = pieces.iter().flat_map(|piece| &piece.entries);
    let message = "OpenMP of Clang's and Intel's runtime is not recorded: it reports to another tool, which the program \
                   or OMP_TOOL_LIBRARIES names";
    entries
        .any(|entry| *entry == Entry::OtherTool)
        .then(|| Remark { is_loss: false, message: message.to_owned() })
}

/// What samples do not show, or show less often than was asked for.
pub(super) fn of_samples(pieces: &[Piece], contexts: &UnifiedContexts) -> Vec<Remark> {
    let note = |message: String| Remark { is_loss: false, message };
    let mut notices: Vec<Remark> = Vec::new();
    for path in &contexts.replaced {
        notices.push(note(format!(
            "{path:?} is not the file that ran any more, so its functions have no names"
        )));
    }
    for path in &contexts.without_lines {
        notices.push(note(format!(
            "{path:?} has no debug information, so its loops, lines and inlined functions are unknown: compile with -g"
        )));
    }
    for piece in pieces {
        let name = name(piece);
        let hz = piece.entries.iter().find_map(|entry| match entry {
            Entry::Sampler { hz, .. } => Some(*hz),
            _ => None,
        });
        if hz == Some(0) {
            notices.push(loss(format!("{name} has no samples: this system allows no timer")));
        }
        let totals = piece.entries.iter().rev().find_map(|entry| match *entry {
            Entry::Samples { n_due, n_incomplete, n_lost, processor_ns } => {
                Some((n_due, n_incomplete, n_lost, processor_ns))
            }
            _ => None,
        });
        let Some((n_due, n_incomplete, n_lost, processor_ns)) = totals else { continue };
        if 0 < n_lost {
            notices.push(loss(format!("{} samples of {name} are lost: too many call paths", count(n_lost))));
        }
        if n_due < 20 * n_incomplete {
            let [n_incomplete, n_due] = [n_incomplete, n_due].map(count);
            let message =
                format!("the call paths of {n_incomplete} of {n_due} samples of {name} are incomplete");
            notices.push(note(message));
        }
        let n_expected = u128::from(processor_ns) * u128::from(hz.unwrap_or(0)) / 1_000_000_000;
        if N_SAMPLES_TO_JUDGE < n_expected && u128::from(n_due) * 5 < n_expected * 4 {
            let got = u128::from(n_due) * 1_000_000_000 / u128::from(processor_ns.max(1));
            let message = format!(
                "{name} was sampled {got} times for each second of processor time, not {} times",
                hz.unwrap_or(0)
            );
            // A slow timer gives a quarter; without samples, times of functions are those between recorded calls.
            let is_lost = u128::from(n_due) * 10 < n_expected;
            notices.push(if is_lost { loss(message) } else { note(message) });
        }
    }
    notices
}

/// What could not be counted, or not everywhere.
pub(super) fn of_counters(pieces: &[Piece]) -> Vec<Remark> {
    let note = |message: String| Remark { is_loss: false, message };
    let mut messages: BTreeSet<String> = BTreeSet::new();
    let (mut n_calls, mut n_read, mut n_estimated, mut n_uncounted) = (0_u64, 0_u64, 0_u64, 0_u64);
    for entry in pieces.iter().flat_map(|piece| &piece.entries) {
        match entry {
            Entry::Counters { absent, error, is_user_only, .. } => {
                if !absent.is_empty() {
                    let absent = absent.replace(',', ", ");
                    messages.insert(format!("not counted here: {absent} ({})", counters::reason(*error)));
                }
                if *is_user_only {
                    messages.insert(
                        "counters of the processor leave out the kernel, which this system lets only root count"
                            .to_owned(),
                    );
                }
            }
            Entry::CounterReads { n_calls: calls, n_read: read, n_estimated: estimated } => {
                n_calls += calls;
                n_read += read;
                n_estimated += estimated;
            }
            Entry::Uncounted { .. } => n_uncounted += 1,
            _ => {}
        }
    }
    let mut notices: Vec<Remark> = messages.into_iter().map(note).collect();
    if n_read < n_calls {
        notices.push(note(format!(
            "counters were read at {} of {} calls, as they came too fast: what the others gained is with their callers",
            count(n_read),
            count(n_calls)
        )));
    }
    if 0 < n_estimated {
        notices.push(note(format!(
            "{} values of counters are estimates, as the processor counted them by turns",
            count(n_estimated)
        )));
    }
    if 0 < n_uncounted {
        notices.push(note(format!(
            "{} threads were not counted: no more files could be opened",
            count(n_uncounted)
        )));
    }
    notices
}

/// Samples that must be due before their rate is judged.
const N_SAMPLES_TO_JUDGE: u128 = 100;

/// Ranks of which there is nothing: those that were not to be recorded, and those that left nothing.
pub(super) fn of_ranks(pieces: &[Piece], left_out: &[Piece]) -> Vec<Remark> {
    let sizes = pieces.iter().filter_map(|piece| piece.rank.as_ref().map(|(_, size, _)| *size));
    let ranks_of = |pieces: &[Piece]| -> BTreeSet<u32> {
        pieces.iter().filter_map(|piece| piece.rank.as_ref().map(|(rank, ..)| *rank)).collect()
    };
    let (there, unwanted) = (ranks_of(pieces), ranks_of(left_out));
    let is_absent = |rank: &u32| !there.contains(rank) && !unwanted.contains(rank);
    let absent: Vec<u32> = (0..sizes.max().unwrap_or(0)).filter(is_absent).collect();
    let unwanted: Vec<u32> = unwanted.into_iter().collect();
    let left_out = listed(&unwanted, "left out, as --ranks says");
    let left_out = left_out.map(|message| Remark { is_loss: false, message });
    left_out.into_iter().chain(listed(&absent, "left no events").map(loss)).collect()
}

/// Nodes whose ranks have fewer processors than they are.
pub(super) fn of_processors(pieces: &[Piece]) -> Vec<Remark> {
    let ranks = pieces.iter().filter(|piece| piece.rank.is_some());
    let on_processors = ranks.map(|piece| (&*piece.host, &*piece.processors));
    let note = |message: String| Remark { is_loss: false, message };
    shared_processors(on_processors).into_iter().map(note).collect()
}

/// More than a node has, so that a damaged list does no harm.
const N_PROCESSORS_MAX: u32 = 1 << 16;

/// The same of ranks, each with its node and the list of its processors.
fn shared_processors<'a>(ranks: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut nodes: BTreeMap<&str, (usize, BTreeSet<u32>)> = BTreeMap::new();
    for (host, list) in ranks {
        let (n, processors) = nodes.entry(host).or_default();
        *n += 1;
        for part in list.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.parse::<u32>().ok();
            let Some((first, last)) = number(first).zip(number(last)) else { continue };
            processors.extend(first..=last.min(first.saturating_add(N_PROCESSORS_MAX)));
        }
    }
    let shared = nodes.iter().filter(|(_, (n, processors))| (1..*n).contains(&processors.len()));
    let said = shared.map(|(host, (n, processors))| {
        let what = match processors.len() {
            1 => "one processor".to_owned(),
            n => format!("{n} processors"),
        };
        format!(
            "{n} ranks share {what} of {host}: a rank that others wait for may have no processor, so waiting can be \
             longer than with one for each"
        )
    });
    said.collect()
}

/// Programs around the one that matters.
pub(super) fn of_helpers(left_out: &[Piece]) -> Option<Remark> {
    const N_NAMED: usize = 5;
    let helpers: Vec<&Piece> = left_out.iter().filter(|piece| piece.rank.is_none()).collect();
    let mut n_of: BTreeMap<&str, usize> = BTreeMap::new();
    helpers.iter().for_each(|piece| *n_of.entry(piece.program_name()).or_default() += 1);
    let named = n_of.iter().take(N_NAMED).map(|(name, n)| format!("{name} ({n})")).collect::<Vec<_>>();
    let more = if N_NAMED < n_of.len() { ", …" } else { "" };
    let (processes, are) = if helpers.len() == 1 { ("process", "is") } else { ("processes", "are") };
    let total_us = helpers.iter().map(|piece| piece.length_ns()).sum::<u64>() / 1_000;
    (!helpers.is_empty()).then(|| Remark {
        is_loss: false,
        message: format!(
            "{} short helper {processes} {are} left out, {}.{} ms together: {}{more}",
            helpers.len(),
            total_us / 1_000,
            total_us / 100 % 10,
            named.join(", ")
        ),
    })
}

/// What the window of a recording leaves out.
pub(super) fn of_window(pieces: &[Piece], under_way: &UnderWay) -> Vec<Remark> {
    let note = |message: String| Remark { is_loss: false, message };
    let mut notices = Vec::new();
    if pieces.iter().any(|piece| piece.window().is_some()) {
        notices.push(note(
            "only a part of the run was recorded, as --start-after and --stop-after say".to_owned(),
        ));
    }
    if 0 < under_way.n_messages {
        notices.push(note(format!(
            "{} messages were under way when recording began: the ends recorded are left out",
            under_way.n_messages
        )));
    }
    if 0 < under_way.n_collectives {
        notices.push(note(format!(
            "{} calls of collective operations that other ranks began before recording are left out as operations",
            under_way.n_collectives
        )));
    }
    notices
}

fn listed(ranks: &[u32], what: &str) -> Option<String> {
    const N_LISTED: usize = 8;
    match ranks {
        [] => None,
        [rank] => Some(format!("rank {rank} {what}")),
        ranks => {
            let some: Vec<String> = ranks.iter().take(N_LISTED).map(u32::to_string).collect();
            let more = if N_LISTED < ranks.len() { ", …" } else { "" };
            Some(format!("{} ranks {what}: {}{more}", ranks.len(), some.join(", ")))
        }
    }
}

fn clocks(pieces: &[Piece]) -> Option<Remark> {
    let first = pieces.first()?;
    let is_one = pieces.iter().all(|piece| piece.boot == first.boot);
    let message = "times of different nodes are aligned by the nodes' clocks, not by messages";
    (!is_one).then(|| Remark { is_loss: false, message: message.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_with_more_ranks_than_processors_are_said() {
        let said = |ranks: &[(&str, &str)]| shared_processors(ranks.iter().copied());
        assert_eq!(said(&[("a", "0-1"), ("a", "0-1")]), [""; 0]);
        assert_eq!(said(&[("a", "0"), ("a", "1"), ("b", "0"), ("b", "2-3")]), [""; 0], "each has its own");
        let of_three = said(&[("a", "0"), ("a", "0-1"), ("a", "1"), ("b", "0,4-5")]);
        assert!(of_three[0].starts_with("3 ranks share 2 processors of a: "), "{of_three:?}");
        let bound = said(&[("a", "3"), ("a", "3")]);
        assert!(bound[0].starts_with("2 ranks share one processor of a: "), "{bound:?}");
        assert_eq!(said(&[("a", ""), ("a", "?")]), [""; 0], "it is not known");
    }
}
