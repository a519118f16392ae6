//! The records of snapshot files (`.snap`).

use super::enums::{CollectiveOp, MeasurementMode};
use super::field::{FieldValue, MetricValue, RefKind};
use super::list::List;
use super::table::*;
use crate::mapping::MappingTables;
use crate::wire::{Cursor, EncodeError, Fault, RecordBuffer};

record_table! {
    /// A record of a snapshot file: what was open at one time.
    table SnapshotRecord<'a>, kinds SnapshotKind;

    /// A snapshot begins.
    10 sized SnapshotStart {
        /// Records of the snapshot.
        number_of_records: u64 as int,
    }

    /// A snapshot ends.
    11 sized SnapshotEnd {
        /// Position in the event file to go on reading at.
        cont_read_pos: u64 as int,
    }

    /// The measurement was switched on or off.
    12 sized MeasurementOnOff {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        /// Measurement mode.
        measurement_mode: MeasurementMode as int,
    }

    /// A region begins.
    13 sized Enter {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        region: u32 as refer(Region),
    }

    /// A blocking send was started.
    14 sized MpiSend {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
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
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
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
    16 sized MpiIsendComplete {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A blocking receive is complete.
    17 sized MpiRecv {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        /// Rank of the sender in the communicator.
        sender: u32 as int,
        communicator: u32 as refer(Comm),
        /// Tag of the message.
        msg_tag: u32 as int,
        /// Bytes of the message.
        msg_length: u64 as int,
    }

    /// A non-blocking receive was posted.
    18 sized MpiIrecvRequest {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        /// The request, unique on this location while it is open.
        request_id: u64 as int,
    }

    /// A non-blocking receive is complete.
    19 sized MpiIrecv {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
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

    /// A collective operation begins on this location.
    20 sized MpiCollectiveBegin {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
    }

    /// A collective operation ends on this location.
    21 sized MpiCollectiveEnd {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
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
    22 sized OmpFork {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        /// Threads asked for.
        number_of_requested_threads: u32 as int,
    }

    /// An OpenMP lock was acquired (deprecated).
    23 sized OmpAcquireLock {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        /// The lock.
        lock_id: u32 as int,
        /// How often the lock was acquired before.
        acquisition_order: u32 as int,
    }

    /// An OpenMP task was created (deprecated).
    24 sized OmpTaskCreate {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        /// The task.
        task_id: u64 as int,
    }

    /// An OpenMP task goes on (deprecated).
    25 sized OmpTaskSwitch {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        /// The task.
        task_id: u64 as int,
    }

    /// Values of the metrics of one class.
    26 sized Metric<'a> {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        metric: u32 as refer(Metric),
        /// The values, in the order of the class's members.
        values: List<'a, MetricValue> as list8,
    }

    /// A parameter has a text as its value.
    27 sized ParameterString {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        parameter: u32 as refer(Parameter),
        string: u32 as refer(String),
    }

    /// A parameter has a number as its value.
    28 sized ParameterInt {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        parameter: u32 as refer(Parameter),
        /// The value.
        value: i64 as int,
    }

    /// A parameter has an unsigned number as its value.
    29 sized ParameterUnsignedInt {
        /// Ticks of the event that this record repeats.
        orig_event_time: u64 as full,
        parameter: u32 as refer(Parameter),
        /// The value.
        value: u64 as int,
    }
}
