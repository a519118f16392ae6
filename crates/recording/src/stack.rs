//! What a thread's stack was at its last sample, and how much of it is still there.
//!
//! ```text
//! outermost ── entry · entry · entry ── innermost        entry = where its return address is, which it is, the path
//! ```
//! Law: an entry whose return address has changed ends what can have stayed; one that has not may be another call all
//! the same, so the number of frames that stayed is an upper bound. Nothing here allocates after [`LastStack::new`].

use crate::paths::PathId;

/// A frame that will be returned to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackEntry {
    /// Where on the stack its return address is.
    pub place: u64,
    /// The address that is returned to.
    pub return_address: u64,
    /// The path of the frame.
    pub path: PathId,
}

/// The stack of a thread at its last sample. Places decrease from the outermost entry to the innermost one.
#[derive(Debug)]
pub struct LastStack {
    entries: Vec<StackEntry>,
    /// Entries found by the walk that is going on, innermost first.
    found: Vec<(u64, u64)>,
    n_max: usize,
}

/// Whether a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// To the next frame outwards.
    Further,
    /// The rest is known.
    Known,
    /// The stack is too deep.
    TooDeep,
}

impl LastStack {
    /// For stacks of up to `n_max` frames.
    pub fn new(n_max: usize) -> Self {
        LastStack { entries: Vec::with_capacity(n_max), found: Vec::with_capacity(n_max), n_max }
    }

    /// Begins to walk the stack as it is now, from the innermost frame: entries inside of the stack pointer are gone,
    /// and what is outside of the first changed return address is what can have stayed.
    pub fn begin(&mut self, stack_pointer: u64, mut read: impl FnMut(u64) -> Option<u64>) {
        self.found.clear();
        let is_there = |entry: &&StackEntry| {
            stack_pointer <= entry.place && read(entry.place) == Some(entry.return_address)
        };
        let n = self.entries.iter().take_while(is_there).count();
        self.entries.truncate(n);
    }

    /// The next frame outwards. Once it is one of the last sample, all frames outside of it are.
    pub fn step(&mut self, place: u64, return_address: u64) -> Walk {
        if let Ok(at) = self.entries.binary_search_by(|entry| place.cmp(&entry.place)) {
            if self.entries[at].return_address == return_address {
                self.entries.truncate(at + 1);
                return Walk::Known;
            }
            self.entries.truncate(at);
        }
        if self.n_max <= self.entries.len().max(self.found.len() + 1) {
            return Walk::TooDeep;
        }
        self.found.push((place, return_address));
        Walk::Further
    }

    /// The walk has come to the outermost frame without meeting a known one.
    pub fn reached_end(&mut self) {
        self.entries.clear();
    }

    /// Frames of the last sample that can have stayed.
    pub fn n_stayed(&self) -> usize {
        self.entries.len()
    }

    /// Gives the frames found their paths, outermost first; the path of the innermost one. None if a path has no room.
    pub fn name(
        &mut self,
        mut path: impl FnMut(Option<PathId>, u64) -> Option<PathId>,
    ) -> Option<Option<PathId>> {
        while let Some((place, return_address)) = self.found.pop() {
            let outer = self.entries.last().map(|entry| entry.path);
            let Some(path) = path(outer, return_address) else {
                self.found.clear();
                return None;
            };
            // Room for all was made at the beginning.
            if self.entries.len() < self.entries.capacity() {
                self.entries.push(StackEntry { place, return_address, path });
            }
        }
        Some(self.entries.last().map(|entry| entry.path))
    }

    /// Whether the stack is what it was, from this frame on: its own return address is at this place.
    pub fn ends_with(&self, place: u64, return_address: u64) -> Option<PathId> {
        let last = self.entries.last()?;
        (last.place == place && last.return_address == return_address).then_some(last.path)
    }
}

/// Frames of the recorder that are kept of a call.
const N_OWN_FRAMES: usize = 6;

/// The recorder's own frames of a call, from where it asks to the function that the program has called.
///
/// Law: between its begin and its end, a function of the recorder does not move the stack pointer by anything but
/// constants, so an address in it says how large its frame is: where the same addresses are found at the same distances,
/// the frames are the same, and so is the distance of the program's.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnFrames {
    instruction: u64,
    n: usize,
    /// Each return address, with its distance from the stack pointer.
    frames: [(u64, u64); N_OWN_FRAMES],
    /// The distance of the program's return address; 0 if it is not known.
    outer: u64,
}

impl OwnFrames {
    /// Those of a walk that begins at an instruction of the recorder.
    pub fn at(instruction: u64) -> Self {
        OwnFrames { instruction, ..OwnFrames::default() }
    }

    /// The next frame outwards is the recorder's, too.
    pub fn push(&mut self, distance: u64, return_address: u64) {
        if let Some(frame) = self.frames.get_mut(self.n) {
            *frame = (distance, return_address);
        }
        self.n += 1;
    }

    /// The next frame outwards is the program's.
    pub fn end(&mut self, distance: u64) {
        self.outer = if self.n <= N_OWN_FRAMES { distance } else { 0 };
    }

    /// Where the return address into the program is, if the recorder's frames are these.
    #[inline]
    pub fn place(
        &self,
        instruction: u64,
        stack_pointer: u64,
        mut read: impl FnMut(u64) -> Option<u64>,
    ) -> Option<u64> {
        if self.instruction != instruction || self.outer == 0 {
            return None;
        }
        let is_there = |&(distance, address): &(u64, u64)| read(stack_pointer + distance) == Some(address);
        self.frames.get(..self.n)?.iter().all(is_there).then_some(stack_pointer + self.outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Walks a stack of `(place, return address)`, innermost first; frames walked, frames that stayed, paths made.
    fn sample(
        last: &mut LastStack,
        stack: &[(u64, u64)],
        paths: &mut Vec<(Option<u32>, u64)>,
    ) -> (usize, usize) {
        let memory: BTreeMap<u64, u64> = stack.iter().copied().collect();
        let stack_pointer = stack.first().map_or(u64::MAX, |&(place, _)| place - 8);
        last.begin(stack_pointer, |place| memory.get(&place).copied());
        let mut n_walked = 0;
        let mut is_known = false;
        for &(place, address) in stack {
            n_walked += 1;
            if last.step(place, address) == Walk::Known {
                is_known = true;
                break;
            }
        }
        if !is_known {
            last.reached_end();
        }
        let n_stayed = last.n_stayed();
        last.name(|outer, address| {
            let path = (outer.map(|path| path.0), address);
            let known = paths.iter().position(|known| *known == path);
            let id = known.unwrap_or_else(|| {
                paths.push(path);
                paths.len() - 1
            });
            u32::try_from(id).ok().map(PathId)
        });
        (n_walked, n_stayed)
    }

    #[test]
    fn what_changed_is_walked_and_the_rest_stays() {
        let (mut last, mut paths) = (LastStack::new(64), Vec::new());
        assert_eq!(sample(&mut last, &[(70, 3), (80, 2), (90, 1)], &mut paths), (3, 0));
        // The innermost frame has returned, another two were called.
        assert_eq!(sample(&mut last, &[(60, 5), (70, 4), (80, 2), (90, 1)], &mut paths), (3, 2));
        assert_eq!(last.ends_with(60, 5), Some(PathId(4)));
        assert_eq!(last.ends_with(60, 4), None);
        // Nothing happened.
        assert_eq!(sample(&mut last, &[(60, 5), (70, 4), (80, 2), (90, 1)], &mut paths), (1, 4));
        // An outer frame went, the inner ones look alike.
        assert_eq!(sample(&mut last, &[(60, 5), (70, 4), (80, 9), (90, 1)], &mut paths), (4, 1));
        assert_eq!(paths.len(), 3 + 2 + 3);
        assert_eq!(sample(&mut last, &[(90, 1)], &mut paths), (1, 1));
    }

    #[test]
    fn own_frames_are_found_again_and_no_others() {
        let mut own = OwnFrames::at(7);
        own.push(8, 71);
        own.push(40, 72);
        let mut memory = BTreeMap::from([(108, 71), (140, 72), (156, 3)]);
        assert_eq!(
            own.place(7, 100, |place| memory.get(&place).copied()),
            None,
            "it is not walked to its end"
        );
        own.end(56);
        assert_eq!(own.place(7, 100, |place| memory.get(&place).copied()), Some(156));
        assert_eq!(
            own.place(8, 100, |place| memory.get(&place).copied()),
            None,
            "another place in the recorder"
        );
        assert_eq!(own.place(7, 101, |place| memory.get(&place).copied()), None);
        memory.insert(140, 73);
        assert_eq!(
            own.place(7, 100, |place| memory.get(&place).copied()),
            None,
            "another function was called"
        );
        let mut deep = OwnFrames::at(7);
        (1..=7).for_each(|i| deep.push(8 * i, i));
        deep.end(64);
        assert_eq!(deep.place(7, 0, |place| Some(place / 8)), None, "there is no room for so many");
    }

    #[test]
    fn frames_of_another_size_are_other_frames() {
        let (mut last, mut paths) = (LastStack::new(64), Vec::new());
        sample(&mut last, &[(70, 3), (80, 2), (90, 1)], &mut paths);
        assert_eq!(sample(&mut last, &[(72, 3), (90, 1)], &mut paths), (2, 1));
        assert_eq!(sample(&mut last, &[(80, 1), (96, 7)], &mut paths), (2, 0));
    }

    #[test]
    fn a_deep_stack_is_refused_and_walked_once() {
        let (mut last, mut paths) = (LastStack::new(1000), Vec::new());
        let deep = |n: u64| -> Vec<(u64, u64)> { (0..n).map(|i| (100_000 - 16 * (n - i), n - i)).collect() };
        assert_eq!(sample(&mut last, &deep(900), &mut paths), (900, 0));
        assert_eq!(sample(&mut last, &deep(905), &mut paths), (6, 900));
        last.begin(0, |_| None);
        let n = (0..).take_while(|&i| last.step(1_000_000 - 8 * i, 1) == Walk::Further).count();
        assert_eq!(n, 999);
    }
}
