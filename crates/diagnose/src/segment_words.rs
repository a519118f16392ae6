//! The meaning of the rows of the diagnosis table, in words.
//!
//! After Lai Wei and J. Mellor-Crummey, *Automated analysis of time series data to understand
//! parallel program behaviors* (ICS 2018), table 2; row 6 is for combinations that it leaves out.

/// The meaning of a segment's losses: in a few words, and in sentences on what to look at. `is_last`: it ends with the
/// run, and no synchronisation shows the cost of its uneven work. A single peer cannot be compared with another.
pub fn segment_words(row: u8, is_last: bool, n_peers: usize) -> (&'static str, &'static str) {
    match row {
        0 if n_peers == 1 => ("nothing significant", "Waiting takes only a small part of the run."),
        _ if n_peers == 1 => (
            "waiting",
            "Time is spent in calls that wait; what they wait for is not recorded. Are these calls needed, and could \
             they come later?",
        ),
        1 => (
            "waiting without uneven work",
            "Ranks wait for each other, although none works longer than the others. Look at the calls that wait: are \
             they needed, and could they come later?",
        ),
        2 if is_last => (
            "uneven work",
            "Some call paths take longer on some ranks than on others, and no synchronisation follows. The run ends \
             when the rank that works longest finishes.",
        ),
        2 => (
            "uneven work that evens out",
            "Some call paths take longer on some ranks than on others, but the ranks arrive together: a rank that does \
             more in one place does less in another. Nothing is lost here if the call paths are classified correctly.",
        ),
        3 => (
            "uneven work",
            "Some ranks work longer; the others wait for them in the synchronisation. Look at what the ranks with the \
             most time do differently.",
        ),
        4 => (
            "some ranks work while others wait",
            "Some ranks work while others wait for them, one after the other or at the same time. Look at what a rank \
             does alone.",
        ),
        5 => (
            "uneven work and waiting",
            "Some ranks work longer, and ranks also wait for each other before the synchronisation. Look at the waiting \
             first, then at the uneven work.",
        ),
        6 => (
            "uneven work in small pieces",
            "Ranks arrive at the synchronisation at different times, but no single call path explains it: the \
             difference is spread over many small call paths, or over code that is not recorded.",
        ),
        _ => ("nothing significant", "Uneven work and waiting take only a small part of the run."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_words_of_its_own() {
        let titles: std::collections::BTreeSet<&str> =
            (0..=6).map(|row| segment_words(row, false, 2).0).collect();
        assert_eq!(titles.len(), 7);
        assert_eq!(segment_words(2, true, 2).0, "uneven work", "nothing evens it out");
        assert_eq!(segment_words(3, false, 1).0, "waiting", "nothing is compared");
    }
}
