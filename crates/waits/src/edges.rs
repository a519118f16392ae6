//! Who needs whom: the dependencies between locations that waits follow from.
//!
//! A location *posts* when it enters a call that sends or receives a message, or begins its part in a collective. A call
//! *needs* posts of others: it is left no earlier than they are made. What others need of whom is the same as for
//! waits, with the same matching, but a need is there whether its call waited or not, and whatever is selected.
//!
//! Posts and needs of a location are in the order of its calls, which tells those apart that take no time.

use ouzel_model::{CallPathId, CallPathTree, LocationId, Remap, Ticks};
use std::collections::BTreeMap;

/// Where in the sequence of its location a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Its number among the calls with records, ascending with time; several calls may share one.
    Nth(u32),
    /// A call without a record: before the others that are entered at its time.
    Before,
    /// A call without a record: after the others that are entered at its time.
    After,
}

/// The moment at which a location lets others go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Post {
    /// Who.
    pub location: LocationId,
    /// Where in its sequence.
    pub place: Place,
    /// When the call was entered, or the collective began.
    pub at: Ticks,
}

/// A call that is left no earlier than others have posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Need {
    /// Who.
    pub location: LocationId,
    /// Where in its sequence.
    pub place: Place,
    /// When it could begin to wait.
    pub at: Ticks,
    /// When it was left.
    pub leave: Ticks,
    /// The call; the root outside of every call.
    pub path: CallPathId,
}

/// One call needs one post: the receive that of the send or, if the send had to wait, the send that of the receive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageEdge {
    /// What is needed.
    pub post: Post,
    /// What needs it.
    pub need: Need,
    /// Length of the message.
    pub bytes: u64,
}

/// Several calls need the same posts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Join {
    /// Another join that is needed, too: its index, which is smaller.
    pub after: Option<u32>,
    /// What is needed.
    pub posts: Vec<Post>,
    /// What needs all of it.
    pub needs: Vec<Need>,
    /// Whether all members of a communicator need all others.
    pub is_of_all: bool,
}

/// All dependencies of a run.
#[derive(Debug, Clone, Default)]
pub struct Edges {
    /// The call paths of the needs.
    pub call_paths: CallPathTree,
    /// Those of messages.
    pub messages: Vec<MessageEdge>,
    /// Those of collectives, and of the start and end of MPI.
    pub joins: Vec<Join>,
    /// First and last event of each location.
    pub spans: BTreeMap<LocationId, (Ticks, Ticks)>,
    /// Messages of which both ends are known.
    pub n_messages: u64,
    /// What is not among the dependencies.
    pub missing: MissingEdges,
}

/// What the records do not tell of the dependencies of the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MissingEdges {
    /// Sends that are taken to wait for their receivers, though it is not certain.
    pub likely_receivers: u64,
    /// Sends that may have waited for their receivers, and are taken not to.
    pub possible_receivers: u64,
    /// Ends of messages without another end.
    pub unmatched: u64,
    /// Parts of collectives whose other members are missing or unknown.
    pub partial: u64,
    /// Epochs of one-sided communication whose other side is missing.
    pub epochs: u64,
    /// Locks of windows that are had in the recorded order, whoever asks first.
    pub locks_in_order: u64,
}

impl Edges {
    /// Sets the call paths, and what those of the needs are called in them.
    pub(crate) fn number(&mut self, call_paths: &CallPathTree, shown: &Remap) {
        let of_messages = self.messages.iter_mut().map(|edge| &mut edge.need);
        let of_joins = self.joins.iter_mut().flat_map(|join| &mut join.needs);
        of_messages.chain(of_joins).for_each(|need| need.path = shown.path(need.path));
        self.call_paths = call_paths.clone();
    }
}

impl Join {
    /// All need all: `posts[i]` and `needs[i]` are of one member.
    pub(crate) fn of_all(members: impl IntoIterator<Item = (Post, Need)>) -> Self {
        let (posts, needs) = members.into_iter().unzip();
        Join { after: None, posts, needs, is_of_all: true }
    }
}
