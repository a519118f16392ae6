//! The contract between the engine and an analysis.

use ouzel_model::{
    CallPathTree, Clock, Contents, Definitions, EventChunk, LocationId, Needs, Notices, Remap, Ticks,
    TimeRange,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::collections::BTreeMap;

/// A fold over the events of each location, with partial state that merges.
///
/// The value itself is the configuration; the state is elsewhere.
///
/// Laws, checked for every analysis by the law harness of `ouzel-testkit`:
/// 1. [`empty`](Analysis::empty) is the identity of [`merge`](Analysis::merge);
/// 2. `merge` is associative and commutative over disjoint sets of locations, byte for byte once encoded;
/// 3. chunk borders carry no meaning;
/// 4. encoding and decoding a partial changes nothing;
/// 5. an analysis gives the same result alone and together with others;
/// 8. compacting a partial at any time changes no output, see [`compact`](Analysis::compact).
///
/// Analyses that pair locations keep two more, see [`Pairing`].
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
    /// How much of the trace it sees. An analysis that matches events that may lie apart needs more than is selected.
    const SCOPE: Scope = Scope::Selection;
    /// Whether it sees samples that complete recorded calls, and these calls, instead of the calls made of both. It then
    /// needs [`Needs::SAMPLES`].
    const AS_RECORDED: bool = false;

    /// The side tables and derived columns to be filled.
    fn needs(&self) -> Needs;
    /// At least one of these kinds of data must be present; otherwise the analysis has no result, and the user gets a
    /// list of what is missing. By default those that the needs name, see [`Contents::of_needs`].
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
    /// Reduces what is complete to what [`finish`](Analysis::finish) needs of it: called between the locations that one
    /// thread folds, so that a pass over many processes need not keep what each of them holds. By default nothing changes.
    fn compact(&self, partial: &mut Self::Partial, cx: &SettleCx<'_>) {
        let _ = (partial, cx);
    }
    /// Call paths were renumbered.
    fn remap(&self, partial: &mut Self::Partial, remap: &Remap);
    /// Adds the locations of `from`, whose call paths are numbered like those of `into`.
    fn merge(&self, into: &mut Self::Partial, from: Self::Partial);
    /// How it pairs locations; most analyses do not.
    fn pairing(&self) -> Option<&dyn Pairing<Self::Partial>> {
        None
    }
    /// The result. Floats and names enter here.
    ///
    /// # Errors
    /// If the data violate an assumption of the analysis.
    fn finish(&self, partial: Self::Partial, cx: &FinishCx<'_>) -> Result<Self::Output, AnalysisError>;
}

/// How an analysis brings together what several locations hold, such as the two ends of a message. Cooperating
/// processes then pair in parallel: each takes one bucket of all locations.
///
/// Laws, in addition to those of [`Analysis`], checked for every analysis that has a pairing:
/// 6. merging the rest and the buckets of [`split`](Pairing::split) gives the partial back;
/// 7. [`settle`](Pairing::settle) changes no output: a bucket of all locations may be settled before it is merged with
///    the rest and other buckets, and settling it twice is settling it once.
pub trait Pairing<P> {
    /// Takes what pairs locations out of `rest`, cut into `n_buckets` by a hash of what brings them together (a
    /// channel): what may belong together is in one bucket.
    fn split(&self, rest: &mut P, n_buckets: usize) -> Vec<P>;
    /// Pairs what is in one bucket of all locations, and keeps only what [`finish`](Analysis::finish) needs of it. By
    /// default nothing changes.
    fn settle(&self, bucket: P, cx: &SettleCx<'_>) -> P {
        let _ = cx;
        bucket
    }
}

/// How much of the trace an analysis sees.
///
/// Law: a selection clips results, never what belongs together. Ends of messages, members of collectives, posts and
/// completions are matched before anything is selected, so an analysis that does so sees all of them, and itself clips
/// its results to [`Selected`], [`FinishCx::window`] and [`FinishCx::selected`]. Calls that are not selected then keep
/// their regions; their paths show what is to be displayed, see
/// [`CallPathTree::shown`](ouzel_model::CallPathTree::shown).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// What is selected: hidden calls are `[filtered]`, and calls are cut to the time range.
    Selection,
    /// All events of the locations that are selected.
    Locations,
    /// All events of all locations.
    Trace,
}

/// Which events of a location are selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selected {
    /// Whether the location is.
    pub location: bool,
    /// The time range, if there is one.
    pub window: Option<TimeRange>,
}

impl Default for Selected {
    fn default() -> Self {
        Selected::ALL
    }
}

impl Selected {
    /// Everything.
    pub const ALL: Selected = Selected { location: true, window: None };

    /// Whether an event at this time is selected: an event is in exactly one of several adjacent ranges.
    #[inline]
    pub fn has(self, at: Ticks) -> bool {
        self.location && self.window.is_none_or(|window| window.contains(at))
    }

    /// The part of a span, from a first event to a last one, that lies in the time range; `None` if there is none.
    pub fn clip_span(self, (first, last): (Ticks, Ticks)) -> Option<(Ticks, Ticks)> {
        let Some(range) = self.window else { return Some((first, last)) };
        (first < range.end && range.start <= last && range.start < range.end)
            .then(|| (first.max(range.start), last.min(range.end)))
    }

    /// The part of a range of time that is selected.
    pub fn clip(self, range: TimeRange) -> TimeRange {
        self.window.map_or(range, |window| range.clipped_to(window))
    }
}

/// What an analysis may know of the location that it is about to see.
#[derive(Debug, Clone, Copy)]
pub struct LocationCx<'a> {
    /// The location.
    pub location: LocationId,
    /// The trace's definitions.
    pub definitions: &'a Definitions,
    /// Which of its events are selected: all that are seen, if the scope is [`Scope::Selection`].
    pub selected: Selected,
    /// Whether samples show the calls that are not recorded, see
    /// [`TraceSource::completes_calls`](ouzel_model::TraceSource::completes_calls).
    pub completes_calls: bool,
    /// Whether its calls are made of samples, all of them or those that are not recorded.
    pub has_sampled_calls: bool,
}

/// What an analysis may know when it settles a bucket, or compacts a partial.
#[derive(Debug, Clone, Copy)]
pub struct SettleCx<'a> {
    /// The trace's definitions.
    pub definitions: &'a Definitions,
    /// The call paths that the bucket or partial refers to; in canonical order when a bucket is settled.
    pub call_paths: &'a CallPathTree,
}

/// What an analysis may know when all locations are folded.
#[derive(Debug, Clone, Copy)]
pub struct FinishCx<'a> {
    /// The trace's definitions.
    pub definitions: &'a Definitions,
    /// The call paths that the partial refers to.
    pub call_paths: &'a CallPathTree,
    /// The locations that the analysis has seen, with what is known of each; see [`Scope`].
    pub locations: &'a BTreeMap<LocationId, LocationSummary>,
    /// Those of them that are selected, their spans cut to the time range.
    pub selected: &'a BTreeMap<LocationId, LocationSummary>,
    /// The requested time range, if there is one.
    pub window: Option<TimeRange>,
    /// Where to report problems.
    pub notices: &'a Notices,
}

impl FinishCx<'_> {
    /// The trace's clock.
    pub fn clock(&self) -> &Clock {
        &self.definitions.clock
    }

    /// Which events of a location are selected.
    pub fn selected_of(&self, location: LocationId) -> Selected {
        Selected { location: self.selected.contains_key(&location), window: self.window }
    }

    /// Whether everything is selected, except perhaps for single calls.
    pub fn is_whole(&self) -> bool {
        self.window.is_none() && self.selected.len() == self.definitions.locations.len()
    }

    /// From the first event to the last of what is selected, over all locations that run code; `None` if there is none.
    pub fn run_range(&self) -> Option<TimeRange> {
        run_range(self.definitions, self.selected)
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
    /// Event records read, whether or not any analysis needed them. With a time range, reading stops at the end of the
    /// chunk in which the range ends: a measure of the work, not a result.
    pub n_events: u64,
    /// From the first event to the last. For analyses that see only the selection, cut to the requested time range, and
    /// `None` if they do not overlap.
    pub span: Option<(Ticks, Ticks)>,
    /// How its events ended.
    pub end: LocationEnd,
    /// Median interval between samples of which calls are made, or that complete recorded calls; `None` if there are none.
    pub sampling_period: Option<Ticks>,
    /// Which of the data that any of the analyses needs were present, and calls; also samples where calls were made of
    /// them. Analyses must not base their answers on it: it depends on the other analyses of the pass.
    pub seen: Contents,
}

/// How the events of a location ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LocationEnd {
    /// At the end of its file, or of the requested time range.
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
