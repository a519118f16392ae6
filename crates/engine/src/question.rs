//! What a pass is asked, before it is known what is selected.

use crate::analysis::Analysis;
use ouzel_model::{Definitions, Selection};
use std::sync::Arc;

/// Makes the analysis of a pass once its selection is known: which locations are peers, for example, depends on which
/// of them are selected. No analysis gets a filter in any other way, so it cannot disagree with its pass.
///
/// An [`Analysis`] that is the same for every selection is its own question.
pub trait Question: Send + Sync + 'static {
    /// What it becomes.
    type Analysis: Analysis<Output = Self::Output>;
    /// The answer.
    type Output: Send + 'static;

    /// The analysis for a pass over this selection.
    fn prepare(self: Arc<Self>, cx: &SelectionCx<'_>) -> Arc<Self::Analysis>;
}

impl<A: Analysis> Question for A {
    type Analysis = A;
    type Output = A::Output;

    fn prepare(self: Arc<Self>, _: &SelectionCx<'_>) -> Arc<A> {
        self
    }
}

/// What a question may know of the pass.
#[derive(Debug, Clone, Copy)]
pub struct SelectionCx<'a> {
    /// The trace's definitions.
    pub definitions: &'a Definitions,
    /// What is selected.
    pub selection: &'a Selection,
}
