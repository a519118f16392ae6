//! What the rows of the diagnosis table say, in words.
//!
//! After X. Wei and J. Mellor-Crummey, *Automated analysis of time series data to understand
//! parallel program behaviors* (ICS 2018), table 2; row 6 is for combinations that it leaves out.

use crate::terminal::style::Paint;

/// In a few words, and what it means and what to look at.
pub fn words(row: u8) -> (&'static str, &'static str) {
    match row {
        1 => (
            "waiting without uneven work",
            "Ranks wait for one another, though none works longer than the others. Look at the calls that wait: \
             are they needed, and could they come later?",
        ),
        2 => (
            "uneven work that evens out",
            "Call paths take unequally long, but the ranks arrive together: what one does more in one place it does \
             less in another. Nothing is lost here, if the categories of the call paths are right.",
        ),
        3 => (
            "uneven work",
            "Some ranks work longer, the others wait for them in the synchronisation. Look at what the ranks with \
             most time do differently.",
        ),
        4 => (
            "some work while others wait for them",
            "Work of some ranks and waiting of the others make up for each other: the ones are waited for by the \
             others, one after the other or at the same time. Look at what is done alone.",
        ),
        5 => (
            "uneven work and waiting",
            "Some ranks work longer, and ranks also wait for one another before the synchronisation. Look at the \
             waiting first, then at the uneven work.",
        ),
        6 => (
            "uneven work in small pieces",
            "Ranks arrive apart at the synchronisation, but no single call path makes up for it: the unevenness is \
             spread over many small ones, or over code that is not recorded.",
        ),
        _ => (
            "nothing significant",
            "Neither uneven work nor waiting takes more than a small part of the run.",
        ),
    }
}

/// The same of a segment that ends with the run: no synchronisation shows what its uneven work costs.
pub fn words_at_end(row: u8) -> (&'static str, &'static str) {
    match row {
        2 => (
            "uneven work",
            "Call paths take unequally long, and no synchronisation follows that would show what it costs. The run \
             ends with the rank that works longest.",
        ),
        _ => words(row),
    }
}

/// The same where one rank alone is recorded: it can be compared with no other.
pub fn words_of_one(row: u8) -> (&'static str, &'static str) {
    match row {
        0 => ("nothing significant", "Waiting takes no more than a small part of the run."),
        _ => (
            "waiting",
            "Time passes in calls that wait; whom they wait for is not recorded. Are they needed, and could they come \
             later?",
        ),
    }
}

/// How a segment is painted: waiting, uneven work, both.
pub fn paint(row: u8) -> Paint {
    match row {
        1 => Paint::Name,
        2 => Paint::Good,
        3 | 6 => Paint::Doubtful,
        4 | 5 => Paint::Bad,
        _ => Paint::Dim,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_words_of_its_own() {
        let titles: std::collections::BTreeSet<&str> = (0..=6).map(|row| words(row).0).collect();
        assert_eq!(titles.len(), 7);
    }
}
