//! What a recording lost, so that every reader of the archive can say it.

use super::Deaths;
use super::piece::Piece;
use crate::journal::Entry;
use ouzel_otf2::Anchor;

/// Properties of the anchor that hold notices begin with it.
pub const NOTICE_PROPERTY: &str = "OUZEL::NOTICE::";

/// Something that is missing or doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordingNotice {
    /// Whether data were lost.
    pub is_loss: bool,
    /// One sentence without a full stop.
    pub message: String,
}

impl RecordingNotice {
    fn loss(message: String) -> Self {
        RecordingNotice { is_loss: true, message }
    }

    /// The value of its property.
    pub fn value(&self) -> String {
        format!("{} {}", if self.is_loss { "lost" } else { "note" }, self.message)
    }

    /// The notices that an anchor has.
    pub fn of_anchor(anchor: &Anchor) -> Vec<Self> {
        let own = anchor.properties.iter().filter(|(name, _)| name.starts_with(NOTICE_PROPERTY));
        let notice = |(_, value): &(String, String)| {
            let (word, message) = value.split_once(' ')?;
            Some(RecordingNotice { is_loss: word == "lost", message: message.to_owned() })
        };
        own.filter_map(notice).collect()
    }
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
pub(super) fn of_run(pieces: &[Piece], start_ns: u64, deaths: &Deaths) -> Vec<RecordingNotice> {
    let mut notices = Vec::new();
    for piece in pieces {
        let name = name(piece);
        let since = |time_ns: u64| seconds(time_ns.saturating_sub(start_ns));
        let last_ns = piece.last_ns().unwrap_or(start_ns);
        match (&piece.end, deaths.of(piece)) {
            (None, Some((time_ns, signal))) => notices.push(RecordingNotice::loss(format!(
                "{name} was killed by signal {signal} after {}",
                since(time_ns)
            ))),
            (None, None) => notices.push(RecordingNotice::loss(format!(
                "{name} ended without notice; its last event is at {}",
                since(last_ns)
            ))),
            (Some((time_ns, how)), _) if how == "MPI_Abort" => {
                notices.push(RecordingNotice::loss(format!(
                    "{name} called MPI_Abort after {}",
                    since(*time_ns)
                )));
            }
            (Some((time_ns, how)), _) if how == "abort" => {
                notices.push(RecordingNotice::loss(format!("{name} aborted after {}", since(*time_ns))));
            }
            (Some(_), _) => {}
        }
        for entry in &piece.entries {
            if let Entry::Lost { time_ns, reason } = entry {
                let message = format!("{name} recorded nothing more after {}: {reason}", since(*time_ns));
                notices.push(RecordingNotice::loss(message));
            }
        }
        if 0 < piece.n_unknown_lines {
            let message =
                format!("{} lines in the journal of {name} are not understood", piece.n_unknown_lines);
            notices.push(RecordingNotice::loss(message));
        }
    }
    notices.extend(absent(pieces));
    notices.extend(clocks(pieces));
    notices
}

/// Ranks that left nothing.
fn absent(pieces: &[Piece]) -> Option<RecordingNotice> {
    let size = pieces.iter().filter_map(|piece| piece.rank.as_ref().map(|(_, size, _)| *size)).max()?;
    let is_there = |rank: u32| pieces.iter().any(|p| p.rank.as_ref().is_some_and(|(own, ..)| *own == rank));
    let absent: Vec<String> =
        (0..size).filter(|&rank| !is_there(rank)).map(|rank| rank.to_string()).collect();
    match absent.len() {
        0 => None,
        1 => Some(RecordingNotice::loss(format!("rank {} left no events", absent[0]))),
        n => {
            let some = absent[..n.min(8)].join(", ");
            let more = if 8 < n { ", …" } else { "" };
            Some(RecordingNotice::loss(format!("{n} ranks left no events: {some}{more}")))
        }
    }
}

fn clocks(pieces: &[Piece]) -> Option<RecordingNotice> {
    let first = pieces.first()?;
    let is_one = pieces.iter().all(|piece| piece.boot == first.boot);
    let message = "times of different nodes are aligned by the nodes' clocks, not by messages";
    (!is_one).then(|| RecordingNotice { is_loss: false, message: message.to_owned() })
}
