//! What a format offers: locations that can be opened and read, chunk by chunk.

use crate::{ChunkBuffer, Content, Definitions, LocationId, Marker, Needs, Notice, ReadError, TimeRange};

/// An opened trace of some format.
pub trait TraceSource: Send + Sync {
    /// What is known once. Stays the same while the source lives.
    fn definitions(&self) -> &Definitions;

    /// Problems found while opening.
    fn notices(&self) -> &[Notice];

    /// Bytes the events of `location` take on disk: a measure of the work, for order and progress.
    fn location_bytes(&self, location: LocationId) -> u64;

    /// Whether the only events of `location` are samples of its call path. The engine then makes calls of them for
    /// the analyses that do not ask for [`Needs::SAMPLES`]: a frame runs from the first sample that shows it to the
    /// first that does not.
    fn is_sampled(&self, location: LocationId) -> bool {
        let _ = location;
        false
    }

    /// Whether samples of `location` show the calls that are not recorded, beside those that are. The engine then makes
    /// one nesting of both, for all analyses: recorded calls are inside of the frames that the last sample shows.
    fn completes_calls(&self, location: LocationId) -> bool {
        let _ = location;
        false
    }

    /// Remarks that tools wrote beside the events, by time.
    fn markers(&self) -> &[Marker] {
        &[]
    }

    /// Why the trace holds nothing of this kind, as part of a sentence ("HPCToolkit records no messages"); `None` if
    /// it may.
    fn lacks(&self, content: Content) -> Option<String> {
        let _ = content;
        None
    }

    /// Begins to read one location.
    ///
    /// # Errors
    /// If its events cannot be found or their beginning cannot be read.
    fn open(&self, location: LocationId, plan: &ReadPlan) -> Result<Box<dyn ChunkReader + '_>, ReadError>;
}

/// Reads the events of one location in order.
pub trait ChunkReader {
    /// Replaces the contents of `buffer` by the next chunk; `false` if there is none.
    /// Fills the base columns, the side tables that are needed, `n_records` and `span`.
    ///
    /// # Errors
    /// If the rest cannot be read. What `buffer` holds then is valid and comes before the damage.
    fn read(&mut self, buffer: &mut ChunkBuffer) -> Result<bool, ReadError>;

    /// What was repaired or left out so far; called once, at the end.
    fn notices(&mut self) -> Vec<Notice>;
}

/// A request to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadPlan {
    /// The side tables to fill.
    pub needs: Needs,
    /// The user's time range; `None` is all. A reader may leave out what lies outside of it; the engine cuts the rest
    /// away. Calls that reach over a border must still be read with both ends, or with an end clipped to the border. Of
    /// samples, the last before the start must be read: its path holds there.
    pub time_range: Option<TimeRange>,
}

impl ReadPlan {
    /// Everything, with these side tables.
    pub fn all(needs: Needs) -> Self {
        ReadPlan { needs, time_range: None }
    }
}
