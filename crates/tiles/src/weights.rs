//! The time of each call path in a bin, and who holds most of it.

use crate::N_SHARES;
use ouzel_model::{CallPathId, CallPathTree, Ticks};

/// Call paths that a bin remembers after a merge. With 16, the right path was found as often as with all.
const N_KEPT: usize = 16;

/// The callers of the paths of one location.
#[derive(Debug, Default)]
pub(crate) struct Parents(Vec<Option<CallPathId>>);

impl Parents {
    /// Remembers the caller of a path; whether it is new.
    pub fn note(&mut self, path: CallPathId, parent: CallPathId) -> bool {
        if self.0.len() <= path.index() {
            self.0.resize(path.index() + 1, None);
        }
        self.0[path.index()].replace(parent).is_none()
    }

    fn of(&self, path: CallPathId) -> CallPathId {
        self.0.get(path.index()).copied().flatten().unwrap_or(CallPathTree::ROOT)
    }
}

/// The time of call paths, in the order in which they first occur: numbers of paths differ from pass to pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Weights {
    paths: Vec<(CallPathId, u64)>,
    /// Ticks by category, exact.
    pub shares: [u64; N_SHARES],
    /// Ticks in all.
    total: u64,
}

impl Weights {
    /// Adds time of a path of this category.
    pub fn add(&mut self, path: CallPathId, ticks: Ticks, category: u8) {
        self.add_path(path, ticks.0);
        self.total += ticks.0;
        if let Some(share) = self.shares.get_mut(usize::from(category)) {
            *share += ticks.0;
        }
    }

    fn add_path(&mut self, path: CallPathId, ticks: u64) {
        match self.paths.iter_mut().find(|(known, _)| *known == path) {
            Some((_, sum)) => *sum += ticks,
            None => self.paths.push((path, ticks)),
        }
    }

    /// Adds what comes after. What does not fit counts for its caller.
    pub fn append(&mut self, later: &Weights, parents: &Parents) {
        later.paths.iter().for_each(|&(path, ticks)| self.add_path(path, ticks));
        self.total += later.total;
        for (share, more) in self.shares.iter_mut().zip(later.shares) {
            *share += more;
        }
        while 2 * N_KEPT < self.paths.len() {
            self.shorten(parents);
        }
    }

    /// Hands the time of all but the heaviest paths to their callers; outermost ones have no caller, and lose it.
    fn shorten(&mut self, parents: &Parents) {
        let mut order: Vec<usize> = (0..self.paths.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(self.paths[at].1));
        let mut is_kept = vec![false; self.paths.len()];
        order[..N_KEPT].iter().for_each(|&at| is_kept[at] = true);
        let old = std::mem::take(&mut self.paths);
        let (kept, light): (Vec<_>, Vec<_>) = old.into_iter().zip(is_kept).partition(|(_, is_kept)| *is_kept);
        self.paths = kept.into_iter().map(|(entry, _)| entry).collect();
        for ((path, ticks), _) in light {
            let parent = parents.of(path);
            if parent != CallPathTree::ROOT {
                self.add_path(parent, ticks);
            }
        }
    }

    /// The time of each category, of 255 for a bin of `1 << log2` ticks, rounded to the nearest.
    pub fn shares_of(&self, log2: u32) -> [u8; N_SHARES] {
        // Divisions, and numbers of 128 bits where they are not needed, would take a tenth of the whole pass.
        if log2 < u64::BITS - u8::BITS && self.total >> log2 <= 1 {
            let half = (1_u64 << log2) / 2;
            return self.shares.map(|ticks| ((ticks * 255 + half) >> log2).min(255) as u8);
        }
        let half = 1_u128.checked_shl(log2).unwrap_or(u128::MAX) / 2;
        let share =
            |ticks: u64| (u128::from(ticks) * 255).saturating_add(half).checked_shr(log2).unwrap_or(0);
        self.shares.map(|ticks| share(ticks).min(255) as u8)
    }

    /// Forgets everything, but keeps the memory.
    pub fn clear(&mut self) {
        self.paths.clear();
        (self.shares, self.total) = Default::default();
    }

    /// The path that a bin of this width shows; `None` if nobody's time is most of it.
    pub fn dominant(&self, width: u64, parents: &Parents, ways: &mut Ways) -> Option<CallPathId> {
        // The usual case, and the answer of the descent, too.
        if let Some(&(path, _)) = self.paths.iter().find(|(_, ticks)| width / 2 < *ticks) {
            return Some(path);
        }
        ways.find(&self.paths, parents);
        let nobodys = width - self.total.min(width);
        let mut at = CallPathTree::ROOT;
        for depth in 0.. {
            let own = ways.own(depth, &self.paths);
            match ways.heaviest(depth, &self.paths) {
                Some((child, ticks)) if own < ticks => {
                    if at == CallPathTree::ROOT && ticks < nobodys {
                        return None;
                    }
                    at = child;
                    ways.enter(depth, child);
                }
                _ if at == CallPathTree::ROOT => return (nobodys <= own).then_some(at),
                _ => break,
            }
        }
        Some(at)
    }
}

/// The ways from the root to the paths of a bin, while it is looked at; kept for the sake of its memory.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    /// All ways, one after the other.
    paths: Vec<CallPathId>,
    /// Those that lead through what is found so far: the place of their path in the bin, begin and end.
    open: Vec<(usize, usize, usize)>,
    children: Vec<(CallPathId, u64)>,
}

impl Ways {
    fn find(&mut self, paths: &[(CallPathId, u64)], parents: &Parents) {
        self.paths.clear();
        self.open.clear();
        for (place, &(path, _)) in paths.iter().enumerate() {
            let begin = self.paths.len();
            let mut at = path;
            while at != CallPathTree::ROOT {
                self.paths.push(at);
                at = parents.of(at);
            }
            self.paths[begin..].reverse();
            self.open.push((place, begin, self.paths.len()));
        }
    }

    /// The time of the path that ends at this depth.
    fn own(&self, depth: usize, paths: &[(CallPathId, u64)]) -> u64 {
        let ends = self.open.iter().find(|(_, begin, end)| begin + depth == *end);
        ends.map_or(0, |&(place, ..)| paths[place].1)
    }

    /// Of the calls at this depth the one with most time, and of equals the first.
    fn heaviest(&mut self, depth: usize, paths: &[(CallPathId, u64)]) -> Option<(CallPathId, u64)> {
        self.children.clear();
        for &(place, begin, end) in &self.open {
            if begin + depth == end {
                continue;
            }
            let child = self.paths[begin + depth];
            match self.children.iter_mut().find(|(known, _)| *known == child) {
                Some((_, sum)) => *sum += paths[place].1,
                None => self.children.push((child, paths[place].1)),
            }
        }
        self.children.iter().copied().reduce(|best, next| if best.1 < next.1 { next } else { best })
    }

    /// Goes on with what is below `child`.
    fn enter(&mut self, depth: usize, child: CallPathId) {
        let Ways { paths, open, .. } = self;
        open.retain(|&(_, begin, end)| begin + depth != end && paths[begin + depth] == child);
    }
}
