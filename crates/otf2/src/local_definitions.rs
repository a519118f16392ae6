//! A location's own definition file: id mapping and clock offsets.

use std::num::NonZeroU64;

use crate::clock::ClockOffsets;
use crate::error::ReadError;
use crate::mapping::MappingTables;
use crate::notice::{Notice, NoticeKind};
use crate::read::RecordReader;
use crate::records::RefKind;
use crate::records::local::{ClockOffset, LocalDefinition, LocalOnly};

/// The local definitions of one location.
///
/// Without a file, or without records in it, ids and times stay as they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LocalDefinitions {
    /// Local to global ids.
    pub mapping: MappingTables,
    /// Local to global times.
    pub clock: ClockOffsets,
    /// The offsets that `clock` is made of, in the order of the file.
    pub clock_offsets: Vec<ClockOffset>,
    /// Records of the file.
    pub n_records: u64,
    /// Records of kinds that global files have, too; the reference tools ignore them as well.
    pub n_shared: u64,
}

impl LocalDefinitions {
    /// Reads a local definition file; a damaged one up to the damage.
    pub fn parse(bytes: &[u8], file: &str, chunk_bytes: Option<NonZeroU64>) -> (Self, Vec<Notice>) {
        let mut local = LocalDefinitions::default();
        let mut notices = Vec::new();
        if let Err(error) = local.read(bytes, file, chunk_bytes, &mut notices) {
            notices.push(Notice::damaged(&error, local.n_records));
        }
        local.clock = ClockOffsets::from_records(&local.clock_offsets);
        if local.clock.n_unusable() > 0 {
            let kind = NoticeKind::UnusableClockOffsets { n: local.clock.n_unusable() };
            notices.push(Notice::new(file, 0, kind));
        }
        (local, notices)
    }

    fn read(
        &mut self,
        bytes: &[u8],
        file: &str,
        chunk_bytes: Option<NonZeroU64>,
        notices: &mut Vec<Notice>,
    ) -> Result<(), ReadError> {
        let mut reader = RecordReader::new(bytes, file, chunk_bytes)?;
        while let Some((raw, record)) = reader.next_as(LocalDefinition::decode)? {
            self.n_records += 1;
            match record {
                Some(LocalDefinition::Local(LocalOnly::MappingTable(table))) => {
                    let mapping_type = table.mapping_type;
                    let doubt = match RefKind::from_mapping_type(mapping_type) {
                        None => Some(NoticeKind::UnknownMappingTable { mapping_type }),
                        Some(kind) if self.mapping.set(kind, table.id_map) => {
                            Some(NoticeKind::SecondMappingTable { kind })
                        }
                        Some(_) => None,
                    };
                    notices.extend(doubt.map(|kind| Notice::new(file, raw.offset, kind)));
                }
                Some(LocalDefinition::Local(LocalOnly::ClockOffset(offset))) => {
                    self.clock_offsets.push(offset);
                }
                Some(LocalDefinition::Shared(_)) => self.n_shared += 1,
                None => {
                    let kind = NoticeKind::UnknownRecords { id: raw.id, n: 1 };
                    notices.push(Notice::new(file, raw.offset, kind));
                }
            }
        }
        Ok(())
    }
}
