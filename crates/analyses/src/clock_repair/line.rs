//! Times on a line, and after a jump off it.

use ouzel_model::Ticks;
use serde::{Deserialize, Serialize};

/// How much of the time after a jump is held back until the line is reached again: one part of so many.
const HOLD_BACK: u64 = 128;

/// An offset in ticks that is linear in time: `start_offset` at `start`, `end_offset` at `end`, and so on before and
/// after. The corrected time is the recorded one plus the offset, rounded down, and 0 if that is negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffsetLine {
    /// A recorded time.
    pub start: u64,
    /// A later one.
    pub end: u64,
    /// What is added at `start`.
    pub start_offset: i64,
    /// What is added at `end`.
    pub end_offset: i64,
}

impl OffsetLine {
    /// The offset at a recorded time.
    pub fn offset(&self, at: Ticks) -> i64 {
        let span = i128::from(self.end.saturating_sub(self.start)).max(1);
        let rise = i128::from(self.end_offset) - i128::from(self.start_offset);
        let offset = i128::from(self.start_offset)
            + (rise * (i128::from(at.0) - i128::from(self.start))).div_euclid(span);
        i64::try_from(offset).unwrap_or(if offset < 0 { i64::MIN } else { i64::MAX })
    }

    /// The corrected time. Does not go back where the offset falls by less than a tick for each tick.
    pub fn time(&self, at: Ticks) -> Ticks {
        Ticks(at.0.saturating_add_signed(self.offset(at)))
    }
}

/// A point off the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jump {
    /// The point: its number among those of its location.
    pub point: u32,
    /// Its time on the line.
    pub from: Ticks,
    /// Its corrected time.
    pub to: Ticks,
}

/// The corrected time of what is at `on_line` on the line, after a jump. Does not go back.
pub(super) fn after(jump: Jump, on_line: Ticks) -> Ticks {
    let passed = on_line.since(jump.from).0;
    on_line.max(Ticks(jump.to.0.saturating_add(passed - passed / HOLD_BACK)))
}
