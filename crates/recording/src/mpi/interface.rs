//! What the meaning of calls needs to know of the world: arguments, the MPI library, and where events go.
//!
//! The preloaded library answers from memory and from MPI, tests from made-up values.

use crate::journal::Entry;
use ouzel_otf2::records::Event;

/// A handle of MPI, as C has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u64);

/// What a handle is of: languages other than C number each kind on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandleKind {
    /// A communicator.
    Communicator,
    /// A datatype.
    Type,
    /// A request.
    Request,
    /// A matched message.
    Message,
    /// A window.
    Window,
    /// A file.
    File,
}

/// What a status says of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Rank of the sender.
    pub source: i64,
    /// Its tag.
    pub tag: i64,
    /// Its length.
    pub n_bytes: u64,
}

/// The arguments of one call; `at` counts parameters as C does.
pub trait Arguments {
    /// A number that is passed.
    fn number(&self, at: usize) -> i64;
    /// A number that the call writes.
    fn number_behind(&self, at: usize) -> i64;
    /// An element of an array of counts.
    fn element(&self, at: usize, index: usize) -> i64;
    /// An element of an array of indices, counted from 0.
    fn index(&self, at: usize, index: usize) -> i64;
    /// A handle that is passed.
    fn handle(&self, at: usize, kind: HandleKind) -> Handle;
    /// A handle that the call may write.
    fn handle_behind(&self, at: usize, kind: HandleKind) -> Handle;
    /// An element of an array of handles.
    fn handle_element(&self, at: usize, index: usize, kind: HandleKind) -> Handle;
    /// The address of an argument that the call writes later.
    fn address(&self, at: usize) -> Handle;
    /// Whether a buffer is `MPI_IN_PLACE`.
    fn is_in_place(&self, at: usize) -> bool;
    /// What one of the statuses says.
    fn received(&self, at: usize, index: usize) -> Received;
    /// Whether one of the statuses is of a cancelled operation.
    fn was_cancelled(&self, at: usize, index: usize) -> bool;
    /// A text.
    fn text(&self, at: usize) -> String;
}

/// Numbers and handles that differ between MPI libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    /// `MPI_PROC_NULL`
    pub proc_null: i64,
    /// `MPI_ROOT`
    pub root: i64,
    /// `MPI_COMM_NULL`
    pub null_communicator: Handle,
}

/// What the MPI library answers.
pub trait Library {
    /// Its numbers.
    fn constants(&self) -> Constants;
    /// Bytes of one element; 0 if the library does not say.
    fn type_bytes(&mut self, datatype: Handle) -> u64;
    /// Members of a communicator.
    fn describe(&mut self, communicator: Handle) -> Option<Described>;
    /// The own coordinates in a Cartesian topology.
    fn coordinates(&mut self, communicator: Handle, rank: u32, n: usize) -> Option<Vec<u32>>;
    /// The communicator at an address that [`Arguments::address`] gave.
    fn communicator_at(&mut self, place: Handle) -> Handle;
    /// The full path of a file that was opened by this name.
    fn path_of(&mut self, name: &str) -> String;
}

/// Where events and entries go.
pub trait Sink {
    /// An event at the time of the call's begin or end.
    fn event(&mut self, event: Event<'static>);
    /// An entry of the journal.
    fn entry(&mut self, entry: &Entry);
}

/// What the library says of a new communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    /// Members, of an intercommunicator those of the own group.
    pub size: u32,
    /// The own rank.
    pub rank: u32,
    /// World ranks of the members; of an intercommunicator, of the own group.
    pub members: Vec<u32>,
    /// World ranks of the other group of an intercommunicator.
    pub others: Option<Vec<u32>>,
}
