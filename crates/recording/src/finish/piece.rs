//! A piece as it was left by its process.

use super::FinishError;
use crate::journal::{self, Entry};
use crate::settings;
use crate::slots::{N_SLOTS, SLOT_BYTES, Slot};
use crate::stream::CHUNK_BYTES;
use crate::window::Window;
use ouzel_files::input;
use std::path::{Path, PathBuf};

/// More than the regions and communicators of any program take.
pub(super) const JOURNAL_BYTES_MAX: u64 = 1 << 30;
const SLOTS_BYTES_MAX: u64 = (N_SLOTS * SLOT_BYTES) as u64;

/// What one process left.
#[derive(Debug)]
pub(super) struct Piece {
    pub folder: PathBuf,
    pub pid: u32,
    pub host: String,
    pub boot: String,
    pub program: String,
    /// As the kernel lists them.
    pub processors: String,
    /// Rank and size of its world, and the world's key, if it called MPI.
    pub rank: Option<(u32, u32, String)>,
    /// Difference of the time since 1970 to the clock of events, in nanoseconds.
    pub realtime_less_monotonic_ns: i64,
    pub entries: Vec<Entry>,
    pub n_unknown_lines: u64,
    /// Threads with events, the one that MPI runs on first.
    pub threads: Vec<PieceThread>,
    /// Whether its rank is none of those that were to be recorded.
    pub is_left_out: bool,
    /// When and how it ended, if it said so.
    pub end: Option<(u64, String)>,
}

/// A thread of a process.
#[derive(Debug, Clone, Copy)]
pub(super) struct PieceThread {
    pub file: u32,
    pub tid: u32,
    pub slot: Slot,
}

impl Piece {
    /// Reads what is in a folder; none if it has no journal, as of a process that ended before it wrote one.
    pub fn read(folder: &Path) -> Result<Option<Self>, FinishError> {
        let path = folder.join(settings::JOURNAL);
        let Ok(bytes) = input::read_limited(&path, JOURNAL_BYTES_MAX) else { return Ok(None) };
        let (entries, n_unknown_lines) = journal::read(&String::from_utf8_lossy(&bytes));
        let Some(Entry::Process { pid, host, boot, program, processors }) = entries.first().cloned() else {
            return Ok(None);
        };
        let slots_path = folder.join(settings::SLOTS);
        let slots = input::read_limited(&slots_path, SLOTS_BYTES_MAX)
            .map_err(|error| FinishError::new(&slots_path, error))?;
        let slots = Slot::of_file(&slots);
        let mut piece = Piece {
            folder: folder.to_owned(),
            pid,
            host,
            boot,
            program,
            processors,
            rank: None,
            realtime_less_monotonic_ns: 0,
            threads: Vec::new(),
            end: None,
            is_left_out: entries.contains(&Entry::LeftOut),
            n_unknown_lines,
            entries,
        };
        for entry in &piece.entries {
            match entry {
                Entry::Clock { monotonic_ns, realtime_ns } => {
                    piece.realtime_less_monotonic_ns =
                        realtime_ns.cast_signed().saturating_sub(monotonic_ns.cast_signed());
                }
                Entry::Rank { rank, size, world, .. } => piece.rank = Some((*rank, *size, world.clone())),
                Entry::Thread { slot: file, tid } => {
                    let slot = slots.get(*file as usize).copied().unwrap_or_default();
                    // A thread that takes the place of one that has ended goes on in its file.
                    let is_new = piece.threads.iter().all(|thread| thread.file != *file);
                    if 0 < slot.n_events && is_new {
                        piece.threads.push(PieceThread { file: *file, tid: *tid, slot });
                    }
                }
                Entry::End { time_ns, how } => piece.end = Some((*time_ns, how.clone())),
                _ => {}
            }
        }
        // The first thread of a process has its number.
        piece.threads.sort_by_key(|thread| (thread.tid != pid, thread.file));
        Ok(Some(piece))
    }

    /// When it recorded; none if always.
    pub fn window(&self) -> Option<Window> {
        self.entries.iter().find_map(|entry| match *entry {
            Entry::Recorded { start_ns, stop_ns } => Some(Window { start_ns, stop_ns }),
            _ => None,
        })
    }

    /// Bytes of the chunks of its event files.
    pub fn chunk_bytes(&self) -> u64 {
        let buffer = self.entries.iter().find_map(|entry| match entry {
            Entry::Buffer { n_bytes } => Some(*n_bytes),
            _ => None,
        });
        buffer.unwrap_or(CHUNK_BYTES as u64)
    }

    /// Time of its first event.
    pub fn first_ns(&self) -> Option<u64> {
        self.threads.iter().map(|thread| thread.slot.first_ns).min()
    }

    /// Time of its last event.
    pub fn last_ns(&self) -> Option<u64> {
        self.threads.iter().map(|thread| thread.slot.last_ns).max()
    }

    /// From its first event to its last.
    pub fn length_ns(&self) -> u64 {
        self.last_ns().zip(self.first_ns()).map_or(0, |(last_ns, first_ns)| last_ns.saturating_sub(first_ns))
    }

    /// Whether it came to its end, and everything up to there is recorded.
    pub fn ended_by_itself(&self) -> bool {
        self.end.as_ref().is_some_and(|(_, how)| how != "abort")
            && !self.entries.iter().any(|entry| matches!(entry, Entry::Lost { .. }))
    }

    /// Whether it is a shell or the like, or was replaced by another program before it did anything.
    pub fn only_starts_others(&self) -> bool {
        const STARTERS: [&str; 8] = ["bash", "dash", "env", "nice", "numactl", "sh", "taskset", "timeout"];
        /// The begin of the program itself, with its counters and memory.
        const N_EVENTS_OF_NOTHING: u64 = 3;
        let n_events: u64 = self.threads.iter().map(|thread| thread.slot.n_events).sum();
        let is_replaced = self.end.as_ref().is_some_and(|(_, how)| how == "exec");
        STARTERS.contains(&self.program_name()) || is_replaced && n_events <= N_EVENTS_OF_NOTHING
    }

    /// Whether it only starts the ranks of programs with MPI.
    pub fn is_launcher(&self) -> bool {
        const LAUNCHERS: [&str; 8] =
            ["hydra_pmi_proxy", "mpiexec", "mpirun", "orted", "orterun", "prterun", "prun", "srun"];
        self.rank.is_none()
            && self.program_name().split('.').next().is_some_and(|name| LAUNCHERS.contains(&name))
    }

    /// The program without its folder.
    pub fn program_name(&self) -> &str {
        self.program.rsplit('/').next().unwrap_or(&self.program)
    }
}
