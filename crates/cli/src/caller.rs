//! Another part of the program that asks in the place of a user: the viewer, whose page sends the words of commands.
//!
//! Law: what it gets is what the command writes for the same words, byte for byte, because the same code writes it. The
//! trace is the one that is open already, the answer goes to memory, and a question can be cancelled.

use ouzel::Trace;
use ouzel::engine::Progress;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Who asks.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Traces that are open.
    pub traces: Vec<Arc<Trace>>,
    /// How far the passes are; cancels them.
    pub progress: Arc<Progress>,
    answer: Arc<Mutex<Vec<u8>>>,
}

impl Caller {
    /// Who asks about these traces, and may cancel by `progress`.
    pub fn new(traces: Vec<Arc<Trace>>, progress: Arc<Progress>) -> Self {
        Caller { traces, progress, answer: Arc::default() }
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
    pub fn taken(&self) -> Vec<u8> {
        std::mem::take(&mut *self.answer.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
