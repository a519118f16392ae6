//! Context trees whose loops have the iterations of the phases.
//!
//! ```text
//! one rank ──► phases ──synchronisations of one place that end different parts of an iteration?
//!    no: pass ──► phases and trees ──and of all ranks?──no──► these trees
//!                                                  └─yes─► trees of a second pass
//!   yes: pass ──► phases ──► trees of a second pass
//! ```
//!
//! The phases of all ranks decide; those of one rank only foretell whether trees of the first pass would be in vain.
//! Where all locations hold samples alone, iterations are those of the samples, and phases are not looked at.

use crate::phases::PlanKeys;
use crate::{AskError, Options, Trace};
use ouzel_analyses::phases::{IterationParts, Phases, PhasesOutput};
use ouzel_analyses::semantics::Semantics;
use ouzel_context_tree::{ContextTrees, ContextTreesOutput};
use ouzel_diagnose::{EpochCard, Steps, iterations};
use ouzel_engine::{AnalysisSet, Key, Report};
use ouzel_model::{RankSet, WorldRank};

/// Trees of the locations, with the sampling period that is asked for.
pub(crate) fn trees_of(semantics: &Semantics, options: &Options<'_>) -> ContextTrees {
    ContextTrees { semantics: semantics.clone(), period: options.period, ..ContextTrees::default() }
}

/// What a pass has to see for trees, where others ask it for phases.
#[derive(Debug)]
pub(crate) struct TreesBesidePhases {
    question: ContextTrees,
    /// `None` if they are expected of a second pass.
    trees: Option<Key<ContextTrees>>,
}

impl TreesBesidePhases {
    /// Adds what is needed to the set of a pass.
    pub fn add_to(
        set: &mut AnalysisSet,
        trace: &Trace,
        question: ContextTrees,
        options: &Options<'_>,
    ) -> Self {
        let trees = (!trace.expects_parts(&question, options)).then(|| set.add(question.clone()));
        TreesBesidePhases { question, trees }
    }

    /// The trees of the pass, or of another one, given the phases of the pass.
    pub fn take(
        self,
        pass: &mut Report,
        phases: &PhasesOutput,
        trace: &Trace,
        options: &Options<'_>,
    ) -> Result<ContextTreesOutput, AskError> {
        match self.trees {
            Some(trees) if trace.parts(phases).is_none() => Ok(pass.outputs.take(&trees)?),
            _ => trace.trees_with_phases(self.question, phases, options),
        }
    }
}

/// What a pass has to see for trees.
#[derive(Debug)]
pub(crate) enum TreeKeys {
    /// Phases do not matter.
    OfSamples(Key<ContextTrees>),
    /// Phases may decide.
    OfCalls { phases: Key<Phases>, trees: TreesBesidePhases },
}

impl TreeKeys {
    /// Adds what is needed to the set of a pass.
    pub fn add_to(
        set: &mut AnalysisSet,
        trace: &Trace,
        question: ContextTrees,
        options: &Options<'_>,
    ) -> Self {
        let phases = set.add_silent(Phases { semantics: question.semantics.clone(), ..Phases::default() });
        TreeKeys::OfCalls { phases, trees: TreesBesidePhases::add_to(set, trace, question, options) }
    }

    /// The same for a pass in which others look at calls, and so say what calls made of samples cannot show.
    pub fn add_beside_calls(
        set: &mut AnalysisSet,
        trace: &Trace,
        question: ContextTrees,
        options: &Options<'_>,
    ) -> Self {
        if trace.holds_samples_alone() {
            return TreeKeys::OfSamples(set.add(question));
        }
        TreeKeys::add_to(set, trace, question, options)
    }

    /// The trees of the pass, or of another one.
    pub fn take(
        self,
        pass: &mut Report,
        trace: &Trace,
        options: &Options<'_>,
    ) -> Result<ContextTreesOutput, AskError> {
        match self {
            TreeKeys::OfSamples(trees) => Ok(pass.outputs.take(&trees)?),
            TreeKeys::OfCalls { phases, trees } => {
                let phases = pass.outputs.take(&phases)?;
                trees.take(pass, &phases, trace, options)
            }
        }
    }
}

impl Trace {
    /// Whether all locations hold samples of their call paths alone.
    fn holds_samples_alone(&self) -> bool {
        let source = self.source();
        self.definitions().location_ids().all(|location| source.is_sampled(location))
    }

    /// What tells the parts of an iteration apart; `None` if iterations have none.
    fn parts(&self, phases: &PhasesOutput) -> Option<IterationParts> {
        if self.holds_samples_alone() { None } else { IterationParts::new(phases) }
    }

    /// The trees whose loops have the iterations of phases that are known. One pass.
    pub(crate) fn trees_with_phases(
        &self,
        question: ContextTrees,
        phases: &PhasesOutput,
        options: &Options<'_>,
    ) -> Result<ContextTreesOutput, AskError> {
        let mut set = AnalysisSet::default();
        let key = set.add_silent(ContextTrees { parts: self.parts(phases), ..question });
        Ok(self.run(&set, options)?.outputs.take(&key)?)
    }

    /// The answer to a question on context trees: one pass, and another one if iterations consist of parts that end in the
    /// same call.
    ///
    /// # Errors
    /// If a pass was cancelled, or the analysis cannot answer.
    pub fn context_trees_of(
        &self,
        question: ContextTrees,
        options: &Options<'_>,
    ) -> Result<crate::Answer<ContextTreesOutput>, AskError> {
        let mut set = AnalysisSet::default();
        let keys = TreeKeys::add_to(&mut set, self, question, options);
        let mut pass = self.run(&set, options)?;
        let trees = keys.take(&mut pass, self, options)?;
        Ok(crate::Answer::new(trees, pass))
    }

    /// The loops of the program and their iterations, each with the epoch that it is in; `semantics` says what regions
    /// mean. One pass, and others where iterations consist of parts, or samples or different calls do not show the order of
    /// synchronisations.
    ///
    /// # Errors
    /// If a pass was cancelled, or the analysis cannot answer.
    pub fn iterations(
        &self,
        semantics: &Semantics,
        options: &Options<'_>,
    ) -> Result<crate::Answer<iterations::Data>, AskError> {
        let definitions = self.definitions();
        let mut set = AnalysisSet::default();
        let phases = set.add_silent(Phases { semantics: semantics.clone(), ..Phases::default() });
        let plan = PlanKeys::add_to(&mut set, definitions, semantics);
        let trees = TreesBesidePhases::add_to(&mut set, self, trees_of(semantics, options), options);
        let mut pass = self.run(&set, options)?;
        let phases = pass.outputs.take(&phases)?;
        let trees = trees.take(&mut pass, &phases, self, options)?;
        let inputs = plan.take(&mut pass)?;
        let phases = match self.planned_phases(&phases, inputs, semantics, options)? {
            Some(planned) => planned.output,
            None => phases,
        };
        let epochs = EpochCard::all(&phases, definitions, &Steps::new(&trees));
        let run = pass.run_range.map(|range| range.end.since(range.start)).unwrap_or_default();
        let run_time_ns = definitions.clock.ns_from_ticks(run);
        let data = iterations::Data::new(&trees, definitions, run_time_ns, epochs);
        Ok(crate::Answer::new(data, pass))
    }

    /// Whether the phases of one rank have parts. Workers elsewhere have their own files: they are not asked.
    fn expects_parts(&self, question: &ContextTrees, options: &Options<'_>) -> bool {
        let ranks = self.definitions().ranks();
        let is_selected =
            |rank: &WorldRank| options.filter.ranks.as_ref().is_none_or(|ranks| ranks.contains(*rank));
        let ranks: Vec<WorldRank> = ranks.into_iter().filter(is_selected).collect();
        if ranks.len() < 2 || options.workers.is_some() || self.holds_samples_alone() {
            return false;
        }
        let rank = ranks[ranks.len() / 2].0;
        let mut filter = options.filter.clone();
        filter.ranks = Some(RankSet::from_ranges(&[(rank, rank)]));
        let mut set = AnalysisSet::default();
        let phases = set.add_silent(Phases { semantics: question.semantics.clone(), ..Phases::default() });
        let of_rank = Options { filter, progress: None, ..options.clone() };
        // An error is that of the pass over all ranks, which follows.
        let phases = self.run(&set, &of_rank).ok().and_then(|mut pass| pass.outputs.take(&phases).ok());
        phases.is_some_and(|phases| IterationParts::new(&phases).is_some())
    }
}
