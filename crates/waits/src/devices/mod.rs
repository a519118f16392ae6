//! Waiting of threads for accelerators, of streams for each other, and of devices in collectives.
//!
//! | class | who waits, and how long |
//! |---|---|
//! | host waits for device | a call that synchronises: `min(f, leave) − enter`, `f` the end of the last operation that it waits for |
//! | … of which queueing | `min(max(s, enter), leave) − enter`, `s` the begin of that operation |
//! | blocking copy | a call that copies or fills until its operation begins: `min(s, leave) − enter`; one that releases memory until what runs has ended |
//! | stream wait | a stream, for an event: `f(event) − max(f(operation before), enter of the call)` |
//! | wait in device collective | each member: `latest begin − begin` |
//! | launch latency | `s − max(leave of the launch, f of the operation before, f of awaited events)` |
//! | serialised streams | the same, if from then on other streams of the device ran, until less than 500 µs before `s` |
//! | device idle | each gap between the kernels of a device |
//! | useless synchronisation | a call that synchronises while nothing is to be done |
//!
//! A call waits for what was launched before it was entered: into its stream, the streams of its device, or a stream before
//! an event was recorded there. If a trace does not record which, it is for one that ended in the call, and the wait is an
//! upper bound. Waiting is charged to the call, to what it calls where it calls anything; launch latency to the launch;
//! gaps to the code that took longest since the last launch or wait of the thread that ended the gap. A wait of a
//! stream is charged to the call that made it wait. A call that waits for another rank inside is not counted twice.
//! Times are those that the driver gives for host and device; where they contradict each other, ranges are cut, and the
//! contradictions are counted. Formulas of host waits, copies, stream waits and idle devices follow CASITA (F. Schmitt
//! et al.).

pub(crate) mod calls;
pub(crate) mod events;
pub(crate) mod fold;
pub(crate) mod host;
pub(crate) mod idle;
pub(crate) mod records;
pub(crate) mod streams;

pub(crate) use calls::{DeviceApis, is_stream};
pub(crate) use fold::{DetailsKept, DeviceFold};
pub(crate) use records::DeviceRecords;

use crate::class::WaitClass;
use crate::threads::TimeSum;
use crate::wait::{Wait, WaitSum};
use ouzel_engine::FinishCx;
use ouzel_model::{CallPathId, Level, LocationId, Notice, NoticeCode, Ticks};
use std::collections::BTreeMap;
use streams::{Linking, Stream};

/// What the accelerators of a run say about waiting.
#[derive(Debug, Default)]
pub(crate) struct DeviceWaits {
    /// With parts, and what lies beside.
    pub waits: Vec<Wait>,
    /// As far as they are selected.
    sums: BTreeMap<(WaitClass, LocationId, CallPathId), TimeSum>,
    /// Times of host and device that contradict each other.
    n_contradictions: u64,
    /// By how much at most.
    worst: Ticks,
    /// Calls that copy and block, whose operation is not known.
    n_unknown_copies: u64,
    /// Processes whose launches are matched by their order, and those where they are not matched.
    n_in_order: u64,
    n_unlinked: u64,
    /// Whether any stream has an operation.
    pub has_records: bool,
}

/// The waits of all processes that drive devices.
pub(crate) fn device_waits(
    records: &BTreeMap<LocationId, &DeviceRecords>,
    apis: &DeviceApis,
    cx: &FinishCx<'_>,
) -> DeviceWaits {
    let mut found = DeviceWaits::default();
    if apis.is_empty() {
        return found;
    }
    for process in streams::processes(records, apis, cx.definitions) {
        found.has_records = true;
        found.n_in_order += u64::from(process.linking == Linking::InOrder);
        found.n_unlinked += u64::from(process.linking == Linking::Unknown);
        let recorded = events::StreamEvents::new(&process);
        host::add(&mut found, &process, &recorded);
        let mut free_of = |stream: &Stream<'_>| {
            events::free_times(&mut found, &process, stream, recorded.awaited(stream.location))
        };
        let free: Vec<Vec<Ticks>> = process.streams.iter().map(&mut free_of).collect();
        idle::add_latencies(&mut found, &process, &free, cx);
        idle::add_idle_times(&mut found, &process, &|location| cx.selected_of(location));
    }
    found
}

impl DeviceWaits {
    /// Counts an event that comes after what it must come before.
    fn clocks_differ(&mut self, must_be_later: Ticks, at: Ticks) {
        if must_be_later < at {
            self.n_contradictions += 1;
            self.worst = self.worst.max(at.since(must_be_later));
        }
    }

    /// The sums.
    pub fn sums(&self) -> impl Iterator<Item = WaitSum> {
        self.sums.iter().map(|(&(class, location, path), sum)| WaitSum {
            class,
            location,
            path,
            wait: sum.ticks,
            n: sum.n,
            longest: sum.longest,
            longest_at: sum.longest_at,
        })
    }

    /// Says what could not be determined.
    pub fn report(&self, cx: &FinishCx<'_>) {
        let push = |count: u64, level, code, what: String| {
            if 0 < count {
                cx.notices.push(Notice::new(level, code, what).times(count));
            }
        };
        push(
            self.n_contradictions,
            Level::Low,
            NoticeCode::ClocksUnsynchronised,
            format!(
                "an operation of an accelerator lies before its launch or after a call that waits for it, by up to {} ns: \
                 waits for it are cut",
                cx.clock().ns_from_ticks(self.worst)
            ),
        );
        push(
            self.n_in_order,
            Level::Low,
            NoticeCode::NotAvailable,
            "the trace does not record which call launched which operation of an accelerator: launches and kernels of \
             a process are matched in their order"
                .to_owned(),
        );
        push(
            self.n_unlinked,
            Level::Medium,
            NoticeCode::NotAvailable,
            "which call launched which operation of an accelerator is not known for a process, and its launches do not \
             match its kernels in number and order: waits for them are upper bounds, launch latency is unknown"
                .to_owned(),
        );
        push(
            self.n_unknown_copies,
            Level::Low,
            NoticeCode::NotAvailable,
            "a call that copies has no operation on a stream: its waiting is unknown".to_owned(),
        );
    }
}
