//! The machine that a program runs on: what calls and transfers cost, and what makes a call wait.

use super::program::{CollectiveKind, Shape};

/// Costs in ticks. The default costs nothing, sends everything eagerly and lets a member of a collective operation
/// leave as soon as it has the data it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// What every call of MPI costs its caller.
    pub overhead: u64,
    /// What a transfer takes, whatever its length.
    pub latency: u64,
    /// Bytes transferred in a tick; any number at once if `None`.
    pub bytes_per_tick: Option<u64>,
    /// The longest message that is sent eagerly.
    pub eager_limit: u64,
    /// When a transfer runs.
    pub transfer: Transfer,
    /// Who waits for whom in operations with a root and in scans.
    pub rooted: Coupling,
    /// Who waits for whom in operations of all with all. Starting and ending MPI and barriers always couple all.
    pub all_to_all: Coupling,
}

/// When a transfer runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// In the background, from the posting on; a late receiver finds it done.
    InFlight,
    /// In the completing call, once all that it waits for is posted. The length of a call after its wait then does not
    /// depend on the others, so that a replay that keeps it is exact.
    InCall,
}

/// Who waits for whom in a collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coupling {
    /// A member waits for those whose data it needs.
    Data,
    /// Every member waits for all. What this adds to the wait for data has no class and counts as time of the call.
    All,
    /// Nobody waits, which no real operation of all with all can do: the traps for analyses are made of this.
    None,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            overhead: 0,
            latency: 0,
            bytes_per_tick: None,
            eager_limit: u64::MAX,
            transfer: Transfer::InFlight,
            rooted: Coupling::Data,
            all_to_all: Coupling::Data,
        }
    }
}

impl Machine {
    /// The same with calls and transfers that cost nothing. What waits for what stays.
    #[must_use]
    pub fn ideal(self) -> Self {
        Machine { overhead: 0, latency: 0, bytes_per_tick: None, ..self }
    }

    pub(super) fn coupling(&self, kind: CollectiveKind) -> Coupling {
        use CollectiveKind as K;
        match (kind, kind.shape()) {
            (K::Init | K::Finalize | K::Barrier, _) => Coupling::All,
            (_, Shape::AllToAll) => self.all_to_all,
            _ => self.rooted,
        }
    }

    /// How long `bytes` are on their way.
    pub(super) fn transfer_ticks(&self, bytes: u64) -> u64 {
        self.latency + self.bytes_per_tick.map_or(0, |rate| bytes.div_ceil(rate))
    }
}

/// What a call waits for before it can end, and how long the transfer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Need {
    /// When it is there.
    pub release: u64,
    pub ticks: u64,
}

impl Machine {
    /// When a call is left that was entered at `enter` and needs all of `needs`.
    pub(super) fn leave(&self, enter: u64, needs: &[Need]) -> u64 {
        let own = enter + self.overhead;
        match self.transfer {
            Transfer::InFlight => {
                let arrivals = needs.iter().map(|need| need.release + self.overhead + need.ticks);
                arrivals.fold(own, u64::max)
            }
            Transfer::InCall => {
                let release = needs.iter().map(|need| need.release).fold(enter, u64::max);
                let ticks = needs.iter().map(|need| need.ticks).max().unwrap_or_default();
                release + self.overhead + ticks
            }
        }
    }
}
