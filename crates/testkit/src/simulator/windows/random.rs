//! Programs of windows from a seed, which cannot deadlock: all ranks go through the same phases.

use super::{BlockAt, WindowStep};
use crate::rng::Rng;

/// A program of windows, made from a seed.
#[derive(Debug)]
pub struct RandomWindows {
    /// The steps of each rank.
    pub ranks: Vec<Vec<WindowStep>>,
    /// The number of windows.
    pub n_windows: usize,
    /// Which call waits.
    pub block_at: BlockAt,
}

/// Two to five ranks on one or two windows, which go through the same phases: fences, epochs of groups, and locks. Times
/// are small numbers, so that equal ones are frequent. Locks that are asked for late are held for a tick at least: who held one first for no time is not
/// recorded. Equal seeds give equal programs.
pub fn random_windows(seed: u64) -> RandomWindows {
    let mut rng = Rng::new(seed);
    let block_at = [BlockAt::First, BlockAt::First, BlockAt::Access, BlockAt::Last][rng.below(4) as usize];
    let n_windows = 1 + rng.below(2) as usize;
    let n_ranks = 2 + rng.below(4) as usize;
    let mut phases = Phases { rng, ranks: vec![Vec::new(); n_ranks], takes_time: block_at == BlockAt::First };
    for window in 0..n_windows {
        phases.together(&WindowStep::Create(window));
    }
    for _ in 0..2 + phases.rng.below(5) {
        let window = phases.rng.below(n_windows as u64) as usize;
        match phases.rng.below(3) {
            0 => phases.fence(window),
            1 => phases.groups(window),
            _ => phases.locks(window),
        }
    }
    for window in 0..n_windows {
        phases.together(&WindowStep::Free(window));
    }
    RandomWindows { ranks: phases.ranks, n_windows, block_at }
}

/// A program in the making.
struct Phases {
    rng: Rng,
    ranks: Vec<Vec<WindowStep>>,
    takes_time: bool,
}

impl Phases {
    fn work(&mut self, rank: usize) {
        let ticks = self.rng.below(30) * self.rng.below(3);
        self.ranks[rank].push(WindowStep::Work(ticks));
    }

    fn together(&mut self, step: &WindowStep) {
        for rank in 0..self.ranks.len() {
            self.work(rank);
            self.ranks[rank].push(step.clone());
        }
    }

    /// Accesses to some of these ranks, with work in between.
    fn accesses(&mut self, rank: usize, window: usize, targets: &[usize]) {
        for _ in 0..self.rng.below(4) {
            let target = targets[self.rng.below(targets.len() as u64) as usize];
            let ticks = if self.takes_time { self.rng.below(12) } else { 0 };
            self.ranks[rank].push(WindowStep::Access(window, target, ticks));
            self.work(rank);
        }
    }

    fn fence(&mut self, window: usize) {
        self.together(&WindowStep::Fence(window));
        let all: Vec<usize> = (0..self.ranks.len()).collect();
        for &rank in &all {
            self.accesses(rank, window, &all);
        }
        self.together(&WindowStep::Fence(window));
    }

    fn groups(&mut self, window: usize) {
        let n = self.ranks.len();
        let mut targets_of = vec![Vec::new(); n];
        let mut origins_of = vec![Vec::new(); n];
        for (origin, targets) in targets_of.iter_mut().enumerate() {
            for (target, origins) in origins_of.iter_mut().enumerate() {
                if target != origin && self.rng.below(2) == 0 {
                    targets.push(target);
                    origins.push(origin);
                }
            }
        }
        for rank in 0..n {
            self.work(rank);
            let (targets, origins) = (targets_of[rank].clone(), origins_of[rank].clone());
            if !origins.is_empty() {
                self.ranks[rank].push(WindowStep::Post(window, origins.clone()));
                self.work(rank);
            }
            if !targets.is_empty() {
                self.ranks[rank].push(WindowStep::Start(window, targets.clone()));
                self.work(rank);
                self.accesses(rank, window, &targets);
                self.ranks[rank].push(WindowStep::Complete(window));
                self.work(rank);
            }
            if !origins.is_empty() {
                self.ranks[rank].push(WindowStep::Wait(window));
            }
        }
    }

    fn locks(&mut self, window: usize) {
        let n = self.ranks.len();
        for rank in 0..n {
            for _ in 0..self.rng.below(4) {
                self.work(rank);
                let (target, is_alone) = (self.rng.below(n as u64) as usize, self.rng.below(2) == 0);
                self.ranks[rank].push(WindowStep::Lock(window, target, is_alone));
                self.work(rank);
                self.accesses(rank, window, &[target]);
                if !self.takes_time {
                    self.ranks[rank].push(WindowStep::Work(1));
                }
                self.ranks[rank].push(WindowStep::Unlock(window, target));
            }
        }
    }
}
