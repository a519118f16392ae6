//! What takes events in order and keeps nothing: lists, tables, files in other formats. The twin of a source.

use crate::{Definitions, EventChunk, LocationId, Needs, TimeRange};

/// Takes the events of a selection: location by location, each from its first event to its last, in chunks whose borders
/// have no meaning, with enters and leaves nested.
///
/// Unlike an analysis it has no state that merges or travels, so it cannot be spread over threads or processes: whoever
/// wants several threads uses one sink on each.
pub trait EventSink: Send + 'static {
    /// Why it takes no more.
    type Error: Send;

    /// The side tables to be filled.
    fn needs(&self) -> Needs;
    /// Before the first chunk of a location.
    ///
    /// # Errors
    /// If it takes no more: nothing follows.
    fn begin(&mut self, location: LocationId, definitions: &Definitions) -> Result<(), Self::Error>;
    /// One chunk of the location.
    ///
    /// # Errors
    /// If it takes no more: nothing follows.
    fn take(&mut self, chunk: &EventChunk<'_>) -> Result<(), Self::Error>;
    /// After the last chunk of the location, which has closed every open call.
    ///
    /// # Errors
    /// If it takes no more: nothing follows.
    fn end(&mut self) -> Result<(), Self::Error>;
    /// The side tables of [`survey`](EventSink::survey), if it must be called.
    fn survey_needs(&self) -> Option<Needs> {
        None
    }
    /// All events of a selected location, those outside of the time range, too: each chunk comes before what is selected
    /// of it.
    fn survey(&mut self, location: LocationId, chunk: &EventChunk<'_>, window: Option<TimeRange>) {
        let _ = (location, chunk, window);
    }
}
