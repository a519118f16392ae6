//! The records of local definition files (`NAME/LOCATION.def`).

use super::definition::Definition;
use super::field::{FieldValue, RefKind};
use super::list::IdMap;
use super::table::*;
use crate::mapping::MappingTables;
use crate::wire::{Cursor, EncodeError, Fault, RecordBuffer};

record_table! {
    /// A record that only local definition files have.
    table LocalOnly<'a>, kinds LocalOnlyKind;

    /// The global ids of one kind of local ids.
    5 sized MappingTable<'a> {
        /// The kind of reference; see [`RefKind::from_mapping_type`].
        mapping_type: u8 as int,
        /// The global ids.
        id_map: IdMap<'a> as int,
    }

    /// How far the location's clock was off at one time.
    6 sized ClockOffset {
        /// Ticks.
        time: u64 as full,
        /// Ticks to add at that time.
        offset: i64 as int,
        /// Deviation of the measured offset, in ticks.
        standard_deviation: f64 as int,
    }
}

/// A record of a local definition file: one of its own, or one as in the global file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LocalDefinition<'a> {
    /// A record that only local files have.
    Local(LocalOnly<'a>),
    /// A record that global files have, too.
    Shared(Definition<'a>),
}

impl<'a> LocalDefinition<'a> {
    /// Reads the fields of the record with this id; `None` if local files know no such id.
    ///
    /// # Errors
    /// What the bytes break; the cursor stays at the field that is wrong.
    pub fn decode(id: u8, cursor: &mut Cursor<'a>) -> Result<Option<Self>, Fault> {
        // Ids 5 and 6 mean other records in the global file.
        if let Some(own) = LocalOnly::decode(id, cursor)? {
            return Ok(Some(LocalDefinition::Local(own)));
        }
        Ok(Definition::decode(id, cursor)?.map(LocalDefinition::Shared))
    }

    /// Writes the record.
    ///
    /// # Errors
    /// As [`Definition::encode`].
    pub fn encode(&self, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
        match self {
            LocalDefinition::Local(own) => own.encode(buffer),
            LocalDefinition::Shared(shared) => shared.encode(buffer),
        }
    }

    /// The id in the file.
    pub const fn id(&self) -> u8 {
        match self {
            LocalDefinition::Local(own) => own.kind().id(),
            LocalDefinition::Shared(shared) => shared.kind().id(),
        }
    }

    /// The record's name in the format's tables.
    pub const fn name(&self) -> &'static str {
        match self {
            LocalDefinition::Local(own) => own.kind().name(),
            LocalDefinition::Shared(shared) => shared.kind().name(),
        }
    }

    /// Shows the fields in wire order, each with its name.
    pub fn fields(&self, visit: &mut dyn FnMut(&'static str, FieldValue<'a>)) {
        match self {
            LocalDefinition::Local(own) => own.fields(visit),
            LocalDefinition::Shared(shared) => shared.fields(visit),
        }
    }
}
