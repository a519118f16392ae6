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

use crate::{AskError, Options, Trace};
use ouzel_analyses::phases::{IterationParts, Phases, PhasesOutput};
use ouzel_context_tree::{ContextTrees, ContextTreesOutput};
use ouzel_engine::{AnalysisSet, Key, Report};
use ouzel_model::{RankSet, WorldRank};

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
        let parts = if trace.holds_samples_alone() { None } else { IterationParts::new(phases) };
        if let (None, Some(trees)) = (&parts, self.trees) {
            return Ok(pass.outputs.take(&trees)?);
        }
        let mut set = AnalysisSet::default();
        let key = set.add_silent(ContextTrees { parts, ..self.question });
        Ok(trace.run(&set, options)?.outputs.take(&key)?)
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
