//! Identifies an opened trace, so that processes can check that they see the same one.
//!
//! Law: processes that open the same files agree, and so do those that then correct clocks in the same way. Of the
//! events, only the number of bytes is used.

use crate::Trace;
use ouzel_analyses::clock_repair::ClockRepair;
use ouzel_engine::in_order;
use ouzel_model::LocationId;
use serde::{Deserialize, Serialize};
use std::num::NonZeroUsize;
use twox_hash::XxHash3_128;

/// From so many locations on, two threads ask for the size of their events.
const MANY_LOCATIONS: usize = 1000;

/// Identifies the opened trace in 128 bits: its definitions, how many bytes the events of each location take, and how
/// its clocks were repaired. Processes that open the same files agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(u128);

impl Fingerprint {
    fn of(data: &impl Serialize) -> Self {
        let hashed = postcard::to_io(data, Hashed(XxHash3_128::new()));
        Fingerprint(hashed.expect("it is plain data, and a hash takes any bytes").0.finish_128())
    }

    /// The fingerprint of the trace on repaired clocks.
    pub(crate) fn on_clocks(self, repair: &ClockRepair) -> Self {
        Fingerprint::of(&(self, repair))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Trace {
    /// The fingerprint of the trace. Takes about as long as reading its definitions.
    pub fn fingerprint(&self) -> Fingerprint {
        *self.fingerprint.get_or_init(|| {
            let definitions = self.definitions();
            Fingerprint::of(&(self.format.as_str(), definitions, self.bytes_of_locations()))
        })
    }

    /// The same without the bytes of events, which may take a look at 100,000 files.
    pub fn fingerprint_of_definitions(&self) -> Fingerprint {
        *self.of_definitions.get_or_init(|| {
            let recorded = Fingerprint::of(&(self.format.as_str(), self.definitions()));
            self.repairs.iter().fold(recorded, |fingerprint, repair| fingerprint.on_clocks(repair))
        })
    }

    /// Of each location the bytes of its events. Two threads ask for them: each may be a file.
    fn bytes_of_locations(&self) -> Vec<u64> {
        let locations: Vec<LocationId> = self.definitions().location_ids().collect();
        let more = usize::from(MANY_LOCATIONS <= locations.len());
        let n_threads = NonZeroUsize::MIN.saturating_add(more);
        in_order(n_threads, locations.len(), |nth| self.source.location_bytes(locations[nth]))
    }
}

/// Hashes everything written to it.
struct Hashed(XxHash3_128);

impl std::io::Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
