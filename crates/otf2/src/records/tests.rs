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

/// A source of random fields: a multiplicative generator, so a seed says everything.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Of any width, so that short and long encodings both come up.
        (self.0 ^ self.0 >> 31) >> (self.0 >> 58)
    }
}

/// What can be drawn.
pub(crate) trait Draw {
    fn draw(dice: &mut Dice) -> Self;
}

macro_rules! draw_numbers {
    ($($ty:ty),*) => { $(
        impl Draw for $ty {
            #[expect(clippy::allow_attributes, reason = "one of the types needs no cast")]
            #[allow(clippy::cast_possible_truncation, trivial_numeric_casts, reason = "any bits will do")]
            fn draw(dice: &mut Dice) -> Self {
                match dice.next() {
                    1 => <$ty>::MAX,
                    bits => bits as $ty,
                }
            }
        }
    )* };
}

draw_numbers!(u8, u16, u32, u64, i8, i16, i32, i64);

impl Draw for f32 {
    fn draw(dice: &mut Dice) -> Self {
        i16::draw(dice).into()
    }
}

impl Draw for f64 {
    fn draw(dice: &mut Dice) -> Self {
        f64::from(i32::draw(dice)) / 7.0
    }
}

impl Draw for Text<'static> {
    fn draw(dice: &mut Dice) -> Self {
        ["", "main", "MPI_Send", "Überlauf"][dice.next() as usize % 4].into()
    }
}

impl Draw for (u64, u64) {
    fn draw(dice: &mut Dice) -> Self {
        (Draw::draw(dice), Draw::draw(dice))
    }
}

impl Draw for MetricValue {
    fn draw(dice: &mut Dice) -> Self {
        MetricValue { value_type: Draw::draw(dice), bits: Draw::draw(dice) }
    }
}

impl Draw for EventAttribute {
    fn draw(dice: &mut Dice) -> Self {
        EventAttribute { attribute: Draw::draw(dice), value: Draw::draw(dice) }
    }
}

impl Draw for IoParadigmProperty {
    fn draw(dice: &mut Dice) -> Self {
        IoParadigmProperty { property: Draw::draw(dice), value: Draw::draw(dice) }
    }
}

impl Draw for Value {
    fn draw(dice: &mut Dice) -> Self {
        match dice.next() % 13 {
            0 => Value::Uint8(Draw::draw(dice)),
            1 => Value::Uint16(Draw::draw(dice)),
            2 => Value::Uint32(Draw::draw(dice)),
            3 => Value::Uint64(Draw::draw(dice)),
            4 => Value::Int8(Draw::draw(dice)),
            5 => Value::Int16(Draw::draw(dice)),
            6 => Value::Int32(Draw::draw(dice)),
            7 => Value::Int64(Draw::draw(dice)),
            8 => Value::Float(Draw::draw(dice)),
            9 => Value::Double(Draw::draw(dice)),
            10 => Value::Location(Draw::draw(dice)),
            11 => Value::Other(Type::from_u8(200), Draw::draw(dice)),
            _ => match RefKind::ALL[dice.next() as usize % RefKind::N_MAPPED] {
                RefKind::Location => Value::Location(Draw::draw(dice)),
                kind => Value::Ref(kind, Draw::draw(dice)),
            },
        }
    }
}

impl<T: Draw + Item + 'static> Draw for List<'static, T> {
    fn draw(dice: &mut Dice) -> Self {
        let n = dice.next() % 40;
        let items: Vec<T> = (0..n).map(|_| T::draw(dice)).collect();
        List::new(items.leak())
    }
}

impl Draw for IdMap<'static> {
    fn draw(dice: &mut Dice) -> Self {
        if dice.next().is_multiple_of(2) {
            IdMap::Dense(Draw::draw(dice))
        } else {
            IdMap::Sparse(Draw::draw(dice))
        }
    }
}

/// Where the fields of an encoded record begin, from its length as the file has it.
fn body_of(bytes: &[u8], is_bare: bool, endian: Endian) -> &[u8] {
    if is_bare {
        return &bytes[1..];
    }
    if bytes[1] != 0xff {
        assert_eq!(usize::from(bytes[1]), bytes.len() - 2);
        return &bytes[2..];
    }
    let mut cursor = Cursor::new(&bytes[2..], endian);
    assert_eq!(cursor.u64_full(), Ok(bytes.len() as u64 - 10));
    &bytes[10..]
}

macro_rules! check_round_trip {
    ($Table:ident, $Kind:ident, $dice:expr) => {
        for &kind in $Kind::ALL {
            let record = $Table::draw(kind, $dice);
            for endian in [Endian::Little, Endian::Big] {
                let mut buffer = RecordBuffer::new(endian);
                record.encode(&mut buffer).expect("lists are short and texts plain");
                assert_eq!(buffer.bytes()[0], kind.id());
                let body = body_of(buffer.bytes(), kind.is_bare(), endian);
                let mut cursor = Cursor::new(body, endian);
                let decoded = $Table::decode(kind.id(), &mut cursor).expect("what was encoded decodes");
                assert_eq!(decoded, Some(record), "{endian}");
                assert!(cursor.is_at_end(), "{kind} leaves bytes");
                // Fields read as far as the bytes go, and never further.
                for n in 0..body.len() {
                    let mut cursor = Cursor::within(body, 0, n, endian);
                    if let Ok(decoded) = $Table::decode(kind.id(), &mut cursor) {
                        assert!(decoded.is_some() && cursor.position() <= n);
                    }
                }
                // A walk shows every field.
                let mut n_fields = 0;
                record.fields(&mut |name, _| n_fields += usize::from(!name.is_empty()));
                assert_eq!(n_fields == 0, body.is_empty());
            }
        }
    };
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_record_survives_the_round_trip(seed: u64) {
        use super::marker::thumbnail::{ThumbnailKind, ThumbnailRecord};
        let dice = &mut Dice(seed);
        check_round_trip!(Event, EventKind, dice);
        check_round_trip!(Definition, DefinitionKind, dice);
        check_round_trip!(LocalOnly, LocalOnlyKind, dice);
        check_round_trip!(SnapshotRecord, SnapshotKind, dice);
        check_round_trip!(MarkerRecord, MarkerKind, dice);
        check_round_trip!(ThumbnailRecord, ThumbnailKind, dice);
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes: Vec<u8>, id: u8) {
        for endian in [Endian::Little, Endian::Big] {
            let cursor = Cursor::new(&bytes, endian);
            if let Ok(Some(event)) = Event::decode(id, &mut cursor.clone()) {
                let mut buffer = RecordBuffer::new(endian);
                assert!(event.encode(&mut buffer).is_ok());
            }
            let _ = LocalDefinition::decode(id, &mut cursor.clone());
            let _ = SnapshotRecord::decode(id, &mut cursor.clone());
            let _ = MarkerRecord::decode(id, &mut cursor.clone());
        }
    }
}
