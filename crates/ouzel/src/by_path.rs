//! Answers by call path about regions that are selected by name: with the names of their callers.
//!
//! Law: a region that is selected has the same values whatever rows are about; see [`ouzel_analyses::callers`].

use crate::{Answer, AskError, Options, Trace};
use ouzel_analyses::By;
use ouzel_analyses::call_path_profile::{CallPathProfile, ProfileOutput};
use ouzel_analyses::call_tree::{CallTreeOutput, call_tree};
use ouzel_analyses::callers::{CallPathRows, Callers};
use ouzel_analyses::communication_totals::CommunicationOutput;
use ouzel_analyses::metric_profile::MetricProfile;
use ouzel_analyses::time_profile::{TimeProfile, TimeProfileOutput};
use ouzel_engine::AnalysisSet;
use ouzel_model::{Filter, MetricId};
use std::num::NonZeroU16;

impl Trace {
    /// What `ask` answers. If rows are about call paths, it is asked about all regions, and those that are not selected by
    /// name are put together afterwards.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn with_callers<T: CallPathRows>(
        &self,
        by: By,
        options: &Options<'_>,
        ask: impl FnOnce(&Options<'_>) -> Result<Answer<T>, AskError>,
    ) -> Result<Answer<T>, AskError> {
        let regions = options.filter.regions.clone();
        if by == By::Region || regions.is_empty() {
            return ask(options);
        }
        let definitions = self.definitions();
        let all = Filter { regions: Vec::new(), ..options.filter.clone() };
        let mut answer = ask(&Options { filter: all, ..options.clone() })?;
        let selection = Filter { regions, ..Filter::default() }.resolve(definitions);
        let is_shown = selection.regions.unwrap_or_default();
        let callers = Callers::new(answer.output.call_paths(), &is_shown, definitions.filtered_region);
        answer.output = answer.output.with_callers(&callers);
        answer.notices.extend(selection.unmatched);
        answer.notices.sort_by_key(|notice| std::cmp::Reverse(notice.level));
        Ok(answer)
    }

    /// The profile of the selection, to be shown by region or by call path. One pass.
    ///
    /// # Errors
    /// If the pass was cancelled.
    pub fn call_path_profile(
        &self,
        by: By,
        options: &Options<'_>,
    ) -> Result<Answer<ProfileOutput>, AskError> {
        self.with_callers(by, options, |options| self.ask(CallPathProfile, options))
    }

    /// What a counter gained, in place of every time of that profile; see `MetricProfileOutput::in_place_of_time`. One
    /// pass.
    ///
    /// # Errors
    /// If the pass was cancelled.
    pub fn call_path_gains(
        &self,
        metric: MetricId,
        by: By,
        options: &Options<'_>,
    ) -> Result<Answer<ProfileOutput>, AskError> {
        self.with_callers(by, options, |options| {
            let mut set = AnalysisSet::default();
            let (profile, counters) = (set.add(CallPathProfile), set.add(MetricProfile));
            let mut pass = self.run(&set, options)?;
            let profile = pass.outputs.take(&profile)?;
            let gains = pass.outputs.take(&counters)?.in_place_of_time(&profile, metric);
            Ok(Answer::new(gains, pass))
        })
    }

    /// One tree of call paths, with the gains of `metrics`. One pass.
    ///
    /// # Errors
    /// If the pass was cancelled.
    pub fn call_tree(
        &self,
        metrics: &[MetricId],
        options: &Options<'_>,
    ) -> Result<Answer<CallTreeOutput>, AskError> {
        let answer = self.with_callers(By::CallPath, options, |options| {
            let mut set = AnalysisSet::default();
            let profile = set.add(CallPathProfile);
            let counters = (!metrics.is_empty()).then(|| set.add(MetricProfile));
            let mut pass = self.run(&set, options)?;
            let profile = pass.outputs.take(&profile)?;
            let counters = counters.map(|key| pass.outputs.take(&key)).transpose()?;
            Ok(Answer::new((profile, counters, None::<CommunicationOutput>), pass))
        })?;
        let tree = |(profile, counters, _): (_, Option<_>, _)| {
            call_tree(&profile, counters.as_ref(), metrics, self.definitions())
        };
        Ok(answer.map(tree))
    }

    /// Exclusive time in bins over the run, to be shown by region or by call path; passes as of
    /// [`ask_in_bins`](Trace::ask_in_bins).
    ///
    /// # Errors
    /// If a pass was cancelled.
    pub fn time_profile(
        &self,
        n_bins: NonZeroU16,
        by: By,
        options: &Options<'_>,
    ) -> Result<Answer<TimeProfileOutput>, AskError> {
        self.with_callers(by, options, |options| self.ask_in_bins(n_bins, TimeProfile::new, options))
    }
}
