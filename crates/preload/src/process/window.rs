//! The time in which this process records, and what MPI does before it.
//!
//! Messages and collective operations are matched by counting them, so what was done before the window is counted, too:
//! per receiver, sender and communicator. Law: all counts are in the journal when the first event of MPI is written.

use ouzel_otf2::records::Event;
use ouzel_otf2::records::event::{MpiIrecv, MpiIrecvRequest, MpiRecv};
use ouzel_recording::journal::{Entry, Uncounted};
use ouzel_recording::mpi::requests::Requests;
use ouzel_recording::window::Window;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// In the place of a number that is not known yet.
const NONE: u64 = u64::MAX;

/// The window of a process on the clock of events.
#[derive(Debug)]
pub struct ProcessWindow {
    window: Window,
    /// The last request that was posted before MPI was first called in the window; [`NONE`] before.
    last_before: AtomicU64,
    counts: Mutex<BTreeMap<Uncounted, u64>>,
}

impl ProcessWindow {
    /// Nothing is counted yet.
    pub fn new(window: Window) -> Self {
        ProcessWindow { window, last_before: AtomicU64::new(NONE), counts: Mutex::default() }
    }

    /// From when to when.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Whether a time is in it.
    pub fn has(&self, time_ns: u64) -> bool {
        (self.window.start_ns..self.window.stop_ns).contains(&time_ns)
    }

    /// Before MPI writes an event: at the first one inside, the receives that are under way, as events, and what was
    /// counted, as entries.
    pub fn open(
        &self,
        time_ns: u64,
        requests: &Requests,
        mut write: impl FnMut(u64, Event<'static>),
        entry: impl FnMut(&Entry),
    ) {
        if time_ns < self.window.start_ns || self.last_before.load(Ordering::Relaxed) != NONE {
            return;
        }
        self.last_before.store(requests.last_id().0, Ordering::Relaxed);
        for id in requests.receives() {
            write(self.window.start_ns, MpiIrecvRequest { request_id: id.0 }.into());
        }
        self.write_counts(entry);
    }

    /// Writes down what was counted up to now.
    pub fn write_counts(&self, mut entry: impl FnMut(&Entry)) {
        let counts = std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner));
        for (what, n) in counts {
            entry(&Entry::Unrecorded { what, n });
        }
    }

    /// Whether an event ends a request that was posted before the window, and is no receive.
    pub fn is_of_before(&self, event: &Event<'_>) -> bool {
        let id = match event {
            Event::MpiIsendComplete(it) => it.request_id,
            Event::NonBlockingCollectiveComplete(it) => it.request_id,
            _ => return false,
        };
        let last = self.last_before.load(Ordering::Relaxed);
        last != NONE && id <= last
    }

    /// Counts an event that was not written, as it was before the window or ends what was.
    pub fn count(&self, event: &Event<'_>, entry: impl FnMut(&Entry)) {
        let what = match *event {
            Event::MpiSend(ref it) => {
                Uncounted::Sends { communicator: it.communicator, peer: it.receiver, tag: it.msg_tag }
            }
            Event::MpiIsend(ref it) => {
                Uncounted::Sends { communicator: it.communicator, peer: it.receiver, tag: it.msg_tag }
            }
            Event::MpiRecv(MpiRecv { sender, communicator, msg_tag, .. })
            | Event::MpiIrecv(MpiIrecv { sender, communicator, msg_tag, .. }) => {
                Uncounted::Receives { communicator, peer: sender, tag: msg_tag }
            }
            Event::MpiCollectiveEnd(ref it) => Uncounted::Collectives { communicator: it.communicator },
            Event::NonBlockingCollectiveComplete(ref it) => {
                Uncounted::Collectives { communicator: it.communicator }
            }
            _ => return,
        };
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(what).or_default() += 1;
        if self.last_before.load(Ordering::Relaxed) != NONE {
            self.write_counts(entry);
        }
    }
}
