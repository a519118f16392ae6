//! One call, operation or sample in compact form: what is kept of a row of any table.
//!
//! ```text
//! row = start, end (ns, aligned over the reports), region | comm, kind | op | peer, id, bytes, more
//! ```
//!
//! The kind decides what the last fields mean. Law: a row is [`ROW_BYTES`] on disk, and is read back unchanged.
//! Order of rows of one location: by start, longest first, then by kind: a caller before its callees.

use std::cmp::Reverse;

/// Bytes of one row in a temporary file.
pub(crate) const ROW_BYTES: usize = 56;
/// A peer that is not known, or a collective without a root.
pub(crate) const NO_PEER: u32 = u32::MAX;

/// Pageable memory of the host.
pub(crate) const PAGEABLE: u8 = 1;
/// Pinned memory of the host.
pub(crate) const PINNED: u8 = 2;
/// What a row of a device has in `bytes`, by its `more`.
pub(crate) const HAS_BYTES: u64 = 1;
/// Likewise.
pub(crate) const HAS_SHAPE: u64 = 2;

/// What a row is, and what its payload means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum RowKind {
    /// A call of the host. `id`: the link to what it launched, 0 for none.
    Call,
    /// An operation of a device. `id`: the link to its launch, 0 for none; `op`: what memory of the host a copy has, as
    /// [`PAGEABLE`] and [`PINNED`]; `bytes` if `more` is 1, the number of a launch shape if it is 2.
    Device,
    /// A sample. `region`: the context plus one, 0 for none. `start` is `end`.
    Sample,
    /// A blocking send. `comm`, `peer`, `bytes`, `more`: the tag.
    Send,
    /// A blocking receive; likewise.
    Recv,
    /// A non-blocking send; likewise, `id`: the request.
    Isend,
    /// A non-blocking receive; likewise.
    Irecv,
    /// The making of a persistent send; likewise.
    SendInit,
    /// The making of a persistent receive; likewise.
    RecvInit,
    /// The start of a persistent request. `id`: the request.
    Start,
    /// A call that completes a request. `id`: the request.
    Wait,
    /// A collective. `op`, `comm`, `peer`: the root, `bytes` sent, `more`: bytes received.
    Collective,
    /// A non-blocking collective; likewise, `id`: the request.
    Icollective,
    /// A call that waits for streams. `op`: the code of a [`StreamStep`]; `peer`: the stream as a place, or the context;
    /// `more`: the event.
    StreamStep,
    /// The value of a counter. `region`: the metric; `bytes`: the bits of the value; `id`: its place among those of one
    /// time. `start` is `end`.
    Value,
}

/// What a row of [`RowKind::StreamStep`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum StreamStep {
    /// The host waits for a stream.
    AwaitStream,
    /// The host waits for a context.
    AwaitContext,
    /// The host waits for an event.
    AwaitEvent,
    /// An event is recorded in a stream.
    Record,
    /// A stream waits for an event.
    StreamAwaits,
}

impl StreamStep {
    const ALL: [StreamStep; 5] = [
        StreamStep::AwaitStream,
        StreamStep::AwaitContext,
        StreamStep::AwaitEvent,
        StreamStep::Record,
        StreamStep::StreamAwaits,
    ];

    /// The step of a code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

impl RowKind {
    const ALL: [RowKind; 15] = [
        RowKind::Call,
        RowKind::Device,
        RowKind::Sample,
        RowKind::Send,
        RowKind::Recv,
        RowKind::Isend,
        RowKind::Irecv,
        RowKind::SendInit,
        RowKind::RecvInit,
        RowKind::Start,
        RowKind::Wait,
        RowKind::Collective,
        RowKind::Icollective,
        RowKind::StreamStep,
        RowKind::Value,
    ];

    /// Whether it is an instant, not a call.
    pub(crate) fn is_instant(self) -> bool {
        matches!(self, RowKind::Sample | RowKind::Value)
    }

    /// Whether its events depend on rows before or after it.
    pub(crate) fn has_request(self) -> bool {
        !matches!(
            self,
            RowKind::Call
                | RowKind::Device
                | RowKind::Sample
                | RowKind::Send
                | RowKind::Recv
                | RowKind::Collective
                | RowKind::StreamStep
                | RowKind::Value
        )
    }
}

/// One row of any table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReportRow {
    /// Nanoseconds from the session start of the first report.
    pub start: i64,
    /// Likewise; not before `start`.
    pub end: i64,
    pub region: u32,
    pub comm: u32,
    pub kind: RowKind,
    /// Code of the collective operation.
    pub op: u8,
    pub peer: u32,
    pub id: u64,
    pub bytes: u64,
    pub more: u64,
}

impl ReportRow {
    /// A call without payload.
    pub fn call(start: i64, end: i64, region: u32) -> ReportRow {
        ReportRow {
            start,
            end,
            region,
            comm: 0,
            kind: RowKind::Call,
            op: 0,
            peer: NO_PEER,
            id: 0,
            bytes: 0,
            more: 0,
        }
    }

    /// The order of rows within a location; see the module.
    pub fn order(&self) -> (i64, Reverse<i64>, RowKind, u32, u64) {
        (self.start, Reverse(self.end), self.kind, self.region, self.id)
    }

    /// Appends the row to `bytes`.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let words = [
            self.start.cast_unsigned(),
            self.end.cast_unsigned(),
            u64::from(self.region) | u64::from(self.comm) << 32,
            self.kind as u64 | u64::from(self.op) << 8 | u64::from(self.peer) << 32,
            self.id,
            self.bytes,
            self.more,
        ];
        for word in words {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// The row that was written as `bytes`; `None` if it was not.
    pub fn read(bytes: &[u8; ROW_BYTES]) -> Option<ReportRow> {
        let word = |i: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * i..8 * i + 8]);
            u64::from_le_bytes(word)
        };
        let (ids, kinds) = (word(2), word(3));
        Some(ReportRow {
            start: word(0).cast_signed(),
            end: word(1).cast_signed(),
            region: (ids & 0xffff_ffff) as u32,
            comm: (ids >> 32) as u32,
            kind: *RowKind::ALL.get((kinds & 0xff) as usize)?,
            op: (kinds >> 8 & 0xff) as u8,
            peer: (kinds >> 32) as u32,
            id: word(4),
            bytes: word(5),
            more: word(6),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_went() {
        for (i, kind) in RowKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
            let row = ReportRow {
                start: -5,
                end: i64::MAX,
                region: 7,
                comm: u32::MAX,
                kind,
                op: 11,
                peer: NO_PEER,
                id: u64::MAX,
                bytes: 3,
                more: 9,
            };
            let mut bytes = Vec::new();
            row.write(&mut bytes);
            assert_eq!(ReportRow::read(bytes.as_slice().try_into().unwrap()), Some(row));
        }
        let mut no_kind = [0; ROW_BYTES];
        no_kind[24] = 15;
        assert_eq!(ReportRow::read(&no_kind), None);
    }

    #[test]
    fn a_caller_comes_before_what_it_calls() {
        let mut rows = [
            ReportRow::call(5, 6, 1),
            ReportRow::call(5, 9, 2),
            ReportRow::call(1, 9, 3),
            ReportRow::call(5, 5, 4),
        ];
        rows.sort_unstable_by_key(ReportRow::order);
        assert_eq!(rows.map(|row| row.region), [3, 2, 1, 4]);
    }
}
