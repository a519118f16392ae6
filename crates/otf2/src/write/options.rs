//! What the caller chooses about an archive.

use crate::wire::Endian;

/// Choices that hold for the whole archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Byte order of every file.
    pub endian: Endian,
    /// Bytes of a chunk of events.
    ///
    /// The reference library reads and writes chunks of 256 KiB to 16 MiB, and no others.
    pub event_chunk_bytes: u64,
    /// Bytes of a chunk of definitions, in the same limits.
    pub definition_chunk_bytes: u64,
    /// The machine that the trace was recorded on.
    pub machine: String,
    /// What wrote the archive.
    pub creator: String,
    /// A remark on the run.
    pub description: String,
    /// Names and values, for instance `OTF2::MPI_COMMUNICATION_COMPLETE` and `true`.
    pub properties: Vec<(String, String)>,
    /// A number that distinguishes this archive from others.
    pub trace_id: u64,
}

impl WriteOptions {
    /// Fewest bytes of a chunk: room for its header, a time, and an event with some fields.
    pub const MIN_CHUNK_BYTES: u64 = 128;
}

impl Default for WriteOptions {
    /// Little-endian, with event chunks of 1 MiB and definition chunks of 4 MiB as Score-P writes them.
    fn default() -> Self {
        WriteOptions {
            endian: Endian::Little,
            event_chunk_bytes: 1 << 20,
            definition_chunk_bytes: 4 << 20,
            machine: String::new(),
            creator: concat!("ouzel ", env!("CARGO_PKG_VERSION")).to_owned(),
            description: String::new(),
            properties: Vec::new(),
            trace_id: 0,
        }
    }
}
