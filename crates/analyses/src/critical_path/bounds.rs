//! What each part of a critical path is bound by.
//!
//! | part | bound |
//! |---|---|
//! | local, on a thread: the program, runtimes, calls that wait for a device | cpu |
//! | local, on a stream: kernels, copies, and gaps between operations of the queue | gpu |
//! | from the call that launches an operation until it begins | launch |
//! | messages, collectives, calls of MPI, kernels that communicate | communication |
//! | from the end of an operation until who waits for it goes on | cpu for a thread, gpu for a stream |
//!
//! Law: the parts add up to the length of the path.

use super::activity::Activity;
use super::waits::SegmentKind;
use ouzel_model::{Clock, LocationKind, Ticks};

/// What a part of the path is bound by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// The host.
    Cpu,
    /// The device.
    Gpu,
    /// Launching operations of the device.
    Launch,
    /// Messages and collectives.
    Communication,
}

impl Bound {
    /// All, in the order of tables.
    pub const ALL: [Bound; 4] = [Bound::Cpu, Bound::Gpu, Bound::Launch, Bound::Communication];

    /// The term in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Bound::Cpu => "cpu",
            Bound::Gpu => "gpu",
            Bound::Launch => "launch",
            Bound::Communication => "communication",
        }
    }

    /// That of time in a segment, by what its call path does and where it is.
    pub(super) fn of(kind: SegmentKind, of_path: Activity, location: LocationKind) -> Bound {
        let is_stream = location == LocationKind::AcceleratorStream;
        match Activity::of_segment(kind, of_path) {
            Activity::Launch => Bound::Launch,
            Activity::InMpi | Activity::Message | Activity::Collective => Bound::Communication,
            Activity::Working | Activity::Waiting if is_stream => Bound::Gpu,
            Activity::Working | Activity::Waiting => Bound::Cpu,
        }
    }
}

/// Time on the path by what it is bound by, in the order of [`Bound::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathBounds(pub [Ticks; 4]);

impl PathBounds {
    pub(super) fn add(&mut self, bound: Bound, ticks: Ticks) {
        self.0[bound as usize] += ticks;
    }

    /// Each bound and its nanoseconds, which add up to the length of the path.
    pub fn ns(&self, clock: &Clock) -> [(Bound, u64); 4] {
        let ns = clock.ns_of_parts(self.0);
        Bound::ALL.map(|bound| (bound, ns[bound as usize]))
    }
}
