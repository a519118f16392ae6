//! Waits for messages, divided by what causes them and by what they cause.
//!
//! Law: direct + indirect = wait, and propagating + terminal = wait, in ticks, for each wait.

use crate::class::WaitClass;
use crate::wait::Wait;
use ouzel_model::Ticks;

/// How the selected part of a wait for a message is divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitParts {
    /// Its place in [`WaitsOutput::waits`](crate::WaitsOutput::waits).
    pub wait: usize,
    /// What is handed on to earlier waits of the culprit; all else is direct.
    pub indirect: Ticks,
    /// The most that one wait of another location hands on to it; all else is terminal.
    pub propagating: Ticks,
}

/// Direct, indirect, propagating and terminal waiting of a class, if it is one of messages.
fn classes(whole: WaitClass) -> Option<[WaitClass; 4]> {
    use WaitClass as C;
    match whole {
        C::LateSender => Some([
            C::DirectLateSender,
            C::IndirectLateSender,
            C::PropagatingLateSender,
            C::TerminalLateSender,
        ]),
        C::LateReceiver => Some([
            C::DirectLateReceiver,
            C::IndirectLateReceiver,
            C::PropagatingLateReceiver,
            C::TerminalLateReceiver,
        ]),
        _ => None,
    }
}

/// Whether waits of a class are divided.
pub(super) fn has_parts(class: WaitClass) -> bool {
    classes(class).is_some()
}

impl WaitClass {
    /// Whether it is a part that only the causes of waits tell.
    pub fn is_of_causes(self) -> bool {
        self.part_of().and_then(classes).is_some_and(|parts| parts.contains(&self))
    }
}

impl WaitParts {
    /// The parts that are not empty, each from the start of the wait.
    pub(crate) fn of(&self, waits: &[Wait]) -> impl Iterator<Item = Wait> {
        let whole = waits.get(self.wait).and_then(|whole| Some((*whole, classes(whole.class)?)));
        let parts = whole.map(|(whole, classes)| {
            let ticks = whole.ticks();
            let lengths =
                [ticks.since(self.indirect), self.indirect, self.propagating, ticks.since(self.propagating)];
            let part = move |(class, ticks)| Wait { class, end: whole.start + ticks, ..whole };
            classes.into_iter().zip(lengths).filter(|(_, ticks)| Ticks(0) < *ticks).map(part)
        });
        parts.into_iter().flatten()
    }
}
