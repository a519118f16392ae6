//! Positions in tables in memory, in the widths that tables and references have.

/// A position as 32 bits, as ids of the model have it.
///
/// # Panics
/// If the table has 2^32 entries: that many of any kind that decoders number do not fit into memory.
#[inline]
pub(crate) fn u32_from(position: usize) -> u32 {
    u32::try_from(position).expect("a table has fewer than 2^32 entries")
}

/// The index of what is known to be in memory.
///
/// # Panics
/// If it is not: no address is that large.
#[inline]
pub(crate) fn index_from(position: u64) -> usize {
    usize::try_from(position).expect("the position is in memory")
}
