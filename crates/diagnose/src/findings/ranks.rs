//! A set of ranks, as people write it and as programs read it.

use ouzel_model::units::count;
use ouzel_model::units::ranks::named;
use serde::Serialize;

/// World ranks, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ranks {
    /// As ranges, e.g. `0-3,8`, as `--ranks` takes them.
    #[cfg_attr(feature = "schema", schemars(regex(pattern = r"^([0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*)?$")))]
    pub ranges: String,
    /// One by one.
    pub list: Vec<u32>,
}

impl Ranks {
    /// The set of `ranks`, in any order and with repetitions.
    pub fn new(ranks: impl IntoIterator<Item = u32>) -> Self {
        let mut list: Vec<u32> = ranks.into_iter().collect();
        list.sort_unstable();
        list.dedup();
        Ranks { ranges: ranges(&list), list }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// `rank 3`, `ranks 0–3, 8`, `both ranks`, or `all 16 ranks` if they are so many; long lists are cut.
    pub fn in_words(&self, n_all: usize) -> String {
        match self.list.len() {
            2 if n_all == 2 => "both ranks".to_owned(),
            n if n == n_all && 1 < n => format!("all {} ranks", count(n as u64)),
            _ => named(&self.list, ROOM),
        }
    }
}

/// Characters for ranks in a sentence: more are hard to read, and the list has all.
const ROOM: usize = 40;

fn ranges(list: &[u32]) -> String {
    let text = |&(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges_of(list.iter().map(|&rank| u64::from(rank)))
        .iter()
        .map(|&(first, last)| text(&(first as u32, last as u32)))
        .collect::<Vec<_>>()
        .join(",")
}

/// The inclusive ranges of ascending numbers.
pub(super) fn ranges_of(ascending: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for n in ascending {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => ranges.push((n, n)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_ranges_and_a_list() {
        let ranks = Ranks::new([8, 1, 0, 2, 3, 3, 10]);
        assert_eq!(ranks.ranges, "0-3,8,10");
        assert_eq!(ranks.list, [0, 1, 2, 3, 8, 10]);
        assert_eq!(ranks.in_words(16), "ranks 0–3, 8, 10");
        assert_eq!(Ranks::new(0..4).in_words(4), "all 4 ranks");
        assert_eq!(Ranks::new([7]).in_words(8), "rank 7");
        let many = Ranks::new((0..40).step_by(2));
        assert_eq!(many.in_words(64), "ranks 0, 2, …, 38");
        assert!(Ranks::default().is_empty());
    }
}
