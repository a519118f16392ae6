//! Analyses of different types in one set: the only dynamic typing of the engine.
//!
//! Law: slot `i` of every vector here holds the state of analysis `i`.

use crate::analysis::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Scope, SettleCx};
use crate::question::{Question, SelectionCx};
use ouzel_model::{Contents, Definitions, EventChunk, Filter, LocationId, Needs, Remap, Selection};
use std::any::Any;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

pub(crate) type Erased = Box<dyn Any + Send>;

const SLOT: &str = "slot i holds the state of analysis i";

/// The object-safe twin of [`Analysis`]: one dynamic call per chunk, not per event.
pub(crate) trait DynAnalysis: Send + Sync {
    fn stamp(&self) -> (&'static str, u32);
    fn as_any(&self) -> &dyn Any;
    fn needs(&self) -> Needs;
    fn speaks_of(&self) -> Contents;
    fn empty(&self) -> Erased;
    fn begin(&self, cx: &LocationCx<'_>) -> Erased;
    fn fold(&self, local: &mut Erased, chunk: &EventChunk<'_>);
    fn end(&self, local: Erased, cx: &LocationCx<'_>, summary: &LocationSummary, into: &mut Erased);
    fn compact(&self, partial: &mut Erased, cx: &SettleCx<'_>);
    fn remap(&self, partial: &mut Erased, remap: &Remap);
    fn merge(&self, into: &mut Erased, from: Erased);
    fn pairs_locations(&self) -> bool;
    fn scope(&self) -> Scope;
    fn sees_as_recorded(&self) -> bool;
    fn split(&self, rest: &mut Erased, n_buckets: usize) -> Vec<Erased>;
    fn settle(&self, bucket: Erased, cx: &SettleCx<'_>) -> Erased;
    fn encode(&self, partial: &Erased) -> Result<Vec<u8>, postcard::Error>;
    fn decode(&self, bytes: &[u8]) -> Result<Erased, postcard::Error>;
    fn finish(&self, partial: Erased, cx: &FinishCx<'_>) -> Result<Erased, AnalysisError>;
}

fn own<T: 'static>(erased: Erased) -> T {
    *erased.downcast().expect(SLOT)
}

fn mutable<T: 'static>(erased: &mut Erased) -> &mut T {
    erased.downcast_mut().expect(SLOT)
}

impl<A: Analysis> DynAnalysis for A {
    fn stamp(&self) -> (&'static str, u32) {
        (A::NAME, A::PARTIAL_VERSION)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn needs(&self) -> Needs {
        Analysis::needs(self)
    }
    fn speaks_of(&self) -> Contents {
        Analysis::speaks_of(self)
    }
    fn empty(&self) -> Erased {
        Box::new(Analysis::empty(self))
    }
    fn begin(&self, cx: &LocationCx<'_>) -> Erased {
        Box::new(Analysis::begin(self, cx))
    }
    fn fold(&self, local: &mut Erased, chunk: &EventChunk<'_>) {
        Analysis::fold(self, mutable(local), chunk);
    }
    fn end(&self, local: Erased, cx: &LocationCx<'_>, summary: &LocationSummary, into: &mut Erased) {
        Analysis::end(self, own(local), cx, summary, mutable(into));
    }
    fn compact(&self, partial: &mut Erased, cx: &SettleCx<'_>) {
        Analysis::compact(self, mutable(partial), cx);
    }
    fn remap(&self, partial: &mut Erased, remap: &Remap) {
        Analysis::remap(self, mutable(partial), remap);
    }
    fn merge(&self, into: &mut Erased, from: Erased) {
        Analysis::merge(self, mutable(into), own(from));
    }
    fn pairs_locations(&self) -> bool {
        self.pairing().is_some()
    }
    fn scope(&self) -> Scope {
        A::SCOPE
    }
    fn sees_as_recorded(&self) -> bool {
        A::AS_RECORDED
    }
    fn split(&self, rest: &mut Erased, n_buckets: usize) -> Vec<Erased> {
        let Some(pairing) = self.pairing() else {
            return (0..n_buckets).map(|_| DynAnalysis::empty(self)).collect();
        };
        let buckets = pairing.split(mutable(rest), n_buckets);
        buckets.into_iter().map(|bucket| Box::new(bucket) as Erased).collect()
    }
    fn settle(&self, bucket: Erased, cx: &SettleCx<'_>) -> Erased {
        match self.pairing() {
            Some(pairing) => Box::new(pairing.settle(own(bucket), cx)),
            None => bucket,
        }
    }
    fn encode(&self, partial: &Erased) -> Result<Vec<u8>, postcard::Error> {
        postcard::to_stdvec(partial.downcast_ref::<A::Partial>().expect(SLOT))
    }
    fn decode(&self, bytes: &[u8]) -> Result<Erased, postcard::Error> {
        Ok(Box::new(postcard::from_bytes::<A::Partial>(bytes)?))
    }
    fn finish(&self, partial: Erased, cx: &FinishCx<'_>) -> Result<Erased, AnalysisError> {
        Ok(Box::new(Analysis::finish(self, own(partial), cx)?))
    }
}

/// Makes the analysis of a question for a selection.
type Prepare = dyn Fn(&SelectionCx<'_>) -> Arc<dyn DynAnalysis> + Send + Sync;

/// A question as a member of a set.
struct Member {
    name: &'static str,
    prepare: Box<Prepare>,
    /// Whether an empty answer needs an explanation.
    is_asked: bool,
}

/// The questions of one pass.
#[derive(Default)]
pub struct AnalysisSet {
    members: Vec<Member>,
}

impl std::fmt::Debug for AnalysisSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.members.iter().map(|member| member.name)).finish()
    }
}

/// A typed receipt for one member of a set.
#[derive(Debug)]
pub struct Key<Q>(usize, PhantomData<fn() -> Q>);

impl AnalysisSet {
    /// Adds what the user asked for: if the trace holds none of its data, a notice reports that.
    pub fn add<Q: Question>(&mut self, question: Q) -> Key<Q> {
        self.push(question, true)
    }

    /// Adds what only contributes: if the trace holds none of its data, no notice is given.
    pub fn add_silent<Q: Question>(&mut self, question: Q) -> Key<Q> {
        self.push(question, false)
    }

    fn push<Q: Question>(&mut self, question: Q, is_asked: bool) -> Key<Q> {
        let question = Arc::new(question);
        let prepare = Box::new(move |cx: &SelectionCx<'_>| -> Arc<dyn DynAnalysis> {
            Arc::clone(&question).prepare(cx)
        });
        self.members.push(Member { name: <Q::Analysis as Analysis>::NAME, prepare, is_asked });
        Key(self.members.len() - 1, PhantomData)
    }

    /// The analyses for a pass over what `filter` selects.
    pub fn prepare(&self, definitions: &Definitions, filter: &Filter) -> Prepared {
        let selection = filter.resolve(definitions);
        let cx = SelectionCx { definitions, selection: &selection };
        let members = self.members.iter().map(|member| (member.prepare)(&cx)).collect();
        let is_asked = self.members.iter().map(|member| member.is_asked).collect();
        Prepared { filter: filter.clone(), members, is_asked, selection: OnceLock::from(selection) }
    }
}

/// The analyses of one pass, and what they look at: one cannot be had without the other.
pub struct Prepared {
    pub(crate) filter: Filter,
    pub(crate) members: Vec<Arc<dyn DynAnalysis>>,
    /// For each member, whether an empty answer needs an explanation.
    is_asked: Vec<bool>,
    /// Resolved where the set was prepared; in another process, at the first look at the trace.
    selection: OnceLock<Selection>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.members.iter().map(|member| member.stamp().0)).finish()
    }
}

impl Prepared {
    /// The analyses that another process prepared for `filter`; that side explains the answers.
    pub(crate) fn elsewhere(filter: Filter, members: Vec<Arc<dyn DynAnalysis>>) -> Self {
        let is_asked = vec![false; members.len()];
        Prepared { filter, members, is_asked, selection: OnceLock::new() }
    }

    /// The user's selection.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The selection, resolved against the definitions of the trace that it was prepared for.
    pub fn selection(&self, definitions: &Definitions) -> &Selection {
        self.selection.get_or_init(|| self.filter.resolve(definitions))
    }

    /// The kinds of data that each analysis the user asked for needs, see [`Analysis::speaks_of`].
    pub fn questions(&self) -> impl Iterator<Item = Contents> {
        let members = self.members.iter().zip(&self.is_asked);
        members.filter(|(_, is_asked)| **is_asked).map(|(member, _)| member.speaks_of())
    }

    /// Whether any of them pairs locations, so that buckets are worthwhile.
    pub fn pairs_locations(&self) -> bool {
        self.members.iter().any(|member| member.pairs_locations())
    }

    /// The locations that the pass reads: those selected, and all if a member sees the whole trace.
    pub fn locations(&self, definitions: &Definitions) -> Vec<LocationId> {
        match self.scope() {
            Scope::Trace => definitions.location_ids().collect(),
            Scope::Selection | Scope::Locations => self.selection(definitions).locations.clone(),
        }
    }

    /// The widest of their scopes.
    pub(crate) fn scope(&self) -> Scope {
        self.members.iter().map(|member| member.scope()).max().unwrap_or(Scope::Selection)
    }

    /// The union of what they need.
    pub(crate) fn needs(&self) -> Needs {
        self.members.iter().map(|m| m.needs()).fold(Needs::NOTHING, Needs::union)
    }
}

/// The results of a pass, one for each member of the set.
#[derive(Debug, Default)]
pub struct Outputs(pub(crate) Vec<Option<Result<Erased, AnalysisError>>>);

impl Outputs {
    /// Takes the result of one analysis. If it failed, the others are still available.
    ///
    /// # Errors
    /// If the analysis could not answer.
    ///
    /// # Panics
    /// If it was taken before, or the key belongs to another set.
    pub fn take<Q: Question>(&mut self, key: &Key<Q>) -> Result<Q::Output, AnalysisError> {
        self.0[key.0].take().expect("an output is taken once").map(own)
    }
}
