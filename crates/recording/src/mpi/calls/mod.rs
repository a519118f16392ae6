//! What a call of MPI means: the events between its enter and its leave.
//!
//! `before` looks at the arguments when the call begins, `after` at the results when it has ended.
//! Law: a message is sent when its call begins, and received when the call ends that completes it.

mod completions;
mod files;

use super::bytes::{Place, of_collective};
use super::communicators::{Communicators, KnownCommunicator, Making, NO_PARENT};
use super::functions::{Effect, Function, Parameter as P};
use super::interface::{Arguments, Handle, HandleKind, Library, Received, Sink};
use super::requests::{CollectiveCall, HeldRequest, Operation, OperationId, Outgoing, Requests};
use crate::journal::Entry;
use files::{BegunFile, Files};
use ouzel_otf2::records::enums::CollectiveOp;
use ouzel_otf2::records::event::{
    MpiCollectiveBegin, MpiCollectiveEnd, MpiIrecvRequest, MpiIsend, MpiRecv, MpiSend,
    NonBlockingCollectiveRequest,
};
use ouzel_otf2::wire::UNDEFINED_U32;
use rustc_hash::FxHashMap;

/// What a process remembers between calls.
#[derive(Debug, Default)]
pub struct Tables {
    /// Its communicators.
    pub communicators: Communicators,
    /// Its requests.
    pub requests: Requests,
    /// Communicators of matched messages.
    messages: FxHashMap<Handle, u32>,
    files: Files,
}

/// What is remembered from a call's begin to its end.
#[derive(Debug, Default)]
pub struct Begun {
    id: Option<OperationId>,
    second_id: Option<OperationId>,
    outgoing: Option<Outgoing>,
    communicator: Option<KnownCommunicator>,
    collective: Option<CollectiveCall>,
    making: Option<Making>,
    /// The communicator of a matched message.
    matched: Option<u32>,
    /// The requests as they were, since completed ones are overwritten.
    pub(super) requests: Vec<Handle>,
    /// The communicator that is freed or named.
    freed: Option<Handle>,
    file: Option<BegunFile>,
}

/// One call, with everything around it.
#[derive(Debug)]
pub struct Call<'a, A, L, S> {
    /// What is called.
    pub function: &'a Function,
    /// With which arguments.
    pub arguments: &'a A,
    /// In which library.
    pub library: &'a mut L,
    /// What the process remembers.
    pub tables: &'a mut Tables,
    /// Where events go.
    pub sink: &'a mut S,
}

impl<A: Arguments, L: Library, S: Sink> Call<'_, A, L, S> {
    /// Looks at the arguments, when the call begins, and notes in `begun`, which is empty, what `after` needs.
    pub fn before(&mut self, begun: &mut Begun) {
        use Effect as E;
        match self.function.effect {
            E::Send | E::StartSend | E::MakeSend | E::SendReceive | E::StartSendReceive => {
                self.before_send(begun);
            }
            E::Receive | E::StartReceive | E::MakeReceive => self.before_receive(begun),
            E::MatchedReceive | E::MatchedProbe | E::StartMatchedReceive => self.before_matched(begun),
            E::Wait | E::Test | E::FreeRequest | E::Cancel | E::Start => {
                let request =
                    self.at(P::Request).map(|at| self.arguments.handle_behind(at, HandleKind::Request));
                begun.requests.extend(request);
            }
            E::WaitAll | E::WaitAny | E::WaitSome | E::TestAll | E::TestAny | E::TestSome | E::StartAll => {
                self.before_requests(begun);
            }
            E::Collective | E::StartCollective | E::MakeCollective => self.before_collective(begun),
            E::MakeCommunicator | E::MakeTopology | E::StartCommunicator => {
                begun.communicator = self.communicator();
                let parent = begun.communicator.map_or(NO_PARENT, |parent| parent.id);
                begun.making = Some(self.tables.communicators.making(parent, 0));
                if self.function.effect != E::StartCommunicator {
                    self.sink.event(MpiCollectiveBegin {}.into());
                }
            }
            E::MakeGroupCommunicator => {
                begun.communicator = self.communicator();
                let parent = begun.communicator.map_or(NO_PARENT, |parent| parent.id);
                let tag = self.at(P::Tag).map_or(0, |at| self.arguments.number(at));
                // Only members of the new one make it, so it is counted for its tag alone.
                begun.making = Some(self.tables.communicators.making(parent, 2 + tag.unsigned_abs()));
            }
            E::FreeCommunicator | E::NameCommunicator => {
                begun.freed = self.at(P::Communicator).map(|at| match self.function.effect {
                    E::FreeCommunicator => self.arguments.handle_behind(at, HandleKind::Communicator),
                    _ => self.arguments.handle(at, HandleKind::Communicator),
                });
            }
            _ if self.function.is_of_files() => begun.file = files::before(self),
            _ => {}
        }
        if matches!(self.function.effect, E::Start | E::StartAll) {
            self.start(begun);
        }
    }

    /// Looks at the results, when the call has ended well.
    pub fn after(&mut self, begun: &Begun) {
        use Effect as E;
        match self.function.effect {
            E::Receive | E::SendReceive => {
                begun.communicator.into_iter().for_each(|known| self.receive(known.id));
            }
            E::StartSend | E::StartReceive | E::StartSendReceive | E::StartCollective => {
                self.begin_request(begun);
            }
            E::MakeSend | E::MakeReceive | E::MakeCollective => self.make_request(begun),
            E::MatchedReceive | E::MatchedProbe | E::StartMatchedReceive => self.after_matched(begun),
            E::Wait
            | E::WaitAll
            | E::WaitAny
            | E::WaitSome
            | E::Test
            | E::TestAll
            | E::TestAny
            | E::TestSome => completions::complete(self, begun),
            E::FreeRequest => begun.requests.iter().for_each(|&handle| self.tables.requests.free(handle)),
            E::Cancel => begun.requests.iter().for_each(|&handle| self.tables.requests.cancel(handle)),
            E::Collective => {
                if let Some(call) = begun.collective {
                    self.sink.event(end_of(call).into());
                }
            }
            E::MakeCommunicator | E::MakeTopology => self.after_making(begun),
            E::MakeGroupCommunicator | E::MakeIntercommunicator | E::FindCommunicator => self.found(begun),
            E::StartCommunicator => self.begin_communicator(begun),
            E::FreeCommunicator => {
                begun.freed.into_iter().for_each(|handle| self.tables.communicators.free(handle));
            }
            E::NameCommunicator => self.name(begun),
            _ if self.function.is_of_files() => files::after(self, begun.file),
            _ => {}
        }
    }

    /// Looks at a call that has failed. Files have errors that programs go on after.
    pub fn failed(&mut self, begun: &Begun) {
        files::failed(self, begun.file);
    }

    pub(super) fn at(&self, parameter: P) -> Option<usize> {
        self.function.at(parameter)
    }

    fn number(&self, parameter: P) -> i64 {
        self.at(parameter).map_or(0, |at| self.arguments.number(at))
    }

    fn communicator(&mut self) -> Option<KnownCommunicator> {
        let handle = self.arguments.handle(self.at(P::Communicator)?, HandleKind::Communicator);
        self.known(handle)
    }

    /// A communicator that was made where nothing was recorded is defined when it is first used.
    fn known(&mut self, handle: Handle) -> Option<KnownCommunicator> {
        if let Some(known) = self.tables.communicators.get(handle) {
            return Some(known);
        }
        let making = self.tables.communicators.making(NO_PARENT, 1);
        self.define(handle, making)?;
        self.tables.communicators.get(handle)
    }

    pub(super) fn define(&mut self, handle: Handle, making: Making) -> Option<u32> {
        if handle == self.library.constants().null_communicator {
            return None;
        }
        let described = self.library.describe(handle)?;
        let (id, entry) = self.tables.communicators.define(handle, making, &described);
        self.sink.entry(&entry);
        Some(id)
    }

    fn before_send(&mut self, begun: &mut Begun) {
        begun.communicator = self.communicator();
        let Some(communicator) = begun.communicator else { return };
        let (count, datatype, tag) = match self.at(P::SendCount) {
            Some(count) => (Some(count), self.at(P::SendType), P::SendTag),
            None => {
                let tag = if self.at(P::SendTag).is_some() { P::SendTag } else { P::Tag };
                (self.at(P::Count), self.at(P::Type), tag)
            }
        };
        let receiver = self.number(P::Destination);
        let (Some(count), Some(datatype)) = (count, datatype) else { return };
        if receiver != self.library.constants().proc_null {
            let count = u64::try_from(self.arguments.number(count)).unwrap_or(0);
            let n_bytes = self.library.type_bytes(self.arguments.handle(datatype, HandleKind::Type));
            begun.outgoing = Some(Outgoing {
                communicator: communicator.id,
                receiver: number32(receiver),
                tag: number32(self.number(tag)),
                n_bytes: count.saturating_mul(n_bytes),
            });
        }
        match (self.function.effect, begun.outgoing) {
            (Effect::Send | Effect::SendReceive, Some(outgoing)) => {
                let Outgoing { communicator, receiver, tag: msg_tag, n_bytes: msg_length } = outgoing;
                self.sink.event(MpiSend { receiver, communicator, msg_tag, msg_length }.into());
            }
            (Effect::StartSend, Some(outgoing)) => begun.id = Some(self.isend(outgoing)),
            (Effect::StartSendReceive, outgoing) => {
                begun.id = outgoing.map(|outgoing| self.isend(outgoing));
                if self.number(P::Source) != self.library.constants().proc_null {
                    begun.second_id = Some(self.irecv());
                }
            }
            _ => {}
        }
    }

    fn isend(&mut self, outgoing: Outgoing) -> OperationId {
        let id = self.tables.requests.next_id();
        self.isend_again(id, outgoing);
        id
    }

    fn isend_again(&mut self, id: OperationId, outgoing: Outgoing) {
        let Outgoing { communicator, receiver, tag: msg_tag, n_bytes: msg_length } = outgoing;
        let request_id = id.0;
        self.sink.event(MpiIsend { receiver, communicator, msg_tag, msg_length, request_id }.into());
    }

    fn irecv(&mut self) -> OperationId {
        let id = self.tables.requests.next_id();
        self.sink.event(MpiIrecvRequest { request_id: id.0 }.into());
        id
    }

    fn before_receive(&mut self, begun: &mut Begun) {
        begun.communicator = self.communicator();
        let is_real = self.number(P::Source) != self.library.constants().proc_null;
        if is_real && self.function.effect == Effect::StartReceive {
            begun.id = Some(self.irecv());
        }
        if !is_real {
            begun.communicator = None;
        }
    }

    fn receive(&mut self, communicator: u32) {
        let Some(status) = self.at(P::Status) else { return };
        let Received { source, tag, n_bytes } = self.arguments.received(status, 0);
        // Nothing was received from MPI_PROC_NULL, whose number is negative in every library.
        if let Ok(sender) = u32::try_from(source) {
            let (msg_tag, msg_length) = (number32(tag), n_bytes);
            self.sink.event(MpiRecv { sender, communicator, msg_tag, msg_length }.into());
        }
    }

    fn request(&self) -> Option<Handle> {
        Some(self.arguments.handle_behind(self.at(P::Request)?, HandleKind::Request))
    }

    fn begin_request(&mut self, begun: &Begun) {
        let Some(handle) = self.request() else { return };
        let communicator = begun.communicator.map_or(UNDEFINED_U32, |known| known.id);
        let operation = match (self.function.effect, begun.outgoing, begun.collective) {
            (Effect::StartSendReceive, outgoing, _) => match (begun.id, begun.second_id) {
                (_, Some(receive)) => {
                    let sends = outgoing.is_some();
                    Some(Operation::SendReceive { receive, communicator, sends })
                }
                (Some(_), None) => outgoing.map(Operation::Send),
                (None, None) => None,
            },
            (_, Some(outgoing), _) => Some(Operation::Send(outgoing)),
            (_, None, Some(call)) => Some(Operation::Collective(call)),
            (_, None, None) => Some(Operation::Receive { communicator }),
        };
        if let (Some(id), Some(operation)) = (begun.id.or(begun.second_id), operation) {
            self.tables.requests.begin(handle, id, operation);
        }
    }

    fn make_request(&mut self, begun: &Begun) {
        let Some(handle) = self.request() else { return };
        let operation = match (begun.outgoing, begun.collective, begun.communicator) {
            (Some(outgoing), _, _) => Operation::Send(outgoing),
            (_, Some(call), _) => Operation::Collective(call),
            (_, _, Some(known)) if self.function.effect == Effect::MakeReceive => {
                Operation::Receive { communicator: known.id }
            }
            _ => return,
        };
        self.tables.requests.make(handle, operation);
    }

    fn before_requests(&self, begun: &mut Begun) {
        let Some(at) = self.at(P::Requests) else { return };
        let n = usize::try_from(self.number(P::Length)).unwrap_or(0);
        let handle = |index| self.arguments.handle_element(at, index, HandleKind::Request);
        begun.requests.extend((0..n).map(handle));
    }

    /// Starts persistent requests.
    fn start(&mut self, begun: &Begun) {
        for &handle in &begun.requests {
            let Some(HeldRequest { id, operation, .. }) = self.tables.requests.start(handle) else {
                continue;
            };
            match operation {
                Operation::Send(outgoing) => self.isend_again(id, outgoing),
                Operation::Receive { .. } => self.sink.event(MpiIrecvRequest { request_id: id.0 }.into()),
                Operation::Collective(_) => {
                    self.sink.event(NonBlockingCollectiveRequest { request_id: id.0 }.into());
                }
                _ => {}
            }
        }
    }

    fn before_collective(&mut self, begun: &mut Begun) {
        begun.communicator = self.communicator();
        let Some(communicator) = begun.communicator else { return };
        let (place, root) = self.root(communicator);
        let (sent_bytes, received_bytes) =
            of_collective(self.function, self.arguments, self.library, communicator, place);
        let op = self.function.collective().unwrap_or(0);
        begun.collective =
            Some(CollectiveCall { op, communicator: communicator.id, root, sent_bytes, received_bytes });
        match self.function.effect {
            Effect::Collective => self.sink.event(MpiCollectiveBegin {}.into()),
            Effect::StartCollective => {
                let id = self.tables.requests.next_id();
                self.sink.event(NonBlockingCollectiveRequest { request_id: id.0 }.into());
                begun.id = Some(id);
            }
            _ => {}
        }
    }

    /// Whether this process is the root, and the root as OTF2 says it.
    fn root(&self, communicator: KnownCommunicator) -> (Place, u32) {
        /// The root is the calling process, in the other group of an intercommunicator.
        const ROOT_SELF: u32 = u32::MAX - 1;
        /// The root is another member of the own group.
        const ROOT_THIS_GROUP: u32 = u32::MAX - 2;
        let Some(at) = self.at(P::Root) else { return (Place::Other, UNDEFINED_U32) };
        let root = self.arguments.number(at);
        let constants = self.library.constants();
        if communicator.is_inter && root == constants.root {
            return (Place::Root, ROOT_SELF);
        }
        if communicator.is_inter && root == constants.proc_null {
            return (Place::Absent, ROOT_THIS_GROUP);
        }
        let is_root = !communicator.is_inter && root == i64::from(communicator.rank);
        (if is_root { Place::Root } else { Place::Other }, number32(root))
    }

    fn message(&self) -> Option<Handle> {
        Some(self.arguments.handle_behind(self.at(P::Message)?, HandleKind::Message))
    }

    /// Which message a matched receive gets was decided when it was probed; its communicator is known from there.
    fn before_matched(&mut self, begun: &mut Begun) {
        if self.function.effect == Effect::MatchedProbe {
            begun.communicator = self.communicator();
            return;
        }
        let message = self.message();
        begun.matched = message.and_then(|message| self.tables.messages.remove(&message));
        if begun.matched.is_some() && self.function.effect == Effect::StartMatchedReceive {
            begun.id = Some(self.irecv());
        }
    }

    fn after_matched(&mut self, begun: &Begun) {
        match (self.function.effect, begun.matched, begun.id) {
            (Effect::MatchedProbe, ..) => {
                let is_found = self.at(P::Flag).is_none_or(|at| self.arguments.number_behind(at) != 0);
                let status = self.at(P::Status).filter(|_| is_found);
                let source = status.map_or(-1, |at| self.arguments.received(at, 0).source);
                if let (true, Some(message), Some(known)) = (0 <= source, self.message(), begun.communicator)
                {
                    self.tables.messages.insert(message, known.id);
                }
            }
            (Effect::MatchedReceive, Some(communicator), _) => {
                self.receive(communicator);
            }
            (_, Some(communicator), Some(id)) => {
                if let Some(handle) = self.request() {
                    self.tables.requests.begin(handle, id, Operation::Receive { communicator });
                }
            }
            _ => {}
        }
    }

    fn new_communicator(&self) -> Option<Handle> {
        Some(self.arguments.handle_behind(self.at(P::NewCommunicator)?, HandleKind::Communicator))
    }

    fn after_making(&mut self, begun: &Begun) {
        let made = self.new_communicator().zip(begun.making);
        let id = made.and_then(|(handle, making)| self.define(handle, making));
        if let (Some(id), Some((handle, _)), Effect::MakeTopology) = (id, made, self.function.effect) {
            self.topology(id, handle);
        }
        let call = CollectiveCall {
            op: CollectiveOp::CreateHandle.to_u8(),
            communicator: begun.communicator.map_or(UNDEFINED_U32, |parent| parent.id),
            root: UNDEFINED_U32,
            sent_bytes: 0,
            received_bytes: 0,
        };
        self.sink.event(end_of(call).into());
    }

    fn topology(&mut self, communicator: u32, handle: Handle) {
        let (Some(sizes), Some(periods)) = (self.at(P::Dimensions), self.at(P::Periods)) else { return };
        let n = usize::try_from(self.number(P::NDimensions)).unwrap_or(0);
        let rank = self.tables.communicators.get(handle).map_or(0, |known| known.rank);
        let Some(coordinates) = self.library.coordinates(handle, rank, n) else { return };
        // Arrays of sizes are indices to MPI: they have 32 bits in every form of the function.
        let list = |at: usize| (0..n).map(|i| number32(self.arguments.element(at, i))).collect::<Vec<_>>();
        let periods = list(periods).iter().map(|&period| u32::from(period != 0)).collect();
        self.sink.entry(&Entry::Topology { communicator, dimensions: list(sizes), periods, coordinates });
    }

    fn found(&mut self, begun: &Begun) {
        let Some(handle) = self.new_communicator() else { return };
        if self.tables.communicators.get(handle).is_some() {
            return;
        }
        let sort = if self.function.effect == Effect::MakeIntercommunicator { u64::MAX } else { 1 };
        let making = match begun.making {
            Some(making) => making,
            None => self.tables.communicators.making(NO_PARENT, sort),
        };
        self.define(handle, making);
    }

    fn begin_communicator(&mut self, begun: &Begun) {
        let (Some(request), Some(making)) = (self.request(), begun.making) else { return };
        let Some(place) = self.at(P::NewCommunicator).map(|at| self.arguments.address(at)) else { return };
        let id = self.tables.requests.next_id();
        self.tables.requests.begin(request, id, Operation::Communicator { place, made: making });
    }

    fn name(&mut self, begun: &Begun) {
        let known = begun.freed.and_then(|handle| self.tables.communicators.get(handle));
        if let (Some(known), Some(at)) = (known, self.at(P::Text)) {
            let name = self.arguments.text(at);
            self.sink.entry(&Entry::CommunicatorName { id: known.id, name });
        }
    }
}

/// The event at the end of a blocking collective operation.
fn end_of(call: CollectiveCall) -> MpiCollectiveEnd {
    MpiCollectiveEnd {
        collective_op: CollectiveOp::from_u8(call.op),
        communicator: call.communicator,
        root: call.root,
        size_sent: call.sent_bytes,
        size_received: call.received_bytes,
    }
}

/// A rank or tag, which MPI has as signed numbers and OTF2 as unsigned ones.
pub(super) fn number32(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(UNDEFINED_U32)
}
