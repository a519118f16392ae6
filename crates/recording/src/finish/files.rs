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
    pub(super) fn new(pieces: &[Piece]) -> Self {
        let mut unified = UnifiedFiles::default();
        let mut ids = BTreeMap::new();
        for piece in pieces {
            let mut pairs = BTreeMap::new();
            for entry in &piece.entries {
                let Entry::IoHandle { id, interface, file } = entry else { continue };
                let Some(&interface) = Interface::ALL.get(usize::from(*interface)) else { continue };
                let name = if is_of_others(*id) { OTHER_FILES } else { file.as_str() };
                let key = (name.to_owned(), piece.host.clone());
                let next = unified.files.len();
                let file = *ids.entry(key.clone()).or_insert(next);
                if file == next {
                    unified.files.push(key);
                }
                pairs.entry(u64::from(*id)).or_insert_with(|| {
                    unified.handles.push(RunHandle { file, interface });
                    unified.handles.len() as u64 - 1
                });
            }
            unified.of_pieces.push(pairs.into_iter().collect());
        }
        unified
    }
}
