//! From unwind distances to what stayed on the stack between two samples.
//!
//! An unwind distance says how many frames, from the innermost one up, are new since the
//! event with a calling context before, plus one for the next frame, which stayed but went
//! on; 0 says that nothing changed. A path of `d` frames and distance `u > 0` thus keeps
//! `d + 1 - u` outermost frames. Between two samples the least of what every event keeps
//! is what stayed: enters and leaves of contexts count, too.
//!
//! Tracers that do not watch the stack (Score-P without a mark on it is one) call every frame
//! that instrumentation did not enter new, at each sample. Law: a record by which only what
//! instrumentation holds open anyway stays asserts nothing about the other frames. It still
//! counts as a bound where instrumentation saw a frame go.

use ouzel_model::Lca;

/// The distance that means "none".
const UNDEFINED: u32 = u32::MAX;

/// What is known of the stack of one location between samples.
#[derive(Debug, Default)]
pub(super) struct StackChanges {
    /// Whether distances say how much can have stayed, and not how much has.
    is_upper_bound: bool,
    /// Depths of the contexts that instrumentation holds open, outermost first.
    open: Vec<u32>,
    /// Frames that can have stayed since the sample before, as enters and leaves say.
    at_most: Option<u32>,
    /// Whether there is a sample before.
    sampled: bool,
}

impl StackChanges {
    /// At the beginning of a location.
    pub fn new(is_upper_bound: bool) -> Self {
        StackChanges { is_upper_bound, ..StackChanges::default() }
    }

    /// A context was entered; no depth if it is not defined.
    pub fn enter(&mut self, depth: Option<u32>, unwind_distance: u32) {
        let open = self.open();
        let depth = depth.unwrap_or(open.saturating_add(1));
        let callers = depth.saturating_sub(1);
        let kept = kept(depth, unwind_distance).filter(|&kept| open < kept).unwrap_or(callers);
        self.bound(kept.min(callers));
        self.open.push(depth);
    }

    /// A context was left.
    pub fn leave(&mut self, depth: Option<u32>) {
        let Some(depth) = depth.or(self.open.last().copied()) else { return };
        self.bound(depth.saturating_sub(1));
        while self.open.last().is_some_and(|&open| depth <= open) {
            self.open.pop();
        }
    }

    /// A sample found a path of `depth` frames: what stayed of the sample before.
    pub fn sample(&mut self, depth: u32, unwind_distance: u32) -> Lca {
        let at_most = self.at_most.take();
        if !std::mem::replace(&mut self.sampled, true) {
            return Lca::Unknown;
        }
        let open = self.open();
        let asserted = kept(depth, unwind_distance).filter(|&kept| open < kept || kept == depth);
        match (asserted, at_most) {
            (Some(kept), at_most) if self.is_upper_bound => {
                Lca::AtMost(at_most.map_or(kept, |at_most| kept.min(at_most)))
            }
            (Some(kept), at_most) => Lca::Exact(at_most.map_or(kept, |at_most| kept.min(at_most))),
            (None, Some(at_most)) => Lca::AtMost(at_most),
            (None, None) => Lca::Unknown,
        }
    }

    /// Depth of the innermost context that instrumentation holds open.
    fn open(&self) -> u32 {
        self.open.last().copied().unwrap_or(0)
    }

    fn bound(&mut self, kept: u32) {
        self.at_most = Some(self.at_most.map_or(kept, |at_most| at_most.min(kept)));
    }
}

/// Outermost frames that a distance keeps.
fn kept(depth: u32, unwind_distance: u32) -> Option<u32> {
    match unwind_distance {
        UNDEFINED => None,
        0 => Some(depth),
        distance => Some(depth.saturating_add(1).saturating_sub(distance)),
    }
}

/// The unwind distance of a sample with `lca`; the inverse of what a reader does.
pub(super) fn unwind_distance(depth: u32, lca: Lca) -> u32 {
    match lca {
        Lca::Exact(kept) => depth.saturating_sub(kept) + 1,
        Lca::AtMost(_) | Lca::Unknown => UNDEFINED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Depth and unwind distance of samples, and what stayed of the one before.
    fn check(samples: &[(u32, u32, Lca)]) {
        let mut changes = StackChanges::default();
        for &(depth, distance, expected) in samples {
            assert_eq!(changes.sample(depth, distance), expected, "{depth} {distance} in {samples:?}");
        }
    }

    #[test]
    fn distances_count_new_frames_and_one() {
        use Lca::{Exact, Unknown};
        check(&[(3, 4, Unknown), (4, 3, Exact(2)), (4, 1, Exact(4)), (4, 0, Exact(4)), (2, 2, Exact(1))]);
        check(&[(3, 0, Unknown), (3, UNDEFINED, Unknown), (5, 5, Exact(1))]);
    }

    #[test]
    fn a_bound_is_no_more_than_a_bound() {
        let mut changes = StackChanges::new(true);
        assert_eq!(changes.sample(3, 4), Lca::Unknown);
        assert_eq!(changes.sample(4, 3), Lca::AtMost(2));
        assert_eq!(changes.sample(4, 1), Lca::AtMost(4));
    }

    #[test]
    fn a_distance_that_keeps_nothing_says_nothing() {
        check(&[(1, 2, Lca::Unknown), (2, 3, Lca::Unknown), (2, 3, Lca::Unknown), (2, 77, Lca::Unknown)]);
    }

    #[test]
    fn instrumentation_bounds_what_can_have_stayed() {
        // main (1), then an instrumented call (2) with samples inside, as Score-P records them.
        let mut changes = StackChanges::default();
        changes.sample(1, 2);
        changes.enter(Some(2), 3);
        assert_eq!(changes.sample(2, 1), Lca::Exact(1));
        assert_eq!(changes.sample(2, 1), Lca::Exact(2));
        assert_eq!(changes.sample(4, 3), Lca::Unknown, "only what is open anyway stays");
        changes.leave(Some(2));
        assert_eq!(changes.sample(1, 2), Lca::AtMost(1));
        assert_eq!(changes.sample(1, 2), Lca::Unknown);
    }

    #[test]
    fn events_between_samples_count() {
        let mut changes = StackChanges::default();
        changes.sample(3, 1);
        changes.enter(Some(3), 2);
        changes.leave(Some(3));
        changes.enter(Some(3), 2);
        assert_eq!(changes.sample(3, 1), Lca::Exact(2), "the same path, another instance");
        changes.leave(None);
        changes.leave(None);
        assert_eq!(changes.sample(3, 2), Lca::Exact(2), "a leave of nothing changes nothing");
    }

    #[test]
    fn writing_is_the_inverse_of_reading() {
        for depth in 1..5 {
            for kept in 1..=depth {
                let mut changes = StackChanges::default();
                changes.sample(depth, 0);
                let distance = unwind_distance(depth, Lca::Exact(kept));
                assert_eq!(changes.sample(depth, distance), Lca::Exact(kept));
            }
        }
    }
}
