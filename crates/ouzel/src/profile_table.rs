//! The profile of a trace as a table, with what else is asked for of its rows, in one pass.

use crate::{Answer, AskError, Options, Trace};
use ouzel_analyses::call_path_profile::{
    CallPathProfile, ProfileOutput, ProfileRow, TotalProfile, TotalProfileOutput,
};
use ouzel_analyses::callers::{CallPathRows, Callers};
use ouzel_analyses::communication_totals::Communication;
use ouzel_analyses::metric_profile::MetricProfile;
use ouzel_analyses::profile_columns::{with_communication, with_counters};
use ouzel_analyses::{By, Per};
use ouzel_engine::{AnalysisSet, Key};
use ouzel_model::{CallPathTree, Definitions, MetricId, Table};

/// Which rows and columns a profile has.
#[derive(Debug, Clone, Copy)]
pub struct ProfileQuery<'a> {
    /// What rows are about.
    pub by: By,
    /// What they are summed over.
    pub per: Per,
    /// Whether there are columns of messages and collectives.
    pub messages: bool,
    /// Counters that have columns.
    pub counters: &'a [MetricId],
}

impl Trace {
    /// Time in each region or call path, and what else is asked for, most exclusive time first. One pass.
    ///
    /// # Errors
    /// If the pass was cancelled, or an analysis cannot answer.
    pub fn profile_table(
        &self,
        query: &ProfileQuery<'_>,
        options: &Options<'_>,
    ) -> Result<Answer<Table>, AskError> {
        let definitions = self.definitions();
        let &ProfileQuery { by, per, messages, counters } = query;
        let answer = self.with_callers(by, options, |options| {
            let mut set = AnalysisSet::default();
            let profile = match per {
                Per::Total => Asked::OfAll(set.add(TotalProfile)),
                Per::Rank | Per::Location => Asked::OfEach(set.add(CallPathProfile)),
            };
            let metrics = (!counters.is_empty()).then(|| set.add(MetricProfile));
            let communication = messages.then(|| set.add(Communication));
            let mut pass = self.run(&set, options)?;
            let profile = match profile {
                Asked::OfAll(key) => Times::OfAll(pass.outputs.take(&key)?),
                Asked::OfEach(key) => Times::OfEach(pass.outputs.take(&key)?),
            };
            let metrics = metrics.map(|key| pass.outputs.take(&key)).transpose()?;
            let communication = communication.map(|key| pass.outputs.take(&key)).transpose()?;
            Ok(Answer::new((profile, metrics, communication), pass))
        })?;
        let view = (definitions, by, per);
        Ok(answer.map(|(profile, metrics, communication)| {
            let mut table = profile.table(view);
            // As many as the table has, and sorted once more: only for columns beside them.
            let rows = match metrics.is_some() || communication.is_some() {
                true => profile.rows(view),
                false => Vec::new(),
            };
            if let Some(metrics) = metrics {
                table = with_counters(table, &rows, &metrics, counters, view);
            }
            if let Some(communication) = communication {
                table = with_communication(table, &rows, &communication, view);
            }
            table
        }))
    }
}

/// What is asked for the times of a table.
enum Asked {
    OfAll(Key<TotalProfile>),
    OfEach(Key<CallPathProfile>),
}

/// The times of a table: those of each location only where its rows tell locations apart, since they take memory for
/// each.
enum Times {
    OfAll(TotalProfileOutput),
    OfEach(ProfileOutput),
}

impl Times {
    fn rows(&self, (definitions, by, per): (&Definitions, By, Per)) -> Vec<ProfileRow> {
        match self {
            Times::OfAll(profile) => profile.rows(definitions, by),
            Times::OfEach(profile) => profile.rows(definitions, by, per),
        }
    }

    fn table(&self, (definitions, by, per): (&Definitions, By, Per)) -> Table {
        match self {
            Times::OfAll(profile) => profile.table(definitions, by),
            Times::OfEach(profile) => profile.table(definitions, by, per),
        }
    }
}

impl CallPathRows for Times {
    fn call_paths(&self) -> &CallPathTree {
        match self {
            Times::OfAll(profile) => profile.call_paths(),
            Times::OfEach(profile) => profile.call_paths(),
        }
    }

    fn with_callers(self, callers: &Callers) -> Self {
        match self {
            Times::OfAll(profile) => Times::OfAll(profile.with_callers(callers)),
            Times::OfEach(profile) => Times::OfEach(profile.with_callers(callers)),
        }
    }
}
