//! The ends of operations: what `MPI_Wait`, `MPI_Test` and their relatives have completed.

use super::{Begun, Call, number32};
use crate::mpi::functions::{Effect, Parameter as P};
use crate::mpi::interface::{Arguments, Handle, Library, Received, Sink};
use crate::mpi::requests::{HeldRequest, Operation, OperationId};
use ouzel_otf2::records::enums::CollectiveOp;
use ouzel_otf2::records::event::{
    IoOperationComplete, MpiIrecv, MpiIsendComplete, MpiRequestCancelled, NonBlockingCollectiveComplete,
};

/// Events of the requests that a call has completed.
pub(super) fn complete<A: Arguments, L: Library, S: Sink>(call: &mut Call<'_, A, L, S>, begun: &Begun) {
    let is_true = call.at(P::Flag).is_none_or(|at| call.arguments.number_behind(at) != 0);
    if !is_true {
        return;
    }
    let status = call.at(P::Status).or_else(|| call.at(P::Statuses));
    match call.function.effect {
        Effect::WaitAny | Effect::TestAny => {
            let index = call.at(P::Index).map_or(-1, |at| call.arguments.index(at, 0));
            if let Some(&handle) = usize::try_from(index).ok().and_then(|index| begun.requests.get(index)) {
                one(call, handle, (status, 0));
            }
        }
        Effect::WaitSome | Effect::TestSome => {
            let n = call.at(P::OutCount).map_or(0, |at| call.arguments.number_behind(at));
            let Some(indices) = call.at(P::Indices) else { return };
            for i in 0..usize::try_from(n).unwrap_or(0) {
                let index = call.arguments.index(indices, i);
                let found = usize::try_from(index).ok().and_then(|index| begun.requests.get(index));
                if let Some(&handle) = found {
                    one(call, handle, (status, i));
                }
            }
        }
        _ => {
            for (i, &handle) in begun.requests.iter().enumerate() {
                one(call, handle, (status, i));
            }
        }
    }
}

/// Events of one completed request, whose status is number `index` of those of a parameter.
fn one<A: Arguments, L: Library, S: Sink>(
    call: &mut Call<'_, A, L, S>,
    handle: Handle,
    (status, index): (Option<usize>, usize),
) {
    let Some(HeldRequest { id, operation, is_cancelled, .. }) = call.tables.requests.complete(handle) else {
        return;
    };
    if is_cancelled && status.is_some_and(|at| call.arguments.was_cancelled(at, index)) {
        call.sink.event(MpiRequestCancelled { request_id: id.0 }.into());
        return;
    }
    let received = |call: &Call<'_, A, L, S>| status.map(|at| call.arguments.received(at, index));
    match operation {
        Operation::Send(_) => call.sink.event(MpiIsendComplete { request_id: id.0 }.into()),
        Operation::Receive { communicator } => {
            if let Some(received) = received(call) {
                receive(call, id, communicator, received);
            }
        }
        Operation::SendReceive { receive: second, communicator, sends } => {
            if sends {
                call.sink.event(MpiIsendComplete { request_id: id.0 }.into());
            }
            if let Some(received) = received(call) {
                receive(call, second, communicator, received);
            }
        }
        Operation::Collective(done) => call.sink.event(
            NonBlockingCollectiveComplete {
                collective_op: CollectiveOp::from_u8(done.op),
                communicator: done.communicator,
                root: done.root,
                size_sent: done.sent_bytes,
                size_received: done.received_bytes,
                request_id: id.0,
            }
            .into(),
        ),
        Operation::File { file } => {
            let bytes_result = received(call).map_or(0, |received| received.n_bytes);
            call.sink.event(IoOperationComplete { handle: file, bytes_result, matching_id: id.0 }.into());
        }
        Operation::Communicator { place, made } => {
            let handle = call.library.communicator_at(place);
            call.define(handle, made);
        }
    }
}

fn receive<A: Arguments, L: Library, S: Sink>(
    call: &mut Call<'_, A, L, S>,
    id: OperationId,
    communicator: u32,
    received: Received,
) {
    let Received { source, tag, n_bytes } = received;
    if let Ok(sender) = u32::try_from(source) {
        let (msg_tag, msg_length, request_id) = (number32(tag), n_bytes, id.0);
        call.sink.event(MpiIrecv { sender, communicator, msg_tag, msg_length, request_id }.into());
    }
}
