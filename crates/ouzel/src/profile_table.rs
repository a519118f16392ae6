//! The profile of a trace as a table, with what else is asked for of its rows, in one pass.

use crate::{Answer, AskError, Options, Trace};
use ouzel_analyses::call_path_profile::CallPathProfile;
use ouzel_analyses::communication_totals::Communication;
use ouzel_analyses::metric_profile::MetricProfile;
use ouzel_analyses::profile_columns::{with_communication, with_counters};
use ouzel_analyses::{By, Per};
use ouzel_engine::AnalysisSet;
use ouzel_model::{MetricId, Table};

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
            let profile = set.add(CallPathProfile);
            let metrics = (!counters.is_empty()).then(|| set.add(MetricProfile));
            let communication = messages.then(|| set.add(Communication));
            let mut pass = self.run(&set, options)?;
            let profile = pass.outputs.take(&profile)?;
            let metrics = metrics.map(|key| pass.outputs.take(&key)).transpose()?;
            let communication = communication.map(|key| pass.outputs.take(&key)).transpose()?;
            Ok(Answer::new((profile, metrics, communication), pass))
        })?;
        let view = (definitions, by, per);
        Ok(answer.map(|(profile, metrics, communication)| {
            let mut table = profile.table(definitions, by, per);
            if let Some(metrics) = metrics {
                table = with_counters(table, &profile, &metrics, counters, view);
            }
            if let Some(communication) = communication {
                table = with_communication(table, &profile, &communication, view);
            }
            table
        }))
    }
}
