//! The global definitions of an archive, by kind and id.
//!
//! The bytes of the file are kept; a table holds for each id where its records
//! lie, and a lookup decodes the record again, so nothing is copied and names
//! are borrowed. Law: ids may repeat; [`Definitions::get`] gives the last record
//! that is usable, [`Definitions::all`] gives every one.
//! Local definitions: see [`crate::LocalDefinitions`].

use std::num::NonZeroU64;

use crate::error::ReadError;
use crate::notice::{Notice, NoticeKind};
use crate::read::RecordReader;
use crate::records::definition::{
    CallingContext, ClockProperties, Comm, Group, InterComm, Location, LocationGroup, MetricClass,
    MetricInstance, MetricMember, Parameter, Region, String as StringRecord, SystemTreeNode,
};
use crate::records::enums::{GroupType, LocationType};
use crate::records::{Definition, DefinitionKind, FieldValue, RefKind, Text};
use crate::wire::{Cursor, Endian, RecordBuffer, UNDEFINED_U32, UNDEFINED_U64};

/// The global definitions of an archive.
#[derive(Debug, Clone)]
pub struct Definitions {
    bytes: Vec<u8>,
    /// In the order of the file.
    places: Vec<FieldPlace>,
    /// One per [`RefKind`], sorted by id, equal ids in the order of the file.
    tables: Vec<Vec<DefinitionEntry>>,
    n_made_up: usize,
}

/// Where the fields of a record lie.
#[derive(Debug, Clone, Copy)]
struct FieldPlace {
    id: u8,
    /// Each chunk of a file has its own byte order.
    endian: Endian,
    start: usize,
    end: usize,
}

#[derive(Debug, Clone, Copy)]
struct DefinitionEntry {
    id: u64,
    /// Index in `places`.
    at: usize,
}

impl Definitions {
    /// No definition at all.
    pub fn empty() -> Self {
        Definitions {
            bytes: Vec::new(),
            places: Vec::new(),
            tables: vec![Vec::new(); RefKind::ALL.len()],
            n_made_up: 0,
        }
    }

    /// Reads a global definition file; a damaged one up to the damage.
    ///
    /// Notices report what was lost or is doubtful; `file` names the file in them.
    pub fn parse(bytes: Vec<u8>, file: &str, chunk_bytes: Option<NonZeroU64>) -> (Self, Vec<Notice>) {
        let mut notices = Vec::new();
        let mut definitions = Definitions::empty();
        if let Err(error) = definitions.index(&bytes, file, chunk_bytes, &mut notices) {
            notices.push(Notice::damaged(&error, definitions.places.len() as u64));
        }
        definitions.bytes = bytes;
        for table in &mut definitions.tables {
            table.sort_by_key(|entry| entry.id);
        }
        definitions.check_duplicates(file, &mut notices);
        definitions.check_references(file, &mut notices);
        (definitions, notices)
    }

    fn index(
        &mut self,
        bytes: &[u8],
        file: &str,
        chunk_bytes: Option<NonZeroU64>,
        notices: &mut Vec<Notice>,
    ) -> Result<(), ReadError> {
        let mut reader = RecordReader::new(bytes, file, chunk_bytes)?;
        let outcome = loop {
            match reader.next_as(Definition::decode) {
                Ok(Some((raw, Some(definition)))) => {
                    let start = to_index(raw.body_offset);
                    let place =
                        FieldPlace { id: raw.id, endian: raw.endian, start, end: start + raw.body.len() };
                    self.push(place, definition.key());
                }
                Ok(Some((_, None))) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        let counts = reader.counts();
        for (&id, &n) in &counts.unknown {
            notices.push(Notice::new(file, 0, NoticeKind::UnknownRecords { id, n }));
        }
        if counts.longer_records > 0 {
            let kind = NoticeKind::LongerRecords { n: counts.longer_records, n_bytes: counts.trailing_bytes };
            notices.push(Notice::new(file, 0, kind));
        }
        outcome
    }

    fn push(&mut self, place: FieldPlace, key: Option<(RefKind, u64)>) {
        if let Some((kind, id)) = key {
            self.tables[kind as usize].push(DefinitionEntry { id, at: self.places.len() });
        }
        self.places.push(place);
    }

    fn check_duplicates(&self, file: &str, notices: &mut Vec<Notice>) {
        for (kind, table) in RefKind::ALL.into_iter().zip(&self.tables) {
            let mut n = 0;
            let mut n_different = 0;
            let mut first = None;
            for pair in table.windows(2) {
                if pair[0].id == pair[1].id {
                    n += 1;
                    let [before, after] = [pair[0], pair[1]].map(|entry| self.places[entry.at]);
                    let same = before.id == after.id && self.body(before) == self.body(after);
                    n_different += u64::from(!same);
                    first.get_or_insert((pair[1].id, after.start as u64));
                }
            }
            if let Some((first, offset)) = first {
                notices.push(Notice::new(
                    file,
                    offset,
                    NoticeKind::Duplicates { kind, n, n_different, first },
                ));
            }
        }
    }

    fn check_references(&self, file: &str, notices: &mut Vec<Notice>) {
        #[derive(Clone, Default)]
        struct Doubt {
            n: u64,
            first: u64,
            offset: u64,
        }
        impl Doubt {
            fn note(&mut self, id: u64, offset: usize) {
                if self.n == 0 {
                    (self.first, self.offset) = (id, offset as u64);
                }
                self.n += 1;
            }
        }
        let mut late = vec![Doubt::default(); RefKind::ALL.len()];
        let mut dangling = late.clone();
        for (at, place) in self.places.iter().enumerate() {
            let Some(definition) = self.decode(*place) else { continue };
            let mut check = |kind: RefKind, id: u64| {
                if id == UNDEFINED_U64 || (kind == RefKind::IoParadigm && id == 0xff) {
                    return;
                }
                match self.entries(kind, id).first() {
                    Some(entry) if entry.at > at => late[kind as usize].note(id, place.start),
                    Some(_) => {}
                    None => dangling[kind as usize].note(id, place.start),
                }
            };
            definition.fields(&mut |_, value| match value {
                FieldValue::Ref(kind, id) => check(kind, id),
                FieldValue::Refs(kind, ids) => ids.iter().for_each(|id| check(kind, u64::from(id))),
                _ => {}
            });
        }
        for kind in RefKind::ALL {
            let Doubt { n, first, offset } = late[kind as usize];
            if n > 0 {
                notices.push(Notice::new(file, offset, NoticeKind::Late { kind, n, first }));
            }
            let Doubt { n, first, offset } = dangling[kind as usize];
            if n > 0 {
                notices.push(Notice::new(file, offset, NoticeKind::Dangling { kind, n, first }));
            }
        }
    }

    /// Makes up definitions of locations that have files and no definition; gives back how many.
    pub(crate) fn add_undefined_locations(&mut self, on_disk: &[u64]) -> Vec<u64> {
        let missing: Vec<u64> =
            on_disk.iter().copied().filter(|&id| self.entries(RefKind::Location, id).is_empty()).collect();
        for &id in &missing {
            let location = Location {
                id,
                name: UNDEFINED_U32,
                location_type: LocationType::Unknown,
                number_of_events: 0,
                location_group: UNDEFINED_U32,
            };
            let endian = Endian::Little;
            let mut buffer = RecordBuffer::new(endian);
            Definition::from(location).encode(&mut buffer).expect("a location holds no text and no list");
            let start = self.bytes.len() + 2;
            self.bytes.extend_from_slice(buffer.bytes());
            let place =
                FieldPlace { id: DefinitionKind::Location.id(), endian, start, end: self.bytes.len() };
            self.push(place, Some((RefKind::Location, id)));
        }
        self.n_made_up += missing.len();
        self.tables[RefKind::Location as usize].sort_by_key(|entry| entry.id);
        missing
    }

    /// Whether a location has no definition in the file but files of its own.
    pub fn is_made_up(&self, location: u64) -> bool {
        let n_read = self.len();
        self.entries(RefKind::Location, location).first().is_some_and(|entry| entry.at >= n_read)
    }

    fn body(&self, place: FieldPlace) -> &[u8] {
        &self.bytes[place.start..place.end]
    }

    fn decode(&self, place: FieldPlace) -> Option<Definition<'_>> {
        let mut cursor = Cursor::within(&self.bytes, place.start, place.end, place.endian);
        // It was decoded once when it was indexed, so this does not fail.
        Definition::decode(place.id, &mut cursor).ok()?
    }

    fn entries(&self, kind: RefKind, id: u64) -> &[DefinitionEntry] {
        let table = &self.tables[kind as usize];
        // Most tables count from 0, without gaps and twins.
        let start = match usize::try_from(id).ok().and_then(|at| Some((at, table.get(..=at)?))) {
            Some((at, [.., before, found])) if before.id < id && found.id == id => at,
            _ => table.partition_point(|entry| entry.id < id),
        };
        let n = table[start..].partition_point(|entry| entry.id == id);
        &table[start..start + n]
    }

    /// Number of known records in the file.
    pub fn len(&self) -> usize {
        self.places.len() - self.n_made_up
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every known record in the order of the file; made-up ones come last.
    pub fn records(&self) -> impl Iterator<Item = Definition<'_>> {
        self.places.iter().filter_map(|&place| self.decode(place))
    }

    /// The records of one kind, in the order of the file, duplicates included.
    pub fn of_kind(&self, kind: DefinitionKind) -> impl Iterator<Item = Definition<'_>> {
        self.places.iter().filter(move |place| place.id == kind.id()).filter_map(|&place| self.decode(place))
    }

    /// Every record of an id, in the order of the file.
    pub fn all(&self, kind: RefKind, id: u64) -> impl Iterator<Item = Definition<'_>> {
        self.entries(kind, id).iter().filter_map(|entry| self.decode(self.places[entry.at]))
    }

    /// The record of an id; the last one, if there are several.
    ///
    /// Of groups the last that is not a list of a paradigm's locations, if there
    /// is one: some tracers give the list and the group of all ranks the same id.
    pub fn get(&self, kind: RefKind, id: u64) -> Option<Definition<'_>> {
        let entries = self.entries(kind, id);
        let last = entries.last()?;
        if kind == RefKind::Group && entries.len() > 1 {
            let groups = entries.iter().rev().filter_map(|entry| self.decode(self.places[entry.at]));
            let serves = |record: &Definition<'_>| matches!(record, Definition::Group(group) if group.group_type != GroupType::CommLocations);
            if let Some(group) = { groups }.find(serves) {
                return Some(group);
            }
        }
        self.decode(self.places[last.at])
    }

    /// The text of a string; `None` for the undefined id and for ids without a definition.
    pub fn string(&self, id: u32) -> Option<Text<'_>> {
        match self.get(RefKind::String, u64::from(id))? {
            Definition::String(StringRecord { string, .. }) if id != UNDEFINED_U32 => Some(string),
            _ => None,
        }
    }

    /// The clock of the trace: the last that the file sets.
    pub fn clock(&self) -> Option<ClockProperties> {
        self.of_kind(DefinitionKind::ClockProperties).fold(None, |found, record| match record {
            Definition::ClockProperties(clock) => Some(clock),
            _ => found,
        })
    }
}

macro_rules! lookups {
    ($( $one:ident($id:ty), $many:ident, $Record:ident in $Table:ident, $what:literal; )*) => {
        impl Definitions {
            $(
                #[doc = concat!("The ", $what, " of an id; see [`Definitions::get`].")]
                pub fn $one(&self, id: $id) -> Option<$Record> {
                    match self.get(RefKind::$Table, u64::from(id))? {
                        Definition::$Record(record) => Some(record),
                        _ => None,
                    }
                }

                #[doc = concat!("Each ", $what, ", by id; of several records with one id the one that [`Definitions::get`] gives.")]
                pub fn $many(&self) -> impl Iterator<Item = $Record> {
                    let table = &self.tables[RefKind::$Table as usize];
                    table.chunk_by(|a, b| a.id == b.id).filter_map(|run| {
                        match self.get(RefKind::$Table, run.first()?.id)? {
                            Definition::$Record(record) => Some(record),
                            _ => None,
                        }
                    })
                }
            )*
        }
    };
}

lookups! {
    location(u64), locations, Location in Location, "location";
    location_group(u32), location_groups, LocationGroup in LocationGroup, "location group";
    system_tree_node(u32), system_tree_nodes, SystemTreeNode in SystemTreeNode, "node of the system tree";
    region(u32), regions, Region in Region, "region";
    comm(u32), comms, Comm in Comm, "communicator";
    inter_comm(u32), inter_comms, InterComm in Comm, "inter-communicator";
    metric_member(u32), metric_members, MetricMember in MetricMember, "metric member";
    metric_instance(u32), metric_instances, MetricInstance in Metric, "metric instance";
    parameter(u32), parameters, Parameter in Parameter, "parameter";
    calling_context(u32), calling_contexts, CallingContext in CallingContext, "calling context";
}

impl Definitions {
    /// The group of an id; see [`Definitions::get`].
    pub fn group(&self, id: u32) -> Option<Group<'_>> {
        match self.get(RefKind::Group, u64::from(id))? {
            Definition::Group(group) => Some(group),
            _ => None,
        }
    }

    /// Every group in the order of the file, those with an id in common included.
    pub fn groups(&self) -> impl Iterator<Item = Group<'_>> {
        self.of_kind(DefinitionKind::Group).filter_map(|record| match record {
            Definition::Group(group) => Some(group),
            _ => None,
        })
    }

    /// The metric class of an id; a metric instance's class has an id of its own.
    pub fn metric_class(&self, id: u32) -> Option<MetricClass<'_>> {
        match self.get(RefKind::Metric, u64::from(id))? {
            Definition::MetricClass(class) => Some(class),
            _ => None,
        }
    }
}

fn to_index(offset: u64) -> usize {
    // Offsets of a file that is in memory.
    usize::try_from(offset).unwrap_or(usize::MAX)
}
