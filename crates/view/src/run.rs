//! What is looked at, and who answers questions about it.

use ouzel::engine::Progress;
use ouzel::{Profile, Trace};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::Path;
use std::sync::Arc;

/// A run that is looked at.
#[derive(Debug, Clone)]
pub enum Run {
    /// Events.
    Trace(Arc<Trace>),
    /// Sums over the run.
    Profile(Arc<Profile>),
}

impl Run {
    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        match self {
            Run::Trace(trace) => trace.path(),
            Run::Profile(profile) => profile.path(),
        }
    }

    /// The trace, if it is one.
    pub fn trace(&self) -> Option<&Arc<Trace>> {
        match self {
            Run::Trace(trace) => Some(trace),
            Run::Profile(_) => None,
        }
    }
}

/// A question of the page, as it sends it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The command that answers it.
    pub question: String,
    /// What of the run it is about.
    #[serde(default)]
    pub selection: AskedPart,
    /// Options of the command, named as on the command line with `_` for `-`.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// Which run, counted from 0.
    #[serde(default)]
    pub run: usize,
    /// The other runs, for commands that compare some.
    #[serde(default)]
    pub others: Vec<usize>,
}

/// What of a run a question is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedPart {
    /// From the first nanosecond inside to the first after, counted from the trace start.
    #[serde(default)]
    pub time_ns: Option<(u64, u64)>,
    /// World ranks, e.g. `0-63,128`.
    #[serde(default)]
    pub ranks: Option<String>,
    /// Names of a call path, outermost first: this path and what it calls.
    #[serde(default)]
    pub call_path: Option<Vec<String>>,
}

/// Why a question has no answer: text for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The question makes no sense.
    #[error("{0}")]
    Question(String),
    /// The run cannot answer it, or cannot be read.
    #[error("{0}")]
    Run(String),
}

/// Answers questions: the commands of the command line.
pub trait Answers: Send + Sync {
    /// The JSON document that the command line writes for the same question.
    ///
    /// # Errors
    /// If the question makes no sense, or the run cannot answer it.
    fn ask(&self, ask: &Ask, progress: &Arc<Progress>) -> Result<Vec<u8>, Refusal>;
}
