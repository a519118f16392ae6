//! Which calls launched something, and which thread made them: sets and maps of correlation ids.
//!
//! Ids count up from one in each process, so both are maps of small pages: one bit, or four bytes, for each call of a
//! real export, and never more than a page for each row of a damaged one.

use rustc_hash::FxHashMap;

const PAGE_BITS: u64 = 1024;
const PAGE_CALLERS: u64 = 32;

/// Correlation ids that device operations name.
#[derive(Debug, Default)]
pub(crate) struct LinkedCalls {
    pages: FxHashMap<u64, [u64; (PAGE_BITS / 64) as usize]>,
}

/// The number of a link: the process and the correlation id in it; 0 for no link. Ids of CUPTI have 32 bits.
pub(crate) fn link_id(process: u32, correlation: Option<i64>) -> u64 {
    match correlation.map(u32::try_from) {
        Some(Ok(correlation)) if correlation != 0 => u64::from(process) << 32 | u64::from(correlation),
        _ => 0,
    }
}

impl LinkedCalls {
    /// Adds a link.
    pub fn insert(&mut self, id: u64) {
        if id != 0 {
            let page = self.pages.entry(id / PAGE_BITS).or_default();
            page[(id % PAGE_BITS / 64) as usize] |= 1 << (id % 64);
        }
    }

    /// Whether a device operation has this link.
    #[inline]
    pub fn contains(&self, id: u64) -> bool {
        let Some(page) = self.pages.get(&(id / PAGE_BITS)) else { return false };
        page[(id % PAGE_BITS / 64) as usize] >> (id % 64) & 1 == 1
    }
}

/// The place of the call of each correlation id, kept while waits are read.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    pages: FxHashMap<u64, [u32; 32]>,
}

impl Callers {
    /// Adds a call.
    #[inline]
    pub fn insert(&mut self, id: u64, place: u32) {
        if id != 0 {
            self.pages.entry(id / PAGE_CALLERS).or_default()[(id % PAGE_CALLERS) as usize] = place + 1;
        }
    }

    /// The place of a call.
    pub fn get(&self, id: u64) -> Option<u32> {
        self.pages.get(&(id / PAGE_CALLERS))?[(id % PAGE_CALLERS) as usize].checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_apart_by_process_and_number() {
        let mut linked = LinkedCalls::default();
        for (process, correlation) in [(0, 1), (0, 1024), (1, 1), (7, u32::MAX)] {
            linked.insert(link_id(process, Some(i64::from(correlation))));
        }
        assert!(linked.contains(link_id(0, Some(1))) && linked.contains(link_id(0, Some(1024))));
        assert!(linked.contains(link_id(7, Some(i64::from(u32::MAX)))));
        assert!(!linked.contains(link_id(0, Some(2))) && !linked.contains(link_id(2, Some(1))));
        assert_eq!([link_id(3, None), link_id(3, Some(0)), link_id(3, Some(-1))], [0; 3]);
        assert!(!linked.contains(0));
        let mut callers = Callers::default();
        callers.insert(link_id(1, Some(33)), 0);
        callers.insert(link_id(1, Some(34)), 5);
        callers.insert(0, 7);
        let of = |process, correlation| callers.get(link_id(process, Some(correlation)));
        assert_eq!([of(1, 33), of(1, 34), of(1, 35), of(0, 33)], [Some(0), Some(5), None, None]);
        assert_eq!(callers.get(0), None);
    }
}
