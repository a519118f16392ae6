//! How busy each device is, and how much of its communication nothing hides.
//!
//! A device is busy while any of its streams runs an operation. Communication is exposed while a device communicates and
//! computes nothing. Law: busy and idle time of a device add up to its span, from its first operation to its last.

use super::AcceleratorsOutput;
use super::idle::IdleCause;
use crate::devices::streams::DeviceProcess;
use ouzel_analyses::breakdown::{Activity, Intervals};
use ouzel_model::{Definitions, LocationGroupId, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The devices of the selection together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceleratorsSummary {
    /// Devices that run anything. A context is one, unless the trace tells that several are of one device.
    pub n_devices: u64,
    /// Those of them that several processes drive.
    pub n_shared: u64,
    /// Their spans, summed.
    pub span: Ticks,
    /// Time in which they are busy, summed.
    pub busy: Ticks,
    /// Time in which they communicate, summed.
    pub communication: Ticks,
    /// Time in which they communicate and do not compute, summed.
    pub exposed: Ticks,
    /// Idle time of all streams by cause, as in [`IdleCause::ALL`].
    pub causes: [Ticks; 8],
}

impl AcceleratorsSummary {
    /// Adds other devices.
    pub(super) fn merge(&mut self, from: &AcceleratorsSummary) {
        let AcceleratorsSummary { n_devices, n_shared, span, busy, communication, exposed, causes } = from;
        self.n_devices += n_devices;
        self.n_shared += n_shared;
        self.span += *span;
        self.busy += *busy;
        self.communication += *communication;
        self.exposed += *exposed;
        self.causes.iter_mut().zip(causes).for_each(|(sum, ticks)| *sum += *ticks);
    }
}

#[derive(Default)]
struct DeviceIntervals {
    all: Intervals,
    computing: Intervals,
    communicating: Intervals,
    span: Option<(Ticks, Ticks)>,
}

/// Adds a range that begins after all others; one that ends before another lies within that.
pub(super) fn add(to: &mut Intervals, start: u64, end: u64) {
    if to.as_slice().last().is_none_or(|last| last.1 <= end) {
        to.push(start, end);
    }
}

impl AcceleratorsOutput {
    /// What the devices of the selection do, of processes which share devices with no others; none if there is no operation.
    pub(super) fn summary_of(
        &self,
        processes: &[DeviceProcess<'_>],
        definitions: &Definitions,
    ) -> Option<AcceleratorsSummary> {
        let mut devices: BTreeMap<(Option<u32>, Option<LocationGroupId>), DeviceIntervals> = BTreeMap::new();
        for process in processes {
            for stream in &process.streams {
                let selected = self.selected_of(stream.location);
                let mut of = DeviceIntervals::default();
                for it in stream.operations.iter().filter(|_| selected.location) {
                    let Some((start, end)) = selected.clip_span((it.start, it.end)) else { continue };
                    add(&mut of.all, start.0, end.0);
                    match self.activity(it.path) {
                        Activity::Computation => add(&mut of.computing, start.0, end.0),
                        Activity::Communication => add(&mut of.communicating, start.0, end.0),
                        _ => {}
                    }
                    let (first, last) = of.span.unwrap_or((start, end));
                    of.span = Some((first.min(start), last.max(end)));
                }
                let Some((first, last)) = of.span else { continue };
                let shared = self.apis.shared_device(stream.device);
                let context = shared.is_none().then_some(stream.device);
                let device = devices.entry((shared, context)).or_default();
                device.all.unite(of.all);
                device.computing.unite(of.computing);
                device.communicating.unite(of.communicating);
                let (start, end) = device.span.unwrap_or((first, last));
                device.span = Some((start.min(first), end.max(last)));
            }
        }
        if devices.is_empty() {
            return None;
        }
        let n_shared = devices.keys().filter(|(shared, _)| shared.is_some()).count() as u64;
        let n_devices = devices.len() as u64;
        let mut sum = AcceleratorsSummary { n_devices, n_shared, ..AcceleratorsSummary::default() };
        for of in devices.into_values() {
            let (first, last) = of.span.unwrap_or_default();
            let computing = of.computing.n_ticks();
            sum.span += last.since(first);
            sum.busy += Ticks(of.all.n_ticks());
            sum.communication += Ticks(of.communicating.n_ticks());
            sum.exposed += Ticks(of.computing.union(&of.communicating).n_ticks() - computing);
        }
        for row in self.idle_of(processes, definitions) {
            for cause in IdleCause::ALL {
                sum.causes[cause as usize] += row.of(cause);
            }
        }
        Some(sum)
    }
}
