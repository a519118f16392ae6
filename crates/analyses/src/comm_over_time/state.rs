//! Traffic by bin.

use crate::comm_matrix::Traffic;
use crate::communication_totals::LEAST_NULL_PEER;
use crate::time_grid::{BinCursor, TimeGrid};
use ouzel_model::{MessageEnd, Ticks};
use serde::{Deserialize, Serialize};

/// What was sent and received in one bin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinTraffic {
    /// Sent, by the time of the send.
    pub sent: Traffic,
    /// Received, by the time the receive was complete.
    pub received: Traffic,
}

/// While a location is folded.
#[derive(Debug)]
pub struct CommOverTimeLocal {
    pub(super) sends: SideCounts,
    pub(super) receives: SideCounts,
}

/// One side of the messages of a location.
#[derive(Debug)]
pub(super) struct SideCounts {
    cursor: BinCursor,
    first: Ticks,
    last: Ticks,
    pub bins: Vec<Traffic>,
    /// Messages outside of the bins.
    pub outside: Traffic,
    /// Message ends without another side.
    pub null_peers: u64,
}

impl SideCounts {
    pub fn new(grid: TimeGrid) -> Self {
        let range = grid.range();
        SideCounts {
            cursor: grid.cursor(),
            first: range.start,
            last: range.end,
            bins: vec![Traffic::default(); grid.n_bins()],
            outside: Traffic::default(),
            null_peers: 0,
        }
    }

    /// Adds message ends in the order of time: the hot loop.
    #[inline(never)]
    pub fn add(&mut self, ends: &[MessageEnd], time: &[Ticks]) {
        for end in ends {
            if LEAST_NULL_PEER <= end.peer.0 {
                self.null_peers += 1;
                continue;
            }
            let at = time[end.row as usize];
            self.cursor.advance_to(at);
            let inside = self.first <= at && at <= self.last;
            let sum = if inside { &mut self.bins[self.cursor.bin] } else { &mut self.outside };
            sum.add(Traffic::one(end.bytes));
        }
    }
}

/// Traffic by bin over the locations folded so far; no bins before the first location.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommOverTimePartial {
    pub(super) bins: Vec<BinTraffic>,
    /// Message ends outside of the bins.
    pub(super) outside: BinTraffic,
    /// Message ends without another side.
    pub(super) null_peers: u64,
}

impl BinTraffic {
    pub(super) fn add(&mut self, other: BinTraffic) {
        self.sent.add(other.sent);
        self.received.add(other.received);
    }
}

impl CommOverTimePartial {
    pub(super) fn add(&mut self, other: CommOverTimePartial) {
        self.bins.resize(self.bins.len().max(other.bins.len()), BinTraffic::default());
        self.bins.iter_mut().zip(other.bins).for_each(|(sum, bin)| sum.add(bin));
        self.outside.add(other.outside);
        self.null_peers += other.null_peers;
    }
}
