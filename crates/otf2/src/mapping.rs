//! Mapping from the ids of one location to the ids of the whole trace.
//!
//! One table per kind of reference, dense (an array) or sparse (sorted pairs).
//! Law: without a table, or for an id outside of it, an id stays as it is;
//! an undefined id stays undefined.

use crate::records::{IdMap, RefKind};
use crate::wire::{UNDEFINED_U32, UNDEFINED_U64};

/// The mapping tables of one location.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MappingTables {
    tables: [Option<Table>; RefKind::N_MAPPED],
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Table {
    Dense(Vec<u64>),
    /// Sorted by local id.
    Sparse(Vec<(u64, u64)>),
}

impl Table {
    #[inline]
    fn get(&self, local: u64) -> Option<u64> {
        match self {
            Table::Dense(globals) => globals.get(usize::try_from(local).ok()?).copied(),
            Table::Sparse(pairs) => {
                let at = pairs.binary_search_by_key(&local, |&(local, _)| local).ok()?;
                pairs.get(at).map(|&(_, global)| global)
            }
        }
    }

    fn is_identity(&self) -> bool {
        match self {
            Table::Dense(globals) => (0..).zip(globals).all(|(local, &global)| local == global),
            Table::Sparse(pairs) => pairs.iter().all(|&(local, global)| local == global),
        }
    }
}

impl MappingTables {
    /// No table: every id stays as it is.
    pub fn new() -> Self {
        MappingTables::default()
    }

    /// Sets the table of a kind; gives back whether there was one before, which is lost.
    ///
    /// Kinds that the format cannot map are ignored.
    pub fn set(&mut self, kind: RefKind, map: IdMap<'_>) -> bool {
        let table = match map {
            IdMap::Dense(globals) => Table::Dense(globals.iter().collect()),
            IdMap::Sparse(pairs) => {
                let mut pairs: Vec<_> = pairs.iter().collect();
                pairs.sort_by_key(|&(local, _)| local);
                Table::Sparse(pairs)
            }
        };
        match self.tables.get_mut(kind as usize) {
            Some(slot) => slot.replace(table).is_some(),
            None => false,
        }
    }

    /// Whether no id changes, so that mapping can be left out.
    pub fn is_identity(&self) -> bool {
        self.tables.iter().flatten().all(Table::is_identity)
    }

    #[inline]
    fn table(&self, kind: RefKind) -> Option<&Table> {
        self.tables.get(kind as usize)?.as_ref()
    }

    /// The global id of a 32-bit id.
    #[inline]
    pub fn map_u32(&self, kind: RefKind, local: u32) -> u32 {
        if local == UNDEFINED_U32 {
            return local;
        }
        match self.table(kind).and_then(|table| table.get(u64::from(local))) {
            // A global id of a 32-bit kind that is wider than 32 bits is the undefined one.
            Some(global) => u32::try_from(global).unwrap_or(UNDEFINED_U32),
            None => local,
        }
    }

    /// The global id of a 64-bit id.
    #[inline]
    pub fn map_u64(&self, kind: RefKind, local: u64) -> u64 {
        if local == UNDEFINED_U64 {
            return local;
        }
        self.table(kind).and_then(|table| table.get(local)).unwrap_or(local)
    }

    /// Maps a run of ids of one kind in place.
    pub fn map_slice(&self, kind: RefKind, ids: &mut [u32]) {
        match self.table(kind) {
            None => {}
            Some(_) => ids.iter_mut().for_each(|id| *id = self.map_u32(kind, *id)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::List;

    #[test]
    fn ids_outside_a_table_stay() {
        let mut tables = MappingTables::new();
        assert!(tables.is_identity());
        assert!(!tables.set(RefKind::Region, IdMap::Dense(List::new(&[7, 5]))));
        assert!(!tables.set(RefKind::Comm, IdMap::Sparse(List::new(&[(9, 1), (2, 4)]))));
        let regions = [0, 1, 2, UNDEFINED_U32].map(|id| tables.map_u32(RefKind::Region, id));
        assert_eq!(regions, [7, 5, 2, UNDEFINED_U32]);
        let comms = [9, 2, 3].map(|id| tables.map_u32(RefKind::Comm, id));
        assert_eq!(comms, [1, 4, 3]);
        assert_eq!(tables.map_u32(RefKind::Metric, 1), 1);
        assert_eq!(tables.map_u64(RefKind::Location, UNDEFINED_U64), UNDEFINED_U64);
        assert!(!tables.is_identity());
        assert!(
            tables.set(RefKind::Region, IdMap::Dense(List::new(&[0, 1]))),
            "the second table replaces the first"
        );
        assert_eq!(tables.map_u32(RefKind::Region, 0), 0);
    }
}
