//! The definition file of one location: mapping tables, clock offsets, and definitions of its own.

use super::chunk_file::ChunkFile;
use super::error::{WriteError, WriteErrorKind};
use super::ledger::Ledger;
use crate::records::local::{ClockOffset, MappingTable};
use crate::records::{IdMap, LocalDefinition, LocalOnly, RefKind};

/// Writes the local definitions of one location; from
/// [`ArchiveWriter::local_definitions`](super::ArchiveWriter::local_definitions).
///
/// Must be finished, or the archive's `finish` reports it.
#[derive(Debug)]
#[must_use = "a writer of local definitions must be finished"]
pub struct LocalDefinitionWriter {
    file: ChunkFile,
    location: u64,
    n_clock_offsets: u64,
    /// Ticks of the clock offset before.
    clock_offset_time: Option<u64>,
    ledger: Ledger,
}

impl LocalDefinitionWriter {
    pub(super) fn new(file: ChunkFile, location: u64, ledger: Ledger) -> Self {
        LocalDefinitionWriter { file, location, n_clock_offsets: 0, clock_offset_time: None, ledger }
    }

    /// Sets the global ids of the ids that this location's events use.
    ///
    /// Ids outside of the table are global already.
    ///
    /// # Errors
    /// [`WriteErrorKind::NotMappable`] for kinds that never occur in events.
    pub fn map(&mut self, kind: RefKind, id_map: IdMap<'_>) -> Result<(), WriteError> {
        let Some(mapping_type) = kind.mapping_type() else {
            return Err(self.file.error(WriteErrorKind::NotMappable { kind: format!("{kind:?}") }));
        };
        self.define(LocalDefinition::Local(LocalOnly::from(MappingTable { mapping_type, id_map })))
    }

    /// Sets the ticks to be added to times of this location at one `time` of its clock.
    ///
    /// Between two of them readers interpolate, beyond the ends they extrapolate;
    /// one alone corrects nothing.
    ///
    /// # Errors
    /// [`WriteErrorKind::ClockOffsetOrder`] if `time` is not after that of the one before.
    pub fn clock_offset(&mut self, offset: ClockOffset) -> Result<(), WriteError> {
        let now = offset.time;
        if let Some(before) = self.clock_offset_time.filter(|&before| now <= before) {
            return Err(self.file.error(WriteErrorKind::ClockOffsetOrder { before, now }));
        }
        self.define(LocalDefinition::Local(offset.into()))?;
        self.clock_offset_time = Some(now);
        self.n_clock_offsets += 1;
        Ok(())
    }

    /// Writes any other record of a local definition file.
    ///
    /// # Errors
    /// [`WriteErrorKind::Encode`] for what the format cannot say,
    /// [`WriteErrorKind::RecordTooLarge`] for a record that does not fit into a chunk,
    /// [`WriteErrorKind::Io`] if a full chunk cannot be written.
    pub fn define(&mut self, definition: LocalDefinition<'_>) -> Result<(), WriteError> {
        self.file.append(0, |buffer, _| definition.encode(buffer))
    }

    /// Writes the last chunk and the end of the file.
    ///
    /// # Errors
    /// [`WriteErrorKind::Io`] if the file cannot be written.
    pub fn finish(mut self) -> Result<(), WriteError> {
        self.file.finish()?;
        self.ledger.pages().local_definitions.insert(self.location, Some(self.n_clock_offsets));
        Ok(())
    }
}
