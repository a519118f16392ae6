//! Unmarked loops, found in the sequence of children of a call.
//!
//! A body that comes three times in a row is a loop; when it comes once more, it is the next
//! iteration. The smallest body wins, and a loop is an element of the sequence like any
//! other, so loops nest. To find the same loops on every location, there are two levels:
//! *anchors* are children that synchronise or contain one that does, and all locations have the
//! same of them; an anchor and the children before it are one block, and blocks are compared
//! by their anchors alone. Between anchors, children are compared among themselves.
//! Law: which loops are found between anchors depends on the anchors alone.
//! The iterations are processed elsewhere: see [`iterations`](crate::iterations).
//!
//! Source: nested loop recognition after Ketterlin and Clauss (CGO'08), reduced to equal keys.

/// Most elements of a body: loops with longer bodies are not found.
const BODY_MAX: usize = 64;
/// Number of times a body must occur to be a loop.
pub(crate) const REPEATS_MIN: usize = 3;

/// A position in the observed sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Index of a token, or of a child.
    pub at: u32,
    /// Index of the first closed loop after it.
    pub aux: u32,
}

/// A loop as an element of the sequence.
#[derive(Debug, Clone, Copy)]
struct LoopItem {
    /// Its place in the sequence.
    at: u32,
    /// Index of the loop.
    found: u32,
    /// Whether it has grown since it was examined as an element itself.
    unchecked: bool,
}

/// A loop whose iterations are being found.
#[derive(Debug)]
pub struct GrowingLoop<K> {
    /// Its key.
    pub key: K,
    /// Keys of the elements of an iteration.
    pub body: Vec<K>,
    /// Where the iterations begin that were not removed.
    pub starts: Vec<Mark>,
    /// The observer's id for it once its iterations were removed.
    pub slot: Option<u32>,
    /// Whether its elements are blocks.
    pub is_anchored: bool,
}

/// A loop has a new iteration, or is new and has the first three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grown {
    /// Index of the loop.
    pub found: u32,
    /// Where the last iteration ends.
    pub end: Mark,
    /// Whether the loop is new.
    pub is_new: bool,
}

/// The part of the sequence that belongs to one open call.
#[derive(Debug, Clone, Copy)]
pub struct SequenceScope {
    /// Index of its first element.
    base: u32,
    /// Index of its first element after the last anchor.
    stretch: u32,
}

/// Finds loops in the sequences of calls that are open inside of each other.
#[derive(Debug)]
pub struct Recogniser<K> {
    /// The elements of the sequences: children, blocks and loops. Keys are in a list of their own, as they are what is
    /// searched.
    keys: Vec<K>,
    /// For each element where it starts.
    starts: Vec<Mark>,
    /// For each element how far behind the last one of the same key and level it is; 0 if that is more than a body.
    same: Vec<u8>,
    /// The elements that are loops, in order.
    loops: Vec<LoopItem>,
    found: Vec<GrowingLoop<K>>,
    free: Vec<u32>,
}

impl<K> Default for Recogniser<K> {
    fn default() -> Self {
        Recogniser {
            keys: Vec::new(),
            starts: Vec::new(),
            same: Vec::new(),
            loops: Vec::new(),
            found: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<K: Copy + Eq> Recogniser<K> {
    /// The scope of a call that is entered.
    #[inline]
    pub fn open(&self) -> SequenceScope {
        let base = self.keys.len() as u32;
        SequenceScope { base, stretch: base }
    }

    /// A loop.
    pub fn found(&mut self, found: u32) -> &mut GrowingLoop<K> {
        &mut self.found[found as usize]
    }

    /// Whether nothing was observed in the innermost scope.
    #[inline]
    pub fn is_empty(&self, scope: SequenceScope) -> bool {
        self.keys.len() == scope.base as usize
    }

    /// Call this before a child is passed on: a loop at the end of the stretch that `key` does not continue may end
    /// an iteration of an outer loop. The stretch ends at `end`.
    #[inline]
    pub(crate) fn settle_stretch(
        &mut self,
        scope: SequenceScope,
        key: Option<K>,
        end: Mark,
        loop_key: impl FnMut(&[K]) -> K,
    ) -> Option<Grown> {
        if scope.stretch as usize == self.keys.len() {
            return None;
        }
        self.settle(scope.stretch as usize, key, end, loop_key)
    }

    /// The same for blocks; call this before an anchor is passed on. Only the start of the stretch is kept.
    pub(crate) fn settle_blocks(
        &mut self,
        scope: SequenceScope,
        key: Option<K>,
        end: Mark,
        loop_key: impl FnMut(&[K]) -> K,
    ) -> Option<Grown> {
        if scope.base == scope.stretch {
            return None;
        }
        // The last block ends where the stretch begins.
        let stretch = scope.stretch as usize;
        let first = self.starts.get(stretch).copied();
        self.truncate(stretch);
        self.settle(scope.base as usize, key, first.unwrap_or(end), loop_key)
    }

    /// Where the stretch begins, if anything is in it.
    pub(crate) fn stretch_start(&self, scope: SequenceScope) -> Option<Mark> {
        self.starts.get(scope.stretch as usize).copied()
    }

    /// A child without an anchor is complete, from `start` to `end`.
    #[inline]
    pub fn child(
        &mut self,
        scope: SequenceScope,
        key: K,
        [start, end]: [Mark; 2],
        loop_key: impl FnMut(&[K]) -> K,
    ) -> Option<Grown> {
        self.element(scope.stretch, key, start, end, loop_key)
    }

    /// A child that is or has an anchor is complete; its block reaches from `start`, where the stretch began, to `end`.
    pub fn anchor(
        &mut self,
        scope: &mut SequenceScope,
        key: K,
        [start, end]: [Mark; 2],
        loop_key: impl FnMut(&[K]) -> K,
    ) -> Option<Grown> {
        self.truncate(scope.stretch as usize);
        let grown = self.element(scope.base, key, start, end, loop_key);
        if let Some(Grown { found, is_new: true, .. }) = grown {
            self.found[found as usize].is_anchored = true;
        }
        scope.stretch = self.keys.len() as u32;
        grown
    }

    /// Forgets the sequence of the innermost scope.
    pub fn close(&mut self, scope: SequenceScope) {
        self.truncate(scope.base as usize);
    }

    /// Appends an element to the level that begins at `low`.
    #[inline]
    fn element(
        &mut self,
        low: u32,
        key: K,
        start: Mark,
        end: Mark,
        loop_key: impl FnMut(&[K]) -> K,
    ) -> Option<Grown> {
        let low = low as usize;
        self.push(low, key, start);
        if low + 1 < self.keys.len() { self.check(low, end, loop_key) } else { None }
    }

    /// Appends an element to the level that begins at `low`, without a look at what it is part of.
    #[inline]
    fn push(&mut self, low: usize, key: K, start: Mark) {
        let from = low.max(self.keys.len().saturating_sub(BODY_MAX));
        let before = &self.keys[from..];
        let same = before.iter().rposition(|it| *it == key).map_or(0, |at| before.len() - at);
        self.same.push(same as u8);
        self.keys.push(key);
        self.starts.push(start);
    }

    fn settle(
        &mut self,
        low: usize,
        key: Option<K>,
        end: Mark,
        loop_key: impl FnMut(&[K]) -> K,
    ) -> Option<Grown> {
        let n = self.keys.len() as u32;
        let last = self.loops.last_mut().filter(|last| low < n as usize && last.at + 1 == n)?;
        // Elements that begin like an iteration may be the next one.
        if !last.unchecked || key.is_some_and(|key| self.found[last.found as usize].body[0] == key) {
            return None;
        }
        last.unchecked = false;
        self.check(low, end, loop_key)
    }

    /// Whether the last elements are an iteration of the loop before them, or a body that comes for the third time.
    fn check(&mut self, low: usize, end: Mark, mut loop_key: impl FnMut(&[K]) -> K) -> Option<Grown> {
        let keys = &self.keys[low..];
        let n = keys.len();
        let most = BODY_MAX.min(n - 1);
        // The loops of this level, each with the number of elements behind it.
        let loops = self.loops.iter().enumerate().rev().take_while(|(_, it)| low <= it.at as usize);
        let mut loops = loops.map(|(i, it)| (i, low + n - 1 - it.at as usize)).take_while(|it| it.1 <= most);
        let body = |i: usize| &self.found[self.loops[i].found as usize].body;
        let next = loops.find(|&(i, p)| 0 < p && *body(i) == keys[n - p..]);
        let most_new = next.map_or(most, |(_, p)| p - 1).min(n / REPEATS_MIN);
        // A body ends with an element like the last one, and so does the body before it.
        let same = &self.same[low..];
        let (last, mut p) = (keys[n - 1], usize::from(same[n - 1]));
        while p != 0 && p <= most_new {
            let is_repeated = keys[n - 1 - 2 * p] == last
                && keys[n - REPEATS_MIN * p..n - p] == keys[n - (REPEATS_MIN - 1) * p..];
            if is_repeated {
                let (body, first) = (keys[n - p..].to_vec(), low + n - REPEATS_MIN * p);
                let starts = (0..REPEATS_MIN).map(|i| self.starts[first + i * p]).collect();
                return Some(self.form((low, first), body, starts, end, &mut loop_key));
            }
            match same[n - 1 - p] {
                0 => break,
                more => p += usize::from(more),
            }
        }
        let (i, p) = next?;
        let (found, start) = (self.loops[i].found, self.starts[low + n - p]);
        self.truncate(low + n - p);
        self.loops[i].unchecked = true;
        self.found[found as usize].starts.push(start);
        Some(Grown { found, end, is_new: false })
    }

    fn form(
        &mut self,
        (low, first): (usize, usize),
        body: Vec<K>,
        starts: Vec<Mark>,
        end: Mark,
        loop_key: &mut impl FnMut(&[K]) -> K,
    ) -> Grown {
        let (key, start) = (loop_key(&body), starts[0]);
        self.truncate(first);
        let new = GrowingLoop { key, body, starts, slot: None, is_anchored: false };
        let found = match self.free.pop() {
            Some(found) => {
                self.found[found as usize] = new;
                found
            }
            None => {
                self.found.push(new);
                self.found.len() as u32 - 1
            }
        };
        self.loops.push(LoopItem { at: first as u32, found, unchecked: true });
        self.push(low, key, start);
        Grown { found, end, is_new: true }
    }

    /// Forgets the elements from `first` on, and the loops among them.
    #[inline]
    fn truncate(&mut self, first: usize) {
        self.keys.truncate(first);
        self.starts.truncate(first);
        self.same.truncate(first);
        while let Some(gone) = self.loops.pop_if(|it| first <= it.at as usize) {
            self.free.push(gone.found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outermost loops of a text of children as `body×iterations@start`; upper case is an anchor, `*` a loop.
    fn loops(text: &str) -> Vec<String> {
        let mut recogniser = Recogniser::<char>::default();
        let mut scope = recogniser.open();
        let mark = |at: usize| Mark { at: at as u32, aux: 0 };
        let key = |_: &[char]| '*';
        let mut loops: Vec<(u32, String)> = Vec::new();
        let mut see = |recogniser: &mut Recogniser<char>, grown: Option<Grown>| {
            let Some(grown) = grown else { return };
            let GrowingLoop { body, starts, .. } = recogniser.found(grown.found);
            loops.retain(|(start, _)| *start < starts[0].at);
            let body: String = body.iter().collect();
            loops.push((starts[0].at, format!("{body}×{}@{}", starts.len(), starts[0].at)));
        };
        for (i, c) in text.chars().enumerate() {
            let grown = recogniser.settle_stretch(scope, Some(c), mark(i), key);
            see(&mut recogniser, grown);
            let grown = if c.is_uppercase() {
                let start = recogniser.stretch_start(scope).unwrap_or(mark(i));
                let grown = recogniser.settle_blocks(scope, Some(c), mark(i), key);
                see(&mut recogniser, grown);
                recogniser.anchor(&mut scope, c, [start, mark(i + 1)], key)
            } else {
                recogniser.child(scope, c, [mark(i), mark(i + 1)], key)
            };
            see(&mut recogniser, grown);
        }
        let grown = recogniser.settle_stretch(scope, None, mark(text.len()), key);
        see(&mut recogniser, grown);
        let grown = recogniser.settle_blocks(scope, None, mark(text.len()), key);
        see(&mut recogniser, grown);
        loops.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn the_smallest_body_that_comes_three_times_is_a_loop() {
        assert_eq!(loops("xababab"), ["ab×3@1"]);
        assert_eq!(loops("aab"), [""; 0]);
        assert_eq!(loops("aaaaaaa"), ["a×7@0"]);
        assert_eq!(loops("abcabcab"), [""; 0]);
        assert_eq!(loops("aaaxbbbb"), ["a×3@0", "b×4@4"]);
    }

    #[test]
    fn loops_nest() {
        assert_eq!(loops("aaabaaaabaaabx"), ["*b×3@0"]);
        // The inner loop ends the iteration: only the next element shows that it is complete.
        assert_eq!(loops("baaabaaaabaaabaaac"), ["b*×4@0"]);
        assert_eq!(loops("baaabaaaabaaabaaa"), ["b*×4@0"]);
        assert_eq!(loops("BAAABAAAABAAABAAAcC"), ["B*×4@0"]);
    }

    #[test]
    fn anchors_decide_and_what_is_between_does_not() {
        // One location receives, another sends, in the same loop.
        assert_eq!(loops("asAasAasA"), ["A×3@0"]);
        assert_eq!(loops("arrwrAarrrrwAaAx"), ["A×3@0"]);
        assert_eq!(loops("Abbb"), ["b×3@1"]);
        assert_eq!(loops("ABABABAB"), ["AB×4@0"]);
        assert_eq!(loops("aAbBcAcBcAcB"), ["AB×3@0"]);
    }
}
