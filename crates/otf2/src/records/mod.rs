//! Every record of the format as a type, and its bytes.
//!
//! A table of the format is one enum ([`Event`], [`Definition`],
//! [`LocalOnly`], [`SnapshotRecord`], [`MarkerRecord`]) with one struct for
//! each record, all made by one macro from the wire table itself. Each enum can
//! `decode`, `encode`, show its `fields`, give its `kind` and `key`, and make
//! references global with `map_refs`.
//! Law: what `encode` writes, `decode` reads back equal, in either byte order.
//! How records follow each other in a file: see [`crate::read`].
//!
//! ```
//! use ouzel_otf2::records::{Event, event::MpiSend};
//! use ouzel_otf2::wire::{Cursor, Endian, RecordBuffer};
//!
//! let send = MpiSend { receiver: 3, communicator: 0, msg_tag: 17, msg_length: 4096 };
//! let mut buffer = RecordBuffer::new(Endian::Little);
//! Event::from(send).encode(&mut buffer)?;
//!
//! let [id, _length, body @ ..] = buffer.bytes() else { unreachable!("a record has an id and a length") };
//! let event = Event::decode(*id, &mut Cursor::new(body, Endian::Little))?;
//! assert_eq!(event, Some(Event::MpiSend(send)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod definition;
pub mod enums;
pub mod event;
mod field;
mod list;
pub mod local;
pub mod marker;
pub mod snapshot;
mod table;

pub use definition::{Definition, DefinitionKind};
pub use event::{Event, EventKind};
pub use field::{
    EventAttribute, Field, FieldValue, IoParadigmProperty, MetricValue, RefId, RefKind, Text, Value,
};
pub use list::{IdMap, Item, List, ListIter};
pub use local::{LocalDefinition, LocalOnly, LocalOnlyKind};
pub use marker::{MarkerKind, MarkerRecord};
pub use snapshot::{SnapshotKind, SnapshotRecord};

use crate::wire::{EncodeError, RecordBuffer};

/// The attributes of one event.
pub type AttributeList<'a> = List<'a, EventAttribute>;

/// Ids that structure a file instead of describing the program.
pub mod special {
    /// Fills the rest of a chunk that is not the last.
    pub const END_OF_CHUNK: u8 = 0;
    /// The very last byte of a file.
    pub const END_OF_BUFFER: u8 = 1;
    /// Ends the records of a file.
    pub const END_OF_FILE: u8 = 2;
    /// First byte of a chunk.
    pub const CHUNK_HEADER: u8 = 3;
    /// Sets the time of the events that follow; event and snapshot files only.
    pub const TIMESTAMP: u8 = 5;
    /// Attributes of the next event; event and snapshot files only.
    pub const ATTRIBUTE_LIST: u8 = 6;
    /// First id of events.
    pub const FIRST_EVENT: u8 = 10;
    /// Bytes of a chunk's header: id, byte order, first and last event number.
    pub const CHUNK_HEADER_BYTES: usize = 18;
}

/// Writes the record that sets the time, in ticks, of the events after it.
#[inline]
pub fn encode_timestamp(ticks: u64, buffer: &mut RecordBuffer) {
    buffer.put_u8(special::TIMESTAMP);
    buffer.put_u64_full(ticks);
}

/// Writes the record that gives attributes to the event after it.
///
/// # Errors
/// [`EncodeError`] for more attributes than the format can count; the buffer is then as before.
pub fn encode_attributes(list: &AttributeList<'_>, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
    let before = buffer.len();
    let open = buffer.begin_record(special::ATTRIBUTE_LIST);
    let outcome = list::put_list32(list, buffer);
    buffer.end_record(open);
    if outcome.is_err() {
        buffer.truncate(before);
    }
    outcome
}

#[cfg(test)]
pub(crate) mod tests;
