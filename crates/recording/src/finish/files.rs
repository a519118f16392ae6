//! Files of all processes, and the handles by which each process has used them.
//!
//! Law: a file is one on its node, whichever processes use it; a handle is of one process.

use super::piece::Piece;
use crate::io::{Interface, is_of_others};
use crate::journal::Entry;
use std::collections::BTreeMap;

/// How files are named for which a process had no room.
const OTHER_FILES: &str = "further files";

/// A handle of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunHandle {
    /// The index of its file.
    pub file: usize,
    pub interface: Interface,
    /// The run's number of the communicator that has opened it.
    pub communicator: Option<u32>,
}

/// Files and handles of a run.
#[derive(Debug, Default)]
pub(super) struct UnifiedFiles {
    /// Names, each with the host that it is on.
    pub files: Vec<(String, String)>,
    pub handles: Vec<RunHandle>,
    /// For each piece, pairs of its own number and that of the run.
    pub of_pieces: Vec<Vec<(u64, u64)>>,
}

impl UnifiedFiles {
    /// With the numbers of communicators of each piece, each with that of the run.
    pub(super) fn new(pieces: &[Piece], communicators: &[Vec<(u32, u32)>]) -> Self {
        let mut unified = UnifiedFiles::default();
        let mut ids = BTreeMap::new();
        for (i, piece) in pieces.iter().enumerate() {
            let mut pairs = BTreeMap::new();
            let of_run = |own: u32| {
                let pairs = communicators.get(i).into_iter().flatten();
                pairs.into_iter().find(|&&(from, _)| from == own).map(|&(_, to)| to)
            };
            for entry in &piece.entries {
                let Some((id, interface, file, own)) = handle(entry) else { continue };
                let communicator = own.and_then(of_run);
                let name = if is_of_others(id) { OTHER_FILES } else { file };
                let key = (name.to_owned(), piece.host.clone());
                let next = unified.files.len();
                let file = *ids.entry(key.clone()).or_insert(next);
                if file == next {
                    unified.files.push(key);
                }
                pairs.entry(u64::from(id)).or_insert_with(|| {
                    unified.handles.push(RunHandle { file, interface, communicator });
                    unified.handles.len() as u64 - 1
                });
            }
            unified.of_pieces.push(pairs.into_iter().collect());
        }
        unified
    }
}

/// Number, interface, file and communicator of a handle, as a process has written them down.
fn handle(entry: &Entry) -> Option<(u32, Interface, &str, Option<u32>)> {
    match entry {
        Entry::IoHandle { id, interface, file } => {
            Some((*id, *Interface::ALL.get(usize::from(*interface))?, file, None))
        }
        Entry::MpiFile { id, communicator, file } => Some((*id, Interface::MpiIo, file, Some(*communicator))),
        _ => None,
    }
}
