//! Records by hand, byte for byte.

use super::definition::{Group, Region};
use super::enums::{GroupType, Paradigm, RegionRole, Type};
use super::event::{Enter, Metric, MpiCollectiveBegin};
use super::*;
use crate::MappingTables;
use crate::wire::{Cursor, Endian};

fn encoded(event: Event<'_>) -> Vec<u8> {
    let mut buffer = RecordBuffer::new(Endian::Little);
    event.encode(&mut buffer).expect("the event has no text and no long list");
    buffer.bytes().to_vec()
}

#[test]
fn records_with_and_without_a_length() {
    assert_eq!(encoded(Enter { region: 0x102 }.into()), [12, 2, 2, 1]);
    assert_eq!(encoded(MpiCollectiveBegin {}.into()), [22, 0]);
    let values = [MetricValue { value_type: Type::Uint64, bits: 0x1ff }];
    let metric = Metric { metric: 0, values: List::new(&values) };
    assert_eq!(encoded(metric.into()), [31, 6, 0, 1, 4, 2, 0xff, 1]);
}

#[test]
fn a_long_record_has_a_long_length() {
    let members: Vec<u64> = (0..300).collect();
    let group = Definition::from(Group {
        id: 1,
        name: 2,
        group_type_pre12: 4,
        members: List::new(&members),
        group_type: GroupType::CommGroup,
        paradigm: Paradigm::Mpi,
        group_flags: 0,
    });
    let mut buffer = RecordBuffer::new(Endian::Big);
    group.encode(&mut buffer).expect("300 members are fine");
    assert_eq!(buffer.bytes()[..2], [18, 0xff]);
    let mut cursor = Cursor::new(&buffer.bytes()[2..], Endian::Big);
    assert_eq!(cursor.u64_full(), Ok(buffer.len() as u64 - 10));
    assert_eq!(Definition::decode(18, &mut cursor), Ok(Some(group)));
    assert!(cursor.is_at_end());
    assert_eq!(group.key(), Some((RefKind::Group, 1)));
}

#[test]
fn a_region_of_an_old_version_lacks_the_new_fields() {
    let bytes = [1, 7, 1, 3, 0xff, 4, 0xff, 0, 0];
    let region = Definition::decode(15, &mut Cursor::new(&bytes, Endian::Little));
    let expected = Region {
        id: 7,
        name: 3,
        description: u32::MAX,
        region_type: 4,
        source_file: u32::MAX,
        begin_line_number: 0,
        end_line_number: 0,
        canonical_name: u32::MAX,
        region_role: RegionRole::Unknown,
        paradigm: Paradigm::Unknown,
        region_flags: 0,
    };
    assert_eq!(region, Ok(Some(expected.into())));
}

#[test]
fn references_become_global() {
    let mut tables = MappingTables::new();
    tables.set(RefKind::Region, IdMap::Dense(List::new(&[5, 6])));
    tables.set(RefKind::String, IdMap::Sparse(List::new(&[(1, 9)])));
    let mut enter = Event::from(Enter { region: 1 });
    enter.map_refs(&tables);
    assert_eq!(enter, Enter { region: 6 }.into());

    let attributes = [EventAttribute { attribute: 3, value: Value::string(1) }];
    let mut list = AttributeList::new(&attributes);
    list.map_refs(None, &tables);
    let mapped: Vec<_> = list.iter().collect();
    assert_eq!(mapped, [EventAttribute { attribute: 3, value: Value::string(9) }]);
}

#[test]
fn a_count_that_lies_is_an_error() {
    let bytes = [1, 0, 0xfe, 1, 2];
    let mut cursor = Cursor::new(&bytes, Endian::Little);
    assert!(Event::decode(EventKind::Metric.id(), &mut cursor).is_err());
    let all_ones = [1, 0, 0xff];
    let mut cursor = Cursor::new(&all_ones, Endian::Little);
    assert!(Event::decode(EventKind::ProgramBegin.id(), &mut cursor).is_err());
}

#[test]
fn enumerations_keep_bytes_without_a_name() {
    assert_eq!(Paradigm::from_u8(4), Paradigm::Mpi);
    assert_eq!(Paradigm::from_u8(200).to_u8(), 200);
    assert_eq!(RegionRole::PointToPoint.to_string(), "POINT2POINT");
}
