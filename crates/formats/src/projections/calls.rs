//! The calls that are open on a PE, and how they nest.
//!
//! Law: rows nest properly. An entry method or idle time ends where the next of its kind
//! begins. A user's bracket may reach over the end of what it was opened in: then it is cut
//! there into two visits, so that the time of every region stays what it was.

use ouzel_model::RegionId;

/// The most calls that are open at once; brackets beyond it come from damage.
const MAX_OPEN: usize = 1024;

/// What an open call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeCall {
    /// An entry method.
    EntryMethod,
    /// Idle, pack, unpack, interrupt: by the number of the kind.
    Span(u8),
    /// A user's bracket: event and number of nesting.
    Bracket(i64, i64),
    /// A bracket of the sweep ahead, by its place.
    Ahead(usize),
    /// A function.
    Function(i64),
}

/// Open calls, outermost first.
#[derive(Debug, Default)]
pub(super) struct PeCalls {
    open: Vec<(PeCall, RegionId)>,
    /// Visits that were cut in two.
    pub n_cut: u64,
}

impl PeCalls {
    /// Whether such a call is open.
    pub fn is_open(&self, call: PeCall) -> bool {
        self.open.iter().any(|&(open, _)| open == call)
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Opens a call; `false` if there are too many.
    pub fn enter(&mut self, call: PeCall, region: RegionId) -> bool {
        let has_room = self.open.len() < MAX_OPEN;
        if has_room {
            self.open.push((call, region));
        }
        has_room
    }

    /// Closes the innermost such call and shows each row: `true` with the region of an enter, `false` with that of a
    /// leave. Whether there was one.
    pub fn leave(&mut self, call: PeCall, mut row: impl FnMut(bool, RegionId)) -> bool {
        let Some(at) = self.open.iter().rposition(|&(open, _)| open == call) else { return false };
        let inside = &self.open[at + 1..];
        for &(_, region) in inside.iter().rev() {
            row(false, region);
        }
        row(false, self.open[at].1);
        for &(_, region) in inside {
            row(true, region);
        }
        self.n_cut += inside.len() as u64;
        self.open.remove(at);
        true
    }

    /// Closes all and shows the region of each.
    pub(crate) fn leave_all(&mut self, mut row: impl FnMut(RegionId)) {
        for (_, region) in self.open.drain(..).rev() {
            row(region);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reaches_over_an_end_is_cut() {
        let mut calls = PeCalls::default();
        let mut rows = Vec::new();
        calls.enter(PeCall::EntryMethod, RegionId(1));
        calls.enter(PeCall::Bracket(5, 0), RegionId(2));
        assert!(calls.leave(PeCall::EntryMethod, |enters, region| rows.push((enters, region.0))));
        assert!(!calls.leave(PeCall::EntryMethod, |_, _| unreachable!("nothing is open")));
        calls.leave_all(|region| rows.push((false, region.0)));
        assert_eq!(rows, [(false, 2), (false, 1), (true, 2), (false, 2)]);
        assert_eq!(calls.n_cut, 1);
    }
}
