//! What a rank does while it is on the critical path.
//!
//! A segment that stays on the rank is not all computation: a call of MPI copies data, makes
//! progress or waits for its own sends. Law: a call path in or below MPI is never work.

use super::waits::SegmentKind;
use crate::semantics::{Category, Class, Family};
use ouzel_model::{CallPathTree, Ticks};

/// What time on the path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// The program's own code.
    Working,
    /// In calls of MPI, SHMEM or NCCL where the path stays on the rank.
    InMpi,
    /// In calls that wait for threads, locks or an accelerator.
    Waiting,
    /// In a message that is waited for.
    Message,
    /// In a collective after the last arrival.
    Collective,
    /// From a launch until the operation of the accelerator begins.
    Launch,
}

impl Activity {
    /// Every activity.
    pub const ALL: [Activity; 6] = [
        Activity::Working,
        Activity::InMpi,
        Activity::Waiting,
        Activity::Message,
        Activity::Collective,
        Activity::Launch,
    ];

    /// The term in snake case, as tables and JSON show it.
    pub fn as_str(self) -> &'static str {
        match self {
            Activity::Working => "working",
            Activity::InMpi => "in_mpi",
            Activity::Waiting => "waiting",
            Activity::Message => "message",
            Activity::Collective => "collective",
            Activity::Launch => "launch",
        }
    }

    /// The activity in words.
    pub fn in_words(self) -> &'static str {
        match self {
            Activity::Working => "working",
            Activity::InMpi => "in MPI",
            Activity::Waiting => "waiting for threads or devices",
            Activity::Message => "in a message",
            Activity::Collective => "in a collective",
            Activity::Launch => "launching",
        }
    }

    /// That of a segment, given what the call path does that takes most of it.
    pub(crate) fn of_segment(kind: SegmentKind, of_path: Activity) -> Activity {
        match kind {
            SegmentKind::Local => of_path,
            SegmentKind::Message => Activity::Message,
            SegmentKind::Collective => Activity::Collective,
            SegmentKind::Launch => Activity::Launch,
            SegmentKind::Synchronization => Activity::Waiting,
        }
    }
}

/// What each call path does in a segment without a wait. `classes` are those of the regions.
pub fn activities(call_paths: &CallPathTree, classes: &[Class]) -> Vec<Activity> {
    let mut activities = vec![Activity::Working; call_paths.len()];
    for path in call_paths.paths() {
        let Some(class) = call_paths.region(path).and_then(|region| classes.get(region.index())) else {
            continue;
        };
        activities[path.index()] = match activities[call_paths.parent(path).index()] {
            Activity::Working => of_class(*class),
            above => above,
        };
    }
    activities
}

pub(super) fn of_class(Class { category, family }: Class) -> Activity {
    match (family, category) {
        (Family::Mpi | Family::Shmem | Family::Nccl, _) => Activity::InMpi,
        (_, Category::Computation) => Activity::Working,
        (_, Category::Wait | Category::Synchronization) => Activity::Waiting,
    }
}

/// Time on the critical path by activity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathTime {
    /// In the program's own code.
    pub working: Ticks,
    /// In calls of MPI, SHMEM or NCCL where the path stays on the rank.
    pub in_mpi: Ticks,
    /// In calls that wait for threads, locks or an accelerator.
    pub waiting: Ticks,
    /// In messages that are waited for.
    pub message: Ticks,
    /// In collectives after the last arrival.
    pub collective: Ticks,
    /// From launches until operations of accelerators begin.
    pub launch: Ticks,
}

impl PathTime {
    /// The time of one activity.
    pub fn of(&self, activity: Activity) -> Ticks {
        match activity {
            Activity::Working => self.working,
            Activity::InMpi => self.in_mpi,
            Activity::Waiting => self.waiting,
            Activity::Message => self.message,
            Activity::Collective => self.collective,
            Activity::Launch => self.launch,
        }
    }

    /// The sum over the activities.
    pub fn total(&self) -> Ticks {
        Activity::ALL.into_iter().map(|activity| self.of(activity)).sum()
    }

    pub(super) fn add(&mut self, activity: Activity, ticks: Ticks) {
        *match activity {
            Activity::Working => &mut self.working,
            Activity::InMpi => &mut self.in_mpi,
            Activity::Waiting => &mut self.waiting,
            Activity::Message => &mut self.message,
            Activity::Collective => &mut self.collective,
            Activity::Launch => &mut self.launch,
        } += ticks;
    }

    pub(super) fn merge(&mut self, other: PathTime) {
        for activity in Activity::ALL {
            self.add(activity, other.of(activity));
        }
    }
}
