//! The table of a piece: how much of each event file is valid.
//!
//! A slot belongs to one event file, which one thread at a time writes. Slots are in the file `slots`, which the
//! process maps, so that what it says holds whenever the process ends. Law: a slot's numbers are those after its
//! last complete event.

/// Slots of a process: threads that record at the same time.
pub const N_SLOTS: usize = 4096;
/// Numbers of a slot.
pub const N_FIELDS: usize = 4;
/// Bytes of a slot.
pub const SLOT_BYTES: usize = N_FIELDS * 8;

/// What is valid of an event file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slot {
    /// Bytes from the start of the file.
    pub n_bytes: u64,
    /// Events in them.
    pub n_events: u64,
    /// Time of the first event.
    pub first_ns: u64,
    /// Time of the last event.
    pub last_ns: u64,
}

impl Slot {
    /// The numbers as they are in the file.
    pub fn fields(&self) -> [u64; N_FIELDS] {
        [self.n_bytes, self.n_events, self.first_ns, self.last_ns]
    }

    /// The slots of a file; a part of a slot at its end is ignored.
    pub fn of_file(bytes: &[u8]) -> Vec<Slot> {
        let (numbers, _) = bytes.as_chunks::<8>();
        let (slots, _) = numbers.as_chunks::<N_FIELDS>();
        let slot = |fields: &[[u8; 8]; N_FIELDS]| {
            let [n_bytes, n_events, first_ns, last_ns] = fields.map(u64::from_ne_bytes);
            Slot { n_bytes, n_events, first_ns, last_ns }
        };
        slots.iter().map(slot).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_read_as_they_are_written() {
        let slot = Slot { n_bytes: 1, n_events: 2, first_ns: 3, last_ns: u64::MAX };
        let mut bytes: Vec<u8> = slot.fields().iter().flat_map(|field| field.to_ne_bytes()).collect();
        bytes.extend([0; SLOT_BYTES + 5]);
        assert_eq!(Slot::of_file(&bytes), [slot, Slot::default()]);
    }
}
