//! The macro that turns a table of the wire format into records.
//!
//! One table line is one record: id, `sized` or `bare` (with or without a
//! length), name, and the fields in wire order. `as` names how a field is
//! written: `int` as its type says, `full` as raw ticks, `refer(K)` as an id of
//! table `K`, `key(K)` as the record's own id in `K`, `value` with its type
//! before it, `list8`, `list32`, `refs8(K)`, `refs32(K)` after a count. A
//! field with `= default` is one that older versions did not write. Fields with
//! a `K` are documented by it.

/// Reads a field.
macro_rules! get_field {
    ($cursor:ident, full) => {
        $cursor.u64_full()
    };
    ($cursor:ident, list8) => {
        $crate::records::list::get_list8($cursor)
    };
    ($cursor:ident, refs8) => {
        $crate::records::list::get_list8($cursor)
    };
    ($cursor:ident, list32) => {
        $crate::records::list::get_list32($cursor)
    };
    ($cursor:ident, refs32) => {
        $crate::records::list::get_list32($cursor)
    };
    ($cursor:ident, $wire:ident) => {
        $crate::records::field::Field::get($cursor)
    };
}

/// Reads a field that may be missing.
macro_rules! get_field_or {
    ($cursor:ident, $wire:ident, $default:expr) => {
        if $cursor.is_at_end() { Ok($default) } else { get_field!($cursor, $wire) }
    };
    ($cursor:ident, $wire:ident,) => {
        get_field!($cursor, $wire)
    };
}

/// Writes a field.
macro_rules! put_field {
    ($buffer:ident, $field:expr, full) => {
        $buffer.put_u64_full(*$field)
    };
    ($buffer:ident, $field:expr, list8) => {
        $crate::records::list::put_list8($field, $buffer)?
    };
    ($buffer:ident, $field:expr, refs8) => {
        $crate::records::list::put_list8($field, $buffer)?
    };
    ($buffer:ident, $field:expr, list32) => {
        $crate::records::list::put_list32($field, $buffer)?
    };
    ($buffer:ident, $field:expr, refs32) => {
        $crate::records::list::put_list32($field, $buffer)?
    };
    ($buffer:ident, $field:expr, $wire:ident) => {
        $crate::records::field::Field::put($field, $buffer)?
    };
}

/// Shows a field to a printer.
macro_rules! show_field {
    ($field:expr, full) => {
        FieldValue::Ticks(*$field)
    };
    ($field:expr, refer($kind:ident)) => {
        FieldValue::Ref(RefKind::$kind, $crate::records::field::RefId::to_u64(*$field))
    };
    ($field:expr, key($kind:ident)) => {
        FieldValue::Key(RefKind::$kind, $crate::records::field::RefId::to_u64(*$field))
    };
    ($field:expr, refs8($kind:ident)) => {
        FieldValue::Refs(RefKind::$kind, *$field)
    };
    ($field:expr, refs32($kind:ident)) => {
        FieldValue::Refs(RefKind::$kind, *$field)
    };
    ($field:expr, list8) => {
        $crate::records::list::Item::show(*$field)
    };
    ($field:expr, list32) => {
        $crate::records::list::Item::show(*$field)
    };
    ($field:expr, $wire:ident) => {
        $crate::records::field::Field::show($field)
    };
}

/// Makes a field's references global.
macro_rules! map_field {
    ($field:expr, $tables:ident, refer($kind:ident)) => {
        *$field = $crate::records::field::RefId::mapped(*$field, RefKind::$kind, $tables)
    };
    ($field:expr, $tables:ident, refs8($kind:ident)) => {
        $field.map_refs(Some(RefKind::$kind), $tables)
    };
    ($field:expr, $tables:ident, refs32($kind:ident)) => {
        $field.map_refs(Some(RefKind::$kind), $tables)
    };
    ($field:expr, $tables:ident, value) => {
        *$field = $field.mapped($tables)
    };
    ($field:expr, $tables:ident, $($wire:tt)*) => {
        let _ = ($field, $tables);
    };
}

/// The key of a record, from its first field.
macro_rules! key_of {
    ($field:expr, key($kind:ident)) => {
        return Some((RefKind::$kind, $crate::records::field::RefId::to_u64(*$field)))
    };
    ($field:expr, $($wire:tt)*) => {
        let _ = $field;
    };
}

macro_rules! is_bare {
    (bare) => {
        true
    };
    (sized) => {
        false
    };
}

/// The name in the format's tables, where it is not that of the Rust type.
macro_rules! record_name {
    ($Name:ident) => {
        stringify!($Name)
    };
    ($Name:ident $label:literal) => {
        $label
    };
}

macro_rules! record_table {
    (
        $(#[$table_meta:meta])*
        table $Table:ident<$lt:lifetime>, kinds $Kind:ident;
        $(
            $(#[$meta:meta])*
            $id:literal $form:ident $Name:ident $(<$record_lt:lifetime>)? $([$label:literal])? {
                $(
                    $(#[$field_meta:meta])*
                    $field:ident: $Type:ty as $wire:ident $(($RefKind:ident))? $(= $default:expr)?,
                )*
            }
        )*
    ) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, Copy, PartialEq)]
            pub struct $Name $(<$record_lt>)? {
                $(
                    $(#[$field_meta])*
                    $(#[doc = concat!("In the table [`RefKind::", stringify!($RefKind), "`].")])?
                    pub $field: $Type,
                )*
            }

            impl<$lt> From<$Name $(<$record_lt>)?> for $Table<$lt> {
                #[inline]
                fn from(record: $Name $(<$record_lt>)?) -> Self {
                    $Table::$Name(record)
                }
            }
        )*

        $(#[$table_meta])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum $Table<$lt> {
            $( $(#[$meta])* $Name($Name $(<$record_lt>)?), )*
        }

        /// The records of the table, without their fields; the number is the id in the file.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $Kind {
            $( $(#[$meta])* $Name = $id, )*
        }

        impl $Kind {
            /// Every kind, by id.
            pub const ALL: &'static [$Kind] = &[$($Kind::$Name),*];

            /// The kind of an id, if the table has it.
            #[inline]
            pub const fn from_id(id: u8) -> Option<Self> {
                match id {
                    $( $id => Some($Kind::$Name), )*
                    _ => None,
                }
            }

            /// The id in the file.
            #[inline]
            pub const fn id(self) -> u8 {
                self as u8
            }

            /// The record's name in the format's tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $( $Kind::$Name => record_name!($Name $($label)?), )*
                }
            }

            /// Whether the record is one compressed number without a length before it.
            #[inline]
            pub const fn is_bare(self) -> bool {
                match self {
                    $( $Kind::$Name => is_bare!($form), )*
                }
            }
        }

        impl std::fmt::Display for $Kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        #[cfg(test)]
        impl $Table<'static> {
            /// A record of this kind with fields drawn at random.
            #[allow(clippy::allow_attributes, unused_variables, reason = "records without fields draw nothing")]
            pub(crate) fn draw(kind: $Kind, dice: &mut $crate::records::tests::Dice) -> Self {
                match kind {
                    $( $Kind::$Name => {
                        $( let $field = $crate::records::tests::Draw::draw(dice); )*
                        $Table::$Name($Name { $($field),* })
                    } )*
                }
            }
        }

        #[allow(clippy::allow_attributes, unused_variables, reason = "records without fields use no cursor")]
        impl<$lt> $Table<$lt> {
            /// Which record it is.
            #[inline]
            pub const fn kind(&self) -> $Kind {
                match self {
                    $( $Table::$Name(_) => $Kind::$Name, )*
                }
            }

            /// Reads the fields of the record with this id; `None` if the table has no such id.
            ///
            /// Bytes that the fields do not use are left in the cursor: newer versions append fields.
            ///
            /// # Errors
            /// What the bytes break; the cursor stays at the field that is wrong.
            pub fn decode(id: u8, cursor: &mut Cursor<$lt>) -> Result<Option<Self>, Fault> {
                Self::decode_here(id, cursor)
            }

            /// [`Self::decode`] for a loop in which the compiler can drop what its caller does not look at.
            #[inline(always)]
            pub(crate) fn decode_here(id: u8, cursor: &mut Cursor<$lt>) -> Result<Option<Self>, Fault> {
                Ok(Some(match id {
                    $(
                        $id => {
                            $( let $field: $Type = get_field_or!(cursor, $wire, $($default)?)?; )*
                            $Table::$Name($Name { $($field),* })
                        }
                    )*
                    _ => return Ok(None),
                }))
            }

            /// Writes the record: id, length where there is one, fields.
            ///
            /// # Errors
            /// [`EncodeError`] for what the format cannot say; the buffer is then as before.
            pub fn encode(&self, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
                let before = buffer.len();
                let outcome = if self.kind().is_bare() {
                    buffer.put_u8(self.kind().id());
                    self.put_fields(buffer)
                } else {
                    let open = buffer.begin_record(self.kind().id());
                    let outcome = self.put_fields(buffer);
                    buffer.end_record(open);
                    outcome
                };
                if outcome.is_err() {
                    buffer.truncate(before);
                }
                outcome
            }

            fn put_fields(&self, buffer: &mut RecordBuffer) -> Result<(), EncodeError> {
                match self {
                    $( $Table::$Name($Name { $($field),* }) => {
                        $( put_field!(buffer, $field, $wire); )*
                    } )*
                }
                Ok(())
            }

            /// Shows the fields in wire order, each with its name.
            pub fn fields(&self, visit: &mut dyn FnMut(&'static str, FieldValue<$lt>)) {
                match self {
                    $( $Table::$Name($Name { $($field),* }) => {
                        $( visit(stringify!($field), show_field!($field, $wire $(($RefKind))?)); )*
                    } )*
                }
            }

            /// Makes references global with the tables of the record's location.
            pub fn map_refs(&mut self, tables: &$lt MappingTables) {
                match self {
                    $( $Table::$Name($Name { $($field),* }) => {
                        $( map_field!($field, tables, $wire $(($RefKind))?); )*
                    } )*
                }
            }

            /// The record's own id, for those that others can refer to.
            #[allow(unreachable_code, reason = "only some records have a key")]
            pub fn key(&self) -> Option<(RefKind, u64)> {
                match self {
                    $( $Table::$Name($Name { $($field),* }) => {
                        $( key_of!($field, $wire $(($RefKind))?); )*
                    } )*
                }
                None
            }
        }
    };
}

pub(crate) use {
    get_field, get_field_or, is_bare, key_of, map_field, put_field, record_name, record_table, show_field,
};
