//! What the fields of records are made of: texts, references, typed values, lists.
//!
//! [`Field`] is the wire form of a Rust type. A [`List`] is a view: either of
//! encoded bytes, whose bounds were checked when it was made, or of a slice
//! that is to be encoded. Law: a list yields exactly `len()` items.

use std::fmt;

use super::enums::{Symbol, Type};
use super::list::{IdMap, List};
use crate::mapping::MappingTables;
use crate::wire::{Cursor, EncodeError, Fault, RecordBuffer, UNDEFINED_U32, UNDEFINED_U64};

/// A type with one wire form.
pub trait Field<'a>: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// What the bytes break; the cursor stays at the number that is wrong.
    fn get(cursor: &mut Cursor<'a>) -> Result<Self, Fault>;

    /// Writes it.
    ///
    /// # Errors
    /// [`EncodeError`] for a value that the format cannot say.
    fn put(&self, buffer: &mut RecordBuffer) -> Result<(), EncodeError>;

    /// Shows it to a printer.
    fn show(&self) -> FieldValue<'a>;
}

/// The tables that references point into.
///
/// The first fifteen are those a [`MappingTables`] can map, in the order of the
/// format's mapping types; the others never occur in events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each variant is the definition record of its name")]
pub enum RefKind {
    String,
    Attribute,
    Location,
    Region,
    Group,
    Metric,
    Comm,
    Parameter,
    RmaWin,
    SourceCodeLocation,
    CallingContext,
    InterruptGenerator,
    IoFile,
    IoHandle,
    LocationGroup,
    SystemTreeNode,
    Callsite,
    Callpath,
    MetricMember,
    CartDimension,
    CartTopology,
    IoParadigm,
    Marker,
}

impl RefKind {
    /// Every kind, in the order of declaration.
    pub const ALL: [RefKind; 23] = [
        RefKind::String,
        RefKind::Attribute,
        RefKind::Location,
        RefKind::Region,
        RefKind::Group,
        RefKind::Metric,
        RefKind::Comm,
        RefKind::Parameter,
        RefKind::RmaWin,
        RefKind::SourceCodeLocation,
        RefKind::CallingContext,
        RefKind::InterruptGenerator,
        RefKind::IoFile,
        RefKind::IoHandle,
        RefKind::LocationGroup,
        RefKind::SystemTreeNode,
        RefKind::Callsite,
        RefKind::Callpath,
        RefKind::MetricMember,
        RefKind::CartDimension,
        RefKind::CartTopology,
        RefKind::IoParadigm,
        RefKind::Marker,
    ];

    /// Number of kinds that mapping tables know.
    pub const N_MAPPED: usize = 15;

    /// The kind of a mapping table's type byte.
    pub fn from_mapping_type(byte: u8) -> Option<RefKind> {
        RefKind::ALL[..RefKind::N_MAPPED].get(usize::from(byte)).copied()
    }

    /// The type byte of a mapping table, for the kinds that have one.
    pub fn mapping_type(self) -> Option<u8> {
        // Kinds are fewer than 256, so the cut loses nothing.
        ((self as usize) < RefKind::N_MAPPED).then_some(self as u8)
    }
}

/// A number that can be a reference.
pub trait RefId: Copy {
    /// As 64 bits; undefined stays undefined.
    fn to_u64(self) -> u64;
    /// Local to global.
    fn mapped(self, kind: RefKind, tables: &MappingTables) -> Self;
}

impl RefId for u8 {
    fn to_u64(self) -> u64 {
        u64::from(self)
    }

    fn mapped(self, _: RefKind, _: &MappingTables) -> Self {
        self
    }
}

impl RefId for u32 {
    fn to_u64(self) -> u64 {
        if self == UNDEFINED_U32 { UNDEFINED_U64 } else { u64::from(self) }
    }

    #[inline]
    fn mapped(self, kind: RefKind, tables: &MappingTables) -> Self {
        tables.map_u32(kind, self)
    }
}

impl RefId for u64 {
    fn to_u64(self) -> u64 {
        self
    }

    #[inline]
    fn mapped(self, kind: RefKind, tables: &MappingTables) -> Self {
        tables.map_u64(kind, self)
    }
}

/// A text of the trace: UTF-8 by custom, not by law.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Text<'a>(pub &'a [u8]);

impl<'a> Text<'a> {
    /// The bytes, without the closing zero.
    pub const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// As UTF-8, with U+FFFD for what is none.
    pub fn to_string_lossy(self) -> std::borrow::Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text(text.as_bytes())
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_string_lossy())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string_lossy())
    }
}

/// A value that carries its type: of an attribute or of a property.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "the numbers are named after their types")]
pub enum Value {
    Uint8(u8),
    Uint16(u16),
    Uint32(u32),
    Uint64(u64),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    Float(f32),
    Double(f64),
    /// Reference of any kind but a location's.
    Ref(RefKind, u32),
    /// Reference to a location.
    Location(u64),
    /// A type that this version does not know, and the number that came with it.
    Other(Type, u64),
}

/// The kinds of reference types 11 (string) to 25, in the order of their bytes.
const REF_TYPES: [(Type, RefKind); 15] = [
    (Type::String, RefKind::String),
    (Type::Attribute, RefKind::Attribute),
    (Type::Location, RefKind::Location),
    (Type::Region, RefKind::Region),
    (Type::Group, RefKind::Group),
    (Type::Metric, RefKind::Metric),
    (Type::Comm, RefKind::Comm),
    (Type::Parameter, RefKind::Parameter),
    (Type::RmaWin, RefKind::RmaWin),
    (Type::SourceCodeLocation, RefKind::SourceCodeLocation),
    (Type::CallingContext, RefKind::CallingContext),
    (Type::InterruptGenerator, RefKind::InterruptGenerator),
    (Type::IoFile, RefKind::IoFile),
    (Type::IoHandle, RefKind::IoHandle),
    (Type::LocationGroup, RefKind::LocationGroup),
];

impl Value {
    /// A reference to a string.
    pub const fn string(id: u32) -> Value {
        Value::Ref(RefKind::String, id)
    }

    /// The type that is written before it.
    ///
    /// A reference of a kind that the format has no type for is written as an unsigned number.
    pub fn value_type(self) -> Type {
        match self {
            Value::Uint8(_) => Type::Uint8,
            Value::Uint16(_) => Type::Uint16,
            Value::Uint32(_) => Type::Uint32,
            Value::Uint64(_) => Type::Uint64,
            Value::Int8(_) => Type::Int8,
            Value::Int16(_) => Type::Int16,
            Value::Int32(_) => Type::Int32,
            Value::Int64(_) => Type::Int64,
            Value::Float(_) => Type::Float,
            Value::Double(_) => Type::Double,
            Value::Ref(kind, _) => REF_TYPES
                .iter()
                .find(|&&(of, found)| found == kind && of != Type::Location)
                .map_or(Type::Uint32, |&(of, _)| of),
            Value::Location(_) => Type::Location,
            Value::Other(of, _) => of,
        }
    }

    /// The value with global references.
    #[must_use]
    pub fn mapped(self, tables: &MappingTables) -> Value {
        match self {
            Value::Ref(kind, id) => Value::Ref(kind, tables.map_u32(kind, id)),
            Value::Location(id) => Value::Location(tables.map_u64(RefKind::Location, id)),
            other => other,
        }
    }

    fn get_typed(of: Type, cursor: &mut Cursor<'_>) -> Result<Value, Fault> {
        Ok(match of {
            Type::Uint8 => Value::Uint8(cursor.u8()?),
            Type::Uint16 => Value::Uint16(cursor.u16_full()?),
            Type::Uint32 => Value::Uint32(cursor.u32()?),
            Type::Uint64 => Value::Uint64(cursor.u64()?),
            Type::Int8 => Value::Int8(cursor.u8()?.cast_signed()),
            Type::Int16 => Value::Int16(cursor.u16_full()?.cast_signed()),
            Type::Int32 => Value::Int32(cursor.i32()?),
            Type::Int64 => Value::Int64(cursor.i64()?),
            Type::Float => Value::Float(cursor.f32()?),
            Type::Double => Value::Double(cursor.f64()?),
            Type::Location => Value::Location(cursor.u64()?),
            other => match REF_TYPES.iter().find(|&&(found, _)| found == other) {
                Some(&(_, kind)) => Value::Ref(kind, cursor.u32()?),
                None => Value::Other(other, cursor.u64()?),
            },
        })
    }
}

impl<'a> Field<'a> for Value {
    fn get(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let of = Type::from_u8(cursor.u8()?);
        Value::get_typed(of, cursor)
    }

    fn put(&self, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
        buffer.put_u8(self.value_type().to_u8());
        match *self {
            Value::Uint8(value) => buffer.put_u8(value),
            Value::Uint16(value) => buffer.put_u16_full(value),
            Value::Uint32(value) | Value::Ref(_, value) => buffer.put_u32(value),
            Value::Uint64(value) | Value::Location(value) | Value::Other(_, value) => buffer.put_u64(value),
            Value::Int8(value) => buffer.put_u8(value.cast_unsigned()),
            Value::Int16(value) => buffer.put_u16_full(value.cast_unsigned()),
            Value::Int32(value) => buffer.put_i32(value),
            Value::Int64(value) => buffer.put_i64(value),
            Value::Float(value) => buffer.put_f32(value),
            Value::Double(value) => buffer.put_f64(value),
        }
        Ok(())
    }

    fn show(&self) -> FieldValue<'a> {
        FieldValue::Value(*self)
    }
}

/// One value of a metric event: 64 bits to be read as its type says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricValue {
    /// [`Type::Uint64`], [`Type::Int64`] or [`Type::Double`] in well-formed traces.
    pub value_type: Type,
    /// The bit pattern.
    pub bits: u64,
}

impl MetricValue {
    /// The bits as what they are.
    pub fn value(self) -> Value {
        match self.value_type {
            Type::Uint64 => Value::Uint64(self.bits),
            Type::Int64 => Value::Int64(self.bits.cast_signed()),
            Type::Double => Value::Double(f64::from_bits(self.bits)),
            other => Value::Other(other, self.bits),
        }
    }
}

/// One attribute of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventAttribute {
    /// Reference to the attribute's definition.
    pub attribute: u32,
    /// Its value.
    pub value: Value,
}

/// One property of an I/O paradigm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IoParadigmProperty {
    /// Which property.
    pub property: u8,
    /// Its value.
    pub value: Value,
}

/// A field as a printer sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldValue<'a> {
    /// A number.
    Unsigned(u64),
    /// A number with sign.
    Signed(i64),
    /// A float.
    Float(f64),
    /// A point in time, in ticks.
    Ticks(u64),
    /// A text in place.
    Text(Text<'a>),
    /// A value of an enumeration.
    Symbol(Symbol),
    /// A reference; [`UNDEFINED_U64`] for none.
    Ref(RefKind, u64),
    /// The record's own id.
    Key(RefKind, u64),
    /// A value with its type.
    Value(Value),
    /// References of one kind.
    Refs(RefKind, List<'a, u32>),
    /// Plain numbers.
    Numbers(List<'a, u32>),
    /// Wide plain numbers, or ids whose kind another field gives.
    Ids(List<'a, u64>),
    /// Metric values.
    Metrics(List<'a, MetricValue>),
    /// Attributes.
    Attributes(List<'a, EventAttribute>),
    /// Properties of an I/O paradigm.
    IoProperties(List<'a, IoParadigmProperty>),
    /// A mapping from local to global ids.
    IdMap(IdMap<'a>),
}

macro_rules! number_fields {
    ($( $ty:ty, $get:ident, $put:ident, $show:ident; )*) => { $(
        impl<'a> Field<'a> for $ty {
            #[inline]
            fn get(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
                cursor.$get()
            }

            fn put(&self, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
                buffer.$put(*self);
                Ok(())
            }

            fn show(&self) -> FieldValue<'a> {
                FieldValue::$show((*self).into())
            }
        }
    )* };
}

number_fields! {
    u8, u8, put_u8, Unsigned;
    u32, u32, put_u32, Unsigned;
    u64, u64, put_u64, Unsigned;
    i64, i64, put_i64, Signed;
    f64, f64, put_f64, Float;
}

impl<'a> Field<'a> for Text<'a> {
    fn get(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        cursor.text().map(Text)
    }

    fn put(&self, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
        buffer.put_text(self.0)
    }

    fn show(&self) -> FieldValue<'a> {
        FieldValue::Text(*self)
    }
}
