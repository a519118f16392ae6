//! The meaning of the rows of the diagnosis table, in words.
//!
//! After Lai Wei and J. Mellor-Crummey, *Automated analysis of time series data to understand
//! parallel program behaviors* (ICS 2018), table 2; row 6 is for combinations that it leaves out.

use ouzel_analyses::loss_tree::Diagnosis;

/// The meaning of a segment's losses: in a few words, and in sentences on what to look at. `is_last`: it ends with the
/// run, and no synchronisation shows the cost of its uneven work. A single peer cannot be compared with another.
pub(super) fn of(kind: Diagnosis, is_last: bool, n_peers: usize) -> (&'static str, &'static str) {
    match kind {
        Diagnosis::Nothing if n_peers == 1 => {
            ("nothing significant", "Waiting takes only a small part of the run.")
        }
        _ if n_peers == 1 => (
            "waiting",
            "Time is spent in calls that wait; what they wait for is not recorded. Are these calls needed, and could \
             they come later?",
        ),
        Diagnosis::Waiting => (
            "waiting without uneven work",
            "Ranks wait for each other, although none works longer than the others. Look at the calls that wait: are \
             they needed, and could they come later?",
        ),
        Diagnosis::TradedOff if is_last => (
            "uneven work",
            "Some call paths take longer on some ranks than on others, and no synchronisation follows. The run ends \
             when the rank that works longest finishes.",
        ),
        Diagnosis::TradedOff => (
            "uneven work that evens out",
            "Some call paths take longer on some ranks than on others, but the ranks arrive together: a rank that does \
             more in one place does less in another. Nothing is lost here if the call paths are classified correctly.",
        ),
        Diagnosis::Imbalance => (
            "uneven work",
            "Some ranks work longer; the others wait for them in the synchronisation. Look at what the ranks with the \
             most time do differently.",
        ),
        Diagnosis::Serialised => (
            "some ranks work while others wait",
            "Some ranks work while others wait for them, one after the other or at the same time. Look at what a rank \
             does alone.",
        ),
        Diagnosis::ImbalanceAndWaiting => (
            "uneven work and waiting",
            "Some ranks work longer, and ranks also wait for each other before the synchronisation. Look at the waiting \
             first, then at the uneven work.",
        ),
        Diagnosis::Unexplained => (
            "uneven work in small pieces",
            "Ranks arrive at the synchronisation at different times, but no single call path explains it: the \
             difference is spread over many small call paths, or over code that is not recorded.",
        ),
        Diagnosis::Nothing => {
            ("nothing significant", "Uneven work and waiting take only a small part of the run.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_words_of_its_own() {
        let kinds = [
            Diagnosis::Nothing,
            Diagnosis::Waiting,
            Diagnosis::TradedOff,
            Diagnosis::Imbalance,
            Diagnosis::Serialised,
            Diagnosis::ImbalanceAndWaiting,
            Diagnosis::Unexplained,
        ];
        let titles: std::collections::BTreeSet<&str> = kinds.map(|kind| of(kind, false, 2).0).into();
        assert_eq!(titles.len(), 7);
        assert_eq!(of(Diagnosis::TradedOff, true, 2).0, "uneven work", "nothing evens it out");
        assert_eq!(of(Diagnosis::Imbalance, false, 1).0, "waiting", "nothing is compared");
    }
}
