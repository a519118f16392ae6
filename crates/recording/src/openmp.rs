//! Constructs of OpenMP as regions, and numbers of teams.
//!
//! ```text
//! team of an event = FIRST_TEAM + epoch · TEAM_SIZES + threads
//! ```
//! An epoch begins when a runtime creates threads for a fork, so that the same number means the same threads. Law: the
//! number is known at the fork without asking anybody; which locations are its members, each of them writes down.

use ouzel_otf2::records::enums::RegionRole;

macro_rules! constructs {
    ($($construct:ident $word:literal $name:literal $role:ident;)*) => {
        /// A construct that is a region.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Construct {
            $(#[doc = $name] $construct,)*
        }

        impl Construct {
            /// All of them.
            pub const ALL: &[Construct] = &[$(Construct::$construct,)*];

            /// As journals name it.
            pub fn word(self) -> &'static str {
                match self { $(Construct::$construct => $word,)* }
            }

            /// As Score-P names its regions, without their place.
            pub fn name(self) -> &'static str {
                match self { $(Construct::$construct => $name,)* }
            }

            /// The role of its regions.
            pub fn role(self) -> RegionRole {
                match self { $(Construct::$construct => RegionRole::$role,)* }
            }
        }
    };
}

constructs! {
    Parallel "parallel" "!$omp parallel" Parallel;
    ImplicitBarrier "implicit-barrier" "!$omp implicit barrier" ImplicitBarrier;
    Barrier "barrier" "!$omp barrier" Barrier;
    Loop "for" "!$omp for" Loop;
    Sections "sections" "!$omp sections" Sections;
    Single "single" "!$omp single" Single;
    Critical "critical" "!$omp critical" Critical;
    CriticalBlock "critical-block" "!$omp critical sblock" CriticalSblock;
    Ordered "ordered" "!$omp ordered" Ordered;
    OrderedBlock "ordered-block" "!$omp ordered sblock" OrderedSblock;
    Task "task" "!$omp task" Task;
    TaskWait "taskwait" "!$omp taskwait" TaskWait;
    TaskGroup "taskgroup" "!$omp taskgroup" TaskWait;
    SetLock "set-lock" "!$omp set_lock" Function;
}

impl Construct {
    /// The construct of a word.
    pub fn of_word(word: &str) -> Option<Self> {
        Construct::ALL.iter().copied().find(|construct| construct.word() == word)
    }

    /// Whether its address is that of the function that compilers make of its body; else that of a call.
    pub fn is_body(self) -> bool {
        matches!(self, Construct::Parallel | Construct::Task)
    }
}

/// The number of the first team; communicators of MPI have smaller ones.
pub const FIRST_TEAM: u32 = 1 << 30;
/// Threads of a team are fewer: a process records no more at the same time.
const TEAM_SIZES: u32 = 1 << 13;
/// Epochs of a process.
pub const N_EPOCHS: u32 = (u32::MAX - FIRST_TEAM) / TEAM_SIZES;

/// The number of a team; none if there are no more numbers.
pub fn team(epoch: u32, n_threads: u32) -> Option<u32> {
    (epoch < N_EPOCHS && n_threads < TEAM_SIZES).then(|| FIRST_TEAM + epoch * TEAM_SIZES + n_threads)
}

/// Regions that are open at a thread: which construct, and as events refer to it.
#[derive(Debug)]
pub struct OpenConstructs {
    open: [(Construct, u32); N_OPEN],
    n: usize,
    /// Regions that were not kept, inside of those that were.
    n_beyond: u32,
}

/// Constructs that are open at a thread at once. Bodies of parallel regions and tasks have a list of their own.
const N_OPEN: usize = 64;

impl Default for OpenConstructs {
    fn default() -> Self {
        OpenConstructs::new()
    }
}

impl OpenConstructs {
    /// None.
    pub const fn new() -> Self {
        OpenConstructs { open: [(Construct::Parallel, 0); N_OPEN], n: 0, n_beyond: 0 }
    }

    /// Enters a region; whether it is kept.
    pub fn enter(&mut self, construct: Construct, region: u32) -> bool {
        if self.n == N_OPEN || self.n_beyond != 0 {
            self.n_beyond += 1;
            return false;
        }
        self.open[self.n] = (construct, region);
        self.n += 1;
        true
    }

    /// Leaves the region that a call ends: the innermost one, if it is of this construct.
    pub fn leave(&mut self, construct: Construct) -> Option<u32> {
        if self.n_beyond != 0 {
            self.n_beyond -= 1;
            return None;
        }
        self.leave_innermost(construct)
    }

    /// Leaves the innermost region if there is one of this construct.
    pub fn leave_innermost(&mut self, construct: Construct) -> Option<u32> {
        if self.n_beyond != 0 {
            return None;
        }
        let (found, region) = self.open[..self.n].last().copied()?;
        (found == construct).then(|| {
            self.n -= 1;
            region
        })
    }

    /// Leaves the innermost region, if more than so many are open.
    pub fn leave_beyond(&mut self, n: usize) -> Option<u32> {
        self.n_beyond = 0;
        (n < self.n).then(|| {
            self.n -= 1;
            self.open[self.n].1
        })
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_constructs() {
        for &construct in Construct::ALL {
            assert_eq!(Construct::of_word(construct.word()), Some(construct));
        }
        assert_eq!(Construct::of_word("simd"), None);
    }

    #[test]
    fn numbers_of_teams_differ() {
        assert_eq!(team(0, 4), Some(FIRST_TEAM + 4));
        assert!(team(0, TEAM_SIZES - 1) < team(1, 1));
        assert!(team(N_EPOCHS - 1, TEAM_SIZES - 1).is_some());
        assert_eq!((team(N_EPOCHS, 1), team(0, TEAM_SIZES)), (None, None));
    }

    #[test]
    fn constructs_are_left_in_order() {
        let mut open = OpenConstructs::new();
        assert!(open.enter(Construct::Loop, 7) && open.enter(Construct::Critical, 8));
        assert_eq!(open.leave(Construct::Loop), None);
        assert_eq!(open.leave(Construct::Critical), Some(8));
        assert_eq!((open.leave_beyond(1), open.leave_beyond(0), open.leave_beyond(0)), (None, Some(7), None));
    }

    #[test]
    fn what_is_too_deep_is_left_in_pairs() {
        let mut open = OpenConstructs::new();
        let n_kept = (0..N_OPEN + 3).filter(|_| open.enter(Construct::Critical, 1)).count();
        let n_left = (0..N_OPEN + 3).filter(|_| open.leave(Construct::Critical).is_some()).count();
        assert_eq!((n_kept, n_left, open.is_empty()), (N_OPEN, N_OPEN, true));
    }
}
