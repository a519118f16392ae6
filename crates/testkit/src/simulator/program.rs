//! Parallel programs: what each rank does, step after step.
//!
//! A program is built from small lists of steps that are strung together with `concat`:
//!
//! ```
//! use ouzel_testkit::simulator::{Program, recv, send, work};
//! let chain = Program::new(vec![
//!     [work("foo", 100), send(1)].concat(),
//!     [work("foo", 10), recv(0), work("foo", 10)].concat(),
//! ]);
//! ```
//!
//! Peers, roots and members of communicators are world ranks; the trace has the ranks in the communicator instead.

use ouzel_model::CollectiveOp;

/// Regions from the outermost to the innermost; empty outside of all regions.
pub type CallPath = Vec<&'static str>;

/// The number of a communicator in [`Program::comms`]; 0 is the world.
pub type Comm = usize;

/// The name by which a rank completes what it has posted.
pub type Slot = u32;

/// What every rank does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The steps of each rank.
    pub ranks: Vec<Vec<Step>>,
    /// The members of each communicator, in the order of their ranks there. The first is the world.
    pub comms: Vec<Vec<usize>>,
}

impl Program {
    /// A program with the world as its only communicator.
    pub fn new(ranks: Vec<Vec<Step>>) -> Self {
        let world = (0..ranks.len()).collect();
        Program { ranks, comms: vec![world] }
    }

    /// The same with another communicator, the next in number.
    #[must_use]
    pub fn with_comm(mut self, members: Vec<usize>) -> Self {
        self.comms.push(members);
        self
    }
}

/// One step of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Enters a region.
    Enter(&'static str),
    /// Leaves the innermost open region.
    Leave,
    /// Computes for so many ticks in the innermost open region.
    Work(u64),
    /// Calls MPI.
    Call(Call),
}

/// A call of MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// `MPI_Send` or `MPI_Ssend`.
    Send(Outgoing),
    /// `MPI_Recv`.
    Recv(Incoming),
    /// `MPI_Sendrecv`.
    Sendrecv(Outgoing, Incoming),
    /// `MPI_Isend` or `MPI_Issend`.
    Isend(Slot, Outgoing),
    /// `MPI_Irecv`.
    Irecv(Slot, Incoming),
    /// `MPI_Wait`. Waiting for what has not been posted, or is complete, takes no time.
    Wait(Slot),
    /// `MPI_Waitall` for all that the rank has posted and not completed.
    Waitall,
    /// `MPI_Waitany` for the first of them.
    Waitany,
    /// `MPI_Test` until it succeeds, with so many ticks of work after each failure.
    Poll(Slot, u64),
    /// A collective operation.
    Collective(CollectiveCall),
}

/// The sending side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// The receiver.
    pub to: usize,
    /// The tag.
    pub tag: u32,
    /// The length.
    pub bytes: u64,
    /// The communicator.
    pub comm: Comm,
    /// Whether the send may complete before the receive is posted.
    pub mode: SendMode,
}

/// When a send completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMode {
    /// At once, if the machine sends a message of this length eagerly.
    Standard,
    /// Not before the receive is posted: `MPI_Ssend`, `MPI_Issend`.
    Synchronous,
}

/// The receiving side of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incoming {
    /// The sender; any if `None`.
    pub from: Option<usize>,
    /// The tag; any if `None`.
    pub tag: Option<u32>,
    /// The communicator.
    pub comm: Comm,
}

/// One rank's part in a collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectiveCall {
    /// The operation.
    pub kind: CollectiveKind,
    /// The communicator.
    pub comm: Comm,
    /// The root, where the operation has one.
    pub root: usize,
    /// Length of the data of one member.
    pub bytes: u64,
}

/// A collective operation; starting and ending MPI are two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is MPI's own term")]
pub enum CollectiveKind {
    Init,
    Finalize,
    Barrier,
    Allreduce,
    Alltoall,
    Bcast,
    Scatter,
    Reduce,
    Gather,
    Scan,
}

/// Whose data a member of a collective operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Everybody's.
    AllToAll,
    /// The root's; the root needs none.
    OneToAll,
    /// The root needs everybody's, the others none.
    AllToOne,
    /// That of the members before it.
    Prefix,
}

impl CollectiveKind {
    /// Whose data a member needs.
    pub fn shape(self) -> Shape {
        use CollectiveKind as K;
        match self {
            K::Init | K::Finalize | K::Barrier | K::Allreduce | K::Alltoall => Shape::AllToAll,
            K::Bcast | K::Scatter => Shape::OneToAll,
            K::Reduce | K::Gather => Shape::AllToOne,
            K::Scan => Shape::Prefix,
        }
    }

    /// The region, and the operation of its record; starting and ending MPI have no record.
    pub fn recorded(self) -> (&'static str, Option<CollectiveOp>) {
        use CollectiveKind as K;
        match self {
            K::Init => ("MPI_Init", None),
            K::Finalize => ("MPI_Finalize", None),
            K::Barrier => ("MPI_Barrier", Some(CollectiveOp::Barrier)),
            K::Allreduce => ("MPI_Allreduce", Some(CollectiveOp::Allreduce)),
            K::Alltoall => ("MPI_Alltoall", Some(CollectiveOp::Alltoall)),
            K::Bcast => ("MPI_Bcast", Some(CollectiveOp::Bcast)),
            K::Scatter => ("MPI_Scatter", Some(CollectiveOp::Scatter)),
            K::Reduce => ("MPI_Reduce", Some(CollectiveOp::Reduce)),
            K::Gather => ("MPI_Gather", Some(CollectiveOp::Gather)),
            K::Scan => ("MPI_Scan", Some(CollectiveOp::Scan)),
        }
    }
}

impl Call {
    /// The region of the call.
    pub fn region(self) -> &'static str {
        match self {
            Call::Send(Outgoing { mode: SendMode::Standard, .. }) => "MPI_Send",
            Call::Send(_) => "MPI_Ssend",
            Call::Recv(_) => "MPI_Recv",
            Call::Sendrecv(..) => "MPI_Sendrecv",
            Call::Isend(_, Outgoing { mode: SendMode::Standard, .. }) => "MPI_Isend",
            Call::Isend(..) => "MPI_Issend",
            Call::Irecv(..) => "MPI_Irecv",
            Call::Wait(_) => "MPI_Wait",
            Call::Waitall => "MPI_Waitall",
            Call::Waitany => "MPI_Waitany",
            Call::Poll(..) => "MPI_Test",
            Call::Collective(call) => call.kind.recorded().0,
        }
    }
}

/// `steps` in a region.
pub fn region(name: &'static str, steps: Vec<Step>) -> Vec<Step> {
    [vec![Step::Enter(name)], steps, vec![Step::Leave]].concat()
}

/// Computation in a region.
pub fn work(name: &'static str, ticks: u64) -> Vec<Step> {
    region(name, vec![Step::Work(ticks)])
}

/// A loop.
pub fn repeat(n: usize, steps: &[Step]) -> Vec<Step> {
    steps.repeat(n)
}

/// A call as the only step.
pub fn call(call: Call) -> Vec<Step> {
    vec![Step::Call(call)]
}

/// A standard message of 8 bytes in the world, with tag 0.
pub fn to(to: usize) -> Outgoing {
    Outgoing { to, tag: 0, bytes: 8, comm: 0, mode: SendMode::Standard }
}

/// The receive of a message from a rank in the world, with tag 0.
pub fn from(from: usize) -> Incoming {
    Incoming { from: Some(from), tag: Some(0), comm: 0 }
}

/// Sends [`to`] a rank.
pub fn send(rank: usize) -> Vec<Step> {
    call(Call::Send(to(rank)))
}

/// Sends to a rank, and completes when the receive is posted.
pub fn ssend(rank: usize) -> Vec<Step> {
    call(Call::Send(Outgoing { mode: SendMode::Synchronous, ..to(rank) }))
}

/// Receives [`from`] a rank.
pub fn recv(rank: usize) -> Vec<Step> {
    call(Call::Recv(from(rank)))
}

/// A collective operation of 8 bytes for each member; `root` counts where the operation has one.
pub fn collective(kind: CollectiveKind, comm: Comm, root: usize) -> Vec<Step> {
    let bytes = if kind == CollectiveKind::Barrier { 0 } else { 8 };
    call(Call::Collective(CollectiveCall { kind, comm, root, bytes }))
}

/// A barrier of the world.
pub fn barrier() -> Vec<Step> {
    collective(CollectiveKind::Barrier, 0, 0)
}
