//! The records of event files (`.evt`).
//!
//! Times and attributes come before an event as records of their own; see
//! [`crate::read`]. References are local to the location until mapped.

use super::enums::{
    CollectiveOp, IoAccessMode, IoOperationMode, IoSeekOption, LockType, MeasurementMode, Paradigm,
    RmaAtomicType, RmaSyncType,
};
use super::field::{FieldValue, MetricValue, RefKind};
use super::list::List;
use super::table::*;
use crate::mapping::MappingTables;
use crate::wire::{Cursor, EncodeError, Fault, RecordBuffer};

record_table! {
    /// An event: one record of an event file.
    ///
    /// Cheap to copy; lists are views into the bytes that the reader holds.
    table Event<'a>, kinds EventKind;

    /// The measurement stopped to write its buffer; the event lies at the start of the pause.
    10 sized BufferFlush {
        /// Ticks at which the measurement went on.
        stop_time: u64 as full,
    }

    /// The measurement was switched on or off.
    11 sized MeasurementOnOff {
        /// Measurement mode.
        measurement_mode: MeasurementMode as int,
    }

    /// A region begins.
    12 bare Enter {
        region: u32 as refer(Region),
    }

    /// A region ends.
    13 bare Leave {
        region: u32 as refer(Region),
    }

    /// A blocking send was started.
    14 sized MpiSend {
        /// Rank of the receiver in the communicator.
        receiver: u32 as int,
        communicator: u32 as refer(Comm),
        /// Tag of the message.
        msg_tag: u32 as int,
        /// Bytes of the message.
        msg_length: u64 as int,
    }

    /// A non-blocking send was started.
    15 sized MpiIsend {
        /// Rank of the receiver in the communicator.
        receiver: u32 as int,
        communicator: u32 as refer(Comm),
        /// Tag of the message.
        msg_tag: u32 as int,
        /// Bytes of the message.
        msg_length: u64 as int,
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A non-blocking send is complete.
    16 bare MpiIsendComplete {
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A non-blocking receive was posted.
    17 bare MpiIrecvRequest {
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A blocking receive is complete.
    18 sized MpiRecv {
        /// Rank of the sender in the communicator.
        sender: u32 as int,
        communicator: u32 as refer(Comm),
        /// Tag of the message.
        msg_tag: u32 as int,
        /// Bytes of the message.
        msg_length: u64 as int,
    }

    /// A non-blocking receive is complete.
    19 sized MpiIrecv {
        /// Rank of the sender in the communicator.
        sender: u32 as int,
        communicator: u32 as refer(Comm),
        /// Tag of the message.
        msg_tag: u32 as int,
        /// Bytes of the message.
        msg_length: u64 as int,
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A request was tested and not complete.
    20 bare MpiRequestTest {
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A request was cancelled.
    21 bare MpiRequestCancelled {
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A collective operation begins on this location.
    22 sized MpiCollectiveBegin {}

    /// A collective operation ends on this location.
    23 sized MpiCollectiveEnd {
        /// Collective op.
        collective_op: CollectiveOp as int,
        communicator: u32 as refer(Comm),
        /// Rank of the root, or one of the special values of the format for none, self and this group.
        root: u32 as int,
        /// Bytes sent by this location.
        size_sent: u64 as int,
        /// Bytes received by this location.
        size_received: u64 as int,
    }

    /// An OpenMP team forks (deprecated).
    24 bare OmpFork {
        /// Threads asked for.
        number_of_requested_threads: u32 as int,
    }

    /// An OpenMP team joins (deprecated).
    25 sized OmpJoin {}

    /// An OpenMP lock was acquired (deprecated).
    26 sized OmpAcquireLock {
        /// The lock.
        lock_id: u32 as int,
        /// How often the lock was acquired before.
        acquisition_order: u32 as int,
    }

    /// An OpenMP lock was released (deprecated).
    27 sized OmpReleaseLock {
        /// The lock.
        lock_id: u32 as int,
        /// How often the lock was acquired before.
        acquisition_order: u32 as int,
    }

    /// An OpenMP task was created (deprecated).
    28 bare OmpTaskCreate {
        /// The task.
        task_id: u64 as int,
    }

    /// An OpenMP task goes on (deprecated).
    29 bare OmpTaskSwitch {
        /// The task.
        task_id: u64 as int,
    }

    /// An OpenMP task is complete (deprecated).
    30 bare OmpTaskComplete {
        /// The task.
        task_id: u64 as int,
    }

    /// Values of the metrics of one class.
    31 sized Metric<'a> {
        metric: u32 as refer(Metric),
        /// The values, in the order of the class's members.
        values: List<'a, MetricValue> as list8,
    }

    /// A parameter has a text as its value.
    32 sized ParameterString {
        parameter: u32 as refer(Parameter),
        string: u32 as refer(String),
    }

    /// A parameter has a number as its value.
    33 sized ParameterInt {
        parameter: u32 as refer(Parameter),
        /// The value.
        value: i64 as int,
    }

    /// A parameter has an unsigned number as its value.
    34 sized ParameterUnsignedInt {
        parameter: u32 as refer(Parameter),
        /// The value.
        value: u64 as int,
    }

    /// A one-sided window was created.
    35 sized RmaWinCreate {
        win: u32 as refer(RmaWin),
    }

    /// A one-sided window was destroyed.
    36 sized RmaWinDestroy {
        win: u32 as refer(RmaWin),
    }

    /// A collective one-sided operation begins.
    37 sized RmaCollectiveBegin {}

    /// A collective one-sided operation ends.
    38 sized RmaCollectiveEnd {
        /// Collective op.
        collective_op: CollectiveOp as int,
        /// Bit set of what is synchronised.
        sync_level: u32 as int,
        win: u32 as refer(RmaWin),
        /// Rank of the root, or one of the special values of the format for none, self and this group.
        root: u32 as int,
        /// Bytes sent.
        bytes_sent: u64 as int,
        /// Bytes received.
        bytes_received: u64 as int,
    }

    /// A group of a one-sided window synchronises.
    39 sized RmaGroupSync {
        /// Bit set of what is synchronised.
        sync_level: u32 as int,
        win: u32 as refer(RmaWin),
        group: u32 as refer(Group),
    }

    /// A lock of a window was asked for.
    40 sized RmaRequestLock {
        win: u32 as refer(RmaWin),
        /// Rank of the target in the window's communicator.
        remote: u32 as int,
        /// The lock.
        lock_id: u64 as int,
        /// Lock type.
        lock_type: LockType as int,
    }

    /// A lock of a window was acquired.
    41 sized RmaAcquireLock {
        win: u32 as refer(RmaWin),
        /// Rank of the target in the window's communicator.
        remote: u32 as int,
        /// The lock.
        lock_id: u64 as int,
        /// Lock type.
        lock_type: LockType as int,
    }

    /// A lock of a window was tried and not acquired.
    42 sized RmaTryLock {
        win: u32 as refer(RmaWin),
        /// Rank of the target in the window's communicator.
        remote: u32 as int,
        /// The lock.
        lock_id: u64 as int,
        /// Lock type.
        lock_type: LockType as int,
    }

    /// A lock of a window was released.
    43 sized RmaReleaseLock {
        win: u32 as refer(RmaWin),
        /// Rank of the target in the window's communicator.
        remote: u32 as int,
        /// The lock.
        lock_id: u64 as int,
    }

    /// A one-sided synchronisation.
    44 sized RmaSync {
        win: u32 as refer(RmaWin),
        /// Rank of the target in the window's communicator.
        remote: u32 as int,
        /// Sync type.
        sync_type: RmaSyncType as int,
    }

    /// A wait for a change in a window ended.
    45 sized RmaWaitChange {
        win: u32 as refer(RmaWin),
    }

    /// A one-sided put was started.
    46 sized RmaPut {
        win: u32 as refer(RmaWin),
        /// Rank of the target in the window's communicator.
        remote: u32 as int,
        /// Bytes moved.
        bytes: u64 as int,
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// A one-sided get was started.
    47 sized RmaGet {
        win: u32 as refer(RmaWin),
        /// Rank of the target in the window's communicator.
        remote: u32 as int,
        /// Bytes moved.
        bytes: u64 as int,
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// A one-sided atomic operation was started.
    48 sized RmaAtomic {
        win: u32 as refer(RmaWin),
        /// Rank of the target in the window's communicator.
        remote: u32 as int,
        /// Type.
        atomic_type: RmaAtomicType as int,
        /// Bytes sent.
        bytes_sent: u64 as int,
        /// Bytes received.
        bytes_received: u64 as int,
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// A one-sided operation is complete, and was blocking.
    49 sized RmaOpCompleteBlocking {
        win: u32 as refer(RmaWin),
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// A one-sided operation is complete, as far as the caller can tell.
    50 sized RmaOpCompleteNonBlocking {
        win: u32 as refer(RmaWin),
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// A one-sided operation was tested and not complete.
    51 sized RmaOpTest {
        win: u32 as refer(RmaWin),
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// A one-sided operation is complete at the target.
    52 sized RmaOpCompleteRemote {
        win: u32 as refer(RmaWin),
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// A team of threads forks.
    53 sized ThreadFork {
        /// Model.
        model: Paradigm as int,
        /// Threads asked for.
        number_of_requested_threads: u32 as int,
    }

    /// A team of threads joins.
    54 sized ThreadJoin {
        /// Model.
        model: Paradigm as int,
    }

    /// The location begins to belong to a team.
    55 sized ThreadTeamBegin {
        thread_team: u32 as refer(Comm),
    }

    /// The location ceases to belong to a team.
    56 sized ThreadTeamEnd {
        thread_team: u32 as refer(Comm),
    }

    /// A lock was acquired.
    57 sized ThreadAcquireLock {
        /// Model.
        model: Paradigm as int,
        /// The lock.
        lock_id: u32 as int,
        /// How often the lock was acquired before.
        acquisition_order: u32 as int,
    }

    /// A lock was released.
    58 sized ThreadReleaseLock {
        /// Model.
        model: Paradigm as int,
        /// The lock.
        lock_id: u32 as int,
        /// How often the lock was acquired before.
        acquisition_order: u32 as int,
    }

    /// A task was created.
    59 sized ThreadTaskCreate {
        thread_team: u32 as refer(Comm),
        /// Rank in the team of the thread that created the task.
        creating_thread: u32 as int,
        /// Number of the task on its creating thread.
        generation_number: u32 as int,
    }

    /// A task begins or goes on.
    60 sized ThreadTaskSwitch {
        thread_team: u32 as refer(Comm),
        /// Rank in the team of the thread that created the task.
        creating_thread: u32 as int,
        /// Number of the task on its creating thread.
        generation_number: u32 as int,
    }

    /// A task is complete.
    61 sized ThreadTaskComplete {
        thread_team: u32 as refer(Comm),
        /// Rank in the team of the thread that created the task.
        creating_thread: u32 as int,
        /// Number of the task on its creating thread.
        generation_number: u32 as int,
    }

    /// A thread was created.
    62 sized ThreadCreate {
        thread_contingent: u32 as refer(Comm),
        /// Number that creation and begin, or end and wait, share.
        sequence_count: u64 as int,
    }

    /// A created thread begins.
    63 sized ThreadBegin {
        thread_contingent: u32 as refer(Comm),
        /// Number that creation and begin, or end and wait, share.
        sequence_count: u64 as int,
    }

    /// A thread waits for a created thread.
    64 sized ThreadWait {
        thread_contingent: u32 as refer(Comm),
        /// Number that creation and begin, or end and wait, share.
        sequence_count: u64 as int,
    }

    /// A created thread ends.
    65 sized ThreadEnd {
        thread_contingent: u32 as refer(Comm),
        /// Number that creation and begin, or end and wait, share.
        sequence_count: u64 as int,
    }

    /// A calling context begins, recorded by instrumentation.
    66 sized CallingContextEnter {
        calling_context: u32 as refer(CallingContext),
        /// Number of nodes, from this one up, that are new, plus one.
        unwind_distance: u32 as int,
    }

    /// A calling context ends, recorded by instrumentation.
    67 sized CallingContextLeave {
        calling_context: u32 as refer(CallingContext),
    }

    /// A sample found this calling context.
    68 sized CallingContextSample {
        calling_context: u32 as refer(CallingContext),
        /// Number of nodes, from this one up, that are new, plus one.
        unwind_distance: u32 as int,
        interrupt_generator: u32 as refer(InterruptGenerator),
    }

    /// An I/O handle was opened.
    69 sized IoCreateHandle {
        handle: u32 as refer(IoHandle),
        /// Mode.
        mode: IoAccessMode as int,
        /// Bit set.
        creation_flags: u32 as int,
        /// Bit set.
        status_flags: u32 as int,
    }

    /// An I/O handle was closed.
    70 sized IoDestroyHandle {
        handle: u32 as refer(IoHandle),
    }

    /// An I/O handle was duplicated.
    71 sized IoDuplicateHandle {
        old_handle: u32 as refer(IoHandle),
        new_handle: u32 as refer(IoHandle),
        /// Bit set.
        status_flags: u32 as int,
    }

    /// The position of an I/O handle was moved.
    72 sized IoSeek {
        handle: u32 as refer(IoHandle),
        /// Bytes asked for.
        offset_request: i64 as int,
        /// Whence.
        whence: IoSeekOption as int,
        /// Position afterwards, in bytes.
        offset_result: u64 as int,
    }

    /// The status flags of an I/O handle changed.
    73 sized IoChangeStatusFlags {
        handle: u32 as refer(IoHandle),
        /// Bit set.
        status_flags: u32 as int,
    }

    /// A file was deleted.
    74 sized IoDeleteFile {
        io_paradigm: u8 as refer(IoParadigm),
        file: u32 as refer(IoFile),
    }

    /// An I/O operation begins.
    75 sized IoOperationBegin {
        handle: u32 as refer(IoHandle),
        /// Mode.
        mode: IoOperationMode as int,
        /// Bit set.
        operation_flags: u32 as int,
        /// Bytes asked for.
        bytes_request: u64 as int,
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// An I/O operation was tested and not complete.
    76 sized IoOperationTest {
        handle: u32 as refer(IoHandle),
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// A non-blocking I/O operation was started.
    77 sized IoOperationIssued {
        handle: u32 as refer(IoHandle),
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// An I/O operation is complete.
    78 sized IoOperationComplete {
        handle: u32 as refer(IoHandle),
        /// Bytes moved.
        bytes_result: u64 as int,
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// An I/O operation was cancelled.
    79 sized IoOperationCancelled {
        handle: u32 as refer(IoHandle),
        /// Number that begin and completion share.
        matching_id: u64 as int,
    }

    /// A lock of an I/O handle was acquired.
    80 sized IoAcquireLock {
        handle: u32 as refer(IoHandle),
        /// Lock type.
        lock_type: LockType as int,
    }

    /// A lock of an I/O handle was released.
    81 sized IoReleaseLock {
        handle: u32 as refer(IoHandle),
        /// Lock type.
        lock_type: LockType as int,
    }

    /// A lock of an I/O handle was tried and not acquired.
    82 sized IoTryLock {
        handle: u32 as refer(IoHandle),
        /// Lock type.
        lock_type: LockType as int,
    }

    /// The program begins.
    83 sized ProgramBegin<'a> {
        program_name: u32 as refer(String),
        program_arguments: List<'a, u32> as refs32(String),
    }

    /// The program ends.
    84 sized ProgramEnd {
        /// What the program returned.
        exit_status: i64 as int,
    }

    /// A non-blocking collective operation was started.
    85 sized NonBlockingCollectiveRequest {
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A non-blocking collective operation is complete.
    86 sized NonBlockingCollectiveComplete {
        /// Collective op.
        collective_op: CollectiveOp as int,
        communicator: u32 as refer(Comm),
        /// Rank of the root, or one of the special values of the format for none, self and this group.
        root: u32 as int,
        /// Bytes sent by this location.
        size_sent: u64 as int,
        /// Bytes received by this location.
        size_received: u64 as int,
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A communicator was created.
    87 sized CommCreate {
        communicator: u32 as refer(Comm),
    }

    /// A communicator was destroyed.
    88 sized CommDestroy {
        communicator: u32 as refer(Comm),
    }

    /// A message was probed for a matched receive.
    89 sized MpiProbe {
        /// Rank of the sender in the communicator.
        sender: u32 as int,
        communicator: u32 as refer(Comm),
        /// Tag of the message.
        tag: u32 as int,
        /// The probed message, unique on this location while it is open.
        message_id: u64 as int,
    }

    /// A matched receive is complete.
    90 sized MpiMrecv {
        /// The probed message, unique on this location while it is open.
        message_id: u64 as int,
        /// Bytes of the message.
        msg_length: u64 as int,
    }

    /// A non-blocking matched receive was posted.
    91 sized MpiImrecvRequest {
        /// The probed message, unique on this location while it is open.
        message_id: u64 as int,
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A non-blocking matched receive is complete.
    92 sized MpiImrecv {
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
        /// Bytes of the message.
        msg_length: u64 as int,
    }
}
