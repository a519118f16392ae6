//! The pieces of a run become one archive.
//!
//! Event files stay as they are: they are cut behind their last event, moved to their place, and get tables that
//! give the numbers of their process those of the run. Law: pieces are removed only when the archive is complete.

mod archive;
mod code;
mod communicators;
mod contexts;
mod files;
mod interpreters;
mod metrics;
mod names;
mod notices;
mod piece;
mod symbols;
mod teams;
mod under_way;

use crate::journal::{self, Entry};
use crate::settings;
use ouzel_files::input;
use ouzel_otf2::remark::Remark;
use piece::Piece;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Why pieces could not become an archive.
#[derive(Debug, thiserror::Error)]
#[error("{}: {kind}", place.display())]
pub struct FinishError {
    place: PathBuf,
    kind: FinishErrorKind,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum FinishErrorKind {
    /// The directory has no pieces.
    #[error("nothing was recorded here: no process wrote a piece")]
    NoPieces,
    /// No process could write a piece.
    #[error("nothing was recorded here: {0}")]
    Unwritable(String),
    /// Only ranks were there that were not to be recorded.
    #[error("nothing was recorded here: none of the ranks that --ranks names was there")]
    AllLeftOut,
    /// The program ended before the time that was to be recorded.
    #[error("nothing was recorded here: the program ended before --start-after")]
    EndedBefore,
    /// Chunks of an archive have one length.
    #[error("its processes were recorded with different --buffer: {0} and {1} bytes")]
    DifferentBuffers(u64, u64),
    /// The length of chunks is none that can be.
    #[error("the journal says {0} bytes for --buffer: {1}")]
    Buffer(u64, String),
    /// The archive is there already.
    #[error("this recording was finished before")]
    Finished,
    /// A file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// An event file cannot be read.
    #[error(transparent)]
    Read(ouzel_otf2::ReadError),
    /// The archive cannot be written.
    #[error(transparent)]
    Write(#[from] ouzel_otf2::write::WriteError),
}

impl FinishError {
    fn new(place: &Path, kind: impl Into<FinishErrorKind>) -> Self {
        FinishError { place: place.to_owned(), kind: kind.into() }
    }

    /// What is wrong.
    pub fn kind(&self) -> &FinishErrorKind {
        &self.kind
    }
}

/// One archive that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedArchive {
    /// Its anchor.
    pub path: PathBuf,
    /// Processes in it.
    pub n_processes: usize,
    /// Whether they are ranks of MPI.
    pub is_mpi: bool,
    /// Threads in it.
    pub n_locations: usize,
    /// Events in it.
    pub n_events: u64,
    /// Bytes of the event files.
    pub n_bytes: u64,
    /// From the first event to the last.
    pub length_ns: u64,
    /// What is missing or doubtful.
    pub notices: Vec<Remark>,
}

/// What became of the pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// The archives, in the order of their runs; mostly one.
    pub archives: Vec<FinishedArchive>,
    /// Processes that were left out, such as launchers.
    pub n_left_out: usize,
}

/// A process that was ended by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Killed {
    /// The process.
    pub pid: u32,
    /// The signal.
    pub signal: u32,
}

/// Writes `DIR/traces.otf2` from `DIR/pieces`; of several runs, the later ones become `DIR/run-2` and so on.
///
/// `killed` is what the caller knows of the process that it started: no recorded process waits for it.
///
/// # Errors
/// If there are no pieces, the archive exists, or files cannot be read or written.
pub fn finish(directory: &Path, killed: Option<Killed>) -> Result<Finished, FinishError> {
    let pieces_folder = directory.join(settings::PIECES);
    if !pieces_folder.is_dir() {
        let is_finished = directory.join("traces.otf2").is_file();
        let kind = if is_finished { FinishErrorKind::Finished } else { FinishErrorKind::NoPieces };
        return Err(FinishError::new(directory, kind));
    }
    let mut pieces = Vec::new();
    let mut deaths = Vec::new();
    let listed = fs::read_dir(&pieces_folder).map_err(|error| FinishError::new(&pieces_folder, error))?;
    for entry in listed {
        let path = entry.map_err(|error| FinishError::new(&pieces_folder, error))?.path();
        if path.is_dir() {
            pieces.extend(Piece::read(&path)?);
        } else if let Ok(bytes) = input::read_limited(&path, piece::JOURNAL_BYTES_MAX) {
            deaths.extend(journal::read(&String::from_utf8_lossy(&bytes)).0);
        }
    }
    let deaths = Deaths::new(&deaths, killed);
    let n_pieces = pieces.len();
    let has_window = pieces.iter().any(|piece| piece.window().is_some());
    let runs = runs(pieces);
    if runs.is_empty() {
        let kind = match deaths.refusals.first() {
            Some(reason) => FinishErrorKind::Unwritable(reason.clone()),
            None if has_window => FinishErrorKind::EndedBefore,
            None => FinishErrorKind::NoPieces,
        };
        return Err(FinishError::new(directory, kind));
    }
    let n_kept: usize = runs.iter().map(Vec::len).sum();
    let mut archives = Vec::new();
    for run in runs {
        let (left_out, run): (Vec<Piece>, Vec<Piece>) = run.into_iter().partition(|piece| piece.is_left_out);
        if run.is_empty() {
            continue;
        }
        let target = match archives.len() {
            0 => directory.to_owned(),
            n => directory.join(format!("run-{}", n + 1)),
        };
        archives.push(archive::write(&target, &run, &left_out, &deaths)?);
    }
    if archives.is_empty() {
        return Err(FinishError::new(directory, FinishErrorKind::AllLeftOut));
    }
    fs::remove_dir_all(&pieces_folder).map_err(|error| FinishError::new(&pieces_folder, error))?;
    Ok(Finished { archives, n_left_out: n_pieces - n_kept })
}

/// What is known of processes beside their pieces.
#[derive(Debug, Default)]
struct Deaths {
    /// Those that were ended by a signal, as their parents saw it.
    killed: BTreeMap<u32, (u64, u32)>,
    /// The one that the caller started, if that was ended by a signal.
    of_caller: Option<Killed>,
    /// Signals that recorded processes sent, with the processes that they were for.
    sent: BTreeSet<(u32, u32)>,
    /// Why processes could write no piece.
    refusals: Vec<String>,
}

/// How a signal ended a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Death {
    /// When it was noticed, if by a recorded process.
    time_ns: Option<u64>,
    signal: u32,
    /// Whether a recorded process had sent it.
    is_sent: bool,
}

impl Deaths {
    fn new(entries: &[Entry], of_caller: Option<Killed>) -> Self {
        let mut deaths = Deaths { of_caller, ..Deaths::default() };
        for entry in entries {
            match entry {
                &Entry::ChildKilled { time_ns, pid, signal } => {
                    deaths.killed.insert(pid, (time_ns, signal));
                }
                &Entry::SignalSent { pid, signal, .. } => {
                    deaths.sent.insert((pid, signal));
                }
                Entry::Lost { reason, .. } => deaths.refusals.push(reason.clone()),
                _ => {}
            }
        }
        deaths
    }

    fn of(&self, piece: &Piece) -> Option<Death> {
        let of = |time_ns: Option<u64>, signal: u32| Death {
            time_ns,
            signal,
            is_sent: self.sent.contains(&(piece.pid, signal)),
        };
        // Numbers of processes are used again: a death before the last event is that of another one.
        let seen = self.killed.get(&piece.pid).filter(|&&(time_ns, _)| piece.last_ns() <= Some(time_ns));
        let of_caller = || self.of_caller.filter(|it| it.pid == piece.pid).map(|it| of(None, it.signal));
        seen.map(|&(time_ns, signal)| of(Some(time_ns), signal)).or_else(of_caller)
    }
}

/// The pieces of each run, by rank. Where there are ranks, other processes are launchers and helpers.
fn runs(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut worlds: BTreeMap<Option<String>, Vec<Piece>> = BTreeMap::new();
    for piece in pieces {
        if piece.first_ns().is_some() {
            let world = piece.rank.as_ref().map(|(_, _, world)| world.clone());
            worlds.entry(world).or_default().push(piece);
        }
    }
    if 1 < worlds.len() {
        worlds.remove(&None);
    } else if let Some(processes) = worlds.get_mut(&None)
        && !processes.iter().all(Piece::only_starts_others)
    {
        processes.retain(|piece| !piece.only_starts_others());
        leave_out_helpers(processes);
    }
    let mut runs: Vec<Vec<Piece>> = worlds.into_values().flat_map(one_for_each_rank).collect();
    runs.sort_by_key(|run| run.iter().filter_map(Piece::first_ns).min());
    runs
}

/// Marks what scripts start around the program that matters, such as `readlink`: programs other than that of the longest
/// process, each shorter than a hundredth of it, and together at most a hundredth of the time of all processes. What was
/// killed or lost something stays.
fn leave_out_helpers(processes: &mut [Piece]) {
    const PART: u64 = 100;
    let Some(longest) = processes.iter().max_by_key(|piece| piece.length_ns()) else { return };
    let (program, longest_ns) = (longest.program.clone(), longest.length_ns());
    let all_ns: u64 = processes.iter().map(Piece::length_ns).sum();
    let is_helper = |piece: &Piece| {
        piece.program != program && piece.length_ns() < longest_ns / PART && piece.ended_by_itself()
    };
    let helpers_ns: u64 = processes.iter().filter(|piece| is_helper(piece)).map(Piece::length_ns).sum();
    if helpers_ns <= all_ns / PART {
        processes.iter_mut().for_each(|piece| piece.is_left_out |= is_helper(piece));
    }
}

/// Ranks that are there twice are of several runs of the same name.
fn one_for_each_rank(mut pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    if pieces.iter().all(|piece| piece.rank.is_none()) {
        pieces.sort_by_key(|piece| (piece.first_ns(), piece.pid));
        return vec![pieces];
    }
    pieces.sort_by_key(Piece::first_ns);
    let mut runs: Vec<Vec<Piece>> = Vec::new();
    for piece in pieces {
        let rank = |piece: &Piece| piece.rank.as_ref().map(|(rank, ..)| *rank);
        match runs.iter_mut().find(|run| run.iter().all(|other| rank(other) != rank(&piece))) {
            Some(run) => run.push(piece),
            None => runs.push(vec![piece]),
        }
    }
    runs.iter_mut().for_each(|run| run.sort_by_key(|piece| piece.rank.as_ref().map(|(rank, ..)| *rank)));
    runs
}
