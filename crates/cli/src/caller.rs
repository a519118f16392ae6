//! Another part of the program that asks in the place of a user: the viewer, whose page sends the words of commands.
//!
//! Law: what it gets is what the command writes for the same words, byte for byte, because the same code writes it. The
//! trace is the one that is open already, the answer goes to memory, and a question can be cancelled.

use ouzel::engine::Progress;
use ouzel::model::Filter;
use ouzel::{Profile, Trace};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The profile that was made last of a trace, with what was selected: questions about the same selection follow each
/// other, and each would take a pass.
#[derive(Debug, Default)]
pub struct Made(Mutex<Option<(PathBuf, Filter, Profile)>>);

impl Made {
    /// The profile of what `filter` selects of the trace at `path`, if it was the last one.
    pub fn last(&self, path: &Path, filter: &Filter) -> Option<Profile> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (of, selected, profile) = last.as_ref()?;
        (of == path && selected == filter).then(|| profile.clone())
    }

    /// Keeps a profile instead of the one before.
    pub fn keep(&self, path: &Path, filter: &Filter, profile: &Profile) {
        let kept = (path.to_owned(), filter.clone(), profile.clone());
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
    }
}

/// Who asks.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Traces that are open.
    pub traces: Vec<Arc<Trace>>,
    /// How far the passes are; cancels them.
    pub progress: Arc<Progress>,
    /// The profile that was made last, shared by all who ask about the same runs.
    pub made: Arc<Made>,
    answer: Arc<Mutex<Vec<u8>>>,
}

impl Caller {
    /// Who asks about these traces, and may cancel by `progress`.
    #[cfg(feature = "view")]
    pub fn new(traces: Vec<Arc<Trace>>, progress: Arc<Progress>, made: Arc<Made>) -> Self {
        Caller { traces, progress, made, answer: Arc::default() }
    }

    /// The trace that was opened by this path.
    pub fn opened(&self, path: &Path) -> Option<Arc<Trace>> {
        self.traces.iter().find(|trace| trace.path() == path).cloned()
    }

    /// Takes a complete answer.
    pub fn put(&self, bytes: Vec<u8>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = bytes;
    }

    /// The answer that was given.
    #[cfg(feature = "view")]
    pub fn taken(&self) -> Vec<u8> {
        std::mem::take(&mut *self.answer.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
