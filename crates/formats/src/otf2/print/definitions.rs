//! The records of definition and marker files as lines, in the order of the file.
//!
//! Damage in these files was reported when they were first read, to interpret the events; here it only ends the lines.

use super::layout::{PrintLine, PrintPlace, RecordHead, Section, Widths};
use super::names::PrintNames;
use super::{Page, PrintOptions};
use ouzel_otf2::ReadError;
use ouzel_otf2::read::{RawRecord, RecordReader};
use ouzel_otf2::records::{
    Definition, FieldValue, LocalDefinition, MarkerRecord, RefKind, Value, enums::Type,
};
use ouzel_otf2::wire::{Cursor, Fault};
use std::io;

/// The bytes of a file and what its records are.
pub(super) struct DefinitionFile<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    pub chunk_bytes: Option<std::num::NonZeroU64>,
    pub section: Section,
    /// The location, for local definitions.
    pub location: Option<u64>,
    pub widths: Widths,
}

/// A record of any of the files.
enum AnyRecord<'a> {
    Global(Definition<'a>),
    Local(LocalDefinition<'a>),
    Marker(MarkerRecord<'a>),
}

impl<'a> AnyRecord<'a> {
    fn decode(section: Section, id: u8, cursor: &mut Cursor<'a>) -> Result<Option<Self>, Fault> {
        Ok(match section {
            Section::Definitions | Section::Events => Definition::decode(id, cursor)?.map(AnyRecord::Global),
            Section::LocalDefinitions => LocalDefinition::decode(id, cursor)?.map(AnyRecord::Local),
            Section::Markers => MarkerRecord::decode(id, cursor)?.map(AnyRecord::Marker),
        })
    }

    fn name(&self) -> &'static str {
        match self {
            AnyRecord::Global(record) => record.kind().name(),
            AnyRecord::Local(record) => record.name(),
            AnyRecord::Marker(record) => record.kind().name(),
        }
    }

    fn fields(&self, visit: &mut dyn FnMut(&'static str, FieldValue<'a>)) {
        match self {
            AnyRecord::Global(record) => record.fields(visit),
            AnyRecord::Local(record) => record.fields(visit),
            AnyRecord::Marker(record) => record.fields(visit),
        }
    }
}

/// Prints the records of a file; the inner error is what ends the file early.
pub(super) fn print(
    file: &DefinitionFile<'_>,
    options: &PrintOptions,
    names: &mut PrintNames<'_>,
    page: &mut Page<'_>,
) -> io::Result<Result<(), ReadError>> {
    // Local definition files speak of local ids.
    names.ids_are_global(file.section != Section::LocalDefinitions);
    let mut reader = match RecordReader::new(file.bytes, file.name, file.chunk_bytes) {
        Ok(reader) => reader,
        Err(error) => return Ok(Err(error)),
    };
    loop {
        match reader.next_as(|id, cursor| AnyRecord::decode(file.section, id, cursor)) {
            Ok(Some((raw, record))) => put_record(&mut page.lines, file, options, names, (raw, record)),
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        }
        page.flush_if_full()?;
    }
}

fn put_record(
    out: &mut String,
    file: &DefinitionFile<'_>,
    options: &PrintOptions,
    names: &mut PrintNames<'_>,
    (raw, record): (RawRecord<'_>, Option<AnyRecord<'_>>),
) {
    let head = RecordHead {
        section: file.section,
        name: record.as_ref().map(AnyRecord::name),
        id: raw.id,
        location: file.location,
        time: None,
        place: options.offsets.then_some(PrintPlace { offset: raw.offset, number: raw.number }),
    };
    let mut line = PrintLine::begin(out, names, options.layout, &head, file.widths);
    match record {
        None => line.unknown(raw.id, raw.body),
        Some(record) => record.fields(&mut |name, value| match (name, value) {
            ("mapping_type", FieldValue::Unsigned(byte)) => line.field(name, mapping_type(byte)),
            _ => line.field(name, value),
        }),
    }
    line.end();
}

/// The kind of ids that a mapping table is for, by name.
fn mapping_type<'a>(byte: u64) -> FieldValue<'a> {
    let kind = u8::try_from(byte).ok().and_then(RefKind::from_mapping_type);
    match kind {
        Some(RefKind::Location) => FieldValue::Symbol(Type::Location.symbol()),
        Some(kind) => FieldValue::Symbol(Value::Ref(kind, 0).value_type().symbol()),
        None => FieldValue::Unsigned(byte),
    }
}
