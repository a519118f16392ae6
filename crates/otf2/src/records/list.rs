//! Lists inside records: views that decode while they are iterated.
//!
//! A list read from a file was walked once when it was made, so iterating it
//! cannot fail and a count in the file never leads to an allocation.
//! Law: `iter()` yields exactly `len()` items.

use std::fmt;

use super::field::{EventAttribute, Field, FieldValue, IoParadigmProperty, MetricValue, RefKind, Value};
use crate::mapping::MappingTables;
use crate::records::enums::Type;
use crate::wire::{Cursor, EncodeError, Endian, Fault, RecordBuffer};

/// What lists are made of.
pub trait Item: Copy + PartialEq + fmt::Debug {
    /// Reads one.
    ///
    /// # Errors
    /// What the bytes break.
    fn get(cursor: &mut Cursor<'_>) -> Result<Self, Fault>;

    /// Writes one.
    fn put(self, buffer: &mut RecordBuffer);

    /// With global references; `kind` is what plain numbers refer to.
    #[must_use]
    fn mapped(self, kind: Option<RefKind>, tables: &MappingTables) -> Self;

    /// Shows a list of them to a printer.
    fn show(list: List<'_, Self>) -> FieldValue<'_>;
}

impl Item for u32 {
    fn get(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        cursor.u32()
    }

    fn put(self, buffer: &mut RecordBuffer) {
        buffer.put_u32(self);
    }

    fn mapped(self, kind: Option<RefKind>, tables: &MappingTables) -> Self {
        kind.map_or(self, |kind| tables.map_u32(kind, self))
    }

    fn show(list: List<'_, Self>) -> FieldValue<'_> {
        FieldValue::Numbers(list)
    }
}

impl Item for u64 {
    fn get(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        cursor.u64()
    }

    fn put(self, buffer: &mut RecordBuffer) {
        buffer.put_u64(self);
    }

    fn mapped(self, kind: Option<RefKind>, tables: &MappingTables) -> Self {
        kind.map_or(self, |kind| tables.map_u64(kind, self))
    }

    fn show(list: List<'_, Self>) -> FieldValue<'_> {
        FieldValue::Ids(list)
    }
}

impl Item for (u64, u64) {
    fn get(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        Ok((cursor.u64()?, cursor.u64()?))
    }

    fn put(self, buffer: &mut RecordBuffer) {
        buffer.put_u64(self.0);
        buffer.put_u64(self.1);
    }

    fn mapped(self, _: Option<RefKind>, _: &MappingTables) -> Self {
        self
    }

    fn show(list: List<'_, Self>) -> FieldValue<'_> {
        FieldValue::IdMap(IdMap::Sparse(list))
    }
}

impl Item for MetricValue {
    #[inline]
    fn get(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        Ok(MetricValue { value_type: Type::from_u8(cursor.u8()?), bits: cursor.u64()? })
    }

    fn put(self, buffer: &mut RecordBuffer) {
        buffer.put_u8(self.value_type.to_u8());
        buffer.put_u64(self.bits);
    }

    fn mapped(self, _: Option<RefKind>, _: &MappingTables) -> Self {
        self
    }

    fn show(list: List<'_, Self>) -> FieldValue<'_> {
        FieldValue::Metrics(list)
    }
}

impl Item for EventAttribute {
    fn get(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        Ok(EventAttribute { attribute: cursor.u32()?, value: Field::get(cursor)? })
    }

    fn put(self, buffer: &mut RecordBuffer) {
        buffer.put_u32(self.attribute);
        put_value(self.value, buffer);
    }

    fn mapped(self, _: Option<RefKind>, tables: &MappingTables) -> Self {
        EventAttribute {
            attribute: tables.map_u32(RefKind::Attribute, self.attribute),
            value: self.value.mapped(tables),
        }
    }

    fn show(list: List<'_, Self>) -> FieldValue<'_> {
        FieldValue::Attributes(list)
    }
}

impl Item for IoParadigmProperty {
    fn get(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        Ok(IoParadigmProperty { property: cursor.u8()?, value: Field::get(cursor)? })
    }

    fn put(self, buffer: &mut RecordBuffer) {
        buffer.put_u8(self.property);
        put_value(self.value, buffer);
    }

    fn mapped(self, _: Option<RefKind>, tables: &MappingTables) -> Self {
        IoParadigmProperty { value: self.value.mapped(tables), ..self }
    }

    fn show(list: List<'_, Self>) -> FieldValue<'_> {
        FieldValue::IoProperties(list)
    }
}

fn put_value(value: Value, buffer: &mut RecordBuffer) {
    value.put(buffer).expect("a typed value holds no text and no list, so nothing can be too long");
}

/// A list inside a record.
#[derive(Clone, Copy)]
pub struct List<'a, T> {
    items: Items<'a, T>,
    maps: Option<(Option<RefKind>, &'a MappingTables)>,
}

#[derive(Clone, Copy)]
enum Items<'a, T> {
    Encoded { bytes: &'a [u8], endian: Endian, n: usize },
    Slice(&'a [T]),
}

impl<'a, T: Item> List<'a, T> {
    /// A list that is to be encoded.
    pub const fn new(items: &'a [T]) -> Self {
        List { items: Items::Slice(items), maps: None }
    }

    /// Walks over `n` items, so that their bounds are known.
    ///
    /// # Errors
    /// What the bytes break, for instance because `n` is more than there are.
    #[inline]
    pub fn get(n: u64, cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let mut ahead = cursor.clone();
        for _ in 0..n {
            T::get(&mut ahead)?;
        }
        let endian = cursor.endian();
        let bytes = cursor.take(ahead.position() - cursor.position())?;
        // Each item took a byte or more, so `n` is no more than the length of the slice.
        let n = usize::try_from(n).unwrap_or(bytes.len());
        Ok(List { items: Items::Encoded { bytes, endian, n }, maps: None })
    }

    fn put(&self, buffer: &mut RecordBuffer) {
        for item in self.iter() {
            item.put(buffer);
        }
    }

    /// Number of items.
    pub const fn len(&self) -> usize {
        match self.items {
            Items::Encoded { n, .. } => n,
            Items::Slice(items) => items.len(),
        }
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items, with global references if [`List::map_refs`] was called.
    #[inline]
    pub fn iter(&self) -> ListIter<'a, T> {
        let cursor = match self.items {
            Items::Encoded { bytes, endian, .. } => Cursor::new(bytes, endian),
            Items::Slice(_) => Cursor::new(&[], Endian::Little),
        };
        ListIter { list: *self, cursor, at: 0 }
    }

    /// From now on the items come with global references.
    pub fn map_refs(&mut self, kind: Option<RefKind>, tables: &'a MappingTables) {
        self.maps = Some((kind, tables));
    }
}

impl<'a, T: Item> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = ListIter<'a, T>;

    fn into_iter(self) -> ListIter<'a, T> {
        self.iter()
    }
}

impl<T: Item> PartialEq for List<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Item> fmt::Debug for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Iterator of a [`List`].
#[derive(Debug, Clone)]
pub struct ListIter<'a, T: Item> {
    list: List<'a, T>,
    cursor: Cursor<'a>,
    at: usize,
}

impl<T: Item> Iterator for ListIter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        let item = match self.list.items {
            Items::Encoded { n, .. } if self.at < n => T::get(&mut self.cursor).ok()?,
            Items::Encoded { .. } => return None,
            Items::Slice(items) => *items.get(self.at)?,
        };
        self.at += 1;
        Some(match self.list.maps {
            Some((kind, tables)) => item.mapped(kind, tables),
            None => item,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.list.len() - self.at;
        (left, Some(left))
    }
}

impl<T: Item> ExactSizeIterator for ListIter<'_, T> {}

/// Reads a list after a one-byte count.
pub(crate) fn get_list8<'a, T: Item>(cursor: &mut Cursor<'a>) -> Result<List<'a, T>, Fault> {
    let n = cursor.u8()?;
    List::get(u64::from(n), cursor)
}

/// Reads a list after a compressed 32-bit count.
pub(crate) fn get_list32<'a, T: Item>(cursor: &mut Cursor<'a>) -> Result<List<'a, T>, Fault> {
    let n = cursor.u32()?;
    List::get(u64::from(n), cursor)
}

pub(crate) fn put_list8<T: Item>(list: &List<'_, T>, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
    let n = list.len();
    let max = usize::from(u8::MAX);
    buffer.put_u8(u8::try_from(n).map_err(|_| EncodeError::ListTooLong { n, max })?);
    list.put(buffer);
    Ok(())
}

pub(crate) fn put_list32<T: Item>(list: &List<'_, T>, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
    let n = list.len();
    let max = u32::MAX as usize - 1;
    buffer.put_u32(u32::try_from(n).map_err(|_| EncodeError::ListTooLong { n, max })?);
    list.put(buffer);
    Ok(())
}

/// The body of a mapping table: global ids of local ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum IdMap<'a> {
    /// The global ids of the local ids 0, 1, 2 and so on.
    Dense(List<'a, u64>),
    /// Pairs of a local and a global id.
    Sparse(List<'a, (u64, u64)>),
}

impl<'a> Field<'a> for IdMap<'a> {
    fn get(cursor: &mut Cursor<'a>) -> Result<Self, Fault> {
        let n = cursor.u64()?;
        match cursor.u8()? {
            0 => List::get(n, cursor).map(IdMap::Dense),
            1 => List::get(n, cursor).map(IdMap::Sparse),
            mode => Err(Fault::IdMapMode { mode }),
        }
    }

    fn put(&self, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
        match self {
            IdMap::Dense(ids) => {
                buffer.put_u64(ids.len() as u64);
                buffer.put_u8(0);
                ids.put(buffer);
            }
            IdMap::Sparse(pairs) => {
                buffer.put_u64(pairs.len() as u64);
                buffer.put_u8(1);
                pairs.put(buffer);
            }
        }
        Ok(())
    }

    fn show(&self) -> FieldValue<'a> {
        FieldValue::IdMap(*self)
    }
}
