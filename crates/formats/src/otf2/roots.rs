//! Roots of collective operations: a rank, or one of the special values of the format.

use ouzel_model::{CollectiveRoot, CommRank};

/// The root that a record names.
pub(super) fn root(rank: u32) -> CollectiveRoot {
    match rank {
        u32::MAX => CollectiveRoot::None,
        0xFFFF_FFFE => CollectiveRoot::This,
        0xFFFF_FFFD => CollectiveRoot::ThisGroup,
        rank => CollectiveRoot::Rank(CommRank(rank)),
    }
}

/// The number of a root.
pub(super) fn number_of_root(root: CollectiveRoot) -> u32 {
    match root {
        CollectiveRoot::None => u32::MAX,
        CollectiveRoot::This => 0xFFFF_FFFE,
        CollectiveRoot::ThisGroup => 0xFFFF_FFFD,
        CollectiveRoot::Rank(rank) => rank.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_roots_are_no_ranks() {
        assert_eq!(root(u32::MAX), CollectiveRoot::None);
        assert_eq!(root(4), CollectiveRoot::Rank(CommRank(4)));
        for number in [0, 7, u32::MAX, u32::MAX - 1, u32::MAX - 2] {
            assert_eq!(number_of_root(root(number)), number);
        }
    }
}
