//! The time in which a process records, and the streams that keep to it.
//!
//! ```text
//! before ──start──► inside ──stop──► after
//! regions are followed   all is written   nothing is
//! ```
//! Law: regions that are open at the start are entered there, those that are open at the end are left there, and the end
//! of an operation is written only if its begin is. Nothing is allocated after [`WindowedStream::new`].

use crate::stream::{EventStream, Kept, Space};
use ouzel_otf2::records::Event;
use ouzel_otf2::records::event::{Enter, Leave};
use std::fmt;
use std::str::FromStr;

/// From when to when events are kept; on which clock, its owner says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// The first nanosecond.
    pub start_ns: u64,
    /// The first nanosecond behind it.
    pub stop_ns: u64,
}

impl fmt::Display for Window {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}-{}", self.start_ns, self.stop_ns)
    }
}

/// A text that is no window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoWindow;

impl FromStr for Window {
    type Err = NoWindow;

    fn from_str(text: &str) -> Result<Self, NoWindow> {
        let (start, stop) = text.split_once('-').ok_or(NoWindow)?;
        let number = |text: &str| text.parse().map_err(|_| NoWindow);
        let window = Window { start_ns: number(start)?, stop_ns: number(stop)? };
        if window.start_ns < window.stop_ns { Ok(window) } else { Err(NoWindow) }
    }
}

impl Window {
    /// The window moved to a clock that shows `origin_ns` when this one shows zero.
    #[must_use]
    pub fn moved(self, origin_ns: i64) -> Self {
        let moved = |ns: u64| if ns == u64::MAX { ns } else { ns.saturating_add_signed(origin_ns) };
        Window { start_ns: moved(self.start_ns), stop_ns: moved(self.stop_ns) }
    }
}

/// Most regions of a thread that are open at a time; deeper ones are not recorded.
const OPEN_MAX: usize = 1 << 16;
/// Most operations of files under way whose begin was not written; of further ones the ends are written.
const N_OPERATIONS_MAX: usize = 256;

/// The stream of one thread that keeps to a window, if there is one.
#[derive(Debug)]
pub struct WindowedStream<S> {
    stream: EventStream<S>,
    gate: Option<Box<Gate>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    Inside,
    After,
}

/// What a thread is in.
#[derive(Debug)]
struct Gate {
    window: Window,
    state: State,
    open: Vec<u32>,
    n_deeper: u64,
    /// Begins of each [`Pair`] that were not written, less their ends.
    n_begun_outside: [u32; N_PAIRS],
    /// Operations of files that began before the window.
    operations: Vec<u64>,
}

/// Events that begin and end something.
#[derive(Debug, Clone, Copy)]
enum Pair {
    Collective,
    OneSidedCollective,
    Fork,
    Team,
    Lock,
}
const N_PAIRS: usize = 5;

/// The pair that an event belongs to, and whether it begins it.
fn pair(event: &Event<'_>) -> Option<(Pair, bool)> {
    Some(match event {
        Event::MpiCollectiveBegin(_) => (Pair::Collective, true),
        Event::MpiCollectiveEnd(_) => (Pair::Collective, false),
        Event::RmaCollectiveBegin(_) => (Pair::OneSidedCollective, true),
        Event::RmaCollectiveEnd(_) => (Pair::OneSidedCollective, false),
        Event::ThreadFork(_) => (Pair::Fork, true),
        Event::ThreadJoin(_) => (Pair::Fork, false),
        Event::ThreadTeamBegin(_) => (Pair::Team, true),
        Event::ThreadTeamEnd(_) => (Pair::Team, false),
        Event::ThreadAcquireLock(_) => (Pair::Lock, true),
        Event::ThreadReleaseLock(_) => (Pair::Lock, false),
        _ => return None,
    })
}

impl Gate {
    fn new(window: Window) -> Self {
        Gate {
            window,
            state: State::Before,
            open: Vec::with_capacity(OPEN_MAX),
            n_deeper: 0,
            n_begun_outside: [0; N_PAIRS],
            operations: Vec::with_capacity(N_OPERATIONS_MAX),
        }
    }

    /// Follows an event; whether it is to be written if it is inside.
    fn follow(&mut self, event: &Event<'_>, is_inside: bool) -> bool {
        match event {
            Event::Enter(Enter { region }) => {
                if self.open.len() == OPEN_MAX {
                    self.n_deeper += 1;
                    return false;
                }
                self.open.push(*region);
                true
            }
            Event::Leave(_) if 0 < self.n_deeper => {
                self.n_deeper -= 1;
                false
            }
            Event::Leave(_) => self.open.pop().is_some(),
            Event::IoOperationBegin(begin) if !is_inside => {
                if self.operations.len() < N_OPERATIONS_MAX {
                    self.operations.push(begin.matching_id);
                }
                false
            }
            Event::IoOperationComplete(end) => self.is_of_inside(end.matching_id),
            Event::IoOperationCancelled(end) => self.is_of_inside(end.matching_id),
            event => pair(event).is_none_or(|(pair, is_begin)| {
                let n = &mut self.n_begun_outside[pair as usize];
                match is_begin {
                    true => *n += u32::from(!is_inside),
                    false if 0 < *n => {
                        *n -= 1;
                        return false;
                    }
                    false => {}
                }
                true
            }),
        }
    }

    fn is_of_inside(&mut self, operation: u64) -> bool {
        let found = self.operations.iter().position(|&of| of == operation);
        found.map(|at| self.operations.swap_remove(at)).is_none()
    }
}

impl<S: Space> WindowedStream<S> {
    /// A stream that keeps all of the window; everything without one.
    pub fn new(stream: EventStream<S>, window: Option<Window>) -> Self {
        WindowedStream { stream, gate: window.map(|window| Box::new(Gate::new(window))) }
    }

    /// Where its chunks are.
    pub fn space(&self) -> &S {
        self.stream.space()
    }

    /// The same, to be changed.
    pub fn space_mut(&mut self) -> &mut S {
        self.stream.space_mut()
    }

    /// Writes an event if it is inside of the window.
    pub fn write(&mut self, time_ns: u64, event: &Event<'_>) -> Kept {
        let Some(gate) = &mut self.gate else { return self.stream.write(time_ns, event) };
        if gate.state == State::After {
            return Kept::After;
        }
        if time_ns < gate.window.start_ns && gate.state == State::Before {
            gate.follow(event, false);
            return Kept::Before;
        }
        if gate.state == State::Before {
            gate.state = State::Inside;
            for &region in &gate.open {
                self.stream.write(gate.window.start_ns, &Enter { region }.into());
            }
        }
        if gate.window.stop_ns <= time_ns {
            self.close();
            return Kept::After;
        }
        if gate.follow(event, true) { self.stream.write(time_ns, event) } else { Kept::Before }
    }

    /// Moves what was written last, if that was at `from_ns`, to a later time, unless that is behind the window. Gives
    /// when it is.
    pub fn postpone(&mut self, from_ns: u64, to_ns: u64) -> u64 {
        let is_inside = |gate: &Gate| gate.state == State::Inside && to_ns < gate.window.stop_ns;
        match self.gate.as_deref().is_none_or(is_inside) {
            true => self.stream.postpone(from_ns, to_ns),
            false => from_ns,
        }
    }

    /// Leaves what is open at the end of the window, if it is over at `now_ns`.
    pub fn end(&mut self, now_ns: u64) {
        let is_over = |gate: &Gate| gate.state == State::Inside && gate.window.stop_ns <= now_ns;
        if self.gate.as_deref().is_some_and(is_over) {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(gate) = &mut self.gate else { return };
        gate.state = State::After;
        while let Some(region) = gate.open.pop() {
            self.stream.write(gate.window.stop_ns, &Leave { region }.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::Slot;
    use crate::stream::CHUNK_BYTES;
    use ouzel_otf2::read::{EventReader, EventSource};
    use ouzel_otf2::records::enums::{CollectiveOp, IoOperationMode};
    use ouzel_otf2::records::event::{
        IoOperationBegin, IoOperationComplete, MpiCollectiveBegin, MpiCollectiveEnd, MpiSend,
    };

    #[derive(Default)]
    struct Memory {
        chunk: Vec<u8>,
        slot: Slot,
    }

    impl Space for Memory {
        fn chunk_bytes(&self) -> usize {
            CHUNK_BYTES
        }

        fn chunk(&mut self) -> &mut [u8] {
            &mut self.chunk
        }

        fn begin_chunk(&mut self) -> bool {
            self.chunk = vec![0; CHUNK_BYTES];
            true
        }

        fn commit(&mut self, slot: Slot) {
            self.slot = slot;
        }
    }

    fn enter(region: u32) -> Event<'static> {
        Enter { region }.into()
    }

    fn leave(region: u32) -> Event<'static> {
        Leave { region }.into()
    }

    /// What is in the file, as `time name`.
    fn written(window: &str, events: &[(u64, Event<'static>)]) -> Vec<String> {
        let window = window.parse().expect("a window");
        let mut stream = WindowedStream::new(EventStream::new(Memory::default()), Some(window));
        for (time, event) in events {
            stream.write(*time, event);
        }
        stream.end(1000);
        let Memory { chunk, slot } = stream.space();
        let bytes = &chunk[..usize::try_from(slot.n_bytes).expect("a chunk")];
        if bytes.is_empty() {
            return Vec::new();
        }
        let source = EventSource::whole(bytes, "memory", slot.n_bytes, None);
        let mut reader = EventReader::new(source).expect("a file");
        let mut found = Vec::new();
        while let Ok(Some(record)) = reader.next_record() {
            let name = match record.event {
                Some(Event::Enter(Enter { region })) => format!("+{region}"),
                Some(Event::Leave(Leave { region })) => format!("-{region}"),
                event => format!("{event:?}").split(['(', ' ']).nth(1).unwrap_or_default().to_owned(),
            };
            found.push(format!("{} {name}", record.time));
        }
        assert_eq!(found.len() as u64, slot.n_events);
        found
    }

    #[test]
    fn open_regions_are_cut_to_the_window() {
        let events = [
            (1, enter(1)),
            (2, enter(2)),
            (3, leave(2)),
            (4, enter(3)),
            (12, enter(4)),
            (13, leave(4)),
            (14, leave(3)),
            (22, leave(1)),
            (23, enter(5)),
        ];
        let expected = ["10 +1", "10 +3", "12 +4", "13 -4", "14 -3", "20 -1"];
        assert_eq!(written("10-20", &events), expected);
        // Nothing happens inside, or the thread falls silent.
        assert_eq!(written("5-11", &events[..8]), ["5 +1", "5 +3", "11 -3", "11 -1"]);
        assert_eq!(written("10-20", &events[..6])[4..], ["20 -3", "20 -1"]);
        assert_eq!(written("30-40", &events[..8]), Vec::<String>::new());
        assert_eq!(written("0-40", &events)[9], "40 -5");
    }

    #[test]
    fn ends_are_written_with_their_begins() {
        let end = MpiCollectiveEnd {
            collective_op: CollectiveOp::Barrier,
            communicator: 0,
            root: 0,
            size_sent: 0,
            size_received: 0,
        };
        let operation = |matching_id| {
            let begin = IoOperationBegin {
                handle: 0,
                mode: IoOperationMode::Read,
                operation_flags: 0,
                bytes_request: 8,
                matching_id,
            };
            (begin, IoOperationComplete { handle: 0, bytes_result: 8, matching_id })
        };
        let ((first, first_end), (second, second_end)) = (operation(1), operation(2));
        let send = MpiSend { receiver: 1, communicator: 0, msg_tag: 0, msg_length: 8 };
        let events = [
            (1, enter(1)),
            (2, MpiCollectiveBegin {}.into()),
            (3, first.into()),
            (4, send.into()),
            (10, second.into()),
            (11, first_end.into()),
            (12, second_end.into()),
            (13, end.into()),
            (14, MpiCollectiveBegin {}.into()),
            (15, end.into()),
            (16, send.into()),
        ];
        let expected = [
            "9 +1",
            "10 IoOperationBegin",
            "12 IoOperationComplete",
            "14 MpiCollectiveBegin",
            "15 MpiCollectiveEnd",
            "16 MpiSend",
            "20 -1",
        ];
        assert_eq!(written("9-20", &events), expected);
    }

    #[test]
    fn windows_are_read_as_they_are_written() {
        let window = Window { start_ns: 5, stop_ns: u64::MAX };
        assert_eq!(window.to_string().parse(), Ok(window));
        assert_eq!(window.moved(7), Window { start_ns: 12, stop_ns: u64::MAX });
        for wrong in ["", "5", "5-5", "6-5", "a-7"] {
            assert_eq!(wrong.parse::<Window>(), Err(NoWindow), "{wrong}");
        }
    }
}
