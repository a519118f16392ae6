//! Bytes that a rank sends and receives in a collective operation, as Score-P counts them.
//!
//! Law: what is counted are bytes of the operation's definition, not of an algorithm: `MPI_Allreduce` of n bytes
//! among p ranks sends n·p and receives n·p. Data that stay in place are not counted.

use super::communicators::KnownCommunicator;
use super::functions::{Function, Parameter as P};
use super::interface::{Arguments, Handle, HandleKind, Library};

/// What the arguments of one collective call say.
struct Sizes<'a, A, L> {
    function: &'a Function,
    arguments: &'a A,
    library: &'a mut L,
    n_peers: u64,
}

impl<A: Arguments, L: Library> Sizes<'_, A, L> {
    /// Bytes of `count` elements of a type.
    fn product(&mut self, count: P, datatype: P) -> u64 {
        let (Some(count), Some(datatype)) = (self.function.at(count), self.function.at(datatype)) else {
            return 0;
        };
        let count = u64::try_from(self.arguments.number(count)).unwrap_or(0);
        count.saturating_mul(self.type_bytes(datatype))
    }

    fn type_bytes(&mut self, at: usize) -> u64 {
        let datatype = self.arguments.handle(at, HandleKind::Type);
        self.library.type_bytes(datatype)
    }

    /// Bytes of an array of counts, one for each rank, of one type or of a type for each.
    fn sum(&mut self, counts: P, datatype: P, datatypes: P) -> u64 {
        let Some(counts) = self.function.at(counts) else { return 0 };
        let one = self.function.at(datatype).or_else(|| self.function.at(P::Type));
        let bytes_of_one = one.map(|at| self.type_bytes(at));
        let mut sum = 0u64;
        for rank in 0..usize::try_from(self.n_peers).unwrap_or(0) {
            let count = u64::try_from(self.arguments.element(counts, rank)).unwrap_or(0);
            let n_bytes = match (bytes_of_one, self.function.at(datatypes)) {
                (Some(n_bytes), _) => n_bytes,
                (None, Some(at)) => {
                    let datatype: Handle = self.arguments.handle_element(at, rank, HandleKind::Type);
                    // A type need not be valid where nothing is sent.
                    if count == 0 { 0 } else { self.library.type_bytes(datatype) }
                }
                (None, None) => 0,
            };
            sum = sum.saturating_add(count.saturating_mul(n_bytes));
        }
        sum
    }

    fn sent(&mut self) -> u64 {
        self.product(P::SendCount, P::SendType)
    }

    fn received(&mut self) -> u64 {
        self.product(P::ReceiveCount, P::ReceiveType)
    }

    fn is_in_place(&self, buffer: P) -> bool {
        self.function.at(buffer).is_some_and(|at| self.arguments.is_in_place(at))
    }
}

/// Where the own process is in a rooted operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// It is the root.
    Root,
    /// It is another member.
    Other,
    /// It takes no part.
    Absent,
}

/// Bytes sent and received by this process.
pub(super) fn of_collective<A: Arguments, L: Library>(
    function: &Function,
    arguments: &A,
    library: &mut L,
    communicator: KnownCommunicator,
    place: Place,
) -> (u64, u64) {
    let n = u64::from(communicator.n_peers);
    let rank = u64::from(communicator.rank);
    let mut sizes = Sizes { function, arguments, library, n_peers: n };
    let (is_root, is_absent) = (place == Place::Root, place == Place::Absent);
    let others = n.saturating_sub(1);
    let op = function.collective().unwrap_or(0);
    match op {
        _ if is_absent => (0, 0),
        1 => {
            let bytes = sizes.product(P::Count, P::Type);
            let received = if is_root && communicator.is_inter { 0 } else { bytes };
            (if is_root { bytes.saturating_mul(n) } else { 0 }, received)
        }
        2 | 3 => {
            let in_place = sizes.is_in_place(P::Send);
            let sent = if in_place || (is_root && communicator.is_inter) { 0 } else { sizes.sent() };
            let received = match (is_root, op) {
                (false, _) => 0,
                (true, 2) => sizes.received().saturating_mul(if in_place { others } else { n }),
                (true, _) => sizes.sum(P::ReceiveCounts, P::ReceiveType, P::ReceiveTypes),
            };
            (sent, received)
        }
        4 | 5 => {
            let in_place = sizes.is_in_place(P::Receive);
            let received = if in_place || (is_root && communicator.is_inter) { 0 } else { sizes.received() };
            let sent = match (is_root, op) {
                (false, _) => 0,
                (true, 4) => sizes.sent().saturating_mul(if in_place { others } else { n }),
                (true, _) => sizes.sum(P::SendCounts, P::SendType, P::SendTypes),
            };
            (sent, received)
        }
        6 | 7 => {
            let received = match op {
                6 => sizes.received().saturating_mul(n),
                _ => sizes.sum(P::ReceiveCounts, P::ReceiveType, P::ReceiveTypes),
            };
            match sizes.is_in_place(P::Send) {
                // What is contributed is the own part of what is received, which stays where it is.
                true if op == 6 => {
                    let part = sizes.received().saturating_mul(others);
                    (part, part)
                }
                true => (0, received),
                false => (sizes.sent().saturating_mul(n), received),
            }
        }
        8..=10 => {
            let received = match op {
                8 => sizes.received().saturating_mul(n),
                _ => sizes.sum(P::ReceiveCounts, P::ReceiveType, P::ReceiveTypes),
            };
            let sent = match (sizes.is_in_place(P::Send), op) {
                (true, _) => received,
                (false, 8) => sizes.sent().saturating_mul(n),
                (false, _) => sizes.sum(P::SendCounts, P::SendType, P::SendTypes),
            };
            (sent, received)
        }
        11 | 16 => {
            let bytes = sizes.product(P::Count, P::Type).saturating_mul(n);
            (bytes, bytes)
        }
        12 => {
            let bytes = sizes.product(P::Count, P::Type);
            let sent =
                if is_root && (communicator.is_inter || sizes.is_in_place(P::Send)) { 0 } else { bytes };
            let n_received = if sizes.is_in_place(P::Send) { others } else { n };
            (sent, if is_root { bytes.saturating_mul(n_received) } else { 0 })
        }
        _ => of_reduction(&mut sizes, op, rank),
    }
}

/// Of operations whose parts differ from rank to rank: scatter of a reduction, and scans.
fn of_reduction<A: Arguments, L: Library>(sizes: &mut Sizes<'_, A, L>, op: u8, rank: u64) -> (u64, u64) {
    let n = sizes.n_peers;
    match op {
        13 => {
            let own = usize::try_from(rank).unwrap_or(0);
            let count = sizes.function.at(P::ReceiveCounts).map_or(0, |at| sizes.arguments.element(at, own));
            let bytes = sizes.function.at(P::Type).map_or(0, |at| sizes.type_bytes(at));
            let received = u64::try_from(count).unwrap_or(0).saturating_mul(bytes).saturating_mul(n);
            (sizes.sum(P::ReceiveCounts, P::Type, P::ReceiveTypes), received)
        }
        14 => {
            let bytes = sizes.product(P::Count, P::Type);
            (bytes.saturating_mul(n.saturating_sub(rank)), bytes.saturating_mul(rank + 1))
        }
        15 => {
            let bytes = sizes.product(P::Count, P::Type);
            (bytes.saturating_mul(n.saturating_sub(rank + 1)), bytes.saturating_mul(rank))
        }
        _ => (0, 0),
    }
}
