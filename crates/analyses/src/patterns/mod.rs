//! Patterns: which stretches of calls repeat, as ranges of time.
//!
//! ```text
//! calls of one location ──CallSeries──► exclusive times in the order of entry ──matrix profile──► best motif ──► its matches
//! ```
//!
//! The series is the exclusive time of each call of one location, in the order of entry, from the first entry of a
//! start region to its last leave. Windows of `m` calls are compared as z-normalised Euclidean distances; the pair of
//! windows that are most alike is the motif, and every window like it is an occurrence, from the entry of its first
//! call to the leave of its last.
//!
//! * `m` as given, else `max(3, calls in the series / iterations)`; iterations as given, else the visits of the start
//!   region. A start region that is visited once holds the loop: the series begins behind its entry, and the
//!   iterations are the visits of the region found inside.
//! * Without a start region it is found: of the regions with at least 3 visits whose stretch, from the first entry to
//!   the last leave, covers at least half of the location's time, those at the shallowest depth; of them the one whose
//!   visits are the most evenly spaced in the series (smallest variance of the distance in calls / mean²); of equal
//!   ones the first. If none covers half, the one that covers most.
//! * Matches: windows by (distance to the motif, position), none within `⌈m / 4⌉` of another, up to the distance
//!   `max(mean − 2 standard deviations, smallest)` and up to as many as there are iterations.
//!
//! After Pipit's `pattern_detection` (Bhatele et al., SC 2023) and matrix profiles (Yeh et al., ICDM 2016). Memory is 32
//! bytes for each call of the one location, and 128 for each in the comparison. The motif may begin anywhere
//! in an iteration; if the last call of a window encloses others, its range reaches into the next occurrence. Law: nothing
//! depends on the number of threads. For iterations by the structure of calls, see the crate `ouzel-context-tree`.

mod detect;
mod matrix_profile;
mod motif;
mod series;
mod start;
#[cfg(test)]
mod tests;

pub use detect::{Occurrence, PatternError, PatternOptions, PatternsOutput, patterns};
pub use matrix_profile::{ProfileError, ProfilePoint, matrix_profile};
pub use motif::{Match, Motif, matches, motif};
pub use series::{CallSeries, CallSeriesFold, CallSeriesOutput, SeriesCall};
pub use start::StartRegion;
