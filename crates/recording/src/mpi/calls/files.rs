//! Files of MPI: what is opened, read and written.
//!
//! ```text
//! MPI_File_read       begin ─── complete
//! MPI_File_iread      begin, issued ─── … ─── MPI_Wait: complete
//! …_all_begin         begin ─── … ─── …_all_end: complete
//! ```
//! Law: an operation that has begun completes once, with the bytes that its status says, or none if it has failed. A file
//! that was opened where nothing was recorded has no operations. A handle is one file on one communicator.

use super::Call;
use crate::io::first_of_mpi;
use crate::journal::Entry;
use crate::mpi::functions::{Effect as E, Parameter as P};
use crate::mpi::interface::{Arguments, Handle, HandleKind, Library, Sink};
use crate::mpi::requests::{Operation, OperationId};
use ouzel_otf2::records::enums::{IoAccessMode, IoOperationMode};
use ouzel_otf2::records::event::{
    IoCreateHandle, IoDestroyHandle, IoOperationBegin, IoOperationComplete, IoOperationIssued,
};
use ouzel_otf2::wire::UNDEFINED_U32;
use rustc_hash::FxHashMap;

/// Files that a process knows.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Numbers of files, by path and communicator.
    numbers: FxHashMap<(String, u32), u32>,
    open: FxHashMap<Handle, u32>,
    /// Collective operations whose second half is still to come: a file has at most one.
    halves: FxHashMap<Handle, OperationId>,
}

/// A call of a file, until it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct BegunFile {
    handle: Handle,
    number: u32,
    operation: Option<OperationId>,
}

/// Looks at the file that a call is given.
pub(super) fn before<A: Arguments, L: Library, S: Sink>(call: &mut Call<'_, A, L, S>) -> Option<BegunFile> {
    let at = call.at(P::File)?;
    let handle = match call.function.effect {
        E::OpenFile => return None,
        E::CloseFile => call.arguments.handle_behind(at, HandleKind::File),
        _ => call.arguments.handle(at, HandleKind::File),
    };
    let number = *call.tables.files.open.get(&handle)?;
    let mode = match call.function.effect {
        E::ReadFile | E::StartReadFile | E::BeginReadFile => IoOperationMode::Read,
        E::WriteFile | E::StartWriteFile | E::BeginWriteFile => IoOperationMode::Write,
        E::SyncFile => IoOperationMode::Flush,
        _ => return Some(BegunFile { handle, number, operation: None }),
    };
    const NON_BLOCKING: u32 = 1;
    const COLLECTIVE: u32 = 2;
    let is_started = matches!(
        call.function.effect,
        E::StartReadFile | E::StartWriteFile | E::BeginReadFile | E::BeginWriteFile
    );
    let collective = if call.function.is_collective_on_file() { COLLECTIVE } else { 0 };
    let operation_flags = collective | if is_started { NON_BLOCKING } else { 0 };
    let id = call.tables.requests.next_id();
    let bytes_request = bytes_asked_for(call);
    call.sink.event(
        IoOperationBegin { handle: number, mode, operation_flags, bytes_request, matching_id: id.0 }.into(),
    );
    Some(BegunFile { handle, number, operation: Some(id) })
}

fn bytes_asked_for<A: Arguments, L: Library, S: Sink>(call: &mut Call<'_, A, L, S>) -> u64 {
    let (Some(count), Some(datatype)) = (call.at(P::Count), call.at(P::Type)) else { return 0 };
    let count = u64::try_from(call.arguments.number(count)).unwrap_or(0);
    count.saturating_mul(call.library.type_bytes(call.arguments.handle(datatype, HandleKind::Type)))
}

/// Looks at what has become of a call that has ended well.
pub(super) fn after<A: Arguments, L: Library, S: Sink>(
    call: &mut Call<'_, A, L, S>,
    begun: Option<BegunFile>,
) {
    if call.function.effect == E::OpenFile {
        open(call);
        return;
    }
    let Some(BegunFile { handle, number, operation }) = begun else { return };
    match (call.function.effect, operation) {
        (E::CloseFile, _) => {
            call.tables.files.open.remove(&handle);
            call.sink.event(IoDestroyHandle { handle: number }.into());
        }
        (E::StartReadFile | E::StartWriteFile, Some(id)) => {
            call.sink.event(IoOperationIssued { handle: number, matching_id: id.0 }.into());
            if let Some(request) = call.request() {
                call.tables.requests.begin(request, id, Operation::File { file: number });
            }
        }
        (E::BeginReadFile | E::BeginWriteFile, Some(id)) => {
            call.sink.event(IoOperationIssued { handle: number, matching_id: id.0 }.into());
            call.tables.files.halves.insert(handle, id);
        }
        (E::EndFile, _) => {
            if let Some(id) = call.tables.files.halves.remove(&handle) {
                complete(call, number, id);
            }
        }
        (_, Some(id)) => complete(call, number, id),
        _ => {}
    }
}

fn complete<A: Arguments, L: Library, S: Sink>(call: &mut Call<'_, A, L, S>, number: u32, id: OperationId) {
    let bytes_result = call.at(P::Status).map_or(0, |at| call.arguments.received(at, 0).n_bytes);
    call.sink.event(IoOperationComplete { handle: number, bytes_result, matching_id: id.0 }.into());
}

/// Nothing was moved.
pub(super) fn failed<A: Arguments, L: Library, S: Sink>(
    call: &mut Call<'_, A, L, S>,
    begun: Option<BegunFile>,
) {
    let Some(BegunFile { handle, number, operation }) = begun else { return };
    let half = (call.function.effect == E::EndFile).then(|| call.tables.files.halves.remove(&handle));
    if let Some(id) = operation.or(half.flatten()) {
        let complete = IoOperationComplete { handle: number, bytes_result: 0, matching_id: id.0 };
        call.sink.event(complete.into());
    }
}

fn open<A: Arguments, L: Library, S: Sink>(call: &mut Call<'_, A, L, S>) {
    let (Some(at), Some(name), Some(mode)) = (call.at(P::File), call.at(P::Text), call.at(P::AccessMode))
    else {
        return;
    };
    let path = call.library.path_of(&call.arguments.text(name));
    let communicator = call.communicator().map_or(UNDEFINED_U32, |known| known.id);
    let next = first_of_mpi() + u32::try_from(call.tables.files.numbers.len()).unwrap_or(0);
    let number = *call.tables.files.numbers.entry((path.clone(), communicator)).or_insert(next);
    if number == next {
        call.sink.entry(&Entry::MpiFile { id: number, communicator, file: path });
    }
    let handle = call.arguments.handle_behind(at, HandleKind::File);
    call.tables.files.open.insert(handle, number);
    let mode = access(call.arguments.number(mode));
    call.sink.event(IoCreateHandle { handle: number, mode, creation_flags: 0, status_flags: 0 }.into());
}

/// The way a file is opened: MPI_MODE_RDONLY and MPI_MODE_WRONLY are the same numbers in Open MPI and MPICH.
fn access(mode: i64) -> IoAccessMode {
    const READ_ONLY: i64 = 2;
    const WRITE_ONLY: i64 = 4;
    match mode {
        mode if mode & READ_ONLY != 0 => IoAccessMode::ReadOnly,
        mode if mode & WRITE_ONLY != 0 => IoAccessMode::WriteOnly,
        _ => IoAccessMode::ReadWrite,
    }
}
