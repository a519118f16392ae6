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

    /// The child of `above` on the way to `path`; `None` if `path` is not below it.
    fn step(&self, above: CallPathId, path: CallPathId) -> Option<CallPathId> {
        let mut at = path;
        while at != CallPathTree::ROOT {
            let parent = self.of(at);
            if parent == above {
                return Some(at);
            }
            at = parent;
        }
        None
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

    /// The path that a bin of this width shows; `None` if nobody's time is most of it.
    pub fn dominant(&self, width: u64, parents: &Parents) -> Option<CallPathId> {
        // The usual case, and the answer of the descent, too.
        if let Some(&(path, _)) = self.paths.iter().find(|(_, ticks)| width / 2 < *ticks) {
            return Some(path);
        }
        let mut at = CallPathTree::ROOT;
        loop {
            let own = self.paths.iter().find(|(path, _)| *path == at).map_or(0, |(_, ticks)| *ticks);
            let mut children: Vec<(CallPathId, u64)> = Vec::new();
            for &(path, ticks) in &self.paths {
                let Some(child) = parents.step(at, path) else { continue };
                match children.iter_mut().find(|(known, _)| *known == child) {
                    Some((_, sum)) => *sum += ticks,
                    None => children.push((child, ticks)),
                }
            }
            // Of equals, the first.
            let heaviest =
                children.into_iter().reduce(|best, next| if best.1 < next.1 { next } else { best });
            match heaviest {
                Some((child, ticks)) if own < ticks => {
                    if at == CallPathTree::ROOT && ticks < width - self.total.min(width) {
                        return None;
                    }
                    at = child;
                }
                _ if at == CallPathTree::ROOT => return (width - self.total.min(width) <= own).then_some(at),
                _ => return Some(at),
            }
        }
    }
}
