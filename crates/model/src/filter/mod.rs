//! The user's selection. It changes results; the needs of analyses never do.
//!
//! ```text
//! Filter { ranks, time_ns, regions, predicate }
//!    resolve() ──► Selection
//!    locations        which locations are read: ranks, and what a predicate says of rank and thread
//!    time_ns          the window; sums count the time inside, listings show whole calls unless told to trim
//!    regions, rest of the predicate    which calls are shown; time in the others goes to `[filtered]`
//! ```
//! Law: a filter of calls changes no total, and neither the inclusive nor the exclusive
//! time of a call that is shown. Anything that is not a call (a message, a metric value) is selected only by location
//! and time.

mod language;
mod numbers;
mod predicate;
mod ranks;
mod resolved;
mod selection;
#[cfg(test)]
mod tests;
mod unmatched;

pub use language::FilterError;
pub use numbers::NumberSet;
pub use predicate::{Predicate, TextTest};
pub use ranks::RankSet;
pub use resolved::{CallFacts, CallTest, LocationTests};
pub use selection::Selection;

use serde::{Deserialize, Serialize};

/// What the user asked to look at. The default is everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Only locations of these ranks.
    pub ranks: Option<RankSet>,
    /// Only the half-open range of time, in nanoseconds since the trace start.
    pub time_ns: Option<(u64, u64)>,
    /// Only regions whose name matches one of these patterns (`*` any run, `?` one character); empty means all.
    pub regions: Vec<String>,
    /// Only calls that pass. Made with [`Filter::and`], which leaves ranges of time to `time_ns`.
    pub predicate: Option<Predicate>,
    /// What listings of calls and events do at the borders of the time range.
    pub borders: Borders,
}

/// What listings do with calls that reach over a border of the time range. Sums always count the time inside alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Borders {
    /// A call that overlaps the range is listed whole.
    #[default]
    Keep,
    /// It is cut to the range.
    Trim,
}

impl Filter {
    /// Whether everything is selected.
    pub fn is_everything(&self) -> bool {
        Filter { borders: Borders::Keep, ..self.clone() } == Filter::default()
    }

    /// The selection of locations and time, and that of calls in them: both together are this one.
    ///
    /// ```
    /// # use ouzel_model::Filter;
    /// let filter = Filter::default().and("rank = 3 and name = solve and time in 1s..2s".parse()?);
    /// let (read, shown) = filter.split_calls();
    /// assert!(read.time_ns.is_some() && read.predicate == Some("rank = 3".parse()?));
    /// assert_eq!(shown.predicate, Some("name = solve".parse()?));
    /// # Ok::<(), ouzel_model::FilterError>(())
    /// ```
    pub fn split_calls(&self) -> (Filter, Filter) {
        let parts = self.predicate.clone().into_iter().flat_map(Predicate::into_conjuncts);
        let (of_locations, of_calls): (Vec<_>, Vec<_>) = parts.partition(Predicate::is_of_location);
        let read = Filter { regions: Vec::new(), predicate: None, ..self.clone() };
        let shown = Filter { regions: self.regions.clone(), ..Filter::default() };
        let with = |filter: Filter, parts: Vec<Predicate>| parts.into_iter().fold(filter, Filter::and);
        (with(read, of_locations), with(shown, of_calls))
    }

    /// Splits off what call paths alone decide: regions, and a predicate about names, paths and depths. `None` if there is
    /// nothing of the kind. A predicate that asks more (`inclusive > 1ms`) stays with the first filter as a whole, as the
    /// calls that it hides have no path any more.
    ///
    /// ```
    /// use ouzel_model::Filter;
    ///
    /// let filter = |text: &str| Filter::default().and(text.parse().unwrap());
    /// assert!(filter("rank = 3 and (name = solve or depth < 2)").split_paths().is_some());
    /// assert!(filter("rank = 3 or name = solve").split_paths().is_none());
    /// assert!(filter("name = solve and inclusive > 1ms").split_paths().is_none());
    /// ```
    pub fn split_paths(&self) -> Option<(Filter, Filter)> {
        let (read, shown) = self.split_calls();
        let (read, shown) = match shown.predicate.as_ref().is_none_or(Predicate::is_of_path) {
            true => (read, shown),
            false => (Filter { regions: Vec::new(), ..self.clone() }, Filter { predicate: None, ..shown }),
        };
        (!shown.is_everything()).then_some((read, shown))
    }

    /// Selects only what passes `predicate`, too.
    ///
    /// Ranges of time that must hold on their own (`time in 1s..2s and …`) narrow [`Filter::time_ns`]: they are a
    /// window. Ranges of time below `or` and `not` are tests of whole calls.
    #[must_use]
    pub fn and(mut self, predicate: Predicate) -> Self {
        let mut rest = Vec::new();
        for part in self.predicate.take().into_iter().chain([predicate]).flat_map(Predicate::into_conjuncts) {
            match part {
                Predicate::Time { start_ns, end_ns } => {
                    let (start, end) = self.time_ns.unwrap_or((0, u64::MAX));
                    let start = start.max(start_ns);
                    self.time_ns = Some((start, end.min(end_ns).max(start)));
                }
                part => rest.push(part),
            }
        }
        self.predicate = match rest.len() {
            0 => None,
            1 => rest.pop(),
            _ => Some(Predicate::All(rest)),
        };
        self
    }
}
