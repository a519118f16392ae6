//! The contract between the engine and an analysis.

use ouzel_model::{
    CallPathTree, Clock, Contents, Definitions, EventChunk, LocationId, Needs, Notices, Remap, Ticks,
    TimeRange,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// A fold over the events of each location, with partial state that merges.
///
/// The value itself is the configuration: it describes, the state is elsewhere.
///
/// Laws, checked for every analysis by the law harness of `ouzel-testkit`:
/// 1. [`empty`](Analysis::empty) is the identity of [`merge`](Analysis::merge);
/// 2. `merge` is associative and commutative over disjoint sets of locations, byte for byte once encoded;
/// 3. chunk borders carry no meaning;
/// 4. encoding and decoding a partial changes nothing;
/// 5. an analysis says the same alone and in company;
/// 6. merging the rest and the buckets of [`split`](Analysis::split) gives the partial back;
/// 7. [`settle`](Analysis::settle) changes no output: a bucket of all locations may be settled before it is merged
///    with the rest and other buckets, and settling it twice is settling it once.
pub trait Analysis: Send + Sync + 'static {
    /// Alive while one location is folded: open intervals, last values.
    type Local: Send + 'static;
    /// Everything about the locations folded so far. Integers and ids, no floats.
    type Partial: Send + Serialize + DeserializeOwned + 'static;
    /// A plain value with public fields.
    type Output: Send + 'static;

    /// Stable name on the command line, in JSON and on the wire.
    const NAME: &'static str;
    /// Raised whenever `Partial` changes shape or meaning.
    const PARTIAL_VERSION: u32;
    /// Whether [`split`](Analysis::split) fills buckets.
    const PAIRS_LOCATIONS: bool = false;

    /// The side tables and derived columns to be filled.
    fn needs(&self) -> Needs;
    /// Of these kinds of data one at least must be there, else there is nothing to say, and the user is told which are
    /// missing. By default those that the needs name, see [`Contents::of_needs`].
    fn speaks_of(&self) -> Contents {
        Contents::of_needs(self.needs())
    }
    /// No location at all.
    fn empty(&self) -> Self::Partial;
    /// Before the first chunk of a location.
    fn begin(&self, cx: &LocationCx<'_>) -> Self::Local;
    /// One chunk. Called often; the loop inside is the hot loop.
    fn fold(&self, local: &mut Self::Local, chunk: &EventChunk<'_>);
    /// After the last chunk, which has closed every open call.
    fn end(
        &self,
        local: Self::Local,
        cx: &LocationCx<'_>,
        summary: &LocationSummary,
        into: &mut Self::Partial,
    );
    /// Call paths were renumbered.
    fn remap(&self, partial: &mut Self::Partial, remap: &Remap);
    /// Adds the locations of `from`, whose call paths are numbered like those of `into`.
    fn merge(&self, into: &mut Self::Partial, from: Self::Partial);
    /// Takes what pairs locations out of `rest`, cut into `n_buckets` by a hash of what brings them together (a channel):
    /// what may belong together is in one bucket. Analyses that pair nothing leave everything in the rest.
    fn split(&self, rest: &mut Self::Partial, n_buckets: usize) -> Vec<Self::Partial> {
        let _ = rest;
        (0..n_buckets).map(|_| self.empty()).collect()
    }
    /// Pairs what is in one bucket of all locations, and keeps only what [`finish`](Analysis::finish) needs of it. By
    /// default nothing changes.
    fn settle(&self, bucket: Self::Partial, cx: &SettleCx<'_>) -> Self::Partial {
        let _ = cx;
        bucket
    }
    /// The result. Floats and names enter here.
    ///
    /// # Errors
    /// If the data break something the analysis stands on.
    fn finish(&self, partial: Self::Partial, cx: &FinishCx<'_>) -> Result<Self::Output, AnalysisError>;
}

/// What an analysis may know of the location it is about to see.
#[derive(Debug, Clone, Copy)]
pub struct LocationCx<'a> {
    /// The location.
    pub location: LocationId,
    /// The trace's definitions.
    pub definitions: &'a Definitions,
}

/// What an analysis may know when it settles a bucket.
#[derive(Debug, Clone, Copy)]
pub struct SettleCx<'a> {
    /// The trace's definitions.
    pub definitions: &'a Definitions,
    /// The call paths that the bucket speaks of, in canonical order.
    pub call_paths: &'a CallPathTree,
}

/// What an analysis may know when all locations are folded.
#[derive(Debug, Clone, Copy)]
pub struct FinishCx<'a> {
    /// The trace's definitions.
    pub definitions: &'a Definitions,
    /// The call paths that the partial speaks of.
    pub call_paths: &'a CallPathTree,
    /// The locations folded, with what is known of each.
    pub locations: &'a BTreeMap<LocationId, LocationSummary>,
    /// Where to say what went wrong.
    pub notices: &'a Notices,
}

impl FinishCx<'_> {
    /// The trace's clock.
    pub fn clock(&self) -> &Clock {
        &self.definitions.clock
    }

    /// From the first event to the last over all locations that run code; `None` if there is none.
    pub fn run_range(&self) -> Option<TimeRange> {
        run_range(self.definitions, self.locations)
    }
}

/// From the first event to the last over all locations that run code, falling back to all.
pub(crate) fn run_range(
    definitions: &Definitions,
    locations: &BTreeMap<LocationId, LocationSummary>,
) -> Option<TimeRange> {
    let range = |runs_code: bool| {
        locations
            .iter()
            .filter(|(id, _)| !runs_code || definitions.location(**id).kind.runs_code())
            .filter_map(|(_, summary)| summary.span)
            .map(|(start, end)| TimeRange { start, end })
            .reduce(|a, b| TimeRange { start: a.start.min(b.start), end: a.end.max(b.end) })
    };
    range(true).or_else(|| range(false))
}

/// What the engine knows of a folded location, whatever the analyses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocationSummary {
    /// Event records read, whether or not anyone needed them. With a time range, reading stops at the end of the
    /// chunk in which the range ends: a measure of the work, not a result.
    pub n_events: u64,
    /// From the first event to the last, cut to the time range asked for; `None` if they do not overlap.
    pub span: Option<(Ticks, Ticks)>,
    /// How its events ended.
    pub end: LocationEnd,
    /// What was there for the analyses, of that which any of them needs, and calls. Analyses must not answer from it:
    /// it depends on the company.
    pub seen: Contents,
}

/// How the events of a location ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LocationEnd {
    /// At the end of its file, or of the time range asked for.
    Complete,
    /// At damage; what came before was kept.
    Damaged,
}

/// An analysis that cannot answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{analysis}: {reason}")]
pub struct AnalysisError {
    /// Which analysis.
    pub analysis: &'static str,
    /// Why, in lower case.
    pub reason: String,
}
