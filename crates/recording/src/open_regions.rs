//! The instrumented regions that a thread is in.
//!
//! Law: what is left was entered before. Where a jump (`longjmp`) has skipped leaves, they are made up for at the next
//! enter or leave of a region around them: a stack frame above that of an open region proves that its own is gone.
//! A stack that lies elsewhere, as that of a signal handler, proves nothing.

/// Most regions that are open at a time; deeper ones are counted, not kept.
pub const OPEN_MAX: usize = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenRegion {
    region: u32,
    /// Address of its stack frame; 0 if unknown.
    frame: usize,
}

/// The regions, innermost last.
#[derive(Debug, Default)]
pub struct OpenRegions {
    open: Vec<OpenRegion>,
    n_deeper: u64,
}

impl OpenRegions {
    /// None are open.
    pub const fn new() -> Self {
        OpenRegions { open: Vec::new(), n_deeper: 0 }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.open.clear();
        self.n_deeper = 0;
    }

    /// Enters a region in a stack frame, and calls `leave` for those that a jump has left, innermost first. False beyond
    /// [`OPEN_MAX`].
    pub fn enter(&mut self, region: u32, frame: usize, mut leave: impl FnMut(u32)) -> bool {
        if 0 < self.n_deeper || self.open.len() == OPEN_MAX {
            self.n_deeper += 1;
            return false;
        }
        for _ in 0..self.n_abandoned(frame) {
            self.open.pop().into_iter().for_each(|open| leave(open.region));
        }
        self.open.push(OpenRegion { region, frame });
        true
    }

    /// Leaves a region, and calls `leave` for it and those inside of it, innermost first.
    pub fn leave(&mut self, region: u32, mut leave: impl FnMut(u32)) {
        if 0 < self.n_deeper {
            self.n_deeper -= 1;
            return;
        }
        let Some(at) = self.open.iter().rposition(|open| open.region == region) else { return };
        self.open.drain(at..).rev().for_each(|open| leave(open.region));
    }

    /// How many of the innermost a stack frame proves to be gone.
    fn n_abandoned(&self, frame: usize) -> usize {
        let is_below = |open: &&OpenRegion| open.frame != 0 && open.frame < frame;
        let n = self.open.iter().rev().take_while(is_below).count();
        let around = self.open.len().checked_sub(n + 1).and_then(|at| self.open.get(at));
        // One stack has both, or it is another one.
        if around.is_some_and(|around| frame <= around.frame) { n } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+region@frame` enters, `-region` leaves; the regions that are left by each step.
    fn left(steps: &[(i32, usize)]) -> Vec<Vec<u32>> {
        let mut open = OpenRegions::new();
        let step = |&(region, frame): &(i32, usize)| {
            let mut left = Vec::new();
            match region < 0 {
                true => open.leave(region.unsigned_abs(), |region| left.push(region)),
                false => assert!(open.enter(region.unsigned_abs(), frame, |region| left.push(region))),
            }
            left
        };
        steps.iter().map(step).collect()
    }

    #[test]
    fn regions_are_left_in_order_whatever_jumps_skip() {
        type Case<'a> = (&'a [(i32, usize)], &'a [&'a [u32]]);
        let cases: [Case<'_>; 6] = [
            (&[(1, 90), (2, 90), (3, 50), (-3, 0), (-2, 0), (-1, 0)], &[&[], &[], &[], &[3], &[2], &[1]]),
            // A jump from 3 to 1, which leaves and so leaves all.
            (&[(1, 90), (2, 70), (3, 50), (-1, 0)], &[&[], &[], &[], &[3, 2, 1]]),
            // A jump from 3 to 1, which enters a loop in its own frame.
            (&[(1, 90), (2, 70), (3, 50), (4, 90), (-4, 0)], &[&[], &[], &[], &[3, 2], &[4]]),
            // A signal's stack above everything, and one without addresses.
            (&[(1, 90), (2, 70), (3, 200), (-3, 0), (-2, 0)], &[&[], &[], &[], &[3], &[2]]),
            (&[(1, 90), (2, 0), (3, 80), (-3, 0), (-2, 0)], &[&[], &[], &[], &[3], &[2]]),
            // Entered before the recording.
            (&[(-1, 0), (2, 70), (-2, 0), (-1, 0)], &[&[], &[], &[2], &[]]),
        ];
        for (steps, expected) in cases {
            assert_eq!(left(steps), expected, "{steps:?}");
        }
    }

    #[test]
    fn what_is_too_deep_is_left_in_pairs() {
        let mut open = OpenRegions::new();
        let mut n_left = 0;
        let n_kept = (0..OPEN_MAX + 5).filter(|_| open.enter(7, 0, |_| {})).count();
        (0..OPEN_MAX + 6).for_each(|_| open.leave(7, |_| n_left += 1));
        assert_eq!((n_kept, n_left), (OPEN_MAX, OPEN_MAX));
    }
}
