//! The trace of a run, as a tracer would record it.
//!
//! A send is recorded when its call is entered, a receive and the end of a collective operation when the call is left.
//! Regions are numbered by name, so that the order of call paths is that of their names.

use super::matching::{Message, Receive};
use super::program::{CallPath, CollectiveCall, CollectiveKind, Comm, Program, Shape, Step};
use crate::{ToyEvent, ToyPayload, ToyTrace};
use ouzel_model::{
    Collective, CollectiveRoot, CommId, CommRank, Communicator, LocationKind, MessageEnd, Request,
    RequestEvent, Ticks, WorldRank,
};
use std::collections::BTreeSet;

pub(super) struct Recorder<'p> {
    comms: &'p [Vec<usize>],
    trace: ToyTrace,
    events: Vec<Vec<ToyEvent>>,
    open: Vec<CallPath>,
}

impl<'p> Recorder<'p> {
    pub fn new(program: &'p Program) -> Self {
        let mut trace = ToyTrace::empty();
        let name = |step: &Step| match step {
            Step::Enter(name) => Some(*name),
            Step::Call(call) => Some(call.region()),
            Step::Leave | Step::Work(_) => None,
        };
        let names: BTreeSet<&str> = program.ranks.iter().flatten().filter_map(name).collect();
        for name in names {
            trace.region(name);
        }
        for (number, members) in program.comms.iter().enumerate().skip(1) {
            let members = members.iter().map(|&rank| WorldRank(rank as u32)).collect();
            let comm = Communicator::of_ranks(format!("comm{number}"), members);
            let comms = &mut trace.definitions_mut().communicators;
            comms.push(Communicator { parent: Some(CommId(0)), ..comm });
        }
        let n_ranks = program.ranks.len();
        Recorder {
            comms: &program.comms,
            trace,
            events: vec![Vec::new(); n_ranks],
            open: vec![Vec::new(); n_ranks],
        }
    }

    /// The innermost open call of a rank.
    pub fn call_path(&self, rank: usize) -> CallPath {
        self.open[rank].clone()
    }

    pub fn enter(&mut self, rank: usize, time: u64, name: &'static str) {
        let region = self.trace.region(name);
        self.open[rank].push(name);
        self.push(rank, time, ToyPayload::Enter(region));
    }

    /// # Panics
    /// If no region is open.
    pub fn leave(&mut self, rank: usize, time: u64) {
        let name = self.open[rank].pop().expect("a program leaves what it has entered");
        let region = self.trace.region(name);
        self.push(rank, time, ToyPayload::Leave(region));
    }

    pub fn send(&mut self, time: u64, message: &Message, request: Option<u64>) {
        let end = self.message_end(message, message.sent.to, request);
        self.push(message.from, time, ToyPayload::Send(end));
    }

    pub fn receive(&mut self, time: u64, receive: &Receive, message: &Message, request: Option<u64>) {
        let end = self.message_end(message, message.from, request);
        self.push(receive.by, time, ToyPayload::Recv(end));
    }

    pub fn request(&mut self, rank: usize, time: u64, request: u64, event: RequestEvent) {
        self.push(rank, time, ToyPayload::Request(Request { row: 0, request, event }));
    }

    pub fn collective_begin(&mut self, rank: usize, time: u64, call: CollectiveCall) {
        if call.kind.recorded().1.is_some() {
            self.push(rank, time, ToyPayload::CollectiveBegin);
        }
    }

    pub fn collective_end(&mut self, rank: usize, time: u64, call: CollectiveCall) {
        let Some(op) = call.kind.recorded().1 else { return };
        let root = match call.kind.shape() {
            Shape::OneToAll | Shape::AllToOne => CollectiveRoot::Rank(self.comm_rank(call.comm, call.root)),
            Shape::AllToAll | Shape::Prefix => CollectiveRoot::None,
        };
        let (bytes_sent, bytes_received) = bytes(call, rank == call.root, self.comms[call.comm].len() as u64);
        let comm = CommId::from_index(call.comm);
        let end = Collective { row: 0, op, comm, root, bytes_sent, bytes_received, request: None };
        self.push(rank, time, ToyPayload::CollectiveEnd(end));
    }

    /// The trace of what was recorded.
    pub fn finish(mut self) -> ToyTrace {
        for (rank, events) in self.events.into_iter().enumerate() {
            let world = WorldRank(rank as u32);
            self.trace.add_location(world, &rank.to_string(), LocationKind::CpuThread, events);
        }
        self.trace
    }

    fn message_end(&self, message: &Message, peer: usize, request: Option<u64>) -> MessageEnd {
        let sent = message.sent;
        MessageEnd {
            row: 0,
            comm: CommId::from_index(sent.comm),
            peer: self.comm_rank(sent.comm, peer),
            tag: sent.tag,
            bytes: sent.bytes,
            request,
        }
    }

    fn comm_rank(&self, comm: Comm, rank: usize) -> CommRank {
        let position = self.comms[comm].iter().position(|&member| member == rank);
        CommRank(position.expect("peers and roots are members") as u32)
    }

    fn push(&mut self, rank: usize, time: u64, what: ToyPayload) {
        self.events[rank].push(ToyEvent { time: Ticks(time), what });
    }
}

/// Bytes that a member sends and receives.
fn bytes(call: CollectiveCall, is_root: bool, n_members: u64) -> (u64, u64) {
    let all = call.bytes * n_members;
    let at_root = |bytes| if is_root { bytes } else { 0 };
    match call.kind.shape() {
        Shape::AllToAll if call.kind == CollectiveKind::Alltoall => (all, all),
        Shape::AllToAll | Shape::Prefix => (call.bytes, call.bytes),
        Shape::OneToAll => (at_root(all), call.bytes),
        Shape::AllToOne => (call.bytes, at_root(all)),
    }
}
