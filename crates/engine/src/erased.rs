//! Analyses of different types in one set: the only dynamic typing of the engine.
//!
//! Law: slot `i` of every vector here holds the state of analysis `i`.

use crate::analysis::{Analysis, AnalysisError, FinishCx, LocationCx, LocationSummary, Scope, SettleCx};
use ouzel_model::{Contents, Definitions, EventChunk, Filter, LocationId, Needs, Remap};
use std::any::Any;
use std::marker::PhantomData;

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
    fn remap(&self, partial: &mut Erased, remap: &Remap);
    fn merge(&self, into: &mut Erased, from: Erased);
    fn pairs_locations(&self) -> bool;
    fn scope(&self) -> Scope;
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

/// The analyses of one pass.
#[derive(Default)]
pub struct AnalysisSet {
    pub(crate) members: Vec<Box<dyn DynAnalysis>>,
    /// For each member, whether an empty answer needs an explanation.
    pub(crate) is_asked: Vec<bool>,
}

impl std::fmt::Debug for AnalysisSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.members.iter().map(|m| m.stamp().0)).finish()
    }
}

/// A typed receipt for one member of a set.
#[derive(Debug)]
pub struct Key<A>(usize, PhantomData<fn() -> A>);

impl AnalysisSet {
    /// Adds an analysis that the user asked for: if the trace holds none of its data, a notice reports that.
    pub fn add<A: Analysis>(&mut self, analysis: A) -> Key<A> {
        self.push(analysis, true)
    }

    /// Adds an analysis that only contributes: if the trace holds none of its data, no notice is given.
    pub fn add_silent<A: Analysis>(&mut self, analysis: A) -> Key<A> {
        self.push(analysis, false)
    }

    fn push<A: Analysis>(&mut self, analysis: A, is_asked: bool) -> Key<A> {
        self.members.push(Box::new(analysis));
        self.is_asked.push(is_asked);
        Key(self.members.len() - 1, PhantomData)
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

    /// The locations that a pass with `filter` reads: those selected, and all if a member sees the whole trace.
    pub fn locations(&self, definitions: &Definitions, filter: &Filter) -> Vec<LocationId> {
        match self.scope() {
            Scope::Trace => definitions.location_ids().collect(),
            Scope::Selection | Scope::Locations => filter.locations(definitions),
        }
    }

    /// The widest of their scopes.
    pub(crate) fn scope(&self) -> Scope {
        self.members.iter().map(|member| member.scope()).max().unwrap_or(Scope::Selection)
    }

    /// The union of what they need.
    pub fn needs(&self) -> Needs {
        self.members.iter().map(|m| m.needs()).fold(Needs::NOTHING, Needs::union)
    }
}

/// The results of a pass, one for each member of the set.
#[derive(Debug)]
pub struct Outputs(pub(crate) Vec<Option<Result<Erased, AnalysisError>>>);

impl Outputs {
    /// Takes the result of one analysis. If it failed, the others are still available.
    ///
    /// # Errors
    /// If the analysis could not answer.
    ///
    /// # Panics
    /// If it was taken before, or the key belongs to another set.
    pub fn take<A: Analysis>(&mut self, key: &Key<A>) -> Result<A::Output, AnalysisError> {
        self.0[key.0].take().expect("an output is taken once").map(own)
    }
}
