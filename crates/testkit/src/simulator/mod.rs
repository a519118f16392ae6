//! A simulator of parallel programs that knows the truth, independent of every analysis.
//!
//! ```text
//! Program ──simulate(Machine)──► Run: trace · run time · every wait ──delays()──► who causes the waits
//!    │  ▲
//!    └──┴─ changed(Change): the program that somebody would get who changed the code
//! ```
//!
//! A [`Program`] says what each rank does: work in regions, messages, collective operations. [`simulate`] executes it in
//! whole ticks. The [`Run`] holds the trace that a tracer would record, and the truth: it notes each wait at the moment
//! at which the call ends, with who came late and in which call, and never looks at the trace. To test an analysis, run
//! it on [`Run::trace`] and compare:
//!
//! - its waits with [`Run::waits`],
//! - its delay costs with [`Run::delays`],
//! - the run time without transfers with the run on [`Machine::ideal`],
//! - the run time that it projects for a change with that of [`Program::changed`].
//!
//! [`RandomOptions`] makes programs from a seed, which cannot deadlock and become
//! [as small as possible](RandomProgram::smallest) when they break a law. The programs in [`golden`] have known answers.
//!
//! ```
//! use ouzel_testkit::simulator::{Change, Code, Machine, WaitClass, golden, simulate};
//! let (program, machine) = (golden::chain(), Machine::default());
//! let run = simulate(&program, &machine);
//! assert_eq!(run.waiting(WaitClass::LateSender), [0, 90, 100]);
//! let faster = program.changed(&Change::faster(Code::named("foo").on(0..=0), 2));
//! assert_eq!((run.run_time, simulate(&faster, &machine).run_time), (110, 60));
//! ```
//!
//! # What it models
//!
//! All ranks start at time 0 on one clock. A call is entered; it waits until what it needs is posted; then it may take
//! more time for its own cost and for transfers.
//!
//! - **Messages** match as MPI requires: by communicator, source and tag, in the order of posting. An eager send needs
//!   nobody. Longer messages than [`Machine::eager_limit`], and synchronous sends, need the receive to be posted.
//! - **A wait** begins when a call is entered and ends when the last one it needs is *entered*: the posting of the
//!   message, the other member's part in a collective operation. Transfers and own costs are no waiting. A call waits
//!   once: for the latest sender; for the latest receiver only if no sender was late; of equally late ones for the
//!   smallest rank, then the first posting.
//! - **Collective operations** need all members (all with all, start and end of MPI), the root (broadcast, scatter), at
//!   the root all members (reduction, gather), or the members before (scan). The first member that comes to the root is
//!   [`Wait::early_reduce`]. [`Coupling`] makes all members wait for all, or none.
//! - **Wrong order** is judged by later calls: messages that one `MPI_Waitall` completes are in no order.
//! - **Polling** ([`Polling`]) is not waiting: the rank may work in between.
//!
//! With [`Transfer::InFlight`], the default, a receiver that comes late finds its message arrived. A replay that keeps
//! what a call took after its wait cannot know that; if it knows which sends wait for their receivers, its projections
//! equal the truth to the tick on machines that cost nothing, and with [`Transfer::InCall`].
//!
//! Times may be decided by the order of events only where a program says so: receives from any source, `MPI_Waitany`,
//! tests. Without them ([`MatchingOrder::Fixed`]), less work never lengthens a run.
//!
//! # What it does not model
//!
//! Threads and windows beside messages (processes of threads alone are in [`threads`], those of windows alone in [`windows`]), accelerators and files; probes, persistent and cancelled requests, `MPI_Waitsome`,
//! non-blocking collective operations and intercommunicators; members of collective operations that send nothing;
//! clocks that differ, ranks that start later, and traces that are cut; contention in the network. Two traps of the
//! recorded trace are real: with an overhead, an eager send that happens to overlap its receive looks like one that
//! waited; and with [`Coupling::None`] the formulas find waits where nobody waited.

mod change;
mod delays;
pub mod devices;
mod execute;
pub mod golden;
mod instance;
mod machine;
mod matching;
mod program;
mod random;
mod record;
mod run;
mod share;
#[cfg(test)]
mod tests;
pub mod threads;
pub mod windows;

pub use change::{Change, Code};
pub use delays::{DelayKey, Delays};
pub use execute::simulate;
pub use machine::{Coupling, Machine, Transfer};
pub use program::{
    Call, CallPath, CollectiveCall, CollectiveKind, Comm, Incoming, Outgoing, Program, SendMode, Shape, Slot,
    Step, barrier, call, collective, from, recv, region, repeat, send, ssend, to, work,
};
pub use random::{MatchingOrder, RandomOptions, RandomProgram};
pub use run::{Polling, Run, Wait, WaitClass, WrongOrder};
pub use share::share;
