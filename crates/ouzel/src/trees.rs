//! Context trees whose loops have the iterations of the phases.
//!
//! ```text
//! pass ──► phases ──synchronisations of one place that end different parts of an iteration?──no──► trees of the same pass
//!                 └─yes─► trees of a second pass
//! ```
//!
//! Where all locations hold samples alone, iterations are those of the samples, and phases are not looked at.

use crate::{AskError, Options, Trace};
use ouzel_analyses::phases::{IterationParts, Phases, PhasesOutput};
use ouzel_context_tree::{ContextTrees, ContextTreesOutput};
use ouzel_engine::{AnalysisSet, Key, Report};

/// What a pass has to see for trees.
#[derive(Debug)]
pub(crate) struct TreeKeys {
    question: ContextTrees,
    trees: Key<ContextTrees>,
    /// `None` if they do not matter.
    phases: Option<Key<Phases>>,
}

impl TreeKeys {
    /// Adds what is needed to the set of a pass.
    pub fn add_to(set: &mut AnalysisSet, question: ContextTrees) -> Self {
        let phases = Phases { semantics: question.semantics.clone(), ..Phases::default() };
        let phases = Some(set.add_silent(phases));
        TreeKeys { trees: set.add(question.clone()), phases, question }
    }

    /// The same for a pass in which others look at calls, and so say what calls made of samples cannot show.
    pub fn add_beside_calls(set: &mut AnalysisSet, trace: &Trace, question: ContextTrees) -> Self {
        if trace.holds_samples_alone() {
            return TreeKeys { trees: set.add(question.clone()), phases: None, question };
        }
        TreeKeys::add_to(set, question)
    }

    /// The trees of the pass, or of another one.
    pub fn take(
        self,
        pass: &mut Report,
        trace: &Trace,
        options: &Options<'_>,
    ) -> Result<ContextTreesOutput, AskError> {
        let trees = pass.outputs.take(&self.trees)?;
        let Some(phases) = self.phases else { return Ok(trees) };
        let phases = pass.outputs.take(&phases)?;
        trace.with_parts(trees, self.question, &phases, options)
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
        let keys = TreeKeys::add_to(&mut set, question);
        let mut pass = self.run(&set, options)?;
        let trees = keys.take(&mut pass, self, options)?;
        Ok(crate::Answer::new(trees, pass))
    }

    /// `trees`, or if the iterations of `phases` consist of parts, those of a pass that knows them.
    pub(crate) fn with_parts(
        &self,
        trees: ContextTreesOutput,
        question: ContextTrees,
        phases: &PhasesOutput,
        options: &Options<'_>,
    ) -> Result<ContextTreesOutput, AskError> {
        let parts = IterationParts::new(phases);
        if parts.is_none() || self.holds_samples_alone() {
            return Ok(trees);
        }
        let mut set = AnalysisSet::default();
        let key = set.add_silent(ContextTrees { parts, ..question });
        let mut pass = self.run(&set, options)?;
        Ok(pass.outputs.take(&key)?)
    }
}
