//! Which calls launched something: a set of correlation ids for each process.
//!
//! Ids count up from one in each process, so the set is a map of pages of bits: one bit for each call of a real
//! export, and never more than a page for each row of a damaged one.

use rustc_hash::FxHashMap;

const PAGE_BITS: u64 = 1024;

/// Correlation ids that device operations name.
#[derive(Debug, Default)]
pub(super) struct LinkedCalls {
    pages: FxHashMap<u64, [u64; (PAGE_BITS / 64) as usize]>,
}

/// The number of a link: the process and the correlation id in it; 0 for no link. Ids of CUPTI have 32 bits.
pub(super) fn link_id(process: u32, correlation: Option<i64>) -> u64 {
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
    }
}
