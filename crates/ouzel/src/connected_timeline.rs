//! What every location does over time, and what connects the locations, in one pass.

use crate::path_keys::PathKeys;
use crate::{Answer, AskError, Options, Trace};
use ouzel_analyses::critical_path::CriticalPathOutput;
use ouzel_analyses::paired_operations::{Operations, OperationsOutput};
use ouzel_analyses::timeline::{Timeline, TimelineOutput};
use ouzel_engine::AnalysisSet;
use ouzel_model::Notices;

/// What is wanted over a timeline; the default is nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimelineConnections {
    /// Messages.
    pub messages: bool,
    /// The critical path.
    pub critical_path: bool,
}

/// A timeline, and what connects its rows if it was wanted.
#[derive(Debug)]
pub struct ConnectedTimeline {
    /// What every location does.
    pub timeline: TimelineOutput,
    /// The messages.
    pub messages: Option<OperationsOutput>,
    /// The critical path.
    pub path: Option<CriticalPathOutput>,
}

impl Trace {
    /// What every location does over time, and what connects them. One pass.
    ///
    /// # Errors
    /// If the pass was cancelled, or an analysis cannot answer.
    pub fn timeline(
        &self,
        wanted: TimelineConnections,
        options: &Options<'_>,
    ) -> Result<Answer<ConnectedTimeline>, AskError> {
        let definitions = self.definitions();
        let mut set = AnalysisSet::default();
        let timeline = set.add(Timeline::default());
        let path_keys = wanted.critical_path.then(|| PathKeys::new(&mut set, definitions));
        let operations =
            (wanted.messages && !wanted.critical_path).then(|| set.add(Operations::new(definitions)));
        let mut pass = self.run(&set, options)?;
        let timeline = pass.outputs.take(&timeline)?;
        let notices = Notices::default();
        notices.extend(pass.notices.iter().cloned());
        let (path, messages) = match path_keys {
            Some(keys) => {
                let (path, operations) = keys.path(&mut pass.outputs, definitions, &notices)?;
                (Some(path), Some(operations).filter(|_| wanted.messages))
            }
            None => (None, operations.map(|key| pass.outputs.take(&key)).transpose()?),
        };
        let connected = ConnectedTimeline { timeline, messages, path };
        Ok(Answer { notices: notices.to_vec(), ..Answer::new(connected, pass) })
    }
}
