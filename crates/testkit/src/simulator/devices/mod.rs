//! Processes whose threads drive accelerators: executed tick by tick, with the truth.
//!
//! A process is a list of threads, each with its [`HostStep`]s, and devices with streams. In every tick, streams go on
//! first, then threads. A thread begins a step only in ticks that are its own, so that no two of a process enter calls
//! at one time. A device runs so many operations at once as it has [`slots`](SimulatedProcess::slots), whichever of the
//! processes that [share](SimulatedProcess::shares) it launched them.
//!
//! - **A thread waits** in a tick in which it is in a call and something that the call needs is not done: what was put
//!   into the stream, the streams of the device, or the stream before the event. It waits for the operation that is done
//!   last. A copy that blocks waits until its operation begins; memory is released once the device has done everything.
//! - **A stream waits** in a tick in which it runs nothing, and the next thing in it is an event that has not occurred.
//! - **An operation is late** in a tick in which its launch is over, it is the next thing in its stream, and does not run.
//! - **A device is idle** in a tick between its first kernel and its last in which it runs none. The code that the
//!   launching thread spent most time in since its last launch or wait is to blame.
//! - **A collective** of all processes begins at each when its stream comes to it, and ends some ticks after the last
//!   one has begun.
//!
//! The truth is counted in ticks while the program runs; the trace is never looked at.

mod beside;
mod machine;
mod planted;
mod random;
mod steps;

pub use machine::simulate_devices;
pub use planted::{
    PlantedLoss, collectives_without_loss, late_but_ahead, planted_losses, straggler_with_late_host,
};
pub use random::{DeviceFeatures, random_devices};

use crate::ToyTrace;
use std::collections::BTreeMap;

/// The next thing that a thread does. Streams are numbered within the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostStep {
    /// It computes in a region for so many ticks.
    Work(&'static str, u64),
    /// It launches a kernel of so many ticks into a stream; the call takes so many ticks, and the kernel can begin so
    /// many after it was entered.
    Launch {
        /// The stream.
        stream: usize,
        /// The kernel.
        name: &'static str,
        /// How long the kernel runs.
        ticks: u64,
        /// How long the call takes; at least 1.
        call: u64,
        /// From the call until the kernel can begin; at least 1.
        delay: u64,
    },
    /// It launches a copy, and goes on or waits for it.
    Copy {
        /// The stream.
        stream: usize,
        /// How long it takes.
        ticks: u64,
        /// Whether it waits.
        blocks: bool,
    },
    /// It copies pageable memory to a device, and waits until that is done.
    PageableCopy(usize, u64),
    /// It waits for a stream.
    AwaitStream(usize),
    /// It waits for the device of a stream.
    AwaitDevice(usize),
    /// It records an event in a stream.
    RecordEvent(u64, usize),
    /// It waits for an event.
    AwaitEvent(u64),
    /// It makes a stream wait for an event.
    StreamAwaits(usize, u64),
    /// It releases memory of the device of a stream.
    Free(usize),
    /// It launches its part in a collective of all processes, which takes so many ticks.
    Collective(usize, u64),
}

/// A process.
#[derive(Debug, Clone, Default)]
pub struct SimulatedProcess {
    /// The steps of each thread.
    pub threads: Vec<Vec<HostStep>>,
    /// The device of each stream.
    pub streams: Vec<usize>,
    /// How many operations a device runs at once.
    pub slots: usize,
    /// Whether its devices are those of the other processes that share theirs.
    pub shares: bool,
}

/// What the trace records beside calls and operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// Links, and what calls wait for.
    Full,
    /// Links.
    LinksOnly,
    /// Nothing.
    NamesOnly,
}

/// A wait of a thread, a stream or a device.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceWait {
    /// The class in answers.
    pub class: &'static str,
    /// Who waits: a location by its name.
    pub location: String,
    /// The call, from the root.
    pub path: String,
    /// Since when.
    pub start: u64,
    /// How long.
    pub ticks: u64,
    /// Whose operation is waited for: a location by its name.
    pub culprit: Option<String>,
}

/// A run of several processes.
#[derive(Debug)]
pub struct DeviceRun {
    /// What a tracer records. Locations are `PROCESS.THREAD` and `PROCESS.gpuSTREAM`; the clock has 20,000 ticks per
    /// second.
    pub trace: ToyTrace,
    /// Every wait, sorted.
    pub waits: Vec<DeviceWait>,
    /// Ticks by class, location and call path, of what lies beside waiting.
    pub sums: BTreeMap<(&'static str, String, String), u64>,
}
