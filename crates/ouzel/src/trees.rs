//! Context trees whose loops have the iterations of the phases.
//!
//! ```text
//! pass ──► phases ──synchronisations of one place that end different parts of an iteration?──no──► trees of the same pass
//!                 └─yes─► trees of a second pass
//! ```

use crate::{AskError, Options, Trace};
use ouzel_analyses::phases::{IterationParts, Phases, PhasesOutput};
use ouzel_context_tree::{ContextTrees, ContextTreesOutput};
use ouzel_engine::{AnalysisSet, Key, Report};

/// What a pass has to see for trees.
#[derive(Debug)]
pub(crate) struct TreeKeys {
    question: ContextTrees,
    trees: Key<ContextTrees>,
    phases: Key<Phases>,
}

impl TreeKeys {
    /// Adds what is needed to the set of a pass.
    pub fn add_to(set: &mut AnalysisSet, question: ContextTrees) -> Self {
        let phases = Phases { semantics: question.semantics.clone(), ..Phases::default() };
        let phases = set.add_silent(phases);
        TreeKeys { trees: set.add(question.clone()), phases, question }
    }

    /// The trees of the pass, or of another one.
    pub fn take(
        self,
        pass: &mut Report,
        trace: &Trace,
        options: &Options<'_>,
    ) -> Result<ContextTreesOutput, AskError> {
        let trees = pass.outputs.take(&self.trees)?;
        let phases = pass.outputs.take(&self.phases)?;
        trace.with_parts(trees, self.question, &phases, options)
    }
}

impl Trace {
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
        if parts.is_none() {
            return Ok(trees);
        }
        let mut set = AnalysisSet::default();
        let key = set.add_silent(ContextTrees { parts, ..question });
        let mut pass = self.run(&set, options)?;
        Ok(pass.outputs.take(&key)?)
    }
}
