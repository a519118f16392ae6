//! Answers by call path about calls that are selected by their paths: with the names of their callers.
//!
//! Law: a call path that is selected has the same values whatever rows are about; see [`ouzel_analyses::callers`].

use crate::{Answer, AskError, Options, Trace};
use ouzel_analyses::By;
use ouzel_analyses::call_path_profile::{CallPathProfile, ProfileOutput, TotalProfile};
use ouzel_analyses::call_tree::{CallTreeOutput, call_tree};
use ouzel_analyses::callers::{CallPathRows, Callers};
use ouzel_analyses::communication_totals::CommunicationOutput;
use ouzel_analyses::metric_profile::MetricProfile;
use ouzel_analyses::time_profile::{TimeProfile, TimeProfileOutput};
use ouzel_engine::AnalysisSet;
use ouzel_model::{Definitions, MetricId, Notice, Selection};
use std::num::NonZeroU16;

/// Calls that are selected, where all are asked about.
pub(crate) struct ShownCalls<'t> {
    selection: Selection,
    definitions: &'t Definitions,
}

impl ShownCalls<'_> {
    /// The same with hidden calls put together.
    pub fn of<T: CallPathRows>(&self, rows: T) -> T {
        let is_shown = self.selection.of_calls(rows.call_paths(), self.definitions);
        let callers = Callers::new(rows.call_paths(), &is_shown, self.definitions.filtered_region);
        rows.with_callers(&callers)
    }

    /// Adds what is to be said about the names.
    pub fn tell(self, notices: &mut Vec<Notice>) {
        notices.extend(self.selection.unmatched);
        notices.sort_by_key(|notice| std::cmp::Reverse(notice.level));
    }
}

impl Trace {
    /// What `ask` answers. If rows are about call paths, and paths tell which calls are selected, it is asked about all
    /// calls, and those that are not selected are put together afterwards.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn with_callers<T: CallPathRows>(
        &self,
        by: By,
        options: &Options<'_>,
        ask: impl FnOnce(&Options<'_>) -> Result<Answer<T>, AskError>,
    ) -> Result<Answer<T>, AskError> {
        if by == By::Region {
            return ask(options);
        }
        let Some((all, shown)) = self.shown_calls(options) else { return ask(options) };
        let mut answer = ask(&all)?;
        answer.output = shown.of(answer.output);
        shown.tell(&mut answer.notices);
        Ok(answer)
    }

    /// The same options without the selection of call paths, and that selection; `None` if there is none.
    pub(crate) fn shown_calls<'a>(&self, options: &Options<'a>) -> Option<(Options<'a>, ShownCalls<'_>)> {
        let definitions = self.definitions();
        let (read, shown) = options.filter.split_paths()?;
        let shown = ShownCalls { selection: shown.resolve(definitions), definitions };
        Some((Options { filter: read, ..options.clone() }, shown))
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
            let profile = set.add(TotalProfile);
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
