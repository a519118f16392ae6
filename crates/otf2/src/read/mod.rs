//! Records one after the other: the readers of event, definition and marker files.
//!
//! A file is a row of chunks, each with a header of 18 bytes at a multiple of
//! the chunk size; records never cross a chunk's end. [`EventReader`] moves a
//! window over an event file and pushes events to an [`EventSink`] or gives them
//! out one by one; [`RecordReader`] walks over a definition or marker file that
//! is in memory.
//! Law: whatever the bytes are, a reader delivers the valid prefix, then one
//! [`ReadError`](crate::ReadError) that names the offset, then nothing.
//! Which files there are: see [`crate::Archive`]. Readers apply neither clocks nor mappings.

mod chunks;
mod events;
mod record;
mod run;
mod sink;
mod source;
mod window;

pub(crate) use chunks::parse_chunk_header;
pub use chunks::{Chunk, list_chunks};
pub use events::EventReader;
pub use record::{RawRecord, RecordCounts, RecordReader};
pub use sink::{EventCounts, EventKinds, EventSink};
pub use source::{EventRecord, EventSource};
pub use window::{ByteSource, InMemory, WINDOW_BYTES};
