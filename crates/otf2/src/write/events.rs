//! The event file of one location.
//!
//! Law: times never decrease. A time is written when it differs from that of
//! the event before, and at the start of each chunk, so that chunks can be
//! decoded on their own.

use super::chunk_file::{ChunkFile, ChunkPlace};
use super::error::{WriteError, WriteErrorKind};
use super::ledger::{EventSummary, Ledger};
use crate::records::{AttributeList, Event, encode_attributes, encode_timestamp};

/// Writes the events of one location; from [`ArchiveWriter::events`](super::ArchiveWriter::events).
///
/// Must be finished, or the archive's `finish` reports it.
#[derive(Debug)]
#[must_use = "an event writer must be finished"]
pub struct EventWriter {
    file: ChunkFile,
    location: u64,
    first_time: u64,
    /// Ticks of the event before.
    time: u64,
    ledger: Ledger,
}

impl EventWriter {
    pub(super) fn new(file: ChunkFile, location: u64, ledger: Ledger) -> Self {
        EventWriter { file, location, first_time: 0, time: 0, ledger }
    }

    /// The location that the events belong to.
    pub fn location(&self) -> u64 {
        self.location
    }

    /// Events written so far.
    pub fn n_events(&self) -> u64 {
        self.file.n_counted()
    }

    /// Writes an event at a time in ticks of the location's clock, with the location's own references.
    ///
    /// # Errors
    /// [`WriteErrorKind::TimeGoesBack`] for a time before the last one,
    /// [`WriteErrorKind::RecordTooLarge`] for an event that does not fit into a chunk,
    /// [`WriteErrorKind::Io`] if a full chunk cannot be written.
    #[inline]
    pub fn write<'e>(&mut self, time: u64, event: impl Into<Event<'e>>) -> Result<(), WriteError> {
        let event = event.into();
        let same_time = self.admit(time)?;
        self.file.append(1, |buffer, place| {
            if !same_time || place == ChunkPlace::ChunkStart {
                encode_timestamp(time, buffer);
            }
            event.encode(buffer)
        })?;
        self.time = time;
        Ok(())
    }

    /// Writes an event and its attributes.
    ///
    /// # Errors
    /// As [`EventWriter::write`].
    pub fn write_with<'e>(
        &mut self,
        time: u64,
        attributes: &AttributeList<'_>,
        event: impl Into<Event<'e>>,
    ) -> Result<(), WriteError> {
        if attributes.is_empty() {
            return self.write(time, event);
        }
        let event = event.into();
        let same_time = self.admit(time)?;
        self.file.append(1, |buffer, place| {
            if !same_time || place == ChunkPlace::ChunkStart {
                encode_timestamp(time, buffer);
            }
            encode_attributes(attributes, buffer)?;
            event.encode(buffer)
        })?;
        self.time = time;
        Ok(())
    }

    /// Whether the time is that of the event before.
    #[inline]
    fn admit(&mut self, time: u64) -> Result<bool, WriteError> {
        if time < self.time {
            return Err(self.file.error(WriteErrorKind::TimeGoesBack { before: self.time, now: time }));
        }
        if self.n_events() == 0 {
            self.first_time = time;
        }
        Ok(time == self.time)
    }

    /// Writes the last chunk and the end of the file.
    ///
    /// # Errors
    /// [`WriteErrorKind::Io`] if the file cannot be written.
    pub fn finish(mut self) -> Result<EventSummary, WriteError> {
        self.file.finish()?;
        let n_events = self.n_events();
        let span = (n_events > 0).then_some((self.first_time, self.time));
        let summary = EventSummary { location: self.location, n_events, span };
        self.ledger.pages().events.insert(self.location, Some(summary));
        Ok(summary)
    }
}
